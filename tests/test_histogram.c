/* SPDX-License-Identifier: MIT
 * Histograms: NumPy's stored results to the count, the edge rule on the host, weights, layouts, errors. */
#include "check.h"

static void *read_padded(FILE *f, int64_t bytes) {
    void *p = malloc((size_t)bytes + 8);
    if (!p || fread(p, 1, (size_t)((bytes + 7) / 8 * 8), f) != (size_t)((bytes + 7) / 8 * 8)) {
        FAIL("the data file ends early");
        exit(3);
    }
    return p;
}

/* Runs one histogram over x in some layout and compares with counts wanted, one by one. */
static void run_counts(gpul_dtype t, const void *x, int64_t n, int64_t bins, const int64_t *want, int kind, double lo,
                       double hi, const double *edges, gpul_dtype counts_dtype, int layout, int accumulate,
                       long label) {
    const int64_t size = (int64_t)gpul_dtype_size(t);
    gpul_histogram_options o = GPUL_ZERO;
    int64_t wrong = 0, shape[1];
    box data, counts;
    shape[0] = n;
    box_make(&data, t, 1, shape, layout, label % 3, (int)(label & 1));
    for (int64_t i = 0; i < n; i++)
        memcpy(data.image + box_at(&data, i), (const unsigned char *)x + i * size, (size_t)size);
    box_upload(&data);
    shape[0] = bins;
    box_make(&counts, counts_dtype, 1, shape, label % 5 == 2 ? LAY_STRIDED : LAY_C, label % 2, (int)(label / 2 & 1));
    if (accumulate) box_random(&counts, 1);
    o.range = kind;
    o.lo = kind == GPUL_RANGE_LO_HI ? lo : 0;
    o.hi = kind == GPUL_RANGE_LO_HI ? hi : 0;
    o.accumulate = accumulate;
    o.edges = kind == GPUL_RANGE_EDGES ? edges : NULL;
    o.n_edges = kind == GPUL_RANGE_EDGES ? bins + 1 : 0;
    if (kind == GPUL_RANGE_LO_HI && !accumulate && label % 2)
        CHECK_OK(gpul_histogram(&counts.view, &data.view, lo, hi, NULL));
    else CHECK_OK(gpul_histogram_ex(&counts.view, &data.view, &o, NULL));
    BOX_GUARDS(&counts);
    for (int64_t b = 0; b < bins; b++) {
        const int64_t got = box_got(&counts, b).i, good = want[b] + (accumulate ? box_get(&counts, b).i : 0);
        if (got != good && wrong++ == 0)
            FAIL("case %ld (%s, %lld values, %lld bins, kind %d, %.17g to %.17g): bin %lld has %lld, wanted %lld",
                 label, gpul_dtype_name(t), (long long)n, (long long)bins, kind, lo, hi, (long long)b, (long long)got,
                 (long long)good);
    }
    if (!wrong) check_pass();
    BOX_UNCHANGED(&data);
    box_free(&data);
    box_free(&counts);
}

static void run_weighted(gpul_dtype t, const void *x, gpul_dtype wt, const void *w, int64_t n, int64_t bins,
                         const void *want, int kind, double lo, double hi, const double *edges, int accumulate,
                         long label) {
    const int64_t size = (int64_t)gpul_dtype_size(t), wsize = (int64_t)gpul_dtype_size(wt);
    gpul_histogram_options o = GPUL_ZERO;
    double largest = 0;
    box data, weights, counts;
    box_1d(&data, t, n, label % 3, (int)(label & 1));
    box_1d(&weights, wt, n, label % 2, (int)(label & 1));
    for (int64_t i = 0; i < n; i++) {
        memcpy(data.image + box_at(&data, i), (const unsigned char *)x + i * size, (size_t)size);
        memcpy(weights.image + box_at(&weights, i), (const unsigned char *)w + i * wsize, (size_t)wsize);
        largest = fmax(largest, fabs(box_get(&weights, i).f));
    }
    box_upload(&data);
    box_upload(&weights);
    box_1d(&counts, is_float(wt) ? GPUL_F64 : GPUL_I64, bins, 1, 0);
    if (accumulate) box_random(&counts, 1);
    o.range = kind;
    o.lo = kind == GPUL_RANGE_LO_HI ? lo : 0;
    o.hi = kind == GPUL_RANGE_LO_HI ? hi : 0;
    o.edges = edges;
    o.n_edges = edges ? bins + 1 : 0;
    o.weights = &weights.view;
    o.accumulate = accumulate;
    CHECK_OK(gpul_histogram_ex(&counts.view, &data.view, &o, NULL));
    BOX_GUARDS(&counts);
    for (int64_t b = 0; b < bins; b++) {
        num got = box_got(&counts, b), add = num_of(0);
        if (accumulate) add = box_get(&counts, b);
        if (is_float(wt)) {
            const double good = ((const double *)want)[b] + add.f;
            if (!(fabs(got.f - good) <= 0x1p-52 * fabs(good) + 0x1p-52 * fabs(add.f) + 0x1p-80 * (double)n * largest))
                FAIL("case %ld: bin %lld has %.17g, wanted %.17g", label, (long long)b, got.f, good);
        } else if ((uint64_t)got.i != (uint64_t)((const int64_t *)want)[b] + (uint64_t)add.i) {
            FAIL("case %ld: bin %lld has %lld, wanted %lld", label, (long long)b, (long long)got.i,
                 (long long)((const int64_t *)want)[b]);
        }
    }
    check_pass();
    BOX_UNCHANGED(&data);
    BOX_UNCHANGED(&weights);
    box_free(&data);
    box_free(&weights);
    box_free(&counts);
}

