/* SPDX-License-Identifier: MIT
 *
 * For the examples: versions of one computation, in a table. Each version is run once, and its result is checked; then
 * gpul_benchmark times it, and the result of the last call is checked, too.
 *
 *     table t = table_of(&work, right, bytes, flops);
 *     table_head("y = A x");
 *     table_row(&t, "one way", one_way);
 *     table_row(&t, "another way", another_way);
 *     return t.wrong != 0;
 *
 * Rates and shares are of the work that the task asks for, bytes and flops, which is the same for each version. A
 * version that moves more than it has to is not credited for it. The roof is what the GPU reaches in its memory, or in
 * arithmetic: data that stay in its cache, which is faster, pass 100 %. The CPU stand-in's times say nothing of a GPU,
 * and are left out.
 */
#ifndef TABLE_H
#define TABLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    void *user;               /* what each version and `right` are called with */
    int (*right)(void *user); /* waits for the result, compares it with the host's, and wipes it: 1 when right */
    double bytes, flops;      /* that one call has to move and to compute; 0 where there is nothing to tell */
    gpul_dtype dtype;         /* whose roof counts: GPUL_F32, or GPUL_F64 */
    gpul_stream stream;       /* that versions put their work on: NULL, or one of their own */
    int changes;              /* 1: a call changes what the next one begins with, so the timed ones are not checked */
    double seconds;           /* that a version is timed for */
    double first;             /* seconds of the first row: the speed-up is against it */
    int standin, wrong;       /* no GPU; rows whose result was wrong */
} table;

/* 1 where there is a GPU. Examples choose their sizes by it, as the stand-in takes seconds for what a GPU does in a
 * thousandth. */
static inline int on_gpu(void) {
    gpul_device device = GPUL_ZERO;
    GPUL_CHECK(gpul_device_info(&device, 0));
    return !device.standin;
}

/* What the times of a picture are of */
static inline const char *device_name(void) {
    static gpul_device device;
    GPUL_CHECK(gpul_device_info(&device, 0));
    return device.standin ? "on the CPU stand-in, whose times say nothing of a GPU" : device.name;
}

static inline table table_of(void *user, int (*right)(void *user), double bytes, double flops) {
    table t = GPUL_ZERO;
    t.user = user;
    t.right = right;
    t.bytes = bytes;
    t.flops = flops;
    t.dtype = GPUL_F32;
    t.standin = !on_gpu();
    t.seconds = t.standin ? 0.01 : 0.2;
    return t;
}

/* Three digits that matter, and no number that reads as zero but zero. */
static inline const char *digits(char text[32], double value) {
    const int decimals = value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, 32,
             value < 0.995 && value != 0 ? "%.2g"
             : decimals == 0             ? "%.0f"
             : decimals == 1             ? "%.1f"
                                         : "%.2f",
             value);
    return text;
}
static inline const char *seconds_text(char text[40], double seconds) {
    char number[32];
    const double unit = seconds < 999.5e-6 ? 1e6 : seconds < 999.5e-3 ? 1e3 : 1;
    snprintf(text, 40, "%s %s", digits(number, seconds * unit), unit == 1e6 ? "us" : unit == 1e3 ? "ms" : "s");
    return text;
}

/* Why a table has no times, said once */
static inline void table__no_times(void) {
    static int said;
    if (!on_gpu() && !said++) puts("(no times: those of the CPU stand-in say nothing of a GPU)");
}

static inline void table_head(const char *title) {
    printf("\n%s\n", title);
    table__no_times();
    printf("%-42s %10s %10s %10s %12s %10s\n", "version", "time", "GB/s", "GFLOP/s", "of the roof", "speed-up");
}

/* One row; `cpu` is 1 for a version that runs on the host. Returns its seconds, the median of the timed calls. */
static inline double table_row_of(table *t, const char *name, gpul_status (*version)(void *user), int cpu) {
    gpul_benchmark_options options = GPUL_ZERO;
    gpul_benchmark_result r = GPUL_ZERO;
    char time[40] = "-", gbps[32] = "-", gflops[32] = "-", share[40] = "-", speedup[32] = "-", number[32];

    GPUL_CHECK(version(t->user)); /* the first call is slow: the kernel is loaded, memory found. It is not timed. */
    int ok = t->right(t->user);

    options.name = name;
    options.bytes = t->bytes;
    options.flops = t->flops;
    options.flop_dtype = t->dtype;
    options.stream = t->stream;
    options.roof = !t->standin && !cpu;
    options.seconds = t->seconds;
    options.repeat = t->standin ? 2 : 1000;
    options.warmup = t->standin ? -1 : 0;
    GPUL_CHECK(gpul_benchmark(&r, version, t->user, &options));
    if (!t->changes) ok &= t->right(t->user); /* the last of the timed calls, whose result the next row must not find */
    t->wrong += !ok;
    const double seconds = cpu ? r.cpu.median : r.gpu.median;
    if (t->first == 0) t->first = seconds;
    if (!t->standin && seconds > 0) {
        seconds_text(time, seconds);
        if (t->bytes > 0) digits(gbps, t->bytes / seconds / 1e9);
        if (t->flops > 0) digits(gflops, t->flops / seconds / 1e9);
        if (r.share > 0) snprintf(share, sizeof share, "%s %%", digits(number, 100 * r.share));
        digits(speedup, t->first / seconds);
    }
    printf("%-42s %10s %10s %10s %12s %10s  %s\n", name, time, gbps, gflops, share, speedup, ok ? "ok" : "WRONG");
    return seconds;
}
static inline double table_row(table *t, const char *name, gpul_status (*version)(void *user)) {
    return table_row_of(t, name, version, 0);
}
static inline double table_row_cpu(table *t, const char *name, gpul_status (*version)(void *user)) {
    return table_row_of(t, name, version, 1);
}

/* Elements whose sums are exact in whatever order: whole multiples of 1/8. And the sum of them, or of their absolute
 * values, in integers. */
static inline int64_t eighths(int64_t i) { return i * 37 % 129 - 60; }
static inline void fill_eighths(float *x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x[i] = (float)eighths(i) / 8;
}
static inline double sum_eighths(int64_t n, int absolute) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += absolute && eighths(i) < 0 ? -eighths(i) : eighths(i);
    return (double)sum / 8;
}

/* A table of the parts of something, each timed by a timer of its own. */
static inline void table_part_head(int rounds) {
    putchar('\n');
    table__no_times();
    printf("%-42s %10s %10s   mean of %d\n", "part", "time", "GB/s", rounds);
}
/* The mean over the timer's regions, each of which moved `bytes`, and the end of the timer */
static inline void table_part(const char *name, gpul_timer *timer, double bytes) {
    const double regions = (double)timer->regions;
    char time[40] = "-", gbps[32] = "-";
    double seconds = 0;
    GPUL_CHECK(gpul_timer_seconds(&seconds, timer));
    if (on_gpu() && seconds > 0) {
        seconds_text(time, seconds / regions);
        if (bytes > 0) digits(gbps, bytes * regions / seconds / 1e9);
    }
    printf("%-42s %10s %10s\n", name, time, gbps);
    GPUL_CHECK(gpul_timer_free(timer));
}

#endif /* TABLE_H */
