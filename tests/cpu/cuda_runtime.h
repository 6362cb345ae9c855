/* SPDX-License-Identifier: MIT */
/*
 * The device side of the CUDA runtime, for a C++ compiler: kernels compile as plain functions, and the runtime in
 * cudart.cpp calls them once for each CUDA thread (see README.md). In C this is the host API and nothing else.
 */
#ifndef STANDIN_CUDA_RUNTIME_H
#define STANDIN_CUDA_RUNTIME_H

/* Programs that ask for strict warnings get them for their own code, as with headers that are installed. */
#pragma GCC system_header

#include "cuda_runtime_api.h"

#ifdef __cplusplus

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <type_traits>
#include <utility>

#ifndef __CUDACC__
#define __CUDACC__ 1
#endif

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __nv_pure__
#define __noinline__ /* empty, because system headers write __attribute__((__noinline__)) */

/* ---- Vector types ------------------------------------------------------------------------------------------------ */

#define STANDIN_VECTORS(T, name, a2, a4)                                                                               \
    struct name##1 {                                                                                                   \
        T x;                                                                                                           \
    };                                                                                                                 \
    struct __attribute__((aligned(a2))) name##2 {                                                                      \
        T x, y;                                                                                                        \
    };                                                                                                                 \
    struct __attribute__((aligned(a4))) name##4 {                                                                      \
        T x, y, z, w;                                                                                                  \
    };                                                                                                                 \
    static inline constexpr name##1 make_##name##1(T x) { return name##1 {x}; }                                        \
    static inline constexpr name##2 make_##name##2(T x, T y) { return name##2 {x, y}; }                                \
    static inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return name##4 {x, y, z, w}; }
#define STANDIN_VECTOR3(T, name)                                                                                       \
    struct name##3 {                                                                                                   \
        T x, y, z;                                                                                                     \
    };                                                                                                                 \
    static inline constexpr name##3 make_##name##3(T x, T y, T z) { return name##3 {x, y, z}; }

STANDIN_VECTORS(signed char, char, 2, 4)
STANDIN_VECTORS(unsigned char, uchar, 2, 4)
STANDIN_VECTORS(short, short, 4, 8)
STANDIN_VECTORS(unsigned short, ushort, 4, 8)
STANDIN_VECTORS(int, int, 8, 16)
STANDIN_VECTORS(unsigned int, uint, 8, 16)
STANDIN_VECTORS(long, long, 16, 16)
STANDIN_VECTORS(unsigned long, ulong, 16, 16)
STANDIN_VECTORS(long long, longlong, 16, 16)
STANDIN_VECTORS(unsigned long long, ulonglong, 16, 16)
STANDIN_VECTORS(float, float, 8, 16)
STANDIN_VECTORS(double, double, 16, 16)
STANDIN_VECTOR3(signed char, char)
STANDIN_VECTOR3(unsigned char, uchar)
STANDIN_VECTOR3(short, short)
STANDIN_VECTOR3(unsigned short, ushort)
STANDIN_VECTOR3(int, int)
STANDIN_VECTOR3(long, long)
STANDIN_VECTOR3(unsigned long, ulong)
STANDIN_VECTOR3(long long, longlong)
STANDIN_VECTOR3(unsigned long long, ulonglong)
STANDIN_VECTOR3(float, float)
STANDIN_VECTOR3(double, double)
static inline constexpr uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) { return uint3{x, y, z}; }
#undef STANDIN_VECTORS
#undef STANDIN_VECTOR3

/* ---- What a kernel can ask about itself -------------------------------------------------------------------------- */

/* One copy for each OS thread; the fiber engine rewrites it whenever it runs another CUDA thread. */
#if defined __PIC__ && !defined __PIE__ /* of a library, which dlopen may load */
#define STANDIN_TLS __thread
#else
#define STANDIN_TLS __thread __attribute__((tls_model("initial-exec")))
#endif
extern STANDIN_TLS uint3 threadIdx;
extern STANDIN_TLS uint3 blockIdx;
extern STANDIN_TLS dim3 blockDim;
extern STANDIN_TLS dim3 gridDim;
static constexpr int warpSize = 32;

/* ---- The runtime's entry points ---------------------------------------------------------------------------------- */

enum standin_warp_op {
    STANDIN_SYNCWARP,
    STANDIN_SHFL,
    STANDIN_SHFL_UP,
    STANDIN_SHFL_DOWN,
    STANDIN_SHFL_XOR,
    STANDIN_BALLOT,
    STANDIN_MATCH,
    STANDIN_MATCH_ALL,
    STANDIN_ADD,
    STANDIN_MIN_S,
    STANDIN_MAX_S,
    STANDIN_MIN_U,
    STANDIN_MAX_U,
    STANDIN_AND,
    STANDIN_OR,
    STANDIN_XOR
};

/* How to call a kernel of one signature: the copied arguments lie in `args`. */
struct standin_signature {
    size_t size, align;
    int count;
    void (*call)(const void *func, const void *args);
    void (*pack)(void *args, void *const *values);
    int (*pointers)(const void *args, const void **pointers, int *which);
};

