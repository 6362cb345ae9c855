/* SPDX-License-Identifier: MIT
 * Histograms: NumPy's stored results to the count, the edge rule on the host, weights, layouts, errors. */
#define GPULITE__KERNELS /* the plans, which are private */
#include "check.h"

#include <float.h>

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
        CHECK_FAILS(gpul_histogram_edges(e, 4, 99, 0, 1), GPUL_ERROR_DTYPE, "gpul_histogram_edges", "99");
        /* ten bins between three doubles */
        CHECK_FAILS(gpul_histogram_edges(e, 10, GPUL_F64, 1e16, 1e16 + 4), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges",
                    "bins");
        CHECK_FAILS(gpul_histogram_edges(e, 4, GPUL_F32, -1e39, 1), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges", "lo");
        CHECK_FAILS(gpul_histogram_edges(e, 4, GPUL_F32, -3e38, 3e38), GPUL_ERROR_ARGUMENT, "gpul_histogram_edges",
                    "hi - lo");
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
        if (left_out(k)) continue;
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

/* ---- explicit edges ---- */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Edges of a kind, sorted. They crowd, repeat, lie between floats and beyond them. */
enum { EVENLY, ANYWHERE, CROWDED, REPEATED, INFINITE, EQUAL, BEYOND_F32, EDGE_KINDS };
static void make_edges(double *edges, int64_t bins, int kind, double lo, double hi) {
    for (int64_t i = 0; i <= bins; i++) {
        const double u = rng_unit();
        edges[i] = kind == EVENLY    ? lo + (hi - lo) * (double)i / (double)bins
                   : kind == CROWDED ? lo + (hi - lo) * exp(-30 * u)
                   : kind == EQUAL   ? (lo + hi) / 2
                                     : lo + (hi - lo) * u;
        if (kind == REPEATED) edges[i] = floor(edges[i] * 8) / 8;
    }
    if (kind == BEYOND_F32 && bins > 1) edges[0] = -1e300, edges[1] = 1e-60, edges[bins] = 1e300;
    if (kind == INFINITE) edges[0] = -INFINITY, edges[bins] = INFINITY;
    if (kind == INFINITE && bins > 4) edges[1] = -INFINITY, edges[2] = INFINITY;
    qsort(edges, (size_t)bins + 1, sizeof *edges, ascending);
}

/* An element of the box: near an edge, between the ends, outside, or none. */
static double edge_value(const double *edges, int64_t bins, gpul_dtype t, double lo, double hi) {
    const double edge = edges[rng_below(bins + 1)];
    const float narrow = (float)(edge > 3e38 ? 3e38 : edge < -3e38 ? -3e38 : edge);
    switch (rng_below(8)) {
    case 0: return t == GPUL_F32 ? (double)narrow : edge;
    case 1: return t == GPUL_F32 ? (double)nextafterf(narrow, -INFINITY) : nextafter(edge, -INFINITY);
    case 2: return t == GPUL_F32 ? (double)nextafterf(narrow, INFINITY) : nextafter(edge, INFINITY);
    case 3: return rng_below(9) ? edges[0] : rng_below(2) ? (double)NAN : -INFINITY;
    case 4: return rng_below(9) ? edges[bins] : (double)INFINITY;
    default: return lo + (hi - lo) * (rng_unit() * 1.2 - 0.1);
    }
}

/* Edges as another type has them: f32 or i32. */
static void narrow_edges(void *typed, gpul_dtype dtype, double *edges, int64_t bins) {
    for (int64_t i = 0; i <= bins; i++) {
        const double e = edges[i];
        const float f = e > FLT_MAX ? INFINITY : e < -FLT_MAX ? -INFINITY : (float)e;
        const int32_t w = e > 2e9 ? 2000000000 : e < -2e9 ? -2000000000 : (int32_t)floor(e);
        if (dtype == GPUL_F32) ((float *)typed)[i] = f, edges[i] = (double)f;
        else ((int32_t *)typed)[i] = w, edges[i] = (double)w;
    }
}

/* One histogram between explicit edges of one type or another; with `graph`, captured, the edges gone, and replayed
 * twice. */
static void run_between(gpul_dtype t, int64_t n, int64_t bins, int kind, int layout, int graph, int accumulate,
                        long label) {
    const double lo = is_float(t) ? -3.7 : -3e8, hi = is_float(t) ? 9.1 : 5e8;
    static const gpul_dtype edge_types[4] = {0, GPUL_F32, GPUL_F64, GPUL_I32};
    const gpul_dtype edges_dtype = edge_types[label / 3 % 4];
    const int narrowed = edges_dtype == GPUL_F32 || edges_dtype == GPUL_I32;
    double *const edges = (double *)malloc((size_t)(bins + 1) * 8);
    void *const narrow = malloc((size_t)(bins + 1) * 4);
    int64_t *const want = (int64_t *)malloc((size_t)bins * 8), wrong = 0, shape[1];
    gpul_histogram_options o = GPUL_ZERO;
    gpul_stream s = NULL;
    box data, counts;
    shape[0] = n;
    make_edges(edges, bins, kind, t == GPUL_U8 ? 0 : lo, t == GPUL_U8 ? 255 : hi);
    if (narrowed) narrow_edges(narrow, edges_dtype, edges, bins);
    box_make(&data, t, 1, shape, layout, label % 3, (int)(label & 1));
    for (int64_t i = 0; i < n; i++) {
        const double value = edge_value(edges, bins, t, lo, hi);
        unsigned char *const to = data.image + box_at(&data, i);
        const int64_t whole = value > 2e9 ? 2000000000 : value > -2e9 ? (int64_t)floor(value) : -2000000000;
        const float f = (float)value;
        const int32_t w = (int32_t)whole;
        if (t == GPUL_F32) memcpy(to, &f, 4);
        else if (t == GPUL_F64) memcpy(to, &value, 8);
        else if (t == GPUL_I32) memcpy(to, &w, 4);
        else if (t == GPUL_I64) memcpy(to, &whole, 8);
        else *to = (unsigned char)rng_below(256);
    }
    box_upload(&data);
    shape[0] = bins;
    box_make(&counts, label & 1 ? GPUL_I32 : GPUL_I64, 1, shape, label % 5 == 2 ? LAY_STRIDED : LAY_C, label % 2, 0);
    box_random(&counts, 1);
    rule(want, bins, edges, &data);
    o.range = GPUL_RANGE_EDGES;
    o.edges = narrowed ? narrow : edges;
    o.edges_dtype = edges_dtype;
    o.n_edges = bins + 1;
    o.accumulate = accumulate;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_DEFAULT));
    CHECK_OK(gpul_device_synchronize());
    if (graph) {
        gpul_graph g = NULL;
        CHECK_OK(gpul_graph_begin(s));
        CHECK_OK(gpul_histogram_ex(&counts.view, &data.view, &o, s));
        memset(edges, 0, (size_t)(bins + 1) * 8);
        memset(narrow, 0, (size_t)(bins + 1) * 4);
        CHECK_OK(gpul_graph_end(&g, s));
        for (int replay = 0; replay < 2; replay++) CHECK_OK(gpul_graph_launch(g, s));
        CHECK_OK(gpul_stream_synchronize(s));
        CHECK_OK(gpul_graph_free(&g));
    } else {
        CHECK_OK(gpul_histogram_ex(&counts.view, &data.view, &o, s));
        memset(edges, 0, (size_t)(bins + 1) * 8);
        memset(narrow, 0, (size_t)(bins + 1) * 4);
        CHECK_OK(gpul_stream_synchronize(s));
    }
    BOX_GUARDS(&counts);
    for (int64_t b = 0; b < bins; b++) {
        const int64_t good = want[b] * (graph && accumulate ? 2 : 1) + (accumulate ? box_get(&counts, b).i : 0);
        if (box_got(&counts, b).i != good && wrong++ == 0)
            FAIL("case %ld (%s, %lld values, %lld edges of kind %d and dtype %d, graph %d): bin %lld has %lld, wanted "
                 "%lld",
                 label, gpul_dtype_name(t), (long long)n, (long long)(bins + 1), kind, (int)edges_dtype, graph,
                 (long long)b, (long long)box_got(&counts, b).i, (long long)good);
    }
    if (!wrong) check_pass();
    CHECK_OK(gpul_stream_destroy(&s));
    BOX_UNCHANGED(&data);
    box_free(&data);
    box_free(&counts);
    free(edges);
    free(narrow);
    free(want);
}

