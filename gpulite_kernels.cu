/* SPDX-License-Identifier: MIT
 *
 * gpulite_kernels.cu - v0.1.0 - the prebuilt kernels of gpulite.h
 *
 *     nvcc -c -arch=native gpulite_kernels.cu        the GPU of this machine
 *     nvcc -c -arch=sm_90a gpulite_kernels.cu        Hopper (H100, H200)
 *     g++ -c -x c++ -ffp-contract=off -Itests/cpu gpulite_kernels.cu         no GPU: the CPU stand-in
 *
 * Add -Xcompiler -fno-exceptions,-fno-threadsafe-statics for an object that a C program links with gcc and -lcudart
 * alone. Leave families out with -DGPULITE_NO_GEMV, -DGPULITE_NO_HISTOGRAM, -DGPULITE_NO_MATMUL.
 *
 *     section       operations                                  dtypes                            engine
 *     1 elementwise vecadd, vecmul, copy, fill                  all                               gpulite.h, section 12
 *     2 reductions  sum, prod, min, max, abs-sum, sum-sq, mean, f32 f64 i32 i64 u8; f16 bf16 for  gpulite.h, section 12
 *                   var, argmin, argmax, count-nonzero, dot     sum, min, max; dot f32 f64
 *     3 gemv        gemv                                        f32 f64                           gpulite.h, section 12
 *     4 histogram   uniform bins, edges, weights                f32 f64 i32 i64 u8
 *     5 matmul      matmul, gemm                                f32 f64 f16 bf16
 *
 * This file is two things, stb-style. First come the engines, templates that move the data of an operation; then the
 * prebuilt operations, which are instances of them. For operations of your own, include the engines alone in a .cu file:
 *
 *     #define GPULITE_ENGINES_ONLY        // leave it out, and this file carries the prebuilt operations too
 *     #include "gpulite_kernels.cu"
 *     GPUL_REDUCE(sum_abs, float, 0.0f, fabsf(x), a + b, a)
 *
 *     nvcc -arch=native -o app app.c my_ops.cu gpulite_kernels.cu
 *
 * Everything here is static but a handful of gpul__ functions at the end of each section, which the host side in
 * gpulite.h calls: it has checked the arguments by then, and turns what they return (a cudaError_t) into an error.
 */
#include <cuda_runtime.h>

#define GPULITE__KERNELS
#include "gpulite.h"

#ifndef GPULITE__ENGINES
#define GPULITE__ENGINES

#ifndef GPULITE_CPU_STANDIN
#include <atomic>
#endif
#include <string.h>

namespace { /* nothing here is for the linker, member functions of templates included */

#ifdef GPULITE_CPU_STANDIN
#define GPUL__UNROLL
#define GPUL__UNROLL_NOT
#else
#define GPUL__UNROLL _Pragma("unroll")
#define GPUL__UNROLL_NOT _Pragma("unroll 1")
#endif

/* Lets a kernel's blocks have that much dynamic shared memory, for launches to come: 48 KB need no leave. An error, where
 * the device has less, is the answer alone and not left behind. */
template <typename Kernel> static inline cudaError_t gpul__allow_shared(Kernel kernel, size_t bytes) {
    if (bytes <= 49152) return cudaSuccess;
    const cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (e != cudaSuccess && cudaPeekAtLastError() == e) cudaGetLastError();
    return e;
}

/* A kernel whose every thread begins with gpul__await may be launched before the kernel that is ahead of it in its
 * stream has ended ("programmatic dependent launch", compute capability 9.0). It waits there until everything ahead is
 * done and its writes are seen, so the stream's order holds as ever; what it saves is the launch itself: on an H200 a
 * call costs the host 3.4 in place of 4.0 us, and from kernel to kernel pass 2 us less (2^22 sums of floats in 11.6,
 * not 13.5 us). Sooner is not better: where kernels let the next one in as soon as they have started
 * (griddepcontrol.launch_dependents), its blocks settle unevenly on what becomes free, and 4096 x 4096 doubles along
 * axis 0 take 41.7 us, not 33.6; that they fetch what they begin with into L2 while they wait does not make up for
 * it. Where they let it in once they have read everything, most calls take 0.2 to 0.9 us more. */
static __device__ __forceinline__ void gpul__await() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#ifdef GPULITE_CPU_STANDIN
static inline int32_t gpul__early(int32_t *early, const void *, int32_t) {
    *early = 0;
    return 0;
}
#else
/* Does this file's code, as it runs on the device, hold what stands behind __CUDA_ARCH__ >= 900? That is the version of
 * the PTX it was made from, whatever the device can do, and the same for all kernels of a file. Found out once a
 * device: the question costs 0.3 us. Graphs know such launches from CUDA 12.3 on. */
static std::atomic<int32_t> gpul__early_known[64]; /* 0: not yet, 1: no, 2: yes */
static inline int32_t gpul__early(int32_t *early, const void *kernel, int32_t device) {
    *early = 0;
    if (device < 0 || device >= 64) return 0;
    int32_t known = gpul__early_known[device].load(std::memory_order_relaxed);
    if (known == 0) {
        cudaFuncAttributes attributes;
        int driver = 0;
        cudaError_t e = cudaFuncGetAttributes(&attributes, kernel);
        if (e == cudaSuccess) e = cudaDriverGetVersion(&driver);
        if (e != cudaSuccess) return int32_t(e);
        known = attributes.ptxVersion >= 90 && driver >= 12030 ? 2 : 1;
        gpul__early_known[device].store(known, std::memory_order_relaxed);
    }
    *early = known - 1;
    return 0;
}
#endif

/* gpul__launch for a kernel that begins with gpul__await, on the current device */
template <typename... Params, typename... Args>
static inline int32_t gpul__launch_early(int32_t device, void (*kernel)(Params...), gpul_dim3 grid, gpul_dim3 block,
                                         size_t shared_bytes, gpul_stream stream, Args... args) {
    int32_t early;
    const int32_t error = gpul__early(&early, reinterpret_cast<const void *>(kernel), device);
    if (error != 0) return error;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return 0;
    cudaLaunchConfig_t config = gpul__config(grid, block, shared_bytes, stream);
#ifndef GPULITE_CPU_STANDIN
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
#endif
    return int32_t(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...));
}

/* ---- element types ---- */

struct gpul__none {}; /* the input that is not there */
struct gpul__f16 {
    uint16_t bits;
};
struct gpul__bf16 {
    uint16_t bits;
};

template <typename T> struct gpul__dtype_of;
template <> struct gpul__dtype_of<float> {
    enum { value = GPUL_F32 };
};
template <> struct gpul__dtype_of<double> {
    enum { value = GPUL_F64 };
};
template <> struct gpul__dtype_of<int32_t> {
    enum { value = GPUL_I32 };
};
template <> struct gpul__dtype_of<int64_t> {
    enum { value = GPUL_I64 };
};
template <> struct gpul__dtype_of<uint8_t> {
    enum { value = GPUL_U8 };
};
template <> struct gpul__dtype_of<gpul__f16> {
    enum { value = GPUL_F16 };
};
template <> struct gpul__dtype_of<gpul__bf16> {
    enum { value = GPUL_BF16 };
};
template <> struct gpul__dtype_of<gpul__none> {
    enum { value = 0 };
};

template <typename T> static __device__ __host__ __forceinline__ bool gpul__has() {
    return int(gpul__dtype_of<T>::value) != 0;
}

/* Reinterpretation by memcpy of equal sizes: register moves in device code, and defined behaviour in C++. */
template <typename To, typename From> static __device__ __forceinline__ To gpul__bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "sizes differ");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

static __device__ __forceinline__ float gpul__to_float(float x) { return x; }
static __device__ __forceinline__ float gpul__to_float(gpul__bf16 x) {
    return gpul__bits<float>(uint32_t(x.bits) << 16);
}
static __device__ __forceinline__ float gpul__to_float(gpul__f16 x) {
#ifdef __CUDA_ARCH__
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
    return f;
#else
    const uint32_t sign = uint32_t(x.bits & 0x8000u) << 16, magnitude = x.bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return gpul__bits<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    /* placing the fields at the top of a float scales by 2^-112, normal and subnormal alike */
    const float scaled = gpul__bits<float>(magnitude << 13) * 5192296858534827628530496329220096.0f; /* 2^112 */
    return gpul__bits<float>(sign | gpul__bits<uint32_t>(scaled));
#endif
}

template <typename T> static __device__ __forceinline__ T gpul__from_float(float f);
template <> __device__ __forceinline__ float gpul__from_float<float>(float f) { return f; }
template <> __device__ __forceinline__ gpul__bf16 gpul__from_float<gpul__bf16>(float f) {
    gpul__bf16 h;
    const uint32_t bits = gpul__bits<uint32_t>(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) h.bits = 0x7fff; /* one NaN, the one that the hardware gives */
    else h.bits = uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    return h;
}
template <> __device__ __forceinline__ gpul__f16 gpul__from_float<gpul__f16>(float f) {
    gpul__f16 h;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
#else
    const uint32_t bits = gpul__bits<uint32_t>(f), magnitude = bits & 0x7fffffffu;
    const uint32_t sign = (bits >> 16) & 0x8000u;
    if (magnitude > 0x7f800000u) h.bits = 0x7fff;
    else if (magnitude >= 0x477ff000u) h.bits = uint16_t(sign | 0x7c00u); /* 65520 and above round to infinity */
    else if (magnitude < 0x38800000u) {
        /* below 2^-14 the result counts units of 2^-24; adding 0.5 puts that unit at a float's last place */
        const uint32_t unit = gpul__bits<uint32_t>(gpul__bits<float>(magnitude) + 0.5f);
        h.bits = uint16_t(sign | (unit - 0x3f000000u));
    } else {
        h.bits = uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
    }
#endif
    return h;
}

/* double to float such that rounding again to fewer bits gives what rounding once would: to nearest where exact,
 * otherwise to the neighbour with an odd last bit (Boldo and Melquiond, Emulation of FMA and correctly rounded sums,
 * 2008). */
static __device__ __forceinline__ float gpul__round_to_odd(double d) {
    const float f = float(d);
    const double back = double(f);
    if (back == d || back != back) return f;
    uint32_t bits = gpul__bits<uint32_t>(f);
    const double magnitude = d < 0 ? -d : d, rounded = back < 0 ? -back : back;
    if (rounded > magnitude) bits -= 1; /* towards zero; from infinity to the largest float */
    return gpul__bits<float>(bits | 1u);
}

/* Results of reductions: every NaN is written as the same quiet NaN, since CPUs and GPUs make different ones. */
static __device__ __forceinline__ void gpul__store_real(void *out, int64_t i, gpul_dtype dtype, double value) {
    const bool nan = value != value;
    if (dtype == GPUL_F64) {
        if (nan) static_cast<uint64_t *>(out)[i] = 0x7ff8000000000000ull;
        else static_cast<double *>(out)[i] = value;
    } else if (dtype == GPUL_F32) {
        if (nan) static_cast<uint32_t *>(out)[i] = 0x7fc00000u;
        else static_cast<float *>(out)[i] = float(value);
    } else if (dtype == GPUL_F16) {
        static_cast<uint16_t *>(out)[i] = nan ? 0x7e00 : gpul__from_float<gpul__f16>(gpul__round_to_odd(value)).bits;
    } else {
        static_cast<uint16_t *>(out)[i] = nan ? 0x7fc0 : gpul__from_float<gpul__bf16>(gpul__round_to_odd(value)).bits;
    }
}
static __device__ __forceinline__ void gpul__store_int(void *out, int64_t i, gpul_dtype dtype, int64_t value) {
    if (dtype == GPUL_I64) static_cast<int64_t *>(out)[i] = value;
    else if (dtype == GPUL_I32) static_cast<int32_t *>(out)[i] = int32_t(value);
    else if (dtype == GPUL_U8) static_cast<uint8_t *>(out)[i] = uint8_t(value);
    else gpul__store_real(out, i, dtype, double(value));
}
static __device__ __forceinline__ void gpul__store(void *out, int64_t i, gpul_dtype dtype, double value) {
    gpul__store_real(out, i, dtype, value);
}
static __device__ __forceinline__ void gpul__store(void *out, int64_t i, gpul_dtype dtype, float value) {
    gpul__store_real(out, i, dtype, double(value));
}
static __device__ __forceinline__ void gpul__store(void *out, int64_t i, gpul_dtype dtype, int64_t value) {
    gpul__store_int(out, i, dtype, value);
}
static __device__ __forceinline__ void gpul__store(void *out, int64_t i, gpul_dtype dtype, int32_t value) {
    gpul__store_int(out, i, dtype, value);
}
static __device__ __forceinline__ void gpul__store(void *out, int64_t i, gpul_dtype dtype, uint8_t value) {
    gpul__store_int(out, i, dtype, value);
}

/* ---- memory access ---- */

template <int kBytes> struct gpul__word;
template <> struct gpul__word<1> { typedef uint8_t type; };
template <> struct gpul__word<2> { typedef uint16_t type; };
template <> struct gpul__word<4> { typedef uint32_t type; };
template <> struct gpul__word<8> { typedef uint2 type; };
template <> struct gpul__word<16> { typedef uint4 type; };

/* N elements that travel as one access of N * sizeof(T) bytes (a power of two, at most 16), aligned to that size. */
template <typename T, int N> struct gpul__pack { T v[N]; };
template <int N, typename T> static __device__ __forceinline__ gpul__pack<T, N> gpul__load(const T *p) {
    gpul__pack<T, N> pack;
#ifdef __CUDA_ARCH__
    typedef typename gpul__word<N * sizeof(T)>::type Word;
    const Word word = *reinterpret_cast<const Word *>(p);
    memcpy(&pack, &word, sizeof pack);
#else
    memcpy(&pack, p, sizeof pack);
#endif
    return pack;
}
template <int N> static __device__ __forceinline__ gpul__pack<gpul__none, N> gpul__load(const gpul__none *) {
    return gpul__pack<gpul__none, N>();
}
template <int N, typename T> static __device__ __forceinline__ void gpul__save(T *p, const gpul__pack<T, N> &pack) {
#ifdef __CUDA_ARCH__
    typedef typename gpul__word<N * sizeof(T)>::type Word;
    Word word;
    memcpy(&word, &pack, sizeof pack);
    *reinterpret_cast<Word *>(p) = word;
#else
    memcpy(p, &pack, sizeof pack);
#endif
}
template <typename T> static __device__ __forceinline__ T gpul__at(const T *p, int64_t i) { return p[i]; }
static __device__ __forceinline__ gpul__none gpul__at(const gpul__none *, int64_t) { return gpul__none(); }

/* A loop that never runs, `zero` being 0, so that loads before it are on their way before anything after it waits for
 * the first of them: the compiler, left alone, mixes the two to save registers. */
static __device__ __forceinline__ void gpul__hold(int32_t zero) {
#ifdef __CUDA_ARCH__
    GPUL__UNROLL_NOT
    for (int32_t i = 0; i < zero; ++i) asm volatile("nanosleep.u32 0;" ::: "memory");
#else
    (void)zero;
#endif
}

static inline bool gpul__aligned(const void *p, size_t bytes) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; }

/* Element offsets of the index-th element, for several operands at once. Dividing in 32 bits where that is enough: a
 * 64-bit division is a subroutine on a GPU. A call, for its long code would swell loops. */
struct gpul__offset3 {
    int64_t at[3];
};
static __device__ __noinline__ gpul__offset3 gpul__offsets(int64_t index, int32_t ndim, const int64_t *shape,
                                                           const int64_t *a, const int64_t *b, const int64_t *c) {
    gpul__offset3 offset = {{0, 0, 0}};
    for (int32_t d = ndim - 1; d >= 0; --d) {
        int64_t i = index;
        if (d > 0) {
            int64_t rest;
            if (((index | shape[d]) >> 32) == 0) rest = uint32_t(index) / uint32_t(shape[d]);
            else rest = index / shape[d];
            i = index - rest * shape[d];
            index = rest;
        }
        offset.at[0] += i * a[d];
        offset.at[1] += i * b[d];
        offset.at[2] += i * c[d];
    }
    return offset;
}

/* ---- the elementwise engine ----
 *
 * An operation is a small struct: its types Out, A, B, C (gpul__none where there is no such input) and
 * Out operator()(A, B, C). Dense operands are read and written in accesses of up to 16 bytes, one to a thread: on an
 * H200, single accesses beat unrolled loops, streaming hints and resident grids at every size. Two or three large
 * operands go through shared memory there (gpul__elementwise_bulk). Anything else goes element by element with 64-bit
 * offsets.
 *
 * Blocks: 1024 threads for large sums (2^24 floats: 47.0 us, with 256 threads 47.3), but 256 for one input or none (a
 * copy of 2^28 floats: 503 us, with 1024 threads 520) and where a kernel is short (2^12 sums in a graph: 0.9 us, not
 * 1.2). */
#define GPUL__ELEMENTWISE_THREADS 1024
#define GPUL__ELEMENTWISE_SHORT_THREADS 256
#define GPUL__ELEMENTWISE_LONG (1 << 20) /* accesses */

template <typename Op, int N>
static __global__ void __launch_bounds__(GPUL__ELEMENTWISE_THREADS)
    gpul__elementwise_dense(typename Op::Out *out, const typename Op::A *a, const typename Op::B *b,
                            const typename Op::C *c, int64_t n, Op op) {
    gpul__await();
    const int64_t stride = gpul_gridsize_x() * N;
    for (int64_t i = gpul_grid_x() * N; i < n; i += stride) {
        if (i + N <= n) {
            const gpul__pack<typename Op::A, N> va = gpul__load<N>(a + i);
            const gpul__pack<typename Op::B, N> vb = gpul__load<N>(b + i);
            const gpul__pack<typename Op::C, N> vc = gpul__load<N>(c + i);
            gpul__pack<typename Op::Out, N> result;
            GPUL__UNROLL
            for (int k = 0; k < N; ++k) result.v[k] = op(va.v[k], vb.v[k], vc.v[k]);
            gpul__save<N>(out + i, result);
        } else {
            for (int64_t j = i; j < n; ++j) out[j] = op(gpul__at(a, j), gpul__at(b, j), gpul__at(c, j));
        }
    }
}

template <typename T> struct gpul__size_of {
    enum { value = sizeof(T), bytes = sizeof(T) };
};
template <> struct gpul__size_of<gpul__none> {
    enum { value = 1, bytes = 0 };
};

struct gpul__elementwise_layout {
    int32_t ndim;
    int64_t shape[GPUL_MAX_DIMS], strides[4][GPUL_MAX_DIMS];
};

template <typename Op>
static __global__ void __launch_bounds__(GPUL__ELEMENTWISE_THREADS)
    gpul__elementwise_strided(typename Op::Out *out, const typename Op::A *a, const typename Op::B *b,
                              const typename Op::C *c, int64_t n,
                              const __grid_constant__ gpul__elementwise_layout layout, Op op) {
    const int64_t(&s)[4][GPUL_MAX_DIMS] = layout.strides;
    gpul__await();
    GPUL_GRID_STRIDE(i, n) {
        if (layout.ndim == 1) {
            out[i * s[0][0]] = op(gpul__at(a, i * s[1][0]), gpul__at(b, i * s[2][0]), gpul__at(c, i * s[3][0]));
            continue;
        }
        const gpul__offset3 in = gpul__offsets(i, layout.ndim, layout.shape, s[1], s[2], s[3]);
        const int64_t to = gpul__offsets(i, layout.ndim, layout.shape, s[0], s[0], s[0]).at[0];
        out[to] = op(gpul__at(a, in.at[0]), gpul__at(b, in.at[1]), gpul__at(c, in.at[2]));
    }
}

#ifndef GPULITE_CPU_STANDIN
/* Large dense operands on compute capability 9.0: a block has a tile of each input copied into shared memory at once
 * and combines them there. What counts is how much is on its way: 12 KB a block and, by the shared memory asked for, 4
 * blocks on a multiprocessor, 48 KB, is where an H200 is fastest; more and less lose. 2^30 sums of floats take 2889 us,
 * with direct accesses 2915; 2^28 take 725 and 730. */
#define GPUL__BULK_THREADS 384
#define GPUL__BULK_BYTES 12288              /* of all tiles of a block */
#define GPUL__BULK_SHARED 47616             /* the fifth block finds no room in 228 KB */
#define GPUL__BULK_LEAST (int64_t(1) << 27) /* bytes of an operand: beyond the L2 cache */

template <typename Op> struct gpul__bulk_tile {
    enum {
        bytes = int(gpul__size_of<typename Op::A>::bytes) + int(gpul__size_of<typename Op::B>::bytes) +
                int(gpul__size_of<typename Op::C>::bytes),
        count = GPUL__BULK_BYTES / (int(bytes) > 0 ? int(bytes) : 1) / 128 * 128 /* every tile aligned to 128 bytes */
    };
};
template <typename T>
static __device__ __forceinline__ void gpul__bulk_copy(T *to, const T *from, int32_t count, uint32_t barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     uint32_t(__cvta_generic_to_shared(to))),
                 "l"(__cvta_generic_to_global(from)), "r"(count * int32_t(sizeof(T))), "r"(barrier)
                 : "memory");
#endif
}
static __device__ __forceinline__ void gpul__bulk_copy(gpul__none *, const gpul__none *, int32_t, uint32_t) {}
/* One thread: barriers in shared memory, 8 bytes each, that bulk copies announce themselves to; after __syncthreads,
 * all may wait for them. */
static __device__ __forceinline__ void gpul__bulk_begin(uint32_t barriers, int count) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    for (int i = 0; i < count; ++i)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + 8 * uint32_t(i)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
/* The same thread, before its copies: how many bytes they have in all. */
static __device__ __forceinline__ void gpul__bulk_expect(uint32_t barrier, int32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#endif
}
/* Until they are there; parity is 0 the first time, 1 the second, and so on in turn. */
static __device__ __forceinline__ void gpul__bulk_wait(uint32_t barrier, uint32_t parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
#endif
}

/* gpul__save with the hint that nobody reads it soon: worth 0.2 % at 2^30 sums, and nothing without the bulk copies */
template <int N, typename T>
static __device__ __forceinline__ void gpul__save_streaming(T *p, const gpul__pack<T, N> &pack) {
#ifdef __CUDA_ARCH__
    typename gpul__word<N * sizeof(T)>::type word;
    memcpy(&word, &pack, sizeof pack);
    __stcs(reinterpret_cast<typename gpul__word<N * sizeof(T)>::type *>(p), word);
#endif
}

template <typename Op, int N>
static __global__ void __launch_bounds__(GPUL__BULK_THREADS)
    gpul__elementwise_bulk(typename Op::Out *out, const typename Op::A *a, const typename Op::B *b,
                           const typename Op::C *c, int64_t n, Op op) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    typedef typename Op::A A;
    typedef typename Op::B B;
    typedef typename Op::C C;
    const int32_t count = gpul__bulk_tile<Op>::count;
    __shared__ uint64_t loaded;
    GPUL_SHARED(unsigned char, tiles);
    A *const ta = reinterpret_cast<A *>(tiles);
    B *const tb = reinterpret_cast<B *>(tiles + count * gpul__size_of<A>::bytes);
    C *const tc = reinterpret_cast<C *>(tiles + count * (gpul__size_of<A>::bytes + gpul__size_of<B>::bytes));
    const int32_t thread = int32_t(threadIdx.x);
    const int64_t at = int64_t(blockIdx.x) * count;
    out += at, a += at, b += at, c += at;
    gpul__await();
    if (n - at < count) {
        for (int32_t i = thread; i < int32_t(n - at); i += GPUL__BULK_THREADS)
            out[i] = op(gpul__at(a, i), gpul__at(b, i), gpul__at(c, i));
        return;
    }
    const uint32_t barrier = uint32_t(__cvta_generic_to_shared(&loaded));
    if (thread == 0) {
        gpul__bulk_begin(barrier, 1);
        gpul__bulk_expect(barrier, count * int32_t(gpul__bulk_tile<Op>::bytes));
        gpul__bulk_copy(ta, a, count, barrier);
        gpul__bulk_copy(tb, b, count, barrier);
        gpul__bulk_copy(tc, c, count, barrier);
    }
    __syncthreads();
    gpul__bulk_wait(barrier, 0);
    GPUL__UNROLL
    for (int32_t i = thread * N; i < count; i += GPUL__BULK_THREADS * N) {
        const gpul__pack<A, N> va = gpul__load<N>(ta + i);
        const gpul__pack<B, N> vb = gpul__load<N>(tb + i);
        const gpul__pack<C, N> vc = gpul__load<N>(tc + i);
        gpul__pack<typename Op::Out, N> result;
        GPUL__UNROLL
        for (int k = 0; k < N; ++k) result.v[k] = op(va.v[k], vb.v[k], vc.v[k]);
        gpul__save_streaming<N>(out + i, result);
    }
#endif
}
#endif

/* Launches the kernel above where it is there and pays: *launched tells. */
template <typename Op, int N, bool kTwoInputs> struct gpul__bulk {
    static inline int32_t launch(int32_t *launched, const gpul__elementwise_args *, const Op &) {
        *launched = 0;
        return 0;
    }
};
#ifndef GPULITE_CPU_STANDIN
template <typename Op, int N> struct gpul__bulk<Op, N, true> {
    static inline int32_t launch(int32_t *launched, const gpul__elementwise_args *args, const Op &op) {
        *launched = 0;
        if (args->n < GPUL__BULK_LEAST / int64_t(sizeof(typename Op::Out))) return 0;
        for (int k = 0; k < 3; ++k)
            if (!gpul__aligned(args->in[k], 16)) return 0;
        void (*const kernel)(typename Op::Out *, const typename Op::A *, const typename Op::B *, const typename Op::C *,
                             int64_t, Op) = gpul__elementwise_bulk<Op, N>;
        const int32_t error = gpul__early(launched, reinterpret_cast<const void *>(kernel), args->device);
        if (error != 0 || !*launched) return error;
        return gpul__launch_early(
            args->device, kernel, gpul_grid_1d(args->n, gpul__bulk_tile<Op>::count), gpul__dim(GPUL__BULK_THREADS),
            GPUL__BULK_SHARED, args->stream, static_cast<typename Op::Out *>(args->out),
            static_cast<const typename Op::A *>(args->in[0]), static_cast<const typename Op::B *>(args->in[1]),
            static_cast<const typename Op::C *>(args->in[2]), args->n, op);
    }
};
#endif

template <typename Op> static inline int32_t gpul__elementwise_launch_op(const gpul__elementwise_args *args, Op op) {
    typedef typename Op::Out Out;
    typedef typename Op::A A;
    typedef typename Op::B B;
    typedef typename Op::C C;
    enum {
        kAB = int(gpul__size_of<A>::value) > int(gpul__size_of<B>::value) ? int(gpul__size_of<A>::value)
                                                                          : int(gpul__size_of<B>::value),
        kCO = int(gpul__size_of<C>::value) > int(sizeof(Out)) ? int(gpul__size_of<C>::value) : int(sizeof(Out)),
        kN = 16 / (int(kAB) > int(kCO) ? int(kAB) : int(kCO))
    };
    Out *out = static_cast<Out *>(args->out);
    const A *a = static_cast<const A *>(args->in[0]);
    const B *b = static_cast<const B *>(args->in[1]);
    const C *c = static_cast<const C *>(args->in[2]);
    const int inputs = gpul__has<C>() ? 3 : gpul__has<B>() ? 2 : gpul__has<A>() ? 1 : 0;
    bool dense = args->ndim == 1 && gpul__aligned(out, kN * sizeof(Out)) &&
                 gpul__aligned(a, kN * gpul__size_of<A>::value) && gpul__aligned(b, kN * gpul__size_of<B>::value) &&
                 gpul__aligned(c, kN * gpul__size_of<C>::value);
    for (int k = 0; k <= inputs; ++k) dense = dense && args->strides[k][0] == 1;
    if (dense) {
        int32_t launched;
        const int32_t error = gpul__bulk<Op, int(kN), int(gpul__dtype_of<B>::value) != 0>::launch(&launched, args, op);
        if (launched || error != 0) return error;
        const int32_t threads = inputs > 1 && args->n >= int64_t(GPUL__ELEMENTWISE_LONG) * int(kN)
                                    ? GPUL__ELEMENTWISE_THREADS
                                    : GPUL__ELEMENTWISE_SHORT_THREADS;
        return gpul__launch_early(args->device, gpul__elementwise_dense<Op, kN>,
                                  gpul_grid_1d(args->n, threads * int(kN)), gpul__dim(uint32_t(threads)), 0,
                                  args->stream, out, a, b, c, args->n, op);
    }
    gpul__elementwise_layout layout;
    layout.ndim = args->ndim;
    memcpy(layout.shape, args->shape, sizeof layout.shape);
    memcpy(layout.strides, args->strides, sizeof layout.strides);
    return gpul__launch_early(args->device, gpul__elementwise_strided<Op>,
                              gpul_grid_1d(args->n, GPUL__ELEMENTWISE_THREADS), gpul__dim(GPUL__ELEMENTWISE_THREADS), 0,
                              args->stream, out, a, b, c, args->n, layout, op);
}
/* the launcher of an operation without state */
template <typename Op> static int32_t gpul__elementwise_launch(const gpul__elementwise_args *args) {
    return gpul__elementwise_launch_op(args, Op());
}

/* ---- the reduction engine ----
 *
 * A reduction is a small struct: types X, Y (gpul__none for one input), Acc and Lane, and
 *     void begin(const X *first)                before an output's elements (not called when there are none)
 *     Lane start()                              before the elements of a slot
 *     Lane fold(Lane, X, Y, int at)             one more of them; `at` is its place in the unit
 *     Acc  settle(Lane, int64_t begin, int at)  after them; the unit begins at `begin`, the slot at its place `at`
 *     Acc  identity(), Acc combine(Acc, Acc)
 *     void store(out, i, dtype, Acc, int64_t n)
 * Most have Lane = Acc, start() = identity() and a settle() that changes nothing (gpul__reduction).
 *
 * The tree. A unit (gpul__reduce_rows_of) has some rows of 512 bytes; slot p of its 32 folds, in order, the 16 bytes at
 * place p of each row. Slots are combined as adjacent pairs, pairs of pairs and so on; eight units make a group in the
 * same way; groups are folded into 256 slots (q, q + 256, ...) and those are combined by the same tree. Slots and units
 * that are not there count as identity. A group's units have its rows by turns, so that a block's eight warps read one
 * stretch of memory (4540 GB/s on an H200; eight stretches: 4110); where there is one group, each has its rows side by
 * side. The tree depends on the number of elements and their size alone, and five kernels walk it, with the same bits:
 *     rows    warps along an output's elements, which lie side by side: 16-byte loads, several in flight
 *     short   the same where one row covers an output: several outputs at once
 *     cols    threads along the outputs: columns of a row-major matrix, and whatever the others do not take
 *     narrow  the same where one row covers an output: a thread has all of it
 *     staged  a few columns with nothing between them, read as one: rows are copied into shared memory first
 * Where units of one output run in different blocks, the block that finishes last combines them: one launch. */

