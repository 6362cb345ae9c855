/* SPDX-License-Identifier: MIT
 * One planted fault for each of compute-sanitizer's tools, named by the argument: the tool must report it. */
#include <cuda_runtime.h>

#include <stdio.h>
#include <string.h>

static __global__ void write_past_the_end(float *x, int n) { x[n + threadIdx.x] = 1; }

static __global__ void no_barrier(float *x) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x];
}

static __global__ void sum_two(const float *in, float *out) { out[0] = in[0] + in[1]; }

/* half of a warp waits for the other half, which is not there */
static __global__ void wrong_half(float *x) {
    if (threadIdx.x < 16) __syncwarp(0xffff0000u);
    x[threadIdx.x] = 1;
}

int main(int argc, char **argv) {
    const char *fault = argc > 1 ? argv[1] : "";
    float *x = NULL, *y = NULL;
    if (cudaMalloc((void **)&x, 64 * sizeof *x) || cudaMalloc((void **)&y, 64 * sizeof *y)) return 2;
    if (strcmp(fault, "initcheck") != 0 && cudaMemset(x, 0, 64 * sizeof *x)) return 2;
    if (strcmp(fault, "memcheck") == 0) write_past_the_end<<<1, 32>>>(x, 64);
    else if (strcmp(fault, "racecheck") == 0) no_barrier<<<1, 64>>>(x);
    else if (strcmp(fault, "initcheck") == 0) sum_two<<<1, 1>>>(x, y);
    else if (strcmp(fault, "synccheck") == 0) wrong_half<<<1, 32>>>(x);
    else return 2;
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
    return 0;
}
