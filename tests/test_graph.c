/* SPDX-License-Identifier: MIT
 * Graphs: every operation captures and replays on changed data; what a graph cannot hold; errors and failing calls. */
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

/* `scratch`: whether the graph allocates. Where it need not, neither time nor memory goes into that. */
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
    {"sum", step_reduce, GPUL_SUM, GPUL_F32, 0, 0, 0, 1},
    {"prod", step_reduce, GPUL_PROD, GPUL_F32, 0, 0, 0, 1},
    {"min", step_reduce, GPUL_MIN, GPUL_F32, 0, 0, 0, 1},
    {"max", step_reduce, GPUL_MAX, GPUL_F32, 0, 0, 0, 1},
    {"abs-sum", step_reduce, GPUL_ABS_SUM, GPUL_F32, 0, 0, 0, 1},
    {"sum-sq", step_reduce, GPUL_SUM_SQ, GPUL_F64, 0, 0, 0, 1},
    {"mean", step_reduce, GPUL_MEAN, GPUL_F64, 0, 0, 0, 1},
    {"var", step_reduce, GPUL_VAR, GPUL_F64, 0, 0, 0, 1},
    {"argmin", step_reduce, GPUL_ARGMIN, GPUL_I64, 0, 0, 0, 1},
    {"argmax", step_reduce, GPUL_ARGMAX, GPUL_I64, 0, 0, 0, 1},
    {"count-nonzero", step_reduce, GPUL_COUNT_NONZERO, GPUL_I64, 0, 0, 0, 1},
    {"mean along axis 0", step_reduce_axis, 0, GPUL_F32, COLS, 0, 0, 0},
    {"mean along axis 1", step_reduce_axis, 1, GPUL_F32, ROWS, 0, 0, 0},
    {"gemv, long rows", step_gemv_long, 0, GPUL_F32, 7, 0, 0, 0},
    {"sum along long rows", step_reduce_long, 1, GPUL_F32, 7, 0, 0, 0},
    {"sum along long columns", step_reduce_long, 0, GPUL_F32, 7, 0, 0, 1},
    {"dot", step_dot, 0, GPUL_F32, 0, 0, 0, 1},
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
    {"gemm, long K", step_gemm_long, 0, GPUL_F32, 1, 1, 0, 1},
    {"gemm_ex, TF32", step_gemm_ex, GPUL_MATH_TF32, GPUL_F32, ROWS, ROWS, 0, 1},
    {"gemm_ex, emulated", step_gemm_ex, GPUL_MATH_EMULATED, GPUL_F32, ROWS, ROWS, 0, 0},
};

static void step_output(const step *p, gpul_array *out) {
    const gpul_shape shape = p->cols > 0 ? gpul_2d(p->rows, p->cols) : p->rows > 0 ? gpul_1d(p->rows) : gpul_0d();
    if (p->host) CHECK_OK(gpul_pinned_array(out, p->dtype, shape));
    else CHECK_OK(gpul_device_array(out, p->dtype, shape, NULL));
}

