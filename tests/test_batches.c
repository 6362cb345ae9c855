/* SPDX-License-Identifier: MIT Stacks of matrices and what follows a product: each of a stack has the bits that it has
 * alone, in any layout; numpy.matmul's shapes; bias and activation against the host; errors. */
#define GPULITE__KERNELS /* the plans, which are private */
#include "check.h"

static const gpul_dtype types[4] = {GPUL_F32, GPUL_F64, GPUL_F16, GPUL_BF16};

/* A matrix of a stack, as an array of its own: the one that C's [i, j] is computed of */
static gpul_array matrix_of(const gpul_array *a, int32_t ndim, const int64_t *index) {
    const int32_t shift = ndim - a->ndim;
    gpul_array m = *a;
    int64_t at = 0;
    for (int32_t k = 0; k < a->ndim - 2; k++)
        if (a->shape[k] > 1) at += index[k + shift] * a->strides[k];
    m.data = (char *)m.data + at * (int64_t)gpul_dtype_size(a->dtype);
    m.ndim = 2;
    for (int k = 0; k < 2; k++) {
        m.shape[k] = a->shape[a->ndim - 2 + k];
        m.strides[k] = a->strides[a->ndim - 2 + k];
    }
    for (int k = 2; k < GPUL_MAX_DIMS; k++) {
        m.shape[k] = 1;
        m.strides[k] = 0;
    }
    m.owned = 0;
    return m;
}

/* The product of stacks, in one call, and of each pair of matrices alone: every byte of C's buffer is the same, its
 * gaps and guards too. `orders`: bits 0 to 2 make the matrices of A, B and C column-major. */
static void compare(gpul_array *C, const gpul_array *A, const gpul_array *B, box *out, double alpha, double beta,
                    const gpul_gemm_options *options, const char *what) {
    unsigned char *const got = (unsigned char *)malloc((size_t)out->bytes + 1);
    int64_t count = 1, index[2];
    box_upload(out);
    CHECK_OK(options                   ? gpul_gemm_ex(C, alpha, A, B, beta, options, NULL)
             : beta == 0 && alpha == 1 ? gpul_matmul(C, A, B, NULL)
                                       : gpul_gemm(C, alpha, A, B, beta, NULL));
    BOX_GUARDS(out);
    memcpy(got, out->now, (size_t)out->bytes);
    for (int32_t k = 0; k < C->ndim - 2; k++) count *= C->shape[k];
    if (count > 600) count = 600; /* the rest is asked for elsewhere: see test_many */
    box_upload(out);
    for (int64_t i = 0; i < count; i++) {
        gpul_array c, a, b;
        index[0] = C->ndim == 4 ? i / C->shape[1] : i;
        index[1] = C->ndim == 4 ? i % C->shape[1] : 0;
        c = matrix_of(C, C->ndim, index);
        a = matrix_of(A, C->ndim, index);
        b = matrix_of(B, C->ndim, index);
        CHECK_OK(gpul_gemm_ex(&c, alpha, &a, &b, beta, options, NULL));
    }
    box_fetch(out);
    if (count < 600 && memcmp(got, out->now, (size_t)out->bytes) != 0) {
        int64_t at = 0;
        while (got[at] == out->now[at]) at++;
        FAIL("%s %s: byte %lld of %lld differs from that of the single products", what, gpul_dtype_name(C->dtype),
             (long long)at, (long long)out->bytes);
    } else {
        check_pass();
    }
    free(got);
}

/* Strides of a stack: the matrices' own dimensions in either order, with a gap behind each line and each matrix, the
 * stack outside (0), or between the lines (1: as attention has its heads) */
static void stack_strides(int64_t *strides, int32_t ndim, const int64_t *shape, int column_major, int64_t line_gap,
                          int64_t matrix_gap, int between) {
    const int32_t dense = column_major ? ndim - 2 : ndim - 1, other = column_major ? ndim - 1 : ndim - 2;
    int64_t step = shape[dense] + line_gap;
    strides[dense] = 1;
    if (between) {
        for (int32_t k = ndim - 3; k >= 0; k--) {
            strides[k] = step;
            step *= shape[k] > 0 ? shape[k] : 1;
        }
        strides[other] = step;
        return;
    }
    strides[other] = step;
    step = step * (shape[other] > 0 ? shape[other] : 1) + matrix_gap;
    for (int32_t k = ndim - 3; k >= 0; k--) {
        strides[k] = step;
        step *= shape[k] > 0 ? shape[k] : 1;
    }
}

typedef struct stack_case {
    int32_t ndim[3];     /* of A, B, C */
    int64_t front[3][2]; /* their dimensions before the matrices' */
    int64_t M, N, K;
} stack_case;

static void one_case(gpul_dtype t, const stack_case *s, int orders, int gaps, int64_t offset, double alpha, double beta,
                     const gpul_gemm_options *options) {
    box m[3];
    char what[160];
    for (int i = 0; i < 3; i++) {
        int64_t shape[4], strides[4];
        const int32_t ndim = s->ndim[i];
        for (int32_t k = 0; k < ndim - 2; k++) shape[k] = s->front[i][k];
        shape[ndim - 2] = i == 1 ? s->K : s->M;
        shape[ndim - 1] = i == 0 ? s->K : s->N;
        stack_strides(strides, ndim, shape, orders >> i & 1, gaps & 1 ? 3 : 0, gaps & 2 ? 5 : 0, gaps >> (2 + i) & 1);
        box_make_strided(&m[i], GPUL_MEMORY_DEVICE, t, ndim, shape, strides, offset, i == 2);
        box_random(&m[i], 0);
    }
    snprintf(
        what, sizeof what, "%lld x %lld x %lld, stack (%lld, %lld), orders %d, gaps %d, alpha %g, beta %g, math %d",
        (long long)s->M, (long long)s->N, (long long)s->K, (long long)(s->ndim[2] > 2 ? s->front[2][0] : 1),
        (long long)(s->ndim[2] > 3 ? s->front[2][1] : 1), orders, gaps, alpha, beta, options ? (int)options->math : 0);
    compare(&m[2].view, &m[0].view, &m[1].view, &m[2], alpha, beta, options, what);
    for (int i = 0; i < 2; i++) BOX_UNCHANGED(&m[i]);
    for (int i = 0; i < 3; i++) box_free(&m[i]);
}

