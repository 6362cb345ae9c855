/* SPDX-License-Identifier: MIT gpul_range_push and gpul_range_pop with GPULITE_NVTX: this file has an implementation of
 * its own that makes ranges. */
#define GPULITE_STATIC
#define GPULITE_NVTX
#define GPULITE_IMPLEMENTATION
#include "check.h"

static void test_nested(void) {
    CHECK_OK(gpul_range_push("load"));
    CHECK_OK(gpul_range_push("parse"));
    CHECK_FAILS(gpul_range_push(NULL), GPUL_ERROR_ARGUMENT, "gpul_range_push", "name is NULL");
#ifdef GPULITE_CPU_STANDIN
    CHECK_INT(standin_ranges(), 2);
    CHECK_STRING(standin_range(0), "load");
    CHECK_STRING(standin_range(1), "parse");
#endif
    gpul_range_pop();
#ifdef GPULITE_CPU_STANDIN
    CHECK_INT(standin_ranges(), 1);
    CHECK_STRING(standin_range(0), "load");
#endif
    gpul_range_pop();
    gpul_range_pop(); /* one too many does nothing */
    CHECK_OK(gpul_range_push("again"));
#ifdef GPULITE_CPU_STANDIN
    CHECK_INT(standin_ranges(), 1);
    CHECK_STRING(standin_range(0), "again");
#endif
    gpul_range_pop();
#ifdef GPULITE_CPU_STANDIN
    CHECK_INT(standin_ranges(), 0);
#endif
}

int main(void) {
    check_begin("ranges");
    RUN(test_nested);
    return check_end();
}
