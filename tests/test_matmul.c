/* SPDX-License-Identifier: MIT */
/* C = alpha A B + beta C in four dtypes: exact integers, the error bound, BLAS's rules,
 * every order, recorded bits, plans, errors. `test_matmul --record` prints the table of recorded bits anew. */
#define GPULITE__KERNELS /* the plans, which are private */
#include "check.h"

#ifndef TEST_PORTABLE /* 1: test_matmul_portable */
#define TEST_PORTABLE 0
#endif

static const gpul_dtype types[4] = {GPUL_F32, GPUL_F64, GPUL_F16, GPUL_BF16};

static long double unit(gpul_dtype t) { return t == GPUL_F64 ? 0x1p-53L : 0x1p-24L; } /* of the accumulation */

/* orders: bits 0, 1, 2 of `orders` make A, B, C column-major; bit 3 pads the leading dimensions. */
static void one_case(gpul_dtype t, int64_t M, int64_t N, int64_t K, int orders, int64_t offset, double alpha,
                     double beta, int small, int fill) {
    const int pad = orders & 8 ? LAY_C_PAD : LAY_C;
    const gpul_dtype wide = t == GPUL_F64 ? GPUL_F64 : GPUL_F32;
    const long double u = unit(t), g = (long double)(K + 2) * u / (1 - (long double)(K + 2) * u);
    int64_t wrong = 0;
    box A, B, C;
    double *a, *b;
    box_2d(&A, t, M, K, pad + (orders & 1), offset, fill);
    box_2d(&B, t, K, N, pad + (orders >> 1 & 1), offset, fill);
    box_2d(&C, t, M, N, pad + (orders >> 2 & 1), offset, fill);
    box_random(&A, small);
    box_random(&B, small);
    if (alpha == 0) {
        for (int64_t i = 0; i < A.n; i++) box_put(&A, i, num_of(NAN));
        for (int64_t i = 0; i < B.n; i++) box_put(&B, i, num_of(INFINITY));
        box_upload(&A);
        box_upload(&B);
    }
    if (beta == 0) { /* never read */
        for (int64_t i = 0; i < C.n; i++) box_put(&C, i, num_of(NAN));
        box_upload(&C);
    } else {
        box_random(&C, small);
    }
    if (alpha == 1 && beta == 0) CHECK_OK(gpul_matmul(&C.view, &A.view, &B.view, NULL));
    else CHECK_OK(gpul_gemm(&C.view, alpha, &A.view, &B.view, beta, NULL));
    BOX_GUARDS(&C);
    a = (double *)malloc((size_t)(M * K + 1) * 8);
    b = (double *)malloc((size_t)(K * N + 1) * 8);
    for (int64_t i = 0; i < M * K; i++) a[i] = box_get(&A, i).f;
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < N; j++) b[j * K + k] = box_get(&B, k * N + j).f;
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            const double al = wide == GPUL_F32 ? (double)(float)alpha : alpha,
                         be = wide == GPUL_F32 ? (double)(float)beta : beta;
            const double got = box_got(&C, i * N + j).f;
            long double want = 0, size = 0, bound;
            if (alpha != 0) {
                if (t == GPUL_F64) {
                    for (int64_t k = 0; k < K; k++) {
                        const long double p = (long double)a[i * K + k] * b[j * K + k];
                        want += p;
                        size += fabsl(p);
                    }
                } else { /* products of 24-bit numbers are exact in double, and their sums good to 2^-53 */
                    double w = 0, s = 0;
                    for (int64_t k = 0; k < K; k++) {
                        const double p = a[i * K + k] * b[j * K + k];
                        w += p;
                        s += fabs(p);
                    }
                    want = w;
                    size = s * (1 + 0x1p-25);
                }
            }
            want *= al;
            size *= fabs(al);
            if (beta != 0) {
                want += (long double)be * box_get(&C, i * N + j).f;
                size += fabsl((long double)be * box_get(&C, i * N + j).f);
            }
            bound = g * size;
            if (t == GPUL_F16) bound += 0x1p-11L * (fabsl(want) + bound) + 0x1p-25L;
            if (t == GPUL_BF16) bound += 0x1p-8L * (fabsl(want) + bound) + 0x1p-134L;
            if (!(fabsl((long double)got - want) <= bound) && wrong++ == 0)
                FAIL(
                    "%s %lld x %lld x %lld, orders %d, alpha %g, beta %g: C[%lld, %lld] is %.9g, wanted %.9Lg within %.3Lg",
                    gpul_dtype_name(t), (long long)M, (long long)N, (long long)K, orders, alpha, beta, (long long)i,
                    (long long)j, got, want, bound);
        }
    if (!wrong) check_pass();
    BOX_UNCHANGED(&A);
    BOX_UNCHANGED(&B);
    free(a);
    free(b);
    box_free(&A);
    box_free(&B);
    box_free(&C);
}

static void test_small(void) { /* reference BLAS's shapes and the tiles' neighbours */
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 9, 16, 17, 33};
    static const double scalars[] = {1, 0, -1, 0.5, 2.25};
    int k = 0;
    for (int i = 0; i < COUNT_OF(sizes); i++)
        for (int j = 0; j < COUNT_OF(sizes); j++)
            for (int l = 0; l < COUNT_OF(sizes); l++, k++)
                one_case(types[k % 4], sizes[i], sizes[j], sizes[l], (k / 4) % 16, k % 3,
                         k % 2 ? 1 : scalars[k / 5 % 5], k % 2 ? 0 : scalars[k / 3 % 5], 0, k & 1);
}

static void test_sizes(void) { /* 0 to 65 in each dimension */
    for (int64_t n = 0; n <= 65; n++) {
        one_case(types[n % 4], n, 19, 23, (int)(n % 16), n % 2, 1, 0, 0, 0);
        one_case(types[(n + 1) % 4], 21, n, 17, (int)(n / 2 % 16), 0, 1, 1, 0, 0);
        one_case(types[(n + 2) % 4], 18, 22, n, (int)(n / 3 % 16), 0, 1, 0, 0, 1);
    }
}

static void test_orders_of_matrices(void) {
    for (int orders = 0; orders < 16; orders++)
        for (int d = 0; d < 4; d++) {
            if (left_out(orders * 4 + d)) continue;
            one_case(types[d], 67, 45, 38, orders, d & 1, 1, 0, 0, d & 1);
            one_case(types[d], 40, 129, 65, orders, 0, -0.5, 2, 0, 0);
        }
}

static void test_tiles(void) { /* around the sizes that tiles may have, and long K, where it may be split */
    static const int64_t shapes[][3] = {{63, 64, 65},    {64, 65, 63},    {65, 63, 64},  {127, 128, 16}, {128, 129, 15},
                                        {129, 127, 17},  {128, 128, 128}, {257, 31, 12}, {31, 257, 12},  {1, 300, 300},
                                        {300, 1, 300},   {4, 4, 20000},   {17, 3, 5001}, {64, 64, 4096}, {1, 1, 30000},
                                        {130, 70, 1000}, {200, 200, 7}};
    for (int k = 0; k < COUNT_OF(shapes) * 2; k++)
        if (!left_out(k))
            one_case(types[k % 4 == 3 || k % 8 == 6 ? k % 4 : k % 2], shapes[k / 2][0], shapes[k / 2][1],
                     shapes[k / 2][2], (k * 5) % 16, k % 2, 1, k % 3 ? 0 : 1, shapes[k / 2][2] > 500, 0);
    if (large_tests()) {
        one_case(GPUL_F32, 1024, 1024, 512, 0, 0, 1, 0, 0, 0);
        one_case(GPUL_F64, 513, 1025, 511, 6, 0, 1, 0, 0, 0);
        one_case(GPUL_BF16, 1024, 768, 640, 3, 0, 1, 0, 1, 0);
        one_case(GPUL_F16, 768, 1024, 600, 1, 0, 1, 0, 1, 0);
    }
}

static void
test_short_k(void) { /* up to the 16, 32 or 48 steps of the kernel for short K, over several of its blocks */
    for (int k = 0; k < 96; k++) {
        const int narrow = k % 3 == 2;
        if (!left_out(k))
            one_case(types[k % 4], 1 + rng_below(k % 5 ? 150 : 700), 1 + rng_below(narrow ? 9 : 300),
                     1 + rng_below(k % 2 ? 18 : 52), k / 4 % 16, k % 2, k % 7 ? 1 : -0.5, k % 3 ? 0 : 1.5, 0,
                     k % 11 == 0);
    }
    for (int k = 0; k < 8; k++) /* large enough for it on any GPU */
        if (!left_out(k))
            one_case(types[k % 4], 2300, 901,
                     k < 4                      ? 3
                     : types[k % 4] == GPUL_F32 ? 48
                     : types[k % 4] == GPUL_F64 ? 32
                                                : 16,
                     k * 5 % 16, k % 2, 1, k % 3 == 0, 0, 0);
}

static void test_thin(void) { /* few rows or few columns, around the vectors, tiles and turns of their kernel */
    for (int k = 0; k < 160; k++) {
        const int64_t few = 1 + rng_below(5), many = 1 + rng_below(k % 4 ? 300 : 20),
                      K = 17 + rng_below(k % 5   ? 200
                                         : k % 3 ? 1500
                                                 : 9000);
        if (left_out(k)) continue;
        one_case(types[k % 4], k & 4 ? few : many, k & 4 ? many : few, K, k / 8 % 16, k % 3, k % 7 ? 1 : -0.5,
                 k % 3 ? 0 : 1.5, K > 500 && types[k % 4] != GPUL_F64, k % 11 == 0);
    }
    for (int k = 0; k < 8; k++) /* parts of K beyond what shared memory holds of the short operand */
        if (!left_out(k))
            one_case(types[k % 4], 2, 3, 270000 + k, k * 5 % 16, k % 2, 1, 0, types[k % 4] != GPUL_F64, 0);
}

/* The long operand ends where its memory does, and its rows begin anywhere: no load goes beyond (WATCH=1 sees it). */
static void test_thin_end(void) {
    static const int64_t shapes[][3] = {{3, 2, 65}, {2, 3, 128}, {2, 5, 128}, {7, 6, 100}};
    for (int k = 0; k < COUNT_OF(shapes) * 4; k++) {
        const int64_t M = shapes[k / 4][0], N = shapes[k / 4][1], K = shapes[k / 4][2];
        gpul_array A = GPUL_ZERO, B = GPUL_ZERO, C = GPUL_ZERO;
        double least = 0, most = 0;
        CHECK_OK(gpul_full(&A, types[k % 4], gpul_2d(M, K), 1, NULL));
        CHECK_OK(gpul_full(&B, types[k % 4], gpul_2d(K, N), 1, NULL));
        CHECK_OK(gpul_device_array(&C, types[k % 4], gpul_2d(M, N), NULL));
        CHECK_OK(gpul_matmul(&C, &A, &B, NULL));
        CHECK_OK(gpul_min(&least, &C, NULL));
        CHECK_OK(gpul_max(&most, &C, NULL));
        CHECK(least == (double)K && most == (double)K);
        CHECK_OK(gpul_free_all(&A, &B, &C));
    }
}

/* A stack of matrices of ones, whose rows, or columns, begin at multiples of 16 bytes, with NaN between them; the memory
 * ends with the last one. */
static void padded_ones(gpul_array *a, gpul_array *memory, gpul_dtype t, int64_t count, int64_t rows, int64_t cols,
                        int by_columns) {
    const int64_t dense = by_columns ? rows : cols, lines = by_columns ? cols : rows, pitch = (dense + 7) / 8 * 8;
    CHECK_OK(gpul_full(memory, t, gpul_1d((count * lines - 1) * pitch + dense), NAN, NULL));
    *a = *memory;
    a->owned = 0;
    a->ndim = 3;
    a->shape[0] = count;
    a->shape[1] = rows;
    a->shape[2] = cols;
    a->strides[0] = lines * pitch;
    a->strides[1] = by_columns ? 1 : pitch;
    a->strides[2] = by_columns ? pitch : 1;
    CHECK_OK(gpul_fill(a, 1, NULL));
}
/* Elements of a stack's memory that are NaN: as many as lie between its rows, or columns */
static int64_t nan_elements(const gpul_array *memory) {
    gpul_array is_nan = GPUL_ZERO;
    int64_t n = -1;
    CHECK_OK(gpul_device_array(&is_nan, GPUL_U8, gpul_1d(memory->shape[0]), NULL));
    CHECK_OK(gpul_binary(&is_nan, GPUL_NOT_EQUAL, memory, memory, NULL));
    CHECK_OK(gpul_reduce_host(&n, GPUL_I64, &is_nan, GPUL_COUNT_NONZERO, NULL));
    CHECK_OK(gpul_free(&is_nan));
    return n;
}
/* What is between rows, and behind the last one, counts for nothing, and stays. */
static void test_padded_ends(void) {
    static const int64_t shapes[][4] = {
        {1, 33, 17, 43}, {1, 70, 41, 130}, {3, 13, 9, 21}, {2, 5, 90, 77}, {1, 65, 9, 57}};
    for (int k = 0; k < COUNT_OF(shapes) * 16; k++) {
        const int64_t *const n = shapes[k / 16];
        const gpul_dtype t = types[k % 4];
        gpul_array A, B, C, of_A = GPUL_ZERO, of_B = GPUL_ZERO, of_C = GPUL_ZERO;
        double least = 0, most = 0;
        if (left_out(k)) continue;
        padded_ones(&A, &of_A, t, n[0], n[1], n[3], k / 4 % 2);
        padded_ones(&B, &of_B, t, n[0], n[3], n[2], k / 8 % 2);
        padded_ones(&C, &of_C, t, n[0], n[1], n[2], k / 4 % 3 == 0);
        CHECK_OK(gpul_matmul(&C, &A, &B, NULL));
        CHECK_OK(gpul_min(&least, &C, NULL));
        CHECK_OK(gpul_max(&most, &C, NULL));
        CHECK(least == (double)n[3] && most == (double)n[3]);
        CHECK_INT(nan_elements(&of_C), of_C.shape[0] - n[0] * n[1] * n[2]);
        CHECK_OK(gpul_free_all(&of_A, &of_B, &of_C));
    }
}

static void test_integers(void) { /* exact in every dtype: equal bits wanted, in any order of summation */
    for (int k = 0; k < 60; k++) {
        const gpul_dtype t = types[k % 4];
        const int64_t M = 1 + rng_below(80), N = 1 + rng_below(80),
                      K = 1 + rng_below(t == GPUL_BF16  ? 3
                                        : t == GPUL_F16 ? 25
                                                        : 200);
        int64_t wrong = 0;
        box A, B, C;
        box_2d(&A, t, M, K, k / 4 % 4, k % 2, 0);
        box_2d(&B, t, K, N, k / 16 % 4, k % 3, 0);
        box_2d(&C, t, M, N, k % 4, k % 2, 1);
        box_random(&A, 1);
        box_random(&B, 1);
        box_random(&C, 1);
        CHECK_OK(gpul_gemm(&C.view, -1, &A.view, &B.view, 2, NULL));
        BOX_GUARDS(&C);
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                double want = 2 * box_get(&C, i * N + j).f;
                unsigned char text[8];
                for (int64_t l = 0; l < K; l++) want -= box_get(&A, i * K + l).f * box_get(&B, l * N + j).f;
                num_store(t, text, num_of(want)); /* at most 255: held exactly */
                wrong += !(box_got(&C, i * N + j).f == num_load(t, text).f);
            }
        CHECK_INT(wrong, 0);
        box_free(&A);
        box_free(&B);
        box_free(&C);
    }
}

