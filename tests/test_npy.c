/* SPDX-License-Identifier: MIT
 *
 * The .npy reader of the examples: what it takes, what it refuses and why, and that no byte of a broken file breaks
 * it. */
#include "check.h"
#include "../examples/npy.h"

static char path[512];

static void write_file(const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) exit(3);
}

/* A file of the given version whose header is `text`, followed by `data`. Returns its size; `out` holds a copy. */
static size_t make(unsigned char *out, int version, const char *text, const void *data, size_t bytes) {
    const size_t length = strlen(text), start = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    out[8] = (unsigned char)(length & 255);
    out[9] = (unsigned char)(length >> 8 & 255);
    if (version != 1) out[10] = out[11] = 0;
    memcpy(out + start, text, length);
    if (bytes) memcpy(out + start + length, data, bytes);
    write_file(out, start + length + bytes);
    return start + length + bytes;
}

/* The header is refused, with this in the message, and so is everything after it. */
static void refuse(int version, const char *text, const char *word) {
    unsigned char bytes[8192];
    double data[4] = {1, 2, 3, 4};
    npy_file npy;
    make(bytes, version, text, data, sizeof data);
    if (!CHECK(!npy_open(&npy, path))) {
        printf("accepted: %s\n", text);
        npy_close(&npy);
        return;
    }
    if (!CHECK(strstr(npy.error, word) != NULL)) printf("'%s' is not in: %s\n", word, npy.error);
    CHECK(strncmp(npy.error, path, strlen(path)) == 0);
    CHECK(npy.file == NULL);
}

static void test_dtypes(void) {
    static const float f4[3] = {1.5f, -2, 3};
    static const double f8[3] = {1.5, -2, 3};
    static const int32_t i4[3] = {1, -2, 2147483647};
    static const int64_t i8[3] = {1, -2, INT64_MAX};
    static const uint8_t u1[3] = {1, 2, 255};
    static const struct {
        const char *descr;
        gpul_dtype dtype;
        const void *data;
        double last;
    } cases[] = {{"<f4", GPUL_F32, f4, 3},
                 {"<f8", GPUL_F64, f8, 3},
                 {"<i4", GPUL_I32, i4, 2147483647.0},
                 {"<i8", GPUL_I64, i8, 9223372036854775807.0},
                 {"|u1", GPUL_U8, u1, 255}};
    for (int version = 1; version <= 3; ++version) {
        for (int k = 0; k < COUNT_OF(cases); ++k) {
            unsigned char bytes[256], same[24];
            char text[128];
            float single[3];
            double wide[3];
            npy_file npy;
            const size_t size = gpul_dtype_size(cases[k].dtype);
            snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }  \n", cases[k].descr);
            make(bytes, version, text, cases[k].data, 3 * size);
            for (int to = 0; to < 3; ++to) {
                if (!CHECK(npy_open(&npy, path))) {
                    printf("%s\n", npy.error);
                    continue;
                }
                CHECK_INT(npy.dtype, cases[k].dtype);
                CHECK_INT(npy.shape.ndim, 1);
                CHECK_INT(npy.shape.dim[0], 3);
                CHECK_INT(npy.count, 3);
                if (to == 0) {
                    CHECK(npy_read(&npy, same, npy.dtype));
                    CHECK_BYTES(same, cases[k].data, 3 * size);
                } else if (to == 1) {
                    CHECK(npy_read(&npy, single, GPUL_F32));
                    CHECK(single[2] == (float)cases[k].last);
                } else {
                    CHECK(npy_read(&npy, wide, GPUL_F64));
                    CHECK(wide[2] == cases[k].last);
                }
                npy_close(&npy);
                npy_close(&npy); /* harmless twice */
            }
        }
    }
}

static void test_shapes(void) {
    static const struct {
        const char *shape;
        int32_t ndim;
        int64_t dim[4], count;
    } cases[] = {{"()", 0, {1, 1, 1, 1}, 1},       {"(4,)", 1, {4, 1, 1, 1}, 4},
                 {"(2, 2)", 2, {2, 2, 1, 1}, 4},   {"( 2 ,2, )", 2, {2, 2, 1, 1}, 4},
                 {"(2L, 2L)", 2, {2, 2, 1, 1}, 4}, {"(1, 2, 1, 2)", 4, {1, 2, 1, 2}, 4},
                 {"(0,)", 1, {0, 1, 1, 1}, 0},     {"(0, 9223372036854775807)", 2, {0, INT64_MAX, 1, 1}, 0}};
    static const double data[4] = {1, 2, 3, 4};
    for (int k = 0; k < COUNT_OF(cases); ++k) {
        unsigned char bytes[256];
        char text[160];
        double out[4] = {0, 0, 0, 0};
        npy_file npy;
        /* keys in another order, either quote */
        snprintf(text, sizeof text, "{\"shape\": %s, 'fortran_order':True,'descr':\"<f8\"}", cases[k].shape);
        make(bytes, 1, text, data, sizeof data); /* more data than an array needs is allowed */
        if (!CHECK(npy_open(&npy, path))) {
            printf("%s\n", npy.error);
            continue;
        }
        CHECK_INT(npy.shape.ndim, cases[k].ndim);
        CHECK_INT(npy.shape.order, GPUL_ORDER_F);
        CHECK_BYTES(npy.shape.dim, cases[k].dim, sizeof cases[k].dim);
        CHECK_INT(npy.count, cases[k].count);
        CHECK(npy_read(&npy, out, GPUL_F64));
        CHECK_BYTES(out, data, (size_t)cases[k].count * sizeof data[0]);
        npy_close(&npy);
    }
}

