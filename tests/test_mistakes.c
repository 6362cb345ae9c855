/* SPDX-License-Identifier: MIT
 * The mistakes of a beginner, one test each: what the program is told must name the cause, and say what to do.
 *
 * Tested elsewhere: somebody else's pending error and a context that a kernel ruined (test_errors: test_pending,
 * test_lost_context); a launch beyond the device's limits, and arguments that a kernel does not take (test_launch:
 * test_limits, test_wrong_arrays; header.sh, where they do not compile); data whose C type has another dtype, or none
 * (test_convenience, header.sh); the .cu file not linked, or of another version (header.sh); waits and pageable memory
 * in a capture (test_streams: test_captured_refusals); no device at all (test_arrays: test_no_device).
 */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "check.h"
#include <locale.h>

#ifdef GPULITE_CPU_STANDIN
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a mistake prints to stderr and leaves as exit status, in a process of its own */
static int in_child(void (*mistake)(void), char *text, size_t size) {
    int ends[2], result = 0;
    size_t length = 0;
    ssize_t n;
    pid_t child;
    if (!CHECK_INT(pipe(ends), 0)) return -1;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        standin_leaks(0);
        (void)dup2(ends[1], 2);
        (void)close(ends[0]);
        mistake();
        _exit(0);
    }
    (void)close(ends[1]);
    while (length + 1 < size && (n = read(ends[0], text + length, size - 1 - length)) > 0) length += (size_t)n;
    text[length] = 0;
    (void)close(ends[0]);
    CHECK(child > 0 && waitpid(child, &result, 0) == child);
    return WIFEXITED(result) ? WEXITSTATUS(result) : 128;
}
#define SAYS(text, word)                                                                                               \
    (strstr(text, word) != NULL ? check_pass() : FAIL("\"%s\" is not in what was said: %s", word, text))
#endif

/* ---- pointers, and arrays that are none ---- */

static void test_null(void) {
    gpul_array a = GPUL_ZERO;
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(4), NULL));
    CHECK_FAILS(gpul_vecadd(&a, NULL, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_vecadd", "a is NULL");
    CHECK_FAILS(gpul_sum(NULL, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_sum", "value is NULL");
    CHECK_FAILS(gpul_copy_to_host(NULL, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_host", "host is NULL");
    CHECK_OK(gpul_free(&a));
}

static void test_output_never_made(void) {
    gpul_array a = GPUL_ZERO, out = GPUL_ZERO;
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(4), NULL));
    CHECK_FAILS(gpul_vecadd(&out, &a, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_vecadd",
                "out was never made, or was freed");
    CHECK_OK(gpul_free(&a));
}

static void test_host_pointer(void) {
    float *host = (float *)calloc(100, sizeof *host);
    gpul_array a = GPUL_ZERO;
    CHECK_FAILS(gpul_wrap(&a, host, GPUL_F32, gpul_1d(100)), GPUL_ERROR_MEMORY, "gpul_wrap",
                "ordinary (pageable) host memory, which a GPU cannot reach (gpul_pin it first, or copy it with "
                "gpul_to_device), or has been freed");
    free(host);
}

#ifdef GPULITE_CPU_STANDIN
static void read_on_host(void) {
    gpul_array a = GPUL_ZERO;
    if (gpul_zeros(&a, GPUL_F32, gpul_1d(4), NULL) == GPUL_OK) printf("%g\n", (double)*(volatile float *)a.data);
}
static void test_device_pointer_on_host(void) {
    char text[4096];
    CHECK(in_child(read_on_host, text, sizeof text) != 0);
    SAYS(text, "host code touched device memory");
}
#endif

static void test_double_free(void) {
    gpul_array a = GPUL_ZERO, other = GPUL_ZERO, copy, zero = GPUL_ZERO;
    int64_t used = -1;
    CHECK_OK(gpul_zeros(&other, GPUL_U8, gpul_1d(1000), NULL));
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(4), NULL));
    copy = a;
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&a)); /* the same array again is harmless */
    CHECK_OK(gpul_device_synchronize());
    CHECK_FAILS(gpul_free(&copy), GPUL_ERROR_CUDA, "gpul_free",
                "was it freed before, through a copy of the array? Of all copies free one, once");
    CHECK_INT(gpul_last_error()->cuda_code, cudaErrorInvalidValue);
    CHECK_BYTES(&copy, &zero, sizeof zero);
    CHECK_OK(gpul_memory_used(&used, NULL));
    CHECK_INT(used, 1000);
    CHECK_OK(gpul_free(&other));
    CHECK_OK(gpul_pinned_array(&a, GPUL_F32, gpul_1d(4)));
    copy = a;
    CHECK_OK(gpul_free(&a));
    CHECK_FAILS(gpul_free(&copy), GPUL_ERROR_CUDA, "gpul_free", "freed before, through a copy");
}

#ifdef GPULITE_CPU_STANDIN
static void free_after_capture(void) {
    gpul_array a = GPUL_ZERO;
    gpul_stream s = NULL;
    gpul_graph graph = NULL;
    if (gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING) || gpul_graph_begin(s) ||
        gpul_device_array(&a, GPUL_F32, gpul_1d(100), s) || gpul_fill(&a, 1, s) || gpul_graph_end(&graph, s))
        _exit(5);
    fprintf(stderr, "%s\n", gpul_free(&a) == GPUL_ERROR_CUDA ? gpul_last_error()->message : "nothing");
    _exit(7);
}
static void test_array_of_capture(void) { /* freed when its capture has ended, before a launch has made it */
    char text[4096];
    CHECK_INT(in_child(free_after_capture, text, sizeof text), 7);
    SAYS(text, "Or was it made in a capture? Free it before the capture ends");
}
#endif

