/* SPDX-License-Identifier: MIT
 * The error record, GPUL_CHECK's pieces, and the rule of the pending CUDA error for every function. */
#include "calls.h"

#include <pthread.h>

static void test_names(void) {
    static const struct {
        gpul_status status;
        const char *name;
    } names[] = {{GPUL_OK, "GPUL_OK"},
                 {GPUL_ERROR_ARGUMENT, "GPUL_ERROR_ARGUMENT"},
                 {GPUL_ERROR_SHAPE, "GPUL_ERROR_SHAPE"},
                 {GPUL_ERROR_DTYPE, "GPUL_ERROR_DTYPE"},
                 {GPUL_ERROR_MEMORY, "GPUL_ERROR_MEMORY"},
                 {GPUL_ERROR_DEVICE, "GPUL_ERROR_DEVICE"},
                 {GPUL_ERROR_OVERLAP, "GPUL_ERROR_OVERLAP"},
                 {GPUL_ERROR_OVERFLOW, "GPUL_ERROR_OVERFLOW"},
                 {GPUL_ERROR_OUT_OF_MEMORY, "GPUL_ERROR_OUT_OF_MEMORY"},
                 {GPUL_ERROR_NO_DEVICE, "GPUL_ERROR_NO_DEVICE"},
                 {GPUL_ERROR_UNSUPPORTED, "GPUL_ERROR_UNSUPPORTED"},
                 {GPUL_ERROR_CUDA, "GPUL_ERROR_CUDA"},
                 {GPUL_ERROR_PENDING, "GPUL_ERROR_PENDING"}};
    for (int i = 0; i < COUNT_OF(names); i++) CHECK_STRING(gpul_status_name(names[i].status), names[i].name);
    CHECK_STRING(gpul_status_name(8), "unknown status");
    CHECK_STRING(gpul_status_name(-1), "unknown status");
    CHECK_STRING(gpul_status_name(INT32_MAX), "unknown status");
}

static void test_record(void) {
    const gpul_error *e = gpul_last_error();
    gpul_array a = GPUL_ZERO;
    CHECK(e != NULL);
    gpul_clear_error();
    CHECK_INT(e->status, GPUL_OK);
    CHECK_INT(e->message[0], 0);
    CHECK_INT(gpul_device_array(NULL, GPUL_F32, gpul_1d(3), NULL), GPUL_ERROR_ARGUMENT);
    CHECK(e == gpul_last_error());
    CHECK_INT(e->status, GPUL_ERROR_ARGUMENT);
    CHECK_INT(e->cuda_code, 0);
    CHECK_STRING(e->cuda_name, "");
    CHECK_INT(e->device, -1);
    CHECK_INT(e->bytes_requested, 0);
    CHECK_INT(e->bytes_free, 0);
    CHECK_INT(e->reserved, 0);
    CHECK_STRING(e->function, "gpul_device_array");
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(3), NULL)); /* success leaves the record alone */
    CHECK_INT(e->status, GPUL_ERROR_ARGUMENT);
    CHECK_INT(gpul_fill(NULL, 1, NULL), GPUL_ERROR_ARGUMENT);
    CHECK_STRING(e->function, "gpul_fill");
    gpul_clear_error();
    CHECK_INT(e->status, GPUL_OK);
    CHECK_STRING(e->function, "");
    CHECK_OK(gpul_free(&a));
    {
        char name[600];
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = 0;
        CHECK_INT(gpul_check_cuda(cudaErrorUnknown, name), GPUL_ERROR_CUDA); /* too long: cut, and terminated */
        CHECK(strlen(e->function) == sizeof e->function - 1);
        CHECK(memchr(e->message, 0, sizeof e->message) != NULL);
    }
}

