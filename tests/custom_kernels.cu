/* SPDX-License-Identifier: MIT
 * Operations of a user's own, from one expression each; test_custom.c calls them from C. */
#define GPULITE_ENGINES_ONLY
#include "gpulite_kernels.cu"

GPUL_ELEMENTWISE(test_squared_difference, float, (x - y) * (x - y), float, x, float, y)
GPUL_ELEMENTWISE(test_negate, int32_t, int32_t(0u - uint32_t(x)), int32_t, x)
GPUL_ELEMENTWISE(test_mixed, double, x * 2.0 + double(y), float, x, int64_t, y)
GPUL_ELEMENTWISE(test_select, uint8_t, (x != 0 ? y : z), int32_t, x, uint8_t, y, uint8_t, z)
GPUL_ELEMENTWISE(test_is_odd, int64_t, int64_t(x & 1), uint8_t, x)

GPUL_REDUCE(test_sum_abs, float, 0.0f, fabsf(x), a + b, a)
GPUL_REDUCE(test_l2_norm, double, 0.0, x *x, a + b, sqrt(a))
GPUL_REDUCE(test_or, int32_t, 0, x, a | b, a)
GPUL_REDUCE(test_largest, int64_t, INT64_MIN, x, (a > b ? a : b), a)
GPUL_REDUCE(test_xor_plus_one, uint8_t, 0, x, uint8_t(a ^ b), uint8_t(a + 1))