template <typename Acc> static __device__ __forceinline__ Acc gpul__shuffle(Acc a, int distance, bool down) {
    typedef typename gpul__word<sizeof(Acc) % 8 == 0 ? 8 : sizeof(Acc) % 4 == 0 ? 4 : 1>::type Unit;
    enum { kUnit = sizeof(Unit), kUnits = sizeof(Acc) / kUnit };
    Acc result;
    GPUL__UNROLL
    for (int k = 0; k < int(kUnits); ++k) {
        unsigned long long word = 0;
        memcpy(&word, reinterpret_cast<const char *>(&a) + k * kUnit, kUnit);
        if (int(kUnit) == 8)
            word = down ? __shfl_down_sync(0xffffffffu, word, unsigned(distance))
                        : __shfl_xor_sync(0xffffffffu, word, distance);
        else
            word = down ? __shfl_down_sync(0xffffffffu, unsigned(word), unsigned(distance))
                        : __shfl_xor_sync(0xffffffffu, unsigned(word), distance);
        memcpy(reinterpret_cast<char *>(&result) + k * kUnit, &word, kUnit);
    }
    return result;
}

/* What the operations share. */
template <typename Op, typename T, typename A> struct gpul__reduction {
    enum { kTogether = 1 }; /* outputs that a warp of the rows kernel works on at once, to read y once for all */
    enum { kStaged = 0 };   /* whether it has the staged kernel */
    typedef T X;
    typedef gpul__none Y;
    typedef A Acc;
    typedef A Lane;
    static Op make() { return Op(); }
    __device__ __forceinline__ void begin(const T *) {}
    __device__ __forceinline__ A start() const { return static_cast<const Op *>(this)->identity(); }
    __device__ __forceinline__ A settle(A lane, int64_t, int) const { return lane; }
};

struct gpul__reduce_layout {
    int64_t n, outputs, rows; /* rows of a unit */
    int32_t units, groups;    /* of an output */
    uint32_t jobs;            /* sets of outputs for a block */
    int64_t y_stride;
    int32_t reduce_ndim, outer_ndim;
    int64_t reduce_shape[GPUL_MAX_DIMS], x_reduce[GPUL_MAX_DIMS];
    int64_t outer_shape[GPUL_MAX_DIMS], x_outer[GPUL_MAX_DIMS], out_stride[GPUL_MAX_DIMS];
    double reduce_inverse[GPUL_MAX_DIMS], outer_inverse[GPUL_MAX_DIMS]; /* 1 / shape */
    gpul_dtype out_dtype;
    int32_t aligned;  /* rows, short: every output's elements begin at a multiple of 16 bytes */
    int32_t splits;   /* blocks that share the outputs of one of them */
    int32_t stages;   /* staged: stretches in shared memory */
    int32_t held;     /* rows: groups that a block takes, GPUL__REDUCE_GROUPS at most; cols: sets of 2^together units */
    int32_t step;     /* from a unit's row to its next: 8 where there are several groups, else 1 */
    int32_t width;    /* 2^width: warps to an output (rows), threads to one (short), threads side by side (cols) */
    int32_t zero;     /* for gpul__hold */
    int32_t passes;   /* cols, narrow: 2^passes slots, or sets of kSets slots, are a thread's, side by side */
    int32_t parts;    /* cols: 2^parts threads share the slots of a unit */
    int32_t inner;    /* cols: 2^inner of them share a warp */
    int32_t together; /* cols: 2^together units are a block's */
    int32_t run; /* cols: 2^run neighbouring units are combined by their block before they become partial results; more
                  * than a group only where there are no more groups than their tree has slots */
};

/* The outputs that this block works on, one of p.splits blocks. Neighbouring blocks read neighbouring memory: rows has
 * the parts of a job side by side, cols the jobs, and so has rows with a y, of which all jobs then read a part at a
 * time, while it is in the cache (a gemv of 8 x 2^22 doubles: 72 us, else 78). The other goes along y and z, with some
 * blocks too many. */
struct gpul__reduce_share {
    unsigned job, part;
};
static __device__ __forceinline__ gpul__reduce_share gpul__reduce_share_of(const gpul__reduce_layout &p,
                                                                           bool jobs_first) {
    gpul__reduce_share share = {blockIdx.x, blockIdx.z * gridDim.y + blockIdx.y};
    if (!jobs_first && p.splits > 1) {
        share.job = share.part;
        share.part = blockIdx.x;
    }
    return share;
}

/* Where a unit begins, and how many elements its rows and those between them span, at most to the end. */
struct gpul__reduce_span {
    int64_t begin;
    int length;
};
template <int kRow>
static __device__ __forceinline__ gpul__reduce_span gpul__reduce_span_of(const gpul__reduce_layout &p, int unit) {
    gpul__reduce_span span;
    span.begin = (p.step == 1 ? unit * p.rows : (unit & ~7) * p.rows + (unit & 7)) * kRow;
    const int64_t rest = p.n - span.begin, most = p.rows * p.step * kRow;
    span.length = int(rest < most ? rest : most);
    return span;
}

/* For kN elements to 16 bytes, what a thread has in flight: kShort outputs in the short kernel, and kSets sets of kN
 * elements, which are rows of a slot in the cols kernel and slots in the narrow one: eight loads or more. */
template <int kN> struct gpul__reduce_shape {
    enum { kShort = kN <= 4 ? 8 : 4, kSets = kN >= 8 ? 1 : 8 / kN };
};

/* index = (result * size) + *rest, for indices below 2^53, with the rounded 1 / size: no 64-bit division, whose call
 * would cost the kernel registers, and with them loads in flight. */
static __device__ __forceinline__ int64_t gpul__divide(int64_t index, int64_t size, double inverse, int64_t *rest) {
    int64_t quotient = int64_t(__dmul_rn(double(index), inverse)); /* off by one at most */
    *rest = index - quotient * size;
    if (*rest < 0) {
        --quotient;
        *rest += size;
    } else if (*rest >= size) {
        ++quotient;
        *rest -= size;
    }
    return quotient;
}

/* Where an output's elements and its result lie. */
struct gpul__reduce_place {
    int64_t x, out;
};
static __device__ __forceinline__ gpul__reduce_place gpul__reduce_at(const gpul__reduce_layout &p, int64_t output) {
    gpul__reduce_place place = {0, 0};
    GPUL__UNROLL_NOT
    for (int32_t d = p.outer_ndim - 1; d > 0; --d) {
        int64_t i;
        output = gpul__divide(output, p.outer_shape[d], p.outer_inverse[d], &i);
        place.x += i * p.x_outer[d];
        place.out += i * p.out_stride[d];
    }
    place.x += output * p.x_outer[0];
    place.out += output * p.out_stride[0];
    return place;
}
/* Where an output's i-th element lies, from its first. */
static __device__ __forceinline__ int64_t gpul__reduce_element(const gpul__reduce_layout &p, int64_t i) {
    int64_t place = 0;
    GPUL__UNROLL_NOT
    for (int32_t d = p.reduce_ndim - 1; d > 0; --d) {
        int64_t rest;
        i = gpul__divide(i, p.reduce_shape[d], p.reduce_inverse[d], &rest);
        place += rest * p.x_reduce[d];
    }
    return place + i * p.x_reduce[0];
}

/* The tree over groups of `group` neighbouring lanes, a power of two up to 32: the first of each group gets the
 * result. */
template <typename Op>
static __device__ __forceinline__ typename Op::Acc gpul__reduce_warp(const Op &op, typename Op::Acc acc, int group) {
    GPUL__UNROLL
    for (int d = 1; d < 32; d *= 2) {
        if (d >= group) break;
        acc = op.combine(acc, gpul__shuffle(acc, d, true));
    }
    return acc;
}

/* The tree over `count` <= 8 values that lie `stride` apart, as of eight of which the others are identity. */
template <typename Op>
static __device__ __forceinline__ typename Op::Acc gpul__reduce_eight(const Op &op, const typename Op::Acc *values,
                                                                      int64_t stride, int64_t count) {
    typename Op::Acc acc[8];
    GPUL__UNROLL
    for (int k = 0; k < 8; ++k) acc[k] = k < count ? values[k * stride] : op.identity();
    GPUL__UNROLL
    for (int d = 1; d < 8; d *= 2) {
        GPUL__UNROLL
        for (int k = 0; k < 8; k += 2 * d) acc[k] = op.combine(acc[k], acc[k + d]);
    }
    return acc[0];
}

/* True in every thread of the block that arrives as the last of `blocks`; then what their threads wrote before is
 * visible to it. Called by all threads. The counter is left at zero, for whoever is next. The barriers pass on to and
 * from one thread what its addition releases and acquires; that is one fence to wait for, and not the dearer one of
 * __threadfence. */
static __device__ __forceinline__ bool gpul__arrive_last(uint32_t *arrived, uint32_t blocks, uint32_t *shared_flag) {
    __syncthreads();
    if (threadIdx.x == 0) {
#ifdef __CUDA_ARCH__
        uint32_t before;
        asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
#else
        const uint32_t before = atomicAdd(arrived, 1u);
#endif
        const bool last = before == blocks - 1;
        if (last) *arrived = 0;
        *shared_flag = last;
    }
    __syncthreads();
    return *shared_flag != 0;
}

/* kFlight of a thread's rows, all loaded before the first is folded; `whole` when all of them are there. Moves on. */
template <int kFlight, bool kWhole, int kO, typename Op>
static __device__ __forceinline__ void gpul__reduce_rows_in_flight(const Op &op, const typename Op::X *(&x)[kO],
                                                                   const typename Op::Y *&y, int step, int &at,
                                                                   int length, typename Op::Lane (&lane)[kO]) {
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    enum { kN = 16 / sizeof(X) };
    gpul__pack<X, kN> vx[kO][kFlight];
    gpul__pack<Y, kN> vy[kFlight];
    GPUL__UNROLL
    for (int u = 0; u < kFlight; ++u) {
        if (!kWhole && at + u * step + int(kN) > length) continue;
        GPUL__UNROLL
        for (int o = 0; o < kO; ++o) vx[o][u] = gpul__load<kN>(x[o] + u * step);
        vy[u] = gpul__load<kN>(y + (gpul__has<Y>() ? u * step : 0));
    }
    if (kWhole) __syncwarp(); /* all loads are on their way: left alone, the compiler starts with three of them */
    GPUL__UNROLL
    for (int u = 0; u < kFlight; ++u) {
        if (!kWhole && at + u * step + int(kN) > length) continue;
        GPUL__UNROLL
        for (int o = 0; o < kO; ++o) {
            GPUL__UNROLL
            for (int k = 0; k < int(kN); ++k) lane[o] = op.fold(lane[o], vx[o][u].v[k], vy[u].v[k], at + u * step + k);
        }
    }
    at += kFlight * step;
    GPUL__UNROLL
    for (int o = 0; o < kO; ++o) x[o] += kFlight * step;
    if (gpul__has<Y>()) y += kFlight * step;
}

/* How many rows of kO outputs are loaded at once: some eight loads, the most that registers hold; bytes, kN = 16 of
 * them, take a register each when they are unpacked. Half of that where five blocks share the registers of three. */
template <int kO, int kN, bool kTwo, int kBlocks> struct gpul__reduce_flight {
    enum { value = kO > 1 ? 2 : kTwo || kN > 8 || kBlocks > 3 ? 4 : 8, few = kO > 1 ? 1 : 4 };
};

/* One unit of kO outputs in one warp, all at the same y; the first lane gets the results. */
template <int kO, int kBlocks, typename Op>
static __device__ __forceinline__ void gpul__reduce_row(const gpul__reduce_layout &p, Op op,
                                                        const typename Op::X *(&x)[kO], const typename Op::Y *y,
                                                        int unit, typename Op::Acc (&result)[kO]) {
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    typedef gpul__reduce_flight<kO, 16 / sizeof(X), (gpul__size_of<Y>::value > 1), kBlocks> Flight;
    enum { kN = 16 / sizeof(X), kRow = 32 * kN, kFlight = Flight::value, kFew = Flight::few };
    const gpul__reduce_span span = gpul__reduce_span_of<kRow>(p, unit);
    const int first = int(threadIdx.x % 32) * int(kN), step = p.step * int(kRow);
    typename Op::Lane lane[kO];
    op.begin(x[0]);
    GPUL__UNROLL
    for (int o = 0; o < kO; ++o) {
        lane[o] = op.start();
        x[o] += span.begin + first;
    }
    if (gpul__has<Y>()) y += span.begin + first;
    int at = first;
    if (p.aligned) {
        GPUL__UNROLL_NOT
        while (at - first + int(kRow) + (int(kFlight) - 1) * step <= span.length) /* the warp's lanes agree */
            gpul__reduce_rows_in_flight<kFlight, true>(op, x, y, step, at, span.length, lane);
        GPUL__UNROLL_NOT
        while (at + int(kN) <= span.length)
            gpul__reduce_rows_in_flight<kFew, false>(op, x, y, step, at, span.length, lane);
    } else {
        GPUL__UNROLL_NOT
        for (; at + int(kN) <= span.length; at += step) { /* element by element; the cache sees to the rest */
            GPUL__UNROLL
            for (int o = 0; o < kO; ++o) {
                GPUL__UNROLL
                for (int k = 0; k < int(kN); ++k) lane[o] = op.fold(lane[o], x[o][k], gpul__at(y, k), at + k);
                x[o] += step;
            }
            if (gpul__has<Y>()) y += step;
        }
    }
    /* less than 16 bytes at the end: their lane's last row. The pointers are `over` elements past it, or at it. */
    const int tail = span.length - span.length % int(kN), over = at - tail;
    if (over >= 0 && (over & (step - 1)) == 0) {
        GPUL__UNROLL
        for (int k = 0; k < int(kN) - 1; ++k) {
            if (tail + k >= span.length) break;
            GPUL__UNROLL
            for (int o = 0; o < kO; ++o) lane[o] = op.fold(lane[o], x[o][k - over], gpul__at(y, k - over), tail + k);
        }
    }
    const bool any = first < span.length;
    GPUL__UNROLL
    for (int o = 0; o < kO; ++o)
        result[o] = gpul__reduce_warp(op, any ? op.settle(lane[o], span.begin, first) : op.identity(), 32);
}

/* How many groups a block holds in shared memory: one for each lane of the warp that combines them. */
#define GPUL__REDUCE_GROUPS 32

/* 2^p.width warps take the units of kO neighbouring outputs; blocks of eight warps take a group at a time, p.splits of
 * them sharing the groups of their outputs. Nothing waits for anything until a block's units are all done. kBlocks of
 * them share a multiprocessor. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define GPUL__REDUCE_MOST_BLOCKS 4 /* of 256 threads: all that there are */
#else
#define GPUL__REDUCE_MOST_BLOCKS 5
#endif
template <typename Op, int kO, int kBlocks>
static __global__ void __launch_bounds__(GPUL__REDUCE_THREADS,
                                         kBlocks < GPUL__REDUCE_MOST_BLOCKS ? kBlocks : GPUL__REDUCE_MOST_BLOCKS)
    gpul__reduce_rows(void *out, const typename Op::X *x, const typename Op::Y *y, typename Op::Acc *partials,
                      uint32_t *arrived, const __grid_constant__ gpul__reduce_layout p, Op op) {
    gpul__await();
    typedef typename Op::Acc Acc;
    const int warps = GPUL__REDUCE_THREADS / 32, warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    enum { kAtOnce = kO > 1 ? 2 : 4 }; /* partial results that a thread loads at once */
    GPUL_SHARED(Acc, shared);          /* kO x groups x 8; a flag */
    uint32_t *flag = reinterpret_cast<uint32_t *>(shared + kO * GPUL__REDUCE_GROUPS * warps);
    const gpul__reduce_share share = gpul__reduce_share_of(p, gpul__has<typename Op::Y>());
    const int width = 1 << p.width, sets = warps >> p.width; /* of outputs, side by side */
    const int from = int(share.part) * p.held, to = from + p.held < p.groups ? from + p.held : p.groups;
    Acc acc = op.identity();
    const unsigned job = share.job;
    const int64_t mine = (int64_t(job) * sets + (warp >> p.width)) * kO;
    if (job >= p.jobs || share.part >= unsigned(p.splits)) return; /* the grid may have more blocks than either */
    GPUL__UNROLL_NOT
    for (int group = from; group < to; ++group) {
        const int unit = group * 8 + (warp & (width - 1));
        Acc units[kO];
        if (unit < p.units && mine < p.outputs) {
            const typename Op::X *px[kO];
            GPUL__UNROLL
            for (int o = 0; o < kO; ++o) px[o] = x + gpul__reduce_at(p, mine + o < p.outputs ? mine + o : mine).x;
            gpul__reduce_row<kO, kBlocks>(p, op, px, y, unit, units);
        } else {
            GPUL__UNROLL
            for (int o = 0; o < kO; ++o) units[o] = op.identity();
        }
        if (lane != 0) continue;
        GPUL__UNROLL
        for (int o = 0; o < kO; ++o) shared[(o * GPUL__REDUCE_GROUPS + group - from) * warps + warp] = units[o];
    }
    if (width > 1) __syncthreads();
    else __syncwarp();
    /* Lanes of warp o now have output o of each set, or of the only set its groups. With one warp to an output each has
     * its own. */
    const int o = width == 1 ? lane : warp, set = width == 1 ? warp : sets == 1 ? 0 : lane;
    const int64_t output = (int64_t(job) * sets + set) * kO + o;
    const bool has = o < kO && output < p.outputs && (width == 1 || lane < (sets == 1 ? to - from : sets));
    if (has) {
        const Acc *values = shared + (o * GPUL__REDUCE_GROUPS + (sets == 1 ? lane : 0)) * warps + set * width;
        acc = gpul__reduce_eight(op, values, 1, width);
    }
    if (p.groups == 1) {
        /* the slots and units beyond hold the identity; once stands for every time */
        if (has) op.store(out, gpul__reduce_at(p, output).out, p.out_dtype, op.combine(acc, op.identity()), p.n);
        return;
    }
    if (p.splits == 1) {
        acc = gpul__reduce_warp(op, acc, 32);
        if (has && lane == 0)
            op.store(out, gpul__reduce_at(p, output).out, p.out_dtype, op.combine(acc, op.identity()), p.n);
        return;
    }
    if (has) partials[output * p.groups + from + lane] = acc;
    if (!gpul__arrive_last(arrived + job, uint32_t(p.splits), flag)) return;
    const int64_t base = int64_t(job) * kO;
    const Acc *const results = partials + base * p.groups;
    Acc total[kO];
    GPUL__UNROLL
    for (int k = 0; k < kO; ++k) total[k] = op.identity();
    for (int g = int(threadIdx.x); g < p.groups; g += kAtOnce * GPUL__REDUCE_THREADS) {
        Acc next[kAtOnce][kO];
        GPUL__UNROLL
        for (int u = 0; u < int(kAtOnce); ++u) {
            const int at = g + u * GPUL__REDUCE_THREADS;
            GPUL__UNROLL
            for (int k = 0; k < kO; ++k)
                next[u][k] =
                    at < p.groups && base + k < p.outputs ? results[int64_t(k) * p.groups + at] : op.identity();
        }
        GPUL__UNROLL
        for (int u = 0; u < int(kAtOnce); ++u) {
            GPUL__UNROLL
            for (int k = 0; k < kO; ++k) total[k] = op.combine(total[k], next[u][k]);
        }
    }
    GPUL__UNROLL
    for (int k = 0; k < kO; ++k) {
        total[k] = gpul__reduce_warp(op, total[k], 32);
        if (lane == 0) shared[k * warps + warp] = total[k];
    }
    __syncthreads();
    if (warp < kO && base + warp < p.outputs) {
        acc = gpul__reduce_warp(op, shared[warp * warps + lane % warps], warps);
        if (lane == 0)
            op.store(out, gpul__reduce_at(p, base + warp).out, p.out_dtype, op.combine(acc, op.identity()), p.n);
    }
}

/* The trees of kCount outputs at once, over groups of `group` lanes: at each step the two lanes of a pair, kD apart,
 * deal out between them what both have, so that in the end a lane has the `left` outputs from `mine` on in acc[0] and
 * after. With one output left, the first lanes have them. Steps are types so that acc stays in registers however loops
 * are unrolled. */
template <int kCount, int kD> struct gpul__reduce_deal {
    template <int kF, typename Op>
    static __device__ __forceinline__ void go(const Op &op, typename Op::Acc (&acc)[kF], int group, int &mine,
                                              int &left) {
        enum { kHalf = kCount / 2 };
        if (kD >= group) return;
        if (int(kHalf) == 0) acc[0] = op.combine(acc[0], gpul__shuffle(acc[0], kD, true));
        else {
            const bool upper = (threadIdx.x & unsigned(kD)) != 0;
            GPUL__UNROLL
            for (int u = 0; u < int(kHalf); ++u) {
                const typename Op::Acc low = acc[u], high = acc[u + int(kHalf)];
                const typename Op::Acc other = gpul__shuffle(upper ? low : high, kD, false);
                const typename Op::Acc first = upper ? other : low, second = upper ? high : other;
                acc[u] = op.combine(first, second);
            }
            mine += upper ? int(kHalf) : 0;
            left = kHalf;
        }
        gpul__reduce_deal<(kCount > 1 ? int(kHalf) : 1), kD * 2>::go(op, acc, group, mine, left);
    }
};
template <int kCount> struct gpul__reduce_deal<kCount, 32> {
    template <int kF, typename Op>
    static __device__ __forceinline__ void go(const Op &, typename Op::Acc (&)[kF], int, int &, int &) {}
};

/* 2^p.width threads to an output of one unit, the outputs in one dimension; each has kF of them in flight. */
template <typename Op>
static __global__ void __launch_bounds__(GPUL__REDUCE_THREADS, sizeof(typename Op::Acc) > 8 ? 2 : 3)
    gpul__reduce_short(void *out, const typename Op::X *x, const typename Op::Y *y,
                       const __grid_constant__ gpul__reduce_layout p, Op one_op) {
    gpul__await();
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    typedef typename Op::Acc Acc;
    enum { kN = 16 / sizeof(X), kF = gpul__reduce_shape<kN>::kShort };
    const int group = 1 << p.width, lane = int(threadIdx.x) & (group - 1), length = int(p.n);
    const int step = GPUL__REDUCE_THREADS >> p.width;
    const int64_t first = int64_t(blockIdx.x) * (int(kF) * step) + int(threadIdx.x >> p.width);
    const int64_t last = p.outputs - 1, pitch = step * p.x_outer[0];
    Op op[kF];
    typename Op::Lane slot[kF];
    const X *const x0 = x + (first < last ? first : last) * p.x_outer[0];
    int64_t row[kF]; /* beyond the last output, the first again */
    GPUL__UNROLL
    for (int u = 0; u < int(kF); ++u) row[u] = first + u * step <= last ? u * pitch : 0;
    GPUL__UNROLL
    for (int u = 0; u < int(kF); ++u) {
        op[u] = one_op;
        if (length > 0) op[u].begin(x0 + row[u]);
        slot[u] = op[u].start();
    }
    GPUL__UNROLL_NOT
    for (int i = lane * int(kN); i < length; i += 32 * int(kN)) {
        gpul__pack<X, kN> vx[kF];
        gpul__pack<Y, kN> vy;
        const int count = length - i < int(kN) ? length - i : int(kN);
        if (p.aligned && count == int(kN)) {
            GPUL__UNROLL
            for (int u = 0; u < int(kF); ++u) vx[u] = gpul__load<kN>(x0 + row[u] + i);
            vy = gpul__load<kN>(y + (gpul__has<Y>() ? i : 0));
        } else {
            GPUL__UNROLL
            for (int u = 0; u < int(kF); ++u) {
                const X *const px = x0 + row[u] + i;
                GPUL__UNROLL
                for (int k = 0; k < int(kN); ++k)
                    if (k < count) vx[u].v[k] = px[k];
            }
            GPUL__UNROLL
            for (int k = 0; k < int(kN); ++k)
                if (k < count) vy.v[k] = gpul__at(y, i + k);
        }
        GPUL__UNROLL
        for (int k = 0; k < int(kN); ++k) {
            if (k >= count) break;
            GPUL__UNROLL
            for (int u = 0; u < int(kF); ++u) slot[u] = op[u].fold(slot[u], vx[u].v[k], vy.v[k], i + k);
        }
    }
    Acc acc[kF];
    GPUL__UNROLL
    for (int u = 0; u < int(kF); ++u)
        acc[u] = lane * int(kN) < length ? op[u].settle(slot[u], 0, lane * int(kN)) : one_op.identity();
    int mine = 0, left = int(kF);
    gpul__reduce_deal<int(kF), 1>::go(one_op, acc, group, mine, left);
    if (lane >= int(kF)) return;
    GPUL__UNROLL
    for (int u = 0; u < int(kF); ++u) {
        const int64_t output = first + (mine + u) * step;
        if (u >= left || output >= p.outputs) continue;
        /* the slots beyond a narrow group hold the identity; once stands for every time */
        const Acc result = one_op.combine(acc[u], one_op.identity());
        one_op.store(out, output * p.out_stride[0], p.out_dtype, result, p.n);
    }
}

/* A thread's loads from kC neighbouring columns, all on their way before the first is used: kSets sets of kN elements,
 * `step` elements apart, from the one at `at` on; without kWhole, those before `length`. */
template <bool kWhole, int kC, int kSets, int kN, typename X, typename Y>
static __device__ __forceinline__ void gpul__reduce_fetch(const gpul__reduce_layout &p, const X *x, const Y *y, int at,
                                                          int step, int length, gpul__pack<X, kC> (&vx)[kSets][kN],
                                                          Y (&vy)[kSets][kN]) {
    const int64_t stride = p.x_reduce[0], x_step = step * stride, y_step = step * p.y_stride;
    GPUL__UNROLL
    for (int r = 0; r < kSets; ++r) {
        GPUL__UNROLL
        for (int k = 0; k < kN; ++k) {
            if (!kWhole && at + r * step + k >= length) continue;
            vx[r][k] = gpul__load<kC>(x + r * x_step + k * stride);
            vy[r][k] = gpul__at(y, r * y_step + k * p.y_stride);
        }
    }
    gpul__hold(p.zero);
}

/* kSets rows of a slot, as far as they are there. Moves on. */
template <bool kWhole, int kC, typename Op>
static __device__ __forceinline__ void
gpul__reduce_slot_rows(const gpul__reduce_layout &p, const Op (&op)[kC], const typename Op::X *&x,
                       const typename Op::Y *&y, int &at, int step, int length, typename Op::Lane (&lane)[kC]) {
    enum { kN = 16 / sizeof(typename Op::X), kSets = gpul__reduce_shape<kN>::kSets };
    gpul__pack<typename Op::X, kC> vx[kSets][kN];
    typename Op::Y vy[kSets][kN];
    gpul__reduce_fetch<kWhole>(p, x, y, at, step, length, vx, vy);
    GPUL__UNROLL
    for (int r = 0; r < int(kSets); ++r) {
        GPUL__UNROLL
        for (int k = 0; k < int(kN); ++k) {
            if (!kWhole && at + r * step + k >= length) continue;
            GPUL__UNROLL
            for (int c = 0; c < kC; ++c) lane[c] = op[c].fold(lane[c], vx[r][k].v[c], vy[r][k], at + r * step + k);
        }
    }
    at += kSets * step;
    x += kSets * step * p.x_reduce[0];
    if (gpul__has<typename Op::Y>()) y += kSets * step * p.y_stride;
}

/* One slot of a unit, for kC neighbouring columns. */
template <int kC, typename Op>
static __device__ __forceinline__ void gpul__reduce_slot(const gpul__reduce_layout &p, const Op &one_op,
                                                         const typename Op::X *x, const typename Op::Y *y, int unit,
                                                         int slot, typename Op::Acc (&result)[kC]) {
    enum { kN = 16 / sizeof(typename Op::X), kSets = gpul__reduce_shape<kN>::kSets };
    const gpul__reduce_span span = gpul__reduce_span_of<32 * kN>(p, unit);
    const int step = p.step * 32 * int(kN), first = slot * int(kN);
    Op op[kC];
    typename Op::Lane lane[kC];
    GPUL__UNROLL
    for (int c = 0; c < kC; ++c) {
        op[c] = one_op;
        op[c].begin(x + c);
        lane[c] = op[c].start();
    }
    int at = first;
    if (kC > 1 || p.reduce_ndim == 1) {
        const typename Op::X *px = x + (span.begin + at) * p.x_reduce[0];
        const typename Op::Y *py = gpul__has<typename Op::Y>() ? y + (span.begin + at) * p.y_stride : y;
        GPUL__UNROLL_NOT
        while (at + int(kSets - 1) * step + int(kN) <= span.length)
            gpul__reduce_slot_rows<true>(p, op, px, py, at, step, span.length, lane);
        GPUL__UNROLL_NOT
        while (at < span.length) gpul__reduce_slot_rows<false>(p, op, px, py, at, step, span.length, lane);
    } else { /* elements of several dimensions: one by one */
        GPUL__UNROLL_NOT
        for (; at < span.length; at += step) {
            GPUL__UNROLL_NOT
            for (int j = at; j < at + int(kN) && j < span.length; ++j) {
                const typename Op::X *const px = x + gpul__reduce_element(p, span.begin + j);
                lane[0] = op[0].fold(lane[0], *px, gpul__at(y, (span.begin + j) * p.y_stride), j);
            }
        }
    }
    GPUL__UNROLL
    for (int c = 0; c < kC; ++c)
        result[c] = first < span.length ? op[c].settle(lane[c], span.begin, first) : op[c].identity();
}

/* One more of 2^levels results of a thread, by index, that go into the tree side by side: `halves` keeps the left
 * halves that wait for their right ones, as a binary counter its ones: levels times kC of them, `pitch` apart. After
 * the last of them, acc is the result of all. */
template <int kC, typename Op>
static __device__ __forceinline__ void gpul__reduce_carry(const Op &op, typename Op::Acc (&acc)[kC], int index,
                                                          int levels, typename Op::Acc *halves, int pitch) {
    GPUL__UNROLL_NOT
    for (; index & 1; index >>= 1, --levels, halves += kC * pitch) {
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) acc[c] = op.combine(halves[c * pitch], acc[c]);
    }
    if (levels <= 0) return;
    GPUL__UNROLL
    for (int c = 0; c < kC; ++c) halves[c * pitch] = acc[c];
}

