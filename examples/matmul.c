/* SPDX-License-Identifier: MIT
 *
 * C = A B, and C = alpha A^T B + beta C, in float and in double.
 *
 *     nvcc -arch=native -o matmul examples/matmul.c gpulite_kernels.cu                     (Hopper: -arch=sm_90a)
 *     g++ -O2 -ffp-contract=off -Itests/cpu -o matmul -x c examples/matmul.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 192, K = 160, N = 224 };

static double get(const gpul_array *host, int64_t i, int64_t j) {
    const int64_t at = i * host->strides[0] + j * host->strides[1];
    return host->dtype == GPUL_F32 ? (double)((const float *)host->data)[at] : ((const double *)host->data)[at];
}

/* A pinned matrix of small numbers: plain memory for the host, and fast to copy. */
static gpul_array made(gpul_dtype dtype, int64_t rows, int64_t cols, int seed) {
    gpul_array a = GPUL_ZERO;
    GPUL_CHECK(gpul_pinned_array(&a, dtype, gpul_2d(rows, cols)));
    for (int64_t i = 0; i < rows * cols; ++i) {
        const double value = (double)((i * 31 + seed * i * i) % 257) / 128.0 - 1.0;
        if (dtype == GPUL_F32) {
            ((float *)a.data)[i] = (float)value;
        } else {
            ((double *)a.data)[i] = value;
        }
    }
    return a;
}

/* The largest share of its bound that an error takes: gamma(K + 2) (|alpha| |A| |B| + |beta| |C|), element by
 * element. */
static double worst_share(double alpha, const gpul_array *A, const gpul_array *B, double beta, const gpul_array *before,
                          const gpul_array *after) {
    const double unit = after->dtype == GPUL_F32 ? 0x1p-24 : 0x1p-53;
    double worst = 0;
    for (int64_t i = 0; i < M; ++i) {
        for (int64_t j = 0; j < N; ++j) {
            long double sum = (long double)beta * (long double)get(before, i, j), size = fabsl(sum);
            for (int64_t k = 0; k < K; ++k) {
                const long double term = (long double)alpha * (long double)get(A, i, k) * (long double)get(B, k, j);
                sum += term;
                size += fabsl(term);
            }
            const double share = (double)(fabsl((long double)get(after, i, j) - sum) / size) / ((K + 2) * unit);
            if (!(share <= worst)) worst = share;
        }
    }
    return worst;
}

static int run(gpul_dtype dtype, int transposed, double alpha, double beta) {
    gpul_array A = made(dtype, transposed ? K : M, transposed ? M : K, 1), B = made(dtype, K, N, 2);
    gpul_array before = made(dtype, M, N, 3), after = made(dtype, M, N, 3);
    gpul_array dA = GPUL_ZERO, dB = GPUL_ZERO, dC = GPUL_ZERO, opA = A, op_dA = GPUL_ZERO;
    gpul_timer timer = GPUL_ZERO;
    gpul_device device = GPUL_ZERO;
    double seconds = 0;

    GPUL_CHECK(gpul_to_device(&dA, A.data, dtype, gpul_2d(A.shape[0], A.shape[1]), NULL));
    GPUL_CHECK(gpul_to_device(&dB, B.data, dtype, gpul_2d(K, N), NULL));
    GPUL_CHECK(gpul_to_device(&dC, before.data, dtype, gpul_2d(M, N), NULL));
    if (transposed) { /* A.T: the same memory, read the other way */
        GPUL_CHECK(gpul_transpose(&op_dA, &dA));
        GPUL_CHECK(gpul_transpose(&opA, &A));
    } else {
        GPUL_CHECK(gpul_slice(&op_dA, &dA, 0, 0, M, 1));
    }

    GPUL_TIMED(timer, NULL) {
        if (alpha == 1 && beta == 0) {
            GPUL_CHECK(gpul_matmul(&dC, &op_dA, &dB, NULL)); /* C = A @ B */
        } else {
            GPUL_CHECK(gpul_gemm(&dC, alpha, &op_dA, &dB, beta, NULL));
        }
    }
    GPUL_CHECK(gpul_copy_to_host(after.data, &dC, NULL));
    GPUL_CHECK(gpul_timer_seconds(&seconds, &timer));
    GPUL_CHECK(gpul_device_info(&device, dC.device));

    const double worst = worst_share(alpha, &opA, &B, beta, &before, &after);
    const int ok = worst <= 1;
    printf("%-8s C = %4.1f A%s B + %4.1f C   %d x %d x %d   error %4.1f %% of its bound   %s", gpul_dtype_name(dtype),
           alpha, transposed ? "^T" : "  ", beta, M, N, K, 100 * worst, ok ? "ok" : "WRONG");
    if (!device.standin) printf("   %.0f us", seconds * 1e6);
    putchar('\n');

    gpul_array *all[] = {&A, &B, &before, &after, &dA, &dB, &dC};
    for (int i = 0; i < 7; ++i) gpul_free(all[i]);
    gpul_timer_free(&timer);
    return ok;
}

int main(void) {
    int ok = 1;
    for (int i = 0; i < 2; ++i) {
        const gpul_dtype dtype = i == 0 ? GPUL_F32 : GPUL_F64;
        ok &= run(dtype, 0, 1, 0);
        ok &= run(dtype, 1, 1, 0);
        ok &= run(dtype, 0, 2, -0.5);
    }
    return ok ? 0 : 1;
}
