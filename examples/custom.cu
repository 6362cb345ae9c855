/* SPDX-License-Identifier: MIT
 *
 * Operations of your own, each from one expression. A formula of several built-in operations reads and writes the
 * memory once for each of them; as one operation it does so once. What these macros make has the contracts of the
 * built-in ones: any shape, strides and broadcasting, one launch, the same bits on every run. And a kernel by hand,
 * which takes arrays with strides. Reductions that keep the order of the elements: ordered.cu.
 *
 *     nvcc -arch=native -o custom examples/custom.cu gpulite_kernels.cu                    (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o custom -x c++ examples/custom.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * The macros define plain C functions. A C file of the same program declares and calls them:
 *
 *     gpul_status l2_norm(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
 *     gpul_status axpy(gpul_array *out, float a, const gpul_array *x, const gpul_array *y, gpul_stream stream);
 *     gpul_status polar(gpul_array *r, gpul_array *phi, const gpul_array *x, const gpul_array *y, gpul_stream stream);
 */
#define GPULITE_IMPLEMENTATION
#define GPULITE_ENGINES_ONLY
#include "../gpulite_kernels.cu"
#include "expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* CuPy:   cp.ReductionKernel('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', '0', 'l2_norm')
 * Each x is mapped, two such values a and b are combined until one is left, and post makes the result of it. The types
 * are the result's, float, and that of a and b, double. */
GPUL_REDUCE(l2_norm, float, double, 0, double(x) * x, a + b, sqrt(a), float, x)

/* CuPy:   cp.ElementwiseKernel('T x, T y', 'T r, T phi', 'r = hypot(x, y); phi = atan2(y, x)', 'polar') */
GPUL_ELEMENTWISE_OUTPUTS(polar, (float, r, float, phi), r = hypotf(x, y); phi = atan2f(y, x), float, x, float, y)

/* CuPy:   cp.ElementwiseKernel('T a, T x, T y', 'T z', 'z = a * x + y', 'axpy')
 * Numba:  @vectorize(['float32(float32, float32, float32)'], target='cuda')
 * `a` is a number that is given with each call. */
GPUL_ELEMENTWISE(axpy, float, fmaf(a, x, y), gpul_scalar<float>, a, float, x, float, y)

/* Numba:  @cuda.jit
 *         def turn(out, x):
 *             j, i = cuda.grid(2)
 *             if i < out.shape[0] and j < out.shape[1]: out[i, j] = x[j, i] */
static __global__ void turn(gpul_view<float, 2> out, gpul_view<const float, 2> x) {
    GPUL_GRID_STRIDE_2D(j, i, out.shape[1], out.shape[0]) { out(i, j) = x(j, i); }
}

enum { ROWS = 100, COLS = 1000, N = ROWS * COLS };

GPUL_PRINT_AND_EXIT(stop)

int main(void) {
    static float x[N], y[COLS], z[N], norms[ROWS];
    gpul_array dx = GPUL_ZERO, dy = GPUL_ZERO, dz = GPUL_ZERO, dn = GPUL_ZERO;
    int64_t wrong = 0;
    for (int i = 0; i < N; ++i) x[i] = float(i * 37 % 1001) / 8;
    for (int j = 0; j < COLS; ++j) y[j] = float(j);
    gpul_on_error(stop);
    GPUL_TO_DEVICE(&dx, x, gpul_2d(ROWS, COLS));
    GPUL_TO_DEVICE(&dy, y, gpul_1d(COLS));
    gpul_device_array_like(&dz, &dx, NULL);
    gpul_device_array(&dn, GPUL_F32, gpul_1d(ROWS), NULL);

    axpy(&dz, 0.5f, &dx, &dy, NULL); /* y broadcasts over the rows, as in NumPy */
    GPUL_TO_HOST(z, &dz);
    for (int i = 0; i < N; ++i) wrong += !(z[i] == 0.5f * x[i] + y[i % COLS]); /* few digits: nothing rounds */
    expect(wrong == 0, "GPUL_ELEMENTWISE: 0.5 x + y");

    /* Along an axis, or over everything with GPUL_ALL_AXES. The accumulator is a double, and the result is rounded
     * once. */
    l2_norm(&dn, &dx, 1, NULL);
    GPUL_TO_HOST(norms, &dn);
    wrong = 0;
    for (int i = 0; i < ROWS; ++i) {
        double sum = 0;
        for (int j = 0; j < COLS; ++j) sum += double(x[i * COLS + j]) * double(x[i * COLS + j]);
        wrong += !(fabs(double(norms[i]) - sqrt(sum)) <= 0x1p-24 * sqrt(sum));
    }
    expect(wrong == 0, "GPUL_REDUCE: the norm of each row");

    gpul_array dphi = GPUL_ZERO;
    gpul_device_array_like(&dphi, &dx, NULL);
    polar(&dz, &dphi, &dx, &dy, NULL);
    GPUL_TO_HOST(z, &dz);
    wrong = 0;
    for (int i = 0; i < N; ++i) wrong += !(fabsf(z[i] - hypotf(x[i], y[i % COLS])) <= 1e-6f * z[i]);
    expect(wrong == 0, "GPUL_ELEMENTWISE_OUTPUTS: radii");
    GPUL_TO_HOST(z, &dphi);
    wrong = 0;
    for (int i = 0; i < N; ++i) wrong += !(fabsf(z[i] - atan2f(y[i % COLS], x[i])) <= 1e-6f);
    expect(wrong == 0, "GPUL_ELEMENTWISE_OUTPUTS: angles");

    gpul_array turned = GPUL_ZERO, part = GPUL_ZERO, from = GPUL_ZERO; /* views: they own nothing */
    gpul_transpose(&turned, &dz);                                      /* COLS x ROWS */
    gpul_slice(&part, &turned, 0, 0, COLS, 2);                         /* every other row of it is written, */
    gpul_slice(&from, &dx, 1, 0, COLS, 2);                             /* from every other column of x */
    gpul_fill(&dz, -1, NULL);
    GPUL_LAUNCH(turn, dim3(8, 8), dim3(32, 8), 0, NULL, &part, &from);
    GPUL_TO_HOST(z, &dz);
    wrong = 0;
    for (int i = 0; i < N; ++i) wrong += !(z[i] == (i % COLS % 2 == 0 ? x[i] : -1));
    expect(wrong == 0, "GPUL_LAUNCH: views with any strides");

    gpul_free_all(&dx, &dy, &dz, &dn, &dphi);
    return failures ? 1 : 0;
}
