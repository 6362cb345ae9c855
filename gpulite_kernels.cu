/* SPDX-License-Identifier: MIT
 *
 * gpulite_kernels.cu - v0.2.0 - the prebuilt kernels of gpulite.h
 *
 *     nvcc -c -arch=native gpulite_kernels.cu        the GPU of this machine
 *     nvcc -c -arch=sm_90a gpulite_kernels.cu        Hopper (H100, H200)
 *     g++ -c -x c++ -ffp-contract=off -Itests/cpu gpulite_kernels.cu         no GPU: the CPU stand-in
 *
 * Add -Xcompiler -fno-exceptions,-fno-threadsafe-statics for an object that a C program links with gcc and -lcudart
 * alone. Leave families out with -DGPULITE_NO_ELEMENTWISE, -DGPULITE_NO_REDUCE, -DGPULITE_NO_GEMV,
 * -DGPULITE_NO_HISTOGRAM, -DGPULITE_NO_MATMUL; -DGPULITE_NO_HOPPER leaves out the matrix product's kernels for Hopper's
 * tensor cores, which only an object for sm_90a has.
 *
 *     section       operations                                           dtypes
 *     1 elementwise binary, unary, scale, clip, where, convert, arange,  all; square roots, exp and the like: floats
 *                   linspace, vecadd, vecmul, copy, fill
 *     2 reductions  sum, prod, min, max, abs-sum, sum-sq, mean, var,     f32 f64 i32 i64 u8; sum, mean, min, max:
 *                   argmin, argmax, count-nonzero, dot                   f16 bf16; dot: f32 f64 only
 *     3 gemv        gemv                                                 f32 f64
 *     4 histogram   uniform bins, edges, weights                         f32 f64 i32 i64 u8
 *     5 matmul      matmul, gemm, gemm_ex                                f32 f64 f16 bf16
 *
 * First come two engines: templates that move the data of an elementwise operation or of a reduction. Sections 1 to 3
 * are instances of them; sections 4 and 5 have kernels of their own. For operations of your own, include the engines
 * alone in a .cu file:
 *
 *     #define GPULITE_ENGINES_ONLY        // leave it out, and this file carries the prebuilt operations too
 *     #include "gpulite_kernels.cu"
 *     GPUL_REDUCE(sum_abs, float, double, 0, fabsf(x), a + b, a, float, x)
 *
 *     nvcc -arch=native -o app app.c my_ops.cu gpulite_kernels.cu
 *
 * Everything here is static but a handful of gpul__ functions at the end of each section, which the host side in
 * gpulite.h calls: it has checked the arguments by then, and turns what they return (a cudaError_t) into an error.
 */
#include <cuda_runtime.h>

/* On the CPU stand-in g++ chooses what to inline in the prebuilt operations, which takes it two thirds of the time.
 * Operations of a program's own are not left to it: at -O2, g++ 12 breaks down on some. */
#if defined(GPULITE_CPU_STANDIN) && !defined(GPULITE_ENGINES_ONLY)
#undef __forceinline__
#define __forceinline__ inline
#endif

/* The matrix product's path for Hopper takes types from cuda.h. The one function of the driver that it calls, to make a
 * tensor map, is found by the runtime. */
#if !defined(GPULITE_CPU_STANDIN) && !defined(GPULITE_NO_HOPPER) && !defined(GPULITE_NO_MATMUL) &&                     \
    !defined(GPULITE_ENGINES_ONLY) && CUDART_VERSION >= 12010
#define GPUL__HOPPER
#include <cuda.h>
#endif

/* The histogram writes its edges with stores that bypass the host's caches. */
#if !defined(GPULITE_NO_HISTOGRAM) && !defined(GPULITE_ENGINES_ONLY) && (defined(__SSE2__) || defined(_M_X64))
#define GPUL__STREAMING
#include <emmintrin.h>
#endif

#define GPULITE__KERNELS
#include "gpulite.h"
#if GPUL_VERSION_MAJOR != 0 || GPUL_VERSION_MINOR != 2 || GPUL_VERSION_PATCH != 0
#error "gpulite_kernels.cu 0.2.0 needs gpulite.h 0.2.0, and found another version of it"
#endif

/* Not every program uses every function of this file. */
#ifdef __NVCC__
#pragma nv_diagnostic push
#pragma nv_diag_suppress 177
#endif
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang diagnostic ignored "-Wunused-const-variable"
#pragma clang diagnostic ignored "-Wunneeded-internal-declaration"
#endif

#ifndef GPULITE__ENGINES
#define GPULITE__ENGINES

#include <atomic>
#include <string.h>
#include <type_traits>

namespace { /* nothing here is for the linker, member functions of templates included */

#ifndef __CUDA_ARCH__ /* a C++ compiler warns of what it does not know */
#define GPUL__UNROLL_FOR for
#define GPUL__UNROLL_NOT
#define GPUL__UNROLL_BY(n)
#else
#define GPUL__UNROLL_FOR _Pragma("unroll") for
#define GPUL__UNROLL_NOT _Pragma("unroll 1")
#define GPUL__UNROLL_BY(n) GPUL__PRAGMA(unroll(n))
#define GPUL__PRAGMA(x) _Pragma(#x)
#endif

/* Programmatic dependent launch (compute capability 9.0). A kernel may be launched before its predecessor in the stream
 * has ended, if each of its threads calls gpul__await before it touches memory: there it waits until the predecessor is
 * done and its writes are visible. This hides the cost of a launch. */
static __device__ __forceinline__ void gpul__await() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#elif defined(GPULITE_CPU_STANDIN)
    standin_dependency_wait();
#endif
}

/* Lets the stream's next kernel launch now; it waits in gpul__await for this one's end. */
static __device__ __forceinline__ void gpul__let_next() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#ifdef GPULITE_CPU_STANDIN
static inline int32_t gpul__early(int32_t *early, const void *, int32_t) {
    *early = 1;
    return 0;
}
#else
/* May this file's kernels be launched early? Their PTX must be of version 9.0 (it holds gpul__await's instruction then,
 * whatever the device is), and the driver of CUDA 12.3, from which on graphs know such launches. The answer is the same
 * for all kernels of the file, and is cached by device. */
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

static inline gpul_dim3 gpul__dim(uint32_t x, uint32_t y = 1, uint32_t z = 1) { return {x, y, z}; }

/* The last answers of the host, by what they depend on, which is never all zeros. A key that comes to another one's
 * slot takes it. */
template <typename Key, typename Value, int kSlots> struct gpul__kept {
    struct slot {
        Key key;
        Value value;
        bool is_new; /* the value is not there yet */
    } slots[kSlots];
    slot &slot_of(const Key &key) {
        static_assert(sizeof(Key) % 8 == 0 && (kSlots & (kSlots - 1)) == 0, "whole words; a power of two");
        uint64_t words[sizeof(Key) / 8], hash = 0;
        memcpy(words, &key, sizeof key);
        for (size_t i = 0; i < sizeof(Key) / 8; ++i) hash += words[i] * (0x9e3779b97f4a7c15u * (2 * i + 1));
        slot &here = slots[(hash >> 32) % kSlots];
        here.is_new = memcmp(&here.key, &key, sizeof key) != 0; /* fault: matmul-kept-choice */
        if (here.is_new) here.key = key;
        return here;
    }
};

/* Dynamic shared memory of a block. More than 48 KB need permission, which belongs to the kernel on a device and not to a
 * launch. `most` is what any launch of that kernel takes there: with less, a launch would take the permission from that
 * of another thread. */
struct gpul__dynamic_shared {
    size_t bytes, most;
    gpul__dynamic_shared(size_t always) : bytes(always), most(always) {}
    gpul__dynamic_shared(int64_t bytes_, int64_t most_) : bytes(size_t(bytes_)), most(size_t(most_)) {}
};

/* Asks for that permission, which takes a sixth of a launch's time: so each thread keeps what it has asked for. */
struct gpul__permission {
    const void *kernel;
    int64_t device, most;
};
static inline int32_t gpul__permit(const void *kernel, int32_t device, size_t bytes) {
    static thread_local gpul__kept<gpul__permission, bool, 16> kept;
    const gpul__permission permission = {kernel, device, int64_t(bytes)};
    auto &slot = kept.slot_of(permission);
    if (!slot.is_new) return 0;
    const cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (e != cudaSuccess && cudaPeekAtLastError() == e) cudaGetLastError();
    if (e != cudaSuccess) slot.key.kernel = 0; /* fault: launch-not-permitted */
    return int32_t(e);
}

/* Launches a kernel on the current device, early or not, in clusters of `cluster` blocks (0: no clusters). `device` is
 * its number, or any where no permission is needed. `arguments` says where they lie, each of its parameter's type.
 * Errors come back as the launch's own return value, so that neither a stale error is blamed on it nor its own error
 * left behind for somebody else. */
static inline __noinline__ int32_t gpul__launch_as(int32_t device, int32_t early, int32_t cluster, const void *kernel,
                                                   gpul_dim3 grid, gpul_dim3 block, gpul__dynamic_shared shared,
                                                   gpul_stream stream, const void *const *arguments) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return 0;
    if (shared.bytes > 49152) {
        const int32_t error = gpul__permit(kernel, device, shared.most); /* fault: launch-permission */
        if (error) return error;
    }
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = cudaLaunchConfig_t();
    config.gridDim = dim3(grid.x, grid.y, grid.z);
    config.blockDim = dim3(block.x, block.y, block.z);
    config.dynamicSmemBytes = shared.bytes;
    config.stream = stream; /* fault: wrong-stream */
    config.attrs = attributes;
    if (early) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 0) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs].val.clusterDim.x = uint32_t(cluster);
        attributes[config.numAttrs].val.clusterDim.y = attributes[config.numAttrs].val.clusterDim.z = 1;
        ++config.numAttrs;
    }
    return int32_t(cudaLaunchKernelExC(&config, kernel, const_cast<void **>(arguments)));
}
#if !defined(GPULITE_CPU_STANDIN) && CUDART_VERSION >= 12010
/* How many clusters of so many blocks of a kernel run at a time */
static inline int32_t gpul__clusters_at_once(int32_t *clusters, int32_t cluster, const void *kernel, int32_t threads,
                                             int32_t shared_bytes) {
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = cudaLaunchConfig_t();
    cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    config.gridDim = dim3(uint32_t(cluster), 1, 1);
    config.blockDim = dim3(uint32_t(threads), 1, 1);
    config.dynamicSmemBytes = size_t(shared_bytes);
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = uint32_t(cluster);
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    if (e == cudaSuccess) e = cudaOccupancyMaxActiveClusters(clusters, kernel, &config);
    if (e != cudaSuccess && cudaPeekAtLastError() == e) cudaGetLastError();
    if (e != cudaErrorInvalidClusterSize) return int32_t(e);
    *clusters = 0; /* a part of a GPU has no room for one */
    return 0;
}
#endif
/* A parameter whose type is the kernel's, so that its argument is passed from where it lies */
template <typename T> struct gpul__same { typedef T type; };
template <typename... Params>
static inline int32_t gpul__launch(void (*kernel)(Params...), gpul_dim3 grid, gpul_dim3 block, gpul_stream stream,
                                   const typename gpul__same<Params>::type &...args) {
    const void *const arguments[] = {&args...};
    return gpul__launch_as(0, 0, 0, gpul__address(kernel), grid, block, size_t(0), stream, arguments);
}

/* The same of a kernel that calls gpul__await: early where possible. */
template <typename... Params>
static inline int32_t gpul__launch_clusters(int32_t device, int32_t cluster, void (*kernel)(Params...), gpul_dim3 grid,
                                            gpul_dim3 block, gpul__dynamic_shared shared, gpul_stream stream,
                                            const typename gpul__same<Params>::type &...args) {
    const void *const arguments[] = {&args...}, *const address = gpul__address(kernel);
    int32_t early = 0;
    const int32_t error = gpul__early(&early, address, device);
    return error ? error : gpul__launch_as(device, early, cluster, address, grid, block, shared, stream, arguments);
}
template <typename... Params>
static inline int32_t gpul__launch_early(int32_t device, void (*kernel)(Params...), gpul_dim3 grid, gpul_dim3 block,
                                         gpul__dynamic_shared shared, gpul_stream stream,
                                         const typename gpul__same<Params>::type &...args) {
    return gpul__launch_clusters(device, 0, kernel, grid, block, shared, stream, args...);
}

#if !defined(GPULITE_CPU_STANDIN) && CUDART_VERSION >= 12010
/* A function of the driver, found by the runtime, as CUDA 12.0 has it, which `known` keeps; NULL: there is none. */
static inline cudaError_t gpul__find_driver(const char *symbol, std::atomic<void *> *known, void **found) {
    *found = known->load(std::memory_order_relaxed);
    if (*found) return cudaSuccess;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    const cudaError_t e = cudaGetDriverEntryPointByVersion(symbol, found, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t e = cudaGetDriverEntryPoint(symbol, found, cudaEnableDefault, &result);
#endif
    if (e != cudaSuccess || result != cudaDriverEntryPointSuccess) *found = NULL;
    known->store(*found, std::memory_order_relaxed);
    return e;
}
#endif

/* ---- element types ---- */

struct gpul__none {}; /* the type of an input that an operation does not have */
/* A double or an integer as a float that rounds to 16 bits as the number itself does */
template <typename V> static __device__ __forceinline__ float gpul__to_round(V value);
template <typename V>
using gpul__if_number = typename std::enable_if<std::is_arithmetic<V>::value && sizeof(V) <= 8>::type;
struct gpul_f16 {
    uint16_t bits;
    gpul_f16() = default;
    __device__ __forceinline__ explicit gpul_f16(float value);
    template <typename V, typename = gpul__if_number<V>>
    __device__ __forceinline__ explicit gpul_f16(V value) : gpul_f16(gpul__to_round(value)) {}
    __device__ __forceinline__ operator float() const; /* so that expressions take it for a float */
};
struct gpul_bf16 {
    uint16_t bits;
    gpul_bf16() = default;
    __device__ __forceinline__ explicit gpul_bf16(float value);
    template <typename V, typename = gpul__if_number<V>>
    __device__ __forceinline__ explicit gpul_bf16(V value) : gpul_bf16(gpul__to_round(value)) {}
    __device__ __forceinline__ operator float() const;
};

template <typename T> struct gpul__dtype_of {
    static constexpr int value = 0;
    static_assert(sizeof(T) == 0,
                  "gpulite's elements are float, double, int32_t, int64_t, uint8_t, gpul_f16, gpul_bf16");
};
template <> struct gpul__dtype_of<float> : std::integral_constant<int, GPUL_F32> {};
template <> struct gpul__dtype_of<double> : std::integral_constant<int, GPUL_F64> {};
template <> struct gpul__dtype_of<int32_t> : std::integral_constant<int, GPUL_I32> {};
template <> struct gpul__dtype_of<int64_t> : std::integral_constant<int, GPUL_I64> {};
template <> struct gpul__dtype_of<uint8_t> : std::integral_constant<int, GPUL_U8> {};
template <> struct gpul__dtype_of<gpul_f16> : std::integral_constant<int, GPUL_F16> {};
template <> struct gpul__dtype_of<gpul_bf16> : std::integral_constant<int, GPUL_BF16> {};
template <> struct gpul__dtype_of<gpul__none> : std::integral_constant<int, 0> {};

/* Bytes of an element; 0: no dtype. Hexadecimal digit number dtype holds them. */
static __device__ __host__ __forceinline__ int32_t gpul__bytes_of(gpul_dtype dtype) {
    return 0x22184840 >> 4 * dtype & 15;
}

template <typename T> static __device__ __host__ __forceinline__ bool gpul__has() {
    return gpul__dtype_of<T>::value != 0;
}

/* Up to three values: one of each output of an operation, or one of each input. */
template <typename T, typename U, typename V> struct gpul__several {
    T x;
    U y;
    V z;
};

static constexpr int gpul__greater(int a, int b) { return a > b ? a : b; }
template <typename T> struct gpul__size_of { static constexpr int value = sizeof(T), bytes = sizeof(T); };
template <> struct gpul__size_of<gpul__none> { static constexpr int value = 1, bytes = 0; };
template <typename T, typename U, typename V> struct gpul__size_of<gpul__several<T, U, V>> { /* of the largest */
    static constexpr int bytes = gpul__greater(gpul__greater(gpul__size_of<T>::value, gpul__size_of<U>::value),
                                               gpul__size_of<V>::value),
                         value = bytes;
};
/* Reinterpretation by memcpy: register moves in device code, and defined behaviour in C++. */
template <typename To, typename From> static __device__ __host__ __forceinline__ To gpul__bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "sizes differ");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

static __device__ __host__ __forceinline__ float gpul__to_float(float x) { return x; } /* C of tensor kernels */
static __device__ __host__ __forceinline__ float gpul__to_float(gpul_bf16 x) {
    return gpul__bits<float>(uint32_t(x.bits) << 16);
}
static __device__ __host__ __forceinline__ float gpul__to_float(gpul_f16 x) {
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
template <> __device__ __forceinline__ gpul_bf16 gpul__from_float<gpul_bf16>(float f) {
    gpul_bf16 h;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
#else
    const uint32_t bits = gpul__bits<uint32_t>(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) h.bits = 0x7fff; /* one NaN, the one that the hardware gives */
    else h.bits = uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
    return h;
}
template <> __device__ __forceinline__ gpul_f16 gpul__from_float<gpul_f16>(float f) {
    gpul_f16 h;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
#else
    const uint32_t bits = gpul__bits<uint32_t>(f), magnitude = bits & 0x7fffffffu;
    const uint32_t sign = (bits >> 16) & 0x8000u;
    if (magnitude > 0x7f800000u) h.bits = 0x7fff;
    else if (magnitude >= 0x477ff000u) h.bits = uint16_t(sign | 0x7c00u); /* 65520 and above round to infinity */
    else if (magnitude < 0x38800000u) {
        /* below 2^-14 the spacing is 2^-24, that of floats from 0.5 on: adding 0.5 rounds */
        const uint32_t rounded = gpul__bits<uint32_t>(gpul__bits<float>(magnitude) + 0.5f);
        h.bits = uint16_t(sign | (rounded - 0x3f000000u));
    } else {
        h.bits = uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
    }
#endif
    return h;
}

__device__ __forceinline__ gpul_f16::gpul_f16(float value) { *this = gpul__from_float<gpul_f16>(value); }
__device__ __forceinline__ gpul_bf16::gpul_bf16(float value) { *this = gpul__from_float<gpul_bf16>(value); }
__device__ __forceinline__ gpul_f16::operator float() const { return gpul__to_float(*this); }
__device__ __forceinline__ gpul_bf16::operator float() const { return gpul__to_float(*this); }

/* double to float, so that rounding the float to 16 bits gives what rounding the double would: the float itself where
 * it is exact, else the neighbour with an odd last bit (Boldo and Melquiond, Emulation of FMA and correctly rounded
 * sums, 2008). */
static __device__ __forceinline__ float gpul__round_to_odd(double d) {
    const float f = float(d);
    const double back = double(f);
    if (back == d || back != back) return f;
    uint32_t bits = gpul__bits<uint32_t>(f);
    const double magnitude = d < 0 ? -d : d, rounded = back < 0 ? -back : back;
    if (rounded > magnitude) bits -= 1; /* towards zero; from infinity to the largest float */
    return gpul__bits<float>(bits | 1u);
}

/* x without its `lost` low bits, so that rounding it gives what rounding x would: they are or-ed into the last bit that
 * is kept ("jamming"). */
static __device__ __host__ __forceinline__ int64_t gpul__jam(int64_t x, int lost) {
    const int64_t mask = (int64_t(1) << lost) - 1;
    return (x & ~mask) | (int64_t((x & mask) != 0) << lost); /* fault: ufunc-jam */
}
/* Below 2^23, float is exact, and below 2^52, double. */
template <typename V> static __device__ __forceinline__ float gpul__to_round(V value) {
    constexpr bool kSigned = std::is_signed<V>::value;
    if (!std::is_integral<V>::value) return gpul__round_to_odd(double(value)); /* fault: own-rounding */
    if (sizeof(V) < 4 || (sizeof(V) == 4 && kSigned)) {
        const int32_t x = int32_t(value);
        return float(x >= 1 << 23 || x < -(1 << 23) ? int32_t(gpul__jam(x, 8)) : x);
    }
    const bool half = !kSigned && sizeof(V) == 8 && uint64_t(value) >> 63 != 0; /* beyond int64_t */
    const int64_t x = half ? int64_t(uint64_t(value) >> 1 | (uint64_t(value) & 1)) : int64_t(value);
    const double d = double(x >> 52 != 0 && x >> 52 != -1 ? gpul__jam(x, 11) : x);
    return gpul__round_to_odd(half ? 2 * d : d);
}

template <typename V> static __device__ __forceinline__ bool gpul__is_nan(V v) { return v != v; }
/* Reductions and products write every NaN as this one: CPUs and GPUs make different ones. */
template <typename T> static __device__ __forceinline__ T gpul__quiet_nan();
template <> __device__ __forceinline__ double gpul__quiet_nan<double>() {
    return gpul__bits<double>(uint64_t(0x7ff8000000000000));
}
template <> __device__ __forceinline__ float gpul__quiet_nan<float>() { return gpul__bits<float>(0x7fc00000u); }
template <> __device__ __forceinline__ gpul_f16 gpul__quiet_nan<gpul_f16>() {
    return gpul__bits<gpul_f16>(uint16_t(0x7e00));
}
template <> __device__ __forceinline__ gpul_bf16 gpul__quiet_nan<gpul_bf16>() {
    return gpul__bits<gpul_bf16>(uint16_t(0x7fc0));
}
static __device__ __noinline__ void gpul__store_real(void *out, int64_t i, gpul_dtype dtype, double value) {
    const bool nan = gpul__is_nan(value);
    if (dtype == GPUL_F64) static_cast<double *>(out)[i] = nan ? gpul__quiet_nan<double>() : value;
    else if (dtype == GPUL_F32) static_cast<float *>(out)[i] = nan ? gpul__quiet_nan<float>() : float(value);
    else if (dtype == GPUL_I64) static_cast<int64_t *>(out)[i] = int64_t(value); /* counts */
    else if (dtype == GPUL_F16)
        static_cast<gpul_f16 *>(out)[i] =
            nan ? gpul__quiet_nan<gpul_f16>() : gpul__from_float<gpul_f16>(gpul__round_to_odd(value));
    else
        static_cast<gpul_bf16 *>(out)[i] =
            nan ? gpul__quiet_nan<gpul_bf16>() : gpul__from_float<gpul_bf16>(gpul__round_to_odd(value));
}
static __device__ __noinline__ void gpul__store_int(void *out, int64_t i, gpul_dtype dtype, int64_t value) {
    if (dtype == GPUL_I64) static_cast<int64_t *>(out)[i] = value;
    else if (dtype == GPUL_I32) static_cast<int32_t *>(out)[i] = int32_t(value);
    else static_cast<uint8_t *>(out)[i] = uint8_t(value);
}
template <typename T>
static __device__ __forceinline__ void gpul__store(void *out, int64_t i, gpul_dtype dtype, T value) {
    if (std::is_integral<T>::value) gpul__store_int(out, i, dtype, int64_t(value));
    else gpul__store_real(out, i, dtype, double(value));
}
static __device__ __forceinline__ void gpul__store(void *out, int64_t i, gpul_dtype, gpul_f16 value) {
    static_cast<gpul_f16 *>(out)[i] = value;
}
static __device__ __forceinline__ void gpul__store(void *out, int64_t i, gpul_dtype, gpul_bf16 value) {
    static_cast<gpul_bf16 *>(out)[i] = value;
}

/* ---- memory access ---- */

template <int kBytes> struct gpul__word;
template <> struct gpul__word<1> { typedef uint8_t type; };
template <> struct gpul__word<2> { typedef uint16_t type; };
template <> struct gpul__word<4> { typedef uint32_t type; };
template <> struct gpul__word<8> { typedef uint2 type; };
template <> struct gpul__word<16> { typedef uint4 type; };

/* N elements that one aligned access of N * sizeof(T) bytes moves: a power of two, at most 16. */
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

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GPUL__COPIES_ASYNC
#endif
#ifndef GPULITE_CPU_STANDIN
static __device__ __forceinline__ uint32_t gpul__shared_address(const void *p) {
    return uint32_t(__cvta_generic_to_shared(p));
}
#endif
/* Copies to shared memory that are complete when they are waited for: kCount elements, 4, 8 or 16 bytes in all, of which
 * the first `exist` do; zeros stand for the others. kCache: 16 bytes pass through the first cache, as 4 and 8 always do;
 * where what a warp reads straddles lines, they should. Where there is no cp.async (below compute capability 8.0, on the
 * stand-in), the thread copies at once. */
template <int kCount, bool kCache = false, typename T>
static __device__ __forceinline__ void gpul__copy_to_shared(T *shared, const T *from, int exist) {
#ifdef GPUL__COPIES_ASYNC
    enum { kBytes = kCount * sizeof(T) };
    const uint32_t to = gpul__shared_address(shared);
    const int bytes = exist * int(sizeof(T)); /* to read */
    if (kBytes == 16 && !kCache)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kCount * sizeof(T)),
                     "r"(bytes)
                     : "memory");
#else
    gpul__pack<T, kCount> pack = {};
    if (exist == kCount) pack = gpul__load<kCount>(from);
    else
        GPUL__UNROLL_FOR (int i = 0; i < kCount; ++i)
            if (i < exist) pack.v[i] = from[i];
    gpul__save<kCount>(shared, pack);
#endif
}
/* Ends a group of copies; and waits for all groups but the last kPending. */
static __device__ __forceinline__ void gpul__commit_copies() {
#ifdef GPUL__COPIES_ASYNC
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int kPending> static __device__ __forceinline__ void gpul__wait_for_copies() {
#ifdef GPUL__COPIES_ASYNC
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

/* Expected to be false: the compiler places what depends on it behind the rest of the kernel. */
static __device__ __forceinline__ bool gpul__rarely(bool condition) {
#if defined(__CUDA_ARCH__)
    return __builtin_expect(condition, 0);
#else
    return condition;
#endif
}

/* Keeps the loads above it above everything below it. Left alone, the compiler delays some of a batch of loads until
 * others are used, to save registers, and fewer are in flight. It is a loop that never runs: `zero` is 0, which the
 * compiler does not know. */
static __device__ __forceinline__ void gpul__schedule_fence(int32_t zero) {
#ifdef __CUDA_ARCH__
    GPUL__UNROLL_NOT
    for (int32_t i = 0; i < zero; ++i) asm volatile("nanosleep.u32 0;" ::: "memory");
#else
    (void)zero;
#endif
}

template <typename T, int n> static __device__ __forceinline__ void gpul__fill(T (&array)[n], const T &value) {
    GPUL__UNROLL_FOR (int j = 0; j < n; ++j) array[j] = value;
}
/* Moves the elements from number kBy on to the front, as std::shift_left does. A loop that always takes the first
 * element and then shifts keeps the array in registers, which have no index, and its code is there once. */
template <int kBy, typename T, int n> static __device__ __forceinline__ void gpul__shift_left(T (&array)[n]) {
    GPUL__UNROLL_FOR (int j = 0; j + kBy < n; ++j) array[j] = array[j + kBy];
}

static inline int64_t gpul__round_up(int64_t n, int64_t of) { return (n + of - 1) / of * of; }
/* Shared memory that a block may have, in bytes: what it must ask for, or 48 KB, which it need not */
static inline int64_t gpul__shared_of(const gpul__machine *machine) {
    return machine->shared_optin > 49152 ? machine->shared_optin : 49152;
}
static inline bool gpul__aligned(const void *p, size_t bytes) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; }

/* Quotient and remainder (*rest) of an index below 2^53, from the rounded 1 / size. A 64-bit division is a subroutine
 * on a GPU, and its call costs registers. */
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

/* The power of two, as its logarithm, that is n or more; at most 2^most */
static inline int32_t gpul__log2_above(int64_t n, int32_t most) {
    int32_t log2 = 0;
    while (log2 < most && int64_t(1) << log2 < n) ++log2;
    return log2;
}
/* Division by a multiplication, gpul__divided: i / s = i m / 2^(63 + l) for i < 2^63, with m = 2^(63 + l) / s rounded
 * up and l bits in s - 1. s is 2 or more, as it is in merged dimensions. For i < 2^31, 32 bits of m are enough. */
static inline void gpul__divide_by(uint64_t *reciprocal, int32_t *shift, int64_t s, int64_t n) {
    const uint64_t divisor = uint64_t(s);
    int32_t bits = 1;
    while ((int64_t(1) << bits) < s) ++bits;
    *shift = bits - 1; /* fault: divided-too-far */
    if (n < int64_t(1) << 31) {
        *reciprocal = ((uint64_t(1) << (31 + bits)) + divisor - 1) / divisor << 32;
        return;
    }
    uint64_t quotient = 1, rest = (uint64_t(1) << bits) - divisor;
    for (int32_t k = 0; k < 63; ++k) { /* 2^(63 + l) / s, a bit at a time */
        const bool one = rest * 2 >= divisor;
        quotient = quotient * 2 + one;
        rest = rest * 2 - (one ? divisor : 0);
    }
    *reciprocal = quotient + (rest > 0);
}
static __device__ __forceinline__ int64_t gpul__divided(int64_t i, uint64_t reciprocal, int32_t shift) {
    return int64_t(__umul64hi(uint64_t(i), reciprocal) >> shift);
}
/* The same for an index below 2^31: i / s = i * multiplier >> shift (Granlund and Montgomery, Division by invariant
 * integers using multiplication, 1994). A division by a number that the compiler does not know is 25 instructions that
 * wait for each other, which short kernels feel. */
struct gpul__division {
    uint32_t multiplier, shift;
};
static inline gpul__division gpul__division_by(int64_t s) { /* 0, of what is empty, counts as 1 */
    const uint64_t divisor = s > 0 ? uint64_t(s) : 1;
    const uint32_t bits = uint32_t(gpul__log2_above(s, 31));
    return {uint32_t(((uint64_t(1) << (31 + bits)) + divisor - 1) / divisor), 31 + bits};
}
static __device__ __forceinline__ uint32_t gpul__quotient(uint32_t n, const gpul__division &by) {
    return uint32_t(uint64_t(n) * by.multiplier >> by.shift);
}

/* Elements from an operand's first to its last */
static inline int64_t gpul__reach(const int64_t *shape, const int64_t *strides, int32_t ndim) {
    int64_t reach = 0;
    for (int32_t d = 0; d < ndim; ++d) reach += (shape[d] - 1) * strides[d];
    return reach;
}

/* The memory from an operand's first element to its last, gaps included. Loads of 16 bytes may read all of it, and
 * nothing besides it. */
struct gpul__extent {
    uintptr_t begin, end;
    __host__ __device__ __forceinline__ void set(const void *first, int64_t elements, int64_t bytes) {
        begin = reinterpret_cast<uintptr_t>(first);
        end = begin + uintptr_t(elements > 0 ? elements * bytes : 0);
    }
    /* Are the aligned 16 bytes that hold p beyond the beginning? */
    __device__ __forceinline__ bool begins(const void *p) const {
        return (reinterpret_cast<uintptr_t>(p) & ~uintptr_t(15)) >= begin;
    }
    /* Are the aligned words (of that many bytes, a power of two) that hold `bytes` bytes at p inside? */
    __device__ __forceinline__ bool holds(const void *p, uintptr_t bytes) const {
        const uintptr_t at = reinterpret_cast<uintptr_t>(p), mask = ~(bytes - 1);
        return (at & mask) >= begin && ((at + bytes - 1) & mask) + bytes <= end;
    }
    /* Do the aligned 16 bytes that hold the last of 16 bytes at p end inside? */
    __device__ __forceinline__ bool ends(const void *p) const {
        return ((reinterpret_cast<uintptr_t>(p) + 15) & ~uintptr_t(15)) + 16 <= end;
    }
    /* The aligned words that hold 16 bytes at element i of p end inside, for each i up to this one. */
    __device__ __forceinline__ int64_t last(const void *p, int size) const {
        return (int64_t(end - reinterpret_cast<uintptr_t>(p)) - 31) / size;
    }
};

/* 16 bytes of elements in four registers. As elements, those of one or two bytes would take a register each. */
typedef gpul__pack<uint32_t, 4> gpul__raw;
/* Four words of four bytes, transposed */
static __device__ __forceinline__ void gpul__transpose_bytes(const uint32_t (&row)[4], uint32_t (&column)[4]) {
    const uint32_t a = __byte_perm(row[0], row[1], 0x5140), b = __byte_perm(row[2], row[3], 0x5140);
    const uint32_t c = __byte_perm(row[0], row[1], 0x7362), d = __byte_perm(row[2], row[3], 0x7362);
    column[0] = __byte_perm(a, b, 0x5410);
    column[1] = __byte_perm(a, b, 0x7632); /* fault: transposed-bytes */
    column[2] = __byte_perm(c, d, 0x5410);
    column[3] = __byte_perm(c, d, 0x7632);
}
/* Of the word number w of a vector that has `count` bytes, those that it does not have: ones */
static __device__ __forceinline__ uint32_t gpul__missing_bytes(int count, int w) {
    const int bits = 8 * (count < 16 ? count : 16) - 32 * w, there = bits < 0 ? 0 : bits < 32 ? bits : 32;
    return uint32_t(uint64_t(0xffffffffu) << there);
}
template <typename T, int N> static __device__ __forceinline__ gpul__pack<T, N> gpul__unpacked(const gpul__raw &words) {
    gpul__pack<T, N> pack;
    memcpy(&pack, &words, sizeof pack);
    return pack;
}
/* `count` elements, 1 to N, `step` apart, of each of kF arrays, and zeros after them. It serves edges and rare layouts:
 * a loop, to be short in code, in which four of each are on their way at once. */
template <int N, int kF, typename T>
static __device__ __forceinline__ void gpul__gather_all(const T *const (&p)[kF], int64_t step, int count,
                                                        gpul__raw (&raw)[kF]) {
    constexpr int kMany = N < 4 ? N : 4, kWords = kMany * int(sizeof(T)) / 4;
    GPUL__UNROLL_NOT
    for (int k = 0; k < N && k < count; k += kMany) {
        T element[kF][kMany] = {};
        if (k + 1 < count) { /* in place of missing ones, the first again: without a branch they are loaded together */
            GPUL__UNROLL_FOR (int j = 0; j < kMany; ++j) {
                GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) {
                    const T next = p[u][k + j < count ? (k + j) * step : k * step];
                    element[u][j] = k + j < count ? next : T();
                }
            }
        } else {
            GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) element[u][0] = p[u][k * step];
        }
        GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) { /* registers have no index */
            uint32_t words[kWords];
            memcpy(words, element[u], sizeof words);
            GPUL__UNROLL_FOR (int w = 0; w < 4; ++w)
                raw[u].v[w] = w / kWords == k / kMany ? words[w % kWords] : raw[u].v[w]; /* fault: gather-in-place */
        }
    }
}
template <typename T, int N>
static __device__ __forceinline__ gpul__pack<T, N> gpul__gather(const T *p, int64_t step, int count) {
    const T *const one[1] = {p};
    gpul__raw raw[1] = {};
    gpul__gather_all<N>(one, step, count, raw);
    return gpul__unpacked<T, N>(raw[0]);
}

/* Unaligned 16 bytes of neighbouring elements, in two steps so that several loads overlap: load() issues the one or two
 * aligned loads that hold them, get() puts the bytes together. */
template <typename T> static __device__ __forceinline__ const T *gpul__align_down(const T *p) {
    return reinterpret_cast<const T *>(reinterpret_cast<uintptr_t>(p) & ~uintptr_t(15));
}
template <typename T, int N> struct gpul__fetch {
    typedef gpul__raw Raw;
    Raw low, high;
    static __device__ __forceinline__ Raw aligned(const T *p) {
        return gpul__load<4>(reinterpret_cast<const uint32_t *>(p));
    }
    __device__ __forceinline__ void load(const T *p, int64_t = 1) {
        low = aligned(gpul__align_down(p));
        load_high(p);
    }
    __device__ __forceinline__ void load_high(const T *p) { /* where p is aligned: `low` again */
        high = aligned(gpul__align_down(reinterpret_cast<const T *>(reinterpret_cast<uintptr_t>(p) + 15)));
    }
    __device__ __forceinline__ Raw get(const T *p) const {
        const uint32_t shift = uint32_t(reinterpret_cast<uintptr_t>(p) & 15); /* fault: fetch-not-shifted */
        uint32_t word[8];
        Raw raw;
        memcpy(word, &low, sizeof low);
        memcpy(word + 4, &high, sizeof high);
        GPUL__UNROLL_FOR (int k = 0; k < 6; ++k) word[k] = shift & 8 ? word[k + 2] : word[k];
        GPUL__UNROLL_FOR (int k = 0; k < 5; ++k) word[k] = sizeof(T) < 8 && (shift & 4) ? word[k + 1] : word[k];
        GPUL__UNROLL_FOR (int k = 0; k < 4 && sizeof(T) < 4; ++k)
            word[k] = uint32_t((uint64_t(word[k + 1]) << 32 | word[k]) >> (8 * (shift & 3)));
        memcpy(&raw, word, sizeof raw);
        return raw;
    }
    static __device__ __forceinline__ gpul__pack<T, N> unpacked(const Raw &raw) { return gpul__unpacked<T, N>(raw); }
};

/* ---- the elementwise engine ----
 *
 * out = op(a, b, c) for each element, with up to three inputs of any strides, broadcast to out's shape. An operation is
 * a small struct: its types Out (gpul__several for several outputs), A, B, C (gpul__none where there is no such input)
 * and Out operator()(A, B, C). All is bound by memory, so what counts is that accesses are wide and that many are in
 * flight. Three kernels serve every layout:
 *     vectors   a thread computes 16 bytes of neighbouring elements, aligned in out. Inputs may be unaligned, so rows
 *               of any length and pitch run at the speed of dense ones.
 *     elements  a thread computes 4 or 8 single elements, 256 apart, or 32 apart in one row: for outputs or inputs with
 *               gaps, and for short rows. Where inputs repeat along a dimension, it stores each of them several times.
 *     tiles     a block transposes inputs through shared memory whose neighbours lie along another dimension than out's
 *
 * A tile is what one index stands for: a thread's vector, a single element, a warp's elements of a long row, or a
 * block's tile of two dimensions. The plan gives the dimensions of the tiles. A kernel unravels the index of a tile by
 * them, as numpy.unravel_index does, into an offset for each operand.
 *
 * Assumed: indices and offsets have 32 bits. gpul__run_elementwise splits what is larger. */
#define GPUL__ELEMENTWISE_THREADS 256
/* items per thread in the kernel `elements`, by the bytes of the largest element; and of NumPy's functions */
#define GPUL__ELEMENTWISE_ITEMS(bytes) ((bytes) < 8 ? 8 : 4)
#define GPUL__UFUNC_ITEMS 8
/* A tile in shared memory: elements in a word, rows, and the pitch from row to row in words */
#define GPUL__ELEMENTWISE_WORD(bytes) ((bytes) < 4 ? 4 / (bytes) : 1)
#define GPUL__ELEMENTWISE_ROWS(bytes) ((bytes) < 4 ? 128 : 64)
#define GPUL__ELEMENTWISE_PITCH 33
/* A tile of elements in shared memory has no more than so many: 8 a thread. */
#define GPUL__ELEMENTWISE_AREA (8 * GPUL__ELEMENTWISE_THREADS)
/* Elements of a row that is long */
#define GPUL__ELEMENTWISE_LONG 16384
/* Bytes of an array that remain in the device's cache */
#define GPUL__ELEMENTWISE_CACHE (1 << 24)
/* NumPy's functions: below so many elements, shorter vectors give more threads. */
#define GPUL__ELEMENTWISE_SHORT (1 << 20)

template <typename Op> struct gpul__elementwise_size { /* of the largest element */
    typedef gpul__several<typename Op::A, typename Op::B, typename Op::C> Inputs;
    static constexpr int value = gpul__greater(gpul__size_of<Inputs>::value, gpul__size_of<typename Op::Out>::value);
};

/* One dimension of the tiles. One step along it is so many tiles along out's columns (its innermost dimension) and rows
 * (the next), and so many elements of each operand. */
struct gpul__elementwise_dim {
    uint32_t size;
    gpul__division by;
    uint32_t column, row;
    uint32_t step[GPUL__OPERANDS];
};
/* A kernel's arguments. What every block needs comes first, to touch few cache lines of them. */
struct gpul__elementwise_layout {
    void *out[3];
    const void *in[3];       /* NULL: a scalar */
    uint32_t tiles, columns; /* columns: elements of out along its innermost dimension, as far as tiles have them */
    int32_t ndim;            /* of dim */
    int32_t inputs;          /* arrays in[0] .. in[inputs - 1] at most */
    int32_t broadcast;       /* bit k: input k is one value along the columns */
    int32_t shifted;         /* bit k: input k's vectors are not aligned where out's are */
    int32_t staged;          /* bit k: input k passes through shared memory */
    int32_t lanes;           /* elements: 1: a tile is a warp's part of a row */
    uint32_t line;           /* vectors: bits of an element's number in memory, all 0 where a row's first one begins */
    uint32_t used;           /* elements: those threads of a warp that have any; */
    uint32_t block;          /* tiles of a block */
    uint32_t rows;           /* elements of out along the next dimension */
    int32_t repeats;         /* elements: a result is stored so many times, repeat_step[] of out (and others) apart; */
    uint32_t last_repeat;    /* the last time those of the first so many tiles, or columns where */
    int32_t along_row;       /* 1: they are stored along out's innermost dimension */
    uint32_t repeat_step[3];
    uint32_t tile_rows, tile_columns; /* of a block's tile */
    uint32_t rows_log2, columns_log2; /* threads take powers of two, as many or more */
    uint32_t pitch;                   /* of a tile's rows in shared memory */
    gpul__extent extent[3]; /* of each input; empty where it overlaps an output, which may be written meanwhile */
    gpul__elementwise_dim dim[GPUL_MAX_DIMS + 1]; /* the fastest first */
    uint64_t scalar[3];
    uint32_t row_step[GPUL__OPERANDS], column_step[GPUL__OPERANDS]; /* strides of the operands */
    int64_t column0; /* out's first column: not 0 in the parts of a split problem (arange and linspace count columns) */
};
template <typename Op> struct gpul__elementwise_view {
    gpul__elementwise_layout layout;
    Op op;
};
template <typename T>
static __device__ __forceinline__ T gpul__elementwise_scalar(const gpul__elementwise_layout &v, int k) {
    T value;
    memcpy(&value, &v.scalar[k], sizeof value);
    return value;
}

/* Where tiles lie: the offset of each operand in elements, and column and row of out in tiles */
template <int kTiles, int kOperands = 4> struct gpul__elementwise_position {
    uint32_t at[kTiles][kOperands];
    uint32_t column[kTiles], row[kTiles];
};
/* Unravels the indices of kTiles tiles, `stride` apart; of those from `end` on, the first. many: there is more than one
 * input. */
template <int kTiles, int kOperands>
static __device__ __forceinline__ void
gpul__elementwise_unravel(const gpul__elementwise_layout &v, uint32_t first, uint32_t stride, uint32_t end, bool many,
                          gpul__elementwise_position<kTiles, kOperands> *position) {
    uint32_t index[kTiles];
    GPUL__UNROLL_FOR (int j = 0; j < kTiles; ++j) {
        index[j] = j == 0 || first + uint32_t(j) * stride < end ? first + uint32_t(j) * stride : first;
        position->column[j] = position->row[j] = 0;
        GPUL__UNROLL_FOR (int k = 0; k < kOperands; ++k) position->at[j][k] = 0;
    }
    GPUL__UNROLL_NOT
    for (int32_t d = 0; d < v.ndim; ++d) {
        const gpul__elementwise_dim &dim = v.dim[d];
        uint32_t i[kTiles];
        GPUL__UNROLL_FOR (int j = 0; j < kTiles; ++j) {
            const uint32_t next = gpul__quotient(index[j], dim.by); /* 0 in the last one */
            i[j] = index[j] - next * dim.size;
            index[j] = next;
            position->column[j] += i[j] * dim.column;
            position->row[j] += i[j] * dim.row;
            position->at[j][0] += i[j] * dim.step[0];
            position->at[j][1] += i[j] * dim.step[1];
        }
        if (!many) continue;
        GPUL__UNROLL_FOR (int j = 0; j < kTiles; ++j) {
            GPUL__UNROLL_FOR (int k = 2; k < kOperands; ++k) position->at[j][k] += i[j] * dim.step[k];
        }
    }
}

/* The part of a vector that lies in out's row: elements skip .. count - 1 of n. A row's first vector begins at an
 * element whose number in memory has no bit of `line`, so all begin `before` elements early; those at a row's ends are
 * empty or not whole. `element` is the number in memory of the element that the tile's offset leads to. */
struct gpul__elementwise_part {
    int before, skip, count, n;

    __device__ __forceinline__ gpul__elementwise_part(int vector, uint32_t element, uint32_t column, uint32_t columns,
                                                      uint32_t line)
        : n(vector) {
        before = int((element - column) & line);
        const int ahead = before - int(column), left = int(columns) + ahead;
        skip = ahead > 0 ? ahead : 0;
        count = left < n ? left : n; /* fault: elementwise-tail */
    }
    __device__ __forceinline__ bool empty() const { return count <= skip; }
    __device__ __forceinline__ bool whole() const { return skip == 0 && count == n; }
    __device__ __forceinline__ bool has(int j) const { return j >= skip && j < count; }
    __device__ __forceinline__ int clamp(int j) const { return j < skip ? skip : j < count ? j : count - 1; }
    /* Elements outside are replaced by the nearest inside: an operation of your own may not bear what lies there. */
    template <typename T, int N> __device__ __forceinline__ void pad(gpul__pack<T, N> *pack) const {
        GPUL__UNROLL_FOR (int j = 1; j < N; ++j) pack->v[j] = j < count ? pack->v[j] : pack->v[j - 1];
        GPUL__UNROLL_FOR (int j = N - 2; j >= 0; --j) pack->v[j] = j < skip ? pack->v[j + 1] : pack->v[j];
    }
    template <int N> __device__ __forceinline__ void pad(gpul__pack<gpul__none, N> *) const {}
};

/* N neighbouring elements, 16 bytes at most, at any alignment. As in gpul__fetch, load() issues the one or two aligned
 * loads that hold them, and get() puts the bytes together. */
template <typename T, int N> struct gpul__unaligned {
    static constexpr int kBytes = N * sizeof(T), kWords = kBytes < 4 ? 1 : kBytes / 4;
    typedef typename gpul__word<kBytes>::type Word; /* elements of 1 or 2 bytes would take a register each */
#ifdef __CUDA_ARCH__
    Word low, high; /* undefined until loaded, so that no register is set */
#else
    Word low = Word(), high = Word();
#endif
    __device__ __forceinline__ void load(const T *p, bool shifted) {
        const uintptr_t at = reinterpret_cast<uintptr_t>(p);
        low = *reinterpret_cast<const Word *>(at & ~uintptr_t(kBytes - 1));
        if (shifted) /* where p is aligned: `low` again */
            high = *reinterpret_cast<const Word *>((at + kBytes - 1) & ~uintptr_t(kBytes - 1));
    }
    __device__ __forceinline__ void set(const gpul__pack<T, N> &pack) { memcpy(&low, &pack, sizeof low); }
    static __device__ __forceinline__ uint32_t shift(const T *p) {
        return uint32_t(reinterpret_cast<uintptr_t>(p) & (kBytes - 1)); /* fault: window-not-shifted */
    }
    __device__ __forceinline__ void words(uint32_t (&to)[kWords], uint32_t bytes) const {
        uint32_t word[2 * kWords] = {};
        if (kBytes < 4) {
            memcpy(&word[0], &low, sizeof low);
            memcpy(&word[1], &high, sizeof high);
            to[0] = (word[1] << (8 * kBytes & 31) | word[0]) >> 8 * bytes;
            return;
        }
        memcpy(word, &low, sizeof low);
        memcpy(reinterpret_cast<unsigned char *>(word) + sizeof low, &high, sizeof high);
        GPUL__UNROLL_FOR (int k = 0; k < kWords + 2 && kWords > 2; ++k)
            if (k + 2 < 2 * kWords) word[k] = bytes & 8 ? word[k + 2] : word[k];
        GPUL__UNROLL_FOR (int k = 0; k < kWords + 1 && kWords > 1 && sizeof(T) < 8; ++k)
            if (k + 1 < 2 * kWords) word[k] = bytes & 4 ? word[k + 1] : word[k];
        GPUL__UNROLL_FOR (int k = 0; k < kWords; ++k)
            to[k] = sizeof(T) < 4 ? uint32_t((uint64_t(word[k + 1]) << 32 | word[k]) >> (8 * (bytes & 3))) : word[k];
    }
    __device__ __forceinline__ gpul__pack<T, N> get(uint32_t bytes) const {
        uint32_t word[kWords];
        gpul__pack<T, N> pack;
        words(word, bytes);
        memcpy(&pack, word, sizeof pack);
        return pack;
    }
};

/* A thread's vector of an input: load() those of all inputs, then get() them. Elements pass as words: a vector that a
 * function returns, or that is set element by element, takes a register for each of them. */
template <typename T, int N> struct gpul__elementwise_vector {
    typedef typename gpul__unaligned<T, N>::Word Word;
    static constexpr int kWords = gpul__unaligned<T, N>::kWords;
    gpul__unaligned<T, N> window;
#ifdef __CUDA_ARCH__
    T one; /* of an input that is broadcast; else undefined, too */
#else
    T one = T();
#endif
    uint32_t shift;
    __device__ __forceinline__ void load(const gpul__elementwise_layout &v, int k, uint32_t at,
                                         const gpul__elementwise_part &part) {
        const T *const in = static_cast<const T *>(v.in[k]);
        shift = 0;
        if (v.broadcast >> k & 1) {
            one = in ? in[at] : gpul__elementwise_scalar<T>(v, k);
            return;
        }
        const bool shifted = (v.shifted >> k & 1) != 0;
        const T *const p = in + at - part.before;                                      /* fault: elementwise-before */
        if (part.whole() && !shifted) window.low = *reinterpret_cast<const Word *>(p); /* aligned as out is */
        else if (v.extent[k].holds(p, N * sizeof(T))) {
            window.load(p, shifted);
            shift = window.shift(p);
        } else load_part(p, part);
    }
    /* At an end of the memory: in place of elements that may not be read, the nearest that may. Four at a time: few
     * threads come here, and all would have to keep registers for more. */
    __device__ __forceinline__ void load_part(const T *p, const gpul__elementwise_part &part) {
        constexpr int kFew = N < 4 ? N : 4, kStep = kWords / (N / kFew);
        uint32_t word[kWords] = {};
        GPUL__UNROLL_NOT
        for (int first = 0; first < N; first += kFew) {
            T few[kFew];
            GPUL__UNROLL_FOR (int j = 0; j < kFew; ++j) few[j] = p[part.clamp(first + j)]; /* fault: elementwise-edge */
            gpul__shift_left<kStep>(word);
            memcpy(word + kWords - kStep, few, sizeof few);
        }
        memcpy(&window.low, word, sizeof window.low);
    }
    __device__ __forceinline__ void get(const gpul__elementwise_layout &v, int k, gpul__pack<T, N> *pack) const {
        uint32_t word[kWords] = {};
        if (v.broadcast >> k & 1) {
            constexpr int kPart = sizeof(T) < 4 ? 1 : sizeof(T) / 4; /* words of an element, or with several */
            uint32_t part[kPart] = {};
            memcpy(part, &one, sizeof one);
            if (sizeof(T) < 4)
                part[0] *= sizeof(T) == 1 ? 0x01010101u : 0x00010001u; /* fault: elementwise-repeat-byte */
            GPUL__UNROLL_FOR (int i = 0; i < kWords; ++i) word[i] = part[i % kPart];
        } else if (v.shifted >> k & 1) window.words(word, shift);
        else memcpy(word, &window.low, sizeof window.low);
        memcpy(pack, word, sizeof *pack);
    }
};
template <int N> struct gpul__elementwise_vector<gpul__none, N> {
    __device__ __forceinline__ void load(const gpul__elementwise_layout &, int, uint32_t,
                                         const gpul__elementwise_part &) {}
    __device__ __forceinline__ void get(const gpul__elementwise_layout &, int, gpul__pack<gpul__none, N> *) const {}
};

/* A vector as words, which are what registers hold where nothing takes elements apart. */
template <typename T, int N> union gpul__elementwise_words {
    uint32_t word[(N * sizeof(T) + 3) / 4];
    gpul__pack<T, N> pack;
};

/* Where results go: offset `at` and `by` elements more, of one output or of up to three. An output that an operation
 * does not have is a gpul__none. */
template <int N, typename T>
static __device__ __forceinline__ void gpul__save_at(T *p, uint32_t at, int by, const gpul__pack<T, N> &pack) {
    gpul__save<N>(p + at + by, pack);
}
/* And of a vector, the part that exists, by few stores: memory is slow where many of them write to one sector. */
template <int N, typename T>
static __device__ __forceinline__ void gpul__save_at(T *p, uint32_t offset, const gpul__elementwise_part &part,
                                                     const gpul__pack<T, N> &pack) {
    constexpr int kSize = sizeof(T), kBytes = N * kSize, kWords = kBytes < 4 ? 1 : kBytes / 4;
    if (part.whole()) return gpul__save<N>(p + offset - part.before, pack);
    if (N == 2) { /* one element */
        GPUL__UNROLL_FOR (int j = 0; j < N; ++j)
            if (part.has(j)) (p + offset)[j - part.before] = pack.v[j];
        return;
    }
    char *const to = reinterpret_cast<char *>(p + offset - part.before);
    uint32_t word[kWords + 3] = {}; /* the first of them those at `at` */
    memcpy(word, &pack, sizeof pack);
    const auto drop = [&](bool drops, int bytes) {
        GPUL__UNROLL_FOR (int k = 0; k < kWords; ++k) {
            const uint64_t both = uint64_t(word[k + bytes / 4 + 1]) << 32 | word[k + bytes / 4];
            word[k] = drops ? uint32_t(both >> bytes % 4 * 8) : word[k];
        }
    };
    int at = part.skip * kSize; /* fault: elementwise-head */
    const int end = part.count * kSize;
    GPUL__UNROLL_FOR (int bytes = kSize; bytes < kBytes; bytes *= 2) drop((at & bytes) != 0, bytes);
    GPUL__UNROLL_FOR (int falling = 0; falling < 2; ++falling) {
        GPUL__UNROLL_FOR (int step = kSize; step < kBytes; step *= 2) {
            const int bytes = falling ? kBytes * kSize / 2 / step : step;
            const bool stores = at + bytes <= end && (falling || (at & bytes) != 0);
            if (stores && bytes == 1) to[at] = char(word[0]);
            if (stores && bytes == 2) *reinterpret_cast<uint16_t *>(to + at) = uint16_t(word[0]);
            if (stores && bytes == 4) *reinterpret_cast<uint32_t *>(to + at) = word[0];
            if (stores && bytes == 8) *reinterpret_cast<uint2 *>(to + at) = make_uint2(word[0], word[1]);
            at += stores ? bytes : 0;
            drop(stores, bytes);
        }
    }
}
template <int N, typename Where>
static __device__ __forceinline__ void gpul__save_to(gpul__none *, uint32_t, const Where &,
                                                     const gpul__pack<gpul__none, N> &) {}
template <int N, typename T, typename Where>
static __device__ __forceinline__ void gpul__save_to(T *p, uint32_t at, const Where &where,
                                                     const gpul__pack<T, N> &pack) {
    gpul__save_at<N>(p, at, where, pack);
}
template <typename T> static __device__ __forceinline__ void gpul__put(T *p, uint32_t at, int by, T value) {
    (p + at)[by] = value;
}
static __device__ __forceinline__ void gpul__put(gpul__none *, uint32_t, int, gpul__none) {}
template <typename Out> struct gpul__elementwise_out {
    static constexpr int kOperands = 4, kSeveral = 0;
    Out *x;
    __device__ __forceinline__ explicit gpul__elementwise_out(const gpul__elementwise_layout &v)
        : x(static_cast<Out *>(v.out[0])) {}
    __device__ __forceinline__ uint32_t element(uint32_t at) const {
        return uint32_t(reinterpret_cast<uintptr_t>(x) / sizeof(Out)) + at;
    }
    __device__ __forceinline__ void put(const uint32_t *at, int by, Out result) const {
        gpul__put(x, at[0], by, result);
    }
    template <int N, typename Where>
    __device__ __forceinline__ void save(const uint32_t *at, const Where &where,
                                         const gpul__pack<Out, N> &results) const {
        gpul__save_at<N>(x, at[0], where, results);
    }
};
template <typename T, typename U, typename V> struct gpul__elementwise_out<gpul__several<T, U, V>> {
    typedef gpul__several<T, U, V> Out;
    static constexpr int kOperands = GPUL__OPERANDS, kSeveral = 1;
    T *x;
    U *y;
    V *z;
    __device__ __forceinline__ explicit gpul__elementwise_out(const gpul__elementwise_layout &v)
        : x(static_cast<T *>(v.out[0])), y(static_cast<U *>(v.out[1])), z(static_cast<V *>(v.out[2])) {}
    __device__ __forceinline__ uint32_t element(uint32_t at) const {
        return uint32_t(reinterpret_cast<uintptr_t>(x) / sizeof(T)) + at;
    }
    __device__ __forceinline__ void put(const uint32_t *at, int by, const Out &result) const {
        gpul__put(x, at[0], by, result.x);
        gpul__put(y, at[4], by, result.y); /* fault: outputs-place */
        gpul__put(z, at[5], by, result.z);
    }
    template <int N, typename Where>
    __device__ __forceinline__ void save(const uint32_t *at, const Where &where,
                                         const gpul__pack<Out, N> &results) const {
        gpul__pack<T, N> px;
        gpul__pack<U, N> py;
        gpul__pack<V, N> pz;
        GPUL__UNROLL_FOR (int k = 0; k < N; ++k) {
            px.v[k] = results.v[k].x;
            py.v[k] = results.v[k].y;
            pz.v[k] = results.v[k].z;
        }
        gpul__save_to<N>(x, at[0], where, px);
        gpul__save_to<N>(y, at[4], where, py);
        gpul__save_to<N>(z, at[5], where, pz);
    }
};

template <int N, typename Op>
static __device__ __forceinline__ void
gpul__elementwise_apply(const Op &op, const gpul__pack<typename Op::A, N> &a, const gpul__pack<typename Op::B, N> &b,
                        const gpul__pack<typename Op::C, N> &c, gpul__pack<typename Op::Out, N> *result) {
    GPUL__UNROLL_FOR (int j = 0; j < N; ++j) result->v[j] = op(a.v[j], b.v[j], c.v[j]);
}

/* Resident blocks that the kernel `vectors` asks for. Operations of your own take as many registers as they need;
 * built-in ones want full occupancy, which is that of the device (CUDA C++ Programming Guide, technical specifications
 * per compute capability): ptxas ignores more. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 ||                \
    __CUDA_ARCH__ == 1030
#define GPUL__ELEMENTWISE_RESIDENT (2048 / GPUL__ELEMENTWISE_THREADS)
#else
#define GPUL__ELEMENTWISE_RESIDENT ((__CUDA_ARCH__ < 800 ? 1024 : 1536) / GPUL__ELEMENTWISE_THREADS)
#endif
template <typename Op> struct gpul__elementwise_blocks {
    static constexpr int value = 1;
    static constexpr bool kPads = true; /* elements outside of a row: see gpul__elementwise_part */
};
template <typename Op, int N>
static __global__ void __launch_bounds__(GPUL__ELEMENTWISE_THREADS, gpul__elementwise_blocks<Op>::value)
    gpul__elementwise_vectors(const __grid_constant__ gpul__elementwise_view<Op> v) {
    typedef gpul__elementwise_out<typename Op::Out> Outputs;
    gpul__elementwise_position<1, Outputs::kOperands> position;
    const Outputs out(v.layout);
    const uint32_t index = blockIdx.x * uint32_t(GPUL__ELEMENTWISE_THREADS) + threadIdx.x;
    gpul__elementwise_unravel(v.layout, index, 0, 0, true, &position);
    const gpul__elementwise_part part(N, out.element(position.at[0][0]), position.column[0] * N, v.layout.columns,
                                      v.layout.line);
    gpul__await(); /* fault: elementwise-await */
    if (index >= v.layout.tiles || part.empty()) return;
    gpul__elementwise_vector<typename Op::A, N> a;
    gpul__elementwise_vector<typename Op::B, N> b;
    gpul__elementwise_vector<typename Op::C, N> c;
    a.load(v.layout, 0, position.at[0][1], part);
    b.load(v.layout, 1, position.at[0][2], part);
    c.load(v.layout, 2, position.at[0][3], part);
    gpul__elementwise_words<typename Op::A, N> va;
    gpul__elementwise_words<typename Op::B, N> vb;
    gpul__elementwise_words<typename Op::C, N> vc;
    a.get(v.layout, 0, &va.pack);
    b.get(v.layout, 1, &vb.pack);
    c.get(v.layout, 2, &vc.pack);
    if (gpul__elementwise_blocks<Op>::kPads && !part.whole()) {
        part.pad(&va.pack);
        part.pad(&vb.pack);
        part.pad(&vc.pack);
    }
    const Op op = v.op;
    gpul__elementwise_words<typename Op::Out, N> result;
    gpul__elementwise_apply(op, va.pack, vb.pack, vc.pack, &result.pack);
    out.save(position.at[0], part, result.pack);
}

template <int kItems, int kOperands, typename T>
static __device__ __forceinline__ void
gpul__elementwise_gather(const gpul__elementwise_layout &v, int k,
                         const gpul__elementwise_position<kItems, kOperands> &position, T (&to)[kItems]) {
    const T *const in = static_cast<const T *>(v.in[k]);
    GPUL__UNROLL_FOR (int j = 0; j < kItems; ++j)
        to[j] = in ? in[position.at[j][1 + k]] : gpul__elementwise_scalar<T>(v, k);
}
template <int kItems, int kOperands>
static __device__ __forceinline__ void gpul__elementwise_gather(const gpul__elementwise_layout &, int,
                                                                const gpul__elementwise_position<kItems, kOperands> &,
                                                                gpul__none (&)[kItems]) {}
/* The number of a thread's first element */
static __device__ __forceinline__ uint32_t gpul__elementwise_first(const gpul__elementwise_layout &v) {
    return blockIdx.x * v.block + threadIdx.x / 32 * v.used + threadIdx.x % 32; /* fault: elements-of-warps */
}
/* Offsets of a thread's elements; valid[j]: element j exists. Of one that does not, the thread reads another of its own
 * instead: where out is an input, those of other threads may have been written already. False where it has none. (Rows
 * of which tiles lie beyond the ends are long.) */
template <int kItems, int kOperands>
static __device__ __forceinline__ bool gpul__elementwise_locate(const gpul__elementwise_layout &v, bool many,
                                                                gpul__elementwise_position<kItems, kOperands> *position,
                                                                bool (&valid)[kItems]) {
    const uint32_t lane = threadIdx.x % 32;
    if (v.lanes) {
        const uint32_t index = blockIdx.x * (GPUL__ELEMENTWISE_THREADS / 32) + threadIdx.x / 32;
        gpul__elementwise_position<1, kOperands> warp;
        gpul__elementwise_unravel(v, index, 0, 0, many, &warp);
        const uint32_t column = warp.column[0] * uint32_t(32 * kItems);
        const uint32_t left = index < v.tiles && column < v.columns ? v.columns - column : 0; /* fault: lanes-beyond */
        GPUL__UNROLL_FOR (int j = 0; j < kItems; ++j) {
            const uint32_t by = lane + uint32_t(32 * j);
            position->column[j] = column + by;
            valid[j] = by < left; /* fault: elementwise-lanes-end */
            GPUL__UNROLL_FOR (int k = 0; k < kOperands; ++k)
                if (k < 2 || many) position->at[j][k] = warp.at[0][k] + (valid[j] ? by : lane) * v.column_step[k];
        }
        return lane < left;
    }
    const uint32_t first = gpul__elementwise_first(v), stride = v.used * (GPUL__ELEMENTWISE_THREADS / 32);
    const uint32_t beyond = (blockIdx.x + 1) * v.block, end = lane >= v.used ? 0 : beyond < v.tiles ? beyond : v.tiles;
    gpul__elementwise_unravel(v, first, stride, end, many, position);
    GPUL__UNROLL_FOR (int j = 0; j < kItems; ++j) valid[j] = first + uint32_t(j) * stride < end;
    return valid[0];
}
/* Is element j stored as often as any? Those beyond the end of the dimension are not stored the last time. Then that
 * dimension is the last of the walk, or the row, of which a warp has a part. */
template <int kItems, int kOperands>
static __device__ __forceinline__ bool
gpul__elementwise_lasts(const gpul__elementwise_layout &v,
                        const gpul__elementwise_position<kItems, kOperands> &position, int j) {
    const uint32_t warp = blockIdx.x * uint32_t(GPUL__ELEMENTWISE_THREADS / 32) + threadIdx.x / 32;
    const uint32_t first = v.along_row ? position.column[0] : v.lanes ? warp : gpul__elementwise_first(v);
    const uint32_t step = v.along_row ? 32 : v.lanes ? 0 : v.used * (GPUL__ELEMENTWISE_THREADS / 32);
    return first + uint32_t(j) * step < v.last_repeat; /* fault: repeat-beyond */
}

template <typename Op, int kItems>
static __global__ void __launch_bounds__(GPUL__ELEMENTWISE_THREADS)
    gpul__elementwise_elements(const __grid_constant__ gpul__elementwise_view<Op> v) {
    typedef gpul__elementwise_out<typename Op::Out> Outputs;
    gpul__elementwise_position<kItems, Outputs::kOperands> position;
    bool valid[kItems];
    const bool any = gpul__elementwise_locate(v.layout, true, &position, valid);
    gpul__await(); /* fault: elementwise-await-elements */
    if (!any) return;
    typename Op::A a[kItems];
    typename Op::B b[kItems];
    typename Op::C c[kItems];
    gpul__elementwise_gather(v.layout, 0, position, a);
    gpul__elementwise_gather(v.layout, 1, position, b);
    gpul__elementwise_gather(v.layout, 2, position, c);
    const Op op = v.op;
    const Outputs out(v.layout);
    GPUL__UNROLL_FOR (int j = 0; j < kItems; ++j) {
        if (!valid[j]) continue;
        const typename Op::Out result = op(a[j], b[j], c[j]);
        const int times = v.layout.repeats - (gpul__elementwise_lasts(v.layout, position, j) ? 0 : 1);
        GPUL__UNROLL_NOT
        for (int time = 0; time < times; ++time) {
            out.put(position.at[j], 0, result);
            position.at[j][0] += v.layout.repeat_step[0];
            GPUL__UNROLL_FOR (int k = 4; k < Outputs::kOperands; ++k)
                position.at[j][k] += v.layout.repeat_step[k - 3]; /* fault: repeat-outputs */
        }
    }
}

/* A block's tile, by the bytes of the largest element. Where a word of shared memory holds one element, the tile has
 * the shape that the plan says, and 8 elements a thread at most: neighbouring threads load neighbours along the input's
 * dimension, and store neighbours along out's. Where a word holds kM elements of 1 or 2 bytes, neighbours of
 * a row, there are kRows x 32 words. */
template <int kSize> struct gpul__elementwise_tile {
    static constexpr int kM = GPUL__ELEMENTWISE_WORD(kSize), kRows = GPUL__ELEMENTWISE_ROWS(kSize);
    static constexpr int kPitch = GPUL__ELEMENTWISE_PITCH, kWarps = GPUL__ELEMENTWISE_THREADS / 32;
    static constexpr int kAtOnce = kM > 1 ? 2 : 4; /* rows of a thread at a time */
};
/* Transposes vectors of kM columns into kM elements of each of their kN rows. */
template <int kM, int kN, typename T>
static __device__ __forceinline__ void gpul__elementwise_transpose(const gpul__raw (&columns)[kM],
                                                                   gpul__pack<T, kM> (&rows)[kN]) {
    if (kM == 2 && sizeof(T) == 2) {
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) {
            const uint32_t a = columns[0].v[j / 2 % 4], b = columns[kM - 1].v[j / 2 % 4];
            const uint32_t row = __byte_perm(a, b, j % 2 ? 0x7632 : 0x5410); /* fault: elementwise-transposed */
            memcpy(&rows[j], &row, sizeof rows[j]);
        }
    } else if (kM == 4 && sizeof(T) == 1) {
        GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) {
            uint32_t column[4], row[4];
            GPUL__UNROLL_FOR (int m = 0; m < 4; ++m) column[m] = columns[m % kM].v[w];
            gpul__transpose_bytes(column, row);
            GPUL__UNROLL_FOR (int j = 0; j < 4; ++j) memcpy(&rows[(4 * w + j) % kN], &row[j], sizeof rows[0]);
        }
    } else {
        GPUL__UNROLL_FOR (int m = 0; m < kM; ++m) {
            const gpul__pack<T, kN> column = gpul__unpacked<T, kN>(columns[m]);
            GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) rows[j].v[m] = column.v[j];
        }
    }
}
/* Transposes an input's part of a tile of words into shared memory. The input is contiguous along the tile's rows; its
 * columns are `step` apart; `in` is the tile's first element. A lane loads 16 bytes of each of the kM columns of a word,
 * at any alignment, and stores that word of kN rows; a warp has 32 rows of kN words, which are in different banks.
 * Columns 0 .. columns - 1 and rows 0 .. rows - 1 exist; in place of other columns, the last one is loaded. Out of line:
 * one function for all operations. */
template <int kSize, typename T>
static __device__ __noinline__ void gpul__elementwise_load(const T *in, uint32_t step, int columns, int rows,
                                                           gpul__extent extent, T *to) {
    typedef gpul__elementwise_tile<kSize> Tile;
    constexpr int kM = Tile::kM, kN = 16 / int(sizeof(T)), kAbove = 32 / kN, kBelow = Tile::kRows / 32;
    constexpr int kLoads =
        (kBelow * (32 / kN) + Tile::kWarps - 1) / Tile::kWarps; /* compiled for all T, so 1 at least */
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const bool aligned = ((reinterpret_cast<uintptr_t>(in) | uintptr_t(step * sizeof(T))) & 15) == 0;
    gpul__fetch<T, kN> fetch[kLoads][kM];
    const T *p[kLoads][kM];
    bool inside = true;
    const auto row_of = [=](int i) { return (warp + i * Tile::kWarps) % kBelow * 32 + lane % kAbove * kN; };
    const auto word_of = [=](int i) { return (warp + i * Tile::kWarps) / kBelow * kN + lane / kAbove; };
    GPUL__UNROLL_FOR (int i = 0; i < kLoads; ++i) {
        const int row = row_of(i) < rows ? row_of(i) : 0; /* in place of missing ones, the first again */
        GPUL__UNROLL_FOR (int m = 0; m < kM; ++m) {
            const int c = word_of(i) * kM + m;
            p[i][m] = in + row + int64_t(c < columns ? c : columns - 1) * step; /* fault: elementwise-tile-edge */
            inside = inside && extent.holds(p[i][m], 16);
        }
    }
    if (inside) { /* what a vector has beyond the tile's rows is not used */
        GPUL__UNROLL_FOR (int i = 0; i < kLoads; ++i) {
            GPUL__UNROLL_FOR (int m = 0; m < kM; ++m) fetch[i][m].low = fetch[i][m].aligned(gpul__align_down(p[i][m]));
        }
        if (!aligned) {
            GPUL__UNROLL_FOR (int i = 0; i < kLoads; ++i) {
                GPUL__UNROLL_FOR (int m = 0; m < kM; ++m) fetch[i][m].load_high(p[i][m]);
            }
        }
    }
    GPUL__UNROLL_FOR (int i = 0; i < kLoads; ++i) {
        const int left = rows - row_of(i);
        gpul__raw column[kM];
        gpul__pack<T, kM> row[kN];
        if (left <= 0) continue;
        GPUL__UNROLL_FOR (int m = 0; m < kM; ++m) {
            if (!inside) {
                const gpul__pack<T, kN> pack = gpul__gather<T, kN>(p[i][m], 1, left < kN ? left : kN);
                memcpy(&column[m], &pack, sizeof pack);
            } else column[m] = aligned ? fetch[i][m].low : fetch[i][m].get(p[i][m]);
        }
        gpul__elementwise_transpose(column, row);
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j)
            gpul__save<kM>(to + ((row_of(i) + j) * Tile::kPitch + word_of(i)) * kM, row[j]);
    }
}
/* An input's part of a tile of elements, to shared memory: rows 0 .. rows - 1 and columns 0 .. columns - 1 exist. To is
 * T, or the word that holds it. Out of line, too: it takes no layout, which would have to lie in memory. */
template <typename T, typename To>
static __device__ __noinline__ void gpul__elementwise_turn(const T *in, uint32_t row_step, uint32_t column_step,
                                                           uint32_t rows_log2, uint32_t rows, uint32_t columns,
                                                           uint32_t pitch, To *to) {
    constexpr int kLoads = GPUL__ELEMENTWISE_AREA / GPUL__ELEMENTWISE_THREADS;
    const uint32_t row = threadIdx.x & ((1u << rows_log2) - 1), column = threadIdx.x >> rows_log2;
    const uint32_t by = GPUL__ELEMENTWISE_THREADS >> rows_log2; /* columns from an element of a thread to its next */
    const uint32_t at = row * row_step + column * column_step;
    if (row >= rows || column >= columns) return; /* fault: elementwise-turn-edge */
    T value[kLoads];
    to += row * pitch + column;
    GPUL__UNROLL_FOR (uint32_t i = 0; i < kLoads; ++i) /* no branch for missing ones: it would separate the loads */
        value[i] = in[column + i * by < columns ? at + i * (by * column_step) : at];
    GPUL__UNROLL_FOR (uint32_t i = 0; i < kLoads; ++i)
        if (column + i * by < columns) to[i * by] = To(value[i]);
}
/* How many rows and columns of a block's tile are in out */
struct gpul__elementwise_bounds {
    int rows, columns;
    __device__ __forceinline__ gpul__elementwise_bounds() : rows(0), columns(0) {}
    template <typename Place>
    __device__ __forceinline__ gpul__elementwise_bounds(const gpul__elementwise_layout &v, const Place &position) {
        const int side = int(v.tile_columns), high = int(v.tile_rows);
        const int left = int(v.columns) - int(position.column[0]) * side;
        const int below = int(v.rows) - int(position.row[0]) * high;
        rows = below < high ? below : high;
        columns = left < side ? left : side;
    }
};
/* The column of element j of kM, of which the first is `left`: those before a row's first column are its last ones. */
template <int kM> static __device__ __forceinline__ int gpul__elementwise_column(int left, int j) {
    const int column = left + j;
    return kM > 1 && column < 0 ? column + 32 * kM : column; /* fault: elementwise-wrapped */
}
/* An input of a tile. load() stages it if the plan says so. get() gives a thread's kM columns, from left[] on, of
 * kAtOnce rows: from shared memory, from the array, or a scalar. So that a lane stores a whole word of out, left[] is up
 * to kM - 1 columns before the lane's word; then the first lane has the tile's first and last columns. Outside the
 * bounds it gives a copy of an element inside. */
template <int kSize, typename T> struct gpul__elementwise_stage {
    typedef gpul__elementwise_tile<kSize> Tile;
    static constexpr int kM = Tile::kM, kAtOnce = Tile::kAtOnce;
    const T *staged;
    __device__ __forceinline__ void load(const gpul__elementwise_layout &v, int k, uint32_t at,
                                         const gpul__elementwise_bounds &bounds, unsigned char **shared) {
        staged = reinterpret_cast<const T *>(*shared);
        if (!(v.staged >> k & 1)) return;
        const T *const in = static_cast<const T *>(v.in[k]) + at;
        if (kM > 1)
            gpul__elementwise_load<kSize, T>(in, v.column_step[1 + k], bounds.columns, bounds.rows, v.extent[k],
                                             reinterpret_cast<T *>(*shared));
        else
            gpul__elementwise_turn<T, T>(in, v.row_step[1 + k], v.column_step[1 + k], v.rows_log2,
                                         uint32_t(bounds.rows), uint32_t(bounds.columns), v.pitch,
                                         reinterpret_cast<T *>(*shared));
        *shared += (v.pitch << v.rows_log2) * kM * sizeof(T);
    }
    __device__ __forceinline__ void get(const gpul__elementwise_layout &v, int k, uint32_t at,
                                        const gpul__elementwise_bounds &bounds, const int (&row)[kAtOnce],
                                        const int (&left)[kAtOnce], gpul__pack<T, kM> (&to)[kAtOnce]) const {
        const T *const in = static_cast<const T *>(v.in[k]) + at;
        const int lane = int(threadIdx.x) % 32;
        if (v.staged >> k & 1) {
            GPUL__UNROLL_FOR (int i = 0; i < kAtOnce; ++i) {
                if (kM == 1) {
                    to[i].v[0] = staged[uint32_t(row[i]) * v.pitch + uint32_t(left[i])];
                    continue;
                }
                const T *const words = staged + row[i] * Tile::kPitch * kM;
                const gpul__pack<T, kM> word = gpul__load<kM>(words + lane * kM);
                const gpul__pack<T, kM> before = gpul__load<kM>(words + (lane + 31) % 32 * kM);
                /* from two words, shifted by the row's alignment */
                uint32_t low = 0, high = 0;
                memcpy(&low, &before, sizeof(T) * kM & 7);
                memcpy(&high, &word, sizeof(T) * kM & 7);
                const uint64_t both = uint64_t(high) << (8 * sizeof(T) * kM & 63) | low;
                low = uint32_t(both >> 8 * int(sizeof(T)) * (left[i] - lane * kM + kM));
                memcpy(&to[i], &low, sizeof(T) * kM & 7);
            }
        } else if (v.in[k]) {
            GPUL__UNROLL_FOR (int i = 0; i < kAtOnce; ++i) {
#ifndef __CUDA_ARCH__ /* other blocks may write what is there: it is not used, and on a GPU the branch costs 4 % */
                if (left[i] >= bounds.columns) continue;
#endif
                const T *const from = in + uint32_t(row[i]) * v.row_step[1 + k];
                GPUL__UNROLL_FOR (int j = 0; j < kM; ++j) {
                    const int x = gpul__elementwise_column<kM>(left[i], j);
                    const int column = x < bounds.columns ? x : bounds.columns - 1;
                    to[i].v[j] = from[int64_t(column) * v.column_step[1 + k]];
                }
            }
        } else {
            const T one = gpul__elementwise_scalar<T>(v, k);
            GPUL__UNROLL_FOR (int i = 0; i < kAtOnce; ++i) gpul__fill(to[i].v, one);
        }
    }
};
template <int kSize> struct gpul__elementwise_stage<kSize, gpul__none> {
    __device__ __forceinline__ void load(const gpul__elementwise_layout &, int, uint32_t,
                                         const gpul__elementwise_bounds &, unsigned char **) {}
    template <typename Rows, typename To>
    __device__ __forceinline__ void get(const gpul__elementwise_layout &, int, uint32_t,
                                        const gpul__elementwise_bounds &, const Rows &, const Rows &, To &) const {}
};

template <typename Op>
static __global__ void __launch_bounds__(GPUL__ELEMENTWISE_THREADS)
    gpul__elementwise_tiles(const __grid_constant__ gpul__elementwise_view<Op> v) {
    constexpr int kSize = gpul__elementwise_size<Op>::value;
    typedef gpul__elementwise_out<typename Op::Out> Outputs;
    typedef gpul__elementwise_tile<kSize> Tile;
    constexpr int kM = Tile::kM, kAtOnce = Tile::kAtOnce, kOperands = Outputs::kOperands;
    gpul__elementwise_position<1, kOperands> position;
    gpul__elementwise_unravel(v.layout, blockIdx.x, 0, 0, true, &position);
    const gpul__elementwise_bounds bounds(v.layout, position);
    GPUL_SHARED(unsigned char, shared); /* the staged inputs, one after the other */
    unsigned char *next = shared;
    gpul__elementwise_stage<kSize, typename Op::A> a;
    gpul__elementwise_stage<kSize, typename Op::B> b;
    gpul__elementwise_stage<kSize, typename Op::C> c;
    gpul__await(); /* fault: elementwise-await-tiles */
    a.load(v.layout, 0, position.at[0][1], bounds, &next);
    b.load(v.layout, 1, position.at[0][2], bounds, &next);
    c.load(v.layout, 2, position.at[0][3], bounds, &next);
    __syncthreads(); /* fault: elementwise-stage-barrier */
    const Op op = v.op;
    const Outputs out(v.layout);
    const bool dense = !Outputs::kSeveral && v.layout.column_step[0] == 1;
    const int log2 = kM > 1 ? 5 : int(v.layout.columns_log2), by = GPUL__ELEMENTWISE_THREADS >> log2;
    const int lane = int(threadIdx.x) & ((1 << log2) - 1);
    if (kM == 1 && lane >= bounds.columns) return;
    GPUL__UNROLL_NOT
    for (int top = int(threadIdx.x) >> log2; top < bounds.rows; top += kAtOnce * by) {
        gpul__pack<typename Op::A, kM> va[kAtOnce];
        gpul__pack<typename Op::B, kM> vb[kAtOnce];
        gpul__pack<typename Op::C, kM> vc[kAtOnce];
        int row[kAtOnce], left[kAtOnce];
        GPUL__UNROLL_FOR (int i = 0; i < kAtOnce; ++i) {
            row[i] = top + i * by < bounds.rows ? top + i * by : top;
            const uint32_t element = out.element(position.at[0][0] + uint32_t(row[i]) * v.layout.row_step[0]);
            left[i] = lane * kM - (dense ? int(element & (kM - 1)) : 0);
        }
        a.get(v.layout, 0, position.at[0][1], bounds, row, left, va);
        b.get(v.layout, 1, position.at[0][2], bounds, row, left, vb);
        c.get(v.layout, 2, position.at[0][3], bounds, row, left, vc);
        if (kM > 1) __syncwarp(); /* out may be an input: all lanes have read before any writes */
        GPUL__UNROLL_FOR (int i = 0; i < kAtOnce; ++i) {
            gpul__pack<typename Op::Out, kM> result;
#ifndef __CUDA_ARCH__ /* nor was anything read: see get() */
            if (left[i] >= bounds.columns) continue;
#endif
            gpul__elementwise_apply(op, va[i], vb[i], vc[i], &result);
            if (top + i * by >= bounds.rows) continue;
            uint32_t at[kOperands]; /* of the outputs */
            GPUL__UNROLL_FOR (int k = 0; k < kOperands; ++k)
                at[k] = position.at[0][k] + uint32_t(row[i]) * v.layout.row_step[k];
            if (dense && left[i] >= 0 && left[i] + kM <= bounds.columns) {
                out.save(at, left[i], result);
                continue;
            }
            GPUL__UNROLL_FOR (int j = 0; j < kM; ++j) {
                const int column = gpul__elementwise_column<kM>(left[i], j);
                if (column >= bounds.columns) continue;
                uint32_t to[kOperands];
                GPUL__UNROLL_FOR (int k = 0; k < kOperands; ++k)
                    to[k] = at[k] + uint32_t(column) * v.layout.column_step[k];
                out.put(to, 0, result.v[j]);
            }
        }
    }
}

/* Out of line: two KB of code, once for all launchers. */
static inline __noinline__ void gpul__elementwise_describe(gpul__elementwise_layout *v,
                                                           const gpul__elementwise_problem *p,
                                                           const gpul__elementwise_plan *plan,
                                                           const gpul__elementwise_op *op) {
    const int32_t last = p->ndim - 1, operands = op->other_bytes[0] > 0 ? GPUL__OPERANDS : 4,
                  bytes[3] = {op->out_bytes, op->other_bytes[0], op->other_bytes[1]}; /* of the outputs */
    v->out[0] = p->out;
    v->out[1] = p->others[0];
    v->out[2] = p->others[1];
    v->tiles = uint32_t(plan->tiles);
    v->columns = uint32_t(p->shape[last]);
    v->rows = last > 0 ? uint32_t(p->shape[last - 1]) : 1;
    v->repeats = plan->repeats;
    v->along_row = plan->repeated == last;
    v->last_repeat = ~0u;
    if (plan->repeats > 1) {
        const int64_t size = p->shape[plan->repeated], part = gpul_ceil_div(size, plan->repeats);
        v->last_repeat = uint32_t((size - (plan->repeats - 1) * part) * (v->along_row ? 1 : plan->tiles / part));
        v->repeat_step[0] = uint32_t(part * p->strides[0][plan->repeated]);
        for (int k = 1; k < 3; ++k) v->repeat_step[k] = uint32_t(part * p->strides[3 + k][plan->repeated]);
        if (v->along_row) v->columns = uint32_t(part);
    }
    v->tile_rows = uint32_t(plan->rows);
    v->tile_columns = uint32_t(plan->columns);
    v->rows_log2 = uint32_t(plan->rows_log2);
    v->columns_log2 = uint32_t(plan->columns_log2);
    v->pitch = uint32_t(plan->pitch);
    v->column0 = p->column0;
    v->ndim = plan->ndim;
    v->shifted = plan->shifted;
    v->staged = plan->staged;
    v->lanes = plan->lanes;
    v->line = uint32_t(plan->line - 1);
    v->used = uint32_t(plan->used);
    v->block = uint32_t(plan->block);
    v->inputs = v->broadcast = 0;
    for (int k = 0; k < operands; ++k) {
        v->column_step[k] = uint32_t(p->strides[k][last]);
        v->row_step[k] = last > 0 ? uint32_t(p->strides[k][last - 1]) : 0;
    }
    for (int32_t d = 0; d < plan->ndim; ++d) {
        gpul__elementwise_dim *const dim = &v->dim[d];
        dim->size = uint32_t(plan->dim[d].size);
        dim->column = uint32_t(plan->dim[d].column);
        dim->row = uint32_t(plan->dim[d].row);
        dim->by = d + 1 < plan->ndim ? gpul__division_by(dim->size) : gpul__division();
        for (int k = 0; k < operands; ++k) dim->step[k] = uint32_t(plan->dim[d].step[k]);
    }
    for (int k = 0; k < 3; ++k) {
        v->in[k] = p->in[k];
        v->scalar[k] = p->scalar[k];
        if (p->in[k] == NULL || p->strides[1 + k][last] == 0) v->broadcast |= 1 << k;
        v->extent[k].begin = v->extent[k].end = 0;
        if (p->in[k] == NULL) continue;
        v->inputs = 1 + k;
        v->extent[k].set(p->in[k], 1 + gpul__reach(p->shape, p->strides[1 + k], p->ndim), op->in_bytes[k]);
        for (int o = 0; o < operands - 3; ++o) {
            gpul__extent out;
            out.set(v->out[o], 1 + gpul__reach(p->shape, p->strides[o == 0 ? 0 : 3 + o], p->ndim), bytes[o]);
            if (v->extent[k].begin < out.end && out.begin < v->extent[k].end) v->extent[k].end = v->extent[k].begin;
        }
    }
}

template <typename Out> struct gpul__output_bytes { static constexpr int first = sizeof(Out), second = 0, third = 0; };
template <typename T, typename U, typename V> struct gpul__output_bytes<gpul__several<T, U, V>> {
    static constexpr int first = sizeof(T), second = gpul__size_of<U>::bytes, third = gpul__size_of<V>::bytes;
};
template <typename Op>
static constexpr gpul__elementwise_op gpul__elementwise_of(decltype(gpul__elementwise_op::launch) launch) {
    return gpul__elementwise_op{
        launch,
        int32_t(gpul__output_bytes<typename Op::Out>::first),
        {int32_t(gpul__size_of<typename Op::A>::bytes), int32_t(gpul__size_of<typename Op::B>::bytes),
         int32_t(gpul__size_of<typename Op::C>::bytes)},
        0,
        {int32_t(gpul__output_bytes<typename Op::Out>::second), int32_t(gpul__output_bytes<typename Op::Out>::third)},
        1,
        0};
}

template <typename Op>
static inline int32_t gpul__elementwise_launch_kernel(const gpul__elementwise_problem *problem,
                                                      const gpul__elementwise_plan *plan, const gpul__machine *machine,
                                                      gpul_stream stream, const Op &op,
                                                      void (*kernel)(const gpul__elementwise_view<Op>)) {
    const gpul__elementwise_op bytes = gpul__elementwise_of<Op>(0);
    gpul__elementwise_view<Op> v;
    gpul__elementwise_describe(&v.layout, problem, plan, &bytes);
    v.op = op;
    return gpul__launch_early(machine->device, kernel, gpul__dim(uint32_t(plan->blocks)),
                              gpul__dim(GPUL__ELEMENTWISE_THREADS), size_t(plan->shared_bytes), stream, v);
}
/* The launcher of an operation without state */
template <typename Op>
static int32_t gpul__elementwise_launch(const gpul__elementwise_problem *problem, const gpul__elementwise_plan *plan,
                                        const gpul__machine *machine, gpul_stream stream) {
    constexpr int kSize = gpul__elementwise_size<Op>::value, kItems = GPUL__ELEMENTWISE_ITEMS(kSize);
    return gpul__elementwise_launch_kernel(
        problem, plan, machine, stream, Op(),
        plan->kernel == GPUL__ELEMENTWISE_VECTORS    ? gpul__elementwise_vectors<Op, 16 / kSize>
        : plan->kernel == GPUL__ELEMENTWISE_ELEMENTS ? gpul__elementwise_elements<Op, kItems>
                                                     : gpul__elementwise_tiles<Op>);
}

/* An input of an operation of your own: an array, or, as gpul_scalar<T>, a run-time value */
template <typename T> struct gpul_scalar {};
template <typename T> struct gpul__input {
    typedef T Element, Array;
    typedef gpul__none Scalar;
    typedef const gpul_array *Parameter;
    static inline gpul__input_value value(const gpul_array *array) {
        gpul__input_value input = {array, 0, gpul__dtype_of<T>::value, 0};
        return input;
    }
};
template <typename T> struct gpul__input<gpul_scalar<T>> {
    typedef T Element, Scalar;
    typedef gpul__none Array;
    typedef T Parameter;
    static inline gpul__input_value value(T scalar) {
        gpul__input_value input = {0, 0, gpul__dtype_of<T>::value, 1};
        memcpy(&input.scalar, &scalar, sizeof scalar);
        return input;
    }
};
template <> struct gpul__input<gpul__none> { typedef gpul__none Element, Array, Scalar; };
/* The operation of the engine of a struct that GPUL_ELEMENTWISE makes */
template <typename Own> struct gpul__own_elementwise {
    typedef typename Own::gpul__Out Out;
    typedef typename Own::gpul__A A;
    typedef typename Own::gpul__B B;
    typedef typename Own::gpul__C C;
    __device__ __forceinline__ Out operator()(A a, B b, C c) const { return Own::gpul__value(a, b, c); }
};
/* What the statements of several outputs set */
template <typename T> struct gpul__variable { typedef T Type; };
template <> struct gpul__variable<gpul_f16> { typedef float Type; };
template <> struct gpul__variable<gpul_bf16> { typedef float Type; };

/* ---- the reduction engine ----
 *
 * One result for each output, of the elements along the reduced dimensions. Bound by memory: each element is read once,
 * 16 bytes at a time where the layout allows it, and a thread issues a batch of loads before it uses the first. One
 * launch for any size: where several blocks share an output, each writes partial results, and the last block to arrive
 * combines them. The bits do not depend on who does the work, because all results are combined in a fixed tree.
 *
 * The tree. A vector is 16 bytes, kN elements. A row is 32 vectors, one for each lane of a warp. A warp tile has
 * tile_rows rows, whose vectors each lane folds in order; a block tile has eight warp tiles. Lanes are combined as
 * adjacent pairs, pairs of pairs and so on, and so are the warp tiles of a block tile. The results of block tiles
 * q, q + 256, ... are folded in order into slot q of 256, and the slots are combined by pairs, too. Missing elements
 * count as the identity. The rows of a block tile's warp tiles are interleaved, so that eight warps read one stretch of
 * memory; where there is one block tile, each warp tile's rows are contiguous. (CONTRIBUTING.md has it as a picture.)
 *
 * The tree of an ordered operation (kOrdered: combine is not commutative) combines neighbours only: the elements of a
 * warp tile and the block tiles of a slot are contiguous, and a lane folds tile_rows consecutive vectors.
 *
 * The tree depends on the number of elements and their size alone. Three kernels compute it, with the same bits:
 *     rows     a warp has a warp tile, and reads along an output's elements: for any layout, fastest where these are
 *              contiguous
 *     short    1 to 32 threads have an output of one warp tile, and each thread several outputs
 *     columns  threads lie along the outputs, where these are contiguous and an output's elements are not
 *
 * An operation is a small struct: types X (an element; gpul__several of several inputs), Y (gpul__none, or the second
 * factor, which all outputs share), Acc (a partial result) and Lane (a lane's running result), and
 *     void begin(first)                         before an output's elements (not called when there are none): a pointer
 *     void enter(int64_t begin)                 before those of a warp tile, which begins at that element
 *     Lane start()                              before the elements of a lane
 *     Lane fold(Lane, const X *x, const Y *y, int count, int at)
 *                                               a vector of them, or its first `count` > 0 where that is less than kN;
 *                                               `at`: the index in the warp tile of the first
 *     Acc  finish(Lane, int64_t begin, int at)  after them; the warp tile begins at `begin`, the lane at its index `at`
 *     Acc  identity(), Acc combine(Acc, Acc)
 *     void combine_each(Acc (&a)[N], const Acc (&b)[N])  combine(a[i], b[i]) to a[i]: a branch is taken once
 *     void store(out, i, dtype, Acc, int64_t n)
 * gpul__reduction has what most of them share. */
#define GPUL__REDUCE_THREADS 256
constexpr int gpul__warps = GPUL__REDUCE_THREADS / 32; /* warps of a block, and warp tiles of a block tile */
constexpr int gpul__max_tiles = 32;                    /* rows: block tiles of a block at most */
#define GPUL__REDUCE_STAGED 2048 /* rows by way of registers: bytes in which a warp stages elements */

/* An operation whose fold branches on a run-time flag takes that branch once for a batch of vectors: op.visit(f) calls
 * f(variant), and variant.fold(op, ...) is op.fold(...) with the branch taken. */
struct gpul__fold_as_is {
    template <typename Op, typename Lane, typename X, typename Y>
    static __device__ __forceinline__ Lane fold(const Op &op, Lane lane, const X *x, const Y *y, int count, int at) {
        return op.fold(lane, x, y, count, at);
    }
};

/* Folds one element after the other by op.one(), unless the operation has a fold of its own. */
template <typename Op, typename T, typename A, typename Y_ = gpul__none> struct gpul__reduction {
    static constexpr int kTogether = 1;          /* rows: outputs of a warp at once, to read y once for all */
    static constexpr int kRowsOnly = 0;          /* has the rows kernel alone */
    static constexpr int kOrdered = 0;           /* combine is not commutative */
    static constexpr int kExact = 0;             /* any tree gives the same bits, and tiles begin at aligned vectors */
    static constexpr int kOneByOne = 1;          /* fold() of part of a vector costs little more than of a whole one */
    static constexpr int kResultBytes = 0;       /* bytes of a result that is a struct */
    static constexpr int kFoldBytes = sizeof(A); /* by which gpul__choose_columns estimates what a fold takes */
    typedef T X;
    typedef Y_ Y;
    typedef A Acc;
    typedef A Lane;
    template <typename Pointer> __device__ __forceinline__ void begin(Pointer) {}
    __device__ __forceinline__ void enter(int64_t) {}
    __device__ __forceinline__ A start() const { return static_cast<const Op *>(this)->identity(); }
    template <typename L> __device__ __forceinline__ L fold(L lane, const T *x, const Y *y, int count, int at) const {
        GPUL__UNROLL_FOR (int k = 0; k < 16 / gpul__size_of<T>::value; ++k)
            if (k < count) lane = static_cast<const Op *>(this)->one(lane, x[k], y[k], at + k);
        return lane;
    }
    template <typename F> __device__ __forceinline__ void visit(const F &f) const { f(gpul__fold_as_is()); }
    template <int N> __device__ __forceinline__ void combine_each(A (&a)[N], const A (&b)[N]) const {
        GPUL__UNROLL_FOR (int i = 0; i < N; ++i) a[i] = static_cast<const Op *>(this)->combine(a[i], b[i]);
    }
    __device__ __forceinline__ A finish(A lane, int64_t, int) const { return lane; }
};

/* One dimension of the outputs, or of an output's elements, innermost first. An index times the innermost stride is the
 * offset, but for what each dimension adds whenever its index wraps around at `whole`: `x` elements of x and `out` of
 * out. Staged elements have indices below 2^30: `by` divides them, and a size of 2^30 stands for all that are larger. */
template <typename Offset> struct gpul__reduce_dim {
    uint32_t size;
    gpul__division by;
    int32_t reciprocal_shift;
    uint64_t reciprocal; /* of `whole`: see gpul__divide_by */
    int64_t whole;
    Offset x;
    int64_t out;
};
#define GPUL__REDUCE_INDEX (1 << 30)

/* What memory may be read: of several inputs, only elements, nothing between them */
struct gpul__no_extent {
    template <typename Pointer> __device__ __forceinline__ bool begins(const Pointer &) const { return true; }
    template <typename Pointer> __device__ __forceinline__ bool holds(const Pointer &, uintptr_t) const { return true; }
    template <typename Pointer> __device__ __forceinline__ int64_t last(const Pointer &, int) const {
        return INT64_MAX;
    }
};
template <typename Offset> struct gpul__extent_of { typedef gpul__no_extent type; };
template <> struct gpul__extent_of<int64_t> { typedef gpul__extent type; };

/* How the engine reads x: one input is a pointer, and offsets from it in elements. */
template <typename X> struct gpul__operand {
    static constexpr int kSeveral = 0;
    typedef const X *Pointer;
    typedef int64_t Offset; /* and a stride */
    template <int N> using Fetch = gpul__fetch<X, N>;
    /* the offset of the count-th element, where an output's elements are contiguous */
    template <typename Count> static __device__ __forceinline__ Count advance(Offset, Count count) { return count; }
    /* N contiguous, aligned elements */
    template <int N> static __device__ __forceinline__ gpul__pack<X, N> load(Pointer p, Offset) {
        return gpul__load<N>(p);
    }
    /* `count` of N elements, from each of kF places */
    template <int N, int kF>
    static __device__ __forceinline__ void gather(const Pointer (&p)[kF], Offset stride, int count,
                                                  gpul__raw (&raw)[kF]) {
        gpul__gather_all<N>(p, stride, count, raw);
    }
    template <int N> static __device__ __forceinline__ gpul__raw load_raw(Pointer p, Offset) {
        return Fetch<N>::aligned(p);
    }
    /* N unaligned elements from p on, of whose two aligned vectors `low` is the first */
    template <int N> static __device__ __forceinline__ gpul__raw realign(const gpul__raw &low, Pointer p) {
        Fetch<N> fetch;
        fetch.low = low;
        fetch.load_high(p); /* the next lane has just loaded it: a hit in the first cache */
        return fetch.get(p);
    }
    static __device__ __forceinline__ Pointer boundary(Pointer p) { return gpul__align_down(p); }
    static __device__ __forceinline__ int to_boundary(Pointer p) {         /* elements from p on to the next one */
        return int(-reinterpret_cast<uintptr_t>(p) & 15) / int(sizeof(X)); /* fault: reduce-exact-begin */
    }
    /* N elements in shared memory */
    template <int N> static __device__ __forceinline__ gpul__pack<X, N> staged(const X *p) { return gpul__load<N>(p); }
    static Pointer pointer(const gpul__reduce_problem &p) { return static_cast<const X *>(p.x); }
};

/* Several inputs are a pointer each, with strides of their own. In load() a stride is 1, or 0: one element for all. */
struct gpul__offsets {
    int64_t at[3];
    __device__ __host__ __forceinline__ gpul__offsets &operator+=(const gpul__offsets &by) {
        GPUL__UNROLL_FOR (int k = 0; k < 3; ++k) at[k] += by.at[k];
        return *this;
    }
};
static __device__ __host__ __forceinline__ gpul__offsets operator*(int64_t times, const gpul__offsets &strides) {
    return {{times * strides.at[0], times * strides.at[1], times * strides.at[2]}};
}
template <typename T, typename U, typename V> struct gpul__pointers {
    const T *x;
    const U *y;
    const V *z;
    __device__ __forceinline__ gpul__pointers operator+(const gpul__offsets &by) const {
        return {x + by.at[0], y + by.at[1], z + by.at[2]}; /* fault: several-offsets */
    }
    __device__ __forceinline__ gpul__several<T, U, V> operator[](const gpul__offsets &i) const {
        return {gpul__at(x, i.at[0]), gpul__at(y, i.at[1]), gpul__at(z, i.at[2])};
    }
};
template <int N, typename T>
static __device__ __forceinline__ gpul__pack<T, N> gpul__load_or_broadcast(const T *p, int64_t stride) {
    if (stride != 0) return gpul__load<N>(p);
    gpul__pack<T, N> pack;
    gpul__fill(pack.v, *p);
    return pack;
}
template <int N>
static __device__ __forceinline__ gpul__pack<gpul__none, N> gpul__load_or_broadcast(const gpul__none *, int64_t) {
    return gpul__pack<gpul__none, N>();
}
template <typename T, typename U, typename V, int N> struct gpul__fetch<gpul__several<T, U, V>, N> {
    typedef gpul__pointers<T, U, V> Pointer;
    typedef gpul__pack<gpul__several<T, U, V>, N> Raw;
    Raw low;
    __device__ __forceinline__ void load(const Pointer &p, const gpul__offsets &stride) {
        low = gpul__operand<gpul__several<T, U, V>>::template load<N>(p, stride);
    }
    __device__ __forceinline__ Raw get(const Pointer &) const { return low; }
    static __device__ __forceinline__ Raw unpacked(const Raw &raw) { return raw; }
};
template <typename T, typename U, typename V> struct gpul__operand<gpul__several<T, U, V>> {
    static constexpr int kSeveral = 1;
    typedef gpul__several<T, U, V> X;
    typedef gpul__pointers<T, U, V> Pointer;
    typedef gpul__offsets Offset;
    template <int N> using Fetch = gpul__fetch<X, N>;
    template <int N>
    static __device__ __forceinline__ gpul__pack<X, N> realign(const gpul__pack<X, N> &low, const Pointer &) {
        return low;
    }
    template <int N>
    static __device__ __forceinline__ gpul__pack<X, N> load_raw(const Pointer &p, const Offset &stride) {
        return load<N>(p, stride);
    }
    static __device__ __forceinline__ Pointer boundary(const Pointer &p) { return p; }
    static __device__ __forceinline__ int to_boundary(const Pointer &) { return 0; }
    static __device__ __forceinline__ Offset advance(const Offset &stride, int64_t count) { return count * stride; }
    template <int N> static __device__ __forceinline__ gpul__pack<X, N> load(const Pointer &p, const Offset &stride) {
        const gpul__pack<T, N> x = gpul__load_or_broadcast<N>(p.x, stride.at[0]);
        const gpul__pack<U, N> y = gpul__load_or_broadcast<N>(p.y, stride.at[1]);
        const gpul__pack<V, N> z = gpul__load_or_broadcast<N>(p.z, stride.at[2]);
        gpul__pack<X, N> pack;
        GPUL__UNROLL_FOR (int k = 0; k < N; ++k) {
            pack.v[k].x = x.v[k];
            pack.v[k].y = y.v[k];
            pack.v[k].z = z.v[k];
        }
        return pack;
    }
    template <int N, int kF>
    static __device__ __forceinline__ void gather(const Pointer (&p)[kF], const Offset &stride, int count,
                                                  gpul__pack<X, N> (&packs)[kF]) {
        GPUL__UNROLL_NOT
        for (int k = 0; k < N; ++k) {
            GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) {
                gpul__shift_left<1>(packs[u].v);
                packs[u].v[N - 1] = p[u][(k < count ? k : count - 1) * stride];
            }
        }
    }
    template <int N> static __device__ __forceinline__ gpul__pack<X, N> staged(const X *p) {
        gpul__pack<X, N> pack;
        GPUL__UNROLL_FOR (int k = 0; k < N; ++k) pack.v[k] = p[k];
        return pack;
    }
    static Pointer pointer(const gpul__reduce_problem &p) {
        return {static_cast<const T *>(p.inputs->data[0]), static_cast<const U *>(p.inputs->data[1]),
                static_cast<const V *>(p.inputs->data[2])};
    }
};

/* A thread of the columns kernel takes `value` columns: 16 bytes at most, and two where an accumulator is large. kLanes
 * vectors of each are in flight, of one lane of a warp tile or of several. */
template <typename Op> struct gpul__columns {
    static constexpr int kFew = sizeof(typename Op::Lane) > 16 || gpul__operand<typename Op::X>::kSeveral;
    static constexpr int kSize = gpul__size_of<typename Op::X>::value, kN = 16 / kSize, kMost = kFew ? 2 : 4;
    static constexpr int value = kN < kMost ? kN : kMost, kBytes = kMost * kSize;
    static constexpr int kLanes = kBytes > 8 ? kBytes / 8 : 1;
};
/* A thread of the short kernel takes `value` outputs at once. */
template <typename Op> struct gpul__short {
    static constexpr int kSize = gpul__size_of<typename Op::X>::value;
    static constexpr int kFew = kSize < 4 || sizeof(typename Op::Lane) > 16 || gpul__operand<typename Op::X>::kSeveral;
    static constexpr int value = kFew ? 4 : 8;
};

/* Where the elements of an output lie, and what memory may be read */
template <typename Offset> struct gpul__reduce_source {
    typename gpul__extent_of<Offset>::type extent;
    Offset stride;      /* of the innermost dimension */
    int32_t ndim, zero; /* zero: for gpul__schedule_fence */
    int32_t near;       /* 1: any two of them are less than 2^31 elements apart */
    gpul__reduce_dim<Offset> dim[GPUL_MAX_DIMS - 1];
};
/* A kernel's arguments. What every block needs comes first, to touch few cache lines of them. */
template <typename Op> struct gpul__reduce_operation {
    typename gpul__operand<typename Op::X>::Pointer x;
    const typename Op::Y *y;
    typename Op::Acc *partials;
    Op op;
};
template <typename Offset> struct gpul__reduce_layout {
    uint32_t *counters;
    void *out;
    int64_t n, outputs;
    Offset x_outer; /* strides of the innermost outer dimension */
    int64_t out_outer;
    Offset x_stride; /* of the innermost reduced dimension */
    int64_t y_stride;
    gpul_dtype out_dtype;
    int32_t outer_ndim, zero; /* zero: for gpul__schedule_fence */
    /* what blocks are divided by: see gpul__reduce_assignment_of; columns: a block's threads along the outputs, and the
     * threads of a row of outputs */
    gpul__division by_split, by_width, by_row;
    gpul__reduce_plan plan;
    gpul__reduce_source<Offset> source;
    gpul__reduce_dim<Offset> outer[GPUL_MAX_DIMS - 1];
};
template <typename Op>
struct gpul__reduce_view : gpul__reduce_operation<Op>,
                           gpul__reduce_layout<typename gpul__operand<typename Op::X>::Offset> {
    typedef gpul__operand<typename Op::X> Operand;
};

/* An accumulator of another lane, word by word: of the lane `distance` above (down), or of the partner in a
 * butterfly. */
template <typename Acc> static __device__ __forceinline__ Acc gpul__shuffle(Acc a, int distance, bool down) {
    typedef typename gpul__word<sizeof(Acc) % 8 == 0 ? 8 : sizeof(Acc) % 4 == 0 ? 4 : 1>::type Word;
    constexpr int kBytes = sizeof(Word), kWords = sizeof(Acc) / kBytes;
    Acc result;
    GPUL__UNROLL_FOR (int k = 0; k < kWords; ++k) {
        unsigned long long word = 0;
        memcpy(&word, reinterpret_cast<const char *>(&a) + k * kBytes, kBytes);
        if (kBytes == 8)
            word = down ? __shfl_down_sync(0xffffffffu, word, unsigned(distance))
                        : __shfl_xor_sync(0xffffffffu, word, distance);
        else
            word = down ? __shfl_down_sync(0xffffffffu, unsigned(word), unsigned(distance))
                        : __shfl_xor_sync(0xffffffffu, unsigned(word), distance);
        memcpy(reinterpret_cast<char *>(&result) + k * kBytes, &word, kBytes);
    }
    return result;
}

/* A block's work: a tile of outputs, and one of the splits of their elements. Neighbouring blocks read neighbouring
 * memory. In the rows kernel these are splits of one output tile; in the columns kernel, and in the rows kernel with a
 * y, output tiles, which then read the same part of y while it is in the cache. */
struct gpul__reduce_assignment {
    uint32_t output_tile, split;
};
template <typename Layout>
static __device__ __forceinline__ gpul__reduce_assignment gpul__reduce_assignment_of(const Layout &v,
                                                                                     bool outputs_first) {
    gpul__reduce_assignment share = {blockIdx.x, 0};
    if (v.plan.splits > 1) {
        const uint32_t fast = outputs_first ? uint32_t(v.plan.output_tiles) : uint32_t(v.plan.splits);
        const uint32_t slow = gpul__quotient(blockIdx.x, v.by_split), quick = blockIdx.x - slow * fast;
        share.output_tile = outputs_first ? quick : slow;
        share.split = outputs_first ? slow : quick;
    }
    return share;
}

/* Where a warp tile begins, and how many elements it spans to its end or the output's, rows of other warps included. */
struct gpul__reduce_span {
    int64_t begin;
    int length;
};
template <int kRow>
static __device__ __forceinline__ gpul__reduce_span gpul__reduce_span_of(int64_t n, const gpul__reduce_plan &p,
                                                                         int tile) {
    gpul__reduce_span span;
    const int64_t rows = p.tile_rows;
    span.begin = (p.row_step == 1 ? tile * rows : (tile & ~(gpul__warps - 1)) * rows + tile % gpul__warps) * kRow;
    const int64_t rest = n - span.begin, most = rows * p.row_step * kRow;
    span.length = int(rest < most ? rest : most);
    return span;
}

/* Distances in a warp tile, in elements: from one lane's first vector to the next lane's, and from a lane's vector to
 * its next. */
template <typename Op> struct gpul__reduce_steps {
    static constexpr int kN = 16 / gpul__size_of<typename Op::X>::value, kRow = 32 * kN;
    int lane, vector;
    __device__ __forceinline__ explicit gpul__reduce_steps(const gpul__reduce_plan &p) {
        lane = Op::kOrdered ? int(p.tile_rows) * kN : kN;
        vector = Op::kOrdered ? kN : int(p.row_step * kRow);
    }
    /* the end of the elements of the lane that begins at `first`, in a tile of `length` */
    __device__ __forceinline__ int end(int first, int length) const {
        return Op::kOrdered && length - first > lane ? first + lane : length; /* fault: ordered-lane-ends */
    }
};

/* The partial results that are folded into each slot: every `slots`-th, and of an ordered operation neighbours. */
template <typename Op> struct gpul__reduce_leaves {
    int count, slot_stride, step; /* all leaves; from a slot's first to the next slot's first, and to its own second */
    __device__ __forceinline__ gpul__reduce_leaves(int count_, int slots) {
        count = count_;
        slot_stride = Op::kOrdered ? (count + slots - 1) / slots : 1; /* fault: ordered-slots */
        step = Op::kOrdered ? 1 : slots;
    }
    __device__ __forceinline__ int first(int slot) const { return slot * slot_stride; }
    __device__ __forceinline__ int end(int slot) const {
        return Op::kOrdered && (slot + 1) * slot_stride < count ? (slot + 1) * slot_stride : count;
    }
};

/* Offsets of an output's elements and of its result */
template <typename Offset> struct gpul__reduce_offsets {
    Offset x;
    int64_t out;
};
template <int kCount, typename View>
static __device__ __forceinline__ void
gpul__reduce_outputs(const View &v, const int64_t (&output)[kCount],
                     gpul__reduce_offsets<typename View::Operand::Offset> (&offsets)[kCount]) {
    int64_t index[kCount];
    GPUL__UNROLL_FOR (int k = 0; k < kCount; ++k) {
        index[k] = output[k];
        offsets[k].x = output[k] * v.x_outer;
        offsets[k].out = output[k] * v.out_outer;
    }
    GPUL__UNROLL_NOT
    for (int32_t d = 0; d + 1 < v.outer_ndim; ++d) {
        const auto &dim = v.outer[d];
        GPUL__UNROLL_FOR (int k = 0; k < kCount; ++k) {
            index[k] = gpul__divided(index[k], dim.reciprocal, dim.reciprocal_shift);
            offsets[k].x += index[k] * dim.x;
            offsets[k].out += index[k] * dim.out;
        }
    }
}
template <typename View>
static __device__ __forceinline__ gpul__reduce_offsets<typename View::Operand::Offset>
gpul__reduce_output(const View &v, int64_t output) {
    const int64_t outputs[1] = {output};
    gpul__reduce_offsets<typename View::Operand::Offset> offsets[1];
    gpul__reduce_outputs<1>(v, outputs, offsets);
    return offsets[0];
}

/* The tree over each `count` neighbouring lanes, a power of two; the first of them gets the result. */
template <typename Op>
static __device__ __forceinline__ typename Op::Acc gpul__reduce_warp(const Op &op, typename Op::Acc acc, int count) {
    GPUL__UNROLL_NOT
    for (int d = 1; d < count; d *= 2) acc = op.combine(acc, gpul__shuffle(acc, d, true));
    return acc;
}

/* The same over all lanes, unrolled: each tile ends with it, and nothing else goes on in the warp meanwhile. */
template <typename Op>
static __device__ __forceinline__ typename Op::Acc gpul__reduce_all_lanes(const Op &op, typename Op::Acc acc) {
    GPUL__UNROLL_FOR (int d = 1; d < 32; d *= 2) acc = op.combine(acc, gpul__shuffle(acc, d, true));
    return acc;
}

/* A thread arrives. True if it is the last of so many; the counter is then zero again, for the next kernel. */
static __device__ __forceinline__ bool gpul__arrive(uint32_t *counter, uint32_t threads) {
#ifdef __CUDA_ARCH__
    uint32_t before;
    asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
#else
    __threadfence();
    const uint32_t before = atomicAdd(counter, 1u);
    __threadfence();
#endif
    const bool last = before == threads - 1; /* fault: reduce-second-is-last */
    if (last) *counter = 0;                  /* fault: reduce-counters-left */
    return last;
}
/* True in all threads of the block that is the last of `blocks` to arrive; it sees what the threads of the others have
 * written. All threads call it. One thread's acquire-release addition stands for the block, by the barriers around it:
 * cheaper than a fence of every thread. */
static __device__ __forceinline__ bool gpul__arrive_last(uint32_t *counter, uint32_t blocks, uint32_t *shared_flag) {
    __syncthreads();
    if (threadIdx.x == 0) *shared_flag = gpul__arrive(counter, blocks);
    __syncthreads();
    return *shared_flag != 0;
}

/* ---- rows ----
 *
 * A warp has a warp tile: its lanes fold batches of vectors, and a shuffle tree combines the lanes. A block of eight
 * warps takes a block tile or a piece of one, or, where outputs have fewer warp tiles, several outputs. It does so
 * plan.tiles times before its first barrier. Elements of 4 and 8 bytes are copied to shared memory, wherever they lie, in
 * a kernel for those that are contiguous and one for others. One kernel has the smaller elements, ordered operations and
 * several inputs: it loads contiguous vectors to registers, and stages the rest in shared memory. */

/* Where a warp stages elements, of so many bytes */
template <typename X> static __device__ __forceinline__ X *gpul__reduce_stage_of_warp(int bytes) {
    GPUL_SHARED(char, memory);
    return reinterpret_cast<X *>(memory + int(threadIdx.x / 32) * bytes);
}

template <int kO, typename Op> struct gpul__reduce_lanes { typename Op::Lane lane[kO]; };
/* Where the elements of kO outputs begin */
template <int kO, typename X> struct gpul__reduce_operands { typename gpul__operand<X>::Pointer x[kO]; };

/* ---- rows by way of registers ---- */

/* Folds what the batches of gpul__reduce_tile leave: a lane's contiguous vectors from element `at` on, aligned or not, of
 * which the last may be partial. */
template <typename Op>
static __device__ __forceinline__ typename Op::Lane
gpul__reduce_remainder(const gpul__reduce_view<Op> &v, Op op, typename Op::Lane acc,
                       typename gpul__operand<typename Op::X>::Pointer from, int at, int length) {
    typedef typename Op::X X;
    typedef gpul__operand<X> Operand;
    typedef typename Operand::Offset Offset;
    typedef gpul__fetch<X, 16 / gpul__size_of<X>::value> Fetch;
    enum { kN = 16 / gpul__size_of<X>::value, kSize = gpul__size_of<X>::value }; /* which the lambda does not capture */
    constexpr int kBatch = Operand::kSeveral ? 2 : 4;
    const int step = gpul__reduce_steps<Op>(v.plan).vector;
    const Offset stride = v.x_stride;
    const gpul__pack<gpul__none, kN> none = {};
    /* Where the last vector may begin that is loaded as a whole. What is beyond the output's end is not folded. */
    constexpr int kPartial = Op::kOneByOne && !Operand::kSeveral;
    int64_t last = kPartial ? length - 1 : length - int(kN);
    const int64_t end = v.source.extent.last(from, kSize);
    if (end < last) last = end;
    GPUL__UNROLL_NOT
    while (at < length) {
        int whole_vectors = 0; /* of this batch */
        GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) {
            const int next = at + u * step;
            const bool whole =
                whole_vectors == u && next <= last && v.source.extent.begins(from + Operand::advance(stride, next));
            whole_vectors += whole ? 1 : 0;
        }
        typename Fetch::Raw vx[kBatch] = {};
        if (whole_vectors > 0) {
            Fetch fx[kBatch];
            GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) {
                const int next = at + (u < whole_vectors ? u * step : 0); /* the first again */
                fx[u].load(from + Operand::advance(stride, next), stride);
            }
            gpul__schedule_fence(v.zero);
            GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) /* rows are whole vectors apart: shifted alike */
                vx[u] = fx[u].get(from + Operand::advance(stride, at));
        } else {
            const int count = length - at;
            const typename Operand::Pointer x[1] = {from + Operand::advance(stride, at)};
            typename Fetch::Raw gathered[1] = {};
            Operand::template gather<kN>(x, stride, count, gathered);
            vx[0] = gathered[0];
            if (!kPartial) acc = op.fold(acc, Fetch::unpacked(vx[0]).v, none.v, count, at);
            if (kPartial) whole_vectors = 1;
            else at += step;
        }
        op.visit([&](auto variant) {
            GPUL__UNROLL_BY((kPartial ? 1 : kBatch)) /* moments take their time */
            for (int u = 0; u < kBatch; ++u, at += step) {
                if (u >= whole_vectors) break;                      /* fault: reduce-vector-twice */
                const int count = kPartial ? length - at : int(kN); /* fault: reduce-beyond-end */
                acc = variant.fold(op, acc, Fetch::unpacked(vx[0]).v, none.v, count, at);
                gpul__shift_left<1>(vx);
            }
        });
    }
    return acc;
}

/* Where a warp tile begins in x: its offset, and of each dimension the index there. (Of a size beyond 2^30, as if it
 * were 2^30 and ended at the same element.) */
template <typename Offset> struct gpul__reduce_origin {
    Offset offset;
    uint32_t inner; /* of the innermost; the others are in memory, since loops choose one */
    const uint32_t *outer;
    __device__ __forceinline__ uint32_t index(int32_t d) const { return d == 0 ? inner : outer[d - 1]; }
};
template <typename X>
static __device__ __forceinline__ void
gpul__reduce_find_origin(gpul__reduce_origin<typename gpul__operand<X>::Offset> *origin,
                         uint32_t (&outer)[GPUL_MAX_DIMS - 2],
                         const gpul__reduce_source<typename gpul__operand<X>::Offset> &s, int64_t begin) {
    origin->offset = begin * s.stride;
    origin->inner = 0;
    origin->outer = outer;
    GPUL__UNROLL_NOT
    for (int32_t d = 0; d + 1 < s.ndim; ++d) {
        const int64_t row = gpul__divided(begin, s.dim[d].reciprocal, s.dim[d].reciprocal_shift);
        const int64_t rest = begin - row * s.dim[d].whole - (s.dim[d].whole - s.dim[d].size);
        const uint32_t index = rest < 0 ? 0 : uint32_t(rest); /* fault: reduce-staged-before */
        begin = row;
        origin->offset += row * s.dim[d].x;
        if (d == 0) origin->inner = index;
        else outer[d - 1] = index;
    }
}
/* Rows of a warp tile that a warp stages at once */
template <typename X> struct gpul__reduce_rows_of {
    static constexpr int kSize = gpul__size_of<X>::value, kN = 16 / kSize, kRow = 32 * kN;
    static constexpr int kFit = GPUL__REDUCE_STAGED / (kRow * int(sizeof(X))), value = kFit < 4 ? kFit : 4;
    static_assert(int(value) > 0, "a row has no room in shared memory");
};
/* Stages elements of one or two bytes as vectors, where they are contiguous along the innermost dimension and it has a
 * vector or more: of each row, each lane loads its 16 bytes, unaligned. A vector that the end of a dimension cuts in
 * two is loaded twice, on both sides of the cut. `first` is the lane's first element, `vector` the distance from row to
 * row. False where some lane may not read all 16 bytes. (Larger elements are staged one by one: these loads are few
 * enough to be in flight together.) */
template <typename X>
static __device__ __forceinline__ bool gpul__reduce_stage_vectors(std::true_type, const gpul__reduce_source<int64_t> &s,
                                                                  const gpul__reduce_origin<int64_t> &origin,
                                                                  const X *x, int first, int vector, int length,
                                                                  X *stage) {
    constexpr int kN = 16 / sizeof(X), kRows = gpul__reduce_rows_of<X>::value;
    const auto &inner = s.dim[0];
    if (s.ndim < 2 || s.stride != 1 || inner.whole < kN) return false;
    GPUL__UNROLL_NOT
    for (uint32_t h = 0; h < 2; ++h) {
        gpul__fetch<X, kN> fetch[kRows];
        const X *p[kRows];
        uint32_t left[kRows];
        bool whole = true, broken = false;
        GPUL__UNROLL_FOR (int r = 0; r < kRows; ++r) {
            const int index = first + r * vector < length ? first + r * vector : length - 1;
            const uint32_t at = uint32_t(index) + origin.inner;
            uint32_t row = gpul__quotient(at, inner.by);
            left[r] = (row + 1) * inner.size - at;
            broken = broken || left[r] < uint32_t(kN);
            row += left[r] < uint32_t(kN) ? h : 0;
            p[r] = x + index + int64_t(row) * inner.x;
            GPUL__UNROLL_NOT
            for (int32_t d = 1; d + 1 < s.ndim; ++d) {
                row = gpul__quotient(row + origin.index(d), s.dim[d].by);
                p[r] += int64_t(row) * s.dim[d].x;
            }
            whole = whole && s.extent.begins(p[r]) && s.extent.last(p[r], 1) >= 0;
        }
        if (!__all_sync(0xffffffffu, whole)) {
            __syncwarp(); /* some may have been stored already */
            return false;
        }
        GPUL__UNROLL_FOR (int r = 0; r < kRows; ++r) fetch[r].load(p[r]);
        gpul__schedule_fence(s.zero);
        GPUL__UNROLL_FOR (int r = 0; r < kRows; ++r) {
            gpul__raw raw = fetch[r].get(p[r]);
            uint32_t *const to = reinterpret_cast<uint32_t *>(stage + (r * 32 + int(threadIdx.x % 32)) * kN);
            if (h > 0) { /* keeps the bytes before the cut */
                const gpul__raw before = gpul__load<4>(to);
                GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) {
                    const uint32_t behind =
                        gpul__missing_bytes(int(left[r] < uint32_t(kN) ? left[r] : kN) * int(sizeof(X)), w);
                    raw.v[w] = (before.v[w] & ~behind) | (raw.v[w] & behind); /* fault: reduce-broken-vectors */
                }
            }
            gpul__save<4>(to, raw);
        }
        if (!__any_sync(0xffffffffu, broken)) break;
    }
    return true;
}
template <typename X, typename Source, typename Start, typename Pointer>
static __device__ __forceinline__ bool gpul__reduce_stage_vectors(std::false_type, const Source &, const Start &,
                                                                  const Pointer &, int, int, int, X *) {
    return false;
}
/* Offsets from a warp tile's beginning, of elements `index` of it; in 32 bits where elements are near each other, which
 * is half of the instructions: they wrap, and the sum does not. */
template <typename Offset> struct gpul__reduce_times {
    template <typename Stride> static __device__ __forceinline__ Offset of(uint32_t times, const Stride &stride) {
        return int64_t(times) * stride;
    }
};
template <> struct gpul__reduce_times<uint32_t> {
    static __device__ __forceinline__ uint32_t of(uint32_t times, int64_t stride) { return times * uint32_t(stride); }
};
template <typename Offset, int kCount, typename Stride>
static __device__ __forceinline__ void gpul__reduce_find_elements(Offset (&offset)[kCount], uint32_t (&index)[kCount],
                                                                  const gpul__reduce_source<Stride> &s,
                                                                  const gpul__reduce_origin<Stride> &origin) {
    GPUL__UNROLL_FOR (int k = 0; k < kCount; ++k) offset[k] = gpul__reduce_times<Offset>::of(index[k], s.stride);
    GPUL__UNROLL_NOT
    for (int32_t d = 0; d + 1 < s.ndim; ++d) {
        const auto &dim = s.dim[d];
        const uint32_t more = origin.index(d);
        GPUL__UNROLL_FOR (int k = 0; k < kCount; ++k) {
            index[k] = gpul__quotient(index[k] + more, dim.by);
            offset[k] += gpul__reduce_times<Offset>::of(index[k], dim.x);
        }
    }
}
/* The element at an offset, which may be before the tile's first one */
template <typename Pointer, typename Offset>
static __device__ __forceinline__ auto gpul__reduce_element(const Pointer &x, const Offset &offset)
    -> decltype(x[offset]) {
    return x[offset];
}
template <typename T> static __device__ __forceinline__ T gpul__reduce_element(const T *x, uint32_t offset) {
    return x[int32_t(offset)]; /* fault: reduce-near-before */
}
/* Stages elements one by one, kCount of a lane in flight: neighbouring lanes load neighbouring elements. */
template <typename X, typename Offset, int kCount>
static __device__ __forceinline__ void
gpul__reduce_stage_each(const gpul__reduce_source<typename gpul__operand<X>::Offset> &s,
                        const gpul__reduce_origin<typename gpul__operand<X>::Offset> &origin,
                        typename gpul__operand<X>::Pointer x, int at, int stop, int lane, int vector, int length,
                        X *stage) {
    constexpr int kN = 16 / gpul__size_of<X>::value, kAll = gpul__reduce_rows_of<X>::value * kN;
    constexpr int kPart = kCount / 2; /* offsets are computed in two halves, to save registers */
    const int thread = int(threadIdx.x % 32);
    GPUL__UNROLL_NOT
    for (int c = 0; c < kAll; c += kCount) {
        if (at + c / kN * vector >= stop) return;
        X element[kCount];
        GPUL__UNROLL_FOR (int h = 0; h < kCount; h += kPart) {
            Offset offset[kPart];
            uint32_t index[kPart];
            GPUL__UNROLL_FOR (int k = 0; k < kPart; ++k) {
                const int row = (c + h + k) / kN, j = (c + h + k) % kN * 32 + thread;
                const int mine = at + row * vector + j / kN * lane + j % kN;
                index[k] = uint32_t(mine < length ? mine : length - 1); /* beyond the last, that again */
            }
            gpul__reduce_find_elements(offset, index, s, origin);
            GPUL__UNROLL_FOR (int k = 0; k < kPart; ++k) element[h + k] = gpul__reduce_element(x, offset[k]);
        }
        gpul__schedule_fence(s.zero);
        GPUL__UNROLL_FOR (int k = 0; k < kCount; ++k) stage[(c + k) * 32 + thread] = element[k];
    }
}
/* Stages rows that begin at element `at`, the vectors of their lanes `lane` elements apart; at `stop` and beyond there
 * are none. Whole warps call it. */
template <typename X>
static __device__ __forceinline__ void
gpul__reduce_stage(const gpul__reduce_source<typename gpul__operand<X>::Offset> &s,
                   const gpul__reduce_origin<typename gpul__operand<X>::Offset> &origin,
                   typename gpul__operand<X>::Pointer x, int at, int stop, int lane, int vector, int length) {
    typedef gpul__operand<X> Operand;
    typedef typename Operand::Offset Offset;
    typedef typename std::conditional<Operand::kSeveral, Offset, uint32_t>::type Near;
    X *const stage = gpul__reduce_stage_of_warp<X>(GPUL__REDUCE_STAGED);
    constexpr int kN = 16 / gpul__size_of<X>::value, kAll = gpul__reduce_rows_of<X>::value * kN;
    constexpr int kFew = kAll < 4 ? kAll : 4, kCount = Operand::kSeveral ? kFew : kAll < 16 ? kAll : 16;
    const int thread = int(threadIdx.x % 32);
    __syncwarp(); /* fault: reduce-staged-early */
    typedef std::integral_constant<bool, sizeof(X) <= 2 && !Operand::kSeveral> Vectors;
    if (gpul__reduce_stage_vectors<X>(Vectors(), s, origin, x, at + thread * lane, vector, length, stage)) return;
    /* Where all of them lie `stride` apart, in one row of the innermost dimension, an element costs one addition. */
    constexpr int kRowsOf = kAll / kN;
    const int end = at + (kRowsOf - 1) * vector + 32 * kN;
    const auto run_of = [&](int i) {
        return s.ndim < 2 ? 0u : gpul__quotient(uint32_t(i) + origin.inner, s.dim[0].by);
    };
    uint32_t run = run_of(at);
    if (lane == kN && end <= length && run == run_of(end - 1)) {
        Offset offset = int64_t(at + thread) * s.stride;
        const Offset step = int64_t(32) * s.stride, next = int64_t(vector - 32 * kN) * s.stride, here = {};
        GPUL__UNROLL_NOT
        for (int32_t d = 0; d + 1 < s.ndim; ++d) {
            if (d > 0) run = gpul__quotient(run + origin.index(d), s.dim[d].by);
            offset += int64_t(run) * s.dim[d].x;
        }
        x = x + offset;
        GPUL__UNROLL_NOT
        for (int c = 0; c < kAll; c += kCount) {
            X element[kCount];
            GPUL__UNROLL_FOR (int k = 0; k < kCount; ++k) {
                element[k] = x[here];
                x = x + step;
                if ((k + 1) % kN == 0) x = x + next; /* fault: reduce-staged-rows */
            }
            gpul__schedule_fence(s.zero);
            GPUL__UNROLL_FOR (int k = 0; k < kCount; ++k) stage[(c + k) * 32 + thread] = element[k];
        }
        return;
    }
    if (!Operand::kSeveral && s.near)
        gpul__reduce_stage_each<X, Near, kCount>(s, origin, x, at, stop, lane, vector, length, stage);
    else gpul__reduce_stage_each<X, Offset, kFew>(s, origin, x, at, stop, lane, vector, length, stage);
}
/* Folds a warp tile whose elements are not contiguous: they are staged in shared memory, where each lane finds vectors.
 * Whole warps call it. In line, for what functions out of line are passed is read by generic loads, arguments too. */
template <typename Op>
static __device__ __forceinline__ typename Op::Lane
gpul__reduce_gathered(const gpul__reduce_view<Op> &v, Op op, typename Op::Lane acc,
                      typename gpul__operand<typename Op::X>::Pointer from, int64_t begin, int length) {
    typedef typename Op::X X;
    typedef gpul__operand<X> Operand;
    constexpr int kN = 16 / gpul__size_of<X>::value, kRow = 32 * kN, kRows = gpul__reduce_rows_of<X>::value;
    const X *const stage = gpul__reduce_stage_of_warp<X>(GPUL__REDUCE_STAGED);
    const gpul__pack<gpul__none, kN> none = {};
    const gpul__reduce_steps<Op> steps(v.plan);
    const int lane = int(threadIdx.x % 32), first = lane * steps.lane, end = steps.end(first, length);
    uint32_t outer[GPUL_MAX_DIMS - 2];
    gpul__reduce_origin<typename Operand::Offset> origin;
    gpul__reduce_find_origin<X>(&origin, outer, v.source, begin);
    const int stop = Op::kOrdered && steps.lane < length ? steps.lane : length;
    GPUL__UNROLL_NOT
    for (int at = 0; at < stop; at += kRows * steps.vector) { /* the warp's lanes agree */
        gpul__reduce_stage<X>(v.source, origin, from + origin.offset, at, stop, steps.lane, steps.vector, length);
        __syncwarp();
        GPUL__UNROLL_NOT
        for (int r = 0; r < kRows; ++r) {
            const int mine = first + at + r * steps.vector, count = end - mine;
            if (count <= 0) continue;
            const gpul__pack<X, kN> vx = Operand::template staged<kN>(stage + r * kRow + lane * kN);
            acc = op.fold(acc, vx.v, none.v, count, mine);
        }
    }
    return acc;
}

/* Folds a batch: kBatch vectors of kO outputs and of y, the first at element `at`. */
template <int kO, int kBatch, int kUnroll, typename Variant, typename Op, typename Raw, int kN>
static __device__ __forceinline__ void
gpul__reduce_fold(Variant variant, const Op &op, gpul__reduce_lanes<kO, Op> &acc, Raw (&vx)[kO][kBatch],
                  gpul__pack<typename Op::Y, kN> (&vy)[kBatch], int &at, int step) {
    typedef gpul__fetch<typename Op::X, kN> Fetch;
    GPUL__UNROLL_BY(kUnroll)
    for (int u = 0; u < kBatch; ++u, at += step) {
        GPUL__UNROLL_FOR (int o = 0; o < kO; ++o)
            acc.lane[o] = variant.fold(op, acc.lane[o], Fetch::unpacked(vx[o][0]).v, vy[0].v, kN, at);
        GPUL__UNROLL_FOR (int q = 0; q + 1 < kBatch; ++q) { /* as gpul__shift_left, of all at once */
            GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) vx[o][q] = vx[o][q + 1];
            vy[q] = vy[q + 1];
        }
    }
}

/* Folds a warp tile of one output, whose elements begin at `from`. */
template <bool kDense, bool kGathered, typename Op>
static __device__ __forceinline__ void
gpul__reduce_tile(std::false_type, const gpul__reduce_view<Op> &v, const Op &op, gpul__reduce_lanes<1, Op> &acc,
                  const gpul__reduce_operands<1, typename Op::X> &operand, const gpul__reduce_span &span) {
    typedef typename Op::X X;
    typedef gpul__operand<X> Operand;
    typedef gpul__fetch<X, 16 / gpul__size_of<X>::value> Fetch;
    static_assert(gpul__size_of<typename Op::Y>::bytes == 0, "a second factor has elements of 4 or 8 bytes");
    constexpr int kN = 16 / gpul__size_of<X>::value, kRow = 32 * kN;
    /* vectors in flight: four are 48 KB of a multiprocessor, and more take longer; but those of ordered operations lie
     * apart */
    constexpr int kBig = sizeof(typename Op::Lane) > 16 || Operand::kSeveral;
    constexpr int kBatch = kN > 4 || kBig ? 4 : 8, kUnroll = kN > 8 ? 1 : kBatch;
    const gpul__reduce_steps<Op> steps(v.plan);
    const int first = int(threadIdx.x % 32) * steps.lane, step = steps.vector;
    int length = span.length, at = first;
    if (!kDense || !v.plan.dense) {
        if (kGathered) acc.lane[0] = gpul__reduce_gathered(v, op, acc.lane[0], operand.x[0], span.begin, length);
        return;
    }
    const typename Operand::Pointer from = operand.x[0] + Operand::advance(v.x_stride, span.begin);
    /* Where any tree gives the same bits, and tiles have batches, they begin at their first aligned vectors, and end where
     * the next ones begin; the first tile's first lane has what comes before. */
    if (Op::kExact && v.plan.tile_rows >= kBatch && v.n >= kBatch * kRow) {
        const int before = Operand::to_boundary(from);
        const int64_t rest = v.n - span.begin;
        length = rest - length < before ? int(rest) : length + before; /* fault: reduce-exact-end */
        if (span.begin == 0 && first == 0)
            acc.lane[0] = gpul__reduce_remainder(v, op, acc.lane[0], from, 0, before < length ? before : length);
        at += before;
    }
    const int end = steps.end(first, length);
    /* what all lanes can load in batches: whole rows, and of an ordered operation whole tiles */
    const int wide = Op::kOrdered ? kN : kRow;
    const int whole = !Op::kOrdered ? length : length == 32 * steps.lane ? steps.lane : 0;
    /* Otherwise each unaligned vector is put together from its own aligned 16 bytes and those of the next lane, but where
     * these would reach beyond the array. */
    constexpr int kShifts = !Op::kOrdered && !kBig && !Op::kExact;
    const bool shifted = kShifts && !v.plan.vector;
    if (v.plan.vector || shifted || Op::kExact) {
        int64_t last = whole - wide - (kBatch - 1) * step; /* where the last batch may begin, from `first` on */
        if (shifted) {
            const int64_t reach =
                v.source.extent.last(from, gpul__size_of<X>::value) - (wide - kN) - (kBatch - 1) * step;
            if (reach < last) last = reach;
            if (!v.source.extent.begins(from)) { /* the first elements of the array */
                acc.lane[0] = gpul__reduce_remainder(v, op, acc.lane[0], from, at, end < at + kN ? end : at + kN);
                at += step;
            }
        }
        typename Operand::Pointer x = from + Operand::advance(v.x_stride, at);
        GPUL__UNROLL_NOT
        while (at - first <= last) { /* the warp's lanes agree */
            typename Fetch::Raw vx[1][kBatch];
            gpul__pack<gpul__none, kN> none[kBatch];
            GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u)
                vx[0][u] = Operand::template load_raw<kN>(Operand::boundary(x) + Operand::advance(v.x_stride, u * step),
                                                          v.x_stride);
            gpul__schedule_fence(v.zero);
            if (shifted) { /* put together, four at a time: registers */
                GPUL__UNROLL_BY((kUnroll > 1 ? 4 : 1))
                for (int u = 0; u < kBatch; ++u) {
                    const typename Operand::Pointer p = x + Operand::advance(v.x_stride, u * step);
                    typename Fetch::Raw next = vx[0][0];
                    next = Operand::template realign<kN>(next, p); /* fault: reduce-shifted */
                    gpul__shift_left<1>(vx[0]);
                    vx[0][kBatch - 1] = next;
                }
            }
            op.visit(
                [&](auto variant) { gpul__reduce_fold<1, kBatch, kUnroll>(variant, op, acc, vx, none, at, step); });
            x = x + Operand::advance(v.x_stride, kBatch * step);
        }
    }
    if (at < end) acc.lane[0] = gpul__reduce_remainder(v, op, acc.lane[0], from, at, end);
}

/* ---- rows by way of shared memory ----
 *
 * Elements of 4 and 8 bytes: two batches are on their way to shared memory while one is folded. So elements may lie
 * anywhere, and no register holds what is on its way. */
template <typename Op> struct gpul__reduce_copies {
    static constexpr bool value =
        !Op::kOrdered && !gpul__operand<typename Op::X>::kSeveral && gpul__size_of<typename Op::X>::value >= 4;
};
/* Rows of each operand in a batch: as many as leave room for two batches */
static constexpr __device__ __host__ int gpul__reduce_batch(int operands) { return operands > 2 ? 1 : 4 / operands; }
/* Copies a batch of one operand one by one, neighbouring lanes neighbouring elements; `there` of them exist. */
template <int kRows, typename T>
static __device__ __forceinline__ void gpul__reduce_copy(T *to, const T *from, int64_t stride, int step, int there) {
    constexpr int kN = 16 / sizeof(T), kRow = 32 * kN;
    const int lane = int(threadIdx.x % 32);
    to += lane;
    from += lane * stride;
    GPUL__UNROLL_FOR (int u = 0; u < kRows; ++u) {
        GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) {
            const int i = u * step + k * 32;
            gpul__copy_to_shared<1>(to + u * kRow + k * 32, from + i * stride, i + lane < there);
        }
    }
}
template <int kRows>
static __device__ __forceinline__ void gpul__reduce_copy(gpul__none *, const gpul__none *, int64_t, int, int) {}
/* The same of aligned vectors, all of which exist; `from` and `to` are the lane's. */
template <int kRows, typename T>
static __device__ __forceinline__ void gpul__reduce_copy_vectors(T *to, const T *from, int step) {
    constexpr int kN = 16 / sizeof(T), kRow = 32 * kN;
    GPUL__UNROLL_FOR (int u = 0; u < kRows; ++u) gpul__copy_to_shared<kN, true>(to + u * kRow, from + u * step, kN);
}
template <int kRows>
static __device__ __forceinline__ void gpul__reduce_copy_vectors(gpul__none *, const gpul__none *, int) {}
/* The same of elements that are not contiguous, from number `at` of a tile of `length` on. In place of missing ones it
 * copies the last, but no rows of them. */
template <int kRows, typename X>
static __device__ __forceinline__ void gpul__reduce_copy_gathered(X *to, const gpul__reduce_source<int64_t> &s,
                                                                  const gpul__reduce_origin<int64_t> &origin,
                                                                  const X *x, int at, int step, int length) {
    constexpr int kN = 16 / sizeof(X), kRow = 32 * kN, kFour = 4; /* addresses that are computed side by side */
    const int lane = int(threadIdx.x % 32), end = at + (kRows - 1) * step + kRow;
    to += lane;
    const auto run_of = [&](int i) {
        return s.ndim < 2 ? 0u : gpul__quotient(uint32_t(i) + origin.inner, s.dim[0].by);
    };
    uint32_t run = run_of(at);
    if (end <= length && run == run_of(end - 1)) { /* in one row of the innermost dimension */
        int64_t offset = int64_t(at + lane) * s.stride;
        GPUL__UNROLL_NOT
        for (int32_t d = 0; d + 1 < s.ndim; ++d) {
            if (d > 0) run = gpul__quotient(run + origin.index(d), s.dim[d].by);
            offset += int64_t(run) * s.dim[d].x;
        }
        x += offset;
        GPUL__UNROLL_FOR (int u = 0; u < kRows; ++u) {
            GPUL__UNROLL_FOR (int k = 0; k < kN; ++k, x += 32 * s.stride)
                gpul__copy_to_shared<1>(to + u * kRow + k * 32, x, 1);
            x += (step - kRow) * s.stride; /* fault: reduce-copies-rows */
        }
        return;
    }
    GPUL__UNROLL_NOT
    for (int c = 0; c < kRows * kN && at + c / kN * step < length; c += kFour) { /* fault: reduce-gathered-rows */
        uint32_t index[kFour], near[kFour];
        int64_t offset[kFour];
        GPUL__UNROLL_FOR (int k = 0; k < kFour; ++k) {
            const int mine = at + (c + k) / kN * step + (c + k) % kN * 32 + lane;
            index[k] = uint32_t(mine < length ? mine : length - 1);
        }
        if (s.near) {
            gpul__reduce_find_elements(near, index, s, origin);
            GPUL__UNROLL_FOR (int k = 0; k < kFour; ++k) offset[k] = int32_t(near[k]);
        } else gpul__reduce_find_elements(offset, index, s, origin);
        GPUL__UNROLL_FOR (int k = 0; k < kFour; ++k) gpul__copy_to_shared<1>(to + (c + k) * 32, x + offset[k], 1);
    }
}

/* Folds up to `rows` staged rows of each output, the last of them perhaps in part; `at`: the lane's first element. */
template <int kO, typename Op>
static __device__ __forceinline__ gpul__reduce_lanes<kO, Op>
gpul__reduce_staged(const Op &op, gpul__reduce_lanes<kO, Op> acc, const typename Op::X *stage, const typename Op::Y *y,
                    int rows, int part, int at, int step, int length) {
    constexpr int kN = 16 / gpul__size_of<typename Op::X>::value, kRow = 32 * kN;
    GPUL__UNROLL_NOT
    for (int u = 0; u < rows; ++u, at += step) {
        const int count = length - at; /* fault: reduce-copies-beyond */
        if (count <= 0) break;
        const gpul__pack<typename Op::Y, kN> vy =
            gpul__load<kN>(y + (gpul__size_of<typename Op::Y>::bytes > 0 ? u * kRow : 0));
        GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) {
            const gpul__pack<typename Op::X, kN> vx = gpul__load<kN>(stage + o * part + u * kRow);
            acc.lane[o] = op.fold(acc.lane[o], vx.v, vy.v, count, at);
        }
    }
    return acc;
}

/* Folds a warp tile of kO outputs, whose elements begin at `from`. All lanes call it. */
template <bool kDense, bool kGathered, int kO, typename Op>
static __device__ __forceinline__ void
gpul__reduce_tile(std::true_type, const gpul__reduce_view<Op> &v, const Op &op, gpul__reduce_lanes<kO, Op> &acc,
                  gpul__reduce_operands<kO, typename Op::X> from, const gpul__reduce_span &span) {
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    constexpr int kN = 16 / gpul__size_of<X>::value, kRow = 32 * kN, kOperands = kO + (gpul__size_of<Y>::bytes > 0);
    constexpr int kRows = gpul__reduce_batch(kOperands), kPart = kRows * kRow; /* of an operand in a batch */
    const int lane = int(threadIdx.x % 32), step = gpul__reduce_steps<Op>(v.plan).vector, hop = kRows * step;
    int length = span.length; /* what is left, from the batch on that is copied next */
    X *stage = gpul__reduce_stage_of_warp<X>(v.plan.staged_bytes);
    int half = kOperands * kPart; /* to the other half of the stage */
    int at = lane * kN - 2 * hop; /* the lane's element in the batch that is folded: none, in the first two rounds */
    const bool x_vectors = !kGathered && v.plan.vector, y_vectors = v.plan.y_vector;
    const int x_mine = x_vectors ? lane * kN : 0, y_mine = y_vectors ? lane * kN : 0; /* the lane's, or the warp's */
    const Y *y = v.y;
    if (gpul__has<Y>()) y += span.begin * v.y_stride + y_mine;
    uint32_t outer[GPUL_MAX_DIMS - 2];
    gpul__reduce_origin<int64_t> origin = {};
    if (kGathered) gpul__reduce_find_origin<X>(&origin, outer, v.source, span.begin);
    GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) from.x[o] += kGathered ? origin.offset : span.begin + x_mine;
    GPUL__UNROLL_NOT
    for (; at < 0 || length + 2 * hop >= (kRows - 1) * step + kRow; length -= hop) {
        gpul__raw vx[kO][kRows];
        gpul__pack<Y, kN> vy[kRows];
        if (at >= 0) {
            gpul__wait_for_copies<1>();
            __syncwarp();
            GPUL__UNROLL_FOR (int u = 0; u < kRows; ++u) {
                GPUL__UNROLL_FOR (int o = 0; o < kO; ++o)
                    vx[o][u] =
                        gpul__load<4>(reinterpret_cast<const uint32_t *>(stage + o * kPart + u * kRow + lane * kN));
                vy[u] = gpul__load<kN>(reinterpret_cast<const Y *>(stage + kO * kPart) +
                                       (gpul__has<Y>() ? u * kRow + lane * kN : 0));
            }
        }
        __syncwarp(); /* fault: reduce-copies-early */
        const bool all = length >= (kRows - 1) * step + kRow;
        if (x_vectors && all) {
            GPUL__UNROLL_FOR (int o = 0; o < kO; ++o)
                gpul__reduce_copy_vectors<kRows>(stage + o * kPart + x_mine, from.x[o], step);
        } else if (length > 0) {
            GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) {
                const int next = at + 2 * hop - lane * kN;
                if (kGathered)
                    gpul__reduce_copy_gathered<kRows>(stage + o * kPart, v.source, origin, from.x[o], next, step,
                                                      next + length);
                else gpul__reduce_copy<kRows>(stage + o * kPart, from.x[o] - x_mine, 1, step, length);
            }
        }
        if (gpul__has<Y>() && y_vectors && all)
            gpul__reduce_copy_vectors<kRows>(reinterpret_cast<Y *>(stage + kO * kPart + y_mine), y, step);
        else if (gpul__has<Y>() && length > 0)
            gpul__reduce_copy<kRows>(reinterpret_cast<Y *>(stage + kO * kPart), y - (gpul__has<Y>() ? y_mine : 0),
                                     v.y_stride, step, length);
        gpul__commit_copies();
        GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) from.x[o] += kGathered ? 0 : hop;
        if (gpul__has<Y>()) y += hop * v.y_stride;
        stage += half;
        half = -half;
        if (at < 0) at += hop;
        else op.visit([&](auto variant) { gpul__reduce_fold<kO, kRows, kRows>(variant, op, acc, vx, vy, at, step); });
    }
    length += 2 * hop;
    if (length > 0) { /* a part of a batch */
        gpul__wait_for_copies<0>();
        __syncwarp();
        stage += lane * kN;
        acc = gpul__reduce_staged<kO>(op, acc, stage, reinterpret_cast<const Y *>(stage + kO * kPart), kRows, kPart, at,
                                      step, at + length - lane * kN);
    }
}

/* One warp tile of kO outputs, from `output` on, in one warp; the first lane gets the results. */
template <int kO, bool kDense, bool kGathered, typename Op>
static __device__ __forceinline__ void gpul__reduce_warp_tile(const gpul__reduce_view<Op> &v, int64_t output, int tile,
                                                              typename Op::Acc (&result)[kO]) {
    typedef typename Op::X X;
    typedef std::integral_constant<bool, gpul__reduce_copies<Op>::value> Copies;
    const gpul__reduce_span span = gpul__reduce_span_of<512 / gpul__size_of<X>::value>(v.n, v.plan, tile);
    const int first = int(threadIdx.x % 32) * gpul__reduce_steps<Op>(v.plan).lane;
    gpul__reduce_operands<kO, X> from;
    gpul__reduce_lanes<kO, Op> acc;
    Op op = v.op;
    int64_t outputs[kO];
    gpul__reduce_offsets<typename gpul__operand<X>::Offset> places[kO];
    GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) outputs[o] = output + o < v.outputs ? output + o : output;
    gpul__reduce_outputs<kO>(v, outputs, places);
    GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) from.x[o] = v.x + places[o].x;
    op.begin(from.x[0]);
    op.enter(span.begin);
    GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) acc.lane[o] = op.start();
    gpul__reduce_tile<kDense, kGathered>(Copies(), v, op, acc, from, span);
    GPUL__UNROLL_FOR (int o = 0; o < kO; ++o)
        result[o] =
            gpul__reduce_all_lanes(op, first < span.length ? op.finish(acc.lane[o], span.begin, first) : op.identity());
}

/* A group of 1 << plan.warps_log2 warps has the warp tiles of kO neighbouring outputs. plan.splits blocks share the
 * block tiles of an output. kDense: elements may be contiguous; kGathered: they may be others. */
template <typename Op, int kO, bool kDense, bool kGathered>
static __global__ void __launch_bounds__(GPUL__REDUCE_THREADS, 3)
    gpul__reduce_rows(const __grid_constant__ gpul__reduce_view<Op> v) {
    typedef typename Op::Acc Acc;
    constexpr int kAtOnce = kO > 1 ? 2 : 4;                           /* partial results of a thread in flight */
    constexpr int kTurns = kDense && sizeof(typename Op::Lane) <= 16; /* others have no registers left */
    const gpul__reduce_plan &p = v.plan;
    const Op &op = v.op;
    const int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
    /* elements that warps stage; results of warps, by block tile and output; totals of warps, by output; a flag */
    GPUL_SHARED(char, memory);
    Acc *const shared = reinterpret_cast<Acc *>(memory + gpul__warps * p.staged_bytes);
    Acc *const totals = shared + kO * p.tiles * gpul__warps;
    uint32_t *const flag = reinterpret_cast<uint32_t *>(totals + kO * gpul__warps);
    const gpul__reduce_assignment share = gpul__reduce_assignment_of(v, gpul__has<typename Op::Y>());
    const bool one_tile = p.pieces == 1; /* of an output: then a block takes several outputs */
    const int from = int(share.split) * p.tiles,
              tiles = one_tile || from + p.tiles < p.pieces ? p.tiles : p.pieces - from;
    const int level = p.warps_log2, warps = 1 << level;                /* warps of an output */
    const int each = p.groups * kO; /* outputs of a block at a time */ /* fault: reduce-rows-groups */
    const int64_t first = int64_t(share.output_tile) * (one_tile ? p.tiles * each : each);
    gpul__await();
    /* The warps of an output take turns: its last warp tile has less to do, and where tiles are fewer, some warps have
     * none. */
    GPUL__UNROLL_NOT
    for (int k = 0, place = warp; k < tiles; ++k) {
        const int piece = one_tile ? 0 : from + k;
        const int tile = (piece << level) + (place & (warps - 1)); /* fault: reduce-rows-pieces */
        const int64_t mine = first + (one_tile ? k * each : 0) + (place >> level) * kO;
        Acc results[kO];
        if (tile < p.warp_tiles && place >> level < p.groups && mine < v.outputs) {
            gpul__reduce_warp_tile<kO, kDense, kGathered>(v, mine, tile, results);
        } else {
            GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) results[o] = op.identity();
        }
        if (lane == 0) {
            GPUL__UNROLL_FOR (int o = 0; o < kO; ++o)
                shared[(k * kO + o) * gpul__warps + place] = results[o]; /* fault: reduce-turns */
        }
        if (kTurns) place = (place & -warps) | ((place + 1) & (warps - 1));
    }
    __syncthreads(); /* fault: reduce-warps-meet */
    /* the tree over the warps of each block tile: a thread for each warp's result */
    const int values = tiles * kO * gpul__warps;
    int64_t output = v.outputs; /* none */
    Acc acc = op.identity();
    GPUL__UNROLL_NOT
    for (int k = thread; k - lane < values; k += GPUL__REDUCE_THREADS) {
        acc = gpul__reduce_warp(op, k < values ? shared[k] : op.identity(), warps);
        if (k >= values || (k & (warps - 1)) != 0) continue;
        const int o = k / gpul__warps % kO, tile = k / (gpul__warps * kO);
        const int64_t next = one_tile ? tile * each : 0; /* fault: reduce-rows-outputs */
        const int64_t its = first + next + (k % gpul__warps >> level) * kO + o;
        const bool there = k % gpul__warps >> level < p.groups;
        if (one_tile) output = there ? its : v.outputs; /* no thread has two */
        else if (p.splits == 1) shared[k] = acc;        /* no other thread reads it before the barrier */
        else if (there && its < v.outputs) {            /* fault: reduce-rows-idle */
            v.partials[its * p.pieces + from + tile] = acc;
        }
    }
    if (!one_tile) {
        const bool one_block = p.splits == 1;
        if (one_block) __syncthreads(); /* fault: reduce-block-tiles */
        if (!one_block && !gpul__arrive_last(v.counters + share.output_tile, uint32_t(p.splits), flag)) return;
        /* a thread has slot `thread` of each output */
        const Acc *const results = one_block ? shared : v.partials + first * p.pieces;
        const int64_t step = one_block ? kO * gpul__warps : 1, pitch = one_block ? gpul__warps : p.pieces;
        Acc total[kO];
        GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) total[o] = op.identity();
        const gpul__reduce_leaves<Op> leaves(p.pieces, GPUL__REDUCE_THREADS);
        const int end = leaves.end(thread);
        GPUL__UNROLL_NOT
        for (int k = leaves.first(thread); k < end; k += kAtOnce * leaves.step) {
            Acc next[kAtOnce][kO];
            GPUL__UNROLL_FOR (int u = 0; u < kAtOnce; ++u) {
                const int tile = k + u * leaves.step;
                GPUL__UNROLL_FOR (int o = 0; o < kO; ++o)
                    next[u][o] = tile < end && first + o < v.outputs ? results[o * pitch + tile * step] : op.identity();
            }
            GPUL__UNROLL_FOR (int u = 0; u < kAtOnce; ++u) op.combine_each(total, next[u]);
        }
        GPUL__UNROLL_FOR (int o = 0; o < kO; ++o) {
            total[o] = gpul__reduce_warp(op, total[o], 32);
            if (lane == 0) totals[o * gpul__warps + warp] = total[o];
        }
        __syncthreads(); /* fault: reduce-totals-meet */
        acc = gpul__reduce_warp(op, thread < kO * gpul__warps ? totals[thread] : op.identity(), gpul__warps);
        output = thread < kO * gpul__warps && thread % gpul__warps == 0 ? first + thread / gpul__warps : v.outputs;
    }
    /* Missing slots and warp tiles are left out of the tree. They hold the identity: to combine with it once gives the
     * same bits as any number of times. */
    if (output < v.outputs)
        op.store(v.out, gpul__reduce_output(v, output).out, v.out_dtype, op.combine(acc, op.identity()), v.n);
}

/* ---- short rows ----
 *
 * Outputs of one warp tile, many of them: plan.lanes threads have an output, as many as it has vectors at most, and
 * each thread loads plan.outputs_at_once outputs before it folds the first. */

/* The trees of kCount outputs at once, each over `lanes` neighbouring lanes. At each step two lanes, kD apart, exchange
 * half of their outputs, and each combines those that it keeps. In the end a lane has the results of `left` outputs,
 * from number `mine` on, in acc[0] and after; of the last output left, the first lane of a pair has it. Steps are
 * types, so that acc stays in registers. */
template <int kCount, int kD> struct gpul__reduce_butterfly {
    template <int kF, typename Op>
    static __device__ __forceinline__ void step(const Op &op, typename Op::Acc (&acc)[kF], int lanes, int &mine,
                                                int &left) {
        constexpr int kHalf = kCount / 2;
        const bool upper = (threadIdx.x & unsigned(kD)) != 0;
        if (kD >= lanes) return;
        typename Op::Acc first[kHalf], second[kHalf];
        GPUL__UNROLL_FOR (int u = 0; u < kHalf; ++u) {
            const typename Op::Acc low = acc[u], high = acc[u + kHalf];
            const typename Op::Acc other = gpul__shuffle(upper ? low : high, kD, false);
            first[u] = upper ? other : low;
            second[u] = upper ? high : other;
        }
        op.combine_each(first, second);
        GPUL__UNROLL_FOR (int u = 0; u < kHalf; ++u) acc[u] = first[u];
        mine += upper ? kHalf : 0; /* fault: reduce-short-outputs */
        left = kHalf;
        gpul__reduce_butterfly<kHalf, kD * 2>::step(op, acc, lanes, mine, left);
    }
};
template <int kD> struct gpul__reduce_butterfly<1, kD> {
    template <int kF, typename Op>
    static __device__ __forceinline__ void step(const Op &op, typename Op::Acc (&acc)[kF], int lanes, int &, int &) {
        GPUL__UNROLL_NOT
        for (int d = kD; d < lanes; d *= 2) acc[0] = op.combine(acc[0], gpul__shuffle(acc[0], d, true));
    }
};

template <typename Op>
static __global__ void __launch_bounds__(GPUL__REDUCE_THREADS, sizeof(typename Op::Lane) > 8 ? 2 : 3)
    gpul__reduce_short(const __grid_constant__ gpul__reduce_view<Op> v) {
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    typedef typename Op::Acc Acc;
    typedef gpul__operand<X> Operand;
    typedef gpul__fetch<X, 16 / gpul__size_of<X>::value> Fetch;
    typedef typename Fetch::Raw Raw;
    constexpr int kN = 16 / gpul__size_of<X>::value, kF = gpul__short<Op>::value;
    constexpr int kShifts = kF <= 4 && !Operand::kSeveral; /* loads unaligned vectors: twice the registers */
    const int lanes = v.plan.lanes, lane = int(threadIdx.x) & (lanes - 1), n = int(v.n);
    const int step = GPUL__REDUCE_THREADS >> v.plan.threads_log2;
    const int used = v.plan.outputs_at_once;
    const int64_t first = int64_t(blockIdx.x) * (used * step) + int(threadIdx.x >> v.plan.threads_log2);
    const int64_t outputs = v.outputs, y_stride = v.y_stride;
    const typename Operand::Offset stride = v.x_stride;
    const Y *const y = v.y;
    typename Operand::Pointer x[kF];
    Op op[kF];
    typename Op::Lane acc[kF];
    GPUL__UNROLL_NOT
    for (int u = 0; u < kF; u += 4) { /* four at once, to save registers */
        int64_t its[4];
        gpul__reduce_offsets<typename Operand::Offset> places[4];
        GPUL__UNROLL_FOR (int q = 0; q < 4; ++q) { /* in place of missing outputs, the first: one address for a warp */
            its[q] = first + (u + q) * step;
            if (u + q >= used || its[q] >= outputs) its[q] = 0;
        }
        gpul__reduce_outputs<4>(v, its, places);
        gpul__shift_left<4>(x);
        GPUL__UNROLL_FOR (int q = 0; q < 4; ++q) x[kF - 4 + q] = v.x + places[q].x;
    }
    gpul__await();
    GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) {
        op[u] = v.op;
        if (n > 0) op[u].begin(x[u]);
        op[u].enter(0);
        acc[u] = op[u].start();
    }
    const gpul__reduce_steps<Op> steps(v.plan);
    const int begin = lane * steps.lane, length = steps.end(begin, n); /* of the lane's elements */
    GPUL__UNROLL_NOT
    for (int i = begin; i < length; i += Op::kOrdered ? kN : 32 * kN) {
        const int count = length - i;
        const bool whole = v.plan.vector && count >= kN;
        bool inside = whole; /* may all 16 bytes of each output's vector be read? */
        if (kShifts && !whole && v.plan.dense && n > 1) {
            inside = true; /* those beyond an output's end, too, but where the array ends */
            GPUL__UNROLL_FOR (int u = 0; u < kF; ++u)
                inside = inside && v.source.extent.holds(x[u] + Operand::advance(stride, i), 16);
        }
        Raw vx[kF] = {};
        gpul__pack<Y, kN> vy;
        if (!inside && kF > 4) { /* one by one, those of a cache line together; in place of missing ones, the last */
            gpul__pack<X, kN> elements[kF];
            if (n == 1) { /* once */
                GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) gpul__fill(elements[u].v, x[u][int64_t(i) * stride]);
            } else {
                GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) {
                    GPUL__UNROLL_FOR (int k = 0; k < kN; ++k)
                        elements[u].v[k] = x[u][int64_t(i + (k < count ? k : count - 1)) * stride];
                    gpul__schedule_fence(v.zero);
                }
            }
            memcpy(&vx, &elements, sizeof vx);
        } else if (!inside) {
            typename Operand::Pointer at[kF];
            GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) at[u] = x[u] + int64_t(i) * stride;
            Operand::template gather<kN>(at, stride, count, vx);
        } else if (v.plan.vector) {
            GPUL__UNROLL_FOR (int u = 0; u < kF; ++u)
                vx[u] = Operand::template load_raw<kN>(x[u] + Operand::advance(stride, i), stride);
        } else {
            Fetch fetch[kF];
            GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) fetch[u].load(x[u] + Operand::advance(stride, i), stride);
            gpul__schedule_fence(v.zero);
            GPUL__UNROLL_FOR (int u = 0; u < kF; ++u) vx[u] = fetch[u].get(x[u] + Operand::advance(stride, i));
        }
        if (v.plan.y_vector && whole) vy = gpul__load<kN>(gpul__has<Y>() ? y + i : y);
        else { /* in place of missing elements, the last */
            GPUL__UNROLL_FOR (int k = 0; k < kN; ++k)
                vy.v[k] = gpul__at(y, gpul__has<Y>() ? (i + (k < count ? k : count - 1)) * y_stride : 0);
        }
        v.op.visit([&](auto variant) {
            GPUL__UNROLL_FOR (int u = 0; u < kF; ++u)
                acc[u] = variant.fold(op[u], acc[u], Fetch::unpacked(vx[u]).v, vy.v, count, i);
        });
    }
    Acc results[kF];
    GPUL__UNROLL_FOR (int u = 0; u < kF; ++u)
        results[u] = begin < length ? op[u].finish(acc[u], 0, begin) : v.op.identity();
    int mine = 0, left = kF;
    gpul__reduce_butterfly<kF, 1>::step(v.op, results, lanes, mine, left);
    if (lane >= kF) return;
    GPUL__UNROLL_NOT
    for (int u = 0; u < left; ++u) {
        const int64_t output = first + (mine + u) * step;
        /* the identity: as in gpul__reduce_rows */
        if (mine + u < used && output < outputs)
            v.op.store(v.out, gpul__reduce_output(v, output).out, v.out_dtype,
                       v.op.combine(results[0], v.op.identity()), v.n);
        gpul__shift_left<1>(results);
    }
}

/* ---- columns ----
 *
 * Outputs are contiguous, and an output's elements are not: a column each. A block has plan.width threads along the
 * outputs, kC columns each, and plan.depth rows of threads along n, which are the lanes of plan.tiles_at_once warp
 * tiles. A thread loads a vector's kN rows of kC neighbouring columns, and transposes them in registers. Rows of
 * threads are combined through shared memory. A block does so for plan.tiles groups of warp tiles: a block tile, or a
 * part of one. */

/* A thread's kC columns: contiguous ones in one access (plan.vector), else as far apart as a row of threads is wide, so
 * that the accesses of a warp are dense. */
template <typename X, int kC> struct gpul__reduce_columns_of {
    typename gpul__operand<X>::Pointer x[kC]; /* the first elements; of a missing column, those of another */
    int64_t output;                           /* of the first column, and `step` to the next */
    int step, count;                          /* count: columns that exist */
    template <typename View>
    __device__ __forceinline__ gpul__reduce_columns_of(const View &v, uint32_t output_tile, int side, bool any) {
        count = 0;
        if (v.plan.vector) {
            const int64_t inner = v.outer_ndim > 1 ? v.outer[0].whole : v.outputs;
            const uint32_t group = output_tile * uint32_t(v.plan.width) + uint32_t(side), /* all below 2^31 */
                groups = uint32_t((inner + kC - 1) / kC), row = gpul__quotient(group, v.by_row);
            const int64_t first = int64_t(group - row * groups) * kC, left = inner - first;
            step = 1;
            output = row * inner + first;
            if (any && left > 0 && output < v.outputs) count = left < kC ? int(left) : kC;
            x[0] = v.x + gpul__reduce_output(v, count > 0 ? output : 0).x;
            GPUL__UNROLL_FOR (int c = 1; c < kC; ++c) x[c] = x[0] + (c < count ? c : 0) * v.x_outer;
            return;
        }
        step = v.plan.width;
        output = int64_t(output_tile) * v.plan.width * kC + side;
        int64_t its[kC];
        gpul__reduce_offsets<typename gpul__operand<X>::Offset> places[kC];
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) {
            its[c] = output + c * step;
            const bool there = any && its[c] < v.outputs;
            count += there ? 1 : 0;
            if (!there) its[c] = 0;
        }
        gpul__reduce_outputs<kC>(v, its, places);
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) x[c] = v.x + places[c].x;
    }
};

/* One load of kC contiguous columns; columns of one byte may be unaligned. */
template <typename X, int kC, bool kAnywhere> struct gpul__reduce_access {
    typedef gpul__operand<X> Operand;
    gpul__pack<X, kC> pack;
    __device__ __forceinline__ void load(const typename Operand::Pointer &p, const typename Operand::Offset &stride,
                                         bool) {
        pack = Operand::template load<kC>(p, stride);
    }
    __device__ __forceinline__ gpul__pack<X, kC> get(const typename Operand::Pointer &) const { return pack; }
};
template <typename X, int kC> struct gpul__reduce_access<X, kC, true> {
    gpul__unaligned<X, kC> window;
    __device__ __forceinline__ void load(const X *p, int64_t, bool shifted) { window.load(p, shifted); }
    __device__ __forceinline__ gpul__pack<X, kC> get(const X *p) const { return window.get(window.shift(p)); }
};

/* Transposes kN rows of kC columns into a vector of each column. */
template <int kN, int kC, typename X>
static __device__ __forceinline__ void gpul__reduce_transpose(const gpul__pack<X, kC> (&rows)[kN],
                                                              typename gpul__fetch<X, kN>::Raw (&columns)[kC]) {
    GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) {
        gpul__pack<X, kN> column;
        GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) column.v[k] = rows[k].v[c];
        memcpy(&columns[c], &column, sizeof column);
    }
}
/* bytes, four by four as words: one by one they would take a register each */
template <int kN>
static __device__ __forceinline__ void gpul__reduce_transpose(const gpul__pack<uint8_t, 4> (&rows)[kN],
                                                              gpul__raw (&columns)[4]) {
    GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) {
        uint32_t row[4], column[4];
        memcpy(row, &rows[4 * w], sizeof row);
        gpul__transpose_bytes(row, column);
        GPUL__UNROLL_FOR (int c = 0; c < 4; ++c) columns[c].v[w] = column[c];
    }
}

/* kN rows, kStride elements apart, of the vectors that hold them: each is kC elements from where it begins, whatever
 * they are beyond its end. */
template <int kStride, int kN, int kC, typename X>
static __device__ __forceinline__ void gpul__reduce_close_rows(const gpul__raw (&vectors)[kC],
                                                               gpul__pack<X, kC> (&rows)[kN]) {
    constexpr int kSize = sizeof(X), kWords = kC * kSize / 4;
    uint32_t words[4 * kC + 1];
    memcpy(words, vectors, sizeof vectors);
    words[4 * kC] = 0;
    GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) {
        uint32_t row[kWords];
        GPUL__UNROLL_FOR (int w = 0; w < kWords; ++w) {
            const int byte = k * kStride * kSize + 4 * w;
            row[w] = uint32_t((uint64_t(words[byte / 4 + 1]) << 32 | words[byte / 4]) >> 8 * (byte % 4));
        }
        memcpy(&rows[k], row, sizeof row);
    }
}
/* Loads a batch whose rows are 2, 3 or 4 elements apart: a lane's are as many vectors of 16 bytes. Elements one by one
 * would lead the lanes of a warp to as many cache lines with each load. False where some vector may not be read. */
template <int kC, int kLanes, int kN, typename X, typename View>
static __device__ __forceinline__ bool gpul__reduce_load_rows(std::true_type, const View &v, const X *from, int at,
                                                              int step, int last, gpul__raw (&vx)[kLanes][kC]) {
    typedef gpul__fetch<X, kN> Fetch;
    const int stride = int(v.x_stride);
    const X *p[kLanes];
    gpul__raw vectors[kLanes][kC] = {};
    bool inside = true;
    GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) { /* in place of missing vectors, the first */
        p[r] = from + int64_t(at + r * step <= last ? at + r * step : at) * stride;
        inside = inside && v.source.extent.holds(p[r], 16) && v.source.extent.holds(p[r] + (stride - 1) * kN, 16);
    }
    if (!inside) return false;
    /* differences: a pointer that is made of an integer may point to any kind of memory */
    const int before = int(reinterpret_cast<uintptr_t>(p[0]) & 15) / int(sizeof(X)); /* the same of all lanes */
    const auto load = [&](auto count) {
        GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) {
            GPUL__UNROLL_FOR (int j = 0; j < decltype(count)::value; ++j)
                vectors[r][j] = Fetch::aligned(p[r] - before + j * kN);
        }
    };
    /* where they are not aligned, one more; a fifth is loaded when the others are there, which saves registers */
    const int count = stride + (before > 0 ? 1 : 0);
    if (count == 2) load(std::integral_constant<int, 2>());
    else if (count == 3) load(std::integral_constant<int, 3>());
    else load(std::integral_constant<int, 4>());
    gpul__schedule_fence(v.zero);
    GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) {
        if (before > 0) {
            gpul__raw fifth = {};
            if (count > kC) fifth = Fetch::aligned(p[r] - before + kC * kN);
            GPUL__UNROLL_FOR (int j = 0; j < kC; ++j) {
                Fetch fetch;
                fetch.low = vectors[r][j];
                fetch.high = j + 1 < kC ? vectors[r][j + 1 < kC ? j + 1 : j] : fifth;
                vectors[r][j] = fetch.get(p[r]); /* fault: reduce-close-shifted */
            }
        }
        gpul__pack<X, kC> rows[kN];
        if (stride == 2) gpul__reduce_close_rows<2>(vectors[r], rows);
        else if (stride == 3) gpul__reduce_close_rows<3>(vectors[r], rows);
        else gpul__reduce_close_rows<4>(vectors[r], rows);
        gpul__reduce_transpose(rows, vx[r]);
    }
    return true;
}
template <int kC, int kLanes, int kN, typename View, typename Pointer, typename Raw>
static __device__ __forceinline__ bool gpul__reduce_load_rows(std::false_type, const View &, const Pointer &, int, int,
                                                              int, Raw &) {
    return false;
}

/* Loads a batch: kLanes vectors of each of a thread's columns, `step` elements apart, from element `at` of a warp tile
 * on. In place of elements beyond `last`, it loads that one, or others of the array. */
template <int kC, int kLanes, int kN, typename X, typename Y, typename View>
static __device__ __forceinline__ void
gpul__reduce_load(const View &v, const gpul__reduce_columns_of<X, kC> &columns, int64_t begin, int at, int step,
                  int last, typename gpul__fetch<X, kN>::Raw (&vx)[kLanes][kC], Y (&vy)[kLanes][kN]) {
    typedef gpul__operand<X> Operand;
    const typename Operand::Offset stride = v.x_stride;
    const int64_t y_stride = v.y_stride;
    const Y *const y = v.y + (gpul__has<Y>() ? begin * y_stride : 0);
    constexpr int kAnywhere = gpul__size_of<X>::value == 1 && !Operand::kSeveral;
    const typename Operand::Pointer from = columns.x[0] + begin * stride;
    const auto index = [=](int r, int k) { return at + r * step + k < last ? at + r * step + k : last; };
    typedef std::integral_constant<bool, kC == 4 && !Operand::kSeveral && std::is_same<Y, gpul__none>::value> Close;
    if (gpul__rarely(v.plan.vector > 2) && gpul__reduce_load_rows<kC, kLanes, kN>(Close(), v, from, at, step, last, vx))
        return;
    bool wide = v.plan.vector == 1 || v.plan.vector == 2;
    if (wide && (v.plan.vector > 1 || columns.count < kC)) { /* may all that an access covers be read? */
        const int to = at + (kLanes - 1) * step + kN - 1;
        wide = v.source.extent.holds(from + at * stride, kC * gpul__size_of<X>::value) &&
               v.source.extent.holds(from + (to < last ? to : last) * stride, kC * gpul__size_of<X>::value);
    }
    if (wide) {
        gpul__reduce_access<X, kC, (kAnywhere != 0)> access[kLanes][kN];
        const auto load = [&](bool shifted) {
            GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) {
                typename Operand::Pointer row = from + index(r, 0) * stride;
                GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) {
                    access[r][k].load(row, v.x_outer, shifted);
                    if (at + r * step + k < last) row = row + stride; /* fault: reduce-rows-beyond */
                }
            }
        };
        if (kAnywhere && v.plan.vector > 1) load(true);
        else load(false);
        GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) {
            GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) vy[r][k] = gpul__at(y, index(r, k) * y_stride);
        }
        gpul__schedule_fence(v.zero);
        GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) {
            gpul__pack<X, kC> rows[kN];
            GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) rows[k] = access[r][k].get(from + index(r, k) * stride);
            gpul__reduce_transpose(rows, vx[r]);
        }
    } else {
        gpul__pack<X, kC> rows[kLanes][kN];
        GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) {
            GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) {
                const int64_t i = index(r, k);
                GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) rows[r][k].v[c] = columns.x[c][(begin + i) * stride];
                vy[r][k] = gpul__at(y, i * y_stride);
            }
        }
        gpul__schedule_fence(v.zero);
        GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) gpul__reduce_transpose(rows[r], vx[r]);
    }
}

/* Adds result number `index` of a thread to a tree over 2^levels of them. `halves` keeps the left halves that wait for
 * their right ones, as a binary counter keeps its ones: levels times kC of them, `pitch` apart. After the last result,
 * acc is that of the tree. */
template <int kC, typename Op>
static __device__ __forceinline__ void gpul__reduce_carry(const Op &op, typename Op::Acc (&acc)[kC], int index,
                                                          int levels, typename Op::Acc *halves, int pitch) {
    GPUL__UNROLL_NOT
    for (; index & 1; index >>= 1, --levels, halves += kC * pitch) { /* fault: reduce-halves-overwritten */
        typename Op::Acc left[kC];
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) left[c] = halves[c * pitch];
        op.combine_each(left, acc);
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) acc[c] = left[c];
    }
    if (levels <= 0) return;
    GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) halves[c * pitch] = acc[c];
}

/* The tree over the first `count` rows of threads, through shared memory: kC results of each thread. The first row gets
 * the results. All threads call it. */
template <int kC, typename Op>
static __device__ __forceinline__ void gpul__reduce_thread_rows(const Op &op, typename Op::Acc (&acc)[kC],
                                                                typename Op::Acc *shared, int row, int width,
                                                                int count) {
    typename Op::Acc *const own = shared + threadIdx.x;
    const int pitch = int(blockDim.x), part = row < count ? row : 1; /* 1: takes no part */
    if (count == 1) return;
    __syncthreads(); /* shared memory may still be read */
    GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) own[c * pitch] = acc[c];
    GPUL__UNROLL_NOT
    for (int d = 1; d < count; d *= 2) {         /* fault: reduce-depth-level */
        __syncthreads();                         /* fault: reduce-depth-barrier */
        if ((part & (2 * d - 1)) != 0) continue; /* fault: reduce-divergent-barrier */
        if (part + d >= count) continue;         /* fault: reduce-odd-depth */
        typename Op::Acc other[kC];              /* all are loaded before the first is stored */
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) other[c] = own[c * pitch + d * width];
        op.combine_each(acc, other);
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) own[c * pitch] = acc[c];
    }
}

/* A thread's part of a warp tile, kLanes vectors at a time. plan.one_lane: they are consecutive rows of the thread's
 * only lane. Else they are one row of kLanes neighbouring lanes, all of which are the thread's. */
template <int kC, typename Op>
static __device__ __forceinline__ void
gpul__reduce_column_tile(const gpul__reduce_view<Op> &v, const gpul__reduce_columns_of<typename Op::X, kC> &columns,
                         int tile, int lane, typename Op::Acc (&acc)[kC]) {
    typedef typename Op::X X;
    typedef typename Op::Y Y;
    typedef gpul__fetch<X, 16 / gpul__size_of<X>::value> Fetch;
    constexpr int kN = 16 / gpul__size_of<X>::value, kLanes = gpul__columns<Op>::kLanes, kRow = 32 * kN;
    const bool one_lane = v.plan.one_lane != 0;
    gpul__reduce_span span = gpul__reduce_span_of<kRow>(v.n, v.plan, tile);
    const gpul__reduce_steps<Op> steps(v.plan);
    const int first = lane * steps.lane, row = steps.vector;
    const int step = one_lane ? row : steps.lane, next = one_lane ? kLanes * row : row;
    const int end = steps.end(first, span.length);   /* of the first lane */
    if (Op::kOrdered && one_lane) span.length = end; /* the only lane */
    Op op[kC];
    typename Op::Lane lanes[kLanes][kC];
    GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) {
        op[c] = v.op;
        op[c].begin(columns.x[c]);
        op[c].enter(span.begin);
        GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) lanes[r][c] = op[c].start();
    }
    GPUL__UNROLL_NOT
    for (int at = first; at < end; at += next) {
        typename Fetch::Raw vx[kLanes][kC];
        Y vy[kLanes][kN];
        gpul__reduce_load(v, columns, span.begin, at, step, span.length - 1, vx, vy);
        if (at + (kLanes - 1) * step + kN <= span.length) {
            v.op.visit([&](auto variant) {
                GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) {
                    GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) {
                        typename Op::Lane &own = lanes[r][c];
                        own = variant.fold(op[c], one_lane ? lanes[0][c] : own, Fetch::unpacked(vx[r][c]).v, vy[r], kN,
                                           at + r * step);
                        if (one_lane) lanes[0][c] = own;
                    }
                }
            });
        } else { /* the last vectors: a loop that takes the first and shifts, as gpul__shift_left does */
            GPUL__UNROLL_NOT
            for (int r = 0; r < kLanes; ++r) {
                const int count = span.length - (at + r * step);
                typename Op::Lane now[kC];
                if (count > 0) {
                    v.op.visit([&](auto variant) {
                        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c)
                            now[c] = variant.fold(op[c], lanes[0][c], Fetch::unpacked(vx[0][c]).v, vy[0], count,
                                                  at + r * step);
                    });
                } else {
                    GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) now[c] = lanes[0][c];
                }
                GPUL__UNROLL_FOR (int q = 0; q + 1 < kLanes; ++q) {
                    GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) {
                        vx[q][c] = vx[q + 1][c];
                        if (!one_lane) lanes[q][c] = lanes[q + 1][c];
                    }
                    GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) vy[q][k] = vy[q + 1][k];
                }
                GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) {
                    if (one_lane) lanes[0][c] = now[c];
                    else lanes[kLanes - 1][c] = now[c];
                }
            }
        }
    }
    typename Op::Acc results[kLanes][kC];
    GPUL__UNROLL_FOR (int r = 0; r < kLanes; ++r) {
        const int from = first + r * steps.lane;
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c)
            results[r][c] = from < span.length && (r == 0 || !one_lane) ? op[c].finish(lanes[r][c], span.begin, from)
                                                                        : v.op.identity();
    }
    if (!one_lane) {
        GPUL__UNROLL_FOR (int d = 1; d < kLanes; d *= 2) {
            GPUL__UNROLL_FOR (int r = 0; r < kLanes; r += 2 * d) v.op.combine_each(results[r], results[r + d]);
        }
    }
    GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) acc[c] = results[0][c];
}

/* The tree over `count` slots from number `from` on. `leaves` partial results are in slots as gpul__reduce_leaves says;
 * they are `pitch` apart, and their columns `width`. Only the last block runs it, so several slots are in flight. */
template <int kC, typename Op>
static __device__ __forceinline__ void gpul__reduce_slots(const Op &op, const typename Op::Acc *partials, int64_t pitch,
                                                          int width, int leaves, int slots, int from, int count,
                                                          typename Op::Acc (&result)[kC]) {
    const gpul__reduce_leaves<Op> of(leaves, slots);
    typedef typename Op::Acc Acc;
    constexpr int kSide = kC * sizeof(Acc) <= 32 ? 4 : 2; /* slots at once */
    Acc open[11 * kC]; /* for gpul__reduce_carry: 2048 slots, two at a time or more */
    int levels = 0;
    while (kSide << levels < count) ++levels;
    GPUL__UNROLL_NOT
    for (int s = 0; s < count; s += kSide) {
        Acc acc[kSide][kC];
        GPUL__UNROLL_FOR (int k = 0; k < kSide; ++k) {
            GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) acc[k][c] = op.identity();
        }
        GPUL__UNROLL_NOT
        for (int leaf = of.first(from + s); leaf < of.end(from + s); leaf += of.step) {
            const Acc *const p = partials + leaf * pitch;
            Acc next[kSide][kC];
            GPUL__UNROLL_FOR (int k = 0; k < kSide; ++k) {
                GPUL__UNROLL_FOR (int c = 0; c < kC; ++c)
                    next[k][c] = s + k < count && leaf + k * of.slot_stride < leaves
                                     ? p[k * of.slot_stride * pitch + c * width]
                                     : op.identity();
            }
            GPUL__UNROLL_FOR (int k = 0; k < kSide; ++k) op.combine_each(acc[k], next[k]);
        }
        GPUL__UNROLL_FOR (int d = 1; d < kSide; d *= 2) { /* fault: reduce-slots-side */
            if (d >= count) break;
            GPUL__UNROLL_FOR (int k = 0; k < kSide; k += 2 * d) op.combine_each(acc[k], acc[k + d]);
        }
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) result[c] = acc[0][c];
        gpul__reduce_carry(op, result, s / kSide, levels, open, 1); /* fault: reduce-slots-level */
    }
}

/* Registers of a thread: of operations with one input of 2 or 4 bytes and small results, as many as leave room for five
 * blocks of 128 threads on a multiprocessor, or for six. Left alone, the compiler takes more, for rows that are close. */
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#define GPUL__COLUMNS_BOUNDS(Op) __maxnreg__(gpul__columns_registers<Op>::value)
#else
#define GPUL__COLUMNS_BOUNDS(Op) __launch_bounds__(GPUL__REDUCE_THREADS, 2)
#endif
template <typename Op> struct gpul__columns_registers {
    enum {
        kElement = gpul__size_of<typename Op::X>::value,
        kResult = kElement > 1 && std::is_same<typename Op::Y, gpul__none>::value ? sizeof(typename Op::Acc) : 16,
        value = kResult <= 4                    ? (kElement == 2 ? 80 : 96)
                : kResult <= 8 && kElement == 2 ? 96
                                                : 128
    };
};

template <typename Op>
static __global__ void GPUL__COLUMNS_BOUNDS(Op) gpul__reduce_columns(const __grid_constant__ gpul__reduce_view<Op> v) {
    typedef typename Op::X X;
    typedef typename Op::Acc Acc;
    constexpr int kC = gpul__columns<Op>::value, kLanes = gpul__columns<Op>::kLanes;
    const gpul__reduce_plan &p = v.plan;
    const Op &op = v.op;
    const gpul__reduce_assignment share = gpul__reduce_assignment_of(v, true);
    const int width = p.width, row = int(gpul__quotient(threadIdx.x, v.by_width)),
              side = int(threadIdx.x) - row * width;
    const gpul__reduce_columns_of<X, kC> columns(v, share.output_tile, side, row < p.depth);
    /* results of each thread; those of the trees over tiles (first row) and over passes, kC a level; a flag */
    GPUL_SHARED(char, memory);
    uint32_t *const flag = reinterpret_cast<uint32_t *>(memory);
    Acc *const shared = reinterpret_cast<Acc *>(memory + 16), *const halves = shared + int(blockDim.x) * kC;
    const int lane = (row & ((1 << p.threads_log2) - 1)) * (p.one_lane ? 1 : kLanes) * p.passes;
    const int first = int(share.split) * p.tiles * p.tiles_at_once + (row >> p.threads_log2); /* warp tile */
    int levels = 0, pass_levels = 0; /* of the trees over tiles and over passes */
    Acc acc[kC];
    while (1 << levels < p.tiles) ++levels;
    while (1 << pass_levels < p.passes) ++pass_levels;
    Acc *const own = halves + levels * kC * width + threadIdx.x;
    gpul__await();
    GPUL__UNROLL_NOT
    for (int k = 0; k < p.tiles; ++k) {
        const int tile = first + k * p.tiles_at_once;
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) acc[c] = op.identity();
        GPUL__UNROLL_NOT
        for (int pass = 0; pass < p.passes; ++pass) {
            if (columns.count > 0 && tile < p.warp_tiles)
                gpul__reduce_column_tile(v, columns, tile, lane + pass * (p.one_lane ? 1 : kLanes), acc);
            gpul__reduce_carry(op, acc, pass, pass_levels, own, int(blockDim.x)); /* fault: reduce-passes-share */
        }
        gpul__reduce_thread_rows(op, acc, shared, row, width, p.depth);
        if (row == 0) gpul__reduce_carry(op, acc, k, levels, halves + side, width);
    }
    if (p.splits > 1) {
        /* a leaf is a block tile, or a part of one; then slots are as many times more */
        const int64_t pitch = p.output_tiles * width * kC;
        Acc *const partials = v.partials + int64_t(share.output_tile) * width * kC + side;
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c)
            if (row == 0) partials[share.split * pitch + c * width] = acc[c]; /* fault: reduce-parts-share */
        if (!gpul__arrive_last(v.counters + share.output_tile, uint32_t(p.splits), flag)) return;
        int used = 1, count = 1; /* slots in use, and of a thread */
        while (used < p.slots && used < p.splits) used *= 2;
        const int rows = used < p.depth ? used : p.depth;
        while (rows * count < used) count *= 2;
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) acc[c] = op.identity();
        if (row < rows) gpul__reduce_slots(op, partials, pitch, width, p.splits, p.slots, row * count, count, acc);
        gpul__reduce_thread_rows(op, acc, shared, row, width, p.depth);
    }
    /* a row of threads stores one of a thread's columns, so that all are stored at a time */
    if (row == 0) {
        GPUL__UNROLL_FOR (int c = 0; c < kC; ++c) shared[c * int(blockDim.x) + side] = acc[c];
    }
    __syncthreads(); /* fault: reduce-columns-meet */
    GPUL__UNROLL_NOT
    for (int c = row; c < columns.count; c += p.depth) {
        const int64_t output = columns.output + c * columns.step; /* fault: reduce-columns-place */
        const Acc result = op.combine(shared[c * int(blockDim.x) + side], op.identity()); /* as in gpul__reduce_rows */
        op.store(v.out, gpul__reduce_output(v, output).out, v.out_dtype, result, v.n);
    }
}

/* ---- launching ---- */

template <bool kYes> struct gpul__bool {};
/* One kernel for rows of contiguous elements and of others, or two: where registers are short, and where elements are
 * copied to shared memory, each in its own way */
template <typename Op> struct gpul__reduce_both {
    static constexpr bool value = sizeof(typename Op::Lane) <= 16 && !gpul__reduce_copies<Op>::value;
};
/* The kernel of a plan. (Two functions, so that no kernel is instantiated that an operation does not have.) */
template <typename Op>
static inline void (*gpul__reduce_kernel(const gpul__reduce_plan *plan,
                                         gpul__bool<true>))(const gpul__reduce_view<Op>) {
    constexpr bool kBoth = gpul__reduce_both<Op>::value;
    return plan->dense ? gpul__reduce_rows<Op, 1, true, kBoth> : gpul__reduce_rows<Op, 1, kBoth, true>;
}
template <typename Op>
static inline void (*gpul__reduce_kernel(const gpul__reduce_plan *plan,
                                         gpul__bool<false>))(const gpul__reduce_view<Op>) {
    if (plan->kernel == GPUL__REDUCE_SHORT) return gpul__reduce_short<Op>;
    if (plan->kernel == GPUL__REDUCE_COLUMNS) return gpul__reduce_columns<Op>;
    if (plan->outputs_at_once > 1) return gpul__reduce_rows<Op, Op::kTogether, true, gpul__reduce_both<Op>::value>;
    return gpul__reduce_kernel<Op>(plan, gpul__bool<true>());
}

static inline void gpul__reduce_stride(int64_t *stride, const gpul__reduce_problem *p, bool outer, int32_t d) {
    *stride = outer ? p->x_outer[d] : p->x_reduce[d];
}
static inline void gpul__reduce_stride(gpul__offsets *stride, const gpul__reduce_problem *p, bool outer, int32_t d) {
    for (int k = 0; k < 3; ++k) stride->at[k] = (outer ? p->inputs->outer : p->inputs->reduce)[k][d];
}
static inline void gpul__reduce_extent(gpul__extent *extent, const gpul__reduce_problem *p, int64_t bytes) {
    extent->set(p->x,
                gpul__reach(p->reduce_shape, p->x_reduce, p->reduce_ndim) +
                    gpul__reach(p->outer_shape, p->x_outer, p->outer_ndim) + 1,
                bytes);
    gpul__extent out; /* which may lie in the gaps of x, and is written meanwhile */
    out.set(p->out, gpul__reach(p->outer_shape, p->out_stride, p->outer_ndim) + 1, gpul__bytes_of(p->out_dtype));
    if (extent->begin < out.end && out.begin < extent->end) extent->end = extent->begin;
}
static inline void gpul__reduce_extent(gpul__no_extent *, const gpul__reduce_problem *, int64_t) {}
/* The dimension d of the outputs, or of their elements */
template <typename Offset>
static void gpul__reduce_dimension(gpul__reduce_dim<Offset> *dim, const gpul__reduce_problem *p, bool outer,
                                   int32_t d) {
    const int64_t size = outer ? p->outer_shape[d] : p->reduce_shape[d];
    Offset stride;
    dim->whole = size;
    gpul__divide_by(&dim->reciprocal, &dim->reciprocal_shift, size, outer ? p->outputs : p->n);
    dim->size = uint32_t(size < GPUL__REDUCE_INDEX ? size : GPUL__REDUCE_INDEX);
    dim->by = gpul__division_by(dim->size);
    gpul__reduce_stride(&stride, p, outer, d);
    gpul__reduce_stride(&dim->x, p, outer, d - 1);
    dim->x += -size * stride;
    if (outer) dim->out = p->out_stride[d - 1] - size * p->out_stride[d];
}
/* One function for all operations: compilers take their time for each copy of it. */
template <typename Offset>
static void gpul__reduce_describe(gpul__reduce_layout<Offset> *v, const gpul__reduce_problem *p,
                                  const gpul__reduce_plan *plan, uint32_t *counters, int64_t x_bytes, int32_t columns) {
    const int32_t outer = p->outer_ndim - 1, reduce = p->reduce_ndim - 1; /* innermost */
    v->counters = counters;
    v->out = p->out;
    v->n = p->n;
    v->outputs = p->outputs;
    if (outer >= 0) {
        gpul__reduce_stride(&v->x_outer, p, true, outer);
        v->out_outer = p->out_stride[outer];
    }
    gpul__reduce_stride(&v->x_stride, p, false, reduce);
    v->y_stride = p->y_stride;
    v->out_dtype = p->out_dtype;
    v->outer_ndim = p->outer_ndim;
    v->plan = *plan;
    const bool by_columns = plan->kernel == GPUL__REDUCE_COLUMNS;
    if (plan->splits > 1)
        v->by_split = gpul__division_by(by_columns || p->y ? plan->output_tiles : int64_t(plan->splits));
    if (by_columns) v->by_width = gpul__division_by(plan->width);
    if (by_columns && plan->vector) v->by_row = gpul__division_by(gpul_ceil_div(p->outer_shape[outer], columns));
    v->source.stride = v->x_stride;
    v->source.ndim = p->reduce_ndim;
    v->source.near = !p->inputs && gpul__reach(p->reduce_shape, p->x_reduce, p->reduce_ndim) <= INT32_MAX;
    for (int32_t d = 0; d < outer; ++d) gpul__reduce_dimension(&v->outer[d], p, true, outer - d);
    for (int32_t d = 0; d < reduce && p->n > 0; ++d) gpul__reduce_dimension(&v->source.dim[d], p, false, reduce - d);
    gpul__reduce_extent(&v->source.extent, p, x_bytes);
}
template <typename Op>
static inline int32_t gpul__reduce_launch_op(const gpul__reduce_problem *problem, const gpul__reduce_plan *plan,
                                             const gpul__machine *machine, void *partials, uint32_t *counters,
                                             gpul_stream stream, const Op &op) {
    gpul__reduce_view<Op> v = {};
    v.x = gpul__operand<typename Op::X>::pointer(*problem);
    v.y = static_cast<const typename Op::Y *>(problem->y);
    v.partials = static_cast<typename Op::Acc *>(partials);
    v.op = op;
    gpul__reduce_describe<typename gpul__reduce_view<Op>::Operand::Offset>(
        &v, problem, plan, counters, gpul__size_of<typename Op::X>::bytes, gpul__columns<Op>::value);
    return gpul__launch_early(machine->device, gpul__reduce_kernel<Op>(plan, gpul__bool<(Op::kRowsOnly != 0)>()),
                              gpul__dim(uint32_t(plan->blocks)), gpul__dim(uint32_t(plan->threads)),
                              size_t(plan->shared_bytes), stream, v);
}
template <typename Op>
static constexpr gpul__reducer gpul__reducer_of(decltype(gpul__reducer::launch) launch, bool exact = false) {
    return gpul__reducer{launch,
                         int32_t(gpul__size_of<typename Op::X>::value),
                         int32_t(sizeof(typename Op::Acc)),
                         int32_t(Op::kFoldBytes),
                         Op::kRowsOnly ? 0 : int32_t(gpul__columns<Op>::value),
                         int32_t(gpul__columns<Op>::kLanes),
                         int32_t(Op::kTogether),
                         int32_t(gpul__short<Op>::value),
                         int32_t(Op::kOrdered),
                         int32_t(exact || Op::kExact),
                         int32_t(gpul__operand<typename Op::X>::kSeveral),
                         int32_t(Op::kResultBytes)};
}

/* ---- reductions of your own ----
 *
 * GPUL_REDUCE makes a struct of its arguments, and gpul__own an operation of the engine of that. */

/* A result: an element, or the bytes of a struct */
template <typename T, bool kStruct> struct gpul__result_of {
    static constexpr int dtype = gpul__dtype_of<T>::value, bytes = 0;
    static __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype to, T value) {
        gpul__store(out, i, to, value);
    }
};
template <typename T> struct gpul__result_of<T, true> {
    static constexpr int dtype = GPUL_U8, bytes = sizeof(T);
    static __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype, const T &value) {
        unsigned char from[sizeof(T)], *const to = static_cast<unsigned char *>(out) + i;
        memcpy(from, &value, sizeof from);
        GPUL__UNROLL_FOR (int k = 0; k < int(sizeof(T)); ++k) to[k] = from[k];
    }
};
template <typename T>
struct gpul__result : gpul__result_of<T, std::is_class<T>::value && !std::is_same<T, gpul_f16>::value &&
                                             !std::is_same<T, gpul_bf16>::value> {};

/* The engine's element of the inputs that are arrays: of one array alone, its element itself */
template <typename Arrays, typename Scalars> struct gpul__elements_of { typedef Arrays type; };
template <typename T>
struct gpul__elements_of<gpul__several<T, gpul__none, gpul__none>, gpul__several<gpul__none, gpul__none, gpul__none>> {
    typedef T type;
};
template <typename T> static __device__ __forceinline__ gpul__several<T, gpul__none, gpul__none> gpul__elements(T x) {
    return {x, gpul__none(), gpul__none()};
}
template <typename T, typename U, typename V>
static __device__ __forceinline__ gpul__several<T, U, V> gpul__elements(gpul__several<T, U, V> elements) {
    return elements;
}
/* An input's value: an element of an array, or a scalar, or none */
template <typename T> static __device__ __forceinline__ T gpul__element_or_scalar(T element, gpul__none) {
    return element;
}
template <typename T> static __device__ __forceinline__ T gpul__element_or_scalar(gpul__none, T scalar) {
    return scalar;
}
static __device__ __forceinline__ gpul__none gpul__element_or_scalar(gpul__none, gpul__none) { return gpul__none(); }
template <typename T> static inline void gpul__take_scalar(T *to, const gpul__reduce_inputs *inputs, int k) {
    memcpy(to, &inputs->scalar[k], sizeof *to);
}
static inline void gpul__take_scalar(gpul__none *, const gpul__reduce_inputs *, int) {}

template <typename A> struct gpul__is_accumulator {
    static constexpr int kPlain =
        std::is_trivially_copyable<A>::value && std::is_trivially_default_constructible<A>::value;
    static constexpr int value = kPlain && sizeof(A) <= 64 && alignof(A) <= 16;
};
template <typename T> struct gpul__is_result {
    static constexpr int value =
        gpul__result<T>::bytes == 0 || (std::is_trivially_copyable<T>::value && sizeof(T) <= 64);
};
template <typename Arrays> struct gpul__has_array {
    static constexpr int value = !std::is_same<Arrays, gpul__several<gpul__none, gpul__none, gpul__none>>::value;
};

template <typename Own>
struct gpul__own : gpul__reduction<gpul__own<Own>, typename Own::gpul__Elements, typename Own::gpul__A> {
    typedef typename Own::gpul__A A;
    typedef typename Own::gpul__Elements Elements;
    static constexpr int kOrdered = Own::gpul__ordered, kResultBytes = gpul__result<typename Own::gpul__Result>::bytes;
    typename Own::gpul__Scalars scalars;
    int64_t place;                                                          /* of the warp tile's first element */
    __device__ __forceinline__ void enter(int64_t begin) { place = begin; } /* fault: own-place */
    __device__ __forceinline__ A identity() const { return Own::gpul__identity(); }
    __device__ __forceinline__ A combine(A a, A b) const { return Own::gpul__combine(a, b); }
    __device__ __forceinline__ A one(A acc, Elements element, gpul__none, int at) const {
        const auto e = gpul__elements(element);
        return Own::gpul__combine(acc, Own::gpul__map(gpul__element_or_scalar(e.x, scalars.x),
                                                      gpul__element_or_scalar(e.y, scalars.y),
                                                      gpul__element_or_scalar(e.z, scalars.z), place + at));
    }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, A a, int64_t n) const {
        gpul__result<typename Own::gpul__Result>::store(out, i, dtype,
                                                        Own::gpul__post(a, n, scalars.x, scalars.y, scalars.z));
    }
};
template <typename Own>
static int32_t gpul__own_launch(const gpul__reduce_problem *problem, const gpul__reduce_plan *plan,
                                const gpul__machine *machine, void *partials, uint32_t *counters, gpul_stream stream) {
    gpul__own<Own> op;
    gpul__take_scalar(&op.scalars.x, problem->inputs, 0);
    gpul__take_scalar(&op.scalars.y, problem->inputs, 1);
    gpul__take_scalar(&op.scalars.z, problem->inputs, 2);
    op.place = 0;
    return gpul__reduce_launch_op(problem, plan, machine, partials, counters, stream, op);
}

} /* namespace */

/* ---- operations of your own ----
 *
 * Each of these, at file scope, defines a function that C can call. It takes arrays of any shape, strides and
 * broadcasting, has the checks and errors of the built-in ones (ARGUMENT, DTYPE, SHAPE, OVERLAP, DEVICE, OVERFLOW,
 * OUT_OF_MEMORY, CUDA's; they name the function and the input), does not block, is one launch, and can be captured.
 * T, TX ... are float, double, int32_t, int64_t, uint8_t, gpul_f16 and gpul_bf16 (which are floats in expressions, and
 * to which a double or an integer is rounded once).
 * There are one to three inputs. One of type gpul_scalar<TX> is a run-time value: TX x in place of const gpul_array *x.
 * A comma in an expression needs ( ), a type with a comma a typedef.
 *
 * GPUL_ELEMENTWISE(name, T, expression, TX, x [, TY, y [, TZ, z]])
 *         gpul_status name(gpul_array *out, const gpul_array *x [, ... *y [, ... *z]], gpul_stream stream);
 *     out[i] = expression. Inputs broadcast to out's shape.
 *         GPUL_ELEMENTWISE(squared_difference, float, (x - y) * (x - y), float, x, float, y)
 *         GPUL_ELEMENTWISE(axpy, float, fmaf(a, x, y), gpul_scalar<float>, a, float, x, float, y)
 *
 * GPUL_ELEMENTWISE_OUTPUTS(name, (TO, o [, TP, p [, TQ, q]]), statements, TX, x [, TY, y [, TZ, z]])
 *         gpul_status name(gpul_array *o [, ... *p [, ... *q]], const gpul_array *x [, ...], gpul_stream stream);
 *     The statements set o, p and q, which begin as 0, from x, y and z; those of 16 bits are floats until they end.
 *     Outputs are of one shape and any strides. Each may be an input itself, but not overlap one otherwise, nor another
 *     output.
 *         GPUL_ELEMENTWISE_OUTPUTS(divide, (int32_t, quotient, int32_t, rest), quotient = x / y; rest = x % y,
 *                                  int32_t, x, int32_t, y)
 *
 * GPUL_REDUCE(name, T, A, identity, map, combine, post, TX, x [, TY, y [, TZ, z]])
 *         gpul_status name(gpul_array *out, const gpul_array *x [, ...], int32_t axis, gpul_stream stream);
 *     along one axis (a negative one counts from the end) of the shape that the inputs broadcast to, or over
 *     GPUL_ALL_AXES; out as in gpul_reduce. One input at least is an array.
 *       map       of an element of each input, to the accumulator's type A
 *       combine   of two accumulators a and b; associative and commutative, up to rounding
 *       identity  combine(identity, a) and combine(a, identity) are a; the result of no elements is its post
 *       post      of the last accumulator a, of n, the number of elements, and of run-time values, to out's type T
 *     No input is named a, b, i or n. A is a number or a struct without constructors, of at most 64 bytes. T may be a
 *     struct of at most 64 bytes, too: then out is u8 and has one dimension more, the last, of sizeof(T) bytes that lie
 *     side by side, which a C program copies into such a struct.
 *         GPUL_REDUCE(l2_norm, float, double, 0, double(x) * x, a + b, sqrt(a), float, x)
 *         GPUL_REDUCE(distance, double, double, 0, (x - y) * (x - y), a + b, sqrt(a), double, x, double, y)
 *
 * GPUL_REDUCE_ORDERED(name, T, A, identity, map, combine, post, TX, x [, TY, y [, TZ, z]])
 *     The same where combine is associative, but not commutative: a is of the elements right before b's. Over all axes
 *     they come in row-major order. map may name i (int64_t), the element's index along the axis, or in row-major order
 *     over all axes.
 *         struct least { double value; int64_t index; };     // the first of the least elements
 *         GPUL_REDUCE_ORDERED(find_least, least, least, (least{INFINITY, -1}), (least{x, i}),
 *                             (a.index < 0 || b.value < a.value ? b : a), a, double, x)
 *     Index -1 tells the identity from an element of INFINITY. A NaN may hide smaller elements behind it.
 *
 * The bits of a reduction are a function of the elements along the axis, their number and the size of the largest input
 * type. Write fmaf(a, b, c) where a multiply-add shall be fused: nvcc may fuse or not fuse a * b + c as it likes, and
 * then the bits depend on the compiler. */

#define GPUL__CONCAT_(a, b) a##b
#define GPUL__CONCAT(a, b) GPUL__CONCAT_(a, b)
#define GPUL__CALL(macro, ...) macro(__VA_ARGS__) /* expands the arguments first, which may be lists */
#define GPUL__BARE(...) __VA_ARGS__
/* The number of pairs in a list of types and names */
#define GPUL__COUNT_(a, b, c, d, e, f, g, h, i, j, count, ...) count
#define GPUL__COUNT(...) GPUL__COUNT_(__VA_ARGS__, wrong, wrong, wrong, wrong, 3, wrong, 2, wrong, 1, wrong, 0)
/* The list with three pairs: missing ones are of gpul__none, and named `b` and `c`. */
#define GPUL__THREE(b, c, ...) GPUL__CONCAT(GPUL__THREE_, GPUL__COUNT(__VA_ARGS__))(b, c, __VA_ARGS__)
#define GPUL__THREE_1(b, c, TX, x) TX, x, gpul__none, b, gpul__none, c
#define GPUL__THREE_2(b, c, TX, x, TY, y) TX, x, TY, y, gpul__none, c
#define GPUL__THREE_3(b, c, TX, x, TY, y, TZ, z) TX, x, TY, y, TZ, z
/* of(type, name) for each pair */
#define GPUL__PAIRS(of, ...) GPUL__CONCAT(GPUL__PAIRS_, GPUL__COUNT(__VA_ARGS__))(of, __VA_ARGS__)
#define GPUL__PAIRS_1(of, TX, x) of(TX, x)
#define GPUL__PAIRS_2(of, TX, x, TY, y) of(TX, x), of(TY, y)
#define GPUL__PAIRS_3(of, TX, x, TY, y, TZ, z) of(TX, x), of(TY, y), of(TZ, z)
/* `yes` where a list has one to three pairs, else `no` */
#define GPUL__CHECKED(yes, no, ...) GPUL__CONCAT(GPUL__CHECKED_, GPUL__COUNT(__VA_ARGS__))(yes, no)
#define GPUL__CHECKED_1(yes, no) yes
#define GPUL__CHECKED_2(yes, no) yes
#define GPUL__CHECKED_3(yes, no) yes
#define GPUL__CHECKED_wrong(yes, no) no
#define GPUL__IN_PARAMETER(TX, x) gpul__input<TX>::Parameter x
#define GPUL__IN_NAME(TX, x) #x
#define GPUL__IN_VALUE(TX, x) gpul__input<TX>::value(x)
#define GPUL__OUT_PARAMETER(T, o) gpul_array *o
#define GPUL__OUT_VALUE(T, o)                                                                                          \
    gpul__output_value { o, #o, gpul__dtype_of<T>::value }
#define GPUL__REFUSE(macro, name, what)                                                                                \
    static_assert(sizeof(#name) == 0, #macro " " #name ": " what " are one to three pairs of a type and a name "       \
                                             "(an expression with a comma needs parentheses)");

/* result, body, parameters and values stand in ( ) */
#define GPUL__ELEMENTWISE(name, result, body, parameters, outs, values, ...)                                           \
    GPUL__CALL(GPUL__ELEMENTWISE_OP, name, result, body, GPUL__THREE(gpul__y, gpul__z, __VA_ARGS__))                   \
    extern "C" gpul_status name(GPUL__BARE parameters, GPUL__PAIRS(GPUL__IN_PARAMETER, __VA_ARGS__),                   \
                                gpul_stream gpul__stream) {                                                            \
        static const gpul__elementwise_op gpul__op = gpul__elementwise_of<gpul__own_elementwise<gpul__op_##name>>(     \
            gpul__elementwise_launch<gpul__own_elementwise<gpul__op_##name>>);                                         \
        static const char *const gpul__names[] = {GPUL__PAIRS(GPUL__IN_NAME, __VA_ARGS__)};                            \
        const gpul__output_value gpul__outs[outs] = {GPUL__BARE values};                                               \
        const gpul__input_value gpul__in[] = {GPUL__PAIRS(GPUL__IN_VALUE, __VA_ARGS__)};                               \
        return gpul_run_elementwise(#name, &gpul__op, gpul__outs, outs, gpul__names, gpul__in,                         \
                                    GPUL__COUNT(__VA_ARGS__), gpul__stream);                                           \
    }
#define GPUL__ELEMENTWISE_OP(name, result, body, TX, x, TY, y, TZ, z)                                                  \
    struct gpul__op_##name {                                                                                           \
        typedef GPUL__BARE result gpul__Out;                                                                           \
        typedef gpul__input<TX>::Element gpul__A;                                                                      \
        typedef gpul__input<TY>::Element gpul__B;                                                                      \
        typedef gpul__input<TZ>::Element gpul__C;                                                                      \
        static __device__ __forceinline__ gpul__Out gpul__value(gpul__A x, gpul__B y, gpul__C z) {                     \
            (void)x, (void)y, (void)z;                                                                                 \
            GPUL__BARE body                                                                                            \
        }                                                                                                              \
    };

#define GPUL_ELEMENTWISE(name, T, expression, ...)                                                                     \
    GPUL__CHECKED(GPUL__ELEMENTWISE_ONE, GPUL__ELEMENTWISE_WRONG, __VA_ARGS__)(name, T, expression, __VA_ARGS__)
#define GPUL__ELEMENTWISE_WRONG(name, ...) GPUL__REFUSE(GPUL_ELEMENTWISE, name, "inputs")
#define GPUL__ELEMENTWISE_ONE(name, T, expression, ...)                                                                \
    GPUL__ELEMENTWISE(name, (T), (return static_cast<gpul__Out>(expression);), (gpul_array * gpul__out), 1,            \
                      (gpul__output_value{gpul__out, "out", gpul__dtype_of<T>::value}), __VA_ARGS__)

#define GPUL_ELEMENTWISE_OUTPUTS(name, outputs, statements, ...)                                                       \
    GPUL__CHECKED(GPUL__OUTPUTS, GPUL__OUTPUTS_WRONG_INPUTS, __VA_ARGS__)(name, outputs, statements, __VA_ARGS__)
#define GPUL__OUTPUTS_WRONG_INPUTS(name, ...) GPUL__REFUSE(GPUL_ELEMENTWISE_OUTPUTS, name, "inputs")
#define GPUL__OUTPUTS_WRONG(name, ...) GPUL__REFUSE(GPUL_ELEMENTWISE_OUTPUTS, name, "outputs")
#define GPUL__OUTPUTS(name, outputs, ...)                                                                              \
    GPUL__CHECKED(GPUL__OUTPUTS_SEVERAL, GPUL__OUTPUTS_WRONG, GPUL__BARE outputs)(name, outputs, __VA_ARGS__)
#define GPUL__OUTPUTS_SEVERAL(name, outputs, statements, ...)                                                          \
    GPUL__ELEMENTWISE(name, GPUL__CALL(GPUL__OUTPUTS_TYPE, GPUL__THREE(gpul__p, gpul__q, GPUL__BARE outputs)),         \
                      GPUL__CALL(GPUL__OUTPUTS_BODY, statements, GPUL__THREE(gpul__p, gpul__q, GPUL__BARE outputs)),   \
                      (GPUL__PAIRS(GPUL__OUT_PARAMETER, GPUL__BARE outputs)), GPUL__COUNT outputs,                     \
                      (GPUL__PAIRS(GPUL__OUT_VALUE, GPUL__BARE outputs)), __VA_ARGS__)
#define GPUL__OUTPUTS_TYPE(T, o, U, p, V, q) (gpul__several<T, U, V>)
/* Outputs of 16 bits are floats in the statements, as inputs are. */
#define GPUL__OUTPUT_OF(T, o) gpul__variable<T>::Type o = gpul__variable<T>::Type()
#define GPUL__OUTPUTS_BODY(statements, T, o, U, p, V, q)                                                               \
    (GPUL__OUTPUT_OF(T, o); GPUL__OUTPUT_OF(U, p); GPUL__OUTPUT_OF(V, q); statements;                                  \
     const gpul__Out gpul__results = {static_cast<T>(o), static_cast<U>(p), static_cast<V>(q)}; return gpul__results;)

#define GPUL_REDUCE(name, T, A, identity, map, combine, post, ...)                                                     \
    GPUL__CHECKED(GPUL__REDUCE, GPUL__REDUCE_WRONG, __VA_ARGS__)                                                       \
    (name, 0, gpul__i, T, A, identity, map, combine, post, __VA_ARGS__)
#define GPUL_REDUCE_ORDERED(name, T, A, identity, map, combine, post, ...)                                             \
    GPUL__CHECKED(GPUL__REDUCE, GPUL__REDUCE_WRONG, __VA_ARGS__)                                                       \
    (name, 1, i, T, A, identity, map, combine, post, __VA_ARGS__)
#define GPUL__REDUCE_WRONG(name, ...) GPUL__REFUSE(GPUL_REDUCE, name, "inputs")
#define GPUL__REDUCE(name, ordered, i, T, A, identity, map, combine, post, ...)                                        \
    GPUL__CALL(GPUL__REDUCE_OP, name, ordered, i, T, A, identity, map, combine, post,                                  \
               GPUL__THREE(gpul__y, gpul__z, __VA_ARGS__))                                                             \
    extern "C" gpul_status name(gpul_array *gpul__out, GPUL__PAIRS(GPUL__IN_PARAMETER, __VA_ARGS__),                   \
                                int32_t gpul__axis, gpul_stream gpul__stream) {                                        \
        static const gpul__reducer gpul__r =                                                                           \
            gpul__reducer_of<gpul__own<gpul__op_##name>>(gpul__own_launch<gpul__op_##name>);                           \
        static const char *const gpul__names[] = {GPUL__PAIRS(GPUL__IN_NAME, __VA_ARGS__)};                            \
        const gpul__input_value gpul__in[] = {GPUL__PAIRS(GPUL__IN_VALUE, __VA_ARGS__)};                               \
        return gpul_run_reduction(#name, &gpul__r, gpul__out, gpul__result<gpul__op_##name::gpul__Result>::dtype,      \
                                  gpul__names, gpul__in, GPUL__COUNT(__VA_ARGS__), gpul__axis, gpul__stream);          \
    }
/* Is an input's name one that combine, map or post have? */
static constexpr bool gpul__is_taken(const char *x) {
    return (x[0] == 'a' || x[0] == 'b' || x[0] == 'i' || x[0] == 'n') && x[1] == 0;
}
#define GPUL__REDUCE_OP(name, ordered, i, Result, A, identity, map, combine, post, TX, x, TY, y, TZ, z)                \
    static_assert(!gpul__is_taken(#x) && !gpul__is_taken(#y) && !gpul__is_taken(#z),                                   \
                  "GPUL_REDUCE " #name ": an input is called a, b, i or n, which are taken");                          \
    struct gpul__op_##name {                                                                                           \
        enum { gpul__ordered = ordered };                                                                              \
        typedef Result gpul__Result;                                                                                   \
        typedef A gpul__A;                                                                                             \
        typedef gpul__several<gpul__input<TX>::Array, gpul__input<TY>::Array, gpul__input<TZ>::Array> gpul__Arrays;    \
        typedef gpul__several<gpul__input<TX>::Scalar, gpul__input<TY>::Scalar, gpul__input<TZ>::Scalar>               \
            gpul__Scalars;                                                                                             \
        typedef gpul__elements_of<gpul__Arrays, gpul__Scalars>::type gpul__Elements;                                   \
        static_assert(gpul__is_accumulator<gpul__A>::value,                                                            \
                      "GPUL_REDUCE " #name                                                                             \
                      ": an accumulator is a number, or a struct without constructors, of at most "                    \
                      "64 bytes");                                                                                     \
        static_assert(gpul__is_result<gpul__Result>::value,                                                            \
                      "GPUL_REDUCE " #name ": a result is an element, or a struct of at most 64 bytes that may be "    \
                      "copied by its bytes");                                                                          \
        static_assert(gpul__has_array<gpul__Arrays>::value, "GPUL_REDUCE " #name ": one input at least is an array");  \
        static __device__ __forceinline__ gpul__A gpul__identity() { return static_cast<gpul__A>(identity); }          \
        static __device__ __forceinline__ gpul__A gpul__map(gpul__input<TX>::Element x, gpul__input<TY>::Element y,    \
                                                            gpul__input<TZ>::Element z, int64_t i) {                   \
            (void)x, (void)y, (void)z, (void)i;                                                                        \
            return static_cast<gpul__A>(map);                                                                          \
        }                                                                                                              \
        static __device__ __forceinline__ gpul__A gpul__combine(gpul__A a, gpul__A b) {                                \
            return static_cast<gpul__A>(combine);                                                                      \
        }                                                                                                              \
        static __device__ __forceinline__ gpul__Result gpul__post(gpul__A a, int64_t n, gpul__input<TX>::Scalar x,     \
                                                                  gpul__input<TY>::Scalar y,                           \
                                                                  gpul__input<TZ>::Scalar z) {                         \
            (void)n, (void)x, (void)y, (void)z;                                                                        \
            return static_cast<gpul__Result>(post);                                                                    \
        }                                                                                                              \
    };

#endif /* GPULITE__ENGINES */

#ifndef GPULITE_ENGINES_ONLY

namespace {

/* ---- arithmetic ---- */

/* The value that comparisons run on: 16-bit floats as floats */
template <typename T> struct gpul__value_of { typedef T type; };
template <> struct gpul__value_of<gpul_f16> { typedef float type; };
template <> struct gpul__value_of<gpul_bf16> { typedef float type; };

/* Sums, differences and products. Integers wrap: signed overflow is undefined in C++, unsigned is not. The _rn
 * intrinsics are never contracted. 16-bit floats are computed in float. */
#define GPUL__OPERATION(name, intrinsic, sign)                                                                         \
    static __device__ __forceinline__ float name(float a, float b) { return __f##intrinsic##_rn(a, b); }               \
    static __device__ __forceinline__ double name(double a, double b) { return __d##intrinsic##_rn(a, b); }            \
    static __device__ __forceinline__ int32_t name(int32_t a, int32_t b) {                                             \
        return int32_t(uint32_t(a) sign uint32_t(b));                                                                  \
    }                                                                                                                  \
    static __device__ __forceinline__ int64_t name(int64_t a, int64_t b) {                                             \
        return int64_t(uint64_t(a) sign uint64_t(b));                                                                  \
    }                                                                                                                  \
    static __device__ __forceinline__ uint8_t name(uint8_t a, uint8_t b) { return uint8_t(a sign b); }                 \
    template <typename H> static __device__ __forceinline__ H name(H a, H b) { return H(name(float(a), float(b))); }
GPUL__OPERATION(gpul__add, add, +)
GPUL__OPERATION(gpul__subtract, sub, -)
GPUL__OPERATION(gpul__mul, mul, *)
static __device__ __forceinline__ double gpul__multiply_add(double a, double b, double c) { return fma(a, b, c); }
static __device__ __forceinline__ float gpul__multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
template <typename I> static __device__ __forceinline__ I gpul__multiply_add(I a, I b, I c) {
    return gpul__add(gpul__mul(a, b), c);
}
/* The lesser of two numbers of 16 bits each, in both halves */
static __device__ __forceinline__ uint32_t gpul__lesser_halves(uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
    return __vminu2(a, b);
#else
    const uint32_t low = (a & 0xffffu) < (b & 0xffffu) ? a : b, high = a >> 16 < b >> 16 ? a : b;
    return (high & 0xffff0000u) | (low & 0xffffu);
#endif
}

} /* namespace */

/* ---------------------------------------------------------------------------------------------------------------------
 * 1. Elementwise
 *
 * Instances of the elementwise engine, which moves the data; an operation here says what happens to one element. Cost:
 * the bytes of inputs and output, once. Operations of one type share a kernel and choose by a run-time flag, which one
 * uniform branch for a thread's whole vector makes free. Copies and fills are kernels for the size of an element.
 * ------------------------------------------------------------------------------------------------------------------ */
/* ---- plan ----
 *
 * The kernel:
 *     tiles     of large arrays, where an input's neighbours lie along another dimension than out's. That dimension
 *               becomes the next to the innermost. Two inputs are transposed at most. Elements of 1 and 2 bytes move as
 *               words of 4 in kernels of their own type.
 *     vectors   where out is contiguous along its innermost dimension, inputs are contiguous or broadcast there, and
 *               rows are long; of NumPy's functions, only for one input that is dense as a whole, as out is
 *     elements  else; where all inputs repeat along a dimension, a thread stores each result several times there
 *
 * Tiles follow each other along out's dimensions, the innermost first, but for two cases. Where an input is read
 * again along a short dimension of long rows, a block takes all of that dimension for a part of a row, so that the
 * input stays in the cache. Where an input of many short rows is contiguous along another dimension, that one comes
 * second. */

/* Are an operand's vectors of `vector` elements aligned wherever out's are? */
static bool gpul__elementwise_aligned_as_out(const gpul__elementwise_problem *p, int32_t operand, const void *first,
                                             int32_t bytes, int32_t out_bytes, int32_t vector) {
    int64_t offset = int64_t((uintptr_t(first) >> gpul__log2_above(bytes, 4)) -
                             (uintptr_t(p->out) >> gpul__log2_above(out_bytes, 4)));
    for (int32_t d = 0; d + 1 < p->ndim; ++d)
        offset |= p->strides[operand][d] - p->strides[0][d]; /* fault: elementwise-alike */
    return (offset & (vector - 1)) == 0;
}
/* Adds a dimension of `size` tiles: each is `by` elements along the problem's dimension d, and so many tiles along
 * out's columns and rows. */
static void gpul__elementwise_add_dim(gpul__elementwise_plan *plan, const gpul__elementwise_problem *p,
                                      int32_t operands, int64_t size, int32_t d, int64_t by, int64_t columns,
                                      int64_t rows) {
    plan->dim[plan->ndim].size = size;
    plan->dim[plan->ndim].column = columns;
    plan->dim[plan->ndim].row = rows;
    for (int o = 0; o < operands; ++o) plan->dim[plan->ndim].step[o] = p->strides[o][d] * by;
    plan->tiles *= size;
    ++plan->ndim;
}
/* Makes dimension d the next to the innermost. */
static void gpul__elementwise_move_inward(gpul__elementwise_problem *p, int32_t operands, int32_t d) {
    for (int o = -1; o < operands; ++o) {
        int64_t *const values = o < 0 ? p->shape : p->strides[o], value = values[d];
        for (int32_t i = d; i < p->ndim - 2; ++i) values[i] = values[i + 1];
        values[p->ndim - 2] = value;
    }
}
/* Which inputs are transposed, as bits: those whose neighbours share a line of memory along another dimension than
 * out's. That is `along`, the same for all of them: the one of the input with the most elements. words: tiles of words,
 * to which inputs have to be contiguous. Rows that are short need no tiles, nor few of them: a block reads what is
 * beside its elements soon, from the cache. */
static int32_t gpul__elementwise_transposed(const gpul__elementwise_problem *p, const gpul__elementwise_op *op,
                                            bool words, int32_t *along) {
    constexpr int kSector = 32, kLine = 128, kRow = 32, kRows = 8, kFewest = 1 << 18;
    const int32_t last = p->ndim - 1;
    int32_t nearest[3], inputs = 0;
    int64_t most = 0;
    if (p->shape[last] < kRow || p->n < kFewest) return 0;
    for (int k = 0; k < 3; ++k) {
        const int64_t *const strides = p->strides[1 + k], bytes = op->in_bytes[k];
        int64_t elements = 1;
        nearest[k] = last;
        if (bytes == 0 || p->in[k] == NULL || strides[last] == 0) continue;
        for (int32_t d = last; d >= 0; --d) {
            if (strides[d] != 0) elements *= p->shape[d];
            if (strides[d] != 0 && p->shape[d] > 1 && strides[d] < strides[nearest[k]]) nearest[k] = d;
        }
        /* gathers of neighbouring sectors, or of sectors of their own, of what remains in the cache */
        const int64_t step = strides[nearest[k]];
        const bool cached = (strides[last] * bytes < kSector || step * bytes >= kSector) &&
                            gpul__reach(p->shape, strides, p->ndim) * bytes < GPUL__ELEMENTWISE_CACHE;
        if (step * bytes >= kLine || (words && step != 1) || cached || p->shape[nearest[k]] < (words ? kRow : kRows))
            nearest[k] = last;
        if (nearest[k] == last || elements <= most) continue;
        most = elements;
        *along = nearest[k];
    }
    for (int k = 0; k < 3 && most > 0; ++k)
        if (nearest[k] == *along && (inputs & (inputs - 1)) == 0) inputs |= 1 << k; /* two at most */
    return inputs;
}
/* A dimension of `size` elements in equal parts, of 2^log2 at most: that many elements, or fewer in many parts */
static int64_t gpul__elementwise_part_of(int64_t size, int32_t log2) {
    const int64_t most = int64_t(1) << log2;
    return size < 16 * most ? gpul_ceil_div(size, gpul_ceil_div(size, most)) : most;
}
/* How well an operand's runs use memory, 1 at best: each has `part` elements, `step` bytes apart, of a dimension of
 * `size`, of which the next begins `next` bytes further. A run costs some 96 bytes beside its own. */
static double gpul__elementwise_dense(int64_t part, int64_t size, int64_t step, int64_t next) {
    constexpr int kSector = 32, kBeside = 96;
    const int64_t run = part * step;
    return part == size && next < run + kSector ? 1 : double(run) / double(run + kBeside);
}
/* The kernel `tiles`. word: elements in a word of shared memory; bytes: of an element there, 0: as in memory
 *
 * A tile of elements has 2^rows_log2 x 2^columns_log2 places, as many as all threads take at once, or fewer where these
 * would be few blocks. Its shape has few places that are empty, and long runs. */
static void gpul__plan_tiles(gpul__elementwise_plan *plan, gpul__elementwise_problem *p, const gpul__elementwise_op *op,
                             int32_t operands, int32_t bytes, int32_t word) {
    const int32_t last = p->ndim - 1, size = op->out_bytes;
    const int64_t width = p->shape[last], height = p->shape[last - 1];
    plan->kernel = word > 1 ? GPUL__ELEMENTWISE_WORDS : GPUL__ELEMENTWISE_TILES;
    plan->block = 1;
    if (word > 1) {
        plan->columns = 32 * word;
        plan->rows = GPUL__ELEMENTWISE_ROWS(4 / word);
        plan->rows_log2 = gpul__log2_above(plan->rows, 8);
        plan->pitch = GPUL__ELEMENTWISE_PITCH;
    } else {
        int32_t area = 11;
        double best = 0;
        while (area > 8 && p->n < int64_t(256) << area) --area;
        static_assert(GPUL__ELEMENTWISE_AREA == 1 << 11 && GPUL__ELEMENTWISE_THREADS == 1 << 8, "the greatest tile");
        for (int32_t log2 = gpul__log2_above(height, 8); log2 >= 0; --log2) {
            const int32_t across = gpul__log2_above(width, area - log2 < 8 ? area - log2 : 8);
            const int64_t rows = gpul__elementwise_part_of(height, log2),
                          columns = gpul__elementwise_part_of(width, across);
            double value = double(rows * columns) * gpul__elementwise_dense(columns, width, p->strides[0][last] * size,
                                                                            p->strides[0][last - 1] * size);
            for (int k = 0; k < 3; ++k)
                if (plan->staged >> k & 1)
                    value *= gpul__elementwise_dense(rows, height, p->strides[1 + k][last - 1] * op->in_bytes[k],
                                                     p->strides[1 + k][last] * op->in_bytes[k]);
            if (value <= best) continue;
            best = value;
            plan->rows = int32_t(rows);
            plan->columns = int32_t(columns);
            plan->rows_log2 = log2;
            plan->columns_log2 = across;
        }
        /* a warp's elements in different banks */
        plan->pitch = (1 << plan->columns_log2) + (plan->rows_log2 < 5 ? 32 >> plan->rows_log2 : 1);
    }
    const int64_t across = gpul_ceil_div(width, plan->columns);
    const int64_t down = gpul_ceil_div(height, plan->rows); /* fault: elementwise-plan-tiles */
    gpul__elementwise_add_dim(plan, p, operands, across, last, plan->columns, 1, 0);
    gpul__elementwise_add_dim(plan, p, operands, down, last - 1, plan->rows, 0, 1);
    for (int32_t d = last - 2; d >= 0; --d) gpul__elementwise_add_dim(plan, p, operands, p->shape[d], d, 1, 0, 0);
    for (int k = 0; k < 3; ++k)
        if (plan->staged >> k & 1)
            plan->shared_bytes += (plan->pitch << plan->rows_log2) * word * (bytes > 0 ? bytes : op->in_bytes[k]);
}
/* The kernel `vectors`; returns the vectors of a row. Those of long rows begin where lines of memory do, for warps that
 * write parts of one are slow. Where rows are not aligned alike, each has as many as the one that begins latest. */
static int64_t gpul__plan_vectors(gpul__elementwise_plan *plan, const gpul__elementwise_problem *p,
                                  const gpul__elementwise_op *op, int32_t vector) {
    constexpr int kLine = 128; /* bytes */
    const int32_t last = p->ndim - 1;
    const bool lines = op->vectors == 1 && p->shape[last] * op->out_bytes >= 32 * kLine; /* fault: elementwise-lines */
    const int64_t line = lines ? kLine >> gpul__log2_above(op->out_bytes, 4) : vector,
                  before = int64_t(uintptr_t(p->out) >> gpul__log2_above(op->out_bytes, 4)) & (line - 1);
    int64_t pitch = 0; /* a multiple of the line where all rows of out are aligned alike */
    for (int32_t d = 0; d < last; ++d) pitch |= p->strides[0][d];
    plan->kernel = GPUL__ELEMENTWISE_VECTORS;
    plan->columns = vector;
    plan->line = int32_t(line);
    plan->block = GPUL__ELEMENTWISE_THREADS * op->vectors;
    for (int k = 0; k < 3; ++k)
        if (p->in[k] != NULL && p->strides[1 + k][last] == 1 &&
            !gpul__elementwise_aligned_as_out(p, 1 + k, p->in[k], op->in_bytes[k], op->out_bytes, vector))
            plan->shifted |= 1 << k;
    return (p->shape[last] + ((pitch & (line - 1)) == 0 ? before : line - 1) + vector - 1) >>
           gpul__log2_above(vector, 4);
}
/* The kernel `elements`; returns the tiles of a row: its elements, or, where they fill most of its warps' items, its
 * warps. Few elements are spread over more threads. Short rows that a gap follows are not divided between warps, where
 * these then still use most of their threads: sectors that two warps write to are slow. */
static int64_t gpul__plan_elements(gpul__elementwise_plan *plan, const gpul__elementwise_problem *p, int64_t columns,
                                   int32_t most) {
    constexpr int kBlocks = 128, kUsed = 22;
    const int32_t last = p->ndim - 1;
    const int64_t whole = columns <= 32 ? 32 / columns * columns : 0; /* rows of a warp */
    int32_t items = most;
    plan->kernel = GPUL__ELEMENTWISE_ELEMENTS;
    if (columns < GPUL__ELEMENTWISE_LONG && plan->repeats == 1)
        while (items > 1 && p->n < int64_t(kBlocks) * GPUL__ELEMENTWISE_THREADS * items) items /= 2;
    const int64_t items_of_warps = gpul__round_up(columns, 32 * most);
    plan->lanes = (items == most && 3 * columns >= 2 * items_of_warps) || plan->repeated == last;
    plan->columns = plan->lanes ? 32 * most : 1;
    if (whole >= kUsed && last > 0 && p->strides[0][last] == 1 && p->strides[0][last - 1] > columns)
        plan->used = int32_t(whole);
    plan->block = plan->lanes ? GPUL__ELEMENTWISE_THREADS / 32 : GPUL__ELEMENTWISE_THREADS / 32 * plan->used * items;
    return gpul_ceil_div(columns, plan->columns);
}
/* The dimension along which a thread of `elements` stores each result several times, since all inputs repeat there.
 * There are enough threads with as many elements less, and out has few gaps: sectors that are stored in part should be
 * stored at one time. Along dimensions between others all elements are stored as often as any. Numbers of columns do
 * not repeat (arange, linspace). */
static void gpul__plan_repeats(gpul__elementwise_plan *plan, const gpul__elementwise_problem *p,
                               const gpul__elementwise_op *op) {
    constexpr int kFewest = 1 << 20, kMost = 8, kRun = 256; /* elements, times, and bytes without a gap */
    const int32_t last = p->ndim - 1;
    int64_t size = 1;
    if (p->op == GPUL__ARANGE || p->op == GPUL__LINSPACE) return; /* fault: repeats-of-places */
    const bool runs = p->strides[0][last] == 1 && p->shape[last] * op->out_bytes >= kRun;
    if (!runs && gpul__reach(p->shape, p->strides[0], p->ndim) > 2 * p->n) return;
    for (int32_t d = last; d >= 0; --d) {
        bool repeats = p->shape[d] > size;
        for (int k = 0; k < 3; ++k)
            repeats = repeats && (op->in_bytes[k] == 0 || p->in[k] == NULL || p->strides[1 + k][d] == 0);
        if (!repeats) continue;
        plan->repeated = d;
        size = p->shape[d];
    }
    int64_t times = p->n / kFewest;
    if (plan->repeated == last && times > size / 128) times = size / 128; /* rows of a warp or more */
    if (times > size) times = size;
    if (times > kMost) times = kMost;
    while (plan->repeated > 0 && plan->repeated < last && times > 1 && size % times != 0) --times;
    if (times < 2) plan->repeated = -1;
    else plan->repeats = int32_t(gpul_ceil_div(size, gpul_ceil_div(size, times)));
}
/* The dimensions of vectors and elements, of `row` tiles a row */
static void gpul__plan_dims(gpul__elementwise_plan *plan, gpul__elementwise_problem *p, int32_t operands,
                            int32_t out_bytes, int64_t row) {
    const int32_t last = p->ndim - 1, repeated = plan->repeated;
    const int64_t columns = p->shape[last];
    int32_t next = -1, inner = -1;
    int64_t part = row;
    for (int32_t d = last - 1;
         d >= 0 && columns < GPUL__ELEMENTWISE_LONG && p->n * out_bytes >= GPUL__ELEMENTWISE_CACHE && repeated < 0; --d)
        for (int k = 0; k < 3 && next < 0; ++k)
            if (p->in[k] && p->strides[1 + k][last] > 1 && p->strides[1 + k][d] == 1 && p->shape[d] <= 65536) next = d;
    if (next >= 0) gpul__elementwise_move_inward(p, operands, next);
    for (int32_t d = last - 1; d >= 0 && columns >= GPUL__ELEMENTWISE_LONG && repeated < 0; --d)
        for (int k = 0; k < 3 && inner < 0 && p->shape[d] <= 16; ++k)
            if (p->in[k] && p->strides[1 + k][d] < p->strides[1 + k][last]) inner = d;
    if (inner >= 0)
        for (part = plan->block; part > 1 && part * p->shape[inner] > plan->block;) part /= 2;
    gpul__elementwise_add_dim(plan, p, operands, part, last, plan->columns, 1, 0);
    if (inner >= 0) {
        gpul__elementwise_add_dim(plan, p, operands, p->shape[inner], inner, 1, 0, 0);
        gpul__elementwise_add_dim(plan, p, operands, gpul_ceil_div(row, part), last, part * plan->columns, part, 0);
    }
    for (int32_t d = last - 1; d >= 0; --d) {
        const int64_t size = d == repeated ? gpul_ceil_div(p->shape[d], plan->repeats) : p->shape[d];
        if (d != inner) gpul__elementwise_add_dim(plan, p, operands, size, d, 1, 0, 0);
    }
}
extern "C" int32_t gpul__plan_elementwise(gpul__elementwise_plan *plan, gpul__elementwise_problem *p,
                                          const gpul__elementwise_op *op) {
    const int32_t last = p->ndim - 1, operands = op->other_bytes[0] > 0 ? GPUL__OPERANDS : 4;
    int32_t largest = op->out_bytes, array = op->out_bytes, along = -1, k; /* array: the largest of arrays */
    plan->shifted = plan->lanes = plan->ndim = 0;
    plan->shared_bytes = 0;
    plan->tiles = 1;
    for (k = 0; k < 3; ++k) {
        if (op->in_bytes[k] > largest) largest = op->in_bytes[k];
        if (op->in_bytes[k] > array && p->in[k] != NULL) array = op->in_bytes[k];
    }
    for (k = 0; k < 2; ++k)
        if (op->other_bytes[k] > largest) largest = op->other_bytes[k];
    /* threads with two vectors have shorter ones in short arrays: more threads */
    const int32_t value = op->vectors < 2                                          ? largest
                          : op->value_bytes == 8 || p->n < GPUL__ELEMENTWISE_SHORT ? op->value_bytes
                                                                                   : array;
    const int32_t vector = 16 >> gpul__log2_above(value, 4);
    bool contiguous = p->strides[0][last] == 1; /* all outputs; inputs may be broadcast instead */
    for (k = 0; k < 3; ++k) contiguous = contiguous && (p->in[k] == NULL || p->strides[1 + k][last] <= 1);
    for (k = 0; k < 2 && contiguous; ++k)
        contiguous =
            op->other_bytes[k] == 0 ||
            (p->strides[4 + k][last] == 1 && /* fault: outputs-together */
             gpul__elementwise_aligned_as_out(p, 4 + k, p->others[k], op->other_bytes[k], op->out_bytes, vector));
    bool vectors = contiguous && op->vectors > 0 && (p->ndim == 1 || (p->shape[last] >= 32 && op->vectors == 1));
    if (op->vectors > 1)
        vectors = vectors && p->in[0] != NULL && p->in[1] == NULL && p->in[2] == NULL && p->strides[1][last] == 1;
    int32_t word = op->value_bytes > 0 ? 1 : GPUL__ELEMENTWISE_WORD(largest); /* elements, in tiles */
    plan->rows = plan->pitch = plan->repeats = plan->line = 1;
    plan->rows_log2 = plan->columns_log2 = 0;
    plan->used = 32;
    plan->repeated = -1;
    plan->staged = 0;
    if (!vectors) gpul__plan_repeats(plan, p, op);
    /* an element that is read for few results alone need not be read in order */
    if (!vectors && plan->repeats < 4) plan->staged = gpul__elementwise_transposed(p, op, word > 1, &along);
    if (plan->staged) {
        const bool own = op->own_tiles && largest < 4 && p->strides[0][last] == 1 && p->strides[1][along] == 1 &&
                         p->n >= GPUL__ELEMENTWISE_SHORT && p->shape[last] >= 64 && p->shape[along] >= 64;
        plan->repeats = 1;
        plan->repeated = -1;
        if (own) word = GPUL__ELEMENTWISE_WORD(largest);
        gpul__elementwise_move_inward(p, operands, along);
        gpul__plan_tiles(plan, p, op, operands, own ? 0 : op->value_bytes, word);
    } else if (vectors) gpul__plan_dims(plan, p, operands, op->out_bytes, gpul__plan_vectors(plan, p, op, vector));
    else {
        const int64_t columns = plan->repeated == last ? gpul_ceil_div(p->shape[last], plan->repeats) : p->shape[last];
        const int32_t items = op->value_bytes > 0 ? GPUL__UFUNC_ITEMS : GPUL__ELEMENTWISE_ITEMS(largest);
        gpul__plan_dims(plan, p, operands, op->out_bytes, gpul__plan_elements(plan, p, columns, items));
    }
    plan->blocks = gpul_ceil_div(plan->tiles, plan->block);
    return plan->tiles > 2147483647 - GPUL__ELEMENTWISE_THREADS * 8 ? int32_t(cudaErrorInvalidConfiguration) : 0;
}

/* Plans and launches an elementwise operation. Kernels count in 32 bits: a problem of more than `most` elements, or
 * that reaches over more than four times as many, is cut in two along the dimension in which an operand reaches
 * farthest. */
extern "C" int32_t gpul__run_elementwise(const gpul__elementwise_op *op, gpul__elementwise_problem *p,
                                         const gpul__machine *machine, int64_t most, gpul_stream stream) {
    int64_t n = 1, farthest = 0;
    int32_t along = 0;
    bool fits = true;
    for (int32_t d = 0; d < p->ndim; ++d) n *= p->shape[d];
    for (int o = 0; o < GPUL__OPERANDS && (o < 4 || p->others[o - 4] != NULL); ++o) {
        int64_t all = 0;
        for (int32_t d = 0; d < p->ndim; ++d) {
            const int64_t reach = (p->shape[d] - 1) * p->strides[o][d];
            all += reach;
            if (reach <= farthest) continue;
            farthest = reach;
            along = d;
        }
        fits = fits && all < 4 * most; /* fault: elementwise-reach */
    }
    if (fits && n <= most) { /* fault: elementwise-whole */
        gpul__elementwise_plan plan;
        const int32_t error = gpul__plan_elementwise(&plan, p, op);
        return error != 0 ? error : op->launch(p, &plan, machine, stream);
    }
    gpul__elementwise_problem second = *p;
    const int64_t half = p->shape[along] / 2;
    p->shape[along] = half;
    second.shape[along] -= half;
    second.out = static_cast<char *>(second.out) + half * second.strides[0][along] * op->out_bytes;
    for (int k = 0; k < 2; ++k)
        if (second.others[k] != NULL)
            second.others[k] =
                static_cast<char *>(second.others[k]) + half * second.strides[4 + k][along] * op->other_bytes[k];
    for (int k = 0; k < 3; ++k)
        if (second.in[k] != NULL)
            second.in[k] =
                static_cast<const char *>(second.in[k]) + half * second.strides[1 + k][along] * op->in_bytes[k];
    if (along == p->ndim - 1) second.column0 += half; /* fault: elementwise-cut */
    const int32_t error = gpul__run_elementwise(op, p, machine, most, stream);
    return error != 0 ? error : gpul__run_elementwise(op, &second, machine, most, stream);
}

/* n elements of 2 or 4 bytes = bits, by the driver, which launches no kernel for few of them; false: it does not. */
extern "C" int32_t gpul__fill_words(void *out, uint64_t bits, int64_t n, int32_t bytes, gpul_stream stream) {
#if !defined(GPULITE_CPU_STANDIN) && CUDART_VERSION >= 12010
    static std::atomic<void *> known[2];
    const unsigned long long at = uintptr_t(out);
    void *found;
    if (gpul__find_driver(bytes == 2 ? "cuMemsetD16Async" : "cuMemsetD32Async", &known[bytes == 2], &found) !=
        cudaSuccess)
        cudaGetLastError();
    if (!found) return 0;
    if (bytes == 2)
        return reinterpret_cast<int (*)(unsigned long long, unsigned short, size_t, gpul_stream)>(found)(
                   at, static_cast<unsigned short>(bits), size_t(n), stream) == 0;
    return reinterpret_cast<int (*)(unsigned long long, unsigned, size_t, gpul_stream)>(found)(at, unsigned(bits),
                                                                                               size_t(n), stream) == 0;
#else
    (void)out, (void)bits, (void)n, (void)bytes, (void)stream;
    return 0;
#endif
}

#ifdef GPULITE_NO_ELEMENTWISE

extern "C" const gpul__elementwise_op *gpul__find_elementwise(int32_t, int32_t) { return 0; }
#define GPUL__ELEMENTWISE_KERNEL NULL

#else
namespace {

#define GPUL__EACH(array, expression)                                                                                  \
    GPUL__UNROLL_FOR (int j = 0; j < int(sizeof array / sizeof array[0]); ++j) expression

/* NaN where either is; 16-bit floats are compared as floats */
template <typename T> static __device__ __forceinline__ T gpul__minimum(T x, T y) {
    const typename gpul__value_of<T>::type a = x, b = y;
    return T(a < b || a != a ? a : b); /* fault: ufunc-minimum-nan */
}
template <typename T> static __device__ __forceinline__ T gpul__maximum(T x, T y) {
    const typename gpul__value_of<T>::type a = x, b = y;
    return T(a > b || a != a ? a : b);
}

template <int kOp, typename T> static __device__ __forceinline__ T gpul__arithmetic_of(T a, T b) {
    return kOp == GPUL_ADD ? gpul__add(a, b)
           : kOp == GPUL_SUBTRACT ? gpul__subtract(a, b)
           : kOp == GPUL_MULTIPLY ? gpul__mul(a, b)
           : kOp == GPUL_MINIMUM ? gpul__minimum(a, b)
                                 : gpul__maximum(a, b);
}
/* Of a word's four bytes: sums and differences carry within a byte; comparisons are of 16 bits, whose high bytes
 * decide. */
template <int kOp>
static __device__ __forceinline__ uint32_t gpul__arithmetic_of_word(uint8_t, uint32_t a, uint32_t b) {
    constexpr uint32_t kTop = 0x80808080u, kHigh = 0xff00ff00u, kFlip = kOp == GPUL_MAXIMUM ? 0xffffffffu : 0u;
    if (kOp == GPUL_ADD) return ((a & ~kTop) + (b & ~kTop)) ^ ((a ^ b) & kTop); /* fault: elementwise-bytes-carry */
    if (kOp == GPUL_SUBTRACT) return ((a | kTop) - (b & ~kTop)) ^ ((a ^ ~b) & kTop);
    if (kOp == GPUL_MULTIPLY) {
        uint32_t products = 0;
        GPUL__UNROLL_FOR (int bit = 0; bit < 32; bit += 8) products |= ((a >> bit) * (b >> bit) & 255u) << bit;
        return products;
    }
    a ^= kFlip;
    b ^= kFlip;
    return (gpul__lesser_halves(a & kHigh, b & kHigh) | gpul__lesser_halves(a & ~kHigh, b & ~kHigh)) ^ kFlip;
}
/* Of its two floats, by one instruction where the GPU has it */
template <int kOp, typename H>
static __device__ __forceinline__ uint32_t gpul__arithmetic_of_word(H, uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
    constexpr bool kBf16 = std::is_same<H, gpul_bf16>::value;
#define GPUL__TRY(op, name)                                                                                            \
    if (kOp == op && !kBf16) asm(name ".rn.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));                                     \
    if (kOp == op && kBf16 && __CUDA_ARCH__ >= 900) asm(name ".rn.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));             \
    if (kOp == op && (!kBf16 || __CUDA_ARCH__ >= 900)) return a
    GPUL__TRY(GPUL_ADD, "add");
    GPUL__TRY(GPUL_SUBTRACT, "sub");
    GPUL__TRY(GPUL_MULTIPLY, "mul");
#undef GPUL__TRY
#endif
    const H low = gpul__arithmetic_of<kOp>(gpul__bits<H>(uint16_t(a)), gpul__bits<H>(uint16_t(b)));
    const H high = gpul__arithmetic_of<kOp>(gpul__bits<H>(uint16_t(a >> 16)), gpul__bits<H>(uint16_t(b >> 16)));
    return low.bits | uint32_t(high.bits) << 16;
}
/* Of a vector; small elements by words, for each would take a register */
template <int kOp, typename T, int N>
static __device__ __forceinline__ void gpul__arithmetic(std::false_type, const T (&a)[N], const T (&b)[N],
                                                        T (&result)[N]) {
    GPUL__EACH(a, result[j] = gpul__arithmetic_of<kOp>(a[j], b[j]));
}
template <int kOp, typename T, int N>
static __device__ __forceinline__ void gpul__arithmetic(std::true_type, const T (&a)[N], const T (&b)[N],
                                                        T (&result)[N]) {
    uint32_t x[sizeof(a) / 4], y[sizeof(a) / 4];
    memcpy(x, a, sizeof a);
    memcpy(y, b, sizeof b);
    GPUL__EACH(x, x[j] = gpul__arithmetic_of_word<kOp>(T(), x[j], y[j]));
    memcpy(result, x, sizeof x);
}

/* Add, subtract, multiply, minimum, maximum, where all elements are of one type. 16-bit results are rounded correctly,
 * by the instruction or as the result in float is rounded: float has more than 2p + 2 bits (Figueroa, When is double
 * rounding innocuous?, 1995). */
template <typename T> struct gpul__op_arithmetic {
    static constexpr bool kTiles = false; /* of words */
    typedef T Out;
    typedef T A;
    typedef T B;
    typedef gpul__none C;
    int32_t op;
};
template <int N, typename T>
static __device__ __forceinline__ void
gpul__elementwise_apply(const gpul__op_arithmetic<T> &op, const gpul__pack<T, N> &a, const gpul__pack<T, N> &b,
                        const gpul__pack<gpul__none, N> &, gpul__pack<T, N> *result) {
    const std::integral_constant<bool, (sizeof(T) < 4)> by_words;
    switch (op.op) {
    case GPUL_ADD: gpul__arithmetic<GPUL_ADD>(by_words, a.v, b.v, result->v); break;
    case GPUL_SUBTRACT: gpul__arithmetic<GPUL_SUBTRACT>(by_words, a.v, b.v, result->v); break;
    case GPUL_MULTIPLY: gpul__arithmetic<GPUL_MULTIPLY>(by_words, a.v, b.v, result->v); break;
    case GPUL_MINIMUM: gpul__arithmetic<GPUL_MINIMUM>(by_words, a.v, b.v, result->v); break;
    default: gpul__arithmetic<GPUL_MAXIMUM>(by_words, a.v, b.v, result->v);
    }
}

template <typename T> struct gpul__op_copy {
    static constexpr bool kTiles = sizeof(T) < 4;
    typedef T Out;
    typedef T A;
    typedef gpul__none B;
    typedef gpul__none C;
    int32_t op; /* as the others have it */
    __device__ __forceinline__ T operator()(T a, gpul__none, gpul__none) const { return a; }
};

/* Full occupancy, so that most loads are in flight. What lies outside of a row does no harm. */
struct gpul__elementwise_most_blocks {
    static constexpr int value = GPUL__ELEMENTWISE_RESIDENT;
    static constexpr bool kPads = false;
};
template <typename T> struct gpul__elementwise_blocks<gpul__op_copy<T>> : gpul__elementwise_most_blocks {};
template <typename T> struct gpul__elementwise_blocks<gpul__op_arithmetic<T>> : gpul__elementwise_most_blocks {};

/* ---- NumPy's functions ----
 *
 * Operations on any dtypes, computed in one of four types: float for f32, f16 and bf16; double for f64, and where
 * integers become floats; int32_t and int64_t for integers, and for bits that only move. Operation and dtypes are
 * run-time arguments: a thread loads the elements of all inputs as bits, then decodes, computes, encodes and stores
 * them, with one uniform branch at each step for all its elements. There are two kernels: `vectors` for one dense
 * array, `elements` for the rest, tiles too. Small elements make both bound by instructions; of several arrays, memory
 * bounds them.
 *
 * What takes a hundred instructions (powers, exponentials, ...) has kernels of its own, so that its registers do not
 * burden the others. These compute one element at a time, in a loop that takes a thread's first element and shifts. */

/* A call: the operation, its dtypes, and what the kernel `vectors` needs */
struct gpul__ufunc_call {
    int32_t op, kernel;
    gpul_dtype dtype[4]; /* out's, and the inputs' */
    int32_t bytes[4];
    uint32_t vector;    /* elements of a vector */
    uint32_t before;    /* elements by which the first vector begins before out */
    uint32_t inside[2]; /* the elements between which all vectors may be read whole */
    double last, span;  /* linspace: the number of the last element; stop - start */
    uint64_t stop;
};

/* From elements' bits to the values that are computed with, and back. `again`: the value will be rounded once more.
 * Floats become integers by truncation, saturated, and NaN 0. */
template <int n>
static __device__ __host__ __forceinline__ void gpul__decode(float (&to)[n], const uint32_t (&x)[n], gpul_dtype dtype,
                                                             bool again) {
    switch (dtype) {
    case GPUL_F32: GPUL__EACH(to, to[j] = gpul__bits<float>(x[j])); break;
    case GPUL_F16: GPUL__EACH(to, to[j] = gpul__to_float(gpul__bits<gpul_f16>(uint16_t(x[j])))); break;
    case GPUL_BF16: GPUL__EACH(to, to[j] = gpul__bits<float>(x[j] << 16)); break;
    case GPUL_U8: GPUL__EACH(to, to[j] = float(x[j])); break;
    default: /* below 2^23, float is exact; jamming does no harm where the result is infinite */
        GPUL__EACH(to, to[j] = float(again && (int32_t(x[j]) >= 1 << 23 || int32_t(x[j]) < -(1 << 23))
                                         ? int32_t(gpul__jam(int32_t(x[j]), 8))
                                         : int32_t(x[j])));
    }
}
template <int n>
static __device__ __host__ __forceinline__ void gpul__decode(double (&to)[n], const uint64_t (&x)[n], gpul_dtype dtype,
                                                             bool again) {
    switch (dtype) {
    case GPUL_F64: GPUL__EACH(to, to[j] = gpul__bits<double>(x[j])); break;
    case GPUL_F32: GPUL__EACH(to, to[j] = gpul__bits<float>(uint32_t(x[j]))); break;
    case GPUL_F16: GPUL__EACH(to, to[j] = gpul__to_float(gpul__bits<gpul_f16>(uint16_t(x[j])))); break;
    case GPUL_BF16: GPUL__EACH(to, to[j] = gpul__bits<float>(uint32_t(x[j]) << 16)); break;
    case GPUL_I32: GPUL__EACH(to, to[j] = double(int32_t(x[j]))); break;
    case GPUL_U8: GPUL__EACH(to, to[j] = double(uint32_t(x[j]))); break;
    default: /* below 2^52, double is exact */
        GPUL__EACH(to, to[j] = double(again && (int64_t(x[j]) >> 52 != 0 && int64_t(x[j]) >> 52 != -1)
                                          ? gpul__jam(int64_t(x[j]), 11)
                                          : int64_t(x[j])));
    }
}
template <int n>
static __device__ __host__ __forceinline__ void gpul__decode(int32_t (&to)[n], const uint32_t (&x)[n], gpul_dtype,
                                                             bool) {
    GPUL__EACH(to, to[j] = int32_t(x[j]));
}
template <int n>
static __device__ __host__ __forceinline__ void gpul__decode(int64_t (&to)[n], const uint64_t (&x)[n], gpul_dtype dtype,
                                                             bool) {
    if (dtype == GPUL_I32 || dtype == GPUL_F32) GPUL__EACH(to, to[j] = int32_t(x[j]));
    else GPUL__EACH(to, to[j] = int64_t(x[j]));
}

static __device__ __forceinline__ int32_t gpul__to_u8(int32_t x) { return x < 0 ? 0 : x > 255 ? 255 : x; }
static __device__ __forceinline__ int32_t gpul__to_int(float x) { return x != x ? 0 : __float2int_rz(x); }
static __device__ __forceinline__ int32_t gpul__to_int(double x) { return x != x ? 0 : __double2int_rz(x); }
template <int n>
static __device__ __forceinline__ void gpul__encode(uint32_t (&to)[n], const float (&x)[n], gpul_dtype dtype) {
    switch (dtype) {
    case GPUL_F32: GPUL__EACH(to, to[j] = gpul__bits<uint32_t>(x[j])); break;
    case GPUL_F16: GPUL__EACH(to, to[j] = gpul__from_float<gpul_f16>(x[j]).bits); break;
    case GPUL_BF16: GPUL__EACH(to, to[j] = gpul__from_float<gpul_bf16>(x[j]).bits); break;
    case GPUL_U8: GPUL__EACH(to, to[j] = uint32_t(gpul__to_u8(gpul__to_int(x[j])))); break;
    default: GPUL__EACH(to, to[j] = uint32_t(gpul__to_int(x[j])));
    }
}
template <int n>
static __device__ __forceinline__ void gpul__encode(uint64_t (&to)[n], const double (&x)[n], gpul_dtype dtype) {
    switch (dtype) {
    case GPUL_F64: GPUL__EACH(to, to[j] = gpul__bits<uint64_t>(x[j])); break;
    case GPUL_F32: GPUL__EACH(to, to[j] = gpul__bits<uint32_t>(float(x[j]))); break;
    case GPUL_F16: GPUL__EACH(to, to[j] = gpul__from_float<gpul_f16>(gpul__round_to_odd(x[j])).bits); break;
    case GPUL_BF16: GPUL__EACH(to, to[j] = gpul__from_float<gpul_bf16>(gpul__round_to_odd(x[j])).bits); break;
    case GPUL_U8: GPUL__EACH(to, to[j] = uint64_t(gpul__to_u8(gpul__to_int(x[j])))); break;
    case GPUL_I32: GPUL__EACH(to, to[j] = uint32_t(gpul__to_int(x[j]))); break;
    default:
        GPUL__EACH(to, to[j] = x[j] != x[j] ? 0 : uint64_t(__double2ll_rz(x[j]))); /* fault: ufunc-nan-to-integer */
    }
}
template <int n>
static __device__ __forceinline__ void gpul__encode(uint32_t (&to)[n], const int32_t (&x)[n], gpul_dtype) {
    GPUL__EACH(to, to[j] = uint32_t(x[j]));
}
template <int n>
static __device__ __forceinline__ void gpul__encode(uint64_t (&to)[n], const int64_t (&x)[n], gpul_dtype) {
    GPUL__EACH(to, to[j] = uint64_t(x[j])); /* its low bytes are stored */
}

static __device__ __forceinline__ float gpul__function(int32_t op, float a, float b) {
    switch (op) {
    case GPUL_POWER: return powf(a, b);
    case GPUL_SIN: return sinf(a);
    default: return cosf(a);
    }
}
static __device__ __forceinline__ double gpul__function(int32_t op, double a, double b) {
    switch (op) {
    case GPUL_POWER: return pow(a, b);
    case GPUL_EXP: return exp(a);
    case GPUL_LOG: return log(a);
    case GPUL_SIN: return sin(a);
    case GPUL_COS: return cos(a);
    default: return tanh(a);
    }
}
template <typename I> static __device__ __forceinline__ I gpul__function(int32_t, I a, I) { /* integers have none */
    return a;
}
/* Functions of floats that are short, of all elements at once; false: it is another one */
template <int n> static __device__ __forceinline__ bool gpul__compute_short(int32_t op, float (&a)[n]) {
    if (op == GPUL_EXP) GPUL__EACH(a, a[j] = expf(a[j]));
    else if (op == GPUL_LOG) GPUL__EACH(a, a[j] = logf(a[j]));
    else if (op == GPUL_TANH) GPUL__EACH(a, a[j] = tanhf(a[j]));
    else return false;
    return true;
}
template <typename W, int n> static __device__ __forceinline__ bool gpul__compute_short(int32_t, W (&)[n]) {
    return false;
}
/* Long functions, of one element at a time: a loop that takes the first and shifts keeps the code short. */
template <typename W, int n>
static __device__ __forceinline__ void gpul__compute_function(int32_t op, W (&a)[n], W (&b)[n]) {
    if (gpul__compute_short(op, a)) return;
    GPUL__UNROLL_NOT
    for (int i = 0; i < n; ++i) {
        const W result = gpul__function(op, a[0], b[0]);
        gpul__shift_left<1>(a);
        gpul__shift_left<1>(b);
        a[n - 1] = result;
    }
}
/* a to the power of b, modulo 2^64; 0 where b is negative */
static __device__ __forceinline__ int64_t gpul__power(int64_t a, int64_t b) {
    int64_t result = b < 0 ? 0 : 1;
    GPUL__UNROLL_NOT
    for (; b > 0; b >>= 1) {
        if (b & 1) result = gpul__mul(result, a);
        a = gpul__mul(a, a);
    }
    return result;
}

static __device__ __forceinline__ float gpul__negate(float a) { return -a; }
static __device__ __forceinline__ double gpul__negate(double a) { return -a; }
static __device__ __forceinline__ int32_t gpul__negate(int32_t a) { return gpul__subtract(int32_t(0), a); }
static __device__ __forceinline__ int64_t gpul__negate(int64_t a) { return gpul__subtract(int64_t(0), a); }
/* Correctly rounded, as __fsqrt_rn, with one branch for all elements instead of one for each */
template <int n> static __device__ __forceinline__ void gpul__square_roots(float (&a)[n]) {
#ifdef __CUDA_ARCH__
    bool usual = true; /* not zero, negative, infinite, NaN or very small */
    GPUL__EACH(a, usual = usual && gpul__bits<uint32_t>(a[j]) - 0x0d000000u <= 0x727fffffu);
    if (usual) {
        GPUL__UNROLL_FOR (int j = 0; j < n; ++j) {
            float inverse;
            asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(a[j]));
            const float root = __fmul_rn(a[j], inverse), half = __fmul_rn(inverse, 0.5f);
            a[j] = fmaf(fmaf(-root, root, a[j]), half, root);
        }
        return;
    }
#endif
    GPUL__UNROLL_NOT
    for (int i = 0; i < n; ++i) {
        const float result = __fsqrt_rn(a[0]);
        gpul__shift_left<1>(a);
        a[n - 1] = result;
    }
}
/* What only some types have, or compute in another way; a becomes the result. */
template <int n>
static __device__ __forceinline__ void gpul__compute_own(const gpul__ufunc_call &p, float (&a)[n], const float (&b)[n],
                                                         const float (&)[n]) {
    switch (p.op) {
    case GPUL_DIVIDE: GPUL__EACH(a, a[j] = __fdiv_rn(a[j], b[j])); break;
    case GPUL_ABSOLUTE: GPUL__EACH(a, a[j] = fabsf(a[j])); break;
    case GPUL_SQRT: gpul__square_roots(a); break;
    case GPUL_RINT: GPUL__EACH(a, a[j] = rintf(a[j])); break;
    default: break;
    }
}
/* Element i of n of numpy.linspace, by its own steps; step is 0 where it is too small for a number. */
static __device__ __forceinline__ double gpul__linspace(const gpul__ufunc_call &p, double i, double start,
                                                        double step) {
    if (p.last > 0 && i == p.last) return gpul__bits<double>(p.stop); /* fault: linspace-end */
    const double rise = step != 0 ? __dmul_rn(i, step) : __dmul_rn(p.last > 0 ? __ddiv_rn(i, p.last) : i, p.span);
    return __dadd_rn(rise, start);
}
template <int n>
static __device__ __forceinline__ void gpul__compute_own(const gpul__ufunc_call &p, double (&a)[n],
                                                         const double (&b)[n], const double (&c)[n]) {
    switch (p.op) {
    case GPUL_DIVIDE: GPUL__EACH(a, a[j] = __ddiv_rn(a[j], b[j])); break;
    case GPUL_ABSOLUTE: GPUL__EACH(a, a[j] = fabs(a[j])); break;
    case GPUL_SQRT: GPUL__EACH(a, a[j] = __dsqrt_rn(a[j])); break;
    case GPUL_RINT: GPUL__EACH(a, a[j] = rint(a[j])); break;
    case GPUL__ARANGE: /* the first is start itself: 0 * step + start is 0 for -0, and NaN where step is infinite */
        GPUL__EACH(a, a[j] = a[j] != 0 ? __dadd_rn(__dmul_rn(a[j], b[j]), c[j]) : c[j]); /* fault: arange-start */
        break;
    case GPUL__LINSPACE:
        GPUL__EACH(a, a[j] = gpul__linspace(p, a[j], c[j], b[j]));
        if (p.dtype[0] == GPUL_I32 || p.dtype[0] == GPUL_I64 || p.dtype[0] == GPUL_U8)
            GPUL__EACH(a, a[j] = floor(a[j]));
        break;
    default: break;
    }
}
template <typename I, int n>
static __device__ __forceinline__ void gpul__compute_own(const gpul__ufunc_call &p, I (&a)[n], const I (&b)[n],
                                                         const I (&c)[n]) {
    if (p.op == GPUL__WHERE) GPUL__EACH(a, a[j] = a[j] != 0 ? b[j] : c[j]);
    else if (p.op == GPUL_ABSOLUTE) GPUL__EACH(a, a[j] = a[j] < 0 ? gpul__negate(a[j]) : a[j]);
    else if (sizeof(I) == 8 && p.op == GPUL_POWER) GPUL__EACH(a, a[j] = I(gpul__power(a[j], b[j])));
    else if (sizeof(I) == 8 && p.op == GPUL__ARANGE) GPUL__EACH(a, a[j] = gpul__add(gpul__mul(a[j], b[j]), c[j]));
}
template <typename Values>
static __device__ __forceinline__ void gpul__compute(const gpul__ufunc_call &p, Values &a, const Values &b,
                                                     const Values &c) {
    switch (p.op) {
    case GPUL_ADD: GPUL__EACH(a, a[j] = gpul__add(a[j], b[j])); break;
    case GPUL_SUBTRACT: GPUL__EACH(a, a[j] = gpul__subtract(a[j], b[j])); break;
    case GPUL_MULTIPLY: GPUL__EACH(a, a[j] = gpul__mul(a[j], b[j])); break;
    case GPUL_MINIMUM: GPUL__EACH(a, a[j] = gpul__minimum(a[j], b[j])); break;
    case GPUL_MAXIMUM: GPUL__EACH(a, a[j] = gpul__maximum(a[j], b[j])); break;
    case GPUL_EQUAL: GPUL__EACH(a, a[j] = a[j] == b[j]); break;
    case GPUL_NOT_EQUAL: GPUL__EACH(a, a[j] = a[j] != b[j]); break;
    case GPUL_LESS: GPUL__EACH(a, a[j] = a[j] < b[j]); break;
    case GPUL_LESS_EQUAL: GPUL__EACH(a, a[j] = a[j] <= b[j]); break;
    case GPUL_GREATER: GPUL__EACH(a, a[j] = a[j] > b[j]); break;
    case GPUL_GREATER_EQUAL: GPUL__EACH(a, a[j] = a[j] >= b[j]); break;
    case GPUL_NEGATIVE: GPUL__EACH(a, a[j] = gpul__negate(a[j])); break;
    case GPUL_SQUARE: GPUL__EACH(a, a[j] = gpul__mul(a[j], a[j])); break;
    case GPUL__SCALE: GPUL__EACH(a, a[j] = gpul__multiply_add(a[j], b[j], c[j])); break;
    case GPUL__CLIP: GPUL__EACH(a, a[j] = gpul__minimum(gpul__maximum(a[j], b[j]), c[j])); break;
    default: gpul__compute_own(p, a, b, c);
    }
}

/* The word that holds an element's bits in a kernel that computes in W */
template <typename W> struct gpul__ufunc { typedef uint64_t Word; };
template <> struct gpul__ufunc<float> { typedef uint32_t Word; };
template <> struct gpul__ufunc<int32_t> { typedef uint32_t Word; };
typedef gpul__elementwise_view<gpul__ufunc_call> gpul__ufunc_view;
/* Inputs that may be arrays: of floats no operation has a third one. */
template <typename W> struct gpul__ufunc_inputs {
    static constexpr int value = std::is_floating_point<W>::value ? 2 : 3;
};

/* do_as<T, Word>(...) with T the unsigned type of that many bytes, up to those of Word */
#define GPUL__BY_BYTES(bytes, do_as, ...)                                                                              \
    do {                                                                                                               \
        if ((bytes) == 1) do_as<uint8_t, Word>(__VA_ARGS__);                                                           \
        else if ((bytes) == 2) do_as<uint16_t, Word>(__VA_ARGS__);                                                     \
        else if ((bytes) == 4 && sizeof(Word) > 4) do_as<uint32_t, Word>(__VA_ARGS__);                                 \
        else do_as<Word, Word>(__VA_ARGS__);                                                                           \
    } while (0)

template <typename T, typename Word, int n, int kOperands>
static __device__ __forceinline__ void gpul__ufunc_gather(Word (&to)[n], const void *from,
                                                          const uint32_t (&at)[n][kOperands], int k) {
    GPUL__EACH(to, to[j] = static_cast<const T *>(from)[at[j][k]]);
}
template <typename T, typename Word, int n>
static __device__ __forceinline__ void gpul__ufunc_scatter(void *to, const uint32_t *at, uint32_t which,
                                                           const Word (&from)[n]) {
    GPUL__EACH(from, if (which >> j & 1) static_cast<T *>(to)[at[j]] = T(from[j]));
}
template <typename T, typename Word>
static __device__ __forceinline__ void gpul__ufunc_stage(const gpul__elementwise_layout &l, int k, uint32_t at,
                                                         const gpul__elementwise_bounds &bounds, Word *to) {
    gpul__elementwise_turn<T, Word>(static_cast<const T *>(l.in[k]) + at, l.row_step[1 + k], l.column_step[1 + k],
                                    l.rows_log2, uint32_t(bounds.rows), uint32_t(bounds.columns), l.pitch, to);
}

/* Is a value rounded twice: to W, and then to out's dtype? */
template <typename W> static __device__ __host__ __forceinline__ bool gpul__rounds_again(const gpul__ufunc_call &p) {
    return p.op == GPUL__CONVERT && p.dtype[0] != gpul__dtype_of<W>::value;
}
/* From the bits of n elements of input k to their values. An input that is no array is a value in l.scalar; where the
 * first is none at all (arange, linspace), it is the element's column: `column`, and `stride` to the next. */
template <typename W, typename Word, int kInputs, int n>
static __device__ __forceinline__ void gpul__ufunc_take(const gpul__elementwise_layout &l, const gpul__ufunc_call &p,
                                                        int k, const Word (&words)[kInputs][n], int64_t column,
                                                        int stride, W (&values)[n]) {
    if (k < kInputs && l.in[k] != NULL) gpul__decode(values, words[k], p.dtype[1 + k], gpul__rounds_again<W>(p));
    else if (k > 0 || p.dtype[1] != 0) GPUL__EACH(values, values[j] = gpul__bits<W>(Word(l.scalar[k])));
    else GPUL__EACH(values, values[j] = W(column + j * stride));
}
/* From the bits of n elements of each input to those of the results */
template <typename W, bool kFunction, typename Word, int kInputs, int n>
static __device__ __forceinline__ void gpul__ufunc_compute(const gpul__elementwise_layout &l, const gpul__ufunc_call &p,
                                                           Word (&words)[kInputs][n], int64_t column, int stride) {
    W values[3][n];
    gpul__ufunc_take(l, p, 0, words, column, stride, values[0]);
    if (p.op != GPUL__CONVERT && p.op != GPUL__COPY) {
        GPUL__UNROLL_FOR (int k = 1; k < 3; ++k) gpul__ufunc_take(l, p, k, words, column, stride, values[k]);
        if (kFunction) gpul__compute_function(p.op, values[0], values[1]);
        else gpul__compute(p, values[0], values[1], values[2]);
    }
    gpul__encode(words[0], values[0], p.dtype[0]);
}

/* Floats have registers for five blocks a multiprocessor, where it takes so many; what has 8 bytes, for three. */
template <typename W, bool kFunction> struct gpul__ufunc_blocks {
    static constexpr int value = sizeof(W) == 8 ? 3
                                 : std::is_same<W, float>::value && !kFunction && GPUL__ELEMENTWISE_RESIDENT > 4 ? 5
                                                                                                                 : 4;
};
/* Elements or tiles */
template <typename W, bool kFunction>
static __global__ void __launch_bounds__(GPUL__ELEMENTWISE_THREADS, gpul__ufunc_blocks<W, kFunction>::value)
    gpul__ufunc_elements(const __grid_constant__ gpul__ufunc_view v) {
    typedef typename gpul__ufunc<W>::Word Word;
    constexpr int kItems = GPUL__UFUNC_ITEMS;
    constexpr int kInputs = gpul__ufunc_inputs<W>::value;
    const gpul__elementwise_layout &l = v.layout;
    const gpul__ufunc_call &p = v.op;
    GPUL_SHARED(unsigned char, shared); /* the staged inputs, one after the other */
    const bool tiles = p.kernel == GPUL__ELEMENTWISE_TILES;
    constexpr int kRounds = GPUL__ELEMENTWISE_AREA / GPUL__ELEMENTWISE_THREADS / kItems;
    const uint32_t staged_words = l.pitch << l.rows_log2;
    gpul__elementwise_position<1> tile;
    gpul__elementwise_bounds bounds;
    if (tiles) {
        gpul__elementwise_unravel(l, blockIdx.x, 0, 0, true, &tile);
        gpul__await(); /* fault: ufunc-await-tiles */
        bounds = gpul__elementwise_bounds(l, tile);
        Word *to = reinterpret_cast<Word *>(shared);
        GPUL__UNROLL_NOT
        for (int k = 0; k < kInputs; ++k)
            if (l.staged >> k & 1) {
                const uint32_t at = k == 0 ? tile.at[0][1] : k == 1 ? tile.at[0][2] : tile.at[0][3];
                GPUL__BY_BYTES(p.bytes[1 + k], gpul__ufunc_stage, l, k, at, bounds, to);
                to += staged_words;
            }
        __syncthreads(); /* fault: ufunc-stage-barrier */
    }
    GPUL__UNROLL_NOT
    for (int round = 0; round < (tiles ? kRounds : 1); ++round) {
        Word words[kInputs][kItems];
        gpul__elementwise_position<kItems> items;
        bool valid[kItems];
        const Word *staged = reinterpret_cast<const Word *>(shared);
        uint32_t stored = 0; /* bit j: element j is stored; bit 8 + j: the last time, too */
        bool any;
        if (tiles) {
            const uint32_t column = threadIdx.x & ((1u << l.columns_log2) - 1),
                           by = GPUL__ELEMENTWISE_THREADS >> l.columns_log2, /* rows from an element to the next */
                row = (threadIdx.x >> l.columns_log2) + uint32_t(round * kItems) * by;
            GPUL__UNROLL_FOR (int j = 0; j < kItems; ++j)
                valid[j] = column < uint32_t(bounds.columns) && row + uint32_t(j) * by < uint32_t(bounds.rows);
            GPUL__UNROLL_FOR (int k = 0; k < 4; ++k) {
                if (k > 1 && l.inputs < 2) continue;
                const bool in_tile = k > 0 && (l.staged >> (k - 1) & 1) != 0;
                const uint32_t row_step = in_tile ? l.pitch : l.row_step[k];
                const uint32_t at =
                    in_tile ? row * row_step + column : tile.at[0][k] + row * row_step + column * l.column_step[k];
                GPUL__UNROLL_FOR (int j = 0; j < kItems; ++j)
                    items.at[j][k] = valid[j] ? at + uint32_t(j) * (by * row_step) : at;
            }
            any = valid[0];
            items.column[0] = 0;
        } else {
            any = gpul__elementwise_locate(l, l.inputs > 1, &items, valid);
            if (l.repeats > 1)
                GPUL__EACH(valid, stored |= uint32_t(valid[j] && gpul__elementwise_lasts(l, items, j)) << (8 + j));
            gpul__await(); /* fault: ufunc-await-elements */
        }
        if (!any) continue;
        GPUL__EACH(valid, stored |= uint32_t(valid[j]) << j);
        GPUL__UNROLL_FOR (int k = 0; k < kInputs; ++k)
            if (l.staged >> k & 1) {
                GPUL__EACH(words[k], words[k][j] = staged[items.at[j][1 + k]]);
                staged += staged_words;
            } else if (l.in[k] != NULL)
                GPUL__BY_BYTES(p.bytes[1 + k], gpul__ufunc_gather, words[k], l.in[k], items.at, 1 + k);
        uint32_t out_at[kItems];
        GPUL__EACH(out_at, out_at[j] = items.at[j][0]);
        gpul__ufunc_compute<W, kFunction>(l, p, words, l.column0 + int64_t(items.column[0]),
                                          l.lanes ? 32 : GPUL__ELEMENTWISE_THREADS);
        GPUL__UNROLL_NOT
        for (int time = l.repeats;;) {
            GPUL__BY_BYTES(p.bytes[0], gpul__ufunc_scatter, l.out[0], out_at, stored, words[0]);
            if (--time == 0) break;
            GPUL__EACH(out_at, out_at[j] += l.repeat_step[0]);
            if (time == 1) stored >>= 8;
        }
    }
}

/* Elements of each vector that the kernel `vectors` computes at a time: 16 bytes of values */
#define GPUL__UFUNC_STEP(Word) (16 / int(sizeof(Word)))
/* Takes the first elements out of each vector, as words, and shifts it. */
template <typename T, typename Word, int n, int kMany>
static __device__ __forceinline__ void gpul__ufunc_unpack(Word (&to)[n], gpul__raw (&from)[kMany]) {
    constexpr int kStep = GPUL__UFUNC_STEP(Word), kBytes = kStep * sizeof(T);
    GPUL__UNROLL_FOR (int i = 0; i < kMany; ++i) {
        const gpul__pack<T, 16 / sizeof(T)> elements = gpul__unpacked<T, 16 / sizeof(T)>(from[i]);
        GPUL__UNROLL_FOR (int j = 0; j < kStep; ++j) to[i * kStep + j] = elements.v[j];
        if (kBytes < 16 && sizeof(Word) == 4) gpul__shift_left<(kBytes < 16 ? kBytes / 4 : 0)>(from[i].v);
    }
}
/* And back: shifts each vector, and appends elements at the end of its 16 bytes. */
template <typename T, typename Word, int n, int kMany>
static __device__ __forceinline__ void gpul__ufunc_pack(gpul__raw (&to)[kMany], const Word (&from)[n]) {
    constexpr int kStep = GPUL__UFUNC_STEP(Word), kBytes = kStep * sizeof(T), kWords = (kBytes + 3) / 4;
    GPUL__UNROLL_FOR (int i = 0; i < kMany; ++i) {
        gpul__pack<T, kWords * 4 / sizeof(T)> last = {};
        uint32_t words[kWords];
        GPUL__UNROLL_FOR (int j = 0; j < kStep; ++j) last.v[j] = T(from[i * kStep + j]);
        memcpy(words, &last, sizeof words);
        gpul__shift_left<kWords>(to[i].v);
        GPUL__UNROLL_FOR (int w = 0; w < kWords; ++w) to[i].v[4 - kWords + w] = words[w];
    }
}
/* Stores whole vectors: the last kBytes of each. */
template <int kBytes, int kMany>
static __device__ __forceinline__ void gpul__ufunc_store(char *to, uint32_t stride, const gpul__raw (&from)[kMany]) {
    typedef typename gpul__word<kBytes>::type Word;
    GPUL__UNROLL_FOR (int j = 0; j < kMany; ++j) {
        Word bits;
        memcpy(&bits, &from[j].v[kBytes < 4 ? 3 : 4 - kBytes / 4], sizeof bits);
        *reinterpret_cast<Word *>(to + uint32_t(j) * stride) = bits;
    }
}
/* Stores those elements that are in out, one by one. */
template <typename T, typename Word, int n, int kMany>
static __device__ __forceinline__ void gpul__ufunc_store_edge(void *out, uint32_t at, uint32_t stride,
                                                              const gpul__elementwise_part (&part)[kMany], int first,
                                                              const Word (&from)[n]) {
    GPUL__UNROLL_FOR (int j = 0; j < n; ++j) {
        const int i = j / GPUL__UFUNC_STEP(Word), k = first + j % GPUL__UFUNC_STEP(Word);
        T *const to = static_cast<T *>(out) + at + uint32_t(i) * stride;
        if (part[i].has(k)) to[k] = T(from[j]); /* fault: ufunc-edge */
    }
}
template <typename T, typename Word>
static __device__ __forceinline__ void gpul__ufunc_load_edge_as(gpul__raw *to, const void *from,
                                                                const gpul__elementwise_part &part) {
    constexpr int kStep = GPUL__UFUNC_STEP(Word), kWords = (kStep * sizeof(T) + 3) / 4;
    gpul__raw raw[1] = {};
    GPUL__UNROLL_NOT
    for (int first = 0; first < 4 / kWords * kStep; first += kStep) {
        Word words[kStep];
        const T *const in = static_cast<const T *>(from) + first;
        GPUL__EACH(words, words[j] = part.has(first + j) ? in[j] : T(0)); /* fault: ufunc-pick */
        gpul__ufunc_pack<T>(raw, words);
    }
    *to = raw[0];
}
/* Loads those elements of a vector that exist, one by one; the others are 0. */
template <typename Word>
static __device__ __noinline__ gpul__raw gpul__ufunc_load_edge(const void *from, int32_t bytes,
                                                               gpul__elementwise_part part) {
    gpul__raw raw;
    GPUL__BY_BYTES(bytes, gpul__ufunc_load_edge_as, &raw, from, part);
    return raw;
}
/* The part of the vector at element `at` that is in out */
static __device__ __forceinline__ gpul__elementwise_part gpul__ufunc_part(const gpul__elementwise_layout &l,
                                                                          const gpul__ufunc_call &p, uint32_t at) {
    gpul__elementwise_part part(int(p.vector), 0, at, l.columns, 0);
    if (at == 0) part.skip = int(p.before);
    return part;
}
/* A thread's vectors, `stride` bytes from one to the next: load() all, then get() them. Unaligned ones are loaded as
 * the words that hold them. */
template <int kMany> struct gpul__ufunc_loads {
    uint32_t word[kMany][8], shift[kMany]; /* shift: bits before the vector */
    template <int kWords> __device__ __forceinline__ void load(const char *from, uint32_t stride) {
        GPUL__UNROLL_FOR (int j = 0; j < kMany; ++j) {
            const gpul__pack<uint32_t, kWords> words =
                gpul__load<kWords>(reinterpret_cast<const uint32_t *>(from + uint32_t(j) * stride));
            GPUL__UNROLL_FOR (int w = 0; w < kWords; ++w) word[j][w] = words.v[w];
        }
    }
    __device__ __forceinline__ void load_half(const char *from, uint32_t stride) {
        GPUL__UNROLL_FOR (int j = 0; j < kMany; ++j)
            word[j][0] = *reinterpret_cast<const uint16_t *>(from + uint32_t(j) * stride);
    }
    /* kWords > 0: short vectors, by the words that hold them; else by two aligned vectors */
    template <int kWords>
    __device__ __forceinline__ void load_shifted(const char *from, uint32_t stride, int32_t size) {
        GPUL__UNROLL_FOR (int j = 0; j < kMany; ++j) {
            const char *const begin = from + uint32_t(j) * stride;
            const uint32_t before = uint32_t(reinterpret_cast<uintptr_t>(begin) & (kWords > 0 ? 3 : 15)),
                           last = (before + size - 1) / 4;
            const uint32_t *const words = reinterpret_cast<const uint32_t *>(begin - before);
            shift[j] = 8 * before; /* fault: ufunc-not-shifted */
            if (kWords > 0) {
                GPUL__UNROLL_FOR (uint32_t w = 0; w <= kWords; ++w) word[j][w] = words[w < last ? w : last];
            } else {
                const gpul__raw low = gpul__load<4>(words), high = gpul__load<4>(words + 4);
                memcpy(word[j], &low, sizeof low);
                memcpy(word[j] + 4, &high, sizeof high);
            }
        }
    }
    __device__ __forceinline__ void load(const char *from, uint32_t stride, int32_t size, bool shifted) {
        if (shifted && size == 16) load_shifted<0>(from, stride, size);
        else if (shifted && size == 8) load_shifted<2>(from, stride, size);
        else if (shifted) load_shifted<1>(from, stride, size);
        else if (size == 16) load<4>(from, stride);
        else if (size == 8) load<2>(from, stride);
        else if (size == 4) load<1>(from, stride);
        else load_half(from, stride);
    }
    __device__ __forceinline__ void get(gpul__raw (&to)[kMany], int32_t size, bool shifted) {
        GPUL__UNROLL_FOR (int j = 0; j < kMany; ++j) {
            if (shifted && size == 16) {
                GPUL__UNROLL_FOR (int w = 0; w < 6; ++w) word[j][w] = shift[j] & 64 ? word[j][w + 2] : word[j][w];
                GPUL__UNROLL_FOR (int w = 0; w < 5; ++w) word[j][w] = shift[j] & 32 ? word[j][w + 1] : word[j][w];
            }
            GPUL__UNROLL_FOR (int w = 0; w < 4; ++w)
                to[j].v[w] =
                    shifted ? uint32_t((uint64_t(word[j][w + 1]) << 32 | word[j][w]) >> (shift[j] & 31)) : word[j][w];
        }
    }
};

/* One dense array, and scalars. A thread has two vectors, of as many elements as 16 bytes hold of the larger type;
 * where 16 bytes are two elements alone, four vectors. Blocks that are wholly inside skip the checks for the array's
 * ends. */
#define GPUL__UFUNC_VECTORS(value_bytes) ((value_bytes) == 8 ? 4 : 2)
/* Blocks of a multiprocessor that the kernel asks for: as many as there are registers for */
#define GPUL__UFUNC_RESIDENT(value_bytes)                                                                              \
    ((value_bytes) == 8 ? 4 : GPUL__ELEMENTWISE_RESIDENT < 6 ? GPUL__ELEMENTWISE_RESIDENT : 6)
template <typename W, bool kFunction>
static __global__ void __launch_bounds__(GPUL__ELEMENTWISE_THREADS, GPUL__UFUNC_RESIDENT(sizeof(W)))
    gpul__ufunc_vectors(const __grid_constant__ gpul__ufunc_view v) {
    typedef typename gpul__ufunc<W>::Word Word;
    constexpr int kStep = GPUL__UFUNC_STEP(Word), kMany = GPUL__UFUNC_VECTORS(sizeof(Word));
    const gpul__elementwise_layout &l = v.layout;
    const gpul__ufunc_call &p = v.op;
    const uint32_t n = p.vector, stride = GPUL__ELEMENTWISE_THREADS * n, bytes = uint32_t(p.bytes[1]);
    const uint32_t first = blockIdx.x * (kMany * stride); /* counted from where out's first vector begins */
    const bool inside = first >= p.inside[0] && first + kMany * stride <= p.inside[1]; /* fault: ufunc-inside */
    const uint32_t next = stride * uint32_t(p.bytes[0]), size = n * uint32_t(p.bytes[0]);
    uint32_t at = first + threadIdx.x * n;
    gpul__await(); /* fault: ufunc-await-vectors */
    if (!inside && at >= l.columns) return;
    const char *const from = static_cast<const char *>(l.in[0]) + uint64_t(at) * bytes;
    gpul__raw in[kMany];
    if (inside) {
        gpul__ufunc_loads<kMany> loads;
        loads.load(from, stride * bytes, int32_t(n * bytes), l.shifted != 0);
        loads.get(in, int32_t(n * bytes), l.shifted != 0);
    } else
        GPUL__EACH(in, in[j] = gpul__ufunc_load_edge<Word>(from + uint32_t(j) * stride * bytes, int32_t(bytes),
                                                           gpul__ufunc_part(l, p, at + uint32_t(j) * stride)));
    GPUL__UNROLL_NOT
    for (int i = 0; i < kMany / 2; ++i, at += 2 * stride) {
        gpul__raw two[2] = {in[0], in[1]}, out[2] = {};
        gpul__shift_left<2>(in);
        GPUL__UNROLL_NOT
        for (uint32_t j = 0; j < n; j += kStep) {
            Word words[1][2 * kStep];
            GPUL__BY_BYTES(p.bytes[1], gpul__ufunc_unpack, words[0], two);
            gpul__ufunc_compute<W, kFunction>(l, p, words, 0, 0);
            if (inside) GPUL__BY_BYTES(p.bytes[0], gpul__ufunc_pack, out, words[0]);
            else {
                const gpul__elementwise_part part[2] = {gpul__ufunc_part(l, p, at),
                                                        gpul__ufunc_part(l, p, at + stride)};
                GPUL__BY_BYTES(p.bytes[0], gpul__ufunc_store_edge, l.out[0], at, stride, part, int(j), words[0]);
            }
            if (sizeof(Word) == 8) break; /* a vector is a step */
        }
        if (!inside) continue;
        char *const to = static_cast<char *>(l.out[0]) + uint64_t(at) * uint32_t(p.bytes[0]);
        if (size == 16) gpul__ufunc_store<16>(to, next, out);
        else if (size == 8) gpul__ufunc_store<8>(to, next, out);
        else if (size == 4) gpul__ufunc_store<4>(to, next, out);
        else gpul__ufunc_store<2>(to, next, out);
    }
}

/* The kernel of a call; only floats have kernels of long functions. */
template <typename W> static void (*gpul__ufunc_kernel(bool vectors, bool, gpul__bool<false>))(const gpul__ufunc_view) {
    return vectors ? gpul__ufunc_vectors<W, false> : gpul__ufunc_elements<W, false>;
}
template <typename W>
static void (*gpul__ufunc_kernel(bool vectors, bool function, gpul__bool<true>))(const gpul__ufunc_view) {
    if (!function) return gpul__ufunc_kernel<W>(vectors, false, gpul__bool<false>());
    return vectors ? gpul__ufunc_vectors<W, true> : gpul__ufunc_elements<W, true>;
}
/* Makes all pointers lead to where out's first vector begins, which may be before out. Unaligned vectors are loaded as
 * words that reach beyond them: not at the array's ends, nor where out, which is written meanwhile, overlaps the
 * input. */
static inline void gpul__ufunc_align(gpul__ufunc_view *v, const gpul__elementwise_problem *problem,
                                     const gpul__elementwise_plan *plan) {
    const uint32_t vector = uint32_t(plan->columns);
    const uint32_t before = uint32_t(uintptr_t(problem->out) / uint32_t(v->op.bytes[0]) % vector);
    v->op.vector = vector;
    v->op.before = before;
    v->op.inside[0] = plan->shifted || before ? 1 : 0;
    v->op.inside[1] = v->layout.columns + before - (plan->shifted ? vector + 1 : 0);
    if (plan->shifted && v->layout.extent[0].begin == v->layout.extent[0].end) v->op.inside[1] = 0;
    v->layout.in[0] = reinterpret_cast<const void *>(uintptr_t(v->layout.in[0]) - before * uint32_t(v->op.bytes[1]));
    v->layout.out[0] = reinterpret_cast<void *>(uintptr_t(v->layout.out[0]) - before * uint32_t(v->op.bytes[0]));
    v->layout.columns += before;
}
/* All but the scalars. dtype: of all arrays; 0: they have the problem's. Out of line, as above. */
static inline __noinline__ void gpul__ufunc_describe(gpul__ufunc_view *v, const gpul__elementwise_problem *problem,
                                                     const gpul__elementwise_plan *plan, gpul_dtype dtype) {
    const gpul_dtype one[4] = {dtype, dtype, problem->op == GPUL__COPY ? 0 : dtype, 0};
    memcpy(v->op.dtype, dtype == 0 ? problem->dtype : one, sizeof v->op.dtype);
    for (int k = 0; k < 4; ++k) v->op.bytes[k] = gpul__bytes_of(v->op.dtype[k]);
    const int32_t(&bytes)[4] = v->op.bytes;
    const gpul__elementwise_op op = {0, bytes[0], {bytes[1], bytes[2], bytes[3]}, 0, {0, 0}, 0, 0};
    gpul__elementwise_describe(&v->layout, problem, plan, &op);
    v->op.last = double(problem->n - 1);
    v->op.span = gpul__bits<double>(problem->scalar[0]) - gpul__bits<double>(problem->scalar[2]);
    v->op.op = problem->op;
    v->op.kernel = plan->kernel;
    v->op.stop = problem->scalar[0];
    if (plan->kernel == GPUL__ELEMENTWISE_VECTORS) gpul__ufunc_align(v, problem, plan);
}
template <typename W, int kDtype>
static int32_t gpul__ufunc_launch(const gpul__elementwise_problem *problem, const gpul__elementwise_plan *plan,
                                  const gpul__machine *machine, gpul_stream stream) {
    const bool function = problem->op == GPUL_POWER || (problem->op >= GPUL_EXP && problem->op <= GPUL_TANH);
    gpul__ufunc_view v;
    gpul__ufunc_describe(&v, problem, plan, kDtype);
    for (int k = 0; k < 3; ++k) {
        const typename gpul__ufunc<W>::Word bits[1] = {typename gpul__ufunc<W>::Word(problem->scalar[k])};
        W value[1];
        if (v.op.dtype[1 + k] == 0 || problem->in[k] != NULL) continue;
        gpul__decode(value, bits, v.op.dtype[1 + k], gpul__rounds_again<W>(v.op));
        v.layout.scalar[k] = gpul__bits<typename gpul__ufunc<W>::Word>(value[0]);
    }
    return gpul__launch_early(machine->device,
                              gpul__ufunc_kernel<W>(plan->kernel == GPUL__ELEMENTWISE_VECTORS, function,
                                                    gpul__bool<(std::is_floating_point<W>::value)>()),
                              gpul__dim(uint32_t(plan->blocks)), gpul__dim(GPUL__ELEMENTWISE_THREADS),
                              size_t(plan->shared_bytes), stream, v);
}
/* The commonest cases, vectors of one type, have kernels of that type; so have tiles of copies of 1 and 2 bytes, which
 * move words. The kernels above do the rest. */
template <typename Op> static void (*gpul__word_tiles(gpul__bool<true>))(const gpul__elementwise_view<Op>) {
    return gpul__elementwise_tiles<Op>;
}
template <typename Op> static void (*gpul__word_tiles(gpul__bool<false>))(const gpul__elementwise_view<Op>) {
    return NULL;
}
template <typename Op, typename W, int kDtype>
static int32_t gpul__typed_launch(const gpul__elementwise_problem *problem, const gpul__elementwise_plan *plan,
                                  const gpul__machine *machine, gpul_stream stream) {
    Op op;
    if (plan->kernel == GPUL__ELEMENTWISE_ELEMENTS || plan->kernel == GPUL__ELEMENTWISE_TILES)
        return gpul__ufunc_launch<W, kDtype>(problem, plan, machine, stream);
    op.op = problem->op;
    return gpul__elementwise_launch_kernel(problem, plan, machine, stream, op,
                                           plan->kernel == GPUL__ELEMENTWISE_VECTORS
                                               ? gpul__elementwise_vectors<Op, 16 / sizeof(typename Op::Out)>
                                               : gpul__word_tiles<Op>(gpul__bool<Op::kTiles>()));
}

} /* namespace */

extern "C" const gpul__elementwise_op *gpul__find_elementwise(int32_t op, int32_t dtype_or_size) {
#define GPUL__TYPED(Op, T, W, dtype, second)                                                                           \
    {                                                                                                                  \
        gpul__typed_launch<Op<T>, W, dtype>, sizeof(T), {sizeof(T), second, 0}, sizeof(gpul__ufunc<W>::Word), {0, 0},  \
            1, Op<T>::kTiles                                                                                           \
    }
#define GPUL__ARITHMETIC(T, W, dtype) GPUL__TYPED(gpul__op_arithmetic, T, W, dtype, sizeof(T))
#define GPUL__MOVE(T, W, dtype) GPUL__TYPED(gpul__op_copy, T, W, dtype, 0)
#define GPUL__INTEGERS(T, dtype)                                                                                       \
    { gpul__ufunc_launch<T, dtype>, sizeof(T), {sizeof(T), sizeof(T), 0}, sizeof(T), {0, 0}, 0, 0 }
    static const gpul__elementwise_op arithmetic[7] = {GPUL__ARITHMETIC(float, float, GPUL_F32),
                                                       GPUL__ARITHMETIC(double, double, GPUL_F64),
                                                       GPUL__INTEGERS(int32_t, GPUL_I32),
                                                       GPUL__INTEGERS(int64_t, GPUL_I64),
                                                       GPUL__ARITHMETIC(uint8_t, int32_t, GPUL_U8),
                                                       GPUL__ARITHMETIC(gpul_f16, float, GPUL_F16),
                                                       GPUL__ARITHMETIC(gpul_bf16, float, GPUL_BF16)};
    static const gpul__elementwise_op moves[4] = {
        GPUL__MOVE(uint8_t, int32_t, GPUL_U8), GPUL__MOVE(uint16_t, int32_t, GPUL_F16),
        GPUL__MOVE(uint32_t, int32_t, GPUL_I32), GPUL__MOVE(uint64_t, int64_t, GPUL_I64)};
    static const gpul__elementwise_op ufuncs[4] = {{gpul__ufunc_launch<float, 0>, 0, {0, 0, 0}, 4, {0, 0}, 2, 0},
                                                   {gpul__ufunc_launch<double, 0>, 0, {0, 0, 0}, 8, {0, 0}, 4, 0},
                                                   {gpul__ufunc_launch<int32_t, 0>, 0, {0, 0, 0}, 4, {0, 0}, 2, 0},
                                                   {gpul__ufunc_launch<int64_t, 0>, 0, {0, 0, 0}, 8, {0, 0}, 4, 0}};
    static_assert(GPUL_F32 == 1 && GPUL_F64 == 2 && GPUL_I32 == 3 && GPUL_I64 == 4, "the order of ufuncs");
    if (op == GPUL_ADD || op == GPUL_SUBTRACT || op == GPUL_MULTIPLY || op == GPUL_MINIMUM || op == GPUL_MAXIMUM)
        return dtype_or_size >= GPUL_F32 && dtype_or_size <= GPUL_BF16 ? &arithmetic[dtype_or_size - GPUL_F32] : 0;
    for (int k = 0; op == GPUL__COPY && k < 4; ++k)
        if (dtype_or_size == 1 << k) return &moves[k];
    if (op == GPUL__UFUNC && dtype_or_size >= GPUL_F32 && dtype_or_size <= GPUL_I64)
        return &ufuncs[dtype_or_size - GPUL_F32];
    return 0;
}
#define GPUL__ELEMENTWISE_KERNEL &gpul__elementwise_vectors<gpul__op_arithmetic<float>, 4>

#endif /* GPULITE_NO_ELEMENTWISE */

/* ---------------------------------------------------------------------------------------------------------------------
 * 2. Reductions
 *
 * Instances of the reduction engine, which moves the data and fixes the tree; an operation here says how an element is
 * folded, how two partial results are combined, and what is stored. Cost: each element is read once. Operations that
 * differ in a map share a kernel and choose by a run-time flag; so do types of one size.
 *
 * Sums of floats run in double, where products of floats are exact. Every multiply-add is an explicit fma, so that no
 * compiler decides about bits.
 * ------------------------------------------------------------------------------------------------------------------ */
/* ---- plan ---- */

/* Rows of a warp tile, which define the tree: 8 to 512, as few as give 384 block tiles at most; beyond, 128 or more, as
 * few as give 32768 block tiles at most. Where any tree gives the same bits (exact), 4096 at most: the squares of 65536
 * bytes, which a lane then has, add up in 32 bits. */
static inline int64_t gpul__tile_rows(int64_t n, int32_t row, bool exact) {
    const int64_t rows = gpul_ceil_div(gpul_ceil_div(n, row), gpul__warps);
    const int64_t few = gpul_ceil_div(rows, 384), many = gpul_ceil_div(rows, 32768);
    const int64_t most = exact && many > 4096 ? 4096 : many; /* fault: var-bytes-rows */
    return few < 8 ? 8 : few <= 512 ? few : most < 128 ? 128 : most;
}

static inline bool gpul__multiples(int32_t ndim, const int64_t *shape, const int64_t *strides, int64_t of) {
    for (int32_t d = 0; d < ndim; ++d)
        if (shape[d] > 1 && strides[d] % of != 0) return false;
    return true;
}

/* May each of several inputs be read in aligned vectors along dimension d of `along`? It is contiguous there, or
 * broadcast, and all its other strides are multiples of a vector. left_out: the outer dimension that vectors lie along,
 * or -1. */
static inline bool gpul__vectors_of_inputs(const gpul__reduce_problem *p, int32_t vector,
                                           const int64_t (*along)[GPUL_MAX_DIMS], int32_t d, int32_t left_out) {
    const gpul__reduce_inputs *const in = p->inputs;
    for (int k = 0; k < 3; ++k) {
        if (in->bytes[k] == 0 || along[k][d] == 0) continue;
        if (along[k][d] != 1 || uintptr_t(in->data[k]) % uintptr_t(vector * in->bytes[k]) != 0) return false;
        for (int32_t o = 0; o < p->outer_ndim; ++o)
            if (o != left_out && p->outer_shape[o] > 1 && in->outer[k][o] % vector != 0) return false;
        if (left_out >= 0 && in->reduce[k][0] % vector != 0) return false; /* fault: several-vectors */
    }
    return true;
}

/* The kernel `short`: a thread for each lane of an output, and as many outputs for each thread as keep the device
 * full. */
static void gpul__plan_short(gpul__reduce_plan *plan, const gpul__reduce_problem *p, const gpul__reducer *reducer,
                             int64_t sms, int64_t lane) {
    plan->kernel = GPUL__REDUCE_SHORT;
    plan->threads_log2 = gpul__log2_above(gpul_ceil_div(p->n, lane), 5);
    plan->lanes = 1 << plan->threads_log2;
    const int64_t threads = GPUL__REDUCE_THREADS / plan->lanes;
    while (plan->outputs_at_once < reducer->short_outputs &&
           p->outputs > plan->outputs_at_once * threads * (plan->vector ? 2 : 1) * sms)
        plan->outputs_at_once *= 2;
    plan->blocks = gpul_ceil_div(p->outputs, plan->outputs_at_once * threads);
}

/* The kernel `rows`: eight warps for the warp tiles of an output, or fewer where it has fewer; then a block has several
 * outputs, but no more than leave every multiprocessor a block. Several outputs at once of a warp read y once for all;
 * this pays where every multiprocessor still has a block.
 *
 * A piece of an output is what the warps of a block have of it at a time: a block tile, or all, if it has one block
 * tile at most. Elements that do not lie side by side come one by one, more than a cycle each for a multiprocessor. So
 * where there are fewer pieces than multiprocessors, they are halved, as long as that is worth passing on their results;
 * slots then have one piece each at most, and the tree is the same.
 *
 * plan.tiles, the pieces of a block, are of one output, or of consecutive outputs where each has one. They are
 * all, if all blocks run at once; else those that take the least time: rounds of blocks, times a block's batches of
 * eight rows and one more for its launch, another for passing on results. Blocks that share an output have 128 rows at
 * most: more blocks balance better. */
static void gpul__plan_rows(gpul__reduce_plan *plan, const gpul__reduce_problem *p, const gpul__reducer *reducer,
                            int64_t sms) {
    const int64_t outputs = p->outputs;
    plan->kernel = GPUL__REDUCE_ROWS;
    plan->warps_log2 = gpul__log2_above(plan->warp_tiles, 3); /* of eight */
    if (outputs > 2 && plan->dense &&
        outputs * plan->block_tiles >= sms * reducer->outputs_at_once * (gpul__warps >> plan->warps_log2))
        plan->outputs_at_once = reducer->outputs_at_once;
    const int64_t together = plan->outputs_at_once, round = 3 * sms;                /* resident blocks */
    int64_t piece = gpul__warps * plan->tile_rows * (512 / reducer->element_bytes); /* elements of a block */
    plan->pieces = plan->block_tiles;
    if (p->n < piece) piece = p->n;
    while (!plan->dense && plan->warps_log2 > 0 && outputs * plan->pieces < sms &&
           plan->pieces <= GPUL__REDUCE_THREADS / 2 && piece > (plan->pieces > 1 ? 1024 : 8192)) {
        --plan->warps_log2;
        plan->pieces = (plan->warp_tiles + (1 << plan->warps_log2) - 1) >> plan->warps_log2;
        piece /= 2;
    }
    const bool whole = plan->pieces == 1;
    plan->groups = whole ? gpul__warps >> plan->warps_log2 : 1;
    while (plan->groups > 1 && gpul_ceil_div(outputs, together * plan->groups / 2) <= sms) plan->groups /= 2;
    const int64_t output_tiles = gpul_ceil_div(outputs, together * plan->groups);
    /* shared memory: what warps stage, a result of each warp of each tile, a total of each warp, a flag */
    const int32_t operands = plan->outputs_at_once + (p->y ? 1 : 0);
    plan->staged_bytes = plan->dense ? 0 : GPUL__REDUCE_STAGED;
    if (reducer->element_bytes >= 4 && !reducer->ordered && !reducer->several) /* gpul__reduce_copies */
        plan->staged_bytes = 2 * operands * gpul__reduce_batch(operands) * 512;
    const int64_t staged = int64_t(gpul__warps) * plan->staged_bytes + 16;
    const int64_t results = together * gpul__warps * reducer->partial_bytes, room = (48 * 1024 - staged) / results - 1;
    int64_t most = whole ? gpul__max_tiles / together : int64_t(gpul__max_tiles);
    if (most > room) most = room;
    const double batches = double(plan->tile_rows) / 8;
    double least = 0;
    plan->tiles = 1;
    for (int32_t t = 1; t <= most && (t <= plan->pieces || whole); ++t) {
        const int64_t splits = whole ? 1 : (plan->pieces + t - 1) / t;
        const int64_t blocks = whole ? (output_tiles + t - 1) / t : output_tiles * splits;
        const double time = double((blocks + round - 1) / round) * (t * batches + (splits > 1 ? 2 : 1));
        if (t > 1 && splits > 1 && together == 1 && t * plan->tile_rows > 128) continue;
        if (least > 0 && time >= least) continue;
        least = time;
        plan->tiles = t;
        if (blocks <= round) break;
    }
    plan->splits = int32_t(gpul_ceil_div(plan->pieces, plan->tiles));
    plan->output_tiles = whole ? gpul_ceil_div(output_tiles, plan->tiles) : output_tiles;
    plan->blocks = plan->output_tiles * plan->splits;
    plan->shared_bytes = (plan->tiles + 1) * results + staged;
    if (plan->splits < 2) return;
    plan->counters = plan->output_tiles;
    plan->partials = outputs * plan->pieces;
}

/* The kernel `columns`: up to 256 threads, of which those along n share a warp tile, or several where columns are few.
 * A thread has several lanes of a warp tile, and more of them in passes; or one lane, and several of its vectors at a
 * time. A block has a block tile, or a half, a quarter or an eighth of it.
 *
 * Of all these choices the one is taken that is estimated to take the least time. Two things take time at
 * once: the longer one, and 0.4 of the shorter. One is the memory of the busiest multiprocessor: all loads of its
 * threads, dearer where few bytes lie together, which waste parts of sectors and of memory's pages, or the instructions
 * that fold. The other is the loads of a thread that follow each other, in as many waves of blocks as there are. To
 * these come the levels of the tree over rows of threads, a last wave that is not full, and passing on results. Where
 * rows are so short that each load of a warp meets all of its cache lines, a multiprocessor looks up one line while
 * memory brings 36 bytes. The unit is what a load takes where memory is idle. The constants fit measurements of an H100,
 * of 1900 random problems in all the ways that there are, to 4 % of the best on average. */
struct gpul__columns_key {          /* all that the choice depends on */
    int64_t n, across, row, stride; /* across: threads; row: neighbouring outputs; stride: of an output's elements */
    int64_t shared;                 /* bytes of a multiprocessor, which one block may have nearly all of */
    int32_t sms, each, lanes, element_bytes, partial_bytes, fold_bytes, ordered, vector;
};
struct gpul__columns_choice {
    int32_t width, one_lane, threads, part, pass_levels; /* threads: of a warp tile; part: of a block tile */
};
/* Shared memory of so many threads: the results of each, and the halves of its trees over passes and over tiles */
static int64_t gpul__columns_bytes(const gpul__columns_key &key, int32_t threads, int32_t pass_levels, int32_t width,
                                   int32_t levels) {
    return int64_t(key.each) * ((1 + pass_levels) * threads + levels * width) * key.partial_bytes + 16;
}
/* What two things take that go on at once (sqrt is the C library's, which programs may be linked without) */
static double gpul__overlapped(double a, double b) { return a > b ? a + 0.4 * b : b + 0.4 * a; }
static gpul__columns_choice gpul__choose_columns(const gpul__columns_key &key, const gpul__reduce_plan *plan,
                                                 int64_t lane) {
    const int32_t groups = plan->lanes > key.lanes ? plan->lanes / key.lanes : 1; /* of lanes, one group to a thread */
    const int64_t some = gpul_ceil_div(key.n, lane);
    const int32_t lanes = some < plan->lanes ? int32_t(some) : plan->lanes; /* that have elements */
    const int64_t most = 48 * 1024;                     /* of shared memory that needs no permission */
    constexpr int32_t kFull = 2 * GPUL__REDUCE_THREADS; /* threads of a multiprocessor */
    const int64_t access = key.each * key.element_bytes;
    const int64_t stretch = key.stride * key.element_bytes;                     /* bytes from an element to the next, */
    const int64_t lane_stride = stretch * (16 / key.element_bytes) * key.lanes; /* and from a thread's to the next's */
    const int64_t used = key.ordered ? plan->tile_rows : gpul_ceil_div(key.n, lane * 32);
    const int32_t rows = int32_t(used < plan->tile_rows ? used : plan->tile_rows); /* vectors of a lane */
    const double tiles = double(key.n) / (double(plan->tile_rows * lane) * 32);    /* the last may not be a whole one */
    const int32_t whole = 1 << gpul__log2_above(plan->warp_tiles, 3);
    const double bytes = double(16 * key.each * key.lanes), sms = double(key.sms); /* that a thread loads at a time */
    const double fold =
        bytes / key.element_bytes * (0.004 + (key.fold_bytes > 8 ? 0.0008 : 0.0) * (key.fold_bytes - 8));
    /* of a thread to a row */
    const double accesses = key.vector == 0   ? double(key.each)
                            : key.vector <= 2 ? double(key.vector)
                                              : double(stretch) / 16;
    double least = 0;
    gpul__columns_choice best = {1, 0, 1, 1, 0};
    for (int32_t w = GPUL__REDUCE_THREADS; w > 0; w /= 2) {
        if (w > 1 && key.across <= w / 2) continue;
        const int64_t output_tiles = key.across <= w ? 1 : gpul_ceil_div(key.across, w);
        const int32_t width_of =
            key.across <= w ? int32_t(key.across) : int32_t(gpul_ceil_div(key.across, output_tiles));
        /* bytes that lie together, of which more than 512 gain nothing: whole rows that are short follow each other */
        const bool rows_whole = key.row <= width_of * key.each;
        int64_t together = rows_whole ? key.row * key.element_bytes : width_of * access;
        if (together > 512 || (rows_whole && stretch < 64)) together = 512;
        for (int32_t choice = 0; choice < 5; ++choice) { /* 1, 2, 4 or 8 passes over several lanes; one lane */
            const int32_t one_lane = choice == 4, passed = one_lane ? 0 : choice;
            const int32_t each = one_lane ? 1 : key.lanes << passed; /* lanes of a thread */
            const int32_t deep = (lanes + each - 1) / each;
            if (groups >> passed < 1 || deep * w > GPUL__REDUCE_THREADS) continue;
            /* passes that would lead the threads of a warp to lines of their own */
            if (passed > 0 && width_of < 32 && stretch < 64 && lane_stride << passed >= 128) continue;
            const int32_t vectors = (one_lane ? (rows + key.lanes - 1) / key.lanes : rows) << passed;
            double load = bytes / 128 * (0.87 + 75 / double(together));
            if (stretch < 64) {
                const double distance = double((one_lane ? stretch * (16 / key.element_bytes) : lane_stride) << passed);
                const double lines = accesses * (distance < 128 ? distance / 128 : 1.0);
                if (36 * lines > double(stretch)) load *= 36 * lines / double(stretch);
            }
            load = gpul__overlapped(load, fold);
            for (int32_t t = whole; t > 0; t /= 2) {
                int32_t at_once = t, deepest = 0;
                for (; at_once > 1 && at_once * deep * width_of > GPUL__REDUCE_THREADS; at_once /= 2) ++deepest;
                const int32_t threads = width_of * deep * at_once, whole_warps = int32_t(gpul__round_up(threads, 32));
                const int64_t shared = gpul__columns_bytes(key, whole_warps, passed, width_of, deepest),
                              blocks_of = key.shared / shared;
                const int32_t room = kFull / whole_warps, resident = blocks_of < room ? int32_t(blocks_of) : room;
                if (plan->block_tiles > 256 && t < gpul__warps) break;
                if (shared > most) continue; /* fault: reduce-shared */
                const int32_t level = gpul__log2_above(at_once * deep, 8), serial = 1 << deepest;
                const int32_t splits = (plan->warp_tiles + t - 1) / t;
                double blocks = double(output_tiles) * splits, loads = vectors * serial;
                /* only of what has elements: of blocks, or of the tiles of a block */
                if (splits > 1) blocks *= tiles / (double(splits) * t);
                else loads = vectors * (tiles > at_once ? tiles / at_once : 1.0);
                const double share = blocks / sms;
                const double tree = 0.45 * level * serial;
                const double chain = loads * (1 + fold * threads / kFull) + tree;
                const double waves = share > resident ? share / resident : 1.0;
                const double below = double(int64_t(share)), busiest = share > below ? below + 1 : below;
                const double memory = (share + 2 * busiest) / 3 * threads / kFull * (loads * load + tree);
                double time = gpul__overlapped(memory, chain * waves);
                if (share > resident) time += 0.52 * chain;
                if (splits > 1) time += 4 + 0.56 * double(splits >> level); /* the last block's */
                if (least > 0 && time >= least) continue;
                least = time;
                best = {w, one_lane, deep, t, passed};
            }
        }
    }
    return best;
}
static void gpul__plan_columns(gpul__reduce_plan *plan, const gpul__reduce_problem *p, const gpul__reducer *reducer,
                               const gpul__machine *machine, int64_t lane) {
    const int32_t each = reducer->columns, inner = p->outer_ndim - 1;
    plan->kernel = GPUL__REDUCE_COLUMNS;
    const int64_t width = p->outer_shape[inner], access = each * reducer->element_bytes;
    /* contiguous, and few of a thread's columns are beyond the ends of rows, or there is one row */
    const bool contiguous = !p->inputs && p->x_outer[inner] == 1 && p->outputs < INT32_MAX &&
                            (inner == 0 || width % each == 0 || width >= (reducer->element_bytes == 1 ? 2 : 4) * each);
    const bool aligned = p->x_reduce[0] % each == 0 && uintptr_t(p->x) % uintptr_t(access) == 0 &&
                         gpul__multiples(inner, p->outer_shape, p->x_outer, each);
    plan->vector = !contiguous ? 0 : aligned ? 1 : reducer->element_bytes == 1 ? 2 : 0;
    if (p->inputs)
        plan->vector = p->outputs < INT32_MAX && width % each == 0 &&
                       gpul__vectors_of_inputs(p, each, p->inputs->outer, inner, inner);
    /* A thread has all of such a row, and reads a vector's rows at once, where there is no second input, which takes
     * registers. Rows of 16 bytes are vectors as they are. */
    const bool close = !p->inputs && !p->y && each == 4 && p->x_outer[inner] == 1 && p->x_reduce[0] <= 4 &&
                       width <= p->x_reduce[0] && p->outputs < INT32_MAX;
    if (close && (plan->vector != 1 || access < 16)) plan->vector = 3;
    plan->lanes = 1 << gpul__log2_above(gpul_ceil_div(p->n, lane), 5);
    const int64_t across =
        plan->vector ? p->outputs / width * gpul_ceil_div(width, each) : gpul_ceil_div(p->outputs, each); /* threads */
    const gpul__columns_key key = {p->n,
                                   across,
                                   width,
                                   p->x_reduce[0],
                                   gpul__shared_of(machine),
                                   machine->sms, /* fault: reduce-kept-sms */
                                   each,
                                   reducer->lanes,
                                   reducer->element_bytes,
                                   reducer->partial_bytes,
                                   reducer->fold_bytes,
                                   reducer->ordered,
                                   plan->vector};
    static thread_local gpul__kept<gpul__columns_key, gpul__columns_choice, 32> kept;
    auto &slot = kept.slot_of(key);
    if (slot.is_new) slot.value = gpul__choose_columns(key, plan, lane);
    const gpul__columns_choice &best = slot.value;
    const int32_t threads = best.threads, part = best.part;
    plan->width = best.width;
    plan->one_lane = best.one_lane;
    plan->passes = 1 << best.pass_levels;
    plan->output_tiles = gpul_ceil_div(across, plan->width);
    plan->width = int32_t(gpul_ceil_div(across, plan->output_tiles));
    plan->tiles_at_once = 1;
    while (plan->tiles_at_once < part && 2 * plan->tiles_at_once * threads * plan->width <= GPUL__REDUCE_THREADS)
        plan->tiles_at_once *= 2;
    plan->tiles = part / plan->tiles_at_once;
    plan->slots = 256 * (gpul__warps / part);
    const int32_t levels = gpul__log2_above(plan->tiles, 3);
    plan->depth = threads * plan->tiles_at_once;
    plan->threads_log2 = gpul__log2_above(threads, 5);
    plan->threads = int32_t(gpul__round_up(plan->depth * plan->width, 32));
    plan->splits = int32_t(gpul_ceil_div(plan->warp_tiles, plan->tiles * plan->tiles_at_once));
    plan->blocks = plan->output_tiles * plan->splits;
    plan->shared_bytes = gpul__columns_bytes(key, plan->threads, best.pass_levels, plan->width, levels);
    if (plan->splits < 2) return;
    plan->counters = plan->output_tiles;
    plan->partials = plan->output_tiles * plan->width * each * plan->splits;
}

/* Columns of so few elements that another kernel is done sooner, though it loads them one by one: `short`, where all
 * of its threads run at once, or else `rows`, where they lie within so many vectors for each multiprocessor. Fewer
 * where rows begin at multiples of 32 bytes: then the elements of an output share few banks of the first cache. The
 * constants fit 3585 problems on an H200 and an H100, to 3 % of the best of the three kernels on average. */
static bool gpul__few_columns(const gpul__reduce_plan *plan, const gpul__reduce_problem *p, int32_t element_bytes,
                              int64_t sms, int64_t lane) {
    const int64_t vector = 16 / element_bytes;
    const bool aligned = p->x_reduce[0] * element_bytes % 32 == 0;
    if (p->n <= 32 * vector && element_bytes > 1) {
        const int32_t lanes = 1 << gpul__log2_above(gpul_ceil_div(p->n, lane), 5);
        return p->outputs <= 2048 * sms / lanes && (lanes < 16 || !aligned);
    }
    const int64_t most = vector * sms * (plan->warp_tiles == 1 ? aligned ? 4 : 32 : aligned ? 512 : 1024);
    return p->n > 2 * vector && p->outputs <= most / p->n &&
           gpul__reach(p->outer_shape, p->x_outer, p->outer_ndim) + p->n * p->x_reduce[0] <= most;
}

/* Rows of a warp tile of an operation that any tree does. A tile costs a warp time of its own, so there are as few as
 * keep `blocks` blocks busy, which run at a time; but more than 256 rows would be hard to share out evenly. Gathered
 * elements, which take longer than that, have the tree's. Of many outputs with short rows, each has two warps if elements
 * are copied to shared memory; of a few outputs of bytes, eight. */
static int64_t gpul__exact_rows(const gpul__reduce_plan *plan, const gpul__reduce_problem *p, int32_t element_bytes,
                                int64_t blocks) {
    constexpr int64_t kMost = 256;
    const int64_t all = p->n > 0 ? gpul_ceil_div(p->n, 512 / element_bytes) : 1,
                  outputs = p->outputs > 0 ? p->outputs : 1;
    if (plan->block_tiles > 1) {
        const int64_t tiles = outputs < blocks ? blocks / outputs : 1,
                      rows = gpul_ceil_div(all, gpul__warps * tiles), /* fault: reduce-exact-rows */
            some = rows < kMost ? rows : kMost;                       /* fault: reduce-exact-most */
        return plan->dense && some > plan->tile_rows ? some : plan->tile_rows;
    }
    if (plan->warp_tiles > 2 && outputs >= 2 * blocks && element_bytes >= 4) /* fault: reduce-exact-two */
        return gpul_ceil_div(all, 2);
    if (element_bytes == 1 && 3 * outputs <= blocks) return gpul_ceil_div(all, gpul__warps);
    return plan->tile_rows;
}

/* First the tree, which depends on n and the size of an element alone; but operations that give the same bits by any
 * tree have none to keep to. Then the kernel:
 *     columns   outputs lie closer to each other than an output's elements do, and are not few
 *     short     an output has one row of vectors or less; or one warp tile, and outputs are many
 *     rows      else */
extern "C" int32_t gpul__plan_reduction(gpul__reduce_plan *plan, const gpul__reduce_problem *p,
                                        const gpul__reducer *reducer, const gpul__machine *machine) {
    const int32_t vector = 16 / reducer->element_bytes, row = 32 * vector; /* elements */
    const int64_t n = p->n, outputs = p->outputs, sms = machine->sms;
    const int32_t inner = p->outer_ndim - 1;
    memset(plan, 0, sizeof *plan);
    plan->tile_rows = gpul__tile_rows(n, row, reducer->exact != 0);
    if (reducer->ordered && n <= plan->tile_rows * row) /* one warp tile: no more rows than all lanes need */
        plan->tile_rows = n > row ? gpul_ceil_div(n, row) : 1;
    const int64_t lane = reducer->ordered ? plan->tile_rows * vector : vector; /* from one lane to the next */
    const auto divide = [&] {
        plan->block_tiles = n == 0 ? 1 : int32_t(gpul_ceil_div(n, gpul__warps * plan->tile_rows * row));
        plan->warp_tiles =
            plan->block_tiles > 1 ? gpul__warps * plan->block_tiles : int32_t(gpul_ceil_div(n, plan->tile_rows * row));
        plan->row_step = plan->block_tiles > 1 && !reducer->ordered ? gpul__warps : 1; /* fault: ordered-row-step */
    };
    divide();
    plan->threads = GPUL__REDUCE_THREADS;
    plan->outputs_at_once = 1;
    plan->splits = 1;
    const bool one_stride = reducer->columns > 0 && p->reduce_ndim == 1;
    const bool columns =
        one_stride && inner >= 0 && n > 8 && (p->y || outputs > 1) && p->x_outer[inner] < p->x_reduce[0];
    if (columns && !gpul__few_columns(plan, p, reducer->element_bytes, sms, lane)) { /* fault: reduce-few-columns */
        gpul__plan_columns(plan, p, reducer, machine, lane);
    } else {
        plan->dense = p->reduce_ndim == 1 && (n <= 1 || p->x_reduce[0] == 1);
        if (reducer->exact) {
            plan->tile_rows = gpul__exact_rows(plan, p, reducer->element_bytes, 3 * sms);
            divide();
        }
        plan->y_vector = !p->y || ((n <= 1 || p->y_stride == 1) && uintptr_t(p->y) % 16 == 0);
        plan->vector = plan->dense && uintptr_t(p->x) % 16 == 0 &&
                       gpul__multiples(p->outer_ndim, p->outer_shape, p->x_outer, vector);
        if (p->inputs)
            plan->vector = plan->dense =
                p->reduce_ndim == 1 && gpul__vectors_of_inputs(p, vector, p->inputs->reduce, 0, -1);
        const bool short_row = n <= row && !(columns && reducer->element_bytes == 1);
        const int64_t many = (plan->dense ? p->y ? 64 : 32 : 16) * sms;
        if (one_stride && (short_row || (plan->warp_tiles == 1 && outputs >= many))) /* fault: reduce-many-rows */
            gpul__plan_short(plan, p, reducer, sms, lane);
        else gpul__plan_rows(plan, p, reducer, sms);
    }
    /* indices in a warp tile have 32 bits; only a broadcast array is too long */
    const bool too_long = n > int64_t(1) << 45; /* fault: reduce-too-long */
    if (too_long || plan->blocks > 2147483647 || plan->partials > INT64_MAX / 64)
        return int32_t(cudaErrorInvalidConfiguration);
    return 0;
}

/* ---- workspaces ----
 *
 * Device memory for partial results and counters: a workspace for each of the first streams to reduce on a device, and
 * for each stream of the first captures. A key names the stream that owns one, and its capture. */

constexpr int32_t gpul__all_workspaces = GPUL__WORKSPACES + GPUL__GRAPH_WORKSPACES;
alignas(16) static __device__ gpul__workspace gpul__workspaces[gpul__all_workspaces];
/* by device: the address, 0 before it is known; the owners' keys, 0: nobody; and whether a call has it now */
static std::atomic<int64_t> gpul__workspace_address[64], gpul__workspace_owner[64][gpul__all_workspaces];
static std::atomic<int32_t> gpul__workspace_held[64][gpul__all_workspaces];

static inline bool gpul__replace(std::atomic<int64_t> &cell, int64_t expected, int64_t value) {
    return cell.compare_exchange_strong(expected, value);
}

/* Makes the graph the owner, until it and all graphs that are made of it have ended and none of them runs. */
static void CUDART_CB gpul__workspace_ends(void *owner) {
    static_cast<std::atomic<int64_t> *>(owner)->store(0); /* fault: workspace-of-graph-kept */
}
static bool gpul__workspace_of_graph(cudaGraph_t graph, std::atomic<int64_t> *owner) {
    cudaUserObject_t object;
    cudaError_t e = cudaUserObjectCreate(&object, owner, gpul__workspace_ends, 1, cudaUserObjectNoDestructorSync);
    if (e != cudaSuccess) {
        owner->store(0);
    } else {
        e = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
        if (e != cudaSuccess) cudaUserObjectRelease(object, 1); /* fault: workspace-of-graph-lost */
    }
    if (e != cudaSuccess && cudaPeekAtLastError() == e) cudaGetLastError();
    return e == cudaSuccess;
}

extern "C" gpul__workspace *gpul__workspace_of(int32_t device, int64_t key, cudaGraph_t graph) {
    if (device < 0 || device >= 64) return 0;
    std::atomic<int64_t> *const owner = gpul__workspace_owner[device];
    const int32_t begin = graph ? GPUL__WORKSPACES : 0, end = graph ? gpul__all_workspaces : GPUL__WORKSPACES;
    int32_t k = begin;
    while (k < end && owner[k].load() != key) ++k; /* fault: workspace-of-two-streams */
    if (k == end) {
        for (k = begin; k < end && !gpul__replace(owner[k], 0, key);) ++k;
        if (k == end || (graph && !gpul__workspace_of_graph(graph, &owner[k]))) return 0;
    }
    void *address = reinterpret_cast<void *>(intptr_t(gpul__workspace_address[device].load()));
    if (!address) {
        const cudaError_t e = cudaGetSymbolAddress(&address, gpul__workspaces);
        if (e != cudaSuccess) {
            if (cudaPeekAtLastError() == e) cudaGetLastError();
            return 0;
        }
        gpul__workspace_address[device].store(int64_t(reinterpret_cast<intptr_t>(address)));
    }
    if (gpul__workspace_held[device][k].exchange(1)) return 0; /* fault: workspace-held */
    return static_cast<gpul__workspace *>(address) + k;
}

extern "C" void gpul__workspace_leave(int32_t device, gpul__workspace *workspace) {
    const int64_t bytes = int64_t(reinterpret_cast<intptr_t>(workspace)) - gpul__workspace_address[device].load();
    gpul__workspace_held[device][bytes / int64_t(sizeof *workspace)].store(0);
}

/* Returns how many workspaces changed owner: one, or two where two threads claimed one at the same time for a
 * stream. */
extern "C" int32_t gpul__workspaces_pass(int64_t key, int64_t to) {
    int32_t count = 0;
    for (int32_t device = 0; device < 64; ++device)
        for (int32_t k = 0; k < GPUL__WORKSPACES; ++k) /* a graph's stay its own */
            count += gpul__replace(gpul__workspace_owner[device][k], key, to);
    return count;
}

#ifndef GPULITE_NO_REDUCE
namespace {

/* The type that sums run in */
template <typename T> struct gpul__sum_of : std::conditional<std::is_integral<T>::value, int64_t, double> {};

static __device__ __forceinline__ float gpul__magnitude_of(float x) { return fabsf(x); }
static __device__ __forceinline__ double gpul__magnitude_of(double x) { return fabs(x); }
static __device__ __forceinline__ uint32_t gpul__magnitude_of(int32_t x) {
    return x < 0 ? 0u - uint32_t(x) : uint32_t(x);
}
static __device__ __forceinline__ uint64_t gpul__magnitude_of(int64_t x) {
    return x < 0 ? 0u - uint64_t(x) : uint64_t(x);
}

/* Variants of gpul__pair: folds of its first and of its second operation */
template <typename Variant> struct gpul__fold_first {
    template <typename Op, typename Lane, typename X, typename Y>
    static __device__ __forceinline__ Lane fold(const Op &op, Lane lane, const X *x, const Y *y, int count, int at) {
        return Variant::fold(op.first, lane, x, y, count, at);
    }
};
template <typename Variant> struct gpul__fold_second {
    template <typename Op, typename Lane, typename X, typename Y>
    static __device__ __forceinline__ Lane fold(const Op &op, Lane lane, const X *x, const Y *y, int count, int at) {
        typedef typename Op::X2 X2;
        X2 as_second[16 / sizeof(X2)];
        memcpy(as_second, x, sizeof as_second);
        return gpul__bits<Lane>(
            Variant::fold(op.second, gpul__bits<typename Op::Lane2>(lane), as_second, y, count, at));
    }
};
/* Two operations on elements of one size in one kernel, chosen by a run-time flag: all but arithmetic is shared. */
template <typename First, typename Second>
struct gpul__pair : gpul__reduction<gpul__pair<First, Second>, typename First::X, typename First::Acc> {
    typedef typename First::Acc Acc;
    typedef typename First::Lane Lane;
    typedef typename Second::Acc Acc2;
    typedef typename Second::Lane Lane2;
    typedef typename Second::X X2;
    First first;
    Second second;
    bool takes_second;
    void set(bool second_, int32_t kind) {
        takes_second = second_;
        first.set(false, kind);
        second.set(false, kind);
    }
    __device__ __forceinline__ Acc identity() const {
        return takes_second ? gpul__bits<Acc>(second.identity()) : first.identity();
    }
    __device__ __forceinline__ Lane start() const {
        return takes_second ? gpul__bits<Lane>(second.start()) : first.start();
    }
    __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
        if (takes_second) return gpul__bits<Acc>(second.combine(gpul__bits<Acc2>(a), gpul__bits<Acc2>(b)));
        return first.combine(a, b);
    }
    template <int N> __device__ __forceinline__ void combine_each(Acc (&a)[N], const Acc (&b)[N]) const {
        if (takes_second) {
            GPUL__UNROLL_FOR (int i = 0; i < N; ++i)
                a[i] = gpul__bits<Acc>(second.combine(gpul__bits<Acc2>(a[i]), gpul__bits<Acc2>(b[i])));
        } else first.combine_each(a, b);
    }
    __device__ __forceinline__ Lane fold(Lane lane, const typename First::X *x, const gpul__none *y, int count,
                                         int at) const {
        if (takes_second) return gpul__fold_second<gpul__fold_as_is>::fold(*this, lane, x, y, count, at);
        return first.fold(lane, x, y, count, at);
    }
    template <typename F> __device__ __forceinline__ void visit(const F &f) const {
        if (takes_second) second.visit([&](auto variant) { f(gpul__fold_second<decltype(variant)>()); });
        else first.visit([&](auto variant) { f(gpul__fold_first<decltype(variant)>()); });
    }
    __device__ __forceinline__ Acc finish(Lane lane, int64_t begin, int at) const {
        if (takes_second) return gpul__bits<Acc>(second.finish(gpul__bits<Lane2>(lane), begin, at));
        return first.finish(lane, begin, at);
    }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, Acc a, int64_t n) const {
        if (takes_second) second.store(out, i, dtype, gpul__bits<Acc2>(a), n);
        else first.store(out, i, dtype, a, n);
    }
};

static __device__ __noinline__ void gpul__store_mean(void *out, int64_t i, gpul_dtype dtype, double sum, int64_t n) {
    gpul__store_real(out, i, dtype, __ddiv_rn(sum, double(n)));
}

/* Kinds of sums: of values, of int64_t values in double, of magnitudes, of squares, of ones where an element is not
 * zero; products; the variance of bytes; and, added to a kind, the mean. 16-bit floats have sums of values alone, and
 * means. */
enum { gpul__plain, gpul__plain_int64, gpul__magnitude, gpul__square, gpul__nonzero, gpul__product, gpul__variance };
enum { gpul__mean = 8 };
template <typename Op, typename T, typename A> struct gpul__sum_base : gpul__reduction<Op, T, A> {
    int32_t kind;
    bool mean;
    void set(bool, int32_t kind_) {
        kind = kind_ % gpul__mean;
        mean = kind_ >= gpul__mean;
    }
    __device__ __forceinline__ int32_t chosen() const { return sizeof(T) == 2 ? int32_t(gpul__plain) : kind; }
    __device__ __forceinline__ A identity() const { return A(chosen() == gpul__product ? 1 : 0); }
    /* a b - 0 or a + b, which have the bits of one multiply-add: no branch */
    template <typename V> __device__ __forceinline__ V combine(V a, V b) const {
        const bool product = chosen() == gpul__product;
        return gpul__multiply_add(a, product ? b : V(1), product ? V(-0.0) : b);
    }
    template <typename V>
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, V a, int64_t n) const {
        if (mean) gpul__store_mean(out, i, dtype, double(a), n);
        else gpul__store(out, i, dtype, a);
    }
};
template <typename T> struct gpul__sum : gpul__sum_base<gpul__sum<T>, T, typename gpul__sum_of<T>::type> {
    typedef typename gpul__sum_of<T>::type A;
    static constexpr int kHasInt64 = std::is_same<T, double>::value;
    using gpul__sum::gpul__sum_base::chosen;
    using gpul__sum::gpul__sum_base::kind;
    template <bool kInt64> __device__ __forceinline__ A plain(A acc, const T *x, int count) const {
        GPUL__UNROLL_FOR (int k = 0; k < 16 / int(sizeof(T)); ++k) {
            A v = A(x[k]);
            if (kInt64) {
                int64_t integer = 0;
                memcpy(&integer, &x[k], sizeof x[k]);
                v = A(integer);
            }
            if (k < count) acc = gpul__add(acc, v);
        }
        return acc;
    }
    /* all but products are |x| or 1, times the same or 1 */
    __device__ __forceinline__ A mapped(A acc, const T *x, int count) const {
        GPUL__UNROLL_FOR (int k = 0; k < 16 / int(sizeof(T)); ++k) {
            const auto magnitude = gpul__magnitude_of(x[k]);
            typedef typename std::remove_cv<decltype(magnitude)>::type Magnitude;
            const Magnitude a = kind == gpul__nonzero ? Magnitude(x[k] != T(0) ? 1 : 0) : magnitude;
            const Magnitude b = kind == gpul__square ? a : Magnitude(1);
            if (k < count) acc = gpul__multiply_add(A(a), A(b), acc);
        }
        return acc;
    }
    __device__ __forceinline__ A product(A acc, const T *x, int count) const {
        GPUL__UNROLL_FOR (int k = 0; k < 16 / int(sizeof(T)); ++k)
            if (k < count) acc = gpul__mul(acc, A(x[k]));
        return acc;
    }
    template <int kVariant> struct variant {
        template <typename Op>
        static __device__ __forceinline__ A fold(const Op &op, A acc, const T *x, const gpul__none *, int count, int) {
            return kVariant == 2   ? op.mapped(acc, x, count)
                   : kVariant == 3 ? op.product(acc, x, count)
                                   : op.template plain<kVariant == 1>(acc, x, count);
        }
    };
    template <typename F> __device__ __forceinline__ void visit(const F &f) const {
        if (chosen() == gpul__plain) f(variant<0>());
        else if (kHasInt64 && kind == gpul__plain_int64) f(variant<1>());
        else if (kind == gpul__product) f(variant<3>());
        else f(variant<2>());
    }
    __device__ __forceinline__ A fold(A acc, const T *x, const gpul__none *, int count, int) const {
        if (chosen() == gpul__plain) return plain<false>(acc, x, count);
        if (kHasInt64 && kind == gpul__plain_int64) return plain<true>(acc, x, count);
        if (kind == gpul__product) return product(acc, x, count);
        return mapped(acc, x, count);
    }
};
/* The sum and, for the variance, the sum of squares: both are exact up to 2^46 elements. */
struct gpul__byte_sums {
    int64_t sum, squares;
};
/* sum of (x - q)^2 less r^2 / n, where q is the integer next to the mean, and r = sum - n q. The first is exact, and twice
 * the second at least, for |r| is neither more than n / 2 nor than the first: so nothing cancels. */
static __device__ __noinline__ void gpul__store_byte_variance(void *out, int64_t i, gpul_dtype dtype, gpul__byte_sums a,
                                                              int64_t n) {
    const int64_t q = n > 0 ? (2 * a.sum + n) / (2 * n) : 0, r = a.sum - n * q; /* fault: var-bytes-mean */
    const double rest = double(r), about = double(a.squares - q * (a.sum + r));
    const double all = fma(-__ddiv_rn(rest, double(n)), rest, about);
    gpul__store_real(out, i, dtype, __ddiv_rn(all, double(n)));
}
/* Sums of bytes, four to an instruction; a sum of magnitudes is a sum. Of a variance, a lane has the sum of squares in
 * its upper 32 bits: see gpul__tile_rows. */
struct gpul__bytes : gpul__sum_base<gpul__bytes, uint8_t, gpul__byte_sums> {
    static constexpr int kExact = 1, kFoldBytes = sizeof(int64_t);
    typedef int64_t Lane;
    __device__ __forceinline__ Lane start() const { return kind == gpul__product; }
    __device__ __forceinline__ Acc identity() const { return {start(), 0}; }
    __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
        return {gpul__sum_base::combine(a.sum, b.sum), gpul__add(a.squares, b.squares)};
    }
    /* mapped and plain: sums are of sixteen at most, so 32 bits */
    __device__ __forceinline__ Lane mapped(Lane lane, const uint8_t *x, int count) const {
        uint32_t word[4], sum = 0, squares = 0;
        memcpy(word, x, sizeof word);
        if (gpul__rarely(kind >= gpul__product)) {
            GPUL__UNROLL_NOT
            for (int k = 0; kind == gpul__product && k < 16 && k < count; ++k) {
                lane = gpul__mul(lane, int64_t(word[0] & 255));
                GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) word[w] = word[w] >> 8 | (w < 3 ? word[w + 1] << 24 : 0u);
            }
            if (kind == gpul__product) return lane;
            GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) {
                const uint32_t a = word[w] & ~gpul__missing_bytes(count, w);
                sum = __dp4a(a, 0x01010101u, sum);
                squares = __dp4a(a, a, squares); /* fault: var-bytes */
            }
            return gpul__add(lane, int64_t(uint64_t(squares) << 32 | sum));
        }
        GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) {
            uint32_t a = word[w] & ~gpul__missing_bytes(count, w);
            const uint32_t b = kind == gpul__square ? a : 0x01010101u;
            /* 1 for each byte that is not zero: its top bit is set, or 127 more carry into it */
            if (kind == gpul__nonzero) a = ((((a & 0x7f7f7f7fu) + 0x7f7f7f7fu) | a) >> 7) & 0x01010101u;
            sum = __dp4a(a, b, sum);
        }
        return gpul__add(lane, int64_t(sum));
    }
    __device__ __forceinline__ Lane plain(Lane lane, const uint8_t *x, int count) const {
        uint32_t word[4], sum = 0;
        memcpy(word, x, sizeof word);
        if (count < 16) { /* fault: sum-bytes */
            GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) word[w] &= ~gpul__missing_bytes(count, w);
        }
        GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) sum = __dp4a(word[w], 0x01010101u, sum);
        return gpul__add(lane, int64_t(sum));
    }
    __device__ __forceinline__ Lane fold(Lane lane, const uint8_t *x, const gpul__none *, int count, int) const {
        return kind <= gpul__magnitude ? plain(lane, x, count) : mapped(lane, x, count);
    }
    template <bool kPlain> struct variant { /* a sum, and nothing else, takes a quarter of the instructions */
        static __device__ __forceinline__ Lane fold(const gpul__bytes &op, Lane lane, const uint8_t *x,
                                                    const gpul__none *, int count, int) {
            return kPlain ? op.plain(lane, x, count) : op.mapped(lane, x, count);
        }
    };
    template <typename F> __device__ __forceinline__ void visit(const F &f) const {
        if (kind <= gpul__magnitude) f(variant<true>());
        else f(variant<false>());
    }
    __device__ __forceinline__ Acc finish(Lane lane, int64_t, int) const {
        if (kind != gpul__variance) return {lane, 0};
        return {int64_t(uint32_t(lane)), int64_t(uint64_t(lane) >> 32)};
    }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, Acc a, int64_t n) const {
        if (kind == gpul__variance) gpul__store_byte_variance(out, i, dtype, a, n);
        else gpul__sum_base::store(out, i, dtype, a.sum, n);
    }
};
template <typename T> struct gpul__dot : gpul__reduction<gpul__dot<T>, T, double, T> {
    static constexpr int kRowsOnly = 1;
    void set(bool, int32_t) {}
    __device__ __forceinline__ double identity() const { return 0; }
    __device__ __forceinline__ double combine(double a, double b) const { return gpul__add(a, b); }
    __device__ __forceinline__ double one(double acc, T x, T y, int) const { return fma(double(x), double(y), acc); }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, double a, int64_t) const {
        gpul__store(out, i, dtype, a);
    }
};

/* Variance in one pass. A partial result is the number of elements, their mean (less the array's first element), and
 * the sum of squared distances from that mean; two are merged by Chan, Golub and LeVeque's formula (Updating formulae
 * and a pairwise algorithm for computing sample variances, 1979). A lane sums eight vectors at a time about a pivot:
 * the mean of those before, or the middle of its first two elements. So what is subtracted in the end is no larger than
 * a few times what is left, whatever element comes first. Integers enter as exact differences from the first
 * element. */
struct gpul__moments {
    double count, mean, squares;
};
/* sum / count: a product where that is exact, which is faster than a division */
static __device__ __forceinline__ double gpul__moments_mean(double sum, double count) {
    const uint64_t bits = gpul__bits<uint64_t>(count);
    if ((bits & 0xfffffffffffffull) != 0) return __ddiv_rn(sum, count);
    return __dmul_rn(sum, gpul__bits<double>(0x7fe0000000000000ull - bits)); /* a power of two */
}
/* Not inline, since most partial results that meet are of as many elements. */
static __device__ __noinline__ double gpul__moments_part(double a, double b) { return __ddiv_rn(b, __dadd_rn(a, b)); }
static __device__ __forceinline__ gpul__moments gpul__moments_merge(gpul__moments a, gpul__moments b) {
    gpul__moments m;
    const uint64_t count = gpul__bits<uint64_t>(b.count);
    double part = 0.5; /* of b in both */
    if (count == 0) return a;
    if (gpul__bits<uint64_t>(a.count) != count) {
        if (a.count == 0) return b;
        part = gpul__moments_part(a.count, b.count);
    }
    const double delta = __dsub_rn(b.mean, a.mean), step = __dmul_rn(delta, part);
    m.count = __dadd_rn(a.count, b.count);
    m.mean = __dadd_rn(a.mean, step);
    m.squares = fma(__dmul_rn(delta, step), a.count, __dadd_rn(a.squares, b.squares));
    return m;
}
/* Merges `before` with a lane's last vectors: `count` elements, with their sums about `pivot`. */
static __device__ __noinline__ gpul__moments gpul__moments_flush(gpul__moments before, double pivot, double sum,
                                                                 double squares, int32_t count) {
    gpul__moments m;
    if (count == 0) return before;
    m.count = double(count);
    const double mean = gpul__moments_mean(sum, m.count), rest = fma(-mean, sum, squares);
    m.mean = __dadd_rn(pivot, mean);
    m.squares = rest < 0 ? 0 : rest;
    return gpul__moments_merge(before, m);
}
/* A lane's: mean and squares of whole groups of eight vectors; sums about `pivot` of the `count` elements after them */
struct gpul__moments_lane {
    double mean, squares, pivot, sum, sum_squares;
    int32_t vectors, count;
};
template <typename T> static __device__ __forceinline__ double gpul__difference(T x, T first) {
    return __dsub_rn(double(x), double(first));
}
template <> __device__ __forceinline__ double gpul__difference<int64_t>(int64_t x, int64_t first) {
    return x < first ? -double(uint64_t(first) - uint64_t(x)) : double(uint64_t(x) - uint64_t(first));
}
/* Of elements T, or, by a run-time flag, U */
template <typename T, typename U> struct gpul__var : gpul__reduction<gpul__var<T, U>, T, gpul__moments> {
    static constexpr int kOneByOne = 0; /* the pivot is made of two */
    typedef gpul__moments_lane Lane;
    T first;
    bool takes_second;
    void set(bool second, int32_t) { takes_second = second; }
    __device__ __forceinline__ void begin(const T *x) { first = *x; }
    __device__ __forceinline__ gpul__moments identity() const {
        const gpul__moments none = {0, 0, 0};
        return none;
    }
    __device__ __forceinline__ Lane start() const {
        const Lane none = {0, 0, 0, 0, 0, 0, 0};
        return none;
    }
    __device__ __forceinline__ gpul__moments combine(gpul__moments a, gpul__moments b) const {
        return gpul__moments_merge(a, b);
    }
    __device__ __forceinline__ Lane fold(Lane lane, const T *x, const gpul__none *, int count, int) const {
        constexpr int kN = 16 / sizeof(T), kEight = 8 * kN;
        double d[kN];
        /* One branch for all of them: a choice element by element converts each twice. A choice of elements, not of
         * places: an array whose index is not known goes through memory. */
        if (!takes_second) {
            GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) d[k] = gpul__difference(k < count ? x[k] : x[0], first);
        } else {
            const U other = gpul__bits<U>(first);
            GPUL__UNROLL_FOR (int k = 0; k < kN; ++k)
                d[k] = gpul__difference(gpul__bits<U>(k < count ? x[k] : x[0]), other); /* fault: var-int64 */
        }
        if (lane.vectors == 0) { /* the middle of the first two */
            lane.pivot = __dmul_rn(0.5, __dadd_rn(d[0], d[1]));
        } else if (lane.vectors % 8 == 0) { /* a group is complete: merged, as in gpul__moments_merge */
            const uint32_t eights = uint32_t(lane.vectors) / 8;
            const double mean = __dmul_rn(lane.sum, 1.0 / double(kEight)),
                         rest = fma(-mean, lane.sum, lane.sum_squares);
            const double delta = __dsub_rn(__dadd_rn(lane.pivot, mean), lane.mean);
            const double step = __dmul_rn(delta, __ddiv_rn(1.0, double(eights)));
            lane.mean = __dadd_rn(lane.mean, step);
            /* in the first group delta is not used: f64's product may be infinite, and times 0 NaN */
            const bool moves = sizeof(T) < 8 || eights > 1; /* fault: var-infinite */
            const double moved = moves ? __dmul_rn(delta, step) : 0;
            lane.squares = fma(moved, double((eights - 1) * kEight), __dadd_rn(lane.squares, rest < 0 ? 0 : rest));
            lane.pivot = lane.mean;
            lane.sum = lane.sum_squares = 0; /* fault: var-sums-kept */
            lane.count = 0;
        }
        GPUL__UNROLL_FOR (int k = 0; k < kN; ++k) {
            const double difference = __dsub_rn(d[k], lane.pivot);
            if (k >= count) continue;
            lane.sum = __dadd_rn(lane.sum, difference);
            lane.sum_squares = fma(difference, difference, lane.sum_squares);
        }
        lane.count += count < kN ? count : kN; /* fault: var-count */
        ++lane.vectors;
        return lane;
    }
    __device__ __forceinline__ gpul__moments finish(Lane lane, int64_t, int) const {
        const gpul__moments before = {double((lane.vectors - 1) / 8 * (8 * 16 / int(sizeof(T)))), lane.mean,
                                      lane.squares};
        return gpul__moments_flush(before, lane.pivot, lane.sum, lane.sum_squares, lane.count);
    }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, gpul__moments a, int64_t n) const {
        gpul__store(out, i, dtype, __ddiv_rn(a.squares, double(n)));
    }
};

/* One kernel computes minimum and maximum: the maximum is the minimum of mirrored values, mirrored back. Floats are
 * mirrored to -x, integers to ~x, which never overflows: an exclusive or with a mask, 0 for the minimum, and no
 * branch. */
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

template <typename V> static __device__ __forceinline__ V gpul__largest_value() {
    return V(sizeof(V) == 8 ? INT64_MAX : sizeof(V) == 4 ? INT32_MAX : 255);
}
template <> __device__ __forceinline__ float gpul__largest_value<float>() { return gpul__bits<float>(0x7f800000u); }
template <> __device__ __forceinline__ double gpul__largest_value<double>() {
    return gpul__bits<double>(0x7ff0000000000000ull);
}

/* The lesser, -0 below +0, or NaN: any tree gives the same (of NaN, one bit pattern is stored). */
template <typename V> static __device__ __forceinline__ V gpul__lesser(V a, V b) {
    typedef typename gpul__mirror_of<V>::Bits Bits;
    const bool first = a < b || gpul__is_nan(a);                   /* fault: min-loses-nan */
    const bool zeros = std::is_floating_point<V>::value && a == b; /* fault: min-zeros */
    return zeros ? gpul__bits<V>(Bits(gpul__bits<Bits>(a) | gpul__bits<Bits>(b))) : first ? a : b;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
static __device__ __forceinline__ float gpul__lesser(float a, float b) {
    float lesser;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(lesser) : "f"(a), "f"(b));
    return lesser;
}
#endif
template <typename T> struct gpul__min : gpul__reduction<gpul__min<T>, T, typename gpul__value_of<T>::type> {
    typedef typename gpul__value_of<T>::type V;
    gpul__mirror<V> mirror;
    void set(bool, int32_t mirrored) { mirror.set(mirrored != 0); }
    __device__ __forceinline__ V identity() const { return gpul__largest_value<V>(); }
    __device__ __forceinline__ V combine(V a, V b) const { return gpul__lesser(a, b); }
    __device__ __forceinline__ V one(V acc, T x, gpul__none, int) const { return combine(acc, mirror(V(x))); }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, V a, int64_t) const {
        gpul__store(out, i, dtype, mirror(a));
    }
};

/* Bytes, four to a word: two instructions find the lesser of four and four. */
struct gpul__min_bytes : gpul__min<uint8_t> {
    static constexpr int kExact = 1;
    __device__ __forceinline__ uint8_t fold(uint8_t acc, const uint8_t *x, const gpul__none *, int count, int) const {
        uint32_t word[4], least = acc;
        memcpy(word, x, sizeof word);
        least |= 0xff0000u;
        GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) word[w] ^= mirror.mask * 0x01010101u;
        if (count < 16) { /* fault: min-missing-bytes */
            GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) word[w] |= gpul__missing_bytes(count, w);
        }
        GPUL__UNROLL_FOR (int w = 0; w < 4; ++w)
            least = gpul__lesser_halves(least, gpul__lesser_halves(word[w] & 0xff00ffu, word[w] >> 8 & 0xff00ffu));
        return uint8_t(gpul__lesser_halves(least, least >> 16));
    }
};

template <typename V> struct gpul__indexed {
    V value;
    int64_t index; /* none yet: INT64_MAX, with the largest value */
};
/* Within a lane indices rise, so a strict comparison of values keeps the first of equals. */
template <typename V> struct gpul__indexed_in_tile {
    V value;
    int at; /* -1: none yet, `value` is the largest */
};
template <typename T> struct gpul__argmin : gpul__reduction<gpul__argmin<T>, T, gpul__indexed<T>> {
    typedef gpul__indexed<T> Place;
    typedef gpul__indexed_in_tile<T> Lane;
    static constexpr int kExact = sizeof(T) == 1;
    gpul__mirror<T> mirror;
    void set(bool, int32_t mirrored) { mirror.set(mirrored != 0); }
    __device__ __forceinline__ Place identity() const {
        Place none;
        memset(&none, 0, sizeof none); /* padding too, as partial results are copied by bytes */
        none.value = gpul__largest_value<T>();
        none.index = INT64_MAX;
        return none;
    }
    __device__ __forceinline__ Place combine(Place a, Place b) const {
        const bool a_nan = gpul__is_nan(a.value), b_nan = gpul__is_nan(b.value), before = b.index < a.index;
        const bool lower = (b.value < a.value) | b_nan, same = b.value == a.value;
        return a_nan ? ((b_nan & before) ? b : a) : (lower | (same & before)) ? b : a; /* fault: argmin-later */
    }
    __device__ __forceinline__ Lane start() const {
        const Lane lane = {gpul__largest_value<T>(), -1};
        return lane;
    }
    __device__ __forceinline__ Lane one(Lane lane, T x, gpul__none, int at) const {
        const T v = mirror(x);
        const bool takes = !(v >= lane.value) && !gpul__is_nan(lane.value); /* the first NaN stays */
        lane.value = takes ? v : lane.value;
        lane.at = takes ? at : lane.at;
        return lane;
    }
    __device__ __forceinline__ Place finish(Lane lane, int64_t begin, int at) const {
        Place place = identity();
        place.value = lane.value;
        place.index = begin + (lane.at < 0 ? at : lane.at);
        return place;
    }
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, Place a, int64_t) const {
        gpul__store(out, i, dtype, a.index);
    }
};
/* The launcher of a kind of an operation: of a sum gpul__plain and so on; of a minimum 1 for the maximum. */
template <typename Op, bool kSecond, int kKind>
static int32_t gpul__reduce_launch_as(const gpul__reduce_problem *problem, const gpul__reduce_plan *plan,
                                      const gpul__machine *machine, void *partials, uint32_t *counters,
                                      gpul_stream stream) {
    Op op;
    op.set(kSecond, kKind);
    return gpul__reduce_launch_op(problem, plan, machine, partials, counters, stream, op);
}

} /* namespace */
#define GPUL__REDUCE_KERNEL &gpul__reduce_rows<gpul__bytes, 1, true, true>
#else
#define GPUL__REDUCE_KERNEL NULL
#endif /* GPULITE_NO_REDUCE */

/* ---------------------------------------------------------------------------------------------------------------------
 * 3. Matrix-vector product
 *
 * y = alpha A x + beta y: a reduction of A[i, :] * x[:] for each row i. Row-major matrices take the engine's rows
 * kernel, column-major ones its columns kernel, with A's columns split over blocks and combined in order. Cost: A is
 * read once. Each product enters by one fma in A's type, and alpha and beta by another: at most cols + 2 roundings
 * reach an element. beta = 0 never reads y.
 * ------------------------------------------------------------------------------------------------------------------ */
#ifndef GPULITE_NO_GEMV
namespace {

template <typename T> struct gpul__gemv : gpul__reduction<gpul__gemv<T>, T, T, T> {
    static constexpr int kTogether = 4;
    T alpha, beta;
    __device__ __forceinline__ T identity() const { return T(0); }
    __device__ __forceinline__ T one(T acc, T a, T x, int) const { return gpul__multiply_add(a, x, acc); }
    __device__ __forceinline__ T combine(T a, T b) const { return gpul__add(a, b); }
    /* NaN is written as one bit pattern, as by reductions */
    __device__ __forceinline__ void store(void *out, int64_t i, gpul_dtype dtype, T acc, int64_t n) const {
        const T old = beta == T(0) ? T(0) : gpul__mul(beta, static_cast<const T *>(out)[i]); /* fault: gemv-beta-zero */
        gpul__store(out, i, dtype,
                    n == 0         ? old
                    : beta == T(0) ? gpul__mul(alpha, acc)
                                   : gpul__multiply_add(alpha, acc, old));
    }
};
template <typename T>
static int32_t gpul__gemv_launch(const gpul__reduce_problem *problem, const gpul__reduce_plan *plan,
                                 const gpul__machine *machine, void *partials, uint32_t *counters, gpul_stream stream) {
    gpul__gemv<T> op;
    op.alpha = T(problem->alpha);
    op.beta = T(problem->beta);
    return gpul__reduce_launch_op(problem, plan, machine, partials, counters, stream, op);
}

} /* namespace */
#define GPUL__GEMV_KERNEL &gpul__reduce_rows<gpul__gemv<float>, 1, true, false>
#else
#define GPUL__GEMV_KERNEL NULL
#endif /* GPULITE_NO_GEMV */

extern "C" const gpul__reducer *gpul__find_reducer(int32_t op, gpul_dtype dtype) {
#ifndef GPULITE_NO_REDUCE
/* exact: any tree gives the same bits; floats, integers: of these types */
#define GPUL__FIRST(Op, kind, exact) gpul__reducer_of<Op>(gpul__reduce_launch_as<Op, false, kind>, exact)
#define GPUL__SECOND(Op, kind, exact) gpul__reducer_of<Op>(gpul__reduce_launch_as<Op, true, kind>, exact)
#define GPUL__BOTH(Op, kind, exact) GPUL__FIRST(Op, kind, exact), GPUL__SECOND(Op, kind, exact)
#define GPUL__TYPES(Op4, Op8, Op1, kind, floats, integers)                                                             \
    GPUL__FIRST(Op4, kind, floats), GPUL__FIRST(Op8, kind, floats), GPUL__SECOND(Op4, kind, integers),                 \
        GPUL__SECOND(Op8, kind, integers), GPUL__FIRST(Op1, kind, true)
    typedef gpul__pair<gpul__sum<float>, gpul__sum<int32_t>> Sum4;
    typedef gpul__pair<gpul__sum<double>, gpul__sum<int64_t>> Sum8;
    typedef gpul__pair<gpul__sum<gpul_f16>, gpul__sum<gpul_bf16>> Sum2;
    typedef gpul__pair<gpul__min<float>, gpul__min<int32_t>> Min4;
    typedef gpul__pair<gpul__min<double>, gpul__min<int64_t>> Min8;
    typedef gpul__pair<gpul__min<gpul_f16>, gpul__min<gpul_bf16>> Min2;
    typedef gpul__min_bytes Min1;
    typedef gpul__pair<gpul__argmin<float>, gpul__argmin<int32_t>> Arg4;
    typedef gpul__pair<gpul__argmin<double>, gpul__argmin<int64_t>> Arg8;
    typedef gpul__argmin<uint8_t> Arg1;
    typedef gpul__var<float, int32_t> Var4;
    typedef gpul__var<double, int64_t> Var8;
    enum {
        kPlain = gpul__plain,
        kMean = int(gpul__mean) + int(gpul__plain),
        kInt64 = int(gpul__mean) + int(gpul__plain_int64)
    };
    static const gpul__reducer table[int(GPUL__DOT) - int(GPUL_SUM) + 1][GPUL_BF16] = {
        /* f32, f64, i32, i64, u8, f16, bf16 */
        {GPUL__TYPES(Sum4, Sum8, gpul__bytes, kPlain, false, true), GPUL__BOTH(Sum2, kPlain, false)},
        {GPUL__TYPES(Sum4, Sum8, gpul__bytes, gpul__product, false, true)}, /* fault: reduce-exact-floats */
        {GPUL__TYPES(Min4, Min8, Min1, 0, true, true), GPUL__BOTH(Min2, 0, true)},
        {GPUL__TYPES(Min4, Min8, Min1, 1, true, true), GPUL__BOTH(Min2, 1, true)},
        {GPUL__TYPES(Sum4, Sum8, gpul__bytes, gpul__magnitude, false, true)},
        {GPUL__TYPES(Sum4, Sum8, gpul__bytes, gpul__square, false, true)},
        {GPUL__FIRST(Sum4, kMean, false), GPUL__FIRST(Sum8, kMean, false), GPUL__SECOND(Sum4, kMean, true),
         GPUL__FIRST(Sum8, kInt64, false), GPUL__FIRST(gpul__bytes, kMean, true), GPUL__BOTH(Sum2, kMean, false)},
        {GPUL__TYPES(Var4, Var8, gpul__bytes, gpul__variance, false, false)},
        {GPUL__TYPES(Arg4, Arg8, Arg1, 0, true, true)},
        {GPUL__TYPES(Arg4, Arg8, Arg1, 1, true, true)},
        {GPUL__TYPES(Sum4, Sum8, gpul__bytes, gpul__nonzero, true, true)},
        {GPUL__FIRST(gpul__dot<float>, 0, false), GPUL__FIRST(gpul__dot<double>, 0, false)}};
    if (op >= GPUL_SUM && op <= GPUL__DOT && dtype >= GPUL_F32 && dtype <= GPUL_BF16)
        return table[op - GPUL_SUM][dtype - GPUL_F32].launch ? &table[op - GPUL_SUM][dtype - GPUL_F32] : 0;
#endif
#ifndef GPULITE_NO_GEMV
    static const gpul__reducer gemv[2] = {gpul__reducer_of<gpul__gemv<float>>(gpul__gemv_launch<float>),
                                          gpul__reducer_of<gpul__gemv<double>>(gpul__gemv_launch<double>)};
    if (op == GPUL__GEMV && (dtype == GPUL_F32 || dtype == GPUL_F64)) return &gemv[dtype - GPUL_F32];
#endif
    (void)op, (void)dtype;
    return 0;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * 4. Histogram
 *
 * Idea. A thread loads vectors of 16 bytes, finds the bin of each element and increments a counter, by an atomic
 * addition. Blocks count shares of x. Where the counters are depends on the bins:
 *
 *     gpul__hist_count_shared    uniform bins, counters in shared memory, which a block adds to `counts` at its end.
 *                                If they have no room for all bins, up to four parts of the bins are counted by blocks
 *                                of their own (blockIdx.y), and each part reads all of x.
 *     gpul__hist_count_beyond    more bins: counters in global memory. A run of equal bins in a warp is one addition;
 *                                bins that occur often are collected in a hash table in the block's shared memory.
 *     gpul__hist_count_between   explicit edges, with counters in either memory
 *     gpul__hist_count_bytes     bytes: 256 counters, one for each value, which are added to the bins at the end
 *     gpul__hist_weigh           weights: additions to global memory, element by element
 *
 * Uniform bins. The bin is the one that numpy.histogram gives, exactly. One fma in double makes a fixed-point number of
 * an element: the bin, and the distance to the edge below. Only where that is too short to be certain, the edge is
 * computed as numpy.linspace does, and compared with the element. No edge is stored.
 *
 * Explicit edges. A table cuts the range into buckets of one width, and has the first edge of each. A binary search
 * among the edges of one bucket finds the bin; they are few unless edges crowd. Edges and table lie in shared memory
 * behind the counters, if they fit. Of up to eight bins, an element is compared with all edges.
 *
 * Assumptions. Additions are of integers (weights in floating point are summed in 128-bit fixed point), so the order of
 * the atomics does not show. A block's counters have 32 bits: no block counts 2^32 elements.
 *
 * Cost. x is read once for each part (of some 58000 bins on Hopper), with a dozen instructions and one atomic addition
 * to shared memory an element, and one to global memory for each block and bin that occurs. Counters in global memory,
 * and weights, take up to one addition there an element; weights in floating point take two, and are read twice.
 * ------------------------------------------------------------------------------------------------------------------ */
#ifdef GPULITE_NO_HISTOGRAM

extern "C" int32_t gpul__plan_histogram(gpul__histogram_plan *, const gpul__histogram_problem *,
                                        const gpul__machine *) {
    return 0;
}
extern "C" int32_t gpul__launch_histogram(const gpul__histogram_problem *, const gpul__histogram_plan *, uint32_t *,
                                          void *, gpul_stream) {
    return int32_t(cudaErrorNotSupported);
}
extern "C" void gpul__histogram_trim() {}
#define GPUL__HISTOGRAM_KERNEL NULL

#else

#define GPUL__HIST_THREADS 1024 /* one block fills a multiprocessor */
enum {
    gpul__hist_packs = 4,          /* vectors of 16 bytes that a thread loads at a time */
    gpul__hist_chunk = 256,        /* counters that a warp adds to `counts` at a time */
    gpul__hist_copies = 32,        /* bytes: of each counter, one for each lane of a warp */
    gpul__hist_slot_bits = 12,     /* log2 of the hash table's slots */
    gpul__hist_own_zeros = 32768,  /* bins that one block sets to zero while the others count, at most */
    gpul__hist_listed = 440,       /* edges that travel in the arguments of a launch, at most */
    gpul__hist_staged = 65536,     /* doubles of a staging buffer in pinned memory, or twice as many of 4 bytes */
    gpul__hist_stages = 4,         /* staging buffers: 2 MB in all */
    gpul__hist_put_threads = 512,  /* of gpul__hist_put_edges */
    gpul__hist_none = -1,          /* as uint32_t: no bin */
    gpul__hist_origin = 0x41300000 /* upper half of the place of bin 0 (2^20), where 32 bits are behind the point */
};

/* ---- the arguments of the kernels ---- */

/* How an element becomes a bin. What every element needs comes first: a block waits for each cache line of the
 * arguments that it reads. */
struct gpul__hist_rule {
    double factor, offset; /* of gpul__hist_place; explicit edges: of gpul__hist_bucket */
    uint32_t unsure;       /* a place so little above an edge is in doubt, in 2^-32 bins */
    int32_t fraction;      /* bits of the place behind the point */
    double first, last;    /* the first and the last edge; of f32 data rounded to f32 */
    double lo, step, span; /* numpy.linspace's start and step, and what numpy.histogram divides x - lo by */
    double point;          /* the place of bin 0: 2^(52 - fraction) */
    int64_t bins;
    const void *edges; /* explicit edges in device memory; NULL: uniform bins, or listed edges */
    int32_t certain;   /* 1: the place gives the bin, or the one above; 0: every element takes numpy's formula */
    int32_t f32;       /* f32 data: edges are rounded to f32 */
    int32_t f32_steps; /* edges and indices are computed in f32 throughout */
};

struct gpul__hist_view {
    gpul__hist_rule rule;
    const void *x;
    void *counts;
    int64_t n, counts_stride;
    int64_t head, vectors; /* elements before the first vector, and vectors of 16 bytes */
    int64_t stride;        /* from a thread's vector to its next: the threads of the grid in x */
    uint32_t *arrivals;    /* two counters for gpul__hist_zero_counts, or NULL */
    int32_t floats;        /* x is f32 or f64 */
    int32_t wide;          /* counts has 64 bits */
    int32_t width;         /* bins of a part; counters in global memory: slots of the hash table */
    int32_t owned;         /* one block counts all and stores, without an addition */
    int32_t in_shared;     /* explicit edges: the counters are in shared memory */
    int32_t dense, ndim;
    int64_t shape[GPUL_MAX_DIMS], strides[GPUL_MAX_DIMS];
    uint64_t reciprocal[GPUL_MAX_DIMS]; /* of the shape: see gpul__divide_by */
    int32_t shift[GPUL_MAX_DIMS];
    /* weights */
    const void *w;
    int64_t w_strides[GPUL_MAX_DIMS];
    gpul_dtype x_dtype, w_dtype;
    int32_t log2_n; /* 2^log2_n >= n */
    /* floating weights: the bits of the largest finite |w|; for each bin a signed 128-bit sum, and flags */
    unsigned long long *largest, *low, *high;
    uint32_t *flags;
    /* explicit edges */
    uint32_t *table;              /* of each bucket: the edges before it, times two, plus 1 if it has some; then all */
    uint32_t buckets;             /* 0: no table, every search is of all edges */
    int64_t searched;             /* edges that are searched: not the last one, nor those that no element reaches */
    int32_t listed, edges_shared; /* edges are in the arguments; edges and table are copied to shared memory */
};

/* The offset of element i: an index for each dimension, by multiplications with reciprocals in place of divisions. */
static __device__ __forceinline__ int64_t gpul__hist_offset(const gpul__hist_view &v, const int64_t *strides,
                                                            int64_t i) {
    int64_t offset = 0;
    GPUL__UNROLL_NOT
    for (int32_t d = v.ndim - 1; d > 0; --d) {
        const int64_t rest = gpul__divided(i, v.reciprocal[d], v.shift[d]);
        offset += (i - rest * v.shape[d]) * strides[d];
        i = rest;
    }
    return offset + i * strides[0];
}

/* counts[bin] += amount */
static __device__ __forceinline__ void gpul__hist_add(const gpul__hist_view &v, int64_t bin, uint64_t amount) {
    if (v.wide) atomicAdd(static_cast<unsigned long long *>(v.counts) + bin * v.counts_stride, amount);
    else atomicAdd(static_cast<unsigned int *>(v.counts) + bin * v.counts_stride, static_cast<unsigned int>(amount));
}

/* ---- from an element to its bin ---- */

/* Elements are loaded as words of their size, whether integers or floats, and compared as doubles, which hold f32 and
 * i32 exactly; i64 is rounded, as numpy does. */
static __device__ __forceinline__ double gpul__hist_value(uint8_t word, bool) { return double(word); }
static __device__ __forceinline__ double gpul__hist_value(uint32_t word, bool floats) {
    return floats ? double(gpul__bits<float>(word)) : double(int32_t(word));
}
static __device__ __forceinline__ double gpul__hist_value(uint64_t word, bool floats) {
    return floats ? gpul__bits<double>(word) : double(int64_t(word));
}

/* The key of an element where bins are uniform: its value, but of f32 the middle between it and the next float above. x
 * >= float(edge) is then middle > edge, with the edge not rounded: data that lie on edges, as whole numbers often do,
 * are not in doubt. The middle is made by integer operations on the bits; below the normal floats it is off by 2^-126.
 * NaN becomes larger than any finite float. */
static __device__ __forceinline__ double gpul__hist_middle(uint32_t bits) {
    const int32_t magnitude = int32_t((bits & 0x7fffffffu) - (bits >> 31)); /* x < 0: the middle is nearer to zero */
    const uint64_t middle = uint64_t(int64_t(magnitude) * 0x20000000 + 0x3800000010000000);
    return gpul__bits<double>(middle | uint64_t(bits & 0x80000000u) << 32);
}
/* int32 to double, by placing it in the low half of a double above 2^52: conversion instructions are slow. */
static __device__ __forceinline__ double gpul__hist_whole(uint32_t word) {
    const uint64_t bits = uint64_t(0x43300000) << 32 | (word ^ 0x80000000u);
    return __dsub_rn(gpul__bits<double>(bits), 4503601774854144.0); /* 2^52 + 2^31 */
}
template <bool kFloats> static __device__ __forceinline__ double gpul__hist_key(uint32_t word) {
    return kFloats ? gpul__hist_middle(word) : gpul__hist_whole(word);
}
template <bool kFloats> static __device__ __forceinline__ double gpul__hist_key(uint64_t word) {
    return gpul__hist_value(word, kFloats);
}
static __device__ __forceinline__ double gpul__hist_key_of(const gpul__hist_rule &r, double value) {
    return r.f32 ? gpul__hist_middle(gpul__bits<uint32_t>(float(value))) : value;
}
/* the largest double below x, which is finite */
static __device__ __forceinline__ double gpul__hist_next_below(double x) {
    const uint64_t bits = gpul__bits<uint64_t>(x);
    return gpul__bits<double>(x == 0 ? 0x8000000000000001u : x < 0 ? bits + 1 : bits - 1);
}

/* Edge k of numpy.linspace; not the last one, which is hi. */
template <bool kF32> static __device__ __forceinline__ double gpul__hist_edge(const gpul__hist_rule &r, double k) {
    if (kF32 && r.f32_steps) return double(__fadd_rn(__fmul_rn(__double2float_rn(k), float(r.step)), float(r.lo)));
    const double edge = __dadd_rn(__dmul_rn(k, r.step), r.lo);
    return kF32 ? double(__double2float_rn(edge)) : edge;
}
static __device__ __forceinline__ double gpul__hist_edge(const gpul__hist_rule &r, double k) {
    return r.f32 ? gpul__hist_edge<true>(r, k) : gpul__hist_edge<false>(r, k);
}

/* numpy's index of x before it is truncated. A double holds it exactly, also where it was rounded to f32. */
static __device__ __forceinline__ double gpul__hist_index(const gpul__hist_rule &r, double x) {
    const double d = r.f32 ? double(__fsub_rn(float(x), float(r.lo))) : __dsub_rn(x, r.lo);
    const double part = __ddiv_rn(d, r.span); /* of floats: rounded below, it is the quotient that f32 gives */
    return r.f32_steps ? double(__fmul_rn(__double2float_rn(part), float(r.bins))) : __dmul_rn(part, double(r.bins));
}

/* The place of x among the bins, a fixed-point number: the bits of key * factor + offset. The offset has a power of two
 * in it that puts the point at bit `fraction` (32, less for 2^20 bins or more), and half of `unsure`. So the bin is
 * certain where the bits behind the point are `unsure` or more; otherwise x may belong to the bin below, and the edge
 * between the two decides.
 *
 * The error, in bins, with u = 2^-53, n bins, W = hi - lo, R = max(|lo|, |hi|): n u (2 + 3 R / W) from factor and
 * offset, n u (4 + R / W) from linspace, 3 * 2^-fraction from the sum. Where numpy computes edges in f32: n 2^-24 (5 +
 * 3 R / W). numpy's index must be less than one away before numpy corrects it by one: in f32, n 2^-24 (2 + 3 R / W). */
static __device__ __forceinline__ uint64_t gpul__hist_place(const gpul__hist_rule &r, double key) {
    return gpul__bits<uint64_t>(__fma_rn(key, r.factor, r.offset));
}
static __device__ __forceinline__ bool gpul__hist_doubtful(const gpul__hist_rule &r, uint64_t place, int32_t fraction) {
    return uint32_t(place << (32 - fraction)) < r.unsure;
}
/* Is x below the edge below its place? (Edge number `bins` need not be exact: both sides of it are in the last bin.) */
template <bool kF32>
static __device__ __forceinline__ bool gpul__hist_below_edge(const gpul__hist_rule &r, double x, uint64_t place,
                                                             int32_t fraction) {
    return x < gpul__hist_edge<kF32>(r, __dsub_rn(gpul__bits<double>(place >> fraction << fraction), r.point));
}

/* Places in doubt: an element below the edge below its place belongs to the bin below. */
template <bool kFloats, typename Word, int kN>
static __device__ __forceinline__ void gpul__hist_correct(const gpul__hist_rule &r, const Word (&x)[kN],
                                                          uint64_t (&place)[kN], int32_t fraction) {
    enum { kF32 = kFloats && sizeof(Word) == 4 };
    GPUL__UNROLL_FOR (int j = 0; j < kN; ++j)
        if (gpul__hist_below_edge<kF32 != 0>(r, gpul__hist_value(x[j], kFloats), place[j], fraction))
            place[j] -= uint64_t(1) << fraction;
}

/* The bucket of x among buckets of one width, from `base` on; `top` is the last. Rounded as it is, it never decreases
 * with x. So an edge in a lower bucket is below x, and one in a higher bucket above. The conversion makes 0 of negative
 * numbers and of NaN, which infinite elements may give. */
template <typename Real>
static __device__ __forceinline__ uint32_t gpul__hist_bucket(Real x, Real base, Real factor, uint32_t top) {
#ifdef __CUDA_ARCH__
    const uint32_t bucket = sizeof(Real) == 4
                                ? __float2uint_rz(__fmul_rn(__fsub_rn(float(x), float(base)), float(factor)))
                                : __double2uint_rz(__dmul_rn(__dsub_rn(x, base), factor));
#else
    const Real t = (x - base) * factor;
    const uint32_t bucket = t > 0 ? t < Real(4294967040.0) ? uint32_t(t) : 4294967295u : 0;
#endif
    return bucket < top ? bucket : top;
}

/* Explicit edges without a table: the last edge that is not above x, or -1; the last bin is closed. Where edges are
 * nearly uniform, the first guess is right. */
static __device__ __forceinline__ int64_t gpul__hist_search(const gpul__hist_rule &r, double x) {
    if (!(x >= r.first && x <= r.last)) return -1;
    const double *const edges = static_cast<const double *>(r.edges);
    const uint32_t top = uint32_t(r.bins - 1 < 0xffffffff ? r.bins - 1 : 0xffffffff);
    int64_t low = 0, high = r.bins, k = gpul__hist_bucket(x, r.offset, r.factor, top);
    if (edges[k] <= x) low = k++;
    if (k > low && k < high && x < edges[k]) high = k;
    GPUL__UNROLL_NOT
    while (high - low > 1) { /* edges[low] <= x < edges[high], or x == edges[bins] */
        const int64_t middle = low + (high - low) / 2;
        if (edges[middle] <= x) low = middle;
        else high = middle;
    }
    return low;
}

/* The bin of any x, or -1 outside. */
static __device__ __forceinline__ int64_t gpul__hist_uniform_bin(const gpul__hist_rule &r, double x) {
    if (!(x >= r.first && x <= r.last)) return -1;
    int64_t k;
    if (r.certain) {
        const uint64_t place = gpul__hist_place(r, gpul__hist_key_of(r, x));
        k = int64_t((place - gpul__bits<uint64_t>(r.point)) >> r.fraction);
        if (r.f32 ? gpul__hist_below_edge<true>(r, x, place, r.fraction)
                  : gpul__hist_below_edge<false>(r, x, place, r.fraction))
            --k;
    } else {
        /* numpy's formula and its correction by one, even where that misses the edges by more */
        const double index = gpul__hist_index(r, x);
        k = index < double(r.bins) ? int64_t(index) : r.bins - 1;
        if (x < gpul__hist_edge(r, double(k))) --k;
        if (k < 0) k = 0;
        if (k != r.bins - 1 && x >= gpul__hist_edge(r, double(k + 1))) ++k;
    }
    return k < r.bins ? k : r.bins - 1;
}
static __device__ __forceinline__ int64_t gpul__hist_bin(const gpul__hist_rule &r, double x) {
    return r.edges ? gpul__hist_search(r, x) : gpul__hist_uniform_bin(r, x);
}

/* ---- setting counts to zero ---- */

static __device__ __forceinline__ void gpul__hist_set_zero(const gpul__hist_view &v, int64_t first, int64_t step) {
    for (int64_t i = first; i < v.rule.bins; i += step) {
        if (v.wide) static_cast<uint64_t *>(v.counts)[i * v.counts_stride] = 0;
        else static_cast<uint32_t *>(v.counts)[i * v.counts_stride] = 0;
    }
}
static __global__ void __launch_bounds__(GPUL__HIST_THREADS)
    gpul__hist_zero(const __grid_constant__ gpul__hist_view v) {
    gpul__await();
    gpul__hist_set_zero(v, gpul_grid_x(), gpul_gridsize_x());
}

/* A launch for the zeros costs more than counting few elements. So the first block that comes here sets counts to zero
 * while all count, and the others wait for it before they add. There is no deadlock: that block is running when another
 * one waits. arrivals[0] is the blocks that came. arrivals[1] becomes 1 with the zeros, then counts the blocks that saw
 * it; the last of them sets both to zero. For all threads: it has a barrier. */
static __device__ __forceinline__ void gpul__hist_zero_counts(const gpul__hist_view &v) {
    bool first = false;
    if (v.arrivals && threadIdx.x == 0) first = atomicAdd(v.arrivals, 1u) == 0;
    if (!__syncthreads_or(first)) return;
    gpul__hist_set_zero(v, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence(); /* for all of the block, behind its barrier */
    atomicAdd(v.arrivals + 1, 1u);
}
static __device__ __forceinline__ uint32_t gpul__hist_read(const uint32_t *arrivals) {
#ifdef __CUDA_ARCH__
    uint32_t value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(arrivals) : "memory");
    return value;
#else
    return atomicAdd(const_cast<uint32_t *>(arrivals), 0u);
#endif
}
static __device__ __forceinline__ void gpul__hist_await_zeros(const gpul__hist_view &v) {
    if (v.arrivals && threadIdx.x == 0)
        while (gpul__hist_read(v.arrivals + 1) == 0) {}
    __syncthreads();                                         /* fault: histogram-zeros-barrier */
    if (v.arrivals && threadIdx.x == GPUL__HIST_THREADS - 1) /* its warp has the least to add */
        if (atomicAdd(v.arrivals + 1, 1u) == gridDim.x * gridDim.y)
            atomicExch(v.arrivals, 0u), atomicExch(v.arrivals + 1, 0u); /* fault: histogram-turns-left */
}

/* ---- the loop over x ---- */

/* A thread's batch: kPacks vectors of 16 bytes, which are loaded while other warps count. Lanes load neighbouring
 * vectors; a thread's are a grid apart. Where x is not dense, a batch is as many elements as one vector has, loaded one
 * by one. Bytes are kept in words of four, or each would take a register. */
template <int kSize> struct gpul__hist_element { typedef typename gpul__word<kSize>::type type; };
template <> struct gpul__hist_element<8> { typedef uint64_t type; };
template <int kSize, int kPacks_> struct gpul__hist_batch {
    typedef typename gpul__hist_element<(kSize > 4 ? kSize : 4)>::type Word;
    enum { kN = 16 / sizeof(Word), kPacks = kPacks_ };
    gpul__pack<Word, kN> pack[kPacks];
    uint32_t valid; /* bit u: pack[u] has elements */
    int64_t at;

    /* The next batch; false where the whole warp has none. */
    __device__ __forceinline__ bool load(const gpul__hist_view &v) {
        const Word *const x = reinterpret_cast<const Word *>(static_cast<const char *>(v.x) + v.head * kSize);
        if ((at & ~int64_t(31)) >= v.vectors) return false;
        if (!v.dense && kSize > 1) { /* v.vectors is a multiple of 32: whole warps */
            const int64_t first = (at & ~int64_t(31)) * kN + (at & 31);
            GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) pack[0].v[j] = x[gpul__hist_offset(v, v.strides, first + 32 * j)];
            valid = 1;
            at += v.stride;
            return true;
        }
        if ((at | 31) + (kPacks - 1) * v.stride < v.vectors) {
            GPUL__UNROLL_FOR (int u = 0; u < kPacks; ++u) pack[u] = gpul__load<kN>(x + (at + u * v.stride) * kN);
            valid = (1u << kPacks) - 1;
        } else {
            valid = 0;
            GPUL__UNROLL_FOR (int u = 0; u < kPacks; ++u) { /* beyond the end: the first vector, which does not count */
                const int64_t i = at + u * v.stride;
                pack[u] = gpul__load<kN>(x + (i < v.vectors ? i : 0) * kN);
                valid |= uint32_t(i < v.vectors) << u;
            }
        }
        at += kPacks * v.stride;
        return true;
    }
    /* f(x) for each vector: those that exist come first */
    template <typename F> __device__ __forceinline__ void each(const F &f) {
        if (valid == (1u << kPacks) - 1) {
            GPUL__UNROLL_FOR (int u = 0; u < kPacks; ++u) f(pack[u].v);
            return;
        }
        GPUL__UNROLL_NOT
        for (; valid; valid >>= 1) {
            f(pack[0].v);
            GPUL__UNROLL_FOR (int u = 1; u < kPacks; ++u) pack[u - 1] = pack[u];
        }
    }
};

/* All elements of this thread, into a Counter: begin(v) clears the block's counters, while the first batch is being
 * loaded; count(v, batch) takes a batch, which all of a warp or none has; one(v, x) takes an element that is in no
 * vector: of head or tail, or any where there are no vectors. */
template <int kSize, typename Counter>
static __device__ __forceinline__ void gpul__hist_loop(const gpul__hist_view &v, Counter &counter) {
    typedef typename gpul__hist_element<kSize>::type Element;
    enum { kOnes = kSize > 1 ? 1 : 4 };
    gpul__hist_batch<kSize, Counter::kPacks> batch;
    batch.at = gpul_grid_x();
    GPUL__UNROLL_NOT
    for (bool first = true;; first = false) {
        const bool some = batch.load(v);
        if (first) counter.begin(v);
        if (!some) break;
        counter.count(v, batch);
    }
    const int64_t body = v.vectors * (16 / kSize), ends = v.n - body; /* fault: histogram-ends-left-out */
    const Element *const x = static_cast<const Element *>(v.x);
    GPUL__UNROLL_NOT
    for (int64_t i = gpul_grid_x(); i < ends; i += kOnes * v.stride) {
        Element value[kOnes];
        GPUL__UNROLL_FOR (int k = 0; k < kOnes; ++k) {
            const int64_t e = i + k * v.stride;
            if (e < ends) value[k] = x[gpul__hist_offset(v, v.strides, e < v.head ? e : e + body)];
        }
        GPUL__UNROLL_FOR (int k = 0; k < kOnes; ++k)
            if (i + k * v.stride < ends) counter.one(v, value[k]);
    }
}

/* ---- counters in shared memory ---- */

static __device__ __forceinline__ void gpul__hist_clear(uint32_t *tile, uint32_t counters, uint32_t value) {
    const gpul__pack<uint32_t, 4> pack = {{value, value, value, value}};
    for (uint32_t i = threadIdx.x; i < counters / 4; i += blockDim.x) gpul__save<4>(tile + 4 * i, pack);
}

/* A block's counters, kStep words apart; the first one is for number `origin`. The increment is PTX, and an element
 * that does not count goes to a spare counter: in C++ the compiler computes each address anew, behind a branch. An
 * addition without a result (ATOMS.POPC.INC) is one operation for all lanes that meet at an address. */
template <int kStep> struct gpul__hist_tile {
    uint32_t *counters;
    uint32_t base, spare;
    __device__ __forceinline__ void set(uint32_t *tile, uint32_t origin, uint32_t spare_at) {
        counters = tile;
        base = 0u - origin;
        spare = spare_at;
#ifdef __CUDA_ARCH__
        base = uint32_t(__cvta_generic_to_shared(tile)) - origin * (4 * kStep);
        spare = uint32_t(__cvta_generic_to_shared(tile + spare_at));
#endif
    }
    __device__ __forceinline__ void increment(uint32_t counter, bool counts) const {
#ifdef __CUDA_ARCH__
        asm volatile(
            "{ .reg .pred p; .reg .u32 at; setp.ne.s32 p, %2, 0; mad.lo.u32 at, %0, %4, %1; selp.u32 at, at, %3, p;"
            " red.shared.add.u32 [at], 1; }" ::"r"(counter),
            "r"(base), "r"(int32_t(counts)), "r"(spare), "n"(4 * kStep)
            : "memory");
#else
        if (counts) atomicAdd(counters + uint32_t(counter + base) * kStep, 1u);
#endif
    }
};

/* Uniform bins: the counters of one part of the bins. Elements equal to hi, which belong to the last bin, have counter
 * `width` of the last part. */
struct gpul__hist_part {
    enum { kPacks = gpul__hist_packs };
    uint32_t *shared;
    gpul__hist_tile<1> tile;
    double lo, hi; /* keys */
    int64_t first;
    uint32_t width;
    __device__ __forceinline__ uint32_t chunks() const { return width / gpul__hist_chunk + 1; }
    __device__ __forceinline__ void begin(const gpul__hist_view &v) {
        const gpul__hist_rule &r = v.rule;
        first = int64_t(blockIdx.y) * v.width;
        width = uint32_t(r.bins - first < v.width ? r.bins - first : int64_t(v.width));
        tile.set(shared, uint32_t(gpul__hist_origin) + uint32_t(first), chunks() * gpul__hist_chunk);
        const bool inner = first + width < r.bins;
        const double low = first > 0 ? gpul__hist_edge(r, double(first)) : r.first;
        const double high = inner ? gpul__hist_edge(r, double(first + width)) : r.last;
        /* -0.0 is below 0.0 here: as the first edge it is inside, as the end of an inner part outside */
        lo = gpul__hist_key_of(r, low == 0 ? -0.0 : low); /* fault: histogram-zero */
        hi = gpul__hist_key_of(r, high == 0 ? (inner ? -0.0 : 0.0) : high);
        if (inner) hi = gpul__hist_next_below(hi); /* fault: histogram-part */
        gpul__hist_clear(shared, chunks() * gpul__hist_chunk, 0);
        gpul__hist_zero_counts(v);
    }
    template <bool kFloats, typename Word, int kN>
    __device__ __forceinline__ void add(const gpul__hist_view &v, const Word (&x)[kN]) const {
        uint64_t place[kN];
        bool inside[kN], doubt = false;
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) { /* no branch: the elements' chains of instructions overlap */
            const double key = gpul__hist_key<kFloats>(x[j]);
            place[j] = gpul__hist_place(v.rule, key);
            inside[j] = key >= lo && key <= hi;
            doubt |= gpul__hist_doubtful(v.rule, place[j], 32);
        }
        if (doubt) gpul__hist_correct<kFloats>(v.rule, x, place, 32); /* fault: histogram-doubt-not-asked */
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) tile.increment(uint32_t(place[j] >> 32), inside[j]);
    }
    template <typename Batch> __device__ __forceinline__ void count(const gpul__hist_view &v, Batch &batch) const {
        if (v.floats) batch.each([&](const auto &x) { this->template add<true>(v, x); });
        else batch.each([&](const auto &x) { this->template add<false>(v, x); });
    }
    template <typename Word> __device__ __forceinline__ void one(const gpul__hist_view &v, Word x) const {
        const int64_t bin = gpul__hist_uniform_bin(v.rule, gpul__hist_value(x, v.floats != 0));
        tile.increment(uint32_t(bin) + uint32_t(gpul__hist_origin), bin >= first && bin - first < width);
    }
};

/* Adds the block's counters 0 .. width - 1 to counts, from bin `first` on. A warp takes a chunk at a time; blocks begin
 * with different chunks, so that they do not meet. The elements equal to hi, in counter `width` of the last part, go to
 * the last bin. */
template <typename Count>
static __device__ __forceinline__ void gpul__hist_add_chunk(const uint32_t *tile, Count *counts, int64_t stride) {
    uint32_t sum[gpul__hist_chunk / 32];
    GPUL__UNROLL_FOR (int k = 0; k < gpul__hist_chunk / 32; ++k) sum[k] = tile[32 * k];
    GPUL__UNROLL_FOR (int k = 0; k < gpul__hist_chunk / 32; ++k)
        if (sum[k]) atomicAdd(counts + 32 * k * stride, Count(sum[k]));
}
static __device__ __forceinline__ void gpul__hist_add_tile(const gpul__hist_view &v, const uint32_t *tile,
                                                           int64_t first, uint32_t width) {
    /* each block begins at another chunk (a hash: a remainder would take longer) */
    const uint32_t chunks = width / gpul__hist_chunk + 1, rotation = __umulhi(blockIdx.x * 0x9e3779b9u, chunks);
    GPUL__UNROLL_NOT
    for (uint32_t i = threadIdx.x / 32; i < chunks; i += GPUL__HIST_THREADS / 32) {
        const uint32_t chunk = i + rotation < chunks ? i + rotation : i + rotation - chunks;
        uint32_t bin = chunk * gpul__hist_chunk + threadIdx.x % 32;
        const int64_t to = (first + bin) * v.counts_stride;
        if (chunk + 1 < chunks && chunk * gpul__hist_chunk + gpul__hist_chunk < width && !v.owned) {
            if (v.wide)
                gpul__hist_add_chunk(tile + bin, static_cast<unsigned long long *>(v.counts) + to, v.counts_stride);
            else gpul__hist_add_chunk(tile + bin, static_cast<unsigned int *>(v.counts) + to, v.counts_stride);
            continue;
        }
        GPUL__UNROLL_NOT
        for (int k = 0; k < gpul__hist_chunk / 32 && bin < width; ++k, bin += 32) {
            uint32_t sum = tile[bin];
            if (bin + 1 == width) sum += tile[width]; /* fault: histogram-last-bin-open */
            const int64_t at = (first + bin) * v.counts_stride;
            if (!v.owned) {
                if (sum) gpul__hist_add(v, first + bin, sum);
            } else if (v.wide) static_cast<uint64_t *>(v.counts)[at] = sum;
            else static_cast<uint32_t *>(v.counts)[at] = sum;
        }
    }
}

template <int kSize>
static __global__ void __launch_bounds__(GPUL__HIST_THREADS, 1)
    gpul__hist_count_shared(const __grid_constant__ gpul__hist_view v) {
    GPUL_SHARED(uint32_t, shared);
    gpul__hist_part part;
    gpul__await();
    part.shared = shared;
    gpul__hist_loop<kSize>(v, part);
    gpul__hist_await_zeros(v);
    gpul__hist_add_tile(v, shared, part.first, part.width);
}

/* ---- counters in global memory ----
 *
 * Each lane of a warp has kN neighbouring elements. A run of equal bins in the warp is one addition, so sorted data do
 * not queue up at one address. Nor do data of few values: a block has a hash table of bins and counters in shared
 * memory, which a warp uses if two of its lanes have the same bin. A slot belongs to the first bin that comes to it;
 * bins whose slot is taken go to global memory. */

struct gpul__hist_beyond {
    enum { kNone = gpul__hist_none };
    uint32_t *bins; /* the hash table: v.width bins, then as many counters */
    __device__ __forceinline__ void begin(const gpul__hist_view &v, uint32_t *shared) {
        bins = shared;
        gpul__hist_clear(bins, uint32_t(v.width), uint32_t(kNone));
        gpul__hist_clear(bins + v.width, uint32_t(v.width), 0);
    }
    __device__ __forceinline__ void put(const gpul__hist_view &v, uint32_t bin, uint32_t many, bool often) const {
        if (often) {
            const uint32_t slot = bin * 2654435769u >> (32 - gpul__hist_slot_bits);
#ifdef __CUDA_ARCH__
            uint32_t owner = *static_cast<volatile uint32_t *>(bins + slot);
#else
            uint32_t owner = atomicAdd(bins + slot, 0u);
#endif
            if (owner == uint32_t(kNone)) owner = atomicCAS(bins + slot, uint32_t(kNone), bin);
            if (owner == uint32_t(kNone) || owner == bin) { /* fault: histogram-slot-takes-all */
                atomicAdd(bins + v.width + slot, many);
                return;
            }
        }
        gpul__hist_add(v, bin, many);
    }
    template <bool kFloats, typename Word, int kN>
    __device__ __forceinline__ void places(const gpul__hist_view &v, const Word (&x)[kN], bool valid,
                                           uint32_t (&bin)[kN]) const {
        const gpul__hist_rule &r = v.rule;
        const double lo = gpul__hist_key_of(r, r.first == 0 ? -0.0 : r.first);
        const double hi = gpul__hist_key_of(r, r.last == 0 ? 0.0 : r.last);
        const uint32_t last = uint32_t(r.bins) - 1, origin = uint32_t(gpul__bits<uint64_t>(r.point) >> r.fraction);
        uint64_t place[kN];
        bool inside[kN], doubt = false;
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) {
            const double key = gpul__hist_key<kFloats>(x[j]);
            place[j] = gpul__hist_place(r, key);
            inside[j] = key >= lo && key <= hi && valid;
            doubt = doubt || (gpul__hist_doubtful(r, place[j], r.fraction) && inside[j]);
        }
        if (doubt) gpul__hist_correct<kFloats>(r, x, place, r.fraction); /* fault: histogram-doubt-beyond */
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) {
            bin[j] = uint32_t(place[j] >> r.fraction) - origin;
            bin[j] = !inside[j] ? uint32_t(kNone) : bin[j] < last ? bin[j] : last;
        }
    }
    /* Adds the bins of a warp's elements, a run of equal ones at once. A run belongs to the lane of its first element,
     * the head. It ends at the next head, in this lane or in the next one that has a head. For whole warps. */
    template <int kN>
    __device__ __forceinline__ void collect(const gpul__hist_view &v, const uint32_t (&bin)[kN]) const {
        const uint32_t full = 0xffffffffu, lane = threadIdx.x % 32;
        uint32_t heads = 0; /* bit j: element j is the head of a run */
        const uint32_t before = __shfl_up_sync(full, bin[kN - 1], 1);
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j)
            if (j ? bin[j] != bin[j - 1] : lane == 0 || bin[0] != before) heads |= 1u << j;
        const uint32_t lanes = __ballot_sync(full, heads != 0), after = lanes & (0xfffffffeu << lane);
        const uint32_t next = after ? uint32_t(__ffs(int32_t(after))) - 1 : 32;
        const uint32_t first = uint32_t(__ffs(int32_t(__shfl_sync(full, heads, int(next % 32))))) - 1;
        uint32_t end = (next - lane) * kN + (next < 32 ? first : 0); /* of this lane's last run, from its element 0 */
        bool often = false;                                          /* has a bin two of the lanes' first elements? */
        if (v.width) {
            const uint32_t same = __match_any_sync(full, bin[0]);
            often = __any_sync(full, (same & (same - 1)) != 0 && bin[0] != uint32_t(kNone));
        }
        GPUL__UNROLL_FOR (int j = kN - 1; j >= 0; --j) {
            if (!((heads >> j) & 1)) continue;
            if (bin[j] != uint32_t(kNone)) put(v, bin[j], end - uint32_t(j), often); /* fault: histogram-run-in-lane */
            end = uint32_t(j);
        }
    }
    __device__ __forceinline__ void put(const gpul__hist_view &v, int64_t bin) const {
        if (bin >= 0 && bin < 0xffffffff) put(v, uint32_t(bin), 1, v.width > 0);
        else if (bin >= 0) gpul__hist_add(v, bin, 1);
    }
    __device__ __forceinline__ void finish(const gpul__hist_view &v) const {
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < uint32_t(v.width); i += blockDim.x)
            if (bins[v.width + i]) gpul__hist_add(v, bins[i], bins[v.width + i]);
    }
};

/* Uniform bins; and explicit edges, if they are 2^31 or more, which have no table. */
struct gpul__hist_uniform_beyond : gpul__hist_beyond {
    enum { kPacks = 2 };
    uint32_t *shared;
    __device__ __forceinline__ void begin(const gpul__hist_view &v) {
        gpul__hist_beyond::begin(v, shared);
        gpul__hist_zero_counts(v);
        gpul__hist_await_zeros(v);
    }
    template <typename Batch>
    __device__ __forceinline__ void count(const gpul__hist_view &v, const Batch &batch) const {
        GPUL__UNROLL_FOR (int u = 0; u < kPacks; ++u) {
            const bool valid = batch.valid >> u & 1;
            uint32_t bin[Batch::kN];
            if (u > 0 && !__any_sync(0xffffffffu, valid)) return;
            if (v.floats) places<true>(v, batch.pack[u].v, valid, bin);
            else places<false>(v, batch.pack[u].v, valid, bin);
            collect(v, bin);
        }
    }
    template <typename Word> __device__ __forceinline__ void one(const gpul__hist_view &v, Word x) const {
        put(v, gpul__hist_bin(v.rule, gpul__hist_value(x, v.floats != 0))); /* fault: histogram-no-table */
    }
};
template <int kSize>
static __global__ void __launch_bounds__(GPUL__HIST_THREADS, 1)
    gpul__hist_count_beyond(const __grid_constant__ gpul__hist_view v) {
    GPUL_SHARED(uint32_t, shared);
    gpul__hist_uniform_beyond beyond;
    gpul__await();
    beyond.shared = shared;
    gpul__hist_loop<kSize>(v, beyond);
    beyond.finish(v);
}

/* ---- explicit edges ----
 *
 * Elements and edges are compared by keys ("order"): doubles, or for elements of 4 bytes integers in the order of the
 * values, -0.0 below 0.0. The key of an edge is the least element that is not below it, so keys decide exactly. */

struct gpul__hist_edge_list {
    double edge[gpul__hist_listed];
};
static_assert(sizeof(gpul__hist_view) + sizeof(gpul__hist_edge_list) + 48 <= 4096, "the arguments of a launch");

/* The key of an element */
static __device__ __forceinline__ int32_t gpul__hist_order(uint32_t word, bool floats) {
    const int32_t bits = int32_t(word);
    return floats ? bits ^ ((bits >> 31) & 0x7fffffff) : bits;
}
static __device__ __forceinline__ double gpul__hist_order(uint64_t word, bool floats) {
    return gpul__hist_value(word, floats);
}
/* The key of an edge: the least element that is not below it. kLast: of the last edge, which belongs to the last bin,
 * the greatest element that is not above it. */
template <bool kLast = false>
static __device__ __forceinline__ void gpul__hist_take_edge(double *out, double edge, bool) {
    *out = edge;
}
template <bool kLast = false>
static __device__ __forceinline__ void gpul__hist_take_edge(int32_t *out, double edge, bool floats) {
    if (floats) {
        const float nearest = __double2float_rn(edge);
        const int32_t order = gpul__hist_order(gpul__bits<uint32_t>(nearest), true);
        if (kLast) *out = nearest == 0 ? (edge < 0 ? -2 : 0) : order - (double(nearest) > edge);
        else
            *out = nearest == 0 ? (edge > 0 ? 1 : -1)
                                : order + (double(nearest) < edge); /* fault: histogram-edge-of-f32 */
    } else {
        const double whole = kLast ? floor(edge) : ceil(edge);
        const bool above = kLast ? whole >= 2147483647.0 : whole > 2147483647.0;
        *out = above ? 2147483647 : whole > -2147483648.0 ? int32_t(whole) : -2147483647 - 1;
    }
}
/* What the bucket is computed from, of a key and of an element */
static __device__ __forceinline__ double gpul__hist_number(double order, bool) { return order; }
static __device__ __forceinline__ float gpul__hist_number(int32_t order, bool floats) {
    return floats ? gpul__bits<float>(gpul__hist_order(uint32_t(order), true)) : float(order); /* its own inverse */
}
static __device__ __forceinline__ double gpul__hist_number_of(uint64_t word, bool floats) {
    return gpul__hist_value(word, floats);
}
static __device__ __forceinline__ float gpul__hist_number_of(uint32_t word, bool floats) {
    return floats ? gpul__bits<float>(word) : float(int32_t(word));
}

template <int kSize> struct gpul__hist_compared { typedef double Order, Number; };
template <> struct gpul__hist_compared<4> {
    typedef int32_t Order;
    typedef float Number;
};

/* The range, and the bucket of an edge or an element */
template <int kSize> struct gpul__hist_buckets {
    typedef typename gpul__hist_compared<kSize>::Order Order;
    typedef typename gpul__hist_compared<kSize>::Number Number;
    Order lo, hi;
    Number base, factor;
    uint32_t top;
    bool floats;
    __device__ __forceinline__ void begin(const gpul__hist_view &v) {
        floats = v.floats != 0;
        gpul__hist_take_edge(&lo, v.rule.first, floats);
        gpul__hist_take_edge<true>(&hi, v.rule.last, floats);
        if (kSize == 4 && !floats && (v.rule.first > 2147483647.0 || v.rule.last < -2147483648.0))
            lo = Order(2147483647), hi = -lo; /* no integer is inside */
        base = Number(v.rule.offset);
        factor = Number(v.rule.factor);
        top = v.buckets - 1;
    }
    __device__ __forceinline__ uint32_t of_number(Number x) const { return gpul__hist_bucket(x, base, factor, top); }
    __device__ __forceinline__ uint32_t of(Order order) const { return of_number(gpul__hist_number(order, floats)); }
    /* Enters edge i of each lane into the table: the buckets from the one behind that of the edge before up to its own
     * begin with i. i == searched: those behind all edges. Lanes with a larger i have none. For whole warps, which
     * write together what is longer than kShort. */
    __device__ __forceinline__ void enter(const gpul__hist_view &v, uint32_t *table, int64_t i, Order before,
                                          Order edge) const {
        enum { kShort = 16 };
        const uint32_t full = 0xffffffffu, lane = threadIdx.x % 32, entry = 2 * uint32_t(i);
        const uint32_t from = i > 0 ? of(before) + 1 : 0;
        const uint32_t to = i < v.searched ? of(edge) : v.buckets;
        const bool has = i <= v.searched && from <= to;
        if (has) table[to] = i < v.searched ? entry + 1 : entry;
        GPUL__UNROLL_NOT
        for (uint32_t k = from; has && k < to && k < from + kShort; ++k) table[k] = entry;
        uint32_t wide = __ballot_sync(full, has && to > from + kShort);
        while (wide) {
            const int lead = __ffs(int32_t(wide)) - 1;
            const uint32_t end = __shfl_sync(full, to, lead), value = __shfl_sync(full, entry, lead);
            uint32_t k = __shfl_sync(full, from, lead) + kShort + lane;
            GPUL__UNROLL_NOT
            for (; k < end; k += 32) table[k] = value; /* fault: histogram-wide-gap */
            wide &= wide - 1;
        }
    }
};

/* Explicit edges, fewer than 2^31: counters in shared memory, or in global memory as gpul__hist_beyond has them. */
template <int kSize> struct gpul__hist_between {
    enum { kPacks = 2 };
    typedef typename gpul__hist_compared<kSize>::Order Order;
    uint32_t *shared;
    const gpul__hist_edge_list *list;
    gpul__hist_buckets<kSize> buckets;
    gpul__hist_tile<1> tile;
    gpul__hist_beyond beyond;
    const Order *edges;
    const uint32_t *table;

    /* Shared memory: the counters, the edges, the table. For all threads: it has barriers. */
    __device__ __forceinline__ void begin(const gpul__hist_view &v) {
        const uint32_t bins = uint32_t(v.rule.bins);
        uint32_t counters = 2 * uint32_t(v.width);
        buckets.begin(v);
        if (v.in_shared) {
            counters = (bins / gpul__hist_chunk + 1) * gpul__hist_chunk;
            tile.set(shared, 0, counters);
            gpul__hist_clear(shared, counters, 0);
            counters += 4;
        } else beyond.begin(v, shared);
        edges = static_cast<const Order *>(v.rule.edges);
        table = v.table;
        if (v.listed || v.edges_shared) {
            Order *const shared_edges = reinterpret_cast<Order *>(shared + counters);
            uint32_t *const shared_table = reinterpret_cast<uint32_t *>(shared_edges + (bins + 4) / 4 * 4);
            if (v.listed) {
                const uint32_t i = threadIdx.x; /* a thread an edge: a block has more threads */
                if (i <= bins) gpul__hist_take_edge(shared_edges + i, list->edge[i], v.floats != 0);
                __syncthreads();
                buckets.enter(v, shared_table, i, shared_edges[i > 0 && i <= bins ? i - 1 : 0],
                              shared_edges[i < bins ? i : 0]);
            } else {
                for (uint32_t i = threadIdx.x; i <= bins; i += blockDim.x) shared_edges[i] = edges[i];
                for (uint32_t i = threadIdx.x; i <= v.buckets; i += blockDim.x) shared_table[i] = table[i];
            }
            edges = shared_edges;
            table = shared_table;
            __syncthreads();
        }
        gpul__hist_zero_counts(v);
        if (!v.in_shared) gpul__hist_await_zeros(v);
    }
    /* kN elements: their searches overlap */
    template <typename Word, int kN>
    __device__ __forceinline__ void add(const gpul__hist_view &v, const Word (&x)[kN], bool valid) const {
        Order order[kN];
        uint32_t bucket[kN], low[kN], high[kN];
        bool inside[kN], more = false;
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) {
            order[j] = gpul__hist_order(x[j], v.floats != 0);
            inside[j] = order[j] >= buckets.lo && order[j] <= buckets.hi && valid;
            bucket[j] = buckets.of_number(gpul__hist_number_of(x[j], v.floats != 0));
            low[j] = table[bucket[j]];
        }
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) {
            high[j] = low[j] / 2;
            if (low[j] & 1) high[j] = table[bucket[j] + 1] / 2;
            low[j] /= 2;
            more = more || low[j] < high[j];
        }
        GPUL__UNROLL_NOT
        while (more) { /* edges before `low` are at or below x, those from `high` on above */
            Order edge[kN];
            GPUL__UNROLL_FOR (int j = 0; j < kN; ++j)
                edge[j] = edges[(low[j] + high[j]) / 2]; /* also where both are equal */
            more = false;
            GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) {
                const uint32_t middle = (low[j] + high[j]) / 2;
                const bool up = edge[j] <= order[j] && low[j] < high[j]; /* fault: histogram-edge-closed */
                low[j] = up ? middle + 1 : low[j];
                high[j] = up ? high[j] : middle;
                more = more || low[j] < high[j];
            }
        }
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) low[j] = inside[j] ? low[j] - 1 : uint32_t(gpul__hist_none);
        if (v.in_shared) {
            GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) tile.increment(low[j], inside[j]);
        } else if (kN > 1) beyond.collect(v, low);
        else beyond.put(v, inside[0] ? int64_t(low[0]) : int64_t(-1));
    }
    template <typename Batch>
    __device__ __forceinline__ void count(const gpul__hist_view &v, const Batch &batch) const {
        GPUL__UNROLL_FOR (int u = 0; u < kPacks; ++u) {
            const bool valid = batch.valid >> u & 1;
            if (u > 0 && !__any_sync(0xffffffffu, valid)) return;
            add(v, batch.pack[u].v, valid);
        }
    }
    template <typename Word> __device__ __forceinline__ void one(const gpul__hist_view &v, Word x) const {
        const Word xs[1] = {x};
        add(v, xs, true);
    }
};

template <int kSize>
static __global__ void __launch_bounds__(GPUL__HIST_THREADS, 1)
    gpul__hist_count_between(const __grid_constant__ gpul__hist_view v,
                             const __grid_constant__ gpul__hist_edge_list list) {
    GPUL_SHARED(uint32_t, shared);
    gpul__hist_between<kSize> between = {};
    gpul__await();
    between.shared = shared;
    between.list = &list;
    gpul__hist_loop<kSize>(v, between);
    if (!v.in_shared) return between.beyond.finish(v);
    gpul__hist_await_zeros(v);
    gpul__hist_add_tile(v, shared, 0, uint32_t(v.rule.bins));
}

/* A few bins: a thread counts in registers how many elements inside the range are at or above each edge. */
template <int kSize> struct gpul__hist_few {
    enum { kPacks = kSize == 8 ? 2 : int(gpul__hist_packs), kMost = 8 }; /* bins */
    typedef typename gpul__hist_compared<kSize>::Order Order;
    uint32_t *shared;
    const gpul__hist_edge_list *list;
    Order lo, hi, edge[kMost]; /* edge: of the bins behind the first */
    uint32_t above[kMost + 1]; /* the last one stays 0 */

    __device__ __forceinline__ void begin(const gpul__hist_view &v) {
        gpul__hist_buckets<kSize> range;
        range.begin(v);
        lo = range.lo;
        hi = range.hi;
        GPUL__UNROLL_FOR (int i = 0; i < kMost; ++i)
            gpul__hist_take_edge(edge + i, list->edge[i < v.rule.bins ? i : v.rule.bins], v.floats != 0);
        gpul__hist_clear(shared, gpul__hist_chunk, 0);
        gpul__hist_zero_counts(v); /* it has a barrier */
    }
    template <int kBins, typename Word, int kN>
    __device__ __forceinline__ void add(const gpul__hist_view &v, const Word (&x)[kN]) {
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) {
            const Order order = gpul__hist_order(x[j], v.floats != 0);
            const bool inside = order >= lo && order <= hi; /* fault: histogram-few-inside */
            above[0] += inside;
            GPUL__UNROLL_FOR (int i = 1; i < kBins; ++i)
                above[i] += inside && order >= edge[i]; /* fault: histogram-few-closed */
        }
    }
    template <typename Batch> __device__ __forceinline__ void count(const gpul__hist_view &v, Batch &batch) {
        if (v.rule.bins <= 2) batch.each([&](const auto &x) { this->template add<2>(v, x); });
        else if (v.rule.bins <= 4) batch.each([&](const auto &x) { this->template add<4>(v, x); });
        else batch.each([&](const auto &x) { this->template add<kMost>(v, x); });
    }
    template <typename Word> __device__ __forceinline__ void one(const gpul__hist_view &v, Word x) {
        const Word xs[1] = {x};
        add<kMost>(v, xs);
    }
    /* the counters in shared memory */
    __device__ __forceinline__ void finish(const gpul__hist_view &v) {
        GPUL__UNROLL_FOR (int i = 0; i < kMost; ++i) { /* of bins that there are, and edges that an element reaches */
            const bool next = i + 1 < v.rule.bins && i + 1 < v.searched; /* fault: histogram-few-searched */
            uint32_t sum = i < v.searched ? above[i] - (next ? above[i + 1] : 0) : 0;
            GPUL__UNROLL_FOR (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, unsigned(d));
            if (threadIdx.x % 32 == 0 && i < v.rule.bins) atomicAdd(shared + i, sum);
        }
    }
};
template <int kSize>
static __global__ void __launch_bounds__(GPUL__HIST_THREADS, 1)
    gpul__hist_count_few(const __grid_constant__ gpul__hist_view v, const __grid_constant__ gpul__hist_edge_list list) {
    GPUL_SHARED(uint32_t, shared);
    gpul__hist_few<kSize> few = {};
    gpul__await();
    few.shared = shared;
    few.list = &list;
    gpul__hist_loop<kSize>(v, few);
    few.finish(v);
    gpul__hist_await_zeros(v); /* it has a barrier */
    gpul__hist_add_tile(v, shared, 0, uint32_t(v.rule.bins));
}

/* A piece of the edges comes to the device in the arguments of a launch, as doubles, or in a staging buffer of pinned
 * memory, as they were given. A buffer is free again when each block that reads it has written the launch's ticket into
 * its word of `done`. */
struct gpul__hist_stage {
    double edge[gpul__hist_staged];
    volatile uint32_t done[2 * gpul__hist_staged / gpul__hist_put_threads];
};
struct gpul__hist_piece {
    gpul__hist_stage *stage; /* NULL: they are in the arguments */
    int64_t at;              /* its first edge */
    int32_t count, zeros;    /* zeros: this launch sets counts to zero, too */
    uint32_t ticket;
    gpul_dtype dtype;
};

/* Writes the keys of a piece of the edges to device memory, and its part of the table; the pieces before have been
 * written. The piece is read before earlier launches in the stream have ended, and the next launch begins at once: only
 * the writes wait. */
template <int kSize>
static __device__ __forceinline__ void gpul__hist_put(const gpul__hist_view &v, const gpul__hist_piece &piece,
                                                      double value, double value_before) {
    typedef typename gpul__hist_compared<kSize>::Order Order;
    Order *const edges = static_cast<Order *>(const_cast<void *>(v.rule.edges));
    const int32_t k = int32_t(blockIdx.x * blockDim.x + threadIdx.x);
    const int64_t i = piece.at + k;
    Order edge, before;
    gpul__hist_take_edge(&edge, value, v.floats != 0);
    gpul__hist_take_edge(&before, value_before, v.floats != 0);
    if (k < piece.count) edges[i] = edge;
    if (!v.buckets) return;
    if (k == 0 && piece.at > 0) before = edges[i - 1];
    gpul__hist_buckets<kSize> buckets;
    buckets.begin(v);
    buckets.enter(v, v.table, k < piece.count ? i : v.rule.bins + 1, before, edge);
}
static __global__ void __launch_bounds__(gpul__hist_put_threads)
    gpul__hist_put_edges(const __grid_constant__ gpul__hist_view v, const __grid_constant__ gpul__hist_piece piece,
                         const __grid_constant__ gpul__hist_edge_list list) {
    const int32_t k = int32_t(blockIdx.x * blockDim.x + threadIdx.x);
    const double *const from = piece.stage ? piece.stage->edge : list.edge;
    gpul__let_next();
    const double edge = k < piece.count ? gpul__edge_at(from, piece.dtype, k) : 0;
    double before = __shfl_up_sync(0xffffffffu, edge, 1);
    if (threadIdx.x % 32 == 0) before = k > 0 && k < piece.count ? gpul__edge_at(from, piece.dtype, k - 1) : 0;
    gpul__await();
    if (piece.zeros) gpul__hist_set_zero(v, gpul_grid_x(), gpul_gridsize_x());
    if (v.buckets && v.x_dtype != GPUL_F64 && v.x_dtype != GPUL_I64) gpul__hist_put<4>(v, piece, edge, before);
    else gpul__hist_put<8>(v, piece, edge, before);
    __syncthreads();
    if (threadIdx.x == 0 && piece.stage) piece.stage->done[blockIdx.x] = piece.ticket;
}

/* ---- bytes ---- */

struct gpul__hist_byte_bins { /* listed edges: the bin of each value; -1: outside */
    int16_t of[256];
};
static_assert(gpul__hist_listed < 32768, "bins of a list");

/* 256 values, each with a counter for every lane of a warp, in the lane's own bank: an increment takes the same time
 * for all data. */
struct gpul__hist_bytes {
    enum { kPacks = gpul__hist_packs };
    uint32_t *shared;
    gpul__hist_tile<gpul__hist_copies> tile;
    __device__ __forceinline__ void begin(const gpul__hist_view &v) {
        tile.set(shared + threadIdx.x % gpul__hist_copies, 0, 256 * gpul__hist_copies);
        gpul__hist_clear(shared, 256 * gpul__hist_copies, 0);
        gpul__hist_zero_counts(v);
    }
    __device__ __forceinline__ void add(const uint32_t (&x)[4]) const {
        GPUL__UNROLL_FOR (int j = 0; j < 16; ++j) tile.increment((x[j / 4] >> (j % 4 * 8)) & 0xffu, true);
    }
    template <typename Batch> __device__ __forceinline__ void count(const gpul__hist_view &, Batch &batch) const {
        batch.each([&](const auto &x) { this->add(x); });
    }
    __device__ __forceinline__ void one(const gpul__hist_view &, uint8_t x) const { tile.increment(x, true); }
};

static __global__ void __launch_bounds__(GPUL__HIST_THREADS, 1)
    gpul__hist_count_bytes(const __grid_constant__ gpul__hist_view v,
                           const __grid_constant__ gpul__hist_byte_bins bins) {
    GPUL_SHARED(uint32_t, tile);
    gpul__hist_bytes bytes;
    const uint32_t lane = threadIdx.x % 32;
    gpul__await();
    bytes.shared = tile;
    gpul__hist_loop<1>(v, bytes);
    gpul__hist_await_zeros(v);
    if (threadIdx.x >= 256) return;
    uint32_t sum = 0;
    GPUL__UNROLL_FOR (uint32_t k = 0; k < gpul__hist_copies; ++k)
        sum += tile[threadIdx.x * gpul__hist_copies + (k + lane) % gpul__hist_copies];
    /* Neighbouring values often share a bin: the first of them in a warp adds for all. */
    const int64_t bin = v.listed ? bins.of[threadIdx.x] : gpul__hist_bin(v.rule, double(threadIdx.x));
    const int64_t before = __shfl_up_sync(0xffffffffu, bin, 1);
    GPUL__UNROLL_NOT
    for (uint32_t d = 1; d < 32; d *= 2) {
        const int64_t other = __shfl_down_sync(0xffffffffu, bin, d);
        const uint32_t more = __shfl_down_sync(0xffffffffu, sum, d);
        if (lane + d < 32 && other == bin) sum += more; /* fault: histogram-bytes-add-once */
    }
    if (bin >= 0 && sum && (lane == 0 || before != bin)) gpul__hist_add(v, bin, sum);
}

/* ---- weights ---- */

enum { gpul__hist_nan = 1, gpul__hist_plus_infinity = 2, gpul__hist_minus_infinity = 4 };

static __device__ __forceinline__ int64_t gpul__hist_bin_any(const gpul__hist_view &v, int64_t i) {
    const gpul_dtype t = v.x_dtype;
    const bool floats = v.floats != 0;
    return gpul__hist_bin(v.rule, t == GPUL_U8 ? gpul__hist_value(static_cast<const uint8_t *>(v.x)[i], floats)
                                  : t == GPUL_F32 || t == GPUL_I32
                                      ? gpul__hist_value(static_cast<const uint32_t *>(v.x)[i], floats)
                                      : gpul__hist_value(static_cast<const uint64_t *>(v.x)[i], floats));
}

/* Weights are summed in fixed point, in units of 2^unit. n weights below 2^e, the power of two above the largest, sum
 * to less than 2^126 units. A weight is rounded by 2^(e + log2_n - 127) at most, far less than 2^-80 max|w| for any n
 * that fits a GPU. */
static __device__ __forceinline__ int gpul__hist_unit(const gpul__hist_view &v) {
    const unsigned long long bits = *v.largest;
    const int e = bits >> 52 ? int(bits >> 52) - 1022 : 64 - __clzll(static_cast<long long>(bits)) - 1074;
    return e + v.log2_n - 126;
}

static __device__ __forceinline__ void gpul__hist_negate(unsigned long long &low, unsigned long long &high) {
    low = ~low + 1;
    high = ~high + (low == 0);
}

/* Adds a weight, given by its bits, to the sum of its bin. */
static __device__ __forceinline__ void gpul__hist_add_weight(const gpul__hist_view &v, int64_t bin, int unit,
                                                             unsigned long long bits) {
    const int exponent = int((bits >> 52) & 0x7ff);
    const bool negative = (bits >> 63) != 0;
    unsigned long long significand = bits & 0xfffffffffffffull;
    if (exponent == 0x7ff) {
        atomicOr(v.flags + bin, significand ? static_cast<uint32_t>(gpul__hist_nan)
                                : negative ? static_cast<uint32_t>(gpul__hist_minus_infinity)
                                           : static_cast<uint32_t>(gpul__hist_plus_infinity));
        return;
    }
    if (exponent) significand |= 1ull << 52;
    const int shift = (exponent ? exponent : 1) - 1075 - unit;
    unsigned long long low = 0, high = 0;
    if (shift >= 64) high = significand << (shift - 64);
    else if (shift > 0) high = significand >> (64 - shift), low = significand << shift;
    else if (shift == 0) low = significand;
    else if (shift > -55) low = (significand + (1ull << (-shift - 1))) >> -shift;
    if ((low | high) == 0) return;
    if (negative) gpul__hist_negate(low, high);
    const unsigned long long before = atomicAdd(v.low + bin, low);
    high += before + low < before; /* the carry of this addition: in any order, all carries are added */
    if (high) atomicAdd(v.high + bin, high);
}

/* Weights, one step a launch. Integers are added at once. Floats: first the largest finite |w| of the elements that are
 * in a bin (non-negative doubles are in the order of their bits), then the sums. */
enum { gpul__hist_integers = 0, gpul__hist_largest = 1, gpul__hist_floats = 2 };
static __global__ void __launch_bounds__(512)
    gpul__hist_weigh(const __grid_constant__ gpul__hist_view v, int32_t step) {
    const int unit = step == gpul__hist_floats ? gpul__hist_unit(v) : 0;
    unsigned long long most = 0;
    GPUL_GRID_STRIDE(i, v.n) {
        const int64_t bin = gpul__hist_bin_any(v, gpul__hist_offset(v, v.strides, i));
        if (bin < 0) continue; /* fault: histogram-weights-outside */
        const int64_t at = gpul__hist_offset(v, v.w_strides, i);
        if (step == gpul__hist_integers) {
            gpul__hist_add(v, bin,
                           uint64_t(v.w_dtype == GPUL_I32 ? static_cast<const int32_t *>(v.w)[at]
                                                          : static_cast<const int64_t *>(v.w)[at]));
            continue;
        }
        const unsigned long long bits = gpul__bits<unsigned long long>(
            v.w_dtype == GPUL_F32 ? double(static_cast<const float *>(v.w)[at]) : static_cast<const double *>(v.w)[at]);
        const unsigned long long magnitude = bits & 0x7fffffffffffffffull;
        if (step == gpul__hist_floats) gpul__hist_add_weight(v, bin, unit, bits);
        else if (magnitude < 0x7ff0000000000000ull && magnitude > most) most = magnitude;
    }
    if (step != gpul__hist_largest) return;
    for (int d = 16; d > 0; d /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, most, d);
        if (other > most) most = other;
    }
    if (threadIdx.x % 32 == 0 && most) atomicMax(v.largest, most);
}

/* Floats: counts = (or +=) the sums, rounded once to the nearest double */
static __global__ void __launch_bounds__(512)
    gpul__hist_finish_floats(const __grid_constant__ gpul__hist_view v, int32_t accumulate) {
    const int unit = gpul__hist_unit(v);
    GPUL_GRID_STRIDE(bin, v.rule.bins) {
        const uint32_t flags = v.flags[bin];
        unsigned long long low = v.low[bin], high = v.high[bin];
        const bool negative = (high >> 63) != 0;
        if (negative) gpul__hist_negate(low, high);
        const int length =
            high ? 128 - __clzll(static_cast<long long>(high)) : 64 - __clzll(static_cast<long long>(low));
        int drop = length - 53;
        if (drop > 0) {
            const bool upper = drop > 64; /* is the highest bit that is dropped in the upper word? */
            const int at = upper ? drop - 65 : drop - 1;
            const unsigned long long holder = upper ? high : low;
            const bool half = (holder >> at) & 1;
            const bool below = (holder & ((1ull << at) - 1)) != 0 || (upper && low != 0);
            unsigned long long kept;
            if (drop >= 64) kept = high >> (drop - 64);
            else kept = (low >> drop) | (high << (64 - drop));
            low = kept + (half && (below || (kept & 1)));
        } else drop = 0;
        /* exact: near the subnormal numbers, all weights and the unit are multiples of 2^-1074 */
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

/* ---- the plan ---- */

static inline bool gpul__hist_is_float(gpul_dtype dtype) { return dtype == GPUL_F32 || dtype == GPUL_F64; }
static inline double gpul__hist_reach(const gpul__histogram_problem *p) { /* R of gpul__hist_place */
    const double low = p->lo < 0 ? -p->lo : p->lo, high = p->hi < 0 ? -p->hi : p->hi;
    return low > high ? low : high;
}

/* Scratch memory begins with the edges, with room for doubles whatever their keys are. */
static inline int64_t gpul__hist_edge_bytes(const gpul__histogram_problem *p) {
    return gpul__round_up((p->bins + 1) * 8, 16);
}

static inline bool gpul__hist_on_grid(double x) { return double(int64_t(x * 1024)) == x * 1024; }

/* The rule is certain where the error of gpul__hist_place is small enough. */
static inline void gpul__hist_fill_rule(gpul__hist_rule *r, const gpul__histogram_problem *p) {
    const double u = 1.0 / 9007199254740992.0, v = 1.0 / 16777216, n = double(p->bins), width = p->hi - p->lo;
    memset(r, 0, sizeof *r);
    volatile float first = float(p->lo), last = float(p->hi); /* volatile: gcc 12 drops these two roundings */
    r->first = p->f32_edges ? double(first) : p->lo;
    r->last = p->f32_edges ? double(last) : p->hi;
    r->lo = p->lo;
    r->step = p->step;
    r->span = p->span;
    r->bins = p->bins;
    r->f32 = p->f32_edges;
    r->f32_steps = p->f32_steps;
    if (!p->uniform) return;
    const double factor = n / width, ratio = gpul__hist_reach(p) / width; /* R / W */
    double point = 4294967296.0;                                          /* 2^fraction */
    r->fraction = 32;
    while (n + 2 >= 4503599627370496.0 / point && r->fraction > 20) {
        point /= 2;
        r->fraction -= 1;
    }
    double error = n * u * (8 + 6 * ratio) + 4 / point + factor * 2.4e-38, index = 0;
    if (p->f32_steps) error += n * v * (6 + 3 * ratio);
    if (p->f32_edges) index = n * v * (p->f32_steps ? 10 + 5 * ratio : 2 + 3 * ratio);
    const bool normal = p->step > (p->f32_edges ? 1.2e-38 : 2.3e-308);
    r->certain = p->bins <= (int64_t(1) << 30) - 4 && error < 0.2 && index < 0.9 && normal && factor < 1e30;
    r->factor = factor;
    r->point = 4503599627370496.0 / point;
    r->offset = (r->point - p->lo * factor) + error;
    r->unsure = r->certain ? uint32_t(2 * error * 4294967296.0 + 1) : 0;
    /* Integer data and edges that are multiples of 2^-10, and exact: an integer is on an edge, or `distance` bins away
     * at least. Shifted by half of that, none is in doubt. */
    const double distance = factor / 1024, most = 4398046511104.0; /* 2^42 */
    const bool integers = !gpul__hist_is_float(p->x_dtype);
    if (!r->certain || !integers || gpul__hist_reach(p) >= most || distance <= 8 * error) return; /* step < 2 most */
    if (gpul__hist_on_grid(p->lo) && gpul__hist_on_grid(p->step)) { /* fault: histogram-ties */
        r->offset += distance / 2;
        r->unsure = 0;
    }
}
static inline double gpul__hist_edge(const gpul__histogram_problem *p, int64_t i) {
    return gpul__edge_at(p->edges, p->edges_dtype, i);
}
/* Buckets from the first finite edge to the last one; where there is no width between them, of any width. */
static inline void gpul__hist_fill_buckets(gpul__hist_rule *r, const gpul__histogram_problem *p, int64_t buckets) {
    int64_t first = 0, last = p->bins;
    while (first < last && !(gpul__hist_edge(p, first) >= -1.7976931348623157e308)) ++first;
    while (last > first && !(gpul__hist_edge(p, last) <= 1.7976931348623157e308)) --last;
    const double factor = double(buckets) / (gpul__hist_edge(p, last) - gpul__hist_edge(p, first));
    r->factor = 1; /* finite and above 0 */
    if (factor > 0 && factor < 1e300) r->factor = factor, r->offset = gpul__hist_edge(p, first);
}

/* How many edges are searched. Edges above all of int32 have the key of the greatest one, and no element reaches
 * them. */
static inline int64_t gpul__hist_searched(const gpul__histogram_problem *p) {
    int64_t low = 0, high = p->bins;
    while (p->x_dtype == GPUL_I32 && low < high) { /* fault: histogram-edges-beyond-int */
        const int64_t middle = low + (high - low) / 2;
        if (gpul__hist_edge(p, middle) <= 2147483647.0) low = middle + 1;
        else high = middle;
    }
    return high;
}

static inline bool gpul__hist_is_dense(const gpul__histogram_problem *p) {
    return p->ndim == 1 && p->x_strides[0] == 1;
}
static inline int64_t gpul__hist_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gpul__hist_most(int64_t a, int64_t b) { return a > b ? a : b; }

/* The kernel. Counters go to shared memory if a block counts more elements than it has counters to clear and to add;
 * and if one block counts all of few elements, as it stores its counters, without zeros and additions. A few parts,
 * each of which reads x, are cheaper than additions to global memory. Few elements a bin are counted in two parts even
 * if one would do: half as many blocks then add to each bin, and those additions are most of the time.
 *
 * The grid. As many blocks as multiprocessors; fewer where each would get few elements, more where a counter could
 * overflow. */
extern "C" int32_t gpul__plan_histogram(gpul__histogram_plan *plan, const gpul__histogram_problem *p,
                                        const gpul__machine *machine) {
    const int64_t n = p->n, bins = p->bins, sms = gpul__hist_most(machine->sms, 1);
    const bool dense = gpul__hist_is_dense(p), floats = gpul__hist_is_float(p->weights_dtype);
    gpul__hist_rule rule;
    memset(plan, 0, sizeof *plan);
    plan->device = machine->device;
    plan->parts = plan->blocks = 1;
    plan->zeros = !p->accumulate;
    if (n == 0) return 1;
    gpul__hist_fill_rule(&rule, p);
    plan->listed = !p->uniform && !p->weights_dtype && bins < gpul__hist_listed;
    if (!p->uniform && !plan->listed) plan->scratch_bytes = gpul__hist_edge_bytes(p);
    if (p->weights_dtype) {
        plan->kernel = floats ? GPUL__HISTOGRAM_FLOATS : GPUL__HISTOGRAM_INTEGERS;
        plan->blocks = int32_t(gpul__hist_least(gpul_ceil_div(n, 512), sms * 4));
        if (!floats) return 1;
        plan->scratch_bytes += 16 + bins * 20;
        plan->zeros = 0; /* the last kernel writes or adds */
        return 1;
    }

    /* Vectors begin at a multiple of 128 bytes, so that a warp's lie in whole cache lines. Where x is not dense, they
     * are as many elements each, and whole warps of them. */
    const int64_t size = gpul__bytes_of(p->x_dtype);
    const bool between = !p->uniform && p->x_dtype != GPUL_U8 && bins < int64_t(1) << 31;
    if (p->x_dtype == GPUL_U8 ? dense : between || rule.certain) {
        if (dense) plan->head = int64_t((128 - reinterpret_cast<uintptr_t>(p->x) % 128) % 128) / size;
        plan->head = gpul__hist_least(plan->head, n);
        plan->vectors = (n - plan->head) / (16 / size);
        if (!dense) plan->vectors = plan->vectors / 32 * 32;
    }

    const int64_t alone = between || !rule.certain ? 8192 : 16384; /* up to so many elements are counted by one block */
    int64_t least = n <= alone ? alone : GPUL__HIST_THREADS * 4;   /* elements of a block, where there are several */
    if (p->x_dtype == GPUL_U8) {
        plan->kernel = GPUL__HISTOGRAM_BYTES;
        plan->shared_bytes = (256 + 1) * gpul__hist_copies * 4;
        least *= 2;
    } else {
        plan->shared_most = gpul__shared_of(machine);
        const int64_t words = plan->shared_most / 4 - 4;                      /* fault: histogram-shared */
        const int64_t room = words / gpul__hist_chunk * gpul__hist_chunk - 1; /* bins; and the counter of hi */
        const int64_t needed = gpul_ceil_div(bins, room), few = bins >= 8192 && n < bins * 48 && !between ? 2 : 1;
        const int64_t parts = gpul__hist_most(needed, few);
        if (parts <= (p->uniform ? 4 : 1) && (n >= bins * (needed == 1 ? 8 : 12) || (n <= alone && bins < 8192))) {
            plan->kernel = GPUL__HISTOGRAM_SHARED;
            plan->parts = int32_t(parts);
            plan->width = int32_t(gpul_ceil_div(bins, parts));
            const int64_t counters = (plan->width / gpul__hist_chunk + 1) * gpul__hist_chunk;
            plan->shared_bytes = (counters + 4) * 4;
            least = gpul__hist_most(least, counters / (between ? 8 : 2)); /* to search takes longer than to add */
        } else {
            plan->kernel = GPUL__HISTOGRAM_BEYOND;
            plan->width = n >= 2048 ? 1 << gpul__hist_slot_bits : 0;
            plan->shared_bytes = plan->width * 8;
            least = GPUL__HIST_THREADS;
        }
        if (between) { /* twice as many buckets as bins, or what shared memory has left, up to four times as many */
            const int64_t edges = (bins + 4) / 4 * 4 * size;
            const int64_t left = words * 4 - plan->shared_bytes - edges - 16;
            plan->edges_shared = plan->listed || (left >= bins * 2 && n >= bins * 48);
            plan->buckets = gpul__hist_least(
                plan->edges_shared ? gpul__hist_least(bins * 4 + 64, left / 4 - 1) : bins * 2, 1 << 22);
            if (plan->edges_shared) plan->shared_bytes += edges + gpul__round_up((plan->buckets + 1) * 4, 16);
            if (!plan->listed) plan->scratch_bytes += (plan->buckets + 1) * 4;
        }
    }
    int64_t blocks = gpul__hist_least(n / least, gpul__hist_most(sms / plan->parts, 1));
    blocks = gpul__hist_most(gpul__hist_most(blocks, 1), gpul_ceil_div(n, int64_t(1) << 31));
    plan->blocks = int32_t(gpul__hist_least(blocks, 2147483647));
    plan->owned = plan->zeros && plan->kernel == GPUL__HISTOGRAM_SHARED && blocks == 1;
    const bool uploaded = !p->uniform && !plan->listed; /* by launches that set the zeros, too */
    if (plan->zeros && !plan->owned && !uploaded && bins <= gpul__hist_own_zeros) plan->counters = 2;
    return 1;
}

/* ---- launching ---- */

static inline void gpul__hist_fill_view(gpul__hist_view *v, const gpul__histogram_problem *p,
                                        const gpul__histogram_plan *plan, uint32_t *counters, void *scratch) {
    memset(v, 0, sizeof *v);
    gpul__hist_fill_rule(&v->rule, p);
    if (!p->uniform && p->n > 0) {
        gpul__hist_fill_buckets(&v->rule, p, plan->buckets ? plan->buckets : p->bins);
        v->rule.edges = scratch; /* none where edges are listed */
        if (scratch) v->table = reinterpret_cast<uint32_t *>(static_cast<char *>(scratch) + gpul__hist_edge_bytes(p));
        v->buckets = uint32_t(plan->buckets);
        v->searched = gpul__hist_searched(p);
        v->listed = plan->listed;
        v->edges_shared = plan->edges_shared;
    }
    v->x = p->x;
    v->counts = p->counts;
    v->n = p->n;
    v->counts_stride = p->counts_stride;
    v->head = plan->head;
    v->vectors = plan->vectors;
    v->stride = int64_t(plan->blocks) * GPUL__HIST_THREADS;
    v->arrivals = plan->counters ? counters : 0;
    v->floats = gpul__hist_is_float(p->x_dtype);
    v->wide = p->counts_dtype != GPUL_I32; /* fault: histogram-counts-of-f64 */
    v->owned = plan->owned;
    v->in_shared = plan->kernel == GPUL__HISTOGRAM_SHARED;
    v->width = plan->width;
    v->dense = gpul__hist_is_dense(p);
    v->ndim = p->ndim;
    memcpy(v->shape, p->shape, sizeof v->shape);
    memcpy(v->strides, p->x_strides, sizeof v->strides);
    for (int32_t d = 1; d < p->ndim; ++d) gpul__divide_by(&v->reciprocal[d], &v->shift[d], p->shape[d], p->n);
    v->w = p->weights;
    memcpy(v->w_strides, p->w_strides, sizeof v->w_strides);
    v->x_dtype = p->x_dtype;
    v->w_dtype = p->weights_dtype;
    v->log2_n = gpul__log2_above(p->n, 62);
    if (plan->kernel != GPUL__HISTOGRAM_FLOATS) return;
    char *const sums = static_cast<char *>(scratch) + (p->uniform ? 0 : gpul__hist_edge_bytes(p));
    v->largest = reinterpret_cast<unsigned long long *>(sums);
    v->low = v->largest + 2;
    v->high = v->low + p->bins;
    v->flags = reinterpret_cast<uint32_t *>(v->high + p->bins);
}

/* Staging buffers for edges. One is pinned when it is first used, and stays so. */
alignas(4096) static gpul__hist_stage gpul__hist_staging[gpul__hist_stages];
static std::atomic<gpul__hist_stage *> gpul__hist_mapped[gpul__hist_stages]; /* on the device; NULL: not pinned */
static std::atomic<uint32_t> gpul__hist_taken[gpul__hist_stages];            /* 1: a call is filling it */
static std::atomic<uint32_t> gpul__hist_ticket[gpul__hist_stages];           /* of the last launch that reads it */
static std::atomic<uint32_t> gpul__hist_blocks[gpul__hist_stages];           /* of that launch */

/* The number of a buffer that nobody reads any more, which is the caller's then; -1: there is none. `pinned`: only of
 * those that are pinned already. */
static inline int32_t gpul__hist_take_stage(bool pinned) {
    for (int32_t k = 0; k < gpul__hist_stages; ++k) {
        if (gpul__hist_taken[k].exchange(1)) continue;
        gpul__hist_stage *const stage = gpul__hist_staging + k;
        cudaError_t e = cudaSuccess;
        if (pinned && !gpul__hist_mapped[k].load()) {
            gpul__hist_taken[k].store(0);
            continue;
        }
        if (!gpul__hist_mapped[k].load()) {
            void *there = 0;
            const cudaError_t pins =
                cudaHostRegister(stage, sizeof *stage, cudaHostRegisterPortable | cudaHostRegisterMapped);
            e = pins == cudaSuccess ? cudaHostGetDevicePointer(&there, stage, 0) : pins;
            if (e == cudaSuccess) gpul__hist_mapped[k].store(static_cast<gpul__hist_stage *>(there));
            else if (cudaPeekAtLastError() == e) cudaGetLastError();
            if (e != cudaSuccess && pins == cudaSuccess && cudaHostUnregister(stage) != cudaSuccess) cudaGetLastError();
        }
        const uint32_t ticket = gpul__hist_ticket[k].load(), blocks = gpul__hist_blocks[k].load();
        bool free = e == cudaSuccess;
        for (uint32_t b = 0; free && b < blocks; ++b) free = stage->done[b] == ticket; /* fault: histogram-stage-free */
        if (free) {
            std::atomic_thread_fence(std::memory_order_acquire);
            return k;
        }
        gpul__hist_taken[k].store(0);
        if (e != cudaSuccess) break;
    }
    return -1;
}
/* Unpins the buffers that nobody uses. */
extern "C" void gpul__histogram_trim() {
    for (int32_t k = 0, taken = 0; k < gpul__hist_stages && (taken = gpul__hist_take_stage(true)) >= 0; ++k) {
        if (cudaHostUnregister(gpul__hist_staging + taken) != cudaSuccess) cudaGetLastError();
        gpul__hist_mapped[taken].store(0);
        gpul__hist_taken[taken].store(0); /* fault: histogram-trim-taken */
    }
}
/* Has the stream work that has not ended? */
static inline bool gpul__hist_busy(gpul_stream stream) {
    const cudaError_t e = cudaStreamQuery(stream);
    if (e != cudaSuccess && cudaPeekAtLastError() == e) cudaGetLastError();
    return e == cudaErrorNotReady;
}

#ifdef GPUL__STREAMING
/* Bits where a is not at or below b */
static inline __m128i gpul__hist_disorder(const double *, __m128i a, __m128i b) {
    return _mm_castpd_si128(_mm_cmpnle_pd(_mm_castsi128_pd(a), _mm_castsi128_pd(b)));
}
static inline __m128i gpul__hist_disorder(const float *, __m128i a, __m128i b) {
    return _mm_castps_si128(_mm_cmpnle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b)));
}
static inline __m128i gpul__hist_disorder(const int32_t *, __m128i a, __m128i b) { return _mm_cmpgt_epi32(a, b); }
#endif
/* Copies edges at .. at + count - 1 to a list or to a staging buffer and checks them, in one pass: false where one is
 * NaN or below the one before it. Those for a buffer are stored past the caches, where the CPU can: lines that the
 * device has read would be fetched before they are written. */
template <typename T>
static inline bool gpul__hist_copy_edges(double *list, void *staged, const T *edges, int64_t at, int64_t count) {
    const T *const from = edges + at;
    T *const to = static_cast<T *>(staged);
    int64_t wrong = !(edges[at > 0 ? at - 1 : 0] <= from[0]); /* fault: histogram-edges-of-two-pieces */
    int64_t i = 0;
#ifdef GPUL__STREAMING
    constexpr int kSome = 16 / sizeof(T);
    __m128i disorder = _mm_setzero_si128();
    for (; !list && i + kSome < count; i += kSome) {
        const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i));
        const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i + 1));
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + i), some);
        disorder = _mm_or_si128(disorder, gpul__hist_disorder(from, some, next));
    }
    _mm_sfence();
    wrong |= _mm_movemask_epi8(disorder); /* fault: histogram-stream-unchecked */
#endif
    for (; i < count; ++i) {
        if (list) list[i] = double(from[i]);
        else to[i] = from[i];
        wrong |= i + 1 < count && !(from[i] <= from[i + 1]); /* fault: histogram-edges-unchecked */
    }
    return !wrong;
}
static inline bool gpul__hist_take_edges(double *list, void *staged, const gpul__histogram_problem *p, int64_t at,
                                         int64_t count) {
    if (p->edges_dtype == GPUL_F32)
        return gpul__hist_copy_edges(list, staged, static_cast<const float *>(p->edges), at, count);
    if (p->edges_dtype == GPUL_I32)
        return gpul__hist_copy_edges(list, staged, static_cast<const int32_t *>(p->edges), at, count);
    return gpul__hist_copy_edges(list, staged, static_cast<const double *>(p->edges), at, count);
}

static inline void gpul__hist_fill_bytes(gpul__hist_byte_bins *bins, const gpul__histogram_problem *p) {
    const int32_t last = int32_t(p->bins) - 1;
    for (int32_t value = 0, k = 0; value < 256; ++value) {
        while (k < last && gpul__hist_edge(p, k + 1) <= value) ++k; /* the last bin is closed */
        bins->of[value] = int16_t(p->lo <= value && value <= p->hi ? k : -1);
    }
}

/* Copies the edges to device memory, a piece a launch. More than a list takes go through staging buffers; while all of
 * those are taken, the call waits as long as this stream is busy. In a capture, whose graph keeps a copy of the
 * arguments, and where there is no pinned memory, they go list by list in the arguments. Edges are checked as they are
 * copied, and counts is untouched until all have been. */
static inline int32_t gpul__hist_upload_edges(const gpul__hist_view *v, const gpul__histogram_problem *p,
                                              const gpul__histogram_plan *plan, int32_t zeros, gpul_stream stream) {
    const gpul_dim3 block = gpul__dim(gpul__hist_put_threads);
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; /* of this thread: it may capture another stream */
    gpul__hist_edge_list list;
    gpul__hist_piece piece;
    int32_t status = 0;
    const bool list_only = p->bins < gpul__hist_listed;
    memset(&list, 0, sizeof list);
    if (!list_only) status = int32_t(cudaStreamIsCapturing(stream, &capture));
    for (piece.at = 0; piece.at <= p->bins && !status; piece.at += piece.count) {
        int32_t k = -1;
        if (!list_only && capture == cudaStreamCaptureStatusNone) {
            status = int32_t(cudaThreadExchangeStreamCaptureMode(&mode));
            if (status) break;
            while ((k = gpul__hist_take_stage(false)) < 0 && gpul__hist_busy(stream)) {}
            status = int32_t(cudaThreadExchangeStreamCaptureMode(&mode)); /* fault: histogram-edges-mode */
        }
        const int64_t size = gpul__bytes_of(p->edges_dtype);
        const int64_t most = k < 0 ? int64_t(gpul__hist_listed) : gpul__hist_staged * 8 / size;
        piece.count = int32_t(gpul__hist_least(p->bins + 1 - piece.at, most));
        piece.zeros = zeros && piece.at + piece.count > p->bins; /* fault: histogram-zeros-too-early */
        piece.stage = k < 0 ? 0 : gpul__hist_mapped[k].load();
        piece.ticket = k < 0 ? 0 : gpul__hist_ticket[k].load() + 1;
        piece.dtype = k < 0 ? gpul_dtype(GPUL_F64) : p->edges_dtype; /* fault: histogram-edges-of-list */
        const uint32_t blocks = uint32_t(gpul_ceil_div(piece.count, gpul__hist_put_threads));
        if (!status && !gpul__hist_take_edges(k < 0 ? list.edge : 0, k < 0 ? 0 : gpul__hist_staging[k].edge, p,
                                              piece.at, piece.count))
            status = GPUL__HISTOGRAM_WRONG_EDGES;
        if (!status)
            status = gpul__launch_early(plan->device, gpul__hist_put_edges, gpul__dim(blocks), block, 0, stream, *v,
                                        piece, list);
        if (k < 0) continue;
        if (!status) {
            gpul__hist_ticket[k].store(piece.ticket);
            gpul__hist_blocks[k].store(blocks);
        }
        gpul__hist_taken[k].store(0);
    }
    return status;
}

/* Launches a kernel that counts without weights. */
template <typename Kernel, typename... Args>
static inline int32_t gpul__hist_count(Kernel kernel, const gpul__histogram_plan *plan, gpul_stream stream,
                                       const Args &...args) {
    return gpul__launch_early(plan->device, kernel, gpul__dim(uint32_t(plan->blocks), uint32_t(plan->parts)),
                              gpul__dim(GPUL__HIST_THREADS),
                              gpul__dynamic_shared(plan->shared_bytes, plan->shared_most), stream, args...);
}

extern "C" int32_t gpul__launch_histogram(const gpul__histogram_problem *p, const gpul__histogram_plan *plan,
                                          uint32_t *counters, void *scratch, gpul_stream stream) {
    const gpul_dim3 grid = gpul__dim(uint32_t(plan->blocks), uint32_t(plan->parts)), block = gpul__dim(512);
    const gpul_dim3 bins_grid = gpul_grid_1d(p->bins, 512);
    gpul__hist_view v;
    gpul__hist_edge_list list;
    int32_t status = 0, zeros = plan->zeros && !plan->owned;
    gpul__hist_fill_view(&v, p, plan, counters, scratch);
    memset(&list, 0, sizeof list);
    if (plan->listed && !gpul__hist_take_edges(list.edge, 0, p, 0, p->bins + 1)) return GPUL__HISTOGRAM_WRONG_EDGES;
    if (!p->uniform && p->n > 0 && !plan->listed) {
        status = gpul__hist_upload_edges(&v, p, plan, zeros, stream);
        zeros = 0;
    }
    if (!status && zeros && !v.arrivals)
        status = gpul__launch_early(plan->device, gpul__hist_zero, bins_grid, block, 0, stream, v);
    if (status || p->n == 0) return status;
    const bool four = gpul__bytes_of(p->x_dtype) == 4;
    if (plan->kernel == GPUL__HISTOGRAM_INTEGERS)
        return gpul__launch(gpul__hist_weigh, grid, block, stream, v, gpul__hist_integers);
    if (plan->kernel == GPUL__HISTOGRAM_FLOATS) {
        status = int32_t(cudaMemsetAsync(v.largest, 0, size_t(16 + p->bins * 20), stream));
        if (!status) status = gpul__launch(gpul__hist_weigh, grid, block, stream, v, gpul__hist_largest);
        if (!status) status = gpul__launch(gpul__hist_weigh, grid, block, stream, v, gpul__hist_floats);
        if (!status) status = gpul__launch(gpul__hist_finish_floats, bins_grid, block, stream, v, p->accumulate);
        return status;
    }
    if (plan->kernel == GPUL__HISTOGRAM_BYTES) {
        gpul__hist_byte_bins bytes;
        memset(&bytes, 0, sizeof bytes);
        if (plan->listed) gpul__hist_fill_bytes(&bytes, p);
        return gpul__hist_count(gpul__hist_count_bytes, plan, stream, v, bytes);
    }
    if (plan->listed && plan->kernel == GPUL__HISTOGRAM_SHARED && p->bins <= int(gpul__hist_few<4>::kMost))
        return gpul__hist_count(four ? gpul__hist_count_few<4> : gpul__hist_count_few<8>, plan, stream, v, list);
    if (plan->buckets)
        return gpul__hist_count(four ? gpul__hist_count_between<4> : gpul__hist_count_between<8>, plan, stream, v,
                                list);
    if (plan->kernel == GPUL__HISTOGRAM_SHARED)
        return gpul__hist_count(four ? gpul__hist_count_shared<4> : gpul__hist_count_shared<8>, plan, stream, v);
    return gpul__hist_count(four ? gpul__hist_count_beyond<4> : gpul__hist_count_beyond<8>, plan, stream, v);
}

#define GPUL__HISTOGRAM_KERNEL &gpul__hist_count_shared<4>

#endif /* GPULITE_NO_HISTOGRAM */

/* ---------------------------------------------------------------------------------------------------------------------
 * 5. Matrix product: C = alpha A B + beta C, C row-major (the host transposes the problem where C is column-major)
 *
 * gpul__gemm_kernel, for every GPU. A block computes one tile of C, whose sums stay in its threads' registers. Slices
 * of A and B, 8 to 32 deep along K, pass through a ring of stages in shared memory: while one is multiplied, cp.async
 * copies the next ones, which takes no registers. The loop over K has no branch, so the copies are issued between the
 * multiplications. f32: a thread reads a few vectors of both slices and multiplies every pair of elements by fma. f64:
 * mma on tensor cores, which round as fma does. 16-bit types: mma as well, or, below compute capability 8.0 and of small
 * products, widened to f32 on the way into shared memory. f32 by mma, too, where the caller allows it (below). In the
 * end the tile passes through shared memory, so that C is written in whole sectors wherever its rows begin.
 *
 * Every element of C is one chain of fused multiply-adds over ascending k, whatever the tile, or, of few rows or
 * columns, a tree of eight. Where C has few tiles and K is long, K is split ("split-K"). The splits depend on shape and
 * dtype alone, and the blocks that end last add the partial sums in a fixed order. Where there are tiles enough, as in a
 * stack, a block takes the splits itself, one after the other, and adds them in that order.
 *
 * A stack of products that share B, and whose rows are evenly spaced, is one product of all rows (gpul__gemm_as_one).
 *
 * gpul__gemm_short_kernel, for every GPU, where K has few steps (gpul__gemm_short::kSteps): a thread keeps its columns of
 * B and goes down C; of narrow products, a warp of any product of a stack on its own. gpul__gemm_short_mma_kernel does so
 * for 16-bit types on tensor cores, up to 64 steps.
 *
 * gpul__gemm_thin_kernel, for every GPU, where C has four rows or four columns at most, and K more steps than that: the
 * operand that is long is read once, at the speed of memory, by threads that keep the sums. A sum has eight chains. One
 * row or one column has a kernel with registers for one, of which more blocks run at once.
 *
 * gpul__gemm_thin_mma_kernel, for 16-bit types on tensor cores, where C has eight rows or eight columns at most: the same
 * by mma, whose operands are what a thread has loaded. A sum has four chains. (Where the other side has nine to sixteen
 * and K up to 64 steps, the kernel for short K is faster.)
 *
 * gpul__tensor_kernel, for 16-bit types on Hopper's tensor cores, but for small products. A block is a producer and two
 * consumers, each a warpgroup. Two threads of the producer issue bulk tensor copies into a ring of stages, slices 64
 * deep along K. A consumer has 64 rows of the tile: wgmma multiplies from shared memory, with the sums in registers.
 * Blocks are persistent: they take tile after tile, and the next one is copied while this one is stored, by bulk copies
 * as well. The plan chooses the tile's rows and columns, and the cluster whose blocks share what comes from L2. A and B
 * may have any order if their rows begin at multiples of 16 bytes. Others are first copied to where they do
 * (gpul__tensor_pack), for O(n^2), or, where that takes less, gathered by the producer. wgmma truncates its sums. So
 * after every 8192 steps of K, at most, the accumulators are promoted: added, with rounding, to the sum of the steps
 * before. Splits are added in the order of gpul__gemm_kernel; up to eight may be a cluster, whose blocks add a share
 * each. The shape alone decides what is added to what, here and by mma, which on Hopper adds as wgmma does. So both
 * have the same bits there.
 *
 * f32 on tensor cores, where the caller allows it. TF32: one more type for gpul__tensor_kernel, rounded by the copies to
 * shared memory. wgmma takes it with K contiguous only. One operand where it is not passes through registers; of the
 * other one gpul__gemm_pack makes a copy where it is. Where that takes less, the producer gathers one or both, rounded
 * and with K contiguous then. mma takes both as they lie, rounded on their way to the tensor cores: on Hopper where that
 * takes less than copies.
 * Emulated: an element is the sum of two numbers of 11 bits, which gpul__gemm_pack makes, and three of their four
 * products make a product of f32; accumulators are promoted after every slice. The two numbers are of f16 if the range
 * of the data allows it, or of TF32; otherwise IEEE f32 it is. The host does not see the data, so all three are launched,
 * and two of them return at once.
 *
 * Assumptions. A and B are contiguous along one of their two dimensions, C along its rows. Elements beyond the matrices
 * are never read. Zeros stand for them, beyond the end of K in both operands, since 0 times infinity is not 0.
 *
 * Cost. 2 M N K operations; A is read N / (tile width) times and B M / (tile height) times, mostly from L2. f32 is
 * bound by the fma units and the registers they read, small tiles by shared memory; f64 by the tensor cores' rate;
 * 16-bit types by the tensor cores' power where K is long, elsewhere by the ends of tiles.
 * ------------------------------------------------------------------------------------------------------------------ */
#ifdef GPULITE_NO_MATMUL

extern "C" int32_t gpul__find_tensor_cores(gpul__machine *machine) {
    machine->wgmma = machine->mma = machine->sm_90a = 0;
    return 0;
}
extern "C" int32_t gpul__plan_gemm(gpul__gemm_plan *, const gpul__gemm_problem *, const gpul__machine *) { return 0; }
extern "C" int32_t gpul__launch_gemm(const gpul__gemm_problem *, const gpul__gemm_plan *, const gpul__machine *,
                                     uint32_t *, void *, gpul_stream) {
    return int32_t(cudaErrorNotSupported);
}
#define GPUL__MATMUL_KERNEL NULL

#else

/* ---- element types ---- */

struct gpul__gemm_16 { /* f16 or bf16: one kernel takes both, and problem.dtype says which */
    uint16_t bits;
};
template <typename T> struct gpul__gemm_type { typedef float Compute; }; /* what T is computed in */
template <> struct gpul__gemm_type<double> { typedef double Compute; };

template <typename T> static __device__ __forceinline__ T gpul__gemm_widen(T x, bool) { return x; }
static __device__ __forceinline__ float gpul__gemm_widen(gpul__gemm_16 x, bool bf16) {
    return bf16 ? gpul__to_float(gpul__bits<gpul_bf16>(x.bits)) : gpul__to_float(gpul__bits<gpul_f16>(x.bits));
}
/* A result; NaN is written as one bit pattern. */
template <typename T> static __device__ __forceinline__ void gpul__gemm_narrow(T *to, T x, bool) {
    if (gpul__is_nan(x)) *to = gpul__quiet_nan<T>(); /* fault: matmul-nan */
    else *to = x;
}
static __device__ __forceinline__ void gpul__gemm_narrow(gpul__gemm_16 *to, float x, bool bf16) {
    if (gpul__is_nan(x)) /* fault: matmul-nan-16 */
        to->bits = bf16 ? gpul__quiet_nan<gpul_bf16>().bits : gpul__quiet_nan<gpul_f16>().bits;
    else to->bits = bf16 ? gpul__from_float<gpul_bf16>(x).bits : gpul__from_float<gpul_f16>(x).bits;
}
/* rounded to the 11 bits of TF32, ties to even, as bulk tensor copies round */
static __device__ __forceinline__ float gpul__gemm_round(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t rounded;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return gpul__bits<float>(rounded);
#else
    const uint32_t bits = gpul__bits<uint32_t>(x), odd = bits >> 13 & 1; /* fault: matmul-ties */
    return gpul__is_nan(x) ? gpul__quiet_nan<float>()
                           : gpul__bits<float>((bits + 0xfffu + odd) & ~0x1fffu); /* fault: matmul-round */
#endif
}
static __device__ __forceinline__ float gpul__gemm_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
static __device__ __forceinline__ double gpul__gemm_fma(double a, double b, double c) { return __fma_rn(a, b, c); }

/* N consecutive elements, up to 32 bytes, in accesses of 16 at most */
template <int N, typename T> static __device__ __forceinline__ void gpul__gemm_read(T *to, const T *from) {
    enum { kN = N * sizeof(T) > 16 ? 16 / sizeof(T) : N };
    GPUL__UNROLL_FOR (int i = 0; i < N; i += kN) {
        const gpul__pack<T, kN> pack = gpul__load<kN>(from + i);
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) to[i + j] = pack.v[j];
    }
}
template <int N, typename T> static __device__ __forceinline__ void gpul__gemm_write(T *to, const T *from) {
    enum { kN = N * sizeof(T) > 16 ? 16 / sizeof(T) : N };
    GPUL__UNROLL_FOR (int i = 0; i < N; i += kN) {
        gpul__pack<T, kN> pack;
        GPUL__UNROLL_FOR (int j = 0; j < kN; ++j) pack.v[j] = from[i + j];
        gpul__save<kN>(to + i, pack);
    }
}

/* ---- the arguments of the kernels ---- */

/* Emulated f32: the data decide which of three ways computes the product. One kernel does it with elements in two parts,
 * of f16 or of TF32, another one in f32; both are launched, and one of them returns at once. */
enum { gpul__gemm_by_f16 = 0, gpul__gemm_by_tf32 = 1, gpul__gemm_by_f32 = 2 };
struct gpul__gemm_choice {
    /* NULL: no choice, the kernel runs. Of A and of B: how many binades their elements reach below the normal numbers
     * of f16 ("depth") when rows and columns are scaled; 1000: they are not finite, or too wide for TF32 as well */
    const uint32_t *depth;
    uint32_t f16_limit; /* the largest sum of both depths for f16 */
    int32_t parts;      /* 1: a kernel of elements in two parts, 0: in f32 */
};
enum { gpul__gemm_tf32_limit = 156 }; /* the same for TF32 */
static __device__ __forceinline__ int gpul__gemm_way(const gpul__gemm_choice &c) {
    const uint32_t depth = c.depth[0] + c.depth[1];
    return depth > gpul__gemm_tf32_limit ? gpul__gemm_by_f32
           : depth > c.f16_limit ? gpul__gemm_by_tf32
                                 : gpul__gemm_by_f16;
}
static __device__ __forceinline__ bool gpul__gemm_chosen(const gpul__gemm_choice &c) {
    return !c.depth || (gpul__gemm_way(c) != gpul__gemm_by_f32) == (c.parts != 0);
}

/* Tensor cores: what the host works out for the kernel */
struct gpul__tensor_view {
    uint32_t writers, readers;   /* arrivals of warps that make a stage full, and empty */
    int32_t stages, stage_bytes; /* of the ring in shared memory */
    int32_t slices, part_slices; /* of K, and of a split */
    int32_t chunk;               /* slices after which sums are promoted */
    /* clusters: the binary logarithms of their blocks and of those below each other; masks of these, of the first column
     * of tiles, and of those across, of the first row */
    int32_t log2_blocks, log2_below;
    uint32_t below, across;
    uint32_t work_tiles; /* of all products */
    int32_t many;        /* there are several products or splits */
    gpul_dtype dtype;
    int32_t form;    /* 1: A is not contiguous along K, 2: B; 0 where copies are, or A or B passes through registers */
    int32_t stacked; /* 1: A, 2: B is a stack of matrices */
    /* work tiles of a product, of a split, of a group of rows; the rows of a group, and of the last one */
    gpul__division of_product, of_split, of_group, of_column, of_last_column;
    float alpha, beta;
    int32_t fetches; /* C is read, by bulk copies */
    int32_t plain;   /* sums are results: K is not split, alpha is 1, beta 0, and there is no epilogue */
};

/* In the order in which kernels need it: see gpul__gemm_plan. */
struct gpul__gemm_view {
    gpul__gemm_problem problem;
    gpul__gemm_plan plan;
    gpul__gemm_choice choice;
    gpul__tensor_view tensor;
    void *partials;                    /* split-K: the partial sums in the compute type, a tile each */
    uint32_t *counters;                /* split-K: zero before and after, see gpul__gemm_combine_parts */
    float one;                         /* 1: see gpul__gemm_write_sums */
    float *promoted;                   /* tensor cores: a tile for every block, the promoted sums where K is long */
    const uint32_t *range_a, *range_b; /* emulated f32: see gpul__pack_operand */
};

/* Where tile number `index` of a product is. Tiles come in groups of plan.group_rows rows, and column by column in a
 * group. */
static __device__ __forceinline__ void gpul__gemm_find_tile(uint32_t index, const gpul__gemm_view &v, uint32_t &tile_m,
                                                            uint32_t &tile_n) {
    const gpul__tensor_view &t = v.tensor;
    const uint32_t high = uint32_t(v.plan.group_rows), tiles_n = uint32_t(v.plan.tiles_n),
                   group = gpul__quotient(index, t.of_group), in_group = index - group * high * tiles_n,
                   rest = uint32_t(v.plan.tiles_m) - group * high, height = rest < high ? rest : high;
    tile_n = gpul__quotient(in_group, rest < high ? t.of_last_column : t.of_column);
    tile_m = group * high + in_group - tile_n * height; /* fault: matmul-raster */
}
static __host__ __device__ inline uint32_t gpul__batch_of(const gpul__gemm_problem &p) {
    return p.batch > 1 ? uint32_t(p.batch) : 1;
}
static inline void gpul__gemm_divide_tiles(gpul__gemm_view *v) {
    const gpul__gemm_plan &plan = v->plan;
    v->tensor.of_group = gpul__division_by(plan.group_rows * plan.tiles_n);
    v->tensor.of_column = gpul__division_by(plan.group_rows);
    v->tensor.of_last_column = gpul__division_by(plan.tiles_m % plan.group_rows);
}

/* ---- the last steps of an element: alpha, beta, bias, activation ---- */

static __device__ __forceinline__ float gpul__gemm_add(float a, float b) { return __fadd_rn(a, b); }
static __device__ __forceinline__ double gpul__gemm_add(double a, double b) { return __dadd_rn(a, b); }
static __device__ __forceinline__ float gpul__gemm_times(float a, float b) { return __fmul_rn(a, b); }
static __device__ __forceinline__ double gpul__gemm_times(double a, double b) { return __dmul_rn(a, b); }

/* GELU's constants: the bounds of t, 1.5 times 2 to the bits of the significand, log(2) as a sum of two, the bits from
 * which those of x are subtracted for a first guess of 1 / x, the Taylor polynomial's degree and factorial, Newton's
 * steps. */
template <typename C> struct gpul__gelu_of;
template <> struct gpul__gelu_of<float> {
    typedef uint32_t Bits;
    enum { kPlaces = 23, kDegree = 6, kSteps = 3, kFactorial = 720 };
    static __device__ __forceinline__ float most() { return 87.0f; }
    static __device__ __forceinline__ float round() { return 12582912.0f; }
    static __device__ __forceinline__ float high() { return 0.693145751953125f; }
    static __device__ __forceinline__ float low() { return 1.42860682030941723212e-6f; }
    static __device__ __forceinline__ uint32_t guess() { return 0x7ef311c7u; }
};
template <> struct gpul__gelu_of<double> {
    typedef uint64_t Bits;
    enum : int64_t { kPlaces = 52, kDegree = 13, kSteps = 5, kFactorial = 6227020800 };
    static __device__ __forceinline__ double most() { return 700.0; }
    static __device__ __forceinline__ double round() { return 6755399441055744.0; }
    static __device__ __forceinline__ double high() { return 6.93147180369123816490e-01; }
    static __device__ __forceinline__ double low() { return 1.90821492927058770002e-10; }
    static __device__ __forceinline__ uint64_t guess() { return 0x7fde6238502484bau; }
};

/* GELU in its form with tanh: (1 + tanh(-t / 2)) / 2 = 1 / (1 + exp(t)), so it is x / (1 + exp(t)). exp is a power of
 * two times a Taylor polynomial of the rest, of log(2) / 2 at most; the quotient comes from Newton's iteration. These
 * are multiply-adds without a branch, each rounded as written, so every compiler and GPU gives the same bits. */
template <typename C> static __device__ __forceinline__ C gpul__gemm_gelu(C x) {
    typedef gpul__gelu_of<C> G;
    typedef typename G::Bits Bits;
    const C square = gpul__gemm_times(gpul__gemm_times(x, x), C(0.044715));
    C t = gpul__gemm_times(C(-1.5957691216057307117597842397375), gpul__gemm_fma(square, x, x));
    t = t > G::most() ? G::most() : t < -G::most() ? -G::most() : t;
    const C power = gpul__gemm_fma(t, C(1.4426950408889634073599246810019), G::round()); /* t / log(2): the low bits */
    const C whole = gpul__gemm_add(power, -G::round());
    const C rest = gpul__gemm_fma(whole, -G::low(), gpul__gemm_fma(whole, -G::high(), t));
    int64_t factorial = G::kFactorial;
    C sum = C(1.0 / double(factorial));
    GPUL__UNROLL_FOR (int k = int(G::kDegree); k > 0; --k) {
        factorial /= k;
        sum = gpul__gemm_fma(sum, rest, C(1.0 / double(factorial)));
    }
    sum = gpul__bits<C>(Bits(gpul__bits<Bits>(sum) + (gpul__bits<Bits>(power) << int(G::kPlaces))));
    sum = gpul__gemm_add(sum, C(1));
    C over = gpul__bits<C>(Bits(G::guess() - gpul__bits<Bits>(sum)));
    GPUL__UNROLL_FOR (int k = 0; k < int(G::kSteps); ++k)
        over = gpul__gemm_fma(over, gpul__gemm_fma(-sum, over, C(1)), over);
    return t == G::most() ? -C(0) : gpul__gemm_times(x, over);
}
static __device__ __forceinline__ float gpul__gemm_relu(float x) { return x <= 0 ? 0.0f : x; } /* fault: relu-nan */
static __device__ __forceinline__ double gpul__gemm_relu(double x) { return x <= 0 ? 0.0 : x; }

/* Expected to be false: jumping over the epilogue costs each tile an instruction fetch. */
static __device__ __forceinline__ bool gpul__gemm_has_epilogue(const gpul__gemm_problem &p) {
    return gpul__rarely(p.bias || p.activation);
}
static __device__ __forceinline__ float gpul__gemm_bias(const gpul__gemm_problem &p, int64_t at, float) {
    if (p.bias_dtype == GPUL_F32) return static_cast<const float *>(p.bias)[at];
    return gpul__gemm_widen(static_cast<const gpul__gemm_16 *>(p.bias)[at], p.bias_dtype == GPUL_BF16);
}
static __device__ __forceinline__ double gpul__gemm_bias(const gpul__gemm_problem &p, int64_t at, double) {
    return static_cast<const double *>(p.bias)[at];
}
template <typename Compute>
static __device__ __forceinline__ Compute gpul__gemm_bias_at(const gpul__gemm_problem &p, int64_t m, int64_t n) {
    return p.bias ? gpul__gemm_bias(p, m * p.bias_m + n * p.bias_n, Compute()) : Compute(0);
}
/* Of a few elements: GELU's instructions wait for one another, so that several take little longer than one. */
template <typename Compute, int N>
static __device__ __forceinline__ void gpul__gemm_activate(Compute (&x)[N], const gpul__gemm_problem &p) {
    if (p.activation == GPUL_ACTIVATION_RELU) {
        GPUL__UNROLL_FOR (int i = 0; i < N; ++i) x[i] = gpul__gemm_relu(x[i]);
    } else if (p.activation == GPUL_ACTIVATION_GELU) {
        GPUL__UNROLL_FOR (int i = 0; i < N; ++i) x[i] = gpul__gemm_gelu(x[i]);
    }
}
/* The last steps of an element alone, which was `old` */
template <typename T, typename Compute>
static __device__ __forceinline__ void gpul__gemm_finish(T *c, T old, Compute sum, const gpul__gemm_problem &p,
                                                         int64_t m, int64_t n, bool bf16) {
    const Compute alpha = Compute(p.alpha), beta = Compute(p.beta);
    Compute value[1] = {beta != 0 ? gpul__gemm_fma(alpha, sum, beta * gpul__gemm_widen(old, bf16)) : alpha * sum};
    T result;
    if (gpul__gemm_has_epilogue(p)) {
        if (p.bias) value[0] = gpul__gemm_add(value[0], gpul__gemm_bias_at<Compute>(p, m, n));
        gpul__gemm_activate(value, p);
    }
    gpul__gemm_narrow(&result, value[0], bf16);
    *c = result;
}
/* The last steps of a thread's sums: in row `line` of a product of the stack, of column w of C and the next ones, of
 * which those from 0 to `columns` are there; or, turned, of rows, in a column. All of C is read before any is written, so
 * that reads overlap. */
template <typename T, typename Compute, int kSums>
static __device__ __forceinline__ void gpul__gemm_finish_all(Compute (&sum)[kSums], int64_t product, int64_t line,
                                                             int w, int columns, bool turned,
                                                             const gpul__gemm_problem &p, bool bf16) {
    const int64_t step = turned ? p.c_row : 1;
    T *c = static_cast<T *>(p.C) + product * p.c_batch + line * (turned ? 1 : p.c_row) + w * step;
    const auto there = [&](int j) { return w + j >= 0 && w + j < columns; }; /* fault: matmul-narrow-own */
    T old[kSums] = {};
    if (p.beta != 0) {
        GPUL__UNROLL_FOR (int j = 0; j < kSums; ++j)
            if (there(j)) old[j] = c[j * step];
    }
    GPUL__UNROLL_NOT
    for (int j = 0; j < kSums && w + j < columns; ++j, c += step) {
        const Compute next = sum[0];
        const T before = old[0];
        gpul__shift_left<1>(sum);
        gpul__shift_left<1>(old);
        if (there(j)) gpul__gemm_finish(c, before, next, p, turned ? w + j : line, turned ? line : w + j, bf16);
    }
}

/* A, or B^T: rows along K, of the first product of a stack */
struct gpul__gemm_side {
    const void *data;
    int64_t extent, stride_outer, stride_k, batch; /* rows; from row to row, along K, from product to product */
};
static __device__ __forceinline__ gpul__gemm_side gpul__gemm_side_of(const gpul__gemm_problem &p, bool b) {
    if (b) return {p.B, p.N, p.b_col, p.b_row, p.b_batch};
    return {p.A, p.M, p.a_row, p.a_col, p.a_batch};
}
/* Rows of A or columns of B, of which the last product of a stack may have fewer */
static __device__ __forceinline__ int gpul__gemm_columns(const gpul__gemm_problem &p, const gpul__gemm_side &side,
                                                         int product) {
    const int64_t left = p.rows - product * side.extent;
    return int(p.rows > 0 && left < side.extent ? left : side.extent); /* fault: matmul-few-last */
}

/* ---- one operand's slices: from global to shared memory ----
 *
 * A slice is kTile rows of A, or columns of B (the "outer" dimension), by kSlice steps along K. One of the two
 * dimensions is contiguous in memory, the other strided. A thread's accesses, of one element or of 16 bytes, are at
 * equal distances; elements beyond the matrix become zeros. No access has a branch, so that the copies of one slice can
 * be issued between the multiplications of another. They are a good part of a loop's instructions: an address is the one
 * before and a stride, and the other numbers are constants where they can be.
 *
 * kTransposed (for fma): in shared memory the outer dimension is contiguous. kForm is 1 where it is contiguous and
 * aligned in global memory, too: accesses of 16 bytes. Otherwise it is 0: single elements. Where K is contiguous, a
 * thread's go down the outer dimension, in eight steps of K, then in the next eight, and a warp copies 4 x 8 elements,
 * which have no bank conflict. So they do in slices of eight steps where the outer dimension is contiguous, which saves
 * instructions. In longer slices, of smaller tiles, these elements go along K, so that a warp's are neighbours: there a
 * warp's cache lines take longer than instructions. 16-bit types pass through registers, where they are widened.
 *
 * Not kTransposed (for mma): shared memory has the slice as it is in global memory. kForm is 1 where K is contiguous,
 * and 2 more where accesses are of 16 bytes. */
template <typename T, int kTile, int kSlice, int kThreads, bool kTransposed> struct gpul__gemm_operand {
    typedef typename gpul__gemm_type<T>::Compute Compute;
    enum {
        kAsync = sizeof(T) == sizeof(Compute),
        kPitch = kTile + 4,   /* of shared memory, outer contiguous: no bank conflicts in reads or writes */
        kPitchK = kSlice + 4, /* K contiguous */
        kSize = kTransposed || kSlice * kPitch > kTile *kPitchK ? kSlice *kPitch : kTile *kPitchK,
        kVector = 16 / sizeof(Compute),
        kElements = kTile * kSlice / kThreads, /* of a thread */
        kApart = kThreads / 8,                 /* a thread's elements that go down outer */
        kBlock = kTile / kApart,               /* those in eight steps of K */
        kDown = kTransposed && kSlice == 8     /* single elements go down outer */
    };
    static_assert(kElements % kVector == 0 && kTile % kApart == 0 && kSlice % 8 == 0, "equal shares");
    static_assert(!kDown || 32 % kApart == 0, "whole steps of K to a warp, or whole warps to a step");
    const T *next; /* the thread's first access of the next slice */
    /* in elements: from access to access, from the last one in eight steps of K to the next one, from slice to slice */
    int64_t access_stride, block_stride, slice_stride;
    int32_t k, outer;                 /* of the first access in a slice */
    int32_t shared_at, shared_stride; /* the same in shared memory, and from access to access */
    int32_t shift;                    /* 2^shift rows or steps of K from access to access */
    int32_t rows;                     /* of outer that are in the matrix */
    int32_t along_k;                  /* 1: K is contiguous */
    bool vector, bf16;
    T held[kAsync ? 1 : int(kElements)];

    /* From row or column `first` of x, and step first_k, on. aligned: rows are, and whole numbers of 16 bytes */
    __device__ __forceinline__ void begin(const gpul__gemm_side &x, const gpul__gemm_problem &p, int64_t first,
                                          int64_t first_k, bool aligned) {
        const int thread = int(threadIdx.x);
        const int64_t extent = x.extent, stride_outer = x.stride_outer, stride_k = x.stride_k;
        along_k = stride_k == 1;
        bf16 = p.dtype == GPUL_BF16;
        vector = kAsync && aligned && !(kTransposed && along_k);
        rows = int32_t(extent - first < kTile ? extent - first : kTile);
        slice_stride = kSlice * stride_k;
        if (kTransposed && !vector && (along_k || kDown)) {
            /* where outer is contiguous, a warp has so many steps of K, those that have no bank in common */
            enum { kSteps = int(kApart) < 32 ? 32 / int(kApart) : 1 };
            k = along_k ? thread % 4 + thread / 16 % 2 * 4 : thread / kApart % kSteps * (8 / kSteps) + thread / 32;
            outer = along_k ? thread / 4 % 4 + thread / 32 * 4 : thread % kApart;
            access_stride = kApart * stride_outer;
            block_stride = 8 * stride_k - (kBlock - 1) * access_stride;
            shared_stride = kApart;
            shift = __ffs(kApart) - 1;
        } else {
            const int count = vector ? kVector : 1,
                      across = vector ? along_k ? int(kSlice) / int(kVector) : int(kTile) / int(kVector)
                               : along_k ? int(kSlice)
                                         : int(kTile),
                      up = __ffs(across) - 1, contiguous = (thread & (across - 1)) * count, strided = thread >> up,
                      step = int(kThreads) >> up;
            k = along_k ? contiguous : strided;
            outer = along_k ? strided : contiguous;
            access_stride = block_stride = step * (along_k ? stride_outer : stride_k);
            shared_stride = step * kPitch;
            shift = __ffs(step) - 1;
        }
        shared_at = along_k && !kTransposed ? outer * kPitchK + k : k * kPitch + outer;
        next = static_cast<const T *>(x.data) + blockIdx.y * x.batch + (first + outer) * stride_outer +
               (first_k + k) * stride_k;
    }

    /* keeps along_k out of a predicate, of which the loop has none to spare */
    __device__ __forceinline__ void again() {
#ifdef __CUDA_ARCH__
        asm volatile("" : "+r"(along_k));
#endif
    }
    __device__ __forceinline__ int form() const { return kTransposed ? vector : along_k; }

    /* copy(i, distance in shared memory, address, does it exist): for each access of a thread to a slice, of kCount
     * elements; from the slice's first step on, `left` are in K */
    template <int kForm, int kCount, typename Copy> __device__ __forceinline__ void visit(int left, const Copy &copy) {
        enum {
            kEither = kTransposed && kForm == 0 && !kDown, /* accesses go down outer or along K */
            kFixed = kTransposed && kForm == 0 && kDown,
            kAlongK = !kTransposed && kForm % 2,
            kStep = kFixed ? int(kApart) : kThreads / ((kAlongK ? kSlice : kTile) / kCount),
            kShared = kFixed ? int(kApart) : kStep * (kAlongK ? int(kPitchK) : int(kPitch))
        };
        const bool down = kFixed || kAlongK || (kEither && along_k != 0);
        const int length = down ? left - k : rows - outer, height = down ? rows - outer : left - k,
                  count = kEither ? (height + (1 << shift) - 1) >> shift : 0;
        const T *from = next;
        GPUL__UNROLL_FOR (int i = 0; i < kElements / kCount; ++i) {
            const int block = i / kBlock, in_block = i % kBlock;
            if (kEither)
                copy(i, in_block * shared_stride + block * 8 * kPitch, from,
                     (down ? block * 8 : 0) < length && in_block < count - (down ? 0 : block * kBlock));
            else copy(i, i * kShared, from, length > 0 && i * kStep < height);
            from += kEither && in_block + 1 == kBlock ? block_stride : access_stride;
        }
        next += slice_stride;
    }
    /* copies the slice at `next`, from whose first step on `left` are in K */
    template <int kForm> __device__ __forceinline__ void fetch(Compute *shared, int left) {
        enum { kCount = (kTransposed ? kForm : kForm / 2) ? int(kVector) : 1 };
        Compute *const to = shared + shared_at;
        visit<kForm, kCount>(left, [&](int i, int distance, const T *from, bool exists) {
            if (kAsync) {
                gpul__copy_to_shared<kCount, kTransposed>(to + distance, reinterpret_cast<const Compute *>(from),
                                                          exists ? int(kCount) : 0);
            } else {
                held[kAsync ? 0 : i] = T();
                if (exists) held[kAsync ? 0 : i] = *from;
            }
        });
    }
    /* 16-bit types: what fetch left in registers, widened */
    template <int kForm> __device__ __forceinline__ void put(Compute *shared) const {
        GPUL__UNROLL_FOR (int i = 0; !kAsync && i < kElements; ++i)
            shared[shared_at + i % kBlock * shared_stride + i / kBlock * 8 * kPitch] =
                gpul__gemm_widen(held[kAsync ? 0 : i], bf16);
    }
};

/* An aligned word of two elements, of which the first may be none of ours: the stand-in leaves it out. */
static __device__ __forceinline__ uint32_t gpul__word_of(const uint16_t *p, bool second_alone) {
#ifdef __CUDA_ARCH__
    (void)second_alone;
    return *reinterpret_cast<const uint32_t *>(p);
#else
    return (second_alone ? 0u : p[0]) | uint32_t(p[1]) << 16;
#endif
}
/* The same of 16-bit elements, for mma: shared memory has them as global memory has. Where rows, or steps of K, begin at
 * multiples of 16 bytes, cp.async copies eight elements at a time, or those of them that are there; and two where all
 * are whole words. If those of one operand begin elsewhere, both pass through registers (kForm 1, if the tile has kOdd):
 * eight are read as aligned words, which are shifted where they begin in the middle of one. An element of TF32 is two of
 * them along K, and K has twice as many: a slice that is not contiguous along K has half of the steps, and lines twice
 * as long. */
template <int kTile, int kSlice, int kThreads> struct gpul__gemm_pairs {
    enum {
        kPitch = kTile + 8, /* no bank conflict where eight rows of 16 bytes are read */
        kPitchK = kSlice + 8,
        kSize = (kSlice * kPitch > kTile * kPitchK ? kSlice * kPitch : kTile * kPitchK) / 2, /* in floats */
        kElements = kTile * kSlice / kThreads,                                               /* of a thread */
        kHeld = kElements / 8
    };
    static_assert(kElements % 8 == 0, "whole accesses");
    const uint16_t *next; /* as in gpul__gemm_operand */
    int64_t access_stride, slice_stride;
    int32_t k, outer, shared_at, shared_stride, step, rows;
    int32_t vector;    /* elements that are copied at a time: 8, 2, or 1 */
    int32_t two;       /* 1 if TF32 is not contiguous along K */
    bool along_k, cut; /* cut: the operand may end within eight elements that are the block's */
    /* aligned words, by how many bits they are shifted, and an element that shares its word with what is not read. Each
     * has a register of its own: a load into one that another load is still to fill would wait for it. */
    uint32_t held[kHeld][5]; /* the fifth is 0 */
    int32_t shift[kHeld], alone_at[kHeld];
    uint16_t alone[kHeld];

    __device__ __forceinline__ void begin(const gpul__gemm_side &x, const gpul__gemm_problem &p, int64_t first,
                                          int64_t first_k, int32_t at_a_time) {
        const uint16_t *const data = static_cast<const uint16_t *>(x.data) + blockIdx.y * x.batch;
        along_k = x.stride_k == 1;
        two = p.dtype == GPUL_F32 && !along_k; /* fault: matmul-tf32-across */
        vector = at_a_time;
        rows = int32_t(x.extent - first < kTile ? x.extent - first : kTile) << two;
        /* of another product, the eight elements do not end beyond the next one's */
        cut = x.extent - first <= kTile && (blockIdx.y + 1 == gridDim.y || x.batch == 0);
        const int count = vector == 2 ? 2 : 8, across = (along_k ? int(kSlice) : int(kTile) << two) / count,
                  up = __ffs(across) - 1, contiguous = (int(threadIdx.x) & (across - 1)) * count,
                  strided = int(threadIdx.x) >> up;
        const int64_t pitch = along_k ? x.stride_outer : x.stride_k, line = along_k ? first : first_k >> two;
        step = int(kThreads) >> up;
        k = along_k ? contiguous : strided;
        outer = along_k ? strided : contiguous;
        access_stride = step * pitch;
        slice_stride = along_k ? int64_t(kSlice) : (kSlice >> two) * pitch;
        shared_stride = step * (along_k ? int(kPitchK) : int(kPitch) << two);
        shared_at = along_k ? outer * kPitchK + k : k * (kPitch << two) + outer;
        next = data + (line + strided) * pitch + (along_k ? first_k : first << two) + contiguous;
    }
    __device__ __forceinline__ void again() {}
    __device__ __forceinline__ int form() const { return 0; }
    __device__ __forceinline__ uint16_t *in(float *shared) const {
        return reinterpret_cast<uint16_t *>(shared) + shared_at;
    }
    template <int kCount>
    __device__ __forceinline__ void copy(uint16_t *to, const uint16_t *from, int length, int height) const {
        /* pairs exist or do not: a choice of two constants costs no instructions */
        const int exist = length < 0 ? 0 : length < kCount ? length : kCount; /* fault: matmul-halves-ends */
        GPUL__UNROLL_FOR (int i = 0; i < kElements / kCount; ++i, from += access_stride, to += shared_stride)
            gpul__copy_to_shared<kCount>(to, from, i * step >= height ? 0 : kCount == 8 ? exist : exist > 0 ? 2 : 0);
    }
    /* eight elements, of which `exist` do */
    static __device__ __forceinline__ void copy_each(uint16_t *to, const uint16_t *from, int exist) {
        uint16_t x[8];
        GPUL__UNROLL_FOR (int j = 0; j < 8; ++j)
            x[j] = j < exist ? from[j] : uint16_t(0); /* fault: matmul-halves-each */
        GPUL__UNROLL_FOR (int j = 0; j < 8; ++j) to[j] = x[j];
    }
    template <int kForm> __device__ __forceinline__ void fetch(float *shared, int left) {
        const int length = along_k ? left - k : rows - outer, height = along_k ? rows - outer : (left >> two) - k;
        const uint16_t *from = next;
        if (left < 1) return; /* behind the last slice */ /* fault: matmul-halves-behind */
        if (kForm) {
            GPUL__UNROLL_FOR (int i = 0; i < kHeld; ++i, from += access_stride)
                read(i, from, i * step < height ? length : 0);
        } else if (vector == 8 && gpul__rarely(cut && length > 0 && length < 8 && height <= kHeld * step)) {
            uint16_t *to = in(shared);
            GPUL__UNROLL_NOT
            for (int i = 0; i < kHeld; ++i, from += access_stride, to += shared_stride) {
                if (i * step != height - 1) gpul__copy_to_shared<8>(to, from, i * step < height ? length : 0);
                else copy_each(to, from, length); /* fault: matmul-halves-cut-off */
            }
        } else if (vector == 8) {
            copy<8>(in(shared), from, length, height);
        } else {
            copy<2>(in(shared), from, length, height);
        }
        next += slice_stride;
    }
    /* chunk i: eight elements from `from` on, of which `exist` do */
    __device__ __forceinline__ void read(int i, const uint16_t *from, int exist) {
        const int last = exist < 8 ? exist : 8,                       /* 0 or less: none */
            before = int(reinterpret_cast<uintptr_t>(from) >> 1 & 1); /* elements of the first word */
        shift[i] = 16 * before;                                       /* fault: matmul-odd-shift */
        GPUL__UNROLL_FOR (int j = 0; j < 4; ++j) {
            held[i][j] = 0; /* fault: matmul-odd-ends */
            if (2 * j + 1 < exist + before) held[i][j] = gpul__word_of(from - before + 2 * j, j == 0 && before);
        }
        held[i][4] = 0;
        alone_at[i] = last > 0 && (last + before) % 2 != 0 ? last - 1 : -1;
        alone[i] = 0;
        if (alone_at[i] >= 0) alone[i] = from[alone_at[i]];
    }
    template <int kForm> __device__ __forceinline__ void put(float *shared) const {
        uint16_t *to = in(shared);
        GPUL__UNROLL_FOR (int i = 0; kForm && i < kHeld; ++i, to += shared_stride) {
            gpul__pack<uint32_t, 4> eight;
            GPUL__UNROLL_FOR (int j = 0; j < 4; ++j)
                eight.v[j] = __funnelshift_r(held[i][j], held[i][j + 1], uint32_t(shift[i]));
            gpul__save<4>(reinterpret_cast<uint32_t *>(to), eight);
            if (alone_at[i] >= 0) to[alone_at[i]] = alone[i]; /* fault: matmul-odd-alone */
        }
    }
};

/* ---- a block's tile: multiplying two slices ----
 *
 * A block's threads hold a tile of C in registers. `load` reads what the first step along K needs from shared memory.
 * `multiply` computes a step, and reads what the next one needs meanwhile; `each` visits the sums, kVector neighbours of
 * a row at a time. Of emulated f32, `add_up` follows the last step, and `scale_back` the sum of all splits. */

template <typename T> static __device__ __forceinline__ void gpul__gemm_zero(T &x) { x = 0; }
template <typename T, int N> static __device__ __forceinline__ void gpul__gemm_zero(T (&x)[N]) {
    GPUL__UNROLL_FOR (int i = 0; i < N; ++i) gpul__gemm_zero(x[i]);
}

/* By fma. A warp's 8 x 4 lanes, or 4 x 8 in tiles of 16 rows, hold kRows x kCols elements each, in squares of 4 x 4,
 * of which a lane has every eighth down and every fourth across (every fourth, every eighth). Shared memory serves
 * 16 lanes at a time: lanes are numbered so that pairs of them, neighbours or two apart, read the same of A, and
 * others the same of B. */
template <typename Type, int kTileM, int kTileN, int kRows, int kCols, int kBlocks, int kDepth> struct gpul__gemm_fmas {
    typedef Type T;
    typedef typename gpul__gemm_type<T>::Compute Compute;
    enum {
        kM = kTileM,
        kN = kTileN,
        kThreads = (kM / kRows) * (kN / kCols),
        kDown = kM == 16 ? 4 : 8, /* lanes of a warp */
        kAcross = 32 / kDown,
        kBlocksPerSM = kBlocks,
        /* 16-bit elements pass through registers, a slice at a time: a long one, so that waits are few. */
        kSlice = sizeof(T) != sizeof(Compute) ? 32
                 : kTileM * kTileN <= 1024 ? 16
                                           : 8,
        kSteps = kSlice,
        kStepOfB = 0, /* the step in which B's copies are issued; A's are in the first */
        kStages = sizeof(T) == sizeof(Compute) ? kDepth : 2,
        kForms = sizeof(T) == sizeof(Compute) ? 4 : 1,
        kChunk = 0, /* of gpul__gemm_halves */
        kTensor = 0,
        kOdd = 1,
        kVector = 4,
        kSums = kRows * kCols,
        kSplitK = int(kSums) < 128, /* split-K: large tiles have no registers for it */
        /* A block may take several terms of the tree. Tiles of 32 x 32 would lose more by it than stacks gain. */
        kTerms = kSplitK && (kM != 32 || kN != 32),
        kPitch = kN + 4 /* of the whole tile in shared memory: a warp's vectors are in different banks */
    };
    template <int kTile> using Operand = gpul__gemm_operand<T, kTile, kSlice, kThreads, true>;
    static_assert(kM % (kDown * kRows) == 0 && kN % (kAcross * kCols) == 0, "whole warps");
    Compute sum[kRows][kCols], x[2][kRows], y[2][kCols];
    int row, col;

    __device__ __forceinline__ void begin() {
        const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
        const int of_8 = lane / 8 * 2 + lane / 2 % 2, of_4 = lane / 4 % 2 * 2 + lane % 2;
        row = warp % (kM / (kDown * kRows)) * (kDown * kRows) + (kDown == 8 ? of_8 : of_4) * 4;
        col = warp / (kM / (kDown * kRows)) * (kAcross * kCols) + (kDown == 8 ? of_4 : of_8) * 4;
        gpul__gemm_zero(sum);
    }
    __device__ __forceinline__ void place(const Operand<kM> &, const Operand<kN> &, const gpul__gemm_view &) {}
    __device__ __forceinline__ void add_up() {}
    __device__ __forceinline__ void scale_back(const gpul__gemm_view &, int64_t, int64_t) {}
    template <int kForm> __device__ __forceinline__ void load(int step, const Compute *a, const Compute *b) {
        GPUL__UNROLL_FOR (int i = 0; i < kRows; i += 4)
            gpul__gemm_read<4>(x[step % 2] + i, a + row + step * (kM + 4) + i * kDown);
        GPUL__UNROLL_FOR (int j = 0; j < kCols; j += 4)
            gpul__gemm_read<4>(y[step % 2] + j, b + col + step * (kN + 4) + j * kAcross);
    }
    template <int kForm>
    __device__ __forceinline__ void multiply(int step, int next, const Compute *a, const Compute *b) {
        load<kForm>(next, a, b);
        GPUL__UNROLL_FOR (int j = 0; j < kCols; ++j) { /* down and up: successive products share a factor */
            GPUL__UNROLL_FOR (int k = 0; k < kRows; ++k) {
                const int i = j % 2 ? kRows - 1 - k : k;
                sum[i][j] = gpul__gemm_fma(x[step % 2][i], y[step % 2][j], sum[i][j]);
            }
        }
    }
    template <typename Visitor> __device__ __forceinline__ void each(Visitor &visit) {
        GPUL__UNROLL_FOR (int i = 0; i < kRows; ++i) {
            GPUL__UNROLL_FOR (int j = 0; j < kCols; j += 4)
                visit(row + i / 4 * (4 * kDown) + i % 4, col + j * kAcross, &sum[i][j]);
        }
    }
};

/* Sums of mma: a warp has kWarpM x kWarpN of a tile's elements, 16 x 8 at a time. Lane 4 g + t has four of these, in
 * rows g and g + 8 and columns 2 t and 2 t + 1. */
template <typename Compute, int kTileM, int kWarpM, int kWarpN> struct gpul__gemm_mma_sums {
    enum { kDown = kWarpM / 16, kAcross = kWarpN / 8, kSums = kDown * kAcross * 4 };
    Compute sum[kDown][kAcross][4];
    int row, col, g, t;

    __device__ __forceinline__ void begin() {
        const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
        g = lane / 4;
        t = lane % 4;
        row = warp % (kTileM / kWarpM) * kWarpM;
        col = warp / (kTileM / kWarpM) * kWarpN;
        gpul__gemm_zero(sum);
    }
    __device__ __forceinline__ void add_up() {}
    __device__ __forceinline__ void scale_back(const gpul__gemm_view &, int64_t, int64_t) {}
    template <typename Visitor> __device__ __forceinline__ void each(Visitor &visit) {
        GPUL__UNROLL_FOR (int i = 0; i < kDown * 2; ++i) {
            GPUL__UNROLL_FOR (int j = 0; j < kAcross; ++j)
                visit(row + i * 8 + g, col + j * 8 + 2 * t, &sum[i / 2][j][i % 2 * 2]);
        }
    }
};

/* f64 by mma, which adds as fma over ascending k does, bit for bit. Of each step of eight along K, lane 4 g + t loads
 * numbers t and t + 4 of A's rows g and g + 8 and of B's column g. Without such tensor cores, the lane computes its four
 * elements by fma. A branch between multiplications would wait until all before it are complete, so every form has its
 * own loop. */
template <int kTileM, int kTileN, int kWarpM, int kWarpN, int kBlocks, int kDepth>
struct gpul__gemm_mmas : gpul__gemm_mma_sums<double, kTileM, kWarpM, kWarpN> {
    typedef gpul__gemm_mma_sums<double, kTileM, kWarpM, kWarpN> Sums;
    using Sums::col;
    using Sums::g;
    using Sums::row;
    using Sums::sum;
    using Sums::t;
    typedef double T;
    typedef double Compute;
    enum {
        kM = kTileM,
        kN = kTileN,
        kThreads = (kM / kWarpM) * (kN / kWarpN) * 32,
        kBlocksPerSM = kBlocks,
        kSlice = 16,
#ifdef GPUL__COPIES_ASYNC
        kDeep = 8, /* of a step along K */
        kApart = 4,
        kColumns = 1,
#else
        kDeep = 1,
        kApart = 1,
        kColumns = 2,
#endif
        kLoaded = kDeep / kApart, /* of a step, those that a lane loads, kApart from each other */
        kSteps = kSlice / kDeep,
        kStepOfB = kSteps - 1,
        kStages = kDepth,
        kForms = 8,
        kChunk = 0,
        kTensor = 0,
        kOdd = 1,
        kVector = 2,
        kDown = Sums::kDown,
        kAcross = Sums::kAcross,
        kSums = Sums::kSums,
        kSplitK = int(kSums) < 64,
        kTerms = kSplitK,
        kPitch = kN + 8
    };
    template <int kTile> using Operand = gpul__gemm_operand<T, kTile, kSlice, kThreads, false>;
    static_assert(kAcross > 1 && kSteps % 2 == 0, "A is read behind the second product of a row; two places in turns");
    double x[kDown + 1][2][kLoaded], y[2][kAcross][kColumns][kLoaded];

    __device__ __forceinline__ void place(const Operand<kM> &, const Operand<kN> &, const gpul__gemm_view &) {}
    template <int kForm> __device__ __forceinline__ void load_x(int i, int step, const double *a) {
        enum { kRow = kForm & 1 ? kSlice + 4 : 1, kStep = kForm & 1 ? 1 : kM + 4 };
        a += (row + i * 16 + g) * kRow + (step * kDeep + (kApart > 1 ? t : 0)) * kStep;
        GPUL__UNROLL_FOR (int h = 0; h < 2; ++h) {
            GPUL__UNROLL_FOR (int k = 0; k < kLoaded; ++k)
                x[slot(i, step)][h][k] = a[h * 8 * kRow + k * kApart * kStep];
        }
    }
    template <int kForm> __device__ __forceinline__ void load_y(int j, int step, const double *b) {
        enum { kCol = kForm & 2 ? kSlice + 4 : 1, kStep = kForm & 2 ? 1 : kN + 4 };
        b += (col + j * 8 + (kColumns == 1 ? g : 2 * t)) * kCol + (step * kDeep + (kApart > 1 ? t : 0)) * kStep;
        GPUL__UNROLL_FOR (int c = 0; c < kColumns; ++c) {
            GPUL__UNROLL_FOR (int k = 0; k < kLoaded; ++k) y[step % 2][j][c][k] = b[c * kCol + k * kApart * kStep];
        }
    }
    /* the place of A's rows: the last ones have two, in turns */
    static __device__ __forceinline__ int slot(int i, int step) { return i + 1 == kDown ? i + step % 2 : i; }
    template <int kForm> __device__ __forceinline__ void load(int step, const double *a, const double *b) {
        GPUL__UNROLL_FOR (int i = 0; i < kDown; ++i) load_x<kForm>(i, step, a);
        GPUL__UNROLL_FOR (int j = 0; j < kAcross; ++j) load_y<kForm>(j, step, b);
    }
    /* A load into a register that a product has just begun to read would wait for it. So rows of A are loaded two products
     * after their last one; the last rows, and columns of B, have two places in turns. */
    template <int kForm>
    __device__ __forceinline__ void multiply(int step, int next, const double *from_a, const double *from_b) {
        GPUL__UNROLL_FOR (int i = 0; i < kDown; ++i) {
            GPUL__UNROLL_FOR (int l = 0; l < kAcross; ++l) {
                const int j = i % 2 ? kAcross - 1 - l : l;
                double(&c)[4] = sum[i][j];
                const double(&a)[2][kLoaded] = x[slot(i, step)], (&b)[kColumns][kLoaded] = y[step % 2][j];
#ifndef GPUL__COPIES_ASYNC
                for (int e = 0; e < 4; ++e) {
                    for (int s = 0; s < kLoaded; ++s)
                        c[e] = gpul__gemm_fma(a[e / 2][s], b[e % 2][s], c[e]); /* fault: matmul-fused */
                }
#elif __CUDA_ARCH__ >= 900
                asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                    "{%0, %1, %2, %3};"
                    : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                    : "d"(a[0][0]), "d"(a[1][0]), "d"(a[0][1]), "d"(a[1][1]), "d"(b[0][0]), "d"(b[0][1]));
#else
                GPUL__UNROLL_FOR (int s = 0; s < kLoaded; ++s) {
                    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                        : "+d"(c[0]), "+d"(c[1])
                        : "d"(a[0][s]), "d"(b[0][s]));
                    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                        : "+d"(c[2]), "+d"(c[3])
                        : "d"(a[1][s]), "d"(b[0][s]));
                }
#endif
                if (l == 1 && i > 0) load_x<kForm>(i - 1, next, from_a);
                if (l == 0) { /* a row's share of the columns */
                    GPUL__UNROLL_FOR (int n = i * kAcross / kDown; n < (i + 1) * kAcross / kDown; ++n)
                        load_y<kForm>(n, next, from_b);
                    if (i + 1 == kDown) load_x<kForm>(i, next, from_a);
                }
            }
        }
    }
};

#ifdef GPULITE_CPU_STANDIN
/* What Hopper's tensor cores do, for the stand-in. It takes much of the time of tests, and each access of it is to the
 * caller's own variables, at fixed places: it goes unwatched. */
#define GPUL__UNWATCHED __attribute__((no_sanitize("thread")))

/* Sixteen factors, of TF32 eight, and the exponents of their hidden bits. TF32 is what f32 has but for its last 13 bits. */
struct gpul__tensor_factors {
    enum : int32_t { kCount = 16, kSpecial = 1 << 22, kNone = -(1 << 20) }; /* exponents: of infinities and NaN; of 0 */
    double value[kCount];
    int32_t exponent[kCount];
    GPUL__UNWATCHED void set(const uint32_t (&x)[kCount], gpul_dtype type) {
        const bool wide = type == GPUL_F32, half = type == GPUL_F16;
        const int up = wide ? 0 : 16, down = half ? 3 : 0, most = half ? 31 : 255;
        const uint32_t keep = wide ? ~uint32_t(8191) : half ? 0x8fffffffu : ~0u;
        const float scale = half ? gpul__bits<float>(uint32_t(127 + 112) << 23) : 1.0f;
        for (int k = 0; k < kCount; ++k) {
            /* the bits of a float; of f16, of one that is 2^112 times smaller */
            const uint32_t y = uint32_t(int32_t(x[k] << up) >> down) & keep;
            const int32_t field = y >> 23 & 255;
            value[k] = double(field == most ? gpul__bits<float>(y | 0x7f800000) : gpul__bits<float>(y) * scale);
            exponent[k] = field == most ? int32_t(kSpecial)
                          : y << 1 == 0 ? int32_t(kNone)
                                        : (field ? field : 1) - most / 2;
        }
    }
    /* element(k): the bits of factor k; it may read shared memory, and is watched */
    template <typename Element> void fill(gpul_dtype type, const Element &element) {
        uint32_t x[kCount];
        for (int k = 0; k < kCount; ++k) x[k] = element(k);
        set(x, type);
    }
};
static inline double gpul__tensor_power(int32_t e) { return gpul__bits<double>(uint64_t(1023 + e) << 52); }
/* sum + a[0] b[0] + .. + a[15] b[15]. Products are exact and not normalised. They and the sum are cut off 25 places below
 * the largest exponent among them, added up exactly, and rounded toward zero. */
GPUL__UNWATCHED static float gpul__tensor_add(float sum, const gpul__tensor_factors &a, const gpul__tensor_factors &b) {
    typedef gpul__tensor_factors F;
    const uint32_t field = gpul__bits<uint32_t>(sum) >> 23 & 255;
    int32_t top = sum == 0 ? int32_t(F::kNone) : field == 255 ? int32_t(F::kSpecial) : int32_t(field ? field : 1) - 127;
    for (int k = 0; k < F::kCount; ++k) {
        const int32_t e = a.exponent[k] + b.exponent[k];
        top = e > top ? e : top;
    }
    if (top > 1000) { /* infinities and NaN */
        for (int k = 0; k < F::kCount; ++k) {
            if (a.exponent[k] == F::kSpecial || b.exponent[k] == F::kSpecial) sum += float(a.value[k] * b.value[k]);
        }
        return sum;
    }
    if (top < -1000) return sum; /* all are 0 */
    const double up = gpul__tensor_power(25 - top);
    double total = double(int32_t(double(sum) * up)), part[4] = {}; /* exact, so in any order */
    for (int k = 0; k < F::kCount; k += 4) {
        for (int j = 0; j < 4; ++j)
            part[j] += double(int32_t(a.value[k + j] * b.value[k + j] * up)); /* fault: matmul-halves-cut */
    }
    total += part[0] + part[1] + (part[2] + part[3]);
    /* 2^128 and more become infinite */
    const double exact = total * gpul__tensor_power(top - 25);
    const float nearest = float(exact);
    const bool away = (fabs(double(nearest)) > fabs(exact)) & (fabs(exact) < gpul__tensor_power(128));
    return gpul__bits<float>(gpul__bits<uint32_t>(nearest) - uint32_t(away)); /* toward zero, without a branch */
}
#else
/* c += a b, of 16 x 16 and 16 x 8 elements of 16 bits, or of 16 x 8 and 8 x 8 of TF32 (GPUL_F32) */
template <gpul_dtype kType>
static __device__ __forceinline__ void gpul__mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#ifdef GPUL__COPIES_ASYNC
#define GPUL__MMA(shape, type)                                                                                         \
    asm("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "  \
        "{%0, %1, %2, %3};"                                                                                            \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
    if (kType == GPUL_F32) GPUL__MMA("m16n8k8", "tf32");
    else if (kType == GPUL_BF16) GPUL__MMA("m16n8k16", "bf16");
    else GPUL__MMA("m16n8k16", "f16");
#undef GPUL__MMA
#endif
}
#endif

/* 16-bit types and TF32 by mma, from compute capability 8.0 on. Of each step of sixteen along K, ldmatrix brings a lane
 * what it multiplies, whether the slice is contiguous along K or not. Elements of TF32 are two of 16 bits: where they are
 * contiguous along K, a lane's are in the same places, and where they are not, it loads them one by one. They are rounded
 * on their way to the tensor cores. The stand-in adds up as Hopper's tensor cores do. kChunk: see gpul__gemm_kernel. */
template <int kTileM, int kTileN, int kWarpM, int kWarpN, int kLength, int kBlocks, int kDepth>
struct gpul__gemm_halves : gpul__gemm_mma_sums<float, kTileM, kWarpM, kWarpN> {
    typedef gpul__gemm_mma_sums<float, kTileM, kWarpM, kWarpN> Sums;
    using Sums::col;
    using Sums::g;
    using Sums::row;
    using Sums::sum;
    using Sums::t;
    typedef gpul__gemm_16 T;
    typedef float Compute;
    enum {
        kM = kTileM,
        kN = kTileN,
        kThreads = (kM / kWarpM) * (kN / kWarpN) * 32,
        kBlocksPerSM = kBlocks,
        kSlice = kLength,
        kDeep = 16, /* of a step along K */
        kSteps = kSlice / kDeep,
        kStepOfB = 0,
        kStages = kDepth,
        kSums = Sums::kSums,
        kOdd = int(kSums) < 128, /* large tiles have no registers for elements on their way */
        kForms = kOdd ? 2 : 1,   /* 1: both operands by way of registers */
        kChunk = 8192,
        kTensor = 1,
        kVector = 2,
        kDown = Sums::kDown,
        kAcross = Sums::kAcross,
        kSplitK = 1,
        kTerms = 1,
        kPitch = kN + 8
    };
    template <int kTile> using Operand = gpul__gemm_pairs<kTile, kSlice, kThreads>;
    enum { kPitchK = Operand<kM>::kPitchK }; /* B's, too */
    static_assert(kAcross % 2 == 0 && kSteps % 2 == 0, "B is read in pairs of columns; two places in turns");
#ifdef GPULITE_CPU_STANDIN
    typedef gpul__tensor_factors X[2], Y[2]; /* of 16 rows, of 8 columns */
#else
    typedef uint32_t X[4], Y[2];
#endif
    X x[2][kDown];
    Y y[2][kAcross];
    /* An operand in shared memory, in elements: from row to row of A or column to column of B, from step to step along K;
     * and the lane's first element, of ldmatrix its row of one of four matrices of 8 x 8, side by side and below each
     * other. */
    struct Place {
        int outer, k, at;
        bool along_k;
        template <typename X> __device__ __forceinline__ void find(const X &x, int first, int down, int on) {
            const int r = int(threadIdx.x) % 8;
            along_k = x.along_k;
            outer = along_k ? int(X::kPitchK) : 1 << x.two;
            k = along_k ? 1 : int(X::kPitch);
#ifndef GPULITE_CPU_STANDIN
            const int lane = int(threadIdx.x) % 32;
            at = x.two ? (first + lane / 4) * 2 + lane % 4 * 2 * k
                       : (first + down + (along_k ? r : 0)) * outer + (on + (along_k ? 0 : r)) * k;
#else
            (void)down, (void)on, (void)r;
            at = first * outer;
#endif
        }
    } of_a, of_b;
    gpul_dtype type; /* GPUL_F32: TF32 */

    __device__ __forceinline__ void place(const Operand<kM> &a, const Operand<kN> &b, const gpul__gemm_view &v) {
        const int one = int(threadIdx.x) / 8 % 2 * 8, other = int(threadIdx.x) / 16 % 2 * 8;
        of_a.find(a, row, one, other);
        of_b.find(b, col, other, one);
        type = v.problem.dtype;
    }
#ifndef GPULITE_CPU_STANDIN
    /* Four matrices; transposed where the slice is not contiguous along K */
    template <bool kTransposed>
    static __device__ __forceinline__ void load_four(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d,
                                                     uint32_t from) {
#ifdef GPUL__COPIES_ASYNC
        if (kTransposed)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                         : "r"(from)
                         : "memory");
        else
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                         : "r"(from)
                         : "memory");
#endif
    }
    template <bool kTransposed> static __device__ __forceinline__ void load_x(X (&to)[kDown], uint32_t from) {
        GPUL__UNROLL_FOR (int i = 0; i < kDown; ++i)
            load_four<kTransposed>(to[i][0], to[i][1], to[i][2], to[i][3],
                                   from + uint32_t(i * 32) * (kTransposed ? 1 : kPitchK));
    }
    template <bool kTransposed> static __device__ __forceinline__ void load_y(Y (&to)[kAcross], uint32_t from) {
        GPUL__UNROLL_FOR (int j = 0; j < kAcross; j += 2)
            load_four<kTransposed>(to[j][0], to[j][1], to[j + 1][0], to[j + 1][1],
                                   from + uint32_t(j * 16) * (kTransposed ? 1 : kPitchK));
    }
    /* eight rows or columns each, and four steps of TF32 on from `from`, or from four steps further */
    template <int kGroups, int kApart, int kFloats>
    static __device__ __forceinline__ void load_alone(uint32_t (&to)[kGroups][kFloats], const float *from, int pitch) {
        GPUL__UNROLL_FOR (int i = 0; i < kGroups; ++i) {
            GPUL__UNROLL_FOR (int e = 0; e < kFloats; ++e)
                to[i][e] =
                    gpul__bits<uint32_t>(from[i * kApart + e % (kFloats / 2) * 8 + e / (kFloats / 2) * 4 * pitch]);
        }
    }
    /* what lies from step `at` on; not transposed: both are known to be contiguous along K */
    template <bool kTransposed>
    __device__ __forceinline__ void load_step(X (&to_x)[kDown], Y (&to_y)[kAcross], int at, const float *a,
                                              const float *b) const {
        const int at_a = of_a.at + at * of_a.k, at_b = of_b.at + at * of_b.k;
        const uint32_t from_a = gpul__shared_address(a) + uint32_t(at_a) * 2,
                       from_b = gpul__shared_address(b) + uint32_t(at_b) * 2;
        if (!kTransposed || of_a.along_k) load_x<false>(to_x, from_a);
        else if (type == GPUL_F32) load_alone<kDown, 16>(to_x, a + at_a / 2, of_a.k);
        else load_x<true>(to_x, from_a);
        if (!kTransposed || of_b.along_k) load_y<false>(to_y, from_b);
        else if (type == GPUL_F32) load_alone<kAcross, 8>(to_y, b + at_b / 2, of_b.k);
        else load_y<true>(to_y, from_b);
    }
    template <int kGroups, int kFloats> static __device__ __forceinline__ void round(uint32_t (&x)[kGroups][kFloats]) {
        GPUL__UNROLL_FOR (int i = 0; i < kGroups; ++i) {
            GPUL__UNROLL_FOR (int e = 0; e < kFloats; ++e)
                x[i][e] = gpul__bits<uint32_t>(gpul__gemm_round(gpul__bits<float>(x[i][e])));
        }
    }
    template <gpul_dtype kType>
    static __device__ __forceinline__ void multiply_one(float (&c)[4], const X &a, const Y &b) {
        gpul__mma<kType>(c, a, b);
    }
#else
    template <bool kTransposed>
    void load_step(X (&to_x)[kDown], Y (&to_y)[kAcross], int at, const float *a, const float *b) const {
        const uint16_t *const from_a = reinterpret_cast<const uint16_t *>(a) + of_a.at + g * of_a.outer,
                              *const from_b = reinterpret_cast<const uint16_t *>(b) + of_b.at + 2 * t * of_b.outer;
        /* a step has eight of TF32, and eight zeros */
        const auto element = [this](const uint16_t *p, int k) {
            if (type != GPUL_F32) return uint32_t(*p);
            if (k >= kDeep / 2) return 0u;
            return gpul__bits<uint32_t>(gpul__gemm_round(gpul__bits<float>(p[0] | uint32_t(p[1]) << 16)));
        };
        const auto fill = [&](gpul__tensor_factors &to, const uint16_t *from, int of_k) {
            to.fill(type,
                    [&](int k) { return element(from + (at + (type != GPUL_F32 ? k : k * 2 % kDeep)) * of_k, k); });
        };
        for (int i = 0; i < 2 * kDown; ++i) fill(to_x[i / 2][i % 2], from_a + i * 8 * of_a.outer, of_a.k);
        for (int j = 0; j < 2 * kAcross; ++j)
            fill(to_y[j / 2][j % 2], from_b + (j / 2 * 8 + j % 2) * of_b.outer, of_b.k);
    }
    template <typename X> static void round(X &) {}
    template <gpul_dtype kType> static void multiply_one(float (&c)[4], const X &a, const Y &b) {
        for (int e = 0; e < 4; ++e) c[e] = gpul__tensor_add(c[e], a[e / 2], b[e % 2]);
    }
#endif
    template <int kForm> __device__ __forceinline__ void load(int step, const float *a, const float *b) {
        load_step<true>(x[step % 2], y[step % 2], step * kDeep, a, b);
    }
    template <int kForm> __device__ __forceinline__ void multiply(int step, int next, const float *a, const float *b) {
        load<kForm>(next, a, b);
        if (type == GPUL_F32) {
            round(x[step % 2]);
            round(y[step % 2]);
            multiply_all<GPUL_F32>(sum, x[step % 2], y[step % 2]);
        } else if (type == GPUL_BF16) multiply_all<GPUL_BF16>(sum, x[step % 2], y[step % 2]);
        else multiply_all<GPUL_F16>(sum, x[step % 2], y[step % 2]);
    }
    template <gpul_dtype kType>
    static __device__ __forceinline__ void multiply_all(float (&c)[kDown][kAcross][4], const X (&a)[kDown],
                                                        const Y (&b)[kAcross]) {
        GPUL__UNROLL_FOR (int i = 0; i < kDown; ++i) {
            GPUL__UNROLL_FOR (int j = 0; j < kAcross; ++j) multiply_one<kType>(c[i][j], a[i], b[j]);
        }
    }
};

/* Both operands' slices: a stage of the ring has A's, then B's. */
template <typename S> struct gpul__gemm_operands {
    typedef typename S::Compute Compute;
    typedef typename S::template Operand<S::kM> A;
    typedef typename S::template Operand<S::kN> B;
    A a;
    B b;
    enum {
        kSizeA = A::kSize,
        kStage = int(kSizeA) + int(B::kSize),
        kRing = int(S::kStages) * kStage,
        kWholeTile = int(S::kM) * int(S::kPitch), /* the tile, at the end */
        kSharedBytes = (int(kRing) > int(kWholeTile) ? int(kRing) : int(kWholeTile)) * sizeof(Compute)
    };
    /* the next slice of A, and then of B, from whose first step on `left` are in K */
    template <int kForm> __device__ __forceinline__ void fetch_a(Compute *stage, int left) {
        a.template fetch<kForm % 2 + kForm / 4 * 2>(stage, left);
    }
    template <int kForm> __device__ __forceinline__ void fetch_b(Compute *stage, int left) {
        b.template fetch<int(S::kForms) == 2 ? kForm : kForm / 2>(stage + kSizeA, left);
        gpul__commit_copies();
    }
    template <int kForm> __device__ __forceinline__ void put(Compute *stage) const {
        a.template put<kForm>(stage);
        b.template put<kForm>(stage + kSizeA);
    }
};

/* Where the loop over K is, from call to call. */
struct gpul__gemm_ring {
    int32_t from, to;     /* in elements, the stages that are read and written next; from: -1 before it has begun */
    int32_t slices, last; /* that are still to be fetched, if above 0, and the steps of the last one */
    int32_t next;         /* what is left of K where the next one begins */
};
/* The loop over the next `count` slices of K. They pass through a ring of stages: kStages - 1 of them have been copied
 * or are being copied, those of the next call among them, and the next one goes where the last one was read. There is
 * one barrier a slice, before its last step. That step's operands are in registers by then, so behind the barrier the
 * stage may be overwritten, and the next slice is read. By mma of 16-bit types and TF32, whose slices are long, the last
 * one ends with the step in which K does. */
template <typename S, int kForm>
static __device__ __forceinline__ void gpul__gemm_mainloop(S &tile, gpul__gemm_operands<S> &operands,
                                                           typename S::Compute *shared, gpul__gemm_ring &ring,
                                                           int32_t count) {
    typedef typename S::Compute Compute;
    enum { kStage = gpul__gemm_operands<S>::kStage, kSizeA = gpul__gemm_operands<S>::kSizeA };
    enum { kEnd = (int(S::kStages) - 1) * kStage };
    const int32_t last = ring.last;
    int32_t slices = ring.slices, next = ring.next, from = ring.from, to = ring.to;
    /* before the last one, more steps than it has: see gpul__gemm_pairs::cut */
    const auto steps = [last](int32_t more) { return more > 1 ? int32_t(S::kSlice) * 2 : more == 1 ? last : 0; };
    if (from < 0) {
        GPUL__UNROLL_NOT
        for (int32_t at = 0; at < kEnd; at += kStage, --slices) {
            Compute *const stage = shared + at;
            if (slices < 1) {          /* fault: matmul-slices-behind */
                gpul__commit_copies(); /* none, but counted */
                continue;
            }
            operands.template fetch_a<kForm>(stage, steps(slices));
            operands.template fetch_b<kForm>(stage, steps(slices));
            operands.template put<kForm>(stage);
        }
        gpul__wait_for_copies<S::kStages - 2>();
        __syncthreads();
        from = 0;
        to = kEnd;
        next = steps(slices); /* known before copies need it */
    }
    tile.template load<kForm>(0, shared + from, shared + from + kSizeA);
    const int32_t stop = slices - count;
    GPUL__UNROLL_NOT
    for (; slices > stop; --slices) {
        const int32_t here = S::kTensor == 1 && slices == 2 - int(S::kStages) ? last : int32_t(S::kSlice);
        GPUL__UNROLL_FOR (int step = 0; step < S::kSteps; ++step) {
            if (step > 0 && step * (int(S::kSlice) / int(S::kSteps)) >= here) break; /* fault: matmul-last-steps */
            if (step == 0) operands.template fetch_a<kForm>(shared + to, next);
            if (step == S::kStepOfB) operands.template fetch_b<kForm>(shared + to, next);
            if (step + 1 == S::kSteps) {
                /* always: what may be on its way, the next fetch would wait for */
                operands.template put<kForm>(shared + to);
                gpul__wait_for_copies<S::kStages - 2>();
                __syncthreads(); /* fault: matmul-slice-barrier */
                to = from;
                from = from == kEnd ? 0 : from + kStage;
            }
            tile.template multiply<kForm>(step, (step + 1) % S::kSteps, shared + from, shared + from + kSizeA);
        }
        next = steps(slices - 1);
    }
    ring = {from, to, slices, last, next};
}

/* The loop of a form, which is `form` or, of one form only, the last one. */
template <typename S, int kForm>
static __device__ __forceinline__ void gpul__gemm_mainloop_of(int form, S &tile, gpul__gemm_operands<S> &operands,
                                                              typename S::Compute *shared, gpul__gemm_ring &ring,
                                                              int32_t count) {
    if (form == kForm || kForm == 0) gpul__gemm_mainloop<S, kForm>(tile, operands, shared, ring, count);
    else gpul__gemm_mainloop_of<S, kForm == 0 ? 0 : kForm - 1>(form, tile, operands, shared, ring, count);
}

/* ---- split-K ----
 *
 * Each block leaves its partial sums in scratch memory, thread by thread, so that every access is a full one. A tree of
 * fixed shape with a fan-in of 16 adds them: at each node the block that arrives last adds 16 partials in order, and
 * leaves the sum in the place of the first. At the root one block has the sum of all. */
enum { gpul__gemm_fan_log2 = 4, gpul__gemm_fan = 1 << gpul__gemm_fan_log2 };
/* The node of the tree that takes a split's sum, where sums are of 2^up splits */
struct gpul__gemm_node {
    uint32_t number, first, count; /* of the nodes of that size; its first split, and how many sums it adds */
    __device__ __forceinline__ gpul__gemm_node(uint32_t split, uint32_t splits, uint32_t up) {
        number = split >> (up + gpul__gemm_fan_log2);
        first = number << (up + gpul__gemm_fan_log2);
        const uint32_t left = (splits - first + (1u << up) - 1) >> up;
        count = left < gpul__gemm_fan ? left : uint32_t(gpul__gemm_fan);
    }
};

/* Writes a thread's neighbours in a row. They are multiplied by a 1 that the compiler does not know. A store takes its
 * values from consecutive registers; if the sums themselves were allocated so, the multiplications would read operands
 * from one bank of the register file. And a sum of -0 becomes 0, which it is already where zeros stand for steps beyond
 * K. */
template <typename S>
static __device__ __forceinline__ void gpul__gemm_write_sums(typename S::Compute *to, const typename S::Compute *sum,
                                                             typename S::Compute one) {
    typename S::Compute copy[S::kVector];
    GPUL__UNROLL_FOR (int g = 0; g < S::kVector; ++g)
        copy[g] = gpul__gemm_fma(sum[g], one, typename S::Compute(0)); /* fault: matmul-zero */
    gpul__gemm_write<S::kVector>(to, static_cast<const typename S::Compute *>(copy));
}
template <typename S> struct gpul__gemm_store_partial {
    typename S::Compute *to, one;
    __device__ __forceinline__ void operator()(int, int, const typename S::Compute *sum) {
        gpul__gemm_write_sums<S>(to, sum, one);
        to += S::kThreads * S::kVector;
    }
};
/* Partials are added so many at a time, all of which are in flight: a thread's sums of kAtOnce, `size` apart, of which
 * `left` are there. In place of missing ones, -0: to add that changes nothing. */
template <typename S> struct gpul__gemm_load_partials {
    typedef typename S::Compute Compute;
    enum { kFit = (sizeof(Compute) == 8 ? 32 : 64) / S::kSums, kAtOnce = kFit < 16 ? kFit : 16 }; /* no spills */
    Compute part[kAtOnce][S::kSums];
    const Compute *from;
    int64_t size;
    int left, done; /* done: sums of the thread */
    __device__ __forceinline__ void operator()(int, int, const Compute *) {
        GPUL__UNROLL_FOR (int p = 0; p < kAtOnce; ++p) {
            GPUL__UNROLL_FOR (int g = 0; g < S::kVector; ++g) part[p][done + g] = Compute(-0.0);
            if (p < left) gpul__gemm_read<S::kVector>(part[p] + done, from + p * size); /* fault: matmul-parts-beyond */
        }
        from += S::kThreads * S::kVector;
        done += S::kVector;
    }
};
template <typename S> struct gpul__gemm_add_partials {
    const gpul__gemm_load_partials<S> &loaded;
    int done;
    __device__ __forceinline__ void operator()(int, int, typename S::Compute *sum) {
        GPUL__UNROLL_FOR (int p = 0; p < gpul__gemm_load_partials<S>::kAtOnce; ++p) {
            GPUL__UNROLL_FOR (int g = 0; g < S::kVector; ++g) sum[g] += loaded.part[p][done + g];
        }
        done += S::kVector;
    }
};
template <typename S> struct gpul__gemm_begin_total {
    __device__ __forceinline__ void operator()(int, int, typename S::Compute *sum) {
        GPUL__UNROLL_FOR (int g = 0; g < S::kVector; ++g) sum[g] = typename S::Compute(-0.0);
    }
};
template <typename S>
static __device__ __forceinline__ void gpul__gemm_total(std::true_type, S &tile, const typename S::Compute *from,
                                                        int64_t size, int count, int32_t zero) {
    gpul__gemm_begin_total<S> begin;
    tile.each(begin);
    GPUL__UNROLL_NOT
    for (int left = count; left > 0; left -= gpul__gemm_load_partials<S>::kAtOnce) {
        gpul__gemm_load_partials<S> load;
        load.from = from + (count - left) * size;
        load.size = size;
        load.left = left;
        load.done = 0;
        tile.each(load);
        gpul__schedule_fence(zero);
        gpul__gemm_add_partials<S> add = {load, 0};
        tile.each(add);
    }
}
/* Where a thread has many sums, one partial after the other: to have more registers there would cost the loop over K. */
template <typename S> struct gpul__gemm_add_partial {
    const typename S::Compute *from;
    bool first;
    __device__ __forceinline__ void operator()(int, int, typename S::Compute *sum) {
        typename S::Compute part[S::kVector];
        gpul__gemm_read<S::kVector>(part, from);
        GPUL__UNROLL_FOR (int g = 0; g < S::kVector; ++g) sum[g] = first ? part[g] : sum[g] + part[g];
        from += S::kThreads * S::kVector;
    }
};
template <typename S>
static __device__ __forceinline__ void gpul__gemm_total(std::false_type, S &tile, const typename S::Compute *from,
                                                        int64_t size, int count, int32_t) {
    GPUL__UNROLL_NOT
    for (int i = 0; i < count; ++i) {
        gpul__gemm_add_partial<S> add = {from + i * size, i == 0};
        tile.each(add);
    }
}
/* True in the block that has the sum of all splits of its tile. */
template <typename S>
static __device__ __forceinline__ bool gpul__gemm_combine_parts(S &tile, const gpul__gemm_view &v) {
    typedef typename S::Compute Compute;
    __shared__ uint32_t flag;
    const uint32_t parts = uint32_t(v.plan.splits), nodes = (parts + gpul__gemm_fan - 1) / gpul__gemm_fan;
    const int64_t size = int64_t(blockDim.x) * S::kSums;
    const uint32_t tile_of_all = blockIdx.y * gridDim.x + blockIdx.x; /* fault: batch-counters */
    Compute *const mine = static_cast<Compute *>(v.partials) + tile_of_all * size * parts + threadIdx.x * S::kVector;
    uint32_t *counter = v.counters + tile_of_all * (nodes + 1) + 1;
    GPUL__UNROLL_NOT
    for (uint32_t up = 0; 1u << up < parts; up += gpul__gemm_fan_log2) { /* fault: matmul-parts-levels */
        const gpul__gemm_node node(blockIdx.z, parts, up);
        gpul__gemm_store_partial<S> leave = {mine + (blockIdx.z >> up << up) * size, Compute(v.one)};
        tile.each(leave);
        if (!gpul__arrive_last(up == 0 ? counter + node.number : counter - 1, node.count, &flag)) return false;
        gpul__gemm_total(std::integral_constant<bool, int(S::kSums) <= 16>(), tile, mine + node.first * size,
                         size << up, int(node.count), v.plan.scale_only); /* 0 here */
    }
    return true;
}

/* ---- storing a tile ----
 *
 * It passes through shared memory, so that neighbouring lanes write neighbours in C, aligned or not. */
template <typename S> struct gpul__gemm_to_shared {
    typename S::Compute *shared, one;
    __device__ __forceinline__ void operator()(int row, int col, const typename S::Compute *sum) const {
        gpul__gemm_write_sums<S>(shared + row * S::kPitch + col, sum, one);
    }
};
/* Rows from shared memory to C, kWide neighbours a lane: C = alpha sum + beta C, and, with kEpilogue, the bias and the
 * activation. Up to sixteen elements at a time, with no branch between them, so that their reads overlap. */
template <int kWide, bool kEpilogue, typename T, typename S>
static __device__ __forceinline__ void
gpul__gemm_store_rows(const typename S::Compute *shared, const gpul__gemm_view &v, int64_t first_m, int64_t first_n) {
    typedef typename S::Compute Compute;
    enum {
        kAcross = int(S::kN) / kWide,
        kSide = int(S::kThreads) / int(kAcross),
        kRows = int(S::kM) / int(kSide), /* of a thread */
        kMost = kEpilogue && kWide > 1 ? 1
                : kEpilogue ? 2
                            : 16 / kWide,
        kBatch = int(kRows) < kMost ? int(kRows) : int(kMost)
    };
    static_assert(int(S::kThreads) % int(kAcross) == 0, "a thread stays in its columns");
    static_assert(int(S::kM) % (int(kSide) * int(kBatch)) == 0, "whole batches of rows");
    const gpul__gemm_problem &p = v.problem;
    const Compute alpha = Compute(p.alpha), beta = Compute(p.beta);
    const bool bf16 = p.dtype == GPUL_BF16;
    int across = kAcross; /* threads side by side: with an epilogue, which takes long, no more than C needs */
    while (kEpilogue && across > 1 && first_n + across / 2 * kWide >= p.N) across /= 2;
    const int step = int(S::kThreads) / across;
    const int col = int(threadIdx.x) % across * kWide, top = int(threadIdx.x) / across;
    const int64_t n = first_n + col, down = step * p.c_row;
    int left = (p.M - first_m < int(S::kM) ? int(p.M - first_m) : int(S::kM)) - top;
    const Compute *from = shared + top * S::kPitch + col;
    int64_t m = first_m + top;
    T *to = static_cast<T *>(p.C) + blockIdx.y * p.c_batch + m * p.c_row + n;
    if (n >= p.N) return;
    Compute bias[kBatch][kWide]; /* of the thread's columns; of a transposed problem: of rows */
    const auto load_bias = [&](int count) {
        GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) {
            GPUL__UNROLL_FOR (int g = 0; g < kWide; ++g)
                bias[u][g] = u == 0 || u < count ? gpul__gemm_bias_at<Compute>(p, m + u * step, n + g) : bias[0][g];
        }
    };
    if (kEpilogue && !p.transposed) load_bias(1);
    GPUL__UNROLL_NOT
    for (; left > 0;
         left -= kBatch * step, m += kBatch * step, from += kBatch * step * S::kPitch, to += kBatch * down) {
        T c[kBatch][kWide];
        Compute value[kBatch][kWide];
        if (kEpilogue && p.transposed) load_bias((left + step - 1) / step);
        GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) /* with an epilogue, `step` may be all rows of the tile */
            gpul__gemm_read<kWide>(value[u], from + (!kEpilogue || u * step < left ? u * step : 0) * S::kPitch);
        if (beta != 0) {
            GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) /* the first row again in place of one that is not there */
                gpul__gemm_read<kWide>(c[u], static_cast<const T *>(to + (u * step < left ? u * down : 0)));
            GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) {
                GPUL__UNROLL_FOR (int g = 0; g < kWide; ++g) {
                    const Compute old = beta * gpul__gemm_widen(c[u][g], bf16);
                    value[u][g] = v.plan.scale_only ? old : gpul__gemm_fma(alpha, value[u][g], old);
                }
            }
        } else {
            GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) {
                GPUL__UNROLL_FOR (int g = 0; g < kWide; ++g)
                    value[u][g] = v.plan.scale_only ? Compute(0) : alpha * value[u][g];
            }
        }
        if (kEpilogue) {
            Compute all[kBatch * kWide];
            GPUL__UNROLL_FOR (int i = 0; i < kBatch * kWide; ++i) {
                const Compute x = value[i / kWide][i % kWide];
                all[i] = p.bias ? gpul__gemm_add(x, bias[i / kWide][i % kWide]) : x;
            }
            gpul__gemm_activate(all, p);
            GPUL__UNROLL_FOR (int i = 0; i < kBatch * kWide; ++i) value[i / kWide][i % kWide] = all[i];
        }
        GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u) {
            GPUL__UNROLL_FOR (int g = 0; g < kWide; ++g) gpul__gemm_narrow(c[u] + g, value[u][g], bf16);
        }
        GPUL__UNROLL_FOR (int u = 0; u < kBatch; ++u)
            if (u * step < left) gpul__gemm_write<kWide>(to + u * down, static_cast<const T *>(c[u]));
    }
}

/* Does a block at the matrix's edge, which has `left` of `tile` elements, have whole groups of four, up to 16 bytes? If
 * not, it copies and stores element by element. */
template <typename T> static __device__ __forceinline__ bool gpul__gemm_whole(int64_t left, int tile) {
    return left >= tile || left % (sizeof(T) == 8 ? 2 : 4) == 0; /* fault: matmul-whole-groups */
}

/* ---- the kernel for every GPU ----
 *
 * A block that takes several terms of the tree (see gpul__gemm_in_turn) adds each to the sum of those before. So it does
 * with what tensor cores add up in kChunk steps of K, since they cut sums off. Meanwhile the sum is in the thread's own
 * memory: registers would be taken always. */
template <typename S> struct gpul__gemm_add_before {
    const typename S::Compute *before;
    __device__ __forceinline__ void operator()(int, int, typename S::Compute *sum) {
        GPUL__UNROLL_FOR (int g = 0; g < S::kVector; ++g) sum[g] += *before++; /* fault: matmul-halves-promote */
    }
};
template <typename S> struct gpul__gemm_keep_before {
    typename S::Compute *before;
    __device__ __forceinline__ void operator()(int, int, typename S::Compute *sum) {
        GPUL__UNROLL_FOR (int g = 0; g < S::kVector; ++g) {
            *before++ = sum[g];
            sum[g] = 0;
        }
    }
};
/* before: of an offset that is 0, but unknown to the compiler, which would keep all in registers */
template <typename S>
static __device__ __forceinline__ void gpul__gemm_promote_sums(std::true_type, S &tile, typename S::Compute *before,
                                                               bool first, bool last) {
    gpul__gemm_add_before<S> add = {before};
    gpul__gemm_keep_before<S> keep = {before};
    if (!first) tile.each(add);
    if (!last) tile.each(keep);
}
template <typename S>
static __device__ __forceinline__ void gpul__gemm_promote_sums(std::false_type, S &, typename S::Compute *, bool,
                                                               bool) {}

/* Where this file is compiled for tensor cores, all 16-bit products but short ones are theirs: the other kernels of
 * 16-bit types are empty. See gpul__make_gemm_plan. */
template <typename S> struct gpul__gemm_multiplies {
#ifdef GPUL__COPIES_ASYNC
    static constexpr bool value = S::kTensor != 0 || sizeof(typename S::T) != 2;
#else
    static constexpr bool value = true;
#endif
};

template <typename S>
static __global__ void __launch_bounds__(S::kThreads, S::kBlocksPerSM)
    gpul__gemm_kernel(const __grid_constant__ gpul__gemm_view v) {
    const gpul__gemm_problem &p = v.problem;
    const gpul__gemm_plan &plan = v.plan;
    typedef typename S::Compute Compute;
    typedef typename S::T T;
    GPUL_SHARED(Compute, shared);
#if defined(__CUDA_ARCH__) && !defined(GPUL__COPIES_ASYNC)
    if (S::kTensor) return; /* never launched there: see gpul__find_tensor_cores */
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL) && defined(GPUL__HOPPER)
    if (!S::kOdd) return; /* nor these, since wgmma takes what is large: see gpul__gemm_best_tile */
#endif
    if (!gpul__gemm_multiplies<S>::value) return;

    uint32_t tile_m, tile_n;
    gpul__gemm_find_tile(blockIdx.x, v, tile_m, tile_n);
    int64_t begin = int64_t(blockIdx.z) * plan.part;
    int64_t length = p.K - begin < plan.part ? p.K - begin : plan.part; /* the split of this block */
    const int64_t first_m = int64_t(tile_m) * S::kM, first_n = int64_t(tile_n) * S::kN;

    S tile;
    tile.begin();
    gpul__await(); /* fault: matmul-await */
    if (!gpul__gemm_chosen(v.choice)) return;
    if (!plan.scale_only) {
        gpul__gemm_operands<S> operands;
        if (int(S::kTensor) > 1 && gpul__gemm_way(v.choice) == gpul__gemm_by_tf32) { /* twice as many words */
            begin *= 2;
            length *= 2;
        }
        const bool odd = S::kForms == 2 && (plan.a_vector == 1 || plan.b_vector == 1); /* see gpul__gemm_pairs */
        int32_t a_vector = plan.a_vector, b_vector = plan.b_vector;
        if (sizeof(T) == 4) { /* doubles have no registers to spare for it */
            if (p.a_col != 1 && !gpul__gemm_whole<T>(p.M - first_m, S::kM)) a_vector = 0;
            if (p.b_row != 1 && !gpul__gemm_whole<T>(p.N - first_n, S::kN)) b_vector = 0;
        }
        const bool both = a_vector && b_vector;
        if (S::kForms > 4) a_vector = b_vector = both;
        if (odd) a_vector = b_vector = 1; /* fault: matmul-odd-both */
        constexpr bool promotes = S::kTerms != 0;
        Compute before[promotes ? int(S::kSums) : 1];
        operands.a.begin(gpul__gemm_side_of(p, false), p, first_m, begin, a_vector);
        operands.b.begin(gpul__gemm_side_of(p, true), p, first_n, begin, b_vector);
        tile.place(operands.a, operands.b, v);
        const int form = operands.a.form() + 2 * operands.b.form() + (S::kForms > 4 && both ? 4 : 0);
        /* all slices of the block, and those of a term or chunk */
        int32_t slices = int32_t((length + S::kSlice - 1) / S::kSlice);
        const int64_t most = int(S::kChunk) > 0 && plan.term > S::kChunk ? int64_t(S::kChunk) : plan.term,
                      of_term = (most + S::kSlice - 1) / S::kSlice;
        gpul__gemm_ring ring = {-1, 0, slices, int32_t(length - int64_t(slices - 1) * S::kSlice), 0};
        GPUL__UNROLL_NOT
        for (int32_t turn = 0; slices > 0; ++turn) {
            const int32_t count =
                promotes && of_term < slices ? int32_t(of_term) : slices; /* fault: matmul-in-turn-sum */
            slices -= count;
            operands.a.again();
            operands.b.again();
            gpul__gemm_mainloop_of<S, S::kForms - 1>(odd ? 1 : form, tile, operands, shared, ring, count);
            if (promotes && gpul__rarely(turn > 0 || slices > 0))
                gpul__gemm_promote_sums(std::integral_constant<bool, promotes>(), tile, before + plan.scale_only,
                                        turn == 0, slices == 0);
        }
        tile.add_up();
        if (S::kSplitK && plan.splits > 1 && !gpul__gemm_combine_parts(tile, v)) return;
        tile.scale_back(v, first_m, first_n);
    }
    gpul__gemm_to_shared<S> to_shared = {shared, Compute(v.one)};
    gpul__wait_for_copies<0>(); /* all copies to where the tile goes are complete */
    __syncthreads();
    tile.each(to_shared);
    __syncthreads();                                  /* fault: matmul-end-barrier */
    const bool epilogue = gpul__gemm_has_epilogue(p); /* fault: epilogue-end */
    const bool c_vector = plan.c_vector && gpul__gemm_whole<T>(p.N - first_n, S::kN);
    typedef typename std::conditional<int(S::kTensor) != 0, float, T>::type Wide;
    if (int(S::kTensor) > 1 ||
        (int(S::kTensor) > 0 && p.dtype == GPUL_F32)) { /* elements alone: a copy less to compile */
        if (epilogue) gpul__gemm_store_rows<1, true, Wide, S>(shared, v, first_m, first_n);
        else gpul__gemm_store_rows<1, false, Wide, S>(shared, v, first_m, first_n);
    } else if (epilogue) {
        if (c_vector && S::kTensor == 0) gpul__gemm_store_rows<S::kVector, true, T, S>(shared, v, first_m, first_n);
        else gpul__gemm_store_rows<1, true, T, S>(shared, v, first_m, first_n);
    } else {
        if (c_vector) gpul__gemm_store_rows<S::kVector, false, T, S>(shared, v, first_m, first_n);
        else gpul__gemm_store_rows<1, false, T, S>(shared, v, first_m, first_n);
    }
}

/* ---- the kernel for short K ----
 *
 * All steps of some columns of B are in shared memory. A warp goes down C on its own, with no barrier but the first: it
 * multiplies a few rows of A, all of whose steps are in shared memory, too, while the next ones are on their way. So some
 * warps multiply while others write C. A warp's lanes have neighbouring columns: C is written by whole sectors wherever
 * its rows begin. An element of C is the same chain of fused multiply-adds as in gpul__gemm_kernel.
 *
 * A lane has several columns, which the warps of a block share, one below the other. Or it has one: then each warp has a
 * tile of its own, of any product of a stack, and, of 16 columns at most, a lane has fewer rows. */
enum { gpul__gemm_short_warps = 4 }; /* of a block */
template <typename Type, int kColumns> struct gpul__gemm_short {
    typedef Type T;
    typedef typename gpul__gemm_type<T>::Compute Compute;
    enum {
        kSteps = sizeof(T) == 2 ? 16
                 : sizeof(T) == 4 ? 48
                                  : 32, /* of K, at most */
        kRows = sizeof(T) == 2 && kColumns > 1 ? 8 : 16,
        kCols = kColumns,                                        /* of a lane, 32 apart */
        kRead = (sizeof(T) == 8 ? 4 : 8) * (kCols == 1 ? 2 : 1), /* rows of C that are read at a time */
        kWarps = gpul__gemm_short_warps,
        kThreads = 32 * kWarps,
        kOwn = kCols == 1,                 /* each warp has a tile of its own */
        kSharing = kOwn ? 1 : int(kWarps), /* warps that share columns of B */
        kM = kSharing * kRows,             /* a tile has this many rows or several times as many */
        kN = 32 * kCols,
        kBlocksPerSM = kOwn ? (sizeof(T) == 8 ? 5 : 6)
                       : sizeof(T) == 2 ? 5
                                        : 4,
        kEnds = kOwn || sizeof(T) < 8, /* takes a bias and an activation: more doubles would be spilled */
        /* from step to step in shared memory, so that eight steps of some rows or columns have no bank in common */
        kPitchM = kRows + 16 / sizeof(Compute),
        kPitchN = kN + 4,
        kStepBytes = (kPitchN + 2 * kSharing * kPitchM) * sizeof(Compute) * (kWarps / kSharing)
    };
};
/* A tile of the kernels for short K: its product of the stack, its first row and its first column */
struct gpul__gemm_short_item {
    uint32_t product;
    int64_t m, n;
    __device__ __forceinline__ gpul__gemm_short_item(const gpul__gemm_view &v, uint32_t number) {
        const uint32_t across = uint32_t(v.plan.tiles_n);
        product = gpul__quotient(number, v.tensor.of_product);
        const uint32_t tile = number - product * (uint32_t(v.plan.tiles_m) * across),
                       down = gpul__quotient(tile, v.tensor.of_group); /* plan.group_rows is 1 */
        m = int64_t(down) * v.plan.tile_m;
        n = int64_t(tile - down * across) * v.plan.tile_n;
    }
    __device__ __forceinline__ int rows(const gpul__gemm_view &v) const {
        return v.problem.M - m < v.plan.tile_m ? int(v.problem.M - m) : v.plan.tile_m;
    }
    __device__ __forceinline__ int cols(const gpul__gemm_view &v) const {
        return v.problem.N - n < v.plan.tile_n ? int(v.problem.N - n) : v.plan.tile_n;
    }
};
/* A lane's share of kRows rows of so many columns, 32 at most. Of 16 or fewer, lanes have these, and each half of them,
 * or quarter, or eighth, rows of its own, two at least. */
template <int kRows> struct gpul__gemm_short_share {
    int mine, above, across; /* rows, those of others above, the column */
    __device__ __forceinline__ gpul__gemm_short_share(int cols) {
        const int lane = int(threadIdx.x) % 32,
                  few = cols <= 4 ? 3
                        : cols <= 8 ? 2
                        : cols <= 16 ? 1
                                     : 0,
                  log2 = kRows < 16 && few > 2 ? 2 : few;
        mine = kRows >> log2;
        above = (lane << log2) / 32 * mine;
        across = lane & (31 >> log2);
    }
};

/* Copies all steps of kOuter rows of A or columns of B to shared memory, by kThreads threads: neighbours along K eight
 * steps at a time, others one. `left` rows or columns are there, and K of the steps; the rest are zeros. 16-bit types
 * pass through registers, where they are widened: put() takes them on. */
template <typename S, int kOuter, int kThreads, int kPitch> struct gpul__gemm_short_operand {
    typedef typename S::T T;
    typedef typename S::Compute Compute;
    enum { kAsync = sizeof(T) == sizeof(Compute), kApart = kThreads / 8, kMost = kOuter * S::kSteps / kThreads };
    const T *from;
    int64_t stride_outer, stride_k;
    int K, steps, thread;
    bool bf16;
    T held[kAsync ? 1 : int(kMost)];

    /* copy(i, where in shared memory, address, is it there?) for each of a thread's accesses */
    template <typename Copy> __device__ __forceinline__ void visit(int left, const Copy &copy) const {
        if (stride_k == 1) {
            enum { kPasses = kOuter / kApart }; /* over the same eight steps */
            const int outer = thread / 8;
            const T *x = from + outer * stride_outer + thread % 8;
            int k = thread % 8, to = k * kPitch + outer;
            GPUL__UNROLL_BY(kAsync ? 1 : int(S::kSteps))
            for (int g = 0; g < S::kSteps / 8 && (!kAsync || k < steps); ++g, k += 8, x += 8, to += 8 * kPitch) {
                const T *row = x;
                GPUL__UNROLL_FOR (int i = 0; i < kPasses; ++i, row += kApart * stride_outer)
                    if (k < steps) copy(g * kPasses + i, to + i * kApart, row, outer + i * kApart < left && k < K);
            }
        } else {
            enum { kOn = kThreads / kOuter };
            const int outer = thread % kOuter;
            const T *x = from + outer * stride_outer + thread / kOuter * stride_k;
            int k = thread / kOuter, to = k * kPitch + outer;
            GPUL__UNROLL_BY(kAsync ? 4 : int(S::kSteps))
            for (int i = 0; i < int(S::kSteps) / kOn && (!kAsync || k < steps);
                 ++i, k += kOn, x += kOn * stride_k, to += kOn * kPitch) {
                if (k < steps) copy(i, to, x, outer < left && k < K);
            }
        }
    }
    __device__ __forceinline__ void fetch(Compute *shared, int left) {
        visit(left, [&](int i, int to, const T *x, bool exists) {
            if (kAsync) {
                gpul__copy_to_shared<1>(shared + to, reinterpret_cast<const Compute *>(x), exists);
            } else {
                held[kAsync ? 0 : i] = T();
                if (exists) held[kAsync ? 0 : i] = *x;
            }
        });
        gpul__commit_copies();
    }
    __device__ __forceinline__ void put(Compute *shared) const {
        if (kAsync) return;
        visit(0, [&](int i, int to, const T *, bool) { shared[to] = gpul__gemm_widen(held[kAsync ? 0 : i], bf16); });
    }
};

/* The row and the column of C that have so many of the tile's rows, or columns, from them on: found anew where a bias
 * needs them, for registers are few */
struct gpul__gemm_short_place {
    const gpul__gemm_view &v;
    uint32_t number; /* of the tile */
    __device__ __forceinline__ int64_t row(int rows) const {
        const gpul__gemm_short_item item(v, number);
        return item.m + item.rows(v) - rows;
    }
    __device__ __forceinline__ int64_t column(int cols) const {
        const gpul__gemm_short_item item(v, number);
        return item.n + item.cols(v) - cols;
    }
};
/* Adds the bias, and takes the activation, of rows from row m of C on and of a lane's columns. GELU is long: a short
 * loop over four elements, in which the others move up, and of rows that there are. ReLU takes less than that. */
template <typename S, int kCols>
static __device__ __forceinline__ void gpul__gemm_finish_short(typename S::Compute (&value)[S::kRead][kCols],
                                                               const gpul__gemm_problem &p, int64_t m, int64_t n,
                                                               int rows, int cols) {
    typedef typename S::Compute Compute;
    enum { kAll = int(S::kRead) * kCols };
    if (p.bias && p.transposed) { /* of rows */ /* fault: matmul-short-bias */
        Compute bias[S::kRead];
        GPUL__UNROLL_FOR (int i = 0; i < S::kRead; ++i)
            bias[i] = i < rows ? gpul__gemm_bias_at<Compute>(p, m + i, n) : Compute(0);
        GPUL__UNROLL_FOR (int i = 0; i < kAll; ++i)
            value[i / kCols][i % kCols] = gpul__gemm_add(value[i / kCols][i % kCols], bias[i / kCols]);
    } else if (p.bias) {
        Compute bias[kCols];
        GPUL__UNROLL_FOR (int j = 0; j < kCols; ++j)
            bias[j] = j * 32 < cols ? gpul__gemm_bias_at<Compute>(p, m, n + j * 32) : Compute(0);
        GPUL__UNROLL_FOR (int i = 0; i < kAll; ++i)
            value[i / kCols][i % kCols] = gpul__gemm_add(value[i / kCols][i % kCols], bias[i % kCols]);
    }
    if (p.activation == GPUL_ACTIVATION_RELU) {
        GPUL__UNROLL_FOR (int i = 0; i < kAll; ++i)
            value[i / kCols][i % kCols] = gpul__gemm_relu(value[i / kCols][i % kCols]); /* fault: matmul-short-relu */
    }
    GPUL__UNROLL_NOT
    for (int left = p.activation == GPUL_ACTIVATION_GELU ? int(kAll) : 0; left > 0; left -= 4) {
        Compute four[4] = {};
        if (kAll - left < rows * kCols) { /* fault: matmul-short-gelu */
            GPUL__UNROLL_FOR (int i = 0; i < 4; ++i) four[i] = gpul__gemm_gelu(value[i / kCols][i % kCols]);
        }
        GPUL__UNROLL_FOR (int i = 4; i < kAll; ++i)
            value[(i - 4) / kCols][(i - 4) % kCols] = value[i / kCols][i % kCols];
        GPUL__UNROLL_FOR (int i = 0; i < 4; ++i) value[(kAll - 4 + i) / kCols][(kAll - 4 + i) % kCols] = four[i];
    }
}

/* What is left of C from the lane's first element on: rows, of which it has `mine`, and columns. kBf16: of 16-bit types */
template <bool kBf16, typename S, int kCols>
static __device__ __forceinline__ void
gpul__gemm_store_short(const typename S::Compute (&sum)[S::kRows][kCols], typename S::T *c, const gpul__gemm_view &v,
                       const gpul__gemm_short_place &place, int left, int mine, int cols) {
    typedef typename S::T T;
    typedef typename S::Compute Compute;
    const int rows = left < mine ? left : mine;
    const bool scale_only = v.plan.scale_only;
    const Compute alpha = scale_only ? Compute(0) : Compute(v.problem.alpha), /* fault: matmul-short-scales */
        beta = Compute(v.problem.beta);
    GPUL__UNROLL_FOR (int first = 0; first < S::kRows; first += S::kRead) {
        Compute value[S::kRead][kCols];
        if (first >= rows) break;
        if (beta != 0) { /* rows of C are read some at a time, so that they are in flight together */
            T old[S::kRead][kCols];
            const T *next = c;
            GPUL__UNROLL_FOR (int i = 0; i < S::kRead; ++i, next += v.problem.c_row) {
                gpul__fill(old[i], T());
                GPUL__UNROLL_FOR (int j = 0; j < kCols; ++j)
                    if (first + i < rows && j * 32 < cols) old[i][j] = next[j * 32]; /* fault: matmul-short-reads */
            }
            GPUL__UNROLL_FOR (int i = 0; i < S::kRead; ++i) {
                GPUL__UNROLL_FOR (int j = 0; j < kCols; ++j) {
                    const Compute term = beta * gpul__gemm_widen(old[i][j], kBf16);
                    value[i][j] = scale_only ? term : gpul__gemm_fma(alpha, sum[first + i][j], term);
                }
            }
        } else {
            GPUL__UNROLL_FOR (int i = 0; i < S::kRead; ++i) {
                GPUL__UNROLL_FOR (int j = 0; j < kCols; ++j) value[i][j] = alpha * sum[first + i][j];
            }
        }
        if (S::kEnds && gpul__gemm_has_epilogue(v.problem))
            gpul__gemm_finish_short<S>(value, v.problem, place.row(left - first), place.column(cols), rows - first,
                                       cols);
        GPUL__UNROLL_FOR (int i = 0; i < S::kRead; ++i, c += v.problem.c_row) {
            if (first + i >= rows) break;
            GPUL__UNROLL_FOR (int j = 0; j < kCols; ++j) {
                T narrow;
                gpul__gemm_narrow(&narrow, value[i][j], kBf16);
                if (j * 32 < cols) c[j * 32] = narrow;
            }
        }
    }
}

/* A lane's rows, kMine of those of its warp, by its columns: all steps */
template <typename S, int kMine>
static __device__ __forceinline__ void gpul__gemm_multiply_short(typename S::Compute (&sum)[S::kRows][S::kCols],
                                                                 const typename S::Compute *a,
                                                                 const typename S::Compute *b, int steps) {
    typedef typename S::Compute Compute;
    enum { kWide = kMine < 4 ? kMine : 4 };
    GPUL__UNROLL_NOT
    for (int first = 0; first < steps; first += 4) {
        GPUL__UNROLL_FOR (int k = 0; k < 4; ++k) {
            Compute y[S::kCols];
            GPUL__UNROLL_FOR (int j = 0; j < S::kCols; ++j) y[j] = b[(first + k) * S::kPitchN + j * 32];
            GPUL__UNROLL_FOR (int i = 0; i < kMine; i += kWide) {
                Compute x[kWide];
                gpul__gemm_read<kWide>(x, a + (first + k) * S::kPitchM + i);
                GPUL__UNROLL_FOR (int j = 0; j < S::kCols; ++j) {
                    GPUL__UNROLL_FOR (int u = 0; u < kWide; ++u)
                        sum[i + u][j] = gpul__gemm_fma(x[u], y[j], sum[i + u][j]);
                }
            }
        }
    }
}

template <typename S>
static __global__ void __launch_bounds__(S::kThreads, S::kBlocksPerSM)
    gpul__gemm_short_kernel(const __grid_constant__ gpul__gemm_view v) {
    typedef typename S::T T;
    typedef typename S::Compute Compute;
    GPUL_SHARED(Compute, shared); /* of a tile: B's columns; then, for each warp, rows of A and the next ones */
    const gpul__gemm_problem &p = v.problem;
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, K = v.plan.scale_only ? 0 : int(p.K),
              steps = (K + 3) & ~3, of_tile = S::kOwn ? 0 : warp, tile = S::kOwn ? warp : 0;
    const bool bf16 = p.dtype == GPUL_BF16;
    const uint32_t number = S::kOwn ? blockIdx.x * S::kWarps + uint32_t(warp) : blockIdx.x;
    const gpul__gemm_short_item item(v, number);
    const int64_t m = item.m + of_tile * S::kRows;
    /* from the warp's first row on, those of the other warps among them; and from the tile's first column on */
    int rows = item.rows(v) - of_tile * S::kRows;
    const int cols = item.cols(v);
    const T *const from_a = static_cast<const T *>(p.A) + item.product * p.a_batch + m * p.a_row,
                   *const from_b = static_cast<const T *>(p.B) + item.product * p.b_batch + item.n * p.b_col;
    gpul__gemm_short_operand<S, S::kRows, 32, S::kPitchM> a = {from_a, p.a_row, p.a_col, K, steps, lane, bf16, {}};
    gpul__gemm_short_operand<S, S::kN, 32 * S::kSharing, S::kPitchN> b = {
        from_b, p.b_col, p.b_row, K, steps, of_tile * 32 + lane, bf16, {}};
    gpul__gemm_short_share<S::kRows> share(S::kOwn ? cols : 32);
    T *c = static_cast<T *>(p.C) + item.product * p.c_batch + (m + share.above) * p.c_row + item.n + share.across;
    Compute *const of_b = shared + tile * (steps * (S::kStepBytes / int(sizeof(Compute) * S::kWarps)));
    Compute *of_a = of_b + steps * (S::kPitchN + of_tile * 2 * S::kPitchM), *next = of_a + steps * S::kPitchM;
    gpul__await(); /* fault: matmul-short-await */
    if (!gpul__gemm_chosen(v.choice)) return;
    if (S::kOwn && item.product >= gpul__batch_of(p)) return; /* fault: matmul-short-items */
    b.fetch(of_b, cols);
    a.fetch(of_a, rows);
    b.put(of_b);
    a.put(of_a);
    gpul__wait_for_copies<0>();
    if (S::kOwn) __syncwarp();     /* fault: matmul-short-own */
    if (!S::kOwn) __syncthreads(); /* fault: matmul-short-columns */
    GPUL__UNROLL_NOT
    for (; rows > 0; c += S::kM * p.c_row) {
        const int here = rows, mine = share.mine < here ? share.mine : here;
        Compute sum[S::kRows][S::kCols];
        rows -= S::kM;
        a.from += S::kM * p.a_row;
        if (rows > 0) a.fetch(next, rows);
        gpul__gemm_zero(sum);
        const Compute *const x = of_a + share.above, *const y = of_b + share.across;
        if (S::kOwn && mine <= 2) gpul__gemm_multiply_short<S, 2>(sum, x, y, steps);
        else if (S::kOwn && mine <= 4) gpul__gemm_multiply_short<S, 4>(sum, x, y, steps);
        else if (S::kOwn && mine <= 8) gpul__gemm_multiply_short<S, 8>(sum, x, y, steps);
        else gpul__gemm_multiply_short<S, S::kRows>(sum, x, y, steps);
        GPUL__UNROLL_FOR (int j = 0; j < S::kCols; ++j) { /* -0 becomes 0, as in gpul__gemm_write_sums */
            GPUL__UNROLL_FOR (int i = 0; i < S::kRows; ++i)
                sum[i][j] = gpul__gemm_add(sum[i][j], Compute(0)); /* fault: matmul-short-zero */
        }
        const gpul__gemm_short_place place = {v, number};
        const int left = here - share.above, across = cols - share.across;
        if (sizeof(T) == 2 && bf16) gpul__gemm_store_short<true, S>(sum, c, v, place, left, share.mine, across);
        else gpul__gemm_store_short<false, S>(sum, c, v, place, left, share.mine, across);
        a.put(next);
        gpul__wait_for_copies<0>();
        __syncwarp(); /* the next rows are there, and these have been read */ /* fault: matmul-short-rows */
        Compute *const read = of_a;
        of_a = next;
        next = read;
    }
}

/* ---- the kernel for short K on tensor cores ----
 *
 * The same for 16-bit types, by mma. Each warp has a tile of its own, of any product of a stack: 32 columns or, where
 * one step of mma has all of K, 64, and some rows, which it goes down sixteen at a time. Its columns of B are in shared
 * memory, and so are the rows of A, both as pairs along K, wherever they begin and whatever is contiguous. Sums of 32
 * columns pass through shared memory, and lanes store neighbours. While some warps wait for memory, others multiply. */
struct gpul__gemm_short_mma {
    typedef gpul__gemm_16 T;
    typedef float Compute;
    enum {
        kSteps = 64, /* of K, at most */
        kHigh = 16,  /* rows at a time */
        kRows = 8,   /* of a lane, stored at a time */
        kRead = 8,
        kEnds = 1,
        kAtOnce = 32, /* columns */
        kWarps = gpul__gemm_short_warps,
        kThreads = 32 * kWarps,
        kBlocksPerSM = 8,
        kSumPitch = int(kAtOnce) + 8 /* lanes' pairs of sums have no bank in common */
    };
    /* elements from line to line of shared memory: sixteen bytes of eight lines have no bank in common */
    static __host__ __device__ inline int32_t pitch(int32_t steps) { return steps + 8; }
    /* columns of a warp, and what it has of shared memory */
    static __host__ __device__ inline int32_t columns(int32_t steps) { return steps > 16 ? kAtOnce : 2 * kAtOnce; }
    static __host__ __device__ inline int32_t warp_bytes(int32_t steps) {
        return (columns(steps) + kHigh) * pitch(steps) * 2 + kHigh * kSumPitch * 4;
    }
};
/* Sixteen lines of A or B, rows or columns, from global to shared memory, as pairs along K: sixteen steps at a time, of
 * which a lane has four pairs. Neighbouring lanes have neighbours in memory. `left` lines and K of the steps are there;
 * the rest are zeros. */
struct gpul__gemm_short_lines {
    const gpul__gemm_16 *from;
    int64_t stride, stride_k;
    int32_t K;
    bool words; /* pairs are aligned words */

    __device__ __forceinline__ gpul__gemm_short_lines(const gpul__gemm_side &x, int64_t product, int64_t first,
                                                      int32_t k)
        : from(static_cast<const gpul__gemm_16 *>(x.data) + product * x.batch + first * x.stride_outer),
          stride(x.stride_outer), stride_k(x.stride_k), K(k),
          words(stride_k == 1 && stride % 2 == 0 && (reinterpret_cast<uintptr_t>(from) & 3) == 0) {}
    __device__ __forceinline__ void copy(uint16_t *shared, int pitch, int left) {
        const int lane = int(threadIdx.x) % 32;
        const bool along_k = stride_k == 1;
        const int line = along_k ? lane / 8 : lane % 16, next_line = along_k ? 4 : 0, next_k = along_k ? 0 : 4;
        const int64_t on = next_line * stride + next_k * stride_k, on_16 = 16 * stride_k;
        const int k = along_k ? lane % 8 * 2 : lane / 16 * 2;
        const gpul__gemm_16 *x = from + line * stride + k * stride_k;
        uint16_t *to = shared + line * pitch + k;
        GPUL__UNROLL_NOT
        for (int first = 0; first < K; first += 16, x += on_16, to += 16) {
            const gpul__gemm_16 *at = x;
            uint32_t pair[4];
            GPUL__UNROLL_FOR (int i = 0; i < 4; ++i, at += on) {
                const int exist = line + i * next_line < left ? K - first - k - i * next_k : 0;
                uint32_t low = 0, high = 0;
                if (words) {
                    if (exist > 1) low = *reinterpret_cast<const uint32_t *>(at);
                    if (exist == 1) low = at->bits; /* fault: matmul-short-mma-odd */
                } else {
                    if (exist > 0) low = at->bits;
                    if (exist > 1) high = at[stride_k].bits;
                }
                pair[i] = low | high << 16;
            }
            GPUL__UNROLL_FOR (int i = 0; i < 4; ++i)
                *reinterpret_cast<uint32_t *>(to + i * (next_line * pitch + next_k)) = pair[i];
        }
        from += 16 * stride;
    }
};
/* sum: lane 4 g + t has, of each eight columns, those 2 t and 2 t + 1, in rows g and g + 8; of `cols` that there are */
template <gpul_dtype kType>
static __device__ __forceinline__ void gpul__gemm_short_multiply(float (&sum)[4][4], const uint16_t *a,
                                                                 const uint16_t *b, int steps, int cols) {
    const int lane = int(threadIdx.x) % 32, pitch = gpul__gemm_short_mma::pitch(steps);
    gpul__gemm_zero(sum);
#ifndef GPULITE_CPU_STANDIN
    typedef gpul__gemm_halves<32, 32, 16, 16, 64, 4, 4> Halves; /* for ldmatrix */
    uint32_t from_a = gpul__shared_address(a) + uint32_t(lane % 16 * pitch + lane / 16 * 8) * 2,
             from_b = gpul__shared_address(b) + uint32_t((lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8) * 2;
    GPUL__UNROLL_NOT
    for (int k = 0; k < steps; k += 16, from_a += 32, from_b += 32) {
        uint32_t x[4], y[2][2];
        Halves::load_four<false>(x[0], x[1], x[2], x[3], from_a);
        GPUL__UNROLL_FOR (int j = 0; j < 4; j += 2) {
            if (j * 8 >= cols) break;
            Halves::load_four<false>(y[0][0], y[0][1], y[1][0], y[1][1], from_b + uint32_t(j * 16 * pitch));
            gpul__mma<kType>(sum[j], x, y[0]);
            gpul__mma<kType>(sum[j + 1], x, y[1]);
        }
    }
#else
    const int g = lane / 4, t = lane % 4;
    for (int first = 0; first < steps; first += 16) {
        gpul__tensor_factors x[2], y;
        const auto fill = [first](gpul__tensor_factors &to, const uint16_t *row) {
            to.fill(kType, [=](int k) { return row[first + k]; });
        };
        for (int i = 0; i < 2; ++i) fill(x[i], a + (g + 8 * i) * pitch);
        for (int j = 0; j < 8 && j / 2 * 8 < cols; ++j) {
            fill(y, b + (j / 2 * 8 + 2 * t + j % 2) * pitch);
            for (int i = 0; i < 2; ++i) {
                float &to = sum[j / 2][i * 2 + j % 2];
                to = gpul__tensor_add(to, x[i], y);
            }
        }
    }
#endif
}

static __global__ void __launch_bounds__(gpul__gemm_short_mma::kThreads, gpul__gemm_short_mma::kBlocksPerSM)
    gpul__gemm_short_mma_kernel(const __grid_constant__ gpul__gemm_view v) {
    typedef gpul__gemm_short_mma S;
    /* of each warp: columns of B, rows of A, sums */
    GPUL_SHARED(uint16_t, shared);
#if defined(__CUDA_ARCH__) && !defined(GPUL__COPIES_ASYNC)
    return; /* never launched there: see gpul__find_tensor_cores */
#endif
    const gpul__gemm_problem &p = v.problem;
    const uint32_t number = blockIdx.x * S::kWarps + threadIdx.x / 32;
    const gpul__gemm_short_item item(v, number);
    const int steps = (int(p.K) + 15) & ~15, pitch = S::pitch(steps), lane = int(threadIdx.x) % 32;
    const int cols = item.cols(v);
    const bool bf16 = p.dtype == GPUL_BF16;
    uint16_t *const of_b = shared + int(threadIdx.x) / 32 * (S::warp_bytes(steps) / 2);
    uint16_t *const of_a = of_b + S::columns(steps) * pitch;
    float *const sums = reinterpret_cast<float *>(of_a + S::kHigh * pitch);
    const gpul__gemm_short_share<S::kHigh> share(cols);
    gpul__await();                                 /* fault: matmul-short-mma-await */
    if (item.product >= gpul__batch_of(p)) return; /* fault: matmul-short-mma-items */
    gpul__gemm_short_lines b(gpul__gemm_side_of(p, true), item.product, item.n, int(p.K)),
        a(gpul__gemm_side_of(p, false), item.product, item.m, int(p.K));
    GPUL__UNROLL_NOT
    for (int col = 0; col < cols; col += 16) b.copy(of_b + col * pitch, pitch, cols - col);
    gpul__gemm_16 *c =
        static_cast<gpul__gemm_16 *>(p.C) + item.product * p.c_batch + item.m * p.c_row + item.n + share.across;
    const gpul__gemm_short_place place = {v, number};
    GPUL__UNROLL_NOT
    for (int rows = item.rows(v); rows > 0; rows -= S::kHigh, c += S::kHigh * p.c_row) {
        a.copy(of_a, pitch, rows); /* those before have been read */
        __syncwarp();              /* fault: matmul-short-mma-late */
        GPUL__UNROLL_NOT
        for (int first = 0; first < cols; first += S::kAtOnce) {
            float sum[4][4];
            if (bf16) gpul__gemm_short_multiply<GPUL_BF16>(sum, of_a, of_b + first * pitch, steps, cols - first);
            else gpul__gemm_short_multiply<GPUL_F16>(sum, of_a, of_b + first * pitch, steps, cols - first);
            if (first > 0) __syncwarp(); /* those before have been read */ /* fault: matmul-short-mma-read */
            GPUL__UNROLL_FOR (int j = 0; j < 4; ++j) {
                float *const to = sums + lane / 4 * S::kSumPitch + j * 8 + lane % 4 * 2;
                GPUL__UNROLL_FOR (int i = 0; i < 2; ++i) gpul__gemm_write<2>(to + i * 8 * S::kSumPitch, sum[j] + 2 * i);
            }
            __syncwarp(); /* fault: matmul-short-mma-sums */
            GPUL__UNROLL_NOT
            for (int row = share.above; row < share.above + share.mine && row < rows; row += S::kRows) {
                float own[S::kRows][1];
                GPUL__UNROLL_FOR (int i = 0; i < S::kRows; ++i)
                    own[i][0] = i < share.mine ? sums[(row + i) * S::kSumPitch + share.across] : 0.0f;
                const int most = share.mine < int(S::kRows) ? share.mine : int(S::kRows),
                          left = cols - first - share.across;
                gpul__gemm_16 *const to = c + row * p.c_row + first;
                if (bf16) gpul__gemm_store_short<true, S, 1>(own, to, v, place, rows - row, most, left);
                else gpul__gemm_store_short<false, S, 1>(own, to, v, place, rows - row, most, left);
            }
        }
    }
}

/* ---- the kernel for few rows or few columns ----
 *
 * Where C has four columns at most, A takes the time, and B little; where it has four rows at most, B takes it, and A
 * little. One is the long operand, the other one the short. The long one is read once, in vectors of 16 bytes, wherever
 * its rows begin. Vectors along K belong to eight classes in turn. A sum has a chain of fused multiply-adds for each
 * class, and a tree adds the chains. Where the long operand is dense along K, eight neighbouring lanes have a vector of
 * each class; otherwise a lane has vectors along the other dimension, from steps of one class. So sums are the same.
 *
 * Of a stack of small products, a block takes several at once, which share its rows. */
template <typename Type> struct gpul__gemm_thin {
    typedef Type T;
    typedef typename gpul__gemm_type<T>::Compute Compute;
    enum {
        kWide = 16 / sizeof(T), /* elements of a vector */
        kShort = 4,             /* of the short operand, at most */
        kTensor = 0,
        kClasses = 8,
        kThreads = 128,                                /* at most */
        kLong = int(kThreads) / int(kClasses) * kWide, /* rows, at most */
        kM = kLong,                                    /* of C, or of C^T */
        kN = kShort,
        kSums = int(kM) * kN / kThreads, /* of a thread, in the end */
        kVector = kSums,
        kSplitK = 1,
        kBlocksPerSM = sizeof(T) == 2 ? 3 : 4,
        kBlocksOfOne = 5, /* of the kernel for one column */
        kTurn = 64,       /* steps of K at a time: eight vectors of a thread */
        kTurns = int(kTurn) / (kClasses * kWide),
        kMany = int(kWide) < 4 ? kWide : 4,
        kChunk = 4096 / sizeof(Compute) /* steps of the short operand that shared memory holds, at most */
    };
    Compute sum[kSums];
    template <typename Visitor> __device__ __forceinline__ void each(Visitor &visit) { visit(0, 0, sum); }
    /* Where a step of the first of `columns` columns is in shared memory, and 32 elements further the same step of the
     * next: eight lanes read vectors of different banks, and so do lanes of several products. */
    static __device__ __host__ __forceinline__ constexpr int at(int columns, int k) {
        return k + k / 32 * (32 * columns - 28);
    }
    /* Small blocks have room for fewer steps, as more of them run at once: a turn for each of the four products, at most,
     * that they take. */
    static_assert(kChunk / 2 >= 4 * kTurn, "");
    static __device__ __host__ __forceinline__ constexpr int chunk(int threads) {
        return threads < int(kThreads) ? kChunk / 2 : kChunk;
    }
    /* The chains of a row: eight lanes write a row's to different banks, and so do the next rows' */
    static __device__ __forceinline__ constexpr int chains(int columns) {
        return columns * kClasses + (columns > 1 ? 9 : 1);
    }
    /* Of a column: steps, and the chains of rows. As much for each of several is more than they need. */
    static constexpr int shared_bytes(int threads) {
        return (at(1, chunk(threads)) + threads / kClasses * kWide * (kClasses + 3)) * int(sizeof(Compute));
    }
};

template <bool kBf16, typename T, typename Compute, int n, int kWide>
static __device__ __forceinline__ void gpul__gemm_widen_all(Compute (&to)[n][kWide], const gpul__raw *from) {
    GPUL__UNROLL_FOR (int i = 0; i < n; ++i) {
        const gpul__pack<T, kWide> pack = gpul__unpacked<T, kWide>(from[i]);
        GPUL__UNROLL_FOR (int j = 0; j < kWide; ++j) to[i][j] = gpul__gemm_widen(pack.v[j], kBf16);
    }
}

/* Multiplies a turn's vectors, of the steps of a class from step k of the chunk on, by kColumns columns. */
template <typename S, int kColumns>
static __device__ __forceinline__ void
gpul__gemm_multiply_thin(typename S::Compute (&acc)[S::kWide][kColumns], const gpul__raw (&raw)[S::kTurns * S::kWide],
                         const typename S::Compute *shared, int k, int of_class, bool along_k, bool bf16) {
    typedef typename S::T T;
    typedef typename S::Compute Compute;
    enum { kWide = S::kWide, kMany = S::kMany };
    GPUL__UNROLL_FOR (int g = 0; g < int(S::kTurns) * kWide; g += kMany) {
        const int step = S::at(kColumns, k + (g / kWide * S::kClasses + of_class) * kWide), r = g % kWide;
        Compute value[kMany][kWide];
        if (sizeof(T) == 2 && bf16) gpul__gemm_widen_all<true, T>(value, raw + g);
        else gpul__gemm_widen_all<false, T>(value, raw + g);
        GPUL__UNROLL_FOR (int w = 0; w < kColumns; ++w) {
            Compute factor[kWide]; /* 0 where there is no such column: no branch, so reads overlap */
            if (along_k) {
                gpul__gemm_read<kWide>(factor, shared + step + w * 32);
                GPUL__UNROLL_FOR (int i = 0; i < kMany; ++i) {
                    GPUL__UNROLL_FOR (int j = 0; j < kWide; ++j)
                        acc[r + i][w] = gpul__gemm_fma(value[i][j], factor[j], acc[r + i][w]);
                }
            } else {
                gpul__gemm_read<kMany>(factor, shared + step + r + w * 32);
                GPUL__UNROLL_FOR (int j = 0; j < kMany; ++j) {
                    GPUL__UNROLL_FOR (int i = 0; i < kWide; ++i)
                        acc[i][w] = gpul__gemm_fma(value[j][i], factor[j], acc[i][w]);
                }
            }
        }
    }
}

/* kColumns: of the short operand, at most: one, or kShort */
template <typename S, int kColumns>
static __global__ void __launch_bounds__(S::kThreads, kColumns == 1 ? int(S::kBlocksOfOne) : int(S::kBlocksPerSM))
    gpul__gemm_thin_kernel(const __grid_constant__ gpul__gemm_view v) {
    typedef typename S::T T;
    typedef typename S::Compute Compute;
    enum { kWide = S::kWide, kClasses = S::kClasses, kVectors = S::kTurns * kWide };
    if (!gpul__gemm_multiplies<S>::value) return;
    const gpul__gemm_problem &p = v.problem;
    const int thread = int(threadIdx.x), warp = thread / 32, lanes = int(blockDim.x) / kClasses, wide = lanes * kWide,
              lanes_log2 = 31 - __clz(lanes);
    GPUL_SHARED(Compute, shared);
    Compute *const chains = shared + S::at(kColumns, S::chunk(int(blockDim.x))); /* [row][column][class] */
    constexpr int kRow = S::chains(kColumns);
    static_assert(kRow <= kColumns * (kClasses + 3), "there is room for them: see shared_bytes");
    const bool bf16 = p.dtype == GPUL_BF16, turned = p.M < p.N;
    /* y: the products of the stack, of which there may be fewer than the block has room for; the rows of one */
    const int room = v.plan.products_at_once, product = int(blockIdx.y) * room,
              left_products = int(gpul__batch_of(p)) - product,
              products = left_products < room ? left_products : room, /* fault: matmul-thin-products */
        share_log2 = __ffs(wide) - __ffs(room);                       /* of rows, the logarithm of a product's share */
    const bool several = room > 1;
    const gpul__gemm_side side_x = gpul__gemm_side_of(p, turned), side_y = gpul__gemm_side_of(p, !turned);
    const int64_t x_stride = side_x.stride_outer, x_step = side_x.stride_k, x_batch = side_x.batch,
                  y_stride = side_y.stride_outer, y_step = side_y.stride_k, y_batch = side_y.batch;
    const int64_t extent = side_x.extent, first = int64_t(blockIdx.x) * wide, begin = int64_t(blockIdx.z) * v.plan.part,
                  term = v.plan.term;
    const int64_t length = p.K - begin < v.plan.part ? p.K - begin : v.plan.part; /* the split of this block */
    const int rows = extent - first < wide ? int(extent - first) : wide,
              columns = kColumns == 1 ? 1 : gpul__gemm_columns(p, side_y, product);
    const T *const x = static_cast<const T *>(side_x.data) + product * x_batch;
    const T *const y = static_cast<const T *>(side_y.data) + product * y_batch + begin * y_step;
    gpul__extent memory;
    memory.set(x, (products - 1) * x_batch + (extent - 1) * x_stride + (p.K - 1) * x_step + 1, sizeof(T));
    const bool along_k = x_step == 1;
    /* Along K: the thread's class, and its first row, of kWide that are `lanes` apart, or, of several products,
     * neighbours. Otherwise kWide neighbours, which end with the last row there is; those before `own` are another
     * thread's, too. */
    const int of_class = along_k ? thread % kClasses : thread >> lanes_log2,
              lane = along_k ? thread / kClasses : thread & (lanes - 1),
              own = along_k && !several ? lane : lane * kWide, row_stride = several ? 1 : lanes;
    const int of_thread = own >> share_log2, first_own = of_thread << share_log2, /* the product of its rows */
        in_product = own - first_own;
    const int64_t back = extent < kWide ? 0 : extent - kWide - first;
    const int here = along_k || in_product <= back ? in_product : int(back),
              inside = extent < kWide ? int(extent) : int(kWide);
    const T *at[kWide];
    GPUL__UNROLL_FOR (int i = 0; i < kWide; ++i) {
        const int number = in_product + i * row_stride, row = number < rows ? number : rows - 1; /* the last again */
        at[i] = x + (of_thread < products ? of_thread : products - 1) * x_batch +
                (along_k ? (first + row) * x_stride + begin + of_class * kWide
                         : first + here + (begin + of_class * kWide + i) * x_step);
    }
    const int64_t next = kClasses * kWide * x_step;
    const uintptr_t strides = uintptr_t(((along_k ? x_stride : x_step) | (several ? x_batch : 0)) * int64_t(sizeof(T)));
    const bool aligned = ((reinterpret_cast<uintptr_t>(at[0]) | strides) & 15) == 0;
    const int row = thread & (wide - 1),
              column = (thread / kWide >> lanes_log2) * S::kSums; /* of the thread's sums, in the end */
    /* shared memory holds several terms of a product, or a part of one: where each begins there, and how many */
    const int chunk = S::chunk(int(blockDim.x)) >> (__ffs(room) - 1),
              slot = term < chunk ? (int(term) + S::kTurn - 1) / S::kTurn * S::kTurn : chunk,
              slots = term < length ? chunk / slot : 1;
    Compute acc[kWide][kColumns];
    S tile;
    gpul__gemm_zero(acc);
    gpul__gemm_zero(tile.sum);
    gpul__await(); /* fault: matmul-thin-await */
    if (!gpul__gemm_chosen(v.choice)) return;
    int64_t of_term = 0;
    int in = slots; /* shared memory */
    GPUL__UNROLL_NOT
    for (int64_t done = 0; done < length;) {
        const int64_t left = length - done, to_end = left < term - of_term ? left : term - of_term;
        const int steps = to_end < chunk ? int(to_end) : chunk;
        if (in == slots) {
            const int filled = left < slots * term ? int((left + term - 1) / term) * slot : slots * slot;
            in = 0;
            __syncthreads(); /* the chunk before has been read */ /* fault: matmul-thin-early */
            GPUL__UNROLL_BY(4)
            for (int all = thread; all < filled * products; all += int(blockDim.x)) {
                const int of_one = several ? all / filled : 0, k = all - of_one * filled;
                const int number = slots > 1 ? k / slot : 0, step = k - number * slot;
                const int64_t from = number * term + step;
                const bool there = step < (slots > 1 ? int(term) : steps) && from < left;
                const T *const one = y + of_one * y_batch + (done + from) * y_step;
                T value[kColumns];
                GPUL__UNROLL_FOR (int w = 0; w < kColumns; ++w)
                    value[w] = w < columns && there ? one[w * y_stride] : T();
                GPUL__UNROLL_FOR (int w = 0; w < kColumns; ++w)
                    shared[S::at(kColumns, of_one * chunk + k) + w * 32] = gpul__gemm_widen(value[w], bf16);
            }
            __syncthreads(); /* fault: matmul-thin-late */
        }
        const bool idle = of_thread >= products || (along_k && !several && warp * (32 / kClasses) >= rows);
        const int at_slot = of_thread * chunk + in * slot, turns = idle ? 0 : steps;
        GPUL__UNROLL_NOT
        for (int k = 0; k < turns; k += S::kTurn) {
            gpul__raw raw[kVectors];
            /* all of the vectors are in the matrix, and so is what their loads read */
            if (k + S::kTurn <= steps && (along_k || inside == kWide) && memory.begins(at[0]) &&
                memory.last(at[kWide - 1] + (S::kTurns - 1) * next, 1) >= 0) {
                gpul__fetch<T, kWide> fetch[kVectors];
                GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i)
                    fetch[i].low = fetch[i].aligned(gpul__align_down(at[i % kWide] + i / kWide * next));
                if (!aligned) { /* the 16 bytes behind are inside, too, by memory.last() */
                    GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i)
                        fetch[i].high = fetch[i].aligned(gpul__align_down(at[i % kWide] + i / kWide * next) + kWide);
                }
                gpul__schedule_fence(v.plan.scale_only); /* 0 here */
                GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i) raw[i] = fetch[i].low;
                if (!aligned) {
                    GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i)
                        raw[i] = fetch[i].get(at[i % kWide] + i / kWide * next);
                }
            } else {
                GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i) {
                    const int step = k + (i / kWide * kClasses + of_class) * kWide + (along_k ? 0 : i % kWide);
                    const int exist = along_k || step >= steps ? steps - step : inside; /* elements */
                    gpul__pack<T, kWide> pack;
                    GPUL__UNROLL_FOR (int j = 0; j < kWide; ++j)
                        pack.v[j] = j < exist ? at[i % kWide][i / kWide * next + j] : T(); /* fault: matmul-thin-edge */
                    memcpy(&raw[i], &pack, sizeof raw[i]);
                }
            }
            GPUL__UNROLL_FOR (int i = 0; i < kWide; ++i) at[i] += S::kTurns * next;
            gpul__gemm_multiply_thin<S, kColumns>(acc, raw, shared, at_slot + k, of_class, along_k, bf16);
        }
        ++in;
        done += steps;
        of_term += steps;
        if (of_term < term && done < length) continue; /* fault: matmul-thin-slots */
        of_term = 0; /* `at` is where the next term begins: terms are whole turns, see gpul__plain_split */
        /* the trees: a thread has those of one row and some columns, which are its sums in the end */
        __syncthreads(); /* fault: matmul-thin-tree-early */
        GPUL__UNROLL_FOR (int w = 0; w < kColumns; ++w) {
            if (w >= columns) break;
            GPUL__UNROLL_FOR (int i = 0; i < kWide; ++i) {
                const int to = along_k ? own + i * row_stride : first_own + (in_product < rows ? here : in_product) + i;
                if (to >= own) chains[to * kRow + w * kClasses + of_class] = acc[i][w];
            }
        }
        __syncthreads(); /* fault: matmul-thin-tree-late */
        GPUL__UNROLL_FOR (int i = 0; i < (kColumns < S::kSums ? kColumns : int(S::kSums)); ++i) {
            Compute of[kClasses];
            if (column + i >= columns) break;
            GPUL__UNROLL_FOR (int c = 0; c < kClasses; ++c) of[c] = chains[row * kRow + (column + i) * kClasses + c];
            GPUL__UNROLL_FOR (int c = 1; c < kClasses; c *= 2) {
                GPUL__UNROLL_FOR (int d = 0; d < kClasses; d += 2 * c) of[d] = gpul__gemm_add(of[d], of[d + c]);
            }
            tile.sum[i] = gpul__gemm_add(tile.sum[i], of[0]);
        }
        gpul__gemm_zero(acc);
    }
    if (v.plan.splits > 1 && !gpul__gemm_combine_parts(tile, v)) return;
    const int of_row = row >> share_log2, in_rows = row - (of_row << share_log2);
    if (in_rows < rows && of_row < products)
        gpul__gemm_finish_all<T>(tile.sum, product + of_row, first + in_rows, column, columns, turned, p, bf16);
}

/* ---- the kernel for few rows or few columns of 16 bits, on tensor cores ----
 *
 * As above, of eight rows or columns at most, by mma. A block has 64 rows of the long operand, and up to four warps, which
 * take 32 steps each in turn: a warp has a chain. A lane has eight vectors of the long operand and one of the short one,
 * which are operands of mma as they are: it may take steps and rows in any order that is the same in both operands, or
 * in C. So what one mma adds up are, of each eight steps, the first four or the last. Where vectors are of neighbouring
 * rows, byte permutations bring two steps of a row together. Nothing is shared, so warps wait for no one but in the end.
 *
 * Of a stack of small products, a block takes up to eight at once: each has eight of the rows, and its share of the eight
 * columns. mma multiplies the rows of all by the columns of all, of which a product's own are its sums. */
struct gpul__gemm_thin_mma {
    typedef gpul__gemm_16 T;
    typedef float Compute;
    enum {
        kTensor = 1,
        kShort = 8,
        kChains = 4,
        kThreads = 32 * kChains,
        kM = 64,
        kN = kShort,
        kSums = int(kM) * kN / kThreads, /* of a thread, in the end */
        kVector = kSums,
        kBlocksPerSM = 16 / int(kChains),
        kWarpTurn = 32,                   /* steps of K */
        kTurn = int(kWarpTurn) * kChains, /* of the block */
        kChunk = 8192,                    /* steps after which sums are promoted */
        kVectors = 8,                     /* of a lane */
        kOfProduct = 8,                   /* rows of a product of several */
        kFetched = 4,                     /* that begin anywhere, at a time */
        kChainPitch = int(kM) + 4
    };
    Compute sum[kSums], acc[4][4];
    template <typename Visitor> __device__ __forceinline__ void each(Visitor &visit) { visit(0, 0, sum); }

    template <bool kBf16>
    static __device__ __forceinline__ void mma(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                               uint32_t b0, uint32_t b1) {
        const uint32_t a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
#ifdef GPULITE_CPU_STANDIN
        __shared__ uint32_t words[kThreads][6];
        const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x - lane, g = lane / 4, t = lane % 4;
        memcpy(words[threadIdx.x], a, sizeof a);
        memcpy(words[threadIdx.x] + 4, b, sizeof b);
        __syncwarp();
        gpul__tensor_factors x[2], y[2]; /* rows g and g + 8; columns 2 t and 2 t + 1 */
        const auto fill = [=](gpul__tensor_factors &to, uint32_t row, uint32_t word, uint32_t next) {
            to.fill(kBf16 ? GPUL_BF16 : GPUL_F16, [=](uint32_t k) {
                return words[warp + row * 4 + k % 8 / 2][word + k / 8 * next] >> k % 2 * 16 & 0xffff;
            });
        };
        for (uint32_t i = 0; i < 2; ++i) {
            fill(x[i], g, i, 2);
            fill(y[i], 2 * t + i, 4, 1);
        }
        for (int e = 0; e < 4; ++e) c[e] = gpul__tensor_add(c[e], x[e / 2], y[e % 2]);
        __syncwarp();
#else
        gpul__mma<kBf16 ? GPUL_BF16 : GPUL_F16>(c, a, b);
#endif
    }
    /* x: vectors of the long operand, y: of the short one */
    template <bool kBf16>
    __device__ __forceinline__ void multiply(const gpul__raw (&x)[kVectors], const gpul__raw &y, bool along_k,
                                             int rows) {
        if (along_k) { /* rows f * 16 + g and f * 16 + g + 8 */
            GPUL__UNROLL_FOR (int f = 0; f < 4; ++f) {
                if (f * 16 >= rows) break;
                const gpul__raw &low = x[f * 2], &high = x[f * 2 + 1];
                GPUL__UNROLL_FOR (int h = 0; h < 4; h += 2)
                    mma<kBf16>(acc[f], low.v[h], high.v[h], low.v[h + 1], high.v[h + 1], y.v[h], y.v[h + 1]);
            }
        } else { /* rows g * 8 + f and g * 8 + f + 4 */
            GPUL__UNROLL_FOR (int f = 0; f < 4; ++f) {
                const auto pair = [&](int k, int word) {
                    return __byte_perm(x[k].v[word], x[k + 1].v[word], f % 2 ? 0x7632 : 0x5410);
                };
                GPUL__UNROLL_FOR (int h = 0; h < 4; h += 2)
                    mma<kBf16>(acc[f], pair(h * 2, f / 2), pair(h * 2, f / 2 + 2), pair(h * 2 + 2, f / 2),
                               pair(h * 2 + 2, f / 2 + 2), y.v[h], y.v[h + 1]);
            }
        }
    }
};
/* Eight elements, `step` apart, of which `count` are there; zeros in place of others */
static __device__ __forceinline__ gpul__raw gpul__gemm_thin_gather(const gpul__gemm_16 *from, int64_t step, int count) {
    gpul__pack<gpul__gemm_16, 8> pack;
    GPUL__UNROLL_FOR (int j = 0; j < 8; ++j)
        pack.v[j] = j < count ? from[j * step] : gpul__gemm_16(); /* fault: matmul-narrow-edge */
    gpul__raw raw;
    memcpy(&raw, &pack, sizeof raw);
    return raw;
}
/* Leaves of a vector along K the first `count` elements. */
static __device__ __forceinline__ void gpul__gemm_thin_mask(gpul__raw &raw, int count) {
    GPUL__UNROLL_FOR (int w = 0; w < 4; ++w)
        raw.v[w] &= ~gpul__missing_bytes(count * 2, w); /* fault: matmul-narrow-mask */
}

static __global__ void __launch_bounds__(gpul__gemm_thin_mma::kThreads, gpul__gemm_thin_mma::kBlocksPerSM)
    gpul__gemm_thin_mma_kernel(const __grid_constant__ gpul__gemm_view v) {
    typedef gpul__gemm_thin_mma S;
    typedef gpul__gemm_16 T;
    enum { kVectors = S::kVectors };
#if defined(__CUDA_ARCH__) && !defined(GPUL__COPIES_ASYNC)
    return; /* never launched there: see gpul__find_tensor_cores */
#endif
    const gpul__gemm_problem &p = v.problem;
    __shared__ float chains[S::kChains][S::kShort][S::kChainPitch];
    const int thread = int(threadIdx.x), warp = thread / 32, g = thread / 4 % 8, t = thread % 4;
    const bool bf16 = p.dtype == GPUL_BF16, turned = p.M < p.N;
    /* y: the products of the stack, of which there may be fewer than the block has room for */
    const int room = v.plan.products_at_once, product = int(blockIdx.y) * room,
              left_products = int(gpul__batch_of(p)) - product,
              products = left_products < room ? left_products : room, /* fault: matmul-narrow-products */
        last_product = products - 1;
    const gpul__gemm_side side_x = gpul__gemm_side_of(p, turned), side_y = gpul__gemm_side_of(p, !turned);
    const int64_t x_stride = side_x.stride_outer, x_step = side_x.stride_k, x_batch = side_x.batch,
                  y_stride = side_y.stride_outer, y_step = side_y.stride_k, y_batch = side_y.batch;
    const int64_t extent = side_x.extent, first = int64_t(blockIdx.x) * S::kM,
                  begin = int64_t(blockIdx.z) * v.plan.part,
                  term = v.plan.term < S::kChunk ? v.plan.term : int64_t(S::kChunk); /* fault: matmul-narrow-promote */
    const int64_t length = p.K - begin < v.plan.part ? p.K - begin : v.plan.part;    /* the split of this block */
    const int rows = extent - first < S::kM ? int(extent - first) : int(S::kM),
              columns = gpul__gemm_columns(p, side_y, product);
    const T *x = static_cast<const T *>(side_x.data) + product * x_batch,
            *y = static_cast<const T *>(side_y.data) + product * y_batch;
    gpul__extent of_x, of_y;
    of_x.set(x, last_product * x_batch + (extent - 1) * x_stride + (p.K - 1) * x_step + 1, sizeof(T));
    of_y.set(y, last_product * y_batch + (columns - 1) * y_stride + (p.K - 1) * y_step + 1, sizeof(T));
    const bool along_k = x_step == 1, several = room > 1;
    /* Along K, vectors are of rows that are eight apart, or of products, and in place of those that are not there, of the
     * first again. Otherwise they are of eight neighbours, which end with the last row there is; those before `own` are
     * another lane's, too. */
    const int own = along_k ? g : g * 8, all_rows = several ? room * S::kOfProduct : rows, /* of the block */
        present = along_k ? (all_rows + 15) / 16 * 2 : int(kVectors);
    const int64_t back = extent < 8 ? 0 : extent - 8 - first;
    const int share = 4 - __ffs(room); /* the logarithm of a product's columns */
    const int of_column = g >> share, column = g & ((1 << share) - 1),
              of_lane = along_k || !several ? 0
                        : g < products ? g
                                       : last_product; /* of its rows */
    const int here = along_k || own <= back || several ? own : int(back), inside = extent < 8 ? int(extent) : 8;
    const int64_t vector_stride = !along_k ? x_step : several ? x_batch : 8 * x_stride;
    const int others = !along_k ? kVectors - 1 : several ? last_product : own < rows ? (rows - 1 - own) / 8 : 0;
    const int64_t step0 = begin + warp * S::kWarpTurn + t * 8;    /* the lane's first step */
    const int own_row = along_k && own >= rows ? rows - 1 : here; /* fault: matmul-narrow-rows */
    const int begins_at = several && !along_k ? 0 : own_row;
    x += of_lane * x_batch + (first + begins_at) * x_stride + step0 * x_step;
    y += (of_column < products ? of_column : last_product) * y_batch +
         (column < columns ? column : columns - 1) * y_stride + step0 * y_step;
    const int64_t strides = (along_k ? x_stride : x_step) | (several ? x_batch : 0);
    const bool aligned = ((reinterpret_cast<uintptr_t>(x) | uintptr_t(strides * int64_t(sizeof(T)))) & 15) == 0;
    S tile;
    gpul__gemm_zero(tile.acc);
    gpul__gemm_zero(tile.sum);
    /* adds a term's chains, for what thread number `number` of four warps has: sums of a row */
    const auto add_chains = [&](int number) {
        GPUL__UNROLL_FOR (int j = 0; j < S::kSums; ++j) {
            float of[S::kChains];
            GPUL__UNROLL_FOR (int c = 0; c < S::kChains; ++c)
                of[c] = c * 32 < int(blockDim.x) ? chains[c][number / S::kM * S::kSums + j][number % S::kM] : 0.0f;
            GPUL__UNROLL_FOR (int c = 1; c < S::kChains; c *= 2) {
                GPUL__UNROLL_FOR (int d = 0; d < S::kChains; d += 2 * c) of[d] = gpul__gemm_add(of[d], of[d + c]);
            }
            tile.sum[j] = gpul__gemm_add(tile.sum[j], of[0]);
        }
    };
    gpul__await(); /* fault: matmul-narrow-await */
    GPUL__UNROLL_NOT
    for (int64_t done = 0; done < length; done += term) {
        const int steps = int(length - done < term ? length - done : term),
                  left = steps - warp * S::kWarpTurn; /* from the warp's first step on */
        /* In turns `easy` to below `hard` all that the warp loads is there, and so is what it reads besides. */
        const int turns = (left + S::kTurn - 1) / S::kTurn, whole = (left + S::kTurn - S::kWarpTurn) / S::kTurn;
        const int64_t to_last = (whole - 1) * int64_t(S::kTurn);
        const bool starts = of_x.begins(x) && (y_step != 1 || of_y.begins(y)),
                   stops = of_x.last(x + others * vector_stride + to_last * x_step, 1) >= 0 &&
                           (y_step != 1 || of_y.last(y + to_last, 1) >= 0);
        const int easy = __all_sync(0xffffffffu, starts) ? 0 : 1;
        const int hard = __all_sync(0xffffffffu, stops) ? whole : whole - 1; /* fault: matmul-narrow-hard */
        GPUL__UNROLL_NOT
        for (int turn = 0; turn < turns; ++turn) {
            gpul__raw raw[kVectors], factor;
            if (turn >= easy && turn < hard) {
                /* of the short operand, words of neighbours, or elements */
                uint32_t word[8];
                if (y_step == 1) {
                    const T *const from = gpul__align_down(y);
                    const gpul__raw low = gpul__load<4>(reinterpret_cast<const uint32_t *>(from)),
                                    high = gpul__load<4>(reinterpret_cast<const uint32_t *>(from + 8));
                    memcpy(word, &low, sizeof low);
                    memcpy(word + 4, &high, sizeof high);
                } else {
                    GPUL__UNROLL_FOR (int j = 0; j < 8; ++j) word[j] = y[j * y_step].bits;
                }
                const T *from = x;
                if (aligned) {
                    GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i) {
                        if (i < present) raw[i] = gpul__load<4>(reinterpret_cast<const uint32_t *>(from));
                        if (i < others) from += vector_stride;
                    }
                    gpul__schedule_fence(v.plan.scale_only); /* 0 here */
                } else {
                    GPUL__UNROLL_FOR (int at = 0; at < kVectors; at += S::kFetched) {
                        gpul__fetch<T, 8> fetch[S::kFetched];
                        const T *again = from;
                        if (at >= present) break;
                        GPUL__UNROLL_FOR (int i = 0; i < S::kFetched; ++i) {
                            fetch[i].low = fetch[i].aligned(gpul__align_down(from));
                            fetch[i].high = fetch[i].aligned(gpul__align_down(from) + 8);
                            if (at + i < others) from += vector_stride;
                        }
                        gpul__schedule_fence(v.plan.scale_only);
                        GPUL__UNROLL_FOR (int i = 0; i < S::kFetched; ++i) {
                            raw[at + i] = fetch[i].get(again);
                            if (at + i < others) again += vector_stride;
                        }
                    }
                }
                if (y_step == 1) {
                    gpul__fetch<T, 8> fetch;
                    memcpy(&fetch.low, word, sizeof fetch.low);
                    memcpy(&fetch.high, word + 4, sizeof fetch.high);
                    factor = fetch.get(y);
                } else {
                    GPUL__UNROLL_FOR (int w = 0; w < 4; ++w) factor.v[w] = word[2 * w] | word[2 * w + 1] << 16;
                }
            } else {
                /* steps from the lane's first on: it may have no vector, or parts of some */
                const int there = left - turn * S::kTurn - t * 8;
                const int count = there < 8 ? there : 8, last = !along_k && there < 8 ? there - 1 : others;
                factor = gpul__raw();
                gpul__fill(raw, gpul__raw());
                if (there > 0) {
                    const bool dense = y_step == 1 && of_y.begins(y) && of_y.ends(y);
                    gpul__fetch<T, 8> fetch_y;
                    if (dense) fetch_y.load(y);
                    else factor = gpul__gemm_thin_gather(y, y_step, count);
                    /* vectors `low` to below `high` are loaded whole, for the aligned words that hold them are inside */
                    int low = 0, high = last + 1;
                    const bool all =
                        of_x.begins(x) && of_x.ends(x + last * vector_stride); /* fault: matmul-narrow-ends */
                    if (gpul__rarely(!all)) {
                        high = 0;
                        GPUL__UNROLL_NOT
                        for (int i = 0; i <= last; ++i) {
                            low += !of_x.begins(x + i * vector_stride);
                            high += of_x.ends(x + i * vector_stride);
                        }
                        if (low >= high) low = high = 0;
                    }
                    if (low < high) { /* in place of others, the first or the last of those */
                        const T *from = x + low * vector_stride;
                        GPUL__UNROLL_FOR (int at = 0; at < kVectors; at += S::kFetched) {
                            gpul__fetch<T, 8> fetch[S::kFetched];
                            const T *again = from;
                            const auto on = [&](int i) { return i >= low && i + 1 < high ? vector_stride : 0; };
                            if (at >= present) break;
                            GPUL__UNROLL_FOR (int i = 0; i < S::kFetched; ++i) {
                                fetch[i].load(from);
                                from += on(at + i);
                            }
                            gpul__schedule_fence(v.plan.scale_only); /* 0 here */
                            GPUL__UNROLL_FOR (int i = 0; i < S::kFetched; ++i) {
                                raw[at + i] = fetch[i].get(again);
                                again += on(at + i);
                            }
                        }
                    }
                    GPUL__UNROLL_NOT
                    for (int i = low > 0 ? 0 : high; i <= last; i = i + 1 == low ? high : i + 1) {
                        const gpul__raw alone =
                            gpul__gemm_thin_gather(x + i * vector_stride, 1, along_k ? count : inside);
                        GPUL__UNROLL_FOR (int j = 0; j < kVectors; ++j) raw[j] = j == i ? alone : raw[j];
                    }
                    if (count < 8) { /* along K, loads read on in the row or behind it */
                        GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i)
                            gpul__gemm_thin_mask(raw[i], along_k ? count : i < count ? 8 : 0);
                    }
                    if (dense) {
                        factor = fetch_y.get(y);
                        if (count < 8) gpul__gemm_thin_mask(factor, count);
                    }
                }
            }
            x += S::kTurn * x_step;
            y += S::kTurn * y_step;
            __syncwarp();
            if (bf16) tile.multiply<true>(raw, factor, along_k, all_rows);
            else tile.multiply<false>(raw, factor, along_k, all_rows);
        }
        /* the next term begins where this one ends: a warp is beyond it, by turns that are its own */
        const int64_t on = term - (turns > 0 ? turns : 0) * S::kTurn; /* fault: matmul-narrow-back */
        x += on * x_step;
        y += on * y_step;
        if (done > 0) __syncthreads();
        GPUL__UNROLL_FOR (int f = 0; f < 4; ++f) {
            GPUL__UNROLL_FOR (int e = 0; e < 4; ++e) {
                const int to = along_k ? f * 16 + own + e / 2 * 8 : (own < all_rows ? here : own) + f + e / 2 * 4;
                if (to >= own) chains[warp][2 * t + e % 2][to] = tile.acc[f][e];
            }
        }
        __syncthreads(); /* fault: matmul-narrow-tree-late */
        gpul__gemm_zero(tile.acc);
        if (done + term < length) add_chains(thread);
    }
    /* numbers from kM on have columns from kSums on, of which there may be none */
    const bool all = v.plan.splits > 1 || several || columns > S::kSums; /* fault: matmul-narrow-columns */
    const int numbers = all ? int(S::kThreads) : int(S::kM);
    GPUL__UNROLL_NOT
    for (int number = thread; number < numbers; number += int(blockDim.x)) {
        add_chains(number);
        if (v.plan.splits > 1 && !gpul__gemm_combine_parts(tile, v)) return; /* then the block has four warps */
        const int of_row = several ? number % S::kM / S::kOfProduct : 0, row = number % S::kM - of_row * S::kOfProduct;
        const int w = number / S::kM * S::kSums - (of_row << share); /* of its product */
        if (row < rows && of_row < products)
            gpul__gemm_finish_all<T>(tile.sum, product + of_row, first + row, w, columns, turned, p, bf16);
        gpul__gemm_zero(tile.sum);
    }
}

/* ---- packed copies of f32 operands ----
 *
 * A row of A, or a column of B, becomes chunks of 128 bytes along K, with zeros behind the end of K. A chunk is 32
 * elements in TF32; or 32 elements as high and low parts in f16, all high ones first; or 16 elements as high and low
 * parts in TF32. Two parts have 22 bits: they leave out 2^-23 of an element.
 *
 * Scaling. A row is multiplied by the power of two that brings its largest element to just below what f16 holds (65520
 * would round to infinity), and the low parts in f16 by 2^11. TF32 has the exponents of f32. There the largest element
 * is brought to 2^46, where no sum of products overflows, and a product of two smallest elements may be 2^-126: so the
 * depths of A and B may be 156 together, and each at most 130, for the last bit of the low parts.
 *
 * Depth. Low parts of elements below the normal numbers of f16 are too coarse: such an element loses 2^-23 of itself,
 * and twice that with each further binade. A product of two of them has lost 2^-22 and both depths, since the product
 * of low parts is left out, and the other small products weigh more. The depths of A and B together may be log2(K) - 4,
 * and 8 at most: all of that is less than what the error bound for sums of K has left. */
enum { gpul__pack_range = 0, gpul__pack_rounded = 1, gpul__pack_parts = 2 };

struct gpul__pack_operand {
    const float *from;
    unsigned char *to;
    uint32_t *range;   /* of each row: the bits of its largest |x|, and 0x7fffffff minus those of its smallest but 0 */
    uint32_t *arrived; /* of each tile of rows: the blocks that have done their share of it */
    int64_t rows, k, row_stride, k_stride, pitch /* of the copy, in bytes */;
    int64_t batch;             /* from matrix to matrix of a stack; 0: one for all */
    uint32_t tiles, tiles_k;   /* of 64 x 64 elements: all, and along K */
    gpul__division of_tiles_k; /* by tiles_k */
    bool vector;               /* groups of four elements are aligned */
};
struct gpul__pack_view {
    gpul__pack_operand of[2];
    uint32_t *depth; /* A's and B's; see gpul__gemm_choice */
    uint32_t how;
    uint32_t share; /* the tiles of a block */
    gpul__gemm_choice choice;
};
enum { gpul__pack_tile = 64 };

/* floor(log2(x)) of a positive x by its bits */
static __device__ __forceinline__ int gpul__pack_exponent(uint32_t bits) {
    return bits >> 23 ? int(bits >> 23) - 127 : -118 - __clz(int(bits));
}
/* of a row's largest element as it is rounded; and where scaling brings it */
static __device__ __forceinline__ int gpul__pack_row_exponent(uint32_t largest) {
    return gpul__pack_exponent(largest + 0x1000);
}
static __device__ __forceinline__ int gpul__pack_target(bool f16) { return f16 ? 15 : 46; }
static __device__ __forceinline__ float gpul__pack_low(bool f16) { return f16 ? 1.0f / 2048 : 1.0f; } /* of low parts */
static __device__ __forceinline__ float gpul__pack_power(int e) { return gpul__bits<float>(uint32_t(127 + e) << 23); }
/* x 2^e, of a result: by powers of two in two steps, since one may be out of range. It is rounded once: what the first
 * step makes subnormal, the second one leaves there. */
static __device__ __forceinline__ float gpul__pack_scale_back(float x, int e) {
    e = e < -252 ? -252 : e; /* at most 226, of sums below K 2^94 */
    return x * gpul__pack_power(e / 2) * gpul__pack_power(e - e / 2);
}

/* two floats, rounded to f16, in one word */
static __device__ __forceinline__ uint32_t gpul__pack_halves(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t two;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
#else
    return gpul__from_float<gpul_f16>(low).bits | uint32_t(gpul__from_float<gpul_f16>(high).bits) << 16;
#endif
}

/* Where tile number t is: its first row, and step of K */
struct gpul__pack_place {
    uint32_t down; /* which of the tiles that are below each other */
    int64_t row, k;
    __device__ __forceinline__ gpul__pack_place(const gpul__pack_operand &op, uint32_t t) {
        down = gpul__quotient(t, op.of_tiles_k);
        row = int64_t(down) * gpul__pack_tile;
        k = int64_t(t - down * op.tiles_k) * gpul__pack_tile;
    }
};
/* A tile of a block, its elements in registers on their way to shared memory: sixteen of a thread, or four vectors */
struct gpul__pack_held {
    enum { kTile = gpul__pack_tile, kPitch = int(kTile) + 1 /* no bank conflicts in rows or columns */ };
    float x[16];
    bool vector;
    __device__ __forceinline__ void load(const gpul__pack_operand &op, uint32_t t, bool along_k) {
        const gpul__pack_place at(op, t);
        const int thread = int(threadIdx.x), k_left = int(op.k - at.k < kTile ? op.k - at.k : int64_t(kTile)),
                  rows_left = int(op.rows - at.row < kTile ? op.rows - at.row : int64_t(kTile));
        const int64_t pitch = along_k ? op.row_stride : op.k_stride;
        const float *from =
            op.from + blockIdx.z * op.batch + (along_k ? at.row : at.k) * pitch + (along_k ? at.k : at.row);
        vector = op.vector && k_left == kTile && rows_left == kTile;
        if (vector) {
            from += thread / 16 * pitch + thread % 16 * 4;
            GPUL__UNROLL_FOR (int i = 0; i < 16; i += 4) {
                const gpul__pack<float, 4> four = gpul__load<4>(from);
                from += 16 * pitch;
                GPUL__UNROLL_FOR (int j = 0; j < 4; ++j) x[i + j] = four.v[j];
            }
        } else {
            const int d = thread % 64, o = thread / 64, left = along_k ? rows_left : k_left;
            const bool there = d < (along_k ? k_left : rows_left);
            from += o * pitch + d;
            GPUL__UNROLL_FOR (int i = 0; i < 16; ++i) {
                x[i] = there && o + i * 4 < left ? *from : 0.0f;
                from += 4 * pitch;
            }
        }
    }
    /* to shared memory, where rows are along K; the distance of elements: along the contiguous dimension, and the other */
    template <int kDense, int kOuter> __device__ __forceinline__ void put_at(float *tile) const {
        const int thread = int(threadIdx.x);
        if (vector) {
            tile += thread % 16 * 4 * kDense + thread / 16 * kOuter;
            GPUL__UNROLL_FOR (int i = 0; i < 16; ++i) tile[i % 4 * kDense + i / 4 * 16 * kOuter] = x[i];
        } else {
            tile += thread % 64 * kDense + thread / 64 * kOuter;
            GPUL__UNROLL_FOR (int i = 0; i < 16; ++i) tile[i * 4 * kOuter] = x[i];
        }
    }
    __device__ __forceinline__ void put(float *tile, bool along_k) const {
        if (along_k) put_at<1, kPitch>(tile);
        else put_at<kPitch, 1>(tile);
    }
};

/* Rows of a tile, whose ranges are known as far as this block has read them: the ranges, and, in the block that completes
 * them, the depth. most, least: of the thread's row, which four neighbours share */
static __device__ __forceinline__ void gpul__pack_leave_range(const gpul__pack_view &v, uint32_t down, uint32_t most,
                                                              uint32_t least) {
    __shared__ uint32_t flag;
    const gpul__pack_operand &op = v.of[blockIdx.y];
    const int64_t row = int64_t(down) * gpul__pack_tile + threadIdx.x / 4;
    const uint32_t first = down * op.tiles_k / v.share, last = (down * op.tiles_k + op.tiles_k - 1) / v.share;
    GPUL__UNROLL_FOR (int o = 1; o < 4; o *= 2) {
        const uint32_t other = __shfl_xor_sync(0xffffffffu, most, o), inverse = __shfl_xor_sync(0xffffffffu, least, o);
        most = other > most ? other : most;
        least = inverse > least ? inverse : least;
    }
    if (threadIdx.x % 4 == 0 && row < op.rows && most) {
        atomicMax(op.range + 2 * row, most);
        atomicMax(op.range + 2 * row + 1, least);
    }
    if (!gpul__arrive_last(op.arrived + down, last - first + 1, &flag)) return; /* fault: matmul-range-arrived */
    if (row >= op.rows) return;
    const uint32_t largest = op.range[2 * row], smallest = 0x7fffffffu - op.range[2 * row + 1];
    if (largest == 0) return;
    const int span = gpul__pack_row_exponent(largest) - gpul__pack_exponent(smallest),
              below = span - 14 - gpul__pack_target(true); /* 2^-14 */
    const uint32_t deep = largest >= 0x7f800000u || below > 130 ? 1000 : below > 0 ? uint32_t(below) : 0;
    if (deep && threadIdx.x % 4 == 0) atomicMax(v.depth + blockIdx.y, deep);
}

/* A block packs tiles of 64 x 64 elements that follow one another along K, transposed in shared memory where K is not
 * contiguous. Or, with gpul__pack_range, it finds the ranges of their rows, and their depths. Meanwhile the next tile is
 * on its way. */
static __global__ void __launch_bounds__(256, 4) gpul__gemm_pack(const __grid_constant__ gpul__pack_view v) {
    enum { kTile = gpul__pack_tile, kPitch = gpul__pack_held::kPitch };
    __shared__ float tile[kTile * kPitch];
    __shared__ int32_t up[kTile]; /* binades by which rows are scaled */
    const gpul__pack_operand &op = v.of[blockIdx.y];
    const int thread = int(threadIdx.x);
    const bool along_k = op.k_stride == 1;
    const uint32_t first = blockIdx.x * v.share, end = op.tiles - first < v.share ? op.tiles : first + v.share;
    /* the tile's place below others; of the thread's row, so far: the largest |x|, and the smallest less 1 */
    uint32_t down = ~0u, most = 0, least = ~0u;
    gpul__await();
    if (!gpul__gemm_chosen(v.choice) || first >= op.tiles || (blockIdx.z > 0 && op.batch == 0)) return;
    const bool f16 = v.how == gpul__pack_parts && gpul__gemm_way(v.choice) == gpul__gemm_by_f16;
    gpul__pack_held held;
    held.load(op, first, along_k);
    for (uint32_t t = first; t < end; ++t) {
        const gpul__pack_place place(op, t);
        const int left = int(op.rows - place.row < kTile ? op.rows - place.row : int64_t(kTile));
        __syncthreads(); /* the tile before has been read */
        held.put(tile, along_k);
        if (v.how == gpul__pack_parts && place.down != down && thread < left) /* fault: matmul-pack-scale */
            up[thread] = gpul__pack_target(f16) - gpul__pack_row_exponent(op.range[2 * (place.row + thread)]);
        down = place.down;
        __syncthreads(); /* fault: matmul-pack-barrier */
        if (t + 1 < end) held.load(op, t + 1, along_k);
        if (v.how == gpul__pack_range) {
            const float *const from = tile + thread / 4 * kPitch + thread % 4 * 16;
            GPUL__UNROLL_FOR (int i = 0; i < 16; ++i) {
                const uint32_t bits = gpul__bits<uint32_t>(from[i]) & 0x7fffffffu;
                most = bits > most ? bits : most;
                least = bits - 1 < least ? bits - 1 : least; /* not 0 */
            }
            if (t + 1 < end && gpul__pack_place(op, t + 1).down == down) continue;
            gpul__pack_leave_range(v, down, most, most ? 0x7ffffffeu - least : 0);
            most = 0; /* fault: matmul-range-left */
            least = ~0u;
            continue;
        }
        const int at = thread % 16 * 4;
        const float *from = tile + thread / 16 * kPitch + at;
        unsigned char *to = op.to + (blockIdx.z * op.rows + place.row + thread / 16) * op.pitch;
        if (f16) to += (place.k + at) / 32 * 128 + at % 32 * 2;
        else if (v.how == gpul__pack_parts) to += (place.k + at) / 16 * 128 + at % 16 * 4;
        else to += (place.k + at) * 4;
        GPUL__UNROLL_NOT
        for (int row = thread / 16; row < left; row += 16, from += 16 * kPitch, to += 16 * op.pitch) {
            uint32_t *const there = reinterpret_cast<uint32_t *>(to);
            float x[4];
            GPUL__UNROLL_FOR (int j = 0; j < 4; ++j) x[j] = from[j];
            if (v.how == gpul__pack_rounded) {
                gpul__pack<uint32_t, 4> all;
                GPUL__UNROLL_FOR (int j = 0; j < 4; ++j) all.v[j] = gpul__bits<uint32_t>(gpul__gemm_round(x[j]));
                gpul__save<4>(there, all);
                continue;
            }
            const float half = gpul__pack_power(up[row] / 2), rest = gpul__pack_power(up[row] - up[row] / 2);
            GPUL__UNROLL_FOR (int j = 0; j < 4; ++j) x[j] = x[j] * half * rest;
            if (f16) {
                gpul__pack<uint32_t, 2> high, low;
                GPUL__UNROLL_FOR (int j = 0; j < 2; ++j) {
                    high.v[j] = gpul__pack_halves(x[2 * j], x[2 * j + 1]);
                    const float rest0 = x[2 * j] - gpul__to_float(gpul__bits<gpul_f16>(uint16_t(high.v[j]))),
                                rest1 = x[2 * j + 1] - gpul__to_float(gpul__bits<gpul_f16>(uint16_t(high.v[j] >> 16)));
                    low.v[j] = gpul__pack_halves(rest0 * 2048.0f, rest1 * 2048.0f);
                }
                gpul__save<2>(there, high);
                gpul__save<2>(there + 16, low);
            } else {
                gpul__pack<uint32_t, 4> high, low;
                GPUL__UNROLL_FOR (int j = 0; j < 4; ++j) {
                    const float h = gpul__gemm_round(x[j]);
                    high.v[j] = gpul__bits<uint32_t>(h);
                    low.v[j] = gpul__bits<uint32_t>(gpul__gemm_round(x[j] - h));
                }
                gpul__save<4>(there, high);
                gpul__save<4>(there + 16, low);
            }
        }
    }
}

/* ---- emulated f32 by mma ---- */

/* Elements in two parts, as gpul__gemm_pack makes them and gpul__tensor_multiply_terms adds them up,
 * with the same bits. A slice is a chunk of 128 bytes. A step along K has the high parts of sixteen (TF32: eight)
 * elements, and the low parts of the same, which are 64 bytes further. */
struct gpul__gemm_terms : gpul__gemm_halves<64, 64, 32, 32, 64, 2, 3> {
    enum {
        kSteps = gpul__gemm_halves::kSteps / 2,
        kLow = 32,
        kChunk = 0,
        kTerms = 0,
        kTensor = 2,
        kOdd = 0,
        kForms = 1
    };
    float high[kDown][kAcross][4], low[kDown][kAcross][4];
    X x_low[2][kDown];
    Y y_low[2][kAcross];
    bool transposed;

    __device__ __forceinline__ void begin() {
        gpul__gemm_halves::begin();
        gpul__gemm_zero(high);
        gpul__gemm_zero(low);
    }
    __device__ __forceinline__ void place(const Operand<kM> &a, const Operand<kN> &b, const gpul__gemm_view &v) {
        gpul__gemm_halves::place(a, b, v);
        type = gpul__gemm_way(v.choice) == gpul__gemm_by_f16 ? GPUL_F16 : GPUL_F32;
        transposed = v.problem.transposed != 0;
    }
    template <int kForm> __device__ __forceinline__ void load(int step, const float *a, const float *b) {
        load_step<false>(x[step], y[step], step * kDeep, a, b);
        load_step<false>(x_low[step], y_low[step], step * kDeep + kLow, a, b);
    }
    template <int kForm> __device__ __forceinline__ void multiply(int step, int next, const float *a, const float *b) {
        load<kForm>(next, a, b);
        if (type == GPUL_F32) multiply_terms<GPUL_F32>(step);
        else multiply_terms<GPUL_F16>(step);
        if (step == 0) return; /* fault: matmul-promotes */
        GPUL__UNROLL_FOR (int i = 0; i < kDown; ++i) {
            GPUL__UNROLL_FOR (int j = 0; j < kAcross; ++j) {
                GPUL__UNROLL_FOR (int e = 0; e < 4; ++e) {
                    sum[i][j][e] += high[i][j][e];
                    high[i][j][e] = 0;
                }
            }
        }
    }
    template <gpul_dtype kType> __device__ __forceinline__ void multiply_terms(int step) {
        multiply_all<kType>(high, x[step], y[step]);
        if (transposed) multiply_all<kType>(low, x_low[step], y[step]);
        multiply_all<kType>(low, x[step], y_low[step]);
        if (!transposed) multiply_all<kType>(low, x_low[step], y[step]);
    }
    __device__ __forceinline__ void add_up() {
        GPUL__UNROLL_FOR (int i = 0; i < kDown; ++i) {
            GPUL__UNROLL_FOR (int j = 0; j < kAcross; ++j) {
                GPUL__UNROLL_FOR (int e = 0; e < 4; ++e)
                    sum[i][j][e] = /* fault: matmul-low */
                        __fmaf_rn(low[i][j][e], gpul__pack_low(type == GPUL_F16), sum[i][j][e]);
            }
        }
    }
    struct ScaleBack {
        const gpul__gemm_view &v;
        int64_t m, n; /* of the tile */
        int target;
        __device__ __forceinline__ void operator()(int row, int col, float *two) const {
            if (m + row >= v.problem.M) return;
            const int of_row = gpul__pack_row_exponent(v.range_a[2 * (m + row)]) - target;
            GPUL__UNROLL_FOR (int g = 0; g < kVector; ++g) {
                if (n + col + g < v.problem.N) /* fault: matmul-scale-back */
                    two[g] =
                        gpul__pack_scale_back(two[g], of_row + gpul__pack_row_exponent(v.range_b[2 * (n + col + g)]));
            }
        }
    };
    __device__ __forceinline__ void scale_back(const gpul__gemm_view &v, int64_t m, int64_t n) {
        ScaleBack back = {v, m, n, 2 * gpul__pack_target(type == GPUL_F16)};
        each(back);
    }
};

/* ---- Hopper's tensor cores (wgmma) ----
 *
 * A tile has 64 or 128 rows, and any multiple of 32 columns up to 256: as many as let all tiles be computed at once, or
 * leave the last wave full. Shared memory is a ring of stages. A stage is a slice of A, then one of B, each line 128
 * bytes, in boxes, as bulk tensor copies with the 128-byte swizzle write them. An operand that is contiguous along K is
 * one box. Of another one a box is 128 bytes of its contiguous dimension by all of the slice's steps of K. Two mbarriers
 * belong to a stage. `full` waits for the bytes that the producer announced, `empty` for an arrival of each consumer
 * warp, in each block that the stage was copied to.
 *
 * What comes from L2 takes more time than the tensor cores, the smaller the tile the more. So blocks may go in clusters,
 * cluster_m tiles below each other and cluster_n beside each other. Those beside each other share rows of A, those below
 * each other columns of B: each copies its share of the lines of a box, or of the steps of K, to all of them (multicast). */

enum {
    gpul__tensor_slice = 128,         /* bytes of K in a stage: the width of the swizzle */
    gpul__tensor_chunk = 128,         /* slices, after which sums are promoted */
    gpul__tensor_threads = 384,       /* three warpgroups: two consumers, and a producer */
    gpul__tensor_widest = 256,        /* columns of a tile */
    gpul__tensor_sums = 128,          /* of a thread: 64 x 256 in the 128 of a warpgroup */
    gpul__tensor_stages = 16,         /* at most */
    gpul__tensor_box = 8192,          /* bytes of 64 lines */
    gpul__tensor_ring_bytes = 196608, /* of stages */
    gpul__tensor_memory = gpul__tensor_ring_bytes + 4 * gpul__tensor_box + 1024 /* and two boxes for each consumer's
        results; boxes begin at multiples of 1024 */
};

/* How many warps gather a slice, each 32 rows of A (gathers & 1) or of B (& 2); or 32 steps, of 16-bit operands that are
 * not contiguous along K. Rows of A beyond C's are left out, and so are columns of B: TF32 has more than 32. */
static __host__ __device__ inline uint32_t gpul__tensor_gathering(const gpul__gemm_problem &p, int32_t gathers) {
    const bool half_a = p.a_col == 1 && p.M <= 32, half_b = p.b_row == 1 && p.N <= 32;
    const uint32_t of_a = gathers & 1 ? (half_a ? 1 : 2) : 0, of_b = gathers & 2 ? (half_b ? 1 : 2) : 0;
    return of_a == 0 || of_b == 0 || of_a == of_b ? of_a + of_b : 4;
}

#ifdef GPUL__HOPPER

/* compiled for another target than sm_90a, the kernel is empty, and takes 32 threads at most: see gpul__find_tensor_cores */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define GPUL__TENSOR_BOUNDS(threads) __launch_bounds__(threads, 1)
#else
#define GPUL__TENSOR_BOUNDS(threads) __launch_bounds__(32, 1)
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* x, which is one for the warp: shuffled, so that the compiler knows. Loops and branches on others would take the
 * ring's state and wgmma's descriptors out of the registers that a warp's lanes share. */
static __device__ __forceinline__ uint32_t gpul__warp_uniform(uint32_t x) { return __shfl_sync(0xffffffffu, x, 0); }
/* threadIdx.x, read anew, so that what depends on it is not kept in registers beside a tile's sums */
static __device__ __forceinline__ uint32_t gpul__thread_again() {
    uint32_t x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

/* mbarriers, by their addresses in shared memory */
static __device__ __forceinline__ void gpul__mbarrier_init(uint32_t barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
static __device__ __forceinline__ void gpul__mbarrier_wait(uint32_t barrier, uint32_t parity) {
    uint32_t done;
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}
/* Bytes that the barrier has to wait for, with an arrival and without */
static __device__ __forceinline__ void gpul__mbarrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void gpul__mbarrier_expect_more(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/* The address in another block of the cluster; and an arrival there, with no branch, so that the compiler knows that
 * warps do not diverge. */
static __device__ __forceinline__ uint32_t gpul__shared_in(uint32_t shared, uint32_t block) {
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared), "r"(block));
    return there;
}
static __device__ __forceinline__ void gpul__mbarrier_arrive_if(bool condition, uint32_t barrier) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, 0;\n@p mbarrier.arrive.shared::cluster.b64 _, [%1];\n}" ::"r"(
                     int(condition)),
                 "r"(barrier)
                 : "memory");
}

/* True in one lane, where all of a warp ask. The compiler knows what elect does: behind it, what bulk copies take needs
 * no loop over the lanes, which would be 75 cycles for each copy. */
static __device__ __forceinline__ bool gpul__elected() {
    uint32_t elected;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
    return elected != 0;
}

/* Copies a box to `shared`, in this block, or in all `blocks` of the cluster (a mask); `barrier` counts the bytes.
 * item: of a stack of matrices */
static __device__ __forceinline__ void gpul__tensor_load(uint32_t shared, const CUtensorMap *map, int32_t dense,
                                                         int32_t outer, int32_t item, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];" ::"r"(shared),
        "l"(map), "r"(dense), "r"(outer), "r"(item), "r"(barrier)
        : "memory");
}
static __device__ __forceinline__ void gpul__tensor_load_all(uint32_t shared, const CUtensorMap *map, int32_t dense,
                                                             int32_t outer, int32_t item, uint32_t barrier,
                                                             uint16_t blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
                 "l"(map), "r"(dense), "r"(outer), "r"(item), "r"(barrier), "h"(blocks)
                 : "memory");
}
/* and from `shared` to C, which ignores elements beyond its ends */
static __device__ __forceinline__ void gpul__tensor_store(const CUtensorMap *map, uint32_t shared, int32_t dense,
                                                          int32_t outer, int32_t item) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
                 "r"(shared), "r"(dense), "r"(outer), "r"(item)
                 : "memory");
}
/* What gpul__tensor_load does, for 32 of its 64 rows, of 16-bit elements that begin anywhere, by a warp. A lane loads
 * aligned words, one of each row. Where a row begins in the middle of a word, what it stores is put together with the
 * next lane's. At the ends of rows, where words would reach beyond, it loads elements. */
static __device__ __forceinline__ void gpul__tensor_gather(uint32_t shared, const uint16_t *data, int64_t pitch,
                                                           int64_t extent, int64_t rows, int32_t dense, int32_t outer) {
    const uint32_t lane = threadIdx.x % 32, alternate = uint32_t(pitch) % 2;
    const uint16_t *const from = data + outer * pitch + dense;
    const uint32_t first_odd = uint32_t(reinterpret_cast<uintptr_t>(from) / 2 % 2);
    const int64_t left = extent - dense;
    const int down = rows - outer < 32 ? int(rows - outer) : 32;
    uint32_t word[32];
    if (left > 64 && (dense > 0 || !(first_odd | alternate))) {
        const uint16_t *row = from + lane * 2;
        GPUL__UNROLL_FOR (int i = 0; i < 32; ++i, row += pitch) {
            const uint32_t odd = first_odd ^ (alternate & uint32_t(i));
            word[i] = i < down ? *reinterpret_cast<const uint32_t *>(row - odd) : 0;
        }
        if (first_odd | alternate) { /* next: what is behind the words of row `lane` */
            const uint32_t next = int(lane) < down ? from[lane * pitch + 63] : 0;
            GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) {
                const uint32_t following = __shfl_down_sync(0xffffffffu, word[i], 1),
                               end = __shfl_sync(0xffffffffu, next, i);
                if (first_odd ^ (alternate & uint32_t(i)))
                    word[i] = __funnelshift_r(word[i], lane == 31 ? end : following, 16);
            }
        }
    } else {
        uint16_t x[32][2];
        GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) {
            GPUL__UNROLL_FOR (int k = 0; k < 2; ++k)
                x[i][k] = i < down && lane * 2 + k < left ? from[i * pitch + lane * 2 + k] : uint16_t(0);
        }
        GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) word[i] = uint32_t(x[i][0]) | uint32_t(x[i][1]) << 16;
    }
    GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) /* 16-byte chunks in the order of the 128-byte swizzle */
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared + uint32_t(i) * 128 + ((lane / 4) ^ uint32_t(i % 8)) * 16 +
                                                     lane % 4 * 4),
                     "r"(word[i])
                     : "memory");
}
/* The same for f32, rounded to TF32: a warp loads 32 contiguous elements of 32 lines, of which `lines` and, of each, `left`
 * are there. across: lines are steps of K; then a lane has all steps of a row, and writes them 16 bytes at a time. */
static __device__ __forceinline__ void gpul__tensor_gather_wide(uint32_t shared, const float *from, int64_t pitch,
                                                                int64_t lines, int64_t left, bool across) {
    const uint32_t lane = threadIdx.x % 32;
    const int there = lane >= left ? 0 : lines < 32 ? int(lines) : 32;
    uint32_t word[32];
    from += lane;
    GPUL__UNROLL_FOR (int i = 0; i < 32; ++i, from += pitch) word[i] = i < there ? gpul__bits<uint32_t>(*from) : 0;
    GPUL__UNROLL_FOR (int i = 0; i < 32; ++i)
        word[i] = gpul__bits<uint32_t>(gpul__gemm_round(gpul__bits<float>(word[i])));
    if (across) {
        GPUL__UNROLL_FOR (uint32_t c = 0; c < 8; ++c)
            asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(shared + lane * 128 + (c ^ lane % 8) * 16),
                         "r"(word[c * 4]), "r"(word[c * 4 + 1]), "r"(word[c * 4 + 2]), "r"(word[c * 4 + 3])
                         : "memory");
    } else {
        GPUL__UNROLL_FOR (uint32_t i = 0; i < 32; ++i)
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared + i * 128 + (lane / 4 ^ i % 8) * 16 + lane % 4 * 4),
                         "r"(word[i])
                         : "memory");
    }
}
/* All of a cluster's threads meet. They do not see what others wrote before, which would take a fence of the whole GPU:
 * mbarriers have a fence of their own. */
static __device__ __forceinline__ void gpul__cluster_meet() {
    asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
}

/* wgmma's descriptor of an operand in shared memory, boxes of 8192 bytes: the address, the distance of the boxes (where
 * K is not the contiguous dimension); in the upper half that of eight rows of 128 bytes, and the 128-byte swizzle. */
enum { gpul__tensor_upper = 1024 >> 4 | 1 << 30 };
static __device__ __forceinline__ uint32_t gpul__tensor_lower(uint32_t address, bool transposed) {
    return (address & 0x3ffff) >> 4 | uint32_t(transposed ? 8192 >> 4 : 1) << 16;
}
static __device__ __forceinline__ uint64_t gpul__tensor_descriptor(uint32_t address) { /* contiguous along K */
    return uint64_t(gpul__tensor_upper) << 32 | gpul__tensor_lower(address, false);
}

/* wgmma: sum += x y, 64 rows by n columns, over 16 steps of K, or 8 of TF32 (f32). The instruction has n, dtype and form
 * (1: A is not contiguous along K, 2: B) in its name, and names all n / 2 sums. What begins and ends a group of them has
 * to be in one branch with them: else the compiler makes it a group of its own, and waits for each. So one asm statement
 * has the groups of all names, and jumps to one of them; as statements of their own they would take twice as long to
 * compile. */
/* clang-format off */
#define GPUL__F8(i)                                                                                                    \
    "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), "+f"(sum[i + 4]), "+f"(sum[i + 5]),            \
        "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define GPUL__F32(i) GPUL__F8(i), GPUL__F8(i + 8), GPUL__F8(i + 16), GPUL__F8(i + 24)
#define GPUL__F64 GPUL__F32(0), GPUL__F32(32) /* operands 0 to 63 */
#define GPUL__F128 GPUL__F64, GPUL__F32(64), GPUL__F32(96)
#define GPUL__TEN(t) "%" t "0, %" t "1, %" t "2, %" t "3, %" t "4, %" t "5, %" t "6, %" t "7, %" t "8, %" t "9"
#define GPUL__SUMS_32 GPUL__TEN("") ", %10, %11, %12, %13, %14, %15"
#define GPUL__SUMS_64 GPUL__SUMS_32 ", %16, %17, %18, %19, " GPUL__TEN("2") ", %30, %31"
#define GPUL__SUMS_96 GPUL__SUMS_64 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define GPUL__SUMS_128 GPUL__SUMS_96 ", %48, %49, " GPUL__TEN("5") ", %60, %61, %62, %63"
#define GPUL__SUMS_160 GPUL__SUMS_128 ", %64, %65, %66, %67, %68, %69, " GPUL__TEN("7")
#define GPUL__SUMS_192 GPUL__SUMS_160 ", " GPUL__TEN("8") ", %90, %91, %92, %93, %94, %95"
#define GPUL__SUMS_224 GPUL__SUMS_192 ", %96, %97, %98, %99, " GPUL__TEN("10") ", %110, %111"
#define GPUL__SUMS_256                                                                                                 \
    GPUL__SUMS_224 ", %112, %113, %114, %115, %116, %117, %118, %119, "                                                \
    "%120, %121, %122, %123, %124, %125, %126, %127"

#define GPUL__WGMMA(operation, sums, a, b, flags)                                                                      \
    "wgmma.mma_async.sync.aligned." operation " {" sums "}, " a ", " b ", " flags ";\n"
#define GPUL__WGMMA_GROUP(wgmmas)                                                                                      \
    "wgmma.fence.sync.aligned;\n" wgmmas "wgmma.commit_group.sync.aligned;\nbra.uni done;\n"
/* four, a slice, when it is there */
#define GPUL__WGMMA_SLICE(label, operation, sums, flags)                                                               \
    label ":\nmbarrier.try_wait.parity.shared::cta.b64 p, [%134], %135;\n@!p bra " label ";\n"                         \
    GPUL__WGMMA_GROUP(GPUL__WGMMA(operation, sums, "a0", "b0", flags) GPUL__WGMMA(operation, sums, "a1", "b1", flags)  \
                      GPUL__WGMMA(operation, sums, "a2", "b2", flags) GPUL__WGMMA(operation, sums, "a3", "b3", flags))
#define GPUL__WGMMA_FORMS(n, type)                                                                                     \
    GPUL__WGMMA_SLICE(type "_0_" #n, "m64n" #n "k16.f32." type "." type, GPUL__SUMS_##n, "1, 1, 1, 0, 0")              \
    GPUL__WGMMA_SLICE(type "_1_" #n, "m64n" #n "k16.f32." type "." type, GPUL__SUMS_##n, "1, 1, 1, 1, 0")              \
    GPUL__WGMMA_SLICE(type "_2_" #n, "m64n" #n "k16.f32." type "." type, GPUL__SUMS_##n, "1, 1, 1, 0, 1")              \
    GPUL__WGMMA_SLICE(type "_3_" #n, "m64n" #n "k16.f32." type "." type, GPUL__SUMS_##n, "1, 1, 1, 1, 1")
#define GPUL__WGMMA_SLICES(n)                                                                                          \
    GPUL__WGMMA_FORMS(n, "f16") GPUL__WGMMA_FORMS(n, "bf16")                                                           \
    GPUL__WGMMA_SLICE("tf32_" #n, "m64n" #n "k8.f32.tf32.tf32", GPUL__SUMS_##n, "1, 1, 1")
#define GPUL__WGMMA_SLICE_LABELS(n)                                                                                    \
    "f16_0_" #n ", f16_1_" #n ", f16_2_" #n ", f16_3_" #n ", "                                                         \
    "bf16_0_" #n ", bf16_1_" #n ", bf16_2_" #n ", bf16_3_" #n ", tf32_" #n
#define GPUL__WGMMA_HELD(n)                                                                                            \
    "held_" #n ":\n"                                                                                                   \
    GPUL__WGMMA_GROUP(GPUL__WGMMA("m64n" #n "k8.f32.tf32.tf32", GPUL__SUMS_##n, "{%128, %129, %130, %131}", "%132",    \
                                  "1, 1, 1"))
#define GPUL__WGMMA_HELD_LABELS(n) "held_" #n
#define GPUL__WGMMA_JUMP(index, labels, groups)                                                                        \
    "groups: .branchtargets " labels(32) ", " labels(64) ", " labels(96) ", " labels(128) ", "                         \
                              labels(160) ", " labels(192) ", " labels(224) ", " labels(256) ";\n"                     \
    "brx.idx.uni " index ", groups;\n"                                                                                 \
    groups(32) groups(64) groups(96) groups(128) groups(160) groups(192) groups(224) groups(256) "done:\n"
/* the descriptors of four operands: lower halves, a step from each to the next one, and the upper half */
#define GPUL__WGMMA_OPERANDS(x, first, step, upper)                                                                    \
    "mov.u32 t, " first ";\n"    "mov.b64 " x "0, {t, " upper "};\n"                                                   \
    "add.u32 t, t, " step ";\n"  "mov.b64 " x "1, {t, " upper "};\n"                                                   \
    "add.u32 t, t, " step ";\n"  "mov.b64 " x "2, {t, " upper "};\n"                                                   \
    "add.u32 t, t, " step ";\n"  "mov.b64 " x "3, {t, " upper "};\n"

/* The products of a slice, which is waited for last, when the jump is done. a, b: lower halves of descriptors; step: from
 * one wgmma's operand to the next, in 16 bytes; group: of the labels, nine for each 32 columns. */
static __device__ __forceinline__ void gpul__wgmma_slice(float *sum, uint32_t a, uint32_t step_a, uint32_t b,
                                                         uint32_t step_b, uint32_t group, uint32_t barrier,
                                                         uint32_t parity) {
    asm volatile("{\n.reg .b64 a0, a1, a2, a3, b0, b1, b2, b3;\n.reg .b32 t;\n.reg .pred p;\n"
                 GPUL__WGMMA_OPERANDS("a", "%128", "%129", "%133")
                 GPUL__WGMMA_OPERANDS("b", "%130", "%131", "%133")
                 GPUL__WGMMA_JUMP("%132", GPUL__WGMMA_SLICE_LABELS, GPUL__WGMMA_SLICES) "}"
                 : GPUL__F128
                 : "r"(a), "r"(step_a), "r"(b), "r"(step_b), "r"(group), "r"(gpul__tensor_upper), "r"(barrier),
                   "r"(parity)
                 : "memory");
}
/* Eight steps of TF32, with A in registers; group: one for each 32 columns */
static __device__ __forceinline__ void gpul__wgmma_held(float *sum, const uint32_t (&a)[4], uint64_t b,
                                                        uint32_t group) {
    asm volatile("{\n" GPUL__WGMMA_JUMP("%133", GPUL__WGMMA_HELD_LABELS, GPUL__WGMMA_HELD) "}"
                 : GPUL__F128
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(group)
                 : "memory");
}
/* clang-format on */
/* sum += x y, or sum = x y, 64 x 128, both contiguous along K */
template <gpul_dtype kType, int kAdd>
static __device__ __forceinline__ void gpul__wgmma_128(float *sum, uint64_t x, uint64_t y) {
    if (kType == GPUL_F16)
        asm volatile(GPUL__WGMMA("m64n128k16.f32.f16.f16", GPUL__SUMS_128, "%64", "%65", "%66, 1, 1, 0, 0")
                     : GPUL__F64
                     : "l"(x), "l"(y), "n"(kAdd));
    else
        asm volatile(GPUL__WGMMA("m64n128k8.f32.tf32.tf32", GPUL__SUMS_128, "%64", "%65", "%66, 1, 1")
                     : GPUL__F64
                     : "l"(x), "l"(y), "n"(kAdd));
}

/* The barrier of one consumer's threads */
static __device__ __forceinline__ void gpul__consumer_barrier(int consumer) {
    asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}
/* Consumers that take turns: one waits for its turn, one hands over. */
static __device__ __forceinline__ void gpul__consumer_turn(int consumer) {
    asm volatile("bar.sync %0, 256;" ::"r"(3 + consumer) : "memory");
}
static __device__ __forceinline__ void gpul__consumer_next(int consumer) {
    asm volatile("bar.arrive %0, 256;" ::"r"(4 - consumer) : "memory");
}
static __device__ __forceinline__ void gpul__wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/* Ends a group of wgmma; and waits for all groups but the last kPending. */
static __device__ __forceinline__ void gpul__wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending> static __device__ __forceinline__ void gpul__wgmma_wait() {
    static_assert(kPending == 0 || kPending == 1, "literals: an operand would be kept in a register");
    if (kPending) asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    else asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/* A warp's position in its block's ring of stages. The producer runs before the consumers; all take the stages in
 * order. */
struct gpul__tensor_ring {
    uint32_t full, empty, stages; /* addresses in shared memory; the mbarriers are arrays */
    uint32_t parity, bytes, of_b; /* bytes: of a stage; of_b: from A's to B's */
    int stage, count;
    uint32_t peers; /* the blocks of the cluster that copy to this one's stages, a mask */
    __device__ __forceinline__ void advance() {
        if (++stage == count) {
            stage = 0;
            parity ^= 1;
        }
    }
    __device__ __forceinline__ void skip(int slices) {
        const uint32_t to = uint32_t(stage + slices), rounds = to / uint32_t(count);
        stage = int(to - rounds * uint32_t(count));
        parity ^= rounds & 1;
    }
    __device__ __forceinline__ uint32_t at() const { return stages + uint32_t(stage) * bytes; }
    __device__ __forceinline__ void wait() const { gpul__mbarrier_wait(full + uint32_t(stage) * 8, parity); }
    /* This warp has read the stage: lane i arrives at `empty` in block i of those that copy to it. */
    __device__ __forceinline__ void release(bool condition, int which) const {
        const uint32_t lane = gpul__thread_again() % 32;
        const bool there = peers >> lane & 1;
        gpul__mbarrier_arrive_if(condition && there, gpul__shared_in(empty + uint32_t(which) * 8, there ? lane : 0));
    }
};

/* A consumer's loop over `slices` slices. The tensor cores add all products. Those of two slices are pending at a time,
 * so a stage is released when the next one's have been issued. */
static __device__ __forceinline__ void gpul__tensor_multiply(float *sum, gpul__tensor_ring &ring, int slices, int half,
                                                             gpul_dtype dtype, int form, int n) {
    const uint32_t a = gpul__tensor_lower(ring.stages + uint32_t(half) * gpul__tensor_box, form & 1),
                   b = gpul__tensor_lower(ring.stages + ring.of_b, form & 2), step_a = form & 1 ? 2048 >> 4 : 32 >> 4,
                   step_b = form & 2 ? 2048 >> 4 : 32 >> 4,
                   group = uint32_t(n / 32 - 1) * 9 +
                           (dtype == GPUL_F32 ? 8 : (dtype == GPUL_BF16 ? 4 : 0) + uint32_t(form));
    int before = 0;
    GPUL__UNROLL_NOT
    for (int i = 0; i < slices; ++i) {
        const uint32_t at = uint32_t(ring.stage) * (ring.bytes >> 4);
        gpul__wgmma_slice(sum, a + at, step_a, b + at, step_b, group, ring.full + uint32_t(ring.stage) * 8,
                          ring.parity);
        gpul__wgmma_wait<1>();
        ring.release(i > 0, before);
        before = ring.stage;
        ring.advance();
    }
    gpul__wgmma_wait<0>();
    ring.release(true, before);
}

/* TF32 where A is not contiguous along K, as wgmma needs it in shared memory: a slice of A passes through registers. It
 * is two boxes of 32 steps of K by 32 rows. Of eight steps, lane 4 g + t needs steps t and t + 4 of rows g and g + 8.
 * It loads one and then the other, in odd lanes the other one first: so a warp's lanes meet in no bank. */
struct gpul__tensor_held {
    uint32_t at[2][2]; /* in the slice: rows g and g + 8, the step that comes first and the other one */
    bool odd;
    __device__ __forceinline__ void begin(uint32_t half_box) {
        const uint32_t thread = gpul__thread_again(), lane = thread % 32, row = thread / 32 % 4 * 16 + lane / 4;
        odd = lane % 2;
        GPUL__UNROLL_FOR (uint32_t h = 0; h < 2; ++h) {
            GPUL__UNROLL_FOR (uint32_t i = 0; i < 2; ++i) {
                const uint32_t step = lane % 4 ^ (lane % 2 ^ i) * 4;
                at[h][i] = row / 32 * half_box + step * 128 + ((row % 32 / 4 + h * 2) ^ step) * 16 + row % 4 * 4;
            }
        }
    }
    /* the operand of eight steps, number k of four, of the slice at an address in shared memory */
    __device__ __forceinline__ void load(uint32_t (&to)[4], uint32_t slice, int k) const {
        GPUL__UNROLL_FOR (int i = 0; i < 4; ++i)
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(to[i]) : "r"(slice + at[i % 2][i / 2] + uint32_t(k) * 1024));
    }
    /* what was loaded, in the order of steps */
    __device__ __forceinline__ void order(uint32_t (&x)[4]) const {
        GPUL__UNROLL_FOR (int h = 0; h < 2; ++h) {
            const uint32_t first = x[h], second = x[h + 2];
            x[h] = odd ? second : first;
            x[h + 2] = odd ? first : second;
        }
    }
};
/* The loop over slices, of four wgmma each. While one is pending, the operand of the next but one is loaded: that of the
 * next one is there, so it can follow at once. */
static __device__ __forceinline__ void gpul__tensor_multiply_held(float *sum, gpul__tensor_ring &ring, int slices,
                                                                  int half, int n) {
    gpul__tensor_held held;
    uint32_t x[4][4];
    int before = 0;
    held.begin(gpul__tensor_box / 2);
    ring.wait();
    GPUL__UNROLL_FOR (int k = 0; k < 2; ++k) held.load(x[k], ring.at() + uint32_t(half) * gpul__tensor_box, k);
    GPUL__UNROLL_NOT
    for (int i = 0; i < slices; ++i) {
        const int stage = ring.stage;
        const uint64_t b = gpul__tensor_descriptor(ring.at() + ring.of_b);
        GPUL__UNROLL_FOR (int k = 0; k < 4; ++k) {
            held.order(x[k]);
            gpul__wgmma_held(sum, x[k], b + uint64_t(k) * (32 >> 4), uint32_t(n / 32 - 1));
            gpul__wgmma_wait<1>();
            if (k == 0) ring.release(i > 0, before);
            if (k == 2) {
                ring.advance();
                if (i + 1 < slices) ring.wait(); /* else what is loaded is not used */
            }
            held.load(x[(k + 2) % 4], ring.at() + uint32_t(half) * gpul__tensor_box, (k + 2) % 4);
        }
        before = stage;
    }
    gpul__wgmma_wait<0>();
    ring.release(true, before);
}

static __device__ __forceinline__ void gpul__tensor_multiply_all(float (&sum)[gpul__tensor_sums],
                                                                 gpul__tensor_ring &ring, int slices, int half,
                                                                 gpul_dtype dtype, int form, bool held, int n) {
    GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; ++i) {
        sum[i] = 0;
        asm volatile("" : "+f"(sum[i])::"memory");
    }
    if (held) gpul__tensor_multiply_held(sum, ring, slices, half, n);
    else gpul__tensor_multiply(sum, ring, slices, half, dtype, form, n);
    GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}

/* The same for elements in two parts. The tensor cores add the products of the high parts within a slice only; these
 * sums are promoted, with rounding, while the tensor cores compute the other products. Those are so much smaller that
 * they may be truncated. Which of them comes first depends on whose rows were the caller's, so that bits do not depend
 * on the order of C. */
template <gpul_dtype kType>
static __device__ __forceinline__ void gpul__tensor_multiply_terms(float *sum, gpul__tensor_ring &ring, int slices,
                                                                   int half, bool transposed) {
    enum { kN = 128 };
    const uint64_t first_a = gpul__tensor_descriptor(ring.stages + uint32_t(half) * gpul__tensor_box),
                   first_b = gpul__tensor_descriptor(ring.stages + ring.of_b);
    /* the parts that meet first, as offsets in 16 bytes: A's high and B's low; transposed: the reverse */
    const uint64_t of_a = transposed ? 4 : 0, of_b = 4 - of_a;
    float high[kN / 2], low[kN / 2];
    GPUL__UNROLL_FOR (int i = 0; i < kN / 2; ++i) {
        sum[i] = high[i] = low[i] = 0;
        asm volatile("" : "+f"(high[i]), "+f"(low[i])::"memory");
    }
    int before = 0;
    GPUL__UNROLL_NOT
    for (int i = 0; i < slices; ++i) {
        const uint64_t at = uint64_t(ring.stage) * (ring.bytes >> 4), a = first_a + at, b = first_b + at;
        ring.wait();
        gpul__wgmma_fence();
        gpul__wgmma_128<kType, 0>(high, a, b);
        gpul__wgmma_128<kType, 1>(high, a + 2, b + 2);
        gpul__wgmma_commit();
        gpul__wgmma_wait<1>(); /* the slice before */
        ring.release(i > 0, before);
        gpul__wgmma_128<kType, 1>(low, a + of_a, b + of_b);
        gpul__wgmma_128<kType, 1>(low, a + of_b, b + of_a);
        gpul__wgmma_128<kType, 1>(low, a + of_a + 2, b + of_b + 2);
        gpul__wgmma_128<kType, 1>(low, a + of_b + 2, b + of_a + 2);
        gpul__wgmma_commit();
        gpul__wgmma_wait<1>(); /* the high parts */
        GPUL__UNROLL_FOR (int j = 0; j < kN / 2; ++j) {
            asm volatile("" : "+f"(high[j])::"memory");
            sum[j] += high[j];
        }
        before = ring.stage;
        ring.advance();
    }
    gpul__wgmma_wait<0>();
    ring.release(true, before);
    GPUL__UNROLL_FOR (int j = 0; j < kN / 2; ++j) {
        asm volatile("" : "+f"(low[j])::"memory");
        sum[j] = __fmaf_rn(low[j], gpul__pack_low(kType == GPUL_F16), sum[j]);
        sum[j + kN / 2] = 0;
    }
}

/* 32 times two floats, rounded to two 16-bit elements in a word; NaN is canonical. Zero times an element is a NaN where
 * there is a NaN or an infinity, so most threads need not look at each. */
template <bool kBf16> static __device__ __forceinline__ void gpul__tensor_narrow(uint32_t (&two)[32], const float *x) {
    uint32_t found[4] = {};
    GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) {
        if (kBf16) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
        else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
        if (kBf16) asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(found[i % 4]) : "r"(two[i]), "r"(0));
        else asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(found[i % 4]) : "r"(two[i]), "r"(0));
    }
    if (!gpul__rarely((found[0] | found[1] | found[2] | found[3]) & 0x7fff7fffu)) return;
    GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) {
        uint32_t nan;
        if (kBf16) asm("set.neu.u32.bf16x2 %0, %1, %1;" : "=r"(nan) : "r"(two[i]));
        else asm("set.neu.u32.f16x2 %0, %1, %1;" : "=r"(nan) : "r"(two[i]));
        two[i] &= ~(nan & (kBf16 ? 0x003f003fu : 0x01ff01ffu)); /* from 7fff to 7fc0, or 7e00 */
    }
}
/* Where a block is: its cluster of so many, its rank there, and its tile among the cluster's, first those below each
 * other */
struct gpul__tensor_place {
    uint32_t cluster, clusters, rank, m, n;
    __device__ __forceinline__ void find(const gpul__tensor_view &t, bool together) {
        cluster = blockIdx.x >> t.log2_blocks;
        clusters = gridDim.x >> t.log2_blocks;
        rank = blockIdx.x & ((1u << t.log2_blocks) - 1);
        m = rank & ((1u << t.log2_below) - 1);
        n = together ? 0 : rank >> t.log2_below;
    }
};
/* A work tile: a tile of C for each block of a cluster, and a split of K. In the raster order of gpul__gemm_kernel, in
 * groups of plan.group_rows rows of work tiles. Where a cluster has the splits of a tile, all are one work tile, and a
 * block's rank is its split. */
struct gpul__tensor_work {
    uint32_t m, n;         /* the first row and column of this block's tile */
    uint32_t item, split;  /* the product of the stack; the split */
    uint32_t tile;         /* of all tiles of all products: where its partial sums are */
    int32_t begin, length; /* the slices of K */
    __device__ __forceinline__ void find(uint32_t index, const gpul__gemm_view &v, const gpul__tensor_place &place) {
        const gpul__gemm_plan &plan = v.plan;
        const gpul__tensor_view &t = v.tensor;
        const bool together = plan.cluster_splits;
        const uint32_t tiles_m = uint32_t(plan.tiles_m), tiles_n = uint32_t(plan.tiles_n), tiles = tiles_m * tiles_n,
                       shared = uint32_t(plan.cluster_m * plan.cluster_n);
        item = split = 0;
        if (t.many) {
            item = gpul__quotient(index, t.of_product);
            index -= item * tiles * (together ? 1 : uint32_t(plan.splits));
            split = gpul__quotient(index, t.of_split);
            index -= split * tiles;
        }
        const uint32_t in_product = index;
        if (together) split = place.rank;
        uint32_t tile_m, tile_n;
        gpul__gemm_find_tile(in_product, v, tile_m, tile_n);
        m = (tile_m * uint32_t(plan.cluster_m) + place.m) * uint32_t(plan.tile_m);
        n = (tile_n * uint32_t(plan.cluster_n) + place.n) * uint32_t(plan.tile_n);
        tile = (item * tiles + in_product) * shared + (together ? 0 : place.rank);
        begin = int32_t(split) * t.part_slices;
        length = t.slices - begin < t.part_slices ? t.slices - begin : t.part_slices;
    }
};

/* A thread's sums in memory, where each access of a warp is a full one: `at` is where the thread's first four are, the
 * next ones `step` vectors further on each. */
static __device__ __forceinline__ void gpul__tensor_leave(float4 *at, int step, const float (&sum)[gpul__tensor_sums],
                                                          int n) {
    GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; i += 4, at += step) {
        if (i % 16 == 0 && i * 2 >= n) break;
        *at = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
    }
}
/* sum = a + b + ..., in this order, of `count` partial sums that lie there, `size` apart. 64 numbers of a thread are in
 * flight at a time: of one of them, or, of few columns, of kParts. Beyond a partial's last vector, that again; in place of
 * missing partials, -0, as in gpul__gemm_load_partials. zero: for gpul__schedule_fence */
template <int kParts>
static __device__ __forceinline__ void gpul__tensor_total(float (&sum)[gpul__tensor_sums], const float4 *at,
                                                          int64_t size, int step, int n, int count, int32_t zero) {
    enum { kVectors = 16 / kParts, kMost = kParts == 1 ? int(gpul__tensor_sums) : 4 * kVectors };
    GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; ++i) sum[i] = -0.0f;
    GPUL__UNROLL_NOT
    for (; count > 0; count -= kParts, at += kParts * size) {
        const float4 *next = at;
        GPUL__UNROLL_FOR (int first = 0; first < kMost; first += 4 * kVectors) {
            if (first * 2 >= n) break;
            float4 four[kParts][kVectors];
            GPUL__UNROLL_FOR (int p = 0; p < kParts; ++p) {
                if (p > 0) next = at + p * size;
                GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i) {
                    four[p][i] = make_float4(-0.0f, -0.0f, -0.0f, -0.0f);
                    if (p < count) four[p][i] = *next;
                    if ((first + 4 * i + 4) * 2 < n) next += step;
                }
            }
            gpul__schedule_fence(zero);
            GPUL__UNROLL_FOR (int p = 0; p < kParts; ++p) {
                GPUL__UNROLL_FOR (int i = 0; i < kVectors; ++i) {
                    float *const to = sum + first + 4 * i;
                    to[0] += four[p][i].x;
                    to[1] += four[p][i].y;
                    to[2] += four[p][i].z;
                    to[3] += four[p][i].w;
                }
            }
        }
    }
}
/* A consumer leaves its split of 64 rows of a tile. The one that comes last adds them up, by the tree of
 * gpul__gemm_combine_parts: true in that of the root, which has the sum of all. */
static __device__ __forceinline__ bool gpul__tensor_combine(float (&sum)[gpul__tensor_sums], const gpul__gemm_view &v,
                                                            const gpul__tensor_work &work, int width, int consumer,
                                                            int half) {
    __shared__ uint32_t flags[2];
    const uint32_t splits = uint32_t(v.plan.splits), nodes = (splits + gpul__gemm_fan - 1) / gpul__gemm_fan;
    const int threads = v.plan.tile_m * 2; /* that have a tile's sums */
    const int64_t size = int64_t(width / 8) * threads;
    float4 *const mine = static_cast<float4 *>(v.partials) + work.tile * size * splits + half * 128 + threadIdx.x % 128;
    uint32_t *const counter =
        v.counters + (work.tile * uint32_t(v.plan.tile_m / 64) + uint32_t(half)) * (nodes + 1) + 1;
    gpul__tensor_leave(mine + work.split * size, threads, sum, width);
    GPUL__UNROLL_NOT
    for (uint32_t up = 0; 1u << up < splits; up += gpul__gemm_fan_log2) {
        const gpul__gemm_node node(work.split, splits, up);
        gpul__consumer_barrier(consumer);
        if (threadIdx.x % 128 == 0)
            flags[consumer] = gpul__arrive(up == 0 ? counter + node.number : counter - 1, node.count);
        gpul__consumer_barrier(consumer);
        if (!gpul__warp_uniform(flags[consumer])) return false;
        const float4 *const from = mine + node.first * size;
        const int64_t stride = size << up;
        const int32_t zero = v.plan.scale_only;
        if (width <= 32) gpul__tensor_total<4>(sum, from, stride, threads, width, int(node.count), zero);
        else if (width <= 64) gpul__tensor_total<2>(sum, from, stride, threads, width, int(node.count), zero);
        else gpul__tensor_total<1>(sum, from, stride, threads, width, int(node.count), zero);
        if (1u << (up + gpul__gemm_fan_log2) < splits)
            gpul__tensor_leave(mine + node.first * size, threads, sum, width);
    }
    return true;
}
/* The same where a cluster has the splits: all leave their sums, and wait for each other. Then each block adds a share of
 * the columns, and has the sums of those. Threads that have no sums are at the kernel's end, where they arrive too. */
static __device__ __forceinline__ void gpul__tensor_combine_in_cluster(float (&sum)[gpul__tensor_sums],
                                                                       const gpul__gemm_view &v,
                                                                       const gpul__tensor_work &work, uint32_t rank,
                                                                       int half) {
    const uint32_t splits = uint32_t(v.plan.splits), vectors = uint32_t(v.plan.share / 8);
    const int threads = v.plan.tile_m * 2; /* that have a tile's sums */
    const int64_t size = int64_t(v.plan.tile_n / 8) * threads;
    float4 *const all = static_cast<float4 *>(v.partials) + work.tile * size * splits + half * 128 + threadIdx.x % 128;
    if (rank < splits) gpul__tensor_leave(all + rank * size, threads, sum, v.plan.tile_n);
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    const float4 *const mine = all + rank * vectors * uint32_t(threads);
    GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; ++i) sum[i] = 0; /* or they would be kept from before */
    GPUL__UNROLL_FOR (uint32_t i = 0; i < gpul__tensor_widest / 16; ++i) {
        if (i >= vectors) break;
        float4 x[8];
        GPUL__UNROLL_FOR (uint32_t b = 0; b < 8; ++b)
            x[b] = b < splits ? mine[b * size + i * uint32_t(threads)] : make_float4(0, 0, 0, 0);
        float4 total = x[0];
        GPUL__UNROLL_FOR (uint32_t b = 1; b < 8; ++b) {
            if (b < splits) total = make_float4(total.x + x[b].x, total.y + x[b].y, total.z + x[b].z, total.w + x[b].w);
        }
        sum[i * 4] = total.x;
        sum[i * 4 + 1] = total.y;
        sum[i * 4 + 2] = total.z;
        sum[i * 4 + 3] = total.w;
    }
}

/* ---- the end of a tile ----
 *
 * A thread's sums are in two rows, 8 apart, in pairs of columns, 8 apart (the PTX manual draws wgmma's accumulators).
 * There they become results, by the steps of gpul__gemm_store_rows. What comes from C, and results of f32, pass through
 * shared memory, where C's rows are whole: a warp's 16 rows, 64 columns at a time. */

/* Of what lies in lanes for a column each, 32 columns to an element of `held`: that of sum i of a row, i % 4 < 2 */
template <typename T, int kHeld>
static __device__ __forceinline__ T gpul__tensor_of_column(const T (&held)[kHeld], int i, uint32_t lane) {
    return __shfl_sync(0xffffffffu, held[i / 16], i / 4 % 4 * 8 + int(lane % 4) * 2 + i % 2);
}
/* Every `step`-th of the `left` elements from `from` on, or 0 where there is none; distance: in memory. All are loaded
 * at once, so no branch stands between them. */
template <typename T, int kHeld>
static __device__ __forceinline__ void gpul__tensor_fetch(T (&held)[kHeld], const T *from, int64_t distance,
                                                          int64_t step, int64_t left) {
    GPUL__UNROLL_FOR (int h = 0; h < kHeld; ++h) held[h] = h * step < left ? from[h * distance] : T();
}
/* Of elements in two parts: scaled rows and columns are scaled back. */
static __device__ __forceinline__ void gpul__tensor_scale_back(float *sum, const gpul__gemm_view &v, int64_t row,
                                                               int64_t col, bool f16) {
    enum { kN = 128 };
    const uint32_t lane = gpul__thread_again() % 32;
    const int64_t m = row + lane / 4, n = col + lane;
    uint32_t of_row[2], of_col[kN / 32]; /* the largest elements, then their exponents */
    gpul__tensor_fetch(of_row, v.range_a + 2 * m, 16, 8, v.problem.M - m);
    gpul__tensor_fetch(of_col, v.range_b + 2 * n, 64, 32, v.problem.N - n);
    GPUL__UNROLL_FOR (int h = 0; h < 2; ++h)
        of_row[h] = uint32_t(gpul__pack_row_exponent(of_row[h]) - 2 * gpul__pack_target(f16));
    GPUL__UNROLL_FOR (int h = 0; h < kN / 32; ++h) of_col[h] = uint32_t(gpul__pack_row_exponent(of_col[h]));
    GPUL__UNROLL_FOR (int i = 0; i < kN / 2; i += 4) {
        GPUL__UNROLL_FOR (int j = 0; j < 2; ++j) {
            const int scale = int(gpul__tensor_of_column(of_col, i + j, lane));
            GPUL__UNROLL_FOR (int h = 0; h < 2; ++h)
                sum[i + j + 2 * h] = gpul__pack_scale_back(sum[i + j + 2 * h], int(of_row[h]) + scale);
        }
    }
}

/* A warp's 16 x 64 results of f32, or such elements of C, in shared memory, and where they are in C. There a lane has 16
 * pairs: 32 columns from one to the other in a row; or, turned, where C has them as 64 rows of 16, in neighbouring rows
 * of four. Parts of 32 bytes are in an order in which a warp's accesses meet in no bank, those to sums nor those to
 * pairs. */
struct gpul__tensor_exchange {
    uint32_t of_sums, of_pairs;
    int32_t left[2]; /* pairs whose first, or second, element is in C */
    int64_t at, step,
        second; /* in C, in elements: the first element, from pair to pair, from an element to the second */
    bool turned;
    /* end: the column behind the tile */
    __device__ __forceinline__ void begin(const gpul__gemm_problem &p, uint32_t item, int64_t row, int64_t col,
                                          int64_t end, uint32_t shared, bool turn) {
        const uint32_t lane = gpul__thread_again() % 32, g = lane / 4, t = lane % 4;
        turned = turn;
        of_sums = shared + (turned ? t / 2 * 256 + ((t % 2 * 2) ^ (t / 2)) * 32 + g * 4 : g * 288 + t * 8);
        of_pairs = shared + lane * 4;
        const int64_t m = turned ? col + lane / 16 * 2 : row, n = turned ? row + lane % 16 : col + lane,
                      rows = (turned && end < p.M ? end : p.M) - m, cols = (!turned && end < p.N ? end : p.N) - n;
        const int down = turned ? 4 : 1, height = rows < 16 * down ? int(rows) : 16 * down; /* rows of a pair, of all */
        at = item * p.c_batch + m * p.c_row + n;
        step = down * p.c_row;
        second = turned ? p.c_row : 32;
        left[0] = cols > 0 ? turned ? (height + 3) / 4 : height : 0;
        left[1] = turned ? cols > 0 ? (height + 2) / 4 : 0 : cols > 32 ? height : 0;
    }
    __device__ __forceinline__ uint32_t sum(uint32_t i) const { /* of sum i; i even: where not turned, i + 1 follows */
        return turned ? (of_sums ^ (((i / 2 % 2 + i % 2 * 4) ^ (i / 4 * 2 % 8)) * 32)) + i / 4 * 512
                      : (of_sums ^ (i / 4 * 32)) + i / 2 % 2 * 2048;
    }
    __device__ __forceinline__ uint32_t pair(uint32_t u, uint32_t j) const {
        return (of_pairs ^ ((u % 8 ^ j * 4) * 32)) + u * 256;
    }
    __device__ __forceinline__ void fetch(float (&x)[16][2], const float *c) const {
        const float *first = c + at, *other = first + second;
        GPUL__UNROLL_FOR (int u = 0; u < 16; ++u, first += step, other += step) {
            x[u][0] = u < left[0] ? *first : 0;
            x[u][1] = u < left[1] ? *other : 0;
        }
    }
    __device__ __forceinline__ void put(const float *x) const {
        if (turned) {
            GPUL__UNROLL_FOR (uint32_t i = 0; i < 32; ++i)
                asm volatile("st.shared.f32 [%0], %1;" ::"r"(sum(i)), "f"(x[i]) : "memory");
        } else {
            GPUL__UNROLL_FOR (uint32_t i = 0; i < 32; i += 2)
                asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(sum(i)), "f"(x[i]), "f"(x[i + 1]) : "memory");
        }
    }
    __device__ __forceinline__ void get(float (&x)[32]) const {
        if (turned) {
            GPUL__UNROLL_FOR (uint32_t i = 0; i < 32; ++i)
                asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x[i]) : "r"(sum(i)) : "memory");
        } else {
            GPUL__UNROLL_FOR (uint32_t i = 0; i < 32; i += 2)
                asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x[i]), "=f"(x[i + 1]) : "r"(sum(i)) : "memory");
        }
    }
};

/* Asks for a warp's rows of C, which the end of the tile will read, to come to L2 while the tile is computed. */
static __device__ __forceinline__ void gpul__tensor_prefetch_c(const gpul__gemm_problem &p, uint32_t item, int64_t row,
                                                               int64_t col, int width, bool turned) {
    const uint32_t lane = gpul__thread_again() % 32;
    const int64_t element = p.dtype == GPUL_F32 ? 4 : 2;
    const char *const c = static_cast<const char *>(p.C) + item * p.c_batch * element;
    GPUL__UNROLL_NOT
    for (int i = 0; i < width; i += turned ? 32 : 64) { /* turned: a row of 16 elements; else 32 of half a row */
        const int64_t m = turned ? col + i + lane : row + lane / 2, n = turned ? row : col + i + lane % 2 * 32;
        if (m < p.M && n < p.N) asm volatile("prefetch.global.L2 [%0];" ::"l"(c + (m * p.c_row + n) * element));
    }
}
/* Where eight columns of a row of results of 16 bits are. A box is 64 lines of 2^log2 such chunks, which lie in the order
 * of a swizzle as wide as a line; boxes lie one behind the other. */
static __device__ __forceinline__ uint32_t gpul__tensor_chunk_at(uint32_t row, uint32_t chunk, uint32_t log2) {
    const uint32_t line = row << (log2 + 4), in_line = (chunk ^ line >> 7) & ((1u << log2) - 1);
    return (chunk >> log2 << (log2 + 10)) + line + in_line * 16;
}
/* 16-bit elements of C, 16 rows of a warp by 64 columns, as sums lie in its lanes. 16 bytes are read at a time, wherever
 * C's rows begin. They pass through shared memory, in chunks as results do. In place of rows that are not there, the last
 * one; beyond N, anything. */
static __device__ __forceinline__ void gpul__tensor_read_narrow(float (&x)[32], const gpul__gemm_problem &p,
                                                                uint32_t item, int64_t row, int64_t col, int64_t end,
                                                                uint32_t shared) {
    const uint32_t lane = gpul__thread_again() % 32, mine = lane / 8, chunk = lane % 8;
    const gpul__gemm_16 *const c = static_cast<const gpul__gemm_16 *>(p.C) + item * p.c_batch;
    const int64_t n = col + chunk * 8;
    const gpul__gemm_16 *from[4];
    gpul__raw raw[4] = {};
    gpul__extent memory;
    memory.set(c, (p.M - 1) * p.c_row + p.N, sizeof(gpul__gemm_16));
    bool inside = true;
    GPUL__UNROLL_FOR (int q = 0; q < 4; ++q) {
        const int64_t m = row + mine + 4 * q;
        from[q] = c + (m < p.M ? m : p.M - 1) * p.c_row + n;
        inside = inside && memory.holds(from[q], 16);
    }
    if (n < p.N && n < end) {
        if (inside) {
            gpul__fetch<gpul__gemm_16, 8> fetch[4];
            GPUL__UNROLL_FOR (int q = 0; q < 4; ++q) fetch[q].load(from[q]);
            GPUL__UNROLL_FOR (int q = 0; q < 4; ++q) raw[q] = fetch[q].get(from[q]);
        } else {
            gpul__gather_all<8>(from, 1, p.N - n < 8 ? int(p.N - n) : 8, raw);
        }
    }
    __syncwarp(); /* what was there has been read */
    GPUL__UNROLL_FOR (uint32_t q = 0; q < 4; ++q)
        asm volatile(
            "st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(shared + gpul__tensor_chunk_at(mine + 4 * q, chunk, 3)),
            "r"(raw[q].v[0]), "r"(raw[q].v[1]), "r"(raw[q].v[2]), "r"(raw[q].v[3])
            : "memory");
    __syncwarp();
    GPUL__UNROLL_FOR (uint32_t j = 0; j < 4; ++j)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(raw[j].v[0]), "=r"(raw[j].v[1]), "=r"(raw[j].v[2]), "=r"(raw[j].v[3])
                     : "r"(shared + gpul__tensor_chunk_at(lane % 16, j * 2 + lane / 16, 3))
                     : "memory");
    float wide[4][8];
    if (p.dtype == GPUL_BF16) gpul__gemm_widen_all<true, gpul__gemm_16>(wide, raw);
    else gpul__gemm_widen_all<false, gpul__gemm_16>(wide, raw);
    GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) x[i] = wide[i / 8][i % 8];
}
/* The same of float32 */
static __device__ __forceinline__ void gpul__tensor_read_wide(float (&x)[32], const gpul__gemm_problem &p,
                                                              uint32_t item, int64_t row, int64_t col, int64_t end,
                                                              uint32_t shared, bool turned) {
    gpul__tensor_exchange exchange;
    float c[16][2];
    exchange.begin(p, item, row, col, end, shared, turned);
    exchange.fetch(c, static_cast<const float *>(p.C));
    __syncwarp(); /* what was there has been read */
    GPUL__UNROLL_FOR (uint32_t u = 0; u < 16; ++u) {
        GPUL__UNROLL_FOR (uint32_t j = 0; j < 2; ++j)
            asm volatile("st.shared.f32 [%0], %1;" ::"r"(exchange.pair(u, j)), "f"(c[u][j]) : "memory");
    }
    __syncwarp();
    exchange.get(x);
}
/* A consumer's two boxes of 64 columns, through which results of 16 bits leave in rounds of 128 columns, and elements of C
 * come, by bulk copies of `wide` columns, a power of two. */
struct gpul__tensor_boxes {
    uint32_t shared, barrier;  /* barrier: counts what comes */
    int consumer, width;       /* width: columns of the tile */
    uint32_t warp, wide, log2; /* warp: of the consumer; log2: of the 16-byte chunks in a line of a copy */
    __device__ __forceinline__ void find(const gpul__tensor_ring &ring, int which, int columns, int32_t bulk) {
        shared = ring.stages + gpul__tensor_ring_bytes + uint32_t(which) * (2 * gpul__tensor_box);
        barrier = ring.full + uint32_t(2 * gpul__tensor_stages + which) * 8;
        consumer = which;
        width = columns;
        warp = gpul__warp_uniform(gpul__thread_again() / 32 % 4);
        wide = bulk ? uint32_t(bulk) : 64;
        log2 = uint32_t(__ffs(int(wide))) - 4;
    }
    __device__ __forceinline__ int end_of(int begin) const { return begin + 128 < width ? begin + 128 : width; }
    /* Waits until nobody reads the boxes: the copies that a thread issued, and the consumer's warps. */
    __device__ __forceinline__ void wait() const {
        if (warp == 0 && gpul__elected()) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        gpul__consumer_barrier(consumer);
    }
    /* where the lane's part of eight columns by a warp's rows is, for ldmatrix and stmatrix of 16 columns */
    __device__ __forceinline__ uint32_t at(uint32_t columns_16) const {
        const uint32_t lane = gpul__thread_again() % 32;
        return shared + columns_16 / 4 * gpul__tensor_box +
               gpul__tensor_chunk_at(warp * 16 + lane % 16, columns_16 % 4 * 2 + lane / 16, log2);
    }
    /* A round of C, from column `begin` of the tile on, is asked for; n: the tile's first column. */
    __device__ __forceinline__ void fetch(const CUtensorMap *map, const gpul__tensor_work &work, int32_t n,
                                          int begin) const {
        wait();
        if (warp == 0 && gpul__elected()) {
            const int end = end_of(begin);
            gpul__mbarrier_expect(barrier, uint32_t(end - begin) * 128);
            GPUL__UNROLL_NOT
            for (int col = begin; col < end; col += int(wide))
                gpul__tensor_load(shared + uint32_t(col - begin) * 128, map, n + col, int32_t(work.m),
                                  int32_t(work.item), barrier);
        }
    }
};
/* sum = alpha sum + beta C, where bulk copies bring C, whose first round has been asked for; parity: of its barrier */
static __device__ __forceinline__ void gpul__tensor_add_boxes(float (&sum)[gpul__tensor_sums], const gpul__gemm_view &v,
                                                              const CUtensorMap *map, const gpul__tensor_work &work,
                                                              const gpul__tensor_boxes &boxes, uint32_t &parity) {
    const float alpha = v.tensor.alpha, beta = v.tensor.beta;
    GPUL__UNROLL_FOR (int begin = 0; begin < gpul__tensor_widest; begin += 128) {
        if (begin >= boxes.width) break;
        if (begin > 0) boxes.fetch(map, work, int32_t(work.n), begin);
        gpul__mbarrier_wait(boxes.barrier, parity);
        parity ^= 1;
        GPUL__UNROLL_FOR (int g = 0; g < 4; ++g) { /* 32 columns, 16 sums */
            if (g == 2 && begin + 64 >= boxes.width) break;
            gpul__raw raw[2];
            float x[2][8], *const to = sum + begin / 2 + g * 16;
            GPUL__UNROLL_FOR (int j = 0; j < 2; ++j)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(raw[j].v[0]), "=r"(raw[j].v[1]), "=r"(raw[j].v[2]), "=r"(raw[j].v[3])
                             : "r"(boxes.at(uint32_t(g * 2 + j)))
                             : "memory");
            if (v.tensor.dtype == GPUL_BF16) gpul__gemm_widen_all<true, gpul__gemm_16>(x, raw);
            else gpul__gemm_widen_all<false, gpul__gemm_16>(x, raw);
            GPUL__UNROLL_FOR (int i = 0; i < 16; ++i) to[i] = __fmaf_rn(alpha, to[i], beta * x[i / 8][i % 8]);
        }
    }
}
/* sum = alpha sum + beta C */
static __device__ __forceinline__ void gpul__tensor_add_c(float (&sum)[gpul__tensor_sums], const gpul__gemm_view &v,
                                                          uint32_t item, int64_t row, int64_t col, int width,
                                                          uint32_t shared, bool narrow, bool turned) {
    const gpul__gemm_problem &p = v.problem;
    const float alpha = v.tensor.alpha, beta = v.tensor.beta;
    GPUL__UNROLL_NOT
    for (int64_t next = 0; next < gpul__tensor_widest; next += 64) { /* the first 32 sums, which become the last */
        float x[32];
        GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) x[i] = 0;
        if (next < width) {
            if (narrow) gpul__tensor_read_narrow(x, p, item, row, col + next, col + width, shared);
            else gpul__tensor_read_wide(x, p, item, row, col + next, col + width, shared, turned);
            GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) x[i] = __fmaf_rn(alpha, sum[i], beta * x[i]);
        }
        GPUL__UNROLL_FOR (int i = 0; i + 32 < gpul__tensor_sums; ++i) sum[i] = sum[i + 32];
        GPUL__UNROLL_FOR (int i = 0; i < 32; ++i) sum[gpul__tensor_sums - 32 + i] = x[i];
    }
}

/* The bias: of the thread's two rows, or of its columns, which the lanes of its warp load together. The activation:
 * GELU takes many instructions, so a loop applies it to the first 16 sums, of 32 columns, which then become the last. Of
 * `width` columns of the tile those that are there are enough. */
static __device__ __forceinline__ void gpul__tensor_epilogue(float (&sum)[gpul__tensor_sums],
                                                             const gpul__gemm_problem &p, int64_t row, int64_t col,
                                                             int width, bool turned) {
    if (p.bias) {
        enum { kHeld = gpul__tensor_widest / 32 };
        const uint32_t lane = gpul__thread_again() % 32;
        const bool of_rows = (p.transposed != 0) != turned; /* rows of the sums */
        const int64_t first = of_rows ? row + lane / 4 : col + lane, left = (p.transposed ? p.M : p.N) - first,
                      stride = p.transposed ? p.bias_m : p.bias_n;
        const int64_t at = first * stride, step = of_rows ? 8 : 32;
        float held[kHeld];
        if (p.bias_dtype == GPUL_F32) {
            gpul__tensor_fetch(held, static_cast<const float *>(p.bias) + at, step * stride, step, left);
        } else {
            gpul__gemm_16 narrow[kHeld];
            gpul__tensor_fetch(narrow, static_cast<const gpul__gemm_16 *>(p.bias) + at, step * stride, step, left);
            GPUL__UNROLL_FOR (int h = 0; h < kHeld; ++h)
                held[h] = gpul__gemm_widen(narrow[h], p.bias_dtype == GPUL_BF16);
        }
        if (of_rows) {
            GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; ++i) sum[i] = __fadd_rn(sum[i], held[i / 2 % 2]);
        } else {
            GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; i += 4) {
                GPUL__UNROLL_FOR (int j = 0; j < 2; ++j) {
                    const float add = gpul__tensor_of_column(held, i + j, lane);
                    sum[i + j] = __fadd_rn(sum[i + j], add);
                    sum[i + j + 2] = __fadd_rn(sum[i + j + 2], add);
                }
            }
        }
    }
    if (p.activation == GPUL_ACTIVATION_RELU) {
        GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; ++i) sum[i] = gpul__gemm_relu(sum[i]);
    }
    const int64_t rows = turned ? p.N : p.M, left = (turned ? p.M : p.N) - col;
    const int columns = row >= rows ? 0 : left < width ? int(left) : width;
    GPUL__UNROLL_NOT
    for (int k = p.activation == GPUL_ACTIVATION_GELU ? 0 : gpul__tensor_sums; k < gpul__tensor_sums; k += 16) {
        float done[16];
        GPUL__UNROLL_FOR (int i = 0; i < 16; ++i) done[i] = sum[i];
        if (k * 2 < columns) {
            GPUL__UNROLL_FOR (int i = 0; i < 16; ++i) done[i] = gpul__gemm_gelu(sum[i]);
        }
        GPUL__UNROLL_FOR (int i = 0; i + 16 < gpul__tensor_sums; ++i) sum[i] = sum[i + 16];
        GPUL__UNROLL_FOR (int i = 0; i < 16; ++i) sum[gpul__tensor_sums - 16 + i] = done[i];
    }
}

/* Results of f32, 64 columns after 64: of the first 32 sums, to whose place the next ones move */
static __device__ __forceinline__ void gpul__tensor_store_rows(float (&sum)[gpul__tensor_sums],
                                                               const gpul__gemm_problem &p, uint32_t item, int64_t row,
                                                               int64_t col, int width, uint32_t shared, bool turned) {
    GPUL__UNROLL_NOT
    for (int begin = 0;;) {
        gpul__tensor_exchange exchange;
        float x[16][2];
        exchange.begin(p, item, row, col + begin, col + width, shared, turned);
        float *first = static_cast<float *>(p.C) + exchange.at, *second = first + exchange.second;
        __syncwarp();
        exchange.put(sum);
        __syncwarp();
        GPUL__UNROLL_FOR (uint32_t u = 0; u < 16; ++u) {
            GPUL__UNROLL_FOR (uint32_t j = 0; j < 2; ++j)
                asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x[u][j]) : "r"(exchange.pair(u, j)) : "memory");
        }
        GPUL__UNROLL_FOR (int u = 0; u < 16; ++u, first += exchange.step, second += exchange.step) {
            if (u < exchange.left[0]) *first = gpul__is_nan(x[u][0]) ? gpul__quiet_nan<float>() : x[u][0];
            if (u < exchange.left[1]) *second = gpul__is_nan(x[u][1]) ? gpul__quiet_nan<float>() : x[u][1];
        }
        begin += 64;
        if (begin >= width || col + begin >= (turned ? p.M : p.N)) break;
        GPUL__UNROLL_FOR (int i = 0; i + 32 < gpul__tensor_sums; ++i) sum[i] = sum[i + 32];
    }
}

/* Bulk copies to C write groups of eight columns. What is behind the last whole group is for a warp's lanes, two a row. */
static __device__ __forceinline__ void gpul__tensor_store_rest(const gpul__gemm_problem &p,
                                                               const gpul__tensor_work &work, int first, int width,
                                                               uint32_t warp, uint32_t box, uint32_t log2) {
    const int64_t rest = p.N & ~int64_t(7), col = rest - work.n - first; /* of the box */
    if (rest == p.N || col < 0 || col >= 64 || first + col >= width) return;
    const uint32_t lane = gpul__thread_again() % 32, row = warp * 16 + lane / 2, half = lane % 2 * 4;
    const int64_t m = int64_t(work.m) + row, n = rest + half;
    uint16_t *const to = static_cast<uint16_t *>(p.C) + work.item * p.c_batch + m * p.c_row + n;
    uint16_t x[4];
    asm volatile("ld.shared.v4.u16 {%0, %1, %2, %3}, [%4];"
                 : "=h"(x[0]), "=h"(x[1]), "=h"(x[2]), "=h"(x[3])
                 : "r"(box + gpul__tensor_chunk_at(row, uint32_t(col) / 8, log2) + half * 2));
    GPUL__UNROLL_FOR (int i = 0; i < 4; ++i) {
        if (m < p.M && n + i < p.N) to[i] = x[i];
    }
}
/* Results of 16-bit types. They pass through shared memory, in rounds of two boxes of 64 columns. From there bulk copies
 * take them while the next tile is computed, in boxes of so many columns that they fill the tile. Where C is not aligned,
 * the warps take them, whose lanes then write neighbouring elements. */
static __device__ __forceinline__ void gpul__tensor_store_boxes(float (&sum)[gpul__tensor_sums],
                                                                const gpul__gemm_view &v, const CUtensorMap *map,
                                                                const gpul__tensor_work &work,
                                                                const gpul__tensor_boxes &boxes) {
    const gpul__gemm_problem &p = v.problem;
    const uint32_t lane = gpul__thread_again() % 32, warp = boxes.warp;
    const int width = boxes.width;
    GPUL__UNROLL_NOT
    for (int begin = 0;;) { /* the first 64 sums */
        const int end = boxes.end_of(begin);
        uint32_t two[32];
        if (v.tensor.dtype == GPUL_BF16) gpul__tensor_narrow<true>(two, sum);
        else gpul__tensor_narrow<false>(two, sum);
        boxes.wait(); /* for the round before */
        GPUL__UNROLL_FOR (uint32_t j = 0; j < 16; j += 2) {
            if (j == 8 && begin + 64 >= end) break;
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(boxes.at(j / 2)),
                         "r"(two[j * 2]), "r"(two[j * 2 + 1]), "r"(two[j * 2 + 2]), "r"(two[j * 2 + 3])
                         : "memory");
        }
        if (v.plan.c_bulk) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            gpul__consumer_barrier(boxes.consumer);
            if (warp == 0 && gpul__elected()) {
                GPUL__UNROLL_NOT
                for (int col = begin; col < end; col += int(boxes.wide))
                    gpul__tensor_store(map, boxes.shared + uint32_t(col - begin) * 128, int32_t(work.n) + col,
                                       int32_t(work.m), int32_t(work.item));
                asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            }
            if (gpul__rarely(p.N % 8 != 0)) {
                GPUL__UNROLL_NOT
                for (int col = begin; col < end; col += 64)
                    gpul__tensor_store_rest(p, work, col, width, warp, boxes.shared + uint32_t(col - begin) * 128,
                                            boxes.log2);
            }
        } else {
            __syncwarp();
            GPUL__UNROLL_NOT
            for (int col = begin; col < end; col += 64) {
                const uint32_t box = boxes.shared + uint32_t(col - begin) * 128;
                const int64_t n = int64_t(work.n) + col + lane, top = int64_t(work.m) + warp * 16;
                const bool left_there = n < p.N && col + int(lane) < width,
                           right_there = n + 32 < p.N && col + 32 + int(lane) < width;
                uint16_t *to = static_cast<uint16_t *>(p.C) + work.item * p.c_batch + top * p.c_row + n;
                const int rows = p.M - top < 16 ? int(p.M - top) : 16;
                GPUL__UNROLL_NOT
                for (int first = 0; first < 16; first += 8) {
                    uint16_t x[8][2]; /* all loads, then all stores, with no branch between */
                    GPUL__UNROLL_FOR (uint32_t r = 0; r < 8; ++r) {
                        GPUL__UNROLL_FOR (uint32_t h = 0; h < 2; ++h)
                            asm volatile(
                                "ld.shared.u16 %0, [%1];"
                                : "=h"(x[r][h])
                                : "r"(box +
                                      gpul__tensor_chunk_at(warp * 16 + uint32_t(first) + r, lane / 8 + h * 4, 3) +
                                      lane % 8 * 2));
                    }
                    GPUL__UNROLL_FOR (int r = 0; r < 8; ++r, to += p.c_row) {
                        if (first + r < rows && left_there) to[0] = x[r][0];
                        if (first + r < rows && right_there) to[32] = x[r][1];
                    }
                }
            }
        }
        begin = end;
        if (end == width) break;
        GPUL__UNROLL_FOR (int i = 0; i < 64; ++i) sum[i] = sum[i + 64];
    }
}

/* What becomes of a consumer's sums before they leave; row: the first of its warp; shared: that warp's; f16: of parts */
template <bool kTerms>
static __device__ __forceinline__ void gpul__tensor_scale(float (&sum)[gpul__tensor_sums], const gpul__gemm_view &v,
                                                          const CUtensorMap *map, const gpul__tensor_work &work,
                                                          const gpul__tensor_boxes &boxes, int64_t row, uint32_t shared,
                                                          bool narrow, bool turned, bool f16, uint32_t &parity) {
    const gpul__gemm_problem &p = v.problem;
    if (kTerms) gpul__tensor_scale_back(sum, v, row, work.n, f16);
    if (v.tensor.beta != 0) {
        if (!kTerms && v.tensor.fetches) {
            gpul__tensor_add_boxes(sum, v, map, work, boxes, parity);
        } else {
            if (narrow) boxes.wait(); /* for the last tile */
            gpul__tensor_add_c(sum, v, work.item, row, work.n, boxes.width, shared, narrow, turned);
        }
    } else if (v.tensor.alpha != 1) {
        GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; ++i) sum[i] *= v.tensor.alpha;
    }
    if (gpul__gemm_has_epilogue(p)) gpul__tensor_epilogue(sum, p, row, work.n, boxes.width, turned);
}

/* The producers of a kernel that gathers one operand or both, two warpgroups. A slice of such an operand has two halves,
 * of 32 rows; gpul__tensor_gathering warps take those of one slice, the others those of the next ones. */
static __device__ __forceinline__ void gpul__tensor_produce_gathered(gpul__tensor_ring &ring, const CUtensorMap &map_a,
                                                                     const CUtensorMap &map_b, const gpul__gemm_view &v,
                                                                     const gpul__tensor_place &place, int form) {
    const gpul__gemm_problem &p = v.problem;
    enum { kWarps = 8 };
    const uint32_t warp = gpul__warp_uniform(threadIdx.x / 32 - 4), lane = threadIdx.x % 32,
                   sharing = gpul__tensor_gathering(p, v.plan.gathers), up = uint32_t(__ffs(int(sharing))) - 1,
                   others = (kWarps >> up) - 1; /* a mask */
    const bool both = v.plan.gathers == 3, halves = sharing == (both ? 4 : 2),
               of_b = both ? (warp & sharing / 2) != 0 : v.plan.gathers == 2;
    const int32_t half = halves ? int32_t(warp % 2) * 32 : 0;
    const bool wide = p.dtype == GPUL_F32, turned_a = form & 1, turned_b = form & 2,
               turned = of_b ? p.b_row != 1 : p.a_col != 1;
    const int64_t pitch = of_b ? (turned ? p.b_row : p.b_col) : (turned ? p.a_col : p.a_row), rows = of_b ? p.N : p.M,
                  batch = of_b ? p.b_batch : p.a_batch;
    const void *const data = of_b ? p.B : p.A;
    gpul__tensor_work work;
    uint32_t turn = warp >> up;
    for (uint32_t index = place.cluster; index < v.tensor.work_tiles; index += place.clusters) {
        work.find(index, v, place);
        const int32_t m = int32_t(work.m), n = int32_t(work.n), at = of_b ? n : m,
                      item_a = p.a_batch ? int32_t(work.item) : 0, item_b = p.b_batch ? int32_t(work.item) : 0;
        const int64_t first = (of_b ? item_b : item_a) * batch;
        for (int32_t i = 0; i < work.length; ++i, ring.advance()) {
            if ((turn++ & others) != 0) continue;
            const int32_t k = (work.begin + i) * (wide ? 32 : 64);
            const uint32_t full = ring.full + uint32_t(ring.stage) * 8, a = ring.at(), b = a + gpul__tensor_box;
            gpul__mbarrier_wait(ring.empty + uint32_t(ring.stage) * 8, ring.parity ^ 1);
            if (!both && !half && gpul__elected()) { /* the operand that has a map, on its way meanwhile */
                gpul__mbarrier_expect_more(full, gpul__tensor_box);
                if (of_b) gpul__tensor_load(a, &map_a, turned_a ? m : k, turned_a ? k : m, item_a, full);
                else gpul__tensor_load(b, &map_b, turned_b ? n : k, turned_b ? k : n, item_b, full);
            }
            const uint32_t to = (of_b ? b : a) + uint32_t(half) * 128;
            if (wide) {
                const int32_t row = at + half, line = turned ? k : row, dense = turned ? row : k;
                gpul__tensor_gather_wide(to, static_cast<const float *>(data) + first + line * pitch + dense, pitch,
                                         (turned ? p.K : rows) - line, (turned ? rows : p.K) - dense, turned);
            } else {
                gpul__tensor_gather(to, static_cast<const uint16_t *>(data) + first, pitch, turned ? rows : p.K,
                                    turned ? p.K : rows, turned ? at : k, (turned ? k : at) + half);
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncwarp(); /* before one lane arrives at `full` */
            if (gpul__elected()) gpul__mbarrier_expect(full, 0);
        }
    }
}

/* An operand as the thread that issues its copies sees it: boxes of 128 bytes by `lines`, of which this block copies
 * some, to all blocks of a mask that share them. */
struct gpul__tensor_source {
    const CUtensorMap *map;
    uint32_t mask;               /* of the blocks */
    int32_t boxes, lines, first; /* first: of the lines that this block copies */
    int32_t width;               /* elements of 128 bytes */
    bool across;                 /* not contiguous along K: the lines of a box are steps of K */
    /* rows: of the tile, along M or N; part: of the lines, which of so many parts, a power of two */
    __device__ __forceinline__ void begin(bool wide, int32_t rows, uint32_t part, uint32_t parts) {
        width = wide ? 32 : 64;
        boxes = across ? (rows + width - 1) >> (wide ? 5 : 6) : 1;
        lines = across ? width : rows;
        first = (lines >> (31 - __clz(int(parts)))) * int32_t(part);
    }
    /* a slice, from step k of K and row `row` on, to `shared` */
    __device__ __forceinline__ void copy(uint32_t shared, int32_t k, int32_t row, int32_t item, uint32_t full) const {
        int32_t dense = across ? row : k, outer = (across ? k : row) + first;
        shared += uint32_t(first) * gpul__tensor_slice;
        GPUL__UNROLL_NOT
        for (int32_t g = 0; g < boxes; ++g, shared += uint32_t(lines) * gpul__tensor_slice, dense += width) {
            if (mask & (mask - 1)) gpul__tensor_load_all(shared, map, dense, outer, item, full, uint16_t(mask));
            else gpul__tensor_load(shared, map, dense, outer, item, full);
        }
    }
};
#endif /* __CUDA_ARCH_FEAT_SM90_ALL */

/* The kernel. Of 128 rows, each of two consumers has half. Of 64 rows, each has every other tile, so that one multiplies
 * while the results of the other one leave. Two threads of the third warpgroup issue all copies of A and B. Where
 * operands are gathered, the second one is a producer as well. The problem's dtype says what is multiplied (f32: as
 * TF32), or the choice, for elements in two parts: in TF32 these have twice as many slices as in f16. */
template <bool kTerms>
static __global__ void GPUL__TENSOR_BOUNDS(gpul__tensor_threads)
    gpul__tensor_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                        const __grid_constant__ CUtensorMap map_c, const __grid_constant__ CUtensorMap map_read,
                        const __grid_constant__ gpul__gemm_view v) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    const gpul__gemm_problem &p = v.problem;
    const gpul__gemm_plan &plan = v.plan;
    const gpul__tensor_view &t = v.tensor;
    __shared__ __align__(8) uint64_t barriers[2 * gpul__tensor_stages + 2];
    GPUL_SHARED(unsigned char, shared);
    gpul__tensor_ring ring;
    ring.full = gpul__warp_uniform(gpul__shared_address(barriers)); /* else they are computed anew in each loop */
    ring.empty = ring.full + gpul__tensor_stages * 8;
    const int warp = int(gpul__warp_uniform(threadIdx.x / 32)), warpgroup = warp / 4;
    if (warp == 11 && gpul__elected()) { /* first of all, for others wait for it */
        GPUL__UNROLL_FOR (uint32_t s = 0; s < gpul__tensor_stages; ++s) {
            gpul__mbarrier_init(ring.full + s * 8, t.writers);
            gpul__mbarrier_init(ring.empty + s * 8, t.readers);
        }
        GPUL__UNROLL_FOR (uint32_t i = 0; i < 2; ++i)
            gpul__mbarrier_init(ring.full + (2 * gpul__tensor_stages + i) * 8, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    const bool wide = !kTerms && t.dtype == GPUL_F32; /* rows of a box are 32 elements, not 64 */
    const int form = kTerms ? 0 : t.form;
    const bool gathers = !kTerms && plan.gathers, held = wide && plan.held, turned = wide && plan.held == 2;
    const uint32_t cluster = uint32_t(plan.cluster);
    const bool together = !kTerms && plan.cluster_splits; /* splits of a tile share nothing */
    const int width = kTerms ? 128 : plan.tile_n;
    gpul__tensor_place place;
    place.find(t, together);
    /* the blocks that share this one's columns of B, below each other, and those that share its rows of A */
    const uint32_t share_b = t.below << (place.rank - place.m), share_a = together ? share_b : t.across << place.m;
    ring.stages = gpul__warp_uniform((gpul__shared_address(shared) + 1023) & ~1023u);
    ring.bytes = uint32_t(t.stage_bytes);
    ring.count = t.stages;
    ring.of_b = uint32_t(plan.tile_m) * gpul__tensor_slice;
    ring.peers = share_a | share_b;
    ring.parity = 0;
    ring.stage = 0;
    /* When all have come here, barriers can be used, and when the stream's last kernel has ended, memory. */
    const auto begin = [&] {
        if (cluster > 1) gpul__cluster_meet();
        else asm volatile("barrier.sync 5, 384;" ::: "memory"); /* __syncthreads, from several places */
        gpul__await();
        return gpul__gemm_chosen(v.choice);
    };
    /* 1: TF32 in two parts */
    const auto twice = [&]() -> uint32_t {
        return kTerms ? gpul__warp_uniform(gpul__gemm_way(v.choice) == gpul__gemm_by_tf32) : 0;
    };
    gpul__tensor_work work;
    if (warpgroup == 2 || (warpgroup == 1 && gathers)) {
        if (gathers) {
            asm volatile("setmaxnreg.dec.sync.aligned.u32 136;");
            if (begin()) gpul__tensor_produce_gathered(ring, map_a, map_b, v, place, form);
        } else { /* warp 8 copies A, warp 9 B */
            asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
            const bool of_b = warp == 9, stacked = t.stacked & (of_b != turned ? 2 : 1);
            gpul__tensor_source source;
            source.map = of_b ? &map_b : &map_a;
            source.mask = of_b ? share_b : share_a;
            source.across = of_b ? form & 2 : held || form & 1;
            source.begin(wide, of_b ? plan.tile_n : plan.tile_m, of_b ? place.m : place.n,
                         of_b ? uint32_t(plan.cluster_m) : uint32_t(plan.cluster_n));
            const uint32_t offset = of_b ? ring.of_b : 0,
                           bytes = uint32_t(source.boxes * source.lines) * gpul__tensor_slice;
            if (warp < 10 && gpul__elected()) asm volatile("prefetch.tensormap [%0];" ::"l"(source.map) : "memory");
            uint32_t index = place.cluster;
            work.find(index, v, place); /* while others come */
            const bool chosen = begin();
            const uint32_t more = twice();
            if (chosen && warp < 10 && gpul__elected()) {
                for (;;) {
                    const int32_t row = int32_t(of_b ? work.n : work.m), item = stacked ? int32_t(work.item) : 0;
                    int32_t k = (work.begin << more) * source.width;
                    for (int32_t left = work.length << more; left > 0; --left, k += source.width, ring.advance()) {
                        const uint32_t full = ring.full + uint32_t(ring.stage) * 8;
                        gpul__mbarrier_wait(ring.empty + uint32_t(ring.stage) * 8, ring.parity ^ 1);
                        gpul__mbarrier_expect(full, bytes);
                        source.copy(ring.at() + offset, k, row, item, full);
                    }
                    index += place.clusters;
                    if (index >= t.work_tiles) break;
                    work.find(index, v, place);
                }
                /* What other blocks' warps have read is known here before this block may end. */
                for (int i = 0; i < ring.count && cluster > 1; ++i, ring.advance())
                    gpul__mbarrier_wait(ring.empty + uint32_t(ring.stage) * 8, ring.parity ^ 1);
            }
        }
    } else { /* long splits, and several terms of the tree, go chunk by chunk; the promoted sums of those before are in
              * memory, thread by thread */
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const bool turns = !kTerms && plan.tile_m == 64 && !gathers;
        const int half = plan.tile_m == 128 ? warpgroup : 0;
        const bool narrow = !kTerms && t.dtype != GPUL_F32;
        gpul__tensor_boxes boxes;
        uint32_t parity = 0; /* of the boxes' barrier */
        float4 *const promoted = reinterpret_cast<float4 *>(v.promoted) +
                                 int64_t(blockIdx.x * 2 + uint32_t(warpgroup)) * (16 * plan.tile_n) + threadIdx.x % 128;
        uint32_t index = begin() ? place.cluster : t.work_tiles;
        const bool f16 = !twice();
        for (int turn = 0; index < t.work_tiles; index += place.clusters, turn ^= 1) {
            float sum[gpul__tensor_sums];
            work.find(index, v, place);
            work.m += uint32_t(half) * 64;
            if (turns && turn != warpgroup) {
                ring.skip(work.length);
                continue;
            }
            const int share = kTerms ? width : plan.share;
            if (gpul__rarely(t.beta != 0)) {
                boxes.find(ring, warpgroup, share, plan.c_bulk);
                if (t.fetches)
                    boxes.fetch(&map_read, work, int32_t(work.n) + (together ? int32_t(place.rank) * share : 0), 0);
                else if (plan.splits == 1)
                    gpul__tensor_prefetch_c(p, work.item, int64_t(work.m) + boxes.warp * 16, work.n, width, turned);
            }
            if (turns && index != place.cluster) gpul__consumer_turn(warpgroup);
            if (kTerms) {
                if (f16) gpul__tensor_multiply_terms<GPUL_F16>(sum, ring, work.length, half, p.transposed != 0);
                else gpul__tensor_multiply_terms<GPUL_F32>(sum, ring, work.length * 2, half, p.transposed != 0);
            }
            for (int32_t left = kTerms ? 0 : work.length; left > 0;) {
                const int32_t chunk = left < t.chunk ? left : t.chunk;
                gpul__tensor_multiply_all(sum, ring, chunk, half, t.dtype, form, held, width);
                if (gpul__rarely(chunk < work.length)) {
                    GPUL__UNROLL_FOR (int i = 0; i < gpul__tensor_sums; i += 4) {
                        if (left == work.length || (i % 16 == 0 && i * 2 >= width)) break;
                        const float4 before = promoted[i / 4 * 128];
                        sum[i] += before.x;
                        sum[i + 1] += before.y;
                        sum[i + 2] += before.z;
                        sum[i + 3] += before.w;
                    }
                    if (left > chunk) gpul__tensor_leave(promoted, 128, sum, width);
                }
                left -= chunk;
            }
            if (turns && index + place.clusters < t.work_tiles) gpul__consumer_next(warpgroup);
            boxes.find(ring, warpgroup, share, plan.c_bulk);
            const int64_t row = int64_t(work.m) + boxes.warp * 16; /* of the warp's */
            const uint32_t of_warp = boxes.shared + boxes.warp * 4096;
            if (kTerms || gpul__rarely(!t.plain)) { /* in one branch: each jump costs an instruction fetch */
                if (together) {
                    gpul__tensor_combine_in_cluster(sum, v, work, place.rank, half);
                    work.n += place.rank * uint32_t(plan.share);
                } else if (plan.splits > 1 && !gpul__tensor_combine(sum, v, work, width, warpgroup, half)) {
                    continue;
                }
                gpul__tensor_scale<kTerms>(sum, v, &map_read, work, boxes, row, of_warp, narrow, turned, f16, parity);
            }
            if (narrow) gpul__tensor_store_boxes(sum, v, &map_c, work, boxes);
            else gpul__tensor_store_rows(sum, p, work.item, row, work.n, share, of_warp, turned);
        }
        if (warp % 4 == 0 && gpul__elected()) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    if (cluster > 1) gpul__cluster_meet(); /* no block ends while another one reads or writes its shared memory */
#else
    (void)map_a, (void)map_b, (void)map_c, (void)map_read, (void)v;
#endif
}

/* By plan.tile: of elements as they are, and in two parts. ptxas takes kernels in the order in which they are first named,
 * on all cores; these take it longest, so they are named before others. */
typedef void (*gpul__tensor_function)(const CUtensorMap, const CUtensorMap, const CUtensorMap, const CUtensorMap,
                                      const gpul__gemm_view);
static const gpul__tensor_function gpul__tensor_functions[2] = {gpul__tensor_kernel<false>, gpul__tensor_kernel<true>};

#endif /* GPUL__HOPPER */

/* ---- copies of operands of 16 bits whose rows begin anywhere: there each row begins at a multiple of 16 bytes ---- */

struct gpul__tensor_copy {
    const void *from;
    uint16_t *to;
    int64_t dense, rows, from_pitch, to_pitch; /* in elements, `dense` of them contiguous; to_pitch 0: no copy */
    int64_t batch;                             /* from matrix to matrix; 0: one for all */
};
struct gpul__tensor_copies {
    gpul__tensor_copy of[2];
};
static __global__ void __launch_bounds__(256) gpul__tensor_pack(const __grid_constant__ gpul__tensor_copies copies) {
    const gpul__tensor_copy &c = copies.of[blockIdx.y];
    gpul__await();
    if (c.to_pitch == 0 || (blockIdx.z > 0 && c.batch == 0)) return;
    const uint16_t *const from = static_cast<const uint16_t *>(c.from) + blockIdx.z * c.batch;
    uint16_t *const to = c.to + blockIdx.z * c.rows * c.to_pitch;
    const int64_t vectors = c.to_pitch / 8, count = vectors * c.rows;
    const double inverse = 1.0 / double(vectors);
    GPUL_GRID_STRIDE(i, count) {
        int64_t vector;
        const int64_t row = gpul__divide(i, vectors, inverse, &vector);
        const uint16_t *const p = from + row * c.from_pitch + vector * 8;
        const int64_t there = c.dense - vector * 8;
        const uintptr_t at = reinterpret_cast<uintptr_t>(p);
        gpul__pack<uint16_t, 8> eight;
        /* aligned, or the aligned 32 bytes that hold it are in this row */
        if (at % 16 == 0 ? there >= 8 : vector > 0 && there >= 16) {
            gpul__fetch<uint16_t, 8> fetch;
            fetch.load(p);
            eight = fetch.unpacked(fetch.get(p));
        } else {
            eight = gpul__gather<uint16_t, 8>(p, 1, there < 8 ? int(there) : 8);
        }
        gpul__save<8>(to + row * c.to_pitch + vector * 8, eight);
    }
}

/* ---- the plan ---- */

/* A matrix as it is in memory: `rows` rows of `dense` contiguous elements, `pitch` apart. batch, steps: see
 * gpul__gemm_problem. */
struct gpul__gemm_matrix {
    const void *data;
    int64_t dense, rows, pitch, batch, steps;
};
static inline gpul__gemm_matrix gpul__gemm_a(const gpul__gemm_problem *p) {
    if (p->a_col == 1) return {p->A, p->K, p->M, p->a_row, p->a_batch, p->a_steps};
    return {p->A, p->M, p->K, p->a_col, p->a_batch, p->a_steps};
}
static inline gpul__gemm_matrix gpul__gemm_b(const gpul__gemm_problem *p) {
    if (p->b_row == 1) return {p->B, p->K, p->N, p->b_col, p->b_batch, p->b_steps};
    return {p->B, p->N, p->K, p->b_row, p->b_batch, p->b_steps};
}
static inline gpul__gemm_matrix gpul__gemm_c(const gpul__gemm_problem *p) { /* its whole groups of eight columns */
    return {p->C, p->N & ~int64_t(7), p->M, p->c_row, p->c_batch, p->c_steps};
}

/* Are groups of four elements, up to 16 bytes, aligned in every row? */
static inline bool gpul__gemm_aligned(const void *p, int64_t pitch, int64_t element) {
    const int64_t bytes = element * 4 < 16 ? element * 4 : 16;
    return gpul__aligned(p, size_t(bytes)) && pitch * element % bytes == 0;
}

/* Is an operand copied to shared memory 16 bytes at a time? Its rows are whole numbers of them; of floats that are not
 * contiguous along K, those at the matrix's edge need not be: a block sees to it. Not if it is f64, contiguous along K, and
 * its slices, which are 128 bytes of a row, begin within a sector of 32 bytes: such copies pass by the first cache, so L2
 * would be asked for sectors twice. */
static inline bool gpul__gemm_by_vectors(const gpul__gemm_matrix &x, int64_t element, bool along_k) {
    const int64_t sector = element == 8 && along_k ? 32 : 1; /* fault: matmul-straddling */
    const int64_t steps = x.pitch | x.steps;                 /* fault: batch-alignment */
    return gpul__gemm_aligned(x.data, steps, element) &&
           ((element < 8 && !along_k) || x.dense * element % 16 == 0) && /* fault: matmul-whole-vectors */
           gpul__aligned(x.data, size_t(sector)) && steps * element % sector == 0;
}

/* Tiles of gpul__gemm_kernel and _thin_kernel, and about what they take, in cycles: a step along K beside other blocks,
 * where 16 bytes are copied at a time; what each element that is copied alone adds to it; a step of a multiprocessor at
 * least, however few its blocks; the end of the tile; to add a split, or 0 where K is not split. All are multiples of
 * 1/256, so that sums and products of them are exact: splits, and so bits, do not depend on how a compiler rounds. */
struct gpul__gemm_tile {
    void (*kernel)(const gpul__gemm_view) = 0;
    int32_t m = 0, n = 0, threads = 0, shared_bytes = 0, blocks_per_sm = 0;
    double busy = 0, single = 0;
    int32_t alone = 0, end = 0, add = 0;
    int32_t wait = 0;    /* for operands that are not copied 16 bytes at a time, a step more */
    int32_t thin = 0;    /* 0, or gpul__gemm_thin_kernel: see gpul__gemm_thin_tile_of */
    bool tensor = false; /* by mma: of 16-bit types; */
    bool odd = true;     /* and of those that begin anywhere; if not, left out for sm_90a */
    bool terms = true;   /* takes several terms of the tree */
    /* the kernel for one row or one column, where that is another: it has shared memory for one of n */
    void (*of_one)(const gpul__gemm_view) = 0;
};
template <typename S>
static constexpr gpul__gemm_tile gpul__gemm_tile_of(double busy, double single, int32_t alone, int32_t end, int32_t add,
                                                    int32_t wait = 0) {
    const int32_t bytes = gpul__gemm_operands<S>::kSharedBytes;
    gpul__gemm_tile tile = {gpul__gemm_kernel<S>, S::kM, S::kN, S::kThreads, bytes, S::kBlocksPerSM, busy, single};
    tile.alone = alone;
    tile.end = end;
    tile.add = S::kSplitK ? add : 0;
    tile.wait = wait;
    tile.tensor = S::kTensor != 0;
    tile.odd = S::kOdd != 0;
    tile.terms = S::kTerms != 0;
    return tile;
}
/* Blocks have fewer threads where K is short: see gpul__gemm_threads. */
static constexpr gpul__gemm_tile gpul__gemm_thin_mma_tile() {
    typedef gpul__gemm_thin_mma S;
    gpul__gemm_tile tile = {gpul__gemm_thin_mma_kernel, S::kM, S::kN, S::kThreads, 0, S::kBlocksPerSM, 7};
    tile.alone = 26;
    tile.end = 2500;
    tile.add = 60;
    tile.thin = 1;
    tile.tensor = true;
    return tile;
}
static inline uint32_t gpul__gemm_threads(const gpul__gemm_tile &tile, int64_t K) {
    const int64_t warps = gpul_ceil_div(K, int(gpul__gemm_thin_mma::kWarpTurn));
    return tile.thin && tile.tensor && warps * 32 < tile.threads ? uint32_t(warps * 32) : uint32_t(tile.threads);
}
/* A block has all threads and rows, or a part: one over it. */
template <typename T> static constexpr gpul__gemm_tile gpul__gemm_thin_tile_of(int32_t part) {
    typedef gpul__gemm_thin<T> S;
    gpul__gemm_tile tile = {gpul__gemm_thin_kernel<S, S::kShort>, S::kM / part, S::kN, S::kThreads / part,
                            S::kShort * S::shared_bytes(S::kThreads / part)};
    tile.blocks_per_sm = part > 1 ? 10 : int32_t(S::kBlocksPerSM);
    tile.busy = (sizeof(T) == 2 ? 24. : 16) / part + (part > 1);
    tile.alone = 40;
    tile.end = 4000 / part;
    tile.add = 100;
    tile.thin = part;
    tile.of_one = gpul__gemm_thin_kernel<S, 1>;
    return tile;
}
typedef gpul__gemm_halves<128, 128, 64, 64, 32, 2, 3> gpul__gemm_large_halves;
/* The tiles of a dtype, from the largest on; the rest of a row is empty. */
enum { gpul__gemm_tile_count = 7 };
/* mma: as in gpul__gemm_plan; TF32 has those of 16 bits, emulated f32 its own. */
static const gpul__gemm_tile *gpul__gemm_tiles(gpul_dtype dtype, int32_t mma = 0) {
    static const gpul__gemm_tile tiles[4][gpul__gemm_tile_count] = {
        {gpul__gemm_tile_of<gpul__gemm_fmas<float, 128, 256, 8, 16, 1, 4>>(285, 9 / 256., 288, 11750, 0),
         gpul__gemm_tile_of<gpul__gemm_fmas<float, 64, 64, 8, 8, 6, 4>>(35, 9 / 256., 98, 1500, 600),
         gpul__gemm_tile_of<gpul__gemm_fmas<float, 32, 32, 4, 4, 6, 4>>(12.5, 9 / 256., 38, 560, 150),
         gpul__gemm_tile_of<gpul__gemm_fmas<float, 64, 16, 4, 4, 6, 4>>(13.5, 9 / 256., 39, 560, 110),
         gpul__gemm_tile_of<gpul__gemm_fmas<float, 16, 64, 4, 4, 6, 4>>(13.75, 9 / 256., 41, 560, 110),
         gpul__gemm_thin_tile_of<float>(1), gpul__gemm_thin_tile_of<float>(4)},
        {gpul__gemm_tile_of<gpul__gemm_mmas<128, 128, 64, 32, 1, 4>>(125, 2 / 256., 125, 11500, 0),
         gpul__gemm_tile_of<gpul__gemm_mmas<64, 64, 32, 32, 3, 3>>(33, 2 / 256., 45, 2700, 900),
         gpul__gemm_tile_of<gpul__gemm_mmas<32, 32, 16, 16, 4, 4>>(13.5, 14 / 256., 20, 950, 200),
         gpul__gemm_thin_tile_of<double>(1), gpul__gemm_thin_tile_of<double>(4)},
        {gpul__gemm_tile_of<gpul__gemm_fmas<gpul__gemm_16, 32, 32, 4, 4, 6, 4>>(17, 0, 51, 560, 150),
         gpul__gemm_thin_tile_of<gpul__gemm_16>(1),
         gpul__gemm_tile_of<gpul__gemm_large_halves>(28, 9 / 256., 36, 6500, 900, 12),
         gpul__gemm_tile_of<gpul__gemm_halves<64, 64, 32, 32, 64, 3, 2>>(13.5, 5 / 256., 20, 2000, 500, 14),
         gpul__gemm_tile_of<gpul__gemm_halves<32, 32, 16, 16, 64, 4, 4>>(6.25, 4 / 256., 14, 1200, 8, 7),
         gpul__gemm_thin_tile_of<gpul__gemm_16>(4), gpul__gemm_thin_mma_tile()},
        {gpul__gemm_tile_of<gpul__gemm_terms>(25, 0, 25, 2500, 900)}};
    return tiles[mma ? mma + 1 : dtype == GPUL_F64 ? 1 : dtype == GPUL_F32 ? 0 : 2];
}

/* Splits are chosen for the multiprocessors of an H100 or H200, whatever the machine is, so that results do not depend
 * on it. No result depends on the tile, which is chosen for the machine. */
enum { gpul__gemm_sms = 132 };

static inline bool gpul__gemm_scales_only(const gpul__gemm_problem *p) {
    return p->K == 0 || p->alpha == 0; /* fault: matmul-alpha-zero */
}

/* How many rows or columns are few. mma: of 16-bit types, on tensor cores */
static inline int64_t gpul__gemm_few(const gpul__gemm_problem *p, bool mma) {
    return mma && gpul__bytes_of(p->dtype) == 2 ? int(gpul__gemm_thin_mma::kShort) : 4;
}
/* So few rows or columns, and more steps than the kernels for short K have: a sum is another tree then, so the shape
 * alone decides. By mma, up to eight rows or columns of the other side share a block with other products; of nine to
 * sixteen, a warp of the kernel for short K fits one. */
static inline bool gpul__gemm_is_thin(const gpul__gemm_problem *p, bool mma) {
    const int64_t element = gpul__bytes_of(p->dtype), most = gpul__gemm_few(p, mma), side = p->M > p->N ? p->M : p->N,
                  alone = gpul__gemm_thin_mma::kOfProduct, high = gpul__gemm_short_mma::kHigh;
    const bool fits = mma && side > alone && side <= high; /* fault: matmul-narrow-short */
    const int64_t steps = element == 8 ? int(gpul__gemm_short<double, 1>::kSteps)
                          : element == 4 ? int(gpul__gemm_short<float, 1>::kSteps)
                          : fits ? int(gpul__gemm_short_mma::kSteps)
                                 : int(gpul__gemm_short<gpul__gemm_16, 1>::kSteps);
    return (p->M <= most || p->N <= most) && p->K > steps && !gpul__gemm_scales_only(p); /* fault: matmul-thin-rule */
}

/* Is it large enough for emulation? To pack an element of A or B takes as long as emulation saves in 90 products of two
 * elements, and its launches as long as it saves in 2^28. With short K, C takes the time, and the error bound is tight. */
static inline bool gpul__gemm_emulates(const gpul__gemm_problem *p, const gpul__machine *machine) {
    const double M = double(p->M), N = double(p->N), K = double(p->K), products = M * N * K;
    if (p->math != GPUL_MATH_EMULATED || p->K < 64) return false; /* fault: matmul-emulated-short */
    if (machine->emulated_from) return products >= double(machine->emulated_from);
    return products - 90 * (M + N) * K >= 268435456; /* 2^28 */ /* fault: matmul-emulated-packing */
}

/* A stack as one product, of all rows: x W, where x has the shape (b, t, k); or as products of `few` > 1 rows, of which
 * the last may have fewer. */
static inline gpul__gemm_problem gpul__gemm_all_rows(const gpul__gemm_problem &p, int32_t few) {
    gpul__gemm_problem all = p;
    if (p.M == 1) {
        all.a_row = p.a_batch;
        all.c_row = p.c_batch;
    }
    all.M = p.M * p.batch;
    all.batch = 1;
    all.a_batch = all.b_batch = all.c_batch = 0;
    if (few < 2) return all;
    all.rows = all.M;
    all.M = few;
    all.batch = gpul_ceil_div(all.rows, few);
    all.a_batch = few * all.a_row;
    all.c_batch = few * all.c_row;
    return all;
}
/* Is it? B is the same for all, and rows of A and of C are as far apart from one product to the next as within one. The
 * bits are those of each product alone: so few rows must not become many, and where the data decide how a product is
 * computed, each has its own. Returns 0; 1: it is one; or as many rows as are few. */
static int32_t gpul__gemm_as_one(const gpul__gemm_problem *p, const gpul__machine *machine) {
    const bool mma = machine->mma != 0;
    if (p->batch < 2 || p->b_batch != 0 || p->M < 1 || (p->bias && p->bias_m != 0)) return 0;
    if (gpul__gemm_emulates(p, machine) || double(p->M) * double(p->batch) >= double(INT32_MAX)) return 0;
    const gpul__gemm_problem all = gpul__gemm_all_rows(*p, 1);
    if (p->a_batch != p->M * all.a_row || p->c_batch != p->M * all.c_row) return 0;
    if (p->a_col == 1 ? all.a_row < p->K : all.a_row != 1 || p->a_col < all.M) return 0;
    if (gpul__gemm_is_thin(p, mma) == gpul__gemm_is_thin(&all, mma)) return 1; /* fault: matmul-one-thin */
    const int32_t few = int32_t(gpul__gemm_few(p, mma));
    return p->M < few && p->N > 16 ? few : 0; /* of more columns than that a block has one product */
}

/* How many small products of a stack a block takes at once, where C has few rows or columns: a power of two, as many as
 * it has rows for, and columns or room for the short operand; but so few that every multiprocessor has a block. */
static inline int32_t gpul__gemm_products_at_once(const gpul__gemm_tile &tile, const gpul__gemm_problem *p,
                                                  int64_t batch, int64_t sms) {
    typedef gpul__gemm_thin_mma S;
    const int64_t long_side = p->M > p->N ? p->M : p->N, short_side = p->M > p->N ? p->N : p->M,
                  element = gpul__bytes_of(p->dtype),
                  turns = element == 8 ? gpul__gemm_thin<double>::kChunk / gpul__gemm_thin<double>::kTurn
                                       : gpul__gemm_thin<float>::kChunk / gpul__gemm_thin<float>::kTurn,
                  most = tile.tensor ? int(S::kShort) / short_side : turns; /* each product has a turn there */
    int64_t rows = tile.tensor ? int64_t(S::kOfProduct) : 16 / element;     /* of a product */
    int32_t products = 1;
    while (rows < long_side && !tile.tensor) rows *= 2;
    if (!tile.thin || long_side > rows) return 1;
    while (products * 2 <= most && products * 2 * rows <= tile.m &&
           batch >= products * 2 * sms) /* fault: matmul-at-once */
        products *= 2;
    return products;
}

/* Limits how many products of a stack one launch takes, to what 64 MB of scratch memory have room for, but to one. */
static void gpul__limit_batch(gpul__gemm_plan *plan, int64_t bytes) {
    if (bytes > 0 && plan->batch > (int64_t(64) << 20) / bytes) plan->batch = (int64_t(64) << 20) / bytes;
    if (plan->batch < 1) plan->batch = 1;
}

/* Tiles of m x n in M x N */
static inline int64_t gpul__gemm_tiles_in(int64_t M, int64_t N, int64_t m, int64_t n) {
    return gpul_ceil_div(M, m) * gpul_ceil_div(N, n);
}
/* Partial sums that the last block of a tile waits for, one after the other, 16 at a time */
static inline int64_t gpul__gemm_added(int64_t splits) {
    return splits <= gpul__gemm_fan ? splits : gpul__gemm_fan + gpul_ceil_div(splits, gpul__gemm_fan);
}

/* What C in so many splits takes, in cycles, with so many elements of a tile's steps copied alone. A multiprocessor has
 * so many tiles. A step takes as long as its fullest scheduler, one of four, which has whole warps. What a multiprocessor
 * has no room for is a round of its own; from the third round on, blocks are out of step. Splits leave for scratch memory,
 * and are added, 16 at a time. A block that has several terms keeps the sum of those before. */
static inline double gpul__gemm_time(const gpul__gemm_tile &tile, double singles, int64_t tiles, int64_t splits,
                                     int64_t part, int64_t sms, int64_t terms = 1) {
    const int64_t mine = gpul_ceil_div(tiles * splits, sms), warps = tile.threads / 32, room = tile.blocks_per_sm;
    const auto step = [&](int64_t blocks) {
        const double all = double((blocks * warps + 3) / 4 * 4) / double(warps) * (tile.busy + tile.single * singles),
                     alone = tile.alone + (singles > 0 ? tile.wait : 0);
        return all > alone ? all : alone;
    };
    const double steps = mine > room && mine < 2 * room ? step(room) + step(mine - room) : step(mine);
    double time = double(part) * steps + double(mine) * tile.end;
    if (terms > 1)
        time += double(terms - 1) *
                double((tile.thin ? gpul_ceil_div(mine, room) * 1500 : 0) + mine * (tile.m * tile.n / 8));
    if (splits == 1) return time;
    return time + double(mine * tile.m * tile.n) / 8 + double(gpul__gemm_added(splits)) * tile.add +
           (splits > gpul__gemm_fan ? 5500 : 2500);
}
/* Of elements copied alone, those along K count twice. There f64 alone is copied by vectors: others are transposed. By
 * mma, pairs count once, and what passes through registers five times (see gpul__mma_plan). */
static inline int32_t gpul__gemm_singles(const gpul__gemm_plan *plan, gpul_dtype dtype, bool along_k, int32_t vector) {
    if (plan->mma) return vector == 8 ? 0 : vector == 2 ? 1 : 5;
    return vector && (!along_k || dtype == GPUL_F64) ? 0 : along_k ? 2 : 1;
}
/* What an element of C takes beyond a product alone, in cycles: C is read, a bias, GELU */
static inline double gpul__gemm_finish_time(const gpul__gemm_problem *p, bool reads) {
    return (reads ? 0.2 : 0) + (p->bias ? 0.1 : 0) + (p->activation == GPUL_ACTIVATION_GELU ? 0.6 : 0);
}
/* The tile that takes least, and how many cycles. */
static int32_t gpul__gemm_best_tile(double *shortest, const gpul__gemm_plan *plan, const gpul__gemm_problem *p,
                                    int64_t part, const gpul__machine *machine) {
    const int64_t sms = machine->sms;
    const gpul__gemm_tile *const tiles = gpul__gemm_tiles(p->dtype, plan->mma);
    const int32_t of_a = gpul__gemm_singles(plan, p->dtype, p->a_col == 1, plan->a_vector),
                  of_b = gpul__gemm_singles(plan, p->dtype, p->b_row == 1, plan->b_vector);
    const double finish = gpul__gemm_finish_time(p, p->beta != 0);
    const int64_t long_side = p->M > p->N ? p->M : p->N;
    double least = 1e300;
    int32_t best = 0;
    for (int32_t i = 0; i < gpul__gemm_tile_count && tiles[i].kernel; ++i) {
        gpul__gemm_tile tile = tiles[i];
        tile.end += int32_t(double((p->M < tile.m ? p->M : tile.m) * (p->N < tile.n ? p->N : tile.n)) * finish);
        if ((plan->splits > 1 && !tile.add) || (plan->part > plan->term && !tile.terms)) continue;
        if (tile.tensor != (plan->mma != 0)) continue;
        if ((tile.thin != 0) != gpul__gemm_is_thin(p, plan->mma != 0)) continue;
        if (tile.thin > 1 && long_side > 2 * tile.m) continue; /* blocks would read the short operand over again */
        if (!tile.odd && (plan->a_vector == 1 || plan->b_vector == 1 || machine->sm_90a)) continue;
        if (tile.shared_bytes > gpul__shared_of(machine)) continue;
        const int64_t count = tile.thin && p->M < p->N ? gpul__gemm_tiles_in(p->N, p->M, tile.m, tile.n)
                                                       : gpul__gemm_tiles_in(p->M, p->N, tile.m, tile.n);
        if (count > INT32_MAX) continue; /* more than a grid takes */
        const int64_t blocks =
            count * gpul_ceil_div(plan->batch, gpul__gemm_products_at_once(tile, p, plan->batch, sms));
        const double time = gpul__gemm_time(tile, tile.m * of_a + tile.n * of_b, blocks, plan->splits, part, sms,
                                            plan->term > 0 ? gpul_ceil_div(plan->part, plan->term) : 1);
        if (!(time < least)) continue;
        least = time;
        best = i;
    }
    *shortest = least;
    return best;
}
/* How many tiles of m x n C has, or C^T, whichever is fewer: splits are the same for both. */
static inline int64_t gpul__gemm_fewest_tiles(const gpul__gemm_problem *p, int64_t m, int64_t n) {
    const int64_t one = gpul__gemm_tiles_in(p->M, p->N, m, n), other = gpul__gemm_tiles_in(p->M, p->N, n, m);
    return one < other ? one : other;
}
/* Splits of K for `count` tiles, a function of the shape alone. Those to choose from are none, the numbers that fill
 * `slots` places for blocks once, twice and up to `rounds` times, and half of the first, a quarter and so on, `most` at
 * most. A split has a multiple of `step` steps, `least` at least. time(splits, part): how long it takes. The plan keeps
 * the shortest of all calls. */
template <typename Time>
static void gpul__gemm_split(gpul__gemm_plan *plan, double *shortest, int64_t K, int64_t count, int64_t slots,
                             int64_t rounds, int64_t most, int64_t step, int64_t least, const Time &time) {
    const auto consider = [&](int64_t splits, int64_t part) {
        const double takes = time(splits, part);
        if (!(takes < *shortest)) return;
        *shortest = takes;
        plan->splits = int32_t(splits);
        plan->part = part;
    };
    int64_t before = 1;
    consider(1, K);
    if (most > gpul_ceil_div(K, least)) most = gpul_ceil_div(K, least);
    for (int64_t wanted = slots * rounds / count; most > 1 && wanted > 1;
         wanted = --rounds > 0 ? slots * rounds / count : wanted / 2) {
        const int64_t few = gpul_ceil_div(K, wanted < most ? wanted : most);
        const int64_t part = few < least ? least : gpul__round_up(few, step), splits = gpul_ceil_div(K, part);
        if (splits != before) consider(splits, part);
        before = splits;
    }
}
static void gpul__plain_split(gpul__gemm_plan *plan, const gpul__gemm_problem *p, int64_t sms) {
    int64_t most = 2048 / gpul__gemm_fewest_tiles(p, 64, 64); /* scratch memory: 32 MB of f32 */
    if (most > 256) most = 256;
    const gpul__gemm_tile *const tiles = gpul__gemm_tiles(p->dtype);
    const bool thin = gpul__gemm_is_thin(p, plan->mma != 0);
    /* of few rows or columns, terms are whole turns of their kernel, which relies on it */
    const int turn = plan->mma ? int(gpul__gemm_thin_mma::kTurn) : int(gpul__gemm_thin<float>::kTurn);
    const int64_t step = thin ? turn : 32; /* fault: matmul-thin-turns */
    double shortest = 1e300;
    for (int32_t i = 0; i < gpul__gemm_tile_count && tiles[i].kernel; ++i) {
        const gpul__gemm_tile &tile = tiles[i];
        if (tile.thin != thin || tile.tensor != (plan->mma != 0)) continue; /* of thin ones, the first alone */
        const int64_t count = gpul__gemm_fewest_tiles(p, tile.m, tile.n); /* of a product */ /* fault: batch-parts */
        const int64_t warps = tile.threads / 32;
        if (double(count * p->K) * tile.busy > shortest * double(sms)) continue;
        /* results do not depend on how operands are copied: as many elements alone as there are on average */
        const double singles = (p->dtype == GPUL_F64 ? .75 : 1.25) * (tile.m + tile.n);
        const int64_t slots = tile.thin ? 4 * tile.blocks_per_sm : warps < 4 ? 4 / warps : 1;
        gpul__gemm_split(
            plan, &shortest, p->K, count, sms * slots, thin ? 3 : 9, tile.add ? most : 1, step, plan->mma ? 256 : 64,
            [&](int64_t splits, int64_t part) { return gpul__gemm_time(tile, singles, count, splits, part, sms); });
    }
}

/* A block takes a node of the tree, its terms one after the other: the same sums in the same order, with neither
 * scratch memory nor waiting. False where there is one term, or tensor cores promote the sums within one. */
static bool gpul__gemm_in_turn(gpul__gemm_plan *plan, int64_t K, int64_t promoted) {
    if (plan->splits < 2 || plan->part > plan->term || plan->term > promoted) return false;
    const int64_t part = plan->term * gpul__gemm_fan;
    plan->part = part < K ? part : K;
    plan->splits = int32_t(gpul_ceil_div(K, plan->part)); /* fault: matmul-in-turn */
    return true;
}

/* Of a plan that has splits, a term each, and says which operands are copied by vectors: the tile that takes least, the
 * grid, and scratch memory; and whether blocks take several terms. Returns about how many cycles it takes. */
static double gpul__plain_plan_tile(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__machine *machine) {
    const int64_t element = gpul__bytes_of(p->dtype);
    const auto best_tile = [&](gpul__gemm_plan *of) {
        const int64_t steps = /* by mma, whole steps of 16-bit elements */
            of->mma ? gpul__round_up(of->part * (element / 2), 16) : of->part;
        double time;
        of->tile = gpul__gemm_best_tile(&time, of, p, of->scale_only ? 0 : steps, machine);
        return time;
    };
    plan->term = plan->part;
    double time = best_tile(plan);
    gpul__gemm_plan in_turn = *plan;
    if (plan->mma < 2 && gpul__gemm_in_turn(&in_turn, p->K, plan->mma ? 16384 / element : INT64_MAX)) {
        const double takes = best_tile(&in_turn);
        if (takes < 0.9 * time) { /* without a doubt */
            time = takes;
            *plan = in_turn;
        }
    }
    const gpul__gemm_tile &tile = gpul__gemm_tiles(p->dtype, plan->mma)[plan->tile];
    const bool turned = tile.thin && p->M < p->N; /* as gpul__gemm_thin_kernel takes it */
    plan->products_at_once = gpul__gemm_products_at_once(tile, p, plan->batch, machine->sms);
    plan->tile_m = turned ? tile.n : tile.m;
    plan->tile_n = turned ? tile.m : tile.n;
    plan->tiles_n = gpul_ceil_div(p->N, plan->tile_n);
    const int64_t across = plan->tiles_n > 0 ? plan->tiles_n : 1;
    plan->tiles_m = gpul_ceil_div(p->M, plan->tile_m);
    /* Where fewer than four whole rows of tiles run at a time, groups have no more, so that neighbours in memory are
     * written at a time; but not where B, which all rows read, is more than L2 keeps beside C. */
    const bool kept = double(p->N) * double(p->K * element) <= 8388608;
    const int64_t at_once = int64_t(machine->sms) * tile.blocks_per_sm / across;
    plan->group_rows = at_once >= 4 || !kept ? 8 : at_once >= 2 ? 2 : 1;
    /* no more than there are: then the tiles of a group have 32 bits */
    if (plan->group_rows > plan->tiles_m) plan->group_rows = plan->tiles_m > 1 ? int32_t(plan->tiles_m) : 1;
    if (plan->splits > 1) {
        const int64_t tiles = plan->tiles_m * plan->tiles_n;
        const int64_t bytes = plan->splits * tiles * tile.m * tile.n * (p->dtype == GPUL_F64 ? 8 : 4);
        gpul__limit_batch(plan, bytes);
        plan->counters = plan->batch * tiles * (gpul_ceil_div(plan->splits, gpul__gemm_fan) + 1);
        plan->scratch_bytes = plan->batch * bytes; /* fault: batch-scratch */
    }
    plan->c_vector = gpul__gemm_aligned(p->C, p->c_row | p->c_steps, element);
    return time;
}
/* A kernel for short K, and about what it takes, in nanoseconds */
struct gpul__gemm_short_way {
    void (*kernel)(const gpul__gemm_view);
    int32_t most, rows, at_once; /* steps of K; rows of a warp, and columns, at a time */
    int32_t cols, together;      /* of a tile, and the warps of a block that share it, one below the other */
    int32_t blocks_per_sm;
    int32_t shared_bytes, most_bytes; /* of a block; and of the most steps */
    bool ends;                        /* takes a bias and an activation */
    double launch, wait;              /* wait: for the next rows */
    double tile, part;                /* what a multiprocessor does for a tile, and for the rows of a warp */
};
template <typename S>
static gpul__gemm_short_way gpul__short_way_of(int64_t K, double finish, double wait, double tile, double part,
                                               double step) {
    gpul__gemm_short_way way = {};
    const int32_t steps = int32_t(gpul__round_up(K, 4));
    way.kernel = gpul__gemm_short_kernel<S>;
    way.most = S::kSteps;
    way.rows = S::kRows;
    way.cols = way.at_once = S::kN;
    way.together = S::kSharing;
    way.blocks_per_sm = S::kBlocksPerSM;
    way.shared_bytes = S::kStepBytes * steps;
    way.most_bytes = S::kStepBytes * S::kSteps;
    way.ends = S::kEnds != 0;
    way.launch = 500;
    way.wait = wait + 40 * finish * (S::kRows * S::kCols);
    way.tile = tile * steps;
    way.part = part + step * steps + 0.1 * finish * (S::kRows * S::kN);
    return way;
}
static gpul__gemm_short_way gpul__short_mma_way(int64_t K, double finish) {
    typedef gpul__gemm_short_mma S;
    const int32_t steps = int32_t(gpul__round_up(K, 16)), slices = steps / 16;
    gpul__gemm_short_way way = {};
    way.kernel = gpul__gemm_short_mma_kernel;
    way.most = S::kSteps;
    way.rows = S::kHigh;
    way.at_once = S::kAtOnce;
    way.cols = S::columns(steps);
    way.together = 1;
    way.blocks_per_sm = S::kBlocksPerSM;
    way.shared_bytes = way.most_bytes = S::warp_bytes(steps) * S::kWarps;
    way.ends = true;
    way.launch = 2500;
    way.wait = 700 * slices;
    way.part = 50 + 75 * slices + 140 * finish;
    return way;
}
/* 1: warps of a block share a tile, 2: each has its own, 3: so it is on tensor cores */
static gpul__gemm_short_way gpul__short_way(const gpul__gemm_problem *p, int32_t number) {
    const double finish = gpul__gemm_finish_time(p, p->beta != 0);
    const int64_t K = gpul__gemm_scales_only(p) ? 0 : p->K < 64 ? p->K : 64; /* more than 64 have none */
    if (number == 3) return gpul__short_mma_way(K, finish);
    if (p->dtype == GPUL_F32)
        return number == 1 ? gpul__short_way_of<gpul__gemm_short<float, 4>>(K, finish, 200, 14, 95, 4)
                           : gpul__short_way_of<gpul__gemm_short<float, 1>>(K, finish, 200, 1.5, 22, 2.6);
    if (p->dtype == GPUL_F64)
        return number == 1 ? gpul__short_way_of<gpul__gemm_short<double, 2>>(K, finish, 400, 10, 100, 7)
                           : gpul__short_way_of<gpul__gemm_short<double, 1>>(K, finish, 400, 3, 50, 4.5);
    return number == 1 ? gpul__short_way_of<gpul__gemm_short<gpul__gemm_16, 4>>(K, finish, 200, 10, 32, 2)
                       : gpul__short_way_of<gpul__gemm_short<gpul__gemm_16, 1>>(K, finish, 200, 1.5, 22, 2.6);
}
/* A kernel for short K, of a plan that has no splits. Tiles of C have rows so that all warps of the GPU have some, or, of
 * 256 rows, several tiles. Returns false, or, if it takes less nanoseconds than `most`, how many in `most`. */
static bool gpul__short_plan(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__machine *machine,
                             double *most, bool mma) {
    const int32_t last = mma ? 3 : 2;
    const gpul__gemm_plan before = *plan;
    bool found = false;
    if (p->M == 0 || p->N == 0 || (mma && p->dtype == GPUL_F32)) return false;
    for (int32_t number = mma ? 3 : 1; number <= last; ++number) {
        const gpul__gemm_short_way way = gpul__short_way(p, number);
        if (p->K > way.most && !gpul__gemm_scales_only(p)) continue; /* fault: matmul-short-k */
        if (!way.ends && (p->bias || p->activation)) continue;       /* fault: matmul-short-ends */
        if (way.shared_bytes > gpul__shared_of(machine)) continue;
        const int64_t across = gpul_ceil_div(p->N, int64_t(way.cols)), high = way.rows * way.together,
                      slots = int64_t(machine->sms) * way.blocks_per_sm * (gpul__gemm_short_warps / way.together),
                      once = slots > across * plan->batch ? slots / (across * plan->batch) : 1,
                      down = gpul_ceil_div(p->M, 256 * once) * once,
                      rows = gpul__round_up(gpul_ceil_div(p->M, down), high), tiles_m = gpul_ceil_div(p->M, rows),
                      parts = gpul__gemm_tiles_in(p->M, p->N, way.rows, way.at_once);
        const double work = double(tiles_m * across) * way.tile + double(parts) * way.part,
                     time = way.launch + way.wait * double(rows / high) + work * double(plan->batch) / machine->sms;
        const int64_t room = INT32_MAX / (tiles_m * across); /* products whose tiles have numbers of 32 bits */
        if (room < 1 || !(time < *most)) continue;
        *most = time;
        found = true;
        *plan = before;
        plan->short_k = number;
        plan->mma = mma;
        plan->group_rows = plan->products_at_once = 1;
        plan->term = plan->part;
        plan->tile_m = int32_t(rows);
        plan->tile_n = way.cols;
        plan->tiles_m = tiles_m;
        plan->tiles_n = across;
        if (plan->batch > room) plan->batch = room; /* fault: matmul-short-room */
    }
    return found;
}

/* gpul__gemm_kernel, _short_kernel and _thin_kernel. alone: a product of the stack that p is (gpul__gemm_as_one), or p */
static void gpul__plain_plan(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__gemm_problem *alone,
                             const gpul__machine *machine) {
    const int64_t element = gpul__bytes_of(p->dtype);
    plan->scale_only = gpul__gemm_scales_only(p);
    plan->splits = 1;
    plan->part = p->K;
    if (!plan->scale_only && p->M > 0 && p->N > 0)
        gpul__plain_split(plan, alone, gpul__gemm_sms); /* fault: matmul-ieee-parts-by-machine */
    plan->a_vector = plan->mma ? 1 : gpul__gemm_by_vectors(gpul__gemm_a(p), element, p->a_col == 1);
    plan->b_vector = plan->mma ? 1 : gpul__gemm_by_vectors(gpul__gemm_b(p), element, p->b_row == 1);
    gpul__gemm_plan short_k = *plan;
    double most = gpul__plain_plan_tile(plan, p, machine) / 1.7;
    if (gpul__bytes_of(p->dtype) == 2) most = 1e300; /* wherever it can: see gpul__gemm_multiplies */
    if (gpul__short_plan(&short_k, p, machine, &most, false)) *plan = short_k;
}

/* A tile of gpul__tensor_kernel: 128 or 64 rows, 32 to 256 columns; and the cluster's tiles below each other and beside
 * each other. */
struct gpul__tensor_tile {
    int32_t m, n, cluster_m, cluster_n;
};
enum {
    gpul__tensor_gather_time = 200,  /* a slice, for each warp that gathers 32 of its rows, ns; */
    gpul__tensor_gather_alone = 275, /* of one warp, */
    gpul__tensor_gather_both = 550,  /* and of both operands of TF32 */
    gpul__tensor_add_time = 400,     /* 64 x 64 sums of a split, */
    gpul__tensor_add_few_time = 150  /* of tiles of up to 64 columns, of which several are on their way */
};
/* Up to eight splits of a tile may be a cluster, of a power of two blocks. */
static inline int32_t gpul__tensor_cluster(int64_t splits) {
    return splits < 2 || splits > 8 ? 1 : splits == 2 ? 2 : splits <= 4 ? 4 : 8;
}
static inline int32_t gpul__tensor_log2(int32_t cluster) { return cluster == 8 ? 3 : cluster / 2; }
/* How many clusters of 2^log2 blocks run at a time */
static inline int32_t gpul__tensor_room(const gpul__machine &machine, int32_t log2) {
    return log2 ? machine.clusters[log2 - 1] : machine.sms;
}

/* What a choice of tiles depends on: C in so many splits, whether bulk copies take it to memory, whether tiles may be in
 * clusters, and whether operands are gathered; whether lines of the operands straddle two in memory, and whether B's
 * columns come in whole boxes of 64. */
struct gpul__tensor_task {
    int64_t m, n, batch, splits, slices;
    bool bulk, clusters, gathers;
    double room[4]; /* clusters of 1, 2, 4 and 8 blocks that run at a time, one over them; 0: none */
    bool straddles_m = false, straddles_n = false, boxes = false;
    int64_t terms = 1;  /* of a split */
    double finish = 0;  /* of an element: see gpul__gemm_finish_time */
    bool reads = false; /* C of 16 bits, but not by bulk copies: a tile waits for it */
    void set_room(const gpul__machine &machine) {
        room[0] = 1.0 / machine.sms;
        for (int32_t i = 0; i < 3; ++i) room[i + 1] = machine.clusters[i] > 0 ? 1.0 / machine.clusters[i] : 0;
    }
};
/* How C takes least: a tile, alone or in a cluster of tiles; or splits in a cluster, of so many blocks (together > 1) */
struct gpul__tensor_way {
    double time;
    gpul__tensor_tile tile;
    int32_t together;
};
/* What a slice of a tile takes, in nanoseconds, about as on an H200: the tensor cores; and to reach shared memory. */
static inline double gpul__tensor_multiply_time(int32_t m, int32_t n) { return m * n * 0.0177; }
static inline double gpul__tensor_store_time(int32_t m, int32_t n) { return (m + n) * 0.8; }
static inline double gpul__tensor_least_time(int32_t m, int32_t n) {
    const double multiply = gpul__tensor_multiply_time(m, n), store = gpul__tensor_store_time(m, n);
    return multiply > store ? multiply : store;
}
/* Tiles of m x n: the best way is kept.
 *
 * A slice of K takes what the tensor cores do, or what comes from L2, which the blocks of a cluster share, and goes to
 * shared memory, which they do not. slice: what it takes where operands are gathered. The end of a tile depends on
 * whether bulk copies take it to C, and on what else an element takes. All that is taken for each wave of work tiles;
 * but tiles of 64 rows end while the next one is multiplied. Where K is split, sums of 64 x 64 change blocks in a
 * cluster, each of which finishes a share, or leave for scratch memory and are added 16 at a time. Such a cluster has one
 * tile: the next wave's begin anew. */
static void gpul__tensor_consider(gpul__tensor_way *best, const gpul__tensor_task &task, int32_t m, int32_t n,
                                  double slice) {
    static const double part[4] = {1, 0.5, 0.25, 0.125};
    const int64_t down = m == 128 ? (task.m + 127) >> 7 : (task.m + 63) >> 6,
                  across = int64_t(uint32_t(task.n + n - 1) / uint32_t(n));
    const int32_t columns = task.boxes ? int32_t(gpul__round_up(n, 64)) : n; /* that are copied */
    const double lines_m = m * (task.straddles_m ? 1.3 : 1), lines_n = columns * (task.straddles_n ? 1.3 : 1);
    const double multiply = gpul__tensor_multiply_time(m, n), store = gpul__tensor_store_time(m, columns),
                 sums = m * n / 4096.0, slices = double(task.slices), count = double(task.batch * task.splits);
    const double read = !task.reads ? 0 : m == 128 ? 3800 + 8.0 * n : 2000 + 4.0 * n;
    const double end = (task.bulk ? 490 + (m == 128 ? 11.0 : 3.5) * n : 340 + (m == 128 ? 19.0 : 7.0) * n) + read +
                       double(task.terms - 1) * (300 + 400 * sums) + task.finish * m * n;
    double leave = 0, add = 0; /* sums that leave for scratch memory, and what adds them up */
    if (task.splits > 1) {
        leave = 300 + 850 * sums;
        const int32_t each = n > 64 ? gpul__tensor_add_time : gpul__tensor_add_few_time;
        add = double(gpul__gemm_added(task.splits)) * n * (each / 64.0);
        if (task.splits > gpul__gemm_fan) add += 1500;
    }
    /* a slice, of which a cluster's blocks copy parts to each other */
    const auto load_time = [&](double of_m, double of_n) { return (lines_m * of_m + lines_n * of_n) * 0.85 + store; };
    const auto waves = [&](double works, int32_t log2) { return double(int64_t((works - 0.5) * task.room[log2])) + 1; };
    /* what clusters, too, take at least */
    const double least = slices * gpul__tensor_least_time(m, n), rounds = waves(double(down * across) * count, 0);
    if (rounds * least + (m == 128 ? rounds * end : end) > best->time) return;
    for (int32_t i = 0; i < 4 && int64_t(1) << i <= down && n % (8 << i) == 0; ++i) {
        double load = 0;
        for (int32_t j = 0; i + j < 4 && int64_t(1) << j <= across; ++j) {
            if (i + j > 0 && (!task.clusters || task.room[i + j] == 0)) continue;
            if (j > 0 && load <= multiply) break; /* more would gain nothing */
            load = load_time(part[j], part[i]);
            const double all = slices * (task.gathers ? slice : (load > multiply ? load : multiply) + 11);
            const double later = 120 * (i + j) + (task.gathers ? 700 : 0); /* when the first slice is there */
            const double one = all + end + leave + later;
            const double next = m == 128 || task.gathers ? one : one * 0.9 > all ? one * 0.9 : all;
            const int64_t tiles = ((down + (1 << i) - 1) >> i) * ((across + (1 << j) - 1) >> j);
            const double time = one + (waves(double(tiles) * count, i + j) - 1) * next + add;
            if (time < best->time) *best = {time, {m, n, 1 << i, 1 << j}, 1};
        }
        if (load > 0 && load <= multiply && load_time(1, part[i]) <= multiply) break;
    }
    const int32_t together = gpul__tensor_cluster(task.splits), log2 = gpul__tensor_log2(together);
    if (together == 1 || task.room[log2] == 0 || n % (8 * together) != 0) return;
    const double load = load_time(1, 1),
                 all = slices * (task.gathers ? slice : (load > multiply ? load : multiply) + 11),
                 one = all + end * part[log2] + 1000 + 1400 * sums, /* blocks finish whole vectors of columns */
        time = one + (waves(double(down * across * task.batch), log2) - 1) * (one + 5000); /* blocks anew */
    if (time < best->time) *best = {time, {m, n, 1, 1}, together};
}
static gpul__tensor_way gpul__tensor_best_way(const gpul__tensor_task &task) {
    gpul__tensor_way best = {1e300, {64, 64, 1, 1}, 1};
    for (int32_t n = gpul__tensor_widest; n >= 32; n -= 32) {
        if (n - 32 >= task.n) continue;
        if (task.m > 64) gpul__tensor_consider(&best, task, 128, n, 0);
        gpul__tensor_consider(&best, task, 64, n, 0);
    }
    return best;
}

/* What depends on the tile: the grid, counters and scratch memory. There are first the splits, then the promoted sums,
 * then the copies of A and B, of so many bytes for each product. */
static void gpul__tensor_plan_tile(gpul__gemm_plan *plan, const gpul__tensor_way &way, bool promotes, int64_t a_bytes,
                                   int64_t b_bytes, const gpul__gemm_problem *p, const gpul__machine *machine) {
    const gpul__tensor_tile &tile = way.tile;
    const int64_t bytes = int64_t(tile.m) * tile.n * 4; /* of a tile's sums */
    const int32_t shared = tile.cluster_m * tile.cluster_n;
    const bool together = way.together > 1;
    plan->tile = plan->packed != 0;
    plan->tile_m = tile.m;
    plan->tile_n = tile.n;
    plan->cluster_m = tile.cluster_m;
    plan->cluster_n = tile.cluster_n;
    plan->cluster_splits = together;
    plan->cluster = together ? way.together : shared; /* fault: matmul-cluster */
    /* of a cluster that has the splits, each block finishes a share of the columns */
    plan->share = together ? tile.n / way.together : tile.n;
    if (plan->c_bulk) /* the largest power of two that divides the columns, up to 64 */
        plan->c_bulk = plan->share % 64 == 0 ? 64 : plan->share & -plan->share;
    plan->tiles_m = gpul_ceil_div(plan->held == 2 ? p->N : p->M, tile.m * tile.cluster_m);
    plan->tiles_n = gpul_ceil_div(plan->held == 2 ? p->M : p->N, tile.n * tile.cluster_n);
    const int64_t sums = int64_t(2 * 64) * tile.n * 4; /* of both consumers */
    gpul__limit_batch(
        plan, plan->tiles_m * plan->tiles_n *
                      (plan->splits > 1 ? shared * plan->splits * bytes + (promotes ? way.together * sums : 0) : 0) +
                  (p->a_batch ? a_bytes : 0) + (p->b_batch ? b_bytes : 0));
    const int64_t tiles = plan->tiles_m * plan->tiles_n * plan->batch, works = tiles * plan->splits,
                  at_once = gpul__tensor_room(*machine, gpul__tensor_log2(shared));
    /* a cluster that has the splits takes one tile, for the sums go where the stages are */
    plan->blocks = together ? int32_t(tiles) * way.together : int32_t(works < at_once ? works : at_once) * shared;
    plan->group_rows = 2048 / (tile.m * tile.cluster_m);
    if (plan->splits > 1) plan->promoted_at = works * shared * bytes;
    if (plan->splits > 1 && !together) {
        const int64_t nodes = gpul_ceil_div(plan->splits, gpul__gemm_fan);
        plan->counters = tiles * shared * (tile.m / 64) * (nodes + 1); /* fault: matmul-tensor-counters */
    }
    plan->a_at = plan->promoted_at;
    if (promotes) plan->a_at += plan->blocks * sums;
    plan->b_at = gpul__round_up(plan->a_at + a_bytes * (p->a_batch ? plan->batch : 1), 256);
    plan->scratch_bytes = plan->b_at + b_bytes * (p->b_batch ? plan->batch : 1);
}

/* Does every row begin at a multiple of so many bytes? */
static inline bool gpul__gemm_aligned_rows(const gpul__gemm_matrix &x, int64_t element, int64_t bytes) {
    return gpul__aligned(x.data, size_t(bytes)) && /* fault: matmul-misaligned-map */
           x.steps * element % bytes == 0 &&       /* fault: batch-map */
           (x.rows == 1 || x.pitch * element % bytes == 0);
}
/* Can a tensor map describe the matrix? */
static inline bool gpul__tensor_mappable(const gpul__gemm_matrix &x, int64_t element) {
    const int64_t most = (int64_t(1) << 39) / element; /* from row to row, and from matrix to matrix */
    return gpul__gemm_aligned_rows(x, element, 16) && x.steps < most &&
           (x.rows == 1 || (x.pitch >= x.dense && x.pitch < most));
}

/* Do lines of 128 bytes that bulk copies ask for straddle two in memory? */
static inline bool gpul__tensor_straddles(const gpul__gemm_matrix &x, int64_t element) {
    return !gpul__aligned(x.data, 128) || (x.pitch | x.steps) * element % 128 != 0;
}

/* Splits are those of an H200, which has room for 66 clusters of two blocks, 30 of four, 15 of eight. */
static const gpul__machine gpul__h200 = {0, int32_t(gpul__gemm_sms), 0, 0, 1, {66, 30, 15}, 1, 1};
/* Splits, a function of the shape alone and the same for C and C^T. Those to choose from are none, with any tile, and with
 * some tiles as many as fill the GPU, or a cluster. */
static void gpul__tensor_split(gpul__gemm_plan *plan, const gpul__gemm_problem *p, int64_t slice,
                               const gpul__machine &machine) {
    const int64_t long_side = p->M > p->N ? p->M : p->N, short_side = p->M > p->N ? p->N : p->M;
    gpul__tensor_task task = {long_side, short_side, 1, 1, gpul_ceil_div(p->K, slice), true, true, false, {}};
    task.set_room(machine);
    int64_t most = 2 * gpul__gemm_sms / gpul__gemm_tiles_in(long_side, short_side, 128, 128);
    if (most > 128) most = 128;
    plan->splits = 1;
    plan->part = p->K;
    if (most < 2 || p->K <= 4 * slice) return;
    const int64_t slices = task.slices;
    double shortest = gpul__tensor_best_way(task).time;
    task.clusters = false; /* with splits, for the sake of the time that all this takes */
    for (int32_t m = 64; m <= 128; m += 64) {
        for (int32_t n = 64; n <= 2 * m; n += 64) {
            const int64_t count = gpul__gemm_tiles_in(long_side, short_side, m, n);
            if (double(count * slices) * gpul__tensor_least_time(m, n) * task.room[0] > shortest) continue;
            for (const int64_t slots : {int64_t(machine.sms), 8 * count}) {
                if (slots > machine.sms) continue;
                gpul__gemm_split(plan, &shortest, p->K, count, slots, 3, most, slice, 4 * slice,
                                 [&](int64_t splits, int64_t part) {
                                     gpul__tensor_way way = {shortest, {m, n, 1, 1}, 1};
                                     task.splits = splits;
                                     task.slices = gpul_ceil_div(part, slice);
                                     gpul__tensor_consider(&way, task, m, n, 0);
                                     return way.time;
                                 });
            }
        }
    }
}

/* About what copies of A and B take, of so many bytes, in nanoseconds: another launch, and what is read and written. Up to
 * 64 MB, those of a whole stack, the product reads most of it from L2. */
static inline double gpul__copies_time(const gpul__gemm_plan *plan, const gpul__gemm_problem *p, int64_t a_bytes,
                                       int64_t b_bytes) {
    const auto bytes = [=](int64_t products) {
        return double(p->a_batch ? products : 1) * double(a_bytes) +
               double(p->b_batch ? products : 1) * double(b_bytes);
    };
    const double here = bytes(plan->batch), all = bytes(p->batch > 1 ? p->batch : 1);
    return here > 0 ? 5000 + here / (all <= 67108864 ? 2200 : 1200) : 0;
}

/* Copies of A and B, of so many bytes, behind what else is in scratch memory */
static void gpul__add_copies(gpul__gemm_plan *plan, int64_t a_bytes, int64_t b_bytes) {
    plan->a_at = gpul__round_up(plan->scratch_bytes, 256);
    plan->b_at = plan->a_at + gpul__round_up(a_bytes, 256);
    plan->scratch_bytes = plan->b_at + b_bytes;
}

/* gpul__gemm_kernel for 16-bit types and TF32 on tensor cores, by mma, of a plan that has gpul__tensor_kernel's splits, so
 * that a Hopper GPU gives the same bits with both. a_vector, b_vector: how many elements are copied at a time, 8, 2 or 1;
 * TF32 has two of them. 16-bit operands whose rows do not begin at multiples of 16 bytes are copied first to where they
 * do, if that takes less. False if all takes more nanoseconds than `most`. */
static bool gpul__mma_plan(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__machine *machine,
                           double most) {
    const gpul__gemm_matrix x[2] = {gpul__gemm_a(p), gpul__gemm_b(p)};
    const gpul__gemm_plan before = *plan;
    const int64_t element = gpul__bytes_of(p->dtype);
    int32_t vector[2];
    bool found = false;
    for (int i = 0; i < 2; ++i) { /* no part of two is copied: sanitizers say that the other was read, too */
        const bool pairs = x[i].dense * element % 4 == 0 && gpul__gemm_aligned_rows(x[i], element, 4);
        vector[i] = gpul__gemm_aligned_rows(x[i], element, 16) ? 8 : pairs ? 2 : 1; /* fault: matmul-mma-pairs */
    }
    for (int copied = 0; copied < (element == 2 ? 4 : 1); ++copied) {
        int64_t pitch[2], bytes[2];
        if ((copied & 1 && vector[0] == 8) || (copied & 2 && vector[1] == 8)) continue;
        for (int i = 0; i < 2; ++i) {
            pitch[i] = copied >> i & 1 ? gpul__round_up(x[i].dense, 64) : 0;
            bytes[i] = x[i].rows * pitch[i] * 2;
        }
        gpul__gemm_plan next = before;
        next.mma = 1;
        next.a_pitch = pitch[0];
        next.b_pitch = pitch[1];
        next.a_vector = pitch[0] ? 8 : vector[0]; /* fault: matmul-mma-vector */
        next.b_vector = pitch[1] ? 8 : vector[1];
        gpul__limit_batch(&next, (p->a_batch ? bytes[0] : 0) + (p->b_batch ? bytes[1] : 0));
        const double cycles = gpul__plain_plan_tile(&next, p, machine),
                     launch = cycles / 1.7 + gpul__copies_time(&next, p, bytes[0], bytes[1]),
                     time = launch * double(gpul_ceil_div(before.batch, next.batch)); /* fault: matmul-stack-time */
        if (!(time < most)) continue;
        if (copied)
            gpul__add_copies(&next, bytes[0] * (p->a_batch ? next.batch : 1), bytes[1] * (p->b_batch ? next.batch : 1));
        most = time;
        *plan = next;
        found = true;
    }
    return found;
}

/* Slices after which sums are promoted */
static inline int32_t gpul__tensor_chunk_of(const gpul__gemm_plan *plan, int64_t slice) {
    return plan->part > plan->term ? int32_t(plan->term / slice) : int32_t(gpul__tensor_chunk);
}

/* gpul__tensor_kernel for 16-bit types and TF32, of a plan that has the splits; the tile is the one that takes least.
 * Returns about how many nanoseconds it takes. An operand that tensor maps cannot describe is copied. One operand of TF32
 * that is not dense along K passes through registers; if it is B, A and B change places; if both are, the smaller one is
 * copied. Where that takes less, one or both of all these are gathered instead, with the smallest tile. */
static double gpul__tensor_plan_of(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__machine *machine) {
    const gpul__gemm_matrix a = gpul__gemm_a(p), b = gpul__gemm_b(p);
    const int64_t element = gpul__bytes_of(p->dtype), slice = gpul__tensor_slice / element;
    const bool wide = p->dtype == GPUL_F32;
    plan->tensor = 1;
    const bool across_a = wide && p->a_col != 1, across_b = wide && p->b_row != 1; /* TF32 is not dense along K */
    bool copy_a = !gpul__tensor_mappable(a, element), copy_b = !gpul__tensor_mappable(b, element);
    if (across_a && across_b && !copy_a && !copy_b) (p->M > p->N ? copy_b : copy_a) = true;
    plan->held = across_a && !copy_a ? 1 : across_b && !copy_b ? 2 : 0; /* fault: matmul-held */
    plan->c_bulk = !wide && p->N >= 8 && gpul__tensor_mappable(gpul__gemm_c(p), element);
    /* not of TF32, for which plans were no better; nor of copies, whose rows are whole lines */
    const bool straddles[2] = {!wide && !copy_a && gpul__tensor_straddles(a, element),
                               !wide && !copy_b && gpul__tensor_straddles(b, element)};
    const int64_t part_slices = gpul_ceil_div(plan->part, slice);
    const bool turned = plan->held == 2; /* A and B change places */
    gpul__tensor_task task = {turned ? p->N : p->M,
                              turned ? p->M : p->N,
                              plan->batch,
                              plan->splits,
                              part_slices,
                              plan->c_bulk != 0,
                              true,
                              false,
                              {}};
    task.terms = gpul_ceil_div(plan->part, plan->term);
    task.reads = p->beta != 0 && !wide && !plan->c_bulk;
    task.finish = gpul__gemm_finish_time(p, p->beta != 0 && !task.reads) * 0.75;
    task.straddles_m = straddles[turned];
    task.straddles_n = straddles[!turned];
    task.boxes = !wide && p->b_row != 1;
    task.set_room(*machine);
    gpul__tensor_way best = gpul__tensor_best_way(task);
    double least = best.time;
    /* of copies: from row to row, and of all rows */
    const int64_t a_pitch = gpul__round_up(wide ? p->K : a.dense, 64),
                  a_bytes = a_pitch * (wide ? p->M : a.rows) * element,
                  b_pitch = gpul__round_up(wide ? p->K : b.dense, 64),
                  b_bytes = b_pitch * (wide ? p->N : b.rows) * element;
    const auto with_copies = [&](double time, int32_t copied) {
        return time + gpul__copies_time(plan, p, copied & 1 ? a_bytes : 0, copied & 2 ? b_bytes : 0);
    };
    int32_t copied = (copy_a ? 1 : 0) | (copy_b ? 2 : 0);
    const int32_t gatherable = copied | (across_a ? 1 : 0) | (across_b ? 2 : 0);
    least = with_copies(least, copied);
    task.clusters = task.straddles_m = task.straddles_n = task.boxes = false;
    task.gathers = true;
    for (int32_t gathers = 1; gathers <= gatherable; ++gathers) {
        if (gathers & ~gatherable) continue;
        gpul__tensor_way way = {1e300, {64, 64, 1, 1}, 1};
        const int32_t warps = int32_t(gpul__tensor_gathering(*p, gathers));
        gpul__tensor_consider(&way, task, 64, 64,
                              wide && gathers == 3 ? int32_t(gpul__tensor_gather_both)
                              : warps > 1 ? warps * gpul__tensor_gather_time
                                          : int32_t(gpul__tensor_gather_alone));
        const double time = with_copies(way.time, gatherable & ~gathers);
        if (!(time < least)) continue;
        least = time;
        best = way;
        plan->gathers = gathers;
        plan->held = 0;                 /* fault: matmul-gathers-held */
        copied = gatherable & ~gathers; /* fault: matmul-mixed */
    }
    if (copied & 1) plan->a_pitch = a_pitch;
    if (copied & 2) plan->b_pitch = b_pitch;
    /* tiles; a cluster has fewer than twice as many blocks as splits */
    const int64_t room = INT32_MAX / 2 / (gpul_ceil_div(p->M, 64) * gpul_ceil_div(p->N, 64) * plan->splits);
    if (plan->batch > room) plan->batch = room;
    gpul__tensor_plan_tile(plan, best, part_slices > gpul__tensor_chunk_of(plan, slice), copied & 1 ? a_bytes : 0,
                           copied & 2 ? b_bytes : 0, p, machine);
    return least;
}
/* The same; or blocks take several terms, where that takes less. */
static double gpul__tensor_plan(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__machine *machine) {
    plan->term = plan->part;
    gpul__gemm_plan in_turn = *plan;
    const double least = gpul__tensor_plan_of(plan, p, machine);
    if (!gpul__gemm_in_turn(&in_turn, p->K, gpul__tensor_chunk * gpul__tensor_slice / gpul__bytes_of(p->dtype)))
        return least;
    const double time = gpul__tensor_plan_of(&in_turn, p, machine);
    if (!(time < least)) return least;
    *plan = in_turn;
    return time;
}

/* The plan of gpul__gemm_kernel for emulated f32, which the data may need. It is made twice, for the memory and for the
 * launch. */
static gpul__gemm_plan gpul__fallback_plan(const gpul__gemm_problem *p, const gpul__machine *machine) {
    gpul__gemm_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.device = machine->device;
    plan.batch = 1;
    gpul__plain_plan(&plan, p, p, machine);
    return plan;
}

/* The problem of copies of A and B by gpul__gemm_pack, which are dense along K and padded to chunks of 64 elements. */
static gpul__gemm_problem gpul__copied_problem(const gpul__gemm_problem *p) {
    gpul__gemm_problem copied = *p;
    const int64_t pitch = gpul__round_up(p->K, 64);
    copied.a_row = copied.b_col = pitch;
    copied.a_col = copied.b_row = 1;
    copied.A = copied.B = 0;
    copied.a_batch = p->a_batch ? p->M * pitch : 0;
    copied.b_batch = p->b_batch ? p->N * pitch : 0;
    copied.a_steps = copied.b_steps = 0;
    return copied;
}

/* Of emulated f32, the depths of A and B, the ranges of their rows, and arrivals at each tile of rows */
static inline int64_t gpul__range_bytes(const gpul__gemm_problem *p) {
    const int64_t tiles =
        gpul__gemm_tiles_in(p->M, 1, gpul__pack_tile, 1) + gpul__gemm_tiles_in(p->N, 1, gpul__pack_tile, 1);
    return 256 + (p->M + p->N) * 8 + tiles * 4; /* fault: matmul-range-bytes */
}

/* Emulated f32 on tensor cores. By wgmma, tiles of 128 x 128, in pairs where there are many. K is split into 512 elements
 * at least while there are fewer of these than an H200 has multiprocessors. Copies have room for two parts of TF32, eight
 * bytes an element. Scratch memory ends with what gpul__range_bytes counts. */
static void gpul__emulated_plan(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__machine *machine) {
    const int64_t tiles = gpul_ceil_div(p->M, 128) * gpul_ceil_div(p->N, 128), depth = gpul__round_up(p->K, 64);
    int64_t splits = 1;
    while (tiles * splits * 2 <= gpul__gemm_sms && depth / (splits * 2) >= 512) splits *= 2;
    plan->packed = p->math;
    plan->part = plan->term = gpul__round_up(gpul_ceil_div(depth, splits), 64);
    plan->splits = int32_t(gpul_ceil_div(depth, plan->part));
    plan->a_pitch = plan->b_pitch = depth;
    plan->batch = 1; /* the data of each product decide how it is computed */
    if (machine->wgmma) {
        const int32_t cluster = machine->clusters[0] > 0 && tiles >= 2 * gpul__gemm_sms ? 2 : 1;
        plan->tensor = 1;
        gpul__tensor_plan_tile(plan, {0, {128, 128, cluster, 1}, 1}, false, depth * p->M * 8, depth * p->N * 8, p,
                               machine);
    } else {
        plan->mma = 2;
        plan->a_vector = plan->b_vector = 8;
        gpul__plain_plan_tile(plan, p, machine);
        gpul__add_copies(plan, depth * p->M * 8, depth * p->N * 8);
    }
    /* The fallback uses the same memory after the others, but not that of the depths, which its blocks read. */
    const gpul__gemm_plan fallback = gpul__fallback_plan(p, machine);
    if (fallback.counters > plan->counters) plan->counters = fallback.counters; /* fault: matmul-emulated-counters */
    if (fallback.scratch_bytes > plan->scratch_bytes)
        plan->scratch_bytes = fallback.scratch_bytes; /* fault: matmul-emulated-depths */
    plan->ranges_at = gpul__round_up(plan->scratch_bytes, 256);
    plan->scratch_bytes = plan->ranges_at + gpul__range_bytes(p);
}

/* TF32 without tensor cores: IEEE f32 on rounded copies, behind the scratch memory of its own */
static void gpul__rounded_plan(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__gemm_problem *alone,
                               const gpul__machine *machine) {
    const gpul__gemm_problem rounded = gpul__copied_problem(p);
    gpul__limit_batch(plan, (rounded.a_batch + rounded.b_batch) * 4);
    gpul__plain_plan(plan, &rounded, alone, machine);
    plan->packed = GPUL_MATH_TF32;
    const int64_t a_copies = p->a_batch ? plan->batch : 1, b_copies = p->b_batch ? plan->batch : 1;
    gpul__add_copies(plan, a_copies * p->M * rounded.a_row * 4,
                     b_copies * p->N * rounded.b_col * 4); /* fault: matmul-pack-scratch */
}

/* Which kernel: tensor cores for 16-bit types and TF32, Hopper's where numbers of tiles and coordinates fit in 32 bits.
 * But not, of 16-bit types, for the shortest K, where C takes the time. Few rows or columns, where an operand takes it,
 * have a kernel of their own. The smallest products are for mma alone, since tensor maps take the host longer. TF32, where
 * any of the three is 32 or less, saves nothing, for memory takes the time. */
static void gpul__make_gemm_plan(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__gemm_problem *alone,
                                 const gpul__machine *machine) {
    const double size = double(p->M) * double(p->N) * double(p->K), tiles_most = 68719476736.0; /* 2^36 elements */
    const int64_t k_most =
        p->math == GPUL_MATH_EMULATED ? INT32_MAX / 8 : INT32_MAX - 64; /* emulated: up to four words an element */
    const bool fits = p->M > 0 && p->M < INT32_MAX && p->N > 0 && p->N < INT32_MAX && p->K < k_most &&
                      double(p->M) * double(p->N) < tiles_most;
    const bool tensor = machine->wgmma && fits, emulates = fits && (machine->wgmma || machine->mma > 1);
    const bool rounds =
        p->math == GPUL_MATH_TF32 && alone->M > 32 && p->N > 32 && p->K > 32; /* fault: matmul-tf32-narrow */
    const bool of_16 = gpul__bytes_of(p->dtype) == 2, thin = gpul__gemm_is_thin(p, machine->mma != 0);
    const bool halves = of_16 && !thin && p->K > 8; /* fault: matmul-short-halves */
    memset(plan, 0, sizeof *plan);
    plan->device = machine->device;
    plan->batch = p->batch < 1 ? 1 : p->batch < 65535 ? p->batch : 65535; /* the limit of a grid in y */
    if (gpul__gemm_scales_only(p)) gpul__plain_plan(plan, p, alone, machine);
    else if (emulates && gpul__gemm_emulates(alone, machine)) gpul__emulated_plan(plan, p, machine);
    else if ((halves || rounds) && (tensor || machine->mma) && p->M > 0 && p->N > 0) {
        gpul__tensor_split(plan, alone, gpul__tensor_slice / gpul__bytes_of(p->dtype),
                           gpul__h200); /* fault: matmul-parts-by-machine */
        gpul__gemm_plan by_mma = *plan;
        /* Small products take less by mma, where a block has less to do before its first step and after its last. */
        const bool tiny = p->K < 128 && size * double(plan->batch) < 262144; /* 2^18 */
        double most = tensor && !tiny ? gpul__tensor_plan(plan, p, machine) + 600 : 1e300;
        gpul__gemm_plan short_k = by_mma;
        if (machine->mma && gpul__short_plan(&short_k, p, machine, &most, true)) *plan = short_k;
        if (machine->mma && gpul__mma_plan(&by_mma, p, machine, most)) *plan = by_mma;
    } else if (rounds) gpul__rounded_plan(plan, p, alone, machine);
    else {
        plan->mma = of_16 && thin && machine->mma && p->M > 0 && p->N > 0;
        gpul__plain_plan(plan, p, alone, machine); /* fault: matmul-one-parts */
    }
}
/* Of a stack: as one product, or, where copies of all rows would take more memory than a stack may, of each. */
static void gpul__make_stack_plan(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__machine *machine) {
    const int32_t as_one = gpul__gemm_as_one(p, machine);
    if (as_one) {
        const gpul__gemm_problem all = gpul__gemm_all_rows(*p, as_one);
        gpul__make_gemm_plan(plan, &all, p, machine);
        const bool fits = plan->scratch_bytes <= int64_t(128) << 20; /* fault: matmul-one-scratch */
        if (fits && plan->batch == all.batch) {                      /* fault: matmul-few-launches */
            plan->as_one = as_one;
            plan->batch = p->batch;
            return;
        }
    }
    gpul__make_gemm_plan(plan, p, p, machine);
}

/* All that a plan depends on: of addresses, where they are in a line of 128 bytes */
struct gpul__gemm_key {
    gpul__gemm_problem problem;
    gpul__machine machine;
};
static inline void *gpul__in_line(const void *p) {
    return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(p) % 128);
}
/* Each thread keeps its last plans: one takes up to 2 us to make, and the same problems often come again. */
extern "C" int32_t gpul__plan_gemm(gpul__gemm_plan *plan, const gpul__gemm_problem *p, const gpul__machine *machine) {
    static thread_local gpul__kept<gpul__gemm_key, gpul__gemm_plan, 32> kept;
    gpul__gemm_key key = {*p, *machine};
    key.problem.A = gpul__in_line(p->A); /* fault: matmul-kept-alignment */
    key.problem.B = gpul__in_line(p->B);
    key.problem.C = gpul__in_line(p->C);
    key.problem.alpha = p->alpha != 0;
    key.problem.beta = p->beta != 0;
    key.problem.bias = p->bias ? &kept : 0; /* whether there is one */
    auto &slot = kept.slot_of(key);
    if (slot.is_new) gpul__make_stack_plan(&slot.value, p, machine);
    *plan = slot.value;
    return 1;
}

/* ---- launching ---- */

static int32_t gpul__launch_short(gpul__gemm_view &v, gpul_stream stream) {
    const gpul__gemm_short_way way = gpul__short_way(&v.problem, v.plan.short_k);
    const int64_t tiles = v.plan.tiles_m * v.plan.tiles_n, all = tiles * gpul__batch_of(v.problem);
    gpul__gemm_divide_tiles(&v);
    v.tensor.of_product = gpul__division_by(tiles);
    const uint32_t blocks = uint32_t(gpul_ceil_div(all * way.together, int64_t(gpul__gemm_short_warps)));
    return gpul__launch_early(v.plan.device, way.kernel, gpul__dim(blocks), gpul__dim(32 * gpul__gemm_short_warps),
                              gpul__dynamic_shared(way.shared_bytes, way.most_bytes), stream, v);
}
static int32_t gpul__launch_plain(gpul__gemm_view &v, gpul_stream stream) {
    if (v.plan.short_k) return gpul__launch_short(v, stream);
    const gpul__gemm_tile &tile = gpul__gemm_tiles(v.problem.dtype, v.plan.mma)[v.plan.tile];
    const int64_t tiles = v.plan.tiles_m * v.plan.tiles_n;
    const uint32_t products =
        uint32_t(gpul_ceil_div(int64_t(gpul__batch_of(v.problem)), int64_t(v.plan.products_at_once)));
    const bool one = tile.of_one && (v.problem.M == 1 || v.problem.N == 1); /* fault: matmul-thin-one */
    gpul__gemm_divide_tiles(&v);
    return gpul__launch_early(
        v.plan.device, one ? tile.of_one : tile.kernel, gpul__dim(uint32_t(tiles), products, uint32_t(v.plan.splits)),
        gpul__dim(gpul__gemm_threads(tile, v.problem.K)), tile.shared_bytes / (one ? tile.n : 1), stream, v);
}

/* What gpul__gemm_pack reads of A and B. */
static gpul__pack_view gpul__pack_operands(const gpul__gemm_problem *p) {
    const gpul__gemm_matrix x[2] = {gpul__gemm_a(p), gpul__gemm_b(p)};
    gpul__pack_view pack;
    memset(&pack, 0, sizeof pack);
    for (int i = 0; i < 2; ++i) {
        gpul__pack_operand &op = pack.of[i];
        op.from = static_cast<const float *>(x[i].data);
        op.rows = i ? p->N : p->M;
        op.k = p->K;
        op.row_stride = i ? p->b_col : p->a_row;
        op.k_stride = i ? p->b_row : p->a_col;
        op.batch = x[i].batch;
        op.vector = gpul__gemm_aligned(x[i].data, x[i].pitch | x[i].batch, 4);
    }
    return pack;
}

/* Packs both operands (NULL: not this one), to rows of so many bytes, or, how = gpul__pack_range, finds the ranges of
 * their rows. */
static int32_t gpul__launch_pack(gpul__pack_view &pack, uint32_t how, void *a, void *b, int64_t pitch, int64_t batch,
                                 const gpul__machine *machine, gpul_stream stream) {
    const int64_t blocks = int64_t(machine->sms) * 4;
    void *const to[2] = {a, b};
    uint32_t most = 0;
    pack.how = how;
    for (int i = 0; i < 2; ++i) {
        gpul__pack_operand &op = pack.of[i];
        op.to = static_cast<unsigned char *>(to[i]);
        op.pitch = pitch;
        op.tiles_k = uint32_t(gpul_ceil_div(op.k, int64_t(gpul__pack_tile)));
        op.of_tiles_k = gpul__division_by(op.tiles_k);
        op.tiles = to[i] ? uint32_t(gpul_ceil_div(op.rows, int64_t(gpul__pack_tile))) * op.tiles_k : 0;
        most = op.tiles > most ? op.tiles : most;
    }
    pack.share = uint32_t(gpul_ceil_div(int64_t(most), blocks));
    return gpul__launch_early(
        machine->device, gpul__gemm_pack,
        gpul__dim(uint32_t(gpul_ceil_div(int64_t(most), int64_t(pack.share))), 2, uint32_t(batch)), gpul__dim(256), 0,
        stream, pack);
}

/* Copies operands that have a pitch in the plan: those of 16 bits as they are, those of TF32 rounded and dense along K.
 * x: A and B, then the copies */
static int32_t gpul__launch_copies(const gpul__gemm_view &v, gpul__gemm_matrix (&x)[2], void *scratch,
                                   const gpul__machine *machine, gpul_stream stream) {
    const gpul__gemm_problem &p = v.problem;
    const int64_t pitch[2] = {v.plan.a_pitch, v.plan.b_pitch}, at[2] = {v.plan.a_at, v.plan.b_at};
    const bool wide = p.dtype == GPUL_F32;
    gpul__tensor_copies copies;
    void *to[2] = {0, 0};
    int64_t most = 0; /* elements of a copy */
    for (int i = 0; i < 2; ++i) {
        copies.of[i] = gpul__tensor_copy{x[i].data, 0, x[i].dense, x[i].rows, x[i].pitch, pitch[i], x[i].batch};
        if (!pitch[i]) continue;
        x[i].data = to[i] = static_cast<char *>(scratch) + at[i];
        copies.of[i].to = static_cast<uint16_t *>(to[i]);
        if (wide) {
            x[i].dense = p.K;
            x[i].rows = i ? p.N : p.M;
        }
        x[i].pitch = pitch[i];
        if (x[i].batch) x[i].batch = x[i].rows * pitch[i];
        if (x[i].rows * pitch[i] > most) most = x[i].rows * pitch[i];
    }
    if (most == 0) return 0;
    if (wide) {
        gpul__pack_view pack = gpul__pack_operands(&p);
        return gpul__launch_pack(pack, gpul__pack_rounded, to[0], to[1], gpul__round_up(p.K, 64) * 4, gpul__batch_of(p),
                                 machine, stream);
    }
    gpul_dim3 grid = gpul_grid_1d(most / 8, 256);
    grid.y = 2;
    grid.z = gpul__batch_of(p);
    return gpul__launch_early(v.plan.device, gpul__tensor_pack, grid, gpul__dim(256), 0, stream, copies);
}

/* The same product in words of 16 bits, of which an element is several along K: see gpul__gemm_halves */
static void gpul__gemm_in_words(gpul__gemm_view *v, int64_t words) {
    gpul__gemm_problem &p = v->problem;
    p.K *= words;
    v->plan.part *= words; /* fault: matmul-tf32-parts */
    v->plan.term *= words; /* fault: matmul-tf32-terms */
    p.a_row *= words;
    p.b_col *= words;
    if (p.a_col != 1) p.a_col *= words;
    if (p.b_row != 1) p.b_row *= words;
    p.a_batch *= words;
    p.b_batch *= words;
}

/* gpul__gemm_kernel on tensor cores, of operands or copies */
static int32_t gpul__launch_mma(gpul__gemm_view &v, void *scratch, const gpul__machine *machine, gpul_stream stream) {
    gpul__gemm_problem &p = v.problem;
    gpul__gemm_matrix x[2] = {gpul__gemm_a(&p), gpul__gemm_b(&p)};
    const int32_t status = gpul__launch_copies(v, x, scratch, machine, stream);
    p.A = x[0].data;
    p.B = x[1].data;
    (p.a_col == 1 ? p.a_row : p.a_col) = x[0].pitch;
    (p.b_row == 1 ? p.b_col : p.b_row) = x[1].pitch;
    p.a_batch = x[0].batch;
    p.b_batch = x[1].batch;
    if (p.dtype == GPUL_F32) gpul__gemm_in_words(&v, 2);
    return status ? status : gpul__launch_plain(v, stream);
}

#ifdef GPUL__HOPPER
/* The driver's function that makes tensor maps; NULL: it has none. */
typedef decltype(&cuTensorMapEncodeTiled) gpul__tensor_encoder;
static inline int32_t gpul__find_encoder(gpul__tensor_encoder *encoder) {
    static std::atomic<void *> known;
    void *found;
    const cudaError_t e = gpul__find_driver("cuTensorMapEncodeTiled", &known, &found);
    *encoder = reinterpret_cast<gpul__tensor_encoder>(found);
    return int32_t(e);
}

/* All that a tensor map depends on */
struct gpul__tensor_shape {
    const void *data;
    cuuint64_t extent[3], stride[2];
    cuuint32_t box[2], bytes, element;
};
/* A tensor map of a matrix of 16-bit elements, or of f32, which copies round to TF32, or of `batch` of them, in boxes
 * of so many rows of 128 bytes (of C also of 64, 32 or 16), with a swizzle as wide; reads beyond give zeros. The driver
 * takes up to a microsecond for one, so each thread keeps the last ones: they are the same for the same arguments. */
static int32_t gpul__tensor_map(CUtensorMap *map, const gpul__gemm_matrix &x, int64_t batch, int64_t element,
                                int32_t rows, int32_t bytes) {
    static thread_local gpul__kept<gpul__tensor_shape, CUtensorMap, 16> kept;
    const int64_t pitch = x.rows == 1 ? gpul__round_up(x.dense, 8) : x.pitch;
    const cuuint32_t step[3] = {1, 1, 1}, box[3] = {cuuint32_t(bytes / element), cuuint32_t(rows), 1};
    const gpul__tensor_shape shape = {
        x.data,
        {cuuint64_t(x.dense), cuuint64_t(x.rows), cuuint64_t(x.batch && batch > 1 ? batch : 1)},
        {cuuint64_t(pitch * element), cuuint64_t((x.batch ? x.batch : pitch) * element)},
        {box[0], box[1]},
        cuuint32_t(bytes),
        cuuint32_t(element)};
    auto &slot = kept.slot_of(shape);
    if (slot.is_new) {
        gpul__tensor_encoder encode;
        const int32_t status = gpul__find_encoder(&encode);
        slot.key.bytes = 0; /* until it is made */
        if (status || !encode) return status ? status : int32_t(cudaErrorNotSupported);
        if (encode(&slot.value, element == 4 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_UINT16, 3,
                   const_cast<void *>(x.data), shape.extent, shape.stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                   bytes == 16 ? CU_TENSOR_MAP_SWIZZLE_NONE
                   : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                   : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                 : CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
            return int32_t(cudaErrorInvalidValue);
        slot.key.bytes = shape.bytes;
    }
    *map = slot.value;
    return 0;
}

/* gpul__tensor_kernel; slice: elements of K */
static int32_t gpul__launch_tensor_kernel(gpul__gemm_view &v, int64_t slice, const CUtensorMap (&map)[4],
                                          gpul_stream stream) {
    const gpul__gemm_plan &plan = v.plan;
    gpul__tensor_view &t = v.tensor;
    const bool across_b = v.problem.dtype != GPUL_F32 && v.problem.b_row != 1; /* whole boxes of B's columns */
    const int64_t tiles = plan.tiles_m * plan.tiles_n;
    const int32_t below = plan.cluster_splits ? 1 : plan.cluster_m;
    t.log2_blocks = gpul__tensor_log2(plan.cluster);
    t.log2_below = gpul__tensor_log2(below);
    t.below = (1u << below) - 1;
    t.across = 0;
    for (int32_t i = 0; i < (plan.cluster_splits ? 1 : plan.cluster_n); ++i) t.across |= 1u << i * below;
    t.many = plan.splits > 1 || v.problem.batch > 1;
    t.writers = plan.gathers ? gpul__tensor_gathering(v.problem, plan.gathers) : 2;
    t.readers = uint32_t((plan.cluster_splits ? 1 : plan.cluster_m + plan.cluster_n - 1) * (plan.tile_m / 16));
    t.slices = int32_t(gpul_ceil_div(v.problem.K, slice));
    t.part_slices = int32_t(gpul_ceil_div(plan.part, slice));
    t.chunk = gpul__tensor_chunk_of(&plan, slice);
    t.stage_bytes = int32_t(plan.tile_m + gpul__round_up(plan.tile_n, across_b ? 64 : 1)) * gpul__tensor_slice;
    t.stages = gpul__tensor_ring_bytes / t.stage_bytes;
    if (t.stages > gpul__tensor_stages) t.stages = gpul__tensor_stages;
    t.of_product = gpul__division_by(tiles * (plan.cluster_splits ? 1 : plan.splits));
    t.of_split = gpul__division_by(tiles);
    gpul__gemm_divide_tiles(&v);
    t.alpha = float(v.problem.alpha);
    t.beta = float(v.problem.beta);
    t.work_tiles = uint32_t(tiles * (plan.cluster_splits ? 1 : plan.splits) * gpul__batch_of(v.problem));
    t.dtype = v.problem.dtype;
    t.form = t.dtype == GPUL_F32 ? 0 : (v.problem.a_col == 1 ? 0 : 1) | (v.problem.b_row == 1 ? 0 : 2);
    t.stacked = (v.problem.a_batch ? 1 : 0) | (v.problem.b_batch ? 2 : 0);
    /* Each cluster has a work tile: the last launch of a stack may have fewer than the plan's blocks take. */
    const int64_t most = int64_t(t.work_tiles) * plan.cluster;
    const int64_t blocks = plan.blocks < most ? plan.blocks : most;
    t.plain = plan.splits == 1 && t.alpha == 1 && t.beta == 0 && !v.problem.bias && !v.problem.activation;
    return gpul__launch_clusters(v.plan.device, v.plan.cluster, gpul__tensor_functions[v.plan.tile],
                                 gpul__dim(uint32_t(blocks)), gpul__dim(gpul__tensor_threads), gpul__tensor_memory,
                                 stream, map[0], map[1], map[2], map[3], v);
}

/* 16-bit types and TF32 */
static int32_t gpul__launch_tensor(gpul__gemm_view &v, void *scratch, const gpul__machine *machine,
                                   gpul_stream stream) {
    const gpul__gemm_problem &p = v.problem;
    const gpul__gemm_plan &plan = v.plan;
    const int64_t pitch[2] = {plan.a_pitch, plan.b_pitch}, element = gpul__bytes_of(p.dtype);
    const bool wide = p.dtype == GPUL_F32;
    gpul__gemm_matrix x[2] = {gpul__gemm_a(&p), gpul__gemm_b(&p)};
    CUtensorMap map[4];
    int32_t status = gpul__launch_copies(v, x, scratch, machine, stream);
    memset(map, 0, sizeof map);
    for (int i = 0; i < 2; ++i) {
        /* a block's share of the lines of a box, which are rows of the tile, or steps of K */
        const bool of_b = (plan.held == 2) != (i == 1), across = (i ? p.b_row : p.a_col) != 1 && !(wide && pitch[i]);
        const int32_t lines = across ? int32_t(gpul__tensor_slice / element) : of_b ? plan.tile_n : plan.tile_m;
        if (!status && !(plan.gathers >> i & 1))
            status = gpul__tensor_map(&map[of_b], x[i], p.batch, element,
                                      lines / (of_b ? plan.cluster_m : plan.cluster_n), gpul__tensor_slice);
    }
    if (!status && plan.c_bulk)
        status = gpul__tensor_map(&map[2], gpul__gemm_c(&p), p.batch, element, 64, int32_t(plan.c_bulk * element));
    /* C is read by bulk copies, too, unless another block may finish the tile: all columns */
    v.tensor.fetches = float(p.beta) != 0 && plan.c_bulk && (plan.splits == 1 || plan.cluster_splits);
    if (!status && v.tensor.fetches) {
        gpul__gemm_matrix c = gpul__gemm_c(&p);
        c.dense = p.N;
        status = gpul__tensor_map(&map[3], c, p.batch, element, 64, int32_t(plan.c_bulk * element));
    }
    if (status) return status;
    return gpul__launch_tensor_kernel(v, gpul__tensor_slice / element, map, stream);
}

#endif

/* Emulated f32: the ranges of rows; copies in two parts, and their product, in f16 or TF32; and the product in f32. The
 * data decide which of them return at once. Rows of copies begin where those of TF32 do, which have twice as many words. */
static int32_t gpul__launch_emulated(gpul__gemm_view &v, const gpul__gemm_problem *p, const gpul__machine *machine,
                                     void *scratch, gpul_stream stream) {
    enum { kWords = 4 }; /* of 16 bits, of an element of TF32 */
    char *const ranges = static_cast<char *>(scratch) + v.plan.ranges_at;
    uint32_t *const depth = reinterpret_cast<uint32_t *>(ranges);
    const int64_t pitch = v.plan.a_pitch * kWords;
    void *const a = static_cast<char *>(scratch) + v.plan.a_at, *const b = static_cast<char *>(scratch) + v.plan.b_at;
    gpul__pack_view pack = gpul__pack_operands(p);
    pack.depth = depth;
    v.range_a = pack.of[0].range = depth + 64;
    v.range_b = pack.of[1].range = pack.of[0].range + 2 * p->M;
    pack.of[0].arrived = pack.of[1].range + 2 * p->N;
    pack.of[1].arrived = pack.of[0].arrived + gpul_ceil_div(p->M, int64_t(gpul__pack_tile));
    int32_t status = int32_t(cudaMemsetAsync(ranges, 0, size_t(gpul__range_bytes(p)), stream));
    if (!status) status = gpul__launch_pack(pack, gpul__pack_range, a, b, 0, 1, machine, stream); /* writes none */
    v.choice.depth = depth;
    v.choice.parts = 1;
    for (int64_t k = p->K; k >= 32 && v.choice.f16_limit < 8; k /= 2) ++v.choice.f16_limit;
    pack.choice = v.choice;
    if (!status) status = gpul__launch_pack(pack, gpul__pack_parts, a, b, pitch * 2, 1, machine, stream);
    if (status) return status;
    if (v.plan.mma) {
        gpul__gemm_view of_copies = v;
        gpul__gemm_problem &copied = of_copies.problem;
        copied = gpul__copied_problem(p);
        copied.A = a;
        copied.B = b;
        copied.K = copied.a_row;
        gpul__gemm_in_words(&of_copies, kWords / 2); /* the words of f16, */
        copied.a_row = copied.b_col = pitch;         /* where there is room for those of TF32 */
        status = gpul__launch_plain(of_copies, stream);
    } else {
#ifdef GPUL__HOPPER
        const gpul__gemm_matrix of_a = {a, pitch, p->M, pitch, 0, 0}, of_b = {b, pitch, p->N, pitch, 0, 0};
        CUtensorMap map[4];
        memset(map, 0, sizeof map);
        status = gpul__tensor_map(&map[0], of_a, 1, 2, v.plan.tile_m / v.plan.cluster_n, gpul__tensor_slice);
        if (!status)
            status = gpul__tensor_map(&map[1], of_b, 1, 2, v.plan.tile_n / v.plan.cluster_m, gpul__tensor_slice);
        if (!status) status = gpul__launch_tensor_kernel(v, 32, map, stream);
#else
        status = int32_t(cudaErrorNotSupported);
#endif
    }
    if (status) return status;
    v.problem = *p;
    v.plan = gpul__fallback_plan(p, machine);
    v.partials = scratch;
    v.choice.parts = 0;
    return gpul__launch_plain(v, stream);
}

/* TF32 without tensor cores */
static int32_t gpul__launch_rounded(gpul__gemm_view &v, const gpul__machine *machine, void *scratch,
                                    gpul_stream stream) {
    char *const a = static_cast<char *>(scratch) + v.plan.a_at, *const b = static_cast<char *>(scratch) + v.plan.b_at;
    gpul__pack_view pack = gpul__pack_operands(&v.problem);
    v.problem = gpul__copied_problem(&v.problem);
    v.problem.A = a;
    v.problem.B = b;
    const int32_t status = gpul__launch_pack(pack, gpul__pack_rounded, a, b, v.problem.a_row * 4,
                                             gpul__batch_of(v.problem), machine, stream);
    if (status) return status;
    return gpul__launch_plain(v, stream);
}

/* Which tensor cores run on the machine's device, the current one: mma where this file was compiled for compute capability
 * 8.0 or later, and emulated f32 by it where f64 is fast, as in data centers: elsewhere f32 is faster;
 * gpul__tensor_kernel where it was for sm_90a and the driver makes tensor maps, and how many of its clusters at a time.
 * Found out once a device, of the first 64. */
extern "C" int32_t gpul__find_tensor_cores(gpul__machine *machine) {
    static std::atomic<uint64_t>
        known[64]; /* 0: not yet; bits 0 to 4: known, wgmma, mma (two), sm_90a; then 16 for each size of clusters */
    const int32_t device = machine->device;
    const bool kept = device >= 0 && device < 64;
    machine->wgmma = machine->mma = machine->sm_90a = 0; /* where this fails */
    uint64_t answer = kept ? known[device].load(std::memory_order_relaxed) : 0;
    if (answer == 0) {
        cudaFuncAttributes attributes;
        int32_t ratio = 0; /* of the rates of f32 and f64 */
        int32_t status =
            int32_t(cudaFuncGetAttributes(&attributes, gpul__address(gpul__gemm_kernel<gpul__gemm_large_halves>)));
        if (!status)
            status = int32_t(cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device));
        if (status) return status;
        answer = attributes.ptxVersion < 80 ? 1 : ratio > 4 ? 1 | 4 : 1 | 8; /* fault: matmul-emulates */
#ifdef GPUL__HOPPER
        const void *const kernel = gpul__address(gpul__tensor_functions[0]);
        gpul__tensor_encoder encoder;
        status = int32_t(cudaFuncGetAttributes(&attributes, kernel));
        if (!status) status = gpul__find_encoder(&encoder);
        if (status) return status;
        const bool compiled = attributes.maxThreadsPerBlock >= gpul__tensor_threads; /* for sm_90a */
        if (compiled) answer = 1 | 4 | 16; /* f32 is emulated by wgmma alone */
        if (compiled && encoder) {
            answer |= 2;
            for (int32_t i = 0; i < 3 && !status; ++i) {
                int32_t clusters = 0;
                status = gpul__clusters_at_once(&clusters, 2 << i, kernel, gpul__tensor_threads, gpul__tensor_memory);
                answer |= uint64_t(clusters & 0xffff) << (16 + 16 * i);
            }
            if (status) return status;
        }
#endif
        if (kept) known[device].store(answer, std::memory_order_relaxed);
    }
    machine->wgmma = int32_t(answer >> 1 & 1);
    machine->mma = int32_t(answer >> 2 & 3);
    machine->sm_90a = int32_t(answer >> 4 & 1);
    for (int32_t i = 0; i < 3; ++i) machine->clusters[i] = int32_t(answer >> (16 + 16 * i) & 0xffff);
    return 0;
}

extern "C" int32_t gpul__launch_gemm(const gpul__gemm_problem *problem, const gpul__gemm_plan *plan,
                                     const gpul__machine *machine, uint32_t *counters, void *scratch,
                                     gpul_stream stream) {
    gpul__gemm_view v;
    memset(&v, 0, sizeof v);
    v.problem = plan->as_one ? gpul__gemm_all_rows(*problem, plan->as_one) : *problem;
    v.plan = *plan;
    v.partials = scratch;
    v.counters = counters;
    v.one = 1;
    v.promoted = reinterpret_cast<float *>(static_cast<char *>(scratch) + plan->promoted_at);
    if (plan->packed == GPUL_MATH_EMULATED) return gpul__launch_emulated(v, problem, machine, scratch, stream);
    if (plan->packed) return gpul__launch_rounded(v, machine, scratch, stream);
    if (plan->mma) return gpul__launch_mma(v, scratch, machine, stream);
#ifdef GPUL__HOPPER
    if (plan->tensor) return gpul__launch_tensor(v, scratch, machine, stream);
#endif
    return gpul__launch_plain(v, stream);
}

#define GPUL__MATMUL_KERNEL gpul__gemm_tiles(GPUL_F32)[0].kernel

#endif /* GPULITE_NO_MATMUL */

/* ---------------------------------------------------------------------------------------------------------------------
 * What was built: for gpul_report, which asks one kernel of each family what code the driver would run. A family that
 * is left out has NULL in its place.
 * ------------------------------------------------------------------------------------------------------------------ */
extern "C" int32_t gpul__kernel_arch(int32_t family, int32_t *binary, int32_t *ptx) {
    static const void *const kernels[GPUL__FAMILIES] = {
        reinterpret_cast<const void *>(GPUL__ELEMENTWISE_KERNEL), reinterpret_cast<const void *>(GPUL__REDUCE_KERNEL),
        reinterpret_cast<const void *>(GPUL__GEMV_KERNEL), reinterpret_cast<const void *>(GPUL__HISTOGRAM_KERNEL),
        reinterpret_cast<const void *>(GPUL__MATMUL_KERNEL)};
    *binary = *ptx = 0;
    if (family < 0 || family >= GPUL__FAMILIES || !kernels[family]) return 0;
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernels[family]);
    if (error != cudaSuccess) return int32_t(error);
    *binary = attributes.binaryVersion;
    *ptx = attributes.ptxVersion;
    return 0;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * The clock, for gpul_benchmark
 * ------------------------------------------------------------------------------------------------------------------ */
static __global__ void gpul__wait_for_cycles(int64_t cycles) {
    const int64_t from = clock64();
    while (clock64() - from < cycles) {}
}

extern "C" int32_t gpul__count_cycles(int64_t cycles, gpul_stream stream) {
    return gpul__launch(gpul__wait_for_cycles, gpul__dim(1), gpul__dim(1), stream, cycles);
}

/* The host side refers to it, so that header and kernels of two versions do not link. */
extern "C" void GPUL__VERSIONED(gpul__kernels_of_version)(void) {}

#endif /* GPULITE_ENGINES_ONLY */

#ifdef __NVCC__
#pragma nv_diagnostic pop
#endif
#ifdef __clang__
#pragma clang diagnostic pop
#endif