static void test_use_after_free(void) {
    gpul_array a = GPUL_ZERO;
    double sum = -7;
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(4), NULL));
    CHECK_OK(gpul_free(&a));
    CHECK_FAILS(gpul_sum(&sum, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_sum", "x was never made, or was freed");
    CHECK_NEAR(sum, -7, 0);
}

#ifdef GPULITE_CPU_STANDIN
static void use_dead_view(void) {
    gpul_array a = GPUL_ZERO, view = GPUL_ZERO;
    double sum = 0;
    if (gpul_zeros(&a, GPUL_F32, gpul_1d(100000), NULL) != GPUL_OK ||
        gpul_slice(&view, &a, 0, 7, 90000, 1) != GPUL_OK || gpul_free(&a) != GPUL_OK ||
        gpul_device_synchronize() != GPUL_OK || gpul_memory_trim() != GPUL_OK)
        _exit(5);
    _exit(gpul_sum(&sum, &view, NULL) == GPUL_ERROR_CUDA && strstr(gpul_last_error()->message, "context is lost") ? 7
                                                                                                                  : 6);
}
static void test_dead_view(void) { /* a view cannot know; the kernel's access is what fails */
    char text[4096];
    const int status = in_child(use_dead_view, text, sizeof text);
    if (strstr(text, "AddressSanitizer") != NULL) { /* which ends the child at that access */
        CHECK(status != 0);
    } else {
        CHECK_INT(status, 7);
        SAYS(text, "freed");
    }
}
#endif

/* ---- dtypes, shapes, axes, values ---- */

static void test_wrong_dtype(void) {
    const double host[3] = {1, 2, 3};
    float wrong[3] = {0, 0, 0};
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, out = GPUL_ZERO;
    CHECK_OK(GPUL_TO_DEVICE(&a, host, gpul_1d(3)));
    CHECK_OK(gpul_zeros(&b, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array_like(&out, &a, NULL));
    CHECK_FAILS(gpul_vecadd(&out, &a, &b, NULL), GPUL_ERROR_DTYPE, "gpul_vecadd",
                "b is float32, but out is float64 and a is float64: nothing is converted");
    CHECK_FAILS(GPUL_TO_HOST(wrong, &a), GPUL_ERROR_DTYPE, "gpul_to_host",
                "host holds float32, but src is float64 (3), and nothing is converted");
    CHECK_FAILS(gpul_copy(&a, &b, NULL), GPUL_ERROR_DTYPE, "gpul_copy", "nothing is converted");
    CHECK_FAILS(gpul_zeros(&out, 42, gpul_1d(3), NULL), GPUL_ERROR_DTYPE, "gpul_zeros", "dtype = 42 is no dtype");
    CHECK_OK(gpul_free_all(&a, &b, &out));
}

static void test_wrong_shape(void) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, A = GPUL_ZERO;
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_zeros(&b, GPUL_F32, gpul_1d(4), NULL));
    CHECK_OK(gpul_zeros(&A, GPUL_F32, gpul_2d(3, 4), NULL));
    CHECK_FAILS(gpul_vecadd(&a, &a, &b, NULL), GPUL_ERROR_SHAPE, "gpul_vecadd",
                "b has float32 (4), which does not broadcast to out's float32 (3)");
    CHECK_FAILS(gpul_matmul(&A, &A, &A, NULL), GPUL_ERROR_SHAPE, "gpul_matmul", "needs 4 rows in it");
    CHECK_FAILS(gpul_gemv(&a, 1, &A, &a, 0, NULL), GPUL_ERROR_SHAPE, "gpul_gemv", "x has float32 (3), but A");
    CHECK_FAILS(gpul_reduce(&a, &A, GPUL_SUM, 0, NULL), GPUL_ERROR_SHAPE, "gpul_reduce",
                "x has float32 (3, 4) and axis 0 goes away, so that it must have (4)");
    CHECK_FAILS(gpul_reduce(&a, &A, 999, 0, NULL), GPUL_ERROR_ARGUMENT, "gpul_reduce", ": op = 999 is none of");
    CHECK_FAILS(gpul_unary(&a, 999, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_unary", ": op = 999 is none of");
    CHECK_FAILS(gpul_matmul(&a, &A, &b, NULL), GPUL_ERROR_SHAPE, "gpul_matmul",
                "vectors are gpul_gemv's and gpul_dot's");
    CHECK_FAILS(gpul_reshape(&a, &A, gpul_2d(5, -1)), GPUL_ERROR_SHAPE, "gpul_reshape", "fill the shape (5, -1)");
    CHECK(strstr(gpul_last_error()->message, "only one") == NULL);
    CHECK_FAILS(gpul_reshape(&a, &A, gpul_2d(-1, -1)), GPUL_ERROR_SHAPE, "gpul_reshape",
                "fill the shape (-1, -1): only one dimension may be -1");
    CHECK_FAILS(gpul_zeros(&a, GPUL_F32, gpul_1d(-1), NULL), GPUL_ERROR_SHAPE, "gpul_zeros", "negative dimension");
    CHECK_FAILS(gpul_zeros(&a, GPUL_F32, gpul_2d(INT64_MAX / 2, 4), NULL), GPUL_ERROR_OVERFLOW, "gpul_zeros",
                "63 bits");
    CHECK_OK(gpul_free_all(&a, &b, &A));
}

static void test_axis_and_index(void) {
    const int64_t at[2] = {3, 0};
    gpul_array A = GPUL_ZERO, out = GPUL_ZERO, view = GPUL_ZERO;
    float value = 0;
    CHECK_OK(gpul_full(&A, GPUL_F32, gpul_2d(3, 4), 2, NULL));
    CHECK_OK(gpul_zeros(&out, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_reduce(&out, &A, GPUL_SUM, -1, NULL)); /* negative axes count from the end */
    CHECK_FAILS(gpul_reduce(&out, &A, GPUL_SUM, -3, NULL), GPUL_ERROR_ARGUMENT, "gpul_reduce",
                "axis = -3, but x has float32 (3, 4)");
    CHECK_FAILS(gpul_slice(&view, &A, 2, 0, 1, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "axis = 2, but a has");
    CHECK_FAILS(gpul_slice(&view, &A, 0, 2, 4, 1), GPUL_ERROR_ARGUMENT, "gpul_slice",
                "stop = 4, but a->shape[0] = 3: 0 <= start <= stop <= shape");
    CHECK_OK(gpul_slice(&view, &A, 0, -2, 3, 1)); /* negative indices, too */
    CHECK_FAILS(gpul_slice(&view, &A, 0, -2, 0, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "start = -2, stop = 0, but");
    CHECK_FAILS(gpul_index(&view, &A, 0, -4), GPUL_ERROR_ARGUMENT, "gpul_index",
                "i = -4, but a->shape[0] = 3: -shape <= i < shape");
    CHECK_FAILS(gpul_get(&value, &A, at, NULL), GPUL_ERROR_ARGUMENT, "gpul_get",
                "index[0] = 3, but a->shape[0] = 3: -shape <= index < shape");
    CHECK_OK(gpul_free_all(&A, &out));
}

static void test_result_type(void) {
    const float host[2] = {0, 1};
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO;
    int32_t whole = -7;
    CHECK_OK(GPUL_TO_DEVICE(&x, host, gpul_1d(2)));
    CHECK_FAILS(gpul_reduce_host(&whole, GPUL_I32, &x, GPUL_MEAN, NULL), GPUL_ERROR_ARGUMENT, "gpul_reduce_host",
                "0.5 is no int32");
    CHECK_INT(whole, -7);
    CHECK_OK(gpul_zeros(&out, GPUL_I32, gpul_0d(), NULL));
    CHECK_FAILS(gpul_reduce(&out, &x, GPUL_SUM, GPUL_ALL_AXES, NULL), GPUL_ERROR_DTYPE, "gpul_reduce", "out is int32");
    CHECK_FAILS(gpul_fill(&out, 0.5, NULL), GPUL_ERROR_ARGUMENT, "gpul_fill", "value = 0.5 is no int32");
    CHECK_FAILS(gpul_scale(&out, 1.5, &out, 0, NULL), GPUL_ERROR_ARGUMENT, "gpul_scale", "a = 1.5 is no whole number");
    CHECK_OK(gpul_free_all(&x, &out));
}

static void test_overlap(void) {
    gpul_array a = GPUL_ZERO, head = GPUL_ZERO, tail = GPUL_ZERO;
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(10), NULL));
    CHECK_OK(gpul_slice(&head, &a, 0, 0, 9, 1));
    CHECK_OK(gpul_slice(&tail, &a, 0, 1, 10, 1));
    CHECK_FAILS(gpul_vecadd(&tail, &head, &tail, NULL), GPUL_ERROR_OVERLAP, "gpul_vecadd", "overlaps a");
    { /* rows that are interleaved, which is not looked into, and one row for two */
        const int64_t between[2] = {3, 2}, none[2] = {0, 1};
        CHECK_OK(gpul_wrap_strided(&head, a.data, GPUL_F32, gpul_2d(2, 3), between));
        CHECK_FAILS(gpul_fill(&head, 1, NULL), GPUL_ERROR_OVERLAP, "gpul_fill",
                    "float32 (2, 3) with strides (3, 2), may share memory with one another");
        CHECK_OK(gpul_wrap_strided(&head, a.data, GPUL_F32, gpul_2d(2, 3), none));
        CHECK_FAILS(gpul_fill(&head, 1, NULL), GPUL_ERROR_OVERLAP, "gpul_fill", "may share memory");
    }
    CHECK_OK(gpul_free(&a));
}

static void test_too_much_memory(void) {
    gpul_array a = GPUL_ZERO, zero = GPUL_ZERO;
    gpul_device info;
    char sentence[128];
    CHECK_OK(gpul_device_info(&info, 0));
    snprintf(sentence, sizeof sentence, "float64 (%lld) needs %lld bytes, but ", (long long)info.total_bytes / 8 + 1,
             (long long)info.total_bytes / 8 * 8 + 8);
    CHECK_FAILS(gpul_device_array(&a, GPUL_F64, gpul_1d(info.total_bytes / 8 + 1), NULL), GPUL_ERROR_OUT_OF_MEMORY,
                "gpul_device_array", sentence);
    CHECK_BYTES(&a, &zero, sizeof a);
}

/* ---- streams, events, timers ---- */

static void test_missing_synchronisation(void) {
#ifdef GPULITE_CPU_STANDIN /* which starts nothing before somebody waits */
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, pinned = GPUL_ZERO;
    int32_t done = -1;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_pinned_array(&pinned, GPUL_F32, gpul_1d(4)));
    memset(pinned.data, 0, 16);
    CHECK_OK(gpul_full(&a, GPUL_F32, gpul_1d(4), 5, s));
    CHECK_OK(gpul_copy_to_host(pinned.data, &a, s));
    CHECK_NEAR(*(float *)pinned.data, 0, 0); /* read too early */
    CHECK_OK(gpul_stream_query(&done, s));
    CHECK_INT(done, 0);
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(*(float *)pinned.data, 5, 0);
    CHECK_OK(gpul_free_all(&a, &pinned));
    CHECK_OK(gpul_stream_destroy(&s));
#endif
}

static void test_pinned_freed_in_use(void) { /* no mistake here: gpul_free waits */
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, pinned = GPUL_ZERO;
    float back = 0;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_0d(), s));
    CHECK_OK(gpul_pinned_array(&pinned, GPUL_F32, gpul_0d()));
    *(float *)pinned.data = 9;
    CHECK_OK(gpul_copy(&a, &pinned, s));
    CHECK_OK(gpul_free(&pinned));
    CHECK_OK(GPUL_TO_HOST(&back, &a));
    CHECK_NEAR(back, 9, 0);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_stream_destroy(&s));
}

