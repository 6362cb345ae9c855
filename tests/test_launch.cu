/* SPDX-License-Identifier: MIT GPUL_LAUNCH: arrays as arguments, what of them is checked, the limits of a launch and
 * how they are named; cooperative launches; gpul_view; the grid-stride loops of two and three dimensions; atomic
 * minimum and maximum of floats. */
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "check.h"

/* ---- kernels ---- */

static __global__ void add(float *z, const float *x, const float *y, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { z[i] = x[i] + y[i]; }
}
static __global__ void scale(double *x, int n, double factor) {
    GPUL_GRID_STRIDE(i, n) { x[i] *= factor; }
}
static __global__ void move_bytes(void *to, const void *from, size_t bytes) {
    GPUL_GRID_STRIDE(i, int64_t(bytes)) {
        static_cast<unsigned char *>(to)[i] = static_cast<const unsigned char *>(from)[i];
    }
}
static __global__ void sum_of_four(float *out, const float4 *x) {
    const float4 v = x[gpul_grid_x()];
    out[gpul_grid_x()] = v.x + v.y + v.z + v.w;
}
static __global__ void shape_of_struct(int64_t *out, gpul_array a) {
    for (int k = 0; k < 4; k++) out[k] = a.shape[k];
}
template <typename T> static __global__ void touch(T *, int) {}
template <typename T, unsigned N> static __global__ void touch_view(gpul_view<T, N>) {}
static __global__ void no_parameters() {}
static __device__ float table[4];

static __global__ void number_1d(gpul_view<int32_t, 1> v) {
    GPUL_GRID_STRIDE(i, v.shape[0]) { v(i) = int32_t(i); }
}
static __global__ void number_2d(gpul_view<int32_t, 2> v) {
    GPUL_GRID_STRIDE_2D(j, i, v.shape[1], v.shape[0]) { v(i, j) += int32_t(100 * i + j); }
}
static __global__ void number_3d(gpul_view<int32_t, 3> v) {
    GPUL_GRID_STRIDE_3D(k, j, i, v.shape[2], v.shape[1], v.shape[0]) { v(i, j, k) += int32_t(10000 * i + 100 * j + k); }
}
static __global__ void copy_4d(gpul_view<int32_t, 4> to, gpul_view<const int32_t, 4> from) {
    for (int i = 0; i < to.shape[0]; i++)
        for (int j = 0; j < to.shape[1]; j++)
            for (unsigned k = 0; k < to.shape[2]; k++) GPUL_GRID_STRIDE(l, to.shape[3]) {
                    to(i, j, k, l) = from(i, j, k, l);
                }
}
template <size_t kWords> static __global__ void through_shared(int32_t *x, int words) {
    GPUL_SHARED(int32_t, tile);
    __shared__ int32_t own[kWords];
    const int n = int(blockDim.x), t = int(threadIdx.x);
    for (int i = t; i < words; i += n) tile[i] = i;
    for (int i = t; i < int(kWords); i += n) own[i] = i;
    __syncthreads();
    if (t == 0) x[0] = tile[words - 1] + own[kWords - 1];
}
/* Each block passes its number on to the next one, round the grid, twice. */
static __global__ void pass_on(int32_t *x, int32_t *y) {
    const unsigned next = (blockIdx.x + 1) % gridDim.x;
    if (threadIdx.x == 0) x[next] = int32_t(blockIdx.x);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0) y[next] = x[blockIdx.x];
}
/* Extremes of x, by way of shared memory, which begin at *least and *most */
template <typename T> static __global__ void extremes(T *least, T *most, const T *x, int64_t n) {
    __shared__ T low, high;
    if (threadIdx.x == 0) low = high = x[0];
    __syncthreads();
    GPUL_GRID_STRIDE(i, n) {
        gpul_atomic_min(&low, x[i]);
        gpul_atomic_max(&high, x[i]);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    gpul_atomic_min(least, low);
    gpul_atomic_max(most, high);
}
/* One thread: what x[0] was before each of the others came */
template <typename T> static __global__ void one_by_one(T *x, T *was, int larger, int n) {
    for (int i = 1; i < n; i++) was[i] = larger ? gpul_atomic_max(x, x[i]) : gpul_atomic_min(x, x[i]);
}

/* ---- */

static void fetch(void *host, const gpul_array *a) { CHECK_OK(gpul_copy_to_host(host, a, NULL)); }

static gpul_array numbers(gpul_dtype dtype, gpul_shape shape) { /* 0, 1, 2, ... in memory's order */
    gpul_array a = GPUL_ZERO;
    unsigned char host[1024];
    CHECK_OK(gpul_device_array(&a, dtype, shape, NULL));
    for (int64_t i = 0; i < gpul_size(&a); i++)
        num_store(dtype, host + (size_t)i * gpul_dtype_size(dtype), num_of_int(i));
    CHECK_OK(gpul_copy_to_device(&a, host, NULL));
    return a;
}

static void test_arrays(void) { /* by address and by value; beside pointers and numbers */
    gpul_array x = numbers(GPUL_F32, gpul_1d(100)), y = numbers(GPUL_F32, gpul_2d_f(10, 10)), z = GPUL_ZERO;
    gpul_array d = numbers(GPUL_F64, gpul_0d()), shape = numbers(GPUL_I64, gpul_1d(4)), four = GPUL_ZERO;
    gpul_array memory[3] = {GPUL_ZERO, GPUL_ZERO, GPUL_ZERO}, empty = GPUL_ZERO;
    const gpul_array *const px = &x;
    float host[100];
    int64_t dims[4];
    double one = 0;
    CHECK_OK(gpul_device_array_like(&z, &x, NULL));
    for (int form = 0; form < 4; form++) {
        int64_t wrong = 0;
        CHECK_OK(gpul_fill(&z, -1, NULL));
        if (form == 0) CHECK_OK(GPUL_LAUNCH(add, gpul_grid_1d(100, 32), 32, 0, NULL, &z, &x, &y, 100));
        if (form == 1) CHECK_OK(GPUL_LAUNCH(add, 2, 32, 0, NULL, z, x, y, gpul_size(&x)));
        if (form == 2) CHECK_OK(GPUL_LAUNCH(add, 1, 1, 0, NULL, (float *)z.data, px, y.data, 100u));
        if (form == 3) CHECK_OK(GPUL_LAUNCH(&add, dim3(7), dim3(3, 1, 1), 0, 0, &z, *px, &y, 100.5));
        fetch(host, &z);
        for (int i = 0; i < 100; i++) wrong += !(host[i] == 2 * (float)i);
        CHECK_INT(wrong, 0);
    }
    CHECK_OK(GPUL_LAUNCH(no_parameters, 1, 1, 0, NULL));
    CHECK_OK(gpul_fill(&d, 3, NULL));
    CHECK_OK(GPUL_LAUNCH(scale, 1, 1, 0, NULL, &d, 1, 7));
    fetch(&one, &d);
    CHECK_NEAR(one, 21, 0);

    CHECK_OK(gpul_fill(&z, 0, NULL)); /* void takes any dtype */
    CHECK_OK(GPUL_LAUNCH(move_bytes, 1, 32, 0, NULL, &z, &x, gpul_nbytes(&x)));
    fetch(host, &z);
    CHECK(host[0] == 0 && host[99] == 99);
    CHECK_OK(gpul_device_array(&four, GPUL_F32, gpul_1d(25), NULL)); /* and a struct whole elements of itself */
    CHECK_OK(GPUL_LAUNCH(sum_of_four, 1, 25, 0, NULL, &four, &x));
    fetch(host, &four);
    CHECK(host[0] == 6 && host[24] == 96 + 97 + 98 + 99);
    CHECK_OK(GPUL_LAUNCH(shape_of_struct, 1, 1, 0, NULL, &shape, y)); /* a kernel may want the struct itself */
    fetch(dims, &shape);
    CHECK(dims[0] == 10 && dims[1] == 10 && dims[2] == 1 && dims[3] == 1);

    CHECK_OK(gpul_pinned_array(&memory[0], GPUL_F32, gpul_1d(8)));
    CHECK_OK(gpul_mapped_array(&memory[1], GPUL_F32, gpul_1d(8)));
    CHECK_OK(gpul_managed_array(&memory[2], GPUL_F32, gpul_1d(8)));
    for (int i = 0; i < 8; i++) ((float *)memory[0].data)[i] = 1, ((float *)memory[1].data)[i] = (float)i;
    CHECK_OK(GPUL_LAUNCH(add, 1, 8, 0, NULL, &memory[2], &memory[0], &memory[1], 8));
    CHECK_OK(gpul_device_synchronize());
    CHECK(((float *)memory[2].data)[7] == 8);

    { /* a variable of the device, by its address */
        void *address = NULL;
        CHECK_CUDA(cudaGetSymbolAddress(&address, table));
        CHECK_OK(GPUL_LAUNCH(add, 1, 4, 0, NULL, static_cast<float *>(address), &x, &x, 4));
        CHECK_CUDA(cudaMemcpyFromSymbol(host, table, 16));
        CHECK(host[1] == 2 && host[3] == 6);
    }
    CHECK_OK(gpul_device_array(&empty, GPUL_F32, gpul_1d(0), NULL));
    CHECK_OK(GPUL_LAUNCH(add, 1, 8, 0, NULL, &empty, &empty, &empty, 0));
    CHECK_OK(GPUL_LAUNCH(add, gpul_grid_1d(0, 8), 8, 0, NULL, &empty, nullptr, (const float *)NULL, 0));
    for (int k = 0; k < 3; k++) CHECK_OK(gpul_free(&memory[k]));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&y));
    CHECK_OK(gpul_free(&z));
    CHECK_OK(gpul_free(&d));
    CHECK_OK(gpul_free(&shape));
    CHECK_OK(gpul_free(&four));
}

