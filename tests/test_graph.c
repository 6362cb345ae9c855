/* SPDX-License-Identifier: MIT
 * Graphs: every operation captures and replays on changed data; what a graph cannot hold; errors and failing calls. */
#define GPULITE__KERNELS /* how many workspaces there are, which is private */
#include "check.h"

enum { ROWS = 37, COLS = 53, LONG = 70001, BINS = 17, MANY_BINS = 70000 };

/* Inputs, which change from replay to replay. */
typedef struct stage {
    gpul_array a, b, x;  /* float32: ROWS x COLS twice, COLS */
    gpul_array z, w;     /* float32: LONG twice */
    gpul_array i;        /* int64: LONG */
    gpul_array d, h, bf; /* float64, float16 and bfloat16: ROWS x COLS */
    gpul_array pinned;   /* float32: ROWS x COLS */
} stage;

static void stage_open(stage *g) {
    memset(g, 0, sizeof *g);
    CHECK_OK(gpul_device_array(&g->a, GPUL_F32, gpul_2d(ROWS, COLS), NULL));
    CHECK_OK(gpul_device_array(&g->b, GPUL_F32, gpul_2d(ROWS, COLS), NULL));
    CHECK_OK(gpul_device_array(&g->x, GPUL_F32, gpul_1d(COLS), NULL));
    CHECK_OK(gpul_device_array(&g->z, GPUL_F32, gpul_1d(LONG), NULL));
    CHECK_OK(gpul_device_array(&g->w, GPUL_F32, gpul_1d(LONG), NULL));
    CHECK_OK(gpul_device_array(&g->i, GPUL_I64, gpul_1d(LONG), NULL));
    CHECK_OK(gpul_device_array(&g->d, GPUL_F64, gpul_2d(ROWS, COLS), NULL));
    CHECK_OK(gpul_device_array(&g->h, GPUL_F16, gpul_2d(ROWS, COLS), NULL));
    CHECK_OK(gpul_device_array(&g->bf, GPUL_BF16, gpul_2d(ROWS, COLS), NULL));
    CHECK_OK(gpul_pinned_array(&g->pinned, GPUL_F32, gpul_2d(ROWS, COLS)));
}
static void stage_change(stage *g) {
    gpul_array *const all[] = {&g->a, &g->b, &g->x, &g->z, &g->w, &g->i, &g->d, &g->h, &g->bf, &g->pinned};
    unsigned char *host = (unsigned char *)malloc(LONG * 8);
    CHECK_OK(gpul_device_synchronize());
    for (int k = 0; k < COUNT_OF(all); k++) {
        const size_t size = gpul_dtype_size(all[k]->dtype);
        for (int64_t at = 0; at < gpul_size(all[k]); at++)
            num_store(all[k]->dtype, host + (size_t)at * size, num_random(all[k]->dtype, 1));
        if (all[k]->memory == GPUL_MEMORY_PINNED) memcpy(all[k]->data, host, (size_t)gpul_nbytes(all[k]));
        else CHECK_OK(gpul_copy_to_device(all[k], host, NULL));
    }
    free(host);
}
static void stage_close(stage *g) {
    gpul_array *const all[] = {&g->a, &g->b, &g->x, &g->z, &g->w, &g->i, &g->d, &g->h, &g->bf, &g->pinned};
    for (int k = 0; k < COUNT_OF(all); k++) CHECK_OK(gpul_free(all[k]));
}

/* ---- a step for each operation ---- */

#define STEP(id, call)                                                                                                 \
    static gpul_status step_##id(stage *g, gpul_array *out, int arg, gpul_stream s) {                                  \
        (void)g, (void)arg;                                                                                            \
        return call;                                                                                                   \
    }