static gpul_status nothing(void *user) {
    (void)user;
    return GPUL_OK;
}

static void test_dead_stream(void) {
    static const char sentence[] = "was ended by gpul_stream_destroy, and this is a copy of it";
    gpul_stream s = NULL, copy, other = NULL;
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO;
    gpul_event e = NULL;
    gpul_timer t = GPUL_ZERO;
    float host[4] = {0, 0, 0, 0};
    int32_t done = -1;
    int same = 0;
    double sum = -7;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_stream_create(&other, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_event_create(&e));
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(4), NULL));
    copy = s;
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_FAILS(gpul_fill(&a, 1, copy), GPUL_ERROR_ARGUMENT, "gpul_fill", sentence);
    CHECK_FAILS(gpul_vecadd(&a, &a, &a, copy), GPUL_ERROR_ARGUMENT, "gpul_vecadd", "stream = ");
    CHECK_FAILS(gpul_zeros(&b, GPUL_F32, gpul_1d(4), copy), GPUL_ERROR_ARGUMENT, "gpul_zeros", sentence);
    CHECK_FAILS(gpul_copy_to_host(host, &a, copy), GPUL_ERROR_ARGUMENT, "gpul_copy_to_host", sentence);
    CHECK_FAILS(gpul_sum(&sum, &a, copy), GPUL_ERROR_ARGUMENT, "gpul_sum", sentence);
    CHECK_FAILS(gpul_stream_synchronize(copy), GPUL_ERROR_ARGUMENT, "gpul_stream_synchronize", sentence);
    CHECK_FAILS(gpul_stream_query(&done, copy), GPUL_ERROR_ARGUMENT, "gpul_stream_query", sentence);
    CHECK_FAILS(gpul_stream_wait(copy, other), GPUL_ERROR_ARGUMENT, "gpul_stream_wait", "waiter = ");
    CHECK_FAILS(gpul_stream_wait(other, copy), GPUL_ERROR_ARGUMENT, "gpul_stream_wait", "other = ");
    CHECK_FAILS(gpul_event_record(e, copy), GPUL_ERROR_ARGUMENT, "gpul_event_record", sentence);
    CHECK_FAILS(gpul_timer_start(&t, copy), GPUL_ERROR_ARGUMENT, "gpul_timer_start", sentence);
    CHECK_OK(gpul_timer_start(&t, other));
    CHECK_FAILS(gpul_timer_stop(&t, copy), GPUL_ERROR_ARGUMENT, "gpul_timer_stop", sentence);
    {
        gpul_stream twice = copy;
        gpul_graph graph = NULL, none = NULL;
        gpul_benchmark_options options = GPUL_ZERO;
        gpul_benchmark_result result;
        CHECK_FAILS(gpul_stream_destroy(&twice), GPUL_ERROR_ARGUMENT, "gpul_stream_destroy", sentence);
        CHECK(twice == NULL);
        CHECK_OK(gpul_graph_begin(other));
        CHECK_OK(gpul_fill(&a, 2, other));
        CHECK_OK(gpul_graph_end(&graph, other));
        CHECK_FAILS(gpul_graph_begin(copy), GPUL_ERROR_ARGUMENT, "gpul_graph_begin", sentence);
        CHECK_FAILS(gpul_graph_end(&none, copy), GPUL_ERROR_ARGUMENT, "gpul_graph_end", sentence);
        CHECK_FAILS(gpul_graph_launch(graph, copy), GPUL_ERROR_ARGUMENT, "gpul_graph_launch", sentence);
        CHECK_OK(gpul_graph_free(&graph));
        options.stream = copy;
        CHECK_FAILS(gpul_benchmark(&result, nothing, NULL, &options), GPUL_ERROR_ARGUMENT, "gpul_benchmark",
                    "options->stream = ");
    }
    CHECK(sum == -7 && done == -1 && b.data == NULL);
    CHECK_FAILS(gpul_check_cuda(709, "mine"), GPUL_ERROR_CUDA, "mine",
                "a stream of this call was destroyed, or the CUDA");
    /* CUDA gives its handle to no other as long as it is known; then one with the same handle is another stream */
    for (int i = 0; i < 2000; i++) {
        gpul_stream dead = NULL;
        cudaStream_t again = NULL;
        CHECK_CUDA(cudaStreamCreateWithFlags(&again, cudaStreamNonBlocking));
        CHECK(again != copy || i > 15);
        if (again == copy) {
            CHECK_OK(gpul_fill(&a, 3, again));
            CHECK_OK(gpul_stream_synchronize(again));
            same++;
            i = 2000;
        }
        CHECK_CUDA(cudaStreamDestroy(again));
        CHECK_OK(gpul_stream_create(&dead, GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_stream_destroy(&dead));
    }
#if defined(GPULITE_CPU_STANDIN) && !defined(__SANITIZE_ADDRESS__) /* which gives no address twice for long */
    CHECK_INT(same, 1);
#endif
    CHECK_OK(gpul_timer_free(&t));
    CHECK_OK(gpul_event_destroy(&e));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_stream_destroy(&other));
}