/* The first 2^levels of the tree over lanes that lie `width` apart; the first of them gets the results. */
template <int kC, typename Op>
static __device__ __forceinline__ void gpul__reduce_lines(const Op &op, typename Op::Acc (&acc)[kC], int levels,
                                                          int width) {
    GPUL__UNROLL_NOT
    for (int d = 0; d < levels; ++d) {
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) acc[c] = op.combine(acc[c], gpul__shuffle(acc[c], width << d, true));
    }
}

/* The groups' tree over `count` of its slots from slot `from` on, for kC columns: `groups` of them, or of runs of
 * groups. It is all that is left to do when it runs, so that as many results as registers hold are on their way at
 * once. */
template <int kC, typename Op>
static __device__ __forceinline__ void gpul__reduce_groups(const Op &op, const typename Op::Acc *partials, int groups,
                                                           int64_t outputs, int from, int count,
                                                           typename Op::Acc (&result)[kC]) {
    typedef typename Op::Acc Acc;
    enum { kBytes = kC * sizeof(Acc), kSide = kBytes <= 16 ? 8 : kBytes <= 32 ? 4 : 2 }; /* slots side by side */
    Acc open[7 * kC]; /* for gpul__reduce_carry: 256 slots, two at a time or more */
    int levels = 0;
    while (int(kSide) << levels < count) ++levels;
    GPUL__UNROLL_NOT
    for (int s = 0; s < count; s += int(kSide)) {
        Acc acc[kSide][kC];
        GPUL__UNROLL
        for (int k = 0; k < int(kSide); ++k) {
            GPUL__UNROLL
            for (int c = 0; c < kC; ++c) acc[k][c] = op.identity();
        }
        GPUL__UNROLL_NOT
        for (int g = from + s; g < groups; g += 256) {
            Acc next[kSide][kC];
            GPUL__UNROLL
            for (int k = 0; k < int(kSide); ++k) {
                const bool there = s + k < count && g + k < groups;
                GPUL__UNROLL
                for (int c = 0; c < kC; ++c)
                    next[k][c] = there ? partials[int64_t(g + k) * outputs + c] : op.identity();
            }
            GPUL__UNROLL
            for (int k = 0; k < int(kSide); ++k) {
                GPUL__UNROLL
                for (int c = 0; c < kC; ++c) acc[k][c] = op.combine(acc[k][c], next[k][c]);
            }
        }
        GPUL__UNROLL
        for (int d = 1; d < int(kSide); d *= 2) {
            if (d >= count) break;
            GPUL__UNROLL
            for (int k = 0; k < int(kSide); k += 2 * d) {
                GPUL__UNROLL
                for (int c = 0; c < kC; ++c) acc[k][c] = op.combine(acc[k][c], acc[k + d][c]);
            }
        }
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) result[c] = acc[0][c];
        gpul__reduce_carry(op, result, s / int(kSide), levels, open, 1);
    }
}

/* A thread's place in a block of the cols kernel. A block has a strip of 2^p.width threads with kC columns each,
 * 2^p.parts threads to the slots of a unit, and 2^p.together units side by side. It takes p.held such sets of units,
 * one after the other. 2^p.inner lines of a unit share a warp, and one of them, which is `ranked`, has the result for
 * all of them; these are `pitch` threads. */
template <int kC> struct gpul__reduce_seat {
    int width, column, line, inner, rank, pitch, unit; /* unit: the thread's first */
    bool ranked, real;
    int64_t output;
    gpul__reduce_place place; /* of the output */
    __device__ __forceinline__ gpul__reduce_seat(const gpul__reduce_layout &p, const gpul__reduce_share &share) {
        width = 1 << p.width;
        column = int(threadIdx.x) & (width - 1);
        line = int(threadIdx.x >> p.width);
        inner = p.inner;
        rank = (line >> inner << p.width) + column;
        pitch = int(blockDim.x) >> inner;
        ranked = (line & ((1 << inner) - 1)) == 0;
        unit = int(share.part) * (p.held << p.together) + (line >> p.parts);
        output = ((int64_t(share.job) << p.width) + column) * kC; /* kC > 1 divides p.outputs */
        real = output < p.outputs;
        place = gpul__reduce_at(p, real ? output : 0);
    }
    /* The tree over 2^levels lines, side by side, those of a warp done: `acc` where a line is ranked. Result in the
     * first. `exchange` has kC for each rank. */
    template <typename Op>
    __device__ __forceinline__ void combine(const Op &op, typename Op::Acc (&acc)[kC], typename Op::Acc *exchange,
                                            int levels) const {
        const int part = line & ((1 << levels) - 1);
        typename Op::Acc *const own = exchange + rank;
        if (levels <= inner) return;
        if (ranked) {
            GPUL__UNROLL
            for (int c = 0; c < kC; ++c) own[c * pitch] = acc[c];
        }
        GPUL__UNROLL_NOT
        for (int d = 1 << inner; d < 1 << levels; d *= 2) {
            __syncthreads();
            if ((part & (2 * d - 1)) != 0) continue;
            GPUL__UNROLL
            for (int c = 0; c < kC; ++c)
                own[c * pitch] = acc[c] = op.combine(acc[c], own[c * pitch + (d >> inner) * width]);
        }
    }
    /* The same for `sets` times kC results of each ranked line, which are in `own`. */
    template <typename Op>
    __device__ __forceinline__ void combine_sets(const Op &op, typename Op::Acc *own, int sets, int levels) const {
        const int part = line & ((1 << levels) - 1);
        GPUL__UNROLL_NOT
        for (int d = 1 << inner; d < 1 << levels; d *= 2) {
            __syncthreads();
            if ((part & (2 * d - 1)) != 0) continue;
            GPUL__UNROLL_NOT
            for (int h = 0; h < sets; ++h) {
                GPUL__UNROLL
                for (int c = 0; c < kC; ++c) {
                    typename Op::Acc *const left = own + (h * kC + c) * pitch;
                    *left = op.combine(*left, left[(d >> inner) * width]);
                }
            }
        }
    }
};

/* A run has 2^this units side by side. */
static __device__ __forceinline__ int gpul__reduce_beside(const gpul__reduce_layout &p) {
    return p.run < p.together ? p.run : p.together;
}

/* The tree from units on: runs of 2^p.run of them, side by side and one after the other, of `sets` sets that begin with
 * the block's unit `unit`. `results` has kC for each rank and set, `pitch` apart, or for the first line's ranks alone
 * where a set is no more than a run. Where there are several runs, theirs become partial results. */
template <int kC, typename Op>
static __device__ __forceinline__ void
gpul__reduce_runs(const Op &op, const gpul__reduce_layout &p, const gpul__reduce_seat<kC> &seat, int unit, int sets,
                  typename Op::Acc *results, int pitch, typename Op::Acc *partials, typename Op::Acc (&acc)[kC]) {
    typedef typename Op::Acc Acc;
    const int beside = gpul__reduce_beside(p), apart = p.together - beside; /* 2^apart runs side by side */
    const int lines = int(blockDim.x >> p.width), after = 1 << (p.run - beside);
    /* the results of the index-th run, `step` sets long */
    const auto values_of = [&](int index, int step) {
        const int line = (index & ((1 << apart) - 1)) << (p.parts + beside);
        return results + (index >> apart) * step * kC * pitch + (line >> seat.inner << p.width) + seat.column;
    };
    GPUL__UNROLL_NOT
    for (int d = 1; d < after; d *= 2) {
        __syncthreads();
        GPUL__UNROLL_NOT
        for (int i = seat.line; i < sets / (2 * d) << apart; i += lines) {
            Acc *const left = values_of(i, 2 * d);
            GPUL__UNROLL
            for (int c = 0; c < kC; ++c) left[c * pitch] = op.combine(left[c * pitch], left[(d * kC + c) * pitch]);
        }
    }
    __syncthreads();
    GPUL__UNROLL_NOT
    for (int run = seat.line; run < sets << p.together >> p.run; run += lines) {
        const Acc *const values = values_of(run, after);
        const int at = (unit >> p.run) + run;
        const bool put = p.units > 1 << p.run && at << p.run < p.units && seat.real;
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) {
            acc[c] = values[c * pitch];
            if (put) partials[int64_t(at) * p.outputs + seat.output + c] = acc[c];
        }
    }
}

/* What is left then: the last block of each group combines its runs, the last of all the groups, unless there is only
 * one, of which the first line has the result. `exchange` has kC for each rank. */
template <int kC, typename Op>
static __device__ __forceinline__ void
gpul__reduce_cols_end(const Op &op, const gpul__reduce_layout &p, const gpul__reduce_seat<kC> &seat, unsigned job,
                      typename Op::Acc (&acc)[kC], typename Op::Acc *exchange, uint32_t *flag, void *out,
                      typename Op::Acc *partials, uint32_t *arrived) {
    typedef typename Op::Acc Acc;
    const bool leads = seat.real && seat.line == 0;
    if (p.units > 1 << p.run) {
        partials += seat.output;
        if (p.run < 3) { /* one run a block */
            const int group = seat.unit >> 3;
            const int rest = p.units - group * 8, runs = (rest < 8 ? rest + (1 << p.run) - 1 : 8) >> p.run;
            if (!gpul__arrive_last(arrived + gridDim.x + int64_t(job) * p.groups + group, uint32_t(runs), flag)) return;
            if (leads) {
                GPUL__UNROLL
                for (int c = 0; c < kC; ++c)
                    acc[c] = gpul__reduce_eight(op, partials + int64_t(group << (3 - p.run)) * p.outputs + c, p.outputs,
                                                runs);
            }
            partials += p.outputs * int64_t((p.units + (1 << p.run) - 1) >> p.run);
            if (leads && p.groups > 1) {
                GPUL__UNROLL
                for (int c = 0; c < kC; ++c) partials[int64_t(group) * p.outputs + c] = acc[c];
            }
        }
        if (p.groups > 1) {
            const uint32_t arrivals = uint32_t(p.run < 3 ? p.groups : p.splits);
            if (!gpul__arrive_last(arrived + job, arrivals, flag)) return;
            /* the 256 slots, as far as there are groups for them, are shared out among the block's lines of threads */
            const int most = p.together + p.parts, line = seat.line;
            const int groups = p.run < 3 ? p.groups : (p.units + (1 << p.run) - 1) >> p.run;
            int slots = 0;
            while (slots < 8 && 1 << slots < groups) ++slots;
            const int used = slots < most ? slots : most, count = 1 << (slots - used);
            GPUL__UNROLL
            for (int c = 0; c < kC; ++c) acc[c] = op.identity();
            if (seat.real && line < 1 << used)
                gpul__reduce_groups<kC>(op, partials, groups, p.outputs, line * count, count, acc);
            gpul__reduce_lines(op, acc, seat.inner, seat.width);
            seat.combine(op, acc, exchange, most);
        }
    }
    if (!leads) return;
    GPUL__UNROLL
    for (int c = 0; c < kC; ++c) {
        const int64_t at = kC == 1 ? seat.place.out : seat.place.out + c * p.out_stride[p.outer_ndim - 1];
        op.store(out, at, p.out_dtype, op.combine(acc[c], op.identity()), p.n); /* as in rows */
    }
}

/* Blocks of 256 threads, or 512, that have 2^p.passes slots each, one after the other. Nothing waits for anything until
 * all units of a block are read. What counts is how much is on its way: 8 loads in each of a multiprocessor's 512
 * threads, 64 KB, is where an H200 is fastest. 8192 x 8192 doubles take 125 us; with 96 KB 134, with 128 KB 167, and as
 * copies to shared memory (cp.async, 128 KB) 147. A slot after the other, rather than four side by side, leaves
 * registers for that: 137 us with them. */
template <typename Op, int kC>
static __global__ void __launch_bounds__(2 * GPUL__REDUCE_THREADS, 1)
    gpul__reduce_cols(void *out, const typename Op::X *x, const typename Op::Y *y, typename Op::Acc *partials,
                      uint32_t *arrived, const __grid_constant__ gpul__reduce_layout p, Op op) {
    gpul__await();
    typedef typename Op::Acc Acc;
    const gpul__reduce_share share = gpul__reduce_share_of(p, true);
    if (share.part >= unsigned(p.splits)) return; /* the grid may have more blocks than parts */
    const gpul__reduce_seat<kC> seat(p, share);
    GPUL_SHARED(Acc, shared); /* kC times p.held for each rank; kC times p.passes for each thread; a flag */
    Acc *const own = shared + seat.rank, *const halves = shared + p.held * kC * seat.pitch;
    Acc acc[kC];
    x += seat.place.x;
    GPUL__UNROLL_NOT
    for (int h = 0; h < p.held; ++h) {
        const int unit = seat.unit + (h << p.together);
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) acc[c] = op.identity();
        if (seat.real && unit < p.units) {
            const int first = (seat.line & ((1 << p.parts) - 1)) << p.passes;
            GPUL__UNROLL_NOT
            for (int pass = 0; pass < 1 << p.passes; ++pass) {
                gpul__reduce_slot(p, op, x, y, unit, first + pass, acc);
                gpul__reduce_carry(op, acc, pass, p.passes, halves + threadIdx.x, int(blockDim.x));
            }
        }
        gpul__reduce_lines(op, acc, seat.inner, seat.width);
        if (p.held == 1 || !seat.ranked) continue;
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) own[(h * kC + c) * seat.pitch] = acc[c];
    }
    const int levels = p.parts + gpul__reduce_beside(p);
    if (p.held == 1) { /* from registers: as one of several sets it takes 0.3 us more of 5 */
        seat.combine(op, acc, shared, levels);
        if (p.units > 1 << p.run && seat.real && (seat.line & ((1 << levels) - 1)) == 0 && seat.unit < p.units) {
            GPUL__UNROLL
            for (int c = 0; c < kC; ++c) partials[int64_t(seat.unit >> p.run) * p.outputs + seat.output + c] = acc[c];
        }
    } else {
        seat.combine_sets(op, own, p.held, levels);
        gpul__reduce_runs(op, p, seat, int(share.part) * (p.held << p.together), p.held, shared, seat.pitch, partials,
                          acc);
    }
    gpul__reduce_cols_end(op, p, seat, share.job, acc, shared,
                          reinterpret_cast<uint32_t *>(halves + p.passes * kC * int(blockDim.x)), out, partials,
                          arrived);
}

#ifndef GPULITE_CPU_STANDIN
/* Few columns with nothing between them, on compute capability 9.0: a block has rows of its units copied into shared
 * memory, whole stretches at once (gpul__bulk_copy), and folds them there. Its threads have two slots of a unit each,
 * so that p.parts is 4, and sets are a group at most; p.stages stretches fit, and when one is read the next is asked
 * for. What is on its way depends on nothing else then, and no column is too narrow for a cache line: 24 x 1500000
 * doubles take 76 us, in the cols kernel 104; 8 x 2^22 74 and 77. More than 96 KB on their way are no faster. */
#define GPUL__STAGED_LEAST (int64_t(1) << 25) /* bytes of x */
#define GPUL__STAGED_BYTES 98304              /* of all stretches, about */
template <typename Op, int kC>
static __global__ void __launch_bounds__(2 * GPUL__REDUCE_THREADS, 1)
    gpul__reduce_staged(void *out, const typename Op::X *x, const typename Op::Y *y, typename Op::Acc *partials,
                        uint32_t *arrived, const __grid_constant__ gpul__reduce_layout p, Op one_op) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    typedef typename Op::Acc Acc;
    enum { kN = 16 / sizeof(X), kRow = 32 * kN, kSlots = 2, kBytes = gpul__size_of<Y>::bytes };
    const gpul__reduce_share share = gpul__reduce_share_of(p, true);
    if (share.part >= unsigned(p.splits)) return;
    const gpul__reduce_seat<kC> seat(p, share);
    const int most = kRow << p.together, outputs = int(p.outputs); /* most: rows of x in a stretch */
    /* stretches of x, and of y; kC for each rank; kC for the first line, for each set of a run; barriers; a flag */
    GPUL_SHARED(unsigned char, shared);
    X *const tx = reinterpret_cast<X *>(shared);
    Y *const ty = reinterpret_cast<Y *>(tx + p.stages * most * outputs);
    Acc *const exchange = reinterpret_cast<Acc *>(shared + p.stages * most * (outputs * int(sizeof(X)) + int(kBytes)));
    Acc *const results = exchange + kC * seat.pitch;
    uint64_t *const loaded = reinterpret_cast<uint64_t *>(results + (kC << (p.width + p.run - p.together)));
    uint32_t *const flag = reinterpret_cast<uint32_t *>(loaded + p.stages);
    const uint32_t barriers = uint32_t(__cvta_generic_to_shared(loaded));
    const int begin = int(share.part) * (p.held << p.together); /* unit */
    const int last = (1 << (p.run - p.together)) - 1;           /* of the sets of a run */
    const int64_t step = 8 * int64_t(kRow);
    const auto start_of = [&](int set) {
        const int unit = begin + (set << p.together);
        return ((unit & ~7) * p.rows + (unit & 7)) * kRow;
    };
    /* the next stretch: row `ahead_row` of the units of set `ahead`. Only sets at the very end are empty. */
    int ahead = 0, ahead_row = 0, ahead_stage = 0;
    const auto ask = [&]() {
        if (ahead == p.held) return;
        const int64_t at = start_of(ahead) + ahead_row * step, rest = p.n - at;
        const int count = int(rest < most ? rest : most);
        if (count > 0) {
            const uint32_t barrier = barriers + 8 * uint32_t(ahead_stage);
            gpul__bulk_expect(barrier, count * (outputs * int(sizeof(X)) + int(kBytes)));
            gpul__bulk_copy(tx + ahead_stage * most * outputs, x + at * outputs, count * outputs, barrier);
            gpul__bulk_copy(ty + ahead_stage * most, y + (gpul__has<Y>() ? at : 0), count, barrier);
            ahead_stage = ahead_stage + 1 < p.stages ? ahead_stage + 1 : 0;
        }
        if (++ahead_row == int(p.rows) || at + step >= p.n) {
            ahead_row = 0;
            ++ahead;
        }
    };
    if (threadIdx.x == 0) gpul__bulk_begin(barriers, p.stages);
    __syncthreads();
    gpul__await();
    if (threadIdx.x == 0) {
        for (int i = 0; i < p.stages; ++i) ask();
    }
    const int offset = (seat.line >> p.parts) * kRow; /* of this thread's unit */
    const int first = (seat.line & ((1 << p.parts) - 1)) * (kSlots * kN);
    const X *const column = x + seat.column * kC;
    int stage = 0;
    uint32_t parity = 0;
    Acc acc[kC];
    GPUL__UNROLL_NOT
    for (int set = 0; set < p.held; ++set) {
        const int64_t start = start_of(set) + offset;
        const int64_t rest = p.n - start; /* up to the unit's first slot that is not there, and more */
        typename Op::Lane lane[kSlots][kC];
        Op op[kC];
        __syncthreads(); /* all have read `exchange` */
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) {
            op[c] = one_op;
            if (seat.real) op[c].begin(column + c);
            GPUL__UNROLL
            for (int s = 0; s < kSlots; ++s) lane[s][c] = op[c].start();
        }
        GPUL__UNROLL_NOT
        for (int64_t row = 0; row < p.rows * step && row < p.n - (start - offset); row += step) {
            gpul__bulk_wait(barriers + 8 * uint32_t(stage), parity);
            const X *const px = tx + (stage * most + offset + first) * outputs + seat.column * kC;
            const Y *const py = ty + (gpul__has<Y>() ? stage * most + offset + first : 0);
            GPUL__UNROLL
            for (int s = 0; s < kSlots; ++s) {
                if (!seat.real || row + first + s * kN >= rest) break; /* slots are there or not: kN divides p.n */
                const gpul__pack<Y, kN> vy = gpul__load<kN>(py + (gpul__has<Y>() ? s * kN : 0));
                GPUL__UNROLL
                for (int k = 0; k < kN; ++k) {
                    const gpul__pack<X, kC> vx = gpul__load<kC>(px + (s * kN + k) * outputs);
                    GPUL__UNROLL
                    for (int c = 0; c < kC; ++c)
                        lane[s][c] = op[c].fold(lane[s][c], vx.v[c], vy.v[k], int(row) + first + s * kN + k);
                }
            }
            __syncthreads();
            if (threadIdx.x == 0) ask();
            if (++stage == p.stages) {
                stage = 0;
                parity ^= 1;
            }
        }
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) {
            Acc slot[kSlots];
            GPUL__UNROLL
            for (int s = 0; s < kSlots; ++s)
                slot[s] = seat.real && first + s * kN < rest ? op[c].settle(lane[s][c], start, first + s * kN)
                                                             : one_op.identity();
            acc[c] = one_op.combine(slot[0], slot[1]);
        }
        gpul__reduce_lines(one_op, acc, seat.inner, seat.width);
        seat.combine(one_op, acc, exchange, p.parts + p.together);
        if (seat.line == 0) {
            GPUL__UNROLL
            for (int c = 0; c < kC; ++c) results[((set & last) * kC + c) * seat.width + seat.column] = acc[c];
        }
        if ((set & last) == last)
            gpul__reduce_runs(one_op, p, seat, begin + ((set - last) << p.together), last + 1, results, seat.width,
                              partials, acc);
    }
    gpul__reduce_cols_end(one_op, p, seat, share.job, acc, exchange, flag, out, partials, arrived);
#endif
}
#endif

/* A thread has kC columns of one row: many outputs of few elements. */
template <typename Op, int kC>
static __global__ void __launch_bounds__(GPUL__REDUCE_THREADS, 3)
    gpul__reduce_narrow(void *out, const typename Op::X *x, const typename Op::Y *y,
                        const __grid_constant__ gpul__reduce_layout p, Op one_op) {
    gpul__await();
    typedef typename Op::Acc Acc;
    enum { kN = 16 / sizeof(typename Op::X), kSets = gpul__reduce_shape<kN>::kSets };
    GPUL_SHARED(Acc, halves);
    const int64_t output = (int64_t(blockIdx.x) * GPUL__REDUCE_THREADS + threadIdx.x) * kC;
    if (output >= p.outputs) return; /* kC divides p.outputs */
    const gpul__reduce_place place = gpul__reduce_at(p, output);
    const int length = int(p.n), step = kSets * kN;
    Acc acc[kC];
    x += place.x;
    GPUL__UNROLL_NOT
    for (int pass = 0, at = 0; pass < 1 << p.passes; ++pass, at += step) {
        gpul__pack<typename Op::X, kC> vx[kSets][kN];
        typename Op::Y vy[kSets][kN];
        const typename Op::X *const px = x + at * p.x_reduce[0];
        const typename Op::Y *const py = gpul__has<typename Op::Y>() ? y + at * p.y_stride : y;
        if (at + step <= length) gpul__reduce_fetch<true>(p, px, py, at, kN, length, vx, vy);
        else gpul__reduce_fetch<false>(p, px, py, at, kN, length, vx, vy);
        GPUL__UNROLL
        for (int c = 0; c < kC; ++c) {
            Op op = one_op;
            Acc slots[kSets];
            op.begin(x + c);
            GPUL__UNROLL
            for (int r = 0; r < int(kSets); ++r) {
                typename Op::Lane lane = op.start();
                const int first = at + r * int(kN);
                GPUL__UNROLL
                for (int k = 0; k < int(kN); ++k)
                    if (first + k < length) lane = op.fold(lane, vx[r][k].v[c], vy[r][k], first + k);
                slots[r] = first < length ? op.settle(lane, 0, first) : op.identity();
            }
            GPUL__UNROLL
            for (int d = 1; d < int(kSets); d *= 2) {
                GPUL__UNROLL
                for (int r = 0; r < int(kSets); r += 2 * d) slots[r] = op.combine(slots[r], slots[r + d]);
            }
            acc[c] = slots[0];
        }
        gpul__reduce_carry(one_op, acc, pass, p.passes, halves + threadIdx.x, GPUL__REDUCE_THREADS);
    }
    GPUL__UNROLL
    for (int c = 0; c < kC; ++c)
        one_op.store(out, place.out + c * p.out_stride[p.outer_ndim - 1], p.out_dtype,
                     one_op.combine(acc[c], one_op.identity()), p.n); /* as in rows */
}

/* How many neighbouring columns a thread of the cols kernel takes with one load where it can: 16 bytes of the common
 * types; it is a kernel more to compile for each operation. */
template <typename X> struct gpul__columns {
    enum { value = 1 };
};
template <> struct gpul__columns<float> {
    enum { value = 4 };
};
template <> struct gpul__columns<double> {
    enum { value = 2 };
};

/* The least p with 2^p >= n, or `most`. */
static inline int32_t gpul__log2_up_to(int64_t n, int32_t most) {
    int32_t p = 0;
    while (p < most && (int64_t(1) << p) < n) ++p;
    return p;
}

/* p.splits blocks for each of `jobs` (see gpul__reduce_share_of), with `counters` and, to each output, `each`
 * partial results. */
template <typename Op, typename Kernel>
static inline int32_t gpul__reduce_start(gpul__reduce_args *args, gpul__reduce_layout &p, Kernel kernel,
                                         uint32_t threads, bool jobs_first, int64_t jobs, int64_t counters,
                                         int64_t each, size_t shared_bytes, const Op &op) {
    typedef typename Op::Acc Acc;
    const int64_t most = 65535; /* blocks along y and z */
    int64_t fast = jobs, slow = 1;
    if (each > 0) {
        if (p.outputs > INT64_MAX / each / int64_t(sizeof(Acc))) return int32_t(cudaErrorInvalidConfiguration);
        const int64_t bytes = p.outputs * each * int64_t(sizeof(Acc));
        const bool fits = counters <= args->arrived_count && bytes <= args->partials_bytes;
        args->arrived_count = counters;
        args->partials_bytes = bytes;
        if (!fits) return GPUL__NEEDS_PARTIALS;
    }
    if (p.splits > 1) {
        fast = jobs_first ? jobs : int64_t(p.splits);
        slow = jobs_first ? int64_t(p.splits) : jobs;
    }
    if (jobs > 2147483647 || fast > 2147483647 || slow > most * 32768) return int32_t(cudaErrorInvalidConfiguration);
    p.jobs = uint32_t(jobs);
    gpul_dim3 grid = gpul_grid_1d(fast, 1);
    grid.y = uint32_t(slow < most ? slow : most);
    grid.z = uint32_t(gpul_ceil_div(slow, most));
    return gpul__launch_early(args->device, kernel, grid, gpul__dim(threads), shared_bytes + 16, args->stream,
                              args->out, static_cast<const typename Op::X *>(args->x),
                              static_cast<const typename Op::Y *>(args->y), static_cast<Acc *>(args->partials),
                              args->arrived, p, op);
}

/* What the cols kernel would take with this layout, in units of the time in which every multiprocessor reads 64 KB;
 * that much a block of 512 threads, or two of 256, have on their way. `flights` is how often a thread has 8 loads on
 * their way for one set of units, `fill` how full units are. A round that is not full ends little sooner: what one
 * block gets is limited. Each round costs its start and end, each level at which results pass between blocks its
 * arrivals, and the last blocks have the memory to themselves; two small blocks are better than a large one, and narrow
 * strips are as good as wide ones for one round only. */
static inline float gpul__reduce_cost_cols(const gpul__reduce_layout &p, float flights, float fill, int64_t strips,
                                           float per_sm) {
    const bool doubled = p.width + p.parts + p.together > 8; /* 512 threads */
    const int64_t jobs = ((strips - 1) >> p.width) + 1;
    const int32_t splits = (p.units - 1) / (p.held << p.together) + 1;
    float rounds = float(jobs) * float(splits) * per_sm * (doubled ? 1.0f : 0.5f), each = flights * float(p.held);
    if (splits == 1) each *= fill;
    else rounds *= fill;
    const float full = float(int64_t(rounds)), rest = rounds - full;
    float last = 0;
    if (rest > 0) last = !doubled && rest <= 0.5f ? 0.55f : rest > 0.75f ? rest : 0.75f;
    float cost = each * (full + last), worse = doubled ? 1.03f : 1.0f;
    if (p.together > 3) worse += 0.05f;
    for (int32_t held = p.held; held > 1; held /= 2) worse += 0.002f;
    if (p.width < 3 && strips > 8) worse += rounds > 1.05f || each > 4 ? 0.5f : 0.05f; /* not a whole cache line */
    if (rounds > 1.05f) {
        cost += each / 8;
        worse += p.width < 5 ? 0.03f : p.width < 7 ? 0.005f * float(7 - p.width) : 0.0f;
    } else if (p.width > 4) {
        worse += 0.005f * float(p.width - 4);
    }
    cost = cost * worse + 2 * (full + (rest > 0 ? 1.0f : 0.0f));
    if (p.units > 1 << p.run) cost += 0.5f * float((p.run < 3) + (p.groups > 1));
    return cost;
}

/* Sets of 2^together units that a block of the cols kernel can take, one after the other: whole groups, or halves or
 * quarters of one. As many as asked for, or more; but `most` at most. */
static inline int32_t gpul__reduce_held_cols(int32_t asked, int32_t most, int32_t together) {
    const int32_t group = together < 3 ? 8 >> together : 1;
    int32_t held = 1;
    while (held < group && held < asked && 2 * held <= most) held *= 2;
    if (held < group || asked <= group) return held;
    held = (asked + group - 1) / group * group;
    return held <= most ? held : most / group * group;
}

/* What follows from the other members of a layout. */
static inline int32_t gpul__reduce_inner_of(const gpul__reduce_layout &p) {
    const int32_t lines = p.width < 5 ? 5 - p.width : 0;
    return lines < p.parts ? lines : p.parts;
}
static inline int32_t gpul__reduce_run_of(const gpul__reduce_layout &p) {
    int32_t run = p.together;
    while (1 << run < p.held << p.together) ++run;
    return run > 3 && (p.groups > 256 || 1 << run != p.held << p.together) ? 3 : run;
}

/* How the cols kernel shares out the work: the cheapest of all ways by the estimate above, where a block has one set of
 * units, or as many as make one round. Of up to 200 ways that were timed on an H200 for each of 45 matrices, from 1000
 * x 1000 to 20000 x 20000 and 8 x 2^22, it picks one that is 1 % slower than the best on average, 17 % at worst.
 * Columns less than 128 bytes wide in all are read a slot or four at a time, as was measured best with y and without
 * it. Shared memory has `room` for a result of that many threads. */
