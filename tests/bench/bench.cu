// SPDX-License-Identifier: MIT
//
// bench: gpulite beside cuBLAS, CUB and plain CUDA, on the same buffers, in one run.
//
//     nvcc -O3 -std=c++17 -arch=sm_90a -I. -o bench tests/bench/bench.cu gpulite_kernels.cu -lcublas -lcublasLt
//     ./bench --help
//
// How a case is timed. Each contender gets batches of back-to-back calls on one stream, interleaved with those of the
// others (ours, peer, peer, ours, ...; the order rotates), every batch between two CUDA events, at least 200 us long
// where calls are shorter than that. Calls below 100 us are preceded by a few uncounted ones, so that a batch starts in
// the steady state: what is reported is what a loop of calls costs, whether the GPU or the launching CPU is the slower.
// Longer calls start behind a waiting kernel that hides the first launch. The median over all batches is reported.
// The data is drawn anew, with another seed, three times a case. The last batch of each draw writes into an output
// that was filled with NaN, and that output is checked against a reference in double (exactly where results are exact).
// Buffers are reused from call to call, so operands smaller than the L2 cache stay in it, for all contenders alike.
//
// Peers get preallocated temporaries and int sizes. A peer whose result is wrong does not count.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_transform.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#define GPULITE_IMPLEMENTATION
#define GPULITE_ENGINES_ONLY
#include "gpulite_kernels.cu"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// ---------------------------------------------------------------------------------------------------------------------
// The machine: one stream, three big buffers, small ones, a cuBLAS handle
// ---------------------------------------------------------------------------------------------------------------------
static cudaStream_t stream;
static cublasHandle_t cublas;
static cublasLtHandle_t cublaslt;
static char *big_a, *big_b, *big_c; // operands and results
static size_t big_bytes;            // of each
static char *small_out;             // scalar results
static char *side;                  // references: counts, edges, vectors
static const size_t side_bytes = size_t(64) << 20;
static char *arena;        // temporaries of the peers, handed out anew for each case
static size_t arena_bytes; // CUB's histogram of 10^6 bins wants gigabytes
static size_t arena_used;
static void *blas_workspace;
static const size_t blas_workspace_bytes = size_t(64) << 20;
static unsigned long long *bad;                                // device counter of the checks
static double roof_read, roof_copy, roof_write, roof, nominal; // GB/s
static const unsigned warp_full = 0xffffffffu;

// What this thread's latest failing call said.
static std::string trouble;

static std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static std::string text(const char *format, ...) {
    char buffer[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    return buffer;
}

static bool ok(cudaError_t e) {
    if (e == cudaSuccess) return true;
    trouble = text("%s: %s", cudaGetErrorName(e), cudaGetErrorString(e));
    (void)cudaGetLastError();
    return false;
}
static bool ok(cublasStatus_t s) {
    if (s == CUBLAS_STATUS_SUCCESS) return true;
    trouble = cublasGetStatusString(s);
    (void)cudaGetLastError();
    return false;
}
static bool ours_ok(gpul_status s) {
    if (s == GPUL_OK) return true;
    trouble = text("%s: %s", gpul_status_name(s), gpul_last_error()->message);
    return false;
}
static bool launched() { return ok(cudaGetLastError()); }

[[noreturn]] static void die(const char *file, int line) {
    fprintf(stderr, "%s:%d: %s\n", file, line, trouble.c_str());
    exit(2);
}
// For what no case can go on without.
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if (!ok(call)) die(__FILE__, __LINE__);                                                                        \
    } while (0)

static void *take(size_t bytes) {
    const size_t aligned = (bytes + 255) / 256 * 256;
    if (arena_used + aligned > arena_bytes) return nullptr;
    void *p = arena + arena_used;
    arena_used += aligned;
    return p;
}

// ---------------------------------------------------------------------------------------------------------------------
// Types
// ---------------------------------------------------------------------------------------------------------------------
template <class T> struct type_of;
#define BENCH_TYPE(T, NAME, DTYPE, CUDATYPE, EPS)                                                                      \
    template <> struct type_of<T> {                                                                                    \
        static const char *name() { return NAME; }                                                                     \
        static const gpul_dtype dtype = DTYPE;                                                                         \
        static const cudaDataType_t cuda = CUDATYPE;                                                                   \
        static double eps() { return EPS; } /* unit roundoff */                                                        \
    }
BENCH_TYPE(float, "f32", GPUL_F32, CUDA_R_32F, 0x1p-24);
BENCH_TYPE(double, "f64", GPUL_F64, CUDA_R_64F, 0x1p-53);
BENCH_TYPE(int32_t, "i32", GPUL_I32, CUDA_R_32I, 0.0);
BENCH_TYPE(uint8_t, "u8", GPUL_U8, CUDA_R_8U, 0.0);
BENCH_TYPE(__half, "f16", GPUL_F16, CUDA_R_16F, 0x1p-11);
BENCH_TYPE(__nv_bfloat16, "bf16", GPUL_BF16, CUDA_R_16BF, 0x1p-8);

template <class T> __host__ __device__ inline T from_double(double v) { return static_cast<T>(v); }
template <> __host__ __device__ inline __half from_double<__half>(double v) {
    return __float2half(static_cast<float>(v));
}
template <> __host__ __device__ inline __nv_bfloat16 from_double<__nv_bfloat16>(double v) {
    return __float2bfloat16(static_cast<float>(v));
}
template <class T> __host__ __device__ inline double to_double(T v) { return static_cast<double>(v); }
template <> __host__ __device__ inline double to_double<__half>(__half v) {
    return static_cast<double>(__half2float(v));
}
template <> __host__ __device__ inline double to_double<__nv_bfloat16>(__nv_bfloat16 v) {
    return static_cast<double>(__bfloat162float(v));
}

static gpul_array wrap(const void *p, gpul_dtype dtype, gpul_shape shape) {
    gpul_array a = GPUL_ZERO;
    if (!ours_ok(gpul_wrap(&a, const_cast<void *>(p), dtype, shape))) die(__FILE__, __LINE__);
    return a;
}

// ---------------------------------------------------------------------------------------------------------------------
// Data: a counter-based generator, so that the GPU draws what the GPU reads
// ---------------------------------------------------------------------------------------------------------------------
enum { UNIFORM, NORMAL, CONSTANT, SORTED, EXPONENTIAL, ZIPF, FEW, DISTRIBUTIONS };
static const char *const dist_name[] = {"uniform", "normal", "constant", "sorted", "exponential", "zipf", "few"};

__host__ __device__ inline uint64_t hash(uint64_t seed, uint64_t i) {
    uint64_t z = (seed ^ 0x9e3779b97f4a7c15u) + i * 0xd1342543de82ef95u;
    z = (z ^ (z >> 32)) * 0xdaba0b6eb09322e3u;
    z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 32);
}
// uniform in [0, 1), 53 bits
__host__ __device__ inline double unit(uint64_t seed, uint64_t i) {
    return static_cast<double>(hash(seed, i) >> 11) * 0x1p-53;
}

__device__ inline int64_t grid_first() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64_t grid_step() { return int64_t(gridDim.x) * blockDim.x; }

// UNIFORM, SORTED: in [a, b); NORMAL: mean a, deviation b; CONSTANT: a; EXPONENTIAL: a + b x, x of mean 1;
// ZIPF: 65536 values scattered in [a, b), the r-th with a probability of about 1 / (r ln 65536);
// FEW: 2 to 8 values scattered in [a, b), equally probable
template <class T> __global__ void generate_kernel(T *p, int64_t n, int dist, uint64_t seed, double a, double b) {
    for (int64_t i = grid_first(); i < n; i += grid_step()) {
        double v = a;
        if (dist == UNIFORM) {
            v = a + (b - a) * unit(seed, uint64_t(i));
        } else if (dist == SORTED) {
            v = a + (b - a) * ((double(i) + unit(seed, uint64_t(i))) / double(n));
        } else if (dist == NORMAL) {
            const uint64_t h = hash(seed, uint64_t(i));
            const float u = (float(uint32_t(h >> 40)) + 0.5f) * 0x1p-24f, w = float(uint32_t(h) >> 8) * 0x1p-23f;
            v = a + b * double(sqrtf(-2.0f * logf(u)) * cospif(w));
        } else if (dist == EXPONENTIAL) {
            v = a - b * double(logf((float(hash(seed, uint64_t(i)) >> 40) + 0.5f) * 0x1p-24f));
        } else if (dist == ZIPF) {
            v = a + (b - a) * unit(seed, uint64_t(exp2f(16.0f * float(hash(seed, uint64_t(i)) >> 40) * 0x1p-24f)));
        } else if (dist == FEW) {
            v = a + (b - a) * unit(seed, hash(~seed, uint64_t(i)) % (2 + seed % 7));
        }
        if (sizeof(T) == 1) v = v < 0 ? 0 : v > 255 ? 255 : v;
        // rounding to a narrow type must not reach b
        T t = from_double<T>(v);
        if (dist != NORMAL && dist != CONSTANT && dist != EXPONENTIAL && !(to_double(t) < b))
            t = from_double<T>(a + (b - a) * (1.0 - (sizeof(T) == 2 ? 0x1p-9 : sizeof(T) == 4 ? 0x1p-22 : 0x1p-50)));
        p[i] = t;
    }
}
template <class T> static void generate(void *p, int64_t n, int dist, uint64_t seed, double a, double b) {
    const int64_t blocks = std::min<int64_t>((n + 255) / 256, 8192);
    generate_kernel<T><<<unsigned(blocks), 256, 0, stream>>>(static_cast<T *>(p), n, dist, seed, a, b);
    MUST(cudaGetLastError());
}

// Reads everything and writes nothing: the floor of what only reads.
__global__ void __launch_bounds__(512) read_kernel(unsigned *out, const uint4 *x, int64_t packs) {
    unsigned mix = 0;
    const int64_t chunk = int64_t(blockDim.x) * 8;
    for (int64_t base = int64_t(blockIdx.x) * chunk; base < packs; base += int64_t(gridDim.x) * chunk) {
        uint4 v[8];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const int64_t i = base + j * int64_t(blockDim.x) + threadIdx.x;
            v[j] = i < packs ? x[i] : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int j = 0; j < 8; j++) mix ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
    }
    // random data makes every word all but impossible; the compiler cannot know
    if (mix == 0x9e3779b9u) *out = mix;
}

// ---------------------------------------------------------------------------------------------------------------------
// Cases and contenders
// ---------------------------------------------------------------------------------------------------------------------
struct Contender {
    std::string name;
    std::function<bool()> call;           // enqueues; false: trouble says why
    std::function<std::string()> check;   // "" when the output is right
    double us = 0;                        // first estimate
    int calls = 1, lead = 0;              // counted and uncounted calls of a batch
    bool dead = false, only_told = false; // told, but not a peer
    bool slow = false;                    // no batches: the estimate says enough
    std::string note;
    std::vector<double> times; // us a call, one a batch
    double graph_us = 0;       // with --graph: the same calls from a captured graph

    double at(double q) const {
        if (times.empty()) return 0;
        std::vector<double> t = times;
        std::sort(t.begin(), t.end());
        const double x = q * double(t.size() - 1);
        const size_t i = size_t(x);
        return i + 1 < t.size() ? t[i] + (x - double(i)) * (t[i + 1] - t[i]) : t[i];
    }
};

struct Case {
    std::string family, name, dtype, shape;
    bool quick = false;
    std::function<bool(Case &)> build; // false: does not fit this GPU
    // filled by build
    double bytes = 0, flops = 0;
    int rounds = 3;
    bool host = false;                     // time the host's side of the calls
    bool brief = false;                    // one draw, checked once; one or two batches a round
    std::string kind;                      // of the random benchmark: the class of the layout
    double want_ratio = 0, want_share = 0; // what a good result is: peer's time / ours, share of nominal bandwidth
    double want_over_read = 0;             // and at most so many us above a mere read of the data
    std::function<void(uint64_t)> draw;    // new data and its reference
    void *out = nullptr;                   // filled with a byte before the calls that are checked
    size_t out_bytes = 0;
    int out_byte = 0xff;
    std::vector<Contender> who; // who[0] is gpulite

    std::string id() const { return family + ":" + name + " " + dtype + " " + shape; }
    void add(const std::string &n, std::function<bool()> call, std::function<std::string()> check) {
        Contender c;
        c.name = n;
        c.call = std::move(call);
        c.check = std::move(check);
        who.push_back(std::move(c));
    }
    // A CUB algorithm: f(temporary, bytes), asked once for its size.
    template <class F> void add_cub(const std::string &n, F f, std::function<std::string()> check) {
        size_t bytes_needed = 0;
        const bool known = ok(f(nullptr, bytes_needed));
        void *temporary = known ? take(std::max<size_t>(bytes_needed, 1)) : nullptr;
        add(
            n,
            [=]() {
                size_t b = bytes_needed;
                if (!temporary) {
                    trouble = "no temporary storage";
                    return false;
                }
                return ok(f(temporary, b));
            },
            std::move(check));
    }
};
static std::vector<Case> cases;

static Case &new_case(const char *family, const std::string &name, const std::string &dtype, const std::string &shape,
                      bool quick) {
    Case c;
    c.family = family;
    c.name = name;
    c.dtype = dtype;
    c.shape = shape;
    c.quick = quick;
    cases.push_back(c);
    return cases.back();
}

// ---------------------------------------------------------------------------------------------------------------------
// Timing
// ---------------------------------------------------------------------------------------------------------------------
static cudaEvent_t event_from, event_to;

// Keeps the stream busy for a while, so that the host gets ahead of it.
__global__ void wait_kernel(uint64_t ns) {
    uint64_t from, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - from < ns);
}

