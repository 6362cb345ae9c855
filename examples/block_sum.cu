/* SPDX-License-Identifier: MIT
 *
 * One block of threads adds up the sum of |x|: shared memory, dynamic and static, constant memory, functions on the
 * GPU.
 *
 *     nvcc -arch=native -o block_sum examples/block_sum.cu gpulite_kernels.cu              (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o block_sum -x c++ examples/block_sum.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * A sum is a tree. Each thread adds up some elements for itself. Then the threads of the block add their sums up by
 * halves, in shared memory, which all of them see and which is as fast as a cache. One block has one of the GPU's many
 * processors, so this is slow: see reduce.cu for all of them.
 *
 * Numba:  part = cuda.shared.array(256, float64);  cuda.const.array_like(c);  @cuda.jit(device=True)
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "table.h"

enum { THREADS = 256 };

/* A function that kernels call */
static __device__ double magnitude(float x) { return fabs(double(x)); }

/* Constant memory is for a few numbers that all threads read at the same time: one load does for a warp. If each thread
 * read another of them, they would take turns. Here c[0] + c[1] |x| + c[2] |x|^2, which is |x| for c = {0, 1, 0}. */
static __constant__ double c[3];
static __device__ double polynomial(float x) { return c[0] + magnitude(x) * (c[1] + magnitude(x) * c[2]); }

/* The sum of the threads' own numbers. Half of n is rounded up, so that one of an odd number waits for the next round.
 * Rounded down, as is often seen, 192 threads become 96, 48, 24, 12, 6, 3 and 1, and the last of the three is lost.
 * Each thread comes to each barrier, also one that has nothing to add: a barrier that some threads do not reach,
 * because they have returned early, is an error. */
static __device__ double block_sum(double *part, double mine) {
    part[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned n = blockDim.x; n > 1; n = (n + 1) / 2) {
        const unsigned half = (n + 1) / 2;
        if (threadIdx.x + half < n) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

/* Any number of elements, also fewer than threads: who has none brings 0. */
static __global__ void dynamic_shared(double *out, const float *x, int64_t n) {
    GPUL_SHARED(double, part); /* as much as the launch says */
    double mine = 0;
    GPUL_GRID_STRIDE(i, n) { mine += magnitude(x[i]); }
    mine = block_sum(part, mine);
    if (threadIdx.x == 0) *out = mine;
}
static __global__ void static_shared(double *out, const float *x, int64_t n) {
    __shared__ double part[THREADS]; /* as much as is written here: for blocks of 256 at most */
    double mine = 0;
    GPUL_GRID_STRIDE(i, n) { mine += magnitude(x[i]); }
    mine = block_sum(part, mine);
    if (threadIdx.x == 0) *out = mine;
}
static __global__ void constant_memory(double *out, const float *x, int64_t n) {
    GPUL_SHARED(double, part);
    double mine = 0;
    GPUL_GRID_STRIDE(i, n) { mine += polynomial(x[i]); }
    mine = block_sum(part, mine);
    if (threadIdx.x == 0) *out = mine;
}

static gpul_array x, out;

GPUL_PRINT_AND_EXIT(stop)
static gpul_status with_dynamic(void *) {
    return GPUL_LAUNCH(dynamic_shared, 1, THREADS, THREADS * sizeof(double), NULL, &out, &x, gpul_size(&x));
}
static gpul_status with_static(void *) {
    return GPUL_LAUNCH(static_shared, 1, THREADS, 0, NULL, &out, &x, gpul_size(&x));
}
static gpul_status with_constants(void *) {
    return GPUL_LAUNCH(constant_memory, 1, THREADS, THREADS * sizeof(double), NULL, &out, &x, gpul_size(&x));
}
static gpul_status with_192_threads(void *) {
    return GPUL_LAUNCH(dynamic_shared, 1, 192, 192 * sizeof(double), NULL, &out, &x, gpul_size(&x));
}
static gpul_status with_1024_threads(void *) {
    return GPUL_LAUNCH(dynamic_shared, 1, 1024, 1024 * sizeof(double), NULL, &out, &x, gpul_size(&x));
}
static gpul_status ready(void *) { return gpul_reduce(&out, &x, GPUL_ABS_SUM, GPUL_ALL_AXES, NULL); }

static int right(void *) {
    const int64_t first = 0;
    double sum = 0;
    gpul_get(&sum, &out, &first, NULL);
    gpul_fill(&out, NAN, NULL);
    return sum == sum_eighths(gpul_size(&x), 1); /* exact, in whatever order */
}

int main(int argc, char **argv) {
    const int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : on_gpu() ? 1 << 22 : 10007;
    const double coefficients[3] = {0, 1, 0};
    float *const host = n < 1 ? NULL : (float *)malloc(size_t(n + 1) * sizeof(float));
    if (host == NULL) return fprintf(stderr, "usage: block_sum [N], from 1 on\n"), 1;
    gpul_on_error(stop);
    fill_eighths(host, n);
    GPUL_TO_DEVICE(&x, host, gpul_1d(n));
    gpul_device_array(&out, GPUL_F64, gpul_1d(1), NULL);
    gpul_check_cuda(cudaMemcpyToSymbol(c, coefficients, sizeof coefficients), "cudaMemcpyToSymbol");

    table t = table_of(NULL, right, 4 * double(n), double(n));
    printf("%lld float32 elements", (long long)n);
    table_head("sum of |x|");
    table_row(&t, "one block, dynamic shared memory", with_dynamic);
    table_row(&t, "one block, static shared memory", with_static);
    table_row(&t, "one block, constant memory as well", with_constants);
    table_row(&t, "one block of 192 threads", with_192_threads);
    table_row(&t, "one block of 1024 threads", with_1024_threads);
    table_row(&t, "gpul_reduce(GPUL_ABS_SUM)", ready);
    gpul_free_all(&x, &out);
    free(host);
    return t.wrong ? 1 : 0;
}