/* Edges in the arguments of a launch, near the counters, and in global memory; counters in shared memory and beyond;
 * edges that take several pieces on their way. */
static void test_between(void) {
    static const gpul_dtype types[5] = {GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64, GPUL_U8};
    static const int64_t bin_counts[] = {1, 2, 3, 8, 100, 255, 438, 439, 440, 441, 511, 512, 1000, 3000, 9000, 20000};
    long label = 0;
    for (int k = 0; k < 420; k++, label++) {
        const int64_t bins = bin_counts[k % COUNT_OF(bin_counts)];
        if (left_out(k)) continue;
        const int64_t n = k % 31 == 0 ? 0 : k % 3 == 0 ? rng_below(70) : rng_below(bins < 600 ? 30000 : 9000);
        run_between(types[k % 5], n, bins, k % EDGE_KINDS, k % 4 == 1 ? LAY_STRIDED : LAY_C, k % 6 == 4, k % 7 == 3,
                    label);
    }
    for (int k = 0; k < 60; k++, label++) /* few bins: elements are compared with all edges */
        if (!left_out(k))
            run_between(types[k % 4], rng_below(k % 3 ? 20000 : 300), 1 + k / 4 % 9, k % EDGE_KINDS,
                        k % 5 == 2 ? LAY_STRIDED : LAY_C, k % 7 == 4, k % 11 == 3, label);
    run_between(GPUL_F32, 50000, 1000, ANYWHERE, LAY_C, 0, 0, label++); /* near */
    run_between(GPUL_F64, 60001, 1200, ANYWHERE, LAY_C, 0, 1, label++);
    run_between(GPUL_I32, 50000, 1000, CROWDED, LAY_C, 1, 0, label++);
    if (!left_out(1)) run_between(GPUL_F64, 300000, 30000, ANYWHERE, LAY_C, 0, 0, label++); /* counters alone */
    for (int kind = 0; kind < EDGE_KINDS; kind++) {                                         /* pieces */
        if (left_out(kind)) continue;
        run_between(types[kind % 5], 3000, 65535 + kind, kind, LAY_C, kind == 3, 0, label++);
        run_between(types[kind % 4], 4000, 200000, kind, LAY_C, 0, kind & 1, label++);
        run_between(types[kind % 4], 2000, 131069 + kind, kind, LAY_C, 0, 0, 3 + 3 * (kind & 2)); /* of 4 bytes */
    }
    if (left_out(1)) return;
    run_between(GPUL_F64, 100, 2000000, ANYWHERE, LAY_C, 0, 0, label++);             /* more than there are */
    run_between(GPUL_F32, (int64_t)1 << 22, 300000, ANYWHERE, LAY_C, 0, 0, label++); /* a table of frequent bins */
}

