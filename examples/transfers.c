/* SPDX-License-Identifier: MIT
 *
 * How fast data come to the GPU and back: from pageable, pinned and mapped memory, both ways at once, small and large.
 *
 *     nvcc -arch=native -o transfers examples/transfers.c gpulite_kernels.cu               (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o transfers -x c examples/transfers.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./transfers [CHART.svg]
 *
 * Pageable memory, malloc's, may be moved by the operating system while the GPU copies. So the driver copies it first
 * into a buffer that stays where it is, and from there to the GPU. Pinned memory stays, and the GPU copies it by
 * itself. Mapped memory stays too, and a kernel reads it in place, across the bus: worth it where each byte is wanted
 * once. The bus goes both ways at a time, and the GPU has an engine for each. Numba: cuda.pinned_array(n, np.uint8),
 * cuda.mapped_array(n, np.uint8).
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "chart.h"
#include "table.h"

enum { SIZES = 9 };
enum { PINNED, MAPPED, SINK, IN, OUT, ARRAYS }; /* the first three are the host's */
enum { IN_PAGEABLE, IN_PINNED, IN_MAPPED, OUT_PAGEABLE, OUT_PINNED, BOTH_PINNED, WAYS };
static const char *const names[WAYS] = {"in, pageable",  "in, pinned",  "in, mapped",
                                        "out, pageable", "out, pinned", "both ways, pinned"};

typedef struct work {
    int way;
    unsigned char *source, *sink; /* pageable */
    gpul_array a[ARRAYS];         /* PINNED, MAPPED and OUT hold what `source` holds */
    gpul_stream up, down;
} work;

GPUL_PRINT_AND_EXIT(stop)
static gpul_status move(void *user) {
    work *const w = (work *)user;
    switch (w->way) {
    case IN_PAGEABLE: return gpul_copy_to_device(&w->a[IN], w->source, w->up);
    case IN_PINNED: return gpul_copy(&w->a[IN], &w->a[PINNED], w->up);
    case IN_MAPPED: return gpul_vecadd(&w->a[IN], &w->a[MAPPED], GPUL_SCALAR(0), w->up);
    case OUT_PAGEABLE: return gpul_copy_to_host(w->sink, &w->a[OUT], w->up);
    case OUT_PINNED: return gpul_copy(&w->a[SINK], &w->a[OUT], w->up);
    default: /* two streams, as copies of one stream follow each other; `up` goes on when `down` has done its part */
        gpul_stream_wait(w->down, w->up);
        gpul_copy(&w->a[IN], &w->a[PINNED], w->up);
        gpul_copy(&w->a[SINK], &w->a[OUT], w->down);
        return gpul_stream_wait(w->up, w->down);
    }
}

/* One way for `n` bytes: GB/s. What has arrived is compared, and *ok becomes 0 where it is not what was sent. */
static double measure(const work *all, int way, int64_t n, int *ok) {
    const int in = way <= IN_MAPPED || way == BOTH_PINNED, out = way >= OUT_PAGEABLE;
    gpul_benchmark_options options = GPUL_ZERO;
    gpul_benchmark_result result = GPUL_ZERO;
    work w = *all; /* the first n bytes of each array: views, so nothing is copied or owned */
    for (int i = 0; i < ARRAYS; ++i) gpul_slice(&w.a[i], &all->a[i], 0, 0, n, 1);
    w.way = way;
    gpul_fill(&w.a[IN], 255, w.up);
    gpul_fill(&w.a[SINK], 255, w.up);
    memset(w.sink, 255, (size_t)n);
    options.stream = w.up;
    options.repeat = on_gpu() ? 200 : 1;
    options.seconds = on_gpu() ? 0.1 : 0.01;
    gpul_benchmark(&result, move, &w, &options);
    if (out) *ok &= memcmp(way == OUT_PAGEABLE ? w.sink : w.a[SINK].data, w.source, (size_t)n) == 0;
    if (in) gpul_copy(&w.a[SINK], &w.a[IN], NULL);
    if (in) *ok &= memcmp(w.a[SINK].data, w.source, (size_t)n) == 0;
    return result.gpu.median > 0 ? (in + out) * (double)n / result.gpu.median / 1e9 : 0;
}

int main(int argc, char **argv) {
    static double bytes[SIZES], gbps[WAYS][SIZES];
    const int64_t most = on_gpu() ? 1 << 28 : 1 << 16;
    double best = 0;
    int ok = 1;
    char text[40];
    work w = GPUL_ZERO;
    gpul_on_error(stop);
    w.source = (unsigned char *)malloc(2 * (size_t)most);
    if (w.source == NULL) return 1;
    w.sink = w.source + most;
    gpul_stream_create(&w.up, GPUL_STREAM_NON_BLOCKING);
    gpul_stream_create(&w.down, GPUL_STREAM_NON_BLOCKING);
    gpul_pinned_array(&w.a[PINNED], GPUL_U8, gpul_1d(most));
    gpul_mapped_array(&w.a[MAPPED], GPUL_U8, gpul_1d(most));
    gpul_pinned_array(&w.a[SINK], GPUL_U8, gpul_1d(most));
    gpul_device_array(&w.a[IN], GPUL_U8, gpul_1d(most), NULL);
    for (int64_t i = 0; i < most; ++i) w.source[i] = (unsigned char)(i % 251);
    memcpy(w.a[PINNED].data, w.source, (size_t)most);
    memcpy(w.a[MAPPED].data, w.source, (size_t)most);
    GPUL_TO_DEVICE(&w.a[OUT], w.source, gpul_1d(most));

    printf("GB/s, %s\n\n%10s", device_name(), "bytes");
    for (int way = 0; way < WAYS; ++way) printf(" %17s", names[way]);
    for (int s = 0; s < SIZES; ++s) {
        const int64_t n = most >> 2 * (SIZES - 1 - s);
        bytes[s] = (double)n;
        printf("\n%10lld", (long long)n);
        for (int way = 0; way < WAYS; ++way) {
            gbps[way][s] = measure(&w, way, n, &ok);
            best = fmax(best, gbps[way][s]);
            printf(" %17s", !on_gpu() ? "-" : digits(text, gbps[way][s]));
        }
    }
    printf("\n\n%s\n", ok ? "all that has arrived is what was sent" : "WRONG: what has arrived is not what was sent");

    chart c = chart_begin(argc > 1 ? argv[1] : "transfers.svg", "Copies between CPU and GPU", device_name());
    chart_x(&c, "bytes", bytes[0], bytes[SIZES - 1], 2);
    chart_y(&c, "GB/s", 0, chart_reach(best), 0);
    for (int way = 0; way < WAYS; ++way) chart_line(&c, names[way], bytes, gbps[way], SIZES);
    ok &= chart_end(&c);
    for (int i = 0; i < ARRAYS; ++i) gpul_free(&w.a[i]);
    gpul_stream_destroy(&w.up), gpul_stream_destroy(&w.down);
    free(w.source);
    return !ok;
}