STEP(copy_to_device, gpul_copy_to_device(out, g->pinned.data, s))
STEP(copy_to_host, gpul_copy_to_host(out->data, &g->a, s))
STEP(copy, gpul_copy(out, &g->a, s))
STEP(copy_pinned, gpul_copy(out, &g->pinned, s))
STEP(fill, gpul_fill(out, arg, s))
STEP(vecadd, gpul_vecadd(out, &g->a, &g->b, s))
STEP(vecmul, gpul_vecmul(out, &g->a, &g->x, s))
STEP(binary, gpul_binary(out, arg, &g->a, &g->b, s))
STEP(binary_scalar, gpul_binary(out, arg, &g->a, GPUL_SCALAR(0.25), s))
STEP(unary, gpul_unary(out, arg, &g->a, s))
STEP(scale, gpul_scale(out, 2, &g->a, 1, s))
STEP(clip, gpul_clip(out, &g->a, -0.5, 0.5, s))
STEP(convert, gpul_convert(out, &g->a, s))
STEP(arange, gpul_arange(out, 3, 0.5, s))
STEP(linspace, gpul_linspace(out, -1, 1, s))
STEP(gemv, gpul_gemv(out, 2, &g->a, &g->x, 0, s))
STEP(gemv_add, gpul_gemv(out, 1, &g->a, &g->x, 0.5, s))
STEP(reduce, gpul_reduce(out, &g->z, arg, GPUL_ALL_AXES, s))
STEP(reduce_axis, gpul_reduce(out, &g->a, GPUL_MEAN, arg, s))
STEP(dot, gpul_dot(out, &g->z, &g->w, s))
STEP(histogram, gpul_histogram(out, &g->z, -3, 3, s))
static gpul_status step_where(stage *g, gpul_array *out, int arg, gpul_stream s) {
    gpul_array mask = GPUL_ZERO; /* bytes of integers */
    const gpul_status status = gpul_wrap(&mask, g->i.data, GPUL_U8, gpul_2d(ROWS, COLS));
    (void)arg;
    return status != GPUL_OK ? status : gpul_where(out, &mask, &g->a, &g->b, s);
}
static gpul_status step_copy_turned(stage *g, gpul_array *out, int arg, gpul_stream s) {
    gpul_array t = GPUL_ZERO;
    const gpul_status status = gpul_transpose(&t, &g->a);
    (void)arg;
    return status != GPUL_OK ? status : gpul_copy(out, &t, s);
}
static gpul_status step_to_strides(stage *g, gpul_array *out, int arg, gpul_stream s) { /* over a dense copy */
    gpul_array t = GPUL_ZERO;
    const gpul_status status = gpul_slice(&t, out, 1, 0, 2 * COLS, 2);
    (void)arg;
    return status != GPUL_OK ? status : gpul_copy_to_device(&t, g->pinned.data, s);
}
static gpul_status step_fill_turned(stage *g, gpul_array *out, int arg, gpul_stream s) {
    gpul_array t = GPUL_ZERO;
    gpul_status status = gpul_slice(&t, out, 1, 1, COLS, 3);
    (void)g;
    return status != GPUL_OK ? status : gpul_fill(&t, arg, s);
}
static gpul_status step_gemv_turned(stage *g, gpul_array *out, int arg, gpul_stream s) {
    gpul_array t = GPUL_ZERO, x = GPUL_ZERO;
    gpul_status status = gpul_transpose(&t, &g->a);
    (void)arg;
    if (status == GPUL_OK) status = gpul_slice(&x, &g->z, 0, 0, ROWS, 1);
    return status != GPUL_OK ? status : gpul_gemv(out, 1, &t, &x, 0, s);
}
/* 7 x 10000: few outputs, which blocks share */
static gpul_status step_gemv_long(stage *g, gpul_array *out, int arg, gpul_stream s) {
    gpul_array A = GPUL_ZERO, x = GPUL_ZERO;
    gpul_status status = gpul_slice(&x, &g->z, 0, 0, 70000, 1);
    (void)arg;
    if (status == GPUL_OK) status = gpul_reshape(&A, &x, gpul_2d(7, 10000));
    if (status == GPUL_OK) status = gpul_slice(&x, &g->w, 0, 0, 10000, 1);
    return status != GPUL_OK ? status : gpul_gemv(out, 1, &A, &x, 0, s);
}
static gpul_status step_reduce_long(stage *g, gpul_array *out, int arg, gpul_stream s) {
    gpul_array A = GPUL_ZERO, x = GPUL_ZERO;
    gpul_status status = gpul_slice(&x, &g->z, 0, 0, 70000, 1);
    if (status == GPUL_OK) status = gpul_reshape(&A, &x, arg == 1 ? gpul_2d(7, 10000) : gpul_2d(10000, 7));
    check_sms(4); /* for one plan on any GPU */
    if (status == GPUL_OK) status = gpul_reduce(out, &A, GPUL_SUM, arg, s);
    check_sms(0);
    return status;
}
static gpul_status step_histogram_ex(stage *g, gpul_array *out, int arg, gpul_stream s) {
    double edges[BINS + 1];
    gpul_histogram_options o = GPUL_ZERO;
    gpul_status status;
    o.range = arg == 1 ? GPUL_RANGE_EDGES : GPUL_RANGE_LO_HI;
    if (arg == 1) {
        for (int k = 0; k <= BINS; k++) edges[k] = -3 + 0.02 * k * k;
        o.edges = edges;
        o.n_edges = BINS + 1;
    } else {
        o.lo = -3;
        o.hi = 3;
    }
    if (arg == 2) o.weights = &g->w;
    if (arg == 3) o.weights = &g->i;
    if (arg == 4) o.accumulate = 1;
    status = gpul_histogram_ex(out, &g->z, &o, s);
    memset(edges, 0, sizeof edges); /* the caller's may go */
    return status;
}
static gpul_status step_matmul(stage *g, gpul_array *out, int arg, gpul_stream s) {
    const gpul_array *const of[] = {&g->a, &g->d, &g->h, &g->bf};
    gpul_array t = GPUL_ZERO;
    const gpul_status status = gpul_transpose(&t, of[arg]);
    return status != GPUL_OK ? status : gpul_matmul(out, of[arg], &t, s);
}
static gpul_status step_gemm_long(stage *g, gpul_array *out, int arg, gpul_stream s) { /* few outputs, long K: split */
    gpul_array row = GPUL_ZERO, column = GPUL_ZERO;
    gpul_status status = gpul_reshape(&row, &g->z, gpul_2d(1, LONG));
    (void)arg;
    if (status == GPUL_OK) status = gpul_reshape(&column, &g->w, gpul_2d(LONG, 1));
    return status != GPUL_OK ? status : gpul_gemm(out, 1, &row, &column, 0, s);
}

static gpul_status step_gemm_ex(stage *g, gpul_array *out, int arg, gpul_stream s) {
    gpul_gemm_options options = GPUL_ZERO;
    gpul_array t = GPUL_ZERO;
    gpul_status status = gpul_transpose(&t, &g->a);
    options.math = arg;
    return status != GPUL_OK ? status : gpul_gemm_ex(out, 1, &g->a, &t, 0, &options, s);
}