/* Which dtypes a parameter takes: the digits of `takes`. */
template <typename T> static void dtypes(const char *takes, const char *named) {
    for (int k = 0; k < 7; k++) {
        const gpul_dtype dtype = all_dtypes[k];
        gpul_array a = numbers(dtype, gpul_1d(8));
        if (strchr(takes, '0' + dtype)) {
            CHECK_OK(GPUL_LAUNCH(touch<T>, 1, 1, 0, NULL, &a, 8));
            CHECK_OK(GPUL_LAUNCH(touch<const T>, 1, 1, 0, NULL, &a, 8));
            CHECK_OK(GPUL_LAUNCH((touch_view<T, 1>), 1, 1, 0, NULL, &a));
        } else {
            char words[64];
            snprintf(words, sizeof words, "is %s (8), but the kernel takes %s", gpul_dtype_name(dtype), named);
            CHECK_FAILS(GPUL_LAUNCH(touch<T>, 1, 1, 0, NULL, &a, 8), GPUL_ERROR_DTYPE, "GPUL_LAUNCH(touch<T>)", words);
            CHECK_FAILS(GPUL_LAUNCH(touch<const T>, 1, 1, 0, NULL, &a, 8), GPUL_ERROR_DTYPE,
                        "GPUL_LAUNCH(touch<const T>)", words);
            CHECK_FAILS(GPUL_LAUNCH((touch_view<T, 1>), 1, 1, 0, NULL, a), GPUL_ERROR_DTYPE,
                        "GPUL_LAUNCH((touch_view<T, 1>))", words);
        }
        CHECK_OK(gpul_free(&a));
    }
}

static void test_dtypes(void) {
    dtypes<float>("1", "float32");
    dtypes<double>("2", "float64");
    dtypes<int32_t>("3", "int32");
    dtypes<unsigned>("3", "int32");
    dtypes<int64_t>("4", "int64");
    dtypes<long long>("4", "int64");
    dtypes<unsigned long long>("4", "int64");
    dtypes<uint8_t>("5", "uint8");
    dtypes<char>("5", "uint8");
    dtypes<uint16_t>("67", "float16 or bfloat16");
}

