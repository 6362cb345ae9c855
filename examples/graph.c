/* SPDX-License-Identifier: MIT
 *
 * Many short kernels, launched as one: the heat along a rod, step after step, captured once as a CUDA graph.
 *
 *     nvcc -arch=native -o graph examples/graph.c gpulite_kernels.cu                       (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o graph -x c examples/graph.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * A kernel of a microsecond or two takes the CPU longer to launch than the GPU to run. A graph is launched by one call,
 * whatever is in it.
 *
 * CuPy:   stream.begin_capture();  ...;  graph = stream.end_capture();  graph.launch(stream)
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "table.h"

enum { POINTS = 256, STEPS = 20 };

typedef struct rod {
    gpul_array step, start, heat, next, total; /* step: the matrix that takes the heat one time step on */
    gpul_stream stream;
    gpul_graph graph;
    double expected[POINTS], first[POINTS]; /* the host's heat; the first version's, to the bit */
    int versions;
} rod;

GPUL_PRINT_AND_EXIT(stop)

/* From the start, STEPS steps, and what all points hold together. Everything goes to one stream, so all of it can be
 * captured; kernels of one's own, by GPUL_LAUNCH on that stream, as well. */
static gpul_status steps(void *user) {
    rod *const r = (rod *)user;
    gpul_copy(&r->heat, &r->start, r->stream);
    for (int k = 0; k < STEPS; k += 2) {
        gpul_gemv(&r->next, 1, &r->step, &r->heat, 0, r->stream);
        gpul_gemv(&r->heat, 1, &r->step, &r->next, 0, r->stream);
    }
    return gpul_reduce(&r->total, &r->heat, GPUL_SUM, GPUL_ALL_AXES, r->stream);
}
/* The same by one call. It reads and writes the same arrays, whatever they hold by then. */
static gpul_status steps_again(void *user) {
    rod *const r = (rod *)user;
    return gpul_graph_launch(r->graph, r->stream);
}

static int right(void *user) {
    rod *const r = (rod *)user;
    double heat[POINTS], total = 0;
    gpul_copy_to_host(heat, &r->heat, r->stream);
    gpul_copy_to_host(&total, &r->total, r->stream);
    gpul_stream_synchronize(r->stream);
    int wrong = !(fabs(total - 1) <= 1e-12);
    for (int i = 0; i < POINTS; ++i) wrong += !(fabs(heat[i] - r->expected[i]) <= 1e-14);
    if (r->versions++ == 0) memcpy(r->first, heat, sizeof heat);
    for (int i = 0; i < POINTS; ++i) wrong += !(heat[i] == r->first[i]); /* the same bits, graph or not */
    gpul_fill(&r->heat, NAN, r->stream);
    gpul_fill(&r->total, NAN, r->stream);
    return wrong == 0;
}

int main(void) {
    static double step[POINTS][POINTS], start[POINTS], next[POINTS];
    static rod r;
    gpul_on_error(stop);
    for (int i = 0; i < POINTS; ++i) { /* each point exchanges heat with its neighbours; none leaves at the ends */
        const int left = i > 0, right_too = i < POINTS - 1;
        step[i][i] = 1 - 0.25 * (left + right_too);
        if (left) step[i][i - 1] = 0.25;
        if (right_too) step[i][i + 1] = 0.25;
        start[i] = r.expected[i] = i == POINTS / 2 ? 1 : 0;
    }
    for (int k = 0; k < STEPS; ++k) {
        for (int i = 0; i < POINTS; ++i) {
            next[i] = 0;
            for (int j = 0; j < POINTS; ++j) next[i] += step[i][j] * r.expected[j];
        }
        memcpy(r.expected, next, sizeof next);
    }
    gpul_stream_create(&r.stream, GPUL_STREAM_NON_BLOCKING);
    GPUL_TO_DEVICE(&r.step, &step[0][0], gpul_2d(POINTS, POINTS), r.stream);
    GPUL_TO_DEVICE(&r.start, start, gpul_1d(POINTS), r.stream);
    gpul_device_array_like(&r.heat, &r.start, r.stream);
    gpul_device_array_like(&r.next, &r.start, r.stream);
    gpul_device_array(&r.total, GPUL_F64, gpul_0d(), r.stream);

    gpul_graph_begin(r.stream);
    steps(&r); /* is noted, and does not run */
    gpul_graph_end(&r.graph, r.stream);

    table t = table_of(&r, right, 0, 2.0 * STEPS * POINTS * POINTS);
    t.dtype = GPUL_F64;
    t.stream = r.stream;
    table_head("20 steps of 256 points: 22 launches");
    table_row(&t, "call by call", steps);
    table_row(&t, "as a graph", steps_again);

    gpul_graph_free(&r.graph);
    gpul_free_all(&r.step, &r.start, &r.heat, &r.next, &r.total);
    gpul_stream_destroy(&r.stream);
    return t.wrong ? 1 : 0;
}
