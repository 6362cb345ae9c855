/* SPDX-License-Identifier: MIT
 * A BLAS program on the GPU, without a change of it: a library to be loaded before BLAS, whose dot, asum, gemv and gemm of
 * float and double, Fortran's and C's, run on gpulite. All other functions stay with the BLAS that the program has.
 *
 *     nvcc -arch=native -shared -Xcompiler -fPIC -o libgpulite_blas.so examples/blas/gpulite_blas.c gpulite_kernels.cu
 *     LD_PRELOAD=./libgpulite_blas.so ./program          (with GPULITE_BLAS_COUNT=1 it says at its end how many calls came)
 *
 * With no GPU (tests/cpu/README.md):
 *     g++ -O1 -ffp-contract=off -shared -fPIC -Itests/cpu -o libgpulite_blas.so -x c examples/blas/gpulite_blas.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 * Each call copies its operands to the GPU and its result back, so what gains is what computes much a byte: gemm of large
 * matrices. A program of many calls on the same data does better to keep them there, in gpulite's own arrays. */
#define GPULITE_IMPLEMENTATION
#include "../../gpulite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what BLAS says of wrong arguments: the program's own xerbla, or that of its BLAS ---- */

#define API __attribute__((visibility("default")))
#define IF_THERE extern __attribute__((weak))
IF_THERE void xerbla_(const char *routine, const int *position, size_t length);
IF_THERE void cblas_xerbla(int position, const char *routine, const char *format, ...);
IF_THERE int RowMajorStrg; /* netlib's cblas_xerbla asks it: positions are those of the column-major call */

typedef struct caller { /* which function of BLAS was called */
    const char *name;   /* Fortran's have six letters and upper case, C's begin with cblas_ */
    int row_major;
} caller;

static void wrong(const caller *who, int position) { /* counted from 1 in Fortran's list of arguments */
    if (strncmp(who->name, "cblas_", 6) == 0) {
        if (&RowMajorStrg != NULL) RowMajorStrg = who->row_major;
        if (cblas_xerbla != NULL) {
            cblas_xerbla(position + 1, who->name, "");
            return;
        }
    } else if (xerbla_ != NULL) {
        xerbla_(who->name, &position, strlen(who->name));
        return;
    }
    fprintf(stderr, "%s: argument %d is wrong\n", who->name, position);
    exit(EXIT_FAILURE);
}

/* ---- counting the calls that came here ---- */

enum { DOT, ASUM, GEMV, GEMM, FUNCTIONS };
static long counts[FUNCTIONS];
static void count(int function) { __atomic_fetch_add(&counts[function], 1, __ATOMIC_RELAXED); }
static void __attribute__((destructor)) tell(void) {
    if (getenv("GPULITE_BLAS_COUNT") != NULL)
        fprintf(stderr, "gpulite: %ld dot, %ld asum, %ld gemv, %ld gemm\n", counts[DOT], counts[ASUM], counts[GEMV],
                counts[GEMM]);
}

/* ---- a vector with its increment, or a matrix by columns with its leading dimension, and the GPU ---- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Where element 0 of a vector lies: with a negative increment it is the last in memory. */
static char *first(const void *x, int64_t n, int64_t inc, size_t size) {
    char *at;
    memcpy(&at, &x, sizeof at); /* of inputs, which are const, and of results alike */
    return at + (inc < 0 ? (size_t)((1 - n) * inc) * size : 0);
}
/* Between `columns` of `rows` elements in memory, each `ld` elements behind the one before, and a dense buffer. */
static void pack(void *dense, const char *x, int64_t rows, int64_t columns, int64_t ld, size_t size) {
    for (int64_t j = 0; j < columns; j++)
        memcpy((char *)dense + (size_t)(j * rows) * size, x + j * ld * (int64_t)size, (size_t)rows * size);
}
static void unpack(char *x, const void *dense, int64_t rows, int64_t columns, int64_t ld, size_t size) {
    for (int64_t j = 0; j < columns; j++)
        memcpy(x + j * ld * (int64_t)size, (const char *)dense + (size_t)(j * rows) * size, (size_t)rows * size);
}
static void *memory(int64_t elements, size_t size) {
    void *p = malloc((size_t)larger(elements, 1) * size);
    if (p == NULL) fprintf(stderr, "gpulite_blas: no memory for %lld elements\n", (long long)elements), exit(1);
    return p;
}