/* Is element i of C the NaN that results have, and no other? */
static int is_canonical(const box *C, int64_t i) {
    const unsigned char *const at = C->now + box_at(C, i);
    uint64_t bits = 0;
    for (size_t k = gpul_dtype_size(C->view.dtype); k-- > 0;) bits = bits << 8 | at[k];
    return bits == (C->view.dtype == GPUL_F64   ? 0x7ff8000000000000
                    : C->view.dtype == GPUL_F32 ? 0x7fc00000
                    : C->view.dtype == GPUL_F16 ? 0x7e00
                                                : 0x7fc0);
}
static void test_nan(void) { /* a NaN in A spoils its row, one in B its column; infinity times zero is NaN */
    for (int orders = 0; orders < 16; orders++)
        for (int d = 0; d < 4; d++) {
            const int64_t K = orders & 8 ? 11 : 33;
            int64_t wrong = 0;
            box A, B, C;
            box_2d(&A, types[d], 20, K, orders & 1, 0, 0);
            box_2d(&B, types[d], K, 40, orders >> 1 & 1, 0, 0);
            box_2d(&C, types[d], 20, 40, orders >> 2 & 1, 0, 0);
            box_random(&A, 1);
            box_random(&B, 1);
            box_put(&A, 5 * K + K - 1, num_of(NAN));
            box_put(&B, 2 * 40 + 39, num_of(INFINITY));
            box_put(&A, 7 * K + 2, num_of(0));
            box_upload(&A);
            box_upload(&B);
            CHECK_OK(gpul_matmul(&C.view, &A.view, &B.view, NULL));
            BOX_GUARDS(&C);
            for (int64_t i = 0; i < 20; i++)
                for (int64_t j = 0; j < 40; j++) {
                    const double got = box_got(&C, i * 40 + j).f;
                    if (i == 5 || (i == 7 && j == 39)) wrong += !is_canonical(&C, i * 40 + j);
                    else if (j == 39) wrong += !(isinf(got) || box_get(&A, i * K + 2).f == 0);
                    else wrong += !(fabs(got) <= 33 * 81);
                }
            CHECK_INT(wrong, 0);
            box_free(&A);
            box_free(&B);
            box_free(&C);
        }
}

/* A zero has one sign whatever the tile, the order and the size: of sums that underflow, of alpha = -0, and of K = 0,
 * where alpha is nothing, be it NaN. */
static void test_zeros(void) {
    static const int64_t shapes[][3] = {{200, 200, 1}, {40, 600, 1}, {16, 297, 1},  {1, 60, 8},    {70, 66, 33},
                                        {200, 200, 0}, {64, 64, 0},  {9, 700, 15},  {33, 5, 1000}, {3, 70, 64},
                                        {300, 2, 128}, {70, 66, 32}, {200, 200, 4}, {130, 90, 64}};
    for (int k = 0; k < COUNT_OF(shapes) * 16; k++) {
        const gpul_dtype t = k % 2 ? GPUL_F64 : GPUL_F32;
        const int64_t M = shapes[k / 16][0], N = shapes[k / 16][1], K = shapes[k / 16][2];
        const double alpha = k & 2 ? (K ? -0.0 : NAN) : K ? 1 : -1, tiny = t == GPUL_F64 ? 1e-200 : 1e-30;
        int64_t wrong = 0;
        box A, B, C;
        if (left_out(k)) continue;
        box_2d(&A, t, M, K, LAY_C, 0, 0);
        box_2d(&B, t, K, N, k & 4 ? LAY_F : LAY_C, 0, 0);
        box_2d(&C, t, M, N, k & 8 ? LAY_F : LAY_C, 0, FILL_NAN);
        for (int64_t i = 0; i < A.n; i++) box_put(&A, i, num_of(-tiny));
        for (int64_t i = 0; i < B.n; i++) box_put(&B, i, num_of(tiny));
        box_upload(&A);
        box_upload(&B);
        CHECK_OK(gpul_gemm(&C.view, alpha, &A.view, &B.view, 0, NULL));
        BOX_GUARDS(&C);
        for (int64_t i = 0; i < C.n; i++) wrong += box_got(&C, i).f != 0 || signbit(box_got(&C, i).f);
        CHECK_INT(wrong, 0);
        box_free(&A);
        box_free(&B);
        box_free(&C);
    }
}

static void test_row_alone(void) { /* the same bits on every run, stream and order of blocks */
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < 4; k++) {
            static const int64_t shapes[4][3] = {{70, 66, 90}, {5, 6, 9000}, {200, 130, 12}, {300, 3, 700}};
            const int64_t M = shapes[k][0], N = shapes[k][1], K = shapes[k][2];
            gpul_stream s = NULL;
            static double first[200 * 130], again[200 * 130];
            gpul_array out = GPUL_ZERO;
            box A, B;
            if (left_out(k * 4 + d)) continue;
            box_2d(&A, types[d], M, K, LAY_C, 0, 0);
            box_2d(&B, types[d], K, N, LAY_F, 0, 0);
            box_random(&A, 0);
            box_random(&B, 0);
            CHECK_OK(gpul_device_array(&out, types[d], gpul_2d(M, N), NULL));
            CHECK_OK(gpul_stream_create(&s, 0));
            for (int run = 0; run < 3; run++) {
#ifdef GPULITE_CPU_STANDIN
                standin_order(run == 1 ? STANDIN_REVERSE : run ? STANDIN_RANDOM : STANDIN_FORWARD);
#endif
                CHECK_OK(gpul_matmul(&out, &A.view, &B.view, run & 1 ? s : NULL));
                CHECK_OK(gpul_stream_synchronize(s));
                CHECK_OK(gpul_copy_to_host(run ? again : first, &out, NULL));
                if (run) CHECK_BYTES(again, first, (size_t)gpul_nbytes(&out));
            }
#ifdef GPULITE_CPU_STANDIN
            standin_reset();
#endif
            CHECK_OK(gpul_stream_destroy(&s));
            CHECK_OK(gpul_free(&out));
            box_free(&A);
            box_free(&B);
        }
}

/* The sum of the parts of K, in the type that is computed in: 16 at a time are added in order until one is left. */
static double combined(double *sums, int64_t count, gpul_dtype compute) {
    for (int64_t left; count > 1; count = left) {
        left = 0;
        for (int64_t k = 0; k < count; k++) {
            if (k % 16 == 0) sums[left++] = sums[k];
            else if (compute == GPUL_F64) sums[left - 1] += sums[k];
            else sums[left - 1] = (double)((float)sums[left - 1] + (float)sums[k]);
        }
    }
    return sums[0];
}

/* The sum of a part of K: one chain of fused multiply-adds over ascending k. Where C has few rows or few columns, and K
 * more steps than the kernels for short K have, there are eight: vectors of 16 bytes along K go to them in turn, and a
 * tree adds them. */
static double part_sum(const box *A, const box *B, int64_t i, int64_t j, int64_t from, int64_t to, int thin) {
    const gpul_dtype t = A->view.dtype;
    const int64_t K = A->view.shape[1], N = B->view.shape[1], vector = 16 / (int64_t)gpul_dtype_size(t);
    double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int64_t l = from; l < to; l++) {
        const double a = box_get(A, i * K + l).f, b = box_get(B, l * N + j).f;
        double *const sum = &sums[thin ? (l - from) / vector % 8 : 0];
        *sum = t == GPUL_F64 ? fma(a, b, *sum) : (double)fmaf((float)a, (float)b, (float)*sum);
    }
    for (int far = 1; far < 8 && thin; far *= 2)
        for (int k = 0; k < 8; k += 2 * far)
            sums[k] = t == GPUL_F64 ? sums[k] + sums[k + far] : (double)((float)sums[k] + (float)sums[k + far]);
    return sums[0];
}

/* ---- tensor cores: f16 and bf16 on Hopper, and on the stand-in, which add up exactly what is computed here ---- */

static int exponent(double x, int least) { /* of a factor or the sum so far; subnormal ones are not normalised */
    int e;
    if (x == 0) return -100000;
    (void)frexp(x, &e);
    return e - 1 > least ? e - 1 : least;
}
/* sum + a[0] b[0] + .. as one step does it, for up to 16 products (8 of TF32): each is exact and, like the sum so
 * far, cut off 25 places below the largest exponent among them (of a product: the sum of its factors'); the rest is
 * added up exactly and rounded to f32 toward zero. */
static float tensor_step(float sum, const double *a, const double *b, int64_t n, gpul_dtype t) {
    const int least = t == GPUL_F16 ? -14 : -126;
    int top = exponent((double)sum, -126);
    double total = 0;
    float rounded;
    if (!isfinite(sum)) return sum;
    for (int64_t k = 0; k < n; k++) {
        const int e = exponent(a[k], least) + exponent(b[k], least);
        if (!isfinite(a[k] * b[k])) return sum + (float)(a[k] * b[k]);
        if (e > top) top = e;
    }
    if (top < -1000) return sum;
    for (int64_t k = 0; k < n; k++) total += trunc(ldexp(a[k] * b[k], 25 - top));
    total = ldexp(total + trunc(ldexp((double)sum, 25 - top)), top - 25);
    rounded = (float)total;
    return fabs((double)rounded) > fabs(total) && fabs(total) < 0x1p128 ? nextafterf(rounded, 0) : rounded;
}
/* The sum over K, of few rows or columns of 16 bits: there are four chains, to which 32 steps go in turn. Of each eight
 * steps, a chain takes the first four of all, then the last. */
static float narrow_sum(const double *a, const double *b, int64_t K, gpul_dtype t) {
    float chains[4] = {0, 0, 0, 0};
    for (int64_t k = 0; k < K; k += 32) {
        for (int half = 0; half < 2; half++) {
            float *const chain = &chains[k / 32 % 4];
            double x[16], y[16];
            for (int i = 0; i < 16; i++) {
                const int64_t at = k + i / 4 * 8 + half * 4 + i % 4;
                x[i] = at < K ? a[at] : 0;
                y[i] = at < K ? b[at] : 0;
                if (!isfinite(x[i] * y[i])) *chain += (float)(x[i] * y[i]);
            }
            *chain = tensor_step(*chain, x, y, 16, t);
        }
    }
    return (chains[0] + chains[1]) + (chains[2] + chains[3]);
}
/* The sum over K: in parts, those in chunks of 8192 (of TF32, 4096) that are added in f32. */
static float tensor_sum(const double *a, const double *b, int64_t K, const gpul__gemm_plan *plan, gpul_dtype t,
                        int narrow) {
    const int64_t words = t == GPUL_F32 ? 2 : 1, chunk_length = 8192 / words, products = 16 / words;
    double sums[256];
    int64_t parts = 0;
    for (int64_t part = 0; part < K; part += plan->term) {
        const int64_t end = part + plan->term < K ? part + plan->term : K;
        float of_part = 0;
        for (int64_t chunk = part; chunk < end; chunk += chunk_length) {
            const int64_t stop = chunk + chunk_length < end ? chunk + chunk_length : end;
            float step = narrow ? narrow_sum(a + chunk, b + chunk, stop - chunk, t) : 0;
            for (int64_t k = chunk; k < stop && !narrow; k += products) {
                int64_t left = stop - k < products ? stop - k : products;
                for (int64_t i = 0; i < left; i++) /* the first NaN or infinity settles what kind of a sum this is */
                    if (!isfinite(a[k + i] * b[k + i])) step += (float)(a[k + i] * b[k + i]);
                step = tensor_step(step, a + k, b + k, left, t);
            }
            of_part = chunk == part ? step : of_part + step;
        }
        sums[parts++] = (double)of_part;
    }
    return (float)combined(sums, parts, GPUL_F32);
}
static int64_t emulated_from; /* as in gpul__machine */
/* Is this product one for tensor cores? And the plan, whose parts do not depend on the machine. */
static int tensor_plan(gpul__gemm_plan *plan, gpul_dtype t, int math, int64_t M, int64_t N, int64_t K, double alpha) {
    gpul__gemm_problem p;
    gpul__machine machine;
    memset(&p, 0, sizeof p);
    memset(&machine, 0, sizeof machine);
    machine.sms = 132;
    machine.shared_optin = 232448;
    machine.emulated_from = emulated_from;
    CHECK_INT(gpul__find_tensor_cores(&machine), 0);
    p.dtype = t;
    p.math = math;
    p.M = M;
    p.N = N;
    p.K = K;
    p.a_row = p.a_col = p.b_row = p.b_col = p.c_row = 1;
    p.alpha = alpha;
    return gpul__plan_gemm(plan, &p, &machine) == 1 && (plan->tensor || plan->mma);
}
/* Elements of C, all or `samples` of them, whose bits are not what the tensor cores' addition gives. */
static int64_t tensor_mismatches(const box *A, const box *B, const box *C, double alpha, double beta,
                                 const gpul__gemm_plan *plan, int64_t samples) {
    const gpul_dtype t = A->view.dtype;
    const int64_t M = C->view.shape[0], N = C->view.shape[1], K = A->view.shape[1], count = samples ? samples : M * N;
    double *const a = (double *)malloc((size_t)(2 * K + 1) * 8), *const b = a + K;
    int64_t wrong = 0;
    for (int64_t s = 0; s < count; s++) {
        const int64_t at = samples ? rng_below(M * N) : s, i = at / N, j = at % N;
        uint16_t want, got;
        float sum, value;
        for (int64_t k = 0; k < K; k++) {
            a[k] = box_get(A, i * K + k).f;
            b[k] = box_get(B, k * N + j).f;
        }
        sum = tensor_sum(a, b, K, plan, t, t != GPUL_F32 && is_thin(t, M, N, K, 8));
        value = (float)alpha * sum;
        if (beta != 0) value = fmaf((float)alpha, sum, (float)beta * (float)box_get(C, at).f);
        num_store(t, &want, num_of((double)value));
        if (isnan(value)) want = t == GPUL_F16 ? 0x7e00 : 0x7fc0;
        memcpy(&got, C->now + box_at(C, at), 2);
        if (got != want && wrong++ == 0)
            FAIL(
                "%s %lld x %lld x %lld, alpha %g, beta %g, %d parts: C[%lld, %lld] has the bits %04x, wanted %04x (sum %a)",
                gpul_dtype_name(t), (long long)M, (long long)N, (long long)K, alpha, beta, (int)plan->splits,
                (long long)i, (long long)j, got, want, (double)sum);
    }
    free(a);
    return wrong;
}

/* f32 and f64: the sum of a part of K, or of all parts, of whose sums 16 at a time are added in order until one is
 * left; with factors of all magnitudes, so that sums overflow, cancel and become subnormal. f16 and bf16, of few rows or
 * columns: the same in f32, then rounded; or what tensor cores do. */
