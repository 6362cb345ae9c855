/* SPDX-License-Identifier: MIT
 *
 * A counter that threads race for, beside one that they add to atomically.
 *
 *     nvcc -arch=native -o race examples/race.cu gpulite_kernels.cu                        (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o race -x c++ examples/race.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * `*counter += 1` is three steps: read, add, write. Threads that read the same number write the same number, and all
 * but one of their additions are lost. On a GPU most are. The CPU stand-in runs one thread after the other, so there
 * the count comes out right, which is what makes races hard to find: built to watch for them (README.md, "With no
 * GPU"), it names the kernel and the line, and the program's exit status is 86.
 *
 * Numba:   counter[0] += 1   beside   cuda.atomic.add(counter, 0, 1)
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "table.h"

enum { BLOCK = 256 };

static __global__ void count_racing(int *counter, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { *counter += 1; }
}
/* Right, but every thread queues for the same place in memory. */
static __global__ void count_atomically(int *counter, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { atomicAdd(counter, 1); }
}
/* Right, and quick: a thread counts for itself first, and adds once. */
static __global__ void count_then_add(int *counter, int64_t n) {
    int mine = 0;
    GPUL_GRID_STRIDE(i, n) { mine += 1; }
    if (mine > 0) atomicAdd(counter, mine);
}

static int64_t n;
static gpul_array counter;

GPUL_PRINT_AND_EXIT(stop)

static gpul_status racing(void *) {
    gpul_fill(&counter, 0, NULL);
    return GPUL_LAUNCH(count_racing, 512, BLOCK, 0, NULL, &counter, n);
}
static gpul_status atomic(void *) {
    gpul_fill(&counter, 0, NULL);
    return GPUL_LAUNCH(count_atomically, 512, BLOCK, 0, NULL, &counter, n);
}
static gpul_status atomic_once(void *) {
    gpul_fill(&counter, 0, NULL);
    return GPUL_LAUNCH(count_then_add, 512, BLOCK, 0, NULL, &counter, n);
}

/* What a race leaves is anything from one addition to all of them, and no two runs need agree. */
static int right(void *racing) {
    const int64_t first = 0;
    int32_t count = 0;
    gpul_get(&count, &counter, &first, NULL);
    gpul_fill(&counter, -1, NULL);
    if (racing) printf("of %lld additions the racing counter has %d\n", (long long)n, count);
    return racing ? count >= 1 && count <= n : count == n;
}

int main(void) {
    int here = 1;
    gpul_on_error(stop);
    n = on_gpu() ? 10000000 : 3000;
    gpul_device_array(&counter, GPUL_I32, gpul_1d(1), NULL);
    racing(NULL);
    const int ok = right(&here);
    table t = table_of(NULL, right, 0, 0);
    table_head("counting");
    table_row(&t, "an atomic addition for each", atomic);
    table_row(&t, "one for each thread", atomic_once);
    gpul_free(&counter);
    return ok && t.wrong == 0 ? 0 : 1;
}
