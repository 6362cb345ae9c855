// SPDX-License-Identifier: MIT
//
// The random benchmark, a part of bench.cu: cases that nobody chose, judged beside the best peer and by the roof.
//
//     ./bench --random --cases 200 --seed 1
//     ./bench --random --seed 1 --family elementwise --only 17
//
// A case is a function of (seed, family, index), on every machine. Sizes are log-uniform and never rounded; arrays
// start at any element; rows are padded or not; views are transposed, sliced and broadcast. Peers get the same bytes:
// CUB and cuBLAS where they take the layout, and kernels written for the one case, of which the fastest that is right
// counts.
//
// First the draws, which need no GPU, then a section a family, then the run and its report.

// ---------------------------------------------------------------------------------------------------------------------
// Draws
// ---------------------------------------------------------------------------------------------------------------------
static const int64_t random_span = int64_t(4) << 30; // bytes from a buffer's start that a draw may reach
static const int64_t random_edges_most = 1000000;    // bins of a histogram

struct Draws { // the random numbers of one case, in order
    uint64_t seed, count;
    explicit Draws(uint64_t s) : seed(s), count(0) {}
    double real(double lo, double hi) { return lo + (hi - lo) * unit(seed, count++); }
    int64_t below(int64_t n) { return int64_t(real(0, double(n))); }
    bool chance(double p) { return real(0, 1) < p; }
    int64_t log_uniform(double log2_lo, double log2_hi) { return int64_t(std::exp2(real(log2_lo, log2_hi))); }
    // an array's first element: half of them aligned
    int64_t offset() { return chance(0.5) ? 0 : 1 + below(1000); }
    // elements from row to row of `length`
    int64_t leading(int64_t length) {
        if (chance(0.4)) return length;
        if (chance(0.4)) return (length + 31) / 32 * 32 + 32 * below(3);
        return length + 1 + below(64);
    }
};

// An array of up to three dimensions in a buffer; the strides are in elements.
struct View {
    int64_t at = 0, shape[3] = {1, 1, 1}, stride[3] = {0, 0, 0};
    int nd = 1;
    size_t bytes = 4; // of an element

    int64_t size() const { return shape[0] * shape[1] * shape[2]; }
    int64_t end() const { // one past the last element
        int64_t last = at;
        for (int d = 0; d < nd; d++) last += (shape[d] - 1) * stride[d];
        return last + 1;
    }
    int64_t reach() const { return end() * int64_t(bytes); } // bytes from the buffer's start
    bool fits() const { return at >= 0 && reach() <= random_span; }
    bool aligned(size_t to) const { return size_t(at) * bytes % to == 0; }
    // Strides in memory order, order[0] the fastest; of a larger array where padded or sliced.
    void lay_out(Draws &r, const int *order, bool padded, bool sliced) {
        int64_t step = 1;
        for (int j = 0; j < nd; j++) {
            const int d = order[j];
            const int64_t every = sliced && r.chance(0.5) ? 2 + r.below(6) : 1;
            stride[d] = step * every;
            const int64_t length = shape[d] * every;
            step *= j == 0 && padded ? r.leading(length) : length;
        }
    }
    // The bytes that have to move: whole sectors of 32 where elements lie apart.
    double moved() const {
        int order[3] = {0, 1, 2};
        std::sort(order, order + 3, [this](int a, int b) { return stride[a] < stride[b]; });
        double run = double(bytes), runs = 1; // each sector-filling run so far, and how many of them
        for (int d : order) {
            if (shape[d] == 1 || stride[d] == 0) continue;
            const double step = double(stride[d]) * double(bytes);
            if (runs == 1 && step - run < 32) run += double(shape[d] - 1) * step;
            else runs *= double(shape[d]);
        }
        const double sectors = runs == 1 ? run : runs * std::ceil(run / 32) * 32;
        return std::min(sectors, double(end() - at) * double(bytes));
    }
    std::string words() const {
        std::string s = text("+%lld[", (long long)at);
        for (int d = 0; d < nd; d++) s += text(d ? ":%lld" : "%lld", (long long)stride[d]);
        return s + "]";
    }
    std::string sizes() const {
        std::string s;
        for (int d = 0; d < nd; d++) s += text(d ? "x%lld" : "%lld", (long long)shape[d]);
        return s;
    }
    gpul_array array(char *buffer, gpul_dtype dtype) const {
        gpul_shape s = gpul_1d(shape[0]);
        if (nd == 2) s = gpul_2d(shape[0], shape[1]);
        if (nd == 3) s = gpul_3d(shape[0], shape[1], shape[2]);
        gpul_array a = GPUL_ZERO;
        if (!ours_ok(gpul_wrap_strided(&a, buffer + size_t(at) * bytes, dtype, s, stride))) die(__FILE__, __LINE__);
        return a;
    }
    template <class T> T *in(char *buffer) const { return reinterpret_cast<T *>(buffer) + at; }
};

struct Random { // one draw
    std::string family, name, dtype, shape, kind;
    int64_t index = 0;
    int64_t reach = 0; // bytes that a buffer needs
    bool inside() const { return reach <= random_span; }
    bool copy_roof = false; // judged by the copy roof, not by the read roof
    bool device_scalars = false;
    std::function<bool(Case &)> build;
};

// Splits `size` over the dimensions of v, in random parts of its logarithm.
static void draw_shape(Draws &r, View &v, int64_t size) {
    double part[3], sum = 0, log2_size = std::log2(double(size));
    for (int d = 0; d < v.nd; d++) sum += part[d] = -std::log(r.real(0.02, 1));
    for (int d = 0; d < v.nd; d++) v.shape[d] = std::max<int64_t>(1, int64_t(std::exp2(log2_size * part[d] / sum)));
}
static void draw_order(Draws &r, int nd, int *order) { // a random permutation, row-major in four of ten
    for (int d = 0; d < nd; d++) order[d] = nd - 1 - d;
    if (r.chance(0.4)) return;
    for (int d = nd - 1; d > 0; d--) std::swap(order[d], order[r.below(d + 1)]);
}

static unsigned blocks_of(int64_t items, int64_t a_block) { return unsigned((items + a_block - 1) / a_block); }

