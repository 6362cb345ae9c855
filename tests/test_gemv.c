/* SPDX-License-Identifier: MIT
 * y = alpha A x + beta y: the error bound, BLAS's rules for alpha, beta and NaN, layouts, recorded bits, errors.
 * `test_gemv --record` prints the table of recorded bits anew. */
#include "check.h"

static double gamma_of(gpul_dtype t, int64_t k) {
    const double u = t == GPUL_F32 ? 0x1p-24 : 0x1p-53, ku = (double)k * u;
    return ku / (1 - ku);
}

static void one_case(gpul_dtype t, int64_t rows, int64_t cols, int layout, int64_t offset, int x_layout, double alpha,
                     double beta, int fill, int nan_y) {
    box A, x, y;
    int64_t wrong = 0;
    box_2d(&A, t, rows, cols, layout, offset, fill);
    box_make(&x, t, 1, &cols, x_layout, offset, fill);
    box_make(&y, t, 1, &rows, x_layout == LAY_C ? LAY_STRIDED : LAY_C, offset, fill);
    box_random(&A, 0);
    box_random(&x, 0);
    if (alpha == 0) { /* never read */
        for (int64_t i = 0; i < A.n; i++) box_put(&A, i, num_of(NAN));
        for (int64_t i = 0; i < x.n; i++) box_put(&x, i, num_of(INFINITY));
        box_upload(&A);
        box_upload(&x);
    }
    if (beta == 0 && nan_y) {
        for (int64_t i = 0; i < y.n; i++) box_put(&y, i, num_of(NAN));
        box_upload(&y);
    } else {
        box_random(&y, 0);
    }
    check_sms((int32_t)rng_below(2));
    CHECK_OK(gpul_gemv(&y.view, alpha, &A.view, &x.view, beta, NULL));
    check_sms(0);
    BOX_GUARDS(&y);
    for (int64_t i = 0; i < rows; i++) {
        long double want = 0, size = 0;
        const double al = t == GPUL_F32 ? (double)(float)alpha : alpha, be = t == GPUL_F32 ? (double)(float)beta : beta;
        const double got = box_got(&y, i).f;
        if (alpha != 0)
            for (int64_t j = 0; j < cols; j++) {
                const long double p = (long double)box_get(&A, i * cols + j).f * box_get(&x, j).f;
                want += p;
                size += fabsl(p);
            }
        want *= al;
        size *= fabs(al);
        if (beta != 0) {
            want += (long double)be * box_get(&y, i).f;
            size += fabsl((long double)be * box_get(&y, i).f);
        }
        if (!(fabsl((long double)got - want) <= (long double)gamma_of(t, cols + 2) * size) && wrong++ == 0)
            FAIL("%s %lld x %lld, layout %d, alpha %g, beta %g: y[%lld] is %.17g, wanted %.17Lg within %.3Lg",
                 gpul_dtype_name(t), (long long)rows, (long long)cols, layout, alpha, beta, (long long)i, got, want,
                 (long double)gamma_of(t, cols + 2) * size);
    }
    if (!wrong) check_pass();
    BOX_UNCHANGED(&A);
    BOX_UNCHANGED(&x);
    box_free(&A);
    box_free(&x);
    box_free(&y);
}

static void test_shapes(void) {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 127, 129, 257};
    static const double scalars[] = {1, 0, -1, 0.5, 2.75, -3.1};
    int k = 0;
    for (int i = 0; i < COUNT_OF(sizes); i++)
        for (int j = 0; j < COUNT_OF(sizes); j++, k++)
            one_case(k & 1 ? GPUL_F32 : GPUL_F64, sizes[i], sizes[j], (k / 2 + i) % 4, k % 3,
                     k % 5 ? LAY_C : LAY_STRIDED, scalars[(k / 3) % 6], scalars[(k / 7) % 6], k & 1, 1);
    for (int64_t n = 0; n <= 65; n++) { /* square, and vectors seen as matrices */
        one_case(n & 1 ? GPUL_F32 : GPUL_F64, n, n, (int)(n % 4), n % 2, LAY_C, 1, 0, 0, 1);
        one_case(n & 1 ? GPUL_F64 : GPUL_F32, 1, n, (int)(n % 4), 0, LAY_C, 1, 1, 0, 0);
        one_case(n & 1 ? GPUL_F64 : GPUL_F32, n, 1, (int)(n % 4), 1, LAY_C, -1, 1, 0, 0);
    }
}