static void test_numpy(void) {
    FILE *f = open_data("histogram.bin", "rb");
    int32_t head[4];
    int64_t sizes[3];
    double range[2];
    long label = 0;
    if (!f) return;
    while (fread(head, 4, 4, f) == 4 && fread(sizes, 8, 3, f) == 3 && fread(range, 8, 2, f) == 2) {
        const gpul_dtype t = head[0], wt = head[2];
        const int kind = head[1];
        const int64_t n = sizes[0], bins = sizes[1];
        void *x = read_padded(f, n * (int64_t)gpul_dtype_size(t)), *w = NULL;
        double *edges = NULL;
        if (wt) w = read_padded(f, n * (int64_t)gpul_dtype_size(wt));
        if (kind == GPUL_RANGE_EDGES) edges = (double *)read_padded(f, (bins + 1) * 8);
        if (wt) {
            void *want = read_padded(f, bins * 8);
            run_weighted(t, x, wt, w, n, bins, want, kind, range[0], range[1], edges, (int)(label % 2), label);
            free(want);
        } else {
            uint32_t *pairs = (uint32_t *)read_padded(f, sizes[2] * 8);
            int64_t *want = (int64_t *)calloc((size_t)bins, 8);
            for (int64_t k = 0; k < sizes[2]; k++) want[pairs[2 * k]] = pairs[2 * k + 1];
            run_counts(t, x, n, bins, want, kind, range[0], range[1], edges, label % 3 ? GPUL_I32 : GPUL_I64,
                       label % 4 == 1 ? LAY_STRIDED : LAY_C, label % 7 == 3, label);
            if (kind != GPUL_RANGE_EDGES && bins <= 256) /* the other way of storing counts */
                run_counts(t, x, n, bins, want, kind, range[0], range[1], edges, label % 3 ? GPUL_I64 : GPUL_I32, LAY_C,
                           label % 5 == 3, label);
            free(pairs);
            free(want);
        }
        free(x);
        free(w);
        free(edges);
        label++;
    }
    fclose(f);
    CHECK(label > 400);
}