/* a = the columns at x. What lies dense goes as it is; `wanted` is 0 where the values do not matter. */
static void to_gpu(gpul_array *a, gpul_dtype t, const char *x, gpul_shape shape, int64_t rows, int64_t columns,
                   int64_t ld, int wanted) {
    const size_t size = gpul_dtype_size(t);
    void *dense = NULL;
    GPUL_CHECK(gpul_device_array(a, t, shape, NULL));
    if (!wanted) return;
    if (ld != rows && columns > 1) pack(dense = memory(rows * columns, size), x, rows, columns, ld, size);
    GPUL_CHECK(gpul_copy_to_device(a, dense != NULL ? dense : x, NULL));
    free(dense);
}
static void from_gpu(char *x, const gpul_array *a, int64_t rows, int64_t columns, int64_t ld) {
    const size_t size = gpul_dtype_size(a->dtype);
    void *dense = NULL;
    if (ld == rows || columns <= 1) {
        GPUL_CHECK(gpul_copy_to_host(x, a, NULL));
        return;
    }
    dense = memory(rows * columns, size);
    GPUL_CHECK(gpul_copy_to_host(dense, a, NULL));
    unpack(x, dense, rows, columns, ld, size);
    free(dense);
}
static void vector_to_gpu(gpul_array *a, gpul_dtype t, const void *x, int64_t n, int64_t inc, int wanted) {
    to_gpu(a, t, first(x, n, inc, gpul_dtype_size(t)), gpul_1d(n), 1, n, inc, wanted);
}

/* ---- the four functions, for both types ---- */

static double dot(gpul_dtype t, int64_t n, const void *x, int64_t incx, const void *y, int64_t incy) {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO, out = GPUL_ZERO;
    double sum = 0;
    count(DOT);
    if (n <= 0) return 0;
    vector_to_gpu(&a, t, x, n, incx, 1);
    vector_to_gpu(&b, t, y, n, incy, 1);
    GPUL_CHECK(gpul_device_array(&out, GPUL_F64, gpul_1d(1), NULL));
    GPUL_CHECK(gpul_dot(&out, &a, &b, NULL));
    GPUL_CHECK(gpul_copy_to_host(&sum, &out, NULL));
    GPUL_CHECK(gpul_free_all(&a, &b, &out));
    return sum;
}

static double asum(gpul_dtype t, int64_t n, const void *x, int64_t incx) {
    gpul_array a = GPUL_ZERO;
    double sum = 0;
    count(ASUM);
    if (n <= 0 || incx <= 0) return 0;
    vector_to_gpu(&a, t, x, n, incx, 1);
    GPUL_CHECK(gpul_reduce_host(&sum, GPUL_F64, &a, GPUL_ABS_SUM, NULL));
    GPUL_CHECK(gpul_free(&a));
    return sum;
}

static void gemv(caller who, gpul_dtype t, int turned, int64_t m, int64_t n, double alpha, const void *a, int64_t lda,
                 const void *x, int64_t incx, double beta, void *y, int64_t incy) {
    const int64_t nx = turned ? m : n, ny = turned ? n : m;
    const int position = turned < 0           ? 1
                         : m < 0              ? 2
                         : n < 0              ? 3
                         : lda < larger(m, 1) ? 6
                         : incx == 0          ? 8
                         : incy == 0          ? 11
                                              : 0;
    gpul_array A = GPUL_ZERO, op_A = GPUL_ZERO, X = GPUL_ZERO, Y = GPUL_ZERO;
    count(GEMV);
    if (position != 0) {
        wrong(&who, position);
        return;
    }
    if (m == 0 || n == 0 || (alpha == 0 && beta == 1)) return;
    to_gpu(&A, t, (const char *)a, gpul_2d_f(m, n), m, n, lda, alpha != 0);
    vector_to_gpu(&X, t, x, nx, incx, alpha != 0);
    vector_to_gpu(&Y, t, y, ny, incy, beta != 0);
    op_A = A;
    if (turned) GPUL_CHECK(gpul_transpose(&op_A, &A));
    GPUL_CHECK(gpul_gemv(&Y, alpha, &op_A, &X, beta, NULL));
    from_gpu(first(y, ny, incy, gpul_dtype_size(t)), &Y, 1, ny, incy);
    GPUL_CHECK(gpul_free_all(&A, &X, &Y));
}