static double host_us() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// us a call of one batch; < 0: trouble
static double time_batch(Contender &c, bool host) {
    if (!ok(cudaStreamSynchronize(stream))) return -1;
    if (host) {
        for (int i = 0; i < 4; i++)
            if (!c.call()) return -1;
        if (!ok(cudaStreamSynchronize(stream))) return -1;
        const double from = host_us();
        for (int i = 0; i < c.calls; i++)
            if (!c.call()) return -1;
        const double us = (host_us() - from) / c.calls;
        return ok(cudaStreamSynchronize(stream)) ? us : -1;
    }
    if (c.lead == 0) {
        wait_kernel<<<1, 1, 0, stream>>>(30000);
        if (!launched()) return -1;
    }
    for (int i = 0; i < c.lead; i++)
        if (!c.call()) return -1;
    if (!ok(cudaEventRecord(event_from, stream))) return -1;
    for (int i = 0; i < c.calls; i++)
        if (!c.call()) return -1;
    float ms = 0;
    if (!ok(cudaEventRecord(event_to, stream)) || !ok(cudaEventSynchronize(event_to)) ||
        !ok(cudaEventElapsedTime(&ms, event_from, event_to)))
        return -1;
    return 1e3 * double(ms) / c.calls;
}

static void plan(Contender &c, bool host) {
    if (host) {
        c.calls = 200;
        return;
    }
    const double us = std::max(c.us, 0.5), batch = us < 20 ? 400 : 250;
    c.calls = us >= batch ? 1 : int(std::ceil(batch / us));
    c.lead = us >= 100 ? 0 : std::min(std::max(int(std::ceil(50 / us)), 2), 12);
}

static int batches_a_round(const Case &k, const Contender &c) {
    if (k.host) return 5;
    if (k.brief) return c.us < 1000 ? 2 : 1;
    return c.us < 1000 ? 4 : c.us < 4000 ? 3 : c.us < 12000 ? 2 : 1;
}

static void kill(Contender &c, const std::string &why) {
    c.dead = true;
    if (c.note.empty()) c.note = why;
}

// The same calls as a graph: the GPU's time without the CPU's launches.
static void time_graph(Case &k) {
    struct Replay {
        cudaGraphExec_t exec;
        int calls, replays;
        std::vector<double> us;
    };
    std::vector<Replay> replay(k.who.size(), Replay());
    for (size_t j = 0; j < k.who.size(); j++) {
        Contender &c = k.who[j];
        cudaGraph_t graph = nullptr;
        if (c.dead) continue;
        replay[j].calls = std::min(c.calls, 32);
        replay[j].replays = std::max(1, c.calls / replay[j].calls);
        if (!ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal))) continue;
        bool good = true;
        for (int i = 0; good && i < replay[j].calls; i++) good = c.call();
        good = ok(cudaStreamEndCapture(stream, &graph)) && good;
        if (!good || !ok(cudaGraphInstantiate(&replay[j].exec, graph, 0))) {
            replay[j].exec = nullptr;
            c.note += (c.note.empty() ? "graph: " : "; graph: ") + trouble;
        }
        if (graph) MUST(cudaGraphDestroy(graph));
    }
    for (int b = 0; b < 7; b++)
        for (Replay &r : replay) {
            if (!r.exec) continue;
            float ms = 0;
            bool good = ok(cudaGraphLaunch(r.exec, stream)) && ok(cudaEventRecord(event_from, stream));
            for (int i = 0; good && i < r.replays; i++) good = ok(cudaGraphLaunch(r.exec, stream));
            good = good && ok(cudaEventRecord(event_to, stream)) && ok(cudaEventSynchronize(event_to)) &&
                   ok(cudaEventElapsedTime(&ms, event_from, event_to));
            if (good) r.us.push_back(1e3 * double(ms) / (double(r.calls) * r.replays));
        }
    for (size_t j = 0; j < k.who.size(); j++) {
        if (!replay[j].exec) continue;
        MUST(cudaGraphExecDestroy(replay[j].exec));
        std::sort(replay[j].us.begin(), replay[j].us.end());
        if (!replay[j].us.empty()) k.who[j].graph_us = replay[j].us[replay[j].us.size() / 2];
    }
}

static int calls_made; // since `out` was filled

static void run_case(Case &k, uint64_t seed, bool graph) {
    for (int round = 0; round < k.rounds; round++) {
        if (k.draw && (round == 0 || !k.brief)) k.draw(hash(seed, uint64_t(round)));
        if (round == 0) {
            for (Contender &c : k.who) { // a first call, then an estimate
                if (c.dead) continue;
                c.calls = 1;
                c.lead = 1;
                double us = time_batch(c, false); // loads the kernel
                if (us >= 0) us = time_batch(c, false);
                if (us >= 0 && us < 2000) {
                    c.calls = us < 100 ? 8 : 2;
                    us = time_batch(c, false);
                }
                if (us < 0) kill(c, trouble);
                c.us = us;
                plan(c, k.host);
            }
            if (k.brief) { // a peer that takes three times another's time cannot be the best
                double least = 1e300;
                for (size_t j = 1; j < k.who.size(); j++)
                    if (!k.who[j].dead && !k.who[j].only_told) least = std::min(least, k.who[j].us);
                for (size_t j = 1; j < k.who.size(); j++) k.who[j].slow = k.who[j].us > 3 * least;
            }
        }
        int most = 0;
        for (const Contender &c : k.who)
            if (!c.dead && !c.slow) most = std::max(most, batches_a_round(k, c));
        for (int b = 0; b < most; b++)
            for (size_t j = 0; j < k.who.size(); j++) {
                Contender &c = k.who[(j + size_t(b) + size_t(round)) % k.who.size()];
                // slow contenders take part in the last batches only
                if (c.dead || c.slow || b < most - batches_a_round(k, c)) continue;
                const bool last = b == most - 1 && (!k.brief || round == k.rounds - 1);
                if (last && k.out) MUST(cudaMemsetAsync(k.out, k.out_byte, k.out_bytes, stream));
                calls_made = c.lead + c.calls;
                const double us = time_batch(c, k.host);
                if (us < 0) {
                    kill(c, trouble);
                    continue;
                }
                c.times.push_back(us);
                if (last && c.check) {
                    const std::string wrong = c.check();
                    if (!wrong.empty()) kill(c, wrong);
                }
            }
    }
    if (graph && !k.host && !k.who[0].dead && k.who[0].us < 60) time_graph(k);
}

