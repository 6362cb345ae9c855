/* SPDX-License-Identifier: MIT
 *
 * npy.h - reads and writes NumPy's .npy files: float32, float64, int32, int64 and uint8, C and Fortran order, up to four
 * dimensions. It reads versions 1 to 3 and writes 1.0. All else is refused with one line that says what and why.
 *
 *     npy_file npy;
 *     if (!npy_open(&npy, "x.npy")) die(npy.error);        // header only: npy.dtype, npy.shape.dim[i], npy.count
 *     float *x = malloc(npy.count * sizeof *x);            // or memory that gpul_pinned_array made
 *     if (!npy_read(&npy, x, GPUL_F32)) die(npy.error);    // the elements in the file's order, converted
 *     npy_close(&npy);
 *     if (!npy_save(&npy, "y.npy", y, GPUL_F32, gpul_2d(3, 4))) die(npy.error);    // the elements in the shape's order
 *
 * The file is not trusted: no length in it is used before it is checked against 64 bits and against the file's size.
 * Include gpulite.h first (for gpul_dtype and gpul_shape). Little-endian machines only, as CUDA's are.
 */
#ifndef NPY_H
#define NPY_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NPY_MAX_HEADER 4096 /* NumPy's own headers of plain arrays stay below 200 bytes */

typedef struct npy_file {
    FILE *file;
    gpul_dtype dtype;
    gpul_shape shape; /* order: GPUL_ORDER_F when the file says fortran_order */
    int64_t count;    /* elements */
    char error[512];  /* after a failure: "path: what is wrong" */
    char path[256];   /* for messages; a longer one is cut */
} npy_file;

static void npy_close(npy_file *npy) {
    if (npy->file != NULL) fclose(npy->file);
    npy->file = NULL;
}

/* Records the message, closes the file, and returns 0 for the caller to return. */
static int npy_fail(npy_file *npy, const char *format, ...) {
    va_list args;
    const int n = snprintf(npy->error, sizeof npy->error, "%s: ", npy->path);
    va_start(args, format);
    vsnprintf(npy->error + n, sizeof npy->error - (size_t)n, format, args);
    va_end(args);
    npy_close(npy);
    return 0;
}

/* fread of exactly n bytes */
static int npy_bytes(npy_file *npy, void *out, size_t n, const char *what) {
    const size_t got = fread(out, 1, n, npy->file);
    if (got == n) return 1;
    if (ferror(npy->file)) return npy_fail(npy, "cannot read %s: %s", what, strerror(errno));
    return npy_fail(npy, "truncated: the file ends %lu bytes into %s of %lu bytes", (unsigned long)got, what,
                    (unsigned long)n);
}

/* ------------------------------------------------------- the header: a Python dictionary of three known keys --------- */

/* The text ends with a NUL, which no rule below accepts, so that the cursor never passes the end. */
static void npy_space(const char **p) {
    while (**p == ' ' || **p == '\t' || **p == '\n' || **p == '\r') ++*p;
}

/* Skips blanks, then takes `token` if it comes next. */
static int npy_take(const char **p, const char *token) {
    const size_t n = strlen(token);
    npy_space(p);
    if (strncmp(*p, token, n) != 0) return 0;
    *p += n;
    return 1;
}

/* 'text' or "text", shorter than size, printable, without escapes */
static int npy_string(const char **p, char *out, size_t size) {
    size_t n = 0;
    char quote;
    npy_space(p);
    quote = **p;
    if (quote != '\'' && quote != '"') return 0;
    for (++*p; **p != quote; ++*p) {
        if (**p < ' ' || **p > '~' || **p == '\\' || n + 1 >= size) return 0;
        out[n++] = **p;
    }
    out[n] = '\0';
    ++*p;
    return 1;
}

/* (3, 4) or (3,) or (): -1 for bad syntax, otherwise the number of dimensions; only the first GPUL_MAX_DIMS are stored.
 * A dimension past 63 bits is stored as -1. */