extern "C" {
void *standin_dynamic_shared(void);
int standin_barrier(int kind, int predicate, const char *file, int line);
unsigned long long standin_warp(int op, unsigned mask, unsigned long long value, int arg, int width, const char *file,
                                int line);
unsigned standin_activemask(void);
void standin_trap(const char *what, const char *file, int line) __attribute__((noreturn));
void standin_assert(const char *what, const char *file, unsigned line, const char *function) __attribute__((noreturn));
void standin_yield(void);
long long standin_clock64(void);
int standin_cooperative(void);
cudaError_t standin_launch(const cudaLaunchConfig_t *config, const void *func, const standin_signature *signature,
                           const void *args);
void standin_register(const void *func, const standin_signature *signature);
void standin_symbol(const void *address, size_t size);
}

/* ---- Launching --------------------------------------------------------------------------------------------------- */

namespace standin {

template <typename... T> struct pack;
template <> struct pack<> {
    static constexpr int count = 0;
    template <typename F, typename... A> void apply(F f, const A &...a) const { f(a...); }
    void set(void *const *) {}
    int pointers(const void **, int *, int, int n) const { return n; }
};
template <typename T, typename... Rest> struct pack<T, Rest...> {
    static_assert(!std::is_reference<T>::value, "a kernel's parameters are passed by value");
    static_assert(std::is_trivially_copyable<T>::value, "a kernel's parameters are copied as bytes");
    typedef typename std::remove_cv<T>::type value_type;
    static constexpr int count = 1 + pack<Rest...>::count;
    value_type value;
    pack<Rest...> rest;

    template <typename F, typename... A> void apply(F f, const A &...a) const { rest.apply(f, a..., value); }
    void set(void *const *values) {
        memcpy(static_cast<void *>(&value), values[0], sizeof value);
        rest.set(values + 1);
    }
    int pointers(const void **out, int *which, int position, int n) const {
        if (note(std::is_pointer<value_type>(), out + n)) which[n++] = position;
        return rest.pointers(out, which, position + 1, n);
    }
    bool note(std::true_type, const void **out) const {
        memcpy(static_cast<void *>(out), static_cast<const void *>(&value), sizeof *out);
        return true;
    }
    bool note(std::false_type, const void **) const { return false; }
};

template <typename... Exp> struct signature_of {
    typedef pack<Exp...> args_type;
    static void call(const void *func, const void *args) {
        void (*kernel)(Exp...) = reinterpret_cast<void (*)(Exp...)>(reinterpret_cast<uintptr_t>(func));
        static_cast<const args_type *>(args)->apply(kernel);
    }
    static void set(void *args, void *const *values) { static_cast<args_type *>(args)->set(values); }
    static int pointers(const void *args, const void **out, int *which) {
        return static_cast<const args_type *>(args)->pointers(out, which, 1, 0);
    }
    static const standin_signature *get() {
        static const standin_signature s = {sizeof(args_type), alignof(args_type), args_type::count, call, set,
                                            pointers};
        return &s;
    }
};

template <typename... Exp> inline const void *address(void (*kernel)(Exp...)) {
    const void *func = reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(kernel));
    standin_register(func, signature_of<Exp...>::get());
    return func;
}

} // namespace standin

template <typename... Exp, typename... Act>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Exp...), Act &&...args) {
    static_assert(sizeof...(Exp) == sizeof...(Act), "the number of arguments differs from the kernel's parameters");
    typedef standin::signature_of<Exp...> S;
    const void *func = standin::address(kernel);
    struct start {
        static cudaError_t with(const cudaLaunchConfig_t *c, const void *f, Exp... values) {
            void *list[] = {const_cast<void *>(static_cast<const void *>(&values))..., nullptr};
            alignas(16) unsigned char copy[sizeof(typename S::args_type)];
            S::set(copy, list);
            return standin_launch(c, f, S::get(), copy);
        }
    };
    return start::with(config, func, std::forward<Act>(args)...);
}

template <typename... Exp>
static inline cudaError_t cudaLaunchKernel(void (*kernel)(Exp...), dim3 grid, dim3 block, void **args,
                                           size_t shared = 0, cudaStream_t stream = 0) {
    return cudaLaunchKernel(standin::address(kernel), grid, block, args, shared, stream);
}
template <typename... Exp>
static inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Exp...), dim3 grid, dim3 block, void **args,
                                                      size_t shared = 0, cudaStream_t stream = 0) {
    return cudaLaunchCooperativeKernel(standin::address(kernel), grid, block, args, shared, stream);
}
template <typename... Exp>
static inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, void (*kernel)(Exp...), void **args) {
    return cudaLaunchKernelExC(config, standin::address(kernel), args);
}
template <typename... Exp>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*kernel)(Exp...)) {
    return cudaFuncGetAttributes(attributes, standin::address(kernel));
}
template <typename... Exp>
static inline cudaError_t cudaFuncSetAttribute(void (*kernel)(Exp...), cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(standin::address(kernel), attribute, value);
}
template <typename... Exp>
static inline cudaError_t cudaFuncSetCacheConfig(void (*kernel)(Exp...), cudaFuncCache config) {
    return cudaFuncSetCacheConfig(standin::address(kernel), config);
}
template <typename... Exp>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel)(Exp...), int size,
                                                                        size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, standin::address(kernel), size, shared);
}
template <typename... Exp>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void (*kernel)(Exp...),
                                                                                 int size, size_t shared,
                                                                                 unsigned int flags) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, standin::address(kernel), size, shared,
                                                                  flags);
}

