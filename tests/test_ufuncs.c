/* SPDX-License-Identifier: MIT gpul_binary, unary, scale, clip, where, convert, arange and linspace: every operation
 * and dtype on values at the edges, every layout, against plain C. */
#include "check.h"

enum { BINARY, UNARY, SCALE, CLIP, WHERE, CONVERT };
typedef struct work { /* one call */
    int kind, op;
    double p, q; /* scale's a and b, clip's lo and hi */
} work;

static int bits_of(gpul_dtype t) { return t == GPUL_F64 ? 53 : t == GPUL_F32 ? 24 : t == GPUL_F16 ? 11 : 8; }
static int least_of(gpul_dtype t) { return t == GPUL_F64 ? -1022 : t == GPUL_F16 ? -14 : -126; }
static int most_of(gpul_dtype t) { return t == GPUL_F64 ? 1023 : t == GPUL_F16 ? 15 : 127; }
/* The distance of neighbours of a float type at x */
static double ulp(gpul_dtype t, double x) {
    int e;
    if (x == 0) e = least_of(t) + 1;
    else (void)frexp(x, &e);
    if (e - 1 < least_of(t)) e = least_of(t) + 1;
    return ldexp(1, e - bits_of(t));
}
/* x rounded once to a float type: a long double holds every element of every dtype. */
static double rounded(gpul_dtype t, long double x) {
    int e;
    long double y;
    if (x != x || x == 0 || x - x != 0) return (double)x;
    (void)frexpl(x, &e);
    if (e - 1 < least_of(t)) e = least_of(t) + 1;
    y = ldexpl(rintl(ldexpl(x, bits_of(t) - e)), e - bits_of(t));
    if (fabsl(y) >= ldexpl(1, most_of(t) + 1)) return x < 0 ? -HUGE_VAL : HUGE_VAL;
    return (double)y;
}
static num wrapped(gpul_dtype t, uint64_t i) {
    return num_of_int(t == GPUL_I64 ? (int64_t)i : t == GPUL_I32 ? (int32_t)(uint32_t)i : (int64_t)(i & 255));
}
static num real(gpul_dtype t, double x) {
    num v = {0, 0};
    v.f = rounded(t, (long double)x);
    return v;
}
/* Rounds to f32 where the dtype is computed in it. */
static double single(gpul_dtype t, double x) { return t == GPUL_F64 ? x : rounded(GPUL_F32, (long double)x); }

static num expect_convert(gpul_dtype to, gpul_dtype from, num x) {
    double low, high;
    if (is_float(to)) {
        num v = {0, 0};
        v.f = rounded(to, is_float(from) ? (long double)x.f : (long double)x.i);
        return v;
    }
    if (!is_float(from)) return wrapped(to, (uint64_t)x.i);
    low = to == GPUL_I32 ? -0x1p31 : to == GPUL_I64 ? -0x1p63 : 0;
    high = to == GPUL_I32 ? 0x1p31 : to == GPUL_I64 ? 0x1p63 : 256;
    if (x.f != x.f) return num_of_int(0);
    if (x.f <= low) return num_of_int(to == GPUL_I64 ? INT64_MIN : (int64_t)low);
    if (x.f >= high) return num_of_int(to == GPUL_I64 ? INT64_MAX : (int64_t)high - 1);
    return num_of_int((int64_t)x.f);
}
static num expect_integers(gpul_dtype t, const work *w, num x, num y) {
    uint64_t a = (uint64_t)x.i, b = (uint64_t)y.i, power = y.i < 0 ? 0 : 1;
    if (w->kind == SCALE) return wrapped(t, a * (uint64_t)(int64_t)w->p + (uint64_t)(int64_t)w->q);
    if (w->kind == CLIP)
        return (double)x.i < w->p ? num_of_int((int64_t)w->p) : (double)x.i > w->q ? num_of_int((int64_t)w->q) : x;
    switch (w->op) {
    case GPUL_ADD: return wrapped(t, a + b);
    case GPUL_SUBTRACT: return wrapped(t, a - b);
    case GPUL_MULTIPLY:
    case GPUL_SQUARE: return wrapped(t, a * (w->op == GPUL_SQUARE ? a : b));
    case GPUL_DIVIDE: {
        volatile double p = (double)x.i, q = (double)y.i, r = p / q;
        return real(GPUL_F64, r);
    }
    case GPUL_MINIMUM: return x.i < y.i ? x : y;
    case GPUL_MAXIMUM: return x.i > y.i ? x : y;
    case GPUL_POWER:
        for (; y.i > 0; y.i >>= 1) {
            if (y.i & 1) power *= a;
            a *= a;
        }
        return wrapped(t, power);
    case GPUL_EQUAL: return num_of_int(x.i == y.i);
    case GPUL_NOT_EQUAL: return num_of_int(x.i != y.i);
    case GPUL_LESS: return num_of_int(x.i < y.i);
    case GPUL_LESS_EQUAL: return num_of_int(x.i <= y.i);
    case GPUL_GREATER: return num_of_int(x.i > y.i);
    case GPUL_GREATER_EQUAL: return num_of_int(x.i >= y.i);
    case GPUL_NEGATIVE: return wrapped(t, 0 - a);
    default: return x.i < 0 ? wrapped(t, 0 - a) : x; /* GPUL_ABSOLUTE */
    }
}
static double low_of(double a, double b) { return a != a || a < b ? a : b; }
static double high_of(double a, double b) { return a != a || a > b ? a : b; }
static num expect_floats(gpul_dtype t, const work *w, num x, num y) {
    volatile double a = x.f, b = y.f, r;
    if (w->kind == SCALE) {
        const float s = (float)w->p, o = (float)w->q;
        return real(t, t == GPUL_F64 ? fma(w->p, a, w->q) : (double)fmaf(s, (float)a, o));
    }
    if (w->kind == CLIP) return real(t, low_of(high_of(a, real(t, w->p).f), real(t, w->q).f));
    switch (w->op) {
    case GPUL_ADD: r = a + b; break;
    case GPUL_SUBTRACT: r = a - b; break;
    case GPUL_MULTIPLY: r = a * b; break;
    case GPUL_DIVIDE: r = a / b; break;
    case GPUL_MINIMUM: r = low_of(a, b); break;
    case GPUL_MAXIMUM: r = high_of(a, b); break;
    case GPUL_EQUAL: return num_of_int(a == b);
    case GPUL_NOT_EQUAL: return num_of_int(a != b);
    case GPUL_LESS: return num_of_int(a < b);
    case GPUL_LESS_EQUAL: return num_of_int(a <= b);
    case GPUL_GREATER: return num_of_int(a > b);
    case GPUL_GREATER_EQUAL: return num_of_int(a >= b);
    case GPUL_NEGATIVE: r = -a; break;
    case GPUL_ABSOLUTE: r = fabs(a); break;
    case GPUL_SQUARE: r = a * a; break;
    case GPUL_SQRT: r = sqrt(a); break;
    case GPUL_RINT: r = rint(a); break;
    /* to within an ulp or two: by a wider type, not rounded here */
    case GPUL_POWER: r = (double)powl(a, b); break;
    case GPUL_EXP: r = (double)expl(a); break;
    case GPUL_LOG: r = (double)logl(a); break;
    case GPUL_SIN: r = (double)sinl(a); break;
    case GPUL_COS: r = (double)cosl(a); break;
    default: r = (double)tanhl(a); break;
    }
    if (w->op == GPUL_POWER || (w->op >= GPUL_EXP && w->op <= GPUL_TANH)) {
        num v = {0, 0};
        v.f = r;
        return v;
    }
    /* one rounding to a double does no harm to another to 24 bits or fewer, but where the other's are subnormal */
    return real(t, single(t, r));
}
/* Units in the last place that a result may be away */
static double leeway(gpul_dtype t, const work *w) {
    if (w->kind == BINARY && w->op == GPUL_POWER && is_float(t)) return t == GPUL_F32 ? 4 : t == GPUL_F64 ? 2 : 1;
    if (w->kind == UNARY && w->op >= GPUL_EXP && w->op <= GPUL_TANH) return t == GPUL_F32 || t == GPUL_F64 ? 2 : 1;
    return 0;
}
static int close_to(gpul_dtype t, num got, num want, double ulps) {
    if (ulps == 0 || got.f != got.f || want.f != want.f) return num_same(t, got, want);
    if (got.f == want.f) return 1;
    if (got.f - got.f != 0)
        return fabs(want.f) >= ldexp(1, most_of(t) + 1) * (1 - ulps * ldexp(1, -bits_of(t))); /* infinite */
    return fabs(got.f - want.f) <= ulps * ulp(t, want.f);
}

