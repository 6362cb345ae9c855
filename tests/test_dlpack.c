/* SPDX-License-Identifier: MIT
 * DLPack: arrays as tensors, and tensors as arrays; what owns the memory, and what is refused. Compiled with -DDLPACK_H=
 * '<dlpack/dlpack.h>', it takes the struct from DLPack itself. */
#ifdef DLPACK_H
#include DLPACK_H
#else
#include "dlpack.h"
#endif
#include "check.h"

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, MANAGED = 13 };

/* Every dtype, order and step, through a tensor and back */
static void test_both_ways(void) {
    static const struct {
        gpul_dtype dtype;
        int code, bits;
    } types[7] = {{GPUL_F32, 2, 32}, {GPUL_F64, 2, 64}, {GPUL_I32, 0, 32}, {GPUL_I64, 0, 64},
                  {GPUL_U8, 1, 8},   {GPUL_F16, 2, 16}, {GPUL_BF16, 4, 16}};
    for (int d = 0; d < 7; d++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            for (int ndim = 0; ndim <= 4; ndim++) {
                const int64_t shape[4] = {3, layout % 3, 2, 4};
                DLManagedTensor *tensor = NULL;
                gpul_array back = GPUL_ZERO;
                box x;
                box_make(&x, types[d].dtype, ndim, shape, layout, 1, 0);
                box_random(&x, 1);
                CHECK_OK(gpul_to_dlpack(&tensor, &x.view));
                CHECK(tensor->dl_tensor.data == x.view.data && tensor->dl_tensor.byte_offset == 0);
                CHECK_INT(tensor->dl_tensor.device.device_type, CUDA);
                CHECK_INT(tensor->dl_tensor.device.device_id, x.view.device);
                CHECK_INT(tensor->dl_tensor.dtype.code, types[d].code);
                CHECK_INT(tensor->dl_tensor.dtype.bits, types[d].bits);
                CHECK_INT(tensor->dl_tensor.dtype.lanes, 1);
                CHECK_INT(tensor->dl_tensor.ndim, ndim);
                for (int k = 0; k < ndim; k++) {
                    CHECK_INT(tensor->dl_tensor.shape[k], shape[k]);
                    CHECK_INT(tensor->dl_tensor.strides[k], x.view.strides[k]);
                }
                CHECK_OK(gpul_from_dlpack(&back, tensor));
                CHECK(back.data == x.view.data && back.dtype == x.view.dtype && back.ndim == ndim);
                CHECK(back.owned == 0 && back.memory == GPUL_MEMORY_DEVICE && back.device == x.view.device);
                for (int k = 0; k < ndim; k++) CHECK(back.shape[k] == shape[k] && back.strides[k] == x.view.strides[k]);
                CHECK_OK(gpul_free(&back));
                tensor->deleter(tensor); /* of a view: frees the tensor alone */
                BOX_UNCHANGED(&x);
                box_free(&x);
            }
}

/* The tensor owns what the array owned, of every kind of memory. */
static void test_owner(void) {
    static const int types[4] = {CUDA, CUDA_HOST, CUDA_HOST, MANAGED};
    for (int kind = 0; kind < 4; kind++) {
        gpul_array a = GPUL_ZERO, view = GPUL_ZERO;
        DLManagedTensor *tensor = NULL;
        int64_t before = -1, used = -1;
        float element = 0;
        const int64_t index[1] = {5};
        gpul_status status;
        CHECK_OK(gpul_memory_used(&before, NULL));
        status = kind == 0   ? gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL)
                 : kind == 1 ? gpul_pinned_array(&a, GPUL_F32, gpul_1d(100))
                 : kind == 2 ? gpul_mapped_array(&a, GPUL_F32, gpul_1d(100))
                             : gpul_managed_array(&a, GPUL_F32, gpul_1d(100));
        if (kind == 3 && status == GPUL_ERROR_UNSUPPORTED) continue;
        CHECK_INT(status, GPUL_OK);
        CHECK_OK(gpul_to_dlpack(&tensor, &a));
        CHECK_INT(tensor->dl_tensor.device.device_type, types[kind]);
        CHECK(!a.owned && a.data == tensor->dl_tensor.data);
        CHECK_OK(gpul_fill(&a, 3, NULL)); /* a view of it */
        CHECK_OK(gpul_free(&a));          /* which frees nothing */
        CHECK_OK(gpul_from_dlpack(&view, tensor));
        CHECK_OK(gpul_get(&element, &view, index, NULL));
        CHECK_NEAR(element, 3, 0);
        tensor->deleter(tensor);
        CHECK_OK(gpul_device_synchronize());
        CHECK_OK(gpul_memory_used(&used, NULL));
        CHECK_INT(used, before);
    }
}

