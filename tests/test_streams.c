/* SPDX-License-Identifier: MIT
 * Streams, events, timers: orders, ends, and that nothing waits. */
#define GPULITE__KERNELS /* the workspaces, which are private */
#include "check.h"
#include <pthread.h>

static void test_streams_basic(void) {
    gpul_stream a = NULL, b = NULL;
    int32_t done = -1;
    CHECK_OK(gpul_stream_create(&a, GPUL_STREAM_DEFAULT));
    CHECK_OK(gpul_stream_create(&b, GPUL_STREAM_NON_BLOCKING));
    CHECK(a && b && a != b);
    CHECK_OK(gpul_stream_query(&done, a));
    CHECK_INT(done, 1);
    CHECK_OK(gpul_stream_synchronize(a));
    CHECK_OK(gpul_stream_synchronize(NULL));
    CHECK_OK(gpul_stream_query(&done, NULL));
    CHECK_INT(done, 1);
    CHECK_OK(gpul_stream_wait(a, b));
    CHECK_OK(gpul_stream_wait(a, NULL));
    CHECK_OK(gpul_stream_wait(NULL, b));
    CHECK_OK(gpul_device_synchronize());
    CHECK_FAILS(gpul_stream_create(NULL, 0), GPUL_ERROR_ARGUMENT, "gpul_stream_create", "out");
    {
        gpul_stream bad = b;
        CHECK_FAILS(gpul_stream_create(&bad, 77), GPUL_ERROR_ARGUMENT, "gpul_stream_create", "flags");
        CHECK(bad == b);
    }
    CHECK_FAILS(gpul_stream_query(NULL, a), GPUL_ERROR_ARGUMENT, "gpul_stream_query", "done");
    CHECK_FAILS(gpul_stream_destroy(NULL), GPUL_ERROR_ARGUMENT, "gpul_stream_destroy", "stream");
    CHECK_OK(gpul_stream_destroy(&a));
    CHECK(a == NULL);
    CHECK_OK(gpul_stream_destroy(&a)); /* harmless on NULL handles */
    CHECK_OK(gpul_stream_destroy(&b));
}

#ifdef GPULITE_CPU_STANDIN
/* A driver older than the runtime does not know to which device a stream belongs. */
static void test_wait_of_older_driver(void) {
    gpul_stream a = NULL, b = NULL;
    CHECK_OK(gpul_stream_create(&a, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_stream_create(&b, GPUL_STREAM_NON_BLOCKING));
    standin_fail("cudaStreamGetDevice", 1, cudaErrorCallRequiresNewerDriver, STANDIN_FROM_THEN_ON);
    CHECK_OK(gpul_stream_wait(a, b));
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK(standin_failed() > 0);
    standin_fail_clear();
    CHECK_OK(gpul_stream_destroy(&a));
    CHECK_OK(gpul_stream_destroy(&b));
}
#endif

static void test_ordering(void) { /* producer and consumer on two streams, ordered by gpul_stream_wait alone */
    gpul_stream s[3] = {NULL, NULL, NULL};
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, c = GPUL_ZERO;
    const int64_t n = 3000;
    double sum = 0;
    for (int i = 0; i < 3; i++) CHECK_OK(gpul_stream_create(&s[i], GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F64, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&b, GPUL_F64, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_F64, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_synchronize());
    for (int round = 0; round < 10; round++) {
        CHECK_OK(gpul_fill(&a, round, s[0]));
        CHECK_OK(gpul_stream_wait(s[1], s[0]));
        CHECK_OK(gpul_vecadd(&b, &a, &a, s[1]));
        CHECK_OK(gpul_stream_wait(s[2], s[1]));
        CHECK_OK(gpul_vecmul(&c, &b, &b, s[2]));
        CHECK_OK(gpul_stream_wait(s[0], s[2])); /* before a is filled again */
    }
    CHECK_OK(gpul_sum(&sum, &c, s[2]));
    CHECK_NEAR(sum, 18.0 * 18 * (double)n, 0);
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_free(&c));
    for (int i = 0; i < 3; i++) CHECK_OK(gpul_stream_destroy(&s[i]));
}

static void test_destroy_while_busy(void) {
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO;
    float back[100];
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_stream_create(&s, 0));
    CHECK_OK(gpul_fill(&a, 7, s));
    CHECK_OK(gpul_stream_destroy(&s)); /* the fill still happens */
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_copy_to_host(back, &a, NULL));
    CHECK_NEAR(back[99], 7, 0);
    CHECK_OK(gpul_free(&a));
}