/* The largest block with the most resident threads, as NVIDIA's search finds it. */
template <typename... Exp>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void (*kernel)(Exp...),
                                                                      size_t shared = 0, int limit = 0,
                                                                      unsigned int flags = 0) {
    int device = 0, sms = 0, best = 0, best_blocks = 0, best_threads = 0;
    cudaError_t e = cudaGetDevice(&device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (e != cudaSuccess) return e;
    int most = 1024;
    if (limit > 0 && limit < most) most = limit;
    for (int size = most; size > 0; size = (size - 1) / 32 * 32) {
        int blocks = 0;
        e = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, size, shared, flags);
        if (e != cudaSuccess) return e;
        if (blocks * size > best_threads) {
            best_threads = blocks * size;
            best = size;
            best_blocks = blocks;
        }
    }
    *grid = best_blocks * sms;
    *block = best;
    return cudaSuccess;
}
template <typename... Exp>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, void (*kernel)(Exp...),
                                                             size_t shared = 0, int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeWithFlags(grid, block, kernel, shared, limit, 0);
}

/* Typed forms of the C calls. */
template <typename T> static inline cudaError_t cudaMalloc(T **p, size_t size) {
    return cudaMalloc(reinterpret_cast<void **>(p), size);
}
template <typename T> static inline cudaError_t cudaMallocAsync(T **p, size_t size, cudaStream_t stream) {
    return cudaMallocAsync(reinterpret_cast<void **>(p), size, stream);
}
template <typename T> static inline cudaError_t cudaMallocHost(T **p, size_t size, unsigned int flags = 0) {
    return cudaHostAlloc(reinterpret_cast<void **>(p), size, flags);
}
template <typename T> static inline cudaError_t cudaHostAlloc(T **p, size_t size, unsigned int flags) {
    return cudaHostAlloc(reinterpret_cast<void **>(p), size, flags);
}
template <typename T>
static inline cudaError_t cudaMallocManaged(T **p, size_t size, unsigned int flags = cudaMemAttachGlobal) {
    return cudaMallocManaged(reinterpret_cast<void **>(p), size, flags);
}
template <typename T> static inline cudaError_t cudaHostGetDevicePointer(T **p, void *host, unsigned int flags) {
    return cudaHostGetDevicePointer(reinterpret_cast<void **>(p), host, flags);
}
template <typename T> static inline cudaError_t cudaGetSymbolAddress(void **p, const T &symbol) {
    standin_symbol(&symbol, sizeof symbol);
    return cudaGetSymbolAddress(p, static_cast<const void *>(&symbol));
}
template <typename T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t count, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    standin_symbol(&symbol, sizeof symbol);
    return cudaMemcpyToSymbol(static_cast<const void *>(&symbol), src, count, offset, kind);
}
template <typename T>
static inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t count, size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    standin_symbol(&symbol, sizeof symbol);
    return cudaMemcpyFromSymbol(dst, static_cast<const void *>(&symbol), count, offset, kind);
}
template <typename T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t count, size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                  cudaStream_t stream = 0) {
    standin_symbol(&symbol, sizeof symbol);
    return cudaMemcpyToSymbolAsync(static_cast<const void *>(&symbol), src, count, offset, kind, stream);
}

/* ---- Barriers and warp operations -------------------------------------------------------------------------------- */

#define STANDIN_AT const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(STANDIN_AT) { standin_barrier(0, 0, file, line); }
static inline int __syncthreads_count(int p, STANDIN_AT) { return standin_barrier(1, p != 0, file, line); }
static inline int __syncthreads_and(int p, STANDIN_AT) { return standin_barrier(2, p != 0, file, line); }
static inline int __syncthreads_or(int p, STANDIN_AT) { return standin_barrier(3, p != 0, file, line); }
static inline void __syncwarp(unsigned mask = 0xffffffffu, STANDIN_AT) {
    standin_warp(STANDIN_SYNCWARP, mask, 0, 0, 32, file, line);
}

#define STANDIN_SHUFFLE(name, op, arg_type)                                                                            \
    template <typename T> static inline T name(unsigned mask, T value, arg_type arg, int width = 32, STANDIN_AT) {     \
        static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8), "no shuffle for this type"); \
        unsigned long long bits = 0;                                                                                   \
        memcpy(&bits, &value, sizeof value);                                                                           \
        bits = standin_warp(op, mask, bits, static_cast<int>(arg), width, file, line);                                 \
        memcpy(&value, &bits, sizeof value);                                                                           \
        return value;                                                                                                  \
    }
STANDIN_SHUFFLE(__shfl_sync, STANDIN_SHFL, int)
STANDIN_SHUFFLE(__shfl_up_sync, STANDIN_SHFL_UP, unsigned)
STANDIN_SHUFFLE(__shfl_down_sync, STANDIN_SHFL_DOWN, unsigned)
STANDIN_SHUFFLE(__shfl_xor_sync, STANDIN_SHFL_XOR, int)
#undef STANDIN_SHUFFLE