// ---------------------------------------------------------------------------------------------------------------------
// Checks
// ---------------------------------------------------------------------------------------------------------------------
static void reset_bad() { MUST(cudaMemsetAsync(bad, 0, 2 * sizeof *bad, stream)); }
static void read_bad(unsigned long long values[2]) {
    MUST(cudaGetLastError());
    MUST(cudaMemcpyAsync(values, bad, 2 * sizeof *bad, cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(stream));
}
static std::string verdict(int64_t of) {
    unsigned long long v[2];
    read_bad(v);
    return v[0] == 0 ? "" : text("%llu of %lld elements are wrong", v[0], static_cast<long long>(of));
}
template <class T> static T read_out(const void *p) {
    T value;
    MUST(cudaMemcpyAsync(&value, p, sizeof value, cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(stream));
    return value;
}
static double read_number(const void *p, gpul_dtype dtype) {
    switch (dtype) {
    case GPUL_F32: return to_double(read_out<float>(p));
    case GPUL_F64: return read_out<double>(p);
    case GPUL_I32: return double(read_out<int32_t>(p));
    case GPUL_I64: return double(read_out<int64_t>(p));
    case GPUL_U8: return double(read_out<uint8_t>(p));
    default: return NAN;
    }
}
// NaN never passes.
static std::string near(double got, double wanted, double tolerance) {
    if (std::fabs(got - wanted) <= tolerance) return "";
    return text("%.17g instead of %.17g (allowed %.3g)", got, wanted, tolerance);
}

// Everything the reductions need, in one pass. Sums carry their rounding errors along.
struct Stats {
    double sum, sum_low, abs, abs_low, sq, sq_low, dot, dot_low, dot_abs, lo, hi;
    long long at; // first index of lo
};
__host__ __device__ inline void carry_add(double &s, double &low, double x) {
    const double t = s + x, b = t - s;
    low += (s - (t - b)) + (x - b);
    s = t;
}
__host__ __device__ inline void stats_merge(Stats &a, const Stats &b) {
    carry_add(a.sum, a.sum_low, b.sum);
    a.sum_low += b.sum_low;
    carry_add(a.abs, a.abs_low, b.abs);
    a.abs_low += b.abs_low;
    carry_add(a.sq, a.sq_low, b.sq);
    a.sq_low += b.sq_low;
    carry_add(a.dot, a.dot_low, b.dot);
    a.dot_low += b.dot_low;
    a.dot_abs += b.dot_abs;
    if (b.lo < a.lo || (b.lo == a.lo && b.at < a.at)) {
        a.lo = b.lo;
        a.at = b.at;
    }
    if (b.hi > a.hi) a.hi = b.hi;
}
// sq is about x[0]
template <class T> __global__ void stats_kernel(Stats *out, const T *x, const T *y, int64_t n) {
    __shared__ Stats block[256];
    Stats s = {0, 0, 0, 0, 0, 0, 0, 0, 0, INFINITY, -INFINITY, 0};
    const double first = to_double(x[0]);
    for (int64_t i = grid_first(); i < n; i += grid_step()) {
        const double v = to_double(x[i]);
        carry_add(s.sum, s.sum_low, v);
        carry_add(s.abs, s.abs_low, fabs(v));
        const double d = v - first;
        carry_add(s.sq, s.sq_low, d * d);
        if (y) {
            const double w = to_double(y[i]), p = v * w;
            carry_add(s.dot, s.dot_low, p);
            s.dot_low += fma(v, w, -p);
            s.dot_abs += fabs(p);
        }
        if (v < s.lo) {
            s.lo = v;
            s.at = i;
        }
        if (v > s.hi) s.hi = v;
    }
    block[threadIdx.x] = s;
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) stats_merge(block[threadIdx.x], block[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = block[0];
}
template <class T> static Stats stats_of(const T *x, const T *y, int64_t n) {
    const int blocks = 1056;
    std::vector<Stats> part(blocks);
    stats_kernel<T><<<blocks, 256, 0, stream>>>(reinterpret_cast<Stats *>(side), x, y, n);
    MUST(cudaGetLastError());
    MUST(cudaMemcpyAsync(part.data(), side, sizeof(Stats) * size_t(blocks), cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(stream));
    for (int i = 1; i < blocks; i++) stats_merge(part[0], part[size_t(i)]);
    return part[0];
}

// ---------------------------------------------------------------------------------------------------------------------
// Elementwise: vecadd, vecmul, copy, fill
// ---------------------------------------------------------------------------------------------------------------------
enum { VECADD, VECMUL, COPY, FILL };
static const char *const elementwise_name[] = {"vecadd", "vecmul", "copy", "fill"};
static const double fill_value = 1.5;

template <int OP, class T> struct Elementwise {
    __host__ __device__ T operator()(T a, T b) const {
        return OP == VECADD ? T(a + b) : OP == VECMUL ? T(a * b) : OP == COPY ? a : from_double<T>(fill_value);
    }
    __host__ __device__ T operator()(T a) const { return (*this)(a, a); }
};
template <class T> struct alignas(16) Pack { T v[16 / sizeof(T)]; };
template <int OP, class T> __global__ void plain_kernel(T *out, const T *a, const T *b, int64_t n) {
    const int64_t i = grid_first();
    if (i >= n) return;
    const T zero = from_double<T>(0.0);
    out[i] = Elementwise<OP, T>()(OP == FILL ? zero : a[i], OP <= VECMUL ? b[i] : zero);
}
template <int OP, class T>
__global__ void plain16_kernel(Pack<T> *out, const Pack<T> *a, const Pack<T> *b, int64_t packs) {
    const int64_t i = grid_first();
    if (i >= packs) return;
    Pack<T> p, q, r;
    if (OP != FILL) p = a[i];
    if (OP <= VECMUL) q = b[i];
    const T zero = from_double<T>(0.0);
#pragma unroll
    for (unsigned j = 0; j < 16 / sizeof(T); j++)
        r.v[j] = Elementwise<OP, T>()(OP == FILL ? zero : p.v[j], OP <= VECMUL ? q.v[j] : zero);
    out[i] = r;
}
template <class T> __device__ inline bool same_bits(T a, T b) {
    const unsigned char *p = reinterpret_cast<const unsigned char *>(&a);
    const unsigned char *q = reinterpret_cast<const unsigned char *>(&b);
    bool same = true;
    for (unsigned i = 0; i < sizeof(T); i++) same = same && p[i] == q[i];
    return same;
}
template <int OP, class T>
__global__ void check_elementwise_kernel(unsigned long long *count, const T *out, const T *a, const T *b, int64_t n) {
    unsigned long long wrong = 0;
    for (int64_t i = grid_first(); i < n; i += grid_step())
        if (!same_bits(out[i], Elementwise<OP, T>()(a[i], b[i]))) wrong++;
    if (wrong) atomicAdd(count, wrong);
}

// The driver's fills of elements of 2 and 4 bytes, which the runtime's cudaMemsetAsync, of bytes, has no name for.
template <class T> static bool set_elements(T *out, double value, int64_t n) {
    static_assert(sizeof(T) <= 4, "no such function");
    typedef int (*Set)(uint64_t, unsigned, size_t, cudaStream_t); // a CUresult, of a CUdeviceptr
    static Set set = nullptr;
    const T element = from_double<T>(value);
    unsigned bits = 0;
    memcpy(&bits, &element, sizeof element);
    if (sizeof(T) == 1) return ok(cudaMemsetAsync(out, int(bits), size_t(n), stream));
    if (!set) {
        const char *const name = sizeof(T) == 2 ? "cuMemsetD16Async" : "cuMemsetD32Async";
        void *found = nullptr;
        cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
        if (!ok(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result))) return false;
#else
        if (!ok(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result))) return false;
#endif
        if (!found) {
            trouble = text("the driver has no %s", name);
            return false;
        }
        set = reinterpret_cast<Set>(found);
    }
    const int status = set(uint64_t(reinterpret_cast<uintptr_t>(out)), bits, size_t(n), stream);
    if (status != 0) trouble = text("a fill by the driver returned %d", status);
    return status == 0;
}

template <int OP, class T> static void cub_elementwise(Case &k, int n, std::function<std::string()> check) {
    const T *a = reinterpret_cast<const T *>(big_a), *b = reinterpret_cast<const T *>(big_b);
    T *c = reinterpret_cast<T *>(big_c);
    k.add(
        "cub",
        [=]() {
            if constexpr (OP == COPY) return ok(cub::DeviceTransform::Transform(a, c, n, Elementwise<OP, T>(), stream));
            else
                return ok(
                    cub::DeviceTransform::Transform(cuda::std::make_tuple(a, b), c, n, Elementwise<OP, T>(), stream));
        },
        std::move(check));
}

template <int OP, class T> static bool build_elementwise(Case &k, int64_t n) {
    if (size_t(n) * sizeof(T) > big_bytes) return false;
    const T *a = reinterpret_cast<const T *>(big_a), *b = reinterpret_cast<const T *>(big_b);
    T *c = reinterpret_cast<T *>(big_c);
    const int operands = OP <= VECMUL ? 3 : OP == COPY ? 2 : 1;
    k.bytes = double(n) * double(sizeof(T)) * operands;
    k.flops = OP <= VECMUL ? double(n) : 0;
    k.want_ratio = 1.0;
    if (n >= int64_t(1) << 26) k.want_share = 0.92;
    k.out = c;
    k.out_bytes = size_t(n) * sizeof(T);
    k.draw = [=](uint64_t seed) {
        generate<T>(big_a, n, UNIFORM, seed, -2.0, 2.0);
        generate<T>(big_b, n, UNIFORM, ~seed, -2.0, 2.0);
    };
    const auto check = [=]() {
        reset_bad();
        check_elementwise_kernel<OP, T><<<4096, 256, 0, stream>>>(bad, c, a, b, n);
        return verdict(n);
    };
    const gpul_array x = wrap(a, type_of<T>::dtype, gpul_1d(n)), y = wrap(b, type_of<T>::dtype, gpul_1d(n));
    gpul_array z = wrap(c, type_of<T>::dtype, gpul_1d(n));
    k.add(
        "gpulite",
        [=]() mutable {
            return ours_ok(OP == VECADD   ? gpul_vecadd(&z, &x, &y, stream)
                           : OP == VECMUL ? gpul_vecmul(&z, &x, &y, stream)
                           : OP == COPY   ? gpul_copy(&z, &x, stream)
                                          : gpul_fill(&z, fill_value, stream));
        },
        check);
    if constexpr (OP != FILL) cub_elementwise<OP, T>(k, int(n), check);
    k.add(
        "plain",
        [=]() {
            plain_kernel<OP, T><<<unsigned((n + 255) / 256), 256, 0, stream>>>(c, a, b, n);
            return launched();
        },
        check);
    const int64_t packs = n / int64_t(16 / sizeof(T));
    k.add(
        "plain16",
        [=]() {
            plain16_kernel<OP, T><<<unsigned((packs + 255) / 256), 256, 0, stream>>>(
                reinterpret_cast<Pack<T> *>(c), reinterpret_cast<const Pack<T> *>(a),
                reinterpret_cast<const Pack<T> *>(b), packs);
            return launched();
        },
        check);
    if (OP == COPY)
        k.add(
            "memcpy",
            [=]() { return ok(cudaMemcpyAsync(c, a, size_t(n) * sizeof(T), cudaMemcpyDeviceToDevice, stream)); },
            check);
    if constexpr (OP == FILL && sizeof(T) <= 4)
        k.add(
            "memset", [=]() { return set_elements(c, fill_value, n); }, check);
    return true;
}

static bool quick_power(int p) { return p == 12 || p == 20 || p == 28; }

template <int OP, class T> static void elementwise_cases() {
    for (int p : {12, 16, 20, 24, 26, 28, 30})
        new_case("elementwise", elementwise_name[OP], type_of<T>::name(), text("2^%d", p), quick_power(p)).build =
            [=](Case &k) { return build_elementwise<OP, T>(k, int64_t(1) << p); };
}
template <int OP> static void elementwise_types() {
    elementwise_cases<OP, float>();
    elementwise_cases<OP, double>();
    elementwise_cases<OP, __half>();
}

// ---------------------------------------------------------------------------------------------------------------------
// Reductions over all elements
// ---------------------------------------------------------------------------------------------------------------------
static const int DOT = 100;

template <class T> struct Absolute {
    __host__ __device__ T operator()(T v) const { return v < T(0) ? T(-v) : v; }
};
struct Plus {
    template <class T> __host__ __device__ T operator()(const T &a, const T &b) const { return a + b; }
};
template <class A> struct Moments {
    A sum, sq;
    __host__ __device__ Moments operator+(const Moments &o) const {
        Moments m;
        m.sum = sum + o.sum;
        m.sq = sq + o.sq;
        return m;
    }
};
template <class T, class A> struct ToMoments {
    const T *first; // read on the device: the shift that keeps the subtraction harmless
    __host__ __device__ Moments<A> operator()(T v) const {
        Moments<A> m;
        m.sum = A(v) - A(*first);
        m.sq = m.sum * m.sum;
        return m;
    }
};
template <class T> struct ProductAt {
    const T *x, *y;
    __host__ __device__ T operator()(int i) const { return x[i] * y[i]; }
};

static cublasStatus_t blas_asum(int n, const float *x, float *r) { return cublasSasum(cublas, n, x, 1, r); }
static cublasStatus_t blas_asum(int n, const double *x, double *r) { return cublasDasum(cublas, n, x, 1, r); }
static cublasStatus_t blas_dot(int n, const float *x, const float *y, float *r) {
    return cublasSdot(cublas, n, x, 1, y, 1, r);
}
static cublasStatus_t blas_dot(int n, const double *x, const double *y, double *r) {
    return cublasDdot(cublas, n, x, 1, y, 1, r);
}

template <class T> static void reduce_peers(Case &k, int op, const T *x, const T *y, int n, const Stats *s) {
    const bool integer = type_of<T>::eps() == 0.0;
    T *out = reinterpret_cast<T *>(small_out);
    int64_t *out_at = reinterpret_cast<int64_t *>(small_out + 64);
    // f32 sums of CUB and cuBLAS are accumulated in f32, i32 sums in i32: judged as such
    const auto check_sum = [=](double S, double A) -> std::string {
        if (integer) {
            const int32_t got = read_out<int32_t>(out), wanted = int32_t(uint32_t(uint64_t(int64_t(S))));
            return got == wanted ? "" : text("%d instead of %d", got, wanted);
        }
        return near(read_number(out, type_of<T>::dtype), S, 1e3 * type_of<T>::eps() * A);
    };
    const auto sum_check = [=]() { return check_sum(s->sum + s->sum_low, s->abs); };
    const auto abs_check = [=]() { return check_sum(s->abs + s->abs_low, s->abs); };
    const auto dot_check = [=]() { return check_sum(s->dot + s->dot_low, s->dot_abs); };
    if (op == GPUL_SUM || op == GPUL_MEAN)
        k.add_cub(
            op == GPUL_SUM ? "cub" : "cub-sum",
            [=](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, x, out, n, stream); }, sum_check);
    if (op == GPUL_MIN)
        k.add_cub(
            "cub", [=](void *t, size_t &b) { return cub::DeviceReduce::Min(t, b, x, out, n, stream); },
            [=]() { return near(read_number(out, type_of<T>::dtype), s->lo, 0); });
    if (op == GPUL_MAX)
        k.add_cub(
            "cub", [=](void *t, size_t &b) { return cub::DeviceReduce::Max(t, b, x, out, n, stream); },
            [=]() { return near(read_number(out, type_of<T>::dtype), s->hi, 0); });
    if (op == GPUL_ARGMIN)
        k.add_cub(
            "cub",
            [=](void *t, size_t &b) { return cub::DeviceReduce::ArgMin(t, b, x, out, out_at, int64_t(n), stream); },
            [=]() { return near(double(read_out<int64_t>(out_at)), double(s->at), 0); });
    if (op == GPUL_ABS_SUM) {
        k.add_cub(
            "cub",
            [=](void *t, size_t &b) {
                return cub::DeviceReduce::TransformReduce(t, b, x, out, n, Plus(), Absolute<T>(), T(0), stream);
            },
            abs_check);
        if constexpr (!std::is_integral<T>::value)
            k.add(
                "cublas-asum", [=]() { return ok(blas_asum(n, x, out)); }, abs_check);
    }
    if (op == GPUL_VAR) {
        // both moments about x[0] in one pass
        typedef typename std::conditional<sizeof(T) == 4 && !std::is_integral<T>::value, float, double>::type A;
        Moments<A> zero;
        zero.sum = zero.sq = A(0);
        ToMoments<T, A> map;
        map.first = x;
        Moments<A> *m = reinterpret_cast<Moments<A> *>(small_out);
        k.add_cub(
            "cub-moments",
            [=](void *t, size_t &b) {
                return cub::DeviceReduce::TransformReduce(t, b, x, m, n, Plus(), map, zero, stream);
            },
            [=]() { return near(double(read_out<Moments<A>>(m).sq), s->sq, 1e-3 * s->sq); });
    }
    if constexpr (!std::is_integral<T>::value)
        if (op == DOT) {
            k.add(
                "cublas-dot", [=]() { return ok(blas_dot(n, x, y, out)); }, dot_check);
            ProductAt<T> map;
            map.x = x;
            map.y = y;
            k.add_cub(
                "cub",
                [=](void *t, size_t &b) {
                    return cub::DeviceReduce::TransformReduce(t, b, thrust::counting_iterator<int>(0), out, n, Plus(),
                                                              map, T(0), stream);
                },
                dot_check);
        }
}

// What gpulite promises, of a result of dtype `dtype`.
template <class T> static std::string judge_ours(const void *out, gpul_dtype dtype, int op, int64_t n, const Stats &s) {
    const double unit_roundoff = dtype == GPUL_F32 ? 0x1p-24 : dtype == GPUL_F64 ? 0x1p-53 : 0;
    const double slack = sizeof(T) == 8 ? 0x1p-46 : 0x1p-40;
    const double got = read_number(out, dtype), S = s.sum + s.sum_low;
    switch (op) {
    case GPUL_SUM: return near(got, S, unit_roundoff * 2 * std::fabs(S) + (unit_roundoff > 0 ? slack * s.abs : 0));
    case GPUL_ABS_SUM:
        return near(got, s.abs + s.abs_low, (2 * unit_roundoff + (unit_roundoff > 0 ? slack : 0)) * s.abs);
    case GPUL_MEAN:
        return near(got, S / double(n), 2 * unit_roundoff * std::fabs(S / double(n)) + slack * s.abs / double(n));
    case GPUL_MIN: return near(got, s.lo, 0);
    case GPUL_MAX: return near(got, s.hi, 0);
    case GPUL_ARGMIN: return near(got, double(s.at), 0);
    case DOT: return near(got, s.dot + s.dot_low, 2 * unit_roundoff * std::fabs(s.dot) + slack * s.dot_abs);
    default: return "no judge for this operation";
    }
}

// x and y: elements x_at and y_at of their buffers and those that follow.
template <class T> static bool build_reduce(Case &k, int op, int64_t n, int64_t x_at = 0, int64_t y_at = 0) {
    if (size_t(n + std::max(x_at, y_at)) * sizeof(T) > big_bytes) return false;
    const bool integer = type_of<T>::eps() == 0.0;
    const T *x = reinterpret_cast<const T *>(big_a) + x_at;
    const T *y = op == DOT ? reinterpret_cast<const T *>(big_b) + y_at : nullptr;
    k.bytes = double(n) * double(sizeof(T)) * (op == DOT ? 2 : 1);
    k.flops = double(n) * (op == DOT ? 2 : op == GPUL_VAR ? 3 : 1);
    k.want_ratio = n <= int64_t(1) << 20 ? 1.3 : n >= int64_t(1) << 24 ? 1.02 : 0;
    if (n >= int64_t(1) << 28) k.want_share = 0.93;
    k.out = small_out;
    k.out_bytes = 256;
    // the draw's statistics, shared by the checks; lives as long as the program
    Stats *s = new Stats();
    double *shift = new double(0);
    k.draw = [=](uint64_t seed) {
        const double width = integer ? 1e6 : 1.0;
        generate<T>(big_a, x_at + n, UNIFORM, seed, -width, width);
        if (y) generate<T>(big_b, y_at + n, UNIFORM, ~seed, -width, width);
        *s = stats_of<T>(x, y, n);
        *shift = to_double(read_out<T>(x));
    };
    const gpul_dtype dtype = op == DOT ? type_of<T>::dtype : gpul_reduce_dtype(op, type_of<T>::dtype);
    const gpul_array a = wrap(x, type_of<T>::dtype, gpul_1d(n));
    const gpul_array b = wrap(y ? y : x, type_of<T>::dtype, gpul_1d(n));
    gpul_array out = wrap(small_out, dtype, gpul_0d());
    k.add(
        "gpulite",
        [=]() mutable {
            return ours_ok(op == DOT ? gpul_dot(&out, &a, &b, stream)
                                     : gpul_reduce(&out, &a, op, GPUL_ALL_AXES, stream));
        },
        [=]() -> std::string {
            if (op != GPUL_VAR) return judge_ours<T>(small_out, dtype, op, n, *s);
            const double mean_shifted = (s->sum + s->sum_low) / double(n) - *shift;
            const double var = (s->sq + s->sq_low) / double(n) - mean_shifted * mean_shifted;
            return near(read_number(small_out, dtype), var, var * (dtype == GPUL_F32 ? 0x1p-22 : 1e-11));
        });
    reduce_peers<T>(k, op, x, y, int(n), s);
    return true;
}

template <class T> static void reduce_cases(int op, const char *name) {
    for (int p : {12, 16, 20, 24, 26, 28, 30})
        new_case("reduce", name, type_of<T>::name(), text("2^%d", p), quick_power(p)).build = [=](Case &k) {
            return build_reduce<T>(k, op, int64_t(1) << p);
        };
}

// ---------------------------------------------------------------------------------------------------------------------
// Functions of NumPy's, and operations of a user's own
// ---------------------------------------------------------------------------------------------------------------------
GPUL_ELEMENTWISE(own_axpy, float, fmaf(a, x, y), gpul_scalar<float>, a, float, x, float, y)
GPUL_REDUCE(own_norm, float, double, 0, double(x) * x, a + b, sqrt(a), float, x)

// what a case computes of X x and X y, and how near an element must come to `exact`, in roundings of R
template <class T> struct Exponential {
    typedef T X, R;
    enum { kInputs = 1, kUnits = 4 };
    static const char *name() { return "exp"; }
    __device__ R operator()(X x, X = X()) const { return exp(x); }
    __device__ static double exact(double x, double) { return exp(x); }
    static gpul_status call(gpul_array *z, const gpul_array *x, const gpul_array *) {
        return gpul_unary(z, GPUL_EXP, x, stream);
    }
};
template <class From, class To> struct Convert {
    typedef From X;
    typedef To R;
    enum { kInputs = 1, kUnits = 1 };
    static const char *name() { return sizeof(X) == 4 ? "f32-to-f16" : "f64-to-f32"; }
    __device__ R operator()(X x, X = X()) const { return from_double<R>(double(x)); }
    __device__ static double exact(double x, double) { return x; }
    static gpul_status call(gpul_array *z, const gpul_array *x, const gpul_array *) {
        return gpul_convert(z, x, stream);
    }
};
struct Axpy {
    typedef float X, R;
    enum { kInputs = 2, kUnits = 1 };
    static const char *name() { return "own-axpy"; }
    __device__ R operator()(X x, X y) const { return fmaf(0.7f, x, y); }
    __device__ static double exact(double x, double y) { return double(0.7f) * x + y; }
    static gpul_status call(gpul_array *z, const gpul_array *x, const gpul_array *y) {
        return own_axpy(z, 0.7f, x, y, stream);
    }
};
template <class F>
__global__ void plain_function_kernel(typename F::R *z, const typename F::X *x, const typename F::X *y, int64_t n) {
    const int64_t i = grid_first();
    if (i < n) z[i] = F()(x[i], F::kInputs > 1 ? y[i] : x[i]);
}
template <class F>
__global__ void check_function_kernel(unsigned long long *count, const typename F::R *z, const typename F::X *x,
                                      const typename F::X *y, int64_t n, double unit) {
    unsigned long long wrong = 0;
    for (int64_t i = grid_first(); i < n; i += grid_step()) {
        const double exact = F::exact(to_double(x[i]), to_double(y[i]));
        wrong += !(fabs(to_double(z[i]) - exact) <= F::kUnits * unit * fabs(exact) + 1e-7); // half's subnormals
    }
    if (wrong) atomicAdd(count, wrong);
}
template <class F> static bool build_function(Case &k, int64_t n) {
    typedef typename F::X X;
    typedef typename F::R R;
    const X *x = reinterpret_cast<const X *>(big_a), *y = reinterpret_cast<const X *>(big_b);
    R *z = reinterpret_cast<R *>(big_c);
    if (size_t(n) * sizeof(X) > big_bytes) return false;
    k.bytes = double(n) * double(F::kInputs * sizeof(X) + sizeof(R));
    k.want_ratio = 1.0;
    k.out = z;
    k.out_bytes = size_t(n) * sizeof(R);
    k.draw = [=](uint64_t seed) {
        generate<X>(big_a, n, UNIFORM, seed, -2.0, 2.0);
        generate<X>(big_b, n, UNIFORM, ~seed, -2.0, 2.0);
    };
    const auto check = [=]() {
        reset_bad();
        check_function_kernel<F><<<4096, 256, 0, stream>>>(bad, z, x, y, n, type_of<R>::eps());
        return verdict(n);
    };
    const gpul_array from = wrap(x, type_of<X>::dtype, gpul_1d(n)), other = wrap(y, type_of<X>::dtype, gpul_1d(n));
    gpul_array to = wrap(z, type_of<R>::dtype, gpul_1d(n));
    k.add(
        "gpulite", [=]() mutable { return ours_ok(F::call(&to, &from, &other)); }, check);
    k.add(
        "cub",
        [=]() {
            if constexpr (F::kInputs == 1) return ok(cub::DeviceTransform::Transform(x, z, int(n), F(), stream));
            else return ok(cub::DeviceTransform::Transform(cuda::std::make_tuple(x, y), z, int(n), F(), stream));
        },
        check);
    k.add(
        "plain",
        [=]() {
            plain_function_kernel<F><<<unsigned((n + 255) / 256), 256, 0, stream>>>(z, x, y, n);
            return launched();
        },
        check);
    return true;
}
struct Square {
    __device__ double operator()(float x) const { return double(x) * x; }
};
static bool build_own_norm(Case &k, int64_t n) {
    const float *x = reinterpret_cast<const float *>(big_a);
    float *norm = reinterpret_cast<float *>(small_out);
    double *sum = reinterpret_cast<double *>(small_out + 64);
    const auto exact = std::make_shared<double>(0.0);
    if (size_t(n) * sizeof(float) > big_bytes) return false;
    k.bytes = double(n) * sizeof(float);
    k.want_ratio = 1.0;
    k.out = small_out;
    k.out_bytes = 256;
    k.draw = [=](uint64_t seed) {
        generate<float>(big_a, n, UNIFORM, seed, -2.0, 2.0);
        const Stats s = stats_of<float>(x, x, n); // x's dot product with itself
        *exact = s.dot + s.dot_low;
    };
    const gpul_array from = wrap(x, GPUL_F32, gpul_1d(n));
    gpul_array to = wrap(norm, GPUL_F32, gpul_1d(1));
    k.add(
        "gpulite", [=]() mutable { return ours_ok(own_norm(&to, &from, GPUL_ALL_AXES, stream)); },
        [=]() { return near(read_number(norm, GPUL_F32), sqrt(*exact), 1e-7 * sqrt(*exact)); });
    k.add_cub(
        "cub",
        [=](void *t, size_t &b) {
            return cub::DeviceReduce::TransformReduce(t, b, x, sum, int(n), Plus(), Square(), 0.0, stream);
        },
        [=]() { return near(read_number(sum, GPUL_F64), *exact, 1e-9 * *exact); });
    return true;
}
template <class F> static void function_cases() {
    for (int p : {12, 20, 24, 28})
        new_case("functions", F::name(), type_of<typename F::X>::name(), text("2^%d", p), quick_power(p)).build =
            [=](Case &k) { return build_function<F>(k, int64_t(1) << p); };
}
static void own_norm_cases() {
    for (int p : {12, 20, 24, 28})
        new_case("functions", "own-norm", "f32", text("2^%d", p), quick_power(p)).build = [=](Case &k) {
            return build_own_norm(k, int64_t(1) << p);
        };
}

// ---------------------------------------------------------------------------------------------------------------------
// Reductions along an axis of a row-major matrix
// ---------------------------------------------------------------------------------------------------------------------
struct Times {
    int64_t by;
    __host__ __device__ int64_t operator()(int64_t i) const { return i * by; }
};

// One block an output: sum, sum of magnitudes and maximum in double, compared with what is there.
template <class T>
__global__ void check_axis_kernel(unsigned long long *count, const T *out, const T *x, int64_t outputs, int64_t length,
                                  int64_t out_stride, int64_t stride, int maximum, double tolerance) {
    __shared__ double sums[256], mags[256], tops[256];
    for (int64_t o = blockIdx.x; o < outputs; o += gridDim.x) {
        double sum = 0, mag = 0, top = -INFINITY;
        for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
            const double v = to_double(x[o * out_stride + i * stride]);
            sum += v;
            mag += fabs(v);
            if (v > top) top = v;
        }
        sums[threadIdx.x] = sum;
        mags[threadIdx.x] = mag;
        tops[threadIdx.x] = top;
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) {
                sums[threadIdx.x] += sums[threadIdx.x + half];
                mags[threadIdx.x] += mags[threadIdx.x + half];
                if (tops[threadIdx.x + half] > tops[threadIdx.x]) tops[threadIdx.x] = tops[threadIdx.x + half];
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            const double got = to_double(out[o]);
            const bool good = maximum ? got == tops[0] : fabs(got - sums[0]) <= tolerance * mags[0];
            if (!good) atomicAdd(count, 1ull);
        }
        __syncthreads();
    }
}

