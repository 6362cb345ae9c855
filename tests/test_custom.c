/* SPDX-License-Identifier: MIT GPUL_ELEMENTWISE and GPUL_REDUCE (defined in custom_kernels.cu), called from C with the
 * contracts of the built-in ones. */
#include "check.h"

gpul_status test_squared_difference(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_negate(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_mixed(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_select(gpul_array *out, const gpul_array *x, const gpul_array *y, const gpul_array *z,
                        gpul_stream stream);
gpul_status test_is_odd(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status test_axpy(gpul_array *out, double a, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_half(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);
gpul_status test_mean_square(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_sum_abs(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_l2_norm(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_or(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_largest(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status test_xor_plus_one(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);

static void test_elementwise(void) {
    for (int k = 0; k < 90; k++) {
        const int64_t rows = k < 66 ? 1 : 1 + rng_below(40), cols = k < 66 ? k : 1 + rng_below(200);
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
                "the second input = 0.5 is no int64");
    CHECK_OK(gpul_free(&out));
}

int main(void) {
    check_begin("custom");
    RUN(test_elementwise);
    RUN(test_mixed_types);
    RUN(test_reductions);
    RUN(test_other_types);
    RUN(test_contracts);
    RUN(test_graph);
    RUN(test_numbers);
    return check_end();
}
