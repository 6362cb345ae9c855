/* SPDX-License-Identifier: MIT */
/* Of NVIDIA's header, the grid of a cooperative launch and the block. */
#ifndef STANDIN_COOPERATIVE_GROUPS_H
#define STANDIN_COOPERATIVE_GROUPS_H

#pragma GCC system_header

#include "cuda_runtime.h"

namespace cooperative_groups {

class thread_block {
  public:
    void sync(STANDIN_AT) const { __syncthreads(file, line); }
    unsigned thread_rank() const { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    unsigned num_threads() const { return blockDim.x * blockDim.y * blockDim.z; }
    unsigned size() const { return num_threads(); }
    dim3 group_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    dim3 thread_index() const { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    dim3 group_dim() const { return blockDim; }
};

class grid_group {
  public:
    typedef unsigned int arrival_token;
    bool is_valid() const { return standin_cooperative() != 0; }
    void sync(STANDIN_AT) const { standin_barrier(4, 0, file, line); }
    arrival_token barrier_arrive(STANDIN_AT) const {
        return static_cast<arrival_token>(standin_barrier(5, 0, file, line));
    }
    void barrier_wait(arrival_token &&token, STANDIN_AT) const {
        standin_barrier(6, static_cast<int>(token), file, line);
    }
    unsigned long long num_blocks() const { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
    unsigned long long block_rank() const {
        return blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z);
    }
    unsigned long long num_threads() const { return num_blocks() * thread_block().num_threads(); }
    unsigned long long size() const { return num_threads(); }
    unsigned long long thread_rank() const {
        return block_rank() * thread_block().num_threads() + thread_block().thread_rank();
    }
    dim3 group_dim() const { return gridDim; }
};

static inline thread_block this_thread_block() { return thread_block(); }
static inline grid_group this_grid() { return grid_group(); }
template <typename Group> static inline void sync(const Group &group, STANDIN_AT) { group.sync(file, line); }

} // namespace cooperative_groups

#endif /* STANDIN_COOPERATIVE_GROUPS_H */