static gpul_dtype result_dtype(const work *w, gpul_dtype t) {
    return w->kind == BINARY ? gpul_binary_dtype(w->op, t) : t;
}
static gpul_status carry_out(const work *w, gpul_array *out, const gpul_array *x, const gpul_array *y,
                             const gpul_array *mask, gpul_stream stream) {
    switch (w->kind) {
    case BINARY: return gpul_binary(out, w->op, x, y, stream);
    case UNARY: return gpul_unary(out, w->op, x, stream);
    case SCALE: return gpul_scale(out, w->p, x, w->q, stream);
    case CLIP: return gpul_clip(out, x, w->p, w->q, stream);
    case WHERE: return gpul_where(out, mask, x, y, stream);
    default: return gpul_convert(out, x, stream);
    }
}
static num expected(const work *w, gpul_dtype out, gpul_dtype t, num x, num y, num mask) {
    if (w->kind == CONVERT) return expect_convert(out, t, x);
    if (w->kind == WHERE) return mask.i != 0 ? x : y;
    return is_float(t) ? expect_floats(t, w, x, y) : expect_integers(t, w, x, y);
}

static int compare_at(const work *w, box *out, const box *x, const box *y, const box *mask, int line) {
    const gpul_dtype t = x->view.dtype, to = out->view.dtype;
    for (int64_t i = 0; i < out->n; i++) {
        const num a = box_get(x, broadcast_index(x, out, i)), zero = {0, 0};
        const num b = y ? box_get(y, broadcast_index(y, out, i)) : zero;
        const num m = mask ? box_get(mask, broadcast_index(mask, out, i)) : zero;
        const num want = expected(w, to, t, a, b, m), got = box_got(out, i);
        if (!close_to(to, got, want, leeway(t, w)))
            return check_fail(
                __FILE__, line,
                "kind %d op %d of %s: element %lld of %lld is %.17g / %lld, wanted %.17g / %lld, of %.17g / "
                "%lld and %.17g / %lld",
                w->kind, w->op, gpul_dtype_name(t), (long long)i, (long long)out->n, got.f, (long long)got.i, want.f,
                (long long)want.i, a.f, (long long)a.i, b.f, (long long)b.i);
    }
    return check_pass();
}
#define COMPARE(w, out, x, y, mask) compare_at(w, out, x, y, mask, __LINE__)

/* ---- values at the edges ---- */

enum { SPECIALS = 64 };
static int specials(gpul_dtype t, num *to) {
    static const double reals[] = {0,     1,     2,     3,      0.5,    1.5,       2.5,      1.0 / 3, 0.1,
                                   0.75,  10,    7,     100.25, 255,    255.5,     256,      257,     2049,
                                   65504, 65519, 65520, 0x1p31, 0x1p63, 0x1p32,    1e-3,     1e-7,    2.125,
                                   88.5,  709.5, 11.25, 1e10,   1e300,  0x1p-1074, 0x1p-149, 0x1p-24, 0x1p-133};
    static const int64_t whole[] = {0,
                                    1,
                                    2,
                                    3,
                                    5,
                                    7,
                                    8,
                                    31,
                                    127,
                                    128,
                                    255,
                                    256,
                                    257,
                                    1000,
                                    32767,
                                    2147483647,
                                    2147483648,
                                    16842753,
                                    16777217,
                                    46341,
                                    33554433,
                                    9007199254740993,
                                    4629700416936869889 /* 257 * 2^54 + 1 */};
    int n = 0;
    if (is_float(t)) {
        for (int k = 0; k < COUNT_OF(reals) && n < SPECIALS - 12; k++) {
            to[n++] = real(t, reals[k]);
            if (k % 3 == 0 || k < 4) to[n++] = real(t, -reals[k]);
        }
        to[n++] = num_of(HUGE_VAL);
        to[n++] = num_of(-HUGE_VAL);
        to[n++] = num_of((double)NAN);
        to[n++] = num_of(ldexp(2 - ldexp(1, 1 - bits_of(t)), most_of(t)));
        to[n++] = num_of(-ldexp(1, least_of(t)));
        to[n++] = num_of(ldexp(3, least_of(t) + 1 - bits_of(t))); /* subnormal */
    } else {
        for (int k = 0; k < COUNT_OF(whole); k++) {
            to[n++] = wrapped(t, (uint64_t)whole[k]);
            to[n++] = wrapped(t, 0 - (uint64_t)whole[k]);
        }
        to[n++] = wrapped(t, (uint64_t)INT64_MAX);
        to[n++] = wrapped(t, (uint64_t)INT64_MIN);
        to[n++] = wrapped(t, (uint64_t)INT64_MIN + 1);
    }
    return n;
}
static void box_specials(box *b, gpul_dtype t, int column) {
    num values[SPECIALS];
    const int n = specials(t, values);
    box_make(b, t, column ? 2 : 1, column ? (const int64_t[2]){n, 1} : (const int64_t[1]){n}, LAY_C, 0, FILL_NAN);
    for (int i = 0; i < n; i++) box_put(b, i, values[i]);
    box_upload(b);
}

