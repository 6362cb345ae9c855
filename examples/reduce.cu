/* SPDX-License-Identifier: MIT
 *
 * The sum of |x| by all of the GPU: partial sums that the host finishes, atomics, one line, a call. And the times of
 * each from 2^12 to 2^28 elements, beside the CPU's, as a picture.
 *
 *     nvcc -arch=native -O3 -o reduce examples/reduce.cu gpulite_kernels.cu                (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o reduce -x c++ examples/reduce.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./reduce [CHART.svg]        -O3 is for the loop on the CPU
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#define GPULITE_ENGINES_ONLY
#include "../gpulite_kernels.cu"
#include "chart.h"
#include "table.h"
enum { THREADS = 256, BLOCKS = 528, SIZES = 9 };

/* CuPy:   cp.ReductionKernel('T x', 'T y', 'abs(x)', 'a + b', 'y = a', '0', 'sum_abs')
 * Numba:  cuda.reduce(lambda a, b: a + b), of an array that holds |x| already */
GPUL_REDUCE(sum_abs, double, double, 0, fabs(double(x)), a + b, a, float, x)

/* The sum of a block's elements, in its thread 0: explained in block_sum.cu. */
static __device__ double block_sum(double *part, const float *x, int64_t n) {
    double mine = 0;
    GPUL_GRID_STRIDE(i, n) { mine += fabs(double(x[i])); }
    part[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned m = blockDim.x; m > 1; m = (m + 1) / 2) {
        const unsigned half = (m + 1) / 2;
        if (threadIdx.x + half < m) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}
/* Blocks do not wait for each other, so each leaves its own sum, or 0 where it has no elements. */
static __global__ void partial_sums(double *out, const float *x, int64_t n) {
    GPUL_SHARED(double, part);
    const double sum = block_sum(part, x, n);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
/* Or adds it to the others', in any order: the last bits may differ from run to run, which GPUL_REDUCE's never do. */
static __global__ void atomic_sum(double *out, const float *x, int64_t n) {
    GPUL_SHARED(double, part);
    const double sum = block_sum(part, x, n);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

enum { CPU, ONE_BLOCK, ON_HOST, ATOMICS, ONE_LINE, READY, WAYS };
static const char *const names[WAYS] = {"CPU, one core", "one block",   "partial sums, then host",
                                        "atomics",       "GPUL_REDUCE", "gpul_reduce"};

static struct work {
    int way;
    const float *host;
    gpul_array x, out, partial; /* the elements, a view; the first of BLOCKS doubles, too */
    double result, partials[BLOCKS];
} w;
GPUL_PRINT_AND_EXIT(stop)

static gpul_status run(void *) {
    const int64_t n = gpul_size(&w.x);
    const size_t shared = THREADS * sizeof(double);
    w.result = 0;
    switch (w.way) {
    case CPU:
        for (int64_t i = 0; i < n; ++i) w.result += fabs(double(w.host[i]));
        return GPUL_OK;
    case ONE_BLOCK: return GPUL_LAUNCH(partial_sums, 1, THREADS, shared, NULL, &w.out, &w.x, n);
    case ON_HOST:
        GPUL_LAUNCH(partial_sums, BLOCKS, THREADS, shared, NULL, &w.partial, &w.x, n);
        gpul_copy_to_host(w.partials, &w.partial, NULL);
        for (int b = 0; b < BLOCKS; ++b) w.result += w.partials[b];
        return GPUL_OK;
    case ATOMICS:
        gpul_fill(&w.out, 0, NULL);
        return GPUL_LAUNCH(atomic_sum, BLOCKS, THREADS, shared, NULL, &w.out, &w.x, n);
    case ONE_LINE: return sum_abs(&w.out, &w.x, GPUL_ALL_AXES, NULL);
    default: return gpul_reduce(&w.out, &w.x, GPUL_ABS_SUM, GPUL_ALL_AXES, NULL);
    }
}

static int right(void *) {
    if (w.way != CPU && w.way != ON_HOST) gpul_copy_to_host(&w.result, &w.out, NULL);
    gpul_fill(&w.partial, NAN, NULL);
    return w.result == sum_eighths(gpul_size(&w.x), 1); /* exact, in whatever order */
}

int main(int argc, char **argv) {
    const int64_t most = on_gpu() ? 1 << 28 : 1 << 14;
    static double size[SIZES], microseconds[WAYS][SIZES];
    float *const host = (float *)malloc(size_t(most) * sizeof(float));
    gpul_array all = GPUL_ZERO;
    int wrong = 0;
    if (host == NULL) return 1;
    fill_eighths(host, most);
    gpul_on_error(stop);
    GPUL_TO_DEVICE(&all, host, gpul_1d(most));
    gpul_device_array(&w.partial, GPUL_F64, gpul_1d(BLOCKS), NULL);
    gpul_slice(&w.out, &w.partial, 0, 0, 1, 1);
    w.host = host;
    for (int s = 0; s < SIZES; ++s) {
        const int64_t n = most >> (on_gpu() ? 2 : 1) * (SIZES - 1 - s);
        gpul_slice(&w.x, &all, 0, 0, n, 1);
        size[s] = double(n);
        table t = table_of(NULL, right, 4 * size[s], size[s]);
        printf("\n%lld elements", (long long)n), table_head("sum of |x|, float32");
        for (w.way = 0; w.way < WAYS; ++w.way)
            microseconds[w.way][s] = 1e6 * table_row_of(&t, names[w.way], run, w.way == CPU);
        wrong += t.wrong;
    }
    chart c = chart_begin(argc > 1 ? argv[1] : "reduce.svg", "The sum of |x|, float32", device_name());
    chart_x(&c, "elements", size[0], size[SIZES - 1], 2);
    chart_y(&c, "microseconds", 0.1, 1e6, 10);
    for (int way = 0; way < WAYS; ++way) chart_line(&c, names[way], size, microseconds[way], SIZES);
    gpul_free_all(&all, &w.partial);
    free(host);
    return chart_end(&c) && wrong == 0 ? 0 : 1;
}