static int sm_count() {
    static int sms = 0;
    if (!sms) {
        int device = 0;
        MUST(cudaGetDevice(&device));
        MUST(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    }
    return sms;
}

// Quotients of numbers below 2^31 by one that the compiler does not know: a product and a shift.
struct Divisor {
    unsigned by, factor, shift;
    Divisor() : by(1), factor(0), shift(0) {}
    explicit Divisor(int64_t d) : by(unsigned(d)), factor(0), shift(0) {
        while ((uint64_t(1) << shift) < uint64_t(d)) shift++;
        if (d > 1) factor = unsigned(((uint64_t(1) << (31 + shift)) + uint64_t(d) - 1) / uint64_t(d));
    }
    __host__ __device__ unsigned divide(unsigned n) const {
        return by == 1 ? n : unsigned((uint64_t(n) * factor) >> 32) >> (shift - 1);
    }
};

// ---------------------------------------------------------------------------------------------------------------------
// Elementwise: operations, as gpulite's call and as what an element becomes
// ---------------------------------------------------------------------------------------------------------------------
template <int ARITY, class TA, class TB, class TR> struct Element {
    typedef TA A;
    typedef TB B;
    typedef TR R;
    static const int arity = ARITY;
    static double lo() { return std::is_same<TA, int32_t>::value ? -1e6 : sizeof(TA) == 1 ? 0 : -2; }
    static double hi() { return std::is_same<TA, int32_t>::value ? 1e6 : sizeof(TA) == 1 ? 256 : 2; }
};
template <class T> struct AddOf : Element<2, T, T, T> {
    static const char *name() { return "add"; }
    __host__ __device__ T operator()(T a, T b) const { return T(a + b); }
    static gpul_status ours(gpul_array *out, const gpul_array *x, const gpul_array *y) {
        return gpul_vecadd(out, x, y, stream);
    }
};
template <class T> struct MultiplyOf : Element<2, T, T, T> {
    static const char *name() { return "multiply"; }
    __host__ __device__ T operator()(T a, T b) const {
        if constexpr (std::is_same<T, int32_t>::value) return T(unsigned(a) * unsigned(b));
        else return T(a * b);
    }
    static gpul_status ours(gpul_array *out, const gpul_array *x, const gpul_array *y) {
        return gpul_vecmul(out, x, y, stream);
    }
};
template <class T> struct MaximumOf : Element<2, T, T, T> { // of no NaN
    static const char *name() { return "maximum"; }
    __host__ __device__ T operator()(T a, T b) const { return a < b ? b : a; }
    static gpul_status ours(gpul_array *out, const gpul_array *x, const gpul_array *y) {
        return gpul_binary(out, GPUL_MAXIMUM, x, y, stream);
    }
};
template <class T> struct LessOf : Element<2, T, T, uint8_t> {
    static const char *name() { return "less"; }
    __host__ __device__ uint8_t operator()(T a, T b) const { return a < b; }
    static gpul_status ours(gpul_array *out, const gpul_array *x, const gpul_array *y) {
        return gpul_binary(out, GPUL_LESS, x, y, stream);
    }
};
template <class T> struct CopyOf : Element<1, T, T, T> {
    static const char *name() { return "copy"; }
    __host__ __device__ T operator()(T a) const { return a; }
    static gpul_status ours(gpul_array *out, const gpul_array *x, const gpul_array *) {
        return gpul_copy(out, x, stream);
    }
};
template <class T> struct FillOf : Element<0, T, T, T> {
    static const char *name() { return "fill"; }
    __host__ __device__ T operator()() const { return from_double<T>(3.0); }
    static gpul_status ours(gpul_array *out, const gpul_array *, const gpul_array *) {
        return gpul_fill(out, 3.0, stream);
    }
};
template <class From, class To> struct ConvertOf : Element<1, From, From, To> {
    static const char *name() { return "convert"; }
    static double lo() { return sizeof(To) == 1 ? 0 : Element<1, From, From, To>::lo(); }
    static double hi() { return sizeof(To) == 1 ? 256 : Element<1, From, From, To>::hi(); }
    __host__ __device__ To operator()(From a) const {
        if constexpr (sizeof(To) == 2) return from_double<To>(to_double(a)); // of f32: exact to there and back
        else if constexpr (sizeof(From) == 2) return To(__half2float(a));
        else return static_cast<To>(a);
    }
    static gpul_status ours(gpul_array *out, const gpul_array *x, const gpul_array *) {
        return gpul_convert(out, x, stream);
    }
};
template <class T> struct NegativeOf : Element<1, T, T, T> {
    static const char *name() { return "negative"; }
    __host__ __device__ T operator()(T a) const { return T(-a); }
    static gpul_status ours(gpul_array *out, const gpul_array *x, const gpul_array *) {
        return gpul_unary(out, GPUL_NEGATIVE, x, stream);
    }
};
template <class T> struct SqrtOf : Element<1, T, T, T> {
    static const char *name() { return "sqrt"; }
    static double lo() { return 0.1; }
    static double hi() { return 4; }
    __host__ __device__ T operator()(T a) const {
        if constexpr (sizeof(T) == 2) return __float2half(sqrtf(__half2float(a)));
        else return T(sqrt(a));
    }
    static gpul_status ours(gpul_array *out, const gpul_array *x, const gpul_array *) {
        return gpul_unary(out, GPUL_SQRT, x, stream);
    }
};

template <class F> __device__ inline typename F::R apply(const typename F::A &a, const typename F::B &b) {
    if constexpr (F::arity == 2) return F()(a, b);
    else if constexpr (F::arity == 1) return F()(a);
    else return F()();
}

// What all operands share, as three dimensions, dimension 0 the fastest of the output: those of extent 1 dropped, and
// those merged that are one for every operand. Operand 0 is the output.
struct Layout {
    int nd = 0;
    int64_t n[3] = {1, 1, 1}, s[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
};
static Layout common_layout(const View &out, const View *x, const View *y) {
    const View *operands[3] = {&out, x, y};
    std::vector<int> dims;
    for (int d = 0; d < out.nd; d++)
        if (out.shape[d] > 1) dims.push_back(d);
    std::sort(dims.begin(), dims.end(), [&](int a, int b) { return out.stride[a] < out.stride[b]; });
    Layout l;
    for (int d : dims) {
        int64_t s[3] = {0, 0, 0};
        for (int o = 0; o < 3; o++)
            if (operands[o]) s[o] = operands[o]->shape[d] == 1 ? 0 : operands[o]->stride[d];
        bool merged = l.nd > 0;
        for (int o = 0; merged && o < 3; o++) merged = s[o] == l.s[o][l.nd - 1] * l.n[l.nd - 1];
        if (merged) {
            l.n[l.nd - 1] *= out.shape[d];
            continue;
        }
        l.n[l.nd] = out.shape[d];
        for (int o = 0; o < 3; o++) l.s[o][l.nd] = s[o];
        l.nd++;
    }
    if (l.nd == 0) { // one element
        l.nd = 1;
        for (int o = 0; o < 3; o++) l.s[o][0] = operands[o] ? 1 : 0;
    }
    return l;
}

template <class T, int V> struct alignas(sizeof(T) * V) Vector { T v[V]; };

// V elements at p, or the one there for all of them
template <class T, int V> __device__ inline Vector<T, V> load_vector(const T *p, bool one) {
    if (V > 1 && !one) return *reinterpret_cast<const Vector<T, V> *>(p);
    Vector<T, V> r;
    const T t = *p;
#pragma unroll
    for (int v = 0; v < V; v++) r.v[v] = t;
    return r;
}

// Threads of a block as 2^log_x times the rest, V elements along dimension 0 to each; four such items a thread, 2^log_u
// of them along dimension 0. V > 1: strides of dimension 0 are 1 (0 for an input), all else is a multiple of V.
template <class F, int V>
__global__ void __launch_bounds__(256) rows_kernel(typename F::R *out, const typename F::A *a, const typename F::B *b,
                                                   Layout l, unsigned tiles0, unsigned tiles1, int log_x, int log_u) {
    typedef typename F::A A;
    typedef typename F::B B;
    typedef typename F::R R;
    const unsigned x = threadIdx.x & ((1u << log_x) - 1), y = threadIdx.x >> log_x;
    const unsigned t0 = blockIdx.x % tiles0, t = blockIdx.x / tiles0, t1 = t % tiles1;
    const int64_t i2 = t / tiles1, rows = 256 >> log_x;
    const int64_t first0 = ((int64_t(t0) << (log_x + log_u)) + x) * V, first1 = (int64_t(t1) * rows << (2 - log_u)) + y;
    Vector<A, V> va[4];
    Vector<B, V> vb[4];
    int64_t at[4];
    int count[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int64_t i0 = first0 + ((int64_t(j) & ((1 << log_u) - 1)) << log_x) * V, i1 = first1 + (j >> log_u) * rows;
        const int64_t left = l.n[0] - i0;
        count[j] = i1 >= l.n[1] || left <= 0 ? 0 : left < V ? int(left) : V;
        at[j] = i0 * l.s[0][0] + i1 * l.s[0][1] + i2 * l.s[0][2];
        const int64_t at_a = i0 * l.s[1][0] + i1 * l.s[1][1] + i2 * l.s[1][2];
        const int64_t at_b = i0 * l.s[2][0] + i1 * l.s[2][1] + i2 * l.s[2][2];
        if (count[j] == V) {
            if (F::arity >= 1) va[j] = load_vector<A, V>(a + at_a, l.s[1][0] == 0);
            if (F::arity == 2) vb[j] = load_vector<B, V>(b + at_b, l.s[2][0] == 0);
        } else if (V > 1 && count[j] > 0) {
#pragma unroll
            for (int v = 0; v < V; v++)
                if (v < count[j]) {
                    if (F::arity >= 1) va[j].v[v] = a[at_a + v * l.s[1][0]];
                    if (F::arity == 2) vb[j].v[v] = b[at_b + v * l.s[2][0]];
                }
        }
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
        Vector<R, V> r;
#pragma unroll
        for (int v = 0; v < V; v++) r.v[v] = apply<F>(va[j].v[v], vb[j].v[v]);
        if (count[j] == V) *reinterpret_cast<Vector<R, V> *>(out + at[j]) = r;
        else if (V > 1)
#pragma unroll
            for (int v = 0; v < V; v++)
                if (v < count[j]) out[at[j] + v] = r.v[v];
    }
}

// Every element by its number, in the output's order: for rows that are too short for blocks of rows.
template <class F>
__global__ void __launch_bounds__(256) flat_kernel(typename F::R *out, const typename F::A *a, const typename F::B *b,
                                                   Layout l, Divisor by0, Divisor by1, unsigned total) {
    typename F::A va[4];
    typename F::B vb[4];
    int64_t at[4];
    const unsigned first = blockIdx.x * 1024 + threadIdx.x;
#pragma unroll
    for (unsigned j = 0; j < 4; j++) {
        const unsigned i = first + j * 256, q = by0.divide(i), i0 = i - q * by0.by, i2 = by1.divide(q),
                       i1 = q - i2 * by1.by;
        at[j] = i0 * l.s[0][0] + i1 * l.s[0][1] + i2 * l.s[0][2];
        if (i < total) {
            if (F::arity >= 1) va[j] = a[i0 * l.s[1][0] + i1 * l.s[1][1] + i2 * l.s[1][2]];
            if (F::arity == 2) vb[j] = b[i0 * l.s[2][0] + i1 * l.s[2][1] + i2 * l.s[2][2]];
        }
    }
#pragma unroll
    for (unsigned j = 0; j < 4; j++)
        if (first + j * 256 < total) out[at[j]] = apply<F>(va[j], vb[j]);
}

// Square tiles of dimensions 0 and 1, of which 0 is the output's fastest and 1 that of the staged inputs (bit 0: a, bit
// 1: b): these pass through shared memory, so that both sides are read and written along their rows. The pitch keeps a
// column in 32 banks.
template <class F, int V> struct Tile {
    static const size_t widest = sizeof(typename F::A) > sizeof(typename F::R) ? sizeof(typename F::A)
                                                                               : sizeof(typename F::R);
    static const int side = V > 1 ? 32 * V : widest >= 4 ? 32 : 64;
    static const int pitch = V > 1 ? side + 1 : side == 32 ? 33 : 97;
};
template <class F, int V>
__global__ void __launch_bounds__(256) tile_kernel(typename F::R *out, const typename F::A *a, const typename F::B *b,
                                                   Layout l, unsigned tiles0, unsigned tiles1, int staged) {
    typedef typename F::A A;
    typedef typename F::B B;
    typedef typename F::R R;
    const int side = Tile<F, V>::side, pitch = Tile<F, V>::pitch;
    extern __shared__ __align__(16) unsigned char tile_bytes[];
    A *tile_a = reinterpret_cast<A *>(tile_bytes);
    B *tile_b = reinterpret_cast<B *>(tile_bytes + (staged == 3 ? sizeof(A) * side * pitch : 0));
    const int x = int(threadIdx.x & 31) * V, y = int(threadIdx.x >> 5);
    const unsigned t0 = blockIdx.x % tiles0, t = blockIdx.x / tiles0, t1 = t % tiles1;
    const int64_t i2 = t / tiles1, from0 = int64_t(t0) * side, from1 = int64_t(t1) * side;
    a += i2 * l.s[1][2];
    b += i2 * l.s[2][2];
    out += i2 * l.s[0][2];
#pragma unroll
    for (int r = 0; r < side; r += 8)
#pragma unroll
        for (int c = 0; c < side; c += 32 * V) {
            const int64_t i0 = from0 + r + y, i1 = from1 + c + x;
            if (i0 >= l.n[0] || i1 >= l.n[1]) continue;
            const bool whole = i1 + V <= l.n[1];
            const int to = (r + y) * pitch + c + x;
            if (F::arity >= 1 && (staged & 1)) {
                const A *from = a + i0 * l.s[1][0] + i1 * l.s[1][1];
                Vector<A, V> w;
                if (whole) w = load_vector<A, V>(from, false);
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (i1 + v < l.n[1]) tile_a[to + v] = whole ? w.v[v] : from[v];
            }
            if (F::arity == 2 && (staged & 2)) {
                const B *from = b + i0 * l.s[2][0] + i1 * l.s[2][1];
                Vector<B, V> w;
                if (whole) w = load_vector<B, V>(from, false);
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (i1 + v < l.n[1]) tile_b[to + v] = whole ? w.v[v] : from[v];
            }
        }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < side; r += 8)
#pragma unroll
        for (int c = 0; c < side; c += 32 * V) {
            const int64_t i0 = from0 + c + x, i1 = from1 + r + y;
            if (i0 >= l.n[0] || i1 >= l.n[1]) continue;
            const bool whole = i0 + V <= l.n[0];
            const A *direct_a = a + i0 * l.s[1][0] + i1 * l.s[1][1];
            const B *direct_b = b + i0 * l.s[2][0] + i1 * l.s[2][1];
            R *to = out + i0 * l.s[0][0] + i1 * l.s[0][1];
            Vector<A, V> va;
            Vector<B, V> vb;
            if (F::arity >= 1 && !(staged & 1) && whole) va = load_vector<A, V>(direct_a, l.s[1][0] == 0);
            if (F::arity == 2 && !(staged & 2) && whole) vb = load_vector<B, V>(direct_b, l.s[2][0] == 0);
            Vector<R, V> w;
#pragma unroll
            for (int v = 0; v < V; v++) {
                if (i0 + v >= l.n[0]) continue;
                const int from = (c + x + v) * pitch + r + y;
                if (F::arity >= 1 && (staged & 1)) va.v[v] = tile_a[from];
                else if (F::arity >= 1 && !whole) va.v[v] = direct_a[v * l.s[1][0]];
                if (F::arity == 2 && (staged & 2)) vb.v[v] = tile_b[from];
                else if (F::arity == 2 && !whole) vb.v[v] = direct_b[v * l.s[2][0]];
                w.v[v] = apply<F>(va.v[v], vb.v[v]);
                if (!whole) to[v * l.s[0][0]] = w.v[v];
            }
            if (whole) *reinterpret_cast<Vector<R, V> *>(to) = w;
        }
}

template <class F>
__global__ void check_layout_kernel(unsigned long long *count, const typename F::R *out, const typename F::A *a,
                                    const typename F::B *b, Layout l) {
    unsigned long long wrong = 0;
    const int64_t total = l.n[0] * l.n[1] * l.n[2];
    for (int64_t i = grid_first(); i < total; i += grid_step()) {
        const int64_t i0 = i % l.n[0], q = i / l.n[0], i1 = q % l.n[1], i2 = q / l.n[1];
        typename F::A va = from_double<typename F::A>(0.0);
        typename F::B vb = from_double<typename F::B>(0.0);
        if (F::arity >= 1) va = a[i0 * l.s[1][0] + i1 * l.s[1][1] + i2 * l.s[1][2]];
        if (F::arity == 2) vb = b[i0 * l.s[2][0] + i1 * l.s[2][1] + i2 * l.s[2][2]];
        if (!same_bits(out[i0 * l.s[0][0] + i1 * l.s[0][1] + i2 * l.s[0][2]], apply<F>(va, vb))) wrong++;
    }
    if (wrong) atomicAdd(count, wrong);
}

// The dimension in which an input's neighbours lie closest, -1 where it has none.
static int fastest(const Layout &l, int operand) {
    int best = -1;
    for (int d = 0; d < l.nd; d++)
        if (l.n[d] > 1 && l.s[operand][d] > 0 && (best < 0 || l.s[operand][d] < l.s[operand][best])) best = d;
    return best;
}

template <class F, int V>
static void add_rows(Case &k, const char *name, typename F::R *out, const typename F::A *a, const typename F::B *b,
                     const Layout &l, const std::function<std::string()> &check) {
    const int64_t items = (l.n[0] + V - 1) / V;
    int log_x = 0;
    while (log_x < 8 && (int64_t(1) << log_x) < items) log_x++;
    if (log_x > 5 && l.n[1] > 1 && items % (int64_t(1) << log_x) != 0) // fewer idle threads at the ends of rows
        while (log_x > 5 && ((items - 1) & ((int64_t(1) << log_x) - 1)) < (int64_t(1) << (log_x - 1))) log_x--;
    const int log_u = l.n[1] == 1 || items > (int64_t(8) << log_x) ? 2 : 0;
    const int64_t tiles0 = (items + (int64_t(1) << (log_x + log_u)) - 1) >> (log_x + log_u);
    const int64_t rows = int64_t(256 >> log_x) << (2 - log_u), tiles1 = (l.n[1] + rows - 1) / rows;
    const unsigned grid = unsigned(tiles0 * tiles1 * l.n[2]);
    k.add(
        name,
        [=]() {
            rows_kernel<F, V><<<grid, 256, 0, stream>>>(out, a, b, l, unsigned(tiles0), unsigned(tiles1), log_x, log_u);
            return launched();
        },
        check);
}
template <class F, int V>
static void add_tile(Case &k, const char *name, typename F::R *out, const typename F::A *a, const typename F::B *b,
                     const Layout &l, int staged, const std::function<std::string()> &check) {
    const int64_t side = Tile<F, V>::side, tiles0 = (l.n[0] + side - 1) / side, tiles1 = (l.n[1] + side - 1) / side;
    const unsigned grid = unsigned(tiles0 * tiles1 * l.n[2]);
    const size_t one = size_t(side) * size_t(Tile<F, V>::pitch) * sizeof(typename F::A);
    k.add(
        name,
        [=]() {
            tile_kernel<F, V><<<grid, 256, staged == 3 ? 2 * one : one, stream>>>(out, a, b, l, unsigned(tiles0),
                                                                                  unsigned(tiles1), staged);
            return launched();
        },
        check);
}

template <class F> static bool build_random_elementwise(Case &k, const View &vo, const View &vx, const View &vy) {
    typedef typename F::A A;
    typedef typename F::B B;
    typedef typename F::R R;
    const A *a = vx.in<const A>(big_a);
    const B *b = vy.in<const B>(big_b);
    R *out = vo.in<R>(big_c);
    const int64_t total = vo.size(), x_end = vx.end(), y_end = vy.end();
    const Layout l = common_layout(vo, F::arity >= 1 ? &vx : nullptr, F::arity == 2 ? &vy : nullptr);
    k.bytes = vo.moved() + (F::arity >= 1 ? vx.moved() : 0) + (F::arity == 2 ? vy.moved() : 0);
    k.out = out;
    k.out_bytes = size_t(vo.end() - vo.at) * sizeof(R);
    k.draw = [=](uint64_t seed) {
        if (F::arity >= 1) generate<A>(big_a, x_end, UNIFORM, seed, F::lo(), F::hi());
        if (F::arity == 2) generate<B>(big_b, y_end, UNIFORM, ~seed, F::lo(), F::hi());
    };
    const std::function<std::string()> check = [=]() {
        reset_bad();
        check_layout_kernel<F><<<4096, 256, 0, stream>>>(bad, out, a, b, l);
        return verdict(total);
    };
    const gpul_array x = vx.array(big_a, type_of<A>::dtype), y = vy.array(big_b, type_of<B>::dtype);
    gpul_array z = vo.array(big_c, type_of<R>::dtype);
    k.add(
        "gpulite", [=]() mutable { return ours_ok(F::ours(&z, &x, &y)); }, check);

    bool dense = l.nd == 1, vectors = l.s[0][0] == 1;
    const size_t widest = std::max(sizeof(A), sizeof(R)), lanes = 16 / widest;
    const View *views[3] = {&vo, &vx, &vy};
    for (int o = 0; o <= F::arity; o++) {
        dense = dense && l.s[o][0] == 1;
        vectors = vectors && l.s[o][0] <= 1;
        // a broadcast vector is read by elements, any other by vectors of the operand's own size
        if (l.s[o][0] == 0) continue;
        vectors = vectors && size_t(views[o]->at) % lanes == 0;
        for (int d = 1; d < l.nd; d++) vectors = vectors && l.s[o][d] % int64_t(lanes) == 0;
    }
    if constexpr (F::arity == 2) {
        if (dense)
            k.add(
                "cub",
                [=]() {
                    return ok(
                        cub::DeviceTransform::Transform(cuda::std::make_tuple(a, b), out, int(total), F(), stream));
                },
                check);
    } else if constexpr (F::arity == 1) {
        if (dense)
            k.add(
                "cub", [=]() { return ok(cub::DeviceTransform::Transform(a, out, int(total), F(), stream)); }, check);
    }
    if constexpr (std::is_same<F, CopyOf<R>>::value) {
        const size_t size = sizeof(R);
        if (dense)
            k.add(
                "memcpy",
                [=]() { return ok(cudaMemcpyAsync(out, a, size_t(total) * size, cudaMemcpyDeviceToDevice, stream)); },
                check);
        else if (l.nd == 2 && l.s[0][0] == 1 && l.s[1][0] == 1 && l.s[0][1] >= l.n[0] && l.s[1][1] >= l.n[0] &&
                 std::max(l.s[0][1], l.s[1][1]) * int64_t(size) < int64_t(1) << 31)
            k.add(
                "memcpy2d",
                [=]() {
                    return ok(cudaMemcpy2DAsync(out, size_t(l.s[0][1]) * size, a, size_t(l.s[1][1]) * size,
                                                size_t(l.n[0]) * size, size_t(l.n[1]), cudaMemcpyDeviceToDevice,
                                                stream));
                },
                check);
    }
    if constexpr (F::arity == 0 && sizeof(R) <= 4)
        if (dense)
            k.add(
                "memset", [=]() { return set_elements(out, 3.0, total); }, check);
    const int V = int(16 / (sizeof(A) > sizeof(R) ? sizeof(A) : sizeof(R)));
    if (vectors) add_rows<F, V>(k, "rows16", out, a, b, l, check);
    add_rows<F, 1>(k, "rows", out, a, b, l, check);
    if (l.nd > 1) {
        const Divisor by0(l.n[0]), by1(l.n[1]);
        k.add(
            "flat",
            [=]() {
                flat_kernel<F><<<blocks_of(total, 1024), 256, 0, stream>>>(out, a, b, l, by0, by1, unsigned(total));
                return launched();
            },
            check);
    }
    if constexpr (F::arity > 0) {
        // which inputs to stage, all along one dimension
        int staged = 0, along = 0;
        for (int o = 1; o <= F::arity; o++) {
            const int d = fastest(l, o);
            if (d > 0 && l.s[o][0] > 1 && (!along || d == along)) {
                staged |= o;
                along = d;
            }
        }
        if (staged && l.n[0] > 4 && l.n[along] > 4) {
            Layout t = l;
            if (along == 2) {
                std::swap(t.n[1], t.n[2]);
                for (int o = 0; o < 3; o++) std::swap(t.s[o][1], t.s[o][2]);
            }
            if constexpr (sizeof(A) < 4 && sizeof(A) == sizeof(R)) {
                const int W = int(4 / sizeof(A));
                bool fits = t.s[0][0] == 1;
                for (int o = 0; o <= F::arity; o++) {
                    const int fast = o > 0 && (staged & o) ? 1 : 0;
                    // an operand that is not staged is read along dimension 0
                    fits = fits && (t.s[o][fast] == 1 || (fast == 0 && o > 0 && t.s[o][0] == 0));
                    if (t.s[o][fast] == 1) fits = fits && views[o]->at % W == 0;
                    for (int d = 0; d < 3; d++)
                        if (d != fast && t.s[o][fast] == 1) fits = fits && t.s[o][d] % W == 0;
                }
                if (fits) add_tile<F, W>(k, "tile4", out, a, b, t, staged, check);
            }
            add_tile<F, 1>(k, "tile", out, a, b, t, staged, check);
        }
    }
    return true;
}

struct ElementwiseOp {
    const char *name, *from, *to;
    int arity;
    size_t in_bytes, out_bytes;
    bool broadcasts; // copy does not
    bool (*build)(Case &, const View &, const View &, const View &);
};
template <class F> static ElementwiseOp elementwise_op() {
    const bool copies = std::is_same<F, CopyOf<typename F::R>>::value;
    return {F::name(),
            type_of<typename F::A>::name(),
            type_of<typename F::R>::name(),
            F::arity,
            sizeof(typename F::A),
            sizeof(typename F::R),
            F::arity > 0 && !copies,
            build_random_elementwise<F>};
}

static Random draw_elementwise(Draws &r) {
    static const std::vector<std::vector<ElementwiseOp>> groups = {
        {elementwise_op<AddOf<float>>(), elementwise_op<AddOf<double>>(), elementwise_op<AddOf<__half>>(),
         elementwise_op<AddOf<int32_t>>(), elementwise_op<AddOf<uint8_t>>(), elementwise_op<MultiplyOf<float>>(),
         elementwise_op<MultiplyOf<double>>(), elementwise_op<MultiplyOf<__half>>(),
         elementwise_op<MultiplyOf<int32_t>>(), elementwise_op<MaximumOf<float>>(),
         elementwise_op<MaximumOf<uint8_t>>(), elementwise_op<LessOf<float>>(), elementwise_op<LessOf<int32_t>>()},
        {elementwise_op<CopyOf<uint8_t>>(), elementwise_op<CopyOf<__half>>(), elementwise_op<CopyOf<float>>(),
         elementwise_op<CopyOf<double>>()},
        {elementwise_op<FillOf<uint8_t>>(), elementwise_op<FillOf<__half>>(), elementwise_op<FillOf<float>>(),
         elementwise_op<FillOf<double>>()},
        {elementwise_op<ConvertOf<float, double>>(), elementwise_op<ConvertOf<double, float>>(),
         elementwise_op<ConvertOf<float, __half>>(), elementwise_op<ConvertOf<__half, float>>(),
         elementwise_op<ConvertOf<uint8_t, float>>(), elementwise_op<ConvertOf<int32_t, double>>(),
         elementwise_op<ConvertOf<float, uint8_t>>(), elementwise_op<ConvertOf<float, __nv_bfloat16>>()},
        {elementwise_op<NegativeOf<float>>(), elementwise_op<NegativeOf<int32_t>>(), elementwise_op<SqrtOf<float>>(),
         elementwise_op<SqrtOf<double>>(), elementwise_op<SqrtOf<__half>>()}};
    const double which = r.real(0, 1);
    const auto &group = groups[which < 0.4 ? 0 : which < 0.6 ? 1 : which < 0.68 ? 2 : which < 0.85 ? 3 : 4];
    const ElementwiseOp op = group[size_t(r.below(int64_t(group.size())))];
    const int64_t size = r.log_uniform(6, 28);
    View v[3]; // out, x, y
    for (int attempt = 0;; attempt++) {
        const double form = r.real(0, 1);
        v[0] = View();
        v[0].nd = form < 0.4 ? 1 : form < 0.8 ? 2 : 3;
        draw_shape(r, v[0], size);
        int order[3] = {0, 0, 0};
        draw_order(r, v[0].nd, order);
        // a quarter dense throughout; three in twenty one-dimensional slices
        const bool plain = form < 0.25, alike = r.chance(0.4), sliced_all = v[0].nd == 1 && !plain;
        bool fits = true;
        for (int o = 0; o <= op.arity; o++) {
            View &w = v[o];
            int own[3] = {order[0], order[1], order[2]};
            if (o > 0) {
                w = v[0];
                if (!alike) draw_order(r, w.nd, own);
                if (op.broadcasts && w.nd > 1 && r.chance(0.25)) {
                    w.shape[r.below(w.nd)] = 1;
                    if (w.nd == 3 && r.chance(0.3)) w.shape[r.below(3)] = 1;
                }
            }
            w.bytes = o == 0 ? op.out_bytes : op.in_bytes;
            w.at = r.offset();
            w.lay_out(r, own, !plain && r.chance(0.4), !plain && r.chance(sliced_all ? 0.8 : 0.2));
            fits = fits && w.fits();
        }
        if (fits) break;
    }
    const Layout l = common_layout(v[0], op.arity >= 1 ? &v[1] : nullptr, op.arity == 2 ? &v[2] : nullptr);
    bool aligned = true, steps = false, broadcast = false, turned = false;
    for (int o = 0; o <= op.arity; o++) {
        const int fast = fastest(l, o);
        aligned = aligned && v[o].aligned(16);
        steps = steps || l.s[o][0] > 1;
        for (int d = 0; d < l.nd; d++) broadcast = broadcast || l.s[o][d] == 0;
        turned = turned || (fast > 0 && l.s[o][0] > 0);
    }
    Random d;
    d.name = op.name;
    d.dtype = strcmp(op.from, op.to) == 0 ? op.to : text("%s>%s", op.from, op.to);
    d.shape = v[0].sizes() + " out" + v[0].words();
    for (int o = 1; o <= op.arity; o++)
        d.shape += text(" %s%s", o == 1 ? "x" : "y", v[o].words().c_str()) +
                   (v[o].size() < v[0].size() ? "of" + v[o].sizes() : "");
    d.kind = turned      ? text("transposed %zu-byte", op.in_bytes)
             : broadcast ? "broadcast"
             : steps     ? "sliced"
             : l.nd > 1  ? "padded"
             : aligned   ? "dense aligned"
                         : "dense misaligned";
    for (int o = 0; o <= op.arity; o++) d.reach = std::max(d.reach, v[o].reach());
    d.copy_roof = true;
    const View vo = v[0], vx = v[1], vy = v[2];
    d.build = [=](Case &k) { return op.build(k, vo, vx, vy); };
    return d;
}

// ---------------------------------------------------------------------------------------------------------------------
// Reductions: whole arrays of any layout, and along an axis
// ---------------------------------------------------------------------------------------------------------------------
enum { FOLD_SUM, FOLD_MAX };
// what a thread folds in, what passes from kernel to kernel, and gpulite's result
template <int OP, class T> struct FoldOf { // maxima, and sums of floats
    typedef T Thread, Partial, Out;
};
template <> struct FoldOf<FOLD_SUM, int32_t> { typedef int64_t Thread, Partial, Out; };
template <> struct FoldOf<FOLD_SUM, uint8_t> { // the kernels give a block less than 2^24 elements
    typedef unsigned Thread;
    typedef int64_t Partial, Out;
};
template <> struct FoldOf<FOLD_MAX, uint8_t> {
    typedef int Thread;
    typedef uint8_t Partial, Out;
};
template <> struct FoldOf<FOLD_SUM, __half> {
    typedef float Thread, Partial;
    typedef __half Out;
};

template <int OP, class A> struct Fold {
    __host__ __device__ A operator()(A a, A b) const { return OP == FOLD_SUM ? A(a + b) : b > a ? b : a; }
    __host__ __device__ static A identity() {
        if constexpr (OP == FOLD_SUM || std::is_same<A, uint8_t>::value) return A(0);
        else if constexpr (std::is_integral<A>::value) return A(-2147483647 - 1);
        else return A(-INFINITY);
    }
};
template <class To, class From> __host__ __device__ inline To as(From v) {
    if constexpr (std::is_same<To, From>::value) return v;
    else if constexpr (std::is_same<From, __half>::value) return To(__half2float(v));
    else if constexpr (std::is_same<To, __half>::value) return __float2half(float(v));
    else return static_cast<To>(v);
}

// outer x length x inner elements with their strides, of which `length` is folded; and the strides of the output.
struct Folding {
    int64_t outer, length, inner, s_outer, s_length, s_inner, o_outer, o_inner;
};

// The threads of a group (a power of two, in a block of 256) to one value, which thread 0 of the group has.
template <int OP, class A> __device__ inline A fold_group(A a, unsigned group) {
    __shared__ A warp_value[8];
    for (unsigned o = (group < 32 ? group : 32) / 2; o > 0; o /= 2)
        a = Fold<OP, A>()(a, A(__shfl_xor_sync(warp_full, a, int(o))));
    if (group <= 32) return a;
    if ((threadIdx.x & 31) == 0) warp_value[threadIdx.x / 32] = a;
    __syncthreads();
    if (threadIdx.x % group == 0)
        for (unsigned w = 1; w < group / 32; w++) a = Fold<OP, A>()(a, warp_value[threadIdx.x / 32 + w]);
    return a;
}

// `count` elements from p on to the running value of thread `lane` of a group. V > 1: they lie side by side, and are
// read by vectors of 16 bytes wherever they start.
template <int OP, class T, int V, class A>
__device__ inline A fold_run(A a, const T *p, int64_t count, int64_t stride, unsigned lane, unsigned group) {
    const Fold<OP, A> fold;
    if (V == 1) {
        int64_t i = lane;
        for (; i + 3 * int64_t(group) < count; i += 4 * int64_t(group)) {
            T v[4];
#pragma unroll
            for (int j = 0; j < 4; j++) v[j] = p[(i + j * int64_t(group)) * stride];
#pragma unroll
            for (int j = 0; j < 4; j++) a = fold(a, as<A>(v[j]));
        }
        for (; i < count; i += group) a = fold(a, as<A>(p[i * stride]));
        return a;
    }
    int64_t head = int64_t((16 - reinterpret_cast<uintptr_t>(p) % 16) % 16 / sizeof(T));
    if (head > count) head = count;
    const int64_t packs = (count - head) / V;
    const Vector<T, V> *q = reinterpret_cast<const Vector<T, V> *>(p + head);
    for (int64_t i = lane; i < head; i += group) a = fold(a, as<A>(p[i]));
    int64_t i = lane;
    for (; i + 3 * int64_t(group) < packs; i += 4 * int64_t(group)) {
        Vector<T, V> w[4];
#pragma unroll
        for (int j = 0; j < 4; j++) w[j] = q[i + j * int64_t(group)];
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int v = 0; v < V; v++) a = fold(a, as<A>(w[j].v[v]));
    }
    for (; i < packs; i += group) {
        const Vector<T, V> w = q[i];
#pragma unroll
        for (int v = 0; v < V; v++) a = fold(a, as<A>(w.v[v]));
    }
    for (i = head + packs * V + lane; i < count; i += group) a = fold(a, as<A>(p[i]));
    return a;
}

