#!/bin/sh
# SPDX-License-Identifier: MIT
# Plants faults in copies of the sources, one at a time, and asks whether the tests on the stand-in notice. Run from the
# top of the repository. PLANTED_ONLY=word runs the faults whose names contain the word.
#
# To add a fault, mark a line of gpulite.h or gpulite_kernels.cu with a comment at its end, and say below what becomes
# of it:
#
#     if (last) *counter = 0; /* fault: reduce-counters-left */
#
#     plant reduce-counters-left test_reduce without
#
# plant NAME TEST ACTION: that test must fail (TEST:name is one function of it). NAME is lower-case letters, digits and
# hyphens. The actions:
#
#     without                    the line, one whole statement, is not executed
#     instead 'STATEMENTS'       they are executed in its place
#     expression 'OLD' 'NEW'     OLD, an expression that is in the line once, has the value of NEW
#
# All of them are compiled into one copy of the sources, where a variable chooses the one that is there. So the line
# stays valid, and what has to be known when it is compiled (a declaration, an array's size) is no place for a marker. A
# marker that is missing, or there twice, or without an entry here, is a failure.
set -u
top=$PWD
CC=${CC:-cc}
CXX=${CXX:-c++}
only=${PLANTED_ONLY:-}
mode=${PLANTED_MODE:-all} # all: everything; list: writes the list of faults; run: runs number $PLANTED_NUMBER of it
if [ "$mode" = all ]; then
    PLANTED_DIR=${TMPDIR:-/tmp}/gpulite-planted.$$
    mkdir -p "$PLANTED_DIR/src" || exit 1
    trap 'rm -rf "$PLANTED_DIR"' EXIT
    trap 'exit 1' INT TERM
fi
export PLANTED_DIR
d=$PLANTED_DIR own=$PLANTED_DIR/${PLANTED_NUMBER:-0} # own: of this fault
sources='gpulite.h gpulite_kernels.cu'

# ---- compiling and running ----

cu() { "$CXX" -O0 -x c++ -std=c++17 -ffp-contract=off -I"$top/tests/cpu" -I"$top" -I"$top/tests" -c -o "$2" "$1"; }
c() { "$CC" -O1 -std=c99 -I"$top/tests/cpu" -I"$top" -I"$top/tests" -c -o "$2" "$1"; }
link() { out=$1; shift; "$CC" -o "$out" "$@" "$d/planted.o" "$d/cudart.o" -lstdc++ -lpthread -lm; }

good() { echo "ok      $1"; }
bad() { echo "FAILED  $1: $2"; [ -f "$own/log" ] && tail -n 8 "$own/log" | cut -c1-200 | sed 's/^/        /'; }
# wanted NAME [TEST]: whether this shell runs that fault
number=0
wanted() {
    case $1 in *"$only"*) ;; *) return 1 ;; esac
    number=$((number + 1))
    if [ "$mode" = list ]; then echo "$number ${2:-}" >>"$d/list"; return 1; fi
    [ "$number" = "$PLANTED_NUMBER" ]
}

planted=0
plant() {
    planted=$((planted + 1))
    # the table has every fault, wanted or not, so that all markers are checked
    if [ "$mode" = list ]; then printf '%s\t%s\t%s\t%s\n' "$1" "$3" "${4:-}" "${5:-}" >>"$d/table"; fi
    wanted "$1" "$2" || return 0
    test=${2%%:*} function=${2#"${2%%:*}"}
    export CHECK_STOP=1 CHECK_ONLY="${function#:}"
    # with no fault the test must pass, or its failure means nothing: that was asked once for all its faults, with few
    # cases, as make test has them all. With it, a check or the stand-in must end it, and say why: a test that waits for
    # ever tells nobody what is wrong
    if [ ! -f "$d/passes-$2" ]; then bad "$1" "$2 fails without it"; return; fi
    export PLANTED_FAULT=$planted
    CHECK_QUICK=1 timeout 120 "$d/$test" >"$own/log" 2>&1
    status=$?
    # what few cases do not notice, all of them may
    if [ $status -eq 0 ]; then
        timeout 120 "$d/$test" >"$own/log" 2>&1
        status=$?
    fi
    case $status in
    0) bad "$1" 'nobody noticed' ;;
    124) bad "$1" "$2 has not ended after 120 seconds" ;;
    12[5-7] | 137) bad "$1" "$2 did not run, or was killed: exit status $status" ;;
    *) if [ -s "$own/log" ]; then good "$1"; else bad "$1" "exit status $status, and $2 says nothing"; fi ;;
    esac
}

# program NAME WORD: $own/p.cu must be stopped or reported, and whose report contains WORD ("clean": must pass)
program() {
    wanted "$1" || return 0
    cu "$own/p.cu" "$own/p.o" >"$own/log" 2>&1 || { bad "$1" 'does not compile'; return; }
    link "$own/p" "$own/p.o" "$d/impl.o" "$d/kernels.o" || { bad "$1" 'does not link'; return; }
    timeout 60 "$own/p" >"$own/log" 2>&1
    status=$?
    if [ "$2" = clean ]; then
        if [ $status -eq 0 ]; then good "$1"; else bad "$1" "exit status $status"; fi
    elif [ $status -eq 0 ]; then
        bad "$1" 'nobody noticed'
    elif ! grep -qi "$2" "$own/log"; then
        bad "$1" "noticed, but nothing says \"$2\""
    else
        good "$1"
    fi
}

# ---- the sources with every planted fault in them ----