static inline void gpul__reduce_plan_cols(gpul__reduce_layout &p, int32_t vec, bool two, int64_t strips, int64_t sms,
                                          int32_t room) {
    const int32_t slots = gpul__log2_up_to(gpul_ceil_div(p.n, vec), 5),
                  narrowest = strips > 8 ? 2 : gpul__log2_up_to(strips, 3);
    const int32_t few = strips >= 8 ? slots : two ? 0 : vec == 2 ? 2 : 1;
    const float per_sm = 1.0f / float(sms), fill = float(p.n) / (float(p.units) * float(p.rows * 32 * vec));
    gpul__reduce_layout next = p;
    float least = -1;
    for (next.passes = 0; next.passes <= slots && next.passes <= few; ++next.passes) {
        const float flights = float((p.rows * vec + 7) / 8 << next.passes); /* of 8 loads that a thread makes */
        if (least >= 0 && flights * fill / 2 + 2 >= least) break;           /* nor can more passes cost less */
        next.parts = slots - next.passes;
        /* to save the host time: that many rounds want more passes, where these fit, and more than one pass no large
         * blocks */
        const float rounds = float(strips) * float(p.units << next.parts) * per_sm / 512;
        if (rounds > 6 && next.passes < slots && next.passes < few && (next.passes + 2) << 8 <= room) continue;
        for (int32_t threads = 8; threads <= (next.passes > 1 ? 8 : 9); ++threads) {
            for (next.width = narrowest; next.width + next.parts <= threads; ++next.width) {
                if (next.width > narrowest && int64_t(1) << (next.width - 1) >= strips) break;
                next.together = threads - next.width - next.parts;
                next.inner = gpul__reduce_inner_of(next);
                const int32_t most = (room - (next.passes << threads)) >> (threads - next.inner);
                if (most < 1) break;
                const int64_t jobs = ((strips - 1) >> next.width) + 1, round = sms << (9 - threads);
                const int32_t sets = ((p.units - 1) >> next.together) + 1, beside = int32_t(round / jobs);
                const int32_t one =
                    gpul__reduce_held_cols(beside > 1 ? (sets - 1) / beside + 1 : sets, most, next.together);
                next.held = 1;
                for (;;) {
                    next.run = gpul__reduce_run_of(next);
                    const float cost = gpul__reduce_cost_cols(next, flights, fill, strips, per_sm);
                    if (least < 0 || cost < least) {
                        least = cost;
                        p.passes = next.passes;
                        p.parts = next.parts;
                        p.inner = next.inner;
                        p.width = next.width;
                        p.together = next.together;
                        p.held = next.held;
                        p.run = next.run;
                    }
                    if (next.held >= one) break;
                    next.held = one;
                }
            }
        }
    }
    p.splits = (p.units - 1) / (p.held << p.together) + 1;
}

/* What a block of the cols and the narrow kernel may have: every GPU gives it without being asked. */
#define GPUL__COLS_SHARED (48 * 1024)

/* The narrow kernel, where its operation takes several columns at once and its shared memory is there: *launched
 * tells. */
template <typename Op, int kC> struct gpul__narrow {
    static inline int32_t launch(int32_t *launched, const gpul__reduce_args *args, gpul__reduce_layout &p,
                                 const Op &op) {
        enum { kN = 16 / sizeof(typename Op::X), kSets = gpul__reduce_shape<kN>::kSets };
        p.passes = gpul__log2_up_to(gpul_ceil_div(p.n, int(kN) * int(kSets)), 5);
        const size_t shared = size_t(p.passes * kC * GPUL__REDUCE_THREADS) * sizeof(typename Op::Acc);
        *launched = shared <= GPUL__COLS_SHARED;
        if (!*launched) return 0;
        return gpul__launch_early(args->device, gpul__reduce_narrow<Op, kC>,
                                  gpul_grid_1d(p.outputs, kC * GPUL__REDUCE_THREADS), gpul__dim(GPUL__REDUCE_THREADS),
                                  shared, args->stream, args->out, static_cast<const typename Op::X *>(args->x),
                                  static_cast<const typename Op::Y *>(args->y), p, op);
    }
};
template <typename Op> struct gpul__narrow<Op, 1> {
    static inline int32_t launch(int32_t *launched, const gpul__reduce_args *, gpul__reduce_layout &, const Op &) {
        *launched = 0;
        return 0;
    }
};

/* The staged kernel, where its operation and this file's code have it, and it pays: *launched tells. (Functions, for
 * members of templates would be symbols of the object file.) */
template <bool kStaged> struct gpul__staged {};
template <typename Op, int kC, bool kStaged>
static inline int32_t gpul__reduce_launch_staged(gpul__staged<kStaged>, int32_t *launched, gpul__reduce_args *,
                                                 const gpul__reduce_layout &, const Op &) {
    *launched = 0;
    return 0;
}
#ifndef GPULITE_CPU_STANDIN
template <typename Op, int kC>
static inline int32_t gpul__reduce_launch_staged(gpul__staged<true>, int32_t *launched, gpul__reduce_args *args,
                                                 const gpul__reduce_layout &common, const Op &op) {
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    enum { kN = 16 / sizeof(X), kUsual = kN == 2 ? 9 : 8 }; /* 2^kUsual threads read 32 KB at once */
    const auto kernel = &gpul__reduce_staged<Op, kC>;
    const int64_t n = args->n, outputs = args->outputs, strips = outputs / kC;
    const int64_t groups = gpul_ceil_div(common.groups, args->sms); /* of a block */
    int32_t early;
    *launched = 0;
    if (args->outer_ndim != 1 || args->x_reduce[0] != outputs || strips > 32 || n % kN != 0) return 0;
    if (gpul__has<Y>() && (args->y_stride != 1 || !gpul__aligned(args->y, 16))) return 0;
    /* large enough, and nearly as many groups as there is room for */
    if (outputs * n * int64_t(sizeof(X)) < GPUL__STAGED_LEAST || common.groups * 4 < groups * args->sms * 3) return 0;
    const int32_t error = gpul__early(&early, reinterpret_cast<const void *>(kernel), args->device);
    if (error != 0 || !early) return error;
    gpul__reduce_layout p = common;
    p.width = gpul__log2_up_to(strips, 5);
    p.parts = 4;
    p.inner = gpul__reduce_inner_of(p);
    p.together = int(kUsual) - p.width - p.parts;
    p.together = p.together < 0 ? 0 : p.together > 3 ? 3 : p.together;
    p.held = int32_t(groups) << (3 - p.together);
    p.run = gpul__reduce_run_of(p);
    p.splits = int32_t(gpul_ceil_div(p.groups, groups));
    const int32_t threads = p.width + p.parts + p.together;
    const int64_t stretch =
        (int64_t(32 * kN) << p.together) * (p.outputs * int64_t(sizeof(X)) + gpul__size_of<Y>::bytes);
    const int64_t results = (kC << (threads - p.inner)) + (kC << (p.width + p.run - p.together));
    p.stages = int32_t((GPUL__STAGED_BYTES + stretch / 2) / stretch);
    const size_t bytes = size_t(p.stages * (stretch + 8) + results * int64_t(sizeof(typename Op::Acc)));
    if (gpul__allow_shared(kernel, bytes + 16) != cudaSuccess) return 0; /* less than an H200 has */
    *launched = 1;
    return gpul__reduce_start(args, p, kernel, 1u << threads, true, 1, 1, p.groups, bytes, op);
}
#endif

template <typename Op> static inline int32_t gpul__reduce_launch_op(gpul__reduce_args *args, const Op &op) {
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    enum { kN = 16 / sizeof(X), kC = gpul__columns<X>::value, kO = Op::kTogether, kF = gpul__reduce_shape<kN>::kShort };
    const int64_t row = 32 * int64_t(kN);
    const bool two = gpul__has<Y>();
    gpul__reduce_layout p;
    memset(&p, 0, sizeof p);
    p.n = args->n;
    p.outputs = args->outputs;
    p.rows = gpul__reduce_rows_of(args->n, kN);
    /* below 2^31: gpul__reduce_rows_of sees to it */
    p.groups = args->n == 0 ? 1 : int32_t(gpul_ceil_div(args->n, 8 * p.rows * row));
    p.units = p.groups > 1 ? 8 * p.groups : int32_t(gpul_ceil_div(args->n, p.rows * row));
    p.step = p.groups > 1 ? 8 : 1;
    p.y_stride = args->y_stride;
    p.reduce_ndim = args->reduce_ndim;
    p.outer_ndim = args->outer_ndim;
    memcpy(p.reduce_shape, args->reduce_shape, sizeof p.reduce_shape);
    memcpy(p.x_reduce, args->x_reduce, sizeof p.x_reduce);
    memcpy(p.outer_shape, args->outer_shape, sizeof p.outer_shape);
    memcpy(p.x_outer, args->x_outer, sizeof p.x_outer);
    memcpy(p.out_stride, args->out_stride, sizeof p.out_stride);
    for (int d = 1; d < args->reduce_ndim; ++d) p.reduce_inverse[d] = 1.0 / double(args->reduce_shape[d]);
    for (int d = 1; d < args->outer_ndim; ++d) p.outer_inverse[d] = 1.0 / double(args->outer_shape[d]);
    p.out_dtype = args->out_dtype;
    p.splits = 1;

    if (args->n <= 1 || (args->reduce_ndim == 1 && args->x_reduce[0] == 1 && (!two || args->y_stride == 1))) {
        bool aligned = gpul__aligned(args->x, 16) && (!two || gpul__aligned(args->y, 16));
        for (int32_t d = 0; d < args->outer_ndim; ++d)
            aligned = aligned && (args->outer_shape[d] == 1 || args->x_outer[d] % kN == 0);
        p.aligned = aligned;
        /* one unit: several outputs to a thread where there are enough of them, or no more than one row to read */
        if (args->outer_ndim <= 1 && (args->n <= row || (p.units == 1 && args->outputs >= 64 * int64_t(args->sms)))) {
            p.width = gpul__log2_up_to(gpul_ceil_div(args->n, kN), 5);
            const int64_t blocks = gpul_ceil_div(args->outputs, int(kF) * (GPUL__REDUCE_THREADS >> p.width));
            if (blocks > 2147483647) return int32_t(cudaErrorInvalidConfiguration);
            return gpul__launch_early(args->device, gpul__reduce_short<Op>, gpul_grid_1d(blocks, 1),
                                      gpul__dim(GPUL__REDUCE_THREADS), 0, args->stream, args->out,
                                      static_cast<const X *>(args->x), static_cast<const Y *>(args->y), p, op);
        }
        const bool together = int(kO) > 1 && args->outputs > 2;
        const int64_t sets = gpul_ceil_div(args->outputs, together ? int(kO) : 1);
        const size_t bytes = size_t((together ? int(kO) : 1) * GPUL__REDUCE_GROUPS * 8) * sizeof(typename Op::Acc);
        p.width = gpul__log2_up_to(p.units, 3);
        const int64_t jobs = gpul_ceil_div(sets, 8 >> p.width), sms = args->sms;
        /* Where there are enough outputs, a block has all groups of its own, as far as shared memory reaches, or goes
         * on to others; else some groups, so that there are enough blocks, and they are not too long, or make one full
         * round. */
        const int64_t round = (together ? 2 : 3) * sms, work = jobs * p.groups, fair = gpul_ceil_div(work, round);
        const int64_t spare = work / (4 * sms);
        const int64_t longest = (together ? 64 : 128) / (p.rows * (together ? int(kO) : 1));
        int64_t held = spare < longest ? spare : longest;
        if (jobs > 1 && fair <= 12 && jobs * gpul_ceil_div(p.groups, fair) * 10 >= round * 9) held = fair;
        if (jobs >= 2 * sms) held = GPUL__REDUCE_GROUPS;
        p.held = int32_t(held < 1 ? 1 : held > GPUL__REDUCE_GROUPS ? GPUL__REDUCE_GROUPS : held);
        p.splits = int32_t(gpul_ceil_div(p.groups, p.held));
        /* Five blocks with less on its way for each read large arrays 4 % slower, but a few hundred outputs all at
         * once: 512 x 32768 floats along axis 1 take 18.1 us, else 20.0. */
        const bool crowded = !together && jobs >= 2 * sms &&
                             gpul_ceil_div(jobs, 5 * sms) * 5 * 13 < gpul_ceil_div(jobs, 3 * sms) * 3 * 12;
        return gpul__reduce_start(
            args, p,
            together  ? gpul__reduce_rows<Op, kO, (int(kO) > 1 ? 2 : 3)>
            : crowded ? gpul__reduce_rows<Op, 1, (int(kC) > 1 && int(gpul__dtype_of<Y>::value) == 0 ? 5 : 3)>
                      : gpul__reduce_rows<Op, 1, 3>,
            GPUL__REDUCE_THREADS, two, jobs, p.splits > 1 ? jobs : 0, p.splits > 1 ? p.groups : 0, bytes, op);
    }
    /* Several columns in one load, where they lie side by side and every row is aligned to it. */
    const int32_t inner = args->outer_ndim - 1;
    bool wide = int(kC) > 1 && args->reduce_ndim == 1 && inner >= 0 && args->x_outer[inner] == 1 &&
                args->outer_shape[inner] % kC == 0 && args->x_reduce[0] % kC == 0 &&
                gpul__aligned(args->x, kC * sizeof(X));
    for (int32_t d = 0; d < inner; ++d) wide = wide && args->x_outer[d] % kC == 0;
    const int64_t strips = wide ? args->outputs / kC : args->outputs;
    /* one row, and threads without sharing it for half a block on every multiprocessor */
    if (wide && args->n <= row && strips >= GPUL__REDUCE_THREADS / 2 * int64_t(args->sms)) {
        int32_t launched;
        const int32_t error = gpul__narrow<Op, kC>::launch(&launched, args, p, op);
        if (launched) return error;
    }
    if (wide) {
        int32_t launched;
        const int32_t error = gpul__reduce_launch_staged<Op, kC>(gpul__staged<(int(kC) > 1 && int(Op::kStaged) != 0)>(),
                                                                 &launched, args, p, op);
        if (launched || error != 0) return error;
    }
    const size_t bytes = size_t(wide ? int(kC) : 1) * sizeof(typename Op::Acc);
    gpul__reduce_plan_cols(p, kN, two, strips, args->sms, int32_t((GPUL__COLS_SHARED - 16) / bytes));
    const int32_t threads = p.width + p.parts + p.together;
    const int64_t jobs = gpul_ceil_div(strips, int64_t(1) << p.width),
                  runs = gpul_ceil_div(p.units, int64_t(1) << p.run);
    return gpul__reduce_start(args, p, wide ? gpul__reduce_cols<Op, kC> : gpul__reduce_cols<Op, 1>, 1u << threads, true,
                              jobs, runs > 1 && p.run < 3 ? jobs * (1 + p.groups) : jobs,
                              runs > 1 ? (p.run < 3 ? runs : 0) + (p.groups > 1 ? p.groups : 0) : 0,
                              bytes * size_t((p.held << (threads - p.inner)) + (p.passes << threads)), op);
}
/* A table entry's launcher: Op::make() gives the operation that the kernels run, which two entries may share. */
template <typename Op> static int32_t gpul__reduce_launch(gpul__reduce_args *args) {
    return gpul__reduce_launch_op(args, Op::make());
}
#define GPUL__REDUCER(Op)                                                                                              \
    { &gpul__reduce_launch<Op> }

} /* namespace */

/* ---- operations of your own ----
 * GPUL_ELEMENTWISE(name, T, expression, TX, x [, TY, y [, TZ, z]])
 *     at file scope; defines a function that C can call:
 *         gpul_status name(gpul_array *out, const gpul_array *x [, ... *y [, ... *z]], gpul_stream stream);
 *     out[i] = expression, with gpul_vecadd's broadcasting, checks and errors. A comma in the expression needs ( ).
 *         GPUL_ELEMENTWISE(squared_difference, float, (x - y) * (x - y), float, x, float, y)
 *
 * GPUL_REDUCE(name, T, identity, map, combine, post)
 *     at file scope; defines a function that C can call:
 *         gpul_status name(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
 *     map: an expression in the element x; combine: in a and b, associative and commutative up to rounding; post: in
 *     the result a; identity: combine(identity, a) is a. All of type T. Axis, shapes, one launch, the same bits
 *     everywhere and errors are gpul_reduce's (an empty array gives post(identity)).
 *         GPUL_REDUCE(l2_norm, float, 0.0f, x * x, a + b, sqrtf(a))
 *
 * The types T are float, double, int32_t, int64_t and uint8_t. Write fmaf(a, b, c) where a multiply-add shall be
 * fused: nvcc may fuse or not fuse a * b + c as it likes, and then the bits depend on the compiler. */

#define GPUL__CONCAT_(a, b) a##b
#define GPUL__CONCAT(a, b) GPUL__CONCAT_(a, b)
#define GPUL__COUNT_(a, b, c, d, e, f, count, ...) count
#define GPUL__COUNT(...) GPUL__COUNT_(__VA_ARGS__, 3, unpaired, 2, unpaired, 1, unpaired, 0)
#define GPUL_ELEMENTWISE(name, T, expression, ...)                                                                     \
    GPUL__CONCAT(GPUL__ELEMENTWISE_, GPUL__COUNT(__VA_ARGS__))(name, T, expression, __VA_ARGS__)

#define GPUL__ELEMENTWISE_OP(name, T, expression, TX, x, TY, y, TZ, z)                                                 \
    struct gpul__op_##name {                                                                                           \
        typedef T Out;                                                                                                 \
        typedef TX A;                                                                                                  \
        typedef TY B;                                                                                                  \
        typedef TZ C;                                                                                                  \
        __device__ __forceinline__ T operator()(TX x, TY y, TZ z) const {                                              \
            (void)x, (void)y, (void)z;                                                                                 \
            return static_cast<T>(expression);                                                                         \
        }                                                                                                              \
    };
#define GPUL__ELEMENTWISE_RUN(name, T, count, ...)                                                                     \
    const gpul_dtype gpul__dtypes[] = {__VA_ARGS__};                                                                   \
    return gpul_run_elementwise(#name, &gpul__elementwise_launch<gpul__op_##name>, gpul__out,                          \
                                gpul__dtype_of<T>::value, gpul__in, gpul__dtypes, count, gpul__stream)
#define GPUL__ELEMENTWISE_1(name, T, expression, TX, x)                                                                \
    GPUL__ELEMENTWISE_OP(name, T, expression, TX, x, gpul__none, gpul__y, gpul__none, gpul__z)                         \
    extern "C" gpul_status name(gpul_array *gpul__out, const gpul_array *x, gpul_stream gpul__stream) {                \
        const gpul_array *const gpul__in[] = {x};                                                                      \
        GPUL__ELEMENTWISE_RUN(name, T, 1, gpul__dtype_of<TX>::value);                                                  \
    }
#define GPUL__ELEMENTWISE_2(name, T, expression, TX, x, TY, y)                                                         \
    GPUL__ELEMENTWISE_OP(name, T, expression, TX, x, TY, y, gpul__none, gpul__z)                                       \
    extern "C" gpul_status name(gpul_array *gpul__out, const gpul_array *x, const gpul_array *y,                       \
                                gpul_stream gpul__stream) {                                                            \
        const gpul_array *const gpul__in[] = {x, y};                                                                   \
        GPUL__ELEMENTWISE_RUN(name, T, 2, gpul__dtype_of<TX>::value, gpul__dtype_of<TY>::value);                       \
    }
#define GPUL__ELEMENTWISE_3(name, T, expression, TX, x, TY, y, TZ, z)                                                  \
    GPUL__ELEMENTWISE_OP(name, T, expression, TX, x, TY, y, TZ, z)                                                     \
    extern "C" gpul_status name(gpul_array *gpul__out, const gpul_array *x, const gpul_array *y, const gpul_array *z,  \
                                gpul_stream gpul__stream) {                                                            \
        const gpul_array *const gpul__in[] = {x, y, z};                                                                \
        GPUL__ELEMENTWISE_RUN(name, T, 3, gpul__dtype_of<TX>::value, gpul__dtype_of<TY>::value,                        \
                              gpul__dtype_of<TZ>::value);                                                              \
    }

#define GPUL_REDUCE(name, T, identity_, map_, combine_, post_)                                                         \
    struct gpul__op_##name : gpul__reduction<gpul__op_##name, T, T> {                                                  \
        __device__ __forceinline__ T identity() const { return static_cast<T>(identity_); }                            \
        __device__ __forceinline__ T fold(T acc, T x, gpul__none, int) const {                                         \
            return combine(acc, static_cast<T>(map_));                                                                 \
        }                                                                                                              \
        __device__ __forceinline__ T combine(T a, T b) const { return static_cast<T>(combine_); }                      \
        __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, T a, int64_t) const {            \
            gpul__store(out, i, dtype, static_cast<T>(post_));                                                         \
        }                                                                                                              \
    };                                                                                                                 \
    extern "C" gpul_status name(gpul_array *gpul__out, const gpul_array *x, int32_t gpul__axis,                        \
                                gpul_stream gpul__stream) {                                                            \
        static const gpul__reducer gpul__r = GPUL__REDUCER(gpul__op_##name);                                           \
        return gpul_run_reduction(#name, &gpul__r, gpul__out, gpul__dtype_of<T>::value, x, gpul__dtype_of<T>::value,   \
                                  gpul__axis, gpul__stream);                                                           \
    }

#endif /* GPULITE__ENGINES */

#ifndef GPULITE_ENGINES_ONLY

/* ---------------------------------------------------------------------------------------------------------------------
 * 1. Elementwise
 *
 * Bound by memory: 3 elements move per sum. The engine does the moving; an operation here says what happens to one
 * element. Copies and fills do not look into elements and go by their size.
 * ------------------------------------------------------------------------------------------------------------------ */

namespace {

/* Integers wrap: signed overflow is undefined in C++, unsigned is not. Floats round once: the _rn intrinsics are never
 * contracted, and 16-bit results computed in float and rounded are correctly rounded, float having more than 2p + 2
 * bits (Figueroa, When is double rounding innocuous?, 1995). */
static __device__ __forceinline__ float gpul__add(float a, float b) { return __fadd_rn(a, b); }
static __device__ __forceinline__ double gpul__add(double a, double b) { return __dadd_rn(a, b); }
static __device__ __forceinline__ int32_t gpul__add(int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }
static __device__ __forceinline__ int64_t gpul__add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
static __device__ __forceinline__ uint8_t gpul__add(uint8_t a, uint8_t b) { return uint8_t(a + b); }
static __device__ __forceinline__ float gpul__mul(float a, float b) { return __fmul_rn(a, b); }
static __device__ __forceinline__ double gpul__mul(double a, double b) { return __dmul_rn(a, b); }
static __device__ __forceinline__ int32_t gpul__mul(int32_t a, int32_t b) { return int32_t(uint32_t(a) * uint32_t(b)); }
static __device__ __forceinline__ int64_t gpul__mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
static __device__ __forceinline__ uint8_t gpul__mul(uint8_t a, uint8_t b) { return uint8_t(a * b); }
template <typename H> static __device__ __forceinline__ H gpul__add(H a, H b) {
    return gpul__from_float<H>(__fadd_rn(gpul__to_float(a), gpul__to_float(b)));
}
template <typename H> static __device__ __forceinline__ H gpul__mul(H a, H b) {
    return gpul__from_float<H>(__fmul_rn(gpul__to_float(a), gpul__to_float(b)));
}

template <typename T> struct gpul__op_add {
    typedef T Out;
    typedef T A;
    typedef T B;
    typedef gpul__none C;
    __device__ __forceinline__ T operator()(T a, T b, gpul__none) const { return gpul__add(a, b); }
};
template <typename T> struct gpul__op_mul {
    typedef T Out;
    typedef T A;
    typedef T B;
    typedef gpul__none C;
    __device__ __forceinline__ T operator()(T a, T b, gpul__none) const { return gpul__mul(a, b); }
};

template <> struct gpul__dtype_of<uint16_t> {
    enum { value = -2 };
};
template <> struct gpul__dtype_of<uint32_t> {
    enum { value = -4 };
};
template <> struct gpul__dtype_of<uint64_t> {
    enum { value = -8 };
};
template <typename T> struct gpul__op_copy {
    typedef T Out;
    typedef T A;
    typedef gpul__none B;
    typedef gpul__none C;
    __device__ __forceinline__ T operator()(T a, gpul__none, gpul__none) const { return a; }
};
template <typename T> struct gpul__op_fill {
    typedef T Out;
    typedef gpul__none A;
    typedef gpul__none B;
    typedef gpul__none C;
    T value;
    __device__ __forceinline__ T operator()(gpul__none, gpul__none, gpul__none) const { return value; }
};
template <typename T> static int32_t gpul__fill_launch(const gpul__elementwise_args *args) {
    gpul__op_fill<T> op;
    op.value = T(args->scalar);
    return gpul__elementwise_launch_op(args, op);
}

#define GPUL__BY_DTYPE(launch, Op)                                                                                     \
    {                                                                                                                  \
        0, launch<Op<float>>, launch<Op<double>>, launch<Op<int32_t>>, launch<Op<int64_t>>, launch<Op<uint8_t>>,       \
            launch<Op<gpul__f16>>, launch<Op<gpul__bf16>>                                                              \
    }

} /* namespace */

extern "C" gpul__elementwise_fn gpul__find_elementwise(int32_t op, int32_t dtype_or_size) {
    static const gpul__elementwise_fn arithmetic[2][8] = {GPUL__BY_DTYPE(gpul__elementwise_launch, gpul__op_add),
                                                          GPUL__BY_DTYPE(gpul__elementwise_launch, gpul__op_mul)};
    static const gpul__elementwise_fn moves[2][4] = {
        {gpul__elementwise_launch<gpul__op_copy<uint8_t>>, gpul__elementwise_launch<gpul__op_copy<uint16_t>>,
         gpul__elementwise_launch<gpul__op_copy<uint32_t>>, gpul__elementwise_launch<gpul__op_copy<uint64_t>>},
        {gpul__fill_launch<uint8_t>, gpul__fill_launch<uint16_t>, gpul__fill_launch<uint32_t>,
         gpul__fill_launch<uint64_t>}};
    if (op == GPUL__ADD || op == GPUL__MUL)
        return dtype_or_size >= GPUL_F32 && dtype_or_size <= GPUL_BF16 ? arithmetic[op - GPUL__ADD][dtype_or_size] : 0;
    if (op != GPUL__COPY && op != GPUL__FILL) return 0;
    for (int k = 0; k < 4; ++k)
        if (dtype_or_size == 1 << k) return moves[op - GPUL__COPY][k];
    return 0;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * 2. Reductions
 *
 * Bound by memory: each element is read once. All are instances of the engine in gpulite.h; an operation here says how
 * one more element enters, how two partial results join, and what is written in the end. Floating sums run in double,
 * where products of floats are exact; every multiply-add is an explicit fma, so that no compiler decides about bits.
 * ------------------------------------------------------------------------------------------------------------------ */

namespace {

/* The type that sums run in */
template <typename T> struct gpul__sum_of { typedef int64_t type; };
template <> struct gpul__sum_of<float> { typedef double type; };
template <> struct gpul__sum_of<double> { typedef double type; };
template <> struct gpul__sum_of<gpul__f16> { typedef double type; };
template <> struct gpul__sum_of<gpul__bf16> { typedef double type; };

/* The value that comparisons run on: 16-bit floats as floats */
template <typename T> struct gpul__value_of { typedef T type; };
template <> struct gpul__value_of<gpul__f16> { typedef float type; };
template <> struct gpul__value_of<gpul__bf16> { typedef float type; };

template <typename To, typename T> static __device__ __forceinline__ To gpul__widen(T x) { return To(x); }
template <> __device__ __forceinline__ double gpul__widen<double, gpul__f16>(gpul__f16 x) { return gpul__to_float(x); }
template <> __device__ __forceinline__ double gpul__widen<double, gpul__bf16>(gpul__bf16 x) {
    return gpul__to_float(x);
}
template <> __device__ __forceinline__ float gpul__widen<float, gpul__f16>(gpul__f16 x) { return gpul__to_float(x); }
template <> __device__ __forceinline__ float gpul__widen<float, gpul__bf16>(gpul__bf16 x) { return gpul__to_float(x); }

static __device__ __forceinline__ double gpul__multiply_add(double a, double b, double c) { return fma(a, b, c); }
static __device__ __forceinline__ float gpul__multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
static __device__ __forceinline__ int64_t gpul__multiply_add(int64_t a, int64_t b, int64_t c) {
    return gpul__add(gpul__mul(a, b), c);
}
static __device__ __forceinline__ double gpul__absolute(double a) { return fabs(a); }
static __device__ __forceinline__ int64_t gpul__absolute(int64_t a) { return a < 0 ? int64_t(-uint64_t(a)) : a; }
template <typename A, typename T> static __device__ __forceinline__ A gpul__magnitude(T x) {
    return gpul__absolute(gpul__widen<A>(x));
}
/* in 32 bits: 2^28 integers take 240 us, in 64 bits 247 */
template <> __device__ __forceinline__ int64_t gpul__magnitude<int64_t, int32_t>(int32_t x) {
    return int64_t(x < 0 ? 0u - uint32_t(x) : uint32_t(x));
}

/* Entries of the table at the end whose kernels differ in a flag share them (make()), for each kernel costs compile
 * time. */
template <typename Op, typename T, typename A = typename gpul__sum_of<T>::type>
struct gpul__sum_base : gpul__reduction<Op, T, A> {
    __device__ __forceinline__ A identity() const { return A(0); }
    __device__ __forceinline__ A combine(A a, A b) const { return gpul__add(a, b); }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, A a, int64_t) const {
        gpul__store(out, i, dtype, a);
    }
};
/* A is double for the mean of 64-bit integers, whose sum may not fit. */
template <typename T, typename A = typename gpul__sum_of<T>::type>
struct gpul__sum : gpul__sum_base<gpul__sum<T, A>, T, A> {
    bool mean;
    __device__ __forceinline__ A fold(A acc, T x, gpul__none, int) const { return gpul__add(acc, gpul__widen<A>(x)); }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, A a, int64_t n) const {
        if (mean) gpul__store(out, i, dtype, __ddiv_rn(double(a), double(n)));
        else gpul__store(out, i, dtype, a);
    }
    static gpul__sum make() { return make(false); }
    static gpul__sum make(bool mean) {
        gpul__sum op;
        op.mean = mean;
        return op;
    }
};
template <typename T> struct gpul__mean_of { typedef gpul__sum<T> type; };
template <> struct gpul__mean_of<int64_t> { typedef gpul__sum<int64_t, double> type; };
template <typename T> struct gpul__mean : gpul__mean_of<T>::type {
    static typename gpul__mean_of<T>::type make() { return gpul__mean_of<T>::type::make(true); }
};
template <typename T> struct gpul__abs_sum : gpul__sum_base<gpul__abs_sum<T>, T> {
    typedef typename gpul__sum_of<T>::type A;
    __device__ __forceinline__ A fold(A acc, T x, gpul__none, int) const {
        return gpul__add(acc, gpul__magnitude<A>(x));
    }
};
template <typename T> struct gpul__sum_sq : gpul__sum_base<gpul__sum_sq<T>, T> {
    typedef typename gpul__sum_of<T>::type A;
    __device__ __forceinline__ A fold(A acc, T x, gpul__none, int) const {
        return gpul__multiply_add(gpul__widen<A>(x), gpul__widen<A>(x), acc);
    }
};
template <typename T> struct gpul__dot : gpul__sum_base<gpul__dot<T>, T, double> {
    typedef T Y;
    __device__ __forceinline__ double fold(double acc, T x, T y, int) const { return fma(double(x), double(y), acc); }
};
template <typename T> struct gpul__count_nonzero : gpul__sum_base<gpul__count_nonzero<T>, T, int64_t> {
    __device__ __forceinline__ int64_t fold(int64_t acc, T x, gpul__none, int) const { return acc + (x != T(0)); }
};
template <typename T> struct gpul__prod : gpul__reduction<gpul__prod<T>, T, typename gpul__sum_of<T>::type> {
    typedef typename gpul__sum_of<T>::type A;
    __device__ __forceinline__ A identity() const { return A(1); }
    __device__ __forceinline__ A combine(A a, A b) const { return gpul__mul(a, b); }
    __device__ __forceinline__ A fold(A acc, T x, gpul__none, int) const { return gpul__mul(acc, gpul__widen<A>(x)); }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, A a, int64_t) const {
        gpul__store(out, i, dtype, a);
    }
};

