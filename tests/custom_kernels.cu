/* SPDX-License-Identifier: MIT
 * Operations of a user's own, from one expression each; test_custom.c calls them from C. */
#define GPULITE_ENGINES_ONLY
#include "gpulite_kernels.cu"

GPUL_ELEMENTWISE(test_squared_difference, float, (x - y) * (x - y), float, x, float, y)
GPUL_ELEMENTWISE(test_negate, int32_t, int32_t(0u - uint32_t(x)), int32_t, x)
GPUL_ELEMENTWISE(test_mixed, double, x * 2.0 + double(y), float, x, int64_t, y)
GPUL_ELEMENTWISE(test_select, uint8_t, (x != 0 ? y : z), int32_t, x, uint8_t, y, uint8_t, z)
GPUL_ELEMENTWISE(test_is_odd, int64_t, int64_t(x & 1), uint8_t, x)

GPUL_ELEMENTWISE(test_axpy, double, a *x + y, gpul_scalar<double>, a, float, x, double, y)
GPUL_ELEMENTWISE(test_half, gpul_f16, gpul_f16(float(x) * 2 + y), gpul_f16, x, gpul_bf16, y)

GPUL_REDUCE(test_sum_abs, float, float, 0.0f, fabsf(x), a + b, a, float, x)
GPUL_REDUCE(test_l2_norm, double, double, 0.0, x *x, a + b, sqrt(a), double, x)
GPUL_REDUCE(test_or, int32_t, int32_t, 0, v, a | b, a, int32_t, v)
GPUL_REDUCE(test_largest, int64_t, int64_t, INT64_MIN, x, (a > b ? a : b), a, int64_t, x)
GPUL_REDUCE(test_xor_plus_one, uint8_t, uint8_t, 0, x, uint8_t(a ^ b), uint8_t(a + 1), uint8_t, x)
GPUL_REDUCE(test_mean_square, float, double, 0, double(x) * double(x), a + b, a, gpul_f16, x)