static void test_chain(void) {
    /* the last: parts beyond what shared memory holds of the short operand */
    static const int64_t shapes[][3] = {{33, 17, 65},   {130, 70, 100}, {257, 129, 35}, {300, 520, 24},  {64, 64, 2100},
                                        {128, 256, 40}, {3, 5, 5000},   {65, 2, 700},   {100, 400, 530}, {150, 200, 14},
                                        {6, 5, 5000},   {1, 131, 77},   {4, 1, 20000},  {260, 4, 130},   {3, 200, 33},
                                        {90, 4, 49},    {2, 3, 270000}};
    for (int k = 0; k < COUNT_OF(shapes) * 8; k++) {
        const int64_t M = shapes[k / 8][0], N = shapes[k / 8][1], K = shapes[k / 8][2];
        const int narrow = is_thin(GPUL_F16, M, N, K, 4) && k / 4 % 2;
        const gpul_dtype t = types[k % 2 + 2 * narrow];
        const int wide = k / 2 % 4 == 0 ? 1 : k / 2 % 4 == 1 ? 20 : t == GPUL_F64 ? 1060 : t == GPUL_F16 ? 14 : 140;
        int64_t wrong = 0;
        gpul__gemm_problem p;
        gpul__gemm_plan plan;
        gpul__machine machine;
        box A, B, C;
        if (left_out(k)) continue;
        box_2d(&A, t, M, K, k / 8 % 2 ? LAY_C_PAD : LAY_C + (k / 2 & 1), 0, 0);
        box_2d(&B, t, K, N, LAY_C + (k / 4 & 1), k / 8 % 2, 0);
        box_2d(&C, t, M, N, LAY_C, 0, 0);
        for (int64_t i = 0; i < A.n; i++) box_put(&A, i, num_of(ldexp(rng_signed(), (int)rng_below(wide) - wide / 2)));
        for (int64_t i = 0; i < B.n; i++) box_put(&B, i, num_of(ldexp(rng_signed(), (int)rng_below(wide) - wide / 2)));
        box_upload(&A);
        box_upload(&B);
        CHECK_OK(gpul_matmul(&C.view, &A.view, &B.view, NULL));
        BOX_GUARDS(&C);
        memset(&p, 0, sizeof p);
        memset(&machine, 0, sizeof machine);
        machine.sms = 1;
        p.dtype = t;
        p.M = M;
        p.N = N;
        p.K = K;
        p.alpha = 1;
        CHECK_INT(gpul__plan_gemm(&plan, &p, &machine), 1);
        if (narrow && tensor_plan(&plan, t, GPUL_MATH_IEEE, M, N, K, 1)) {
            CHECK_INT(tensor_mismatches(&A, &B, &C, 1, 0, &plan, M * N < 3000 ? 0 : 3000), 0);
            wrong = -1;
        }
        for (int64_t s = 0; wrong == 0 && s < (M * N < 3000 ? M * N : 3000); s++) {
            const int64_t at = M * N < 3000 ? s : rng_below(M * N), i = at / N, j = at % N;
            const double got = box_got(&C, at).f;
            double sums[256], want;
            int64_t count = 0;
            for (int64_t part = 0; part < K; part += plan.term, count++)
                sums[count] =
                    part_sum(&A, &B, i, j, part, part + plan.term < K ? part + plan.term : K, is_thin(t, M, N, K, 4));
            want = combined(sums, count, t);
            if (narrow) {
                uint16_t rounded;
                num_store(t, &rounded, num_of(want));
                want = num_load(t, &rounded).f;
            }
            if (!(got == want || (got != got && want != want)) && wrong++ == 0)
                FAIL("%s %lld x %lld x %lld: C[%lld, %lld] is %a, wanted %a", gpul_dtype_name(t), (long long)M,
                     (long long)N, (long long)K, (long long)i, (long long)j, got, want);
        }
        if (!wrong) check_pass();
        box_free(&A);
        box_free(&B);
        box_free(&C);
    }
}

/* A matrix whose rows, or columns, begin at multiples of 16 bytes, however long they are: bulk copies take it */
static void box_aligned(box *b, gpul_dtype t, int64_t rows, int64_t cols, int by_columns) {
    int64_t shape[2], strides[2];
    shape[0] = rows;
    shape[1] = cols;
    strides[by_columns ? 0 : 1] = 1;
    strides[by_columns ? 1 : 0] = ((by_columns ? rows : cols) + 15) / 8 * 8;
    box_make_strided(b, GPUL_MEMORY_DEVICE, t, 2, shape, strides, 0, FILL_NAN);
}
static void test_tensor_cores(void) {
    static const int64_t shapes[][4] = {/* M, N, K, samples */
                                        {64, 64, 64, 0},       {100, 70, 130, 0},      {129, 65, 40, 0},
                                        {33, 130, 999, 0},     {5, 6, 9000, 0},        {16, 48, 40000, 50},
                                        {5, 300, 3000, 0},     {257, 6, 512, 0},       {2176, 1040, 8300, 200},
                                        {3000, 3000, 72, 500}, {2048, 2050, 300, 500}, {1000, 3000, 513, 500},
                                        {300, 5000, 200, 500}, {4096, 1024, 17, 500},  {2049, 2056, 13, 500},
                                        {120, 335, 1756, 500}, /* a cluster has the splits */
                                        {1, 131, 700, 0},      {70, 8, 45, 0},         {3, 5, 20000, 0},
                                        {11, 300, 1500, 0},    {257, 12, 512, 0},      {10, 9, 9000, 0}};
    gpul__gemm_plan plan;
    double a[16], b[16];
    for (int small = 25; small <= 26; small++) { /* the rule itself: 1 and fifteen products of 2^-25, or of 2^-26 */
        for (int k = 0; k < 16; k++) {
            a[k] = k == 3 ? 1 : ldexp(1, -small + 12);
            b[k] = k == 3 ? 1 : ldexp(1, -12);
        }
        CHECK(tensor_step(0, a, b, 16, GPUL_F16) == (small == 25 ? 1 + 3 * 0x1p-23f : 1.0f));
    }
    for (int k = 0; k < COUNT_OF(shapes) * 2; k++) {
        const int64_t *const shape = shapes[k / 2];
        const gpul_dtype t = k % 2 ? GPUL_BF16 : GPUL_F16;
        for (int how = 0; how < (shape[3] ? 3 : 5); how++) { /* data, orders, alpha and beta, alignment */
            const int orders = (k / 2 + how * 5) % 8, pad = how % 2 ? LAY_C_PAD : LAY_C, aligned = how % 2 == 0;
            const double alpha = how == 1 || how == 2 ? -0.75 : 1, beta = alpha == 1 ? 0 : 1.25;
            const int64_t offset = aligned ? 0 : how;
            box m[3];
            if (left_out(k * 8 + how)) continue;
#ifdef GPULITE_CPU_STANDIN
            if ((double)shape[0] * (double)shape[1] * (double)shape[2] > (how ? 5e6 : 4e7)) continue;
#endif
            if (!tensor_plan(&plan, t, GPUL_MATH_IEEE, shape[0], shape[1], shape[2], alpha))
                return; /* not on this device */
            box_2d(&m[0], t, shape[0], shape[2], pad + (orders & 1), offset, 0);
            box_2d(&m[1], t, shape[2], shape[1], pad + (orders >> 1 & 1), offset, 0);
            if (aligned) box_aligned(&m[2], t, shape[0], shape[1], orders >> 2 & 1);
            else box_2d(&m[2], t, shape[0], shape[1], pad + (orders >> 2 & 1), offset, 1);
            for (int j = 0; j < 3; j++) {
                for (int64_t i = 0; i < m[j].n; i++)
                    box_put(&m[j], i,
                            num_of(how == 4 && j == 0 ? ldexp(rng_signed(), -16) /* subnormal in f16 */
                                   : how == 3         ? rng_unit()
                                                      : ldexp(rng_signed(), (int)rng_below(12) - 6)));
                box_upload(&m[j]);
            }
            CHECK_OK(gpul_gemm(&m[2].view, alpha, &m[0].view, &m[1].view, beta, NULL));
            BOX_GUARDS(&m[2]);
            CHECK_INT(tensor_mismatches(&m[0], &m[1], &m[2], alpha, beta, &plan, shape[3]), 0);
            for (int j = 0; j < 3; j++) box_free(&m[j]);
        }
    }
}

/* K that is split into parts longer than 8192: what tensor cores cut off is added in f32. Of few rows, and of more. */
static void test_long_sums(void) {
    static const int64_t shapes[][2] = {{2, 2150000}, {9, 1100000}};
    if (left_out(1)) return;
    for (int k = 0; k < COUNT_OF(shapes); k++) {
        const int64_t n = shapes[k][0], K = shapes[k][1];
        gpul__gemm_plan plan;
        box m[3];
        if (!tensor_plan(&plan, GPUL_F16, GPUL_MATH_IEEE, n, n, K, 1)) return; /* not on this device */
        CHECK(plan.part > 8192);
        box_2d(&m[0], GPUL_F16, n, K, LAY_C, 0, FILL_NAN);
        box_2d(&m[1], GPUL_F16, K, n, LAY_C, 0, FILL_NAN);
        box_2d(&m[2], GPUL_F16, n, n, LAY_C, 0, FILL_NAN);
        for (int j = 0; j < 2; j++) {
            for (int64_t i = 0; i < m[j].n; i++) box_put(&m[j], i, num_of(rng_unit() / 256));
            box_upload(&m[j]);
        }
        CHECK_OK(gpul_matmul(&m[2].view, &m[0].view, &m[1].view, NULL));
        BOX_GUARDS(&m[2]);
        CHECK_INT(tensor_mismatches(&m[0], &m[1], &m[2], 1, 0, &plan, n > 2 ? 25 : 0), 0);
        if (n == 2) { /* what is beyond 16 bits of a sum */
            for (int64_t i = 0; i < m[2].n; i++) box_put(&m[2], i, box_got(&m[2], i));
            box_upload(&m[2]);
            CHECK_OK(gpul_gemm(&m[2].view, 1, &m[0].view, &m[1].view, -1, NULL));
            BOX_GUARDS(&m[2]);
            CHECK_INT(tensor_mismatches(&m[0], &m[1], &m[2], 1, -1, &plan, 0), 0);
        }
        for (int j = 0; j < 3; j++) box_free(&m[j]);
    }
}

/* ---- gpul_gemm_ex: other ways to multiply f32 ---- */