markers() { # each marker of the sources is in the table once, and nothing else is in the table
    cut -f1 "$d/table" | sort >"$d/named"
    # shellcheck disable=SC2086
    sed -n 's|.*/\* fault: \([a-z0-9-]*\) \*/.*|\1|p' $sources | sort >"$d/marked"
    uniq -d "$d/marked" | sed 's/^/marked twice in the sources: /'
    uniq -d "$d/named" | sed 's/^/twice in the list: /'
    sort -u "$d/marked" >"$d/marked1"
    sort -u "$d/named" >"$d/named1"
    comm -23 "$d/marked1" "$d/named1" | sed 's/^/marked in the sources, but not in the list: /'
    comm -13 "$d/marked1" "$d/named1" | sed 's/^/in the list, but not marked in the sources: /'
    # shellcheck disable=SC2086
    grep -n '[^a-z]fault:' $sources | grep -v '/\* fault: [a-z0-9-]* \*/' | sed 's/^/not a marker: /'
    # shellcheck disable=SC2086
    grep -n '/\* fault: .*/\* fault: ' $sources | sed 's/^/two markers in a line: /'
}
# with_faults FILE: the file with each marked line turned into a choice between itself and its fault
with_faults() {
    awk -v table="$d/table" -v errors="$d/errors" '
    BEGIN {
        FS = "\t"
        while ((getline <table) > 0) { at[$1] = ++n; action[$1] = $2; old[$1] = $3; new[$1] = $4 }
        FS = " "
    }
    match($0, /\/\* fault: [a-z0-9-]* \*\//) {
        name = substr($0, RSTART + 10, RLENGTH - 13)
        line = substr($0, 1, RSTART - 1)
        rest = substr($0, RSTART + RLENGTH) # a macro goes on
        if (!(name in at)) { print; next }
        chosen = "(gpul_planted == " at[name] ")"
        if (action[name] == "without") line = "if (!" chosen ") " line
        else if (action[name] == "instead") line = "if " chosen " { " old[name] " } else " line
        else if (action[name] == "expression") {
            place = index(line, old[name])
            after = substr(line, place + length(old[name]))
            if (!place || index(after, old[name])) print name ": its line does not hold \"" old[name] "\" once" >>errors
            line = substr(line, 1, place - 1) "(" chosen " ? (" new[name] ") : (" old[name] "))" after
        } else print name ": no such action: " action[name] >>errors
        print line rest
        next
    }
    { print }' "$1" >"$d/src/$1"
}

# ---- the list ----

all_faults() {

# faults that the stand-in itself must report, in small programs
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
printf '%s\nint main() { return run(0, 0, 0, 1); }\n' "$head" >"$own/p.cu"
program 'the program without a fault' clean
printf '%s\nint main() { return run(0, 1, 0, 1); }\n' "$head" >"$own/p.cu"
program 'a removed __syncthreads' 'sum is wrong'
printf '%s\nint main() { return run(1, 0, 0, 1); }\n' "$head" >"$own/p.cu"
program 'an index one past the end' 'past the end'
printf '%s\nint main() { return run(0, 0, 0, 0); }\n' "$head" >"$own/p.cu"
program 'uninitialised device memory read' 'sum is wrong'
printf '%s\nint main() { return run(0, 0, 1, 1); }\n' "$head" >"$own/p.cu"
program 'a barrier in a divergent branch' 'barrier'
printf '%s\nint main() { gpul_array a = GPUL_ZERO; GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(9), NULL)); GPUL_CHECK(gpul_fill(&a, 1, NULL)); printf("%%g\\n", (double)*(float *)a.data); return run(0, 0, 0, 1); }\n' "$head" >"$own/p.cu"
program 'a host read of a device pointer' 'host code touched device memory'
printf '%s\nint main() { gpul_array a = GPUL_ZERO; GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(9), NULL)); return run(0, 0, 0, 1); }\n' "$head" >"$own/p.cu"
program 'a leak' 'made in main' # the stand-in has lines, the program has none
printf '%s\nint main() { gpul_array a = GPUL_ZERO, b; GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_1d(9), NULL)); b = a; GPUL_CHECK(gpul_free(&a)); GPUL_CHECK(gpul_free(&b)); GPUL_CHECK(gpul_device_synchronize()); return run(0, 0, 0, 1); }\n' "$head" >"$own/p.cu"
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
}\n' "$head" >"$own/p.cu"
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
}\n' "$head" >"$own/p.cu"
program 'two streams without an order' 'not ordered'

printf '%s\nstatic __global__ void beyond(gpul_view<float, 2> v) { v(1, 3) = 1; }
int main() {
    gpul_array a = GPUL_ZERO, view = GPUL_ZERO;
    GPUL_CHECK(gpul_device_array(&a, GPUL_F32, gpul_2d(4, 8), NULL));
    GPUL_CHECK(gpul_slice(&view, &a, 1, 0, 3, 1));
    GPUL_CHECK(GPUL_LAUNCH(beyond, 1, 1, 0, NULL, &view)); /* within the allocation, but not within the view */
    GPUL_CHECK(gpul_device_synchronize());
    GPUL_CHECK(gpul_free(&a));
    return 0;
}\n' "$head" >"$own/p.cu"
program 'an index outside a view' 'an index outside a gpul_view'

# faults in the harness: a comparison that NaN passes must not pass its own check
if wanted 'NaN passes no comparison'; then
    cat >"$own/nan.c" <<'END'
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
    c "$own/nan.c" "$own/nan.o" && link "$own/nan" "$own/nan.o" "$d/impl.o" "$d/kernels.o"
    if "$own/nan" >"$own/log" 2>&1; then good 'NaN passes no comparison'; else bad 'NaN passes no comparison' 'it does'; fi
fi
if wanted 'CHECK_ONLY of no test passes nothing'; then
    printf '#include "check.h"\nstatic void test_one(void) { CHECK(1); }\nint main(void) { check_begin("only"); RUN(test_one); return check_end(); }\n' >"$own/only.c"
    c "$own/only.c" "$own/only.o" && link "$own/only" "$own/only.o" "$d/impl.o" "$d/kernels.o"
    if CHECK_ONLY=test_one "$own/only" >"$own/log" 2>&1 && ! CHECK_ONLY=test_two "$own/only" >"$own/log" 2>&1 && grep -q test_two "$own/log"; then
        good 'CHECK_ONLY of no test passes nothing'
    else bad 'CHECK_ONLY of no test passes nothing' 'it does'; fi
fi