static int npy_tuple(const char **p, int64_t *dim) {
    int n = 0;
    if (!npy_take(p, "(")) return -1;
    while (!npy_take(p, ")")) {
        int64_t value = 0;
        if (**p < '0' || **p > '9') return -1;
        for (; **p >= '0' && **p <= '9'; ++*p) {
            const int digit = **p - '0';
            value = value < 0 || value > (INT64_MAX - digit) / 10 ? -1 : value * 10 + digit;
        }
        if (**p == 'L') ++*p; /* Python 2 wrote 3L */
        if (n < GPUL_MAX_DIMS) dim[n] = value;
        if (n < 1000) ++n;
        if (!npy_take(p, ",")) {
            if (n == 1 || !npy_take(p, ")")) return -1; /* (3) is a number, not a tuple */
            break;
        }
    }
    return n;
}

static const struct {
    const char *name;
    gpul_dtype dtype;
} npy_dtypes[] = {{"<f4", GPUL_F32}, {"<f8", GPUL_F64}, {"<i4", GPUL_I32},
                  {"<i8", GPUL_I64}, {"|u1", GPUL_U8},  {"<u1", GPUL_U8}};

static int npy_dtype(npy_file *npy, const char *descr) {
    size_t i;
    for (i = 0; i < sizeof npy_dtypes / sizeof npy_dtypes[0]; ++i) {
        if (strcmp(descr, npy_dtypes[i].name) == 0) {
            npy->dtype = npy_dtypes[i].dtype;
            return 1;
        }
    }
    if (descr[0] == '>') return npy_fail(npy, "big-endian dtype '%s'; save x.astype(x.dtype.newbyteorder('<'))", descr);
    return npy_fail(npy, "dtype '%s' is none of float32, float64, int32, int64, uint8", descr);
}

/* The number of elements of a shape without negative dimensions */
static int npy_count(npy_file *npy) {
    int i;
    npy->count = 1;
    for (i = 0; i < npy->shape.ndim; ++i) {
        if (npy->shape.dim[i] == 0) npy->count = 0;
    }
    for (i = 0; i < npy->shape.ndim && npy->count != 0; ++i) {
        if (npy->count > INT64_MAX / (int64_t)sizeof(double) / npy->shape.dim[i]) {
            return npy_fail(npy, "the size of the array does not fit in 63 bits");
        }
        npy->count *= npy->shape.dim[i];
    }
    return 1;
}

static int npy_header(npy_file *npy, const char *text) {
    const char *p = text;
    char descr[64] = "";
    int seen_descr = 0, seen_order = 0, seen_shape = 0, ndim = 0, i;
    npy->shape = gpul_0d();
    if (!npy_take(&p, "{")) return npy_fail(npy, "the header is not a dictionary");
    while (!npy_take(&p, "}")) {
        char key[32];
        if (!npy_string(&p, key, sizeof key) || !npy_take(&p, ":")) {
            return npy_fail(npy, "bad header at byte %ld: expected 'key':", (long)(p - text));
        }
        if (strcmp(key, "descr") == 0 && !seen_descr++) {
            if (npy_take(&p, "[")) return npy_fail(npy, "structured dtypes are not supported");
            if (!npy_string(&p, descr, sizeof descr)) {
                return npy_fail(npy, "bad header at byte %ld: 'descr' is not a dtype", (long)(p - text));
            }
        } else if (strcmp(key, "fortran_order") == 0 && !seen_order++) {
            if (npy_take(&p, "True")) {
                npy->shape.order = GPUL_ORDER_F;
            } else if (!npy_take(&p, "False")) {
                return npy_fail(npy, "bad header at byte %ld: 'fortran_order' is not True or False", (long)(p - text));
            }
        } else if (strcmp(key, "shape") == 0 && !seen_shape++) {
            ndim = npy_tuple(&p, npy->shape.dim);
            if (ndim < 0) {
                return npy_fail(npy, "bad header at byte %ld: 'shape' is not a tuple of sizes", (long)(p - text));
            }
        } else {
            return npy_fail(npy, "bad header: key '%s' is unknown or repeated", key);
        }
        if (!npy_take(&p, ",")) {
            if (npy_take(&p, "}")) break;
            return npy_fail(npy, "bad header at byte %ld: expected , or }", (long)(p - text));
        }
    }
    npy_space(&p);
    if (*p != '\0') return npy_fail(npy, "bad header: something follows the dictionary");
    if (!seen_descr || !seen_order || !seen_shape) {
        return npy_fail(npy, "bad header: '%s' is missing",
                        !seen_descr   ? "descr"
                        : !seen_order ? "fortran_order"
                                      : "shape");
    }
    if (ndim > GPUL_MAX_DIMS) return npy_fail(npy, "%d dimensions; at most %d", ndim, GPUL_MAX_DIMS);
    npy->shape.ndim = ndim;
    if (!npy_dtype(npy, descr)) return 0;

    for (i = 0; i < ndim; ++i) {
        if (npy->shape.dim[i] < 0) return npy_fail(npy, "dimension %d does not fit in 63 bits", i);
    }
    return npy_count(npy);
}

