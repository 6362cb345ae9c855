/* SPDX-License-Identifier: MIT
 * Reductions and dot: NumPy's results, the documented tree bit for bit, recorded bits, accuracy, axes, errors.
 *
 * `test_reduce --record >tests/data/reduce_bits.txt` writes the recorded bits anew; test_model stays their judge. */
#define GPULITE__KERNELS /* the plans and workspaces, which are private */
#include "check.h"

enum { OPS = 11 };
static const char *const op_names[OPS + 1] = {"?",      "sum",  "prod", "min",    "max",    "abs_sum",
                                              "sum_sq", "mean", "var",  "argmin", "argmax", "count"};

/* ---- an independent model of the promised tree, on the host ---- */

static double enter(int op, double acc, double x, double y) {
    switch (op) {
    case GPUL_PROD: return acc * x;
    case GPUL_ABS_SUM: return acc + fabs(x);
    case GPUL_SUM_SQ: return fma(x, x, acc);
    case 12: return fma(x, y, acc); /* dot */
    default: return acc + x;
    }
}
static double join(int op, double a, double b) { return op == GPUL_PROD ? a * b : a + b; }
static double pairs(int op, double *slots, int64_t count) {
    for (; count > 1; count /= 2)
        for (int64_t i = 0; i < count / 2; i++) slots[i] = join(op, slots[2 * i], slots[2 * i + 1]);
    return slots[0];
}
static double model(int op, const double *x, const double *y, int64_t n, size_t element) {
    const int64_t vec = 16 / (int64_t)element, row = TREE_SLOTS * vec, rows = tree_rows(n, vec);
    const int64_t groups = n <= 8 * rows * row ? 1 : (n + 8 * rows * row - 1) / (8 * rows * row);
    const double identity = op == GPUL_PROD ? 1 : 0;
    double slot[256], *parts = (double *)malloc((size_t)(8 * groups + 1) * 8), result;
    for (int64_t u = 0; u < 8 * groups; u++) {
        for (int p = 0; p < TREE_SLOTS; p++) slot[p] = identity;
        for (int64_t r = 0; r < rows; r++) { /* of a unit: by turns, or side by side where there is one group */
            const int64_t from = (groups > 1 ? (u / 8 * rows + r) * 8 + u % 8 : u * rows + r) * row;
            for (int64_t i = from; i < n && i < from + row; i++) {
                const int64_t p = (i - from) / vec;
                slot[p] = enter(op, slot[p], x[i], y ? y[i] : 0);
            }
        }
        parts[u] = pairs(op, slot, TREE_SLOTS);
    }
    for (int64_t q = 0; q < 256; q++) slot[q] = identity;
    for (int64_t g = 0; g < groups; g++) slot[g % 256] = join(op, slot[g % 256], pairs(op, parts + 8 * g, 8));
    result = pairs(op, slot, 256);
    free(parts);
    return result;
}

/* A double rounded once to a 16-bit type: the nearest of the neighbours of the doubly rounded value. */
static num round_16(gpul_dtype t, double d) {
    const uint16_t h = t == GPUL_F16 ? gpul_f16_from_float((float)d) : gpul_bf16_from_float((float)d);
    num best = num_load(t, &h);
    if (best.f != best.f || isinf(best.f)) return best;
    for (int k = -1; k <= 1; k += 2) {
        const uint16_t other = (uint16_t)(h + k);
        const num v = num_load(t, &other);
        if (fabs(v.f - d) < fabs(best.f - d) || (fabs(v.f - d) == fabs(best.f - d) && !(other & 1))) best = v;
    }
    return best;
}
static num round_to(gpul_dtype t, double d) {
    unsigned char text[8];
    if (t == GPUL_F16 || t == GPUL_BF16) return round_16(t, d);
    num_store(t, text, num_of(d));
    return num_load(t, text);
}

/* What one reduction of n values (in order) gives: exact for everything but var, prod of f64 and the like, for which
 * *tolerance is set. */
static num expected(int op, gpul_dtype t, gpul_dtype out, const num *v, int64_t n, double *tolerance) {
    double *x = (double *)malloc((size_t)(n ? n : 1) * 8);
    num r = {0, 0};
    uint64_t whole = op == GPUL_PROD ? 1 : 0;
    *tolerance = 0;
    for (int64_t i = 0; i < n; i++) x[i] = v[i].f;
    if (op == GPUL_MIN || op == GPUL_MAX || op == GPUL_ARGMIN || op == GPUL_ARGMAX) {
        const int least = op == GPUL_MIN || op == GPUL_ARGMIN;
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++) { /* of zeros, -0 is the lesser, but no index says so */
            if ((op == GPUL_MIN || op == GPUL_MAX) && is_float(t) && x[i] == 0 && x[best] == 0) {
                if (!signbit(x[i]) == !least) best = i;
            } else if (!is_float(t) ? (least ? v[i].i < v[best].i : v[i].i > v[best].i)
                                    : x[best] == x[best] && (x[i] != x[i] || (least ? x[i] < x[best] : x[i] > x[best])))
                best = i;
        }
        r = op == GPUL_MIN || op == GPUL_MAX ? v[best] : num_of_int(best);
    } else if (op == GPUL_COUNT_NONZERO) {
        for (int64_t i = 0; i < n; i++) whole += is_float(t) ? !(x[i] == 0) : v[i].i != 0;
        r = num_of_int((int64_t)whole);
    } else if (op == GPUL_VAR) {
        long double mean = 0, s = 0;
        for (int64_t i = 0; i < n; i++) {
            const long double d = is_float(t) ? (long double)x[i] : (long double)v[i].i;
            mean += d / (long double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            const long double d = (is_float(t) ? (long double)x[i] : (long double)v[i].i) - mean;
            s += d * d;
        }
        r.f = n ? (double)(s / (long double)n) : (double)NAN;
        *tolerance = fabs(r.f) * ((double)n * 0x1p-50 + (out == GPUL_F32 ? 0x1p-23 : 0x1p-52));
    } else if (!is_float(t) && op != GPUL_MEAN) {
        for (int64_t i = 0; i < n; i++) {
            const uint64_t u = (uint64_t)v[i].i;
            if (op == GPUL_SUM) whole += u;
            else if (op == GPUL_PROD) whole *= u;
            else if (op == GPUL_ABS_SUM) whole += v[i].i < 0 ? 0 - u : u;
            else whole += u * u;
        }
        r = num_of_int((int64_t)whole);
    } else if (op == GPUL_MEAN) {
        if (!is_float(t) && t != GPUL_I64) {
            for (int64_t i = 0; i < n; i++) whole += (uint64_t)v[i].i;
            r.f = n ? (double)(int64_t)whole / (double)n : (double)NAN;
        } else {
            r = round_to(out, n ? model(GPUL_SUM, x, NULL, n, gpul_dtype_size(t)) / (double)n : (double)NAN);
        }
    } else {
        r = round_to(out, model(op, x, NULL, n, gpul_dtype_size(t)));
    }
    free(x);
    return r;
}

static int agrees(gpul_dtype t, num got, num want, double tolerance) {
    if (tolerance > 0) return fabs(got.f - want.f) <= tolerance;
    return num_same(t, got, want);
}

/* Every op over every axis (and all of them) of one array. */
static void all_ops(gpul_dtype t, int ndim, const int64_t *shape, int layout, int64_t offset, int fill, int small,
                    gpul_stream stream, int only_all) {
    box x;
    num *values;
    box_make(&x, t, ndim, shape, layout, offset, fill);
    box_random(&x, small);
    values = (num *)malloc((size_t)(x.n + 1) * sizeof(num));
    for (int op = 1; op <= OPS; op++)
        for (int axis = only_all ? -1 : ndim - 1; axis >= -1; axis--) {                   /* -1: all of them */
            const int32_t asked = axis < 0 ? GPUL_ALL_AXES : op % 2 ? axis - ndim : axis; /* also from the end */
            const gpul_dtype rt = gpul_reduce_dtype(op, t);
            gpul_dtype ot = rt;
            int64_t out_shape[4], n = axis < 0 ? x.n : shape[axis], wrong = 0;
            int out_ndim = 0;
            box out;
            if (!rt) continue;
            if (is_float(rt) && op != GPUL_MIN && op != GPUL_MAX && (axis + op) % 3 == 1 &&
                (op == GPUL_SUM || op == GPUL_ABS_SUM || op == GPUL_SUM_SQ))
                ot = GPUL_F64; /* floating sums also go to f64 */
            for (int k = 0; k < ndim; k++)
                if (axis >= 0 && k != axis) out_shape[out_ndim++] = shape[k];
            box_make(&out, ot, out_ndim, out_shape, out_ndim > 1 ? (layout + 1) % LAYOUTS : LAY_C, offset, fill);
            if (n == 0 && (op == GPUL_MIN || op == GPUL_MAX || op == GPUL_ARGMIN || op == GPUL_ARGMAX)) {
                CHECK_FAILS(gpul_reduce(&out.view, &x.view, op, asked, stream), GPUL_ERROR_SHAPE, "gpul_reduce", NULL);
                BOX_UNCHANGED(&out);
                box_free(&out);
                continue;
            }
            {
#ifdef GPULITE_CPU_STANDIN
                const long launches = standin_launches();
#endif
                check_sms((op + axis) % 2 == 0);
                CHECK_OK(gpul_reduce(&out.view, &x.view, op, asked, stream));
                CHECK_OK(gpul_stream_synchronize(stream));
                check_sms(0);
#ifdef GPULITE_CPU_STANDIN
                if (out.n && n) CHECK_INT(standin_launches() - launches, 1);
#endif
            }
            BOX_GUARDS(&out);
            for (int64_t o = 0; o < out.n; o++) {
                double tolerance = 0;
                num want, got;
                if (axis < 0) {
                    if (op == GPUL_ARGMIN || op == GPUL_ARGMAX) { /* row-major */
                        for (int64_t i = 0; i < n; i++) values[i] = box_get(&x, i);
                    } else { /* memory order */
                        int64_t *order = (int64_t *)malloc((size_t)(x.bytes + 1) * sizeof(int64_t)), at = 0;
                        for (int64_t i = 0; i < x.bytes; i++) order[i] = -1;
                        for (int64_t i = 0; i < n; i++) order[box_at(&x, i)] = i;
                        for (int64_t i = 0; i < x.bytes; i++)
                            if (order[i] >= 0) values[at++] = box_get(&x, order[i]);
                        free(order);
                    }
                } else {
                    int64_t inner = 1, base;
                    for (int k = axis + 1; k < ndim; k++) inner *= shape[k];
                    base = o / inner * inner * n + o % inner;
                    for (int64_t i = 0; i < n; i++) values[i] = box_get(&x, base + i * inner);
                }
                want = expected(op, t, ot, values, n, &tolerance);
                got = box_got(&out, o);
                if (!agrees(ot, got, want, tolerance) && wrong++ == 0)
                    FAIL(
                        "%s of %s, %d-D, axis %d, n %lld, layout %d: result %lld is %.17g / %lld, wanted %.17g / %lld within %g",
                        op_names[op], gpul_dtype_name(t), ndim, axis, (long long)n, layout, (long long)o, got.f,
                        (long long)got.i, want.f, (long long)want.i, tolerance);
            }
            if (!wrong) check_pass();
            box_free(&out);
        }
    BOX_UNCHANGED(&x);
    free(values);
    box_free(&x);
}

static void test_model_sizes(void) {
    int64_t sizes = 0;
    for (int d = 0; d < 7; d++) {
        for (int64_t n = 0; n <= 65; n += n < 5 || n > 60 ? 1 : 1 + (n + d) % 4)
            if (!left_out(sizes++))
                all_ops(all_dtypes[d], 1, &n, n % 5 == 3 ? LAY_STRIDED : LAY_C, n % 3, (int)n & 1, d >= 5, NULL, 1);
        for (int k = d % 3; k < COUNT_OF(odd_sizes); k += 3)
            if (!left_out(sizes++))
                all_ops(all_dtypes[d], 1, &odd_sizes[k], k % 5 == 3 ? LAY_STRIDED : LAY_C, k % 2, k & 1, d >= 5, NULL,
                        1);
        for (int k = -1; k <= 1; k++) { /* around the edges of rows, units and groups */
            static const int64_t rows[] = {1, 2, 8, 9, 64, 72, 256};
            const int64_t row = TREE_SLOTS * (int64_t)(16 / gpul_dtype_size(all_dtypes[d]));
            for (int r = 0; r < COUNT_OF(rows); r++) {
                const int64_t n = rows[r] * row + k;
                if (!left_out(sizes++)) all_ops(all_dtypes[d], 1, &n, LAY_C, r & 1, k & 1, d >= 5, NULL, 1);
            }
        }
    }
}