static void test_edges(void) {
    FILE *f = open_data("linspace.bin", "rb");
    int32_t head[2];
    double range[2];
    long label = 0;
    if (!f) return;
    while (fread(head, 4, 2, f) == 2 && fread(range, 8, 2, f) == 2) {
        double *want, *got;
        if (head[1] < 0) { /* NumPy: too many bins for data range */
            double untouched[1] = {-7};
            CHECK_FAILS(gpul_histogram_edges(untouched, -head[1], head[0], range[0], range[1]), GPUL_ERROR_ARGUMENT,
                        "gpul_histogram_edges", "bins");
            CHECK_NEAR(untouched[0], -7, 0);
            label++;
            continue;
        }
        want = (double *)read_padded(f, ((int64_t)head[1] + 1) * 8);
        got = (double *)malloc(((size_t)head[1] + 3) * 8);
        got[0] = got[head[1] + 2] = -77;
        CHECK_OK(gpul_histogram_edges(got + 1, head[1], head[0], range[0], range[1]));
        for (int i = 0; i <= head[1]; i++)
            if (!(got[i + 1] == want[i])) {
                FAIL("case %ld (%s, %d bins, %g to %g): edge %d is %.17g, wanted %.17g", label,
                     gpul_dtype_name(head[0]), head[1], range[0], range[1], i, got[i + 1], want[i]);
                break;
            }
        CHECK(got[0] == -77 && got[head[1] + 2] == -77);
        free(want);
        free(got);
        label++;
    }
    fclose(f);
    CHECK(label > 200);
    {
        double e[5] = {-7, -7, -7, -7, -7};
        CHECK_FAILS(gpul_histogram_edges(NULL, 4, GPUL_F32, 0, 1), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges",
                    "edges");
        CHECK_FAILS(gpul_histogram_edges(e, 0, GPUL_F32, 0, 1), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges", "bins");
        CHECK_FAILS(gpul_histogram_edges(e, -4, GPUL_F32, 0, 1), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges", "bins");
        CHECK_FAILS(gpul_histogram_edges(e, 4, GPUL_F16, 0, 1), GPUL_ERROR_DTYPE, "gpul_histogram_edges", "dtype");
        CHECK_FAILS(gpul_histogram_edges(e, 4, 0, 0, 1), GPUL_ERROR_DTYPE, "gpul_histogram_edges", "dtype");
        CHECK_FAILS(gpul_histogram_edges(e, 4, GPUL_F32, 1, 0), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges", "lo");
        CHECK_FAILS(gpul_histogram_edges(e, 4, GPUL_F32, NAN, 0), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges", "lo");
        CHECK_FAILS(gpul_histogram_edges(e, 4, GPUL_F32, 0, INFINITY), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges",
                    "hi");
        for (int i = 0; i < 5; i++) CHECK_NEAR(e[i], -7, 0);
    }
}

/* The rule itself, by binary search in the library's own edges (which test_edges has compared with NumPy's). */
static void rule(int64_t *want, int64_t bins, const double *edges, const box *data) {
    memset(want, 0, (size_t)bins * 8);
    for (int64_t i = 0; i < data->n; i++) {
        const double x = box_get(data, i).f;
        int64_t low = 0, high = bins;
        if (!(x >= edges[0] && x <= edges[bins])) continue;
        while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            if (edges[middle] <= x) low = middle;
            else high = middle;
        }
        want[low]++;
    }
}

static void test_shapes(void) { /* any shape and layout, sizes 0 to 65 and beyond, few and many bins */
    static const gpul_dtype types[5] = {GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64, GPUL_U8};
    static const int64_t bin_counts[] = {1, 2, 3, 16, 31, 150, 256, 1000, 5000, 13000, 40000, 70001};
    for (int k = 0; k < 260; k++) {
        const gpul_dtype t = types[k % 5];
        const int ndim = k < 70 ? 1 : 1 + k % 4;
        const int64_t bins = bin_counts[k < 70 ? k % 8 : k % COUNT_OF(bin_counts)];
        const double lo = is_float(t)    ? -1.2
                          : t == GPUL_U8 ? 0
                                         : -1e9,
                     hi = is_float(t)    ? 2.1
                          : t == GPUL_U8 ? 255
                                         : 1.5e9;
        double *edges = (double *)malloc((size_t)(bins + 1) * 8);
        int64_t shape[4], *want = (int64_t *)malloc((size_t)bins * 8), wrong = 0;
        box data, counts;
        for (int i = 0; i < ndim; i++)
            shape[i] = k < 66 ? k : k % 29 == 0 ? 0 : 1 + rng_below(ndim == 1 ? 9000 : ndim == 2 ? 70 : 11);
        box_make(&data, t, ndim, shape, (int)rng_below(LAYOUTS), rng_below(3), k & 1);
        box_random(&data, 0);
        box_1d(&counts, k & 2 ? GPUL_I32 : GPUL_I64, bins, k % 3, k / 2 & 1);
        CHECK_OK(gpul_histogram_edges(edges, bins, t, lo, hi));
        rule(want, bins, edges, &data);
        CHECK_OK(gpul_histogram(&counts.view, &data.view, lo, hi, NULL));
        BOX_GUARDS(&counts);
        for (int64_t b = 0; b < bins; b++)
            if (box_got(&counts, b).i != want[b] && wrong++ == 0)
                FAIL("case %d (%s, %d-D, %lld bins): bin %lld has %lld, wanted %lld", k, gpul_dtype_name(t), ndim,
                     (long long)bins, (long long)b, (long long)box_got(&counts, b).i, (long long)want[b]);
        check_pass();
        BOX_UNCHANGED(&data);
        box_free(&data);
        box_free(&counts);
        free(edges);
        free(want);
    }
}

static void test_concentrated(void) { /* all values in one bin, and a sawtooth: the worst for atomics */
    for (int k = 0; k < 4; k++) {
        const int64_t n = (int64_t)1 << (large_tests() ? 24 : 17), bins = k & 1 ? 3000 : 150;
        float *x = (float *)malloc((size_t)n * 4);
        int64_t *want = (int64_t *)calloc((size_t)bins, 8), *got = (int64_t *)malloc((size_t)bins * 8);
        gpul_array a = GPUL_ZERO, c = GPUL_ZERO;
        for (int64_t i = 0; i < n; i++) {
            const int64_t b = k & 2 ? i % bins : bins / 2;
            x[i] = (float)b + 0.5f;
            want[b]++;
        }
        CHECK_OK(gpul_to_device(&a, x, GPUL_F32, gpul_1d(n), NULL));
        CHECK_OK(gpul_device_array(&c, GPUL_I64, gpul_1d(bins), NULL));
        CHECK_OK(gpul_histogram(&c, &a, 0, (double)bins, NULL));
        CHECK_OK(gpul_copy_to_host(got, &c, NULL));
        CHECK_BYTES(got, want, (size_t)bins * 8);
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_free(&c));
        free(x);
        free(want);
        free(got);
    }
}

/* ---- large histograms: values of a pattern, counted here by the library's own edges ---- */

enum { UNIFORM, SORTED, CONSTANT, HALF_CONSTANT, FOUR_BINS, CLUSTERED, RUNS, STRETCHES, ALTERNATING, PATTERNS };
typedef struct large_case {
    gpul_dtype t;
    int pattern;
    int64_t n, bins, bin; /* bin: of the constant, of the cluster, length of a run */
    double lo, hi;
    gpul_dtype counts_dtype;
    int accumulate, shift; /* shift: elements by which x begins behind an aligned address */
} large_case;

/* The bin that element i should be in, or thereabouts; below 0 and above bins - 1: outside. */
static double large_bin(const large_case *c, int64_t i) {
    const double random = (double)rng_below(1 << 30) / (1 << 30);
    switch (c->pattern) {
    case UNIFORM: return random * ((double)c->bins * 1.02) - (double)c->bins * 0.01;
    case SORTED: return ((double)i + 0.5) / (double)c->n * (double)c->bins * 1.01 - (double)c->bins * 0.005;
    case CONSTANT: return (double)c->bin + 0.5;
    case HALF_CONSTANT: return i * 37 % 64 < 32 ? (double)c->bin + 0.5 : random * (double)c->bins;
    case FOUR_BINS: {
        const int64_t which = i / 5 % 4;
        return (which == 0 ? 0 : which == 1 ? 1 : (double)(c->bins - which + 1)) + 0.5;
    }
    case CLUSTERED: return (double)c->bin + random * 40;
    case RUNS: return (double)(i / c->bin * 7919 % (c->bins + 3)) + 0.5;
    case STRETCHES: return i >> 16 & 1 ? random * (double)c->bins : (double)c->bin + 0.5;
    default: return i % 2 ? random * 50 : (double)c->bins - random * 50;
    }
}

/* With `graph`, captured and replayed twice, the second time over what the first has left. */
static void run_large(const large_case *c, int graph) {
    const double width = (c->hi - c->lo) / (double)c->bins;
    const int64_t size = (int64_t)gpul_dtype_size(c->t), total = c->n + c->shift;
    unsigned char *const x = (unsigned char *)malloc((size_t)(total * size));
    double *const edges = (double *)malloc((size_t)(c->bins + 1) * 8);
    int64_t *const want = (int64_t *)calloc((size_t)c->bins, 8), wrong = 0;
    void *const got = malloc((size_t)c->bins * 8);
    gpul_array all = GPUL_ZERO, data = GPUL_ZERO, counts = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    CHECK_OK(gpul_histogram_edges(edges, c->bins, c->t, c->lo, c->hi));
    for (int64_t i = -c->shift; i < c->n; i++) {
        const double at = large_bin(c, i < 0 ? 0 : i);
        double value = c->lo + at * width;
        int64_t b;
        void *const to = x + (i + c->shift) * size;
        if (i % 1009 == 5) value = c->hi;
        if (i % 1013 == 6) value = c->lo;
        if (i % 1019 == 7) value = is_float(c->t) ? NAN : c->hi + 9;
        if (i % 1021 == 8) value = edges[(i < 0 ? 0 : i) * 31 % (c->bins + 1)];
        if (c->t == GPUL_F32) *(float *)to = (float)value, value = *(float *)to;
        else if (c->t == GPUL_F64) *(double *)to = value;
        else if (c->t == GPUL_I32) *(int32_t *)to = (int32_t)floor(value), value = *(int32_t *)to;
        else *(int64_t *)to = (int64_t)floor(value), value = (double)*(int64_t *)to;
        if (i < 0 || !(value >= edges[0] && value <= edges[c->bins])) continue;
        b = (int64_t)((value - c->lo) / width);
        if (b > c->bins - 1) b = c->bins - 1;
        while (value < edges[b]) b--;
        while (b < c->bins - 1 && value >= edges[b + 1]) b++;
        want[b]++;
    }
    CHECK_OK(gpul_to_device(&all, x, c->t, gpul_1d(total), NULL));
    CHECK_OK(gpul_slice(&data, &all, 0, c->shift, total, 1));
    CHECK_OK(gpul_device_array(&counts, c->counts_dtype, gpul_1d(c->bins), NULL));
    CHECK_OK(gpul_fill(&counts, 1000, NULL));
    o.range = GPUL_RANGE_LO_HI;
    o.lo = c->lo;
    o.hi = c->hi;
    o.accumulate = c->accumulate;
    if (graph) {
        gpul_stream s = NULL;
        cudaGraph_t captured = NULL;
        cudaGraphExec_t exec = NULL;
        CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_DEFAULT));
        CHECK_OK(gpul_device_synchronize());
        CHECK_CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        CHECK_OK(gpul_histogram_ex(&counts, &data, &o, s));
        CHECK_CUDA(cudaStreamEndCapture(s, &captured));
        CHECK_CUDA(cudaGraphInstantiate(&exec, captured, 0));
        for (int replay = 0; replay < 2; replay++) CHECK_CUDA(cudaGraphLaunch(exec, s));
        CHECK_OK(gpul_stream_synchronize(s));
        CHECK_CUDA(cudaGraphExecDestroy(exec));
        CHECK_CUDA(cudaGraphDestroy(captured));
        CHECK_OK(gpul_stream_destroy(&s));
    } else CHECK_OK(gpul_histogram_ex(&counts, &data, &o, NULL));
    CHECK_OK(gpul_copy_to_host(got, &counts, NULL));
    for (int64_t b = 0; b < c->bins; b++) {
        const int64_t count = c->counts_dtype == GPUL_I64 ? ((int64_t *)got)[b] : ((int32_t *)got)[b];
        if (count != want[b] + (c->accumulate ? 1000 : 0) && wrong++ == 0)
            FAIL("%s, pattern %d, %lld values, %lld bins, accumulate %d: bin %lld has %lld, wanted %lld",
                 gpul_dtype_name(c->t), c->pattern, (long long)c->n, (long long)c->bins, c->accumulate, (long long)b,
                 (long long)count, (long long)want[b]);
    }
    if (!wrong) check_pass();
    CHECK_OK(gpul_free(&data));
    CHECK_OK(gpul_free(&all));
    CHECK_OK(gpul_free(&counts));
    free(x);
    free(edges);
    free(want);
    free(got);
}