static void test_binary(void) { /* all pairs, as arrays, and each value as a scalar on either side */
    for (int d = 0; d < 7; d++)
        for (int op = GPUL_ADD; op <= GPUL_GREATER_EQUAL; op++) {
            const gpul_dtype t = all_dtypes[d];
            const work w = {BINARY, op, 0, 0};
            box x, y, out;
            box_specials(&x, t, 0);
            box_specials(&y, t, 1);
            box_2d(&out, gpul_binary_dtype(op, t), y.n, x.n, LAY_C, 0, FILL_GARBAGE);
            CHECK_OK(gpul_binary(&out.view, op, &x.view, &y.view, NULL));
            BOX_GUARDS(&out);
            COMPARE(&w, &out, &x, &y, NULL);
            box_free(&out);
            for (int side = 0; side < 2; side++)
                for (int64_t i = 0; i < x.n; i += 1 + (op + side) % 2) {
                    const num v = box_get(&y, i);
                    box one;
                    if (left_out(((d * 40 + op) * 2 + side) * 100 + i)) continue;
                    if (!is_float(t) && ((double)v.i >= 0x1p63 || (int64_t)(double)v.i != v.i)) continue;
                    if (!is_float(t) && op == GPUL_POWER && !side && v.i < 0) continue;
                    box_1d(&out, gpul_binary_dtype(op, t), x.n, 0, FILL_NAN);
                    box_1d(&one, t, 1, 0, FILL_NAN);
                    box_put(&one, 0, v);
                    CHECK_OK(side ? gpul_binary(&out.view, op, GPUL_SCALAR(v.f), &x.view, NULL)
                                  : gpul_binary(&out.view, op, &x.view, GPUL_SCALAR(v.f), NULL));
                    BOX_GUARDS(&out);
                    COMPARE(&w, &out, side ? &one : &x, side ? &x : &one, NULL);
                    box_free(&out);
                    box_free(&one);
                }
            BOX_UNCHANGED(&x);
            BOX_UNCHANGED(&y);
            box_free(&x);
            box_free(&y);
        }
}

static void test_unary(void) { /* the edges, and many values in between */
    for (int d = 0; d < 7; d++)
        for (int op = GPUL_NEGATIVE; op <= GPUL_RINT; op++) {
            const gpul_dtype t = all_dtypes[d];
            const work w = {UNARY, op, 0, 0};
            num values[SPECIALS];
            const int n = specials(t, values);
            box x, out;
            if (!is_float(t) && op >= GPUL_SQRT) continue;
            box_1d(&x, t, 3000 + d, d % 3, FILL_NAN);
            box_1d(&out, t, 3000 + d, op % 2, FILL_NAN);
            for (int64_t i = 0; i < x.n; i++) {
                const num v = i < n ? values[i] : num_random(t, 0);
                box_put(&x, i, is_float(t) && i >= n ? real(t, v.f * (i % 3 ? 1 : 50)) : v);
            }
            box_upload(&x);
            CHECK_OK(gpul_unary(&out.view, op, &x.view, NULL));
            BOX_GUARDS(&out);
            COMPARE(&w, &out, &x, NULL, NULL);
            BOX_UNCHANGED(&x);
            CHECK_OK(gpul_unary(&x.view, op, &x.view, NULL)); /* in place */
            BOX_GUARDS(&x);
            for (int64_t i = 0; i < x.n; i++)
                if (!num_same(t, box_got(&x, i), box_got(&out, i))) {
                    FAIL("op %d of %s: element %lld differs in place", op, gpul_dtype_name(t), (long long)i);
                    break;
                }
            box_free(&x);
            box_free(&out);
        }
}

static void test_convert(void) { /* all pairs of dtypes; then random bits of both, and halfway cases */
    static const double halves[] = {1 + 0x1p-11 + 0x1p-40,
                                    1 + 0x1p-8 + 0x1p-40,
                                    1 + 0x1p-11,
                                    1 + 0x1p-8,
                                    1 + 0x1p-24 + 0x1p-52,
                                    -1 - 0x1p-24,
                                    65519.999999999,
                                    65520,
                                    0x1p-25 + 0x1p-60,
                                    0x1p-25,
                                    2147483647.5,
                                    -2147483648.5,
                                    255.999,
                                    -0.999,
                                    0x1.fffffefffffffp127,
                                    0x1.ffffffp127};
    for (int from = 0; from < 7; from++)
        for (int to = 0; to < 7; to++) {
            const work w = {CONVERT, 0, 0, 0};
            const gpul_dtype t = all_dtypes[from];
            num values[SPECIALS];
            const int n = specials(t, values);
            box x, out;
            box_1d(&x, t, 700, from % 2, FILL_NAN);
            box_1d(&out, all_dtypes[to], 700, to % 3, FILL_GARBAGE);
            for (int i = 0; i < 700; i++) {
                const uint64_t r = rng_u64();
                num v = i < n         ? values[i]
                        : is_float(t) ? real(t, ldexp(rng_signed(), (int)(r % 80) - 10))
                                      : wrapped(t, r >> (i % 64));
                if (i >= n && i < n + COUNT_OF(halves) && is_float(t)) v = real(t, halves[i - n]);
                box_put(&x, i, v);
            }
            box_upload(&x);
            CHECK_OK(gpul_convert(&out.view, &x.view, NULL));
            BOX_GUARDS(&out);
            COMPARE(&w, &out, &x, NULL, NULL);
            box_free(&x);
            box_free(&out);
        }
}

