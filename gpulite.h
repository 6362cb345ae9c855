/* SPDX-License-Identifier: MIT
 *
 * gpulite.h - v0.2.0 - NVIDIA GPUs for C programs: arrays, streams, timers, launch geometry, ready kernels
 *
 * Do this in ONE C or C++ file of your project:
 *
 *     #define GPULITE_IMPLEMENTATION
 *     #include "gpulite.h"
 *
 * and include gpulite.h without the define anywhere else. Add gpulite_kernels.cu to the build for the prebuilt
 * operations.
 *
 *     gpul_array a = GPUL_ZERO, b = GPUL_ZERO, c = GPUL_ZERO;
 *     gpul_to_device(&a, host_a, GPUL_F32, gpul_1d(n), NULL);       // numba: cuda.to_device(host_a)
 *     gpul_to_device(&b, host_b, GPUL_F32, gpul_1d(n), NULL);
 *     gpul_device_array_like(&c, &a, NULL);
 *     gpul_vecadd(&c, &a, &b, NULL);
 *     gpul_copy_to_host(host_c, &c, NULL);
 *     gpul_free(&a); gpul_free(&b); gpul_free(&c);
 *
 * Build (one command):
 *
 *     nvcc -arch=native -o app app.c gpulite_kernels.cu             any GPU of this machine
 *     nvcc -arch=sm_90a -o app app.c gpulite_kernels.cu             Hopper (H100, H200)
 *
 * or let a C compiler link (add -I and -L for your CUDA Toolkit):
 *
 *     nvcc -c -arch=native -Xcompiler -fno-exceptions,-fno-threadsafe-statics gpulite_kernels.cu
 *     gcc -o app app.c gpulite_kernels.o -lcudart
 *
 * -DGPULITE_NO_ELEMENTWISE, _REDUCE, _GEMV, _HISTOGRAM and _MATMUL leave families of kernels out of the .cu, which
 * compiles faster; and what needs them returns GPUL_ERROR_UNSUPPORTED.
 *
 * Does:      device, pinned, mapped and managed arrays of up to 4 dimensions; copies between any two of them; views;
 *            streams, events, adding-up timers, graphs, benchmarks; NumPy's functions of elements; gemv, reductions,
 *            dot, histogram, matmul; your own elementwise operations and reductions from one expression
 *            (GPUL_ELEMENTWISE, GPUL_REDUCE).
 * Does not:  print, exit, throw, start threads, synchronise behind your back, or need anything but the CUDA runtime.
 *
 * If you know Numba-CUDA or CuPy (this comment is sections 1 and 2):
 *
 *     cuda.to_device(h)                           gpul_to_device(&a, h, GPUL_F32, gpul_1d(n), stream)        section 6
 *     d.copy_to_host(h)                           gpul_copy_to_host(h, &d, stream)                           section 7
 *     cuda.to_device(h, to=d), a[:] = d           gpul_copy_to_device(&d, h, stream), gpul_copy              section 7
 *     cp.asarray(h), a.get(out=h)                 GPUL_TO_DEVICE(&a, h, gpul_1d(n)), GPUL_TO_HOST(h, &a)     section 6
 *     cp.full, cp.zeros, a.copy(), del a, b       gpul_full, gpul_zeros, gpul_clone, gpul_free_all(&a, &b)   section 6
 *     cuda.device_array(shape, dtype)             gpul_device_array(&a, GPUL_F64, gpul_2d(r, c), stream)     section 6
 *     cuda.device_array_like(d)                   gpul_device_array_like(&a, &d, stream)                     section 6
 *     x.shape, cp.zeros_like(x)                   gpul_zeros(&a, x.dtype, gpul_shape_of(&x), stream)        section 5
 *     cuda.pinned_array, mapped_, managed_array   gpul_pinned_array, gpul_mapped_array, gpul_managed_array   section 6
 *     with cuda.pinned(h): ...                    gpul_pin(h, bytes) ... gpul_unpin(h)                       section 6
 *     d[i:j], d[-3:], d.reshape(...), d.T         gpul_slice(.., -3, GPUL_END, 1), gpul_reshape, _transpose  section 7
 *     d.split(k), d[i], d[-1]                     gpul_split, gpul_index(&view, &d, 0, -1)                   section 7
 *     x.transpose(axes), x[None], broadcast_to    gpul_permute, gpul_expand_dims, gpul_broadcast_to          section 7
 *     cupy.ndarray over foreign memory            gpul_wrap, gpul_wrap_strided                               section 7
 *     cp.from_dlpack(t), a.toDlpack()             gpul_from_dlpack(&a, tensor), gpul_to_dlpack(&tensor, &a)  section 7
 *     d.fill(v), d[i], d[i] = v                   gpul_fill, gpul_get, gpul_set                              section 7
 *     a.size, a.nbytes, a.flags.c_contiguous      gpul_size, gpul_nbytes, gpul_is_contiguous                 section 5
 *     a.dtype.name, a.itemsize, np.float16(v)     gpul_dtype_name, gpul_dtype_size, gpul_f16_from_float      section 5
 *     cp.allclose(a, b, rtol, atol)               gpul_allclose(&difference, &a, &b, rtol, atol, stream)     section 7
 *     print(a)                                    GPUL_PRINT(&a); gpul_print into text                       section 7
 *     exceptions                                  gpul_on_error, GPUL_PRINT_AND_EXIT, GPUL_CHECK             section 4
 *     except ... as e: print(e)                   gpul_last_error()->message, gpul_clear_error()             section 4
 *     cuda.stream(), stream.synchronize()         gpul_stream_create, gpul_stream_synchronize                section 8
 *     cuda.event(), cuda.event_elapsed_time       gpul_event_create, gpul_event_seconds                      section 8
 *     event.record, .query, .synchronize          gpul_event_record, gpul_event_query, _synchronize          section 8
 *     time.perf_counter around a region           gpul_timer_start / _stop / _seconds, GPUL_TIMED            section 8
 *     time.perf_counter(), del stream, event      gpul_host_seconds, gpul_stream_destroy, _event_destroy     section 8
 *     stream.begin_capture(), .end_capture()      gpul_graph_begin(stream), gpul_graph_end(&graph, stream)   section 8
 *     graph.launch(stream)                        gpul_graph_launch(graph, stream), gpul_graph_free          section 8
 *     math.ceil(n / threads)                      gpul_ceil_div, gpul_grid_1d / _2d / _3d                    section 9
 *     kernel.forall(n) (occupancy)                gpul_block_size(&block, kernel, ...)                       section 9
 *     cp.add, cp.multiply                         gpul_vecadd, gpul_vecmul (with NumPy broadcasting)         section 10
 *     x - y, x / y, x < y, cp.maximum(x, y), ...  gpul_binary(&out, GPUL_SUBTRACT, &x, &y, stream)           section 10
 *     2 * x, x ** 2, cp.maximum(x, 0)             gpul_binary(&out, GPUL_POWER, &x, GPUL_SCALAR(2), stream)  section 10
 *     cp.sqrt(x), cp.exp(x), -x, abs(x), ...      gpul_unary(&out, GPUL_SQRT, &x, stream)                    section 10
 *     a * x + b, cp.clip(x, lo, hi)               gpul_scale(&out, a, &x, b, stream), gpul_clip              section 10
 *     cp.where(mask, x, y)                        gpul_where(&out, &mask, &x, &y, stream)                    section 10
 *     x.astype(out.dtype)                         gpul_convert(&out, &x, stream)                             section 10
 *     cp.arange, cp.linspace                      gpul_arange(&out, start, step, stream), gpul_linspace      section 10
 *     A @ x                                       gpul_gemv(&y, 1, &A, &x, 0, stream)                        section 10
 *     A @ B, also of stacks (batches, bmm)        gpul_matmul(&C, &A, &B, stream), gpul_gemm                 section 10
 *     gelu(x @ W + b), addmm, relu                options.bias = &b, options.activation in gpul_gemm_ex      section 10
 *     CUPY_TF32=1, ...matmul.allow_tf32 = True    options.math = GPUL_MATH_TF32 in gpul_gemm_ex              section 10
 *     cp.sum, min, max, argmin, mean, var, ...    gpul_reduce(&out, &x, GPUL_SUM, GPUL_ALL_AXES, stream)     section 10
 *     cp.sum(x, axis=0)                           gpul_reduce(&out, &x, GPUL_SUM, 0, stream)                 section 10
 *     float(cp.sum(x)), x.min(), max, mean, var   gpul_sum(&value, &x, stream), ...; gpul_reduce_host        section 10
 *     cp.dot(x, y)                                gpul_dot(&out, &x, &y, stream)                             section 10
 *     cp.histogram(x, bins, range)                gpul_histogram(&counts, &x, lo, hi, stream)                section 10
 *     cp.histogram_bin_edges(x, bins, range)      gpul_histogram_edges(edges, bins, dtype, lo, hi)           section 10
 *     (x / y).dtype, x.sum().dtype                gpul_binary_dtype, gpul_reduce_dtype                       section 10
 *     cuda.detect()                               gpul_device_info, gpul_report                              section 11
 *     getDeviceCount(), driverGetVersion()        gpul_device_count, gpul_cuda_versions                      section 11
 *     cuda.get_current_device / select_device     gpul_device_current / gpul_device_select                   section 11
 *     Device.from_pci_bus_id(id)                  gpul_device_by_id(&device, id), UUIDs too                  section 11
 *     mempool.set_limit, free_all_blocks          gpul_memory_limit, gpul_memory_trim                        section 6
 *     mempool.used_bytes(), total_bytes()         gpul_memory_used(&used, &held)                             section 6
 *     CUPY_GPU_MEMORY_LIMIT=50%                   GPULITE_MEMORY_LIMIT=50%                                   section 6
 *     cupyx.profiler.benchmark(f, (x,)), print    gpul_benchmark(&r, f, &x, &options), gpul_benchmark_text   section 11
 *     with cuda.profiling(): ...                  gpul_profile_start() ... gpul_profile_stop()               section 11
 *     with cupyx.profiler.time_range(name): ...   gpul_range_push(name) ... gpul_range_pop()                 section 11
 *     cuda.grid(1), cuda.gridsize(1)              gpul_grid_x(), gpul_gridsize_x() (64-bit)                  section 12
 *     for i in range(start, n, stride)            GPUL_GRID_STRIDE(i, n) { ... }, _2D, _3D                   section 12
 *     kernel[grid, block, stream, shared](...)    GPUL_LAUNCH(kernel, grid, block, shared, stream, ...)      section 12
 *     kernel[grid, block](d), d an array          GPUL_LAUNCH(kernel, grid, block, 0, NULL, &d)              section 12
 *     cuda.cg.this_grid().sync()                  GPUL_LAUNCH_COOPERATIVE(kernel, grid, ...)                 section 12
 *     kernel.max_cooperative_grid_blocks(block)   gpul_cooperative_blocks(&blocks, kernel, block)            section 9
 *     cuda.atomic.add(d, i, v), max, min          gpul_atomic_add(&d[i], v), gpul_atomic_max, _min           section 12
 *     x[i, j], x.shape, x.strides in a kernel     gpul_view<float, 2> x; x(i, j), x.shape, x.strides         section 12
 *     cuda.shared.array(0, dtype)                 GPUL_SHARED(float, tile)                                   section 12
 *     @cuda.reduce, cp.ReductionKernel            GPUL_REDUCE(name, T, A, identity, map, combine, post, TX, x)  the .cu
 *     a combine that is not commutative           GPUL_REDUCE_ORDERED(name, ...), which may use the index i     the .cu
 *     @vectorize, cp.ElementwiseKernel            GPUL_ELEMENTWISE(name, T, expression, TX, x, ...)             the .cu
 *     of several outputs                          GPUL_ELEMENTWISE_OUTPUTS(name, (T, o, ...), statements, ...)  the .cu
 *     NUMBA_ENABLE_CUDASIM=1                      compile with -Itests/cpu and link its cudart: no GPU needed
 *
 * The licence (MIT) stands in full at the end of the file.
 */
#ifndef GPULITE_H
#define GPULITE_H

#include <stddef.h>
#include <stdint.h>

#define GPUL_VERSION_MAJOR 0
#define GPUL_VERSION_MINOR 2
#define GPUL_VERSION_PATCH 0
#define GPUL_VERSION "0.2.0"
/* name_0_2_0: what two versions must not share carries its version in its name */
#define GPUL__VERSIONED(name) GPUL__VERSIONED_1(name, GPUL_VERSION_MAJOR, GPUL_VERSION_MINOR, GPUL_VERSION_PATCH)
#define GPUL__VERSIONED_1(name, major, minor, patch) GPUL__VERSIONED_2(name, major, minor, patch)
#define GPUL__VERSIONED_2(name, major, minor, patch) name##_##major##_##minor##_##patch

/* ---------------------------------------------------------------------------------------------------------------------
 * 3. Configuration: define before the include
 *
 *   GPULITE_IMPLEMENTATION  in one file: also compile the host side (needs <cuda_runtime_api.h> on the include path).
 *   GPULITE_STATIC          beside GPULITE_IMPLEMENTATION in one file or several, each of which then has a copy of the
 *                           implementation: every function is static, and has an error record and handler of its file.
 *                           Arrays, streams and memory accounts are common.
 *   GPUL_API                put before every public function (say, __declspec(dllexport)), if not GPULITE_STATIC.
 *   GPULITE_NO_KERNELS      with the implementation: leave out section 10 and GPUL_REDUCE / GPUL_ELEMENTWISE, so that
 *                           the program links without gpulite_kernels.cu. Copies that need a kernel then say so.
 *   GPULITE_NVTX            with the implementation: gpul_range_push and gpul_range_pop make NVTX ranges. Takes
 *                           <nvtx3/nvToolsExt.h> of the CUDA Toolkit, a header alone (glibc before 2.34: and -ldl).
 * ------------------------------------------------------------------------------------------------------------------ */
#ifndef GPUL_API
#ifdef GPULITE_STATIC
#if defined(__GNUC__) || defined(__clang__)
#define GPUL_API static __attribute__((unused))
#else
#define GPUL_API static
#endif
#else
#define GPUL_API extern
#endif
#endif

/* Initialises any struct of this header, in C and in C++: gpul_array a = GPUL_ZERO; */
#ifdef __cplusplus
#define GPUL_ZERO                                                                                                      \
    {}
extern "C" {
#else
#define GPUL_ZERO                                                                                                      \
    { 0 }
#endif

/* CUDA's own handle types: a gpul_stream IS a cudaStream_t and a gpul_event IS a cudaEvent_t, usable with either
 * API. */
typedef struct CUstream_st *gpul_stream;
typedef struct CUevent_st *gpul_event;

/* ---------------------------------------------------------------------------------------------------------------------
 * 4. Status and errors
 *
 * Every function that can fail returns a gpul_status. On failure its outputs are untouched, unless its contract says
 * else, nothing is leaked, the current device is what it was, and gpul_last_error() describes what happened. Nothing is
 * ever printed. Functions may be called from several threads at once, and do not wait for the GPU, unless their
 * contract says else.
 *
 * CUDA keeps a last error per host thread. If one is pending when a gpulite function is called (an earlier call of
 * yours failed and nobody fetched its error), the function does nothing and returns GPUL_ERROR_PENDING: fetch it with
 * cudaGetLastError(). cudaErrorNotReady is an answer and stops nothing. gpulite clears only errors that its own calls
 * caused. An error that ruined the CUDA context (an illegal address in a kernel, say) cannot be cleared by anyone:
 * every later call returns GPUL_ERROR_CUDA, and its message says that the process must end.
 *
 * "Errors" in a contract are those that the function itself finds, without GPUL_ERROR_. What talks to CUDA can also
 * return NO_DEVICE, CUDA and PENDING, and "Errors: CUDA's" are these alone. Functions without a list cannot fail.
 * ------------------------------------------------------------------------------------------------------------------ */
typedef int32_t gpul_status;
enum {
    GPUL_OK = 0,
    /* the arguments: nothing was done */
    GPUL_ERROR_ARGUMENT = 1, /* a NULL pointer, a value out of its range, an array that was never made */
    GPUL_ERROR_SHAPE = 2,    /* shapes that do not fit each other or the operation */
    GPUL_ERROR_DTYPE = 3,    /* a dtype that the operation does not take */
    GPUL_ERROR_MEMORY = 4,   /* memory of the wrong kind: pageable host memory where the GPU must reach it */
    GPUL_ERROR_DEVICE = 5,   /* no such device, or arrays of two devices in one operation */
    GPUL_ERROR_OVERLAP = 6,  /* an output overlaps an input */
    GPUL_ERROR_OVERFLOW = 7, /* a size that does not fit in 63 bits */
    /* the machine */
    GPUL_ERROR_OUT_OF_MEMORY = 100, /* recoverable: free something and try again */
    GPUL_ERROR_NO_DEVICE = 101,     /* no GPU, or no driver for it */
    GPUL_ERROR_UNSUPPORTED = 102,   /* the device, or the way the library was built, lacks what is needed */
    /* CUDA */
    GPUL_ERROR_CUDA = 200,   /* a CUDA call failed: see cuda_code and cuda_name */
    GPUL_ERROR_PENDING = 201 /* an earlier CUDA error of somebody else's was pending before the call */
};

/* What the last failing gpulite call of this thread met. Successful calls leave it alone, as they do errno. */
typedef struct gpul_error {
    gpul_status status;
    int32_t cuda_code;       /* the cudaError_t behind it, 0 when CUDA was not involved */
    int32_t device;          /* the device concerned, -1 when none */
    int32_t reserved;        /* 0 */
    int64_t bytes_requested; /* of a failed allocation, otherwise 0 */
    int64_t bytes_free;      /* on the device at that moment, otherwise 0 */
    char cuda_name[64];      /* "cudaErrorMemoryAllocation", "" when CUDA was not involved */
    char function[64];       /* the gpulite function that failed */
    char message[512];       /* one line: the function, the argument, its value, and what would be right */
} gpul_error;

/* The calling thread's record: never NULL, never to be freed, overwritten by that thread's next failure. */
GPUL_API const gpul_error *gpul_last_error(void);

/* Sets the calling thread's record back to what it is at first: GPUL_OK, and all else 0. */
GPUL_API void gpul_clear_error(void);

/* "GPUL_ERROR_SHAPE" for GPUL_ERROR_SHAPE; "unknown status" for anything that is none. Static storage. */
GPUL_API const char *gpul_status_name(gpul_status status);

/* Records the outcome of a CUDA call of your own (a cudaError_t as int) as a gpulite error of `function`, and clears
 * CUDA's last error if that very error is pending. Returns GPUL_OK for 0, else OUT_OF_MEMORY, NO_DEVICE, UNSUPPORTED or
 * CUDA. */
GPUL_API gpul_status gpul_check_cuda(int32_t cuda_code, const char *function);

/* Has `handler` called at every later failure of a gpulite function in the calling thread, with a copy of the record;
 * NULL, the default: nobody is. Returns the handler that was set before. A handler may print, count, or end the
 * process. It must not throw or longjmp: the failing function has yet to give back what it holds, and returns its
 * status after that (what fails then is a failure of its own). Failures of gpulite inside the handler do not call it
 * again, and leave the record as it was. Cannot fail. */
typedef void (*gpul_error_handler)(const gpul_error *error);
GPUL_API gpul_error_handler gpul_on_error(gpul_error_handler handler);

/* A handler that is ready: GPUL_PRINT_AND_EXIT(name), at file scope, defines the function `name`, which prints the
 * message to stderr and exits with status 1. After gpul_on_error(name) a small program needs no GPUL_CHECK. For
 * programs, not libraries. Needs <stdio.h> and <stdlib.h> where it is used. */
#define GPUL_PRINT_AND_EXIT(name)                                                                                      \
    static void name(const gpul_error *error) {                                                                        \
        fprintf(stderr, "%s\n", error->message);                                                                       \
        exit(1);                                                                                                       \
    }

/* For programs, not libraries: evaluates a call once; on failure prints the message with file and line to stderr and
 * exits with status 1. Needs <stdio.h> and <stdlib.h> where it is used. */
#define GPUL_CHECK(call)                                                                                               \
    do {                                                                                                               \
        if ((call) != GPUL_OK) {                                                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, gpul_last_error()->message);                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---------------------------------------------------------------------------------------------------------------------
 * 5. dtype, shape, array
 * ------------------------------------------------------------------------------------------------------------------ */
typedef int32_t gpul_dtype;
enum {
    GPUL_F32 = 1, /* float */
    GPUL_F64 = 2, /* double */
    GPUL_I32 = 3, /* int32_t */
    GPUL_I64 = 4, /* int64_t */
    GPUL_U8 = 5,  /* uint8_t */
    GPUL_F16 = 6, /* IEEE 754 binary16, as its bits in a uint16_t */
    GPUL_BF16 = 7 /* bfloat16 (the upper half of a float), as its bits in a uint16_t */
};

/* Bytes of one element; 0 for a value that is no dtype. */
GPUL_API size_t gpul_dtype_size(gpul_dtype dtype);

/* NumPy's name: "float32", "float64", "int32", "int64", "uint8", "float16", "bfloat16"; "invalid" otherwise. Static. */
GPUL_API const char *gpul_dtype_name(gpul_dtype dtype);

/* The dtype of what a C pointer points to, const or not: float, double, and the integers of 8 (unsigned), 32 and 64
 * bits. Any other does not compile, uint16_t among them, which may be f16 or bf16. In C++, C11, and any C of gcc and
 * clang. */
#ifdef __cplusplus
#define GPUL_DTYPE_OF(pointer) gpul__dtype_at(static_cast<decltype(&(pointer)[0])>(nullptr)) /* evaluates nothing */
extern "C++" {
static inline gpul_dtype gpul__dtype_at(const float *) { return GPUL_F32; }
static inline gpul_dtype gpul__dtype_at(const double *) { return GPUL_F64; }
static inline gpul_dtype gpul__dtype_at(const int *) { return GPUL_I32; }
static inline gpul_dtype gpul__dtype_at(const long *) { return sizeof(long) == 8 ? GPUL_I64 : GPUL_I32; }
static inline gpul_dtype gpul__dtype_at(const long long *) { return GPUL_I64; }
static inline gpul_dtype gpul__dtype_at(const unsigned char *) { return GPUL_U8; }
template <typename T> static inline gpul_dtype gpul__dtype_at(const T *) {
    static_assert(sizeof(T) == 0,
                  "GPUL_DTYPE_OF, GPUL_TO_DEVICE and GPUL_TO_HOST take a pointer to float, double, int, "
                  "long, long long or unsigned char: of a matrix h[4][8] that is &h[0][0]; 16-bit "
                  "floats go by gpul_to_device");
    return 0;
}
}
#elif defined(__GNUC__) || defined(__TINYC__) || __STDC_VERSION__ >= 201112L
#ifdef __GNUC__
#define GPUL__EXTENSION __extension__
#else
#define GPUL__EXTENSION
#endif
typedef struct gpul_no_dtype__of_a_matrix_pass_its_first_element { /* whose name compilers tell */
    int none;
} gpul_no_dtype__of_a_matrix_pass_its_first_element;
/* clang-format off */
#define GPUL_DTYPE_OF(pointer)                                                                                         \
    (GPUL__EXTENSION _Generic((pointer)[0], float: GPUL_F32, double: GPUL_F64, int: GPUL_I32,                          \
                              long: sizeof(long) == 8 ? GPUL_I64 : GPUL_I32, long long: GPUL_I64,                      \
                              unsigned char: GPUL_U8,                                                                  \
                              default: (gpul_no_dtype__of_a_matrix_pass_its_first_element){0}))
/* clang-format on */
#endif

/* Host conversions of the 16-bit types: to nearest, ties to even, overflow to infinity, NaN stays NaN (IEEE 754). */
GPUL_API uint16_t gpul_f16_from_float(float value);
GPUL_API float gpul_f16_to_float(uint16_t bits);
GPUL_API uint16_t gpul_bf16_from_float(float value);
GPUL_API float gpul_bf16_to_float(uint16_t bits);

#define GPUL_MAX_DIMS 4

enum {
    GPUL_ORDER_C = 0, /* row-major: the last index moves fastest */
    GPUL_ORDER_F = 1  /* column-major: the first index moves fastest */
};

/* A shape is a small value. ndim 0 is one element (NumPy's scalar array); a dimension may be 0. */
typedef struct gpul_shape {
    int64_t dim[GPUL_MAX_DIMS];
    int32_t ndim;
    int32_t order;
} gpul_shape;

static inline gpul_shape gpul__shape(int32_t ndim, int32_t order, int64_t a, int64_t b, int64_t c, int64_t d) {
    const gpul_shape s = {{a, b, c, d}, ndim, order};
    return s;
}
static inline gpul_shape gpul_0d(void) { return gpul__shape(0, GPUL_ORDER_C, 1, 1, 1, 1); }
static inline gpul_shape gpul_1d(int64_t n) { return gpul__shape(1, GPUL_ORDER_C, n, 1, 1, 1); }
/* row-major and column-major matrices */
static inline gpul_shape gpul_2d(int64_t rows, int64_t cols) { return gpul__shape(2, GPUL_ORDER_C, rows, cols, 1, 1); }
static inline gpul_shape gpul_2d_f(int64_t rows, int64_t cols) {
    return gpul__shape(2, GPUL_ORDER_F, rows, cols, 1, 1);
}
static inline gpul_shape gpul_3d(int64_t a, int64_t b, int64_t c) { return gpul__shape(3, GPUL_ORDER_C, a, b, c, 1); }
static inline gpul_shape gpul_4d(int64_t a, int64_t b, int64_t c, int64_t d) {
    return gpul__shape(4, GPUL_ORDER_C, a, b, c, d);
}

enum {
    GPUL_MEMORY_NONE = 0,    /* an array that was never made */
    GPUL_MEMORY_DEVICE = 1,  /* of one GPU */
    GPUL_MEMORY_PINNED = 2,  /* page-locked host memory */
    GPUL_MEMORY_MAPPED = 3,  /* page-locked host memory that kernels read and write in place */
    GPUL_MEMORY_MANAGED = 4, /* moves between host and GPU by itself */
    GPUL_MEMORY_HOST = 5,    /* host memory of the caller's, page-locked by gpul_pin and borrowed by gpul_wrap */
    GPUL_MEMORY_SCALAR = 6   /* no array: a number in an array's place, made by gpul_scalar_array */
};

/* An array is a value that describes memory: copy it freely and pass it by pointer. Ownership does not copy: of all the
 * copies of one array, free exactly one, once. Views own nothing and are valid while the array they came from is.
 * Element (i, j, ...) lies at data + (i * strides[0] + j * strides[1] + ...) elements. The fields are yours to read;
 * write them only through the functions below. All host-visible kinds (pinned, mapped, managed, host) can be read
 * through `data` by the CPU once the work that fills them is done. */
typedef struct gpul_array {
    void *data;                     /* the first element; NULL when empty */
    int64_t shape[GPUL_MAX_DIMS];   /* 1 beyond ndim */
    int64_t strides[GPUL_MAX_DIMS]; /* in elements, always filled, 0 beyond ndim */
    int32_t ndim;
    gpul_dtype dtype;
    int32_t memory;        /* GPUL_MEMORY_* */
    int32_t device;        /* the GPU that the memory belongs to, or was current when host memory was made */
    int32_t owned;         /* nonzero: gpul_free releases the memory */
    int32_t stream_number; /* private: tells `stream` from a later one with the same handle */
    gpul_stream stream;    /* of device arrays: the stream they were made on, and whose order gpul_free follows */
} gpul_array;

/* The shape of an array (x.shape), in row-major order whatever the array's: to make another one like it, or to reshape
 * and broadcast one to it. Of NULL and of an array that was never made ndim is -1, which no function takes. */
static inline gpul_shape gpul_shape_of(const gpul_array *a) {
    if (a == NULL || a->memory == GPUL_MEMORY_NONE) return gpul__shape(-1, GPUL_ORDER_C, 1, 1, 1, 1);
    return gpul__shape(a->ndim, GPUL_ORDER_C, a->shape[0], a->shape[1], a->shape[2], a->shape[3]);
}

/* Elements (the product of the shape; 0 for NULL or a zero array) and bytes of the elements themselves. */
GPUL_API int64_t gpul_size(const gpul_array *a);
GPUL_API int64_t gpul_nbytes(const gpul_array *a);

/* 1 when the elements lie without gaps in the given order (GPUL_ORDER_C or GPUL_ORDER_F), otherwise 0. */
GPUL_API int32_t gpul_is_contiguous(const gpul_array *a, int32_t order);

/* ---------------------------------------------------------------------------------------------------------------------
 * 6. Device, pinned, mapped and managed memory
 *
 * Rules of all functions that make an array: `out` is overwritten without being freed, and only on success. New memory
 * is not initialised. A shape with a zero in it gives a valid empty array (data NULL). Device arrays belong to the
 * device that is current for the calling thread. Errors of them all: ARGUMENT (out is NULL; the shape's ndim or order),
 * DTYPE, SHAPE (a negative dimension), OVERFLOW (2^63 bytes or more, dimensions of 0 left out), OUT_OF_MEMORY.
 *
 * Streams. Device memory is stream-ordered: it may be used by work on the stream it was made on, or on any stream
 * ordered after that point, and gpul_free returns it in that stream's order, after the work that is already there.
 * Arrays made on the NULL (legacy default) stream need no thought: CUDA orders that stream with every stream that
 * gpul_stream_create makes by default. With non-blocking streams, order it yourself (gpul_stream_wait). A stream that
 * gpul_stream_destroy has ended is no danger, nor is another thread's cudaStreamPerThread: gpul_free then waits for the
 * device. Free the arrays of a stream before that if you end it in another way, or if more than some 1000 streams are
 * alive, of which some are not known any more. Synchronize cudaStreamPerThread before its thread ends: CUDA's own end
 * of that stream may wait for ever while it has work (seen with driver 580, beside other processes on the GPU).
 *
 * What is found out about a device once, memory pools among it, is kept: do not use a device after cudaDeviceReset.
 * ------------------------------------------------------------------------------------------------------------------ */

/* Uninitialised device array. May block where the device has no memory pools. Errors: see above; OUT_OF_MEMORY comes
 * after waiting for `stream`, giving cached memory back and trying again. */
GPUL_API gpul_status gpul_device_array(gpul_array *out, gpul_dtype dtype, gpul_shape shape, gpul_stream stream);

/* The same dtype, shape and order (C unless `like` is dense in column-major order), on `like`'s device when it is a
 * device array, otherwise on the current one. Errors: ARGUMENT (NULL, or never made), OVERFLOW, OUT_OF_MEMORY. */
GPUL_API gpul_status gpul_device_array_like(gpul_array *out, const gpul_array *like, gpul_stream stream);

/* Device array with a copy of `host`, whose elements lie densely in the shape's own order; `host` is used as in
 * gpul_copy_to_device. Errors: see above; ARGUMENT (host is NULL), MEMORY (pageable memory in a capture). */
GPUL_API gpul_status gpul_to_device(gpul_array *out, const void *host, gpul_dtype dtype, gpul_shape shape,
                                    gpul_stream stream);

/* GPUL_TO_DEVICE(&a, host, shape) and GPUL_TO_DEVICE(&a, host, shape, stream): gpul_to_device with the dtype of `host`,
 * so that the two cannot disagree (GPUL_DTYPE_OF). */
#define GPUL_TO_DEVICE(out, host, ...)                                                                                 \
    gpul_to_device(out, host, GPUL_DTYPE_OF(host), GPUL__EXPAND(GPUL__TWO(__VA_ARGS__, NULL, 0)))
#define GPUL__TWO(one, two, ...) one, two
#define GPUL__EXPAND(arguments) arguments /* Microsoft's preprocessor takes __VA_ARGS__ for one argument otherwise */

/* New device arrays with something in them: every element `value` (numpy.full; rounded as by gpul_fill), or 0
 * (numpy.zeros), or a copy of any array (a.copy(); dtype, shape, order and device as by gpul_device_array_like).
 * Enqueued. Errors: see above; of gpul_full also ARGUMENT (an integer dtype that does not hold value exactly) and, of
 * other values than 0, UNSUPPORTED (no kernels in the build); gpul_copy's. */
GPUL_API gpul_status gpul_full(gpul_array *out, gpul_dtype dtype, gpul_shape shape, double value, gpul_stream stream);
GPUL_API gpul_status gpul_zeros(gpul_array *out, gpul_dtype dtype, gpul_shape shape, gpul_stream stream);
GPUL_API gpul_status gpul_clone(gpul_array *out, const gpul_array *a, gpul_stream stream);

/* Host memory that copies run from and to at full speed and asynchronously (pinned); that kernels also read and write
 * in place (mapped); that moves to whoever touches it (managed). These calls may block. Errors: see above, and
 * UNSUPPORTED (the device has no managed memory). Managed memory needs free memory on the device when a kernel first
 * touches it: with none left, CUDA ends the context with cudaErrorIllegalAddress. */
GPUL_API gpul_status gpul_pinned_array(gpul_array *out, gpul_dtype dtype, gpul_shape shape);
GPUL_API gpul_status gpul_mapped_array(gpul_array *out, gpul_dtype dtype, gpul_shape shape);
GPUL_API gpul_status gpul_managed_array(gpul_array *out, gpul_dtype dtype, gpul_shape shape);

/* Page-locks `bytes` of host memory that the caller owns, so that copies are asynchronous and gpul_wrap takes it.
 * Blocks. Errors: ARGUMENT (NULL, no bytes), OUT_OF_MEMORY, CUDA (already pinned). */
GPUL_API gpul_status gpul_pin(void *host, size_t bytes);
/* Undoes gpul_pin of the same pointer, once no work uses the memory and before it is freed. Blocks. Errors: ARGUMENT
 * (NULL), CUDA (not pinned). */
GPUL_API gpul_status gpul_unpin(void *host);

/* Releases what the array owns, by the way that fits its memory, and zeroes the struct. Harmless on NULL, on a zeroed
 * struct, on a view (which is zeroed) and twice. Device memory is released in the order of array->stream and does not
 * block (it waits for the device where that has no memory pools, or gpul_stream_destroy has ended the stream, or that
 * is another thread's cudaStreamPerThread). Pinned and mapped memory wait for every device that gpulite has used.
 * Managed memory waits as cudaFree does, at most for its own device: let the work of others be done before. Even when
 * an error is returned (CUDA, PENDING), the struct is zeroed and the memory released if that was possible. */
GPUL_API gpul_status gpul_free(gpul_array *a);

/* gpul_free_all(&a, &b, ...): gpul_free of each (in C++ nullptr, not NULL, for none). All are zeroed and released; what
 * is returned and recorded is the first error. gpul_free_arrays is the function behind it, of arrays[0..count-1].
 * Errors: gpul_free's; ARGUMENT (arrays is NULL, and count is not 0). */
GPUL_API gpul_status gpul_free_arrays(gpul_array *const *arrays, size_t count);
#ifdef __cplusplus
extern "C++" {
template <typename... Arrays> static inline gpul_status gpul_free_all(Arrays... arrays) {
    gpul_array *const all[] = {arrays...};
    return gpul_free_arrays(all, sizeof...(arrays));
}
}
#else
#define gpul_free_all(...)                                                                                             \
    gpul_free_arrays((gpul_array *const[]){__VA_ARGS__},                                                               \
                     sizeof((gpul_array *const[]){__VA_ARGS__}) / sizeof(gpul_array *))
#endif

/* Caps the bytes of device memory that the library's arrays and scratch hold on the current device; 0: no cap
 * (default). Applies to later allocations of all threads, which fail with OUT_OF_MEMORY beyond it. What it replaces is
 * the environment variable GPULITE_MEMORY_LIMIT, a cap on every device, in bytes ("2e9") or in per cent of the device's
 * memory ("50%"), 0 for none, as it is when a device is first used; where it is neither, or less than a byte, that use
 * fails (ARGUMENT). Errors: ARGUMENT (a negative number). */
GPUL_API gpul_status gpul_memory_limit(int64_t bytes);

/* Bytes in use by gpulite on the current device, and bytes it holds from the driver (in use + cached). Either may be
 * NULL. Errors: CUDA's. */
GPUL_API gpul_status gpul_memory_used(int64_t *used, int64_t *held);

/* Gives the cached, unused memory of the current device back to the driver, and unpins the host memory that explicit
 * edges of histograms pass through (at most 2 MB for all devices). Waits for the device. Errors: CUDA's. */
GPUL_API gpul_status gpul_memory_trim(void);

/* ---------------------------------------------------------------------------------------------------------------------
 * 7. Copies and views
 *
 * Host buffers given as plain pointers hold gpul_size() elements densely in the array's own order: column-major if the
 * array is column-major (its strides rise, dimensions of one element or of stride 0 aside), otherwise row-major. Copies
 * between strides can need scratch memory of the array's size.
 * ------------------------------------------------------------------------------------------------------------------ */

/* dst = host. With the NULL stream it is done on return. With a stream it is enqueued: pinned memory must stay
 * unchanged until the stream has passed, pageable memory may be reused on return (CUDA stages it). In a capture the
 * graph reads `host` whenever it runs, so pinned memory must stay as long as the graph, and pageable memory is refused.
 * Errors: ARGUMENT (NULL, or never made; the NULL stream while one that is ordered with it is captured), OVERLAP
 * (elements of dst share memory), MEMORY (pageable in a capture), OUT_OF_MEMORY, UNSUPPORTED as gpul_copy's. */
GPUL_API gpul_status gpul_copy_to_device(gpul_array *dst, const void *host, gpul_stream stream);
/* host = src. With the NULL stream it is done on return. With a stream it is enqueued, and `host` must stay until the
 * stream has passed (a copy to pageable memory may block until then). In a capture as above. Errors: as above, but for
 * OVERLAP. */
GPUL_API gpul_status gpul_copy_to_host(void *host, const gpul_array *src, gpul_stream stream);

/* The same where `host` holds elements of `dtype`, which must be src's (else DTYPE). GPUL_TO_HOST(host, &a) and
 * GPUL_TO_HOST(host, &a, stream) take it from the pointer (GPUL_DTYPE_OF). */
GPUL_API gpul_status gpul_to_host(void *host, gpul_dtype dtype, const gpul_array *src, gpul_stream stream);
#define GPUL_TO_HOST(host, ...) gpul_to_host(host, GPUL_DTYPE_OF(host), GPUL__EXPAND(GPUL__TWO(__VA_ARGS__, NULL, 0)))

/* Element by element from src to dst: same shape and dtype, any strides, any kinds of memory, any two devices. Enqueued
 * on `stream`, which belongs to dst's device, or to src's where dst is no device array, or, where neither is, to the
 * current one (NULL: that device's default stream, done on return unless both are device arrays). Errors: ARGUMENT,
 * DTYPE, SHAPE, OVERLAP (dst with src, or with itself), OUT_OF_MEMORY, UNSUPPORTED (strides that take a kernel, which
 * the build left out; in a capture, a strided src of another device), CUDA (of two devices: dst may have been written).
 */
GPUL_API gpul_status gpul_copy(gpul_array *dst, const gpul_array *src, gpul_stream stream);

/* Every element = value, enqueued. Floating dtypes round. Errors: ARGUMENT (NULL; an integer dtype that does not hold
 * value exactly), OVERLAP (elements may share memory), UNSUPPORTED (no kernels in the build). */
GPUL_API gpul_status gpul_fill(gpul_array *a, double value, gpul_stream stream);

/* *value = one element of a's dtype; `index` has a->ndim entries, negative ones from the end. Waits for `stream`.
 * Errors: ARGUMENT (NULL, index out of range, a capture). */
GPUL_API gpul_status gpul_get(void *value, const gpul_array *a, const int64_t *index, gpul_stream stream);
/* One element = *value. Waits for `stream`. Errors: as gpul_get's; OVERLAP (elements of `a` may share memory). */
GPUL_API gpul_status gpul_set(gpul_array *a, const int64_t *index, const void *value, gpul_stream stream);

/* Where two arrays differ: the answer of numpy.allclose, and what numpy.testing.assert_allclose prints. */
typedef struct gpul_difference {
    int64_t count;                /* elements that are not close; 0: numpy.allclose is true */
    int64_t first[GPUL_MAX_DIMS]; /* the index of the first of them, in row-major order; 0 where there is none */
    int64_t worst[GPUL_MAX_DIMS]; /* and of the one with the largest |a - b| (NaN before all), the first of equals */
    double first_a, first_b;      /* their elements */
    double worst_a, worst_b;
} gpul_difference;

/* Compares a and b, of one shape and any dtypes, on the host, as numpy.allclose: an element is close when |a - b| <=
 * atol + rtol |b|, computed in double (of int64 the difference exactly, then rounded), or when a == b; NaN is close to
 * nothing. Takes 2 MiB of host memory at most. Waits for `stream`. Errors: ARGUMENT (NULL, or never made; rtol or atol
 * is negative or NaN; a capture), SHAPE, DEVICE (two of them), OUT_OF_MEMORY, UNSUPPORTED as gpul_copy's. */
GPUL_API gpul_status gpul_allclose(gpul_difference *result, const gpul_array *a, const gpul_array *b, double rtol,
                                   double atol, gpul_stream stream);

/* Writes what print(a) shows in NumPy (its default options: 8 digits, and of more than 1000 elements three at each end
 * of each axis) into text[0..size-1], cut where it is too long, and NUL-terminated; no newline at its end. bfloat16,
 * which NumPy lacks, by the rules of float16: with the digits that tell it from its neighbours, and exponents from 100
 * on, as it holds two digits where float16 holds three. *length: of the whole text, without the NUL. Either may be NULL
 * (text only with size 0). Only what is shown is copied. Waits for `stream`. Errors: ARGUMENT (text is NULL, and size
 * is not 0; a NULL, or never made; a capture), OUT_OF_MEMORY, UNSUPPORTED as gpul_copy's. */
GPUL_API gpul_status gpul_print(size_t *length, char *text, size_t size, const gpul_array *a, gpul_stream stream);
/* The same for programs, not libraries: GPUL_PRINT(&a) and GPUL_PRINT(&a, stream) print it and a newline to stdout; on
 * failure, the message with file and line to stderr. Needs <stdio.h> where it is used. */
#define GPUL_PRINT(...)                                                                                                \
    do {                                                                                                               \
        char gpul__shown[32768]; /* more than 1296 elements, all that are ever shown, take */                          \
        if (gpul_print(NULL, gpul__shown, sizeof gpul__shown, GPUL__EXPAND(GPUL__TWO(__VA_ARGS__, NULL, 0))) ==        \
            GPUL_OK)                                                                                                   \
            puts(gpul__shown);                                                                                         \
        else fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, gpul_last_error()->message);                           \
    } while (0)

/* Views: no copy, no launch, no CUDA call. Axes count from 0, negative ones from the end. Errors of them all: ARGUMENT
 * (NULL; an array that was never made; an axis out of range; `view` is `a` itself, which may only be where `a` owns
 * nothing, or its memory would leak). */

/* a[start:stop:step] along one axis, 0 <= start <= stop <= shape[axis], step >= 1 (else ARGUMENT). Negative start and
 * stop count from the end, and a stop of GPUL_END is the end itself: a[-3:] is start -3, stop GPUL_END, step 1. */
#define GPUL_END INT64_MAX
GPUL_API gpul_status gpul_slice(gpul_array *view, const gpul_array *a, int32_t axis, int64_t start, int64_t stop,
                                int64_t step);
/* a[..., i, ...]: element i along one axis, which disappears: a row of a matrix as a vector. 0 <= i < shape[axis], or
 * negative, from the end (else ARGUMENT). */
GPUL_API gpul_status gpul_index(gpul_array *view, const gpul_array *a, int32_t axis, int64_t i);
/* The same elements in another shape, in the order of `shape`; one dimension may be -1 ("the rest"). Errors: SHAPE also
 * when strides cannot express it (gpul_copy into a dense array first), OVERFLOW. */
GPUL_API gpul_status gpul_reshape(gpul_array *view, const gpul_array *a, gpul_shape shape);
/* All axes reversed (a matrix: its transpose). */
GPUL_API gpul_status gpul_transpose(gpul_array *view, const gpul_array *a);
/* Axis k of the view is axis axes[k] of `a`, as numpy.transpose(a, axes): {0, 2, 1} transposes each
 * matrix of a stack. `axes` has a->ndim entries. Errors: also ARGUMENT (axes is NULL, or has an axis twice). */
GPUL_API gpul_status gpul_permute(gpul_array *view, const gpul_array *a, const int32_t *axes);
/* One more axis, of one element, which is axis `axis` of the view, as numpy.expand_dims. Errors: also SHAPE (`a` has
 * GPUL_MAX_DIMS axes). */
GPUL_API gpul_status gpul_expand_dims(gpul_array *view, const gpul_array *a, int32_t axis);
/* `a` repeated to `shape` by NumPy's rules: axes that it lacks come first, and they and its axes of one element repeat,
 * by a stride of 0. shape.order means nothing. An array that repeats is an input; no operation writes to it. Errors:
 * also SHAPE, OVERFLOW. */
GPUL_API gpul_status gpul_broadcast_to(gpul_array *view, const gpul_array *a, gpul_shape shape);
/* `parts` views into views[0..parts-1] along one axis, as numpy.array_split: the first shape % parts of them are one
 * longer. parts >= 1 (else ARGUMENT). */
GPUL_API gpul_status gpul_split(gpul_array *views, int64_t parts, const gpul_array *a, int32_t axis);
/* An array over memory that somebody else owns and keeps: device, pinned, mapped, managed, or pinned by gpul_pin.
 * Errors: ARGUMENT (NULL, misaligned), DTYPE, SHAPE, OVERFLOW, MEMORY (pageable, or too short, as far as its
 * first and last byte tell), UNSUPPORTED (host memory that the device sees at another address). */
GPUL_API gpul_status gpul_wrap(gpul_array *out, void *pointer, gpul_dtype dtype, gpul_shape shape);
/* The same with strides in elements, shape.ndim of them. Errors: also ARGUMENT (strides is NULL or has a negative). */
GPUL_API gpul_status gpul_wrap_strided(gpul_array *out, void *pointer, gpul_dtype dtype, gpul_shape shape,
                                       const int64_t *strides);

/* DLPack: arrays of PyTorch, CuPy, JAX, TensorFlow and others, and to them, without a copy. A tensor is the
 * DLManagedTensor of dlpack.h, which a Python capsule named "dltensor" holds: memory, shape, and a deleter for whoever
 * uses it last. It knows no stream: let work on the one side's stream wait for the other's.
 *
 * An array over a tensor's memory. The tensor keeps it: call tensor->deleter(tensor) after the last use of the array,
 * which owns nothing. Dtypes: float of 16, 32 and 64 bits, bfloat, int of 32 and 64, uint of 8, and bool as uint8.
 * Errors: gpul_wrap_strided's; also ARGUMENT (tensor is NULL), DTYPE (none of these), SHAPE (more than GPUL_MAX_DIMS
 * dimensions), MEMORY (of no CUDA device and no host). */
struct DLManagedTensor;
GPUL_API gpul_status gpul_from_dlpack(gpul_array *out, const struct DLManagedTensor *tensor);
/* *out = `a` as a tensor. What `a` owns is the tensor's from then on: its deleter frees it, as gpul_free does, and `a`
 * is a view of it. A tensor of an array that owns nothing is a view, too. Errors: ARGUMENT (NULL, or never made),
 * OUT_OF_MEMORY (of the host). */
GPUL_API gpul_status gpul_to_dlpack(struct DLManagedTensor **out, gpul_array *a);

/* ---------------------------------------------------------------------------------------------------------------------
 * 8. Streams, events, timers, graphs
 * ------------------------------------------------------------------------------------------------------------------ */
enum {
    GPUL_STREAM_DEFAULT = 0,     /* ordered with the NULL stream, as Numba's and CuPy's are */
    GPUL_STREAM_NON_BLOCKING = 1 /* not ordered with the NULL stream */
};

/* A new stream of the current device. Errors: ARGUMENT (NULL, flags). */
GPUL_API gpul_status gpul_stream_create(gpul_stream *out, uint32_t flags);
/* Ends a stream and sets the handle NULL, also when an error is returned. Its work still finishes; this does not wait
 * for it. Harmless on a NULL handle. Of the last 16 streams, copies of the handle are known: every function that gets
 * one refuses it (ARGUMENT), where plain CUDA crashes. CUDA destroys a stream when 16 others have ended after it. A
 * stream that is being captured is not known afterwards, nor, with more than some 1000 streams alive, are some others:
 * CUDA destroys them at once.
 * Errors: ARGUMENT (stream is NULL, or was ended before). */
GPUL_API gpul_status gpul_stream_destroy(gpul_stream *stream);
/* Waits until the stream's work is done. NULL: the current device's default stream. Errors: CUDA's, and the work's. */
GPUL_API gpul_status gpul_stream_synchronize(gpul_stream stream);
/* *done = 1 when all work of the stream has finished, else 0. Errors: ARGUMENT (done is NULL); CUDA is the work's. */
GPUL_API gpul_status gpul_stream_query(int32_t *done, gpul_stream stream);
/* Later work of `waiter` starts only after the work now in `other`, also across devices; but streams that are being
 * captured, and all streams where CUDA is older than 12.8, belong to the current device. Errors: CUDA's. */
GPUL_API gpul_status gpul_stream_wait(gpul_stream waiter, gpul_stream other);
/* Waits for everything on the current device. Errors: CUDA's, also of that work. */
GPUL_API gpul_status gpul_device_synchronize(void);

/* Events mark a point in a stream and carry a time stamp (resolution about half a microsecond). An event belongs to the
 * device that is current here. Errors: ARGUMENT (NULL). */
GPUL_API gpul_status gpul_event_create(gpul_event *out);
/* Ends an event and sets the handle NULL, also when an error is returned. Harmless on a NULL handle. Errors: ARGUMENT
 * (event is NULL). */
GPUL_API gpul_status gpul_event_destroy(gpul_event *event);
/* The event marks the point after the work now in `stream`, of the event's device, and no earlier one. Errors: ARGUMENT
 * (event is NULL). */
GPUL_API gpul_status gpul_event_record(gpul_event event, gpul_stream stream);
/* Waits until the point is reached; not at all for an event that was never recorded. Errors: ARGUMENT (NULL); CUDA is
 * the work's. */
GPUL_API gpul_status gpul_event_synchronize(gpul_event event);
/* *done = 1 when the point is reached or the event was never recorded, else 0. Errors: ARGUMENT (NULL); CUDA is the
 * work's. */
GPUL_API gpul_status gpul_event_query(int32_t *done, gpul_event event);
/* Seconds from `start` to `stop`, which were recorded on one device. Waits for both. Errors: ARGUMENT (NULL), CUDA
 * (one was never recorded). */
GPUL_API gpul_status gpul_event_seconds(double *seconds, gpul_event start, gpul_event stop);

/* A timer adds up over regions:
 *
 *     gpul_timer t = GPUL_ZERO;                 // device time; gpul_timer t = gpul_host_timer(); for the host's clock
 *     for (...) { gpul_timer_start(&t, s); kernels...; gpul_timer_stop(&t, s); other work }
 *     gpul_timer_seconds(&seconds, &t);         // of all regions together; waits for the last one
 *     gpul_timer_free(&t);
 *
 * A timer's streams belong to the device that was current when it was first started. Starting and stopping only enqueue
 * events, until GPUL_TIMER_REGIONS regions are unread; then starting waits for the oldest. Not to be shared between
 * threads. */
#define GPUL_TIMER_REGIONS 16
typedef struct gpul_timer {
    double total;     /* seconds of the regions that were read so far */
    int64_t regions;  /* regions stopped so far */
    int32_t host;     /* 1: the host's monotonic clock; the stream argument is ignored */
    int32_t running;  /* between start and stop */
    int32_t pending;  /* regions whose events are not yet read */
    int32_t next;     /* slot of the next region */
    gpul_status lost; /* the first failure of GPUL_TIMED, which gpul_timer_seconds reports, or GPUL_OK */
    int32_t reserved; /* 0 */
    double host_from; /* start of the running region, host clock */
    gpul_event from[GPUL_TIMER_REGIONS], to[GPUL_TIMER_REGIONS];
} gpul_timer;

static inline gpul_timer gpul_host_timer(void) {
    gpul_timer t = GPUL_ZERO;
    t.host = 1;
    return t;
}
/* Begins a region. Errors: ARGUMENT (NULL; it is running already; a capture). */
GPUL_API gpul_status gpul_timer_start(gpul_timer *timer, gpul_stream stream);
/* Ends the region. Errors: ARGUMENT (NULL; it is not running; a capture). */
GPUL_API gpul_status gpul_timer_stop(gpul_timer *timer, gpul_stream stream);
/* The seconds of all regions together. Waits for the last. Errors: ARGUMENT (NULL; it is running); what a GPUL_TIMED
 * met, if one failed. */
GPUL_API gpul_status gpul_timer_seconds(double *seconds, gpul_timer *timer);
/* Back to zero seconds, zero regions and no failure; keeps the events. A region that is running goes on. Errors:
 * ARGUMENT (NULL). */
GPUL_API gpul_status gpul_timer_reset(gpul_timer *timer);
/* Destroys the events and zeroes the struct, also when an error is returned; harmless on NULL and twice. Errors:
 * CUDA's. */
GPUL_API gpul_status gpul_timer_free(gpul_timer *timer);
/* Times the block that follows: GPUL_TIMED(t, stream) { ... }. Leave the block only through its end. The block runs
 * even where starting fails; timer.lost keeps the first failure of a start or a stop, until gpul_timer_reset. */
#define GPUL_TIMED(timer, stream) GPUL__TIMED_1(timer, stream, __LINE__)
#define GPUL__TIMED_1(timer, stream, line) GPUL__TIMED_2(timer, stream, line)
#define GPUL__TIMED_2(t, s, line)                                                                                      \
    for (gpul__region gpul__region_##line = gpul__region_begin(&(t), (s)); gpul__region_##line.timer != NULL;          \
         gpul__region_end(&gpul__region_##line))
typedef struct gpul__region {
    gpul_timer *timer;
    gpul_stream stream;
} gpul__region;
static inline gpul__region gpul__region_begin(gpul_timer *timer, gpul_stream stream) {
    const gpul__region region = {timer, stream};
    const gpul_status status = gpul_timer_start(timer, stream);
    if (timer->lost == GPUL_OK) timer->lost = status;
    return region;
}
static inline void gpul__region_end(gpul__region *region) {
    const gpul_status status = region->timer->running ? gpul_timer_stop(region->timer, region->stream) : GPUL_OK;
    if (region->timer->lost == GPUL_OK) region->timer->lost = status;
    region->timer->running = 0; /* also where stopping failed: the next region can begin */
    region->timer = NULL;
}

/* Seconds on the host's monotonic clock, from an arbitrary start. Cannot fail. */
GPUL_API double gpul_host_seconds(void);

/* A graph is work that is captured once and launched many times, each time as one call, which is cheap where the work
 * is many short kernels:
 *
 *     GPUL_CHECK(gpul_graph_begin(stream));          // from here on `stream` notes its work instead of doing it
 *     gpul_gemv(&y, 1, &A, &x, 0, stream);  GPUL_LAUNCH(mine, grid, block, 0, stream, ...);  ...
 *     GPUL_CHECK(gpul_graph_end(&graph, stream));
 *     for (...) GPUL_CHECK(gpul_graph_launch(graph, stream));      // the same work, on the values of that moment
 *     gpul_graph_free(&graph);
 *
 * A launch uses the same arrays and pinned buffers and the same alpha, lo, op, ... again, so these must stay, and what
 * changes is what lies in the arrays. Errors are found while capturing. What waits for an answer cannot be captured
 * and says so: gpul_get, gpul_set, gpul_reduce_host and its short forms, a histogram that finds its own range, timers,
 * copies of pageable memory. Other streams join the capture by gpul_stream_wait(other, stream), and must come back by
 * gpul_stream_wait(stream, other) before it ends. Two graphs that a program makes of one capture itself (by
 * cudaGraphInstantiate) must not run at a time. Device arrays that are made on a captured stream are memory of the
 * graph, which gpul_memory_used and gpul_memory_limit leave out: gpul_free them on it before the capture ends. Where
 * the device has no memory pools, none can be made. Free no other array on it.
 *
 * It IS a cudaGraphExec_t. */
typedef struct CUgraphExec_st *gpul_graph;
/* Begins to capture the work of a stream, which the same thread ends. The capture is lost (CUDA's thread-local mode) if
 * before that this thread makes or frees a pinned, mapped or managed array, pins or unpins memory, calls
 * gpul_memory_trim, waits for the device, a captured stream or an event of one, or asks for their state; without memory
 * pools also if it makes a device array or measures the roof or by flush_l2; or, unless the stream is non-blocking, if
 * anybody gives work to the NULL stream or asks gpul_stream_query of it. Nor let other threads wait for the device
 * meanwhile, which CUDA need not allow: gpul_device_synchronize, and gpul_free of pinned memory or of an array whose
 * stream has ended. Errors: ARGUMENT (stream is NULL, which CUDA cannot capture, or is being captured already). */
GPUL_API gpul_status gpul_graph_begin(gpul_stream stream);
/* Ends the capture and makes a graph of it. `stream` does work again, also when an error is returned, unless it is one
 * of ARGUMENT or PENDING, or another thread began the capture. Errors: ARGUMENT (out is NULL; stream is not being
 * captured), CUDA (something since gpul_graph_begin cannot be captured; a stream that joined has not come back; stream
 * joined and did not begin it; another thread did), OUT_OF_MEMORY. */
GPUL_API gpul_status gpul_graph_end(gpul_graph *out, gpul_stream stream);
/* Enqueues the work of a graph on a stream of the device that it was captured on. Launches of one graph run one after
 * the other, on whatever streams. Errors: ARGUMENT (graph is NULL), CUDA (stream is being captured). */
GPUL_API gpul_status gpul_graph_launch(gpul_graph graph, gpul_stream stream);
/* Ends a graph and sets the handle NULL, also when an error is returned. What was launched still finishes; this does
 * not wait for it. Harmless on a NULL handle. Errors: ARGUMENT (graph is NULL). */
GPUL_API gpul_status gpul_graph_free(gpul_graph *graph);

/* ---------------------------------------------------------------------------------------------------------------------
 * 9. Launch geometry, host side (the device side is in section 12)
 * ------------------------------------------------------------------------------------------------------------------ */
typedef struct gpul_dim3 {
    uint32_t x, y, z;
} gpul_dim3;

#ifdef __CUDACC__
#define GPUL__HOST_DEVICE __host__ __device__
#else
#define GPUL__HOST_DEVICE
#endif

/* ceil(a / b) without overflow, for a >= 0 and b > 0; 0 for anything else. On the device too. */
GPUL__HOST_DEVICE static inline int64_t gpul_ceil_div(int64_t a, int64_t b) {
    return a <= 0 || b <= 0 ? 0 : 1 + (a - 1) / b;
}

static inline uint32_t gpul__grid_dim(int64_t n, uint32_t block, uint32_t most) {
    const int64_t blocks = gpul_ceil_div(n, (int64_t)block);
    return blocks > (int64_t)most ? most : (uint32_t)blocks;
}
/* Blocks that cover n elements (nx by ny, nx by ny by nz), clamped to CUDA's limits of 2^31-1 in x and 65535 in y and
 * z: write kernels with GPUL_GRID_STRIDE and any size is covered. n = 0 gives a zero grid, which GPUL_LAUNCH skips. */
static inline gpul_dim3 gpul_grid_1d(int64_t n, uint32_t block) {
    const gpul_dim3 g = {gpul__grid_dim(n, block, 2147483647u), 1, 1};
    return g;
}
static inline gpul_dim3 gpul_grid_2d(int64_t nx, int64_t ny, gpul_dim3 block) {
    const gpul_dim3 g = {gpul__grid_dim(nx, block.x, 2147483647u), gpul__grid_dim(ny, block.y, 65535u), 1};
    return g;
}
static inline gpul_dim3 gpul_grid_3d(int64_t nx, int64_t ny, int64_t nz, gpul_dim3 block) {
    gpul_dim3 g = gpul_grid_2d(nx, ny, block);
    g.z = gpul__grid_dim(nz, block.z, 65535u);
    return g;
}
/* Threads per block that keep most threads resident on the current device for `kernel` (a __global__ function: itself
 * in a .cu file, see section 12, else its address) with `shared_bytes` of dynamic shared memory per block, at most
 * `limit` (0: the device's limit). On equal occupancy the larger block wins. Beyond 48 KB of shared memory the kernel
 * is given leave for what the device has. Errors: ARGUMENT (NULL, a negative limit, more shared memory than a block can
 * have), CUDA (not a kernel). */
GPUL_API gpul_status gpul_block_size(int32_t *block, const void *kernel, size_t shared_bytes, int32_t limit);
/* Blocks of `block` threads, with `shared_bytes` of dynamic shared memory, that the current device holds at a time: the
 * largest grid of a cooperative launch (section 12). Errors: as gpul_block_size's; also ARGUMENT (a block that the
 * kernel does not take). */
GPUL_API gpul_status gpul_cooperative_blocks(int32_t *blocks, const void *kernel, int32_t block, size_t shared_bytes);

/* ---------------------------------------------------------------------------------------------------------------------
 * 10. Prebuilt operations (kernels in gpulite_kernels.cu)
 *
 * Rules of all of them: outputs exist before the call, with the right shape, and inputs are never written. Arrays may
 * be device, pinned, mapped, managed or gpul_pin'ned memory with any strides from 0 on (unless said); all device arrays
 * live on one device, which is the one that runs the operation. The work is enqueued on `stream` and the call returns;
 * it uses no other stream, waits for this one only where there is no memory left for scratch, and can be captured into
 * a CUDA graph (exceptions are named). The graph allocates where an operation needs scratch memory (see each); for what
 * passes between the blocks of a reduction, gemv or product only if it is more than 256 KB, if more than 32 captured
 * streams have such calls in graphs that are alive, or with CUDA 11. Axes count from 0, negative ones from the end.
 * Empty arrays are valid. Two threads must not write one array at a time. Elementwise, 2^30 elements are a launch:
 * where CUDA fails at a later one, a part of out is written. Errors of them all: ARGUMENT (NULL, an array
 * that was never made), DTYPE, SHAPE, DEVICE (arrays of two devices), OVERLAP (an output with an input, or with itself,
 * as it may where its strides do not nest), UNSUPPORTED (the family was left out of the build); those that need scratch
 * memory: OUT_OF_MEMORY. Contracts add what is more than that.
 * ------------------------------------------------------------------------------------------------------------------ */

#ifndef GPULITE_NO_KERNELS

/* out = a + b, out = a * b: the short names of gpul_binary with GPUL_ADD and GPUL_MULTIPLY, of which see below. All
 * dtypes (one for all three). */
GPUL_API gpul_status gpul_vecadd(gpul_array *out, const gpul_array *a, const gpul_array *b, gpul_stream stream);
GPUL_API gpul_status gpul_vecmul(gpul_array *out, const gpul_array *a, const gpul_array *b, gpul_stream stream);

/* NumPy's functions of elements. Inputs broadcast to out's shape by NumPy's rules; out may be an input itself, but not
 * overlap one otherwise. Nothing is converted on the way: inputs are of one dtype, and out has the dtype that the
 * contract names (else DTYPE). Integers wrap. What IEEE 754 defines is rounded once, and has the same bits everywhere.
 * exp, log, sin, cos, tanh and power are CUDA's library's, within 2 units in the last place (power of f32: 4; f16 and
 * bf16 are computed in f32 and rounded), and on the CPU stand-in the host library's. No scratch memory.
 *
 * GPUL_SCALAR(value), a C number, may stand for one input of gpul_binary, gpul_vecadd and gpul_vecmul, for x and y of
 * gpul_where, for x of gpul_convert, and for inputs of GPUL_ELEMENTWISE. It takes the dtype of the array beside it, or
 * out's, or that of the input, as a Python number does in NumPy 2: rounded for floats; for integers it has to be one of
 * the dtype's values (else ARGUMENT). An i64 beyond 2^53 passes as an array of one element. */

/* That number, which owns nothing and has no dtype. GPUL_SCALAR(value) is the address of one, for the call it is in. */
GPUL_API gpul_array gpul_scalar_array(double value);
#ifdef __cplusplus
static inline const gpul_array *gpul__address_of(const gpul_array &array) { return &array; }
#define GPUL_SCALAR(value) gpul__address_of(gpul_scalar_array(value))
#else
#define GPUL_SCALAR(value) ((const gpul_array[1]){gpul_scalar_array(value)})
#endif

enum { /* of two inputs; no number means anything to gpul_unary or gpul_reduce as well */
       GPUL_ADD = 101,
       GPUL_SUBTRACT = 102,
       GPUL_MULTIPLY = 103,
       GPUL_DIVIDE = 104,  /* numpy.true_divide: of integers in f64 */
       GPUL_MINIMUM = 105, /* NaN where either is */
       GPUL_MAXIMUM = 106,
       GPUL_POWER = 107, /* of integers modulo 2^bits; a negative exponent is refused as a scalar (ARGUMENT), and an
                            element, which the host cannot see, gives 0 */
       GPUL_EQUAL = 108,
       GPUL_NOT_EQUAL = 109,
       GPUL_LESS = 110,
       GPUL_LESS_EQUAL = 111,
       GPUL_GREATER = 112,
       GPUL_GREATER_EQUAL = 113
};
/* out = x op y; one of the two may be a scalar. Every op takes every dtype. out's dtype: gpul_binary_dtype of the
 * inputs'. Errors: also ARGUMENT (op, a scalar, two scalars). */
GPUL_API gpul_status gpul_binary(gpul_array *out, int32_t op, const gpul_array *x, const gpul_array *y,
                                 gpul_stream stream);
/* u8 for comparisons (0 and 1, NumPy's bool), f64 for quotients of integers, else the inputs' own; 0 for an op or dtype
 * that is none. */
GPUL_API gpul_dtype gpul_binary_dtype(int32_t op, gpul_dtype dtype);

enum { /* of one input */
       GPUL_NEGATIVE = 201,
       GPUL_ABSOLUTE = 202,
       GPUL_SQUARE = 203,
       GPUL_SQRT = 204, /* this and what follows: of floats */
       GPUL_EXP = 205,
       GPUL_LOG = 206,
       GPUL_SIN = 207,
       GPUL_COS = 208,
       GPUL_TANH = 209,
       GPUL_RINT = 210 /* ties to even */
};
/* out = op(x), of x's dtype. The smallest integer's negative and absolute value is itself. Errors: also ARGUMENT
 * (op). */
GPUL_API gpul_status gpul_unary(gpul_array *out, int32_t op, const gpul_array *x, gpul_stream stream);

/* out = a x + b, of x's dtype: fma(a, x, b) with a and b in f64 for f64 and f32 for other floats, rounded to the dtype.
 * For integers a and b are whole numbers (else ARGUMENT). */
GPUL_API gpul_status gpul_scale(gpul_array *out, double a, const gpul_array *x, double b, gpul_stream stream);

/* out = minimum(maximum(x, lo), hi), of x's dtype: numpy.clip. -INFINITY and INFINITY are no bound. Of floats, bounds
 * are rounded to the dtype. Of integers, a bound beyond all values on its own side is none, and others have to be one
 * of the values (else ARGUMENT). NaN stays NaN. Bounds that are arrays: gpul_binary with GPUL_MAXIMUM, GPUL_MINIMUM. */
GPUL_API gpul_status gpul_clip(gpul_array *out, const gpul_array *x, double lo, double hi, gpul_stream stream);

/* out = x where mask is not 0, y elsewhere, bit for bit. mask: u8, as comparisons give it; x and y: out's dtype, either
 * or both may be scalars. */
GPUL_API gpul_status gpul_where(gpul_array *out, const gpul_array *mask, const gpul_array *x, const gpul_array *y,
                                gpul_stream stream);

/* out = x, x.astype(out's dtype), between any two dtypes. To floats: to nearest, ties to even, once; overflow to
 * infinity. Float to integer: towards zero, values beyond the dtype's to its nearest, NaN to 0. Integer to integer:
 * modulo 2^bits. */
GPUL_API gpul_status gpul_convert(gpul_array *out, const gpul_array *x, gpul_stream stream);

/* out[i] = start + i * step for all of a vector out, whose length takes the place of numpy.arange's stop. Of integers
 * start and step are whole numbers (else ARGUMENT) and the sums wrap; of floats they are computed in f64, where they
 * have numpy.arange's bits (its step is (start + step) - start, rounded), and rounded to the dtype. */
GPUL_API gpul_status gpul_arange(gpul_array *out, double start, double step, gpul_stream stream);

/* numpy.linspace(start, stop, length of out): computed in f64 with NumPy's bits, the last of several elements stop
 * itself, and rounded to out's dtype, for integers downwards and then as gpul_convert does. out: a vector. */
GPUL_API gpul_status gpul_linspace(gpul_array *out, double start, double stop, gpul_stream stream);

/* y = alpha * A x + beta * y, BLAS's gemv. A: rows x cols, f32 or f64, row-major or column-major with any leading
 * dimension (gpul_transpose for A^T); x: cols; y: rows; any strides. alpha and beta are first rounded to the type that
 * is computed in, f32 or f64; one that rounds to 0 counts as 0. beta = 0 never reads y, alpha = 0 never reads A or x,
 * and of no columns alpha counts as 0. The last step is fma(alpha, sum, beta * y). Barring underflow |error| <=
 * gamma(cols + 2) (|alpha| |A| |x| + |beta| |y|) elementwise (Higham, Accuracy and Stability, 3.5), the same bits on
 * every run, every GPU and the CPU stand-in; NaN is always the same. */
GPUL_API gpul_status gpul_gemv(gpul_array *y, double alpha, const gpul_array *A, const gpul_array *x, double beta,
                               gpul_stream stream);

enum {
    GPUL_SUM = 1,
    GPUL_PROD = 2,
    GPUL_MIN = 3,
    GPUL_MAX = 4,
    GPUL_ABS_SUM = 5, /* sum of |x| (BLAS asum) */
    GPUL_SUM_SQ = 6,  /* sum of x^2 */
    GPUL_MEAN = 7,
    GPUL_VAR = 8, /* population variance, numpy.var with ddof = 0 */
    GPUL_ARGMIN = 9,
    GPUL_ARGMAX = 10,
    GPUL_COUNT_NONZERO = 11
};
#define GPUL_ALL_AXES (-2147483647 - 1) /* INT32_MIN: no axis */

/* out = op over x, along one axis (out has x's shape without that axis, or with one element along it, as NumPy's
 * keepdims=True) or over all elements (GPUL_ALL_AXES; out has one element). x: f32, f64, i32, i64, u8 for every op; f16
 * and bf16 for sum, mean, min, max. out's dtype is gpul_reduce_dtype(op, x's dtype), or f64 where that is a float and
 * op is neither min nor max.
 *
 * ONE launch for any size. The result is a pure function of the values along the axis in order, their number, dtype and
 * op: the same bits on every run, every GPU and the CPU stand-in, and reducing a row of a matrix alone gives the bits
 * that reducing the matrix gives (a tree of fixed shape; over all axes, elements are taken in memory order). Sums of
 * f32, f16 and bf16 are accumulated in f64: |error| <= eps |S| + 2^-40 sum|x|. The variance joins those of small parts,
 * each about its own mean, and takes exact differences of integers: never negative, with a relative error of n 2^-50 at
 * most (of u8 2^-51), whichever element comes first; of f64 elements 1e307 or more apart it may be NaN where it is
 * infinite. min and max propagate NaN, and -0 is less than 0; argmin and argmax return the first index (row-major over
 * all axes) and take NaN for the extreme, as NumPy does. Integer sums wrap in i64. Empty: sum 0, prod 1, mean and var
 * NaN; min, max, argmin and argmax refuse (SHAPE). NaN results are always the same quiet NaN. Errors: also ARGUMENT
 * (op, axis), CUDA (an output of more than 2^45 elements, which are broadcast). */
GPUL_API gpul_status gpul_reduce(gpul_array *out, const gpul_array *x, int32_t op, int32_t axis, gpul_stream stream);

/* The dtype of a result: sum, prod, abs-sum, sum-sq: x's for floats, i64 for integers; min, max: x's; mean, var: x's
 * for floats, f64 for integers; argmin, argmax, count-nonzero: i64. 0 where op does not take the dtype. */
GPUL_API gpul_dtype gpul_reduce_dtype(int32_t op, gpul_dtype dtype);

/* The answer over all elements as a C value: `value` points to one element of `dtype`, and nothing beside it is
 * written. Sums, products, mean and var of floating data are accumulated in f64 and rounded once, if dtype is x's or a
 * wider float. Every other dtype must hold exactly what was accumulated. Waits, and cannot be captured. Errors: also
 * ARGUMENT (op; a capture; a result that dtype does not hold exactly, which the message names). */
GPUL_API gpul_status gpul_reduce_host(void *value, gpul_dtype dtype, const gpul_array *x, int32_t op,
                                      gpul_stream stream);
/* x.sum(), x.min(), x.max(), x.mean() and x.var(): gpul_reduce_host with GPUL_F64, and its errors. */
GPUL_API gpul_status gpul_sum(double *value, const gpul_array *x, gpul_stream stream);
GPUL_API gpul_status gpul_min(double *value, const gpul_array *x, gpul_stream stream);
GPUL_API gpul_status gpul_max(double *value, const gpul_array *x, gpul_stream stream);
GPUL_API gpul_status gpul_mean(double *value, const gpul_array *x, gpul_stream stream);
GPUL_API gpul_status gpul_var(double *value, const gpul_array *x, gpul_stream stream);

/* out = sum x[i] * y[i] for vectors of one length, f32 or f64, accumulated in f64; out: one element of that dtype (or
 * f64). Promises as gpul_reduce's. */
GPUL_API gpul_status gpul_dot(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream);

/* numpy.histogram(x, bins = size of counts, range = (lo, hi)) to the count. counts: vector of i32 or i64; x: f32, f64,
 * i32, i64 or u8, any shape and strides. Bin i holds edge[i] <= x < edge[i+1], the last bin is closed, NaN and values
 * outside are dropped; i64 is first rounded to f64, as in NumPy; the edges are numpy.linspace's, in f32 for f32 data
 * and f64 otherwise (gpul_histogram_edges). lo == hi widens to lo - 0.5, hi + 0.5. i32 counts wrap past 2^31. Errors:
 * also ARGUMENT (lo > hi, bounds or hi - lo that are not finite, bins that would be empty in the type of the edges, as
 * in NumPy; and, which NumPy takes, f32 data with lo, hi or hi - lo beyond FLT_MAX), SHAPE (counts is no vector of a
 * bin or more), CUDA (after the first of several launches counts may be zero or a part of the result; every other error
 * leaves it alone). */
GPUL_API gpul_status gpul_histogram(gpul_array *counts, const gpul_array *x, double lo, double hi, gpul_stream stream);

enum {
    GPUL_RANGE_AUTO = 0, /* min and max of x, 0 and 1 where it is empty; waits for them, and cannot be captured */
    GPUL_RANGE_LO_HI = 1,
    GPUL_RANGE_EDGES = 2
};

/* The other forms. A zeroed struct means: automatic range, no weights, overwrite. */
typedef struct gpul_histogram_options {
    int32_t range;             /* GPUL_RANGE_* */
    int32_t accumulate;        /* 1: add to what counts holds instead of overwriting it */
    double lo, hi;             /* GPUL_RANGE_LO_HI: as in gpul_histogram. Otherwise 0 */
    const void *edges;         /* GPUL_RANGE_EDGES: bins + 1 host values that never decrease; may be freed on return */
    int64_t n_edges;           /* GPUL_RANGE_EDGES: bins + 1. Otherwise edges is NULL and this 0 */
    const gpul_array *weights; /* NULL, or x's shape: f32 or f64 (counts f64), i32 or i64 (counts i64) */
    gpul_dtype edges_dtype;    /* GPUL_RANGE_EDGES: f64, which 0 stands for, f32 or i32. Otherwise 0 */
} gpul_histogram_options;

/* With f32 or f64 weights counts is f64 and holds the sum of the weights of each bin, summed exactly in fixed point
 * relative to W, the largest finite |weight| of an element that is in a bin, and rounded once: the same bits on every
 * run, |error| <= 2^-53 |sum| + 2^-80 n W. Such sums take scratch memory, 20 bytes a bin, and so do explicit edges, 16
 * bytes a bin, unless they are few. Elements and edges compare by value, whatever their types (i64 rounded to f64).
 * Many edges take the host longer than the device, and those of 4 bytes half as long. Outside of a capture, whose graph
 * has a copy, they pass through 2 MB of pinned memory that all calls share (gpul_memory_trim): a call with more than
 * fit waits for its stream. Errors: gpul_histogram's; also ARGUMENT (no options, a range that is none, a field that is
 * set where `range` does not use it, edges that are NULL, NaN or decrease, x whose own range is not finite,
 * GPUL_RANGE_AUTO in a capture), SHAPE (n_edges or the shape of weights), DTYPE (edges_dtype), OUT_OF_MEMORY. */
GPUL_API gpul_status gpul_histogram_ex(gpul_array *counts, const gpul_array *x, const gpul_histogram_options *options,
                                       gpul_stream stream);

/* The bins + 1 edges that gpul_histogram uses for data of `dtype`, as doubles, on the host; takes no GPU. Errors:
 * ARGUMENT (edges is NULL, bins < 1, a range that gpul_histogram refuses), DTYPE. */
GPUL_API gpul_status gpul_histogram_edges(double *edges, int64_t bins, gpul_dtype dtype, double lo, double hi);

/* C = A B, and C = alpha A B + beta C, BLAS's gemm. A: M x K, B: K x N, C: M x N, all of one dtype: f32, f64, f16 or
 * bf16 (the last two accumulate in f32). Stacks of matrices as numpy.matmul takes them: the last two dimensions are the
 * matrices', those in front broadcast, and C has the shape of the product: C (8, M, N) = A (8, M, K) B (K, N). Each
 * matrix row-major or column-major with any leading dimension (gpul_transpose for A^T, B^T); one of its two strides is
 * 1 (else SHAPE). The distance from matrix to matrix is any, as long as those of C do not overlap (BLAS's strided
 * batches). alpha and beta are first rounded to the type that is computed in, f64 for f64 and f32 otherwise; one that
 * rounds to 0 counts as 0. beta = 0 never reads C, alpha = 0 never reads A or B, and where K = 0 alpha counts as 0. The
 * last step is fma(alpha, sum, beta * c). Barring underflow |error| <= gamma(K + 2) (|alpha| |A| |B| + |beta| |C|)
 * elementwise (plus the rounding of the result to 16 bits), gamma(n) = n u / (1 - n u), u the unit roundoff of what is
 * computed in.
 *
 * The same bits on every run, for every order and alignment of the matrices; NaN is always the same. IEEE fused
 * multiply-adds have the same bits on every GPU and the CPU stand-in. f16 and bf16 go to tensor cores, on a GPU of
 * compute capability 8.0 or later with kernels built for that, with K from 9 on. Their bits are others, for tensor cores
 * cut off sums of a few products to f32, each generation in its own way: they are the same on all GPUs of one, whatever
 * the build, and the stand-in's are Hopper's. There gamma(min(K, K / 8192 + 8320) + 2) bounds the error, and gamma of
 * twice as much where a sum has 8 products and one bit more than f32, as published of Ampere. Each product of a stack has
 * the bits that it has alone.
 *
 * A stack is one launch for up to 65535 products, or as many as have room in 64 MB where they take scratch memory. x W,
 * where B is one matrix and rows of A and C are evenly spaced throughout, is a product of all rows, and as fast; of up
 * to eight rows each, whose bits are those of such products, so many are taken at a time. A stack of two dimensions that
 * cannot be walked as one, with A (8, 1, M, K) and B (9, K, N), is a launch for each step of the shorter. Where CUDA
 * fails at a later launch than the first, a part of C is written.
 *
 * Scratch memory: in f32 and f64, and in 16 bits without tensor cores, for a C of up to 1024 tiles of 64 x 64 with K
 * above 64, at most some 2048 such tiles in f32 or f64. In 16 bits with them, for all but small products and those of
 * up to eight rows or columns, a copy of each of A and B that does not begin, or whose lines do not, at a multiple of
 * 16 bytes, its lines filled up to a multiple of 64 elements; at most 64 MB for parts of K; and 128 KB a multiprocessor
 * where those are longer than 8192. For a stack, what one product takes, or up to 64 MB for copies and as much for
 * parts, or 128 MB for both, and the copy of an operand that all its products share. */
GPUL_API gpul_status gpul_matmul(gpul_array *C, const gpul_array *A, const gpul_array *B, gpul_stream stream);
GPUL_API gpul_status gpul_gemm(gpul_array *C, double alpha, const gpul_array *A, const gpul_array *B, double beta,
                               gpul_stream stream);

enum {
    GPUL_MATH_IEEE = 0,    /* fused multiply-adds in the type that is computed in: gpul_gemm's */
    GPUL_MATH_TF32 = 1,    /* float32: of factors that are rounded to 11 bits, where that is faster */
    GPUL_MATH_EMULATED = 2 /* float32: within the bound of IEEE's, of several products of 11 bits */
};

/* act(x) of each element, last of all */
enum {
    GPUL_ACTIVATION_NONE = 0,
    GPUL_ACTIVATION_RELU = 1, /* max(x, 0) */
    GPUL_ACTIVATION_GELU = 2  /* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
};

/* The other forms. A zeroed struct means gpul_gemm's. */
typedef struct gpul_gemm_options {
    int32_t math;           /* GPUL_MATH_* */
    int32_t activation;     /* GPUL_ACTIVATION_* */
    const gpul_array *bias; /* NULL, or a vector that is added to each row of C */
} gpul_gemm_options;

/* gpul_gemm with options; NULL: the defaults. TF32 and EMULATED have the tensor cores multiply float32, on a GPU of
 * compute capability 8.0 or later with kernels built for that; on Hopper, those for sm_90a are faster by far. What is
 * promised holds everywhere, but elsewhere nothing is gained.
 *
 * TF32, where M, N and K are each more than 32 (else memory takes the time, and it is gpul_gemm's, bit for bit): the
 * elements of A and B are first rounded to 11 bits, to nearest, ties to even, as Hopper's bulk tensor copies do; the
 * largest become infinite, infinities and NaN stay. gpul_gemm's bound holds against the product of the rounded ones,
 * each of which, if it is a normal number, is within 2^-11 of its own; or twice that bound, where tensor cores add up
 * as published of Ampere. The bits are those of all GPUs of one generation, whatever the build, and the stand-in's are
 * Hopper's. Without tensor cores they are gpul_gemm's of the rounded matrices, and the same everywhere.
 *
 * EMULATED: gpul_gemm's bound, for all values that float32 has. Where K is at least 64 and M N K - 90 (M + N) K at least
 * 2^28 (squares from 712 on), elements are split into two of 11 bits, of which three products are added up; but not on
 * GPUs whose f64 takes more than four times as long as f32, where f32 itself is faster. The GPU finds out which type
 * they are of:
 * - float16, if no row of A and no column of B, zeros aside, spans more than a factor of 2^29. The range of the whole
 *   does not matter. Where K is large, a few binades more are good, in A and B together log2(K) - 4, and 8 at most;
 * - TF32, which takes twice as long, if the widest of either do not span more than 2^214 together, and none 2^159;
 * - neither, if they do, or where there is an infinity or a NaN. Then, and wherever there is no such GPU or the product
 *   is smaller, it is gpul_gemm's, bit for bit. Otherwise the bits are a generation's, as those of TF32, and only the
 *   result can overflow, not a sum on the way to it.
 *
 * Scratch memory. TF32: at most 64 MB for parts of K. On Hopper, by kernels for sm_90a, for large products also a copy
 * of A or B that does not begin, or whose lines do not, at a multiple of 16 bytes, and of the smaller one if neither is
 * dense along K, rows of A and columns of B filled up to multiples of 64 elements; and 128 KB a multiprocessor where
 * parts are longer than 4096. Without tensor cores such copies of both, and what gpul_gemm takes.
 * EMULATED: A and B twice, filled up like that, and at most 9 MB for parts of K, or what gpul_gemm takes, if that is
 * more; 9 bytes for each row of A and column of B. The products of a stack go one after the other.
 *
 * C = act(alpha A B + beta C + bias): bias has an element for each column of C, any stride, and C's dtype, or f32 where
 * that has 16 bits. It is added, with rounding, in the type that is computed in, the activation is taken in that type,
 * and C's dtype is rounded to last. ReLU keeps NaN and makes 0 of -0. GELU is of the formula with tanh, as cuBLASLt's
 * and PyTorch's approximate='tanh', within 4 u |x|, or the smallest number, of its value (u: gpul_gemm's); -0 for
 * -infinity. All of it has the same bits on every GPU and the stand-in, if the sums have.
 *
 * Errors: gpul_gemm's; also ARGUMENT (options->math is no GPUL_MATH_*, options->activation no GPUL_ACTIVATION_*), DTYPE
 * (matrices that are not float32, with another mode than IEEE; bias), SHAPE (bias), OVERLAP (C overlaps bias),
 * OUT_OF_MEMORY. */
GPUL_API gpul_status gpul_gemm_ex(gpul_array *C, double alpha, const gpul_array *A, const gpul_array *B, double beta,
                                  const gpul_gemm_options *options, gpul_stream stream);

#endif /* GPULITE_NO_KERNELS */

/* ---------------------------------------------------------------------------------------------------------------------
 * 11. Devices, benchmark, profiling
 * ------------------------------------------------------------------------------------------------------------------ */
typedef struct gpul_device {
    int32_t index;
    int32_t major, minor; /* compute capability */
    int32_t sms;          /* streaming multiprocessors */
    int32_t warp_size;
    int32_t max_threads_per_block, max_threads_per_sm;
    int32_t clock_khz, memory_clock_khz, memory_bus_bits; /* 0 when the driver does not tell */
    int32_t has_pools;                                    /* stream-ordered allocation (cudaMallocAsync) */
    int32_t has_managed;                                  /* managed memory */
    int32_t integrated;                                   /* shares the host's memory */
    int32_t time_limit;  /* 1: kernels that run for seconds are stopped, as the device also draws the screen */
    int32_t f32_per_f64; /* f32 operations in the time of one f64 operation */
    int32_t standin;     /* 1: the CPU stand-in of tests/cpu, not a GPU */
    int64_t shared_per_block, shared_per_block_optin, shared_per_sm; /* bytes */
    int64_t l2_bytes, total_bytes, free_bytes;
    double nominal_gbps; /* 2 x memory clock x bus width, GB/s; 0 when unknown */
    char name[256];
    char pci[32];  /* "0000:41:00.0" */
    char uuid[48]; /* "GPU-6d2f8a31-...", as nvidia-smi -L shows it */
} gpul_device;

/* Number of devices. No GPU or no driver: GPUL_OK and 0 (asking is no error). Errors: ARGUMENT (NULL). */
GPUL_API gpul_status gpul_device_count(int32_t *count);
/* The calling thread's current device. Errors: ARGUMENT (NULL). */
GPUL_API gpul_status gpul_device_current(int32_t *device);
/* The index of the device that `id` names: its PCI id ("0000:41:00.0"; also "41:00.0"), its UUID or the first part of
 * it ("GPU-6d2f8a31", what CUDA_VISIBLE_DEVICES takes), or its index in decimal. Letters of either case. Unlike
 * indices, the first two mean the same GPU on every start. Errors: ARGUMENT (NULL; the start of two UUIDs), DEVICE (no
 * visible device has it). */
GPUL_API gpul_status gpul_device_by_id(int32_t *device, const char *id);
/* Makes a device current for the calling thread's later calls. Errors: DEVICE (there is none of this number). */
GPUL_API gpul_status gpul_device_select(int32_t device);
/* What CUDA says of a device. Errors: ARGUMENT (NULL), DEVICE. */
GPUL_API gpul_status gpul_device_info(gpul_device *info, int32_t device);

/* CUDA's versions as major * 1000 + minor * 10; 0 for a driver that is not there. Either pointer may be NULL. Errors:
 * CUDA's. */
GPUL_API gpul_status gpul_cuda_versions(int32_t *driver, int32_t *runtime);

/* Writes a text about versions, what CUDA_VISIBLE_DEVICES and GPULITE_MEMORY_LIMIT say, devices (or why there are
 * none), and the architecture each kernel family was built for, with a better build line where there is one, into
 * text[0..size-1], cut where it is too long, and NUL-terminated. *length: of the whole text, without the NUL. Either
 * may be NULL (text only with size 0, to ask for the length). Works with no GPU. Errors: ARGUMENT (text is NULL, and
 * size is not 0; a GPULITE_MEMORY_LIMIT that is none), CUDA's (text may then hold a part). */
GPUL_API gpul_status gpul_report(size_t *length, char *text, size_t size);

/* What a device reaches in this library's own operations, the fastest call of each: a roof to hold other work against.
 * Arrays are 16 times as large as L2, and 256 MiB at least. */
typedef struct gpul_roof {
    double read_gbps;              /* gpul_reduce, GPUL_SUM of float32: bytes read */
    double write_gbps;             /* gpul_fill of float32: bytes written */
    double copy_gbps;              /* gpul_copy: bytes read and bytes written */
    double f32_gflops, f64_gflops; /* gpul_matmul in IEEE arithmetic, 2048 x 2048, of arrays that hold one value */
    double f16_gflops;             /* gpul_matmul of float16, 4096 x 4096: on tensor cores where gpul_report says so */
    int32_t device;
    int32_t standin; /* 1: of the CPU stand-in of tests/cpu, and says nothing of a GPU */
} gpul_roof;

/* The device's roof, measured by the first call of the process for it, in a second or two; the GPU must do nothing else
 * then. Later calls give the same numbers at once. Waits. Errors: ARGUMENT (roof is NULL), DEVICE, OUT_OF_MEMORY,
 * UNSUPPORTED (kernels were left out of the build). */
GPUL_API gpul_status gpul_device_roof(gpul_roof *roof, int32_t device);

/* How long a function takes, as cupyx.profiler.benchmark finds it out. A zeroed struct means the defaults. */
typedef struct gpul_benchmark_options {
    const char *name;      /* in text and CSV. Default: "benchmark" */
    int64_t repeat;        /* samples, of one call each. Default: 10000, CuPy's */
    int64_t warmup;        /* calls before them, for at most a tenth of `seconds`. Default: 10, CuPy's; -1: none */
    double seconds;        /* ends the sampling early, after one sample at least. Default: 2; INFINITY: never */
    double bytes, flops;   /* that one call moves and computes, for rates. Default: not known */
    gpul_dtype flop_dtype; /* whose roof the flops are held against: GPUL_F64, GPUL_F16 (and GPUL_BF16, which has that
                              of f16), or GPUL_F32, the default */
    int32_t roof;          /* 1: compare with gpul_device_roof. Default: no */
    int32_t flush_l2;      /* 1: before each call twice the size of L2 is written, so that inputs come from memory.
                              Default: no, L2 stays as the call before left it */
    int32_t reserved;      /* 0 */
    gpul_stream stream;    /* of the current device: where fn puts its work. Default: the default stream */
    /* Called some times a second once it takes longer than half a second, with fn's `user` and a line for a terminal
     * that overwrites the one before it and at last wipes itself. Default: nobody is told. A program needs one line:
     * static void show(void *user, const char *line) { (void)user, fputs(line, stderr); } */
    void (*progress)(void *user, const char *line);
} gpul_benchmark_options;

typedef struct gpul_statistics { /* of the samples, in seconds */
    double mean, deviation;      /* deviation: numpy.std's, with ddof = 0 */
    double min, median, max;
} gpul_statistics;

enum { GPUL_ROOF_NONE = 0, GPUL_ROOF_MEMORY = 1, GPUL_ROOF_COMPUTE = 2 };

typedef struct gpul_benchmark_result {
    gpul_statistics cpu; /* the host's clock around the call alone */
    gpul_statistics gpu; /* between events on the stream before and after the call */
    int64_t samples;     /* that these are of */
    int64_t discarded;   /* others that were taken and left out: the clock was low, or seemed so at first */
    double bytes, flops; /* as in the options */
    double gbps, gflops; /* of the median GPU time; 0: not known, as in all that follow */
    double intensity;    /* flops a byte */
    double share;        /* of what the roof allows, 1 is all of it */
    int32_t bound;       /* GPUL_ROOF_*: which roof that is */
    int32_t device;      /* the current one */
    int32_t standin;     /* 1: on the CPU stand-in of tests/cpu, whose times say nothing of a GPU */
    int32_t reserved;    /* 0 */
    char name[64];       /* cut where it is longer */
} gpul_benchmark_result;

/* Calls fn(user) again and again, on a GPU that has nothing else to do, and tells what that took. Each call starts when
 * the stream is empty, so the GPU time of a short one is mostly that of its launch: put several into fn, or a graph.
 *
 * A sample is discarded where the SM clock was low: where a kernel that counts 32768 cycles, which runs before and
 * after each, took more than 1.1 times its median. So what fn's own times vary by is kept. Another sample is taken in
 * its place, up to `repeat` of them and within `seconds`. A GPU that stays slow moves the median and is measured as it
 * is. Without kernels in the build (GPULITE_NO_KERNELS) nothing is discarded.
 *
 * The share of the roof is the time that the roof needs over the median GPU time: the larger of bytes over the best of
 * read, write and copy rate, and of flops over the rate of flop_dtype.
 *
 * options: NULL for the defaults. Waits. Not for two threads at a time, or they time each other. Errors: ARGUMENT
 * (result or fn is NULL; a negative or infinite number in the options, or a repeat above 2^32; a flop_dtype without a
 * roof; a capture), OUT_OF_MEMORY (`repeat` samples of 64 bytes have room before the first), gpul_device_roof's where
 * it is asked for, CUDA (also that of the work). When fn returns another status than GPUL_OK the benchmark ends with
 * that status, and the error record is as fn left it. */
GPUL_API gpul_status gpul_benchmark(gpul_benchmark_result *result, gpul_status (*fn)(void *user), void *user,
                                    const gpul_benchmark_options *options);

/* The result as one line without its end, which begins as cupyx.profiler.benchmark's does, into text[0..size-1]; with
 * the rules of gpul_report. On the stand-in it tells no times. Errors: ARGUMENT (text is NULL, and size is not 0;
 * result is NULL). */
GPUL_API gpul_status gpul_benchmark_text(size_t *length, char *text, size_t size, const gpul_benchmark_result *result);
/* As a line of CSV, with a newline, and with result NULL as the line that names the columns. Times are in microseconds,
 * decimals follow a point whatever the locale. What is not known, and all times on the stand-in, is left empty. Errors:
 * ARGUMENT (text is NULL, and size is not 0). */
GPUL_API gpul_status gpul_benchmark_csv(size_t *length, char *text, size_t size, const gpul_benchmark_result *result);

/* Marks for NVIDIA's profilers: what lies between is collected when the profiler was told to wait for it (ncu
 * --profile-from-start off, nsys -c cudaProfilerApi). Errors: CUDA's. */
GPUL_API gpul_status gpul_profile_start(void);
GPUL_API gpul_status gpul_profile_stop(void);

/* Between these the calling thread's time line has a range of that name in NVIDIA's profilers (nsys), where the
 * implementation was compiled with GPULITE_NVTX; otherwise they do nothing. Ranges nest. A pop with no range open does
 * nothing. They talk to no GPU. Errors: ARGUMENT (name is NULL). */
GPUL_API gpul_status gpul_range_push(const char *name);
GPUL_API void gpul_range_pop(void);

#ifdef __cplusplus
} /* extern "C" */
#endif
/* ---------------------------------------------------------------------------------------------------------------------
 * 12. Device side: for .cu files (and for C++ on the CPU stand-in), after <cuda_runtime.h>
 *
 *   gpul_grid_x/y/z(), gpul_gridsize_x/y/z()     this thread's index in the grid, and the grid's threads, as int64_t
 *   GPUL_GRID_STRIDE(i, n) { ... }               every i in [0, n) that is this thread's, whatever the grid
 *   GPUL_GRID_STRIDE_2D(i, j, ni, nj) { ... }    every (i, j) that is this thread's: i goes along x (the index that
 *                                                neighbouring elements differ in), j along y
 *   GPUL_GRID_STRIDE_3D(i, j, k, ni, nj, nk)     and k along z. break leaves the innermost loop alone, that over i
 *   GPUL_SHARED(float, tile);                    float *tile = the block's dynamic shared memory, 128-byte aligned
 *   gpul_block_size(&block, kernel, shared_bytes = 0, limit = 0)
 *   gpul_cooperative_blocks(&blocks, kernel, block, shared_bytes = 0)
 *                                                section 9's, of the kernel itself
 *   gpul_atomic_min(&x, value), gpul_atomic_max  of a number in global or shared memory, atomically: x becomes the
 *                                                smaller (larger) of the two, NaN where either is; what it was is
 *                                                returned. float, double, and integers of 4 and 8 bytes
 *   gpul_atomic_add(&x, value)                   x += value; as CUDA's atomicAdd, which does not take int64_t
 *   GPUL_LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...)
 *   GPUL_LAUNCH_COOPERATIVE(the same)            all blocks run at a time, so that the grid can wait for itself:
 *                                                cooperative_groups::this_grid().sync()
 *
 * GPUL_LAUNCH gives a gpul_status. grid and block are gpul_dim3, dim3 or an integer; a grid with a zero in it launches
 * nothing. What goes wrong while the kernel runs shows in a later call. It runs on the device of the arrays among the
 * arguments, else on the current one. More shared memory than the 48 KB of every kernel is asked for by itself where
 * the device has it. Arguments convert to the kernel's parameters:
 *
 *   parameter          argument
 *   T *, const T *     a gpul_array or its address: its data. T is the dtype's type: float, double, int32_t, int64_t,
 *                      uint8_t, or an unsigned or signed integer of the same size; for f16 and bf16 uint16_t, __half,
 *                      __nv_bfloat16. With void and structs of any kind (float4, say) the dtype is not checked. The
 *                      elements must lie without gaps, in C or Fortran order.
 *                      Or a pointer: as it is, if the GPU can reach it.
 *   gpul_view<T, N>    a gpul_array of N dimensions or its address, with any strides: see below
 *   anything else      what a cast takes; numbers convert, but an integer parameter must hold the integer it is given,
 *                      or a floating number without its fraction
 *
 * What cannot convert does not compile, and one message says so. Errors: ARGUMENT (NULL or an array never made; a grid,
 * block or shared memory beyond the device's or the kernel's limits; a number that the parameter does not hold; data
 * not aligned for T), DTYPE, SHAPE (gaps; other dimensions than the view's), MEMORY (a pointer to pageable host
 * memory), DEVICE (arrays of two devices). They name the kernel and the argument. A cooperative grid of more blocks
 * than the device holds is an ARGUMENT error, too.
 *
 *   gpul_view<T, N>    a kernel's parameter: an array of N = 1 to 4 dimensions that need not be dense. v(i, j) is an
 *                      element, for N indices from 0; v.shape[k], v.strides[k] (in elements) and v.data can be read.
 *                      gpul_view<const float, 2> is for reading alone. The CPU stand-in stops at an index out of range.
 *
 * GPUL_ELEMENTWISE, GPUL_ELEMENTWISE_OUTPUTS, GPUL_REDUCE and GPUL_REDUCE_ORDERED, which make operations of your own,
 * are in gpulite_kernels.cu.
 * ------------------------------------------------------------------------------------------------------------------ */
#if defined(__CUDACC__) && defined(__cplusplus)

namespace { /* nothing here is for the linker, member functions of templates included */

static __device__ __forceinline__ int64_t gpul_grid_x() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
static __device__ __forceinline__ int64_t gpul_grid_y() { return int64_t(blockIdx.y) * blockDim.y + threadIdx.y; }
static __device__ __forceinline__ int64_t gpul_grid_z() { return int64_t(blockIdx.z) * blockDim.z + threadIdx.z; }
static __device__ __forceinline__ int64_t gpul_gridsize_x() { return int64_t(gridDim.x) * blockDim.x; }
static __device__ __forceinline__ int64_t gpul_gridsize_y() { return int64_t(gridDim.y) * blockDim.y; }
static __device__ __forceinline__ int64_t gpul_gridsize_z() { return int64_t(gridDim.z) * blockDim.z; }

/* By compare-and-swap: as integers, a NaN of either sign would not stay. The first one, of 0 and 0, only reads. */
template <typename Word, typename T>
static __device__ __forceinline__ T gpul__atomic_extreme(T *address, T value, bool larger) {
    Word *const word = reinterpret_cast<Word *>(address);
    Word wanted, seen, found = atomicCAS(word, Word(0), Word(0));
    memcpy(&wanted, &value, sizeof wanted);
    for (;;) {
        T now;
        memcpy(&now, &found, sizeof now);
        bool better = value != value;
        if (larger ? value > now : value < now) better = true; /* fault: atomic-extreme */
        if (now != now || !better) return now;
        seen = found;
        found = atomicCAS(word, seen, wanted);
        if (found == seen) return now;
    }
}
static __device__ __forceinline__ float gpul_atomic_min(float *address, float value) {
    return gpul__atomic_extreme<unsigned>(address, value, false);
}
static __device__ __forceinline__ float gpul_atomic_max(float *address, float value) {
    return gpul__atomic_extreme<unsigned>(address, value, true);
}
static __device__ __forceinline__ double gpul_atomic_min(double *address, double value) {
    return gpul__atomic_extreme<unsigned long long>(address, value, false);
}
static __device__ __forceinline__ double gpul_atomic_max(double *address, double value) {
    return gpul__atomic_extreme<unsigned long long>(address, value, true);
}
/* CUDA has these for the types that C calls int and long long, not long. */
template <typename T, bool integer = std::is_integral<T>::value> struct gpul__atomic {
    typedef typename std::conditional<std::is_signed<T>::value, long long, unsigned long long>::type Long;
    typedef typename std::conditional<sizeof(T) == 8, Long, T>::type Word;
    typedef typename std::conditional<sizeof(T) == 8, unsigned long long, T>::type Sum; /* wraps */
    typedef T Value;
};
template <typename T> struct gpul__atomic<T, false> { typedef T Sum, Value; };
template <typename T>
static __device__ __forceinline__ T gpul_atomic_min(T *address, typename gpul__atomic<T>::Value value) {
    typedef typename gpul__atomic<T>::Word Word;
    return T(atomicMin(reinterpret_cast<Word *>(address), Word(value)));
}
template <typename T>
static __device__ __forceinline__ T gpul_atomic_max(T *address, typename gpul__atomic<T>::Value value) {
    typedef typename gpul__atomic<T>::Word Word;
    return T(atomicMax(reinterpret_cast<Word *>(address), Word(value)));
}
template <typename T>
static __device__ __forceinline__ T gpul_atomic_add(T *address, typename gpul__atomic<T>::Value value) {
    typedef typename gpul__atomic<T>::Sum Sum;
    return T(atomicAdd(reinterpret_cast<Sum *>(address), Sum(value)));
}

} /* namespace */

#define GPUL__STRIDE(i, n, axis)                                                                                       \
    for (int64_t i = gpul_grid_##axis(), gpul__step_##i = gpul_gridsize_##axis(); i < (n); /* fault: past */           \
         i += gpul__step_##i)
#define GPUL_GRID_STRIDE(i, n) GPUL__STRIDE(i, n, x)
#define GPUL_GRID_STRIDE_2D(i, j, ni, nj) GPUL__STRIDE(j, nj, y) GPUL__STRIDE(i, ni, x)
#define GPUL_GRID_STRIDE_3D(i, j, k, ni, nj, nk) GPUL__STRIDE(k, nk, z) GPUL_GRID_STRIDE_2D(i, j, ni, nj)

#ifdef GPULITE_CPU_STANDIN
#define GPUL_SHARED(T, name) T *const name = static_cast<T *>(standin_dynamic_shared())
#else
#define GPUL_SHARED(T, name)                                                                                           \
    extern __shared__ __align__(128) unsigned char gpul__dynamic[];                                                    \
    T *const name = reinterpret_cast<T *>(gpul__dynamic)
#endif

template <typename T, unsigned N> struct gpul_view {
    static_assert(N >= 1 && N <= GPUL_MAX_DIMS, "gpul_view<T, N>: N is 1 to 4");
    T *data;
    int64_t shape[N], strides[N];
    template <typename... Index> GPUL__HOST_DEVICE T &operator()(Index... index) const {
        static_assert(sizeof...(Index) == N, "a gpul_view<T, N> takes N indices");
        const int64_t at[N] = {int64_t(index)...};
        int64_t offset = 0;
        for (unsigned k = 0; k < N; ++k) {
#ifdef GPULITE_CPU_STANDIN
            if (at[k] < 0 || at[k] >= shape[k]) standin_trap("an index outside a gpul_view", __FILE__, __LINE__);
#endif
            offset += at[k] * strides[k]; /* fault: view-strides */
        }
        return data[offset];
    }
};

#define GPUL_LAUNCH(...) gpul__launch_written(0, #__VA_ARGS__, __VA_ARGS__)
#define GPUL_LAUNCH_COOPERATIVE(...) gpul__launch_written(1, #__VA_ARGS__, __VA_ARGS__)

#endif /* __CUDACC__ */
#endif /* GPULITE_H */

/* =====================================================================================================================
 *
 *   Stop here if you only want to know how to use the library. What follows is how it works.
 *
 * ================================================================================================================== */
#if !defined(GPULITE__INTERFACE) &&                                                                                    \
    (defined(GPULITE_IMPLEMENTATION) || defined(GPULITE__KERNELS) || defined(GPUL_LAUNCH))
#define GPULITE__INTERFACE
#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------------------------
 * What passes between gpulite.h and gpulite_kernels.cu. Not an interface for programs: it changes between versions, and
 * the two files go together. The host side (in C) checks arguments, picks the device, finds scratch memory and records
 * errors; a launcher (in the .cu) only picks a kernel and launches it, and returns a cudaError_t as int.
 * ------------------------------------------------------------------------------------------------------------------ */

/* What a plan may depend on besides the problem: numbers of the device. A plan is a pure function of both, so that it
 * can be tested with no kernel and no GPU. */
typedef struct gpul__machine {
    int32_t device, sms;
    int64_t shared_optin;  /* most dynamic shared memory of a block, in bytes */
    int64_t emulated_from; /* M N K from which float32 is emulated, for tests; 0: by the rule of gpul_gemm_ex */
    /* gpul__find_tensor_cores's answers, where the matrix product is planned; else 0 */
    int32_t wgmma;       /* 1: its kernel for Hopper's tensor cores runs, */
    int32_t clusters[3]; /* in clusters of 2, 4 and 8 blocks, so many at a time */
    int32_t mma;         /* 1: its kernels for any tensor cores run; 2: and gain something for emulated f32 */
    int32_t sm_90a;      /* 1: they are compiled for sm_90a, without those of large products, which are wgmma's */
} gpul__machine;

/* Elementwise over up to three inputs: the problem. Dimensions are merged where strides allow, innermost last. */
#define GPUL__OPERANDS 6
typedef struct gpul__elementwise_problem {
    void *out;
    const void *in[3];            /* NULL: a scalar */
    uint64_t scalar[3];           /* its element, in the low bytes */
    int64_t n;                    /* elements of out, > 0; where it is cut, of the whole */
    int64_t column0;              /* innermost, how many come before the first: 0, unless it is cut */
    int32_t ndim;                 /* 1 .. GPUL_MAX_DIMS */
    int32_t op;                   /* GPUL_ADD .., for operations that share a kernel */
    int64_t shape[GPUL_MAX_DIMS]; /* of out */
    gpul_dtype dtype[4];          /* of GPUL__UFUNC: [0] out's, [1 + i] in[i]'s, 0 where there is none */
    void *others[2];              /* further outputs, as many as the operation has */
    /* in elements: [0] out's, [1 + i] in[i]'s, 0 broadcasts; [4 + i] others[i]'s */
    int64_t strides[GPUL__OPERANDS][GPUL_MAX_DIMS];
} gpul__elementwise_problem;

#define GPUL__ELEMENTWISE_VECTORS 0  /* a tile is a vector of neighbouring elements, aligned in out */
#define GPUL__ELEMENTWISE_ELEMENTS 1 /* one element, or with `lanes` a warp's part of a row */
#define GPUL__ELEMENTWISE_TILES 2    /* a block's tile of the last two dimensions */
#define GPUL__ELEMENTWISE_WORDS 3    /* the same, of elements of 1 or 2 bytes that move as words of 4 */
typedef struct gpul__elementwise_plan {
    int32_t kernel;                  /* one of these */
    int32_t lanes;                   /* elements: 1: a tile is a warp's part of a row, else one element */
    int32_t shifted;                 /* vectors: bit i: input i's are not aligned where out's are */
    int32_t staged;                  /* tiles: bit i: input i passes through shared memory */
    int32_t columns;                 /* of a tile along out's innermost dimension */
    int32_t line;                    /* vectors: a row's first one begins at a multiple of so many elements of out */
    int32_t rows;                    /* tiles: along the next one */
    int32_t pitch;                   /* and from row to row in shared memory; threads take */
    int32_t rows_log2, columns_log2; /* powers of two of rows and columns */
    int32_t repeats;                 /* elements: a thread stores a result so many times, */
    int32_t repeated;             /* along this dimension of the problem, which has as many elements less; -1: once */
    int32_t used;                 /* elements: threads of a warp that have any */
    int32_t ndim;                 /* of dim, which unravel a tile's index into its position */
    int64_t tiles;                /* of all rows; those at a row's end may be empty */
    int64_t block;                /* tiles of a block, which has 256 threads */
    int64_t blocks, shared_bytes; /* how many there are, and of each */
    struct {
        int64_t size, column, row;    /* a step is so many tiles along out's innermost dimension, and the next, */
        int64_t step[GPUL__OPERANDS]; /* and so many elements of each operand, in the problem's order */
    } dim[GPUL_MAX_DIMS + 1];         /* the fastest first */
} gpul__elementwise_plan;

/* An operation: the launcher of its kernels, and the bytes of its elements (0: there is no such input). */
typedef struct gpul__elementwise_op {
    int32_t (*launch)(const gpul__elementwise_problem *, const gpul__elementwise_plan *, const gpul__machine *,
                      gpul_stream);
    int32_t out_bytes, in_bytes[3];
    int32_t value_bytes;    /* of an element in registers, where dtypes are run-time arguments; 0: as in memory */
    int32_t other_bytes[2]; /* of further outputs */
    int32_t vectors;   /* of a thread, in the kernel `vectors`; 2, 4: of one dense array alone; 0: no such kernel */
    int32_t own_tiles; /* 1: has tiles of elements as in memory, where out's rows are contiguous */
} gpul__elementwise_op;

/* One reduction: `outputs` results of `n` elements each. Dimensions innermost last, merged where strides allow. */
typedef struct gpul__reduce_problem {
    void *out;
    const void *x, *y; /* y: the second factor of dot and gemv, the same for all outputs, else NULL */
    int64_t n, outputs;
    int32_t reduce_ndim, outer_ndim; /* 1 .. GPUL_MAX_DIMS (1 with y) and 0 .. GPUL_MAX_DIMS */
    int64_t reduce_shape[GPUL_MAX_DIMS], x_reduce[GPUL_MAX_DIMS], y_stride;
    int64_t outer_shape[GPUL_MAX_DIMS], x_outer[GPUL_MAX_DIMS], out_stride[GPUL_MAX_DIMS];
    gpul_dtype out_dtype;
    double alpha, beta;                       /* gemv */
    const struct gpul__reduce_inputs *inputs; /* NULL: one, x */
} gpul__reduce_problem;

/* Several inputs of a reduction, in the problem's dimensions. The problem's x is NULL, and its strides of x are the
 * sums of theirs, which tell in which direction the elements lie closer. */
typedef struct gpul__reduce_inputs {
    const void *data[3];                                       /* NULL: a scalar, or no input */
    uint64_t scalar[3];                                        /* its element, in the low bytes */
    int32_t bytes[3];                                          /* of an element of an array, else 0 */
    int64_t reduce[3][GPUL_MAX_DIMS], outer[3][GPUL_MAX_DIMS]; /* strides in elements; 0 broadcasts */
} gpul__reduce_inputs;

enum { GPUL__REDUCE_ROWS = 0, GPUL__REDUCE_SHORT = 1, GPUL__REDUCE_COLUMNS = 2 }; /* kernels */
typedef struct gpul__reduce_plan {
    /* the tree: see gpulite_kernels.cu */
    int64_t tile_rows;
    int32_t warp_tiles, block_tiles, row_step; /* of an output; rows from one row of a warp tile to its next */
    /* the blocks' work: tiles of outputs, and the elements of each shared out among `splits` blocks */
    int32_t splits;
    int64_t output_tiles;
    int32_t dense;                       /* rows, short: 1: elements of x are contiguous */
    int32_t vector, y_vector;            /* rows, short: every access of 16 bytes to x, and to y, is aligned; columns:
                                            vector: neighbours in one access, which is aligned (1) or not (2),
                                            or (3) rows so short that vectors hold several */
    int32_t warps_log2, groups, pieces;  /* rows: of the warps of an output in a block; how many outputs' warps a block
                                            has; how many blocks' warps an output has */
    int32_t staged_bytes;                /* rows: of shared memory, for what a warp stages */
    int32_t lanes;                       /* short: threads of an output; columns: lanes that have elements */
    int32_t tiles;                       /* of a block: rows: pieces; columns: groups of warp tiles, */
    int32_t tiles_at_once, width, depth; /* columns: warp tiles in a group; threads along the outputs, and along n */
    int32_t one_lane, passes;            /* columns: 1: a thread has one lane of a warp tile, not several; passes
                                            over the lanes of a warp tile */
    int32_t threads_log2, slots;         /* columns, short: of the threads of a warp tile; columns: of the tree over
                                            blocks */
    /* the launch */
    int32_t kernel, threads, outputs_at_once;
    int64_t blocks, shared_bytes;
    int64_t partials, counters; /* partial results that pass between blocks, and counters, zero before and after */
} gpul__reduce_plan;

typedef struct gpul__reducer {
    int32_t (*launch)(const gpul__reduce_problem *, const gpul__reduce_plan *, const gpul__machine *, void *partials,
                      uint32_t *counters, gpul_stream);
    int32_t element_bytes, partial_bytes;
    int32_t fold_bytes;      /* what a fold takes, as the size of a result that takes as long */
    int32_t columns, lanes;  /* that a thread of the columns kernel takes; 0 columns: rows only */
    int32_t outputs_at_once; /* that a warp of the rows kernel may take */
    int32_t short_outputs;   /* that a thread of the short kernel takes */
    int32_t ordered;         /* 1: partial results join in the order of the elements */
    int32_t exact;           /* 1: any tree gives the same bits */
    int32_t several;         /* 1: takes gpul__reduce_inputs */
    int32_t result_bytes;    /* of a struct, which out has as bytes along its last dimension; else 0 */
} gpul__reducer;

/* Device memory for what passes between blocks, one workspace for each of the first streams to reduce on a device, and
 * for each stream of the first captures, as long as their graphs last: nobody else's kernels write there. Its counters
 * are zero whenever no kernel uses it. Who owns each is known beside them, in gpulite_kernels.cu, whatever the number
 * of copies of the implementation. */
#define GPUL__WORKSPACES 16       /* of streams */
#define GPUL__GRAPH_WORKSPACES 32 /* behind them, of captures */
typedef struct gpul__workspace {
    uint32_t counters[2048];
    double partials[32768];
} gpul__workspace;

enum {                 /* elementwise operations beyond GPUL_ADD .. and GPUL_NEGATIVE .. */
       GPUL__COPY = 1, /* by element size (1, 2, 4, 8), not by dtype; fills from a scalar */
       /* the kernel of what follows and of most binary and unary ones, by what it computes in: F32, F64, I32, I64 */
       GPUL__UFUNC = 2,
       GPUL__CONVERT = 3,
       GPUL__SCALE = 4, /* x, a, b */
       GPUL__CLIP = 5,  /* x, lo, hi */
       GPUL__WHERE = 6, /* mask, x, y; values as bits, in I32 or I64 */
       /* no first input: an element's place stands for it */
       GPUL__ARANGE = 7,  /* -, step, start */
       GPUL__LINSPACE = 8 /* -, step, start; scalar[0]: stop */
};
enum { GPUL__DOT = 12, GPUL__GEMV = 13 }; /* reductions beyond gpul_reduce's own GPUL_SUM .. GPUL_COUNT_NONZERO */
#define GPUL__FAMILIES 5 /* of kernels, for the report: elementwise, reductions, gemv, histogram, matmul */

typedef struct gpul__histogram_problem {
    const void *x, *weights; /* may be NULL where n is 0 */
    void *counts;
    const void *edges; /* not uniform: bins + 1 in host memory, read before the launcher returns */
    int64_t n, bins, counts_stride;
    int32_t ndim;                                    /* 1 .. GPUL_MAX_DIMS, merged, innermost last */
    gpul_dtype x_dtype, counts_dtype, weights_dtype; /* weights_dtype: 0 without weights */
    gpul_dtype edges_dtype;                          /* f64, f32 or i32 */
    int64_t shape[GPUL_MAX_DIMS], x_strides[GPUL_MAX_DIMS], w_strides[GPUL_MAX_DIMS];
    double lo, hi;     /* the first and the last edge */
    double step, span; /* uniform bins: numpy.linspace's step, and what numpy.histogram divides x - lo by */
    int32_t uniform;   /* 1: edge[i] = lo + i * step, the last one hi; 0: `edges` */
    int32_t f32_edges; /* f32 data: edges are rounded to f32 */
    int32_t f32_steps; /* edges and indices are computed in f32 throughout (automatic range of f32 data) */
    int32_t accumulate;
} gpul__histogram_problem;
/* An explicit edge */
GPUL__HOST_DEVICE static inline double gpul__edge_at(const void *edges, gpul_dtype dtype, int64_t i) {
    if (dtype == GPUL_F32) return (double)((const float *)edges)[i];
    if (dtype == GPUL_I32) return (double)((const int32_t *)edges)[i];
    return ((const double *)edges)[i];
}
/* Kernels: of no elements, at most zeros; counters in shared, in global memory; of bytes; of weights. */
enum { GPUL__HISTOGRAM_NOTHING = 0, GPUL__HISTOGRAM_SHARED = 1, GPUL__HISTOGRAM_BEYOND = 2 };
enum { GPUL__HISTOGRAM_BYTES = 3, GPUL__HISTOGRAM_INTEGERS = 4, GPUL__HISTOGRAM_FLOATS = 5 };
typedef struct gpul__histogram_plan {
    int32_t kernel; /* GPUL__HISTOGRAM_* */
    int32_t device;
    int32_t blocks, parts; /* the grid: `parts` parts of the bins, each counted by `blocks` blocks */
    int32_t width;         /* bins of a part; BEYOND: slots of a block's hash table of frequent bins */
    int32_t zeros;         /* 1: counts is set to zero, by the kernel itself or in a launch before it */
    int32_t counters;      /* what the former takes: counters that are zero before and after */
    int32_t owned;         /* 1: each bin is counted by one block, which stores the count: no zeros are needed */
    /* explicit edges that are searched with a table of `buckets` entries (0: without): listed: in the arguments of the
     * launch; edges_shared: edges and table lie in shared memory */
    int32_t listed, edges_shared;
    int64_t buckets;
    int64_t head, vectors; /* elements before the first vector of 16 bytes, and vectors: the rest goes one by one */
    int64_t shared_bytes, shared_most; /* of a block; and what a block of any histogram may take on this device */
    int64_t scratch_bytes;
} gpul__histogram_plan;

typedef struct gpul__gemm_problem { /* C's rows lie dense; A and B are dense along one dimension */
    const void *A, *B;
    void *C;
    int64_t M, N, K;
    int64_t a_row, a_col, b_row, b_col, c_row; /* strides in elements */
    double alpha, beta;
    gpul_dtype dtype;
    int32_t math;       /* GPUL_MATH_* */
    int32_t transposed; /* 1: A and B are the caller's B^T and A^T, and C is the caller's C^T */
    /* A stack of products: how many (0 counts as 1), the strides from one to the next, 0 where all have the same
     * matrix, and all strides of the caller's stack, or-ed, which tell how each of its matrices is aligned. */
    int64_t batch, a_batch, b_batch, c_batch, a_steps, b_steps, c_steps;
    int64_t rows;     /* 0, or of all products, of which the last one has fewer than M: within gpulite_kernels.cu */
    const void *bias; /* NULL, or what is added to C[m, n]: bias[m * bias_m + n * bias_n] */
    int64_t bias_m, bias_n;
    gpul_dtype bias_dtype;
    int32_t activation; /* GPUL_ACTIVATION_* */
} gpul__gemm_problem;
/* What kernels read comes last, side by side: a warp waits for each piece of its arguments that it has not read yet. */
typedef struct gpul__gemm_plan {
    int32_t tensor; /* 1: gpul__tensor_kernel, Hopper's tensor cores ("tensor" below) */
    int32_t mma;    /* 1: tensor cores, by gpul__gemm_kernel, _thin_mma_ or _short_mma_kernel; 2: of emulated f32 */
    int32_t tile;   /* of gpul__gemm_tiles; tensor: of gpul__tensor_functions */
    int32_t device;
    int32_t packed;           /* what gpul__gemm_pack copies for: _EMULATED, or _TF32 without tensor cores */
    int32_t as_one;           /* 1: a stack is one product, of all rows; 4, 8: or products of so many */
    int64_t batch;            /* products of the stack that one launch takes, at most */
    int64_t scratch_bytes;    /* the partial sums in the compute type; tensor cores: and what follows */
    int64_t counters;         /* of splits that have arrived, zero before and after */
    int64_t a_pitch, b_pitch; /* 0, or the pitches of copies of A and B, which tensor maps can describe */
    int64_t promoted_at;      /* in scratch memory: the promoted sums, a tile of f32 for each block, where K is long */
    int64_t a_at, b_at;       /* in scratch memory: the copies */
    int64_t ranges_at;        /* in scratch memory: emulated: depths, and the ranges of rows */
    int32_t blocks;           /* tensor cores: of the grid */
    /* split-K: the sums of `term` steps of K each, a pure function of shape and dtype, are added in a fixed order */
    int64_t term;
    int32_t splits;           /* blocks that share a tile's K, */
    int64_t part;             /* and the steps of each: a term, or up to 16, which it takes one after the other */
    int64_t tiles_m, tiles_n; /* of C; tensor cores: work tiles, each a tile for every block of a cluster */
    int32_t tile_m, tile_n;   /* elements of a tile */
    int32_t group_rows;       /* raster order: rows of work tiles in a group */
    int32_t products_at_once; /* of a stack, that a block takes: 1, but where C has few rows or columns */
    int32_t short_k;          /* 1, 2: gpul__gemm_short_kernel, 3: _short_mma_kernel (gpul__short_way); 0: another */
    int32_t scale_only;       /* alpha or K is 0: A and B are not read */
    int32_t a_vector, b_vector, c_vector; /* groups of four elements are aligned; mma, of A and B: see gpul__mma_plan */
    /* tensor cores */
    int32_t cluster;              /* blocks of a cluster */
    int32_t cluster_m, cluster_n; /* a cluster's tiles below each other, which share columns of B, and beside */
    int32_t cluster_splits;       /* 1: or has the splits of a tile, whose sums its blocks add, a share each */
    int32_t share;   /* columns of a tile that a block finishes: fewer than all where a cluster has the splits */
    int32_t gathers; /* 1: A, 2: B: no tensor map describes it, or it is TF32 across K, and the kernel gathers it */
    int32_t held;    /* TF32: 1: A, 2: B is not dense along K and passes through registers */
    int32_t c_bulk;  /* sums go to C by bulk copies of so many columns; 0: no tensor map describes it */
} gpul__gemm_plan;

/* Defined in gpulite_kernels.cu. The find functions return NULL where there is no such kernel. */
extern const gpul__elementwise_op *gpul__find_elementwise(int32_t op, int32_t dtype_or_size);
extern const gpul__reducer *gpul__find_reducer(int32_t op, gpul_dtype dtype);
/* Plans: 0, or cudaErrorInvalidConfiguration where a grid would have more than 2^31 - 1 blocks, or an output more than
 * 2^45 elements. */
extern int32_t gpul__plan_elementwise(gpul__elementwise_plan *plan, gpul__elementwise_problem *problem,
                                      const gpul__elementwise_op *op); /* may change the order of the dimensions */
extern int32_t gpul__run_elementwise(const gpul__elementwise_op *op, gpul__elementwise_problem *problem,
                                     const gpul__machine *machine, int64_t most, gpul_stream stream);
/* n elements of 2 or 4 bytes = bits, by the driver. 1: enqueued; 0: it cannot, and nothing was. */
extern int32_t gpul__fill_words(void *out, uint64_t bits, int64_t n, int32_t bytes, gpul_stream stream);
extern int32_t gpul__plan_reduction(gpul__reduce_plan *plan, const gpul__reduce_problem *problem,
                                    const gpul__reducer *reducer, const gpul__machine *machine);
/* The workspace of a stream, by its key, on the current device, for one call until it leaves it: what its launches
 * leave there for one another is safe from another thread's launches on the stream. graph: NULL, or the one that the
 * stream is captured into, which then owns the workspace. Taken if the stream has none yet; NULL: all are taken, or
 * another call has it. */
struct CUgraph_st; /* of cudaGraph_t */
extern gpul__workspace *gpul__workspace_of(int32_t device, int64_t stream_key, struct CUgraph_st *graph);
extern void gpul__workspace_leave(int32_t device, gpul__workspace *workspace);
/* Hands the workspaces of a stream over to another (0: nobody); returns how many there are. */
extern int32_t gpul__workspaces_pass(int64_t stream_key, int64_t to);
extern int32_t gpul__plan_histogram(gpul__histogram_plan *plan, const gpul__histogram_problem *problem,
                                    const gpul__machine *machine); /* 0: family left out */
/* counters: plan->counters of them, or NULL, at the price of a launch. A cudaError_t, or GPUL__HISTOGRAM_WRONG_EDGES:
 * one is NaN or below the one before it, and counts is untouched. */
enum { GPUL__HISTOGRAM_WRONG_EDGES = -1 };
extern int32_t gpul__launch_histogram(const gpul__histogram_problem *problem, const gpul__histogram_plan *plan,
                                      uint32_t *counters, void *scratch, gpul_stream stream);
/* Finds out wgmma, clusters and mma of the machine, whose device is the current one. A cudaError_t. */
extern int32_t gpul__find_tensor_cores(gpul__machine *machine);
/* Unpins the host memory through which edges pass, where nobody uses it. */
extern void gpul__histogram_trim(void);
extern int32_t gpul__plan_gemm(gpul__gemm_plan *plan, const gpul__gemm_problem *problem,
                               const gpul__machine *machine); /* 0: family left out */
extern int32_t gpul__launch_gemm(const gpul__gemm_problem *problem, const gpul__gemm_plan *plan,
                                 const gpul__machine *machine, uint32_t *counters, void *scratch, gpul_stream stream);
/* A thread that waits for so many cycles of the SM clock. A cudaError_t. */
extern int32_t gpul__count_cycles(int64_t cycles, gpul_stream stream);
/* The architecture that the family's machine code and its PTX were built for (75, 90, ...), 0 and 0 where left out. */
extern int32_t gpul__kernel_arch(int32_t family, int32_t *binary, int32_t *ptx);

#ifndef GPULITE_NO_KERNELS
/* The engines behind gpul_vecadd, gpul_reduce and whatever GPUL_ELEMENTWISE and GPUL_REDUCE define: the same checks,
 * broadcasting, scratch memory and errors, reported under the name `function`, with the inputs' names. */
typedef struct gpul__input_value {
    const gpul_array *array;
    uint64_t scalar; /* in place of an array: an element, in the low bytes */
    gpul_dtype dtype;
    int32_t is_scalar;
} gpul__input_value;
typedef struct gpul__output_value {
    gpul_array *array;
    const char *name;
    gpul_dtype dtype;
} gpul__output_value;
/* outs: 1 to 3; in: 0 to 3 */
GPUL_API gpul_status gpul_run_elementwise(const char *function, const gpul__elementwise_op *op,
                                          const gpul__output_value *outs, int32_t n_outs, const char *const *names,
                                          const gpul__input_value *in, int32_t n_in, gpul_stream stream);
/* in: 1 to 3, an array among them; more than one only for a reducer of several */
GPUL_API gpul_status gpul_run_reduction(const char *function, const gpul__reducer *reducer, gpul_array *out,
                                        gpul_dtype out_dtype, const char *const *names, const gpul__input_value *in,
                                        int32_t n_in, int32_t axis, gpul_stream stream);
#endif

/* What GPUL_LAUNCH's templates describe, which gpul__launch_call checks and launches. */
enum { GPUL__ARGUMENT_VALUE = 0, GPUL__ARGUMENT_POINTER = 1, GPUL__ARGUMENT_ARRAY = 2, GPUL__ARGUMENT_LOST = 3 };
typedef struct gpul__argument {
    int32_t kind;            /* GPUL__ARGUMENT_*; lost: a number that the parameter, an integer, does not hold */
    int32_t dtypes;          /* array: bit d is set where the parameter's elements are of dtype d */
    int32_t ndim;            /* array: the view's dimensions; 0: the parameter is a pointer */
    int32_t bytes, align;    /* array: of the parameter's elements; lost: of the parameter, and whether it is signed */
    const gpul_array *array; /* array: what was given, else NULL */
    int64_t number;          /* lost: the integer, */
    int32_t negative;        /* and whether it is negative: else it may be a uint64_t; */
    double real;             /* or, where number is 0, a floating number */
} gpul__argument;

typedef struct gpul__call {
    const char *written;       /* GPUL_LAUNCH's arguments as they stand in the program */
    const void *kernel;        /* as gpul_block_size takes it */
    int64_t grid[3], block[3]; /* x, y, z; any values */
    size_t shared_bytes;
    gpul_stream stream;
    int32_t cooperative, count; /* count: of arguments */
    const gpul__argument *arguments;
    void **values; /* where the arguments lie, each in the type of its parameter */
} gpul__call;

GPUL_API gpul_status gpul__launch_call(const gpul__call *call);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* GPULITE__INTERFACE */

/* ---------------------------------------------------------------------------------------------------------------------
 * Launching: templates for .cu files
 * ------------------------------------------------------------------------------------------------------------------ */
#if defined(GPUL_LAUNCH) && !defined(GPULITE__LAUNCH)
#define GPULITE__LAUNCH
#include <type_traits>
#include <utility>

struct __half; /* of NVIDIA's headers, which need not be there */
struct __nv_bfloat16;

namespace {

template <typename... Params> static inline const void *gpul__address(void (*kernel)(Params...)) {
#ifdef GPULITE_CPU_STANDIN
    return standin::address(kernel);
#else
    return reinterpret_cast<const void *>(kernel);
#endif
}

/* ---- GPUL_LAUNCH ---- */

static inline void gpul__put_dims(int64_t *to, int64_t x, int64_t y, int64_t z) {
    to[0] = x;
    to[1] = y;
    to[2] = z;
}
static inline void gpul__put_dim(int64_t *to, gpul_dim3 d) { gpul__put_dims(to, d.x, d.y, d.z); }
static inline void gpul__put_dim(int64_t *to, dim3 d) { gpul__put_dims(to, d.x, d.y, d.z); }
template <typename Integer> static inline void gpul__put_dim(int64_t *to, Integer n) {
    static_assert(std::is_integral<Integer>::value || std::is_enum<Integer>::value,
                  "GPUL_LAUNCH(kernel, grid, block, ...): grid and block are gpul_dim3, dim3 or an integer");
    gpul__put_dims(to, int64_t(n), 1, 1);
}

/* The dtypes whose elements a T * may point to. There is one integer dtype a size. */
template <typename T> struct gpul__dtypes {
    static constexpr int32_t integer = sizeof(T) == 8   ? 1 << GPUL_I64
                                       : sizeof(T) == 4 ? 1 << GPUL_I32
                                       : sizeof(T) == 2 ? 1 << GPUL_F16 | 1 << GPUL_BF16
                                                        : 1 << GPUL_U8;
    static constexpr int32_t value = std::is_same<T, float>::value           ? 1 << GPUL_F32
                                     : std::is_same<T, double>::value        ? 1 << GPUL_F64
                                     : std::is_same<T, __half>::value        ? 1 << GPUL_F16
                                     : std::is_same<T, __nv_bfloat16>::value ? 1 << GPUL_BF16
                                     : std::is_integral<T>::value            ? integer
                                                                             : ~0;
};
struct gpul__byte {}; /* what a void * points to: of any dtype */

static inline const gpul_array *gpul__array_of(const gpul_array &a) { return &a; }
static inline const gpul_array *gpul__array_of(const gpul_array *a) { return a; }
template <typename Arg> struct gpul__is_array {
    static constexpr bool value =
        (std::is_convertible<Arg, const gpul_array *>::value || std::is_convertible<Arg, const gpul_array &>::value) &&
        !std::is_same<Arg, decltype(nullptr)>::value;
};

template <typename T> static inline gpul__argument gpul__array_argument(const gpul_array *array, int32_t ndim) {
    typedef typename std::conditional<std::is_void<T>::value, gpul__byte, T>::type Element;
    const int32_t dtypes = gpul__dtypes<typename std::remove_cv<Element>::type>::value;
    return {GPUL__ARGUMENT_ARRAY, dtypes, ndim, int32_t(sizeof(Element)), int32_t(alignof(Element)), array, 0, 0, 0};
}

/* Of two integers the one that is passed must be the other. (What is compared with 0 makes nvcc warn.) */
template <typename Param, typename Arg> static inline gpul__argument gpul__integer_argument(Arg arg, std::true_type) {
    const Param value = static_cast<Param>(arg);
    if (static_cast<Arg>(value) == arg && (value < 1) == (arg < 1)) return gpul__argument();
    const int32_t bytes = int32_t(sizeof(Param));
    return {GPUL__ARGUMENT_LOST, 0, 0, bytes, std::is_signed<Param>::value, nullptr, int64_t(arg), arg < 1, 0};
}
template <typename Param, typename Arg> static inline gpul__argument gpul__integer_argument(Arg &, std::false_type) {
    const bool data =
        std::is_pointer<Param>::value && !std::is_function<typename std::remove_pointer<Param>::type>::value;
    return {data ? GPUL__ARGUMENT_POINTER : GPUL__ARGUMENT_VALUE, 0, 0, 0, 0, nullptr, 0, 0, 0};
}
/* A floating number for an integer: C++ does not define what a cast gives where its whole part does not fit. */
template <typename Param> static inline bool gpul__holds(double value) {
    const double half = double(uint64_t(1) << (sizeof(Param) * 8 - 1)), low = std::is_signed<Param>::value ? -half : 0;
    return (value >= low || value > low - 1) && value < (low < 0 ? half : 2 * half);
}
template <typename Param, typename Arg> static inline Param gpul__cast(Arg &arg, std::false_type) {
    return static_cast<Param>(arg);
}
template <typename Param, typename Arg> static inline Param gpul__cast(Arg &arg, std::true_type) {
    return gpul__holds<Param>(double(arg)) ? static_cast<Param>(arg) : Param(0); /* which is not launched */
}

/* How an argument becomes a Param: its value, and what is to be checked of it. First what a cast takes. */
template <typename Param, typename Arg, bool array = gpul__is_array<Arg>::value> struct gpul__pass {
    template <typename P, typename A> static decltype(static_cast<P>(std::declval<A &>()), std::true_type()) casts(int);
    template <typename P, typename A> static std::false_type casts(...);
    static constexpr bool good = decltype(casts<Param, Arg>(0))::value;
    /* any number is true or false */
    static constexpr bool integer = std::is_integral<Param>::value && !std::is_same<Param, bool>::value;
    typedef std::integral_constant<bool, integer && std::is_floating_point<Arg>::value> Real;
    static Param value(Arg &arg) { return gpul__cast<Param>(arg, Real()); }
    static gpul__argument real(Arg &arg, std::true_type) {
        if (gpul__holds<Param>(double(arg))) return gpul__argument(); /* fault: launch-casts */
        return {GPUL__ARGUMENT_LOST, 0, 0, int32_t(sizeof(Param)), std::is_signed<Param>::value, nullptr, 0, 0,
                double(arg)};
    }
    static gpul__argument real(Arg &arg, std::false_type) {
        constexpr bool checked = integer && std::is_integral<Arg>::value;
        return gpul__integer_argument<Param>(arg, std::integral_constant<bool, checked>());
    }
    static gpul__argument describe(Arg &arg) { return real(arg, Real()); }
};
template <typename T, typename Arg> struct gpul__pass<T *, Arg, true> {
    static constexpr bool good = !std::is_same<typename std::remove_cv<T>::type, gpul_array>::value;
    static T *value(Arg &arg) {
        const gpul_array *const a = gpul__array_of(arg);
        return a ? static_cast<T *>(a->data) : nullptr;
    }
    static gpul__argument describe(Arg &arg) { return gpul__array_argument<T>(gpul__array_of(arg), 0); }
};
template <typename T, unsigned N, typename Arg> struct gpul__pass<gpul_view<T, N>, Arg, true> {
    static constexpr bool good = true;
    static gpul_view<T, N> value(Arg &arg) {
        const gpul_array *const a = gpul__array_of(arg);
        gpul_view<T, N> view = gpul_view<T, N>();
        if (!a) return view;
        view.data = static_cast<T *>(a->data);
        for (unsigned k = 0; k < N; ++k) {
            view.shape[k] = a->shape[k];
            view.strides[k] = a->strides[k];
        }
        return view;
    }
    static gpul__argument describe(Arg &arg) { return gpul__array_argument<T>(gpul__array_of(arg), int32_t(N)); }
};

/* Every argument in the type of its parameter: this call's own parameters are where they lie. */
template <typename... Params> static inline gpul_status gpul__launch_values(gpul__call *call, Params... values) {
    void *list[] = {static_cast<void *>(&values)..., nullptr};
    call->values = list;
    return gpul__launch_call(call);
}

/* One message for what cannot be launched, and nothing after it. */
template <bool good> struct gpul__argument_converts : std::integral_constant<bool, good> {
    static_assert(good,
                  "GPUL_LAUNCH: an argument does not convert to the kernel's parameter (a gpul_array goes where the "
                  "kernel takes T *, const T * or gpul_view<T, N>, nullptr where it takes a pointer)");
};
template <typename...> struct gpul__types {};
template <bool...> struct gpul__bools {};
template <bool counts, typename Params, typename Args> struct gpul__launches : std::false_type {
    static_assert(counts, "GPUL_LAUNCH: the arguments after the stream are not as many as the kernel's parameters");
};
template <typename... Params, typename... Args>
struct gpul__launches<true, gpul__types<Params...>, gpul__types<Args...>>
    : std::is_same<gpul__bools<true, gpul__argument_converts<gpul__pass<Params, Args>::good>::value...>,
                   gpul__bools<gpul__pass<Params, Args>::good..., true>> {};

template <typename... Params, typename... Args>
static inline gpul_status gpul__launch_checked(std::true_type, gpul__call *call, void (*)(Params...), Args &...args) {
    const gpul__argument arguments[] = {gpul__pass<Params, Args>::describe(args)..., gpul__argument()};
    call->count = int32_t(sizeof...(Params));
    call->arguments = arguments;
    return gpul__launch_values<Params...>(call, gpul__pass<Params, Args>::value(args)...);
}
template <typename... Any> static inline gpul_status gpul__launch_checked(std::false_type, Any &&...) { return 0; }

template <typename... Params, typename Grid, typename Block, typename... Args>
static inline gpul_status gpul__launch_written(int32_t cooperative, const char *written, void (*kernel)(Params...),
                                               Grid grid, Block block, size_t shared_bytes, gpul_stream stream,
                                               Args... args) {
    gpul__call call = gpul__call();
    call.cooperative = cooperative;
    call.written = written;
    call.kernel = gpul__address(kernel);
    gpul__put_dim(call.grid, grid);
    gpul__put_dim(call.block, block);
    call.shared_bytes = shared_bytes;
    call.stream = stream;
    typedef gpul__launches<sizeof...(Params) == sizeof...(Args), gpul__types<Params...>, gpul__types<Args...>> launches;
    return gpul__launch_checked(typename launches::type(), &call, kernel, args...);
}
/* whatever else is written */
template <typename Kernel> static inline gpul_status gpul__launch_written(int32_t, const char *, Kernel, ...) {
    static_assert(sizeof(Kernel) == 0, "GPUL_LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...): one of "
                                       "the first five is missing or is something else");
    return 0;
}

} /* namespace */

template <typename... Params>
static inline gpul_status gpul_block_size(int32_t *block, void (*kernel)(Params...), size_t shared_bytes = 0,
                                          int32_t limit = 0) {
    return gpul_block_size(block, gpul__address(kernel), shared_bytes, limit);
}
template <typename... Params>
static inline gpul_status gpul_cooperative_blocks(int32_t *blocks, void (*kernel)(Params...), int32_t block,
                                                  size_t shared_bytes = 0) {
    return gpul_cooperative_blocks(blocks, gpul__address(kernel), block, shared_bytes);
}

#endif

#if defined(GPULITE_IMPLEMENTATION) && !defined(GPULITE_IMPLEMENTATION_DONE)
#define GPULITE_IMPLEMENTATION_DONE

typedef char gpul__needs_a_64_bit_program[sizeof(void *) == 8 ? 1 : -1]; /* as CUDA does */
struct cudaLaunchParams; /* which the headers of CUDA 11 name before they declare it */
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef GPULITE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#include <intrin.h>
#endif

#if defined(__cplusplus)
#define GPUL__THREAD_LOCAL thread_local
#elif defined(_MSC_VER)
#define GPUL__THREAD_LOCAL __declspec(thread)
#else
#define GPUL__THREAD_LOCAL __thread
#endif

#if defined(__GNUC__)
#define GPUL__PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define GPUL__PRINTF(at, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------------------------------------------------ */
static GPUL__THREAD_LOCAL gpul_error gpul__error;
static GPUL__THREAD_LOCAL gpul_error_handler gpul__handler;
static GPUL__THREAD_LOCAL int32_t gpul__handling; /* 1: the handler is running */

GPUL_API const gpul_error *gpul_last_error(void) { return &gpul__error; }

GPUL_API void gpul_clear_error(void) { memset(&gpul__error, 0, sizeof gpul__error); }

GPUL_API const char *gpul_status_name(gpul_status status) {
    static const char *const names[3][8] = {
        {"GPUL_OK", "GPUL_ERROR_ARGUMENT", "GPUL_ERROR_SHAPE", "GPUL_ERROR_DTYPE", "GPUL_ERROR_MEMORY",
         "GPUL_ERROR_DEVICE", "GPUL_ERROR_OVERLAP", "GPUL_ERROR_OVERFLOW"},
        {"GPUL_ERROR_OUT_OF_MEMORY", "GPUL_ERROR_NO_DEVICE", "GPUL_ERROR_UNSUPPORTED"},
        {"GPUL_ERROR_CUDA", "GPUL_ERROR_PENDING"}}; /* by hundreds */
    const char *const name =
        status < 0 || status >= 300 || status % 100 >= 8 ? NULL : names[status / 100][status % 100];
    return name == NULL ? "unknown status" : name;
}

static void gpul__copy_text(char *to, size_t size, const char *from) { (void)snprintf(to, size, "%s", from); }

GPUL_API gpul_error_handler gpul_on_error(gpul_error_handler handler) {
    const gpul_error_handler before = gpul__handler;
    gpul__handler = handler;
    return before;
}

/* Every failure: the record is made, and the program's handler is told. e, device and the bytes asked for and free:
 * what is known besides the message, or cudaSuccess, -1 and 0. The record is put together aside, since an argument of
 * the message may point into the one that it replaces. */
GPUL__PRINTF(7, 8)
static gpul_status gpul__fail_with(gpul_status status, const char *function, cudaError_t e, int device, int64_t bytes,
                                   int64_t bytes_free, const char *format, ...) {
    gpul_error error = GPUL_ZERO;
    va_list arguments;
    error.status = status;
    error.cuda_code = (int32_t)e;
    error.device = (int32_t)device;
    error.bytes_requested = bytes;
    error.bytes_free = bytes_free;
    if (e != cudaSuccess) gpul__copy_text(error.cuda_name, sizeof error.cuda_name, cudaGetErrorName(e));
    gpul__copy_text(error.function, sizeof error.function, function == NULL ? "gpulite" : function);
    const int length = snprintf(error.message, sizeof error.message, "%s: ", error.function);
    va_start(arguments, format);
    (void)vsnprintf(error.message + length, sizeof error.message - (size_t)length, format, arguments);
    va_end(arguments);
    gpul__error = error;
    if (gpul__handler == NULL || gpul__handling) return status;
    gpul__handling = 1;
    gpul__handler(&error);
    gpul__handling = 0;
    gpul__error = error; /* fault: handler-loses-record */
    return status;
}
/* The same, where nothing else is known. */
#define gpul__fail(status, function, ...) gpul__fail_with(status, function, cudaSuccess, -1, 0, 0, __VA_ARGS__)

/* Errors after which CUDA refuses everything until the process ends; by number, as old headers lack some names. */
static int32_t gpul__is_sticky(cudaError_t e) {
    /* uncorrectable ECC and NVLink errors, contained error; illegal address, launch timeout, context destroyed, assert,
     * hardware stack error, illegal instruction, misaligned address, invalid address space, invalid PC, launch failure,
     * tensor memory leak; client of MPS ended; external device */
    static const int codes[16] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};
    int32_t k = 0;
    while (k < 16 && codes[k] != (int)e) ++k;
    return k < 16;
}

/* Takes back CUDA's record of an error that a call of ours has just returned. */
static void gpul__clear_cuda(cudaError_t e) {
    if (e != cudaSuccess && cudaPeekAtLastError() == e) (void)cudaGetLastError();
}

static gpul_status gpul__status_of(cudaError_t e) {
    if (e == cudaErrorMemoryAllocation) return GPUL_ERROR_OUT_OF_MEMORY;
    if (e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver || e == cudaErrorStubLibrary)
        return GPUL_ERROR_NO_DEVICE;
    if (e == cudaErrorNotSupported || e == cudaErrorNoKernelImageForDevice || e == cudaErrorUnsupportedPtxVersion)
        return GPUL_ERROR_UNSUPPORTED;
    return GPUL_ERROR_CUDA;
}

/* What CUDA says of an error, or more where more can be known. "Insufficient driver" is also what it says where there
 * is none, and "no device" where the environment hides them. */
static const char *gpul__error_text(char *text, size_t size, cudaError_t e) {
    const char *const visible = getenv("CUDA_VISIBLE_DEVICES");
    int driver = 0, runtime = 0;
    if (e == cudaErrorNoDevice && visible != NULL) {
        (void)snprintf(text, size, "no GPU is visible: the environment variable CUDA_VISIBLE_DEVICES is \"%.64s\"",
                       visible);
        return text;
    }
    if (e != cudaErrorInsufficientDriver) return cudaGetErrorString(e);
    gpul__clear_cuda(cudaDriverGetVersion(&driver));
    if (driver == 0) return "there is no CUDA driver";
    gpul__clear_cuda(cudaRuntimeGetVersion(&runtime));
    (void)snprintf(text, size,
                   "the driver is for CUDA %d.%d, too old for the CUDA runtime %d.%d: update the driver, or build with "
                   "an older CUDA Toolkit",
                   driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return text;
}

/* What to do about it, or "" */
static const char *gpul__advice(cudaError_t e) {
    if ((int)e == 709) /* cudaErrorContextIsDestroyed, which some drivers say of a stream */
        return "; a stream of this call was destroyed, or the CUDA context: then end this process and start anew";
    if (gpul__is_sticky(e)) return "; the CUDA context is lost with all that is in it: end this process and start anew";
    if (e == cudaErrorNoKernelImageForDevice || e == cudaErrorUnsupportedPtxVersion)
        return "; build the .cu files with nvcc -arch=native (see gpul_report)";
    if (e == cudaErrorInvalidResourceHandle)
        return "; a stream or event of this call was destroyed, or belongs to another device";
    return "";
}

static gpul_status gpul__fail_cuda(cudaError_t e, const char *function, const char *what) {
    const gpul_status status = gpul__status_of(e);
    char text[192];
    int device = -1;
    gpul__clear_cuda(e);
    if (status != GPUL_ERROR_NO_DEVICE) gpul__clear_cuda(cudaGetDevice(&device));
    return gpul__fail_with(status, function, e, device, 0, 0, "%s%s%s (%s)%s", what == NULL ? "" : what,
                           what == NULL ? "" : " returned ", cudaGetErrorName(e),
                           gpul__error_text(text, sizeof text, e), gpul__advice(e));
}

/* `what` says which call gave e, or is NULL. (Compilers put this much in place of the calls.) */
static gpul_status gpul__cuda(cudaError_t e, const char *function, const char *what) {
    return e == cudaSuccess ? GPUL_OK : gpul__fail_cuda(e, function, what);
}

/* A call on the way out of a function that has a status already: the first failure is the one reported. Where that is
 * somebody else's error, CUDA's record stays as it is. */
static gpul_status gpul__finish(gpul_status status, cudaError_t e, const char *function, const char *what) {
    if (status == GPUL_OK) return gpul__cuda(e, function, what);
    if (status != GPUL_ERROR_PENDING) gpul__clear_cuda(e);
    return status;
}

/* Somebody else's error is reported as what it is, and left where it is. "Not ready" is the answer to a question, and
 * no error. "No device", "no driver" and whatever keeps a driver from starting are states of the machine that every
 * call of CUDA's reports, this question included; the call that follows will say so itself. */
static gpul_status gpul__pending(const char *function) {
    const cudaError_t e = cudaPeekAtLastError();
    int count;
    if (e == cudaSuccess || e == cudaErrorNotReady || gpul__status_of(e) == GPUL_ERROR_NO_DEVICE) return GPUL_OK;
    const gpul_status status = gpul__is_sticky(e) ? GPUL_ERROR_CUDA : GPUL_ERROR_PENDING;
    if (status == GPUL_ERROR_PENDING && cudaGetDeviceCount(&count) == e) return GPUL_OK; /* fault: pending-driver */
    (void)gpul__fail_with(status, function, e, -1, 0, 0, "an earlier %s left %s (%s)%s",
                          status == GPUL_ERROR_CUDA ? "kernel or call" : "CUDA call, not gpulite's,",
                          cudaGetErrorName(e), cudaGetErrorString(e),
                          status == GPUL_ERROR_CUDA ? gpul__advice(e) : "; fetch it with cudaGetLastError()");
    return status; /* fault: pending-error-swallowed */
}

GPUL_API gpul_status gpul_check_cuda(int32_t cuda_code, const char *function) {
    if (cuda_code == 0) return GPUL_OK;
    return gpul__cuda((cudaError_t)cuda_code, function, NULL);
}

/* Text that knows how long it would be */
typedef struct gpul__text {
    char *text;
    size_t size, length;
} gpul__text;
GPUL__PRINTF(2, 3)
static void gpul__append(gpul__text *to, const char *format, ...) {
    const size_t room = to->length < to->size ? to->size - to->length : 0;
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(room == 0 ? NULL : to->text + to->length, room, format, arguments);
    va_end(arguments);
    if (n > 0) to->length += (size_t)n;
}

static gpul_status gpul__null(const char *function, const char *name) {
    return gpul__fail(GPUL_ERROR_ARGUMENT, function, "%s is NULL", name);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * dtype, shape, array
 * ------------------------------------------------------------------------------------------------------------------ */
GPUL_API size_t gpul_dtype_size(gpul_dtype dtype) {
    static const size_t sizes[8] = {0, 4, 8, 4, 8, 1, 2, 2};
    return dtype < 0 || dtype > GPUL_BF16 ? 0 : sizes[dtype];
}

GPUL_API const char *gpul_dtype_name(gpul_dtype dtype) {
    static const char *const names[8] = {"invalid", "float32", "float64", "int32",
                                         "int64",   "uint8",   "float16", "bfloat16"};
    return names[dtype < 0 || dtype > GPUL_BF16 ? 0 : dtype];
}

static uint32_t gpul__float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static float gpul__bits_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
/* value >> shift, to nearest, ties to even; 0 < shift < 32 */
static uint32_t gpul__shift_even(uint32_t value, uint32_t shift) {
    const uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1u), half = 1u << (shift - 1u);
    return kept + (rest > half || (rest == half && (kept & 1u)) ? 1u : 0u);
}

GPUL_API uint16_t gpul_f16_from_float(float value) {
    const uint32_t bits = gpul__float_bits(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    uint32_t half;
    if (magnitude > 0x7f800000u) half = 0x7e00u | ((magnitude >> 13) & 0x1ffu); /* NaN, made quiet */
    else if (magnitude >= 0x477ff000u) half = 0x7c00u;                          /* from 65520 on: infinity */
    else if (magnitude < 0x33000000u) half = 0;                                 /* below 2^-25 */
    else if (magnitude < 0x38800000u)                                           /* below 2^-14: multiples of 2^-24 */
        half = gpul__shift_even((magnitude & 0x7fffffu) | 0x800000u, 126u - (magnitude >> 23));
    else half = gpul__shift_even(magnitude - 0x38000000u, 13);
    return (uint16_t)(sign | half);
}

GPUL_API float gpul_f16_to_float(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0) return gpul__bits_float(sign | gpul__float_bits((float)fraction / 16777216.0f)); /* exact */
    return gpul__bits_float(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13);
}

GPUL_API uint16_t gpul_bf16_from_float(float value) {
    const uint32_t bits = gpul__float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)gpul__shift_even(bits, 16);
}

GPUL_API float gpul_bf16_to_float(uint16_t bits) { return gpul__bits_float((uint32_t)bits << 16); }

/* double to float so that rounding on to 16 bits gives what rounding once would: where inexact, the neighbour with an
 * odd last bit (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008). */
static float gpul__float_to_odd(double value) {
    const float nearest = (float)value;
    const double back = (double)nearest;
    uint32_t bits = gpul__float_bits(nearest);
    if (value != value || back == value) return nearest;
    if ((back < 0 ? -back : back) > (value < 0 ? -value : value)) bits -= 1; /* towards zero */
    return gpul__bits_float(bits | 1u);
}

/* An element as a double; *whole = it, where it is an int64. */
static double gpul__element_value(const void *from, gpul_dtype dtype, int64_t *whole) {
    union {
        float f32;
        double f64;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t half;
    } v = GPUL_ZERO;
    memcpy(&v, from, gpul_dtype_size(dtype));
    switch (dtype) {
    case GPUL_F32: return (double)v.f32;
    case GPUL_F64: return v.f64;
    case GPUL_I32: return (double)v.i32;
    case GPUL_I64: *whole = v.i64; return (double)v.i64;
    case GPUL_U8: return (double)v.u8;
    case GPUL_F16: return (double)gpul_f16_to_float(v.half);
    default: return (double)gpul_bf16_to_float(v.half);
    }
}

/* a * b for a, b >= 0 in *product; 0 when it does not fit in 63 bits. */
static int32_t gpul__multiply(int64_t a, int64_t b, int64_t *product) {
    /* a division costs more than the rest of a check, and these are made several times a call */
    if (((a | b) >> 31) != 0 && a != 0 && b > INT64_MAX / a) return 0;
    *product = a * b;
    return 1;
}

GPUL_API int64_t gpul_size(const gpul_array *a) {
    int64_t n = 1;
    if (a == NULL || a->memory == GPUL_MEMORY_NONE || a->ndim < 0 || a->ndim > GPUL_MAX_DIMS) return 0;
    for (int32_t k = 0; k < a->ndim; ++k)
        if (a->shape[k] <= 0 || !gpul__multiply(n, a->shape[k], &n)) return 0;
    return n;
}

GPUL_API int64_t gpul_nbytes(const gpul_array *a) {
    int64_t bytes = 0;
    if (a == NULL || !gpul__multiply(gpul_size(a), (int64_t)gpul_dtype_size(a->dtype), &bytes)) return 0;
    return bytes;
}

/* Strides of a dense array of this shape; 0 beyond ndim. A dimension of 0 counts as 1. */
static void gpul__dense_strides(int32_t ndim, const int64_t *shape, int32_t order, int64_t *strides) {
    int64_t stride = 1;
    for (int32_t k = 0; k < GPUL_MAX_DIMS; ++k) strides[k] = 0;
    for (int32_t k = 0; k < ndim; ++k) {
        const int32_t at = order == GPUL_ORDER_F ? k : ndim - 1 - k;
        strides[at] = stride;
        if (shape[at] > 1) stride *= shape[at];
    }
}

GPUL_API int32_t gpul_is_contiguous(const gpul_array *a, int32_t order) {
    int64_t dense[GPUL_MAX_DIMS];
    if (a == NULL || a->memory == GPUL_MEMORY_NONE || a->ndim < 0 || a->ndim > GPUL_MAX_DIMS) return 0;
    if (order != GPUL_ORDER_C && order != GPUL_ORDER_F) return 0;
    if (gpul_size(a) == 0) return 1;
    gpul__dense_strides(a->ndim, a->shape, order, dense);
    for (int32_t k = 0; k < a->ndim; ++k)
        if (a->shape[k] != 1 && a->strides[k] != dense[k]) return 0;
    return 1;
}

/* Room for a piece of a message, which is the thread's until it has asked four more times */
#define GPUL__PIECE 128
static char *gpul__piece(void) {
    static GPUL__THREAD_LOCAL char pieces[4][GPUL__PIECE];
    static GPUL__THREAD_LOCAL uint32_t asked;
    return pieces[asked++ % 4];
}

/* "float32 (3, 4)", or "(3, 4)" where dtype is 0 */
static const char *gpul__describe_shape(gpul_dtype dtype, int32_t ndim, const int64_t *shape) {
    gpul__text to = {gpul__piece(), GPUL__PIECE, 0};
    if (dtype != 0) gpul__append(&to, "%s ", gpul_dtype_name(dtype));
    for (int32_t k = 0; k < ndim && k < GPUL_MAX_DIMS; ++k)
        gpul__append(&to, "%s%lld", k == 0 ? "(" : ", ", (long long)shape[k]);
    gpul__append(&to, ndim <= 0 ? "()" : ")");
    return to.text;
}
static const char *gpul__describe(const gpul_array *a) { return gpul__describe_shape(a->dtype, a->ndim, a->shape); }

/* An array's dtype or shape is wrong: "x is float32", or "x has float32 (3, 4)", and what the format adds. */
GPUL__PRINTF(5, 6)
static gpul_status gpul__fail_array(gpul_status status, const char *function, const char *name, const gpul_array *a,
                                    const char *format, ...) {
    const int32_t of_dtype = status == GPUL_ERROR_DTYPE;
    char rest[384];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    return gpul__fail(status, function, "%s %s %s%s", name, of_dtype ? "is" : "has",
                      of_dtype ? gpul_dtype_name(a->dtype) : gpul__describe(a), rest);
}

static gpul_status gpul__check_dtype(const char *function, gpul_dtype dtype) {
    if (gpul_dtype_size(dtype) != 0) return GPUL_OK;
    return gpul__fail(GPUL_ERROR_DTYPE, function, "dtype = %d is no dtype", (int)dtype);
}

/* The dimensions of `name`, of which none is negative; *n is multiplied by them, with 0 counted as 1. */
static gpul_status gpul__check_dims(const char *function, const char *name, gpul_status negative, gpul_status large,
                                    int32_t ndim, const int64_t *dim, int64_t *n) {
    int64_t signs = 0;
    if (ndim < 0 || ndim > GPUL_MAX_DIMS)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "%s has ndim = %d, not 0 to %d", name, (int)ndim,
                          GPUL_MAX_DIMS);
    for (int32_t k = 0; k < ndim; ++k) signs |= dim[k];
    if (signs < 0)
        return gpul__fail(negative, function, "%s has a negative dimension: %s", name,
                          gpul__describe_shape(0, ndim, dim));
    for (int32_t k = 0; k < ndim; ++k)
        if (dim[k] > 1 && !gpul__multiply(*n, dim[k], n))
            return gpul__fail(large, function, "%s has the dimensions %s, too large for 63 bits of elements and bytes",
                              name, gpul__describe_shape(0, ndim, dim));
    return GPUL_OK;
}

/* A shape from the caller. Bytes are bounded with 0 counted as 1, so that strides fit as well. */
static gpul_status gpul__check_shape(const char *function, gpul_dtype dtype, const gpul_shape *shape) {
    int64_t bytes = (int64_t)gpul_dtype_size(dtype);
    if (shape->order != GPUL_ORDER_C && shape->order != GPUL_ORDER_F)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "shape has order = %d, not GPUL_ORDER_C or GPUL_ORDER_F",
                          (int)shape->order);
    return gpul__check_dims(function, "shape", GPUL_ERROR_SHAPE, GPUL_ERROR_OVERFLOW, shape->ndim, shape->dim, &bytes);
}

static gpul_status gpul__check_same_shape(const char *function, const char *name, const gpul_array *a,
                                          const char *other, const gpul_array *b) {
    if (a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0) return GPUL_OK;
    return gpul__fail_array(GPUL_ERROR_SHAPE, function, name, a, ", but %s has %s: they must be of one shape", other,
                            gpul__describe(b));
}

/* An array from the caller: made by gpulite and not damaged since. */
static gpul_status gpul__check_array(const char *function, const char *name, const gpul_array *a) {
    const gpul_status wrong = GPUL_ERROR_ARGUMENT;
    int64_t n = 1, signs = 0;
    if (a == NULL) return gpul__null(function, name);
    if (a->memory == GPUL_MEMORY_NONE)
        return gpul__fail(wrong, function, "%s was never made, or was freed (memory = 0)", name);
    if (a->memory == GPUL_MEMORY_SCALAR)
        return gpul__fail(wrong, function, "%s is a GPUL_SCALAR, and must be an array here", name);
    if (a->memory < 0 || a->memory > GPUL_MEMORY_HOST)
        return gpul__fail(wrong, function, "%s has memory = %d, which is no GPUL_MEMORY_*", name, (int)a->memory);
    if (gpul_dtype_size(a->dtype) == 0)
        return gpul__fail(wrong, function, "%s has dtype = %d, which is no dtype", name, (int)a->dtype);
    const gpul_status status = gpul__check_dims(function, name, wrong, wrong, a->ndim, a->shape, &n);
    if (status != GPUL_OK) return status;
    for (int32_t k = 0; k < a->ndim; ++k) signs |= a->strides[k];
    if (signs < 0)
        return gpul__fail(wrong, function, "%s has a negative stride: %s", name,
                          gpul__describe_shape(0, a->ndim, a->strides));
    if (a->data == NULL && gpul_size(a) > 0)
        return gpul__fail(wrong, function, "%s has data = NULL, but %lld elements", name, (long long)n);
    return GPUL_OK;
}

static void gpul__swap(int64_t *a, int64_t *b) {
    const int64_t value = *a;
    *a = *b;
    *b = value;
}

/* Sorts the dimensions by falling stride of `strides[0]` (stable), so that memory is walked forwards. */
static void gpul__sort_dims(int32_t ndim, int64_t *shape, int64_t *const *strides, int32_t operands) {
    for (int32_t i = 1; i < ndim; ++i)
        for (int32_t k = i; k > 0 && strides[0][k - 1] < strides[0][k]; --k) {
            gpul__swap(&shape[k], &shape[k - 1]);
            for (int32_t o = 0; o < operands; ++o) gpul__swap(&strides[o][k], &strides[o][k - 1]);
        }
}

/* Drops dimensions of 1 and joins neighbours that every operand walks evenly. Returns the new number of dimensions, at
 * least 1; a single element has stride 1. */
static int32_t gpul__merge_dims(int32_t ndim, int64_t *shape, int64_t *const *strides, int32_t operands) {
    int32_t to = 0;
    for (int32_t from = 0; from < ndim; ++from) {
        int32_t joins = to > 0;
        if (shape[from] == 1) continue;
        for (int32_t o = 0; o < operands && joins; ++o) {
            int64_t span;
            joins = gpul__multiply(strides[o][from], shape[from], &span) && strides[o][to - 1] == span;
        }
        if (joins) --to;
        shape[to] = joins ? shape[to] * shape[from] : shape[from];
        for (int32_t o = 0; o < operands; ++o) strides[o][to] = strides[o][from];
        ++to;
    }
    if (to > 0) return to;
    shape[0] = 1;
    for (int32_t o = 0; o < operands; ++o) strides[o][0] = 1;
    return 1;
}

/* Is there a sum of x[k] * step[k], 0 <= x[k] <= most[k], that makes `target`? Steps fall from k to k + 1; `rest[k]` is
 * the largest sum from k on. Gives up (and says yes) when *budget is spent. */
static int32_t gpul__reaches(int32_t k, int32_t terms, const int64_t *step, const int64_t *most, const int64_t *rest,
                             int64_t target, int64_t *budget) {
    if (target == 0) return 1;
    if (k == terms || target < 0 || target > rest[k]) return 0;
    int64_t x = target / step[k];
    if (x > most[k]) x = most[k];
    const int64_t least = target > rest[k + 1] ? (target - rest[k + 1] + step[k] - 1) / step[k] : 0;
    for (; x >= least; --x) {
        if (--*budget < 0) return 1;
        if (gpul__reaches(k + 1, terms, step, most, rest, target - x * step[k], budget)) return 1;
    }
    return 0;
}

/* Offset of the last byte */
static int64_t gpul__last_offset(const gpul_array *a) {
    int64_t offset = 0;
    for (int32_t k = 0; k < a->ndim; ++k) offset += (a->shape[k] - 1) * a->strides[k];
    return (offset + 1) * (int64_t)gpul_dtype_size(a->dtype) - 1;
}

/* Do any elements of a and b share a byte? Two addresses are equal when the steps along a plus the steps back along b
 * make up the distance, so this asks whether a sum of bounded multiples hits a target. Exact unless the strides are so
 * contrived that the search gives up, and then the answer is yes. */
static int32_t gpul__overlap(const gpul_array *a, const gpul_array *b) {
    const gpul_array *const both[2] = {a, b};
    int64_t step[2 * GPUL_MAX_DIMS + 1], most[2 * GPUL_MAX_DIMS + 1], rest[2 * GPUL_MAX_DIMS + 2];
    int64_t *const steps[1] = {step};
    int64_t target, within = 0, budget = 100000;
    int32_t terms = 0, first, k;
    if (gpul_size(a) == 0 || gpul_size(b) == 0) return 0; /* NULL is an array without elements */
    const uintptr_t at_a = (uintptr_t)a->data, at_b = (uintptr_t)b->data;
    const int64_t last_a = gpul__last_offset(a), last_b = gpul__last_offset(b);
    if (at_a > at_b + (uintptr_t)last_b || at_b > at_a + (uintptr_t)last_a) return 0;
    target = (at_b >= at_a ? (int64_t)(at_b - at_a) : -(int64_t)(at_a - at_b)) + last_b;
    for (int32_t i = 0; i < 2; ++i) {
        const int64_t size = (int64_t)gpul_dtype_size(both[i]->dtype);
        within += size - 1;
        for (k = 0; k < both[i]->ndim; ++k) {
            if (both[i]->shape[k] == 1 || both[i]->strides[k] == 0) continue;
            step[terms] = both[i]->strides[k] * size;
            most[terms++] = both[i]->shape[k] - 1;
        }
    }
    step[terms] = 1; /* the bytes within an element of each */
    most[terms++] = within;
    gpul__sort_dims(terms, most, steps, 1); /* falling steps */
    for (first = k = terms - 1; k-- > 0;) { /* what smaller steps reach without a gap is no term of its own */
        const int64_t times = step[k] / step[first];
        if (step[k] % step[first] == 0 && times <= most[first] + 1) most[first] += most[k] * times;
        else {
            step[--first] = step[k];
            most[first] = most[k];
        }
    }
    rest[terms] = 0;
    for (k = terms - 1; k >= first; --k) rest[k] = rest[k + 1] + step[k] * most[k];
    return gpul__reaches(first, terms, step, most, rest, target, &budget);
}

/* Elements of an output must not share memory. Exact for anything but contrived strides, which are refused. */
static gpul_status gpul__check_output(const char *function, const char *name, const gpul_array *a) {
    int64_t shape[GPUL_MAX_DIMS], strides[GPUL_MAX_DIMS], reach = 0;
    int64_t *const all[1] = {strides};
    if (gpul_size(a) <= 1) return GPUL_OK;
    memcpy(shape, a->shape, sizeof shape);
    memcpy(strides, a->strides, sizeof strides);
    gpul__sort_dims(a->ndim, shape, all, 1);
    for (int32_t k = a->ndim - 1; k >= 0; --k) {
        if (shape[k] == 1) continue;
        if (strides[k] <= reach)
            return gpul__fail(GPUL_ERROR_OVERLAP, function,
                              "elements of %s, %s with strides %s, may share memory with one another", name,
                              gpul__describe(a), gpul__describe_shape(0, a->ndim, a->strides));
        reach += (shape[k] - 1) * strides[k];
    }
    return GPUL_OK;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * What is known about each device, found out once
 * ------------------------------------------------------------------------------------------------------------------ */
#ifndef GPULITE_NO_KERNELS
/* Does nothing. gpulite_kernels.cu of the same version defines it, so that no other links. */
extern void GPUL__VERSIONED(gpul__kernels_of_version)(void);
#else /* in place of gpulite_kernels.cu: no kernel is found, so none is launched */
#define gpul__find_elementwise(op, size) ((const gpul__elementwise_op *)NULL)
#define gpul__run_elementwise(op, problem, machine, most, stream) ((void)(op), (void)(problem), (void)(stream), 0)
#define gpul__fill_words(out, bits, n, bytes, stream) 0
#define gpul__workspaces_pass(stream_key, to) 0
#define gpul__workspace_leave(device, workspace) (void)0
#define gpul__histogram_trim() ((void)0)
#endif

/* Store and add return what was there before, swap whether it stored. */
#if defined(__GNUC__)
static int64_t gpul__atomic_load(int64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static int64_t gpul__atomic_store(int64_t *p, int64_t value) { return __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL); }
static int64_t gpul__atomic_add(int64_t *p, int64_t n) { return __atomic_fetch_add(p, n, __ATOMIC_ACQ_REL); }
static int32_t gpul__atomic_swap(int64_t *p, int64_t expected, int64_t value) {
    return __atomic_compare_exchange_n(p, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? 1 : 0;
}
#elif defined(_MSC_VER)
static int64_t gpul__atomic_load(int64_t *p) { return _InterlockedCompareExchange64(p, 0, 0); }
static int64_t gpul__atomic_store(int64_t *p, int64_t value) { return _InterlockedExchange64(p, value); }
static int64_t gpul__atomic_add(int64_t *p, int64_t n) { return _InterlockedExchangeAdd64(p, n); }
static int32_t gpul__atomic_swap(int64_t *p, int64_t expected, int64_t value) {
    return _InterlockedCompareExchange64(p, value, expected) == expected;
}
#else
#error "gpulite: the implementation needs gcc's or Microsoft's atomic operations"
#endif

#define GPUL__DEVICES 64
enum { GPUL__UNKNOWN = 0, GPUL__FILLING = 1, GPUL__KNOWN = 2 };
/* values of gpul_array.owned: how it was allocated */
enum { GPUL__OWNED = 1, GPUL__OWNED_BY_POOL = 2, GPUL__OWNED_BY_GRAPH = 3 };

typedef struct gpul__device_state {
    int64_t state;         /* GPUL__UNKNOWN .. GPUL__KNOWN: guards `machine` and `pool` */
    int64_t used, limit;   /* bytes of arrays and scratch in use, and their cap (0: none) */
    gpul__machine machine; /* an operation's begins as a copy of it */
    cudaMemPool_t pool;    /* NULL where the device has none */
    int64_t roof_state;    /* guards `roof`, as `state` does */
    gpul_roof roof;
} gpul__device_state;

#define GPUL__STREAMS 4096 /* a power of 2, and four times as many as are promised */
#define GPUL__PROBES 32
#define GPUL__ENDED 16
typedef struct gpul__stream_slot {
    int64_t handle; /* 0: free; negative: of a stream that was destroyed, all bits turned (-1: being filled) */
    int64_t number;
} gpul__stream_slot;

/* What all copies of the implementation in a program have in common, and no other version shares. */
typedef struct gpul__shared_state {
    gpul__device_state devices[GPUL__DEVICES];
    int64_t streams_made;
    gpul__stream_slot streams[GPUL__STREAMS];
    int64_t streams_ended, ended[GPUL__ENDED]; /* handles of the last that gpul_stream_destroy was given */
} gpul__shared_state;
#define gpul__shared GPUL__VERSIONED(gpul__shared_state)
#ifdef _WIN32
__declspec(selectany) gpul__shared_state gpul__shared = GPUL_ZERO;
#else
__attribute__((weak)) gpul__shared_state gpul__shared = GPUL_ZERO;
#endif

static gpul_status gpul__attribute(const char *function, int32_t *value, enum cudaDeviceAttr attribute, int device) {
    int number = 0;
    const gpul_status status =
        gpul__cuda(cudaDeviceGetAttribute(&number, attribute, device), function, "cudaDeviceGetAttribute");
    if (status == GPUL_OK) *value = (int32_t)number;
    return status;
}

/* A pool of our own: the application's settings of the default pool stay its own, and gpul_memory_trim touches only our
 * memory. Freed memory stays in the pool, or every synchronisation would hand it back to the driver. */
static gpul_status gpul__make_pool(const char *function, cudaMemPool_t *out, int device) {
    struct cudaMemPoolProps properties = GPUL_ZERO;
    cudaMemPool_t pool = NULL;
    uint64_t most = UINT64_MAX; /* fault: pool-keeps-nothing */
    /* the first use may lie in a capture, where CUDA refuses these calls unless told that they are meant */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    const char *const call = "cudaThreadExchangeStreamCaptureMode";
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    gpul_status status = gpul__cuda(cudaThreadExchangeStreamCaptureMode(&mode), function, call);
    if (status != GPUL_OK) return status;
    status = gpul__cuda(cudaMemPoolCreate(&pool, &properties), function, "cudaMemPoolCreate");
    if (status == GPUL_OK)
        status = gpul__cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most), function,
                            "cudaMemPoolSetAttribute");
    status = gpul__finish(status, cudaThreadExchangeStreamCaptureMode(&mode), function, call); /* fault: mode-kept */
    if (status == GPUL_OK) *out = pool;
    else if (pool != NULL) gpul__clear_cuda(cudaMemPoolDestroy(pool));
    return status;
}

/* What tells a stream from every other of the program's life: CUDA's handles come again after a stream is destroyed,
 * its numbers do not. 0 where CUDA has no such number, or nobody asks for it. */
static cudaError_t gpul__stream_key(gpul_stream stream, int64_t *key) {
#if CUDART_VERSION >= 12000 && !defined(GPULITE_NO_KERNELS)
    unsigned long long id = 0;
    const cudaError_t e = cudaStreamGetId(stream, &id);
    *key = e == cudaSuccess ? (int64_t)(id % INT64_MAX) + 1 : 0;
    return e;
#else
    (void)stream;
    *key = 0;
    return cudaSuccess;
#endif
}

/* Streams that gpul_stream_create made or an array was made on, each with a number that no other has: a call of CUDA
 * with the handle of a stream that is gone may crash, and a later stream may get that handle. Finds the slot near the
 * stream's place whose handle is `from`, and makes it `to`. */
static gpul__stream_slot *gpul__stream_slot_of(gpul_stream stream, int64_t from, int64_t to) {
    const uint64_t home = ((uint64_t)(uintptr_t)stream * 0x9e3779b97f4a7c15u) >> 32;
    for (uint64_t k = 0; stream != NULL && k < GPUL__PROBES; ++k) {
        gpul__stream_slot *const slot = &gpul__shared.streams[(home + k) % GPUL__STREAMS];
        const int64_t handle = gpul__atomic_load(&slot->handle);
        if (handle != from) continue;
        if (from == to || gpul__atomic_swap(&slot->handle, handle, to)) return slot;
    }
    return NULL;
}

/* 0: not one of ours, or not any more. */
static int32_t gpul__stream_number(gpul_stream stream) {
    static GPUL__THREAD_LOCAL int32_t of_thread; /* its cudaStreamPerThread's, which is another stream in each */
    const int64_t handle = (int64_t)(intptr_t)stream;
    if (stream == cudaStreamPerThread) {
        if (of_thread == 0) of_thread = (int32_t)(gpul__atomic_add(&gpul__shared.streams_made, 1) % INT32_MAX) + 1;
        return of_thread; /* fault: stream-per-thread */
    }
    gpul__stream_slot *slot = gpul__stream_slot_of(stream, handle, handle);
    return slot == NULL ? 0 : (int32_t)(gpul__atomic_load(&slot->number) % INT32_MAX) + 1;
}

/* Where there is no room, the stream passes for one that is not ours. */
static void gpul__stream_enter(gpul_stream stream) {
    const int64_t handle = (int64_t)(intptr_t)stream;
    gpul__stream_slot *slot = gpul__stream_slot_of(stream, handle, -1); /* of one that cudaStreamDestroy ended */
    if (slot == NULL) slot = gpul__stream_slot_of(stream, 0, -1);
    if (slot == NULL) return;
    gpul__atomic_store(&slot->number, gpul__atomic_add(&gpul__shared.streams_made, 1));
    gpul__atomic_store(&slot->handle, handle);
}

/* The number of a stream that is to be known from now on, whoever made it; 1 is CUDA's other name of NULL */
static int32_t gpul__stream_known(gpul_stream stream) {
    const int32_t number = gpul__stream_number(stream);
    if (number != 0 || (uintptr_t)stream <= 1) return number;
    gpul__stream_enter(stream);
    return gpul__stream_number(stream);
}

/* The stream that CUDA is to destroy now. Of those that are known, the last that were destroyed stay with CUDA, so that
 * no other gets their handles and a copy of one can be told from a stream. */
static gpul_stream gpul__stream_leave(gpul_stream stream, int32_t keep) {
    const int64_t handle = (int64_t)(intptr_t)stream;
    if (gpul__stream_slot_of(stream, handle, keep ? ~handle : 0) == NULL) return stream;
    while (gpul__stream_slot_of(stream, handle, 0) != NULL) {} /* where two threads entered it at the same time */
    if (!keep) return stream;
    const int64_t place = gpul__atomic_add(&gpul__shared.streams_ended, 1) % GPUL__ENDED;
    const intptr_t oldest = (intptr_t)gpul__atomic_store(&gpul__shared.ended[place], handle);
#ifdef GPULITE_CPU_STANDIN
    standin_stream_ended(stream); /* no leak */
#endif
    memcpy(&stream, &oldest, sizeof oldest);
    (void)gpul__stream_slot_of(stream, ~(int64_t)oldest, 0); /* fault: dead-stream-kept */
    return stream;
}

static gpul_status gpul__check_stream(const char *function, const char *name, gpul_stream stream) {
    const int64_t handle = (int64_t)(intptr_t)stream;
    if (stream == NULL || gpul__atomic_load(&gpul__shared.streams_ended) == 0 ||
        gpul__stream_slot_of(stream, handle, handle) != NULL || gpul__stream_slot_of(stream, ~handle, ~handle) == NULL)
        return GPUL_OK;
    return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                      "%s = %p was ended by gpul_stream_destroy, and this is a copy of it", name, (void *)stream);
}

/* The key of a stream that has a workspace and no work that still uses it, else 0. */
static cudaError_t gpul__workspace_idle(gpul_stream stream, int64_t *key) {
    cudaError_t e = gpul__stream_key(stream, key);
    if (e == cudaSuccess && *key != 0 && gpul__workspaces_pass(*key, *key) != 0) {
        e = cudaStreamQuery(stream); /* fault: workspace-of-busy-stream */
        if (e == cudaSuccess) return e;
    }
    *key = 0;
    if (e != cudaErrorNotReady) return e;
    gpul__clear_cuda(e);
    return cudaSuccess;
}

/* What stands for the decimal point in the program's locale, some bytes in `text`. */
static const char *gpul__decimal_point(char (*text)[16]) {
    const int length = snprintf(*text, sizeof *text, "%.1f", 0.5);
    (*text)[length - 1] = 0; /* the 5 */
    return *text + 1;
}

/* What GPULITE_MEMORY_LIMIT says of the current device; 0: nothing */
static gpul_status gpul__limit_of_environment(const char *function, int64_t *limit) {
    const char *const text = getenv("GPULITE_MEMORY_LIMIT");
    size_t free_bytes = 0, total = 0;
    char number[64] = "", half[16]; /* what is longer is no number */
    const char *const point = gpul__decimal_point(&half);
    gpul__text copy = {number, sizeof number, 0};
    char *end = NULL;
    gpul_status status = GPUL_OK;
    *limit = 0;
    if (text == NULL || text[0] == 0) return GPUL_OK;
    for (const char *p = text; *p != 0; ++p) /* strtod takes the point of the program's locale */
        gpul__append(&copy, "%.*s", *p == '.' ? (int)strlen(point) : 1, *p == '.' ? point : p);
    if (copy.length >= copy.size) number[0] = 0;
    const double value = strtod(number, &end);
    const int32_t percent = strcmp(end, "%") == 0;
    if (end != number && (*end == 0 || percent) && value >= 0 && value <= (percent ? 100 : 9e18)) {
        if (percent) status = gpul__cuda(cudaMemGetInfo(&free_bytes, &total), function, "cudaMemGetInfo");
        *limit = (int64_t)(percent ? (double)total * (value / 100) : value);
        if (status != GPUL_OK || *limit > 0 || value == 0) return status; /* 0 would be no limit */
    }
    return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                      "the environment variable GPULITE_MEMORY_LIMIT is \"%.64s\", neither bytes (\"2e9\"), 1 or more, "
                      "nor a per cent of the device's memory (\"50%%\"); 0 is no limit",
                      text);
}

/* Several threads may find things out at once; the first to finish is believed, the others drop what they made. */
static gpul_status gpul__device_find(const char *function, gpul__device_state **out, int device) {
    gpul__device_state *state;
    gpul__machine machine = GPUL_ZERO;
    int32_t shared_optin = 0, pools = 0;
    int64_t limit = 0;
    cudaMemPool_t pool = NULL;
    if (device < 0 || device >= GPUL__DEVICES)
        return gpul__fail(GPUL_ERROR_DEVICE, function, "device %d is beyond the %d that gpulite knows", device,
                          GPUL__DEVICES);
    *out = state = &gpul__shared.devices[device];
    if (gpul__atomic_load(&state->state) == GPUL__KNOWN) return GPUL_OK;
    gpul_status status = gpul__attribute(function, &machine.sms, cudaDevAttrMultiProcessorCount, device);
    if (status == GPUL_OK)
        status = gpul__attribute(function, &shared_optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (status == GPUL_OK) status = gpul__attribute(function, &pools, cudaDevAttrMemoryPoolsSupported, device);
    if (status == GPUL_OK) status = gpul__limit_of_environment(function, &limit);
    if (status == GPUL_OK && pools) status = gpul__make_pool(function, &pool, device);
    if (status != GPUL_OK) return status;
#ifndef GPULITE_NO_KERNELS
    GPUL__VERSIONED(gpul__kernels_of_version)();
#endif
    if (gpul__atomic_swap(&state->state, GPUL__UNKNOWN, GPUL__FILLING)) {
        machine.device = device;
        machine.shared_optin = shared_optin;
        state->machine = machine;
        state->pool = pool;
        gpul__atomic_store(&state->limit, limit); /* fault: limit-ignored */
        gpul__atomic_store(&state->state, GPUL__KNOWN);
    } else if (pool != NULL) gpul__clear_cuda(cudaMemPoolDestroy(pool));
    while (gpul__atomic_load(&state->state) != GPUL__KNOWN) {}
    return GPUL_OK;
}

/* Enters `bytes` into the device's account; 0 when that would pass its limit. *used is what was in use before. */
static int32_t gpul__account(gpul__device_state *state, int64_t bytes, int64_t *used) {
    do {
        const int64_t limit = gpul__atomic_load(&state->limit), most = limit > 0 ? limit : INT64_MAX;
        *used = gpul__atomic_load(&state->used);
        if (bytes > most || *used > most - bytes) return 0;
    } while (!gpul__atomic_swap(&state->used, *used, *used + bytes));
    return 1;
}
static void gpul__unaccount(gpul__device_state *state, int64_t bytes) { (void)gpul__atomic_add(&state->used, -bytes); }

/* ---------------------------------------------------------------------------------------------------------------------
 * The frame of an operation: the device it runs on, and the memory it needs for itself
 * ------------------------------------------------------------------------------------------------------------------ */
typedef struct gpul__memory { /* scratch memory; data is NULL: none */
    void *data;
    int64_t bytes;
    gpul__workspace *own; /* NULL, or the stream's workspace, which the call has until this is dropped */
} gpul__memory;
typedef struct gpul__scope {
    const char *function;
    int32_t device;   /* of the operation, and current until gpul__end */
    int32_t previous; /* the caller's */
    int32_t moved;    /* 1: made another device current in between, so gpul__end must put it back */
    gpul__machine machine;
    gpul__device_state *state;
} gpul__scope;

/* Tries twice: leaving the wrong device current would mislead every later call of the caller's. */
static cudaError_t gpul__restore_device(int device) {
    const cudaError_t e = cudaSetDevice(device);
    gpul__clear_cuda(e);
    if (e != cudaSuccess) gpul__clear_cuda(cudaSetDevice(device)); /* fault: restored-once */
    return e;
}

static gpul_status gpul__end(gpul__scope *scope, gpul_status status) {
    if (scope->device == scope->previous && !scope->moved) return status; /* fault: device-not-restored */
    return gpul__finish(status, gpul__restore_device(scope->previous), scope->function,
                        "cudaSetDevice (back to the caller's device)");
}

static gpul_status gpul__set_device(const char *function, int32_t device) {
    return gpul__cuda(cudaSetDevice(device), function, "cudaSetDevice");
}

static gpul_status gpul__begin_on(gpul__scope *scope, const char *function, int32_t device) {
    gpul_status status = gpul__pending(function);
    int current = 0;
    if (status == GPUL_OK) status = gpul__cuda(cudaGetDevice(&current), function, "cudaGetDevice");
    if (status != GPUL_OK) return status;
    scope->function = function;
    scope->moved = 0;
    scope->previous = current;
    scope->device = device < 0 ? current : device;
    if (scope->device != scope->previous) status = gpul__set_device(function, scope->device);
    if (status == GPUL_OK) status = gpul__device_find(function, &scope->state, scope->device);
    if (status != GPUL_OK) return gpul__end(scope, status); /* fault: begin-not-ended */
    scope->machine = scope->state->machine;
    return GPUL_OK;
}

/* Checks the stream that the work goes to and for somebody else's error, finds the one device of the device arrays (the
 * current one if there are none) and makes it current. After GPUL_OK, and only then, gpul__end must follow. */
static gpul_status gpul__begin(gpul__scope *scope, const char *function, const gpul_array *const *arrays, int32_t count,
                               gpul_stream stream) {
    const gpul_array *first = NULL;
    gpul_status status = gpul__check_stream(function, "stream", stream);
    for (int32_t k = 0; k < count && status == GPUL_OK; ++k) {
        if (arrays[k] == NULL || arrays[k]->memory != GPUL_MEMORY_DEVICE) continue;
        if (first == NULL) first = arrays[k];
        if (first->device != arrays[k]->device)
            status = gpul__fail(GPUL_ERROR_DEVICE, function,
                                "arrays of two devices: %s on device %d and %s on device %d; gpul_copy one over",
                                gpul__describe(first), (int)first->device, gpul__describe(arrays[k]),
                                (int)arrays[k]->device);
    }
    return status != GPUL_OK ? status : gpul__begin_on(scope, function, first == NULL ? -1 : first->device);
}

/* Whether the stream is being captured; where that is not known, a yes, and an error unless function is NULL. */
static gpul_status gpul__is_captured(const char *function, gpul_stream stream, int32_t *captured) {
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cudaError_t e = cudaStreamIsCapturing(stream, &capture);
    *captured = e != cudaSuccess || capture != cudaStreamCaptureStatusNone;
    /* "implicit": the NULL stream, while another one is captured */
    if (function != NULL && e != cudaErrorStreamCaptureImplicit)
        return gpul__cuda(e, function, "cudaStreamIsCapturing");
    gpul__clear_cuda(e);
    return GPUL_OK;
}

/* What a capture cannot hold: calls that wait (host = NULL), and copies of pageable memory, which a graph would read
 * and write when it runs, while outside of one CUDA stages it before it returns. */
static gpul_status gpul__check_capture(const char *function, const void *host, gpul_stream stream) {
    struct cudaPointerAttributes attributes = GPUL_ZERO;
    int32_t captured;
    gpul_status status = gpul__is_captured(function, stream, &captured);
    if (status != GPUL_OK || !captured) return status;
    if (stream == NULL || stream == cudaStreamLegacy) /* two names of one */
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "the NULL stream cannot be used while a stream that is ordered with it is captured");
    if (host == NULL)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "stream is being captured into a graph, where no answer can be waited for and no time taken");
    status = gpul__cuda(cudaPointerGetAttributes(&attributes, host), function, "cudaPointerGetAttributes");
    if (status != GPUL_OK || attributes.type != cudaMemoryTypeUnregistered) return status;
    return gpul__fail(GPUL_ERROR_MEMORY, function,
                      "host = %p is pageable memory, and stream is being captured: the graph would use it whenever it "
                      "runs; gpul_pin it, or copy outside of the capture",
                      host);
}

/* For the array `a`, or else scratch memory; limit: gpul_memory_limit's, or 0 where CUDA has no more */
static gpul_status gpul__out_of_memory(const gpul__scope *scope, int64_t bytes, const gpul_array *a, int64_t limit,
                                       int64_t used) {
    size_t free_bytes = 0, total = 0;
    gpul__clear_cuda(cudaMemGetInfo(&free_bytes, &total));
    return gpul__fail_with(
        GPUL_ERROR_OUT_OF_MEMORY, scope->function, limit > 0 ? cudaSuccess : cudaErrorMemoryAllocation, scope->device,
        bytes, (int64_t)free_bytes, "%s needs %lld bytes, but %s is %lld on device %d, where gpulite has %lld in use",
        a == NULL ? "scratch memory" : gpul__describe(a), (long long)bytes,
        limit > 0 ? "the limit (gpul_memory_limit or GPULITE_MEMORY_LIMIT)" : "free memory",
        limit > 0 ? (long long)limit : (long long)free_bytes, (int)scope->device, (long long)used);
}

static cudaError_t gpul__allocate(void **out, int64_t bytes, const gpul__scope *scope, gpul_stream stream) {
    if (scope->state->pool == NULL) return cudaMalloc(out, (size_t)bytes);
    return cudaMallocFromPoolAsync(out, (size_t)bytes, scope->state->pool, stream);
}

/* Device memory of `bytes` > 0 on the scope's device, in the order of `stream`, for the array `a` or as scratch. In a
 * capture it is the graph's, which ends with it, whoever frees it: it is not counted as in use. */
static gpul_status gpul__device_memory(void **out, int32_t *owned, int64_t bytes, const gpul__scope *scope,
                                       gpul_stream stream, const gpul_array *a) {
    gpul__device_state *const state = scope->state;
    const int32_t pooled = state->pool != NULL;
    int32_t captured = 0;
    void *pointer = NULL;
    int64_t used = 0;
    const char *call = pooled ? "cudaMallocFromPoolAsync" : "cudaMalloc";
    if (pooled && stream != NULL) (void)gpul__is_captured(NULL, stream, &captured); /* unknown: waiting fails, too */
    *owned = captured ? GPUL__OWNED_BY_GRAPH : pooled ? GPUL__OWNED_BY_POOL : GPUL__OWNED;
    if (!captured && !gpul__account(state, bytes, &used)) /* fault: graph-memory */
        return gpul__out_of_memory(scope, bytes, a, gpul__atomic_load(&state->limit), used);
    cudaError_t e = gpul__allocate(&pointer, bytes, scope, stream);
    if (e == cudaErrorMemoryAllocation && pooled && !captured) {
        /* freed memory may still be in the pool, in pieces of other sizes: give it all back and try once more */
        gpul__clear_cuda(e);
        e = cudaStreamSynchronize(stream);                           /* fault: retry-at-once */
        if (e == cudaSuccess) e = cudaMemPoolTrimTo(state->pool, 0); /* fault: retry-without-trim */
        if (e == cudaSuccess) e = gpul__allocate(&pointer, bytes, scope, stream);
        else call = "cudaStreamSynchronize or cudaMemPoolTrimTo";
        /* a driver may take all that is free into the pool before it finds that this is too little */
        if (e == cudaErrorMemoryAllocation)
            gpul__clear_cuda(cudaMemPoolTrimTo(state->pool, 0)); /* fault: failed-keeps-memory */
    }
    if (e == cudaSuccess) *out = pointer;
    else if (!captured) gpul__unaccount(state, bytes);
    if (e != cudaErrorMemoryAllocation) return gpul__cuda(e, scope->function, call);
    gpul__clear_cuda(e);
    return gpul__out_of_memory(scope, bytes, a, 0, used);
}

/* Memory for the operation itself, in the order of `stream`. 0 bytes: none. */
static gpul_status gpul__scratch(gpul__memory *out, int64_t bytes, const gpul__scope *scope, gpul_stream stream) {
    int32_t owned = 0;
    gpul_status status = GPUL_OK;
    out->data = NULL;
    if (bytes > 0) status = gpul__device_memory(&out->data, &owned, bytes, scope, stream, NULL);
    out->bytes = owned == GPUL__OWNED_BY_GRAPH ? 0 : bytes; /* of what counts as in use */
    return status;
}

static gpul_status gpul__scratch_drop(const gpul__memory *scratch, const gpul__scope *scope, gpul_stream stream,
                                      gpul_status status) {
    const int32_t pooled = scope->state->pool != NULL;
    if (scratch->own != NULL) gpul__workspace_leave(scope->device, scratch->own);
    if (scratch->data == NULL) return status;
    gpul__unaccount(scope->state, scratch->bytes);
    const cudaError_t e = pooled ? cudaFreeAsync(scratch->data, stream) : cudaFree(scratch->data);
    return gpul__finish(status, e, scope->function, pooled ? "cudaFreeAsync" : "cudaFree");
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Making and freeing arrays
 * ------------------------------------------------------------------------------------------------------------------ */
static void gpul__array_init(gpul_array *a, void *data, gpul_dtype dtype, const gpul_shape *shape, int32_t memory,
                             int32_t device) {
    memset(a, 0, sizeof *a);
    a->data = data;
    a->ndim = shape->ndim;
    a->dtype = dtype;
    a->memory = memory;
    a->device = device;
    for (int32_t k = 0; k < GPUL_MAX_DIMS; ++k) a->shape[k] = k < shape->ndim ? shape->dim[k] : 1;
    gpul__dense_strides(a->ndim, a->shape, shape->order, a->strides);
}

static gpul_status gpul__check_new(const char *function, const gpul_array *out, gpul_dtype dtype,
                                   const gpul_shape *shape) {
    const gpul_status status = out == NULL ? gpul__null(function, "out") : gpul__check_dtype(function, dtype);
    return status != GPUL_OK ? status : gpul__check_shape(function, dtype, shape);
}

/* Releases whatever the status is, and even when an error is pending: the first failure is the one reported. Needs no
 * pool: CUDA knows where memory is from. */
static gpul_status gpul__free(const char *function, gpul_array *a, gpul_status status) {
    int current = -1, moved;
    const char *call = "cudaFree";
    if (a == NULL) return status;
    gpul_array old = *a;
    memset(a, 0, sizeof *a);
    if (!old.owned || old.data == NULL) return status;
    if (status == GPUL_OK) status = gpul__pending(function);
    cudaError_t e = cudaGetDevice(&current);
    if (e != cudaSuccess) { /* once more: freeing in the order of another device's stream would be too early */
        gpul__clear_cuda(e);
        if (cudaGetDevice(&current) != cudaSuccess) current = -1;
    }
    status = gpul__finish(status, e, function, "cudaGetDevice");
    moved = current != old.device;
    if (moved) status = gpul__finish(status, gpul__restore_device(old.device), function, "cudaSetDevice");
    if (old.memory == GPUL_MEMORY_DEVICE) {
        if (old.stream_number != 0 && gpul__stream_number(old.stream) != old.stream_number) { /* gone, or another's */
            old.stream = NULL;
            status = gpul__finish(status, cudaDeviceSynchronize(), function, "cudaDeviceSynchronize");
        }
        if (old.owned != GPUL__OWNED) call = "cudaFreeAsync";
        e = old.owned != GPUL__OWNED ? cudaFreeAsync(old.data, old.stream) : cudaFree(old.data);
        if (old.owned != GPUL__OWNED_BY_GRAPH && e != cudaErrorInvalidValue && /* fault: freed-twice */
            old.device >= 0 && old.device < GPUL__DEVICES)
            gpul__unaccount(&gpul__shared.devices[old.device], gpul_nbytes(&old));
    } else if (old.memory == GPUL_MEMORY_MANAGED) e = cudaFree(old.data);
    else { /* CUDA does not promise that cudaFreeHost waits for copies in flight, which may be any device's */
        moved = 1;
        for (int k = 0; k < GPUL__DEVICES; ++k) {
            if (k != old.device && gpul__atomic_load(&gpul__shared.devices[k].state) != GPUL__KNOWN) continue;
            status = gpul__finish(status, cudaSetDevice(k), function, "cudaSetDevice");
            status = gpul__finish(status, cudaDeviceSynchronize(), function, "cudaDeviceSynchronize");
        }
        e = cudaFreeHost(old.data);
        call = "cudaFreeHost";
    }
    if (status == GPUL_OK && e == cudaErrorInvalidValue) {
        gpul__clear_cuda(e);
        status = gpul__fail_with(GPUL_ERROR_CUDA, function, e, old.device, 0, 0,
                                 "a->data = %p is no memory that CUDA has given out: was it freed before, through a "
                                 "copy of the array? Of all copies free one, once. Or was it made in a capture? Free "
                                 "it before the capture ends",
                                 old.data);
    } else status = gpul__finish(status, e, function, call);
    if (current >= 0 && moved)
        status = gpul__finish(status, gpul__restore_device(current), function,
                              "cudaSetDevice (back to the caller's device)");
    return status;
}

GPUL_API gpul_status gpul_free(gpul_array *a) { return gpul__free(__func__, a, GPUL_OK); }

GPUL_API gpul_status gpul_free_arrays(gpul_array *const *arrays, size_t count) {
    gpul_status status = GPUL_OK;
    if (arrays == NULL && count > 0) return gpul__null(__func__, "arrays");
    for (size_t k = 0; k < count; ++k) status = gpul__free(__func__, arrays[k], status);
    return status;
}

/* Ends the scope and hands the new array over if all went well, else takes it back. */
static gpul_status gpul__deliver(gpul_array *out, gpul_array *a, gpul__scope *scope, gpul_status status) {
    status = gpul__end(scope, status);
    if (status == GPUL_OK) *out = *a;
    return status == GPUL_OK ? status : gpul__free(scope->function, a, status);
}

static gpul_status gpul__host_array(const char *function, gpul_array *out, gpul_dtype dtype, const gpul_shape *shape,
                                    int32_t memory) {
    gpul__scope scope;
    gpul_array a;
    gpul_status status = gpul__check_new(function, out, dtype, shape);
    if (status == GPUL_OK) status = gpul__begin(&scope, function, NULL, 0, NULL);
    if (status != GPUL_OK) return status;
    gpul__array_init(&a, NULL, dtype, shape, memory, scope.device);
    const int64_t bytes = gpul_nbytes(&a);
    if (bytes > 0) {
        const int32_t managed = memory == GPUL_MEMORY_MANAGED;
        const unsigned int flags = memory == GPUL_MEMORY_MAPPED ? cudaHostAllocMapped : cudaHostAllocDefault;
        const char *const call = managed ? "cudaMallocManaged" : "cudaHostAlloc";
        const cudaError_t e = managed ? cudaMallocManaged(&a.data, (size_t)bytes, cudaMemAttachGlobal)
                                      : cudaHostAlloc(&a.data, (size_t)bytes, cudaHostAllocPortable | flags);
        if (e == cudaSuccess) a.owned = GPUL__OWNED;
        else if (e == cudaErrorMemoryAllocation) {
            gpul__clear_cuda(e);
            status = gpul__fail_with(GPUL_ERROR_OUT_OF_MEMORY, function, e, scope.device, bytes, 0,
                                     "%s needs %lld bytes, which %s did not give", gpul__describe(&a), (long long)bytes,
                                     call);
        } else status = gpul__cuda(e, function, call);
    }
    return gpul__deliver(out, &a, &scope, status);
}

GPUL_API gpul_status gpul_pinned_array(gpul_array *out, gpul_dtype dtype, gpul_shape shape) {
    return gpul__host_array(__func__, out, dtype, &shape, GPUL_MEMORY_PINNED);
}
GPUL_API gpul_status gpul_mapped_array(gpul_array *out, gpul_dtype dtype, gpul_shape shape) {
    return gpul__host_array(__func__, out, dtype, &shape, GPUL_MEMORY_MAPPED);
}
GPUL_API gpul_status gpul_managed_array(gpul_array *out, gpul_dtype dtype, gpul_shape shape) {
    return gpul__host_array(__func__, out, dtype, &shape, GPUL_MEMORY_MANAGED);
}

GPUL_API gpul_status gpul_pin(void *host, size_t bytes) {
    const unsigned int flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
    if (host == NULL) return gpul__null(__func__, "host");
    if (bytes == 0) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "bytes = 0");
    const gpul_status status = gpul__pending(__func__);
    return status != GPUL_OK ? status : gpul__cuda(cudaHostRegister(host, bytes, flags), __func__, "cudaHostRegister");
}

GPUL_API gpul_status gpul_unpin(void *host) {
    const gpul_status status = host == NULL ? gpul__null(__func__, "host") : gpul__pending(__func__);
    return status != GPUL_OK ? status : gpul__cuda(cudaHostUnregister(host), __func__, "cudaHostUnregister");
}

GPUL_API gpul_status gpul_memory_limit(int64_t bytes) {
    gpul__scope scope;
    if (bytes < 0) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "bytes = %lld is negative", (long long)bytes);
    const gpul_status status = gpul__begin(&scope, __func__, NULL, 0, NULL);
    if (status != GPUL_OK) return status;
    gpul__atomic_store(&scope.state->limit, bytes);
    return gpul__end(&scope, GPUL_OK);
}

GPUL_API gpul_status gpul_memory_used(int64_t *used, int64_t *held) {
    gpul__scope scope;
    gpul_status status = gpul__begin(&scope, __func__, NULL, 0, NULL);
    uint64_t reserved = 0;
    if (status != GPUL_OK) return status;
    int64_t in_use = gpul__atomic_load(&scope.state->used);
    if (in_use < 0) in_use = 0;
    if (scope.state->pool != NULL && held != NULL)
        status = gpul__cuda(cudaMemPoolGetAttribute(scope.state->pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
                            __func__, "cudaMemPoolGetAttribute");
    status = gpul__end(&scope, status);
    if (status != GPUL_OK) return status;
    if (used != NULL) *used = in_use;
    if (held != NULL) *held = (int64_t)reserved > in_use ? (int64_t)reserved : in_use;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_memory_trim(void) {
    gpul__scope scope;
    gpul_status status = gpul__begin(&scope, __func__, NULL, 0, NULL);
    if (status != GPUL_OK) return status;
    status = gpul__cuda(cudaDeviceSynchronize(), __func__, "cudaDeviceSynchronize");
    if (status == GPUL_OK && scope.state->pool != NULL)
        status = gpul__cuda(cudaMemPoolTrimTo(scope.state->pool, 0), __func__, "cudaMemPoolTrimTo");
    if (status == GPUL_OK) gpul__histogram_trim();
    return gpul__end(&scope, status);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Copies
 * ------------------------------------------------------------------------------------------------------------------ */
/* A problem without inputs. Field by field: compilers clear the whole with an instruction that takes longer to start
 * than all of these stores. ndim, shape and the strides of out are left to the caller. */
static void gpul__elementwise_begin(gpul__elementwise_problem *problem, int32_t op, void *out, int64_t n) {
    problem->out = out;
    problem->op = op;
    problem->n = n;
    problem->column0 = 0;
    problem->others[0] = problem->others[1] = NULL;
    for (int32_t i = 0; i < 4; ++i) problem->dtype[i] = 0;
    for (int32_t i = 0; i < 3; ++i) {
        problem->in[i] = NULL;
        problem->scalar[i] = 0;
    }
    for (int32_t i = 1; i < GPUL__OPERANDS; ++i)
        for (int32_t k = 0; k < GPUL_MAX_DIMS; ++k) problem->strides[i][k] = 0;
}

static gpul_status gpul__elementwise_launch(const gpul__elementwise_op *op, gpul__elementwise_problem *problem,
                                            const gpul__scope *scope, gpul_stream stream) {
    const cudaError_t e = (cudaError_t)gpul__run_elementwise(op, problem, &scope->machine, (int64_t)1 << 30, stream);
    return gpul__cuda(e, scope->function, "launching the kernel"); /* fault: elementwise-swallowed */
}

enum { GPUL__BY_BLOCK = 0, GPUL__BY_PITCH = 1, GPUL__BY_KERNEL = 2 };
typedef struct gpul__copy_plan {
    gpul__elementwise_problem problem; /* the copy kernel's, but for the pointers: strides[0] is dst's, [1] src's */
    const gpul__elementwise_op *op;    /* NULL: that kernel was left out */
    int64_t size;                      /* bytes of an element */
    int32_t how;
} gpul__copy_plan;

/* src is NULL: a fill, which is the kernel's */
static void gpul__plan_copy(gpul__copy_plan *plan, const gpul_array *a, const int64_t *dst, const int64_t *src) {
    gpul__elementwise_problem *const p = &plan->problem;
    int64_t *const strides[2] = {p->strides[0], p->strides[1]}, *const to = strides[0], *const from = strides[1];
    const int64_t size = (int64_t)gpul_dtype_size(a->dtype);
    const int64_t most_pitch = INT32_MAX / size; /* cudaDevAttrMaxPitch of every device so far */
    plan->op = gpul__find_elementwise(GPUL__COPY, (int32_t)size);
    plan->size = size;
    plan->how = GPUL__BY_KERNEL;
    gpul__elementwise_begin(p, GPUL__COPY, NULL, gpul_size(a));
    memcpy(p->shape, a->shape, sizeof p->shape);
    memcpy(to, dst, sizeof p->strides[0]);
    if (src != NULL) memcpy(from, src, sizeof p->strides[1]);
    gpul__sort_dims(a->ndim, p->shape, strides, 2);
    p->ndim = gpul__merge_dims(a->ndim, p->shape, strides, 2);
    if (src == NULL) return;
    if (p->ndim == 1 && to[0] == 1 && from[0] == 1) plan->how = GPUL__BY_BLOCK;
    else if (p->ndim == 1 && from[0] > 0 && plan->op == NULL) { /* rows of one element: slow, but it copies */
        p->ndim = 2;
        p->shape[1] = to[1] = from[1] = 1;
    }
    if (p->ndim == 2 && to[1] == 1 && from[1] == 1 && to[0] >= p->shape[1] && from[0] >= p->shape[1] &&
        to[0] <= most_pitch && from[0] <= most_pitch)
        plan->how = GPUL__BY_PITCH;
}

static gpul_status gpul__copy_bytes(const char *function, void *dst, const void *src, size_t bytes,
                                    gpul_stream stream) {
    return gpul__cuda(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream), /* fault: copy-swallowed */
                      function, "cudaMemcpyAsync");
}

/* Carries a plan out on the scope's device. UVA tells CUDA where the pointers lead. src is NULL: by the kernel, every
 * element = the problem's scalar */
static gpul_status gpul__copy_run(gpul__copy_plan *plan, void *dst, const void *src, const gpul__scope *scope,
                                  gpul_stream stream) {
    gpul__elementwise_problem *const p = &plan->problem;
    const size_t size = (size_t)plan->size;
    if (plan->how == GPUL__BY_BLOCK) return gpul__copy_bytes(scope->function, dst, src, (size_t)p->n * size, stream);
    if (plan->how == GPUL__BY_PITCH)
        return gpul__cuda(cudaMemcpy2DAsync(dst, (size_t)p->strides[0][0] * size, src, (size_t)p->strides[1][0] * size,
                                            (size_t)p->shape[1] * size, (size_t)p->shape[0], cudaMemcpyDefault, stream),
                          scope->function, "cudaMemcpy2DAsync");
    if (plan->op == NULL)
        return gpul__fail(GPUL_ERROR_UNSUPPORTED, scope->function,
                          "%s takes the copy kernel, which this build leaves out",
                          src == NULL ? "filling with this value" : "copying between these strides");
    p->out = dst;
    p->in[0] = src;
    return gpul__elementwise_launch(plan->op, p, scope, stream);
}

/* Strides of a dense host buffer in the array's own order: column-major where strides rise, dimensions of 1 aside. */
static void gpul__host_strides(const gpul_array *a, int64_t *strides) {
    int64_t last = -1;
    int32_t rises = 0, falls = 0;
    for (int32_t k = 0; k < a->ndim; ++k) {
        if (a->shape[k] <= 1 || a->strides[k] == 0) continue;
        if (last >= 0 && a->strides[k] > last) rises = 1;
        if (a->strides[k] < last) falls = 1;
        last = a->strides[k];
    }
    gpul__dense_strides(a->ndim, a->shape, rises && !falls ? GPUL_ORDER_F : GPUL_ORDER_C, strides);
}

/* With the NULL stream a copy that involves the host is done on return. */
static gpul_status gpul__end_host_copy(const char *function, gpul_stream stream, gpul_status status) {
    if (status == GPUL_OK && stream == NULL)                                                 /* fault: wait-swallowed */
        status = gpul__cuda(cudaStreamSynchronize(NULL), function, "cudaStreamSynchronize"); /* fault: too-early */
    return status;
}

/* Between an array and a host buffer in the array's own order: from `in`, or else to `out`. */
static gpul_status gpul__copy_host(gpul__scope *scope, const gpul_array *a, const void *in, void *out,
                                   gpul_stream stream) {
    const size_t bytes = (size_t)gpul_nbytes(a);
    const char *const function = scope->function;
    void *to = in != NULL ? a->data : out;
    const void *from = in != NULL ? in : a->data;
    gpul__copy_plan plan;
    int64_t strides[GPUL_MAX_DIMS];
    gpul__memory dense = GPUL_ZERO;
    if (bytes == 0) return GPUL_OK;
    gpul_status status = gpul__check_capture(function, in != NULL ? in : out, stream);
    if (status != GPUL_OK) return status;
    gpul__host_strides(a, strides);
    gpul__plan_copy(&plan, a, in != NULL ? a->strides : strides, in != NULL ? strides : a->strides);
    if (plan.how == GPUL__BY_KERNEL) { /* which cannot read or write pageable memory: over a dense copy */
        status = gpul__scratch(&dense, (int64_t)bytes, scope, stream);
        if (in == NULL) to = dense.data;
        else from = dense.data;
        if (status == GPUL_OK && in != NULL) status = gpul__copy_bytes(function, dense.data, in, bytes, stream);
    }
    if (status == GPUL_OK) status = gpul__copy_run(&plan, to, from, scope, stream);
    if (status == GPUL_OK && in == NULL && dense.data != NULL)
        status = gpul__copy_bytes(function, out, dense.data, bytes, stream);
    return gpul__end_host_copy(function, stream, gpul__scratch_drop(&dense, scope, stream, status));
}

/* Between `a`, which is checked, and the host: from `in`, or else to `out`. */
static gpul_status gpul__transfer(const char *function, const gpul_array *a, const void *in, void *out,
                                  gpul_stream stream) {
    gpul__scope scope;
    if (in == NULL && out == NULL && gpul_size(a) > 0) return gpul__null(function, "host");
    const gpul_status status = gpul__begin(&scope, function, &a, 1, stream);
    if (status != GPUL_OK) return status;
    return gpul__end(&scope, gpul__copy_host(&scope, a, in, out, stream));
}

GPUL_API gpul_status gpul_copy_to_device(gpul_array *dst, const void *host, gpul_stream stream) {
    gpul_status status = gpul__check_array(__func__, "dst", dst);
    if (status == GPUL_OK) status = gpul__check_output(__func__, "dst", dst);
    return status != GPUL_OK ? status : gpul__transfer(__func__, dst, host, NULL, stream);
}

GPUL_API gpul_status gpul_copy_to_host(void *host, const gpul_array *src, gpul_stream stream) {
    const gpul_status status = gpul__check_array(__func__, "src", src);
    return status != GPUL_OK ? status : gpul__transfer(__func__, src, NULL, host, stream);
}

GPUL_API gpul_status gpul_to_host(void *host, gpul_dtype dtype, const gpul_array *src, gpul_stream stream) {
    gpul_status status = gpul__check_array(__func__, "src", src);
    if (status == GPUL_OK) status = gpul__check_dtype(__func__, dtype);
    if (status != GPUL_OK) return status;
    if (dtype != src->dtype)
        return gpul__fail(GPUL_ERROR_DTYPE, __func__, "host holds %s, but src is %s, and nothing is converted",
                          gpul_dtype_name(dtype), gpul__describe(src));
    return gpul__transfer(__func__, src, NULL, host, stream);
}

/* `later` waits for what is now in `earlier`. Leaves one of the two devices current: later's on success. */
static gpul_status gpul__order(const char *function, gpul_stream later, int32_t later_device, gpul_stream earlier,
                               int32_t earlier_device) {
    gpul_event event = NULL;
    gpul_status status = gpul__set_device(function, earlier_device);
    if (status == GPUL_OK)
        status =
            gpul__cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), function, "cudaEventCreateWithFlags");
    if (status == GPUL_OK)
        status = gpul__cuda(cudaEventRecord(event, earlier), function, "cudaEventRecord"); /* fault: order-swallowed */
    if (status == GPUL_OK && later_device != earlier_device) status = gpul__set_device(function, later_device);
    if (status == GPUL_OK) status = gpul__cuda(cudaStreamWaitEvent(later, event, 0), function, "cudaStreamWaitEvent");
    return event == NULL ? status : gpul__finish(status, cudaEventDestroy(event), function, "cudaEventDestroy");
}

/* Between two devices: gathered on src's device where src is strided, moved as one block, scattered on dst's device.
 * The work on src's device runs in a stream of its own (for the NULL stream: in that device's NULL stream), after what
 * `stream` holds, and nothing of src's device is given back before the block has moved. */
static gpul_status gpul__copy_across(gpul__scope *scope, const gpul_array *dst, const gpul_array *src,
                                     gpul_stream stream) {
    gpul__scope there;
    gpul__copy_plan gather, scatter;
    int64_t dense[GPUL_MAX_DIMS];
    const int64_t bytes = gpul_nbytes(dst);
    int32_t packs, lands, ordered, captured = 0;
    const char *const function = scope->function;
    gpul__memory packed = GPUL_ZERO, landed = GPUL_ZERO;
    gpul_stream own = NULL;
    gpul_status status = GPUL_OK;
    gpul__host_strides(dst, dense);
    gpul__plan_copy(&gather, src, dense, src->strides);
    gpul__plan_copy(&scatter, dst, dst->strides, dense);
    packs = gather.how != GPUL__BY_BLOCK;
    lands = scatter.how != GPUL__BY_BLOCK;
    ordered = stream == NULL || packs;
    if (packs && stream != NULL) status = gpul__is_captured(function, stream, &captured);
    if (status == GPUL_OK && captured)
        return gpul__fail(
            GPUL_ERROR_UNSUPPORTED, function,
            "stream is being captured, and a copy of strided src to another device cannot be: gpul_copy it "
            "to a dense array first");
    if (status == GPUL_OK) status = gpul__begin_on(&there, function, src->device);
    if (status != GPUL_OK) return status;
    if (stream != NULL && packs)
        status =
            gpul__cuda(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), function, "cudaStreamCreateWithFlags");
    if (status == GPUL_OK && ordered) /* fault: across-before-src */
        status = gpul__order(function, own, src->device, stream, dst->device);
    if (status == GPUL_OK && packs) status = gpul__scratch(&packed, bytes, &there, own);
    if (status == GPUL_OK && packs) status = gpul__copy_run(&gather, packed.data, src->data, &there, own);
    if (status == GPUL_OK)
        status = ordered ? gpul__order(function, stream, dst->device, own, src->device)
                         : gpul__set_device(function, dst->device);
    if (status == GPUL_OK && lands) status = gpul__scratch(&landed, bytes, scope, stream);
    if (status == GPUL_OK) {
        void *const to = lands ? landed.data : dst->data;
        const void *const from = packs ? packed.data : src->data;
        status = gpul__cuda(cudaMemcpyPeerAsync(to, dst->device, from, src->device, (size_t)bytes, stream), function,
                            "cudaMemcpyPeerAsync");
        if (status == GPUL_OK && lands) status = gpul__copy_run(&scatter, dst->data, to, scope, stream);
        status = gpul__scratch_drop(&landed, scope, stream, status);
        if (status == GPUL_OK && ordered) status = gpul__order(function, own, src->device, stream, dst->device);
        if (status != GPUL_OK && packs) { /* the block may be moving, and nothing orders its end */
            (void)gpul__restore_device(dst->device);
            gpul__clear_cuda(cudaStreamSynchronize(stream));
        }
    }
    if (packed.data != NULL || own != NULL) {
        status = gpul__finish(status, gpul__restore_device(src->device), function, "cudaSetDevice");
        status = gpul__scratch_drop(&packed, &there, own, status);
        if (own != NULL) /* lets its work finish */
            status = gpul__finish(status, cudaStreamDestroy(own), function, "cudaStreamDestroy");
    }
    return gpul__end(&there, status);
}

/* dst = src, all checked. dst's device is current, and stays so whatever happens. */
static gpul_status gpul__copy(gpul__scope *scope, const gpul_array *dst, const gpul_array *src, gpul_stream stream) {
    gpul__copy_plan plan;
    const int32_t on_device = dst->memory == GPUL_MEMORY_DEVICE && src->memory == GPUL_MEMORY_DEVICE;
    if (gpul_size(dst) == 0) return GPUL_OK;
    if (on_device && dst->device != src->device) return gpul__copy_across(scope, dst, src, stream);
    gpul__plan_copy(&plan, dst, dst->strides, src->strides);
    /* The kernel is launched faster than cudaMemcpyAsync and moves as much, up to 2 GiB, and rows of any pitch at the
     * speed of a block, which cudaMemcpy2DAsync does not. */
    if (on_device && plan.op != NULL && (plan.how == GPUL__BY_PITCH || gpul_nbytes(dst) <= (int64_t)1 << 31))
        plan.how = GPUL__BY_KERNEL;
    const gpul_status status = gpul__copy_run(&plan, dst->data, src->data, scope, stream);
    return on_device ? status : gpul__end_host_copy(scope->function, stream, status);
}

GPUL_API gpul_status gpul_copy(gpul_array *dst, const gpul_array *src, gpul_stream stream) {
    gpul__scope scope;
    gpul_status status = gpul__check_array(__func__, "dst", dst);
    if (status == GPUL_OK) status = gpul__check_array(__func__, "src", src);
    if (status != GPUL_OK) return status;
    if (dst->dtype != src->dtype)
        return gpul__fail(GPUL_ERROR_DTYPE, __func__, "src has %s, but dst %s, and nothing is converted",
                          gpul__describe(src), gpul__describe(dst));
    status = gpul__check_same_shape(__func__, "src", src, "dst", dst);
    if (status == GPUL_OK) status = gpul__check_output(__func__, "dst", dst);
    if (status != GPUL_OK) return status;
    if (gpul__overlap(dst, src))
        return gpul__fail(GPUL_ERROR_OVERLAP, __func__, "dst, %s, overlaps src", gpul__describe(dst));
    const gpul_array *const owner = dst->memory == GPUL_MEMORY_DEVICE ? dst : src; /* of the stream */
    status = gpul__begin(&scope, __func__, &owner, 1, stream);
    if (status != GPUL_OK) return status;
    return gpul__end(&scope, gpul__copy(&scope, dst, src, stream));
}

/* The least and the largest integer of a dtype, as far as a double goes: INT64_MAX is rounded down. */
static void gpul__integer_range(gpul_dtype dtype, double *low, double *high) {
    *low = dtype == GPUL_I32 ? -2147483648.0 : dtype == GPUL_I64 ? -9223372036854775808.0 : 0;
    *high = dtype == GPUL_I32 ? 2147483647.0 : dtype == GPUL_I64 ? 9223372036854774784.0 : 255;
}

/* The argument `value`, called `name`, as an element in the low bytes of *bits */
static gpul_status gpul__element_bits(const char *function, const char *name, uint64_t *bits, gpul_dtype dtype,
                                      double value) {
    double low, high;
    *bits = 0;
    switch (dtype) {
    case GPUL_F32: *bits = gpul__float_bits((float)value); return GPUL_OK;
    case GPUL_F64: memcpy(bits, &value, sizeof value); return GPUL_OK;
    case GPUL_F16: *bits = gpul_f16_from_float(gpul__float_to_odd(value)); return GPUL_OK;
    case GPUL_BF16: *bits = gpul_bf16_from_float(gpul__float_to_odd(value)); return GPUL_OK;
    default: gpul__integer_range(dtype, &low, &high);
    }
    if (!(value >= low && value <= high) || (double)(int64_t)value != value)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "%s = %.17g is no %s", name, value,
                          dtype == GPUL_I64 ? "whole number (int64)" : gpul_dtype_name(dtype));
    *bits = (uint64_t)(int64_t)value;
    return GPUL_OK;
}

static gpul_status gpul__fill(const gpul__scope *scope, const gpul_array *a, uint64_t bits, gpul_stream stream) {
    const int32_t size = (int32_t)gpul_dtype_size(a->dtype), few = gpul_nbytes(a) <= 4 << 20;
    gpul__copy_plan plan;
    int32_t same = 1;
    if (gpul_size(a) == 0) return GPUL_OK;
    for (int32_t k = 1; k < size; ++k) same = same && ((bits >> (8 * k)) & 0xffu) == (bits & 0xffu);
    gpul__plan_copy(&plan, a, a->strides, NULL);
    /* The driver's fill in place of the kernel: up to 4 KB it is no launch, and up to some megabytes it is the shorter
     * one; beyond that it is slower, unless the kernel cannot use accesses of 16 bytes, or was left out. */
    same = same && (few || (uintptr_t)a->data % 16 != 0 || plan.op == NULL);
    if (a->memory == GPUL_MEMORY_DEVICE && plan.problem.ndim == 1 && plan.problem.strides[0][0] == 1) {
        if (same)
            return gpul__cuda(cudaMemsetAsync(a->data, (int)(bits & 0xffu), (size_t)gpul_nbytes(a), stream),
                              scope->function, "cudaMemsetAsync");
        if (few && (size == 2 || size == 4) && gpul__fill_words(a->data, bits, plan.problem.n, size, stream))
            return GPUL_OK;
    }
    plan.problem.scalar[0] = bits;
    return gpul__copy_run(&plan, a->data, NULL, scope, stream);
}

GPUL_API gpul_status gpul_fill(gpul_array *a, double value, gpul_stream stream) {
    const gpul_array *const arrays[1] = {a};
    gpul__scope scope;
    uint64_t bits;
    gpul_status status = gpul__check_array(__func__, "a", a);
    if (status == GPUL_OK) status = gpul__element_bits(__func__, "value", &bits, a->dtype, value);
    if (status == GPUL_OK) status = gpul__check_output(__func__, "a", a);
    if (status == GPUL_OK) status = gpul__begin(&scope, __func__, arrays, 1, stream);
    if (status != GPUL_OK) return status;
    return gpul__end(&scope, gpul__fill(&scope, a, bits, stream));
}

/* What the elements of a new array are: whatever lies there, like's, those at `from`, or all the double at `from` */
enum { GPUL__OF_NOBODY, GPUL__OF_LIKE, GPUL__OF_HOST, GPUL__OF_VALUE };

/* A new device array, on the device of `like` if that has one, with the `contents` */
static gpul_status gpul__new_array(const char *function, gpul_array *out, gpul_dtype dtype, const gpul_shape *shape,
                                   const gpul_array *like, int32_t contents, const void *from, gpul_stream stream) {
    gpul__scope scope;
    gpul_array a;
    uint64_t bits = 0;
    gpul_status status = gpul__check_new(function, out, dtype, shape);
    if (status == GPUL_OK && contents == GPUL__OF_VALUE)
        status = gpul__element_bits(function, "value", &bits, dtype, *(const double *)from);
    if (status != GPUL_OK) return status;
    gpul__array_init(&a, NULL, dtype, shape, GPUL_MEMORY_DEVICE, 0);
    const int64_t bytes = gpul_nbytes(&a);
    if (contents == GPUL__OF_HOST && from == NULL && bytes > 0) return gpul__null(function, "host");
    status = gpul__begin(&scope, function, &like, 1, stream);
    if (status != GPUL_OK) return status;
    a.device = scope.device;
    a.stream = stream;
    a.stream_number = gpul__stream_known(stream);
    if (bytes > 0) status = gpul__device_memory(&a.data, &a.owned, bytes, &scope, stream, &a);
    if (a.data == NULL) a.owned = 0;
    if (status == GPUL_OK && contents == GPUL__OF_LIKE) status = gpul__copy(&scope, &a, like, stream);
    if (status == GPUL_OK && contents == GPUL__OF_HOST) status = gpul__copy_host(&scope, &a, from, NULL, stream);
    if (status == GPUL_OK && contents == GPUL__OF_VALUE) status = gpul__fill(&scope, &a, bits, stream);
    return gpul__deliver(out, &a, &scope, status);
}

GPUL_API gpul_status gpul_device_array(gpul_array *out, gpul_dtype dtype, gpul_shape shape, gpul_stream stream) {
    return gpul__new_array(__func__, out, dtype, &shape, NULL, GPUL__OF_NOBODY, NULL, stream);
}
GPUL_API gpul_status gpul_to_device(gpul_array *out, const void *host, gpul_dtype dtype, gpul_shape shape,
                                    gpul_stream stream) {
    return gpul__new_array(__func__, out, dtype, &shape, NULL, GPUL__OF_HOST, host, stream);
}
GPUL_API gpul_status gpul_full(gpul_array *out, gpul_dtype dtype, gpul_shape shape, double value, gpul_stream stream) {
    return gpul__new_array(__func__, out, dtype, &shape, NULL, GPUL__OF_VALUE, &value, stream);
}
GPUL_API gpul_status gpul_zeros(gpul_array *out, gpul_dtype dtype, gpul_shape shape, gpul_stream stream) {
    const double value = 0;
    return gpul__new_array(__func__, out, dtype, &shape, NULL, GPUL__OF_VALUE, &value, stream);
}

/* An array like `like`, the argument called `name` */
static gpul_status gpul__array_like(const char *function, gpul_array *out, const char *name, const gpul_array *like,
                                    int32_t contents, gpul_stream stream) {
    gpul_shape shape;
    const gpul_status status = out == NULL ? gpul__null(function, "out") : gpul__check_array(function, name, like);
    if (status != GPUL_OK) return status;
    memcpy(shape.dim, like->shape, sizeof shape.dim);
    shape.ndim = like->ndim;
    shape.order =
        gpul_is_contiguous(like, GPUL_ORDER_F) && !gpul_is_contiguous(like, GPUL_ORDER_C) ? GPUL_ORDER_F : GPUL_ORDER_C;
    return gpul__new_array(function, out, like->dtype, &shape, like, contents, NULL, stream);
}

GPUL_API gpul_status gpul_device_array_like(gpul_array *out, const gpul_array *like, gpul_stream stream) {
    return gpul__array_like(__func__, out, "like", like, GPUL__OF_NOBODY, stream);
}
GPUL_API gpul_status gpul_clone(gpul_array *out, const gpul_array *a, gpul_stream stream) {
    return gpul__array_like(__func__, out, "a", a, GPUL__OF_LIKE, stream);
}

/* A negative index counts from the end. */
static int64_t gpul__from_end(int64_t index, int64_t n) {
    return index < 0 ? index + n : index; /* fault: view-from-end */
}

/* The element of `a` at `index`: set to what lies at `in`, or else stored to `out`. Waits until it is. */
static gpul_status gpul__move_element(const char *function, const gpul_array *a, const int64_t *index, const void *in,
                                      void *out, gpul_stream stream) {
    gpul__scope scope;
    const size_t size = a == NULL ? 0 : gpul_dtype_size(a->dtype);
    int64_t offset = 0;
    gpul_status status = gpul__check_array(function, "a", a);
    if (status != GPUL_OK) return status;
    if (in == NULL && out == NULL) return gpul__null(function, "value");
    if (in != NULL) status = gpul__check_output(function, "a", a); /* fault: set-repeated */
    if (status != GPUL_OK) return status;
    if (index == NULL && a->ndim > 0) return gpul__null(function, "index");
    for (int32_t k = 0; k < a->ndim; ++k) {
        const int64_t i = gpul__from_end(index[k], a->shape[k]);
        if (i < 0 || i >= a->shape[k])
            return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                              "index[%d] = %lld, but a->shape[%d] = %lld: -shape <= index < shape", (int)k,
                              (long long)index[k], (int)k, (long long)a->shape[k]);
        offset += i * a->strides[k];
    }
    status = gpul__begin(&scope, function, &a, 1, stream);
    if (status != GPUL_OK) return status;
    char *const at = (char *)a->data + offset * (int64_t)size;
    status = gpul__check_capture(function, NULL, stream);
    if (status == GPUL_OK)
        status = gpul__copy_bytes(function, in == NULL ? out : at, in == NULL ? at : in, size, stream);
    if (status == GPUL_OK) status = gpul__cuda(cudaStreamSynchronize(stream), function, "cudaStreamSynchronize");
    return gpul__end(&scope, status);
}

GPUL_API gpul_status gpul_get(void *value, const gpul_array *a, const int64_t *index, gpul_stream stream) {
    return gpul__move_element(__func__, a, index, NULL, value, stream);
}
GPUL_API gpul_status gpul_set(gpul_array *a, const int64_t *index, const void *value, gpul_stream stream) {
    return gpul__move_element(__func__, a, index, value, NULL, stream);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Views
 * ------------------------------------------------------------------------------------------------------------------ */
/* A negative axis counts from the end. */
static gpul_status gpul__check_axis(const char *function, const char *name, const gpul_array *a, int32_t *axis) {
    if (*axis < -a->ndim || *axis >= a->ndim)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "axis = %d, but %s has %s", (int)*axis, name,
                          gpul__describe(a));
    if (*axis < 0) *axis += a->ndim;
    return GPUL_OK;
}

/* axis: NULL where there is none */
static gpul_status gpul__check_view(const char *function, const char *name, const gpul_array *view, const gpul_array *a,
                                    int32_t *axis) {
    const gpul_status status = view == NULL ? gpul__null(function, name) : gpul__check_array(function, "a", a);
    if (status != GPUL_OK) return status;
    if (view == a && a->owned)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "%s and a are one array, which owns its memory and would lose it", name);
    return axis == NULL ? GPUL_OK : gpul__check_axis(function, "a", a, axis);
}

/* [start:stop:step], all checked; `view` may be `a` */
static void gpul__slice(gpul_array *view, const gpul_array *a, int32_t axis, int64_t start, int64_t stop,
                        int64_t step) {
    const int64_t n = gpul_ceil_div(stop - start, step), size = (int64_t)gpul_dtype_size(a->dtype);
    *view = *a;
    view->owned = 0;
    view->shape[axis] = n;
    if (gpul_size(view) == 0) view->data = NULL;
    else view->data = (char *)view->data + start * view->strides[axis] * size;
    if (n > 1) view->strides[axis] *= step;
}

GPUL_API gpul_status gpul_slice(gpul_array *view, const gpul_array *a, int32_t axis, int64_t start, int64_t stop,
                                int64_t step) {
    const gpul_status status = gpul__check_view(__func__, "view", view, a, &axis);
    if (status != GPUL_OK) return status;
    const int64_t n = a->shape[axis], first = gpul__from_end(start, n);
    const int64_t last = stop == GPUL_END ? n : gpul__from_end(stop, n); /* fault: view-end */
    if (first < 0 || first > last || last > n)
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__,
                          "start = %lld, stop = %lld, but a->shape[%d] = %lld: 0 <= start <= stop <= shape, where "
                          "negative ones count from the end",
                          (long long)start, (long long)stop, (int)axis, (long long)n);
    if (step < 1) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "step = %lld is below 1", (long long)step);
    gpul__slice(view, a, axis, first, last, step);
    return GPUL_OK;
}

/* An axis of one element becomes the last, and goes away. */
static void gpul__drop_axis(gpul_array *a, int32_t axis) {
    a->strides[axis] = 0;
    for (; axis + 1 < a->ndim; ++axis) {
        gpul__swap(&a->shape[axis], &a->shape[axis + 1]);
        gpul__swap(&a->strides[axis], &a->strides[axis + 1]);
    }
    --a->ndim;
}

GPUL_API gpul_status gpul_index(gpul_array *view, const gpul_array *a, int32_t axis, int64_t i) {
    const gpul_status status = gpul__check_view(__func__, "view", view, a, &axis);
    if (status != GPUL_OK) return status;
    const int64_t n = a->shape[axis], at = gpul__from_end(i, n);
    if (at < 0 || at >= n)
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "i = %lld, but a->shape[%d] = %lld: -shape <= i < shape",
                          (long long)i, (int)axis, (long long)n);
    gpul__slice(view, a, axis, at, at + 1, 1);
    gpul__drop_axis(view, axis);
    return GPUL_OK;
}

static void gpul__reverse(int32_t ndim, int64_t *shape, int64_t *strides) {
    for (int32_t k = 0; k < ndim / 2; ++k) {
        gpul__swap(&shape[k], &shape[ndim - 1 - k]);
        gpul__swap(&strides[k], &strides[ndim - 1 - k]);
    }
}

/* Row-major: merged, a's dimensions are runs walked evenly; each new dimension must divide the run it starts in.
 * Column-major is the same with both shapes reversed. */
GPUL_API gpul_status gpul_reshape(gpul_array *view, const gpul_array *a, gpul_shape shape) {
    gpul_array result;
    int64_t run[GPUL_MAX_DIMS], strides[GPUL_MAX_DIMS], known = 1; /* known: product of shape; 0: it has none */
    int64_t *const all[1] = {strides};
    const int64_t size = gpul_size(a);
    int32_t last, open = -1, twice = 0;
    gpul_status status = gpul__check_view(__func__, "view", view, a, NULL);
    if (status != GPUL_OK) return status;
    for (int32_t k = 0; k < shape.ndim && k < GPUL_MAX_DIMS; ++k)
        if (shape.dim[k] == -1 && open < 0) open = k;
        else if (shape.dim[k] <= 0) {
            known = 0;
            twice = twice || shape.dim[k] == -1;
        } else if (!gpul__multiply(known, shape.dim[k], &known)) known = INT64_MAX;
    if (open >= 0 && known > 0 && size % known == 0) {
        shape.dim[open] = size / known;
        known = size;
        open = -1;
    }
    if (open < 0) status = gpul__check_shape(__func__, a->dtype, &shape);
    if (status != GPUL_OK) return status;
    if (open >= 0 || known != size)
        return gpul__fail_array(GPUL_ERROR_SHAPE, __func__, "a", a, ", %lld elements, which do not fill the shape %s%s",
                                (long long)size, gpul__describe_shape(0, shape.ndim, shape.dim),
                                twice ? ": only one dimension may be -1" : "");
    gpul__array_init(&result, a->data, a->dtype, &shape, a->memory, a->device);
    result.stream = a->stream;
    result.stream_number = a->stream_number;
    memcpy(run, a->shape, sizeof run);
    memcpy(strides, a->strides, sizeof strides);
    if (shape.order == GPUL_ORDER_F) gpul__reverse(a->ndim, run, strides);
    last = gpul__merge_dims(a->ndim, run, all, 1) - 1;
    for (int32_t k = 0; k < result.ndim && size > 0; ++k) {
        const int32_t at = shape.order == GPUL_ORDER_F ? k : result.ndim - 1 - k;
        if (run[last] == 1 && last > 0 && result.shape[at] > 1) --last;
        if (run[last] % result.shape[at] != 0)
            return gpul__fail_array(
                GPUL_ERROR_SHAPE, __func__, "a", a,
                " with strides that the shape %s cannot express; gpul_copy it into a dense array first",
                gpul__describe_shape(0, shape.ndim, shape.dim));
        result.strides[at] = strides[last];
        strides[last] *= result.shape[at];
        run[last] /= result.shape[at];
    }
    *view = result;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_transpose(gpul_array *view, const gpul_array *a) {
    const gpul_status status = gpul__check_view(__func__, "view", view, a, NULL);
    if (status != GPUL_OK) return status;
    *view = *a;
    view->owned = 0;
    gpul__reverse(view->ndim, view->shape, view->strides);
    return GPUL_OK;
}

GPUL_API gpul_status gpul_permute(gpul_array *view, const gpul_array *a, const int32_t *axes) {
    int32_t at[GPUL_MAX_DIMS] = {-1, -1, -1, -1}; /* the axis of the view that an axis of `a` is */
    const gpul_status status = gpul__check_view(__func__, "view", view, a, NULL);
    if (status != GPUL_OK) return status;
    if (axes == NULL) return gpul__null(__func__, "axes");
    gpul_array result = *a;
    result.owned = 0;
    for (int32_t k = 0; k < a->ndim; ++k) {
        const int32_t axis = axes[k] < 0 ? axes[k] + a->ndim : axes[k];
        if (axis < 0 || axis >= a->ndim)
            return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "axes[%d] = %d, but a has %s", (int)k, (int)axes[k],
                              gpul__describe(a));
        if (at[axis] >= 0) /* fault: permute-twice */
            return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "axes[%d] = %d, which axes[%d] is already", (int)k,
                              (int)axes[k], (int)at[axis]);
        at[axis] = k;
        result.shape[k] = a->shape[axis];
        result.strides[k] = a->strides[axis];
    }
    *view = result;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_expand_dims(gpul_array *view, const gpul_array *a, int32_t axis) {
    const gpul_status status = gpul__check_view(__func__, "view", view, a, NULL);
    if (status != GPUL_OK) return status;
    if (a->ndim == GPUL_MAX_DIMS)
        return gpul__fail_array(GPUL_ERROR_SHAPE, __func__, "a", a, ", and an array has at most %d dimensions",
                                GPUL_MAX_DIMS);
    if (axis < -a->ndim - 1 || axis > a->ndim)
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "axis = %d, but the view of a, %s, has %d axes", (int)axis,
                          gpul__describe(a), (int)a->ndim + 1);
    if (axis < 0) axis += a->ndim + 1;
    *view = *a;
    view->owned = 0;
    for (int32_t k = view->ndim++; k > axis;
         --k) { /* what lies behind the last axis, one element, comes to its place */
        gpul__swap(&view->shape[k], &view->shape[k - 1]);
        gpul__swap(&view->strides[k], &view->strides[k - 1]);
    }
    return GPUL_OK;
}

GPUL_API gpul_status gpul_broadcast_to(gpul_array *view, const gpul_array *a, gpul_shape shape) {
    gpul_array result;
    int32_t k;
    gpul_status status = gpul__check_view(__func__, "view", view, a, NULL);
    shape.order = GPUL_ORDER_C;
    if (status == GPUL_OK) status = gpul__check_shape(__func__, a->dtype, &shape);
    if (status != GPUL_OK) return status;
    gpul__array_init(&result, a->data, a->dtype, &shape, a->memory, a->device);
    result.stream = a->stream;
    result.stream_number = a->stream_number;
    for (k = 0; k < shape.ndim; ++k) {
        const int32_t from = k - shape.ndim + a->ndim; /* the axis of `a` */
        const int64_t n = from < 0 ? 1 : a->shape[from];
        result.strides[k] = n == 1 ? 0 : a->strides[from];
        if (n != 1 && n != shape.dim[k]) break;
    }
    if (k < shape.ndim || a->ndim > shape.ndim)
        return gpul__fail_array(GPUL_ERROR_SHAPE, __func__, "a", a, ", which does not broadcast to the shape %s",
                                gpul__describe_shape(0, shape.ndim, shape.dim));
    if (gpul_size(&result) == 0) result.data = NULL;
    *view = result;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_split(gpul_array *views, int64_t parts, const gpul_array *a, int32_t axis) {
    int64_t start = 0;
    const gpul_status status = gpul__check_view(__func__, "views", views, a, &axis);
    if (status != GPUL_OK) return status;
    if (parts < 1) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "parts = %lld is below 1", (long long)parts);
    for (int64_t part = 1; a->owned && part < parts; ++part)
        if (a == views + part)
            return gpul__fail(GPUL_ERROR_ARGUMENT, __func__,
                              "views[%lld] and a are one array, which owns its memory and would lose it",
                              (long long)part);
    gpul_array whole = *a;
    for (int64_t part = 0; part < parts; ++part) {
        const int64_t n = whole.shape[axis] / parts + (part < whole.shape[axis] % parts);
        gpul__slice(&views[part], &whole, axis, start, start + n, 1);
        start += n;
    }
    return GPUL_OK;
}

/* Sets the memory and the device of an array over foreign memory: `bytes` of it from `name` on, which is a->data. */
static gpul_status gpul__find_memory(const char *function, gpul_array *a, const char *name, int64_t bytes) {
    struct cudaPointerAttributes first = GPUL_ZERO, last = GPUL_ZERO;
    cudaError_t e = cudaPointerGetAttributes(&first, a->data);
    if (e == cudaSuccess) e = cudaPointerGetAttributes(&last, (char *)a->data + bytes - 1); /* fault: wrap-last-byte */
    if (e != cudaSuccess) return gpul__cuda(e, function, "cudaPointerGetAttributes");
    if (first.type == cudaMemoryTypeUnregistered)
        return gpul__fail(GPUL_ERROR_MEMORY, function,
                          "%s = %p is ordinary (pageable) host memory, which a GPU cannot reach (gpul_pin it first, or "
                          "copy it with gpul_to_device), or has been freed",
                          name, a->data);
    if (last.type != first.type || last.device != first.device) /* fault: wrap-ends */
        return gpul__fail(GPUL_ERROR_MEMORY, function,
                          "%s = %p: its memory ends before the %lld bytes that the array spans", name, a->data,
                          (long long)bytes);
    if (first.type == cudaMemoryTypeHost && first.devicePointer != a->data)
        return gpul__fail(GPUL_ERROR_UNSUPPORTED, function,
                          "%s = %p: the device sees this host memory at another address (%p); use gpul_mapped_array",
                          name, a->data, first.devicePointer);
    a->memory = first.type == cudaMemoryTypeDevice    ? GPUL_MEMORY_DEVICE
                : first.type == cudaMemoryTypeManaged ? GPUL_MEMORY_MANAGED
                                                      : GPUL_MEMORY_HOST;
    if (first.device >= 0) a->device = first.device;
    return GPUL_OK;
}

static gpul_status gpul__wrap(const char *function, gpul_array *out, const char *name, void *pointer, gpul_dtype dtype,
                              const gpul_shape *shape, const int64_t *strides) {
    gpul__scope scope;
    gpul_array a;
    gpul_status status = gpul__check_new(function, out, dtype, shape);
    int64_t reach = 0;
    const int64_t size = (int64_t)gpul_dtype_size(dtype);
    if (status != GPUL_OK) return status;
    gpul__array_init(&a, pointer, dtype, shape, GPUL_MEMORY_DEVICE, 0);
    for (int32_t k = 0; k < a.ndim; ++k) {
        int64_t span = 0;
        if (strides != NULL) a.strides[k] = strides[k];
        if (a.strides[k] < 0)
            return gpul__fail(GPUL_ERROR_ARGUMENT, function, "strides[%d] = %lld is negative", (int)k,
                              (long long)a.strides[k]);
        if (a.shape[k] > 1 && (!gpul__multiply(a.shape[k] - 1, a.strides[k], &span) ||
                               !gpul__multiply(span, size, &span) || span > INT64_MAX - size - reach))
            return gpul__fail(GPUL_ERROR_OVERFLOW, function,
                              "strides[%d] = %lld over shape[%d] = %lld does not fit in 63 bits of bytes", (int)k,
                              (long long)a.strides[k], (int)k, (long long)a.shape[k]);
        reach += span;
    }
    if (gpul_size(&a) == 0) a.data = NULL;
    else if (pointer == NULL) return gpul__null(function, name);
    if ((uintptr_t)a.data % (uintptr_t)size != 0)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "%s = %p is not aligned to the %d bytes of %s", name, pointer,
                          (int)size, gpul_dtype_name(dtype));
    status = gpul__begin(&scope, function, NULL, 0, NULL);
    if (status != GPUL_OK) return status;
    a.device = scope.device;
    if (a.data != NULL) status = gpul__find_memory(function, &a, name, reach + size);
    return gpul__deliver(out, &a, &scope, status);
}

GPUL_API gpul_status gpul_wrap(gpul_array *out, void *pointer, gpul_dtype dtype, gpul_shape shape) {
    return gpul__wrap(__func__, out, "pointer", pointer, dtype, &shape, NULL);
}
GPUL_API gpul_status gpul_wrap_strided(gpul_array *out, void *pointer, gpul_dtype dtype, gpul_shape shape,
                                       const int64_t *strides) {
    if (strides == NULL && shape.ndim > 0) return gpul__null(__func__, "strides");
    return gpul__wrap(__func__, out, "pointer", pointer, dtype, &shape, strides);
}

/* dlpack.h's DLManagedTensor, member for member: DLPack fixes its layout */
typedef struct gpul__dlpack {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides: in elements; NULL: dense in row-major order */
    uint64_t byte_offset;     /* of the first element from data */
    void *context;
    void (*deleter)(struct DLManagedTensor *tensor);
} gpul__dlpack;
/* DLDeviceType */
enum { GPUL__DLPACK_CPU = 1, GPUL__DLPACK_CUDA = 2, GPUL__DLPACK_CUDA_HOST = 3, GPUL__DLPACK_CUDA_MANAGED = 13 };
/* DLDataTypeCode of each dtype: int 0, uint 1, float 2, bfloat 4; and bool, which is taken for a uint8 */
#define GPUL__DLPACK_BOOL 6
static const uint8_t gpul__dlpack_codes[8] = {0, 2, 2, 0, 0, 1, 2, 4};

GPUL_API gpul_status gpul_from_dlpack(gpul_array *out, const struct DLManagedTensor *tensor) {
    gpul__dlpack t;
    gpul_shape shape = GPUL_ZERO;
    gpul_dtype dtype = 0;
    if (tensor == NULL) return gpul__null(__func__, "tensor");
    memcpy(&t, tensor, sizeof t);
    const int32_t code = t.code == GPUL__DLPACK_BOOL ? gpul__dlpack_codes[GPUL_U8] : t.code;
    for (int32_t k = GPUL_F32; k <= GPUL_BF16; ++k)
        if (code == gpul__dlpack_codes[k] && t.bits == 8 * gpul_dtype_size(k) && t.lanes == 1) dtype = k;
    if (dtype == 0)
        return gpul__fail(GPUL_ERROR_DTYPE, __func__,
                          "tensor's dtype has code %d, %d bits and %d lanes; float16, float32, float64, bfloat16, "
                          "int32, int64, uint8 and bool are taken",
                          (int)t.code, (int)t.bits, (int)t.lanes);
    if (t.ndim < 0 || t.ndim > GPUL_MAX_DIMS || (t.ndim > 0 && t.shape == NULL))
        return gpul__fail(GPUL_ERROR_SHAPE, __func__, "tensor has %d dimensions%s, not 0 to %d", (int)t.ndim,
                          t.ndim > 0 && t.shape == NULL ? " without a shape" : "", GPUL_MAX_DIMS);
    if (t.device_type != GPUL__DLPACK_CPU && t.device_type != GPUL__DLPACK_CUDA &&
        t.device_type != GPUL__DLPACK_CUDA_HOST && t.device_type != GPUL__DLPACK_CUDA_MANAGED)
        return gpul__fail(GPUL_ERROR_MEMORY, __func__, "tensor has device_type %d, which is no CUDA device and no host",
                          (int)t.device_type);
    shape.ndim = t.ndim;
    for (int32_t k = 0; k < GPUL_MAX_DIMS; ++k) shape.dim[k] = k < t.ndim ? t.shape[k] : 1;
    if (t.data != NULL) t.data = (char *)t.data + t.byte_offset; /* fault: dlpack-offset */
    return gpul__wrap(__func__, out, "tensor->data", t.data, dtype, &shape, t.strides);
}

typedef struct gpul__dlpack_owner {
    gpul__dlpack tensor; /* first: what the deleter is given points to both */
    gpul_array array;
} gpul__dlpack_owner;
static void gpul__dlpack_delete(struct DLManagedTensor *tensor) {
    gpul__dlpack_owner *const owner = (gpul__dlpack_owner *)(void *)tensor;
    if (owner == NULL) return;
    (void)gpul__free("gpul_to_dlpack's deleter", &owner->array, GPUL_OK);
    free(owner);
}
GPUL_API gpul_status gpul_to_dlpack(struct DLManagedTensor **out, gpul_array *a) {
    const gpul_status status = out == NULL ? gpul__null(__func__, "out") : gpul__check_array(__func__, "a", a);
    if (status != GPUL_OK) return status;
    gpul__dlpack_owner *const owner = (gpul__dlpack_owner *)calloc(1, sizeof *owner);
    if (owner == NULL)
        return gpul__fail(GPUL_ERROR_OUT_OF_MEMORY, __func__, "%d bytes of host memory", (int)sizeof *owner);
    owner->array = *a;
    owner->tensor.data = a->data;
    owner->tensor.device_type = a->memory == GPUL_MEMORY_DEVICE    ? GPUL__DLPACK_CUDA
                                : a->memory == GPUL_MEMORY_MANAGED ? GPUL__DLPACK_CUDA_MANAGED
                                                                   : GPUL__DLPACK_CUDA_HOST;
    owner->tensor.device_id = owner->tensor.device_type == GPUL__DLPACK_CUDA_HOST ? 0 : a->device;
    owner->tensor.ndim = a->ndim;
    owner->tensor.code = gpul__dlpack_codes[a->dtype];
    owner->tensor.bits = (uint8_t)(8 * gpul_dtype_size(a->dtype));
    owner->tensor.lanes = 1;
    owner->tensor.shape = owner->array.shape;
    owner->tensor.strides = owner->array.strides;
    owner->tensor.deleter = gpul__dlpack_delete;
    a->owned = 0; /* fault: dlpack-owned-twice */
    *out = (struct DLManagedTensor *)(void *)owner;
    return GPUL_OK;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Comparing and printing
 * ------------------------------------------------------------------------------------------------------------------ */
/* The next index in row-major order; 0 after the last. */
static int32_t gpul__next_index(int32_t ndim, const int64_t *shape, int64_t *index) {
    for (int32_t k = ndim - 1; k >= 0; --k) {
        if (++index[k] < shape[k]) return 1;
        index[k] = 0;
    }
    return 0;
}
static int64_t gpul__offset_of(int32_t ndim, const int64_t *index, const int64_t *strides) {
    int64_t offset = 0;
    for (int32_t k = 0; k < ndim; ++k) offset += index[k] * strides[k];
    return offset;
}

#define GPUL__COMPARED ((int64_t)1 << 17) /* elements of each array that are on the host at a time */
static int32_t gpul__is_finite(double value) { return value - value == 0; }

/* Of arrays that are not empty, block after block in row-major order, each of as many rows as host[0] and host[1]
 * take, or a part of one row */
static gpul_status gpul__find_difference(gpul_difference *result, const gpul_array *a, const gpul_array *b, double rtol,
                                         double atol, char *const *host, gpul__scope *scope, gpul_stream stream) {
    const gpul_array *const both[2] = {a, b};
    const int32_t exact = a->dtype == GPUL_I64 && b->dtype == GPUL_I64;
    int64_t step[GPUL_MAX_DIMS] = {0}, blocks[GPUL_MAX_DIMS], block[GPUL_MAX_DIMS] = {0}, room = GPUL__COMPARED;
    int64_t from[GPUL_MAX_DIMS] = {0}, at[GPUL_MAX_DIMS] = {0}, strides[2][GPUL_MAX_DIMS];
    double worst = 0; /* the largest difference so far */
    gpul_status status = GPUL_OK;
    for (int32_t k = a->ndim - 1; k >= 0; --k) {
        step[k] = a->shape[k] < room ? a->shape[k] : room;
        blocks[k] = gpul_ceil_div(a->shape[k], step[k]);
        room = step[k] < a->shape[k] ? 1 : room / step[k];
    }
    do {
        gpul_array part[2];
        for (int32_t i = 0; i < 2 && status == GPUL_OK; ++i) {
            part[i] = *both[i];
            for (int32_t k = 0; k < a->ndim; ++k) {
                const int64_t start = block[k] * step[k], left = a->shape[k] - start;
                from[k] = start;
                gpul__slice(&part[i], &part[i], k, start, start + (left < step[k] ? left : step[k]), 1);
            }
            status = gpul__copy_host(scope, &part[i], NULL, host[i], stream);
            gpul__host_strides(&part[i], strides[i]);
        }
        if (status == GPUL_OK)
            status = gpul__cuda(cudaStreamSynchronize(stream), scope->function, "cudaStreamSynchronize");
        if (status != GPUL_OK) return status;
        do {
            int64_t whole[2] = {0, 0};
            double v[2], distance = 0; /* infinities are equal, too */
            for (int32_t i = 0; i < 2; ++i) {
                const int64_t size = (int64_t)gpul_dtype_size(both[i]->dtype);
                v[i] = gpul__element_value(host[i] + gpul__offset_of(a->ndim, at, strides[i]) * size, both[i]->dtype,
                                           &whole[i]);
            }
            if (exact) {
                const uint64_t one = (uint64_t)whole[0], two = (uint64_t)whole[1];
                distance = (double)(whole[0] > whole[1] ? one - two : two - one);
            } else if (v[0] != v[1]) distance = v[0] > v[1] ? v[0] - v[1] : v[1] - v[0];
            if (distance == 0 || (gpul__is_finite(v[1]) && distance <= atol + rtol * (v[1] < 0 ? -v[1] : v[1])))
                continue;
            const int32_t farther = distance != distance || distance > worst;
            if (result->count == 0 || (farther && worst == worst)) { /* fault: compare-worst */
                worst = distance;
                for (int32_t k = 0; k < a->ndim; ++k) result->worst[k] = from[k] + at[k]; /* fault: compare-origin */
                result->worst_a = v[0];
                result->worst_b = v[1];
            }
            if (result->count++ > 0) continue;
            memcpy(result->first, result->worst, sizeof result->first);
            result->first_a = v[0];
            result->first_b = v[1];
        } while (gpul__next_index(a->ndim, part[0].shape, at));
    } while (gpul__next_index(a->ndim, blocks, block));
    return GPUL_OK;
}

GPUL_API gpul_status gpul_allclose(gpul_difference *result, const gpul_array *a, const gpul_array *b, double rtol,
                                   double atol, gpul_stream stream) {
    const gpul_array *const both[2] = {a, b};
    const size_t n = (size_t)(gpul_size(a) < GPUL__COMPARED ? gpul_size(a) : GPUL__COMPARED);
    gpul__scope scope;
    char *buffer = NULL; /* pinned memory would have to wait for every device */
    gpul_difference found = GPUL_ZERO;
    gpul_status status = result == NULL ? gpul__null(__func__, "result") : gpul__check_array(__func__, "a", a);
    if (status == GPUL_OK) status = gpul__check_array(__func__, "b", b);
    if (status == GPUL_OK) status = gpul__check_same_shape(__func__, "a", a, "b", b);
    if (status != GPUL_OK) return status;
    if (!(rtol >= 0)) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "rtol = %g is negative or NaN", rtol);
    if (!(atol >= 0)) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "atol = %g is negative or NaN", atol);
    status = gpul__begin(&scope, __func__, both, 2, stream);
    if (status != GPUL_OK) return status;
    status = gpul__check_capture(__func__, NULL, stream);
    if (status == GPUL_OK && n > 0) buffer = (char *)malloc(16 * n);
    if (buffer != NULL) {
        char *const host[2] = {buffer, buffer + 8 * n};
        status = gpul__find_difference(&found, a, b, rtol, atol, host, &scope, stream);
    } else if (status == GPUL_OK && n > 0)
        status = gpul__fail(GPUL_ERROR_OUT_OF_MEMORY, __func__, "%d bytes of host memory", (int)(16 * n));
    free(buffer);
    status = gpul__end(&scope, status);
    if (status == GPUL_OK) *result = found;
    return status;
}

/* What print shows: of an axis all, or, of an array of more than 1000 elements, three at each end */
#define GPUL__ENDS ((int64_t)3)
#define GPUL__SHOWN 1296 /* (2 * 3)^4 */
typedef struct gpul__printer {
    gpul__text out;
    const gpul_array *a;
    int32_t scientific;
    int32_t left, right;                   /* characters before the point, and after it (digits alone) */
    int32_t exponent, rest;                /* digits of an exponent; characters from the point on */
    int64_t shown[GPUL_MAX_DIMS], n, next; /* the shape of `elements`, their number, and which is the next to print */
    uint64_t elements[GPUL__SHOWN];        /* dense and row-major, one in the low bytes of each */
} gpul__printer;

/* value in the arithmetic of the dtype */
static double gpul__rounded(gpul_dtype dtype, double value) {
    uint64_t bits = 0;
    int64_t whole = 0;
    (void)gpul__element_bits("", "", &bits, dtype, value);
    return gpul__element_value(&bits, dtype, &whole);
}

/* A finite number: digits * 10^(power - count + 1); `digits` has `count` decimal digits and no zero at the end. */
typedef struct gpul__decimal {
    int64_t digits;
    int32_t count, power, negative;
    int32_t before, behind; /* printed: digits before and behind the point; the latter may be negative */
} gpul__decimal;
/* Is it this number? */
static int32_t gpul__gives(const gpul__decimal *d, gpul_dtype dtype, double value) {
    char text[48];
    (void)snprintf(text, sizeof text, "%s%llde%d", d->negative ? "-" : "", (long long)d->digits,
                   (int)(d->power - d->count + 1));
    return gpul__rounded(dtype, strtod(text, NULL)) == value;
}
/* Either rounded to 0 < `count` < 18 digits, or (0) the fewest that give the same number of this dtype. Above a power
 * of 2 numbers lie twice as far apart as below it: where the nearest decimal lies below and is another number, the next
 * one may be this number, and is taken, as NumPy does. (It has as many digits: no power of 2 is that close to one of
 * 10.) */
static gpul__decimal gpul__to_decimal(double value, gpul_dtype dtype, int32_t count) {
    char text[48];
    gpul__decimal d = GPUL_ZERO;
    int32_t same, k;
    for (d.count = count > 0 ? count : 1;; ++d.count) {
        (void)snprintf(text, sizeof text, "%.*e", (int)(d.count - 1), value);
        d.negative = text[0] == '-';
        d.digits = 0;
        for (k = d.negative; text[k] != 'e'; ++k) /* the point is the locale's */
            if (text[k] >= '0' && text[k] <= '9') d.digits = 10 * d.digits + (text[k] - '0');
        d.power = (int32_t)strtol(text + k + 1, NULL, 10);
        same = gpul__gives(&d, dtype, value);
        if (!same) {
            ++d.digits;
            same = gpul__gives(&d, dtype, value); /* fault: print-farther */
            if (!same) --d.digits;
        }
        if (same || count > 0 || d.count == 17) break;
    }
    for (; d.count > 1 && d.digits % 10 == 0; --d.count) d.digits /= 10;
    return d;
}

/* As it is printed: `count` digits of a mantissa; or (0) all of a number, and in an array at most 8 behind the point */
static gpul__decimal gpul__printed(const gpul__printer *p, double value, int32_t count) {
    gpul__decimal d = gpul__to_decimal(value, p->a->dtype, count);
    const int32_t most = 9 + (p->scientific ? 0 : d.power);
    if (p->a->ndim > 0 && d.count > most) d = gpul__to_decimal(value, p->a->dtype, most);
    d.before = p->scientific || d.power < 0 ? 1 : d.power + 1;
    d.behind = d.count - 1 - (p->scientific ? 0 : d.power);
    return d;
}

static int32_t gpul__is_integer(gpul_dtype dtype) { return dtype == GPUL_I32 || dtype == GPUL_I64 || dtype == GPUL_U8; }
static int32_t gpul__is_floating(gpul_dtype dtype) { return gpul_dtype_size(dtype) != 0 && !gpul__is_integer(dtype); }

/* One element, in the room that all have */
static int32_t gpul__print_element(const gpul__printer *p, char text[64], uint64_t element) {
    const gpul_dtype dtype = p->a->dtype;
    const int32_t number = p->a->ndim == 0;
    int64_t whole = 0, unit = 1;
    const double value = gpul__element_value(&element, dtype, &whole);
    const char *const word = value != value ? "nan" : value < 0 ? "-inf" : "inf";
    if (gpul__is_integer(dtype))
        return (int32_t)snprintf(text, 64, "%*lld", (int)p->left,
                                 dtype == GPUL_I64 ? (long long)whole : (long long)value);
    if (!gpul__is_finite(value)) return (int32_t)snprintf(text, 64, "%*s", (int)(p->left + p->rest), word);
    gpul__decimal d = gpul__printed(p, value, p->scientific ? p->right + 1 : 0);
    for (; d.behind < (p->scientific || number ? p->right : 0); ++d.behind) d.digits *= 10;
    for (int32_t k = 0; k < d.behind && k < 18; ++k) unit *= 10;
    int32_t at = (int32_t)snprintf(text, 64, "%*s%lld%s", (int)(p->left - d.before), d.negative ? "-" : "",
                                   (long long)(d.digits / unit), number && p->right == 0 ? "" : ".");
    if (d.behind > 0)
        at += (int32_t)snprintf(text + at, (size_t)(64 - at), "%0*lld", (int)d.behind, (long long)(d.digits % unit));
    if (p->scientific)
        return at + (int32_t)snprintf(text + at, (size_t)(64 - at), "e%+0*d", (int)p->exponent + 1, (int)d.power);
    return at + (int32_t)snprintf(text + at, (size_t)(64 - at), "%*s", (int)(p->right - d.behind), "");
}

/* numpy/_core/arrayprint.py: FloatingFormat.fillFormat and IntegerFormat. An array of no dimensions is a number, which
 * has all its digits, and one after the point at least where there is no exponent. */
static void gpul__print_format(gpul__printer *p) {
    const gpul_dtype dtype = p->a->dtype;
    /* from here on numbers have exponents: 10 to the power of the digits that the dtype holds, 8 at most */
    double ceiling = dtype == GPUL_F64 ? 1e8 : dtype == GPUL_F32 ? 1e6 : dtype == GPUL_F16 ? 1e3 : 1e2;
    double least = 0, most = 0;
    int32_t word = 0; /* characters of the longest of nan, inf and -inf */
    int64_t whole = 0;
    char text[64];
    for (int64_t i = 0; i < p->n; ++i) {
        const double value = gpul__element_value(&p->elements[i], dtype, &whole);
        const double magnitude = value < 0 ? -value : value;
        if (gpul__is_integer(dtype)) p->left = gpul__print_element(p, text, p->elements[i]); /* the widest so far */
        else if (!gpul__is_finite(value)) {
            if (word < 4) word = value < 0 ? 4 : 3;
        } else if (magnitude > 0) {
            if (magnitude > most) most = magnitude;
            if (least == 0 || magnitude < least) least = magnitude;
        }
    }
    if (gpul__is_integer(dtype)) return;
    if (p->a->ndim == 0) {
        if (dtype == GPUL_F64) ceiling = 1e16;
        p->scientific = most > 0 && (most < 1e-4 || most >= ceiling);
        p->right = !p->scientific;
    } else
        p->scientific = most >= ceiling ||
                        (most > 0 && (least < gpul__rounded(dtype, 1e-4) || gpul__rounded(dtype, most / least) > 1000));
    p->exponent = 2;
    for (int64_t i = 0; i < p->n; ++i) {
        const double value = gpul__element_value(&p->elements[i], dtype, &whole);
        if (!gpul__is_finite(value)) continue;
        const gpul__decimal d = gpul__printed(p, value, 0);
        if (d.negative + d.before > p->left) p->left = d.negative + d.before;
        if (d.behind > p->right) p->right = d.behind;
        if (d.power > 99 || d.power < -99) p->exponent = 3;
    }
    p->rest = 1 + p->right + (p->scientific ? p->exponent + 2 : 0);
    if (word - p->rest > p->left) p->left = word - p->rest;
}

/* Axis `axis` of the part that begins at elements[p->next]; numpy/_core/arrayprint.py: _formatArray, in 75 columns. */
static void gpul__print_axis(gpul__printer *p, int32_t axis) {
    const int32_t last = axis == p->a->ndim - 1, indent = axis + 1, width = 75 - axis - 1;
    int32_t length = indent, blanks = 0; /* of the line; at its end, not yet written */
    if (axis >= GPUL_MAX_DIMS) return;   /* never: but gcc -O3 believes it */
    gpul__append(&p->out, "[");
    for (int64_t i = 0; i < p->shown[axis] + (p->shown[axis] < p->a->shape[axis]); ++i) {
        const int32_t dots = i == GPUL__ENDS && p->shown[axis] < p->a->shape[axis];
        char word[64] = "...";
        int32_t size = 3, text;
        if (!last) {
            if (i > 0) gpul__append(&p->out, "%.*s%*s", (int)(p->a->ndim - indent), "\n\n\n", (int)indent, "");
            if (dots) gpul__append(&p->out, "...");
            else gpul__print_axis(p, axis + 1);
            continue;
        }
        if (!dots) size = gpul__print_element(p, word, p->elements[p->next++]);
        if (length + size > width && length > indent) {
            gpul__append(&p->out, "\n");
            length = blanks = indent;
        }
        for (text = size; word[text - 1] == ' ';) --text;
        gpul__append(&p->out, "%*s%.*s", (int)blanks, "", (int)text, word);
        blanks = size - text + 1;
        length += size + 1;
    }
    if (last) gpul__append(&p->out, "%*s", (int)(blanks - 1), "");
    gpul__append(&p->out, "]");
}

/* The shown elements: a copy of each corner */
static gpul_status gpul__print_fetch(gpul__printer *p, gpul__scope *scope, gpul_stream stream) {
    const gpul_array *const a = p->a;
    const size_t size = gpul_dtype_size(a->dtype);
    char host[GPUL__SHOWN * 8];
    int64_t dense[GPUL_MAX_DIMS], ends[GPUL_MAX_DIMS], end[GPUL_MAX_DIMS] = {0};
    gpul__dense_strides(a->ndim, p->shown, GPUL_ORDER_C, dense);
    for (int32_t k = 0; k < a->ndim; ++k) ends[k] = p->shown[k] < a->shape[k] ? 2 : 1;
    do {
        gpul_array part = *a;
        int64_t from = 0, at[GPUL_MAX_DIMS] = {0}, strides[GPUL_MAX_DIMS];
        for (int32_t k = 0; k < a->ndim; ++k) {
            const int64_t start = end[k] * (a->shape[k] - GPUL__ENDS);
            if (ends[k] == 2) gpul__slice(&part, &part, k, start, start + GPUL__ENDS, 1);
            from += end[k] * GPUL__ENDS * dense[k]; /* fault: print-corner */
        }
        gpul_status status = gpul__copy_host(scope, &part, NULL, host, stream);
        if (status == GPUL_OK)
            status = gpul__cuda(cudaStreamSynchronize(stream), scope->function, "cudaStreamSynchronize");
        if (status != GPUL_OK) return status;
        gpul__host_strides(&part, strides);
        do
            memcpy(&p->elements[from + gpul__offset_of(a->ndim, at, dense)],
                   host + gpul__offset_of(a->ndim, at, strides) * (int64_t)size, size);
        while (gpul__next_index(a->ndim, part.shape, at));
    } while (gpul__next_index(a->ndim, ends, end));
    return GPUL_OK;
}

GPUL_API gpul_status gpul_print(size_t *length, char *text, size_t size, const gpul_array *a, gpul_stream stream) {
    gpul__printer p = GPUL_ZERO;
    gpul__scope scope;
    char word[64];
    gpul_status status = text == NULL && size > 0 ? gpul__null(__func__, "text") : gpul__check_array(__func__, "a", a);
    if (status == GPUL_OK) status = gpul__begin(&scope, __func__, &a, 1, stream);
    if (status != GPUL_OK) return status;
    p.out.text = text;
    p.out.size = size;
    p.a = a;
    p.n = 1;
    for (int32_t k = 0; k < a->ndim; ++k) {
        p.shown[k] = a->shape[k];
        if (gpul_size(a) > 1000 && a->shape[k] > 2 * GPUL__ENDS) p.shown[k] = 2 * GPUL__ENDS;
        p.n *= p.shown[k];
    }
    status = gpul__check_capture(__func__, NULL, stream);
    if (status == GPUL_OK && p.n > 0) status = gpul__print_fetch(&p, &scope, stream);
    status = gpul__end(&scope, status);
    if (status != GPUL_OK) return status;
    gpul__print_format(&p);
    if (p.n == 0) gpul__append(&p.out, "[]");
    else if (a->ndim > 0) gpul__print_axis(&p, 0);
    else {
        (void)gpul__print_element(&p, word, p.elements[0]);
        gpul__append(&p.out, "%s", word);
    }
    if (length != NULL) *length = p.out.length;
    return GPUL_OK;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Streams and events
 * ------------------------------------------------------------------------------------------------------------------ */
/* The checks before a call of CUDA's with a stream: it was not ended, and no error of somebody else's is pending. */
static gpul_status gpul__ready(const char *function, gpul_stream stream) {
    const gpul_status status = gpul__check_stream(function, "stream", stream);
    return status != GPUL_OK ? status : gpul__pending(function);
}

GPUL_API gpul_status gpul_stream_create(gpul_stream *out, uint32_t flags) {
    gpul_stream stream = NULL;
    if (out == NULL) return gpul__null(__func__, "out");
    if (flags != GPUL_STREAM_DEFAULT && flags != GPUL_STREAM_NON_BLOCKING) /* which are CUDA's numbers */
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "flags = %u is neither GPUL_STREAM_DEFAULT nor _NON_BLOCKING",
                          (unsigned)flags);
    gpul_status status = gpul__pending(__func__);
    if (status == GPUL_OK)
        status = gpul__cuda(cudaStreamCreateWithFlags(&stream, flags), __func__, "cudaStreamCreateWithFlags");
    if (status != GPUL_OK) return status;
    gpul__stream_enter(stream);
    *out = stream;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_stream_destroy(gpul_stream *stream) {
    const char *const asked = "cudaStreamGetId or cudaStreamQuery";
    gpul_stream old = stream == NULL ? NULL : *stream, other;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    int64_t idle = 0, other_idle = 0;
    if (stream == NULL) return gpul__null(__func__, "stream");
    *stream = NULL;
    if (old == NULL) return GPUL_OK;
    gpul_status status = gpul__check_stream(__func__, "stream", old);
    if (status != GPUL_OK) return status;
    status = gpul__pending(__func__);
    /* of a captured stream CUDA answers nothing else, and destroying it ends the capture */
    cudaError_t e = cudaStreamIsCapturing(old, &capture);
    status = gpul__finish(status, e, __func__, "cudaStreamIsCapturing");
    const int32_t keeps = e == cudaSuccess && capture == cudaStreamCaptureStatusNone;
    /* not with another's error pending, which a query would replace */
    if (keeps && status == GPUL_OK) status = gpul__finish(status, gpul__workspace_idle(old, &idle), __func__, asked);
    (void)gpul__stream_known(old);
    other = gpul__stream_leave(old, keeps); /* before CUDA can give the handle to another */
    /* a stream that was busy when it ended has done its work since */
    if (other != NULL && other != old && status == GPUL_OK)
        status = gpul__finish(status, gpul__workspace_idle(other, &other_idle), __func__, asked);
    e = other == NULL ? cudaSuccess : cudaStreamDestroy(other);
    status = gpul__finish(status, e, __func__, "cudaStreamDestroy");
    if (e == cudaSuccess && idle != 0) (void)gpul__workspaces_pass(idle, 0);
    if (e == cudaSuccess && other_idle != 0) (void)gpul__workspaces_pass(other_idle, 0);
    return status;
}

GPUL_API gpul_status gpul_stream_synchronize(gpul_stream stream) {
    const gpul_status status = gpul__ready(__func__, stream);
    return status != GPUL_OK ? status : gpul__cuda(cudaStreamSynchronize(stream), __func__, "cudaStreamSynchronize");
}

/* Asks an event, or else a stream. "Not ready" is an answer and no error; if it was pending before, it stays. */
static gpul_status gpul__query(const char *function, int32_t *done, gpul_stream stream, gpul_event event) {
    const cudaError_t before = cudaPeekAtLastError();
    const gpul_status status = done == NULL ? gpul__null(function, "done") : gpul__ready(function, stream);
    if (status != GPUL_OK) return status;
    const cudaError_t e = event == NULL ? cudaStreamQuery(stream) : cudaEventQuery(event);
    if (e != cudaSuccess && e != cudaErrorNotReady)
        return gpul__cuda(e, function, event == NULL ? "cudaStreamQuery" : "cudaEventQuery");
    if (e != before) gpul__clear_cuda(e);
    *done = e == cudaSuccess;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_stream_query(int32_t *done, gpul_stream stream) {
    return gpul__query(__func__, done, stream, NULL);
}

#if CUDART_VERSION >= 12080
/* The stream's device; as it was for the NULL stream, in a capture, where the question is not allowed, and for drivers
 * that do not know it. */
static gpul_status gpul__device_of_stream(const char *function, gpul_stream stream, int *device) {
    int32_t captured = 1;
    gpul_status status = stream == NULL ? GPUL_OK : gpul__is_captured(function, stream, &captured);
    if (status != GPUL_OK || captured != 0) return status; /* fault: capture-asked-for-device */
    const cudaError_t e = cudaStreamGetDevice(stream, device);
    if (e != cudaErrorCallRequiresNewerDriver) return gpul__cuda(e, function, "cudaStreamGetDevice");
    gpul__clear_cuda(e); /* a driver of CUDA 12.0 to 12.7, which does not tell */ /* fault: wait-older-driver */
    return GPUL_OK;
}
#endif

GPUL_API gpul_status gpul_stream_wait(gpul_stream waiter, gpul_stream other) {
    gpul__scope scope;
    gpul_status status = gpul__check_stream(__func__, "waiter", waiter);
    if (status == GPUL_OK) status = gpul__check_stream(__func__, "other", other);
    if (status == GPUL_OK) status = gpul__begin(&scope, __func__, NULL, 0, NULL);
    if (status != GPUL_OK) return status;
    int device = scope.device, waits = scope.device;
#if CUDART_VERSION >= 12080
    /* events and streams are of one device: before CUDA 12.8, and in a capture, both must be of the current one */
    status = gpul__device_of_stream(__func__, other, &device);
    if (status == GPUL_OK) status = gpul__device_of_stream(__func__, waiter, &waits);
#endif
    if (status == GPUL_OK) {
        status = gpul__order(__func__, waiter, waits, other, device);
        scope.moved = device != scope.device || waits != scope.device;
    }
    return gpul__end(&scope, status);
}

GPUL_API gpul_status gpul_device_synchronize(void) {
    const gpul_status status = gpul__pending(__func__);
    return status != GPUL_OK ? status : gpul__cuda(cudaDeviceSynchronize(), __func__, "cudaDeviceSynchronize");
}

static gpul_status gpul__new_event(const char *function, gpul_event *out) {
    gpul_event event = NULL;
    const gpul_status status =
        gpul__cuda(cudaEventCreateWithFlags(&event, cudaEventDefault), function, "cudaEventCreateWithFlags");
    if (status == GPUL_OK) *out = event;
    return status;
}

GPUL_API gpul_status gpul_event_create(gpul_event *out) {
    const gpul_status status = out == NULL ? gpul__null(__func__, "out") : gpul__pending(__func__);
    return status != GPUL_OK ? status : gpul__new_event(__func__, out);
}

/* On the way out of a function that has a status already */
static gpul_status gpul__drop_event(const char *function, gpul_event event, gpul_status status) {
    if (event == NULL) return status;
    if (status == GPUL_OK) status = gpul__pending(function);
    return gpul__finish(status, cudaEventDestroy(event), function, "cudaEventDestroy");
}

GPUL_API gpul_status gpul_event_destroy(gpul_event *event) {
    const gpul_event old = event == NULL ? NULL : *event;
    if (event == NULL) return gpul__null(__func__, "event");
    *event = NULL;
    return gpul__drop_event(__func__, old, GPUL_OK);
}

GPUL_API gpul_status gpul_event_record(gpul_event event, gpul_stream stream) {
    const gpul_status status = event == NULL ? gpul__null(__func__, "event") : gpul__ready(__func__, stream);
    return status != GPUL_OK ? status : gpul__cuda(cudaEventRecord(event, stream), __func__, "cudaEventRecord");
}

GPUL_API gpul_status gpul_event_synchronize(gpul_event event) {
    const gpul_status status = event == NULL ? gpul__null(__func__, "event") : gpul__pending(__func__);
    return status != GPUL_OK ? status : gpul__cuda(cudaEventSynchronize(event), __func__, "cudaEventSynchronize");
}

GPUL_API gpul_status gpul_event_query(int32_t *done, gpul_event event) {
    return event == NULL ? gpul__null(__func__, done == NULL ? "done" : "event")
                         : gpul__query(__func__, done, NULL, event);
}

static gpul_status gpul__elapsed(const char *function, double *seconds, gpul_event start, gpul_event stop) {
    float milliseconds = 0;
    cudaError_t e, own[2];
    gpul_status status = gpul__cuda(cudaEventSynchronize(stop), function, "cudaEventSynchronize");
    if (status == GPUL_OK) /* start may lie in another stream */
        status = gpul__cuda(cudaEventSynchronize(start), function, "cudaEventSynchronize");
    if (status != GPUL_OK) return status;
    e = cudaEventElapsedTime(&milliseconds, start, stop);
    if (e == cudaErrorInvalidResourceHandle) { /* which of the two? */
        gpul__clear_cuda(e);
        own[0] = cudaEventElapsedTime(&milliseconds, start, start);
        gpul__clear_cuda(own[0]);
        own[1] = cudaEventElapsedTime(&milliseconds, stop, stop);
        gpul__clear_cuda(own[1]);
        if (own[0] == e || own[1] == e)
            return gpul__fail_with(GPUL_ERROR_CUDA, function, e, -1, 0, 0,
                                   "%s never recorded (gpul_event_record), or destroyed, or made without times",
                                   own[0] != e   ? "stop was"
                                   : own[1] != e ? "start was"
                                                 : "start and stop were");
        return gpul__fail_with(GPUL_ERROR_CUDA, function, e, -1, 0, 0, "start and stop belong to two devices");
    }
    status = gpul__cuda(e, function, "cudaEventElapsedTime");
    if (status == GPUL_OK) *seconds = (double)milliseconds * 1e-3;
    return status;
}

GPUL_API gpul_status gpul_event_seconds(double *seconds, gpul_event start, gpul_event stop) {
    const char *const missing = seconds == NULL ? "seconds" : start == NULL ? "start" : stop == NULL ? "stop" : NULL;
    const gpul_status status = missing != NULL ? gpul__null(__func__, missing) : gpul__pending(__func__);
    return status != GPUL_OK ? status : gpul__elapsed(__func__, seconds, start, stop);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Timers
 * ------------------------------------------------------------------------------------------------------------------ */
#if !defined(_WIN32) && !defined(CLOCK_MONOTONIC)
/* gcc -std=c99 hides POSIX unless a macro asked for it before the first system header, which is not ours to do. */
typedef struct gpul__timespec {
    long seconds, nanoseconds;
} gpul__timespec;
extern int clock_gettime(int clock, gpul__timespec *now);
#endif

GPUL_API double gpul_host_seconds(void) {
#if defined(_WIN32)
    LARGE_INTEGER now, frequency;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    return (double)now.QuadPart / (double)frequency.QuadPart;
#elif defined(CLOCK_MONOTONIC)
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
#else
    gpul__timespec now;
    if (clock_gettime(1 /* Linux's CLOCK_MONOTONIC */, &now) != 0) return 0;
    return (double)now.seconds + (double)now.nanoseconds * 1e-9;
#endif
}

/* The checks before an event of a timer is recorded: of a graph's events CUDA tells no time. */
static gpul_status gpul__timer_ready(const char *function, gpul_stream stream) {
    const gpul_status status = gpul__ready(function, stream);
    return status != GPUL_OK ? status : gpul__check_capture(function, NULL, stream);
}

/* Adds the oldest unread region to the total. */
static gpul_status gpul__timer_read(const char *function, gpul_timer *timer) {
    const int32_t slot = (timer->next - timer->pending + GPUL_TIMER_REGIONS) % GPUL_TIMER_REGIONS;
    double seconds = 0;
    const gpul_status status = gpul__elapsed(function, &seconds, timer->from[slot], timer->to[slot]);
    if (status != GPUL_OK) return status;
    timer->total += seconds;
    timer->pending -= 1;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_timer_start(gpul_timer *timer, gpul_stream stream) {
    gpul_status status = GPUL_OK;
    if (timer == NULL) return gpul__null(__func__, "timer");
    if (timer->running) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "timer is running already");
    if (timer->host) timer->host_from = gpul_host_seconds();
    else {
        status = gpul__timer_ready(__func__, stream);
        if (status == GPUL_OK && timer->pending == GPUL_TIMER_REGIONS) status = gpul__timer_read(__func__, timer);
        for (int32_t k = 0; k < 2 * GPUL_TIMER_REGIONS && status == GPUL_OK;
             ++k) { /* at the first start: all of one device */
            gpul_event *const event = k < GPUL_TIMER_REGIONS ? &timer->from[k] : &timer->to[k - GPUL_TIMER_REGIONS];
            if (*event == NULL) status = gpul__new_event(__func__, event);
        }
        if (status == GPUL_OK)
            status = gpul__cuda(cudaEventRecord(timer->from[timer->next], stream), __func__, "cudaEventRecord");
    }
    if (status == GPUL_OK) timer->running = 1;
    return status;
}

GPUL_API gpul_status gpul_timer_stop(gpul_timer *timer, gpul_stream stream) {
    if (timer == NULL) return gpul__null(__func__, "timer");
    if (!timer->running) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "timer is not running");
    if (timer->host) timer->total += gpul_host_seconds() - timer->host_from;
    else {
        gpul_status status = gpul__timer_ready(__func__, stream);
        if (status == GPUL_OK)
            status = gpul__cuda(cudaEventRecord(timer->to[timer->next], stream), __func__, "cudaEventRecord");
        if (status != GPUL_OK) return status;
        timer->next = (timer->next + 1) % GPUL_TIMER_REGIONS;
        timer->pending += 1;
    }
    timer->regions += 1;
    timer->running = 0;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_timer_seconds(double *seconds, gpul_timer *timer) {
    gpul_status status = GPUL_OK;
    if (seconds == NULL) return gpul__null(__func__, "seconds");
    if (timer == NULL) return gpul__null(__func__, "timer");
    if (timer->lost != GPUL_OK)
        return gpul__fail(timer->lost, __func__,
                          "starting or stopping a GPUL_TIMED region returned %s: its time is lost",
                          gpul_status_name(timer->lost));
    if (timer->running) /* fault: timer-running */
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__,
                          "timer is running: its last region has no end yet; gpul_timer_stop it first");
    if (timer->pending > 0) status = gpul__pending(__func__);
    while (status == GPUL_OK && timer->pending > 0) status = gpul__timer_read(__func__, timer);
    if (status == GPUL_OK) *seconds = timer->total;
    return status;
}

/* A region that is running goes on and will be the first of the new count. */
GPUL_API gpul_status gpul_timer_reset(gpul_timer *timer) {
    if (timer == NULL) return gpul__null(__func__, "timer");
    timer->total = 0;
    timer->regions = 0;
    timer->pending = 0;
    timer->lost = GPUL_OK;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_timer_free(gpul_timer *timer) {
    gpul_status status = GPUL_OK;
    if (timer == NULL) return GPUL_OK;
    const gpul_timer old = *timer;
    memset(timer, 0, sizeof *timer);
    for (int32_t k = 0; k < GPUL_TIMER_REGIONS; ++k) {
        status = gpul__drop_event(__func__, old.from[k], status);
        status = gpul__drop_event(__func__, old.to[k], status);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Graphs
 * ------------------------------------------------------------------------------------------------------------------ */
/* Sets *captured where the stream is being captured, after the checks of gpul__ready. The NULL stream never is. */
static gpul_status gpul__graph_ready(const char *function, gpul_stream stream, int32_t *captured) {
    const gpul_status status = gpul__ready(function, stream);
    return status != GPUL_OK || stream == NULL ? status : gpul__is_captured(function, stream, captured);
}

GPUL_API gpul_status gpul_graph_begin(gpul_stream stream) {
    int32_t captured = 0;
    const gpul_status status = gpul__graph_ready(__func__, stream, &captured);
    if (status != GPUL_OK) return status;
    if (stream == NULL || captured)
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "stream is %s",
                          captured ? "being captured already; gpul_graph_end ends a capture"
                                   : "NULL, the default stream, which CUDA cannot capture: gpul_stream_create one");
    /* relaxed mode would let cudaMalloc and cudaFree pass, which happen once and not when the graph runs */
    return gpul__cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), __func__,
                      "cudaStreamBeginCapture");
}

GPUL_API gpul_status gpul_graph_end(gpul_graph *out, gpul_stream stream) {
    cudaGraph_t work = NULL;
    gpul_graph graph = NULL;
    int32_t captured = 0;
    gpul_status status = out == NULL ? gpul__null(__func__, "out") : gpul__graph_ready(__func__, stream, &captured);
    if (status != GPUL_OK) return status;
    if (!captured)
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "stream %s; gpul_graph_begin begins a capture",
                          stream == NULL ? "is NULL, the default stream" : "is not being captured");
    const cudaError_t e = cudaStreamEndCapture(stream, &work);
    if (e != cudaSuccess)
        return gpul__cuda(e, __func__,
                          e == cudaErrorStreamCaptureInvalidated
                              ? "something since gpul_graph_begin cannot be captured: cudaStreamEndCapture"
                              : "cudaStreamEndCapture");
    /* with the flag, what the graph allocates and does not free is freed by its next launch */
    status = gpul__cuda(cudaGraphInstantiateWithFlags(&graph, work, cudaGraphInstantiateFlagAutoFreeOnLaunch), __func__,
                        "cudaGraphInstantiateWithFlags");
    status = gpul__finish(status, cudaGraphDestroy(work), __func__, "cudaGraphDestroy"); /* fault: graph-leaked */
    if (status == GPUL_OK) *out = graph;
    else if (graph != NULL) gpul__clear_cuda(cudaGraphExecDestroy(graph));
    return status;
}

GPUL_API gpul_status gpul_graph_launch(gpul_graph graph, gpul_stream stream) {
    const gpul_status status = graph == NULL ? gpul__null(__func__, "graph") : gpul__ready(__func__, stream);
    return status != GPUL_OK ? status
                             : gpul__cuda(cudaGraphLaunch(graph, stream), /* fault: graph-swallowed */
                                          __func__, "cudaGraphLaunch");
}

GPUL_API gpul_status gpul_graph_free(gpul_graph *graph) {
    const gpul_graph old = graph == NULL ? NULL : *graph;
    if (graph == NULL) return gpul__null(__func__, "graph");
    *graph = NULL;
    if (old == NULL) return GPUL_OK;
    const gpul_status status = gpul__pending(__func__);
    return gpul__finish(status, cudaGraphExecDestroy(old), __func__, "cudaGraphExecDestroy");
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Geometry, devices, report
 * ------------------------------------------------------------------------------------------------------------------ */
/* A kernel's attributes; and, where its blocks need more shared memory than the 48 KB that all kernels may have, leave
 * for all that the current device has, which is a limit and takes none. What the device lacks stays for the launch to
 * refuse. */
static gpul_status gpul__kernel(const char *function, struct cudaFuncAttributes *attributes, const void *kernel,
                                size_t shared_bytes) {
    const size_t unasked = 49152;
    int32_t most = 0;
    int device = 0;
    gpul_status status = gpul__cuda(cudaFuncGetAttributes(attributes, kernel), function, "cudaFuncGetAttributes");
    cudaError_t e;
    if (status != GPUL_OK) return status;
    if (shared_bytes <= unasked && shared_bytes + attributes->sharedSizeBytes <= unasked) return GPUL_OK;
    status = gpul__cuda(cudaGetDevice(&device), function, "cudaGetDevice");
    if (status == GPUL_OK) status = gpul__attribute(function, &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    most -= (int32_t)attributes->sharedSizeBytes;
    if (status != GPUL_OK || most < 0 || shared_bytes > (size_t)most || attributes->maxDynamicSharedSizeBytes == most)
        return status;
    e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most); /* fault: launch-shared */
    return gpul__cuda(e, function, "cudaFuncSetAttribute");
}

/* Blocks that a multiprocessor of the current device holds at a time */
static gpul_status gpul__resident(const char *function, int32_t *blocks, const void *kernel, int32_t threads,
                                  size_t shared_bytes) {
    int number = 0;
    const cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number, kernel, (int)threads, shared_bytes);
    *blocks = (int32_t)number;
    return gpul__cuda(e, function, "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
}
static gpul_status gpul__no_room(const char *function, size_t shared_bytes) {
    return gpul__fail(GPUL_ERROR_ARGUMENT, function, "shared_bytes = %llu leaves no room for a block on the device",
                      (unsigned long long)shared_bytes);
}

GPUL_API gpul_status gpul_block_size(int32_t *block, const void *kernel, size_t shared_bytes, int32_t limit) {
    struct cudaFuncAttributes attributes;
    int32_t threads, best = 0;
    int64_t resident = 0;
    if (block == NULL) return gpul__null(__func__, "block");
    if (kernel == NULL) return gpul__null(__func__, "kernel");
    if (limit < 0) return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "limit = %d is negative", (int)limit);
    gpul_status status = gpul__pending(__func__);
    if (status == GPUL_OK) status = gpul__kernel(__func__, &attributes, kernel, shared_bytes);
    if (status != GPUL_OK) return status;
    threads = (int32_t)attributes.maxThreadsPerBlock;
    if (limit > 0 && limit < threads) threads = limit;
    if (threads > 32) threads -= threads % 32;
    for (; threads > 0; threads -= 32) {
        int32_t blocks = 0;
        status = gpul__resident(__func__, &blocks, kernel, threads, shared_bytes);
        if (status != GPUL_OK) return status;
        if ((int64_t)blocks * threads <= resident) continue;
        resident = (int64_t)blocks * threads;
        best = threads;
    }
    if (best == 0) return gpul__no_room(__func__, shared_bytes);
    *block = best;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_cooperative_blocks(int32_t *blocks, const void *kernel, int32_t block, size_t shared_bytes) {
    struct cudaFuncAttributes attributes;
    int32_t each = 0, multiprocessors = 0;
    int device = 0;
    if (blocks == NULL) return gpul__null(__func__, "blocks");
    if (kernel == NULL) return gpul__null(__func__, "kernel");
    gpul_status status = gpul__pending(__func__);
    if (status == GPUL_OK) status = gpul__kernel(__func__, &attributes, kernel, shared_bytes);
    if (status == GPUL_OK && (block < 1 || block > attributes.maxThreadsPerBlock))
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "block = %d threads, the kernel takes 1 to %d on this device",
                          (int)block, attributes.maxThreadsPerBlock);
    if (status == GPUL_OK) status = gpul__resident(__func__, &each, kernel, block, shared_bytes);
    if (status == GPUL_OK && each == 0) return gpul__no_room(__func__, shared_bytes);
    if (status == GPUL_OK) status = gpul__cuda(cudaGetDevice(&device), __func__, "cudaGetDevice");
    if (status == GPUL_OK) status = gpul__attribute(__func__, &multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (status == GPUL_OK) *blocks = each * multiprocessors; /* fault: cooperative-blocks */
    return status;
}

/* ---- GPUL_LAUNCH ---- */

/* Piece k of a macro's arguments as they stand in the program, shortened to fit; 0 where they are not `count` pieces
 * (0: any number). Commas in brackets part nothing, nor do the kernel's (piece 0) in <>. */
static int32_t gpul__written(char *to, size_t size, const char *text, int32_t k, int32_t count) {
    int32_t depth = 0, piece = 0;
    size_t at = 0;
    for (; *text != 0 && (piece <= k || count > 0); ++text) {
        const char c = *text;
        if (strchr(piece == 0 ? "([{<" : "([{", c) != NULL) ++depth;
        else if (depth > 0 && strchr(piece == 0 ? ")]}>" : ")]}", c) != NULL) --depth;
        if (c == ',' && depth == 0) ++piece;
        else if (piece == k && at < size && (at > 0 || c != ' ')) to[at++] = c;
    }
    if (at == size) {
        memcpy(to + size - 4, "...", 3);
        --at;
    }
    to[at] = 0;
    return count == 0 || piece + 1 == count;
}

/* "argument 2 (&x)" */
static const char *gpul__argument_name(const gpul__call *call, int32_t k) {
    gpul__text to = {gpul__piece(), GPUL__PIECE, 0};
    char written[48];
    gpul__append(&to, "argument %d", (int)k + 1);
    if (gpul__written(written, sizeof written, call->written, 5 + k, 5 + call->count))
        gpul__append(&to, " (%s)", written);
    return to.text;
}

/* An array fits the kernel's parameter. */
static gpul_status gpul__check_argument(const char *function, const char *name, const gpul__argument *argument) {
    const gpul_array *const a = argument->array;
    const int32_t view = argument->ndim > 0; /* which counts its strides in elements of the dtype */
    gpul_status status = gpul__check_array(function, name, a);
    if (status != GPUL_OK) return status;
    if ((argument->dtypes & 1 << a->dtype) == 0) { /* fault: launch-dtype */
        int32_t d = GPUL_F32;
        while ((argument->dtypes & 1 << d) == 0) ++d;
        return gpul__fail(GPUL_ERROR_DTYPE, function, "%s is %s, but the kernel takes %s%s", name, gpul__describe(a),
                          gpul_dtype_name(d),
                          d == GPUL_F16 && (argument->dtypes & 1 << GPUL_BF16) != 0 ? " or bfloat16" : "");
    }
    if (view ? (size_t)argument->bytes != gpul_dtype_size(a->dtype) : gpul_nbytes(a) % argument->bytes != 0)
        return gpul__fail(GPUL_ERROR_DTYPE, function, "%s is %s, %s the kernel's elements of %d bytes", name,
                          gpul__describe(a), view ? "but a view of it cannot have" : "no multiple of",
                          (int)argument->bytes);
    if ((uintptr_t)a->data % (uintptr_t)argument->align != 0)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "%s has data = %p, which is not aligned to the %d bytes of the kernel's elements", name,
                          a->data, (int)argument->align);
    if (view && a->ndim != argument->ndim)
        return gpul__fail(GPUL_ERROR_SHAPE, function, "%s is %s, but the kernel takes a gpul_view of ndim = %d", name,
                          gpul__describe(a), (int)argument->ndim);
    if (!view && !gpul_is_contiguous(a, GPUL_ORDER_C) && !gpul_is_contiguous(a, GPUL_ORDER_F)) /* fault: launch-gaps */
        return gpul__fail(GPUL_ERROR_SHAPE, function,
                          "%s, %s with strides %s, is not contiguous, and the kernel's pointer knows no strides: let "
                          "it take a gpul_view<T, %d>, or gpul_copy to a dense array",
                          name, gpul__describe(a), gpul__describe_shape(0, a->ndim, a->strides), (int)a->ndim);
    return GPUL_OK;
}

/* A pointer that the GPU can reach, as far as the CUDA runtime knows. */
static gpul_status gpul__check_pointer(const char *function, const gpul__call *call, int32_t k, int32_t device) {
    struct cudaPointerAttributes attributes = GPUL_ZERO;
    void *pointer;
    int32_t pageable = 0;
    memcpy(&pointer, call->values[k], sizeof pointer);
    if (pointer == NULL) return GPUL_OK;
    gpul_status status =
        gpul__cuda(cudaPointerGetAttributes(&attributes, pointer), function, "cudaPointerGetAttributes");
    if (status != GPUL_OK || attributes.type != cudaMemoryTypeUnregistered) return status; /* fault: launch-pageable */
    status = gpul__attribute(function, &pageable, cudaDevAttrPageableMemoryAccess, (int)device);
    if (status != GPUL_OK || pageable) return status;
    return gpul__fail(GPUL_ERROR_MEMORY, function,
                      "%s = %p is ordinary (pageable) host memory, which a GPU cannot reach: pass a gpul_array "
                      "(gpul_to_device makes one)",
                      gpul__argument_name(call, k), pointer);
}

/* Finds the limit that a launch broke: of the device, or of the kernel. */
static gpul_status gpul__launch_refused(cudaError_t e, const char *function, const gpul__call *call, int32_t device) {
    struct cudaDeviceProp most;
    struct cudaFuncAttributes kernel;
    int64_t threads = 1;
    gpul__clear_cuda(e);
    gpul_status status = gpul__cuda(cudaGetDeviceProperties(&most, (int)device), function, "cudaGetDeviceProperties");
    if (status == GPUL_OK) status = gpul__kernel(function, &kernel, call->kernel, 0);
    if (status != GPUL_OK) return status;
    for (int32_t k = 0; k < 3; ++k) {
        if (call->grid[k] < 0 || call->grid[k] > most.maxGridSize[k])
            return gpul__fail(GPUL_ERROR_ARGUMENT, function, "%lld blocks in %c of the grid, the device takes %d",
                              (long long)call->grid[k], "xyz"[k], most.maxGridSize[k]);
        if (call->block[k] < 1)
            return gpul__fail(GPUL_ERROR_ARGUMENT, function, "%lld threads in %c of a block, the device takes 1 to %d",
                              (long long)call->block[k], "xyz"[k], most.maxThreadsDim[k]);
        if (!gpul__multiply(threads, call->block[k], &threads)) threads = INT64_MAX;
    }
    if (threads > most.maxThreadsPerBlock)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "%lld threads in a block, the device takes %d",
                          (long long)threads, most.maxThreadsPerBlock);
    for (int32_t k = 0; k < 3; ++k)
        if (call->block[k] > most.maxThreadsDim[k])
            return gpul__fail(GPUL_ERROR_ARGUMENT, function, "%lld threads in %c of a block, the device takes %d",
                              (long long)call->block[k], "xyz"[k], most.maxThreadsDim[k]);
    if (threads > kernel.maxThreadsPerBlock)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "%lld threads in a block, the kernel takes %d on this device (its registers or "
                          "__launch_bounds__); gpul_block_size finds a number",
                          (long long)threads, kernel.maxThreadsPerBlock);
    if (call->shared_bytes > most.sharedMemPerBlockOptin ||
        call->shared_bytes + kernel.sharedSizeBytes > most.sharedMemPerBlockOptin)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "%llu bytes of shared memory in a block, beside the %llu of the kernel's own, the device "
                          "takes %llu in all",
                          (unsigned long long)call->shared_bytes, (unsigned long long)kernel.sharedSizeBytes,
                          (unsigned long long)most.sharedMemPerBlockOptin);
    if (e == cudaErrorCooperativeLaunchTooLarge) {
        int32_t blocks = 0;
        status = gpul__resident(function, &blocks, call->kernel, (int32_t)threads, call->shared_bytes);
        if (status != GPUL_OK) return status;
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "%lld x %lld x %lld blocks in a cooperative grid, the device holds %lld at a time; "
                          "gpul_cooperative_blocks says how many",
                          (long long)call->grid[0], (long long)call->grid[1], (long long)call->grid[2],
                          (long long)blocks * most.multiProcessorCount);
    }
    return gpul__cuda(e, function, NULL);
}

GPUL_API gpul_status gpul__launch_call(const gpul__call *call) {
    char function[80] = "GPUL_LAUNCH(";
    cudaLaunchConfig_t config = GPUL_ZERO;
    cudaLaunchAttribute cooperative = GPUL_ZERO;
    unsigned *const grid[3] = {&config.gridDim.x, &config.gridDim.y, &config.gridDim.z};
    unsigned *const block[3] = {&config.blockDim.x, &config.blockDim.y, &config.blockDim.z};
    struct cudaFuncAttributes attributes;
    gpul__scope scope;
    const gpul_array *first = NULL;
    const int32_t handling = gpul__handling;
    int32_t at = -1, fits = 1;
    gpul_status status;
    if (call->cooperative) (void)strcpy(function, "GPUL_LAUNCH_COOPERATIVE(");
    (void)gpul__written(function + strlen(function), 48, call->written, 0, 0);
    memcpy(function + strlen(function), ")", 2);
    if (call->kernel == NULL) return gpul__null(function, "kernel");
    for (int32_t k = 0; k < call->count; ++k) {
        const gpul__argument *const argument = &call->arguments[k];
        if (argument->kind == GPUL__ARGUMENT_LOST) { /* fault: launch-narrows */
            gpul__text number = {gpul__piece(), GPUL__PIECE, 0};
            if (argument->number == 0) gpul__append(&number, "%g", argument->real);
            else if (argument->negative) gpul__append(&number, "%lld", (long long)argument->number);
            else gpul__append(&number, "%llu", (unsigned long long)argument->number);
            return gpul__fail(
                GPUL_ERROR_ARGUMENT, function, "%s = %s, which the kernel's parameter, %sint%d_t, does not hold",
                gpul__argument_name(call, k), number.text, argument->align ? "" : "u", (int)argument->bytes * 8);
        }
        if (argument->kind != GPUL__ARGUMENT_ARRAY) continue;
        gpul__handling = 1; /* names take time: once with none and nobody told, and once more for the message */
        status = gpul__check_argument(function, "", argument);
        gpul__handling = handling; /* fault: launch-handler */
        if (status != GPUL_OK) return gpul__check_argument(function, gpul__argument_name(call, k), argument);
        if (argument->array->memory != GPUL_MEMORY_DEVICE) continue;
        if (at < 0) at = k;
        first = call->arguments[at].array;
        if (first->device != argument->array->device)
            return gpul__fail(GPUL_ERROR_DEVICE, function, "%s is on device %d and %s on device %d: gpul_copy one over",
                              gpul__argument_name(call, at), (int)first->device, gpul__argument_name(call, k),
                              (int)argument->array->device);
    }
    status = gpul__begin(&scope, function, &first, first != NULL, call->stream); /* fault: launch-device */
    if (status != GPUL_OK) return status;
    for (int32_t k = 0; status == GPUL_OK && k < call->count; ++k) {
        if (call->arguments[k].kind != GPUL__ARGUMENT_POINTER) continue;
        status = gpul__check_pointer(function, call, k, scope.device);
    }
    if (status != GPUL_OK || call->grid[0] == 0 || call->grid[1] == 0 || call->grid[2] == 0)
        return gpul__end(&scope, status);
    for (int32_t k = 0; k < 3; ++k) { /* what 32 bits cannot hold must not wrap into a launch that works */
        *grid[k] = (unsigned)call->grid[k];
        *block[k] = (unsigned)call->block[k];
        if (call->grid[k] < 0 || call->grid[k] > INT32_MAX) fits = 0; /* fault: launch-limits */
        if (call->block[k] < 1 || call->block[k] > INT32_MAX) fits = 0;
    }
    if (fits && call->shared_bytes > 0) status = gpul__kernel(function, &attributes, call->kernel, call->shared_bytes);
    if (status != GPUL_OK) return gpul__end(&scope, status);
    config.dynamicSmemBytes = call->shared_bytes;
    config.stream = call->stream;
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    config.attrs = &cooperative;
    config.numAttrs = call->cooperative ? 1 : 0; /* fault: launch-cooperative */
    const cudaError_t e =
        fits ? cudaLaunchKernelExC(&config, call->kernel, call->values) : cudaErrorInvalidConfiguration;
    if (e == cudaErrorInvalidConfiguration || e == cudaErrorInvalidValue || e == cudaErrorLaunchOutOfResources ||
        e == cudaErrorCooperativeLaunchTooLarge)
        status = gpul__launch_refused(e, function, call, scope.device);
    else status = gpul__cuda(e, function, NULL);
    return gpul__end(&scope, status);
}

/* Where there is no device or no driver, the number that was asked for is 0, and this no error. */
static gpul_status gpul__or_none(cudaError_t e, int *number, const char *function, const char *what) {
    if (gpul__status_of(e) != GPUL_ERROR_NO_DEVICE) return gpul__cuda(e, function, what);
    gpul__clear_cuda(e);
    *number = 0;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_device_count(int32_t *count) {
    gpul_status status = count == NULL ? gpul__null(__func__, "count") : gpul__pending(__func__);
    int number = 0;
    if (status == GPUL_OK) status = gpul__or_none(cudaGetDeviceCount(&number), &number, __func__, "cudaGetDeviceCount");
    if (status == GPUL_OK) *count = (int32_t)number;
    return status;
}

/* The number of devices; that there is none is an error of CUDA's */
static gpul_status gpul__need_devices(const char *function, int *count) {
    const gpul_status status = gpul__pending(function);
    return status != GPUL_OK ? status : gpul__cuda(cudaGetDeviceCount(count), function, "cudaGetDeviceCount");
}

GPUL_API gpul_status gpul_device_current(int32_t *device) {
    int count = 0, current = 0;
    gpul_status status = device == NULL ? gpul__null(__func__, "device") : gpul__need_devices(__func__, &count);
    if (status == GPUL_OK) status = gpul__cuda(cudaGetDevice(&current), __func__, "cudaGetDevice");
    if (status == GPUL_OK) *device = (int32_t)current;
    return status;
}

static gpul_status gpul__check_device(const char *function, int32_t device) {
    int count = 0;
    const gpul_status status = gpul__need_devices(function, &count);
    if (status != GPUL_OK || (device >= 0 && device < count)) return status;
    return gpul__fail_with(GPUL_ERROR_DEVICE, function, cudaSuccess, device, 0, 0,
                           count == 1 ? "device = %d, but there is %d device, numbered from 0"
                                      : "device = %d, but there are %d devices, numbered from 0",
                           (int)device, count);
}

static char gpul__lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Letters of either case: is `text` the same as `id`, or with more behind it where `start` is not 0? */
static int32_t gpul__same_id(const char *text, const char *id, int32_t start) {
    while (*id != 0 && gpul__lower(*text) == gpul__lower(*id)) ++text, ++id;
    return *id == 0 && (start || *text == 0);
}

/* What names a device for good, and its sizes; asks for no context. */
static gpul_status gpul__device_properties(const char *function, gpul_device *info, int32_t device) {
    struct cudaDeviceProp properties;
    char *to = info->uuid;
    gpul_status status = gpul__cuda(cudaGetDeviceProperties(&properties, device), function, "cudaGetDeviceProperties");
    if (status != GPUL_OK) return status;
    info->index = device;
    info->major = properties.major;
    info->minor = properties.minor;
    info->sms = properties.multiProcessorCount;
    info->warp_size = properties.warpSize;
    info->max_threads_per_block = properties.maxThreadsPerBlock;
    info->max_threads_per_sm = properties.maxThreadsPerMultiProcessor;
    info->memory_bus_bits = properties.memoryBusWidth;
    info->has_managed = properties.managedMemory;
    info->integrated = properties.integrated;
    info->shared_per_block = (int64_t)properties.sharedMemPerBlock;
    info->shared_per_block_optin = (int64_t)properties.sharedMemPerBlockOptin;
    info->shared_per_sm = (int64_t)properties.sharedMemPerMultiprocessor;
    info->l2_bytes = properties.l2CacheSize;
    gpul__copy_text(info->name, sizeof info->name, properties.name);
    info->standin = strcmp(info->name, "CPU stand-in (no GPU)") == 0; /* what is linked, whatever headers were read */
    to += snprintf(to, 5, "GPU-");
    for (int32_t k = 0; k < 16; ++k)
        to += snprintf(to, 4, "%02x%s", (unsigned)(unsigned char)properties.uuid.bytes[k],
                       k == 3 || k == 5 || k == 7 || k == 9 ? "-" : "");
    return gpul__cuda(cudaDeviceGetPCIBusId(info->pci, (int)sizeof info->pci, device), function,
                      "cudaDeviceGetPCIBusId");
}

GPUL_API gpul_status gpul_device_by_id(int32_t *device, const char *id) {
    int32_t found = -1;
    int count = 0;
    if (device == NULL) return gpul__null(__func__, "device");
    if (id == NULL) return gpul__null(__func__, "id");
    gpul_status status = gpul__need_devices(__func__, &count);
    if (status != GPUL_OK) return status;
    for (int32_t k = 0; k < count; ++k) {
        char index[16];
        gpul_device info = GPUL_ZERO;
        status = gpul__device_properties(__func__, &info, k);
        if (status != GPUL_OK) return status;
        (void)snprintf(index, sizeof index, "%d", (int)k);
        if (!gpul__same_id(index, id, 0) && !gpul__same_id(info.pci, id, 0) &&
            !(strlen(info.pci) > 5 && gpul__same_id(info.pci + 5, id, 0)) &&
            !(strlen(id) > 4 && gpul__same_id(info.uuid, id, 1)))
            continue;
        if (found >= 0)
            return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "id = \"%.64s\" names both device %d and device %d", id,
                              (int)found, (int)k);
        found = k;
    }
    if (found < 0)
        return gpul__fail(GPUL_ERROR_DEVICE, __func__,
                          "id = \"%.64s\" is neither the PCI id, nor the UUID, nor the index of one of the %d visible "
                          "devices (see gpul_report)",
                          id, count);
    *device = found;
    return GPUL_OK;
}

GPUL_API gpul_status gpul_device_select(int32_t device) {
    const gpul_status status = gpul__check_device(__func__, device);
    return status != GPUL_OK ? status : gpul__set_device(__func__, device);
}

static gpul_status gpul__device_info(const char *function, gpul_device *out, int32_t device) {
    gpul_device info = GPUL_ZERO;
    const struct {
        enum cudaDeviceAttr attribute;
        int32_t *to;
    } of[5] = {{cudaDevAttrClockRate, &info.clock_khz}, /* no properties in CUDA 11 or in CUDA 13 */
               {cudaDevAttrMemoryClockRate, &info.memory_clock_khz},
               {cudaDevAttrMemoryPoolsSupported, &info.has_pools},
               {cudaDevAttrKernelExecTimeout, &info.time_limit},
               {cudaDevAttrSingleToDoublePrecisionPerfRatio, &info.f32_per_f64}};
    size_t free_bytes = 0, total = 0;
    gpul__scope scope;
    gpul_status status = gpul__begin_on(&scope, function, device);
    if (status != GPUL_OK) return status;
    status = gpul__device_properties(function, &info, device);
    for (int32_t k = 0; k < 5 && status == GPUL_OK; ++k)
        status = gpul__attribute(function, of[k].to, of[k].attribute, device);
    if (status == GPUL_OK) status = gpul__cuda(cudaMemGetInfo(&free_bytes, &total), function, "cudaMemGetInfo");
    info.total_bytes = (int64_t)total;
    info.free_bytes = (int64_t)free_bytes;
    info.nominal_gbps = 2.0 * (double)info.memory_clock_khz * 1e3 * ((double)info.memory_bus_bits / 8) * 1e-9;
    status = gpul__end(&scope, status);
    if (status == GPUL_OK) *out = info;
    return status;
}

GPUL_API gpul_status gpul_device_info(gpul_device *info, int32_t device) {
    const gpul_status status = info == NULL ? gpul__null(__func__, "info") : gpul__check_device(__func__, device);
    return status != GPUL_OK ? status : gpul__device_info(__func__, info, device);
}

static gpul_status gpul__cuda_versions(const char *function, int32_t *driver, int32_t *runtime) {
    gpul_status status = gpul__pending(function);
    int d = 0, r = 0;
    if (status == GPUL_OK) status = gpul__or_none(cudaDriverGetVersion(&d), &d, function, "cudaDriverGetVersion");
    if (status == GPUL_OK) status = gpul__cuda(cudaRuntimeGetVersion(&r), function, "cudaRuntimeGetVersion");
    if (status == GPUL_OK && driver != NULL) *driver = (int32_t)d;
    if (status == GPUL_OK && runtime != NULL) *runtime = (int32_t)r;
    return status;
}

GPUL_API gpul_status gpul_cuda_versions(int32_t *driver, int32_t *runtime) {
    return gpul__cuda_versions(__func__, driver, runtime);
}

#ifndef GPULITE_NO_KERNELS
/* What the kernels were built for, as seen from the current device */
static gpul_status gpul__report_kernels(gpul__text *out, const char *function, const gpul_device *device) {
    static const char *const names[GPUL__FAMILIES] = {"elementwise", "reduce", "gemv", "histogram", "matmul"};
    const int32_t capability = device->major * 10 + device->minor;
    int32_t older = 0, binary = 0, ptx = 0;
    gpul__append(out, "    kernels       machine code  source (PTX)\n");
    for (int32_t family = 0; family < GPUL__FAMILIES; ++family) {
        const cudaError_t e = (cudaError_t)gpul__kernel_arch(family, &binary, &ptx);
        if (gpul__status_of(e) == GPUL_ERROR_UNSUPPORTED || e == cudaErrorInvalidDeviceFunction) {
            gpul__clear_cuda(e);
            gpul__append(out, "    %-12s  none that runs here\n", names[family]);
            older = 1;
        } else if (e != cudaSuccess) return gpul__cuda(e, function, "cudaFuncGetAttributes");
        else if (binary == 0 && ptx == 0) gpul__append(out, "    %-12s  left out of the build\n", names[family]);
        else {
            gpul__append(out, "    %-12s  sm_%-9d  compute_%d\n", names[family], (int)binary, (int)ptx);
            if (binary < capability || ptx < capability) older = 1; /* fault: report-older-build */
        }
    }
    if (binary >= 80 && ptx >= 80) { /* matmul's, the last one */
        gpul__machine machine = GPUL_ZERO;
        machine.device = device->index;
        const cudaError_t e = (cudaError_t)gpul__find_tensor_cores(&machine);
        if (e != cudaSuccess) return gpul__cuda(e, function, "cudaFuncGetAttributes");
        if (machine.mma) /* fault: report-tensor-cores */
            gpul__append(out, "    tensor cores: matrix products of 16 bits and in TF32%s\n",
                         machine.mma > 1 || machine.wgmma ? ", and emulated float32" : "");
        if (capability == 90) older = !machine.wgmma;
    }
    if (older)
        gpul__append(out, "    better for this device: nvcc -arch=sm_%d%s\n", (int)capability,
                     capability == 90 ? "a" : "");
    return GPUL_OK;
}
#endif

static gpul_status gpul__report_device(gpul__text *out, const char *function, int32_t index) {
    gpul_device device;
    gpul_status status = gpul__device_info(function, &device, index);
    if (status != GPUL_OK) return status;
    gpul__append(out, "device %d: %s, compute capability %d.%d, %d SMs", (int)index, device.name, (int)device.major,
                 (int)device.minor, (int)device.sms);
    if (device.clock_khz > 0) gpul__append(out, " at %.0f MHz", (double)device.clock_khz * 1e-3);
    gpul__append(out, "\n    PCI %s, UUID %s\n", device.pci, device.uuid);
    gpul__append(out, "    memory %.1f GiB, %.1f GiB free", (double)device.total_bytes / 1073741824.0,
                 (double)device.free_bytes / 1073741824.0);
    if (device.nominal_gbps > 0)
        gpul__append(out, ", %.0f GB/s nominal (%.0f MHz, %d bits)", device.nominal_gbps,
                     (double)device.memory_clock_khz * 1e-3, (int)device.memory_bus_bits);
    gpul__append(out, "; L2 %.1f MiB; shared memory per block %.0f KiB (%.0f KiB on request)\n",
                 (double)device.l2_bytes / 1048576.0, (double)device.shared_per_block / 1024.0,
                 (double)device.shared_per_block_optin / 1024.0);
    gpul__append(out,
                 "    f32 is %d times as fast as f64; time limit of kernels: %s; stream-ordered pools: %s; "
                 "managed memory: %s%s\n",
                 (int)device.f32_per_f64, device.time_limit ? "yes" : "no", device.has_pools ? "yes" : "no",
                 device.has_managed ? "yes" : "no", device.integrated ? "; shares the host's memory" : "");
    if (device.standin)
        gpul__append(out, "    this is the CPU stand-in of tests/cpu: right results, no meaningful timings\n");
#ifdef GPULITE_CPU_STANDIN
    if (!device.standin)
        gpul__append(out,
                     "    MIXED BUILD: compiled with the headers of tests/cpu, but linked with NVIDIA's runtime\n");
#else
    if (device.standin)
        gpul__append(out, "    MIXED BUILD: compiled with NVIDIA's headers, but linked with tests/cpu: "
                          "put -Itests/cpu before other -I, and build anew\n");
#endif
#ifndef GPULITE_NO_KERNELS
    if (!device.standin) {
        gpul__scope scope;
        status = gpul__begin_on(&scope, function, index);
        if (status != GPUL_OK) return status;
        status = gpul__end(&scope, gpul__report_kernels(out, function, &device));
    }
#endif
    return status;
}

static gpul_status gpul__report(gpul__text *out, const char *function) {
    const char *const visible = getenv("CUDA_VISIBLE_DEVICES"), *const limit = getenv("GPULITE_MEMORY_LIMIT");
    int32_t driver = 0, runtime = 0;
    char text[192];
    int count = 0;
    gpul_status status = gpul__cuda_versions(function, &driver, &runtime);
    if (status != GPUL_OK) return status;
    gpul__append(out, "gpulite " GPUL_VERSION ", CUDA runtime %d.%d (built with %d.%d)", (int)(runtime / 1000),
                 (int)(runtime % 1000 / 10), CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (driver == 0) gpul__append(out, ", no driver\n");
    else gpul__append(out, ", driver for CUDA %d.%d\n", (int)(driver / 1000), (int)(driver % 1000 / 10));
#ifdef GPULITE_NO_KERNELS
    gpul__append(out, "built with GPULITE_NO_KERNELS: arrays, copies and timers, no prebuilt operations\n");
#endif
    if (visible != NULL) gpul__append(out, "CUDA_VISIBLE_DEVICES=%.128s: other devices are hidden\n", visible);
    if (limit != NULL)
        gpul__append(out, "GPULITE_MEMORY_LIMIT=%.128s: of each device, unless gpul_memory_limit says else\n", limit);
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess) {
        gpul__append(out, "no CUDA device: %s (%s)\n", cudaGetErrorName(e), gpul__error_text(text, sizeof text, e));
        gpul__clear_cuda(e);
        count = 0;
    }
    for (int32_t index = 0; index < count && status == GPUL_OK; ++index)
        status = gpul__report_device(out, function, index);
    return status;
}

GPUL_API gpul_status gpul_report(size_t *length, char *text, size_t size) {
    gpul__text none = GPUL_ZERO, out = {text, size, 0};
    if (text == NULL && size > 0) return gpul__null(__func__, "text");
    gpul_status status = gpul__report(&none, __func__); /* what fails mostly fails here, where text is as it was */
    if (status == GPUL_OK && size > 0) status = gpul__report(&out, __func__);
    if (status == GPUL_OK && length != NULL) *length = size > 0 ? out.length : none.length;
    return status;
}

GPUL_API gpul_status gpul_profile_start(void) {
    const gpul_status status = gpul__pending(__func__);
    return status != GPUL_OK ? status : gpul__cuda(cudaProfilerStart(), __func__, "cudaProfilerStart");
}

GPUL_API gpul_status gpul_profile_stop(void) {
    const gpul_status status = gpul__pending(__func__);
    return status != GPUL_OK ? status : gpul__cuda(cudaProfilerStop(), __func__, "cudaProfilerStop");
}

GPUL_API gpul_status gpul_range_push(const char *name) {
    if (name == NULL) return gpul__null(__func__, "name");
#ifdef GPULITE_NVTX
    (void)nvtxRangePushA(name); /* returns the depth, or a negative number where no profiler listens */
#endif
    return GPUL_OK;
}

GPUL_API void gpul_range_pop(void) {
#ifdef GPULITE_NVTX
    (void)nvtxRangePop();
#endif
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Elementwise operations
 * ------------------------------------------------------------------------------------------------------------------ */
#ifndef GPULITE_NO_KERNELS
static gpul_status gpul__left_out(const char *function, const char *family) {
    return gpul__fail(GPUL_ERROR_UNSUPPORTED, function, "the %s kernels were left out of this build", family);
}

/* An array from the caller, of `dtype` unless that is 0; `must` and `why` stand around it in the message. */
static gpul_status gpul__check_array_of(const char *function, const char *name, const gpul_array *a, const char *must,
                                        gpul_dtype dtype, const char *why) {
    const gpul_status status = gpul__check_array(function, name, a);
    if (status != GPUL_OK || dtype == 0 || a->dtype == dtype) return status;
    return gpul__fail_array(GPUL_ERROR_DTYPE, function, name, a, ", but %s %s%s", must, gpul_dtype_name(dtype), why);
}

static gpul_status gpul__check_arrays(const char *function, const char *const *names, const gpul_array *const *arrays,
                                      int32_t count) {
    gpul_status status = GPUL_OK;
    for (int32_t i = 0; status == GPUL_OK && i < count; ++i) status = gpul__check_array(function, names[i], arrays[i]);
    return status;
}

/* Three arrays that must be of one dtype; names[0] is the output. */
static gpul_status gpul__check_one_dtype(const char *function, const char *const *names,
                                         const gpul_array *const *arrays) {
    const gpul_dtype a = arrays[0]->dtype, b = arrays[1]->dtype, c = arrays[2]->dtype;
    const int32_t odd = b == c ? 0 : a == c ? 1 : 2, one = odd == 0 ? 1 : 0, two = odd == 2 ? 1 : 2;
    if (a == b && b == c) return GPUL_OK;
    return gpul__fail_array(GPUL_ERROR_DTYPE, function, names[odd], arrays[odd],
                            ", but %s is %s and %s is %s: nothing is converted, so all three must be of one dtype",
                            names[one], gpul_dtype_name(arrays[one]->dtype), names[two],
                            gpul_dtype_name(arrays[two]->dtype));
}

/* An output, arrays[0], shares no memory with itself or with any input; NULL: there is no such input. */
static gpul_status gpul__check_overlap(const char *function, const char *const *names, const gpul_array *const *arrays,
                                       int32_t count) {
    gpul_status status = gpul__check_output(function, names[0], arrays[0]); /* fault: batch-overlaps-itself */
    for (int32_t i = 1; status == GPUL_OK && i < count; ++i)
        if (gpul__overlap(arrays[0], arrays[i]))
            status = gpul__fail(GPUL_ERROR_OVERLAP, function, "%s overlaps %s", names[0], names[i]);
    return status;
}

/* out's own memory, element for element: each thread reads an element before it writes it. */
static int32_t gpul__same_elements(const gpul_array *a, const gpul_array *b) {
    if (a->data != b->data || a->dtype != b->dtype || a->ndim != b->ndim) return 0; /* fault: same-elements-dtype */
    for (int32_t k = 0; k < a->ndim; ++k)
        if (a->shape[k] != b->shape[k] || (a->shape[k] > 1 && a->strides[k] != b->strides[k])) return 0;
    return 1;
}

/* Is this the common call, dense vectors of one length, each apart from out or out itself? Then the checks of
 * gpul__broadcast would all pass, and this takes fewer instructions. */
static int32_t gpul__are_vectors(const gpul_array *out, const gpul__input_value *in, int32_t n_in) {
    for (int32_t i = -1; i < n_in; ++i) {
        const gpul_array *const a = i < 0 ? out : in[i].array;
        if (i >= 0 && in[i].is_scalar) continue;
        if (a->ndim != 1 || a->strides[0] != 1 || a->shape[0] != out->shape[0]) return 0;
        if (a->shape[0] == 0 || a->shape[0] > INT64_MAX / 8) return 0;
        if (a->data != out->data || a->dtype != out->dtype) { /* fault: vectors-dtype */
            const uintptr_t at = (uintptr_t)a->data, at_out = (uintptr_t)out->data;
            const uintptr_t bytes =
                (uintptr_t)a->shape[0] * gpul_dtype_size(at < at_out ? a->dtype : out->dtype); /* fault: vectors-end */
            if ((at < at_out ? at_out - at : at - at_out) < bytes) return 0; /* fault: vectors-distance */
        }
    }
    return 1;
}

/* The checks of shapes and memory, and the outputs and inputs in the problem's dimensions. */
static gpul_status gpul__broadcast(const char *function, const char *const *names, gpul__elementwise_problem *args,
                                   const gpul__output_value *outs, int32_t n_outs, const gpul__input_value *in,
                                   int32_t n_in) {
    const gpul_array *const first = outs[0].array;
    int64_t *strides[GPUL__OPERANDS];
    for (int32_t i = 0; i < n_in + n_outs; ++i) strides[i] = args->strides[i <= n_in ? i : 3 + i - n_in];
    for (int32_t i = 0; i < n_in; ++i) { /* NumPy's broadcasting: aligned at the last dimension, 1 stretches */
        const gpul_array *const a = in[i].array;
        const int32_t shift = in[i].is_scalar ? 0 : first->ndim - a->ndim;
        int32_t fits = shift >= 0;
        if (in[i].is_scalar) continue;
        for (int32_t k = 0; fits && k < a->ndim; ++k) {
            fits = a->shape[k] == first->shape[shift + k] || a->shape[k] == 1;
            args->strides[1 + i][shift + k] = a->shape[k] == 1 ? 0 : a->strides[k];
        }
        if (!fits)
            return gpul__fail_array(GPUL_ERROR_SHAPE, function, names[i], a, ", which does not broadcast to %s's %s",
                                    outs[0].name, gpul__describe(first));
    }
    for (int32_t k = 0; k < n_outs; ++k) {
        const gpul_array *const out = outs[k].array;
        gpul_status status = gpul__check_same_shape(function, outs[k].name, out, outs[0].name, first);
        if (status == GPUL_OK) status = gpul__check_output(function, outs[k].name, out);
        if (status != GPUL_OK) return status;
        for (int32_t i = 0; i < k; ++i)
            if (gpul__overlap(out, outs[i].array)) /* fault: outputs-overlap */
                return gpul__fail(GPUL_ERROR_OVERLAP, function, "%s overlaps %s", outs[k].name, outs[i].name);
        for (int32_t i = 0; i < n_in; ++i) {
            const gpul_array *const a = in[i].array;
            if (!in[i].is_scalar && gpul__overlap(out, a) && !gpul__same_elements(out, a)) {
                return gpul__fail(GPUL_ERROR_OVERLAP, function, "%s, %s, overlaps %s, %s, without being it",
                                  outs[k].name, gpul__describe(out), names[i], gpul__describe(a));
            }
        }
        if (k == 0) continue;
        args->others[k - 1] = out->data;
        memcpy(args->strides[3 + k], out->strides, sizeof args->strides[0]);
    }
    gpul__sort_dims(first->ndim, args->shape, strides, n_in + n_outs);
    args->ndim = gpul__merge_dims(first->ndim, args->shape, strides, n_in + n_outs);
    return GPUL_OK;
}

static double gpul__scalar_value(const gpul_array *scalar) {
    double value;
    memcpy(&value, scalar->strides, sizeof value);
    return value;
}
static int32_t gpul__is_scalar(const gpul_array *a) { return a != NULL && a->memory == GPUL_MEMORY_SCALAR; }

static gpul_status gpul__take_number(const char *function, const char *name, gpul__input_value *in, double value,
                                     gpul_dtype dtype) {
    const gpul__input_value number = {NULL, 0, dtype, 1};
    *in = number;
    return gpul__element_bits(function, name, &in->scalar, dtype, value);
}

/* Checks an input: an array or GPUL_SCALAR of in->dtype, or, where that is 0, an array, whose dtype it then has. */
static gpul_status gpul__check_input(const char *function, const char *name, gpul__input_value *in) {
    if (in->is_scalar || (in->dtype != 0 && gpul__is_scalar(in->array))) return GPUL_OK;
    const gpul_status status =
        gpul__check_array_of(function, name, in->array, "the operation is defined for", in->dtype, "");
    if (status == GPUL_OK) in->dtype = in->array->dtype;
    return status;
}

/* Two inputs of dtype 0, of which one may be a GPUL_SCALAR and then has the other's dtype */
static gpul_status gpul__check_two(const char *function, const char *const *names, gpul__input_value *in) {
    const int32_t one = gpul__is_scalar(in[0].array) && !gpul__is_scalar(in[1].array), other = 1 - one;
    const gpul_status status = gpul__check_input(function, names[one], &in[one]);
    if (status == GPUL_OK && gpul__is_scalar(in[other].array)) in[other].dtype = in[one].dtype;
    return status != GPUL_OK ? status : gpul__check_input(function, names[other], &in[other]);
}

/* Inputs and outputs are checked, but for their shapes and memory. Each GPUL_SCALAR among `in` becomes an element. */
static gpul_status gpul__elementwise(const char *function, const char *const *names, const gpul__elementwise_op *op,
                                     int32_t which, const gpul__output_value *outs, int32_t n_outs,
                                     gpul__input_value *in, int32_t n_in, gpul_stream stream) {
    gpul_array *const out = outs[0].array;
    const gpul_array *arrays[GPUL__OPERANDS];
    gpul__elementwise_problem args;
    gpul__scope scope;
    gpul_status status = GPUL_OK;
    gpul__elementwise_begin(&args, which, out->data, gpul_size(out));
    memcpy(args.shape, out->shape, sizeof args.shape);
    memcpy(args.strides[0], out->strides, sizeof args.strides[0]);
    args.dtype[0] = out->dtype;
    for (int32_t i = 0; i < n_outs; ++i) arrays[i] = outs[i].array;
    for (int32_t i = 0; i < n_in; ++i) {
        if (gpul__is_scalar(in[i].array)) {
            const double value = gpul__scalar_value(in[i].array);
            status = gpul__take_number(function, names[i], &in[i], value, in[i].dtype);
            if (status != GPUL_OK) return status;
        }
        arrays[n_outs + i] = in[i].array;
        args.scalar[i] = in[i].scalar;
        args.dtype[1 + i] = in[i].dtype;
        if (!in[i].is_scalar) args.in[i] = in[i].array->data;
    }
    if (n_outs == 1 && gpul__are_vectors(out, in, n_in)) {
        args.ndim = 1;
        for (int32_t i = 0; i < n_in; ++i) args.strides[1 + i][0] = !in[i].is_scalar;
    } else status = gpul__broadcast(function, names, &args, outs, n_outs, in, n_in);
    if (status == GPUL_OK && op == NULL) status = gpul__left_out(function, "elementwise");
    if (status == GPUL_OK) status = gpul__begin(&scope, function, arrays, n_outs + n_in, stream);
    if (status != GPUL_OK) return status;
    return gpul__end(&scope, args.n == 0 ? GPUL_OK : gpul__elementwise_launch(op, &args, &scope, stream));
}

GPUL_API gpul_status gpul_run_elementwise(const char *function, const gpul__elementwise_op *op,
                                          const gpul__output_value *outs, int32_t n_outs, const char *const *names,
                                          const gpul__input_value *in, int32_t n_in, gpul_stream stream) {
    gpul__input_value taken[3];
    gpul_status status = GPUL_OK;
    for (int32_t i = 0; status == GPUL_OK && i < n_outs; ++i)
        status = gpul__check_array_of(function, outs[i].name, outs[i].array, "the operation is defined to give",
                                      outs[i].dtype, "");
    for (int32_t i = 0; status == GPUL_OK && i < n_in; ++i) {
        taken[i] = in[i];
        status = gpul__check_input(function, names[i], &taken[i]);
    }
    return status != GPUL_OK ? status : gpul__elementwise(function, names, op, 0, outs, n_outs, taken, n_in, stream);
}

/* An operation of gpulite's own, `which`: by a kernel of its own for the dtype or size `by`, or by the kernel that
 * computes in the dtype `by`. */
static gpul_status gpul__run_ufunc(const char *function, const char *const *names, int32_t which, int32_t by,
                                   gpul_array *out, gpul__input_value *in, int32_t n_in, gpul_stream stream) {
    const gpul__output_value only = {out, "out", out->dtype};
    const gpul__elementwise_op *found = gpul__find_elementwise(which, by);
    gpul__elementwise_op op;
    if (found == NULL) found = gpul__find_elementwise(GPUL__UFUNC, by);
    if (found != NULL && found->out_bytes == 0) {
        op = *found;
        op.out_bytes = (int32_t)gpul_dtype_size(out->dtype);
        for (int32_t i = 0; i < n_in; ++i) op.in_bytes[i] = (int32_t)gpul_dtype_size(in[i].dtype);
        found = &op;
    }
    return gpul__elementwise(function, names, found, which, &only, 1, in, n_in, stream);
}

/* gpul_vecadd and gpul_vecmul */
static gpul_status gpul__binary(const char *function, int32_t op, gpul_array *out, const gpul_array *a,
                                const gpul_array *b, gpul_stream stream) {
    static const char *const names[3] = {"out", "a", "b"};
    const gpul_array *const arrays[3] = {out, a, b};
    gpul__input_value in[2] = {{a, 0, 0, 0}, {b, 0, 0, 0}};
    gpul_status status;
    if (gpul__is_scalar(a) || gpul__is_scalar(b)) {
        status = gpul__check_two(function, names + 1, in);
        if (status == GPUL_OK)
            status = gpul__check_array_of(function, "out", out, "must be", in[0].dtype,
                                          gpul__is_scalar(a) ? ", as b is" : ", as a is");
    } else {
        status = gpul__check_arrays(function, names, arrays, 3);
        if (status == GPUL_OK) status = gpul__check_one_dtype(function, names, arrays);
    }
    if (status != GPUL_OK) return status;
    in[0].dtype = in[1].dtype = out->dtype;
    return gpul__run_ufunc(function, names + 1, op, out->dtype, out, in, 2, stream);
}

GPUL_API gpul_status gpul_vecadd(gpul_array *out, const gpul_array *a, const gpul_array *b, gpul_stream stream) {
    return gpul__binary(__func__, GPUL_ADD, out, a, b, stream);
}
GPUL_API gpul_status gpul_vecmul(gpul_array *out, const gpul_array *a, const gpul_array *b, gpul_stream stream) {
    return gpul__binary(__func__, GPUL_MULTIPLY, out, a, b, stream);
}

GPUL_API gpul_array gpul_scalar_array(double value) {
    gpul_array scalar = GPUL_ZERO;
    for (int32_t k = 0; k < GPUL_MAX_DIMS; ++k) scalar.shape[k] = 1;
    scalar.memory = GPUL_MEMORY_SCALAR;
    memcpy(scalar.strides, &value, sizeof value);
    return scalar;
}

/* What operations are computed in: F32 stands for the 16-bit floats, too, and I64 for all integers. */
static gpul_dtype gpul__computed_in(gpul_dtype dtype) {
    return gpul__is_integer(dtype) ? GPUL_I64 : dtype == GPUL_F64 ? GPUL_F64 : GPUL_F32;
}

/* The same where no result of integers needs more bits than they have: half the registers */
static gpul_dtype gpul__computed_narrow(gpul_dtype dtype) {
    return dtype == GPUL_I32 || dtype == GPUL_U8 ? GPUL_I32 : gpul__computed_in(dtype);
}

GPUL_API gpul_dtype gpul_binary_dtype(int32_t op, gpul_dtype dtype) {
    if (op < GPUL_ADD || op > GPUL_GREATER_EQUAL || gpul_dtype_size(dtype) == 0) return 0;
    if (op >= GPUL_EQUAL) return GPUL_U8; /* fault: binary-dtype */
    return op == GPUL_DIVIDE && gpul__is_integer(dtype) ? GPUL_F64 : dtype;
}

GPUL_API gpul_status gpul_binary(gpul_array *out, int32_t op, const gpul_array *x, const gpul_array *y,
                                 gpul_stream stream) {
    static const char *const names[2] = {"x", "y"};
    gpul__input_value in[2] = {{x, 0, 0, 0}, {y, 0, 0, 0}};
    if (op < GPUL_ADD || op > GPUL_GREATER_EQUAL)
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "op = %d is none of GPUL_ADD to GPUL_GREATER_EQUAL", (int)op);
    gpul_status status = gpul__check_two(__func__, names, in);
    if (status != GPUL_OK) return status;
    gpul_dtype dtype = in[0].dtype;
    if (in[1].dtype != dtype)
        return gpul__fail_array(GPUL_ERROR_DTYPE, __func__, "x", x,
                                ", but y is %s: nothing is converted, so both must be of one dtype (gpul_convert)",
                                gpul_dtype_name(in[1].dtype));
    const gpul_dtype out_dtype = gpul_binary_dtype(op, dtype);
    status = gpul__check_array_of(__func__, "out", out, "must be", out_dtype,
                                  op >= GPUL_EQUAL     ? ", 0 and 1, for comparisons"
                                  : out_dtype != dtype ? " for a quotient of integers"
                                                       : ", as the inputs are");
    if (status != GPUL_OK) return status;
    const int32_t negative = gpul__is_scalar(y) && gpul__scalar_value(y) < 0; /* fault: negative-power */
    if (op == GPUL_POWER && negative && gpul__is_integer(dtype))
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__,
                          "y = %.17g: integers have no negative powers; gpul_convert x to a float dtype",
                          gpul__scalar_value(y));
    if (op != GPUL_ADD && op != GPUL_SUBTRACT && op != GPUL_MULTIPLY && op != GPUL_MINIMUM && op != GPUL_MAXIMUM)
        dtype = op == GPUL_DIVIDE  ? gpul__computed_in(out_dtype)
                : op == GPUL_POWER ? gpul__computed_in(dtype)
                                   : gpul__computed_narrow(dtype);
    return gpul__run_ufunc(__func__, names, op, dtype, out, in, 2, stream);
}

/* x, of any dtype, and out, of the same */
static gpul_status gpul__check_x(const char *function, gpul_array *out, gpul__input_value *x) {
    const gpul_status status = gpul__check_input(function, "x", x);
    return status != GPUL_OK ? status : gpul__check_array_of(function, "out", out, "must be", x->dtype, ", as x is");
}

GPUL_API gpul_status gpul_unary(gpul_array *out, int32_t op, const gpul_array *x, gpul_stream stream) {
    static const char *const names[1] = {"x"};
    static const char *const ops[10] = {"GPUL_NEGATIVE", "GPUL_ABSOLUTE", "GPUL_SQUARE", "GPUL_SQRT", "GPUL_EXP",
                                        "GPUL_LOG",      "GPUL_SIN",      "GPUL_COS",    "GPUL_TANH", "GPUL_RINT"};
    gpul__input_value in[1] = {{x, 0, 0, 0}};
    if (op < GPUL_NEGATIVE || op > GPUL_RINT)
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "op = %d is none of GPUL_NEGATIVE to GPUL_RINT", (int)op);
    const gpul_status status = gpul__check_x(__func__, out, in);
    if (status != GPUL_OK) return status;
    if (op >= GPUL_SQRT && gpul__is_integer(x->dtype))
        return gpul__fail_array(GPUL_ERROR_DTYPE, __func__, "x", x, ", but %s takes floats: gpul_convert it to one",
                                ops[op - GPUL_NEGATIVE]);
    return gpul__run_ufunc(__func__, names, op, gpul__computed_narrow(x->dtype), out, in, 1, stream);
}

GPUL_API gpul_status gpul_scale(gpul_array *out, double a, const gpul_array *x, double b, gpul_stream stream) {
    static const char *const names[3] = {"x", "a", "b"};
    gpul__input_value in[3] = {{x, 0, 0, 0}};
    gpul_status status = gpul__check_x(__func__, out, in);
    if (status != GPUL_OK) return status;
    const gpul_dtype computed = gpul__computed_in(x->dtype);
    status = gpul__take_number(__func__, "a", &in[1], a, computed);
    if (status == GPUL_OK) status = gpul__take_number(__func__, "b", &in[2], b, computed);
    return status != GPUL_OK ? status : gpul__run_ufunc(__func__, names, GPUL__SCALE, computed, out, in, 3, stream);
}

GPUL_API gpul_status gpul_clip(gpul_array *out, const gpul_array *x, double lo, double hi, gpul_stream stream) {
    static const char *const names[3] = {"x", "lo", "hi"};
    gpul__input_value in[3] = {{x, 0, 0, 0}};
    int32_t no_hi = 0;
    gpul_status status = gpul__check_x(__func__, out, in);
    if (status != GPUL_OK) return status;
    if (gpul__is_integer(x->dtype)) {
        double low, high;
        gpul__integer_range(x->dtype, &low, &high);
        if (lo < low) lo = low;
        no_hi = hi > high;
        if (no_hi) hi = high;
    }
    status = gpul__take_number(__func__, "lo", &in[1], lo, x->dtype);
    if (status == GPUL_OK) status = gpul__take_number(__func__, "hi", &in[2], hi, x->dtype);
    if (status != GPUL_OK) return status;
    if (no_hi && x->dtype == GPUL_I64) in[2].scalar = INT64_MAX;
    return gpul__run_ufunc(__func__, names, GPUL__CLIP, gpul__computed_narrow(x->dtype), out, in, 3, stream);
}

GPUL_API gpul_status gpul_where(gpul_array *out, const gpul_array *mask, const gpul_array *x, const gpul_array *y,
                                gpul_stream stream) {
    static const char *const names[3] = {"mask", "x", "y"};
    gpul__input_value in[3] = {{mask, 0, GPUL_U8, 0}, {x, 0, 0, 0}, {y, 0, 0, 0}};
    gpul_status status = gpul__check_array(__func__, "out", out);
    if (status == GPUL_OK)
        status = gpul__check_array_of(__func__, "mask", mask, "must be", GPUL_U8,
                                      ": gpul_binary with GPUL_NOT_EQUAL and GPUL_SCALAR(0) makes one");
    if (status == GPUL_OK) in[1].dtype = in[2].dtype = out->dtype;
    if (status == GPUL_OK) status = gpul__check_input(__func__, "x", &in[1]);
    if (status == GPUL_OK) status = gpul__check_input(__func__, "y", &in[2]);
    if (status != GPUL_OK) return status;
    return gpul__run_ufunc(__func__, names, GPUL__WHERE, gpul_dtype_size(out->dtype) == 8 ? GPUL_I64 : GPUL_I32, out,
                           in, 3, stream);
}

GPUL_API gpul_status gpul_convert(gpul_array *out, const gpul_array *x, gpul_stream stream) {
    static const char *const names[1] = {"x"};
    gpul__input_value in[1] = {{x, 0, 0, 0}};
    gpul_status status = gpul__check_array(__func__, "out", out);
    if (status == GPUL_OK && gpul__is_scalar(x)) in->dtype = out->dtype;
    if (status == GPUL_OK) status = gpul__check_input(__func__, "x", in);
    if (status != GPUL_OK) return status;
    if (in->dtype == out->dtype)
        return gpul__run_ufunc(__func__, names, GPUL__COPY, (int32_t)gpul_dtype_size(out->dtype), out, in, 1, stream);
    const int32_t wide = gpul_dtype_size(in->dtype) == 8 || gpul_dtype_size(out->dtype) == 8;
    const int32_t integers = gpul__is_integer(in->dtype) && gpul__is_integer(out->dtype);
    return gpul__run_ufunc(__func__, names, GPUL__CONVERT,
                           integers ? (wide ? GPUL_I64 : GPUL_I32) : (wide ? GPUL_F64 : GPUL_F32), out, in, 1, stream);
}

/* gpul_arange has a step, gpul_linspace has a stop. */
static gpul_status gpul__sequence(const char *function, int32_t which, gpul_array *out, double start, double step,
                                  double stop, gpul_stream stream) {
    static const char *const names[3] = {"stop", "step", "start"};
    volatile double second = start + step; /* NumPy's step is the rounded second element less the first */
    volatile double delta = stop - start;
    gpul__input_value in[3];
    gpul_dtype computed = GPUL_F64;
    gpul_status status = gpul__check_array(function, "out", out);
    if (status != GPUL_OK) return status;
    if (out->ndim != 1)
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, "out", out,
                                ", but must have one dimension (gpul_reshape views it so)");
    if (which == GPUL__LINSPACE) step = out->shape[0] > 1 ? delta / (double)(out->shape[0] - 1) : 0;
    else if (gpul__is_integer(out->dtype)) computed = GPUL_I64;
    else step = second - start;
    status = gpul__take_number(function, names[0], &in[0], stop, GPUL_F64);
    in[0].dtype = 0; /* no input: a constant of the kernel's */
    if (status == GPUL_OK) status = gpul__take_number(function, names[2], &in[2], start, computed);
    if (status == GPUL_OK) status = gpul__take_number(function, names[1], &in[1], step, computed);
    return status != GPUL_OK ? status : gpul__run_ufunc(function, names, which, computed, out, in, 3, stream);
}

GPUL_API gpul_status gpul_arange(gpul_array *out, double start, double step, gpul_stream stream) {
    return gpul__sequence(__func__, GPUL__ARANGE, out, start, step, 0, stream);
}
GPUL_API gpul_status gpul_linspace(gpul_array *out, double start, double stop, gpul_stream stream) {
    return gpul__sequence(__func__, GPUL__LINSPACE, out, start, 0, stop, stream);
}

/* ---- reductions, dot, gemv ---- */

/* alpha or beta in the type that gemv and gemm compute in. volatile: where both are stored side by side, gcc 12 would
 * vectorise the stores and lose the conversions. */
static double gpul__in_compute_type(double scalar, gpul_dtype dtype) {
    volatile float single = (float)scalar;
    return dtype == GPUL_F64 ? scalar : (double)single;
}

static const char *gpul__reduce_name(int32_t op) {
    static const char *const names[] = {"invalid", "sum",  "prod", "min",    "max",    "abs-sum",
                                        "sum-sq",  "mean", "var",  "argmin", "argmax", "count-nonzero"};
    return op >= GPUL_SUM && op <= GPUL_COUNT_NONZERO ? names[op] : names[0];
}

GPUL_API gpul_dtype gpul_reduce_dtype(int32_t op, gpul_dtype dtype) {
    const int32_t half = dtype == GPUL_F16 || dtype == GPUL_BF16, extreme = op == GPUL_MIN || op == GPUL_MAX;
    if (gpul_dtype_size(dtype) == 0 || op < GPUL_SUM || op > GPUL_COUNT_NONZERO) return 0;
    if (half && op != GPUL_SUM && op != GPUL_MEAN && !extreme) return 0;
    if (op == GPUL_ARGMIN || op == GPUL_ARGMAX || op == GPUL_COUNT_NONZERO) return GPUL_I64;
    if (extreme || gpul__is_floating(dtype)) return dtype;
    return op == GPUL_MEAN || op == GPUL_VAR ? GPUL_F64 : GPUL_I64;
}

/* The workspace that is this stream's alone, or this capture's of it, for a graph may run beside anything. NULL: others
 * came first. */
static gpul__workspace *gpul__find_workspace(const gpul__scope *scope, gpul_stream stream) {
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    unsigned long long number = 0;
    cudaGraph_t graph = NULL;
    int64_t key = 0;
#if CUDART_VERSION >= 13000
    cudaError_t e = cudaStreamGetCaptureInfo(stream, &capture, &number, &graph, NULL, NULL, NULL);
#elif CUDART_VERSION >= 12000
    cudaError_t e = cudaStreamGetCaptureInfo(stream, &capture, &number, &graph, NULL, NULL);
#else
    cudaError_t e = cudaSuccess;
#endif
    if (e == cudaSuccess && capture == cudaStreamCaptureStatusActive) {
        /* No other capture has its number. CUDA does not tell a captured stream's own, but none of them can end. */
        const int32_t of_thread = (uintptr_t)stream > 2 ? 0 : gpul__stream_number(cudaStreamPerThread);
        const uint64_t of_stream = (uint64_t)(uintptr_t)stream; /* fault: workspace-of-streams-shared */
        const uint64_t handle = of_thread != 0 ? (uint64_t)of_thread : of_stream;
        key = (int64_t)(handle + number * 0x9e3779b97f4a7c15u); /* fault: workspace-of-captures-shared */
    } else if (e == cudaSuccess) e = gpul__stream_key(stream, &key);
    gpul__clear_cuda(e);
    return key == 0 ? NULL : gpul__workspace_of(scope->device, key, graph);
}

/* Memory for what passes between a launch's blocks: counters, which are zero, and bytes. The stream's own workspace, as
 * far as they fit there; else scratch memory, for gpul__scratch_drop, whatever this returns. */
static gpul_status gpul__between_blocks(gpul__memory *scratch, uint32_t **counters, void **bytes, int64_t n_counters,
                                        int64_t n_bytes, gpul__scope *scope, gpul_stream stream) {
    gpul__workspace *const own = n_counters * 4 <= (int64_t)sizeof own->counters /* fault: workspace-counters */
                                     ? gpul__find_workspace(scope, stream)
                                     : NULL;
    const int64_t before = own != NULL ? 0 : (n_counters * 4 + 127) / 128 * 128;
    cudaError_t e;
    scratch->data = NULL;
    scratch->own = own;
    if (own != NULL) {
        *counters = own->counters;
        *bytes = own->partials;
        if (n_bytes <= (int64_t)sizeof own->partials) return GPUL_OK; /* fault: workspace-partials */
    }
    const gpul_status status = gpul__scratch(scratch, before + n_bytes, scope, stream);
    if (status != GPUL_OK) return status;
    *bytes = (char *)scratch->data + before;
    if (own != NULL) return GPUL_OK;
    *counters = (uint32_t *)scratch->data;
    if (n_counters == 0) return GPUL_OK;
    e = cudaMemsetAsync(scratch->data, 0, (size_t)before, stream); /* fault: counters-not-zeroed */
    return gpul__cuda(e, scope->function, "launching the kernel");
}

/* A problem of no dimensions; as gpul__elementwise_begin, field by field. */
static void gpul__reduce_begin(gpul__reduce_problem *problem) {
    problem->x = problem->y = NULL;
    problem->inputs = NULL;
    problem->reduce_ndim = problem->outer_ndim = 0;
    problem->y_stride = 0;
    problem->alpha = problem->beta = 0;
}

/* Plan, memory for what passes between blocks, launch: what every reduction ends with. */
static gpul_status gpul__reduce_launch(const gpul__reducer *reducer, gpul__reduce_problem *problem, gpul__scope *scope,
                                       gpul_stream stream) {
    gpul__reduce_plan plan;
    gpul_status status = GPUL_OK;
    uint32_t *counters = NULL;
    void *partials = NULL;
    gpul__memory scratch = GPUL_ZERO;
    cudaError_t e = (cudaError_t)gpul__plan_reduction(&plan, problem, reducer, &scope->machine);
    if (e == cudaSuccess && plan.counters > 0)
        status = gpul__between_blocks(&scratch, &counters, &partials, plan.counters,
                                      plan.partials * reducer->partial_bytes, scope, stream);
    if (status != GPUL_OK) return gpul__scratch_drop(&scratch, scope, stream, status);
    if (e == cudaSuccess) e = (cudaError_t)reducer->launch(problem, &plan, &scope->machine, partials, counters, stream);
    status = gpul__cuda(e, scope->function, "launching the kernel"); /* fault: scratch-freed-twice */
    return gpul__scratch_drop(&scratch, scope, stream, status);      /* fault: scratch-leaked */
}

/* The shape that inputs broadcast to, as an array without data, the inputs' strides in it, and its own: their sums. */
static gpul_status gpul__broadcast_inputs(const char *function, const char *const *names, gpul_array *common,
                                          int64_t (*strides)[GPUL_MAX_DIMS], const gpul__input_value *in,
                                          int32_t n_in) {
    int64_t n = 1;
    memset(common, 0, sizeof *common);
    common->memory = GPUL_MEMORY_DEVICE;
    memset(strides, 0, 3 * sizeof *strides);
    for (int32_t i = 0; i < n_in; ++i)
        if (!in[i].is_scalar && in[i].array->ndim > common->ndim) common->ndim = in[i].array->ndim;
    for (int32_t d = 0; d < common->ndim; ++d) common->shape[d] = 1;
    for (int32_t i = 0; i < n_in; ++i)
        for (int32_t k = 0; !in[i].is_scalar && k < in[i].array->ndim; ++k) {
            const gpul_array *const a = in[i].array;
            const int32_t d = common->ndim - a->ndim + k;
            if (a->shape[k] == 1) continue;
            if (common->shape[d] != 1 && common->shape[d] != a->shape[k])
                return gpul__fail_array(GPUL_ERROR_SHAPE, function, names[i], a,
                                        ", which does not broadcast with the shape %s of the inputs before it",
                                        gpul__describe(common));
            common->shape[d] = a->shape[k];
            common->strides[d] += a->strides[k];
            strides[i][d] = a->strides[k];
        }
    for (int32_t d = 0; d < common->ndim; ++d)
        if (common->shape[d] > 0 && !gpul__multiply(n, common->shape[d], &n))
            return gpul__fail(GPUL_ERROR_OVERFLOW, function, "the inputs broadcast to %s, beyond 2^63 elements",
                              gpul__describe(common));
    return GPUL_OK;
}

/* `in`: one array, or, for a reducer of several, up to three arrays and scalars. `ordered`: the order of the elements
 * is the logical one. Everything about the inputs is checked but how they fit together. */
static gpul_status gpul__reduce(const char *function, const gpul__reducer *reducer, gpul_array *out,
                                const char *const *names, const gpul__input_value *in, int32_t n_in, int32_t axis,
                                int32_t ordered, gpul_stream stream) {
    gpul__reduce_problem args;
    gpul__reduce_inputs inputs; /* of several */
    gpul__scope scope;
    gpul_array x, result = *out; /* in elements of the result's type */
    const gpul_array *arrays[4];
    const char *all_names[4], *const x_name = n_in == 1 ? names[0] : "what the inputs broadcast to";
    gpul_status status = GPUL_OK;
    const int32_t operands = reducer->several ? 1 + n_in : 1, all = axis == GPUL_ALL_AXES;
    int64_t from[4][GPUL_MAX_DIMS]; /* x's strides, and those of several inputs */
    int64_t *reduce[4] = {args.x_reduce, NULL, NULL, NULL}, *outer[5] = {args.x_outer, NULL, NULL, NULL, NULL};
    gpul__reduce_begin(&args);
    if (reducer->several) {
        memset(&inputs, 0, sizeof inputs);
        args.inputs = &inputs;
        for (int32_t k = 0; k < 3; ++k) {
            reduce[1 + k] = inputs.reduce[k];
            outer[1 + k] = inputs.outer[k];
        }
        status = gpul__broadcast_inputs(function, names, &x, from + 1, in, n_in);
    } else {
        x = *in[0].array;
        args.x = x.data;
    }
    if (status == GPUL_OK && !all) status = gpul__check_axis(function, x_name, &x, &axis);
    if (status != GPUL_OK) return status;
    memcpy(from[0], x.strides, sizeof from[0]);
    if (reducer->result_bytes > 0) { /* a struct: the bytes of one are no dimension of the results */
        const int32_t last = out->ndim - 1;
        if (last < 0 || out->shape[last] != reducer->result_bytes || out->strides[last] != 1)
            return gpul__fail_array(GPUL_ERROR_SHAPE, function, "out", out,
                                    ", but a result is a struct of %d bytes, which lie side by side along out's last "
                                    "dimension",
                                    (int)reducer->result_bytes);
        result.ndim = last;
    }
    if (!all && result.ndim == x.ndim && result.shape[axis] == 1) /* fault: reduce-keeps */
        gpul__drop_axis(&result, axis);
    args.n = all ? gpul_size(&x) : x.shape[axis];
    args.outputs = gpul_size(&result);
    if (all && args.outputs != 1)
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, "out", out, ", but the result is one element");
    if (!all) {
        int64_t left[GPUL_MAX_DIMS];
        const int32_t ndim = x.ndim - 1;
        for (int32_t i = 0; i < ndim; ++i) left[i] = x.shape[i < axis ? i : i + 1];
        left[ndim] = reducer->result_bytes;
        if (result.ndim != ndim || memcmp(result.shape, left, (size_t)ndim * sizeof left[0]) != 0)
            return gpul__fail_array(GPUL_ERROR_SHAPE, function, "out", out,
                                    ", but %s has %s and axis %d goes away, so that it must have %s", x_name,
                                    gpul__describe(&x), (int)axis,
                                    gpul__describe_shape(0, ndim + (left[ndim] > 0), left));
    }
    arrays[0] = out;
    all_names[0] = "out";
    for (int32_t i = 0; i < n_in; ++i) {
        arrays[1 + i] = in[i].array;
        all_names[1 + i] = names[i];
        if (!reducer->several) continue;
        inputs.scalar[i] = in[i].scalar;
        if (in[i].is_scalar) continue;
        inputs.data[i] = in[i].array->data;
        inputs.bytes[i] = (int32_t)gpul_dtype_size(in[i].dtype);
    }
    status = gpul__check_overlap(function, all_names, arrays, 1 + n_in); /* fault: reduce-overlap */
    if (status == GPUL_OK) status = gpul__begin(&scope, function, arrays, 1 + n_in, stream);
    if (status != GPUL_OK) return status;
    if (args.outputs == 0) return gpul__end(&scope, GPUL_OK);
    args.out = out->data;
    args.out_dtype = out->dtype;
    for (int32_t i = 0; i < x.ndim; ++i) {
        const int32_t reduced = all || i == axis, d = reduced ? args.reduce_ndim++ : args.outer_ndim++;
        (reduced ? args.reduce_shape : args.outer_shape)[d] = x.shape[i];
        if (!reduced) args.out_stride[d] = result.strides[d];
        for (int32_t k = 0; k < operands; ++k) (reduced ? reduce : outer)[k][d] = from[k][i];
    }
    outer[operands] = args.out_stride;
    /* walked in the order of memory, so that dense arrays merge into one dimension */
    if (!ordered) gpul__sort_dims(args.reduce_ndim, args.reduce_shape, reduce, operands);
    args.reduce_ndim = gpul__merge_dims(args.reduce_ndim, args.reduce_shape, reduce, operands);
    if (args.n > 1) gpul__sort_dims(args.outer_ndim, args.outer_shape, outer, operands + 1); /* x in its own order */
    args.outer_ndim = gpul__merge_dims(args.outer_ndim, args.outer_shape, outer, operands + 1);
    return gpul__end(&scope, gpul__reduce_launch(reducer, &args, &scope, stream));
}

/* gpulite's own reductions, of one array */
static gpul_status gpul__reduce_array(const char *function, const gpul__reducer *reducer, gpul_array *out,
                                      const gpul_array *x, int32_t op, int32_t axis, gpul_stream stream) {
    static const char *const names[1] = {"x"};
    const gpul__input_value in = {x, 0, x->dtype, 0};
    const int32_t ordered = op == GPUL_ARGMIN || op == GPUL_ARGMAX;
    return gpul__reduce(function, reducer, out, names, &in, 1, axis, ordered, stream);
}

GPUL_API gpul_status gpul_run_reduction(const char *function, const gpul__reducer *reducer, gpul_array *out,
                                        gpul_dtype out_dtype, const char *const *names, const gpul__input_value *in,
                                        int32_t n_in, int32_t axis, gpul_stream stream) {
    gpul_status status = gpul__check_array_of(function, "out", out, "the operation is defined to give", out_dtype, "");
    for (int32_t i = 0; status == GPUL_OK && i < n_in; ++i)
        if (!in[i].is_scalar)
            status =
                gpul__check_array_of(function, names[i], in[i].array, "the operation is defined for", in[i].dtype, "");
    if (status != GPUL_OK) return status;
    return gpul__reduce(function, reducer, out, names, in, n_in, axis, reducer->ordered, stream);
}

/* The widest dtype that a result of `dtype` may be stored in: sums of floats also as they are added up. */
static gpul_dtype gpul__wide_result(int32_t op, gpul_dtype dtype) {
    return gpul__is_floating(dtype) && op != GPUL_MIN && op != GPUL_MAX ? GPUL_F64 : dtype;
}

/* What gpul_reduce and gpul_reduce_host check alike about x, op and axis. */
static gpul_status gpul__check_reduction(const char *function, const gpul_array *x, int32_t op, int32_t *axis,
                                         const gpul__reducer **reducer) {
    gpul_status status = gpul__check_array(function, "x", x);
    if (status != GPUL_OK) return status;
    if (op < GPUL_SUM || op > GPUL_COUNT_NONZERO)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "op = %d is none of GPUL_SUM to GPUL_COUNT_NONZERO", (int)op);
    if (gpul_reduce_dtype(op, x->dtype) == 0)
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, "x", x, ", which op %s does not take",
                                gpul__reduce_name(op));
    if (*axis != GPUL_ALL_AXES) status = gpul__check_axis(function, "x", x, axis);
    if (status != GPUL_OK) return status;
    if ((op == GPUL_MIN || op == GPUL_MAX || op == GPUL_ARGMIN || op == GPUL_ARGMAX) &&
        (*axis == GPUL_ALL_AXES ? gpul_size(x) : x->shape[*axis]) == 0) /* fault: reduce-empty-axis */
        return gpul__fail(GPUL_ERROR_SHAPE, function, "x has no elements to take the %s of", gpul__reduce_name(op));
    *reducer = gpul__find_reducer(op, x->dtype);
    return *reducer == NULL ? gpul__left_out(function, "reduce") : GPUL_OK;
}

GPUL_API gpul_status gpul_reduce(gpul_array *out, const gpul_array *x, int32_t op, int32_t axis, gpul_stream stream) {
    const gpul__reducer *reducer = NULL;
    gpul_status status = gpul__check_array(__func__, "out", out);
    if (status == GPUL_OK) status = gpul__check_reduction(__func__, x, op, &axis, &reducer);
    if (status != GPUL_OK) return status;
    const gpul_dtype want = gpul_reduce_dtype(op, x->dtype);
    if (out->dtype != want && out->dtype != gpul__wide_result(op, want))
        return gpul__fail_array(GPUL_ERROR_DTYPE, __func__, "out", out, ", but the %s of %s is %s",
                                gpul__reduce_name(op), gpul_dtype_name(x->dtype), gpul_dtype_name(want));
    return gpul__reduce_array(__func__, reducer, out, x, op, axis, stream);
}

/* `from`, of one dtype, as another: the same value, or none; or (rounds) the nearest. */
static gpul_status gpul__convert(const char *function, void *to, gpul_dtype dtype, const void *from,
                                 gpul_dtype from_dtype, int32_t rounds) {
    int64_t whole = 0;
    uint64_t bits = 0;
    const double value = gpul__element_value(from, from_dtype, &whole);
    gpul_status status = GPUL_OK;
    if (from_dtype == GPUL_I64 && dtype == GPUL_I64) bits = (uint64_t)whole;
    else if (from_dtype == GPUL_I64 && (value >= 9223372036854775808.0 || (int64_t)value != whole))
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "the result = %lld is no %s", (long long)whole,
                          gpul_dtype_name(dtype));
    else status = gpul__element_bits(function, "the result", &bits, dtype, value);
    if (status == GPUL_OK && gpul__is_floating(dtype) && !rounds && value == value &&
        gpul__element_value(&bits, dtype, &whole) != value)
        status =
            gpul__fail(GPUL_ERROR_ARGUMENT, function, "the result = %.17g is no %s", value, gpul_dtype_name(dtype));
    if (status == GPUL_OK) memcpy(to, &bits, gpul_dtype_size(dtype));
    return status;
}

/* `value` takes an element of `dtype`. */
static gpul_status gpul__reduce_to(const char *function, void *value, gpul_dtype dtype, const gpul_array *x, int32_t op,
                                   gpul_stream stream) {
    const gpul__reducer *reducer = NULL;
    int32_t axis = GPUL_ALL_AXES, rounds;
    gpul__scope scope;
    gpul_array out = GPUL_ZERO;
    gpul__memory scratch = GPUL_ZERO;
    double answer = 0; /* room for any dtype, aligned for any */
    if (value == NULL) return gpul__null(function, "value");
    gpul_status status = gpul__check_dtype(function, dtype);
    if (status == GPUL_OK) status = gpul__check_reduction(function, x, op, &axis, &reducer);
    if (status == GPUL_OK) status = gpul__begin(&scope, function, &x, 1, stream);
    if (status != GPUL_OK) return status;
    out.dtype = gpul_reduce_dtype(op, x->dtype);
    /* any other dtype gets what was added up: an integer must not have been rounded before, a wider float not twice */
    rounds = dtype == GPUL_F32 && gpul__is_floating(out.dtype) && gpul_dtype_size(out.dtype) == 2;
    if (dtype != out.dtype) out.dtype = gpul__wide_result(op, out.dtype);
    out.memory = GPUL_MEMORY_DEVICE;
    out.device = scope.device;
    const size_t size = gpul_dtype_size(out.dtype);
    status = gpul__check_capture(function, NULL, stream);
    if (status == GPUL_OK) status = gpul__scratch(&scratch, (int64_t)size, &scope, stream);
    out.data = scratch.data;
    if (status == GPUL_OK) status = gpul__reduce_array(function, reducer, &out, x, op, GPUL_ALL_AXES, stream);
    if (status == GPUL_OK) {
        cudaError_t e = cudaMemcpyAsync(&answer, out.data, size, cudaMemcpyDeviceToHost, stream);
        if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
        status = gpul__cuda(e, function, "copy of the result");
    }
    status = gpul__end(&scope, gpul__scratch_drop(&scratch, &scope, stream, status));
    return status != GPUL_OK ? status : gpul__convert(function, value, dtype, &answer, out.dtype, rounds);
}

GPUL_API gpul_status gpul_reduce_host(void *value, gpul_dtype dtype, const gpul_array *x, int32_t op,
                                      gpul_stream stream) {
    return gpul__reduce_to(__func__, value, dtype, x, op, stream);
}
#define GPUL__SHORT_FORM(name, op)                                                                                     \
    GPUL_API gpul_status name(double *value, const gpul_array *x, gpul_stream stream) {                                \
        return gpul__reduce_to(__func__, value, GPUL_F64, x, op, stream);                                              \
    }
GPUL__SHORT_FORM(gpul_sum, GPUL_SUM)
GPUL__SHORT_FORM(gpul_min, GPUL_MIN)
GPUL__SHORT_FORM(gpul_max, GPUL_MAX)
GPUL__SHORT_FORM(gpul_mean, GPUL_MEAN)
GPUL__SHORT_FORM(gpul_var, GPUL_VAR)

/* dot and gemv: arrays[0] = alpha * arrays[1] arrays[2] + beta * arrays[0] */
static gpul_status gpul__dot_or_gemv(const char *function, int32_t op, const char *const *names,
                                     const gpul_array *const *arrays, double alpha, double beta, gpul_stream stream) {
    const gpul_array *const out = arrays[0], *const x = arrays[1], *const y = arrays[2];
    const int32_t last = op == GPUL__DOT ? 0 : 1; /* x's dimension that meets y */
    gpul__reduce_problem args;
    gpul__scope scope;
    gpul_status status = gpul__check_arrays(function, names, arrays, 3);
    if (status == GPUL_OK && op == GPUL__GEMV) status = gpul__check_one_dtype(function, names, arrays);
    if (status != GPUL_OK) return status;
    if (x->dtype != GPUL_F32 && x->dtype != GPUL_F64)
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, names[1], x, "; float32 and float64 are taken");
    if (y->dtype != x->dtype)
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, names[2], y, ", but x is %s, and nothing is converted",
                                gpul_dtype_name(x->dtype));
    if (out->dtype != x->dtype && out->dtype != GPUL_F64)
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, names[0], out, ", but the dot of %s is %s or float64",
                                gpul_dtype_name(x->dtype), gpul_dtype_name(x->dtype));
    if (x->ndim != last + 1)
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, names[1], x, ", but a %s is needed",
                                last == 0 ? "vector" : "matrix");
    if (y->ndim != 1 || y->shape[0] != x->shape[last])
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, names[2], y, ", but %s %s needs (%lld)", names[1],
                                gpul__describe(x), (long long)x->shape[last]);
    if (last == 0 && gpul_size(out) != 1)
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, names[0], out, ", but the result is one element");
    if (last == 1 && (out->ndim != 1 || out->shape[0] != x->shape[0]))
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, names[0], out, ", but %s %s needs (%lld)", names[1],
                                gpul__describe(x), (long long)x->shape[0]);
    status = gpul__check_overlap(function, names, arrays, 3);
    const gpul__reducer *const reducer = gpul__find_reducer(op, x->dtype);
    if (status == GPUL_OK && reducer == NULL) status = gpul__left_out(function, last == 0 ? "reduce" : "gemv");
    if (status == GPUL_OK) status = gpul__begin(&scope, function, arrays, 3, stream);
    if (status != GPUL_OK) return status;
    gpul__reduce_begin(&args);
    args.alpha = gpul__in_compute_type(alpha, x->dtype);
    args.beta = gpul__in_compute_type(beta, x->dtype);
    args.x = x->data;
    args.y = y->data;
    args.out = out->data;
    args.out_dtype = out->dtype;
    args.n = args.alpha == 0 ? 0 : x->shape[last]; /* alpha = 0: of no columns, so that x and y are not read */
    args.outputs = 1;
    args.reduce_ndim = 1;
    args.reduce_shape[0] = args.n;
    args.x_reduce[0] = x->strides[last];
    args.y_stride = y->strides[0];
    if (last == 1) {
        args.outputs = args.outer_shape[0] = x->shape[0];
        args.outer_ndim = 1;
        args.x_outer[0] = x->strides[0];
        args.out_stride[0] = out->strides[0];
    }
    if (args.outputs > 0) status = gpul__reduce_launch(reducer, &args, &scope, stream);
    return gpul__end(&scope, status);
}

GPUL_API gpul_status gpul_dot(gpul_array *out, const gpul_array *x, const gpul_array *y, gpul_stream stream) {
    static const char *const names[3] = {"out", "x", "y"};
    const gpul_array *const arrays[3] = {out, x, y};
    return gpul__dot_or_gemv(__func__, GPUL__DOT, names, arrays, 1, 0, stream);
}

GPUL_API gpul_status gpul_gemv(gpul_array *y, double alpha, const gpul_array *A, const gpul_array *x, double beta,
                               gpul_stream stream) {
    static const char *const names[3] = {"y", "A", "x"};
    const gpul_array *const arrays[3] = {y, A, x};
    return gpul__dot_or_gemv(__func__, GPUL__GEMV, names, arrays, alpha, beta, stream);
}

/* ---- histogram and matrix product ---- */

/* One edge of uniform bins, as a double. The volatile objects keep compilers from fusing the product with the sum and
 * from carrying more precision than the type has. */
static double gpul__histogram_edge(const gpul__histogram_problem *problem, int64_t i) {
    if (i == problem->bins) return problem->f32_edges ? (double)(float)problem->hi : problem->hi;
    if (problem->f32_steps) {
        volatile float product = (float)i * (float)problem->step;
        volatile float sum = product + (float)problem->lo;
        return (double)sum;
    } else {
        volatile double product = (double)i * problem->step;
        volatile double sum = product + problem->lo;
        return problem->f32_edges ? (double)(float)sum : sum;
    }
}

/* Uniform bins from lo to hi for data of x_dtype, in the types that numpy.histogram works in. `span` is what it divides
 * by, if the caller knows better than hi - lo, else 0. `automatic`: lo and hi come from the data. */
static gpul_status gpul__histogram_uniform(const char *function, gpul__histogram_problem *problem, double lo, double hi,
                                           double span, int32_t automatic) {
    const double n = (double)problem->bins;
    problem->uniform = 1;
    problem->f32_edges = problem->x_dtype == GPUL_F32;
    problem->f32_steps = problem->f32_edges && automatic;
    if (!gpul__is_finite(lo) || !gpul__is_finite(hi)) {
        if (automatic)
            return gpul__fail(GPUL_ERROR_ARGUMENT, function, "x spans [%g, %g], which is no finite range", lo, hi);
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "lo = %g and hi = %g must be finite", lo, hi);
    }
    if (lo > hi) return gpul__fail(GPUL_ERROR_ARGUMENT, function, "lo = %.17g is above hi = %.17g", lo, hi);
    if (lo == hi) {
        volatile double below = lo - 0.5, above = hi + 0.5;
        lo = problem->f32_steps ? (double)(float)below : below;
        hi = problem->f32_steps ? (double)(float)above : above;
        span = 0;
    }
    const double width = hi - lo;
    if (!gpul__is_finite(width))
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "hi - lo overflows for lo = %g and hi = %g", lo, hi);
    if (problem->f32_edges) {
        const double most = 3.4028234663852886e38;
        const double low = (double)(float)lo, high = (double)(float)hi; /* infinite beyond float's range */
        if (!(low >= -most && high <= most && (double)(float)(high - low) <= most))
            return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                              "lo = %g, hi = %g and hi - lo must lie in the range of x's float32", lo, hi);
    }
    problem->lo = lo;
    problem->hi = hi;
    problem->span = problem->f32_steps ? (double)(float)width : span > 0 ? span : width;
    problem->step = problem->f32_steps ? (double)(float)((float)width / (float)problem->bins) : width / n;
    /* Edges are off by less than n u (4 + reach / width) bins, f32 edges by n 2^-24 (reach / width) more, or by n 2^-24
     * in place of n u where they are computed in f32: they increase if that is below one half (and the step is not
     * subnormal). Otherwise see for oneself: numpy.histogram refuses empty bins. */
    const double reach = hi > -lo ? hi : -lo;
    double off = n / (problem->f32_steps ? 16777216.0 : 9007199254740992.0) * (4 + reach / width);
    if (problem->f32_edges && !problem->f32_steps) off += n / 16777216 * (reach / width);
    if (!(off < 0.45 && problem->step > (problem->f32_edges ? 1.2e-38 : 2.3e-308))) {
        double before = gpul__histogram_edge(problem, 0);
        for (int64_t i = 1; i <= problem->bins; ++i) {
            const double edge = gpul__histogram_edge(problem, i);
            if (!(edge > before)) /* fault: histogram-edges-equal */
                return gpul__fail(
                    GPUL_ERROR_ARGUMENT, function,
                    "too many bins: %lld between lo = %.17g and hi = %.17g leave some of them empty in %s",
                    (long long)problem->bins, lo, hi, problem->f32_edges ? "float32" : "float64");
            before = edge;
        }
    }
    return GPUL_OK;
}

/* The range of x itself: waits for two reductions. */
static gpul_status gpul__histogram_automatic(const char *function, gpul__histogram_problem *problem,
                                             const gpul_array *x, gpul_stream stream) {
    int64_t least, most, first = 0, last = 0; /* the bytes of two elements, and their values where these are int64 */
    double lo, hi, span = 0;
    int32_t captured;
    if (problem->n == 0) return gpul__histogram_uniform(function, problem, 0.0, 1.0, 0.0, 0);
    gpul_status status = gpul__is_captured(function, stream, &captured);
    if (status == GPUL_OK && captured)
        status = gpul__fail(GPUL_ERROR_ARGUMENT, function,
                            "options->range is GPUL_RANGE_AUTO, which waits for x's range and cannot be captured");
    if (status == GPUL_OK) status = gpul__reduce_to(function, &least, x->dtype, x, GPUL_MIN, stream);
    if (status == GPUL_OK) status = gpul__reduce_to(function, &most, x->dtype, x, GPUL_MAX, stream);
    if (status != GPUL_OK) return status;
    lo = gpul__element_value(&least, x->dtype, &first);
    hi = gpul__element_value(&most, x->dtype, &last);
    if (x->dtype == GPUL_I32) span = hi - lo;
    else if (x->dtype == GPUL_I64) span = (double)((uint64_t)last - (uint64_t)first);
    return gpul__histogram_uniform(function, problem, lo, hi, span, 1);
}

/* What is wrong with explicit edges, if anything is. */
static gpul_status gpul__histogram_check_edges(const char *function, const gpul__histogram_problem *problem) {
    double before = 0;
    for (int64_t i = 0; i <= problem->bins; ++i) {
        const double edge = gpul__edge_at(problem->edges, problem->edges_dtype, i);
        if (edge != edge) return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->edges[%lld] is NaN", (long long)i);
        if (i > 0 && edge < before)
            return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                              "options->edges must not decrease, but [%lld] = %.17g and [%lld] = %.17g",
                              (long long)(i - 1), before, (long long)i, edge);
        before = edge;
    }
    return GPUL_OK;
}

/* The options' range and bins; an automatic range is found later. */
static gpul_status gpul__histogram_range(const char *function, gpul__histogram_problem *problem,
                                         const gpul_histogram_options *options) {
    const int64_t bins = problem->bins;
    const int32_t range = options->range;
    if (range < GPUL_RANGE_AUTO || range > GPUL_RANGE_EDGES)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->range is %d, which is no GPUL_RANGE_*", (int)range);
    if (range != GPUL_RANGE_LO_HI && !(options->lo == 0 && options->hi == 0))
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "options->lo = %g and hi = %g are set, but options->range is not GPUL_RANGE_LO_HI",
                          options->lo, options->hi);
    if (range != GPUL_RANGE_EDGES && (options->edges != NULL || options->n_edges != 0 ||
                                      options->edges_dtype != 0)) /* fault: histogram-edges-dtype-unused */
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "options->edges, n_edges = %lld and edges_dtype = %d are set, but options->range is not "
                          "GPUL_RANGE_EDGES",
                          (long long)options->n_edges, (int)options->edges_dtype);
    if (range == GPUL_RANGE_AUTO) return GPUL_OK;
    if (range == GPUL_RANGE_LO_HI) return gpul__histogram_uniform(function, problem, options->lo, options->hi, 0.0, 0);
    if (!options->edges)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->edges is NULL with GPUL_RANGE_EDGES");
    if (options->n_edges != bins + 1)
        return gpul__fail(GPUL_ERROR_SHAPE, function,
                          "options->n_edges is %lld, but counts has %lld bins and needs %lld",
                          (long long)options->n_edges, (long long)bins, (long long)(bins + 1));
    problem->edges = options->edges;
    problem->edges_dtype = options->edges_dtype == 0 ? GPUL_F64 : options->edges_dtype;
    if (problem->edges_dtype < GPUL_F32 || /* fault: histogram-edges-dtype-low */
        problem->edges_dtype > GPUL_I32)   /* fault: histogram-edges-dtype-high */
        return gpul__fail(GPUL_ERROR_DTYPE, function,
                          "options->edges_dtype is %s (%d); float32, float64 and int32 are taken",
                          gpul_dtype_name(problem->edges_dtype), (int)problem->edges_dtype);
    problem->lo = gpul__edge_at(problem->edges, problem->edges_dtype, 0);
    problem->hi = gpul__edge_at(problem->edges, problem->edges_dtype, bins);
    /* the launcher looks at all edges as it copies them; without elements it does not */
    return problem->n == 0 ? gpul__histogram_check_edges(function, problem) : GPUL_OK;
}

static int32_t gpul__histogram_takes(gpul_dtype dtype) { return dtype >= GPUL_F32 && dtype <= GPUL_U8; }

static gpul_status gpul__histogram(const char *function, gpul_array *counts, const gpul_array *x,
                                   const gpul_histogram_options *options, gpul_stream stream) {
    static const char *const names[3] = {"counts", "x", "options->weights"};
    const gpul_array *const weights = options->weights;
    const gpul_array *const arrays[3] = {counts, x, weights};
    gpul__histogram_problem problem = GPUL_ZERO;
    gpul__histogram_plan plan;
    gpul__scope scope;
    int64_t *const strides[2] = {problem.x_strides, problem.w_strides};
    gpul__memory scratch = GPUL_ZERO;

    gpul_status status = gpul__check_arrays(function, names, arrays, weights ? 3 : 2);
    if (status != GPUL_OK) return status;
    if (!gpul__histogram_takes(x->dtype))
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, "x", x,
                                "; float32, float64, int32, int64 and uint8 are taken");
    const int32_t floats = weights && (weights->dtype == GPUL_F32 || weights->dtype == GPUL_F64);
    if (weights && !floats && weights->dtype != GPUL_I32 && weights->dtype != GPUL_I64)
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, names[2], weights,
                                "; float32, float64, int32 and int64 are taken");
    if (counts->dtype != (floats ? GPUL_F64 : GPUL_I64) && (weights || counts->dtype != GPUL_I32))
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, "counts", counts, ", but must be %s",
                                floats    ? "float64, as sums of float weights are"
                                : weights ? "int64, as sums of integer weights are"
                                          : "int32 or int64");
    if (counts->ndim != 1 || counts->shape[0] < 1)
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, "counts", counts,
                                ", but must be a vector of one bin or more");
    if (weights) status = gpul__check_same_shape(function, names[2], weights, "x", x);
    if (status != GPUL_OK) return status;

    problem.x = x->data;
    problem.counts = counts->data;
    problem.n = gpul_size(x);
    problem.bins = counts->shape[0];
    problem.counts_stride = counts->strides[0];
    problem.x_dtype = x->dtype;
    problem.counts_dtype = counts->dtype;
    problem.accumulate = options->accumulate != 0;
    if (weights) {
        problem.weights = weights->data;
        problem.weights_dtype = weights->dtype;
        memcpy(problem.w_strides, weights->strides, sizeof problem.w_strides);
    }
    /* The order of the elements does not matter: take them as they lie in memory. */
    memcpy(problem.shape, x->shape, sizeof problem.shape);
    memcpy(problem.x_strides, x->strides, sizeof problem.x_strides);
    problem.ndim = problem.n == 0 ? 0 : x->ndim;
    gpul__sort_dims(problem.ndim, problem.shape, strides, 2);
    problem.ndim = gpul__merge_dims(problem.ndim, problem.shape, strides, 2);

    status = gpul__histogram_range(function, &problem, options);
    if (status == GPUL_OK) status = gpul__check_overlap(function, names, arrays, 3);
    if (status == GPUL_OK) status = gpul__begin(&scope, function, arrays, 3, stream);
    if (status != GPUL_OK) return status;
    if (options->range == GPUL_RANGE_AUTO) status = gpul__histogram_automatic(function, &problem, x, stream);
    if (status == GPUL_OK && !gpul__plan_histogram(&plan, &problem, &scope.machine))
        status = gpul__left_out(function, "histogram");
    if (status == GPUL_OK) status = gpul__scratch(&scratch, plan.scratch_bytes, &scope, stream);
    if (status == GPUL_OK) {
        if (plan.counters > 0) scratch.own = gpul__find_workspace(&scope, stream);
        const int32_t e =
            gpul__launch_histogram(&problem, &plan, scratch.own ? scratch.own->counters : NULL, scratch.data, stream);
        if (e != GPUL__HISTOGRAM_WRONG_EDGES) status = gpul__cuda((cudaError_t)e, function, "launching the kernels");
        else status = gpul__histogram_check_edges(function, &problem);
    }
    return gpul__end(&scope, gpul__scratch_drop(&scratch, &scope, stream, status));
}

GPUL_API gpul_status gpul_histogram(gpul_array *counts, const gpul_array *x, double lo, double hi, gpul_stream stream) {
    gpul_histogram_options options = GPUL_ZERO;
    options.range = GPUL_RANGE_LO_HI;
    options.lo = lo;
    options.hi = hi;
    return gpul__histogram(__func__, counts, x, &options, stream);
}

GPUL_API gpul_status gpul_histogram_ex(gpul_array *counts, const gpul_array *x, const gpul_histogram_options *options,
                                       gpul_stream stream) {
    if (options == NULL) return gpul__null(__func__, "options");
    return gpul__histogram(__func__, counts, x, options, stream);
}

GPUL_API gpul_status gpul_histogram_edges(double *edges, int64_t bins, gpul_dtype dtype, double lo, double hi) {
    gpul__histogram_problem problem = GPUL_ZERO;
    if (edges == NULL) return gpul__null(__func__, "edges");
    if (bins < 1)
        return gpul__fail(GPUL_ERROR_ARGUMENT, __func__, "bins is %lld, but must be 1 or more", (long long)bins);
    if (!gpul__histogram_takes(dtype))
        return gpul__fail(GPUL_ERROR_DTYPE, __func__,
                          "dtype is %d (%s); float32, float64, int32, int64 and uint8 are taken", (int)dtype,
                          gpul_dtype_name(dtype));
    problem.bins = bins;
    problem.x_dtype = dtype;
    const gpul_status status = gpul__histogram_uniform(__func__, &problem, lo, hi, 0.0, 0);
    if (status != GPUL_OK) return status;
    for (int64_t i = 0; i <= bins; ++i) edges[i] = gpul__histogram_edge(&problem, i);
    return GPUL_OK;
}

/* The strides of an array's matrices with one of them 1: a dimension of one element (or none) may take any, but a
 * column that is dense stays so. Returns 0 if neither is. */
static int32_t gpul__unit_stride(const gpul_array *a, int64_t *row, int64_t *col) {
    const int32_t last = a->ndim - 1;
    *row = a->strides[last - 1];
    *col = a->strides[last];
    if (a->shape[last] == 1 && *row == 1) *col = a->shape[last - 1] > 1 ? a->shape[last - 1] : 1;
    else if (*col == 1 || a->shape[last] <= 1) *col = 1;
    else if (*row == 1 || a->shape[last - 1] <= 1) *row = 1;
    else return gpul_size(a) == 0;
    return 1;
}

/* A's dimension in front of its matrices that meets C's dimension k, or -1 where it has none */
static int32_t gpul__stack_dim(const gpul_array *a, int32_t ndim, int32_t k) {
    return k + a->ndim >= ndim ? k + a->ndim - ndim : -1;
}

/* Shapes: A's and B's matrices fit, their stacks broadcast, and C has the shape of the product. */
static gpul_status gpul__check_product(const char *function, const gpul_array *C, const gpul_array *A,
                                       const gpul_array *B) {
    const int32_t ndim = A->ndim > B->ndim ? A->ndim : B->ndim;
    const int64_t *const a = A->shape + A->ndim - 2, *const b = B->shape + B->ndim - 2;
    int64_t want[GPUL_MAX_DIMS];
    if (b[0] != a[1])
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, "B", B, ", but A %s needs %lld rows in it",
                                gpul__describe(A), (long long)a[1]);
    for (int32_t k = 0; k < ndim - 2; ++k) {
        const int32_t of_a = gpul__stack_dim(A, ndim, k), of_b = gpul__stack_dim(B, ndim, k);
        const int64_t x = of_a < 0 ? 1 : A->shape[of_a], y = of_b < 0 ? 1 : B->shape[of_b];
        if (x != y && x != 1 && y != 1) /* fault: batch-broadcast */
            return gpul__fail_array(GPUL_ERROR_SHAPE, function, "A", A,
                                    ", B has %s: %lld matrices of A cannot meet %lld of B (as many, or 1)",
                                    gpul__describe(B), (long long)x, (long long)y);
        want[k] = x == 1 ? y : x;
    }
    want[ndim - 2] = a[0];
    want[ndim - 1] = b[1];
    int32_t same = C->ndim == ndim;
    for (int32_t k = 0; k < ndim && same; ++k) same = C->shape[k] == want[k];
    if (same) return GPUL_OK;
    return gpul__fail_array(GPUL_ERROR_SHAPE, function, "C", C, ", but A %s and B %s need %s", gpul__describe(A),
                            gpul__describe(B), gpul__describe_shape(0, ndim, want));
}

/* What gpul_gemm_ex takes beside the matrices */
static gpul_status gpul__check_gemm_options(const char *function, const gpul_array *C,
                                            const gpul_gemm_options *options) {
    const gpul_array *const bias = options->bias;
    if (options->math < GPUL_MATH_IEEE || options->math > GPUL_MATH_EMULATED) /* fault: matmul-math-unknown */
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->math is %d, which is no GPUL_MATH_*",
                          (int)options->math);
    if (options->activation < GPUL_ACTIVATION_NONE || options->activation > GPUL_ACTIVATION_GELU)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->activation is %d, which is no GPUL_ACTIVATION_*",
                          (int)options->activation);
    if (options->math != GPUL_MATH_IEEE && C->dtype != GPUL_F32) /* fault: matmul-math-dtype */
        return gpul__fail_array(
            GPUL_ERROR_DTYPE, function, "A", C, ", but options->math is %s (%d), which takes float32",
            options->math == GPUL_MATH_TF32 ? "GPUL_MATH_TF32" : "GPUL_MATH_EMULATED", (int)options->math);
    if (bias == NULL) return GPUL_OK;
    const gpul_status status = gpul__check_array(function, "options->bias", bias);
    if (status != GPUL_OK) return status;
    if (bias->dtype != C->dtype && (bias->dtype != GPUL_F32 || C->dtype == GPUL_F64)) /* fault: bias-dtype */
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, "options->bias", bias, ", but C is %s: it must be %s%s",
                                gpul_dtype_name(C->dtype), gpul_dtype_name(C->dtype),
                                C->dtype == GPUL_F16 || C->dtype == GPUL_BF16 ? " or float32" : "");
    if (bias->ndim != 1 || bias->shape[0] != C->shape[C->ndim - 1])
        return gpul__fail_array(GPUL_ERROR_SHAPE, function, "options->bias", bias,
                                ", but C %s needs (%lld), one for each column", gpul__describe(C),
                                (long long)C->shape[C->ndim - 1]);
    return GPUL_OK;
}

/* options: NULL: the defaults */
static gpul_status gpul__gemm(const char *function, gpul_array *C, double alpha, const gpul_array *A,
                              const gpul_array *B, double beta, const gpul_gemm_options *options, gpul_stream stream) {
    static const char *const names[4] = {"C", "A", "B", "options->bias"};
    static const gpul_gemm_options defaults = GPUL_ZERO;
    const gpul_array *arrays[4] = {C, A, B, options == NULL ? NULL : options->bias}, *const bias = arrays[3];
    int64_t row[3], col[3], stack[2], step[3][2], inner_step[3], outer_step[3];
    int64_t *const steps[3] = {step[0], step[1], step[2]};
    gpul__gemm_problem problem = GPUL_ZERO;
    gpul__gemm_plan plan;
    gpul__scope scope;
    uint32_t *counters = NULL;
    gpul__memory scratch = GPUL_ZERO;
    void *bytes = NULL;

    if (options == NULL) options = &defaults;
    gpul_status status = gpul__check_arrays(function, names, arrays, 3);
    if (status == GPUL_OK) status = gpul__check_one_dtype(function, names, arrays);
    if (status != GPUL_OK) return status;
    if (!gpul__is_floating(A->dtype))
        return gpul__fail_array(GPUL_ERROR_DTYPE, function, "A", A,
                                "; float32, float64, float16 and bfloat16 are taken");
    for (int32_t i = 0; i < 3; ++i)
        if (arrays[i]->ndim < 2)
            return gpul__fail_array(
                GPUL_ERROR_SHAPE, function, names[i], arrays[i],
                ", but must be a matrix or a stack of them; vectors are gpul_gemv's and gpul_dot's");
    status = gpul__check_product(function, C, A, B);
    if (status == GPUL_OK) status = gpul__check_gemm_options(function, C, options);
    if (status != GPUL_OK) return status;
    for (int32_t i = 0; i < 3; ++i)
        if (!gpul__unit_stride(arrays[i], &row[i], &col[i]))
            return gpul__fail_array(
                GPUL_ERROR_SHAPE, function, names[i], arrays[i],
                " and strides (%lld, %lld), of which one must be 1 (gpul_copy it into a dense array)",
                (long long)row[i], (long long)col[i]);
    status = gpul__check_overlap(function, names, arrays, 4); /* fault: bias-overlap */
    if (status == GPUL_OK) status = gpul__begin(&scope, function, arrays, 4, stream);
    if (status != GPUL_OK) return status;

    /* where C's columns are dense: C^T = B^T A^T, whose rows are C's columns */
    const int32_t transposed = col[0] != 1;
    if (transposed) {
        arrays[1] = B;
        arrays[2] = A;
        for (int32_t i = 0; i < 3; ++i) (void)gpul__unit_stride(arrays[i], &col[i], &row[i]);
    }
    /* the stack, as it lies in C; where it has two dimensions, the kernels take the longer one */
    for (int32_t k = 0; k < C->ndim - 2; ++k) {
        stack[k] = C->shape[k];
        for (int32_t i = 0; i < 3; ++i) {
            const int32_t own = gpul__stack_dim(arrays[i], C->ndim, k);
            step[i][k] = own < 0 || arrays[i]->shape[own] == 1 ? 0 : arrays[i]->strides[own];
        }
    }
    gpul__sort_dims(C->ndim - 2, stack, steps, 3);
    const int32_t dims = gpul__merge_dims(C->ndim - 2, stack, steps, 3);
    const int32_t k = dims > 1 && stack[1] >= stack[0];
    const int64_t inner = stack[k], outer = dims > 1 ? stack[1 - k] : 1;
    for (int32_t i = 0; i < 3; ++i) {
        inner_step[i] = inner > 1 ? step[i][k] : 0;
        outer_step[i] = dims > 1 ? step[i][1 - k] : 0;
    }

    problem.C = C->data;
    problem.A = arrays[1]->data;
    problem.B = arrays[2]->data;
    problem.M = C->shape[C->ndim - 2 + transposed];
    problem.N = C->shape[C->ndim - 1 - transposed];
    problem.K = A->shape[A->ndim - 1];
    problem.a_row = row[1];
    problem.a_col = col[1];
    problem.b_row = row[2];
    problem.b_col = col[2];
    problem.c_row = row[0];
    problem.alpha = gpul__in_compute_type(alpha, C->dtype);
    problem.beta = gpul__in_compute_type(beta, C->dtype);
    problem.dtype = C->dtype;
    problem.math = options->math;
    problem.transposed = transposed;
    problem.batch = inner;
    problem.a_batch = inner_step[1];
    problem.b_batch = inner_step[2];
    problem.c_batch = inner_step[0];
    problem.a_steps = inner_step[1] | outer_step[1];
    problem.b_steps = inner_step[2] | outer_step[2];
    problem.c_steps = inner_step[0] | outer_step[0];
    problem.activation = options->activation;
    if (bias != NULL) {
        problem.bias = bias->data;
        problem.bias_dtype = bias->dtype;
        *(transposed ? &problem.bias_m : &problem.bias_n) = bias->strides[0];
    }

    status = gpul__cuda((cudaError_t)gpul__find_tensor_cores(&scope.machine), function, "looking for the kernels");
    if (status == GPUL_OK && !gpul__plan_gemm(&plan, &problem, &scope.machine))
        status = gpul__left_out(function, "matmul");
    if (status != GPUL_OK || problem.M == 0 || problem.N == 0 || inner == 0 || outer == 0)
        return gpul__end(&scope, status);
    if (plan.scratch_bytes > 0)
        status = gpul__between_blocks(&scratch, &counters, &bytes, plan.counters, plan.scratch_bytes, &scope, stream);
    for (int64_t at = 0; at < outer * inner && status == GPUL_OK; at += problem.batch) { /* fault: batch-outer */
        const int64_t i_far = at / inner, i_near = at % inner, size = (int64_t)gpul_dtype_size(C->dtype);
        problem.batch = inner - i_near < plan.batch ? inner - i_near : plan.batch; /* fault: batch-last */
        problem.A = (char *)arrays[1]->data + (i_far * outer_step[1] + i_near * inner_step[1]) * size;
        problem.B = (char *)arrays[2]->data + (i_far * outer_step[2] + i_near * inner_step[2]) * size;
        problem.C = (char *)C->data + (i_far * outer_step[0] + i_near * inner_step[0]) * size;
        status = gpul__cuda((cudaError_t)gpul__launch_gemm(&problem, &plan, &scope.machine, counters, bytes, stream),
                            function, "launching the kernels");
    }
    return gpul__end(&scope, gpul__scratch_drop(&scratch, &scope, stream, status));
}

GPUL_API gpul_status gpul_matmul(gpul_array *C, const gpul_array *A, const gpul_array *B, gpul_stream stream) {
    return gpul__gemm(__func__, C, 1.0, A, B, 0.0, NULL, stream);
}
GPUL_API gpul_status gpul_gemm(gpul_array *C, double alpha, const gpul_array *A, const gpul_array *B, double beta,
                               gpul_stream stream) {
    return gpul__gemm(__func__, C, alpha, A, B, beta, NULL, stream);
}
GPUL_API gpul_status gpul_gemm_ex(gpul_array *C, double alpha, const gpul_array *A, const gpul_array *B, double beta,
                                  const gpul_gemm_options *options, gpul_stream stream) {
    return gpul__gemm(__func__, C, alpha, A, B, beta, options, stream);
}

#endif /* GPULITE_NO_KERNELS */

/* ---------------------------------------------------------------------------------------------------------------------
 * Benchmark
 * ------------------------------------------------------------------------------------------------------------------ */
#define GPUL__CYCLES 32768 /* that tell the clock: long beside a launch, short beside what is worth timing */

typedef struct gpul__benchmark {
    const char *function;
    gpul_benchmark_options options; /* with the defaults filled in */
    gpul_status (*fn)(void *user);
    void *user;
    gpul_event event[2];
    gpul__memory flush;
    double began;             /* host clock */
    double *cpu, *gpu, *slow; /* of each sample; slow: the longer of the two counts of cycles beside it */
    double *sorted;           /* room to sort in */
    double cycles;            /* the last count, in seconds */
    int64_t taken;            /* samples, those to discard included */
    double next_line;         /* of progress: when it is due, host clock */
    int32_t shown;            /* 1: there was one */
} gpul__benchmark;

static int gpul__compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double gpul__median(const double *values, int64_t n, double *sorted) {
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, gpul__compare);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2; /* fault: benchmark-median */
}
/* sqrt without libm, which a program may link without; for variances of times */
static double gpul__root(double x) {
    double root = x > 1 ? x : 1;
    for (int32_t k = 0; k < 200; ++k) root = (root + x / root) / 2;
    return x > 0 ? root : 0;
}
static void gpul__statistics(gpul_statistics *out, const double *values, int64_t n, double *sorted) {
    double sum = 0, squares = 0;
    out->median = gpul__median(values, n, sorted);
    out->min = sorted[0];
    out->max = sorted[n - 1];
    for (int64_t k = 0; k < n; ++k) sum += values[k];
    out->mean = sum / (double)n;
    for (int64_t k = 0; k < n; ++k) squares += (values[k] - out->mean) * (values[k] - out->mean);
    out->deviation = gpul__root(squares / (double)n);
}

/* The number of samples beside which the clock was not low; `move` brings them to the front. */
static int64_t gpul__steady(const gpul__benchmark *b, int32_t move) {
    const double most = 1.1 * gpul__median(b->slow, b->taken, b->sorted);
    int64_t kept = 0;
    for (int64_t k = 0; k < b->taken; ++k) {
        if (b->slow[k] > most) continue; /* fault: benchmark-keeps-slow */
        b->cpu[move ? kept : k] = b->cpu[k];
        b->gpu[move ? kept : k] = b->gpu[k];
        ++kept;
    }
    return kept;
}

static gpul_status gpul__count_clock(gpul__benchmark *b) {
#ifndef GPULITE_NO_KERNELS
    const gpul_stream stream = b->options.stream;
    /* the first count hides the launch of the second from the events */
    cudaError_t e = (cudaError_t)gpul__count_cycles(GPUL__CYCLES, stream);
    if (e == cudaSuccess) e = cudaEventRecord(b->event[0], stream);
    if (e == cudaSuccess) e = (cudaError_t)gpul__count_cycles(GPUL__CYCLES, stream);
    if (e == cudaSuccess) e = cudaEventRecord(b->event[1], stream);
    if (e != cudaSuccess) return gpul__cuda(e, b->function, "timing the clock");
    return gpul__elapsed(b->function, &b->cycles, b->event[0], b->event[1]);
#else
    (void)b;
    return GPUL_OK;
#endif
}

/* Somebody else's error after fn is one that fn left. */
static gpul_status gpul__benchmark_call(gpul__benchmark *b) {
    const gpul_status status = b->fn(b->user);
    return status != GPUL_OK ? status : gpul__pending(b->function);
}

static gpul_status gpul__benchmark_sample(gpul__benchmark *b) {
    const gpul_stream stream = b->options.stream;
    const double before = b->cycles;
    cudaError_t e = cudaSuccess;
    if (b->flush.data != NULL) {
        e = cudaMemsetAsync(b->flush.data, (int)(b->taken & 127), (size_t)b->flush.bytes, stream);
        if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
    }
    if (e == cudaSuccess) e = cudaEventRecord(b->event[0], stream);
    if (e != cudaSuccess) return gpul__cuda(e, b->function, "preparing a sample");
    const double from = gpul_host_seconds();
    gpul_status status = gpul__benchmark_call(b);
    b->cpu[b->taken] = gpul_host_seconds() - from;
    if (status == GPUL_OK) status = gpul__cuda(cudaEventRecord(b->event[1], stream), b->function, "cudaEventRecord");
    if (status == GPUL_OK) status = gpul__elapsed(b->function, &b->gpu[b->taken], b->event[0], b->event[1]);
    if (status == GPUL_OK) status = gpul__count_clock(b);
    if (status != GPUL_OK) return status;
    b->slow[b->taken] = before > b->cycles ? before : b->cycles; /* fault: benchmark-clock-before */
    b->taken += 1;
    return GPUL_OK;
}

/* A line for a terminal; at the end, one of blanks. */
static void gpul__benchmark_tell(gpul__benchmark *b, int32_t last) {
    const double now = gpul_host_seconds();
    char line[160], text[80] = "";
    if (b->options.progress == NULL || (last ? !b->shown : now < b->next_line)) return;
    b->shown = 1;
    b->next_line = now + 0.25;
    if (!last)
        (void)snprintf(text, sizeof text, "%.20s: %lld of %lld samples, %.1f of %.3g s", b->options.name,
                       (long long)b->taken, (long long)b->options.repeat, now - b->began, b->options.seconds);
    (void)snprintf(line, sizeof line, "\r%-78s%s", text, last ? "\r" : "");
    b->options.progress(b->user, line);
}

static gpul_status gpul__benchmark_samples(gpul__benchmark *b) {
    const gpul_benchmark_options *const o = &b->options;
    gpul_status status = GPUL_OK;
    int64_t want = o->repeat;
    b->began = gpul_host_seconds();
    b->next_line = b->began + 0.5;
    for (int64_t k = 0;
         status == GPUL_OK && k < o->warmup && (k == 0 || gpul_host_seconds() - b->began < o->seconds / 10); ++k) {
        status = gpul__benchmark_call(b);
        if (status == GPUL_OK)
            status = gpul__cuda(cudaStreamSynchronize(o->stream), b->function, "cudaStreamSynchronize");
        gpul__benchmark_tell(b, 0);
    }
    if (status == GPUL_OK) status = gpul__count_clock(b);
    while (status == GPUL_OK && b->taken < want) {
        status = gpul__benchmark_sample(b);
        gpul__benchmark_tell(b, 0);
        if (status != GPUL_OK || gpul_host_seconds() - b->began >= o->seconds) break;
        if (b->taken == want) { /* more for those that will be discarded, but no more than twice */
            want += o->repeat - gpul__steady(b, 0);
            if (want > 2 * o->repeat) want = 2 * o->repeat; /* fault: benchmark-retakes */
        }
    }
    gpul__benchmark_tell(b, 1);
    return status;
}

static gpul_status gpul__benchmark_options(const char *function, gpul_benchmark_options *o) {
    if (o->repeat < 0 || o->repeat > (int64_t)1 << 32)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->repeat = %lld, not 0 to 2^32", (long long)o->repeat);
    if (o->warmup < -1)
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->warmup = %lld; -1 means none", (long long)o->warmup);
    if (!(o->seconds >= 0))
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->seconds = %g is no time limit", o->seconds);
    if (!(o->bytes >= 0 && gpul__is_finite(o->bytes) && o->flops >= 0 && gpul__is_finite(o->flops)))
        return gpul__fail(GPUL_ERROR_ARGUMENT, function,
                          "options->bytes = %g, options->flops = %g: must be finite, and not negative", o->bytes,
                          o->flops);
    if (o->flop_dtype != 0 && !gpul__is_floating(o->flop_dtype))
        return gpul__fail(GPUL_ERROR_ARGUMENT, function, "options->flop_dtype is %s (%d), which has no roof",
                          gpul_dtype_name(o->flop_dtype), (int)o->flop_dtype);
    if (o->name == NULL) o->name = "benchmark";
    if (o->repeat == 0) o->repeat = 10000;
    if (o->warmup == 0) o->warmup = 10;
    if (o->seconds <= 0) o->seconds = 2;
    return GPUL_OK;
}

/* What the times make of bytes, flops and the roof. */
static void gpul__benchmark_rates(gpul_benchmark_result *r, const gpul_roof *roof, gpul_dtype flop_dtype) {
    const double t = r->gpu.median;
    double memory = roof->read_gbps;
    double compute = flop_dtype == GPUL_F64                              ? roof->f64_gflops
                     : flop_dtype == GPUL_F16 || flop_dtype == GPUL_BF16 ? roof->f16_gflops
                                                                         : roof->f32_gflops;
    r->gbps = t > 0 ? r->bytes / t * 1e-9 : 0;
    r->gflops = t > 0 ? r->flops / t * 1e-9 : 0;
    if (r->bytes > 0) r->intensity = r->flops / r->bytes;
    if (roof->write_gbps > memory) memory = roof->write_gbps;
    if (roof->copy_gbps > memory) memory = roof->copy_gbps;
    memory = memory > 0 ? r->gbps / memory : 0; /* shares from here on */
    compute = compute > 0 ? r->gflops / compute : 0;
    r->share = compute > memory ? compute : memory; /* fault: benchmark-roof-that-binds */
    if (r->share > 0) r->bound = compute > memory ? GPUL_ROOF_COMPUTE : GPUL_ROOF_MEMORY;
}

static gpul_status gpul__device_roof(const char *function, gpul_roof *roof, int32_t device);

GPUL_API gpul_status gpul_benchmark(gpul_benchmark_result *result, gpul_status (*fn)(void *user), void *user,
                                    const gpul_benchmark_options *options) {
    gpul__benchmark b = GPUL_ZERO;
    gpul_benchmark_result r = GPUL_ZERO;
    gpul_roof roof = GPUL_ZERO;
    gpul__scope scope;
    int32_t l2 = 0;
    if (result == NULL) return gpul__null(__func__, "result");
    if (fn == NULL) return gpul__null(__func__, "fn");
    if (options != NULL) b.options = *options;
    gpul_status status = gpul__benchmark_options(__func__, &b.options);
    if (status == GPUL_OK) status = gpul__check_stream(__func__, "options->stream", b.options.stream);
    if (status == GPUL_OK) status = gpul__begin_on(&scope, __func__, -1);
    if (status != GPUL_OK) return status;
    b.function = __func__;
    b.fn = fn;
    b.user = user;
    status = gpul__check_capture(__func__, NULL, b.options.stream);
    if (status == GPUL_OK && b.options.roof) status = gpul__device_roof(__func__, &roof, scope.device);
    if (status == GPUL_OK && b.options.flush_l2)
        status = gpul__attribute(__func__, &l2, cudaDevAttrL2CacheSize, scope.device);
    const int64_t room = 2 * b.options.repeat; /* of a column: see gpul__benchmark_samples */
    if (status == GPUL_OK) b.cpu = (double *)malloc((size_t)room * 4 * sizeof(double));
    if (status == GPUL_OK && b.cpu == NULL)
        status = gpul__fail_with(GPUL_ERROR_OUT_OF_MEMORY, __func__, cudaSuccess, -1, room * 32, 0,
                                 "options->repeat = %lld samples take %lld bytes of host memory",
                                 (long long)b.options.repeat, (long long)room * 32);
    if (status == GPUL_OK) {
        b.gpu = b.cpu + room;
        b.slow = b.gpu + room;
        b.sorted = b.slow + room;
        status = gpul__scratch(&b.flush, 2 * (int64_t)l2, &scope, b.options.stream);
    }
    for (int32_t k = 0; k < 2 && status == GPUL_OK; ++k) status = gpul__new_event(__func__, &b.event[k]);
    if (status == GPUL_OK) status = gpul__benchmark_samples(&b);
    if (status == GPUL_OK) {
        r.samples = gpul__steady(&b, 1);
        if (r.samples > b.options.repeat) r.samples = b.options.repeat;
        r.discarded = b.taken - r.samples; /* fault: benchmark-discarded */
        gpul__statistics(&r.cpu, b.cpu, r.samples, b.sorted);
        gpul__statistics(&r.gpu, b.gpu, r.samples, b.sorted);
        r.bytes = b.options.bytes;
        r.flops = b.options.flops;
        r.device = scope.device;
#ifdef GPULITE_CPU_STANDIN
        r.standin = 1;
#endif
        gpul__copy_text(r.name, sizeof r.name, b.options.name);
        gpul__benchmark_rates(&r, &roof, b.options.flop_dtype);
    }
    free(b.cpu);
    status = gpul__scratch_drop(&b.flush, &scope, b.options.stream, status);
    for (int32_t k = 0; k < 2; ++k)
        if (b.event[k] != NULL)
            status = gpul__finish(status, cudaEventDestroy(b.event[k]), __func__, "cudaEventDestroy");
    status = gpul__end(&scope, status);
    if (status == GPUL_OK) *result = r;
    return status;
}

/* ---- the roof ---- */

#ifndef GPULITE_NO_KERNELS
enum { GPUL__ROOF_READ, GPUL__ROOF_WRITE, GPUL__ROOF_COPY, GPUL__ROOF_MATMUL, GPUL__ROOF_KINDS = 6 };
typedef struct gpul__roof_work {
    int32_t what; /* the benchmark's next call; from GPUL__ROOF_MATMUL on, matrix products of three dtypes */
    gpul_array all, one, half[2], matrix[3]; /* half and matrix: parts of `all` */
    gpul_stream stream;
} gpul__roof_work;

static gpul_status gpul__roof_call(void *user) {
    gpul__roof_work *const w = (gpul__roof_work *)user;
    switch (w->what) {
    case GPUL__ROOF_READ: return gpul_reduce(&w->one, &w->all, GPUL_SUM, GPUL_ALL_AXES, w->stream);
    case GPUL__ROOF_WRITE: return gpul_fill(&w->all, 1, w->stream);
    case GPUL__ROOF_COPY: return gpul_copy(&w->half[1], &w->half[0], w->stream);
    default: return gpul_matmul(&w->matrix[2], &w->matrix[0], &w->matrix[1], w->stream);
    }
}

static gpul_status gpul__roof_measure(gpul_roof *roof, gpul__roof_work *w, const gpul_device *device) {
    static const gpul_dtype dtypes[GPUL__ROOF_KINDS] = {GPUL_F32, GPUL_F32, GPUL_F32, GPUL_F32, GPUL_F64, GPUL_F16};
    double *const rates[GPUL__ROOF_KINDS] = {&roof->read_gbps,  &roof->write_gbps, &roof->copy_gbps,
                                             &roof->f32_gflops, &roof->f64_gflops, &roof->f16_gflops};
    gpul_benchmark_options options = GPUL_ZERO;
    gpul_benchmark_result result;
    /* the stand-in takes seconds for what a GPU does in microseconds */
    int64_t n = device->standin ? 32 : 2048, bytes = device->standin ? 1 << 16 : 16 * device->l2_bytes;
    if (!device->standin && bytes < (int64_t)1 << 28) bytes = (int64_t)1 << 28; /* smaller ones would measure a cache */
    bytes -= bytes % 512;
    options.repeat = 30;
    options.warmup = 3;
    options.seconds = 0.3;
    options.stream = w->stream;
    gpul_status status = gpul_device_array(&w->all, GPUL_F32, gpul_1d(bytes / 4), w->stream);
    if (status == GPUL_OK) status = gpul_device_array(&w->one, GPUL_F32, gpul_0d(), w->stream);
    if (status == GPUL_OK) status = gpul_split(w->half, 2, &w->all, 0);
    if (status == GPUL_OK) status = gpul_fill(&w->all, 1, w->stream);
    for (w->what = 0; w->what < GPUL__ROOF_KINDS && status == GPUL_OK; ++w->what) {
        const int32_t matrices = w->what < GPUL__ROOF_MATMUL ? 0 : 3;
        const gpul_dtype dtype = dtypes[w->what];
        if (dtype == GPUL_F16 && !device->standin) n *= 2; /* the bytes of f64 are enough */
        for (int32_t k = 0; k < matrices && status == GPUL_OK; ++k) {
            char *const at = (char *)w->all.data + k * n * n * (int64_t)gpul_dtype_size(dtype);
            status = gpul_wrap(&w->matrix[k], at, dtype, gpul_2d(n, n));
            if (status == GPUL_OK) status = gpul_fill(&w->matrix[k], 1, w->stream);
        }
        if (status == GPUL_OK) status = gpul_benchmark(&result, gpul__roof_call, w, &options);
        if (status == GPUL_OK && result.gpu.min > 0)
            *rates[w->what] = (double)(matrices == 0 ? bytes : 2 * n * n * n) / result.gpu.min * 1e-9;
    }
    return status;
}
#endif

static gpul_status gpul__device_roof(const char *function, gpul_roof *out, int32_t device) {
#ifdef GPULITE_NO_KERNELS
    (void)out;
    (void)device;
    return gpul__fail(GPUL_ERROR_UNSUPPORTED, function,
                      "a roof is measured with gpulite_kernels.cu, which GPULITE_NO_KERNELS leaves out");
#else
    gpul__roof_work work = GPUL_ZERO;
    gpul_device info = GPUL_ZERO;
    gpul_roof roof = GPUL_ZERO;
    gpul__scope scope;
    const int32_t handling = gpul__handling;
    gpul_status status = gpul__begin_on(&scope, function, device), destroyed;
    if (status != GPUL_OK) return status;
    if (gpul__atomic_load(&scope.state->roof_state) != GPUL__KNOWN) { /* fault: roof-measured-again */
        gpul__handling = 1; /* what fails in the functions called is told once, as this one's */
        status = gpul__device_info(function, &info, device);
        if (status == GPUL_OK) status = gpul_stream_create(&work.stream, GPUL_STREAM_NON_BLOCKING);
        if (status == GPUL_OK) status = gpul__roof_measure(&roof, &work, &info);
        status = gpul__free(function, &work.all, status);
        status = gpul__free(function, &work.one, status);
        const gpul_error first = gpul__error;
        destroyed = gpul_stream_destroy(&work.stream);
        if (status == GPUL_OK) status = destroyed;
        else gpul__error = first;
        gpul__handling = handling;
        if (status != GPUL_OK) {
            const int32_t own = strcmp(gpul__error.function, function) == 0;
            status = gpul__fail_with(status, function, (cudaError_t)gpul__error.cuda_code, gpul__error.device,
                                     gpul__error.bytes_requested, gpul__error.bytes_free, "%s",
                                     gpul__error.message + (own ? strlen(function) + 2 : 0));
        }
        if (status == GPUL_OK && gpul__atomic_swap(&scope.state->roof_state, GPUL__UNKNOWN, GPUL__FILLING)) {
            roof.device = device;
            roof.standin = info.standin;
            scope.state->roof = roof;
            gpul__atomic_store(&scope.state->roof_state, GPUL__KNOWN);
        }
    }
    while (status == GPUL_OK && gpul__atomic_load(&scope.state->roof_state) != GPUL__KNOWN) {}
    if (status == GPUL_OK) *out = scope.state->roof;
    return gpul__end(&scope, status);
#endif
}

GPUL_API gpul_status gpul_device_roof(gpul_roof *roof, int32_t device) {
    gpul_status status = roof == NULL ? gpul__null(__func__, "roof") : gpul__check_device(__func__, device);
    return status != GPUL_OK ? status : gpul__device_roof(__func__, roof, device);
}

/* ---- as text ---- */

static void gpul__append_times(gpul__text *to, const gpul_statistics *s, int64_t samples) {
    gpul__append(to, ":%9.3f us", s->mean * 1e6);
    if (samples > 1)
        gpul__append(to, "   +/-%6.3f (min:%9.3f / max:%9.3f) us", s->deviation * 1e6, s->min * 1e6, s->max * 1e6);
}

/* As cupyx.profiler.benchmark writes it, and then what that does not tell */
static void gpul__benchmark_line(gpul__text *to, const gpul_benchmark_result *r) {
    gpul__append(to, "%-20.63s:    ", r->name);
    if (r->standin) {
        gpul__append(to, "on the CPU stand-in, which tells no GPU's times; %lld samples", (long long)r->samples);
        return;
    }
    gpul__append(to, "CPU");
    gpul__append_times(to, &r->cpu, r->samples);
    gpul__append(to, "     GPU-%d", (int)r->device);
    gpul__append_times(to, &r->gpu, r->samples);
    gpul__append(to, "   median:%9.3f us", r->gpu.median * 1e6);
    if (r->gbps > 0) gpul__append(to, ", %.1f GB/s", r->gbps);
    if (r->gflops > 0) gpul__append(to, ", %.1f GFLOP/s", r->gflops);
    if (r->intensity > 0) gpul__append(to, ", %.3g flop/byte", r->intensity);
    if (r->bound != GPUL_ROOF_NONE)
        gpul__append(to, ", %.1f %% of the %s roof", r->share * 100,
                     r->bound == GPUL_ROOF_MEMORY ? "memory" : "compute");
    gpul__append(to, ", %lld samples", (long long)r->samples);
    if (r->discarded > 0) gpul__append(to, ", %lld discarded", (long long)r->discarded);
}

GPUL_API gpul_status gpul_benchmark_text(size_t *length, char *text, size_t size, const gpul_benchmark_result *result) {
    gpul__text out = {text, size, 0};
    if (result == NULL) return gpul__null(__func__, "result");
    if (text == NULL && size > 0) return gpul__null(__func__, "text");
    gpul__benchmark_line(&out, result);
    if (length != NULL) *length = out.length;
    return GPUL_OK;
}

static void gpul__append_field(gpul__text *to, int32_t known, double value) {
    char text[48] = "", half[16];
    const char *const point = gpul__decimal_point(&half), *p = text;
    if (known) (void)snprintf(text, sizeof text, "%.9g", value);
    for (; *p != 0; ++p) {
        const int32_t is_point = strncmp(p, point, strlen(point)) == 0;
        gpul__append(to, "%c", is_point ? '.' : *p);
        if (is_point) p += strlen(point) - 1;
    }
    gpul__append(to, ",");
}

static void gpul__benchmark_row(gpul__text *to, const gpul_benchmark_result *r) {
    static const char *const bounds[3] = {"", "memory", "compute"};
    const int32_t times = !r->standin;
    gpul__append(to, "\"");
    for (const char *p = r->name; *p != 0; ++p) gpul__append(to, "%s%c", *p == '"' ? "\"" : "", *p);
    gpul__append(to, "\",%s%d,%lld,%lld,", r->standin ? "standin-" : "", (int)r->device, (long long)r->samples,
                 (long long)r->discarded);
    for (int32_t k = 0; k < 2; ++k) {
        const gpul_statistics *const s = k == 0 ? &r->cpu : &r->gpu;
        const double seconds[5] = {s->mean, s->deviation, s->min, s->median, s->max};
        for (int32_t i = 0; i < 5; ++i) gpul__append_field(to, times, seconds[i] * 1e6);
    }
    gpul__append_field(to, r->bytes > 0, r->bytes);
    gpul__append_field(to, r->flops > 0, r->flops);
    gpul__append_field(to, times && r->gbps > 0, r->gbps);
    gpul__append_field(to, times && r->gflops > 0, r->gflops);
    gpul__append_field(to, r->intensity > 0, r->intensity);
    gpul__append_field(to, times && r->share > 0, r->share);
    gpul__append(to, "%s\n", bounds[times && r->bound > 0 && r->bound < 3 ? r->bound : 0]);
}

GPUL_API gpul_status gpul_benchmark_csv(size_t *length, char *text, size_t size, const gpul_benchmark_result *result) {
    gpul__text out = {text, size, 0};
    if (text == NULL && size > 0) return gpul__null(__func__, "text");
    if (result != NULL) gpul__benchmark_row(&out, result);
    else
        gpul__append(&out,
                     "name,device,samples,discarded,cpu_mean_us,cpu_deviation_us,cpu_min_us,cpu_median_us,cpu_max_us,"
                     "gpu_mean_us,gpu_deviation_us,gpu_min_us,gpu_median_us,gpu_max_us,bytes,flops,gbps,gflops,"
                     "intensity,share,bound\n");
    if (length != NULL) *length = out.length;
    return GPUL_OK;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GPULITE_IMPLEMENTATION */

/* ---------------------------------------------------------------------------------------------------------------------
 * MIT License
 *
 * Copyright (c) 2026 gpulite contributors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
 * documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
 * permit persons to whom the Software is furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
 * Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
 * WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
 * COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
 * OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 * ------------------------------------------------------------------------------------------------------------------ */