/* `scratch`: whether the graph allocates. Where a workspace will do, neither time nor memory goes into that. */
typedef struct step {
    const char *name;
    gpul_status (*enqueue)(stage *, gpul_array *out, int arg, gpul_stream);
    int arg;
    gpul_dtype dtype; /* of the output, */
    int rows, cols;   /* its shape: cols 0: a vector, both 0: an element; */
    int host;         /* and 1 where it is pinned */
    int scratch;
} step;
static const step steps[] = {
    {"copy_to_device", step_copy_to_device, 0, GPUL_F32, ROWS, COLS, 0, 0},
    {"copy_to_device, strided", step_to_strides, 0, GPUL_F32, ROWS, 2 * COLS, 0, 1},
    {"copy_to_host", step_copy_to_host, 0, GPUL_F32, ROWS, COLS, 1, 0},
    {"copy", step_copy, 0, GPUL_F32, ROWS, COLS, 0, 0},
    {"copy, transposed", step_copy_turned, 0, GPUL_F32, COLS, ROWS, 0, 0},
    {"copy from pinned", step_copy_pinned, 0, GPUL_F32, ROWS, COLS, 0, 0},
    {"copy to pinned", step_copy, 0, GPUL_F32, ROWS, COLS, 1, 0},
    {"fill", step_fill, 5, GPUL_F32, ROWS, COLS, 0, 0},
    {"fill with zeros", step_fill, 0, GPUL_F64, ROWS, COLS, 0, 0},
    {"fill, strided", step_fill_turned, 3, GPUL_BF16, ROWS, COLS, 0, 0},
    {"vecadd", step_vecadd, 0, GPUL_F32, ROWS, COLS, 0, 0},
    {"vecmul, broadcast", step_vecmul, 0, GPUL_F32, ROWS, COLS, 0, 0},
    {"subtract", step_binary, GPUL_SUBTRACT, GPUL_F32, ROWS, COLS, 0, 0},
    {"less", step_binary, GPUL_LESS, GPUL_U8, ROWS, COLS, 0, 0},
    {"maximum with a scalar", step_binary_scalar, GPUL_MAXIMUM, GPUL_F32, ROWS, COLS, 0, 0},
    {"square", step_unary, GPUL_SQUARE, GPUL_F32, ROWS, COLS, 0, 0},
    {"scale", step_scale, 0, GPUL_F32, ROWS, COLS, 0, 0},
    {"clip", step_clip, 0, GPUL_F32, ROWS, COLS, 0, 0},
    {"convert", step_convert, 0, GPUL_F64, ROWS, COLS, 0, 0},
    {"where", step_where, 0, GPUL_F32, ROWS, COLS, 0, 0},
    {"arange", step_arange, 0, GPUL_F32, COLS, 0, 0, 0},
    {"linspace", step_linspace, 0, GPUL_F64, COLS, 0, 0, 0},
    {"gemv", step_gemv, 0, GPUL_F32, ROWS, 0, 0, 0},
    {"gemv, beta", step_gemv_add, 0, GPUL_F32, ROWS, 0, 0, 0},
    {"gemv, transposed", step_gemv_turned, 0, GPUL_F32, COLS, 0, 0, 0},
    {"sum", step_reduce, GPUL_SUM, GPUL_F32, 0, 0, 0, 0},
    {"prod", step_reduce, GPUL_PROD, GPUL_F32, 0, 0, 0, 0},
    {"min", step_reduce, GPUL_MIN, GPUL_F32, 0, 0, 0, 0},
    {"max", step_reduce, GPUL_MAX, GPUL_F32, 0, 0, 0, 0},
    {"abs-sum", step_reduce, GPUL_ABS_SUM, GPUL_F32, 0, 0, 0, 0},
    {"sum-sq", step_reduce, GPUL_SUM_SQ, GPUL_F64, 0, 0, 0, 0},
    {"mean", step_reduce, GPUL_MEAN, GPUL_F64, 0, 0, 0, 0},
    {"var", step_reduce, GPUL_VAR, GPUL_F64, 0, 0, 0, 0},
    {"argmin", step_reduce, GPUL_ARGMIN, GPUL_I64, 0, 0, 0, 0},
    {"argmax", step_reduce, GPUL_ARGMAX, GPUL_I64, 0, 0, 0, 0},
    {"count-nonzero", step_reduce, GPUL_COUNT_NONZERO, GPUL_I64, 0, 0, 0, 0},
    {"mean along axis 0", step_reduce_axis, 0, GPUL_F32, COLS, 0, 0, 0},
    {"mean along axis 1", step_reduce_axis, 1, GPUL_F32, ROWS, 0, 0, 0},
    {"gemv, long rows", step_gemv_long, 0, GPUL_F32, 7, 0, 0, 0},
    {"sum along long rows", step_reduce_long, 1, GPUL_F32, 7, 0, 0, 0},
    {"sum along long columns", step_reduce_long, 0, GPUL_F32, 7, 0, 0, 0},
    {"dot", step_dot, 0, GPUL_F32, 0, 0, 0, 0},
    {"histogram", step_histogram, 0, GPUL_I32, BINS, 0, 0, 0},
    {"histogram, many bins", step_histogram, 0, GPUL_I64, MANY_BINS, 0, 0, 0},
    {"histogram_ex, accumulate", step_histogram_ex, 4, GPUL_I64, BINS, 0, 0, 0},
    {"histogram_ex, edges", step_histogram_ex, 1, GPUL_I32, BINS, 0, 0, 0},
    {"histogram_ex, float weights", step_histogram_ex, 2, GPUL_F64, BINS, 0, 0, 1},
    {"histogram_ex, integer weights", step_histogram_ex, 3, GPUL_I64, BINS, 0, 0, 0},
    {"matmul, float32", step_matmul, 0, GPUL_F32, ROWS, ROWS, 0, 0},
    {"matmul, float64", step_matmul, 1, GPUL_F64, ROWS, ROWS, 0, 0},
    {"matmul, float16", step_matmul, 2, GPUL_F16, ROWS, ROWS, 0, 0},
    {"matmul, bfloat16", step_matmul, 3, GPUL_BF16, ROWS, ROWS, 0, 0},
    {"gemm, long K", step_gemm_long, 0, GPUL_F32, 1, 1, 0, 0},
    {"gemm_ex, TF32", step_gemm_ex, GPUL_MATH_TF32, GPUL_F32, ROWS, ROWS, 0, 0},
    {"gemm_ex, emulated", step_gemm_ex, GPUL_MATH_EMULATED, GPUL_F32, ROWS, ROWS, 0, 0},
};

static void step_output(const step *p, gpul_array *out) {
    const gpul_shape shape = p->cols > 0 ? gpul_2d(p->rows, p->cols) : p->rows > 0 ? gpul_1d(p->rows) : gpul_0d();
    if (p->host) CHECK_OK(gpul_pinned_array(out, p->dtype, shape));
    else CHECK_OK(gpul_device_array(out, p->dtype, shape, NULL));
}

/* How many nodes of a graph allocate */
static int allocations_in(cudaGraph_t graph) {
    cudaGraphNode_t nodes[256];
    size_t n = COUNT_OF(nodes);
    int found = 0;
    CHECK_CUDA(cudaGraphGetNodes(graph, nodes, &n));
    CHECK(n > 0 && n <= COUNT_OF(nodes));
    for (size_t k = 0; k < n; k++) {
        enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
        CHECK_CUDA(cudaGraphNodeGetType(nodes[k], &type));
        found += type == cudaGraphNodeTypeMemAlloc;
    }
    return found;
}

/* How many nodes of the step's graph allocate */
static int allocations(const step *p, stage *g, gpul_array *out, gpul_stream s) {
    cudaGraph_t graph = NULL;
    int found;
    CHECK_CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CHECK_OK(p->enqueue(g, out, p->arg, s));
    CHECK_CUDA(cudaStreamEndCapture(s, &graph));
    found = allocations_in(graph);
    CHECK_CUDA(cudaGraphDestroy(graph));
    return found;
}

