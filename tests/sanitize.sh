#!/bin/sh
# SPDX-License-Identifier: MIT
# compute-sanitizer over test programs, on a GPU: every tool over every program, several at a time. First each tool must
# report the fault that was planted for it, or its silence about the rest would mean nothing.
#
#     tests/sanitize.sh build/cuda/sanitizer_faults build/cuda/tests/test_arrays ...        (or: make sanitize)
faults=$1
shift
LOG=${faults%/*}/sanitize
export LOG
rm -rf "$LOG"
mkdir -p "$LOG" || exit 1
command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer on the PATH"; exit 1; }

# shellcheck disable=SC2016  # the task's own variables
# a task: tool, program, its argument, what is expected
for tool in memcheck racecheck initcheck synccheck; do
    echo "$tool $faults $tool fault"
    for program in "$@"; do echo "$tool $program - clean"; done
done | xargs -P "${JOBS:-$(nproc)}" -n 4 sh -c '
    tool=$1 program=$2 argument=$3 expected=$4 log=$LOG/$1-${2##*/}
    [ "$argument" = - ] && argument=
    # tests provoke errors of runtime calls on purpose; what counts here is what kernels do
    GPUL_TEST_SANITIZER=$tool timeout "${LIMIT:-500}" compute-sanitizer --tool "$tool" --report-api-errors no \
        --error-exitcode 77 "$program" $argument >"$log" 2>&1 </dev/null
    status=$?
    case $expected:$status in
    fault:77 | clean:0) echo "passed: $tool ${program##*/} ($expected)" ;;
    *)
        echo "FAILED: $tool ${program##*/} (exit status $status, wanted: $expected)"
        grep -m 12 -e ========= -e failed "$log" | sed "s/^/    /"
        ;;
    esac' task | tee "$LOG/summary"
echo "sanitizers: $(grep -c ^passed: "$LOG/summary") passed, $(grep -c ^FAILED: "$LOG/summary") failed"
! grep -q ^FAILED: "$LOG/summary"