/* Inputs behind whose last element their memory ends: AddressSanitizer sees a byte that is read beyond. */
static void test_ends(void) {
    for (int k = 0; k < 160; k++) {
        const int64_t from = k % 4, n = 4090 + k / 4;
        const gpul_dtype t = k % 3 == 0 ? GPUL_I64 : k % 3 == 1 ? GPUL_F64 : GPUL_F32;
        gpul_array all = GPUL_ZERO, x = GPUL_ZERO, out = GPUL_ZERO;
        double sum = -1;
        CHECK_OK(gpul_full(&all, GPUL_U8, gpul_1d(from + n), 1, NULL));
        CHECK_OK(gpul_slice(&x, &all, 0, from, from + n, 1));
        CHECK_OK(gpul_device_array(&out, t, gpul_1d(n), NULL));
        CHECK_OK(gpul_convert(&out, &x, NULL));
        CHECK_OK(gpul_sum(&sum, &out, NULL));
        CHECK_NEAR(sum, (double)n, 0);
        CHECK_OK(gpul_free_all(&all, &out));
    }
}

static void test_scale_and_clip(void) {
    static const double pairs[][2] = {{2, 1},     {-1, 255},   {0, 7},          {3, -4},
                                      {100, 200}, {0.1, -0.3}, {1.0 / 3, 1e-3}, {-1e30, 1e30}};
    for (int d = 0; d < 7; d++)
        for (int k = 0; k < COUNT_OF(pairs); k++)
            for (int clip = 0; clip < 2; clip++) {
                const gpul_dtype t = all_dtypes[d];
                work w = {clip ? CLIP : SCALE, 0, pairs[k][0], pairs[k][1]};
                box x, out;
                if (clip && w.p > w.q) w.p = pairs[k][1], w.q = pairs[k][0];
                if (!is_float(t) && (w.p != floor(w.p) || w.q != floor(w.q) || (!clip && fabs(w.p) > 1e18))) continue;
                box_specials(&x, t, 0);
                box_1d(&out, t, x.n, k % 3, FILL_NAN);
                CHECK_OK(carry_out(&w, &out.view, &x.view, NULL, NULL, NULL));
                BOX_GUARDS(&out);
                if (clip && !is_float(t)) { /* the reference's bounds are values */
                    const double low = t == GPUL_I32 ? -0x1p31 : t == GPUL_I64 ? -0x1p62 : 0;
                    if (fabs(w.p) > 1e18) {
                        for (int64_t i = 0; i < x.n; i++) CHECK(num_same(t, box_got(&out, i), box_get(&x, i)));
                        box_free(&x), box_free(&out);
                        continue;
                    }
                    if (w.p < low) w.p = low;
                }
                COMPARE(&w, &out, &x, NULL, NULL);
                box_free(&x);
                box_free(&out);
            }
}

/* numpy.linspace(start, stop, n) and numpy.arange(start, ..., step), written out again, of the dtype */
static num sequence(gpul_dtype t, int linspace, double start, double by, int64_t i, int64_t n) {
    volatile double step, rise, delta, value;
    if (linspace) {
        delta = by - start;
        step = n > 1 ? delta / (double)(n - 1) : 0;
        rise = step != 0 ? (double)i * step : n > 1 ? (double)i / (double)(n - 1) * delta : 0;
        value = rise + start;
        if (i == n - 1 && n > 1) value = by;
        return expect_convert(t, GPUL_F64, num_of(is_float(t) ? value : floor(value)));
    }
    if (!is_float(t)) return wrapped(t, (uint64_t)(int64_t)start + (uint64_t)i * (uint64_t)(int64_t)by);
    if (i == 0) return real(t, start); /* though 0 * step is NaN where the second element is infinite */
    step = start + by;
    step = step - start;
    rise = (double)i * step;
    value = rise + start;
    return real(t, value);
}
static void test_sequences(void) {
    static const double pairs[][2] = {{0, 1},       {-3, 2},         {5, -7},        {0, 0},    {0.1, 0.3},
                                      {-2.5, 1e-3}, {1e300, -1e300}, {0, 0x1p-1070}, {-0.0, 1}, {1e308, 1e308}};
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 100, 1031, 5000};
    for (int d = 0; d < 7; d++)
        for (int k = 0; k < COUNT_OF(pairs); k++)
            for (int s = 0; s < COUNT_OF(sizes); s++)
                for (int linspace = 0; linspace < 2; linspace++) {
                    const gpul_dtype t = all_dtypes[d];
                    const int64_t n = sizes[s], shape[1] = {n};
                    box out;
                    if (!linspace && !is_float(t) && k > 3) continue;
                    box_make(&out, t, 1, shape, (k + s) % 3 ? LAY_C : LAY_STRIDED, (d + s) % 3, s % 2);
                    CHECK_OK((linspace ? gpul_linspace : gpul_arange)(&out.view, pairs[k][0], pairs[k][1], NULL));
                    BOX_GUARDS(&out);
                    for (int64_t i = 0; i < n; i++) {
                        const num want = sequence(t, linspace, pairs[k][0], pairs[k][1], i, n), got = box_got(&out, i);
                        if (!num_same(t, got, want)) {
                            FAIL("%s of %s, %g and %g: element %lld of %lld is %.17g / %lld, wanted %.17g / %lld",
                                 linspace ? "linspace" : "arange", gpul_dtype_name(t), pairs[k][0], pairs[k][1],
                                 (long long)i, (long long)n, got.f, (long long)got.i, want.f, (long long)want.i);
                            break;
                        }
                    }
                    CHECK(1);
                    box_free(&out);
                }
}

static void test_long_sequences(void) { /* as long as arrays that are written in several places at a time */
    const int64_t n = (1 << 21) + 5;
    float *const got = (float *)malloc((size_t)n * 4);
    gpul_array a = GPUL_ZERO;
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(n), NULL));
    for (int linspace = 0; linspace < 2; linspace++) {
        int64_t wrong = 0;
        CHECK_OK(gpul_fill(&a, -1, NULL));
        CHECK_OK((linspace ? gpul_linspace : gpul_arange)(&a, 0, linspace ? (double)(n - 1) : 1, NULL));
        CHECK_OK(gpul_copy_to_host(got, &a, NULL));
        for (int64_t i = 0; i < n; i++) wrong += !(got[i] == (float)i);
        CHECK_INT(wrong, 0);
    }
    CHECK_OK(gpul_free(&a));
    free(got);
}

