/* SPDX-License-Identifier: MIT
 * gpul_full, gpul_zeros, gpul_clone, gpul_free_all, the macros that take the dtype from the pointer, gpul_allclose and
 * gpul_print. */
#include "check.h"

/* ---- made with something in them ---- */

static void test_full(void) {
    static const double values[] = {0, 3, -0.1, 255};
    gpul_stream s = NULL;
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    for (int t = 0; t < 7; t++)
        for (int v = 0; v < COUNT_OF(values); v++)
            for (int64_t n = 0; n < 3000; n = 3 * n + 1) {
                const gpul_dtype dtype = all_dtypes[t];
                gpul_array a = GPUL_ZERO, want = GPUL_ZERO;
                unsigned char got[8 * 3000], reference[8 * 3000];
                const gpul_stream stream = n % 2 ? s : NULL;
                if (!is_float(dtype) && values[v] < 0) {
                    CHECK_FAILS(gpul_full(&a, dtype, gpul_1d(n), values[v], stream), GPUL_ERROR_ARGUMENT, "gpul_full",
                                "value");
                    CHECK_BYTES(&a, &want, sizeof a);
                    continue;
                }
                if (values[v] == 0) CHECK_OK(gpul_zeros(&a, dtype, gpul_1d(n), stream));
                else CHECK_OK(gpul_full(&a, dtype, gpul_1d(n), values[v], stream));
                CHECK(a.ndim == 1 && a.shape[0] == n && a.dtype == dtype && a.memory == GPUL_MEMORY_DEVICE);
                CHECK(a.stream == stream && (a.data == NULL) == (n == 0));
                CHECK_OK(gpul_device_array(&want, dtype, gpul_1d(n), stream));
                CHECK_OK(gpul_fill(&want, values[v], stream));
                CHECK_OK(gpul_copy_to_host(got, &a, stream));
                CHECK_OK(gpul_copy_to_host(reference, &want, stream));
                CHECK_OK(gpul_stream_synchronize(stream));
                CHECK_BYTES(got, reference, (size_t)n * gpul_dtype_size(dtype));
                CHECK_OK(gpul_free_all(&a, &want));
            }
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_FAILS(gpul_zeros(NULL, GPUL_F32, gpul_1d(3), NULL), GPUL_ERROR_ARGUMENT, "gpul_zeros", "out");
    {
        gpul_array a = GPUL_ZERO;
        CHECK_FAILS(gpul_zeros(&a, 77, gpul_1d(3), NULL), GPUL_ERROR_DTYPE, "gpul_zeros", "77");
        CHECK_FAILS(gpul_full(&a, GPUL_F32, gpul_1d(-3), 1, NULL), GPUL_ERROR_SHAPE, "gpul_full", "-3");
    }
}

static void test_clone(void) {
    for (int layout = 0; layout < LAYOUTS; layout++) {
        box b;
        gpul_array copy = GPUL_ZERO;
        gpul_difference d;
        box_2d(&b, GPUL_I32, 17, 23, layout, 1, FILL_NAN);
        box_random(&b, 0);
        CHECK_OK(gpul_clone(&copy, &b.view, NULL));
        CHECK(copy.owned && copy.data != b.view.data && copy.dtype == GPUL_I32);
        CHECK(gpul_is_contiguous(&copy, GPUL_ORDER_C) || gpul_is_contiguous(&copy, GPUL_ORDER_F));
        CHECK_OK(gpul_allclose(&d, &copy, &b.view, 0, 0, NULL));
        CHECK_INT(d.count, 0);
        BOX_UNCHANGED(&b);
        CHECK_OK(gpul_free(&copy));
        box_free(&b);
    }
    { /* of host memory, of nothing, of no dimensions */
        gpul_array pinned = GPUL_ZERO, empty = GPUL_ZERO, copy = GPUL_ZERO;
        float back = 0;
        CHECK_OK(gpul_pinned_array(&pinned, GPUL_F32, gpul_0d()));
        *(float *)pinned.data = 7;
        CHECK_OK(gpul_clone(&copy, &pinned, NULL));
        CHECK(copy.memory == GPUL_MEMORY_DEVICE && copy.ndim == 0);
        CHECK_OK(GPUL_TO_HOST(&back, &copy));
        CHECK_NEAR(back, 7, 0);
        CHECK_OK(gpul_free(&copy));
        CHECK_OK(gpul_device_array(&empty, GPUL_F32, gpul_2d(0, 5), NULL));
        CHECK_OK(gpul_clone(&copy, &empty, NULL));
        CHECK(copy.memory == GPUL_MEMORY_DEVICE && copy.shape[1] == 5 && copy.data == NULL);
        CHECK_OK(gpul_free_all(&copy, &pinned, &empty));
        CHECK_FAILS(gpul_clone(&copy, &empty, NULL), GPUL_ERROR_ARGUMENT, "gpul_clone", "a was never made");
        CHECK_FAILS(gpul_clone(NULL, &empty, NULL), GPUL_ERROR_ARGUMENT, "gpul_clone", "out");
    }
}