/* Sums of d and d^2 with d = x - pivot, the pivot being the first element: var = (sum d^2 - (sum d)^2 / n) / n. The
 * subtraction loses (sum d)^2 / n over n var = (mean - pivot)^2 / var, and that is n at most, for the pivot itself adds
 * (mean - pivot)^2 / n to the variance: no data makes the cancellation unbounded, as it is with pivot 0. */
struct gpul__moments {
    double first, second;
};
template <typename T> struct gpul__var : gpul__reduction<gpul__var<T>, T, gpul__moments> {
    double pivot;
    __device__ __forceinline__ void begin(const T *first) { pivot = double(*first); }
    __device__ __forceinline__ gpul__moments identity() const {
        gpul__moments m;
        m.first = m.second = 0;
        return m;
    }
    __device__ __forceinline__ gpul__moments combine(gpul__moments a, gpul__moments b) const {
        a.first = __dadd_rn(a.first, b.first);
        a.second = __dadd_rn(a.second, b.second);
        return a;
    }
    __device__ __forceinline__ gpul__moments fold(gpul__moments acc, T x, gpul__none, int) const {
        const double d = __dsub_rn(double(x), pivot);
        acc.first = __dadd_rn(acc.first, d);
        acc.second = fma(d, d, acc.second);
        return acc;
    }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, gpul__moments a, int64_t n) const {
        const double mean = __ddiv_rn(a.first, double(n));
        const double var = __ddiv_rn(fma(-mean, a.first, a.second), double(n));
        gpul__store(out, i, dtype, var < 0 ? 0.0 : var);
    }
};

template <typename V> static __device__ __forceinline__ bool gpul__is_nan(V v) { return v != v; }
/* One kernel serves minimum and maximum: the maximum is the minimum of mirrored values (-x for floats, ~x for integers,
 * which unlike -x never overflows), mirrored back. Mirroring is an exclusive or with the sign bit or with all bits;
 * with zero it changes nothing, and no branch splits the loop in two. */
template <typename V> struct gpul__mirror_of { typedef V Bits; };
template <> struct gpul__mirror_of<float> { typedef uint32_t Bits; };
template <> struct gpul__mirror_of<double> { typedef uint64_t Bits; };
template <typename V> struct gpul__mirror {
    typedef typename gpul__mirror_of<V>::Bits Bits;
    Bits mask;
    __device__ __forceinline__ V operator()(V v) const { return gpul__bits<V>(Bits(gpul__bits<Bits>(v) ^ mask)); }
    void set(bool mirrored) {
        const bool integer = V(0.5) == V(0);
        mask = !mirrored ? Bits(0) : integer ? Bits(-1) : Bits(Bits(1) << (8 * sizeof(Bits) - 1));
    }
};

template <typename V> struct gpul__most {
    static __device__ __forceinline__ V value() {
        return V(sizeof(V) == 8 ? INT64_MAX : sizeof(V) == 4 ? INT32_MAX : 255);
    }
};
template <> struct gpul__most<float> {
    static __device__ __forceinline__ float value() { return gpul__bits<float>(0x7f800000u); }
};
template <> struct gpul__most<double> {
    static __device__ __forceinline__ double value() { return gpul__bits<double>(0x7ff0000000000000ull); }
};

template <typename T> struct gpul__min : gpul__reduction<gpul__min<T>, T, typename gpul__value_of<T>::type> {
    typedef typename gpul__value_of<T>::type V;
    gpul__mirror<V> mirror;
    __device__ __forceinline__ V identity() const { return gpul__most<V>::value(); }
    __device__ __forceinline__ V combine(V a, V b) const {
        return a < b || gpul__is_nan(a) ? a : b; /* of equals the second: +0 and -0 by position */
    }
    __device__ __forceinline__ V fold(V acc, T x, gpul__none, int) const {
        return combine(acc, mirror(gpul__widen<V>(x)));
    }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, V a, int64_t) const {
        gpul__store(out, i, dtype, mirror(a));
    }
    static gpul__min make() { return make(false); }
    static gpul__min make(bool mirrored) {
        gpul__min op;
        op.mirror.set(mirrored);
        return op;
    }
};
template <typename T> struct gpul__max : gpul__min<T> {
    static gpul__min<T> make() { return gpul__min<T>::make(true); }
};

template <typename V> struct gpul__place {
    V value;
    int64_t index; /* INT64_MAX, and the largest value that there is: none yet */
};
/* Within a slot the places rise, so that a strict comparison of values alone keeps the first of equals. Comparing
 * places as well is what made the argmin of 2^30 floats take 1480 us on an H200, in place of 946. */
template <typename V> struct gpul__place_in_unit {
    V value;
    int at; /* -1: nothing was below `value` yet, the largest that there is */
};
template <typename T> struct gpul__argmin : gpul__reduction<gpul__argmin<T>, T, gpul__place<T>> {
    typedef gpul__place<T> Place;
    typedef gpul__place_in_unit<T> Lane;
    gpul__mirror<T> mirror;
    __device__ __forceinline__ Place identity() const {
        Place none;
        memset(&none, 0, sizeof none); /* the padding too: partial results are copied by their bytes */
        none.value = gpul__most<T>::value();
        none.index = INT64_MAX;
        return none;
    }
    __device__ __forceinline__ Place combine(Place a, Place b) const {
        const bool a_nan = gpul__is_nan(a.value), b_nan = gpul__is_nan(b.value), before = b.index < a.index;
        const bool lower = (b.value < a.value) | b_nan, same = b.value == a.value;
        return a_nan ? (b_nan & before ? b : a) : lower | (same & before) ? b : a;
    }
    __device__ __forceinline__ Lane start() const {
        const Lane lane = {gpul__most<T>::value(), -1};
        return lane;
    }
    __device__ __forceinline__ Lane fold(Lane lane, T x, gpul__none, int at) const {
        const T v = mirror(x);
        const bool takes = !(v >= lane.value) && !gpul__is_nan(lane.value); /* the first NaN stays */
        lane.value = takes ? v : lane.value;
        lane.at = takes ? at : lane.at;
        return lane;
    }
    __device__ __forceinline__ Place settle(Lane lane, int64_t begin, int at) const {
        Place place = identity();
        place.value = lane.value;
        place.index = begin + (lane.at < 0 ? at : lane.at);
        return place;
    }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, Place a, int64_t) const {
        gpul__store(out, i, dtype, a.index);
    }
    static gpul__argmin make() { return make(false); }
    static gpul__argmin make(bool mirrored) {
        gpul__argmin op;
        op.mirror.set(mirrored);
        return op;
    }
};
template <typename T> struct gpul__argmax : gpul__argmin<T> {
    static gpul__argmin<T> make() { return gpul__argmin<T>::make(true); }
};

} /* namespace */

/* ---------------------------------------------------------------------------------------------------------------------
 * 3. Matrix-vector product
 *
 * y = alpha A x + beta y is a reduction of A[i, :] * x along a row for each i: the engine's `rows` kernel for row-major
 * matrices, its `cols` kernel for column-major ones, with the columns split over blocks and joined in order, or
 * `narrow` where there are few columns. Each product enters by one fma in A's own precision: at most cols + 2 roundings
 * reach any element. beta = 0 must not read y.
 * ------------------------------------------------------------------------------------------------------------------ */
#ifndef GPULITE_NO_GEMV
namespace {

template <typename T> struct gpul__gemv : gpul__reduction<gpul__gemv<T>, T, T> {
    enum { kTogether = 4, kStaged = 1 };
    typedef T Y;
    T alpha, beta;
    __device__ __forceinline__ T identity() const { return T(0); }
    __device__ __forceinline__ T fold(T acc, T a, T x, int) const { return gpul__multiply_add(a, x, acc); }
    __device__ __forceinline__ T combine(T a, T b) const { return gpul__add(a, b); }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype, T acc, int64_t n) const {
        T *y = static_cast<T *>(out) + i;
        const T product = n == 0 ? T(0) : gpul__mul(alpha, acc);
        *y = beta == T(0) ? product : gpul__multiply_add(beta, *y, product);
    }
};
template <typename T> static int32_t gpul__gemv_launch(gpul__reduce_args *args) {
    gpul__gemv<T> op;
    op.alpha = T(args->alpha);
    op.beta = T(args->beta);
    return gpul__reduce_launch_op(args, op);
}

} /* namespace */
#endif

#define GPUL__NO_REDUCER                                                                                               \
    { 0 }
#define GPUL__REDUCERS(Op)                                                                                             \
    {                                                                                                                  \
        GPUL__NO_REDUCER, GPUL__REDUCER(Op<float>), GPUL__REDUCER(Op<double>), GPUL__REDUCER(Op<int32_t>),             \
            GPUL__REDUCER(Op<int64_t>), GPUL__REDUCER(Op<uint8_t>), GPUL__NO_REDUCER, GPUL__NO_REDUCER                 \
    }
#define GPUL__REDUCERS_16(Op)                                                                                          \
    {                                                                                                                  \
        GPUL__NO_REDUCER, GPUL__REDUCER(Op<float>), GPUL__REDUCER(Op<double>), GPUL__REDUCER(Op<int32_t>),             \
            GPUL__REDUCER(Op<int64_t>), GPUL__REDUCER(Op<uint8_t>), GPUL__REDUCER(Op<gpul__f16>),                      \
            GPUL__REDUCER(Op<gpul__bf16>)                                                                              \
    }

extern "C" const gpul__reducer *gpul__find_reducer(int32_t op, gpul_dtype dtype) {
    static const gpul__reducer table[GPUL__GEMV + 1][GPUL_BF16 + 1] = {
        {GPUL__NO_REDUCER},
        GPUL__REDUCERS_16(gpul__sum),
        GPUL__REDUCERS(gpul__prod),
        GPUL__REDUCERS_16(gpul__min),
        GPUL__REDUCERS_16(gpul__max),
        GPUL__REDUCERS(gpul__abs_sum),
        GPUL__REDUCERS(gpul__sum_sq),
        GPUL__REDUCERS(gpul__mean),
        GPUL__REDUCERS(gpul__var),
        GPUL__REDUCERS(gpul__argmin),
        GPUL__REDUCERS(gpul__argmax),
        GPUL__REDUCERS(gpul__count_nonzero),
        {GPUL__NO_REDUCER, GPUL__REDUCER(gpul__dot<float>), GPUL__REDUCER(gpul__dot<double>)},
#ifndef GPULITE_NO_GEMV
        {GPUL__NO_REDUCER, {&gpul__gemv_launch<float>}, {&gpul__gemv_launch<double>}},
#endif
    };
    if (op < GPUL_SUM || op > GPUL__GEMV || dtype < GPUL_F32 || dtype > GPUL_BF16) return 0;
    return table[op][dtype].launch ? &table[op][dtype] : 0;
}

static __device__ gpul__workspace gpul__workspaces[GPUL__WORKSPACES];
extern "C" int32_t gpul__find_workspaces(gpul__workspace **first) {
    void *address = 0;
    const cudaError_t e = cudaGetSymbolAddress(&address, gpul__workspaces);
    *first = static_cast<gpul__workspace *>(address);
    return int32_t(e);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Histogram
 *
 * Idea. Counters live in shared memory, one copy to a block and one block to a multiprocessor, and are added to the
 * result once per block. (More copies gain nothing: on an H200 an increment without a result, ATOMS.POPC.INC, takes two
 * cycles a warp with the lanes in one address, in random banks or in banks of their own.) Of more bins, up to twice as
 * many fit all the same, with 16-bit counters for some; still more are counted in two passes, the first of which sorts
 * elements by ranges of bins. Where neither can be (explicit edges, strides), or elements are few, bins are cut into
 * parts, each counted by blocks of its own that read all of x; or, with many bins, counts is incremented in global
 * memory. Bytes are counted by value, 256 counters whatever the bins, and the values are sorted into bins after.
 *
 * The bin of an element is the one that numpy.histogram gives it, exactly. One fma in double makes a fixed-point number
 * of it: the bin, and how far x is from the edge below. Only if that is too close to tell, the edge is computed, as
 * numpy.linspace does, and compared with x. No edge is ever stored. See gpul__hist_place for what "too close" is.
 *
 * Assumptions. Additions are integer (weights in floating point are added in 128-bit fixed point), so the order of the
 * atomics does not show. A counter of a block has 32 bits: no block sees 2^32 elements.
 *
 * Cost. One read of x (one for each part: a part holds some 58000 bins on Hopper), a dozen instructions and one atomic
 * addition to shared memory an element; one to global memory for each block and bin that occurs. In two passes 2 bytes
 * an element are written and read besides, in scratch memory of 310 MB at most, and an element takes some 50
 * instructions. With weights: global atomics, one for integers, two for floats, which are read twice.
 * ------------------------------------------------------------------------------------------------------------------ */
#ifdef GPULITE_NO_HISTOGRAM

extern "C" int64_t gpul__histogram_scratch(const gpul__histogram_args *) { return -1; }
extern "C" int32_t gpul__histogram_launch(const gpul__histogram_args *) { return int32_t(cudaErrorNotSupported); }

#else

/* Zeroing counts. As a launch before the kernel's that costs 1.3 us on an H200; within it, behind a barrier across the
 * grid that blocks enter when they start and leave when they have counted, 0.3 us, and a launch that fails leaves
 * counts alone. But a cooperative launch waits until all its blocks find room: it is for short kernels. */
#if defined(GPULITE_CPU_STANDIN) ||                                                                                    \
    (defined(__NVCC__) && CUDART_VERSION >= 13000 && __cplusplus >= 201703L) /* which that header asks for */
#define GPUL__HIST_COOPERATIVE 1
#include <cooperative_groups.h>
#else
#define GPUL__HIST_COOPERATIVE 0
#endif

/* ---- from an element to its bin ---- */

struct gpul__hist_rule { /* what every element needs comes first: a block waits for each line of these that it reads */
    int64_t bins;
    double factor, offset; /* of gpul__hist_place, and how near above an edge it is unsure, in units of 2^-32 */
    uint32_t unsure;
    int32_t fraction; /* bits of the place behind the point */
    float lo_f, hi_f;
    double point;              /* the place of bin 0: 2^(52 - fraction) */
    double lo, hi, step, span; /* numpy's first edge, last edge, step of linspace and divisor of the index */
    double scale, tolerance;   /* of the estimate: bins / (hi - lo), and how far from an integer is certain */
    const double *edges;       /* explicit edges in device memory */
    float step_f, span_f, scale_f, tolerance_f;
    int32_t uniform;   /* 0: edges */
    int32_t f32_steps; /* edges and indices of f32 data are computed in f32 throughout */
    int32_t estimate;  /* the estimate is good to less than half a bin; 0: numpy's formula for every element */
};

/* What one element type needs. Real is the type that numpy computes edges and indices in. The magic number 1.5 * 2^23
 * (2^52) rounds what is added to it to an integer and leaves that integer in its low bits. */
template <typename Real> struct gpul__hist_real;
template <> struct gpul__hist_real<float> {
    typedef int32_t Int;
    static __device__ __forceinline__ float lo(const gpul__hist_rule &r) { return r.lo_f; }
    static __device__ __forceinline__ float hi(const gpul__hist_rule &r) { return r.hi_f; }
    static __device__ __forceinline__ float scale(const gpul__hist_rule &r) { return r.scale_f; }
    static __device__ __forceinline__ float tolerance(const gpul__hist_rule &r) { return r.tolerance_f; }
    static __device__ __forceinline__ float sub(float a, float b) { return __fsub_rn(a, b); }
    static __device__ __forceinline__ float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
    static __device__ __forceinline__ float magic() { return 12582912.0f; }
    static __device__ __forceinline__ int32_t integer(float m) {
        return int32_t(uint32_t(__float_as_int(m)) - 0x4b400000u); /* of no meaning for x outside, but defined */
    }
    static __device__ __forceinline__ float edge(const gpul__hist_rule &r, int64_t i) {
        if (i == r.bins) return r.hi_f;
        if (r.f32_steps) return __fadd_rn(__fmul_rn(float(i), r.step_f), r.lo_f);
        return __double2float_rn(__dadd_rn(__dmul_rn(double(i), r.step), r.lo));
    }
    /* numpy's index before it is made an integer, as a double: exact, since the values it had are kept */
    static __device__ __forceinline__ double index(const gpul__hist_rule &r, float x) {
        const float d = __fsub_rn(x, r.lo_f);
        if (r.f32_steps) return double(__fmul_rn(__fdiv_rn(d, r.span_f), float(r.bins)));
        return __dmul_rn(__ddiv_rn(double(d), r.span), double(r.bins));
    }
};
template <> struct gpul__hist_real<double> {
    typedef int64_t Int;
    static __device__ __forceinline__ double lo(const gpul__hist_rule &r) { return r.lo; }
    static __device__ __forceinline__ double hi(const gpul__hist_rule &r) { return r.hi; }
    static __device__ __forceinline__ double scale(const gpul__hist_rule &r) { return r.scale; }
    static __device__ __forceinline__ double tolerance(const gpul__hist_rule &r) { return r.tolerance; }
    static __device__ __forceinline__ double sub(double a, double b) { return __dsub_rn(a, b); }
    static __device__ __forceinline__ double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
    static __device__ __forceinline__ double magic() { return 6755399441055744.0; }
    static __device__ __forceinline__ int64_t integer(double m) {
        return int64_t(uint64_t(__double_as_longlong(m)) - 0x4338000000000000ull);
    }
    static __device__ __forceinline__ double edge(const gpul__hist_rule &r, int64_t i) {
        if (i == r.bins) return r.hi;
        return __dadd_rn(__dmul_rn(double(i), r.step), r.lo);
    }
    static __device__ __forceinline__ double index(const gpul__hist_rule &r, double x) {
        return __dmul_rn(__ddiv_rn(__dsub_rn(x, r.lo), r.span), double(r.bins));
    }
};
/* integers are compared and sorted as doubles, as numpy does */
template <typename T> struct gpul__hist_type { typedef double Real; };
template <> struct gpul__hist_type<float> { typedef float Real; };

enum { gpul__hist_outside = -1, gpul__hist_unsure = -2 };

/* The bin where the estimate is certain.
 *
 * Let u be 2^-24 (f32) or 2^-53 (f64), W = hi - lo, R = max(|lo|, |hi|), n bins, and p = (x - lo) n / W the true
 * position. The estimate t = d * s has the error of d = fl(x - lo), at most n u (1 + R / W) with that of lo itself in
 * f32, and that of s, n u. Edge i of linspace, in the same units, is at most n u (3 + R / W) away from i: three
 * roundings of the step and the product, relative to W, and one of the sum, relative to R. So x lies on the side of
 * every edge on which t lies of every integer, unless they are closer than n u (5 + 2 R / W) (and second-order terms:
 * gpul__hist_fill_rule takes 6 and 3). If that is below one half, at most one edge is that close, the nearest; and
 * numpy's own index is then less than one away from p, so that its correction by at most one ends in the same bin. */
template <typename Real>
static __device__ __forceinline__ int64_t gpul__hist_estimate(const gpul__hist_rule &r, Real x, int64_t *nearest) {
    typedef gpul__hist_real<Real> R;
    const Real d = R::sub(x, R::lo(r)), m = R::fma(d, R::scale(r), R::magic());
    const Real rest = R::fma(d, R::scale(r), -R::sub(m, R::magic()));
    const typename R::Int k = R::integer(m);
    *nearest = k;
    if (!(x >= R::lo(r) && x <= R::hi(r))) return gpul__hist_outside;
    if (!(fabs(rest) > R::tolerance(r))) return gpul__hist_unsure;
    return k - (rest < 0 ? 1 : 0);
}

/* the last edge that is not above x, in a list that never decreases; the last bin is closed */
static __device__ __forceinline__ int64_t gpul__hist_search(const gpul__hist_rule &r, double x) {
    if (!(x >= r.lo && x <= r.hi)) return gpul__hist_outside;
    int64_t low = 0, high = r.bins; /* edges[low] <= x < edges[high], or x == edges[bins] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (r.edges[middle] <= x) low = middle;
        else high = middle;
    }
    return low;
}

/* The bin of any x: -1 outside. */
template <typename Real> static __device__ __forceinline__ int64_t gpul__hist_bin(const gpul__hist_rule &r, Real x) {
    typedef gpul__hist_real<Real> R;
    int64_t k;
    const int64_t bin = gpul__hist_estimate(r, x, &k);
    if (bin != gpul__hist_unsure) return bin;
    if (r.estimate) {
        if (x < R::edge(r, k)) --k;
    } else {
        /* numpy's formula and its correction, also where they miss the edges by more */
        const double index = R::index(r, x);
        k = index < double(r.bins) ? int64_t(index) : r.bins - 1;
        if (x < R::edge(r, k)) --k;
        if (k < 0) k = 0;
        if (k != r.bins - 1 && x >= R::edge(r, k + 1)) ++k;
    }
    return k < r.bins ? k : r.bins - 1;
}

/* The place of x among the bins as a fixed-point number: x * factor + offset, where offset holds a power of two that
 * puts the point at bit `fraction` of the sum (32, less where there are 2^20 bins or more). Half of `unsure` is in
 * offset, too, so that the bin is certain if at least `unsure` stands behind the point. (For i32 and edges that are
 * multiples of some 2^-k it is half of that instead, which tells all apart: unsure is 0.)
 *
 * A float is first replaced by the middle between it and the next float above: x >= fl(edge) holds where the middle
 * lies above edge, so that the rounding of edges to f32 drops out and data that lie on edges, as integers like to, are
 * certain. This is done in the integers that the numbers are; the middle is off by 2^-126 below the normal floats.
 *
 * The error, in bins, with u = 2^-53, n bins, W = hi - lo, R = max(|lo|, |hi|): factor and offset, n u (2 + 3 R / W);
 * linspace, n u (4 + R / W); 3 * 2^-fraction for the sum. Edges that numpy computes in f32: n 2^-24 (5 + 3 R / W). And
 * numpy's index before its correction by one, which must be less than one away: n 2^-24 (2 + 3 R / W) with f32. */
static __device__ __forceinline__ uint64_t gpul__hist_place(const gpul__hist_rule &r, double x) {
    return gpul__bits<uint64_t>(__fma_rn(x, r.factor, r.offset));
}
static __device__ __forceinline__ uint64_t gpul__hist_place(const gpul__hist_rule &r, float x) {
    const uint32_t bits = gpul__bits<uint32_t>(x);
    const int32_t magnitude = int32_t((bits & 0x7fffffffu) - (bits >> 31)); /* for x < 0 the middle is nearer to zero */
    const uint64_t middle = uint64_t(int64_t(magnitude) * 0x20000000 + 0x3800000010000000);
    return gpul__hist_place(r, gpul__bits<double>(middle | uint64_t(bits & 0x80000000u) << 32));
}

/* the number next below x, which is finite */
static __device__ __forceinline__ float gpul__hist_below(float x) {
    const uint32_t bits = gpul__bits<uint32_t>(x);
    return gpul__bits<float>(x == 0 ? 0x80000001u : x < 0 ? bits + 1 : bits - 1);
}
static __device__ __forceinline__ double gpul__hist_below(double x) {
    const uint64_t bits = gpul__bits<uint64_t>(x);
    return gpul__bits<double>(x == 0 ? 0x8000000000000001u : x < 0 ? bits + 1 : bits - 1);
}

/* ---- counting ---- */

/* What two passes over many bins leave between them: see gpul__hist_sink<gpul__hist_in_tiles>. */
struct gpul__hist_tiles {
    uint16_t *entries;        /* of each tile: bins within their partitions, sorted by partition */
    uint32_t *segments;       /* [partition][tile]: where its entries begin and how many there are, in units of 8 */
    uint32_t *totals;         /* units of 8 entries of a partition */
    int64_t tiles, capacity;  /* capacity: entries of a tile */
    int32_t partitions, bits; /* a partition has 2^bits bins */
};

struct gpul__hist_view {
    const void *x;
    void *counts;
    int64_t n, counts_stride;
    int64_t first_vector; /* x dense: elements before the first that is aligned to 16 bytes; -1: x has strides */
    int32_t ndim;
    int32_t wide;    /* counts are 64-bit */
    int32_t width;   /* bins of a part */
    int32_t packed;  /* bins at each end whose counters have 16 bits: see gpul__hist_sink<gpul__hist_in_packed> */
    int32_t zeroing; /* the kernel itself sets counts to zero: a cooperative launch */
    uint32_t idle;   /* threads of a block, its first ones, that do not count: see gpul__hist_first */
    int64_t stride;  /* threads of the grid that do, in x */
    gpul__hist_rule rule;
    gpul__hist_tiles tiles;
    int64_t shape[GPUL_MAX_DIMS], strides[GPUL_MAX_DIMS];
};

/* Where element i lies. (Inlined: a call would need a copy of the view in local memory in every thread.) */
static __device__ __forceinline__ int64_t gpul__hist_offset(const gpul__hist_view &v, const int64_t *strides,
                                                            int64_t i) {
    int64_t offset = 0;
    for (int32_t d = v.ndim - 1; d > 0; --d) {
        int64_t rest;
        if (((i | v.shape[d]) >> 32) == 0) rest = uint32_t(i) / uint32_t(v.shape[d]);
        else rest = i / v.shape[d];
        offset += (i - rest * v.shape[d]) * strides[d];
        i = rest;
    }
    return offset + i * strides[0];
}

static __device__ __forceinline__ void gpul__hist_add(const gpul__hist_view &v, int64_t bin, uint64_t amount) {
    if (v.wide) atomicAdd(static_cast<unsigned long long *>(v.counts) + bin * v.counts_stride, amount);
    else atomicAdd(static_cast<unsigned int *>(v.counts) + bin * v.counts_stride, static_cast<unsigned int>(amount));
}

#define GPUL__HIST_THREADS 512
enum { gpul__hist_chunk = 256 }; /* counters of shared memory are cleared and added in chunks of this many */
#define GPUL__HIST_WIDE_THREADS 1024 /* where one block fills a multiprocessor */

#if GPUL__HIST_COOPERATIVE
static __device__ __forceinline__ void gpul__hist_zero_counts(const gpul__hist_view &v) {
    const int64_t step = int64_t(gridDim.x) * gridDim.y * blockDim.x;
    for (int64_t i = (int64_t(blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; i < v.rule.bins;
         i += step) {
        if (v.wide) static_cast<uint64_t *>(v.counts)[i * v.counts_stride] = 0;
        else static_cast<uint32_t *>(v.counts)[i * v.counts_stride] = 0;
    }
}
#endif
/* All threads: what came before in this block is visible to it after; and, between enter and leave, counts become
 * zero. */
static __device__ __forceinline__ uint32_t gpul__hist_enter(const gpul__hist_view &v) {
#if GPUL__HIST_COOPERATIVE && (defined(__CUDA_ARCH__) || defined(GPULITE_CPU_STANDIN))
    if (v.zeroing) {
        gpul__hist_zero_counts(v);
        return cooperative_groups::this_grid().barrier_arrive();
    }
#endif
    (void)v;
    __syncthreads();
    return 0;
}
static __device__ __forceinline__ void gpul__hist_leave(const gpul__hist_view &v, uint32_t token) {
#if GPUL__HIST_COOPERATIVE && (defined(__CUDA_ARCH__) || defined(GPULITE_CPU_STANDIN))
    if (v.zeroing) {
        cooperative_groups::this_grid().barrier_wait(
            static_cast<cooperative_groups::grid_group::arrival_token &&>(token));
        return;
    }
#endif
    (void)v, (void)token;
    __syncthreads();
}

/* This thread's first element or vector; v.n for a thread that does not count. Where the kernel sets counts to zero the
 * first warp of a block does not: it waits in gpul__hist_leave meanwhile, so that the barrier's answer, a way to the
 * cache and back, does not come on top (0.3 us of 4.9). */
static __device__ __forceinline__ int64_t gpul__hist_first(const gpul__hist_view &v) {
    return threadIdx.x < v.idle ? v.n : int64_t(blockIdx.x) * (blockDim.x - v.idle) + (threadIdx.x - v.idle);
}

/* counters of shared memory: to zero, and added to counts[first ...] */
static __device__ __forceinline__ void gpul__hist_clear(uint32_t *tile, uint32_t counters) {
    const gpul__pack<uint32_t, 4> zero = {{0, 0, 0, 0}};
    for (uint32_t i = threadIdx.x; i < (counters + 3) / 4; i += blockDim.x) gpul__save<4>(tile + 4 * i, zero);
}
/* Counter `origin` is the tile's first. In PTX, and with a spare counter for elements that do not count: the compiler
 * makes addresses anew for each element otherwise, and branches around that, which is a fifth slower. */
struct gpul__hist_tile {
    uint32_t *counters;
    uint32_t start, base, waste;
    __device__ __forceinline__ void set(uint32_t *tile, uint32_t origin, uint32_t spare) {
        counters = tile;
        waste = spare;
#ifdef __CUDA_ARCH__
        start = uint32_t(__cvta_generic_to_shared(tile));
        base = start - origin * 4;
        waste = uint32_t(__cvta_generic_to_shared(tile + spare));
#else
        start = 0;
        base = start - origin;
#endif
    }
    __device__ __forceinline__ void increment(uint32_t counter, bool counts) const {
#ifdef __CUDA_ARCH__
        asm volatile(
            "{ .reg .pred p; .reg .u32 at; setp.ne.s32 p, %2, 0; mad.lo.u32 at, %0, 4, %1; selp.u32 at, at, %3, p;"
            " red.shared.add.u32 [at], 1; }" ::"r"(counter),
            "r"(base), "r"(int32_t(counts)), "r"(waste)
            : "memory");
#else
        if (counts) atomicAdd(counters + uint32_t(counter + base), 1u);
#endif
    }
    /* `at`: the bytes from `start`, plus start */
    __device__ __forceinline__ void add(uint32_t at, uint32_t amount, bool counts) const {
#ifdef __CUDA_ARCH__
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p red.shared.add.u32 [%0], %1; }" ::"r"(at), "r"(amount),
                     "r"(int32_t(counts))
                     : "memory");
#else
        if (counts) atomicAdd(counters + (at - start) / 4, amount);
#endif
    }
};

/* Where counts go: to this block's counters of its part of the bins, some of them packed or none; straight to global
 * memory; or into tiles for a second pass. A sink takes elements of which the place is sure one by one, or, by warp(),
 * kN of each lane of a whole warp: false says that it has left them to be taken one by one. */
enum { gpul__hist_in_global = 0, gpul__hist_in_shared = 1, gpul__hist_in_packed = 2, gpul__hist_in_tiles = 3 };
template <int kWhere> struct gpul__hist_sink;

enum { gpul__hist_bin_0 = 0x41300000 }; /* the upper half of the place of bin 0: of the double 2^20 */
enum { gpul__hist_none = -1 };          /* in place of a bin, as uint32_t: not counted here */

/* Counter `width` of the last part has the elements that are equal to hi. */
template <> struct gpul__hist_sink<gpul__hist_in_shared> {
    gpul__hist_tile tile;
    uint32_t width;
    int64_t first;
    __device__ __forceinline__ uint32_t chunks() const { return width / gpul__hist_chunk + 1; }
    __device__ __forceinline__ void begin(const gpul__hist_view &v, uint32_t *counters) {
        first = int64_t(blockIdx.y) * v.width;
        width = v.rule.bins - first < v.width ? uint32_t(v.rule.bins - first) : uint32_t(v.width);
        tile.set(counters, uint32_t(gpul__hist_bin_0) + uint32_t(first), chunks() * gpul__hist_chunk);
    }
    __device__ __forceinline__ void sure(const gpul__hist_view &, uint64_t place, bool counts) {
        tile.increment(uint32_t(place >> 32), counts);
    }
    template <int kN>
    __device__ __forceinline__ bool warp(const gpul__hist_view &, const uint64_t (&)[kN], const bool (&)[kN], int) {
        return false;
    }
    __device__ __forceinline__ void add(const gpul__hist_view &, int64_t bin) {
        const uint32_t counter = uint32_t(bin) - uint32_t(first); /* outside: far beyond width */
        tile.increment(uint32_t(bin) + uint32_t(gpul__hist_bin_0), bin >= 0 && counter < width);
    }
    template <int> __device__ __forceinline__ void settle(const gpul__hist_view &) {}
    /* between barriers, after the last element: those equal to hi are in the last bin */
    __device__ __forceinline__ void close(const gpul__hist_view &) {
        if (threadIdx.x) return;
        tile.counters[width - 1] += tile.counters[width];
        tile.counters[width] = 0;
    }
    __device__ __forceinline__ bool unpack(const gpul__hist_view &, uint32_t, uint32_t) { return false; }
};

/* More bins than words: one part all the same, so that x is read once. Of bins + 1 counters (the last has the elements
 * equal to hi) `ends` at each end have 16 bits, one of either end to a word; so these take words [0, ends), and the
 * counter of a bin in the middle, where most data have most elements, is the word of its number and takes the fast
 * increment. Those at the ends take an ordinary addition, for which lanes that meet in a word queue up: where a sample
 * (the first access of a group) says that many do, one of them adds for all that are in its bin. On an H200, 2^28
 * doubles in 65536 bins take 510 to 560 us, in two parts 670 to 700; floats, for which instructions bind, 350
 * (constant) to 440 (uniform), else 450.
 *
 * Halves do not overflow: a sweep moves those of 2^13 or more to counts, and before 49152 elements and those of a last
 * incomplete access (6) have been counted comes the next; 8191 + 49158 < 65536. */
enum { gpul__hist_sweep_elements = 49152 };
template <> struct gpul__hist_sink<gpul__hist_in_packed> {
    gpul__hist_tile tile;
    uint32_t ends, middle, words, low, high;
    bool crowd;
    int64_t first;
    __device__ __forceinline__ uint32_t chunks() const { return words / gpul__hist_chunk; }
    __device__ __forceinline__ void begin(const gpul__hist_view &v, uint32_t *counters) {
        first = 0;
        ends = uint32_t(v.packed);
        words = uint32_t(v.width);
        middle = uint32_t(v.rule.bins) + 1 - 2 * ends;
        tile.set(counters, 0u - ends, words);
        low = tile.start + 4 * ends;
        high = tile.start - 4 * middle;
        crowd = false;
    }
    /* A bin's number is counted from the first of the middle: `middle` or more, unsigned, at the ends. */
    __device__ __forceinline__ uint32_t number(uint64_t place) const {
        return uint32_t(place >> 32) - (uint32_t(gpul__hist_bin_0) + ends);
    }
    __device__ __forceinline__ void put_end(uint32_t number, uint32_t many, bool counts) {
        const bool below = int32_t(number) < 0;
        tile.add(4 * number + (below ? low : high), below ? many : many << 16, counts);
    }
    __device__ __forceinline__ void take(uint32_t number, bool counts) {
        tile.increment(number, counts && number < middle);
        put_end(number, 1, counts && number >= middle);
    }
    __device__ __forceinline__ void sure(const gpul__hist_view &, uint64_t place, bool counts) {
        take(number(place), counts);
    }
    __device__ __forceinline__ void add(const gpul__hist_view &, int64_t bin) { take(uint32_t(bin) - ends, bin >= 0); }
    /* The lanes of which `value` is what the first lane with `counts` has, among those. The whole warp. */
    static __device__ __forceinline__ uint32_t alike(uint32_t value, bool counts) {
        const uint32_t full = 0xffffffffu, first = uint32_t(__ffs(int32_t(__ballot_sync(full, counts)))) - 1;
        const uint32_t lead = __shfl_sync(full, value, int(first % 32));
        return __ballot_sync(full, counts && value == lead);
    }
    template <int kN>
    __device__ __forceinline__ bool warp(const gpul__hist_view &, const uint64_t (&place)[kN], const bool (&sure)[kN],
                                         int access) {
        uint32_t number[kN];
        bool end[kN], any = false;
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) {
            number[j] = this->number(place[j]);
            tile.increment(number[j], sure[j] && number[j] < middle);
            end[j] = sure[j] && number[j] >= middle;
            any = any || end[j];
        }
        if (!__any_sync(0xffffffffu, any)) return true;
        if (access == 0) crowd = __popc(alike(number[0], end[0])) > 4;
        if (!crowd) {
            GPUL__UNROLL
            for (int j = 0; j < kN; ++j) put_end(number[j], 1, end[j]);
            return true;
        }
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) {
            const uint32_t same = alike(number[j], end[j]), lane = threadIdx.x % 32;
            const bool one = ((same >> lane) & 1) == 0, first = (same & ((1u << lane) - 1)) == 0;
            put_end(number[j], one ? 1 : uint32_t(__popc(same)), end[j] && (one || first));
        }
        return true;
    }
    /* both halves of a word, where they are `least` or more, to counts; returns what is left of it */
    __device__ __forceinline__ uint32_t move(const gpul__hist_view &v, uint32_t word, uint32_t both, uint32_t least) {
        GPUL__UNROLL
        for (uint32_t k = 0; k < 2; ++k) {
            const uint32_t count = (both >> (16 * k)) & 0xffffu, bin = k ? word + ends + middle : word;
            if (count < least) continue;
            gpul__hist_add(v, bin < v.rule.bins ? bin : v.rule.bins - 1, count);
            both -= count << (16 * k);
        }
        return both;
    }
    /* the sweep: all threads of the block */
    template <int> __device__ __forceinline__ void settle(const gpul__hist_view &v) {
        __syncthreads();
        for (uint32_t i = 4 * threadIdx.x; i < ends; i += 4 * blockDim.x) {
            gpul__pack<uint32_t, 4> pack = gpul__load<4>(tile.counters + i);
            if (((pack.v[0] | pack.v[1] | pack.v[2] | pack.v[3]) & 0xe000e000u) == 0) continue;
            GPUL__UNROLL
            for (uint32_t k = 0; k < 4; ++k) pack.v[k] = move(v, i + k, pack.v[k], 0x2000);
            gpul__save<4>(tile.counters + i, pack);
        }
        __syncthreads();
    }
    __device__ __forceinline__ void close(const gpul__hist_view &) {}
    __device__ __forceinline__ bool unpack(const gpul__hist_view &v, uint32_t word, uint32_t both) {
        if (word < ends) move(v, word, both, 1);
        return word < ends;
    }
};

