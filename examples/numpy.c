/* SPDX-License-Identifier: MIT
 *
 * Six small pictures, from raw bytes to statistics. Each line of NumPy, in the comment beside it, is one line of C.
 *
 *     nvcc -arch=native -o numpy examples/numpy.c gpulite_kernels.cu                       (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o numpy -x c examples/numpy.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PICTURES = 6, ROWS = 20, COLS = 30, COLORS = 3, PIXELS = ROWS * COLS, BINS = 5 };

static uint8_t bytes[PICTURES * PIXELS][COLORS];
GPUL_PRINT_AND_EXIT(stop)

/* what the CPU makes of a byte: whole numbers, which float32 holds */
static double bright(int pixel, int color) {
    const double x = 2.0 * bytes[pixel][color] - 100;
    return x < 0 ? 0 : x > 255 ? 255 : x;
}
static double marked_red(int pixel) { return bright(pixel, 0) > 128 ? bright(pixel, 0) : 0; }

/* Bytes to numbers, in place where the dtype stays */
static void prepare(gpul_array *x) {
    static float host[PICTURES * PIXELS * COLORS];
    gpul_array raw = GPUL_ZERO;
    int wrong = 0;
    gpul_to_device(&raw, bytes, GPUL_U8, gpul_4d(PICTURES, ROWS, COLS, COLORS), NULL); /* raw = cp.asarray(bytes) */
    gpul_device_array(x, GPUL_F32, gpul_4d(PICTURES, ROWS, COLS, COLORS), NULL);
    gpul_convert(x, &raw, NULL);      /* x = raw.astype("f4") */
    gpul_scale(x, 2, x, -100, NULL);  /* x = 2 * x - 100 */
    gpul_clip(x, x, 0, 255, NULL);    /* x = x.clip(0, 255) */
    gpul_copy_to_host(host, x, NULL); /* host = x.get() */
    for (int k = 0; k < PICTURES * PIXELS * COLORS; ++k) wrong += !(host[k] == bright(k / COLORS, k % COLORS));
    expect(wrong == 0, "(2 * raw - 100).clip(0, 255)");
    gpul_free(&raw);
}

/* Pixels that are red enough, and how alike pictures are */
static void compare(const gpul_array *x) {
    gpul_array red = GPUL_ZERO, mask = GPUL_ZERO, marked = GPUL_ZERO, flat = GPUL_ZERO, halves[2];
    gpul_array turned = GPUL_ZERO, products = GPUL_ZERO;
    float host[3][3];
    double worst = 0;
    gpul_index(&red, x, 3, 0); /* red = x[..., 0], a view */
    gpul_device_array(&mask, gpul_binary_dtype(GPUL_GREATER, GPUL_F32), gpul_3d(PICTURES, ROWS, COLS), NULL);
    gpul_device_array_like(&marked, &red, NULL);
    gpul_binary(&mask, GPUL_GREATER, &red, GPUL_SCALAR(128), NULL); /* mask = red > 128 */
    gpul_where(&marked, &mask, &red, GPUL_SCALAR(0), NULL);         /* marked = cp.where(mask, red, 0) */
    gpul_reshape(&flat, &marked, gpul_2d(PICTURES, -1));            /* flat = marked.reshape(6, -1) */
    gpul_split(halves, 2, &flat, 0);                                /* first, second = cp.split(flat, 2) */
    gpul_transpose(&turned, &halves[1]);
    gpul_full(&products, GPUL_F32, gpul_2d(3, 3), 1, NULL);
    gpul_gemm(&products, 0.5, &halves[0], &turned, 2, NULL); /* products = 0.5 * first @ second.T + 2 * products */
    gpul_copy_to_host(host, &products, NULL);
    for (int p = 0; p < 3; ++p)
        for (int q = 0; q < 3; ++q) {
            double sum = 0;
            for (int i = 0; i < PIXELS; ++i) sum += marked_red(p * PIXELS + i) * marked_red((3 + q) * PIXELS + i);
            worst = fmax(worst, fabs(host[p][q] / (0.5 * sum + 2) - 1));
        }
    expect(worst < 1e-5, "0.5 * first @ second.T + 2 * products");
    gpul_free_all(&mask, &marked, &products);
}

/* A histogram of red, weighted by green; means; and 16-bit floats */
static void summarise(const gpul_array *x) {
    gpul_array red = GPUL_ZERO, green = GPUL_ZERO, counts = GPUL_ZERO, mean = GPUL_ZERO, half = GPUL_ZERO;
    gpul_histogram_options options = GPUL_ZERO;
    const int64_t first[4] = {0, 0, 0, 1};
    double host[BINS], sums[BINS] = {0}, total = 0;
    uint16_t bits;
    int wrong = 0;
    gpul_index(&red, x, 3, 0);
    gpul_index(&green, x, 3, 1);
    gpul_device_array(&counts, GPUL_F64, gpul_1d(BINS), NULL);
    options.range = GPUL_RANGE_LO_HI, options.lo = 0, options.hi = 255, options.weights = &green;
    gpul_histogram_ex(&counts, &red, &options, NULL); /* counts = cp.histogram(red, 5, (0, 255), weights=green)[0] */
    gpul_copy_to_host(host, &counts, NULL);
    for (int i = 0; i < PICTURES * PIXELS; ++i) {
        const double r = bright(i, 0), g = bright(i, 1);
        sums[r >= 255 ? BINS - 1 : (int)(r / 51)] += g, total += r;
    }
    for (int b = 0; b < BINS; ++b) wrong += !(host[b] == sums[b]);
    expect(wrong == 0, "histogram(red, 5, (0, 255), weights=green)");
    gpul_managed_array(&mean, gpul_reduce_dtype(GPUL_MEAN, GPUL_F32), gpul_1d(1)); /* cuda.managed_array */
    gpul_reduce(&mean, &red, GPUL_MEAN, GPUL_ALL_AXES, NULL);                      /* mean[0] = red.mean() */
    gpul_device_synchronize(); /* managed memory may be read by the host when the GPU is done with it */
    expect(fabs(*(float *)mean.data - total / (PICTURES * PIXELS)) < 1e-4, "red.mean(), read where it lies");

    gpul_device_array(&half, GPUL_F16, gpul_4d(PICTURES, ROWS, COLS, COLORS), NULL);
    gpul_convert(&half, x, NULL);        /* half = x.astype("f2") */
    gpul_get(&bits, &half, first, NULL); /* half[0, 0, 0, 1] */
    expect(gpul_f16_to_float(bits) == bright(0, 1), "x.astype(float16)");
    printf("0.1 is %.7f in float16, %.7f in bfloat16\n", (double)gpul_f16_to_float(gpul_f16_from_float(0.1f)),
           (double)gpul_bf16_to_float(gpul_bf16_from_float(0.1f)));
    gpul_free_all(&counts, &mean, &half);
}

int main(void) {
    gpul_array x = GPUL_ZERO;
    gpul_on_error(stop);
    for (int i = 0; i < PICTURES * PIXELS * COLORS; ++i)
        bytes[i / COLORS][i % COLORS] = (uint8_t)((uint32_t)i * 2654435761u >> 24);
    prepare(&x);
    compare(&x);
    summarise(&x);
    gpul_free(&x);
    return failures ? 1 : 0;
}