static void test_free_all(void) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, view = GPUL_ZERO, zero = GPUL_ZERO;
    gpul_array *const many[3] = {&a, NULL, &b};
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(10), NULL));
    CHECK_OK(gpul_pinned_array(&b, GPUL_F32, gpul_1d(10)));
    CHECK_OK(gpul_slice(&view, &a, 0, 2, 5, 1));
    CHECK_OK(gpul_free_all(&view, &a, &b));
    CHECK_BYTES(&a, &zero, sizeof a);
    CHECK_BYTES(&b, &zero, sizeof a);
    CHECK_BYTES(&view, &zero, sizeof a);
    CHECK_OK(gpul_free_all(&a)); /* one, and again */
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(10), NULL));
    CHECK_OK(gpul_zeros(&b, GPUL_F32, gpul_1d(10), NULL));
    CHECK_OK(gpul_free_arrays(many, 3));
    CHECK_OK(gpul_free_arrays(NULL, 0));
    CHECK_FAILS(gpul_free_arrays(NULL, 2), GPUL_ERROR_ARGUMENT, "gpul_free_arrays", "arrays");
#ifdef GPULITE_CPU_STANDIN
    CHECK_OK(gpul_pinned_array(&a, GPUL_F32, gpul_1d(10)));
    CHECK_OK(gpul_pinned_array(&b, GPUL_F32, gpul_1d(10)));
    standin_fail("cudaFreeHost", 1, cudaErrorUnknown, STANDIN_ONCE | STANDIN_AFTER);
    standin_fail("cudaFreeHost", 1, cudaErrorInvalidConfiguration, STANDIN_ONCE | STANDIN_AFTER);
    CHECK_FAILS(gpul_free_all(&a, &b), GPUL_ERROR_CUDA, "gpul_free_arrays", "cudaErrorUnknown"); /* the first */
    CHECK_INT(standin_failed(), 2);
    standin_fail_clear();
    CHECK_BYTES(&b, &zero, sizeof b);
#endif
}

