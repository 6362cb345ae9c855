/* SPDX-License-Identifier: MIT
 * The device side: grid and gridsize, the grid-stride loop, GPUL_LAUNCH, GPUL_SHARED, gpul_block_size. */
#include <cuda_runtime.h>

#include "check.h"

static __global__ void count_visits(int32_t *visits, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { visits[i] += 1; }
}

static __global__ void record_1d(int64_t *index, int64_t *size) {
    const int64_t i = gpul_grid_x();
    index[i] = i;
    size[i] = gpul_gridsize_x();
}

static __global__ void record_3d(int64_t *where, int64_t nx, int64_t ny, int64_t nz) {
    const int64_t x = gpul_grid_x(), y = gpul_grid_y(), z = gpul_grid_z();
    if (x < nx && y < ny && z < nz)
        where[(z * ny + y) * nx + x] = gpul_gridsize_x() * 1000000 + gpul_gridsize_y() * 1000 + gpul_gridsize_z();
}

static __global__ void two_loops(int32_t *visits, int64_t n) { /* the loop variables of two loops do not collide */
    GPUL_GRID_STRIDE(i, n) { visits[i] += 1; }
    GPUL_GRID_STRIDE(j, n) { visits[j] += 2; }
}

template <typename T> static __global__ void reverse_blocks(T *x, int32_t *aligned) {
    GPUL_SHARED(T, tile);
    const unsigned t = threadIdx.x, n = blockDim.x;
    T *mine = x + (int64_t)blockIdx.x * n;
    if (t == 0) aligned[blockIdx.x] = (size_t)tile % 128 == 0;
    tile[t] = mine[t];
    __syncthreads();
    mine[t] = tile[n - 1 - t];
}

static __global__ void store_sum(double *out, int64_t a, float b, double c) { *out = (double)a + (double)b + c; }

static __global__ void never_launched(float *x) { *x = 1; }

static void fetch(void *host, const gpul_array *a) { CHECK_OK(gpul_copy_to_host(host, a, NULL)); }

static void test_grid_stride(void) {
    static const int64_t sizes[] = {0, 1, 2, 31, 32, 33, 127, 128, 129, 1000, 4097, 10007};
    static int32_t got[10007];
    for (int k = 0; k < COUNT_OF(sizes); k++)
        for (uint32_t block = 1; block <= 1024; block *= 4)
            for (int grids = 0; grids < 3; grids++) { /* enough blocks, too few, and too many */
                const int64_t n = sizes[k];
                gpul_dim3 grid = gpul_grid_1d(n, block);
                gpul_array a = GPUL_ZERO;
                int64_t wrong = 0;
                if (block == 1 && n > 1000) continue;
                if (grids == 1) grid.x = (grid.x + 2) / 3;
                if (grids == 2) grid.x += 2;
                CHECK_OK(gpul_device_array(&a, GPUL_I32, gpul_1d(n), NULL));
                CHECK_OK(gpul_fill(&a, 5, NULL));
                CHECK_OK(GPUL_LAUNCH(count_visits, grid, block, 0, NULL, (int32_t *)a.data, n));
                fetch(got, &a);
                for (int64_t i = 0; i < n; i++) wrong += got[i] != 6;
                CHECK_INT(wrong, 0);
                CHECK_OK(gpul_free(&a));
            }
    {
        gpul_array a = GPUL_ZERO;
        CHECK_OK(gpul_device_array(&a, GPUL_I32, gpul_1d(1000), NULL));
        CHECK_OK(gpul_fill(&a, 0, NULL));
        CHECK_OK(GPUL_LAUNCH(two_loops, 3, 64, 0, NULL, (int32_t *)a.data, (int64_t)1000));
        fetch(got, &a);
        for (int i = 0; i < 1000; i++)
            if (got[i] != 3) {
                FAIL("element %d is %d", i, got[i]);
                break;
            }
        CHECK_OK(gpul_free(&a));
    }
}

