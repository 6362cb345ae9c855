/* SPDX-License-Identifier: MIT
 *
 * One good call of every public function that talks to CUDA, for tests that make such calls fail: world_open() makes
 * the arrays, each entry of calls[] makes one call whose outputs are boxes of the world or the bytes of world.plain,
 * and `undo` gives back what a successful call made. */
#ifndef CALLS_H
#define CALLS_H

#include "check.h"
#include "dlpack.h"

enum { W_A, W_B, W_C, W_D, W_X, W_Y, W_BIG, W_ONE, W_COLUMNS, W_COUNTS, W_SUMS, W_BINS, W_MANY, W_SKEW, W_COUNT };
enum { BIG = 70000 }; /* elements of W_BIG: enough for a reduction to need scratch memory */

typedef struct world {
    /* inputs A, B, X, BIG; outputs C, D, Y, ONE, COLUMNS, COUNTS, SUMS, MANY (70000 bins), SKEW (strided) */
    box b[W_COUNT];
    union {
        unsigned char bytes[512];
        gpul_array array;
        gpul_device info;
        gpul_stream stream;
        gpul_event event;
        gpul_timer timer;
        gpul_difference difference;
        gpul_benchmark_result benchmark;
        gpul_roof roof;
        int32_t i32;
        int64_t i64[2];
        float f32;
        double f64;
    } plain;
    gpul_array pinned, kept, far_whole, far; /* far: strided, on device 1 where there is one */
    gpul_stream stream, other, far_stream;
    gpul_event event, event2;
    gpul_graph graph; /* of a fill of D */
    gpul_timer timer;
    float *host;                      /* pageable, 1200 floats */
    double edges[4], many_edges[501]; /* more than a launch's arguments hold */
} world;

static CHECK_UNUSED void world_open(world *w) {
    int32_t devices = 0;
    memset(w, 0, sizeof *w);
    CHECK_OK(gpul_device_count(&devices));
    CHECK_OK(gpul_device_select(devices > 1));
    CHECK_OK(gpul_zeros(&w->far_whole, GPUL_F32, gpul_2d(30, 80), NULL));
    CHECK_OK(gpul_slice(&w->far, &w->far_whole, 1, 0, 80, 2));
    CHECK_OK(gpul_stream_create(&w->far_stream, GPUL_STREAM_DEFAULT));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_device_select(0));
    box_2d(&w->b[W_A], GPUL_F32, 30, 40, LAY_C, 0, FILL_NAN);
    box_2d(&w->b[W_B], GPUL_F32, 40, 30, LAY_C_PAD, 0, FILL_NAN);
    box_2d(&w->b[W_C], GPUL_F32, 30, 30, LAY_C, 0, FILL_NAN);
    box_2d(&w->b[W_D], GPUL_F32, 30, 40, LAY_C, 0, FILL_NAN);
    box_1d(&w->b[W_X], GPUL_F32, 40, 0, FILL_NAN);
    box_1d(&w->b[W_Y], GPUL_F32, 30, 0, FILL_NAN);
    box_1d(&w->b[W_BIG], GPUL_F32, BIG, 0, FILL_NAN);
    box_1d(&w->b[W_ONE], GPUL_F32, 1, 0, FILL_NAN);
    box_1d(&w->b[W_COLUMNS], GPUL_F32, 40, 0, FILL_NAN);
    box_1d(&w->b[W_COUNTS], GPUL_I64, 3, 0, FILL_NAN);
    box_1d(&w->b[W_SUMS], GPUL_F64, 3, 0, FILL_NAN);
    box_1d(&w->b[W_BINS], GPUL_I32, 500, 0, FILL_NAN);
    box_1d(&w->b[W_MANY], GPUL_I32, 70000, 0, FILL_NAN);
    box_2d(&w->b[W_SKEW], GPUL_F32, 30, 40, LAY_F_PAD, 1, FILL_NAN);
    for (int i = 0; i < W_COUNT; i++) box_random(&w->b[i], 1);
    CHECK_OK(gpul_pinned_array(&w->pinned, GPUL_F32, gpul_2d(30, 40)));
    memset(w->pinned.data, 0, 4800);
    CHECK_OK(gpul_stream_create(&w->stream, GPUL_STREAM_DEFAULT));
    CHECK_OK(gpul_stream_create(&w->other, GPUL_STREAM_DEFAULT));
    CHECK_OK(gpul_event_create(&w->event));
    CHECK_OK(gpul_event_create(&w->event2));
    CHECK_OK(gpul_event_record(w->event, w->stream));
    CHECK_OK(gpul_event_record(w->event2, w->stream));
    w->host = (float *)calloc(1200, 4);
    w->edges[0] = -9;
    w->edges[1] = 0;
    w->edges[2] = 1;
    w->edges[3] = 9;
    for (int i = 0; i < COUNT_OF(w->many_edges); i++) w->many_edges[i] = i - 250;
    memset(w->plain.bytes, 0xEE, sizeof w->plain.bytes);
    CHECK_OK(gpul_graph_begin(w->stream));
    CHECK_OK(gpul_fill(&w->b[W_D].view, 5, w->stream));
    CHECK_OK(gpul_graph_end(&w->graph, w->stream));
    CHECK_OK(gpul_device_synchronize());
}
static CHECK_UNUSED void world_close(world *w) {
    CHECK_OK(gpul_device_synchronize());
    for (int i = 0; i < W_COUNT; i++) box_free(&w->b[i]);
    CHECK_OK(gpul_free(&w->pinned));
    CHECK_OK(gpul_free(&w->kept));
    CHECK_OK(gpul_free(&w->far_whole));
    CHECK_OK(gpul_stream_destroy(&w->far_stream));
    CHECK_OK(gpul_stream_destroy(&w->stream));
    CHECK_OK(gpul_stream_destroy(&w->other));
    CHECK_OK(gpul_event_destroy(&w->event));
    CHECK_OK(gpul_event_destroy(&w->event2));
    CHECK_OK(gpul_graph_free(&w->graph));
    CHECK_OK(gpul_timer_free(&w->timer));
    free(w->host);
}