static void test_pointers(void) {
    float f32[4] = {1, 2, 3, 4}, *const pf = f32;
    const double f64[4] = {1, 2, 3, 4};
    const int32_t i32[4] = {1, 2, 3, 4};
    int64_t i64[4] = {1, 2, 3, 4};
    uint8_t u8[4] = {1, 2, 3, 4};
    const long long wide[1] = {1};
    gpul_stream s = NULL;
    gpul_array a = GPUL_ZERO;
    double back[4] = {0, 0, 0, 0};
    CHECK_INT(GPUL_DTYPE_OF(f32), GPUL_F32);
    CHECK_INT(GPUL_DTYPE_OF(pf + 1), GPUL_F32);
    CHECK_INT(GPUL_DTYPE_OF((const float *)f32), GPUL_F32);
    CHECK_INT(GPUL_DTYPE_OF(f64), GPUL_F64);
    CHECK_INT(GPUL_DTYPE_OF(back), GPUL_F64);
    CHECK_INT(GPUL_DTYPE_OF(i32), GPUL_I32);
    CHECK_INT(GPUL_DTYPE_OF(i64), GPUL_I64);
    CHECK_INT(GPUL_DTYPE_OF((const int64_t *)i64), GPUL_I64);
    CHECK_INT(GPUL_DTYPE_OF(wide), GPUL_I64);
    CHECK_INT(GPUL_DTYPE_OF(u8), GPUL_U8);
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(GPUL_TO_DEVICE(&a, f64, gpul_2d(2, 2)));
    CHECK(a.dtype == GPUL_F64 && a.ndim == 2 && a.stream == NULL);
    CHECK_OK(GPUL_TO_HOST(back, &a));
    CHECK_BYTES(back, f64, sizeof back);
    CHECK_FAILS(GPUL_TO_HOST(f32, &a), GPUL_ERROR_DTYPE, "gpul_to_host",
                "host holds float32, but src is float64 (2, 2)");
    CHECK_NEAR(f32[3], 4, 0);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(GPUL_TO_DEVICE(&a, i64, gpul_1d(4), s));
    CHECK(a.dtype == GPUL_I64 && a.stream == s);
    memset(i64, 0, sizeof i64);
    CHECK_OK(GPUL_TO_HOST(i64, &a, s));
    CHECK_OK(gpul_stream_synchronize(s));
    CHECK_INT(i64[3], 4);
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_stream_destroy(&s));
    CHECK_FAILS(gpul_to_host(back, GPUL_F64, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_to_host", "src");
    CHECK_OK(GPUL_TO_DEVICE(&a, f32, gpul_1d(4)));
    CHECK_FAILS(gpul_to_host(NULL, GPUL_F32, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_to_host", "host");
    CHECK_FAILS(gpul_to_host(back, 0, &a, NULL), GPUL_ERROR_DTYPE, "gpul_to_host", "dtype = 0");
    CHECK_OK(gpul_free(&a));
}

/* ---- comparing ---- */

static void compare_boxes(gpul_dtype ta, gpul_dtype tb, int32_t ndim, const int64_t *shape, int layout, double rtol,
                          double atol) {
    box a, b;
    gpul_difference got, want = GPUL_ZERO;
    double worst = -1;
    box_make(&a, ta, ndim, shape, layout, 0, FILL_NAN);
    box_make(&b, tb, ndim, shape, (layout * 5 + 2) % LAYOUTS, 1, FILL_NAN);
    box_random(&a, 1);
    for (int64_t i = 0; i < b.n; i++) box_put(&b, i, rng_below(20) ? box_get(&a, i) : num_random(tb, 1));
    box_upload(&b);
    for (int64_t i = 0; i < a.n; i++) {
        const double x = box_get(&a, i).f, y = box_get(&b, i).f, distance = fabs(x - y);
        int64_t rest = i;
        if (distance <= atol + rtol * fabs(y)) continue;
        for (int k = ndim - 1; k >= 0; k--) {
            if (want.count == 0) want.first[k] = rest % shape[k];
            if (distance > worst) want.worst[k] = rest % shape[k];
            rest /= shape[k];
        }
        if (want.count++ == 0) {
            want.first_a = x;
            want.first_b = y;
        }
        if (distance > worst) {
            worst = distance;
            want.worst_a = x;
            want.worst_b = y;
        }
    }
    memset(&got, 0xEE, sizeof got);
    CHECK_OK(gpul_allclose(&got, &a.view, &b.view, rtol, atol, NULL));
    CHECK_BYTES(&got, &want, sizeof got);
    BOX_UNCHANGED(&a);
    BOX_UNCHANGED(&b);
    box_free(&a);
    box_free(&b);
}

static void test_allclose(void) {
    static const int64_t shapes[][4] = {{1, 1, 1, 1},      {7, 1, 1, 1},     {1000, 1, 1, 1},   {30, 40, 1, 1},
                                        {3, 1, 50, 1},     {2, 3, 4, 5},     {140001, 1, 1, 1}, {3, 140001, 1, 1},
                                        {300, 1000, 1, 1}, {2, 2, 70000, 1}, {1, 3, 2, 50000},  {70000, 2, 2, 1}};
    for (int i = 0; i < COUNT_OF(shapes); i++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            const int small = shape_product(4, shapes[i]) < 5000;
            int32_t ndim = 4;
            while (ndim > 1 && shapes[i][ndim - 1] == 1) ndim--;
            if ((!small && layout % 3 != i % 3) || left_out(i * LAYOUTS + layout)) continue;
            compare_boxes(GPUL_F32, GPUL_F64, ndim, shapes[i], layout, 0, 0);
            if (!small) continue;
            compare_boxes(GPUL_I64, GPUL_I64, ndim, shapes[i], layout, 0.5, 1);
            compare_boxes(GPUL_BF16, GPUL_I32, ndim, shapes[i], layout, 0, 3);
            compare_boxes(GPUL_F16, GPUL_U8, ndim, shapes[i], layout, 0.25, 0);
        }
}

/* A single difference, far from the start of arrays that pass through the host in parts */
static void test_late_difference(void) {
    const int64_t shape[3] = {3, 2, 70001}, at[3] = {2, 1, 69999};
    const float one = 1;
    for (int layout = 0; layout < 2; layout++) { /* both; then one that is column-major */
        gpul_array a = GPUL_ZERO, b = GPUL_ZERO, turned = GPUL_ZERO;
        gpul_difference d;
        CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_3d(3, 2, 70001), NULL));
        CHECK_OK(gpul_zeros(&turned, GPUL_F32, layout ? gpul_3d(70001, 2, 3) : gpul_3d(3, 2, 70001), NULL));
        if (layout) CHECK_OK(gpul_transpose(&b, &turned));
        else CHECK_OK(gpul_reshape(&b, &turned, shape_of(3, shape)));
        CHECK_OK(gpul_set(&b, at, &one, NULL));
        CHECK_OK(gpul_allclose(&d, &a, &b, 0.5, 0, NULL));
        CHECK_INT(d.count, 1);
        CHECK_BYTES(d.first, at, sizeof at);
        CHECK_BYTES(d.worst, at, sizeof at);
        CHECK(d.first_a == 0 && d.first_b == 1);
        CHECK_OK(gpul_free_all(&a, &turned));
    }
}

/* numpy.isclose, element by element */
static void test_close_values(void) {
    static const struct {
        double a, b, rtol, atol;
        int close;
    } cases[] = {{1, 1, 0, 0, 1},
                 {1, 1.5, 0, 0.5, 1},
                 {1, 1.5, 0, 0.49, 0},
                 {2, 1, 1, 0, 1},
                 {1, 2, 0.5, 0, 1},
                 {2, 1, 0.5, 0, 0}, /* relative to b */
                 {-2, -1, 1, 0, 1},
                 {NAN, NAN, 1, 1, 0},
                 {NAN, 1, 1, 1, 0},
                 {1, NAN, 1, 1, 0},
                 {INFINITY, INFINITY, 0, 0, 1},
                 {-INFINITY, INFINITY, 1, 1, 0},
                 {INFINITY, 1, 1, 1, 0},
                 {1, INFINITY, 1, 1, 0},
                 {1, 2, INFINITY, 0, 1},
                 {0.0, -0.0, 0, 0, 1},
                 {1e308, -1e308, 0, 1e308, 0}};
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, other = GPUL_ZERO;
    gpul_difference d;
    CHECK_OK(gpul_zeros(&a, GPUL_F64, gpul_1d(5), NULL));
    CHECK_OK(gpul_zeros(&b, GPUL_F64, gpul_1d(5), NULL));
    for (int i = 0; i < COUNT_OF(cases); i++) {
        const int64_t at[1] = {3};
        CHECK_OK(gpul_set(&a, at, &cases[i].a, NULL));
        CHECK_OK(gpul_set(&b, at, &cases[i].b, NULL));
        CHECK_OK(gpul_allclose(&d, &a, &b, cases[i].rtol, cases[i].atol, NULL));
        if (d.count != !cases[i].close) FAIL("%g and %g: case %d", cases[i].a, cases[i].b, i);
        else check_pass();
        CHECK_INT(d.first[0], cases[i].close ? 0 : 3);
    }
    { /* NaN is the worst, the first of them; else the largest, the first of equals */
        double x[5] = {1, 5, NAN, 9, NAN}, y[5] = {0, 0, 0, 0, 0};
        CHECK_OK(gpul_copy_to_device(&a, x, NULL));
        CHECK_OK(gpul_copy_to_device(&b, y, NULL));
        CHECK_OK(gpul_allclose(&d, &a, &b, 0, 2, NULL));
        CHECK(d.count == 4 && d.first[0] == 1 && d.worst[0] == 2 && d.worst_a != d.worst_a && d.first_a == 5);
        x[2] = -9;
        x[4] = 9;
        CHECK_OK(gpul_copy_to_device(&a, x, NULL));
        CHECK_OK(gpul_allclose(&d, &a, &b, 0, 2, NULL));
        CHECK(d.count == 4 && d.worst[0] == 2 && d.worst_a == -9 && d.worst_b == 0);
    }
    { /* int64 beyond doubles */
        const int64_t x[1] = {INT64_MAX}, y[1] = {INT64_MAX - 1}, z[1] = {INT64_MIN};
        gpul_array one = GPUL_ZERO, two = GPUL_ZERO;
        CHECK_OK(GPUL_TO_DEVICE(&one, x, gpul_1d(1)));
        CHECK_OK(GPUL_TO_DEVICE(&two, y, gpul_1d(1)));
        CHECK_OK(gpul_allclose(&d, &one, &two, 0, 0, NULL));
        CHECK_INT(d.count, 1);
        CHECK_OK(gpul_allclose(&d, &one, &two, 0, 1, NULL));
        CHECK_INT(d.count, 0);
        CHECK_OK(gpul_copy_to_device(&two, z, NULL));
        CHECK_OK(gpul_allclose(&d, &one, &two, 0, 1.8e19, NULL));
        CHECK_INT(d.count, 1);
        CHECK_OK(gpul_allclose(&d, &one, &two, 0, 1.9e19, NULL));
        CHECK_INT(d.count, 0);
        CHECK_OK(gpul_free_all(&one, &two));
    }
    CHECK_OK(gpul_zeros(&other, GPUL_F64, gpul_2d(5, 1), NULL));
    CHECK_FAILS(gpul_allclose(&d, &a, &other, 0, 0, NULL), GPUL_ERROR_SHAPE, "gpul_allclose", "float64 (5, 1)");
    CHECK_FAILS(gpul_allclose(NULL, &a, &b, 0, 0, NULL), GPUL_ERROR_ARGUMENT, "gpul_allclose", "result");
    CHECK_FAILS(gpul_allclose(&d, NULL, &b, 0, 0, NULL), GPUL_ERROR_ARGUMENT, "gpul_allclose", "a is NULL");
    CHECK_FAILS(gpul_allclose(&d, &a, NULL, 0, 0, NULL), GPUL_ERROR_ARGUMENT, "gpul_allclose", "b is NULL");
    CHECK_FAILS(gpul_allclose(&d, &a, &b, -1, 0, NULL), GPUL_ERROR_ARGUMENT, "gpul_allclose", "rtol = -1");
    CHECK_FAILS(gpul_allclose(&d, &a, &b, 0, NAN, NULL), GPUL_ERROR_ARGUMENT, "gpul_allclose", "atol = ");
    CHECK_OK(gpul_free_all(&a, &b, &other));
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_2d(0, 5), NULL));
    CHECK_OK(gpul_allclose(&d, &a, &a, 0, 0, NULL));
    CHECK_INT(d.count, 0);
    CHECK_OK(gpul_free(&a));
    { /* in the order of a stream, whose work comes first */
        gpul_stream s = NULL;
        CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_full(&a, GPUL_F32, gpul_1d(1000), 1, s));
        CHECK_OK(gpul_full(&b, GPUL_F32, gpul_1d(1000), 1, s));
        CHECK_OK(gpul_allclose(&d, &a, &b, 0, 0, s));
        CHECK_INT(d.count, 0);
        CHECK_OK(gpul_fill(&b, 2, s));
        CHECK_OK(gpul_allclose(&d, &a, &b, 0, 0, s));
        CHECK_INT(d.count, 1000);
