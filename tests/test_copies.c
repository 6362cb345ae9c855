/* SPDX-License-Identifier: MIT
 * Copies between host buffers and arrays of any layout and any kind of memory; fill, get and set. */
#include "check.h"

/* Whether the plain host buffer of an array is column-major: its strides rise, dimensions of one element aside. */
static int host_is_f(const gpul_array *a) {
    int rises = 0, last = -1;
    for (int k = 0; k < a->ndim; k++) {
        if (a->shape[k] <= 1 || a->strides[k] == 0) continue;
        if (last >= 0 && a->strides[k] < a->strides[last]) return 0;
        rises += last >= 0 && a->strides[k] > a->strides[last];
        last = k;
    }
    return rises > 0;
}

/* Position of element i (row-major count) in the dense host buffer. */
static int64_t host_at(const gpul_array *a, int64_t i) {
    int64_t at = 0, step = 1, index[4];
    if (!host_is_f(a)) return i;
    for (int k = a->ndim - 1; k >= 0; k--) {
        index[k] = i % a->shape[k];
        i /= a->shape[k];
    }
    for (int k = 0; k < a->ndim; k++) {
        at += index[k] * step;
        step *= a->shape[k];
    }
    return at;
}

static void host_round_trip(gpul_dtype t, int ndim, const int64_t *shape, int layout, int64_t offset, int fill,
                            gpul_stream stream, int pinned) {
    const int64_t size = (int64_t)gpul_dtype_size(t), n = shape_product(ndim, shape);
    gpul_array pin_in = GPUL_ZERO, pin_out = GPUL_ZERO;
    unsigned char *in, *out;
    int64_t wrong = 0;
    box b;
    box_make(&b, t, ndim, shape, layout, offset, fill);
    if (pinned) {
        CHECK_OK(gpul_pinned_array(&pin_in, GPUL_U8, gpul_1d(n * size + 1)));
        CHECK_OK(gpul_pinned_array(&pin_out, GPUL_U8, gpul_1d(n * size + 1)));
        in = (unsigned char *)pin_in.data;
        out = (unsigned char *)pin_out.data;
    } else {
        in = (unsigned char *)malloc((size_t)(n * size) + 1);
        out = (unsigned char *)malloc((size_t)(n * size) + 1);
    }
    for (int64_t i = 0; i < n * size; i++) in[i] = (unsigned char)rng_u64();
    memset(out, 0xCC, (size_t)(n * size) + 1);
    CHECK_OK(gpul_copy_to_device(&b.view, in, stream));
    CHECK_OK(gpul_stream_synchronize(stream));
    BOX_GUARDS(&b);
    for (int64_t i = 0; i < n; i++)
        wrong += memcmp(b.now + box_at(&b, i), in + host_at(&b.view, i) * size, (size_t)size) != 0;
    CHECK_INT(wrong, 0);
    CHECK_OK(gpul_copy_to_host(out, &b.view, stream));
    CHECK_OK(gpul_stream_synchronize(stream));
    CHECK_BYTES(out, in, (size_t)(n * size));
    CHECK_INT(out[n * size], 0xCC);
    if (pinned) {
        CHECK_OK(gpul_free(&pin_in));
        CHECK_OK(gpul_free(&pin_out));
    } else {
        free(in);
        free(out);
    }
    box_free(&b);
}

static void test_host_copies(void) {
    gpul_stream s = NULL;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_DEFAULT));
    for (int64_t n = 0; n <= 65; n++)
        host_round_trip(all_dtypes[n % 7], 1, &n, n % 4 == 3 ? LAY_STRIDED : LAY_C, n % 3, (int)n & 1, n % 5 ? NULL : s,
                        (int)(n % 2));
    for (int k = 0; k < COUNT_OF(odd_sizes); k++)
        host_round_trip(all_dtypes[k % 7], 1, &odd_sizes[k], k % 2 ? LAY_STRIDED : LAY_C, 0, k & 1, k % 3 ? s : NULL,
                        k % 2);
    for (int k = 0; k < 160; k++) {
        const int ndim = 2 + k % 3;
        int64_t shape[4];
        for (int i = 0; i < ndim; i++) shape[i] = rng_below(15) == 0 ? 0 : 1 + rng_below(ndim == 2 ? 40 : 9);
        host_round_trip(all_dtypes[k % 7], ndim, shape, k / 3 % LAYOUTS, rng_below(2), k & 1, k / 7 % 2 ? s : NULL,
                        k / 2 % 2);
    }
    CHECK_OK(gpul_stream_destroy(&s));
}

