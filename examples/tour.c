/* SPDX-License-Identifier: MIT
 *
 * A principal component of a real data set, every step on the GPU and every step checked against plain loops on the
 * host.
 *
 *     nvcc -arch=native -o tour examples/tour.c gpulite_kernels.cu                         (Hopper: -arch=sm_90a)
 *     g++ -O1 -ffp-contract=off -Itests/cpu -o tour -x c examples/tour.c -x c++ gpulite_kernels.cu tests/cpu/cudart.cpp -lpthread
 *
 *     ./tour [FILE.npy [CHART.svg]]      default: examples/data/digits.npy, tour.svg
 *
 * The file holds a matrix, one row a sample (or a vector: one column), of float32, float64, int32, int64 or uint8. The
 * work is done in float32 for float32 and uint8 data, otherwise in float64. In NumPy:
 *
 *     X = np.load(file);  Z = (X - X.mean(0)) / X.std(0)            # constant columns: zeros
 *     G = Z.T @ Z;        v = leading eigenvector of G              # by power iteration
 *     p = Z @ v;          counts, edges = np.histogram(p, bins=40)
 */
#define GPULITE_IMPLEMENTATION
#include "../gpulite.h"
#include "chart.h"
#include "npy.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 40, ITERATIONS = 3000, REPEATS = 20, GRAM_CHECKS = 1 << 26 };

/* What the steps pass to each other. */
typedef struct tour {
    const char *path;
    int64_t rows, cols;
    gpul_dtype file_dtype, dtype; /* of the file, of the work */
    double eps;                   /* distance from 1 to the next number of that dtype */
    gpul_stream stream;
    gpul_device device;
    gpul_timer timer; /* the GPU's share of a step: the steps start and stop it */

    gpul_array source;              /* pinned: what the file holds */
    gpul_array X, mean, var, Z, Zt; /* device; Zt is a view of Z */
    gpul_array shift, scale;        /* device, 1 x cols: -mean and 1 / sd */
    gpul_array G, v, w, dots;       /* device: Gram matrix, iterates, two dot products */
    gpul_array p, counts;           /* device: projection and its histogram */

    double norm, lambda, residual; /* of the last iterate; the eigenvalue; |G v - lambda v| as the GPU measured it */
    int iterations;
    double lo, hi; /* range of p */
    int64_t histogram[BINS];
    double edges[BINS + 1];
} tour;

static void die(const char *message) {
    fprintf(stderr, "tour: %s\n", message);
    exit(1);
}

/* --------------------------------------------------------------------------------------------------- host side ------ */

/* Element (i, j) of an array that the CPU can read. */
static double at(const gpul_array *a, int64_t i, int64_t j) {
    const int64_t k = i * a->strides[0] + j * a->strides[1];
    return a->dtype == GPUL_F32 ? (double)((const float *)a->data)[k] : ((const double *)a->data)[k];
}

static void put(gpul_array *a, int64_t j, double value) {
    if (a->dtype == GPUL_F32) {
        ((float *)a->data)[j] = (float)value;
    } else {
        ((double *)a->data)[j] = value;
    }
}

static gpul_array pinned_like(const gpul_array *a) {
    gpul_array out = GPUL_ZERO;
    gpul_shape shape = gpul_0d();
    shape.ndim = a->ndim;
    for (int32_t k = 0; k < a->ndim; ++k) shape.dim[k] = a->shape[k];
    if (!gpul_is_contiguous(a, GPUL_ORDER_C)) shape.order = GPUL_ORDER_F;
    GPUL_CHECK(gpul_pinned_array(&out, a->dtype, shape));
    return out;
}

/* A copy in pinned memory, for the host to check. */
static gpul_array download(tour *t, const gpul_array *a) {
    gpul_array host = pinned_like(a);
    GPUL_CHECK(gpul_copy(&host, a, t->stream));
    GPUL_CHECK(gpul_stream_synchronize(t->stream));
    return host;
}

/* The larger of two errors, where NaN is larger than everything. */
static double worse(double worst, double error) { return error <= worst ? worst : error; }

/* An error as a share of what it is measured against; 0 / 0 is no error. */
static double share(long double error, long double size) {
    return error == 0 ? 0 : (double)(fabsl(error) / size); /* NaN stays NaN */
}

/* ------------------------------------------------------------------------------------------------------- steps ------
 *
 * Each step has a `run`, which may be repeated, and a `check`, which returns its error against the host: the largest
 * |difference| over the size of the numbers that went into it. */

