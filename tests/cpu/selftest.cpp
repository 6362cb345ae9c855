/* SPDX-License-Identifier: MIT */
/*
 * The stand-in's own test: what it must do, and the mistakes that it must catch. Each planted mistake runs in a process
 * of its own (this program again, with its name as the argument) and has to be seen failing.
 *
 *     g++ -std=c++17 -O2 -Wall -Wextra -I. selftest.cpp cudart.cpp -lpthread -o selftest && ./selftest
 *
 * -g -O1 -fsanitize=address,undefined and, with CUDA_CPU_ENGINE=threads, -fsanitize=thread are worth a run each.
 */
#include "cooperative_groups.h"
#include "cuda_runtime.h"
#include "standin.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif
#ifdef STANDIN_TSAN
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

static int passed, failed;
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            passed++;                                                                                                  \
        } else {                                                                                                       \
            failed++;                                                                                                  \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                     \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == cudaSuccess)

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

template <typename T> __global__ void vecadd(T *c, const T *a, const T *b, long long n) {
    long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

/* The last argument removes the barrier: a planted mistake. */
template <typename T, int N, bool Barrier> __global__ void flip(T *out, const T *in) {
    __shared__ T tile[N];
    tile[threadIdx.x] = in[blockIdx.x * N + threadIdx.x];
    if (Barrier) __syncthreads();
    out[blockIdx.x * N + threadIdx.x] = tile[N - 1 - threadIdx.x];
}

__global__ void flip_dynamic(float *out, const float *in, int n) {
    float *tile = static_cast<float *>(standin_dynamic_shared());
    for (int round = 0; round < 3; round++) {
        tile[threadIdx.x] = in[threadIdx.x] + static_cast<float>(round);
        __syncthreads();
        out[threadIdx.x] = tile[n - 1 - static_cast<int>(threadIdx.x)];
        __syncthreads();
    }
}

__global__ void past_shared(float *out, int n) {
    float *tile = static_cast<float *>(standin_dynamic_shared());
    tile[threadIdx.x + 1] = 1.0f;
    out[threadIdx.x] = tile[0] + static_cast<float>(n);
}

__global__ void warps(int *out, int lanes) {
    int lane = static_cast<int>(threadIdx.x % 32), base = static_cast<int>(threadIdx.x) * 16;
    unsigned all = 0xffffffffu;
    out[base + 0] = __shfl_sync(all, lane * 3, 5);
    out[base + 1] = __shfl_up_sync(all, lane, 2, 8);
    out[base + 2] = __shfl_down_sync(all, lane, 2, 8);
    out[base + 3] = __shfl_xor_sync(all, lane, 7);
    out[base + 4] = static_cast<int>(__ballot_sync(all, lane & 1));
    out[base + 5] = __any_sync(all, lane == 3) + 2 * __all_sync(all, lane < 32) + 4 * __all_sync(all, lane < 31);
    out[base + 6] = static_cast<int>(__match_any_sync(all, lane / 8));
    out[base + 7] = __reduce_add_sync(all, lane);
    out[base + 8] = __reduce_min_sync(all, lane - 5);
    out[base + 9] = static_cast<int>(__reduce_max_sync(all, static_cast<unsigned>(lane)));
    unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    out[base + 10] = __reduce_add_sync(half, lane);
    out[base + 11] = static_cast<int>(__shfl_sync(all, static_cast<double>(lane) + 0.5, 31) * 2.0);
    out[base + 12] = static_cast<int>(__shfl_sync(all, static_cast<long long>(lane) << 33, 4) >> 33);
    __syncwarp();
    out[base + 13] = __syncthreads_count(lane < lanes);
    out[base + 14] = __syncthreads_or(threadIdx.x == 40) + 2 * __syncthreads_and(1);
    out[base + 15] = static_cast<int>(threadIdx.x);
}

__global__ void counts(unsigned *u, int *i, unsigned long long *l, float *f, double *d) {
    atomicAdd(u, 1u);
    atomicSub(i, 2);
    atomicAdd(l, 3ull);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    atomicMax(i + 1, static_cast<int>(threadIdx.x));
    atomicMin(i + 2, -static_cast<int>(threadIdx.x));
    atomicInc(u + 1, 9u);
    atomicOr(u + 2, 1u << (threadIdx.x & 31));
    atomicCAS(u + 3, 0u, 7u);
}

/* Half of the threads leave before the barrier, which counts those that are left: a mistake that a GPU may let pass. */
__global__ void leavers(int *out) {
    if (threadIdx.x % 2) return;
    int n = __syncthreads_count(1);
    out[threadIdx.x] = n;
}

/* The last threads have no element, and leave. Where a block leaves as a whole, or after its last barrier, all is well. */
__global__ void leave_early(int *out, int n) {
    if (static_cast<int>(threadIdx.x) >= n) return;
    for (int i = 0; i < 3; i++) __syncthreads();
    out[threadIdx.x] = n;
}
__global__ void leave_together(int *out, int n) {
    if (blockIdx.x == 1) return;
    __syncthreads();
    if (static_cast<int>(threadIdx.x) >= n) return;
    out[threadIdx.x] = n;
}

__global__ void geometry(unsigned *out) {
    unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[b * blockDim.x * blockDim.y * blockDim.z + t] += b * 10000 + t;
}

__global__ void divergent(int *out) {
    if (threadIdx.x < 16) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    out[threadIdx.x] = 1;
}
__global__ void dead_end(int *out) {
    if (threadIdx.x == 0) out[0] = __shfl_sync(0x3u, 1, 1);
    else __syncthreads();
}
__global__ void gone_lane(int *out) {
    if (threadIdx.x == 5) return;
    out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
}
__global__ void not_mine(int *out) { out[threadIdx.x] = __shfl_sync(1u, 1, 0); }
__global__ void trap(int *) { __trap(); }
__global__ void write_at(float *p, long long i) { p[i] = 1.0f; }
__global__ void sum(float *out, const float *in, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += in[i];
    *out = s;
}
__global__ void rounding(float *out, float a, float b, float c) {
    out[0] = __fadd_rn(__fmul_rn(a, b), c);
    out[1] = __fmaf_rn(a, b, c);
}
__global__ void deep(volatile int *out, int n) {
    volatile char room[4096];
    room[n & 4095] = 1;
    if (n >= 0) out[0] = n;
    if (n >= 0) deep(out, n + 1);
    out[1] = room[1];
}
__global__ void large_array(volatile int *out, int n) {
    volatile char room[400 << 10];
    for (int i = 0; i < n; i += 1024) room[i] = 1;
    out[0] = room[n / 2];
}
__global__ void divide(int *out, int by) { out[threadIdx.x] = 7 / (by - static_cast<int>(threadIdx.x)); }
#undef NDEBUG
#include <assert.h> /* once more, as a program may */
__global__ void asserting(int *out, int n) {
    assert(static_cast<int>(threadIdx.x) < n);
    out[threadIdx.x] = 1;
}
__constant__ float table[4];
__global__ void from_table(float *out) { out[threadIdx.x] = table[threadIdx.x]; }

/* What C has not, by its name for doubles and for floats; `one` keeps compilers from computing it beforehand. */
template <typename T> __global__ void functions(T *out, T one) {
    T s, c;
    sincospi(one * T(2.75), &s, &c);
    const T values[] = {sinpi(one * T(0.25)),
                        cospi(one * T(100.75)),
                        s,
                        c,
                        sinpi(one * 3),
                        cospi(one * T(2.5)),
                        normcdf(one * -8),
                        normcdfinv(one / 1024),
                        erfinv(one / 4),
                        erfinv(one - one / 1024),
                        erfcinv(one / 1048576),
                        erfcinv(one * T(1.75)),
                        erfcx(one * 30),
                        erfcx(one * -3),
                        rcbrt(one * 5),
                        rhypot(one, one * 2),
                        norm3d(one, one * 2, one * 3),
                        norm4d(one, one * 2, one * 3, one * 4)};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) out[i] = values[i];
}
__global__ void by_name(float *out, float one) {
    float s, c;
    sincospif(one / 4, &s, &c);
    const float values[] = {sinpif(one / 4),
                            cospif(one / 4),
                            s,
                            c,
                            normcdff(one),
                            normcdfinvf(one / 4),
                            erfinvf(one / 4),
                            erfcinvf(one / 4),
                            erfcxf(one),
                            rcbrtf(one * 8),
                            rhypotf(one * 3, one * 4),
                            norm3df(one, one * 2, one * 2),
                            norm4df(one, one, one, one)};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) out[i] = values[i];
}
__global__ void integers(long long *out, unsigned u, int i) {
    out[0] = umin(u, 3u) + umax(u, 0x80000000u);
    out[1] = __umul24(u, 0x1000003u);
    out[2] = __mul24(i, 0x1000003);
    out[3] = llmin(i, 2) + llmax(i, 1ll << 40);
    out[4] = static_cast<long long>(ullmin(u, 1ull << 40) + ullmax(u, 1ull << 40));
}

