/* SPDX-License-Identifier: MIT
 *
 * C = A B, a thread an element; by tiles in shared memory; by gpul_matmul; by tensor cores. Square matrices, and others.
 *
 *     nvcc -arch=native -o matmul examples/matmul.cu gpulite_kernels.cu                    (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o matmul -x c++ examples/matmul.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./matmul [M K N]        A is M x K, B is K x N
 *
 * A product of matrices reads each element of A and B many times. A thread for itself fetches all of them from memory.
 * The threads of a block that share tiles of A and B fetch each element once for 16 of them. gpul_matmul goes on: a
 * thread computes many elements and keeps them in registers. gpul_gemm_ex has tensor cores do it: of numbers rounded to
 * TF32, or, as good as float32, of two parts of each number. Whole numbers as small as these are exact in all.
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "table.h"

enum { TILE = 16 };
typedef gpul_view<const float, 2> matrix;

/* Numba:  i, j = cuda.grid(2)
 *         if i < C.shape[0] and j < C.shape[1]:
 *             for k in range(A.shape[1]): sum += A[i, k] * B[k, j]
 * The loop is over A's columns, and the test is of C's own rows and columns. With one n for all three, or with A's
 * shape in the place of C's, it is right for square matrices alone. */
static __global__ void naive(gpul_view<float, 2> C, matrix A, matrix B) {
    const int64_t i = gpul_grid_y(), j = gpul_grid_x();
    float sum = 0;
    if (i >= C.shape[0] || j >= C.shape[1]) return; /* `&&` here would let threads write past the edges */
    for (int64_t k = 0; k < A.shape[1]; ++k) sum += A(i, k) * B(k, j);
    C(i, j) = sum;
}

/* What lies outside a matrix counts as 0 in a tile, so K need not be a multiple of 16. No thread returns before a
 * barrier: those outside C fetch elements for the others. The second barrier keeps the tile until all have read it. */
static __global__ void tiled(gpul_view<float, 2> C, matrix A, matrix B) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int64_t i = gpul_grid_y(), j = gpul_grid_x(), K = A.shape[1];
    float sum = 0;
    for (int64_t from = 0; from < K; from += TILE) {
        a[y][x] = i < A.shape[0] && from + x < K ? A(i, from + x) : 0;
        b[y][x] = from + y < K && j < B.shape[1] ? B(from + y, j) : 0;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (i < C.shape[0] && j < C.shape[1]) C(i, j) = sum;
}

static struct work {
    int64_t M, K, N;
    float *a, *b, *c, *expected; /* the host's */
    gpul_array A, B, C;
} w;

GPUL_PRINT_AND_EXIT(stop)

static const gpul_dim3 block = {TILE, TILE, 1};
static gpul_status by_naive(void *) {
    return GPUL_LAUNCH(naive, gpul_grid_2d(w.N, w.M, block), block, 0, NULL, &w.C, &w.A, &w.B);
}
static gpul_status by_tiles(void *) {
    return GPUL_LAUNCH(tiled, gpul_grid_2d(w.N, w.M, block), block, 0, NULL, &w.C, &w.A, &w.B);
}
static gpul_status ready(void *) { return gpul_matmul(&w.C, &w.A, &w.B, NULL); }
template <int32_t math> static gpul_status by_math(void *) {
    const gpul_gemm_options options = {math, GPUL_ACTIVATION_NONE, NULL};
    return gpul_gemm_ex(&w.C, 1, &w.A, &w.B, 0, &options, NULL);
}

enum { CHECKED = 20 }; /* rows of C, the last one among them */
static int64_t checked(int64_t row) { return (w.M - 1) * row / (CHECKED - 1); }
static int right(void *) {
    int64_t wrong = 0;
    gpul_copy_to_host(w.c, &w.C, NULL);
    for (int64_t row = 0; row < CHECKED; ++row)
        for (int64_t j = 0; j < w.N; ++j) wrong += !(w.c[checked(row) * w.N + j] == w.expected[row * w.N + j]);
    gpul_fill(&w.C, NAN, NULL);
    return wrong == 0;
}

static int run(int64_t M, int64_t K, int64_t N) {
    w.M = M, w.K = K, w.N = N;
    w.a = M < 1 || K < 1 || N < 1 ? NULL : (float *)calloc(size_t(M * K + (K + M + CHECKED) * N), sizeof(float));
    if (w.a == NULL) exit((fprintf(stderr, "usage: matmul [M K N], from 1 on\n"), 1));
    w.b = w.a + M * K, w.c = w.b + K * N, w.expected = w.c + M * N;
    for (int64_t i = 0; i < M * K; ++i) w.a[i] = float(i * 7 % 5 - 2);
    for (int64_t i = 0; i < K * N; ++i) w.b[i] = float(i * 11 % 9 - 4);
    for (int64_t row = 0; row < CHECKED; ++row) /* the numbers are small and whole: nothing rounds */
        for (int64_t k = 0; k < K; ++k)
            for (int64_t j = 0; j < N; ++j) w.expected[row * N + j] += w.a[checked(row) * K + k] * w.b[k * N + j];
    GPUL_TO_DEVICE(&w.A, w.a, gpul_2d(M, K));
    GPUL_TO_DEVICE(&w.B, w.b, gpul_2d(K, N));
    gpul_device_array(&w.C, GPUL_F32, gpul_2d(M, N), NULL);

    table t = table_of(NULL, right, 4 * double(M * K + K * N + M * N), 2 * double(M) * double(K) * double(N));
    printf("\n(%lld x %lld) (%lld x %lld), float32: %.3g flops a byte", (long long)M, (long long)K, (long long)K,
           (long long)N, t.flops / t.bytes);
    table_head("C = A B; the roof is that of IEEE arithmetic");
    table_row(&t, "a thread an element", by_naive);
    table_row(&t, "tiles in shared memory", by_tiles);
    table_row(&t, "gpul_matmul", ready);
    table_row(&t, "gpul_gemm_ex, emulated", by_math<GPUL_MATH_EMULATED>);
    table_row(&t, "gpul_gemm_ex, TF32", by_math<GPUL_MATH_TF32>);
    gpul_free_all(&w.A, &w.B, &w.C);
    free(w.a);
    return t.wrong == 0;
}

int main(int argc, char **argv) {
    gpul_on_error(stop);
    if (argc != 1 && argc != 4) return fprintf(stderr, "usage: matmul [M K N], from 1 on\n"), 1;
    if (argc == 4) return !run(strtoll(argv[1], NULL, 10), strtoll(argv[2], NULL, 10), strtoll(argv[3], NULL, 10));
    const int64_t n = on_gpu() ? 1000 : 50, wide = on_gpu() ? 2048 : 37;
    return run(n, n, n) & run(wide, 2 * wide, wide) ? 0 : 1;
}