/* More streams than the table of those that ended has room for: the newest are still known, and those alive all are. */
static void test_many_dead_streams(void) {
    gpul_stream alive[40], copy = NULL;
    for (int i = 0; i < 40; i++) CHECK_OK(gpul_stream_create(&alive[i], GPUL_STREAM_NON_BLOCKING));
    for (int i = 0; i < 3000; i++) {
        gpul_stream s = NULL;
        if (gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING) != GPUL_OK) FAIL("stream %d", i);
        copy = s;
        if (gpul_stream_destroy(&s) != GPUL_OK) FAIL("stream %d", i);
    }
    CHECK_FAILS(gpul_stream_synchronize(copy), GPUL_ERROR_ARGUMENT, "gpul_stream_synchronize", "gpul_stream_destroy");
    for (int i = 0; i < 40; i++) {
        CHECK_OK(gpul_stream_synchronize(alive[i]));
        CHECK_OK(gpul_stream_destroy(&alive[i]));
    }
}

static void test_event_never_recorded(void) {
    gpul_event a = NULL, b = NULL;
    double seconds = -7;
    CHECK_OK(gpul_event_create(&a));
    CHECK_OK(gpul_event_create(&b));
    CHECK_FAILS(gpul_event_seconds(&seconds, a, b), GPUL_ERROR_CUDA, "gpul_event_seconds",
                "start and stop were never recorded (gpul_event_record)");
    CHECK_OK(gpul_event_record(b, NULL));
    CHECK_FAILS(gpul_event_seconds(&seconds, a, b), GPUL_ERROR_CUDA, "gpul_event_seconds",
                ": start was never recorded");
    CHECK_FAILS(gpul_event_seconds(&seconds, b, a), GPUL_ERROR_CUDA, "gpul_event_seconds", ": stop was never recorded");
    CHECK_INT(gpul_last_error()->cuda_code, cudaErrorInvalidResourceHandle);
    CHECK_NEAR(seconds, -7, 0);
    CHECK_OK(gpul_event_destroy(&a));
    CHECK_OK(gpul_event_destroy(&b));
}

