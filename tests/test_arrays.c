/* SPDX-License-Identifier: MIT
 * Making and freeing arrays of every kind of memory; limits, out of memory and recovery. */
#include "check.h"

typedef gpul_status (*maker)(gpul_array *, gpul_dtype, gpul_shape);
static gpul_status make_device(gpul_array *a, gpul_dtype t, gpul_shape s) { return gpul_device_array(a, t, s, NULL); }
static const maker makers[4] = {make_device, gpul_pinned_array, gpul_mapped_array, gpul_managed_array};
static const char *const maker_names[4] = {"gpul_device_array", "gpul_pinned_array", "gpul_mapped_array",
                                           "gpul_managed_array"};
static const int32_t kinds[4] = {GPUL_MEMORY_DEVICE, GPUL_MEMORY_PINNED, GPUL_MEMORY_MAPPED, GPUL_MEMORY_MANAGED};

static int is_zero(const void *p, size_t bytes) {
    const unsigned char *c = (const unsigned char *)p;
    for (size_t i = 0; i < bytes; i++)
        if (c[i]) return 0;
    return 1;
}

static void check_made(const gpul_array *a, gpul_dtype t, gpul_shape s, int32_t memory) {
    int64_t n = 1, step = 1;
    for (int k = 0; k < s.ndim; k++) n *= s.dim[k];
    CHECK_INT(a->ndim, s.ndim);
    CHECK_INT(a->dtype, t);
    CHECK_INT(a->memory, memory);
    CHECK_INT(a->device, 0);
    CHECK_INT(a->stream_number, 0);
    CHECK_INT(gpul_size(a), n);
    CHECK_INT(gpul_nbytes(a), n * (int64_t)gpul_dtype_size(t));
    CHECK((a->data == NULL) == (n == 0));
    CHECK(n == 0 || a->owned != 0);
    CHECK_INT((uintptr_t)a->data % 16, 0);
    for (int k = 0; k < GPUL_MAX_DIMS; k++) CHECK_INT(a->shape[k], k < s.ndim ? s.dim[k] : 1);
    for (int k = s.ndim; k < GPUL_MAX_DIMS; k++) CHECK_INT(a->strides[k], 0);
    if (n > 0)
        for (int k = 0; k < s.ndim; k++) {
            const int axis = s.order == GPUL_ORDER_F ? k : s.ndim - 1 - k;
            CHECK_INT(a->strides[axis], step);
            step *= s.dim[axis];
        }
}

static void test_kinds(void) {
    gpul_shape shapes[12];
    int n = 0;
    shapes[n++] = gpul_0d();
    shapes[n++] = gpul_1d(0);
    shapes[n++] = gpul_1d(1);
    shapes[n++] = gpul_1d(1001);
    shapes[n++] = gpul_2d(3, 5);
    shapes[n++] = gpul_2d_f(3, 5);
    shapes[n++] = gpul_2d(7, 0);
    shapes[n++] = gpul_2d_f(0, 7);
    shapes[n++] = gpul_3d(2, 1, 9);
    shapes[n++] = gpul_4d(2, 3, 4, 5);
    shapes[n] = gpul_4d(2, 3, 4, 5);
    shapes[n++].order = GPUL_ORDER_F;
    shapes[n++] = gpul_4d(1, 0, 2, 0);
    for (int k = 0; k < 4; k++)
        for (int d = 0; d < 7; d++)
            for (int i = 0; i < n; i++) {
                gpul_array a;
                memset(&a, 0xEE, sizeof a); /* overwritten without being looked at */
                if (!CHECK_OK(makers[k](&a, all_dtypes[d], shapes[i]))) continue;
                check_made(&a, all_dtypes[d], shapes[i], kinds[k]);
                CHECK_INT(gpul_is_contiguous(&a, shapes[i].order), 1);
                if (k > 0 && a.data) /* the host can use it */
                    memset(a.data, 0, (size_t)gpul_nbytes(&a));
                CHECK_OK(gpul_free(&a));
                CHECK(is_zero(&a, sizeof a));
                CHECK_OK(gpul_free(&a));
            }
    CHECK_OK(gpul_free(NULL));
    CHECK_INT(gpul_size(NULL), 0);
    CHECK_INT(gpul_nbytes(NULL), 0);
    {
        gpul_array zero = GPUL_ZERO;
        CHECK_INT(gpul_size(&zero), 0);
        CHECK_INT(gpul_nbytes(&zero), 0);
        CHECK_OK(gpul_free(&zero));
    }
}

