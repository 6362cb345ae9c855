/* SPDX-License-Identifier: MIT
 * Every runtime call that gpulite makes is made to fail once, in every function (on the stand-in, which can do that).
 * After each failure: the status and the record say so, nothing is leaked, outputs are untouched, the current device is
 * the caller's, no error is left behind, and the same call works again. */
#include "calls.h"

#ifdef GPULITE_CPU_STANDIN
#include <sys/wait.h>
#include <unistd.h>

typedef struct alive {
    long allocations, streams, events, graphs, pools, registrations;
} alive;
static alive count_alive(void) {
    alive a;
    standin_drain();
    a.allocations = standin_live_allocations();
    a.streams = standin_live_streams();
    a.events = standin_live_events();
    a.graphs = standin_live_graphs();
    a.pools = standin_live_pools();
    a.registrations = standin_live_registrations();
    return a;
}

/* A release that fails before it had an effect leaves what it should have released: that is the runtime's doing. */
static int releases(const char *call) {
    return strstr(call, "Free") || strstr(call, "Destroy") || strcmp(call, "cudaHostUnregister") == 0;
}
/* Calls whose failure comes too late to leave outputs alone: the work is enqueued or done. */
static int too_late(const char *call) {
    return releases(call) || strcmp(call, "cudaStreamSynchronize") == 0 || strcmp(call, "cudaDeviceSynchronize") == 0 ||
           strcmp(call, "cudaSetDevice") == 0;
}

/* Operations of several launches, the first of which writes the output (a histogram's zeros, the first products of a
 * stack): a failure of a later one comes too late too. So does one behind the copy between two devices. */
static int in_steps(const char *function, const char *call, long k, const char names[][48]) {
    for (long i = 0; i + 1 < k; i++)
        if (strcmp(names[i], "cudaMemcpyPeerAsync") == 0) return 1;
    if (strcmp(call, "cudaLaunchKernelExC") != 0) return 0;
    if (strncmp(function, "gpul_histogram", 14) != 0 && strcmp(function, "gpul_matmul") != 0) return 0;
    for (long i = 0; i + 1 < k; i++)
        if (strcmp(names[i], call) == 0 || strcmp(names[i], "cudaMemsetAsync") == 0) return 1;
    return 0;
}

static char seen[200][48];
static int n_seen;
static void remember(const char *call) {
    for (int i = 0; i < n_seen; i++)
        if (strcmp(seen[i], call) == 0) return;
    if (n_seen < COUNT_OF(seen)) snprintf(seen[n_seen++], sizeof seen[0], "%.47s", call);
}

/* Calls that only ask: without an answer the library takes a way that is right in any case. */
static int may_fail(const char *call) {
    return strcmp(call, "cudaStreamGetId") == 0 || strcmp(call, "cudaStreamIsCapturing") == 0 ||
           strcmp(call, "cudaStreamGetCaptureInfo") == 0;
}

enum { HOME = 1 }; /* the current device of each call; most of their arrays lie on device 0 */