// A group of threads a row and part of it.
template <int OP, class T, class A, class O, int V>
__global__ void __launch_bounds__(256) fold_rows_kernel(O *out, const T *x, Folding f, unsigned group, int64_t chunk) {
    const int64_t row = int64_t(blockIdx.x) * (256 / group) + threadIdx.x / group, rows = f.outer * f.inner;
    const unsigned lane = threadIdx.x % group;
    const int64_t from = int64_t(blockIdx.y) * chunk, left = f.length - from;
    A a = Fold<OP, A>::identity();
    const int64_t o = f.inner == 1 ? row : row / f.inner, i = f.inner == 1 ? 0 : row % f.inner;
    if (row < rows)
        a = fold_run<OP, T, V, A>(a, x + o * f.s_outer + i * f.s_inner + from * f.s_length, left < chunk ? left : chunk,
                                  f.s_length, lane, group);
    a = fold_group<OP, A>(a, group);
    if (row < rows && lane == 0) out[int64_t(blockIdx.y) * rows + o * f.o_outer + i * f.o_inner] = as<O>(a);
}

// Neighbouring threads take neighbouring columns, V each; rows are split over the block and over the y of the grid.
template <int OP, class T, class A, class O, int V>
__global__ void __launch_bounds__(256)
    fold_columns_kernel(O *out, const T *x, Folding f, unsigned across, int log_x, int64_t chunk) {
    __shared__ A tile[V][256];
    const Fold<OP, A> fold;
    const unsigned tx = threadIdx.x & ((1u << log_x) - 1), ty = threadIdx.x >> log_x, rows = 256u >> log_x;
    const int64_t o = blockIdx.x / across, col = ((int64_t(blockIdx.x % across) << log_x) + tx) * V;
    const int64_t from = int64_t(blockIdx.y) * chunk, to = from + chunk < f.length ? from + chunk : f.length;
    A a[V];
#pragma unroll
    for (int v = 0; v < V; v++) a[v] = Fold<OP, A>::identity();
    if (col < f.inner) {
        const T *p = x + o * f.s_outer + col * f.s_inner;
        int64_t i = from + ty;
        for (; i + 3 * int64_t(rows) < to; i += 4 * int64_t(rows)) {
            Vector<T, V> w[4];
#pragma unroll
            for (int j = 0; j < 4; j++) w[j] = load_vector<T, V>(p + (i + j * int64_t(rows)) * f.s_length, false);
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int v = 0; v < V; v++) a[v] = fold(a[v], as<A>(w[j].v[v]));
        }
        for (; i < to; i += rows) {
            const Vector<T, V> w = load_vector<T, V>(p + i * f.s_length, false);
#pragma unroll
            for (int v = 0; v < V; v++) a[v] = fold(a[v], as<A>(w.v[v]));
        }
    }