static void test_scalars(void) { /* every pair of interesting alpha and beta, in every layout */
    static const double scalars[] = {0, 1, -1, 0.1, -0.0, 1e-20};
    for (int i = 0; i < COUNT_OF(scalars); i++)
        for (int j = 0; j < COUNT_OF(scalars); j++)
            for (int layout = 0; layout < 4; layout++)
                for (int d = 0; d < 2; d++)
                    one_case(d ? GPUL_F64 : GPUL_F32, 37, 70, layout, 0, LAY_C, scalars[i], scalars[j], layout & 1, 1);
}

/* alpha and beta are taken in the type of the arrays: one that rounds to 0 is 0, and what it scales is not read. */
static void test_tiny_scalars(void) {
    const double tiny = 1e-50; /* 0 as a float */
    gpul_array A = GPUL_ZERO, x = GPUL_ZERO, y = GPUL_ZERO, C = GPUL_ZERO;
    gpul_array no_columns = GPUL_ZERO, no_rows = GPUL_ZERO, none = GPUL_ZERO;
    float got[9];
    CHECK_OK(gpul_device_array(&A, GPUL_F32, gpul_2d(3, 3), NULL));
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&y, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&C, GPUL_F32, gpul_2d(3, 3), NULL));
    CHECK_OK(gpul_fill(&A, (double)NAN, NULL));
    CHECK_OK(gpul_fill(&x, 1, NULL));
    CHECK_OK(gpul_fill(&y, 5, NULL));
    CHECK_OK(gpul_fill(&C, 5, NULL));
    CHECK_OK(gpul_gemv(&y, tiny, &A, &x, 1, NULL));
    CHECK_OK(gpul_copy_to_host(got, &y, NULL));
    CHECK(got[0] == 5 && got[2] == 5);
    CHECK_OK(gpul_gemm(&C, tiny, &A, &A, 1, NULL));
    CHECK_OK(gpul_copy_to_host(got, &C, NULL));
    CHECK(got[0] == 5 && got[8] == 5);
    CHECK_OK(gpul_fill(&A, 1, NULL));
    CHECK_OK(gpul_fill(&y, (double)NAN, NULL));
    CHECK_OK(gpul_fill(&C, (double)NAN, NULL));
    CHECK_OK(gpul_gemv(&y, 1, &A, &x, tiny, NULL));
    CHECK_OK(gpul_copy_to_host(got, &y, NULL));
    CHECK(got[0] == 3 && got[2] == 3);
    CHECK_OK(gpul_gemm(&C, 1, &A, &A, tiny, NULL));
    CHECK_OK(gpul_copy_to_host(got, &C, NULL));
    CHECK(got[0] == 3 && got[8] == 3);
    CHECK_OK(gpul_slice(&no_columns, &A, 1, 0, 0, 1)); /* of no columns alpha counts as 0 */
    CHECK_OK(gpul_slice(&no_rows, &A, 0, 0, 0, 1));
    CHECK_OK(gpul_slice(&none, &x, 0, 0, 0, 1));
    CHECK_OK(gpul_gemv(&y, (double)NAN, &no_columns, &none, 2, NULL));
    CHECK_OK(gpul_copy_to_host(got, &y, NULL));
    CHECK(got[0] == 6 && got[2] == 6);
    CHECK_OK(gpul_gemm(&C, (double)INFINITY, &no_columns, &no_rows, 2, NULL));
    CHECK_OK(gpul_copy_to_host(got, &C, NULL));
    CHECK(got[0] == 6 && got[8] == 6);
    CHECK_OK(gpul_free(&A));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&y));
    CHECK_OK(gpul_free(&C));
}

static void test_long(void) {
    static const int64_t shapes[][2] = {{3, 20000}, {20000, 3},  {1, 50000}, {300, 300},
                                        {5, 4097},  {1000, 513}, {2, 65537}};
    for (int k = 0; k < COUNT_OF(shapes) * 4; k++)
        one_case(k & 1 ? GPUL_F32 : GPUL_F64, shapes[k / 4][0], shapes[k / 4][1], (k / 2) % 2 ? k % 4 : LAY_C, k % 2,
                 LAY_C, 1.5, 0.5, 0, 0);
    if (large_tests()) one_case(GPUL_F32, 4096, 4096, LAY_F, 0, LAY_C, 1, 0, 0, 0);
}