/* A row that is repeated by a stride of 0 comes to the host row-major, as its clone does: that stride rises nowhere. */
static void test_broadcast(void) {
    static const float host[3] = {1, 2, 3}, rows[6] = {1, 2, 3, 1, 2, 3}, columns[6] = {1, 1, 2, 2, 3, 3};
    const int64_t down[2] = {0, 1}, across[2] = {1, 0};
    gpul_array a = GPUL_ZERO, view = GPUL_ZERO, clone = GPUL_ZERO;
    gpul_difference d;
    float back[6];
    CHECK_OK(gpul_to_device(&a, host, GPUL_F32, gpul_1d(3), NULL));
    for (int turned = 0; turned < 2; turned++) {
        const size_t bytes = sizeof back;
        const gpul_shape shape = turned ? gpul_2d(3, 2) : gpul_2d(2, 3);
        CHECK_OK(gpul_wrap_strided(&view, a.data, GPUL_F32, shape, turned ? across : down));
        CHECK_OK(gpul_copy_to_host(back, &view, NULL));
        CHECK_BYTES(back, turned ? columns : rows, bytes);
        CHECK_OK(gpul_clone(&clone, &view, NULL));
        CHECK_OK(gpul_copy_to_host(back, &clone, NULL));
        CHECK_BYTES(back, turned ? columns : rows, bytes);
        CHECK_OK(gpul_allclose(&d, &clone, &view, 0, 0, NULL));
        CHECK_INT(d.count, 0);
        CHECK_OK(gpul_free(&clone));
    }
    CHECK_OK(gpul_free(&a));
}

static void check_copy(box *dst, const box *src) {
    const size_t size = gpul_dtype_size(dst->view.dtype);
    int64_t wrong = 0;
    BOX_GUARDS(dst);
    for (int64_t i = 0; i < dst->n; i++)
        wrong += memcmp(dst->now + box_at(dst, i), src->image + box_at(src, i), size) != 0;
    CHECK_INT(wrong, 0);
}

static void test_array_copies(void) { /* every pair of layouts and of memory kinds */
    static const int kinds[4] = {GPUL_MEMORY_DEVICE, GPUL_MEMORY_PINNED, GPUL_MEMORY_MAPPED, GPUL_MEMORY_MANAGED};
    gpul_device info;
    gpul_stream s = NULL;
    CHECK_OK(gpul_device_info(&info, 0));
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_DEFAULT));
    for (int k = 0; k < LAYOUTS * LAYOUTS * 16; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        const int ndim = 1 + k / 5 % 4, to = kinds[k % 4], from = kinds[k / 4 % 4];
        const gpul_stream stream = k / 3 % 2 ? s : NULL;
        int64_t shape[4], ss[4] = {0, 0, 0, 0}, ds[4] = {0, 0, 0, 0};
        box src, dst;
        if (!info.has_managed && (to == GPUL_MEMORY_MANAGED || from == GPUL_MEMORY_MANAGED)) continue;
        for (int i = 0; i < ndim; i++)
            shape[i] = rng_below(20) == 0 ? 0 : 1 + rng_below(ndim == 1 ? 200 : ndim == 2 ? 40 : 7);
        lay_strides(ss, ndim, shape, k / 16 % LAYOUTS);
        lay_strides(ds, ndim, shape, k / 16 / LAYOUTS);
        box_make_strided(&src, from, t, ndim, shape, ss, rng_below(3), k & 1);
        box_make_strided(&dst, to, t, ndim, shape, ds, rng_below(3), k / 2 & 1);
        box_random(&src, 0);
        CHECK_OK(gpul_copy(&dst.view, &src.view, stream));
        CHECK_OK(gpul_stream_synchronize(stream));
        check_copy(&dst, &src);
        BOX_UNCHANGED(&src);
        box_free(&src);
        box_free(&dst);
    }
    CHECK_OK(gpul_stream_destroy(&s));
}