/* Each round a block publishes a number, and all others read it after the grid's barrier; shared memory stays its
 * own. */
__global__ void rounds(int *out, int *board, int count, int split) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    cooperative_groups::thread_block group = cooperative_groups::this_thread_block();
    __shared__ int mine[64];
    int *dynamic = static_cast<int *>(standin_dynamic_shared());
    const int blocks = static_cast<int>(grid.num_blocks()), b = static_cast<int>(grid.block_rank());
    const unsigned t = group.thread_rank();
    int sum = 0;
    mine[t] = dynamic[t] = b + static_cast<int>(t);
    for (int round = 1; round <= count; round++) {
        if (t == 0) board[b] = b * round;
        if (split) {
            unsigned token = grid.barrier_arrive();
            grid.barrier_wait(static_cast<unsigned &&>(token));
        } else {
            cooperative_groups::sync(grid);
        }
        for (int i = 0; i < blocks; i++) sum += board[i];
        grid.sync();
    }
    group.sync();
    const unsigned other = group.size() - 1 - t;
    if (mine[other] != b + static_cast<int>(other) || dynamic[other] != mine[other]) sum = -1;
    out[grid.thread_rank()] = grid.size() == static_cast<unsigned>(blocks) * group.size() && grid.is_valid() ? sum : -2;
}
/* The next block sets what this one spins for. */
__global__ void spin(volatile int *flags) {
    const unsigned next = (blockIdx.x + 1) % gridDim.x;
    if (threadIdx.x == 0) flags[next] = 1;
    while (flags[blockIdx.x] == 0) __nanosleep(100);
}
__global__ void grid_deserter(int *out) {
    if (blockIdx.x == 1) return;
    cooperative_groups::this_grid().sync();
    out[cooperative_groups::this_grid().thread_rank()] = 1;
}
__global__ void grid_divergent(int *out) {
    if (blockIdx.x % 2) cooperative_groups::this_grid().sync();
    else cooperative_groups::this_grid().barrier_arrive();
    out[cooperative_groups::this_grid().thread_rank()] = 1;
}
__global__ void grid_half_a_block(int *out) {
    if (threadIdx.x < 16) cooperative_groups::this_grid().sync();
    else __syncthreads();
    out[cooperative_groups::this_grid().thread_rank()] = 1;
}
__global__ void grid_no_token(int *out) {
    cooperative_groups::this_grid().barrier_wait(0);
    out[cooperative_groups::this_grid().thread_rank()] = 1;
}

/* `careless`: which threads do not wait; `early`: reads before it waits. */
__global__ void dependent(int *out, int careless, int early) {
    int v = early ? out[threadIdx.x] : 1;
    if (static_cast<int>(threadIdx.x) >= careless) return;
    standin_dependency_wait();
    out[threadIdx.x] = v + 1;
}

/* Two stages of tiles of n floats, copied ahead by thread 0; what follows is where it can go wrong. */
enum {
    GOOD,
    NO_WAIT,
    NO_INIT,
    TWICE,
    FEW_BYTES,
    MANY_BYTES,
    ODD_SIZE,
    ODD_SOURCE,
    ODD_SHARED,
    PAST_SHARED,
    NOT_AWAITED,
    OVERWRITTEN
};
__global__ void pipeline(float *out, const float *in, int n, int tiles, int fault) {
    __shared__ unsigned long long full[2], empty[2];
    float *tile = static_cast<float *>(standin_dynamic_shared());
    const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const unsigned bytes = static_cast<unsigned>(n) * 4;
    if (t == 0 && fault != NO_INIT) {
        for (int k = 0; k < 2; k++) {
            standin_barrier_init(full + k, 1);
            standin_barrier_init(empty + k, static_cast<unsigned>(threads));
        }
        if (fault == TWICE) standin_barrier_init(full, 1);
        if (fault == OVERWRITTEN) full[0] = 0;
    }
    __syncthreads();
    for (int k = 0; k < tiles + 1; k++) {
        if (t == 0 && k < tiles) { /* one tile ahead */
            const int stage = k % 2;
            const float *from = in + k * n + (fault == ODD_SOURCE);
            float *to = tile + stage * n + (fault == ODD_SHARED) + (fault == PAST_SHARED ? 2 * n : 0);
            if (k >= 2) standin_barrier_wait(empty + stage, (k / 2 + 1) % 2);
            standin_barrier_arrive(full + stage, bytes + (fault == FEW_BYTES ? 16 : fault == MANY_BYTES ? -16u : 0u));
            standin_bulk_copy(to, from, bytes / 2, full + stage);
            standin_bulk_copy(to + n / 2, from + n / 2, bytes / 2 - (fault == ODD_SIZE ? 4 : 0), full + stage);
        }
        if (k == 0 || fault == NOT_AWAITED) continue;
        const int stage = (k - 1) % 2;
        if (fault != NO_WAIT) standin_barrier_wait(full + stage, (k - 1) / 2 % 2);
        for (int i = t; i < n; i += threads) out[(k - 1) * n + i] = tile[stage * n + n - 1 - i];
        standin_barrier_arrive(empty + stage);
    }
    if (fault == NO_WAIT)
        standin_barrier_wait(full, (tiles - 1) / 2 % 2), standin_barrier_wait(full + 1, tiles / 2 % 2 ^ 1);
}
__global__ void never_launched(float *out) { out[0] = 1; }

template <typename... P, typename... A>
static cudaError_t run_with(cudaLaunchAttributeID id, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                            A... args) {
    cudaLaunchAttribute attribute = {};
    attribute.id = id;
    attribute.val.cooperative = 1; /* or programmaticStreamSerializationAllowed, in the same place */
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, args...);
}
template <typename... P, typename... A>
static cudaError_t run_together(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... args) {
    return run_with(cudaLaunchAttributeCooperative, kernel, grid, block, shared, args...);
}
template <typename... P, typename... A>
static cudaError_t run_early(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... args) {
    return run_with(cudaLaunchAttributeProgrammaticStreamSerialization, kernel, grid, block, shared, args...);
}

template <typename... P, typename... A>
static cudaError_t run(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, A... args) {
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, args...);
}

/* ---- What must work ---------------------------------------------------------------------------------------------- */

/* Within a unit in the last place of what mpmath says in 50 digits */
template <typename T> static bool as_good_as(const T *values, const double *wanted, size_t n) {
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        const double allowed = fabs(wanted[i]) * static_cast<double>(std::numeric_limits<T>::epsilon());
        if (fabs(static_cast<double>(values[i]) - wanted[i]) <= allowed) continue;
        printf("value %zu is %.17g, not %.17g\n", i, static_cast<double>(values[i]), wanted[i]);
        good = false;
    }
    return good;
}
template <typename T> static void test_functions_of() {
    const double wanted[] = {0.7071067811865475244,
                             -0.7071067811865475244,
                             0.7071067811865475244,
                             -0.7071067811865475244,
                             0,
                             0,
                             6.2209605742717841235e-16,
                             -3.0972690781987844624,
                             0.22531205501217810473,
                             2.3314677736219476723,
                             3.4655050258033307173,
                             -0.81341984759761854169,
                             0.018795888861416751497,
                             16205.988853999586625,
                             0.5848035476425732131,
                             0.44721359549995793928,
                             3.7416573867739413856,
                             5.4772255750516611346};
    const size_t n = sizeof wanted / sizeof wanted[0];
    T *out, h[n];
    OK(cudaMalloc(&out, sizeof h));
    OK(run(functions<T>, dim3(1), dim3(1), 0, nullptr, out, 1));
    OK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    OK(cudaFree(out));
    CHECK(as_good_as(h, wanted, n));
}
static void test_functions() {
    test_functions_of<double>();
    test_functions_of<float>();
    const double wanted[] = {0.7071067811865475244,
                             0.7071067811865475244,
                             0.7071067811865475244,
                             0.7071067811865475244,
                             0.84134474606854294859,
                             -0.6744897501960817432,
                             0.22531205501217810473,
                             0.81341984759761854169,
                             0.42758357615580700441,
                             0.5,
                             0.2,
                             3.0,
                             2.0};
    const size_t n = sizeof wanted / sizeof wanted[0];
    float *out, h[n];
    long long *integer, i[5];
    OK(cudaMalloc(&out, sizeof h));
    OK(cudaMalloc(&integer, sizeof i));
    OK(run(by_name, dim3(1), dim3(1), 0, nullptr, out, 1));
    OK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    CHECK(as_good_as(h, wanted, n));
    OK(run(integers, dim3(1), dim3(1), 0, nullptr, integer, 0xff000005u, -7));
    OK(cudaMemcpy(i, integer, sizeof i, cudaMemcpyDeviceToHost));
    CHECK(i[0] == 0xff000008ll && i[1] == 15 && i[2] == -21 && i[3] == (1ll << 40) - 7);
    CHECK(i[4] == (1ll << 40) + 0xff000005ll);
    OK(cudaFree(out));
    OK(cudaFree(integer));
}