static void test_like(void) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, t = GPUL_ZERO, part = GPUL_ZERO;
    CHECK_OK(gpul_device_array(&a, GPUL_F64, gpul_2d_f(4, 6), NULL));
    CHECK_OK(gpul_device_array_like(&b, &a, NULL));
    CHECK(b.strides[0] == 1 && b.strides[1] == 4 && b.shape[0] == 4 && b.shape[1] == 6 && b.dtype == GPUL_F64);
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_transpose(&t, &a));
    CHECK_OK(gpul_device_array_like(&b, &t, NULL));
    CHECK(b.strides[0] == 4 && b.strides[1] == 1 && b.shape[0] == 6);
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_slice(&part, &a, 0, 1, 3, 1)); /* with gaps: C order */
    CHECK_OK(gpul_device_array_like(&b, &part, NULL));
    CHECK(b.strides[0] == 6 && b.strides[1] == 1 && b.shape[0] == 2);
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_pinned_array(&a, GPUL_U8, gpul_1d(5)));
    CHECK_OK(gpul_device_array_like(&b, &a, NULL));
    CHECK(b.memory == GPUL_MEMORY_DEVICE && b.shape[0] == 5 && b.dtype == GPUL_U8);
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_free(&a));
}

static void test_bad_arguments(void) {
    gpul_array a, before;
    const float host[4] = {1, 2, 3, 4};
    gpul_shape s;
    memset(&a, 0xEE, sizeof a);
    memset(&before, 0xEE, sizeof before);
    for (int k = 0; k < 4; k++) {
        CHECK_FAILS(makers[k](NULL, GPUL_F32, gpul_1d(3)), GPUL_ERROR_ARGUMENT, maker_names[k], "out");
        CHECK_FAILS(makers[k](&a, 0, gpul_1d(3)), GPUL_ERROR_DTYPE, maker_names[k], "dtype");
        CHECK_FAILS(makers[k](&a, 8, gpul_1d(3)), GPUL_ERROR_DTYPE, maker_names[k], "8");
        CHECK_FAILS(makers[k](&a, GPUL_F32, gpul_2d(3, -1)), GPUL_ERROR_SHAPE, maker_names[k], "-1");
        CHECK_FAILS(makers[k](&a, GPUL_F64, gpul_1d(INT64_MAX / 4)), GPUL_ERROR_OVERFLOW, maker_names[k], "shape");
        CHECK_FAILS(makers[k](&a, GPUL_U8, gpul_2d(INT64_MAX, 2)), GPUL_ERROR_OVERFLOW, maker_names[k], NULL);
        CHECK_FAILS(makers[k](&a, GPUL_U8, gpul_4d((int64_t)1 << 32, (int64_t)1 << 31, 2, 1)), GPUL_ERROR_OVERFLOW,
                    maker_names[k], NULL);
        s = gpul_1d(3);
        s.ndim = 5;
        CHECK_FAILS(makers[k](&a, GPUL_F32, s), GPUL_ERROR_ARGUMENT, maker_names[k], "ndim");
        s.ndim = -1;
        CHECK_FAILS(makers[k](&a, GPUL_F32, s), GPUL_ERROR_ARGUMENT, maker_names[k], "ndim");
        s.ndim = 1;
        s.order = 2;
        CHECK_FAILS(makers[k](&a, GPUL_F32, s), GPUL_ERROR_ARGUMENT, maker_names[k], "order");
        CHECK_BYTES(&a, &before, sizeof a);
    }
    CHECK_FAILS(gpul_device_array_like(NULL, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_device_array_like", "out");
    CHECK_FAILS(gpul_device_array_like(&a, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_device_array_like", "like");
    {
        gpul_array zero = GPUL_ZERO;
        CHECK_FAILS(gpul_device_array_like(&a, &zero, NULL), GPUL_ERROR_ARGUMENT, "gpul_device_array_like", "like");
    }
    CHECK_FAILS(gpul_to_device(NULL, host, GPUL_F32, gpul_1d(4), NULL), GPUL_ERROR_ARGUMENT, "gpul_to_device", "out");
    CHECK_FAILS(gpul_to_device(&a, NULL, GPUL_F32, gpul_1d(4), NULL), GPUL_ERROR_ARGUMENT, "gpul_to_device", "host");
    CHECK_FAILS(gpul_to_device(&a, host, 77, gpul_1d(4), NULL), GPUL_ERROR_DTYPE, "gpul_to_device", "dtype");
    CHECK_FAILS(gpul_to_device(&a, host, GPUL_F32, gpul_1d(-4), NULL), GPUL_ERROR_SHAPE, "gpul_to_device", "-4");
    CHECK_BYTES(&a, &before, sizeof a);
    CHECK_OK(gpul_to_device(&a, NULL, GPUL_F32, gpul_1d(0), NULL)); /* nothing to read */
    CHECK_OK(gpul_free(&a));
    CHECK_FAILS(gpul_memory_limit(-1), GPUL_ERROR_ARGUMENT, "gpul_memory_limit", "bytes");
}

static void test_views_free_nothing(void) {
    gpul_array a = GPUL_ZERO, v = GPUL_ZERO;
    float x = 0;
    const int64_t at[1] = {1};
    const float host[3] = {1, 2, 3};
    CHECK_OK(gpul_to_device(&a, host, GPUL_F32, gpul_1d(3), NULL));
    CHECK_OK(gpul_slice(&v, &a, 0, 0, 2, 1));
    CHECK_INT(v.owned, 0);
    CHECK_OK(gpul_free(&v));
    CHECK(is_zero(&v, sizeof v));
    CHECK_OK(gpul_wrap(&v, a.data, GPUL_F32, gpul_1d(3)));
    CHECK_INT(v.owned, 0);
    CHECK_OK(gpul_free(&v));
    CHECK_OK(gpul_get(&x, &a, at, NULL));
    CHECK_NEAR(x, 2, 0);
    CHECK_OK(gpul_free(&a));
}

static void test_memory_used(void) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO;
    int64_t used = -1, held = -1, before = -1;
    CHECK_OK(gpul_memory_used(&before, NULL));
    CHECK_INT(before, 0);
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(1 << 20), NULL));
    CHECK_OK(gpul_device_array(&b, GPUL_U8, gpul_1d(1), NULL));
    CHECK_OK(gpul_memory_used(&used, &held));
    CHECK(used >= (1 << 22) + 1 && used <= (1 << 22) + (4 << 20));
    CHECK(held >= used);
    CHECK_OK(gpul_memory_used(NULL, &held));
    CHECK_OK(gpul_memory_used(NULL, NULL));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_memory_used(&used, &held)); /* what was freed is kept for later arrays, also when all work is done */
    CHECK_INT(used, 0);
    CHECK(held >= 1 << 22);
    CHECK_OK(gpul_memory_trim());
    CHECK_OK(gpul_memory_used(&used, &held));
    CHECK_INT(used, 0);
    CHECK_INT(held, 0);
}

