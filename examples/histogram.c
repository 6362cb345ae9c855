/* SPDX-License-Identifier: MIT
 *
 * numpy.histogram on the GPU, to the count, drawn in the terminal.
 *
 *     nvcc -arch=native -o histogram examples/histogram.c gpulite_kernels.cu               (Hopper: -arch=sm_90a)
 *     g++ -O2 -ffp-contract=off -Itests/cpu -o histogram -x c examples/histogram.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 200000, BINS = 24 };

/* The sum of four uniform numbers: a bell, near enough. */
static float bell(uint64_t *state) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (float)(*state >> 40) * 0x1p-24f;
    }
    return sum;
}

int main(void) {
    uint64_t state = 1;
    float *x = malloc(N * sizeof *x);
    if (x == NULL) return 1;
    for (int i = 0; i < N; ++i) x[i] = bell(&state);

    /* CuPy: counts, edges = cp.histogram(x, bins=24, range=(0.25, 3.75)) */
    const double lo = 0.25, hi = 3.75;
    int32_t counts[BINS];
    double edges[BINS + 1];
    gpul_array dx = GPUL_ZERO, dc = GPUL_ZERO;
    GPUL_CHECK(gpul_to_device(&dx, x, GPUL_F32, gpul_1d(N), NULL));
    GPUL_CHECK(gpul_device_array(&dc, GPUL_I32, gpul_1d(BINS), NULL));
    GPUL_CHECK(gpul_histogram(&dc, &dx, lo, hi, NULL));
    GPUL_CHECK(gpul_copy_to_host(counts, &dc, NULL));
    GPUL_CHECK(gpul_histogram_edges(edges, BINS, GPUL_F32, lo, hi));
    gpul_free(&dx);
    gpul_free(&dc);

    /* The definition: edge[i] <= x < edge[i+1], and the last bin takes its upper edge too. */
    int32_t expected[BINS] = {0}, most = 1;
    for (int i = 0; i < N; ++i) {
        const double v = (double)x[i];
        if (v < edges[0] || v > edges[BINS]) continue;
        int bin = 0;
        while (bin < BINS - 1 && v >= edges[bin + 1]) ++bin;
        if (++expected[bin] > most) most = expected[bin];
    }
    free(x);

    int wrong = 0;
    for (int b = 0; b < BINS; ++b) {
        const int ok = counts[b] == expected[b];
        char bar[61];
        int width = 0;
        while (width < 60 && (int64_t)width * most < (int64_t)counts[b] * 60) bar[width++] = '#';
        bar[width] = '\0';
        printf("%6.3f .. %6.3f  %6d %s %s\n", edges[b], edges[b + 1], counts[b], ok ? "" : "WRONG", bar);
        wrong += !ok;
    }
    printf("%d values, %d bins, %s\n", N, BINS, wrong ? "WRONG" : "every count right");
    return wrong ? 1 : 0;
}