static const stack_case shapes[] = {
    {{3, 3, 3}, {{2}, {2}, {2}}, 5, 7, 3},
    {{3, 3, 3}, {{3}, {3}, {3}}, 33, 65, 17},
    {{3, 2, 3}, {{3}, {0}, {3}}, 20, 9, 40},  /* one B for all */
    {{2, 3, 3}, {{0}, {4}, {4}}, 9, 20, 33},  /* one A for all */
    {{3, 3, 3}, {{1}, {3}, {3}}, 70, 40, 12}, /* the same, in a stack of one */
    {{3, 3, 3}, {{1}, {1}, {1}}, 30, 31, 32},
    {{4, 4, 4}, {{2, 3}, {2, 3}, {2, 3}}, 17, 18, 19},
    {{4, 3, 4}, {{3, 1}, {2}, {3, 2}}, 16, 24, 40}, /* every A with every B */
    {{3, 4, 4}, {{3}, {2, 1}, {2, 3}}, 8, 5, 21},
    {{4, 2, 4}, {{2, 2}, {0}, {2, 2}}, 3, 4, 5},
    {{3, 3, 3}, {{3}, {3}, {3}}, 4, 6, 3000}, /* K in parts */
    {{3, 2, 3}, {{5}, {0}, {5}}, 65, 3, 700},
    {{3, 3, 3}, {{2}, {2}, {2}}, 6, 7, 0},
    {{3, 3, 3}, {{0}, {0}, {0}}, 6, 7, 5},
    {{3, 3, 3}, {{0}, {1}, {0}}, 6, 7, 5},
    {{4, 4, 4}, {{2, 0}, {2, 1}, {2, 0}}, 6, 7, 5},
    {{3, 3, 3}, {{3}, {3}, {3}}, 0, 7, 5},
    {{3, 3, 3}, {{4}, {4}, {4}}, 1, 1, 1},
    {{3, 3, 3}, {{3}, {3}, {3}}, 1, 300, 70},
    {{3, 3, 3}, {{3}, {3}, {3}}, 300, 1, 70},
    {{3, 3, 3}, {{3}, {3}, {3}}, 64, 64, 64}, /* from here on 16 bits go to tensor cores */
    {{3, 3, 3}, {{5}, {5}, {5}}, 128, 72, 136},
    {{3, 2, 3}, {{3}, {0}, {3}}, 100, 136, 64},
    {{4, 3, 4}, {{2, 1}, {3}, {2, 3}}, 65, 66, 67},
    {{3, 3, 3}, {{2}, {2}, {2}}, 16, 48, 9000},
};

static void test_stacks(void) { /* alignment, order, gaps and where the stack lies: any */
    int k = 0;
    for (int i = 0; i < COUNT_OF(shapes); i++)
        for (int d = 0; d < 4; d++)
            for (int how = 0; how < 4; how++, k++) {
                const double alpha = how == 2 ? -1.5 : how == 3 && d == 1 ? 0 : 1, beta = how == 1 ? 0.75 : 0;
                if (left_out(k) || (shapes[i].K > 1000 && how > 1)) continue;
                one_case(types[d], &shapes[i], how == 0 ? 0 : (k * 5 + how) % 8, how == 0 ? 0 : (k * 11 + how) % 32,
                         how == 0 ? 0 : k % 3, alpha, beta, NULL);
            }
}

static void test_math_of_stacks(void) {
    gpul_gemm_options options = GPUL_ZERO;
    for (int i = 0; i < COUNT_OF(shapes); i++)
        for (int math = GPUL_MATH_TF32; math <= GPUL_MATH_EMULATED; math++) {
            if (left_out(i * 2 + math)) continue;
            options.math = math;
            one_case(GPUL_F32, &shapes[i], (i * 3 + math) % 8, (i * 7) % 32, i % 2, i % 3 == 1 ? -1.5 : 1,
                     i % 4 == 2 ? 0.5 : 0, &options);
        }
    options.math = GPUL_MATH_TF32;
    for (int orders = 0; orders < 8; orders++) { /* operands may pass through registers */
        const stack_case aligned = {{3, 3, 3}, {{3}, {3}, {3}}, 72, 132, 68},
                         of_one_a = {{2, 3, 3}, {{0}, {2}, {2}}, 20, 136, 36},
                         of_one_b = {{3, 2, 3}, {{2}, {0}, {2}}, 136, 20, 36};
        if (left_out(orders)) continue;
        one_case(GPUL_F32, &aligned, orders, 0, 0, 1, orders % 3 == 1 ? 0.5 : 0, &options);
        one_case(GPUL_F32, &of_one_a, orders, 0, 0, 1, 0, &options);
        one_case(GPUL_F32, &of_one_b, orders, 0, 0, 1, 0, &options);
    }
    if (large_tests()) { /* on Hopper: emulated */
        const stack_case large = {{3, 2, 3}, {{2}, {0}, {2}}, 1030, 1020, 1030};
        options.math = GPUL_MATH_EMULATED;
        one_case(GPUL_F32, &large, 2, 3, 1, 1, 0.5, &options);
    }
}