/* ------------------------------------------------------------------------------------------------ opening, reading --- */

/* Opens the file and reads its header. Returns 1, or 0 with npy->error set and nothing left open. */
static inline int npy_open(npy_file *npy, const char *path) {
    unsigned char start[12];
    char text[NPY_MAX_HEADER + 1];
    uint32_t length;
    long here, end;

    memset(npy, 0, sizeof *npy);
    snprintf(npy->path, sizeof npy->path, "%s", path);
    npy->file = fopen(path, "rb");
    if (npy->file == NULL) return npy_fail(npy, "cannot open: %s", strerror(errno));

    if (!npy_bytes(npy, start, 6, "the magic string")) return 0;
    if (memcmp(start, "PK\3\4", 4) == 0) return npy_fail(npy, "an .npz archive; unzip it to get its .npy files");
    if (memcmp(start, "\x93NUMPY", 6) != 0) return npy_fail(npy, "not an .npy file: it does not start with \\x93NUMPY");
    if (!npy_bytes(npy, start, 4, "the version")) return 0;
    if (start[0] < 1 || start[0] > 3 || start[1] != 0) {
        return npy_fail(npy, "version %d.%d of the format; known are 1.0, 2.0 and 3.0", start[0], start[1]);
    }
    length = (uint32_t)start[2] | (uint32_t)start[3] << 8;
    if (start[0] > 1) {
        if (!npy_bytes(npy, start, 2, "the header's length")) return 0;
        length |= (uint32_t)start[0] << 16 | (uint32_t)start[1] << 24;
    }
    if (length > NPY_MAX_HEADER) {
        return npy_fail(npy, "a header of %lu bytes; at most %d", (unsigned long)length, NPY_MAX_HEADER);
    }
    if (!npy_bytes(npy, text, length, "the header")) return 0;
    text[length] = '\0';
    if (strlen(text) != length) return npy_fail(npy, "bad header: a NUL byte");
    if (!npy_header(npy, text)) return 0;

    /* Compare with the file's size before anybody allocates what the header asks for. A pipe cannot tell: then npy_read
     * finds out. Bytes after the data are allowed, as NumPy allows them. */
    here = ftell(npy->file);
    if (here >= 0 && fseek(npy->file, 0, SEEK_END) == 0) {
        const int64_t need = npy->count * (int64_t)gpul_dtype_size(npy->dtype);
        end = ftell(npy->file);
        if (end < here || fseek(npy->file, here, SEEK_SET) != 0) return npy_fail(npy, "cannot seek");
        if (need > end - here) {
            return npy_fail(npy, "truncated: the header promises %lld bytes of data, the file holds %lld",
                            (long long)need, (long long)(end - here));
        }
    }
    return 1;
}

/* Reads all elements into `out` as `dtype`: the file's own, or GPUL_F32 or GPUL_F64, to which everything converts.
 * Returns 1, or 0 with npy->error set and the file closed. */
static inline int npy_read(npy_file *npy, void *out, gpul_dtype dtype) {
    union {
        float f32[4096];
        double f64[4096];
        int32_t i32[4096];
        int64_t i64[4096];
        uint8_t u8[4096];
    } block;
    const size_t size = gpul_dtype_size(npy->dtype);
    int64_t done;

    if (npy->file == NULL) return npy_fail(npy, "the file is not open");
    if (dtype != npy->dtype && dtype != GPUL_F32 && dtype != GPUL_F64) {
        return npy_fail(npy, "%s does not convert to %s", gpul_dtype_name(npy->dtype), gpul_dtype_name(dtype));
    }
    for (done = 0; done < npy->count;) {
        const int64_t left = npy->count - done, n = left < 4096 ? left : 4096;
        int64_t i;
        if (!npy_bytes(npy, block.u8, (size_t)n * size, "a block of data")) return 0;
        if (dtype == npy->dtype) {
            memcpy((char *)out + (size_t)done * size, block.u8, (size_t)n * size);
        } else {
            for (i = 0; i < n; ++i) {
                double value = 0;
                switch (npy->dtype) {
                case GPUL_F32: value = (double)block.f32[i]; break;
                case GPUL_F64: value = block.f64[i]; break;
                case GPUL_I32: value = (double)block.i32[i]; break;
                case GPUL_I64: value = (double)block.i64[i]; break;
                case GPUL_U8: value = (double)block.u8[i]; break;
                default: break;
                }
                if (dtype != GPUL_F32) {
                    ((double *)out)[done + i] = value;
                } else if (npy->dtype == GPUL_I64) { /* as a double it would be rounded twice */
                    ((float *)out)[done + i] = (float)block.i64[i];
                } else {
                    ((float *)out)[done + i] = (float)value;
                }
            }
        }
        done += n;
    }
    return 1;
}