static inline unsigned __ballot_sync(unsigned mask, int predicate, STANDIN_AT) {
    return static_cast<unsigned>(standin_warp(STANDIN_BALLOT, mask, predicate != 0, 0, 32, file, line));
}
static inline int __any_sync(unsigned mask, int predicate, STANDIN_AT) {
    return standin_warp(STANDIN_BALLOT, mask, predicate != 0, 1, 32, file, line) != 0;
}
static inline int __all_sync(unsigned mask, int predicate, STANDIN_AT) {
    return standin_warp(STANDIN_BALLOT, mask, predicate == 0, 2, 32, file, line) == 0;
}
template <typename T> static inline unsigned __match_any_sync(unsigned mask, T value, STANDIN_AT) {
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    return static_cast<unsigned>(standin_warp(STANDIN_MATCH, mask, bits, 0, 32, file, line));
}
template <typename T> static inline unsigned __match_all_sync(unsigned mask, T value, int *all, STANDIN_AT) {
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    unsigned found = static_cast<unsigned>(standin_warp(STANDIN_MATCH_ALL, mask, bits, 0, 32, file, line));
    *all = found != 0;
    return found;
}
#define STANDIN_REDUCE(name, op, T)                                                                                    \
    static inline T name(unsigned mask, T value, STANDIN_AT) {                                                         \
        return static_cast<T>(standin_warp(op, mask, static_cast<unsigned long long>(value), 0, 32, file, line));      \
    }
STANDIN_REDUCE(__reduce_add_sync, STANDIN_ADD, int)
STANDIN_REDUCE(__reduce_add_sync, STANDIN_ADD, unsigned)
STANDIN_REDUCE(__reduce_min_sync, STANDIN_MIN_S, int)
STANDIN_REDUCE(__reduce_min_sync, STANDIN_MIN_U, unsigned)
STANDIN_REDUCE(__reduce_max_sync, STANDIN_MAX_S, int)
STANDIN_REDUCE(__reduce_max_sync, STANDIN_MAX_U, unsigned)
STANDIN_REDUCE(__reduce_and_sync, STANDIN_AND, unsigned)
STANDIN_REDUCE(__reduce_or_sync, STANDIN_OR, unsigned)
STANDIN_REDUCE(__reduce_xor_sync, STANDIN_XOR, unsigned)
#undef STANDIN_REDUCE
static inline unsigned __activemask() { return standin_activemask(); }

#ifdef __GLIBC__ /* where assert() calls it; of host code it is passed on */
#define __assert_fail standin_assert
#endif
#define __trap() standin_trap("__trap()", __FILE__, __LINE__)
static inline void __nanosleep(unsigned) { standin_yield(); }

/* ---- Dependent launches, mbarriers and bulk copies --------------------------------------------------------------- */

/*
 * What PTX does on a GPU and a function does here; a kernel reaches both through a wrapper of its own:
 *
 *     standin_dependency_wait()                           griddepcontrol.wait
 *     standin_barrier_init(&b, arrivals)                  mbarrier.init.shared::cta.b64
 *     standin_barrier_invalidate(&b)                      mbarrier.inval.shared::cta.b64
 *     standin_barrier_arrive(&b)                          mbarrier.arrive.shared::cta.b64
 *     standin_barrier_arrive(&b, bytes)                   mbarrier.arrive.expect_tx.shared::cta.b64
 *     standin_barrier_wait(&b, parity)                    mbarrier.try_wait.parity.shared::cta.b64, until it is true
 *     standin_bulk_copy(shared, global, bytes, &b)        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
 *
 * An mbarrier is 8 aligned bytes of shared memory.
 */
extern "C" {
void standin_dependency_wait(STANDIN_AT);
void standin_barrier_init(void *barrier, unsigned count, STANDIN_AT);
void standin_barrier_invalidate(void *barrier, STANDIN_AT);
void standin_barrier_arrive(void *barrier, unsigned bytes = 0, STANDIN_AT);
void standin_barrier_wait(void *barrier, unsigned parity, STANDIN_AT);
void standin_bulk_copy(void *shared, const void *global, unsigned bytes, void *barrier, STANDIN_AT);
}
static inline void cudaGridDependencySynchronize(STANDIN_AT) { standin_dependency_wait(file, line); }
static inline void cudaTriggerProgrammaticLaunchCompletion() {}

/* ---- Atomics and fences ------------------------------------------------------------------------------------------ */

/* ThreadSanitizer knows no fences, so there each atomic operation orders what the fences beside it would order. */
#if defined(STANDIN_WATCH)
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan" /* of fences in host code: watch.h has what they call */
#endif
extern "C" void standin_fence(void);
#elif defined(__SANITIZE_THREAD__)
#define STANDIN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STANDIN_TSAN 1
#endif
#endif
#ifdef STANDIN_TSAN
#define STANDIN_ORDER __ATOMIC_ACQ_REL
#define STANDIN_FENCE() __asm__ volatile("" ::: "memory")
#elif defined(STANDIN_WATCH)
#define STANDIN_ORDER __ATOMIC_RELAXED
#define STANDIN_FENCE() standin_fence()
#else
#define STANDIN_ORDER __ATOMIC_RELAXED
#define STANDIN_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
static inline void __threadfence() { STANDIN_FENCE(); }
static inline void __threadfence_block() { STANDIN_FENCE(); }
static inline void __threadfence_system() { STANDIN_FENCE(); }