// The plain kernel for columns: neighbouring threads take neighbouring columns; rows are split over the y of block and
// grid, one partial result a grid row.
template <class T>
__global__ void plain_columns_kernel(T *partial, const T *x, int64_t rows, int64_t cols, int maximum) {
    __shared__ T tile[8][32];
    const int64_t c = int64_t(blockIdx.x) * 32 + threadIdx.x, step = int64_t(gridDim.y) * 8;
    const int64_t first = int64_t(blockIdx.y) * 8 + threadIdx.y;
    T a = maximum ? T(-INFINITY) : T(0);
    if (c < cols)
        for (int64_t r = first; r < rows; r += step) {
            const T v = x[r * cols + c];
            a = maximum ? (v > a ? v : a) : a + v;
        }
    tile[threadIdx.y][threadIdx.x] = a;
    __syncthreads();
    if (threadIdx.y == 0 && c < cols) {
        for (int j = 1; j < 8; j++) {
            const T v = tile[j][threadIdx.x];
            a = maximum ? (v > a ? v : a) : a + v;
        }
        partial[int64_t(blockIdx.y) * cols + c] = a;
    }
}

static cublasStatus_t blas_gemv(cublasOperation_t t, int m, int n, const float *A, int lda, const float *x, float *y) {
    const float one = 1, zero = 0;
    return cublasSgemv(cublas, t, m, n, &one, A, lda, x, 1, &zero, y, 1);
}
static cublasStatus_t blas_gemv(cublasOperation_t t, int m, int n, const double *A, int lda, const double *x,
                                double *y) {
    const double one = 1, zero = 0;
    return cublasDgemv(cublas, t, m, n, &one, A, lda, x, 1, &zero, y, 1);
}
// cuBLAS takes its scalars from the device for dot and asum, from the host for the rest.
static bool pointer_mode(cublasPointerMode_t mode) { return ok(cublasSetPointerMode(cublas, mode)); }

template <class T> static bool build_axis(Case &k, int op, int64_t rows, int64_t cols, int axis) {
    const size_t bytes = size_t(rows) * size_t(cols) * sizeof(T);
    const int64_t outputs = axis == 0 ? cols : rows, length = axis == 0 ? rows : cols;
    if (bytes > big_bytes) return false;
    const bool maximum = op == GPUL_MAX;
    const T *x = reinterpret_cast<const T *>(big_a);
    T *ones = reinterpret_cast<T *>(big_b), *out = reinterpret_cast<T *>(big_c);
    k.bytes = double(bytes) + double(outputs) * double(sizeof(T));
    k.flops = double(rows) * double(cols);
    k.want_ratio = 1.0;
    k.out = out;
    k.out_bytes = size_t(outputs) * sizeof(T);
    k.draw = [=](uint64_t seed) {
        generate<T>(big_a, rows * cols, UNIFORM, seed, -1.0, 1.0);
        generate<T>(big_b, length, CONSTANT, seed, 1.0, 0.0);
    };
    const auto check = [=](double tolerance) {
        return [=]() {
            const int64_t blocks = std::min<int64_t>(outputs, 1 << 18);
            reset_bad();
            check_axis_kernel<T><<<unsigned(blocks), length <= 128 ? 32 : 256, 0, stream>>>(
                bad, out, x, outputs, length, axis == 0 ? 1 : cols, axis == 0 ? cols : 1, maximum, tolerance);
            return verdict(outputs);
        };
    };
    const auto loose = check(1e3 * type_of<T>::eps());
    const gpul_array a = wrap(x, type_of<T>::dtype, gpul_2d(rows, cols));
    gpul_array y = wrap(out, type_of<T>::dtype, gpul_1d(outputs));
    k.add(
        "gpulite", [=]() mutable { return ours_ok(gpul_reduce(&y, &a, op, axis, stream)); },
        check(sizeof(T) == 8 ? 0x1p-46 : 0x1p-23));
    if (axis == 1) {
        Times times;
        times.by = cols;
        const auto begin = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), times);
        const auto end = begin + 1;
        if (maximum)
            k.add_cub(
                "cub-segmented",
                [=](void *t, size_t &b) {
                    return cub::DeviceSegmentedReduce::Max(t, b, x, out, rows, begin, end, stream);
                },
                loose);
        else
            k.add_cub(
                "cub-segmented",
                [=](void *t, size_t &b) {
                    return cub::DeviceSegmentedReduce::Sum(t, b, x, out, rows, begin, end, stream);
                },
                loose);
    } else {
        const int64_t across = (cols + 31) / 32,
                      split = std::max<int64_t>(1, std::min<int64_t>(rows / 64, 2048 / across));
        T *partial = split > 1 ? static_cast<T *>(take(size_t(split) * size_t(cols) * sizeof(T))) : out;
        k.add(
            "plain",
            [=]() {
                const dim3 block(32, 8);
                plain_columns_kernel<T>
                    <<<dim3(unsigned(across), unsigned(split)), block, 0, stream>>>(partial, x, rows, cols, maximum);
                if (split > 1)
                    plain_columns_kernel<T>
                        <<<dim3(unsigned(across)), block, 0, stream>>>(out, partial, split, cols, maximum);
                return launched();
            },
            loose);
    }
    if (!maximum) {
        const cublasOperation_t t = axis == 1 ? CUBLAS_OP_T : CUBLAS_OP_N;
        k.add(
            "cublas-gemv", [=]() { return ok(blas_gemv(t, int(cols), int(rows), x, int(cols), ones, out)); }, loose);
    }
    return true;
}

