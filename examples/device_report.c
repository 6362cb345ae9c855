/* SPDX-License-Identifier: MIT
 *
 * What is in this machine, and what gpulite was built for (numba -s, in C). Works with no GPU too: then it says so.
 *
 *     nvcc -arch=native -o device_report examples/device_report.c gpulite_kernels.cu       (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o device_report -x c examples/device_report.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"

#include <stdio.h>
#include <stdlib.h>

/* Seconds for one copy of `bytes` to the device, the best of five. */
static double copy_seconds(gpul_array *device, const void *host) {
    double best = 0;
    for (int i = 0; i < 5; ++i) {
        double seconds = 0;
        gpul_timer timer = GPUL_ZERO;
        GPUL_TIMED(timer, NULL) { GPUL_CHECK(gpul_copy_to_device(device, host, NULL)); }
        GPUL_CHECK(gpul_timer_seconds(&seconds, &timer));
        GPUL_CHECK(gpul_timer_free(&timer));
        if (i == 0 || seconds < best) best = seconds;
    }
    return best;
}

int main(void) {
    /* The report, as snprintf does it: ask for the length, then for the text. */
    size_t length = 0;
    GPUL_CHECK(gpul_report(&length, NULL, 0));
    char *text = (char *)malloc(length + 1);
    if (text == NULL) return 1;
    GPUL_CHECK(gpul_report(NULL, text, length + 1));
    fputs(text, stdout);
    free(text);

    /* The same facts as values, a few of them. */
    int32_t devices = 0, driver = 0, runtime = 0;
    GPUL_CHECK(gpul_device_count(&devices));
    GPUL_CHECK(gpul_cuda_versions(&driver, &runtime)); /* 13010 is 13.1; 0 for a driver that is not there */
    printf("\ndevices: %d, driver for CUDA %d.%d, runtime %d.%d\n", devices, driver / 1000, driver % 1000 / 10,
           runtime / 1000, runtime % 1000 / 10);
    for (int32_t i = 0; i < devices; ++i) {
        gpul_device d = GPUL_ZERO;
        GPUL_CHECK(gpul_device_info(&d, i));
        printf("device %d: %s, capability %d.%d, %d SMs, %.1f of %.1f GiB free\n", i, d.name, d.major, d.minor, d.sms,
               (double)d.free_bytes / 1073741824.0, (double)d.total_bytes / 1073741824.0);
        if (d.standin) {
            puts("          the CPU stand-in: no GPU, no timings");
            continue;
        }

        /* Why pinned memory matters: one copy from each kind of host memory. */
        const int64_t n = 64 << 20;
        gpul_array device = GPUL_ZERO, pinned = GPUL_ZERO;
        void *pageable = calloc((size_t)n, 1);
        if (pageable == NULL) return 1;
        GPUL_CHECK(gpul_device_select(i));
        GPUL_CHECK(gpul_device_array(&device, GPUL_U8, gpul_1d(n), NULL));
        GPUL_CHECK(gpul_pinned_array(&pinned, GPUL_U8, gpul_1d(n)));
        printf("          host to device: %.1f GB/s from pinned memory, %.1f GB/s from pageable\n",
               (double)n / copy_seconds(&device, pinned.data) / 1e9, (double)n / copy_seconds(&device, pageable) / 1e9);
        GPUL_CHECK(gpul_free(&device));
        GPUL_CHECK(gpul_free(&pinned));
        free(pageable);
    }
    return 0;
}
