/* SPDX-License-Identifier: MIT
 * Views: slice, index, reshape, transpose, permute, expand_dims, broadcast_to, split, contiguity; checked against index arithmetic on the host. */
#include "check.h"

/* The host twin of an array whose element value is its position in the buffer. */
static void expect(const gpul_array *v, const gpul_array *base, int ndim, const int64_t *shape, const int64_t *where,
                   int64_t origin) {
    CHECK_INT(v->ndim, ndim);
    CHECK_INT(v->owned, 0);
    CHECK_INT(v->dtype, base->dtype);
    CHECK_INT(v->memory, base->memory);
    CHECK_INT(v->device, base->device);
    for (int k = 0; k < ndim; k++) {
        CHECK_INT(v->shape[k], shape[k]);
        if (shape[k] > 1) CHECK_INT(v->strides[k], where[k]);
    }
    for (int k = ndim; k < GPUL_MAX_DIMS; k++) CHECK(v->shape[k] == 1 && v->strides[k] == 0);
    if (gpul_size(v)) CHECK_INT((int32_t *)v->data - (int32_t *)base->data, origin);
    else CHECK(v->data == NULL);
}

static gpul_array make(gpul_shape s) {
    gpul_array a = GPUL_ZERO;
    int64_t n = 1;
    int32_t *host;
    for (int k = 0; k < s.ndim; k++) n *= s.dim[k];
    host = (int32_t *)malloc((size_t)(n ? n : 1) * 4);
    for (int64_t i = 0; i < n; i++) host[i] = (int32_t)i;
    CHECK_OK(gpul_to_device(&a, host, GPUL_I32, s, NULL));
    free(host);
    return a;
}