static void
test_packed(void) { /* more bins than shared memory has words: 16-bit counters at both ends, which overflow */
    static const large_case cases[] = {
        {GPUL_F32, UNIFORM, 3000017, 60000, 0, -1.2, 2.1, GPUL_I32, 0, 0},
        {GPUL_F32, UNIFORM, 5600001, 115700, 0, 0, 1, GPUL_I64, 1, 1},
        {GPUL_F64, UNIFORM, 3200007, 65536, 0, -3, 7, GPUL_I32, 1, 1},
        {GPUL_I32, UNIFORM, 3200003, 65536, 0, -70000, 130000, GPUL_I32, 0, 3},
        {GPUL_I64, UNIFORM, 3000003, 57857, 0, -1e9, 1.5e9, GPUL_I64, 0, 0},
        {GPUL_F32, SORTED, 3900002, 80001, 0, 0, 80001, GPUL_I32, 0, 2},
        {GPUL_F64, SORTED, 3000002, 60001, 0, 0, 60001, GPUL_I64, 0, 1},
        {GPUL_F32, CONSTANT, 2900000, 60000, 0, 0, 60000, GPUL_I32, 0, 3},
        {GPUL_F32, CONSTANT, 2900001, 60000, 1, 0, 60000, GPUL_I64, 0, 0},
        {GPUL_F32, CONSTANT, 2900002, 60000, 59999, 0, 60000, GPUL_I32, 0, 1},
        {GPUL_F64, CONSTANT, 2900003, 60000, 59998, 0, 60000, GPUL_I32, 1, 0},
        {GPUL_I32, HALF_CONSTANT, 2900004, 60000, 0, 0, 60000, GPUL_I32, 0, 0},
        {GPUL_F32, FOUR_BINS, 2900009, 60000, 0, 0, 60000, GPUL_I32, 0, 0},
        {GPUL_F32, FOUR_BINS, 2900009, 60001, 0, 0, 60001, GPUL_I32, 0, 0},
        {GPUL_F32, CLUSTERED, 2900009, 60001, 59961, 0, 60001, GPUL_I32, 0, 0},
        {GPUL_F32, ALTERNATING, 2900009, 60000, 0, -5, 5, GPUL_I32, 0, 0},
    };
    for (int k = 0; k < COUNT_OF(cases); k++) run_large(cases + k, k == 0);
}