/* Memory outlives the stream that it was made on: it is freed, counted, and not in the order of a later stream that has
 * the same handle. */
static void test_free_after_destroy(void) {
    float *host = (float *)calloc(100000, 4);
    int64_t used = -1;
    for (int round = 0; round < 20; round++) {
        gpul_stream s = NULL, next = NULL, busy = NULL;
        gpul_array a = GPUL_ZERO, b = GPUL_ZERO, out = GPUL_ZERO;
        CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_stream_create(&busy, GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100000), s));
        CHECK_OK(gpul_device_array(&b, GPUL_F32, gpul_1d(100000), s));
        CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_1d(100000), NULL));
        CHECK_OK(gpul_fill(&a, round, s));
        CHECK_OK(gpul_stream_wait(busy, s));
        CHECK_OK(gpul_copy(&out, &a, busy)); /* still to come when a is freed */
        CHECK_OK(gpul_stream_destroy(&s));
        CHECK_OK(gpul_stream_create(&next, GPUL_STREAM_NON_BLOCKING)); /* CUDA may give the handle again */
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_free(&b));
        CHECK_OK(gpul_stream_synchronize(busy));
        CHECK_OK(gpul_copy_to_host(host, &out, NULL));
        CHECK_NEAR(host[99999], round, 0);
        CHECK_OK(gpul_free(&out));
        CHECK_OK(gpul_memory_used(&used, NULL));
        CHECK_INT(used, 0);
        CHECK_OK(gpul_stream_destroy(&next));
        CHECK_OK(gpul_stream_destroy(&busy));
    }
    free(host);
}

/* The same of a stream that the program made with CUDA and gave to gpul_stream_destroy. */
static void test_free_after_foreign(void) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO;
    gpul_stream s = NULL, copy;
    int64_t used = -1;
    for (int round = 0; round < 40; round++) {
        CHECK_CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(1000), s));
        CHECK_OK(gpul_device_array(&b, GPUL_F32, gpul_1d(1000), s));
        CHECK(a.stream_number != 0 && a.stream_number == b.stream_number);
        CHECK_OK(gpul_fill(&a, 1, s));
        CHECK_OK(gpul_free(&b));
        copy = s;
        CHECK_OK(gpul_stream_destroy(&s));
        CHECK_FAILS(gpul_fill(&a, 2, copy), GPUL_ERROR_ARGUMENT, "gpul_fill", "was ended by gpul_stream_destroy");
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_memory_used(&used, NULL));
        CHECK_INT(used, 0);
    }
    CHECK_CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); /* one that no array was made on */
    copy = s;
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_FAILS(gpul_stream_synchronize(copy), GPUL_ERROR_ARGUMENT, "gpul_stream_synchronize", "gpul_stream_destroy");
}

/* Arrays of cudaStreamPerThread: another thread's stream of that name is another one, whose order would be too early. */
static void *in_another_thread(void *array) {
    gpul_array *a = (gpul_array *)array;
    CHECK_OK(a->data == NULL ? gpul_zeros(a, GPUL_F32, gpul_1d(1000), cudaStreamPerThread) : gpul_free(a));
    /* A thread that ends while its cudaStreamPerThread has work may wait in CUDA for ever, on a GPU that others use too. */
    CHECK_OK(gpul_stream_synchronize(cudaStreamPerThread));
    return NULL;
}
static void test_free_of_another_thread(void) {
    gpul_array a[3] = {GPUL_ZERO, GPUL_ZERO, GPUL_ZERO};
    pthread_t t;
    int32_t number;
    long waits = 0;
    CHECK_OK(gpul_zeros(&a[0], GPUL_F32, gpul_1d(1000), cudaStreamPerThread));
    CHECK_OK(gpul_zeros(&a[1], GPUL_F32, gpul_1d(1000), cudaStreamPerThread));
    CHECK_INT(pthread_create(&t, NULL, in_another_thread, &a[2]), 0);
    CHECK_INT(pthread_join(t, NULL), 0);
    number = a[0].stream_number;
    CHECK(number != 0 && a[1].stream_number == number && a[2].stream_number != 0 && a[2].stream_number != number);
#ifdef GPULITE_CPU_STANDIN
    waits = standin_calls("cudaDeviceSynchronize");
#endif
    CHECK_OK(gpul_free(&a[0]));
#ifdef GPULITE_CPU_STANDIN
    CHECK_INT(standin_calls("cudaDeviceSynchronize"), waits);
#endif
    CHECK_INT(pthread_create(&t, NULL, in_another_thread, &a[1]), 0);
    CHECK_INT(pthread_join(t, NULL), 0);
    CHECK_OK(gpul_free(&a[2]));
#ifdef GPULITE_CPU_STANDIN
    CHECK_INT(standin_calls("cudaDeviceSynchronize"), waits + 2);
#endif
    (void)waits;
}