#define V(name) (&w->b[W_##name].view)
#define CALL(id, call)                                                                                                 \
    static gpul_status call_##id(world *w) {                                                                           \
        (void)w;                                                                                                       \
        return call;                                                                                                   \
    }
CALL(device_array, gpul_device_array(&w->plain.array, GPUL_F32, gpul_1d(1000), NULL))
CALL(device_array_on, gpul_device_array(&w->plain.array, GPUL_F32, gpul_1d(1000), w->stream))
CALL(device_array_like, gpul_device_array_like(&w->plain.array, V(A), w->stream))
CALL(to_device, gpul_to_device(&w->plain.array, w->host, GPUL_F32, gpul_1d(1200), NULL))
CALL(to_device_on, gpul_to_device(&w->plain.array, w->host, GPUL_F32, gpul_1d(1200), w->stream))
CALL(full, gpul_full(&w->plain.array, GPUL_F32, gpul_1d(2000), 3, NULL))
CALL(zeros, gpul_zeros(&w->plain.array, GPUL_F32, gpul_1d(100), NULL))
CALL(clone, gpul_clone(&w->plain.array, V(A), w->stream))
CALL(clone_skew, gpul_clone(&w->plain.array, V(B), NULL))
CALL(pinned_array, gpul_pinned_array(&w->plain.array, GPUL_F32, gpul_1d(1000)))
CALL(mapped_array, gpul_mapped_array(&w->plain.array, GPUL_F32, gpul_1d(1000)))
CALL(managed_array, gpul_managed_array(&w->plain.array, GPUL_F32, gpul_1d(1000)))
CALL(pin, gpul_pin(w->host, 4800))
CALL(memory_limit, gpul_memory_limit(0))
CALL(memory_used, gpul_memory_used(&w->plain.i64[0], &w->plain.i64[1]))
CALL(memory_trim, gpul_memory_trim())
CALL(copy_to_device, gpul_copy_to_device(V(D), w->host, NULL))
CALL(copy_to_device_on, gpul_copy_to_device(V(D), w->pinned.data, w->stream))
CALL(copy_to_device_skew, gpul_copy_to_device(V(SKEW), w->host, NULL))
CALL(copy_to_host, gpul_copy_to_host(w->host, V(A), NULL))
CALL(copy_to_host_on, gpul_copy_to_host(w->pinned.data, V(A), w->stream))
CALL(copy_to_host_skew, gpul_copy_to_host(w->host, V(B), NULL))
CALL(to_host, gpul_to_host(w->host, GPUL_F32, V(A), NULL))
CALL(allclose, gpul_allclose(&w->plain.difference, V(A), V(D), 0, 0, w->stream))
CALL(allclose_skew, gpul_allclose(&w->plain.difference, V(SKEW), V(A), 0, 0, NULL))
CALL(print, gpul_print(NULL, (char *)w->plain.bytes, sizeof w->plain.bytes, V(A), w->stream))
CALL(copy, gpul_copy(V(D), V(A), NULL))
CALL(copy_skew, gpul_copy(V(SKEW), V(A), w->stream))
CALL(copy_pinned, gpul_copy(V(D), &w->pinned, NULL))
CALL(copy_far, gpul_copy(V(D), &w->far, NULL))
CALL(copy_far_on, gpul_copy(V(D), &w->far, w->stream))
CALL(copy_far_skew, gpul_copy(V(SKEW), &w->far, w->stream))
CALL(fill, gpul_fill(V(D), 3, NULL))
CALL(fill_skew, gpul_fill(V(SKEW), 3, w->stream))
static const int64_t one_two[2] = {1, 2};
static const float three = 3;
CALL(get, gpul_get(&w->plain.f32, V(A), one_two, NULL))
CALL(set, gpul_set(V(D), one_two, &three, w->stream))
CALL(wrap, gpul_wrap(&w->plain.array, w->b[W_A].base.data, GPUL_F32, gpul_1d(20)))
CALL(wrap_strided, gpul_wrap_strided(&w->plain.array, w->b[W_A].base.data, GPUL_F32, gpul_2d(1, 2), one_two))
static const DLManagedTensor *tensor_of(world *w) {
    static int64_t shape[1] = {20};
    static DLManagedTensor tensor;
    tensor.dl_tensor.data = w->b[W_A].base.data;
    tensor.dl_tensor.device.device_type = 2;
    tensor.dl_tensor.ndim = 1;
    tensor.dl_tensor.dtype.code = 2;
    tensor.dl_tensor.dtype.bits = 32;
    tensor.dl_tensor.dtype.lanes = 1;
    tensor.dl_tensor.shape = shape;
    return &tensor;
}
CALL(from_dlpack, gpul_from_dlpack(&w->plain.array, tensor_of(w)))
CALL(stream_create, gpul_stream_create(&w->plain.stream, GPUL_STREAM_NON_BLOCKING))
CALL(stream_synchronize, gpul_stream_synchronize(w->stream))
CALL(stream_query, gpul_stream_query(&w->plain.i32, w->stream))
CALL(stream_wait, gpul_stream_wait(w->stream, w->other))
CALL(device_synchronize, gpul_device_synchronize())
CALL(event_create, gpul_event_create(&w->plain.event))
CALL(event_record, gpul_event_record(w->event, w->stream))
CALL(event_synchronize, gpul_event_synchronize(w->event))
CALL(event_query, gpul_event_query(&w->plain.i32, w->event))
CALL(event_seconds, gpul_event_seconds(&w->plain.f64, w->event, w->event2))
CALL(timer_start, gpul_timer_start(&w->timer, w->far_stream)) /* where device 1 is the current one, if there is one */
CALL(graph_begin, gpul_graph_begin(w->stream))
CALL(graph_launch, gpul_graph_launch(w->graph, w->stream))
CALL(vecadd, gpul_vecadd(V(D), V(A), V(A), NULL))
CALL(vecmul, gpul_vecmul(V(SKEW), V(A), V(X), w->stream))
CALL(binary, gpul_binary(V(SKEW), GPUL_MAXIMUM, V(A), V(X), w->stream))
CALL(binary_scalar, gpul_binary(V(D), GPUL_SUBTRACT, GPUL_SCALAR(1), V(A), NULL))
CALL(unary, gpul_unary(V(D), GPUL_EXP, V(A), w->stream))
CALL(scale, gpul_scale(V(D), 2, V(A), 1, NULL))
CALL(clip, gpul_clip(V(SKEW), V(A), -1, 1, w->stream))
static gpul_status call_where(world *w) { /* a mask of u8: the first bytes of A's memory */
    gpul_array mask = GPUL_ZERO;
    if (gpul_slice(&mask, &w->b[W_A].base, 0, 0, 40, 1)) return -1;
    return gpul_where(V(D), &mask, V(X), GPUL_SCALAR(0), w->stream);
}
CALL(convert, gpul_convert(V(SUMS), V(COUNTS), w->stream))
CALL(arange, gpul_arange(V(COUNTS), 5, 2, NULL))
CALL(linspace, gpul_linspace(V(X), 0, 1, w->stream))
CALL(gemv, gpul_gemv(V(Y), 2, V(A), V(X), 0, NULL))
CALL(reduce, gpul_reduce(V(ONE), V(BIG), GPUL_SUM, GPUL_ALL_AXES, w->stream))
CALL(reduce_small, gpul_reduce(V(ONE), V(X), GPUL_MAX, GPUL_ALL_AXES, NULL))
CALL(reduce_axis, gpul_reduce(V(COLUMNS), V(A), GPUL_MEAN, 0, w->stream))
CALL(reduce_host, gpul_reduce_host(&w->plain.f32, GPUL_F32, V(BIG), GPUL_SUM, w->stream))
CALL(dot, gpul_dot(V(ONE), V(BIG), V(BIG), w->stream))
CALL(histogram, gpul_histogram(V(COUNTS), V(BIG), -9, 9, w->stream))
CALL(histogram_many, gpul_histogram(V(MANY), V(BIG), -9, 9, w->stream))
static gpul_status call_histogram_auto(world *w) {
    gpul_histogram_options o = GPUL_ZERO;
    return gpul_histogram_ex(V(COUNTS), V(BIG), &o, w->stream);
}
static gpul_status call_histogram_edges(world *w) {
    gpul_histogram_options o = GPUL_ZERO;
    o.range = GPUL_RANGE_EDGES;
    o.edges = w->edges;
    o.n_edges = 4;
    return gpul_histogram_ex(V(COUNTS), V(BIG), &o, w->stream);
}
static gpul_status call_histogram_many_edges(world *w) {
    gpul_histogram_options o = GPUL_ZERO;
    o.range = GPUL_RANGE_EDGES;
    o.edges = w->many_edges;
    o.n_edges = COUNT_OF(w->many_edges);
    return gpul_histogram_ex(V(BINS), V(BIG), &o, w->stream);
}
static gpul_status call_histogram_weights(world *w) {
    gpul_histogram_options o = GPUL_ZERO;
    o.range = GPUL_RANGE_LO_HI;
    o.lo = -9;
    o.hi = 9;
    o.weights = V(BIG);
    return gpul_histogram_ex(V(SUMS), V(BIG), &o, w->stream);
}
CALL(matmul, gpul_matmul(V(C), V(A), V(B), NULL))
CALL(gemm, gpul_gemm(V(C), 2, V(A), V(B), 1, w->stream))
CALL(device_current, gpul_device_current(&w->plain.i32))
CALL(device_select, gpul_device_select(0))
CALL(device_by_id, gpul_device_by_id(&w->plain.i32, "1"))
CALL(device_info, gpul_device_info(&w->plain.info, 0))
CALL(device_roof, gpul_device_roof(&w->plain.roof, 0))
static gpul_status no_work(void *user) {
    (void)user;
    return GPUL_OK;
}
static gpul_status call_benchmark(world *w) {
    gpul_benchmark_options o = GPUL_ZERO;
    o.repeat = 1;
    o.warmup = 1;
    o.flush_l2 = 1;
    return gpul_benchmark(&w->plain.benchmark, no_work, w, &o);
}
static gpul_status call_matmul_steps(world *w) { /* a stack of two dimensions: three launches */
    gpul_array rows = GPUL_ZERO, columns = GPUL_ZERO, cells = GPUL_ZERO;
    if (gpul_slice(&rows, V(BIG), 0, 0, 105, 1) || gpul_reshape(&rows, &rows, gpul_4d(3, 1, 5, 7)) ||
        gpul_slice(&columns, V(BIG), 0, 0, 420, 1) || gpul_reshape(&columns, &columns, gpul_3d(10, 7, 6)) ||
        gpul_reshape(&cells, V(C), gpul_4d(3, 10, 5, 6)))
        return -1;
    return gpul_matmul(&cells, &rows, &columns, w->stream);
}
static gpul_status call_gemm_long(world *w) { /* few outputs, long K: split */
    gpul_array row = GPUL_ZERO, column = GPUL_ZERO, cell = GPUL_ZERO;
    if (gpul_reshape(&row, V(BIG), gpul_2d(1, BIG)) || gpul_reshape(&column, V(BIG), gpul_2d(BIG, 1)) ||
        gpul_reshape(&cell, V(ONE), gpul_2d(1, 1)))
        return -1;
    return gpul_gemm(&cell, 1, &row, &column, 0, w->stream);
}
static gpul_status call_gemm_stack(world *w) { /* nine products, each split, and all that can follow */
    gpul_array some = GPUL_ZERO, rows = GPUL_ZERO, columns = GPUL_ZERO, cells = GPUL_ZERO, bias = GPUL_ZERO;
    gpul_gemm_options o = GPUL_ZERO;
    if (gpul_slice(&some, V(BIG), 0, 0, 63000, 1) || gpul_reshape(&rows, &some, gpul_3d(9, 10, 700)) ||
        gpul_reshape(&columns, &some, gpul_3d(9, 700, 10)) || gpul_reshape(&cells, V(C), gpul_3d(9, 10, 10)) ||
        gpul_slice(&bias, V(X), 0, 0, 40, 4))
        return -1;
    o.bias = &bias;
    o.activation = GPUL_ACTIVATION_GELU;
    return gpul_gemm_ex(&cells, 1, &rows, &columns, 1, &o, w->stream);
}
#undef CALL