#pragma unroll
    for (int v = 0; v < V; v++) tile[v][threadIdx.x] = a[v];
    for (unsigned half = rows / 2; half > 0; half /= 2) {
        __syncthreads();
        if (ty < half)
#pragma unroll
            for (int v = 0; v < V; v++)
                tile[v][threadIdx.x] = fold(tile[v][threadIdx.x], tile[v][threadIdx.x + (half << log_x)]);
    }
    if (ty == 0 && col < f.inner)
#pragma unroll
        for (int v = 0; v < V; v++)
            out[int64_t(blockIdx.y) * f.outer * f.inner + o * f.o_outer + (col + v) * f.o_inner] =
                as<O>(tile[v][threadIdx.x]);
}

// All rows to one value a block; groups take pieces of rows in turn.
template <int OP, class T, class A, class P, int V>
__global__ void __launch_bounds__(256)
    fold_whole_kernel(P *out, const T *x, Folding f, unsigned group, int64_t pieces, int64_t chunk) {
    const int64_t groups = int64_t(gridDim.x) * (256 / group), items = f.outer * f.inner * pieces;
    A a = Fold<OP, A>::identity();
    for (int64_t i = int64_t(blockIdx.x) * (256 / group) + threadIdx.x / group; i < items; i += groups) {
        const int64_t row = pieces == 1 ? i : i / pieces, from = (i - row * pieces) * chunk, left = f.length - from;
        const int64_t o = f.inner == 1 ? row : row / f.inner, n = row - o * f.inner;
        a = fold_run<OP, T, V, A>(a, x + o * f.s_outer + n * f.s_inner + from * f.s_length, left < chunk ? left : chunk,
                                  f.s_length, threadIdx.x % group, group);
    }
    a = fold_group<OP, A>(a, 32);
    __shared__ A value[8];
    if ((threadIdx.x & 31) == 0) value[threadIdx.x / 32] = a;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) a = Fold<OP, A>()(a, value[w]);
        out[blockIdx.x] = as<P>(a);
    }
}

// The element that has number i in the order of a Folding's outer, inner, length.
template <class T> struct ElementAt {
    const T *x;
    int64_t s_outer, s_length, s_inner;
    Divisor by_length, by_inner;
    __host__ __device__ T operator()(unsigned i) const {
        const unsigned q = by_length.divide(i), l = i - q * by_length.by, o = by_inner.divide(q),
                       n = q - o * by_inner.by;
        return x[o * s_outer + l * s_length + n * s_inner];
    }
};
struct RowStart { // where row i starts, plus a constant
    int64_t inner, s_outer, s_inner, plus;
    __host__ __device__ int64_t operator()(int64_t i) const {
        return plus + (inner == 1 ? i * s_outer : i / inner * s_outer + i % inner * s_inner);
    }
};

// References in double: sum, sum of magnitudes and maximum of each output and part of it; with y, of the products with
// a vector's elements.
struct Folded {
    double sum, abs, top;
};
template <class T>
__global__ void reference_kernel(Folded *reference, const T *x, Folding f, const T *y, int64_t y_stride, bool whole,
                                 unsigned parts, bool by_thread) {
    __shared__ Folded block[256];
    const int64_t outputs = whole ? 1 : f.outer * f.inner, length = whole ? f.outer * f.length * f.inner : f.length;
    const unsigned mine = by_thread ? 0 : threadIdx.x, step = by_thread ? 1 : blockDim.x;
    const int64_t first = by_thread ? grid_first() : int64_t(blockIdx.x);
    const int64_t next = by_thread ? grid_step() : int64_t(gridDim.x);
    for (int64_t t = first; t < outputs * parts; t += next) {
        const int64_t o = t / parts, part = t % parts, from = length * part / parts, to = length * (part + 1) / parts;
        Folded r = {0, 0, -INFINITY};
        for (int64_t i = from + mine; i < to; i += step) {
            const int64_t l = whole ? i % f.length : i, row = whole ? i / f.length : o;
            double v = to_double(x[row / f.inner * f.s_outer + row % f.inner * f.s_inner + l * f.s_length]);
            if (y) v *= to_double(y[l * y_stride]);
            r.sum += v;
            r.abs += fabs(v);
            r.top = v > r.top ? v : r.top;
        }
        if (!by_thread) {
            block[threadIdx.x] = r;
            __syncthreads();
            for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
                if (threadIdx.x < half) {
                    Folded &a = block[threadIdx.x];
                    const Folded &b = block[threadIdx.x + half];
                    a.sum += b.sum;
                    a.abs += b.abs;
                    a.top = b.top > a.top ? b.top : a.top;
                }
                __syncthreads();
            }
            r = block[0];
            __syncthreads();
        }
        if (by_thread || threadIdx.x == 0) reference[t] = r;
    }
}
template <class O>
__global__ void check_fold_kernel(unsigned long long *count, const O *out, const Folded *reference, int64_t outputs,
                                  unsigned parts, int op, double tolerance) {
    unsigned long long wrong = 0;
    for (int64_t o = grid_first(); o < outputs; o += grid_step()) {
        Folded r = reference[o * parts];
        for (unsigned part = 1; part < parts; part++) {
            const Folded b = reference[o * parts + part];
            r.sum += b.sum;
            r.abs += b.abs;
            r.top = b.top > r.top ? b.top : r.top;
        }
        const double got = to_double(out[o]);
        if (!(op == FOLD_SUM ? fabs(got - r.sum) <= tolerance * r.abs : got == r.top)) wrong++;
    }
    if (wrong) atomicAdd(count, wrong);
}

// Room for the references of a case; compute() enqueues them, judge<O>() compares an output with them.
template <class T> struct Reference {
    Folding f;
    bool whole, by_thread;
    int64_t outputs;
    unsigned parts;
    Folded *values;
    Reference(const Folding &folding, bool all) : f(folding), whole(all) {
        const int64_t length = whole ? f.outer * f.length * f.inner : f.length;
        outputs = whole ? 1 : f.outer * f.inner;
        by_thread = !whole && length <= 64;
        parts = unsigned(whole ? 512 : by_thread ? 1 : std::max<int64_t>(1, std::min(4096 / outputs, length / 1024)));
        values = static_cast<Folded *>(take(size_t(outputs) * parts * sizeof(Folded)));
    }
    void compute(const T *x, const T *y, int64_t y_stride) const {
        const int64_t blocks = by_thread ? (outputs + 255) / 256 : outputs * parts;
        reference_kernel<T><<<unsigned(std::min<int64_t>(blocks, 1 << 18)), 256, 0, stream>>>(values, x, f, y, y_stride,
                                                                                              whole, parts, by_thread);
        MUST(cudaGetLastError());
    }
    template <class O> std::string judge(const O *out, int op, double tolerance) const {
        reset_bad();
        check_fold_kernel<O><<<unsigned(std::min<int64_t>((outputs + 255) / 256, 8192)), 256, 0, stream>>>(
            bad, out, values, outputs, parts, op, tolerance);
        return verdict(outputs);
    }
};

template <class T> struct dtype_of { // of results: also int64
    static gpul_dtype value() { return type_of<T>::dtype; }
};
template <> struct dtype_of<int64_t> {
    static gpul_dtype value() { return GPUL_I64; }
};

// Splits of `length` so that some 8 blocks a multiprocessor have work, and at least `least` elements each.
static int64_t splits_of(int64_t blocks, int64_t length, int64_t least) {
    const int64_t wanted = (int64_t(8) * sm_count() + blocks - 1) / blocks;
    return std::max<int64_t>(1, std::min<int64_t>({wanted, length / least, 16384}));
}

template <int OP, class T>
static void add_fold_rows(Case &k, void *to, const T *x, const Folding &f, const std::function<std::string()> &check) {
    typedef FoldOf<OP, T> Of;
    typedef typename Of::Thread A;
    typedef typename Of::Partial P;
    typedef typename Of::Out O;
    const int V = int(16 / sizeof(T));
    O *out = static_cast<O *>(to);
    const int64_t rows = f.outer * f.inner, packs = f.s_length == 1 ? (f.length + V - 1) / V : f.length;
    unsigned group = 1;
    while (group < 32 && int64_t(group) * 4 < packs) group *= 2;
    if (packs >= 1024) group = 256;
    const int64_t blocks = (rows + 256 / group - 1) / (256 / group);
    const int64_t splits = group < 256 ? 1 : splits_of(blocks, f.length, 8192),
                  chunk = (f.length + splits - 1) / splits;
    P *partial = splits > 1 ? static_cast<P *>(take(size_t(splits * rows) * sizeof(P))) : nullptr;
    if (splits > 1 && !partial) return;
    const Folding rest = {1, splits, rows, 0, rows, 1, 0, 1};
    k.add(
        "rows",
        [=]() {
            const dim3 grid{unsigned(blocks), unsigned(splits)};
            const auto run = [&](auto *target, auto vectors) {
                typedef typename std::remove_pointer<decltype(target)>::type Target;
                fold_rows_kernel<OP, T, A, Target, decltype(vectors)::value>
                    <<<grid, 256, 0, stream>>>(target, x, f, group, chunk);
            };
            const std::integral_constant<int, V> wide{};
            const std::integral_constant<int, 1> narrow{};
            if (splits == 1 && f.s_length == 1) run(out, wide);
            else if (splits == 1) run(out, narrow);
            else {
                if (f.s_length == 1) run(partial, wide);
                else run(partial, narrow);
                if (!launched()) return false;
                fold_rows_kernel<OP, P, typename FoldOf<OP, P>::Thread, O, 1>
                    <<<blocks_of(rows, 8), 256, 0, stream>>>(out, partial, rest, 32, splits);
            }
            return launched();
        },
        check);
}