static void test_grid_functions(void) {
    gpul_array index = GPUL_ZERO, size = GPUL_ZERO, where = GPUL_ZERO;
    static int64_t a[96], b[96], c[7 * 6 * 5];
    gpul_dim3 block = {4, 3, 2};
    CHECK_OK(gpul_device_array(&index, GPUL_I64, gpul_1d(96), NULL));
    CHECK_OK(gpul_device_array(&size, GPUL_I64, gpul_1d(96), NULL));
    CHECK_OK(GPUL_LAUNCH(record_1d, 3, 32, 0, NULL, (int64_t *)index.data, (int64_t *)size.data));
    fetch(a, &index);
    fetch(b, &size);
    for (int i = 0; i < 96; i++) CHECK(a[i] == i && b[i] == 96);
    CHECK_OK(gpul_device_array(&where, GPUL_I64, gpul_3d(5, 6, 7), NULL));
    CHECK_OK(gpul_fill(&where, -1, NULL));
    CHECK_OK(GPUL_LAUNCH(record_3d, gpul_grid_3d(7, 6, 5, block), block, 0, NULL, (int64_t *)where.data, 7, 6, 5));
    fetch(c, &where);
    for (int i = 0; i < 7 * 6 * 5; i++)
        if (c[i] != 8 * 1000000 + 6 * 1000 + 6) {
            FAIL("element %d is %lld", i, (long long)c[i]);
            break;
        }
    CHECK_OK(gpul_free(&index));
    CHECK_OK(gpul_free(&size));
    CHECK_OK(gpul_free(&where));
}

template <typename T> static void reverse(gpul_dtype dtype, uint32_t block, uint32_t blocks) {
    const int64_t n = (int64_t)block * blocks;
    gpul_array a = GPUL_ZERO, flags = GPUL_ZERO;
    T *host = (T *)malloc((size_t)n * sizeof(T)), *back = (T *)malloc((size_t)n * sizeof(T));
    int32_t aligned[16];
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) host[i] = (T)(i % 200);
    CHECK_OK(gpul_to_device(&a, host, dtype, gpul_1d(n), NULL));
    CHECK_OK(gpul_device_array(&flags, GPUL_I32, gpul_1d(blocks), NULL));
    CHECK_OK(
        GPUL_LAUNCH(reverse_blocks<T>, blocks, block, block * sizeof(T), NULL, (T *)a.data, (int32_t *)flags.data));
    fetch(back, &a);
    fetch(aligned, &flags);
    for (int64_t i = 0; i < n; i++) wrong += back[i] != host[i / block * block + (block - 1 - i % block)];
    CHECK_INT(wrong, 0);
    for (uint32_t i = 0; i < blocks; i++) CHECK_INT(aligned[i], 1);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&flags));
    free(host);
    free(back);
}

static void test_shared(void) { /* two types in one file do not collide */
    reverse<float>(GPUL_F32, 256, 7);
    reverse<double>(GPUL_F64, 97, 3);
    reverse<uint8_t>(GPUL_U8, 1024, 2);
    reverse<int32_t>(GPUL_I32, 1, 5);
}