static work random_work(gpul_dtype t) {
    work w = {(int)rng_below(6), 0, (double)rng_below(4), (double)(4 + rng_below(9))};
    if (w.kind == BINARY) w.op = GPUL_ADD + (int)rng_below(13);
    if (w.kind == UNARY) w.op = GPUL_NEGATIVE + (int)rng_below(is_float(t) ? 10 : 3);
    return w;
}
static void test_shapes(void) { /* random operations on random shapes, layouts and broadcasts */
    for (int k = 0; k < 1500; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        if (left_out(k)) continue;
        const work w = random_work(t);
        const gpul_dtype to = w.kind == CONVERT ? all_dtypes[rng_below(7)] : result_dtype(&w, t);
        const int ndim = 1 + (int)rng_below(4);
        int64_t shape[4];
        box out, in[3];
        for (int i = 0; i < ndim; i++)
            shape[i] = rng_below(12) == 0 ? 0 : 1 + rng_below(ndim == 1 ? 3000 : ndim == 2 ? 40 : 9);
        if (ndim == 2 && k % 5 == 0) shape[0] = 1 + rng_below(3), shape[1] = 1000 + rng_below(3000);
        if (ndim == 3 && k % 5 == 0) { /* several tiles to turn, with more behind them */
            const int few = (int)rng_below(2);
            for (int i = 0; i < 3; i++) shape[i] = i == few ? 2 + rng_below(2) : 33 + rng_below(50);
        }
        for (int j = 0; j < 3; j++) {
            const int n = rng_below(3) == 0 ? (int)rng_below(ndim + 1) : ndim;
            int64_t s[4];
            for (int i = 0; i < n; i++) s[i] = rng_below(4) == 0 ? 1 : shape[ndim - n + i];
            box_make(&in[j], j == 2 ? GPUL_U8 : t, n, s, (int)rng_below(LAYOUTS), rng_below(3), (int)rng_below(2));
            box_random(&in[j], (int)rng_below(2));
            for (int64_t i = 0; j == 2 && i < in[j].n; i += 2) box_put(&in[j], i, num_of_int(0));
            if (j == 2) box_upload(&in[j]);
        }
        box_make(&out, to, ndim, shape, (int)rng_below(LAYOUTS), rng_below(3), (int)rng_below(2));
        if (rng_below(4) == 0) { /* a scalar for y */
            const num v = num_of_int(rng_below(5));
            box_free(&in[1]);
            box_1d(&in[1], t, 1, 0, FILL_NAN);
            box_put(&in[1], 0, v);
            box_upload(&in[1]);
            CHECK_OK(carry_out(&w, &out.view, &in[0].view, GPUL_SCALAR(v.f), &in[2].view, NULL));
        } else CHECK_OK(carry_out(&w, &out.view, &in[0].view, &in[1].view, &in[2].view, NULL));
        BOX_GUARDS(&out);
        COMPARE(&w, &out, &in[0], &in[1], &in[2]);
        for (int j = 0; j < 3; j++) {
            BOX_UNCHANGED(&in[j]);
            box_free(&in[j]);
        }
        box_free(&out);
    }
}

static void one_work(const work *w, gpul_dtype to, int ndim, const int64_t *shape, int layout, box *in) {
    box out;
    box_make(&out, to, ndim, shape, layout, rng_below(17), (int)rng_below(2));
    for (int j = 0; j < 3; j++) box_random(&in[j], 0);
    CHECK_OK(carry_out(w, &out.view, &in[0].view, &in[1].view, &in[2].view, NULL));
    BOX_GUARDS(&out);
    COMPARE(w, &out, &in[0], &in[1], &in[2]);
    for (int j = 0; j < 3; j++) box_free(&in[j]);
    box_free(&out);
}

/* Inputs that are turned, of many rows or few, with steps, and others beside them */
static void test_turned(void) {
    for (int k = 0; k < 21; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        const work w = random_work(t);
        const gpul_dtype to = w.kind == CONVERT ? all_dtypes[rng_below(7)] : result_dtype(&w, t);
        const int64_t few = k % 3 ? 8 + rng_below(60) : 2 + rng_below(20);
        const int64_t shape[3] = {few, k % 2 ? 3 : 1, 263000 / few / (k % 2 ? 3 : 1) + rng_below(300)};
        box in[3];
        if (left_out(k)) continue;
        for (int j = 0; j < 3; j++) {
            const int64_t s[3] = {j == 1 && k % 4 == 0 ? 1 : shape[0], shape[1], j == 2 && k % 3 ? 1 : shape[2]};
            box_make(&in[j], j == 2 ? GPUL_U8 : t, 3, s, j == 0 ? LAY_F + 2 * (k & 1) : (int)rng_below(LAYOUTS),
                     rng_below(17), (int)rng_below(2));
        }
        one_work(&w, to, 3, shape, k % 5 ? LAY_C : LAY_STRIDED, in);
    }
}

/* Inputs that repeat along one dimension, each of the three, and results that do not */
static void test_repeated(void) {
    for (int k = 0; k < 9; k++) {
        static const int64_t shapes[3][3] = {{2099, 77, 13}, {7, 30011, 10}, {5, 4, 105003}};
        const gpul_dtype t = all_dtypes[k % 7];
        const work w = random_work(t);
        const gpul_dtype to = w.kind == CONVERT ? all_dtypes[rng_below(7)] : result_dtype(&w, t);
        box in[3];
        if (left_out(k)) continue;
        for (int j = 0; j < 3; j++) {
            int64_t s[3];
            for (int d = 0; d < 3; d++) s[d] = d == k % 3 ? 1 : shapes[k % 3][d];
            box_make(&in[j], j == 2 ? GPUL_U8 : t, 3, s, LAY_C, rng_below(17), (int)rng_below(2));
        }
        one_work(&w, to, 3, shapes[k % 3], k < 6 ? LAY_C : LAY_C_PAD, in);
    }
}

/* Many rows of odd lengths, side by side or padded */
static void test_rows(void) {
    for (int k = 0; k < 10; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        const int64_t columns = 129 + rng_below(120), shape[2] = {100000 / columns, columns};
        const work w = random_work(t);
        const gpul_dtype to = w.kind == CONVERT ? all_dtypes[rng_below(7)] : result_dtype(&w, t);
        box in[3];
        for (int j = 0; j < 3; j++) {
            const int64_t s[2] = {j == 1 && k % 3 == 0 ? 1 : shape[0], j == 1 && k % 4 == 0 ? 1 : columns};
            box_make(&in[j], j == 2 ? GPUL_U8 : t, 2, s, LAY_C, rng_below(17), k % 2);
        }
        one_work(&w, to, 2, shape, LAY_C, in);
    }
}