static void test_model_long(void) { /* more than 256 groups, and longer units */
    static const int64_t n = 9 * 8192 * 64 + 12345;
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO;
    double *host, got = 0;
    if (left_out(1)) return;
    host = (double *)malloc((size_t)n * 8);
    for (int64_t i = 0; i < n; i++) host[i] = ldexp(rng_signed(), (int)rng_below(40) - 20);
    CHECK_OK(gpul_to_device(&x, host, GPUL_F64, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_0d(), NULL));
    for (int k = 0; k < 3; k++) {
        const int64_t m = k == 0 ? n : k == 1 ? 257 * 4096 + 1 : 1700001;
        gpul_array part = GPUL_ZERO;
        CHECK_OK(gpul_slice(&part, &x, 0, 0, m, 1));
        CHECK_OK(gpul_reduce(&out, &part, GPUL_SUM, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
        CHECK_NEAR(got, model(GPUL_SUM, host, NULL, m, 8), 0);
        CHECK_OK(gpul_dot(&out, &part, &part, NULL));
        CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
        CHECK_NEAR(got, model(12, host, host, m, 8), 0);
    }
    { /* a lane's elements in more than one set of moments */
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) mean += host[i];
        mean /= (double)n;
        for (int64_t i = 0; i < n; i++) squares += (host[i] - mean) * (host[i] - mean);
        CHECK_OK(gpul_reduce(&out, &x, GPUL_VAR, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
        CHECK_NEAR(got, squares / (double)n, squares / (double)n * 1e-9);
    }
    { /* squares that overflow: infinite, and no NaN */
        for (int64_t i = 0; i < n; i++) host[i] = ldexp(host[i], 900);
        CHECK_OK(gpul_copy_to_device(&x, host, NULL));
        CHECK_OK(gpul_reduce(&out, &x, GPUL_VAR, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
        CHECK(got == INFINITY);
    }
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&out));
    free(host);
}

static void test_axes(void) {
    gpul_stream s = NULL;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    for (int k = 0; k < 56; k++) {
        const int ndim = 2 + k % 3;
        int64_t shape[4];
        for (int i = 0; i < ndim; i++)
            shape[i] = rng_below(14) == 0 ? 0 : 1 + rng_below(ndim == 2 ? 60 : ndim == 3 ? 12 : 7);
        if (!left_out(k))
            all_ops(all_dtypes[k % 7], ndim, shape, k / 7 % LAYOUTS, k % 2, k & 1, k % 2 || k % 7 >= 5,
                    k / 2 % 2 ? s : NULL, 0);
    }
    { /* long and thin, wide and short */
        static const int64_t shapes[][2] = {{9000, 2}, {2, 9000}, {1, 5000}, {5000, 1}, {513, 33}, {33, 513}};
        for (int k = 0; k < COUNT_OF(shapes) * 2; k++)
            if (!left_out(k)) all_ops(k & 1 ? GPUL_F32 : GPUL_I32, 2, shapes[k / 2], k % 4, 0, 0, k & 1, s, 0);
    }
    CHECK_OK(gpul_stream_destroy(&s));
}

/* The axis that goes away may stay, with one element: the same bits, also into an array with gaps. */
static void test_kept_axis(void) {
    for (int k = 0; k < 60; k++) {
        static const int ops[] = {GPUL_SUM, GPUL_MAX, GPUL_MEAN, GPUL_VAR, GPUL_ARGMIN, GPUL_COUNT_NONZERO};
        const int op = ops[k % COUNT_OF(ops)], ndim = 1 + k % 4;
        const int32_t axis = (int32_t)rng_below(2 * ndim) - ndim, at = (axis + ndim) % ndim;
        const gpul_dtype dtype = gpul_reduce_dtype(op, GPUL_F32);
        gpul_shape shape = gpul_0d(), kept, wide, left = gpul_0d();
        gpul_array x = GPUL_ZERO, out = GPUL_ZERO, base = GPUL_ZERO, view;
        float host[4096];
        unsigned char one[4096 * 8], two[4096 * 8];
        shape.ndim = ndim;
        for (int i = 0; i < ndim; i++) shape.dim[i] = 1 + rng_below(8);
        kept = shape;
        kept.dim[at] = 1;
        wide = kept;
        wide.dim[at] = 3;
        for (int i = 0; i < ndim; i++)
            if (i != at) left.dim[left.ndim++] = shape.dim[i];
        for (int i = 0; i < COUNT_OF(host); i++) host[i] = (float)rng_below(100) / 8 - 6;
        CHECK_OK(gpul_to_device(&x, host, GPUL_F32, shape, NULL));
        CHECK_OK(gpul_device_array(&out, dtype, left, NULL));
        CHECK_OK(gpul_device_array(&base, dtype, wide, NULL));
        CHECK_OK(gpul_slice(&view, &base, at, 1, 2, 1));
        CHECK_OK(gpul_reduce(&out, &x, op, axis, NULL));
        CHECK_OK(gpul_reduce(&view, &x, op, axis, NULL));
        CHECK_INT(view.ndim, ndim);
        CHECK_OK(gpul_copy_to_host(one, &out, NULL));
        CHECK_OK(gpul_copy_to_host(two, &view, NULL));
        CHECK_BYTES(two, one, (size_t)gpul_nbytes(&out));
        CHECK_FAILS(gpul_reduce(&base, &x, op, axis, NULL), GPUL_ERROR_SHAPE, "gpul_reduce", "goes away");
        if (ndim == 1) /* all axes take any shape of one element */
            CHECK_OK(gpul_reduce(&view, &x, op, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_free_all(&x, &out, &base));
    }
}

/* The same bits from a row alone, the row in a matrix, the same row as a column of the transposed copy, any stream,
 * again. */
static void test_same_bits(void) {
    static const int64_t lengths[] = {5, 100, 257, 5000, 20000, 134000};
    for (int k = 0; k < COUNT_OF(lengths) * 4; k++) {
        const gpul_dtype t = k / COUNT_OF(lengths) % 2 ? GPUL_F64 : GPUL_F32;
        const int op = k >= 2 * COUNT_OF(lengths) ? GPUL_VAR : GPUL_SUM;
        const int64_t n = lengths[k % COUNT_OF(lengths)], rows = 5;
        gpul_array f = GPUL_ZERO, out = GPUL_ZERO, row = GPUL_ZERO, one = GPUL_ZERO, back = GPUL_ZERO,
                   packed = GPUL_ZERO;
        double from_c[5] = {0, 0, 0, 0, 0}, from_f[5] = {0, 0, 0, 0, 0}, alone = 0;
        gpul_stream s = NULL;
        box m;
        if (left_out(k)) continue;
        box_2d(&m, t, rows, n, k % 3 ? LAY_C_PAD : LAY_C, k % 2, 0);
        for (int64_t i = 0; i < m.n; i++) box_put(&m, i, num_of(ldexp(rng_signed(), (int)rng_below(60) - 30)));
        box_upload(&m);
        CHECK_OK(gpul_stream_create(&s, 0));
        CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_1d(rows), NULL));
        if (t == GPUL_F32 && op == GPUL_VAR) {
            CHECK_OK(gpul_free(&out));
            CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_1d(rows), NULL));
        }
        CHECK_OK(gpul_reduce(&out, &m.view, op, 1, NULL));
        CHECK_OK(gpul_copy_to_host(from_c, &out, NULL));
        CHECK_OK(gpul_device_array(&f, t, gpul_2d_f(rows, n), NULL));
        CHECK_OK(gpul_copy(&f, &m.view, NULL));
        CHECK_OK(gpul_fill(&out, 0, NULL));
        CHECK_OK(gpul_reduce(&out, &f, op, 1, s)); /* column-major: walked the other way */
        CHECK_OK(gpul_stream_synchronize(s));
        CHECK_OK(gpul_copy_to_host(from_f, &out, NULL));
        CHECK_BYTES(from_f, from_c, sizeof from_c);
        CHECK_OK(gpul_transpose(&back, &f));
        CHECK_OK(gpul_reduce(&out, &back, op, 0, NULL));
        CHECK_OK(gpul_copy_to_host(from_f, &out, NULL));
        CHECK_BYTES(from_f, from_c, sizeof from_c);
        CHECK_OK(gpul_device_array(&one, out.dtype, gpul_0d(), NULL));
        for (int64_t r = 0; r < rows; r++) {
            const size_t size = gpul_dtype_size(out.dtype);
            CHECK_OK(gpul_index(&row, &f, 0, r)); /* strided */
            CHECK_OK(gpul_reduce(&one, &row, op, GPUL_ALL_AXES, s));
            CHECK_OK(gpul_stream_synchronize(s));
            CHECK_OK(gpul_copy_to_host(&alone, &one, NULL));
            CHECK_BYTES(&alone, (char *)from_c + (size_t)r * size, size);
            CHECK_OK(gpul_device_array(&packed, t, gpul_1d(n), NULL)); /* dense */
            CHECK_OK(gpul_copy(&packed, &row, NULL));
            CHECK_OK(gpul_reduce(&one, &packed, op, 0, NULL));
            CHECK_OK(gpul_copy_to_host(&alone, &one, NULL));
            CHECK_BYTES(&alone, (char *)from_c + (size_t)r * size, size);
            CHECK_OK(gpul_free(&packed));
        }
        CHECK_OK(gpul_free(&f));
        CHECK_OK(gpul_free(&out));
        CHECK_OK(gpul_free(&one));
        CHECK_OK(gpul_stream_destroy(&s));
        box_free(&m);
    }
}

static void test_accuracy(void) { /* |error| <= eps |S| + 2^-40 sum |x| on data made to hurt */
    for (int k = 0; k < 24; k++) {
        const int64_t n = 1 + rng_below(k % 4 == 3 ? 100000 : 9000);
        float *x = (float *)malloc((size_t)n * 4), got = 0;
        double wide = 0;
        long double sum = 0, magnitude = 0, lost = 0;
        gpul_array a = GPUL_ZERO, out = GPUL_ZERO;
        for (int64_t i = 0; i < n; i++) {
            if (k % 4 == 0) x[i] = (float)ldexp(rng_signed(), (int)rng_below(120) - 60);
            else if (k % 4 == 1) /* cancellation: pairs that leave almost nothing */
                x[i] = i % 2 ? -x[i - 1] * (rng_below(50) ? 1 : 1.0000001f) : (float)ldexp(rng_unit(), 30);
            else if (k % 4 == 2) x[i] = i == 0 ? 1e30f : i == n - 1 ? -1e30f : (float)rng_signed();
            else x[i] = 0.1f;
        }
        for (int64_t i = 0; i < n; i++) { /* Neumaier in long double */
            const long double v = x[i], t = sum + v;
            lost += fabsl(sum) >= fabsl(v) ? (sum - t) + v : (v - t) + sum;
            sum = t;
            magnitude += fabsl(v);
        }
        sum += lost;
        CHECK_OK(gpul_to_device(&a, x, GPUL_F32, gpul_1d(n), NULL));
        CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_0d(), NULL));
        CHECK_OK(gpul_reduce(&out, &a, GPUL_SUM, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
        CHECK(fabsl((long double)got - sum) <= 0x1p-24L * fabsl(sum) + 0x1p-40L * magnitude);
        CHECK_OK(gpul_free(&out));
        CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_0d(), NULL));
        CHECK_OK(gpul_reduce(&out, &a, GPUL_SUM, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_copy_to_host(&wide, &out, NULL));
        CHECK(fabsl((long double)wide - sum) <= 0x1p-40L * magnitude);
        CHECK_OK(gpul_free(&out));
        CHECK_OK(gpul_free(&a));
        free(x);
    }
    for (int k = 0; k < 6; k++) { /* the variance far from zero */
        const int64_t n = 4000;
        double *x = (double *)malloc((size_t)n * 8), got = 0;
        long double mean = 0, s = 0;
        gpul_array a = GPUL_ZERO, out = GPUL_ZERO;
        for (int64_t i = 0; i < n; i++) x[i] = ldexp(1, 8 * k) + rng_signed();
        for (int64_t i = 0; i < n; i++) mean += (long double)x[i];
        mean /= (long double)n;
        for (int64_t i = 0; i < n; i++) s += ((long double)x[i] - mean) * ((long double)x[i] - mean);
        s /= (long double)n;
        CHECK_OK(gpul_to_device(&a, x, GPUL_F64, gpul_1d(n), NULL));
        CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_0d(), NULL));
        CHECK_OK(gpul_reduce(&out, &a, GPUL_VAR, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
        CHECK(fabsl((long double)got - s) <= s * (long double)n * 0x1p-50L);
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_free(&out));
        free(x);
    }
}

