/* SPDX-License-Identifier: MIT Devices without memory pools and without managed memory: the same calls work, or say
 * what is missing. A program of its own because the library asks once what a device can do. */
#include "check.h"

#ifdef GPULITE_CPU_STANDIN
static void test_no_pools(void) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, sum = GPUL_ZERO, counts = GPUL_ZERO;
    static float host[100000], back[100000];
    double total = 0;
    int64_t used = -1, bins[3] = {0, 0, 0};
    gpul_stream s = NULL;
    gpul_device info;
    CHECK_OK(gpul_device_info(&info, 0));
    CHECK_INT(info.has_pools, 0);
    CHECK_INT(info.has_managed, 0);
    for (int i = 0; i < 100000; i++) host[i] = (float)(i % 3);
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_to_device(&a, host, GPUL_F32, gpul_2d(100, 1000), s));
    CHECK_OK(gpul_device_array_like(&b, &a, s));
    CHECK_OK(gpul_vecadd(&b, &a, &a, s));
    CHECK_OK(gpul_device_array(&sum, GPUL_F64, gpul_0d(), s));
    CHECK_OK(gpul_reduce(&sum, &b, GPUL_SUM, GPUL_ALL_AXES, s));
    CHECK_OK(gpul_device_array(&counts, GPUL_I64, gpul_1d(3), s));
    CHECK_OK(gpul_histogram(&counts, &a, 0, 3, s));
    CHECK_OK(gpul_copy_to_host(&total, &sum, s));
    CHECK_OK(gpul_copy_to_host(bins, &counts, s));
    CHECK_OK(gpul_copy_to_host(back, &b, s));
    CHECK_OK(gpul_memory_used(&used, NULL));
    CHECK(used >= 800000);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&b));
    CHECK_OK(gpul_free(&sum));
    CHECK_OK(gpul_free(&counts));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_NEAR(total, 2.0 * (33333.0 + 2 * 33333.0), 0);
    CHECK(bins[0] == 33334 && bins[1] == 33333 && bins[2] == 33333);
    CHECK_NEAR(back[99998], 4, 0);
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_FAILS(gpul_managed_array(&a, GPUL_F32, gpul_1d(10)), GPUL_ERROR_UNSUPPORTED, "gpul_managed_array", NULL);
    CHECK_OK(gpul_memory_trim());
}
/* A graph cannot allocate here: what needs no scratch memory is captured, and the rest is an error, not a graph that
 * uses memory which is there no more. */
static void test_graph(void) {
    gpul_array a = GPUL_ZERO, sum = GPUL_ZERO;
    gpul_stream s = NULL;
    gpul_graph graph = NULL;
    double total = 0;
    gpul_status reduced;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_device_array(&a, GPUL_F32, gpul_1d(100000), NULL));
    CHECK_OK(gpul_device_array(&sum, GPUL_F64, gpul_0d(), NULL));
    CHECK_OK(gpul_graph_begin(s));
    CHECK_OK(gpul_fill(&a, 1, s));
    CHECK_OK(gpul_vecadd(&a, &a, &a, s));
    CHECK_OK(gpul_graph_end(&graph, s));
    CHECK_OK(gpul_graph_launch(graph, s));
    CHECK_OK(gpul_sum(&total, &a, s));
    CHECK_NEAR(total, 200000, 0);
    CHECK_OK(gpul_graph_free(&graph));
    CHECK_OK(gpul_graph_begin(s));
    reduced = gpul_reduce(&sum, &a, GPUL_SUM, GPUL_ALL_AXES, s);
    if (reduced != GPUL_OK) {
        CHECK_FAILS(gpul_graph_end(&graph, s), GPUL_ERROR_CUDA, "gpul_graph_end", "cannot be captured");
    } else {
        CHECK_OK(gpul_graph_end(&graph, s));
        CHECK_OK(gpul_graph_launch(graph, s));
        CHECK_OK(gpul_copy_to_host(&total, &sum, s));
        CHECK_OK(gpul_stream_synchronize(s));
        CHECK_NEAR(total, 200000, 0);
        CHECK_OK(gpul_graph_free(&graph));
    }
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_free(&sum));
    CHECK_OK(gpul_stream_destroy(&s));
}

static void test_limit(void) {
    gpul_array a = GPUL_ZERO;
    CHECK_OK(gpul_memory_limit(1000));
    CHECK_FAILS(gpul_device_array(&a, GPUL_U8, gpul_1d(1001), NULL), GPUL_ERROR_OUT_OF_MEMORY, "gpul_device_array",
                "1001");
    CHECK_OK(gpul_device_array(&a, GPUL_U8, gpul_1d(900), NULL));
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_memory_limit(0));
    standin_memory(1 << 20);
    CHECK_FAILS(gpul_device_array(&a, GPUL_U8, gpul_1d(2 << 20), NULL), GPUL_ERROR_OUT_OF_MEMORY, "gpul_device_array",
                NULL);
    CHECK_OK(gpul_device_array(&a, GPUL_U8, gpul_1d(900000), NULL));
    CHECK_OK(gpul_free(&a));
}
#else
static void test_has_a_device(void) {
    int32_t count = 0;
    CHECK_OK(gpul_device_count(&count));
    CHECK(count > 0);
}
#endif

int main(void) {
    check_begin("nopools");
#ifdef GPULITE_CPU_STANDIN
    standin_pools(0);
    standin_managed(0);
    RUN(test_no_pools);
    RUN(test_graph);
    RUN(test_limit);
#else
    RUN(test_has_a_device);
#endif
    return check_end();
}