/* Many streams at a time: each array is freed in its own stream's order, and without a wait while that is there. */
static void test_many_streams(void) {
    enum { MANY = 300 };
    static gpul_stream s[MANY];
    static gpul_array a[MANY];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) CHECK_OK(gpul_stream_create(&s[i], GPUL_STREAM_NON_BLOCKING));
        for (int i = 0; i < MANY; i++) CHECK_OK(gpul_device_array(&a[i], GPUL_U8, gpul_1d(64), s[i]));
        for (int i = 0; i < MANY; i++) CHECK(a[i].stream_number != 0 && a[i].stream == s[i]);
        for (int i = 0; i < MANY; i += 2) CHECK_OK(gpul_stream_destroy(&s[i]));
        for (int i = 0; i < MANY; i++) {
#ifdef GPULITE_CPU_STANDIN
            const long waits = standin_calls("cudaDeviceSynchronize");
#endif
            CHECK_OK(gpul_free(&a[i]));
#ifdef GPULITE_CPU_STANDIN
            CHECK_INT(standin_calls("cudaDeviceSynchronize") - waits, i % 2 == 0);
#endif
        }
        for (int i = 0; i < MANY; i++) CHECK_OK(gpul_stream_destroy(&s[i]));
    }
}

/* As many streams as the contract names are known, alive and ended. */
static void test_thousand_streams(void) {
    enum { MANY = 1000 };
    static gpul_stream s[MANY];
    long unknown = 0;
    for (int i = 0; i < MANY; i++) CHECK_OK(gpul_stream_create(&s[i], GPUL_STREAM_NON_BLOCKING));
    for (int i = MANY - 1; i >= 0; i--) { /* those first that came last */
        const gpul_stream copy = s[i];
        CHECK_OK(gpul_stream_destroy(&s[i]));
        unknown += gpul_stream_synchronize(copy) != GPUL_ERROR_ARGUMENT;
        (void)cudaGetLastError();
    }
    CHECK_INT(unknown, 0);
}

/* The answer to a question of the caller's is no error that stops a call. */
static void test_not_ready(void) {
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO;
    int32_t done = -1;
#ifdef GPULITE_CPU_STANDIN /* where nothing begins before something waits for it */
    const int64_t n = 1 << 10;
#else
    const int64_t n = 1 << 20;
#endif
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F64, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_synchronize());
    for (int k = 0; k < 50; k++) CHECK_OK(gpul_fill(&a, k, s));
    if (cudaStreamQuery(s) == cudaErrorNotReady) {
        CHECK_OK(gpul_fill(&a, 3, s));
        CHECK_OK(gpul_stream_query(&done, s));
#ifdef GPULITE_CPU_STANDIN /* the caller's, and left there; CUDA's own launches take it back */
        CHECK_INT(cudaPeekAtLastError(), cudaErrorNotReady);
#endif
        (void)cudaGetLastError();
    }
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_OK(gpul_stream_query(&done, s));
    CHECK_INT(done, 1);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_stream_destroy(&s));
}

