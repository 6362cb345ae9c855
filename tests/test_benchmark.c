/* SPDX-License-Identifier: MIT gpul_benchmark: what it calls, keeps, discards and reports; its text and CSV; the roof;
 * ranges for profilers. Times are of whatever runs here, so they are held against each other and against waits of known
 * length, and never trusted. */
#include "check.h"
#include <locale.h>
#ifdef GPULITE_CPU_STANDIN
#include <sys/wait.h>
#include <unistd.h>
#endif

/* What a benchmarked function is told to do, and what came of it. */
typedef struct job {
    gpul_array *x;
    gpul_stream stream;
    long calls;      /* so far */
    long slow_calls; /* every so manyth waits `wait`; 0: each */
    double wait;     /* seconds on the host */
    long fail_at;    /* call that fails, from 1 */
    gpul_status fail_as;
    long slow_from, slow_to; /* calls after which the clock is at half its rate (stand-in), from 1 */
    double left, stall; /* when the last call ended; the longest time that nobody asked for, in a call or between two */
    long lines;
    char first[200], last[200];
} job;

enum { ATTEMPTS = 10 }; /* where a busy machine stalls the program, so that its times say nothing */

static void wait_for(double seconds) {
    const double until = gpul_host_seconds() + seconds;
    while (gpul_host_seconds() < until) {}
}
/* The program has gone on: how long has it not, apart from `meant` seconds? */
static void gone_on(job *j, double meant) {
    const double now = gpul_host_seconds();
    if (j->left > 0 && now - j->left - meant > j->stall) j->stall = now - j->left - meant;
    j->left = now;
}
static gpul_status work(void *user) {
    job *const j = (job *)user;
    gpul_status status;
    gone_on(j, 0);
    j->calls++;
    if (j->wait > 0 && (j->slow_calls == 0 || j->calls % j->slow_calls == 0)) {
        wait_for(j->wait);
        gone_on(j, j->wait);
    }
    if (j->fail_at == j->calls) return j->fail_as;
#ifdef GPULITE_CPU_STANDIN
    if (j->slow_from > 0) {
        const int slow = j->calls >= j->slow_from && j->calls < j->slow_to;
        if (slow || j->calls == j->slow_to) { /* all that must go can be told by their times */
            wait_for(j->wait);
            gone_on(j, j->wait);
        }
        standin_clock(slow ? 0.5 : 1);
    }
#endif
    status = j->x != NULL ? gpul_fill(j->x, (double)(j->calls % 100), j->stream) : GPUL_OK;
    gone_on(j, 0);
    return status;
}
/* Benchmarks work() by a job that begins as `as`; anew, where a stall of more than `most` seconds shows a busy machine. */
static void benchmark_undisturbed(gpul_benchmark_result *r, job *j, const job *as, const gpul_benchmark_options *o,
                                  double most) {
    int attempt = 0;
    do {
        *j = *as;
#ifdef GPULITE_CPU_STANDIN
        standin_clock(1);
#endif
        CHECK_OK(gpul_benchmark(r, work, j, o));
    } while (j->stall > most && ++attempt < ATTEMPTS);
}
static void show(void *user, const char *line) {
    job *const j = (job *)user;
    if (j->lines++ == 0) snprintf(j->first, sizeof j->first, "%s", line);
    snprintf(j->last, sizeof j->last, "%s", line);
}

static void check_statistics(const gpul_statistics *s, int64_t n) {
    CHECK(s->min >= 0 && s->min <= s->median && s->median <= s->max);
    CHECK(s->min <= s->mean * (1 + 1e-12) && s->mean <= s->max * (1 + 1e-12));
    CHECK(s->deviation >= 0 && s->deviation <= (s->max - s->min) * (0.5 + 1e-9));
    if (n == 1) CHECK(s->min == s->max && s->deviation == 0 && s->mean == s->min);
    if (n == 2) {
        CHECK_NEAR(s->median, (s->min + s->max) / 2, 1e-15 + 1e-12 * s->max);
        CHECK_NEAR(s->mean, (s->min + s->max) / 2, 1e-15 + 1e-12 * s->max);
        CHECK_NEAR(s->deviation, (s->max - s->min) / 2, 1e-15 + 1e-9 * s->max);
    }
    if (n == 3) {
        const double m = (s->min + s->median + s->max) / 3, a = s->min - m, b = s->median - m, c = s->max - m;
        CHECK_NEAR(s->mean, m, 1e-15 + 1e-12 * s->max);
        CHECK_NEAR(s->deviation, sqrt((a * a + b * b + c * c) / 3), 1e-15 + 1e-9 * s->max);
    }
}

