/* SPDX-License-Identifier: MIT
 * Each row of README's table from Numba and CuPy as the line of C that it gives, run, and its result checked. .ci/run
 * looks up each piece of C of the table in this file. */
#define GPULITE_ENGINES_ONLY
#include "gpulite_kernels.cu"

#include <cooperative_groups.h>

#include "check.h"
#include "dlpack.h"

/* ---- operations and kernels of one's own ---- */

/* @cuda.reduce, cp.ReductionKernel; one that keeps the order: the last element that is not 0 */
GPUL_REDUCE(sum_of_squares, float, double, 0, double(x) * x, a + b, a, float, x)
GPUL_REDUCE_ORDERED(last_not_zero, float, float, 0, x, (b != 0 ? b : a), a, float, x)
/* @vectorize, cp.ElementwiseKernel */
GPUL_ELEMENTWISE(axpy, float, fmaf(a, x, y), gpul_scalar<float>, a, float, x, float, y)
GPUL_ELEMENTWISE_OUTPUTS(half_and_rest, (float, half, float, rest), half = truncf(x / 2); rest = x - 2 * half, float, x)

/* cuda.const.array_like, @cuda.jit(device=True) */
static __constant__ float weights[3];
static __device__ float twice(float x) { return 2 * x; }

/* cuda.grid(1), cuda.gridsize(1), and a loop of that stride */
static __global__ void kernel(float *d, int64_t n) {
    for (int64_t i = gpul_grid_x(); i < n; i += gpul_gridsize_x()) d[i] = twice(d[i]);
}
static __global__ void add_weights(float *d, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { d[i] += weights[i % 3]; }
}
/* cuda.shared.array, cuda.syncthreads: a block of 128 turns its elements round, through both kinds of shared memory */
static __global__ void turn(float *d) {
    __shared__ float tile[128];
    const int64_t i = gpul_grid_x();
    tile[threadIdx.x] = d[i];
    __syncthreads();
    d[i] = tile[127 - threadIdx.x];
}
static __global__ void turn_dynamic(float *d) {
    GPUL_SHARED(float, tile);
    const int64_t i = gpul_grid_x();
    tile[threadIdx.x] = d[i];
    __syncthreads();
    d[i] = tile[blockDim.x - 1 - threadIdx.x];
}
/* cuda.atomic.add */
static __global__ void count(int32_t *d, const int32_t *x, int64_t n, int32_t v) {
    GPUL_GRID_STRIDE(k, n) {
        const int32_t i = x[k];
        gpul_atomic_add(&d[i], v);
    }
}
/* cuda.atomic.cas and exch */
static __global__ void exchange(int32_t *d) {
    const int64_t i = 0;
    const int32_t old = 3, v = 7;
    atomicCAS(&d[i], old, v);
    atomicExch(&d[1], v);
}
/* cuda.atomic.max and min, of floats and of integers */
static __global__ void most(float *d, int32_t *m, const float *x, int64_t n) {
    GPUL_GRID_STRIDE(k, n) {
        const int64_t i = 0;
        const float v = x[k];
        gpul_atomic_max(&d[i], v);
        gpul_atomic_min(&d[1], v);
        gpul_atomic_max(&m[0], int32_t(v));
        gpul_atomic_min(&m[1], int32_t(v));
    }
}
/* cuda.cg.this_grid().sync(): every thread adds what another block has written */
static __global__ void add_across(float *d, int64_t n) {
    const int64_t i = gpul_grid_x();
    if (i < n) d[i] = float(i);
    cooperative_groups::this_grid().sync();
    const float other = i < n ? d[n - 1 - i] : 0;
    cooperative_groups::this_grid().sync();
    if (i < n) d[i] += other;
}
/* cuda.grid(2); x[i, j] and x.shape of an array with any strides */
static __global__ void number(gpul_view<float, 2> x) {
    const int64_t j = gpul_grid_x(), i = gpul_grid_y();
    if (i < x.shape[0] && j < x.shape[1]) x(i, j) = float(10 * i + j);
}
static __global__ void number_2d(gpul_view<float, 2> x) {
    GPUL_GRID_STRIDE_2D(j, i, x.shape[1], x.shape[0]) { x(i, j) += 100; }
}
static __global__ void number_3d(gpul_view<float, 3> x) {
    GPUL_GRID_STRIDE_3D(k, j, i, x.shape[2], x.shape[1], x.shape[0]) { x(i, j, k) = float(100 * i + 10 * j + k); }
}