/* good: world_hash after the call without a fault */
static void one_fault(world *w, int i, long k, const char names[][48], int code, int flags, uint64_t good) {
    const char *const call = names[k - 1];
    char what[256];
    int32_t device = -1;
    alive before, after;
    gpul_status status;
    int failed;
    snprintf(what, sizeof what, "%s (call %d), %.47s #%ld, code %d, flags %d", calls[i].function, i, call, k, code,
             flags);
    CHECK_OK(gpul_device_synchronize());
    before = count_alive();
    gpul_clear_error();
    if (flags & STANDIN_FROM_THEN_ON) { /* only calls of this name: cleaning up still works */
        long nth = 0;
        for (long j = 0; j < k; j++) nth += strcmp(names[j], call) == 0;
        standin_fail(call, nth, code, flags);
    } else {
        standin_fail(NULL, k, code, flags);
    }
    status = calls[i].call(w);
    failed = standin_failed();
    standin_fail_clear();
    if (failed == 0) {
        /* the path is shorter this time */
    } else if (status == GPUL_OK) {
        if (!may_fail(call)) FAIL("%s: it failed, and the function returned GPUL_OK", what);
    } else {
        const gpul_error *e = gpul_last_error();
        if (e->status != status)
            FAIL("%s: returned %s, recorded %s", what, gpul_status_name(status), gpul_status_name(e->status));
        else if (strcmp(e->function, calls[i].function) != 0) FAIL("%s: reported as %s", what, e->function);
        else if (strncmp(e->message, calls[i].function, strlen(calls[i].function)) != 0)
            FAIL("%s: message \"%s\"", what, e->message);
        else if (status >= GPUL_ERROR_CUDA && e->cuda_code != code)
            FAIL("%s: cuda_code %d, message \"%s\"", what, e->cuda_code, e->message);
        else check_pass();
        if (code == cudaErrorMemoryAllocation && status != GPUL_ERROR_OUT_OF_MEMORY && status != GPUL_ERROR_PENDING)
            FAIL("%s: status %s for a failed allocation", what, gpul_status_name(status));
        if (code == cudaErrorUnknown && status != GPUL_ERROR_CUDA && status != GPUL_ERROR_PENDING)
            FAIL("%s: status %s", what, gpul_status_name(status));
    }
    if (cudaPeekAtLastError() != cudaSuccess) {
        FAIL("%s: %s was left pending (status %s)", what, cudaGetErrorName(cudaPeekAtLastError()),
             gpul_status_name(status));
        (void)cudaGetLastError();
    }
    if (cudaGetDevice(&device) != cudaSuccess || device != HOME) { /* going back to it is tried twice */
        if (strcmp(calls[i].function, "gpul_device_select") != 0)
            FAIL("%s: the current device became %d", what, device);
        (void)cudaSetDevice(HOME);
    }
    (void)cudaSetDevice(0);
    if (status != GPUL_OK && !(flags & STANDIN_AFTER) && !too_late(call) &&
        !in_steps(calls[i].function, call, k, names))
        world_untouched(w, what);
    if (status == GPUL_OK && calls[i].undo) calls[i].undo(w);
    if (calls[i].undo == undo_timer) undo_timer(w);
    if (failed != 0 && status == GPUL_OK && world_hash(w) != good) FAIL("%s: GPUL_OK, and another result", what);
    CHECK_OK(gpul_device_synchronize());
    after = count_alive();
    if (!releases(call) || (flags & STANDIN_AFTER)) {
        if (memcmp(&before, &after, sizeof before) != 0)
            FAIL(
                "%s: allocations %ld -> %ld, streams %ld -> %ld, events %ld -> %ld, pools %ld -> %ld, registrations %ld -> %ld",
                what, before.allocations, after.allocations, before.streams, after.streams, before.events, after.events,
                before.pools, after.pools, before.registrations, after.registrations);
        else check_pass();
    }
    world_restore(w);
    /* and now it works again */
    (void)cudaSetDevice(HOME);
    status = calls[i].call(w);
    (void)cudaSetDevice(0);
    if (status != GPUL_OK) FAIL("%s: afterwards it fails: %s", what, gpul_last_error()->message);
    else if (calls[i].undo) calls[i].undo(w);
    world_restore(w);
}