/* More than a grid has in y: products of all, and of the last ones, against the host; no launch has more than 65535 */
static void test_many(void) {
    enum { MANY = 65537 };
    static const double of_c[] = {3, 5};
    if (left_out(1)) return;
    for (int d = 0; d < (large_tests() ? 2 : 1); d++) {
        int64_t wrong = 0, shape[3] = {MANY, 1, 2}, of_a[3] = {MANY, 1, 3}, of_b[3] = {MANY, 3, 2};
        box A, B, C;
        box_make(&A, types[2 * d], 3, of_a, LAY_C, 0, 0);
        box_make(&B, types[2 * d], 3, of_b, LAY_C, 0, 0);
        box_make(&C, types[2 * d], 3, shape, LAY_C, 0, 1);
        for (int64_t i = 0; i < A.n; i++) box_put(&A, i, num_of((double)(i % 113)));
        for (int64_t i = 0; i < B.n; i++) box_put(&B, i, num_of(of_c[i % 2] - (double)(i % 6 / 2)));
        box_upload(&A);
        box_upload(&B);
        CHECK_OK(gpul_matmul(&C.view, &A.view, &B.view, NULL));
        BOX_GUARDS(&C);
        for (int64_t i = 0; i < C.n; i++) {
            double want = 0;
            for (int64_t k = 0; k < 3; k++)
                want += box_get(&A, i / 2 * 3 + k).f * box_get(&B, i / 2 * 6 + k * 2 + i % 2).f;
            wrong += box_got(&C, i).f != want;
        }
        CHECK_INT(wrong, 0);
        box_free(&A);
        box_free(&B);
        box_free(&C);
    }
}

/* ---- bias and activation ---- */

static double gelu(double x) { return x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x))); }

/* The epilogue begins with what gpul_gemm gives, in the type that is computed in: of integers, and so exact. */
static void epilogue_case(gpul_dtype t, int64_t batch, int64_t M, int64_t N, int64_t K, int orders, int64_t offset,
                          double beta, int activation, gpul_dtype of_bias, int math) {
    const gpul_dtype wide = t == GPUL_F64 ? GPUL_F64 : GPUL_F32;
    const double u = t == GPUL_F64 ? 0x1p-53 : 0x1p-24;
    const int64_t b_shape[1] = {N}, b_strides[1] = {orders & 1 ? 3 : 1};
    int64_t wrong = 0;
    gpul_gemm_options options = GPUL_ZERO;
    box m[3], bias;
    for (int i = 0; i < 3; i++) {
        int64_t shape[3], strides[3];
        shape[0] = batch;
        shape[1] = i == 1 ? K : M;
        shape[2] = i == 0 ? K : N;
        stack_strides(strides, 3, shape, orders >> i & 1, orders & 8 ? 3 : 0, 0, 0);
        box_make_strided(&m[i], GPUL_MEMORY_DEVICE, t, 3, shape, strides, offset, i == 2);
        for (int64_t k = 0; k < m[i].n; k++)
            box_put(&m[i], k, num_of(i == 2 && beta == 0 ? NAN : (double)(rng_below(5) - 2) / (i == 1 ? 4 : 1)));
        if (K > 2 && i == 0) box_put(&m[i], 1, num_of(NAN)); /* spoils the first row */
        box_upload(&m[i]);
    }
    options.math = math;
    options.activation = activation;
    if (of_bias) {
        box_make_strided(&bias, GPUL_MEMORY_DEVICE, of_bias, 1, b_shape, b_strides, offset, 0);
        for (int64_t k = 0; k < N; k++) box_put(&bias, k, num_of(rng_signed()));
        box_upload(&bias);
        options.bias = &bias.view;
    }
    CHECK_OK(gpul_gemm_ex(&m[2].view, 1.5, &m[0].view, &m[1].view, beta, &options, NULL));
    BOX_GUARDS(&m[2]);
    for (int64_t i = 0; i < m[2].n; i++) {
        const int64_t item = i / (M * N), row = i / N % M, col = i % N;
        const double got = box_got(&m[2], i).f;
        unsigned char text[8], high[8];
        double value = 0, low;
        int good;
        for (int64_t k = 0; k < K; k++)
            value += box_get(&m[0], (item * M + row) * K + k).f * box_get(&m[1], (item * K + k) * N + col).f;
        value *= 1.5;
        if (beta != 0) value += beta * box_get(&m[2], i).f;
        if (of_bias) value += box_get(&bias, col).f;
        num_store(wide, text, num_of(value));
        value = num_load(wide, text).f;
        if (activation == GPUL_ACTIVATION_RELU && value <= 0) value = 0;
        low = value;
        if (activation == GPUL_ACTIVATION_GELU) {
            const double exact = gelu(value), room = 4 * u * fabs(value);
            low = exact - room;
            value = exact + room;
        }
        num_store(t, text, num_of(low));
        num_store(t, high, num_of(value));
        good = value == value ? got >= num_load(t, text).f && got <= num_load(t, high).f : got != got;
        if (!good && wrong++ == 0)
            FAIL("%s %lld of %lld x %lld x %lld, orders %d, beta %g, activation %d, bias %s, math %d: C[%lld, %lld, "
                 "%lld] is %.9g, wanted %.9g to %.9g",
                 gpul_dtype_name(t), (long long)batch, (long long)M, (long long)N, (long long)K, orders, beta,
                 activation, of_bias ? gpul_dtype_name(of_bias) : "none", math, (long long)item, (long long)row,
                 (long long)col, got, low, value);
    }
    if (!wrong) check_pass();
    for (int i = 0; i < 3; i++) box_free(&m[i]);
    if (of_bias) box_free(&bias);
}