static void test_limit(void) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, untouched;
    const int64_t mega = 1 << 20;
    CHECK_OK(gpul_memory_limit(8 * mega));
    CHECK_OK(gpul_device_array(&a, GPUL_U8, gpul_1d(5 * mega), NULL));
    memset(&b, 0xEE, sizeof b);
    memset(&untouched, 0xEE, sizeof untouched);
    CHECK_FAILS(gpul_device_array(&b, GPUL_U8, gpul_1d(4 * mega), NULL), GPUL_ERROR_OUT_OF_MEMORY, "gpul_device_array",
                NULL);
    CHECK_INT(gpul_last_error()->bytes_requested, 4 * mega);
    CHECK(strstr(gpul_last_error()->message, "4194304") != NULL);
    CHECK_INT(gpul_last_error()->device, 0);
    CHECK_BYTES(&b, &untouched, sizeof b);
    CHECK_OK(gpul_device_array(&b, GPUL_U8, gpul_1d(2 * mega), NULL)); /* recoverable */
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_device_array(&b, GPUL_U8, gpul_1d(7 * mega), NULL)); /* the freed bytes count no more */
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_memory_limit(0));
    CHECK_OK(gpul_device_array(&b, GPUL_U8, gpul_1d(12 * mega), NULL));
    CHECK_OK(gpul_free(&b));
    { /* scratch memory obeys the limit too */
        gpul_array x = GPUL_ZERO, A = GPUL_ZERO, B = GPUL_ZERO, out = GPUL_ZERO;
        const int64_t k = 1 << 16;
        double value = -7;
        float got[64] = {0};
        CHECK_OK(gpul_device_array(&x, GPUL_F32, gpul_1d(8 * k), NULL));
        CHECK_OK(gpul_fill(&x, 1, NULL));
        CHECK_OK(gpul_reshape(&A, &x, gpul_2d(8, k)));
        CHECK_OK(gpul_transpose(&B, &A));
        CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_2d(8, 8), NULL));
        CHECK_OK(gpul_fill(&out, 77, NULL));
        CHECK_OK(gpul_memory_limit(1));
        CHECK_FAILS(gpul_matmul(&out, &A, &B, NULL), GPUL_ERROR_OUT_OF_MEMORY, "gpul_matmul", NULL);
        CHECK_FAILS(gpul_reduce_host(&value, GPUL_F64, &x, GPUL_SUM, NULL), GPUL_ERROR_OUT_OF_MEMORY,
                    "gpul_reduce_host", NULL);
        CHECK_NEAR(value, -7, 0);
        CHECK_OK(gpul_memory_limit(0));
        CHECK_OK(gpul_copy_to_host(got, &out, NULL));
        CHECK_NEAR(got[63], 77, 0);
        CHECK_OK(gpul_matmul(&out, &A, &B, NULL));
        CHECK_OK(gpul_copy_to_host(got, &out, NULL));
        CHECK_NEAR(got[63], k, 0);
        CHECK_OK(gpul_free(&x));
        CHECK_OK(gpul_free(&out));
    }
}