static void test_integers(void) { /* small integers: exact, so equal, in any order of summation */
    for (int k = 0; k < 40; k++) {
        const int64_t rows = 1 + rng_below(90), cols = 1 + rng_below(900);
        const gpul_dtype t = k & 1 ? GPUL_F32 : GPUL_F64;
        int64_t wrong = 0;
        box A, x, y;
        box_2d(&A, t, rows, cols, k % 4, k % 3, 0);
        box_1d(&x, t, cols, k % 2, 0);
        box_1d(&y, t, rows, k % 3, 1);
        box_random(&A, 1);
        box_random(&x, 1);
        CHECK_OK(gpul_gemv(&y.view, 1, &A.view, &x.view, 0, NULL));
        BOX_GUARDS(&y);
        for (int64_t i = 0; i < rows; i++) {
            double want = 0;
            for (int64_t j = 0; j < cols; j++) want += box_get(&A, i * cols + j).f * box_get(&x, j).f;
            wrong += !(box_got(&y, i).f == want);
        }
        CHECK_INT(wrong, 0);
        box_free(&A);
        box_free(&x);
        box_free(&y);
    }
}

static void test_transposed(void) { /* gpul_transpose gives A^T x */
    gpul_array A = GPUL_ZERO, T = GPUL_ZERO, x = GPUL_ZERO, y = GPUL_ZERO;
    const double a[6] = {1, 2, 3, 4, 5, 6}, xs[2] = {10, 100};
    double ys[3] = {0, 0, 0};
    CHECK_OK(gpul_to_device(&A, a, GPUL_F64, gpul_2d(2, 3), NULL));
    CHECK_OK(gpul_to_device(&x, xs, GPUL_F64, gpul_1d(2), NULL));
    CHECK_OK(gpul_device_array(&y, GPUL_F64, gpul_1d(3), NULL));
    CHECK_OK(gpul_transpose(&T, &A));
    CHECK_OK(gpul_gemv(&y, 1, &T, &x, 0, NULL));
    CHECK_OK(gpul_copy_to_host(ys, &y, NULL));
    CHECK(ys[0] == 410 && ys[1] == 520 && ys[2] == 630);
    CHECK_OK(gpul_free(&A));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&y));
}

static void
test_nan_spreads(void) { /* one NaN in A spoils its row alone; in x, every row; and 0 * NaN in the data is NaN */
    for (int layout = 0; layout < 2; layout++) {
        gpul_array y = GPUL_ZERO;
        float got[40];
        int64_t bad = 0;
        box A, x;
        box_2d(&A, GPUL_F32, 40, 50, layout, 0, 0);
        box_1d(&x, GPUL_F32, 50, 0, 0);
        box_random(&A, 1);
        for (int64_t j = 0; j < 50; j++) box_put(&x, j, num_of(0));
        box_put(&A, 7 * 50 + 49, num_of(NAN));
        box_put(&A, 9 * 50 + 3, num_of(INFINITY));
        box_upload(&A);
        box_upload(&x);
        CHECK_OK(gpul_device_array(&y, GPUL_F32, gpul_1d(40), NULL));
        CHECK_OK(gpul_gemv(&y, 1, &A.view, &x.view, 0, NULL));
        CHECK_OK(gpul_copy_to_host(got, &y, NULL));
        for (int i = 0; i < 40; i++) bad += (got[i] != got[i]) != (i == 7 || i == 9);
        CHECK_INT(bad, 0);
        CHECK_OK(gpul_fill(&y, NAN, NULL)); /* beta that is not 0 reads y */
        CHECK_OK(gpul_gemv(&y, 0, &A.view, &x.view, 1, NULL));
        CHECK_OK(gpul_copy_to_host(got, &y, NULL));
        CHECK(got[0] != got[0] && got[39] != got[39]);
        CHECK_OK(gpul_free(&y));
        box_free(&A);
        box_free(&x);
    }
}