template <class T> static void axis_cases(int op, const char *name) {
    static const int64_t rows[] = {8, 64, 512, 4096, 32768, 262144, 2097152};
    for (int64_t r : rows)
        for (int axis = 0; axis < 2; axis++) {
            const int64_t c = (int64_t(1) << 24) / r;
            new_case("axis", name, type_of<T>::name(), text("%lldx%lld axis=%d", (long long)r, (long long)c, axis),
                     r == 8 || r == 4096 || r == 2097152)
                .build = [=](Case &k) { return build_axis<T>(k, op, r, c, axis); };
        }
}

// ---------------------------------------------------------------------------------------------------------------------
// Histogram
// ---------------------------------------------------------------------------------------------------------------------
// NumPy's rule: edge[i] <= x < edge[i+1], the last bin closed, the rest dropped.
template <class T, class E>
__global__ void count_kernel(unsigned *counts, const T *x, int64_t n, const E *edges, int bins, double lo,
                             double scale) {
    const int64_t rounds = (n + grid_step() - 1) / grid_step();
    for (int64_t r = 0; r < rounds; r++) {
        const int64_t i = r * grid_step() + grid_first();
        int bin = -1;
        if (i < n) {
            const E v = E(x[i]);
            if (v >= edges[0] && v <= edges[bins]) {
                bin = int((double(v) - lo) * scale);
                bin = bin < 0 ? 0 : bin > bins - 1 ? bins - 1 : bin;
                while (bin > 0 && v < edges[bin]) bin--;
                while (bin < bins - 1 && v >= edges[bin + 1]) bin++;
            }
        }
        // one atomic for all lanes of a warp that met the same bin
        const unsigned same = __match_any_sync(warp_full, bin);
        if (bin >= 0 && (same & ((1u << (threadIdx.x & 31)) - 1)) == 0) atomicAdd(counts + bin, unsigned(__popc(same)));
    }
}
__global__ void check_counts_kernel(unsigned long long *count, const int *got, const unsigned *wanted, int bins) {
    unsigned long long off = 0, wrong = 0;
    for (int64_t i = grid_first(); i < bins; i += grid_step()) {
        const long long d = (long long)got[i] - (long long)wanted[i];
        off += (unsigned long long)(d < 0 ? -d : d);
        wrong += d != 0;
    }
    if (wrong) atomicAdd(count, wrong);
    if (off) atomicAdd(count + 1, off);
}

template <class T> static bool build_histogram(Case &k, int dist, int64_t n, int bins) {
    typedef typename std::conditional<std::is_same<T, float>::value, float, double>::type E;
    typedef typename std::conditional<std::is_integral<T>::value, int, T>::type L; // CUB's levels
    if (size_t(n) * sizeof(T) > big_bytes) return false;
    const bool byte = sizeof(T) == 1, integer = std::is_integral<T>::value;
    const double lo = integer || dist != NORMAL ? 0.0 : -4.0, hi = byte      ? 256.0
                                                                   : integer ? 1048576.0
                                                                   : lo == 0 ? 1.0
                                                                             : 4.0;
    const double middle = (lo + hi) / 2, spread = (hi - lo) / 8;
    const T *x = reinterpret_cast<const T *>(big_a);
    int *counts = reinterpret_cast<int *>(big_c);
    unsigned *wanted = reinterpret_cast<unsigned *>(side);
    E *edges = reinterpret_cast<E *>(side + side_bytes / 2);
    k.bytes = double(n) * double(sizeof(T)) + 4.0 * bins;
    k.rounds = n > 10000000 ? 2 : 3;
    k.want_ratio = bins <= 256 ? 1.05 : bins <= 32768 ? 5 : 4;
    if (n == int64_t(1) << 28 && bins <= 32768 && std::is_same<T, float>::value) k.want_share = 0.85;
    k.out = counts;
    k.out_bytes = sizeof(int) * size_t(bins);

    // numpy.linspace: in double, product and sum rounded apart, then to the type of the edges
    std::vector<double> exact(size_t(bins) + 1);
    std::vector<E> rounded(size_t(bins) + 1);
    const double step = (hi - lo) / bins;
    for (int i = 0; i <= bins; i++) {
        volatile double product = i * step;
        exact[size_t(i)] = i == bins ? hi : product + lo;
        rounded[size_t(i)] = E(exact[size_t(i)]);
    }
    std::string edges_wrong;
    std::vector<double> theirs(size_t(bins) + 1);
    if (!ours_ok(gpul_histogram_edges(theirs.data(), bins, type_of<T>::dtype, lo, hi))) edges_wrong = trouble;
    else
        for (size_t i = 0; i <= size_t(bins); i++)
            if (theirs[i] != double(rounded[i]))
                edges_wrong = text("edge %zu is %.17g instead of %.17g", i, theirs[i], double(rounded[i]));

    k.draw = [=](uint64_t seed) {
        MUST(cudaMemcpyAsync(edges, rounded.data(), rounded.size() * sizeof(E), cudaMemcpyHostToDevice, stream));
        if (dist == NORMAL) {
            generate<T>(big_a, n, NORMAL, seed, middle, spread); // the ends lie 4 deviations away
        } else if (dist == CONSTANT) {
            generate<T>(big_a, n, CONSTANT, seed, std::floor(hi) == 1.0 ? 0.3 : std::floor(hi * 0.3), 0.0);
        } else {
            generate<T>(big_a, n, dist, seed, lo, hi);
        }
        MUST(cudaMemsetAsync(wanted, 0, sizeof(unsigned) * size_t(bins), stream));
        count_kernel<T, E><<<2112, 512, 0, stream>>>(wanted, x, n, edges, bins, lo, bins / (hi - lo));
        MUST(cudaGetLastError());
    };
    const auto count_off = [=](unsigned long long v[2]) {
        reset_bad();
        check_counts_kernel<<<256, 256, 0, stream>>>(bad, counts, wanted, bins);
        read_bad(v);
    };
    const auto exact_counts = [=]() -> std::string {
        unsigned long long v[2];
        count_off(v);
        return v[0] == 0 ? "" : text("%llu of %d bins are wrong, by %llu samples", v[0], bins, v[1]);
    };
    const gpul_array a = wrap(x, type_of<T>::dtype, gpul_1d(n));
    gpul_array c = wrap(counts, GPUL_I32, gpul_1d(bins));
    k.add(
        "gpulite", [=]() mutable { return ours_ok(gpul_histogram(&c, &a, lo, hi, stream)); },
        [=]() { return edges_wrong.empty() ? exact_counts() : edges_wrong; });
    k.add_cub(
        "cub",
        [=](void *t, size_t &b) {
            return cub::DeviceHistogram::HistogramEven(t, b, x, counts, bins + 1, L(lo), L(hi), int(n), stream);
        },
        [=]() -> std::string { // CUB bins without looking at the edges: samples next to one may fall on the other side
            unsigned long long v[2];
            count_off(v);
            return v[1] <= (unsigned long long)(n / 20) ? "" : text("%llu samples in another bin", v[1]);
        });
    if (bins > 65536) // the program that somebody would write, which finds the same bins as NumPy
        k.add(
            "plain",
            [=]() {
                if (cudaMemsetAsync(counts, 0, sizeof(int) * size_t(bins), stream) != cudaSuccess) return false;
                count_kernel<T, E><<<2112, 512, 0, stream>>>(reinterpret_cast<unsigned *>(counts), x, n, edges, bins,
                                                             lo, bins / (hi - lo));
                return launched();
            },
            exact_counts);
    int sms = 0, device = 0;
    MUST(cudaGetDevice(&device));
    MUST(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    const int64_t packs = n * int64_t(sizeof(T)) / 16;
    const int64_t blocks = std::min<int64_t>((packs + 4095) / 4096, 4 * sms);
    k.add(
        "read",
        [=]() {
            read_kernel<<<unsigned(blocks), 512, 0, stream>>>(reinterpret_cast<unsigned *>(small_out),
                                                              reinterpret_cast<const uint4 *>(big_a), packs);
            return launched();
        },
        nullptr);
    k.who.back().only_told = true;
    if (n == 1000000) k.want_over_read = 2.0;
    return true;
}

template <class T> static void histogram_cases() {
    for (int64_t n : {int64_t(1000000), int64_t(1) << 28})
        for (int dist = UNIFORM; dist <= SORTED; dist++)
            for (int bins : {16, 150, 256, 512, 4096, 32768, 65536, 1000000}) {
                if (sizeof(T) == 1 && bins > 256) continue;
                const bool quick =
                    dist <= CONSTANT && (bins == 256 || bins == 4096 || bins == 65536) && std::is_same<T, float>::value;
                new_case("histogram", "histogram", type_of<T>::name(),
                         text("%s n=%s bins=%d", dist_name[dist], n == 1000000 ? "10^6" : "2^28", bins), quick)
                    .build = [=](Case &k) { return build_histogram<T>(k, dist, n, bins); };
            }
}

// ---------------------------------------------------------------------------------------------------------------------
// gemv
// ---------------------------------------------------------------------------------------------------------------------
// One warp a row: |y - A x| <= bound * |A| |x|.
template <class T>
__global__ void check_gemv_kernel(unsigned long long *count, const T *y, const T *A, const T *x, int64_t rows,
                                  int64_t cols, int64_t row_stride, int64_t col_stride, double bound) {
    const int64_t warps = grid_step() / 32;
    for (int64_t r = grid_first() / 32; r < rows; r += warps) {
        double sum = 0, mag = 0;
        for (int64_t c = threadIdx.x & 31; c < cols; c += 32) {
            const double p = to_double(A[r * row_stride + c * col_stride]) * to_double(x[c]);
            sum += p;
            mag += fabs(p);
        }
        for (int o = 16; o > 0; o /= 2) {
            sum += __shfl_xor_sync(warp_full, sum, o);
            mag += __shfl_xor_sync(warp_full, mag, o);
        }
        if ((threadIdx.x & 31) == 0 && !(fabs(to_double(y[r]) - sum) <= bound * mag)) atomicAdd(count, 1ull);
    }
}

// So many products, from matrix to matrix so many elements of A, B and C
struct Stack {
    int count = 1;
    int64_t a = 0, b = 0, c = 0;
};
static cublasStatus_t blas_gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void *A, int lda,
                                const void *B, int ldb, void *C, int ldc, cudaDataType_t type, cublasComputeType_t how,
                                double beta = 0, const Stack &stack = {}) {
    const float onef = 1, betaf = float(beta);
    const double oned = 1;
    const bool wide = type == CUDA_R_64F;
    const void *const one = wide ? static_cast<const void *>(&oned) : &onef, *const rest =
                                                                                 wide ? static_cast<const void *>(&beta)
                                                                                      : &betaf;
    if (stack.count == 1)
        return cublasGemmEx(cublas, ta, tb, m, n, k, one, A, type, lda, B, type, ldb, rest, C, type, ldc, how,
                            CUBLAS_GEMM_DEFAULT);
    return cublasGemmStridedBatchedEx(cublas, ta, tb, m, n, k, one, A, type, lda, stack.a, B, type, ldb, stack.b, rest,
                                      C, type, ldc, stack.c, stack.count, how, CUBLAS_GEMM_DEFAULT);
}

template <class T> static bool build_gemv(Case &k, int64_t rows, int64_t cols, bool row_major) {
    const size_t bytes = size_t(rows) * size_t(cols) * sizeof(T);
    if (bytes > big_bytes) return false;
    const T *A = reinterpret_cast<const T *>(big_a), *x = reinterpret_cast<const T *>(big_b);
    T *y = reinterpret_cast<T *>(big_c);
    const bool skinny = rows * cols <= 1000000 || rows <= 64 || cols <= 64;
    k.bytes = double(bytes) + double(rows + cols) * double(sizeof(T));
    k.flops = 2.0 * double(rows) * double(cols);
    k.want_ratio = skinny ? 1.5 : 1.0;
    if (bytes >= size_t(256) << 20) k.want_share = 0.90;
    k.out = y;
    k.out_bytes = size_t(rows) * sizeof(T);
    k.draw = [=](uint64_t seed) {
        generate<T>(big_a, rows * cols, UNIFORM, seed, -1.0, 1.0);
        generate<T>(big_b, cols, UNIFORM, ~seed, -1.0, 1.0);
    };
    const auto check = [=]() {
        reset_bad();
        check_gemv_kernel<T><<<8448, 256, 0, stream>>>(bad, y, A, x, rows, cols, row_major ? cols : 1,
                                                       row_major ? 1 : rows, double(cols + 2) * type_of<T>::eps());
        return verdict(rows);
    };
    const gpul_array a = wrap(A, type_of<T>::dtype, row_major ? gpul_2d(rows, cols) : gpul_2d_f(rows, cols));
    const gpul_array v = wrap(x, type_of<T>::dtype, gpul_1d(cols));
    gpul_array out = wrap(y, type_of<T>::dtype, gpul_1d(rows));
    k.add(
        "gpulite", [=]() mutable { return ours_ok(gpul_gemv(&out, 1.0, &a, &v, 0.0, stream)); }, check);
    const int m = int(rows), n = int(cols), lda = row_major ? n : m;
    const cublasOperation_t t = row_major ? CUBLAS_OP_T : CUBLAS_OP_N, other = row_major ? CUBLAS_OP_N : CUBLAS_OP_T;
    const cublasComputeType_t how = sizeof(T) == 8 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    k.add(
        "cublas-gemv",
        [=]() { return ok(row_major ? blas_gemv(t, n, m, A, lda, x, y) : blas_gemv(t, m, n, A, lda, x, y)); }, check);
    // y as a column (A x), and y as a row (x^T A^T)
    k.add(
        "cublas-gemm-n1",
        [=]() { return ok(blas_gemm(t, CUBLAS_OP_N, m, 1, n, A, lda, x, n, y, m, type_of<T>::cuda, how)); }, check);
    k.add(
        "cublas-gemm-m1",
        [=]() { return ok(blas_gemm(CUBLAS_OP_N, other, 1, m, n, x, 1, A, lda, y, 1, type_of<T>::cuda, how)); }, check);
    return true;
}