/* Runs of equal bins are put together, in a lane and across the lanes of a warp, so that constant or sorted data do not
 * queue up at one address. */
template <> struct gpul__hist_sink<gpul__hist_in_global> {
    uint32_t bin, run, origin;
    __device__ __forceinline__ void begin(const gpul__hist_view &v) {
        bin = run = 0;
        origin = uint32_t(uint64_t(1075 - v.rule.fraction) << (52 - v.rule.fraction)); /* of 2^(52 - fraction) */
    }
    __device__ __forceinline__ void flush(const gpul__hist_view &v) {
        if (run) gpul__hist_add(v, int64_t(bin) - (int64_t(bin) == v.rule.bins ? 1 : 0), run);
        run = 0;
    }
    __device__ __forceinline__ void put(const gpul__hist_view &v, uint32_t next, uint32_t many) {
        if (next != bin) {
            flush(v);
            bin = next;
        }
        run += many;
    }
    __device__ __forceinline__ uint32_t counter(const gpul__hist_view &v, uint64_t place) const {
        return uint32_t(place >> v.rule.fraction) - origin;
    }
    __device__ __forceinline__ void sure(const gpul__hist_view &v, uint64_t place, bool counts) {
        if (counts) put(v, counter(v, place), 1);
    }
    /* kN neighbours in each lane, 32 kN in the warp: where few lanes have an element that does not share its
     * neighbour's bin (sorted data, constant data), the lane with the first element of a run puts all of it. False:
     * there are many. */
    template <int kN> __device__ __forceinline__ bool runs(const gpul__hist_view &v, const uint32_t (&here)[kN]) {
        const uint32_t full = 0xffffffffu, lane = threadIdx.x % 32, lead = __shfl_sync(full, here[0], 0);
        bool same = true;
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) same = same && here[j] == lead;
        if (__all_sync(full, same)) { /* one run: the most frequent case where there are any */
            if (lane == 0 && lead != uint32_t(gpul__hist_none)) put(v, lead, 32 * kN);
            return true;
        }
        const uint32_t before = __shfl_up_sync(full, here[kN - 1], 1);
        uint32_t heads = 0;
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j)
            if (j ? here[j] != here[j - 1] : lane == 0 || here[0] != before) heads |= 1u << j;
        const uint32_t lanes = __ballot_sync(full, heads != 0);
        if (__popc(lanes) > 16) return false;
        const uint32_t after = lanes & (0xfffffffeu << lane), next = after ? uint32_t(__ffs(int32_t(after))) - 1 : 32;
        const uint32_t there = uint32_t(__ffs(int32_t(__shfl_sync(full, heads, int(next % 32))))) - 1;
        uint32_t end = (next - lane) * kN + (next < 32 ? there : 0); /* of the run: elements from this lane's first */
        GPUL__UNROLL
        for (int j = kN - 1; j >= 0; --j) {
            if (!((heads >> j) & 1)) continue;
            if (here[j] != uint32_t(gpul__hist_none)) put(v, here[j], end - uint32_t(j));
            end = uint32_t(j);
        }
        return true;
    }
    template <int kN>
    __device__ __forceinline__ void counters(const gpul__hist_view &v, const uint64_t (&place)[kN],
                                             const bool (&sure)[kN], uint32_t (&here)[kN]) const {
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) here[j] = sure[j] ? counter(v, place[j]) : uint32_t(gpul__hist_none);
    }
    template <int kN>
    __device__ __forceinline__ bool warp(const gpul__hist_view &v, const uint64_t (&place)[kN], const bool (&sure)[kN],
                                         int) {
        uint32_t here[kN];
        counters(v, place, sure, here);
        if (runs(v, here)) return true;
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j)
            if (here[j] != uint32_t(gpul__hist_none)) put(v, here[j], 1);
        return true;
    }
    __device__ __forceinline__ void add(const gpul__hist_view &v, int64_t next) {
        if (next < 0) return;
        if (next >> 32) gpul__hist_add(v, next, 1);
        else put(v, uint32_t(next), 1);
    }
    template <int> __device__ __forceinline__ void settle(const gpul__hist_view &) {}
    /* at the end, all threads: one addition for a warp that is left with one bin (constant data) */
    __device__ __forceinline__ void finish(const gpul__hist_view &v) {
        const bool same = bin == __shfl_sync(0xffffffffu, bin, 0);
        if (__all_sync(0xffffffffu, same)) {
            for (int d = 16; d > 0; d /= 2) run += __shfl_xor_sync(0xffffffffu, run, d);
            if (threadIdx.x % 32) run = 0;
        }
        flush(v);
    }
};

/* Two passes, for many more bins than a block has counters and so many elements that the additions to global memory
 * would take most of the time. Bins are cut into partitions of 2^bits. The first pass sorts the elements of each group
 * of a block, a tile, by partition: what is left of an element is its bin within the partition, in 16 bits. In the
 * second, a block counts what the tiles have of a partition in shared memory. Runs of equal bins, and what is left over
 * at the ends of x, are added to counts in the first pass.
 *
 * An element's rank is the answer of an atomic addition to the counter of its partition and lane: lanes have their own
 * counters, in a bank of their own, so that these additions take the same time for all data. */
enum { gpul__hist_most_partitions = 64, gpul__hist_rank_shift = 21 }; /* 64 partitions of 2^15 bins at most */
template <> struct gpul__hist_sink<gpul__hist_in_tiles> : gpul__hist_sink<gpul__hist_in_global> {
    /* Shared memory: two sets of counters, [partition][lane], used in turn, each with a row for elements that are not
     * counted here; the partitions' sizes in this tile; their totals; the tile itself. */
    uint32_t *ranks, *own; /* own: this lane's of the set in use */
    uint32_t group, set;   /* number of this block's tile; which set is in use */
    uint32_t code[16];     /* bin, and rank among those of its partition and lane; gpul__hist_none */

    static __host__ __device__ __forceinline__ uint32_t set_words(int32_t partitions) {
        return 32 * (uint32_t(partitions) + 1);
    }
    static __host__ __device__ __forceinline__ uint32_t words(int32_t partitions) {
        return 2 * set_words(partitions) + 2 * gpul__hist_most_partitions;
    }
    __device__ __forceinline__ void use(const gpul__hist_view &v, uint32_t next) {
        set = next;
        own = ranks + set * set_words(v.tiles.partitions) + threadIdx.x % 32;
    }
    static __device__ __forceinline__ uint32_t scan(uint32_t value) { /* of the lanes, this one included */
        for (uint32_t d = 1; d < 32; d *= 2) {
            const uint32_t other = __shfl_up_sync(0xffffffffu, value, d);
            if (threadIdx.x % 32 >= d) value += other;
        }
        return value;
    }
    __device__ __forceinline__ void begin(const gpul__hist_view &v, uint32_t *shared) {
        gpul__hist_sink<gpul__hist_in_global>::begin(v);
        ranks = shared;
        group = 0;
        use(v, 0);
        gpul__hist_clear(ranks, words(v.tiles.partitions));
        __syncthreads();
    }
    template <int kN>
    __device__ __forceinline__ bool warp(const gpul__hist_view &v, const uint64_t (&place)[kN], const bool (&sure)[kN],
                                         int access) {
        uint32_t here[kN];
        counters(v, place, sure, here);
        const bool done = runs(v, here);
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) {
            if (done) {
                code[access * kN + j] = uint32_t(gpul__hist_none);
                continue;
            }
            /* without a branch: "none" has the last row, and stays what it is */
            const uint32_t p = here[j] >> v.tiles.bits, last = uint32_t(v.tiles.partitions);
            code[access * kN + j] = here[j] | atomicAdd(own + 32 * (p < last ? p : last), 1u) << gpul__hist_rank_shift;
        }
        return true;
    }
    /* all threads of the block: sorts and stores the tile */
    template <int kElements> __device__ __forceinline__ void settle(const gpul__hist_view &v) {
        const uint32_t full = 0xffffffffu, lane = threadIdx.x % 32, first = threadIdx.x / 32, warps = blockDim.x / 32;
        const uint32_t partitions = uint32_t(v.tiles.partitions), mask = (1u << v.tiles.bits) - 1;
        uint32_t *const other = ranks + (set ^ 1) * set_words(v.tiles.partitions) + lane;
        uint32_t *const sizes = ranks + 2 * set_words(v.tiles.partitions);
        uint32_t *const totals = sizes + gpul__hist_most_partitions;
        uint16_t *const entries = reinterpret_cast<uint16_t *>(totals + gpul__hist_most_partitions);
        const int64_t tile = int64_t(group) * gridDim.x + blockIdx.x;
        uint32_t any = code[0];
        GPUL__UNROLL
        for (int k = 1; k < kElements; ++k) any &= code[k];
        const bool some = __syncthreads_or(any != uint32_t(gpul__hist_none)) != 0;
        ++group;
        if (!some) { /* all of it was runs */
            if (threadIdx.x < partitions) v.tiles.segments[threadIdx.x * v.tiles.tiles + tile] = 0;
            return;
        }
        for (uint32_t p = first; p < partitions; p += warps) {
            const uint32_t count = own[p * 32], sum = scan(count);
            own[p * 32] = sum - count;
            other[p * 32] = 0;
            if (lane == 31) sizes[p] = sum;
        }
        __syncthreads();
        /* units of 8 entries: a lane has those of two partitions, and of all before them */
        const uint32_t even = 2 * lane < partitions ? (sizes[2 * lane] + 7) / 8 : 0;
        const uint32_t odd = 2 * lane + 1 < partitions ? (sizes[2 * lane + 1] + 7) / 8 : 0;
        const uint32_t through = scan(even + odd), all = __shfl_sync(full, through, 31);
        for (uint32_t p = first; p < partitions; p += warps) {
            const uint32_t at = __shfl_sync(full, p % 2 ? through - odd : through - odd - even, int(p / 2));
            const uint32_t size = sizes[p], units = (size + 7) / 8;
            own[p * 32] += at * 8;
            if (lane < units * 8 - size) entries[at * 8 + size + lane] = uint16_t(mask + 1); /* no bin */
            if (lane == 0) {
                v.tiles.segments[p * v.tiles.tiles + tile] = at | units << 16;
                totals[p] += units;
            }
        }
        __syncthreads();
        GPUL__UNROLL
        for (int k = 0; k < kElements; ++k) {
            if (code[k] == uint32_t(gpul__hist_none)) continue;
            const uint32_t bin = code[k] & ((1u << gpul__hist_rank_shift) - 1), rank = code[k] >> gpul__hist_rank_shift;
            entries[own[32 * (bin >> v.tiles.bits)] + rank] = uint16_t(bin & mask);
        }
        __syncthreads();
        uint16_t *const to = v.tiles.entries + tile * v.tiles.capacity;
        for (uint32_t i = threadIdx.x; i < all; i += blockDim.x)
            gpul__save<8>(to + 8 * i, gpul__load<8>(entries + 8 * i));
        use(v, set ^ 1);
    }
    __device__ __forceinline__ void finish(const gpul__hist_view &v) {
        gpul__hist_sink<gpul__hist_in_global>::finish(v);
        __syncthreads();
        const uint32_t *const totals = ranks + words(v.tiles.partitions) - gpul__hist_most_partitions;
        for (int32_t p = int32_t(threadIdx.x); p < v.tiles.partitions; p += int32_t(blockDim.x)) {
            if (totals[p]) atomicAdd(v.tiles.totals + p, totals[p]);
        }
    }
};

/* The elements of x that are this thread's: groups of kPacks accesses of 16 bytes, a grid apart. The first group is
 * loaded before the counters are ready. */
template <typename T, bool kUniform, int kWhere> struct gpul__hist_walk {
    typedef typename gpul__hist_type<T>::Real Real;
    typedef gpul__hist_sink<kWhere> Sink;
    enum { kN = 16 / sizeof(T), kPacks = 4 };
    enum { kShared = kWhere == gpul__hist_in_shared || kWhere == gpul__hist_in_packed };
    /* threads that count whole groups together, and after how many groups their sink settles them */
    enum {
        kTogether = kWhere == gpul__hist_in_packed  ? GPUL__HIST_WIDE_THREADS
                    : kWhere == gpul__hist_in_tiles ? GPUL__HIST_THREADS
                                                    : 32
    };
    enum {
        kGroups =
            kWhere == gpul__hist_in_packed ? gpul__hist_sweep_elements / (GPUL__HIST_WIDE_THREADS * kPacks * kN) : 1
    };
    gpul__pack<T, kN> pack[kPacks];
    const T *body;
    int64_t vectors, stride, at;
    Real lo, hi; /* of the block's part */

    __device__ __forceinline__ void begin(const gpul__hist_view &v) {
        const int64_t before = v.first_vector < 0 ? 0 : v.first_vector;
        body = static_cast<const T *>(v.x) + before;
        vectors = v.first_vector < 0 ? 0 : (v.n - before) / kN;
        stride = v.stride;
        at = gpul__hist_first(v);
        lo = gpul__hist_real<Real>::lo(v.rule);
        hi = gpul__hist_real<Real>::hi(v.rule);
        load();
    }
    /* a part counts what lies between its own edges */
    __device__ __forceinline__ void restrict_to(const gpul__hist_view &v, int64_t first, int64_t width) {
        if (first > 0) lo = gpul__hist_real<Real>::edge(v.rule, first);
        if (first + width < v.rule.bins) hi = gpul__hist_below(gpul__hist_real<Real>::edge(v.rule, first + width));
    }
    /* whole for the whole warp, so that its lanes stay together, or for the whole block where it has to settle */
    __device__ __forceinline__ bool whole() const { return (at | (kTogether - 1)) + (kPacks - 1) * stride < vectors; }
    __device__ __forceinline__ void load() {
        if (whole()) {
            GPUL__UNROLL
            for (int u = 0; u < kPacks; ++u) pack[u] = gpul__load<kN>(body + (at + u * stride) * kN);
        } else {
            GPUL__UNROLL
            for (int u = 0; u < kPacks; ++u)
                if (at + u * stride < vectors) pack[u] = gpul__load<kN>(body + (at + u * stride) * kN);
        }
    }
    __device__ __forceinline__ void one(const gpul__hist_view &v, Sink &sink, T x) {
        sink.add(v, kUniform ? gpul__hist_bin(v.rule, Real(x)) : gpul__hist_search(v.rule, double(x)));
    }
    /* One access, of uniform bins; returns which of its elements are too near to an edge and still to be counted. */
    template <bool kWhole>
    __device__ __forceinline__ uint32_t access(const gpul__hist_view &v, Sink &sink, const T (&values)[kN],
                                               int number) {
        uint32_t near = 0;
        uint64_t place[kN];
        bool sure[kN];
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) { /* without a branch, so that the chains of the elements overlap */
            const Real x = Real(values[j]);
            const bool inside = x >= lo && x <= hi;
            place[j] = gpul__hist_place(v.rule, x);
            bool certain;
            if (sizeof(T) == 8) {
                /* Such data take twice the time to arrive, enough to compare each with the edge below its place: data
                 * that lie on edges, which doubles cannot be shifted off, are as fast then. (Whether they come to
                 * stand before or behind the last edge, they are in the last bin.) */
                const uint64_t whole_bins =
                    kShared ? place[j] & ~uint64_t(0xffffffffu) : place[j] >> v.rule.fraction << v.rule.fraction;
                const double k = __dsub_rn(gpul__bits<double>(whole_bins), v.rule.point);
                const bool before = double(x) < __dadd_rn(__dmul_rn(k, v.rule.step), v.rule.lo);
                if (before) place[j] -= kShared ? uint64_t(1) << 32 : uint64_t(1) << v.rule.fraction;
                certain = kWhere == gpul__hist_in_tiles || v.rule.factor > 0;
            } else {
                const uint32_t rest = kShared ? uint32_t(place[j]) : uint32_t(place[j] << (32 - v.rule.fraction));
                certain = rest >= v.rule.unsure;
            }
            sure[j] = inside && certain;
            if (inside && !certain) near |= 1u << j;
        }
        if (kWhole && sink.warp(v, place, sure, number)) return near;
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) sink.sure(v, place[j], sure[j]);
        return near;
    }
    template <bool kWhole> __device__ __forceinline__ void count(const gpul__hist_view &v, Sink &sink) {
        uint32_t open = 0; /* elements whose bin takes more than the estimate: they are read again, and rare */
        GPUL__UNROLL
        for (int u = 0; u < kPacks; ++u) {
            if (!kWhole && at + u * stride >= vectors) break;
            const uint32_t all = (1u << kN) - 1;
            open |= (kUniform ? access<kWhole>(v, sink, pack[u].v, u) : all) << (u * kN);
        }
        while (open) {
            const int k = __ffs(int(open)) - 1;
            open &= open - 1;
            one(v, sink, body[(at + (k / kN) * stride) * kN + k % kN]);
        }
    }
    __device__ __forceinline__ void run(const gpul__hist_view &v, Sink &sink) {
        const T *x = static_cast<const T *>(v.x);
        if (v.first_vector < 0) {
            for (; at < v.n; at += stride) one(v, sink, x[gpul__hist_offset(v, v.strides, at)]);
            return;
        }
        for (uint32_t group = 1; whole(); ++group) {
            count<true>(v, sink);
            at += kPacks * stride;
            load();
            if (kTogether > 32 && group % kGroups == 0) sink.template settle<kPacks * kN>(v);
        }
        count<false>(v, sink);
        /* what lies before the first whole vector and behind the last one */
        const int64_t behind = v.first_vector + vectors * kN, ends = v.first_vector + (v.n - behind);
        const int64_t t = blockDim.x - 1 - threadIdx.x;
        if (blockIdx.x == gridDim.x - 1 && t < ends)
            one(v, sink, x[t < v.first_vector ? t : behind + (t - v.first_vector)]);
    }
};

/* Counters of shared memory to counts, by all threads. A warp adds a chunk at a time, whose other counters are zero.
 * Blocks begin at different chunks, so as not to meet. */
template <typename Sink>
static __device__ __forceinline__ void gpul__hist_flush(const gpul__hist_view &v, Sink &sink, const uint32_t *tile,
                                                        uint32_t chunks) {
    enum { kChunk = gpul__hist_chunk };
    const uint32_t lane = threadIdx.x % 32, turn = blockIdx.x % chunks;
    const bool plain = !v.wide && v.counts_stride == 1;
    for (uint32_t i = threadIdx.x / 32; i < chunks; i += blockDim.x / 32) {
        const uint32_t at = (i + turn < chunks ? i + turn : i + turn - chunks) * kChunk + lane;
        const uint32_t *const from = tile + at;
        uint32_t *const to = static_cast<uint32_t *>(v.counts) + (sink.first + at);
        uint32_t sum[kChunk / 32];
        GPUL__UNROLL
        for (int k = 0; k < kChunk / 32; ++k) sum[k] = from[32 * k];
        GPUL__UNROLL
        for (int k = 0; k < kChunk / 32; ++k) {
            if (sum[k] == 0 || sink.unpack(v, at + 32 * k, sum[k])) continue;
            if (plain) atomicAdd(to + 32 * k, sum[k]);
            else gpul__hist_add(v, sink.first + at + 32 * k, sum[k]);
        }
    }
}

template <typename T, bool kUniform, int kWhere>
static __global__ void __launch_bounds__(GPUL__HIST_WIDE_THREADS, 1)
    gpul__hist_count_shared(const __grid_constant__ gpul__hist_view v) {
    GPUL_SHARED(uint32_t, tile);
    enum { kChunk = gpul__hist_chunk };
    gpul__hist_walk<T, kUniform, kWhere> walk;
    gpul__hist_sink<kWhere> sink;
    walk.begin(v);
    sink.begin(v, tile);
    if (kWhere == gpul__hist_in_shared && gridDim.y > 1 && v.rule.factor > 0) walk.restrict_to(v, sink.first, v.width);
    const uint32_t chunks = sink.chunks();
    gpul__hist_clear(tile, chunks * kChunk);
    const uint32_t token = gpul__hist_enter(v);
    walk.run(v, sink);
    gpul__hist_leave(v, token);
    sink.close(v);
    __syncthreads();
    gpul__hist_flush(v, sink, tile, chunks);
}

template <typename T, bool kUniform>
static __global__ void __launch_bounds__(GPUL__HIST_THREADS, 2)
    gpul__hist_count_global(const __grid_constant__ gpul__hist_view v) {
    gpul__hist_walk<T, kUniform, gpul__hist_in_global> walk;
    gpul__hist_sink<gpul__hist_in_global> sink;
    walk.begin(v);
    sink.begin(v);
    const uint32_t token = gpul__hist_enter(v);
    gpul__hist_leave(v, token);
    walk.run(v, sink);
    sink.finish(v);
}

/* two passes, the first */
template <typename T>
static __global__ void __launch_bounds__(GPUL__HIST_THREADS, 2)
    gpul__hist_sort_tiles(const __grid_constant__ gpul__hist_view v) {
    GPUL_SHARED(uint32_t, shared);
    gpul__hist_walk<T, true, gpul__hist_in_tiles> walk;
    gpul__hist_sink<gpul__hist_in_tiles> sink;
    walk.begin(v);
    sink.begin(v, shared);
    walk.run(v, sink);
    sink.finish(v);
}