static void test_check_cuda(void) {
    const gpul_error *e = gpul_last_error();
    gpul_clear_error();
    CHECK_OK(gpul_check_cuda(0, "mine"));
    CHECK_INT(e->status, GPUL_OK);
    CHECK_FAILS(gpul_check_cuda(cudaErrorInvalidValue, "mine"), GPUL_ERROR_CUDA, "mine", "cudaErrorInvalidValue");
    CHECK_INT(e->cuda_code, cudaErrorInvalidValue);
    CHECK_STRING(e->cuda_name, "cudaErrorInvalidValue");
    CHECK_FAILS(gpul_check_cuda(cudaErrorMemoryAllocation, "mine"), GPUL_ERROR_OUT_OF_MEMORY, "mine", NULL);
    CHECK_FAILS(gpul_check_cuda(cudaErrorNoDevice, "mine"), GPUL_ERROR_NO_DEVICE, "mine", NULL);
    CHECK_FAILS(gpul_check_cuda(cudaErrorInsufficientDriver, "mine"), GPUL_ERROR_NO_DEVICE, "mine", NULL);
    CHECK(gpul_check_cuda(cudaErrorInvalidValue, NULL) == GPUL_ERROR_CUDA);
    { /* clears that very error when it is the pending one, and no other */
        const cudaError_t mine = cudaSetDevice(12345);
        CHECK(mine != cudaSuccess && cudaPeekAtLastError() == mine);
        CHECK_INT(gpul_check_cuda(cudaErrorLaunchFailure, "mine"), GPUL_ERROR_CUDA);
        CHECK_INT(cudaPeekAtLastError(), mine);
        CHECK_INT(gpul_check_cuda(mine, "mine"), GPUL_ERROR_CUDA);
        CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    }
}

static void *other_thread(void *result) {
    const gpul_error *e = gpul_last_error();
    long *good = (long *)result;
    *good = e->status == GPUL_OK && e->message[0] == 0; /* its own, and fresh */
    *good += gpul_fill(NULL, 1, NULL) == GPUL_ERROR_ARGUMENT && e->status == GPUL_ERROR_ARGUMENT;
    return NULL;
}
static void test_threads(void) {
    pthread_t t;
    long good = 0;
    gpul_clear_error();
    CHECK_INT(gpul_stream_create(NULL, 0), GPUL_ERROR_ARGUMENT);
    CHECK_INT(pthread_create(&t, NULL, other_thread, &good), 0);
    CHECK_INT(pthread_join(t, NULL), 0);
    CHECK_INT(good, 2);
    CHECK_STRING(gpul_last_error()->function, "gpul_stream_create");
    gpul_clear_error();
}