/* One histogram of elements on the host, its counts compared. */
static void run_few(gpul_dtype t, const void *x, int64_t n, const double *edges, int64_t bins, int even,
                    const int64_t *want) {
    int64_t *const got = (int64_t *)malloc((size_t)bins * 8);
    gpul_array a = GPUL_ZERO, c = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    CHECK_OK(gpul_to_device(&a, x, t, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_I64, gpul_1d(bins), NULL));
    o.range = even ? GPUL_RANGE_LO_HI : GPUL_RANGE_EDGES;
    if (even) o.lo = edges[0], o.hi = edges[bins];
    else o.edges = edges, o.n_edges = bins + 1;
    CHECK_OK(gpul_histogram_ex(&c, &a, &o, NULL));
    CHECK_OK(gpul_copy_to_host(got, &c, NULL));
    for (int64_t b = 0; b < bins; b++) CHECK_INT(got[b], want[b]);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&c));
    free(got);
}

/* -0.0 and 0.0 are one number, whichever of them an element, an edge or an end of the range is. */
static void test_two_zeros(void) {
    const float tiny = 1e-45f;
    for (int k = 0; k < 8; k++) { /* the same few over and over: in vectors, and at the ends */
        const double zero = k & 1 ? -0.0 : 0.0, edges[2][4] = {{-1, zero, 1, 2}, {-2, -1, zero, 0}};
        const float few[8] = {-0.0f, 0.0f, -tiny, tiny, -1, 1, NAN, -INFINITY};
        const int64_t n = 800 + k;
        float *const x = (float *)malloc((size_t)n * 4);
        double *const d = (double *)malloc((size_t)n * 8);
        int64_t each[8] = {0}, want[3], high[2], low[2], last[3];
        const double up[3] = {zero, 0.5, 1}, down[3] = {-2, -1, zero};
        for (int64_t i = 0; i < n; i++) x[i] = few[i % 8], d[i] = few[i % 8], each[i % 8]++;
        want[0] = each[2] + each[4], want[1] = each[0] + each[1] + each[3], want[2] = each[5];
        last[0] = 0, last[1] = each[2] + each[4], last[2] = each[0] + each[1];
        high[0] = each[0] + each[1] + each[3], high[1] = each[5];
        low[0] = 0, low[1] = each[2] + each[4] + each[0] + each[1];
        for (int wide = 0; wide < 2; wide++) {
            const gpul_dtype t = wide ? GPUL_F64 : GPUL_F32;
            run_few(t, wide ? (const void *)d : x, n, edges[0], 3, 0, want);
            run_few(t, wide ? (const void *)d : x, n, edges[1], 3, 0, last);
            run_few(t, wide ? (const void *)d : x, n, up, 2, 1, high);
            run_few(t, wide ? (const void *)d : x, n, down, 2, 1, low);
            run_few(t, wide ? (const void *)d : x, n, up, 2, 0, high);
            run_few(t, wide ? (const void *)d : x, n, down, 2, 0, low);
        }
        free(x);
        free(d);
    }
}

