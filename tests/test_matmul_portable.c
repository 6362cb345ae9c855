/* SPDX-License-Identifier: MIT */
/* test_matmul where there are no tensor cores, as on GPUs before compute capability 8.0: the stand-in takes its kernels
 * for a build without them. On a GPU it is a part of test_matmul. */
#define TEST_PORTABLE 1
#include "test_matmul.c"
