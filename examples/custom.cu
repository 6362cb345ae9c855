/* SPDX-License-Identifier: MIT
 *
 * Your own kernels, each from one expression: elementwise operations and reductions, with the contracts of the built-in
 * ones (any shape, strides and broadcasting; one launch; the same bits on every run). And two kernels by hand.
 *
 *     nvcc -arch=native -o custom examples/custom.cu gpulite_kernels.cu                    (Hopper: -arch=sm_90a)
 *     g++ -O2 -ffp-contract=off -Itests/cpu -o custom -x c++ examples/custom.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * The macros define plain C functions. A C file of the same program declares and calls them:
 *
 *     gpul_status sum_abs(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
 *     gpul_status squared_difference(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);
 *     gpul_status distance(gpul_array *out, const gpul_array *x, const gpul_array *y, int32_t axis, gpul_stream stream);
 *     gpul_status smooth(gpul_array *out, const gpul_array *x, double keep, int32_t axis, gpul_stream stream);
 *     gpul_status find_largest(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
 *     gpul_status polar(gpul_array *r, gpul_array *phi, const gpul_array *x, const gpul_array *y, gpul_stream stream);
 */
#define GPULITE_IMPLEMENTATION
#define GPULITE_ENGINES_ONLY
#include "../gpulite_kernels.cu"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* CuPy:   sum_abs = cp.ReductionKernel('T x', 'T y', 'abs(x)', 'a + b', 'y = a', '0', 'sum_abs')
 * Numba:  sum_abs = cuda.reduce(lambda a, b: a + b)          (of an array that already holds |x|) */
GPUL_REDUCE(sum_abs, float, double, 0, fabsf(x), a + b, a, float, x)

/* CuPy:   cp.ElementwiseKernel('T x, T y', 'T z', 'z = (x - y) * (x - y)', 'squared_difference')
 * Numba:  @vectorize(['float32(float32, float32)'], target='cuda') */
GPUL_ELEMENTWISE(squared_difference, float, (x - y) * (x - y), float, x, float, y)

/* CuPy:   cp.ElementwiseKernel('T x, T y', 'T r, T phi', 'r = hypot(x, y); phi = atan2(y, x)', 'polar') */
GPUL_ELEMENTWISE_OUTPUTS(polar, (float, r, float, phi), r = hypotf(x, y); phi = atan2f(y, x), float, x, float, y)

/* CuPy:   cp.ReductionKernel('T x, T y', 'T d', '(x - y) * (x - y)', 'a + b', 'd = sqrt(a)', '0', 'distance') */
GPUL_REDUCE(distance, double, double, 0, double(x - y) * double(x - y), a + b, sqrt(a), float, x, float, y)

/* Exponential smoothing, s = keep * s + (1 - keep) * x for one x after the other. Each element is a map of s, and maps
 * one after the other are a map again: associative, but not commutative. */
struct affine {
    double scale, shift;
};
GPUL_REDUCE_ORDERED(smooth, double, affine, (affine{1, 0}), (affine{keep, (1 - keep) * double(x)}),
                    (affine{b.scale * a.scale, fma(b.scale, a.shift, b.shift)}), a.shift, float, x, gpul_scalar<double>,
                    keep)

/* The largest element and its index, the first of equal ones: a result that is a struct. */
struct largest {
    float value;
    int32_t index;
};
GPUL_REDUCE_ORDERED(find_largest, largest, largest, (largest{-INFINITY, -1}), (largest{x, int32_t(i)}),
                    (b.value > a.value ? b : a), a, float, x)

/* Numba:  @cuda.jit
 *         def running_pairs(out, x):
 *             for i in range(cuda.grid(1), out.size, cuda.gridsize(1)): out[i] = x[i] + x[i + 1] */
static __global__ void pair_sums(float *out, const float *x, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { out[i] = x[i] + x[i + 1]; }
}

/* Numba:  @cuda.jit
 *         def turn(out, x):
 *             j, i = cuda.grid(2)
 *             if i < out.shape[0] and j < out.shape[1]: out[i, j] = x[j, i] */
static __global__ void turn(gpul_view<float, 2> out, gpul_view<const float, 2> x) {
    GPUL_GRID_STRIDE_2D(j, i, out.shape[1], out.shape[0]) { out(i, j) = x(j, i); }
}

enum { N = 100000, ROWS = 100, BLOCK = 256 };

static int check(const char *what, double got, double expected, double allowed) {
    const int ok = fabs(got - expected) <= allowed;
    printf("%-46s %14.6f  %s\n", what, got, ok ? "ok" : "WRONG");
    return ok;
}