/* ---- what they work on ---- */

enum { N = 512 };
static float h[N];
static gpul_stream stream;

static double at(const gpul_array *a, int64_t i) { /* element i in row-major order, as a double */
    gpul_array vector = GPUL_ZERO, wide = GPUL_ZERO;
    double value = NAN;
    CHECK_OK(gpul_device_array(&wide, GPUL_F64, gpul_1d(gpul_size(a)), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_reshape(&vector, a, gpul_1d(-1)));
    CHECK_OK(gpul_convert(&wide, &vector, NULL));
    CHECK_OK(gpul_get(&value, &wide, &i, NULL));
    CHECK_OK(gpul_free(&wide));
    return value;
}

static void test_memory(void) {
    const int64_t n = N, r = 4, c = 3;
    const size_t bytes = sizeof h;
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, d = GPUL_ZERO, view = GPUL_ZERO, parts[2] = {GPUL_ZERO, GPUL_ZERO};
    const int64_t i = 5, strides[1] = {2};
    int64_t used = -1, held = -1;
    const float v = 0.1f;
    double g[12];
    uint16_t bits;
    gpul_difference difference = GPUL_ZERO;
    const double rtol = 0, atol = 0;
    float value = 0;
    char text[200];
    const size_t size = sizeof text;
    size_t length = 0;

    CHECK_OK(gpul_to_device(&a, h, GPUL_F32, gpul_1d(n), stream));
    CHECK_OK(gpul_clone(&d, &a, stream));
    memset(h, 0, sizeof h);
    CHECK_OK(gpul_copy_to_host(h, &d, stream));
    CHECK_OK(gpul_device_synchronize());
    CHECK_NEAR(h[N - 1], N - 1, 0);
    CHECK_OK(gpul_allclose(&difference, &a, &d, rtol, atol, stream));
    CHECK(difference.count == 0);
    CHECK_OK(gpul_free_all(&a, &d));

    CHECK_OK(GPUL_TO_DEVICE(&a, h, gpul_1d(n)));
    CHECK_OK(gpul_full(&b, GPUL_F32, gpul_1d(n), 1, stream));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_allclose(&difference, &a, &b, rtol, atol, stream));
    CHECK_INT(difference.count, N - 1);
    CHECK_OK(GPUL_TO_HOST(h, &a));
    CHECK_OK(gpul_print(&length, text, size, &a, stream));
    GPUL_PRINT(&a);
    CHECK(strncmp(text, "[  0.   1.   2.   3.", 20) == 0 && length > 2000);
    CHECK_OK(gpul_free_all(&a, &b));
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(n), stream));
    CHECK_NEAR(at(&a, 3), 0, 0);
    CHECK_OK(gpul_fill(&a, 7, stream));
    CHECK_OK(gpul_get(&value, &a, &i, stream));
    CHECK_NEAR(value, 7, 0);
    value = 8;
    CHECK_OK(gpul_set(&a, &i, &value, stream));
    CHECK_NEAR(at(&a, 5), 8, 0);
    CHECK_OK(gpul_device_array_like(&d, &a, stream));
    CHECK_OK(gpul_copy_to_device(&d, h, stream));
    CHECK_OK(gpul_copy(&a, &d, stream));
    CHECK_NEAR(at(&a, 5), 5, 0);
    CHECK_OK(gpul_free_all(&a, &d));

    CHECK_OK(gpul_device_array(&a, GPUL_F64, gpul_2d(r, c), stream));
    CHECK_OK(gpul_device_array_like(&b, &a, stream));
    CHECK(b.shape[0] == 4 && b.shape[1] == 3 && b.dtype == GPUL_F64);
    CHECK(gpul_size(&a) == 12 && gpul_nbytes(&a) == 96 && gpul_is_contiguous(&a, GPUL_ORDER_C));
    bits = gpul_f16_from_float(v);
    CHECK_NEAR(gpul_f16_to_float(bits), v, 1e-4);
    bits = gpul_bf16_from_float(v);
    CHECK_NEAR(gpul_bf16_to_float(bits), v, 1e-3);
    CHECK(strcmp(gpul_dtype_name(a.dtype), "float64") == 0 && gpul_dtype_size(a.dtype) == 8);
    CHECK_OK(gpul_slice(&view, &a, 0, 1, 3, 1));
    CHECK(view.shape[0] == 2 && view.shape[1] == 3);
    CHECK_OK(gpul_index(&view, &a, 0, 2));
    CHECK(view.ndim == 1 && view.shape[0] == 3);
    CHECK_OK(gpul_reshape(&view, &a, gpul_2d(2, -1)));
    CHECK(view.shape[1] == 6);
    CHECK_OK(gpul_transpose(&view, &a));
    CHECK(view.shape[0] == 3 && view.shape[1] == 4);
    {
        const int64_t m = 5;
        const int32_t axes[3] = {0, 2, 1};
        gpul_array x = GPUL_ZERO;
        CHECK_OK(gpul_expand_dims(&x, &a, 0));
        CHECK(x.ndim == 3 && x.shape[0] == 1 && x.shape[2] == 3);
        CHECK_OK(gpul_permute(&view, &x, axes));
        CHECK(view.shape[1] == 3 && view.shape[2] == 4 && view.strides[2] == 3);
        CHECK_OK(gpul_expand_dims(&view, &x, 0));
        CHECK(view.ndim == 4);
        CHECK_OK(gpul_broadcast_to(&view, &x, gpul_3d(m, r, c)));
        CHECK(view.shape[0] == 5 && view.strides[0] == 0 && view.strides[1] == 3);
        CHECK_OK(gpul_transpose(&view, &a));
    }
    CHECK_OK(gpul_reshape(&d, &a, gpul_1d(12)));
    CHECK_OK(gpul_slice(&view, &d, 0, -3, GPUL_END, 1));
    CHECK(view.shape[0] == 3 && view.data == (double *)a.data + 9);
    CHECK_OK(gpul_index(&view, &d, 0, -1));
    CHECK(view.ndim == 0 && view.data == (double *)a.data + 11);
    CHECK_OK(gpul_transpose(&view, &a));
    CHECK_OK(gpul_arange(&d, 0, 1, stream));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(gpul_copy_to_host(g, &view, NULL)); /* in the order of the memory, and so is a clone's */
    CHECK(g[1] == 1 && view.strides[0] == 1);
    CHECK_OK(gpul_clone(&d, &view, NULL));
    CHECK_OK(GPUL_TO_HOST(g, &d));
    CHECK(g[1] == 1 && d.shape[0] == 3);
    CHECK_OK(gpul_free_all(&b, &d));
    CHECK_OK(gpul_device_array(&b, GPUL_F64, gpul_2d(c, r), stream));
    CHECK_OK(gpul_copy(&b, &view, stream));
    CHECK_OK(gpul_device_synchronize());
    CHECK_OK(GPUL_TO_HOST(g, &b));
    CHECK(g[1] == 3 && g[4] == 1);
    CHECK_OK(gpul_split(parts, 2, &a, 0));
    CHECK(parts[1].shape[0] == 2);
    CHECK_OK(gpul_wrap(&view, a.data, GPUL_F64, gpul_1d(12)));
    CHECK(view.data == a.data);
    CHECK_OK(gpul_wrap_strided(&view, a.data, GPUL_F64, gpul_1d(6), strides));
    CHECK_INT(view.strides[0], 2);
    {
        DLManagedTensor *tensor = NULL;
        CHECK_OK(gpul_to_dlpack(&tensor, &a));
        CHECK_OK(gpul_from_dlpack(&a, tensor));
        CHECK(a.shape[0] == 4 && !a.owned);
        tensor->deleter(tensor);
    }
    CHECK_OK(gpul_free_all(&a, &b));

    CHECK_OK(gpul_pinned_array(&a, GPUL_F32, gpul_1d(n)));
    CHECK_OK(gpul_mapped_array(&b, GPUL_F32, gpul_1d(n)));
    CHECK_OK(gpul_managed_array(&d, GPUL_F32, gpul_1d(n)));
    ((float *)a.data)[0] = ((float *)b.data)[0] = ((float *)d.data)[0] = 1; /* the host writes to all of them */
    CHECK_OK(gpul_free_all(&a, &b, &d));
    CHECK_OK(gpul_pin(h, bytes));
    CHECK_OK(gpul_unpin(h));
    CHECK_OK(gpul_memory_limit((int64_t)1 << 20)); /* GPULITE_MEMORY_LIMIT is the same from outside */
    CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d((int64_t)1 << 20), NULL) == GPUL_ERROR_OUT_OF_MEMORY);
    CHECK_OK(gpul_memory_limit(0));
    CHECK_OK(gpul_memory_trim());
    CHECK_OK(gpul_memory_used(&used, &held));
    CHECK(used == 0 && held >= 0);
}