# faults in the library that the tests must report
plant dlpack-offset test_dlpack:test_foreign without
plant dlpack-owned-twice test_dlpack:test_owner without
plant histogram-no-table test_histogram:test_no_table expression 'gpul__hist_bin(v.rule, gpul__hist_value(x, v.floats != 0))' 'gpul__hist_uniform_bin(v.rule, gpul__hist_value(x, v.floats != 0))'
plant histogram-zeros-barrier test_histogram:test_shapes without
plant histogram-turns-left test_histogram:test_shapes without
plant histogram-doubt-not-asked test_histogram:test_parts expression '(doubt)' '(false)'
plant histogram-doubt-beyond test_histogram:test_beyond expression '(doubt)' '(false)'
plant histogram-ties test_histogram:test_parts expression 'gpul__hist_on_grid(p->step)' 'true'
plant histogram-part test_histogram:test_parts without
plant histogram-zero test_histogram:test_two_zeros expression '-0.0' '0.0'
plant histogram-ends-left-out test_histogram:test_shapes expression 'v.n - body' 'v.n - body - 1'
plant histogram-last-bin-open test_histogram:test_parts without
plant histogram-edge-of-f32 test_histogram:test_between expression '(double(nearest) < edge)' '0'
plant histogram-edges-beyond-int test_histogram:test_integer_ends expression 'p->x_dtype == GPUL_I32' 'false'
plant histogram-edges-unchecked test_histogram:test_errors without
plant histogram-edges-dtype-unused test_histogram:test_errors expression 'options->edges_dtype' '0'
plant histogram-edges-dtype-low test_histogram:test_errors expression 'problem->edges_dtype < GPUL_F32' '0'
plant histogram-edges-dtype-high test_histogram:test_errors expression 'problem->edges_dtype > GPUL_I32' '0'
plant histogram-stream-unchecked test_histogram:test_wrong_pieces without
plant histogram-edges-of-two-pieces test_histogram:test_wrong_pieces expression 'at > 0 ? at - 1 : 0' 'at'
plant histogram-edges-mode test_faults:test_after instead '(void)cudaThreadExchangeStreamCaptureMode(&mode);'
plant histogram-edges-of-list test_histogram:test_between expression 'k < 0 ? gpul_dtype(GPUL_F64) : p->edges_dtype' 'p->edges_dtype'
plant histogram-zeros-too-early test_histogram:test_wrong_pieces expression 'piece.at + piece.count > p->bins' 'piece.at == 0'
plant histogram-edge-closed test_histogram:test_between expression 'edge[j] <= order[j]' 'edge[j] < order[j]'
plant histogram-few-inside test_histogram:test_between expression 'order <= hi' 'order < hi'
plant histogram-few-closed test_histogram:test_between expression 'order >= edge[i]' 'order > edge[i]'
plant histogram-few-searched test_histogram:test_integer_ends expression 'i + 1 < v.searched' 'true'
plant histogram-wide-gap test_histogram:test_between without
plant histogram-stage-free test_histogram:test_between expression 'stage->done[b] == ticket' 'true'
plant histogram-run-in-lane test_histogram:test_runs expression 'end - uint32_t(j)' 'end'
plant histogram-slot-takes-all test_histogram:test_beyond expression 'owner == uint32_t(kNone) || owner == bin' 'true'
plant histogram-bytes-add-once test_histogram:test_shapes expression 'lane + d < 32' 'lane + d < 31'
plant divided-too-far test_histogram:test_shapes expression 'bits - 1' 'bits'
plant histogram-weights-outside test_histogram:test_weights_outside expression 'bin < 0' 'bin < 0 && step != gpul__hist_largest'
plant histogram-shared test_histogram:test_plans expression 'plan->shared_most / 4 - 4' 'plan->shared_most / 4 + 256'
plant histogram-counts-of-f64 test_histogram:test_no_elements expression 'p->counts_dtype != GPUL_I32' 'p->counts_dtype == GPUL_I64'
plant histogram-edges-equal test_histogram:test_edges expression 'edge > before' 'edge >= before'
plant histogram-trim-taken test_histogram:test_edges_unpinned without
plant reduce-second-is-last test_reduce:test_same_bits expression 'before == threads - 1' 'before == 1'
plant reduce-counters-left test_reduce:test_same_bits without
plant reduce-warps-meet test_reduce:test_same_bits without
plant reduce-totals-meet test_reduce:test_shapes without
plant reduce-block-tiles test_gemv:test_narrow without
plant reduce-vector-twice test_reduce:test_shapes without
plant reduce-shifted test_reduce:test_alignments without
plant reduce-exact-begin test_reduce:test_alignments expression '-reinterpret_cast<uintptr_t>(p) & 15' '0'
plant reduce-exact-end test_reduce:test_alignments expression 'length + before' 'length'
plant reduce-staged-early test_reduce:test_gaps without
plant reduce-staged-before test_reduce:test_gaps expression 'uint32_t(rest)' '0'
plant reduce-broken-vectors test_reduce:test_gaps expression 'raw.v[w] & behind' '0u'
plant transposed-bytes test_reduce:test_shapes expression '0x7632' '0x5410'
plant reduce-close-shifted test_reduce:test_close_rows expression 'p[r]' 'gpul__align_down(p[r])'
plant reduce-shared test_reduce:test_plans without
plant reduce-kept-sms test_reduce:test_plans_kept expression 'machine->sms' '132'
plant reduce-rows-outputs test_reduce:test_shapes expression 'tile * each' '0'
plant reduce-rows-groups test_reduce:test_recorded expression 'p.groups' '(gpul__warps >> level)'
plant reduce-rows-pieces test_reduce:test_axes expression 'piece << level' 'piece * gpul__warps'
plant reduce-rows-idle test_reduce:test_orders expression 'there' 'true'
plant reduce-turns test_reduce:test_shapes expression 'place' 'warp'
plant reduce-beyond-end test_reduce:test_shapes expression 'kPartial ? length - at : int(kN)' 'int(kN)'
plant reduce-staged-rows test_reduce:test_gaps without
plant reduce-copies-early test_gemv:test_long without
plant reduce-copies-rows test_reduce:test_gaps without
plant reduce-copies-beyond test_reduce:test_shapes expression 'length - at' 'int(kN)'
plant reduce-gathered-rows test_reduce:test_gaps expression 'at + c / kN * step < length' 'c < kN'
plant reduce-short-outputs test_reduce:test_shapes without
plant gather-in-place test_reduce:test_shapes expression 'w % kWords' 'w % 1'
plant reduce-halves-overwritten test_reduce:test_shapes expression 'kC * pitch' '0'
plant reduce-depth-level test_reduce:test_same_bits expression '1' '2'
plant reduce-divergent-barrier test_reduce:test_same_bits instead 'if ((part & (2 * d - 1)) != 0) { __syncthreads(); continue; }'
plant reduce-odd-depth test_reduce:test_axes without
plant reduce-depth-barrier test_reduce:test_same_bits without
plant reduce-slots-side test_reduce:test_same_bits expression '1' '2'
plant reduce-slots-level test_reduce:test_same_bits expression 'levels' '0'
plant reduce-rows-beyond test_reduce:test_shapes expression 'at + r * step + k < last' 'true'
plant reduce-near-before test_reduce:test_axes expression 'x[int32_t(offset)]' 'x[offset]'
plant reduce-exact-rows test_reduce:test_plans expression 'gpul__warps * tiles' 'tiles'
plant reduce-exact-most test_reduce:test_plans expression 'rows < kMost' 'true'
plant reduce-exact-two test_reduce:test_plans expression '2 * blocks' 'blocks'
plant reduce-exact-floats test_reduce:test_plans expression 'false' 'true'
plant reduce-few-columns test_reduce:test_kernels expression 'gpul__few_columns(plan, p, reducer->element_bytes, sms, lane)' 'false'
plant reduce-many-rows test_reduce:test_kernels expression 'outputs >= many' 'outputs >= 64 * sms'
plant reduce-columns-place test_reduce:test_axes expression 'c * columns.step' 'c'
plant reduce-columns-meet test_reduce:test_orders without
plant reduce-passes-share test_reduce:test_shapes expression 'int(blockDim.x)' '0'
plant reduce-parts-share test_reduce:test_same_bits expression 'share.split' '0'
plant reduce-empty-axis test_reduce:test_no_elements expression '*axis == GPUL_ALL_AXES' '1'
plant workspace-of-two-streams test_reduce:test_two_streams expression 'owner[k].load() != key' 'owner[k].load() == 0'
plant workspace-counters test_reduce:test_workspace_too_small expression 'n_counters * 4 <= (int64_t)sizeof own->counters' '1'
plant workspace-partials test_reduce:test_workspace_too_small expression 'n_bytes <= (int64_t)sizeof own->partials' '1'
plant min-missing-bytes test_reduce:test_numpy expression 'count < 16' 'false'
plant sum-bytes test_reduce:test_alignments expression 'count < 16' 'false'
plant min-loses-nan test_reduce:test_values expression 'gpul__is_nan(a)' 'false'
plant min-zeros test_reduce:test_zeros expression 'a == b' 'false'
plant argmin-later test_reduce:test_numpy expression 'same & before' 'false'
plant var-count test_reduce:test_numpy expression 'count < kN ? count : kN' 'kN'
plant var-bytes test_reduce:test_numpy without
plant var-bytes-mean test_reduce:test_variance expression '2 * a.sum + n' '2 * a.sum'
plant var-bytes-rows test_reduce:test_plans expression 'exact && many > 4096' 'false'
plant gemv-beta-zero test_gemv:test_shapes expression 'beta == T(0)' 'false'
plant fetch-not-shifted test_reduce:test_same_bits expression 'reinterpret_cast<uintptr_t>(p) & 15' '0'
plant window-not-shifted test_elementwise:test_alignments expression 'reinterpret_cast<uintptr_t>(p) & (kBytes - 1)' '0'
plant elementwise-tail test_elementwise:test_sizes expression 'left < n' 'false'
plant elementwise-before test_elementwise:test_alignments expression 'part.before' '0'
plant elementwise-head test_elementwise:test_alignments expression 'part.skip' '0'
plant elementwise-edge test_elementwise:test_alignments expression 'first + j' 'j'
plant elementwise-repeat-byte test_elementwise:test_shapes expression '0x01010101u' '1u'
plant elementwise-bytes-carry test_elementwise:test_sizes expression 'a & ~kTop' 'a'
plant elementwise-alike test_elementwise:test_plans without
plant elementwise-await test_elementwise:test_sizes without
plant elementwise-lanes-end test_elementwise:test_read_again expression 'by < left' 'true'
plant elements-of-warps test_ufuncs:test_shapes expression 'v.used' '32'
plant lanes-beyond test_elementwise:test_read_again expression 'column < v.columns' 'true'
plant elementwise-await-elements test_custom:test_outputs without
plant elementwise-await-tiles test_elementwise:test_turned_words without
plant elementwise-stage-barrier test_elementwise:test_turned_words without
plant elementwise-tile-edge test_elementwise:test_turned_words expression 'c < columns ? c : columns - 1' 'c'
plant elementwise-transposed test_elementwise:test_turned_words expression '0x7632' '0x5410'
plant elementwise-wrapped test_elementwise:test_turned_words expression 'column < 0' 'false'
plant elementwise-turn-edge test_elementwise:test_turned without
plant elementwise-lines test_elementwise:test_plans expression 'op->vectors == 1' 'false'
plant elementwise-plan-tiles test_elementwise:test_plans expression 'height' '(height / 2)'
plant repeat-beyond test_ufuncs:test_repeated expression 'v.last_repeat' '~0u'
plant elementwise-cut test_elementwise:test_cut without
plant elementwise-whole test_elementwise:test_cut expression 'fits && n <= most' 'true'
plant elementwise-reach test_elementwise:test_cut expression 'all < 4 * most' 'true'
plant vectors-dtype test_elementwise:test_overlap_of_dtypes expression 'a->dtype != out->dtype' '0'
plant vectors-distance test_elementwise:test_overlap_of_dtypes expression 'bytes' 'bytes - 1'
plant vectors-end test_elementwise:test_overlap_of_dtypes expression 'at < at_out ? a->dtype : out->dtype' 'out->dtype'
plant same-elements-dtype test_elementwise:test_overlap_of_dtypes expression 'a->dtype != b->dtype' '0'
plant ufunc-await-elements test_ufuncs:test_shapes without
plant ufunc-await-vectors test_ufuncs:test_sizes without
plant ufunc-not-shifted test_ufuncs:test_rows without
plant ufunc-edge test_ufuncs:test_sizes expression 'part[i].has(k)' 'true'
plant ufunc-pick test_ufuncs:test_sizes expression 'part.has(first + j)' 'true'
plant ufunc-inside test_ufuncs:test_sizes expression 'p.inside[1]' '~0u'
plant ufunc-await-tiles test_elementwise:test_turned without
plant ufunc-stage-barrier test_elementwise:test_turned without
plant var-int64 test_reduce:test_variance expression 'gpul__difference(gpul__bits<U>(k < count ? x[k] : x[0]), other)' 'double(gpul__bits<U>(k < count ? x[k] : x[0])) - double(other)'
plant var-sums-kept test_reduce:test_model_long without
plant reduce-too-long test_reduce:test_errors expression 'n > int64_t(1) << 45' 'false'
plant var-infinite test_reduce:test_model_long expression 'eights > 1' 'true'
plant ufunc-nan-to-integer test_ufuncs:test_convert expression 'x[j] != x[j]' 'false'
plant ufunc-jam test_ufuncs:test_convert expression '(x & mask) != 0' 'false'
plant ufunc-minimum-nan test_ufuncs:test_binary expression 'a != a' 'false'
plant linspace-end test_ufuncs:test_sequences without
plant arange-start test_ufuncs:test_sequences expression 'a[j] != 0' '1'
plant repeats-of-places test_ufuncs:test_long_sequences expression 'p->op == GPUL__ARANGE || p->op == GPUL__LINSPACE' 'false'
plant binary-dtype test_ufuncs:test_dtypes expression 'op >= GPUL_EQUAL' 'op > GPUL_EQUAL'
plant negative-power test_ufuncs:test_refusals expression 'gpul__scalar_value(y) < 0' 'gpul__scalar_value(y) < -1'
plant past test_histogram:test_weight_layouts expression 'i < (n)' 'i <= (n)'
plant view-strides test_launch:test_views expression 'strides[k]' '1'
plant launch-handler test_launch:test_handler without
plant launch-dtype test_launch:test_dtypes expression '(argument->dtypes & 1 << a->dtype) == 0' '0'
plant launch-gaps test_launch:test_wrong_arrays expression '!gpul_is_contiguous(a, GPUL_ORDER_F)' '0'
plant launch-pageable test_launch:test_wrong_arrays expression 'attributes.type != cudaMemoryTypeUnregistered' '1'
plant launch-device test_launch:test_devices expression 'first != NULL' '0'
plant launch-shared test_launch:test_shared instead 'e = cudaSuccess;'
plant launch-casts test_launch:test_integers expression 'gpul__holds<Param>(double(arg))' 'true'
plant launch-narrows test_launch:test_integers expression 'argument->kind == GPUL__ARGUMENT_LOST' '0'
plant launch-limits test_launch:test_limits expression 'call->grid[k] > INT32_MAX' '0'
plant launch-cooperative test_launch:test_cooperative instead 'config.numAttrs = 0;'
plant cooperative-blocks test_launch:test_cooperative instead 'if (status == GPUL_OK) *blocks = each;'
plant atomic-extreme test_launch:test_atomics expression 'larger ? value > now : value < now' 'value > now'
plant view-from-end test_views:test_slice expression 'index + n' 'index'
plant view-end test_views:test_slice expression 'stop == GPUL_END' '0'
plant permute-twice test_views:test_permute expression 'at[axis] >= 0' '0'
plant workspace-of-graph-kept test_graph:test_forks without
plant workspace-of-graph-lost test_graph:test_workspace_refused without
plant workspace-of-captures-shared test_graph:test_graphs_of_a_stream expression 'number * 0x9e3779b97f4a7c15u' '1'
plant workspace-of-streams-shared test_graph:test_forks expression '(uint64_t)(uintptr_t)stream' '1'
plant workspace-held test_errors:test_threads_of_one_stream expression 'gpul__workspace_held[device][k].exchange(1)' '0'
plant launch-not-permitted test_errors:test_permission without
plant launch-permission test_errors:test_shared_memory_of_threads expression 'shared.most' 'shared.bytes'
plant wrong-stream test_graph:test_first instead 'config.stream = 0;'
plant counters-not-zeroed test_graph:test_forks instead 'e = cudaSuccess;'
plant stream-per-thread test_streams:test_free_of_another_thread instead 'return 0;'
plant workspace-of-busy-stream test_streams:test_workspace_of_busy expression 'cudaStreamQuery(stream)' '(gpul__clear_cuda(cudaStreamQuery(stream)), cudaSuccess)'
plant scratch-leaked test_faults:test_unknown instead 'return status;'
plant copy-swallowed test_faults:test_unknown expression 'cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream)' '(gpul__clear_cuda(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream)), cudaSuccess)'
plant elementwise-swallowed test_faults:test_unknown instead 'gpul__clear_cuda(e); return GPUL_OK;'
plant wait-swallowed test_faults:test_unknown expression 'status == GPUL_OK' 'status == GPUL_OK && (stream != NULL || (gpul__clear_cuda(cudaStreamSynchronize(NULL)), 0))'
plant order-swallowed test_faults:test_unknown expression 'cudaEventRecord(event, earlier)' '(gpul__clear_cuda(cudaEventRecord(event, earlier)), cudaSuccess)'
plant graph-swallowed test_faults:test_unknown expression 'cudaGraphLaunch(graph, stream)' '(gpul__clear_cuda(cudaGraphLaunch(graph, stream)), cudaSuccess)'
plant begin-not-ended test_faults:test_first_use instead 'if (status != GPUL_OK) return status;'
plant mode-kept test_faults:test_first_use without
plant restored-once test_faults:test_unknown without
plant retry-at-once test_faults:test_second_try expression 'cudaStreamSynchronize(stream)' 'cudaSuccess'
plant retry-without-trim test_faults:test_second_try without
plant pool-keeps-nothing test_arrays:test_memory_used expression 'UINT64_MAX' '0'
plant across-before-src test_copies:test_across expression 'ordered' '0'
plant scratch-freed-twice test_graph:test_forks instead 'if (scratch.data != NULL) (void)cudaFreeAsync(scratch.data, stream);'
plant reduce-keeps test_reduce:test_kept_axis expression 'result.ndim == x.ndim' '0'
plant reduce-overlap test_custom:test_several_contracts expression '1 + n_in' '1'
plant ordered-lane-ends test_custom:test_order_sizes expression 'first + lane' 'length'
plant ordered-slots test_custom:test_order_sizes expression 'slots - 1' '0'
plant ordered-row-step test_custom:test_order_plans expression '!reducer->ordered' 'true'
plant several-offsets test_custom:test_order_shapes expression 'by.at[1]' 'by.at[0]'
plant several-vectors test_custom:test_order_plans expression 'in->reduce[k][0] % vector != 0' 'false'
plant own-place test_custom:test_order_sizes expression 'place = begin' 'place = 0'
plant own-rounding test_custom:test_rounded expression 'gpul__round_to_odd(double(value))' 'float(value)'
plant outputs-overlap test_custom:test_several_contracts expression 'gpul__overlap(out, outs[i].array)' '0'
plant outputs-place test_custom:test_outputs expression 'at[4]' 'at[0]'
plant repeat-outputs test_custom:test_outputs_of_many expression 'k - 3' '0'
plant outputs-together test_custom:test_outputs expression 'p->strides[4 + k][last] == 1' 'true'
plant matmul-stack-time test_batches:test_copied_stacks expression 'double(gpul_ceil_div(before.batch, next.batch))' '1.0'
plant matmul-slice-barrier test_matmul:test_tiles without
plant matmul-fused test_matmul:test_chain instead 'c[l] += a[l / 2][s] * b[l % 2][s];'
plant matmul-whole-vectors test_matmul:test_plans expression 'x.dense' '0'
plant matmul-whole-groups test_matmul:test_padded_ends expression 'left % (sizeof(T) == 8 ? 2 : 4) == 0' 'true'
plant matmul-nan test_matmul:test_nan expression 'gpul__is_nan(x)' 'false'
plant matmul-halves-ends test_matmul:test_tensor_cores expression 'length < kCount' 'false'
plant matmul-halves-cut-off test_matmul:test_padded_ends expression 'copy_each(to, from, length)' '(void)0'
plant matmul-halves-each test_matmul:test_padded_ends expression 'j < exist' 'true'
plant matmul-halves-behind test_matmul:test_tensor_cores expression 'left < 1' 'left < kSlice'
plant matmul-last-steps test_matmul:test_tensor_cores expression 'here' 'here - 16'
plant matmul-slices-behind test_matmul:test_small expression 'slices < 1' 'slices < 2'
plant matmul-odd-ends test_matmul:test_tensor_cores instead 'held[i][j] = 0; exist = 8;'
plant matmul-odd-shift test_matmul:test_tensor_cores expression '16 * before' '0'
plant matmul-odd-alone test_matmul:test_tensor_cores expression 'alone_at[i] >= 0' 'false'
plant matmul-odd-both test_matmul:test_tensor_cores expression 'b_vector = 1' 'b_vector = plan.b_vector'
plant matmul-halves-cut test_matmul:test_tensor_cores expression 'int32_t(a.value[k + j] * b.value[k + j] * up)' '2 * int32_t(a.value[k + j] * b.value[k + j] * up / 2)'
plant matmul-halves-promote test_matmul:test_long_sums without
plant matmul-tf32-narrow test_matmul:test_plans expression 'alone->M > 32' 'alone->M > 31'
plant matmul-in-turn test_matmul:test_plans instead 'plan->splits = int32_t(gpul_ceil_div(K, plan->part + 64));'
plant matmul-in-turn-sum test_batches:test_in_turn expression 'of_term < slices' 'false'
plant matmul-tf32-terms test_matmul:test_math without
plant matmul-short-ends test_matmul:test_plans without
plant matmul-short-bias test_batches:test_epilogue expression 'p.transposed' 'false'
plant matmul-short-gelu test_batches:test_epilogue expression 'rows * kCols' 'kCols'
plant matmul-short-relu test_batches:test_epilogue without
plant matmul-thin-slots test_matmul:test_chain expression 'of_term < term' 'false'
plant matmul-thin-turns test_matmul:test_plans expression 'thin ? turn : 32' '32'
plant matmul-short-k test_matmul:test_plans expression 'p->K > way.most' 'false'
plant matmul-mma-pairs test_matmul:test_plans expression 'pairs ? 2 : 1' '2'
plant matmul-mma-vector test_matmul:test_plans expression 'pitch[0] ? 8 : vector[0]' '8'
plant matmul-nan-16 test_matmul:test_nan expression 'gpul__is_nan(x)' 'false'
plant matmul-await test_matmul:test_row_alone without
plant matmul-zero test_matmul:test_zeros expression 'gpul__gemm_fma(sum[g], one, typename S::Compute(0))' 'sum[g]'
plant matmul-short-zero test_matmul:test_zeros without
plant matmul-short-scales test_matmul:test_zeros expression 'scale_only' 'false'
plant matmul-short-await test_matmul:test_row_alone without
plant matmul-short-reads test_matmul:test_short_k expression 'first + i < rows' 'first + i == 0'
plant matmul-short-rows test_matmul:test_short_k without
plant matmul-short-columns test_matmul:test_short_k without
plant matmul-short-halves test_matmul:test_plans expression 'p->K > 8' 'p->K > 7'
plant matmul-short-room test_batches:test_plans without
plant matmul-short-items test_batches:test_short_stacks without
plant matmul-short-own test_batches:test_short_stacks without
plant matmul-short-mma-items test_batches:test_short_stacks without
plant matmul-short-mma-await test_batches:test_short_stacks without
plant matmul-short-mma-odd test_batches:test_short_stacks expression 'exist == 1' 'false'
plant matmul-short-mma-late test_batches:test_short_stacks without
plant matmul-short-mma-read test_batches:test_short_stacks without
plant matmul-short-mma-sums test_batches:test_short_stacks without
plant matmul-thin-await test_matmul:test_row_alone without
plant matmul-thin-early test_matmul:test_thin without
plant matmul-thin-late test_matmul:test_thin without
plant matmul-thin-tree-early test_matmul:test_thin without
plant matmul-thin-tree-late test_matmul:test_thin without
plant matmul-thin-one test_matmul:test_thin expression 'v.problem.M == 1 || v.problem.N == 1' 'true'
plant matmul-thin-edge test_matmul:test_thin expression 'j < exist' 'true'
plant matmul-thin-rule test_matmul:test_plans expression 'p->K > steps' 'true'
plant matmul-narrow-short test_matmul:test_plans expression 'side <= high' 'false'
plant matmul-narrow-edge test_matmul:test_thin expression 'j < count' 'true'
plant matmul-narrow-mask test_matmul:test_thin expression 'count * 2' '16'
plant matmul-narrow-promote test_matmul:test_long_sums expression 'v.plan.term < S::kChunk' 'true'
plant matmul-narrow-rows test_matmul:test_thin expression 'along_k' 'false'
plant matmul-narrow-await test_matmul:test_row_alone without
plant matmul-narrow-hard test_matmul:test_thin_end expression '__all_sync(0xffffffffu, stops)' 'true'
plant matmul-narrow-ends test_matmul:test_thin_end expression 'of_x.ends(x + last * vector_stride)' 'true'
plant matmul-narrow-back test_batches:test_in_turn expression 'turns > 0 ? turns : 0' 'turns + 1'
plant matmul-narrow-tree-late test_matmul:test_thin without
plant matmul-narrow-columns test_matmul:test_thin expression 'columns > S::kSums' 'false'
plant matmul-narrow-products test_batches:test_small_products expression 'left_products < room' 'false'
plant matmul-narrow-own test_batches:test_small_products expression 'w + j >= 0' 'true'
plant matmul-at-once test_batches:test_plans expression 'batch >= products * 2 * sms' 'batch > 0'
plant matmul-thin-products test_batches:test_small_products expression 'left_products < room' 'false'
plant matmul-end-barrier test_matmul:test_tiles without
plant matmul-raster test_matmul:test_tiles expression 'tile_n * height' 'tile_n'
plant matmul-parts-levels test_matmul:test_chain expression 'gpul__gemm_fan_log2' '8'
plant matmul-parts-beyond test_matmul:test_chain expression 'p < left' 'true'
plant matmul-parts-by-machine test_matmul:test_plans expression 'gpul__h200' '*machine'
plant matmul-kept-choice test_matmul:test_plans expression 'memcmp(&here.key, &key, sizeof key) != 0' 'memcmp(&here.key, &key, 8) != 0'
plant matmul-kept-alignment test_matmul:test_plans_kept expression 'gpul__in_line(p->A)' '0'
plant matmul-ieee-parts-by-machine test_matmul:test_other_plans expression 'gpul__gemm_sms' 'machine->sms'
plant matmul-misaligned-map test_matmul:test_plans expression 'gpul__aligned(x.data, size_t(bytes))' '1'
plant matmul-straddling test_matmul:test_plans expression 'element == 8 && along_k' 'false'
plant matmul-mixed test_matmul:test_plans expression 'gatherable & ~gathers' 'gatherable & ~gathers & 2'
plant matmul-gathers-held test_matmul:test_plans without
plant matmul-cluster test_matmul:test_plans expression 'together ? way.together : shared' 'together ? plan->splits : shared'
plant matmul-tensor-counters test_matmul:test_plans without
plant matmul-held test_matmul:test_plans expression 'across_b && !copy_b' 'false'
plant matmul-alpha-zero test_matmul:test_plans expression 'p->alpha == 0' 'false'
plant matmul-round test_matmul:test_math expression '0xfffu + odd' '0u'
plant matmul-ties test_matmul:test_math expression 'bits >> 13 & 1' '1'
plant matmul-pack-barrier test_matmul:test_emulated without
plant matmul-pack-scratch test_matmul:test_math_plans expression 'p->N * rounded.b_col * 4' '0'
plant matmul-emulated-short test_matmul:test_math_plans expression 'p->K < 64' 'false'
plant matmul-emulated-packing test_matmul:test_math_plans expression '90' '80'
plant matmul-range-bytes test_matmul:test_math_plans expression 'tiles * 4' '0'
plant matmul-range-left test_matmul:test_emulated_wide without
plant matmul-range-arrived test_matmul:test_emulated_wide expression 'last - first + 1' 'last - first + 2'
plant matmul-pack-scale test_matmul:test_emulated_wide expression 'place.down != down' 'down == ~0u'
plant matmul-emulated-counters test_matmul:test_math_plans without
plant matmul-emulated-depths test_matmul:test_math_plans without
plant matmul-math-dtype test_matmul:test_errors expression 'C->dtype != GPUL_F32' '0'
plant matmul-math-unknown test_matmul:test_errors expression 'options->math > GPUL_MATH_EMULATED' '0'
plant batch-broadcast test_batches:test_errors expression 'x != y' '0'
plant batch-overlaps-itself test_batches:test_errors expression 'gpul__check_output(function, names[0], arrays[0])' 'GPUL_OK'
plant batch-alignment test_batches:test_plans expression 'x.steps' '0'
plant batch-map test_batches:test_plans expression 'x.steps * element % bytes == 0' 'true'
plant matmul-one-thin test_batches:test_one_for_all expression 'gpul__gemm_is_thin(p, mma) == gpul__gemm_is_thin(&all, mma)' 'true'
plant matmul-one-parts test_batches:test_one_for_all expression 'alone' 'p'
plant matmul-one-scratch test_batches:test_plans expression '128' '4096'
plant matmul-few-launches test_batches:test_one_for_all expression 'plan->batch == all.batch' 'true'
plant matmul-few-last test_batches:test_one_for_all expression 'left < side.extent' 'false'
plant batch-parts test_batches:test_plans expression 'gpul__gemm_fewest_tiles(p, tile.m, tile.n)' 'gpul__gemm_fewest_tiles(p, tile.m, tile.n) * plan->batch'
plant batch-scratch test_batches:test_plans expression 'plan->batch * bytes' 'plan->batch * bytes + 512 * plan->batch'
plant batch-outer test_batches:test_stacks expression 'outer * inner' 'inner'
plant batch-last test_batches:test_many expression 'inner - i_near < plan.batch' '0'
plant batch-counters test_batches:test_stacks expression 'blockIdx.y' '0'
plant epilogue-end test_batches:test_epilogue expression 'gpul__gemm_has_epilogue(p)' 'false'
plant relu-nan test_batches:test_epilogue expression 'x <= 0' '!(x > 0)'
plant bias-dtype test_batches:test_errors expression 'bias->dtype != C->dtype' '0'
plant bias-overlap test_batches:test_errors expression '4' '3'
plant pending-error-swallowed test_errors:test_pending instead '(void)cudaGetLastError(); return GPUL_OK;'
plant device-not-restored test_arrays:test_pinned_of_two_devices instead 'return status;'
plant graph-leaked test_graph:test_endings without
plant benchmark-keeps-slow test_benchmark:test_throttled without
plant benchmark-clock-before test_benchmark:test_throttled expression 'before > b->cycles ? before : b->cycles' 'b->cycles'
plant benchmark-discarded test_benchmark:test_throttled instead 'r.discarded = b.taken - gpul__steady(&b, 0);'
plant benchmark-retakes test_benchmark:test_throttled instead 'want = o->repeat;'
plant benchmark-median test_benchmark:test_samples expression '(n - 1) / 2' 'n / 2'
plant benchmark-roof-that-binds test_benchmark:test_roof expression 'compute > memory ? compute : memory' 'memory'
plant roof-measured-again test_benchmark:test_roof expression 'gpul__atomic_load(&scope.state->roof_state) != GPUL__KNOWN' '1'
plant too-early test_copies:test_pinned_in_place instead 'status = GPUL_OK;'
plant handler-loses-record test_mistakes:test_handler without
plant dead-stream-kept test_mistakes:test_dead_stream without
plant pending-driver test_mistakes:test_driver_that_does_not_start without
plant wait-older-driver test_streams:test_wait_of_older_driver without
plant capture-asked-for-device test_graph:test_whole expression 'captured' '0'
plant graph-memory test_graph:test_memory_of_lost expression '!captured' '1'
plant set-repeated test_views:test_broadcast_to without
plant freed-twice test_mistakes:test_double_free expression 'e != cudaErrorInvalidValue' '1'
plant wrap-ends test_arrays:test_wrap expression 'last.type != first.type || last.device != first.device' '0'
plant wrap-last-byte test_arrays:test_wrap expression '1' '2'
plant report-tensor-cores test_mistakes:test_older_build expression 'machine.mma' '0'
plant matmul-emulates test_mistakes:test_older_build expression 'ratio > 4' 'false'
plant matmul-promotes test_matmul:test_emulated expression 'step == 0' 'false'
plant matmul-low test_matmul:test_emulated without
plant matmul-scale-back test_matmul:test_emulated expression 'n + col + g' 'n + g'
plant matmul-tf32-parts test_matmul:test_math without
plant matmul-tf32-across test_matmul:test_math expression '!along_k' 'false'
plant report-older-build test_mistakes:test_older_build expression 'binary < capability || ptx < capability' '0'
plant timer-running test_mistakes:test_timer_running expression 'timer->running' '0'
plant limit-ignored test_mistakes:test_memory_limit without
plant failed-keeps-memory test_arrays:test_out_of_memory without
plant compare-origin test_convenience:test_late_difference expression 'from[k] + at[k]' 'at[k]'
plant compare-worst test_convenience:test_close_values expression 'farther && worst == worst' '0'
plant print-corner test_convenience:test_numpy without
plant print-farther test_convenience:test_numpy without

} # all_faults