namespace standin {
template <typename T, typename Bits, typename F> inline T update(T *address, F next) {
    Bits *at = reinterpret_cast<Bits *>(address);
    Bits seen = __atomic_load_n(at, __ATOMIC_RELAXED), wanted;
    T old;
    do {
        memcpy(&old, &seen, sizeof old);
        T value = next(old);
        memcpy(&wanted, &value, sizeof wanted);
    } while (!__atomic_compare_exchange_n(at, &seen, wanted, false, STANDIN_ORDER, __ATOMIC_RELAXED));
    return old;
}
} // namespace standin

#define STANDIN_ATOMICS_OF(T, suffix)                                                                                  \
    static inline T atomicAdd##suffix(T *p, T v) {                                                                     \
        typedef std::make_unsigned<T>::type U;                                                                         \
        return static_cast<T>(                                                                                         \
            __atomic_fetch_add(reinterpret_cast<U *>(p), static_cast<U>(v), STANDIN_ORDER)); /* wraps */               \
    }                                                                                                                  \
    static inline T atomicExch##suffix(T *p, T v) { return __atomic_exchange_n(p, v, STANDIN_ORDER); }                 \
    static inline T atomicCAS##suffix(T *p, T compare, T v) {                                                          \
        __atomic_compare_exchange_n(p, &compare, v, false, STANDIN_ORDER, __ATOMIC_RELAXED);                           \
        return compare;                                                                                                \
    }                                                                                                                  \
    static inline T atomicMin##suffix(T *p, T v) {                                                                     \
        return standin::update<T, T>(p, [v](T old) { return v < old ? v : old; });                                     \
    }                                                                                                                  \
    static inline T atomicMax##suffix(T *p, T v) {                                                                     \
        return standin::update<T, T>(p, [v](T old) { return old < v ? v : old; });                                     \
    }                                                                                                                  \
    static inline T atomicAnd##suffix(T *p, T v) { return __atomic_fetch_and(p, v, STANDIN_ORDER); }                   \
    static inline T atomicOr##suffix(T *p, T v) { return __atomic_fetch_or(p, v, STANDIN_ORDER); }                     \
    static inline T atomicXor##suffix(T *p, T v) { return __atomic_fetch_xor(p, v, STANDIN_ORDER); }
#define STANDIN_ATOMICS_EACH(suffix)                                                                                   \
    STANDIN_ATOMICS_OF(int, suffix)                                                                                    \
    STANDIN_ATOMICS_OF(unsigned int, suffix)                                                                           \
    STANDIN_ATOMICS_OF(unsigned long long, suffix)                                                                     \
    STANDIN_ATOMICS_OF_SIGNED_64(suffix)                                                                               \
    static inline int atomicSub##suffix(int *p, int v) {                                                               \
        return static_cast<int>(                                                                                       \
            __atomic_fetch_sub(reinterpret_cast<unsigned *>(p), static_cast<unsigned>(v), STANDIN_ORDER));             \
    }                                                                                                                  \
    static inline unsigned atomicSub##suffix(unsigned *p, unsigned v) {                                                \
        return __atomic_fetch_sub(p, v, STANDIN_ORDER);                                                                \
    }                                                                                                                  \
    static inline unsigned atomicInc##suffix(unsigned *p, unsigned v) {                                                \
        return standin::update<unsigned, unsigned>(p, [v](unsigned old) { return old >= v ? 0u : old + 1u; });         \
    }                                                                                                                  \
    static inline unsigned atomicDec##suffix(unsigned *p, unsigned v) {                                                \
        return standin::update<unsigned, unsigned>(p,                                                                  \
                                                   [v](unsigned old) { return old == 0u || old > v ? v : old - 1u; }); \
    }                                                                                                                  \
    static inline float atomicAdd##suffix(float *p, float v) {                                                         \
        return standin::update<float, unsigned>(p, [v](float old) { return old + v; });                                \
    }                                                                                                                  \
    static inline double atomicAdd##suffix(double *p, double v) {                                                      \
        return standin::update<double, unsigned long long>(p, [v](double old) { return old + v; });                    \
    }                                                                                                                  \
    static inline float atomicExch##suffix(float *p, float v) {                                                        \
        return standin::update<float, unsigned>(p, [v](float) { return v; });                                          \
    }
/* CUDA has only these for signed 64-bit integers: no atomicAdd. */
#define STANDIN_ATOMICS_OF_SIGNED_64(suffix)                                                                           \
    static inline long long atomicMin##suffix(long long *p, long long v) {                                             \
        return standin::update<long long, long long>(p, [v](long long old) { return v < old ? v : old; });             \
    }                                                                                                                  \
    static inline long long atomicMax##suffix(long long *p, long long v) {                                             \
        return standin::update<long long, long long>(p, [v](long long old) { return old < v ? v : old; });             \
    }
STANDIN_ATOMICS_EACH()
STANDIN_ATOMICS_EACH(_block)
STANDIN_ATOMICS_EACH(_system)
static inline unsigned short atomicCAS(unsigned short *p, unsigned short compare, unsigned short v) {
    __atomic_compare_exchange_n(p, &compare, v, false, STANDIN_ORDER, __ATOMIC_RELAXED);
    return compare;
}
#undef STANDIN_ATOMICS_OF
#undef STANDIN_ATOMICS_OF_SIGNED_64
#undef STANDIN_ATOMICS_EACH

/* ---- Loads and stores with a cache hint -------------------------------------------------------------------------- */