static int handled;
static void handler(const gpul_error *error) { handled += error->status == GPUL_ERROR_ARGUMENT; }
GPUL_PRINT_AND_EXIT(stop)

static void test_errors(void) {
    const int32_t code = cudaErrorInvalidValue;
    const char *const name = "a call of my own";
    gpul_status status;
    CHECK(gpul_on_error(handler) == NULL);
    CHECK(gpul_fill(NULL, 1, NULL) == GPUL_ERROR_ARGUMENT);
    CHECK(strstr(gpul_last_error()->message, "NULL") != NULL);
    status = gpul_last_error()->status;
    CHECK(strcmp(gpul_status_name(status), "GPUL_ERROR_ARGUMENT") == 0);
    gpul_clear_error();
    CHECK(gpul_last_error()->status == GPUL_OK);
    CHECK(gpul_check_cuda(code, name) == GPUL_ERROR_CUDA);
    gpul_clear_error();
    CHECK_INT(handled, 1);
    CHECK(gpul_on_error(stop) == handler);
    CHECK(gpul_on_error(NULL) == stop);
    GPUL_CHECK(gpul_device_synchronize());
}

static void test_streams(void) {
    gpul_stream other = NULL;
    gpul_event start = NULL, event = NULL;
    int32_t done = 0;
    gpul_timer timer = GPUL_ZERO;
    gpul_graph graph = NULL;
    gpul_array x = GPUL_ZERO;
    double seconds = -1;
    CHECK_OK(GPUL_TO_DEVICE(&x, h, gpul_1d(N)));
    CHECK_OK(gpul_stream_create(&other, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_fill(&x, 1, other));
    CHECK_OK(gpul_stream_wait(stream, other));
    CHECK_OK(gpul_vecadd(&x, &x, &x, stream));
    CHECK_OK(gpul_stream_synchronize(stream));
    CHECK_OK(gpul_device_synchronize());
    CHECK_NEAR(at(&x, 9), 2, 0);
    CHECK_OK(gpul_event_create(&start));
    CHECK_OK(gpul_event_create(&event));
    CHECK_OK(gpul_event_record(start, stream));
    CHECK_OK(gpul_event_record(event, stream));
    CHECK_OK(gpul_event_seconds(&seconds, start, event));
    CHECK_OK(gpul_event_synchronize(event));
    CHECK_OK(gpul_event_query(&done, event));
    CHECK_INT(done, 1);
    CHECK_OK(gpul_stream_synchronize(stream));
    CHECK_OK(gpul_stream_query(&done, stream));
    CHECK_INT(done, 1);
    CHECK(seconds >= 0);
    CHECK_OK(gpul_timer_start(&timer, stream));
    CHECK_OK(gpul_timer_stop(&timer, stream));
    GPUL_TIMED(timer, stream) { CHECK_OK(gpul_fill(&x, 1, stream)); }
    seconds = -1;
    CHECK_OK(gpul_timer_seconds(&seconds, &timer));
    CHECK(seconds >= 0 && timer.regions == 2);
    CHECK_OK(gpul_timer_reset(&timer));
    CHECK(timer.regions == 0 && gpul_host_seconds() <= gpul_host_seconds());
    CHECK_OK(gpul_graph_begin(stream));
    CHECK_OK(gpul_vecadd(&x, &x, &x, stream));
    CHECK_OK(gpul_graph_end(&graph, stream));
    CHECK_OK(gpul_graph_launch(graph, stream));
    CHECK_OK(gpul_graph_launch(graph, stream));
    CHECK_OK(gpul_stream_synchronize(stream));
    CHECK_NEAR(at(&x, 9), 4, 0);
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_timer_free(&timer));
    CHECK_OK(gpul_event_destroy(&start));
    CHECK_OK(gpul_event_destroy(&event));
    CHECK_OK(gpul_stream_destroy(&other));
    CHECK_OK(gpul_free(&x));
}

