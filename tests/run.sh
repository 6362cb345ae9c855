#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs test programs and examples, goes on after failures, and adds up. A test prints "name: N passed, N failed" last; a
# program that prints no such line counts as one test, passed when it exits with 0. A crash counts as a failure. What
# failing programs printed comes last, where whoever sees only an end of the output finds it.
#
# WATCH=1 says that the programs are built to watch for races (tests/cpu/README.md).
#
#     BUILD=build/cpu tests/run.sh build/cpu/tests/test_arrays build/cpu/examples/vecadd ...
passed=0
failed=0
bad= # programs that failed
log=${BUILD:-build}/log
mkdir -p "$log" || exit 1

for program in "$@"; do
    name=$(basename "$program")
    set --
    case $name in # what draws a picture, and where to
    tour) set -- examples/data/digits.npy "${BUILD:-build}/tour.svg" ;;
    transfers | streams | reduce | histogram) set -- "${BUILD:-build}/$name.svg" ;;
    esac
    if [ ! -x "$program" ]; then
        echo "$name: 0 passed, 1 failed"
        failed=$((failed + 1))
        echo 'it was not built' >"$log/$name"
        bad="$bad $name"
        continue
    fi
    case $program in */*) ;; *) program=./$program ;; esac
    "$program" "$@" >"$log/$name" 2>&1 </dev/null
    status=$?
    # The racing counter: where races are watched for, that race, and no other, must be found, and end the program with 86.
    if [ "$name" = race ] && [ -n "${WATCH:-}" ]; then
        found=$(grep -c '^standin: race: ' "$log/$name")
        its=$(grep -c '^standin: race: count_racing, ' "$log/$name")
        if [ $status -eq 86 ] && [ "$its" -gt 0 ] && [ "$found" -eq "$its" ]; then status=0; else status=1; fi
    fi
    # the program's own count, from its last line of that form
    counts=$(sed -n 's/^\([^ ]*: \)\{0,1\}\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\2 \3/p' "$log/$name" | tail -n 1)
    if [ -n "$counts" ]; then
        p=${counts% *} f=${counts#* }
    elif [ $status -eq 0 ]; then
        p=1 f=0
    else
        p=0 f=0
    fi
    [ $status -ne 0 ] && [ "$f" -eq 0 ] && f=1
    if [ "$f" -ne 0 ]; then
        bad="$bad $name"
        echo "$name: $p passed, $f failed (exit status $status)"
    else
        echo "$name: $p passed, $f failed"
    fi
    passed=$((passed + p))
    failed=$((failed + f))
done
for name in $bad; do
    echo "---- $name failed: ----"
    sed 's/^/    /' "$log/$name"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