static void gemm(caller who, gpul_dtype t, int turned_a, int turned_b, int64_t m, int64_t n, int64_t k, double alpha,
                 const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc) {
    const int64_t rows_a = turned_a ? k : m, rows_b = turned_b ? n : k;
    const int position = turned_a < 0              ? 1
                         : turned_b < 0            ? 2
                         : m < 0                   ? 3
                         : n < 0                   ? 4
                         : k < 0                   ? 5
                         : lda < larger(rows_a, 1) ? 8
                         : ldb < larger(rows_b, 1) ? 10
                         : ldc < larger(m, 1)      ? 13
                                                   : 0;
    gpul_array A = GPUL_ZERO, op_A = GPUL_ZERO, B = GPUL_ZERO, op_B = GPUL_ZERO, C = GPUL_ZERO;
    count(GEMM);
    if (position != 0) {
        wrong(&who, position);
        return;
    }
    if (m == 0 || n == 0 || ((alpha == 0 || k == 0) && beta == 1)) return;
    to_gpu(&A, t, (const char *)a, gpul_2d_f(rows_a, m + k - rows_a), rows_a, m + k - rows_a, lda, alpha != 0 && k > 0);
    to_gpu(&B, t, (const char *)b, gpul_2d_f(rows_b, n + k - rows_b), rows_b, n + k - rows_b, ldb, alpha != 0 && k > 0);
    to_gpu(&C, t, (const char *)c, gpul_2d_f(m, n), m, n, ldc, beta != 0);
    op_A = A;
    op_B = B;
    if (turned_a) GPUL_CHECK(gpul_transpose(&op_A, &A));
    if (turned_b) GPUL_CHECK(gpul_transpose(&op_B, &B));
    GPUL_CHECK(gpul_gemm(&C, alpha, &op_A, &op_B, beta, NULL));
    from_gpu((char *)c, &C, m, n, ldc);
    GPUL_CHECK(gpul_free_all(&A, &B, &C));
}

/* ---- the names, once for float and once for double ---- */

/* 0, 1, or -1 for a letter or a number that is none of BLAS's */
static int letter(const char *c) { return strchr("Nn", *c) ? 0 : strchr("TtCc", *c) ? 1 : -1; }
static int turn(int trans) { return trans == 111 ? 0 : trans == 112 || trans == 113 ? 1 : -1; }
/* C's own arguments, which Fortran has not: position 0 is the order, and a bad letter keeps its place in either order */
static int order_is_wrong(caller *who, int order) {
    who->row_major = order == 101;
    if (order == 101 || order == 102) return 0;
    wrong(who, 0);
    return 1;
}