/* still more bins: tiles of elements sorted by partition, counted in a second pass */
static void test_two_passes(void) {
    static const large_case cases[] = {
        {GPUL_F32, UNIFORM, 8450003, 1000000, 0, -1.2, 2.1, GPUL_I32, 0, 1},
        {GPUL_F64, UNIFORM, 8388608, 131072, 0, -3, 7, GPUL_I64, 1, 1},
        {GPUL_I32, CLUSTERED, 8388611, 200000, 131060, 0, 200000, GPUL_I32, 0, 3},
        {GPUL_I64, HALF_CONSTANT, 8388613, 150000, 149999, -1e9, 1.5e9, GPUL_I64, 0, 0},
        {GPUL_F32, STRETCHES, 8388700, 300000, 150000, 0, 300000, GPUL_I32, 0, 1},
        {GPUL_F32, ALTERNATING, 8600001, 120000, 0, 0, 1, GPUL_I32, 1, 0},
        {GPUL_F32, SORTED, 8388620, 300000, 0, 0, 300000, GPUL_I32, 0, 2},
        {GPUL_I32, CONSTANT, 8388625, 400000, 399999, 0, 400000, GPUL_I32, 0, 0},
        {GPUL_F64, RUNS, 8388630, 500000, 21, 0, 500000, GPUL_I32, 0, 0},
    };
    for (int k = 0; k < COUNT_OF(cases); k++) {
        int64_t used = 0;
        if (k < 5) { /* all the memory that is wanted; then x in slices, or no tiles at all */
            run_large(cases + k, k == 4);
            continue;
        }
        CHECK_OK(gpul_memory_used(&used, NULL));
        CHECK_OK(gpul_memory_limit(used + (cases[k].n + cases[k].shift) * (int64_t)gpul_dtype_size(cases[k].t) +
                                   cases[k].bins * 4 + (k % 2 ? 10 << 20 : 100000)));
        run_large(cases + k, 0);
        CHECK_OK(gpul_memory_limit(0));
    }
}