template <typename T> static inline T __ldg(const T *p) { return *p; }
template <typename T> static inline T __ldca(const T *p) { return *p; }
template <typename T> static inline T __ldcg(const T *p) { return *p; }
template <typename T> static inline T __ldcs(const T *p) { return *p; }
template <typename T> static inline T __ldlu(const T *p) { return *p; }
template <typename T> static inline T __ldcv(const T *p) { return *p; }
template <typename T> struct standin_same { typedef T type; };
template <typename T> static inline void __stwb(T *p, typename standin_same<T>::type v) { *p = v; }
template <typename T> static inline void __stcg(T *p, typename standin_same<T>::type v) { *p = v; }
template <typename T> static inline void __stcs(T *p, typename standin_same<T>::type v) { *p = v; }
template <typename T> static inline void __stwt(T *p, typename standin_same<T>::type v) { *p = v; }

/* ---- Arithmetic -------------------------------------------------------------------------------------------------- */

/* Keeps the compiler from contracting across an operation that CUDA promises to round by itself. */
#if defined(__x86_64__)
#define STANDIN_KEEP(x) __asm__("" : "+x"(x))
#elif defined(__aarch64__)
#define STANDIN_KEEP(x) __asm__("" : "+w"(x))
#else
#define STANDIN_KEEP(x) __asm__("" : "+m"(x))
#endif
#define STANDIN_ROUNDED(name, T, op)                                                                                   \
    static inline T name(T a, T b) {                                                                                   \
        STANDIN_KEEP(a);                                                                                               \
        STANDIN_KEEP(b);                                                                                               \
        T r = a op b;                                                                                                  \
        STANDIN_KEEP(r);                                                                                               \
        return r;                                                                                                      \
    }
STANDIN_ROUNDED(__fadd_rn, float, +)
STANDIN_ROUNDED(__fsub_rn, float, -)
STANDIN_ROUNDED(__fmul_rn, float, *)
STANDIN_ROUNDED(__fdiv_rn, float, /)
STANDIN_ROUNDED(__dadd_rn, double, +)
STANDIN_ROUNDED(__dsub_rn, double, -)
STANDIN_ROUNDED(__dmul_rn, double, *)
STANDIN_ROUNDED(__ddiv_rn, double, /)
#undef STANDIN_ROUNDED
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
static inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline double __drcp_rn(double a) { return 1.0 / a; }
static inline float __fdividef(float a, float b) { return a / b; }
/* glibc already declares functions with these names. */
#define __expf(a) expf(a)
#define __exp2f(a) exp2f(a)
#define __exp10f(a) exp10f(a)
#define __logf(a) logf(a)
#define __log2f(a) log2f(a)
#define __log10f(a) log10f(a)
#define __sinf(a) sinf(a)
#define __cosf(a) cosf(a)
#define __tanf(a) tanf(a)
#define __powf(a, b) powf(a, b)
#if !defined(__GLIBC__) || (__GLIBC__ == 2 && __GLIBC_MINOR__ < 42) /* later ones have them */
static inline float rsqrtf(float a) { return 1.0f / __builtin_sqrtf(a); }
static inline double rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }
#endif
static inline float rsqrt(float a) { return rsqrtf(a); }
static inline float __frsqrt_rn(float a) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a))); }

/* Functions that C has not. In long double, so that the result is off by little more than its own rounding, where CUDA
 * allows some units in the last place. */
static inline double rcbrt(double a) { return static_cast<double>(1 / cbrtl(a)); }
static inline double rhypot(double a, double b) { return static_cast<double>(1 / hypotl(a, b)); }
static inline double norm3d(double a, double b, double c) { return static_cast<double>(hypotl(hypotl(a, b), c)); }
static inline double norm4d(double a, double b, double c, double d) {
    return static_cast<double>(hypotl(hypotl(a, b), hypotl(c, d)));
}
#define STANDIN_PI 3.14159265358979323846264338327950288L
#if !defined(__GLIBC__) || (__GLIBC__ == 2 && __GLIBC_MINOR__ < 41) /* later ones have them */
/* remainder() is exact, and so are the differences. Of a whole number it is a zero, of infinity it is NaN. */
static inline double sinpi(double a) {
    const double r = remainder(a, 2.0), half = fabs(r) > 0.5 ? copysign(1 - fabs(r), r) : r;
    return a == trunc(a) ? a * 0 : static_cast<double>(sinl(STANDIN_PI * half));
}
static inline double cospi(double a) {
    return static_cast<double>(sinl(STANDIN_PI * (0.5L - fabs(remainder(a, 2.0)))));
}
static inline float sinpif(float a) { return static_cast<float>(sinpi(static_cast<double>(a))); }
static inline float cospif(float a) { return static_cast<float>(cospi(static_cast<double>(a))); }
#endif
static inline float sinpi(float a) { return sinpif(a); }
static inline float cospi(float a) { return cospif(a); }
static inline void sincospi(double a, double *s, double *c) { *s = sinpi(a), *c = cospi(a); }
static inline void sincospif(float a, float *s, float *c) { *s = sinpif(a), *c = cospif(a); }
static inline void sincospi(float a, float *s, float *c) { sincospif(a, s, c); }

