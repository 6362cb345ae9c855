/* SPDX-License-Identifier: MIT
 *
 * Out of memory is an answer, no end: the error and what it says, going on after it, and a limit of one's own.
 *
 *     nvcc -arch=native -o out_of_memory examples/out_of_memory.c gpulite_kernels.cu       (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o out_of_memory -x c examples/out_of_memory.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * CuPy:   except cupy.cuda.memory.OutOfMemoryError: ...
 *         cupy.get_default_memory_pool().set_limit(size=64 * 2**20)
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16 };
static const int64_t MiB = 1 << 20;

static double mib(int64_t bytes) { return (double)bytes / (double)MiB; }

/* An array of twice the GPU's memory: no call but this one fails, and nothing is left behind. */
static void too_large(void) {
    gpul_device device = GPUL_ZERO;
    gpul_array a = GPUL_ZERO;
    GPUL_CHECK(gpul_device_info(&device, 0));
    printf("%s has %.0f MiB. An array of twice as much:\n", device.name, mib(device.total_bytes));
    const gpul_status status = gpul_device_array(&a, GPUL_U8, gpul_1d(2 * device.total_bytes), NULL);
    const gpul_error *const error = gpul_last_error(); /* stays until another call of this thread fails */
    printf("%s, %.0f MiB asked for, %.0f MiB free\n%s\n", gpul_status_name(error->status), mib(error->bytes_requested),
           mib(error->bytes_free), error->message);
    expect(status == GPUL_ERROR_OUT_OF_MEMORY && error->bytes_requested == 2 * device.total_bytes, "the call says so");
    expect(a.data == NULL && a.memory == GPUL_MEMORY_NONE, "the array is as it was");
}

/* What a program may do about it: ask for less. (gpulite has given back what it had cached, and tried again, before it
 * failed.) Here the limit makes memory short; it counts what gpulite holds on the current device. */
static void ask_for_less(void) {
    gpul_array a = GPUL_ZERO;
    double sum = 0;
    int64_t n = 256 * MiB, tries = 1;
    printf("\nWith a limit of 64 MiB, %.0f MiB, then halves:\n", mib(n));
    GPUL_CHECK(gpul_memory_limit(64 * MiB));
    while (gpul_device_array(&a, GPUL_U8, gpul_1d(n), NULL) == GPUL_ERROR_OUT_OF_MEMORY && n > 1) n /= 2, ++tries;
    expect(gpul_size(&a) == n && tries == 3, "the third, 64 MiB, is there");
    GPUL_CHECK(gpul_free(&a));
    GPUL_CHECK(gpul_full(&a, GPUL_U8, gpul_1d(MiB), 3, NULL));
    GPUL_CHECK(gpul_sum(&sum, &a, NULL));
    expect(sum == 3.0 * (double)MiB, "and the GPU computes as before");
    GPUL_CHECK(gpul_free(&a));
}

/* Arrays of 16 MiB until there is no more, one less, one more. */
static void fill_up(void) {
    gpul_array a[MOST] = {GPUL_ZERO};
    int count = 0;
    int64_t used = 0, held = 0;
    printf("\nWith the same limit, arrays of 16 MiB:\n");
    while (count < MOST && gpul_device_array(&a[count], GPUL_U8, gpul_1d(16 * MiB), NULL) == GPUL_OK) ++count;
    GPUL_CHECK(gpul_memory_used(&used, &held));
    printf("%s\n", gpul_last_error()->message);
    expect(count == 4 && used == 64 * MiB, "there are four, and gpul_memory_used says 64 MiB");
    gpul_clear_error(); /* the failure is dealt with: gpul_last_error() has nothing to say */
    GPUL_CHECK(gpul_free(&a[0]));
    expect(gpul_device_array(&a[0], GPUL_U8, gpul_1d(16 * MiB), NULL) == GPUL_OK, "one is freed, so another is there");
    for (int i = 0; i < count; ++i) GPUL_CHECK(gpul_free(&a[i]));
    GPUL_CHECK(gpul_memory_used(&used, &held));
    expect(used == 0, "all are freed: nothing is in use");

    /* Freed memory stays with gpulite, which makes the next array cheap. Other programs get it back so: */
    printf("%.0f MiB are kept for later arrays\n", mib(held));
    GPUL_CHECK(gpul_memory_trim());
    GPUL_CHECK(gpul_memory_used(&used, &held));
    expect(held == 0, "after gpul_memory_trim the driver has it all");
    GPUL_CHECK(gpul_memory_limit(0)); /* no limit, as it was; GPULITE_MEMORY_LIMIT=50% sets one from outside */
}

int main(void) {
    too_large();
    ask_for_less();
    fill_up();
    return failures ? 1 : 0;
}
