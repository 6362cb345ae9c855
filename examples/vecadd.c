/* SPDX-License-Identifier: MIT
 *
 * c = a + b, twice: the short way, and the fast way with pinned memory, a stream and timers. Then NumPy's functions.
 *
 *     nvcc -arch=native -o vecadd examples/vecadd.c gpulite_kernels.cu                     (Hopper: -arch=sm_90a)
 *     g++ -O2 -ffp-contract=off -Itests/cpu -o vecadd -x c examples/vecadd.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20 };

static int check(const char *what, const float *a, const float *b, const float *c) {
    for (int64_t i = 0; i < N; ++i) {
        if (!(c[i] == a[i] + b[i])) { /* one IEEE addition: equal to the bit */
            printf("%s: WRONG at %lld: %g + %g gave %g\n", what, (long long)i, a[i], b[i], c[i]);
            return 0;
        }
    }
    printf("%s: %d sums, all right\n", what, N);
    return 1;
}

GPUL_PRINT_AND_EXIT(stop)

/* Numba / CuPy:   da, db = cuda.to_device(a), cuda.to_device(b)
 *                 c = (da + db).copy_to_host() */
static int the_short_way(void) {
    float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), *c = malloc(N * sizeof *c);
    if (a == NULL || b == NULL || c == NULL) exit(1);
    for (int i = 0; i < N; ++i) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)(N - i);
    }

    gpul_array da = GPUL_ZERO, db = GPUL_ZERO, dc = GPUL_ZERO;
    gpul_on_error(stop); /* what fails from here on ends the program, with a sentence that says why */
    GPUL_TO_DEVICE(&da, a, gpul_1d(N));
    GPUL_TO_DEVICE(&db, b, gpul_1d(N));
    gpul_device_array_like(&dc, &da, NULL);
    gpul_vecadd(&dc, &da, &db, NULL);
    GPUL_TO_HOST(c, &dc);
    gpul_free_all(&da, &db, &dc);
    gpul_on_error(NULL); /* and here the program asks each call again */

    const int ok = check("the short way", a, b, c);
    free(a);
    free(b);
    free(c);
    return ok;
}

/* Numba:   stream = cuda.stream();  a = cuda.pinned_array(N, np.float32)
 *          da = cuda.to_device(a, stream);  add[grid, block, stream](...);  dc.copy_to_host(c, stream)
 *          stream.synchronize()
 *
 * Every call below only enqueues; the host is free until it waits for the stream. */
static int the_fast_way(void) {
    gpul_stream stream = NULL;
    gpul_timer kernel = GPUL_ZERO, wall = gpul_host_timer();
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, c = GPUL_ZERO, da = GPUL_ZERO, db = GPUL_ZERO, dc = GPUL_ZERO;
    gpul_device device = GPUL_ZERO;
    double kernel_seconds = 0, wall_seconds = 0;

    GPUL_CHECK(gpul_stream_create(&stream, GPUL_STREAM_NON_BLOCKING));
    GPUL_CHECK(gpul_pinned_array(&a, GPUL_F32, gpul_1d(N)));
    GPUL_CHECK(gpul_pinned_array(&b, GPUL_F32, gpul_1d(N)));
    GPUL_CHECK(gpul_pinned_array(&c, GPUL_F32, gpul_1d(N)));
    for (int i = 0; i < N; ++i) { /* pinned memory is plain memory to the host */
        ((float *)a.data)[i] = (float)(i % 1000);
        ((float *)b.data)[i] = 0.25f;
    }
    GPUL_CHECK(gpul_device_array_like(&da, &a, stream));
    GPUL_CHECK(gpul_device_array_like(&db, &b, stream));
    GPUL_CHECK(gpul_device_array_like(&dc, &c, stream));

    for (int round = 0; round < 3; ++round) { /* the timers add up over the rounds */
        GPUL_CHECK(gpul_timer_start(&wall, stream));
        GPUL_CHECK(gpul_copy(&da, &a, stream));
        GPUL_CHECK(gpul_copy(&db, &b, stream));
        GPUL_TIMED(kernel, stream) { GPUL_CHECK(gpul_vecadd(&dc, &da, &db, stream)); }
        GPUL_CHECK(gpul_copy(&c, &dc, stream));
        GPUL_CHECK(gpul_stream_synchronize(stream));
        GPUL_CHECK(gpul_timer_stop(&wall, stream));
    }
    const int ok = check("the fast way ", a.data, b.data, c.data);

    GPUL_CHECK(gpul_timer_seconds(&kernel_seconds, &kernel));
    GPUL_CHECK(gpul_timer_seconds(&wall_seconds, &wall));
    GPUL_CHECK(gpul_device_info(&device, a.device));
    if (!device.standin) {
        printf("  in %lld rounds: kernels %.0f us (%.0f GB/s), with the copies %.0f us\n", (long long)kernel.regions,
               kernel_seconds * 1e6, 3.0 * N * sizeof(float) * (double)kernel.regions / kernel_seconds / 1e9,
               wall_seconds * 1e6);
    }

    gpul_array *all[] = {&a, &b, &c, &da, &db, &dc};
    for (int i = 0; i < 6; ++i) gpul_free(all[i]); /* in the stream's order, before the stream goes */
    gpul_timer_free(&kernel);
    gpul_timer_free(&wall);
    gpul_stream_destroy(&stream);
    return ok;
}

/* NumPy / CuPy:   x = cp.linspace(0, 2 * cp.pi, N, dtype=cp.float32)
 *                 error = cp.sin(x) ** 2 + cp.cos(x) ** 2 - 1
 *                 print(cp.where(error > 1e-6, error, 0).max()) */
static int the_numpy_way(void) {
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, mask = GPUL_ZERO;
    double worst = 0;
    GPUL_CHECK(gpul_device_array(&x, GPUL_F32, gpul_1d(N), NULL));
    GPUL_CHECK(gpul_device_array(&y, GPUL_F32, gpul_1d(N), NULL));
    GPUL_CHECK(gpul_device_array(&mask, GPUL_U8, gpul_1d(N), NULL)); /* comparisons give 0 and 1 */

    GPUL_CHECK(gpul_linspace(&x, 0, 6.283185307179586, NULL));
    GPUL_CHECK(gpul_unary(&y, GPUL_SIN, &x, NULL));
    GPUL_CHECK(gpul_unary(&x, GPUL_COS, &x, NULL)); /* in place */
    GPUL_CHECK(gpul_binary(&y, GPUL_POWER, &y, GPUL_SCALAR(2), NULL));
    GPUL_CHECK(gpul_unary(&x, GPUL_SQUARE, &x, NULL));
    GPUL_CHECK(gpul_vecadd(&y, &y, &x, NULL));
    GPUL_CHECK(gpul_binary(&y, GPUL_SUBTRACT, &y, GPUL_SCALAR(1), NULL));
    GPUL_CHECK(gpul_binary(&mask, GPUL_GREATER, &y, GPUL_SCALAR(1e-6), NULL));
    GPUL_CHECK(gpul_where(&y, &mask, &y, GPUL_SCALAR(0), NULL));
    GPUL_CHECK(gpul_max(&worst, &y, NULL));
    gpul_free(&x);
    gpul_free(&y);
    gpul_free(&mask);
    printf("NumPy's way: sin^2 + cos^2 of %d angles is 1 within 1e-6: %s\n", N, worst == 0 ? "right" : "WRONG");
    return worst == 0;
}

int main(void) {
    const int short_ok = the_short_way(), fast_ok = the_fast_way(), numpy_ok = the_numpy_way();
    return short_ok && fast_ok && numpy_ok ? 0 : 1;
}
