/* SPDX-License-Identifier: MIT
 *
 * Arrays as NumPy has them: orders in memory, views, functions of elements, reductions, comparing and printing.
 *
 *     nvcc -arch=native -o arrays examples/arrays.c gpulite_kernels.cu                     (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o arrays -x c examples/arrays.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>
enum { ROWS = 6, COLS = 8, ANGLES = 100000 };
GPUL_PRINT_AND_EXIT(stop)

/* print(view). Its element (i, j) is that of the matrix at row i0 + i * di and column j0 + j * dj, or with the two
 * exchanged, and that is 10 * row + column. */
static void show(const char *name, const gpul_array *view, int i0, int di, int j0, int dj, int exchanged) {
    float host[ROWS * COLS];
    int wrong = 0;
    printf("\n%s: strides %lld, %lld\n", name, (long long)view->strides[0], (long long)view->strides[1]);
    GPUL_PRINT(view);
    gpul_copy_to_host(host, view, NULL); /* in the view's own order: row-major, unless it is column-major */
    const int by_columns = !gpul_is_contiguous(view, GPUL_ORDER_C) && view->strides[0] < view->strides[1];
    for (int64_t k = 0; k < gpul_size(view); ++k) {
        const int64_t i = k / view->shape[1], j = k % view->shape[1], at = by_columns ? j * view->shape[0] + i : k;
        const int64_t row = i0 + (exchanged ? j : i) * di, column = j0 + (exchanged ? i : j) * dj;
        wrong += !(host[at] == (float)(10 * row + column));
    }
    expect(wrong == 0, "each element is the right one");
}

/* Of these nothing but F is a copy. */
static void views(const gpul_array *A) {
    gpul_array F = GPUL_ZERO, T = GPUL_ZERO, part = GPUL_ZERO, changed = GPUL_ZERO;
    gpul_difference difference = GPUL_ZERO;
    const int64_t index[2] = {4, 5};
    const float value = 0.5f;
    show("A", A, 0, 1, 0, 1, 0);
    gpul_device_array(&F, GPUL_F32, gpul_2d_f(ROWS, COLS), NULL);
    gpul_copy(&F, A, NULL);
    show("F = numpy.asfortranarray(A)", &F, 0, 1, 0, 1, 0);
    gpul_transpose(&T, A);
    show("A.T", &T, 0, 1, 0, 1, 1);
    gpul_slice(&part, A, 0, 2, 5, 1);
    gpul_slice(&part, &part, 1, 1, 7, 2);
    show("A[2:5, 1:7:2]", &part, 2, 1, 1, 2, 0);

    gpul_allclose(&difference, &F, A, 0, 0, NULL); /* the order in memory is no difference */
    expect(difference.count == 0, "numpy.allclose(F, A)");
    gpul_clone(&changed, A, NULL);
    gpul_set(&changed, index, &value, NULL);
    gpul_allclose(&difference, &changed, A, 1e-6, 0, NULL);
    printf("changed[%lld, %lld] is %g and not %g\n", (long long)difference.first[0], (long long)difference.first[1],
           difference.first_a, difference.first_b);
    expect(difference.count == 1 && difference.first[0] == 4 && difference.first[1] == 5, "one element is told apart");
    gpul_free_all(&F, &changed);
}

/* Of everything, along an axis, of a view. The numbers are whole, so the host's answers are exact. */
static void reductions(const gpul_array *A) {
    gpul_array sums = GPUL_ZERO;
    float columns[COLS];
    double mean = 0, variance = 0;
    int64_t index = 0;
    int ok = 1;
    gpul_device_array(&sums, GPUL_F32, gpul_1d(COLS), NULL);
    gpul_reduce(&sums, A, GPUL_SUM, 0, NULL);
    GPUL_TO_HOST(columns, &sums);
    for (int j = 0; j < COLS; ++j) ok &= columns[j] == (float)(150 + 6 * j); /* 0 + 10 + ... + 50 */
    expect(ok, "A.sum(axis=0)");
    gpul_mean(&mean, A, NULL);
    gpul_var(&variance, A, NULL);
    expect(mean == 28.5 && variance == 3500.0 / 12 + 5.25, "A.mean(), A.var()");
    gpul_reduce_host(&index, GPUL_I64, A, GPUL_ARGMAX, NULL);
    expect(index == ROWS * COLS - 1, "A.argmax()");
    gpul_free(&sums);
}

/* CuPy:   cp.count_nonzero(abs(cp.sin(x) ** 2 + cp.cos(x) ** 2 - 1) > 1e-6) */
static void functions(void) {
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, mask = GPUL_ZERO;
    int64_t beyond = -1;
    gpul_device_array(&x, GPUL_F32, gpul_1d(ANGLES), NULL);
    gpul_device_array_like(&y, &x, NULL);
    gpul_device_array(&mask, GPUL_U8, gpul_1d(ANGLES), NULL); /* comparisons give 0 and 1 */
    gpul_linspace(&x, 0, 6.283185307179586, NULL);
    gpul_unary(&y, GPUL_SIN, &x, NULL);
    gpul_unary(&x, GPUL_COS, &x, NULL); /* in place */
    gpul_binary(&y, GPUL_POWER, &y, GPUL_SCALAR(2), NULL);
    gpul_unary(&x, GPUL_SQUARE, &x, NULL);
    gpul_vecadd(&y, &y, &x, NULL);
    gpul_binary(&y, GPUL_SUBTRACT, &y, GPUL_SCALAR(1), NULL);
    gpul_unary(&y, GPUL_ABSOLUTE, &y, NULL);
    gpul_binary(&mask, GPUL_GREATER, &y, GPUL_SCALAR(1e-6), NULL);
    gpul_reduce_host(&beyond, GPUL_I64, &mask, GPUL_COUNT_NONZERO, NULL);
    expect(beyond == 0, "sin(x)**2 + cos(x)**2 is 1, within 1e-6, for 100000 angles");
    gpul_free_all(&x, &y, &mask);
}

int main(void) {
    float matrix[ROWS][COLS];
    gpul_array A = GPUL_ZERO;
    gpul_on_error(stop);
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLS; ++j) matrix[i][j] = (float)(10 * i + j);
    GPUL_TO_DEVICE(&A, &matrix[0][0], gpul_2d(ROWS, COLS));
    views(&A);
    reductions(&A);
    functions();
    gpul_free(&A);
    return failures ? 1 : 0;
}
