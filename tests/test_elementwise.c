/* SPDX-License-Identifier: MIT
 * gpul_vecadd and gpul_vecmul: every dtype, size, layout and broadcast, against plain C. */
#define GPULITE__KERNELS /* the plans, which are private */
#include "check.h"

typedef gpul_status (*operation)(gpul_array *, const gpul_array *, const gpul_array *, gpul_stream);

/* One rounding: every sum and product of two f16, bf16 or f32 is exact in double up to a rounding that is harmless. */
static num reference(gpul_dtype t, int mul, num a, num b) {
    unsigned char text[8];
    num v = {0, 0};
    if (!is_float(t)) {
        v.i = (int64_t)(mul ? (uint64_t)a.i * (uint64_t)b.i : (uint64_t)a.i + (uint64_t)b.i);
    } else {
        volatile double x = a.f, y = b.f, z = mul ? x * y : x + y;
        v.f = z;
    }
    num_store(t, text, v);
    return num_load(t, text);
}

static int compare(box *out, const box *a, const box *b, int mul, const char *file, int line) {
    const gpul_dtype t = out->view.dtype;
    for (int64_t i = 0; i < out->n; i++) {
        const num x = box_get(a, broadcast_index(a, out, i)), y = box_get(b, broadcast_index(b, out, i));
        const num want = reference(t, mul, x, y), got = box_got(out, i);
        if (!num_same(t, got, want))
            return check_fail(file, line, "%s %s: element %lld of %lld is %.17g / %lld, wanted %.17g / %lld",
                              gpul_dtype_name(t), mul ? "mul" : "add", (long long)i, (long long)out->n, got.f,
                              (long long)got.i, want.f, (long long)want.i);
    }
    return check_pass();
}

/* out = a + b, or a * b, of random elements, which only `out` may show; frees the three. */
static void one_result(box *out, box *a, box *b, int mul) {
    box_random(a, 0);
    box_random(b, 0);
    CHECK_OK((mul ? gpul_vecmul : gpul_vecadd)(&out->view, &a->view, &b->view, NULL));
    CHECK_OK(gpul_stream_synchronize(NULL)); /* some memory is the host's as well */
    BOX_GUARDS(out);
    compare(out, a, b, mul, __FILE__, __LINE__);
    BOX_UNCHANGED(a);
    BOX_UNCHANGED(b);
    box_free(out);
    box_free(a);
    box_free(b);
}

static void one_case(gpul_dtype t, int mul, int64_t n, int64_t out_offset, int64_t a_offset, int64_t b_offset,
                     int fill) {
    box out, a, b;
    box_1d(&out, t, n, out_offset, fill);
    box_1d(&a, t, n, a_offset, fill);
    box_1d(&b, t, n, b_offset, fill);
    one_result(&out, &a, &b, mul);
}

static void test_sizes(void) {
    for (int d = 0; d < 7; d++) {
        for (int64_t n = 0; n <= 65; n++)
            one_case(all_dtypes[d], (int)(n + d) & 1, n, n % 3 == 1, n % 5 == 2, n % 7 == 3, (int)(n / 2) & 1);
        for (int k = 0; k < COUNT_OF(odd_sizes); k++)
            if (odd_sizes[k] < 5000 || d < 2) one_case(all_dtypes[d], (k + d) & 1, odd_sizes[k], 0, 0, 0, (k / 2) & 1);
    }
}

static void test_offsets(void) { /* every combination of alignments to 16 bytes, at lengths that end anywhere */
    for (int d = 0; d < 7; d++)
        for (int o = 0; o < 27; o++) one_case(all_dtypes[d], o & 1, 1000 + o, o % 3, o / 3 % 3, o / 9, o / 2 & 1);
}

static void test_shapes(void) { /* random shapes, layouts and broadcasts */
    for (int k = 0; k < 500; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        const int mul = k / 7 & 1, ndim = 1 + (int)rng_below(4), fill = (int)rng_below(2);
        if (left_out(k)) continue;
        int64_t shape[4], sa[4], sb[4];
        int na, nb;
        box out, a, b;
        for (int i = 0; i < ndim; i++)
            shape[i] = rng_below(12) == 0 ? 0 : 1 + rng_below(ndim == 1 ? 300 : ndim == 2 ? 40 : 9);
        /* more than a tile: wide rows, and several tiles to turn with more behind them */
        if (ndim == 2 && k % 5 == 0) shape[0] = 1 + rng_below(3), shape[1] = 2000 + rng_below(4000);
        if (ndim == 3 && k % 5 == 0) {
            const int few = (int)rng_below(2);
            for (int i = 0; i < 3; i++) shape[i] = i == few ? 2 + rng_below(2) : 33 + rng_below(60);
        }
        na = rng_below(3) == 0 ? (int)rng_below(ndim + 1) : ndim;
        nb = rng_below(3) == 0 ? (int)rng_below(ndim + 1) : ndim;
        for (int i = 0; i < na; i++) sa[i] = rng_below(4) == 0 ? 1 : shape[ndim - na + i];
        for (int i = 0; i < nb; i++) sb[i] = rng_below(4) == 0 ? 1 : shape[ndim - nb + i];
        box_make(&out, t, ndim, shape, (int)rng_below(LAYOUTS), rng_below(2), fill);
        box_make(&a, t, na, sa, (int)rng_below(LAYOUTS), rng_below(2), fill);
        box_make(&b, t, nb, sb, (int)rng_below(LAYOUTS), rng_below(2), fill);
        one_result(&out, &a, &b, mul);
    }
}