/* Two passes, the second. Blocks have equal shares of the entries, as far as a partition's are spread evenly over the
 * tiles: so most blocks count one or two partitions, and add their counters to counts as often. 8 lanes read what a
 * tile has of it; to find it takes as long as 16 units of 8 entries. */
static __global__ void __launch_bounds__(GPUL__HIST_WIDE_THREADS, 1)
    gpul__hist_count_tiles(const __grid_constant__ gpul__hist_view v) {
    GPUL_SHARED(uint32_t, tile);
    enum { kPacks = 4 };
    const uint32_t width = 1u << v.tiles.bits, partitions = uint32_t(v.tiles.partitions);
    uint32_t *const totals = tile + width + 4;
    if (threadIdx.x < partitions) {
        const uint32_t units = v.tiles.totals[threadIdx.x];
        totals[threadIdx.x] = units ? units + 16 * uint32_t(v.tiles.tiles) : 0;
    }
    gpul__hist_clear(tile, width);
    gpul__hist_sink<gpul__hist_in_shared> sink;
    sink.width = width;
    sink.tile.set(tile, 0, width); /* which the entries without a bin have, too */
    __syncthreads();
    uint64_t all = 0, start = 0;
    for (uint32_t p = 0; p < partitions; ++p) all += totals[p];
    const uint64_t begin = all * blockIdx.x / gridDim.x, end = all * (blockIdx.x + 1) / gridDim.x;
    for (uint32_t p = 0; p < partitions && start < end; ++p) {
        const uint64_t size = totals[p], tiles = uint64_t(v.tiles.tiles);
        const uint64_t from = begin > start ? begin - start : 0, to = end - start < size ? end - start : size;
        start += size;
        if (from >= to) continue;
        const int64_t last = int64_t(tiles * to / size);
        const uint32_t *const segments = v.tiles.segments + p * v.tiles.tiles;
        int64_t t = int64_t(tiles * from / size) + threadIdx.x / 8;
        uint32_t next = t < last ? segments[t] : 0;
        for (; t < last; t += blockDim.x / 8) {
            const uint32_t segment = next, units = segment >> 16;
            next = t + blockDim.x / 8 < last ? segments[t + blockDim.x / 8] : 0; /* on its way meanwhile */
            const uint16_t *const entries = v.tiles.entries + t * v.tiles.capacity + (segment & 0xffffu) * 8;
            for (uint32_t i = threadIdx.x % 8; i < units; i += kPacks * 8) {
                gpul__pack<uint32_t, 4> pack[kPacks];
                GPUL__UNROLL
                for (uint32_t u = 0; u < kPacks; ++u)
                    if (i + 8 * u < units)
                        pack[u] = gpul__load<4>(reinterpret_cast<const uint32_t *>(entries + (i + 8 * u) * 8));
                GPUL__UNROLL
                for (uint32_t u = 0; u < kPacks; ++u) {
                    if (i + 8 * u >= units) break;
                    GPUL__UNROLL
                    for (int j = 0; j < 8; ++j) sink.tile.increment((pack[u].v[j / 2] >> (j % 2 * 16)) & 0xffffu, true);
                }
            }
        }
        __syncthreads();
        sink.first = int64_t(p) << v.tiles.bits;
        if (threadIdx.x == 0 && v.rule.bins - sink.first < width) { /* the elements equal to hi */
            const int64_t hi = v.rule.bins - sink.first;
            if (tile[hi]) gpul__hist_add(v, v.rule.bins - 1, tile[hi]);
            tile[hi] = 0;
        }
        __syncthreads();
        gpul__hist_flush(v, sink, tile, width / gpul__hist_chunk);
        __syncthreads();
        gpul__hist_clear(tile, width);
        __syncthreads();
    }
}

/* bytes: 256 values */
static __global__ void __launch_bounds__(GPUL__HIST_WIDE_THREADS, 1)
    gpul__hist_count_bytes(const __grid_constant__ gpul__hist_view v) {
    GPUL_SHARED(uint32_t, tile);
    enum { kPacks = 4 };
    gpul__hist_clear(tile, 256);
    gpul__hist_tile counters;
    counters.set(tile, 0, 256);
    const uint32_t token = gpul__hist_enter(v);
    const uint8_t *x = static_cast<const uint8_t *>(v.x);
    if (v.first_vector < 0) {
        for (int64_t i = gpul__hist_first(v); i < v.n; i += v.stride)
            counters.increment(x[gpul__hist_offset(v, v.strides, i)], true);
    } else {
        const uint8_t *const body = x + v.first_vector;
        const int64_t vectors = (v.n - v.first_vector) / 16, stride = v.stride;
        for (int64_t i = gpul__hist_first(v); i < vectors; i += kPacks * stride) {
            gpul__pack<uint32_t, 4> pack[kPacks];
            GPUL__UNROLL
            for (int u = 0; u < kPacks; ++u)
                if (i + u * stride < vectors)
                    pack[u] = gpul__load<4>(reinterpret_cast<const uint32_t *>(body + (i + u * stride) * 16));
            GPUL__UNROLL
            for (int u = 0; u < kPacks; ++u) {
                if (i + u * stride >= vectors) break;
                GPUL__UNROLL
                for (int j = 0; j < 16; ++j) counters.increment((pack[u].v[j / 4] >> (j % 4 * 8)) & 0xffu, true);
            }
        }
        const int64_t behind = v.first_vector + vectors * 16, ends = v.first_vector + (v.n - behind);
        const int64_t t = blockDim.x - 1 - threadIdx.x;
        if (blockIdx.x == gridDim.x - 1 && t < ends)
            counters.increment(x[t < v.first_vector ? t : behind + (t - v.first_vector)], true);
    }
    gpul__hist_leave(v, token);
    /* Values that are neighbours often share a bin: the first of them in a warp adds for all. */
    for (int32_t value = int32_t(threadIdx.x); value < 256; value += int32_t(blockDim.x)) {
        const double number = double(value);
        const int64_t bin = v.rule.uniform ? gpul__hist_bin(v.rule, number) : gpul__hist_search(v.rule, number);
        const int32_t lane = value % 32;
        const int64_t previous = __shfl_up_sync(0xffffffffu, bin, 1);
        const bool head = lane == 0 || previous != bin;
        const uint32_t after = __ballot_sync(0xffffffffu, head) & (0xfffffffeu << lane);
        const int32_t end = value - lane + (after ? __ffs(int32_t(after)) - 1 : 32);
        if (!head || bin < 0) continue;
        uint64_t sum = 0;
        for (int32_t i = value; i < end; ++i) sum += tile[i];
        if (sum) gpul__hist_add(v, bin, sum);
    }
}

/* ---- weights ---- */

struct gpul__hist_weights {
    const void *w;
    int64_t strides[GPUL_MAX_DIMS];
    gpul_dtype x_dtype, dtype;
    int32_t log2_n; /* 2^log2_n >= n */
    /* floating weights: the bits of the largest finite |w|, and for each bin a signed 128-bit sum and flags */
    unsigned long long *largest, *low, *high;
    uint32_t *flags;
};
enum { gpul__hist_nan = 1, gpul__hist_plus_infinity = 2, gpul__hist_minus_infinity = 4 };

static __device__ __forceinline__ int64_t gpul__hist_bin_any(const gpul__hist_view &v, gpul_dtype dtype, int64_t i) {
    double value;
    if (dtype == GPUL_F32) {
        const float x = static_cast<const float *>(v.x)[i];
        if (v.rule.uniform) return gpul__hist_bin(v.rule, x);
        value = double(x);
    } else if (dtype == GPUL_F64) {
        value = static_cast<const double *>(v.x)[i];
    } else if (dtype == GPUL_I32) {
        value = double(static_cast<const int32_t *>(v.x)[i]);
    } else if (dtype == GPUL_I64) {
        value = double(static_cast<const int64_t *>(v.x)[i]);
    } else {
        value = double(static_cast<const uint8_t *>(v.x)[i]);
    }
    return v.rule.uniform ? gpul__hist_bin(v.rule, value) : gpul__hist_search(v.rule, value);
}

static __global__ void __launch_bounds__(GPUL__HIST_THREADS)
    gpul__hist_weigh_integers(const gpul__hist_view v, const gpul__hist_weights w) {
    GPUL_GRID_STRIDE(i, v.n) {
        const int64_t bin = gpul__hist_bin_any(v, w.x_dtype, gpul__hist_offset(v, v.strides, i));
        if (bin < 0) continue;
        const int64_t at = gpul__hist_offset(v, w.strides, i);
        const int64_t weight =
            w.dtype == GPUL_I32 ? static_cast<const int32_t *>(w.w)[at] : static_cast<const int64_t *>(w.w)[at];
        gpul__hist_add(v, bin, uint64_t(weight));
    }
}

static __device__ __forceinline__ double gpul__hist_weight(const gpul__hist_weights &w, int64_t i) {
    return w.dtype == GPUL_F32 ? double(static_cast<const float *>(w.w)[i]) : static_cast<const double *>(w.w)[i];
}

/* The largest finite |w|. The bits of non-negative doubles are ordered as the doubles are. */
static __global__ void __launch_bounds__(GPUL__HIST_THREADS)
    gpul__hist_largest_weight(const gpul__hist_view v, const gpul__hist_weights w) {
    unsigned long long most = 0;
    GPUL_GRID_STRIDE(i, v.n) {
        const unsigned long long bits =
            gpul__bits<unsigned long long>(gpul__hist_weight(w, gpul__hist_offset(v, w.strides, i))) &
            0x7fffffffffffffffull;
        if (bits < 0x7ff0000000000000ull && bits > most) most = bits;
    }
    for (int d = 16; d > 0; d /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, most, d);
        if (other > most) most = other;
    }
    if (threadIdx.x % 32 == 0 && most) atomicMax(w.largest, most);
}

/* The unit of the fixed point is 2^unit: n weights below 2^e, the power of two above the largest, sum to less than
 * 2^126 units. So a weight is rounded by at most 2^(e + log2_n - 127), far less than 2^-80 max|w| for any n that fits a
 * GPU. */
static __device__ __forceinline__ int gpul__hist_unit(const gpul__hist_weights &w) {
    const unsigned long long bits = *w.largest;
    const int e = bits >> 52 ? int(bits >> 52) - 1022 : 64 - __clzll(static_cast<long long>(bits)) - 1074;
    return e + w.log2_n - 126;
}

static __global__ void __launch_bounds__(GPUL__HIST_THREADS)
    gpul__hist_weigh_floats(const gpul__hist_view v, const gpul__hist_weights w) {
    const int unit = gpul__hist_unit(w);
    GPUL_GRID_STRIDE(i, v.n) {
        const int64_t bin = gpul__hist_bin_any(v, w.x_dtype, gpul__hist_offset(v, v.strides, i));
        if (bin < 0) continue;
        const unsigned long long bits =
            gpul__bits<unsigned long long>(gpul__hist_weight(w, gpul__hist_offset(v, w.strides, i)));
        const int exponent = int((bits >> 52) & 0x7ff);
        const bool negative = (bits >> 63) != 0;
        unsigned long long significand = bits & 0xfffffffffffffull;
        if (exponent == 0x7ff) {
            atomicOr(w.flags + bin, significand ? static_cast<uint32_t>(gpul__hist_nan)
                                    : negative  ? static_cast<uint32_t>(gpul__hist_minus_infinity)
                                                : static_cast<uint32_t>(gpul__hist_plus_infinity));
            continue;
        }
        if (exponent) significand |= 1ull << 52;
        const int shift = (exponent ? exponent : 1) - 1075 - unit;
        unsigned long long low = 0, high = 0;
        if (shift >= 64) high = significand << (shift - 64);
        else if (shift > 0) high = significand >> (64 - shift), low = significand << shift;
        else if (shift == 0) low = significand;
        else if (shift > -55) low = (significand + (1ull << (-shift - 1))) >> -shift;
        if ((low | high) == 0) continue;
        if (negative) {
            low = ~low + 1;
            high = ~high + (low == 0);
        }
        const unsigned long long before = atomicAdd(w.low + bin, low);
        high += before + low < before; /* the carry of this very addition: whatever the order, all carries arrive */
        if (high) atomicAdd(w.high + bin, high);
    }
}

/* counts = (or +=) the sums, rounded once to the nearest double. */
static __global__ void __launch_bounds__(GPUL__HIST_THREADS)
    gpul__hist_finish_floats(const gpul__hist_view v, const gpul__hist_weights w, int32_t accumulate) {
    const int unit = gpul__hist_unit(w);
    GPUL_GRID_STRIDE(bin, v.rule.bins) {
        const uint32_t flags = w.flags[bin];
        unsigned long long low = w.low[bin], high = w.high[bin];
        const bool negative = (high >> 63) != 0;
        if (negative) {
            low = ~low + 1;
            high = ~high + (low == 0);
        }
        const int length =
            high ? 128 - __clzll(static_cast<long long>(high)) : 64 - __clzll(static_cast<long long>(low));
        int drop = length - 53;
        if (drop > 0) {
            const bool upper = drop > 64; /* the highest bit that is dropped: in which half, and what lies below it */
            const int at = upper ? drop - 65 : drop - 1;
            const unsigned long long holder = upper ? high : low;
            const bool half = (holder >> at) & 1;
            const bool below = (holder & ((1ull << at) - 1)) != 0 || (upper && low != 0);
            unsigned long long kept;
            if (drop >= 64) kept = high >> (drop - 64);
            else kept = (low >> drop) | (high << (64 - drop));
            low = kept + (half && (below || (kept & 1)));
        } else {
            drop = 0;
        }
        /* exact: every weight and the unit are multiples of 2^-1074 where this comes near it */
        double sum = scalbn(double(low), low ? drop + unit : 0);
        if (negative) sum = -sum;
        const uint32_t both = gpul__hist_plus_infinity | gpul__hist_minus_infinity;
        if ((flags & gpul__hist_nan) || (flags & both) == both) sum = gpul__bits<double>(0x7ff8000000000000ull);
        else if (flags & gpul__hist_plus_infinity) sum = gpul__bits<double>(0x7ff0000000000000ull);
        else if (flags & gpul__hist_minus_infinity) sum = gpul__bits<double>(0xfff0000000000000ull);
        double *const count = static_cast<double *>(v.counts) + bin * v.counts_stride;
        *count = accumulate ? __dadd_rn(*count, sum) : sum;
    }
}

/* ---- before and after ---- */

/* Host values travel in the arguments of the launch: nothing to wait for, and a captured graph keeps its own copy. */
struct gpul__hist_edge_list {
    double edge[496];
};
static __global__ void gpul__hist_put_edges(double *out, int32_t count, const gpul__hist_edge_list list) {
    const int32_t i = int32_t(threadIdx.x);
    if (i < count) out[i] = list.edge[i];
}

template <typename T> static __global__ void gpul__hist_zero(T *counts, int64_t stride, int64_t bins) {
    GPUL_GRID_STRIDE(i, bins) counts[i * stride] = 0;
}

static inline int64_t gpul__hist_round_up(int64_t bytes) { return (bytes + 15) / 16 * 16; }

/* ---- selection ---- */

/* The largest g = 2^-k of which lo and step, and so all edges without any rounding, are multiples; 0: there is none. */
static inline double gpul__hist_grain(const gpul__histogram_args *args) {
    for (double g = 1; g > 1e-9; g /= 2) {
        const double lo = args->lo / g, step = args->step / g, hi = args->hi / g, most = 4503599627370496.0;
        if (!(lo > -most && lo < most && hi > -most && hi < most && step >= 1)) continue;
        if (double(int64_t(lo)) != lo || double(int64_t(step)) != step) continue;
        return double(args->bins) < most / step && lo + double(args->bins) * step == hi ? g : 0.0;
    }
    return 0;
}

/* See gpul__hist_place. */
static inline void gpul__hist_fill_place(gpul__hist_rule *r, const gpul__histogram_args *args) {
    const double u = 1.0 / 9007199254740992.0, v = 1.0 / 16777216, n = double(args->bins);
    /* never certain */
    r->fraction = 32;
    r->factor = 0;
    r->offset = 1048576;
    r->unsure = 1;
    r->point = 1048576;
    if (!args->uniform || args->bins > (int64_t(1) << 30) - 4) return;
    const double width = args->hi - args->lo, factor = n / width;
    const double reach = (args->lo < 0 ? -args->lo : args->lo) > (args->hi < 0 ? -args->hi : args->hi)
                             ? (args->lo < 0 ? -args->lo : args->lo)
                             : (args->hi < 0 ? -args->hi : args->hi);
    const double far = reach / width;
    double point = 4294967296.0; /* 2^fraction */
    while (n + 2 >= 4503599627370496.0 / point) {
        point /= 2;
        r->fraction -= 1;
    }
    double error = n * u * (8 + 6 * far) + 4 / point + factor * 2.4e-38, index = 0;
    if (args->f32_steps) error += n * v * (6 + 3 * far);
    if (args->f32_edges) index = n * v * (args->f32_steps ? 10 + 5 * far : 2 + 3 * far);
    const bool normal = args->step > (args->f32_edges ? 1.2e-38 : 2.3e-308);
    if (!(error < 0.2 && index < 0.9 && normal && factor < 1e30)) return;
    const double base = 4503599627370496.0 / point;
    r->point = base;
    const double shift = args->x_dtype == GPUL_I32 ? gpul__hist_grain(args) / 2 * factor : 0;
    r->factor = factor;
    if (shift > 2 * error) {
        /* integers, and edges, are multiples of the grain: half of it tells them apart */
        error = 0;
        r->offset = (base - args->lo * factor) + shift;
    } else {
        r->offset = (base - args->lo * factor) + error;
    }
    r->unsure = uint32_t(2 * error * 4294967296.0 + (error > 0 ? 1 : 0));
}

static inline void gpul__hist_fill_rule(gpul__hist_rule *r, const gpul__histogram_args *args) {
    r->lo = args->lo;
    r->hi = args->hi;
    r->step = args->step;
    r->span = args->span;
    r->bins = args->bins;
    r->edges = static_cast<const double *>(args->scratch);
    r->uniform = args->uniform;
    r->f32_steps = args->f32_steps;
    r->lo_f = float(args->lo);
    r->hi_f = float(args->hi);
    r->step_f = float(args->step);
    r->span_f = float(args->span);
    r->estimate = 0;
    r->scale = r->scale_f = 0;
    if (args->uniform) {
        const bool f32 = args->f32_edges != 0;
        const double n = double(args->bins), width = args->hi - args->lo;
        const double low = args->lo < 0 ? -args->lo : args->lo, high = args->hi < 0 ? -args->hi : args->hi;
        const double scale = n / width, reach = low > high ? low : high;
        const double u = f32 ? 1.0 / 16777216 : 1.0 / 9007199254740992.0;
        /* the last terms: rounding of the rest itself, and of subnormal numbers, whose error is absolute */
        const double tolerance = n * u * (6 + 3 * (reach / width)) + 4 * u + scale * (f32 ? 6e-45 : 8e-323);
        /* and a subnormal step has no relative precision at all */
        const bool normal = args->step > (args->f32_steps ? 1.2e-38 : 2.3e-308);
        if (tolerance < 0.45 && normal && scale < (f32 ? 1e38 : 1e308)) {
            r->estimate = 1;
            r->scale = scale;
            r->scale_f = float(scale < 1e38 ? scale : 0.0);
            r->tolerance = tolerance;
            r->tolerance_f = float(tolerance * (1 + 4 * u));
        }
    }
    if (!r->estimate) {
        /* nothing is ever certain: no rest is above 1 */
        r->tolerance = 1;
        r->tolerance_f = 1;
    }
    gpul__hist_fill_place(r, args);
}

typedef void (*gpul__hist_kernel)(const gpul__hist_view);

template <typename T> static inline gpul__hist_kernel gpul__hist_pick(int32_t uniform, int where) {
    if (where == gpul__hist_in_packed) return gpul__hist_count_shared<T, true, gpul__hist_in_packed>;
    if (where == gpul__hist_in_shared)
        return uniform ? gpul__hist_count_shared<T, true, gpul__hist_in_shared>
                       : gpul__hist_count_shared<T, false, gpul__hist_in_shared>;
    return uniform ? gpul__hist_count_global<T, true> : gpul__hist_count_global<T, false>;
}
static inline gpul__hist_kernel gpul__hist_pick_dtype(gpul_dtype dtype, int32_t uniform, int where) {
    if (dtype == GPUL_F32) return gpul__hist_pick<float>(uniform, where);
    if (dtype == GPUL_F64) return gpul__hist_pick<double>(uniform, where);
    if (dtype == GPUL_I32) return gpul__hist_pick<int32_t>(uniform, where);
    return gpul__hist_pick<int64_t>(uniform, where);
}

/* At most `most` blocks, fewer where each would get less than `least` elements, more where one would see 2^31. */
static inline uint32_t gpul__hist_blocks(int64_t n, int64_t most, int64_t least) {
    int64_t blocks = n / least;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;
    const int64_t enough = gpul_ceil_div(n, int64_t(1) << 31);
    if (blocks < enough) blocks = enough;
    return uint32_t(blocks < 2147483647 ? blocks : 2147483647);
}

/* counts = 0, in a launch of its own */
static inline int32_t gpul__hist_launch_zero(const gpul__histogram_args *args) {
    const bool wide = args->counts_dtype == GPUL_I64;
    if (args->counts_stride == 1)
        return int32_t(cudaMemsetAsync(args->counts, 0, size_t(args->bins) * (wide ? 8 : 4), args->stream));
    const gpul_dim3 grid = gpul_grid_1d(args->bins, 256), block = gpul__dim(256);
    if (wide)
        return gpul__launch(gpul__hist_zero<uint64_t>, grid, block, 0, args->stream,
                            static_cast<uint64_t *>(args->counts), args->counts_stride, args->bins);
    return gpul__launch(gpul__hist_zero<uint32_t>, grid, block, 0, args->stream, static_cast<uint32_t *>(args->counts),
                        args->counts_stride, args->bins);
}

/* `most_together`: blocks of which all are sure to find room at a time; `idle`: threads that only wait if the kernel
 * zeroes */
static inline int32_t gpul__hist_launch(const gpul__histogram_args *args, gpul__hist_view *v, gpul__hist_kernel kernel,
                                        gpul_dim3 grid, uint32_t threads, size_t shared, int64_t most_together,
                                        uint32_t idle) {
    v->stride = int64_t(grid.x) * threads;
    if (!args->accumulate) {
#if GPUL__HIST_COOPERATIVE
        if (args->n <= int64_t(1) << 24 && int64_t(grid.x) * grid.y <= most_together) {
            cudaLaunchAttribute attribute;
            memset(&attribute, 0, sizeof attribute);
            attribute.id = cudaLaunchAttributeCooperative;
            attribute.val.cooperative = 1;
            cudaLaunchConfig_t config = cudaLaunchConfig_t();
            config.gridDim = dim3(grid.x, grid.y, 1);
            config.blockDim = dim3(threads, 1, 1);
            config.dynamicSmemBytes = shared;
            config.stream = args->stream;
            config.attrs = &attribute;
            config.numAttrs = 1;
            gpul__hist_view own = *v;
            own.zeroing = 1;
            own.idle = idle;
            own.stride = int64_t(grid.x) * (threads - idle);
            const cudaError_t e = cudaLaunchKernelEx(&config, kernel, own);
            if (e != cudaErrorCooperativeLaunchTooLarge && e != cudaErrorNotSupported) return int32_t(e);
            if (cudaPeekAtLastError() == e) cudaGetLastError(); /* a device shared out, say: the other way */
        }
#else
        (void)most_together, (void)idle;
#endif
        const int32_t status = gpul__hist_launch_zero(args);
        if (status) return status;
    }
    return gpul__launch(kernel, grid, gpul__dim(threads), shared, args->stream, *v);
}

/* counters in the shared memory that every block may have, and that one may ask for: whole chunks and a spare one */
enum { gpul__hist_usual = 49152 / 4 };
static inline int64_t gpul__hist_words(const gpul__histogram_args *args) {
    const int64_t optin = args->shared_optin / 4, most = optin > gpul__hist_usual ? optin : gpul__hist_usual;
    return (most - 4) / gpul__hist_chunk * gpul__hist_chunk;
}

/* Two passes: where bins are more than one part can hold and each would take several additions to global memory. x is
 * taken in slices, whole groups of the first pass's grid, so that its scratch memory is bounded: 2 bytes an element of
 * a slice. */
enum { gpul__hist_slice_bits = 27, gpul__hist_lean_slice_bits = 22 }; /* the latter where memory is short */
struct gpul__hist_two_passes {
    int64_t blocks, slice, entries_bytes, segments_bytes; /* slice: elements; 0: not in two passes */
    gpul__hist_tiles tiles;
};
static inline int64_t gpul__hist_size(gpul_dtype dtype) {
    return dtype == GPUL_U8 ? 1 : dtype == GPUL_F32 || dtype == GPUL_I32 ? 4 : 8;
}
static inline gpul__hist_two_passes gpul__hist_plan(const gpul__histogram_args *args) {
    gpul__hist_two_passes plan;
    memset(&plan, 0, sizeof plan);
    const int64_t words = gpul__hist_words(args), n = args->n;
    if (!args->uniform || args->weights || args->x_dtype == GPUL_U8 || args->ndim != 1 || args->x_strides[0] != 1)
        return plan;
    if (args->lean > 1 || n < int64_t(1) << 23 || n < 8 * args->bins || args->bins + 8 <= 2 * words) return plan;
    int32_t bits = 15;
    while ((int64_t(1) << bits) + 4 + gpul__hist_most_partitions > words) --bits;
    const int64_t partitions = (args->bins >> bits) + 1; /* bin `bins` has the elements equal to hi */
    if (partitions > gpul__hist_most_partitions) return plan;
    const int64_t tile = GPUL__HIST_THREADS * 4 * (16 / gpul__hist_size(args->x_dtype)); /* elements */
    const int64_t most = int64_t(1) << (args->lean ? gpul__hist_lean_slice_bits : gpul__hist_slice_bits);
    gpul__hist_rule rule;
    gpul__hist_fill_place(&rule, args);
    if (!(rule.factor > 0)) return plan; /* nothing is ever certain: that is what takes the time then */
    plan.blocks = int64_t(args->sms) * 2;
    const int64_t group = plan.blocks * tile, groups = (n < most ? n : most) / group;
    plan.slice = group * (groups > 1 ? groups : 1);
    plan.tiles.bits = bits;
    plan.tiles.partitions = int32_t(partitions);
    plan.tiles.capacity = tile + 8 * partitions;
    plan.entries_bytes = plan.slice / tile * plan.tiles.capacity * 2;
    plan.segments_bytes = gpul__hist_round_up(plan.slice / tile * partitions * 4);
    return plan;
}
static inline int64_t gpul__hist_plan_bytes(const gpul__hist_two_passes *plan) {
    return plan->slice ? plan->entries_bytes + plan->segments_bytes + gpul__hist_most_partitions * 4 : 0;
}

static inline int32_t gpul__hist_launch_two_passes(const gpul__histogram_args *args, gpul__hist_view *v,
                                                   const gpul__hist_two_passes *plan, size_t shared) {
    const gpul__hist_kernel sort = args->x_dtype == GPUL_F32   ? gpul__hist_sort_tiles<float>
                                   : args->x_dtype == GPUL_F64 ? gpul__hist_sort_tiles<double>
                                   : args->x_dtype == GPUL_I32 ? gpul__hist_sort_tiles<int32_t>
                                                               : gpul__hist_sort_tiles<int64_t>;
    const int64_t size = gpul__hist_size(args->x_dtype), each = 16 / size; /* elements of a vector */
    char *const scratch = static_cast<char *>(args->scratch);
    v->tiles = plan->tiles;
    v->tiles.entries = reinterpret_cast<uint16_t *>(scratch);
    v->tiles.segments = reinterpret_cast<uint32_t *>(scratch + plan->entries_bytes);
    v->tiles.totals = reinterpret_cast<uint32_t *>(scratch + plan->entries_bytes + plan->segments_bytes);
    v->stride = plan->blocks * GPUL__HIST_THREADS;
    const size_t sorting = size_t(gpul__hist_sink<gpul__hist_in_tiles>::words(plan->tiles.partitions)) * 4 +
                           size_t(plan->tiles.capacity) * 2;
    int32_t status = args->accumulate ? 0 : gpul__hist_launch_zero(args);
    for (int64_t at = 0; !status && at < args->n; at += v->n, v->first_vector = 0) {
        const int64_t left = args->n - at, slice = v->first_vector + plan->slice;
        v->x = static_cast<const char *>(args->x) + at * size;
        v->n = left < slice ? left : slice;
        /* whole groups of all blocks, and of the first blocks: see gpul__hist_walk::whole */
        const int64_t vectors = (v->n - v->first_vector) / each, groups = vectors / (4 * v->stride);
        const int64_t rest = (vectors - (4 * groups + 3) * v->stride) / GPUL__HIST_THREADS;
        v->tiles.tiles = groups * plan->blocks + (rest > 0 ? rest : 0);
        status = int32_t(cudaMemsetAsync(v->tiles.totals, 0, gpul__hist_most_partitions * 4, args->stream));
        if (!status)
            status = gpul__launch(sort, gpul__dim(uint32_t(plan->blocks)), gpul__dim(GPUL__HIST_THREADS), sorting,
                                  args->stream, *v);
        if (!status && v->tiles.tiles > 0)
            status = gpul__launch(gpul__hist_count_tiles, gpul__dim(uint32_t(args->sms)),
                                  gpul__dim(GPUL__HIST_WIDE_THREADS), shared, args->stream, *v);
    }
    return status;
}

