#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles the header in every way that it promises: each standard of C and C++, both compilers, twice, in two files,
# beside the CUDA headers, static twice in one binary, and for other compilers; and looks at the kernels' symbols. Tools
# that are not installed are left out and named. Run from the top of the repository.
set -u
passed=0
failed=0
d=${TMPDIR:-/tmp}/gpulite-header.$$
mkdir -p "$d" || exit 1
trap 'rm -rf "$d"' EXIT
flags='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Werror'
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}

try() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$d/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name: $*"
        sed 's/^/    /' "$d/log" | head -n 20
    fi
}
have() { command -v "$1" >/dev/null 2>&1 || { echo "left out: $1 is not installed"; return 1; }; }

# ---- sources ----
cat >"$d/use.h" <<'END'
GPUL_PRINT_AND_EXIT(stop)
static int use(void) {
    gpul_array a = GPUL_ZERO;
    gpul_timer t = GPUL_ZERO;
    gpul_device v = GPUL_ZERO;
    gpul_error e = GPUL_ZERO;
    gpul_histogram_options o = GPUL_ZERO;
    gpul_benchmark_options p = GPUL_ZERO;
    gpul_benchmark_result r = GPUL_ZERO;
    gpul_roof roof = GPUL_ZERO;
    gpul_graph graph = NULL;
    gpul_shape s = gpul_2d_f(3, gpul_ceil_div(5, 2));
    gpul_dim3 g = gpul_grid_1d(100, 32);
    gpul_timer h = gpul_host_timer();
    const gpul_stream stream = 0;
    GPUL_TIMED(t, stream) {
        GPUL_TIMED(h, stream) { s = gpul_4d(1, 2, 3, 4); }
    }
    GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(3), stream));
    GPUL_CHECK(gpul_binary(&a, GPUL_MULTIPLY, &a, GPUL_SCALAR(2), stream));
    {
        const int64_t whole[2] = {1, 2};
        double back[2] = {0, 0};
        gpul_difference far_off = GPUL_ZERO;
        gpul_array b = GPUL_ZERO;
        gpul_on_error(stop);
        GPUL_CHECK(GPUL_TO_DEVICE(&b, whole, gpul_1d(2), stream));
        GPUL_CHECK(GPUL_TO_HOST(back, &b));
        GPUL_CHECK(gpul_allclose(&far_off, &a, &b, 0, 0, stream));
        GPUL_CHECK(gpul_free_all(&a, &b));
    }
    return (int)(a.ndim + t.running + v.sms + e.status + o.range + s.ndim + (int)g.x + h.host + p.roof + r.bound + roof.device + (graph != NULL));
}
END
cat >"$d/once.c" <<'END'
#include "gpulite.h"
#include <stdio.h>
#include <stdlib.h>
#include "use.h"
int main(void) { return use(); }
END
cat >"$d/twice.c" <<'END'
#include "gpulite.h"
#include "gpulite.h"
extern int twice;
int twice = GPUL_MAX_DIMS;
#include "gpulite.h"
END
printf '#include <cuda_runtime_api.h>\n#include "gpulite.h"\nextern int x;\nint x = (int)cudaSuccess + GPUL_OK;\n' >"$d/after.c"
printf '#include "gpulite.h"\n#include <cuda_runtime_api.h>\nextern int x;\nint x = (int)cudaSuccess + GPUL_OK;\ncudaStream_t f(gpul_stream s);\ncudaStream_t f(gpul_stream s) { return s; }\n' >"$d/before.c"
printf '#define GPULITE_IMPLEMENTATION\n#include "gpulite.h"\n' >"$d/implementation.c"
printf '#define GPULITE_IMPLEMENTATION\n#define GPULITE_NO_KERNELS\n#include "gpulite.h"\n' >"$d/no_kernels.c"
printf '#include "gpulite.h"\n#define GPULITE_IMPLEMENTATION\n#include "gpulite.h"\n#include "gpulite.h"\n' >"$d/late.c"
printf '#define GPULITE_NVTX\n#define GPULITE_IMPLEMENTATION\n#include "gpulite.h"\n' >"$d/nvtx.c"
# the names that windows.h takes from everybody, and the implementation among them
printf '#include "gpulite.h"\n#include <cuda_runtime_api.h>\n#define near\n#define far\n#define small char\n#define min(a, b) ((a) < (b) ? (a) : (b))\n#define max(a, b) ((a) > (b) ? (a) : (b))\n#define interface struct\n#define IN\n#define OUT\n#define ERROR 0\n#define GPULITE_IMPLEMENTATION\n#include "gpulite.h"\n' >"$d/windows.c"
# two copies of the implementation, which make and end for each other: one account of memory, one table of streams
cat >"$d/part.h" <<'END'
#define GPULITE_STATIC
#define GPULITE_IMPLEMENTATION
#include "gpulite.h"
gpul_status PART(make)(gpul_array *a, gpul_stream *s);
gpul_status PART(make)(gpul_array *a, gpul_stream *s) {
    gpul_status status = gpul_stream_create(s, GPUL_STREAM_NON_BLOCKING);
    return status != GPUL_OK ? status : gpul_device_array(a, GPUL_U8, gpul_1d(1000), *s);
}
gpul_status PART(end)(gpul_array *a, gpul_stream *s);
gpul_status PART(end)(gpul_array *a, gpul_stream *s) {
    gpul_status status = s == NULL ? GPUL_OK : gpul_stream_destroy(s);
    return status != GPUL_OK || a == NULL ? status : gpul_free(a);
}
int64_t PART(used)(void);
int64_t PART(used)(void) {
    int64_t used = -1;
    return gpul_memory_used(&used, NULL) == GPUL_OK ? used : -1;
}
END
for k in 1 2; do printf '#define PART(name) part%s_##name\n#include "part.h"\n' $k >"$d/part$k.c"; done
cat >"$d/parts.c" <<'END'
#include "gpulite.h"
#define DECLARE(k)                                                                                                     \
    gpul_status part##k##_make(gpul_array *a, gpul_stream *s);                                                         \
    gpul_status part##k##_end(gpul_array *a, gpul_stream *s);                                                          \
    int64_t part##k##_used(void);
