/* SPDX-License-Identifier: MIT
 *
 * The .npy reader of the examples: what it takes, what it refuses and why, and that no byte of a broken file breaks
 * it; and the writer: the reader and NumPy read what it writes, and a failure leaves no file. */
#define _XOPEN_SOURCE 600 /* setrlimit */
#include "check.h"
#include "../examples/npy.h"
#include <signal.h>
#include <sys/resource.h>

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

/* int64 in and beside the middle of two float32: rounded once, as by NumPy's astype. float64 drops the last bit, so
 * that by way of it all would be in the middle, and go to the even one. */
static void test_rounding(void) {
    static const int64_t data[4] = {1152921573326323713, -1152921573326323713, 1152921573326323712,
                                    1152921573326323711};
    const float even = (float)((int64_t)1 << 60), next = even + (float)((int64_t)1 << 37);
    unsigned char bytes[256];
    float single[4] = {0};
    npy_file npy;
    make(bytes, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }\n", data, sizeof data);
    if (!CHECK(npy_open(&npy, path))) return;
    CHECK(npy_read(&npy, single, GPUL_F32));
    npy_close(&npy);
    CHECK(single[0] == next);
    CHECK(single[1] == -next);
    CHECK(single[2] == even);
    CHECK(single[3] == even);
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

/* Written, read back, and read by NumPy where python3 has it. Elements count from 0. */
static void test_save(void) {
    static const struct {
        int32_t ndim, order;
        int64_t dim[4], count;
        const char *shape;
    } shapes[] = {{0, GPUL_ORDER_C, {1, 1, 1, 1}, 1, "()"},
                  {1, GPUL_ORDER_C, {5, 1, 1, 1}, 5, "(5,)"},
                  {1, GPUL_ORDER_C, {0, 1, 1, 1}, 0, "(0,)"},
                  {2, GPUL_ORDER_C, {3, 4, 1, 1}, 12, "(3, 4)"},
                  {2, GPUL_ORDER_F, {3, 4, 1, 1}, 12, "(3, 4)"},
                  {3, GPUL_ORDER_F, {2, 1, 3, 1}, 6, "(2, 1, 3)"},
                  {4, GPUL_ORDER_C, {2, 3, 2, 5}, 60, "(2, 3, 2, 5)"},
                  {2, GPUL_ORDER_C, {0, 3000000000, 1, 1}, 0, "(0, 3000000000)"}};
    static const char *const names[] = {"float32", "float64", "int32", "int64", "uint8"};
    static float f4[60];
    static double f8[60];
    static int32_t i4[60];
    static int64_t i8[60];
    static uint8_t u1[60];
    static const struct {
        gpul_dtype dtype;
        const void *data;
    } dtypes[] = {{GPUL_F32, f4}, {GPUL_F64, f8}, {GPUL_I32, i4}, {GPUL_I64, i8}, {GPUL_U8, u1}};
    char script[600], command[700];
    FILE *python;
    snprintf(script, sizeof script, "%s.py", path);
    if ((python = fopen(script, "w")) == NULL) exit(3);
    fprintf(python, "import numpy, os\n"
                    "def check(name, dtype, shape, order):\n"
                    "    a = numpy.load(name)\n"
                    "    assert a.dtype == dtype and a.shape == shape, (a.dtype, a.shape, dtype, shape)\n"
                    "    assert (a.ravel(order) == numpy.arange(a.size)).all(), a\n"
                    "    os.remove(name)\n");
    for (int i = 0; i < 60; ++i) f4[i] = (float)i, f8[i] = i, i4[i] = i, i8[i] = i, u1[i] = (uint8_t)i;
    for (int k = 0; k < COUNT_OF(shapes); ++k) {
        for (int d = 0; d < COUNT_OF(dtypes); ++d) {
            const size_t bytes = (size_t)shapes[k].count * gpul_dtype_size(dtypes[d].dtype);
            unsigned char back[60 * 8];
            char name[600];
            gpul_shape shape = gpul_0d();
            npy_file npy;
            shape.ndim = shapes[k].ndim;
            shape.order = shapes[k].order;
            memcpy(shape.dim, shapes[k].dim, sizeof shape.dim);
            if (!CHECK(npy_save(&npy, path, dtypes[d].data, dtypes[d].dtype, shape))) {
                printf("%s\n", npy.error);
                continue;
            }
            CHECK(npy.file == NULL);
            if (!CHECK(npy_open(&npy, path))) {
                printf("%s\n", npy.error);
                continue;
            }
            CHECK_INT(npy.dtype, dtypes[d].dtype);
            CHECK_INT(npy.shape.ndim, shape.ndim);
            CHECK_INT(npy.shape.order, shape.order);
            CHECK_BYTES(npy.shape.dim, shape.dim, sizeof shape.dim);
            CHECK_INT(npy.count, shapes[k].count);
            CHECK_INT(ftell(npy.file) % 64, 0);
            CHECK(npy_read(&npy, back, npy.dtype));
            CHECK_BYTES(back, dtypes[d].data, bytes);
            CHECK(fgetc(npy.file) == EOF);
            npy_close(&npy);
            snprintf(name, sizeof name, "%s.%d", path, k * COUNT_OF(dtypes) + d);
            CHECK(rename(path, name) == 0);
            fprintf(python, "check('%s', '%s', %s, '%c')\n", name, names[d], shapes[k].shape,
                    shape.order == GPUL_ORDER_F ? 'F' : 'C');
        }
    }
    fclose(python);
    snprintf(command, sizeof command, "python3 '%s'", script);
    if (system("python3 -c 'import numpy' >/dev/null 2>&1") == 0) CHECK(system(command) == 0);
    else printf("python3 has no numpy, so it has not read what was written\n");
    remove(script);
    for (int k = 0; k < COUNT_OF(shapes) * COUNT_OF(dtypes); ++k) {
        snprintf(script, sizeof script, "%s.%d", path, k);
        remove(script);
    }
}

/* Whether there is a file of the path's name with `end` behind it */
static int exists(const char *end) {
    char name[600];
    FILE *f;
    snprintf(name, sizeof name, "%s%s", path, end);
    f = fopen(name, "rb");
    if (f != NULL) fclose(f);
    return f != NULL;
}

/* The array is not written, with this in the message, and what the file held before is still there. */
static void no_save(const char *to, const void *data, gpul_dtype dtype, gpul_shape shape, const char *word) {
    static const double before[2] = {5, 6};
    double now[2] = {0, 0};
    npy_file npy, old;
    CHECK(npy_save(&old, path, before, GPUL_F64, gpul_1d(2)));
    if (CHECK(!npy_save(&npy, to, data, dtype, shape)) && !CHECK(strstr(npy.error, word) != NULL)) {
        printf("'%s' is not in: %s\n", word, npy.error);
    }
    CHECK(npy.file == NULL);
    CHECK(strncmp(npy.error, to, strlen(to)) == 0);
    CHECK(!exists(".part"));
    if (!CHECK(npy_open(&old, path))) return;
    CHECK(npy_read(&old, now, GPUL_F64));
    CHECK_BYTES(now, before, sizeof before);
    npy_close(&old);
}

static void test_save_refusals(void) {
    static const double data[5000] = {1, 2, 3, 4};
    struct rlimit all, little;
    gpul_shape shape = gpul_2d(2, 2);
    no_save(path, data, GPUL_F16, shape, "float16 is none of");
    no_save(path, data, (gpul_dtype)77, shape, "is none of");
    no_save(path, NULL, GPUL_F64, shape, "data is NULL");
    no_save(path, data, GPUL_F64, gpul_2d(2, -1), "dimension 1 is -1");
    no_save(path, data, GPUL_F64, gpul_2d(INT64_MAX, 2), "63 bits");
    shape.ndim = 5;
    no_save(path, data, GPUL_F64, shape, "5 dimensions");
    shape.ndim = -1;
    no_save(path, data, GPUL_F64, shape, "-1 dimensions");
    no_save("/nonexistent/x.npy", data, GPUL_F64, gpul_1d(4), "cannot write: No such file");
    no_save("/proc", data, GPUL_F64, gpul_1d(4), "cannot write: ");

    /* a disk that is full after 8000 bytes: the last write fails, or closing does */
    if (!CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0)) return;
    little = all;
    little.rlim_cur = 8000;
    fflush(stdout);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
    no_save(path, data, GPUL_F64, gpul_1d(5000), "cannot write: File too large");
    no_save(path, data, GPUL_F64, gpul_1d(1000), "cannot write: File too large");
    CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
    signal(SIGXFSZ, SIG_DFL);
}

int main(void) {
    const char *folder = getenv("BUILD");
    snprintf(path, sizeof path, "%s/test_npy.npy", folder != NULL ? folder : ".");
    check_begin("test_npy");
    RUN(test_dtypes);
    RUN(test_rounding);
    RUN(test_shapes);
    RUN(test_refusals);
    RUN(test_truncation);
    RUN(test_shrinking);
    RUN(test_damage);
    RUN(test_save);
    RUN(test_save_refusals);
    remove(path);
    return check_end();
}