static void every_call(int code, int flags, int order) {
    for (int i = 0; i < COUNT_OF(calls); i++) {
        world w;
        char names[64][48];
        long n = 0;
        uint64_t good = 0;
        standin_reset();
        standin_order(order);
        standin_devices(2);
        standin_leaks(0); /* failing releases leak, and that is meant */
        (void)cudaSetDevice(0);
        world_open(&w);
        for (int run = 0; run < 2; run++) { /* the second run is the one that counts: caches are filled */
            gpul_status status;
            (void)cudaSetDevice(HOME);
            standin_trace_begin();
            status = calls[i].call(&w);
            n = standin_trace_count();
            for (long k = 0; k < n && k < 64; k++) snprintf(names[k], sizeof names[k], "%.47s", standin_trace_name(k));
            (void)cudaSetDevice(0);
            if (status != GPUL_OK)
                FAIL("%s (call %d) fails by itself: %s", calls[i].function, i, gpul_last_error()->message);
            else if (calls[i].undo) calls[i].undo(&w);
            good = world_hash(&w);
            world_restore(&w);
        }
        CHECK(n > 0 && n < 64);
        for (long k = 1; k <= n && k <= 64; k++) {
            const char *call = names[k - 1];
            remember(call);
            if (strcmp(call, "cudaGetLastError") == 0 || strcmp(call, "cudaPeekAtLastError") == 0)
                continue; /* these report; they do not fail */
            if ((flags & STANDIN_AFTER) &&
                (strstr(call, "Malloc") || strstr(call, "Alloc") || strstr(call, "Create") ||
                 strcmp(call, "cudaHostRegister") == 0 || strcmp(call, "cudaStreamBeginCapture") == 0))
                continue; /* nobody can release what was made but not told */
            if ((flags & STANDIN_FROM_THEN_ON) && !strstr(call, "Malloc") && !strstr(call, "Alloc")) continue;
            if (left_out(1) && (i + k) % 4) continue; /* a quarter of them: each is a case of its own */
            (void)cudaSetDevice(HOME);
            one_fault(&w, i, k, (const char(*)[48])names, code, flags, good);
        }
        world_close(&w);
    }
    standin_reset();
    CHECK_CUDA(cudaSetDevice(0));
}

/* What the library asks of a device once, at the first call on it: each question fails in a process of its own, where
 * fails_at(k) returns 0 if all was as it should be when the kth failed, and NONE_LEFT if there is no such call. */
enum { NONE_LEFT = 77 };
static void in_turn(int (*fails_at)(long k)) {
    long k;
    for (k = 1; k < 100; k++) {
        int result = 0;
        const pid_t child = fork();
        if (child == 0) {
            standin_leaks(0);
            standin_devices(2);
            _exit(fails_at(k));
        }
        CHECK(child > 0);
        CHECK(waitpid(child, &result, 0) == child && WIFEXITED(result));
        if (WEXITSTATUS(result) == NONE_LEFT) break;
        CHECK_INT(WEXITSTATUS(result), 0);
    }
    CHECK(k > 5 && k < 100);
}

static int first_use(long k) {
    gpul_array a = GPUL_ZERO, before = GPUL_ZERO;
    char call[48] = "";
    gpul_status status;
    alive left;
    int bad = 0;
    standin_trace_begin();
    standin_fail(NULL, k, cudaErrorUnknown, STANDIN_ONCE);
    status = gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL);
    if (standin_failed() == 0) return NONE_LEFT;
    snprintf(call, sizeof call, "%.47s", standin_trace_name(k - 1));
    standin_fail_clear();
    if (status == GPUL_OK && strcmp(call, "cudaGetLastError") && strcmp(call, "cudaPeekAtLastError")) bad |= 1;
    if (status != GPUL_OK &&
        (memcmp(&a, &before, sizeof a) != 0 || strcmp(gpul_last_error()->function, "gpul_device_array") != 0 ||
         status != gpul_last_error()->status))
        bad |= 2;
    if (cudaGetLastError() != cudaSuccess) bad |= 4;
    if (status != GPUL_OK && gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL) != GPUL_OK) bad |= 8;
    if (gpul_free(&a) != GPUL_OK || gpul_device_synchronize() != GPUL_OK) bad |= 16;
    left = count_alive();
    if (left.allocations || left.streams || left.events || left.pools > 1) bad |= 32;
    if (bad) fprintf(stderr, "first use, call %ld, %s: %s, faults %d\n", k, call, gpul_status_name(status), bad);
    return bad != 0;
}

