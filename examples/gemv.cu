/* SPDX-License-Identifier: MIT
 *
 * y = A x, a thread a row: the order in which A lies in memory decides. Then x in shared memory, and gpul_gemv.
 *
 *     nvcc -arch=native -o gemv examples/gemv.cu gpulite_kernels.cu                        (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o gemv -x c++ examples/gemv.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./gemv [ROWS COLS]
 *
 * The threads of a warp have 32 rows next to each other, and go through the columns together. In a row-major matrix
 * what they read at a time lies a whole row apart: 32 transactions of the memory. In a column-major matrix it lies
 * together.
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "table.h"
enum { BLOCK = 256 };

/* Numba:  i = cuda.grid(1)
 *         if i < A.shape[0]:
 *             for j in range(A.shape[1]): sum += A[i, j] * x[j]
 * A view has strides, so one kernel reads both orders. Its indices have 64 bits: i * cols + j passes 2^31 elements at
 * 46341 x 46341, and an int there is a wrong address. */
static __global__ void a_thread_a_row(gpul_view<double, 1> y, gpul_view<const double, 2> A, const double *x) {
    const int64_t i = gpul_grid_x();
    double sum = 0;
    if (i >= A.shape[0]) return;
    for (int64_t j = 0; j < A.shape[1]; ++j) sum += A(i, j) * x[j];
    y(i) = sum;
}

/* All threads of a block read the same x. They fetch a tile of it together, and each then reads it from the block's own
 * memory. Every thread of the block has to come to both barriers, also one that has no row: `if (i >= rows) return;`
 * before a barrier, as above, would leave the others waiting, or not, for a thread that is gone. And the last tile may
 * be a part of one. */
static __global__ void x_in_shared(gpul_view<double, 1> y, gpul_view<const double, 2> A, const double *x) {
    __shared__ double tile[BLOCK];
    const int64_t i = gpul_grid_x(), rows = A.shape[0], cols = A.shape[1];
    double sum = 0;
    for (int64_t from = 0; from < cols; from += BLOCK) {
        const int length = int(min(cols - from, int64_t(BLOCK)));
        if (int(threadIdx.x) < length) tile[threadIdx.x] = x[from + threadIdx.x];
        __syncthreads(); /* the tile is full */
        if (i < rows)
            for (int k = 0; k < length; ++k) sum += A(i, from + k) * tile[k];
        __syncthreads(); /* nobody needs it any more */
    }
    if (i < rows) y(i) = sum;
}

/* The matrix and x, on the GPU and on the host: whole multiples of 1/8, so that sums are exact in any order. */
__host__ __device__ static double element(int64_t i, int64_t j) { return double((i * 7 + j * 13) % 33 - 16) / 8; }
static __global__ void make(gpul_view<double, 2> A) {
    GPUL_GRID_STRIDE_2D(j, i, A.shape[1], A.shape[0]) { A(i, j) = element(i, j); }
}

static struct work {
    int64_t rows, cols;
    gpul_array row_major, column_major, x, y;
    double *expected, *result;
} w;

GPUL_PRINT_AND_EXIT(stop)
static gpul_dim3 grid() { return gpul_grid_1d(w.rows, BLOCK); }
static gpul_status rows_row_major(void *) {
    return GPUL_LAUNCH(a_thread_a_row, grid(), BLOCK, 0, NULL, &w.y, &w.row_major, &w.x);
}
static gpul_status rows_column_major(void *) {
    return GPUL_LAUNCH(a_thread_a_row, grid(), BLOCK, 0, NULL, &w.y, &w.column_major, &w.x);
}
static gpul_status shared_column_major(void *) {
    return GPUL_LAUNCH(x_in_shared, grid(), BLOCK, 0, NULL, &w.y, &w.column_major, &w.x);
}
static gpul_status ready_row_major(void *) { return gpul_gemv(&w.y, 1, &w.row_major, &w.x, 0, NULL); }
static gpul_status ready_column_major(void *) { return gpul_gemv(&w.y, 1, &w.column_major, &w.x, 0, NULL); }

static int right(void *) {
    int64_t wrong = 0;
    gpul_copy_to_host(w.result, &w.y, NULL);
    for (int64_t i = 0; i < w.rows; ++i) wrong += !(w.result[i] == w.expected[i]);
    gpul_fill(&w.y, NAN, NULL);
    return wrong == 0;
}

int main(int argc, char **argv) {
    gpul_on_error(stop);
    w.rows = argc == 3 ? strtoll(argv[1], NULL, 10) : on_gpu() ? 16384 : 300;
    w.cols = argc == 3 ? strtoll(argv[2], NULL, 10) : on_gpu() ? 16384 : 270;
    if (w.rows < 1 || w.cols < 1 || argc == 2) return fprintf(stderr, "usage: gemv [ROWS COLS]\n"), 1;
    double *const x = (double *)malloc(size_t(w.cols + 2 * w.rows) * sizeof(double));
    if (x == NULL) return 1;
    w.expected = x + w.cols, w.result = w.expected + w.rows;
    for (int64_t j = 0; j < w.cols; ++j) x[j] = double(j % 5 - 2);
    for (int64_t i = 0; i < w.rows; ++i) {
        w.expected[i] = 0;
        for (int64_t j = 0; j < w.cols; ++j) w.expected[i] += element(i, j) * x[j];
    }
    GPUL_TO_DEVICE(&w.x, x, gpul_1d(w.cols));
    gpul_device_array(&w.y, GPUL_F64, gpul_1d(w.rows), NULL);
    gpul_device_array(&w.row_major, GPUL_F64, gpul_2d(w.rows, w.cols), NULL);
    gpul_device_array(&w.column_major, GPUL_F64, gpul_2d_f(w.rows, w.cols), NULL);
    GPUL_LAUNCH(make, dim3(64, 64), dim3(32, 8), 0, NULL, &w.row_major);
    gpul_copy(&w.column_major, &w.row_major, NULL);

    const double elements = double(w.rows) * double(w.cols);
    table t = table_of(NULL, right, 8 * (elements + double(w.rows + w.cols)), 2 * elements);
    t.dtype = GPUL_F64;
    printf("float64, %lld x %lld: %.2g flops a byte\n", (long long)w.rows, (long long)w.cols, t.flops / t.bytes);
    table_head("y = A x");
    table_row(&t, "a thread a row, row-major", rows_row_major);
    table_row(&t, "a thread a row, column-major", rows_column_major);
    table_row(&t, "and x in shared memory", shared_column_major);
    table_row(&t, "gpul_gemv, row-major", ready_row_major);
    table_row(&t, "gpul_gemv, column-major", ready_column_major);
    gpul_free_all(&w.row_major, &w.column_major, &w.x, &w.y);
    free(x);
    return t.wrong ? 1 : 0;
}