/* Edges beyond all integers, and between them. */
static void test_integer_ends(void) {
    static const int32_t x[9] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX, INT32_MAX, INT32_MIN};
    static const double edges[][5] = {{-INFINITY, -1e300, -0.5, 3e9, 1e10},
                                      {-2147483648.0, -2147483647.5, 0.5, 2147483646.5, 2147483647.0},
                                      {-3e9, -2147483648.5, 2147483647.0, 2147483647.5, INFINITY},
                                      {-2147483649.0, 2147483647.5, 3e9, 4e9, 5e9},
                                      {2147483647.5, 3e9, 4e9, 5e9, 6e9},
                                      {-6e9, -5e9, -4e9, -3e9, -2147483648.5}};
    static const int64_t want[][4] = {{0, 4, 5, 0}, {2, 3, 2, 2}, {0, 7, 2, 0},
                                      {9, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    for (int k = 0; k < 6; k++) run_few(GPUL_I32, x, 9, edges[k], 4, 0, want[k]);
}

/* Ranges beyond all integers: UBSan watches what the plan asks of lo and of the bins' width. */
static void test_far_ranges(void) {
    static const double ranges[][2] = {{-1e300, 1e300}, {0, 1e300}, {9.2e18, 9.2e18 + 8192}};
    static const int64_t first = 9200000000000000000, want[][4] = {{0, 2, 4, 0}, {4, 0, 0, 0}, {1, 0, 0, 1}};
    const int64_t x[6] = {-5, INT64_MIN, 0, 7, first, first + 8192};
    gpul_array a = GPUL_ZERO, c = GPUL_ZERO;
    CHECK_OK(gpul_to_device(&a, x, GPUL_I64, gpul_1d(6), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_I64, gpul_1d(4), NULL));
    for (int k = 0; k < 3; k++) {
        int64_t got[4] = {0, 0, 0, 0};
        CHECK_OK(gpul_histogram(&c, &a, ranges[k][0], ranges[k][1], NULL));
        CHECK_OK(gpul_copy_to_host(got, &c, NULL));
        for (int b = 0; b < 4; b++) CHECK_INT(got[b], want[k][b]);
    }
    CHECK_OK(gpul_free_all(&a, &c));
}

/* A wrong edge behind many right ones, which are on their way when it is found: counts is untouched. */
static void test_wrong_pieces(void) {
    static const int64_t places[] = {1, 3, 440, 32768, 65535, 65536, 65537, 131071, 131072, 131073, 139999, 140000};
    static const gpul_dtype types[3] = {GPUL_F64, GPUL_F32, GPUL_I32};
    const int64_t bins = 140000;
    double *const edges = (double *)malloc((size_t)(bins + 1) * 8);
    float *const floats = (float *)malloc((size_t)(bins + 1) * 4);
    int32_t *const integers = (int32_t *)malloc((size_t)(bins + 1) * 4);
    int32_t *const got = (int32_t *)malloc((size_t)bins * 4);
    const float host[3] = {1, 2, 3};
    gpul_array a = GPUL_ZERO, c = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    for (int64_t i = 0; i <= bins; i++) edges[i] = floats[i] = (float)i, integers[i] = (int32_t)i;
    CHECK_OK(gpul_to_device(&a, host, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_I32, gpul_1d(bins), NULL));
    o.range = GPUL_RANGE_EDGES;
    o.n_edges = bins + 1;
    for (int t = 0; t < 3; t++) {
        CHECK_OK(gpul_fill(&c, 77, NULL));
        o.edges = t == 0 ? (const void *)edges : t == 1 ? (const void *)floats : integers;
        o.edges_dtype = types[t];
        for (int k = 0; k < 2 * COUNT_OF(places); k++) {
            const int64_t at = places[k / 2];
            const int nan = k % 2 && t < 2;
            char text[40];
            int64_t wrong = 0;
            if (left_out(t * 2 * COUNT_OF(places) + k)) continue;
            edges[at] = nan ? NAN : (double)at - 1.5;
            floats[at] = (float)edges[at];
            integers[at] = (int32_t)at - 2;
            snprintf(text, sizeof text, nan ? "edges[%lld] is NaN" : "and [%lld]", (long long)at);
            CHECK_FAILS(gpul_histogram_ex(&c, &a, &o, NULL), GPUL_ERROR_ARGUMENT, "gpul_histogram_ex", text);
            CHECK_OK(gpul_copy_to_host(got, &c, NULL));
            for (int64_t b = 0; b < bins; b++) wrong += got[b] != 77;
            CHECK_INT(wrong, 0);
            edges[at] = floats[at] = (float)at;
            integers[at] = (int32_t)at;
        }
        CHECK_OK(gpul_histogram_ex(&c, &a, &o, NULL));
        CHECK_OK(gpul_copy_to_host(got, &c, NULL));
        CHECK(got[0] == 0 && got[1] == 1 && got[2] == 1 && got[3] == 1 && got[4] == 0);
    }
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&c));
    free(edges);
    free(floats);
    free(integers);
    free(got);
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

enum { UNIFORM, SORTED, CONSTANT, HALF_CONSTANT, FOUR_BINS, CLUSTERED, RUNS, STRETCHES, FEW, ALTERNATING, PATTERNS };
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
    case FEW: return (double)(rng_below(700) * 48611 % c->bins) + 0.5;
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
        if (i % 1021 == 8 || i % 1021 == 9) value = edges[(i < 0 ? 0 : i) * 31 % (c->bins + 1)];
        if (i % 1021 == 9) value = nextafter(value, -INFINITY); /* too near to an edge for an estimate */
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
        CHECK_CUDA(cudaGraphInstantiateWithFlags(&exec, captured, 0));
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