static void test_pinned_in_place(void) { /* memory of the caller's, page-locked */
    int32_t *host = (int32_t *)malloc(1000 * 4);
    gpul_array w = GPUL_ZERO, d = GPUL_ZERO, odd = GPUL_ZERO, dodd = GPUL_ZERO;
    for (int i = 0; i < 1000; i++) host[i] = i;
    CHECK_OK(gpul_pin(host, 4000));
    CHECK_OK(gpul_wrap(&w, host, GPUL_I32, gpul_1d(1000)));
    CHECK_OK(gpul_device_array(&d, GPUL_I32, gpul_1d(1000), NULL));
    CHECK_OK(gpul_copy(&d, &w, NULL));
    CHECK_OK(gpul_vecadd(&d, &d, &w, NULL));
    CHECK_OK(gpul_slice(&odd, &w, 0, 1, 1000, 2));
    CHECK_OK(gpul_slice(&dodd, &d, 0, 1, 1000, 2));
    CHECK_OK(gpul_copy(&odd, &dodd, NULL)); /* NULL stream and host memory: done on return */
    for (int i = 0; i < 1000; i++)
        if (host[i] != (i % 2 ? 2 * i : i)) {
            FAIL("element %d is %d", i, host[i]);
            break;
        }
    CHECK_OK(gpul_unpin(host));
    CHECK_OK(gpul_free(&d));
    free(host);
}

static void test_lazy_streams(void) { /* enqueued copies see their order, and pageable buffers may be reused at once */
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, p = GPUL_ZERO;
    int32_t host[256], back[256];
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    for (int i = 0; i < 256; i++) host[i] = i;
    CHECK_OK(gpul_to_device(&a, host, GPUL_I32, gpul_1d(256), s));
    memset(host, 0, sizeof host);
    CHECK_OK(gpul_device_array_like(&b, &a, s));
    CHECK_OK(gpul_copy(&b, &a, s));
    for (int i = 0; i < 256; i++) host[i] = 1000 + i;
    CHECK_OK(gpul_copy_to_device(&a, host, s));
    memset(host, 0, sizeof host);
    CHECK_OK(gpul_vecadd(&b, &a, &b, s));
    CHECK_OK(gpul_pinned_array(&p, GPUL_I32, gpul_1d(256)));
    CHECK_OK(gpul_copy_to_host(p.data, &b, s));
    CHECK_OK(gpul_copy_to_host(back, &a, s));
    CHECK_OK(gpul_stream_synchronize(s));
    for (int i = 0; i < 256; i++)
        if (((int32_t *)p.data)[i] != 1000 + 2 * i || back[i] != 1000 + i) {
            FAIL("element %d is %d, %d", i, ((int32_t *)p.data)[i], back[i]);
            break;
        }
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_free(&p));
    CHECK_OK(gpul_stream_destroy(&s));
}

#ifdef GPULITE_CPU_STANDIN
/* Strided elements of another device are gathered there, after what the stream holds, whichever stream runs first. */
static void test_across(void) {
    gpul_stream s = NULL, there = NULL;
    gpul_array near = GPUL_ZERO, whole = GPUL_ZERO, far = GPUL_ZERO;
    double sum = 0;
    standin_devices(2);
    standin_order(STANDIN_REVERSE);
    CHECK_OK(gpul_zeros(&near, GPUL_F32, gpul_2d(30, 40), NULL));
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_device_select(1));
    CHECK_OK(gpul_zeros(&whole, GPUL_F32, gpul_2d(30, 80), NULL));
    CHECK_OK(gpul_slice(&far, &whole, 1, 0, 80, 2));
    CHECK_OK(gpul_stream_create(&there, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_fill(&far, 1, there));
    CHECK_OK(gpul_stream_wait(s, there));
    CHECK_OK(gpul_device_select(0));
    CHECK_OK(gpul_copy(&near, &far, s));
    CHECK_OK(gpul_sum(&sum, &near, s));
    CHECK_NEAR(sum, 1200, 0);
    CHECK_OK(gpul_free_all(&near, &whole));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_OK(gpul_stream_destroy(&there));
    standin_reset();
}
#endif

