#!/bin/sh
# SPDX-License-Identifier: MIT
# The tour on odd data, and other examples of odd sizes: a sensible result, or one clear line and exit status 1.
tour=${BUILD:-build/cpu}/examples/tour
work=${BUILD:-build/cpu}/test_tour
passed=0
failed=0
rm -rf "$work"
mkdir -p "$work" || exit 1

# npy NAME DESCR ORDER SHAPE DATA: writes an .npy file; DATA is printf's format, octal
npy() {
    header="{'descr': '$2', 'fortran_order': $3, 'shape': $4, }"
    # shellcheck disable=SC2059 # the data are a format on purpose
    {
        printf '\223NUMPY\001\000'
        printf "\\$(printf %o ${#header})\\000"
        printf '%s' "$header"
        printf "$5"
    } >"$work/$1.npy"
}

fail() {
    failed=$((failed + 1))
    echo "$1"
    sed 's/^/    /' "$work/log"
}

# works NAME TEXT: exit status 0, TEXT in the output, a chart
works() {
    rm -f "$work/$1.svg"
    if ! "$tour" "$work/$1.npy" "$work/$1.svg" >"$work/log" 2>&1; then
        fail "$1: failed"
    elif ! grep -q -F -- "$2" "$work/log"; then
        fail "$1: '$2' is not in the output"
    elif grep -q WRONG "$work/log"; then
        fail "$1: a wrong step"
    elif ! grep -q '</svg>' "$work/$1.svg" || grep -q -i -E '[^a-z](nan|inf)[^a-z]' "$work/$1.svg"; then
        fail "$1: no good chart"
    else
        passed=$((passed + 1))
    fi
}

# refuses FILE TEXT: exit status 1 (not a crash), one line, TEXT in it
refuses() {
    "$tour" "$1" "$work/none.svg" >"$work/out" 2>"$work/log"
    status=$?
    if [ $status -ne 1 ]; then
        fail "$1: exit status $status"
    elif [ "$(wc -l <"$work/log")" -ne 1 ] || ! grep -q -F -- "$2" "$work/log"; then
        fail "$1: '$2' is not the message"
    else
        passed=$((passed + 1))
    fi
}

# six samples of three features, C order, and the same matrix in Fortran order
npy c '|u1' False '(6, 3)' '\001\002\003\004\006\005\002\004\001\007\016\011\003\007\010\000\001\002'
npy f '|u1' True '(6, 3)' '\001\004\002\007\003\000\002\006\004\016\007\001\003\005\001\011\010\002'
works c '3 columns that vary'
grep 'first component' "$work/log" >"$work/c.txt"
works f '3 columns that vary'
if ! grep 'first component' "$work/log" | cmp -s - "$work/c.txt"; then fail 'c and f: the results differ'; fi

# the other dtypes: (4, 1) and (4,) and (1, 1)
npy f4 '<f4' False '(4, 1)' '\0\0\200\077\0\0\0\100\0\0\100\100\0\0\200\100'
npy f8 '<f8' False '(2, 1)' '\0\0\0\0\0\0\360\077\0\0\0\0\0\0\0\100'
npy i4 '<i4' False '(4,)' '\001\0\0\0\377\377\377\377\003\0\0\0\0\0\0\200'
npy i8 '<i8' True '(2,)' '\001\0\0\0\0\0\0\0\377\377\377\377\377\377\377\177'
for name in f4 f8 i4 i8; do works $name '1 columns that vary'; done

# nothing varies: one row, one value, constant columns; and one constant column among others
npy row '|u1' False '(1, 4)' '\001\002\003\004'
npy one '<f8' False '(1, 1)' '\0\0\0\0\0\0\360\077'
npy constant '<f4' False '(3, 2)' '\315\314\314\075\0\0\200\077\315\314\314\075\0\0\200\077\315\314\314\075\0\0\200\077'
for name in row one constant; do works $name 'every column is constant'; done
npy mixed '|u1' False '(3, 2)' '\005\001\005\002\005\004'
works mixed '1 columns that vary'

npy nan '<f4' False '(2, 2)' '\0\0\200\077\0\0\200\077\0\0\0\100\0\0\300\177'
npy inf '<f4' False '(2, 2)' '\0\0\200\177\0\0\200\077\0\0\0\100\0\0\200\077'
npy huge '<f8' False '(2, 1)' '\0\0\0\0\0\0\340\177\0\0\0\0\0\0\360\077'
npy empty '<f8' False '(0, 3)' ''
npy thin '<f8' False '(3, 0)' ''
npy scalar '<f8' False '()' '\0\0\0\0\0\0\360\077'
npy cube '|u1' False '(1, 2, 2)' '\001\002\003\004'
npy half '<f2' False '(2, 1)' '\0\0\0\0'
npy short '<f8' False '(9, 9)' '\0\0'
refuses "$work/nan.npy" 'column 1 has mean nan'
refuses "$work/inf.npy" 'column 0 has mean inf'
refuses "$work/huge.npy" 'must be finite, and small enough'
refuses "$work/empty.npy" 'shape (0, 3) holds no data'
refuses "$work/thin.npy" 'shape (3, 0) holds no data'
refuses "$work/scalar.npy" '0 dimensions'
refuses "$work/cube.npy" '3 dimensions'
refuses "$work/half.npy" "dtype '<f2'"
refuses "$work/short.npy" 'truncated'
refuses "$work/absent.npy" 'cannot open'
refuses tests/test_tour.sh 'not an .npy file'

# What README.md and examples/h200.md print of it, but for the times, is what it prints: errors are the same on every machine.
numbers() { # of a run: each step's name, error and what is allowed, and the first component
    awk '/^examples\/data\/digits.npy: / { run = 1 }
        run && / ok$/ { print substr($0, 1, 36), $(NF - 2), $(NF - 1) }
        run && /^the first component: / { print; exit }'
}
"$tour" examples/data/digits.npy "$work/digits.svg" >"$work/out" 2>&1
numbers <"$work/out" >"$work/numbers"
for file in README.md examples/h200.md; do
    if numbers <$file | diff - "$work/numbers" >"$work/log" && [ "$(wc -l <"$work/numbers")" -eq 10 ]; then
        passed=$((passed + 1))
    else
        fail "$file: not what the tour prints"
    fi
done

"$tour" "$work/c.npy" "$work/absent/chart.svg" >"$work/out" 2>"$work/log"
if [ $? -eq 1 ] && grep -q 'cannot write' "$work/log"; then passed=$((passed + 1)); else fail 'an SVG that cannot be written'; fi
"$tour" --help >"$work/out" 2>"$work/log"
if [ $? -eq 1 ] && grep -q usage "$work/log"; then passed=$((passed + 1)); else fail 'usage'; fi

# The other examples: of sizes that they cannot have, or that are no numbers, one line that says how they are called
for call in 'vecadd 0' 'elementwise 0 1' 'gemv 1 x' 'block_sum 0' 'block_sum x' 'matmul 0 3 3' 'matmul x y z' 'matmul 3 3' \
    'asynchronous 1' 'larger 0'; do
    # shellcheck disable=SC2086 # a program and its arguments
    "${tour%/*}"/$call >"$work/out" 2>"$work/log"
    if [ $? -eq 1 ] && grep -q '^usage: ' "$work/log" && [ "$(wc -l <"$work/log")" -eq 1 ]; then
        passed=$((passed + 1))
    else
        fail "$call: no usage line"
    fi
done

echo "test_tour: $passed passed, $failed failed"
[ $failed -eq 0 ]