static void test_numpy(void) {
    FILE *f = open_data("reduce.bin", "rb");
    int32_t head[2];
    int64_t n;
    long label = 0;
    if (!f) return;
    while (fread(head, 4, 2, f) == 2 && fread(&n, 8, 1, f) == 1) {
        const int op = head[0];
        const gpul_dtype t = head[1], rt = gpul_reduce_dtype(op, t);
        const int64_t bytes = (n * (int64_t)gpul_dtype_size(t) + 7) / 8 * 8;
        void *data = malloc((size_t)bytes + 8);
        unsigned char want[8], text[8];
        double tolerance = 0, scale = 0;
        num got, good = {0, 0};
        gpul_array x = GPUL_ZERO;
        memset(text, 0, sizeof text);
        if (fread(data, 1, (size_t)bytes, f) != (size_t)bytes || fread(want, 1, 8, f) != 8) {
            FAIL("reduce.bin ends early");
            break;
        }
        CHECK_OK(gpul_to_device(&x, data, t, gpul_1d(n), NULL));
        CHECK_OK(gpul_reduce_host(text, rt, &x, op, NULL));
        got = num_load(rt, text);
        good = num_load(is_float(rt) ? GPUL_F64 : GPUL_I64, want);
        if (rt == GPUL_F32) good.f = (float)good.f;
        for (int64_t i = 0; i < n; i++) {
            const double v = fabs(num_load(t, (char *)data + (size_t)i * gpul_dtype_size(t)).f);
            scale += op == GPUL_SUM_SQ || op == GPUL_VAR ? v * v : v;
        }
        if (is_float(rt) && op != GPUL_MIN && op != GPUL_MAX) {
            tolerance = (rt == GPUL_F32 ? 0x1p-23 : 0x1p-50) * fabs(good.f) + 0x1p-45 * scale;
            if (op == GPUL_MEAN || op == GPUL_VAR)
                tolerance = (rt == GPUL_F32 ? 0x1p-23 : 0x1p-45) * fabs(good.f) + 0x1p-45 * scale / (double)(n ? n : 1);
        }
        if (is_float(rt) &&
            (good.f != good.f || isinf(good.f) ? !num_same(GPUL_F64, got, good) : !(fabs(got.f - good.f) <= tolerance)))
            FAIL("case %ld: %s of %lld %s is %.17g, NumPy has %.17g", label, op_names[op], (long long)n,
                 gpul_dtype_name(t), got.f, good.f);
        else if (is_float(rt) && op != GPUL_MIN && op != GPUL_MAX && got.f == 0 && !signbit(got.f) != !signbit(good.f))
            FAIL("case %ld: %s of %lld %s: the zero's sign", label, op_names[op], (long long)n, gpul_dtype_name(t));
        else if (!is_float(rt) && got.i != good.i)
            FAIL("case %ld: %s of %lld %s is %lld, NumPy has %lld", label, op_names[op], (long long)n,
                 gpul_dtype_name(t), (long long)got.i, (long long)good.i);
        else check_pass();
        CHECK_OK(gpul_free(&x));
        free(data);
        label++;
    }
    fclose(f);
    CHECK(label > 500);
}

/* ---- recorded bits ---- */

static void recorded(FILE *file, int record) {
    static const int64_t lengths[] = {1,    2,    3,    7,    31,   32,   33,   100,   255,   256,    257,
                                      1000, 1023, 1025, 4095, 4096, 4097, 8191, 10000, 65537, 100003, 600001};
    long lines = 0;
    for (int d = 0; d < 7; d++)
        for (int k = 0; k < COUNT_OF(lengths); k++) {
            const gpul_dtype t = all_dtypes[d];
            const int64_t n = lengths[k];
            const size_t size = gpul_dtype_size(t);
            unsigned char *host = (unsigned char *)malloc((size_t)n * size);
            gpul_array x = GPUL_ZERO, out = GPUL_ZERO, m = GPUL_ZERO;
            if (n > 200000 && d > 1) {
                free(host);
                continue;
            }
            lcg = (uint64_t)(1000 * d + k);
            for (int64_t i = 0; i < n; i++) lcg_value(t, host + (size_t)i * size);
            CHECK_OK(gpul_to_device(&x, host, t, gpul_1d(n), NULL));
            for (int op = 1; op <= OPS + 2;
                 op++) { /* the last two: dot with itself, and sums of the columns of a matrix */
                const gpul_dtype rt = op == 12 ? (t == GPUL_F32 || t == GPUL_F64 ? t : 0)
                                               : gpul_reduce_dtype(op == 13 ? GPUL_SUM : op, t);
                char name[32] = "";
                int wop = 0;
                long long wn = 0;
                unsigned long long wbits = 0;
                uint64_t bits = 0;
                if (!rt || (op == 13 && n < 100)) continue;
                lines++;
                if (!record && (fscanf(file, "%31s %d %lld %llx", name, &wop, &wn, &wbits) != 4 ||
                                strcmp(name, gpul_dtype_name(t)) != 0 || wop != op || wn != n)) {
                    FAIL("reduce_bits.txt line %ld is for %s %d %lld, not for %s %d %lld", lines, name, wop, wn,
                         gpul_dtype_name(t), op, (long long)n);
                    exit(check_end());
                }
                if (!record && left_out(lines)) continue;
                if (op == 13) {
                    uint64_t columns[7] = {0, 0, 0, 0, 0, 0, 0};
                    CHECK_OK(gpul_slice(&m, &x, 0, 0, n / 7 * 7, 1));
                    CHECK_OK(gpul_reshape(&m, &m, gpul_2d(n / 7, 7)));
                    CHECK_OK(gpul_device_array(&out, rt, gpul_1d(7), NULL));
                    CHECK_OK(gpul_reduce(&out, &m, GPUL_SUM, 0, NULL));
                    CHECK_OK(gpul_copy_to_host(columns, &out, NULL));
                    CHECK_OK(gpul_free(&out));
                    for (int c = 0; c < 7; c++) bits = bits * 1000003u + columns[c];
                } else if (op == 12) {
                    CHECK_OK(gpul_device_array(&out, rt, gpul_0d(), NULL));
                    CHECK_OK(gpul_dot(&out, &x, &x, NULL));
                    CHECK_OK(gpul_copy_to_host(&bits, &out, NULL));
                    CHECK_OK(gpul_free(&out));
                } else {
                    CHECK_OK(gpul_reduce_host(&bits, rt, &x, op, NULL));
                }
                if (record)
                    printf("%s %d %lld %016llx\n", gpul_dtype_name(t), op, (long long)n, (unsigned long long)bits);
                else if (wbits != bits)
                    FAIL("%s of %lld %s: bits %016llx, recorded %016llx",
                         op <= OPS  ? op_names[op]
                         : op == 12 ? "dot"
                                    : "columns",
                         (long long)n, gpul_dtype_name(t), (unsigned long long)bits, wbits);
                else check_pass();
            }
            CHECK_OK(gpul_free(&x));
            free(host);
        }
}
static void test_recorded(void) {
    FILE *f = open_data("reduce_bits.txt", "r");
    if (f) {
        recorded(f, 0);
        fclose(f);
    }
}