/* Many threads make, use and free arrays at a time, every other round in a graph. */
static void *worker(void *result) {
    long *wrong = (long *)result;
    const int32_t seed = (int32_t)*wrong;
    *wrong = 0;
    for (int round = 0; round < 20; round++) {
        enum { BINS = 40 };
        const int64_t n = 5000 + 100 * round + seed, k = 30 + round;
        gpul_array a = GPUL_ZERO, x = GPUL_ZERO, counts = GPUL_ZERO, A = GPUL_ZERO, B = GPUL_ZERO, C = GPUL_ZERO;
        gpul_histogram_options o = GPUL_ZERO;
        gpul_graph graph = NULL;
        gpul_stream s = NULL;
        int64_t sum = -1, counted = -1;
        double edges[BINS + 1], least = -1, most = -1;
        for (int i = 0; i <= BINS; i++) edges[i] = (double)n / BINS * i;
        o.range = GPUL_RANGE_EDGES;
        o.edges = edges;
        o.n_edges = BINS + 1;
        *wrong += gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING) != GPUL_OK;
        *wrong += gpul_device_array(&a, GPUL_I32, gpul_1d(n), s) != GPUL_OK;
        *wrong += gpul_device_array(&x, GPUL_F32, gpul_1d(n), s) != GPUL_OK;
        *wrong += gpul_device_array(&counts, GPUL_I32, gpul_1d(BINS), s) != GPUL_OK;
        *wrong += gpul_device_array(&A, GPUL_F32, gpul_2d(7 + seed, k), s) != GPUL_OK;
        *wrong += gpul_device_array(&B, GPUL_F32, gpul_2d(k, 20), s) != GPUL_OK;
        *wrong += gpul_device_array(&C, GPUL_F32, gpul_2d(7 + seed, 20), s) != GPUL_OK;
        *wrong += gpul_stream_synchronize(s) != GPUL_OK;
        if (round % 2) *wrong += gpul_graph_begin(s) != GPUL_OK;
        *wrong += gpul_fill(&a, seed, s) != GPUL_OK;
        *wrong += gpul_arange(&x, 0, 1, s) != GPUL_OK;
        *wrong += gpul_histogram_ex(&counts, &x, &o, s) != GPUL_OK;
        *wrong += gpul_fill(&A, 1, s) != GPUL_OK;
        *wrong += gpul_fill(&B, seed, s) != GPUL_OK;
        *wrong += gpul_matmul(&C, &A, &B, s) != GPUL_OK;
        if (round % 2) {
            *wrong += gpul_graph_end(&graph, s) != GPUL_OK;
            *wrong += gpul_graph_launch(graph, s) != GPUL_OK;
        }
        *wrong += gpul_reduce_host(&sum, GPUL_I64, &a, GPUL_SUM, s) != GPUL_OK;
        *wrong += gpul_reduce_host(&counted, GPUL_I64, &counts, GPUL_SUM, s) != GPUL_OK;
        *wrong += gpul_min(&least, &C, s) != GPUL_OK || gpul_max(&most, &C, s) != GPUL_OK;
        *wrong += sum != seed * n || counted != n || least != (double)(seed * k) || most != least;
        *wrong += gpul_graph_free(&graph) != GPUL_OK;
        *wrong += gpul_free_all(&a, &x, &counts, &A, &B, &C) != GPUL_OK;
        if (round % 3) *wrong += gpul_stream_synchronize(s) != GPUL_OK;
        *wrong += gpul_stream_destroy(&s) != GPUL_OK;
    }
    return NULL;
}
/* Four threads run it at a time, each with its number, from `first` on. On the stand-in their calls come in turns. */
static void run_threads(void *(*function)(void *), long first, int pause) {
    pthread_t t[4];
    long wrong[4];
#ifdef GPULITE_CPU_STANDIN
    standin_pause(pause);
#else
    (void)pause;
#endif
    for (int i = 0; i < 4; i++) {
        wrong[i] = first + i;
        CHECK_INT(pthread_create(&t[i], NULL, function, &wrong[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_INT(pthread_join(t[i], NULL), 0);
        CHECK_INT(wrong[i], 0);
    }
#ifdef GPULITE_CPU_STANDIN
    standin_pause(0);
#endif
}
static void test_many_threads(void) {
    run_threads(worker, 3, 0);
    run_threads(worker, 3, 20);
}

/* Histograms whose blocks have more than 48 KB of shared memory, each thread's another size, in turn and at a time. The
 * first thread has most: what a later one asks for must not take it away. */
static void *counter(void *result) {
    long *wrong = (long *)result;
    const int64_t bins = 52000 - 8000 * *wrong, n = bins * 8;
    gpul_array x = GPUL_ZERO, counts = GPUL_ZERO;
    gpul_stream s = NULL;
    int64_t sum = -1;
    *wrong = gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING) != GPUL_OK;
    *wrong += gpul_device_array(&x, GPUL_F32, gpul_1d(n), s) != GPUL_OK;
    *wrong += gpul_device_array(&counts, GPUL_I32, gpul_1d(bins), s) != GPUL_OK;
    *wrong += gpul_linspace(&x, 0, 1, s) != GPUL_OK;
    for (int round = 0; round < 20; round++)
        if (!left_out(round)) *wrong += gpul_histogram(&counts, &x, 0, 1, s) != GPUL_OK;
    *wrong += gpul_reduce_host(&sum, GPUL_I64, &counts, GPUL_SUM, s) != GPUL_OK;
    *wrong += sum != n;
    *wrong += gpul_free_all(&x, &counts) != GPUL_OK;
    *wrong += gpul_stream_synchronize(s) != GPUL_OK;
    *wrong += gpul_stream_destroy(&s) != GPUL_OK;
    return NULL;
}
static void test_shared_memory_of_threads(void) {
    long most = 0, least = 3;
    pthread_t t;
    counter(&most);
    CHECK_INT(most, 0);
    CHECK_INT(pthread_create(&t, NULL, counter, &least), 0);
    CHECK_INT(pthread_join(t, NULL), 0);
    CHECK_INT(least, 0);
    most = 0;
    counter(&most); /* this thread remembers that it has asked */
    CHECK_INT(most, 0);
    run_threads(counter, 0, 100);
}

#ifdef GPULITE_CPU_STANDIN
/* A kernel that wants more than 48 KB of shared memory asks for it once; where that failed, again. (No test before uses
 * the kernel of doubles.) */
static void test_permission(void) {
    const int64_t bins = 28000, n = bins * 8;
    gpul_array x = GPUL_ZERO, counts = GPUL_ZERO;
    const long before = standin_calls("cudaFuncSetAttribute");
    int64_t sum = -1;
    CHECK_OK(gpul_full(&x, GPUL_F64, gpul_1d(n), 0.5, NULL));
    CHECK_OK(gpul_full(&counts, GPUL_I32, gpul_1d(bins), 7, NULL));
    standin_fail("cudaFuncSetAttribute", 1, cudaErrorUnknown, STANDIN_ONCE);
    CHECK_INT(gpul_histogram(&counts, &x, 0, 1, NULL), GPUL_ERROR_CUDA);
    CHECK_INT(standin_failed(), 1);
    standin_fail_clear();
    for (int round = 0; round < 3; round++) CHECK_OK(gpul_histogram(&counts, &x, 0, 1, NULL));
    CHECK_INT(standin_calls("cudaFuncSetAttribute"), before + 2);
    CHECK_OK(gpul_reduce_host(&sum, GPUL_I64, &counts, GPUL_SUM, NULL));
    CHECK_INT(sum, n);
    CHECK_OK(gpul_free_all(&x, &counts));
}
#endif

/* Products of several launches, which leave copies of A and B for one another (float16 whose matrices do not begin at
 * multiples of 16 bytes, by mma), of threads that share a stream */
static gpul_stream shared;
static void *multiplier(void *result) {
    enum { kMany = 4, kRows = 65, kSteps = 81, kColumns = 65 };
    long *wrong = (long *)result;
    const double value = (double)*wrong;
    gpul_array all = GPUL_ZERO, few = GPUL_ZERO, many = GPUL_ZERO, a = GPUL_ZERO, b = GPUL_ZERO, c = GPUL_ZERO;
    uint16_t want;
    num_store(GPUL_F16, &want, num_of(kSteps * value * value));
    *wrong = gpul_full(&all, GPUL_F16, gpul_1d(kMany * kSteps * kColumns + 1), value, shared) != GPUL_OK;
    *wrong += gpul_slice(&few, &all, 0, 1, kMany * kRows * kSteps + 1, 1) != GPUL_OK;
    *wrong += gpul_slice(&many, &all, 0, 1, kMany * kSteps * kColumns + 1, 1) != GPUL_OK;
    *wrong += gpul_reshape(&a, &few, gpul_3d(kMany, kRows, kSteps)) != GPUL_OK;
    *wrong += gpul_reshape(&b, &many, gpul_3d(kMany, kSteps, kColumns)) != GPUL_OK;
    *wrong += gpul_device_array(&c, GPUL_F16, gpul_3d(kMany, kRows, kColumns), shared) != GPUL_OK;
    for (int round = 0; round < 20; round++) {
        if (left_out(round)) continue;
        uint16_t host[kMany * kRows * kColumns];
        *wrong += gpul_matmul(&c, &a, &b, shared) != GPUL_OK;
        *wrong += gpul_copy_to_host(host, &c, shared) != GPUL_OK;
        *wrong += gpul_stream_synchronize(shared) != GPUL_OK;
        for (int i = 0; i < kMany * kRows * kColumns; i++) *wrong += host[i] != want;
    }
    *wrong += gpul_free_all(&all, &c) != GPUL_OK;
    return NULL;
}
static void test_threads_of_one_stream(void) {
    CHECK_OK(gpul_stream_create(&shared, GPUL_STREAM_NON_BLOCKING));
    run_threads(multiplier, 1, 100);
    CHECK_OK(gpul_stream_destroy(&shared));
}

/* With somebody else's error pending, every function does nothing, says so, and leaves the error where it is. */
static void test_pending(void) {
    world w;
    world_open(&w);
    for (int i = 0; i < COUNT_OF(calls); i++) {
        const cudaError_t mine = cudaSetDevice(12345);
        gpul_status status;
        CHECK_INT(cudaPeekAtLastError(), mine);
        gpul_clear_error();
        status = calls[i].call(&w);
        if (status != GPUL_ERROR_PENDING)
            FAIL("%s (call %d) returned %s with an error pending", calls[i].function, i, gpul_status_name(status));
        else CHECK_INT(gpul_last_error()->status, status);
        if (status != GPUL_OK && strcmp(gpul_last_error()->function, calls[i].function) != 0)
            FAIL("%s reports as %s", calls[i].function, gpul_last_error()->function);
        if (status == GPUL_ERROR_PENDING) CHECK_INT(gpul_last_error()->cuda_code, mine);
        if (cudaPeekAtLastError() != mine) FAIL("%s (call %d) took away somebody else's error", calls[i].function, i);
        (void)cudaGetLastError();
        if (status == GPUL_OK && calls[i].undo) calls[i].undo(&w);
        if (status != GPUL_OK) world_untouched(&w, calls[i].function);
        else world_restore(&w);
    }
    world_close(&w);
}

#ifdef GPULITE_CPU_STANDIN
/* A kernel that ruined the context: every later message says that it is lost and what to do, not to fetch the error. */
static void test_lost_context(void) {
    static const int codes[] = {cudaErrorIllegalAddress,
                                cudaErrorLaunchFailure,
                                cudaErrorAssert,
                                cudaErrorMisalignedAddress,
                                cudaErrorHardwareStackError,
                                226, /* cudaErrorContained */
                                810 /* cudaErrorMpsClientTerminated */};
    gpul_array a = GPUL_ZERO;
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(10), NULL));
    for (int i = 0; i < COUNT_OF(codes); i++) {
        standin_fail("cudaDeviceSynchronize", 1, codes[i], STANDIN_ONCE | STANDIN_STICKY);
        CHECK_FAILS(gpul_device_synchronize(), GPUL_ERROR_CUDA, "gpul_device_synchronize", "context is lost");
        CHECK_FAILS(gpul_fill(&a, 1, NULL), GPUL_ERROR_CUDA, "gpul_fill", "context is lost");
        CHECK_INT(gpul_last_error()->cuda_code, codes[i]);
        (void)cudaDeviceSynchronize(); /* the caller's own call leaves it pending */
        CHECK_INT(cudaPeekAtLastError(), codes[i]);
        CHECK_FAILS(gpul_fill(&a, 1, NULL), GPUL_ERROR_CUDA, "gpul_fill", "end this process");
        CHECK(strstr(gpul_last_error()->message, "fetch it") == NULL);
        standin_reset();
        (void)cudaGetLastError();
    }
    CHECK_OK(gpul_free(&a));
}
#endif