static void run_copy(tour *t) {
    GPUL_TIMED(t->timer, t->stream) { GPUL_CHECK(gpul_copy(&t->X, &t->source, t->stream)); }
}
static double check_copy(tour *t) {
    gpul_array X = download(t, &t->X);
    const double error = X.data && memcmp(X.data, t->source.data, (size_t)gpul_nbytes(&X)) == 0 ? 0 : 1;
    gpul_free(&X);
    return error;
}

static void run_mean(tour *t) {
    GPUL_TIMED(t->timer, t->stream) { GPUL_CHECK(gpul_reduce(&t->mean, &t->X, GPUL_MEAN, 0, t->stream)); }
}
static double check_mean(tour *t) {
    gpul_array mean = download(t, &t->mean);
    double worst = 0;
    for (int64_t j = 0; j < t->cols; ++j) {
        long double sum = 0, size = 0;
        for (int64_t i = 0; i < t->rows; ++i) {
            const long double x = (long double)at(&t->source, i, j);
            sum += x;
            size += fabsl(x);
        }
        worst = worse(worst, share((long double)at(&mean, j, 0) * (long double)t->rows - sum, size));
    }
    gpul_free(&mean);
    return worst;
}

static void run_var(tour *t) {
    GPUL_TIMED(t->timer, t->stream) { GPUL_CHECK(gpul_reduce(&t->var, &t->X, GPUL_VAR, 0, t->stream)); }
}
static double check_var(tour *t) {
    gpul_array var = download(t, &t->var);
    double worst = 0;
    for (int64_t j = 0; j < t->cols; ++j) {
        const long double n = (long double)t->rows;
        long double mean = 0, sum = 0;
        for (int64_t i = 0; i < t->rows; ++i) mean += (long double)at(&t->source, i, j) / n;
        for (int64_t i = 0; i < t->rows; ++i) {
            const long double d = (long double)at(&t->source, i, j) - mean;
            sum += d * d;
        }
        /* A column that is constant but for the rounding of its mean has variance 0. */
        if (sum <= n * mean * mean * 1e-36L) sum = 0;
        worst = worse(worst, share((long double)at(&var, j, 0) - sum / n, sum / n));
    }
    gpul_free(&var);
    return worst;
}

/* One row each of -mean and 1 / sd, made on the host: cols numbers, once. Returns 0 when the data allow neither. */
static int make_rows(tour *t) {
    int good = 1;
    gpul_array mean = download(t, &t->mean), var = download(t, &t->var);
    gpul_array shift = pinned_like(&t->shift), scale = pinned_like(&t->scale);
    for (int64_t j = 0; j < t->cols; ++j) {
        const double m = at(&mean, j, 0), s = at(&var, j, 0);
        if (good && (!(fabs(m) <= DBL_MAX) || !(s <= DBL_MAX))) {
            good = 0;
            fprintf(stderr,
                    "tour: %s: column %" PRId64 " has mean %g and variance %g: the values must be finite, and small "
                    "enough to be squared in %s\n",
                    t->path, j, m, s, gpul_dtype_name(t->dtype));
        }
        put(&shift, j, -m);
        put(&scale, j, s > 0 ? 1 / sqrt(s) : 0); /* constant columns: zeros */
    }
    GPUL_CHECK(gpul_copy(&t->shift, &shift, t->stream));
    GPUL_CHECK(gpul_copy(&t->scale, &scale, t->stream));
    GPUL_CHECK(gpul_stream_synchronize(t->stream));
    gpul_free(&mean);
    gpul_free(&var);
    gpul_free(&shift);
    gpul_free(&scale);
    return good;
}
static void run_standardise(tour *t) {
    GPUL_TIMED(t->timer, t->stream) { /* rows of shape (1, cols) broadcast over the matrix */
        GPUL_CHECK(gpul_vecadd(&t->Z, &t->X, &t->shift, t->stream));
        GPUL_CHECK(gpul_vecmul(&t->Z, &t->Z, &t->scale, t->stream));
    }
}
static double check_standardise(tour *t) {
    gpul_array Z = download(t, &t->Z), shift = download(t, &t->shift), scale = download(t, &t->scale);
    double worst = 0;
    for (int64_t i = 0; i < t->rows; ++i) {
        for (int64_t j = 0; j < t->cols; ++j) {
            const long double x = (long double)at(&t->source, i, j), m = (long double)at(&shift, 0, j);
            const long double s = (long double)at(&scale, 0, j);
            worst = worse(worst, share((long double)at(&Z, i, j) - (x + m) * s, (fabsl(x) + fabsl(m)) * s));
        }
    }
    gpul_free(&Z);
    gpul_free(&shift);
    gpul_free(&scale);
    return worst;
}