#ifdef GPULITE_CPU_STANDIN
        { /* it waits for that stream alone, and disturbs no capture of this thread's */
            gpul_stream busy = NULL;
            gpul_graph graph = NULL;
            int32_t done = -1;
            CHECK_OK(gpul_stream_create(&busy, GPUL_STREAM_NON_BLOCKING));
            CHECK_OK(gpul_fill(&b, 3, busy));
            CHECK_OK(gpul_allclose(&d, &a, &a, 0, 0, s));
            CHECK(cudaStreamQuery(busy) == cudaErrorNotReady);
            (void)cudaGetLastError();
            CHECK_OK(gpul_stream_synchronize(busy));
            CHECK_OK(gpul_graph_begin(busy));
            CHECK_OK(gpul_fill(&b, 1, busy));
            CHECK_OK(gpul_allclose(&d, &a, &b, 0, 0, s));
            CHECK_INT(d.count, 1000);
            CHECK_OK(gpul_graph_end(&graph, busy));
            CHECK_OK(gpul_graph_free(&graph));
            CHECK_OK(gpul_stream_query(&done, busy));
            CHECK_OK(gpul_stream_destroy(&busy));
        }
#endif
        CHECK_OK(gpul_free_all(&a, &b));
        CHECK_OK(gpul_stream_destroy(&s));
    }
}

