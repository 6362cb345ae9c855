/* SPDX-License-Identifier: MIT
 *
 * Calls come back before the GPU is done. Here the CPU does the same work meanwhile, looks after each plane how far the
 * GPU is, and waits in the end. The work: heat spreads in a cube, by a kernel over a 3-D grid.
 *
 *     nvcc -arch=native -O3 -o asynchronous examples/asynchronous.cu gpulite_kernels.cu    (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o asynchronous -x c++ examples/asynchronous.cu gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./asynchronous [SIDE]
 *
 * `nsys profile --capture-range=cudaProfilerApi` records what lies between the start and the stop of the profile;
 * compiled with -DGPULITE_NVTX, the range has its name there.
 */
#include <cuda_runtime.h>
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "expect.h"

#include <stdlib.h>
#include <utility>

enum { STEPS = 40, MARKS = 4 };

GPUL_PRINT_AND_EXIT(stop)

/* A point's new heat, for the GPU and for the CPU: beyond the walls it is as hot as at them. Factors are powers of two,
 * so that both round alike. */
template <typename At> static __host__ __device__ double spread(At at, int64_t x, int64_t y, int64_t z, int64_t n) {
    const int64_t last = n - 1;
    const double sides = at(z, y, x > 0 ? x - 1 : x) + at(z, y, x < last ? x + 1 : x) + at(z, y > 0 ? y - 1 : y, x) +
                         at(z, y < last ? y + 1 : y, x) + at(z > 0 ? z - 1 : z, y, x) + at(z < last ? z + 1 : z, y, x);
    return 0.25 * at(z, y, x) + 0.125 * sides;
}
static __global__ void step(gpul_view<double, 3> to, gpul_view<const double, 3> from, int64_t n) {
    GPUL_GRID_STRIDE_3D(x, y, z, n, n, n) { to(z, y, x) = spread(from, x, y, z, n); }
}

struct cube { /* a host array as the kernel sees the device's */
    const double *data;
    int64_t n;
    __host__ __device__ double operator()(int64_t z, int64_t y, int64_t x) const { return data[(z * n + y) * n + x]; }
};

/* The current device. Its number may be another's after the next start; its PCI id and its UUID stay its own. */
static gpul_device current_device(void) {
    gpul_device info;
    int32_t device, by_pci, by_uuid;
    gpul_device_current(&device);
    gpul_device_info(&info, device);
    gpul_device_by_id(&by_pci, info.pci);
    gpul_device_by_id(&by_uuid, info.uuid);
    printf("%s at %s\n", info.name, info.pci);
    expect(by_pci == device && by_uuid == device, "found by its PCI id and by its UUID");
    return info;
}

int main(int argc, char **argv) {
    gpul_on_error(stop);
    const gpul_device gpu = current_device();
    const int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : gpu.standin ? 48 : 160, points = n * n * n;
    const gpul_dim3 block = {32, 4, 2};
    gpul_array heat[2] = {GPUL_ZERO, GPUL_ZERO};
    gpul_stream stream = NULL;
    gpul_event marks[MARKS];
    gpul_timer on_cpu = gpul_host_timer();
    double finished = 0, cpu_seconds = 0;
    int64_t wrong = 0;
    int32_t done = 0, seen = 0;
    if (n < 2 || n > 500) return fprintf(stderr, "usage: asynchronous [SIDE], from 2 to 500\n"), 1;
    double *from = (double *)calloc(size_t(3 * points), sizeof(double)), *to = from + points, *result = to + points;
    if (from == NULL) return fprintf(stderr, "too large for the host\n"), 1;
    from[points / 2 + n / 2] = 1e6;
    gpul_stream_create(&stream, GPUL_STREAM_NON_BLOCKING);
    for (int m = 0; m < MARKS; ++m) gpul_event_create(&marks[m]);
    GPUL_TO_DEVICE(&heat[0], from, gpul_3d(n, n, n));
    gpul_device_array_like(&heat[1], &heat[0], NULL);
    gpul_device_synchronize(); /* the stream does not wait for the default one */

    gpul_profile_start();
    gpul_range_push("heat");
    const double began = gpul_host_seconds();
    for (int s = 0; s < STEPS; ++s) {
        GPUL_LAUNCH(step, gpul_grid_3d(n, n, n, block), block, 0, stream, &heat[(s + 1) % 2], &heat[s % 2], n);
        if ((s + 1) % (STEPS / MARKS) == 0) gpul_event_record(marks[s / (STEPS / MARKS)], stream);
    }
    const double launched = gpul_host_seconds() - began;
    for (int64_t p = 0; p < STEPS * n; ++p) {
        const int64_t z = p % n;
        GPUL_TIMED(on_cpu, NULL) {
            for (int64_t i = 0; i < n * n; ++i) to[z * n * n + i] = spread(cube{from, n}, i % n, i / n, z, n);
        }
        for (; seen < MARKS; ++seen) {
            gpul_event_query(&done, marks[seen]); /* asking does not wait */
            if (!done) break;
            finished = gpul_host_seconds() - began;
            printf("plane %d of the CPU: the GPU has done %d steps\n", int(p + 1), (seen + 1) * STEPS / MARKS);
        }
        if (z == n - 1) std::swap(from, to);
    }
    gpul_event_synchronize(marks[MARKS - 1]); /* now it waits, if the GPU is the slower one */
    if (seen < MARKS) finished = gpul_host_seconds() - began;
    gpul_range_pop();
    gpul_profile_stop();

    gpul_timer_seconds(&cpu_seconds, &on_cpu);
    gpul_stream_query(&done, stream);
    GPUL_TO_HOST(result, &heat[STEPS % 2]);
    for (int64_t i = 0; i < points; ++i) wrong += !(result[i] == from[i]);
    if (!gpu.standin) /* whose times say nothing of a GPU */
        printf("%d kernels: launched after %.0f us, seen done after %.0f us; the same steps on the CPU: %.0f us\n",
               STEPS, 1e6 * launched, 1e6 * finished, 1e6 * cpu_seconds);
    expect(done == 1, "all work of the stream is done");
    expect(wrong == 0, "the same heat on the GPU and on the CPU, to the bit");
    gpul_free_all(&heat[0], &heat[1]);
    for (int m = 0; m < MARKS; ++m) gpul_event_destroy(&marks[m]);
    gpul_stream_destroy(&stream);
    free(result - 2 * points);
    return failures ? 1 : 0;
}