static void test_epilogue(void) {
    static const int64_t sizes[][4] = {{1, 5, 7, 3},    {3, 33, 40, 17}, {2, 70, 66, 65},  {1, 20, 30, 0},
                                       {2, 4, 5, 3000}, {1, 64, 64, 64}, {2, 65, 70, 96},  {1, 200, 136, 72},
                                       {1, 1, 300, 20}, {1, 300, 1, 20}, {2, 17, 16, 9000}};
    int k = 0;
    for (int i = 0; i < COUNT_OF(sizes); i++)
        for (int d = 0; d < 4; d++)
            for (int activation = 0; activation < 3; activation++, k++) {
                const gpul_dtype t = types[d], of_bias = (k + i) % 4 == 0 ? 0 : d > 1 && k % 2 ? GPUL_F32 : t;
                if (left_out(k)) continue;
                epilogue_case(t, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], k % 16, k % 3, k % 5 == 1 ? 2 : 0,
                              activation, of_bias, 0);
                if (d == 0)
                    epilogue_case(t, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], k % 16, k % 3,
                                  k % 5 == 1 ? 2 : 0, activation, of_bias, 1 + k % 2);
            }
    for (int orders = 0; orders < 8; orders++) /* TF32 whose operands may pass through registers */
        if (!left_out(orders))
            epilogue_case(GPUL_F32, 2, 76, 84, 100, orders, 0, orders % 2 ? 2 : 0, orders % 3, GPUL_F32,
                          GPUL_MATH_TF32);
    if (large_tests())
        for (int activation = 0; activation < 3; activation++) {
            epilogue_case(GPUL_BF16, 1, 1000, 900, 300, activation, 0, 0, activation, GPUL_F32, 0);
            epilogue_case(GPUL_F32, 1, 1030, 1020, 1030, activation + 4, 0, 0, activation, GPUL_F32,
                          GPUL_MATH_EMULATED);
        }
}

/* Stacks of several launches, of which the last one has few products: ones, so that each sum is K. */
static void test_last_launch(void) {
    static const struct {
        gpul_dtype dtype;
        int64_t count, side, k;
    } cases[] = {{GPUL_F16, 33, 256, 4096}, {GPUL_BF16, 65, 128, 8192}, {GPUL_F16, 33, 1000, 1001},
                 {GPUL_F32, 65, 501, 501},  {GPUL_F16, 65537, 64, 64},  {GPUL_F16, 3, 40, 70}};
    for (int c = large_tests() ? 0 : COUNT_OF(cases) - 1; c < COUNT_OF(cases); c++) {
        const int64_t count = cases[c].count, side = cases[c].side, k = cases[c].k;
        gpul_array A = GPUL_ZERO, B = GPUL_ZERO, C = GPUL_ZERO;
        gpul_gemm_options options = GPUL_ZERO;
        double low = -1, high = -1;
        options.math = cases[c].dtype == GPUL_F32 ? GPUL_MATH_TF32 : GPUL_MATH_IEEE;
        CHECK_OK(gpul_full(&A, cases[c].dtype, gpul_3d(count, side, k), 1, NULL));
        CHECK_OK(gpul_full(&B, cases[c].dtype, gpul_3d(count, k, side), 1, NULL));
        CHECK_OK(gpul_full(&C, cases[c].dtype, gpul_3d(count, side, side), 7, NULL));
        CHECK_OK(gpul_gemm_ex(&C, 1, &A, &B, 0, &options, NULL));
        CHECK_OK(gpul_min(&low, &C, NULL));
        CHECK_OK(gpul_max(&high, &C, NULL));
        CHECK_NEAR(low, (double)k, 0);
        CHECK_NEAR(high, (double)k, 0);
        CHECK_OK(gpul_free_all(&A, &B, &C));
    }
}

/* GELU where it is hard: everything from the smallest to the largest numbers, and the same bits everywhere */
static void test_gelu(void) {
    for (int d = 0; d < 2; d++) {
        enum { COUNT = 20000 };
        const gpul_dtype t = types[d];
        const double u = d ? 0x1p-53 : 0x1p-24;
        int64_t wrong = 0;
        uint64_t hash;
        gpul_gemm_options options = GPUL_ZERO;
        box A, B, C;
        box_2d(&A, t, COUNT, 1, LAY_C, 0, 0);
        box_2d(&B, t, 1, 1, LAY_C, 0, 0);
        box_2d(&C, t, COUNT, 1, LAY_C, 0, 0);
        check_seed(2026);
        for (int64_t i = 0; i < COUNT; i++)
            box_put(&A, i,
                    num_of(i == 0      ? INFINITY
                           : i == 1    ? -INFINITY
                           : i == 2    ? NAN
                           : i == 3    ? -0.0
                           : i < 12000 ? rng_signed() * 16
                                       : ldexp(rng_signed(), (int)rng_below(d ? 2040 : 250) - (d ? 1020 : 125))));
        box_put(&B, 0, num_of(1));
        box_upload(&A);
        box_upload(&B);
        options.activation = GPUL_ACTIVATION_GELU;
        CHECK_OK(gpul_gemm_ex(&C.view, 1, &A.view, &B.view, 0, &options, NULL));
        BOX_GUARDS(&C);
        for (int64_t i = 0; i < COUNT; i++) {
            const double x = box_get(&A, i).f, got = box_got(&C, i).f;
            const long double y = x,
                              want = y / (1 + expl(-1.5957691216057307117597842397375L * (y + 0.044715L * y * y * y)));
            const int good = isfinite(x)     ? fabsl(got - want) <= 4 * (long double)u * fabsl(y) + 0x1p-149L * !d
                             : x == INFINITY ? got == x
                             : x < 0         ? got == 0
                                             : got != got;
            if (!good && wrong++ == 0)
                FAIL("%s: gelu(%a) is %a, wanted %La, %Lg u |x|", gpul_dtype_name(t), x, got, want,
                     fabsl(got - want) / ((long double)u * fabsl(y)));
        }
        if (!wrong) check_pass();
        hash = box_hash(&C);
        if (hash != (d ? 0xf1f9418567c45333u : 0x3878bb1312cbb1bcu))
            FAIL("%s: bits %016llx", gpul_dtype_name(t), (unsigned long long)hash);
        box_free(&A);
        box_free(&B);
        box_free(&C);
    }
}