static void test_events(void) {
    gpul_event a = NULL, b = NULL;
    gpul_stream s = NULL;
    gpul_array x = GPUL_ZERO;
    int32_t done = -1;
    double seconds = -1;
    CHECK_OK(gpul_event_create(&a));
    CHECK_OK(gpul_event_create(&b));
    CHECK_OK(gpul_stream_create(&s, 0));
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(1000), NULL));
    CHECK_OK(gpul_event_record(a, s));
    CHECK_OK(gpul_fill(&x, 1, s));
    CHECK_OK(gpul_event_record(b, s));
    CHECK_OK(gpul_event_synchronize(b));
    CHECK_OK(gpul_event_query(&done, b));
    CHECK_INT(done, 1);
    CHECK_OK(gpul_event_seconds(&seconds, a, b));
    CHECK(seconds >= 0 && seconds < 60);
    CHECK_FAILS(gpul_event_create(NULL), GPUL_ERROR_ARGUMENT, "gpul_event_create", "out");
    CHECK_FAILS(gpul_event_record(NULL, s), GPUL_ERROR_ARGUMENT, "gpul_event_record", "event");
    CHECK_FAILS(gpul_event_synchronize(NULL), GPUL_ERROR_ARGUMENT, "gpul_event_synchronize", "event");
    CHECK_FAILS(gpul_event_query(&done, NULL), GPUL_ERROR_ARGUMENT, "gpul_event_query", "event");
    CHECK_FAILS(gpul_event_query(NULL, a), GPUL_ERROR_ARGUMENT, "gpul_event_query", "done");
    CHECK_FAILS(gpul_event_seconds(NULL, a, b), GPUL_ERROR_ARGUMENT, "gpul_event_seconds", "seconds");
    CHECK_FAILS(gpul_event_seconds(&seconds, NULL, b), GPUL_ERROR_ARGUMENT, "gpul_event_seconds", "start");
    CHECK_FAILS(gpul_event_seconds(&seconds, a, NULL), GPUL_ERROR_ARGUMENT, "gpul_event_seconds", "stop");
    CHECK_FAILS(gpul_event_destroy(NULL), GPUL_ERROR_ARGUMENT, "gpul_event_destroy", "event");
    {
        gpul_event fresh = NULL;
        const double before = seconds;
        CHECK_OK(gpul_event_create(&fresh));
        CHECK_FAILS(gpul_event_seconds(&seconds, a, fresh), GPUL_ERROR_CUDA, "gpul_event_seconds", NULL);
        CHECK(seconds == before);
        CHECK_OK(gpul_event_destroy(&fresh));
    }
    CHECK_OK(gpul_event_destroy(&a));
    CHECK(a == NULL);
    CHECK_OK(gpul_event_destroy(&a));
    CHECK_OK(gpul_event_destroy(&b));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_stream_destroy(&s));
}

/* The first event lies in a stream that has not come to it when the other's has passed. */
static void test_seconds_of_two_streams(void) {
    gpul_stream s[2] = {NULL, NULL};
    gpul_event e[2] = {NULL, NULL};
    gpul_array x = GPUL_ZERO;
    double seconds = -77;
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(1 << 20), NULL));
    for (int k = 0; k < 2; k++) {
        CHECK_OK(gpul_stream_create(&s[k], GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_event_create(&e[k]));
    }
    CHECK_OK(gpul_device_synchronize());
#ifdef GPULITE_CPU_STANDIN
    standin_order(STANDIN_REVERSE); /* what came last is done first */
#endif
    for (int k = 0; k < 2; k++) {
        CHECK_OK(gpul_fill(&x, 3.5, s[k]));
        CHECK_OK(gpul_event_record(e[0], s[k]));
        CHECK_OK(gpul_event_record(e[1], s[1 - k]));
        CHECK_OK(gpul_event_seconds(&seconds, e[0], e[1]));
        CHECK(seconds > -60 && seconds < 60);
    }
#ifdef GPULITE_CPU_STANDIN
    standin_order(STANDIN_FORWARD);
#endif
    for (int k = 0; k < 2; k++) {
        CHECK_OK(gpul_event_destroy(&e[k]));
        CHECK_OK(gpul_stream_destroy(&s[k]));
    }
    CHECK_OK(gpul_free(&x));
}