static void test_timer_running(void) {
    for (int host = 0; host < 2; host++) {
        gpul_timer t = GPUL_ZERO;
        double seconds = -7;
        if (host) t = gpul_host_timer();
        CHECK_FAILS(gpul_timer_stop(&t, NULL), GPUL_ERROR_ARGUMENT, "gpul_timer_stop", "timer is not running");
        CHECK_OK(gpul_timer_start(&t, NULL));
        CHECK_FAILS(gpul_timer_seconds(&seconds, &t), GPUL_ERROR_ARGUMENT, "gpul_timer_seconds",
                    "timer is running: its last region has no end yet; gpul_timer_stop it first");
        CHECK_NEAR(seconds, -7, 0);
        CHECK_FAILS(gpul_timer_start(&t, NULL), GPUL_ERROR_ARGUMENT, "gpul_timer_start", "timer is running already");
        CHECK_OK(gpul_timer_stop(&t, NULL));
        CHECK_OK(gpul_timer_seconds(&seconds, &t));
        CHECK_OK(gpul_timer_free(&t));
    }
}

/* ---- devices ---- */

#ifdef GPULITE_CPU_STANDIN
static void test_foreign_stream(void) { /* of another device */
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO;
    standin_devices(2);
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(5000), NULL));
    CHECK_OK(gpul_device_select(1));
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_zeros(&b, GPUL_F32, gpul_1d(5000), NULL));
    CHECK_FAILS(gpul_vecadd(&a, &a, &a, s), GPUL_ERROR_CUDA, "gpul_vecadd",
                "a stream or event of this call was destroyed, or belongs to another device");
    CHECK_FAILS(gpul_vecadd(&a, &a, &b, NULL), GPUL_ERROR_DEVICE, "gpul_vecadd", "arrays of two devices");
    CHECK_OK(gpul_free_all(&a, &b));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_OK(gpul_device_select(0));
    standin_devices(1);
}

static void check_reported(const char *first, const char *second) {
    char text[8192];
    CHECK_OK(gpul_report(NULL, text, sizeof text));
    SAYS(text, first);
    SAYS(text, second);
}