/* The same where another device is current: it stays so, and the thread's captures are what they were. */
static int first_use_elsewhere(long k) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    gpul_device info;
    const char *call;
    gpul_status status;
    int device = -1, failed, bad = 0;
    (void)cudaSetDevice(HOME);
    standin_trace_begin();
    standin_fail(NULL, k, cudaErrorUnknown, STANDIN_ONCE);
    status = gpul_device_info(&info, 0);
    failed = standin_failed();
    call = failed ? standin_trace_name(k - 1) : "";
    standin_fail_clear();
    if (cudaGetDevice(&device) != cudaSuccess || device != HOME) bad |= 1;
    if (cudaThreadExchangeStreamCaptureMode(&mode) != cudaSuccess) bad |= 2;
    if (mode != cudaStreamCaptureModeGlobal && strcmp(call, "cudaThreadExchangeStreamCaptureMode")) bad |= 4;
    if (bad)
        fprintf(stderr, "first use of another device, call %ld, %s: %s, faults %d\n", k, call, gpul_status_name(status),
                bad);
    return bad ? 1 : failed ? 0 : NONE_LEFT;
}

static void test_first_use(void) { /* first of all: check_clean uses every device */
    in_turn(first_use);
    in_turn(first_use_elsewhere);
}

static void test_unknown(void) { every_call(cudaErrorUnknown, STANDIN_ONCE, STANDIN_FORWARD); }
static void test_no_memory(void) { every_call(cudaErrorMemoryAllocation, STANDIN_FROM_THEN_ON, STANDIN_FORWARD); }
/* here the newest stream's work comes first, too */
static void test_after(void) { every_call(cudaErrorUnknown, STANDIN_ONCE | STANDIN_AFTER, STANDIN_REVERSE); }

/* Where the last step fails, the packed block is given back when it has moved, in the stream that it moves in. */
static void test_far_copy(void) {
    for (int own = 0; own < 2; own++) {
        world w;
        gpul_stream stream;
        standin_reset();
        standin_devices(2);
        world_open(&w);
        stream = own ? w.stream : NULL;
        standin_fail("cudaStreamWaitEvent", 3, cudaErrorUnknown, STANDIN_ONCE);
        CHECK_FAILS(gpul_copy(&w.b[W_D].view, &w.far, stream), GPUL_ERROR_CUDA, "gpul_copy", "cudaStreamWaitEvent");
        CHECK_INT(standin_failed(), 1);
        standin_fail_clear();
        CHECK_INT(cudaStreamQuery(stream), cudaSuccess);
        world_close(&w);
    }
    standin_reset();
}

/* An allocation that finds no memory waits for its stream and gives back what the pool holds before it tries again. */
static void test_second_try(void) {
    gpul_array a = GPUL_ZERO;
    long waits, trims;
    standin_reset();
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_free(&a));
    waits = standin_calls("cudaStreamSynchronize");
    trims = standin_calls("cudaMemPoolTrimTo");
    standin_fail("cudaMallocFromPoolAsync", 1, cudaErrorMemoryAllocation, STANDIN_ONCE);
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_INT(standin_failed(), 1);
    standin_fail_clear();
    CHECK_INT(standin_calls("cudaStreamSynchronize") - waits, 1);
    CHECK_INT(standin_calls("cudaMemPoolTrimTo") - trims, 1);
    CHECK_OK(gpul_free(&a));
    standin_reset();
}