static void test_kernels() {
    const int n = 1000;
    std::vector<float> h(n), r(n);
    for (int i = 0; i < n; i++) h[static_cast<size_t>(i)] = static_cast<float>(i);
    float *a, *c;
    OK(cudaMalloc(&a, n * 4));
    OK(cudaMalloc(&c, n * 4));
    OK(cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice));
    OK(run(vecadd<float>, dim3(4), dim3(256), 0, nullptr, c, a, a, n));
    OK(cudaMemcpy(r.data(), c, n * 4, cudaMemcpyDeviceToHost));
    bool good = true;
    for (int i = 0; i < n; i++) good = good && r[static_cast<size_t>(i)] == 2.0f * static_cast<float>(i);
    CHECK(good);

    OK(run(flip<float, 200, true>, dim3(5), dim3(200), 0, nullptr, c, a));
    OK(cudaMemcpy(r.data(), c, n * 4, cudaMemcpyDeviceToHost));
    good = true;
    for (int i = 0; i < n; i++)
        good = good && r[static_cast<size_t>(i)] == static_cast<float>(i / 200 * 200 + 199 - i % 200);
    CHECK(good);
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, flip<float, 200, true>));
    CHECK(attributes.sharedSizeBytes == 800);

    OK(run(flip_dynamic, dim3(1), dim3(100), 400, nullptr, c, a, 100));
    OK(cudaMemcpy(r.data(), c, 400, cudaMemcpyDeviceToHost));
    good = true;
    for (int i = 0; i < 100; i++) good = good && r[static_cast<size_t>(i)] == static_cast<float>(101 - i);
    CHECK(good);
    CHECK(run(flip_dynamic, dim3(1), dim3(100), 50000, nullptr, c, a, 100) == cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(flip_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    OK(run(flip_dynamic, dim3(1), dim3(100), 50000, nullptr, c, a, 100));
    OK(cudaFuncSetAttribute(flip_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 << 10));
    CHECK(cudaFuncSetAttribute(flip_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000) ==
          cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);

    int *w;
    std::vector<int> o(64 * 16);
    OK(cudaMalloc(&w, o.size() * 4));
    OK(run(warps, dim3(1), dim3(64), 0, nullptr, w, 10));
    OK(cudaMemcpy(o.data(), w, o.size() * 4, cudaMemcpyDeviceToHost));
    good = true;
    for (int t = 0; t < 64; t++) {
        int l = t % 32, *p = o.data() + t * 16;
        const int want[16] = {15,
                              l % 8 >= 2 ? l - 2 : l,
                              l % 8 < 6 ? l + 2 : l,
                              l ^ 7,
                              static_cast<int>(0xaaaaaaaau),
                              3,
                              static_cast<int>(0xffu << (l / 8 * 8)),
                              496,
                              -5,
                              31,
                              l < 16 ? 120 : 376,
                              63,
                              4,
                              20,
                              3,
                              t};
        for (int k = 0; k < 16; k++) good = good && p[k] == want[k];
    }
    CHECK(good);
    OK(cudaMemset(w, 0, 64));
    OK(run(leavers, dim3(1), dim3(16), 0, nullptr, w));
    OK(cudaMemcpy(o.data(), w, 64, cudaMemcpyDeviceToHost));
    CHECK(o[0] == 8 && o[1] == 0 && o[14] == 8);
    OK(cudaFree(w));

    unsigned *u;
    int *i;
    unsigned long long *l;
    float *f;
    double *d;
    OK(cudaMalloc(&u, 16));
    OK(cudaMalloc(&i, 12));
    OK(cudaMalloc(&l, 8));
    OK(cudaMalloc(&f, 4));
    OK(cudaMalloc(&d, 8));
    OK(cudaMemset(u, 0, 16));
    OK(cudaMemset(i, 0, 12));
    OK(cudaMemset(l, 0, 8));
    OK(cudaMemset(f, 0, 4));
    OK(cudaMemset(d, 0, 8));
    OK(run(counts, dim3(3), dim3(64), 0, nullptr, u, i, l, f, d));
    unsigned hu[4];
    int hi[3];
    unsigned long long hl;
    float hf;
    double hd;
    OK(cudaMemcpy(hu, u, 16, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(hi, i, 12, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&hl, l, 8, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&hf, f, 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&hd, d, 8, cudaMemcpyDeviceToHost));
    CHECK(hu[0] == 192 && hu[1] == 192 % 10 && hu[2] == ~0u && hu[3] == 7);
    CHECK(hi[0] == -384 && hi[1] == 63 && hi[2] == -63);
    CHECK(hl == 576 && hf == 96.0f && hd == 48.0);
    OK(cudaFree(u));
    OK(cudaFree(i));
    OK(cudaFree(l));
    OK(cudaFree(f));
    OK(cudaFree(d));

    unsigned *where;
    std::vector<unsigned> hw(24 * 24);
    OK(cudaMalloc(&where, hw.size() * 4));
    OK(cudaMemset(where, 0, hw.size() * 4));
    OK(run(geometry, dim3(2, 3, 4), dim3(4, 3, 2), 0, nullptr, where));
    OK(cudaMemcpy(hw.data(), where, hw.size() * 4, cudaMemcpyDeviceToHost));
    good = true;
    for (unsigned k = 0; k < hw.size(); k++) good = good && hw[k] == k / 24 * 10000 + k % 24;
    CHECK(good);
    OK(cudaFree(where));

    const float host_table[4] = {1, 2, 3, 4};
    OK(cudaMemcpyToSymbol(table, host_table, sizeof host_table));
    OK(run(from_table, dim3(1), dim3(4), 0, nullptr, c));
    OK(cudaMemcpy(r.data(), c, 16, cudaMemcpyDeviceToHost));
    CHECK(r[3] == 4.0f);

    test_functions();

    float x = 1.0f + 0x1p-12f;
    OK(run(rounding, dim3(1), dim3(1), 0, nullptr, c, x, x, -1.0f - 0x1p-11f));
    OK(cudaMemcpy(r.data(), c, 8, cudaMemcpyDeviceToHost));
    CHECK(r[0] == 0.0f && r[1] == 0x1p-24f);

    CHECK(run(trap, dim3(0), dim3(1), 0, nullptr, nullptr) == cudaErrorInvalidConfiguration);
    CHECK(run(trap, dim3(1), dim3(1025), 0, nullptr, nullptr) == cudaErrorInvalidConfiguration);
    CHECK(run(trap, dim3(1), dim3(1, 1, 65), 0, nullptr, nullptr) == cudaErrorInvalidConfiguration);
    CHECK(run(trap, dim3(1, 65536), dim3(1), 0, nullptr, nullptr) == cudaErrorInvalidConfiguration);
    cudaGetLastError();
    OK(cudaFree(a));
    OK(cudaFree(c));
}

static cudaError_t result_of(cudaError_t launched) {
    return launched != cudaSuccess ? launched : cudaDeviceSynchronize();
}

static void test_kernel_errors() {
    int *p;
    OK(cudaMalloc(&p, 1024));
    CHECK(result_of(run(divergent, dim3(1), dim3(32), 0, nullptr, p)) == cudaErrorLaunchFailure);
    CHECK(cudaMalloc(&p, 4) == cudaErrorLaunchFailure); /* it stays */
    standin_reset();
    CHECK(result_of(run(dead_end, dim3(1), dim3(64), 0, nullptr, p)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run(gone_lane, dim3(1), dim3(32), 0, nullptr, p)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run(not_mine, dim3(1), dim3(2), 0, nullptr, p)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run(trap, dim3(1), dim3(2), 0, nullptr, p)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run(asserting, dim3(1), dim3(2), 0, nullptr, p, 1)) == cudaErrorAssert);
    standin_reset();
    if (!UNDER_ASAN) {
        CHECK(result_of(run(write_at, dim3(1), dim3(1), 0, nullptr, nullptr, 0ll)) == cudaErrorIllegalAddress);
        standin_reset();
    }
#if defined(__x86_64__)
    if (!UNDER_ASAN) {
        CHECK(result_of(run(divide, dim3(1), dim3(2), 0, nullptr, p, 1)) == cudaErrorIllegalInstruction);
        standin_reset();
    }
#endif
    float pageable[4];
    CHECK(result_of(run(write_at, dim3(1), dim3(1), 0, nullptr, pageable, 0ll)) == cudaErrorIllegalAddress);
    standin_reset();
    if (!UNDER_ASAN && !UNDER_TSAN) {
        CHECK(result_of(run(deep, dim3(1), dim3(1), 0, nullptr, p, 0)) == cudaErrorIllegalAddress);
        standin_reset();
    }
    OK(run(leavers, dim3(1), dim3(16), 0, nullptr, p));
    OK(cudaFree(p));
}

static bool threads_engine() {
    const char *engine = getenv("CUDA_CPU_ENGINE");
    return engine && !strcmp(engine, "threads");
}

static void test_cooperative() {
    int value = 0, resident = 0;
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, 0));
    CHECK(value == 1);
    int *out, *board;
    std::vector<int> h(4096);
    OK(cudaMalloc(&out, h.size() * 4));
    OK(cudaMalloc(&board, 4096));
    for (int split = 0; split < 2; split++) {
        const int blocks = 6, count = 3;
        OK(run_together(rounds, dim3(3, 2), dim3(8, 5), 160, out, board, count, split));
        OK(cudaMemcpy(h.data(), out, 240 * 4, cudaMemcpyDeviceToHost));
        bool good = true;
        for (size_t i = 0; i < 240; i++) good = good && h[i] == blocks * (blocks - 1) / 2 * (1 + 2 + 3);
        CHECK(good);
    }
    int count = 1, split = 0;
    void *list[] = {&out, &board, &count, &split};
    OK(cudaLaunchCooperativeKernel(rounds, dim3(2), dim3(64), list, 256));
    OK(cudaMemcpy(h.data(), out, 4, cudaMemcpyDeviceToHost));
    CHECK(h[0] == 1);

    /* As many blocks as have room, and no more */
    const size_t shared = 20000;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, rounds, 40, shared));
    CHECK(resident == 10);
    const unsigned most = static_cast<unsigned>(resident) * 4;
    OK(run_together(rounds, dim3(most), dim3(40), shared, out, board, 2, 1));
    OK(cudaMemcpy(h.data(), out, most * 40 * 4, cudaMemcpyDeviceToHost));
    bool good = true;
    for (unsigned i = 0; i < most * 40; i++) good = good && h[i] == static_cast<int>(most * (most - 1) / 2 * 3);
    CHECK(good);
    CHECK(run_together(rounds, dim3(most + 1), dim3(40), shared, out, board, 2, 1) ==
          cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    CHECK(run_together(rounds, dim3(9), dim3(1024), 4096, out, board, 1, 0) == cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();
    if (!threads_engine()) {
        OK(cudaMemset(board, 0, 4096));
        OK(run_together(spin, dim3(7), dim3(33), 0, board));
        OK(cudaDeviceSynchronize());
    }
    /* An error among them leaves nothing behind. */
    CHECK(result_of(run_together(grid_deserter, dim3(4), dim3(32), 0, out)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run_together(grid_divergent, dim3(4), dim3(32), 0, out)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run_together(grid_half_a_block, dim3(4), dim3(32), 0, out)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run_together(grid_no_token, dim3(4), dim3(32), 0, out)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run(grid_no_token, dim3(4), dim3(32), 0, nullptr, out)) == cudaErrorLaunchFailure);
    standin_reset();
    OK(run_together(rounds, dim3(2), dim3(64), 256, out, board, 1, 0));
    OK(cudaMemcpy(h.data(), out, 4, cudaMemcpyDeviceToHost));
    CHECK(h[0] == 1);
    OK(cudaFree(out));
    OK(cudaFree(board));
}

static void test_dependent() {
    int *out, h[64];
    OK(cudaMalloc(&out, sizeof h));
    OK(cudaMemset(out, 0, sizeof h));
    OK(run_early(dependent, dim3(3), dim3(64), 0, out, 64, 0));
    OK(run(dependent, dim3(1), dim3(64), 0, nullptr, out, 32, 1)); /* the wait is nothing in another launch */
    OK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    CHECK(h[0] == 3 && h[31] == 3 && h[63] == 2);
    CHECK(result_of(run_early(dependent, dim3(1), dim3(64), 0, out, 63, 0)) == cudaErrorLaunchFailure);
    standin_reset();
    CHECK(result_of(run_early(dependent, dim3(1), dim3(64), 0, out, 64, 1)) == cudaErrorIllegalAddress);
    standin_reset();
    OK(cudaFree(out));
}

static void test_bulk() {
    const int n = 64, tiles = 7;
    std::vector<float> h(n * tiles), r(n * tiles);
    for (size_t i = 0; i < h.size(); i++) h[i] = static_cast<float>(i);
    float *in, *out;
    OK(cudaMalloc(&in, h.size() * 4));
    OK(cudaMalloc(&out, h.size() * 4));
    OK(cudaMemcpy(in, h.data(), h.size() * 4, cudaMemcpyHostToDevice));
    OK(run(pipeline, dim3(2), dim3(48), 2 * n * 4, nullptr, out, in, n, tiles, GOOD));
    OK(cudaMemcpy(r.data(), out, h.size() * 4, cudaMemcpyDeviceToHost));
    bool good = true;
    for (int i = 0; i < n * tiles; i++)
        good = good && r[static_cast<size_t>(i)] == static_cast<float>(i / n * n + n - 1 - i % n);
    CHECK(good);
    for (int fault = NO_INIT; fault <= OVERWRITTEN; fault++) {
        cudaError_t e = result_of(run(pipeline, dim3(1), dim3(48), 2 * n * 4, nullptr, out, in, n, 2, fault));
        CHECK(e == (fault == PAST_SHARED                       ? cudaErrorIllegalAddress
                    : fault >= ODD_SIZE && fault <= ODD_SHARED ? cudaErrorMisalignedAddress
                                                               : cudaErrorLaunchFailure));
        standin_reset();
    }
    CHECK(result_of(run(pipeline, dim3(1), dim3(48), 2 * n * 4, nullptr, out, in + n * (tiles - 1), n, 2, GOOD)) ==
          cudaErrorIllegalAddress);
    standin_reset();
    OK(cudaFree(in));
    OK(cudaFree(out));
}

/* A kernel that no launch has named yet, as gpul_block_size is asked about */
static void test_by_address() {
    cudaFuncAttributes attributes;
    int blocks = 0, variable = 0;
    const void *kernel = reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(never_launched));
    OK(cudaFuncGetAttributes(&attributes, kernel));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.sharedSizeBytes == 0);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
    CHECK(blocks == 8);
    const void *const wrong[] = {&variable, &failed, static_cast<const char *>(kernel) + 1};
    for (const void *p : wrong) {
        CHECK(cudaFuncGetAttributes(&attributes, p) == cudaErrorInvalidDeviceFunction);
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, p, 256, 0) == cudaErrorInvalidDeviceFunction);
    }
    cudaGetLastError();
}