/* ---- printing ---- */

/* str(array) of NumPy, for the cases of tests/data/make.py, in every layout */
static void test_numpy(void) {
    static unsigned char data[16384];
    static char want[16384], got[16384];
    FILE *f = open_data("print.bin", "rb");
    int32_t head[2]; /* dtype, ndim */
    int cases = 0;
    while (f && fread(head, sizeof head, 1, f) == 1) {
        const size_t element = gpul_dtype_size(head[0]);
        int64_t shape[4], sizes[2]; /* bytes of the data, and of the text */
        size_t length = 0;
        if (fread(shape, sizeof shape, 1, f) != 1 || fread(&sizes[1], sizeof sizes[1], 1, f) != 1) break;
        sizes[0] = shape_product(head[1], shape) * (int64_t)element;
        if (sizes[0] > (int64_t)sizeof data || sizes[1] > (int64_t)sizeof want - 8) break;
        if (fread(data, 1, (size_t)((sizes[0] + 7) / 8 * 8), f) < (size_t)sizes[0]) break;
        if (fread(want, 1, (size_t)((sizes[1] + 7) / 8 * 8), f) < (size_t)sizes[1]) break;
        want[sizes[1]] = 0;
        for (int layout = 0; layout < LAYOUTS; layout++) {
            box b;
            box_make(&b, head[0], head[1], shape, layout, layout, FILL_NAN);
            for (int64_t i = 0; i < b.n; i++) memcpy(b.image + box_at(&b, i), data + i * (int64_t)element, element);
            box_upload(&b);
            CHECK_OK(gpul_print(&length, got, sizeof got, &b.view, NULL));
            CHECK_STRING(got, want);
            CHECK_INT(length, sizes[1]);
            box_free(&b);
        }
        cases++;
    }
    if (f) fclose(f);
    CHECK_INT(cases, 314);
}