template <class T> static void gemv_cases() {
    static const int64_t shapes[][2] = {{16384, 16384}, {8192, 8192},  {4096, 4096}, {1000, 1000}, {256, 256},
                                        {1048576, 64},  {64, 1048576}, {4194304, 8}, {8, 4194304}};
    for (const auto &s : shapes)
        for (int row_major = 1; row_major >= 0; row_major--) {
            const int64_t rows = s[0], cols = s[1];
            new_case("gemv", row_major ? "gemv-row" : "gemv-col", type_of<T>::name(),
                     text("%lldx%lld", (long long)rows, (long long)cols), rows == cols || rows == 1048576)
                .build = [=](Case &k) { return build_gemv<T>(k, rows, cols, row_major != 0); };
        }
}

// ---------------------------------------------------------------------------------------------------------------------
// matmul, row-major
// ---------------------------------------------------------------------------------------------------------------------
// Where element (i, j) of matrix b of a stack lies
struct Strides {
    int64_t row, col, matrix = 0;
    __host__ __device__ int64_t operator()(int64_t b, int64_t i, int64_t j) const {
        return b * matrix + i * row + j * col;
    }
};

// What a product ends with: a bias for each column, `step` elements apart, and GPUL_ACTIVATION_*
template <class T> struct Epilogue {
    const T *bias = nullptr;
    int64_t step = 0;
    int32_t activation = GPUL_ACTIVATION_NONE;
    __host__ __device__ double bias_of(int64_t j) const { return bias ? to_double(bias[j * step]) : 0; }
    __host__ __device__ double activate(double x) const {
        if (activation == GPUL_ACTIVATION_RELU) return x > 0 ? x : 0;
        if (activation == GPUL_ACTIVATION_GELU)
            return x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) / 2;
        return x;
    }
};

// One warp a sample of C; and no NaN anywhere. C is `times` A B and bias, and `rest` that was left of what was there before
// so many calls, each of which rounded; then the activation.
template <class T>
__global__ void check_gemm_kernel(unsigned long long *count, const T *C, const T *A, const T *B, Strides cs, Strides as,
                                  Strides bs, int64_t m, int64_t n, int64_t kk, int64_t samples, uint64_t seed,
                                  double bound, double last, double tiny, double times = 1, double rest = 0,
                                  int calls = 1, int64_t batch = 1, Epilogue<T> epilogue = {}) {
    const int64_t warps = grid_step() / 32;
    for (int64_t s = grid_first() / 32; s < samples; s += warps) {
        const int64_t b = int64_t(unit(~seed, uint64_t(s)) * double(batch)),
                      i = int64_t(unit(seed, uint64_t(2 * s)) * double(m)),
                      j = int64_t(unit(seed, uint64_t(2 * s + 1)) * double(n));
        double sum = 0, mag = 0;
        for (int64_t l = threadIdx.x & 31; l < kk; l += 32) {
            const double p = to_double(A[as(b, i, l)]) * to_double(B[bs(b, l, j)]);
            sum += p;
            mag += fabs(p);
        }
        for (int o = 16; o > 0; o /= 2) {
            sum += __shfl_xor_sync(warp_full, sum, o);
            mag += __shfl_xor_sync(warp_full, mag, o);
        }
        const double bias = epilogue.bias_of(j), before = calls * fabs(rest),
                     most = times * (fabs(sum) + fabs(bias)) + before; // peers may round before they add the bias
        sum += bias;
        mag += fabs(bias);
        if ((threadIdx.x & 31) == 0 && !(fabs(to_double(C[cs(b, i, j)]) - epilogue.activate(times * sum + rest)) <=
                                         bound * (times * mag + before) + last * most + tiny))
            atomicAdd(count, 1ull);
    }
    unsigned long long nan = 0;
    for (int64_t i = grid_first(); i < batch * m * n; i += grid_step()) {
        const double v = to_double(C[cs(i / n / m, i / n % m, i % n)]);
        nan += v != v;
    }
    if (nan) atomicAdd(count, nan);
}

// Of cublasLt's first eight suggestions, the fastest on this data.
struct LtPlan {
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    std::vector<cublasLtMatmulHeuristicResult_t> found;
    size_t best = 0;
    bool wide = false, chosen = false;
    double beta = 0;
    Stack stack;
    const void *bias = nullptr; // of rows, dense
    int32_t activation = GPUL_ACTIVATION_NONE;

    // column-major m x k by k x n; A, B and C for their alignment
    bool make(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void *A, int lda, const void *B,
              int ldb, const void *C, int ldc, cudaDataType_t type, cublasComputeType_t how) {
        cublasLtMatmulPreference_t preference = nullptr;
        wide = type == CUDA_R_64F;
        const bool na = ta == CUBLAS_OP_N, nb = tb == CUBLAS_OP_N;
        const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const void *p) {
            const uintptr_t address = reinterpret_cast<uintptr_t>(p);
            uint32_t bytes = 256; // what is assumed where nothing is said
            while (address % bytes) bytes /= 2;
            return ok(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &bytes, sizeof bytes));
        };
        bool good = ok(cublasLtMatmulDescCreate(&desc, how, wide ? CUDA_R_64F : CUDA_R_32F)) &&
                    ok(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta)) &&
                    ok(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb)) &&
                    ok(cublasLtMatrixLayoutCreate(&a, type, uint64_t(na ? m : k), uint64_t(na ? k : m), lda)) &&
                    ok(cublasLtMatrixLayoutCreate(&b, type, uint64_t(nb ? k : n), uint64_t(nb ? n : k), ldb)) &&
                    ok(cublasLtMatrixLayoutCreate(&c, type, uint64_t(m), uint64_t(n), ldc)) &&
                    ok(cublasLtMatmulPreferenceCreate(&preference));
        const auto stacked = [&](cublasLtMatrixLayout_t x, int64_t step) {
            return ok(cublasLtMatrixLayoutSetAttribute(x, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &stack.count,
                                                       sizeof stack.count)) &&
                   ok(cublasLtMatrixLayoutSetAttribute(x, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                                                       sizeof step));
        };
        if (good && stack.count > 1) good = stacked(a, stack.a) && stacked(b, stack.b) && stacked(c, stack.c);
        static const cublasLtEpilogue_t epilogues[2][3] = {
            {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_GELU},
            {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS}};
        if (good && (bias || activation)) {
            const cublasLtEpilogue_t epilogue = epilogues[bias != nullptr][activation];
            good =
                ok(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue)) &&
                (!bias ||
                 ok(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias)));
        }
        if (good)
            good = ok(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                           &blas_workspace_bytes, sizeof blas_workspace_bytes)) &&
                   set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, A) &&
                   set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, B) &&
                   set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, C) &&
                   set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, C);
        int count = 0;
        found.resize(8);
        if (good)
            good = ok(cublasLtMatmulAlgoGetHeuristic(cublaslt, desc, a, b, c, c, preference, 8, found.data(), &count));
        found.resize(size_t(good ? count : 0));
        if (preference) (void)cublasLtMatmulPreferenceDestroy(preference);
        return good && count > 0;
    }
    ~LtPlan() {
        if (desc) (void)cublasLtMatmulDescDestroy(desc);
        if (a) (void)cublasLtMatrixLayoutDestroy(a);
        if (b) (void)cublasLtMatrixLayoutDestroy(b);
        if (c) (void)cublasLtMatrixLayoutDestroy(c);
    }
    bool call(const void *A, const void *B, void *C, size_t which) {
        const float onef = 1, betaf = float(beta);
        const double oned = 1;
        return ok(cublasLtMatmul(cublaslt, desc, wide ? static_cast<const void *>(&oned) : &onef, A, a, B, b,
                                 wide ? static_cast<const void *>(&beta) : &betaf, C, c, C, c, &found[which].algo,
                                 blas_workspace, blas_workspace_bytes, stream));
    }
    void choose(const void *A, const void *B, void *C) {
        double least = 1e300;
        for (size_t i = 0; i < found.size(); i++) {
            Contender trial;
            trial.call = [=]() { return call(A, B, C, i); };
            trial.lead = 1;
            double us = time_batch(trial, false);
            if (us >= 0 && us < 200) {
                trial.calls = 10;
                us = time_batch(trial, false);
            }
            if (us >= 0 && us < least) {
                least = us;
                best = i;
            }
        }
        chosen = true;
    }
};
static std::vector<LtPlan *> lt_plans;

// math: a mode of gpul_gemm_ex, for floats. Emulated ones are held to the bound of IEEE's and against cuBLAS's SGEMM.
template <class T> static bool build_gemm(Case &k, int64_t m, int64_t n, int64_t kk, int32_t math = GPUL_MATH_IEEE) {
    if (size_t(std::max({m * kk, kk * n, m * n})) * sizeof(T) > big_bytes) return false;
    const T *A = reinterpret_cast<const T *>(big_a), *B = reinterpret_cast<const T *>(big_b);
    T *C = reinterpret_cast<T *>(big_c);
    k.bytes = double(m * kk + kk * n + m * n) * double(sizeof(T));
    k.flops = 2.0 * double(m) * double(n) * double(kk);
    k.rounds = k.flops > 2e11 ? 2 : 3;
    k.out = C;
    k.out_bytes = size_t(m * n) * sizeof(T);
    uint64_t *drawn = new uint64_t(0);
    k.draw = [=](uint64_t seed) {
        *drawn = seed;
        generate<T>(big_a, m * kk, NORMAL, seed, 0.0, 0.5);
        generate<T>(big_b, kk * n, NORMAL, ~seed, 0.0, 0.5);
    };
    const double unit_roundoff = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24,
                 last = sizeof(T) == 2 ? 1.01 * type_of<T>::eps() : 0,
                 factors = math == GPUL_MATH_TF32 ? 0x1p-10 + 0x1p-20 : 0; // two that are rounded to 11 bits
    const auto check = [=]() {
        reset_bad();
        check_gemm_kernel<T><<<1056, 256, 0, stream>>>(bad, C, A, B, Strides{n, 1}, Strides{kk, 1}, Strides{n, 1}, m, n,
                                                       kk, 2048, *drawn, double(kk + 2) * unit_roundoff + factors, last,
                                                       0.0);
        return verdict(m * n);
    };
    const gpul_array a = wrap(A, type_of<T>::dtype, gpul_2d(m, kk)), b = wrap(B, type_of<T>::dtype, gpul_2d(kk, n));
    gpul_array c = wrap(C, type_of<T>::dtype, gpul_2d(m, n));
    gpul_gemm_options options = GPUL_ZERO;
    options.math = math;
    k.add(
        "gpulite",
        [=]() mutable {
            return ours_ok(math == GPUL_MATH_IEEE ? gpul_matmul(&c, &a, &b, stream)
                                                  : gpul_gemm_ex(&c, 1, &a, &b, 0, &options, stream));
        },
        check);
    // a row-major product is the column-major product of the transposes: C^T = B^T A^T
    const cublasComputeType_t how = sizeof(T) == 8           ? CUBLAS_COMPUTE_64F
                                    : math == GPUL_MATH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                             : CUBLAS_COMPUTE_32F;
    const auto gemm = [=](cublasComputeType_t h) {
        return [=]() {
            return ok(blas_gemm(CUBLAS_OP_N, CUBLAS_OP_N, int(n), int(m), int(kk), B, int(n), A, int(kk), C, int(n),
                                type_of<T>::cuda, h));
        };
    };
    k.add("cublas", gemm(how), check);
    if (sizeof(T) == 4 && math == GPUL_MATH_IEEE) k.add("cublas-pedantic", gemm(CUBLAS_COMPUTE_32F_PEDANTIC), check);
    LtPlan *lt = new LtPlan();
    lt_plans.push_back(lt);
    if (lt->make(CUBLAS_OP_N, CUBLAS_OP_N, int(n), int(m), int(kk), B, int(n), A, int(kk), C, int(n), type_of<T>::cuda,
                 how))
        k.add(
            "cublaslt-best",
            [=]() {
                if (!lt->chosen) lt->choose(B, A, C);
                return lt->call(B, A, C, lt->best);
            },
            check);
    return true;
}