static void run_gram(tour *t) {
    GPUL_TIMED(t->timer, t->stream) { GPUL_CHECK(gpul_matmul(&t->G, &t->Zt, &t->Z, t->stream)); }
}
static double check_gram(tour *t) {
    gpul_array Z = download(t, &t->Z), G = download(t, &t->G);
    const double work = (double)t->rows * (double)t->cols * (double)t->cols;
    const int64_t step = 1 + (int64_t)(work / GRAM_CHECKS); /* of a large matrix every step-th row */
    double worst = 0;
    for (int64_t a = 0; a < t->cols; a += step) {
        for (int64_t b = 0; b < t->cols; ++b) {
            long double sum = 0, size = 0;
            for (int64_t i = 0; i < t->rows; ++i) {
                const long double product = (long double)at(&Z, i, a) * (long double)at(&Z, i, b);
                sum += product;
                size += fabsl(product);
            }
            worst = worse(worst, share((long double)at(&G, a, b) - sum, size));
        }
    }
    gpul_free(&Z);
    gpul_free(&G);
    return worst;
}

/* v converges to the leading eigenvector of G. Neither v nor w = G v / |v| is ever divided by its length: gemv's alpha
 * does that. The two numbers that the host needs come back in one copy of 16 bytes. */
static void run_axis(tour *t) {
    const double converged = t->dtype == GPUL_F32 ? 1e-5 : 1e-7;
    gpul_array host = pinned_like(&t->v), dots = pinned_like(&t->dots), vw = GPUL_ZERO, ww = GPUL_ZERO;
    uint64_t random = 1;
    t->norm = 0;
    for (int64_t j = 0; j < t->cols; ++j) { /* a start that no data is orthogonal to on purpose */
        random = random * 6364136223846793005u + 1442695040888963407u;
        put(&host, j, (double)(random >> 40) / 16777216.0 - 0.5);
        t->norm += at(&host, j, 0) * at(&host, j, 0);
    }
    t->norm = sqrt(t->norm);
    GPUL_CHECK(gpul_copy(&t->v, &host, t->stream));
    GPUL_CHECK(gpul_slice(&vw, &t->dots, 0, 0, 1, 1));
    GPUL_CHECK(gpul_slice(&ww, &t->dots, 0, 1, 2, 1));

    for (t->iterations = 1;; ++t->iterations) {
        GPUL_TIMED(t->timer, t->stream) {
            GPUL_CHECK(gpul_gemv(&t->w, 1 / t->norm, &t->G, &t->v, 0, t->stream));
            GPUL_CHECK(gpul_dot(&vw, &t->v, &t->w, t->stream));
            GPUL_CHECK(gpul_dot(&ww, &t->w, &t->w, t->stream));
        }
        GPUL_CHECK(gpul_copy(&dots, &t->dots, t->stream));
        GPUL_CHECK(gpul_stream_synchronize(t->stream));
        const double square = at(&dots, 1, 0); /* |w|^2 */
        t->lambda = at(&dots, 0, 0) / t->norm; /* Rayleigh's quotient */
        t->residual = sqrt(fmax(square - t->lambda * t->lambda, 0));
        if (!(t->residual > converged * t->lambda) || t->iterations == ITERATIONS) break;

        const gpul_array swap = t->v; /* arrays are values: this moves no data */
        t->v = t->w;
        t->w = swap;
        t->norm = sqrt(square);
    }
    gpul_free(&host);
    gpul_free(&dots);
}
static double check_axis(tour *t) { /* |G v - lambda v| / (lambda |v|), which is 0 for an exact eigenvector */
    gpul_array G = download(t, &t->G), v = download(t, &t->v);
    long double square = 0, norm = 0;
    for (int64_t a = 0; a < t->cols; ++a) {
        long double sum = -(long double)t->lambda * (long double)at(&v, a, 0);
        for (int64_t b = 0; b < t->cols; ++b) sum += (long double)at(&G, a, b) * (long double)at(&v, b, 0);
        square += sum * sum;
        norm += (long double)at(&v, a, 0) * (long double)at(&v, a, 0);
    }
    gpul_free(&G);
    gpul_free(&v);
    return share(sqrtl(square), (long double)t->lambda * sqrtl(norm));
}