static double rounded(double x) { /* to TF32 */
    const float f = (float)x;
    uint32_t bits;
    float r;
    memcpy(&bits, &f, 4);
    if (f != f) return x;
    bits = (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
    memcpy(&r, &bits, 4);
    return (double)r;
}
/* Does TF32 round the factors of products of this shape? */
static int rounds(int64_t M, int64_t N, int64_t K) { return M > 32 && N > 32 && K > 32; }
static double halfway(double x) { /* between two numbers of TF32 */
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits = (bits & ~0x1fffu) | 0x1000u;
    memcpy(&f, &bits, 4);
    return isfinite(x) ? (double)f : x;
}
static double rounded_half(double x) {
    unsigned char text[8];
    num_store(GPUL_F16, text, num_of(x));
    return num_load(GPUL_F16, text).f;
}
/* Emulated f32: floor(log2 |x|); that of the largest of n, 1 more where it would round up to a power of two */
static int binade(double x) {
    int e;
    (void)frexp(x, &e);
    return e - 1;
}
static int largest_binade(const double *x, int64_t n) {
    double largest = 0;
    float f;
    uint32_t bits;
    for (int64_t k = 0; k < n; k++)
        if (!(fabs(x[k]) <= largest)) largest = fabs(x[k]);
    f = (float)largest;
    memcpy(&bits, &f, 4);
    bits += 0x1000;
    memcpy(&f, &bits, 4);
    return isfinite(f) ? binade((double)f) : 128;
}
/* how many binades a row or column reaches below what f16 has room for; 1000: TF32 has none either */
static int depth(const double *x, int64_t n) {
    const int high = largest_binade(x, n);
    int deepest = 0;
    for (int64_t k = 0; k < n; k++) {
        if (!isfinite(x[k])) return 1000;
        if (x[k] != 0 && high - binade(x[k]) - 29 > deepest) deepest = high - binade(x[k]) - 29;
    }
    return deepest > 130 ? 1000 : deepest;
}
/* The sum as the tensor cores make it, of two parts of f16 or TF32 (t = GPUL_F32), of scaled a and b, scaled back */
static float emulated_sum(const double *a, const double *b, int64_t K, const gpul__gemm_plan *plan, gpul_dtype t) {
    const int top = t == GPUL_F16 ? 15 : 46, up_a = top - largest_binade(a, K), up_b = top - largest_binade(b, K);
    const int64_t step = t == GPUL_F16 ? 16 : 8;
    double sums[128];
    int64_t parts = 0;
    for (int64_t part = 0; part < K; part += plan->term) {
        const int64_t end = part + plan->term < K ? part + plan->term : K;
        float sum = 0, low = 0;
        for (int64_t slice = part; slice < end; slice += 2 * step) {
            double x[2][32], y[2][32];
            float high = 0;
            for (int64_t k = 0; k < 2 * step; k++) {
                const double p = slice + k < end ? ldexp(a[slice + k], up_a) : 0,
                             q = slice + k < end ? ldexp(b[slice + k], up_b) : 0;
                x[0][k] = t == GPUL_F16 ? rounded_half(p) : rounded(p);
                y[0][k] = t == GPUL_F16 ? rounded_half(q) : rounded(q);
                x[1][k] = t == GPUL_F16 ? rounded_half((p - x[0][k]) * 2048) : rounded(p - x[0][k]);
                y[1][k] = t == GPUL_F16 ? rounded_half((q - y[0][k]) * 2048) : rounded(q - y[0][k]);
            }
            for (int h = 0; h < 2; h++) high = tensor_step(high, x[0] + h * step, y[0] + h * step, step, t);
            for (int h = 0; h < 2; h++) {
                low = tensor_step(low, x[0] + h * step, y[1] + h * step, step, t);
                low = tensor_step(low, x[1] + h * step, y[0] + h * step, step, t);
            }
            sum += high;
        }
        sums[parts++] = (double)fmaf(low, t == GPUL_F16 ? 0x1p-11f : 1, sum);
    }
    return (float)ldexp(combined(sums, parts, GPUL_F32), -up_a - up_b);
}

enum {
    PLAIN,
    POSITIVE,
    GRADED,
    OPPOSITE,
    LINES,
    WILD,
    TOO_WILD,
    ONE_WILD,
    HUGE_AND_TINY,
    SUBNORMAL,
    DEEP,
    DEEPER,
    SPECIAL,
    KINDS
};
static double math_value(int kind, int side, int64_t line, int64_t k, int64_t K) {
    const double x = rng_signed();
    int deep = -4;
    for (int64_t i = K; i > 1 && deep < 8; i /= 2) deep++;
    switch (kind) {
    case POSITIVE: return rng_unit();
    case GRADED: return ldexp(x, (int)(60 * k / K) - 30);
    case OPPOSITE: return ldexp(x, (side ? 1 : -1) * ((int)(60 * k / K) - 30));
    case LINES: return ldexp(x, (int)(line * 7 % 61) - 30);
    case WILD: return ldexp(x, (int)rng_below(40) - 20);
    case TOO_WILD: return ldexp(x, -(int)rng_below(126));
    case ONE_WILD: return side ? x : ldexp(x, 100 - (int)rng_below(170));
    case HUGE_AND_TINY: return ldexp(x, side ? 100 : -100);
    case SUBNORMAL: return ldexp(x, side ? 20 : -140);
    /* tiny beside a largest that meets 0, and one of both that is as deep as f16 is asked to go, or a binade more */
    case DEEP:
    case DEEPER:
        if (k == side) return 1;
        if (k == 1 - side) return 0;
        return ldexp(1 + rng_unit(), -29 - (side ? deep / 2 : deep - deep / 2 + (kind == DEEPER)));
    case SPECIAL: return k == K - 1 && line % 5 == 2 ? (side ? NAN : -INFINITY) : x;
    default: return x;
    }
}

/* The bound for sampled elements, and their bits: of tensor cores by the rule, of all others gpul_gemm's. */
static void math_case(int math, int64_t M, int64_t N, int64_t K, int orders, int64_t offset, double alpha, double beta,
                      int kind, int64_t samples) {
    const int pad = orders & 8 ? LAY_C_PAD : LAY_C;
    const long double u = 0x1p-24L, g = (long double)(K + 2) * u / (1 - (long double)(K + 2) * u);
    const int64_t count = samples && samples < M * N ? samples : M * N;
    double *const a = (double *)malloc((size_t)(2 * K + 1) * 8), *const b = a + K;
    int64_t outside = 0, wrong = 0;
    const int in_tf32 = math == GPUL_MATH_TF32 && rounds(M, N, K);
    int tensor, deep_a = 0, deep_b = 0, most = -4;
    gpul_gemm_options options = GPUL_ZERO;
    gpul__gemm_plan plan;
    box m[3], same[3]; /* A, B, C; for gpul_gemm, A and B as they are multiplied */
    memset(same, 0, sizeof same);
    for (int j = 0; j < 3; j++) {
        const int64_t rows = j == 1 ? K : M, cols = j == 0 ? K : N;
        box_2d(&m[j], GPUL_F32, rows, cols, pad + (orders >> j & 1), offset, FILL_NAN);
        for (int64_t i = 0; i < m[j].n; i++) {
            const int64_t line = j == 1 ? i % N : i / cols, k = j == 0 ? i % K : j == 1 ? i / N : 0;
            const double x = j == 2 ? (beta == 0 ? NAN : rng_signed()) : math_value(kind, j, line, k, K);
            box_put(&m[j], i, num_of(math == GPUL_MATH_TF32 && j < 2 && i % 4 == 1 ? halfway(x) : x));
        }
        box_upload(&m[j]);
    }
    options.math = math;
    CHECK_OK(gpul_gemm_ex(&m[2].view, alpha, &m[0].view, &m[1].view, beta, &options, NULL));
    BOX_GUARDS(&m[2]);
    BOX_UNCHANGED(&m[0]);
    BOX_UNCHANGED(&m[1]);
    tensor = tensor_plan(&plan, GPUL_F32, math, M, N, K, alpha);
    if (tensor && math == GPUL_MATH_EMULATED) { /* which of the three ways */
        for (int64_t i = K; i > 1 && most < 8; i /= 2) most++;
        for (int64_t i = 0; i < M; i++) {
            for (int64_t k = 0; k < K; k++) a[k] = box_get(&m[0], i * K + k).f;
            if (depth(a, K) > deep_a) deep_a = depth(a, K);
        }
        for (int64_t j = 0; j < N; j++) {
            for (int64_t k = 0; k < K; k++) b[k] = box_get(&m[1], k * N + j).f;
            if (depth(b, K) > deep_b) deep_b = depth(b, K);
        }
        if (deep_a + deep_b > 156) tensor = 0;
        if (kind == DEEP) CHECK_INT(deep_a + deep_b, most);
        if (kind == DEEPER) CHECK_INT(deep_a + deep_b, most + 1);
    }
    if (!tensor) {
        for (int j = 0; j < 3; j++) {
            box_2d(&same[j], GPUL_F32, m[j].view.shape[0], m[j].view.shape[1], LAY_C, 0, FILL_NAN);
            for (int64_t i = 0; i < m[j].n; i++) {
                const double x = box_get(&m[j], i).f;
                box_put(&same[j], i, num_of(j < 2 && in_tf32 ? rounded(x) : x));
            }
            box_upload(&same[j]);
        }
        CHECK_OK(gpul_gemm(&same[2].view, alpha, &same[0].view, &same[1].view, beta, NULL));
        BOX_GUARDS(&same[2]);
    }
    for (int64_t s = 0; s < count; s++) {
        const int64_t at = count == M * N ? s : rng_below(M * N), i = at / N, j = at % N;
        const double got = box_got(&m[2], at).f, old = box_get(&m[2], at).f;
        double sum = 0, size = 0, want, bits;
        for (int64_t k = 0; k < K; k++) {
            a[k] = box_get(&m[0], i * K + k).f;
            b[k] = box_get(&m[1], k * N + j).f;
            if (in_tf32) {
                a[k] = rounded(a[k]);
                b[k] = rounded(b[k]);
            }
            sum += a[k] * b[k];
            size += fabs(a[k] * b[k]);
        }
        want = (double)(float)alpha * sum + (beta != 0 ? (double)(float)beta * old : 0);
        size = fabs((double)(float)alpha) * size + (beta != 0 ? fabs((double)(float)beta * old) : 0);
        if (!(fabsl((long double)got - want) <= g * (long double)size + (long double)(K + 2) * 0x1p-149L) &&
            !(want - want != 0 && (got == want || (got != got && want != want))) && outside++ == 0)
            FAIL(
                "math %d, data %d, %lld x %lld x %lld, orders %d, alpha %g, beta %g: C[%lld, %lld] is %.9g, wanted %.9g, %g of the bound",
                math, kind, (long long)M, (long long)N, (long long)K, orders, alpha, beta, (long long)i, (long long)j,
                got, want, (double)((long double)fabs(got - want) / (g * (long double)size)));
        if (tensor) {
            const float of_k = math == GPUL_MATH_TF32
                                   ? tensor_sum(a, b, K, &plan, GPUL_F32, 0)
                                   : emulated_sum(a, b, K, &plan, deep_a + deep_b > most ? GPUL_F32 : GPUL_F16);
            bits = (double)((float)alpha * of_k);
            if (beta != 0) bits = (double)fmaf((float)alpha, of_k, (float)beta * (float)old);
        } else {
            bits = box_got(&same[2], at).f;
        }
        if (!(got == bits || (got != got && bits != bits)) && wrong++ == 0)
            FAIL(
                "math %d, data %d, %lld x %lld x %lld, %d parts, orders %d, alpha %g, beta %g: C[%lld, %lld] is %a, wanted %a",
                math, kind, (long long)M, (long long)N, (long long)K, (int)plan.splits, orders, alpha, beta,
                (long long)i, (long long)j, got, bits);
    }
    if (!outside && !wrong) check_pass();
    free(a);
    for (int j = 0; j < 3; j++) {
        box_free(&m[j]);
        if (!tensor) box_free(&same[j]);
    }
}

/* Are large products emulated, in a time that tests have? */
static int emulates(void) {
#ifdef GPULITE_CPU_STANDIN
    return 0; /* see test_emulated */
#else
    gpul__gemm_plan plan;
    return tensor_plan(&plan, GPUL_F32, GPUL_MATH_EMULATED, 1030, 1020, 1030, 1);
#endif
}

static void emulate_from(int64_t products) {
    emulated_from = products;
    check_emulated_from(products);
}
/* Emulation of products that are small: of two parts of f16, */
static void test_emulated(void) {
    emulate_from(1);
    math_case(GPUL_MATH_EMULATED, 130, 134, 200, 0, 1, -1.5, 0.75, PLAIN, 1000);
    if (!left_out(1)) math_case(GPUL_MATH_EMULATED, 70, 140, 2100, 2, 1, -1.5, 0.75, PLAIN, 1000); /* four parts */
    emulate_from(0);
}
/* of two of TF32, and of neither. */
static void test_emulated_wide(void) {
    emulate_from(1);
    for (int kind = 0; kind < KINDS; kind++) {
        if (left_out(kind + 1) && kind != WILD && kind != LINES && kind != SPECIAL) continue;
        check_sms(kind == LINES); /* with one multiprocessor, a block packs some tiles of rows, and the next ones */
        math_case(GPUL_MATH_EMULATED, 129 + kind % 3, 140, 220 - kind, kind, kind % 4, 1, kind % 4 == 1 ? 0.75 : 0,
                  kind, 1000);
    }
    check_sms(0);
    if (!left_out(1)) math_case(GPUL_MATH_EMULATED, 140, 70, 2100, 13, 0, 1, 0, WILD, 1000);
    emulate_from(0);
}

static void test_math(void) {
    static const int64_t shapes[][3] = {{1, 1, 1},      {5, 3, 9},      {64, 64, 64},  {65, 63, 65}, {33, 130, 100},
                                        {129, 70, 200}, {37, 39, 3000}, {200, 33, 70}, {32, 70, 100}},
                         large[][3] = {{1030, 1020, 1030}, {1500, 1490, 520}, {8200, 2050, 256}, {400, 390, 66000},
                                       {513, 511, 4100},   {200, 9000, 900},  {4300, 2100, 66}};
    int k = 0;
    for (int i = 0; i < COUNT_OF(shapes); i++)
        for (int kind = 0; kind < KINDS; kind++, k++)
            for (int math = GPUL_MATH_TF32; math <= GPUL_MATH_EMULATED; math++) {
                if (left_out(k) || (shapes[i][2] < 64 && (kind == DEEP || kind == DEEPER))) continue;
                if (math == GPUL_MATH_TF32 && kind == SPECIAL) continue;
                math_case(math, shapes[i][0], shapes[i][1], shapes[i][2], (k + math) % 16, k % 3, k % 5 == 4 ? -1.5 : 1,
                          k % 7 == 3 ? 0.75 : 0, kind, 500);
            }
    for (int orders = 0; orders < 16; orders++)
        if (!left_out(orders)) math_case(GPUL_MATH_TF32, 70, 66, 130, orders, orders / 3, 1, 0, 0, 0);
    for (int orders = 0; orders < 8;
         orders++) { /* rows of a multiple of 16 bytes: operands may pass through registers */
        if (left_out(orders)) continue;
        math_case(GPUL_MATH_TF32, 72, 68, 132, orders, 0, 1, orders % 3 == 1 ? 0.75 : 0, orders % 3, 0);
        math_case(GPUL_MATH_TF32, 36, 200, 1000, orders, 0, -1.5, 0, 0, 300);
        math_case(GPUL_MATH_TF32, 204, 36, 1028, orders, 0, 1, 0, 0, 300);
    }
    math_case(GPUL_MATH_TF32, 30, 20, 0, 0, 0, 1, 0.5, 0, 0);
    math_case(GPUL_MATH_EMULATED, 30, 20, 0, 0, 0, 1, 0, 0, 0);
    if (!emulates()) return;
    for (int kind = 0; kind < KINDS; kind++) /* all on the first, one or two more on each of the others */
        for (int i = 0; i < COUNT_OF(large); i++, k++) {
            if (i > 0 && kind % 7 != i) continue;
            math_case(GPUL_MATH_EMULATED, large[i][0], large[i][1], large[i][2], k % 16, k % 3, k % 5 == 4 ? -1.5 : 1,
                      k % 7 == 3 ? 0.75 : 0, kind, 100);
            if (kind < 3) math_case(GPUL_MATH_TF32, large[i][0], large[i][1], large[i][2], k % 16, 0, 1, 0, kind, 100);
        }
    for (int orders = 0; orders < 8; orders++) { /* every tile, alone and in pairs */
        math_case(GPUL_MATH_TF32, 1028, 652, 516, orders, 0, 1, 0.5, 0, 1000);
        math_case(GPUL_MATH_TF32, 2060, 1916, 1000, orders, 0, 1, 0, 0, 1000);
        math_case(GPUL_MATH_TF32, 4100, 4236, 2100, orders, 0, 1, 0, 0, 1000);
        math_case(GPUL_MATH_TF32, 132, 68, 20004, orders, 0, 1, 0, 0, 300);
        /* both operands are gathered; one is, and the other one copied; one is, alone in some orders */
        math_case(GPUL_MATH_TF32, 600, 40, 901, orders, orders % 3, 1, 0, 0, 300);
        math_case(GPUL_MATH_TF32, 36, 1101, 1500, orders, 1, -1.5, 0.75, 0, 300);
        math_case(GPUL_MATH_TF32, 50, 5001, 2050, orders, 1, 1, 0, 0, 300);
        math_case(GPUL_MATH_TF32, 6001, 40, 2100, orders, orders % 2, 1, 0, 0, 300);
    }
}

/* ---- the grade ----
 *
 * Demmel, Li, Langou, Pereira, Gates and Rubio Gonzalez (How to grade the accuracy of an implementation of the BLAS,
 * BLIS Retreat 2024) give grade A to a product each of whose errors is f(n) u |A||B| of its element at most, with f
 * linear, and inputs that only a conventional product in floating point bears: zeros that meet in all terms of a sum,
 * where Strassen's algorithm leaves an error, and factors that span the exponents while their products do not, of which
 * fixed point loses most. */
enum { EVEN_DATA, ZEROS_MEET, SPAN_EXPONENTS, GRADED_DATA };

/* An element of A (side 0, of row `line`) or of B (side 1, of column `line`) */
static double graded_value(int kind, int side, int64_t line, int64_t k, int64_t n, int64_t span, const double *x) {
    const int64_t at = (line + k) % n;
    switch (kind) {
    case ZEROS_MEET: /* terms of C[line, line], in half of the lines */
        if (line % 2 == 0 && ((line * 7 + k) * 5 / 3 + k / 2) % 2 == side) return 0;
        return rng_signed();
    case SPAN_EXPONENTS: /* circulant: the products of the diagonal are x squared */
        return ldexp(x[at], (int)((side ? -1 : 1) * (span - (n > 1 ? 2 * span * at / (n - 1) : 0))));
    default: return rng_signed();
    }
}
/* The largest error of C in units of u |A||B|, of some rows where there are many; INFINITY where a sum of zeros is
 * none. B is transposed. */
static double worst_error(const double *a, const double *b, const double *c, int64_t n, double u) {
    const int64_t step = n > 256 ? n / 64 : 1;
    double worst = 0;
    for (int64_t i = 0; i < n; i += step)
        for (int64_t j = 0; j < n; j++) {
            long double sum = 0, size = 0;
            double error;
            for (int64_t k = 0; k < n; k++) {
                const long double p = (long double)a[i * n + k] * b[j * n + k];
                sum += p;
                size += fabsl(p);
            }
            error = size > 0            ? (double)(fabsl(c[i * n + j] - sum) / ((long double)u * size))
                    : c[i * n + j] == 0 ? 0
                                        : INFINITY;
            if (!(error <= worst)) worst = error;
        }
    return worst;
}
/* One level of Strassen's algorithm, in float: C = A B, B transposed; n even */
static void strassen_product(double *c, const double *a, const double *b, int64_t n) {
    /* M_m = (sum of quarters of A) (sum of quarters of B); which quarters C's take: 11, 12, 21, 22 */
    static const int of_a[7][4] = {{1, 0, 0, 1}, {0, 0, 1, 1},  {1, 0, 0, 0}, {0, 0, 0, 1},
                                   {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}},
                     of_b[7][4] = {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0},
                                   {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}},
                     to_c[7][4] = {{1, 0, 0, 1},  {0, 0, 1, -1}, {0, 1, 0, 1}, {1, 0, 1, 0},
                                   {-1, 1, 0, 0}, {0, 0, 0, 1},  {1, 0, 0, 0}};
    const int64_t h = n / 2;
    for (int64_t i = 0; i < n * n; i++) c[i] = 0;
    for (int m = 0; m < 7; m++)
        for (int64_t i = 0; i < h; i++)
            for (int64_t j = 0; j < h; j++) {
                float sum = 0;
                for (int64_t k = 0; k < h; k++) {
                    float x = 0, y = 0;
                    for (int q = 0; q < 4; q++) {
                        x += (float)of_a[m][q] * (float)a[(i + q / 2 * h) * n + k + q % 2 * h];
                        y += (float)of_b[m][q] * (float)b[(j + q % 2 * h) * n + k + q / 2 * h];
                    }
                    sum = fmaf(x, y, sum);
                }
                for (int q = 0; q < 4; q++) {
                    double *const to = &c[(i + q / 2 * h) * n + j + q % 2 * h];
                    *to = (double)((float)*to + (float)to_c[m][q] * sum);
                }
            }
}
/* 24 bits of each factor, counted from the largest of its row or column; exact products and sums of them */
static void fixed_point_product(double *c, const double *a, const double *b, int64_t n) {
    double *const whole = (double *)malloc((size_t)(2 * n * n) * 8);
    for (int64_t line = 0; line < 2 * n; line++) {
        const double *const x = line < n ? a + line * n : b + (line - n) * n;
        int most = -1000;
        for (int64_t k = 0; k < n; k++)
            if (x[k] != 0 && ilogb(x[k]) > most) most = ilogb(x[k]);
        for (int64_t k = 0; k < n; k++) whole[line * n + k] = ldexp(nearbyint(ldexp(x[k], 23 - most)), most - 23);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            long double sum = 0;
            for (int64_t k = 0; k < n; k++) sum += (long double)whole[i * n + k] * whole[(n + j) * n + k];
            c[i * n + j] = (double)sum;
        }
    free(whole);
}
static void grade_case(gpul_dtype t, int math, double u, int exponents, int64_t n) {
    double *const a = (double *)malloc((size_t)(3 * n * n + n) * 8), *const b = a + n * n, *const c = b + n * n,
                  *const x = c + n * n;
    gpul_gemm_options options = GPUL_ZERO;
    int64_t span = exponents / 2 - 2; /* neither sums nor their terms leave the range */
    for (int64_t i = n; i > 1; i /= 2) span--;
    if (span < 0) span = 0;
    options.math = math;
    for (int kind = 0; kind < GRADED_DATA; kind++) {
        box m[3];
        double worst;
        for (int64_t i = 0; i < n; i++) x[i] = 1 + rng_unit();
        for (int j = 0; j < 3; j++) {
            box_2d(&m[j], t, n, n, j == 1 ? LAY_F : LAY_C, 0, FILL_NAN);
            for (int64_t i = 0; i < m[j].n; i++)
                box_put(&m[j], i,
                        num_of(j == 2 ? NAN : graded_value(kind, j, j ? i % n : i / n, j ? i / n : i % n, n, span, x)));
            box_upload(&m[j]);
        }
        CHECK_OK(gpul_gemm_ex(&m[2].view, 1, &m[0].view, &m[1].view, 0, &options, NULL));
        BOX_GUARDS(&m[2]);
        for (int64_t i = 0; i < n * n; i++) {
            a[i] = box_get(&m[0], i).f;
            b[i % n * n + i / n] = box_get(&m[1], i).f;
            c[i] = box_got(&m[2], i).f;
        }
        worst = worst_error(a, b, c, n, u);
        if (worst <= (double)n) check_pass();
        else
            FAIL("%s, math %d, n = %lld, data %d: an error of %g units, no grade A", gpul_dtype_name(t), math,
                 (long long)n, kind, worst);
        if (t == GPUL_F32 && math == GPUL_MATH_IEEE && n <= 64 && n % 2 == 0) { /* the inputs find what they are for */
            strassen_product(c, a, b, n);
            if (kind == ZEROS_MEET) CHECK(!(worst_error(a, b, c, n, u) <= (double)n));
            if (kind == EVEN_DATA) CHECK(worst_error(a, b, c, n, u) <= 100 * (double)n);
            fixed_point_product(c, a, b, n);
            if (kind == SPAN_EXPONENTS) CHECK(!(worst_error(a, b, c, n, u) <= (double)n));
            if (kind == ZEROS_MEET) CHECK(worst_error(a, b, c, n, u) <= (double)n);
        }
        for (int j = 0; j < 3; j++) box_free(&m[j]);
    }
    free(a);
}
static void test_grade(void) {
    static const int64_t sizes[] = {16, 33, 64, 128, 1030};
    static const struct {
        gpul_dtype type;
        int math;
        double u;
        int exponents;
    } modes[] = {{GPUL_F32, GPUL_MATH_IEEE, 0x1p-24, 127},     {GPUL_F32, GPUL_MATH_TF32, 0x1p-11, 127},
                 {GPUL_F32, GPUL_MATH_EMULATED, 0x1p-24, 127}, {GPUL_F64, GPUL_MATH_IEEE, 0x1p-53, 1023},
                 {GPUL_F16, GPUL_MATH_IEEE, 0x1p-11, 15},      {GPUL_BF16, GPUL_MATH_IEEE, 0x1p-8, 127}};
    const int large = emulates();
    for (int i = 0; i < COUNT_OF(modes); i++)
        for (int j = 0; j < COUNT_OF(sizes); j++)
            if ((sizes[j] < 1000 || large) && (sizes[j] < 100 || !left_out(1)))
                grade_case(modes[i].type, modes[i].math, modes[i].u, modes[i].exponents, sizes[j]);
}