static void test_refusals(void) {
    char text[NPY_MAX_HEADER + 8];
    npy_file npy;
    refuse(1, "", "not a dictionary");
    refuse(1, "[1, 2]", "not a dictionary");
    refuse(1, "{}", "'descr' is missing");
    refuse(1, "{'descr': '<f8'}", "'fortran_order' is missing");
    refuse(1, "{'descr': '<f8', 'fortran_order': False}", "'shape' is missing");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,)", "expected , or }");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,)} x", "follows");
    refuse(1, "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (4,)}", "repeated");
    refuse(1, "{'descr': '<f8', 'order': False, 'shape': (4,)}", "'order' is unknown");
    refuse(1, "{'descr' '<f8', 'fortran_order': False, 'shape': (4,)}", "expected 'key':");
    refuse(1, "{'descr': <f8, 'fortran_order': False, 'shape': (4,)}", "not a dtype");
    refuse(1, "{'descr': '<f8", "not a dtype");
    refuse(1, "{'descr': '<f8', 'fortran_order': 0, 'shape': (4,)}", "not True or False");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': 4}", "not a tuple");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4)}", "not a tuple");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (-4,)}", "not a tuple");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4", "not a tuple");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 4.0)}", "not a tuple");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 4)}", "5 dimensions");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (5,)}",
           "promises 40 bytes of data, the file holds 32");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,)}", "63 bits");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,)}", "63 bits");
    refuse(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "63 bits");
    refuse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,)}", "63 bits");
    refuse(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1152921504606846975,)}", "truncated");
    refuse(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (4,)}", "big-endian");
    refuse(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (4,)}", "'<f2' is none of");
    refuse(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (4,)}", "'<c8' is none of");
    refuse(1, "{'descr': '|O', 'fortran_order': False, 'shape': (4,)}", "'|O' is none of");
    refuse(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (4,)}", "structured");
    refuse(4, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,)}", "version 4.0");
    refuse(0, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,)}", "version 0.0");
    memset(text, ' ', NPY_MAX_HEADER + 1);
    text[NPY_MAX_HEADER + 1] = '\0';
    refuse(1, text, "a header of 4097 bytes");

    write_file("PK\3\4 and so on", 13);
    CHECK(!npy_open(&npy, path));
    CHECK(strstr(npy.error, ".npz") != NULL);
    write_file("1,2,3\n4,5,6\n", 12);
    CHECK(!npy_open(&npy, path));
    CHECK(strstr(npy.error, "not an .npy file") != NULL);
    write_file("", 0);
    CHECK(!npy_open(&npy, path));
    CHECK(strstr(npy.error, "truncated") != NULL);
    CHECK(!npy_open(&npy, "/nonexistent/x.npy"));
    CHECK(strstr(npy.error, "cannot open") != NULL);
    CHECK(!npy_open(&npy, "."));
    CHECK(npy.file == NULL);
}

/* Every prefix of a good file is refused, or is the whole. */
static void test_truncation(void) {
    static const char *const text = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}\n";
    static const int32_t data[6] = {1, 2, 3, 4, 5, 6};
    unsigned char bytes[256];
    for (int version = 1; version <= 3; ++version) {
        const size_t size = make(bytes, version, text, data, sizeof data);
        for (size_t n = 0; n < size; ++n) {
            npy_file npy;
            write_file(bytes, n);
            CHECK(!npy_open(&npy, path));
            CHECK(npy.file == NULL && npy.error[0] != '\0');
        }
    }
}

/* The file shrinks after its header was read. */
static void test_shrinking(void) {
    static const char *const text = "{'descr': '|u1', 'fortran_order': False, 'shape': (9000,)}";
    static unsigned char bytes[10000], data[9000], out[9000];
    npy_file npy;
    make(bytes, 1, text, data, sizeof data);
    CHECK(npy_open(&npy, path));
    write_file(bytes, 100);
    CHECK(!npy_read(&npy, out, GPUL_U8));
    CHECK(strstr(npy.error, "truncated") != NULL);
    CHECK(npy.file == NULL);
    CHECK(!npy_read(&npy, out, GPUL_U8)); /* and again: refused, not a crash */
}

/* Random damage: whatever it says, it says it in order, and what it accepts can be read. */
static void test_damage(void) {
    static const char *const text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n";
    static const double data[4] = {1, 2, 3, 4};
    unsigned char good[256], bad[256];
    const size_t size = make(good, 1, text, data, sizeof data);
    long accepted = 0;
    for (int round = 0; round < 5000; ++round) {
        static const char likely[] = "{}(),:' \"TF0129L<>|fiu\\\n";
        npy_file npy;
        const int64_t changes = 1 + rng_below(3);
        memcpy(bad, good, size);
        for (int64_t k = 0; k < changes; ++k) {
            bad[rng_below((int64_t)size)] =
                rng_below(2) ? (unsigned char)rng_u64() : (unsigned char)likely[rng_below(COUNT_OF(likely) - 1)];
        }
        write_file(bad, size);
        if (npy_open(&npy, path)) {
            double *out = (double *)malloc((size_t)npy.count * sizeof(double) + 1);
            ++accepted;
            CHECK(npy.count >= 0 && npy.count <= 32);
            if (out == NULL || !npy_read(&npy, out, GPUL_F64)) FAIL("what was accepted cannot be read");
            free(out);
            npy_close(&npy);
        } else {
            CHECK(npy.file == NULL && npy.error[0] != '\0');
        }
    }
    CHECK(accepted > 0 && accepted < 5000);
}

int main(void) {
    const char *folder = getenv("BUILD");
    snprintf(path, sizeof path, "%s/test_npy.npy", folder != NULL ? folder : ".");
    check_begin("test_npy");
    RUN(test_dtypes);
    RUN(test_shapes);
    RUN(test_refusals);
    RUN(test_truncation);
    RUN(test_shrinking);
    RUN(test_damage);
    remove(path);
    return check_end();
}
