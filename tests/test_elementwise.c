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

/* Of random problems, with no kernel: a plan fits the GPU, its tiles or accesses have every element once, and it claims
 * no order and no alignment that is not there. */
static void test_plans(void) {
    static const int32_t sizes[4] = {1, 2, 4, 8};
    long dense = 0, staged = 0, tiled = 0, refused = 0;
    for (long k = 0; k < 400000; k++) {
        gpul__elementwise_op op;
        gpul__elementwise_problem p, before;
        gpul__elementwise_plan plan, again;
        int32_t largest = 0, items, status, last, next;
        int64_t rows = 1, most = rng_below((int64_t)1 << rng_below(k % 5 ? 12 : 20));
        int good, i, d;
        memset(&op, 0, sizeof op);
        memset(&p, 0, sizeof p);
        op.out_bytes = sizes[rng_below(4)];
        for (i = 0; i < 3; i++) op.in_bytes[i] = rng_below(4) ? (k % 2 ? op.out_bytes : sizes[rng_below(4)]) : 0;
        for (i = 0; i < 4; i++) {
            const int32_t size = i ? op.in_bytes[i - 1] : op.out_bytes;
            if (size > largest) largest = size;
        }
        if (rng_below(3) == 0) op.value_bytes = largest = largest == 8 || rng_below(2) ? 8 : 4;
        items = op.value_bytes ? 32 / op.value_bytes : largest <= 2 ? 16 : 8;
        p.ndim = rng_below(3) ? 1 + (int32_t)rng_below(4) : 1;
        p.n = 1;
        if (most > 2000 && p.ndim > 2) most = 2000; /* 2^46 elements at most */
        for (d = 0; d < p.ndim; d++) p.n *= p.shape[d] = 1 + rng_below(d == p.ndim - 1 ? 4 * most + 2 : most + 2);
        for (i = 0; i < 4; i++) { /* in some order of the dimensions, with or without gaps, or broadcast */
            int32_t order[GPUL_MAX_DIMS];
            int64_t step = rng_below(4) ? 1 : 1 + rng_below(3);
            for (d = 0; d < p.ndim; d++) order[d] = d;
            for (d = p.ndim - 1; d > 0 && i && rng_below(2); d--) {
                const int32_t with = (int32_t)rng_below(d + 1), o = order[d];
                order[d] = order[with];
                order[with] = o;
            }
            for (d = p.ndim - 1; d >= 0; d--) {
                p.strides[i][order[d]] = step;
                step = step * p.shape[order[d]] + (rng_below(4) ? 0 : rng_below(9));
            }
            if (i && rng_below(5) == 0) p.strides[i][rng_below(p.ndim)] = 0;
        }
        p.out = (void *)(uintptr_t)(4096 + (rng_below(2) ? 0 : op.out_bytes * rng_below(33)));
        for (i = 0; i < 3; i++)
            if (op.in_bytes[i] && rng_below(6))
                p.in[i] = (const void *)(uintptr_t)(8192 + (rng_below(2) ? 0 : op.in_bytes[i] * rng_below(33)));
        before = p;
        memset(&plan, 0xaa, sizeof plan);
        memset(&again, 0x55, sizeof again);
        status = gpul__plan_elementwise(&plan, &p, &op);
        good = gpul__plan_elementwise(&again, &before, &op) == status && memcmp(&plan, &again, sizeof plan) == 0 &&
               memcmp(&p, &before, sizeof p) == 0;
        if (status != 0) {
            good = good && plan.blocks > INT32_MAX;
            refused++;
        } else good = good && plan.blocks >= 1 && plan.blocks <= INT32_MAX;
        good = good && plan.shared_bytes >= 0 && plan.shared_bytes <= 49152;
        last = p.ndim - 1;
        next = last - 1;
        if (plan.dense) {
            const int64_t packs = (p.n - plan.head + plan.items - 1) / plan.items + (plan.head > 0);
            const int64_t block = op.value_bytes ? 512 : 256; /* packs of a block */
            dense++;
            good = good && p.ndim == 1 && p.strides[0][0] == 1 && plan.items == 16 / largest && plan.head >= 0 &&
                   plan.head <= p.n && plan.head < 16 && plan.shared_bytes == 0;
            good = good && plan.blocks * block >= packs && (plan.blocks - 1) * block < packs;
            for (i = 0; i < 4 && plan.head < p.n; i++) { /* after the head, every access is aligned */
                const uintptr_t size = (uintptr_t)(i ? op.in_bytes[i - 1] : op.out_bytes);
                const uintptr_t at = (uintptr_t)(i ? p.in[i - 1] : p.out);
                if (size == 0 || at == 0 || p.strides[i][0] == 0) continue;
                good = good && p.strides[i][0] == 1 &&
                       (at + (uintptr_t)plan.head * size) % ((uintptr_t)plan.items * size) == 0;
            }
        } else {
            const int32_t x = plan.threads_x;
            int64_t wide, tall, of;
            good = good && x >= 1 && x <= 256 && (x & (x - 1)) == 0;
            for (d = 0; d < last; d++) rows *= p.shape[d];
            wide = plan.along_x ? (int64_t)x * plan.items : x;
            tall = x > 0 ? (plan.along_x ? 256 / x : (int64_t)(256 / x) * plan.items) : 1;
            of = plan.staged ? p.shape[next < 0 ? 0 : next] : rows;
            good = good && plan.rows == rows && plan.items == items;
            good = good && plan.tiles_x * wide >= p.shape[last] && (plan.tiles_x - 1) * wide < p.shape[last];
            good = good && plan.tiles_y * tall >= of && (plan.tiles_y - 1) * tall < of;
            good = good && plan.blocks == plan.tiles_x * plan.tiles_y * (plan.staged ? rows / of : 1);
            if (plan.staged) {
                int64_t bytes = 0;
                staged++;
                good = good && next >= 0 && plan.staged != 7 && !plan.along_x;
                for (i = 0; i < 3; i++) /* a tile of the input, whose columns are odd words apart */
                    if (plan.staged >> i & 1) {
                        const int32_t size = op.value_bytes ? op.value_bytes : op.in_bytes[i];
                        good = good && op.in_bytes[i] && p.in[i] && p.strides[1 + i][next < 0 ? 0 : next] == 1 &&
                               p.strides[1 + i][last] > 1;
                        bytes += wide * (tall + (size < 4 ? 4 / size : 1)) * size;
                    }
                good = good && plan.shared_bytes == bytes;
            } else {
                tiled++;
                good = good && plan.shared_bytes == 0;
            }
        }
        if (!good)
            FAIL(
                "plan %ld: %d dimensions, %lld x .. x %lld, sizes %d <- %d %d %d: status %d, dense %d, %d items, head %d, "
                "%d threads, staged %d, %lld x %lld tiles, %lld blocks, %lld bytes",
                k, (int)p.ndim, (long long)p.shape[0], (long long)p.shape[last], (int)op.out_bytes, (int)op.in_bytes[0],
                (int)op.in_bytes[1], (int)op.in_bytes[2], (int)status, (int)plan.dense, (int)plan.items, (int)plan.head,
                (int)plan.threads_x, (int)plan.staged, (long long)plan.tiles_x, (long long)plan.tiles_y,
                (long long)plan.blocks, (long long)plan.shared_bytes);
        if (check_failed > 20) return;
    }
    CHECK(dense > 1000 && staged > 1000 && tiled > 1000 && refused > 10);
}

/* Every misalignment of every operand against the others, of each size of element; rows with and without gaps. */
static void test_alignments(void) {
    static const gpul_dtype types[4] = {GPUL_U8, GPUL_BF16, GPUL_I32, GPUL_F64};
    for (int d = 0; d < 4; d++) {
        const int64_t step = (int64_t)gpul_dtype_size(types[d]), N = 16 / step;
        for (int64_t k = 0; k < N * N * N; k++) {
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

int main(void) {
    check_begin("elementwise");
    RUN(test_sizes);
    RUN(test_alignments);
    RUN(test_plans);
    RUN(test_offsets);
    RUN(test_shapes);
    RUN(test_layout_pairs);
    RUN(test_special_values);
    RUN(test_in_place);
    RUN(test_overlap);
    RUN(test_dtypes);
    RUN(test_scalars_and_empty);
    RUN(test_memory_kinds);
    RUN(test_zero_strides);
    RUN(test_tiles);
    RUN(test_large);
    return check_end();
}