/* A stack goes to the tensor cores' own kernel where its products do, however few of their copies have room at a time. */
static void test_copied_stacks(void) {
    static const int64_t stacks[][4] = {{4096, 4096, 4097, 4}, {1000, 1000, 1001, 256}, {512, 512, 511, 1024}};
    for (int k = 0; k < COUNT_OF(stacks); k++)
        for (int stacked = 0; stacked < 2; stacked++) {
            gpul__gemm_problem p;
            gpul__gemm_plan plan;
            gpul__machine machine;
            memset(&p, 0, sizeof p);
            memset(&machine, 0, sizeof machine);
            machine.sms = 132;
            machine.shared_optin = 232448;
            machine.wgmma = machine.mma = 1;
            p.dtype = GPUL_F16;
            p.M = stacks[k][0], p.N = stacks[k][1], p.K = stacks[k][2];
            p.batch = stacked ? stacks[k][3] : 1;
            p.a_row = p.K;
            p.b_row = p.c_row = p.N;
            p.a_col = p.b_col = 1;
            p.alpha = 1;
            p.a_steps = p.a_batch = p.M * p.K;
            p.b_steps = p.b_batch = p.K * p.N;
            p.c_steps = p.c_batch = p.M * p.N;
            CHECK_INT(gpul__plan_gemm(&plan, &p, &machine), 1);
            CHECK_INT(plan.tensor, 1);
        }
}

/* The plan of a stack of row-major matrices */
static gpul__gemm_plan plan_of_stack(gpul_dtype t, int32_t math, int64_t many, int64_t M, int64_t N, int64_t K,
                                     const gpul__machine *machine) {
    gpul__gemm_problem p;
    gpul__gemm_plan plan;
    memset(&p, 0, sizeof p);
    p.dtype = t;
    p.math = math;
    p.M = M, p.N = N, p.K = K;
    p.batch = many;
    p.a_row = K;
    p.b_row = p.c_row = N;
    p.a_col = p.b_col = 1;
    p.alpha = 1;
    p.a_steps = p.a_batch = M * K;
    p.b_steps = p.b_batch = K * N;
    p.c_steps = p.c_batch = M * N;
    CHECK_INT(gpul__plan_gemm(&plan, &p, machine), 1);
    return plan;
}
/* Does each of its blocks take several parts of K? */
static int is_in_turn(gpul_dtype t, int32_t math, int64_t many, int64_t M, int64_t N, int64_t K,
                      const gpul__machine *machine) {
    const gpul__gemm_plan plan = plan_of_stack(t, math, many, M, N, K, machine);
    return plan.part > plan.term;
}
static gpul__machine machine_here(void) {
    int32_t device = 0;
    gpul__machine machine;
    gpul_device info;
    memset(&machine, 0, sizeof machine);
    CHECK_CUDA(cudaGetDevice(&device));
    CHECK_OK(gpul_device_info(&info, device));
    machine.sms = info.sms;
    machine.shared_optin = info.shared_per_block_optin;
    CHECK_INT(gpul__find_tensor_cores(&machine), 0);
    return machine;
}

/* Blocks of a large stack add up the parts of K themselves: the bits are those of products whose parts are shared. */
static void test_in_turn(void) {
    static const int64_t sizes[][3] = {
        {9, 10, 700}, {40, 36, 400}, {3, 70, 530}, {1, 9, 1500}}; /* the last: two nodes */
    const gpul__machine machine = machine_here();
    for (int c = 0; c < COUNT_OF(sizes); c++) {
        const int64_t M = sizes[c][0], N = sizes[c][1], K = sizes[c][2], many = 4 * (int64_t)machine.sms;
        const stack_case stack = {{3, 3, 3}, {{many}, {many}, {many}}, M, N, K};
        int seen = 0;
        for (int d = 0; d < 4; d++) {
            seen += is_in_turn(types[d], GPUL_MATH_IEEE, many, M, N, K, &machine);
            if (!left_out(4 * c + d)) one_case(types[d], &stack, d, 0, d, 1, 0, NULL);
        }
        CHECK(seen >= 1);
    }
#ifndef GPULITE_CPU_STANDIN /* Hopper's tensor cores */
    for (int d = 0; d < 3; d++) {
        const int64_t many = 4 * (int64_t)machine.sms;
        const stack_case stack = {{3, 3, 3}, {{many}, {many}, {many}}, 72, 80, 1536};
        gpul_gemm_options options = GPUL_ZERO;
        options.math = d == 0 ? GPUL_MATH_TF32 : GPUL_MATH_IEEE;
        CHECK(!machine.wgmma || is_in_turn(types[d == 0 ? 0 : d + 1], options.math, many, 72, 80, 1536, &machine));
        if (!left_out(d)) one_case(types[d == 0 ? 0 : d + 1], &stack, d, 0, 0, 1, 0, &options);
    }
#endif
}

/* Stacks of products so small that a block takes several, up to sixteen: as many as fit, and fewer in the last block */
static void test_small_products(void) {
    int32_t device = 0;
    gpul_device info;
    CHECK_CUDA(cudaGetDevice(&device));
    CHECK_OK(gpul_device_info(&info, device));
    for (int k = 0; k < 32; k++) {
        const int64_t many = info.sms * (1 + rng_below(9)) + rng_below(8), most = (int64_t)1 << (k % 4),
                      one = 1 + rng_below(8 / most), other = 1 + rng_below(8), K = 17 + rng_below(k % 8 ? 200 : 900);
        const stack_case stack = {
            {3, k % 5 == 1 ? 2 : 3, 3}, {{many}, {many}, {many}}, k & 4 ? one : other, k & 4 ? other : one, K};
        const int orders = (int)rng_below(8), gaps = (int)rng_below(32);
        if (left_out(k)) continue;
        one_case(types[k % 16 < 8 ? 2 + k % 2 : k % 2], &stack, orders, gaps, rng_below(9), 1, k % 3 ? 0 : 0.5, NULL);
    }
}