static void test_slice(void) {
    gpul_array a = make(gpul_3d(4, 5, 6)), v = GPUL_ZERO;
    for (int64_t start = 0; start <= 5; start++)
        for (int64_t stop = start; stop <= 5; stop++)
            for (int64_t step = 1; step <= 6; step++) {
                int64_t shape[3] = {4, 0, 6}, strides[3] = {30, 0, 1};
                shape[1] = (stop - start + step - 1) / step;
                strides[1] = 6 * step;
                CHECK_OK(gpul_slice(&v, &a, 1, start, stop, step));
                expect(&v, &a, 3, shape, strides, 6 * start);
                /* the same from the end */
                CHECK_OK(gpul_slice(&v, &a, 1, start < 5 ? start - 5 : 5, stop < 5 ? stop - 5 : GPUL_END, step));
                expect(&v, &a, 3, shape, strides, 6 * start);
            }
    CHECK_OK(gpul_slice(&v, &a, 0, 0, 4, INT64_MAX)); /* a huge step is one element */
    CHECK_INT(v.shape[0], 1);
    CHECK_OK(gpul_slice(&v, &a, 0, 1, 4, 1));
    CHECK_OK(gpul_slice(&v, &v, -1, 2, 6, 3)); /* the last axis; a view may replace itself */
    {
        const int64_t shape[3] = {3, 5, 2}, strides[3] = {30, 6, 3};
        expect(&v, &a, 3, shape, strides, 32);
    }
    memset(&v, 0xEE, sizeof v);
    CHECK_FAILS(gpul_slice(NULL, &a, 0, 0, 1, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "view");
    CHECK_FAILS(gpul_slice(&v, NULL, 0, 0, 1, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "a");
    CHECK_FAILS(gpul_slice(&v, &a, 3, 0, 1, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "axis");
    CHECK_FAILS(gpul_slice(&v, &a, -4, 0, 1, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "axis = -4, but a has");
    CHECK_FAILS(gpul_slice(&v, &a, 0, -1, 1, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "start");
    CHECK_FAILS(gpul_slice(&v, &a, 0, -5, 1, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "start = -5, stop = 1");
    CHECK_FAILS(gpul_slice(&v, &a, 0, 0, -5, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "stop = -5");
    CHECK_FAILS(gpul_slice(&v, &a, 0, INT64_MIN, GPUL_END, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "start");
    CHECK_FAILS(gpul_slice(&v, &a, 0, GPUL_END, GPUL_END, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "start");
    CHECK_FAILS(gpul_slice(&v, &a, 0, 3, 2, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "stop");
    CHECK_FAILS(gpul_slice(&v, &a, 0, 0, 5, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "stop");
    CHECK_FAILS(gpul_slice(&v, &a, 0, 0, 4, 0), GPUL_ERROR_ARGUMENT, "gpul_slice", "step");
    CHECK_FAILS(gpul_slice(&v, &a, 0, 0, 4, -1), GPUL_ERROR_ARGUMENT, "gpul_slice", "step");
    CHECK_INT(((unsigned char *)&v)[0], 0xEE);
    CHECK_FAILS(gpul_slice(&a, &a, 0, 0, 1, 1), GPUL_ERROR_ARGUMENT, "gpul_slice", "view"); /* would leak */
    CHECK_OK(gpul_free(&a));
}

static void test_index(void) {
    gpul_array a = make(gpul_3d(4, 5, 6)), v = GPUL_ZERO, e = GPUL_ZERO;
    const int64_t shape0[2] = {5, 6}, strides0[2] = {6, 1}, shape1[2] = {4, 6}, strides1[2] = {30, 1};
    CHECK_OK(gpul_index(&v, &a, 0, 3));
    expect(&v, &a, 2, shape0, strides0, 90);
    CHECK_OK(gpul_index(&v, &a, 1, 2));
    expect(&v, &a, 2, shape1, strides1, 12);
    CHECK_OK(gpul_index(&v, &a, -2, 2));
    expect(&v, &a, 2, shape1, strides1, 12);
    CHECK_OK(gpul_index(&v, &a, 0, -1));
    expect(&v, &a, 2, shape0, strides0, 90);
    CHECK_OK(gpul_index(&v, &a, 1, -5));
    expect(&v, &a, 2, shape1, strides1, 0);
    CHECK_OK(gpul_index(&v, &a, 1, 2));
    CHECK_OK(gpul_index(&v, &v, -1, 5));
    CHECK_OK(gpul_index(&v, &v, -1, 1));
    expect(&v, &a, 0, NULL, NULL, 47);
    CHECK_FAILS(gpul_index(&v, &v, 0, 0), GPUL_ERROR_ARGUMENT, "gpul_index", "axis"); /* no axis left */
    CHECK_FAILS(gpul_index(NULL, &a, 0, 0), GPUL_ERROR_ARGUMENT, "gpul_index", "view");
    CHECK_FAILS(gpul_index(&v, NULL, 0, 0), GPUL_ERROR_ARGUMENT, "gpul_index", "a");
    CHECK_FAILS(gpul_index(&v, &a, 0, 4), GPUL_ERROR_ARGUMENT, "gpul_index", "i");
    CHECK_FAILS(gpul_index(&v, &a, 0, -5), GPUL_ERROR_ARGUMENT, "gpul_index", "-5");
    CHECK_FAILS(gpul_index(&v, &a, 0, INT64_MIN), GPUL_ERROR_ARGUMENT, "gpul_index", "i");
    CHECK_FAILS(gpul_index(&v, &a, 3, 0), GPUL_ERROR_ARGUMENT, "gpul_index", "axis");
    CHECK_FAILS(gpul_index(&v, &a, -4, 0), GPUL_ERROR_ARGUMENT, "gpul_index", "axis = -4");
    CHECK_FAILS(gpul_index(&a, &a, 0, 0), GPUL_ERROR_ARGUMENT, "gpul_index", "view");
    CHECK_OK(gpul_free(&a));
    e = make(gpul_2d(3, 0));
    CHECK_OK(gpul_index(&v, &e, 0, 2));
    CHECK(v.ndim == 1 && v.shape[0] == 0 && v.data == NULL);
    CHECK_OK(gpul_free(&e));
}

static void test_transpose(void) {
    gpul_array a = make(gpul_4d(2, 3, 4, 5)), v = GPUL_ZERO, w = GPUL_ZERO;
    const int64_t shape[4] = {5, 4, 3, 2}, strides[4] = {1, 5, 20, 60};
    CHECK_OK(gpul_transpose(&v, &a));
    expect(&v, &a, 4, shape, strides, 0);
    CHECK_INT(gpul_is_contiguous(&v, GPUL_ORDER_F), 1);
    CHECK_INT(gpul_is_contiguous(&v, GPUL_ORDER_C), 0);
    CHECK_OK(gpul_transpose(&v, &v));
    CHECK_INT(gpul_is_contiguous(&v, GPUL_ORDER_C), 1);
    CHECK_OK(gpul_index(&w, &a, 0, 0));
    CHECK_OK(gpul_index(&w, &w, 0, 0));
    CHECK_OK(gpul_index(&w, &w, 0, 0));
    CHECK_OK(gpul_transpose(&v, &w)); /* a vector is its own transpose */
    CHECK(v.ndim == 1 && v.shape[0] == 5 && v.strides[0] == 1);
    CHECK_FAILS(gpul_transpose(NULL, &a), GPUL_ERROR_ARGUMENT, "gpul_transpose", "view");
    CHECK_FAILS(gpul_transpose(&v, NULL), GPUL_ERROR_ARGUMENT, "gpul_transpose", "a");
    CHECK_FAILS(gpul_transpose(&a, &a), GPUL_ERROR_ARGUMENT, "gpul_transpose", "view");
    CHECK_OK(gpul_free(&a));
}

static void test_permute(void) {
    gpul_array a = make(gpul_3d(2, 3, 4)), v = GPUL_ZERO, zero = make(gpul_0d());
    const int64_t shape[3] = {2, 3, 4}, strides[3] = {12, 4, 1};
    for (int32_t i = -3; i < 3; i++)
        for (int32_t j = -3; j < 3; j++)
            for (int32_t k = -3; k < 3; k++) {
                const int32_t axes[3] = {i, j, k}, from[3] = {(i + 3) % 3, (j + 3) % 3, (k + 3) % 3};
                int64_t shape_v[3], strides_v[3];
                if (from[0] == from[1] || from[0] == from[2] || from[1] == from[2]) {
                    CHECK_FAILS(gpul_permute(&v, &a, axes), GPUL_ERROR_ARGUMENT, "gpul_permute", "is already");
                    continue;
                }
                for (int d = 0; d < 3; d++) {
                    shape_v[d] = shape[from[d]];
                    strides_v[d] = strides[from[d]];
                }
                CHECK_OK(gpul_permute(&v, &a, axes));
                expect(&v, &a, 3, shape_v, strides_v, 0);
            }
    {
        const int32_t turn[3] = {1, 2, 0}, beyond[3] = {0, 1, 3}, below[3] = {-4, 1, 2}, twice[3] = {0, 2, -1};
        const int64_t shape_v[3] = {4, 2, 3}, strides_v[3] = {1, 12, 4};
        CHECK_OK(gpul_permute(&v, &a, turn));
        CHECK_OK(gpul_permute(&v, &v, turn)); /* a view may replace itself */
        expect(&v, &a, 3, shape_v, strides_v, 0);
        memset(&v, 0xEE, sizeof v);
        CHECK_FAILS(gpul_permute(NULL, &a, turn), GPUL_ERROR_ARGUMENT, "gpul_permute", "view");
        CHECK_FAILS(gpul_permute(&v, NULL, turn), GPUL_ERROR_ARGUMENT, "gpul_permute", "a");
        CHECK_FAILS(gpul_permute(&v, &a, NULL), GPUL_ERROR_ARGUMENT, "gpul_permute", "axes");
        CHECK_FAILS(gpul_permute(&v, &a, beyond), GPUL_ERROR_ARGUMENT, "gpul_permute", "axes[2] = 3, but a has int32");
        CHECK_FAILS(gpul_permute(&v, &a, below), GPUL_ERROR_ARGUMENT, "gpul_permute", "axes[0] = -4, but a has");
        CHECK_FAILS(gpul_permute(&v, &a, twice), GPUL_ERROR_ARGUMENT, "gpul_permute",
                    "axes[2] = -1, which axes[1] is already");
        CHECK_INT(((unsigned char *)&v)[0], 0xEE);
        CHECK_FAILS(gpul_permute(&a, &a, turn), GPUL_ERROR_ARGUMENT, "gpul_permute", "view");
        CHECK_OK(gpul_permute(&v, &zero, turn));
        expect(&v, &zero, 0, NULL, NULL, 0);
    }
    CHECK_OK(gpul_free_all(&a, &zero));
}

static void test_expand_dims(void) {
    gpul_array a = make(gpul_2d(3, 4)), v = GPUL_ZERO, w = GPUL_ZERO, empty = make(gpul_1d(0));
    for (int32_t axis = -3; axis < 3; axis++) {
        const int32_t at = (axis + 3) % 3;
        int64_t shape[3] = {3, 4, 1}, strides[3] = {4, 1, 0};
        for (int k = 2; k > at; k--) {
            shape[k] = shape[k - 1];
            strides[k] = strides[k - 1];
        }
        shape[at] = 1;
        CHECK_OK(gpul_expand_dims(&v, &a, axis));
        expect(&v, &a, 3, shape, strides, 0);
        CHECK_INT(gpul_is_contiguous(&v, GPUL_ORDER_C), 1);
        CHECK_OK(gpul_index(&w, &v, at, 0)); /* and back */
        expect(&w, &a, 2, a.shape, a.strides, 0);
    }
    CHECK_OK(gpul_expand_dims(&w, &empty, -1));
    CHECK(w.ndim == 2 && w.shape[0] == 0 && w.shape[1] == 1 && w.data == NULL);
    CHECK_OK(gpul_expand_dims(&v, &v, 0));
    CHECK_FAILS(gpul_expand_dims(&w, &v, 0), GPUL_ERROR_SHAPE, "gpul_expand_dims", "at most 4 dimensions");
    CHECK_FAILS(gpul_expand_dims(&w, &a, 3), GPUL_ERROR_ARGUMENT, "gpul_expand_dims",
                "axis = 3, but the view of a, int32");
    CHECK_FAILS(gpul_expand_dims(&w, &a, -4), GPUL_ERROR_ARGUMENT, "gpul_expand_dims", "axis = -4");
    CHECK_FAILS(gpul_expand_dims(NULL, &a, 0), GPUL_ERROR_ARGUMENT, "gpul_expand_dims", "view");
    CHECK_FAILS(gpul_expand_dims(&a, &a, 0), GPUL_ERROR_ARGUMENT, "gpul_expand_dims", "view");
    CHECK_OK(gpul_free_all(&a, &empty));
}

static void test_broadcast_to(void) {
    gpul_array a = make(gpul_2d(3, 4)), row, column, v = GPUL_ZERO, empty = make(gpul_2d(1, 0));
    const int64_t shape[3] = {2, 3, 4}, same[3] = {0, 4, 1}, rows[3] = {0, 0, 1}, columns[3] = {0, 4, 0};
    CHECK_OK(gpul_slice(&row, &a, 0, 1, 2, 1));
    CHECK_OK(gpul_slice(&column, &a, 1, 2, 3, 1));
    CHECK_OK(gpul_broadcast_to(&v, &a, gpul_3d(2, 3, 4)));
    expect(&v, &a, 3, shape, same, 0);
    CHECK_OK(gpul_broadcast_to(&v, &row, gpul_3d(2, 3, 4)));
    expect(&v, &a, 3, shape, rows, 4);
    CHECK_OK(gpul_broadcast_to(&v, &column, gpul_3d(2, 3, 4)));
    expect(&v, &a, 3, shape, columns, 2);
    {
        int32_t back[24], wrong = 0;
        CHECK_OK(gpul_copy_to_host(back, &v, NULL));
        for (int i = 0; i < 24; i++) wrong += back[i] != i / 4 % 3 * 4 + 2;
        CHECK_INT(wrong, 0);
    }
    CHECK_FAILS(gpul_fill(&v, 1, NULL), GPUL_ERROR_OVERLAP, "gpul_fill", "may share memory");
    {
        const int64_t at[3] = {1, 0, 0};
        const int32_t seven = 7;
        CHECK_FAILS(gpul_set(&v, at, &seven, NULL), GPUL_ERROR_OVERLAP, "gpul_set", "may share memory");
    }
    {
        gpul_shape any = gpul_3d(2, 3, 4); /* its order means nothing */
        any.order = 7;
        CHECK_OK(gpul_broadcast_to(&v, &a, any));
        expect(&v, &a, 3, shape, same, 0);
    }
    CHECK_OK(gpul_broadcast_to(&column, &column, gpul_2d_f(3, 5)));
    expect(&column, &a, 2, (const int64_t[2]){3, 5}, (const int64_t[2]){4, 0}, 2);
    CHECK_OK(gpul_broadcast_to(&v, &row, gpul_2d(0, 4)));
    CHECK(v.ndim == 2 && v.shape[0] == 0 && v.shape[1] == 4 && v.data == NULL);
    CHECK_OK(gpul_broadcast_to(&v, &empty, gpul_3d(5, 6, 0)));
    CHECK(v.ndim == 3 && v.shape[1] == 6 && v.data == NULL);
    memset(&v, 0xEE, sizeof v);
    CHECK_FAILS(gpul_broadcast_to(&v, &a, gpul_2d(3, 5)), GPUL_ERROR_SHAPE, "gpul_broadcast_to",
                "a has int32 (3, 4), which does not broadcast to the shape (3, 5)");
    CHECK_FAILS(gpul_broadcast_to(&v, &a, gpul_3d(3, 4, 2)), GPUL_ERROR_SHAPE, "gpul_broadcast_to", "(3, 4, 2)");
    CHECK_FAILS(gpul_broadcast_to(&v, &a, gpul_1d(4)), GPUL_ERROR_SHAPE, "gpul_broadcast_to", "the shape (4)");
    CHECK_FAILS(gpul_broadcast_to(&v, &row, gpul_2d(-1, 4)), GPUL_ERROR_SHAPE, "gpul_broadcast_to", "-1");
    CHECK_FAILS(gpul_broadcast_to(&v, &row, gpul_2d(INT64_MAX, 4)), GPUL_ERROR_OVERFLOW, "gpul_broadcast_to", NULL);
    CHECK_FAILS(gpul_broadcast_to(NULL, &a, gpul_2d(3, 4)), GPUL_ERROR_ARGUMENT, "gpul_broadcast_to", "view");
    CHECK_INT(((unsigned char *)&v)[0], 0xEE);
    CHECK_FAILS(gpul_broadcast_to(&a, &a, gpul_2d(3, 4)), GPUL_ERROR_ARGUMENT, "gpul_broadcast_to", "view");
    CHECK_OK(gpul_free_all(&a, &empty));
}

static void test_reshape(void) {
    gpul_array a = make(gpul_3d(4, 5, 6)), f = GPUL_ZERO, v = GPUL_ZERO, t = GPUL_ZERO, e = GPUL_ZERO;
    gpul_shape s;
    {
        const int64_t shape[2] = {20, 6}, strides[2] = {6, 1};
        CHECK_OK(gpul_reshape(&v, &a, gpul_2d(20, 6)));
        expect(&v, &a, 2, shape, strides, 0);
        CHECK_OK(gpul_reshape(&v, &a, gpul_2d(-1, 6)));
        expect(&v, &a, 2, shape, strides, 0);
        CHECK_OK(gpul_reshape(&v, &a, gpul_2d(20, -1)));
        expect(&v, &a, 2, shape, strides, 0);
    }
    {
        const int64_t shape[1] = {120}, strides[1] = {1}, shape4[4] = {2, 2, 1, 30}, strides4[4] = {60, 30, 30, 1};
        CHECK_OK(gpul_reshape(&v, &a, gpul_1d(-1)));
        expect(&v, &a, 1, shape, strides, 0);
        CHECK_OK(gpul_reshape(&v, &v, gpul_4d(2, 2, 1, 30)));
        expect(&v, &a, 4, shape4, strides4, 0);
    }
    { /* gaps that stay between the old and new dimensions */
        const int64_t shape[4] = {2, 2, 5, 3}, strides[4] = {60, 30, 6, 1};
        CHECK_OK(gpul_slice(&t, &a, 2, 0, 3, 1));
        CHECK_OK(gpul_reshape(&v, &t, gpul_4d(2, 2, 5, 3)));
        expect(&v, &a, 4, shape, strides, 0);
        CHECK_FAILS(gpul_reshape(&v, &t, gpul_1d(60)), GPUL_ERROR_SHAPE, "gpul_reshape", "shape");
        CHECK_FAILS(gpul_reshape(&v, &t, gpul_2d(4, 15)), GPUL_ERROR_SHAPE, "gpul_reshape", NULL);
    }
    CHECK_OK(gpul_transpose(&t, &a));
    CHECK_FAILS(gpul_reshape(&v, &t, gpul_1d(120)), GPUL_ERROR_SHAPE, "gpul_reshape", NULL);
    s = gpul_1d(120);
    s.order = GPUL_ORDER_F; /* in column-major order the transpose is dense */
    CHECK_OK(gpul_reshape(&v, &t, s));
    CHECK_INT(v.strides[0], 1);
    f = make(gpul_2d_f(4, 6));
    CHECK_FAILS(gpul_reshape(&v, &f, gpul_2d(6, 4)), GPUL_ERROR_SHAPE, "gpul_reshape", NULL);
    CHECK_OK(gpul_reshape(&v, &f, gpul_2d_f(8, 3)));
    CHECK(v.shape[0] == 8 && v.shape[1] == 3 && v.strides[0] == 1 && v.strides[1] == 8);
    CHECK_OK(gpul_free(&f));
    CHECK_FAILS(gpul_reshape(&v, &a, gpul_1d(119)), GPUL_ERROR_SHAPE, "gpul_reshape", "119");
    CHECK_FAILS(gpul_reshape(&v, &a, gpul_2d(-1, 7)), GPUL_ERROR_SHAPE, "gpul_reshape", "7");
    CHECK_FAILS(gpul_reshape(&v, &a, gpul_2d(-1, -1)), GPUL_ERROR_SHAPE, "gpul_reshape", NULL);
    CHECK_FAILS(gpul_reshape(&v, &a, gpul_2d(-2, 60)), GPUL_ERROR_SHAPE, "gpul_reshape", "-2");
    CHECK_FAILS(gpul_reshape(&v, &a, gpul_2d(-1, 0)), GPUL_ERROR_SHAPE, "gpul_reshape", NULL);
    CHECK_FAILS(gpul_reshape(NULL, &a, gpul_1d(120)), GPUL_ERROR_ARGUMENT, "gpul_reshape", "view");
    CHECK_FAILS(gpul_reshape(&v, NULL, gpul_1d(120)), GPUL_ERROR_ARGUMENT, "gpul_reshape", "a");
    CHECK_FAILS(gpul_reshape(&a, &a, gpul_1d(120)), GPUL_ERROR_ARGUMENT, "gpul_reshape", "view");
    CHECK_OK(gpul_free(&a));
    e = make(gpul_3d(3, 0, 2));
    CHECK_OK(gpul_reshape(&v, &e, gpul_2d(0, 7)));
    CHECK(v.ndim == 2 && v.data == NULL && v.shape[1] == 7);
    CHECK_FAILS(gpul_reshape(&v, &e, gpul_1d(1)), GPUL_ERROR_SHAPE, "gpul_reshape", NULL);
    CHECK_OK(gpul_free(&e));
    a = make(gpul_1d(1));
    CHECK_OK(gpul_reshape(&v, &a, gpul_0d()));
    CHECK(v.ndim == 0 && gpul_size(&v) == 1);
    CHECK_OK(gpul_reshape(&v, &v, gpul_3d(1, -1, 1)));
    CHECK(v.ndim == 3 && v.shape[1] == 1);
    CHECK_OK(gpul_free(&a));
}

static void test_reshape_random(void) { /* whenever a reshape is granted, its elements are the right ones */
    for (int k = 0; k < 400; k++) {
        static const int64_t factors[] = {1, 2, 3, 4, 2, 1, 2};
        int64_t shape[4], target[4], rest = 24;
        const int ndim = 1 + (int)rng_below(4), nt = 1 + (int)rng_below(4);
        const int layout = (int)rng_below(LAYOUTS);
        gpul_array v = GPUL_ZERO;
        gpul_status status;
        box b;
        for (int i = 0; i < ndim; i++) {
            shape[i] = i == ndim - 1 ? rest : factors[rng_below(7)];
            while (rest % shape[i]) shape[i]--;
            rest /= shape[i];
        }
        rest = 24;
        for (int i = 0; i < nt; i++) {
            target[i] = i == nt - 1 ? rest : factors[rng_below(7)];
            while (rest % target[i]) target[i]--;
            rest /= target[i];
        }
        if (ndim > 1) shape[ndim - 1] = 24 / (shape_product(ndim - 1, shape));
        box_make(&b, GPUL_I32, ndim, shape, layout, 0, 0);
        for (int64_t i = 0; i < b.n; i++) box_put(&b, i, num_of_int(i));
        box_upload(&b);
        status = gpul_reshape(&v, &b.view, shape_of(nt, target));
        if (layout == LAY_C) CHECK_OK(status);
        if (status == GPUL_OK) {
            int32_t got[24];
            gpul_array dense = GPUL_ZERO;
            CHECK_OK(gpul_device_array(&dense, GPUL_I32, shape_of(nt, target), NULL));
            CHECK_OK(gpul_copy(&dense, &v, NULL));
            CHECK_OK(gpul_copy_to_host(got, &dense, NULL));
            for (int i = 0; i < 24; i++)
                if (got[i] != i) {
                    FAIL("element %d is %d", i, got[i]);
                    break;
                }
            CHECK_OK(gpul_free(&dense));
        } else {
            CHECK_INT(status, GPUL_ERROR_SHAPE);
        }
        box_free(&b);
    }
}

static void test_split(void) {
    gpul_array a = make(gpul_2d(3, 11)), v[16];
    for (int64_t parts = 1; parts <= 16; parts++) {
        int64_t from = 0;
        memset(v, 0, sizeof v);
        CHECK_OK(gpul_split(v, parts, &a, parts % 2 ? 1 : -1));
        for (int64_t p = 0; p < parts; p++) {
            int64_t shape[2] = {3, 0};
            const int64_t strides[2] = {11, 1};
            shape[1] = 11 / parts + (p < 11 % parts ? 1 : 0);
            expect(&v[p], &a, 2, shape, strides, from);
            from += shape[1];
        }
        CHECK_INT(from, 11);
    }
    CHECK_FAILS(gpul_split(NULL, 2, &a, 0), GPUL_ERROR_ARGUMENT, "gpul_split", "views");
    CHECK_FAILS(gpul_split(v, 0, &a, 0), GPUL_ERROR_ARGUMENT, "gpul_split", "parts");
    CHECK_FAILS(gpul_split(v, -3, &a, 0), GPUL_ERROR_ARGUMENT, "gpul_split", "-3");
    CHECK_FAILS(gpul_split(v, 2, NULL, 0), GPUL_ERROR_ARGUMENT, "gpul_split", "a");
    CHECK_FAILS(gpul_split(v, 2, &a, 2), GPUL_ERROR_ARGUMENT, "gpul_split", "axis");
    CHECK_FAILS(gpul_split(v, 2, &a, GPUL_ALL_AXES), GPUL_ERROR_ARGUMENT, "gpul_split", "axis");
    CHECK_OK(gpul_free(&a));
}

static void test_contiguous(void) {
    static const int64_t shape[3] = {4, 5, 6};
    for (int layout = 0; layout < LAYOUTS; layout++) {
        box b;
        box_make(&b, GPUL_U8, 3, shape, layout, 0, 0);
        CHECK_INT(gpul_is_contiguous(&b.view, GPUL_ORDER_C), layout == LAY_C);
        CHECK_INT(gpul_is_contiguous(&b.view, GPUL_ORDER_F), layout == LAY_F);
        box_free(&b);
    }
    {
        gpul_array a = make(gpul_2d(5, 1)), v = GPUL_ZERO, zero = GPUL_ZERO;
        CHECK_INT(gpul_is_contiguous(&a, GPUL_ORDER_C), 1); /* a column is dense either way */
        CHECK_INT(gpul_is_contiguous(&a, GPUL_ORDER_F), 1);
        CHECK_OK(gpul_slice(&v, &a, 0, 0, 5, 2));
        CHECK_INT(gpul_is_contiguous(&v, GPUL_ORDER_C), 0);
        CHECK_OK(gpul_slice(&v, &a, 0, 0, 1, 3)); /* strides of dimensions of one element do not matter */
        CHECK_INT(gpul_is_contiguous(&v, GPUL_ORDER_C), 1);
        CHECK_INT(gpul_is_contiguous(NULL, GPUL_ORDER_C), 0);
        CHECK_INT(gpul_is_contiguous(&zero, GPUL_ORDER_C), 0);
        CHECK_OK(gpul_free(&a));
    }
}

int main(void) {
    check_begin("views");
    RUN(test_slice);
    RUN(test_index);
    RUN(test_transpose);
    RUN(test_permute);
    RUN(test_expand_dims);
    RUN(test_broadcast_to);
    RUN(test_reshape);
    RUN(test_reshape_random);
    RUN(test_split);
    RUN(test_contiguous);
    return check_end();
}