static CHECK_UNUSED void undo_array(world *w) { CHECK_OK(gpul_free(&w->plain.array)); }
static CHECK_UNUSED void undo_pin(world *w) { CHECK_OK(gpul_unpin(w->host)); }
static CHECK_UNUSED void undo_stream(world *w) { CHECK_OK(gpul_stream_destroy(&w->plain.stream)); }
static CHECK_UNUSED void undo_event(world *w) { CHECK_OK(gpul_event_destroy(&w->plain.event)); }
static CHECK_UNUSED void undo_capture(world *w) {
    gpul_graph graph = NULL;
    CHECK_OK(gpul_graph_end(&graph, w->stream));
    CHECK_OK(gpul_graph_free(&graph));
}
static CHECK_UNUSED void undo_timer(world *w) { CHECK_OK(gpul_timer_free(&w->timer)); }

typedef struct entry {
    const char *function;
    gpul_status (*call)(world *);
    void (*undo)(world *);
} entry;
static const entry calls[] = {
    {"gpul_device_array", call_device_array, undo_array},
    {"gpul_device_array", call_device_array_on, undo_array},
    {"gpul_device_array_like", call_device_array_like, undo_array},
    {"gpul_to_device", call_to_device, undo_array},
    {"gpul_to_device", call_to_device_on, undo_array},
    {"gpul_full", call_full, undo_array},
    {"gpul_zeros", call_zeros, undo_array},
    {"gpul_clone", call_clone, undo_array},
    {"gpul_clone", call_clone_skew, undo_array},
    {"gpul_pinned_array", call_pinned_array, undo_array},
    {"gpul_mapped_array", call_mapped_array, undo_array},
    {"gpul_managed_array", call_managed_array, undo_array},
    {"gpul_pin", call_pin, undo_pin},
    {"gpul_memory_limit", call_memory_limit, NULL},
    {"gpul_memory_used", call_memory_used, NULL},
    {"gpul_memory_trim", call_memory_trim, NULL},
    {"gpul_copy_to_device", call_copy_to_device, NULL},
    {"gpul_copy_to_device", call_copy_to_device_on, NULL},
    {"gpul_copy_to_device", call_copy_to_device_skew, NULL},
    {"gpul_copy_to_host", call_copy_to_host, NULL},
    {"gpul_copy_to_host", call_copy_to_host_on, NULL},
    {"gpul_copy_to_host", call_copy_to_host_skew, NULL},
    {"gpul_to_host", call_to_host, NULL},
    {"gpul_allclose", call_allclose, NULL},
    {"gpul_allclose", call_allclose_skew, NULL},
    {"gpul_print", call_print, NULL},
    {"gpul_copy", call_copy, NULL},
    {"gpul_copy", call_copy_skew, NULL},
    {"gpul_copy", call_copy_pinned, NULL},
    {"gpul_copy", call_copy_far, NULL},
    {"gpul_copy", call_copy_far_on, NULL},
    {"gpul_copy", call_copy_far_skew, NULL},
    {"gpul_fill", call_fill, NULL},
    {"gpul_fill", call_fill_skew, NULL},
    {"gpul_get", call_get, NULL},
    {"gpul_set", call_set, NULL},
    {"gpul_wrap", call_wrap, NULL},
    {"gpul_wrap_strided", call_wrap_strided, NULL},
    {"gpul_from_dlpack", call_from_dlpack, NULL},
    {"gpul_stream_create", call_stream_create, undo_stream},
    {"gpul_stream_synchronize", call_stream_synchronize, NULL},
    {"gpul_stream_query", call_stream_query, NULL},
    {"gpul_stream_wait", call_stream_wait, NULL},
    {"gpul_device_synchronize", call_device_synchronize, NULL},
    {"gpul_event_create", call_event_create, undo_event},
    {"gpul_event_record", call_event_record, NULL},
    {"gpul_event_synchronize", call_event_synchronize, NULL},
    {"gpul_event_query", call_event_query, NULL},
    {"gpul_event_seconds", call_event_seconds, NULL},
    {"gpul_timer_start", call_timer_start, undo_timer},
    {"gpul_graph_begin", call_graph_begin, undo_capture},
    {"gpul_graph_launch", call_graph_launch, NULL},
    {"gpul_vecadd", call_vecadd, NULL},
    {"gpul_vecmul", call_vecmul, NULL},
    {"gpul_binary", call_binary, NULL},
    {"gpul_binary", call_binary_scalar, NULL},
    {"gpul_unary", call_unary, NULL},
    {"gpul_scale", call_scale, NULL},
    {"gpul_clip", call_clip, NULL},
    {"gpul_where", call_where, NULL},
    {"gpul_convert", call_convert, NULL},
    {"gpul_arange", call_arange, NULL},
    {"gpul_linspace", call_linspace, NULL},
    {"gpul_gemv", call_gemv, NULL},
    {"gpul_reduce", call_reduce, NULL},
    {"gpul_reduce", call_reduce_small, NULL},
    {"gpul_reduce", call_reduce_axis, NULL},
    {"gpul_reduce_host", call_reduce_host, NULL},
    {"gpul_dot", call_dot, NULL},
    {"gpul_histogram", call_histogram, NULL},
    {"gpul_histogram", call_histogram_many, NULL},
    {"gpul_histogram_ex", call_histogram_auto, NULL},
    {"gpul_histogram_ex", call_histogram_edges, NULL},
    {"gpul_histogram_ex", call_histogram_many_edges, NULL},
    {"gpul_histogram_ex", call_histogram_weights, NULL},
    {"gpul_matmul", call_matmul, NULL},
    {"gpul_matmul", call_matmul_steps, NULL},
    {"gpul_gemm", call_gemm, NULL},
    {"gpul_gemm", call_gemm_long, NULL},
    {"gpul_gemm_ex", call_gemm_stack, NULL},
    {"gpul_device_current", call_device_current, NULL},
    {"gpul_device_select", call_device_select, NULL},
    {"gpul_device_by_id", call_device_by_id, NULL},
    {"gpul_device_info", call_device_info, NULL},
    {"gpul_device_roof", call_device_roof, NULL},
    {"gpul_benchmark", call_benchmark, NULL},
};