static void test_runs(void) { /* bins in global memory: runs of equal bins within a warp, short and long */
    static const int64_t lengths[] = {1, 2, 3, 5, 9, 16, 31, 64, 100, 128, 129, 500, 5000};
    static const gpul_dtype types[4] = {GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64};
    for (int k = 0; k < 2 * COUNT_OF(lengths); k++) {
        const large_case c = {types[(k + k / 4) % 4],
                              RUNS,
                              60001 + k,
                              300000,
                              lengths[k / 2],
                              k % 2 ? -20000 : 0,
                              k % 2 ? 580000 : 300000,
                              k % 3 ? GPUL_I32 : GPUL_I64,
                              k % 5 == 2,
                              k % 4};
        run_large(&c, 0);
    }
    for (int k = 0; k < 8; k++) {
        const large_case c = {
            types[k % 4], k < 4 ? SORTED : CONSTANT, 100003, 300000, 299999, 0, 300000, GPUL_I32, 0, 1};
        run_large(&c, 0);
    }
}

static void
test_weight_layouts(void) { /* weights and data of different layouts pair up by index; repeated runs: same bits */
    for (int k = 0; k < 24; k++) {
        const gpul_dtype wt = k & 1 ? GPUL_F64 : GPUL_F32;
        const int64_t bins = k % 3 ? 9 : 5000;
        double first[9], again[9];
        int64_t shape[2] = {37, 53};
        long double *want = (long double *)calloc((size_t)bins, sizeof(long double));
        double *edges = (double *)malloc((size_t)(bins + 1) * 8);
        gpul_histogram_options o = GPUL_ZERO;
        box data, weights, counts;
        box_make(&data, GPUL_F32, 2, shape, k % LAYOUTS, 0, 0);
        box_make(&weights, wt, 2, shape, (k / 3) % LAYOUTS, 1, 1);
        box_random(&data, 0);
        box_random(&weights, 0);
        box_1d(&counts, GPUL_F64, bins, 0, 0);
        CHECK_OK(gpul_histogram_edges(edges, bins, GPUL_F32, -1, 1));
        for (int64_t i = 0; i < data.n; i++) {
            const double x = box_get(&data, i).f;
            for (int64_t b = 0; b < bins; b++)
                if (x >= edges[b] && (x < edges[b + 1] || (b == bins - 1 && x == edges[bins])))
                    want[b] += box_get(&weights, i).f;
        }
        o.range = GPUL_RANGE_LO_HI;
        o.lo = -1;
        o.hi = 1;
        o.weights = &weights.view;
        for (int run = 0; run < 2; run++) {
            CHECK_OK(gpul_histogram_ex(&counts.view, &data.view, &o, NULL));
            BOX_GUARDS(&counts);
            for (int64_t b = 0; b < bins; b++) {
                const double got = box_got(&counts, b).f;
                if (!(fabsl((long double)got - want[b]) <= 0x1p-52L * fabsl(want[b]) + 1e-17L))
                    FAIL("weights %d: bin %lld has %.17g, wanted %.17Lg", k, (long long)b, got, want[b]);
                if (b < 9) (run ? again : first)[b] = got;
            }
        }
        CHECK_BYTES(again, first, sizeof first);
        box_free(&data);
        box_free(&weights);
        box_free(&counts);
        free(want);
        free(edges);
    }
}