static void test_steps(void) {
    stage g;
    gpul_stream s = NULL;
    stage_open(&g);
    stage_change(&g);
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    for (int k = 0; k < COUNT_OF(steps); k++) {
        const step *const p = &steps[k];
        gpul_array out = GPUL_ZERO;
        gpul_graph graph = NULL;
        unsigned char *want, *got;
        size_t bytes;
        int changed = 0, nodes;
        step_output(p, &out);
        bytes = (size_t)gpul_nbytes(&out);
        want = (unsigned char *)malloc(2 * bytes);
        got = want + bytes;
        CHECK_OK(gpul_fill(&out, 7, NULL));
        CHECK_OK(gpul_device_synchronize());
        CHECK_OK(gpul_graph_begin(s));
        CHECK_OK(p->enqueue(&g, &out, p->arg, s));
        CHECK_OK(gpul_graph_end(&graph, s));
        CHECK_OK(gpul_stream_synchronize(s));
        CHECK_OK(gpul_copy_to_host(want, &out, NULL)); /* capturing ran nothing */
        CHECK_OK(gpul_fill(&out, 7, NULL));
        CHECK_OK(gpul_copy_to_host(got, &out, NULL));
        if (!CHECK_BYTES(want, got, bytes)) printf("    %s ran while it was captured\n", p->name);
        for (int replay = 0; replay < (left_out(1) ? 1 : 3); replay++) {
            unsigned char *before = (unsigned char *)malloc(bytes);
            memcpy(before, want, bytes);
            stage_change(&g);
            CHECK_OK(gpul_device_synchronize());
            CHECK_OK(p->enqueue(&g, &out, p->arg, s)); /* the direct run gives what is wanted */
            CHECK_OK(gpul_stream_synchronize(s));
            CHECK_OK(gpul_copy_to_host(want, &out, NULL));
            CHECK_OK(gpul_fill(&out, 7, NULL));
            CHECK_OK(gpul_device_synchronize());
            CHECK_OK(gpul_graph_launch(graph, s));
            CHECK_OK(gpul_stream_synchronize(s));
            CHECK_OK(gpul_copy_to_host(got, &out, NULL));
            if (!CHECK_BYTES(got, want, bytes)) printf("    %s, replay %d\n", p->name, replay);
            changed += memcmp(before, want, bytes) != 0;
            CHECK_OK(gpul_fill(&out, 7, NULL));
            CHECK_OK(gpul_device_synchronize());
            free(before);
        }
        CHECK(changed > 0);
        nodes = allocations(p, &g, &out, s);
        if ((nodes > 0) != p->scratch) FAIL("the graph of %s has %d nodes that allocate", p->name, nodes);
        CHECK_OK(gpul_graph_free(&graph));
        CHECK(graph == NULL);
        CHECK_OK(gpul_free(&out));
        free(want);
    }
    CHECK_OK(gpul_stream_destroy(&s));
    stage_close(&g);
}

/* Many steps in one graph, a second stream that joins, and an array that lives in the graph. */
static void test_whole(void) {
    gpul_stream s = NULL, t = NULL;
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, both = GPUL_ZERO, sum = GPUL_ZERO, made = GPUL_ZERO, pinned = GPUL_ZERO;
    gpul_graph graph = NULL;
    int64_t used = -1, again = -1;
    const int64_t n = 20011;
    double got = 0;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_stream_create(&t, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_pinned_array(&pinned, GPUL_F64, gpul_1d(n)));
    CHECK_OK(gpul_device_array(&x, GPUL_F64, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&y, GPUL_F64, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&both, GPUL_F64, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&sum, GPUL_F64, gpul_0d(), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_memory_used(&used, NULL));
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(gpul_copy_to_device(&x, pinned.data, s));
    CHECK_OK(gpul_stream_wait(t, s));
    CHECK_OK(gpul_vecadd(&y, &x, &x, t)); /* beside the next two */
    CHECK_OK(gpul_device_array(&made, GPUL_F64, gpul_1d(n), s));
    CHECK_OK(gpul_vecmul(&made, &x, &x, s));
    CHECK_OK(gpul_stream_wait(s, t));
    CHECK_OK(gpul_vecadd(&both, &made, &y, s));
    CHECK_OK(gpul_free(&made));
    CHECK_OK(gpul_reduce(&sum, &both, GPUL_SUM, GPUL_ALL_AXES, s));
    CHECK_OK(gpul_graph_end(&graph, s));
    CHECK_OK(gpul_memory_used(&again, NULL));
    CHECK_INT(again, used);
    for (int round = 1; round <= 4; round++) {
        for (int64_t k = 0; k < n; k++) ((double *)pinned.data)[k] = round;
        CHECK_OK(gpul_graph_launch(graph, round % 2 ? s : t));
        CHECK_OK(gpul_device_synchronize());
        CHECK_OK(gpul_get(&got, &sum, NULL, NULL));
        CHECK_NEAR(got, (double)(round * round + 2 * round) * (double)n, 0);
    }
    for (int64_t k = 0; k < n; k++) ((double *)pinned.data)[k] = 3;
    for (int k = 0; k < 6; k++) CHECK_OK(gpul_graph_launch(graph, k % 2 ? s : t)); /* one after the other */
    CHECK_OK(gpul_graph_free(&graph));                                             /* while they run */
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_get(&got, &sum, NULL, NULL));
    CHECK_NEAR(got, 15.0 * (double)n, 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&y));
    CHECK_OK(gpul_free(&both));
    CHECK_OK(gpul_free(&sum));
    CHECK_OK(gpul_free(&pinned));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_OK(gpul_stream_destroy(&t));
}