/* Nothing that a call could have written has changed; then everything is as it was, whatever happened. */
static CHECK_UNUSED int world_untouched(world *w, const char *what) {
    int good = 1;
    CHECK_OK(gpul_device_synchronize());
    for (int i = 0; i < W_COUNT && good; i++) {
        box_fetch(&w->b[i]);
        if (memcmp(w->b[i].now, w->b[i].image, (size_t)w->b[i].bytes) != 0)
            good = check_fail(__FILE__, __LINE__, "%s: box %d was written", what, i);
    }
    for (int i = 0; i < (int)sizeof w->plain.bytes && good; i++)
        if (w->plain.bytes[i] != 0xEE)
            good = check_fail(__FILE__, __LINE__, "%s: byte %d of a plain output was written", what, i);
    for (int i = 0; i < 1200 && good; i++)
        if (w->host[i] != 0 || ((float *)w->pinned.data)[i] != 0)
            good = check_fail(__FILE__, __LINE__, "%s: a host buffer was written", what);
    return good ? check_pass() : 0;
}
static CHECK_UNUSED void world_restore(world *w) {
    CHECK_OK(gpul_device_synchronize());
    for (int i = 0; i < W_COUNT; i++) box_upload(&w->b[i]);
    memset(w->plain.bytes, 0xEE, sizeof w->plain.bytes);
    memset(w->host, 0, 4800);
    memset(w->pinned.data, 0, 4800);
}
/* What a call left in the boxes and in the host's buffers: FNV-1a */
static CHECK_UNUSED uint64_t world_hash(world *w) {
    const unsigned char *const host[2] = {(const unsigned char *)w->host, (const unsigned char *)w->pinned.data};
    uint64_t hash = 0xcbf29ce484222325u;
    CHECK_OK(gpul_device_synchronize());
    for (int i = 0; i < W_COUNT; i++) {
        box_fetch(&w->b[i]);
        for (int64_t k = 0; k < w->b[i].bytes; k++) hash = (hash ^ w->b[i].now[k]) * 0x100000001b3u;
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4800; k++) hash = (hash ^ host[i][k]) * 0x100000001b3u;
    return hash;
}

#endif