/* The macro of programs, with what it prints kept */
static char printed[800];
static int keep(const char *line) {
    const size_t n = strlen(line) < sizeof printed ? strlen(line) : sizeof printed - 1;
    memcpy(printed, line, n);
    printed[n] = 0;
    return 0;
}
static void test_print_macro(void) {
    const float x[3] = {1, 2.5f, -3};
    gpul_array a = GPUL_ZERO, wide = GPUL_ZERO;
    CHECK_OK(GPUL_TO_DEVICE(&a, x, gpul_1d(3)));
#define puts keep
    GPUL_PRINT(&a);
    CHECK_STRING(printed, "[ 1.   2.5 -3. ]");
    {
        gpul_stream s = NULL; /* after the stream's work */
        CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_fill(&a, 8, s));
        GPUL_PRINT(&a, s);
        CHECK_STRING(printed, "[8. 8. 8.]");
        CHECK_OK(gpul_stream_destroy(&s));
    }
    CHECK_OK(gpul_free(&a));
    if (a.data == NULL) /* a statement of its own, as a call is */
#define fprintf(file, ...) (CHECK((file) == stderr), snprintf(printed, sizeof printed, __VA_ARGS__))
        GPUL_PRINT(&a);
    else CHECK(0);
    CHECK(strstr(printed, "test_convenience.c:") != NULL && strstr(printed, ": gpul_print: a was never made") != NULL);