static void test_timers(void) {
    for (int host = 0; host < 2; host++) {
        gpul_timer t = GPUL_ZERO;
        gpul_stream s = NULL;
        gpul_array x = GPUL_ZERO;
        double seconds = -1, more = -1, from;
        if (host) t = gpul_host_timer();
        CHECK_OK(gpul_stream_create(&s, 0));
        CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(1000), NULL));
        CHECK_OK(gpul_timer_seconds(&seconds, &t));
        CHECK_NEAR(seconds, 0, 0);
        from = gpul_host_seconds();
        for (int k = 0; k < 3 * GPUL_TIMER_REGIONS + 5; k++) { /* more regions than there are slots */
            CHECK_OK(gpul_timer_start(&t, s));
            CHECK_OK(gpul_fill(&x, k, s));
            CHECK_OK(gpul_timer_stop(&t, s));
        }
        CHECK_INT(t.regions, 3 * GPUL_TIMER_REGIONS + 5);
        CHECK_OK(gpul_timer_seconds(&seconds, &t));
        CHECK(seconds >= 0 && seconds <= gpul_host_seconds() - from + 1e-3);
        CHECK_OK(gpul_timer_seconds(&more, &t));
        CHECK_NEAR(more, seconds, 0);
        GPUL_TIMED(t, s) {
            double until = gpul_host_seconds() + (host ? 0.01 : 0);
            CHECK_OK(gpul_fill(&x, 2, s));
            while (gpul_host_seconds() < until)
                ;
        }
        CHECK_OK(gpul_timer_seconds(&more, &t));
        CHECK(more >= seconds + (host ? 0.01 : 0));
        CHECK_INT(t.regions, 3 * GPUL_TIMER_REGIONS + 6);
        CHECK_OK(gpul_timer_start(&t, s));
        CHECK_FAILS(gpul_timer_start(&t, s), GPUL_ERROR_ARGUMENT, "gpul_timer_start", "timer");
        CHECK_OK(gpul_timer_stop(&t, s));
        CHECK_FAILS(gpul_timer_stop(&t, s), GPUL_ERROR_ARGUMENT, "gpul_timer_stop", "timer");
        CHECK_OK(gpul_timer_reset(&t));
        CHECK_INT(t.regions, 0);
        CHECK_OK(gpul_timer_seconds(&seconds, &t));
        CHECK_NEAR(seconds, 0, 0);
        CHECK_OK(gpul_timer_start(&t, s));
        CHECK_OK(gpul_timer_stop(&t, s));
        CHECK_OK(gpul_timer_free(&t));
        CHECK_INT(t.regions, 0);
        CHECK_OK(gpul_timer_free(&t));
        CHECK_OK(gpul_free(&x));
        CHECK_OK(gpul_stream_destroy(&s));
    }
    {
        gpul_timer t = GPUL_ZERO;
        double seconds = -3;
        CHECK_FAILS(gpul_timer_start(NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_timer_start", "timer");
        CHECK_FAILS(gpul_timer_stop(NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_timer_stop", "timer");
        CHECK_FAILS(gpul_timer_stop(&t, NULL), GPUL_ERROR_ARGUMENT, "gpul_timer_stop", "timer");
        CHECK_FAILS(gpul_timer_seconds(&seconds, NULL), GPUL_ERROR_ARGUMENT, "gpul_timer_seconds", "timer");
        CHECK_FAILS(gpul_timer_seconds(NULL, &t), GPUL_ERROR_ARGUMENT, "gpul_timer_seconds", "seconds");
        CHECK_FAILS(gpul_timer_reset(NULL), GPUL_ERROR_ARGUMENT, "gpul_timer_reset", "timer");
        CHECK_OK(gpul_timer_free(NULL));
        CHECK_NEAR(seconds, -3, 0);
        CHECK_OK(gpul_timer_start(&t, NULL)); /* freed while it runs */
        CHECK_OK(gpul_timer_free(&t));
    }
    { /* nested, and with failures that nobody looks at in between */
        gpul_timer t = GPUL_ZERO, u = GPUL_ZERO;
        double seconds = -3;
        int blocks = 0;
        GPUL_TIMED(t, NULL) {
            GPUL_TIMED(u, NULL) { blocks++; }
        }
        CHECK_OK(gpul_timer_seconds(&seconds, &u));
        CHECK_OK(gpul_timer_seconds(&seconds, &t));
        CHECK_OK(gpul_timer_start(&t, NULL));
        GPUL_TIMED(t, NULL) { blocks++; } /* runs already */
        CHECK_INT(blocks, 2);
        seconds = -3;
        CHECK_FAILS(gpul_timer_seconds(&seconds, &t), GPUL_ERROR_ARGUMENT, "gpul_timer_seconds", "GPUL_ERROR_ARGUMENT");
        CHECK_FAILS(gpul_timer_seconds(&seconds, &t), GPUL_ERROR_ARGUMENT, "gpul_timer_seconds", NULL);
        CHECK_NEAR(seconds, -3, 0);
        CHECK_OK(gpul_timer_reset(&t));
        CHECK_OK(gpul_timer_seconds(&seconds, &t));
        CHECK_NEAR(seconds, 0, 0);
        {
            gpul_timer three[3] = GPUL_ZERO, *next = three;
            GPUL_TIMED(*next++, NULL) { blocks += 10; } /* the timer is evaluated once */
            CHECK_INT(blocks, 12);
            CHECK(next == three + 1 && three[0].regions == 1);
            for (int k = 0; k < 3; k++) CHECK_OK(gpul_timer_free(&three[k]));
            blocks = 2;
        }
#ifdef GPULITE_CPU_STANDIN
        for (long k = 1; k <= 2; k++) { /* the start's, then the stop's */
            standin_fail("cudaEventRecord", k, cudaErrorUnknown, STANDIN_ONCE);
            GPUL_TIMED(u, NULL) { blocks++; }
            standin_fail_clear();
            CHECK_FAILS(gpul_timer_seconds(&seconds, &u), GPUL_ERROR_CUDA, "gpul_timer_seconds", "GPUL_ERROR_CUDA");
            CHECK_OK(gpul_timer_reset(&u));
        }
        CHECK_INT(blocks, 4);
        CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
#endif
        CHECK_OK(gpul_timer_free(&t));
        CHECK_OK(gpul_timer_free(&u));
    }
    {
        const double a = gpul_host_seconds(), b = gpul_host_seconds();
        CHECK(b >= a);
    }
}

#ifdef GPULITE_CPU_STANDIN
static void
test_orders(void) { /* the stand-in's seeds give streams, blocks and threads other orders, never other answers */
    for (int k = 0; k < 8; k++) {
        standin_order(k == 0 ? STANDIN_FORWARD : k == 1 ? STANDIN_REVERSE : STANDIN_RANDOM);
        standin_seed((unsigned long long)(1000 + k));
        test_ordering();
        test_destroy_while_busy();
    }
    standin_reset();
}

static void test_nothing_waits(void) { /* no operation synchronises: after it, its stream still has work */
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, out = GPUL_ZERO, m = GPUL_ZERO, c = GPUL_ZERO, counts = GPUL_ZERO;
    const char *const waits[] = {"cudaStreamSynchronize",
                                 "cudaDeviceSynchronize",
                                 "cudaEventSynchronize",
                                 "cudaMemcpy",
                                 "cudaStreamQuery",
                                 "cudaMalloc",
                                 "cudaFree"};
    int32_t done = -1;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100000), NULL));
    CHECK_OK(gpul_fill(&a, 1, NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_F32, gpul_2d(100, 100), NULL));
    CHECK_OK(gpul_device_array(&counts, GPUL_I64, gpul_1d(10), NULL));
    CHECK_OK(gpul_slice(&m, &a, 0, 0, 10000, 1));
    CHECK_OK(gpul_reshape(&m, &m, gpul_2d(100, 100)));
    CHECK_OK(gpul_device_synchronize());
    standin_trace_begin();
    CHECK_OK(gpul_vecadd(&c, &m, &m, s));
    CHECK_OK(gpul_matmul(&c, &m, &m, s));
    CHECK_OK(gpul_reduce(&out, &a, GPUL_SUM, GPUL_ALL_AXES, s));
    CHECK_OK(gpul_dot(&out, &a, &a, s));
    CHECK_OK(gpul_histogram(&counts, &a, 0, 2, s));
    CHECK_OK(gpul_copy(&c, &m, s));
    for (long k = 0; k < standin_trace_count(); k++)
        for (int w = 0; w < COUNT_OF(waits); w++)
            if (strcmp(standin_trace_name(k), waits[w]) == 0) FAIL("an operation called %s", waits[w]);
    CHECK_OK(gpul_stream_query(&done, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&out));
    CHECK_OK(gpul_free(&c));
    CHECK_OK(gpul_free(&counts));
    CHECK_OK(gpul_stream_destroy(&s));
}