static void test_wrong_arrays(void) {
    gpul_array x = numbers(GPUL_F32, gpul_2d(6, 8)), z = numbers(GPUL_F32, gpul_1d(48)), view = GPUL_ZERO,
               never = GPUL_ZERO;
    gpul_array freed = numbers(GPUL_F32, gpul_1d(4)), bytes = numbers(GPUL_U8, gpul_1d(64)), damaged;
    const int64_t none[2] = {0, 1};
    float host[48];
    CHECK_OK(gpul_free(&freed));
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 8, 0, NULL, &z, &x, (const gpul_array *)NULL, 8), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(add)", "argument 3 ((const gpul_array *)NULL) is NULL");
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 8, 0, NULL, &never, &x, &x, 8), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(add)",
                "argument 1 (&never) was never made");
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 8, 0, NULL, &z, freed, &x, 8), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(add)",
                "argument 2 (freed) was never made, or was freed");
    damaged = x;
    damaged.dtype = 77;
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 8, 0, NULL, &z, &x, &damaged, 8), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(add)",
                "dtype = 77");

    CHECK_OK(gpul_slice(&view, &x, 1, 0, 4, 1)); /* gaps between rows */
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 8, 0, NULL, &z, &view, &x, 8), GPUL_ERROR_SHAPE, "GPUL_LAUNCH(add)",
                "argument 2 (&view), float32 (6, 4) with strides (8, 1), is not contiguous");
    CHECK_OK(gpul_slice(&view, &x, 0, 0, 6, 2));
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 8, 0, NULL, &view, &x, &x, 8), GPUL_ERROR_SHAPE, "GPUL_LAUNCH(add)",
                "gpul_view<T, 2>");
    CHECK_OK(gpul_wrap_strided(&view, x.data, GPUL_F32, gpul_2d(6, 8), none)); /* a row, broadcast */
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 8, 0, NULL, &z, &x, &view, 8), GPUL_ERROR_SHAPE, "GPUL_LAUNCH(add)", "argument 3");
    CHECK_OK(gpul_slice(&view, &x, 0, 1, 4, 1)); /* whole rows, and the columns of a transposed one */
    CHECK_OK(GPUL_LAUNCH(add, 1, 8, 0, NULL, &z, &view, &x, 8));
    fetch(host, &z);
    CHECK(host[0] == 8 && host[7] == 15 + 7);
    CHECK_OK(gpul_transpose(&view, &x));
    CHECK_OK(GPUL_LAUNCH(add, 1, 8, 0, NULL, &z, &view, &x, 8));

    CHECK_OK(gpul_slice(&view, &z, 0, 0, 10, 1));
    CHECK_FAILS(GPUL_LAUNCH(sum_of_four, 1, 1, 0, NULL, &z, &view), GPUL_ERROR_DTYPE, "GPUL_LAUNCH(sum_of_four)",
                "argument 2 (&view) is float32 (10), no multiple of the kernel's elements of 16 bytes");
    CHECK_OK(gpul_slice(&view, &z, 0, 1, 9, 1));
    CHECK_FAILS(GPUL_LAUNCH(sum_of_four, 1, 1, 0, NULL, &z, &view), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(sum_of_four)",
                "aligned to the 16 bytes");
    CHECK_FAILS(GPUL_LAUNCH((touch_view<float4, 1>), 1, 1, 0, NULL, &z), GPUL_ERROR_DTYPE,
                "GPUL_LAUNCH((touch_view<float4, 1>))", "elements of 16 bytes");
    CHECK_FAILS(GPUL_LAUNCH(touch<float>, 1, 1, 0, NULL, &bytes, 1), GPUL_ERROR_DTYPE, "GPUL_LAUNCH(touch<float>)",
                "argument 1 (&bytes) is uint8 (64), but the kernel takes float32");

    /* a pointer that no GPU reaches */
#ifndef GPULITE_CPU_STANDIN
    int pageable = 0;
    CHECK_CUDA(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, 0));
    if (!pageable)
#endif
        CHECK_FAILS(GPUL_LAUNCH(add, 1, 8, 0, NULL, &z, host, x.data, 8), GPUL_ERROR_MEMORY, "GPUL_LAUNCH(add)",
                    "argument 2 (host) = 0x");
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&z));
    CHECK_OK(gpul_free(&bytes));
}

static void test_names(void) { /* of kernels and arguments, as they are written */
    gpul_array x = numbers(GPUL_F64, gpul_1d(8)), list[2];
    list[0] = list[1] = x;
    CHECK_FAILS(GPUL_LAUNCH(through_shared<100>, 1, 1, 0, NULL, &list[1], 1), GPUL_ERROR_DTYPE,
                "GPUL_LAUNCH(through_shared<100>)", "argument 1 (&list[1]) is");
    CHECK_FAILS(GPUL_LAUNCH(through_shared<(sizeof(int[2]) > 4)>, gpul_grid_1d(8, 8), 8, 0, NULL, (&x), COUNT_OF(list)),
                GPUL_ERROR_DTYPE, "GPUL_LAUNCH(through_shared<(sizeof(int[2]) > 4)>)", "argument 1 ((&x)) is");
    CHECK_FAILS(GPUL_LAUNCH(touch<float>, 1, 1, 0, NULL,
                            (const gpul_array *)(const void *)(const unsigned char *)(const char *)&x, 1),
                GPUL_ERROR_DTYPE, "GPUL_LAUNCH(touch<float>)",
                "argument 1 ((const gpul_array *)(const void *)(const uns...) is");
    /* commas in <> cannot be told from others: no name is better than a wrong one */
    CHECK_FAILS(GPUL_LAUNCH(touch<float>, 1, 1, 0, NULL, &x, static_cast<std::conditional<true, int, char>::type>(1)),
                GPUL_ERROR_DTYPE, "GPUL_LAUNCH(touch<float>)", "argument 1 is");
    CHECK_OK(gpul_free(&x));
}