/* A graph, launched again and again, looks at the data each time: f16 holds them, then TF32 alone, then f32 alone. */
static void test_math_graph(void) {
    const int64_t M = 1030, N = emulates() ? 1020 : 10, K = N == 1020 ? 1030 : 64;
    static const double odd[] = {0.5, 0x1p-80, INFINITY};
    gpul_stream s = NULL;
    CHECK_OK(gpul_stream_create(&s, 0));
    for (int math = GPUL_MATH_TF32; math <= GPUL_MATH_EMULATED; math++) {
        gpul_gemm_options options = GPUL_ZERO;
        gpul_graph graph = NULL;
        float *const want = (float *)malloc((size_t)(2 * M * N) * 4), *const got = want + M * N;
        gpul_array C = GPUL_ZERO;
        box A, B;
        options.math = math;
        box_2d(&A, GPUL_F32, M, K, LAY_C, 0, 0);
        box_2d(&B, GPUL_F32, K, N, LAY_F, 0, 0);
        for (int64_t i = 0; i < A.n; i++) box_put(&A, i, num_of(1 + rng_unit()));
        for (int64_t i = 0; i < B.n; i++) box_put(&B, i, num_of(1 + rng_unit()));
        box_upload(&B);
        CHECK_OK(gpul_device_array(&C, GPUL_F32, gpul_2d(M, N), NULL));
        CHECK_OK(gpul_graph_begin(s));
        CHECK_OK(gpul_gemm_ex(&C, 1, &A.view, &B.view, 0, &options, s));
        CHECK_OK(gpul_graph_end(&graph, s));
        for (int k = 0; k < COUNT_OF(odd); k++) {
            box_put(&A, 3 * K + 5, num_of(odd[k]));
            box_upload(&A);
            CHECK_OK(gpul_gemm_ex(&C, 1, &A.view, &B.view, 0, &options, NULL));
            CHECK_OK(gpul_copy_to_host(want, &C, NULL));
            CHECK_OK(gpul_fill(&C, NAN, NULL));
            CHECK_OK(gpul_graph_launch(graph, s));
            CHECK_OK(gpul_stream_synchronize(s));
            CHECK_OK(gpul_copy_to_host(got, &C, NULL));
            CHECK_BYTES(got, want, (size_t)(M * N) * 4);
            CHECK(isfinite(got[0]) && isinf(got[3 * N]) == (k == 2));
        }
        CHECK_OK(gpul_graph_free(&graph));
        CHECK_OK(gpul_free(&C));
        box_free(&A);
        box_free(&B);
        free(want);
    }
    CHECK_OK(gpul_stream_destroy(&s));
}

/* alpha = 0 and beta = 0 do not read */
static void test_math_unread(void) {
    for (int math = GPUL_MATH_IEEE; math <= GPUL_MATH_EMULATED; math++) {
        gpul_gemm_options options = GPUL_ZERO;
        float got[6];
        gpul_array A = GPUL_ZERO, B = GPUL_ZERO, C = GPUL_ZERO;
        options.math = math;
        CHECK_OK(gpul_full(&A, GPUL_F32, gpul_2d(2, 4), NAN, NULL));
        CHECK_OK(gpul_full(&B, GPUL_F32, gpul_2d(4, 3), 2, NULL));
        CHECK_OK(gpul_full(&C, GPUL_F32, gpul_2d(2, 3), 5, NULL));
        CHECK_OK(gpul_gemm_ex(&C, 0, &A, &B, 3, &options, NULL));
        CHECK_OK(gpul_copy_to_host(got, &C, NULL));
        for (int i = 0; i < 6; i++) CHECK(got[i] == 15);
        CHECK_OK(gpul_fill(&A, 0.5, NULL));
        CHECK_OK(gpul_fill(&C, NAN, NULL));
        CHECK_OK(gpul_gemm_ex(&C, 1, &A, &B, 0, &options, NULL));
        CHECK_OK(gpul_copy_to_host(got, &C, NULL));
        for (int i = 0; i < 6; i++) CHECK(got[i] == 4);
        CHECK_OK(gpul_free_all(&A, &B, &C));
    }
}

/* Any shape, order, pitch and alignment */
static void random_problem(gpul__gemm_problem *p, gpul_dtype t) {
    const int64_t size = (int64_t)gpul_dtype_size(t);
    memset(p, 0, sizeof *p);
    p->dtype = t;
    p->M = rng_below((int64_t)1 << rng_below(18));
    p->N = rng_below((int64_t)1 << rng_below(18));
    p->K = rng_below((int64_t)1 << rng_below(24));
    p->alpha = rng_below(8) ? 1 : 0;
    p->a_row = rng_below(2) ? 1 : p->K + rng_below(9);
    p->a_col = p->a_row == 1 ? p->M + rng_below(9) : 1;
    p->b_row = rng_below(2) ? 1 : p->N + rng_below(9);
    p->b_col = p->b_row == 1 ? p->K + rng_below(9) : 1;
    p->c_row = p->N + rng_below(9);
    p->A = (const void *)(uintptr_t)(4096 + size * rng_below(9));
    p->B = (const void *)(uintptr_t)(8192 + size * rng_below(9));
    p->C = (void *)(uintptr_t)(16384 + size * rng_below(9));
    if (rng_below(32) == 0) { /* all rows begin at multiples of 16 elements */
        p->M -= p->M % 16;
        p->N -= p->N % 16;
        p->K -= p->K % 16;
        p->a_row = p->a_col == 1 ? p->K : 1;
        p->a_col = p->a_row == 1 ? p->M : 1;
        p->b_row = p->b_col == 1 ? p->N : 1;
        p->b_col = p->b_row == 1 ? p->K : 1;
        p->c_row = p->N;
        p->A = (const void *)(uintptr_t)4096;
        p->B = (const void *)(uintptr_t)8192;
        p->C = (void *)(uintptr_t)16384;
    }
}

/* How many clusters of 2, 4 and 8 blocks a machine has room for: none, or about as many as its multiprocessors allow */
static void random_clusters(gpul__machine *machine) {
    for (int i = 0; i < 3; i++) {
        const int32_t most = machine->sms >> (i + 1);
        machine->clusters[i] = rng_below(4) && machine->wgmma ? most - (int32_t)rng_below(most / 8 + 1) : 0;
    }
}

/* Of random problems on random machines: what the plans of emulated f32 promise, and those of TF32 without wgmma; with
 * it, see test_plans */
static void test_math_plans(void) {
    long tensor = 0, by_mma = 0, rounded_only[2] = {0, 0}, split = 0, pairs = 0;
    for (long k = 0; k < 200000; k++) {
        gpul__gemm_problem p, plain;
        gpul__gemm_plan plan, again, ieee;
        gpul__machine machine;
        const int64_t tile = 128 * 128 * 4;
        int64_t depth, tiles;
        int good, wanted;
        memset(&machine, 0, sizeof machine);
        machine.sms = 1 + (int32_t)rng_below(200);
        machine.shared_optin = rng_below(4) ? 232448 : 49152;
        random_problem(&p, GPUL_F32);
        p.math = 1 + (int32_t)rng_below(2);
        machine.wgmma = p.math == GPUL_MATH_EMULATED && rng_below(4) != 0;
        machine.mma = machine.wgmma + (int32_t)rng_below(2 + !machine.wgmma);
        random_clusters(&machine);
        plain = p;
        plain.math = GPUL_MATH_IEEE;
        memset(&plan, 0xaa, sizeof plan);
        good = gpul__plan_gemm(&plan, &p, &machine) == 1 && gpul__plan_gemm(&ieee, &plain, &machine) == 1;
        wanted = (machine.wgmma || machine.mma > 1) && p.math == GPUL_MATH_EMULATED && p.alpha != 0 &&
                 is_emulated(p.M, p.N, p.K);
        depth = (p.K + 63) / 64 * 64;
        good = good && plan.tensor == (wanted && machine.wgmma);
        if (wanted) { /* copies, and what is known of rows; the GPU may turn to IEEE, and reads the depths all the time */
            good = good && plan.b_at % 256 == 0 && plan.ranges_at % 256 == 0;
            good = good && plan.b_at >= plan.a_at + depth * 8 * p.M && plan.ranges_at >= plan.b_at + depth * 8 * p.N;
            good = good && plan.scratch_bytes >=
                               plan.ranges_at + 256 + (p.M + p.N) * 8 + ((p.M + 63) / 64 + (p.N + 63) / 64) * 4;
            good = good && plan.ranges_at >= ieee.scratch_bytes && plan.counters >= ieee.counters;
        }
        if (wanted && !machine.wgmma) {
            good = good && plan.mma == 2 && plan.packed == p.math && plan.tile == 0 && plan.a_pitch == depth &&
                   plan.a_vector == 8 && plan.b_vector == 8;
            good = good && plan.tiles_m * plan.tile_m >= p.M && plan.tiles_n * plan.tile_n >= p.N;
            tiles = plan.tiles_m * plan.tiles_n;
            good = good && plan.a_at >= (plan.splits > 1 ? plan.splits * tiles * plan.tile_m * plan.tile_n * 4 : 0) &&
                   plan.a_at % 256 == 0;
            good = good && (plan.splits == 1 || plan.counters >= tiles * ((plan.splits + 15) / 16 + 1));
            machine.wgmma = 1; /* whose bits they are */
            gpul__plan_gemm(&again, &p, &machine);
            good = good && again.tensor && again.splits == plan.splits && again.term == plan.term;
            by_mma++;
        } else if (wanted) {
            machine.sms = 1 + (int32_t)rng_below(200);
            gpul__plan_gemm(&again, &p, &machine);
            tiles = plan.tiles_m * plan.cluster * plan.tiles_n;
            good = good && plan.packed == p.math && plan.splits == again.splits && plan.term == again.term;
            good = good && plan.part % 64 == 0 && plan.part * plan.splits >= p.K && plan.part * (plan.splits - 1) < p.K;
            good = good && plan.tiles_m * 128 * plan.cluster >= p.M && plan.tiles_n * 128 >= p.N;
            good = good && plan.blocks >= 1 && plan.blocks % plan.cluster == 0;
            good = good && plan.promoted_at == (plan.splits > 1 ? plan.splits * tiles * tile : 0);
            good = good && plan.a_at == plan.promoted_at;
            good = good && (plan.splits == 1 || plan.counters >= tiles * 2 * ((plan.splits + 15) / 16 + 1));
        } else if (p.math == GPUL_MATH_TF32 && p.alpha != 0 && rounds(p.M, p.N, p.K)) {
            const int cores = machine.mma;
            int64_t sums;
            if (cores) { /* the bits of wgmma */
                machine.wgmma = 1;
                gpul__plan_gemm(&ieee, &p, &machine);
                good = good && plan.mma == 1 && !plan.packed && !plan.a_pitch && !plan.b_pitch;
                good = good && plan.tiles_m * plan.tile_m >= p.M && plan.tiles_n * plan.tile_n >= p.N;
            }
            tiles = plan.tiles_m * plan.tiles_n; /* they depend on how A and B lie, which copies do not */
            sums = plan.splits > 1 ? plan.splits * tiles * plan.tile_m * plan.tile_n * 4 : 0;
            good = good && plan.term == ieee.term && plan.scratch_bytes >= sums;
            if (!cores)
                good = good && plan.packed == GPUL_MATH_TF32 && plan.a_at >= sums && plan.a_at % 256 == 0 &&
                       plan.b_at % 256 == 0 && plan.b_at >= plan.a_at + p.M * depth * 4 &&
                       plan.scratch_bytes >= plan.b_at + p.N * depth * 4;
        } else {
            good = good && memcmp(&plan, &ieee, sizeof plan) == 0;
        }
        tensor += plan.tensor;
        rounded_only[plan.mma != 0] += !wanted && (plan.packed || plan.mma);
        split += plan.tensor && plan.splits > 1;
        pairs += plan.tensor && plan.cluster == 2;
        if (!good) {
            FAIL("plan %ld: math %d, %lld x %lld x %lld: %d parts of %lld, %lld x %lld tiles", k, (int)p.math,
                 (long long)p.M, (long long)p.N, (long long)p.K, (int)plan.splits, (long long)plan.part,
                 (long long)plan.tiles_m, (long long)plan.tiles_n);
            return;
        }
    }
    CHECK(tensor > 1000 && by_mma > 200 && rounded_only[0] > 5000 && rounded_only[1] > 5000 && split > 100 &&
          pairs > 500);
}