/* A timer's streams are of the device of its first start, whatever is current later. */
static void test_timer_elsewhere(void) {
    gpul_stream s = NULL;
    gpul_timer t = GPUL_ZERO;
    double seconds = -3;
    standin_devices(2);
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    for (int k = 0; k < 2 * GPUL_TIMER_REGIONS; k++) {
        CHECK_OK(gpul_device_select(k % 2));
        CHECK_OK(gpul_timer_start(&t, s));
        CHECK_OK(gpul_timer_stop(&t, s));
    }
    CHECK_OK(gpul_timer_seconds(&seconds, &t));
    CHECK(seconds >= 0 && t.regions == 2 * GPUL_TIMER_REGIONS);
    CHECK_OK(gpul_timer_free(&t));
    CHECK_OK(gpul_device_select(0));
    CHECK_OK(gpul_stream_destroy(&s));
    standin_devices(1);
}

/* Streams that end while they are busy leave their workspaces to later ones, when 16 others have ended: there are 16 of
 * them, so that one reduction in 17 takes scratch memory. */
static void test_workspaces_return(void) {
    gpul_array a = GPUL_ZERO, out = GPUL_ZERO;
    long allocations = standin_calls("cudaMallocFromPoolAsync");
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(200000), NULL));
    CHECK_OK(gpul_zeros(&out, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(gpul_device_synchronize());
    for (int k = 0; k < 60; k++) {
        gpul_stream s = NULL;
        CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_reduce(&out, &a, GPUL_SUM, GPUL_ALL_AXES, s));
        CHECK_OK(gpul_stream_destroy(&s));
        CHECK_OK(gpul_device_synchronize());
    }
    allocations = standin_calls("cudaMallocFromPoolAsync") - allocations - 2;
    if (allocations > 4) FAIL("%ld allocations in 60 reductions", allocations);
    CHECK_OK(gpul_free_all(&a, &out));
}