#ifdef GPULITE_CPU_STANDIN
/* What fails while cleaning up does not hide what failed first. */
static void test_first_error(void) {
    gpul_array x = GPUL_ZERO, row = GPUL_ZERO, column = GPUL_ZERO, cell = GPUL_ZERO;
    double value = -7;
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(400000), NULL));
    CHECK_OK(gpul_fill(&x, 1, NULL));
    CHECK_OK(gpul_device_array(&cell, GPUL_F32, gpul_2d(8, 8), NULL)); /* more scratch memory than the workspace has */
    CHECK_OK(gpul_reshape(&row, &x, gpul_2d(8, -1)));
    CHECK_OK(gpul_reshape(&column, &x, gpul_2d(-1, 8)));
    standin_fail("cudaStreamSynchronize", 1, cudaErrorUnknown, STANDIN_ONCE);
    standin_fail("cudaFreeAsync", 1, cudaErrorInvalidValue, STANDIN_ONCE | STANDIN_AFTER);
    CHECK_FAILS(gpul_sum(&value, &x, NULL), GPUL_ERROR_CUDA, "gpul_sum", "copy of the result");
    CHECK_INT(gpul_last_error()->cuda_code, cudaErrorUnknown);
    CHECK_INT(standin_failed(), 2);
    standin_fail_clear();
    standin_fail("cudaLaunchKernelExC", 1, cudaErrorLaunchOutOfResources, STANDIN_ONCE);
    standin_fail("cudaFreeAsync", 1, cudaErrorInvalidValue, STANDIN_ONCE | STANDIN_AFTER);
    CHECK_FAILS(gpul_matmul(&cell, &row, &column, NULL), GPUL_ERROR_CUDA, "gpul_matmul", "launching the kernels");
    CHECK_INT(gpul_last_error()->cuda_code, cudaErrorLaunchOutOfResources);
    CHECK_INT(standin_failed(), 2);
    standin_fail_clear();
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&cell));
}
#endif

/* Freeing must not leak because of somebody else's error: either it frees, or it leaves the array to be freed later. */
static void test_pending_free(void) {
    gpul_array a = GPUL_ZERO;
    gpul_status status;
    cudaError_t mine;
    int64_t used = -1;
    CHECK_OK(gpul_device_array(&a, GPUL_U8, gpul_1d(1000), NULL));
    mine = cudaSetDevice(12345);
    status = gpul_free(&a);
    CHECK(status == GPUL_OK || status == GPUL_ERROR_PENDING);
    CHECK_INT(cudaPeekAtLastError(), mine);
    (void)cudaGetLastError();
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_memory_used(&used, NULL));
    CHECK_INT(used, 0);
}

int main(void) {
    check_begin("errors");
    RUN(test_names);
    RUN(test_record);
    RUN(test_check_cuda);
    RUN(test_threads);
    RUN(test_many_threads);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_permission);
#endif
    RUN(test_shared_memory_of_threads);
    RUN(test_threads_of_one_stream);
    RUN(test_pending);
    RUN(test_pending_free);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_first_error);
    RUN(test_lost_context);
#endif
    return check_end();
}