static void run_projection(tour *t) {
    GPUL_TIMED(t->timer, t->stream) { GPUL_CHECK(gpul_gemv(&t->p, 1 / t->norm, &t->Z, &t->v, 0, t->stream)); }
}
static double check_projection(tour *t) {
    gpul_array Z = download(t, &t->Z), v = download(t, &t->v), p = download(t, &t->p);
    double worst = 0;
    for (int64_t i = 0; i < t->rows; ++i) {
        long double sum = 0, size = 0;
        for (int64_t j = 0; j < t->cols; ++j) {
            const long double product = (long double)at(&Z, i, j) * (long double)at(&v, j, 0) / (long double)t->norm;
            sum += product;
            size += fabsl(product);
        }
        worst = worse(worst, share((long double)at(&p, i, 0) - sum, size));
    }
    gpul_free(&Z);
    gpul_free(&v);
    gpul_free(&p);
    return worst;
}

/* numpy.histogram's automatic range, as two reductions whose results the host reads. */
static void run_range(tour *t) {
    GPUL_TIMED(t->timer, t->stream) {
        GPUL_CHECK(gpul_min(&t->lo, &t->p, t->stream));
        GPUL_CHECK(gpul_max(&t->hi, &t->p, t->stream));
    }
}
static double check_range(tour *t) {
    gpul_array p = download(t, &t->p);
    double lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < t->rows; ++i) {
        lo = at(&p, i, 0) < lo ? at(&p, i, 0) : lo;
        hi = at(&p, i, 0) > hi ? at(&p, i, 0) : hi;
    }
    gpul_free(&p);
    return t->lo == lo && t->hi == hi ? 0 : 1;
}

static void run_histogram(tour *t) {
    GPUL_TIMED(t->timer, t->stream) { GPUL_CHECK(gpul_histogram(&t->counts, &t->p, t->lo, t->hi, t->stream)); }
    GPUL_CHECK(gpul_copy_to_host(t->histogram, &t->counts, t->stream));
    GPUL_CHECK(gpul_stream_synchronize(t->stream));
    GPUL_CHECK(gpul_histogram_edges(t->edges, BINS, t->dtype, t->lo, t->hi));
}
static double check_histogram(tour *t) { /* wrong counts */
    gpul_array p = download(t, &t->p);
    int64_t expected[BINS] = {0}, wrong = 0;
    for (int64_t i = 0; i < t->rows; ++i) {
        int bin = 0;
        while (bin < BINS - 1 && at(&p, i, 0) >= t->edges[bin + 1]) ++bin;
        ++expected[bin];
    }
    for (int b = 0; b < BINS; ++b) wrong += expected[b] != t->histogram[b];
    gpul_free(&p);
    return (double)wrong;
}

/* ------------------------------------------------------------------------------------------------------- table ------ */

static int failures;

/* An error as text: 0 is exact. */
static const char *error_text(char text[32], double error) {
    snprintf(text, 32, error == 0 ? "%.0f" : "%.1e", error);
    return text;
}

/* Runs a step, times it (on a GPU, after one run to warm up), checks it, prints a line of the table.
 * `work` is bytes or operations of one run, `unit` what a thousand million of them in a second are called. */
static void step(tour *t, const char *name, const char *shape, void (*run)(tour *), double (*check)(tour *),
                 double allowed, double work, const char *unit) {
    char time[32] = "-", rate[32] = "-", is[32], may_be[32];
    double seconds = 0;

    run(t);
    if (!t->device.standin) {
        GPUL_CHECK(gpul_timer_reset(&t->timer));
        for (int i = 0; i < REPEATS; ++i) run(t);
        GPUL_CHECK(gpul_timer_seconds(&seconds, &t->timer));
        seconds /= REPEATS;
        snprintf(time, sizeof time, "%.1f us", seconds * 1e6);
        if (seconds > 0) snprintf(rate, sizeof rate, "%.1f %s", work / seconds / 1e9, unit);
    }

    const double error = check(t);
    const int ok = error <= allowed; /* false for NaN */
    printf("%-18s %-26s %11s %14s %10s %10s  %s\n", name, shape, time, rate, error_text(is, error),
           error_text(may_be, allowed), ok ? "ok" : "WRONG");
    if (!ok) ++failures;
}

/* ------------------------------------------------------------------------------------------------------- chart ------ */