static void test_copy_errors(void) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, f = GPUL_ZERO, v = GPUL_ZERO, zero = GPUL_ZERO, e = GPUL_ZERO;
    float host[12];
    for (int i = 0; i < 12; i++) host[i] = (float)i;
    CHECK_OK(gpul_to_device(&a, host, GPUL_F32, gpul_2d(3, 4), NULL));
    CHECK_OK(gpul_device_array(&b, GPUL_F32, gpul_2d(4, 3), NULL));
    CHECK_OK(gpul_device_array(&f, GPUL_I32, gpul_2d(3, 4), NULL));
    CHECK_FAILS(gpul_copy(NULL, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy", "dst");
    CHECK_FAILS(gpul_copy(&a, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy", "src");
    CHECK_FAILS(gpul_copy(&zero, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy", "dst");
    CHECK_FAILS(gpul_copy(&a, &zero, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy", "src");
    CHECK_FAILS(gpul_copy(&b, &a, NULL), GPUL_ERROR_SHAPE, "gpul_copy", "(3, 4)");
    CHECK_FAILS(gpul_copy(&f, &a, NULL), GPUL_ERROR_DTYPE, "gpul_copy", "float32");
    CHECK_FAILS(gpul_copy(&a, &a, NULL), GPUL_ERROR_OVERLAP, "gpul_copy", NULL);
    CHECK_OK(gpul_reshape(&v, &a, gpul_1d(12)));
    {
        gpul_array x = GPUL_ZERO, y = GPUL_ZERO;
        CHECK_OK(gpul_slice(&x, &v, 0, 0, 6, 1));
        CHECK_OK(gpul_slice(&y, &v, 0, 5, 11, 1));
        CHECK_FAILS(gpul_copy(&x, &y, NULL), GPUL_ERROR_OVERLAP, "gpul_copy", NULL);
        CHECK_OK(gpul_slice(&y, &v, 0, 6, 12, 1));
        CHECK_OK(gpul_copy(&x, &y, NULL));
        CHECK_OK(gpul_slice(&x, &v, 0, 0, 12, 2));
        CHECK_OK(gpul_slice(&y, &v, 0, 1, 12, 2));
        CHECK_OK(gpul_copy(&x, &y, NULL));
    }
    CHECK_FAILS(gpul_copy_to_device(NULL, host, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_device", "dst");
    CHECK_FAILS(gpul_copy_to_device(&zero, host, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_device", "dst");
    CHECK_FAILS(gpul_copy_to_device(&a, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_device", "host");
    CHECK_FAILS(gpul_copy_to_host(NULL, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_host", "host");
    CHECK_FAILS(gpul_copy_to_host(host, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_host", "src");
    CHECK_FAILS(gpul_copy_to_host(host, &zero, NULL), GPUL_ERROR_ARGUMENT, "gpul_copy_to_host", "src");
    CHECK_OK(gpul_device_array(&e, GPUL_F32, gpul_2d(3, 0), NULL));
    CHECK_OK(gpul_copy_to_host(NULL, &e, NULL));
    CHECK_OK(gpul_copy_to_device(&e, NULL, NULL));
    CHECK_OK(gpul_fill(&e, 3, NULL));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_free(&f));
    CHECK_OK(gpul_free(&e));
}

static void test_fill(void) {
    static const double floats[] = {0, -0.0, 1, -1.5, 1.0 / 3, 65504, 1e-7, 1e300, -INFINITY, INFINITY};
    for (int k = 0; k < 7 * LAYOUTS * 4; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        const int ndim = 1 + k / 7 % 4;
        int64_t shape[4], wrong = 0;
        const double value = t == GPUL_U8 ? 255 : is_float(t) ? floats[k / 7 % COUNT_OF(floats)] : -12345;
        num want = num_of(value);
        unsigned char text[8];
        box b;
        for (int i = 0; i < ndim; i++) shape[i] = 1 + rng_below(ndim == 1 ? 1000 : 12);
        box_make(&b, t, ndim, shape, k / 28, k % 2, k / 2 & 1);
        num_store(t, text, want);
        want = num_load(t, text);
        CHECK_OK(gpul_fill(&b.view, value, NULL));
        BOX_GUARDS(&b);
        for (int64_t i = 0; i < b.n; i++) wrong += !num_same(t, box_got(&b, i), want);
        CHECK_INT(wrong, 0);
        box_free(&b);
    }
    {
        static const struct {
            gpul_dtype t;
            double v;
            int good;
        } cases[] = {{GPUL_U8, 256, 0},
                     {GPUL_U8, -1, 0},
                     {GPUL_U8, 0.5, 0},
                     {GPUL_U8, NAN, 0},
                     {GPUL_U8, -0.0, 1},
                     {GPUL_I32, 2147483648.0, 0},
                     {GPUL_I32, 2147483647.0, 1},
                     {GPUL_I32, -2147483648.0, 1},
                     {GPUL_I32, -2147483649.0, 0},
                     {GPUL_I64, 0x1p63, 0},
                     {GPUL_I64, -0x1p63, 1},
                     {GPUL_I64, INFINITY, 0},
                     {GPUL_I64, 0x1.8p62, 1}};
        for (int i = 0; i < COUNT_OF(cases); i++) {
            gpul_array a = GPUL_ZERO;
            int64_t before = 0x1234567812345678, got[1] = {0};
            CHECK_OK(gpul_to_device(&a, &before, cases[i].t, gpul_1d(1), NULL));
            if (cases[i].good) {
                unsigned char text[8];
                num v;
                v.f = 0;
                v.i = (int64_t)cases[i].v;
                num_store(cases[i].t, text, v);
                CHECK_OK(gpul_fill(&a, cases[i].v, NULL));
                CHECK_OK(gpul_copy_to_host(got, &a, NULL));
                CHECK_BYTES(got, text, gpul_dtype_size(cases[i].t));
            } else {
                CHECK_FAILS(gpul_fill(&a, cases[i].v, NULL), GPUL_ERROR_ARGUMENT, "gpul_fill", "value");
                CHECK_OK(gpul_copy_to_host(got, &a, NULL));
                CHECK_BYTES(got, &before, gpul_dtype_size(cases[i].t));
            }
            CHECK_OK(gpul_free(&a));
        }
    }
    {
        gpul_array zero = GPUL_ZERO, a = GPUL_ZERO;
        float x = 0;
        CHECK_FAILS(gpul_fill(NULL, 1, NULL), GPUL_ERROR_ARGUMENT, "gpul_fill", "a");
        CHECK_FAILS(gpul_fill(&zero, 1, NULL), GPUL_ERROR_ARGUMENT, "gpul_fill", "a");
        CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_0d(), NULL));
        CHECK_OK(gpul_fill(&a, NAN, NULL));
        CHECK_OK(gpul_get(&x, &a, NULL, NULL));
        CHECK(x != x);
        CHECK_OK(gpul_free(&a));
    }
}

static void test_get_set(void) {
    static const int kinds[4] = {GPUL_MEMORY_DEVICE, GPUL_MEMORY_PINNED, GPUL_MEMORY_MAPPED, GPUL_MEMORY_MANAGED};
    gpul_stream s = NULL;
    gpul_device info;
    CHECK_OK(gpul_device_info(&info, 0));
    CHECK_OK(gpul_stream_create(&s, 0));
    for (int k = 0; k < 7 * LAYOUTS; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        const int kind = kinds[info.has_managed ? k / 7 % 4 : k / 7 % 3];
        const int64_t shape[3] = {3, 4, 5};
        int64_t strides[4] = {0, 0, 0, 0};
        box b;
        lay_strides(strides, 3, shape, k / 7);
        box_make_strided(&b, kind, t, 3, shape, strides, k % 2, k & 1);
        box_random(&b, 0);
        for (int j = 0; j < 8; j++) {
            const int64_t i = rng_below(60);
            unsigned char got[8], set[8];
            int64_t index[3];
            index[0] = i / 20;
            index[1] = i / 5 % 4;
            index[2] = i % 5;
            for (int d = 0; d < 3; d++) index[d] -= rng_below(2) ? shape[d] : 0; /* negative ones from the end */
            CHECK_OK(gpul_get(got, &b.view, index, j % 2 ? s : NULL));
            CHECK_BYTES(got, b.image + box_at(&b, i), gpul_dtype_size(t));
            num_store(t, set, num_random(t, 0));
            CHECK_OK(gpul_set(&b.view, index, set, j % 2 ? s : NULL));
            memcpy(b.image + box_at(&b, i), set, gpul_dtype_size(t));
        }
        BOX_UNCHANGED(&b);
        box_free(&b);
    }
    {
        gpul_array a = GPUL_ZERO, zero = GPUL_ZERO;
        const float host[6] = {0, 1, 2, 3, 4, 5};
        float v = -1;
        int64_t index[2] = {1, 2}, bad[2] = {2, 0}, negative[2] = {0, -4};
        CHECK_OK(gpul_to_device(&a, host, GPUL_F32, gpul_2d(2, 3), NULL));
        CHECK_FAILS(gpul_get(NULL, &a, index, NULL), GPUL_ERROR_ARGUMENT, "gpul_get", "value");
        CHECK_FAILS(gpul_get(&v, NULL, index, NULL), GPUL_ERROR_ARGUMENT, "gpul_get", "a");
        CHECK_FAILS(gpul_get(&v, &zero, index, NULL), GPUL_ERROR_ARGUMENT, "gpul_get", "a");
        CHECK_FAILS(gpul_get(&v, &a, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_get", "index");
        CHECK_FAILS(gpul_get(&v, &a, bad, NULL), GPUL_ERROR_ARGUMENT, "gpul_get", "index");
        CHECK_FAILS(gpul_get(&v, &a, negative, NULL), GPUL_ERROR_ARGUMENT, "gpul_get", "index[1] = -4");
        CHECK_FAILS(gpul_set(NULL, index, &v, NULL), GPUL_ERROR_ARGUMENT, "gpul_set", "a");
        CHECK_FAILS(gpul_set(&zero, index, &v, NULL), GPUL_ERROR_ARGUMENT, "gpul_set", "a");
        CHECK_FAILS(gpul_set(&a, NULL, &v, NULL), GPUL_ERROR_ARGUMENT, "gpul_set", "index");
        CHECK_FAILS(gpul_set(&a, bad, &v, NULL), GPUL_ERROR_ARGUMENT, "gpul_set", "index");
        CHECK_FAILS(gpul_set(&a, index, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_set", "value");
        CHECK_NEAR(v, -1, 0);
        CHECK_OK(gpul_get(&v, &a, index, NULL));
        CHECK_NEAR(v, 5, 0);
        CHECK_OK(gpul_free(&a));
    }
    CHECK_OK(gpul_stream_destroy(&s));
}

int main(void) {
    check_begin("copies");
    RUN(test_host_copies);
    RUN(test_broadcast);
    RUN(test_array_copies);
    RUN(test_pinned_in_place);
    RUN(test_lazy_streams);
    RUN(test_copy_errors);
    RUN(test_fill);
    RUN(test_get_set);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_across); /* last: the library goes on to know the second device */
#endif
    return check_end();
}