static void test_sizes(void) { /* heads, tails and alignments of the packed path */
    for (int d = 0; d < 7; d++)
        for (int k = 0; k < 160; k++) {
            const gpul_dtype t = all_dtypes[d];
            const work w = {k % 2 ? BINARY : CONVERT, k % 2 ? GPUL_LESS + k % 3 : 0, 0, 0};
            const int64_t n = k < 80 ? k : 1000 + 97 * k;
            if (left_out(k)) continue;
            const gpul_dtype to = w.kind == CONVERT ? all_dtypes[(d + k) % 7] : GPUL_U8;
            box x, y, out;
            box_1d(&x, t, n, k % 5, k / 2 % 2);
            box_1d(&y, t, k % 7 == 3 ? 1 : n, k % 5, FILL_NAN);
            box_1d(&out, to, n, k % 3 ? k % 5 : k % 4, k / 4 % 2);
            box_random(&x, 1);
            box_random(&y, 1);
            CHECK_OK(carry_out(&w, &out.view, &x.view, &y.view, NULL, NULL));
            BOX_GUARDS(&out);
            COMPARE(&w, &out, &x, &y, NULL);
            box_free(&x);
            box_free(&y);
            box_free(&out);
        }
}

static void
test_in_place(void) { /* out is an input, of every layout; a vector of values at the edges keeps its bits in where */
    for (int d = 0; d < 7; d++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            for (int second = 0; second < 3; second++) { /* x - y, y - x, -x */
                const gpul_dtype t = all_dtypes[d];
                const work w = {second < 2 ? BINARY : UNARY, second < 2 ? GPUL_SUBTRACT : GPUL_NEGATIVE, 0, 0};
                box x, y, before;
                box_2d(&x, t, 37, 41, layout, 1, FILL_NAN);
                box_2d(&y, t, 37, 41, LAY_F, 0, FILL_NAN);
                box_2d(&before, t, 37, 41, layout, 1, FILL_NAN);
                box_random(&x, 0);
                box_random(&y, 0);
                memcpy(before.image, x.image, (size_t)x.bytes);
                CHECK_OK(carry_out(&w, &x.view, second == 1 ? &y.view : &x.view, second == 1 ? &x.view : &y.view, NULL,
                                   NULL));
                BOX_GUARDS(&x);
                COMPARE(&w, &x, second == 1 ? &y : &before, second == 1 ? &before : &y, NULL);
                box_free(&x);
                box_free(&y);
                box_free(&before);
            }
}

static void test_where(void) { /* bits pass as they are, NaN's too; scalars on either side, or both */
    const uint32_t bits[6] = {0x7f800001u, 0xffc12345u, 0x80000000u, 1, 0x3f800000u, 0xffffffffu};
    const unsigned char mask[6] = {0, 1, 255, 0, 2, 1};
    uint32_t back[6];
    float f[6];
    gpul_array x = GPUL_ZERO, m = GPUL_ZERO, out = GPUL_ZERO;
    CHECK_OK(gpul_to_device(&x, bits, GPUL_F32, gpul_1d(6), NULL));
    CHECK_OK(gpul_to_device(&m, mask, GPUL_U8, gpul_1d(6), NULL));
    CHECK_OK(gpul_device_array_like(&out, &x, NULL));
    CHECK_OK(gpul_where(&out, &m, &x, GPUL_SCALAR(-2.5), NULL));
    CHECK_OK(gpul_copy_to_host(back, &out, NULL));
    for (int i = 0; i < 6; i++) CHECK_INT(back[i], mask[i] ? bits[i] : 0xc0200000u);
    CHECK_OK(gpul_where(&out, &m, GPUL_SCALAR(1), GPUL_SCALAR(0.1), NULL));
    CHECK_OK(gpul_copy_to_host(f, &out, NULL));
    for (int i = 0; i < 6; i++) CHECK_NEAR(f[i], mask[i] ? 1 : 0.1f, 0);
    CHECK_OK(gpul_where(&m, &m, GPUL_SCALAR(9), &m, NULL)); /* in place */
    CHECK_OK(gpul_copy_to_host(back, &m, NULL));
    for (int i = 0; i < 6; i++) CHECK_INT(((unsigned char *)back)[i], mask[i] ? 9 : 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&m));
    CHECK_OK(gpul_free(&out));
}