/* In the terminal, and as a file: 0 when that cannot be written. */
static int draw(const tour *t, const char *path, double explained) {
    const char *slash = strrchr(t->path, '/'), *name = slash != NULL ? slash + 1 : t->path;
    double counts[BINS];
    char text[256];
    for (int b = 0; b < BINS; ++b) counts[b] = (double)t->histogram[b];
    chart_terminal(counts, BINS, t->edges[0], t->edges[BINS]);
    snprintf(text, sizeof text, "%s: %" PRId64 " samples of %" PRId64 " features, %.1f %% of the variance",
             strlen(name) > 60 ? "the data" : name, t->rows, t->cols, 100 * explained);
    return chart_histogram(path, "Projection on the first principal component", text,
                           "projected value, in standard units", "samples", t->edges, counts, BINS);
}

/* -------------------------------------------------------------------------------------------------------- main ------ */

/* Opens the file, settles rows, columns and dtypes, and reads it straight into pinned memory. */
static void load(tour *t) {
    npy_file npy;
    char message[600];
    if (!npy_open(&npy, t->path)) die(npy.error);
    if (npy.shape.ndim < 1 || npy.shape.ndim > 2) {
        snprintf(message, sizeof message, "%s: %d dimensions; the tour takes a matrix or a vector", t->path,
                 npy.shape.ndim);
        npy_close(&npy);
        die(message);
    }
    t->rows = npy.shape.dim[0];
    t->cols = npy.shape.ndim == 2 ? npy.shape.dim[1] : 1;
    if (npy.count == 0) {
        snprintf(message, sizeof message, "%s: shape (%" PRId64 ", %" PRId64 ") holds no data", t->path, t->rows,
                 t->cols);
        npy_close(&npy);
        die(message);
    }
    t->file_dtype = npy.dtype;
    t->dtype = npy.dtype == GPUL_F32 || npy.dtype == GPUL_U8 ? GPUL_F32 : GPUL_F64;
    t->eps = t->dtype == GPUL_F32 ? (double)FLT_EPSILON : DBL_EPSILON;

    const int fortran = npy.shape.ndim == 2 && npy.shape.order == GPUL_ORDER_F;
    GPUL_CHECK(
        gpul_pinned_array(&t->source, t->dtype, fortran ? gpul_2d_f(t->rows, t->cols) : gpul_2d(t->rows, t->cols)));
    if (!npy_read(&npy, t->source.data, t->dtype)) {
        gpul_free(&t->source);
        die(npy.error);
    }
    npy_close(&npy);
    printf("%s: %s (%" PRId64 ", %" PRId64 "), %s order, as %s\n", t->path, gpul_dtype_name(t->file_dtype), t->rows,
           t->cols, fortran ? "Fortran" : "C", gpul_dtype_name(t->dtype));
}

static void make_arrays(tour *t) {
    GPUL_CHECK(gpul_device_array_like(&t->X, &t->source, t->stream));
    GPUL_CHECK(gpul_device_array_like(&t->Z, &t->source, t->stream));
    GPUL_CHECK(gpul_transpose(&t->Zt, &t->Z));
    GPUL_CHECK(gpul_device_array(&t->mean, t->dtype, gpul_1d(t->cols), t->stream));
    GPUL_CHECK(gpul_device_array(&t->var, t->dtype, gpul_1d(t->cols), t->stream));
    GPUL_CHECK(gpul_device_array(&t->shift, t->dtype, gpul_2d(1, t->cols), t->stream));
    GPUL_CHECK(gpul_device_array(&t->scale, t->dtype, gpul_2d(1, t->cols), t->stream));
    GPUL_CHECK(gpul_device_array(&t->G, t->dtype, gpul_2d(t->cols, t->cols), t->stream));
    GPUL_CHECK(gpul_device_array(&t->v, t->dtype, gpul_1d(t->cols), t->stream));
    GPUL_CHECK(gpul_device_array(&t->w, t->dtype, gpul_1d(t->cols), t->stream));
    GPUL_CHECK(gpul_device_array(&t->dots, GPUL_F64, gpul_1d(2), t->stream));
    GPUL_CHECK(gpul_device_array(&t->p, t->dtype, gpul_1d(t->rows), t->stream));
    GPUL_CHECK(gpul_device_array(&t->counts, GPUL_I64, gpul_1d(BINS), t->stream));
}

