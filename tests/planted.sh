#!/bin/sh
# SPDX-License-Identifier: MIT
# Plants faults in copies of the sources, one at a time, and asks whether the tests on the stand-in notice. Each fault is
# one sed command; a fault that changes nothing in the source has gone stale and fails too. Run from the top of the
# repository. PLANTED_ONLY=word runs the faults whose names contain the word.
set -u
passed=0
failed=0
top=$PWD
d=${TMPDIR:-/tmp}/gpulite-planted.$$
mkdir -p "$d/clean" || exit 1
trap 'rm -rf "$d"' EXIT
CC=${CC:-cc}
CXX=${CXX:-c++}
only=${PLANTED_ONLY:-}

# Every other fault in a shell of its own: two cores are twice as fast.
if [ -z "${PLANTED_HALF:-}" ]; then
    PLANTED_HALF=0 sh "$0" >"$d/0" 2>&1 &
    PLANTED_HALF=1 sh "$0" >"$d/1" 2>&1
    wait
    cat "$d/0" "$d/1" | grep -v '^planted: '
    cat "$d/0" "$d/1" | awk '
        /^planted: / { passed += $2; failed += $4; halves++ }
        END { printf "planted: %d passed, %d failed\n", passed, failed; exit failed > 0 || halves != 2 }'
    exit
fi
asked=0

# shellcheck disable=SC2086 # several options
cu() { "$CXX" -O0 ${families:-} -x c++ -std=c++17 -ffp-contract=off -I"$top/tests/cpu" -I"$1" -I"$top" -I"$top/tests" -c -o "$3" "$2"; }
c() { "$CC" -O1 -std=c99 -I"$top/tests/cpu" -I"$1" -I"$top" -I"$top/tests" -c -o "$3" "$2"; }
link() { out=$1; shift; "$CC" -o "$out" "$@" -lstdc++ -lpthread -lm; }

# ---- what is clean is built once ----
"$CXX" -O2 -std=c++17 -Itests/cpu -c -o "$d/cudart.o" tests/cpu/cudart.cpp || exit 1
cu "$top" gpulite_kernels.cu "$d/clean/kernels.o" || exit 1
c "$top" tests/gpulite_impl.c "$d/clean/impl.o" || exit 1

good() { passed=$((passed + 1)); echo "ok      $1"; }
bad() { failed=$((failed + 1)); echo "FAILED  $1: $2"; [ -f "$d/log" ] && tail -n 8 "$d/log" | cut -c1-200 | sed 's/^/        /'; }
wanted() {
    case $1 in *"$only"*) ;; *) return 1 ;; esac
    asked=$((asked + 1))
    [ $((asked % 2)) -eq "$PLANTED_HALF" ]
}