/* Stacks with short K, where each warp takes a tile of any product: the bits are those of each alone. */
static void test_short_stacks(void) {
    const gpul__machine machine = machine_here();
    int seen[4] = {0, 0, 0, 0};
    for (int k = 0; k < 64; k++) {
        const gpul_dtype t = types[k % 4];
        const int64_t many = machine.sms * 40 + rng_below(8), M = 1 + rng_below(k / 4 % 5 ? 24 : 100),
                      N = 1 + rng_below(k / 4 % 5 == 1 ? 100 : 24),
                      most = t == GPUL_F32   ? 48
                             : t == GPUL_F64 ? 32
                                             : 64,
                      K = 1 + rng_below(k / 4 % 4 ? 24 : most);
        const stack_case stack = {{3, k % 5 == 1 ? 2 : 3, 3}, {{many}, {many}, {many}}, M, N, K};
        const int orders = (int)rng_below(8), gaps = (int)rng_below(32);
        gpul_gemm_options options = GPUL_ZERO;
        options.activation = k % 3;
        seen[plan_of_stack(t, 0, many, M, N, K, &machine).short_k]++;
        if (left_out(k)) continue;
        one_case(t, &stack, orders, gaps, rng_below(9), k % 6 ? 1 : -0.5, k % 4 ? 0 : 0.5, &options);
    }
    CHECK(seen[2] > 10 && (!machine.mma || seen[3] > 5));
    for (int k = 0; k < 16; k++)
        if (!left_out(k))
            epilogue_case(types[k % 4], machine.sms * 40, 1 + rng_below(20), 1 + rng_below(20), 1 + rng_below(20),
                          k % 16, k / 4 % 3, k % 5 == 1 ? 2 : 0, k / 4 % 3, k % 8 == 2 ? GPUL_F32 : types[k % 4], 0);
}

/* x W, where x has the shape (many, M, K): one product of all rows, with the bits of each matrix alone; or its mirror
 * image, of column-major matrices, where A is the one for all. */
static void test_one_for_all(void) {
    for (int k = 0; k < 180; k++) {
        const gpul_dtype t = types[k % 4];
        const int turned = k % 7 == 3;
        const int64_t M = 1 + rng_below(k / 4 % 5 > 1 ? 90 : k / 4 % 5 * 12 + 1), N = 1 + rng_below(k % 3 ? 90 : 10),
                      K = 1 + rng_below(k / 8 % 3 ? 100 : 900),
                      many = 2 + rng_below(M * N * K > 400000 ? 5
                                           : k % 9            ? 20
                                                              : 300);
        const stack_case stack = {
            {turned ? 2 : 3, turned ? 3 : 2, 3}, {{many}, {many}, {many}}, turned ? N : M, turned ? M : N, K};
        const int64_t b_shape[1] = {stack.N}, b_strides[1] = {1 + k % 2};
        const int orders = turned ? 6 + (int)rng_below(2) : (int)rng_below(2) * 2, gaps = (int)rng_below(2);
        gpul_gemm_options options = GPUL_ZERO;
        box bias;
        if (left_out(k)) continue;
        box_make_strided(&bias, GPUL_MEMORY_DEVICE, t, 1, b_shape, b_strides, k % 3, 0);
        box_random(&bias, 0);
        box_upload(&bias);
        options.math = k % 4 ? 0 : k / 4 % 3;
        options.activation = k / 3 % 3;
        if (k / 2 % 3 == 1) options.bias = &bias.view;
        one_case(t, &stack, orders, gaps, rng_below(9), k % 5 ? 1 : -1.5, k % 3 ? 0 : 0.5, &options);
        box_free(&bias);
    }
    { /* 2^31 rows are no one product's, nor those that overlap, nor those with a bias each */
        gpul__machine machine = machine_here();
        gpul__gemm_problem p;
        gpul__gemm_plan plan;
        memset(&p, 0, sizeof p);
        p.dtype = GPUL_F32;
        p.M = 16, p.N = 20, p.K = 12;
        p.batch = INT32_MAX / 16;
        p.a_row = 12, p.b_row = p.c_row = 20;
        p.a_col = p.b_col = 1;
        p.alpha = 1;
        p.a_steps = p.a_batch = 16 * 12;
        p.c_steps = p.c_batch = 16 * 20;
        CHECK_INT(gpul__plan_gemm(&plan, &p, &machine), 1);
        CHECK_INT(plan.as_one, 1);
        p.batch++;
        gpul__plan_gemm(&plan, &p, &machine);
        CHECK_INT(plan.as_one, 0);
        p.batch = 100;
        p.a_row = p.a_batch = 16; /* each row begins in the one before */
        p.K = 17;
        p.M = 1;
        gpul__plan_gemm(&plan, &p, &machine);
        CHECK_INT(plan.as_one, 0);
        p.a_batch = p.K = 100; /* four rows at a time, as many times as a grid has blocks in y */
        p.batch = 4 * 65535;
        gpul__plan_gemm(&plan, &p, &machine);
        CHECK_INT(plan.as_one, 4);
        p.batch++;
        gpul__plan_gemm(&plan, &p, &machine);
        CHECK_INT(plan.as_one, 0);
        p.a_batch = 16;
        p.batch = 100;
        p.bias = &p;
        p.bias_m = 1; /* one for each row */
        p.K = 12;
        gpul__plan_gemm(&plan, &p, &machine);
        CHECK_INT(plan.as_one, 0);
        p.bias_m = 0;
        gpul__plan_gemm(&plan, &p, &machine);
        CHECK_INT(plan.as_one, 1);
    }
}