static void test_scalars(void) {
    const float host[3] = {1, 2, 3};
    float back[3] = {0, 0, 0};
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO, whole = GPUL_ZERO, s = gpul_scalar_array(2.5);
    CHECK_OK(gpul_to_device(&x, host, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array_like(&out, &x, NULL));
    CHECK_OK(gpul_vecadd(&out, &x, GPUL_SCALAR(10), NULL)); /* the short names take them, too */
    CHECK_OK(gpul_vecmul(&out, &s, &out, NULL));
    CHECK_OK(gpul_copy_to_host(back, &out, NULL));
    for (int i = 0; i < 3; i++) CHECK_NEAR(back[i], 2.5 * (host[i] + 10), 0);
    CHECK_OK(gpul_convert(&out, GPUL_SCALAR(-7.5), NULL));
    CHECK_OK(gpul_copy_to_host(back, &out, NULL));
    for (int i = 0; i < 3; i++) CHECK_NEAR(back[i], -7.5, 0);
    for (int32_t ndim = 0; ndim <= GPUL_MAX_DIMS; ndim++) { /* a number beside a single element of any dimensions */
        gpul_shape shape = gpul_4d(1, 1, 1, 1);
        gpul_array one = GPUL_ZERO;
        shape.ndim = ndim;
        CHECK_OK(gpul_to_device(&one, host, GPUL_F32, shape, NULL));
        CHECK_OK(gpul_vecadd(&one, &one, GPUL_SCALAR(10), NULL));
        CHECK_OK(gpul_vecadd(&one, GPUL_SCALAR(100), &one, NULL));
        CHECK_OK(gpul_copy_to_host(back, &one, NULL));
        CHECK_NEAR(back[0], 111, 0);
        CHECK_OK(gpul_free(&one));
    }
    CHECK_INT(gpul_size(&s), 1);
    CHECK_FAILS(gpul_vecadd(&s, &x, &x, NULL), GPUL_ERROR_ARGUMENT, "gpul_vecadd", "out is a GPUL_SCALAR");
    CHECK_FAILS(gpul_binary(&s, GPUL_ADD, &x, &x, NULL), GPUL_ERROR_ARGUMENT, "gpul_binary", "out is a GPUL_SCALAR");
    CHECK_FAILS(gpul_binary(&out, GPUL_ADD, &s, &s, NULL), GPUL_ERROR_ARGUMENT, "gpul_binary", "x is a GPUL_SCALAR");
    CHECK_FAILS(gpul_vecadd(&out, &s, &s, NULL), GPUL_ERROR_ARGUMENT, "gpul_vecadd", "a is a GPUL_SCALAR");
    CHECK_OK(gpul_device_array(&whole, GPUL_I32, gpul_1d(3), NULL));
    CHECK_FAILS(gpul_vecadd(&whole, &x, &s, NULL), GPUL_ERROR_DTYPE, "gpul_vecadd",
                "out is int32, but must be float32, as a is");
    CHECK_FAILS(gpul_vecmul(&x, &s, &whole, NULL), GPUL_ERROR_DTYPE, "gpul_vecmul",
                "out is float32, but must be int32, as b is");
    CHECK_FAILS(gpul_vecadd(NULL, &x, &s, NULL), GPUL_ERROR_ARGUMENT, "gpul_vecadd", "out is NULL");
    CHECK_FAILS(gpul_vecadd(&out, &s, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_vecadd", "b is NULL");
    CHECK_OK(gpul_free(&whole));
    CHECK_FAILS(gpul_unary(&out, GPUL_EXP, &s, NULL), GPUL_ERROR_ARGUMENT, "gpul_unary", "x is a GPUL_SCALAR");
    CHECK_FAILS(gpul_where(&out, &s, &x, &x, NULL), GPUL_ERROR_ARGUMENT, "gpul_where", "mask is a GPUL_SCALAR");
    CHECK_FAILS(gpul_copy_to_host(back, &s, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_host", "is a GPUL_SCALAR");
    CHECK_OK(gpul_free(&s));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&out));
}

static void test_dtypes(void) {
    for (int d = 0; d < 7; d++)
        for (int op = GPUL_ADD; op <= GPUL_GREATER_EQUAL; op++) {
            const gpul_dtype t = all_dtypes[d];
            CHECK_INT(gpul_binary_dtype(op, t), op >= GPUL_EQUAL                    ? GPUL_U8
                                                : op == GPUL_DIVIDE && !is_float(t) ? GPUL_F64
                                                                                    : t);
        }
    CHECK_INT(gpul_binary_dtype(GPUL_ADD, 0), 0);
    CHECK_INT(gpul_binary_dtype(GPUL_ADD, 8), 0);
    CHECK_INT(gpul_binary_dtype(GPUL_ADD - 1, GPUL_F32), 0);
    CHECK_INT(gpul_binary_dtype(GPUL_GREATER_EQUAL + 1, GPUL_F32), 0);
}

static void test_refusals(void) { /* each names the argument and what would be right, and touches nothing */
    enum { F, G, D, I, U, M, COUNT };
    static const gpul_dtype types[COUNT] = {GPUL_F32, GPUL_F32, GPUL_F64, GPUL_I32, GPUL_U8, GPUL_F32};
    box b[COUNT];
    gpul_array *a[COUNT], zero = GPUL_ZERO, shifted = GPUL_ZERO, one = GPUL_ZERO;
    for (int k = 0; k < COUNT; k++) {
        if (k == M) box_2d(&b[k], types[k], 3, 4, LAY_C, 0, FILL_NAN);
        else box_1d(&b[k], types[k], 4, 0, FILL_NAN);
        box_random(&b[k], 1);
        a[k] = &b[k].view;
    }
    CHECK_OK(gpul_reshape(&one, a[M], gpul_1d(12)));
    CHECK_OK(gpul_slice(&shifted, &one, 0, 1, 5, 1));
    CHECK_OK(gpul_slice(&one, &one, 0, 0, 4, 1));
#define REFUSED(call, status, word) CHECK_FAILS(gpul_##call, GPUL_ERROR_##status, check_function(#call), word)
#define check_function(text) function_of(text)
    {
        static char name[64];
#define function_of(text) (snprintf(name, sizeof name, "gpul_%.*s", (int)strcspn(text, "("), text), name)
        REFUSED(binary(a[F], GPUL_SUM, a[F], a[G], NULL), ARGUMENT, "op = 1 ");
        REFUSED(binary(a[F], GPUL_EXP, a[F], a[G], NULL), ARGUMENT, "op = 205 is none of GPUL_ADD");
        REFUSED(binary(NULL, GPUL_ADD, a[F], a[G], NULL), ARGUMENT, "out is NULL");
        REFUSED(binary(a[F], GPUL_ADD, NULL, a[G], NULL), ARGUMENT, "x is NULL");
        REFUSED(binary(a[F], GPUL_ADD, a[G], NULL, NULL), ARGUMENT, "y is NULL");
        REFUSED(binary(a[F], GPUL_ADD, GPUL_SCALAR(1), NULL, NULL), ARGUMENT, "y is NULL");
        REFUSED(binary(a[F], GPUL_ADD, a[G], &zero, NULL), ARGUMENT, "y was never made");
        REFUSED(binary(a[F], GPUL_ADD, a[G], a[D], NULL), DTYPE, "x is float32, but y is float64");
        REFUSED(binary(a[D], GPUL_ADD, a[F], a[G], NULL), DTYPE, "out is float64, but must be float32");
        REFUSED(binary(a[F], GPUL_LESS, a[F], a[G], NULL), DTYPE, "out is float32, but must be uint8");
        REFUSED(binary(a[I], GPUL_DIVIDE, a[I], a[I], NULL), DTYPE, "must be float64 for a quotient");
        REFUSED(binary(a[I], GPUL_ADD, a[I], GPUL_SCALAR(2.5), NULL), ARGUMENT, "y = 2.5 is no int32");
        REFUSED(binary(a[U], GPUL_ADD, GPUL_SCALAR(256), a[U], NULL), ARGUMENT, "x = 256 is no uint8");
        REFUSED(binary(a[I], GPUL_POWER, a[I], GPUL_SCALAR(-1), NULL), ARGUMENT, "y = -1: integers have no negative");
        REFUSED(binary(a[F], GPUL_SUBTRACT, a[G], a[M], NULL), SHAPE, "y has");
        REFUSED(binary(&shifted, GPUL_SUBTRACT, &one, a[G], NULL), OVERLAP, "overlaps x");
        REFUSED(unary(a[F], GPUL_ADD, a[F], NULL), ARGUMENT, "op = 101 is none of GPUL_NEGATIVE");
        REFUSED(unary(a[F], GPUL_RINT + 1, a[F], NULL), ARGUMENT, "op = 211");
        REFUSED(unary(a[F], GPUL_EXP, NULL, NULL), ARGUMENT, "x is NULL");
        REFUSED(unary(NULL, GPUL_EXP, a[F], NULL), ARGUMENT, "out is NULL");
        REFUSED(unary(a[I], GPUL_SQRT, a[I], NULL), DTYPE, "x is int32, but GPUL_SQRT takes floats");
        REFUSED(unary(a[I], GPUL_RINT, a[I], NULL), DTYPE, "GPUL_RINT takes floats");
        REFUSED(unary(a[D], GPUL_EXP, a[F], NULL), DTYPE, "out is float64, but must be float32");
        REFUSED(scale(a[I], 0.5, a[I], 0, NULL), ARGUMENT, "a = 0.5");
        REFUSED(scale(a[I], 1, a[I], 0.5, NULL), ARGUMENT, "b = 0.5");
        REFUSED(scale(a[D], 1, a[F], 0, NULL), DTYPE, "out is float64");
        REFUSED(scale(a[F], 1, NULL, 0, NULL), ARGUMENT, "x is NULL");
        REFUSED(clip(a[U], a[U], 256, 300, NULL), ARGUMENT, "lo = 256 is no uint8");
        REFUSED(clip(a[U], a[U], -9, -1, NULL), ARGUMENT, "hi = -1 is no uint8");
        REFUSED(clip(a[I], a[I], 0.5, 3, NULL), ARGUMENT, "lo = 0.5 is no int32");
        REFUSED(clip(a[I], a[I], 0, (double)NAN, NULL), ARGUMENT, "hi = ");
        REFUSED(clip(a[F], a[D], 0, 1, NULL), DTYPE, "out is float32, but must be float64");
        REFUSED(where(a[F], a[F], a[F], a[G], NULL), DTYPE, "mask is float32, but must be uint8");
        REFUSED(where(a[F], a[U], a[D], a[G], NULL), DTYPE, "x is float64");
        REFUSED(where(a[F], a[U], a[G], a[D], NULL), DTYPE, "y is float64");
        REFUSED(where(a[F], a[U], NULL, a[G], NULL), ARGUMENT, "x is NULL");
        REFUSED(where(a[I], a[U], a[I], GPUL_SCALAR(0.5), NULL), ARGUMENT, "y = 0.5 is no int32");
        REFUSED(convert(NULL, a[F], NULL), ARGUMENT, "out is NULL");
        REFUSED(convert(a[F], NULL, NULL), ARGUMENT, "x is NULL");
        REFUSED(convert(a[U], a[M], NULL), SHAPE, "x has");
        REFUSED(convert(a[I], GPUL_SCALAR(0.5), NULL), ARGUMENT, "x = 0.5 is no int32");
        REFUSED(arange(NULL, 0, 1, NULL), ARGUMENT, "out is NULL");
        REFUSED(arange(a[M], 0, 1, NULL), SHAPE, "one dimension");
        REFUSED(arange(a[I], 0.5, 1, NULL), ARGUMENT, "start = 0.5");
        REFUSED(arange(a[I], 0, 0.5, NULL), ARGUMENT, "step = 0.5");
        REFUSED(linspace(a[M], 0, 1, NULL), SHAPE, "one dimension");
        REFUSED(linspace(&zero, 0, 1, NULL), ARGUMENT, "out was never made");
    }
    for (int k = 0; k < COUNT; k++) {
        BOX_UNCHANGED(&b[k]);
        box_free(&b[k]);
    }
}

static void test_long(void) { /* vectors of 16 bytes, which shorter arrays have none of */
    static const gpul_dtype types[5][2] = {
        {GPUL_U8, GPUL_F32}, {GPUL_F32, GPUL_F16}, {GPUL_F16, GPUL_BF16}, {GPUL_F64, GPUL_F32}, {GPUL_U8, GPUL_U8}};
    for (int k = 0; k < 10; k++) {
        const gpul_dtype t = types[k / 2][0], to = types[k / 2][1];
        const work w = {t == to ? UNARY : CONVERT, t == to ? GPUL_NEGATIVE : 0, 0, 0};
        const int64_t n = ((int64_t)1 << 20) + rng_below(40000);
        box x, out;
        if (left_out(1) && k % 4 != 1) continue; /* two types of 16 bits, one of 32 */
        box_1d(&x, t, n, k % 2 ? rng_below(17) : 0, FILL_NAN);
        box_1d(&out, to, n, k % 2 ? rng_below(17) : 0, FILL_GARBAGE);
        box_random(&x, 0);
        CHECK_OK(carry_out(&w, &out.view, &x.view, NULL, NULL, NULL));
        BOX_GUARDS(&out);
        COMPARE(&w, &out, &x, NULL, NULL);
        box_free(&x);
        box_free(&out);
    }
}

/* What the packed path does with many elements, and on another stream */
static void test_large(void) {
    const int64_t n = (int64_t)1 << (large_tests() ? 26 : 17);
    gpul_stream s = NULL;
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, u = GPUL_ZERO;
    float *host = (float *)malloc((size_t)n * 4);
    int64_t wrong = 0;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(n), s));
    CHECK_OK(gpul_device_array(&y, GPUL_F32, gpul_1d(n), s));
    CHECK_OK(gpul_device_array(&u, GPUL_U8, gpul_1d(n), s));
    CHECK_OK(gpul_arange(&x, 0, 1, s));
    CHECK_OK(gpul_binary(&u, GPUL_GREATER_EQUAL, &x, GPUL_SCALAR(1000), s));
    CHECK_OK(gpul_convert(&y, &u, s));
    CHECK_OK(gpul_binary(&y, GPUL_SUBTRACT, &x, &y, s));
    CHECK_OK(gpul_copy_to_host(host, &y, s));
    CHECK_OK(gpul_stream_synchronize(s));
    for (int64_t i = 0; i < n; i++) wrong += host[i] != (float)((double)(float)i - (i >= 1000));
    CHECK_INT(wrong, 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&y));
    CHECK_OK(gpul_free(&u));
    CHECK_OK(gpul_stream_destroy(&s));
    free(host);
}

int main(void) {
    check_begin("ufuncs");
    RUN(test_binary);
    RUN(test_unary);
    RUN(test_convert);
    RUN(test_ends);
    RUN(test_scale_and_clip);
    RUN(test_sequences);
    RUN(test_long_sequences);
    RUN(test_shapes);
    RUN(test_turned);
    RUN(test_repeated);
    RUN(test_rows);
    RUN(test_sizes);
    RUN(test_in_place);
    RUN(test_where);
    RUN(test_scalars);
    RUN(test_dtypes);
    RUN(test_refusals);
    RUN(test_long);
    RUN(test_large);
    return check_end();
}