/* Two graphs that reduce, and reductions outside of graphs, at a time: nobody's partial results are another's. */
static void test_beside(void) {
    enum { STREAMS = 4, ROUNDS = 10 };
    gpul_stream s[STREAMS];
    gpul_array x[STREAMS], sum[STREAMS], counts[STREAMS];
    gpul_graph graph[STREAMS];
    memset(x, 0, sizeof x);
    memset(sum, 0, sizeof sum);
    memset(counts, 0, sizeof counts);
    for (int k = 0; k < STREAMS; k++) {
        graph[k] = NULL;
        CHECK_OK(gpul_stream_create(&s[k], GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_device_array(&x[k], GPUL_F64, gpul_1d(LONG), NULL));
        CHECK_OK(gpul_device_array(&sum[k], GPUL_F64, gpul_0d(), NULL));
        CHECK_OK(gpul_device_array(&counts[k], GPUL_I64, gpul_1d(9), NULL));
        CHECK_OK(gpul_fill(&x[k], k, NULL));
    }
    CHECK_OK(gpul_device_synchronize());
    for (int k = 0; k < 2; k++) {
        CHECK_OK(gpul_graph_begin(s[k]));
        CHECK_OK(gpul_reduce(&sum[k], &x[k], GPUL_SUM, GPUL_ALL_AXES, s[k]));
        CHECK_OK(gpul_histogram(&counts[k], &x[k], 0, 9, s[k]));
        CHECK_OK(gpul_graph_end(&graph[k], s[k]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        if (left_out(round) && round != 1) continue; /* an even and an odd one */
        for (int k = 0; k < STREAMS; k++) {
            CHECK_OK(gpul_fill(&sum[k], -1, s[k]));
            /* the graphs run on the streams that they were captured on, and on others */
            if (k < 2) CHECK_OK(gpul_graph_launch(graph[k], s[round % 2 ? k : 1 - k]));
            CHECK_OK(gpul_reduce(&sum[2], &x[2], GPUL_SUM, GPUL_ALL_AXES, s[2]));
            CHECK_OK(gpul_histogram(&counts[2], &x[2], 0, 9, s[2]));
            CHECK_OK(gpul_reduce(&sum[3], &x[3], GPUL_SUM, GPUL_ALL_AXES, s[3]));
        }
        CHECK_OK(gpul_device_synchronize());
        for (int k = 0; k < 2; k++) CHECK_OK(gpul_graph_launch(graph[k], s[k + 2]));
        CHECK_OK(gpul_device_synchronize());
        for (int k = 0; k < STREAMS; k++) {
            const int64_t at[1] = {k};
            double got = -2;
            int64_t count = -2;
            CHECK_OK(gpul_get(&got, &sum[k], NULL, NULL));
            CHECK_NEAR(got, (double)k * LONG, 0);
            if (k == 3) continue;
            CHECK_OK(gpul_get(&count, &counts[k], at, NULL));
            CHECK_INT(count, LONG);
        }
    }
    for (int k = 0; k < STREAMS; k++) {
        CHECK_OK(gpul_graph_free(&graph[k]));
        CHECK_OK(gpul_free(&x[k]));
        CHECK_OK(gpul_free(&sum[k]));
        CHECK_OK(gpul_free(&counts[k]));
        CHECK_OK(gpul_stream_destroy(&s[k]));
    }
}

/* An array that was made in a capture and not freed there: each launch has it, and gpul_free ends the last one. */
static void test_not_freed(void) {
    gpul_stream s = NULL;
    gpul_array made = GPUL_ZERO, out = GPUL_ZERO;
    gpul_graph graph = NULL;
    float got[100];
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_1d(100), s));
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(gpul_device_array(&made, GPUL_F32, gpul_1d(100), s));
    CHECK_OK(gpul_fill(&made, 4, s));
    CHECK_OK(gpul_vecadd(&out, &made, &made, s));
    CHECK_OK(gpul_graph_end(&graph, s));
    for (int k = 0; k < 3; k++) CHECK_OK(gpul_graph_launch(graph, s));
    CHECK_OK(gpul_copy_to_host(got, &made, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(got[99], 4, 0);
    CHECK_OK(gpul_copy_to_host(got, &out, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(got[99], 8, 0);
    CHECK_OK(gpul_free(&made));
    CHECK_OK(gpul_free(&out));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_stream_destroy(&s));
}

/* Memory of a graph is not in use by gpulite, so a capture that is lost takes nothing away: what was in it ended too. */
static void test_memory_of_lost(void) {
    gpul_stream s = NULL;
    int64_t used = -1;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_memory_limit(10000));
    for (int k = 0; k < 6; k++) {
        gpul_array a = GPUL_ZERO, b = GPUL_ZERO;
        gpul_graph graph = NULL;
        int32_t done;
        CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(1000), s));
        CHECK_OK(gpul_graph_begin(s));
        CHECK_OK(gpul_device_array(&b, GPUL_F32, gpul_1d(3000), s)); /* beyond the limit */
        CHECK_OK(gpul_fill(&b, 1, s));
        CHECK_OK(gpul_memory_used(&used, NULL));
        CHECK_INT(used, 4000);
        CHECK(gpul_stream_query(&done, s) != GPUL_OK);
        CHECK(gpul_graph_end(&graph, s) != GPUL_OK);
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_memory_used(&used, NULL));
        CHECK_INT(used, 0);
    }
    CHECK_OK(gpul_memory_limit(0));
    CHECK_OK(gpul_stream_destroy(&s));
}

/* What a capture cannot hold is refused before anything is captured, and the capture goes on. */
static void test_refusals(void) {
    float *host = (float *)calloc(100, 4);
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, pinned = GPUL_ZERO, zero = GPUL_ZERO;
    const int64_t at[1] = {5};
    gpul_stream s = NULL;
    cudaGraph_t graph = NULL;
    double value = -7;
    float one = -7;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_fill(&a, 1, NULL));
    CHECK_OK(gpul_pinned_array(&pinned, GPUL_F32, gpul_1d(100)));
    CHECK_OK(gpul_device_synchronize());
    CHECK_CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CHECK_FAILS(gpul_copy_to_device(&a, host, s), GPUL_ERROR_MEMORY, "gpul_copy_to_device", "pageable");
    CHECK_FAILS(gpul_copy_to_host(host, &a, s), GPUL_ERROR_MEMORY, "gpul_copy_to_host", "pageable");
    CHECK_FAILS(gpul_to_device(&b, host, GPUL_F32, gpul_1d(100), s), GPUL_ERROR_MEMORY, "gpul_to_device", "pageable");
    CHECK_BYTES(&b, &zero, sizeof b);
    CHECK_FAILS(gpul_reduce_host(&value, GPUL_F64, &a, GPUL_SUM, s), GPUL_ERROR_ARGUMENT, "gpul_reduce_host",
                "captured");
    CHECK_FAILS(gpul_get(&one, &a, at, s), GPUL_ERROR_ARGUMENT, "gpul_get", "captured");
    CHECK_FAILS(gpul_set(&a, at, &one, s), GPUL_ERROR_ARGUMENT, "gpul_set", "captured");
    CHECK(value == -7 && one == -7);
    CHECK_OK(gpul_copy_to_device(&a, pinned.data, s));
    CHECK_CUDA(cudaStreamEndCapture(s, &graph));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_OK(gpul_copy_to_device(&a, host, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&pinned));
    CHECK_OK(gpul_stream_destroy(&s));
    free(host);
}

