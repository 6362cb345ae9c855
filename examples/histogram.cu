/* SPDX-License-Identifier: MIT
 *
 * A histogram of normal samples in 150 bins: by atomics in the GPU's memory, by atomics in shared memory, and by
 * gpul_histogram. Drawn in the terminal and as a picture.
 *
 *     nvcc -arch=native -o histogram examples/histogram.cu gpulite_kernels.cu              (Hopper: -arch=sm_90a)
 *     g++ -O2 -ffp-contract=off -Itests/cpu -o histogram -x c++ examples/histogram.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./histogram [CHART.svg]
 *
 * CuPy:   counts, edges = cp.histogram(x, bins=150)
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "chart.h"
#include "table.h"

enum { BINS = 150, BLOCK = 256 };

/* The bin of v, or -1. Bin b is edge[b] <= v < edge[b + 1], and the last one has its upper edge, too, or the largest of all
 * samples would be in none: `v < hi` as the test of the range is a fault that is often seen. The division may miss by one
 * where v is next to an edge, as it rounds. The edges have the last word. */
__host__ __device__ static int bin_of(float v, const double *edges) {
    const double lo = edges[0], hi = edges[BINS];
    if (!(v >= lo && v <= hi)) return -1; /* NaN, too */
    int b = int((v - lo) / (hi - lo) * BINS);
    if (b > BINS - 1) b = BINS - 1;
    while (b > 0 && v < edges[b]) --b;
    while (b < BINS - 1 && v >= edges[b + 1]) ++b;
    return b;
}

/* Samples crowd in a few bins, and additions to one place in memory queue. */
static __global__ void in_global(int *counts, const float *x, const double *edges, int64_t n) {
    GPUL_GRID_STRIDE(i, n) {
        const int b = bin_of(x[i], edges);
        if (b >= 0) atomicAdd(&counts[b], 1);
    }
}
/* Each block counts for itself in shared memory, where queues are short, and adds its bins once. A barrier before the
 * first count, when all bins are 0, and one behind the last. */
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

/* Normal samples from i alone: two uniform numbers by hashing it (splitmix64), and Box and Muller's formula. */
static __global__ void normal(float *x, int64_t n) {
    GPUL_GRID_STRIDE(i, n) {
        uint64_t z = uint64_t(i + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        const float u = (float(z >> 40) + 1) * 0x1p-24f, turn = float(z & 0xffffff) * 0x1p-24f; /* u: above 0 */
        x[i] = sqrtf(-2 * logf(u)) * cosf(6.2831853f * turn);
    }
}

static struct work {
    int64_t n;
    gpul_array x, counts, device_edges;
    double edges[BINS + 1];
    int32_t expected[BINS], result[BINS];
} w;

GPUL_PRINT_AND_EXIT(stop)

static gpul_status by_global(void *) {
    gpul_fill(&w.counts, 0, NULL);
    return GPUL_LAUNCH(in_global, 1024, BLOCK, 0, NULL, &w.counts, &w.x, &w.device_edges, w.n);
}
static gpul_status by_shared(void *) {
    gpul_fill(&w.counts, 0, NULL);
    return GPUL_LAUNCH(in_shared, 1024, BLOCK, 0, NULL, &w.counts, &w.x, &w.device_edges, w.n);
}
static gpul_status ready(void *) { return gpul_histogram(&w.counts, &w.x, w.edges[0], w.edges[BINS], NULL); }

static int right(void *) {
    int wrong = 0;
    gpul_copy_to_host(w.result, &w.counts, NULL);
    for (int b = 0; b < BINS; ++b) wrong += w.result[b] != w.expected[b];
    gpul_fill(&w.counts, -1, NULL);
    return wrong == 0;
}

/* n samples: the versions timed and checked */
static int run(int64_t n) {
    double lo = 0, hi = 0;
    w.n = n;
    gpul_device_array(&w.x, GPUL_F32, gpul_1d(n), NULL);
    GPUL_LAUNCH(normal, 1024, BLOCK, 0, NULL, &w.x, n);
    gpul_min(&lo, &w.x, NULL); /* numpy.histogram's range: the largest sample is ON the last edge */
    gpul_max(&hi, &w.x, NULL);
    gpul_histogram_edges(w.edges, BINS, GPUL_F32, lo, hi);
    gpul_copy_to_device(&w.device_edges, w.edges, NULL);

    float *const host = (float *)malloc(size_t(n) * sizeof(float));
    if (host == NULL) exit(1);
    gpul_copy_to_host(host, &w.x, NULL);
    for (int b = 0; b < BINS; ++b) w.expected[b] = 0;
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) w.expected[bin_of(host[i], w.edges)] += 1;
    for (int b = 0; b < BINS; ++b) total += w.expected[b];
    free(host);

    table t = table_of(NULL, right, 4 * double(n), 0);
    printf("\n%lld samples from %.3f to %.3f", (long long)n, lo, hi);
    table_head("150 bins");
    table_row(&t, "atomics in the GPU's memory", by_global);
    table_row(&t, "atomics in shared memory", by_shared);
    table_row(&t, "gpul_histogram", ready);
    gpul_free(&w.x);
    return t.wrong == 0 && total == n; /* none is lost, the largest neither */
}

int main(int argc, char **argv) {
    double bars[BINS / 2];
    gpul_on_error(stop);
    gpul_device_array(&w.counts, GPUL_I32, gpul_1d(BINS), NULL);
    gpul_device_array(&w.device_edges, GPUL_F64, gpul_1d(BINS + 1), NULL);
    const int ok = run(on_gpu() ? 1000000 : 3000) & run(on_gpu() ? 100000000 : 30000);
    gpul_free_all(&w.counts, &w.device_edges);
    putchar('\n');
    for (int b = 0; b < BINS / 2; ++b) bars[b] = w.result[2 * b] + w.result[2 * b + 1]; /* two bins a column */
    chart_terminal(bars, BINS / 2, 1, w.edges[0], w.edges[BINS]);

    chart c = chart_begin(argc > 1 ? argv[1] : "histogram.svg", "Normal samples", "150 bins");
    c.width = 830; /* no legend */
    double most = 0;
    for (int b = 0; b < BINS; ++b) most = fmax(most, w.result[b]);
    chart_x(&c, "value", w.edges[0], w.edges[BINS], 0);
    chart_y(&c, "samples in a bin", 0, chart_reach(most), 0);
    for (int b = 0; b < BINS; ++b) {
        char text[64];
        snprintf(text, sizeof text, "%.3f to %.3f: %d", w.edges[b], w.edges[b + 1], w.result[b]);
        chart_box(&c, w.edges[b], 0, w.edges[b + 1], w.result[b], 0, text);
    }
    return chart_end(&c) && ok ? 0 : 1;
}