static void test_streams() {
    cudaStream_t a, b;
    cudaEvent_t e, f;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreate(&e));
    OK(cudaEventCreate(&f));
    float *x, *pinned;
    OK(cudaMalloc(&x, 400));
    OK(cudaMallocHost(&pinned, 400));
    for (int i = 0; i < 100; i++) pinned[i] = 1.0f;
    OK(cudaEventRecord(e, a));
    OK(cudaMemcpyAsync(x, pinned, 400, cudaMemcpyHostToDevice, a));
    OK(run(vecadd<float>, dim3(1), dim3(128), 0, a, x, x, x, 100));
    OK(cudaEventRecord(f, a));
    CHECK(cudaEventQuery(f) == cudaErrorNotReady);
    OK(cudaStreamWaitEvent(b, f, 0));
    OK(run(vecadd<float>, dim3(1), dim3(128), 0, b, x, x, x, 100));
    OK(cudaMemcpyAsync(pinned, x, 400, cudaMemcpyDeviceToHost, b));
    OK(cudaStreamSynchronize(b));
    CHECK(pinned[0] == 4.0f && pinned[99] == 4.0f);
    float ms = -1;
    OK(cudaEventElapsedTime(&ms, e, f));
    CHECK(ms >= 0);
    float pageable[100];
    for (float &v : pageable) v = 3.0f;
    OK(cudaMemcpyAsync(x, pageable, 400, cudaMemcpyHostToDevice, a));
    for (float &v : pageable) v = 9.0f;
    OK(cudaMemcpyAsync(pageable, x, 400, cudaMemcpyDeviceToHost, a));
    CHECK(pageable[50] == 3.0f);
    int polls = 0;
    OK(run(vecadd<float>, dim3(1), dim3(128), 0, a, x, x, x, 100));
    while (cudaStreamQuery(a) == cudaErrorNotReady && polls < 100) polls++;
    CHECK(polls > 0 && polls < 100);
    cudaGetLastError();
    CHECK(cudaMemcpyAsync(x, pinned, 404, cudaMemcpyHostToDevice, a) == cudaErrorInvalidValue);
    CHECK(cudaMemcpyAsync(x, pageable, 400, cudaMemcpyDeviceToHost, a) == cudaErrorInvalidValue);
    cudaGetLastError();

    /* The legacy stream waits for blocking streams, and they for it. */
    cudaStream_t blocking;
    OK(cudaStreamCreate(&blocking));
    OK(cudaMemsetAsync(x, 0, 400, blocking));
    OK(cudaMemcpy(pageable, x, 400, cudaMemcpyDeviceToHost));
    CHECK(pageable[7] == 0.0f);
    { /* While one of them is captured, only questions may be put to the legacy stream. */
        enum cudaStreamCaptureStatus status;
        cudaGraph_t captured = nullptr;
        OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeThreadLocal));
        CHECK(cudaStreamIsCapturing(nullptr, &status) == cudaErrorStreamCaptureImplicit);
        OK(cudaMemsetAsync(x, 0, 400, blocking));
        OK(cudaStreamEndCapture(blocking, &captured));
        OK(cudaGraphDestroy(captured));
        OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeThreadLocal));
        CHECK(cudaMemsetAsync(x, 0, 400, nullptr) == cudaErrorStreamCaptureImplicit);
        CHECK(cudaStreamEndCapture(blocking, &captured) == cudaErrorStreamCaptureInvalidated);
        cudaGetLastError();
    }
    OK(cudaStreamDestroy(blocking));

    float *y = nullptr;
    OK(cudaMallocAsync(&y, 400, a));
    OK(cudaMemsetAsync(y, 0, 400, a));
    OK(cudaMemcpyAsync(pinned, y, 400, cudaMemcpyDeviceToHost, a));
    OK(cudaFreeAsync(y, a));
    CHECK(cudaFreeAsync(y, a) == cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(a));
    CHECK(pinned[3] == 0.0f);
    cudaGetLastError();

    /* A graph: a fork, a join, an allocation inside, and two replays. */
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    for (int i = 0; i < 100; i++) pinned[i] = 1.0f;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMalloc(&y, 4) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyAsync(x, pinned, 400, cudaMemcpyHostToDevice, a));
    OK(cudaEventRecord(e, a));
    OK(cudaStreamWaitEvent(b, e, 0));
    OK(cudaMallocAsync(&y, 400, b));
    OK(run(vecadd<float>, dim3(1), dim3(128), 0, b, y, x, x, 100));
    OK(cudaEventRecord(f, b));
    OK(cudaStreamWaitEvent(a, f, 0));
    OK(run(vecadd<float>, dim3(1), dim3(128), 0, a, x, x, y, 100));
    OK(cudaFreeAsync(y, a));
    OK(cudaMemcpyAsync(pinned, x, 400, cudaMemcpyDeviceToHost, a));
    OK(cudaStreamEndCapture(a, &graph));
    CHECK(pinned[0] == 1.0f);
    OK(cudaGraphInstantiate(&exec, graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(exec, a));
    OK(cudaGraphLaunch(exec, a));
    OK(cudaStreamSynchronize(a));
    CHECK(pinned[0] == 9.0f);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    CHECK(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);

    static int called;
    called = 0;
    OK(cudaLaunchHostFunc(
        a, [](void *p) { ++*static_cast<int *>(p); }, &called));
    CHECK(called == 0);
    OK(cudaStreamSynchronize(a));
    CHECK(called == 1);

    OK(cudaFree(x));
    OK(cudaFreeHost(pinned));
    OK(cudaEventDestroy(e));
    OK(cudaEventDestroy(f));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

static void test_memory() {
    void *p = reinterpret_cast<void *>(16), *q = nullptr;
    OK(cudaMalloc(&p, 0));
    CHECK(p == reinterpret_cast<void *>(16));
    standin_memory(1 << 20);
    CHECK(cudaMalloc(&p, 2 << 20) == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    OK(cudaMalloc(&p, 1 << 19));
    size_t available, total;
    OK(cudaMemGetInfo(&available, &total));
    CHECK(total == 1 << 20 && available == 1 << 19);
    /* Memory that is freed in stream order is there again, without a synchronisation. */
    for (int i = 0; i < 8; i++) {
        OK(cudaMallocAsync(&q, 300000, nullptr));
        OK(cudaFreeAsync(q, nullptr));
    }
    cudaMemPool_t pool;
    unsigned long long keep = ~0ull, reserved = 0;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    OK(cudaMallocAsync(&q, 400000, nullptr));
    OK(cudaFreeAsync(q, nullptr));
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    CHECK(reserved >= 400000);
    CHECK(cudaMalloc(&q, 400000) == cudaErrorMemoryAllocation);
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMalloc(&q, 400000));
    keep = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    OK(cudaFree(q));
    OK(cudaFree(p));
    CHECK(cudaFree(p) == cudaErrorInvalidValue);
    int local;
    CHECK(cudaFree(&local) == cudaErrorInvalidValue);
    cudaGetLastError();
    standin_reset();

    OK(cudaMallocManaged(&p, 64));
    static_cast<char *>(p)[63] = 1;
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, p));
    CHECK(a.type == cudaMemoryTypeManaged && a.device == 0);
    OK(cudaFree(p));
    OK(cudaPointerGetAttributes(&a, &local));
    CHECK(a.type == cudaMemoryTypeUnregistered);
    OK(cudaHostRegister(&local, sizeof local, 0));
    OK(cudaPointerGetAttributes(&a, &local));
    CHECK(a.type == cudaMemoryTypeHost);
    OK(cudaHostUnregister(&local));

    char host[64] = {0}, back[64] = {0};
    for (int i = 0; i < 64; i++) host[i] = static_cast<char>(i);
    size_t pitch;
    OK(cudaMallocPitch(&p, &pitch, 7, 4));
    OK(cudaMemset2D(p, pitch, 1, 7, 4));
    OK(cudaMemcpy2D(p, pitch, host, 16, 7, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, 8, p, pitch, 7, 4, cudaMemcpyDeviceToHost));
    CHECK(back[0] == 0 && back[6] == 6 && back[7] == 0 && back[8] == 16 && back[30] == 54);
    OK(cudaFree(p));
}