/* Runs all steps, draws the chart. Returns 0 when something is wrong, after saying what. */
static int pipeline(tour *t, const char *svg) {
    const double n = (double)t->rows, d = (double)t->cols, size = (double)gpul_dtype_size(t->dtype), u = t->eps / 2;
    char whole[48], gram[48], square[48], line[48];
    snprintf(whole, sizeof whole, "%" PRId64 " x %" PRId64, t->rows, t->cols);
    snprintf(gram, sizeof gram, "%" PRId64 " x %" PRId64 " x %" PRId64, t->cols, t->cols, t->rows);
    snprintf(square, sizeof square, "%" PRId64 " x %" PRId64, t->cols, t->cols);
    snprintf(line, sizeof line, "%" PRId64, t->rows);

    printf("%-18s %-26s %11s %14s %10s %10s\n", "step", "shape", "GPU time", "rate", "error", "allowed");
    step(t, "copy to the GPU", whole, run_copy, check_copy, 0, n * d * size, "GB/s");
    step(t, "column means", whole, run_mean, check_mean, t->eps * (t->dtype == GPUL_F32 ? 1 : 4 + log2(n + 1)),
         n * d * size, "GB/s");
    step(t, "column variances", whole, run_var, check_var, t->eps + ldexp(n, -50), n * d * size, "GB/s");
    if (!make_rows(t)) return 0;
    step(t, "standardise", whole, run_standardise, check_standardise, 2 * t->eps, 4 * n * d * size, "GB/s");
    step(t, "Gram matrix", gram, run_gram, check_gram, (n + 2) * u, 2 * n * d * d, "GFLOP/s");
    run_axis(t); /* its iterations are its work, and how far it came decides what is allowed */
    step(t, "power iteration", square, run_axis, check_axis,
         t->lambda > 0 ? 1.5 * t->residual / t->lambda + (d + 2) * t->eps + sqrt(DBL_EPSILON) : 0,
         t->iterations * (d * d + 5 * d) * size, "GB/s");
    step(t, "projection", whole, run_projection, check_projection, (d + 2) * u, (n * d + n) * size, "GB/s");
    step(t, "min and max", line, run_range, check_range, 0, 2 * n * size, "GB/s");
    step(t, "histogram", line, run_histogram, check_histogram, 0, n * size, "GB/s");

    /* Each column that varies has variance 1 in Z: the eigenvalues of G add up to n times their number. */
    gpul_array var = download(t, &t->var);
    int64_t varying = 0;
    for (int64_t j = 0; j < t->cols; ++j) varying += at(&var, j, 0) > 0;
    gpul_free(&var);
    const double explained = varying ? t->lambda / n / (double)varying : 0;
    if (varying) {
        printf("\nthe first component: eigenvalue %.6g, %.2f %% of the variance of %" PRId64 " columns that vary "
               "(%d iterations%s)\n\n",
               t->lambda / n, 100 * explained, varying, t->iterations,
               t->iterations == ITERATIONS ? ", not yet converged" : "");
    } else {
        puts("\nevery column is constant: there is no principal component, and the projection is 0\n");
    }
    if (!draw(t, svg, explained)) return 0;
    printf("\nchart: %s\n%s\n", svg, failures ? "some steps are WRONG" : "every step agrees with the host");
    return failures == 0;
}

int main(int argc, char **argv) {
    tour t = GPUL_ZERO;
    const char *svg = argc > 2 ? argv[2] : "tour.svg";
    int32_t devices = 0;
    if (argc > 3 || (argc > 1 && argv[1][0] == '-')) die("usage: tour [FILE.npy [CHART.svg]]");
    t.path = argc > 1 ? argv[1] : "examples/data/digits.npy";

    GPUL_CHECK(gpul_device_count(&devices));
    if (devices == 0) die("no GPU answers; build against tests/cpu to run without one");
    GPUL_CHECK(gpul_device_info(&t.device, 0));
    load(&t);
    printf("on %s%s\n\n", t.device.name, t.device.standin ? ", where times mean nothing and are left out" : "");
    GPUL_CHECK(gpul_stream_create(&t.stream, GPUL_STREAM_NON_BLOCKING));
    make_arrays(&t);

    const int good = pipeline(&t, svg);

    gpul_array *all[] = {&t.source, &t.X, &t.Z, &t.mean, &t.var, &t.shift, &t.scale,
                         &t.G,      &t.v, &t.w, &t.dots, &t.p,   &t.counts};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) gpul_free(all[i]);
    gpul_timer_free(&t.timer);
    gpul_stream_destroy(&t.stream);
    return good ? 0 : 1;
}