/* The numbers of calls and samples. A machine that is busy may lose samples to the rule of the clock. */
static void check_samples(const gpul_benchmark_result *r, const job *j, int64_t repeat, int64_t warmup) {
    CHECK(r->samples >= 1 && r->samples <= repeat && r->discarded >= 0);
    CHECK(j->calls == r->samples + r->discarded + warmup && j->calls <= 2 * repeat + warmup);
    CHECK(r->samples == repeat || j->calls == 2 * repeat + warmup);
    check_statistics(&r->cpu, r->samples);
    check_statistics(&r->gpu, r->samples);
}

static void test_samples(void) {
    gpul_array x = GPUL_ZERO;
    gpul_stream s = NULL;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(1000), NULL));
    CHECK_OK(gpul_device_synchronize());
    for (int repeat = 1; repeat <= 9; repeat++) {
        gpul_benchmark_options o = GPUL_ZERO;
        gpul_benchmark_result r;
        job j = GPUL_ZERO;
        double from, all;
        memset(&r, 0xEE, sizeof r);
        j.x = &x;
        j.stream = repeat % 2 ? s : NULL;
        j.wait = 1e-4;
        o.repeat = repeat;
        o.warmup = repeat % 3 == 0 ? -1 : repeat;
        o.stream = j.stream;
        o.flush_l2 = repeat % 4 == 0;
        o.name = "a fill";
        from = gpul_host_seconds();
        CHECK_OK(gpul_benchmark(&r, work, &j, &o));
        all = gpul_host_seconds() - from;
        check_samples(&r, &j, repeat, o.warmup < 0 ? 0 : o.warmup);
        CHECK(r.cpu.min >= 1e-4 && r.cpu.mean * (double)r.samples <= all); /* the call, and nothing but the calls */
        CHECK(r.gpu.min >= 0 && r.gpu.mean * (double)r.samples <= all);
#ifndef GPULITE_CPU_STANDIN       /* whose streams start late */
        CHECK(r.gpu.min >= 1e-4); /* the host waits between the events */
#endif
        CHECK_STRING(r.name, "a fill");
        CHECK(r.bytes == 0 && r.flops == 0 && r.gbps == 0 && r.gflops == 0 && r.intensity == 0 && r.share == 0);
        CHECK_INT(r.bound, GPUL_ROOF_NONE);
        CHECK_INT(r.device, 0);
        CHECK_INT(r.reserved, 0);
#ifdef GPULITE_CPU_STANDIN
        CHECK_INT(r.standin, 1);
#else
        CHECK_INT(r.standin, 0);
#endif
    }
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_stream_destroy(&s));
}

/* What the function's times vary by is kept, since the clock is what it was. */
static void test_varying(void) {
    gpul_benchmark_options o = GPUL_ZERO;
    gpul_benchmark_result r = GPUL_ZERO;
    job j = GPUL_ZERO;
    j.wait = 0.02;
    j.slow_calls = 4;
    o.repeat = 40;
    o.warmup = -1;
    o.seconds = 60;
    CHECK_OK(gpul_benchmark(&r, work, &j, &o));
    check_samples(&r, &j, 40, 0);
    CHECK(r.cpu.max >= 0.02 && r.cpu.median < 0.02);
    CHECK(r.cpu.mean >= 0.02 / 8 && r.cpu.deviation > 0.004);
}

