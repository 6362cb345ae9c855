/* SPDX-License-Identifier: MIT
 *
 * Reductions of your own that keep the order of the elements: in parallel all the same, since only neighbours are
 * combined. What combines neighbours may be associative without being commutative, may know an element's index, and may
 * carry a struct.
 *
 *     nvcc -arch=native -o ordered examples/ordered.cu gpulite_kernels.cu                  (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o ordered -x c++ examples/ordered.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * The macros define plain C functions. A C file of the same program declares and calls them:
 *
 *     gpul_status smooth(gpul_array *out, const gpul_array *x, double keep, int32_t axis, gpul_stream stream);
 *     gpul_status largest(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
 */
#define GPULITE_IMPLEMENTATION
#define GPULITE_ENGINES_ONLY
#include "../gpulite_kernels.cu"
#include "expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Exponential smoothing, s = keep * s + (1 - keep) * x for one x after the other. Each element is a map of s, and maps
 * one after the other are a map again: associative, but not commutative, so the order has to be kept. */
struct affine {
    double scale, shift;
};
GPUL_REDUCE_ORDERED(smooth, double, affine, (affine{1, 0}), (affine{keep, (1 - keep) * double(x)}),
                    (affine{b.scale * a.scale, fma(b.scale, a.shift, b.shift)}), a.shift, float, x, gpul_scalar<double>,
                    keep)

/* The largest element and its index i, the first of equal ones: a result that is a struct. The identity changes nothing
 * that it is combined with: its index -1 tells it from an element of -INFINITY. A NaN may hide larger elements behind
 * it, since no comparison with it is true; a map that makes the identity of each NaN leaves them out. */
struct place {
    float value;
    int32_t index;
};
GPUL_REDUCE_ORDERED(largest, place, place, (place{-INFINITY, -1}), (place{x, int32_t(i)}),
                    (a.index < 0 || b.value > a.value ? b : a), a, float, x)

enum { ROWS = 100, COLS = 1000, N = ROWS * COLS };

GPUL_PRINT_AND_EXIT(stop)

int main(void) {
    static float x[N];
    gpul_array dx = GPUL_ZERO, last = GPUL_ZERO, found = GPUL_ZERO, rows = GPUL_ZERO, places = GPUL_ZERO;
    int64_t wrong = 0;
    double smoothed = 0, want = 0;
    place most[ROWS];
    for (int i = 0; i < N; ++i) x[i] = float(i * 37 % 1001) / 8;
    gpul_on_error(stop);
    GPUL_TO_DEVICE(&dx, x, gpul_2d(ROWS, COLS));

    gpul_device_array(&last, GPUL_F64, gpul_0d(), NULL);
    smooth(&last, &dx, 0.99, GPUL_ALL_AXES, NULL);
    gpul_copy_to_host(&smoothed, &last, NULL);
    for (int i = 0; i < N; ++i) want = 0.99 * want + (1 - 0.99) * double(x[i]);
    expect(fabs(smoothed - want) <= 1e-12 * want, "GPUL_REDUCE_ORDERED: smoothed x");

    gpul_device_array(&found, GPUL_U8, gpul_2d(ROWS, sizeof most[0]), NULL); /* a struct's bytes: one dimension more */
    largest(&found, &dx, 1, NULL);
    gpul_copy_to_host(most, &found, NULL);
    for (int i = 0; i < ROWS; ++i) {
        int j = 0;
        for (int k = 1; k < COLS; ++k) j = x[i * COLS + k] > x[i * COLS + j] ? k : j;
        wrong += !(most[i].index == j && most[i].value == x[i * COLS + j]);
    }
    expect(wrong == 0, "GPUL_REDUCE_ORDERED: where each row is largest");

    const float odd[2][3] = {{-INFINITY, -INFINITY, -INFINITY}, {NAN, 5, 6}};
    GPUL_TO_DEVICE(&rows, &odd[0][0], gpul_2d(2, 3));
    gpul_slice(&places, &found, 0, 0, 2, 1);
    largest(&places, &rows, 1, NULL);
    gpul_copy_to_host(most, &places, NULL);
    expect(most[0].index == 0 && most[0].value == -INFINITY, "the first of a row of -INFINITY");
    expect(most[1].index == 0 && isnan(most[1].value), "a NaN that comes first hides the rest");

    gpul_free_all(&dx, &last, &found, &rows);
    return failures ? 1 : 0;
}