/* A lost device: everything says so, nothing hangs or crashes. */
static void test_lost(void) {
    for (int i = 0; i < COUNT_OF(calls); i++) {
        world w;
        gpul_status status;
        standin_reset();
        standin_devices(2);
        world_open(&w);
        standin_fail(NULL, 1, cudaErrorIllegalAddress, STANDIN_ONCE | STANDIN_STICKY);
        status = calls[i].call(&w);
        if (status == GPUL_OK && standin_failed()) FAIL("%s (call %d) succeeds on a lost device", calls[i].function, i);
        status = calls[i].call(&w);
        if (status == GPUL_OK)
            CHECK(strcmp(calls[i].function, "gpul_device_current") == 0 ||
                  strcmp(calls[i].function, "gpul_device_select") == 0 ||
                  strcmp(calls[i].function, "gpul_memory_limit") == 0 ||
                  strcmp(calls[i].function, "gpul_timer_start") == 0);
        standin_reset();
        standin_devices(2);
        (void)cudaGetLastError();
        if (status == GPUL_OK && calls[i].undo) calls[i].undo(&w);
        memset(w.plain.bytes, 0xEE, sizeof w.plain.bytes);
        world_close(&w);
    }
    standin_reset();
    CHECK_CUDA(cudaSetDevice(0));
}

/* Calls that end something: each runtime call of theirs fails once; the handle or struct is as promised afterwards. */
static void test_endings(void) {
    static const char *const names[] = {
        "gpul_free",          "gpul_free",          "gpul_unpin",      "gpul_stream_destroy", "gpul_event_destroy",
        "gpul_timer_stop",    "gpul_timer_seconds", "gpul_timer_free", "gpul_device_count",   "gpul_cuda_versions",
        "gpul_profile_start", "gpul_profile_stop",  "gpul_free"};
    static float page[1024];
    for (int i = 0; i < COUNT_OF(names); i++)
        for (long k = 1; k < 30; k++) {
            gpul_array a = GPUL_ZERO, zero = GPUL_ZERO;
            gpul_stream s = NULL;
            gpul_event e = NULL;
            gpul_timer t = GPUL_ZERO;
            gpul_status status = GPUL_OK;
            int32_t count = -7, driver = -7, runtime = -7;
            double seconds = -7;
            char call[48];
            int failed;
            standin_reset();
            standin_devices(2);
            (void)cudaSetDevice(0);
            if (i == 0) CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(10), NULL));
            if (i == 1) CHECK_OK(gpul_pinned_array(&a, GPUL_F32, gpul_1d(10)));
            if (i == 2) CHECK_OK(gpul_pin(page, sizeof page));
            if (i == 3) CHECK_OK(gpul_stream_create(&s, 0));
            if (i == 4) CHECK_OK(gpul_event_create(&e));
            if (i >= 5 && i <= 7) CHECK_OK(gpul_timer_start(&t, NULL));
            if (i == 6 || i == 7) CHECK_OK(gpul_timer_stop(&t, NULL));
            if (i == 12) CHECK_OK(gpul_managed_array(&a, GPUL_F32, gpul_1d(10)));
            gpul_clear_error();
            standin_trace_begin();
            standin_fail(NULL, k, cudaErrorUnknown, STANDIN_ONCE);
            if (i <= 1 || i == 12) status = gpul_free(&a);
            else if (i == 2) status = gpul_unpin(page);
            else if (i == 3) status = gpul_stream_destroy(&s);
            else if (i == 4) status = gpul_event_destroy(&e);
            else if (i == 5) status = gpul_timer_stop(&t, NULL);
            else if (i == 6) status = gpul_timer_seconds(&seconds, &t);
            else if (i == 7) status = gpul_timer_free(&t);
            else if (i == 8) status = gpul_device_count(&count);
            else if (i == 9) status = gpul_cuda_versions(&driver, &runtime);
            else if (i == 10) status = gpul_profile_start();
            else status = gpul_profile_stop();
            failed = standin_failed();
            snprintf(call, sizeof call, "%.47s", standin_trace_count() >= k ? standin_trace_name(k - 1) : "");
            standin_fail_clear();
            if (failed) {
                remember(call);
                if (strcmp(call, "cudaGetLastError") != 0 && strcmp(call, "cudaPeekAtLastError") != 0) {
                    if (status == GPUL_OK) FAIL("%s: %s failed and it returned GPUL_OK", names[i], call);
                    else if (strcmp(gpul_last_error()->function, names[i]) != 0)
                        FAIL("%s: %s failed, reported as %s", names[i], call, gpul_last_error()->function);
                    else check_pass();
                }
                if (cudaGetLastError() != cudaSuccess) FAIL("%s: %s left its error pending", names[i], call);
                if (status != GPUL_OK && i == 6) CHECK_NEAR(seconds, -7, 0);
                if (status != GPUL_OK && i == 8) CHECK_INT(count, -7);
                if (status != GPUL_OK && i == 9) CHECK(driver == -7 && runtime == -7);
            }
            if (i <= 1 || i == 12) CHECK_BYTES(&a, &zero, sizeof a); /* zeroed even then */
            if (i == 2) (void)cudaHostUnregister(page);
            (void)cudaGetLastError();
            if (s) (void)gpul_stream_destroy(&s);
            if (e) (void)gpul_event_destroy(&e);
            (void)gpul_timer_free(&t);
            (void)cudaGetLastError();
            if (!failed) break;
        }
    standin_reset();
}