static void test_limits(void) {
    gpul_benchmark_options o = GPUL_ZERO;
    gpul_benchmark_result r = GPUL_ZERO;
    job j = GPUL_ZERO;
    double from = gpul_host_seconds();
    CHECK_OK(gpul_benchmark(&r, work, &j, NULL)); /* the defaults */
    CHECK(r.samples >= 1 && r.samples <= 10000);
    CHECK(j.calls > r.samples + r.discarded && j.calls <= r.samples + r.discarded + 10); /* of 10, what 0.2 s allow */
    CHECK(gpul_host_seconds() - from < 20); /* 2 seconds, on a machine that may do more than this */
    CHECK_STRING(r.name, "benchmark");
    j.calls = 0;
    j.wait = 0.03;
    o.seconds = 0.2;
    CHECK_OK(gpul_benchmark(&r, work, &j, &o)); /* warm-up has a tenth of the time, but one call */
    CHECK(r.samples >= 1 && r.samples <= 7);
    CHECK_INT(j.calls, 1 + r.samples + r.discarded);
    check_statistics(&r.cpu, r.samples);
    j.calls = 0;
    o.seconds = 0.001;
    CHECK_OK(gpul_benchmark(&r, work, &j, &o));
    CHECK_INT(r.samples, 1);
    CHECK_INT(j.calls, 2);
    o.seconds = INFINITY;
    o.repeat = 2;
    o.warmup = 1;
    CHECK_OK(gpul_benchmark(&r, work, &j, &o));
    CHECK(r.samples >= 1);
}

static void test_failing(void) {
    gpul_benchmark_options o = GPUL_ZERO;
    gpul_array x = GPUL_ZERO;
    gpul_benchmark_result r, untouched;
    memset(&r, 0xEE, sizeof r);
    memset(&untouched, 0xEE, sizeof untouched);
    o.repeat = 5;
    o.warmup = 3;
    for (long at = 1; at <= 6; at++) { /* in the warm-up, and in a sample */
        job j = GPUL_ZERO;
        j.fail_at = at;
        j.fail_as = 77; /* the program's own */
        o.flush_l2 = at % 2 == 0;
        gpul_clear_error();
        CHECK_INT(gpul_benchmark(&r, work, &j, &o), 77);
        CHECK_INT(j.calls, at);
        CHECK_INT(gpul_last_error()->status, GPUL_OK);
        CHECK_BYTES(&r, &untouched, sizeof r);
    }
    { /* a gpulite function's error: its own record stays */
        job j = GPUL_ZERO;
        j.x = &x; /* never made */
        CHECK_FAILS(gpul_benchmark(&r, work, &j, &o), GPUL_ERROR_ARGUMENT, "gpul_fill", "never made");
        CHECK_BYTES(&r, &untouched, sizeof r);
    }
}
static gpul_status leaves_an_error(void *user) {
    (void)user;
    (void)cudaSetDevice(12345); /* and does not fetch it */
    return GPUL_OK;
}
static void test_pending(void) {
    gpul_benchmark_result r = GPUL_ZERO;
    CHECK_FAILS(gpul_benchmark(&r, leaves_an_error, NULL, NULL), GPUL_ERROR_PENDING, "gpul_benchmark", "earlier CUDA");
    CHECK(cudaGetLastError() != cudaSuccess);
    CHECK_INT(r.samples, 0);
}

static void test_bad(void) {
    gpul_benchmark_result r = GPUL_ZERO;
    gpul_benchmark_options o = GPUL_ZERO;
    job j = GPUL_ZERO;
    gpul_stream s = NULL;
    gpul_graph graph = NULL;
#define REFUSED(field, value, word)                                                                                    \
    do {                                                                                                               \
        memset(&o, 0, sizeof o);                                                                                       \
        o.field = value;                                                                                               \
        CHECK_FAILS(gpul_benchmark(&r, work, &j, &o), GPUL_ERROR_ARGUMENT, "gpul_benchmark", word);                    \
    } while (0)
    CHECK_FAILS(gpul_benchmark(NULL, work, &j, NULL), GPUL_ERROR_ARGUMENT, "gpul_benchmark", "result");
    CHECK_FAILS(gpul_benchmark(&r, NULL, &j, NULL), GPUL_ERROR_ARGUMENT, "gpul_benchmark", "fn");
    REFUSED(repeat, -1, "options->repeat = -1");
    REFUSED(repeat, INT64_MAX, "options->repeat = 9223372036854775807");
    REFUSED(warmup, -2, "options->warmup = -2");
    REFUSED(seconds, -1, "options->seconds = -1");
    REFUSED(seconds, NAN, "options->seconds");
    REFUSED(bytes, -8, "options->bytes = -8");
    REFUSED(bytes, INFINITY, "options->bytes");
    REFUSED(bytes, NAN, "options->bytes");
    REFUSED(flops, -1, "options->flops = -1");
    REFUSED(flops, INFINITY, "options->flops");
    REFUSED(flop_dtype, GPUL_I32, "options->flop_dtype is int32");
    REFUSED(flop_dtype, -3, "options->flop_dtype");
#undef REFUSED
    memset(&o, 0, sizeof o);
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_graph_begin(s));
    o.stream = s;
    CHECK_FAILS(gpul_benchmark(&r, work, &j, &o), GPUL_ERROR_ARGUMENT, "gpul_benchmark", "captured");
    CHECK_OK(gpul_graph_end(&graph, s));
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_INT(j.calls, 0);
    CHECK_INT(r.samples, 0);
}