template <class T> static void gemm_cases() {
    static const int64_t shapes[][3] = {{256, 256, 256},    {256, 256, 512},    {512, 512, 512},    {1000, 1000, 1000},
                                        {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {4095, 4097, 4093},
                                        {8192, 8192, 8192}, {16384, 64, 4096},  {64, 16384, 4096},  {64, 64, 1048576},
                                        {8192, 8192, 64}};
    for (const auto &s : shapes) {
        const int64_t m = s[0], n = s[1], kk = s[2];
        new_case("matmul", "matmul", type_of<T>::name(),
                 text("%lldx%lldx%lld", (long long)m, (long long)n, (long long)kk),
                 m == n && n == kk && (m == 256 || m == 1000 || m == 4096))
            .build = [=](Case &k) { return build_gemm<T>(k, m, n, kk); };
        const int32_t modes = type_of<T>::dtype == GPUL_F32 ? GPUL_MATH_EMULATED : GPUL_MATH_IEEE;
        for (int32_t math = GPUL_MATH_TF32; math <= modes; math++)
            new_case("matmul", math == GPUL_MATH_TF32 ? "matmul-tf32" : "matmul-emulated", "f32",
                     text("%lldx%lldx%lld", (long long)m, (long long)n, (long long)kk), m == n && n == kk && m == 4096)
                .build = [=](Case &k) { return build_gemm<float>(k, m, n, kk, math); };
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// What a call costs the host
// ---------------------------------------------------------------------------------------------------------------------
__global__ void bare4_kernel(float *, const float *, const float *, int64_t) {}
__global__ void bare8_kernel(float *, const float *, const float *, int64_t, int64_t, int64_t, double, double) {}
struct Wide {
    int64_t words[32];
};
__global__ void bare_wide_kernel(float *, const float *, Wide) {}

static void add_bare(Case &k) {
    static float *p;
    static const float *q;
    static int64_t n;
    static double d;
    static Wide w;
    p = reinterpret_cast<float *>(big_c);
    q = reinterpret_cast<const float *>(big_a);
    const auto launch = [](const void *kernel, void **args) {
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(1);
        config.blockDim = dim3(128);
        config.stream = stream;
        return ok(cudaLaunchKernelExC(&config, kernel, args));
    };
    k.add(
        "bare-4-args",
        [=]() {
            void *args[] = {&p, &q, &q, &n};
            return launch(reinterpret_cast<const void *>(bare4_kernel), args);
        },
        nullptr);
    k.add(
        "bare-8-args",
        [=]() {
            void *args[] = {&p, &q, &q, &n, &n, &n, &d, &d};
            return launch(reinterpret_cast<const void *>(bare8_kernel), args);
        },
        nullptr);
    k.add(
        "bare-256-bytes",
        [=]() {
            void *args[] = {&p, &q, &w};
            return launch(reinterpret_cast<const void *>(bare_wide_kernel), args);
        },
        nullptr);
}

static void host_case(const char *name, const char *dtype, const std::string &shape,
                      std::function<std::function<bool()>()> ours) {
    new_case("host", name, dtype, shape, true).build = [=](Case &k) {
        k.host = true;
        k.rounds = 3;
        k.draw = [=](uint64_t seed) {
            generate<float>(big_a, 1 << 20, UNIFORM, seed, 0.0, 1.0);
            generate<float>(big_b, 1 << 20, UNIFORM, ~seed, 0.0, 1.0);
        };
        k.add("gpulite", ours(), nullptr);
        add_bare(k);
        return true;
    };
}

static void host_cases() {
    host_case("vecadd", "f32", "256", []() {
        const gpul_array a = wrap(big_a, GPUL_F32, gpul_1d(256)), b = wrap(big_b, GPUL_F32, gpul_1d(256));
        gpul_array c = wrap(big_c, GPUL_F32, gpul_1d(256));
        return std::function<bool()>([=]() mutable { return ours_ok(gpul_vecadd(&c, &a, &b, stream)); });
    });
    host_case("fill", "f32", "256", []() {
        gpul_array c = wrap(big_c, GPUL_F32, gpul_1d(256));
        return std::function<bool()>([=]() mutable { return ours_ok(gpul_fill(&c, 2.0, stream)); });
    });
    host_case("copy", "f32", "256", []() {
        const gpul_array a = wrap(big_a, GPUL_F32, gpul_1d(256));
        gpul_array c = wrap(big_c, GPUL_F32, gpul_1d(256));
        return std::function<bool()>([=]() mutable { return ours_ok(gpul_copy(&c, &a, stream)); });
    });
    for (int64_t n : {int64_t(256), int64_t(1) << 16, int64_t(1) << 18}) {
        host_case("sum", "f32", text("%lld", (long long)n), [=]() {
            const gpul_array a = wrap(big_a, GPUL_F32, gpul_1d(n));
            gpul_array c = wrap(big_c, GPUL_F32, gpul_0d());
            return std::function<bool()>(
                [=]() mutable { return ours_ok(gpul_reduce(&c, &a, GPUL_SUM, GPUL_ALL_AXES, stream)); });
        });
    }
    for (int axis = 0; axis < 2; axis++)
        host_case("sum", "f32", text("128x128 axis=%d", axis), [=]() {
            const gpul_array a = wrap(big_a, GPUL_F32, gpul_2d(128, 128));
            gpul_array c = wrap(big_c, GPUL_F32, gpul_1d(128));
            return std::function<bool()>(
                [=]() mutable { return ours_ok(gpul_reduce(&c, &a, GPUL_SUM, axis, stream)); });
        });
    host_case("dot", "f32", "4096", []() {
        const gpul_array a = wrap(big_a, GPUL_F32, gpul_1d(4096)), b = wrap(big_b, GPUL_F32, gpul_1d(4096));
        gpul_array c = wrap(big_c, GPUL_F32, gpul_0d());
        return std::function<bool()>([=]() mutable { return ours_ok(gpul_dot(&c, &a, &b, stream)); });
    });
    for (int row_major = 1; row_major >= 0; row_major--)
        host_case(row_major ? "gemv-row" : "gemv-col", "f32", "128x128", [=]() {
            const gpul_array a = wrap(big_a, GPUL_F32, row_major ? gpul_2d(128, 128) : gpul_2d_f(128, 128));
            const gpul_array x = wrap(big_b, GPUL_F32, gpul_1d(128));
            gpul_array y = wrap(big_c, GPUL_F32, gpul_1d(128));
            return std::function<bool()>([=]() mutable { return ours_ok(gpul_gemv(&y, 1.0, &a, &x, 0.0, stream)); });
        });
    for (int64_t bins : {64, 4096})
        host_case("histogram", "f32", text("n=10000 bins=%lld", (long long)bins), [=]() {
            const gpul_array a = wrap(big_a, GPUL_F32, gpul_1d(10000));
            gpul_array c = wrap(big_c, GPUL_I32, gpul_1d(bins));
            return std::function<bool()>([=]() mutable { return ours_ok(gpul_histogram(&c, &a, 0.0, 1.0, stream)); });
        });
    host_case("matmul", "f32", "32x32x32", []() {
        const gpul_array a = wrap(big_a, GPUL_F32, gpul_2d(32, 32)), b = wrap(big_b, GPUL_F32, gpul_2d(32, 32));
        gpul_array c = wrap(big_c, GPUL_F32, gpul_2d(32, 32));
        return std::function<bool()>([=]() mutable { return ours_ok(gpul_matmul(&c, &a, &b, stream)); });
    });
}

// ---------------------------------------------------------------------------------------------------------------------
// The roof: what this GPU's memory gives in this run
// ---------------------------------------------------------------------------------------------------------------------
static double best_gbps(std::function<bool()> call, double bytes) {
    Contender c;
    c.call = std::move(call);
    c.lead = 1;
    for (int i = 0; i < 9; i++) {
        const double us = time_batch(c, false);
        if (us < 0) die(__FILE__, __LINE__);
        c.times.push_back(us);
    }
    return bytes / c.at(0.5) / 1e3;
}

static void measure_roof() {
    int sms = 0, device = 0, khz = 0, bits = 0;
    MUST(cudaGetDevice(&device));
    MUST(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    MUST(cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, device));
    MUST(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device));
    nominal = khz > 0 && bits > 0 ? 2.0 * khz * 1e3 * bits / 8 / 1e9 : double(NAN);
    const size_t bytes = std::min<size_t>(big_bytes, size_t(4) << 30) / 16 * 16;
    generate<float>(big_a, int64_t(bytes / 4), UNIFORM, 1, 0.0, 1.0);
    MUST(cudaStreamSynchronize(stream));
    // Clocks rise with load: these first milliseconds are also the warm-up.
    roof_copy = best_gbps([=]() { return ok(cudaMemcpyAsync(big_b, big_a, bytes, cudaMemcpyDeviceToDevice, stream)); },
                          2.0 * double(bytes));
    roof_write = best_gbps([=]() { return ok(cudaMemsetAsync(big_c, 0, bytes, stream)); }, double(bytes));
    for (int blocks_an_sm : {1, 2, 4}) {
        const double g = best_gbps(
            [=]() {
                read_kernel<<<unsigned(sms * blocks_an_sm), 512, 0, stream>>>(reinterpret_cast<unsigned *>(small_out),
                                                                              reinterpret_cast<const uint4 *>(big_a),
                                                                              int64_t(bytes / 16));
                return launched();
            },
            double(bytes));
        roof_read = std::max(roof_read, g);
    }
    roof = std::max(roof_read, roof_copy);
}

// ---------------------------------------------------------------------------------------------------------------------
// Reporting
// ---------------------------------------------------------------------------------------------------------------------
static FILE *csv;

static std::string command_line(const char *command) {
    std::string s;
    char line[256];
    FILE *f = popen(command, "r");
    if (!f) return s;
    if (fgets(line, sizeof line, f)) s = line;
    (void)pclose(f);
    while (!s.empty() && (s.back() == '\n' || s.back() == ' ')) s.pop_back();
    return s;
}

static std::string driver_version() {
    const std::string s = command_line(
        "sed -n 's/^NVRM version:.*  \\([0-9][0-9.]*\\)  .*/\\1/p' /proc/driver/nvidia/version 2>/dev/null");
    return s.empty() ? command_line("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null") : s;
}

static void heading(const char *commit, uint64_t seed) {
    cudaDeviceProp p;
    int device = 0, runtime = 0, blas = 0, kilohertz = 0;
    MUST(cudaGetDevice(&device));
    MUST(cudaGetDeviceProperties(&p, device));
    MUST(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device));
    MUST(cublasGetVersion(cublas, &blas));
    MUST(cudaRuntimeGetVersion(&runtime));
    char date[64];
    const time_t now = time(nullptr);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    const std::pair<const char *, std::string> facts[] = {
        {"gpu", p.name},
        {"capability", text("%d.%d, %d SMs, L2 %.0f MB", p.major, p.minor, p.multiProcessorCount, p.l2CacheSize / 1e6)},
        {"clock_mhz", text("%d", kilohertz / 1000)},
        {"driver", driver_version()},
        {"toolkit", text("CUDA %d.%d, runtime %d, cuBLAS %d, CCCL %d.%d.%d", __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                         runtime, blas, CCCL_MAJOR_VERSION, CCCL_MINOR_VERSION, CCCL_PATCH_VERSION)},
        {"commit", commit ? commit : command_line("git describe --always --dirty --tags 2>/dev/null")},
        {"date", date},
        {"seed", text("%llu", (unsigned long long)seed)},
        {"nominal_gbps", text("%.1f", nominal)},
        {"read_gbps", text("%.1f", roof_read)},
        {"copy_gbps", text("%.1f", roof_copy)},
        {"write_gbps", text("%.1f", roof_write)},
        {"timing",
         "medians of event-timed batches of back-to-back calls on one stream, contenders interleaved, buffers reused"},
    };
    for (const auto &f : facts) {
        printf("# %s: %s\n", f.first, f.second.c_str());
        if (csv) fprintf(csv, "# %s: %s\n", f.first, f.second.c_str());
    }
    printf("\n%-11s %-5s %-30s %10s %15s %10s %-15s %7s %8s %6s %6s\n", "case", "dtype", "shape", "gpulite us",
           "(min - max)", "peer us", "peer", "ratio", "GB/s", "roof%", "nom.%");
    if (csv)
        fprintf(
            csv,
            "family,case,dtype,shape,who,bytes,flops,median_us,min_us,q1_us,q3_us,max_us,batches,calls,graph_us,gbps,"
            "gflops,share_roof,share_nominal,ratio,want_ratio,want_share,check,class\n");
    fflush(stdout);
}

struct Tally {
    int cases = 0, failed = 0, below = 0, compared = 0;
    double log_ratio = 0, worst = 1e300;
    std::string worst_case;
};
static std::map<std::string, Tally> tallies;
static std::vector<std::string> below, failures, peers_out;

static const Contender *best_peer(const Case &k) {
    const Contender *best = nullptr;
    for (size_t j = 1; j < k.who.size(); j++)
        if (!k.who[j].dead && !k.who[j].only_told && !k.who[j].times.empty() &&
            (!best || k.who[j].at(0.5) < best->at(0.5)))
            best = &k.who[j];
    return best;
}

static std::string quoted(const std::string &s) {
    std::string r = s;
    for (char &c : r)
        if (c == ',' || c == '"' || c == '\n') c = ';';
    return r;
}

static void report(const Case &k) {
    const Contender &us = k.who[0];
    const Contender *peer = best_peer(k);
    // a call's overhead is a difference, not a ratio: the dearest bare launch stands for it
    if (k.host) peer = &k.who.back();
    Tally &t = tallies[k.family];
    t.cases++;
    const double mine = us.at(0.5), theirs = peer ? peer->at(0.5) : 0;
    const double ratio = peer && mine > 0 ? theirs / mine : 0;
    const double gbps = mine > 0 ? k.bytes / mine / 1e3 : 0;
    std::string mark;
    if (us.dead) {
        t.failed++;
        failures.push_back(k.id() + ": " + us.note);
        printf("%-11s %-5s %-30s FAIL %s\n", k.name.c_str(), k.dtype.c_str(), k.shape.c_str(), us.note.c_str());
    } else {
        if (k.host) {
            if (mine - theirs > 1.0) mark = text(" < wanted +1.0 us");
        } else {
            if (k.want_ratio > 0 && ratio > 0 && ratio < k.want_ratio) mark += text(" < ratio %.2f", k.want_ratio);
            if (k.want_share > 0 && gbps / nominal < k.want_share)
                mark += text(" < %.0f%% of nominal", 100 * k.want_share);
            if (k.want_over_read > 0 && !k.who.back().dead && mine - k.who.back().at(0.5) > k.want_over_read)
                mark += text(" < read %.2f + %.0f us", k.who.back().at(0.5), k.want_over_read);
            if (ratio > 0) {
                t.compared++;
                t.log_ratio += std::log(ratio);
                if (ratio < t.worst) {
                    t.worst = ratio;
                    t.worst_case = k.id();
                }
            }
        }
        std::string line =
            text("%-11s %-5s %-30s %10.2f %15s %10.2f %-15s ", k.name.c_str(), k.dtype.c_str(), k.shape.c_str(), mine,
                 text("(%.2f - %.2f)", us.at(0), us.at(1)).c_str(), theirs, peer ? peer->name.c_str() : "-");
        if (k.host) line += text("%+6.2f us", mine - theirs);
        else if (k.family == "matmul") line += text("%7.2f %8.0f GFLOP/s", ratio, k.flops / mine / 1e3);
        else line += text("%7.2f %8.1f %6.1f %6.1f", ratio, gbps, 100 * gbps / roof, 100 * gbps / nominal);
        if (us.graph_us > 0 && peer) line += text("  graph %.2f / %.2f", us.graph_us, peer->graph_us);
        printf("%s%s\n", line.c_str(), mark.c_str());
        if (!mark.empty()) {
            t.below++;
            below.push_back(text("%-60s %.2f", k.id().c_str(), ratio) + mark);
        }
    }
    for (size_t j = 1; j < k.who.size(); j++)
        if (k.who[j].dead) peers_out.push_back(k.id() + ", " + k.who[j].name + ": " + k.who[j].note);
    if (csv)
        for (const Contender &c : k.who) {
            if (c.slow && !c.dead) continue;
            const double median = c.at(0.5), g = median > 0 && !k.host ? k.bytes / median / 1e3 : 0;
            const double r = median <= 0 || mine <= 0 ? 0 : &c == &us ? ratio : median / mine;
            fprintf(
                csv,
                "%s,%s,%s,%s,%s,%.0f,%.0f,%.4f,%.4f,%.4f,%.4f,%.4f,%zu,%d,%.4f,%.2f,%.2f,%.4f,%.4f,%.4f,%g,%g,%s,%s\n",
                k.family.c_str(), k.name.c_str(), k.dtype.c_str(), k.shape.c_str(), c.name.c_str(), k.bytes, k.flops,
                median, c.at(0), c.at(0.25), c.at(0.75), c.at(1), c.times.size(), c.calls, c.graph_us, g,
                median > 0 ? k.flops / median / 1e3 : 0, g / roof, g / nominal, r, k.want_ratio, k.want_share,
                c.dead    ? quoted("FAIL " + c.note).c_str()
                : c.check ? "ok"
                          : "none",
                k.kind.c_str());
        }
    fflush(stdout);
    if (csv) fflush(csv);
}

#include "random.cuh"

// ---------------------------------------------------------------------------------------------------------------------
static void all_cases() {
    cases.reserve(2048);
    host_cases();
    elementwise_types<VECADD>();
    elementwise_types<VECMUL>();
    elementwise_types<COPY>();
    elementwise_types<FILL>();
    function_cases<Exponential<float>>();
    function_cases<Exponential<double>>();
    function_cases<Convert<float, __half>>();
    function_cases<Convert<double, float>>();
    function_cases<Axpy>();
    own_norm_cases();
    static const struct {
        int op;
        const char *name;
    } ops[] = {{GPUL_SUM, "sum"},       {GPUL_MIN, "min"},   {GPUL_MAX, "max"}, {GPUL_ABS_SUM, "abs-sum"},
               {GPUL_ARGMIN, "argmin"}, {GPUL_MEAN, "mean"}, {GPUL_VAR, "var"}};
    for (const auto &o : ops) {
        reduce_cases<float>(o.op, o.name);
        reduce_cases<double>(o.op, o.name);
        reduce_cases<int32_t>(o.op, o.name);
    }
    reduce_cases<float>(DOT, "dot");
    reduce_cases<double>(DOT, "dot");
    axis_cases<float>(GPUL_SUM, "axis-sum");
    axis_cases<double>(GPUL_SUM, "axis-sum");
    axis_cases<float>(GPUL_MAX, "axis-max");
    histogram_cases<float>();
    histogram_cases<double>();
    histogram_cases<int32_t>();
    histogram_cases<uint8_t>();
    gemv_cases<float>();
    gemv_cases<double>();
    gemm_cases<float>();
    gemm_cases<double>();
    gemm_cases<__half>();
    gemm_cases<__nv_bfloat16>();
}

enum { CASE_DONE, CASE_TOO_BIG, CASE_LOST };

// Builds, times and reports a case; `then` sees it before it is taken apart.
static int one_case(Case &k, bool device_scalars, uint64_t seed, bool graph,
                    const std::function<void(const Case &)> &then) {
    arena_used = 0;
    if (!pointer_mode(device_scalars ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST)) die(__FILE__, __LINE__);
    if (!k.build(k)) return CASE_TOO_BIG;
    if (k.brief) {
        k.want_ratio = k.want_share = k.want_over_read = 0;
        k.rounds = 3;
    }
    run_case(k, seed, graph);
    if (k.brief) time_again(k, seed);
    report(k);
    if (then) then(k);
    k.who.clear();
    for (LtPlan *p : lt_plans) delete p;
    lt_plans.clear();
    // a broken context answers every later call with the same error
    if (ok(cudaStreamSynchronize(stream))) return CASE_DONE;
    printf("the CUDA context is lost: %s\n", trouble.c_str());
    failures.push_back(k.id() + ": the CUDA context is lost");
    return CASE_LOST;
}

static void usage() {
    puts("bench: gpulite beside cuBLAS, CUB and plain CUDA\n"
         "  --case TEXT     only cases whose line of --list contains TEXT; may be given several times\n"
         "  --not TEXT      none of those\n"
         "  --quick         a fifth of the cases\n"
         "  --seconds N     stop starting cases after N seconds (default 600)\n"
         "  --graph         also time the calls below 60 us from a captured graph (the GPU's time alone)\n"
         "  --csv FILE      every contender's numbers\n"
         "  --seed N        of the data; by default the clock\n"
         "  --commit TEXT   recorded in the CSV; by default what git describes\n"
         "  --list          the cases, as family:case dtype shape\n"
         "  --random        cases that nobody chose, in place of the fixed ones: see tests/bench/random.cuh\n"
         "    --cases N     so many of each family (default 200)\n"
         "    --family NAME elementwise, reduce, gemv, histogram or matmul; may be given several times\n"
         "    --only I      case I of each family alone; with --seed it is the same everywhere\n"
         "    --list        what is drawn, by seed, and that it lies in its buffers; takes no GPU\n"
         "Exit status: 0, 1 when a result of gpulite's was wrong or a call failed, 2 when nothing could be run.");
}

int main(int argc, char **argv) {
    std::vector<std::string> only, never;
    const char *csv_path = nullptr, *commit = nullptr;
    bool quick = false, list = false, graph = false, random = false;
    RandomOptions options;
    double seconds = 600;
    uint64_t seed = uint64_t(time(nullptr));
    for (int i = 1; i < argc; i++) {
        const std::string a = argv[i];
        const bool more = i + 1 < argc;
        if (a == "--case" && more) only.push_back(argv[++i]);
        else if (a == "--not" && more) never.push_back(argv[++i]);
        else if (a == "--quick") quick = true;
        else if (a == "--graph") graph = true;
        else if (a == "--list") list = true;
        else if (a == "--seconds" && more) seconds = atof(argv[++i]);
        else if (a == "--csv" && more) csv_path = argv[++i];
        else if (a == "--seed" && more) seed = strtoull(argv[++i], nullptr, 10);
        else if (a == "--commit" && more) commit = argv[++i];
        else if (a == "--random") random = true;
        else if (a == "--cases" && more) options.cases = atoll(argv[++i]);
        else if (a == "--only" && more) options.only = atoll(argv[++i]);
        else if (a == "--family" && more) options.families.push_back(argv[++i]);
        else {
            usage();
            return a == "--help" ? 0 : 2;
        }
    }
    options.seed = seed;
    for (const std::string &name : options.families) {
        bool known = false;
        for (const auto &f : random_families) known = known || name == f.name;
        if (!known) {
            fprintf(stderr, "no family %s\n", name.c_str());
            return 2;
        }
    }
    if (random && list) return list_random(options);
    all_cases();
    std::vector<Case> chosen;
    for (const Case &k : cases) {
        if (random) break;
        const std::string id = k.id();
        const auto has = [&](const std::string &s) { return id.find(s) != std::string::npos; };
        if (!only.empty() && std::none_of(only.begin(), only.end(), has)) continue;
        if (std::any_of(never.begin(), never.end(), has)) continue;
        if (quick && !k.quick) continue;
        chosen.push_back(k);
    }
    if (list) {
        for (const Case &k : chosen) puts(k.id().c_str());
        return 0;
    }

    const double start = host_us();
    size_t free_bytes = 0, total_bytes = 0;
    MUST(cudaMemGetInfo(&free_bytes, &total_bytes));
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&event_from));
    MUST(cudaEventCreate(&event_to));
    big_bytes = std::min<size_t>(size_t(8) << 30, free_bytes / 4) / 256 * 256;
    MUST(cudaMalloc(&big_a, big_bytes));
    MUST(cudaMalloc(&big_b, big_bytes));
    MUST(cudaMalloc(&big_c, big_bytes));
    MUST(cudaMalloc(&small_out, 4096));
    MUST(cudaMalloc(&side, side_bytes));
    arena_bytes = std::min<size_t>(size_t(16) << 30, free_bytes / 8) / 256 * 256;
    MUST(cudaMalloc(&arena, arena_bytes));
    MUST(cudaMalloc(&blas_workspace, blas_workspace_bytes));
    MUST(cudaMalloc(&bad, 2 * sizeof *bad));
    MUST(cublasCreate(&cublas));
    MUST(cublasLtCreate(&cublaslt));
    MUST(cublasSetStream(cublas, stream));
    MUST(cublasSetWorkspace(cublas, blas_workspace, blas_workspace_bytes));
    measure_roof();
    if (csv_path && !(csv = fopen(csv_path, "w"))) {
        fprintf(stderr, "cannot write %s\n", csv_path);
        return 2;
    }
    heading(commit, seed);

    size_t left = 0, too_big = 0;
    for (size_t i = 0; i < chosen.size(); i++) {
        if ((host_us() - start) / 1e6 > seconds) {
            left = chosen.size() - i;
            break;
        }
        Case &k = chosen[i];
        const int end = one_case(k, k.family == "reduce", hash(seed, i), graph, nullptr);
        if (end == CASE_TOO_BIG) too_big++;
        if (end == CASE_LOST) {
            left = chosen.size() - i - 1;
            break;
        }
    }
    bool lost = false;
    for (int64_t i = options.from(); random && !lost && i < options.to(); i++)
        for (size_t f = 0; f < random_family_count; f++) {
            if (!options.chosen(f)) continue;
            if (lost || (host_us() - start) / 1e6 > seconds) {
                left++;
                continue;
            }
            const Random d = draw_random(seed, f, i);
            if (size_t(d.reach) > big_bytes) {
                too_big++;
                continue;
            }
            Case k;
            k.family = "random-" + d.family;
            k.name = d.name;
            k.dtype = d.dtype;
            k.shape = text("#%lld ", (long long)i) + d.shape;
            k.kind = d.kind;
            k.brief = true;
            k.build = d.build;
            const int end = one_case(k, d.device_scalars, hash(seed, uint64_t(i)), false,
                                     [&](const Case &done) { note_random(done, d, seed); });
            if (end == CASE_TOO_BIG) too_big++;
            lost = end == CASE_LOST;
        }
    if (random) report_random(seed);

    printf("\n%-12s %6s %6s %9s %14s   %s\n", "family", "cases", "failed", "below", "mean ratio", "worst");
    for (const auto &t : tallies) {
        const Tally &v = t.second;
        printf("%-12s %6d %6d %9d %14s   %s\n", t.first.c_str(), v.cases, v.failed, v.below,
               v.compared ? text("%.2f", std::exp(v.log_ratio / v.compared)).c_str() : "-",
               v.compared ? text("%.2f %s", v.worst, v.worst_case.c_str()).c_str() : "-");
    }
    if (!below.empty()) {
        printf("\nbelow what is wanted (%zu):\n", below.size());
        for (const std::string &s : below) printf("  %s\n", s.c_str());
    }
    if (!peers_out.empty()) {
        printf("\npeers that did not count (%zu):\n", peers_out.size());
        for (const std::string &s : peers_out) printf("  %s\n", s.c_str());
    }
    if (!failures.empty()) {
        printf("\nFAIL (%zu):\n", failures.size());
        for (const std::string &s : failures) printf("  %s\n", s.c_str());
    }
    printf("\n%.1f s; roof: read %.0f, copy %.0f, write %.0f GB/s; nominal %.0f GB/s%s%s\n", (host_us() - start) / 1e6,
           roof_read, roof_copy, roof_write, nominal, left ? text("; %zu cases left out", left).c_str() : "",
           too_big ? text("; %zu cases too big for this GPU", too_big).c_str() : "");
    if (csv) fclose(csv);
    return failures.empty() ? 0 : 1;
}
