/* SPDX-License-Identifier: MIT
 *
 * First kernels by hand: x += 1 with a thread an element, a product with a grid-stride loop, a product of matrices
 * element by element with a grid of two dimensions. The library's own stand beside them.
 *
 *     nvcc -arch=native -o elementwise examples/elementwise.cu gpulite_kernels.cu          (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o elementwise -x c++ examples/elementwise.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./elementwise [ROWS COLS]
 *
 * A kernel is a function that many threads run at a time, each for elements of its own: `__global__` makes a function
 * one. Threads come in blocks of up to 1024, and the blocks of a launch are its grid. So GPUL_LAUNCH takes the kernel,
 * the blocks, the threads of a block, bytes of shared memory (block_sum.cu), a stream, and the kernel's arguments.
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "table.h"

/* Numba:  i = cuda.grid(1)
 *         if i < x.size: x[i] += 1
 * The grid is made of whole blocks, so the last one may reach past the end: hence the test. `int i = blockIdx.x *
 * blockDim.x + threadIdx.x` is common, and wrong from 2^31 elements on. gpul_grid_x has 64 bits. */
static __global__ void add_one(float *x, int64_t n) {
    const int64_t i = gpul_grid_x();
    if (i < n) x[i] += 1;
}

/* Numba:  for i in range(cuda.grid(1), z.size, cuda.gridsize(1)): z[i] = x[i] * y[i]
 * Any grid does all elements, so its size is a matter of speed alone. */
static __global__ void multiply(float *z, const float *x, const float *y, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { z[i] = x[i] * y[i]; }
}

/* Numba:  i, j = cuda.grid(2)
 *         if i < z.shape[0] and j < z.shape[1]: z[i, j] = x[i, j] * y[i, j]
 * A thread works when BOTH indices are inside. Turned round, it leaves when EITHER is outside: `if (i >= rows && j >=
 * cols) return;` lets threads through that are outside on one side only, which a square matrix of whole blocks hides.
 *
 * The 32 threads of a warp follow each other in threadIdx.x. Where x counts columns they touch neighbours, which is one
 * transaction of the memory; where it counts rows, as a cuda.grid(2) that gives (i, j) does, it takes 32. */
template <bool along_rows>
static __global__ void multiply_2d(gpul_view<float, 2> z, gpul_view<const float, 2> x, gpul_view<const float, 2> y) {
    const int64_t i = along_rows ? gpul_grid_y() : gpul_grid_x(), j = along_rows ? gpul_grid_x() : gpul_grid_y();
    if (i < z.shape[0] && j < z.shape[1]) z(i, j) = x(i, j) * y(i, j);
}

static struct work {
    int64_t rows, cols, n;
    float *x, *y, *z;      /* the host's */
    gpul_array dx, dy, dz; /* rows x cols */
} w;

GPUL_PRINT_AND_EXIT(stop)

enum { BLOCK = 256 };
static const gpul_dim3 tile = {32, 8, 1};

static gpul_status one_more(void *) {
    return GPUL_LAUNCH(add_one, gpul_grid_1d(w.n, BLOCK), BLOCK, 0, NULL, &w.dx, w.n);
}
static gpul_status one_more_ready(void *) { return gpul_binary(&w.dx, GPUL_ADD, &w.dx, GPUL_SCALAR(1), NULL); }
static gpul_status grid_stride(void *) { return GPUL_LAUNCH(multiply, 1024, BLOCK, 0, NULL, &w.dz, &w.dx, &w.dy, w.n); }
static gpul_status two_dimensions(void *) {
    return GPUL_LAUNCH(multiply_2d<true>, gpul_grid_2d(w.cols, w.rows, tile), tile, 0, NULL, &w.dz, &w.dx, &w.dy);
}
static gpul_status two_dimensions_turned(void *) {
    return GPUL_LAUNCH(multiply_2d<false>, gpul_grid_2d(w.rows, w.cols, tile), tile, 0, NULL, &w.dz, &w.dx, &w.dy);
}
static gpul_status ready(void *) { return gpul_vecmul(&w.dz, &w.dx, &w.dy, NULL); }

/* After one call x holds what the host has, and 1 more. */
static int x_right(void *) {
    int64_t wrong = 0;
    gpul_copy_to_host(w.z, &w.dx, NULL);
    for (int64_t i = 0; i < w.n; ++i) wrong += !(w.z[i] == w.x[i] + 1);
    return wrong == 0;
}
static int z_right(void *) {
    int64_t wrong = 0;
    gpul_copy_to_host(w.z, &w.dz, NULL);
    for (int64_t i = 0; i < w.n; ++i) wrong += !(w.z[i] == w.x[i] * w.y[i]);
    gpul_fill(&w.dz, -1, NULL);
    return wrong == 0;
}

int main(int argc, char **argv) {
    gpul_on_error(stop);
    w.rows = argc == 3 ? strtoll(argv[1], NULL, 10) : on_gpu() ? 4096 : 50;
    w.cols = argc == 3 ? strtoll(argv[2], NULL, 10) : on_gpu() ? 4096 : 70;
    if (w.rows < 1 || w.cols < 1 || argc == 2) return fprintf(stderr, "usage: elementwise [ROWS COLS]\n"), 1;
    w.n = w.rows * w.cols;
    w.x = (float *)malloc(3 * (size_t)w.n * sizeof(float));
    if (w.x == NULL) return 1;
    w.y = w.x + w.n, w.z = w.y + w.n;
    for (int64_t i = 0; i < w.n; ++i) w.x[i] = (float)(i % 1000), w.y[i] = (float)(i % 7) - 3;
    GPUL_TO_DEVICE(&w.dx, w.x, gpul_2d(w.rows, w.cols));
    GPUL_TO_DEVICE(&w.dy, w.y, gpul_2d(w.rows, w.cols));
    gpul_device_array_like(&w.dz, &w.dx, NULL);

    const double n = (double)w.n;
    table add = table_of(NULL, x_right, 8 * n, n), product = table_of(NULL, z_right, 12 * n, n);
    printf("float32, %lld x %lld\n", (long long)w.rows, (long long)w.cols);
    add.changes = 1; /* each call adds another 1 */
    table_head("x += 1");
    table_row(&add, "a thread an element", one_more);
    gpul_copy_to_device(&w.dx, w.x, NULL); /* back to the start */
    table_row(&add, "gpul_binary(GPUL_ADD)", one_more_ready);
    gpul_copy_to_device(&w.dx, w.x, NULL);
    table_head("z = x * y");
    table_row(&product, "a grid-stride loop", grid_stride);
    table_row(&product, "two dimensions, x along the rows' elements", two_dimensions);
    table_row(&product, "two dimensions, x from row to row", two_dimensions_turned);
    table_row(&product, "gpul_vecmul", ready);

    gpul_free_all(&w.dx, &w.dy, &w.dz);
    free(w.x);
    return add.wrong + product.wrong ? 1 : 0;
}
