/* SPDX-License-Identifier: MIT GPUL_ELEMENTWISE and GPUL_REDUCE (defined in custom_kernels.cu), called from C with the
 * contracts of the built-in ones. */
#define GPULITE__KERNELS /* the plans, which are private */
#include "check.h"

gpul_status test_squared_difference(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_negate(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_mixed(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_select(gpul_array *out, const gpul_array *x, const gpul_array *y, const gpul_array *z,
                        gpul_stream stream);
gpul_status test_quotient(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_is_odd(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_axpy(gpul_array *out, double a, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_half(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_mean_square(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_sum_abs(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_l2_norm(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_or(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_largest(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_xor_plus_one(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_divide(gpul_array *quotient, gpul_array *rest, const gpul_array *x, const gpul_array *y,
                        gpul_stream stream);
gpul_status test_parts(gpul_array *sign, gpul_array *magnitude, gpul_array *scaled, const gpul_array *x, double factor,
                       gpul_stream stream);
gpul_status test_absolute(gpul_array *out, gpul_array *third, const gpul_array *x, gpul_stream stream);
gpul_status test_weighted(gpul_array *out, const gpul_array *w, const gpul_array *x, const gpul_array *y, int32_t axis,
                          gpul_stream stream);
gpul_status test_highest_low(gpul_array *out, const gpul_array *x, const gpul_array *y, int32_t axis,
                             gpul_stream stream);
gpul_status test_distance(gpul_array *out, const gpul_array *x, const gpul_array *y, int32_t axis, gpul_stream stream);
gpul_status test_share_above(gpul_array *out, float limit, const gpul_array *x, double scale, int32_t axis,
                             gpul_stream stream);
gpul_status test_compose(gpul_array *out, const gpul_array *scale, const gpul_array *shift, int32_t axis,
                         gpul_stream stream);
gpul_status test_compose_rounded(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_product(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_last(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_first_least(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_by_index(gpul_array *out, const gpul_array *x, const gpul_array *y, int32_t axis, gpul_stream stream);
gpul_status test_f64_to_f16(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_f64_to_bf16(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_i32_to_f16(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_i32_to_bf16(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_i64_to_f16(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_i64_to_bf16(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_u32_to_bf16(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_u64_to_bf16(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_sum_to_f16(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_sum_to_bf16(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_floats(gpul_array *p, gpul_array *q, gpul_array *r, const gpul_array *x, gpul_stream stream);
gpul_status test_from_everything(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_names(gpul_array *out, const gpul_array *x, double y, int32_t axis, gpul_stream stream);
gpul_status test_names_ordered(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_scaled_C(gpul_array *out, float alpha, const gpul_array *C, gpul_stream stream);
gpul_status test_A_B_C(gpul_array *out, const gpul_array *A, const gpul_array *B, const gpul_array *C,
                       gpul_stream stream);
gpul_status test_struct_A(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_Out(gpul_array *Out, gpul_array *A, const gpul_array *B, const gpul_array *C, gpul_stream stream);

static void test_elementwise(void) {
    for (int k = 0; k < 90; k++) {
        const int64_t rows = k < 66   ? 1
                             : k < 87 ? 1 + rng_below(40)
                                      : 33 + rng_below(40); /* k > 86: many elements, turned */
        const int64_t cols = k < 66 ? k : k < 87 ? 1 + rng_below(200) : 262144 / rows + 1 + rng_below(100);
        const int layout = k % LAYOUTS;
        int64_t wrong = 0;
        box f, g, i, l, u, v, of, oi, od, ou, ol;
        box_2d(&f, GPUL_F32, rows, cols, layout, k % 2, k & 1);
        box_2d(&g, GPUL_F32, k % 3 ? rows : 1, cols, (layout + 1) % LAYOUTS, k % 3, k & 1);
        box_2d(&i, GPUL_I32, rows, cols, (layout + 2) % LAYOUTS, 0, k & 1);
        box_2d(&l, GPUL_I64, rows, cols, layout, 1, k & 1);
        box_2d(&u, GPUL_U8, rows, cols, LAY_C, k % 5, k & 1);
        box_2d(&v, GPUL_U8, rows, 1, LAY_C, 0, 0);
        box_2d(&of, GPUL_F32, rows, cols, LAY_C, k % 4, k & 1);
        box_2d(&oi, GPUL_I32, rows, cols, layout, 0, k & 1);
        box_2d(&od, GPUL_F64, rows, cols, layout, 0, k & 1);
        box_2d(&ou, GPUL_U8, rows, cols, layout, 3, k & 1);
        box_2d(&ol, GPUL_I64, rows, cols, LAY_C, 0, k & 1);
        box_random(&f, 0);
        box_random(&g, 0);
        box_random(&i, 1);
        box_random(&l, 1);
        box_random(&u, 0);
        box_random(&v, 0);
        CHECK_OK(test_squared_difference(&of.view, &f.view, &g.view, NULL));
        CHECK_OK(test_negate(&oi.view, &i.view, NULL));
        CHECK_OK(test_mixed(&od.view, &f.view, &l.view, NULL));
        CHECK_OK(test_select(&ou.view, &i.view, &u.view, &v.view, NULL));
        CHECK_OK(test_is_odd(&ol.view, &u.view, NULL));
        BOX_GUARDS(&of);
        BOX_GUARDS(&oi);
        BOX_GUARDS(&od);
        BOX_GUARDS(&ou);
        BOX_GUARDS(&ol);
        for (int64_t at = 0; at < of.n; at++) {
            const float x = (float)box_get(&f, at).f, y = (float)box_get(&g, g.n == of.n ? at : at % cols).f;
            volatile float d = x - y;
            const float p = d * d;
            wrong += !(box_got(&of, at).f == p);
            wrong += box_got(&oi, at).i != -box_get(&i, at).i;
            wrong += !(box_got(&od, at).f == (double)x * 2 + (double)box_get(&l, at).i);
            wrong += box_got(&ou, at).i != (box_get(&i, at).i ? box_get(&u, at).i : box_get(&v, at / cols).i);
            wrong += box_got(&ol, at).i != (box_get(&u, at).i & 1);
        }
        CHECK_INT(wrong, 0);
        BOX_UNCHANGED(&f);
        BOX_UNCHANGED(&i);
        BOX_UNCHANGED(&u);
        box_free(&f);
        box_free(&g);
        box_free(&i);
        box_free(&l);
        box_free(&u);
        box_free(&v);
        box_free(&of);
        box_free(&oi);
        box_free(&od);
        box_free(&ou);
        box_free(&ol);
    }
}

static float pairs(float *slots, int count) {
    for (; count > 1; count /= 2)
        for (int i = 0; i < count / 2; i++) slots[i] = slots[2 * i] + slots[2 * i + 1];
    return slots[0];
}
/* The promised tree in float, for sum |x|. */
static float model(const float *x, int64_t n) {
    static float slot[256], parts[4096];
    const int64_t row = 4 * TREE_SLOTS, rows = tree_rows(n, 4);
    const int64_t groups = n <= 8 * rows * row ? 1 : gpul_ceil_div(n, 8 * rows * row);
    for (int64_t u = 0; u < 8 * groups; u++) {
        memset(slot, 0, sizeof slot);
        for (int64_t r = 0; r < rows; r++) { /* of a unit: by turns, or side by side where there is one group */
            const int64_t from = (groups > 1 ? (u / 8 * rows + r) * 8 + u % 8 : u * rows + r) * row;
            for (int64_t i = from; i < n && i < from + row; i++) slot[(i - from) / 4] += fabsf(x[i]);
        }
        parts[u] = pairs(slot, TREE_SLOTS);
    }
    memset(slot, 0, sizeof slot);
    for (int64_t g = 0; g < groups; g++) slot[g % 256] += pairs(parts + 8 * g, 8);
    return pairs(slot, 256);
}

/* run-time scalars, 16-bit elements, and an accumulator of another type than element and result */
static void test_mixed_types(void) {
    for (int k = 0; k < 40; k++) {
        const int64_t n = k < 20 ? k : 1 + rng_below(20000);
        box x, y, h, b, od, oh, of;
        int64_t wrong = 0;
        double sum = 0;
        const double a = rng_signed();
        box_1d(&x, GPUL_F32, n, k % 3, k & 1);
        box_1d(&y, GPUL_F64, n, k % 2, k & 1);
        box_1d(&h, GPUL_F16, n, k % 5, k & 1);
        box_1d(&b, GPUL_BF16, n, k % 4, k & 1);
        box_1d(&od, GPUL_F64, n, k % 2, k & 1);
        box_1d(&oh, GPUL_F16, n, k % 3, k & 1);
        box_make(&of, GPUL_F32, 0, NULL, LAY_C, 0, k & 1);
        box_random(&x, 1);
        box_random(&y, 1);
        box_random(&h, 1);
        box_random(&b, 1);
        CHECK_OK(test_axpy(&od.view, a, &x.view, &y.view, NULL));
        CHECK_OK(test_half(&oh.view, &h.view, &b.view, NULL));
        CHECK_OK(test_mean_square(&of.view, &h.view, GPUL_ALL_AXES, NULL));
        BOX_GUARDS(&od);
        BOX_GUARDS(&oh);
        BOX_GUARDS(&of);
        for (int64_t i = 0; i < n; i++) {
            const double want = a * box_get(&x, i).f + box_get(&y, i).f, got = box_got(&od, i).f;
            const float half = (float)box_get(&h, i).f * 2 + (float)box_get(&b, i).f;
            wrong += !(fabs(got - want) <= 0x1p-50 * (fabs(want) + fabs(a * box_get(&x, i).f)));
            wrong += !(box_got(&oh, i).f == (double)gpul_f16_to_float(gpul_f16_from_float(half)));
            sum += box_get(&h, i).f * box_get(&h, i).f;
        }
        CHECK_INT(wrong, 0);
        CHECK_NEAR(box_got(&of, 0).f, sum, 0x1p-23 * sum);
        box_free(&x);
        box_free(&y);
        box_free(&h);
        box_free(&b);
        box_free(&od);
        box_free(&oh);
        box_free(&of);
    }
}

/* Beside an input that is turned, rows that lie so far apart that their offsets need all 32 bits. Only what is read of
 * them is ever touched. */
static void test_far_rows(void) {
    enum { ROWS = 64, COLUMNS = 256 };
    static int32_t turned[ROWS * COLUMNS];
    static uint8_t got[ROWS * COLUMNS];
    const int64_t strides[2] = {((int64_t)1 << 25) + 600000, 1};
    const size_t bytes = (size_t)((ROWS - 1) * strides[0] + COLUMNS);
    uint8_t *const far_apart = (uint8_t *)malloc(bytes);
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, out = GPUL_ZERO;
    int64_t wrong = 0;
    if (!far_apart || gpul_pin(far_apart, bytes) != GPUL_OK) { /* not so much memory here */
        free(far_apart);
        return;
    }
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < COLUMNS; c++) {
            far_apart[r * strides[0] + c] = (uint8_t)(r * 3 + c);
            turned[c * ROWS + r] = (int32_t)((r + c) % 3);
        }
    CHECK_OK(gpul_wrap_strided(&y, far_apart, GPUL_U8, gpul_2d(ROWS, COLUMNS), strides));
    CHECK_OK(gpul_to_device(&x, turned, GPUL_I32, gpul_2d_f(ROWS, COLUMNS), NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_U8, gpul_2d(ROWS, COLUMNS), NULL));
    CHECK_OK(test_select(&out, &x, &y, GPUL_SCALAR(9), NULL));
    CHECK_OK(gpul_copy_to_host(got, &out, NULL));
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < COLUMNS; c++) wrong += got[r * COLUMNS + c] != ((r + c) % 3 ? (uint8_t)(r * 3 + c) : 9);
    CHECK_INT(wrong, 0);
    CHECK_OK(gpul_unpin(far_apart));
    CHECK_OK(gpul_free_all(&x, &out));
    free(far_apart);
}

static void test_reductions(void) {
    static float x[70000];
    for (int k = 0; k < 66 + COUNT_OF(odd_sizes); k++) {
        const int64_t n = k < 66 ? k : odd_sizes[k - 66];
        box a, out;
        box_make(&a, GPUL_F32, 1, &n, k % 3 == 1 ? LAY_STRIDED : LAY_C, k % 2, k & 1);
        box_random(&a, 0);
        for (int64_t i = 0; i < n; i++) x[i] = (float)box_get(&a, i).f;
        box_make(&out, GPUL_F32, 0, NULL, LAY_C, 0, k & 1);
        {
#ifdef GPULITE_CPU_STANDIN
            const long launches = standin_launches();
#endif
            CHECK_OK(test_sum_abs(&out.view, &a.view, GPUL_ALL_AXES, NULL));
            BOX_GUARDS(&out);
            CHECK_NEAR(box_got(&out, 0).f, model(x, n), 0);
#ifdef GPULITE_CPU_STANDIN
            if (n) CHECK_INT(standin_launches() - launches, 1);
#endif
        }
        BOX_UNCHANGED(&a);
        box_free(&a);
        box_free(&out);
    }
}

/* An input that lies the other way, and another one that is the output, whose rows begin at any byte: the expression
 * sees elements of the inputs alone, no result, and no element that nobody asked for. */
static void test_turned_in_place(void) {
    enum { SIDE = 512, PITCH = 513 };
    static uint8_t x[SIDE][SIDE], y[SIDE][PITCH], want[SIDE][PITCH];
    gpul_array turned = GPUL_ZERO, all = GPUL_ZERO, out = GPUL_ZERO;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < PITCH; j++) {
            y[i][j] = want[i][j] = j < SIDE ? 200 : 0;
            if (j == SIDE) continue;
            x[i][j] = (uint8_t)rng_below(200); /* so that each result is 0 */
            want[i][j] = 0;
        }
    CHECK_OK(gpul_to_device(&turned, x, GPUL_U8, gpul_2d(SIDE, SIDE), NULL));
    CHECK_OK(gpul_to_device(&all, y, GPUL_U8, gpul_2d(SIDE, PITCH), NULL));
    CHECK_OK(gpul_slice(&out, &all, 1, 0, SIDE, 1));
    gpul_array t = GPUL_ZERO;
    CHECK_OK(gpul_transpose(&t, &turned));
    CHECK_OK(test_quotient(&out, &t, &out, NULL));
    CHECK_OK(gpul_copy_to_host(y, &all, NULL));
    CHECK_OK(gpul_stream_synchronize(NULL));
    CHECK_BYTES(y, want, sizeof y);
    CHECK_OK(gpul_free_all(&turned, &all));
}

/* Partial results of one byte, by columns, which are not even in number */
static void test_bytes_between_blocks(void) {
    enum { COLS = 14 };
    const int64_t rows = large_tests() ? 1944450 : 58463, n = rows * COLS;
    uint8_t *const x = (uint8_t *)malloc((size_t)n), *const y = (uint8_t *)malloc((size_t)n);
    uint8_t want[COLS] = {0}, got[COLS];
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, out = GPUL_ZERO;
    for (int64_t i = 0; i < n; i++) {
        x[i] = (uint8_t)rng_below(i % COLS * 10 + 20);
        y[i] = (uint8_t)rng_below(200);
        const uint8_t low = x[i] < y[i] ? x[i] : y[i];
        if (low > want[i % COLS]) want[i % COLS] = low;
    }
    CHECK_OK(gpul_to_device(&a, x, GPUL_U8, gpul_2d(rows, COLS), NULL));
    CHECK_OK(gpul_to_device(&b, y, GPUL_U8, gpul_2d(rows, COLS), NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_U8, gpul_1d(COLS), NULL));
    CHECK_OK(test_highest_low(&out, &a, &b, 0, NULL));
    CHECK_OK(gpul_copy_to_host(got, &out, NULL));
    CHECK_OK(gpul_stream_synchronize(NULL));
    CHECK_BYTES(got, want, sizeof want);
    CHECK_OK(gpul_free_all(&a, &b, &out));
    free(x);
    free(y);
}

static void test_other_types(void) {
    for (int k = 0; k < 30; k++) {
        const int64_t rows = 1 + rng_below(50), cols = 1 + rng_below(90);
        int64_t wrong = 0;
        box d, i, l, u, od, oi, ol, ou;
        box_2d(&d, GPUL_F64, rows, cols, k % LAYOUTS, 0, 0);
        box_2d(&i, GPUL_I32, rows, cols, k % LAYOUTS, 1, 0);
        box_2d(&l, GPUL_I64, rows, cols, k % LAYOUTS, 0, 0);
        box_2d(&u, GPUL_U8, rows, cols, k % LAYOUTS, 3, 0);
        box_random(&d, 1); /* integers: sums are exact */
        box_random(&i, 0);
        box_random(&l, 0);
        box_random(&u, 0);
        box_1d(&od, GPUL_F64, cols, 0, 0);
        box_1d(&oi, GPUL_I32, cols, 0, 0);
        box_1d(&ol, GPUL_I64, rows, 0, 0);
        box_1d(&ou, GPUL_U8, rows, 0, 0);
        CHECK_OK(test_l2_norm(&od.view, &d.view, 0, NULL));
        CHECK_OK(test_or(&oi.view, &i.view, 0, NULL));
        CHECK_OK(test_largest(&ol.view, &l.view, 1, NULL));
        CHECK_OK(test_xor_plus_one(&ou.view, &u.view, 1, NULL));
        BOX_GUARDS(&od);
        BOX_GUARDS(&oi);
        BOX_GUARDS(&ol);
        BOX_GUARDS(&ou);
        for (int64_t c = 0; c < cols; c++) {
            double s = 0;
            int64_t o = 0;
            for (int64_t r = 0; r < rows; r++) {
                s += box_get(&d, r * cols + c).f * box_get(&d, r * cols + c).f;
                o |= box_get(&i, r * cols + c).i;
            }
            wrong += !(box_got(&od, c).f == sqrt(s)) || box_got(&oi, c).i != o;
        }
        for (int64_t r = 0; r < rows; r++) {
            int64_t most = INT64_MIN, x = 0;
            for (int64_t c = 0; c < cols; c++) {
                most = box_get(&l, r * cols + c).i > most ? box_get(&l, r * cols + c).i : most;
                x ^= box_get(&u, r * cols + c).i;
            }
            wrong += box_got(&ol, r).i != most || box_got(&ou, r).i != ((x + 1) & 255);
        }
        CHECK_INT(wrong, 0);
        box_free(&d);
        box_free(&i);
        box_free(&l);
        box_free(&u);
        box_free(&od);
        box_free(&oi);
        box_free(&ol);
        box_free(&ou);
    }
}

static void test_contracts(void) {
    gpul_array x = GPUL_ZERO, d = GPUL_ZERO, out = GPUL_ZERO, zero = GPUL_ZERO, e = GPUL_ZERO, u = GPUL_ZERO,
               v = GPUL_ZERO, one = GPUL_ZERO;
    float got = 0;
    uint8_t byte = 0;
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_2d(3, 4), NULL));
    CHECK_OK(gpul_fill(&x, -2, NULL));
    CHECK_OK(gpul_device_array(&d, GPUL_F64, gpul_2d(3, 4), NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(gpul_device_array(&e, GPUL_U8, gpul_1d(0), NULL));
    CHECK_OK(gpul_device_array(&u, GPUL_U8, gpul_0d(), NULL));
    CHECK_FAILS(test_sum_abs(NULL, &x, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, "test_sum_abs", "out");
    CHECK_FAILS(test_sum_abs(&out, NULL, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, "test_sum_abs", "x");
    CHECK_FAILS(test_sum_abs(&out, &zero, GPUL_ALL_AXES, NULL), GPUL_ERROR_ARGUMENT, "test_sum_abs", "x");
    CHECK_FAILS(test_sum_abs(&out, &d, GPUL_ALL_AXES, NULL), GPUL_ERROR_DTYPE, "test_sum_abs", "x");
    CHECK_FAILS(test_sum_abs(&u, &x, GPUL_ALL_AXES, NULL), GPUL_ERROR_DTYPE, "test_sum_abs", "out");
    CHECK_FAILS(test_sum_abs(&out, &x, 2, NULL), GPUL_ERROR_ARGUMENT, "test_sum_abs", "axis");
    CHECK_FAILS(test_sum_abs(&out, &x, -3, NULL), GPUL_ERROR_ARGUMENT, "test_sum_abs", "axis = -3, but x has");
    CHECK_FAILS(test_sum_abs(&out, &x, 0, NULL), GPUL_ERROR_SHAPE, "test_sum_abs", "out");
    CHECK_OK(gpul_reshape(&v, &x, gpul_1d(12)));
    CHECK_OK(gpul_index(&one, &v, 0, 3));
    CHECK_FAILS(test_sum_abs(&one, &x, GPUL_ALL_AXES, NULL), GPUL_ERROR_OVERLAP, "test_sum_abs", "out");
    CHECK_OK(test_sum_abs(&out, &x, GPUL_ALL_AXES, NULL));
    CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
    CHECK_NEAR(got, 24, 0);
    CHECK_OK(test_xor_plus_one(&u, &e, GPUL_ALL_AXES, NULL)); /* empty: post(identity) */
    CHECK_OK(gpul_copy_to_host(&byte, &u, NULL));
    CHECK_INT(byte, 1);
    CHECK_FAILS(test_squared_difference(NULL, &x, &x, NULL), GPUL_ERROR_ARGUMENT, "test_squared_difference", "out");
    CHECK_FAILS(test_squared_difference(&x, NULL, &x, NULL), GPUL_ERROR_ARGUMENT, "test_squared_difference", NULL);
    CHECK_FAILS(test_squared_difference(&x, &x, &zero, NULL), GPUL_ERROR_ARGUMENT, "test_squared_difference", NULL);
    CHECK_FAILS(test_squared_difference(&d, &x, &x, NULL), GPUL_ERROR_DTYPE, "test_squared_difference", "out");
    CHECK_FAILS(test_squared_difference(&x, &x, &d, NULL), GPUL_ERROR_DTYPE, "test_squared_difference", NULL);
    CHECK_FAILS(test_squared_difference(&out, &x, &x, NULL), GPUL_ERROR_SHAPE, "test_squared_difference", NULL);
    CHECK_OK(test_squared_difference(&x, &x, &out, NULL)); /* in place, and a scalar broadcast */
    CHECK_OK(gpul_copy_to_host(&got, &one, NULL));
    CHECK_NEAR(got, 26.0 * 26.0, 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&d));
    CHECK_OK(gpul_free(&out));
    CHECK_OK(gpul_free(&e));
    CHECK_OK(gpul_free(&u));
}

/* Captured: the values that are passed by value stay, those in arrays change. */
static void test_graph(void) {
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, z = GPUL_ZERO, norm = GPUL_ZERO;
    gpul_stream s = NULL;
    gpul_graph graph = NULL;
    double got = 0;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(10000), s));
    CHECK_OK(gpul_device_array(&y, GPUL_F64, gpul_1d(10000), s));
    CHECK_OK(gpul_device_array(&z, GPUL_F64, gpul_1d(10000), s));
    CHECK_OK(gpul_device_array(&norm, GPUL_F64, gpul_0d(), s));
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(test_axpy(&z, 2, &x, &y, s));
    CHECK_OK(test_l2_norm(&norm, &z, GPUL_ALL_AXES, s));
    CHECK_OK(gpul_graph_end(&graph, s));
    for (int round = 1; round < 4; round++) {
        CHECK_OK(gpul_fill(&x, round, s));
        CHECK_OK(gpul_fill(&y, 10 * round, s));
        CHECK_OK(gpul_graph_launch(graph, s));
        CHECK_OK(gpul_copy_to_host(&got, &norm, s));
        CHECK_OK(gpul_stream_synchronize(s));
        CHECK_NEAR(got, 100.0 * (2 * round + 10 * round), 1e-9);
    }
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&y));
    CHECK_OK(gpul_free(&z));
    CHECK_OK(gpul_free(&norm));
    CHECK_OK(gpul_stream_destroy(&s));
}

static void test_numbers(void) { /* GPUL_SCALAR takes the dtype of the input that it stands for */
    gpul_array out = GPUL_ZERO;
    double got[3] = {0, 0, 0};
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_1d(3), NULL));
    CHECK_OK(test_mixed(&out, GPUL_SCALAR(0.1), GPUL_SCALAR(5), NULL));
    CHECK_OK(gpul_copy_to_host(got, &out, NULL));
    for (int i = 0; i < 3; i++) CHECK_NEAR(got[i], (double)0.1f * 2 + 5, 0);
    CHECK_FAILS(test_mixed(&out, GPUL_SCALAR(0.1), GPUL_SCALAR(0.5), NULL), GPUL_ERROR_ARGUMENT, "test_mixed",
                "y = 0.5 is no whole number (int64)");
    CHECK_OK(gpul_free(&out));
}

/* ---- several outputs ---- */

/* A box of a random layout, of `whole`'s shape, or of one that broadcasts to it. */
static void box_some(box *b, gpul_dtype dtype, int32_t ndim, const int64_t *whole, int broadcast) {
    int64_t shape[GPUL_MAX_DIMS] = {0, 0, 0, 0};
    const int32_t drop = broadcast && ndim > 1 && rng_below(4) == 0 ? (int32_t)rng_below(ndim) : 0;
    for (int d = drop; d < ndim; d++) shape[d - drop] = broadcast && rng_below(3) == 0 ? 1 : whole[d];
    box_make(b, dtype, ndim - drop, shape, (int)rng_below(LAYOUTS), rng_below(4), (int)rng_below(2));
}

static void test_outputs(void) {
    for (int k = 0; k < 150; k++) {
        int64_t shape[GPUL_MAX_DIMS], wrong = 0;
        const int32_t ndim = k < 70 ? 1 : 1 + (int32_t)rng_below(4);
        box x, y, f, h, q, r, s, m, d, o, t;
        const double factor = rng_signed();
        for (int i = 0; i < ndim; i++) shape[i] = k < 70 ? k : rng_below(ndim > 2 ? 12 : 120);
        if (k % 7 == 0 && k >= 70) shape[ndim - 1] = 300 + rng_below(300);
        box_some(&x, GPUL_I32, ndim, shape, 0);
        box_some(&y, GPUL_I32, ndim, shape, k >= 70);
        box_some(&f, GPUL_F32, ndim, shape, k % 3 == 0);
        box_some(&h, GPUL_F16, ndim, shape, 0);
        box_some(&q, GPUL_I32, ndim, shape, 0);
        box_some(&r, GPUL_I32, ndim, shape, 0);
        box_some(&s, GPUL_U8, ndim, shape, 0);
        box_some(&m, GPUL_F32, ndim, shape, 0);
        box_some(&d, GPUL_F64, ndim, shape, 0);
        box_some(&o, GPUL_F16, ndim, shape, 0);
        box_some(&t, GPUL_BF16, ndim, shape, 0);
        if (k % 2) { /* all dense, and at one boundary or not */
            box_free(&q), box_free(&r), box_free(&x), box_free(&m), box_free(&d), box_free(&s);
            box_make(&x, GPUL_I32, ndim, shape, LAY_C, k % 8 == 1, 0);
            box_make(&q, GPUL_I32, ndim, shape, LAY_C, k % 8 == 1, 0);
            box_make(&r, GPUL_I32, ndim, shape, LAY_C, k % 8 == 1 || k % 8 == 3, 0);
            box_make(&s, GPUL_U8, ndim, shape, LAY_C, 0, 0);
            box_make(&m, GPUL_F32, ndim, shape, LAY_C, 0, 0);
            box_make(&d, GPUL_F64, ndim, shape, LAY_C, k % 4 == 1, 0);
        }
        box_random(&x, k & 1);
        box_random(&y, 1);
        box_random(&f, k & 1);
        box_random(&h, k & 1);
        for (int64_t i = 0; i < y.n; i++)
            if (box_get(&y, i).i == 0 || box_get(&y, i).i == -1) box_put(&y, i, num_of_int(7));
        box_upload(&y);
        CHECK_OK(test_divide(&q.view, &r.view, &x.view, &y.view, NULL));
        CHECK_OK(test_parts(&s.view, &m.view, &d.view, &f.view, factor, NULL));
        CHECK_OK(test_absolute(&o.view, &t.view, &h.view, NULL));
        BOX_GUARDS(&q);
        BOX_GUARDS(&r);
        BOX_GUARDS(&s);
        BOX_GUARDS(&m);
        BOX_GUARDS(&d);
        BOX_GUARDS(&o);
        BOX_GUARDS(&t);
        for (int64_t i = 0; i < q.n; i++) {
            const int64_t a = box_get(&x, broadcast_index(&x, &q, i)).i, b = box_get(&y, broadcast_index(&y, &q, i)).i;
            const double v = box_get(&f, broadcast_index(&f, &m, i)).f;
            wrong += box_got(&q, i).i != a / b || box_got(&r, i).i != a % b;
            wrong += box_got(&s, i).i != (v < 0) || !(box_got(&m, i).f == fabs(v)) || !(box_got(&d, i).f == factor * v);
            wrong += !(box_got(&o, i).f == fabs(box_get(&h, i).f));
            wrong += !(box_got(&t, i).f == gpul_bf16_to_float(gpul_bf16_from_float((float)box_got(&o, i).f / 3)));
        }
        CHECK_INT(wrong, 0);
        BOX_UNCHANGED(&x);
        BOX_UNCHANGED(&y);
        BOX_UNCHANGED(&f);
        /* in place: both outputs are the inputs themselves */
        if (y.n == x.n && y.view.ndim == x.view.ndim && memcmp(y.view.shape, x.view.shape, sizeof shape) == 0) {
            CHECK_OK(test_divide(&y.view, &x.view, &x.view, &y.view, NULL));
            BOX_GUARDS(&x);
            BOX_GUARDS(&y);
            for (int64_t i = 0; i < x.n; i++) {
                const int64_t a = box_get(&x, i).i, b = box_get(&y, i).i;
                wrong += box_got(&y, i).i != a / b || box_got(&x, i).i != a % b;
            }
            CHECK_INT(wrong, 0);
        }
        box_free(&x), box_free(&y), box_free(&f), box_free(&h), box_free(&q);
        box_free(&r), box_free(&s), box_free(&m), box_free(&d), box_free(&o), box_free(&t);
    }
}

/* ---- reductions of several inputs, and ordered ones: against plain loops over the elements in their order ---- */

enum { WEIGHTED, DISTANCE, SHARE_ABOVE, COMPOSE, PRODUCT, LAST, FIRST_LEAST, BY_INDEX, KINDS };
static const struct {
    int n_in;
    gpul_dtype in[3], out;
    int64_t bytes; /* of a struct */
} kinds[KINDS] = {{3, {GPUL_U8, GPUL_I32, GPUL_I64}, GPUL_I64, 0},
                  {2, {GPUL_F32, GPUL_F64, 0}, GPUL_F64, 0},
                  {1, {GPUL_F32, 0, 0}, GPUL_F64, 0},
                  {2, {GPUL_I64, GPUL_I64, 0}, GPUL_U8, 16},
                  {1, {GPUL_U8, 0, 0}, GPUL_U8, 16},
                  {1, {GPUL_F32, 0, 0}, GPUL_F32, 0},
                  {1, {GPUL_F16, 0, 0}, GPUL_U8, 8},
                  {2, {GPUL_U8, GPUL_I64, 0}, GPUL_I64, 0}};

static gpul_status run_kind(int kind, box *out, box *in, int32_t axis) {
    const gpul_array *const a = &in[0].view, *const b = &in[1].view, *const c = &in[2].view;
    if (kind == WEIGHTED) return test_weighted(&out->view, a, b, c, axis, NULL);
    if (kind == DISTANCE) return test_distance(&out->view, a, b, axis, NULL);
    if (kind == SHARE_ABOVE) return test_share_above(&out->view, 0.5f, a, 8, axis, NULL);
    if (kind == COMPOSE) return test_compose(&out->view, a, b, axis, NULL);
    if (kind == PRODUCT) return test_product(&out->view, a, axis, NULL);
    if (kind == LAST) return test_last(&out->view, a, axis, NULL);
    if (kind == FIRST_LEAST) return test_first_least(&out->view, a, axis, NULL);
    return test_by_index(&out->view, a, b, axis, NULL);
}

/* What a result has as bytes: of one element after the other, by `step`, and `ends`. */
typedef struct folded {
    uint64_t u[2];
    uint32_t m[4];
    double f;
    float found;
    int32_t index;
} folded;
static folded fold_start(int kind) {
    folded s;
    memset(&s, 0, sizeof s);
    if (kind == COMPOSE) s.u[0] = 1;
    if (kind == PRODUCT) s.m[0] = s.m[3] = 1;
    if (kind == FIRST_LEAST) s.found = INFINITY, s.index = -1;
    return s;
}
static folded fold_step(int kind, folded s, const num *v, int64_t i) {
    if (kind == WEIGHTED) s.u[0] += (uint64_t)v[0].i * (uint64_t)v[1].i + (uint64_t)v[2].i;
    if (kind == DISTANCE) s.f += (v[0].f - v[1].f) * (v[0].f - v[1].f);
    if (kind == SHARE_ABOVE) s.f += v[0].f > 0.5;
    if (kind == COMPOSE) {
        s.u[0] *= (uint64_t)v[0].i;
        s.u[1] = (uint64_t)v[0].i * s.u[1] + (uint64_t)v[1].i;
    }
    if (kind == PRODUCT) { /* times (1 1; 0 1) or (1 0; 1 1) */
        if (v[0].i & 1) s.m[1] += s.m[0], s.m[3] += s.m[2];
        else s.m[0] += s.m[1], s.m[2] += s.m[3];
    }
    if (kind == LAST && v[0].f != 0) s.found = (float)v[0].f;
    if (kind == FIRST_LEAST && v[0].f < (double)s.found) s.found = (float)v[0].f, s.index = (int32_t)i;
    if (kind == BY_INDEX) s.u[0] += ((uint64_t)i + 1) * (3 * (uint64_t)v[0].i + (uint64_t)v[1].i);
    return s;
}
static void fold_end(int kind, folded s, int64_t n, unsigned char *to) {
    memset(to, 0, 16);
    if (kind == DISTANCE) s.f = sqrt(s.f);
    if (kind == SHARE_ABOVE) s.f = 8 * s.f / (double)n;
    if (kind == DISTANCE || kind == SHARE_ABOVE) memcpy(to, &s.f, 8);
    else if (kind == COMPOSE) memcpy(to, s.u, 16);
    else if (kind == PRODUCT) memcpy(to, s.m, 16);
    else if (kind == LAST) memcpy(to, &s.found, 4);
    else if (kind == FIRST_LEAST) memcpy(to, &s.found, 4), memcpy(to + 4, &s.index, 4);
    else memcpy(to, s.u, 8);
}

/* Runs a kind on its inputs, which broadcast to `shape`, and compares every byte. */
static void check_kind(int kind, int32_t ndim, const int64_t *shape, box *in, int32_t axis) {
    const int32_t from_end = axis == GPUL_ALL_AXES || rng_below(2) ? axis : axis - ndim;
    int64_t out_shape[GPUL_MAX_DIMS + 1], inner = 1, wrong = 0, outputs = 1;
    int32_t outer = 0;
    const int64_t n = axis == GPUL_ALL_AXES ? shape_product(ndim, shape) : shape[axis];
    const int64_t size = kinds[kind].bytes ? kinds[kind].bytes : (int64_t)gpul_dtype_size(kinds[kind].out);
    box out, whole;
    memset(&whole, 0, sizeof whole);
    whole.view.ndim = ndim;
    for (int d = 0; d < ndim; d++) whole.view.shape[d] = shape[d];
    for (int d = 0; d < ndim && axis != GPUL_ALL_AXES; d++)
        if (d != axis) outputs *= out_shape[outer++] = shape[d];
    for (int d = axis == GPUL_ALL_AXES ? ndim : axis + 1; d < ndim; d++) inner *= shape[d];
    if (kinds[kind].bytes) { /* the bytes lie side by side, the structs anyhow */
        int64_t strides[GPUL_MAX_DIMS] = {0, 0, 0, 0}, step = size + rng_below(3);
        for (int d = outer - 1; d >= 0; d--) {
            strides[d] = step;
            step = step * (out_shape[d] > 0 ? out_shape[d] : 1) + rng_below(5);
        }
        strides[outer] = 1;
        out_shape[outer] = size;
        box_make_strided(&out, GPUL_MEMORY_DEVICE, GPUL_U8, outer + 1, out_shape, strides, rng_below(3), 0);
    } else {
        box_make(&out, kinds[kind].out, outer, out_shape, (int)rng_below(LAYOUTS), rng_below(3), 0);
    }
    check_sms((int32_t)rng_below(2));
    CHECK_OK(run_kind(kind, &out, in, from_end));
    check_sms(0);
    BOX_GUARDS(&out);
    for (int64_t o = 0; o < outputs; o++) {
        folded s = fold_start(kind);
        unsigned char want[16];
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = axis == GPUL_ALL_AXES ? i : (o / inner * n + i) * inner + o % inner;
            num v[3];
            for (int k = 0; k < kinds[kind].n_in; k++)
                v[k] = box_get(&in[k], in[k].n == whole.n && ndim == 1 ? at : broadcast_index(&in[k], &whole, at));
            s = fold_step(kind, s, v, i);
        }
        fold_end(kind, s, n, want);
        if (n == 0 && kind == SHARE_ABOVE) continue; /* 0 / 0: any NaN */
        wrong += memcmp(out.now + box_at(&out, kinds[kind].bytes ? o * size : o), want, (size_t)size) != 0;
    }
    if (wrong)
        FAIL("kind %d of %d dimensions (%lld, %lld, ..), axis %d: %lld of %lld results are wrong", kind, (int)ndim,
             (long long)shape[0], (long long)(ndim > 1 ? shape[1] : 0), (int)axis, (long long)wrong,
             (long long)outputs);
    else CHECK(1);
    box_free(&out);
}
static void random_inputs(int kind, box *in) {
    for (int k = 0; k < kinds[kind].n_in; k++) {
        box_random(&in[k], kind == DISTANCE || rng_below(2)); /* squares of small integers are exact */
        if (kind == LAST) {                                   /* few of them, so that the last may be anywhere */
            const int64_t rare = 1 + rng_below(in[k].n + 1);
            for (int64_t i = 0; i < in[k].n; i++)
                if (rng_below(rare)) box_put(&in[k], i, num_of(0));
            box_upload(&in[k]);
        }
    }
}

/* Many elements: results that are stored several times, as the input repeats, and an input that is turned */
static void test_outputs_of_many(void) {
    for (int k = 0; k < 4; k++) {
        const int64_t shape[2] = {k < 2 ? 125003 : 41 + k, k < 2 ? 17 : 262144 / 41}, one[2] = {1, shape[1]};
        int64_t wrong = 0;
        box x, h, s, m, d, o, t;
        if (left_out(1) && k % 3) continue; /* a row of many, and a matrix */
        box_make(&x, GPUL_F32, 2, k < 2 ? one : shape, LAY_F, 1, 1);
        box_make(&h, GPUL_F16, 2, k < 2 ? one : shape, LAY_F, k, 1);
        box_make(&s, GPUL_U8, 2, shape, LAY_C, 3, 1);
        box_make(&m, GPUL_F32, 2, shape, k % 2 ? LAY_C_PAD : LAY_C, 0, 1);
        box_make(&d, GPUL_F64, 2, shape, LAY_C, 1, 1);
        box_make(&o, GPUL_F16, 2, shape, LAY_C, k, 1);
        box_make(&t, GPUL_BF16, 2, shape, k % 2 ? LAY_C_PAD : LAY_C, 0, 1);
        box_random(&x, 0);
        box_random(&h, 0);
        CHECK_OK(test_parts(&s.view, &m.view, &d.view, &x.view, 3, NULL));
        CHECK_OK(test_absolute(&o.view, &t.view, &h.view, NULL));
        BOX_GUARDS(&s);
        BOX_GUARDS(&m);
        BOX_GUARDS(&d);
        BOX_GUARDS(&o);
        BOX_GUARDS(&t);
        for (int64_t i = 0; i < s.n; i++) {
            const double v = box_get(&x, broadcast_index(&x, &s, i)).f, f = box_get(&h, broadcast_index(&h, &s, i)).f;
            wrong += box_got(&s, i).i != (v < 0) || !(box_got(&m, i).f == fabs(v)) || !(box_got(&d, i).f == 3 * v);
            wrong += !(box_got(&o, i).f == fabs(f));
            wrong += !(box_got(&t, i).f == gpul_bf16_to_float(gpul_bf16_from_float((float)fabs(f) / 3)));
        }
        CHECK_INT(wrong, 0);
        box_free(&x), box_free(&h), box_free(&s), box_free(&m), box_free(&d), box_free(&o), box_free(&t);
    }
}

/* Every size where a lane, a row, a warp tile, a block tile or a slot ends, of vectors of 2, 4, 8 and 16. */
static void test_order_sizes(void) {
    static const int64_t tiles[] = {1, 8, 9, 16, 63, 64, 65, 128, 200, 256, 512, 640, 4096 + 64, 64 * 256, 64 * 257};
    for (int kind = 0; kind < KINDS; kind++) {
        const int64_t lane = kind == PRODUCT || kind == FIRST_LEAST ? 8 : kind == LAST || kind == SHARE_ABOVE ? 4 : 2;
        for (int k = 0; k < 70 + COUNT_OF(odd_sizes) + 3 * COUNT_OF(tiles); k++) {
            const int t = k - 70 - COUNT_OF(odd_sizes);
            const int64_t n = k < 70 ? k : t < 0 ? odd_sizes[k - 70] : tiles[t / 3] * 32 * lane + t % 3 - 1;
            const int layout = n > 100000 ? LAY_C : k % 3 == 1 ? LAY_STRIDED : LAY_C;
            box in[3];
            if (left_out(k) || (n > 300000 && kind != COMPOSE && kind != LAST)) continue;
            memset(in, 0, sizeof in);
            for (int i = 0; i < kinds[kind].n_in; i++)
                box_make(&in[i], kinds[kind].in[i], 1, &n, i == 1 ? LAY_C : layout, k % (4 + i), k & 1);
            random_inputs(kind, in);
            check_kind(kind, 1, &n, in, k & 1 ? GPUL_ALL_AXES : 0);
            for (int i = 0; i < kinds[kind].n_in; i++) {
                BOX_UNCHANGED(&in[i]);
                box_free(&in[i]);
            }
        }
    }
}

/* Random shapes, layouts, broadcasts and axes; then outputs beside each other, few and many, of many elements. */
static void test_order_shapes(void) {
    static const int64_t columns[][2] = {{17, 3},    {100, 500}, {1000, 33}, {5000, 2},  {300, 130},
                                         {20000, 3}, {513, 64},  {33, 2000}, {9000, 16}, {2, 3000}};
    static const int64_t most[GPUL_MAX_DIMS] = {3000, 90, 14, 14}, long_columns[2] = {1060000, 2};
    box in[3];
    for (int k = 0; k < 30 * KINDS + 2 * COUNT_OF(columns) * KINDS; k++) {
        const int kind = k % KINDS, c = (k - 30 * KINDS) / KINDS, given = k >= 30 * KINDS;
        const int32_t ndim = given ? 2 : 1 + (int32_t)rng_below(4);
        int64_t shape[GPUL_MAX_DIMS];
        int32_t axis = given ? c / COUNT_OF(columns) : rng_below(4) ? (int32_t)rng_below(ndim) : GPUL_ALL_AXES;
        memset(in, 0, sizeof in);
        if (left_out(k)) continue;
        for (int d = 0; d < ndim; d++)
            shape[d] = given ? columns[c % COUNT_OF(columns)][d ^ axis] : rng_below(most[ndim - 1]);
        for (int i = 0; i < kinds[kind].n_in; i++) {
            if (given) box_make(&in[i], kinds[kind].in[i], ndim, shape, c % 3 == 2 ? LAY_F : LAY_C, c % 5 == 4, k & 1);
            else box_some(&in[i], kinds[kind].in[i], ndim, shape, i > 0);
        }
        random_inputs(kind, in);
        check_kind(kind, ndim, shape, in, axis);
        for (int i = 0; i < kinds[kind].n_in; i++) {
            BOX_UNCHANGED(&in[i]);
            box_free(&in[i]);
        }
    }
    for (int i = 0; i < 2; i++) box_make(&in[i], GPUL_I64, 2, long_columns, LAY_C, 0, 0);
    random_inputs(COMPOSE, in);
    check_kind(COMPOSE, 2, long_columns, in, 0); /* more block tiles than slots */
    for (int i = 0; i < 2; i++) box_free(&in[i]);
}

/* Rounded results: the same bits wherever the elements lie, close to those of the plain loop, and recorded. */
static void test_order_bits(void) {
    static const int64_t sizes[] = {1, 5, 128, 129, 1000, 1024, 1025, 8192, 9000, 70000};
    uint64_t hash = 0xcbf29ce484222325u;
    lcg = 7;
    for (int k = 0; k < COUNT_OF(sizes); k++) {
        double first[3];
        for (int layout = 0; layout < LAYOUTS; layout++) {
            box x, out;
            if (layout == 0) lcg = (uint64_t)k;
            box_2d(&x, GPUL_F32, sizes[k], 3, layout, layout % 3, 0);
            box_1d(&out, GPUL_F64, 3, 0, 0);
            lcg = (uint64_t)k;
            for (int64_t i = 0; i < x.n; i++) lcg_value(GPUL_F32, x.image + box_at(&x, i));
            box_upload(&x);
            CHECK_OK(test_compose_rounded(&out.view, &x.view, 0, NULL));
            BOX_GUARDS(&out);
            for (int c = 0; c < 3; c++) {
                double want = 0, size = 0;
                for (int64_t i = 0; i < sizes[k]; i++) {
                    want = 0.75 * want + box_get(&x, 3 * i + c).f;
                    size = 0.75 * size + fabs(box_get(&x, 3 * i + c).f);
                }
                CHECK_NEAR(box_got(&out, c).f, want, 0x1p-45 * size);
                if (layout == 0) first[c] = box_got(&out, c).f;
                else CHECK(memcmp(&first[c], out.now + box_at(&out, c), 8) == 0);
            }
            if (layout == 0) hash = (hash ^ box_hash(&out)) * 0x100000001b3u;
            box_free(&x);
            box_free(&out);
        }
    }
    CHECK_INT((int64_t)hash, -186958396747920496);
}

/* Plans of ordered reducers: whole vectors to each lane, tiles side by side, no alignment that is not there. */
static void test_order_plans(void) {
    for (long k = 0; k < 100000; k++) {
        gpul__reducer r;
        gpul__reduce_problem p;
        gpul__reduce_inputs in;
        gpul__reduce_plan plan;
        gpul__machine machine;
        int64_t vector, row;
        int good;
        memset(&r, 0, sizeof r);
        memset(&p, 0, sizeof p);
        memset(&in, 0, sizeof in);
        machine.device = 0;
        machine.sms = 1 + (int32_t)rng_below(200);
        machine.shared_optin = 49152;
        r.element_bytes = (int32_t)1 << rng_below(4);
        r.partial_bytes = r.fold_bytes = (int32_t)(4 * (1 + rng_below(16)));
        r.columns = r.partial_bytes > 16 ? 2 : 4;
        if (r.columns * r.element_bytes > 16) r.columns = 16 / r.element_bytes;
        r.lanes = 4;
        r.outputs_at_once = 1;
        r.short_outputs = 4;
        r.ordered = 1;
        r.several = k & 1;
        vector = 16 / r.element_bytes;
        row = 32 * vector;
        p.n = rng_below((int64_t)1 << rng_below(34));
        p.reduce_ndim = p.outer_ndim = 1;
        p.reduce_shape[0] = p.n;
        p.outer_shape[0] = p.outputs = 1 + rng_below((int64_t)1 << rng_below(20));
        p.x_reduce[0] = rng_below(2) ? 1 : p.outputs + rng_below(3);
        p.x_outer[0] = p.x_reduce[0] == 1 ? p.n + rng_below(3) : 1;
        p.x = (const void *)(uintptr_t)(4096 + (rng_below(2) ? 0 : r.element_bytes * rng_below(33)));
        if (r.several) {
            p.inputs = &in;
            for (int i = 0; i < 2; i++) {
                const int along = rng_below(3) != 0, across = rng_below(3) != 0;
                in.bytes[i] = i ? (int32_t)1 << rng_below(4) : r.element_bytes;
                if (in.bytes[i] > r.element_bytes) in.bytes[i] = r.element_bytes;
                in.data[i] = (const void *)(uintptr_t)(4096 + (rng_below(2) ? 0 : in.bytes[i] * rng_below(33)));
                in.reduce[i][0] = along ? p.x_reduce[0] : 0;
                in.outer[i][0] = across ? p.x_outer[0] : 0;
            }
        }
        if (gpul__plan_reduction(&plan, &p, &r, &machine) != 0) continue;
        good = plan.row_step == 1 && plan.tile_rows >= 1 && plan.shared_bytes <= 49152 && plan.blocks >= 1;
        good = good && (plan.tile_rows == tree_rows(p.n, vector) ||
                        (p.n <= 8 * row && plan.tile_rows == (p.n > row ? (p.n + row - 1) / row : 1)));
        good = good && (plan.block_tiles > 1 || plan.warp_tiles * plan.tile_rows * row >= p.n);
        good = good && 8 * plan.tile_rows * row * plan.block_tiles >= p.n;
        if (plan.kernel != GPUL__REDUCE_ROWS) /* threads for every lane that has elements */
            good = good && (plan.lanes == 32 || plan.lanes * plan.tile_rows * vector >= p.n);
        if (plan.kernel == GPUL__REDUCE_COLUMNS) good = good && plan.width >= 1;
        for (int i = 0; plan.vector && r.several && i < 2; i++) {
            const int columns = plan.kernel == GPUL__REDUCE_COLUMNS;
            const int64_t lies = columns ? in.outer[i][0] : in.reduce[i][0],
                          other = columns ? in.reduce[i][0] : in.outer[i][0];
            const int64_t many = columns ? r.columns : vector, bytes = many * in.bytes[i];
            if (p.n <= 1 || p.outputs <= 1) continue;
            good = good && (lies == 0 || (lies == 1 && (uintptr_t)in.data[i] % (uintptr_t)bytes == 0 &&
                                          (other * in.bytes[i]) % bytes == 0));
        }
        if (!good) {
            FAIL("plan %ld: n %lld, %lld outputs, %d bytes: %lld rows, kernel %d, %d lanes, vector %d", k,
                 (long long)p.n, (long long)p.outputs, (int)r.element_bytes, (long long)plan.tile_rows,
                 (int)plan.kernel, (int)plan.lanes, (int)plan.vector);
            if (check_failed > 20) return;
        }
    }
    CHECK(1);
}

static void test_several_contracts(void) {
    const int64_t none[2] = {0, 0};
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, w = GPUL_ZERO, i = GPUL_ZERO, j = GPUL_ZERO, v = GPUL_ZERO, q = GPUL_ZERO,
               bytes = GPUL_ZERO, many = GPUL_ZERO, out = GPUL_ZERO, part = GPUL_ZERO, l = GPUL_ZERO;
    const struct { uint64_t scale, shift; } kept = {5, 6};
    struct {
        uint64_t scale, shift;
    } got = {0, 0};
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_2d(3, 4), NULL));
    CHECK_OK(gpul_device_array(&y, GPUL_F64, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_array(&w, GPUL_F64, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&l, GPUL_I64, gpul_2d(3, 0), NULL));
    CHECK_OK(gpul_device_array(&i, GPUL_I32, gpul_1d(8), NULL));
    CHECK_OK(gpul_device_array(&j, GPUL_I32, gpul_1d(8), NULL));
    CHECK_OK(gpul_device_array(&q, GPUL_I32, gpul_1d(7), NULL));
    CHECK_OK(gpul_device_array(&bytes, GPUL_U8, gpul_1d(16), NULL));
    CHECK_OK(gpul_device_array(&many, GPUL_U8, gpul_2d(3, 32), NULL));
    CHECK_OK(gpul_fill(&x, 2, NULL));
    CHECK_OK(gpul_fill(&y, 1, NULL));
    CHECK_OK(gpul_fill(&i, 7, NULL));
    CHECK_OK(gpul_fill(&j, 2, NULL));
    /* names, dtypes, shapes, axes */
    CHECK_FAILS(test_distance(&out, &x, NULL, 1, NULL), GPUL_ERROR_ARGUMENT, "test_distance", "y is NULL");
    CHECK_FAILS(test_distance(&out, &x, &x, 1, NULL), GPUL_ERROR_DTYPE, "test_distance", "y is float32");
    CHECK_FAILS(test_distance(&out, &x, GPUL_SCALAR(1), 1, NULL), GPUL_ERROR_ARGUMENT, "test_distance",
                "y is a GPUL_SCALAR");
    CHECK_FAILS(test_distance(&out, &x, &w, 1, NULL), GPUL_ERROR_SHAPE, "test_distance",
                "y has float64 (3), which does not broadcast with the shape (3, 4)");
    CHECK_OK(gpul_wrap_strided(&part, x.data, GPUL_F32, gpul_2d((int64_t)1 << 40, 1), none));
    CHECK_OK(gpul_wrap_strided(&v, y.data, GPUL_F64, gpul_2d(1, (int64_t)1 << 40), none));
    CHECK_FAILS(test_distance(&out, &part, &v, 1, NULL), GPUL_ERROR_OVERFLOW, "test_distance", "beyond 2^63");
    CHECK_FAILS(test_distance(&out, &x, &y, 2, NULL), GPUL_ERROR_ARGUMENT, "test_distance", "axis = 2, but");
    CHECK_FAILS(test_distance(&out, &x, &y, -3, NULL), GPUL_ERROR_ARGUMENT, "test_distance", "axis = -3, but");
    CHECK_FAILS(test_distance(&out, &x, &y, 0, NULL), GPUL_ERROR_SHAPE, "test_distance",
                "broadcast to has (3, 4) and axis 0");
    CHECK_FAILS(test_distance(&out, &x, &y, GPUL_ALL_AXES, NULL), GPUL_ERROR_SHAPE, "test_distance", "one element");
    CHECK_OK(gpul_slice(&v, &y, 0, 0, 3, 1));
    CHECK_FAILS(test_distance(&v, &x, &y, 1, NULL), GPUL_ERROR_OVERLAP, "test_distance", "out overlaps y");
    CHECK_OK(test_distance(&out, &x, &y, -1, NULL));
    CHECK_FAILS(test_share_above(&out, 1, NULL, 1, 0, NULL), GPUL_ERROR_ARGUMENT, "test_share_above", "x is NULL");
    /* structs as bytes */
    CHECK_FAILS(test_compose(&out, &l, &l, 1, NULL), GPUL_ERROR_DTYPE, "test_compose", "to give uint8");
    CHECK_FAILS(test_compose(&many, &l, &l, 1, NULL), GPUL_ERROR_SHAPE, "test_compose", "struct of 16 bytes");
    CHECK_FAILS(test_compose(&bytes, &l, &l, 1, NULL), GPUL_ERROR_SHAPE, "test_compose",
                "axis 1 goes away, so that it must have (3, 16)");
    CHECK_OK(gpul_slice(&v, &many, 1, 0, 32, 2)); /* every other byte */
    CHECK_FAILS(test_compose(&v, &l, &l, 1, NULL), GPUL_ERROR_SHAPE, "test_compose", "lie side by side");
    CHECK_OK(gpul_slice(&v, &many, 1, 1, 17, 1)); /* an odd place */
    CHECK_OK(gpul_copy_to_device(&bytes, &kept, NULL));
    CHECK_OK(test_compose(&v, &l, &l, 1, NULL)); /* of nothing: the identity */
    CHECK_OK(gpul_index(&part, &v, 0, 2));
    CHECK_OK(gpul_copy(&bytes, &part, NULL));
    CHECK_OK(gpul_copy_to_host(&got, &bytes, NULL));
    CHECK(got.scale == 1 && got.shift == 0);
    /* outputs */
    CHECK_FAILS(test_divide(&q, NULL, &i, &j, NULL), GPUL_ERROR_ARGUMENT, "test_divide", "rest is NULL");
    CHECK_FAILS(test_divide(NULL, &q, &i, &j, NULL), GPUL_ERROR_ARGUMENT, "test_divide", "quotient is NULL");
    CHECK_FAILS(test_divide(&i, &q, &i, &j, NULL), GPUL_ERROR_SHAPE, "test_divide", "must be of one shape");
    CHECK_FAILS(test_divide(&i, &out, &i, &j, NULL), GPUL_ERROR_DTYPE, "test_divide", "rest is float64");
    CHECK_FAILS(test_divide(&i, &i, &j, &j, NULL), GPUL_ERROR_OVERLAP, "test_divide", "rest overlaps quotient");
    CHECK_OK(gpul_slice(&v, &i, 0, 0, 7, 1));
    CHECK_OK(gpul_slice(&part, &i, 0, 1, 8, 1));
    CHECK_FAILS(test_divide(&q, &v, &part, &part, NULL), GPUL_ERROR_OVERLAP, "test_divide",
                "rest, int32 (7), overlaps x");
    CHECK_FAILS(test_divide(&q, &v, GPUL_SCALAR(9), &j, NULL), GPUL_ERROR_SHAPE, "test_divide", "y has");
    CHECK_OK(test_divide(&q, &v, GPUL_SCALAR(9), GPUL_SCALAR(5), NULL));
    {
        int32_t quotient[7], rest[8];
        CHECK_OK(gpul_copy_to_host(quotient, &q, NULL));
        CHECK_OK(gpul_copy_to_host(rest, &i, NULL));
        CHECK_INT(quotient[6], 1);
        CHECK_INT(rest[6], 4);
        CHECK_INT(rest[7], 7);
    }
    CHECK_OK(gpul_free_all(&x, &y, &w, &out, &l, &i, &j, &q, &bytes, &many));
}

/* ---- results of 16 bits ---- */

/* Of doubles and integers that lie beside the middle of two numbers of 16 bits, and of any others */
static void test_rounded(void) {
    enum { N = 20000 };
    static double d[N];
    static int32_t i[N];
    static int64_t l[N];
    static uint16_t got[N], want[N];
    static const struct {
        gpul_status (*elementwise)(gpul_array *, const gpul_array *, gpul_stream);
        gpul_status (*sum)(gpul_array *, const gpul_array *, int32_t, gpul_stream);
        gpul_dtype from, to;
    } cases[] = {{test_f64_to_f16, NULL, GPUL_F64, GPUL_F16}, {test_f64_to_bf16, NULL, GPUL_F64, GPUL_BF16},
                 {test_i32_to_f16, NULL, GPUL_I32, GPUL_F16}, {test_i32_to_bf16, NULL, GPUL_I32, GPUL_BF16},
                 {test_i64_to_f16, NULL, GPUL_I64, GPUL_F16}, {test_i64_to_bf16, NULL, GPUL_I64, GPUL_BF16},
                 {NULL, test_sum_to_f16, GPUL_F64, GPUL_F16}, {NULL, test_sum_to_bf16, GPUL_I64, GPUL_BF16}};
    gpul_array x = GPUL_ZERO, flat = GPUL_ZERO, out = GPUL_ZERO;
    for (int k = 0; k < N; k++) {
        const uint64_t few = 1 + 2 * (uint64_t)rng_below(k % 2 ? 256 : 2048); /* a half more than 16 bits have */
        const int log2 = (int)rng_below(52), off = (int)rng_below(3) - 1;
        const double sign = rng_below(2) ? 1 : -1;
        d[k] = sign * ldexp((double)few * (1 + off * 0x1p-40), k % 3 ? -11 : (int)rng_below(60) - 40);
        l[k] = (int64_t)sign * (int64_t)((few << log2) + (uint64_t)(log2 > 0 ? off : 0));
        i[k] = (int32_t)((int64_t)sign * (int64_t)((few << log2 % 19) + (uint64_t)(log2 % 19 > 0 ? off : 0)));
        if (k % 10 == 0) l[k] = (int64_t)rng_u64(), i[k] = (int32_t)l[k];
    }
    d[0] = 1 + 0x1p-11 + 0x1p-40;
    d[1] = NAN, d[2] = INFINITY, d[3] = -INFINITY, d[4] = 1e300, d[5] = -0.0, d[6] = 65519.999999999;
    i[0] = (1 << 25) + (1 << 17) + 1;
    l[0] = ((int64_t)1 << 55) + ((int64_t)1 << 47) + 1;
    for (int c = 0; c < COUNT_OF(cases); c++) {
        const gpul_dtype from = cases[c].from, to = cases[c].to;
        const void *const data = from == GPUL_F64 ? (void *)d : from == GPUL_I32 ? (void *)i : (void *)l;
        int64_t wrong = 0;
        CHECK_OK(gpul_to_device(&x, data, from, cases[c].sum ? gpul_2d(N, 1) : gpul_1d(N), NULL));
        CHECK_OK(gpul_device_array(&out, to, gpul_1d(N), NULL));
        if (cases[c].sum) CHECK_OK(cases[c].sum(&out, &x, 1, NULL));
        else CHECK_OK(cases[c].elementwise(&out, &x, NULL));
        CHECK_OK(gpul_copy_to_host(got, &out, NULL));
        CHECK_OK(gpul_reshape(&flat, &x, gpul_1d(N)));
        CHECK_OK(gpul_convert(&out, &flat, NULL));
        CHECK_OK(gpul_copy_to_host(want, &out, NULL));
        for (int k = 0; k < N; k++) {
            const uint16_t infinity = to == GPUL_F16 ? 0x7c00 : 0x7f80;
            const int nan = (want[k] & 0x7fff) > infinity;
            wrong += nan ? (got[k] & 0x7fff) <= infinity
                         : got[k] != want[k] && !(got[k] == 0 && want[k] == 0x8000); /* 0 + -0 */
        }
        if (wrong)
            FAIL("case %d: %lld are wrong, %#x for %#x first", c, (long long)wrong, (unsigned)got[0],
                 (unsigned)want[0]);
        else CHECK(1);
        if (from == GPUL_F64 && to == GPUL_F16) CHECK_INT(got[0], 0x3c01);
        if (from == GPUL_I32 && to == GPUL_BF16) CHECK_INT(got[0], 0x4c01);
        CHECK_OK(gpul_free_all(&x, &out));
    }
    for (int k = 0; k < 2; k++) { /* unsigned, from 2^31 and 2^63 on */
        const int64_t large = k ? INT64_MIN + ((int64_t)1 << 55) + 1 : ((int64_t)1 << 31) + (1 << 23) + 1;
        uint16_t bits = 0;
        CHECK_OK(gpul_to_device(&x, &large, GPUL_I64, gpul_1d(1), NULL));
        CHECK_OK(gpul_device_array(&out, GPUL_BF16, gpul_1d(1), NULL));
        CHECK_OK((k ? test_u64_to_bf16 : test_u32_to_bf16)(&out, &x, NULL));
        CHECK_OK(gpul_copy_to_host(&bits, &out, NULL));
        CHECK_INT(bits, k ? 0x5f01 : 0x4f01);
        CHECK_OK(gpul_free_all(&x, &out));
    }
}
static void test_floats_of_16_bits(void) {
    const float values[2] = {2, -2};
    const uint16_t ones[1] = {0x3c00};
    gpul_array x = GPUL_ZERO, p = GPUL_ZERO, q = GPUL_ZERO, r = GPUL_ZERO;
    uint16_t got[2];
    CHECK_OK(gpul_to_device(&x, values, GPUL_F32, gpul_1d(2), NULL));
    CHECK_OK(gpul_device_array(&p, GPUL_F16, gpul_1d(2), NULL));
    CHECK_OK(gpul_device_array(&q, GPUL_BF16, gpul_1d(2), NULL));
    CHECK_OK(gpul_device_array(&r, GPUL_F16, gpul_1d(2), NULL));
    CHECK_OK(test_floats(&p, &q, &r, &x, NULL));
    CHECK_OK(gpul_copy_to_host(got, &p, NULL));
    CHECK(got[0] == 0x4000 && got[1] == 0xc000); /* 2, -2 */
    CHECK_OK(gpul_copy_to_host(got, &q, NULL));
    CHECK(got[0] == 0x4080 && got[1] == 0xc080); /* 4, -4 */
    CHECK_OK(gpul_copy_to_host(got, &r, NULL));
    CHECK(got[0] == 0x4600 && got[1] == 0xca00); /* 6, -12 */
    CHECK_OK(gpul_free_all(&x, &p, &q, &r));
    CHECK_OK(gpul_to_device(&x, ones, GPUL_F16, gpul_1d(1), NULL));
    CHECK_OK(gpul_device_array(&q, GPUL_BF16, gpul_1d(1), NULL));
    CHECK_OK(test_from_everything(&q, &x, NULL));
    CHECK_OK(gpul_copy_to_host(got, &q, NULL));
    CHECK_INT(got[0], 0x4000); /* 2, for t != u is false */
    CHECK_OK(gpul_free_all(&x, &q));
}

/* Names that a user may choose are the user's, in expressions too. */
static void test_names_of_users(void) {
    const float values[3] = {1, 2, 4};
    const double more[3] = {10, 20, 30};
    double got[3] = {0, 0, 0};
    float scaled[3] = {0, 0, 0};
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, bytes = GPUL_ZERO, f = GPUL_ZERO, d = GPUL_ZERO;
    CHECK_OK(gpul_to_device(&x, values, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_to_device(&y, more, GPUL_F64, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&bytes, GPUL_U8, gpul_1d(16), NULL));
    CHECK_OK(gpul_device_array(&f, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&d, GPUL_F64, gpul_1d(3), NULL));
    CHECK_OK(test_names(&bytes, &x, 100, 0, NULL));
    CHECK_OK(gpul_copy_to_host(got, &bytes, NULL));
    CHECK(got[0] == 2 * 307 + 5 && got[1] == 3);
    CHECK_OK(test_names_ordered(&bytes, &x, 0, NULL));
    CHECK_OK(gpul_copy_to_host(got, &bytes, NULL));
    CHECK(got[0] == 2 * 10 + 5 && got[1] == 3);
    CHECK_OK(test_scaled_C(&f, 3, &x, NULL));
    CHECK_OK(gpul_copy_to_host(scaled, &f, NULL));
    CHECK(scaled[0] == 3 && scaled[2] == 12);
    CHECK_OK(test_A_B_C(&d, &x, &x, &y, NULL));
    CHECK_OK(gpul_copy_to_host(got, &d, NULL));
    CHECK(got[0] == 11 && got[2] == 46);
    CHECK_OK(test_struct_A(&d, &y, NULL));
    CHECK_OK(gpul_copy_to_host(got, &d, NULL));
    CHECK(got[0] == 11 && got[2] == 31);
    CHECK_OK(test_Out(&f, &d, &x, &x, NULL));
    CHECK_OK(gpul_copy_to_host(scaled, &f, NULL));
    CHECK_OK(gpul_copy_to_host(got, &d, NULL));
    CHECK(scaled[2] == 0 && got[2] == 16);
    CHECK_OK(gpul_free_all(&x, &y, &bytes, &f, &d));
}

int main(void) {
    check_begin("custom");
    RUN(test_elementwise);
    RUN(test_mixed_types);
    RUN(test_far_rows);
    RUN(test_reductions);
    RUN(test_turned_in_place);
    RUN(test_bytes_between_blocks);
    RUN(test_other_types);
    RUN(test_contracts);
    RUN(test_graph);
    RUN(test_numbers);
    RUN(test_outputs);
    RUN(test_outputs_of_many);
    RUN(test_order_sizes);
    RUN(test_order_shapes);
    RUN(test_order_bits);
    RUN(test_order_plans);
    RUN(test_several_contracts);
    RUN(test_rounded);
    RUN(test_floats_of_16_bits);
    RUN(test_names_of_users);
    return check_end();
}
