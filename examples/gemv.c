/* SPDX-License-Identifier: MIT
 *
 * y = alpha A x + beta y for matrices as they lie in memory: row-major, column-major, transposed, part of a larger one.
 *
 *     nvcc -arch=native -o gemv examples/gemv.c gpulite_kernels.cu                         (Hopper: -arch=sm_90a)
 *     g++ -O2 -ffp-contract=off -Itests/cpu -o gemv -x c examples/gemv.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 300, COLS = 200, MOST = 300 };

static float matrix[ROWS * COLS]; /* element (i, j) at i * COLS + j */
static float x[MOST], y[MOST];

/* Runs y = alpha A x + beta y on the GPU and compares with plain loops. A(i, j) on the host is at i * ai + j * aj. */
static int run(const char *what, double alpha, const gpul_array *A, int64_t ai, int64_t aj, double beta) {
    const int64_t rows = A->shape[0], cols = A->shape[1];
    float result[MOST];
    gpul_array dx = GPUL_ZERO, dy = GPUL_ZERO;

    GPUL_CHECK(GPUL_TO_DEVICE(&dx, x, gpul_1d(cols))); /* float32, as the pointer says */
    GPUL_CHECK(GPUL_TO_DEVICE(&dy, y, gpul_1d(rows)));
    GPUL_CHECK(gpul_gemv(&dy, alpha, A, &dx, beta, NULL)); /* y = alpha * (A @ x) + beta * y */
    GPUL_CHECK(GPUL_TO_HOST(result, &dy));
    gpul_free_all(&dx, &dy);

    /* The error that rounding can explain: gamma(cols + 2) (|alpha| |A| |x| + |beta| |y|). */
    double worst = 0;
    for (int64_t i = 0; i < rows; ++i) {
        double sum = 0, size = 0;
        for (int64_t j = 0; j < cols; ++j) {
            const double product = (double)matrix[i * ai + j * aj] * (double)x[j];
            sum += product;
            size += fabs(product);
        }
        const double expected = alpha * sum + beta * (double)y[i];
        const double allowed = (double)(cols + 2) * 0x1p-24 * (fabs(alpha) * size + fabs(beta * (double)y[i]));
        const double share = fabs((double)result[i] - expected) / allowed;
        if (!(share <= worst)) worst = share; /* NaN lands here too */
    }
    const int ok = worst <= 1;
    printf("%-34s %3lld x %3lld   error %4.1f %% of its bound   %s\n", what, (long long)rows, (long long)cols,
           100 * worst, ok ? "ok" : "WRONG");
    return ok;
}

int main(void) {
    for (int i = 0; i < ROWS * COLS; ++i) matrix[i] = (float)(i * 7 % 101) / 50.0f - 1.0f;
    for (int i = 0; i < MOST; ++i) x[i] = (float)(i * 5 % 17) / 8.0f - 1.0f;
    for (int i = 0; i < MOST; ++i) y[i] = (float)i / 100.0f;

    /* One block of memory, four ways to read it. */
    gpul_array A = GPUL_ZERO, F = GPUL_ZERO, T = GPUL_ZERO, part = GPUL_ZERO;
    int ok = 1;
    GPUL_CHECK(gpul_to_device(&A, matrix, GPUL_F32, gpul_2d(ROWS, COLS), NULL));
    GPUL_CHECK(gpul_to_device(&F, matrix, GPUL_F32, gpul_2d_f(COLS, ROWS), NULL)); /* column-major: Fortran, MATLAB */
    GPUL_CHECK(gpul_transpose(&T, &A));                                            /* A.T: a view, no copy */
    GPUL_CHECK(gpul_slice(&part, &A, 1, 20, 150, 1));                              /* A[:, 20:150] ... */
    GPUL_CHECK(gpul_slice(&part, &part, 0, 40, 290, 1));                           /* ... [40:290]: lda stays 200 */

    /* print(A), and numpy.allclose(A.T.copy().T, A) */
    gpul_array copy = GPUL_ZERO, back = GPUL_ZERO;
    gpul_difference difference = GPUL_ZERO;
    char text[1000];
    GPUL_CHECK(gpul_print(NULL, text, sizeof text, &A, NULL));
    puts(text);
    GPUL_CHECK(gpul_clone(&copy, &T, NULL));
    GPUL_CHECK(gpul_transpose(&back, &copy));
    GPUL_CHECK(gpul_allclose(&difference, &back, &A, 0, 0, NULL));
    printf("A.T.copy().T: %lld elements differ\n\n", (long long)difference.count);
    ok &= difference.count == 0;

    ok &= run("A @ x, row-major", 1, &A, COLS, 1, 0);
    ok &= run("A @ x, column-major", 1, &F, 1, COLS, 0);
    ok &= run("A.T @ x, a view", 1, &T, 1, COLS, 0);
    ok &= run("2 * A @ x - 0.5 * y", 2, &A, COLS, 1, -0.5);

    /* The part begins at row 40, column 20. */
    GPUL_CHECK(gpul_copy_to_host(matrix, &A, NULL)); /* inputs are never written: still the same matrix */
    for (int64_t i = 0; i < 250; ++i) {
        for (int64_t j = 0; j < 130; ++j) matrix[i * COLS + j] = matrix[(i + 40) * COLS + j + 20];
    }
    ok &= run("A[40:290, 20:150] @ x, a view", 1, &part, COLS, 1, 0);

    gpul_free_all(&A, &F, &copy);
    return ok ? 0 : 1;
}