static void test_layout_pairs(void) { /* every pair of layouts of a matrix and of a 3-D array, one dtype a size */
    static const gpul_dtype types[4] = {GPUL_F32, GPUL_F64, GPUL_U8, GPUL_BF16};
    for (int d = 0; d < 4; d++)
        for (int lo = 0; lo < LAYOUTS; lo++)
            for (int la = 0; la < LAYOUTS; la++)
                for (int nd = 2; nd <= 3; nd++) {
                    static const int64_t shape2[2] = {19, 37}, shape3[3] = {5, 7, 11};
                    box out, a, b;
                    box_make(&out, types[d], nd, nd == 2 ? shape2 : shape3, lo, la & 1, lo & 1);
                    box_make(&a, types[d], nd, nd == 2 ? shape2 : shape3, la, lo & 1, la & 1);
                    box_make(&b, types[d], nd, nd == 2 ? shape2 : shape3, (lo + la) % LAYOUTS, 0, 0);
                    one_result(&out, &a, &b, 0);
                }
}

static void test_special_values(void) { /* any bits: NaN, infinities, subnormals, signed zeros */
    static const gpul_dtype types[4] = {GPUL_F32, GPUL_F64, GPUL_F16, GPUL_BF16};
    static const double values[] = {0.0,
                                    -0.0,
                                    1,
                                    -1,
                                    0x1p-126,
                                    0x1p-149,
                                    -0x1p-149,
                                    0x1.8p-130,
                                    0x1.fffffep127,
                                    -0x1p127,
                                    0x1p-1074,
                                    0x1p-1022,
                                    0x1.fffffffffffffp1023,
                                    65504,
                                    6e-8,
                                    0x1p-14,
                                    0x1p-24,
                                    0x1p-133,
                                    3,
                                    1.0 / 3,
                                    0x1.000002p0,
                                    0x1p-23,
                                    0x1p-24,
                                    2049,
                                    257};
    for (int d = 0; d < 4; d++)
        for (int mul = 0; mul < 2; mul++) {
            const int64_t side = COUNT_OF(values) + 3;
            const int64_t row[1] = {side}, column[2] = {side, 1};
            box out, a, b;
            box_2d(&out, types[d], side, side, LAY_C, 0, FILL_GARBAGE);
            box_make(&a, types[d], 1, row, LAY_C, 0, FILL_NAN);
            box_make(&b, types[d], 2, column, LAY_C, 0, FILL_NAN);
            for (int64_t i = 0; i < side; i++) {
                const double v = i < COUNT_OF(values) ? values[i]
                                 : i == side - 1      ? NAN
                                 : i == side - 2      ? INFINITY
                                                      : -INFINITY;
                box_put(&a, i, num_of(v));
                box_put(&b, i, num_of(v));
            }
            box_upload(&a);
            box_upload(&b);
            CHECK_OK((mul ? gpul_vecmul : gpul_vecadd)(&out.view, &a.view, &b.view, NULL));
            BOX_GUARDS(&out);
            compare(&out, &a, &b, mul, __FILE__, __LINE__);
            box_free(&out);
            box_free(&a);
            box_free(&b);
        }
}

static void test_in_place(void) {
    for (int d = 0; d < 7; d++)
        for (int how = 0; how < 3; how++) {
            const gpul_dtype t = all_dtypes[d];
            box a, b, before;
            box_2d(&a, t, 13, 29, how, 1, FILL_NAN);
            box_2d(&b, t, 13, 29, LAY_F, 0, FILL_NAN);
            box_2d(&before, t, 13, 29, how, 1, FILL_NAN);
            box_random(&a, 0);
            box_random(&b, 0);
            memcpy(before.image, a.image, (size_t)a.bytes);
            CHECK_OK(gpul_vecadd(&a.view, how == 1 ? &b.view : &a.view, how == 0 ? &b.view : &a.view, NULL));
            BOX_GUARDS(&a);
            compare(&a, how == 1 ? &b : &before, how == 0 ? &b : &before, 0, __FILE__, __LINE__);
            box_free(&a);
            box_free(&b);
            box_free(&before);
        }
}

static void test_overlap(void) {
    gpul_array m = GPUL_ZERO, left = GPUL_ZERO, right = GPUL_ZERO, up = GPUL_ZERO, row = GPUL_ZERO, t = GPUL_ZERO;
    float host[64], back[64];
    for (int i = 0; i < 64; i++) host[i] = (float)i;
    CHECK_OK(gpul_to_device(&m, host, GPUL_F32, gpul_2d(8, 8), NULL));
    CHECK_OK(gpul_slice(&left, &m, 1, 0, 7, 1));
    CHECK_OK(gpul_slice(&right, &m, 1, 1, 8, 1));
    CHECK_FAILS(gpul_vecadd(&left, &right, &right, NULL), GPUL_ERROR_OVERLAP, "gpul_vecadd", "out");
    CHECK_FAILS(gpul_vecmul(&left, &left, &right, NULL), GPUL_ERROR_OVERLAP, "gpul_vecmul", "b");
    CHECK_OK(gpul_transpose(&t, &m));
    CHECK_FAILS(gpul_vecadd(&m, &t, &m, NULL), GPUL_ERROR_OVERLAP, "gpul_vecadd", "a");
    CHECK_OK(gpul_index(&row, &m, 0, 3)); /* broadcasting one's own row over oneself */
    CHECK_FAILS(gpul_vecadd(&m, &m, &row, NULL), GPUL_ERROR_OVERLAP, "gpul_vecadd", "b");
    CHECK_OK(gpul_copy_to_host(back, &m, NULL));
    CHECK_BYTES(back, host, sizeof host);
    /* disjoint though interleaved: columns 0, 2, 4, 6 and 1, 3, 5, 7 */
    CHECK_OK(gpul_slice(&left, &m, 1, 0, 8, 2));
    CHECK_OK(gpul_slice(&right, &m, 1, 1, 8, 2));
    CHECK_OK(gpul_vecadd(&left, &right, &left, NULL));
    CHECK_OK(gpul_slice(&up, &m, 0, 0, 1, 1)); /* row 0 from row 3: shares no byte */
    CHECK_OK(gpul_vecadd(&up, &row, &row, NULL));
    CHECK_OK(gpul_copy_to_host(back, &m, NULL));
    for (int i = 0; i < 64; i++) {
        float want = i % 2 ? host[i] : host[i] + host[i + 1];
        if (i < 8) want = 2 * (i % 2 ? host[24 + i] : host[24 + i] + host[25 + i]);
        CHECK_NEAR(back[i], want, 0);
    }
    CHECK_OK(gpul_free(&m));
}