static void test_launch(void) {
    gpul_array out = GPUL_ZERO;
    gpul_stream s = NULL;
    double got = 0;
    int32_t value[1];
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_0d(), s));
    CHECK_OK(GPUL_LAUNCH(store_sum, 1, 1, 0, s, (double *)out.data, 7, 0.5, 0.25f)); /* arguments convert */
    CHECK_OK(gpul_copy_to_host(&got, &out, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(got, 7.75, 0);
    CHECK_OK(GPUL_LAUNCH(store_sum, dim3(1, 1, 1), dim3(1), 0, s, (double *)out.data, 1, 1, 1));
    CHECK_OK(GPUL_LAUNCH(store_sum, gpul_grid_1d(0, 128), 128, 0, s, (double *)out.data, 9, 9,
                         9)); /* a zero grid: nothing */
    CHECK_OK(gpul_copy_to_host(&got, &out, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(got, 3, 0);
    CHECK_FAILS(GPUL_LAUNCH(store_sum, 1, 1025, 0, s, (double *)out.data, 1, 1, 1), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(store_sum)", NULL);
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK_FAILS(GPUL_LAUNCH(store_sum, 1, 0, 0, s, (double *)out.data, 1, 1, 1), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(store_sum)", NULL);
    CHECK_FAILS(GPUL_LAUNCH(store_sum, dim3(1, 65536, 1), 1, 0, s, (double *)out.data, 1, 1, 1), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(store_sum)", NULL);
    CHECK_FAILS(GPUL_LAUNCH(store_sum, (int64_t)1 << 32, 1, 0, s, (double *)out.data, 1, 1, 1), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(store_sum)", NULL);
    CHECK_FAILS(GPUL_LAUNCH(store_sum, -1, 1, 0, s, (double *)out.data, 1, 1, 1), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(store_sum)", NULL);
    CHECK_FAILS(GPUL_LAUNCH(store_sum, 1, 1, (size_t)1 << 20, s, (double *)out.data, 1, 1, 1), GPUL_ERROR_ARGUMENT,
                "GPUL_LAUNCH(store_sum)", NULL);
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK_OK(gpul_copy_to_host(&got, &out, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(got, 3, 0);
    CHECK_OK(gpul_free(&out));
    CHECK_OK(gpul_stream_destroy(&s));

    value[0] = -1;
    CHECK_OK(gpul_block_size(value, never_launched));
    CHECK(value[0] == 1024);
    CHECK_OK(gpul_block_size(value, store_sum, 0, 0));
    CHECK(value[0] >= 32 && value[0] <= 1024 && value[0] % 32 == 0);
    CHECK_OK(gpul_block_size(value, store_sum, 0, 128));
    CHECK(value[0] > 0 && value[0] <= 128);
    CHECK_OK(gpul_block_size(value, store_sum, 40000, 0));
    CHECK(value[0] > 0 && value[0] <= 1024);
    value[0] = -7;
    CHECK_FAILS(gpul_block_size(value, store_sum, 0, -5), GPUL_ERROR_ARGUMENT, "gpul_block_size", "limit");
    CHECK_FAILS(gpul_block_size(value, NULL, 0, 0), GPUL_ERROR_ARGUMENT, "gpul_block_size", "kernel");
    CHECK_INT(value[0], -7);
}

/* A kernel of one's own in a graph, between gpulite's operations */
static void test_graph(void) {
    const int64_t n = 3000;
    static int32_t got[3000];
    gpul_array visits = GPUL_ZERO, start = GPUL_ZERO;
    gpul_stream s = NULL;
    gpul_graph graph = NULL;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&visits, GPUL_I32, gpul_1d(n), s));
    CHECK_OK(gpul_device_array(&start, GPUL_I32, gpul_1d(n), s));
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(gpul_copy(&visits, &start, s));
    CHECK_OK(GPUL_LAUNCH(count_visits, gpul_grid_1d(n, 128), 128, 0, s, (int32_t *)visits.data, n));
    CHECK_OK(GPUL_LAUNCH(two_loops, 3, 64, 0, s, (int32_t *)visits.data, n));
    CHECK_OK(gpul_vecadd(&visits, &visits, &visits, s));
    CHECK_OK(gpul_graph_end(&graph, s));
    for (int round = 0; round < 3; round++) {
        CHECK_OK(gpul_fill(&start, 10 * round, s));
        CHECK_OK(gpul_graph_launch(graph, s));
        CHECK_OK(gpul_copy_to_host(got, &visits, s));
        CHECK_OK(gpul_stream_synchronize(s));
        for (int64_t i = 0; i < n; i += 999) CHECK_INT(got[i], 2 * (10 * round + 1 + 3));
    }
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_free(&visits));
    CHECK_OK(gpul_free(&start));
    CHECK_OK(gpul_stream_destroy(&s));
}

#ifdef GPULITE_CPU_STANDIN
static void test_faults(void) { /* gpul_block_size and GPUL_LAUNCH when the runtime fails */
    gpul_array out = GPUL_ZERO;
    CHECK_OK(gpul_device_array(&out, GPUL_F64, gpul_0d(), NULL));
    for (long k = 1; k < 40; k++) {
        int32_t value = -7;
        gpul_status status;
        int failed;
        standin_trace_begin();
        standin_fail(NULL, k, cudaErrorUnknown, STANDIN_ONCE);
        status = gpul_block_size(&value, store_sum, 0, 0);
        failed = standin_failed();
        standin_fail_clear();
        if (!failed) break;
        if (strcmp(standin_trace_name(k - 1), "cudaPeekAtLastError") != 0 &&
            strcmp(standin_trace_name(k - 1), "cudaGetLastError") != 0) {
            CHECK(status != GPUL_OK && value == -7);
            CHECK_STRING(gpul_last_error()->function, "gpul_block_size");
        }
        CHECK_INT(cudaGetLastError(), cudaSuccess);
    }
    standin_fail("cudaLaunchKernelExC", 1, cudaErrorLaunchOutOfResources, STANDIN_ONCE);
    CHECK_FAILS(GPUL_LAUNCH(store_sum, 1, 1, 0, NULL, (double *)out.data, 1, 1, 1), GPUL_ERROR_CUDA,
                "GPUL_LAUNCH(store_sum)", "cudaErrorLaunchOutOfResources");
    standin_fail_clear();
    CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK_OK(gpul_free(&out));
}

static void test_orders(void) {
    for (int order = 0; order < 3; order++) {
        standin_order(order);
        test_shared();
        test_grid_functions();
    }
    standin_reset();
}
#endif

int main(void) {
    check_begin("device");
    RUN(test_grid_stride);
    RUN(test_grid_functions);
    RUN(test_shared);
    RUN(test_launch);
    RUN(test_graph);
#ifdef GPULITE_CPU_STANDIN
    RUN(test_faults);
    RUN(test_orders);
#endif
    return check_end();
}