#ifdef GPULITE_CPU_STANDIN
static void
test_orders(void) { /* whatever the order of blocks and threads, and however many of them there are: the same bits */
    static const int64_t n = 30011;
    gpul_array x = GPUL_ZERO, sum = GPUL_ZERO, columns = GPUL_ZERO, few = GPUL_ZERO, tall = GPUL_ZERO, m = GPUL_ZERO,
               t = GPUL_ZERO, apart;
    double first[103 + 15], got[103 + 15];
    double *host = (double *)malloc((size_t)n * 8);
    for (int64_t i = 0; i < n; i++) host[i] = ldexp(rng_signed(), (int)rng_below(60) - 30);
    for (int k = 0; k < 20; k++) {
        const int sms = k == 5 ? 1 : k == 6 ? 132 : 4;
        standin_reset();
        standin_order(k == 0 ? STANDIN_FORWARD : k == 1 ? STANDIN_REVERSE : STANDIN_RANDOM);
        standin_seed((unsigned long long)(77 + k));
        standin_garbage(k * 29 & 255);
        standin_sms(sms);
        check_sms(sms); /* what plans count on was found out before */
        CHECK_OK(gpul_to_device(&x, host, GPUL_F64, gpul_1d(n), NULL));
        CHECK_OK(gpul_slice(&m, &x, 0, 0, 300 * 100, 1));
        CHECK_OK(gpul_reshape(&m, &m, gpul_2d(300, 100)));
        CHECK_OK(gpul_slice(&t, &x, 0, 0, 2000 * 15, 1)); /* several warp tiles a column */
        CHECK_OK(gpul_reshape(&t, &t, gpul_2d(2000, 15)));
        CHECK_OK(gpul_slice(&apart, &x, 0, 0, n, 3)); /* two outputs, of elements with steps: blocks share them */
        CHECK_OK(gpul_slice(&apart, &apart, 0, 0, 10002, 1));
        CHECK_OK(gpul_reshape(&apart, &apart, gpul_2d(2, 5001)));
        CHECK_OK(gpul_device_array(&sum, GPUL_F64, gpul_0d(), NULL));
        CHECK_OK(gpul_device_array(&few, GPUL_F64, gpul_1d(2), NULL));
        CHECK_OK(gpul_device_array(&columns, GPUL_F64, gpul_1d(100), NULL));
        CHECK_OK(gpul_device_array(&tall, GPUL_F64, gpul_1d(15), NULL));
        CHECK_OK(gpul_reduce(&tall, &t, GPUL_SUM, 0, NULL));
        CHECK_OK(gpul_reduce(&sum, &x, GPUL_SUM, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_reduce(&columns, &m, GPUL_SUM, 0, NULL));
        CHECK_OK(gpul_reduce(&few, &apart, GPUL_SUM, 1, NULL));
        CHECK_OK(gpul_copy_to_host(k ? got : first, &sum, NULL));
        CHECK_OK(gpul_copy_to_host((k ? got : first) + 1, &columns, NULL));
        CHECK_OK(gpul_copy_to_host((k ? got : first) + 101, &few, NULL));
        CHECK_OK(gpul_copy_to_host((k ? got : first) + 103, &tall, NULL));
        if (k) CHECK_BYTES(got, first, sizeof first);
        CHECK_OK(gpul_free(&x));
        CHECK_OK(gpul_free(&sum));
        CHECK_OK(gpul_free(&columns));
        CHECK_OK(gpul_free(&few));
        CHECK_OK(gpul_free(&tall));
        check_clean();
    }
    check_sms(0);
    standin_reset();
    free(host);
}
#endif

/* Columns against the same numbers laid out as rows: all ways that the two kernels share out slots, units and
 * groups. */
static void test_shapes(void) {
    static const struct {
        gpul_dtype t;
        int64_t n, cols;
    } cases[] = {{GPUL_F32, 70001, 8},
                 {GPUL_F32, 40000, 3},
                 {GPUL_F32, 9000, 300},
                 {GPUL_F32, 1024, 512},
                 {GPUL_F32, 5003, 68},
                 {GPUL_F32, 100, 1},
                 {GPUL_F64, 30000, 2},
                 {GPUL_F64, 5000, 66},
                 {GPUL_F64, 300001, 1},
                 {GPUL_I32, 20000, 5},
                 {GPUL_I64, 1111, 11},
                 {GPUL_U8, 100003, 4},
                 {GPUL_U8, 50, 1000},
                 {GPUL_F16, 9000, 7},
                 {GPUL_BF16, 70, 129},
                 {GPUL_F64, 280000, 31}, /* more groups than threads that combine them at once */
                 /* many outputs of few elements */
                 {GPUL_F32, 3, 2052},
                 {GPUL_F32, 41, 2100},
                 {GPUL_F32, 128, 2048},
                 {GPUL_F32, 9, 67600},
                 {GPUL_F64, 3, 1026},
                 {GPUL_F64, 61, 1100},
                 {GPUL_F64, 64, 1024},
                 {GPUL_F64, 11, 33800},
                 /* enough of both that a thread has several slots */
                 {GPUL_F32, 700, 400},
                 {GPUL_F32, 3001, 92},
                 {GPUL_F64, 1030, 130},
                 {GPUL_F64, 9000, 20},
                 /* blocks of 512 threads, and five blocks to a multiprocessor, with 4 of those or 132 */
                 {GPUL_F32, 9000, 64},
                 {GPUL_F32, 9000, 16},
                 {GPUL_F32, 5000, 500},
                 {GPUL_F64, 5000, 600},
                 /* several sets of units to a block, less than a group and more; more groups than slots */
                 {GPUL_F64, 2943, 1000},
                 {GPUL_F64, 16838, 40},
                 {GPUL_F32, 8283, 40},
                 {GPUL_F32, 65587, 4},
                 {GPUL_F32, 287531, 4},
                 {GPUL_F32, 398010, 4},
                 {GPUL_F64, 271025, 12},
                 {GPUL_F64, 1500002, 2},
                 {GPUL_I64, 140000, 33}};
    static const int ops[] = {GPUL_SUM, GPUL_VAR, GPUL_ARGMIN};
    for (int k = 0; k < COUNT_OF(cases); k++)
        for (int o = 0; o < COUNT_OF(ops); o++) {
            const int op = ops[o];
            const gpul_dtype t = cases[k].t, result = gpul_reduce_dtype(op, t);
            const int64_t n = cases[k].n, cols = cases[k].cols;
            const size_t bytes = (size_t)cols * gpul_dtype_size(result);
            unsigned char *by_cols, *by_rows;
            gpul_array turned = GPUL_ZERO, rows = GPUL_ZERO, out = GPUL_ZERO;
            box x;
            if (result == 0 || left_out(k * COUNT_OF(ops) + o)) continue;
            if (!large_tests() && n * cols > 1 << 20 && o != k % COUNT_OF(ops)) continue; /* one each, in turn */
            by_cols = (unsigned char *)malloc(bytes);
            by_rows = (unsigned char *)malloc(bytes);
            box_2d(&x, t, n, cols, LAY_C, 0, 0);
            box_random(&x, 0);
            CHECK_OK(gpul_transpose(&turned, &x.view));
            CHECK_OK(gpul_device_array(&rows, t, gpul_2d(cols, n), NULL));
            CHECK_OK(gpul_copy(&rows, &turned, NULL));
            CHECK_OK(gpul_device_array(&out, result, gpul_1d(cols), NULL));
            check_sms((k + o) % 2);
            CHECK_OK(gpul_reduce(&out, &x.view, op, 0, NULL));
            check_sms(0);
            CHECK_OK(gpul_copy_to_host(by_cols, &out, NULL));
            CHECK_OK(gpul_fill(&out, 77, NULL));
            CHECK_OK(gpul_reduce(&out, &rows, op, 1, NULL));
            CHECK_OK(gpul_copy_to_host(by_rows, &out, NULL));
            if (!CHECK_BYTES(by_cols, by_rows, bytes)) printf("    case %d, %s\n", k, op_names[op]);
            CHECK_OK(gpul_free(&rows));
            CHECK_OK(gpul_free(&out));
            box_free(&x);
            free(by_cols);
            free(by_rows);
        }
}

/* Rows of bytes and of halves that begin anywhere, with an extreme value on both sides of the first and the last. */
static void test_alignments(void) {
    static const int64_t lengths[] = {1, 5, 15, 16, 17, 31, 100, 511, 512, 513, 2050, 8200, 20011, 70001};
    static const int ops[2][6] = {{GPUL_SUM, GPUL_MIN, GPUL_MAX, GPUL_ARGMIN, GPUL_ARGMAX, GPUL_VAR},
                                  {GPUL_SUM, GPUL_MIN, GPUL_MAX}};
    enum { kRows = 3 };
    for (int k = 0; k < COUNT_OF(lengths) * 2 * 16; k++) {
        const int halves = k % 2, at = k / 2 % 16;
        const int64_t n = lengths[k / 32], all = kRows * n + 32;
        const gpul_dtype t = halves ? GPUL_F16 : GPUL_U8;
        gpul_array a = GPUL_ZERO, part = GPUL_ZERO;
        uint8_t *x;
        uint16_t *half;
        if (left_out(k)) continue;
        x = (uint8_t *)malloc((size_t)all);
        half = (uint16_t *)malloc((size_t)all * sizeof *half);
        for (int64_t i = 0; i < all; i++) {
            const int inside = i >= at && i < at + kRows * n;
            x[i] = (uint8_t)(inside ? 1 + rng_below(rng_below(2) ? 254 : 3) : k / 32 % 2 ? 0 : 255);
            half[i] = gpul_f16_from_float((float)x[i]);
        }
        CHECK_OK(gpul_to_device(&a, halves ? (void *)half : (void *)x, t, gpul_1d(all), NULL));
        CHECK_OK(gpul_slice(&part, &a, 0, at, at + kRows * n, 1));
        CHECK_OK(gpul_reshape(&part, &part, gpul_2d(kRows, n)));
        for (int o = 0; o < 6 && ops[halves][o]; o++) {
            const int op = ops[halves][o];
            const gpul_dtype rt = halves && op == GPUL_SUM ? GPUL_F64 : gpul_reduce_dtype(op, t);
            unsigned char got[kRows * 8];
            gpul_array out = GPUL_ZERO;
            CHECK_OK(gpul_device_array(&out, rt, gpul_1d(kRows), NULL));
            CHECK_OK(gpul_reduce(&out, &part, op, 1, NULL));
            CHECK_OK(gpul_copy_to_host(got, &out, NULL));
            CHECK_OK(gpul_free(&out));
            for (int64_t row = 0; row < kRows; row++) {
                const uint8_t *const of = x + at + row * n;
                const num is = num_load(rt, got + (size_t)row * gpul_dtype_size(rt));
                const double value = is_float(rt) ? is.f : (double)is.i;
                double sum = 0, squares = 0;
                int64_t least = 0, most = 0;
                for (int64_t i = 0; i < n; i++) {
                    sum += of[i];
                    squares += (double)of[i] * of[i];
                    if (of[i] < of[least]) least = i;
                    if (of[i] > of[most]) most = i;
                }
                {
                    const double variance = (squares - sum / (double)n * sum) / (double)n;
                    const double wanted = op == GPUL_SUM      ? sum
                                          : op == GPUL_MIN    ? of[least]
                                          : op == GPUL_MAX    ? of[most]
                                          : op == GPUL_ARGMIN ? (double)least
                                          : op == GPUL_ARGMAX ? (double)most
                                                              : variance;
                    if (!(fabs(value - wanted) <= (op == GPUL_VAR ? 1e-9 * (1 + wanted) : 0)))
                        FAIL("%s of %lld %s, %d behind a multiple of 16: %.17g, not %.17g", op_names[op], (long long)n,
                             gpul_dtype_name(t), at, value, wanted);
                    else check_pass();
                }
            }
        }
        CHECK_OK(gpul_free(&a));
        free(x);
        free(half);
    }
}

/* Columns of rows that are 2 to 4 elements apart, with and without gaps, from any element on, of one matrix and of
 * several: the bits of the same numbers as rows. */
static void test_close_rows(void) {
    static const gpul_dtype types[7] = {GPUL_F32, GPUL_U8, GPUL_F16, GPUL_F64, GPUL_I32, GPUL_BF16, GPUL_I64};
    static const int64_t lengths[] = {9, 17, 40, 257, 1100, 5003, 40009};
    static const int ops[] = {GPUL_SUM, GPUL_ARGMAX, GPUL_MIN, GPUL_VAR};
    for (int k = 0; k < 7 * COUNT_OF(lengths) * 3 * 2; k++) {
        const gpul_dtype t = types[k % 7];
        const int64_t n = lengths[k / 7 % COUNT_OF(lengths)], row = 2 + k / (7 * COUNT_OF(lengths)) % 3;
        const int64_t cols = rng_below(3) ? row : 2 + rng_below(row - 1), matrices = 1 + 2 * rng_below(2);
        const int64_t offset = rng_below(3) ? rng_below(17) : 0, gap = rng_below(2) ? 0 : rng_below(20);
        const int64_t strides[3] = {n * row + gap, row, 1}, turned_strides[3] = {strides[0], 1, row};
        const int op = ops[rng_below(4)];
        const gpul_dtype result = gpul_reduce_dtype(op, t);
        const size_t bytes = (size_t)(matrices * cols) * gpul_dtype_size(result);
        gpul_array view = GPUL_ZERO, turned = GPUL_ZERO, rows = GPUL_ZERO, out = GPUL_ZERO;
        unsigned char *by_cols, *by_rows;
        box x;
        if (result == 0 || left_out(k)) continue;
        by_cols = (unsigned char *)malloc(bytes);
        by_rows = (unsigned char *)malloc(bytes);
        box_2d(&x, t, 1, offset + (matrices - 1) * strides[0] + (n - 1) * row + cols, LAY_C, 0, 0);
        box_random(&x, 0);
        CHECK_OK(gpul_wrap_strided(&view, (char *)x.view.data + (size_t)offset * gpul_dtype_size(t), t,
                                   gpul_3d(matrices, n, cols), strides));
        CHECK_OK(gpul_wrap_strided(&turned, view.data, t, gpul_3d(matrices, cols, n), turned_strides));
        CHECK_OK(gpul_device_array(&rows, t, gpul_3d(matrices, cols, n), NULL));
        CHECK_OK(gpul_copy(&rows, &turned, NULL));
        CHECK_OK(gpul_device_array(&out, result, gpul_2d(matrices, cols), NULL));
        check_sms((int32_t)rng_below(2));
        CHECK_OK(gpul_reduce(&out, &view, op, 1, NULL));
        check_sms(0);
        CHECK_OK(gpul_copy_to_host(by_cols, &out, NULL));
        CHECK_OK(gpul_fill(&out, 77, NULL));
        CHECK_OK(gpul_reduce(&out, &rows, op, 2, NULL));
        CHECK_OK(gpul_copy_to_host(by_rows, &out, NULL));
        if (!CHECK_BYTES(by_cols, by_rows, bytes))
            printf("    %s of %s: %lld x %lld x %lld of %lld from %lld on\n", op_names[op], gpul_dtype_name(t),
                   (long long)matrices, (long long)n, (long long)cols, (long long)row, (long long)offset);
        CHECK_OK(gpul_free(&rows));
        CHECK_OK(gpul_free(&out));
        box_free(&x);
        free(by_cols);
        free(by_rows);
    }
}

/* Results that lie in the gaps of x: no block reads what another one writes. */
static void test_results_in_gaps(void) {
    static const struct {
        gpul_dtype dtype;
        int64_t rows, pitch, cols;
    } cases[] = {
        {GPUL_U8, 1000, 8, 5}, {GPUL_F16, 1000, 17, 10}, {GPUL_F16, 90, 20001, 20000}, {GPUL_U8, 90, 20001, 20000}};
    for (int c = 0; c < COUNT_OF(cases); c++) {
        const int64_t shape[2] = {cases[c].rows, cases[c].pitch}, rows = cases[c].rows;
        gpul_array x = GPUL_ZERO, out = GPUL_ZERO, apart = GPUL_ZERO;
        gpul_difference difference = GPUL_ZERO;
        box all;
        box_make(&all, cases[c].dtype, 2, shape, LAY_C, 0, 0);
        box_random(&all, 0);
        CHECK_OK(gpul_slice(&x, &all.view, 1, 0, cases[c].cols, 1));
        CHECK_OK(gpul_slice(&out, &all.view, 1, cases[c].pitch - 1, cases[c].pitch, 1));
        CHECK_OK(gpul_device_array(&apart, cases[c].dtype, gpul_2d(rows, 1), NULL));
        CHECK_OK(gpul_reduce(&apart, &x, GPUL_MAX, 1, NULL));
        CHECK_OK(gpul_reduce(&out, &x, GPUL_MAX, 1, NULL));
        CHECK_OK(gpul_allclose(&difference, &out, &apart, 0, 0, NULL));
        CHECK_INT(difference.count, 0);
        CHECK_OK(gpul_free(&apart));
        box_free(&all);
    }
}

/* All elements of arrays that do not lie side by side, along up to four dimensions: the bits of a dense copy. */
static void test_gaps(void) {
    static const gpul_dtype types[7] = {GPUL_F16, GPUL_BF16, GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64, GPUL_U8};
    static const int ops[5] = {GPUL_SUM, GPUL_VAR, GPUL_ARGMIN, GPUL_MAX, GPUL_SUM_SQ};
    for (int k = 0; k < 350; k++) {
        const gpul_dtype t = types[k % 7];
        const int ndim = 1 + (int)rng_below(4), op = ops[k / 7 % 5];
        if (left_out(k)) continue;
        const gpul_dtype result = gpul_reduce_dtype(op, t);
        int64_t most = large_tests() && k % 5 == 0 ? 2000000 : 40000, whole[4];
        gpul_array part, dense = GPUL_ZERO, one = GPUL_ZERO, again = GPUL_ZERO;
        double got = 0, want = 0;
        box x;
        if (result == 0) continue;
        for (int d = 0; d < ndim; d++) {
            whole[d] = 1 + rng_below(d + 1 == ndim || rng_below(3) == 0 ? most : most < 30 ? most : 30);
            most = most / whole[d] + 1;
        }
        box_make(&x, t, ndim, whole, k % 3 ? LAY_C : LAY_C_PAD, k % 5, 0);
        box_random(&x, 0);
        part = x.view;
        for (int d = 0; d < ndim; d++) { /* whole, a part, or every other, third ... element */
            const int64_t n = part.shape[d], from = rng_below(3) ? 0 : rng_below(n);
            CHECK_OK(gpul_slice(&part, &part, d, from, n - (n - from > 1 ? rng_below(2) : 0),
                                1 + rng_below(2) * rng_below(8)));
        }
        CHECK_OK(gpul_device_array(&dense, t, shape_of(ndim, part.shape), NULL));
        CHECK_OK(gpul_copy(&dense, &part, NULL));
        CHECK_OK(gpul_device_array(&one, result, gpul_0d(), NULL));
        CHECK_OK(gpul_device_array(&again, result, gpul_0d(), NULL));
        CHECK_OK(gpul_reduce(&one, &part, op, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_reduce(&again, &dense, op, GPUL_ALL_AXES, NULL));
        CHECK_OK(gpul_copy_to_host(&got, &one, NULL));
        CHECK_OK(gpul_copy_to_host(&want, &again, NULL));
        if (!CHECK_BYTES(&got, &want, gpul_dtype_size(result)))
            printf("    case %d, %s of %s, %d dimensions\n", k, op_names[op], gpul_dtype_name(t), ndim);
        CHECK_OK(gpul_free(&dense));
        CHECK_OK(gpul_free(&one));
        CHECK_OK(gpul_free(&again));
        box_free(&x);
    }
}

static void
test_many_streams(void) { /* more of them than there are workspaces, several times over, and some still at work */
    const int64_t n = 300007;
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO, wide = GPUL_ZERO, sums = GPUL_ZERO;
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(n), NULL));
    CHECK_OK(gpul_fill(&x, 1, NULL));
    CHECK_OK(gpul_slice(&wide, &x, 0, 0, 300000, 1));
    CHECK_OK(gpul_reshape(&wide, &wide, gpul_2d(30000, 10)));
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_1d(40), NULL));
    CHECK_OK(gpul_device_array(&sums, GPUL_F32, gpul_2d(40, 10), NULL));
    for (int round = 0; round < 3; round++) {
        gpul_stream s[40];
        double got[40];
        float columns[400];
        if (left_out(round)) continue;
        CHECK_OK(gpul_fill(&out, 0, NULL));
        CHECK_OK(gpul_fill(&sums, 0, NULL));
        CHECK_OK(gpul_device_synchronize());
        for (int k = 0; k < 40; k++) CHECK_OK(gpul_stream_create(&s[k], GPUL_STREAM_NON_BLOCKING));
        for (int again = 0; again < (left_out(1) ? 1 : 3); again++)
            for (int k = 0; k < 40; k++) {
                gpul_array one = GPUL_ZERO, row = GPUL_ZERO;
                CHECK_OK(gpul_index(&one, &out, 0, k));
                CHECK_OK(gpul_index(&row, &sums, 0, k));
                CHECK_OK(gpul_reduce(&one, &x, GPUL_SUM, GPUL_ALL_AXES, s[k]));
                CHECK_OK(gpul_reduce(&row, &wide, GPUL_SUM, 0, s[k]));
            }
        for (int k = 0; k < 40; k++) {
            if (k % 3 == round) CHECK_OK(gpul_stream_synchronize(s[k]));
            CHECK_OK(gpul_stream_destroy(&s[k]));
        }
        CHECK_OK(gpul_device_synchronize());
        CHECK_OK(gpul_copy_to_host(got, &out, NULL));
        CHECK_OK(gpul_copy_to_host(columns, &sums, NULL));
        for (int k = 0; k < 40; k++) CHECK_NEAR(got[k], n, 0);
        for (int k = 0; k < 400; k++) CHECK_NEAR(columns[k], 30000, 0);
    }
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&out));
    CHECK_OK(gpul_free(&sums));
}