DECLARE(1)
DECLARE(2)
int main(void) {
    gpul_array a = GPUL_ZERO;
    gpul_stream s = NULL;
    if (part1_make(&a, &s) != GPUL_OK || part1_used() != 1000 || part2_used() != 1000) return 1;
    if (part2_end(NULL, &s) != GPUL_OK) return 2; /* one copy ends the stream, the other must know when it frees */
    if (part1_end(&a, NULL) != GPUL_OK || part1_used() != 0 || part2_used() != 0) return 3;
    if (part2_make(&a, &s) != GPUL_OK || part1_end(&a, &s) != GPUL_OK || part2_used() != 0) return 4;
    return 0;
}
END
# a .cu file of a user's own
cat >"$d/own.cu" <<'END'
#include <cuda_runtime.h>
#include "gpulite.h"
__global__ void scale(float *x, int64_t n, float factor) {
    GPUL_GRID_STRIDE(i, n) { x[i] *= factor; }
}
template <typename T> __global__ void turn(T *x) {
    GPUL_SHARED(T, tile);
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
__global__ void plane(gpul_view<float, 3> to, gpul_view<const float, 3> from) {
    GPUL_GRID_STRIDE_3D(k, j, i, to.shape[2], to.shape[1], to.shape[0]) { to(i, j, k) = from(i, j, k); }
    GPUL_GRID_STRIDE_2D(j, i, to.shape[1], to.shape[0]) { to(i, j, 0) += from(i, j, 0u); }
}
extern "C" gpul_status own(gpul_array *x, gpul_stream stream);
extern "C" gpul_status own(gpul_array *x, gpul_stream stream) {
    float *const data = static_cast<float *>(x->data);
    const int64_t n = gpul_size(x);
    const gpul_dim3 cube = {4, 4, 4};
    int32_t block = 0;
    gpul_timer outer = GPUL_ZERO, inner = GPUL_ZERO;
    gpul_status status = gpul_block_size(&block, scale);
    if (status == GPUL_OK) status = gpul_block_size(&block, turn<float>, 64 * sizeof(float), 64);
    GPUL_TIMED(outer, stream) {
        GPUL_TIMED(inner, stream) {
            if (status == GPUL_OK)
                status = GPUL_LAUNCH(scale, gpul_grid_1d(n, 256), 256, 0, stream, data, n, 2.0f);
        }
    }
    if (status == GPUL_OK) status = GPUL_LAUNCH(scale, dim3(1), block, 0, stream, data, n, 2);
    if (status == GPUL_OK) status = GPUL_LAUNCH(scale, gpul_grid_3d(n, 1, 1, cube), cube, 0, stream, data, n, 2.0f);
    if (status == GPUL_OK) status = GPUL_LAUNCH(turn<float>, 1u, 64, 64 * sizeof(float), stream, data);
    if (status == GPUL_OK) status = GPUL_LAUNCH(turn<float>, 1, 64, 64 * sizeof(float), stream, x);
    if (status == GPUL_OK) status = GPUL_LAUNCH(plane, 1, dim3(8, 8), 0, NULL, *x, x);
    return status;
}
END

# what must not compile, and what is said of it: one error, at the user's line (9), that names the types
cat >"$d/wrong.in" <<'END'
#include <cuda_runtime.h>
#include "gpulite.h"
__global__ void add(float *z, const float *x, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { z[i] += x[i]; }
}
__global__ void view(gpul_view<float, 2> v) { v(0, 0) = 1; }
gpul_status wrong(gpul_array *x, int *p, gpul_stream s);
gpul_status wrong(gpul_array *x, int *p, gpul_stream s) {
    return GPUL_LAUNCH(@) + (x && p && s);
}
END

# ---- declarations and implementation, every standard, both compilers ----
files_of() { # the ways to have the implementation, by the oldest standards alone
    echo once twice after before implementation
    case $1 in c99 | c++11) echo no_kernels late nvtx windows ;; esac
}
for pair in gcc:g++ clang:clang++; do
    c=${pair%:*} cxx=${pair#*:}
    if have "$c"; then
        for std in c99 c11 c17 c2x; do
            for file in $(files_of $std); do
                # shellcheck disable=SC2086
                try "$c $std $file" "$c" -std=$std $flags -Wstrict-prototypes -I. -isystem tests/cpu -I"$d" -fsyntax-only "$d/$file.c"
            done
        done
        for level in -O2 -O3; do # some warnings come with an optimiser's view
            # shellcheck disable=SC2086
            try "$c $level implementation" "$c" -std=c99 $level $flags -I. -isystem tests/cpu -I"$d" -c -o "$d/optimised.o" "$d/implementation.c"
        done
        # shellcheck disable=SC2086
        try "$c declarations alone" "$c" -std=c99 $flags -I. -I"$d" -fsyntax-only "$d/once.c" # no CUDA header in reach
    fi
    if have "$cxx"; then
        for std in c++11 c++17 c++20; do
            for file in $(files_of $std); do
                # shellcheck disable=SC2086
                try "$cxx $std $file" "$cxx" -x c++ -std=$std $flags -I. -isystem tests/cpu -I"$d" -fsyntax-only "$d/$file.c"
            done
        done
    fi
done
cc=${CC:-cc}
refuses() { ! "$@"; }
prints() { text=$1; shift; "$@" | grep -q "$text"; }
# says TEXT COMMAND...: the command fails, and its message names what is wrong
says() {
    text=$1
    shift
    "$@" >"$d/said" 2>&1 && { echo 'it went through'; return 1; }
    grep -q "$text" "$d/said" || { cat "$d/said"; return 1; }
}
# misuses TEMPLATE USES NAME COMPILE...: each wrong use, in place of the template's @, is one error, with the sentence
# for it and the line of the use
misuses() {
    template=$1
    uses=$2
    compiler=$3
    shift 3
    while IFS='|' read -r use sentence; do
        awk -v use="$use" '{ at = index($0, "@"); print at ? substr($0, 1, at - 1) use substr($0, at + 1) : $0 }' "$template" >"$d/wrong.cu"
        try "$compiler: $use" one_error "$sentence" "$@" "$d/wrong.cu"
    done <"$uses"
}
cat >"$d/launches" <<'END'
add, 1, 1, 0, s, x, x|not as many as the kernel's parameters
add, 1, 1, 0, s, x, x, 1, 1|not as many as the kernel's parameters
add, 1, 1, 0, s, x, x, x|does not convert to the kernel's parameter
add, 1, 1, 0, s, x, p, 1|does not convert to the kernel's parameter
add, 1, 1, 0, s, x, NULL, 1|does not convert to the kernel's parameter
add, 1, 1, 0, s, x, 1.5, *x|does not convert to the kernel's parameter
view, 1, 1, 0, s, p|does not convert to the kernel's parameter
add, 1, 1, s, x, x, 1|one of the first five is missing
add, 1, 1|one of the first five is missing
add, 1.5, 1, 0, s, x, x, 1|grid and block are gpul_dim3, dim3 or an integer
END
cat >"$d/own" <<'END'
GPUL_REDUCE(r, float, float, 0, x, a + b, a, float, x, float, y, float, z, float, w)|GPUL_REDUCE r: inputs are one to three pairs
GPUL_REDUCE_ORDERED(r, float, float, 0, x, a + b, a, float, x, float)|GPUL_REDUCE r: inputs are one to three pairs
GPUL_REDUCE(r, float, large, large(), large(), b, a.v[0], float, x)|an accumulator is a number, or a struct without constructors, of at most 64 bytes
GPUL_REDUCE(r, float, made, made(), made(), b, 1, float, x)|an accumulator is a number, or a struct without constructors, of at most 64 bytes
GPUL_REDUCE(r, large, float, 0, x, a + b, large(), float, x)|GPUL_REDUCE r: a result is an element, or a struct of at most 64 bytes
GPUL_REDUCE(r, float, float, 0, x, a + b, a, gpul_scalar<float>, x)|one input at least is an array
GPUL_REDUCE(r, float, float, 0, b, a + b, a, float, b)|GPUL_REDUCE r: an input is called a, b, i or n, which are taken
GPUL_REDUCE(r, float, float, 0, x * i, a + b, a, float, x, float, i)|GPUL_REDUCE r: an input is called a, b, i or n, which are taken
GPUL_ELEMENTWISE(r, float, f<1, 2>(x), float, x)|an expression with a comma needs parentheses
GPUL_ELEMENTWISE(r, float, 1, float)|GPUL_ELEMENTWISE r: inputs are one to three pairs
GPUL_ELEMENTWISE(r, unsigned, 1, float, x)|elements are float, double, int32_t
GPUL_ELEMENTWISE_OUTPUTS(r, (float, p, float), p = x, float, x)|GPUL_ELEMENTWISE_OUTPUTS r: outputs are one to three pairs
GPUL_ELEMENTWISE_OUTPUTS(r, (float, p, unsigned, q), p = x; q = 1, float, x)|elements are float, double, int32_t
END
printf '#define GPULITE_ENGINES_ONLY\n#include "gpulite_kernels.cu"\nstruct large {\n    double v[9];\n};\nstruct made {\n    made();\n};\n@\n' >"$d/own.in"
one_error() {
    sentence=$1
    shift
    says "$sentence" "$@" || return 1
    grep -q -e 'wrong.cu:9' -e 'wrong.cu(9)' -e 'line 9 of "*[^ ]*wrong.cu' "$d/said" || { echo 'the line is not named'; cat "$d/said"; return 1; }
    [ "$(grep -c 'error: ' "$d/said")" = 1 ] || { cat "$d/said"; return 1; }
}

# 32-bit programs; freestanding, as there may be no headers of a C library for them
printf '#define GPULITE_IMPLEMENTATION\n#include "gpulite.h"\n' >"$d/whole.c"
if "$cc" -m32 -fsyntax-only -x c /dev/null 2>/dev/null; then
    try "32-bit programs are refused" says gpul__needs_a_64_bit_program "$cc" -m32 -ffreestanding -std=c99 -I. -fsyntax-only "$d/whole.c"
fi

# what has no dtype, or two
printf '#include "gpulite.h"\ngpul_dtype f(const uint16_t *p);\ngpul_dtype f(const uint16_t *p) { return GPUL_DTYPE_OF(p); }\n' >"$d/half.c"
printf '#include "gpulite.h"\ngpul_dtype f(void *p);\ngpul_dtype f(void *p) { return GPUL_DTYPE_OF(p); }\n' >"$d/void.c"
printf '#include "gpulite.h"\ngpul_dtype f(float h[4][8]);\ngpul_dtype f(float h[4][8]) { return GPUL_DTYPE_OF(h); }\n' >"$d/matrix.c"
try "no dtype of a matrix" says gpul_no_dtype__of_a_matrix_pass_its_first_element "$cc" -std=c99 -I. -fsyntax-only "$d/matrix.c"
for file in half void; do
    try "no dtype of $file" refuses "$cc" -std=c99 -I. -fsyntax-only "$d/$file.c"
    try "no dtype of $file, C++" refuses g++ -x c++ -std=c++11 -I. -fsyntax-only "$d/$file.c"
done
printf '#include "gpulite.h"\ngpul_dtype f(float (*p)[8]) { return GPUL_DTYPE_OF(p); }\n' >"$d/matrix.c"
try 'no dtype of a matrix, C++' says 'of a matrix h\[4\]\[8\] that is &h\[0\]\[0\]' g++ -x c++ -std=c++11 -I. -fsyntax-only "$d/matrix.c"

# ---- a .cu of a user's own, by C++ compilers with the stand-in, as tests/cpu is used, and by nvcc below ----
for cxx in g++ clang++; do
    have "$cxx" || continue
    for std in c++11 c++17 c++20; do
        # shellcheck disable=SC2086
        try "$cxx $std a user's .cu" "$cxx" -x c++ -std=$std $flags -O2 -I. -isystem tests/cpu -c -o "$d/own.o" "$d/own.cu"
        try "$cxx $std a user's .cu, and the stand-in" "$cxx" -x c++ -std=$std -Wall -Wextra -Werror -O2 -I. -Itests/cpu -c -o "$d/own.o" "$d/own.cu"
    done
    misuses "$d/wrong.in" "$d/launches" "$cxx" "$cxx" -x c++ -std=c++11 -I. -Itests/cpu -fsyntax-only
    misuses "$d/own.in" "$d/own" "$cxx" "$cxx" -x c++ -std=c++17 -I. -Itests/cpu -fsyntax-only
    for name in a n; do # more errors follow these
        printf '#define GPULITE_ENGINES_ONLY\n#include "gpulite_kernels.cu"\nGPUL_REDUCE(r, float, float, 0, %s, a + b, a, float, %s)\n' $name $name >"$d/taken.cu"
        try "$cxx an input called $name" says 'r: an input is called a, b, i or n' "$cxx" -x c++ -std=c++17 -I. -Itests/cpu -fsyntax-only "$d/taken.cu"
    done
    for std in c++17 c++20; do
        [ "$cxx $std" != 'clang++ c++20' ] || continue # the longest of all
        try "$cxx $std the kernels" "$cxx" -x c++ -std=$std -ffp-contract=off -Wall -Wextra -Werror -I. -Itests/cpu -fsyntax-only gpulite_kernels.cu
        try "$cxx $std the kernels and the implementation in one file" "$cxx" -x c++ -std=$std -DGPULITE_IMPLEMENTATION -ffp-contract=off -Wall -Wextra -Werror -I. -Itests/cpu -fsyntax-only gpulite_kernels.cu
        try "$cxx $std operations of a user's own" "$cxx" -x c++ -std=$std -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I. -Itests -Itests/cpu -fsyntax-only tests/custom_kernels.cu
    done
done

# ---- other compilers, declarations ----
for c in tcc x86_64-w64-mingw32-gcc; do
    if have $c; then
        try "$c" $c -std=c99 -Wall -I. -I"$d" -c -o "$d/other.o" "$d/once.c"
        try "$c twice" $c -std=c99 -Wall -I. -c -o "$d/other2.o" "$d/twice.c"
    fi
done
if have x86_64-w64-mingw32-gcc; then
    printf '#include <windows.h>\n#include "gpulite.h"\n#include <stdio.h>\n#include "use.h"\nint main(void) { return use(); }\n' >"$d/win1.c"
    printf '#include "gpulite.h"\n#include <windows.h>\nextern int x;\nint x = GPUL_OK;\n' >"$d/win2.c"
    for k in 1 2; do
        try "windows.h, order $k" x86_64-w64-mingw32-gcc -std=c99 -Wall -I. -I"$d" -c -o "$d/win.o" "$d/win$k.c"
    done
fi

# ---- linking: the kernels' object, two static copies in one binary, a plain C program ----
try 'kernels for the stand-in' g++ -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -x c++ -std=c++17 -ffp-contract=off -Itests/cpu -I. -c -o "$d/kernels.o" gpulite_kernels.cu
try 'the stand-in' g++ -O1 -fPIC -std=c++17 -Itests/cpu -c -o "$d/cudart.o" tests/cpu/cudart.cpp
for k in part1 part2 parts; do
    # shellcheck disable=SC2086
    try "$k" "$cc" -std=c99 $flags -I. -isystem tests/cpu -c -o "$d/$k.o" "$d/$k.c"
done
try 'GPULITE_STATIC twice' "$cc" -o "$d/parts" "$d/parts.o" "$d/part1.o" "$d/part2.o" "$d/kernels.o" "$d/cudart.o" -lstdc++ -lpthread -lm
try 'GPULITE_STATIC twice runs' "$d/parts"
# and a .cu file, which uses the host side of its own copy, and has its errors there
cat >"$d/static.cu" <<'END'
#define GPULITE_STATIC
#define GPULITE_IMPLEMENTATION
#define GPULITE_ENGINES_ONLY
#include "gpulite_kernels.cu"
static __global__ void put(float *x, int64_t n) {
    GPUL_GRID_STRIDE(i, n) { x[i] = 3; }
}
GPUL_ELEMENTWISE(half, float, x / 2, float, x)
GPUL_REDUCE(norm, float, double, 0, double(x) * x, a + b, sqrt(a), float, x)
extern "C" gpul_status fill(gpul_array *x);
extern "C" gpul_status fill(gpul_array *x) { return GPUL_LAUNCH(put, 1, 64, 0, NULL, x, gpul_size(x)); }
extern "C" const char *said();
extern "C" const char *said() { return gpul_last_error()->message; }
END
cat >"$d/static.c" <<'END'
#define GPULITE_STATIC
#define GPULITE_IMPLEMENTATION
#include "gpulite.h"
#include <string.h>
gpul_status half(gpul_array *out, const gpul_array *x, gpul_stream stream);
gpul_status norm(gpul_array *out, const gpul_array *x, int32_t axis, gpul_stream stream);
gpul_status fill(gpul_array *x);
const char *said(void);
int main(void) {
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO;
    double value = 0;
    if (gpul_device_array(&x, GPUL_F32, gpul_1d(16), NULL) != GPUL_OK) return 1;
    if (gpul_device_array(&out, GPUL_F32, gpul_1d(1), NULL) != GPUL_OK) return 2;
    if (fill(&x) != GPUL_OK || half(&x, &x, NULL) != GPUL_OK || norm(&out, &x, GPUL_ALL_AXES, NULL) != GPUL_OK) return 3;
    if (gpul_sum(&value, &out, NULL) != GPUL_OK || value != 6) return 4;
    if (half(&x, NULL, NULL) == GPUL_OK || strstr(said(), "half: x is NULL") == NULL) return 5;
    if (strlen(gpul_last_error()->message) > 0) return 6;
    return gpul_free_all(&x, &out) != GPUL_OK;
}
END
try "a .cu file of one's own, static" g++ -O1 -Wall -Wextra -Werror -x c++ -std=c++17 -ffp-contract=off -Itests/cpu -I. -c -o "$d/static_cu.o" "$d/static.cu"
# shellcheck disable=SC2086
try 'a C file beside it, static' "$cc" -std=c99 $flags -I. -isystem tests/cpu -c -o "$d/static_c.o" "$d/static.c"
try 'both link' "$cc" -o "$d/static" "$d/static_c.o" "$d/static_cu.o" "$d/kernels.o" "$d/cudart.o" -lstdc++ -lpthread -lm
try 'and run' "$d/static"
try 'no kernels needed' "$cc" -std=c99 -I. -isystem tests/cpu -c -o "$d/no_kernels.o" "$d/no_kernels.c"
printf '#include "gpulite.h"\nint main(void) { int32_t n; return gpul_device_count(&n); }\n' >"$d/count.c"
# header and kernels of two versions
mkdir "$d/next"
sed 's/^#define GPUL_VERSION_MINOR .*/#define GPUL_VERSION_MINOR 99/' gpulite.h >"$d/next/gpulite.h"
cp gpulite_kernels.cu "$d/next/"
try 'kernels refuse a header of another version' says 'needs gpulite.h' g++ -x c++ -std=c++17 -Itests/cpu -fsyntax-only "$d/next/gpulite_kernels.cu"
try 'the next version' "$cc" -std=c99 -I"$d/next" -isystem tests/cpu -c -o "$d/next.o" "$d/implementation.c"
try 'kernels of another version do not link' says 'gpul__kernels_of_version_0_99_0' "$cc" -std=c99 -I. -o "$d/count" "$d/count.c" "$d/next.o" "$d/kernels.o" "$d/cudart.o" -lstdc++ -lpthread -lm
try 'the implementation' "$cc" -std=c99 -I. -isystem tests/cpu -c -o "$d/impl.o" "$d/implementation.c"
try 'the kernels left out do not link' says 'gpul__kernels_of_version_' "$cc" -std=c99 -I. -o "$d/count" "$d/count.c" "$d/impl.o" "$d/cudart.o" -lstdc++ -lpthread -lm
try 'links without kernels' "$cc" -std=c99 -I. -o "$d/count" "$d/count.c" "$d/no_kernels.o" "$d/cudart.o" -lstdc++ -lpthread -lm
# copies between strides go row by row where the copy kernel is left out, whoever left it out
cat >"$d/slice.c" <<'END'
#include "gpulite.h"
#include <string.h>
int main(void) {
    static const float h[6] = {0, 1, 2, 3, 4, 5}, want[3] = {0, 2, 4};
    float got[3] = {9, 9, 9};
    gpul_array a = GPUL_ZERO, v = GPUL_ZERO;
    if (gpul_to_device(&a, h, GPUL_F32, gpul_1d(6), NULL) != GPUL_OK) return 1;
    if (gpul_slice(&v, &a, 0, 0, 6, 2) != GPUL_OK || gpul_copy_to_host(got, &v, NULL) != GPUL_OK) return 2;
    return gpul_free(&a) != GPUL_OK || memcmp(got, want, sizeof want) != 0;
}
END
try 'no family of kernels' g++ -O1 -ffp-contract=off -DGPULITE_NO_ELEMENTWISE -DGPULITE_NO_REDUCE -DGPULITE_NO_GEMV -DGPULITE_NO_HISTOGRAM -DGPULITE_NO_MATMUL -x c++ -Itests/cpu -I. -c -o "$d/few.o" gpulite_kernels.cu
for k in "$d/impl.o $d/few.o" "$d/no_kernels.o"; do
    # shellcheck disable=SC2086
    try 'a slice without the copy kernel' "$cc" -std=c99 -I. -o "$d/slice" "$d/slice.c" $k "$d/cudart.o" -lstdc++ -lpthread -lm
    try 'and it runs' "$d/slice"
done
try 'runs without kernels' "$d/count"
# without -g, messages name the user's functions, and not the stand-in's or the library's own
cat >"$d/leaky.c" <<'END'
#include "gpulite.h"
void make(gpul_array *a);
void make(gpul_array *a) {
    (void)gpul_device_array(a, GPUL_F32, gpul_1d(9), NULL);
    a->ndim = 1; /* so that it is a call, not a jump */
}
int main(void) {
    gpul_array a = GPUL_ZERO;
    make(&a);
    return a.ndim != 1;
}
END
try 'a program without -g that leaks' "$cc" -std=c99 -O0 -I. -o "$d/leaky" "$d/leaky.c" "$d/no_kernels.o" "$d/cudart.o" -lstdc++ -lpthread -lm
try 'who leaked, without -g' says '  made in make, called in main (compile with -g for the line)$' "$d/leaky"
# a library with the stand-in in it, loaded late, which has more of its threads' own memory than is set aside for such libraries
cat >"$d/library.cu" <<'END'
#include <cuda_runtime.h>
static __thread char much[1 << 16];
static __global__ void put(int *p) { p[threadIdx.x] = int(threadIdx.x) + 7; }
extern "C" int run() {
    int *p, *values[1], h[2] = {0, 0};
    void *arguments[] = {values};
    if (cudaMalloc(&p, sizeof h) != cudaSuccess) return 1;
    values[0] = p;
    if (cudaLaunchKernel(put, dim3(1), dim3(2), arguments) != cudaSuccess) return 2;
    if (cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost) != cudaSuccess || cudaFree(p) != cudaSuccess) return 3;
    much[h[0]] = 1;
    return h[0] == 7 && h[1] == 8 && much[7] ? 0 : 4;
}
END
cat >"$d/loads.cpp" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int, char **arguments) {
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) return puts(dlerror()), 5;
    return reinterpret_cast<int (*)()>(dlsym(library, "run"))();
}
END
try 'a library with the stand-in in it' g++ -O1 -fPIC -shared -Itests/cpu -o "$d/library.so" -x c++ "$d/library.cu" -x none "$d/cudart.o" -lpthread
try 'what loads it' g++ -o "$d/loads" "$d/loads.cpp" -ldl
try 'loads it and runs' "$d/loads" "$d/library.so"
symbols() { # no defined global symbol outside gpul_ (kernels' weak template instances would show here too)
    nm -g --defined-only "$1" | awk 'NF >= 3 && $3 !~ /^_?gpul_/ && $2 != "u" { print; bad = 1 } END { exit bad }'
}
if have nm; then
    "$cc" -std=c99 -I. -isystem tests/cpu -c -o "$d/implementation.o" "$d/implementation.c"
    try 'symbols of the implementation' symbols "$d/implementation.o"