if [ "$mode" != all ]; then # never further: what follows starts this script for each fault
    mkdir -p "$own" || exit 1
    all_faults
    exit 0
fi

# ---- the faults two at a time, after what all of them share has been built ----

PLANTED_MODE=list sh "$0" || exit 1
markers >"$d/errors"
for file in $sources; do with_faults "$file"; done
{
    if [ -s "$d/errors" ]; then
        echo 'FAILED  the markers of the sources and the list of faults'
        sed 's/^/        /' "$d/errors"
    else
        echo 'ok      the markers of the sources and the list of faults'
    fi
} | tee "$d/results"

cat >"$d/planted.c" <<'END'
#include <stdlib.h>
int gpul_planted; /* the number of the fault that is there; 0: none */
static void __attribute__((constructor)) choose(void) {
    const char *number = getenv("PLANTED_FAULT");
    gpul_planted = number ? atoi(number) : 0;
}
END
cat >"$d/src/planted.h" <<'END'
#ifdef __cplusplus
extern "C"
#else
extern
#endif
int gpul_planted;
END
cp tests/gpulite_impl.c "$d/src/"
# shellcheck disable=SC2046
set -- $(cut -d' ' -f2 "$d/list" | sed 's/:.*//' | grep . | sort -u)
beside() { [ "$1" != test_custom ] || echo custom_kernels; } # what a test has besides, as in the Makefile
for test in "$@"; do [ -z "$(beside "$test")" ] || set -- "$@" "$(beside "$test")"; done
cat >"$d/compile.sh" <<END
case \$1 in
kernels) $CXX -O1 -include "$d/src/planted.h" -x c++ -std=c++17 -ffp-contract=off -Itests/cpu -I"$d/src" -c -o "$d/kernels.o" "$d/src/gpulite_kernels.cu" ;;
impl) $CC -O1 -include "$d/src/planted.h" -std=c99 -Itests/cpu -I"$d/src" -Itests -c -o "$d/impl.o" "$d/src/gpulite_impl.c" ;;
cudart) $CXX -O2 -g -std=c++17 -Itests/cpu -c -o "$d/cudart.o" tests/cpu/cudart.cpp ;;
planted) $CC -c -o "$d/planted.o" "$d/planted.c" ;;
*) if [ -f "tests/\$1.cu" ]; then # what is in the header for kernels has its faults, too
    $CXX -O0 -include "$d/src/planted.h" -x c++ -std=c++17 -ffp-contract=off -Itests/cpu -I"$d/src" -Itests -c -o "$d/\$1.o" "tests/\$1.cu"