static void test_devices() {
    standin_devices(2);
    int n = 0, v = 0;
    OK(cudaGetDeviceCount(&n));
    CHECK(n == 2);
    float *a, *b, x[4] = {1, 2, 3, 4}, y[4];
    OK(cudaMalloc(&a, 16));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&b, 16));
    OK(cudaMemcpy(a, x, 16, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(b, 1, a, 0, 16));
    OK(cudaMemcpy(y, b, 16, cudaMemcpyDeviceToHost));
    CHECK(y[3] == 4.0f);
    /* A kernel of one device cannot reach the other's memory, until peer access allows it. */
    CHECK(result_of(run(write_at, dim3(1), dim3(1), 0, nullptr, a, 0ll)) == cudaErrorIllegalAddress);
    standin_reset();
    standin_devices(2);
    OK(cudaSetDevice(1));
    OK(cudaDeviceEnablePeerAccess(0, 0));
    CHECK(result_of(run(write_at, dim3(1), dim3(1), 0, nullptr, a, 0ll)) == cudaSuccess);
    OK(cudaDeviceDisablePeerAccess(0));
    OK(cudaFree(a));
    OK(cudaFree(b));
    CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
    standin_devices(0);
    CHECK(cudaGetDeviceCount(&n) == cudaErrorNoDevice && n == 0);
    CHECK(cudaMalloc(&a, 4) == cudaErrorNoDevice);
    standin_driver(cudaErrorSystemDriverMismatch); /* as CUDA does, which cannot be told to forget it */
    CHECK(cudaPeekAtLastError() == cudaErrorSystemDriverMismatch);
    CHECK(cudaGetDeviceCount(&n) == cudaErrorSystemDriverMismatch &&
          cudaMalloc(&a, 4) == cudaErrorSystemDriverMismatch);
    for (int k = 0; k < 2; k++) CHECK(cudaGetLastError() == cudaErrorSystemDriverMismatch);
    OK(cudaRuntimeGetVersion(&n));
    standin_reset();
    (void)cudaGetLastError();
    cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 0));
    CHECK(!strcmp(p.name, "CPU stand-in (no GPU)") && p.major == 9 && p.sharedMemPerBlockOptin == 232448);
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
    CHECK(v == 4);
    int grid = 0, block = 0;
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, vecadd<float>));
    CHECK(block == 1024 && grid == 8);
}