#undef fprintf
#undef puts
    for (int k = 0; k < 2; k++) { /* the longest that is ever shown is not cut */
        char text[32768] = "";
        size_t length = 0;
        CHECK_OK(gpul_full(&wide, k ? GPUL_F64 : GPUL_I64, gpul_4d(7, 7, 7, 7), k ? -1.23456789e-100 : -0x1p63, NULL));
        CHECK_OK(gpul_print(&length, text, sizeof text, &wide, NULL));
        CHECK(length > 20000 && length < sizeof text);
        CHECK_OK(gpul_free(&wide));
    }
}
static void test_print_calls(void) {
    const float x[3] = {1, 2.5f, -3};
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO;
    gpul_stream s = NULL;
    char text[64], cut[8] = "unused", rest = 'r';
    size_t length = 0, again = 0;
    CHECK_OK(GPUL_TO_DEVICE(&a, x, gpul_1d(3)));
    CHECK_OK(gpul_print(&length, NULL, 0, &a, NULL));
    CHECK_INT(length, strlen("[ 1.   2.5 -3. ]"));
    CHECK_OK(gpul_print(&again, text, sizeof text, &a, NULL));
    CHECK_STRING(text, "[ 1.   2.5 -3. ]");
    CHECK_INT(again, length);
    CHECK_OK(gpul_print(NULL, cut, sizeof cut, &a, NULL));
    CHECK_STRING(cut, "[ 1.   ");
    CHECK_OK(gpul_print(NULL, &rest, 1, &a, NULL));
    CHECK_INT(rest, 0);
    CHECK_FAILS(gpul_print(NULL, NULL, 5, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_print", "text");
    CHECK_FAILS(gpul_print(&again, text, sizeof text, NULL, NULL), GPUL_ERROR_ARGUMENT, "gpul_print", "a is NULL");
    CHECK_FAILS(gpul_print(&again, text, sizeof text, &b, NULL), GPUL_ERROR_ARGUMENT, "gpul_print", "never made");
    CHECK_STRING(text, "[ 1.   2.5 -3. ]");
    CHECK_OK(gpul_free(&a));
    { /* bfloat16, with as many digits as tell it from its neighbours; pinned memory; a stream's order */
        CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
        CHECK_OK(gpul_pinned_array(&b, GPUL_BF16, gpul_1d(3)));
        ((uint16_t *)b.data)[0] = gpul_bf16_from_float(0.1f);
        ((uint16_t *)b.data)[1] = gpul_bf16_from_float(-3.14159f);
        ((uint16_t *)b.data)[2] = gpul_bf16_from_float(10);
        CHECK_OK(gpul_print(NULL, text, sizeof text, &b, s));
        CHECK_STRING(text, "[ 0.1  -3.14 10.  ]");
        ((uint16_t *)b.data)[0] = gpul_bf16_from_float(99.5f);
        CHECK_OK(gpul_print(NULL, text, sizeof text, &b, s));
        CHECK_STRING(text, "[99.5  -3.14 10.  ]");
        ((uint16_t *)b.data)[0] = gpul_bf16_from_float(100);
        CHECK_OK(gpul_print(NULL, text, sizeof text, &b, s));
        CHECK_STRING(text, "[ 1.00e+02 -3.14e+00  1.00e+01]");
        CHECK_OK(gpul_free(&b));
        CHECK_OK(gpul_full(&a, GPUL_I32, gpul_1d(2000), 7, s));
        CHECK_OK(gpul_print(NULL, text, sizeof text, &a, s));
        CHECK_STRING(text, "[7 7 7 ... 7 7 7]");
        CHECK_OK(gpul_free(&a));
        CHECK_OK(gpul_stream_destroy(&s));
    }
}

/* What waits cannot be captured, and the capture goes on. */
static void test_captured(void) {
    gpul_array a = GPUL_ZERO;
    gpul_difference d = GPUL_ZERO, before = GPUL_ZERO;
    gpul_stream s = NULL;
    cudaGraph_t graph = NULL;
    char text[8] = "unused";
    CHECK_OK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    CHECK_OK(gpul_zeros(&a, GPUL_F32, gpul_1d(100), NULL));
    CHECK_OK(gpul_device_synchronize());
    CHECK_CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CHECK_FAILS(gpul_allclose(&d, &a, &a, 0, 0, s), GPUL_ERROR_ARGUMENT, "gpul_allclose", "captured");
    CHECK_FAILS(gpul_print(NULL, text, sizeof text, &a, s), GPUL_ERROR_ARGUMENT, "gpul_print", "captured");
    CHECK_OK(gpul_fill(&a, 1, s));
    CHECK_CUDA(cudaStreamEndCapture(s, &graph));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_BYTES(&d, &before, sizeof d);
    CHECK_STRING(text, "unused");
    CHECK_OK(gpul_free(&a));
    CHECK_OK(gpul_stream_destroy(&s));
}

int main(void) {
    check_begin("convenience");
    RUN(test_full);
    RUN(test_clone);
    RUN(test_free_all);
    RUN(test_pointers);
    RUN(test_allclose);
    RUN(test_late_difference);
    RUN(test_close_values);
    RUN(test_numpy);
    RUN(test_print_macro);
    RUN(test_print_calls);
    RUN(test_captured);
    return check_end();
}