static void test_operations(void) {
    const double a = 2, b = 1, lo = 0, hi = 512, start = 3, step = 0.5;
    const gpul_dtype dtype = GPUL_I32;
    const int64_t bins = 4;
    double edges[5];
    gpul_array x = GPUL_ZERO, y = GPUL_ZERO, out = GPUL_ZERO, mask = GPUL_ZERO, one = GPUL_ZERO, counts = GPUL_ZERO;
    gpul_array A = GPUL_ZERO, B = GPUL_ZERO, C = GPUL_ZERO;
    gpul_histogram_options options = GPUL_ZERO;
    double value = 0;
    CHECK_OK(GPUL_TO_DEVICE(&x, h, gpul_1d(N)));
    CHECK_OK(gpul_full(&y, GPUL_F32, gpul_1d(N), 3, stream));
    CHECK_OK(gpul_device_array_like(&out, &x, stream));
    CHECK_OK(gpul_device_array(&mask, GPUL_U8, gpul_1d(N), stream));
    CHECK_OK(gpul_device_array(&one, GPUL_F32, gpul_0d(), stream));
    CHECK_OK(gpul_vecadd(&out, &x, &y, stream));
    CHECK_NEAR(at(&out, 7), 10, 0);
    CHECK_OK(gpul_vecmul(&out, &x, &y, stream));
    CHECK_NEAR(at(&out, 7), 21, 0);
    CHECK_OK(gpul_binary(&out, GPUL_SUBTRACT, &x, &y, stream));
    CHECK_NEAR(at(&out, 7), 4, 0);
    CHECK_OK(gpul_binary(&out, GPUL_POWER, &x, GPUL_SCALAR(2), stream));
    CHECK_NEAR(at(&out, 7), 49, 0);
    CHECK_OK(gpul_unary(&out, GPUL_SQRT, &x, stream));
    CHECK_NEAR(at(&out, 9), 3, 0);
    CHECK_OK(gpul_scale(&out, a, &x, b, stream));
    CHECK_NEAR(at(&out, 7), 15, 0);
    CHECK_OK(gpul_clip(&out, &x, 5, 6, stream));
    CHECK_NEAR(at(&out, 7), 6, 0);
    CHECK_OK(gpul_binary(&mask, GPUL_LESS, &x, &y, stream));
    CHECK_OK(gpul_where(&out, &mask, &x, &y, stream));
    CHECK_NEAR(at(&out, 2), 2, 0);
    CHECK_NEAR(at(&out, 7), 3, 0);
    CHECK_OK(gpul_convert(&out, &x, stream));
    CHECK_NEAR(at(&out, 7), 7, 0);
    CHECK_OK(gpul_arange(&out, start, step, stream));
    CHECK_NEAR(at(&out, 7), 6.5, 0);
    CHECK_OK(gpul_linspace(&out, 0, 1022, stream));
    CHECK_NEAR(at(&out, 7), 14, 0);

    {
        gpul_array out = one;
        int64_t value = -1;
        CHECK_OK(gpul_reduce(&out, &x, GPUL_SUM, GPUL_ALL_AXES, stream));
        CHECK_NEAR(at(&out, 0), 130816, 0);
        CHECK_OK(gpul_dot(&out, &x, &y, stream));
        CHECK_NEAR(at(&out, 0), 3 * 130816, 0);
        CHECK_OK(gpul_reduce_host(&value, GPUL_I64, &x, GPUL_ARGMAX, stream));
        CHECK_INT(value, 511);
    }
    CHECK_OK(gpul_sum(&value, &x, stream));
    CHECK_NEAR(value, 130816, 0);
    CHECK_OK(gpul_min(&value, &x, stream));
    CHECK_NEAR(value, 0, 0);
    CHECK_OK(gpul_max(&value, &x, stream));
    CHECK_NEAR(value, 511, 0);
    CHECK_OK(gpul_mean(&value, &x, stream));
    CHECK_NEAR(value, 255.5, 0);
    CHECK_OK(gpul_var(&value, &x, stream));
    CHECK_NEAR(value, (512.0 * 512 - 1) / 12, 1e-9);
    CHECK_OK(gpul_max(&value, &mask, stream)); /* any() of x < 3, */
    CHECK_NEAR(value, 1, 0);
    CHECK_OK(gpul_min(&value, &mask, stream)); /* and all() */
    CHECK_NEAR(value, 0, 0);

    CHECK_OK(gpul_device_array(&counts, GPUL_I32, gpul_1d(4), stream));
    CHECK_OK(gpul_histogram_edges(edges, bins, dtype, lo, hi));
    CHECK_NEAR(edges[3], 384, 0);
    CHECK(gpul_binary_dtype(GPUL_DIVIDE, dtype) == GPUL_F64 && gpul_reduce_dtype(GPUL_SUM, dtype) == GPUL_I64);
    CHECK_OK(gpul_histogram(&counts, &x, lo, hi, stream));
    CHECK_NEAR(at(&counts, 3), 128, 0);
    options.accumulate = 1;
    CHECK_OK(gpul_histogram_ex(&counts, &x, &options, stream));
    CHECK_NEAR(at(&counts, 3), 256, 0);

    CHECK_OK(gpul_reshape(&A, &x, gpul_2d(16, 32)));
    CHECK_OK(gpul_reshape(&B, &y, gpul_2d(32, 16)));
    CHECK_OK(gpul_device_array(&C, GPUL_F32, gpul_2d(16, 16), stream));
    CHECK_OK(gpul_matmul(&C, &A, &B, stream));
    CHECK_NEAR(at(&C, 17), 3 * (32 * 32 + 496), 0); /* 3 times the sum of 32 ... 63 */
    CHECK_OK(gpul_gemm(&C, 1, &A, &B, 1, stream));
    CHECK_NEAR(at(&C, 17), 6 * (32 * 32 + 496), 0);
    {
        gpul_gemm_options options = GPUL_ZERO;
        options.math = GPUL_MATH_TF32;
        CHECK_OK(gpul_gemm_ex(&C, 1, &A, &B, 0, &options, stream));
        CHECK_NEAR(at(&C, 17), 3 * (32 * 32 + 496), 0);
        options.math = GPUL_MATH_EMULATED;
        CHECK_OK(gpul_gemm_ex(&C, 1, &A, &B, 0, &options, stream));
        CHECK_NEAR(at(&C, 17), 3 * (32 * 32 + 496), 0);
    }
    {
        gpul_array As, Bs, Cs, b;
        gpul_gemm_options options = GPUL_ZERO;
        CHECK_OK(gpul_reshape(&As, &x, gpul_3d(4, 4, 32))); /* four matrices, and one for all of them */
        CHECK_OK(gpul_reshape(&Bs, &y, gpul_3d(1, 32, 16)));
        CHECK_OK(gpul_reshape(&Cs, &C, gpul_3d(4, 4, 16)));
        CHECK_OK(gpul_fill(&C, 0, stream));
        CHECK_OK(gpul_matmul(&Cs, &As, &Bs, stream));
        CHECK_NEAR(at(&C, 17), 3 * (32 * 32 + 496), 0);
        CHECK_OK(gpul_slice(&b, &x, 0, 100, 116, 1));
        {
            gpul_array all = x, W = B;
            x = A;
            options.bias = &b;
            options.activation = GPUL_ACTIVATION_GELU; /* far from 0 it is RELU */
            CHECK_OK(gpul_gemm_ex(&C, 1, &x, &W, 0, &options, stream));
            CHECK_NEAR(at(&C, 17), 3 * (32 * 32 + 496) + 101, 0);
            options.activation = GPUL_ACTIVATION_RELU;
            CHECK_OK(gpul_gemm_ex(&C, -1, &x, &W, 0, &options, stream));
            CHECK_NEAR(at(&C, 17), 0, 0);
            x = all;
        }
    }
    {
        gpul_array all = x, threes = y;
        CHECK_OK(gpul_slice(&x, &threes, 0, 0, 32, 1));
        CHECK_OK(gpul_slice(&y, &out, 0, 0, 16, 1));
        CHECK_OK(gpul_gemv(&y, 1, &A, &x, 0, stream));
        CHECK_NEAR(at(&y, 1), 3 * (32 * 32 + 496), 0);
        x = all;
        y = threes;
    }
    CHECK_OK(gpul_free_all(&x, &y, &out, &mask, &one, &counts, &C));
}