static void test_faults() {
    void *p = nullptr;
    standin_fail("cudaMalloc", 2, cudaErrorMemoryAllocation, STANDIN_ONCE);
    OK(cudaMalloc(&p, 16));
    void *q = p;
    CHECK(cudaMalloc(&q, 16) == cudaErrorMemoryAllocation && q == p);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    OK(cudaFree(p));
    CHECK(standin_failed() == 1);
    standin_fail_clear();
    standin_fail(nullptr, 1, cudaErrorECCUncorrectable, STANDIN_STICKY);
    CHECK(cudaMalloc(&p, 16) == cudaErrorECCUncorrectable);
    CHECK(cudaDeviceSynchronize() == cudaErrorECCUncorrectable);
    standin_reset();
    OK(cudaDeviceSynchronize());
    standin_fail("cudaStreamCreate", 1, cudaErrorUnknown, STANDIN_AFTER | STANDIN_FROM_THEN_ON);
    cudaStream_t s = nullptr, t = nullptr;
    CHECK(cudaStreamCreate(&s) == cudaErrorUnknown && s);
    CHECK(cudaStreamCreate(&t) == cudaErrorUnknown && t);
    standin_reset();
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
    standin_trace_begin();
    OK(cudaMalloc(&p, 16));
    OK(run(write_at, dim3(1), dim3(1), 0, nullptr, static_cast<float *>(p), 0ll));
    OK(cudaFree(p));
    CHECK(standin_trace_count() == 3 && !strcmp(standin_trace_name(1), "cudaLaunchKernelExC"));
    CHECK(standin_calls("cudaLaunchKernelExC") == 1 && standin_launches() == 1);
    standin_reset();
}

static void test_host_threads() {
    std::vector<std::thread> all;
    std::vector<int> good(4);
    for (size_t k = 0; k < good.size(); k++) {
        all.emplace_back([k, &good] {
            float *x = nullptr, y[64];
            bool fine = true;
            for (int round = 0; round < 20; round++) {
                fine = fine && cudaMalloc(&x, 256) == cudaSuccess && cudaMemset(x, 0, 256) == cudaSuccess;
                fine = fine && run(write_at, dim3(1), dim3(1), 0, nullptr, x, static_cast<long long>(k)) == cudaSuccess;
                fine = fine && cudaMemcpy(y, x, 256, cudaMemcpyDeviceToHost) == cudaSuccess && y[k] == 1.0f &&
                       y[9] == 0.0f;
                fine = fine && cudaFree(x) == cudaSuccess;
            }
            good[k] = fine;
        });
    }
    for (std::thread &t : all) t.join();
    CHECK(good[0] && good[1] && good[2] && good[3]);
    const auto seconds_of_a_call = [] {
        const auto from = std::chrono::steady_clock::now();
        int count = 0;
        OK(cudaGetDeviceCount(&count));
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    };
    standin_pause(30000);
    CHECK(seconds_of_a_call() >= 0.03);
    standin_pause(0);
    CHECK(std::min(seconds_of_a_call(), std::min(seconds_of_a_call(), seconds_of_a_call())) < 0.03);
}

/* ---- Planted mistakes: each ends its process with status 1 when the result is wrong ------------------------------ */

static float *device_floats(int n, bool filled) {
    float *p = nullptr;
    std::vector<float> h(static_cast<size_t>(n));
    for (int i = 0; i < n; i++) h[static_cast<size_t>(i)] = static_cast<float>(i + 1);
    cudaMalloc(&p, static_cast<size_t>(n) * 4);
    if (filled) cudaMemcpy(p, h.data(), static_cast<size_t>(n) * 4, cudaMemcpyHostToDevice);
    return p;
}
static int report(cudaError_t e) {
    printf("%s\n", cudaGetErrorName(e));
    return e != cudaSuccess;
}