static void test_no_driver(void) {
    gpul_array a = GPUL_ZERO;
    standin_fail("cudaGetDevice", 1, cudaErrorInsufficientDriver, STANDIN_FROM_THEN_ON);
    standin_fail("cudaGetDeviceCount", 1, cudaErrorInsufficientDriver, STANDIN_FROM_THEN_ON);
    CHECK_FAILS(gpul_zeros(&a, GPUL_F32, gpul_1d(3), NULL), GPUL_ERROR_NO_DEVICE, "gpul_zeros",
                "the driver is for CUDA 13.0, too old for the CUDA runtime 13.0: update the driver");
    CHECK_FAILS(gpul_device_select(0), GPUL_ERROR_NO_DEVICE, "gpul_device_select", "update the driver");
    check_reported("no CUDA device: cudaErrorInsufficientDriver", "update the driver");
    standin_fail("cudaDriverGetVersion", 1, cudaErrorInsufficientDriver, STANDIN_FROM_THEN_ON);
    CHECK_FAILS(gpul_zeros(&a, GPUL_F32, gpul_1d(3), NULL), GPUL_ERROR_NO_DEVICE, "gpul_zeros",
                "there is no CUDA driver");
    CHECK_FAILS(gpul_device_by_id(&(int32_t){0}, "0"), GPUL_ERROR_NO_DEVICE, "gpul_device_by_id", "no CUDA driver");
    check_reported("there is no CUDA driver", ", no driver\n");
    standin_fail_clear();
    (void)cudaGetLastError();
}

/* What keeps the driver from starting is nobody's pending error: it cannot be fetched. */
static void test_driver_that_does_not_start(void) {
    static const int codes[] = {cudaErrorInitializationError, cudaErrorSystemNotReady, cudaErrorSystemDriverMismatch,
                                cudaErrorUnknown};
    for (int i = 0; i < COUNT_OF(codes); i++) {
        gpul_array a = GPUL_ZERO;
        int32_t count = 0;
        standin_driver(codes[i]);
        CHECK_FAILS(gpul_zeros(&a, GPUL_F32, gpul_1d(3), NULL), GPUL_ERROR_CUDA, "gpul_zeros",
                    "cudaGetDevice returned");
        CHECK_INT(gpul_last_error()->cuda_code, codes[i]);
        CHECK_FAILS(gpul_device_count(&count), GPUL_ERROR_CUDA, "gpul_device_count",
                    cudaGetErrorName((cudaError_t)codes[i]));
        check_reported("no CUDA device: ", cudaGetErrorName((cudaError_t)codes[i]));
        standin_driver(0);
    }
    (void)cudaGetLastError();
}

static void test_hidden_devices(void) {
    gpul_array a = GPUL_ZERO;
    CHECK_INT(setenv("CUDA_VISIBLE_DEVICES", "-1", 1), 0);
    standin_devices(0);
    CHECK_FAILS(gpul_zeros(&a, GPUL_F32, gpul_1d(3), NULL), GPUL_ERROR_NO_DEVICE, "gpul_zeros",
                "no GPU is visible: the environment variable CUDA_VISIBLE_DEVICES is \"-1\"");
    CHECK_FAILS(gpul_device_select(0), GPUL_ERROR_NO_DEVICE, "gpul_device_select", "CUDA_VISIBLE_DEVICES is \"-1\"");
    check_reported("CUDA_VISIBLE_DEVICES=-1", "no CUDA device: cudaErrorNoDevice (no GPU is visible");
    CHECK_INT(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    CHECK_FAILS(gpul_device_select(0), GPUL_ERROR_NO_DEVICE, "gpul_device_select", "no CUDA-capable device");
    standin_devices(1);
    (void)cudaGetLastError();
}

/* The report says what the kernels were built for, and which build line would be better. */
static void test_older_build(void) {
    standin_reset();
    standin_guise("a GPU", 75, 75);
    check_reported("    reduce        sm_75         compute_75\n", "better for this device: nvcc -arch=sm_90a\n");
    standin_capability(8, 6);
    check_reported("    histogram     sm_75         compute_75\n", "better for this device: nvcc -arch=sm_86\n");
    standin_guise("a GPU", 86, 86);
    {
        char text[8192];
        CHECK_OK(gpul_report(NULL, text, sizeof text));
        SAYS(text, "    matmul        sm_86         compute_86\n"
                   "    tensor cores: matrix products of 16 bits and in TF32\n"); /* here f64 is slow */
        CHECK(strstr(text, "better for this device") == NULL);
    }
    standin_guise("a GPU", 0, 0);
    check_reported("    gemv          left out of the build\n", "device 0: a GPU");
    standin_guise("a GPU", 75, 75);
    standin_fail("cudaFuncGetAttributes", 1, cudaErrorNoKernelImageForDevice, STANDIN_FROM_THEN_ON);
    check_reported("    elementwise   none that runs here\n", "better for this device: nvcc -arch=sm_86\n");
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    standin_fail_clear();
    standin_reset();
}

/* A limit from outside counts from the first use of a device on: each case has a device that is new. Its point is one in
 * a program with a locale of commas, too, if the machine has that. */
static void test_memory_limit(void) {
    static const struct {
        const char *text;
        int64_t limit;
    } cases[] = {{"2500", 2500}, {"1.5e6", 1500000}, {"25%", 268435456}, {"1", 1}, {"0", 0}};
    static const char *const refused[] = {"half", "101%", "-5", "0.5", "1e-9%", "nan"};
    gpul_array a = GPUL_ZERO;
    standin_devices(8);
    /* a point of two bytes, or else another one */
    if (!setlocale(LC_NUMERIC, "ps_AF.UTF-8")) (void)setlocale(LC_NUMERIC, "de_DE.UTF-8");
    for (int i = 0; i < COUNT_OF(cases); i++) {
        CHECK_OK(gpul_device_select(2 + i));
        CHECK_INT(setenv("GPULITE_MEMORY_LIMIT", cases[i].text, 1), 0);
        if (cases[i].limit > 0) {
            CHECK_FAILS(gpul_device_array(&a, GPUL_U8, gpul_1d(cases[i].limit + 1), NULL), GPUL_ERROR_OUT_OF_MEMORY,
                        "gpul_device_array", "the limit (gpul_memory_limit or GPULITE_MEMORY_LIMIT) is");
            CHECK_OK(gpul_device_array(&a, GPUL_U8, gpul_1d(cases[i].limit), NULL));
            CHECK_OK(gpul_free(&a));
            CHECK_OK(gpul_memory_limit(0)); /* replaces it */
        }
        CHECK_OK(gpul_device_array(&a, GPUL_U8, gpul_1d(cases[i].limit + 1), NULL));
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_device_synchronize());
    }
    CHECK(setlocale(LC_NUMERIC, "C") != NULL);
    CHECK_OK(gpul_device_select(7));
    for (int i = 0; i < COUNT_OF(refused); i++) { /* until it is right, or gone, the device is not used */
        CHECK_INT(setenv("GPULITE_MEMORY_LIMIT", refused[i], 1), 0);
        CHECK_FAILS(gpul_device_array(&a, GPUL_U8, gpul_1d(1), NULL), GPUL_ERROR_ARGUMENT, "gpul_device_array",
                    "GPULITE_MEMORY_LIMIT is \"");
        CHECK(strstr(gpul_last_error()->message, refused[i]) != NULL);
    }
    CHECK_INT(unsetenv("GPULITE_MEMORY_LIMIT"), 0);
    CHECK_OK(gpul_device_array(&a, GPUL_U8, gpul_1d(1), NULL));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_device_synchronize());
    CHECK_INT(setenv("GPULITE_MEMORY_LIMIT", "50%", 1), 0);
    CHECK_OK(gpul_device_select(0));
    check_reported("GPULITE_MEMORY_LIMIT=50%: of each device", "device 7: ");
    CHECK_INT(unsetenv("GPULITE_MEMORY_LIMIT"), 0);
    standin_devices(1);
}
#endif