/* exp(a^2) erfc(a), and where a factor leaves its range the asymptotic series: Abramowitz and Stegun 7.1.23 */
static inline double erfcx(double a) {
    const long double x = a;
    if (x < 25) return static_cast<double>(expl(x * x) * erfcl(x));
    long double term = 1, sum = 1;
    for (int k = 1; k < 12; k++) sum += term *= (1 - 2 * k) / (2 * x * x);
    return static_cast<double>(sum / (x * sqrtl(STANDIN_PI)));
}
static inline double normcdf(double a) { return static_cast<double>(erfcl(-a / sqrtl(2)) / 2); }

/* erf(x) = y for |y| <= 0.5: the first term of the series, then Newton's steps, each of which doubles the digits */
static inline long double standin_erf_inverse(long double y) {
    const long double slope = sqrtl(STANDIN_PI) / 2;
    long double x = y * slope;
    for (int i = 0; i < 6; i++) x -= (erfl(x) - y) * expl(x * x) * slope;
    return x;
}
/* erfc(x) = q for 0 <= q <= 0.5: Abramowitz and Stegun 26.2.23, good to three digits, then Newton's steps */
static inline long double standin_erfc_inverse(long double q) {
    if (q == 0) return HUGE_VALL;
    const long double t = sqrtl(-2 * logl(q / 2));
    long double x =
        t - (2.515517L + t * (0.802853L + t * 0.010328L)) / (1 + t * (1.432788L + t * (0.189269L + t * 0.001308L)));
    x /= sqrtl(2);
    for (int i = 0; i < 5; i++) x += (erfcl(x) - q) * expl(x * x) * (sqrtl(STANDIN_PI) / 2);
    return x;
}
/* Every difference here is exact. */
static inline long double standin_erfc_inverse_of_all(double q) {
    if (q < 0.5) return standin_erfc_inverse(q);
    return q > 1.5 ? -standin_erfc_inverse(2 - q) : standin_erf_inverse(1 - q);
}
static inline double erfcinv(double a) { return static_cast<double>(standin_erfc_inverse_of_all(a)); }
static inline double erfinv(double a) {
    if (fabs(a) <= 0.5) return static_cast<double>(standin_erf_inverse(a));
    return copysign(static_cast<double>(standin_erfc_inverse(1 - fabs(a))), a);
}
static inline double normcdfinv(double a) {
    return static_cast<double>(-sqrtl(2) * standin_erfc_inverse_of_all(2 * a));
}
#undef STANDIN_PI

#define STANDIN_FLOAT(name)                                                                                            \
    static inline float name##f(float a) { return static_cast<float>(name(static_cast<double>(a))); }                  \
    static inline float name(float a) { return name##f(a); }
STANDIN_FLOAT(rcbrt)
STANDIN_FLOAT(erfcx)
STANDIN_FLOAT(normcdf)
STANDIN_FLOAT(erfcinv)
STANDIN_FLOAT(erfinv)
STANDIN_FLOAT(normcdfinv)
#undef STANDIN_FLOAT
static inline float rhypotf(float a, float b) { return static_cast<float>(1 / hypot(double(a), double(b))); }
static inline float rhypot(float a, float b) { return rhypotf(a, b); }
static inline float norm3df(float a, float b, float c) {
    return static_cast<float>(norm3d(double(a), double(b), double(c)));
}
static inline float norm4df(float a, float b, float c, float d) {
    return static_cast<float>(norm4d(double(a), double(b), double(c), double(d)));
}
static inline float norm3d(float a, float b, float c) { return norm3df(a, b, c); }
static inline float norm4d(float a, float b, float c, float d) { return norm4df(a, b, c, d); }
static inline float __saturatef(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }

template <typename To, typename From> static inline To standin_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "sizes differ");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline int __float_as_int(float a) { return standin_bits<int>(a); }
static inline unsigned __float_as_uint(float a) { return standin_bits<unsigned>(a); }
static inline float __int_as_float(int a) { return standin_bits<float>(a); }
static inline float __uint_as_float(unsigned a) { return standin_bits<float>(a); }
static inline long long __double_as_longlong(double a) { return standin_bits<long long>(a); }
static inline double __longlong_as_double(long long a) { return standin_bits<double>(a); }
static inline int __double2hiint(double a) { return static_cast<int>(standin_bits<long long>(a) >> 32); }
static inline int __double2loint(double a) { return static_cast<int>(standin_bits<long long>(a) & 0xffffffffll); }
static inline double __hiloint2double(int hi, int lo) {
    return standin_bits<double>(static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32 |
                                static_cast<unsigned>(lo));
}

/* Float to integer saturates and sends NaN to 0 (to the smallest value in 64 bits), which a C++ cast leaves
 * undefined. */
template <typename T, typename F> static inline T standin_to_int(F rounded) {
    const T least = std::is_signed<T>::value ? static_cast<T>(1ull << (sizeof(T) * 8 - 1)) : T(0);
    const T most = static_cast<T>(~static_cast<unsigned long long>(least));
    const F top = static_cast<F>(std::is_signed<T>::value ? 2.0 : 4.0) * static_cast<F>(1ull << (sizeof(T) * 8 - 2));
    if (rounded != rounded) return sizeof(T) == 8 ? static_cast<T>(1ull << 63) : T(0);
    if (rounded >= top) return most;
    if (rounded < static_cast<F>(least)) return least;
    return static_cast<T>(rounded);
}
#define STANDIN_CONVERT(name, F, T)                                                                                    \
    static inline T name##_rn(F a) { return standin_to_int<T>(static_cast<F>(nearbyint(a))); }                         \
    static inline T name##_rz(F a) { return standin_to_int<T>(static_cast<F>(trunc(a))); }                             \
    static inline T name##_rd(F a) { return standin_to_int<T>(static_cast<F>(floor(a))); }                             \
    static inline T name##_ru(F a) { return standin_to_int<T>(static_cast<F>(ceil(a))); }