template <int OP, class T>
static void add_fold_columns(Case &k, void *to, const T *x, const Folding &f,
                             const std::function<std::string()> &check) {
    typedef FoldOf<OP, T> Of;
    typedef typename Of::Thread A;
    typedef typename Of::Partial P;
    typedef typename Of::Out O;
    O *out = static_cast<O *>(to);
    const int W = int(16 / sizeof(T));
    const bool wide_fits = f.s_inner == 1 && f.inner % W == 0 && f.s_length % W == 0 && f.s_outer % W == 0 &&
                           reinterpret_cast<uintptr_t>(x) % 16 == 0;
    for (int vectors = 0; vectors <= (wide_fits ? 1 : 0); vectors++) {
        const int64_t items = vectors ? f.inner / W : f.inner;
        int log_x = 0;
        while (log_x < 5 && (int64_t(1) << log_x) < items) log_x++;
        const int64_t across = (items + (int64_t(1) << log_x) - 1) >> log_x, outputs = f.outer * f.inner;
        const int64_t splits = splits_of(f.outer * across, f.length, 8 * (256 >> log_x));
        const int64_t chunk = (f.length + splits - 1) / splits;
        P *partial = splits > 1 ? static_cast<P *>(take(size_t(splits * outputs) * sizeof(P))) : nullptr;
        if (splits > 1 && !partial) return;
        const Folding rest = {1, splits, outputs, 0, outputs, 1, 0, 1};
        // a warp an output where there are few; else 32 columns a block
        int log_rest = 0;
        while (log_rest < 5 && (int64_t(1) << log_rest) < outputs) log_rest++;
        const int64_t across_rest = (outputs + (int64_t(1) << log_rest) - 1) >> log_rest;
        k.add(
            vectors ? "columns16" : "columns",
            [=]() {
                const dim3 grid{unsigned(f.outer * across), unsigned(splits)};
                const auto run = [&](auto *target, auto width) {
                    typedef typename std::remove_pointer<decltype(target)>::type Target;
                    fold_columns_kernel<OP, T, A, Target, decltype(width)::value>
                        <<<grid, 256, 0, stream>>>(target, x, f, unsigned(across), log_x, chunk);
                };
                const std::integral_constant<int, int(16 / sizeof(T))> wide{};
                const std::integral_constant<int, 1> narrow{};
                if (splits == 1 && vectors) run(out, wide);
                else if (splits == 1) run(out, narrow);
                else {
                    if (vectors) run(partial, wide);
                    else run(partial, narrow);
                    if (!launched()) return false;
                    fold_columns_kernel<OP, P, typename FoldOf<OP, P>::Thread, O, 1>
                        <<<unsigned(across_rest), 256, 0, stream>>>(out, partial, rest, unsigned(across_rest), log_rest,
                                                                    splits);
                }
                return launched();
            },
            check);
    }
}

// axis >= 0: of v's; -1: all. x: a view of T in big_a; the result: dense, from element out_at of big_c on.
template <int OP, class T> static bool build_random_fold(Case &k, const View &v, int axis, int64_t out_at) {
    typedef FoldOf<OP, T> Of;
    typedef typename Of::Partial P;
    typedef typename Of::Out O;
    const bool whole = axis < 0;
    const T *x = v.in<const T>(big_a);
    O *out = reinterpret_cast<O *>(big_c) + out_at;
    const int64_t end = v.end(), total = v.size();
    Folding f = {1, 1, 1, 0, 1, 0, 0, 1};
    bool dense = false;
    if (whole) {
        const Layout l = common_layout(v, nullptr, nullptr); // dimension 0 the fastest in memory
        dense = l.nd == 1 && l.s[0][0] == 1;
        f = {l.n[2], l.n[0], l.n[1], l.s[0][2], l.s[0][0], l.s[0][1], 0, 0};
    } else {
        // the kept dimensions, in order, merged into one where they can be
        int64_t n[2] = {1, 1}, s[2] = {0, 0};
        int many = 0;
        for (int d = 0; d < v.nd; d++)
            if (d != axis && v.shape[d] > 1) {
                n[many] = v.shape[d];
                s[many++] = v.stride[d];
            }
        if (many == 2 && s[0] == s[1] * n[1]) {
            n[0] *= n[1];
            s[0] = s[1];
            many = 1;
        }
        f.length = v.shape[axis];
        f.s_length = v.stride[axis];
        if (many == 2) {
            f.outer = n[0];
            f.s_outer = s[0];
            f.inner = n[1];
            f.s_inner = s[1];
        } else if (f.length > 1 && s[0] > f.s_length) { // rows
            f.outer = n[0];
            f.s_outer = s[0];
        } else {
            f.inner = n[0];
            f.s_inner = s[0];
        }
        f.o_outer = f.inner;
    }
    const int64_t outputs = whole ? 1 : f.outer * f.inner, length = whole ? total : f.length;
    if (size_t(out_at + outputs) * sizeof(O) > big_bytes) return false;
    k.bytes = v.moved() + double(outputs) * double(sizeof(O));
    k.flops = double(total);
    k.out = out;
    k.out_bytes = size_t(outputs) * sizeof(O);
    const Reference<T> reference(f, whole);
    if (!reference.values) return false;
    k.draw = [=](uint64_t seed) {
        const double width = sizeof(T) == 1 ? 256 : std::is_same<T, int32_t>::value ? 1e6 : 1;
        generate<T>(big_a, end, UNIFORM, seed, sizeof(T) == 1 ? 0 : -width, width);
        reference.compute(x, nullptr, 0);
    };
    const auto check = [=](double tolerance) {
        return std::function<std::string()>([=]() { return reference.template judge<O>(out, OP, tolerance); });
    };
    const bool integer = type_of<T>::eps() == 0.0;
    const double ours = integer ? 0 : sizeof(T) == 8 ? 0x1p-46 : sizeof(T) == 4 ? 0x1p-23 : 0x1p-10;
    const auto loose = check(integer ? 0 : sizeof(T) == 2 ? 0x1p-9 : 1e3 * type_of<T>::eps());
    const gpul_array a = v.array(big_a, type_of<T>::dtype);
    gpul_shape shape = gpul_0d();
    if (!whole && v.nd == 2) shape = gpul_1d(v.shape[1 - axis]);
    if (!whole && v.nd == 3) shape = gpul_2d(v.shape[axis == 0 ? 1 : 0], v.shape[axis == 2 ? 1 : 2]);
    gpul_array y = wrap(out, dtype_of<O>::value(), shape);
    k.add(
        "gpulite",
        [=]() mutable {
            return ours_ok(
                gpul_reduce(&y, &a, OP == FOLD_SUM ? GPUL_SUM : GPUL_MAX, whole ? GPUL_ALL_AXES : axis, stream));
        },
        check(ours));
    const Fold<OP, P> fold;
    const P zero = Fold<OP, P>::identity();
    const int V = int(16 / sizeof(T));
    if (whole) {
        if (dense)
            k.add_cub(
                "cub",
                [=](void *t, size_t &b) {
                    return cub::DeviceReduce::Reduce(t, b, x, out, int(total), fold, zero, stream);
                },
                loose);
        else {
            ElementAt<T> map = {x, f.s_outer, f.s_length, f.s_inner, Divisor(f.length), Divisor(f.inner)};
            const auto from = thrust::make_transform_iterator(thrust::counting_iterator<unsigned>(0), map);
            k.add_cub(
                "cub-indexed",
                [=](void *t, size_t &b) {
                    return cub::DeviceReduce::Reduce(t, b, from, out, int(total), fold, zero, stream);
                },
                loose);
        }
        unsigned group = 1;
        const int64_t rows = f.outer * f.inner, packs = f.s_length == 1 ? (f.length + V - 1) / V : f.length;
        while (group < 256 && int64_t(group) * 4 < packs) group *= 2;
        const int64_t pieces = group < 256 ? 1 : splits_of(rows, f.length, 8192);
        const int64_t chunk = (f.length + pieces - 1) / pieces, a_block = 256 / group;
        const unsigned blocks =
            unsigned(std::min<int64_t>((rows * pieces + a_block - 1) / a_block, int64_t(8) * sm_count()));
        P *partial = static_cast<P *>(take(size_t(blocks) * sizeof(P)));
        const Folding rest = {1, int64_t(blocks), 1, 0, 1, 0, 0, 1};
        if (!dense && partial)
            k.add(
                "rows",
                [=]() {
                    if (f.s_length == 1)
                        fold_whole_kernel<OP, T, typename Of::Thread, P, int(16 / sizeof(T))>
                            <<<blocks, 256, 0, stream>>>(partial, x, f, group, pieces, chunk);
                    else
                        fold_whole_kernel<OP, T, typename Of::Thread, P, 1>
                            <<<blocks, 256, 0, stream>>>(partial, x, f, group, pieces, chunk);
                    if (!launched()) return false;
                    fold_rows_kernel<OP, P, typename FoldOf<OP, P>::Thread, O, 1>
                        <<<1, 256, 0, stream>>>(out, partial, rest, 256, blocks);
                    return launched();
                },
                loose);
        return true;
    }
    // rows, where the axis is the fastest or short; columns along the fastest other dimension
    Folding g = f;
    if (f.outer > 1 && f.inner > 1 && f.s_outer < f.s_inner)
        g = {f.inner, f.length, f.outer, f.s_inner, f.s_length, f.s_outer, f.o_inner, f.o_outer};
    const bool by_rows = g.inner == 1 || g.s_length <= g.s_inner;
    if (f.s_length == 1 && length > 1) {
        const auto begin = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0),
                                                           RowStart{f.inner, f.s_outer, f.s_inner, 0});
        const auto finish = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0),
                                                            RowStart{f.inner, f.s_outer, f.s_inner, length});
        k.add_cub(
            "cub-segmented",
            [=](void *t, size_t &b) {
                return cub::DeviceSegmentedReduce::Reduce(t, b, x, out, outputs, begin, finish, fold, zero, stream);
            },
            loose);
    }
    if (by_rows || length <= 64) add_fold_rows<OP, T>(k, out, x, g, loose);
    if (!by_rows) add_fold_columns<OP, T>(k, out, x, g, loose);
    if constexpr (OP == FOLD_SUM && (std::is_same<T, float>::value || std::is_same<T, double>::value)) {
        const int64_t most = int64_t(1) << 31;
        T *ones = reinterpret_cast<T *>(big_b);
        const auto with_ones = k.draw;
        const bool rows = f.s_length == 1 && f.inner == 1, columns = f.s_inner == 1 && f.outer == 1;
        const int64_t ld = rows ? f.s_outer : f.s_length;
        if ((rows || columns) && ld >= (rows ? length : f.inner) && ld < most) {
            k.draw = [=](uint64_t seed) {
                with_ones(seed);
                generate<T>(big_b, length, CONSTANT, seed, 1.0, 0.0);
            };
            const cublasOperation_t t = rows ? CUBLAS_OP_T : CUBLAS_OP_N;
            const int m = int(rows ? length : f.inner), n = int(rows ? f.outer : length);
            k.add(
                "cublas-gemv", [=]() { return ok(blas_gemv(t, m, n, x, int(ld), ones, out)); }, loose);
        }
    }
    return true;
}

template <class T> static std::function<bool(Case &)> whole_builder(int op, int64_t n, int64_t x_at, int64_t y_at) {
    return [=](Case &k) { return build_reduce<T>(k, op, n, x_at, y_at); };
}

static Random draw_reduce(Draws &r) {
    Random d;
    const int64_t size = r.log_uniform(6, 28);
    if (r.chance(0.4)) { // a vector
        static const struct {
            int op;
            const char *name;
        } ops[] = {{GPUL_SUM, "sum"},       {GPUL_MIN, "min"},   {GPUL_MAX, "max"}, {GPUL_ABS_SUM, "abs-sum"},
                   {GPUL_ARGMIN, "argmin"}, {GPUL_MEAN, "mean"}, {GPUL_VAR, "var"}, {DOT, "dot"}};
        const auto &op = ops[r.below(8)];
        const int64_t dtype = r.below(op.op == DOT ? 2 : 3), x_at = r.offset(), y_at = r.offset();
        const int64_t bytes = dtype == 1 ? 8 : 4, end = std::max(x_at, op.op == DOT ? y_at : 0) + size;
        d.name = op.name;
        d.dtype = dtype == 0 ? "f32" : dtype == 1 ? "f64" : "i32";
        d.shape = text("%lld x+%lld", (long long)size, (long long)x_at) +
                  (op.op == DOT ? text(" y+%lld", (long long)y_at) : "");
        d.kind = x_at * bytes % 16 || (op.op == DOT && y_at * bytes % 16) ? "whole misaligned" : "whole aligned";
        d.reach = end * bytes;
        d.device_scalars = true;
        d.build = dtype == 0   ? whole_builder<float>(op.op, size, x_at, y_at)
                  : dtype == 1 ? whole_builder<double>(op.op, size, x_at, y_at)
                               : whole_builder<int32_t>(op.op, size, x_at, y_at);
        return d;
    }
    static const struct {
        const char *name, *dtype;
        size_t bytes;
        bool (*build)(Case &, const View &, int, int64_t);
        size_t out_bytes;
    } folds[] = {{"sum", "f32", 4, build_random_fold<FOLD_SUM, float>, 4},
                 {"sum", "f64", 8, build_random_fold<FOLD_SUM, double>, 8},
                 {"sum", "i32", 4, build_random_fold<FOLD_SUM, int32_t>, 8},
                 {"sum", "u8", 1, build_random_fold<FOLD_SUM, uint8_t>, 8},
                 {"sum", "f16", 2, build_random_fold<FOLD_SUM, __half>, 2},
                 {"max", "f32", 4, build_random_fold<FOLD_MAX, float>, 4},
                 {"max", "i32", 4, build_random_fold<FOLD_MAX, int32_t>, 4},
                 {"max", "u8", 1, build_random_fold<FOLD_MAX, uint8_t>, 1}};
    const auto &op = folds[r.below(8)];
    const bool whole = r.chance(0.3);
    View v;
    for (int attempt = 0;; attempt++) {
        v = View();
        v.bytes = op.bytes;
        v.nd = whole ? int(1 + r.below(3)) : int(2 + r.below(2));
        draw_shape(r, v, size);
        int order[3] = {0, 0, 0};
        draw_order(r, v.nd, order);
        v.at = r.offset();
        v.lay_out(r, order, r.chance(0.4), r.chance(0.25));
        if (v.fits()) break;
    }
    const int axis = whole ? -1 : int(r.below(v.nd));
    const int64_t out_at = r.offset();
    const Layout l = common_layout(v, nullptr, nullptr);
    int fast = -1; // v's dimension that is the fastest in memory
    for (int i = 0; i < v.nd; i++)
        if (v.shape[i] > 1 && (fast < 0 || v.stride[i] < v.stride[fast])) fast = i;
    const char *const layout = l.s[0][0] > 1   ? "sliced"
                               : l.nd > 1      ? "padded"
                               : v.aligned(16) ? "aligned"
                                               : "misaligned";
    d.name = op.name;
    d.dtype = op.dtype;
    d.shape = v.sizes() + " x" + v.words() + (whole ? "" : text(" axis=%d out+%lld", axis, (long long)out_at));
    d.kind = text("%s %s", whole ? "whole" : axis == fast ? "rows" : "columns", layout);
    const int64_t outputs = whole ? 1 : v.size() / v.shape[axis];
    d.reach = std::max(v.reach(), (out_at + outputs) * int64_t(op.out_bytes));
    const auto build = op.build;
    d.build = [=](Case &k) { return build(k, v, axis, out_at); };
    return d;
}