static void test_parts(void) { /* more bins than shared memory has words: parts, each of which reads all of x */
    static const large_case cases[] = {
        {GPUL_F32, UNIFORM, 800017, 60000, 0, -1.2, 2.1, GPUL_I32, 0, 0},
        {GPUL_F32, UNIFORM, 1500001, 115700, 0, 0, 1, GPUL_I64, 1, 1},
        {GPUL_F64, UNIFORM, 900007, 65536, 0, -3, 7, GPUL_I32, 1, 1},
        {GPUL_I32, UNIFORM, 900003, 65536, 0, -70000, 130000, GPUL_I32, 0, 3},
        {GPUL_I64, UNIFORM, 900003, 57857, 0, -1e9, 1.5e9, GPUL_I64, 0, 0},
        {GPUL_F32, SORTED, 1900002, 150001, 0, 0, 150001, GPUL_I32, 0, 2},
        {GPUL_F64, SORTED, 2900002, 230001, 0, 0, 230001, GPUL_I64, 0, 1},
        {GPUL_F32, CONSTANT, 900000, 60000, 0, 0, 60000, GPUL_I32, 0, 3},
        {GPUL_F64, CONSTANT, 900003, 60000, 59999, 0, 60000, GPUL_I32, 1, 0},
        {GPUL_I32, HALF_CONSTANT, 900004, 60000, 0, 0, 60000, GPUL_I32, 0, 0},
        {GPUL_F32, FOUR_BINS, 900009, 60001, 0, 0, 60001, GPUL_I32, 0, 0},
        {GPUL_F32, CLUSTERED, 900009, 60001, 29980, 0, 60001, GPUL_I32, 0, 0},
        {GPUL_I32, FEW, 900009, 20000, 0, 0, 1000, GPUL_I32, 0, 2}, /* integers that lie on edges */
        {GPUL_I64, FEW, 900009, 300, 0, -7, 3, GPUL_I64, 0, 1},
        {GPUL_I32, FEW, 900011, 1000, 0, 0, 100, GPUL_I32, 0, 0}, /* on edges that are off by a rounding */
        {GPUL_I32, FEW, 900012, 400, 0, -100, 100, GPUL_I32, 0, 1},
    };
    for (int k = 0; k < COUNT_OF(cases); k++)
        if (!left_out(k)) run_large(cases + k, k == 0);
}

