/* SPDX-License-Identifier: MIT
 *
 * Copies and kernels at the same time: chunks go in, are multiplied, and come out, in one stream and in four. A picture
 * shows what ran when.
 *
 *     nvcc -arch=native -o streams examples/streams.c gpulite_kernels.cu                   (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o streams -x c examples/streams.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./streams [CHART.svg]
 *
 * What is on a stream runs in its order, and streams do not wait for each other. So while one computes, another may
 * copy in and a third copy out: a GPU has an engine for each direction. It takes pinned memory, as the host waits for
 * pageable copies, and streams that are not the default one, which others wait for. Numba: cuda.stream(). CuPy:
 * cupy.cuda.Stream().
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "chart.h"
#include "table.h"

enum { STREAMS = 4, CHUNKS = 8, POINTS = 4 }; /* events of a chunk: before, and after each of its three parts */

typedef struct work {
    int64_t rows, side;                   /* of a chunk: rows x side; the matrix is side x side */
    gpul_array x, y, matrix;              /* chunks x rows x side, pinned; the matrix, on the GPU */
    gpul_array in[STREAMS], out[STREAMS]; /* a stream's own places on the GPU */
    gpul_stream streams[STREAMS];
    gpul_event events[CHUNKS][POINTS];
} work;
static const char *const parts[POINTS - 1] = {"copy in", "kernel", "copy out"};
GPUL_PRINT_AND_EXIT(stop)
/* All chunks over `count` streams, in turn. The streams begin after the first one, and it ends after all of them. */
static gpul_status run(work *w, int count) {
    for (int s = 1; s < count; ++s) gpul_stream_wait(w->streams[s], w->streams[0]);
    for (int c = 0; c < CHUNKS; ++c) {
        const int s = c % count;
        gpul_event *const events = w->events[c];
        gpul_array x = GPUL_ZERO, y = GPUL_ZERO; /* x[c] and y[c]: views, which own nothing */
        gpul_index(&x, &w->x, 0, c);
        gpul_index(&y, &w->y, 0, c);
        gpul_event_record(events[0], w->streams[s]);
        gpul_copy(&w->in[s], &x, w->streams[s]);
        gpul_event_record(events[1], w->streams[s]);
        gpul_matmul(&w->out[s], &w->in[s], &w->matrix, w->streams[s]);
        gpul_event_record(events[2], w->streams[s]);
        gpul_copy(&y, &w->out[s], w->streams[s]);
        gpul_event_record(events[3], w->streams[s]);
    }
    for (int s = 1; s < count; ++s) gpul_stream_wait(w->streams[0], w->streams[s]);
    return GPUL_OK;
}
static gpul_status one_stream(void *user) { return run((work *)user, 1); }
static gpul_status four_streams(void *user) { return run((work *)user, STREAMS); }

/* The matrix has 2 along its diagonal and 0 elsewhere, so that y is 2 x, to the bit. */
static int right(void *user) {
    work *const w = (work *)user;
    float *const x = (float *)w->x.data, *const y = (float *)w->y.data;
    int64_t wrong = 0;
    gpul_stream_synchronize(w->streams[0]);
    for (int64_t i = 0; i < gpul_size(&w->y); ++i) wrong += !(y[i] == 2 * x[i]);
    memset(y, 0xff, (size_t)gpul_nbytes(&w->y));
    return wrong == 0;
}

/* The last run, from row `top` on. An event tells when what is before it was done. A part began when its stream had
 * done the part before, and its engine the same part of the chunk before. */
static void draw(const work *w, chart *c, int count, int top) {
    double done[POINTS] = {0};
    for (int i = 0; i < CHUNKS * POINTS; ++i) {
        const int p = i % POINTS, row = top + i / POINTS % count;
        double from = 0, to = 0;
        if (p == 0) continue; /* events[0][0]: where all begins */
        gpul_event_seconds(&from, w->events[0][0], w->events[i / POINTS][p - 1]);
        gpul_event_seconds(&to, w->events[0][0], w->events[i / POINTS][p]);
        from = fmin(fmax(from, done[p]), to);
        done[p] = to;
        chart_box(c, from * 1e3, row + 0.15, to * 1e3, row + 0.85, p - 1, parts[p - 1]);
    }
}

int main(int argc, char **argv) {
    static const char *const names[1 + STREAMS] = {"one stream", "stream 1", "stream 2", "stream 3", "stream 4"};
    work w = GPUL_ZERO;
    gpul_array diagonal = GPUL_ZERO; /* a view of the matrix */
    gpul_on_error(stop);
    const int64_t rows = w.rows = on_gpu() ? 4096 : 24, side = w.side = on_gpu() ? 2048 : 32;
    const int64_t step = side + 1, elements = CHUNKS * rows * side;
    gpul_zeros(&w.matrix, GPUL_F32, gpul_2d(side, side), NULL);
    gpul_wrap_strided(&diagonal, w.matrix.data, GPUL_F32, gpul_1d(side), &step);
    gpul_fill(&diagonal, 2, NULL);
    gpul_pinned_array(&w.x, GPUL_F32, gpul_3d(CHUNKS, rows, side));
    gpul_pinned_array(&w.y, GPUL_F32, gpul_3d(CHUNKS, rows, side));
    for (int64_t i = 0; i < elements; ++i) ((float *)w.x.data)[i] = (float)(i % 9 - 4);
    for (int s = 0; s < STREAMS; ++s) {
        gpul_stream_create(&w.streams[s], GPUL_STREAM_NON_BLOCKING);
        gpul_device_array(&w.in[s], GPUL_F32, gpul_2d(rows, side), w.streams[s]);
        gpul_device_array(&w.out[s], GPUL_F32, gpul_2d(rows, side), w.streams[s]);
    }
    for (int i = 0; i < CHUNKS * POINTS; ++i) gpul_event_create(&w.events[i / POINTS][i % POINTS]);
    gpul_device_synchronize(); /* these streams do not wait for the default one, where the matrix was made */
    double last = 0;
    table t = table_of(&w, right, 8 * (double)elements, 2 * (double)(elements * side));
    chart c = chart_begin(argc > 1 ? argv[1] : "streams.svg", "Eight chunks in one stream, and in four", device_name());
    t.stream = w.streams[0];
    table_head("copy in, multiply, copy out");
    table_row(&t, "one stream", one_stream);
    gpul_event_seconds(&last, w.events[0][0], w.events[CHUNKS - 1][POINTS - 1]);
    chart_x(&c, "milliseconds", 0, chart_reach(last * 1e3), 0);
    chart_rows(&c, names, 1 + STREAMS);
    draw(&w, &c, 1, 0);
    table_row(&t, "four streams", four_streams);
    draw(&w, &c, STREAMS, 1);
    for (int p = 0; p < POINTS - 1; ++p) chart_legend(&c, parts[p], p);
    gpul_free_all(&w.x, &w.y, &w.matrix);
    for (int i = 0; i < CHUNKS * POINTS; ++i) gpul_event_destroy(&w.events[i / POINTS][i % POINTS]);
    for (int s = 0; s < STREAMS; ++s) gpul_free_all(&w.in[s], &w.out[s]), gpul_stream_destroy(&w.streams[s]);
    return chart_end(&c) && t.wrong == 0 ? 0 : 1;
}