// ---------------------------------------------------------------------------------------------------------------------
// gemv
// ---------------------------------------------------------------------------------------------------------------------
static cublasStatus_t blas_gemv_steps(cublasOperation_t t, int m, int n, const float *A, int lda, const float *x,
                                      int incx, float *y) {
    const float one = 1, zero = 0;
    return cublasSgemv(cublas, t, m, n, &one, A, lda, x, incx, &zero, y, 1);
}
static cublasStatus_t blas_gemv_steps(cublasOperation_t t, int m, int n, const double *A, int lda, const double *x,
                                      int incx, double *y) {
    const double one = 1, zero = 0;
    return cublasDgemv(cublas, t, m, n, &one, A, lda, x, incx, &zero, y, 1);
}

// of a matrix, as BLAS takes it
static bool is_row_major(const View &v) { return v.stride[v.nd - 1] == 1 && v.stride[v.nd - 2] >= v.shape[v.nd - 1]; }
static int leading_dimension(const View &v) { return int(v.stride[is_row_major(v) ? v.nd - 2 : v.nd - 1]); }

template <class T> static bool build_random_gemv(Case &k, const View &va, const View &vx, int64_t y_at) {
    const T *A = va.in<const T>(big_a), *x = vx.in<const T>(big_b);
    T *y = reinterpret_cast<T *>(big_c) + y_at;
    const int64_t rows = va.shape[0], cols = va.shape[1], a_end = va.end(), x_end = vx.end(), incx = vx.stride[0];
    const bool row_major = is_row_major(va);
    const Strides as = {va.stride[0], va.stride[1]};
    k.bytes = va.moved() + vx.moved() + double(rows) * double(sizeof(T));
    k.flops = 2.0 * double(rows) * double(cols);
    k.out = y;
    k.out_bytes = size_t(rows) * sizeof(T);
    const Reference<T> reference({rows, cols, 1, as.row, as.col, 0, 1, 1}, false);
    if (!reference.values) return false;
    k.draw = [=](uint64_t seed) {
        generate<T>(big_a, a_end, UNIFORM, seed, -1.0, 1.0);
        generate<T>(big_b, x_end, UNIFORM, ~seed, -1.0, 1.0);
        reference.compute(A, x, incx);
    };
    const auto check = [=]() { return reference.judge(y, FOLD_SUM, double(cols + 2) * type_of<T>::eps()); };
    const gpul_array a = va.array(big_a, type_of<T>::dtype), v = vx.array(big_b, type_of<T>::dtype);
    gpul_array out = wrap(y, type_of<T>::dtype, gpul_1d(rows));
    k.add(
        "gpulite", [=]() mutable { return ours_ok(gpul_gemv(&out, 1.0, &a, &v, 0.0, stream)); }, check);
    const int m = int(rows), n = int(cols), lda = leading_dimension(va), inc = int(incx);
    const cublasOperation_t t = row_major ? CUBLAS_OP_T : CUBLAS_OP_N, other = row_major ? CUBLAS_OP_N : CUBLAS_OP_T;
    const cublasComputeType_t how = sizeof(T) == 8 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    k.add(
        "cublas-gemv",
        [=]() {
            return ok(row_major ? blas_gemv_steps(t, n, m, A, lda, x, inc, y)
                                : blas_gemv_steps(t, m, n, A, lda, x, inc, y));
        },
        check);
    // y as a column, A x, where x has no gaps; and as a row, x^T A^T
    if (inc == 1)
        k.add(
            "cublas-gemm-n1",
            [=]() { return ok(blas_gemm(t, CUBLAS_OP_N, m, 1, n, A, lda, x, n, y, m, type_of<T>::cuda, how)); }, check);
    k.add(
        "cublas-gemm-m1",
        [=]() { return ok(blas_gemm(CUBLAS_OP_N, other, 1, m, n, x, inc, A, lda, y, 1, type_of<T>::cuda, how)); },
        check);
    return true;
}

// A matrix in either order, with a leading dimension of its own; tidy: aligned, with rows of whole 32 elements.
static View draw_matrix(Draws &r, int64_t rows, int64_t cols, size_t bytes, bool tidy) {
    View v;
    v.nd = 2;
    v.bytes = bytes;
    v.shape[0] = rows;
    v.shape[1] = cols;
    v.at = tidy ? 0 : r.offset();
    const bool row_major = r.chance(0.5);
    const int64_t length = row_major ? cols : rows;
    v.stride[row_major ? 1 : 0] = 1;
    v.stride[row_major ? 0 : 1] = tidy ? (length + 31) / 32 * 32 : r.leading(length);
    return v;
}

static Random draw_gemv(Draws &r) {
    Random d;
    const bool wide = r.chance(0.5);
    const size_t bytes = wide ? 8 : 4;
    const int64_t size = r.log_uniform(6, 28);
    View shape, a, x;
    shape.nd = 2;
    x.bytes = bytes;
    do {
        draw_shape(r, shape, size);
        a = draw_matrix(r, shape.shape[0], shape.shape[1], bytes, r.chance(0.2));
        x.shape[0] = a.shape[1];
        x.at = r.offset();
        x.stride[0] = r.chance(0.8) ? 1 : 2 + r.below(4);
    } while (!a.fits() || !x.fits());
    const int64_t y_at = r.offset();
    const bool row_major = is_row_major(a);
    d.name = "gemv";
    d.dtype = wide ? "f64" : "f32";
    d.shape = text("%s A%s x%s y+%lld", a.sizes().c_str(), a.words().c_str(), x.words().c_str(), (long long)y_at);
    const bool aligned = a.aligned(16) && leading_dimension(a) * int64_t(bytes) % 16 == 0;
    d.kind = text("%s %s", row_major ? "by rows" : "by columns", aligned ? "aligned" : "misaligned");
    d.reach = std::max({a.reach(), x.reach(), (y_at + a.shape[0]) * int64_t(bytes)});
    d.build = [=](Case &k) {
        return wide ? build_random_gemv<double>(k, a, x, y_at) : build_random_gemv<float>(k, a, x, y_at);
    };
    return d;
}

// ---------------------------------------------------------------------------------------------------------------------
// Histogram
// ---------------------------------------------------------------------------------------------------------------------
// The bin of v among edges[0..bins] that never decrease, by NumPy's rule; -1 where there is none.
template <class E> __device__ inline int bin_between(E v, const E *edges, int bins) {
    if (!(v >= edges[0] && v <= edges[bins])) return -1;
    int lo = 0, hi = bins; // edges[lo] <= v, and v < edges[hi] or hi == bins
    while (hi - lo > 1) {
        const int middle = (lo + hi) / 2;
        if (v >= edges[middle]) lo = middle;
        else hi = middle;
    }
    return lo;
}

template <class T, class E>
__global__ void count_edges_kernel(unsigned *counts, const T *x, int64_t n, const E *edges, int bins) {
    const int64_t rounds = (n + grid_step() - 1) / grid_step();
    for (int64_t r = 0; r < rounds; r++) {
        const int64_t i = r * grid_step() + grid_first();
        const int bin = i < n ? bin_between(E(x[i]), edges, bins) : -1;
        const unsigned same = __match_any_sync(warp_full, bin); // one atomic a bin and warp
        if (bin >= 0 && (same & ((1u << (threadIdx.x & 31)) - 1)) == 0) atomicAdd(counts + bin, unsigned(__popc(same)));
    }
}

// What a programmer writes for bins that fit in shared memory: `copies` histograms a block, which its warps share, and
// vectors of 16 bytes wherever x starts. Even bins by one product, as CUB takes them; others between their edges.
template <class T, class E, bool EDGES>
__global__ void __launch_bounds__(512) count_shared_kernel(unsigned *counts, const T *x, int64_t n, const E *edges,
                                                           int bins, int copies, E lo, E hi, E scale) {
    typedef typename std::conditional<sizeof(T) == 1, float, E>::type C; // a byte is exact in both
    extern __shared__ __align__(16) unsigned char count_bytes[];
    E *own_edges = reinterpret_cast<E *>(count_bytes);
    unsigned *own =
        reinterpret_cast<unsigned *>(count_bytes + (EDGES ? (sizeof(E) * size_t(bins + 1) + 15) / 16 * 16 : 0));
    for (int i = int(threadIdx.x); i < bins * copies; i += int(blockDim.x)) own[i] = 0;
    if (EDGES)
        for (int i = int(threadIdx.x); i <= bins; i += int(blockDim.x)) own_edges[i] = edges[i];
    __syncthreads();
    unsigned *mine = own + int(threadIdx.x / 32) % copies * bins;
    const auto add = [&](T t) {
        int bin;
        if (EDGES) {
            bin = bin_between(E(t), own_edges, bins);
            if (bin < 0) return;
        } else {
            const C v = C(t);
            if (!(v >= C(lo) && v <= C(hi))) return;
            bin = int((v - C(lo)) * C(scale));
            bin = bin < bins ? bin : bins - 1;
        }
        atomicAdd(mine + bin, 1u);
    };
    const int V = int(16 / sizeof(T));
    int64_t head = int64_t((16 - reinterpret_cast<uintptr_t>(x) % 16) % 16 / sizeof(T));
    if (head > n) head = n;
    const int64_t packs = (n - head) / V;
    const Vector<T, V> *q = reinterpret_cast<const Vector<T, V> *>(x + head);
    int64_t i = grid_first();
    for (; i + grid_step() < packs; i += 2 * grid_step()) {
        const Vector<T, V> w0 = q[i], w1 = q[i + grid_step()];
#pragma unroll
        for (int v = 0; v < V; v++) add(w0.v[v]);
#pragma unroll
        for (int v = 0; v < V; v++) add(w1.v[v]);
    }
    for (; i < packs; i += grid_step()) {
        const Vector<T, V> w = q[i];
#pragma unroll
        for (int v = 0; v < V; v++) add(w.v[v]);
    }
    if (grid_first() < head) add(x[grid_first()]);
    for (i = head + packs * V + grid_first(); i < n; i += grid_step()) add(x[i]);
    __syncthreads();
    for (int b = int(threadIdx.x); b < bins; b += int(blockDim.x)) {
        unsigned sum = 0;
        for (int c = 0; c < copies; c++) sum += own[c * bins + b];
        if (sum) atomicAdd(counts + b, sum);
    }
}

struct HistogramDraw {
    int dist, bins;
    int64_t n, at;
    double data_lo, data_hi, lo, hi;
    bool edges;
    uint64_t seed; // of the edges
};

