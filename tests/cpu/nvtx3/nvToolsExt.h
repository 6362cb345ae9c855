/* SPDX-License-Identifier: MIT */
/* NVTX on the stand-in: ranges nest, and standin_range() tells which are open. */
#ifndef STANDIN_NVTOOLSEXT_H
#define STANDIN_NVTOOLSEXT_H

#ifdef __cplusplus
extern "C" {
#endif

int nvtxRangePushA(const char *message); /* the range's depth, 0 for the outermost */
int nvtxRangePop(void);                  /* the depth of what ended, or -1 */

#ifdef __cplusplus
}
#endif

#endif