static void test_overlap_of_dtypes(void) { /* one memory as two dtypes, and vectors that share one byte */
    gpul_array a = GPUL_ZERO, d = GPUL_ZERO, f = GPUL_ZERO, u = GPUL_ZERO, v = GPUL_ZERO;
    CHECK_OK(gpul_zeros(&a, GPUL_F64, gpul_1d(1000), NULL));
    CHECK_OK(gpul_wrap(&d, a.data, GPUL_F64, gpul_1d(100)));
    for (int at = 0; at <= 400; at += 400) { /* 400: behind the last byte that 100 floats would have */
        CHECK_OK(gpul_wrap(&f, (char *)a.data + at, GPUL_F32, gpul_1d(100)));
        CHECK_FAILS(gpul_convert(&f, &d, NULL), GPUL_ERROR_OVERLAP, "gpul_convert", "overlaps x");
        CHECK_FAILS(gpul_convert(&d, &f, NULL), GPUL_ERROR_OVERLAP, "gpul_convert", "overlaps x");
    }
    CHECK_OK(gpul_wrap(&u, a.data, GPUL_U8, gpul_1d(100)));
    CHECK_OK(gpul_wrap(&v, (char *)a.data + 99, GPUL_U8, gpul_1d(100)));
    CHECK_FAILS(gpul_vecadd(&v, &u, &u, NULL), GPUL_ERROR_OVERLAP, "gpul_vecadd", "overlaps a");
    CHECK_FAILS(gpul_vecadd(&u, &v, &v, NULL), GPUL_ERROR_OVERLAP, "gpul_vecadd", "overlaps a");
    CHECK_OK(gpul_wrap(&v, (char *)a.data + 100, GPUL_U8, gpul_1d(100)));
    CHECK_OK(gpul_vecadd(&v, &u, &u, NULL));
    CHECK_OK(gpul_vecadd(&u, &v, &v, NULL));
    CHECK_OK(gpul_free(&a));
}

static void test_dtypes(void) { /* the odd one of the three is named, with what it should be and why */
    gpul_array f = GPUL_ZERO, g = GPUL_ZERO, i = GPUL_ZERO;
    CHECK_OK(gpul_device_array(&f, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&g, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&i, GPUL_I32, gpul_1d(3), NULL));
    CHECK_FAILS(gpul_vecadd(&i, &f, &g, NULL), GPUL_ERROR_DTYPE, "gpul_vecadd",
                ": out is int32, but a is float32 and b is float32: nothing is converted");
    CHECK_FAILS(gpul_vecadd(&f, &i, &g, NULL), GPUL_ERROR_DTYPE, "gpul_vecadd", ": a is int32, but out is float32");
    CHECK_FAILS(gpul_vecmul(&f, &g, &i, NULL), GPUL_ERROR_DTYPE, "gpul_vecmul", ": b is int32, but out is float32");
    CHECK_OK(gpul_free(&f));
    CHECK_OK(gpul_free(&g));
    CHECK_OK(gpul_free(&i));
}

static void test_scalars_and_empty(void) {
    gpul_array out = GPUL_ZERO, a = GPUL_ZERO, e = GPUL_ZERO, e2 = GPUL_ZERO;
    const double two = 2, three = 3;
    double got = 0;
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_0d(), NULL));
    CHECK_OK(gpul_to_device(&a, &two, GPUL_F64, gpul_0d(), NULL));
    CHECK_INT(gpul_size(&a), 1);
    CHECK_OK(gpul_set(&a, NULL, &three, NULL));
    CHECK_OK(gpul_vecmul(&out, &a, &a, NULL));
    CHECK_OK(gpul_copy_to_host(&got, &out, NULL));
    CHECK_NEAR(got, 9, 0);
    CHECK_OK(gpul_device_array(&e, GPUL_F64, gpul_2d(0, 5), NULL));
    CHECK_OK(gpul_device_array(&e2, GPUL_F64, gpul_2d(0, 1), NULL));
    CHECK(e.data == NULL);
    CHECK_OK(gpul_vecadd(&e, &e2, &a, NULL));
    CHECK_OK(gpul_vecadd(&e, &e, &e, NULL));
    CHECK_FAILS(gpul_vecadd(&out, &e, &a, NULL), GPUL_ERROR_SHAPE, "gpul_vecadd", "a");
    CHECK_OK(gpul_free(&e));
    CHECK_OK(gpul_free(&e2));
    CHECK_OK(gpul_free(&out));
    CHECK_OK(gpul_free(&a));
}

static void test_memory_kinds(void) {
    static const int kinds[4] = {GPUL_MEMORY_DEVICE, GPUL_MEMORY_PINNED, GPUL_MEMORY_MAPPED, GPUL_MEMORY_MANAGED};
    gpul_device info;
    CHECK_OK(gpul_device_info(&info, 0));
    for (int k = 0; k < 64; k++) {
        static const int64_t shape[1] = {77}, strides[1] = {1};
        box out, a, b;
        if (!info.has_managed && (kinds[k & 3] == GPUL_MEMORY_MANAGED || kinds[k / 4 & 3] == GPUL_MEMORY_MANAGED ||
                                  kinds[k / 16] == GPUL_MEMORY_MANAGED))
            continue;
        box_make_strided(&out, kinds[k & 3], GPUL_F32, 1, shape, strides, 0, FILL_NAN);
        box_make_strided(&a, kinds[k / 4 & 3], GPUL_F32, 1, shape, strides, 0, FILL_NAN);
        box_make_strided(&b, kinds[k / 16], GPUL_F32, 1, shape, strides, 1, FILL_NAN);
        one_result(&out, &a, &b, 0);
    }
}