/* How many nodes of the step's graph allocate */
static int allocations(const step *p, stage *g, gpul_array *out, gpul_stream s) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t nodes[64];
    size_t n = COUNT_OF(nodes);
    int found = 0;
    CHECK_CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CHECK_OK(p->enqueue(g, out, p->arg, s));
    CHECK_CUDA(cudaStreamEndCapture(s, &graph));
    CHECK_CUDA(cudaGraphGetNodes(graph, nodes, &n));
    CHECK(n > 0 && n <= COUNT_OF(nodes));
    for (size_t k = 0; k < n; k++) {
        enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
        CHECK_CUDA(cudaGraphNodeGetType(nodes[k], &type));
        found += type == cudaGraphNodeTypeMemAlloc;
    }
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
        for (int replay = 0; replay < 3; replay++) {
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

/* Reductions put no allocation into a graph where one block may take all of an output: as much as their contract
 * says. */
static void test_scratch(void) {
    static const struct {
        int64_t rows, cols;
        int32_t axis, allocates;
    } cases[] = {{1, 32768, 1, 0}, {1, 32769, 1, 1}, {3, 30000, 1, 0},  {40, 5000, GPUL_ALL_AXES, 1},
                 {4096, 7, 0, 0},  {4097, 7, 0, 1},  {4000, 300, 0, 0}, {4096, 2000, 0, 0},
                 {100, 100, 1, 0}, {100, 100, 0, 0}, {1, 1, 0, 0},      {180, 180, GPUL_ALL_AXES, 0},
                 {2000, 20, 0, 0}, {60000, 2, 0, 1}};
    gpul_stream s = NULL;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    check_sms(4); /* for one plan on any GPU */
    for (int c = 0; c < COUNT_OF(cases); c++) {
        const int64_t n = cases[c].rows * cases[c].cols;
        const int64_t outputs = cases[c].axis == 0 ? cases[c].cols : cases[c].axis == 1 ? cases[c].rows : 1;
        double *const host = (double *)malloc((size_t)n * 8), *const want = (double *)malloc((size_t)outputs * 8);
        double *const got = (double *)malloc((size_t)outputs * 8);
        gpul_array x = GPUL_ZERO, out = GPUL_ZERO;
        cudaGraph_t graph = NULL;
        cudaGraphExec_t exec = NULL;
        cudaGraphNode_t nodes[8];
        size_t count = COUNT_OF(nodes), allocations = 0;
        for (int64_t i = 0; i < n; i++) host[i] = rng_signed();
        CHECK_OK(gpul_to_device(&x, host, GPUL_F64, gpul_2d(cases[c].rows, cases[c].cols), NULL));
        CHECK_OK(
            gpul_device_array(&out, GPUL_F64, cases[c].axis == GPUL_ALL_AXES ? gpul_0d() : gpul_1d(outputs), NULL));
        CHECK_OK(gpul_device_synchronize());
        CHECK_OK(gpul_reduce(&out, &x, GPUL_SUM, cases[c].axis, s));
        CHECK_OK(gpul_copy_to_host(want, &out, s));
        CHECK_OK(gpul_fill(&out, 7, s));
        CHECK_OK(gpul_stream_synchronize(s));
        CHECK_CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        CHECK_OK(gpul_reduce(&out, &x, GPUL_SUM, cases[c].axis, s));
        CHECK_CUDA(cudaStreamEndCapture(s, &graph));
        CHECK_CUDA(cudaGraphGetNodes(graph, nodes, &count));
        for (size_t i = 0; i < count && i < COUNT_OF(nodes); i++) {
            enum cudaGraphNodeType type;
            CHECK_CUDA(cudaGraphNodeGetType(nodes[i], &type));
            allocations += type == cudaGraphNodeTypeMemAlloc;
        }
        if (allocations != (size_t)cases[c].allocates)
            FAIL("%lld x %lld, axis %d: %d allocations in the graph", (long long)cases[c].rows,
                 (long long)cases[c].cols, (int)cases[c].axis, (int)allocations);
        CHECK_CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
        CHECK_CUDA(cudaGraphLaunch(exec, s));
        CHECK_OK(gpul_copy_to_host(got, &out, s));
        CHECK_OK(gpul_stream_synchronize(s));
        CHECK_BYTES(got, want, (size_t)outputs * 8);
        CHECK_CUDA(cudaGraphExecDestroy(exec));
        CHECK_CUDA(cudaGraphDestroy(graph));
        CHECK_OK(gpul_free(&x));
        CHECK_OK(gpul_free(&out));
        free(host);
        free(want);
        free(got);
    }
    check_sms(0);
    CHECK_OK(gpul_stream_destroy(&s));
}

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
    RUN(test_steps);
    RUN(test_whole);
    RUN(test_beside);
    RUN(test_not_freed);
    RUN(test_memory_of_lost);
    RUN(test_refusals);
    RUN(test_timer_refusals);
    RUN(test_null_stream);
    RUN(test_scratch);
    RUN(test_errors);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_endings);
    RUN(test_far_copies);
    RUN(test_destroyed);
#endif
    return check_end();
}