static void test_device_by_id(void) {
    int32_t count = 0, found = -7;
    gpul_device info;
    char id[64];
#ifdef GPULITE_CPU_STANDIN
    standin_devices(2);
#endif
    CHECK_OK(gpul_device_count(&count));
    for (int32_t i = 0; i < count; i++) {
        CHECK_OK(gpul_device_info(&info, i));
        CHECK_INT(strlen(info.uuid), 40);
        CHECK(strncmp(info.uuid, "GPU-", 4) == 0 && info.uuid[12] == '-' && info.uuid[27] == '-');
        snprintf(id, sizeof id, "%d", (int)i);
        CHECK_OK(gpul_device_by_id(&found, id));
        CHECK_INT(found, i);
        CHECK_OK(gpul_device_by_id(&found, info.pci));
        CHECK_INT(found, i);
        CHECK_OK(gpul_device_by_id(&found, info.pci + 5)); /* no domain */
        CHECK_INT(found, i);
        CHECK_OK(gpul_device_by_id(&found, info.uuid));
        CHECK_INT(found, i);
        for (int k = 0; info.uuid[k]; k++)
            id[k] = (char)(info.uuid[k] >= 'a' && info.uuid[k] <= 'z' ? info.uuid[k] - 32 : info.uuid[k]);
        id[14] = 0; /* the first part, in capitals */
        CHECK_OK(gpul_device_by_id(&found, id));
        CHECK_INT(found, i);
    }
    found = -7;
    CHECK_FAILS(gpul_device_by_id(&found, "GPU-"), GPUL_ERROR_DEVICE, "gpul_device_by_id", "id = \"GPU-\" is neither");
    CHECK_FAILS(gpul_device_by_id(&found, ""), GPUL_ERROR_DEVICE, "gpul_device_by_id", "id = \"\"");
    CHECK_FAILS(gpul_device_by_id(&found, "64"), GPUL_ERROR_DEVICE, "gpul_device_by_id", "visible devices");
    CHECK_FAILS(gpul_device_by_id(NULL, "0"), GPUL_ERROR_ARGUMENT, "gpul_device_by_id", "device is NULL");
    CHECK_FAILS(gpul_device_by_id(&found, NULL), GPUL_ERROR_ARGUMENT, "gpul_device_by_id", "id is NULL");
    snprintf(id, sizeof id, count == 1 ? "is %d device, numbered from 0" : "are %d devices, numbered from 0",
             (int)count);
    CHECK_FAILS(gpul_device_select(count), GPUL_ERROR_DEVICE, "gpul_device_select", id);
    CHECK_INT(found, -7);
#ifdef GPULITE_CPU_STANDIN
    CHECK_OK(gpul_device_info(&info, 1)); /* the stand-in's UUIDs end alike: 01, 02, ... and zeros */
    CHECK_FAILS(gpul_device_by_id(&found, "GPU-0"), GPUL_ERROR_ARGUMENT, "gpul_device_by_id",
                "both device 0 and device 1");
    check_reported(info.uuid, info.pci);
    standin_devices(1);
#endif
}

/* ---- being told ---- */

static int told;
static gpul_error seen;
static void remember(const gpul_error *error) {
    told++;
    seen = *error;
    if (strcmp(error->message, gpul_last_error()->message) != 0) FAIL("not the thread's record");
    if (gpul_fill(NULL, 1, NULL) != GPUL_ERROR_ARGUMENT) FAIL("no failure in the handler"); /* is not told */
    if (strcmp(error->message, seen.message) != 0) FAIL("the handler's copy has changed");
}
static void other_handler(const gpul_error *error) { (void)error; }
#ifdef GPULITE_CPU_STANDIN
static void *other_thread(void *result) {
    *(int *)result = gpul_fill(NULL, 1, NULL) == GPUL_ERROR_ARGUMENT && gpul_on_error(NULL) == NULL;
    return NULL;
}
#endif