/* Of a captured stream no time is told: the timer refuses it, and goes on with others. */
static void test_timer_refusals(void) {
    gpul_stream s = NULL, t = NULL;
    gpul_array a = GPUL_ZERO;
    gpul_graph graph = NULL;
    gpul_timer timer = GPUL_ZERO;
    double seconds = -7;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_stream_create(&t, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(gpul_fill(&a, 1, s));
    CHECK_FAILS(gpul_timer_start(&timer, s), GPUL_ERROR_ARGUMENT, "gpul_timer_start", "captured");
    CHECK_INT(timer.running, 0);
    CHECK_OK(gpul_timer_start(&timer, t));
    CHECK_FAILS(gpul_timer_stop(&timer, s), GPUL_ERROR_ARGUMENT, "gpul_timer_stop", "captured");
    CHECK_INT(timer.running, 1);
    CHECK_OK(gpul_timer_stop(&timer, t));
    CHECK_OK(gpul_graph_end(&graph, s));
    CHECK_OK(gpul_timer_start(&timer, s));
    CHECK_OK(gpul_graph_launch(graph, s));
    CHECK_OK(gpul_timer_stop(&timer, s));
    CHECK_OK(gpul_timer_seconds(&seconds, &timer));
    CHECK(seconds >= 0 && timer.regions == 2);
    CHECK_OK(gpul_graph_free(&graph));
    GPUL_TIMED(timer, t) { CHECK_OK(gpul_graph_begin(t)); } /* its stop is refused; after a reset all is well */
    CHECK_OK(gpul_graph_end(&graph, t));
    CHECK_FAILS(gpul_timer_seconds(&seconds, &timer), GPUL_ERROR_ARGUMENT, "gpul_timer_seconds", NULL);
    CHECK_OK(gpul_timer_reset(&timer));
    GPUL_TIMED(timer, t) {}
    CHECK_OK(gpul_timer_seconds(&seconds, &timer));
    CHECK_OK(gpul_timer_free(&timer));
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_OK(gpul_stream_destroy(&t));
}

/* What waits in the NULL stream, while a stream that is ordered with it is captured: refused, and the capture goes on. */
static void test_null_stream(void) {
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, pinned = GPUL_ZERO;
    gpul_graph graph = NULL;
    gpul_timer timer = GPUL_ZERO;
    float host[100], one = -7;
    const int64_t at[1] = {5};
    static const char sentence[] = "the NULL stream cannot be used while a stream that is ordered with it is captured";
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_DEFAULT));
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_pinned_array(&pinned, GPUL_F32, gpul_1d(100)));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(gpul_fill(&a, 1, s));
    CHECK_FAILS(gpul_copy_to_host(host, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_host", sentence);
    CHECK_FAILS(gpul_copy_to_device(&a, pinned.data, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_device", sentence);
    CHECK_FAILS(gpul_get(&one, &a, at, NULL), GPUL_ERROR_ARGUMENT, "gpul_get", sentence);
    CHECK_FAILS(gpul_get(&one, &a, at, cudaStreamLegacy), GPUL_ERROR_ARGUMENT, "gpul_get",
                sentence); /* its other name */
    CHECK_FAILS(gpul_copy_to_host(pinned.data, &a, cudaStreamLegacy), GPUL_ERROR_ARGUMENT, "gpul_copy_to_host",
                sentence);
    CHECK_FAILS(gpul_timer_start(&timer, NULL), GPUL_ERROR_ARGUMENT, "gpul_timer_start", sentence);
    CHECK_OK(gpul_graph_end(&graph, s));
    CHECK_OK(gpul_graph_launch(graph, s));
    CHECK_OK(gpul_get(&one, &a, at, s));
    CHECK_NEAR(one, 1, 0);
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&pinned));
    CHECK_OK(gpul_stream_destroy(&s));
}

#ifdef GPULITE_CPU_STANDIN
/* Between two devices a capture holds what is dense, and refuses what would take a stream of the other device. */
static void test_far_copies(void) {
    gpul_stream s = NULL;
    gpul_array there = GPUL_ZERO, even = GPUL_ZERO, half = GPUL_ZERO, here = GPUL_ZERO;
    gpul_graph graph = NULL;
    float back[5] = {0, 0, 0, 0, 0};
    standin_devices(2);
    CHECK_OK(gpul_device_select(1));
    CHECK_OK(gpul_full(&there, GPUL_F32, gpul_1d(10), 6, NULL));
    CHECK_OK(gpul_slice(&even, &there, 0, 0, 10, 2));
    CHECK_OK(gpul_slice(&half, &there, 0, 0, 5, 1));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_device_select(0));
    CHECK_OK(gpul_zeros(&here, GPUL_F32, gpul_1d(5), NULL));
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_graph_begin(s));
    CHECK_FAILS(gpul_copy(&here, &even, s), GPUL_ERROR_UNSUPPORTED, "gpul_copy", "a copy of strided src to another");
    CHECK_OK(gpul_copy(&here, &half, s));
    CHECK_OK(gpul_graph_end(&graph, s));
    CHECK_OK(gpul_graph_launch(graph, s));
    CHECK_OK(gpul_copy_to_host(back, &here, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(back[4], 6, 0);
    CHECK_OK(gpul_fill(&here, 0, s));
    CHECK_OK(gpul_copy(&here, &even, s));
    CHECK_OK(gpul_copy_to_host(back, &here, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(back[4], 6, 0);
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_free_all(&there, &here));
    CHECK_OK(gpul_stream_destroy(&s));
    standin_devices(1);
}

/* A stream that ends while it is captured, and has a workspace */
static void test_destroyed(void) {
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, sum = GPUL_ZERO;
    const long live = standin_live_streams();
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(200000), NULL));
    CHECK_OK(gpul_zeros(&sum, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_reduce(&sum, &a, GPUL_SUM, GPUL_ALL_AXES, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(gpul_fill(&a, 1, s));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_INT(standin_live_streams(), live);
    CHECK_OK(gpul_free_all(&a, &sum));
}
#endif

/* ---- workspaces of captures ---- */

enum { FORKS = 40 }; /* more than there are workspaces for captures */
typedef struct forks {
    gpul_stream s[FORKS];
    gpul_array x[FORKS], sum[FORKS];
} forks;

static void forks_open(forks *f) {
    memset(f, 0, sizeof *f);
    for (int k = 0; k < FORKS; k++) {
        CHECK_OK(gpul_stream_create(&f->s[k], GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_full(&f->x[k], GPUL_F32, gpul_1d(LONG), k, NULL));
        CHECK_OK(gpul_full(&f->sum[k], GPUL_F64, gpul_0d(), -1, NULL));
    }
    CHECK_OK(gpul_device_synchronize());
}
static gpul_status forks_sum(forks *f, int k, gpul_stream s) {
    return gpul_reduce(&f->sum[k], &f->x[k], GPUL_SUM, GPUL_ALL_AXES, s);
}
/* Checks the first `count` sums, and takes them back. */
static void forks_check(forks *f, int count) {
    CHECK_OK(gpul_device_synchronize());
    for (int k = 0; k < count; k++) {
        double got = -2;
        CHECK_OK(gpul_get(&got, &f->sum[k], NULL, NULL));
        CHECK_NEAR(got, (double)k * LONG, 0);
        CHECK_OK(gpul_fill(&f->sum[k], -1, NULL));
    }
    CHECK_OK(gpul_device_synchronize());
}
static void forks_close(forks *f) {
    for (int k = 0; k < FORKS; k++) {
        CHECK_OK(gpul_free_all(&f->x[k], &f->sum[k]));
        CHECK_OK(gpul_stream_destroy(&f->s[k]));
    }
}
/* One graph: a sum on each of the first `count` streams, which are captured together. Returns how many allocate. */
static int forks_capture(forks *f, int count, cudaGraphExec_t *exec) {
    cudaGraph_t graph = NULL;
    int found;
    CHECK_CUDA(cudaStreamBeginCapture(f->s[0], cudaStreamCaptureModeThreadLocal));
    for (int k = 1; k < count; k++) CHECK_OK(gpul_stream_wait(f->s[k], f->s[0]));
    for (int k = 0; k < count; k++) CHECK_OK(forks_sum(f, k, f->s[k]));
    for (int k = 1; k < count; k++) CHECK_OK(gpul_stream_wait(f->s[0], f->s[k]));
    CHECK_CUDA(cudaStreamEndCapture(f->s[0], &graph));
    found = allocations_in(graph);
    CHECK_CUDA(cudaGraphInstantiateWithFlags(exec, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    return found;
}
/* As many streams as there are workspaces for, once graphs that have ended have left them, which takes CUDA a moment */
static int forks_that_allocate(forks *f, int count) {
    int found = count;
    for (int tries = 0; tries < 200 && found > 0; tries++) {
        cudaGraphExec_t exec = NULL;
        const double begin = gpul_host_seconds();
        found = forks_capture(f, count, &exec);
        CHECK_CUDA(cudaGraphExecDestroy(exec));
        while (found > 0 && gpul_host_seconds() < begin + 0.01) {}
    }
    return found;
}

/* The first reduction of the program lies in a capture. */
static void test_first(void) {
    static forks f;
    cudaGraphExec_t exec = NULL;
    forks_open(&f);
    CHECK_INT(forks_capture(&f, 2, &exec), 0);
    for (int round = 0; round < 3; round++) {
        CHECK_CUDA(cudaGraphLaunch(exec, f.s[round]));
        forks_check(&f, 2);
    }
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    forks_close(&f);
}

/* Each stream of a capture has a workspace of its own, as long as there are some, and the other streams allocate. */
static void test_forks(void) {
    static forks f;
    cudaGraphExec_t exec = NULL;
    forks_open(&f);
    CHECK_INT(forks_that_allocate(&f, GPUL__GRAPH_WORKSPACES), 0);
    CHECK_INT(forks_that_allocate(&f, GPUL__GRAPH_WORKSPACES), 0); /* those of the first graph are free again */
    for (int tries = 0, found = FORKS; tries < 200 && found != FORKS - GPUL__GRAPH_WORKSPACES; tries++) {
        const double begin = gpul_host_seconds();
        if (exec != NULL) CHECK_CUDA(cudaGraphExecDestroy(exec));
        found = forks_capture(&f, FORKS, &exec);
        while (gpul_host_seconds() < begin + 0.01) {}
        if (tries == 199) FAIL("%d of %d streams of a capture allocate", found, (int)FORKS);
    }
    for (int round = 0; round < 5; round++) {
        CHECK_CUDA(cudaGraphLaunch(exec, f.s[round]));
        forks_check(&f, FORKS);
    }
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    forks_close(&f);
}

/* Graphs of one stream may run beside each other: each has a workspace of its own, until it has ended. */
static void test_graphs_of_a_stream(void) {
    static forks f;
    gpul_graph graphs[GPUL__GRAPH_WORKSPACES];
    cudaGraphExec_t exec = NULL;
    forks_open(&f);
    CHECK_INT(forks_that_allocate(&f, GPUL__GRAPH_WORKSPACES), 0);
    CHECK_OK(gpul_device_synchronize());
    for (int k = 0; k < COUNT_OF(graphs); k++) {
        graphs[k] = NULL;
        CHECK_OK(gpul_graph_begin(f.s[0]));
        CHECK_OK(forks_sum(&f, k, f.s[0]));
        CHECK_OK(gpul_graph_end(&graphs[k], f.s[0]));
    }
    for (int round = 0; round < 5; round++) {
        for (int k = 0; k < COUNT_OF(graphs); k++) CHECK_OK(gpul_graph_launch(graphs[k], f.s[(k + round) % FORKS]));
        forks_check(&f, COUNT_OF(graphs));
    }
    for (int k = 1; k < COUNT_OF(graphs); k++) { /* while they run */
        CHECK_OK(gpul_graph_launch(graphs[k], f.s[k]));
        CHECK_OK(gpul_graph_free(&graphs[k]));
    }
#ifdef GPULITE_CPU_STANDIN /* which runs nothing yet */
    CHECK_INT(forks_capture(&f, GPUL__GRAPH_WORKSPACES - 1, &exec), GPUL__GRAPH_WORKSPACES - 1);
    CHECK_CUDA(cudaGraphExecDestroy(exec));
#endif
    CHECK_OK(gpul_device_synchronize());
    CHECK_INT(forks_that_allocate(&f, GPUL__GRAPH_WORKSPACES - 1), 0); /* all but that of the first graph */
    CHECK(forks_capture(&f, GPUL__GRAPH_WORKSPACES, &exec) >= 1);
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_OK(gpul_graph_launch(graphs[0], f.s[1]));
    forks_check(&f, COUNT_OF(graphs));
    CHECK_OK(gpul_graph_free(&graphs[0]));
    for (int k = 0; k < 2 * GPUL__GRAPH_WORKSPACES; k++) { /* a capture that is lost keeps none */
        gpul_graph none = NULL;
        int32_t done;
        CHECK_OK(gpul_graph_begin(f.s[0]));
        CHECK_OK(forks_sum(&f, k % FORKS, f.s[0]));
        CHECK(gpul_stream_query(&done, f.s[0]) != GPUL_OK);
        CHECK(gpul_graph_end(&none, f.s[0]) != GPUL_OK);
    }
    CHECK_INT(forks_that_allocate(&f, GPUL__GRAPH_WORKSPACES), 0);
    forks_close(&f);
}

#ifdef GPULITE_CPU_STANDIN
/* Where CUDA does not keep a workspace for a graph, the graph allocates, and nobody keeps the workspace. */
static void test_workspace_refused(void) {
    static const char *const calls[] = {"cudaStreamGetCaptureInfo", "cudaUserObjectCreate",
                                        "cudaGraphRetainUserObject"};
    static forks f;
    cudaGraphExec_t exec = NULL;
    forks_open(&f);
    for (int c = 0; c < COUNT_OF(calls); c++)
        for (int k = 0; k < GPUL__GRAPH_WORKSPACES; k++) {
            standin_fail(calls[c], 1, cudaErrorUnknown, STANDIN_ONCE);
            CHECK_INT(forks_capture(&f, 1, &exec), 1);
            CHECK_INT(standin_failed(), 1);
            standin_fail_clear();
            CHECK_CUDA(cudaGraphLaunch(exec, f.s[1]));
            forks_check(&f, 1);
            CHECK_CUDA(cudaGraphExecDestroy(exec));
        }
    CHECK_INT(forks_capture(&f, GPUL__GRAPH_WORKSPACES, &exec), 0);
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    forks_close(&f);
}
#endif

static void test_errors(void) {
    gpul_stream s = NULL, t = NULL;
    gpul_array a = GPUL_ZERO;
    gpul_graph graph = NULL, none = NULL;
    double value = -7;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_stream_create(&t, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_FAILS(gpul_graph_begin(NULL), GPUL_ERROR_ARGUMENT, "gpul_graph_begin", "stream is NULL");
    CHECK_FAILS(gpul_graph_end(&graph, NULL), GPUL_ERROR_ARGUMENT, "gpul_graph_end", "stream is NULL");
    CHECK_FAILS(gpul_graph_end(&graph, s), GPUL_ERROR_ARGUMENT, "gpul_graph_end", "not being captured");
    CHECK_FAILS(gpul_graph_launch(NULL, s), GPUL_ERROR_ARGUMENT, "gpul_graph_launch", "graph is NULL");
    CHECK_FAILS(gpul_graph_free(NULL), GPUL_ERROR_ARGUMENT, "gpul_graph_free", "graph is NULL");
    CHECK_OK(gpul_graph_free(&none));
    CHECK(graph == NULL);

    CHECK_OK(gpul_graph_begin(s)); /* errors that leave the capture going */
    CHECK_FAILS(gpul_graph_begin(s), GPUL_ERROR_ARGUMENT, "gpul_graph_begin", "already");
    CHECK_FAILS(gpul_graph_end(NULL, s), GPUL_ERROR_ARGUMENT, "gpul_graph_end", "out");
    CHECK_FAILS(gpul_sum(&value, &a, s), GPUL_ERROR_ARGUMENT, "gpul_sum", "captured");
    CHECK_OK(gpul_fill(&a, 6, s));
    CHECK_OK(gpul_graph_end(&graph, s));
    CHECK(graph != NULL);
    CHECK_OK(gpul_graph_launch(graph, s));
    CHECK_OK(gpul_sum(&value, &a, s));
    CHECK_NEAR(value, 600, 0);

    CHECK_OK(gpul_graph_begin(s)); /* the program waits for the stream itself: nothing can come of this capture */
    CHECK(cudaStreamSynchronize(s) != cudaSuccess);
    (void)cudaGetLastError();
    CHECK_FAILS(gpul_graph_end(&none, s), GPUL_ERROR_CUDA, "gpul_graph_end", "something since gpul_graph_begin");
    CHECK(none == NULL);
    CHECK_OK(gpul_fill(&a, 2, s)); /* and the stream works again */
    CHECK_OK(gpul_sum(&value, &a, s));
    CHECK_NEAR(value, 200, 0);

    CHECK_OK(gpul_graph_begin(s)); /* a stream that joins and does not come back */
    CHECK_OK(gpul_stream_wait(t, s));
    CHECK_OK(gpul_fill(&a, 3, t));
    CHECK_FAILS(gpul_graph_end(&none, s), GPUL_ERROR_CUDA, "gpul_graph_end", "cudaStreamEndCapture");
    CHECK(none == NULL);
    CHECK_OK(gpul_graph_launch(graph, s));
    CHECK_OK(gpul_sum(&value, &a, s));
    CHECK_NEAR(value, 600, 0);
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_OK(gpul_stream_destroy(&t));
}

#ifdef GPULITE_CPU_STANDIN
/* gpul_graph_end and gpul_graph_free, with each runtime call of theirs failing in turn: those that release something
 * after they have done so, the others before they have any effect. */
static long one_ending(int frees, long k, const char *call) { /* k = 0: none fails */
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO;
    gpul_graph graph = NULL;
    gpul_status status;
    const long live = standin_live_graphs();
    long n;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(gpul_fill(&a, 6, s));
    if (frees) CHECK_OK(gpul_graph_end(&graph, s));
    gpul_clear_error();
    standin_trace_begin();
    if (k > 0)
        standin_fail(NULL, k, cudaErrorUnknown, strstr(call, "Destroy") ? STANDIN_ONCE | STANDIN_AFTER : STANDIN_ONCE);
    status = frees ? gpul_graph_free(&graph) : gpul_graph_end(&graph, s);
    if (standin_failed() && !strstr(call, "LastError")) {
        CHECK_INT(status, GPUL_ERROR_CUDA);
        CHECK_STRING(gpul_last_error()->function, frees ? "gpul_graph_free" : "gpul_graph_end");
    } else CHECK_OK(status);
    standin_fail_clear();
    n = standin_trace_count();
    CHECK((graph != NULL) == (!frees && status == GPUL_OK));
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    if (status != GPUL_OK && cudaStreamSynchronize(s) != cudaSuccess) { /* it is still captured */
        (void)cudaGetLastError();
        CHECK_FAILS(gpul_graph_end(&graph, s), GPUL_ERROR_CUDA, "gpul_graph_end", "cannot be captured");
    }
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_INT(standin_live_graphs(), live);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_stream_destroy(&s));
    return n;
}
static void test_endings(void) {
    for (int frees = 0; frees < 2; frees++) {
        const char *names[20];
        const long n = one_ending(frees, 0, "");
        CHECK(n >= (frees ? 1 : 4) && n <= 20);
        for (long k = 0; k < n; k++) names[k] = standin_trace_name(k);
        for (long k = 1; k <= n; k++) (void)one_ending(frees, k, names[k - 1]);
    }
}
#endif

int main(void) {
    check_begin("graph");
    RUN(test_first); /* before any other reduction */
    RUN(test_steps);
    RUN(test_whole);
    RUN(test_beside);
    RUN(test_not_freed);
    RUN(test_memory_of_lost);
    RUN(test_refusals);
    RUN(test_timer_refusals);
    RUN(test_null_stream);
    RUN(test_forks);
    RUN(test_graphs_of_a_stream);
    RUN(test_errors);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_workspace_refused);
    RUN(test_endings);
    RUN(test_far_copies);
    RUN(test_destroyed);
#endif
    return check_end();
}