template <class T> static bool build_random_histogram(Case &k, const HistogramDraw &h) {
    typedef typename std::conditional<std::is_same<T, float>::value, float, double>::type E;
    typedef typename std::conditional<std::is_integral<T>::value, int, T>::type L; // CUB's levels
    const bool integer = std::is_integral<T>::value;
    const int bins = h.bins;
    const int64_t n = h.n;
    const T *x = reinterpret_cast<const T *>(big_a) + h.at;
    int *counts = reinterpret_cast<int *>(big_c);
    unsigned *wanted = reinterpret_cast<unsigned *>(side);
    E *edges = reinterpret_cast<E *>(side + side_bytes / 4);
    L *levels = reinterpret_cast<L *>(side + side_bytes / 2);
    k.bytes = double(n) * double(sizeof(T)) + 4.0 * bins;
    k.out = counts;
    k.out_bytes = sizeof(int) * size_t(bins);

    // edges that everybody has exactly: of floats in f32, of integers whole
    std::vector<double> exact(size_t(bins) + 1);
    if (h.edges) {
        double sum = 0;
        for (int i = 0; i <= bins; i++) {
            exact[size_t(i)] = sum;
            sum -= std::log(1 - unit(h.seed, uint64_t(i)));
        }
        const double all = exact[size_t(bins)];
        for (double &e : exact) {
            e = h.lo + (h.hi - h.lo) * (e / all);
            e = integer ? std::floor(e) : sizeof(T) == 4 ? double(float(e)) : e;
        }
    } else if (!ours_ok(gpul_histogram_edges(exact.data(), bins, type_of<T>::dtype, h.lo, h.hi))) {
        die(__FILE__, __LINE__);
    }
    const std::vector<E> host_edges(exact.begin(), exact.end());
    const std::vector<L> host_levels(exact.begin(), exact.end());
    const double scale = bins / (h.hi - h.lo);
    // numpy.linspace: in double, product and sum rounded apart, then to the type of the edges
    std::string edges_wrong;
    const double step = (h.hi - h.lo) / bins;
    for (int i = 0; !h.edges && i <= bins; i++) {
        volatile double product = i * step;
        const double e = i == bins ? h.hi : product + h.lo;
        if (exact[size_t(i)] != double(E(e)))
            edges_wrong = text("edge %d is %.17g instead of %.17g", i, exact[size_t(i)], e);
    }
    k.draw = [=](uint64_t seed) {
        const double width = h.data_hi - h.data_lo, middle = h.data_lo + width / 2;
        const int64_t end = h.at + n;
        MUST(cudaMemcpyAsync(edges, host_edges.data(), host_edges.size() * sizeof(E), cudaMemcpyHostToDevice, stream));
        if (h.dist == NORMAL) generate<T>(big_a, end, NORMAL, seed, middle, width / 8);
        else if (h.dist == CONSTANT) generate<T>(big_a, end, CONSTANT, seed, h.data_lo + 0.37 * width, 0.0);
        else if (h.dist == EXPONENTIAL) generate<T>(big_a, end, EXPONENTIAL, seed, h.data_lo, width / 8);
        else generate<T>(big_a, end, h.dist, seed, h.data_lo, h.data_hi);
        MUST(cudaMemsetAsync(wanted, 0, sizeof(unsigned) * size_t(bins), stream));
        if (h.edges) count_edges_kernel<T, E><<<2112, 512, 0, stream>>>(wanted, x, n, edges, bins);
        else count_kernel<T, E><<<2112, 512, 0, stream>>>(wanted, x, n, edges, bins, h.lo, scale);
        MUST(cudaGetLastError());
    };
    const auto count_off = [=](unsigned long long v[2]) {
        reset_bad();
        check_counts_kernel<<<256, 256, 0, stream>>>(bad, counts, wanted, bins);
        read_bad(v);
    };
    const std::function<std::string()> exact_counts = [=]() -> std::string {
        unsigned long long v[2];
        count_off(v);
        return v[0] == 0 ? "" : text("%llu of %d bins are wrong, by %llu samples", v[0], bins, v[1]);
    };
    // who bins without looking at the edges puts samples next to one on the other side
    const std::function<std::string()> near_counts = [=]() -> std::string {
        unsigned long long v[2];
        count_off(v);
        return v[1] <= (unsigned long long)(n / 20) + 2 ? "" : text("%llu samples in another bin", v[1]);
    };
    const gpul_array a = wrap(x, type_of<T>::dtype, gpul_1d(n));
    gpul_array c = wrap(counts, GPUL_I32, gpul_1d(bins));
    if (h.edges)
        k.add(
            "gpulite",
            [=]() mutable {
                gpul_histogram_options options = GPUL_ZERO;
                options.range = GPUL_RANGE_EDGES;
                options.edges = host_levels.data(); // in the type in which peers take them
                options.edges_dtype = type_of<L>::dtype;
                options.n_edges = int64_t(host_levels.size());
                return ours_ok(gpul_histogram_ex(&c, &a, &options, stream));
            },
            exact_counts);
    else
        k.add(
            "gpulite", [=]() mutable { return ours_ok(gpul_histogram(&c, &a, h.lo, h.hi, stream)); },
            [=]() { return edges_wrong.empty() ? exact_counts() : edges_wrong; });
    // explicit edges come from the host, for peers too
    const auto upload = [=]() {
        return !h.edges || ok(cudaMemcpyAsync(edges, host_edges.data(), host_edges.size() * sizeof(E),
                                              cudaMemcpyHostToDevice, stream));
    };
    if (h.edges)
        k.add_cub(
            "cub-range",
            [=](void *t, size_t &b) {
                if (t) {
                    const cudaError_t e = cudaMemcpyAsync(levels, host_levels.data(), host_levels.size() * sizeof(L),
                                                          cudaMemcpyHostToDevice, stream);
                    if (e != cudaSuccess) return e;
                }
                return cub::DeviceHistogram::HistogramRange(t, b, x, counts, bins + 1, levels, int(n), stream);
            },
            near_counts);
    else
        k.add_cub(
            "cub",
            [=](void *t, size_t &b) {
                return cub::DeviceHistogram::HistogramEven(t, b, x, counts, bins + 1, L(h.lo), L(h.hi), int(n), stream);
            },
            near_counts);
    // shared memory: up to 96 KB of counters, and one histogram of up to 200 KB with its edges
    const size_t edge_bytes = h.edges ? (sizeof(E) * size_t(bins + 1) + 15) / 16 * 16 : 0;
    const size_t one = sizeof(unsigned) * size_t(bins);
    if (one + edge_bytes <= 200 * 1024) {
        int copies = 1;
        while (copies < 16 && 2 * size_t(copies) * one + edge_bytes <= 32 * 1024) copies *= 2;
        const size_t bytes = size_t(copies) * one + edge_bytes;
        const int resident = bytes <= 48 * 1024 ? 4 : bytes <= 100 * 1024 ? 2 : 1;
        const int64_t blocks = std::max<int64_t>(
            1, std::min<int64_t>((n * int64_t(sizeof(T)) + 16383) / 16384, int64_t(resident) * sm_count()));
        const auto kernel = h.edges ? count_shared_kernel<T, E, true> : count_shared_kernel<T, E, false>;
        const bool fits =
            ok(cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    int(std::max<size_t>(bytes, 48 * 1024))));
        if (fits)
            k.add(
                "shared",
                [=]() {
                    if (!upload() || !ok(cudaMemsetAsync(counts, 0, one, stream))) return false;
                    kernel<<<unsigned(blocks), 512, bytes, stream>>>(reinterpret_cast<unsigned *>(counts), x, n, edges,
                                                                     bins, copies, E(h.lo), E(h.hi), E(scale));
                    return launched();
                },
                h.edges ? exact_counts : near_counts);
    }
    if (bins > 4096)
        k.add(
            "global",
            [=]() {
                if (!upload() || !ok(cudaMemsetAsync(counts, 0, one, stream))) return false;
                const unsigned blocks = unsigned(std::min<int64_t>((n + 2047) / 2048, 16 * sm_count()));
                unsigned *to = reinterpret_cast<unsigned *>(counts);
                if (h.edges) count_edges_kernel<T, E><<<blocks, 512, 0, stream>>>(to, x, n, edges, bins);
                else count_kernel<T, E><<<blocks, 512, 0, stream>>>(to, x, n, edges, bins, h.lo, scale);
                return launched();
            },
            exact_counts);
    return true;
}

static Random draw_histogram(Draws &r) {
    static const char *const dtypes[] = {"f32", "f64", "i32", "u8"};
    Random d;
    HistogramDraw h;
    const int dtype = int(r.below(4));
    const bool integer = dtype >= 2;
    h.n = r.log_uniform(6, 28);
    h.at = r.offset();
    h.dist = int(r.below(DISTRIBUTIONS));
    h.bins = int(r.log_uniform(0, dtype == 3 ? 8 : std::log2(double(random_edges_most))));
    h.edges = r.chance(0.3);
    h.data_lo = integer ? 0 : r.real(-2, 1);
    h.data_hi = dtype == 3 ? 256 : integer ? 1048576 : h.data_lo + 1;
    h.lo = h.data_lo;
    h.hi = h.data_hi;
    if (r.chance(0.4)) { // a part of the data's range, or more than it
        const double width = h.hi - h.lo;
        h.lo += width * r.real(-0.2, 0.3);
        h.hi -= width * r.real(-0.2, 0.3);
    }
    if (dtype == 0) {
        h.lo = double(float(h.lo));
        h.hi = double(float(h.hi));
    } else if (integer) {
        h.lo = std::floor(h.lo);
        h.hi = std::ceil(h.hi);
    }
    h.seed = hash(r.seed, 1000);
    d.name = "histogram";
    d.dtype = dtypes[dtype];
    d.shape = text("%s n=%lld x+%lld bins=%d%s range=%.6g:%.6g", dist_name[h.dist], (long long)h.n, (long long)h.at,
                   h.bins, h.edges ? " edges" : "", h.lo, h.hi);
    d.kind = text("%s %s", dtypes[dtype], h.edges ? "edges" : "even") + (h.bins <= 256     ? " to 2^8 bins"
                                                                         : h.bins <= 32768 ? " to 2^15 bins"
                                                                                           : " more bins");
    d.reach = std::max((h.at + h.n) * int64_t(dtype == 1 ? 8 : dtype == 3 ? 1 : 4), int64_t(h.bins) * 4);
    d.build = [=](Case &k) {
        return dtype == 0   ? build_random_histogram<float>(k, h)
               : dtype == 1 ? build_random_histogram<double>(k, h)
               : dtype == 2 ? build_random_histogram<int32_t>(k, h)
                            : build_random_histogram<uint8_t>(k, h);
    };
    return d;
}

// ---------------------------------------------------------------------------------------------------------------------
// matmul, and what else gpul_gemm_ex takes: stacks, other arithmetic, a bias and activations
// ---------------------------------------------------------------------------------------------------------------------
// C = act(A B + beta C + bias)
struct Product {
    View a, b, c; // stacks have three dimensions
    double beta = 0;
    int32_t math = GPUL_MATH_IEEE, activation = GPUL_ACTIVATION_NONE;
    bool has_bias = false; // a dense vector, from element bias_at of `side` on
    int64_t bias_at = 0;
    int64_t count() const { return c.nd == 3 ? c.shape[0] : 1; }
    int64_t m() const { return c.shape[c.nd - 2]; }
    int64_t n() const { return c.shape[c.nd - 1]; }
    int64_t k() const { return a.shape[a.nd - 1]; }
    bool fits() const { return a.fits() && b.fits() && c.fits(); }
    bool is_aligned() const {
        bool aligned = true;
        for (const View *v : {&a, &b, &c}) {
            const int64_t bytes = int64_t(v->bytes), step = v->nd == 3 ? v->stride[0] : 0;
            aligned = aligned && v->aligned(16) && leading_dimension(*v) * bytes % 16 == 0 && step * bytes % 16 == 0;
        }
        return aligned;
    }
    std::string words() const {
        std::string s = count() > 1 ? text("%lld of ", (long long)count()) : "";
        s += text("%lldx%lldx%lld A%s B%s C%s", (long long)m(), (long long)n(), (long long)k(), a.words().c_str(),
                  b.words().c_str(), c.words().c_str());
        if (beta != 0) s += text(" beta=%g", beta);
        if (has_bias) s += text(" bias+%lld", (long long)bias_at);
        if (activation) s += activation == GPUL_ACTIVATION_RELU ? " relu" : " gelu";
        return s;
    }
};
static Strides strides_of(const View &v) {
    return {v.stride[v.nd - 2], v.stride[v.nd - 1], v.nd == 3 ? v.stride[0] : 0};
}

// For a peer that has none: one pass over a product
template <class T>
__global__ void epilogue_kernel(T *C, Strides cs, int64_t m, int64_t n, int64_t count, bool row_major,
                                Epilogue<T> epilogue) {
    for (int64_t i = grid_first(); i < count * m * n; i += grid_step()) {
        const int64_t of = i % (m * n), row = row_major ? of / n : of % m, col = row_major ? of % n : of / m;
        T &c = C[cs(i / (m * n), row, col)];
        c = from_double<T>(epilogue.activate(to_double(c) + epilogue.bias_of(col)));
    }
}

template <class T> static bool build_random_matmul(Case &k, const Product &p) {
    const T *A = p.a.in<const T>(big_a), *B = p.b.in<const T>(big_b);
    T *C = p.c.in<T>(big_c), *bias = p.has_bias ? reinterpret_cast<T *>(side) + p.bias_at : nullptr;
    const int64_t m = p.m(), n = p.n(), kk = p.k(), count = p.count(), a_end = p.a.end(), b_end = p.b.end();
    const Strides as = strides_of(p.a), bs = strides_of(p.b), cs = strides_of(p.c);
    const double beta = p.beta;
    k.bytes = (double(as.matrix ? count : 1) * double(m * kk) + double(bs.matrix ? count : 1) * double(kk * n) +
               (beta != 0 ? 2 : 1) * double(count) * double(m * n)) *
              double(sizeof(T));
    k.flops = 2.0 * double(count) * double(m) * double(n) * double(kk);
    k.out = C;
    k.out_bytes = size_t(p.c.end() - p.c.at) * sizeof(T);
    if (beta != 0) k.out_byte = 0x3c; // a small number in each type
    uint64_t *drawn = new uint64_t(0);
    k.draw = [=](uint64_t seed) {
        *drawn = seed;
        generate<T>(big_a, a_end, NORMAL, seed, 0.0, 0.5);
        generate<T>(big_b, b_end, NORMAL, ~seed, 0.0, 0.5);
        if (bias) generate<T>(bias, n, NORMAL, seed ^ 1, 0.0, 0.5);
    };
    const double unit_roundoff = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24,
                 last = sizeof(T) == 2 ? 1.01 * type_of<T>::eps() : 0,
                 factors = p.math == GPUL_MATH_TF32 ? 0x1p-10 + 0x1p-20 : 0, // two that are rounded to 11 bits
        tiny = std::is_same<T, __half>::value ? 0x1p-25 : 0; // f16: the smallest results are no normal numbers
    T before;
    memset(&before, 0x3c, sizeof before);
    const Epilogue<T> epilogue = {bias, 1, p.activation};
    const auto check = [=]() {
        double times = 1, left = beta; // after a call
        for (int i = 1; i < calls_made; i++, left *= beta) times += left;
        // each call's rounding, and half of that of the calls before; activations have steeper slopes, and peers round before
        const double slack = beta != 0 || bias || epilogue.activation ? 2.5 : 1;
        reset_bad();
        check_gemm_kernel<T><<<1056, 256, 0, stream>>>(
            bad, C, A, B, cs, as, bs, m, n, kk, 2048, *drawn, slack * (double(kk + 2) * unit_roundoff + factors),
            slack * last, slack * tiny, times, left * to_double(before), calls_made, count, epilogue);
        return verdict(count * m * n);
    };
    const gpul_array a = p.a.array(big_a, type_of<T>::dtype), b = p.b.array(big_b, type_of<T>::dtype);
    gpul_array c = p.c.array(big_c, type_of<T>::dtype);
    gpul_array *const v = new gpul_array(wrap(bias ? bias : C, type_of<T>::dtype, gpul_1d(n)));
    gpul_gemm_options options = GPUL_ZERO;
    options.math = p.math;
    options.activation = p.activation;
    if (bias) options.bias = v;
    k.add(
        "gpulite", [=]() mutable { return ours_ok(gpul_gemm_ex(&c, 1.0, &a, &b, beta, &options, stream)); }, check);
    // column-major C = A B, or the column-major C^T = B^T A^T of a row-major C
    const bool turned = is_row_major(p.c);
    const auto op_of = [=](const View &v) { // a row-major matrix is the transpose of a column-major one
        return is_row_major(v) == turned ? CUBLAS_OP_N : CUBLAS_OP_T;
    };
    const void *first = turned ? static_cast<const void *>(B) : A, *second = turned ? static_cast<const void *>(A) : B;
    const View &one = turned ? p.b : p.a, &other = turned ? p.a : p.b;
    const cublasOperation_t t1 = op_of(one), t2 = op_of(other);
    const int ld1 = leading_dimension(one), ld2 = leading_dimension(other), ldc = leading_dimension(p.c);
    const int rows = int(turned ? n : m), cols = int(turned ? m : n), depth = int(kk);
    const cublasComputeType_t how = sizeof(T) == 8             ? CUBLAS_COMPUTE_64F
                                    : p.math == GPUL_MATH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                               : CUBLAS_COMPUTE_32F;
    Stack stack;
    stack.count = int(count);
    stack.a = turned ? bs.matrix : as.matrix;
    stack.b = turned ? as.matrix : bs.matrix;
    stack.c = cs.matrix;
    const unsigned blocks = unsigned(std::min<int64_t>(blocks_of(count * m * n, 1024), 1 << 20));
    const auto gemm = [=](cublasComputeType_t h) {
        return [=]() {
            if (!ok(blas_gemm(t1, t2, rows, cols, depth, first, ld1, second, ld2, C, ldc, type_of<T>::cuda, h, beta,
                              stack)))
                return false;
            if (!bias && !epilogue.activation) return true;
            epilogue_kernel<T><<<blocks, 256, 0, stream>>>(C, cs, m, n, count, turned, epilogue);
            return launched();
        };
    };
    k.add("cublas", gemm(how), check);
    if (sizeof(T) == 4 && p.math != GPUL_MATH_TF32) k.add("cublas-pedantic", gemm(CUBLAS_COMPUTE_32F_PEDANTIC), check);
    LtPlan *lt = new LtPlan();
    lt->beta = beta;
    lt->stack = stack;
    lt->bias = bias;
    lt->activation = p.activation;
    lt_plans.push_back(lt);
    if ((turned || !bias) &&
        lt->make(t1, t2, rows, cols, depth, first, ld1, second, ld2, C, ldc, type_of<T>::cuda, how))
        k.add(
            "cublaslt-best",
            [=]() {
                if (!lt->chosen) lt->choose(first, second, C);
                return lt->call(first, second, C, lt->best);
            },
            check);
    return true;
}