static void test_out_of_memory(void) {
    gpul_array a, before;
    gpul_device info, after;
    float *host = (float *)malloc(4);
    memset(&a, 0xEE, sizeof a);
    memset(&before, 0xEE, sizeof before);
    CHECK_OK(gpul_device_info(&info, 0));
    CHECK_FAILS(gpul_device_array(&a, GPUL_U8, gpul_1d(info.total_bytes + 1), NULL), GPUL_ERROR_OUT_OF_MEMORY,
                "gpul_device_array", NULL);
    CHECK_INT(gpul_last_error()->bytes_requested, info.total_bytes + 1);
    CHECK(gpul_last_error()->bytes_free > info.free_bytes / 2 && gpul_last_error()->bytes_free <= info.total_bytes);
    CHECK_INT(gpul_last_error()->cuda_code, cudaErrorMemoryAllocation);
    CHECK_STRING(gpul_last_error()->cuda_name, "cudaErrorMemoryAllocation");
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK_FAILS(gpul_to_device(&a, host, GPUL_U8, gpul_1d(info.total_bytes + 1), NULL), GPUL_ERROR_OUT_OF_MEMORY,
                "gpul_to_device", NULL);
    CHECK_BYTES(&a, &before, sizeof a);
    free(host);
    CHECK_OK(gpul_device_info(&after, 0)); /* and what the attempts took is free again */
    CHECK(after.free_bytes > info.free_bytes / 2);
    CHECK_OK(gpul_device_array(&a, GPUL_U8, gpul_1d(1000), NULL));
    CHECK_OK(gpul_fill(&a, 3, NULL));
    CHECK_OK(gpul_free(&a));
#ifdef GPULITE_CPU_STANDIN
    { /* cached memory is given back and the allocation tried once more */
        gpul_array b = GPUL_ZERO;
        const int64_t mega = 1 << 20;
        CHECK_OK(gpul_memory_trim());
        standin_memory((size_t)(10 * mega));
        for (int k = 0; k < 5; k++) {
            CHECK_OK(gpul_device_array(&b, GPUL_U8, gpul_1d((4 + k) * mega), NULL));
            CHECK_OK(gpul_free(&b));
        }
        standin_reset();
    }
#endif
}