# fault NAME FILE(gpulite_kernels.cu or gpulite.h) SED TEST [kernels]: that test must fail; TEST:name, that function of it.
# "kernels": the patched header also goes into the kernels, for its device section. Families that the test does not need are left out, to compile
# faster.
fault() {
    wanted "$1" || return 0
    test=${4%%:*}
    case $test in
    test_histogram) families='-DGPULITE_NO_GEMV -DGPULITE_NO_MATMUL' ;;
    test_matmul) families='-DGPULITE_NO_GEMV -DGPULITE_NO_HISTOGRAM' ;;
    test_gemv) families='-DGPULITE_NO_MATMUL -DGPULITE_NO_HISTOGRAM' ;;
    test_reduce | test_elementwise) families='-DGPULITE_NO_GEMV -DGPULITE_NO_MATMUL -DGPULITE_NO_HISTOGRAM' ;;
    *) families= ;;
    esac
    rm -rf "$d/f"
    mkdir "$d/f"
    rm -f "$d/log"
    sed "$3" "$2" >"$d/f/$2"
    if cmp -s "$2" "$d/f/$2"; then bad "$1" 'the sed command changes nothing'; return; fi
    kernels=$d/clean/kernels.o impl=$d/clean/impl.o
    if [ "$2" = gpulite_kernels.cu ]; then
        cu "$d/f" "$d/f/$2" "$d/f/kernels.o" >"$d/log" 2>&1 || { bad "$1" 'does not compile'; return; }
        kernels=$d/f/kernels.o
    else
        cp "$top/tests/gpulite_impl.c" "$d/f/impl.c"
        c "$d/f" "$d/f/impl.c" "$d/f/impl.o" >"$d/log" 2>&1 || { bad "$1" 'does not compile'; return; }
        impl=$d/f/impl.o
        if [ "${5:-}" = kernels ]; then # the header's device section
            cp "$top/gpulite_kernels.cu" "$d/f/k.cu"
            cu "$d/f" "$d/f/k.cu" "$d/f/kernels.o" >"$d/log" 2>&1 || { bad "$1" 'does not compile'; return; }
            kernels=$d/f/kernels.o
        fi
    fi
    [ -f "$d/$test.o" ] || c "$top" "tests/$test.c" "$d/$test.o" || exit 1
    link "$d/f/run" "$d/$test.o" "$impl" "$kernels" "$d/cudart.o" || exit 1
    noticed "$1" "$d/f/run" "${4#"$test"}"
}
noticed() { # the program must fail, by a failed check or by the stand-in's own word
    if CHECK_STOP=1 CHECK_ONLY="${3#:}" timeout 120 "$2" >"$d/log" 2>&1; then bad "$1" 'nobody noticed'; else good "$1"; fi
}
# program NAME WORD: $d/p.cu must be stopped or reported, and whose report contains WORD ("clean": must pass)
program() {
    wanted "$1" || return 0
    rm -f "$d/log"
    cu "$top" "$d/p.cu" "$d/p.o" >"$d/log" 2>&1 || { bad "$1" 'does not compile'; return; }
    link "$d/p" "$d/p.o" "$d/clean/impl.o" "$d/clean/kernels.o" "$d/cudart.o" || exit 1
    timeout 60 "$d/p" >"$d/log" 2>&1
    status=$?
    if [ "$2" = clean ]; then
        if [ $status -eq 0 ]; then good "$1"; else bad "$1" "exit status $status"; fi
    elif [ $status -eq 0 ]; then
        bad "$1" 'nobody noticed'
    elif ! grep -qi "$2" "$d/log"; then
        bad "$1" "noticed, but nothing says \"$2\""
    else
        good "$1"
    fi
}