static void test_same_bits(void) {
    for (int k = 0; k < 8; k++) {
        const gpul_dtype t = k & 1 ? GPUL_F32 : GPUL_F64;
        const int64_t rows = k < 4 ? 9 : 700, cols = k < 4 ? 30000 : 300;
        gpul_array y = GPUL_ZERO, other = GPUL_ZERO;
        double first[700], again[700];
        gpul_stream s = NULL;
        box A, x;
        memset(first, 0, sizeof first);
        memset(again, 0, sizeof again);
        box_2d(&A, t, rows, cols, k / 2 % 2 ? LAY_F : LAY_C, 0, 0);
        box_1d(&x, t, cols, 0, 0);
        box_random(&A, 0);
        box_random(&x, 0);
        CHECK_OK(gpul_device_array(&y, t, gpul_1d(rows), NULL));
        CHECK_OK(gpul_stream_create(&s, 0));
        for (int run = 0; run < (left_out(1) ? 2 : 4); run++) {
#ifdef GPULITE_CPU_STANDIN
            standin_order(run == 1 ? STANDIN_REVERSE : run ? STANDIN_RANDOM : STANDIN_FORWARD);
            standin_seed((unsigned long long)run);
#endif
            CHECK_OK(gpul_gemv(&y, 1, &A.view, &x.view, 0, run & 1 ? s : NULL));
            CHECK_OK(gpul_stream_synchronize(s));
            CHECK_OK(gpul_copy_to_host(run ? again : first, &y, NULL));
            if (run) CHECK_BYTES(again, first, (size_t)rows * gpul_dtype_size(t));
        }
#ifdef GPULITE_CPU_STANDIN
        standin_reset();
#endif
        /* the other order walks the same tree */
        CHECK_OK(gpul_device_array(&other, t, k / 2 % 2 ? gpul_2d(rows, cols) : gpul_2d_f(rows, cols), NULL));
        CHECK_OK(gpul_copy(&other, &A.view, NULL));
        CHECK_OK(gpul_gemv(&y, 1, &other, &x.view, 0, NULL));
        CHECK_OK(gpul_copy_to_host(again, &y, NULL));
        CHECK_BYTES(again, first, (size_t)rows * gpul_dtype_size(t));
        CHECK_OK(gpul_free(&other));
        CHECK_OK(gpul_stream_destroy(&s));
        CHECK_OK(gpul_free(&y));
        box_free(&A);
        box_free(&x);
    }
}

/* Few rows in column-major order against the same numbers in row-major order: the same tree. With a GPU these are large
 * enough to be read in whole stretches, where that is done. */
static void test_narrow(void) {
    static const struct {
        gpul_dtype t;
        int64_t rows, cols;
    } cases[] = {{GPUL_F64, 2, 2097154}, {GPUL_F64, 8, 1600002},  {GPUL_F64, 10, 450002}, {GPUL_F64, 10, 450001},
                 {GPUL_F64, 64, 410000}, {GPUL_F32, 4, 2200004},  {GPUL_F32, 8, 3200000}, {GPUL_F32, 12, 850004},
                 {GPUL_F32, 68, 812004}, {GPUL_F32, 16, 1000000}, {GPUL_F64, 24, 811002}};
    for (int k = 0; k < COUNT_OF(cases); k++) {
        const gpul_dtype t = cases[k].t;
#ifdef GPULITE_CPU_STANDIN
        const int64_t rows = cases[k].rows, cols = cases[k].cols / 40;
#else
        const int64_t rows = cases[k].rows, cols = cases[k].cols;
#endif
        gpul_array y = GPUL_ZERO, other = GPUL_ZERO;
        double by_cols[68], by_rows[68];
        box A, x;
        if (left_out(1) && k % 4 != 1) continue; /* one of doubles, two of floats */
        box_2d(&A, t, rows, cols, LAY_F, 0, 0);
        box_1d(&x, t, cols, 0, 0);
        box_random(&A, 0);
        box_random(&x, 0);
        CHECK_OK(gpul_device_array(&y, t, gpul_1d(rows), NULL));
        CHECK_OK(gpul_device_array(&other, t, gpul_2d(rows, cols), NULL));
        CHECK_OK(gpul_copy(&other, &A.view, NULL));
        CHECK_OK(gpul_gemv(&y, 1, &other, &x.view, 0, NULL));
        CHECK_OK(gpul_copy_to_host(by_rows, &y, NULL));
        CHECK_OK(gpul_fill(&y, NAN, NULL));
        CHECK_OK(gpul_gemv(&y, 1, &A.view, &x.view, 0, NULL));
        CHECK_OK(gpul_copy_to_host(by_cols, &y, NULL));
        if (!CHECK_BYTES(by_cols, by_rows, (size_t)rows * gpul_dtype_size(t))) printf("    case %d\n", k);
        CHECK_OK(gpul_free(&other));
        CHECK_OK(gpul_free(&y));
        box_free(&A);
        box_free(&x);
    }
}