static bool build_random_product(Case &k, int dtype, const Product &p) {
    return dtype == 0   ? build_random_matmul<float>(k, p)
           : dtype == 1 ? build_random_matmul<double>(k, p)
           : dtype == 2 ? build_random_matmul<__half>(k, p)
                        : build_random_matmul<__nv_bfloat16>(k, p);
}

static Random draw_matmul(Draws &r) {
    static const char *const dtypes[] = {"f32", "f64", "f16", "bf16"};
    Random d;
    const int dtype = int(r.below(4));
    const size_t bytes = dtype == 0 ? 4 : dtype == 1 ? 8 : 2;
    const bool tidy = r.chance(0.3);
    Product p;
    for (;;) {
        const double m = r.real(0, 16), n = r.real(0, 16), kk = r.real(0, 16);
        if (m + n + kk > 36 || std::max({m + n, m + kk, n + kk}) > 28) continue;
        const int64_t sizes[3] = {int64_t(std::exp2(m)), int64_t(std::exp2(n)), int64_t(std::exp2(kk))};
        p.a = draw_matrix(r, sizes[0], sizes[2], bytes, tidy);
        p.b = draw_matrix(r, sizes[2], sizes[1], bytes, tidy);
        p.c = draw_matrix(r, sizes[0], sizes[1], bytes, tidy);
        if (p.fits()) break;
    }
    p.beta = r.chance(0.3) ? 0.5 : 0;
    d.name = "gemm";
    d.dtype = dtypes[dtype];
    d.shape = p.words();
    d.kind = text("%s %s%s", dtypes[dtype], p.is_aligned() ? "aligned" : "misaligned", p.beta != 0 ? " C read" : "");
    d.reach = std::max({p.a.reach(), p.b.reach(), p.c.reach()});
    d.build = [=](Case &k) { return build_random_product(k, dtype, p); };
    return d;
}

// The matrices of a stack one after the other, or with room between them; shared: one for all products
static View draw_stack(Draws &r, int64_t count, int64_t rows, int64_t cols, size_t bytes, bool tidy, bool shared) {
    View v = draw_matrix(r, rows, cols, bytes, tidy);
    if (count == 1) return v;
    const int64_t whole = is_row_major(v) ? rows * v.stride[0] : cols * v.stride[1],
                  gap = tidy || r.chance(0.5) ? 0 : 1 + r.below(64);
    v.nd = 3;
    for (int d = 2; d > 0; d--) {
        v.shape[d] = v.shape[d - 1];
        v.stride[d] = v.stride[d - 1];
    }
    v.shape[0] = shared ? 1 : count;
    v.stride[0] = shared ? 0 : whole + gap;
    return v;
}

static Random draw_gemm_ex(Draws &r) {
    static const char *const types[] = {"f32", "f64", "f16", "bf16", "tf32", "emulated"};
    Random d;
    const int type = int(r.below(6)), dtype = type < 4 ? type : 0;
    const size_t bytes = dtype == 0 ? 4 : dtype == 1 ? 8 : 2;
    const bool tidy = r.chance(0.3), stacked = r.chance(type < 4 ? 0.6 : 0.3);
    Product p;
    p.math = type == 4 ? GPUL_MATH_TF32 : type == 5 ? GPUL_MATH_EMULATED : GPUL_MATH_IEEE;
    for (;;) {
        const double low = type == 5 ? 7 : 0, high = stacked ? 12 : 16, s = stacked ? r.real(1, 14) : 0;
        const double m = r.real(low, high), n = r.real(low, high), kk = r.real(low, high);
        if (m + n + kk + s > 36 || std::max({m + n, m + kk, n + kk}) + s > 28) continue;
        const int64_t sizes[3] = {int64_t(std::exp2(m)), int64_t(std::exp2(n)), int64_t(std::exp2(kk))};
        const int64_t count = int64_t(std::exp2(s));
        const int shared = count > 1 ? int(r.below(6)) : 0; // 1: A, 2: B, else none
        p.a = draw_stack(r, count, sizes[0], sizes[2], bytes, tidy, shared == 1);
        p.b = draw_stack(r, count, sizes[2], sizes[1], bytes, tidy, shared == 2);
        p.c = draw_stack(r, count, sizes[0], sizes[1], bytes, tidy, false);
        if (p.fits()) break;
    }
    const int end = int(r.below(type == 1 ? 3 : 6)); // few peers have epilogues in f64
    p.has_bias = end >= 3;
    p.activation = end == 4 ? GPUL_ACTIVATION_RELU : end == 5 ? GPUL_ACTIVATION_GELU : GPUL_ACTIVATION_NONE;
    p.bias_at = tidy ? 0 : r.offset();
    p.beta = end == 2 ? 0.5 : 0;
    d.name = "gemm_ex";
    d.dtype = types[type];
    d.shape = p.words();
    d.kind = text("%s%s%s", types[type], p.count() > 1 ? " stack" : "", p.has_bias ? " bias" : "");
    d.reach = std::max({p.a.reach(), p.b.reach(), p.c.reach()});
    d.build = [=](Case &k) { return build_random_product(k, dtype, p); };
    return d;
}

// ---------------------------------------------------------------------------------------------------------------------
// The run
// ---------------------------------------------------------------------------------------------------------------------
static const struct {
    const char *name;
    Random (*draw)(Draws &);
} random_families[] = {{"elementwise", draw_elementwise}, {"reduce", draw_reduce}, {"gemv", draw_gemv},
                       {"histogram", draw_histogram},     {"matmul", draw_matmul}, {"gemm_ex", draw_gemm_ex}};
static const size_t random_family_count = sizeof random_families / sizeof *random_families;

static Random draw_random(uint64_t seed, size_t family, int64_t index) {
    Draws r(hash(hash(seed, 7919 + family), uint64_t(index)));
    Random d = random_families[family].draw(r);
    d.family = random_families[family].name;
    d.index = index;
    return d;
}

struct RandomOptions {
    uint64_t seed = 0;
    int64_t cases = 200, only = -1; // a family; only >= 0: that case alone
    std::vector<std::string> families;
    bool chosen(size_t family) const {
        return families.empty() ||
               std::find(families.begin(), families.end(), random_families[family].name) != families.end();
    }
    int64_t from() const { return only >= 0 ? only : 0; }
    int64_t to() const { return only >= 0 ? only + 1 : cases; }
};

// --list: no GPU. 2 when a view leaves its buffer.
static int list_random(const RandomOptions &o) {
    std::map<std::string, int64_t> kinds;
    int64_t outside = 0;
    for (int64_t i = o.from(); i < o.to(); i++)
        for (size_t f = 0; f < random_family_count; f++) {
            if (!o.chosen(f)) continue;
            const Random d = draw_random(o.seed, f, i);
            kinds[d.family + ": " + d.kind]++;
            outside += !d.inside();
            printf("%s %lld: %s %s %s (%s)%s\n", d.family.c_str(), (long long)i, d.name.c_str(), d.dtype.c_str(),
                   d.shape.c_str(), d.kind.c_str(), d.inside() ? "" : " OUTSIDE of its buffer");
        }
    for (const auto &k : kinds) printf("# %6lld %s\n", (long long)k.second, k.first.c_str());
    if (outside) printf("# %lld cases reach beyond their buffers\n", (long long)outside);
    return outside ? 2 : 0;
}

static double ratio_of(const Case &k) {
    const Contender *peer = best_peer(k);
    const double mine = k.who[0].at(0.5);
    return peer && !k.who[0].dead && mine > 0 ? peer->at(0.5) / mine : 0;
}

// A case below 0.95 is timed once more, all of it; of the two runs the one with the better ratio stays. What was wrong
// in either is wrong.
static void time_again(Case &k, uint64_t seed) {
    const double ratio = ratio_of(k);
    if (!(ratio > 0 && ratio < 0.95)) return;
    std::vector<Contender> before = k.who;
    for (Contender &c : k.who) c.times.clear();
    run_case(k, seed, false);
    if (ratio_of(k) >= ratio) return;
    for (size_t j = 0; j < k.who.size(); j++)
        if (k.who[j].dead) kill(before[j], k.who[j].note);
    k.who = before;
}

struct Outcome {
    std::string family, kind, id, command, peer;
    double ratio, share, us, peer_us, bytes; // share: of the roof; 0 for small cases and matmul
};
static std::vector<Outcome> outcomes;

static void note_random(const Case &k, const Random &d, uint64_t seed) {
    const Contender *peer = best_peer(k);
    Outcome o;
    o.family = d.family;
    o.kind = d.kind;
    o.id = d.name + " " + d.dtype + " " + d.shape;
    o.command = text("--random --seed %llu --family %s --only %lld", (unsigned long long)seed, d.family.c_str(),
                     (long long)d.index);
    o.peer = peer ? peer->name : "-";
    o.ratio = ratio_of(k);
    o.us = k.who[0].at(0.5);
    o.peer_us = peer ? peer->at(0.5) : 0;
    o.bytes = k.bytes;
    const bool judged = k.bytes > 64e6 && d.family != "matmul" && !k.who[0].dead && o.us > 0;
    o.share = judged ? k.bytes / o.us / 1e3 / (d.copy_roof ? roof_copy : roof_read) : 0;
    outcomes.push_back(o);
}

// Geometric mean, 1st percentile and least of what is above 0.
struct Spread {
    std::vector<double> values;
    void add(double v) {
        if (v > 0) values.push_back(v);
    }
    double mean() const {
        double sum = 0;
        for (double v : values) sum += std::log(v);
        return std::exp(sum / double(values.size()));
    }
    double at(double q) const {
        Contender c;
        c.times = values;
        return c.at(q);
    }
    std::string words(const char *format) const { return values.empty() ? "-" : text(format, mean(), at(0.01), at(0)); }
};

static void report_random(uint64_t seed) {
    printf("\nrandom cases, seed %llu: best peer's time / gpulite's; below 0.95 timed twice, the better ratio stays;\n"
           "share of the run's roof (copy for elementwise, read for the rest) of cases above 64 MB; whole sectors\n",
           (unsigned long long)seed);
    printf("\n%-36s %6s %20s   %6s %22s\n", "family and class", "cases", "ratio: mean, p1, least", "large",
           "share: mean, p1, least");
    std::map<std::string, std::vector<const Outcome *>> families, classes;
    for (const Outcome &o : outcomes) {
        families[o.family].push_back(&o);
        classes[o.family + ": " + o.kind].push_back(&o);
    }
    const auto line = [](const std::string &name, const std::vector<const Outcome *> &of) {
        Spread ratio, share;
        for (const Outcome *o : of) {
            ratio.add(o->ratio);
            share.add(o->share);
        }
        printf("%-36s %6zu %22s   %6zu %22s\n", name.c_str(), of.size(), ratio.words("%.2f  %.2f  %.2f").c_str(),
               share.values.size(), share.words("%.2f  %.2f  %.2f").c_str());
    };
    for (const auto &f : families) line(f.first, f.second);
    puts("");
    for (const auto &c : classes) line(c.first, c.second);
    const auto worst = [](std::vector<const Outcome *> of, double Outcome::*by) {
        of.erase(std::remove_if(of.begin(), of.end(), [=](const Outcome *o) { return !(o->*by > 0); }), of.end());
        std::sort(of.begin(), of.end(), [=](const Outcome *a, const Outcome *b) { return a->*by < b->*by; });
        if (of.size() > 10) of.resize(10);
        for (const Outcome *o : of)
            printf("  %.2f  %.2f us, %s %.2f us: %s (%s)\n        %s\n", o->*by, o->us, o->peer.c_str(), o->peer_us,
                   o->id.c_str(), o->kind.c_str(), o->command.c_str());
    };
    for (const auto &f : families) {
        printf("\n%s, the worst ratios:\n", f.first.c_str());
        worst(f.second, &Outcome::ratio);
    }
    std::vector<const Outcome *> all;
    for (const Outcome &o : outcomes) all.push_back(&o);
    printf("\nthe least shares of the roof:\n");
    worst(all, &Outcome::share);
}
