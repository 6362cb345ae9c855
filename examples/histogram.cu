/* SPDX-License-Identifier: MIT
 *
 * A histogram of normal samples in 150 bins: atomics in the GPU's memory, atomics in shared memory, gpul_histogram.
 * Drawn in the terminal and as a picture. CuPy: cp.histogram(x, bins=150)
 *
 *     nvcc -arch=native -o histogram examples/histogram.cu gpulite_kernels.cu              (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o histogram -x c++ examples/histogram.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./histogram [CHART.svg]
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "chart.h"
#include "table.h"
enum { BINS = 150, BLOCK = 256 };

/* The bin of v, or -1. Bin b is edges[b] <= v < edges[b + 1], and the last one has its upper edge, too: with `<` there,
 * as is often seen, the largest sample is in no bin. The division rounds, so beside an edge the edges have the last
 * word. */
__host__ __device__ static int bin_of(float v, const double *edges) {
    if (!(v >= edges[0] && v <= edges[BINS])) return -1; /* NaN, too */
    int b = v < edges[BINS] ? int((v - edges[0]) / (edges[BINS] - edges[0]) * BINS) : BINS - 1;
    if (b > 0 && v < edges[b]) --b;
    if (b < BINS - 1 && v >= edges[b + 1]) ++b;
    return b;
}
/* Samples crowd in a few bins, and additions to one place queue. */
static __global__ void in_global(int *counts, const float *x, const double *edges, int64_t n) {
    GPUL_GRID_STRIDE(i, n) {
        const int b = bin_of(x[i], edges);
        if (b >= 0) atomicAdd(&counts[b], 1);
    }
}
/* A block counts in shared memory, where queues are short, and adds its bins once all of its threads have counted. */
static __global__ void in_shared(int *counts, const float *x, const double *edges, int64_t n) {
    __shared__ int mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    GPUL_GRID_STRIDE(i, n) {
        const int b = bin_of(x[i], edges);
        if (b >= 0) atomicAdd(&mine[b], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (mine[b] > 0) atomicAdd(&counts[b], mine[b]);
}
/* Normal samples: two uniform numbers by hashing i (splitmix64), then Box and Muller's formula. */
static __global__ void normal(float *x, int64_t n) {
    GPUL_GRID_STRIDE(i, n) {
        const uint64_t a = uint64_t(i + 1) * 0x9e3779b97f4a7c15u, b = (a ^ a >> 30) * 0xbf58476d1ce4e5b9u;
        const uint64_t c = (b ^ b >> 27) * 0x94d049bb133111ebu, bits = c ^ c >> 31;
        const float u = (float(bits >> 40) + 1) * 0x1p-24f, turn = float(bits & 0xffffff) * 0x1p-24f; /* u is not 0 */
        x[i] = sqrtf(-2 * logf(u)) * cosf(6.2831853f * turn);
    }
}

static struct work {
    void (*kernel)(int *, const float *, const double *, int64_t);
    int64_t n;
    gpul_array x, counts, device_edges;
    double edges[BINS + 1];
    int32_t expected[BINS], result[BINS];
} w;
GPUL_PRINT_AND_EXIT(stop)
static gpul_status by_hand(void *) {
    gpul_fill(&w.counts, 0, NULL);
    return GPUL_LAUNCH(w.kernel, 1024, BLOCK, 0, NULL, &w.counts, &w.x, &w.device_edges, w.n);
}
static gpul_status ready(void *) { return gpul_histogram(&w.counts, &w.x, w.edges[0], w.edges[BINS], NULL); }

static int right(void *) {
    gpul_copy_to_host(w.result, &w.counts, NULL);
    gpul_fill(&w.counts, -1, NULL);
    return memcmp(w.result, w.expected, sizeof w.result) == 0;
}

static int run(int64_t n) {
    double lo = 0, hi = 0;
    float *const host = (float *)malloc(size_t(w.n = n) * sizeof(float));
    if (host == NULL) exit(1);
    gpul_device_array(&w.x, GPUL_F32, gpul_1d(n), NULL);
    GPUL_LAUNCH(normal, 1024, BLOCK, 0, NULL, &w.x, n);
    gpul_min(&lo, &w.x, NULL); /* the range that numpy.histogram takes: the largest sample is ON the last edge */
    gpul_max(&hi, &w.x, NULL);
    gpul_histogram_edges(w.edges, BINS, GPUL_F32, lo, hi);
    gpul_copy_to_device(&w.device_edges, w.edges, NULL);
    gpul_copy_to_host(host, &w.x, NULL);
    memset(w.expected, 0, sizeof w.expected);
    for (int64_t i = 0; i < n; ++i) {
        const int b = bin_of(host[i], w.edges);
        if (b >= 0) ++w.expected[b];
    }
    free(host);
    table t = table_of(NULL, right, 4 * double(n), 0);
    printf("\n%lld samples from %.3f to %.3f", (long long)n, lo, hi);
    table_head("150 bins");
    w.kernel = in_global;
    table_row(&t, "atomics in the GPU's memory", by_hand);
    w.kernel = in_shared;
    table_row(&t, "atomics in shared memory", by_hand);
    table_row(&t, "gpul_histogram", ready);
    gpul_free(&w.x);
    return t.wrong == 0;
}

int main(int argc, char **argv) {
    double bars[BINS];
    gpul_on_error(stop);
    gpul_device_array(&w.counts, GPUL_I32, gpul_1d(BINS), NULL);
    gpul_device_array(&w.device_edges, GPUL_F64, gpul_1d(BINS + 1), NULL);
    const int ok = run(on_gpu() ? 1000000 : 3000) & run(on_gpu() ? 100000000 : 30000);
    gpul_free_all(&w.counts, &w.device_edges);
    for (int b = 0; b < BINS; ++b) bars[b] = w.result[b];
    chart_terminal(bars, BINS, w.edges[0], w.edges[BINS]);
    const int drawn = chart_histogram(argc > 1 ? argv[1] : "histogram.svg", "Normal samples", "150 bins", "value",
                                      "samples in a bin", w.edges, bars, BINS);
    return drawn && ok ? 0 : 1;
}