static void test_own(void) {
    const int64_t n = N;
    const size_t shared = 0;
    int32_t block = 0;
    gpul_array d = GPUL_ZERO, y = GPUL_ZERO, one = GPUL_ZERO, bins = GPUL_ZERO, image = GPUL_ZERO, x = GPUL_ZERO;
    CHECK_OK(GPUL_TO_DEVICE(&d, h, gpul_1d(n)));
    CHECK_OK(gpul_device_array_like(&y, &d, NULL));
    CHECK_OK(gpul_device_array(&one, GPUL_F32, gpul_0d(), NULL));
    CHECK_OK(sum_of_squares(&one, &d, GPUL_ALL_AXES, NULL));
    CHECK_NEAR(at(&one, 0), 44608256, 0);
    CHECK_OK(last_not_zero(&one, &d, GPUL_ALL_AXES, NULL));
    CHECK_NEAR(at(&one, 0), 511, 0);
    CHECK_OK(axpy(&y, 2, &d, &d, NULL));
    CHECK_NEAR(at(&y, 9), 27, 0);
    CHECK_OK(half_and_rest(&y, &d, &d, NULL));
    CHECK_NEAR(at(&y, 9), 4, 0);
    CHECK_NEAR(at(&d, 9), 1, 0);
    CHECK_OK(gpul_copy_to_device(&d, h, NULL));

    CHECK_OK(gpul_block_size(&block, kernel));
    CHECK(block >= 32 && block <= 1024);
    {
        const gpul_dim3 grid = gpul_grid_1d(n, (uint32_t)block);
        CHECK_INT(grid.x, gpul_ceil_div(n, block));
        CHECK_OK(gpul_device_synchronize());
        CHECK_OK(GPUL_LAUNCH(kernel, grid, block, shared, stream, &d, n));
    }
    CHECK_NEAR(at(&d, 9), 18, 0);
    {
        static const float h[3] = {1, 2, 3};
        CHECK_CUDA(cudaMemcpyToSymbol(weights, h, sizeof weights));
    }
    CHECK_OK(GPUL_LAUNCH(add_weights, 2, 128, 0, NULL, &d, n));
    CHECK_NEAR(at(&d, 10), 22, 0);
    CHECK_OK(GPUL_LAUNCH(turn, 4, 128, 0, NULL, &d));
    CHECK_NEAR(at(&d, 117), 22, 0);
    CHECK_OK(GPUL_LAUNCH(turn_dynamic, 4, 128, 128 * sizeof(float), NULL, &d));
    CHECK_NEAR(at(&d, 10), 22, 0);

    CHECK_OK(gpul_zeros(&bins, GPUL_I32, gpul_1d(8), NULL));
    CHECK_OK(gpul_full(&x, GPUL_I32, gpul_1d(1000), 5, NULL));
    CHECK_OK(GPUL_LAUNCH(count, 4, 64, 0, NULL, &bins, &x, 1000, 2));
    CHECK_NEAR(at(&bins, 5), 2000, 0);

    CHECK_OK(gpul_device_array(&image, GPUL_F32, gpul_1d(2), NULL));
    CHECK_OK(gpul_fill(&image, 3, NULL));
    CHECK_OK(gpul_fill(&bins, 3, NULL));
    CHECK_OK(gpul_copy_to_device(&d, h, NULL));
    CHECK_OK(GPUL_LAUNCH(most, 2, 64, 0, NULL, &image, &bins, &d, n));
    CHECK(at(&image, 0) == N - 1 && at(&image, 1) == 0 && at(&bins, 0) == N - 1 && at(&bins, 1) == 0);
    CHECK_OK(GPUL_LAUNCH(exchange, 1, 1, 0, NULL, static_cast<int32_t *>(bins.data) + 2));
    CHECK(at(&bins, 2) == 7 && at(&bins, 3) == 7);
    CHECK_OK(gpul_free(&image));
    {
        int32_t blocks = 0;
        CHECK_OK(gpul_cooperative_blocks(&blocks, kernel, block));
        CHECK(blocks >= 1);
        CHECK_OK(GPUL_LAUNCH_COOPERATIVE(kernel, blocks, block, shared, stream, &d, n));
        CHECK_NEAR(at(&d, 9), 18, 0);
        CHECK_OK(GPUL_LAUNCH_COOPERATIVE(add_across, 4, 128, shared, stream, &d, n));
        CHECK(at(&d, 0) == n - 1 && at(&d, n - 1) == n - 1);
    }

    {
        gpul_array x = GPUL_ZERO, y = GPUL_ZERO, a = GPUL_ZERO, view = GPUL_ZERO;
        CHECK_OK(gpul_zeros(&x, GPUL_F32, gpul_2d(20, 30), stream));
        CHECK_OK(GPUL_LAUNCH(number, dim3(2, 2), dim3(16, 16), 0, NULL, &x));
        CHECK_OK(gpul_zeros(&a, x.dtype, gpul_shape_of(&x), stream));
        CHECK(a.ndim == 2 && a.shape[0] == 20 && a.shape[1] == 30 && gpul_shape_of(&y).ndim < 0);
        CHECK_OK(gpul_zeros(&y, GPUL_I32, gpul_3d(2, 10, 30), stream));
        CHECK_OK(gpul_reshape(&view, &x, gpul_shape_of(&y)));
        CHECK(view.ndim == 3 && view.shape[1] == 10 && view.data == x.data);
        CHECK_FAILS(gpul_zeros(&view, GPUL_F32, gpul_shape_of(NULL), stream), GPUL_ERROR_ARGUMENT, "gpul_zeros",
                    "ndim");
        CHECK_OK(gpul_free_all(&x, &y, &a));
    }
    CHECK_OK(gpul_device_array(&image, GPUL_F32, gpul_2d(5, 7), NULL));
    CHECK_OK(GPUL_LAUNCH(number, dim3(1, 1), dim3(8, 8), 0, NULL, &image));
    CHECK_NEAR(at(&image, 7 * 3 + 4), 34, 0);
    CHECK_OK(GPUL_LAUNCH(number_2d, dim3(1, 1), dim3(4, 4), 0, NULL, &image));
    CHECK_NEAR(at(&image, 7 * 3 + 4), 134, 0);
    CHECK_OK(gpul_free(&image));
    CHECK_OK(gpul_device_array(&image, GPUL_F32, gpul_3d(2, 3, 4), NULL));
    CHECK_OK(GPUL_LAUNCH(number_3d, dim3(1, 1, 1), dim3(2, 2, 2), 0, NULL, &image));
    CHECK_NEAR(at(&image, 12 + 8 + 3), 123, 0);
    CHECK_OK(gpul_free_all(&d, &y, &one, &bins, &image, &x));
}

