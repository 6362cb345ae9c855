/* SPDX-License-Identifier: MIT
 *
 * How many threads a block should have: what each size keeps busy, how fast it is, and what gpul_block_size picks.
 *
 *     nvcc -arch=native -o block_size examples/block_size.cu gpulite_kernels.cu            (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o block_size -x c++ examples/block_size.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * A multiprocessor (SM) hides the time that memory takes by running other threads meanwhile. It holds blocks as a
 * whole, so many of them and so many threads, and shares its registers and its shared memory out among them. Occupancy
 * is the share of its places for threads that a block size lets it fill. It is no aim in itself: where the memory is
 * busy, more threads do not help.
 *
 * Numba:   kernel.forall(n) picks by occupancy, too
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "table.h"

enum { ENTRIES = 10000 };

static __global__ void scale(float *y, const int *x, const float *, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { y[i] = 2.0f * x[i] + 1; }
}
/* y = table[x]: each block has the table in its shared memory. 40 KB of that a block leave room for a few blocks, which
 * should be large ones. */
static __global__ void look_up(float *y, const int *x, const float *table, int64_t n) {
    GPUL_SHARED(float, entries);
    for (int k = threadIdx.x; k < ENTRIES; k += blockDim.x) entries[k] = table[k];
    __syncthreads();
    GPUL_GRID_STRIDE(i, n) { y[i] = entries[x[i]]; }
}

static struct work {
    void (*kernel)(float *, const int *, const float *, int64_t);
    uint32_t blocks, threads;
    size_t shared;
    int64_t n;
    int32_t *x;
    float *y;
    gpul_array dx, dy, entries;
} w;

GPUL_PRINT_AND_EXIT(stop)

static gpul_status launch(void *) {
    return GPUL_LAUNCH(w.kernel, w.blocks, w.threads, w.shared, NULL, &w.dy, &w.dx, &w.entries, w.n);
}
/* The table's entry k is 2 k + 1: both kernels have the same results. */
static int right(void *) {
    int64_t wrong = 0;
    gpul_copy_to_host(w.y, &w.dy, NULL);
    for (int64_t i = 0; i < w.n; ++i) wrong += !(w.y[i] == 2.0f * float(w.x[i]) + 1);
    gpul_fill(&w.dy, NAN, NULL);
    return wrong == 0;
}

/* All sizes, with as many blocks as the GPU can hold at a time. */
static int sizes(const char *title) {
    static const int all[] = {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
    gpul_device device = GPUL_ZERO;
    int32_t picked = 0;
    table t = table_of(NULL, right, 8 * double(w.n), 0);
    gpul_device_info(&device, 0);
    gpul_block_size(&picked, w.kernel, w.shared);
    printf("\ngpul_block_size picks %d", picked);
    table_head(title);
    for (int threads : all) {
        char name[80];
        int blocks = 0;
        gpul_check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, w.kernel, threads, w.shared),
                        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        w.blocks = uint32_t(blocks * device.sms);
        w.threads = uint32_t(threads);
        snprintf(name, sizeof name, "%4d threads x %2d an SM: %3.0f %%%s", threads, blocks,
                 100.0 * threads * blocks / device.max_threads_per_sm, threads == picked ? " (picked)" : "");
        table_row(&t, name, launch);
    }
    return t.wrong == 0;
}

int main(void) {
    gpul_on_error(stop);
    w.n = on_gpu() ? 1 << 26 : 20000;
    w.x = (int32_t *)malloc(size_t(w.n) * sizeof(int32_t));
    w.y = (float *)malloc(size_t(w.n) * sizeof(float));
    if (w.x == NULL || w.y == NULL) return 1;
    for (int64_t i = 0; i < w.n; ++i) w.x[i] = int32_t(i * 7919 % ENTRIES);
    GPUL_TO_DEVICE(&w.dx, w.x, gpul_1d(w.n));
    gpul_device_array(&w.dy, GPUL_F32, gpul_1d(w.n), NULL);
    gpul_device_array(&w.entries, GPUL_F32, gpul_1d(ENTRIES), NULL);
    gpul_arange(&w.entries, 1, 2, NULL);

    w.kernel = scale, w.shared = 0;
    int ok = sizes("y = 2 x + 1, occupancy");
    w.kernel = look_up, w.shared = ENTRIES * sizeof(float);
    ok &= sizes("y = table[x], 40 KB of shared memory a block, occupancy");
    gpul_free_all(&w.dx, &w.dy, &w.entries);
    free(w.x), free(w.y);
    return ok ? 0 : 1;
}