static void test_zero_strides(void) { /* an input wrapped with stride 0 is a broadcast of its own making */
    gpul_array cell = GPUL_ZERO, wide = GPUL_ZERO, out = GPUL_ZERO;
    const int64_t strides[2] = {0, 1};
    const int32_t host[3] = {1, -2, 3};
    int32_t back[12];
    CHECK_OK(gpul_to_device(&cell, host, GPUL_I32, gpul_1d(3), NULL));
    CHECK_OK(gpul_wrap_strided(&wide, cell.data, GPUL_I32, gpul_2d(4, 3), strides));
    CHECK_OK(gpul_device_array(&out, GPUL_I32, gpul_2d(4, 3), NULL));
    CHECK_OK(gpul_vecadd(&out, &wide, &wide, NULL));
    CHECK_OK(gpul_copy_to_host(back, &out, NULL));
    for (int i = 0; i < 12; i++) CHECK_INT(back[i], 2 * host[i % 3]);
    CHECK_OK(gpul_free(&cell));
    CHECK_OK(gpul_free(&out));
}

/* On a GPU of compute capability 9.0, operands that go through shared memory in tiles, the last of which is not full;
 * on the stand-in as many elements as it does in no time. */
static void test_tiles(void) {
#ifdef GPULITE_CPU_STANDIN
    const int64_t bytes = 1 << 18;
#else
    const int64_t bytes = 1 << 27;
#endif
    static const gpul_dtype dtypes[] = {GPUL_F32, GPUL_F64, GPUL_I32};
    for (int d = 0; d < COUNT_OF(dtypes); d++) {
        const gpul_dtype t = dtypes[d];
        const int64_t size = (int64_t)gpul_dtype_size(t), n = bytes / size + 1003 + d;
        unsigned char *const x = (unsigned char *)malloc((size_t)(3 * n * size)), *const y = x + n * size,
                             *const got = y + n * size;
        gpul_array a = GPUL_ZERO, b = GPUL_ZERO, out = GPUL_ZERO;
        int64_t wrong[2] = {0, 0};
        for (int64_t i = 0; i < n; i++) {
            num_store(t, x + i * size, num_random(t, 0));
            num_store(t, y + i * size, num_random(t, 0));
        }
        CHECK_OK(gpul_to_device(&a, x, t, gpul_1d(n), NULL));
        CHECK_OK(gpul_to_device(&b, y, t, gpul_1d(n), NULL));
        CHECK_OK(gpul_device_array_like(&out, &a, NULL));
        CHECK_OK(gpul_fill(&out, 77, NULL));
        CHECK_OK(gpul_vecadd(&out, &a, &b, NULL));
        CHECK_OK(gpul_vecmul(&a, &a, &b, NULL)); /* in place */
        for (int mul = 0; mul < 2; mul++) {
            CHECK_OK(gpul_copy_to_host(got, mul ? &a : &out, NULL));
            for (int64_t i = 0; i < n; i++) {
                unsigned char want[8];
                num_store(t, want, reference(t, mul, num_load(t, x + i * size), num_load(t, y + i * size)));
                wrong[mul] += memcmp(want, got + i * size, (size_t)size) != 0;
            }
            CHECK_INT(wrong[mul], 0);
        }
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_free(&b));
        CHECK_OK(gpul_free(&out));
        free(x);
    }
}

static void test_large(void) {
    const int64_t n = (int64_t)1 << (large_tests() ? 24 : 18);
    float *x = (float *)malloc((size_t)n * 4), *y = (float *)malloc((size_t)n * 4);
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO;
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i * 7 % 1000003);
    CHECK_OK(gpul_to_device(&a, x, GPUL_F32, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array_like(&b, &a, NULL));
    CHECK_OK(gpul_vecmul(&b, &a, &a, NULL));
    CHECK_OK(gpul_copy_to_host(y, &b, NULL));
    for (int64_t i = 0; i < n; i++) wrong += !(y[i] == x[i] * x[i]);
    CHECK_INT(wrong, 0);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&b));
    free(x);
    free(y);
}

/* A layout of every operand in some order of the dimensions, with or without gaps, or broadcast; out's in theirs. */
static void random_problem(gpul__elementwise_problem *p, gpul__elementwise_op *op, int64_t most, int64_t elements) {
    static const int32_t sizes[4] = {1, 2, 4, 8};
    const int same = rng_below(2) != 0;
    int i, d;
    memset(op, 0, sizeof *op);
    memset(p, 0, sizeof *p);
    op->vectors = 1;
    op->out_bytes = sizes[rng_below(4)];
    for (i = 0; i < 3; i++) op->in_bytes[i] = rng_below(4) ? (same ? op->out_bytes : sizes[rng_below(4)]) : 0;
    if (rng_below(3) == 0) {
        op->value_bytes = 4 << rng_below(2);
        for (i = 0; i < 4; i++)
            if ((i ? op->in_bytes[i - 1] : op->out_bytes) > op->value_bytes) op->value_bytes = 8;
        op->vectors = (int32_t)rng_below(3);
        if (op->vectors == 2 && op->value_bytes == 8) op->vectors = 4;
        op->own_tiles = op->value_bytes == 4 && rng_below(2);
    }
    p->ndim = rng_below(3) ? 1 + (int32_t)rng_below(4) : 1;
    p->n = 1;
    for (d = 0; d < p->ndim; d++) {
        int64_t size = 1 + rng_below(rng_below(3) ? most : 20);
        if (size > elements / p->n) size = elements / p->n;
        p->n *= p->shape[d] = size < 1 ? 1 : size;
    }
    for (i = 0; i < 4; i++) {
        int32_t order[GPUL_MAX_DIMS];
        int64_t step = rng_below(4) ? 1 : 1 + rng_below(3);
        for (d = 0; d < p->ndim; d++) order[d] = d;
        for (d = p->ndim - 1; d > 0 && i && rng_below(2); d--) {
            const int32_t with = (int32_t)rng_below(d + 1), o = order[d];
            order[d] = order[with];
            order[with] = o;
        }
        for (d = p->ndim - 1; d >= 0; d--) {
            p->strides[i][order[d]] = step;
            step = step * p->shape[order[d]] + (rng_below(4) ? 0 : rng_below(9));
        }
        if (i && rng_below(5) == 0) p->strides[i][rng_below(p->ndim)] = 0;
    }
    p->out = (void *)(uintptr_t)(4096 + (rng_below(2) ? 0 : op->out_bytes * rng_below(33)));
    for (i = 0; i < 3; i++)
        if (op->in_bytes[i] && rng_below(6))
            p->in[i] = (const void *)(uintptr_t)(8192 + (rng_below(2) ? 0 : op->in_bytes[i] * rng_below(33)));
}