int main(void) {
    float *x = (float *)malloc(N * sizeof(float)), *out = (float *)malloc(N * sizeof(float));
    double sum = 0, total = 0;
    int ok = 1;
    if (x == NULL || out == NULL) return 1;
    for (int64_t i = 0; i < N; ++i) {
        x[i] = (float)((i * 37) % 1001) / 500.0f - 1.0f;
        sum += fabs((double)x[i]);
    }
    gpul_array dx = GPUL_ZERO, scalar = GPUL_ZERO, one = GPUL_ZERO, dz = GPUL_ZERO;
    GPUL_CHECK(gpul_to_device(&dx, x, GPUL_F32, gpul_1d(N), NULL));
    GPUL_CHECK(gpul_device_array_like(&dz, &dx, NULL));
    GPUL_CHECK(gpul_device_array(&scalar, GPUL_F32, gpul_0d(), NULL));
    GPUL_CHECK(gpul_device_array(&one, GPUL_F32, gpul_1d(1), NULL));
    GPUL_CHECK(gpul_fill(&one, 0.25, NULL));

    /* The accumulator is a double: the sum is rounded once, to a float. */
    GPUL_CHECK(sum_abs(&scalar, &dx, GPUL_ALL_AXES, NULL));
    GPUL_CHECK(gpul_copy_to_host(out, &scalar, NULL));
    ok &= check("GPUL_REDUCE: sum of |x|", (double)out[0], sum, 1e-7 * sum);

    GPUL_CHECK(squared_difference(&dz, &dx, &one, NULL)); /* `one` broadcasts, as in NumPy */
    GPUL_CHECK(gpul_copy_to_host(out, &dz, NULL));
    int64_t wrong = 0;
    for (int64_t i = 0; i < N; ++i) wrong += !(out[i] == (x[i] - 0.25f) * (x[i] - 0.25f));
    ok &= check("GPUL_ELEMENTWISE: wrong elements of (x - y)^2", (double)wrong, 0, 0);

    /* two outputs: (x, 1/4) in polar coordinates; the distance of (x, y) from the origin is r */
    gpul_array dphi = GPUL_ZERO, number = GPUL_ZERO, found = GPUL_ZERO;
    GPUL_CHECK(gpul_device_array_like(&dphi, &dx, NULL));
    GPUL_CHECK(polar(&dz, &dphi, &dx, &one, NULL));
    GPUL_CHECK(gpul_copy_to_host(out, &dz, NULL));
    wrong = 0;
    for (int64_t i = 0; i < N; ++i) wrong += !(fabsf(out[i] - hypotf(x[i], 0.25f)) <= 1e-6f * out[i]);
    ok &= check("GPUL_ELEMENTWISE_OUTPUTS: wrong radii", (double)wrong, 0, 0);

    GPUL_CHECK(gpul_device_array(&number, GPUL_F64, gpul_0d(), NULL));
    GPUL_CHECK(distance(&number, &dx, &one, GPUL_ALL_AXES, NULL)); /* two inputs, one of which broadcasts */
    double got = 0, want = 0, smoothed = 0;
    GPUL_CHECK(gpul_copy_to_host(&got, &number, NULL));
    for (int64_t i = 0; i < N; ++i) want += (double)(x[i] - 0.25f) * (double)(x[i] - 0.25f);
    ok &= check("GPUL_REDUCE: distance of x from 1/4", got, sqrt(want), 1e-12 * sqrt(want));

    GPUL_CHECK(smooth(&number, &dx, 0.99, GPUL_ALL_AXES, NULL));
    GPUL_CHECK(gpul_copy_to_host(&got, &number, NULL));
    for (int64_t i = 0; i < N; ++i) smoothed = 0.99 * smoothed + (1 - 0.99) * (double)x[i];
    ok &= check("GPUL_REDUCE_ORDERED: smoothed x", got, smoothed, 1e-12);

    struct largest first = {0, 0}; /* its bytes are out's last dimension */
    int64_t index = 0;
    GPUL_CHECK(gpul_device_array(&found, GPUL_U8, gpul_1d(sizeof first), NULL));
    GPUL_CHECK(find_largest(&found, &dx, GPUL_ALL_AXES, NULL));
    GPUL_CHECK(gpul_copy_to_host(&first, &found, NULL));
    for (int64_t i = 0; i < N; ++i) index = x[i] > x[index] ? i : index;
    ok &= check("GPUL_REDUCE_ORDERED: index of the largest x", (double)first.index, (double)index, 0);
    GPUL_CHECK(gpul_free_all(&dphi, &number, &found));

    GPUL_CHECK(GPUL_LAUNCH(pair_sums, gpul_grid_1d(N - 1, BLOCK), BLOCK, 0, NULL, &dz, &dx, N - 1));
    GPUL_CHECK(gpul_copy_to_host(out, &dz, NULL));
    for (int64_t i = 0; i < N - 1; ++i) total += !(out[i] == x[i] + x[i + 1]);
    ok &= check("GPUL_LAUNCH: wrong elements of x[i] + x[i + 1]", total, 0, 0);

    gpul_array matrix = GPUL_ZERO, turned = GPUL_ZERO; /* views: they own nothing */
    GPUL_CHECK(gpul_reshape(&matrix, &dx, gpul_2d(ROWS, N / ROWS)));
    GPUL_CHECK(gpul_reshape(&turned, &dz, gpul_2d(N / ROWS, ROWS)));
    GPUL_CHECK(GPUL_LAUNCH(turn, dim3(8, 8), dim3(32, 8), 0, NULL, &turned, &matrix));
    GPUL_CHECK(gpul_copy_to_host(out, &turned, NULL));
    wrong = 0;
    for (int64_t i = 0; i < N; ++i) wrong += !(out[i % (N / ROWS) * ROWS + i / (N / ROWS)] == x[i]);
    ok &= check("gpul_view: wrong elements of x transposed", (double)wrong, 0, 0);

    gpul_free(&dx);
    gpul_free(&dz);
    gpul_free(&one);
    gpul_free(&scalar);
    free(x);
    free(out);
    return ok ? 0 : 1;
}