/* A stream that is busy when it ends keeps its workspace, which its work still uses. */
static void test_workspace_of_busy(void) {
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, out = GPUL_ZERO;
    unsigned long long id = 0;
    int64_t key;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_CUDA(cudaStreamGetId(s, &id));
    key = (int64_t)(id % INT64_MAX) + 1;
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(200000), NULL));
    CHECK_OK(gpul_zeros(&out, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_reduce(&out, &a, GPUL_SUM, GPUL_ALL_AXES, s));
    CHECK_INT(gpul__workspaces_pass(key, key), 1);
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_INT(gpul__workspaces_pass(key, key), 1);
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_free_all(&a, &out));
}

static int told; /* failures */
static void tell(const gpul_error *error) { told += error != NULL; }

/* The caller's error stays the caller's, also where a stream that is busy has a workspace, which is asked for. */
static void test_destroy_pending(void) {
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, sum = GPUL_ZERO;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(200000), NULL));
    CHECK_OK(gpul_zeros(&sum, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_reduce(&sum, &a, GPUL_SUM, GPUL_ALL_AXES, s));
    CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
    CHECK_FAILS(gpul_stream_destroy(&s), GPUL_ERROR_PENDING, "gpul_stream_destroy", "cudaErrorInvalidDevice");
    CHECK_INT(cudaGetLastError(), cudaErrorInvalidDevice);
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_free_all(&a, &sum));
}

/* Of two failures in one call the first is returned, recorded and told. */
static void test_first_failure(void) {
    gpul_stream s = NULL;
    CHECK_OK(gpul_stream_create(&s, 0));
    CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
    standin_fail("cudaStreamIsCapturing", 1, cudaErrorUnknown, STANDIN_ONCE);
    told = 0;
    (void)gpul_on_error(tell);
    CHECK_FAILS(gpul_stream_destroy(&s), GPUL_ERROR_PENDING, "gpul_stream_destroy", "cudaErrorInvalidDevice");
    (void)gpul_on_error(NULL);
    standin_fail_clear();
    CHECK_INT(told, 1);
    CHECK(s == NULL);
    CHECK(cudaGetLastError() != cudaSuccess); /* the caller's, which the second replaced */
}
#endif

int main(void) {
    check_begin("streams");
    RUN(test_streams_basic);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_wait_of_older_driver);
#endif
    RUN(test_ordering);
    RUN(test_destroy_while_busy);
    RUN(test_free_after_destroy);
    RUN(test_free_after_foreign);
    RUN(test_free_of_another_thread);
    RUN(test_many_streams);
    RUN(test_thousand_streams);
    RUN(test_not_ready);
    RUN(test_events);
    RUN(test_seconds_of_two_streams);
    RUN(test_timers);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_orders);
    RUN(test_nothing_waits);
    RUN(test_timer_elsewhere);
    RUN(test_workspaces_return);
    RUN(test_workspace_of_busy);
    RUN(test_destroy_pending);
    RUN(test_first_failure);
#endif
    return check_end();
}
