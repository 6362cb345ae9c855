/* SPDX-License-Identifier: MIT
 * The one implementation that all test programs link. */
#define GPULITE_IMPLEMENTATION
#include "gpulite.h"

/* see check.h */
void check_sms(int32_t sms);
void check_emulated_from(int64_t products);

/* what is known about the first device */
static gpul__machine *machine(void) {
    gpul__device_state *state;
    return gpul__device_find("tests", &state, 0) == GPUL_OK ? &state->machine : NULL;
}
void check_sms(int32_t sms) {
    static int32_t found;
    gpul__machine *const m = machine();
    if (m == NULL) return;
    if (found == 0) found = m->sms;
    m->sms = sms > 0 ? sms : found;
}
void check_emulated_from(int64_t products) {
    gpul__machine *const m = machine();
    if (m != NULL) m->emulated_from = products;
}
