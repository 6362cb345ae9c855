/* SPDX-License-Identifier: MIT
 *
 * check.h - the whole test harness. A test program includes it, calls check_begin("name"), its tests through
 * RUN(test_function), and returns check_end(), which prints the one summary line "name: N passed, M failed".
 *
 * Comparisons are written so that NaN cannot pass where a number was wanted: a value is good only if
 * `error <= tolerance` holds, never if `error > tolerance` does not.
 */
#ifndef CHECK_H
#define CHECK_H

#include <cuda_runtime_api.h>
#ifdef GPULITE_CPU_STANDIN
#include "standin.h"
#endif
#include "gpulite.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define CHECK_UNUSED __attribute__((unused))
#define CHECK_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define CHECK_UNUSED
#define CHECK_PRINTF(a, b)
#endif

/* ---- counting ---- */

static const char *check_name = "?", *check_test = "?";
static long check_passed, check_failed;
static int check_ran;           /* how many tests */
static int check_leaks_too = 1; /* 0 where releases were made to fail */

static int check_fail(const char *file, int line, const char *format, ...) CHECK_PRINTF(3, 4);
static int check_fail(const char *file, int line, const char *format, ...) {
    check_failed++;
    if (check_failed <= 30) {
        va_list list;
        printf("%s:%d: %s: ", file, line, check_test);
        va_start(list, format);
        vprintf(format, list);
        va_end(list);
        printf("\n");
        if (getenv("CHECK_STOP")) { /* for whoever only asks whether anything fails */
            fflush(stdout);
            abort();
        }
        if (check_failed == 30) printf("(further failures are counted, not shown)\n");
        fflush(stdout);
    }
    return 0;
}
static int check_pass(void) {
    check_passed++;
    return 1;
}

static CHECK_UNUSED int check_true(int good, const char *text, const char *file, int line) {
    return good ? check_pass() : check_fail(file, line, "not true: %s", text);
}
static CHECK_UNUSED int check_int(long long got, long long want, const char *text, const char *file, int line) {
    return got == want ? check_pass() : check_fail(file, line, "%s is %lld, wanted %lld", text, got, want);
}
static CHECK_UNUSED int check_near(double got, double want, double tolerance, const char *text, const char *file,
                                   int line) {
    const double error = got == want ? 0 : fabs(got - want); /* the first case is for infinities */
    if (!(error <= tolerance))
        return check_fail(file, line, "%s is %.17g, wanted %.17g within %.3g", text, got, want, tolerance);
    return check_pass();
}
static CHECK_UNUSED int check_string(const char *got, const char *want, const char *text, const char *file, int line) {
    return got && strcmp(got, want) == 0
               ? check_pass()
               : check_fail(file, line, "%s is \"%s\", wanted \"%s\"", text, got ? got : "(null)", want);
}
static CHECK_UNUSED int check_bytes(const void *got, const void *want, size_t bytes, const char *text, const char *file,
                                    int line) {
    const unsigned char *g = (const unsigned char *)got, *w = (const unsigned char *)want;
    for (size_t i = 0; i < bytes; i++)
        if (g[i] != w[i])
            return check_fail(file, line, "%s: byte %lu of %lu is %02x, wanted %02x", text, (unsigned long)i,
                              (unsigned long)bytes, g[i], w[i]);
    return check_pass();
}
static CHECK_UNUSED int check_ok(gpul_status status, const char *text, const char *file, int line) {
    if (status == GPUL_OK) return check_pass();
    return check_fail(file, line, "%s: %s, \"%s\"", text, gpul_status_name(status), gpul_last_error()->message);
}
/* The call failed as it should: status, record, function name and (when not NULL) a word of the message. */
static CHECK_UNUSED int check_fails(gpul_status status, gpul_status want, const char *function, const char *word,
                                    const char *text, const char *file, int line) {
    const gpul_error *e = gpul_last_error();
    if (status != want)
        return check_fail(file, line, "%s: %s, wanted %s (record: \"%s\")", text, gpul_status_name(status),
                          gpul_status_name(want), e->message);
    if (e->status != want)
        return check_fail(file, line, "%s: the record has %s, wanted %s", text, gpul_status_name(e->status),
                          gpul_status_name(want));
    if (strcmp(e->function, function) != 0 || strncmp(e->message, function, strlen(function)) != 0)
        return check_fail(file, line, "%s: the record names \"%s\", message \"%s\", wanted %s", text, e->function,
                          e->message, function);
    if (word && !strstr(e->message + strlen(function), word))
        return check_fail(file, line, "%s: message \"%s\" does not name \"%s\"", text, e->message, word);
    if (strchr(e->message, '\n') || strlen(e->message) < strlen(function) + 4)
        return check_fail(file, line, "%s: message \"%s\" is not one telling line", text, e->message);
    return check_pass();
}