static void test_errors(void) {
    static const char *const g = "gpul_gemv";
    gpul_array A = GPUL_ZERO, x = GPUL_ZERO, y = GPUL_ZERO, d = GPUL_ZERO, i = GPUL_ZERO, iv = GPUL_ZERO,
               zero = GPUL_ZERO, row = GPUL_ZERO, column = GPUL_ZERO, flat = GPUL_ZERO;
    float host[12], got[3];
    for (int k = 0; k < 12; k++) host[k] = (float)k;
    CHECK_OK(gpul_to_device(&A, host, GPUL_F32, gpul_2d(3, 4), NULL));
    CHECK_OK(gpul_to_device(&x, host, GPUL_F32, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_array(&y, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_fill(&y, 77, NULL));
    CHECK_OK(gpul_device_array(&d, GPUL_F64, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_array(&i, GPUL_I32, gpul_2d(3, 4), NULL));
    CHECK_OK(gpul_device_array(&iv, GPUL_I32, gpul_1d(4), NULL));
    CHECK_FAILS(gpul_gemv(&y, 1, NULL, &x, 0, NULL), GPUL_ERROR_ARGUMENT, g, "A");
    CHECK_FAILS(gpul_gemv(&y, 1, &zero, &x, 0, NULL), GPUL_ERROR_ARGUMENT, g, "A");
    CHECK_FAILS(gpul_gemv(&y, 1, &A, NULL, 0, NULL), GPUL_ERROR_ARGUMENT, g, "x");
    CHECK_FAILS(gpul_gemv(&y, 1, &A, &zero, 0, NULL), GPUL_ERROR_ARGUMENT, g, "x");
    CHECK_FAILS(gpul_gemv(NULL, 1, &A, &x, 0, NULL), GPUL_ERROR_ARGUMENT, g, "y");
    CHECK_FAILS(gpul_gemv(&zero, 1, &A, &x, 0, NULL), GPUL_ERROR_ARGUMENT, g, "y");
    CHECK_FAILS(gpul_gemv(&y, 1, &i, &iv, 0, NULL), GPUL_ERROR_DTYPE, g, "A");
    CHECK_FAILS(gpul_gemv(&y, 1, &A, &d, 0, NULL), GPUL_ERROR_DTYPE, g, "x");
    CHECK_FAILS(gpul_gemv(&d, 1, &A, &x, 0, NULL), GPUL_ERROR_DTYPE, g, ": y is float64, but A is float32");
    CHECK_FAILS(gpul_gemv(&y, 1, &i, &x, 0, NULL), GPUL_ERROR_DTYPE, g, ": A is int32, but y is float32");
    CHECK_FAILS(gpul_gemv(&iv, 1, &i, &iv, 0, NULL), GPUL_ERROR_DTYPE, g, "A is int32; float32 and float64 are taken");
    CHECK_FAILS(gpul_gemv(&y, 1, &x, &x, 0, NULL), GPUL_ERROR_SHAPE, g, "A");
    CHECK_FAILS(gpul_gemv(&y, 1, &A, &y, 0, NULL), GPUL_ERROR_SHAPE, g, "x");
    CHECK_FAILS(gpul_gemv(&x, 1, &A, &x, 0, NULL), GPUL_ERROR_SHAPE, g, "y");
    CHECK_OK(gpul_index(&row, &A, 0, 1));
    CHECK_OK(gpul_index(&column, &A, 1, 1));
    CHECK_FAILS(gpul_gemv(&column, 1, &A, &x, 0, NULL), GPUL_ERROR_OVERLAP, g, "y");
    CHECK_OK(gpul_slice(&flat, &x, 0, 0, 3, 1));
    {
        const int64_t still[1] = {0};
        gpul_array same = GPUL_ZERO;
        CHECK_OK(gpul_wrap_strided(&same, y.data, GPUL_F32, gpul_1d(3), still));
        CHECK_FAILS(gpul_gemv(&same, 1, &A, &x, 0, NULL), GPUL_ERROR_OVERLAP, g, "y");
    }
    CHECK_FAILS(gpul_gemv(&flat, 1, &A, &x, 0, NULL), GPUL_ERROR_OVERLAP, g, "y");
    CHECK_OK(gpul_copy_to_host(got, &y, NULL));
    CHECK(got[0] == 77 && got[2] == 77);
    CHECK_OK(gpul_free(&A));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&y));
    CHECK_OK(gpul_free(&d));
    CHECK_OK(gpul_free(&i));
    CHECK_OK(gpul_free(&iv));
}

/* ---- recorded bits: the same on every GPU and the stand-in, by rows and by columns ---- */

static const struct {
    int rows, cols;
    double alpha, beta;
    uint64_t hash[2]; /* f32, f64 */
} recorded[] = {
    {1, 1, 1, 0, {0xcc5791bcd6ed860a, 0x2db4ee96ab54cb56}},
    {7, 3, 0.7, 1.3, {0xcb602604d7d12e1f, 0x920649285bb6def6}},
    {33, 65, 1, 0, {0x12b12e7cbb5287ac, 0xb2ac1449dfe49af9}},
    {100, 130, -2, 0.5, {0x9639a0da87dd769d, 0x3d2b1cef2bec108b}},
    {5, 9000, 1, 0, {0x55fc4493d62f4e2d, 0xede3ecc6ebfc4a9f}},
    {2000, 20, 1, 0, {0x70e8202f159d89f8, 0x1cfb48706691f5fd}},
    {3, 70001, 0.3, -1.7, {0xe32adaa1a0b760e8, 0xe20b7c18ccd284ae}},
    {70001, 3, 1, 0, {0xc7d17ce9526da50e, 0xefb371f11d90737f}},
    {300, 300, 1, 1, {0xf46de9edd1f87d3c, 0x1fbe6985d33a7f9b}},
    {1, 40000, 3, 0, {0xf1221bf2f988d8b2, 0xff2034b9199217c6}},
    {17, 0, 1, 0.9, {0xbfbe9cb90a052a8e, 0xa3114e7bac3983bf}},
    {64, 4097, 1e-30, 0, {0x843af540de2eb597, 0x4eca82b241bdcbdb}},
    {40, 1030, 0, 2.5, {0x1d85dd6cbdcb5b8a, 0xa611b137597fae60}},
};
static uint64_t gemv_hash(gpul_dtype t, int k, int layout) {
    const int64_t rows = recorded[k].rows, cols = recorded[k].cols;
    box b[3]; /* A, x, y */
    uint64_t hash;
    box_2d(&b[0], t, rows, cols, layout, layout % 3, FILL_NAN);
    box_1d(&b[1], t, cols, 0, FILL_NAN);
    box_1d(&b[2], t, rows, 0, FILL_NAN);
    lcg = (uint64_t)k;
    for (int m = 0; m < 3; m++) {
        for (int64_t i = 0; i < b[m].n; i++) lcg_value(t, b[m].image + box_at(&b[m], i));
        if (k % 3 == 2 && m == 0 && b[m].n > 4) box_put(&b[m], b[m].n / 2, num_of(NAN));
        box_upload(&b[m]);
    }
    CHECK_OK(gpul_gemv(&b[2].view, recorded[k].alpha, &b[0].view, &b[1].view, recorded[k].beta, NULL));
    BOX_GUARDS(&b[2]);
    hash = box_hash(&b[2]);
    for (int m = 0; m < 3; m++) box_free(&b[m]);
    return hash;
}
static void test_recorded(void) {
    static const int layouts[5] = {LAY_C, LAY_F, LAY_C_PAD, LAY_F_PAD, LAY_STRIDED};
    for (int k = 0; k < COUNT_OF(recorded); k++)
        for (int d = 0; d < 2; d++)
            for (int l = 0; l < 5; l++) {
                const gpul_dtype t = d ? GPUL_F64 : GPUL_F32;
                uint64_t got;
                if (left_out((k * 2 + d) * 5 + l)) continue;
                got = gemv_hash(t, k, layouts[l]);
                if (got == recorded[k].hash[d]) check_pass();
                else
                    FAIL("%s, %d x %d, layout %d: bits %016llx, recorded %016llx", gpul_dtype_name(t), recorded[k].rows,
                         recorded[k].cols, layouts[l], (unsigned long long)got,
                         (unsigned long long)recorded[k].hash[d]);
            }
}
static int record(void) {
    for (int k = 0; k < COUNT_OF(recorded); k++)
        printf("    {%d, %d, %g, %g, {0x%016llx, 0x%016llx}},\n", recorded[k].rows, recorded[k].cols, recorded[k].alpha,
               recorded[k].beta, (unsigned long long)gemv_hash(GPUL_F32, k, LAY_C),
               (unsigned long long)gemv_hash(GPUL_F64, k, LAY_C));
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--record") == 0) return record();
    check_begin("gemv");
    RUN(test_shapes);
    RUN(test_scalars);
    RUN(test_tiny_scalars);
    RUN(test_long);
    RUN(test_integers);
    RUN(test_transposed);
    RUN(test_nan_spreads);
    RUN(test_same_bits);
    RUN(test_narrow);
    RUN(test_recorded);
    RUN(test_errors);
    return check_end();
}
