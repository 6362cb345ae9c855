/* SPDX-License-Identifier: MIT
 * Operations of a user's own, from one expression each; test_custom.c calls them from C. */
#define GPULITE_ENGINES_ONLY
#include "gpulite_kernels.cu"

GPUL_ELEMENTWISE(test_squared_difference, float, (x - y) * (x - y), float, x, float, y)
GPUL_ELEMENTWISE(test_negate, int32_t, int32_t(0u - uint32_t(x)), int32_t, x)
GPUL_ELEMENTWISE(test_mixed, double, x * 2.0 + double(y), float, x, int64_t, y)
GPUL_ELEMENTWISE(test_select, uint8_t, (x != 0 ? y : z), int32_t, x, uint8_t, y, uint8_t, z)
GPUL_ELEMENTWISE(test_is_odd, int64_t, int64_t(x & 1), uint8_t, x)

GPUL_ELEMENTWISE(test_quotient, uint8_t, uint8_t(x / y), uint8_t, x, uint8_t, y)

GPUL_ELEMENTWISE(test_axpy, double, a *x + y, gpul_scalar<double>, a, float, x, double, y)
GPUL_ELEMENTWISE(test_half, gpul_f16, gpul_f16(float(x) * 2 + y), gpul_f16, x, gpul_bf16, y)

GPUL_REDUCE(test_sum_abs, float, float, 0.0f, fabsf(x), a + b, a, float, x)
GPUL_REDUCE(test_l2_norm, double, double, 0.0, A *A, a + b, sqrt(a), double, A) /* as matrices are called */
GPUL_REDUCE(test_or, int32_t, int32_t, 0, v, a | b, a, int32_t, v)
GPUL_REDUCE(test_largest, int64_t, int64_t, INT64_MIN, x, (a > b ? a : b), a, int64_t, x)
GPUL_REDUCE(test_xor_plus_one, uint8_t, uint8_t, 0, x, uint8_t(a ^ b), uint8_t(a + 1), uint8_t, x)
GPUL_REDUCE(test_mean_square, float, double, 0, double(x) * double(x), a + b, a, gpul_f16, x)

/* several outputs */
GPUL_ELEMENTWISE_OUTPUTS(test_divide, (int32_t, quotient, int32_t, rest), quotient = x / y;
                         rest = x % y, int32_t, x, int32_t, y)
GPUL_ELEMENTWISE_OUTPUTS(test_parts, (uint8_t, sign, float, magnitude, double, scaled), sign = x < 0;
                         magnitude = fabsf(x); scaled = factor * double(x), float, x, gpul_scalar<double>, factor)
GPUL_ELEMENTWISE_OUTPUTS(test_absolute, (gpul_f16, out, gpul_bf16, third), out = x; if (out < 0) out = -out;
                         third = out / 3, gpul_f16, x)

/* several inputs, and values given at run time */
GPUL_REDUCE(test_weighted, int64_t, uint64_t, 0, w *uint64_t(x) + uint64_t(y), a + b, int64_t(a), uint8_t, w, int32_t,
            x, int64_t, y)
GPUL_REDUCE(test_highest_low, uint8_t, uint8_t, 0, (x < y ? x : y), (a > b ? a : b), a, uint8_t, x, uint8_t, y)
GPUL_REDUCE(test_distance, double, double, 0, (x - y) * (x - y), a + b, sqrt(a), float, x, double, y)
GPUL_REDUCE(test_share_above, double, int64_t, 0, x > limit, a + b, scale *double(a) / double(n), gpul_scalar<float>,
            limit, float, x, gpul_scalar<double>, scale)

/* the order kept: maps v -> scale * v + shift one after the other, modulo 2^64 and rounded; products of matrices,
 * modulo 2^32; the last element that is not zero; the first of the least; sums by index */
struct test_map {
    uint64_t scale, shift;
};
GPUL_REDUCE_ORDERED(test_compose, test_map, test_map, (test_map{1, 0}), (test_map{uint64_t(scale), uint64_t(shift)}),
                    (test_map{b.scale * a.scale, b.scale *a.shift + b.shift}), a, int64_t, scale, int64_t, shift)
struct test_rounded_map {
    double scale, shift;
};
GPUL_REDUCE_ORDERED(test_compose_rounded, double, test_rounded_map, (test_rounded_map{1, 0}),
                    (test_rounded_map{0.75, double(x)}),
                    (test_rounded_map{b.scale * a.scale, fma(b.scale, a.shift, b.shift)}), a.shift, float, x)
struct test_matrix {
    uint32_t a, b, c, d;
};
GPUL_REDUCE_ORDERED(test_product, test_matrix, test_matrix, (test_matrix{1, 0, 0, 1}),
                    (x & 1 ? test_matrix{1, 1, 0, 1} : test_matrix{1, 0, 1, 1}),
                    (test_matrix{a.a * b.a + a.b * b.c, a.a *b.b + a.b *b.d, a.c *b.a + a.d *b.c, a.c *b.b + a.d *b.d}),
                    a, uint8_t, x)