static void test_progress(void) {
    gpul_benchmark_options o = GPUL_ZERO;
    gpul_benchmark_result r = GPUL_ZERO;
    job j, as = GPUL_ZERO;
    o.name = "slow";
    o.repeat = 1000;
    o.seconds = 1.5;
    o.progress = show;
    as.wait = 0.05;
    benchmark_undisturbed(&r, &j, &as, &o, 0.1);
    CHECK(j.lines <= 6 && (j.lines >= 3 || j.stall > 0.1)); /* from half a second on, four a second, and the last */
    CHECK(j.first[0] == '\r' && strstr(j.first, "slow: ") && strstr(j.first, " of 1000 samples, ") &&
          strstr(j.first, " of 1.5 s"));
    CHECK_INT(strlen(j.first), 79);
    CHECK_INT(strspn(j.last + 1, " "), 78); /* wipes itself */
    CHECK_STRING(j.last + 79, "\r");
    o.seconds = 0.1;
    as.wait = 0.01;
    benchmark_undisturbed(&r, &j, &as, &o, 0.1);
    CHECK(j.lines == 0 || j.stall > 0.1); /* what is over soon says nothing */
    memset(&j, 0, sizeof j);              /* what warms up for long says so, and so does the last sample */
    j.wait = 0.6;
    CHECK_OK(gpul_benchmark(&r, work, &j, &o));
    CHECK(j.lines >= 2 && strstr(j.first, "slow: 0 of 1000 samples"));
    memset(&j, 0, sizeof j); /* and a failure wipes the line too */
    j.wait = 0.3;
    j.fail_at = 6;
    j.fail_as = 77;
    o.seconds = 30;
    o.warmup = -1;
    CHECK_INT(gpul_benchmark(&r, work, &j, &o), 77);
    CHECK(j.lines >= 2);
    CHECK_STRING(j.last + 79, "\r");
}

#ifdef GPULITE_CPU_STANDIN
/* The clock is low beside some samples: they go, and others come in their place. */
static void test_throttled(void) {
    for (int round = 0; round < 3; round++) {
        gpul_benchmark_options o = GPUL_ZERO;
        gpul_benchmark_result r = GPUL_ZERO;
        job j, as = GPUL_ZERO;
        o.repeat = 40;
        o.warmup = -1;
        o.seconds = 60;
        as.wait = 0.05;
        as.slow_calls = 1000;
        as.slow_from = 5 + 10 * round;
        as.slow_to = as.slow_from + 4;
        benchmark_undisturbed(&r, &j, &as, &o, 0.02);
        CHECK(r.discarded >= 5); /* four after which the clock was low, and one before which it was */
        check_samples(&r, &j, 40, 0);
        CHECK(r.cpu.max < 0.05 || j.stall > 0.02);
    }
    { /* a clock that stays low is the clock */
        gpul_benchmark_options o = GPUL_ZERO;
        gpul_benchmark_result r = GPUL_ZERO;
        job j = GPUL_ZERO;
        j.slow_from = 4;
        j.slow_to = 1000000;
        o.repeat = 40;
        o.warmup = -1;
        CHECK_OK(gpul_benchmark(&r, work, &j, &o));
        CHECK(r.samples > 20);
        standin_reset();
    }
    { /* and what seemed low at first is more than was asked for, when more have come in its place */
        gpul_benchmark_options o = GPUL_ZERO;
        gpul_benchmark_result r = GPUL_ZERO;
        job j, as = GPUL_ZERO;
        o.repeat = 4;
        o.warmup = -1;
        as.slow_from = 3;
        as.slow_to = 1000000;
        benchmark_undisturbed(&r, &j, &as, &o, 0.02);
        standin_reset();
        check_samples(&r, &j, 4, 0);
        CHECK((r.samples == 4 && r.discarded > 0) || j.stall > 0.02);
    }
}