#define NAMES(T, dtype, s, S)                                                                                          \
    API T s##dot_(const int *n, const T *x, const int *incx, const T *y, const int *incy);                             \
    API T s##dot_(const int *n, const T *x, const int *incx, const T *y, const int *incy) {                            \
        return (T)dot(dtype, *n, x, *incx, y, *incy);                                                                  \
    }                                                                                                                  \
    API T cblas_##s##dot(int n, const T *x, int incx, const T *y, int incy);                                           \
    API T cblas_##s##dot(int n, const T *x, int incx, const T *y, int incy) {                                          \
        return (T)dot(dtype, n, x, incx, y, incy);                                                                     \
    }                                                                                                                  \
    API T s##asum_(const int *n, const T *x, const int *incx);                                                         \
    API T s##asum_(const int *n, const T *x, const int *incx) { return (T)asum(dtype, *n, x, *incx); }                 \
    API T cblas_##s##asum(int n, const T *x, int incx);                                                                \
    API T cblas_##s##asum(int n, const T *x, int incx) { return (T)asum(dtype, n, x, incx); }                          \
    API void s##gemv_(const char *trans, const int *m, const int *n, const T *alpha, const T *a, const int *lda,       \
                      const T *x, const int *incx, const T *beta, T *y, const int *incy);                              \
    API void s##gemv_(const char *trans, const int *m, const int *n, const T *alpha, const T *a, const int *lda,       \
                      const T *x, const int *incx, const T *beta, T *y, const int *incy) {                             \
        const caller who = {S "GEMV ", 0};                                                                             \
        gemv(who, dtype, letter(trans), *m, *n, (double)*alpha, a, *lda, x, *incx, (double)*beta, y, *incy);           \
    }                                                                                                                  \
    API void cblas_##s##gemv(int order, int trans, int m, int n, T alpha, const T *a, int lda, const T *x, int incx,   \
                             T beta, T *y, int incy);                                                                  \
    API void cblas_##s##gemv(int order, int trans, int m, int n, T alpha, const T *a, int lda, const T *x, int incx,   \
                             T beta, T *y, int incy) {                                                                 \
        caller who = {"cblas_" #s "gemv", 0};                                                                          \
        int turned = turn(trans);                                                                                      \
        if (order_is_wrong(&who, order)) return;                                                                       \
        if (who.row_major && turned >= 0) turned = !turned; /* its rows are the columns of the transposed matrix */    \
        gemv(who, dtype, turned, who.row_major ? n : m, who.row_major ? m : n, (double)alpha, a, lda, x, incx,         \
             (double)beta, y, incy);                                                                                   \
    }                                                                                                                  \
    API void s##gemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,              \
                      const T *alpha, const T *a, const int *lda, const T *b, const int *ldb, const T *beta, T *c,     \
                      const int *ldc);                                                                                 \
    API void s##gemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,              \
                      const T *alpha, const T *a, const int *lda, const T *b, const int *ldb, const T *beta, T *c,     \
                      const int *ldc) {                                                                                \
        const caller who = {S "GEMM ", 0};                                                                             \
        gemm(who, dtype, letter(trans_a), letter(trans_b), *m, *n, *k, (double)*alpha, a, *lda, b, *ldb,               \
             (double)*beta, c, *ldc);                                                                                  \
    }                                                                                                                  \
    API void cblas_##s##gemm(int order, int trans_a, int trans_b, int m, int n, int k, T alpha, const T *a, int lda,   \
                             const T *b, int ldb, T beta, T *c, int ldc);                                              \
    API void cblas_##s##gemm(int order, int trans_a, int trans_b, int m, int n, int k, T alpha, const T *a, int lda,   \
                             const T *b, int ldb, T beta, T *c, int ldc) {                                             \
        caller who = {"cblas_" #s "gemm", 0};                                                                          \
        if (order_is_wrong(&who, order)) return;                                                                       \
        if (turn(trans_a) < 0 || turn(trans_b) < 0) wrong(&who, turn(trans_a) < 0 ? 1 : 2);                            \
        else if (!who.row_major)                                                                                       \
            gemm(who, dtype, turn(trans_a), turn(trans_b), m, n, k, (double)alpha, a, lda, b, ldb, (double)beta, c,    \
                 ldc);                                                                                                 \
        else /* C by rows is C^T = B^T A^T by columns */                                                               \
            gemm(who, dtype, turn(trans_b), turn(trans_a), n, m, k, (double)alpha, b, ldb, a, lda, (double)beta, c,    \
                 ldc);                                                                                                 \
    }

NAMES(float, GPUL_F32, s, "S")
NAMES(double, GPUL_F64, d, "D")