struct test_found {
    float value;
    int32_t index;
};
GPUL_REDUCE_ORDERED(test_last, float, test_found, (test_found{0, 0}), (test_found{x, 1}), (b.value != 0 ? b : a),
                    a.value, float, x)
GPUL_REDUCE_ORDERED(test_first_least, test_found, test_found, (test_found{INFINITY, -1}), (test_found{x, int32_t(i)}),
                    (a.index < 0 || b.value < a.value ? b : a), a, gpul_f16, x)
GPUL_REDUCE_ORDERED(test_by_index, int64_t, uint64_t, 0, (uint64_t(i) + 1) * uint64_t(3 * x + y), a + b, int64_t(a),
                    uint8_t, x, int64_t, y)

/* results of 16 bits, rounded once: what test_rounded in test_custom.c compares with gpul_convert */
GPUL_ELEMENTWISE(test_f64_to_f16, gpul_f16, x, double, x)
GPUL_ELEMENTWISE(test_f64_to_bf16, gpul_bf16, x, double, x)
GPUL_ELEMENTWISE(test_i32_to_f16, gpul_f16, x, int32_t, x)
GPUL_ELEMENTWISE(test_i32_to_bf16, gpul_bf16, x, int32_t, x)
GPUL_ELEMENTWISE(test_i64_to_f16, gpul_f16, x, int64_t, x)
GPUL_ELEMENTWISE(test_i64_to_bf16, gpul_bf16, static_cast<long long>(x), int64_t, x)
GPUL_ELEMENTWISE(test_u32_to_bf16, gpul_bf16, uint32_t(x), int64_t, x)
GPUL_ELEMENTWISE(test_u64_to_bf16, gpul_bf16, uint64_t(x), int64_t, x)
GPUL_REDUCE(test_sum_to_f16, gpul_f16, double, 0.0, x, a + b, a, double, x)
GPUL_REDUCE(test_sum_to_bf16, gpul_bf16, int64_t, 0, x, a + b, a, int64_t, x)
/* outputs of 16 bits are floats: for references, pointers and overloaded functions, and what was set last counts */
static __device__ void set_both(float &p, float *q, float x) {
    p = x;
    *q = 2 * x;
}
GPUL_ELEMENTWISE_OUTPUTS(test_floats, (gpul_f16, p, gpul_bf16, q, gpul_f16, r), p = q = 1.0f / 3; set_both(p, &q, x);
                         r = x > 0 ? p : q; r *= 3; ++r; r = fmaxf(r - 1, sqrtf(r) - r), float, x)
static __device__ gpul_bf16 from_everything(gpul_f16 x) { /* these compile */
    const gpul_f16 h(1), k(2.5f), m(3.5), o(int64_t(4)), p(5u), q(6ull), r('\7'), s(true);
    const gpul_bf16 t = static_cast<gpul_bf16>(x), u(h), v(static_cast<unsigned char>(9)), w(short(3));
    const bool less = h < k && h < 2 && t != u && v > 2.0;
    return static_cast<gpul_bf16>(less ? h + k + m + o + p + q + r + s + t + w : x + 1);
}
GPUL_ELEMENTWISE(test_from_everything, gpul_bf16, from_everything(x), gpul_f16, x)

/* Names of a user's own. They come last: from here on, these functions and types hide what has the same name. */
struct A {
    double sum;
};
struct Result {
    double twice, number;
};
struct Elements {
    float x;
};
struct Scalars {
    double y;
};
struct Arrays {
    double z;
};
struct Out {
    double o;
};
static const int kOrdered = 5;
static __device__ A identity() { return A{0}; }
static __device__ A map(Elements e, Scalars s) { return A{double(e.x) + s.y}; }
static __device__ A combine(A a, A b) { return A{a.sum + b.sum}; }
static __device__ Result post(A a, Arrays n) { return Result{2 * a.sum + double(kOrdered), n.z}; }
static __device__ A start(A a) { return a; }
static __device__ A fold(A a) { return start(a); }
static __device__ A finish(A a) { return fold(a); }
static __device__ Result store(Result r) { return r; }
GPUL_REDUCE(test_names, Result, A, identity(), finish(map(Elements{x}, Scalars{y})), start(combine(a, fold(b))),
            store(post(a, Arrays{double(n)})), float, x, gpul_scalar<double>, y)
GPUL_REDUCE_ORDERED(test_names_ordered, Result, struct A, identity(), map(Elements{A}, Scalars{double(i)}),
                    combine(a, b), post(a, Arrays{Out{double(n)}.o}), float, A)
GPUL_ELEMENTWISE(test_scaled_C, float, alpha *C, gpul_scalar<float>, alpha, float, C)
GPUL_ELEMENTWISE(test_A_B_C, double, A *B + C, float, A, float, B, double, C)
GPUL_ELEMENTWISE(test_struct_A, double, combine(A{x}, A{Out{1}.o}).sum, double, x)
GPUL_ELEMENTWISE_OUTPUTS(test_Out, (float, Out, double, A), Out = B - C; A = B * C, float, B, float, C)