else $CC -O1 -std=c99 -Itests/cpu -I. -Itests -c -o "$d/\$1.o" "tests/\$1.c"; fi ;;
esac >"$d/log-\$1" 2>&1 || { echo "FAILED  \$1 does not compile"; sed 's/^/        /' "$d/log-\$1" | head -n 20; }
END
printf '%s\n' kernels cudart impl planted "$@" | xargs -n 1 -P 2 sh "$d/compile.sh" | tee -a "$d/results"
for test in "$@"; do
    case $test in test_*) ;; *) continue ;; esac
    other=$(beside "$test")
    link "$d/$test" "$d/$test.o" ${other:+"$d/$other.o"} "$d/impl.o" "$d/kernels.o"
done

cat >"$d/passes.sh" <<END
function=\${1#"\${1%%:*}"}
CHECK_QUICK=1 CHECK_STOP=1 CHECK_ONLY=\${function#:} timeout 600 "$d/\${1%%:*}" >"$d/log-\$1" 2>&1 && : >"$d/passes-\$1"
END
cut -d' ' -f2 "$d/list" | grep . | sort -u | xargs -n 1 -P 2 sh "$d/passes.sh"

cut -d' ' -f1 "$d/list" | PLANTED_MODE=run xargs -I @ -P 2 env PLANTED_NUMBER=@ sh "$0" | tee -a "$d/results"
ran=$(grep -c '^ok ' "$d/results") failed=$(grep -c '^FAILED' "$d/results")
asked=$(($(wc -l <"$d/list") + 1))
[ $((ran + failed)) -ge "$asked" ] || { echo "$((asked - ran - failed)) did not run"; failed=$((failed + asked - ran - failed)); }
grep '^FAILED' "$d/results" # again, for whoever sees the end alone
echo "planted: $ran passed, $failed failed"
[ "$failed" -eq 0 ]