/* ---- recorded bits: the same in every order of the matrices, on every GPU and the stand-in but for tensor cores ----
 * */

static const struct {
    int M, N, K;
    double alpha, beta;
    uint64_t hash[4];
} recorded[] = {
    {1, 1, 1, 1, 0, {0xcc5791bcd6ed860a, 0x2db4ee96ab54cb56, 0x0a556a07b6bbd92a, 0x08328807b4eb6fed}},
    {3, 5, 7, 0.7, 1.3, {0x72a1560ffde06451, 0x60100013a031b81e, 0x609afe6c6f31c905, 0x00eac6068c33b02e}},
    {33, 17, 65, 1, 0, {0xf90b28e3b28dab46, 0x7ad8f00463cafad9, 0x37c982cb839d28a6, 0xfc704ad6dbab782d}},
    {64, 64, 64, -2, 0.5, {0xed0841d0a7136e35, 0x64fdd9a8bea21e72, 0xb8041c90ee8a1e65, 0x6626a6977b4fe1d5}},
    {100, 70, 130, 1, 0, {0x8b6e7fe3d0170b1f, 0x0eaa06f557714b58, 0xbc9a55e2ad747a48, 0x05d083fba8cffc30}},
    {129, 65, 40, 0.1, 0, {0x8133e4f810fa9653, 0x4c554ffbe30b1f94, 0x5320bd7794071ea2, 0x260a8fab63cb1ee3}},
    {5, 6, 9000, 1, 0, {0x9f91bae472def507, 0xd16acb0f840e2251, 0x512bf170841dfb3c, 0x719b335fa9b7ef12}},
    {32, 31, 2048, 0.3, -1.7, {0xbf28c4328fc9eb2c, 0x77bededa56ed0d36, 0x144447d10dc8209c, 0x8ac52b4c25306e93}},
    {1, 200, 3000, 1, 0, {0x4677568894553465, 0x6fcf494dd8efbae5, 0x18039d4332350465, 0xc0de89e5d696f245}},
    {200, 1, 1000, 1, 1, {0xb1389265b09bad53, 0xc613b753f5ec538a, 0xd06d79cef053a932, 0x5898a95d2e8cf211}},
    {70, 66, 1, 3, 0, {0x68296c311a64f149, 0x67c1958f7ed44855, 0x41da0b821cb23c36, 0xe3f8af09233dd543}},
    {17, 130, 0, 1, 0.9, {0x918412becacc420f, 0xbecfe3bfd49e42c3, 0xfcc991681809b3f6, 0xbd960dae770e6f8d}},
    {140, 150, 33, 1e-30, 0, {0x87c50625904a7565, 0xd1e951b881ae248e, 0xd577ec2e2dd2dee5, 0x94b5f89b9bbd8dd6}},
    {40, 30, 1030, 0, 2.5, {0xb2d4659dbea1a84b, 0xdf4aee0ddefa2cd7, 0x106d52e4a35a7d68, 0x179bdca30b792355}},
    {190, 240, 12, 1, 0, {0xdfb596a1088fe898, 0x8ae269f856311079, 0x5298f74a0defdfc3, 0x67a3eef91ba69b89}},
};

/* 0 where tensor cores computed it, whose bits are looked at here */
static uint64_t product_hash(gpul_dtype t, int k, int orders) {
    const int64_t sizes[3][2] = {
        {recorded[k].M, recorded[k].K}, {recorded[k].K, recorded[k].N}, {recorded[k].M, recorded[k].N}};
    gpul__gemm_plan plan;
    box b[3]; /* A, B, C */
    uint64_t hash = 0;
    lcg = (uint64_t)k;
    for (int m = 0; m < 3; m++) {
        box_2d(&b[m], t, sizes[m][0], sizes[m][1], (orders & 8 ? LAY_C_PAD : LAY_C) + (orders >> m & 1), 0, FILL_NAN);
        for (int64_t i = 0; i < b[m].n; i++) lcg_value(t, b[m].image + box_at(&b[m], i));
        if (k % 3 == 2 && m < 2 && b[m].n > 4) box_put(&b[m], b[m].n / 2, num_of(m ? INFINITY : NAN));
        box_upload(&b[m]);
    }
    CHECK_OK(gpul_gemm(&b[2].view, recorded[k].alpha, &b[0].view, &b[1].view, recorded[k].beta, NULL));
    BOX_GUARDS(&b[2]);
    if (tensor_plan(&plan, t, GPUL_MATH_IEEE, recorded[k].M, recorded[k].N, recorded[k].K, recorded[k].alpha))
        CHECK_INT(tensor_mismatches(&b[0], &b[1], &b[2], recorded[k].alpha, recorded[k].beta, &plan, 0), 0);
    else hash = box_hash(&b[2]);
    for (int m = 0; m < 3; m++) box_free(&b[m]);
    return hash;
}
static void test_recorded(void) {
    for (int k = 0; k < COUNT_OF(recorded); k++)
        for (int d = 0; d < 4; d++)
            for (int orders = k % 4; orders < 16; orders += 7) {
                if (left_out(k * 64 + d * 16 + orders)) continue;
                const uint64_t got = product_hash(types[d], k, orders);
                if (got == recorded[k].hash[d] || got == 0) check_pass();
                else
                    FAIL("%s, %d x %d x %d, orders %d: bits %016llx, recorded %016llx", gpul_dtype_name(types[d]),
                         recorded[k].M, recorded[k].N, recorded[k].K, orders, (unsigned long long)got,
                         (unsigned long long)recorded[k].hash[d]);
            }
}
static int record(void) {
    for (int k = 0; k < COUNT_OF(recorded); k++) {
        printf("    {%d, %d, %d, %g, %g, {", recorded[k].M, recorded[k].N, recorded[k].K, recorded[k].alpha,
               recorded[k].beta);
        for (int d = 0; d < 4; d++)
            printf("%s0x%016llx", d ? ", " : "", (unsigned long long)product_hash(types[d], k, 0));
        printf("}},\n");
    }
    return 0;
}

/* How many words of 16 bits, of which an element has `words`, are copied at a time: 8, or 2 of whole ones, or 1 */
static int at_a_time(const void *data, int64_t steps, int64_t pitch, int64_t dense, int64_t words) {
    const int64_t all = (int64_t)((uintptr_t)data / 2) | (steps | pitch) * words;
    return all % 8 == 0 ? 8 : (all | dense * words) % 2 == 0 ? 2 : 1;
}
/* Of random problems on random machines, with no kernel: a plan is pure, covers C and K once, has the parts that the
 * shape alone gives, fits the GPU, and claims no alignment that is not there. */