static void test_special_weights(void) { /* NaN and infinite weights spoil their own bins alone */
    const float x[6] = {0.5f, 1.5f, 1.6f, 2.5f, 3.5f, 9};
    const double w[6] = {2, NAN, 1, INFINITY, 5, NAN};
    double got[4] = {0, 0, 0, 0};
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, c = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    CHECK_OK(gpul_to_device(&a, x, GPUL_F32, gpul_1d(6), NULL));
    CHECK_OK(gpul_to_device(&b, w, GPUL_F64, gpul_1d(6), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_F64, gpul_1d(4), NULL));
    o.range = GPUL_RANGE_LO_HI;
    o.hi = 4;
    o.weights = &b;
    CHECK_OK(gpul_histogram_ex(&c, &a, &o, NULL));
    CHECK_OK(gpul_copy_to_host(got, &c, NULL));
    CHECK(got[1] != got[1]);
    CHECK(got[2] == INFINITY);
    CHECK_NEAR(got[0], 2, 0);
    CHECK_NEAR(got[3], 5, 0);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_free(&c));
}

static void test_errors(void) {
    static const char *const h = "gpul_histogram", *const e = "gpul_histogram_ex";
    gpul_array x = GPUL_ZERO, c = GPUL_ZERO, c64 = GPUL_ZERO, f = GPUL_ZERO, half = GPUL_ZERO, m = GPUL_ZERO,
               none = GPUL_ZERO;
    gpul_array zero = GPUL_ZERO, w = GPUL_ZERO, bad = GPUL_ZERO, view = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    const float host[5] = {0, 1, 2, 3, 4};
    const float infinite[2] = {1, INFINITY};
    double edges[5] = {0, 1, 2, 3, 4};
    int32_t got[4];
    CHECK_OK(gpul_to_device(&x, host, GPUL_F32, gpul_1d(5), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_I32, gpul_1d(4), NULL));
    CHECK_OK(gpul_fill(&c, 77, NULL));
    CHECK_OK(gpul_device_array(&c64, GPUL_I64, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_array(&f, GPUL_F64, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_array(&half, GPUL_F16, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_array(&m, GPUL_I32, gpul_2d(2, 2), NULL));
    CHECK_OK(gpul_device_array(&none, GPUL_I32, gpul_1d(0), NULL));
    CHECK_OK(gpul_device_array(&w, GPUL_F64, gpul_1d(5), NULL));
    CHECK_OK(gpul_fill(&w, 1, NULL));
    CHECK_FAILS(gpul_histogram(NULL, &x, 0, 1, NULL), GPUL_ERROR_ARGUMENT, h, "counts");
    CHECK_FAILS(gpul_histogram(&zero, &x, 0, 1, NULL), GPUL_ERROR_ARGUMENT, h, "counts");
    CHECK_FAILS(gpul_histogram(&c, NULL, 0, 1, NULL), GPUL_ERROR_ARGUMENT, h, "x");
    CHECK_FAILS(gpul_histogram(&c, &zero, 0, 1, NULL), GPUL_ERROR_ARGUMENT, h, "x");
    CHECK_FAILS(gpul_histogram(&f, &x, 0, 1, NULL), GPUL_ERROR_DTYPE, h, "counts");
    CHECK_FAILS(gpul_histogram(&c, &half, 0, 1, NULL), GPUL_ERROR_DTYPE, h, "x");
    CHECK_FAILS(gpul_histogram(&m, &x, 0, 1, NULL), GPUL_ERROR_SHAPE, h, "counts");
    CHECK_FAILS(gpul_histogram(&c, &x, 1, 0, NULL), GPUL_ERROR_ARGUMENT, h, "lo");
    CHECK_FAILS(gpul_histogram(&c, &x, NAN, 0, NULL), GPUL_ERROR_ARGUMENT, h, "lo");
    CHECK_FAILS(gpul_histogram(&c, &x, 0, NAN, NULL), GPUL_ERROR_ARGUMENT, h, "hi");
    CHECK_FAILS(gpul_histogram(&c, &x, -INFINITY, 0, NULL), GPUL_ERROR_ARGUMENT, h, "lo");
    CHECK(gpul_histogram(&none, &x, 0, 1, NULL) != GPUL_OK); /* no bins */
    CHECK_OK(gpul_wrap(&view, c.data, GPUL_F32, gpul_1d(4)));
    CHECK_FAILS(gpul_histogram(&c, &view, 0, 1, NULL), GPUL_ERROR_OVERLAP, h, "counts");
    CHECK_FAILS(gpul_histogram_ex(&c, &x, NULL, NULL), GPUL_ERROR_ARGUMENT, e, "options");
    CHECK_FAILS(gpul_histogram_ex(NULL, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "counts");
    CHECK_FAILS(gpul_histogram_ex(&c, NULL, &o, NULL), GPUL_ERROR_ARGUMENT, e, "x");
    o.range = 3;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "range");
    o.range = GPUL_RANGE_AUTO; /* what is set is not ignored */
    o.hi = 1;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "hi = 1 are set");
    o.hi = NAN;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "hi = nan");
    o.hi = 0;
    o.lo = -1;
    o.range = GPUL_RANGE_EDGES;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "lo = -1");
    o.lo = 0;
    o.range = GPUL_RANGE_AUTO;
    o.edges = edges;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "edges");
    o.edges = NULL;
    o.n_edges = 5;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "n_edges = 5");
    o.range = GPUL_RANGE_LO_HI;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "n_edges = 5");
    o.range = GPUL_RANGE_EDGES;
    o.n_edges = 5;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "edges");
    o.edges = edges;
    o.n_edges = 4;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_SHAPE, e, "n_edges");
    o.n_edges = 5;
    edges[2] = 0.5;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "edges");
    edges[2] = NAN;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "edges");
    edges[2] = 2;
    o.weights = &w;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_DTYPE, e, "counts");
    CHECK_FAILS(gpul_histogram_ex(&c64, &x, &o, NULL), GPUL_ERROR_DTYPE, e, "counts");
    o.weights = &f;
    CHECK_FAILS(gpul_histogram_ex(&f, &x, &o, NULL), GPUL_ERROR_SHAPE, e, "weights");
    o.weights = &zero;
    CHECK_FAILS(gpul_histogram_ex(&f, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "weights");
    CHECK_OK(gpul_slice(&bad, &x, 0, 0, 4, 1));
    o.weights = &half;
    CHECK_FAILS(gpul_histogram_ex(&f, &bad, &o, NULL), GPUL_ERROR_DTYPE, e, "weights");
    o.weights = &f;
    CHECK_FAILS(gpul_histogram_ex(&f, &bad, &o, NULL), GPUL_ERROR_OVERLAP, e, "weights");
    o.weights = NULL;
    o.range = GPUL_RANGE_AUTO;
    o.edges = NULL;
    o.n_edges = 0;
    CHECK_OK(gpul_free(&half));
    CHECK_OK(gpul_to_device(&half, infinite, GPUL_F32, gpul_1d(2), NULL));
    CHECK_FAILS(gpul_histogram_ex(&c, &half, &o, NULL), GPUL_ERROR_ARGUMENT, e, NULL); /* the range is not finite */
    CHECK_OK(gpul_copy_to_host(got, &c, NULL));
    for (int i = 0; i < 4; i++) CHECK_INT(got[i], 77);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&c));
    CHECK_OK(gpul_free(&c64));
    CHECK_OK(gpul_free(&f));
    CHECK_OK(gpul_free(&half));
    CHECK_OK(gpul_free(&m));
    CHECK_OK(gpul_free(&none));
    CHECK_OK(gpul_free(&w));
}

