/* SPDX-License-Identifier: MIT
 *
 * c = a + b, and what each part of it costs: making the arrays, copying in, the kernel, copying out.
 *
 *     nvcc -arch=native -O3 -o vecadd examples/vecadd.c gpulite_kernels.cu                 (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o vecadd -x c examples/vecadd.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./vecadd [N]        -O3 is for the loop on the CPU: without it the GPU would win too easily
 *
 * Numba:   da = cuda.to_device(a);  add[grid, block](da, db, dc);  dc.copy_to_host(c)
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include "table.h"

enum { CREATE, IN_PAGEABLE, IN_PINNED, KERNEL, OUT_PINNED, OUT_PAGEABLE, PARTS, ROUNDS = 5 };

typedef struct work {
    int64_t n;
    float *x, *y, *z;      /* the host's numbers, in: */
    gpul_array a, b, c;    /* pinned memory, which the GPU copies from and to by itself */
    gpul_array da, db, dc; /* the GPU's own */
    int on_host;           /* 1: the sums lie in z already */
} work;

GPUL_PRINT_AND_EXIT(stop)

static gpul_status on_cpu(void *user) {
    work *const w = (work *)user;
    for (int64_t i = 0; i < w->n; ++i) w->z[i] = w->x[i] + w->y[i];
    w->on_host = 1;
    return GPUL_OK;
}
static gpul_status kernel(void *user) {
    work *const w = (work *)user;
    return gpul_vecadd(&w->dc, &w->da, &w->db, NULL);
}
static gpul_status copies_and_kernel(void *user) {
    work *const w = (work *)user;
    gpul_copy(&w->da, &w->a, NULL);
    gpul_copy(&w->db, &w->b, NULL);
    gpul_vecadd(&w->dc, &w->da, &w->db, NULL);
    w->on_host = 1;
    return gpul_copy(&w->c, &w->dc, NULL);
}

/* One IEEE addition each: equal to the bit. Then nothing is left that the next version could pass with. */
static int right(void *user) {
    work *const w = (work *)user;
    int64_t wrong = 0;
    if (!w->on_host) gpul_copy(&w->c, &w->dc, NULL);
    for (int64_t i = 0; i < w->n; ++i) wrong += !(w->z[i] == w->x[i] + w->y[i]); /* true for NaN, too */
    memset(w->z, 0xff, (size_t)w->n * sizeof(float));
    gpul_fill(&w->dc, -1, NULL);
    w->on_host = 0;
    return wrong == 0;
}

/* The parts one by one, each with a timer that adds up over the rounds. A launch returns before the GPU has done it, so
 * the CPU's clock around it measures the launch alone. A timer puts events on the stream, before and after. */
static int parts(work *w) {
    gpul_timer timers[PARTS] = {GPUL_ZERO};
    const size_t bytes = (size_t)w->n * sizeof(float);
    float *const pageable = (float *)malloc(2 * bytes);
    int ok = 1;
    if (pageable == NULL) exit(1);
    memcpy(pageable + w->n, w->y, bytes);
    timers[CREATE] = gpul_host_timer();             /* no work for the GPU: the CPU's clock tells */
    for (int round = -1; round < ROUNDS; ++round) { /* the first is to warm up, and does not count */
        gpul_array made[3] = {GPUL_ZERO};
        for (int i = 0; i < PARTS && round == 0; ++i) gpul_timer_reset(&timers[i]);
        memcpy(pageable, w->x, bytes);
        GPUL_TIMED(timers[CREATE], NULL) {
            for (int i = 0; i < 3; ++i) gpul_device_array(&made[i], GPUL_F32, gpul_1d(w->n), NULL);
            for (int i = 0; i < 3; ++i) gpul_free(&made[i]);
        }
        GPUL_TIMED(timers[IN_PINNED], NULL) { gpul_copy(&w->da, &w->a, NULL), gpul_copy(&w->db, &w->b, NULL); }
        GPUL_TIMED(timers[IN_PAGEABLE], NULL) {
            gpul_copy_to_device(&w->da, pageable, NULL), gpul_copy_to_device(&w->db, pageable + w->n, NULL);
        }
        GPUL_TIMED(timers[KERNEL], NULL) { gpul_vecadd(&w->dc, &w->da, &w->db, NULL); }
        GPUL_TIMED(timers[OUT_PINNED], NULL) { gpul_copy(&w->c, &w->dc, NULL); }
        GPUL_TIMED(timers[OUT_PAGEABLE], NULL) { gpul_copy_to_host(pageable, &w->dc, NULL); }
        ok &= memcmp(pageable, w->z, bytes) == 0;
    }
    table_part_head(ROUNDS);
    table_part("make three arrays, and free them", &timers[CREATE], 0);
    table_part("copy in two arrays, malloc's", &timers[IN_PAGEABLE], 2 * (double)bytes);
    table_part("copy in two arrays, pinned", &timers[IN_PINNED], 2 * (double)bytes);
    table_part("kernel", &timers[KERNEL], 3 * (double)bytes);
    table_part("copy out one array, pinned", &timers[OUT_PINNED], (double)bytes);
    table_part("copy out one array, malloc's", &timers[OUT_PAGEABLE], (double)bytes);
    free(pageable);
    return ok;
}

int main(int argc, char **argv) {
    work w = GPUL_ZERO;
    gpul_on_error(stop); /* a call that fails ends the program, with a sentence that says why */
    w.n = argc > 1 ? strtoll(argv[1], NULL, 10) : on_gpu() ? 50000000 : 10007;
    if (w.n < 1) return fprintf(stderr, "usage: vecadd [N], from 1 on\n"), 1;
    gpul_array *const host[] = {&w.a, &w.b, &w.c}, *const device[] = {&w.da, &w.db, &w.dc};
    for (int i = 0; i < 3; ++i) {
        gpul_pinned_array(host[i], GPUL_F32, gpul_1d(w.n));
        gpul_device_array(device[i], GPUL_F32, gpul_1d(w.n), NULL);
    }
    w.x = (float *)w.a.data, w.y = (float *)w.b.data, w.z = (float *)w.c.data;
    for (int64_t i = 0; i < w.n; ++i) w.x[i] = (float)(i % 1000), w.y[i] = 0.25f;
    printf("%lld float32 sums: %.3f flops a byte\n", (long long)w.n, 1.0 / 12);
    const int ok = parts(&w) & right(&w);
    table t = table_of(&w, right, 12.0 * (double)w.n, (double)w.n);
    table_head("c = a + b");
    table_row_cpu(&t, "one core of the CPU", on_cpu);
    table_row(&t, "GPU, data already there", kernel);
    table_row(&t, "GPU, data copied in and out (pinned)", copies_and_kernel);
    gpul_free_all(&w.a, &w.b, &w.c, &w.da, &w.db, &w.dc);
    return ok && t.wrong == 0 ? 0 : 1;
}