static void test_plans(void) {
    long split = 0, in_turn[3] = {0, 0, 0}, tiles_seen[7] = {0, 0, 0, 0, 0, 0, 0}, brief[4] = {0, 0, 0, 0}, aligned = 0,
         tensor_seen[2][9], shapes[4][4], copied = 0, gathered = 0, gathered_wide = 0, mixed = 0, together = 0,
         held[3] = {0, 0, 0}, by_mma[3][4], tf32[2] = {0, 0};
    const long less = left_out(1) ? 6 : 1;
    memset(tensor_seen, 0, sizeof tensor_seen);
    memset(by_mma, 0, sizeof by_mma);
    memset(shapes, 0, sizeof shapes);
    for (long k = 0; k < 600000 / less; k++) {
        const gpul_dtype t = types[rng_below(4)];
        const int64_t size = (int64_t)gpul_dtype_size(t), four = size * 4 < 16 ? size * 4 : 16;
        gpul__gemm_problem p, other;
        gpul__gemm_plan plan, again;
        gpul__machine machine;
        int32_t first_sms;
        int good, halves, few, narrow, rounded;
        memset(&machine, 0, sizeof machine);
        machine.sms = 1 + (int32_t)rng_below(200);
        machine.shared_optin = rng_below(2) ? 49152 : 232448;
        machine.wgmma = (int32_t)rng_below(2);
        machine.mma = machine.wgmma || rng_below(2);
        machine.sm_90a = machine.wgmma;
        random_clusters(&machine);
        random_problem(&p, t);
        if (t == GPUL_F32 && machine.mma && p.M > 0 && p.N > 0)
            p.math = (int32_t)rng_below(2) ? GPUL_MATH_TF32 : GPUL_MATH_IEEE;
        if (rng_below(4) == 0) p.beta = 1;
        if (rng_below(8) == 0) p.activation = GPUL_ACTIVATION_RELU;
        memset(&plan, 0xaa, sizeof plan);
        memset(&again, 0x55, sizeof again);
        good = gpul__plan_gemm(&plan, &p, &machine) == 1 && gpul__plan_gemm(&again, &p, &machine) == 1;
        good = good && memcmp(&plan, &again, sizeof plan) == 0;
        good = good && plan.tile >= 0 && plan.tile < (plan.tensor ? 2 : 7) && plan.splits >= 1 && plan.splits <= 256;
        good = good && (plan.tensor || (plan.group_rows >= 1 && plan.group_rows <= 8 &&
                                        (plan.group_rows == 1 || plan.group_rows <= plan.tiles_m)));
        if (good && plan.tensor) {
            good = plan.tile == 0 && (plan.tile_m == 64 || plan.tile_m == 128) && plan.tile_n % 32 == 0 &&
                   plan.tile_n >= 32 && plan.tile_n <= 256;
            tensor_seen[good ? plan.tile_m / 128 : 0][good ? plan.tile_n / 32 : 0]++;
        } else if (!plan.short_k) tiles_seen[good ? plan.tile : 0]++;
        few = is_thin(t, p.M, p.N, p.K, size == 2 && machine.mma && p.M > 0 && p.N > 0 ? 8 : 4) && !plan.scale_only;
        narrow = few && size == 2 && machine.mma && p.M > 0 && p.N > 0; /* by mma, in a kernel of its own */
        halves = size == 2 && p.K > 8 && !few && !plan.scale_only && p.M > 0 && p.N > 0;
        if (plan.short_k) { /* tiles of whole turns of their warps */
            const int64_t sharing = plan.short_k == 1 ? (size == 2 ? 32 : 64) : 16,
                          columns = plan.short_k == 1       ? (size == 8 ? 64 : 128)
                                    : plan.mma && p.K <= 16 ? 64
                                                            : 32;
            good = good && plan.tile_n == columns && plan.tile_m % sharing == 0 && plan.tile_m >= sharing &&
                   plan.tile_m <= 256 && plan.splits == 1 && !plan.a_pitch && !plan.b_pitch && plan.tile == 0 &&
                   plan.mma == (plan.short_k == 3) && (!plan.mma || halves) && plan.short_k <= (size == 2 ? 3 : 2) &&
                   (plan.scale_only || p.K <= (plan.mma ? 64 : short_steps(t))) &&
                   (plan.short_k != 1 || size < 8 || (!p.bias && !p.activation)) &&
                   (double)plan.tiles_m * (double)plan.tiles_n * (double)plan.batch < 2147483648.0;
            brief[plan.mma && p.K > 16 ? 0 : plan.short_k]++;
        }
        rounded = p.math == GPUL_MATH_TF32 && !plan.scale_only && rounds(p.M, p.N, p.K);
        good = good && (plan.tensor || plan.mma) == (((rounded || halves) && (machine.wgmma || machine.mma)) || narrow);
        good = good && !(plan.tensor && plan.mma) && (!plan.tensor || machine.wgmma) && (!plan.mma || machine.mma);
        /* K, in parts of whole slices, each a term or the 16 of a node */
        if (few && !plan.short_k) /* terms are whole turns of the kernel for few rows, which relies on it */
            good = good && (plan.term >= p.K || plan.term % (narrow ? 128 : 64) == 0);
        good = good && (plan.part == plan.term || plan.part == (plan.term < p.K / 16 ? 16 * plan.term : p.K));
        in_turn[plan.tensor ? 2 : plan.mma != 0] += plan.part > plan.term;
        good = good && plan.part * plan.splits >= p.K && plan.part * (plan.splits - 1) < (p.K ? p.K : 1);
        good = good &&
               (plan.splits == 1 || (plan.tensor || plan.mma ? plan.part * size % 128 == 0 && plan.part * size >= 512
                                                             : plan.part % 32 == 0 && plan.part >= 64));
        good = good && plan.scale_only == (p.K == 0 || p.alpha == 0) && (!plan.scale_only || plan.splits == 1);
        first_sms = machine.sms;
        other = p; /* the parts depend on nothing else */
        other.A = other.B = other.C = NULL;
        if (!plan.tensor && size == 2) other.dtype = rng_below(2) ? GPUL_F16 : GPUL_BF16;
        if (plan.tensor && size == 2) other.dtype = rng_below(2) ? GPUL_F16 : GPUL_BF16;
        machine.sms = 1 + (int32_t)rng_below(200);
        gpul__plan_gemm(&again, &other, &machine);
        good = good && again.term == plan.term;
        if (plan.tensor) { /* Hopper's bits are the same without wgmma */
            machine.wgmma = machine.sm_90a = 0;
            gpul__plan_gemm(&again, &other, &machine);
            good = good && again.mma && again.term == plan.term;
        }
        split += plan.splits > 1;
        /* C, in tiles */
        {
            static const int64_t high[3][7] = {{128, 64, 32, 64, 16, 64, 16},
                                               {128, 64, 32, 32, 8},
                                               {32, 128, 128, 64, 32, 32, 64}},
                                 wide[3][7] = {
                                     {256, 64, 32, 16, 64, 4, 4}, {128, 64, 32, 4, 4}, {32, 4, 128, 64, 32, 4, 8}};
            const int dtype = size == 2 || plan.mma ? 2
                              : size == 8           ? 1
                                                    : 0,
                      turned = !plan.tensor && !plan.short_k && wide[dtype][plan.tile] <= 8 && p.M < p.N;
            const int64_t one = plan.tensor    ? plan.tile_m * plan.cluster_m
                                : plan.short_k ? plan.tile_m
                                               : high[dtype][plan.tile],
                          other_one = plan.tensor    ? plan.tile_n * plan.cluster_n
                                      : plan.short_k ? plan.tile_n
                                                     : wide[dtype][plan.tile],
                          m = turned ? other_one : one, n = turned ? one : other_one;
            good = good && (narrow == (size == 2 && plan.tile == 6));
            good = good && (plan.short_k || plan.tensor ? plan.tile == 0
                            : plan.mma                  ? plan.tile >= 2 && plan.tile != 5
                                                        : size != 2 || plan.tile < 2 || plan.tile == 5);
            /* kernels for tensor cores have 16-bit types multiplied by no other ones, but for short K and few rows */
            good = good && (size != 2 || plan.tile != 0 || plan.tensor || plan.short_k || p.M == 0 || p.N == 0 ||
                            !(machine.mma || machine.wgmma));
            /* without those, short K is that kernel's */
            good = good && (size != 2 || p.K > 16 || plan.short_k || plan.tensor || plan.mma || p.M == 0 || p.N == 0);
            if (!plan.tensor) good = good && (!plan.short_k && wide[dtype][plan.tile] <= 8) == few;
            if (!plan.tensor) { /* tiles of each part; a counter for each 16 parts, and one for the sums of those */
                const int64_t tiles = plan.tiles_m * plan.tiles_n;
                good = good && plan.tile_m == m && plan.tile_n == n;
                good = good && plan.counters == (plan.splits > 1 ? tiles * ((plan.splits + 15) / 16 + 1) : 0);
                good = good && (plan.a_pitch || plan.b_pitch ? plan.a_at : plan.scratch_bytes) / 256 ==
                                   (plan.splits > 1 ? plan.splits * tiles * m * n * (t == GPUL_F64 ? 8 : 4) : 0) / 256;
            }
            const int64_t down = plan.held == 2 ? p.N : p.M, across = plan.held == 2 ? p.M : p.N;
            good = good && plan.tiles_m * m >= down && (plan.tiles_m - 1) * m < down && plan.tiles_n * n >= across &&
                   (plan.tiles_n - 1) * n < across;
        }
        if (plan.tensor) { /* tensor maps, and what lies one behind the other in scratch memory */
            const int along_a = p.a_col == 1, along_b = p.b_row == 1;
            const int a_along = along_a || (size == 4 && plan.held != 1), /* as the kernel reads it */
                b_along = along_b || (size == 4 && plan.held != 2);
            const int64_t a_dense = a_along ? p.K : p.M, a_lines = a_along ? p.M : p.K, b_dense = b_along ? p.K : p.N,
                          b_lines = b_along ? p.N : p.K;
            const int64_t tiles = plan.tiles_m * plan.tiles_n * plan.cluster_m * plan.cluster_n,
                          tile = plan.tile_m * plan.tile_n * 4, consumers = 2 * 64 * plan.tile_n * 4;
            const int counted = plan.splits > 1 && !plan.cluster_splits; /* the last block to arrive adds */
            int log_m = 0, log_n = 0, room;
            while (1 << log_m < plan.cluster_m) log_m++;
            while (1 << log_n < plan.cluster_n) log_n++;
            good = good && plan.cluster_m == 1 << log_m && plan.cluster_n == 1 << log_n && log_m + log_n < 4;
            if (good) shapes[log_m][log_n]++;
            good = good && plan.tile_n % (8 * plan.cluster_m) == 0; /* shares of a box are whole swizzles */
            good = good && (plan.cluster_splits
                                ? (plan.cluster == 2 || plan.cluster == 4 || plan.cluster == 8) && plan.splits > 1 &&
                                      plan.cluster >= plan.splits && plan.cluster < 2 * plan.splits &&
                                      plan.cluster_m * plan.cluster_n == 1 && plan.blocks == tiles * plan.cluster &&
                                      plan.share * plan.cluster == plan.tile_n && plan.share % 8 == 0
                                : plan.cluster == plan.cluster_m * plan.cluster_n && plan.share == plan.tile_n);
            room = plan.cluster == 1 ? first_sms : machine.clusters[plan.cluster == 2 ? 0 : plan.cluster == 4 ? 1 : 2];
            good = good && room > 0 && plan.blocks >= 1 && plan.blocks % plan.cluster == 0 && plan.group_rows >= 1 &&
                   (plan.cluster_splits || plan.blocks <= room * plan.cluster);
            good = good && (double)tiles * plan.splits < 2147483648.0;
            good = good && (plan.a_pitch ? plan.a_pitch >= a_dense && plan.a_pitch % 8 == 0
                                         : (plan.gathers & 1) ||
                                               ((along_a || size == 2 || plan.held == 1) && (uintptr_t)p.A % 16 == 0 &&
                                                (a_lines == 1 || (along_a ? p.a_row : p.a_col) * size % 16 == 0)));
            good = good && (plan.b_pitch ? plan.b_pitch >= b_dense && plan.b_pitch % 8 == 0
                                         : (plan.gathers & 2) ||
                                               ((along_b || size == 2 || plan.held == 2) && (uintptr_t)p.B % 16 == 0 &&
                                                (b_lines == 1 || (along_b ? p.b_col : p.b_row) * size % 16 == 0)));
            good = good &&
                   (!plan.held || (size == 4 && !(plan.held == 1 ? along_a || plan.a_pitch : along_b || plan.b_pitch)));
            good = good && (!plan.gathers || (plan.tile_m == 64 && plan.tile_n == 64 &&
                                              (plan.cluster == 1 || plan.cluster_splits) && !plan.held));
            good = good && !(plan.gathers & 1 && plan.a_pitch) && !(plan.gathers & 2 && plan.b_pitch);
            good = good && plan.promoted_at == (plan.splits > 1 ? plan.splits * tiles * tile : 0);
            good = good && plan.counters == (counted ? tiles * (plan.tile_m / 64) * ((plan.splits + 15) / 16 + 1) : 0);
            good = good && plan.promoted_at <= 64 << 20 && plan.a_at - plan.promoted_at <= ((int64_t)plan.blocks << 17);
            good = good &&
                   plan.a_at >= plan.promoted_at +
                                    (plan.part > plan.term || plan.part * size > 16384 ? plan.blocks * consumers : 0);
            good = good && plan.b_at >= plan.a_at + plan.a_pitch * a_lines * size && plan.a_at % 128 == 0 &&
                   plan.b_at % 128 == 0 && plan.scratch_bytes >= plan.b_at + plan.b_pitch * b_lines * size;
            if (plan.c_bulk)
                good = good && plan.share % plan.c_bulk == 0 && plan.c_bulk >= 8 && plan.c_bulk <= 64 &&
                       (plan.c_bulk & (plan.c_bulk - 1)) == 0 && (uintptr_t)p.C % 16 == 0 &&
                       (p.M == 1 || p.c_row % 8 == 0) && p.N >= 8 && size == 2;
            good = good && !plan.c_vector;
            copied += plan.a_pitch || plan.b_pitch;
            gathered += plan.gathers != 0;
            gathered_wide += plan.gathers && size == 4;
            mixed += plan.gathers && (plan.a_pitch || plan.b_pitch); /* one operand is copied, one gathered */
            together += plan.cluster_splits;
            held[plan.held]++;
        }
        if (narrow) good = good && plan.a_vector == 1 && plan.b_vector == 1 && !plan.a_pitch && !plan.b_pitch;
        else if (plan.mma && !plan.short_k) { /* rows are aligned, or copies' are */
            const int64_t pitch_a = p.a_col == 1 ? p.a_row : p.a_col, pitch_b = p.b_row == 1 ? p.b_col : p.b_row,
                          rows_a = p.a_col == 1 ? p.M : p.K, rows_b = p.b_row == 1 ? p.N : p.K,
                          dense_a = p.a_col == 1 ? p.K : p.M, dense_b = p.b_row == 1 ? p.K : p.N;
            const int vector_a = at_a_time(p.A, p.a_steps, rows_a == 1 ? 0 : pitch_a, dense_a, size / 2),
                      vector_b = at_a_time(p.B, p.b_steps, rows_b == 1 ? 0 : pitch_b, dense_b, size / 2);
            good = good && plan.a_vector == (plan.a_pitch ? 8 : vector_a);
            good = good && plan.b_vector == (plan.b_pitch ? 8 : vector_b);
            /* the largest takes none else, and Hopper's tensor cores take its products */
            good = good && (plan.tile > 2 || (plan.a_vector > 1 && plan.b_vector > 1 && !machine.sm_90a));
            good = good && (!plan.a_pitch || (vector_a < 8 && plan.a_pitch % 8 == 0 && plan.a_pitch >= dense_a));
            good = good && (!plan.b_pitch || (vector_b < 8 && plan.b_pitch % 8 == 0 && plan.b_pitch >= dense_b));
            if (plan.a_pitch || plan.b_pitch)
                good = good && size == 2 && plan.a_at % 256 == 0 && plan.b_at % 256 == 0 &&
                       plan.b_at >= plan.a_at + plan.a_pitch * rows_a * 2 &&
                       plan.scratch_bytes >= plan.b_at + plan.b_pitch * rows_b * 2;
            if (size == 4) tf32[machine.wgmma]++;
            else
                by_mma[(plan.a_vector > 1) + (plan.a_vector > 2)][(plan.a_pitch || plan.b_pitch) + 2 * machine.wgmma]++;
        }
        if (plan.a_vector && !plan.mma)
            good = good && (uintptr_t)p.A % (uintptr_t)four == 0 &&
                   (p.a_col == 1 ? p.a_row : p.a_col) * size % four == 0 &&
                   ((p.a_col != 1 && size < 8) || (p.a_col == 1 ? p.K : p.M) * size % 16 == 0) &&
                   (size != 8 || p.a_col != 1 || ((uintptr_t)p.A % 32 == 0 && p.a_row % 4 == 0));
        if (plan.b_vector && !plan.mma)
            good = good && (uintptr_t)p.B % (uintptr_t)four == 0 &&
                   (p.b_row == 1 ? p.b_col : p.b_row) * size % four == 0 &&
                   ((p.b_row != 1 && size < 8) || (p.b_row == 1 ? p.K : p.N) * size % 16 == 0) &&
                   (size != 8 || p.b_row != 1 || ((uintptr_t)p.B % 32 == 0 && p.b_col % 4 == 0));
        if (plan.c_vector && !plan.tensor)
            good = good && (uintptr_t)p.C % (uintptr_t)four == 0 && p.c_row * size % four == 0;
        aligned += plan.a_vector && plan.b_vector && plan.c_vector;
        if (!good) {
            FAIL("plan %ld: %s, %lld x %lld x %lld: tile %d, %d parts of %lld, %lld x %lld tiles", k,
                 gpul_dtype_name(t), (long long)p.M, (long long)p.N, (long long)p.K, (int)plan.tile, (int)plan.splits,
                 (long long)plan.part, (long long)plan.tiles_m, (long long)plan.tiles_n);
            return;
        }
    }
    CHECK(split > 1000 / less && aligned > 500 / less);
    for (int i = 0; i < 3; i++) CHECK(in_turn[i] > 10 / less); /* without tensor cores, by mma, by wgmma */
    for (int i = 0; i < 3; i++) CHECK(by_mma[i][0] > 100 / less && by_mma[i][2] > 100 / less);
    CHECK(by_mma[2][1] > 100 / less && tf32[0] > 100 / less && tf32[1] > 100 / less);
    for (int i = 0; i < 7; i++) CHECK(tiles_seen[i] > 100 / less);
    for (int i = 0; i < 4; i++) CHECK(brief[i] > 100 / less);
    CHECK(copied > 1000 / less && gathered > 1000 / less && gathered_wide > 100 / less && mixed > 100 / less &&
          together > 100 / less && held[1] > 100 / less && held[2] > 100 / less);
    for (int i = 0; i < 2; i++)
        for (int w = 1; w <= 8; w++) CHECK(tensor_seen[i][w] > 100 / less);
    for (int i = 0; i < 4; i++)
        for (int j = 0; i + j < 4; j++) CHECK(shapes[i][j] > 100 / less);
}

/* Choices are kept: a plan is the same whatever was planned before, the same shape aligned in another way included. */
static void test_plans_kept(void) {
    enum { kShapes = 300 };
    static gpul__gemm_plan plans[kShapes][2];
    static gpul__gemm_problem problems[kShapes];
    gpul__machine machine;
    int differ = 0;
    memset(&machine, 0, sizeof machine);
    machine.sms = 132;
    machine.shared_optin = 232448;
    machine.wgmma = 1;
    random_clusters(&machine);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < kShapes; i++) { /* the second time in the reverse order, so that few are still kept */
            const int k = pass ? kShapes - 1 - i : i;
            gpul__gemm_problem *const p = &problems[k];
            if (pass == 0) {
                memset(p, 0, sizeof *p);
                p->dtype = rng_below(2) ? GPUL_F16 : GPUL_BF16;
                p->M = 64 * (1 + rng_below(100));
                p->N = 64 * (1 + rng_below(100));
                p->K = 64 * (1 + rng_below(20));
                p->a_row = p->b_col = p->K;
                p->a_col = p->b_row = 1;
                p->c_row = p->N;
                p->alpha = 1;
                p->batch = 1;
                p->A = p->B = p->C = (void *)plans; /* nothing is read */
            }
            for (int j = 0; j < 2; j++) {
                gpul__gemm_plan plan;
                p->A = (char *)(((uintptr_t)plans + 127) / 128 * 128) + (pass == j ? 0 : 16); /* on a line, or not */
                CHECK_INT(gpul__plan_gemm(&plan, p, &machine), 1);
                if (pass == 0) plans[k][j] = plan;
                else if (memcmp(&plan, &plans[k][1 - j], sizeof plan) != 0) {
                    FAIL("plan %d: %lld x %lld x %lld depends on others", k, (long long)p->M, (long long)p->N,
                         (long long)p->K);
                    return;
                }
            }
            if (pass == 0) differ += memcmp(&plans[k][0], &plans[k][1], sizeof plans[k][0]) != 0;
        }
    }
    CHECK(differ > kShapes / 10); /* else nothing was compared */
}