#define CHECK(condition) check_true((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_INT(got, want) check_int((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define CHECK_NEAR(got, want, tolerance) check_near(got, want, tolerance, #got, __FILE__, __LINE__)
#define CHECK_STRING(got, want) check_string(got, want, #got, __FILE__, __LINE__)
#define CHECK_BYTES(got, want, bytes) check_bytes(got, want, bytes, #got, __FILE__, __LINE__)
#define CHECK_OK(call) check_ok(call, #call, __FILE__, __LINE__)
#define CHECK_FAILS(call, status, function, word)                                                                      \
    check_fails((gpul_clear_error(), (call)), status, function, word, #call, __FILE__, __LINE__)
#define CHECK_CUDA(call) CHECK_INT(call, cudaSuccess)
#define FAIL(...) check_fail(__FILE__, __LINE__, __VA_ARGS__)
#define COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* ---- the runner ---- */

static CHECK_UNUSED void check_begin(const char *name) {
    check_name = name;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

/* After every test: nothing of the library's is left behind on any device, and no CUDA error is. */
static CHECK_UNUSED void check_clean(void) {
    int devices = 0, device = 0;
    const cudaError_t pending = cudaGetLastError();
    if (pending != cudaSuccess) FAIL("a CUDA error was left pending: %s", cudaGetErrorName(pending));
    if (cudaGetDeviceCount(&devices) != cudaSuccess) {
        (void)cudaGetLastError();
        devices = 0;
    }
    if (devices > 0 && cudaGetDevice(&device) == cudaSuccess) {
        for (int i = 0; i < devices; i++) {
            int64_t used = -1;
            if (cudaSetDevice(i) != cudaSuccess) FAIL("cudaSetDevice(%d)", i);
            CHECK_OK(gpul_device_synchronize());
            CHECK_OK(gpul_memory_used(&used, NULL));
            if (check_leaks_too) CHECK_INT(used, 0);
        }
        CHECK_CUDA(cudaSetDevice(device));
    }
}

/* CHECK_ONLY=name in the environment: that test alone */
#define RUN(test)                                                                                                      \
    do {                                                                                                               \
        const char *const check_only = getenv("CHECK_ONLY");                                                           \
        if (check_only && check_only[0] && strcmp(check_only, #test) != 0) break;                                      \
        check_test = #test;                                                                                            \
        check_ran++;                                                                                                   \
        check_seed(20261121);                                                                                          \
        test();                                                                                                        \
        check_clean();                                                                                                 \
    } while (0)

static CHECK_UNUSED int check_end(void) {
    const char *const only = getenv("CHECK_ONLY");
    if (only && only[0] && check_ran == 0) FAIL("CHECK_ONLY=%s is no test of this program", only);
#ifdef GPULITE_CPU_STANDIN
    check_test = "end";
    standin_drain();
    if (check_leaks_too) {
        CHECK_INT(standin_live_allocations(), 0);
        CHECK_INT(standin_live_streams(), 0);
        CHECK_INT(standin_live_events(), 0);
        CHECK_INT(standin_live_graphs(), 0);
        CHECK_INT(standin_live_registrations(), 0);
    } else {
        standin_leaks(0);
    }
#endif
    printf("%s: %ld passed, %ld failed\n", check_name, check_passed, check_failed);
    return check_failed || !check_passed ? 1 : 0;
}

/* ---- random numbers (splitmix64) ---- */

static uint64_t check_state = 1;
static CHECK_UNUSED void check_seed(uint64_t seed) { check_state = seed; }
static CHECK_UNUSED uint64_t rng_u64(void) {
    uint64_t z = check_state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static CHECK_UNUSED int64_t rng_below(int64_t n) { return (int64_t)(rng_u64() % (uint64_t)n); }
static CHECK_UNUSED double rng_unit(void) { return (double)(rng_u64() >> 11) * 0x1p-53; }       /* [0, 1) */
static CHECK_UNUSED double rng_signed(void) { return (double)(rng_u64() >> 11) * 0x1p-52 - 1; } /* [-1, 1) */

/* ---- one element of any dtype: floats in .f, integers in .i (and .f holds the value too) ---- */

static const gpul_dtype all_dtypes[7] = {GPUL_F32, GPUL_F64, GPUL_I32, GPUL_I64, GPUL_U8, GPUL_F16, GPUL_BF16};

typedef struct num {
    double f;
    int64_t i;
} num;

static CHECK_UNUSED int is_float(gpul_dtype t) {
    return t == GPUL_F32 || t == GPUL_F64 || t == GPUL_F16 || t == GPUL_BF16;
}
static CHECK_UNUSED num num_load(gpul_dtype t, const void *p) {
    num v = {0, 0};
    if (t == GPUL_F32) {
        float x;
        memcpy(&x, p, 4);
        v.f = x;
    } else if (t == GPUL_F64) {
        memcpy(&v.f, p, 8);
    } else if (t == GPUL_I32) {
        int32_t x;
        memcpy(&x, p, 4);
        v.i = x;
    } else if (t == GPUL_I64) {
        memcpy(&v.i, p, 8);
    } else if (t == GPUL_U8) {
        v.i = *(const unsigned char *)p;
    } else {
        uint16_t x;
        memcpy(&x, p, 2);
        v.f = t == GPUL_F16 ? gpul_f16_to_float(x) : gpul_bf16_to_float(x);
    }
    if (!is_float(t)) v.f = (double)v.i;
    return v;
}
/* Floats are rounded to the type; integers wrap. */
static CHECK_UNUSED void num_store(gpul_dtype t, void *p, num v) {
    if (t == GPUL_F32) {
        const float x = (float)v.f;
        memcpy(p, &x, 4);
    } else if (t == GPUL_F64) {
        memcpy(p, &v.f, 8);
    } else if (t == GPUL_I32) {
        const uint32_t x = (uint32_t)(uint64_t)v.i;
        memcpy(p, &x, 4);
    } else if (t == GPUL_I64) {
        memcpy(p, &v.i, 8);
    } else if (t == GPUL_U8) {
        *(unsigned char *)p = (unsigned char)(uint64_t)v.i;
    } else {
        const uint16_t x = t == GPUL_F16 ? gpul_f16_from_float((float)v.f) : gpul_bf16_from_float((float)v.f);
        memcpy(p, &x, 2);
    }
}
static CHECK_UNUSED num num_of(double f) {
    num v;
    v.f = f;
    v.i = f >= -9.2e18 && f <= 9.2e18 ? (int64_t)f : 0;
    return v;
}
static CHECK_UNUSED num num_of_int(int64_t i) {
    num v;
    v.f = (double)i;
    v.i = i;
    return v;
}
/* Same value, where any NaN equals any NaN and zeros have signs. */
static CHECK_UNUSED int num_same(gpul_dtype t, num a, num b) {
    if (!is_float(t)) return a.i == b.i;
    if (a.f != a.f || b.f != b.f) return a.f != a.f && b.f != b.f;
    return a.f == b.f && (signbit(a.f) != 0) == (signbit(b.f) != 0);
}

/* Values of every dtype that are the same everywhere, for bits that are recorded. */
static CHECK_UNUSED uint64_t lcg;
static CHECK_UNUSED uint32_t lcg_next(void) {
    lcg = lcg * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(lcg >> 32);
}
static CHECK_UNUSED void lcg_value(gpul_dtype t, void *p) { /* exact in every type: no rounding, no library function */
    const uint32_t a = lcg_next(), b = lcg_next();
    const double m = (double)(int32_t)(a >> 8) - 8388608.0; /* 24 bits */
    const int e = (int)(b % 41) - 40;
    num v = {0, 0};
    v.i = (int64_t)(((uint64_t)a << 32) | b);
    if (t == GPUL_F32) v.f = ldexp(m, e);
    else if (t == GPUL_F64) v.f = ldexp(m * 536870912.0 + (double)(b >> 3), e);
    else v.f = (double)((int)(a >> 16) % 2001 - 1000) / (t == GPUL_F16 ? 16.0 : 1.0);
    if (t == GPUL_BF16) v.f = (double)((int)(a >> 16) % 201 - 100);
    num_store(t, p, v);
}

/* ---- boxes: an array of any layout inside a larger buffer whose every other byte is known ----
 *
 * box_make lays an array out in `bytes` bytes of device memory (or another kind), with guard bands in front and behind
 * and its gaps filled: with FILL_NAN all bytes are 0xFF (every float type's NaN) and the guards are 64 bytes wide; with
 * FILL_GARBAGE the bytes are random and there is no guard at all, so that a step outside leaves the allocation, which
 * the stand-in and compute-sanitizer see. */
enum { FILL_NAN = 0, FILL_GARBAGE = 1 };
enum { LAY_C = 0, LAY_F, LAY_C_PAD, LAY_F_PAD, LAY_STRIDED, LAY_TURNED, LAYOUTS };

typedef struct box {
    gpul_array base;      /* owns the memory; bytes */
    gpul_array view;      /* the array under test */
    unsigned char *image; /* host copy of what was uploaded */
    unsigned char *now;   /* host copy of what was last fetched */
    int64_t bytes, origin, n;
} box;

static CHECK_UNUSED void lay_strides(int64_t *strides, int32_t ndim, const int64_t *shape, int layout) {
    int64_t step = layout == LAY_STRIDED ? 2 : 1;
    int first = 1;
    for (int k = 0; k < ndim; k++) {
        int axis = ndim - 1 - k; /* axes from fastest to slowest */
        if (layout == LAY_F || layout == LAY_F_PAD) axis = k;
        else if (layout == LAY_TURNED) /* the slowest axis of C order becomes the fastest */
            axis = k == 0 ? 0 : ndim - k;
        strides[axis] = step;
        step *= shape[axis] > 0 ? shape[axis] : 1;
        if (first && ndim > 1 && (layout == LAY_C_PAD || layout == LAY_F_PAD || layout == LAY_STRIDED)) step += 3;
        first = 0;
    }
}
static CHECK_UNUSED int64_t shape_product(int32_t ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int k = 0; k < ndim; k++) n *= shape[k];
    return n;
}
static CHECK_UNUSED gpul_shape shape_of(int32_t ndim, const int64_t *shape) {
    gpul_shape s = gpul_0d();
    s.ndim = ndim;
    for (int k = 0; k < ndim; k++) s.dim[k] = shape[k];
    return s;
}
/* Byte offset in the box of element i, counted in row-major order. */
static CHECK_UNUSED int64_t box_at(const box *b, int64_t i) {
    int64_t offset = 0;
    for (int k = b->view.ndim - 1; k >= 0; k--) {
        offset += (i % b->view.shape[k]) * b->view.strides[k];
        i /= b->view.shape[k];
    }
    return b->origin + offset * (int64_t)gpul_dtype_size(b->view.dtype);
}
static CHECK_UNUSED num box_get(const box *b, int64_t i) { return num_load(b->view.dtype, b->image + box_at(b, i)); }
static CHECK_UNUSED num box_got(const box *b, int64_t i) { return num_load(b->view.dtype, b->now + box_at(b, i)); }
/* Index into a box that broadcasts to out's shape, for element i of out in row-major order. */
static CHECK_UNUSED int64_t broadcast_index(const box *from, const box *out, int64_t i) {
    const int shift = out->view.ndim - from->view.ndim;
    int64_t index = 0, scale = 1;
    for (int k = out->view.ndim - 1; k >= 0; k--) {
        const int64_t at = i % out->view.shape[k];
        i /= out->view.shape[k];
        if (k >= shift) {
            if (from->view.shape[k - shift] != 1) index += at * scale;
            scale *= from->view.shape[k - shift];
        }
    }
    return index;
}
/* Of the elements that were last fetched, in row-major order: FNV-1a. */
static CHECK_UNUSED uint64_t box_hash(const box *b) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < b->n; i++)
        for (size_t k = 0; k < gpul_dtype_size(b->view.dtype); k++)
            hash = (hash ^ b->now[box_at(b, i) + (int64_t)k]) * 0x100000001b3u;
    return hash;
}
static CHECK_UNUSED void box_put(box *b, int64_t i, num v) { num_store(b->view.dtype, b->image + box_at(b, i), v); }

static CHECK_UNUSED int box_memory(gpul_array *out, int memory, int64_t bytes) {
    if (memory == GPUL_MEMORY_PINNED) return CHECK_OK(gpul_pinned_array(out, GPUL_U8, gpul_1d(bytes)));
    if (memory == GPUL_MEMORY_MAPPED) return CHECK_OK(gpul_mapped_array(out, GPUL_U8, gpul_1d(bytes)));
    if (memory == GPUL_MEMORY_MANAGED) return CHECK_OK(gpul_managed_array(out, GPUL_U8, gpul_1d(bytes)));
    return CHECK_OK(gpul_device_array(out, GPUL_U8, gpul_1d(bytes), NULL));
}
static CHECK_UNUSED void box_upload(box *b) {
    if (b->bytes) CHECK_OK(gpul_copy_to_device(&b->base, b->image, NULL));
}
static CHECK_UNUSED void box_make_strided(box *b, int memory, gpul_dtype dtype, int32_t ndim, const int64_t *shape,
                                          const int64_t *strides, int64_t offset, int fill) {
    const int64_t size = (int64_t)gpul_dtype_size(dtype), guard = fill == FILL_NAN ? 64 : 0;
    int64_t span = 1;
    memset(b, 0, sizeof *b);
    b->n = shape_product(ndim, shape);
    for (int k = 0; k < ndim; k++) span += (shape[k] - 1) * strides[k];
    if (b->n == 0) span = 0;
    b->origin = guard + offset * size;
    b->bytes = b->origin + span * size + guard;
    b->image = (unsigned char *)malloc((size_t)b->bytes + 1);
    b->now = (unsigned char *)malloc((size_t)b->bytes + 1);
    if (!b->image || !b->now) exit(3);
    for (int64_t i = 0; i < b->bytes; i++) b->image[i] = fill == FILL_NAN ? 0xFF : (unsigned char)(rng_u64() >> 40);
    if (b->n == 0) { /* an empty array */
        gpul_shape s = shape_of(ndim, shape);
        CHECK_OK(gpul_device_array(&b->view, dtype, s, NULL));
        b->bytes = 0;
        return;
    }
    if (!box_memory(&b->base, memory, b->bytes)) exit(3);
    CHECK_OK(
        gpul_wrap_strided(&b->view, (unsigned char *)b->base.data + b->origin, dtype, shape_of(ndim, shape), strides));
    box_upload(b);
}
static CHECK_UNUSED void box_make(box *b, gpul_dtype dtype, int32_t ndim, const int64_t *shape, int layout,
                                  int64_t offset, int fill) {
    int64_t strides[GPUL_MAX_DIMS] = {0, 0, 0, 0};
    lay_strides(strides, ndim, shape, layout);
    box_make_strided(b, GPUL_MEMORY_DEVICE, dtype, ndim, shape, strides, offset, fill);
}
static CHECK_UNUSED void box_1d(box *b, gpul_dtype dtype, int64_t n, int64_t offset, int fill) {
    box_make(b, dtype, 1, &n, LAY_C, offset, fill);
}
static CHECK_UNUSED void box_2d(box *b, gpul_dtype dtype, int64_t rows, int64_t cols, int layout, int64_t offset,
                                int fill) {
    int64_t shape[2];
    shape[0] = rows;
    shape[1] = cols;
    box_make(b, dtype, 2, shape, layout, offset, fill);
}
static CHECK_UNUSED void box_free(box *b) {
    CHECK_OK(gpul_free(&b->view));
    CHECK_OK(gpul_free(&b->base));
    free(b->image);
    free(b->now);
    memset(b, 0, sizeof *b);
}
static CHECK_UNUSED void box_fetch(box *b) {
    if (b->bytes) CHECK_OK(gpul_copy_to_host(b->now, &b->base, NULL));
}
/* Nothing in the box has changed: inputs after a call, outputs after a refused one. */
static CHECK_UNUSED int box_unchanged_at(box *b, const char *file, int line) {
    box_fetch(b);
    return check_bytes(b->now, b->image, (size_t)b->bytes, "a box that must not change", file, line);
}
#define BOX_UNCHANGED(b) box_unchanged_at(b, __FILE__, __LINE__)
/* Fetches; no byte outside the array has changed. */
static CHECK_UNUSED int box_guards_at(box *b, const char *file, int line) {
    const int64_t size = (int64_t)gpul_dtype_size(b->view.dtype);
    unsigned char *mask;
    box_fetch(b);
    if (!b->bytes) return 1;
    mask = (unsigned char *)calloc((size_t)b->bytes, 1);
    if (!mask) exit(3);
    for (int64_t i = 0; i < b->n; i++) memset(mask + box_at(b, i), 1, (size_t)size);
    for (int64_t i = 0; i < b->bytes; i++)
        if (!mask[i] && b->now[i] != b->image[i]) {
            free(mask);
            return check_fail(file, line, "byte %lld (elements start at %lld of %lld) outside the output was written",
                              (long long)i, (long long)b->origin, (long long)b->bytes);
        }
    free(mask);
    return check_pass();
}
#define BOX_GUARDS(b) box_guards_at(b, __FILE__, __LINE__)

/* Random elements. Integers: small = -9..9 (u8: 0..18), otherwise the whole range. Floats: small = integers -9..9,
 * otherwise [-1, 1) with random exponents. */
static CHECK_UNUSED num num_random(gpul_dtype t, int small) {
    if (small) return num_of_int(rng_below(19) - (t == GPUL_U8 ? 0 : 9));
    if (is_float(t)) {
        num v = num_of(ldexp(rng_signed(), (int)rng_below(9) - 4)), w;
        unsigned char text[8];
        num_store(t, text, v); /* round to the type, so that references see what the GPU sees */
        w = num_load(t, text);
        return w;
    } else {
        num v = num_of_int((int64_t)rng_u64());
        unsigned char text[8];
        num_store(t, text, v);
        return num_load(t, text);
    }
}
static CHECK_UNUSED void box_random(box *b, int small) {
    for (int64_t i = 0; i < b->n; i++) box_put(b, i, num_random(b->view.dtype, small));
    box_upload(b);
}

/* The documented tree of a reduction, written out once more: a row has 32 lanes of 16 bytes, a warp tile this many
 * rows. */
enum { TREE_SLOTS = 32 };
static CHECK_UNUSED int64_t tree_rows(int64_t n, int64_t vec) {
    const int64_t row = TREE_SLOTS * vec, all = n / row + (n % row != 0), eighth = all / 8 + (all % 8 != 0);
    const int64_t few = eighth / 384 + (eighth % 384 != 0), many = eighth / 32768 + (eighth % 32768 != 0);
    if (few <= 8) return 8;
    if (few <= 512) return few;
    return many <= 128 ? 128 : many;
}

/* ---- files in tests/data ---- */

static CHECK_UNUSED FILE *open_data(const char *name, const char *mode) { /* from the top of the repository */
    char path[1024];
    FILE *f;
    snprintf(path, sizeof path, "tests/data/%s", name);
    f = fopen(path, mode);
    if (!f) FAIL("cannot open %s", path);
    return f;
}

/* 1 when large cases were asked for: GPUL_TEST_LARGE=1 in the environment. */
static CHECK_UNUSED int large_tests(void) {
    const char *text = getenv("GPUL_TEST_LARGE");
    return text && text[0] == '1';
}

/* Whether case k of a loop over many is left out: fifteen of sixteen are where the build makes each of them slow, which
 * make test says by CHECK_QUICK=1 (SANITIZE, WATCH). Which ones follows no pattern that a loop's cases may have. */
static CHECK_UNUSED int left_out(int64_t k) {
    const char *text = getenv("CHECK_QUICK");
    return text && text[0] == '1' && ((uint64_t)k * 0x9E3779B97F4A7C15u) >> 60 != 0;
}

/* In gpulite_impl.c: the number of multiprocessors that plans count on; 0: as many as there are. Few let small cases
 * take the kernels of large ones. */
#ifdef __cplusplus
extern "C" {
#endif
void check_sms(int32_t sms);
/* And M N K from which emulation takes float32 products; 0: as ever. Small ones take a test no minutes. */
void check_emulated_from(int64_t products);
#ifdef __cplusplus
}
#endif

/* Steps of K that matmul's kernels for short K take at most, but for the one on tensor cores */
static CHECK_UNUSED int64_t short_steps(gpul_dtype t) { return t == GPUL_F32 ? 48 : t == GPUL_F64 ? 32 : 16; }
/* Does C have few rows or columns, where a sum is another tree? They are four at most, or, of 16 bits on tensor cores,
 * eight; these have more steps where the other side has nine to sixteen. */
static CHECK_UNUSED int is_thin(gpul_dtype t, int64_t M, int64_t N, int64_t K, int64_t few) {
    const int64_t side = M > N ? M : N;
    return (M <= few || N <= few) && K > (few == 8 && side > 8 && side <= 16 ? 64 : short_steps(t));
}

/* Are float32 products of this shape large enough for emulation? */
static CHECK_UNUSED int is_emulated(int64_t M, int64_t N, int64_t K) {
    return K >= 64 && ((double)M * (double)N - 90 * (double)(M + N)) * (double)K >= 0x1p28;
}

/* Sizes at which kernels go wrong: 0 to 65, powers of two and their neighbours, primes. */
static const int64_t odd_sizes[] = {66,  97,  127,  128,  129,  191,  255,  256,  257,  509,   511,  512,
                                    513, 997, 1023, 1024, 1025, 2047, 2049, 4095, 4097, 10007, 65537};

#endif