static void test_temporary_edges(void) { /* explicit edges may go away before the stream has run */
    gpul_stream s = NULL;
    gpul_array x = GPUL_ZERO, c = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    const int32_t host[6] = {0, 1, 2, 3, 4, 5};
    int64_t got[3] = {0, 0, 0};
    double *edges = (double *)malloc(4 * 8);
    edges[0] = 0;
    edges[1] = 1;
    edges[2] = 3;
    edges[3] = 5;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_to_device(&x, host, GPUL_I32, gpul_1d(6), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_I64, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_synchronize());
    o.range = GPUL_RANGE_EDGES;
    o.edges = edges;
    o.n_edges = 4;
    CHECK_OK(gpul_histogram_ex(&c, &x, &o, s));
    memset(edges, 0, 4 * 8);
    free(edges);
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_OK(gpul_copy_to_host(got, &c, NULL));
    CHECK(got[0] == 1 && got[1] == 2 && got[2] == 3);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&c));
    CHECK_OK(gpul_stream_destroy(&s));
}

int main(void) {
    check_begin("histogram");
    RUN(test_edges);
    RUN(test_numpy);
    RUN(test_shapes);
    RUN(test_concentrated);
    RUN(test_packed);
    RUN(test_two_passes);
    RUN(test_runs);
    RUN(test_weight_layouts);
    RUN(test_special_weights);
    RUN(test_errors);
    RUN(test_temporary_edges);
    return check_end();
}