# ---- faults that the stand-in itself must report, in small programs ----
head='#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpulite.h"
static __global__ void twice(float *out, const float *x, int n, int past, int skip, int divergent) {
    GPUL_SHARED(float, tile);
    const int t = int(threadIdx.x);
    if (t < n) tile[t] = x[t + past];
    if (divergent && t < 16)
        __syncthreads();
    else if (!skip)
        __syncthreads();
    if (t < n) out[t] = tile[n - 1 - t] * 2;
}
static int run(int past, int skip, int divergent, int fill) {
    gpul_array x = GPUL_ZERO, out = GPUL_ZERO;
    float back[64], sum = 0;
    GPUL_CHECK(gpul_device_array(&x, GPUL_F32, gpul_1d(64), NULL));
    GPUL_CHECK(gpul_device_array(&out, GPUL_F32, gpul_1d(64), NULL));
    if (fill) GPUL_CHECK(gpul_fill(&x, 1, NULL));
    GPUL_CHECK(GPUL_LAUNCH(twice, 1, 64, 64 * sizeof(float), NULL, (float *)out.data, (const float *)x.data, 64, past, skip, divergent));
    GPUL_CHECK(gpul_copy_to_host(back, &out, NULL));
    for (int i = 0; i < 64; i++) sum += back[i];
    GPUL_CHECK(gpul_free(&x));
    GPUL_CHECK(gpul_free(&out));
    if (!(sum == 128)) { printf("the sum is wrong: %g\n", (double)sum); return 1; }
    return 0;
}
'
printf '%s\nint main() { return run(0, 0, 0, 1); }\n' "$head" >"$d/p.cu"
program 'the program without a fault' clean
printf '%s\nint main() { return run(0, 1, 0, 1); }\n' "$head" >"$d/p.cu"
program 'a removed __syncthreads' 'sum is wrong'
printf '%s\nint main() { return run(1, 0, 0, 1); }\n' "$head" >"$d/p.cu"
program 'an index one past the end' 'past the end'
printf '%s\nint main() { return run(0, 0, 0, 0); }\n' "$head" >"$d/p.cu"
program 'uninitialised device memory read' 'sum is wrong'
printf '%s\nint main() { return run(0, 0, 1, 1); }\n' "$head" >"$d/p.cu"
program 'a barrier in a divergent branch' 'barrier'
printf '%s\nint main() { gpul_array a = GPUL_ZERO; GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(9), NULL)); GPUL_CHECK(gpul_fill(&a, 1, NULL)); printf("%%g\\n", (double)*(float *)a.data); return run(0, 0, 0, 1); }\n' "$head" >"$d/p.cu"
program 'a host read of a device pointer' 'host code touched device memory'
printf '%s\nint main() { gpul_array a = GPUL_ZERO; GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(9), NULL)); return run(0, 0, 0, 1); }\n' "$head" >"$d/p.cu"
program 'a leak' 'leak'
printf '%s\nint main() { gpul_array a = GPUL_ZERO, b; GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(9), NULL)); b = a; GPUL_CHECK(gpul_free(&a)); GPUL_CHECK(gpul_free(&b)); GPUL_CHECK(gpul_device_synchronize()); return run(0, 0, 0, 1); }\n' "$head" >"$d/p.cu"
program 'a double free' 'free'
printf '%s\nint main() {
    gpul_array a = GPUL_ZERO, p = GPUL_ZERO; gpul_stream s = NULL; float back[9];
    GPUL_CHECK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING));
    GPUL_CHECK(gpul_pinned_array(&p, GPUL_F32, gpul_1d(9)));
    for (int i = 0; i < 9; i++) ((float *)p.data)[i] = 1;
    GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(9), s));
    GPUL_CHECK(gpul_copy_to_device(&a, p.data, s));
    memset(p.data, 0, 36); /* before the stream ran */
    GPUL_CHECK(gpul_copy_to_host(back, &a, s));
    GPUL_CHECK(gpul_stream_synchronize(s));
    GPUL_CHECK(gpul_free(&a)); GPUL_CHECK(gpul_free(&p)); GPUL_CHECK(gpul_stream_destroy(&s));
    if (!(back[8] == 1)) { printf("the buffer was reused too early\\n"); return 1; }
    return 0;
}\n' "$head" >"$d/p.cu"
program 'a pinned buffer reused before its stream ran' 'too early'
printf '%s\nint main() {
    gpul_array a = GPUL_ZERO, b = GPUL_ZERO; gpul_stream s = NULL, t = NULL; float back[9];
    GPUL_CHECK(gpul_stream_create(&s, GPUL_STREAM_NON_BLOCKING)); GPUL_CHECK(gpul_stream_create(&t, GPUL_STREAM_NON_BLOCKING));
    GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(9), NULL)); GPUL_CHECK(gpul_device_array(&b, GPUL_F32, gpul_1d(9), NULL));
    GPUL_CHECK(gpul_fill(&a, 0, NULL)); GPUL_CHECK(gpul_device_synchronize());
    GPUL_CHECK(gpul_fill(&a, 1, s)); /* t does not wait for s */
    GPUL_CHECK(gpul_copy(&b, &a, t));
    GPUL_CHECK(gpul_copy_to_host(back, &b, t)); GPUL_CHECK(gpul_stream_synchronize(t)); GPUL_CHECK(gpul_device_synchronize());
    GPUL_CHECK(gpul_free(&a)); GPUL_CHECK(gpul_free(&b)); GPUL_CHECK(gpul_stream_destroy(&s)); GPUL_CHECK(gpul_stream_destroy(&t));
    if (!(back[8] == 1)) { printf("two streams are not ordered\\n"); return 1; }
    return 0;
}\n' "$head" >"$d/p.cu"
program 'two streams without an order' 'not ordered'

