/* SPDX-License-Identifier: MIT
 *
 * How fast is it? gpul_benchmark times any function that puts work on a stream, and holds it against what the GPU
 * reaches.
 *
 *     nvcc -arch=native -o benchmark examples/benchmark.c gpulite_kernels.cu               (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o benchmark -x c examples/benchmark.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * ./benchmark FILE.csv writes the results there, too.
 *
 * CuPy:   from cupyx.profiler import benchmark
 *         print(benchmark(cupy.add, (a, b, c)))
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    gpul_array a, b, c, sum, m[3];
} work;

/* What is timed: a function of one pointer, which hands on the status of what it calls. */
static gpul_status add(void *user) {
    work *const w = (work *)user;
    return gpul_vecadd(&w->c, &w->a, &w->b, NULL);
}
static gpul_status sum(void *user) {
    work *const w = (work *)user;
    return gpul_reduce(&w->sum, &w->a, GPUL_SUM, GPUL_ALL_AXES, NULL);
}
static gpul_status product(void *user) {
    work *const w = (work *)user;
    return gpul_matmul(&w->m[2], &w->m[0], &w->m[1], NULL);
}

/* The line of progress of what takes long: it overwrites and at last wipes itself. */
static void show(void *user, const char *line) { (void)user, fputs(line, stderr); }

int main(int argc, char **argv) {
    work w = GPUL_ZERO;
    gpul_roof roof = GPUL_ZERO;
    gpul_device device = GPUL_ZERO;
    gpul_benchmark_options options = GPUL_ZERO;
    gpul_benchmark_result result = GPUL_ZERO;
    char line[512];
    FILE *csv = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (argc > 1 && csv == NULL) return fprintf(stderr, "cannot write %s: %s\n", argv[1], strerror(errno)), 1;
    GPUL_CHECK(gpul_device_info(&device, 0));
    const int64_t n = device.standin ? 1 << 14 : 1 << 26, side = device.standin ? 64 : 2048;
    const struct {
        const char *name;
        gpul_status (*fn)(void *);
        double bytes, flops; /* of one call */
    } cases[] = {{"vecadd", add, 12.0 * (double)n, (double)n},
                 {"sum", sum, 4.0 * (double)n, (double)n},
                 {"matmul", product, 12.0 * (double)(side * side), 2.0 * (double)(side * side * side)}};

    /* measured here, for all that follows; gpul_benchmark would do it too */
    GPUL_CHECK(gpul_device_roof(&roof, 0));
    if (!roof.standin)
        printf(
            "%s reaches %.0f GB/s reading, %.0f writing, %.0f copying; %.0f, %.0f and %.0f GFLOP/s in float32, float64 and "
            "float16\n",
            device.name, roof.read_gbps, roof.write_gbps, roof.copy_gbps, roof.f32_gflops, roof.f64_gflops,
            roof.f16_gflops);

    GPUL_CHECK(gpul_device_array(&w.a, GPUL_F32, gpul_1d(n), NULL));
    GPUL_CHECK(gpul_device_array_like(&w.b, &w.a, NULL));
    GPUL_CHECK(gpul_device_array_like(&w.c, &w.a, NULL));
    GPUL_CHECK(gpul_device_array(&w.sum, GPUL_F32, gpul_0d(), NULL));
    for (int i = 0; i < 3; ++i) GPUL_CHECK(gpul_device_array(&w.m[i], GPUL_F32, gpul_2d(side, side), NULL));
    GPUL_CHECK(gpul_fill(&w.a, 1, NULL));
    GPUL_CHECK(gpul_fill(&w.b, 2, NULL));
    GPUL_CHECK(gpul_fill(&w.m[0], 1, NULL));
    GPUL_CHECK(gpul_fill(&w.m[1], 2, NULL));

    options.repeat = 200;
    options.seconds = 1;
    options.roof = 1;
    options.progress = show;
    if (csv != NULL) {
        GPUL_CHECK(gpul_benchmark_csv(NULL, line, sizeof line, NULL)); /* the names of the columns */
        fputs(line, csv);
    }
    for (int i = 0; i < 3; ++i) {
        options.name = cases[i].name;
        options.bytes = cases[i].bytes;
        options.flops = cases[i].flops;
        gpul_range_push(cases[i].name); /* shows in nsys, where built with -DGPULITE_NVTX */
        GPUL_CHECK(gpul_benchmark(&result, cases[i].fn, &w, &options));
        gpul_range_pop();
        GPUL_CHECK(gpul_benchmark_text(NULL, line, sizeof line, &result));
        puts(line);
        if (csv != NULL) {
            GPUL_CHECK(gpul_benchmark_csv(NULL, line, sizeof line, &result));
            fputs(line, csv);
        }
    }

    /* What was timed is right, too: 1 + 2, a sum of ones, and sums of `side` products of 1 and 2. */
    double lo[2], hi[2], ones;
    GPUL_CHECK(gpul_min(&lo[0], &w.c, NULL));
    GPUL_CHECK(gpul_max(&hi[0], &w.c, NULL));
    GPUL_CHECK(gpul_min(&lo[1], &w.m[2], NULL));
    GPUL_CHECK(gpul_max(&hi[1], &w.m[2], NULL));
    GPUL_CHECK(gpul_sum(&ones, &w.sum, NULL));
    const double product_of = 2.0 * (double)side;
    int ok = lo[0] == 3 && hi[0] == 3 && lo[1] == product_of && hi[1] == product_of && ones == (double)n;
    if (!ok) fputs("WRONG: a result is not what the host expects\n", stderr);

    gpul_free_all(&w.a, &w.b, &w.c, &w.sum, &w.m[0], &w.m[1], &w.m[2]);
    if (csv != NULL && (ferror(csv) | fclose(csv))) /* what did not fit is known at the end */
        ok = 0, fprintf(stderr, "cannot write %s: %s\n", argv[1], strerror(errno));
    return ok ? 0 : 1;
}