static void test_beyond(void) { /* still more: bins in global memory, and a table of frequent ones in each block */
    static const large_case cases[] = {
        {GPUL_F32, UNIFORM, 4250003, 1000000, 0, -1.2, 2.1, GPUL_I32, 0, 1},
        {GPUL_F64, UNIFORM, 4194304, 431072, 0, -3, 7, GPUL_I64, 1, 1},
        {GPUL_I32, CLUSTERED, 4194310, 500000, 131060, 0, 500000, GPUL_I32, 0, 3},
        {GPUL_I64, HALF_CONSTANT, 4194313, 450000, 449999, -1e9, 1.5e9, GPUL_I64, 0, 0},
        {GPUL_F32, STRETCHES, 4194400, 700000, 150000, 0, 700000, GPUL_I32, 0, 1},
        {GPUL_F32, FEW, 4194401, 720000, 0, 0, 1, GPUL_I32, 1, 0},
        {GPUL_I32, CONSTANT, 4194425, 400000, 399999, 0, 400000, GPUL_I32, 0, 0},
        {GPUL_I32, FEW, 4194325, 1000000, 0, 0, 1000000, GPUL_I64, 0, 0},
        {GPUL_F64, RUNS, 4194330, 500000, 21, 0, 500000, GPUL_I32, 0, 0},
    };
    for (int k = 0; k < COUNT_OF(cases); k++)
        if (!left_out(k)) run_large(cases + k, k == 4);
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
        if (!left_out(k)) run_large(&c, 0);
    }
    for (int k = 0; k < 8; k++) {
        const large_case c = {
            types[k % 4], k < 4 ? SORTED : CONSTANT, 100003, 300000, 299999, 0, 300000, GPUL_I32, 0, 1};
        if (!left_out(k)) run_large(&c, 0);
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

/* Plans for random problems and machines, without a kernel: each fits, and covers every element and every bin once. */
static void test_plans(void) {
    static const gpul_dtype types[5] = {GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64, GPUL_U8};
    static const gpul_dtype weight_types[5] = {0, GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64};
    static const int64_t optins[5] = {0, 49152, 65536, 101376, 232448};
    long seen[6] = {0, 0, 0, 0, 0, 0};
    for (long k = 0; k < 400000; k++) {
        gpul__histogram_problem p;
        gpul__histogram_plan plan, again;
        gpul__machine machine;
        int64_t size, body, n, near, scratch = 0;
        int good;
        memset(&p, 0, sizeof p);
        machine.device = (int32_t)rng_below(8);
        machine.sms = (int32_t)rng_below(k % 3 ? 200 : 3);
        machine.shared_optin = optins[rng_below(5)];
        p.x_dtype = types[rng_below(5)];
        p.weights_dtype = k % 4 ? 0 : weight_types[rng_below(5)];
        p.counts_dtype = is_float(p.weights_dtype) ? GPUL_F64 : rng_below(2) ? GPUL_I64 : GPUL_I32;
        p.n = n = rng_below((int64_t)1 << rng_below(40));
        p.bins = 1 + rng_below((int64_t)1 << rng_below(k % 7 ? 22 : 34));
        p.counts_stride = 1 + rng_below(3);
        p.accumulate = (int32_t)rng_below(2);
        size = (int64_t)gpul_dtype_size(p.x_dtype);
        p.x = (const void *)(uintptr_t)(4096 + size * rng_below(33));
        p.ndim = 1 + (int32_t)rng_below(3);
        for (int d = 0; d < p.ndim; d++) p.shape[d] = n, p.x_strides[d] = d == p.ndim - 1 ? 1 + rng_below(2) : n;
        p.uniform = rng_below(4) > 0;
        p.lo = p.uniform || rng_below(9) ? ldexp(rng_signed(), (int)rng_below(40)) : -INFINITY;
        p.hi = p.lo + ldexp(1, (int)rng_below(60) - 30);
        p.step = p.span = (p.hi - p.lo) / (double)p.bins;
        p.f32_edges = p.x_dtype == GPUL_F32;
        p.f32_steps = p.f32_edges && rng_below(2);
        memset(&plan, 0xaa, sizeof plan);
        memset(&again, 0x55, sizeof again);
        good = gpul__plan_histogram(&plan, &p, &machine) == 1 && gpul__plan_histogram(&again, &p, &machine) == 1;
        good = good && !memcmp(&plan, &again, sizeof plan) && plan.device == machine.device && plan.kernel >= 0 &&
               plan.kernel <= GPUL__HISTOGRAM_FLOATS && (plan.kernel == GPUL__HISTOGRAM_NOTHING) == (n == 0);
        if (good) seen[plan.kernel]++;
        good = good && plan.blocks >= 1 && plan.parts >= 1 && plan.parts <= 4;
        if (!p.weights_dtype) good = good && n / plan.blocks <= (int64_t)1 << 31; /* counters of 32 bits */
        good = good && plan.shared_bytes >= 0 &&
               plan.shared_bytes <= (machine.shared_optin > 49152 ? machine.shared_optin : 49152) &&
               (plan.shared_bytes <= 49152 || plan.shared_most == machine.shared_optin);
        if (n > 0 && !p.uniform && !plan.listed) scratch += (p.bins + 1) * 8;
        if (plan.buckets > 0 && !plan.listed) scratch += (plan.buckets + 1) * 4;
        if (plan.kernel == GPUL__HISTOGRAM_FLOATS) scratch += p.bins * 20 + 16;
        good = good && plan.scratch_bytes >= scratch && plan.scratch_bytes <= scratch + 16;
        near = plan.edges_shared ? p.bins * (size == 4 ? 4 : 8) + (plan.buckets + 1) * 4 : 0;
        /* elements: `head` of them, whole vectors, and what is left, which is little where there are vectors */
        body = plan.vectors * (16 / size);
        good = good && plan.head >= 0 && plan.vectors >= 0 && plan.head + body <= n;
        if (plan.vectors > 0 && p.ndim == 1 && p.x_strides[0] == 1)
            good = good && ((uintptr_t)p.x + (uintptr_t)(plan.head * size)) % 128 == 0 && n - body < 144 / size;
        else if (plan.vectors > 0)
            good = good && plan.head == 0 && plan.vectors % 32 == 0 && n - body < 33 * (16 / size);
        /* bins: parts that overlap in none and leave none out, with counters for each and three more */
        if (plan.kernel == GPUL__HISTOGRAM_SHARED)
            good = good && plan.width > 0 && (int64_t)plan.width * (plan.parts - 1) < p.bins &&
                   (int64_t)plan.width * plan.parts >= p.bins && plan.shared_bytes >= (plan.width + 2) * 4 + near &&
                   p.bins < (1 << 20) - 2;
        else good = good && plan.parts == 1;
        if (plan.kernel == GPUL__HISTOGRAM_BEYOND)
            good = good && plan.shared_bytes >= (int64_t)plan.width * 8 + near &&
                   plan.shared_bytes <= (int64_t)plan.width * 8 + near + (near ? 64 : 0);
        /* explicit edges: bytes and weights are searched without a table; a list is short and near */
        good = good &&
               (plan.buckets > 0) == (n > 0 && !p.uniform && !p.weights_dtype && size > 1 && p.bins < (int64_t)1 << 31);
        good = good && plan.buckets <= 1 << 22 && (plan.edges_shared || !plan.listed || size == 1) &&
               (plan.buckets > 0 || !plan.edges_shared) && (!plan.listed || p.bins < 440);
        good = good && (!plan.owned || (plan.zeros && plan.blocks == 1 && plan.kernel == GPUL__HISTOGRAM_SHARED));
        good = good && plan.zeros == (!p.accumulate && plan.kernel != GPUL__HISTOGRAM_FLOATS);
        good = good && (plan.counters == 0 || (plan.counters == 2 && plan.zeros && p.bins <= 65536));
        if (!good)
            FAIL("plan %ld: %s, n %lld, %lld bins, %d SMs, %lld bytes: kernel %d, %d x %d blocks, width %d, head %lld, "
                 "%lld vectors, %lld and %lld bytes",
                 k, gpul_dtype_name(p.x_dtype), (long long)n, (long long)p.bins, (int)machine.sms,
                 (long long)machine.shared_optin, (int)plan.kernel, (int)plan.blocks, (int)plan.parts, (int)plan.width,
                 (long long)plan.head, (long long)plan.vectors, (long long)plan.shared_bytes,
                 (long long)plan.scratch_bytes);
    }
    for (int k = 0; k < 6; k++) CHECK(seen[k] > 1000);
}

/* From 2^31 explicit edges on there is no table: the plan of so many, for few of them. */
static void test_no_table(void) {
    enum { N = 5000, BINS = 300 };
    static double edges[BINS + 1];
    static float floats[N];
    static int64_t integers[N];
    gpul_device info;
    gpul__machine machine;
    CHECK_OK(gpul_device_info(&info, 0));
    memset(&machine, 0, sizeof machine);
    machine.sms = info.sms;
    machine.shared_optin = info.shared_per_block_optin;
    for (int b = 0; b <= BINS; b++) edges[b] = b < 100 ? b : b < 200 ? 100 + (b - 100) / 7 : 2 * b - 286;
    for (int i = 0; i < N; i++) integers[i] = rng_below(360) - 20, floats[i] = (float)rng_below(720) / 2 - 20;
    for (int k = 0; k < 2; k++) {
        int64_t want[BINS], got[BINS];
        gpul_array x = GPUL_ZERO, counts = GPUL_ZERO, scratch = GPUL_ZERO;
        gpul__histogram_problem p;
        gpul__histogram_plan plan;
        memset(want, 0, sizeof want);
        for (int i = 0; i < N; i++) {
            const double value = k ? (double)integers[i] : (double)floats[i];
            int b = BINS - 1;
            while (b >= 0 && edges[b] > value) b--;
            if (b >= 0 && value <= edges[BINS]) want[b]++;
        }
        CHECK_OK(gpul_to_device(&x, k ? (const void *)integers : floats, k ? GPUL_I64 : GPUL_F32, gpul_1d(N), NULL));
        CHECK_OK(gpul_device_array(&counts, GPUL_I64, gpul_1d(BINS), NULL));
        CHECK_OK(gpul_device_array(&scratch, GPUL_F64, gpul_1d(BINS + 2), NULL));
        memset(&p, 0, sizeof p);
        p.x = x.data;
        p.x_dtype = x.dtype;
        p.n = p.shape[0] = N;
        p.ndim = 1;
        p.x_strides[0] = p.counts_stride = 1;
        p.counts = counts.data;
        p.counts_dtype = counts.dtype;
        p.edges = edges;
        p.lo = edges[0];
        p.hi = edges[BINS];
        p.bins = (int64_t)1 << 31;
        CHECK(gpul__plan_histogram(&plan, &p, &machine) == 1 && plan.kernel == GPUL__HISTOGRAM_BEYOND);
        CHECK(plan.buckets == 0 && plan.counters == 0 && plan.zeros == 1);
        p.bins = BINS;
        CHECK(gpul__launch_histogram(&p, &plan, NULL, scratch.data, NULL) == 0);
        CHECK_OK(gpul_copy_to_host(got, &counts, NULL));
        CHECK(memcmp(got, want, sizeof got) == 0);
        CHECK_OK(gpul_free_all(&x, &counts, &scratch));
    }
}

/* Nothing to count: whole counts become zero, and nothing beside them, whatever their type. */
static void test_no_elements(void) {
    static const gpul_dtype weight_types[5] = {0, GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64};
    for (int k = 0; k < 24; k++) {
        const gpul_dtype wt = weight_types[k % 6 ? k % 6 - 1 : 0];
        const gpul_dtype ct = is_float(wt) ? GPUL_F64 : wt || k % 6 ? GPUL_I64 : GPUL_I32;
        const int accumulate = k / 12;
        gpul_histogram_options o = GPUL_ZERO;
        const int64_t none = 0, bins = 77;
        box data, weights, counts;
        box_make(&data, GPUL_F32, 1, &none, LAY_C, 0, 0);
        box_make(&weights, wt ? wt : GPUL_F32, 1, &none, LAY_C, 0, 0);
        box_make(&counts, ct, 1, &bins, k / 6 % 2 ? LAY_STRIDED : LAY_C, 1, 1);
        box_random(&counts, 1);
        o.range = GPUL_RANGE_LO_HI;
        o.hi = 1;
        o.weights = wt ? &weights.view : NULL;
        o.accumulate = accumulate;
        CHECK_OK(gpul_histogram_ex(&counts.view, &data.view, &o, NULL));
        BOX_GUARDS(&counts);
        for (int64_t b = 0; b < bins; b++) {
            const num got = box_got(&counts, b), old = box_get(&counts, b);
            if (is_float(wt) ? !(got.f == (accumulate ? old.f : 0)) : got.i != (accumulate ? old.i : 0)) {
                FAIL("case %d: bin %d of an empty x has %lld or %g", k, (int)b, (long long)got.i, got.f);
                break;
            }
        }
        check_pass();
        box_free(&data);
        box_free(&weights);
        box_free(&counts);
    }
}

/* Weights of elements outside the range do not set the scale that sums are taken in. */
static void test_weights_outside(void) {
    const double x[6] = {.1, .4, .9, 5, NAN, -3}, w[6] = {1, 2, 3, 1e300, INFINITY, -1e308}, edges[3] = {0, .5, 1};
    const float wf[6] = {1, 2, 3, 3e38f, NAN, -3e38f};
    gpul_array a = GPUL_ZERO, b[2] = {GPUL_ZERO, GPUL_ZERO}, c = GPUL_ZERO;
    CHECK_OK(gpul_to_device(&a, x, GPUL_F64, gpul_1d(6), NULL));
    CHECK_OK(gpul_to_device(&b[0], w, GPUL_F64, gpul_1d(6), NULL));
    CHECK_OK(gpul_to_device(&b[1], wf, GPUL_F32, gpul_1d(6), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_F64, gpul_1d(2), NULL));
    for (int k = 0; k < 4; k++) {
        double got[2] = {-7, -7};
        gpul_histogram_options o = GPUL_ZERO;
        o.range = k & 1 ? GPUL_RANGE_EDGES : GPUL_RANGE_LO_HI;
        o.hi = k & 1 ? 0 : 1;
        o.edges = k & 1 ? edges : NULL;
        o.n_edges = k & 1 ? 3 : 0;
        o.weights = &b[k / 2];
        CHECK_OK(gpul_histogram_ex(&c, &a, &o, NULL));
        CHECK_OK(gpul_copy_to_host(got, &c, NULL));
        CHECK_NEAR(got[0], 3, 0);
        CHECK_NEAR(got[1], 3, 0);
    }
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&b[0]));
    CHECK_OK(gpul_free(&b[1]));
    CHECK_OK(gpul_free(&c));
}