static int told;
static char told_last[256];
static void hear(const gpul_error *error) {
    told++;
    snprintf(told_last, sizeof told_last, "%s", error->message);
}
static void test_handler(void) { /* it is told once, with the argument's name */
    gpul_array x = numbers(GPUL_F64, gpul_1d(8));
    CHECK(gpul_on_error(hear) == NULL);
    CHECK(GPUL_LAUNCH(add, 1, 8, 0, NULL, &x, &x, &x, 8) == GPUL_ERROR_DTYPE);
    CHECK(gpul_on_error(NULL) == hear);
    CHECK_INT(told, 1);
    CHECK(strstr(told_last, "argument 1 (&x) is float64") != NULL);
    CHECK_OK(gpul_free(&x));
}

/* An integer is passed as what it is, or not at all. */
static __global__ void keep_u8(int64_t *out, unsigned char n) { out[0] = n; }
static __global__ void keep_i32(int64_t *out, int n) { out[0] = n; }
static __global__ void keep_u32(int64_t *out, unsigned n) { out[0] = n; }
static __global__ void keep_i64(int64_t *out, int64_t n) { out[0] = n; }
static __global__ void keep_u64(int64_t *out, size_t n) { out[0] = int64_t(n); }
static __global__ void keep_bool(int64_t *out, bool n) { out[0] = n; }
static void test_integers(void) {
    gpul_array x = numbers(GPUL_I64, gpul_1d(1));
    const int64_t n = 5000000000;
    int64_t got = -1;
    int told_before = told;
#define KEEPS(kernel, number)                                                                                          \
    do {                                                                                                               \
        CHECK_OK(GPUL_LAUNCH(kernel, 1, 1, 0, NULL, &x, number));                                                      \
        fetch(&got, &x);                                                                                               \
        CHECK_INT(got, int64_t(number));                                                                               \
    } while (0)
#define LOSES(kernel, number, words)                                                                                   \
    CHECK_FAILS(GPUL_LAUNCH(kernel, 1, 1, 0, NULL, &x, number), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(" #kernel ")", words)
    LOSES(keep_i32, n, "argument 2 (n) = 5000000000, which the kernel's parameter, int32_t, does not hold");
    LOSES(keep_i32, -n, "(-n) = -5000000000, ");
    LOSES(keep_i32, 0x80000000u, "= 2147483648, ");
    LOSES(keep_i32, (size_t)-1, "= 18446744073709551615, ");
    LOSES(keep_u8, 256, "= 256, which the kernel's parameter, uint8_t, ");
    LOSES(keep_u8, -1, "= -1, ");
    LOSES(keep_u32, -1, "= -1, which the kernel's parameter, uint32_t, ");
    LOSES(keep_u32, (int64_t)1 << 32, "= 4294967296, ");
    LOSES(keep_i64, (uint64_t)1 << 63, "= 9223372036854775808, which the kernel's parameter, int64_t, ");
    LOSES(keep_u64, INT64_MIN, "= -9223372036854775808, which the kernel's parameter, uint64_t, ");
    KEEPS(keep_i32, 0);
    KEEPS(keep_i32, (int64_t)INT32_MIN);
    KEEPS(keep_i32, 0x7fffffffu);
    KEEPS(keep_i32, (int8_t)-3);
    KEEPS(keep_i32, true);
    KEEPS(keep_u8, 255);
    KEEPS(keep_u8, 'a');
    KEEPS(keep_u32, n - 1000000000);
    KEEPS(keep_i64, -n);
    KEEPS(keep_u64, n);
    KEEPS(keep_i64, 7.9); /* no integer: as a cast */
    KEEPS(keep_i32, -0.5f);
    KEEPS(keep_u8, 255.9);
    KEEPS(keep_u32, -0.9);
    KEEPS(keep_i32, -2147483648.9);
    KEEPS(keep_i64, -0x1p63);
    LOSES(keep_i32, 2147483648.0, "= 2.14748e+09, which the kernel's parameter, int32_t, does not hold");
    LOSES(keep_i32, -2147483649.0, "= -2.14748e+09, ");
    LOSES(keep_u8, 256.0f, "= 256, which the kernel's parameter, uint8_t, ");
    LOSES(keep_u32, -1.0, "= -1, which the kernel's parameter, uint32_t, ");
    LOSES(keep_i64, 0x1p63, "= 9.22337e+18, ");
    LOSES(keep_u64, 1e30, "= 1e+30, which the kernel's parameter, uint64_t, ");
    LOSES(keep_i64, (double)NAN, "nan, which the kernel's parameter, int64_t, ");
    CHECK_OK(GPUL_LAUNCH(keep_bool, 1, 1, 0, NULL, &x, 256));
    fetch(&got, &x);
    CHECK_INT(got, 1);
    CHECK(gpul_on_error(hear) == NULL);
    CHECK(GPUL_LAUNCH(keep_i32, 1, 1, 0, NULL, &x, n) == GPUL_ERROR_ARGUMENT);
    CHECK(gpul_on_error(NULL) == hear);
    CHECK_INT(told, told_before + 1);
    CHECK_OK(gpul_free(&x));
#undef KEEPS
#undef LOSES
}

static void test_limits(void) {
    gpul_array x = numbers(GPUL_F64, gpul_1d(8));
    double host[8];
    int most = 0;
    char words[96];
    CHECK_FAILS(GPUL_LAUNCH(scale, 1, 2048, 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                ": 2048 threads in a block, the device takes 1024");
    CHECK_FAILS(GPUL_LAUNCH(scale, 1, dim3(64, 64, 1), 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                ": 4096 threads in a block, the device takes 1024");
    CHECK_FAILS(GPUL_LAUNCH(scale, 1, 0, 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                ": 0 threads in x of a block, the device takes 1 to 1024");
    CHECK_FAILS(GPUL_LAUNCH(scale, 1, dim3(1, 1, 65), 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                ": 65 threads in z of a block, the device takes 64");
    CHECK_FAILS(GPUL_LAUNCH(scale, 1, -32, 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                ": -32 threads in x");
    CHECK_FAILS(GPUL_LAUNCH(scale, 1, ((int64_t)1 << 32) + 32, 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(scale)", ": 4294967328 threads in a block");
    CHECK_FAILS(GPUL_LAUNCH(scale, ((int64_t)1 << 32) + 1, 1, 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(scale)", ": 4294967297 blocks in x of the grid, the device takes 2147483647");
    CHECK_FAILS(GPUL_LAUNCH(scale, -1, 1, 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                ": -1 blocks in x");
    CHECK_FAILS(GPUL_LAUNCH(scale, dim3(1, 65536, 1), 1, 0, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                ": 65536 blocks in y of the grid, the device takes 65535");
    CHECK_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    snprintf(words, sizeof words,
             "1048576 bytes of shared memory in a block, beside the 0 of the kernel's own, the device takes %d", most);
    CHECK_FAILS(GPUL_LAUNCH(scale, 1, 1, (size_t)1 << 20, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                words);
    CHECK_FAILS(GPUL_LAUNCH(scale, 1, 1, (size_t)-1, NULL, &x, 8, 2), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(scale)",
                "18446744073709551615 bytes of shared memory");
    CHECK_FAILS(GPUL_LAUNCH((void (*)(float *))NULL, 1, 1, 0, NULL, (float *)NULL), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH((void (*)(float *))NULL)", "kernel is NULL");
    CHECK_OK(gpul_device_synchronize());
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    fetch(host, &x);
    CHECK(host[7] == 7);                                                    /* none of them ran */
    CHECK_OK(GPUL_LAUNCH(scale, 0, 2048, (size_t)1 << 20, NULL, &x, 8, 2)); /* an empty grid is no launch */
    CHECK_OK(gpul_free(&x));
}

static void test_cooperative(void) {
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO;
    gpul_stream s = NULL;
    gpul_graph graph = NULL;
    int32_t blocks = -1, fewer = -1, *host;
    int each = 0, multiprocessors = 0, wrong = 0;
    char words[128];
    CHECK_OK(gpul_cooperative_blocks(&blocks, pass_on, 64));
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, pass_on, 64, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK_INT(blocks, each * multiprocessors);
    CHECK_OK(gpul_cooperative_blocks(&fewer, pass_on, 64, 100000)); /* beyond the 48 KB of every kernel */
    CHECK(fewer >= multiprocessors && fewer < blocks);
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_zeros(&x, GPUL_I32, gpul_1d(blocks), NULL));
    CHECK_OK(gpul_zeros(&y, GPUL_I32, gpul_1d(blocks), NULL));
    CHECK_OK(gpul_device_synchronize());
    host = (int32_t *)calloc((size_t)blocks, sizeof *host);
    for (int captured = 0; captured < 2; captured++) {
        CHECK_OK(gpul_fill(&y, -1, s));
        if (captured) CHECK_OK(gpul_graph_begin(s));
        CHECK_OK(GPUL_LAUNCH_COOPERATIVE(pass_on, blocks, 64, 0, s, &x, &y));
        if (captured) {
            CHECK_OK(gpul_graph_end(&graph, s));
            CHECK_OK(gpul_graph_launch(graph, s));
        }
        CHECK_OK(gpul_copy_to_host(host, &y, s));
        CHECK_OK(gpul_stream_synchronize(s));
        for (int i = 0; i < blocks; i++) wrong += host[i] != (i + 2 * blocks - 2) % blocks;
        CHECK_INT(wrong, 0);
    }
    snprintf(words, sizeof words, ": %d x 1 x 1 blocks in a cooperative grid, the device holds %d at a time",
             blocks + 1, blocks);
    CHECK_FAILS(GPUL_LAUNCH_COOPERATIVE(pass_on, blocks + 1, 64, 0, s, &x, &y), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH_COOPERATIVE(pass_on)", words);
    CHECK_FAILS(GPUL_LAUNCH_COOPERATIVE(pass_on, 1, 2048, 0, s, &x, &y), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH_COOPERATIVE(pass_on)", ": 2048 threads in a block, the device takes 1024");
    CHECK_OK(GPUL_LAUNCH_COOPERATIVE(pass_on, 0, 64, 0, s, &x, &y)); /* an empty grid is no launch */
    blocks = -7;
    CHECK_FAILS(gpul_cooperative_blocks(NULL, pass_on, 64), GPUL_ERROR_ARGUMENT, "gpul_cooperative_blocks", "blocks");
    CHECK_FAILS(gpul_cooperative_blocks(&blocks, (const void *)NULL, 64, 0), GPUL_ERROR_ARGUMENT,
                "gpul_cooperative_blocks", "kernel");
    CHECK_FAILS(gpul_cooperative_blocks(&blocks, pass_on, 0), GPUL_ERROR_ARGUMENT, "gpul_cooperative_blocks",
                "block = 0 threads, the kernel takes 1 to ");
    CHECK_FAILS(gpul_cooperative_blocks(&blocks, pass_on, 1025), GPUL_ERROR_ARGUMENT, "gpul_cooperative_blocks",
                "block = 1025 threads");
    CHECK_FAILS(gpul_cooperative_blocks(&blocks, pass_on, 64, (size_t)1 << 20), GPUL_ERROR_ARGUMENT,
                "gpul_cooperative_blocks", "shared_bytes = 1048576");
    CHECK_INT(blocks, -7);
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_free_all(&x, &y));
    CHECK_OK(gpul_stream_destroy(&s));
    free(host);
}

/* NaN of either sign stays, whoever brings it, as numpy.minimum and numpy.maximum say. */
template <typename T> static void check_extremes(gpul_dtype dtype, T huge) {
    const T nan = T(NAN),
            special[] = {0, -T(0), huge, -huge, T(INFINITY), -T(INFINITY), T(1e-40), -T(1e-40), nan, -nan};
    for (int round = 0; round < 40; round++) {
        enum { N = 3000 };
        static T host[N], was[N];
        T least, most, ends[2];
        const int n = round < 30 ? 1 + (int)rng_below(40) : N, specials = (int)rng_below(COUNT_OF(special) + 1);
        gpul_array x = GPUL_ZERO, out = GPUL_ZERO, low, high;
        for (int i = 0; i < n; i++)
            host[i] = specials > 0 && rng_below(n) < 2 ? special[rng_below(specials)] : T(rng_below(2000)) / 16 - 60;
        least = most = host[0];
        for (int i = 1; i < n; i++) {
            if (least == least && !(host[i] >= least)) least = host[i];
            if (most == most && !(host[i] <= most)) most = host[i];
        }
        CHECK_OK(gpul_to_device(&x, host, dtype, gpul_1d(n), NULL));
        CHECK_OK(gpul_full(&out, dtype, gpul_1d(2), double(host[n - 1]), NULL));
        CHECK_OK(gpul_slice(&low, &out, 0, 0, 1, 1));
        CHECK_OK(gpul_slice(&high, &out, 0, 1, 2, 1));
        CHECK_OK(GPUL_LAUNCH(extremes<T>, 4, 96, 0, NULL, &low, &high, &x, n));
        fetch(ends, &out);
        CHECK(least == least ? ends[0] == least : ends[0] != ends[0]);
        CHECK(most == most ? ends[1] == most : ends[1] != ends[1]);
        CHECK_OK(gpul_free(&out));
        CHECK_OK(gpul_device_array_like(&out, &x, NULL));
        for (int larger = 0; larger < 2; larger++) {
            T now = host[0];
            int wrong = 0;
            CHECK_OK(gpul_copy_to_device(&x, host, NULL));
            CHECK_OK(GPUL_LAUNCH(one_by_one<T>, 1, 1, 0, NULL, &x, &out, larger, n));
            fetch(was, &out);
            for (int i = 1; i < n; i++) {
                wrong += now == now ? was[i] != now : was[i] == was[i];
                if (now == now && !(larger ? host[i] <= now : host[i] >= now)) now = host[i];
            }
            CHECK_INT(wrong, 0);
        }
        CHECK_OK(gpul_free_all(&x, &out));
    }
}
/* Integers of 4 and 8 bytes, as C has them: extremes, and sums that wrap */
template <typename T> static __global__ void join_all(T *least, T *most, T *sum, const T *x, int64_t n) {
    GPUL_GRID_STRIDE(i, n) {
        gpul_atomic_min(least, x[i]);
        gpul_atomic_max(most, x[i]);
        gpul_atomic_add(sum, x[i]);
    }
}
template <typename T> static void check_joined(gpul_dtype dtype) {
    T host[1000], want[3] = {0, 0, 0}, got[3];
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO;
    for (int i = 0; i < 1000; i++) {
        host[i] = T(rng_u64());
        want[0] = host[i] < want[0] ? host[i] : want[0];
        want[1] = host[i] > want[1] ? host[i] : want[1];
        want[2] = T(uint64_t(want[2]) + uint64_t(host[i]));
    }
    CHECK_OK(gpul_to_device(&x, host, dtype, gpul_1d(1000), NULL));
    CHECK_OK(gpul_zeros(&out, dtype, gpul_1d(3), NULL));
    T *const to = static_cast<T *>(out.data);
    CHECK_OK(GPUL_LAUNCH(join_all<T>, 4, 96, 0, NULL, to, to + 1, to + 2, &x, 1000));
    fetch(got, &out);
    CHECK_BYTES(got, want, sizeof want);
    CHECK_OK(gpul_free_all(&x, &out));
}
/* The sum of floats, and a value of another type */
static __global__ void add_numbers(float *x, double *y) {
    gpul_atomic_add(x, 1);
    gpul_atomic_add(y, 0.5f);
}

static void test_atomics(void) {
    gpul_array x = numbers(GPUL_F32, gpul_1d(1)), y = numbers(GPUL_F64, gpul_1d(1));
    float single = -1;
    double wide = -1;
    CHECK_OK(GPUL_LAUNCH(add_numbers, 3, 32, 0, NULL, &x, &y));
    fetch(&single, &x);
    fetch(&wide, &y);
    CHECK_NEAR(single, 96, 0);
    CHECK_NEAR(wide, 48, 0);
    CHECK_OK(gpul_free_all(&x, &y));
    check_joined<int>(GPUL_I32);
    check_joined<unsigned>(GPUL_I32);
    check_joined<int64_t>(GPUL_I64);
    check_joined<long long>(GPUL_I64);
    check_joined<unsigned long>(GPUL_I64);
    check_extremes<float>(GPUL_F32, 3e38f);
    check_extremes<double>(GPUL_F64, 1e308);
}

static void test_shared(void) { /* beyond 48 KB, with static shared memory beside it, and captured */
    static const int kilobytes[] = {1, 40, 47, 48, 49, 60, 64, 96, 160, 227};
    gpul_array x = numbers(GPUL_I32, gpul_1d(1));
    int most = 0;
    int32_t got, block = 0;
    CHECK_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK_OK(gpul_block_size(&block, through_shared<2>, size_t(most) - 1024));
    for (int k = COUNT_OF(kilobytes) - 1; k >= 0;
         k--) /* the first is the largest, so the kernel's limit is not lowered */
        for (int own = 0; own < 2; own++) {
            const int words = kilobytes[k] * 256, fixed = own ? 4000 : 1;
            const size_t bytes = (size_t)words * 4;
            const gpul_status status = own ? GPUL_LAUNCH(through_shared<4000>, 1, 64, bytes, NULL, &x, words)
                                           : GPUL_LAUNCH(through_shared<1>, 1, 64, bytes, NULL, &x, words);
            if ((int)bytes + fixed * 4 <= most) {
                CHECK_INT(status, GPUL_OK);
                fetch(&got, &x);
                CHECK_INT(got, words + fixed - 2);
            } else {
                CHECK_INT(status, GPUL_ERROR_ARGUMENT);
                if (own) CHECK(strstr(gpul_last_error()->message, "beside the 16000 of the kernel's own") != NULL);
            }
        }
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    {
        gpul_stream s = NULL;
        cudaGraph_t graph = NULL;
        cudaGraphExec_t ready = NULL;
        CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_fill(&x, 0, NULL));
        CHECK_OK(gpul_device_synchronize());
        CHECK_CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        CHECK_OK(GPUL_LAUNCH(through_shared<3>, 1, 32, 60 * 1024, s, &x, 15360));
        CHECK_CUDA(cudaStreamEndCapture(s, &graph));
        CHECK_CUDA(cudaGraphInstantiateWithFlags(&ready, graph, 0));
        CHECK_CUDA(cudaGraphLaunch(ready, s));
        CHECK_OK(gpul_stream_synchronize(s));
        fetch(&got, &x);
        CHECK_INT(got, 15359 + 2);
        CHECK_CUDA(cudaGraphExecDestroy(ready));
        CHECK_CUDA(cudaGraphDestroy(graph));
        CHECK_OK(gpul_stream_destroy(&s));
    }
    CHECK_OK(gpul_free(&x));
}

/* A kernel numbers the elements of a view; the box around it knows whether it wrote anywhere else. */
static void view_of(int32_t ndim, const int64_t *shape, int layout, unsigned blocks, unsigned threads) {
    box b;
    int64_t wrong = 0;
    const dim3 grid(blocks, ndim > 1 ? blocks : 1, ndim > 2 ? 2 : 1),
        block(threads, ndim > 1 ? 3 : 1, ndim > 2 ? 2 : 1);
    box_make(&b, GPUL_I32, ndim, shape, layout, 1, FILL_NAN);
    for (int64_t i = 0; i < b.n; i++) box_put(&b, i, num_of_int(5));
    box_upload(&b);
    if (ndim == 1) CHECK_OK(GPUL_LAUNCH(number_1d, grid, block, 0, NULL, &b.view));
    if (ndim == 2) CHECK_OK(GPUL_LAUNCH(number_2d, grid, block, 0, NULL, &b.view));
    if (ndim == 3) CHECK_OK(GPUL_LAUNCH(number_3d, grid, block, 0, NULL, b.view));
    BOX_GUARDS(&b);
    for (int64_t i = 0; i < b.n; i++) {
        int64_t rest = i, want = ndim == 1 ? 0 : 5, unit = 1;
        for (int k = ndim - 1; k >= 0; k--) {
            want += rest % shape[k] * unit;
            rest /= shape[k];
            unit *= 100;
        }
        wrong += box_got(&b, i).i != want;
    }
    CHECK_INT(wrong, 0);
    box_free(&b);
}

static void test_views(void) {
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {8, 1, 33}, {17, 40, 2}, {0, 4, 4}, {70, 6, 0}};
    for (int k = 0; k < COUNT_OF(shapes); k++)
        for (int32_t ndim = 1; ndim <= 3; ndim++)
            for (int layout = 0; layout < LAYOUTS; layout++) {
                if (left_out((k * 4 + ndim) * LAYOUTS + layout)) continue;
                view_of(ndim, shapes[k], layout, 1, 1); /* one thread does it all, */
                view_of(ndim, shapes[k], layout, 2, 8);
                view_of(ndim, shapes[k], layout, 20, 32); /* most have nothing to do */
            }
    {
        const int64_t shape[4] = {2, 3, 4, 5};
        box from, to;
        box_make(&from, GPUL_I32, 4, shape, LAY_STRIDED, 0, FILL_NAN);
        box_make(&to, GPUL_I32, 4, shape, LAY_TURNED, 3, FILL_NAN);
        box_random(&from, 0);
        CHECK_OK(GPUL_LAUNCH(copy_4d, 2, 4, 0, NULL, &to.view, &from.view));
        BOX_GUARDS(&to);
        for (int64_t i = 0; i < to.n; i++) CHECK_INT(box_got(&to, i).i, box_get(&from, i).i);
        CHECK_FAILS(GPUL_LAUNCH(number_2d, 1, 1, 0, NULL, &to.view), GPUL_ERROR_SHAPE, "GPUL_LAUNCH(number_2d)",
                    "argument 1 (&to.view) is int32 (2, 3, 4, 5), but the kernel takes a gpul_view of ndim = 2");
        {
            gpul_view<int32_t, 1> v; /* one made by hand */
            v.data = (int32_t *)to.base.data + 16;
            v.shape[0] = 3;
            v.strides[0] = 2;
            CHECK_OK(GPUL_LAUNCH(number_1d, 1, 4, 0, NULL, v));
            box_fetch(&to);
            CHECK(((int32_t *)to.now)[16] == 0 && ((int32_t *)to.now)[18] == 1 && ((int32_t *)to.now)[20] == 2);
        }
        box_free(&from);
        box_free(&to);
    }
}

#ifdef GPULITE_CPU_STANDIN
static void test_devices(void) { /* it runs where its arrays are */
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, z = GPUL_ZERO, here = GPUL_ZERO;
    float host[4] = {1, 2, 3, 4};
    int32_t device = -1;
    standin_devices(2);
    CHECK_OK(gpul_to_device(&here, host, GPUL_F32, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_select(1));
    CHECK_OK(gpul_to_device(&x, host, GPUL_F32, gpul_1d(4), NULL));
    CHECK_OK(gpul_to_device(&y, host, GPUL_F32, gpul_1d(4), NULL));
    CHECK_OK(gpul_to_device(&z, host, GPUL_F32, gpul_1d(4), NULL));
    CHECK_OK(gpul_device_select(0));
    CHECK_OK(GPUL_LAUNCH(add, 1, 4, 0, NULL, &z, &x, &y, 4));
    CHECK_OK(gpul_device_current(&device));
    CHECK_INT(device, 0);
    fetch(host, &z);
    CHECK(host[0] == 2 && host[3] == 8);
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 4, 0, NULL, &z, &x, &here, 4), GPUL_ERROR_DEVICE, "GPUL_LAUNCH(add)",
                "argument 1 (&z) is on device 1 and argument 3 (&here) on device 0");
    CHECK_FAILS(GPUL_LAUNCH(add, 1, 2048, 0, NULL, &z, &x, &y, 4), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(add)", "2048");
    CHECK_OK(gpul_device_current(&device));
    CHECK_INT(device, 0);
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_free(&y));
    CHECK_OK(gpul_free(&z));
    CHECK_OK(gpul_free(&here));
    standin_reset();
}

static gpul_status launch_all(int which, gpul_array *z, const gpul_array *x) {
    int32_t block = -7;
    gpul_status status;
    if (which == 0) return GPUL_LAUNCH(add, 1, 4, 0, NULL, z, x, (const float *)x->data, 4);
    if (which == 1) return GPUL_LAUNCH(through_shared<5>, 1, 4, 50000 + (size_t)(rng_u64() % 1000), NULL, z, 9);
    if (which == 2) return GPUL_LAUNCH(add, 1, 2048, 0, NULL, z, x, x, 4);
    status = gpul_block_size(&block, through_shared<6>, 60000, 0);
    if (status != GPUL_OK) CHECK_INT(block, -7);
    return status;
}

static void test_dead_stream(void) {
    const float host[4] = {1, 2, 3, 4};
    const float *next = host;
    gpul_array x = GPUL_ZERO;
    gpul_stream s = NULL, copy;
    CHECK_OK(GPUL_TO_DEVICE(&x, next++, gpul_1d(3)));
    CHECK(next == host + 1); /* once */
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    copy = s;
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_FAILS(GPUL_LAUNCH(touch<float>, 1, 1, 0, copy, &x, 3), GPUL_ERROR_ARGUMENT, "GPUL_LAUNCH(touch<float>)",
                "was ended by gpul_stream_destroy");
    CHECK_OK(gpul_free(&x));
}

static void test_faults(void) { /* every runtime call fails in turn: the device is restored, nothing is left behind */
    const float host[4] = {1, 2, 3, 4};
    const int32_t whole[4] = {1, 2, 3, 4};
    for (int which = 0; which < 4; which++)
        for (int devices = 1; devices <= 2; devices++)
            for (long k = 1; k < 60; k++) {
                gpul_array x = GPUL_ZERO, z = GPUL_ZERO;
                gpul_status status;
                int32_t device = -1;
                int failed;
                const char *call;
                standin_reset();
                standin_devices(devices);
                CHECK_OK(gpul_device_select(devices - 1));
                CHECK_OK(gpul_to_device(&x, host, GPUL_F32, gpul_1d(4), NULL));
                if (which == 1) CHECK_OK(gpul_to_device(&z, whole, GPUL_I32, gpul_1d(4), NULL));
                else CHECK_OK(gpul_to_device(&z, host, GPUL_F32, gpul_1d(4), NULL));
                if (which != 3) CHECK_OK(gpul_device_select(0));
                standin_trace_begin();
                standin_fail(NULL, k, cudaErrorUnknown, STANDIN_ONCE);
                status = launch_all(which, &z, &x);
                failed = standin_failed();
                standin_fail_clear();
                call = failed ? standin_trace_name(k - 1) : "";
                if (!failed) CHECK_INT(status, which == 2 ? GPUL_ERROR_ARGUMENT : GPUL_OK);
                else if (strcmp(call, "cudaPeekAtLastError") != 0 && strcmp(call, "cudaGetLastError") != 0) {
                    CHECK(status != GPUL_OK);
                    CHECK(gpul_last_error()->status == status);
                }
                CHECK_INT(cudaGetLastError(), cudaSuccess);
                if (which != 3) {
                    CHECK_OK(gpul_device_current(&device));
                    CHECK_INT(device, 0);
                }
                CHECK_OK(gpul_device_select(0));
                CHECK_OK(gpul_free(&x));
                CHECK_OK(gpul_free(&z));
                if (!failed) break;
            }
    standin_reset();
    {
        gpul_array x = numbers(GPUL_F64, gpul_1d(4));
        standin_fail("cudaLaunchKernelExC", 1, cudaErrorLaunchOutOfResources, STANDIN_ONCE); /* no limit is broken */
        CHECK_FAILS(GPUL_LAUNCH(scale, 1, 1, 0, NULL, &x, 4, 2), GPUL_ERROR_CUDA, "GPUL_LAUNCH(scale)",
                    "cudaErrorLaunchOutOfResources");
        standin_fail("cudaLaunchKernelExC", 1, cudaErrorNoKernelImageForDevice, STANDIN_ONCE);
        CHECK_FAILS(GPUL_LAUNCH(scale, 1, 1, 0, NULL, &x, 4, 2), GPUL_ERROR_UNSUPPORTED, "GPUL_LAUNCH(scale)",
                    "-arch=native");
        standin_fail_clear();
        CHECK_CUDA(cudaGetLastError());
        (void)cudaSetDevice(99); /* somebody else's error */
        CHECK_FAILS(GPUL_LAUNCH(scale, 1, 1, 0, NULL, &x, 4, 2), GPUL_ERROR_PENDING, "GPUL_LAUNCH(scale)",
                    "cudaErrorInvalidDevice");
        CHECK_INT(cudaGetLastError(), cudaErrorInvalidDevice);
        CHECK_OK(gpul_free(&x));
    }
}
#endif

int main(void) {
    check_begin("launch");
    RUN(test_arrays);
    RUN(test_dtypes);
    RUN(test_wrong_arrays);
    RUN(test_names);
    RUN(test_handler);
    RUN(test_integers);
    RUN(test_limits);
    RUN(test_cooperative);
    RUN(test_atomics);
    RUN(test_shared);
    RUN(test_views);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_devices);
    RUN(test_dead_stream);
    RUN(test_faults);
#endif
    return check_end();
}
