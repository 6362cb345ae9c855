/* SPDX-License-Identifier: MIT
 *
 * Data that are larger than the GPU's memory: they pass through it in chunks, by pinned buffers and two streams. A
 * limit takes the place of a small GPU.
 *
 *     nvcc -arch=native -O3 -o larger examples/larger.c gpulite_kernels.cu                 (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o larger -x c examples/larger.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./larger [N]
 *
 * With two buffers the CPU fills one while the GPU copies and adds up the other: it waits for a buffer's own stream,
 * and no other, before it writes there again. One core fills buffers more slowly than the GPU empties them: little is
 * gained. Data that are page-locked where they lie need no such buffer, and no chunks: gpul_sum reads them itself, at
 * nearly the speed of a copy, and has the bits that it would have on the GPU. The last chunk may be short.
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "table.h"

enum { BUFFERS = 2 };

typedef struct work {
    int64_t n, chunk;
    float *x;                                    /* the data: memory as malloc gives it */
    gpul_array locked;                           /* the same, once it is page-locked */
    gpul_array pinned[BUFFERS], device[BUFFERS]; /* a chunk each */
    gpul_array sums;                             /* one float64 for each chunk */
    gpul_stream streams[BUFFERS];
    double result;
} work;

GPUL_PRINT_AND_EXIT(stop)

/* The sum of x, over `buffers` buffers in turn; or from where it lies. Waits for it. */
static gpul_status run(work *w, int buffers, int in_place) {
    const int64_t chunks = gpul_ceil_div(w->n, w->chunk);
    for (int64_t c = 0; c < chunks; ++c) {
        const int s = (int)(c % buffers);
        const int64_t from = c * w->chunk, length = from + w->chunk < w->n ? w->chunk : w->n - from;
        const int64_t at = in_place ? from : 0;                           /* of the chunk in the host's array */
        gpul_array host = GPUL_ZERO, device = GPUL_ZERO, sum = GPUL_ZERO; /* views of what this chunk takes */
        gpul_slice(&device, &w->device[s], 0, 0, length, 1);
        gpul_slice(&sum, &w->sums, 0, c, c + 1, 1);
        gpul_slice(&host, in_place ? &w->locked : &w->pinned[s], 0, at, at + length, 1);
        if (!in_place) {
            gpul_stream_synchronize(w->streams[s]); /* what was in the buffer has been copied */
            memcpy(host.data, w->x + from, (size_t)length * sizeof(float));
        }
        gpul_copy(&device, &host, w->streams[s]);
        gpul_reduce(&sum, &device, GPUL_SUM, GPUL_ALL_AXES, w->streams[s]);
    }
    for (int s = 0; s < buffers; ++s) gpul_stream_synchronize(w->streams[s]);
    return gpul_sum(&w->result, &w->sums, w->streams[0]);
}
static gpul_status one_buffer(void *user) { return run((work *)user, 1, 0); }
static gpul_status two_buffers(void *user) { return run((work *)user, BUFFERS, 0); }
static gpul_status in_place(void *user) { return run((work *)user, BUFFERS, 1); }
static gpul_status one_call(void *user) {
    work *const w = (work *)user;
    return gpul_sum(&w->result, &w->locked, w->streams[0]);
}
static gpul_status on_cpu(void *user) {
    work *const w = (work *)user;
    w->result = 0;
    for (int64_t i = 0; i < w->n; ++i) w->result += (double)w->x[i];
    return GPUL_OK;
}

static int right(void *user) {
    work *const w = (work *)user;
    const int ok = w->result == sum_eighths(w->n, 0); /* exact, in whatever order */
    w->result = -1;
    gpul_fill(&w->sums, -1, w->streams[0]);
    for (int s = 0; s < BUFFERS; ++s) gpul_fill(&w->pinned[s], NAN, w->streams[s]);
    for (int s = 0; s < BUFFERS; ++s) gpul_fill(&w->device[s], NAN, w->streams[s]);
    gpul_device_synchronize();
    return ok;
}

int main(int argc, char **argv) {
    work w = GPUL_ZERO;
    gpul_array whole = GPUL_ZERO;
    const int64_t limit = on_gpu() ? 128 << 20 : 128 << 10; /* bytes */
    w.n = argc > 1 ? strtoll(argv[1], NULL, 10) : on_gpu() ? 300000007 : 100003;
    w.chunk = limit / 4 / (int64_t)sizeof(float); /* two of them, and room to spare */
    w.x = w.n < 1 ? NULL : (float *)malloc((size_t)w.n * sizeof(float));
    if (w.x == NULL) return fprintf(stderr, "usage: larger [N], from 1 on\n"), 1;
    fill_eighths(w.x, w.n);

    GPUL_CHECK(gpul_memory_limit(limit));
    const int fits = gpul_device_array(&whole, GPUL_F32, gpul_1d(w.n), NULL) == GPUL_OK;
    puts(fits ? "(it would fit: ask for more)" : gpul_last_error()->message);
    gpul_on_error(stop);
    gpul_free(&whole);
    for (int s = 0; s < BUFFERS; ++s) {
        gpul_stream_create(&w.streams[s], GPUL_STREAM_NON_BLOCKING);
        gpul_pinned_array(&w.pinned[s], GPUL_F32, gpul_1d(w.chunk));
        gpul_device_array(&w.device[s], GPUL_F32, gpul_1d(w.chunk), w.streams[s]);
    }
    gpul_device_array(&w.sums, GPUL_F64, gpul_1d(gpul_ceil_div(w.n, w.chunk)), w.streams[0]);
    gpul_device_synchronize(); /* the other stream uses the sums, too */

    table t = table_of(&w, right, 4 * (double)w.n, (double)w.n);
    printf("\n%lld float32 elements through chunks of %lld", (long long)w.n, (long long)w.chunk);
    table_head("their sum, by the host's clock");
    table_row_cpu(&t, "one core of the CPU", on_cpu);
    table_row_cpu(&t, "GPU, one buffer and one stream", one_buffer);
    table_row_cpu(&t, "GPU, two buffers and two streams", two_buffers);
    gpul_pin(w.x, (size_t)w.n * sizeof(float)); /* takes about as long as a copy, and pays where data go there often */
    gpul_wrap(&w.locked, w.x, GPUL_F32, gpul_1d(w.n));
    table_row_cpu(&t, "GPU, two streams, data page-locked", in_place);
    table_row_cpu(&t, "GPU, one gpul_sum of page-locked data", one_call);
    gpul_unpin(w.x);
    gpul_free(&w.sums);
    for (int s = 0; s < BUFFERS; ++s) gpul_free_all(&w.pinned[s], &w.device[s]), gpul_stream_destroy(&w.streams[s]);
    gpul_memory_limit(0);
    free(w.x);
    return t.wrong ? 1 : 0;
}
