/* SPDX-License-Identifier: MIT
 * The part of DLPack's dlpack.h that the tests need, for machines without it; tests/test_dlpack.c compares both. */
#ifndef TESTS_DLPACK_H
#define TESTS_DLPACK_H

#include <stdint.h>

typedef struct {
    int32_t device_type; /* 1: CPU, 2: CUDA, 3: CUDA's pinned memory, 13: CUDA's managed memory */
    int32_t device_id;
} DLDevice;
typedef struct {
    uint8_t code; /* 0: int, 1: uint, 2: float, 4: bfloat, 5: complex, 6: bool */
    uint8_t bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#endif