/* What other libraries make: no strides, an offset, bool, host memory */
static void test_foreign(void) {
    static float page[100];
    gpul_array a = GPUL_ZERO, view = GPUL_ZERO, untouched;
    int64_t shape[5] = {2, 3, 1, 1, 1}, strides[5] = {4, 1, 1, 1, 1};
    DLManagedTensor t;
    memset(&t, 0, sizeof t);
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    t.dl_tensor.data = a.data;
    t.dl_tensor.device.device_type = CUDA;
    t.dl_tensor.ndim = 2;
    t.dl_tensor.dtype.code = 2;
    t.dl_tensor.dtype.bits = 32;
    t.dl_tensor.dtype.lanes = 1;
    t.dl_tensor.shape = shape;
    t.dl_tensor.byte_offset = 8;
    CHECK_OK(gpul_from_dlpack(&view, &t));
    CHECK(view.data == (float *)a.data + 2 && view.shape[0] == 2 && view.strides[0] == 3 && view.strides[1] == 1);
    t.dl_tensor.strides = strides;
    CHECK_OK(gpul_from_dlpack(&view, &t));
    CHECK(view.strides[0] == 4 && view.strides[1] == 1);
    t.dl_tensor.dtype.code = 6;
    t.dl_tensor.dtype.bits = 8;
    CHECK_OK(gpul_from_dlpack(&view, &t));
    CHECK_INT(view.dtype, GPUL_U8);
    t.dl_tensor.dtype.code = 2;
    t.dl_tensor.dtype.bits = 32;
    t.dl_tensor.ndim = 0;
    t.dl_tensor.shape = NULL;
    CHECK_OK(gpul_from_dlpack(&view, &t));
    CHECK_INT(gpul_size(&view), 1);
    t.dl_tensor.ndim = 1;
    t.dl_tensor.shape = shape;
    shape[0] = 0;
    t.dl_tensor.data = NULL;
    CHECK_OK(gpul_from_dlpack(&view, &t));
    CHECK(gpul_size(&view) == 0 && view.data == NULL);
    shape[0] = 2;

    untouched = view;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_ARGUMENT, "gpul_from_dlpack", "tensor->data");
    t.dl_tensor.data = a.data;
    t.dl_tensor.byte_offset = 2;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_ARGUMENT, "gpul_from_dlpack", "not aligned to the 4 bytes");
    t.dl_tensor.byte_offset = 0;
    strides[0] = -1;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_ARGUMENT, "gpul_from_dlpack", "strides[0] = -1");
    strides[0] = 1;
    shape[0] = -2;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_SHAPE, "gpul_from_dlpack", "-2");
    shape[0] = 2;
    t.dl_tensor.ndim = 5;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_SHAPE, "gpul_from_dlpack", "5 dimensions, not 0 to 4");
    t.dl_tensor.ndim = -1;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_SHAPE, "gpul_from_dlpack", "-1 dimensions");
    t.dl_tensor.ndim = 1;
    t.dl_tensor.shape = NULL;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_SHAPE, "gpul_from_dlpack", "without a shape");
    t.dl_tensor.shape = shape;
    t.dl_tensor.dtype.lanes = 4;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_DTYPE, "gpul_from_dlpack", "code 2, 32 bits and 4 lanes");
    t.dl_tensor.dtype.lanes = 1;
    t.dl_tensor.dtype.code = 5;
    t.dl_tensor.dtype.bits = 64;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_DTYPE, "gpul_from_dlpack", "code 5, 64 bits");
    t.dl_tensor.dtype.code = 2;
    t.dl_tensor.dtype.bits = 32;
    t.dl_tensor.device.device_type = 10;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_MEMORY, "gpul_from_dlpack", "device_type 10");
    t.dl_tensor.device.device_type = CPU;
    t.dl_tensor.data = page;
    CHECK_FAILS(gpul_from_dlpack(&view, &t), GPUL_ERROR_MEMORY, "gpul_from_dlpack", "gpul_pin it");
    CHECK_FAILS(gpul_from_dlpack(NULL, &t), GPUL_ERROR_ARGUMENT, "gpul_from_dlpack", "out");
    CHECK_FAILS(gpul_from_dlpack(&view, NULL), GPUL_ERROR_ARGUMENT, "gpul_from_dlpack", "tensor");
    CHECK(memcmp(&view, &untouched, sizeof view) == 0);
    CHECK_OK(gpul_pin(page, sizeof page));
    CHECK_OK(gpul_from_dlpack(&view, &t));
    CHECK(view.data == (void *)page && view.memory == GPUL_MEMORY_HOST);
    CHECK_OK(gpul_unpin(page));
    CHECK_OK(gpul_free(&a));
}

static void test_refused(void) {
    gpul_array a = GPUL_ZERO, x = GPUL_ZERO;
    DLManagedTensor *tensor = NULL;
    CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(10), NULL));
    CHECK_FAILS(gpul_to_dlpack(NULL, &x), GPUL_ERROR_ARGUMENT, "gpul_to_dlpack", "out");
    CHECK_FAILS(gpul_to_dlpack(&tensor, NULL), GPUL_ERROR_ARGUMENT, "gpul_to_dlpack", "a is NULL");
    CHECK_FAILS(gpul_to_dlpack(&tensor, &a), GPUL_ERROR_ARGUMENT, "gpul_to_dlpack", "never made");
    CHECK(tensor == NULL && x.owned);
    CHECK_OK(gpul_free(&x));
}

int main(void) {
    check_begin("dlpack");
    RUN(test_both_ways);
    RUN(test_owner);
    RUN(test_foreign);
    RUN(test_refused);
    return check_end();
}
