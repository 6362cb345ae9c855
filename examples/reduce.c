/* SPDX-License-Identifier: MIT
 *
 * Reductions: over everything, along an axis, as a C value, of a part, and a dot product.
 *
 *     nvcc -arch=native -o reduce examples/reduce.c gpulite_kernels.cu                     (Hopper: -arch=sm_90a)
 *     g++ -O2 -ffp-contract=off -Itests/cpu -o reduce -x c examples/reduce.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000, COLS = 37, N = ROWS * COLS };

static float x[N];
static int failures;

static void expect(const char *what, double got, double expected, double allowed) {
    const int ok = fabs(got - expected) <= allowed; /* false for NaN */
    printf("  %-26s %16.9g   %s\n", what, got, ok ? "ok" : "WRONG");
    if (!ok) {
        printf("  %-26s %16.9g   expected, within %g\n", "", expected, allowed);
        ++failures;
    }
}

static double as_value(const gpul_array *a, int32_t op) {
    double value = 0;
    GPUL_CHECK(gpul_reduce_host(&value, GPUL_F64, a, op, NULL));
    return value;
}

int main(void) {
    /* What a plain loop says. */
    double sum = 0, sum_abs = 0, sum_sq = 0, var = 0, least = INFINITY, most = -INFINITY, column[COLS] = {0};
    int64_t arg_most = 0, nonzero = 0;
    for (int64_t i = 0; i < N; ++i) {
        x[i] = (float)sin((double)i * 0.37) * (float)(i % 11);
        const double v = (double)x[i];
        sum += v;
        sum_abs += fabs(v);
        sum_sq += v * v;
        column[i % COLS] += v;
        if (v < least) least = v;
        if (v > most) {
            most = v;
            arg_most = i;
        }
        if (x[i] != 0.0f) ++nonzero;
    }
    for (int64_t i = 0; i < N; ++i) var += ((double)x[i] - sum / N) * ((double)x[i] - sum / N) / N;

    gpul_array dx = GPUL_ZERO, out = GPUL_ZERO, sums = GPUL_ZERO, tenth = GPUL_ZERO;
    GPUL_CHECK(gpul_to_device(&dx, x, GPUL_F32, gpul_2d(ROWS, COLS), NULL));

    /* CuPy: float(x.sum()), ...   f32 sums are accumulated in f64 and rounded once. */
    puts("over all elements");
    double total = 0;
    GPUL_CHECK(gpul_sum(&total, &dx, NULL)); /* the short form; gpul_min, gpul_max, gpul_mean and gpul_var are others */
    expect("sum", total, sum, 0x1p-23 * fabs(sum) + 0x1p-40 * sum_abs);
    expect("sum of |x|", as_value(&dx, GPUL_ABS_SUM), sum_abs, 0x1p-23 * sum_abs);
    expect("sum of squares", as_value(&dx, GPUL_SUM_SQ), sum_sq, 0x1p-23 * sum_sq);
    expect("min", as_value(&dx, GPUL_MIN), least, 0);
    expect("max", as_value(&dx, GPUL_MAX), most, 0);
    expect("mean", as_value(&dx, GPUL_MEAN), sum / N, 0x1p-23 * fabs(sum / N) + 0x1p-40 * sum_abs / N);
    expect("variance", as_value(&dx, GPUL_VAR), var, 0x1p-23 * var);

    int64_t index = 0;
    GPUL_CHECK(gpul_reduce_host(&index, GPUL_I64, &dx, GPUL_ARGMAX, NULL)); /* int(x.argmax()): the first of equals */
    expect("argmax", (double)index, (double)arg_most, 0);
    GPUL_CHECK(gpul_reduce_host(&index, GPUL_I64, &dx, GPUL_COUNT_NONZERO, NULL));
    expect("count of non-zeros", (double)index, (double)nonzero, 0);

    /* CuPy: x.sum(axis=0). The result stays on the GPU until it is asked for. */
    puts("along axis 0");
    float columns[COLS];
    GPUL_CHECK(gpul_device_array(&sums, GPUL_F32, gpul_1d(COLS), NULL));
    GPUL_CHECK(gpul_reduce(&sums, &dx, GPUL_SUM, 0, NULL));
    GPUL_CHECK(gpul_copy_to_host(columns, &sums, NULL));
    expect("column 0", (double)columns[0], column[0], 0x1p-23 * fabs(column[0]) + 0x1p-40 * sum_abs);
    expect("column 36", (double)columns[36], column[36], 0x1p-23 * fabs(column[36]) + 0x1p-40 * sum_abs);

    /* CuPy: x[::10].max()   A view is as good as an array. */
    puts("of a view");
    float tenth_most = x[0];
    for (int64_t i = 0; i < N; ++i) {
        if (i / COLS % 10 == 0 && x[i] > tenth_most) tenth_most = x[i];
    }
    GPUL_CHECK(gpul_slice(&tenth, &dx, 0, 0, ROWS, 10));
    expect("max of every tenth row", as_value(&tenth, GPUL_MAX), (double)tenth_most, 0);

    /* CuPy: cp.dot(x, x). A reshape is a view as well. */
    puts("dot");
    gpul_array flat = GPUL_ZERO;
    float dot = 0;
    GPUL_CHECK(gpul_reshape(&flat, &dx, gpul_1d(-1)));
    GPUL_CHECK(gpul_device_array(&out, GPUL_F32, gpul_0d(), NULL));
    GPUL_CHECK(gpul_dot(&out, &flat, &flat, NULL));
    GPUL_CHECK(gpul_copy_to_host(&dot, &out, NULL));
    expect("x . x", (double)dot, sum_sq, 0x1p-23 * sum_sq);

    gpul_free(&dx);
    gpul_free(&sums);
    gpul_free(&out);
    return failures == 0 ? 0 : 1;
}