static void test_flush(void) {
    for (int flush = 0; flush < 2; flush++) {
        gpul_benchmark_options o = GPUL_ZERO;
        gpul_benchmark_result r = GPUL_ZERO;
        job j = GPUL_ZERO;
        const long sets = standin_calls("cudaMemsetAsync"), allocated = standin_calls("cudaMallocFromPoolAsync");
        o.repeat = 4;
        o.warmup = 2;
        o.flush_l2 = flush;
        CHECK_OK(gpul_benchmark(&r, work, &j, &o));
        CHECK_INT(standin_calls("cudaMemsetAsync") - sets, flush ? j.calls - 2 : 0);
        CHECK_INT(standin_calls("cudaMallocFromPoolAsync") - allocated, flush);
    }
    CHECK_OK(gpul_memory_limit(1000)); /* twice L2 does not fit */
    {
        gpul_benchmark_options o = GPUL_ZERO;
        gpul_benchmark_result r = GPUL_ZERO;
        job j = GPUL_ZERO;
        o.flush_l2 = 1;
        CHECK_FAILS(gpul_benchmark(&r, work, &j, &o), GPUL_ERROR_OUT_OF_MEMORY, "gpul_benchmark", "gpul_memory_limit");
        CHECK_INT(j.calls, 0);
    }
    CHECK_OK(gpul_memory_limit(0));
}
#endif

/* ---- text ---- */

static gpul_benchmark_result a_result(void) {
    gpul_benchmark_result r = GPUL_ZERO;
    snprintf(r.name, sizeof r.name, "vecadd");
    r.cpu.mean = 5.1234e-6;
    r.cpu.deviation = 0.25e-6;
    r.cpu.min = 4.5e-6;
    r.cpu.median = 5e-6;
    r.cpu.max = 9.75e-6;
    r.gpu.mean = 14.5e-6;
    r.gpu.deviation = 1.5e-6;
    r.gpu.min = 12e-6;
    r.gpu.median = 14e-6;
    r.gpu.max = 20.125e-6;
    r.samples = 100;
    r.device = 1;
    return r;
}

static void test_text(void) {
    static const char *const line =
        "vecadd              :    CPU:    5.123 us   +/- 0.250 (min:    4.500 / max:    9.750) us     GPU-1:   14.500 us"
        "   +/- 1.500 (min:   12.000 / max:   20.125) us   median:   14.000 us, 100 samples";
    gpul_benchmark_result r = a_result();
    char text[600], want[600], small[21];
    size_t length = 7, asked = 7;
    CHECK_OK(gpul_benchmark_text(&length, text, sizeof text, &r));
    CHECK_STRING(text, line);
    CHECK_INT(length, strlen(line));
    CHECK_OK(gpul_benchmark_text(&asked, NULL, 0, &r));
    CHECK_INT(asked, length);
    memset(small, 'x', sizeof small);
    CHECK_OK(gpul_benchmark_text(NULL, small, 11, &r));
    CHECK_BYTES(small, "vecadd    \0xxxxxxxxxx", 21);
    r.gbps = 857.142857;
    r.gflops = 71.4;
    r.intensity = 1.0 / 12;
    r.share = 0.7535;
    r.bound = GPUL_ROOF_MEMORY;
    r.discarded = 3;
    CHECK_OK(gpul_benchmark_text(NULL, text, sizeof text, &r));
    snprintf(want, sizeof want, "%.*s%s", (int)(strlen(line) - strlen(", 100 samples")), line,
             ", 857.1 GB/s, 71.4 GFLOP/s, 0.0833 flop/byte, 75.3 % of the memory roof, 100 samples, 3 discarded");
    text[strcspn(text, "\n")] = 0;
    CHECK_STRING(text, want);
    r.bound = GPUL_ROOF_COMPUTE;
    CHECK_OK(gpul_benchmark_text(NULL, text, sizeof text, &r));
    CHECK(strstr(text, "% of the compute roof") != NULL);
    r = a_result();
    r.samples = 1;
    CHECK_OK(gpul_benchmark_text(NULL, text, sizeof text, &r));
    CHECK_STRING(text,
                 "vecadd              :    CPU:    5.123 us     GPU-1:   14.500 us   median:   14.000 us, 1 samples");
    r.standin = 1;
    CHECK_OK(gpul_benchmark_text(NULL, text, sizeof text, &r));
    CHECK(strstr(text, "stand-in") != NULL && strstr(text, " us") == NULL && strstr(text, "14.5") == NULL);
    memset(r.name, 'n', sizeof r.name); /* not terminated */
    CHECK_OK(gpul_benchmark_text(&length, NULL, 0, &r));
    CHECK_FAILS(gpul_benchmark_text(&length, text, sizeof text, NULL), GPUL_ERROR_ARGUMENT, "gpul_benchmark_text",
                "result");
    CHECK_FAILS(gpul_benchmark_text(&length, NULL, 3, &r), GPUL_ERROR_ARGUMENT, "gpul_benchmark_text", "text");
}