static void test_wrap(void) {
    static float page[4096];
    gpul_array a = GPUL_ZERO, w = GPUL_ZERO, p = GPUL_ZERO, before;
    int64_t strides[4] = {7, 1, 0, 0};
    float back[6] = {0, 0, 0, 0, 0, 0};
    gpul_device info;
    CHECK_OK(gpul_device_info(&info, 0));
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_fill(&a, 2.5, NULL));
    CHECK_OK(gpul_wrap(&w, a.data, GPUL_F32, gpul_2d(2, 3)));
    CHECK(w.memory == GPUL_MEMORY_DEVICE && w.device == 0 && w.owned == 0 && w.strides[0] == 3);
    CHECK_OK(gpul_wrap_strided(&w, (float *)a.data + 1, GPUL_F32, gpul_2d(2, 3), strides));
    CHECK(w.strides[0] == 7 && w.strides[1] == 1 && w.strides[2] == 0 && w.shape[2] == 1);
    CHECK_OK(gpul_copy_to_host(back, &w, NULL));
    for (int i = 0; i < 6; i++) CHECK_NEAR(back[i], 2.5, 0);
    memset(&before, 0xEE, sizeof before);
    memset(&w, 0xEE, sizeof w);
    CHECK_FAILS(gpul_wrap(&w, page, GPUL_F32, gpul_1d(4)), GPUL_ERROR_MEMORY, "gpul_wrap", "pointer");
    CHECK_FAILS(gpul_wrap(NULL, a.data, GPUL_F32, gpul_1d(4)), GPUL_ERROR_ARGUMENT, "gpul_wrap", "out");
    CHECK_FAILS(gpul_wrap(&w, NULL, GPUL_F32, gpul_1d(4)), GPUL_ERROR_ARGUMENT, "gpul_wrap", "pointer");
    CHECK_FAILS(gpul_wrap(&w, a.data, 99, gpul_1d(4)), GPUL_ERROR_DTYPE, "gpul_wrap", "dtype");
    CHECK_FAILS(gpul_wrap(&w, a.data, GPUL_F32, gpul_2d(4, -2)), GPUL_ERROR_SHAPE, "gpul_wrap", "-2");
    CHECK_FAILS(gpul_wrap_strided(&w, a.data, GPUL_F32, gpul_2d(2, 3), NULL), GPUL_ERROR_ARGUMENT, "gpul_wrap_strided",
                "strides");
    CHECK_FAILS(gpul_wrap_strided(NULL, a.data, GPUL_F32, gpul_2d(2, 3), strides), GPUL_ERROR_ARGUMENT,
                "gpul_wrap_strided", "out");
    CHECK_FAILS(gpul_wrap_strided(&w, NULL, GPUL_F32, gpul_2d(2, 3), strides), GPUL_ERROR_ARGUMENT, "gpul_wrap_strided",
                "pointer");
    strides[1] = -1;
    CHECK_FAILS(gpul_wrap_strided(&w, a.data, GPUL_F32, gpul_2d(2, 3), strides), GPUL_ERROR_ARGUMENT,
                "gpul_wrap_strided", "-1");
#ifdef GPULITE_CPU_STANDIN /* a GPU's allocations end at larger steps */
    CHECK_FAILS(gpul_wrap(&w, a.data, GPUL_U8, gpul_1d(401)), GPUL_ERROR_MEMORY, "gpul_wrap",
                "its memory ends before the 401 bytes");