static void test_handler(void) {
    gpul_array a = GPUL_ZERO;
    gpul_device info;
    CHECK_OK(gpul_device_info(&info, 0));
    told = 0;
    CHECK(gpul_on_error(remember) == NULL);
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(3), NULL));
    CHECK_INT(told, 0);
    CHECK_INT(gpul_slice(&a, NULL, 0, 0, 1, 1), GPUL_ERROR_ARGUMENT);
    CHECK_INT(told, 1);
    CHECK_STRING(seen.function, "gpul_slice");
    CHECK_STRING(gpul_last_error()->message, "gpul_slice: a is NULL"); /* not what failed in the handler */
    CHECK_INT(gpul_check_cuda(cudaErrorInvalidValue, "mine"), GPUL_ERROR_CUDA);
    CHECK_INT(told, 2);
    CHECK(seen.cuda_code == cudaErrorInvalidValue && strcmp(seen.cuda_name, "cudaErrorInvalidValue") == 0);
    CHECK_INT(gpul_device_array(&a, GPUL_U8, gpul_1d(info.total_bytes + 1), NULL), GPUL_ERROR_OUT_OF_MEMORY);
    CHECK_INT(told, 3);
    CHECK(seen.bytes_requested == info.total_bytes + 1 && seen.bytes_free > 0); /* the whole record */
    CHECK_INT(gpul_device_select(-5), GPUL_ERROR_DEVICE);
    CHECK_INT(seen.device, -5);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which end the process instead */
    {
        gpul_benchmark_options options = GPUL_ZERO;
        gpul_benchmark_result result;
        options.repeat = (int64_t)1 << 32;
        options.seconds = 1e-3;
        seen.bytes_requested = (int64_t)1 << 38; /* where the host has that much memory */
        if (gpul_benchmark(&result, nothing, NULL, &options) != GPUL_OK) told--;
        CHECK_INT(seen.bytes_requested, (int64_t)1 << 38);
    }
#endif
    { /* somebody else's */
        const cudaError_t mine = cudaSetDevice(12345);
        CHECK_INT(gpul_fill(&a, 1, NULL), GPUL_ERROR_PENDING);
        CHECK(told == 5 && seen.status == GPUL_ERROR_PENDING && seen.cuda_code == (int32_t)mine);
        (void)cudaGetLastError();
    }
#ifdef GPULITE_CPU_STANDIN
    {
        pthread_t t;
        int good = 0;
        CHECK_INT(pthread_create(&t, NULL, other_thread, &good), 0);
        CHECK_INT(pthread_join(t, NULL), 0);
        CHECK(good && told == 5);
    }
#endif
    CHECK(gpul_on_error(other_handler) == remember);
    CHECK(gpul_on_error(NULL) == other_handler);
    CHECK_INT(gpul_fill(NULL, 1, NULL), GPUL_ERROR_ARGUMENT);
    CHECK_INT(told, 5);
    CHECK_OK(gpul_free(&a));
}

GPUL_PRINT_AND_EXIT(print_and_exit)

#ifdef GPULITE_CPU_STANDIN
static void small_program(void) { /* no GPUL_CHECK, and no mistake unseen */
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, sum = GPUL_ZERO;
    gpul_on_error(print_and_exit);
    gpul_full(&a, GPUL_F32, gpul_1d(3), 1, NULL);
    gpul_full(&b, GPUL_F32, gpul_1d(4), 1, NULL);
    gpul_device_array_like(&sum, &a, NULL);
    gpul_vecadd(&sum, &a, &b, NULL);
    _exit(99);
}
static void test_print_and_exit(void) {
    char text[4096];
    CHECK_INT(in_child(small_program, text, sizeof text), 1);
    CHECK_STRING(text, "gpul_vecadd: b has float32 (4), which does not broadcast to out's float32 (3)\n");
}
#else
static void test_print_and_exit(void) {
    CHECK(gpul_on_error(print_and_exit) == NULL && gpul_on_error(NULL) == print_and_exit);
}
#endif

int main(void) {
    check_begin("mistakes");
    RUN(test_null);
    RUN(test_output_never_made);
    RUN(test_host_pointer);
    RUN(test_double_free);
    RUN(test_use_after_free);
    RUN(test_wrong_dtype);
    RUN(test_wrong_shape);
    RUN(test_axis_and_index);
    RUN(test_result_type);
    RUN(test_overlap);
    RUN(test_too_much_memory);
    RUN(test_missing_synchronisation);
    RUN(test_pinned_freed_in_use);
    RUN(test_event_never_recorded);
    RUN(test_timer_running);
    RUN(test_device_by_id);
    RUN(test_handler);
    RUN(test_print_and_exit);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_device_pointer_on_host);
    RUN(test_dead_view);
    RUN(test_array_of_capture);
    RUN(test_foreign_stream);
    RUN(test_no_driver);
    RUN(test_driver_that_does_not_start);
    RUN(test_hidden_devices);
    RUN(test_older_build);
    RUN(test_memory_limit);
#endif
    RUN(test_dead_stream);
    RUN(test_many_dead_streams);
    return check_end();
}