#ifdef GPULITE_CPU_STANDIN
/* A launch that fails, then a release that fails: the first is what is reported. */
static void test_first_error(void) {
    const float x[4] = {0, 1, 2, 3};
    double edges[601]; /* too many for the launch itself: they take scratch memory */
    gpul_array a = GPUL_ZERO, c = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    gpul_status status;
    for (int i = 0; i < 601; i++) edges[i] = i;
    CHECK_OK(gpul_to_device(&a, x, GPUL_F32, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_I32, gpul_1d(600), NULL));
    o.range = GPUL_RANGE_EDGES;
    o.edges = edges;
    o.n_edges = 601;
    CHECK_OK(gpul_histogram_ex(&c, &a, &o, NULL));
    standin_fail("cudaLaunchKernelExC", 1, cudaErrorLaunchOutOfResources, STANDIN_ONCE);
    standin_fail("cudaFreeAsync", 1, cudaErrorUnknown, STANDIN_ONCE | STANDIN_AFTER);
    status = gpul_histogram_ex(&c, &a, &o, NULL);
    CHECK_INT(standin_failed(), 2);
    standin_fail_clear();
    CHECK_INT(status, GPUL_ERROR_CUDA);
    CHECK_INT(gpul_last_error()->cuda_code, cudaErrorLaunchOutOfResources);
    CHECK(strstr(gpul_last_error()->message, "launching") != NULL);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&c));
}
#endif

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
    o.n_edges = 0;
    o.edges_dtype = GPUL_F32;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "edges_dtype = 1 are set");
    o.edges_dtype = 0;
    o.range = GPUL_RANGE_EDGES;
    o.n_edges = 5;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_ARGUMENT, e, "edges");
    o.edges = edges;
    o.n_edges = 4;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_SHAPE, e, "n_edges");
    o.n_edges = 5;
    o.edges_dtype = GPUL_I64;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_DTYPE, e, "edges_dtype is int64");
    o.edges_dtype = -1;
    CHECK_FAILS(gpul_histogram_ex(&c, &x, &o, NULL), GPUL_ERROR_DTYPE, e, "(-1)");
    o.edges_dtype = 0;
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