#endif
    CHECK_BYTES(&w, &before, sizeof w);
    CHECK_OK(gpul_wrap(&w, a.data, GPUL_U8, gpul_1d(400)));
    CHECK_OK(gpul_free(&a));

    /* memory of the caller's, pinned in place */
    CHECK_OK(gpul_pin(page, sizeof page));
    CHECK_OK(gpul_wrap(&w, page, GPUL_F32, gpul_1d(4096)));
    CHECK_INT(w.memory, GPUL_MEMORY_HOST);
    CHECK_OK(gpul_fill(&w, 4, NULL));
    CHECK_OK(gpul_stream_synchronize(NULL));
    CHECK_NEAR(page[4095], 4, 0);
    CHECK_FAILS(gpul_pin(page, sizeof page), GPUL_ERROR_CUDA, "gpul_pin", NULL);
    CHECK_INT(gpul_last_error()->cuda_code, cudaErrorHostMemoryAlreadyRegistered);
    CHECK_OK(gpul_free(&w));
    CHECK_OK(gpul_unpin(page));
    CHECK_FAILS(gpul_unpin(page), GPUL_ERROR_CUDA, "gpul_unpin", NULL);
    CHECK_FAILS(gpul_unpin(NULL), GPUL_ERROR_ARGUMENT, "gpul_unpin", "host");
    CHECK_FAILS(gpul_pin(NULL, 5), GPUL_ERROR_ARGUMENT, "gpul_pin", "host");
    CHECK_FAILS(gpul_pin(page, 0), GPUL_ERROR_ARGUMENT, "gpul_pin", "bytes");

    for (int k = 1; k < (info.has_managed ? 4 : 3); k++) { /* somebody else's pinned, mapped and managed memory */
        CHECK_OK(makers[k](&p, GPUL_F32, gpul_1d(10)));
        CHECK_OK(gpul_wrap(&w, p.data, GPUL_F32, gpul_1d(10)));
        CHECK(w.memory == kinds[k] || (k < 3 && (w.memory == GPUL_MEMORY_PINNED || w.memory == GPUL_MEMORY_MAPPED ||
                                                 w.memory == GPUL_MEMORY_HOST)));
        CHECK_OK(gpul_fill(&w, 6, NULL));
        CHECK_OK(gpul_stream_synchronize(NULL));
        CHECK_NEAR(((float *)p.data)[9], 6, 0);
        CHECK_OK(gpul_free(&w));
        CHECK_OK(gpul_free(&p));
    }
}

static void test_free_order(void) { /* freeing follows the stream: work that is queued still has its memory */
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, keep = GPUL_ZERO;
    float host[1000], back[1000];
    for (int i = 0; i < 1000; i++) host[i] = (float)i;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&keep, GPUL_F32, gpul_1d(1000), s));
    for (int round = 0; round < 4; round++) {
        CHECK_OK(gpul_to_device(&a, host, GPUL_F32, gpul_1d(1000), s));
        CHECK(a.stream == s);
        CHECK_OK(gpul_device_array_like(&b, &a, s));
        CHECK_OK(gpul_vecadd(&b, &a, &a, s));
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_vecadd(&keep, &b, &b, s));
        CHECK_OK(gpul_free(&b));
    }
    CHECK_OK(gpul_copy_to_host(back, &keep, s));
    CHECK_OK(gpul_stream_synchronize(s));
    for (int i = 0; i < 1000; i++)
        if (!(back[i] == 4 * host[i])) {
            FAIL("element %d is %g", i, (double)back[i]);
            break;
        }
    CHECK_OK(gpul_free(&keep));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK(s == NULL);
}

#ifdef GPULITE_CPU_STANDIN
static void test_no_device(void) {
    gpul_array a, before;
    int32_t count = -1;
    size_t length = 0;
    char text[8192];
    gpul_device info;
    gpul_stream s = NULL;
    memset(&a, 0xEE, sizeof a);
    memset(&before, 0xEE, sizeof before);
    standin_reset();
    standin_devices(0);
    CHECK_OK(gpul_device_count(&count));
    CHECK_INT(count, 0);
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    for (int k = 0; k < 4; k++) {
        CHECK_FAILS(makers[k](&a, GPUL_F32, gpul_1d(3)), GPUL_ERROR_NO_DEVICE, maker_names[k], NULL);
        CHECK_BYTES(&a, &before, sizeof a);
    }
    CHECK_FAILS(gpul_device_select(0), GPUL_ERROR_NO_DEVICE, "gpul_device_select", NULL);
    CHECK_FAILS(gpul_device_info(&info, 0), GPUL_ERROR_NO_DEVICE, "gpul_device_info", NULL);
    CHECK_FAILS(gpul_stream_create(&s, 0), GPUL_ERROR_NO_DEVICE, "gpul_stream_create", NULL);
    CHECK_FAILS(gpul_device_synchronize(), GPUL_ERROR_NO_DEVICE, "gpul_device_synchronize", NULL);
    CHECK(s == NULL);
    CHECK_OK(gpul_report(&length, text, sizeof text));
    CHECK(length > 0 && length < sizeof text);
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    standin_reset();
    CHECK_OK(gpul_device_count(&count));
    CHECK_INT(count, 1);
    /* no driver at all, of which CUDA says that its version is insufficient */
    standin_fail("cudaGetDevice", 1, cudaErrorInsufficientDriver, STANDIN_FROM_THEN_ON);
    standin_fail("cudaGetDeviceCount", 1, cudaErrorInsufficientDriver, STANDIN_FROM_THEN_ON);
    CHECK_FAILS(gpul_device_array(&a, GPUL_F32, gpul_1d(3), NULL), GPUL_ERROR_NO_DEVICE, "gpul_device_array",
                "too old for"); /* there is one, and it is old */
    standin_fail("cudaDriverGetVersion", 1, cudaErrorInsufficientDriver, STANDIN_FROM_THEN_ON);
    CHECK_FAILS(gpul_device_array(&a, GPUL_F32, gpul_1d(3), NULL), GPUL_ERROR_NO_DEVICE, "gpul_device_array",
                "there is no CUDA driver");
    CHECK(strstr(gpul_last_error()->message, "insufficient") == NULL);
    CHECK_OK(gpul_report(&length, text, sizeof text));
    CHECK(strstr(text, "there is no CUDA driver") != NULL && strstr(text, "insufficient") == NULL);
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    standin_fail_clear();
}