/* Of a stack, the parts of K are those of one product, whatever the stack */
static void test_plans(void) {
    int64_t stacks = 0, limited = 0, in_turn = 0, several = 0, as_one = 0, grouped = 0;
    for (int k = 0; k < 100000; k++) {
        gpul__gemm_problem p;
        gpul__gemm_plan one, many;
        gpul__machine machine;
        int good;
        memset(&p, 0, sizeof p);
        memset(&machine, 0, sizeof machine);
        machine.sms = 1 + (int32_t)rng_below(200);
        machine.shared_optin = 232448;
        machine.wgmma = (int32_t)rng_below(2);
        machine.mma = machine.wgmma || rng_below(2);
        p.dtype = types[rng_below(4)];
        p.M = 1 + (int64_t)ldexp(rng_unit(), (int)rng_below(13));
        p.N = 1 + (int64_t)ldexp(rng_unit(), (int)rng_below(13));
        if (rng_below(8) == 0) p.N <<= 12; /* more tiles in all products than have numbers of 32 bits */
        p.K = (int64_t)ldexp(rng_unit(), (int)rng_below(16));
        p.a_row = p.K + rng_below(2) * 8;
        p.b_row = p.c_row = p.N;
        p.a_col = p.b_col = 1;
        p.alpha = 1;
        if (p.dtype == GPUL_F32) p.math = (int32_t)rng_below(3);
        gpul__plan_gemm(&one, &p, &machine);
        p.batch = (int64_t)ldexp(1 + rng_unit(), (int)rng_below(24));
        p.a_steps = p.a_batch = p.M * p.a_row + (rng_below(2) ? 0 : rng_below(9));
        p.b_steps = p.b_batch = rng_below(2) ? 0 : p.K * p.N;
        p.c_steps = p.c_batch = p.M * p.N + rng_below(2);
        gpul__plan_gemm(&many, &p, &machine);
        {
            const int64_t few = gpul_dtype_size(p.dtype) == 2 && machine.mma ? 8 : 4;
            const int even = p.M == 1 || (p.a_batch == p.M * p.a_row && p.c_batch == p.M * p.N),
                      other_tree =
                          is_thin(p.dtype, p.M, p.N, p.K, few) != is_thin(p.dtype, p.M * p.batch, p.N, p.K, few),
                      by_data = p.math == GPUL_MATH_EMULATED && is_emulated(p.M, p.N, p.K);
            const int64_t all = p.M * p.batch;
            const int is_one = p.batch < 2 || p.b_batch != 0 || !even || by_data || (double)all >= INT32_MAX ? 0
                               : !other_tree                                                                 ? 1
                               : p.M < few && p.N > 16 && all <= few * 65535                                 ? (int)few
                                                                                                             : 0;
            /* unless copies or parts of all rows take more memory than those of a stack may */
            good =
                !one.as_one &&
                (many.as_one == is_one ||
                 (is_one &&
                  (double)all * ((double)p.K * (double)gpul_dtype_size(p.dtype) + (double)p.N * one.splits * 4) > 6e7));
            grouped += many.as_one > 1;
            as_one += many.as_one;
        }
        good = good && one.batch == 1 && many.batch >= 1 && many.batch <= p.batch &&
               (many.as_one ? many.batch == p.batch && many.scratch_bytes <= 128 << 20 : many.batch <= 65535);
        const int64_t rows = many.as_one ? p.M * p.batch : p.M,
                      products = many.as_one ? gpul_ceil_div(rows, many.as_one > 1 ? many.as_one : rows) : many.batch;
        good = good && many.term == one.term && many.packed == one.packed &&
               (many.tensor || many.mma) == (one.tensor || one.mma);
        /* a stack that is not aligned as one product is may have other tiles; then as many bytes as these have */
        good = good && (many.scratch_bytes <= one.scratch_bytes || many.batch > 1 || many.tensor || many.mma ||
                        (many.tile != one.tile && !many.packed));
        if (!many.tensor && !many.packed && !many.a_pitch && !many.b_pitch)
            good = good && many.scratch_bytes == (many.splits > 1
                                                      ? products * many.splits * many.tiles_m * many.tiles_n *
                                                            many.tile_m * many.tile_n * (p.dtype == GPUL_F64 ? 8 : 4)
                                                      : 0);
        /* twice 64 MB, what each block has, and a copy of each operand, which one product may not need */
        good = good && (many.batch == 1 || many.scratch_bytes <= one.scratch_bytes + (160 << 20) +
                                                                     (many.a_pitch * (p.K > rows ? p.K : rows) +
                                                                      many.b_pitch * (p.K > p.N ? p.K : p.N)) *
                                                                         4);
        if (!many.tensor && !many.packed && many.batch > 1 && !many.as_one)
            good = good && many.counters % many.batch == 0 &&
                   (many.a_pitch || many.b_pitch || many.scratch_bytes % many.batch == 0);
        if (many.short_k) /* each tile of all products has a number of 32 bits */
            good = good && (double)many.tiles_m * (double)many.tiles_n * (double)products < 2147483648.0;
        if (many.tensor && many.batch > 1)
            good = good &&
                   (!many.a_pitch) <= (p.a_steps * (int64_t)gpul_dtype_size(p.dtype) % 16 == 0 || many.gathers) &&
                   (!many.c_bulk || p.c_steps % 8 == 0);
        if (many.mma && !many.short_k && !many.packed && !many.a_pitch)
            good = good && p.a_steps * (int64_t)gpul_dtype_size(p.dtype) / 2 % many.a_vector == 0;
        if (!many.tensor && !many.packed && !many.mma && many.a_vector)
            good =
                good && p.a_steps * (int64_t)gpul_dtype_size(p.dtype) % (gpul_dtype_size(p.dtype) == 2 ? 8 : 16) == 0;
        {
            const int64_t at_once = many.products_at_once, high = p.M > p.N ? p.M : p.N, low = p.M > p.N ? p.N : p.M;
            good = good && one.products_at_once == 1 - one.tensor;
            if (at_once > 1)
                good = good &&
                       (many.mma == 1 ? many.tile == 6 && high <= 8 && low * at_once <= 8
                                      : low <= 4 && high * at_once <= 256 / (int64_t)gpul_dtype_size(p.dtype)) &&
                       (at_once & (at_once - 1)) == 0 && p.batch >= at_once * machine.sms;
            else good = good && at_once == 1 - many.tensor;
            several += at_once > 1;
        }
        stacks += many.batch > 1;
        in_turn += many.part > many.term;
        limited += many.batch < p.batch;
        if (!good) {
            FAIL("plan %d: %s, %lld of %lld x %lld x %lld: %lld at a time, %d parts of %lld", k,
                 gpul_dtype_name(p.dtype), (long long)p.batch, (long long)p.M, (long long)p.N, (long long)p.K,
                 (long long)many.batch, (int)many.splits, (long long)many.part);
            return;
        }
    }
    CHECK(stacks > 10000 && limited > 1000 && in_turn > 1000 && several > 1000 && as_one > 1000 && grouped > 100);
}