/* One element that a tile has: it is in out, was not met before, and its inputs are those of that place. */
static int meet(const gpul__elementwise_problem *p, const int64_t *at, unsigned char *met) {
    int64_t rest = at[0], index = 0, in[3] = {0, 0, 0};
    for (int d = 0; d < p->ndim; d++) { /* out's strides fall, and are multiples of what is below them, or more */
        const int64_t i = rest / p->strides[0][d];
        if (at[0] < 0 || i >= p->shape[d]) return 0;
        rest -= i * p->strides[0][d];
        index = index * p->shape[d] + i;
        for (int k = 0; k < 3; k++) in[k] += i * p->strides[1 + k][d];
    }
    return rest == 0 && !met[index]++ && in[0] == at[1] && in[1] == at[2] && in[2] == at[3];
}

/* Of random problems, with no kernel: a plan fits the GPU and claims no order that is not there; the tiles of small
 * ones have every element of out once, and every vector begins at the boundary of an access. */
static void test_plans(void) {
    long kinds[4] = {0, 0, 0, 0}, repeated = 0, large = 0, lanes = 0;
    unsigned char *const met = (unsigned char *)malloc(300000);
    const int few = left_out(1);
    for (long k = 0; k < (few ? 12000 : 60000); k++) {
        gpul__elementwise_op op;
        gpul__elementwise_problem p, before, same;
        gpul__elementwise_plan plan, again;
        const int turned = k % 200 == 1, small = k % 3 != 0 || turned; /* turned: enough elements for tiles */
        int32_t largest = 0, array = 0;                                /* bytes; array: of those that are no scalars */
        int64_t product = 1, met_all = 0, bytes = 0;
        int good, last, word, items, vector, status, i, d;
        random_problem(&p, &op,
                       small ? (turned  ? 900
                                : k % 2 ? 300
                                        : 40)
                             : (int64_t)1 << rng_below(34),
                       small ? (turned ? 300000 : 3000) : (int64_t)1 << 46);
        if (turned) {
            op.value_bytes = rng_below(2) ? 8 : 0;
            op.vectors = 1;
            op.own_tiles = 0;
        }
        before = same = p;
        memset(&plan, 0xaa, sizeof plan);
        memset(&again, 0x55, sizeof again);
        status = gpul__plan_elementwise(&plan, &p, &op);
        good = gpul__plan_elementwise(&again, &same, &op) == status && memcmp(&p, &same, sizeof p) == 0 &&
               memcmp(&plan, &again, offsetof(gpul__elementwise_plan, dim)) == 0;
        for (d = 0; good && d < plan.ndim; d++)
            good = memcmp(&plan.dim[d], &again.dim[d],
                          offsetof(gpul__elementwise_plan, dim[0].step[4]) -
                              offsetof(gpul__elementwise_plan, dim[0])) == 0;
        for (i = 0; i < 4; i++) {
            const int32_t size = i ? op.in_bytes[i - 1] : op.out_bytes;
            if (size > largest) largest = size;
            if (size > array && (i == 0 || p.in[i - 1])) array = size;
        }
        good = good && plan.ndim >= 1 && plan.ndim <= GPUL_MAX_DIMS + 1 && plan.kernel >= 0 && plan.kernel <= 3;
        for (d = 0; good && d < plan.ndim; d++) {
            good = plan.dim[d].size >= 1;
            product *= plan.dim[d].size;
        }
        if (!good) {
            FAIL("plan %ld", k);
            break;
        }
        kinds[plan.kernel]++;
        last = p.ndim - 1;
        word = plan.kernel == GPUL__ELEMENTWISE_WORDS ? 4 / largest : 1;
        vector = 16 / (op.vectors > 1 && (op.value_bytes == 8 || p.n < 1 << 20) ? op.value_bytes
                       : op.vectors > 1                                         ? array
                                                                                : largest);
        items = !op.value_bytes && largest == 8 ? 4 : 8;
        good = plan.tiles == product && plan.blocks == (plan.tiles + plan.block - 1) / plan.block &&
               (status != 0) == (plan.tiles > INT32_MAX - 2048) && plan.shared_bytes <= 49152;
        good = good && (plan.kernel >= GPUL__ELEMENTWISE_TILES) == (plan.staged != 0) &&
               (plan.kernel != GPUL__ELEMENTWISE_WORDS || (word > 1 && plan.rows == 128 && plan.pitch == 33)) &&
               (op.vectors > 0 || plan.kernel != GPUL__ELEMENTWISE_VECTORS) &&
               plan.block == (plan.staged                                ? 1
                              : plan.kernel == GPUL__ELEMENTWISE_VECTORS ? 256 * op.vectors
                              : plan.lanes                               ? 8
                                                                         : plan.block) &&
               plan.columns == (word > 1                                   ? 32 * word
                                : plan.staged                              ? plan.columns
                                : plan.kernel == GPUL__ELEMENTWISE_VECTORS ? vector
                                : plan.lanes                               ? 32 * items
                                                                           : 1);
        good = good && plan.line == (plan.kernel != GPUL__ELEMENTWISE_VECTORS                  ? 1
                                     : op.vectors == 1 && p.shape[last] * op.out_bytes >= 4096 ? 128 / op.out_bytes
                                                                                               : vector);
        lanes += plan.lanes;
        if (plan.kernel == GPUL__ELEMENTWISE_ELEMENTS && !plan.lanes) /* whole rows of warps that use not all threads */
            good = good && plan.block % (8 * plan.used) == 0 && plan.block / (8 * plan.used) <= items &&
                   (plan.used == 32 || (plan.used < 32 && plan.used % p.shape[last] == 0));
        for (i = 0; i < 3; i++) {
            if (plan.kernel == GPUL__ELEMENTWISE_VECTORS && p.in[i]) good = good && p.strides[1 + i][last] <= 1;
            if (!(plan.staged >> i & 1)) continue;
            good = good && last > 0 && plan.staged != 7 && p.in[i] && op.in_bytes[i] &&
                   p.strides[1 + i][last - 1] * op.in_bytes[i] < (word > 1 ? 2 * op.in_bytes[i] : 128) &&
                   p.strides[1 + i][last] > p.strides[1 + i][last - 1];
            bytes += ((int64_t)plan.pitch << plan.rows_log2) * word *
                     (word == 1 && op.value_bytes ? op.value_bytes : op.in_bytes[i]);
        }
        if (plan.kernel == GPUL__ELEMENTWISE_TILES)
            good = good && plan.rows_log2 <= 8 && plan.columns_log2 <= 8 && plan.rows_log2 + plan.columns_log2 <= 11 &&
                   plan.rows <= 1 << plan.rows_log2 && plan.columns <= 1 << plan.columns_log2 &&
                   plan.pitch > 1 << plan.columns_log2;
        if (plan.repeats > 1) { /* all inputs repeat there, and each time stores something */
            const int64_t size = p.shape[plan.repeated];
            good = good && plan.kernel == GPUL__ELEMENTWISE_ELEMENTS && plan.repeated <= last &&
                   (plan.repeats - 1) * ((size + plan.repeats - 1) / plan.repeats) < size;
            for (i = 0; i < 3; i++) good = good && (!p.in[i] || !p.strides[1 + i][plan.repeated]);
            repeated++;
        } else good = good && plan.repeats == 1 && plan.repeated == -1;
        good = good && plan.shared_bytes == bytes;
        large += status != 0;
        memset(met, 0, small ? (size_t)p.n : 0);
        for (int64_t tile = 0; good && small && tile < plan.tiles; tile++) {
            int64_t at[4] = {0, 0, 0, 0}, column = 0, row = 0, rest = tile, from, to, bottom = 1;
            for (d = 0; d < plan.ndim; d++) {
                const int64_t x = rest % plan.dim[d].size;
                rest /= plan.dim[d].size;
                column += x * plan.dim[d].column * plan.columns;
                row += x * plan.dim[d].row * plan.rows;
                for (i = 0; i < 4; i++) at[i] += x * plan.dim[d].step[i];
            }
            from = 0;
            to = plan.columns;
            if (plan.kernel == GPUL__ELEMENTWISE_VECTORS) {
                const int64_t ahead =
                    ((int64_t)((uintptr_t)p.out / (uintptr_t)op.out_bytes) + at[0] - column) % plan.line;
                from = -ahead;
                to = plan.columns - ahead;
                for (i = 0; i < 3; i++) /* aligned where out is, or said to be not */
                    if (p.in[i] && p.strides[1 + i][last] == 1 && !(plan.shifted >> i & 1))
                        good = good && ((int64_t)((uintptr_t)p.in[i] / (uintptr_t)op.in_bytes[i]) + at[1 + i] - ahead) %
                                               plan.columns ==
                                           0;
            } else if (plan.staged) {
                bottom = plan.rows;
            }
            for (int64_t y = 0; y < bottom && (last == 0 || row + y < p.shape[last - 1]); y++) {
                for (int64_t x = from; good && x < to; x++) {
                    int64_t here[4];
                    if (column + x < 0 || column + x >= p.shape[last]) continue;
                    for (i = 0; i < 4; i++)
                        here[i] = at[i] + x * p.strides[i][last] + (y ? y * p.strides[i][last - 1] : 0);
                    good = meet(&before, here, met);
                    met_all++;
                }
            }
        }
        good = good && (!small || met_all == p.n);
        if (!good)
            FAIL(
                "plan %ld: %d dimensions, %lld x .. x %lld, sizes %d <- %d %d %d: kernel %d, vectors of %d, staged %d, "
                "%d dimensions to walk, %lld tiles, %lld bytes; %lld of %lld elements",
                k, (int)p.ndim, (long long)p.shape[0], (long long)p.shape[last], (int)op.out_bytes, (int)op.in_bytes[0],
                (int)op.in_bytes[1], (int)op.in_bytes[2], (int)plan.kernel, (int)plan.columns, (int)plan.staged,
                (int)plan.ndim, (long long)plan.tiles, (long long)plan.shared_bytes, (long long)met_all,
                (long long)p.n);
        if (check_failed > 20) break;
    }
    free(met);
    CHECK(few || (lanes > 100 && kinds[0] > 1000 && kinds[1] > 1000 && kinds[2] > 500 && kinds[3] > 100 &&
                  large > 500 && repeated > 100));
}