#ifdef GPULITE_CPU_STANDIN
/* Memory that was pinned and cannot be used is not pinned for good: edges go another way, and the next time this one. */
static void test_edges_unpinned(void) {
    enum { BINS = 600 };
    static double edges[BINS + 1];
    gpul_array x = GPUL_ZERO, c = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    double sum = 0;
    for (int i = 0; i <= BINS; i++) edges[i] = i;
    o.range = GPUL_RANGE_EDGES;
    o.edges = edges;
    o.n_edges = BINS + 1;
    CHECK_OK(gpul_full(&x, GPUL_F32, gpul_1d(1000), 3, NULL));
    CHECK_OK(gpul_device_array(&c, GPUL_I64, gpul_1d(BINS), NULL));
    CHECK_OK(gpul_memory_trim());
    for (int round = 0; round < 2; round++) {
        if (round == 0) standin_fail("cudaHostGetDevicePointer", 1, cudaErrorUnknown, STANDIN_FROM_THEN_ON);
        CHECK_OK(gpul_histogram_ex(&c, &x, &o, NULL));
        CHECK((standin_failed() > 0) == (round == 0));
        standin_fail_clear();
        CHECK_OK(gpul_sum(&sum, &c, NULL));
        CHECK(sum == 1000);
        CHECK_INT(standin_live_registrations(), round); /* the second time it stays, until memory is trimmed */
    }
    for (int round = 0; round < 10; round++) { /* more often than there is such memory: it can be taken again */
        CHECK_OK(gpul_memory_trim());
        CHECK_INT(standin_live_registrations(), 0);
        CHECK_OK(gpul_histogram_ex(&c, &x, &o, NULL));
        CHECK_OK(gpul_device_synchronize());
        CHECK_INT(standin_live_registrations(), 1);
    }
    CHECK_OK(gpul_free_all(&x, &c));
}
#endif

int main(void) {
    check_begin("histogram");
    RUN(test_edges);
    RUN(test_numpy);
    RUN(test_shapes);
    RUN(test_between);
    RUN(test_two_zeros);
    RUN(test_integer_ends);
    RUN(test_far_ranges);
    RUN(test_wrong_pieces);
    RUN(test_concentrated);
    RUN(test_parts);
    RUN(test_beyond);
    RUN(test_runs);
    RUN(test_weight_layouts);
    RUN(test_special_weights);
    RUN(test_plans);
    RUN(test_no_table);
    RUN(test_no_elements);
    RUN(test_weights_outside);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_first_error);
    RUN(test_edges_unpinned);
#endif
    RUN(test_errors);
    RUN(test_temporary_edges);
    CHECK_OK(gpul_memory_trim());
    return check_end();
}