/* Pinned memory may be read by any device: it is there until all of them are done. */
static void test_pinned_of_two_devices(void) {
    gpul_array pinned = GPUL_ZERO, there = GPUL_ZERO;
    gpul_stream s = NULL;
    float back[100];
    standin_reset();
    standin_devices(3);
    CHECK_OK(gpul_device_select(1));
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&there, GPUL_F32, gpul_1d(100), s));
    CHECK_OK(gpul_device_select(0));
    CHECK_OK(gpul_pinned_array(&pinned, GPUL_F32, gpul_1d(100)));
    for (int i = 0; i < 100; i++) ((float *)pinned.data)[i] = (float)i;
    CHECK_OK(gpul_copy_to_device(&there, pinned.data, s)); /* enqueued on device 1, and lazy */
    {
        const long waits = standin_calls("cudaDeviceSynchronize");
        CHECK_OK(gpul_free(&pinned));
        CHECK(standin_calls("cudaDeviceSynchronize") - waits >= 2); /* devices 0 and 1, and what earlier tests used */
    }
    CHECK_OK(gpul_copy_to_host(back, &there, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(back[99], 99, 0);
    {
        int32_t current = -1;
        CHECK_OK(gpul_device_current(&current));
        CHECK_INT(current, 0);
    }
    CHECK_OK(gpul_free(&there));
    CHECK_OK(gpul_stream_destroy(&s));
    standin_reset();
}

static void test_two_devices(void) {
    gpul_array a0 = GPUL_ZERO, a1 = GPUL_ZERO, b1 = GPUL_ZERO, out = GPUL_ZERO;
    int32_t current = -1;
    float back[64], host[64];
    double sum = -1;
    for (int i = 0; i < 64; i++) host[i] = (float)i;
    standin_reset();
    standin_devices(3);
    CHECK_OK(gpul_device_select(0));
    CHECK_OK(gpul_to_device(&a0, host, GPUL_F32, gpul_1d(64), NULL));
    CHECK_OK(gpul_device_select(1));
    CHECK_OK(gpul_to_device(&a1, host, GPUL_F32, gpul_1d(64), NULL));
    CHECK_INT(a1.device, 1);
    CHECK_OK(gpul_device_select(2));
    CHECK_OK(gpul_device_array_like(&b1, &a1, NULL)); /* on its model's device, not the current one */
    CHECK_INT(b1.device, 1);
    CHECK_OK(gpul_device_current(&current));
    CHECK_INT(current, 2);
    CHECK_OK(gpul_vecadd(&b1, &a1, &a1, NULL)); /* runs on device 1 and comes back to 2 */
    CHECK_OK(gpul_device_current(&current));
    CHECK_INT(current, 2);
    CHECK_OK(gpul_copy_to_host(back, &b1, NULL));
    CHECK_NEAR(back[63], 126, 0);
    CHECK_FAILS(gpul_vecadd(&b1, &a1, &a0, NULL), GPUL_ERROR_DEVICE, "gpul_vecadd", NULL);
    CHECK_FAILS(gpul_vecmul(&a0, &a1, &b1, NULL), GPUL_ERROR_DEVICE, "gpul_vecmul", NULL);
    CHECK_OK(gpul_device_select(0));
    CHECK_OK(gpul_device_array(&out, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(gpul_device_select(2));
    CHECK_FAILS(gpul_reduce(&out, &a1, GPUL_SUM, GPUL_ALL_AXES, NULL), GPUL_ERROR_DEVICE, "gpul_reduce", NULL);
    CHECK_FAILS(gpul_dot(&out, &a0, &a1, NULL), GPUL_ERROR_DEVICE, "gpul_dot", NULL);
    {
        gpul_array m1 = GPUL_ZERO, m0 = GPUL_ZERO, counts = GPUL_ZERO, x0 = GPUL_ZERO, y0 = GPUL_ZERO;
        CHECK_OK(gpul_reshape(&m1, &a1, gpul_2d(8, 8)));
        CHECK_OK(gpul_reshape(&m0, &a0, gpul_2d(8, 8)));
        CHECK_OK(gpul_slice(&x0, &a0, 0, 0, 8, 1));
        CHECK_OK(gpul_slice(&y0, &a0, 0, 8, 16, 1));
        CHECK_FAILS(gpul_gemv(&y0, 1, &m1, &x0, 0, NULL), GPUL_ERROR_DEVICE, "gpul_gemv", NULL);
        CHECK_FAILS(gpul_matmul(&m0, &m1, &m1, NULL), GPUL_ERROR_DEVICE, "gpul_matmul", NULL);
        CHECK_FAILS(gpul_gemm(&m1, 1, &m1, &m0, 0, NULL), GPUL_ERROR_OVERLAP, "gpul_gemm", NULL);
        CHECK_OK(gpul_device_array(&counts, GPUL_I32, gpul_1d(4), NULL)); /* device 2 */
        CHECK_FAILS(gpul_histogram(&counts, &a0, 0, 1, NULL), GPUL_ERROR_DEVICE, "gpul_histogram", NULL);
        CHECK_OK(gpul_free(&counts));
    }
    CHECK_OK(gpul_mean(&sum, &a0, NULL));
    CHECK_NEAR(sum, 31.5, 0);
    CHECK_OK(gpul_copy(&a0, &b1, NULL)); /* across devices */
    CHECK_OK(gpul_copy_to_host(back, &a0, NULL));
    CHECK_NEAR(back[10], 20, 0);
    { /* strided, across devices */
        gpul_array even = GPUL_ZERO, half = GPUL_ZERO;
        CHECK_OK(gpul_slice(&even, &a0, 0, 0, 64, 2));
        CHECK_OK(gpul_slice(&half, &a1, 0, 1, 64, 2));
        CHECK_OK(gpul_copy(&even, &half, NULL));
        CHECK_OK(gpul_copy_to_host(back, &a0, NULL));
        for (int i = 0; i < 64; i++) CHECK_NEAR(back[i], i % 2 ? 2 * i : i + 1, 0);
    }
    CHECK_OK(gpul_device_current(&current));
    CHECK_INT(current, 2);
    CHECK_OK(gpul_free(&a0));
    CHECK_OK(gpul_free(&a1));
    CHECK_OK(gpul_free(&b1));
    CHECK_OK(gpul_free(&out));
    CHECK_OK(gpul_device_current(&current));
    CHECK_INT(current, 2);
    CHECK_OK(gpul_device_select(0));
    check_clean();
    standin_reset();
}
#endif

int main(void) {
    check_begin("arrays");
    RUN(test_kinds);
    RUN(test_like);
    RUN(test_bad_arguments);
    RUN(test_views_free_nothing);
    RUN(test_memory_used);
    RUN(test_limit);
    RUN(test_out_of_memory);
    RUN(test_wrap);
    RUN(test_free_order);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_no_device);
    RUN(test_pinned_of_two_devices);
    RUN(test_two_devices);
#endif
    return check_end();
}