/* An operation whose launches are counted */
static const gpul__elementwise_op *counted;
static long launches;
static int32_t count_launch(const gpul__elementwise_problem *p, const gpul__elementwise_plan *plan,
                            const gpul__machine *machine, gpul_stream stream) {
    launches++;
    return counted->launch(p, plan, machine, stream);
}
/* out = a + b in parts of at most `most` elements, none of which reaches over four times as many */
static void add_in_parts(const box *out, const box *a, const box *b, int64_t most) {
    const box *const boxes[3] = {out, a, b};
    gpul__elementwise_op op;
    gpul__elementwise_problem p;
    gpul__machine machine;
    int whole = out->n <= most;
    counted = gpul__find_elementwise(GPUL_ADD, GPUL_BF16);
    if (!CHECK(counted != NULL)) return;
    op = *counted;
    op.launch = count_launch;
    memset(&machine, 0, sizeof machine);
    memset(&p, 0, sizeof p);
    p.out = out->view.data;
    p.in[0] = a->view.data;
    p.in[1] = b->view.data;
    p.n = out->n;
    p.op = GPUL_ADD;
    p.ndim = out->view.ndim;
    for (int d = 0; d < p.ndim; d++) p.shape[d] = out->view.shape[d];
    for (int i = 0; i < 3; i++) {
        int64_t reach = 0;
        for (int d = 0; d < p.ndim; d++) {
            p.strides[i][d] = boxes[i]->view.strides[d];
            reach += (p.shape[d] - 1) * p.strides[i][d];
        }
        if (reach >= 4 * most) whole = 0;
    }
    launches = 0;
    CHECK_INT(gpul__run_elementwise(&op, &p, &machine, most, NULL), 0);
    CHECK(whole ? launches == 1 : launches > 1 && launches >= out->n / most);
}