static int commas(const char *text) {
    int n = 0;
    for (; *text; text++) n += *text == ',';
    return n;
}
static void test_csv(void) {
    gpul_benchmark_result r = a_result();
    char text[600];
    size_t length = 7;
    CHECK_OK(gpul_benchmark_csv(&length, text, sizeof text, NULL));
    CHECK_INT(length, strlen(text));
    CHECK(strncmp(text, "name,device,samples,discarded,cpu_mean_us,", 42) == 0 && text[length - 1] == '\n');
    CHECK_INT(commas(text), 20);
    CHECK_OK(gpul_benchmark_csv(NULL, text, sizeof text, &r));
    CHECK_STRING(text, "\"vecadd\",1,100,0,5.1234,0.25,4.5,5,9.75,14.5,1.5,12,14,20.125,,,,,,,\n");
    r.bytes = 12000;
    r.flops = 1000;
    r.gbps = 857.142857;
    r.gflops = 71.4;
    r.intensity = 1.0 / 12;
    r.share = 0.75;
    r.bound = GPUL_ROOF_MEMORY;
    r.discarded = 3;
    r.cpu.deviation = 0;
    snprintf(r.name, sizeof r.name, "%s", "say \"a, b\"");
    /* where it is installed, a point of two bytes, or else a comma */
    if (!setlocale(LC_NUMERIC, "ps_AF.UTF-8")) (void)setlocale(LC_NUMERIC, "de_DE.UTF-8");
    CHECK_OK(gpul_benchmark_csv(NULL, text, sizeof text, &r));
    CHECK(setlocale(LC_NUMERIC, "C") != NULL);
    CHECK_STRING(text, "\"say \"\"a, b\"\"\",1,100,3,5.1234,0,4.5,5,9.75,14.5,1.5,12,14,20.125,12000,1000,857.142857,"
                       "71.4,0.0833333333,0.75,memory\n");
    r.standin = 1;
    CHECK_OK(gpul_benchmark_csv(&length, text, sizeof text, &r));
    CHECK_STRING(text, "\"say \"\"a, b\"\"\",standin-1,100,3,,,,,,,,,,,12000,1000,,,0.0833333333,,\n");
    CHECK_OK(gpul_benchmark_csv(NULL, text, 4, &r));
    CHECK_STRING(text, "\"sa");
    CHECK_FAILS(gpul_benchmark_csv(&length, NULL, 3, NULL), GPUL_ERROR_ARGUMENT, "gpul_benchmark_csv", "text");
}

/* ---- the roof ---- */

