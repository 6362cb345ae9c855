/* SPDX-License-Identifier: MIT
 *
 * Many short kernels, launched as one: the heat along a rod, step after step, captured once as a CUDA graph.
 *
 *     nvcc -arch=native -o graph examples/graph.c gpulite_kernels.cu                       (Hopper: -arch=sm_90a)
 *     g++ -O2 -ffp-contract=off -Itests/cpu -o graph -x c examples/graph.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * CuPy:   stream.begin_capture();  ...;  graph = stream.end_capture();  graph.launch(stream)
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 256, STEPS = 20, ROUNDS = 10 };

typedef struct rod {
    gpul_array step, heat, next, total; /* step: the matrix that takes the heat one time step on */
    gpul_stream stream;
    gpul_graph graph;
} rod;

/* STEPS steps, and what all points hold together. Everything goes to one stream, so all of it can be captured; kernels
 * of one's own, by GPUL_LAUNCH on that stream, as well. */
static gpul_status steps(void *user) {
    rod *const r = (rod *)user;
    for (int k = 0; k < STEPS; k += 2) {
        const gpul_status first = gpul_gemv(&r->next, 1, &r->step, &r->heat, 0, r->stream);
        if (first != GPUL_OK) return first;
        const gpul_status second = gpul_gemv(&r->heat, 1, &r->step, &r->next, 0, r->stream);
        if (second != GPUL_OK) return second;
    }
    return gpul_reduce(&r->total, &r->heat, GPUL_SUM, GPUL_ALL_AXES, r->stream);
}

/* The same by one call. It reads and writes the same arrays, whatever they hold by then. */
static gpul_status steps_again(void *user) {
    rod *const r = (rod *)user;
    return gpul_graph_launch(r->graph, r->stream);
}

int main(void) {
    static double step[POINTS][POINTS], heat[POINTS], direct[POINTS], replayed[POINTS];
    rod r = GPUL_ZERO;
    for (int i = 0; i < POINTS; ++i) { /* each point exchanges heat with its neighbours; none leaves at the ends */
        const int left = i > 0, right = i < POINTS - 1;
        step[i][i] = 1 - 0.25 * (left + right);
        if (left) step[i][i - 1] = 0.25;
        if (right) step[i][i + 1] = 0.25;
        heat[i] = i == POINTS / 2 ? 1 : 0;
    }
    GPUL_CHECK(gpul_stream_create(&r.stream, GPUL_STREAM_NON_BLOCKING));
    GPUL_CHECK(gpul_to_device(&r.step, step, GPUL_F64, gpul_2d(POINTS, POINTS), r.stream));
    GPUL_CHECK(gpul_to_device(&r.heat, heat, GPUL_F64, gpul_1d(POINTS), r.stream));
    GPUL_CHECK(gpul_device_array_like(&r.next, &r.heat, r.stream));
    GPUL_CHECK(gpul_device_array(&r.total, GPUL_F64, gpul_0d(), r.stream));

    for (int round = 0; round < ROUNDS; ++round) GPUL_CHECK(steps(&r));
    GPUL_CHECK(gpul_copy_to_host(direct, &r.heat, r.stream));

    GPUL_CHECK(gpul_graph_begin(r.stream));
    GPUL_CHECK(steps(&r)); /* is noted, and does not run */
    GPUL_CHECK(gpul_graph_end(&r.graph, r.stream));
    GPUL_CHECK(gpul_copy_to_device(&r.heat, heat, r.stream)); /* from the start again */
    for (int round = 0; round < ROUNDS; ++round) GPUL_CHECK(gpul_graph_launch(r.graph, r.stream));
    double total = 0;
    GPUL_CHECK(gpul_copy_to_host(replayed, &r.heat, r.stream));
    GPUL_CHECK(gpul_copy_to_host(&total, &r.total, r.stream));
    GPUL_CHECK(gpul_stream_synchronize(r.stream));
    int wrong = !(fabs(total - 1) <= 1e-12);
    for (int i = 0; i < POINTS; ++i) wrong += !(direct[i] == replayed[i]); /* the same bits */
    printf("after %d steps: total %.12f, %s\n", STEPS * ROUNDS, total,
           wrong ? "WRONG" : "and the graph's heat is that of the direct calls");

    /* What it saves: one launch instead of STEPS + 1. */
    gpul_benchmark_options options = GPUL_ZERO;
    gpul_benchmark_result result = GPUL_ZERO;
    char line[512];
    options.stream = r.stream;
    options.repeat = 200;
    options.seconds = 0.5;
    for (int graph = 0; graph < 2; ++graph) {
        options.name = graph ? "by a graph" : "call by call";
        GPUL_CHECK(gpul_benchmark(&result, graph ? steps_again : steps, &r, &options));
        GPUL_CHECK(gpul_benchmark_text(NULL, line, sizeof line, &result));
        puts(line);
    }

    gpul_array *all[] = {&r.step, &r.heat, &r.next, &r.total};
    GPUL_CHECK(gpul_graph_free(&r.graph));
    for (int i = 0; i < 4; ++i) gpul_free(all[i]);
    gpul_stream_destroy(&r.stream);
    return wrong != 0;
}