static int plant_missing_barrier() {
    float *in = device_floats(64, true), *out = device_floats(64, false), h[64];
    if (run(flip<float, 64, false>, dim3(1), dim3(64), 0, nullptr, out, in) != cudaSuccess) return 3;
    if (cudaMemcpy(h, out, 256, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
    cudaFree(in);
    cudaFree(out);
    for (int i = 0; i < 64; i++) {
        if (!(h[i] == static_cast<float>(64 - i))) {
            printf("wrong result\n");
            return 1;
        }
    }
    return 0;
}
static int plant_write_past() {
    float *p = device_floats(5, true);
    int r = report(result_of(run(write_at, dim3(1), dim3(1), 0, nullptr, p, 5ll)));
    standin_leaks(0);
    return r;
}
static int plant_write_past_page() {
    float *p = device_floats(1024, true);
    int r = report(result_of(run(write_at, dim3(1), dim3(1), 0, nullptr, p, 1024ll)));
    standin_leaks(0);
    return r;
}
static int plant_read_past() {
    float *p = device_floats(5, true), *out = device_floats(1, false), h = 0;
    run(sum, dim3(1), dim3(1), 0, nullptr, out, p, 6);
    cudaMemcpy(&h, out, 4, cudaMemcpyDeviceToHost);
    cudaFree(p);
    cudaFree(out);
    if (h != 15.0f) printf("wrong result\n");
    return h != 15.0f;
}
static int plant_uninitialised() {
    float *p = device_floats(8, false), *out = device_floats(1, false), h = 0;
    run(sum, dim3(1), dim3(1), 0, nullptr, out, p, 8);
    cudaMemcpy(&h, out, 4, cudaMemcpyDeviceToHost);
    cudaFree(p);
    cudaFree(out);
    if (h != h) printf("wrong result\n");
    return h != h;
}
static int plant_host_read() {
    volatile float *p = device_floats(8, true);
    return p[2] == 3.0f ? 0 : 1;
}
static int plant_early_reuse() {
    float *pinned, *x = device_floats(8, false), h[8];
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocHost(&pinned, 32);
    for (int i = 0; i < 8; i++) pinned[i] = 1.0f;
    cudaMemcpyAsync(x, pinned, 32, cudaMemcpyHostToDevice, s);
    for (int i = 0; i < 8; i++) pinned[i] = 2.0f; /* the stream has not run yet */
    cudaStreamSynchronize(s);
    cudaMemcpy(h, x, 32, cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFreeHost(pinned);
    cudaStreamDestroy(s);
    if (h[0] != 1.0f) printf("wrong result\n");
    return h[0] != 1.0f;
}
static int plant_missing_synchronisation() {
    float *pinned, *x = device_floats(8, true);
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocHost(&pinned, 32);
    cudaMemcpyAsync(pinned, x, 32, cudaMemcpyDeviceToHost, s);
    float seen = pinned[0];
    cudaStreamSynchronize(s);
    cudaFree(x);
    cudaFreeHost(pinned);
    cudaStreamDestroy(s);
    if (seen != 1.0f) printf("wrong result\n");
    return seen != 1.0f;
}
static int plant_divergent_barrier() {
    int *p = reinterpret_cast<int *>(device_floats(32, false));
    int r = report(result_of(run(divergent, dim3(1), dim3(32), 0, nullptr, p)));
    standin_leaks(0);
    return r;
}
static int plant_lost_context() { /* an exit status of success, and memory that nobody could free */
    int *p = reinterpret_cast<int *>(device_floats(32, false));
    run(divergent, dim3(1), dim3(32), 0, nullptr, p);
    return cudaDeviceSynchronize() == cudaSuccess;
}
static int plant_lost_context_of_nothing() { /* no memory, either */
    run(trap, dim3(1), dim3(1), 0, nullptr, nullptr);
    return cudaDeviceSynchronize() == cudaSuccess;
}
static int plant_not_awaited() { /* the kernel runs when the program has ended */
    run(trap, dim3(1), dim3(1), 0, nullptr, nullptr);
    return 0;
}
static int plant_shared_not_asked_for() {
    float *p = device_floats(64, false);
    int r = report(run(past_shared, dim3(1), dim3(3), 50000, nullptr, p, 1));
    standin_leaks(0);
    return r;
}
static int plant_leak() {
    device_floats(8, false);
    return 0;
}
static int plant_stream_leak() {
    cudaStream_t s;
    cudaStreamCreate(&s);
    return 0;
}
static int plant_double_free() {
    float *p = device_floats(8, false);
    cudaFree(p);
    return report(cudaFree(p));
}
static int plant_use_after_free() {
    float *p = device_floats(8, true);
    cudaFreeAsync(p, nullptr);
    int r = report(result_of(run(write_at, dim3(1), dim3(1), 0, nullptr, p, 0ll)));
    standin_leaks(0);
    return r;
}
static int plant_past_shared() {
    float *p = device_floats(64, false);
    int r = report(result_of(run(past_shared, dim3(1), dim3(3), 12, nullptr, p, 1)));
    standin_leaks(0);
    return r;
}

static int plant_large_array() {
    int *p = reinterpret_cast<int *>(device_floats(1, false));
    int r = report(result_of(run(large_array, dim3(1), dim3(64), 0, nullptr, p, 400 << 10)));
    standin_leaks(0);
    return r;
}

static int plant_division_by_zero() {
    int *p = reinterpret_cast<int *>(device_floats(32, false));
    int r = report(result_of(run(divide, dim3(1), dim3(32), 0, nullptr, p, 5)));
    standin_leaks(0);
    return r;
}

static int plant_assert() {
    int *p = reinterpret_cast<int *>(device_floats(32, false));
    int r = report(result_of(run(asserting, dim3(1), dim3(32), 0, nullptr, p, 31)));
    standin_leaks(0);
    return r;
}
static int plant_assert_on_host() {
    const float *p = device_floats(8, false);
    assert(p == nullptr);
    return 0;
}

static int plant_early_return() { /* said once; nothing else tells */
    int *p = reinterpret_cast<int *>(device_floats(32, false));
    run(leave_together, dim3(2), dim3(32), 0, nullptr, p, 31);
    for (int i = 0; i < 2; i++) run(leave_early, dim3(2), dim3(32), 0, nullptr, p, 31);
    const bool good = cudaDeviceSynchronize() == cudaSuccess && cudaFree(p) == cudaSuccess;
    standin_leaks(0);
    return good ? 0 : printf("an error\n");
}

static int plant_grid(void (*kernel)(int *)) {
    int *p = reinterpret_cast<int *>(device_floats(96, false));
    int r = report(result_of(run_together(kernel, dim3(3), dim3(32), 0, p)));
    standin_leaks(0);
    return r;
}
static int plant_grid_deserter() { return plant_grid(grid_deserter); }
static int plant_grid_divergent() { return plant_grid(grid_divergent); }
static int plant_grid_half_a_block() { return plant_grid(grid_half_a_block); }
static int plant_grid_alone() {
    int *p = reinterpret_cast<int *>(device_floats(32, false));
    int r = report(result_of(run(grid_deserter, dim3(1), dim3(32), 0, nullptr, p)));
    standin_leaks(0);
    return r;
}
static int plant_dependent(int careless, int early) {
    int *p = reinterpret_cast<int *>(device_floats(64, true));
    int r = report(result_of(run_early(dependent, dim3(3), dim3(64), 0, p, careless, early)));
    standin_leaks(0);
    return r;
}
static int plant_no_dependency_wait() { return plant_dependent(0, 0); }
static int plant_one_thread_does_not_wait() { return plant_dependent(63, 0); }
static int plant_early_access() { return plant_dependent(64, 1); }
static int plant_bulk(int fault, int floats) {
    float *in = device_floats(floats, true), *out = device_floats(128, false), h[128];
    int r = report(result_of(run(pipeline, dim3(1), dim3(48), 512, nullptr, out, in, 64, 2, fault)));
    standin_leaks(0);
    if (r) return r;
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 128; i++) {
        if (!(h[i] == static_cast<float>(i / 64 * 64 + 64 - i % 64))) {
            printf("wrong result\n");
            return 1;
        }
    }
    return 0;
}
static int plant_bulk_no_wait() { return plant_bulk(NO_WAIT, 128); }
static int plant_bulk_no_init() { return plant_bulk(NO_INIT, 128); }
static int plant_bulk_twice() { return plant_bulk(TWICE, 128); }
static int plant_bulk_few_bytes() { return plant_bulk(FEW_BYTES, 128); }
static int plant_bulk_many_bytes() { return plant_bulk(MANY_BYTES, 128); }
static int plant_bulk_odd_size() { return plant_bulk(ODD_SIZE, 128); }
static int plant_bulk_past_source() { return plant_bulk(GOOD, 124); }
static int plant_bulk_past_shared() { return plant_bulk(PAST_SHARED, 128); }
static int plant_bulk_not_awaited() { return plant_bulk(NOT_AWAITED, 128); }
static int plant_bulk_overwritten() { return plant_bulk(OVERWRITTEN, 128); }

struct Plant {
    const char *name;
    int (*run)();
    const char *says, *says_asan, *says_tsan; /* NULL: as without */
    const char *place;                        /* what the message says of the line, where it says so */
};
static const Plant plants[] = {
    {"missing-barrier", plant_missing_barrier, "wrong result", nullptr, "data race", nullptr},
    {"write-past-the-end", plant_write_past, "wrote past the allocation of 20 bytes", "use-after-poison", nullptr,
     "in plant_write_past"},
    {"write-past-a-page", plant_write_past_page, "0 bytes past the end of the allocation of 4096 bytes",
     "use-after-poison", nullptr, "in write_at\n"},
    {"read-past-the-end", plant_read_past, "wrong result", "use-after-poison", nullptr, nullptr},
    {"uninitialised", plant_uninitialised, "wrong result", nullptr, nullptr, nullptr},
    {"host-read", plant_host_read, "host code touched device memory", nullptr, nullptr, "in plant_host_read"},
    {"early-reuse", plant_early_reuse, "wrong result", nullptr, nullptr, nullptr},
    {"missing-synchronisation", plant_missing_synchronisation, "wrong result", nullptr, nullptr, nullptr},
    {"divergent-barrier", plant_divergent_barrier, "while", nullptr, nullptr, "launched at "},
    {"lost-context", plant_lost_context, "the context is lost, with all that was in it", nullptr, nullptr, nullptr},
    {"lost-context-of-nothing", plant_lost_context_of_nothing, "the context is lost, with all that was in it", nullptr,
     nullptr, nullptr},
    {"not-awaited", plant_not_awaited, "the context is lost, with all that was in it", nullptr, nullptr, nullptr},
    {"shared-not-asked-for", plant_shared_not_asked_for, "more than 49152 want cudaFuncSetAttribute", nullptr, nullptr,
     nullptr},
    {"leak", plant_leak, "leak: 32 bytes of device memory", nullptr, nullptr, "in plant_leak"},
    {"stream-leak", plant_stream_leak, "leak: 1 streams", nullptr, nullptr, "in plant_stream_leak"},
    {"double-free", plant_double_free, "freed already, by cudaFree", nullptr, nullptr, "in plant_double_free"},
    {"use-after-free", plant_use_after_free, "freed by cudaFreeAsync", "use-after-poison", nullptr, "in write_at\n"},
    {"past-shared", plant_past_shared, "dynamic shared memory", "use-after-poison", nullptr, nullptr},
    {"large-array", plant_large_array, "stack overflow at", nullptr, nullptr, "in large_array"},
#if defined(__x86_64__) /* others go on, as a GPU does */
    {"division-by-zero", plant_division_by_zero, "thread (5,0,0): integer division by zero", "division by zero",
     nullptr, "in divide"},
#endif
    {"assert", plant_assert, "thread (31,0,0): assertion `static_cast<int>(threadIdx.x) < n' failed at ", nullptr,
     nullptr, "in asserting"},
    {"assert-on-host", plant_assert_on_host, "plant_assert_on_host(): Assertion `p == nullptr' failed.", nullptr,
     nullptr, nullptr},
    {"early-return", plant_early_return,
     "1 of 32 threads, thread (31,0,0) among them, have returned before the barrier at ", nullptr, nullptr,
     "early return before 1 barriers; the exit status is 86"},
    {"grid-deserter", plant_grid_deserter, "block (1,0,0) has ended without a barrier", nullptr, nullptr, nullptr},
    {"grid-divergent", plant_grid_divergent, "blocks have come to the grid barrier at", nullptr, nullptr, nullptr},
    {"grid-half-a-block", plant_grid_half_a_block, "while", nullptr, nullptr, nullptr},
    {"grid-alone", plant_grid_alone, "in a launch that is not cooperative", nullptr, nullptr, nullptr},
    {"no-dependency-wait", plant_no_dependency_wait, "ends without standin_dependency_wait()", nullptr, nullptr,
     nullptr},
    {"one-thread-does-not-wait", plant_one_thread_does_not_wait, "thread (63,0,0): ends without", nullptr, nullptr,
     nullptr},
    {"early-access", plant_early_access, ", before standin_dependency_wait()", nullptr, nullptr, nullptr},
    {"bulk-no-wait", plant_bulk_no_wait, "wrong result", nullptr, nullptr, nullptr},
    {"bulk-no-init", plant_bulk_no_init, "is not initialised", nullptr, nullptr, nullptr},
    {"bulk-twice", plant_bulk_twice, "it is an mbarrier already", nullptr, nullptr, nullptr},
    {"bulk-few-bytes", plant_bulk_few_bytes, "16 bytes are expected and not copied", nullptr, nullptr, nullptr},
    {"bulk-many-bytes", plant_bulk_many_bytes, "-16 bytes are expected and not copied", nullptr, nullptr, nullptr},
    {"bulk-odd-size", plant_bulk_odd_size, "multiples of 16 bytes", nullptr, nullptr, nullptr},
    {"bulk-past-source", plant_bulk_past_source, "the source is not inside one allocation", nullptr, nullptr, nullptr},
    {"bulk-past-shared", plant_bulk_past_shared, "the destination is not in the block's shared memory", nullptr,
     nullptr, nullptr},
    {"bulk-not-awaited", plant_bulk_not_awaited, "has landed: nobody waits for it", nullptr, nullptr, nullptr},
    {"bulk-overwritten", plant_bulk_overwritten, "has been overwritten", nullptr, nullptr, nullptr},
};

static void test_plants(const char *engine, const char *order) {
    for (const Plant &p : plants) {
        int ends[2];
        if (pipe(ends)) abort();
        fflush(nullptr);
        pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], 1);
            dup2(ends[1], 2);
            close(ends[0]);
            setenv("CUDA_CPU_ENGINE", engine, 1);
            setenv("CUDA_CPU_ORDER", order, 1);
            execl("/proc/self/exe", "selftest", p.name, static_cast<char *>(nullptr));
            _exit(127);
        }
        close(ends[1]);
        std::string text;
        char buffer[4096];
        for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
        close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        bool threads = !strcmp(engine, "threads");
        const char *says = UNDER_ASAN && p.says_asan              ? p.says_asan
                           : UNDER_TSAN && threads && p.says_tsan ? p.says_tsan
                                                                  : p.says;
        /* Without a sanitiser, operating system threads may happen to run in the order that hides the mistake. */
        if (threads && !UNDER_TSAN && p.says_tsan) continue;
        if (threads && p.run == plant_large_array) continue; /* they have a megabyte of stack */
        bool seen = status != 0 && text.find(says) != std::string::npos;
        if (p.place && says == p.says && text.find("compile with -g") == std::string::npos)
            seen = seen && text.find(p.place) != std::string::npos;
        CHECK(seen);
        if (!seen)
            printf("planted %s (%s, %s): status 0x%x, wanted \"%s\", got:\n%s\n", p.name, engine, order, status, says,
                   text.c_str());
    }
}