# ---- faults in the library that the tests must report ----
k=gpulite_kernels.cu h=gpulite.h
fault 'reduction: no barrier before the warps meet' $k 's/if (width > 1) __syncthreads();/if (width > 8) __syncthreads();/' test_reduce
fault 'reduction: the second block to arrive takes itself for the last' $k '/gpul__arrive_last(uint32_t/,/^}/s/before == blocks - 1/before == 1/' test_reduce
fault 'reduction: a barrier in a divergent branch' $k 's/if ((part \& (2 \* d - 1)) != 0) continue;/& __syncthreads();/' test_reduce
fault 'reduction: a minimum that loses NaN' $k 's/return a < b || gpul__is_nan(a) ? a : b;/return a < b ? a : b;/' test_reduce
fault 'reduction: counters not zeroed' $h 's/e = cudaMemsetAsync(scratch, 0, counters, stream);/e = cudaSuccess;/' test_streams
fault 'reduction: counters left for the next' $k 's/if (last) \*arrived = 0;//' test_reduce
fault 'reduction: columns of a group left out' $k 's/runs = (rest < 8/runs = (rest < 0/' test_reduce
fault 'reduction: left halves that overwrite each other' $k 's/--levels, halves += kC \* pitch/--levels/' test_reduce
fault 'reduction: groups whose left halves are lost' $k 's/levels, open, 1);/0, open, 1);/' test_reduce:test_shapes
fault 'reduction: lanes of a column that are not combined' $k 's/for (int d = 0; d < levels; ++d) {/for (int d = 1; d < levels; ++d) {/' test_reduce:test_shapes
fault 'reduction: sets of units that share a place' $k 's/own\[(h \* kC + c) \* seat.pitch\] = acc/own[c * seat.pitch] = acc/' test_reduce:test_shapes
fault 'reduction: sets of units that lose a level' $k 's/for (int d = 1; d < after; d \*= 2) {/for (int d = 2; d < after; d *= 2) {/' test_reduce:test_shapes
export CUDA_CPU_SMS=132 # with 4, a block has too many groups there
fault 'reduction: runs beyond a group where slots are folded' $k 's/p.groups > 256 || 1 << run/1 << run/' test_reduce:test_shapes
unset CUDA_CPU_SMS
fault 'reduction: neighbouring runs that share a place' $k 's/const int at = (unit >> p.run) + run;/const int at = unit >> p.run;/' test_reduce:test_shapes
fault 'reduction: narrow columns past their end' $k '/gpul__reduce_narrow(/,/^}/s/if (first + k < length) lane/lane/' test_reduce
fault 'reduction: a leak on the failure path' $h '/cudaMemsetAsync of the scratch memory/{n;d;}' test_faults
fault 'reduction: scratch memory freed twice' $h 's/if (scratch != NULL) {/& (void)cudaFreeAsync(scratch, stream);/' test_streams
fault 'elementwise: one past the end' $h 's/i < (n); i += gpul__step/i <= (n); i += gpul__step/' test_elementwise kernels
fault 'launch: the wrong stream' $h 's/config.stream = stream;/config.stream = 0; (void)stream;/' test_streams kernels
fault 'histogram: counts added to before they are zero' $k '/^static .*gpul__hist_await_zeros(/,/^}/s/__syncthreads();//' test_histogram:test_shapes
fault 'histogram: zeros that nobody resets' $k 's/v.turns\[0\] = v.turns\[1\] = 0;/{}/' test_histogram:test_shapes
fault 'histogram: an edge in doubt that is not asked' $k 's/if (!near) return;/return;/' test_histogram:test_parts
fault 'histogram: bins of the next part' $k 's/hi = gpul__hist_before(/hi = (/' test_histogram:test_parts
fault 'histogram: elements at the ends left out' $k 's/ends = v.n - body;/ends = v.n - body - 1;/' test_histogram:test_shapes
fault 'histogram: the last bin left open' $k 's/32 \* k - 1 : 32 \* k) \* step/32 * k : 32 * k) * step/' test_histogram:test_parts
fault 'histogram: runs that begin in the middle of a lane' $k 's/end - uint32_t(j));/end);/' test_histogram:test_runs
fault 'histogram: a slot that takes every bin' $k 's/owner == uint32_t(kNone) || owner == bin) {/true) {/' test_histogram:test_beyond
fault 'histogram: bytes of a bin that add only once' $k 's/lane + d < 32 \&\& other == bin/lane + d < 31 \&\& other == bin/' test_histogram:test_shapes
fault 'histogram: rows of a view that run on' $k 's/v->shift\[d\] = bits - 1;/v->shift[d] = bits;/' test_histogram:test_shapes
fault 'histogram: weights outside that set the scale' $k 's/if (bin < 0) continue;/if (bin < 0 \&\& step != gpul__hist_largest) continue;/' test_histogram:test_weights_outside
fault 'histogram: a plan that needs too much shared memory' $k 's/machine->shared_optin, 49152) \/ 4 - 4;/machine->shared_optin, 49152) \/ 4 + 256;/' test_histogram:test_plans
fault 'histogram: f64 counts taken for 4 bytes' $k 's/v->wide = p->counts_dtype != GPUL_I32;/v->wide = p->counts_dtype == GPUL_I64;/' test_histogram:test_no_elements
fault 'matmul: no barrier after a slice' $k '/b.put(shared + stage \* kStage + kBehindA);/{n;s/__syncthreads();//;}' test_matmul
fault 'gemv: columns that take the same x again' $k 's/gpul__at(y, r \* y_step + k \* p.y_stride)/gpul__at(y, r * y_step)/' test_gemv:test_narrow
fault 'gemv: y read when beta is 0' $k 's/beta == T(0) ? product/beta == T(2) ? product/' test_gemv
fault 'errors: somebody else'"'"'s error swallowed' $h '/^static gpul_status gpul__pending(/,/^}/s/return GPUL_ERROR_PENDING;/(void)cudaGetLastError(); return GPUL_OK;/' test_errors
fault 'devices: the current device not restored' $h '/^static gpul_status gpul__end(/,/^}/s/if (scope->device == scope->previous/if (scope->device >= 0 || scope->device == scope->previous/' test_arrays
fault 'copies: done too early with the NULL stream' $h '/^static gpul_status gpul__settle(/,/^}/s/e = cudaStreamSynchronize(NULL);/e = cudaSuccess;/' test_copies

# ---- faults in the harness: a comparison that NaN passes must not pass its own check ----
if wanted 'NaN'; then
    cat >"$d/nan.c" <<'END'
#include "check.h"
static void test_nan(void) {
    CHECK_NEAR(NAN, 1, 1e30);
    CHECK_NEAR(1, NAN, 1e30);
    CHECK_NEAR(1, 1, NAN);
    CHECK_NEAR(INFINITY, -INFINITY, 1e300);
    CHECK(NAN <= 1);
}
int main(void) {
    check_begin("nan");
    RUN(test_nan);
    (void)check_end();
    return check_failed == 5 && check_passed >= 2 ? 0 : 1;
}
END
    rm -f "$d/log"
    c "$top" "$d/nan.c" "$d/nan.o" && link "$d/nan" "$d/nan.o" "$d/clean/impl.o" "$d/clean/kernels.o" "$d/cudart.o"
    if "$d/nan" >"$d/log" 2>&1; then good 'NaN passes no comparison'; else bad 'NaN passes no comparison' 'it does'; fi
fi

echo "planted: $passed passed, $failed failed"
[ $failed -eq 0 ]