STANDIN_CONVERT(__float2int, float, int)
STANDIN_CONVERT(__float2uint, float, unsigned int)
STANDIN_CONVERT(__float2ll, float, long long)
STANDIN_CONVERT(__float2ull, float, unsigned long long)
STANDIN_CONVERT(__double2int, double, int)
STANDIN_CONVERT(__double2uint, double, unsigned int)
STANDIN_CONVERT(__double2ll, double, long long)
STANDIN_CONVERT(__double2ull, double, unsigned long long)
#undef STANDIN_CONVERT
static inline float __int2float_rn(int a) { return static_cast<float>(a); }
static inline float __uint2float_rn(unsigned a) { return static_cast<float>(a); }
static inline float __ll2float_rn(long long a) { return static_cast<float>(a); }
static inline float __ull2float_rn(unsigned long long a) { return static_cast<float>(a); }
static inline double __int2double_rn(int a) { return static_cast<double>(a); }
static inline double __uint2double_rn(unsigned a) { return static_cast<double>(a); }
static inline double __ll2double_rn(long long a) { return static_cast<double>(a); }
static inline double __ull2double_rn(unsigned long long a) { return static_cast<double>(a); }
static inline float __double2float_rn(double a) { return static_cast<float>(a); }

static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int k = 0; k < 32; k += 8) c += (a >> k & 255u) * (b >> k & 255u);
    return c;
}
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
static inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
static inline int __clz(int a) { return a ? __builtin_clz(static_cast<unsigned>(a)) : 32; }
static inline int __clzll(long long a) { return a ? __builtin_clzll(static_cast<unsigned long long>(a)) : 64; }
static inline int __ffs(int a) { return __builtin_ffs(a); }
static inline int __ffsll(long long a) { return __builtin_ffsll(a); }
static inline unsigned __brev(unsigned a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}
static inline unsigned long long __brevll(unsigned long long a) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(a))) << 32 |
           __brev(static_cast<unsigned>(a >> 32));
}
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = s >> (4 * i) & 15u;
        unsigned byte = static_cast<unsigned>(both >> (8 * (pick & 7u))) & 255u;
        if (pick & 8u) byte = byte & 128u ? 255u : 0u;
        r |= byte << (8 * i);
    }
    return r;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
    return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) << (n & 31u) >> 32);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
    return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (n & 31u));
}
static inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 standin_int128;
__extension__ typedef unsigned __int128 standin_uint128;
static inline long long __mul64hi(long long a, long long b) {
    return static_cast<long long>(static_cast<standin_int128>(a) * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<standin_uint128>(a) * b >> 64);
}
#endif
/* The low 24 bits of each, and the low 32 of the product */
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
static inline int __mul24(int a, int b) {
    const int x = static_cast<int>(static_cast<unsigned>(a) << 8) >> 8;
    const int y = static_cast<int>(static_cast<unsigned>(b) << 8) >> 8;
    return static_cast<int>(static_cast<unsigned>(x) * static_cast<unsigned>(y));
}
static inline unsigned __sad(int a, int b, unsigned c) {
    return c + (a > b ? static_cast<unsigned>(a) - static_cast<unsigned>(b)
                      : static_cast<unsigned>(b) - static_cast<unsigned>(a));
}

#define STANDIN_MIN_MAX(T)                                                                                             \
    static inline T min(T a, T b) { return b < a ? b : a; }                                                            \
    static inline T max(T a, T b) { return a < b ? b : a; }
STANDIN_MIN_MAX(int)
STANDIN_MIN_MAX(unsigned int)
STANDIN_MIN_MAX(long)
STANDIN_MIN_MAX(unsigned long)
STANDIN_MIN_MAX(long long)
STANDIN_MIN_MAX(unsigned long long)
#undef STANDIN_MIN_MAX
static inline unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
static inline unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
static inline long long llmin(long long a, long long b) { return min(a, b); }
static inline long long llmax(long long a, long long b) { return max(a, b); }
static inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
static inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
static inline unsigned int min(int a, unsigned int b) { return min(static_cast<unsigned int>(a), b); }
static inline unsigned int min(unsigned int a, int b) { return min(a, static_cast<unsigned int>(b)); }
static inline unsigned int max(int a, unsigned int b) { return max(static_cast<unsigned int>(a), b); }
static inline unsigned int max(unsigned int a, int b) { return max(a, static_cast<unsigned int>(b)); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(float a, double b) { return fmin(static_cast<double>(a), b); }
static inline double min(double a, float b) { return fmin(a, static_cast<double>(b)); }
static inline double max(float a, double b) { return fmax(static_cast<double>(a), b); }
static inline double max(double a, float b) { return fmax(a, static_cast<double>(b)); }

static inline long long clock64() { return standin_clock64(); }

static inline size_t __cvta_generic_to_shared(const void *p) { return reinterpret_cast<size_t>(p); }

#endif /* __cplusplus */

#endif /* STANDIN_CUDA_RUNTIME_H */