/* ------------------------------------------------------------------------------------------------------- writing --- */

/* Writes `path`: the elements of `data`, which lie densely in the shape's order, C or Fortran. The file takes its name when
 * all of it has been written: a failure leaves what was there before. Until then it is called `path` with .part behind it.
 * Returns 1, or 0 with npy->error set. */
static inline int npy_save(npy_file *npy, const char *path, const void *data, gpul_dtype dtype, gpul_shape shape) {
    char text[192], *part;
    const char *descr = NULL;
    size_t bytes, length, i;
    int good = 0, error, k;

    memset(npy, 0, sizeof *npy);
    snprintf(npy->path, sizeof npy->path, "%s", path);
    npy->dtype = dtype;
    npy->shape = shape;
    for (i = 0; i < sizeof npy_dtypes / sizeof npy_dtypes[0] && descr == NULL; ++i) {
        if (npy_dtypes[i].dtype == dtype) descr = npy_dtypes[i].name;
    }
    if (descr == NULL) {
        return npy_fail(npy, "%s is none of float32, float64, int32, int64, uint8", gpul_dtype_name(dtype));
    }
    if (shape.ndim < 0 || shape.ndim > GPUL_MAX_DIMS) {
        return npy_fail(npy, "%d dimensions; 0 to %d can be", (int)shape.ndim, GPUL_MAX_DIMS);
    }
    for (k = 0; k < shape.ndim; ++k) {
        if (shape.dim[k] < 0) return npy_fail(npy, "dimension %d is %lld", k, (long long)shape.dim[k]);
    }
    if (!npy_count(npy)) return 0;
    if (data == NULL && npy->count > 0) return npy_fail(npy, "data is NULL");
    bytes = (size_t)npy->count * gpul_dtype_size(dtype);

    /* a dictionary, and spaces behind it until the data begin at a multiple of 64 bytes */
    memcpy(text, "\x93NUMPY\1", 8); /* version 1.0 */
    length = 10 + (size_t)snprintf(text + 10, sizeof text - 10, "{'descr': '%s', 'fortran_order': %s, 'shape': (",
                                   descr, shape.order == GPUL_ORDER_F ? "True" : "False");
    for (k = 0; k < shape.ndim; ++k) {
        length +=
            (size_t)snprintf(text + length, sizeof text - length, k > 0 ? ", %lld" : "%lld", (long long)shape.dim[k]);
    }
    length += (size_t)snprintf(text + length, sizeof text - length, shape.ndim == 1 ? ",), }" : "), }");
    while (length % 64 != 63) text[length++] = ' ';
    text[length++] = '\n';
    text[8] = (char)(length - 10);
    text[9] = 0;

    part = (char *)malloc(strlen(path) + sizeof ".part");
    if (part == NULL) return npy_fail(npy, "no memory for its name");
    snprintf(part, strlen(path) + sizeof ".part", "%s.part", path);
    npy->file = fopen(part, "wb");
    error = errno;
    if (npy->file != NULL) {
        good = fwrite(text, 1, length, npy->file) == length;
        if (good && bytes > 0) good = fwrite(data, 1, bytes, npy->file) == bytes;
        error = errno;
        if (fclose(npy->file) != 0 && good) {
            good = 0;
            error = errno;
        }
        npy->file = NULL;
        if (good && rename(part, path) != 0) {
            good = 0;
            error = errno;
        }
        if (!good) remove(part);
    }
    free(part);
    return good || npy_fail(npy, "cannot write: %s", strerror(error));
}

#endif /* NPY_H */
