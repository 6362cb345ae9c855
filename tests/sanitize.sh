#!/bin/sh
# SPDX-License-Identifier: MIT
# compute-sanitizer over test programs, on a GPU: every tool over every program, several at a time. First each tool must
# report the fault that was planted for it, or its silence about the rest would mean nothing. Of loops over many cases a
# sixteenth runs, for which the tools take minutes; CHECK_QUICK=0 runs all of it, CHECK_ONLY=test_name one test of each.
#
#     tests/sanitize.sh build/cuda/sanitizer_faults build/cuda/tests/test_arrays ...        (or: make sanitize)
if [ "$1" = --task ]; then # TOOL PROGRAM ARGUMENT EXPECTED: one of them; notes in $LOG/$AGAIN what failed
    tool=$2 program=$3 argument=$4 expected=$5 log=$LOG/$2-${3##*/}
    [ "$argument" = - ] && argument=
    # tests provoke errors of runtime calls on purpose; what counts here is what kernels do
    # shellcheck disable=SC2086  # no argument rather than an empty one
    timeout "${LIMIT:-500}" compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 77 \
        "$program" $argument >"$log" 2>&1 </dev/null
    status=$?
    case $expected:$status in
    fault:77 | clean:0) echo "passed: $tool ${program##*/} ($expected)" ;;
    *)
        echo "FAILED: $tool ${program##*/} (exit status $status, wanted: $expected)"
        grep -m 12 -e ========= -e failed "$log" | sed 's/^/    /'
        echo "$tool $program $4 $expected" >>"$LOG/$AGAIN"
        ;;
    esac
    exit 0
fi

faults=$1
shift
LOG=${faults%/*}/sanitize
CHECK_QUICK=${CHECK_QUICK-1}
export LOG CHECK_QUICK
rm -rf "$LOG"
mkdir -p "$LOG" || exit 1
command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer on the PATH"; exit 1; }

for tool in memcheck racecheck initcheck synccheck; do
    echo "$tool $faults $tool fault"
    for program in "$@"; do echo "$tool $program - clean"; done
done | AGAIN=again xargs -P "${JOBS:-4}" -n 4 sh "$0" --task | tee "$LOG/summary"

# Some tests fill the device's memory, and their neighbours fail for it: what failed in company runs once more, alone.
if [ -f "$LOG/again" ]; then
    echo "once more, one at a time:"
    AGAIN=failed xargs -n 4 sh "$0" --task <"$LOG/again" | tee -a "$LOG/summary"
fi
failed=0
[ -f "$LOG/failed" ] && failed=$(wc -l <"$LOG/failed")
echo "sanitizers: $(grep -c ^passed: "$LOG/summary") passed, $failed failed"
[ "$failed" -eq 0 ]