static long other_copies[2]; /* of A and of B, before products by mma */
/* A product by the plan of a machine that has fewer multiprocessors, and room for fewer clusters, or none */
static void other_plan(box *C, double alpha, const box *A, const box *B, double beta, const gpul_gemm_options *options,
                       const gpul__machine *real) {
    gpul__gemm_problem p;
    gpul__gemm_plan plan;
    gpul__machine machine = *real;
    gpul_array scratch = GPUL_ZERO, counters = GPUL_ZERO;
    machine.sms = 1 + (int32_t)rng_below((int64_t)1 << rng_below(8));
    if (machine.sms > real->sms) machine.sms = real->sms;
    for (int i = 0; i < 3; i++)
        machine.clusters[i] = real->clusters[i] && rng_below(2) ? 1 + (int32_t)rng_below(real->clusters[i]) : 0;
    if (gpul_dtype_size(C->view.dtype) == 2 && rng_below(3) == 0) machine.wgmma = 0; /* by mma: the same bits */
    memset(&p, 0, sizeof p);
    p.dtype = C->view.dtype;
    p.math = options->math;
    p.M = C->view.shape[0];
    p.N = C->view.shape[1];
    p.K = A->view.shape[1];
    p.A = A->view.data;
    p.B = B->view.data;
    p.C = C->view.data;
    p.a_row = A->view.strides[0];
    p.a_col = A->view.strides[1];
    p.b_row = B->view.strides[0];
    p.b_col = B->view.strides[1];
    p.c_row = C->view.strides[0];
    p.alpha = alpha;
    p.beta = beta;
    p.batch = 1;
    p.activation = options->activation;
    if (options->bias) {
        p.bias = options->bias->data;
        p.bias_dtype = options->bias->dtype;
        p.bias_n = 1;
    }
    CHECK_INT(gpul__plan_gemm(&plan, &p, &machine), 1);
    other_copies[0] += plan.mma && plan.a_pitch;
    other_copies[1] += plan.mma && plan.b_pitch;
    CHECK_OK(gpul_device_array(&scratch, GPUL_U8, gpul_1d(plan.scratch_bytes + 1), NULL));
    CHECK_OK(gpul_device_array(&counters, GPUL_I32, gpul_1d(plan.counters + 1), NULL));
    CHECK_OK(gpul_fill(&counters, 0, NULL));
    CHECK_INT(gpul__launch_gemm(&p, &plan, &machine, (uint32_t *)counters.data, scratch.data, NULL), 0);
    CHECK_OK(gpul_free(&scratch));
    CHECK_OK(gpul_free(&counters));
}
/* Whatever tiles and clusters a plan chooses, the bits are the same, and nothing is written around C. */
static void test_other_plans(void) {
    gpul__machine real;
    gpul_device device;
    int64_t least, most; /* bits of a size */
    memset(&real, 0, sizeof real);
    CHECK_OK(gpul_device_info(&device, 0));
    CHECK_INT(gpul__find_tensor_cores(&real), 0);
    least = real.wgmma ? 4 : 0;
    most = least ? 10 : 8;
    real.sms = device.sms;
    real.shared_optin = 232448;
    for (int k = 0; k < (least ? 400 : 100); k++) {
        const gpul_dtype t = types[rng_below(4)], other = t == GPUL_F64 ? GPUL_F64 : GPUL_F32;
        const int64_t step = rng_below(2) ? 8 : 1; /* 8: bulk copies take operands and C */
        const int64_t offset = step == 8 ? 0 : rng_below(4);
        const int64_t M = ((int64_t)1 << (least + rng_below(most - least))) + step * rng_below(9),
                      N = ((int64_t)1 << (least + rng_below(most - least))) + step * rng_below(9),
                      K = ((int64_t)1 << (least + rng_below(most - least + 2))) + step * rng_below(9);
        const int orders = (int)rng_below(4);
        const double alpha = rng_below(3) ? 1 : -0.75, beta = rng_below(3) ? 0 : 0.5;
        gpul_gemm_options options = GPUL_ZERO;
        uint64_t first = 0;
        box A, B, C, bias;
        if (left_out(k)) continue;
        box_2d(&A, t, M, K, LAY_C + (orders & 1), offset, FILL_NAN);
        box_2d(&B, t, K, N, LAY_C + (orders >> 1), offset, FILL_NAN);
        box_2d(&C, t, M, N, LAY_C, offset, FILL_NAN);
        box_1d(&bias, rng_below(2) ? t : other, N, 0, FILL_NAN);
        box_random(&A, 0);
        box_random(&B, 0);
        box_random(&C, 0);
        box_random(&bias, 0);
        if (rng_below(3) == 0) options.bias = &bias.view;
        if (rng_below(3) == 0) options.activation = 1 + (int32_t)rng_below(2);
        if (t == GPUL_F32 && rng_below(2)) options.math = GPUL_MATH_TF32;
        for (int run = 0; run < 4; run++) {
            box_upload(&C);
            if (run) other_plan(&C, alpha, &A, &B, beta, &options, &real);
            else CHECK_OK(gpul_gemm_ex(&C.view, alpha, &A.view, &B.view, beta, &options, NULL));
            BOX_GUARDS(&C);
            if (run == 0) first = box_hash(&C);
            else if (box_hash(&C) == first) check_pass();
            else
                FAIL("%s, %lld x %lld x %lld, orders %d, offset %d, alpha %g, beta %g: other bits", gpul_dtype_name(t),
                     (long long)M, (long long)N, (long long)K, orders, (int)offset, alpha, beta);
        }
        box_free(&A);
        box_free(&B);
        box_free(&C);
        box_free(&bias);
    }
}

/* By mma, operands whose rows begin anywhere are copied first where that takes less. */
static void test_copied_operands(void) {
    const gpul_gemm_options options = GPUL_ZERO;
    gpul__machine slow;
    memset(&slow, 0, sizeof slow);
    CHECK_INT(gpul__find_tensor_cores(&slow), 0);
    if (!slow.mma) return;
    slow.wgmma = 0;
    slow.sms = 1;
    slow.shared_optin = 101376;    /* as GPUs other than Hopper's have */
    for (int k = 0; k < 32; k++) { /* orders, which are misaligned, type */
        const gpul_dtype t = k & 16 ? GPUL_F16 : GPUL_BF16;
        const long before[2] = {other_copies[0], other_copies[1]};
        uint64_t hash;
        box m[3];
        if (left_out(k)) continue;
        box_2d(&m[0], t, 80, 520, LAY_C + (k & 1), k & 4 ? 3 : 0, FILL_NAN);
        box_2d(&m[1], t, 520, 72, LAY_C + (k >> 1 & 1), k & 8 ? 1 : 0, FILL_NAN);
        box_2d(&m[2], t, 80, 72, LAY_C, 0, FILL_NAN);
        for (int j = 0; j < 3; j++) box_random(&m[j], 0);
        box_upload(&m[2]);
        CHECK_OK(gpul_gemm(&m[2].view, 1, &m[0].view, &m[1].view, 0, NULL));
        BOX_GUARDS(&m[2]);
        hash = box_hash(&m[2]);
        box_upload(&m[2]);
        other_plan(&m[2], 1, &m[0], &m[1], 0, &options, &slow);
        BOX_GUARDS(&m[2]);
        CHECK(box_hash(&m[2]) == hash);
        CHECK(other_copies[0] - before[0] == (k >> 2 & 1) && other_copies[1] - before[1] == (k >> 3 & 1));
        for (int j = 0; j < 3; j++) box_free(&m[j]);
    }
}

static void test_errors(void) {
    static const char *const m = "gpul_matmul", *const g = "gpul_gemm";
    gpul_array A = GPUL_ZERO, B = GPUL_ZERO, C = GPUL_ZERO, d = GPUL_ZERO, i = GPUL_ZERO, v = GPUL_ZERO,
               zero = GPUL_ZERO, part = GPUL_ZERO, wide = GPUL_ZERO, gaps = GPUL_ZERO;
    float got[10];
    CHECK_OK(gpul_device_array(&A, GPUL_F32, gpul_2d(2, 3), NULL));
    CHECK_OK(gpul_device_array(&B, GPUL_F32, gpul_2d(3, 5), NULL));
    CHECK_OK(gpul_device_array(&C, GPUL_F32, gpul_2d(2, 5), NULL));
    CHECK_OK(gpul_fill(&C, 77, NULL));
    CHECK_OK(gpul_device_array(&d, GPUL_F64, gpul_2d(3, 5), NULL));
    CHECK_OK(gpul_device_array(&i, GPUL_I32, gpul_2d(2, 3), NULL));
    CHECK_OK(gpul_device_array(&v, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_device_array(&wide, GPUL_F32, gpul_2d(10, 10), NULL));
    CHECK_FAILS(gpul_matmul(NULL, &A, &B, NULL), GPUL_ERROR_ARGUMENT, m, "C");
    CHECK_FAILS(gpul_matmul(&zero, &A, &B, NULL), GPUL_ERROR_ARGUMENT, m, "C");
    CHECK_FAILS(gpul_matmul(&C, NULL, &B, NULL), GPUL_ERROR_ARGUMENT, m, "A");
    CHECK_FAILS(gpul_matmul(&C, &zero, &B, NULL), GPUL_ERROR_ARGUMENT, m, "A");
    CHECK_FAILS(gpul_matmul(&C, &A, NULL, NULL), GPUL_ERROR_ARGUMENT, m, "B");
    CHECK_FAILS(gpul_matmul(&C, &A, &zero, NULL), GPUL_ERROR_ARGUMENT, m, "B");
    CHECK_FAILS(gpul_matmul(&C, &i, &B, NULL), GPUL_ERROR_DTYPE, m, "A");
    CHECK_FAILS(gpul_matmul(&C, &A, &d, NULL), GPUL_ERROR_DTYPE, m, "B");
    CHECK_FAILS(gpul_matmul(&d, &A, &B, NULL), GPUL_ERROR_DTYPE, m,
                ": C is float64, but A is float32 and B is float32");
    CHECK_FAILS(gpul_matmul(&C, &d, &B, NULL), GPUL_ERROR_DTYPE, m,
                ": A is float64, but C is float32 and B is float32");
    CHECK_FAILS(gpul_matmul(&C, &v, &B, NULL), GPUL_ERROR_SHAPE, m, "A");
    CHECK_FAILS(gpul_matmul(&C, &A, &v, NULL), GPUL_ERROR_SHAPE, m, "B");
    CHECK_FAILS(gpul_matmul(&v, &A, &B, NULL), GPUL_ERROR_SHAPE, m, "C");
    CHECK_FAILS(gpul_matmul(&C, &A, &A, NULL), GPUL_ERROR_SHAPE, m, "B");
    CHECK_FAILS(gpul_matmul(&B, &A, &B, NULL), GPUL_ERROR_SHAPE, m, "C");
    CHECK_FAILS(gpul_gemm(&C, 1, NULL, &B, 0, NULL), GPUL_ERROR_ARGUMENT, g, "A");
    CHECK_FAILS(gpul_gemm(&C, 1, &A, NULL, 0, NULL), GPUL_ERROR_ARGUMENT, g, "B");
    CHECK_FAILS(gpul_gemm(NULL, 1, &A, &B, 0, NULL), GPUL_ERROR_ARGUMENT, g, "C");
    CHECK_FAILS(gpul_gemm(&C, 1, &i, &B, 0, NULL), GPUL_ERROR_DTYPE, g, "A");
    CHECK_FAILS(gpul_gemm(&C, 1, &A, &A, 0, NULL), GPUL_ERROR_SHAPE, g, "B");
    CHECK_FAILS(gpul_gemm(&B, 1, &A, &B, 0, NULL), GPUL_ERROR_SHAPE, g, "C");
    {
        static const char *const e = "gpul_gemm_ex";
        gpul_gemm_options o = GPUL_ZERO;
        gpul_array D = GPUL_ZERO, F = GPUL_ZERO;
        CHECK_OK(gpul_device_array(&D, GPUL_F64, gpul_2d(2, 3), NULL));
        CHECK_OK(gpul_device_array(&F, GPUL_F64, gpul_2d(2, 5), NULL));
        CHECK_FAILS(gpul_gemm_ex(NULL, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_ARGUMENT, e, "C");
        CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &A, 0, NULL, NULL), GPUL_ERROR_SHAPE, e, "B");
        o.math = 3;
        CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_ARGUMENT, e, "options->math is 3");
        o.math = -1;
        CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_ARGUMENT, e, "options->math is -1");
        o.math = GPUL_MATH_TF32;
        CHECK_FAILS(gpul_gemm_ex(&F, 1, &D, &d, 0, &o, NULL), GPUL_ERROR_DTYPE, e,
                    "A is float64, but options->math is GPUL_MATH_TF32 (1), which takes float32");
        o.math = GPUL_MATH_EMULATED;
        CHECK_FAILS(gpul_gemm_ex(&F, 1, &D, &d, 0, &o, NULL), GPUL_ERROR_DTYPE, e, "GPUL_MATH_EMULATED (2)");
        o.math = GPUL_MATH_IEEE;
        CHECK_OK(gpul_gemm_ex(&F, 0, &D, &d, 0, &o, NULL));
        o.activation = 7;
        CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_ARGUMENT, e, "options->activation is 7");
        CHECK_OK(gpul_free_all(&D, &F));
    }
    {
        gpul_array a = GPUL_ZERO, b = GPUL_ZERO, c = GPUL_ZERO, t = GPUL_ZERO;
        CHECK_OK(gpul_slice(&part, &wide, 0, 0, 4, 1));
        CHECK_OK(gpul_slice(&a, &part, 1, 0, 4, 1));
        CHECK_OK(gpul_slice(&b, &part, 1, 4, 8, 1));
        CHECK_OK(gpul_slice(&c, &part, 1, 3, 7, 1));
        CHECK_FAILS(gpul_matmul(&c, &a, &a, NULL), GPUL_ERROR_OVERLAP, m, "A");
        CHECK_FAILS(gpul_gemm(&b, 1, &a, &b, 0, NULL), GPUL_ERROR_OVERLAP, g, "B");
        CHECK_OK(gpul_fill(&wide, 1, NULL));
        CHECK_OK(gpul_matmul(&b, &a, &a, NULL));        /* side by side in one matrix: no overlap */
        CHECK_OK(gpul_slice(&gaps, &wide, 0, 0, 8, 2)); /* both strides above 1 */
        CHECK_OK(gpul_slice(&gaps, &gaps, 1, 0, 8, 2));
        CHECK_OK(gpul_device_array(&t, GPUL_F32, gpul_2d(4, 4), NULL));
        CHECK(gpul_matmul(&t, &gaps, &gaps, NULL) != GPUL_OK);
        CHECK(strstr(gpul_last_error()->message, "stride") != NULL);
        CHECK_OK(gpul_free(&t));
    }
    CHECK_OK(gpul_copy_to_host(got, &C, NULL));
    CHECK(got[0] == 77 && got[9] == 77);
    CHECK_OK(gpul_free(&A));
    CHECK_OK(gpul_free(&B));
    CHECK_OK(gpul_free(&C));
    CHECK_OK(gpul_free(&d));
    CHECK_OK(gpul_free(&i));
    CHECK_OK(gpul_free(&v));
    CHECK_OK(gpul_free(&wide));
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--record") == 0) return record();
    check_begin(TEST_PORTABLE ? "matmul_portable" : "matmul");
#ifdef GPULITE_CPU_STANDIN
    if (TEST_PORTABLE) standin_guise("CPU stand-in (no GPU)", 75, 75);
#endif
    RUN(test_small);
    RUN(test_sizes);
    RUN(test_orders_of_matrices);
    RUN(test_tiles);
    RUN(test_short_k);
    RUN(test_thin);
    RUN(test_thin_end);
    RUN(test_padded_ends);
    RUN(test_integers);
    RUN(test_nan);
    RUN(test_zeros);
    RUN(test_row_alone);
    RUN(test_chain);
    RUN(test_other_plans);
    if (TEST_PORTABLE) return check_end();
    RUN(test_tensor_cores);
    RUN(test_long_sums);
    RUN(test_math);
    RUN(test_emulated);
    RUN(test_emulated_wide);
    RUN(test_grade);
    RUN(test_math_graph);
    RUN(test_math_unread);
    RUN(test_math_plans);
    RUN(test_recorded);
    RUN(test_plans);
    RUN(test_plans_kept);
    RUN(test_copied_operands);
    RUN(test_errors);
    return check_end();
}