static inline int32_t gpul__hist_launch_count(const gpul__histogram_args *args, gpul__hist_view *v) {
    const int64_t bins = args->bins, sms = args->sms;
    if (args->x_dtype == GPUL_U8) {
        const uint32_t blocks = gpul__hist_blocks(args->n, sms, GPUL__HIST_WIDE_THREADS * 8);
        return gpul__hist_launch(args, v, gpul__hist_count_bytes, gpul__dim(blocks), GPUL__HIST_WIDE_THREADS, 1024 + 16,
                                 sms, 32);
    }
    /* Shared memory pays when a block counts more elements than it has counters to clear and to add up; parts, each of
     * which reads x, while that is less than four times what global atomics take for random data. Few elements a bin
     * are counted in two parts even if one would do: half as many blocks then add to each bin, and those additions,
     * some 6e10 sectors of 8 bins a second, are most of the time (9.3 in place of 10.9 us for 10^6 elements in 2^15
     * bins). */
    const int64_t words = gpul__hist_words(args);
    const gpul__hist_two_passes plan = gpul__hist_plan(args);
    const size_t second = (size_t(1) << plan.tiles.bits) * 4 + 16 + gpul__hist_most_partitions * 4;
    if (plan.slice > 0 && gpul__allow_shared(gpul__hist_count_tiles, second) == cudaSuccess)
        return gpul__hist_launch_two_passes(args, v, &plan, second);
    const int64_t few = bins >= 8192 && args->n < bins * 48 ? 2 : 1, needed = gpul_ceil_div(bins, words - 1);
    const bool packed = args->uniform && v->first_vector >= 0 && needed > 1 && few == 1 && bins + 8 <= 2 * words;
    const int64_t parts = packed ? 1 : needed > few ? needed : few, width = gpul_ceil_div(bins, parts);
    if (parts <= 4 && args->n >= bins * (needed == 1 ? 8 : 12)) {
        const gpul__hist_kernel kernel =
            gpul__hist_pick_dtype(args->x_dtype, args->uniform, packed ? gpul__hist_in_packed : gpul__hist_in_shared);
        const int64_t counters = packed ? words : (width / gpul__hist_chunk + 1) * gpul__hist_chunk;
        const size_t shared = size_t(counters) * 4 + 16;
        if (gpul__allow_shared(kernel, shared) == cudaSuccess) {
            v->width = int32_t(packed ? words : width);
            v->packed = packed ? int32_t(gpul_ceil_div(bins + 1 - words, 4) * 4) : 0;
            const int64_t least =
                counters / 2 > GPUL__HIST_WIDE_THREADS * 4 ? counters / 2 : GPUL__HIST_WIDE_THREADS * 4;
            const int64_t most = sms / parts > 1 ? sms / parts : 1;
            const uint32_t blocks = gpul__hist_blocks(args->n, most, least);
            return gpul__hist_launch(args, v, kernel, gpul__dim(blocks, uint32_t(parts)), GPUL__HIST_WIDE_THREADS,
                                     shared, packed ? 0 : sms, 32);
        }
    }
    const uint32_t blocks = gpul__hist_blocks(args->n, sms * 2, GPUL__HIST_THREADS * 4);
    return gpul__hist_launch(args, v, gpul__hist_pick_dtype(args->x_dtype, args->uniform, gpul__hist_in_global),
                             gpul__dim(blocks), GPUL__HIST_THREADS, 0, sms * 2, 0);
}

/* ---- launchers ---- */

/* In scratch: the explicit edges; then, for floating weights, the largest weight and sums and flags of all bins; or the
 * tiles of two passes. */
static inline int64_t gpul__hist_edge_bytes(const gpul__histogram_args *args) {
    return args->uniform ? 0 : gpul__hist_round_up((args->bins + 1) * 8);
}
static inline bool gpul__hist_float_weights(const gpul__histogram_args *args) {
    return args->weights && (args->weights_dtype == GPUL_F32 || args->weights_dtype == GPUL_F64);
}
extern "C" int64_t gpul__histogram_scratch(const gpul__histogram_args *args) {
    int64_t bytes = gpul__hist_edge_bytes(args);
    if (gpul__hist_float_weights(args)) bytes += 16 + args->bins * 20;
    const gpul__hist_two_passes plan = gpul__hist_plan(args);
    return bytes + gpul__hist_plan_bytes(&plan);
}

extern "C" int32_t gpul__histogram_launch(const gpul__histogram_args *args) {
    gpul__hist_view v;
    v.x = args->x;
    v.counts = args->counts;
    v.n = args->n;
    v.counts_stride = args->counts_stride;
    v.ndim = args->ndim;
    v.wide = args->counts_dtype == GPUL_I64;
    v.width = 0;
    v.packed = 0;
    memset(&v.tiles, 0, sizeof v.tiles);
    v.zeroing = 0;
    v.idle = 0;
    v.stride = 0;
    memcpy(v.shape, args->shape, sizeof v.shape);
    memcpy(v.strides, args->x_strides, sizeof v.strides);
    gpul__hist_fill_rule(&v.rule, args);
    v.first_vector = -1;
    if (args->ndim == 1 && args->x_strides[0] == 1) {
        v.first_vector =
            int64_t((16 - reinterpret_cast<uintptr_t>(args->x) % 16) % 16) / gpul__hist_size(args->x_dtype);
        if (v.first_vector > v.n) v.first_vector = v.n;
    }
    char *scratch = static_cast<char *>(args->scratch);
    const bool floats = gpul__hist_float_weights(args);
    int32_t status = 0;

    if (args->n == 0 && !floats) return args->accumulate ? 0 : gpul__hist_launch_zero(args);
    if (args->n == 0 && args->accumulate) return 0;

    if (!args->uniform) {
        gpul__hist_edge_list list;
        const int64_t each = int64_t(sizeof list.edge / sizeof list.edge[0]);
        double *const edges = reinterpret_cast<double *>(scratch);
        for (int64_t at = 0; at <= args->bins; at += each) {
            const int64_t left = args->bins + 1 - at, count = left < each ? left : each;
            memcpy(list.edge, args->edges + at, size_t(count) * sizeof(double));
            if (count < each) memset(list.edge + count, 0, size_t(each - count) * sizeof(double));
            status = gpul__launch(gpul__hist_put_edges, gpul__dim(1), gpul__dim(512), 0, args->stream, edges + at,
                                  int32_t(count), list);
            if (status) return status;
        }
    }
    if (!args->weights) return gpul__hist_launch_count(args, &v);

    gpul__hist_weights w;
    w.w = args->weights;
    memcpy(w.strides, args->w_strides, sizeof w.strides);
    w.x_dtype = args->x_dtype;
    w.dtype = args->weights_dtype;
    w.log2_n = 0;
    while (w.log2_n < 62 && int64_t(1) << w.log2_n < args->n) ++w.log2_n;
    w.largest = w.low = w.high = 0;
    w.flags = 0;
    const gpul_dim3 block = gpul__dim(GPUL__HIST_THREADS);
    const gpul_dim3 grid = gpul__dim(gpul__hist_blocks(args->n, int64_t(args->sms) * 4, GPUL__HIST_THREADS));
    if (!floats) {
        if (!args->accumulate) status = gpul__hist_launch_zero(args);
        if (status) return status;
        return gpul__launch(gpul__hist_weigh_integers, grid, block, 0, args->stream, v, w);
    }

    char *const sums = scratch + gpul__hist_edge_bytes(args);
    w.largest = reinterpret_cast<unsigned long long *>(sums);
    w.low = reinterpret_cast<unsigned long long *>(sums + 16);
    w.high = w.low + args->bins;
    w.flags = reinterpret_cast<uint32_t *>(w.high + args->bins);
    status = int32_t(cudaMemsetAsync(sums, 0, size_t(16 + args->bins * 20), args->stream));
    if (!status && args->n > 0) status = gpul__launch(gpul__hist_largest_weight, grid, block, 0, args->stream, v, w);
    if (!status && args->n > 0) status = gpul__launch(gpul__hist_weigh_floats, grid, block, 0, args->stream, v, w);
    if (!status)
        status = gpul__launch(gpul__hist_finish_floats, gpul_grid_1d(args->bins, GPUL__HIST_THREADS), block, 0,
                              args->stream, v, w, args->accumulate);
    return status;
}

#define GPUL__HISTOGRAM_KERNEL                                                                                         \
    reinterpret_cast<const void *>(&gpul__hist_count_shared<float, true, gpul__hist_in_shared>)

#endif /* GPULITE_NO_HISTOGRAM */
/* ---------------------------------------------------------------------------------------------------------------------
 * Matrix product: C = alpha A B + beta C, C row-major (the host transposes the problem where C is column-major)
 *
 * Idea. A block of threads computes one tile of C. Slices of A and B, kSlice deep along K, pass through registers into
 * two shared buffers, so that a slice is on its way from memory while the one before it is multiplied, and one barrier
 * a slice is enough. In shared memory both lie with K outside: each thread then reads a few aligned vectors of each and
 * multiplies every pair of them, its part of the tile staying in registers. 16-bit types are widened on the way into
 * shared memory.
 *
 * Every element of C is one chain of fused multiply-adds over ascending k, whatever the tile. Where C has few tiles and
 * K is long, K is cut into parts that depend on the shape alone; a second kernel adds their results in order.
 *
 * Assumptions. A and B have a unit stride in one of their two dimensions, C along its rows. Elements beyond the
 * matrices are never read; zeros stand for them, and beyond the end of K on both sides, since 0 times infinity is not
 * 0.
 *
 * Cost. 2 M N K operations; A is read N / (tile width) times and B M / (tile height) times, mostly from L2. The SIMT
 * kernel is bound by the multiply-add units for tiles of 128 and by shared memory for those of 32.
 * ------------------------------------------------------------------------------------------------------------------ */
#ifdef GPULITE_NO_MATMUL

extern "C" int64_t gpul__gemm_plan(gpul__gemm_args *) { return -1; }
extern "C" int32_t gpul__gemm_launch(const gpul__gemm_args *) { return int32_t(cudaErrorNotSupported); }

#else

/* ---- element types: what they are computed in ---- */

template <typename T> struct gpul__gemm_type { typedef float Compute; };
template <> struct gpul__gemm_type<double> { typedef double Compute; };

static __device__ __forceinline__ float gpul__gemm_widen(float x) { return x; }
static __device__ __forceinline__ double gpul__gemm_widen(double x) { return x; }
static __device__ __forceinline__ float gpul__gemm_widen(gpul__f16 x) { return gpul__to_float(x); }
static __device__ __forceinline__ float gpul__gemm_widen(gpul__bf16 x) { return gpul__to_float(x); }
template <typename T> struct gpul__gemm_narrow {
    static __device__ __forceinline__ T from(float x) { return gpul__from_float<T>(x); }
};
template <> struct gpul__gemm_narrow<double> {
    static __device__ __forceinline__ double from(double x) { return x; }
};
static __device__ __forceinline__ float gpul__gemm_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
static __device__ __forceinline__ double gpul__gemm_fma(double a, double b, double c) { return __fma_rn(a, b, c); }

/* N consecutive elements, up to 32 bytes, in accesses of 16 at most */
template <int N, typename T> static __device__ __forceinline__ void gpul__gemm_read(T *to, const T *from) {
    enum { kN = N * sizeof(T) > 16 ? 16 / sizeof(T) : N };
    GPUL__UNROLL
    for (int i = 0; i < N; i += kN) {
        const gpul__pack<T, kN> pack = gpul__load<kN>(from + i);
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) to[i + j] = pack.v[j];
    }
}
template <int N, typename T> static __device__ __forceinline__ void gpul__gemm_write(T *to, const T *from) {
    enum { kN = N * sizeof(T) > 16 ? 16 / sizeof(T) : N };
    GPUL__UNROLL
    for (int i = 0; i < N; i += kN) {
        gpul__pack<T, kN> pack;
        GPUL__UNROLL
        for (int j = 0; j < kN; ++j) pack.v[j] = from[i + j];
        gpul__save<kN>(to + i, pack);
    }
}

/* ---- the problem as the kernels see it ---- */

struct gpul__gemm_problem {
    const void *A, *B;
    void *C, *partials; /* partials: NULL, or splits matrices M x N of the compute type */
    int64_t M, N, K;
    int64_t a_m, a_k, b_n, b_k, c_m; /* strides in elements */
    int64_t part;                    /* of K for one split, a multiple of the slice */
    int64_t tiles_m, tiles_n;
    double alpha, beta;
    int32_t a_vector, b_vector, c_vector; /* groups of four along the unit stride are aligned */
    int32_t scale_only;                   /* alpha = 0 or K = 0: A and B do not matter */
};

template <typename T, typename Compute>
static __device__ __forceinline__ void gpul__gemm_apply(T *c, Compute sum, const gpul__gemm_problem &p) {
    const Compute alpha = Compute(p.alpha), beta = Compute(p.beta);
    Compute value = p.scale_only ? Compute(0) : alpha * sum;
    if (beta != 0) {
        const Compute old = gpul__gemm_widen(*c);
        value = p.scale_only ? beta * old : gpul__gemm_fma(alpha, sum, beta * old);
    }
    *c = gpul__gemm_narrow<T>::from(value);
}

/* ---- one operand's slices: from memory to registers, from registers to shared memory ----
 *
 * The slice covers kTile rows (of A, or columns of B; "outer") and kSlice steps along K. A thread takes groups of four
 * that are consecutive in memory: along K if that is the unit stride, otherwise along the outer dimension. */
template <typename T, int kTile, int kSlice, int kThreads, int kPitch> struct gpul__gemm_operand {
    typedef typename gpul__gemm_type<T>::Compute Compute;
    enum { kGroups = kTile * kSlice / 4 / kThreads };
    static_assert(kGroups * 4 * kThreads == kTile * kSlice, "every thread takes the same number of groups");
    static_assert(kThreads % (kSlice / 4) == 0 && kThreads % (kTile / 4) == 0, "at equal distances");
    T held[kGroups][4];
    const T *next;       /* the thread's first group in the next slice */
    int64_t apart, step; /* elements from one of its groups to the next, and from slice to slice */
    int32_t rows;        /* of the tile, that exist */
    bool along_k, vector;

    __device__ __forceinline__ int outer(int g) const {
        if (along_k) return int(threadIdx.x) / (kSlice / 4) + g * (kThreads / (kSlice / 4));
        return int(threadIdx.x) % (kTile / 4) * 4;
    }
    __device__ __forceinline__ int depth(int g) const {
        if (along_k) return int(threadIdx.x) % (kSlice / 4) * 4;
        return int(threadIdx.x) / (kTile / 4) + g * (kThreads / (kTile / 4));
    }

    __device__ __forceinline__ void begin(const void *data, int64_t first, int64_t extent, int64_t stride_outer,
                                          int64_t stride_k, int64_t k, int32_t aligned) {
        along_k = stride_k == 1;
        vector = aligned != 0;
        step = kSlice * stride_k;
        apart = along_k ? kThreads / (kSlice / 4) * stride_outer : kThreads / (kTile / 4) * stride_k;
        rows = int32_t(extent - first < kTile ? extent - first : kTile);
        next = static_cast<const T *>(data) + (first + outer(0)) * stride_outer + (k + depth(0)) * stride_k;
    }
    /* the slice that begins at `next`, with `left` steps up to the end of K */
    __device__ __forceinline__ void fetch(int left) {
        GPUL__UNROLL
        for (int g = 0; g < kGroups; ++g) {
            const T *const from = next + g * apart;
            const int steps = left - depth(g), there = rows - outer(g);
            const int count = along_k ? (there > 0 ? steps : 0) : (steps > 0 ? there : 0);
            if (vector && count >= 4) {
                gpul__gemm_read<4>(held[g], from);
            } else {
                GPUL__UNROLL
                for (int i = 0; i < 4; ++i) {
                    held[g][i] = T();
                    if (i < count) held[g][i] = from[i];
                }
            }
        }
        next += step;
    }
    __device__ __forceinline__ void put(Compute *shared) const {
        GPUL__UNROLL
        for (int g = 0; g < kGroups; ++g) {
            Compute *const to = shared + depth(g) * kPitch + outer(g);
            Compute wide[4];
            GPUL__UNROLL
            for (int i = 0; i < 4; ++i) wide[i] = gpul__gemm_widen(held[g][i]);
            if (along_k) {
                GPUL__UNROLL
                for (int i = 0; i < 4; ++i) to[i * kPitch] = wide[i];
            } else {
                gpul__gemm_write<4>(to, wide);
            }
        }
    }
};

/* ---- the kernel ----
 *
 * A warp's 8 x 4 lanes hold kRows x kCols elements each, in groups of kRowGroup and kColGroup that lie 8 and 4 groups
 * apart: so the lanes of a warp read consecutive vectors of shared memory. With 64 sums a thread, two blocks are asked
 * to share a multiprocessor: 128 registers then cost a few spills outside the products, one block of eight warps
 * more. */
template <typename T, int kM, int kN, int kRows, int kCols> struct gpul__gemm_shape {
    enum {
        kSlice = 16,
        kThreads = (kM / kRows) * (kN / kCols),
        kPitchA = kM + 4,
        kPitchB = kN + 4,
        kVector = 16 / sizeof(typename gpul__gemm_type<T>::Compute),
        kRowGroup = kRows < int(kVector) ? kRows : int(kVector),
        kColGroup = kCols < int(kVector) ? kCols : int(kVector),
        kWarpM = 8 * kRows,
        kWarpN = 4 * kCols,
        kSharedBytes = 2 * kSlice * (kPitchA + kPitchB) * sizeof(typename gpul__gemm_type<T>::Compute)
    };
    static_assert(kM % kWarpM == 0 && kN % kWarpN == 0, "whole warps");
};

template <typename T, int kM, int kN, int kRows, int kCols>
static __global__ void __launch_bounds__((kM / kRows) * (kN / kCols), kRows == 8 && kCols == 8 ? 2 : 1)
    gpul__gemm_kernel(const gpul__gemm_problem p) {
    typedef gpul__gemm_shape<T, kM, kN, kRows, kCols> S;
    typedef typename gpul__gemm_type<T>::Compute Compute;
    enum { kStage = S::kSlice * (S::kPitchA + S::kPitchB), kBehindA = S::kSlice * S::kPitchA };
    GPUL_SHARED(Compute, shared);

    /* Tiles in columns of eight, so that blocks that run together share rows of B and columns of A in L2. */
    const int64_t band = int64_t(blockIdx.x) / (8 * p.tiles_n), in_band = int64_t(blockIdx.x) - band * 8 * p.tiles_n;
    const int64_t height = p.tiles_m - band * 8 < 8 ? p.tiles_m - band * 8 : 8;
    const int64_t tile_n = in_band / height, tile_m = band * 8 + (in_band - tile_n * height);
    const int64_t first_m = tile_m * kM, first_n = tile_n * kN;
    const int64_t begin = int64_t(blockIdx.z) * p.part;
    int64_t left = (p.K - begin < p.part ? p.K - begin : p.part); /* of K, for this block */
    if (p.scale_only) left = 0;

    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    const int row = warp % (kM / S::kWarpM) * S::kWarpM + lane / 4 * S::kRowGroup;
    const int col = warp / (kM / S::kWarpM) * S::kWarpN + lane % 4 * S::kColGroup;

    Compute sum[kRows][kCols];
    GPUL__UNROLL
    for (int i = 0; i < kRows; ++i) {
        GPUL__UNROLL
        for (int j = 0; j < kCols; ++j) sum[i][j] = 0;
    }

    if (left > 0) {
        gpul__gemm_operand<T, kM, S::kSlice, S::kThreads, S::kPitchA> a;
        gpul__gemm_operand<T, kN, S::kSlice, S::kThreads, S::kPitchB> b;
        a.begin(p.A, first_m, p.M, p.a_m, p.a_k, begin, p.a_vector);
        b.begin(p.B, first_n, p.N, p.b_n, p.b_k, begin, p.b_vector);
        int room = int(left < int(S::kSlice) ? left : int(S::kSlice));
        a.fetch(room);
        b.fetch(room);
        a.put(shared);
        b.put(shared + kBehindA);
        __syncthreads();
        int stage = 0;
        for (;;) {
            left -= S::kSlice;
            if (left > 0) {
                room = int(left < int(S::kSlice) ? left : int(S::kSlice));
                a.fetch(room);
                b.fetch(room);
            }
            const Compute *const from_a = shared + stage * kStage + row;
            const Compute *const from_b = shared + stage * kStage + kBehindA + col;
            GPUL__UNROLL
            for (int k = 0; k < S::kSlice; ++k) {
                Compute x[kRows], y[kCols];
                GPUL__UNROLL
                for (int i = 0; i < kRows; i += S::kRowGroup)
                    gpul__gemm_read<S::kRowGroup>(x + i, from_a + k * S::kPitchA + i * 8);
                GPUL__UNROLL
                for (int j = 0; j < kCols; j += S::kColGroup)
                    gpul__gemm_read<S::kColGroup>(y + j, from_b + k * S::kPitchB + j * 4);
                GPUL__UNROLL
                for (int i = 0; i < kRows; ++i) {
                    GPUL__UNROLL
                    for (int j = 0; j < kCols; ++j) sum[i][j] = gpul__gemm_fma(x[i], y[j], sum[i][j]);
                }
            }
            if (left <= 0) break;
            /* the other buffer was last read before the barrier that ended the previous round */
            stage ^= 1;
            a.put(shared + stage * kStage);
            b.put(shared + stage * kStage + kBehindA);
            __syncthreads(); /* fault: matmul-slice-barrier */
        }
    }

    GPUL__UNROLL
    for (int i = 0; i < kRows; ++i) {
        const int64_t m = first_m + row + (i / S::kRowGroup) * (8 * S::kRowGroup) + i % S::kRowGroup;
        if (m >= p.M) continue;
        GPUL__UNROLL
        for (int j = 0; j < kCols; j += S::kColGroup) {
            const int64_t n = first_n + col + j * 4;
            if (p.partials) {
                Compute *const to = static_cast<Compute *>(p.partials) + (int64_t(blockIdx.z) * p.M + m) * p.N + n;
                GPUL__UNROLL
                for (int g = 0; g < S::kColGroup; ++g)
                    if (n + g < p.N) to[g] = sum[i][j + g];
                continue;
            }
            T *const to = static_cast<T *>(p.C) + m * p.c_m + n;
            if (p.c_vector && n + S::kColGroup <= p.N) {
                T c[S::kColGroup];
                if (p.beta != 0) gpul__gemm_read<S::kColGroup>(c, static_cast<const T *>(to));
                GPUL__UNROLL
                for (int g = 0; g < S::kColGroup; ++g) gpul__gemm_apply(c + g, sum[i][j + g], p);
                gpul__gemm_write<S::kColGroup>(to, static_cast<const T *>(c));
            } else {
                GPUL__UNROLL
                for (int g = 0; g < S::kColGroup; ++g)
                    if (n + g < p.N) gpul__gemm_apply(to + g, sum[i][j + g], p);
            }
        }
    }
}

/* the parts of K, added in order */
template <typename T>
static __global__ void __launch_bounds__(256) gpul__gemm_combine(const gpul__gemm_problem p, int32_t splits) {
    typedef typename gpul__gemm_type<T>::Compute Compute;
    const Compute *const partials = static_cast<const Compute *>(p.partials);
    const int64_t count = p.M * p.N;
    GPUL_GRID_STRIDE(i, count) {
        Compute sum = partials[i];
        for (int32_t s = 1; s < splits; ++s) sum += partials[s * count + i];
        const int64_t m = i / p.N;
        gpul__gemm_apply(static_cast<T *>(p.C) + m * p.c_m + (i - m * p.N), sum, p);
    }
}

/* ---- selection ---- */

/* Parts of K. A pure function of the shape: as many as give some 256 tiles of 64 x 64, none shorter than 512. */
#define GPUL__GEMM_SPLIT_TILES 256
#define GPUL__GEMM_SPLIT_LEAST 512
static inline int64_t gpul__gemm_part(const gpul__gemm_args *args, int64_t *splits) {
    const int64_t tiles = gpul_ceil_div(args->M, 64) * gpul_ceil_div(args->N, 64);
    int64_t parts = 1;
    if (tiles > 0 && tiles <= GPUL__GEMM_SPLIT_TILES / 2 && args->alpha != 0) {
        parts = GPUL__GEMM_SPLIT_TILES / tiles;
        if (parts > args->K / GPUL__GEMM_SPLIT_LEAST) parts = args->K / GPUL__GEMM_SPLIT_LEAST;
    }
    if (parts < 2) {
        *splits = 1;
        return args->K;
    }
    const int64_t part = gpul_ceil_div(gpul_ceil_div(args->K, parts), 64) * 64;
    *splits = gpul_ceil_div(args->K, part);
    return part;
}

extern "C" int64_t gpul__gemm_plan(gpul__gemm_args *args) {
    int64_t splits;
    gpul__gemm_part(args, &splits);
    args->splits = int32_t(splits);
    if (splits == 1) return 0;
    return splits * args->M * args->N * (args->dtype == GPUL_F64 ? 8 : 4);
}

template <typename T, int kM, int kN, int kRows, int kCols>
static inline int32_t gpul__gemm_launch_tile(const gpul__gemm_args *args, gpul__gemm_problem *p) {
    typedef gpul__gemm_shape<T, kM, kN, kRows, kCols> S;
    p->tiles_m = gpul_ceil_div(args->M, kM);
    p->tiles_n = gpul_ceil_div(args->N, kN);
    const int64_t tiles = p->tiles_m * p->tiles_n;
    /* not reachable with a C that exists; as a launch it would fail */
    const uint32_t grid = tiles > 0xffffffffll ? 0xffffffffu : uint32_t(tiles);
    const cudaError_t e = gpul__allow_shared(gpul__gemm_kernel<T, kM, kN, kRows, kCols>, S::kSharedBytes);
    if (e != cudaSuccess) return int32_t(e);
    return gpul__launch(gpul__gemm_kernel<T, kM, kN, kRows, kCols>, gpul__dim(grid, 1, uint32_t(args->splits)),
                        gpul__dim(S::kThreads), S::kSharedBytes, args->stream, *p);
}

/* The SIMT kernel with the largest tile of which there are enough for the device. (The result does not depend on
 * it.) */
template <typename T> static inline int32_t gpul__gemm_simt(const gpul__gemm_args *args, gpul__gemm_problem *p) {
    const int64_t enough = args->sms;
    const int64_t large = gpul_ceil_div(args->M, 128) * gpul_ceil_div(args->N, 128) * args->splits;
    const int64_t medium = gpul_ceil_div(args->M, 64) * gpul_ceil_div(args->N, 64) * args->splits;
    if (large >= enough && args->M > 64 && args->N > 64) return gpul__gemm_launch_tile<T, 128, 128, 8, 8>(args, p);
    if (medium >= enough && args->M > 32 && args->N > 32) return gpul__gemm_launch_tile<T, 64, 64, 4, 4>(args, p);
    return gpul__gemm_launch_tile<T, 32, 32, 4, 2>(args, p);
}
template <> inline int32_t gpul__gemm_simt<double>(const gpul__gemm_args *args, gpul__gemm_problem *p) {
    const int64_t enough = args->sms;
    const int64_t large = gpul_ceil_div(args->M, 128) * gpul_ceil_div(args->N, 64) * args->splits;
    const bool fits = args->shared_optin >= int64_t(gpul__gemm_shape<double, 128, 64, 8, 4>::kSharedBytes);
    if (fits && large >= enough && args->M > 32 && args->N > 32)
        return gpul__gemm_launch_tile<double, 128, 64, 8, 4>(args, p);
    return gpul__gemm_launch_tile<double, 32, 32, 4, 2>(args, p);
}

static inline bool gpul__gemm_aligned(const void *p, int64_t pitch, int64_t element) {
    const int64_t bytes = element * 4 < 16 ? element * 4 : 16; /* a group of four, in accesses of at most 16 bytes */
    return gpul__aligned(p, size_t(bytes)) && pitch * element % bytes == 0;
}

template <typename T> static inline int32_t gpul__gemm_launch_type(const gpul__gemm_args *args) {
    const int64_t element = int64_t(sizeof(T));
    gpul__gemm_problem p;
    int64_t splits;
    p.A = args->A;
    p.B = args->B;
    p.C = args->C;
    p.M = args->M;
    p.N = args->N;
    p.K = args->K;
    p.a_m = args->a_row;
    p.a_k = args->a_col;
    p.b_k = args->b_row;
    p.b_n = args->b_col;
    p.c_m = args->c_row;
    p.part = gpul__gemm_part(args, &splits);
    p.partials = splits > 1 ? args->scratch : 0;
    p.tiles_m = p.tiles_n = 0;
    p.alpha = double(typename gpul__gemm_type<T>::Compute(args->alpha));
    p.beta = double(typename gpul__gemm_type<T>::Compute(args->beta));
    p.a_vector = gpul__gemm_aligned(p.A, p.a_k == 1 ? p.a_m : p.a_k, element);
    p.b_vector = gpul__gemm_aligned(p.B, p.b_k == 1 ? p.b_n : p.b_k, element);
    p.c_vector = gpul__gemm_aligned(p.C, p.c_m, element);
    p.scale_only = args->K == 0 || p.alpha == 0;
    int32_t status = gpul__gemm_simt<T>(args, &p);
    if (!status && splits > 1)
        status = gpul__launch(gpul__gemm_combine<T>, gpul_grid_1d(args->M * args->N, 256), gpul__dim(256), 0,
                              args->stream, p, int32_t(splits));
    return status;
}

extern "C" int32_t gpul__gemm_launch(const gpul__gemm_args *args) {
    if (args->M == 0 || args->N == 0) return 0;
    switch (args->dtype) {
    case GPUL_F32: return gpul__gemm_launch_type<float>(args);
    case GPUL_F64: return gpul__gemm_launch_type<double>(args);
    case GPUL_F16: return gpul__gemm_launch_type<gpul__f16>(args);
    case GPUL_BF16: return gpul__gemm_launch_type<gpul__bf16>(args);
    default: return int32_t(cudaErrorInvalidValue);
    }
}

#define GPUL__MATMUL_KERNEL reinterpret_cast<const void *>(&gpul__gemm_kernel<float, 128, 128, 8, 8>)

#endif /* GPULITE_NO_MATMUL */
/* ---------------------------------------------------------------------------------------------------------------------
 * What was built: for gpul_report, which asks one kernel of each family what code the driver would run.
 * ------------------------------------------------------------------------------------------------------------------ */
extern "C" int32_t gpul__kernel_arch(int32_t family, int32_t *binary, int32_t *ptx) {
    static const void *const kernels[GPUL__FAMILIES] = {
        reinterpret_cast<const void *>(&gpul__elementwise_dense<gpul__op_add<float>, 4>),
        reinterpret_cast<const void *>(&gpul__reduce_rows<gpul__sum<float>, 1, 3>),
#ifndef GPULITE_NO_GEMV
        reinterpret_cast<const void *>(&gpul__reduce_rows<gpul__gemv<float>, 1, 3>),
#else
        0,
#endif
#ifndef GPULITE_NO_HISTOGRAM
        GPUL__HISTOGRAM_KERNEL,
#else
        0,
#endif
#ifndef GPULITE_NO_MATMUL
        GPUL__MATMUL_KERNEL,
#else
        0,
#endif
    };
    *binary = *ptx = 0;
    if (family < 0 || family >= GPUL__FAMILIES || !kernels[family]) return 0;
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernels[family]);
    if (error != cudaSuccess) return int32_t(error);
    *binary = attributes.binaryVersion;
    *ptx = attributes.ptxVersion;
    return 0;
}

#endif /* GPULITE_ENGINES_ONLY */