static void test_errors(void) {
    static const char *const f = "gpul_gemm_ex", *const m = "gpul_matmul";
    gpul_gemm_options o = GPUL_ZERO;
    gpul_array A = GPUL_ZERO, B = GPUL_ZERO, C = GPUL_ZERO, D = GPUL_ZERO, v = GPUL_ZERO, w = GPUL_ZERO, x = GPUL_ZERO,
               turned = GPUL_ZERO, folded, part = GPUL_ZERO, freed = GPUL_ZERO;
    float got[40];
    CHECK_OK(gpul_device_array(&A, GPUL_F32, gpul_3d(4, 2, 3), NULL));
    CHECK_OK(gpul_device_array(&B, GPUL_F32, gpul_3d(4, 3, 5), NULL));
    CHECK_OK(gpul_device_array(&C, GPUL_F32, gpul_3d(4, 2, 5), NULL));
    CHECK_OK(gpul_device_array(&D, GPUL_F32, gpul_3d(3, 3, 5), NULL));
    CHECK_OK(gpul_device_array(&v, GPUL_F32, gpul_1d(5), NULL));
    CHECK_OK(gpul_device_array(&w, GPUL_F64, gpul_1d(5), NULL));
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(2), NULL));
    CHECK_OK(gpul_fill(&A, 1, NULL));
    CHECK_OK(gpul_fill(&B, 1, NULL));
    CHECK_OK(gpul_fill(&C, 77, NULL));
    CHECK_FAILS(gpul_matmul(&C, &A, &D, NULL), GPUL_ERROR_SHAPE, m,
                "A has float32 (4, 2, 3), B has float32 (3, 3, 5): 4 matrices of A cannot meet 3 of B (as many, or 1)");
    CHECK_OK(gpul_slice(&part, &C, 0, 0, 3, 1));
    CHECK_FAILS(gpul_matmul(&part, &A, &B, NULL), GPUL_ERROR_SHAPE, m, "need (4, 2, 5)");
    CHECK_OK(gpul_slice(&part, &A, 0, 0, 1, 1));
    CHECK_OK(gpul_matmul(&C, &part, &B, NULL));
    CHECK_OK(gpul_fill(&C, 77, NULL));
    CHECK_FAILS(gpul_matmul(&C, &v, &B, NULL), GPUL_ERROR_SHAPE, m,
                "A has float32 (5), but must be a matrix or a stack");
    CHECK_FAILS(gpul_matmul(&C, &A, &A, NULL), GPUL_ERROR_SHAPE, m, "needs 3 rows in it");
    folded = C; /* all matrices of C in one place; and each a row behind the one before */
    folded.strides[0] = 0;
    folded.owned = 0;
    CHECK_FAILS(gpul_matmul(&folded, &A, &B, NULL), GPUL_ERROR_OVERLAP, m, "share memory");
    folded.strides[0] = 5;
    CHECK_FAILS(gpul_matmul(&folded, &A, &B, NULL), GPUL_ERROR_OVERLAP, m, "share memory");
    CHECK_OK(gpul_transpose(&turned, &B));
    CHECK_FAILS(gpul_matmul(&C, &A, &turned, NULL), GPUL_ERROR_SHAPE, m, "B");
    o.activation = 3;
    CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_ARGUMENT, f,
                "options->activation is 3, which is no GPUL_ACTIVATION_*");
    o.activation = -1;
    CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_ARGUMENT, f, "options->activation is -1");
    o.activation = 0;
    o.bias = &freed;
    CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_ARGUMENT, f, "options->bias was never made");
    o.bias = &w;
    CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_DTYPE, f,
                "options->bias is float64, but C is float32: it must be float32");
    o.bias = &x;
    CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_SHAPE, f,
                "options->bias has float32 (2), but C float32 (4, 2, 5) needs (5), one for each column");
    o.bias = &B;
    CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_SHAPE, f, "options->bias");
    part = v;
    part.owned = 0;
    part.data = C.data;
    o.bias = &part;
    CHECK_FAILS(gpul_gemm_ex(&C, 1, &A, &B, 0, &o, NULL), GPUL_ERROR_OVERLAP, f, "C overlaps options->bias");
    CHECK_OK(gpul_copy_to_host(got, &C, NULL));
    for (int i = 0; i < 40; i++) CHECK(got[i] == 77);
    CHECK_OK(gpul_free_all(&A, &B, &C, &D, &v, &w, &x));
}

int main(void) {
    check_begin("batches");
    RUN(test_stacks);
    RUN(test_math_of_stacks);
    RUN(test_many);
    RUN(test_last_launch);
    RUN(test_epilogue);
    RUN(test_gelu);
    RUN(test_copied_stacks);
    RUN(test_in_turn);
    RUN(test_small_products);
    RUN(test_short_stacks);
    RUN(test_one_for_all);
    RUN(test_plans);
    RUN(test_errors);
    return check_end();
}