static void test_roof(void) {
    gpul_roof roof = GPUL_ZERO, again = GPUL_ZERO;
    int64_t used = -1;
    CHECK_OK(gpul_device_roof(&roof, 0));
    CHECK_OK(gpul_memory_used(&used, NULL));
    CHECK_INT(used, 0);
    CHECK(roof.read_gbps > 0 && roof.write_gbps > 0 && roof.copy_gbps > 0);
    CHECK(roof.f32_gflops > 0 && roof.f64_gflops > 0 && roof.f16_gflops > 0);
    CHECK_INT(roof.device, 0);
#ifdef GPULITE_CPU_STANDIN
    {
        const long launches = standin_launches();
        CHECK_INT(roof.standin, 1);
        CHECK_OK(gpul_device_roof(&again, 0));
        CHECK_INT(standin_launches(), launches); /* measured once */
    }
#else
    CHECK_INT(roof.standin, 0);
    CHECK(roof.read_gbps > 10 && roof.write_gbps > 10 && roof.copy_gbps > 10 && roof.f32_gflops > 100);
    CHECK_OK(gpul_device_roof(&again, 0));
#endif
    CHECK_BYTES(&again, &roof, sizeof roof);
    CHECK_FAILS(gpul_device_roof(NULL, 0), GPUL_ERROR_ARGUMENT, "gpul_device_roof", "roof");
    CHECK_FAILS(gpul_device_roof(&again, -1), GPUL_ERROR_DEVICE, "gpul_device_roof", "device = -1");
    CHECK_FAILS(gpul_device_roof(&again, 4444), GPUL_ERROR_DEVICE, "gpul_device_roof", "device = 4444");
    CHECK_BYTES(&again, &roof, sizeof roof);
    for (int k = 0; k < 5; k++) { /* shares */
        const double bytes[] = {1e6, 0, 1, 1e9, 0}, flops[] = {0, 1e6, 1e12, 1, 0};
        const double memory = fmax(roof.read_gbps, fmax(roof.write_gbps, roof.copy_gbps));
        gpul_benchmark_options o = GPUL_ZERO;
        gpul_benchmark_result r = GPUL_ZERO;
        job j = GPUL_ZERO;
        static const gpul_dtype dtypes[5] = {0, GPUL_F64, GPUL_F16, GPUL_BF16, GPUL_F32};
        const double rates[5] = {roof.f32_gflops, roof.f64_gflops, roof.f16_gflops, roof.f16_gflops, roof.f32_gflops};
        const double compute = rates[k];
        j.wait = 1e-4;
        o.repeat = 3;
        o.warmup = -1;
        o.bytes = bytes[k];
        o.flops = flops[k];
        o.flop_dtype = dtypes[k];
        o.roof = 1;
        CHECK_OK(gpul_benchmark(&r, work, &j, &o));
        CHECK_NEAR(r.gbps, bytes[k] / r.gpu.median * 1e-9, 1e-9 * r.gbps);
        CHECK_NEAR(r.gflops, flops[k] / r.gpu.median * 1e-9, 1e-9 * r.gflops);
        CHECK_NEAR(r.intensity, bytes[k] > 0 ? flops[k] / bytes[k] : 0, 1e-9 * r.intensity);
        CHECK(r.bytes == bytes[k] && r.flops == flops[k]);
        CHECK_NEAR(r.share, fmax(r.gbps / memory, r.gflops / compute), 1e-9 * r.share);
        CHECK_INT(r.bound, k == 4                                 ? GPUL_ROOF_NONE
                           : r.gflops / compute > r.gbps / memory ? GPUL_ROOF_COMPUTE
                                                                  : GPUL_ROOF_MEMORY);
        if (k == 2) CHECK_INT(r.bound, GPUL_ROOF_COMPUTE);
        if (k == 3) CHECK_INT(r.bound, GPUL_ROOF_MEMORY);
    }
}

#ifdef GPULITE_CPU_STANDIN
static int told;
static char told_last[512];
static void tell(const gpul_error *error) {
    told++;
    snprintf(told_last, sizeof told_last, "%s", error->message);
}