/* More elements than a kernel counts are cut, and elements too far apart: here few are many. */
static void test_cut(void) {
    long cases = 0, parts = 0;
    for (int k = 0; k < 60; k++) {
        const int ndim = 1 + (int)rng_below(4);
        int64_t shape[4], most;
        box out, a, b;
        if (left_out(k)) continue;
        cases++;
        for (int d = 0; d < ndim; d++) shape[d] = 1 + rng_below(ndim == 1 ? 3000 : ndim == 2 ? 60 : 9);
        if (k % 4 == 0 && ndim == 2) shape[0] = 130 + rng_below(40), shape[1] = 130 + rng_below(40);
        box_make(&out, GPUL_BF16, ndim, shape, LAY_C, rng_below(3), FILL_NAN);
        box_make(&a, GPUL_BF16, ndim, shape, (int)rng_below(LAYOUTS), rng_below(3), FILL_NAN);
        box_make(&b, GPUL_BF16, ndim, shape, k % 4 ? LAY_C : LAY_F, rng_below(3), FILL_NAN);
        box_random(&a, 0);
        box_random(&b, 0);
        most = 1 + rng_below(out.n / 20 + 2);
        parts += out.n > most;
        add_in_parts(&out, &a, &b, most);
        BOX_GUARDS(&out);
        compare(&out, &a, &b, 0, __FILE__, __LINE__);
        box_free(&out);
        box_free(&a);
        box_free(&b);
    }
    CHECK(3 * parts > cases);
    for (int64_t step = 4; step <= 5; step++) { /* 99 steps of four elements are in reach, of five they are not */
        const int64_t n = 100;
        box out, a;
        box_1d(&out, GPUL_BF16, n, 0, FILL_NAN);
        box_make_strided(&a, GPUL_MEMORY_DEVICE, GPUL_BF16, 1, &n, &step, 0, FILL_NAN);
        box_random(&a, 0);
        add_in_parts(&out, &a, &a, n);
        CHECK_INT(launches, step - 3);
        BOX_GUARDS(&out);
        compare(&out, &a, &a, 0, __FILE__, __LINE__);
        box_free(&out);
        box_free(&a);
    }
    for (int k = 0; k < 20; k++) { /* 1, 3, 5, ...: the place of an element counts */
        const gpul__elementwise_op *const found = gpul__find_elementwise(GPUL__UFUNC, GPUL_F64);
        const int64_t n = 1 + rng_below(3000), shape[1] = {n};
        gpul__elementwise_op own = *found;
        gpul__elementwise_problem p;
        gpul__machine machine;
        int64_t wrong = 0;
        const double step = 2, start = 1;
        box out;
        memset(&machine, 0, sizeof machine);
        memset(&p, 0, sizeof p);
        box_make(&out, GPUL_F64, 1, shape, k % 2 ? LAY_C : LAY_STRIDED, k % 3, FILL_NAN);
        own.out_bytes = own.in_bytes[1] = own.in_bytes[2] = 8;
        p.out = out.view.data;
        p.n = p.shape[0] = n;
        p.op = GPUL__ARANGE;
        p.ndim = 1;
        p.strides[0][0] = out.view.strides[0];
        p.dtype[0] = p.dtype[2] = p.dtype[3] = GPUL_F64;
        memcpy(&p.scalar[1], &step, sizeof step);
        memcpy(&p.scalar[2], &start, sizeof start);
        CHECK_INT(gpul__run_elementwise(&own, &p, &machine, 1 + rng_below(n), NULL), 0);
        BOX_GUARDS(&out);
        for (int64_t i = 0; i < n; i++) wrong += !(box_got(&out, i).f == 1 + 2 * (double)i);
        CHECK_INT(wrong, 0);
        box_free(&out);
    }
}

/* Rows too short for tiles, of an input that lies side by side along the farthest dimension */
static void test_short_rows(void) {
    for (int k = 0; k < 4; k++) {
        const gpul_dtype t = all_dtypes[2 * k];
        const int64_t shape[3] = {k % 2 ? 150 : 41, k % 2 ? 780 : 2900, 9 + rng_below(3)};
        box out, a, b;
        if (left_out(1) && k % 3) continue; /* one of each shape */
        box_make(&out, t, 3, shape, LAY_C, rng_below(17), k / 2);
        box_make(&a, t, 3, shape, LAY_F, rng_below(17), k / 2);
        box_make(&b, t, 3, shape, k == 3 ? LAY_F : LAY_C, rng_below(17), 0);
        box_random(&a, 0);
        box_random(&b, 0);
        CHECK_OK(gpul_vecadd(&out.view, &a.view, &b.view, NULL));
        BOX_GUARDS(&out);
        compare(&out, &a, &b, 0, __FILE__, __LINE__);
        box_free(&out);
        box_free(&a);
        box_free(&b);
    }
}

/* Does out have the elements that `a` was given, or those that were fetched from it? */
static void same_elements(const box *out, const box *a, int given, const char *what) {
    for (int64_t i = 0; i < out->n; i++)
        if (!num_same(out->view.dtype, box_got(out, i), given ? box_get(a, i) : box_got(a, i))) {
            FAIL("element %lld of %s", (long long)i, what);
            return;
        }
}