/* ---- What it costs ----------------------------------------------------------------------------------------------- */

static double seconds() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
__global__ void shuffles(float *out, int rounds) {
    float v = static_cast<float>(threadIdx.x);
    for (int i = 0; i < rounds; i++) v = __shfl_xor_sync(0xffffffffu, v, 1 + (i & 15));
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void barriers(float *out, int rounds) {
    for (int i = 0; i < rounds; i++) __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
static void __attribute__((noinline)) plain_add(float *c, const float *a, const float *b, long long n) {
    for (long long i = 0; i < n; i++) c[i] = a[i] + b[i];
}
static void measure() {
    const long long n = 1 << 20;
    std::vector<float> x(n, 1.0f), y(n), z(n);
    float *a, *c;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&c, n * 4);
    cudaMemset(a, 0, n * 4);
    double plain = 1e9, kernel = 1e9;
    const char *engine = getenv("CUDA_CPU_ENGINE");
    if (engine && !strcmp(engine, "threads"))
        standin_engine(STANDIN_FIBERS); /* a switch of OS threads is not of interest */
    for (int i = 0; i < 10; i++) {
        double t = seconds();
        plain_add(z.data(), x.data(), y.data(), n);
        plain = std::min(plain, seconds() - t);
        t = seconds();
        run(vecadd<float>, dim3(n / 256), dim3(256), 0, nullptr, c, a, a, n);
        cudaDeviceSynchronize();
        kernel = std::min(kernel, seconds() - t);
    }
    double t = seconds();
    run(shuffles, dim3(16), dim3(256), 0, nullptr, c, 100);
    cudaDeviceSynchronize();
    double shuffle = (seconds() - t) / (16.0 * 256 * 100);
    t = seconds();
    run(barriers, dim3(16), dim3(256), 0, nullptr, c, 100);
    cudaDeviceSynchronize();
    double barrier = (seconds() - t) / (16.0 * 256 * 100);
    printf(
        "vecadd of 2^20: %.2f ns an element as a kernel, %.2f as a loop (%.1f times); shuffle %.0f ns a thread, barrier %.0f ns\n",
        kernel / n * 1e9, plain / n * 1e9, kernel / plain, shuffle * 1e9, barrier * 1e9);
    cudaFree(a);
    cudaFree(c);
}

int main(int count, char **arguments) {
    if (count > 1) {
        for (const Plant &p : plants) {
            if (!strcmp(p.name, arguments[1])) return p.run();
        }
        return 2;
    }
    const char *names[] = {"forward", "reverse", "random"};
    const char *engine = getenv("CUDA_CPU_ENGINE");
    bool both = engine == nullptr;
    for (int order = 0; order < 3; order++) {
        if (both || strcmp(engine, "threads")) test_plants("fibers", names[order]);
    }
    if (UNDER_TSAN || (engine && !strcmp(engine, "threads"))) test_plants("threads", "forward");
    for (int order = 0; order < 3; order++) {
        for (unsigned long long seed = 1; seed <= (order == STANDIN_RANDOM ? 3u : 1u); seed++) {
            void (*const tests[])() = {test_kernels, test_kernel_errors, test_cooperative, test_dependent,
                                       test_bulk,    test_by_address,    test_streams,     test_memory,
                                       test_devices, test_faults,        test_host_threads};
            for (auto test : tests) {
                /* The knobs go back to the environment's at every reset, so the tests that reset run in its order. */
                standin_reset();
                standin_order(order);
                standin_seed(seed);
                test();
            }
        }
    }
    standin_reset();
    CHECK(standin_live_allocations() == 0 && standin_live_bytes() == 0);
    CHECK(standin_live_streams() == 0 && standin_live_events() == 0 && standin_live_graphs() == 0);
    measure();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