/* Reductions of a stream that came after all workspaces were taken: scratch memory, and nothing of it lost. */
static void test_crowded(void) {
    gpul_stream s[20];
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO;
    double got = 0;
    long k;
    standin_reset();
    standin_devices(1);
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(200003), NULL));
    CHECK_OK(gpul_fill(&x, 1, NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_0d(), NULL));
    for (int i = 0; i < COUNT_OF(s); i++) {
        CHECK_OK(gpul_stream_create(&s[i], GPUL_STREAM_DEFAULT));
        CHECK_OK(gpul_reduce(&out, &x, GPUL_SUM, GPUL_ALL_AXES, s[i]));
    }
    for (k = 1; k < 100; k++) {
        char call[48];
        gpul_status status;
        int failed;
        const alive before = count_alive();
        alive after;
        CHECK_OK(gpul_fill(&out, 77, NULL));
        CHECK_OK(gpul_device_synchronize());
        standin_trace_begin();
        standin_fail(NULL, k, cudaErrorUnknown, STANDIN_ONCE);
        status = gpul_reduce(&out, &x, GPUL_SUM, GPUL_ALL_AXES, s[COUNT_OF(s) - 1]);
        failed = standin_failed();
        snprintf(call, sizeof call, "%.47s", failed ? standin_trace_name(k - 1) : "");
        standin_fail_clear();
        CHECK_OK(gpul_device_synchronize());
        after = count_alive();
        if (!releases(call) && memcmp(&before, &after, sizeof before) != 0)
            FAIL("%s failed: allocations %ld -> %ld", call, before.allocations, after.allocations);
        CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
        if (status == GPUL_OK || !too_late(call)) CHECK_NEAR(got, status == GPUL_OK ? 200003 : 77, 0);
        if (!failed) break;
        remember(call);
    }
    CHECK(k > 6 && k < 100); /* scratch memory is taken, cleared and given back */
    for (int i = 0; i < COUNT_OF(s); i++) CHECK_OK(gpul_stream_destroy(&s[i]));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&out));
    standin_reset();
}

static void test_first_calls(void) { /* which calls were met: the list tells whoever reads a log how far this reaches */
    printf("  runtime calls that were made to fail:");
    for (int i = 0; i < n_seen; i++) printf(" %s", seen[i]);
    printf("\n");
    CHECK(n_seen >= 15);
}
#else
static void test_nothing(void) {
    int32_t count = 0;
    CHECK_OK(gpul_device_count(&count)); /* a GPU's calls cannot be made to fail */
}
#endif

int main(void) {
    check_begin("faults");
#ifdef GPULITE_CPU_STANDIN
    RUN(test_first_use); /* before anything touches a device */
    check_leaks_too = 0;
    RUN(test_unknown);
    RUN(test_no_memory);
    RUN(test_after);
    RUN(test_far_copy);
    RUN(test_second_try);
    RUN(test_lost);
    RUN(test_endings);
    RUN(test_crowded);
    RUN(test_first_calls);
#else
    RUN(test_nothing);
#endif
    return check_end();
}