fi

if [ -n "$nvcc" ]; then
    home=$(dirname "$(dirname "$nvcc")")
    lib=$home/lib64
    try 'nvcc compiles the kernels' "$nvcc" -std=c++17 -arch="${HEADER_ARCH:-sm_80}" -O1 -I. -Xcompiler -fno-exceptions,-fno-threadsafe-statics -c -o "$d/gpu.o" gpulite_kernels.cu
    have nm && try 'symbols of the kernels' symbols "$d/gpu.o"
    try "nvcc compiles a user's .cu" "$nvcc" -std=c++17 -arch="${HEADER_ARCH:-sm_80}" -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wconversion,-Wsign-conversion,-Wshadow,-Werror -I. -c -o "$d/own.o" "$d/own.cu"
    # as far as PTX, whose translation, of the same engines, is the kernels' above
    try "nvcc compiles operations of a user's own" "$nvcc" -std=c++17 -gencode=arch=compute_80,code=compute_80 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wconversion,-Wshadow,-Werror -I. -Itests -c -o "$d/custom.o" tests/custom_kernels.cu
    misuses "$d/own.in" "$d/own" nvcc "$nvcc" -std=c++17 -arch="${HEADER_ARCH:-sm_80}" -I. -c -o "$d/wrong.o"
    misuses "$d/wrong.in" "$d/launches" nvcc "$nvcc" -std=c++17 -arch="${HEADER_ARCH:-sm_80}" -I. -c -o "$d/wrong.o"
    for order in after before; do
        # shellcheck disable=SC2086
        try "NVIDIA's headers, $order" "$cc" -std=c99 $flags -I. -isystem "$home/include" -fsyntax-only "$d/$order.c"
    done
    # shellcheck disable=SC2086
    try "NVTX with NVIDIA's headers" "$cc" -std=c99 $flags -I. -isystem "$home/include" -fsyntax-only "$d/nvtx.c"
    # shellcheck disable=SC2086
    try "the implementation with NVIDIA's headers" "$cc" -std=c99 $flags -I. -isystem "$home/include" -c -o "$d/impl_gpu.o" "$d/implementation.c"
    printf '#include "gpulite.h"\n#include <stdio.h>\nint main(void) {\n    char text[4000];\n    return gpul_report(NULL, text, sizeof text) == GPUL_OK ? puts(text) < 0 : 1;\n}\n' >"$d/report.c"
    try "NVIDIA's headers with the stand-in's runtime" "$cc" -std=c99 -I. -o "$d/report" "$d/report.c" "$d/impl_gpu.o" "$d/kernels.o" "$d/cudart.o" -lstdc++ -lpthread -lm
    try 'the report of such a program says so' prints 'MIXED BUILD' "$d/report"
    try 'a C program linked by a C compiler' "$cc" -std=c99 -I. -o "$d/app" "$d/count.c" "$d/impl_gpu.o" "$d/gpu.o" -L"$lib" -lcudart
else
    echo 'left out: nvcc is not installed'
fi

echo "header: $passed passed, $failed failed"
[ $failed -eq 0 ]