static gpul_status f(void *user) { return gpul_fill((gpul_array *)user, 1, NULL); }

static void test_devices(void) {
    const char *const id = "0", *const name = "a range";
    int32_t device = -1, count = 0, driver = 0, runtime = 0;
    gpul_device info = GPUL_ZERO;
    gpul_roof roof = GPUL_ZERO;
    gpul_benchmark_options options = GPUL_ZERO;
    gpul_benchmark_result result = GPUL_ZERO;
    gpul_array x = GPUL_ZERO;
    char text[6000];
    CHECK_OK(gpul_device_by_id(&device, id));
    CHECK_INT(device, 0);
    CHECK_OK(gpul_device_count(&count));
    CHECK(count > 0);
    CHECK_OK(gpul_cuda_versions(&driver, &runtime));
    CHECK(driver >= 11000 && runtime >= 11000); /* a driver may be older than the runtime, of one major version */
    CHECK_OK(gpul_device_select(device));
    CHECK_OK(gpul_device_current(&device));
    CHECK_OK(gpul_device_info(&info, device));
    CHECK(info.free_bytes > 0 && info.total_bytes >= info.free_bytes);
    CHECK(info.sms > 0);
    CHECK_OK(gpul_report(NULL, text, sizeof text));
    CHECK(strstr(text, info.name) != NULL);
    CHECK_OK(gpul_zeros(&x, GPUL_F32, gpul_1d(100), NULL));
    options.repeat = 3;
    CHECK_OK(gpul_benchmark(&result, f, &x, &options));
    CHECK_INT(result.samples, 3);
    CHECK_OK(gpul_benchmark_text(NULL, text, sizeof text, &result));
    CHECK_OK(gpul_benchmark_csv(NULL, text, sizeof text, &result));
    CHECK_OK(gpul_device_roof(&roof, 0));
    CHECK_OK(gpul_free(&x));
    CHECK_OK(gpul_profile_start());
    CHECK_OK(gpul_range_push(name));
    gpul_range_pop();
    CHECK_OK(gpul_profile_stop());
}

int main(void) {
    check_begin("table");
    for (int i = 0; i < N; i++) h[i] = (float)i;
    CHECK_OK(gpul_stream_create(&stream, GPUL_STREAM_NON_BLOCKING));
    RUN(test_memory);
    RUN(test_errors);
    RUN(test_streams);
    RUN(test_operations);
    RUN(test_own);
    RUN(test_devices);
    CHECK_OK(gpul_stream_destroy(&stream));
    return check_end();
}