/* Copies and sums of many elements of 1 and 2 bytes: copies move as words. One input is turned, or both. */
static void test_turned_words(void) {
    static const gpul_dtype types[3] = {GPUL_U8, GPUL_BF16, GPUL_F16};
    for (int k = 0; k < 6; k++) {
        const gpul_dtype t = types[k % 3];
        const int64_t shape[2] = {1017 + rng_below(20), 1048576 / 1017 + rng_below(20)};
        box out, a, b;
        if (left_out(k)) continue;
        box_make(&out, t, 2, shape, k % 2 ? LAY_C : LAY_C_PAD, rng_below(17), k != 4);
        box_make(&a, t, 2, shape, k < 3 ? LAY_F_PAD : LAY_F, rng_below(17), 0);
        box_make(&b, t, 2, shape, k % 4 ? LAY_C : LAY_F, rng_below(17), 0);
        box_random(&a, 0);
        box_random(&b, 0);
        CHECK_OK(gpul_copy(&out.view, &a.view, NULL));
        BOX_GUARDS(&out);
        box_fetch(&out);
        same_elements(&out, &a, 1, "a turned copy");
        CHECK_OK(gpul_vecadd(&out.view, &a.view, &b.view, NULL));
        BOX_GUARDS(&out);
        compare(&out, &a, &b, 0, __FILE__, __LINE__);
        CHECK_OK(gpul_vecadd(&b.view, &b.view, &a.view, NULL)); /* in place */
        BOX_GUARDS(&b);
        box_fetch(&b);
        same_elements(&out, &b, 0, "a sum in place");
        box_free(&out);
        box_free(&a);
        box_free(&b);
    }
}

/* Inputs that are turned, with odd rows, edges and offsets: one of them, or both, in either order of the others. */
static void test_turned(void) {
    for (int k = 0; k < 28; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        const int few = (int)rng_below(3), ndim = 2 + (int)rng_below(2);
        int64_t shape[3];
        box out, a, b;
        if (left_out(k)) continue;
        for (int d = 0; d < 3; d++) shape[d] = 33 + rng_below(ndim == 2 ? 500 : 40);
        if (ndim == 2)
            shape[0] = k % 4 ? shape[0] : 8 + rng_below(30), shape[1] = 262144 / shape[0] + rng_below(200) + 1;
        else shape[few] = 3, shape[few == 1 ? 0 : 1] += 262144 / 99;
        box_make(&out, t, ndim, shape, k % 3 ? LAY_C : (int)rng_below(LAYOUTS), rng_below(17), (int)rng_below(2));
        box_make(&a, t, ndim, shape, k % 2 ? LAY_F : (int)rng_below(LAYOUTS), rng_below(17), (int)rng_below(2));
        box_make(&b, t, ndim, shape, k % 4 ? LAY_C : LAY_F, rng_below(17), (int)rng_below(2));
        box_random(&a, 0);
        box_random(&b, 0);
        CHECK_OK(gpul_vecadd(&out.view, &a.view, &b.view, NULL));
        BOX_GUARDS(&out);
        compare(&out, &a, &b, 0, __FILE__, __LINE__);
        CHECK_OK(gpul_copy(&out.view, &b.view, NULL));
        box_fetch(&out);
        same_elements(&out, &b, 1, "a turned copy");
        box_free(&out);
        box_free(&a);
        box_free(&b);
    }
}

/* Every misalignment of every operand against the others, of each size of element; rows with and without gaps. */
static void test_alignments(void) {
    static const gpul_dtype types[4] = {GPUL_U8, GPUL_BF16, GPUL_I32, GPUL_F64};
    for (int d = 0; d < 4; d++) {
        const int64_t step = (int64_t)gpul_dtype_size(types[d]), N = 16 / step;
        for (int64_t k = 0; k < N * N * N; k++) {
            if (left_out(k)) continue;
            const int64_t n = 1 + rng_below(3 * N + 2), rows = k % 8 ? 1 : 2 + rng_below(3);
            const int64_t shape[2] = {rows, k % 8 ? n : 30 + n};
            box out, a, b;
            box_make(&out, types[d], 2, shape, k % 5 ? LAY_C : LAY_C_PAD, k % N, (int)(k & 1));
            box_make(&a, types[d], 2, shape, k % 3 ? LAY_C : LAY_C_PAD, k / N % N, (int)(k / 2 & 1));
            box_make(&b, types[d], 2, shape, LAY_C, k / N / N, (int)(k / 4 & 1));
            one_result(&out, &a, &b, 0);
        }
    }
}

/* Few long rows, of which an input has one for all, or none that lie side by side: a block takes them all. */
static void test_read_again(void) {
    for (int k = 0; k < 28; k++) {
        const gpul_dtype t = all_dtypes[k % 7];
        const int64_t shape[2] = {2 + rng_below(k < 14 ? 3 : 16), 16384 + rng_below(3000)}, one[2] = {1, shape[1]};
        box out, a, b;
        box_make(&out, t, 2, shape, k % 3 ? LAY_C : LAY_STRIDED, rng_below(17), (int)rng_below(2));
        box_make(&a, t, 2, k % 2 ? one : shape, LAY_C, rng_below(17), (int)rng_below(2));
        box_make(&b, t, 2, shape, k % 4 ? LAY_F : LAY_C, rng_below(17), (int)rng_below(2));
        one_result(&out, &a, &b, 0);
    }
}

int main(void) {
    check_begin("elementwise");
    RUN(test_sizes);
    RUN(test_alignments);
    RUN(test_plans);
    RUN(test_cut);
    RUN(test_turned_words);
    RUN(test_turned);
    RUN(test_short_rows);
    RUN(test_read_again);
    RUN(test_offsets);
    RUN(test_shapes);
    RUN(test_layout_pairs);
    RUN(test_special_values);
    RUN(test_in_place);
    RUN(test_overlap);
    RUN(test_overlap_of_dtypes);
    RUN(test_dtypes);
    RUN(test_scalars_and_empty);
    RUN(test_memory_kinds);
    RUN(test_zero_strides);
    RUN(test_tiles);
    RUN(test_large);
    return check_end();
}