static void test_two_streams(void) { /* two reductions at a time share no scratch memory */
    gpul_stream s[2] = {NULL, NULL};
    gpul_array x[2], out[2];
    const int64_t n = 200003;
    memset(x, 0, sizeof x);
    memset(out, 0, sizeof out);
    for (int k = 0; k < 2; k++) {
        CHECK_OK(gpul_stream_create(&s[k], GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_device_array(&x[k], GPUL_F32, gpul_1d(n), s[k]));
        CHECK_OK(gpul_device_array(&out[k], GPUL_F64, gpul_1d(20), s[k]));
        CHECK_OK(gpul_fill(&x[k], k + 1, s[k]));
    }
    for (int round = 0; round < 20; round++)
        for (int k = 0; k < 2; k++) {
            gpul_array one = GPUL_ZERO;
            CHECK_OK(gpul_index(&one, &out[k], 0, round));
            CHECK_OK(gpul_reduce(&one, &x[k], GPUL_SUM, GPUL_ALL_AXES, s[k]));
        }
    for (int k = 0; k < 2; k++) {
        double got[20];
        CHECK_OK(gpul_copy_to_host(got, &out[k], s[k]));
        CHECK_OK(gpul_stream_synchronize(s[k]));
        for (int round = 0; round < 20; round++) CHECK_NEAR(got[round], (double)n * (k + 1), 0);
        CHECK_OK(gpul_free(&x[k]));
        CHECK_OK(gpul_free(&out[k]));
        CHECK_OK(gpul_stream_destroy(&s[k]));
    }
    { /* they need not have met: of two keys, neither gets the workspace of the other */
        const int64_t keys[2] = {INT64_MAX, INT64_MAX - 1};
        gpul__workspace *of[2];
        for (int k = 0; k < 2; k++) {
            of[k] = gpul__workspace_of(0, keys[k], NULL);
            if (CHECK(of[k] != NULL)) gpul__workspace_leave(0, of[k]);
        }
        CHECK(of[0] != of[1]);
        for (int k = 0; k < 2; k++) CHECK_INT(gpul__workspaces_pass(keys[k], 0), 1);
    }
}

/* More counters than a workspace has, or more that passes between blocks: scratch memory, and no stream's workspace is
 * written behind its end. */
static void test_workspace_too_small(void) {
    /* products of a row and a column, each of more terms than a block takes in turn */
    static const int64_t sizes[2][2] = {{1100, 2500}, {500, 5000}};
    gpul_stream s[3];
    gpul_array ones = GPUL_ZERO, out = GPUL_ZERO;
#ifdef GPULITE_CPU_STANDIN /* on few multiprocessors a block would take several products */
    standin_sms(551);
    check_sms(551);
#endif
    CHECK_OK(gpul_full(&ones, GPUL_F32, gpul_1d(2750000), 1, NULL));
    CHECK_OK(gpul_zeros(&out, GPUL_F64, gpul_1d(3), NULL));
    for (int k = 0; k < 3; k++) CHECK_OK(gpul_stream_create(&s[k], GPUL_STREAM_DEFAULT));
    for (int i = 0; i <= 2; i++) {
        double sums[3];
        for (int k = 0; k < 3; k++) { /* takes a workspace, and leaves its partial sums there */
            gpul_array one = GPUL_ZERO, some = GPUL_ZERO;
            CHECK_OK(gpul_index(&one, &out, 0, k));
            CHECK_OK(gpul_fill(&one, -1, s[k]));
            CHECK_OK(gpul_slice(&some, &ones, 0, 0, 220000, 1));
            CHECK_OK(gpul_reduce(&one, &some, GPUL_SUM, GPUL_ALL_AXES, s[k]));
        }
        CHECK_OK(gpul_copy_to_host(sums, &out, NULL));
        for (int k = 0; k < 3; k++) CHECK_NEAR(sums[k], 220000, 0);
        if (i < 2 && !left_out(i)) {
            const int64_t n = sizes[i][0], length = sizes[i][1];
            gpul_array some = GPUL_ZERO, rows = GPUL_ZERO, columns = GPUL_ZERO, products = GPUL_ZERO;
            float got[1100];
            int64_t wrong = 0;
            CHECK_OK(gpul_slice(&some, &ones, 0, 0, n * length, 1));
            CHECK_OK(gpul_reshape(&rows, &some, gpul_3d(n, 1, length)));
            CHECK_OK(gpul_reshape(&columns, &some, gpul_3d(n, length, 1)));
            CHECK_OK(gpul_full(&products, GPUL_F32, gpul_3d(n, 1, 1), -1, s[0]));
            CHECK_OK(gpul_matmul(&products, &rows, &columns, s[0]));
            CHECK_OK(gpul_copy_to_host(got, &products, NULL));
            for (int64_t k = 0; k < n; k++) wrong += !(got[k] == (float)length);
            CHECK_INT(wrong, 0);
            CHECK_OK(gpul_free(&products));
        }
    }
    for (int k = 0; k < 3; k++) CHECK_OK(gpul_stream_destroy(&s[k]));
    CHECK_OK(gpul_free_all(&ones, &out));
#ifdef GPULITE_CPU_STANDIN
    standin_sms(4);
    check_sms(4);
#endif
}

static void test_dot(void) {
    for (int k = 0; k < 90; k++) {
        const gpul_dtype t = k & 1 ? GPUL_F64 : GPUL_F32;
        const int64_t n = k < 66 ? k : odd_sizes[k % COUNT_OF(odd_sizes)];
        double *xs = (double *)malloc((size_t)(n + 1) * 8), *ys = (double *)malloc((size_t)(n + 1) * 8);
        box x, y, out;
        box_make(&x, t, 1, &n, k % 5 == 1 ? LAY_STRIDED : LAY_C, k % 3, k & 1);
        box_make(&y, t, 1, &n, k % 7 == 1 ? LAY_STRIDED : LAY_C, k % 2, k / 2 & 1);
        box_random(&x, 0);
        box_random(&y, 0);
        box_make(&out, k % 4 == 2 ? GPUL_F64 : t, 0, NULL, LAY_C, 0, k & 1);
        for (int64_t i = 0; i < n; i++) {
            xs[i] = box_get(&x, i).f;
            ys[i] = box_get(&y, i).f;
        }
        CHECK_OK(gpul_dot(&out.view, &x.view, &y.view, NULL));
        BOX_GUARDS(&out);
        CHECK_NEAR(box_got(&out, 0).f, round_to(out.view.dtype, model(12, xs, ys, n, gpul_dtype_size(t))).f, 0);
        BOX_UNCHANGED(&x);
        BOX_UNCHANGED(&y);
        box_free(&x);
        box_free(&y);
        box_free(&out);
        free(xs);
        free(ys);
    }
}

/* A sum of floats as another dtype is what was accumulated, not what was rounded to theirs before. */
static void test_accumulated(void) {
    static const float odd[2] = {16777216, 1}, tenths[3] = {0.1f, 0.2f, 0.7f};
    static const double fine[2] = {0.1, 0.2};
    static const uint16_t odd_half[2] = {0x6800, 0x3C00}, odd_bf[2] = {0x4380, 0x3F80}; /* 2048, 1 and 256, 1 */
    static const uint16_t wide[2] = {0x7BFF, 1};                                        /* 65504, 2^-24 */
    const char *const h = "gpul_reduce_host";
    gpul_array x = GPUL_ZERO;
    int64_t whole = -7;
    int32_t small = -7;
    float single = -7;
    double value = -7;
    uint16_t half = 0;
    CHECK_OK(gpul_to_device(&x, odd, GPUL_F32, gpul_1d(2), NULL));
    CHECK_OK(gpul_reduce_host(&whole, GPUL_I64, &x, GPUL_SUM, NULL));
    CHECK_INT(whole, 16777217);
    CHECK_OK(gpul_reduce_host(&small, GPUL_I32, &x, GPUL_ABS_SUM, NULL));
    CHECK_INT(small, 16777217);
    CHECK_OK(gpul_reduce_host(&single, GPUL_F32, &x, GPUL_SUM, NULL)); /* its own dtype: as gpul_reduce */
    CHECK_NEAR(single, 16777216, 0);
    CHECK_FAILS(gpul_reduce_host(&whole, GPUL_I64, &x, GPUL_MEAN, NULL), GPUL_ERROR_ARGUMENT, h, "8388608.5 is no");
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_to_device(&x, tenths, GPUL_F32, gpul_1d(3), NULL));
    CHECK_FAILS(gpul_reduce_host(&small, GPUL_I32, &x, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h, "0.99999999");
    CHECK_FAILS(gpul_reduce_host(&half, GPUL_F16, &x, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h, "0.99999999");
    CHECK(whole == 16777217 && small == 16777217 && half == 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_to_device(&x, odd_half, GPUL_F16, gpul_1d(2), NULL));
    CHECK_OK(gpul_reduce_host(&single, GPUL_F32, &x, GPUL_SUM, NULL));
    CHECK_NEAR(single, 2049, 0);
    CHECK_OK(gpul_reduce_host(&half, GPUL_F16, &x, GPUL_SUM, NULL));
    CHECK_INT(half, 0x6800);
    CHECK_FAILS(gpul_reduce_host(&half, GPUL_BF16, &x, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h, "2049 is no bfloat16");
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_to_device(&x, odd_bf, GPUL_BF16, gpul_1d(2), NULL));
    CHECK_OK(gpul_reduce_host(&single, GPUL_F32, &x, GPUL_SUM, NULL));
    CHECK_NEAR(single, 257, 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_to_device(&x, wide, GPUL_F16, gpul_1d(2), NULL)); /* a wider float rounds */
    CHECK_OK(gpul_reduce_host(&single, GPUL_F32, &x, GPUL_SUM, NULL));
    CHECK_NEAR(single, 65504, 0);
    CHECK_OK(gpul_sum(&value, &x, NULL));
    CHECK_NEAR(value, 65504 + 0x1p-24, 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_full(&x, GPUL_F16, gpul_1d(70000), 1, NULL));
    CHECK_OK(gpul_reduce_host(&single, GPUL_F32, &x, GPUL_SUM, NULL));
    CHECK_NEAR(single, 70000, 0);
    CHECK_OK(gpul_reduce_host(&small, GPUL_I32, &x, GPUL_SUM, NULL));
    CHECK_INT(small, 70000);
    CHECK_OK(gpul_reduce_host(&half, GPUL_F16, &x, GPUL_SUM, NULL));
    CHECK_INT(half, 0x7C00);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_to_device(&x, fine, GPUL_F64, gpul_1d(2), NULL)); /* a narrower one does not */
    CHECK_FAILS(gpul_reduce_host(&single, GPUL_F32, &x, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h, "is no float32");
    CHECK_OK(gpul_free(&x));
}

/* A result as a C value of any dtype: the same value, or a refusal that names it; nothing beside it is written. */
static void test_values(void) {
    static const int32_t big[2] = {2000000000, 2000000000};
    static const int64_t huge[2] = {((int64_t)1 << 62) + 1, 3};
    static const float fine[3] = {0.5f, 0.25f, 16777216.0f};
    const char *const h = "gpul_reduce_host";
    gpul_array i = GPUL_ZERO, l = GPUL_ZERO, f = GPUL_ZERO, nan = GPUL_ZERO, e = GPUL_ZERO;
    int32_t pair[2] = {-5, -6};
    int64_t whole = 0;
    float single = 0;
    double value = -7;
    uint16_t half = 0;
    uint8_t byte[2] = {9, 9};
    CHECK_OK(gpul_to_device(&i, big, GPUL_I32, gpul_1d(2), NULL));
    CHECK_OK(gpul_to_device(&l, huge, GPUL_I64, gpul_1d(2), NULL));
    CHECK_OK(gpul_to_device(&f, fine, GPUL_F32, gpul_1d(3), NULL));
    CHECK_FAILS(gpul_reduce_host(pair, GPUL_I32, &i, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h,
                "the result = 4000000000 is no int32");
    CHECK(pair[0] == -5 && pair[1] == -6);
    CHECK_OK(gpul_reduce_host(pair, GPUL_I32, &i, GPUL_MAX, NULL));
    CHECK(pair[0] == 2000000000 && pair[1] == -6);
    CHECK_OK(gpul_reduce_host(byte, GPUL_U8, &i, GPUL_ARGMAX, NULL));
    CHECK(byte[0] == 0 && byte[1] == 9);
    CHECK_OK(gpul_reduce_host(&whole, GPUL_I64, &i, GPUL_SUM, NULL));
    CHECK_INT(whole, 4000000000);
    CHECK_OK(gpul_reduce_host(&whole, GPUL_I64, &l, GPUL_SUM, NULL));
    CHECK_INT(whole, ((int64_t)1 << 62) + 4);
    CHECK_FAILS(gpul_sum(&value, &l, NULL), GPUL_ERROR_ARGUMENT, "gpul_sum", "4611686018427387908"); /* 61 bits */
    CHECK_NEAR(value, -7, 0);
    CHECK_OK(gpul_sum(&value, &i, NULL));
    CHECK_NEAR(value, 4e9, 0);
    CHECK_OK(gpul_sum(&value, &f, NULL)); /* as it was accumulated, in f64 */
    CHECK_NEAR(value, 16777216.75, 0);
    CHECK_OK(gpul_reduce_host(&single, GPUL_F32, &f, GPUL_SUM, NULL));
    CHECK_NEAR(single, 16777216, 0);
    CHECK_FAILS(gpul_reduce_host(&whole, GPUL_I64, &f, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h, "16777216.75 is no");
    CHECK_OK(gpul_min(&value, &f, NULL));
    CHECK_NEAR(value, 0.25, 0);
    CHECK_OK(gpul_max(&value, &i, NULL));
    CHECK_NEAR(value, 2e9, 0);
    CHECK_OK(gpul_mean(&value, &i, NULL));
    CHECK_NEAR(value, 2e9, 0);
    CHECK_OK(gpul_var(&value, &i, NULL));
    CHECK_NEAR(value, 0, 0);
    CHECK_OK(gpul_reduce_host(&half, GPUL_F16, &f, GPUL_MIN, NULL));
    CHECK_INT(half, 0x3400);
    CHECK_FAILS(gpul_reduce_host(&half, GPUL_F16, &f, GPUL_MAX, NULL), GPUL_ERROR_ARGUMENT, h, "16777216");
    CHECK_INT(half, 0x3400);
    CHECK_OK(gpul_reduce_host(&half, GPUL_BF16, &f, GPUL_MAX, NULL));
    CHECK_INT(half, 0x4B80);
    CHECK_FAILS(gpul_reduce_host(&whole, GPUL_I64, &f, GPUL_MIN, NULL), GPUL_ERROR_ARGUMENT, h, "0.25");
    CHECK_OK(gpul_fill(&f, (double)NAN, NULL));
    CHECK_OK(gpul_max(&value, &f, NULL));
    CHECK(value != value);
    CHECK_OK(gpul_reduce_host(&half, GPUL_F16, &f, GPUL_MAX, NULL));
    CHECK_INT(half & 0x7FFF, 0x7E00);
    CHECK_FAILS(gpul_reduce_host(pair, GPUL_I32, &f, GPUL_MAX, NULL), GPUL_ERROR_ARGUMENT, h,
                "the result = nan is no int32");
    CHECK_OK(gpul_device_array(&e, GPUL_F32, gpul_1d(0), NULL));
    CHECK_OK(gpul_sum(&value, &e, NULL));
    CHECK_NEAR(value, 0, 0);
    CHECK_FAILS(gpul_min(&value, &e, NULL), GPUL_ERROR_SHAPE, "gpul_min", "x");
    CHECK_FAILS(gpul_sum(NULL, &f, NULL), GPUL_ERROR_ARGUMENT, "gpul_sum", "value");
    CHECK_FAILS(gpul_mean(&value, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_mean", "x");
    CHECK_OK(gpul_free(&i));
    CHECK_OK(gpul_free(&l));
    CHECK_OK(gpul_free(&f));
    CHECK_OK(gpul_free(&nan));
    CHECK_OK(gpul_free(&e));
}

static void test_zeros(void) { /* -0 is less than 0, wherever it is: one or none in each row, along either axis */
    static const gpul_dtype types[4] = {GPUL_F32, GPUL_F64, GPUL_F16, GPUL_BF16};
    static const int64_t shapes[4][2] = {{3, 90000}, {700, 60}, {300, 9}, {60, 700}};
    for (int k = 0; k < 64; k++) {
        const gpul_dtype t = types[k % 4];
        const int64_t *const shape = shapes[k / 4 % 4], rows = shape[0], n = shape[1];
        const int op = k / 16 % 2 ? GPUL_MIN : GPUL_MAX, along = k / 32;
        const num most = {op == GPUL_MIN ? 0.0 : -0.0, 0}, rare = {-most.f, 0};
        int64_t wrong = 0;
        box x, out;
        box_2d(&x, t, along ? rows : n, along ? n : rows, LAY_C, k % 3, 0);
        box_1d(&out, t, rows, 0, 0);
        for (int64_t i = 0; i < x.n; i++) box_put(&x, i, most);
        for (int64_t row = 0; row < rows; row += 2) {
            const int64_t at = rng_below(n);
            box_put(&x, along ? row * n + at : at * rows + row, rare);
        }
        box_upload(&x);
        CHECK_OK(gpul_reduce(&out.view, &x.view, op, along, NULL));
        BOX_GUARDS(&out);
        for (int64_t row = 0; row < rows; row++) wrong += !num_same(t, box_got(&out, row), row % 2 ? most : rare);
        CHECK_INT(wrong, 0);
        box_free(&x);
        box_free(&out);
    }
}

static void test_no_elements(void) { /* of no rows no extremes are wanted; of rows of no elements there are none */
    static const int ops[4] = {GPUL_MIN, GPUL_MAX, GPUL_ARGMIN, GPUL_ARGMAX};
    gpul_array x = GPUL_ZERO;
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_2d(0, 5), NULL));
    for (int k = 0; k < 4; k++)
        for (int axis = 0; axis < 2; axis++) {
            gpul_array out = GPUL_ZERO;
            CHECK_OK(gpul_device_array(&out, gpul_reduce_dtype(ops[k], GPUL_F32), gpul_1d(axis ? 0 : 5), NULL));
            if (axis == 1) CHECK_OK(gpul_reduce(&out, &x, ops[k], axis, NULL));
            else CHECK_FAILS(gpul_reduce(&out, &x, ops[k], axis, NULL), GPUL_ERROR_SHAPE, "gpul_reduce", "no elements");
            CHECK_OK(gpul_free(&out));
        }
    CHECK_OK(gpul_free(&x));
}

static void test_errors(void) {
    static const char *const r = "gpul_reduce", *const h = "gpul_reduce_host", *const d = "gpul_dot";
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO, i32 = GPUL_ZERO, half = GPUL_ZERO, e = GPUL_ZERO, zero = GPUL_ZERO,
               v = GPUL_ZERO;
    gpul_array one = GPUL_ZERO, w = GPUL_ZERO, out64 = GPUL_ZERO;
    float host[12], got = 0;
    double value = -5;
    for (int i = 0; i < 12; i++) host[i] = (float)i;
    CHECK_OK(gpul_to_device(&x, host, GPUL_F32, gpul_2d(3, 4), NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(gpul_fill(&out, 77, NULL));
    CHECK_OK(gpul_device_array(&out64, GPUL_F64, gpul_0d(), NULL));
    CHECK_OK(gpul_device_array(&i32, GPUL_I32, gpul_0d(), NULL));
    CHECK_OK(gpul_device_array(&half, GPUL_F16, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&e, GPUL_F32, gpul_2d(0, 3), NULL));
    CHECK_FAILS(gpul_reduce(NULL, &x, GPUL_SUM, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, r, "out");
    CHECK_FAILS(gpul_reduce(&zero, &x, GPUL_SUM, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, r, "out");
    CHECK_FAILS(gpul_reduce(&out, NULL, GPUL_SUM, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, r, "x");
    CHECK_FAILS(gpul_reduce(&out, &zero, GPUL_SUM, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, r, "x");
    CHECK_FAILS(gpul_reduce(&out, &x, 0, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, r, "op");
    CHECK_FAILS(gpul_reduce(&out, &x, 12, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, r, "op");
    CHECK_FAILS(gpul_reduce(&out, &x, -3, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, r, "op");
    CHECK_FAILS(gpul_reduce(&out, &x, GPUL_SUM, 2, NULL), GPUL_ERROR_ARGUMENT, r, "axis");
    CHECK_FAILS(gpul_reduce(&out, &x, GPUL_SUM, -3, NULL), GPUL_ERROR_ARGUMENT, r,
                "axis = -3, but x has float32 (3, 4)");
    CHECK_FAILS(gpul_reduce(&out, &x, GPUL_SUM, INT32_MAX, NULL), GPUL_ERROR_ARGUMENT, r, "axis = 2147483647");
    CHECK_FAILS(gpul_reduce(&out, &x, GPUL_SUM, -1, NULL), GPUL_ERROR_SHAPE, r, "axis 1"); /* the last one, not all */
    CHECK_FAILS(gpul_reduce(&out, &out, GPUL_SUM, -1, NULL), GPUL_ERROR_ARGUMENT, r, "axis"); /* none to count from */
    CHECK_FAILS(gpul_reduce(&out, &x, GPUL_SUM, 0, NULL), GPUL_ERROR_SHAPE, r, "out");
    CHECK_FAILS(gpul_reduce(&i32, &x, GPUL_SUM, GPUL_ALL_AXES, NULL), GPUL_ERROR_DTYPE, r, "out");
    CHECK_FAILS(gpul_reduce(&out64, &x, GPUL_MAX, GPUL_ALL_AXES, NULL), GPUL_ERROR_DTYPE, r, "out");
    CHECK_FAILS(gpul_reduce(&out, &x, GPUL_ARGMAX, GPUL_ALL_AXES, NULL), GPUL_ERROR_DTYPE, r, "out");
    CHECK_FAILS(gpul_reduce(&half, &half, GPUL_VAR, GPUL_ALL_AXES, NULL), GPUL_ERROR_DTYPE, r, "float16");
    CHECK_FAILS(gpul_reduce(&out, &e, GPUL_MIN, GPUL_ALL_AXES, NULL), GPUL_ERROR_SHAPE, r, "x");
    CHECK_FAILS(gpul_reduce(&i32, &x, GPUL_ARGMIN, GPUL_ALL_AXES, NULL), GPUL_ERROR_DTYPE, r, "out");
    CHECK_OK(gpul_reshape(&v, &x, gpul_1d(12)));
    CHECK_OK(gpul_index(&one, &v, 0, 5));
    CHECK_FAILS(gpul_reduce(&one, &x, GPUL_SUM, GPUL_ALL_AXES, NULL), GPUL_ERROR_OVERLAP, r, "out");
    { /* results that share an element */
        gpul_array column = GPUL_ZERO;
        const int64_t still[1] = {0};
        CHECK_OK(gpul_wrap_strided(&column, out.data, GPUL_F32, gpul_1d(3), still));
        CHECK_FAILS(gpul_reduce(&column, &x, GPUL_SUM, 1, NULL), GPUL_ERROR_OVERLAP, r, "out");
    }
    { /* one element for so many that their places do not fit */
        gpul_array many = GPUL_ZERO;
        const int64_t still[1] = {0};
        CHECK_OK(gpul_wrap_strided(&many, x.data, GPUL_F32, gpul_1d((int64_t)1 << 47), still));
        CHECK_FAILS(gpul_reduce(&out, &many, GPUL_SUM, 0, NULL), GPUL_ERROR_CUDA, r, "launching");
        CHECK_FAILS(gpul_dot(&out, &many, &many, NULL), GPUL_ERROR_CUDA, d, "launching");
    }
    CHECK_FAILS(gpul_reduce_host(&value, 0, &x, GPUL_SUM, NULL), GPUL_ERROR_DTYPE, h, "dtype = 0");
    CHECK_FAILS(gpul_reduce_host(NULL, GPUL_F64, &x, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h, "value");
    CHECK_FAILS(gpul_reduce_host(&value, GPUL_F64, NULL, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h, "x");
    CHECK_FAILS(gpul_reduce_host(&value, GPUL_F64, &zero, GPUL_SUM, NULL), GPUL_ERROR_ARGUMENT, h, "x");
    CHECK_FAILS(gpul_reduce_host(&value, GPUL_F64, &x, 99, NULL), GPUL_ERROR_ARGUMENT, h, "op");
    CHECK_FAILS(gpul_reduce_host(&value, GPUL_F64, &half, GPUL_PROD, NULL), GPUL_ERROR_DTYPE, h, "float16");
    CHECK_FAILS(gpul_reduce_host(&value, GPUL_I64, &e, GPUL_ARGMAX, NULL), GPUL_ERROR_SHAPE, h, "x");
    CHECK_NEAR(value, -5, 0);
    CHECK_FAILS(gpul_dot(NULL, &v, &v, NULL), GPUL_ERROR_ARGUMENT, d, "out");
    CHECK_FAILS(gpul_dot(&out, NULL, &v, NULL), GPUL_ERROR_ARGUMENT, d, "x");
    CHECK_FAILS(gpul_dot(&out, &v, NULL, NULL), GPUL_ERROR_ARGUMENT, d, "y");
    CHECK_FAILS(gpul_dot(&out, &zero, &v, NULL), GPUL_ERROR_ARGUMENT, d, "x");
    CHECK_FAILS(gpul_dot(&out, &x, &v, NULL), GPUL_ERROR_SHAPE, d, "x");
    CHECK_OK(gpul_slice(&w, &v, 0, 0, 11, 1));
    CHECK_FAILS(gpul_dot(&out, &v, &w, NULL), GPUL_ERROR_SHAPE, d, "y");
    CHECK_FAILS(gpul_dot(&v, &w, &w, NULL), GPUL_ERROR_SHAPE, d, "out");
    CHECK_FAILS(gpul_dot(&out, &half, &half, NULL), GPUL_ERROR_DTYPE, d, "x");
    CHECK_FAILS(gpul_dot(&i32, &v, &v, NULL), GPUL_ERROR_DTYPE, d, "out");
    CHECK_FAILS(gpul_dot(&one, &v, &v, NULL), GPUL_ERROR_OVERLAP, d, "out");
    CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
    CHECK_NEAR(got, 77, 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&out));
    CHECK_OK(gpul_free(&out64));
    CHECK_OK(gpul_free(&i32));
    CHECK_OK(gpul_free(&half));
    CHECK_OK(gpul_free(&e));
}

static void test_large(void) {
    const int64_t n = large_tests() ? (int64_t)1 << 24 : (int64_t)1 << 17;
    float *x = (float *)malloc((size_t)n * 4);
    gpul_array a = GPUL_ZERO, out = GPUL_ZERO;
    double got = 0;
    int64_t at = -1;
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 1000);
    x[n - 2] = -1;
    CHECK_OK(gpul_to_device(&a, x, GPUL_F32, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_0d(), NULL));
    CHECK_OK(gpul_reduce(&out, &a, GPUL_SUM, GPUL_ALL_AXES, NULL));
    CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
    CHECK_NEAR(got,
               (double)(n / 1000) * 499500.0 + (double)((n % 1000) * (n % 1000 - 1) / 2) - (double)((n - 2) % 1000) - 1,
               0);
    CHECK_OK(gpul_reduce_host(&at, GPUL_I64, &a, GPUL_ARGMIN, NULL));
    CHECK_INT(at, n - 2);
    CHECK_OK(gpul_reduce_host(&at, GPUL_I64, &a, GPUL_ARGMAX, NULL));
    CHECK_INT(at, 999);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&out));
    free(x);
}

/* Variances of integers that a double does not hold, of opposite ends of the type, of one far value, of equal values: of
 * all elements, of rows and of columns, against differences in long double. */
static void test_variance(void) {
    static const gpul_dtype of[3] = {GPUL_F64, GPUL_I64, GPUL_U8};
    for (int k = 0; k < 72; k++) {
        const int kind = k % 4, columns = k / 4 % 2;
        const int64_t n = 2 + rng_below(k < 36 ? 60 : 5000), others = 1 + rng_below(40);
        const gpul_dtype t = of[k / 8 % 3];
        const int whole = t != GPUL_F64;
        const gpul_shape shape = columns ? gpul_2d(n, others) : gpul_2d(others, n);
        uint8_t *const bytes = (uint8_t *)malloc((size_t)(n * others));
        int64_t *const x = (int64_t *)malloc((size_t)(n * others) * 8);
        double *const f = (double *)malloc((size_t)(n * others) * 8), *const got = (double *)malloc((size_t)others * 8);
        gpul_array a = GPUL_ZERO, out = GPUL_ZERO;
        for (int64_t i = 0; i < n * others; i++) {
            const int64_t small = rng_below(200) - 100;
            x[i] = kind == 0   ? ((int64_t)1 << 62) + small
                   : kind == 1 ? (rng_below(2) ? INT64_MAX : INT64_MIN)
                   : kind == 2 ? (rng_below(n) ? small : 1000000000 + small)
                               : (int64_t)1 << 62;
            if (t == GPUL_U8)
                x[i] = kind == 0   ? 100 + (rng_below(n) != 0)
                       : kind == 1 ? 255 * rng_below(2)
                       : kind == 2 ? (rng_below(n) ? 200 + small % 5 : 1)
                                   : 255;
            bytes[i] = (uint8_t)x[i];
            f[i] = kind == 0 ? 1e9 + (double)small : (double)x[i];
            if (!whole && kind == 3) f[i] = 0.1;
        }
        CHECK_OK(gpul_to_device(&a, t == GPUL_U8 ? (void *)bytes : whole ? (void *)x : (void *)f, t, shape, NULL));
        CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_1d(others), NULL));
        CHECK_OK(gpul_reduce(&out, &a, GPUL_VAR, columns ? 0 : 1, NULL));
        CHECK_OK(gpul_copy_to_host(got, &out, NULL));
        for (int64_t o = 0; o < others; o++) {
            long double mean = 0, s = 0;
            for (int pass = 0; pass < 2; pass++) {
                for (int64_t i = 0; i < n; i++) {
                    const int64_t at = columns ? i * others + o : o * n + i;
                    const int64_t first = columns ? o : o * n; /* what no rounding hurts */
                    const long double v =
                        whole ? (long double)x[at] - (long double)x[first] : (long double)f[at] - (long double)f[first];
                    if (pass == 0) mean += v / (long double)n;
                    else s += (v - mean) * (v - mean);
                }
            }
            s /= (long double)n;
            if (kind == 3) CHECK(got[o] == 0);
            else if (!(fabsl((long double)got[o] - s) <= s * (t == GPUL_U8 ? 0x1p-50L : 0x1p-42L)))
                FAIL("%s, kind %d, %lld elements by %s: %.17g, not %.17Lg", gpul_dtype_name(t), kind, (long long)n,
                     columns ? "columns" : "rows", got[o], s);
        }
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_free(&out));
        free(bytes);
        free(x);
        free(f);
        free(got);
    }
}

/* Which kernel sums the columns or the rows of a matrix on 132 multiprocessors. */
static void test_kernels(void) {
    static const struct {
        gpul_dtype t;
        int64_t n, outputs, stride, next; /* from an element of an output to its next, and from an output to the next */
        int32_t kernel;
    } cases[] = {{GPUL_F32, 30, 147, 147, 1, GPUL__REDUCE_SHORT},
                 {GPUL_F32, 128, 8400, 8401, 1, GPUL__REDUCE_SHORT}, /* 32 lanes each: all threads at once */
                 {GPUL_F32, 128, 8500, 8501, 1, GPUL__REDUCE_COLUMNS},
                 {GPUL_F32, 128, 100, 104, 1, GPUL__REDUCE_COLUMNS}, /* rows at multiples of 32 bytes */
                 {GPUL_F32, 32, 100, 104, 1, GPUL__REDUCE_SHORT},
                 {GPUL_F32, 200, 80, 81, 1, GPUL__REDUCE_ROWS}, /* one warp tile */
                 {GPUL_F32, 200, 90, 90, 1, GPUL__REDUCE_COLUMNS},
                 {GPUL_F32, 200, 80, 80, 1, GPUL__REDUCE_COLUMNS},
                 {GPUL_F32, 5000, 105, 107, 1, GPUL__REDUCE_ROWS}, /* several */
                 {GPUL_F32, 5000, 110, 111, 1, GPUL__REDUCE_COLUMNS},
                 {GPUL_F32, 5000, 50, 56, 1, GPUL__REDUCE_COLUMNS},
                 {GPUL_F32, 5000, 40, 48, 1, GPUL__REDUCE_ROWS},
                 {GPUL_F32, 5000, 5, 111, 1, GPUL__REDUCE_COLUMNS}, /* far apart */
                 {GPUL_U8, 32, 100, 101, 1, GPUL__REDUCE_COLUMNS},
                 {GPUL_U8, 33, 100, 101, 1, GPUL__REDUCE_ROWS},
                 {GPUL_U8, 9000, 100, 101, 1, GPUL__REDUCE_ROWS},
                 {GPUL_F64, 1000000, 64, 64, 1, GPUL__REDUCE_COLUMNS},
                 {GPUL_F32, 128, 5, 1, 128, GPUL__REDUCE_SHORT},
                 {GPUL_F32, 500, 4000, 1, 500, GPUL__REDUCE_ROWS},
                 {GPUL_F32, 500, 4300, 1, 500, GPUL__REDUCE_SHORT},
                 {GPUL_F32, 2000, 4300, 1, 2000, GPUL__REDUCE_ROWS}, /* several warp tiles */
                 {GPUL_F32, 500, 2000, 2, 1000, GPUL__REDUCE_ROWS},
                 {GPUL_F32, 500, 2200, 2, 1000, GPUL__REDUCE_SHORT}};
    for (int k = 0; k < COUNT_OF(cases); k++) {
        gpul__reduce_problem p;
        gpul__reduce_plan plan;
        gpul__machine machine;
        memset(&p, 0, sizeof p);
        machine.device = 0;
        machine.sms = 132;
        machine.shared_optin = 49152;
        p.x = (const void *)(uintptr_t)4096;
        p.n = p.reduce_shape[0] = cases[k].n;
        p.outputs = p.outer_shape[0] = cases[k].outputs;
        p.reduce_ndim = p.outer_ndim = 1;
        p.x_reduce[0] = cases[k].stride;
        p.x_outer[0] = cases[k].next;
        CHECK_INT(gpul__plan_reduction(&plan, &p, gpul__find_reducer(GPUL_SUM, cases[k].t), &machine), 0);
        if (!CHECK_INT(plan.kernel, cases[k].kernel)) printf("    case %d\n", k);
    }
}

/* Of random problems on random machines, with no kernel: a plan is a pure function, fits the GPU, has the promised
 * tree, gives each output and each tile to one block, and claims no alignment that is not there. */
static void test_plans(void) {
    static const gpul_dtype types[7] = {GPUL_F16, GPUL_BF16, GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64, GPUL_U8};
    static const int ops[13] = {GPUL_SUM,           GPUL_PROD, GPUL_MIN,  GPUL_MAX,    GPUL_ABS_SUM,
                                GPUL_SUM_SQ,        GPUL_MEAN, GPUL_VAR,  GPUL_ARGMIN, GPUL_ARGMAX,
                                GPUL_COUNT_NONZERO, GPUL__DOT, GPUL__GEMV};
    long seen[3] = {0, 0, 0}, shared_out = 0, spread = 0, aligned = 0, refused = 0, long_exact = 0;
    for (long k = 0; k < 400000; k++) {
        const gpul_dtype t = types[rng_below(7)];
        const int op = ops[rng_below(13)];
        const gpul__reducer *const r = gpul__find_reducer(op, t);
        const int64_t size = (int64_t)gpul_dtype_size(t), vector = 16 / size;
        gpul__reduce_problem p;
        gpul__reduce_plan plan, again;
        gpul__machine machine;
        int64_t gap, each, rows, unit, wanted;
        int good, d, status;
        if (r == NULL) continue;
        memset(&p, 0, sizeof p);
        machine.device = 0;
        machine.sms = 1 + (int32_t)rng_below(k % 3 ? 200 : 3);
        machine.shared_optin = rng_below(2) ? 49152 : 232448;
        p.n = rng_below((int64_t)1 << rng_below(k % 5 ? 24 : 43));
        p.outer_ndim = op == GPUL__DOT ? 0 : op == GPUL__GEMV ? 1 : (int32_t)rng_below(4);
        p.outputs = 1;
        p.reduce_ndim = 1;
        p.reduce_shape[0] = p.n;
        p.x_reduce[0] = rng_below(3) ? 1 : 1 + rng_below(5);
        gap = p.n * p.x_reduce[0] + (rng_below(2) ? 0 : rng_below(9));
        for (d = p.outer_ndim - 1; d >= 0; d--) {
            p.outer_shape[d] = 1 + rng_below((int64_t)1 << rng_below(p.outer_ndim == 1 ? 24 : 12));
            if (gap > ((int64_t)1 << 58) / p.outer_shape[d]) p.outer_shape[d] = 1; /* no address is that far away */
            p.x_outer[d] = gap > 0 ? gap : 1;
            gap *= p.outer_shape[d];
            p.outputs *= p.outer_shape[d];
        }
        if (p.outer_ndim > 0 && rng_below(2)) { /* by columns */
            d = p.outer_ndim - 1;
            p.x_outer[d] = rng_below(8) ? 1 : 2;
            p.x_reduce[0] = p.x_outer[d] * p.outer_shape[d] + (rng_below(2) ? 0 : rng_below(9));
        }
        p.x = (const void *)(uintptr_t)(4096 + (rng_below(2) ? 0 : size * rng_below(33)));
        if (op == GPUL__DOT || op == GPUL__GEMV) {
            p.y = (const void *)(uintptr_t)(8192 + (rng_below(2) ? 0 : size * rng_below(33)));
            p.y_stride = rng_below(4) ? 1 : 3;
        }
        memset(&plan, 0xaa, sizeof plan);
        memset(&again, 0x55, sizeof again);
        status = gpul__plan_reduction(&plan, &p, r, &machine);
        good = gpul__plan_reduction(&again, &p, r, &machine) == status && memcmp(&plan, &again, sizeof plan) == 0;
        good = good && plan.kernel >= 0 && plan.kernel <= 2;
        if (status != 0) { /* nothing but a grid, or results between blocks, that no GPU has room for */
            good = good && (plan.blocks > INT32_MAX || plan.partials > INT64_MAX / 64);
            refused++;
        } else good = good && plan.blocks >= 1 && plan.blocks <= INT32_MAX;
        if (good) seen[plan.kernel]++;
        good = good && plan.threads > 0 && plan.threads <= 256 && plan.threads % 32 == 0;
        good = good && plan.shared_bytes >= 0 && plan.shared_bytes <= 49152;
        /* the tree */
        unit = plan.tile_rows * 32 * vector;
        rows = tree_rows(p.n, vector); /* but where the tree does not matter, a row to each warp, and so on */
        if (r->exact && plan.kernel != GPUL__REDUCE_COLUMNS) {
            const int64_t all = (p.n + 32 * vector - 1) / (32 * vector), blocks = 3 * machine.sms, tree = rows;
            const int64_t tiles = p.outputs < blocks ? blocks / p.outputs : 1; /* blocks that run at a time */
            if (all > 8 * rows && (p.x_reduce[0] == 1 || p.n <= 1)) {
                rows = (all + 8 * tiles - 1) / (8 * tiles);
                if (rows > 256) rows = 256;
                if (rows < tree) rows = tree;
            } else if (size >= 4 && all <= 8 * rows && p.outputs >= 2 * blocks && all > 2 * rows) rows = (all + 1) / 2;
            else if (all <= 8 * rows && size == 1 && p.outputs <= machine.sms) rows = all > 8 ? (all + 7) / 8 : 1;
        }
        if (r->exact && rows > 4096) { /* a lane has 65536 bytes at most, whose squares add up in 32 bits */
            rows = 4096;
            long_exact++;
        }
        good = good && plan.tile_rows == rows && plan.block_tiles >= 1;
        good = good && r->exact == (size == 1 || op == GPUL_MIN || op == GPUL_MAX || op == GPUL_ARGMIN ||
                                    op == GPUL_ARGMAX || op == GPUL_COUNT_NONZERO ||
                                    (!is_float(t) && op != GPUL_VAR && (op != GPUL_MEAN || t == GPUL_I32)));
        good = good && 8 * unit * plan.block_tiles >= p.n && (p.n == 0 || 8 * unit * (plan.block_tiles - 1) < p.n);
        good = good && (plan.block_tiles > 1 ? plan.warp_tiles == 8 * plan.block_tiles
                                             : plan.warp_tiles * unit >= p.n && (plan.warp_tiles - 1) * unit < p.n);
        good = good && plan.row_step == (plan.block_tiles > 1 ? 8 : 1);
        /* outputs, and tiles */
        each = 0;
        wanted = p.outputs;
        if (plan.kernel == GPUL__REDUCE_ROWS) {
            each = (int64_t)plan.outputs_at_once * plan.groups;
            good = good && plan.warps_log2 >= 0 && plan.warps_log2 <= 3 && plan.groups >= 1 &&
                   plan.groups << plan.warps_log2 <= 8 &&
                   (plan.warp_tiles <= 1 << plan.warps_log2) == (plan.pieces == 1) &&
                   plan.pieces == (p.n == 0 ? 1 : (plan.warp_tiles + (1 << plan.warps_log2) - 1) >> plan.warps_log2) &&
                   (plan.pieces == plan.block_tiles || (plan.pieces <= 256 && !plan.dense));
            spread += plan.pieces > plan.block_tiles;
            good = good && plan.tiles >= 1 && plan.tiles <= 32;
            if (plan.pieces == 1) { /* of outputs that follow each other: 256 threads have one result each */
                each *= plan.tiles;
                good = good && plan.splits == 1 && plan.tiles * plan.outputs_at_once <= 32;
            } else
                good = good && (int64_t)plan.splits * plan.tiles >= plan.pieces &&
                       (int64_t)(plan.splits - 1) * plan.tiles < plan.pieces;
        } else if (plan.kernel == GPUL__REDUCE_SHORT) {
            good = good && plan.warp_tiles <= 1 && p.reduce_ndim == 1 && plan.splits == 1 && plan.lanes >= 1 &&
                   plan.lanes <= 32 && (plan.lanes & (plan.lanes - 1)) == 0 &&
                   (plan.lanes == 32 || plan.lanes * vector >= p.n);
            each = (int64_t)plan.outputs_at_once * (256 / plan.lanes);
            good = good && plan.outputs_at_once >= 1 && plan.outputs_at_once <= r->short_outputs &&
                   each * plan.blocks >= p.outputs && each * (plan.blocks - 1) < p.outputs;
            each = 0;
        } else {
            const int32_t part = plan.tiles * plan.tiles_at_once;
            each = (int64_t)plan.width * r->columns;
            if (plan.vector) { /* the last columns of each row are a thread's alone */
                const int64_t row = p.outer_shape[p.outer_ndim - 1];
                wanted = p.outputs / row * ((row + r->columns - 1) / r->columns * r->columns);
            }
            good = good && plan.vector >= 0 && plan.vector <= 3 && (plan.vector != 2 || size == 1);
            if (plan.vector > 2) /* a thread has a row, and reads 2 to 4 elements from one to the next */
                good = good && r->columns == 4 && p.x_reduce[0] <= 4 && p.outer_shape[p.outer_ndim - 1] <= 4;
            good = good && p.outer_ndim > 0 && p.reduce_ndim == 1 && part >= 1 && part <= 8 && (part & (part - 1)) == 0;
            good = good && (int64_t)plan.splits * part >= plan.warp_tiles &&
                   (int64_t)(plan.splits - 1) * part < plan.warp_tiles;
            good = good && plan.width >= 1 && plan.depth * plan.width <= plan.threads && plan.lanes >= 1 &&
                   plan.lanes <= 32 && plan.depth % plan.tiles_at_once == 0;
            /* a warp tile's lanes: those of its threads, of what each has at once, and of their passes */
            good = good && plan.slots * part == 256 * 8 &&
                   (p.n > 32 * vector ? plan.depth == plan.tiles_at_once << plan.threads_log2
                                      : plan.tiles_at_once == 1 && plan.depth <= 1 << plan.threads_log2);
            good = good && (int64_t)(plan.depth / plan.tiles_at_once) * (plan.one_lane ? 1 : r->lanes) * plan.passes >=
                               (p.n > 32 * vector ? 32 : (p.n + vector - 1) / vector);
        }
        if (each > 0)
            good = good && each * plan.output_tiles >= wanted && each * (plan.output_tiles - 1) < wanted &&
                   plan.blocks == plan.output_tiles * plan.splits;
        good = good && plan.counters == (plan.splits > 1 ? plan.output_tiles : 0) &&
               (plan.splits > 1) == (plan.partials > 0);
        good =
            good && (plan.splits == 1 || plan.kernel != GPUL__REDUCE_ROWS || plan.partials == p.outputs * plan.pieces);
        good = good && (plan.splits == 1 || plan.kernel != GPUL__REDUCE_COLUMNS || plan.partials == each * plan.blocks);
        shared_out += plan.splits > 1;
        if (p.y && plan.y_vector) good = good && (p.y_stride == 1 || p.n <= 1) && (uintptr_t)p.y % 16 == 0;
        /* alignment: of the first vector of some outputs, and of some elements by columns */
        if (plan.vector == 1) {
            const int64_t access = plan.kernel == GPUL__REDUCE_COLUMNS ? r->columns * size : 16;
            aligned++;
            for (int o = 0; o < 4; o++) {
                int64_t at = 0;
                for (d = 0; d < p.outer_ndim; d++) {
                    int64_t place = rng_below(p.outer_shape[d]);
                    if (plan.kernel == GPUL__REDUCE_COLUMNS && d == p.outer_ndim - 1) place -= place % r->columns;
                    at += place * p.x_outer[d];
                }
                if (plan.kernel == GPUL__REDUCE_COLUMNS) at += rng_below(p.n) * p.x_reduce[0];
                good = good && ((uint64_t)(uintptr_t)p.x + (uint64_t)at * (uint64_t)size) % (uint64_t)access == 0;
            }
        }
        if (!good)
            FAIL(
                "plan %ld: op %d, %s, n %lld at stride %lld, %lld outputs, %d SMs: status %d, kernel %d, %lld blocks of %d, "
                "%lld output tiles, %d splits, %d tiles of %lld rows, %d x %d x %d, %lld bytes",
                k, op, gpul_dtype_name(t), (long long)p.n, (long long)p.x_reduce[0], (long long)p.outputs,
                (int)machine.sms, status, (int)plan.kernel, (long long)plan.blocks, (int)plan.threads,
                (long long)plan.output_tiles, (int)plan.splits, (int)plan.block_tiles, (long long)plan.tile_rows,
                (int)plan.width, (int)plan.depth, (int)plan.passes, (long long)plan.shared_bytes);
        if (check_failed > 20) return;
    }
    for (int k = 0; k < 3; k++) CHECK(seen[k] > 1000);
    CHECK(shared_out > 1000 && spread > 1000 && aligned > 1000 && refused > 10 && long_exact > 10);
}

/* A plan by columns does not depend on those planned before, though some of what it takes is kept. */
static void test_plans_kept(void) {
    enum { kProblems = 300 };
    static gpul__reduce_plan plans[kProblems][2];
    static gpul__reduce_problem problems[kProblems];
    const gpul__reducer *const r = gpul__find_reducer(GPUL_SUM, GPUL_F32);
    gpul__machine machine;
    int differ = 0;
    memset(&machine, 0, sizeof machine);
    machine.sms = 132;
    machine.shared_optin = 232448;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < kProblems; i++) { /* the second time in the reverse order, so that few are still kept */
            const int k = pass ? kProblems - 1 - i : i;
            gpul__reduce_problem *const p = &problems[k];
            if (pass == 0) {
                memset(p, 0, sizeof *p);
                p->n = 2000 + rng_below(6000);
                p->reduce_ndim = p->outer_ndim = 1;
                p->reduce_shape[0] = p->n;
                p->outputs = p->outer_shape[0] = 64 + rng_below(400);
                p->x_reduce[0] = p->outputs + rng_below(9);
                p->x_outer[0] = 1;
                p->x = (const void *)(uintptr_t)4096;
            }
            for (int j = 0; j < 2; j++) {
                gpul__reduce_plan plan;
                machine.sms = pass == j ? 16 : 132; /* which splits other outputs */
                CHECK_INT(gpul__plan_reduction(&plan, p, r, &machine), 0);
                if (pass == 0) plans[k][j] = plan;
                else if (memcmp(&plan, &plans[k][1 - j], sizeof plan) != 0) {
                    FAIL("plan %d: %lld x %lld depends on others", k, (long long)p->n, (long long)p->outputs);
                    return;
                }
            }
            if (pass == 0 && plans[k][0].kernel == plans[k][1].kernel) /* both by columns */
                differ += memcmp(&plans[k][0], &plans[k][1], sizeof plans[k][0]) != 0;
        }
    }
    CHECK(differ > kProblems / 10); /* else nothing was compared */
}

/* Rows with gaps that span more than 2^31 elements, where there is memory for them: offsets of 64 bits */
static void test_far(void) {
    static const gpul_dtype types[2] = {GPUL_U8, GPUL_I32};
    for (int k = 0; k < 2; k++) {
        gpul_array all = GPUL_ZERO, part = GPUL_ZERO;
        double sum = 0;
        if (gpul_device_array(&all, types[k], gpul_2d(23, 100000000), NULL) == GPUL_ERROR_OUT_OF_MEMORY) continue;
        CHECK_OK(gpul_slice(&part, &all, 1, 5, 35, 3));
        CHECK_OK(gpul_fill(&all, 1, NULL));
        CHECK_OK(gpul_fill(&part, 7, NULL));
        CHECK_OK(gpul_sum(&sum, &part, NULL));
        CHECK_NEAR(sum, 23 * 10 * 7.0, 0);
        CHECK_OK(gpul_free(&all));
    }
}

int main(int argc, char **argv) {
    check_begin("reduce");
    if (argc > 1 && strcmp(argv[1], "--record") == 0) {
        recorded(NULL, 1);
        return check_failed != 0;
    }
    RUN(test_numpy);
    RUN(test_recorded);
    RUN(test_kernels);
    RUN(test_plans);
    RUN(test_plans_kept);
    RUN(test_variance);
    RUN(test_model_sizes);
    RUN(test_model_long);
    RUN(test_axes);
    RUN(test_kept_axis);
    RUN(test_same_bits);
    RUN(test_accuracy);
    RUN(test_shapes);
    RUN(test_alignments);
    RUN(test_close_rows);
    RUN(test_gaps);
    RUN(test_results_in_gaps);
    RUN(test_two_streams);
    RUN(test_workspace_too_small);
    RUN(test_many_streams);
    RUN(test_dot);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_orders);
#endif
    RUN(test_values);
    RUN(test_zeros);
    RUN(test_accumulated);
    RUN(test_no_elements);
    RUN(test_errors);
    RUN(test_large);
    RUN(test_far);
    return check_end();
}
