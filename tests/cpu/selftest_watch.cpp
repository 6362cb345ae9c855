/* SPDX-License-Identifier: MIT */
/*
 * The watched build's own test: kernels with a race, each with its two lines, and kernels without. Each runs in a
 * process of its own (this program again, with its number as the argument), in every order of threads.
 *
 *     g++ -std=c++17 -O1 -g -DSTANDIN_WATCH -I. -c cudart.cpp
 *     g++ -std=c++17 -O1 -g -DSTANDIN_WATCH -fsanitize=thread -I. -c selftest_watch.cpp
 *     g++ selftest_watch.o cudart.o -lpthread -o selftest_watch && ./selftest_watch
 */
#include "cooperative_groups.h"
#include "cuda_runtime.h"
#include "standin.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>

/* The line after it, on which a kernel begins */
#define LINE(name) enum { name = __LINE__ + 1 };

__device__ static int total;

LINE(count_line)
__global__ void count(int *x) { x[0] += 1; }
__global__ void count_atomically(int *x) { atomicAdd(x, 1); }
LINE(count_variable_line)
__global__ void count_variable(int *) { total += 1; }
LINE(last_wins_line)
__global__ void last_wins(int *x) { x[0] = 7; }
__global__ void each_its_own(int *x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 3; k++) x[i] += x[i] + 1;
}
__global__ void each_its_own_byte(int *x) { reinterpret_cast<char *>(x)[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
LINE(same_byte_line)
__global__ void same_byte(int *x) { reinterpret_cast<char *>(x)[(threadIdx.x + 1) / 2] = 1; }
LINE(part_of_vector_line)
__global__ void part_of_vector(int *x) {
    if (threadIdx.x == 0) *reinterpret_cast<int4 *>(x) = int4{1, 2, 3, 4};
    if (threadIdx.x == 40) x[3] = 1;
}
__global__ void all_read(int *x) { x[1 + blockIdx.x * blockDim.x + threadIdx.x] = x[0]; }

LINE(no_barrier_line)
template <bool barrier> __global__ void flip(int *x) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    if (barrier) __syncthreads();
    x[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}
LINE(no_second_barrier_line)
template <bool barrier> __global__ void rounds(int *x) {
    int *tile = static_cast<int *>(standin_dynamic_shared()), sum = 0;
    for (int k = 0; k < 3; k++) {
        tile[threadIdx.x] = k;
        __syncthreads();
        sum += tile[63 - threadIdx.x];
        if (barrier) __syncthreads();
    }
    x[blockIdx.x * 64 + threadIdx.x] = sum;
}
__device__ static int *shared_of_function() {
    __shared__ int place;
    return &place;
}
__global__ void block_after_block(int *x) { /* the same place, but not the same memory */
    if (threadIdx.x == 0) *shared_of_function() = 1;
    __syncthreads();
    x[blockIdx.x * 64 + threadIdx.x] = *shared_of_function();
}

enum { ALL = 0, NONE = 1, HALF = 2, SHUFFLE = 3 };
LINE(warp_line)
template <int how> __global__ void in_a_warp(int *x) {
    __shared__ int tile[64];
    const unsigned t = threadIdx.x, lane = t % 32;
    tile[t] = static_cast<int>(t);
    if (how == ALL) __syncwarp();
    if (how == HALF) __syncwarp(lane < 16 ? 0xffffu : 0xffff0000u);
    if (how == SHUFFLE) (void)__shfl_sync(0xffffffffu, 1, 0);
    x[blockIdx.x * 64 + t] = tile[t ^ 16];
}

LINE(atomic_then_read_line)
__global__ void atomic_then_read(int *x) {
    atomicAdd(x, 1);
    if (threadIdx.x == 63) x[1] = x[0];
}
LINE(last_block_line)
template <int fences> __global__ void last_block(int *x) { /* 0: none, 1: of thread 0, 2: of every thread */
    __shared__ bool last;
    if (threadIdx.x == 40) x[2 + blockIdx.x] = 1;
    if (fences == 2) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        if (fences == 1) __threadfence();
        last = atomicAdd(x, 1) == static_cast<int>(gridDim.x) - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 7)
        for (unsigned i = 0; i < gridDim.x; i++) x[1] += x[2 + i];
}
LINE(lock_line)
template <bool fence> __global__ void locked(int *x) {
    while (atomicCAS(x, 0, 1) != 0) __nanosleep(1);
    x[1]++;
    if (fence) __threadfence();
    atomicExch(x, 0);
}
LINE(grid_line)
template <bool wait> __global__ void together(int *x) {
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    x[i] = 1;
    cooperative_groups::this_grid().sync();
    x[64 * gridDim.x + i] = x[(i + 64) % (64 * gridDim.x)];
    if (wait) cooperative_groups::this_grid().sync();
    x[i] = 2;
}
LINE(mbarrier_line)
template <bool wait> __global__ void by_mbarrier(int *x) {
    __shared__ int tile[64];
    __shared__ unsigned long long ready;
    if (threadIdx.x == 0) standin_barrier_init(&ready, 64);
    __syncthreads();
    tile[threadIdx.x] = 1;
    standin_barrier_arrive(&ready);
    if (wait) standin_barrier_wait(&ready, 0);
    x[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}
LINE(read_past_line)
__global__ void read_past(int *x) { x[0] = x[768 + threadIdx.x]; }
LINE(past_dynamic_line)
__global__ void past_dynamic(int *x) { x[threadIdx.x] = static_cast<int *>(standin_dynamic_shared())[threadIdx.x + 1]; }

struct Case {
    const char *name;
    void (*kernel)(int *);
    unsigned blocks;
    const char *says;  /* "": nothing */
    int first, second; /* the lines, in any order; 0: one is enough */
};
static const Case cases[] = {
    {"count", count, 2, "race: count, block", count_line, 0},
    {"count_atomically", count_atomically, 2, "", 0, 0},
    {"count_variable", count_variable, 2, "race: count_variable, block", count_variable_line, 0},
    {"last_wins", last_wins, 2, "race: last_wins, block", last_wins_line, 0},
    {"each_its_own", each_its_own, 2, "", 0, 0},
    {"each_its_own_byte", each_its_own_byte, 2, "", 0, 0},
    {"same_byte", same_byte, 1, "race: same_byte, block", same_byte_line, 0},
    {"part_of_vector", part_of_vector, 1, "race: part_of_vector, block", part_of_vector_line + 1,
     part_of_vector_line + 2},
    {"all_read", all_read, 2, "", 0, 0},
    {"flip with a barrier", flip<true>, 2, "", 0, 0},
    {"flip without", flip<false>, 2, "race: flip<false>, block", no_barrier_line + 2, no_barrier_line + 4},
    {"rounds with both barriers", rounds<true>, 2, "", 0, 0},
    {"rounds with one", rounds<false>, 2, "race: rounds<false>, block", no_second_barrier_line + 3,
     no_second_barrier_line + 5},
    {"block_after_block", block_after_block, 3, "", 0, 0},
    {"a warp's barrier", in_a_warp<ALL>, 2, "", 0, 0},
    {"no barrier in a warp", in_a_warp<NONE>, 2, "race: in_a_warp<1>, block", warp_line + 3, warp_line + 7},
    {"a barrier of half a warp", in_a_warp<HALF>, 2, "race: in_a_warp<2>, block", warp_line + 3, warp_line + 7},
    {"a shuffle", in_a_warp<SHUFFLE>, 2, "race: in_a_warp<3>, block", warp_line + 3, warp_line + 7},
    {"atomic_then_read", atomic_then_read, 1, "race: atomic_then_read, block", atomic_then_read_line + 1,
     atomic_then_read_line + 2},
    {"last_block without a fence", last_block<0>, 3, "race: last_block<0>, block", last_block_line + 2,
     last_block_line + 11},
    {"last_block with one", last_block<1>, 3, "", 0, 0},
    {"last_block with many", last_block<2>, 3, "", 0, 0},
    {"a lock without a fence", locked<false>, 2, "race: locked<false>, block", lock_line + 2, 0},
    {"a lock with a fence", locked<true>, 2, "", 0, 0},
    {"together with a second barrier", together<true>, 3, "", 0, 0},
    {"together without", together<false>, 3, "race: together<false>, block", grid_line + 4, grid_line + 6},
    {"by_mbarrier", by_mbarrier<true>, 2, "", 0, 0},
    {"by_mbarrier without a wait", by_mbarrier<false>, 2, "race: by_mbarrier<false>, block", mbarrier_line + 5,
     mbarrier_line + 8},
    {"read_past", read_past, 1, "reads 4 bytes at", read_past_line, 0},
    {"past_dynamic", past_dynamic, 1, "reads 4 bytes at byte 256 of 256 of dynamic shared memory", past_dynamic_line,
     0},
};

static int run(const Case &c) {
    int *x;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(c.blocks);
    config.blockDim = dim3(64);
    config.dynamicSmemBytes = 256;
    config.attrs = &attribute;
    config.numAttrs = c.kernel == together<true> || c.kernel == together<false>;
    if (cudaMalloc(&x, 3072) != cudaSuccess || cudaMemset(x, 0, 3072) != cudaSuccess) return 1;
    for (int launches = 0; launches < 2; launches++) /* of one stream: they are ordered */
        if (cudaLaunchKernelEx(&config, c.kernel, x) != cudaSuccess) return 1;
    const cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) printf("%s\n", cudaGetErrorName(e));
    cudaFree(x);
    standin_leaks(0);
    return e != cudaSuccess;
}

static bool names_line(const std::string &text, int line) {
    return !line || text.find("selftest_watch.cpp:" + std::to_string(line) + " in ") != std::string::npos;
}

int main(int count_of_arguments, char **arguments) {
    const int n = sizeof cases / sizeof cases[0];
    int passed = 0, failed = 0;
    if (count_of_arguments > 1) return run(cases[atoi(arguments[1]) % n]);
    const char *const orders[] = {"forward", "reverse", "random"};
    for (int i = 0; i < 3 * n; i++) {
        const Case &c = cases[i % n];
        int ends[2], status = 0;
        if (pipe(ends)) abort();
        fflush(nullptr);
        pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], 1);
            dup2(ends[1], 2);
            close(ends[0]);
            setenv("CUDA_CPU_ORDER", orders[i / n], 1);
            execl("/proc/self/exe", "selftest_watch", std::to_string(i % n).c_str(), static_cast<char *>(nullptr));
            _exit(127);
        }
        close(ends[1]);
        std::string text;
        char buffer[4096];
        for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<size_t>(got));
        close(ends[0]);
        waitpid(child, &status, 0);
        bool good = *c.says ? status != 0 && text.find(c.says) != std::string::npos && names_line(text, c.first) &&
                                  names_line(text, c.second)
                            : status == 0 && text.empty();
        (good ? passed : failed)++;
        if (!good)
            printf("%s (%s): status 0x%x, wanted \"%s\", got:\n%s\n", c.name, orders[i / n], status, c.says,
                   text.c_str());
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
