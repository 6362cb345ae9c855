/* SPDX-License-Identifier: MIT */
/*
 * What a test can ask of the CPU stand-in: how it runs kernels, what the fake devices look like, which runtime call
 * fails, and what has been left behind. None of these count as runtime calls, and none of them can fail.
 * Every knob has an environment variable that sets its default; README.md lists them.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How kernels and streams run. */
enum { STANDIN_FORWARD = 0, STANDIN_REVERSE = 1, STANDIN_RANDOM = 2 };
enum { STANDIN_FIBERS = 0, STANDIN_THREADS = 1 };
void standin_order(int order);              /* of threads, blocks and streams; default STANDIN_FORWARD */
void standin_seed(unsigned long long seed); /* restarts the random sequence; default 1 */
void standin_engine(int engine);            /* default STANDIN_FIBERS; STANDIN_THREADS is for ThreadSanitizer */
void standin_garbage(int byte);             /* what fresh memory is filled with; default 0xFF, a NaN of every width */

/* The fake devices. Waits for all work first; memory that is allocated stays so. */
void standin_devices(int count);               /* 0 to 8; default 1 */
void standin_memory(size_t bytes);             /* of each device; default 1 GiB */
void standin_sms(int count);                   /* default 4 */
void standin_capability(int major, int minor); /* default 9.0 */
void standin_shared_optin(size_t bytes);       /* default 227 KiB */
void standin_alignment(size_t bytes);          /* of allocations, 16 to 256; default 256, which CUDA promises */
void standin_pools(int supported);             /* whether devices have memory pools; default 1 */
void standin_managed(int supported);           /* whether devices have managed memory; default 1 */

/* A driver that does not start: every call that needs it, cudaGetLastError() and cudaPeekAtLastError() too, returns the code.
 * Default 0: it starts. */
void standin_driver(int code);

/* What clock64() counts in a nanosecond of real time on the CPU; default 1. Kernels take the time they take. */
void standin_clock(double cycles);

/* Each call of a program's thread waits so long before it begins, so that those of its other threads come in between: what
 * one thread sets and another one changes before it is used shows. Default 0, at most a second. */
void standin_pause(int microseconds);

/* The devices' name, which is kept as a pointer, and what cudaFuncGetAttributes says of every kernel: so that a report can be
 * tested that says what a GPU and a build lack. Default "CPU stand-in (no GPU)", 75 and 75. */
void standin_guise(const char *name, int binary, int ptx);

/* NVTX ranges that the calling thread has open (of nvtx3/nvToolsExt.h), and the name of the kth, outermost first. */
int standin_ranges(void);
const char *standin_range(int k);

/* Waits for all work, clears sticky errors, faults, early returns and traces, and restores every knob. Frees nothing. */
void standin_reset(void);

/*
 * Makes the nth runtime call from now (1 is the next) whose name is `call` (NULL: any call) return `code`.
 * A kernel launch is called "cudaLaunchKernelExC" however it is written. Up to 16 faults may be armed.
 */
enum {
    STANDIN_ONCE = 0,
    STANDIN_FROM_THEN_ON = 1, /* and every later call that matches */
    STANDIN_AFTER = 2,        /* the call takes effect first; otherwise nothing happens but the error */
    STANDIN_STICKY = 4        /* the device is lost: every later call returns the code until standin_reset() */
};
void standin_fail(const char *call, long nth, int code, int flags);
void standin_fail_clear(void);
int standin_failed(void); /* how many calls have been made to fail since the last standin_fail_clear() */

/* Which calls were made. Names are valid for the life of the program. */
long standin_calls(const char *call); /* since the start or standin_reset(); NULL counts all */
void standin_trace_begin(void);       /* starts an empty trace */
long standin_trace_count(void);
const char *standin_trace_name(long k);
long standin_launches(void); /* kernel launches since the start or standin_reset(), a replayed graph's included */

/* What is alive. Work in flight can still free memory: synchronise first. */
long standin_live_allocations(void); /* device, pinned and managed */
size_t standin_live_bytes(void);
long standin_live_streams(void); /* without those of standin_stream_ended */
long standin_live_events(void);
long standin_live_graphs(void); /* graphs and executable graphs */
long standin_live_pools(void);  /* those made by cudaMemPoolCreate */
long standin_live_registrations(void);

/* Whether leaks at exit are listed and turn the exit status into 86. Default 1. */
void standin_leaks(int on);

/* Races that kernels have had, in the watched build (README.md); 0 in others. Any make the exit status 86. */
long standin_races(void);

/* Copies between device memory and the host with no runtime call counted, to look at what is there now. */
int standin_peek(void *host, const void *device, size_t bytes); /* 0, or -1 when the range is not one allocation */

/* Runs everything that is queued, in the order that the knobs ask for. */
void standin_drain(void);

#ifdef __cplusplus
}
#endif

#endif /* STANDIN_H */