/* Measuring fails at some runtime call or other, each time in a process that has not measured yet. */
static void test_roof_faults(void) {
    const long steps[] = {1, 2, 5, 8, 13, 20, 60, 120, 480, 1500};
    long failed = 0;
    for (int k = 0; k < COUNT_OF(steps); k++) {
        int result = 0;
        const pid_t child = fork();
        if (child == 0) {
            gpul_roof roof = GPUL_ZERO;
            gpul_status status;
            int bad = 0, fault;
            standin_leaks(0);
            standin_fail(NULL, steps[k], cudaErrorUnknown, STANDIN_ONCE | STANDIN_AFTER * (steps[k] > 20));
            (void)gpul_on_error(tell);
            status = gpul_device_roof(&roof, 0);
            (void)gpul_on_error(NULL);
            if (told != (status != GPUL_OK) || strcmp(told_last, status == GPUL_OK ? "" : gpul_last_error()->message))
                bad |= 64;
            fault = standin_failed();
            standin_fail_clear();
            if (fault && status != GPUL_OK && strcmp(gpul_last_error()->function, "gpul_device_roof") != 0) bad |= 1;
            if (fault && status != GPUL_OK && (status != GPUL_ERROR_CUDA || roof.read_gbps != 0)) bad |= 2;
            if (fault && status != GPUL_OK &&
                (strncmp(gpul_last_error()->message, "gpul_device_roof: ", 18) != 0 ||
                 strstr(gpul_last_error()->message + 1, "gpul_device_roof") != NULL))
                bad |= 4;
            if (cudaGetLastError() != cudaSuccess) bad |= 8;
            standin_drain();
            /* what a call made that says it has failed, nobody can know of */
            if (!(steps[k] > 20 && status != GPUL_OK && strstr(gpul_last_error()->message, "Create")) &&
                (standin_live_streams() != 0 || standin_live_events() != 0))
                bad |= 16;
            if (gpul_device_roof(&roof, 0) != GPUL_OK || roof.f64_gflops <= 0) bad |= 32;
            if (bad)
                fprintf(stderr, "call %ld: %s, faults %d: %s\n", steps[k], gpul_status_name(status), bad,
                        gpul_last_error()->message);
            _exit(bad ? 1 : fault && status != GPUL_OK ? 77 : 0);
        }
        CHECK(child > 0);
        CHECK(waitpid(child, &result, 0) == child && WIFEXITED(result));
        CHECK(WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 77);
        failed += WEXITSTATUS(result) == 77;
    }
    CHECK(failed >= 5);
}

/* With no memory for arrays beyond the cache, nothing is measured; later it is. In a process that has not measured yet. */
static void test_roof_of_full_device(void) {
    int result = 0;
    const pid_t child = fork();
    if (child == 0) {
        gpul_roof roof = GPUL_ZERO;
        gpul_array a = GPUL_ZERO;
        int bad = 0;
        standin_leaks(0);
        standin_memory(200000);
        if (gpul_device_array(&a, GPUL_U8, gpul_1d(190000), NULL) != GPUL_OK) bad |= 1;
        if (gpul_device_roof(&roof, 0) != GPUL_ERROR_OUT_OF_MEMORY || roof.read_gbps != 0) bad |= 2;
        if (strstr(gpul_last_error()->message, "gpul_device_roof: ") == NULL) bad |= 4;
        if (gpul_free(&a) != GPUL_OK || gpul_device_roof(&roof, 0) != GPUL_OK || !(roof.read_gbps > 0)) bad |= 8;
        if (bad) fprintf(stderr, "faults %d: %s\n", bad, gpul_last_error()->message);
        _exit(bad);
    }
    CHECK(child > 0);
    CHECK(waitpid(child, &result, 0) == child && WIFEXITED(result));
    CHECK_INT(WEXITSTATUS(result), 0);
}
#endif

/* ---- ranges: this program's implementation is built without NVTX; test_ranges.c has one with it ---- */

static void test_ranges(void) {
    CHECK_OK(gpul_range_push("outer"));
    CHECK_FAILS(gpul_range_push(NULL), GPUL_ERROR_ARGUMENT, "gpul_range_push", "name");
#ifdef GPULITE_CPU_STANDIN
    CHECK_INT(standin_ranges(), 0);
#endif
    gpul_range_pop();
    gpul_range_pop();
}

int main(void) {
    check_begin("benchmark");
#ifdef GPULITE_CPU_STANDIN
    RUN(test_roof_faults); /* before anything touches a device */
    RUN(test_roof_of_full_device);
#endif
    RUN(test_samples);
    RUN(test_varying);
    RUN(test_limits);
    RUN(test_failing);
    RUN(test_pending);
    RUN(test_bad);
    RUN(test_progress);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_throttled);
    RUN(test_flush);
#endif
    RUN(test_text);
    RUN(test_csv);
    RUN(test_roof);
    RUN(test_ranges);
    return check_end();
}
