#!/bin/sh
# SPDX-License-Identifier: MIT
# Netlib's own tests of BLAS, from Debian's package libblas-test, through examples/blas: its dot, asum, gemv and gemm,
# from Fortran and from C, in both orders. Each test must say that it passed, and the calls must have come to gpulite.
build=${BUILD:-build/cpu}
work=$build/test_blas
source=examples/blas/gpulite_blas.c
passed=0
failed=0
say() {
    echo "test_blas: $1"
    echo "test_blas: $passed passed, $failed failed"
    exit 0
}
for file in /usr/lib/*/blas/xblat1s; do netlib=$file; done
[ -x "$netlib" ] || say 'left out: the package libblas-test is not installed'
netlib=${netlib%/*}
case $build in
*cuda*) compiler=nvcc ;;
*cpu) compiler=g++ ;;
*) say 'left out: a library that is loaded first is built without instruments' ;;
esac

# the command that its first lines give
rm -rf "$work"
mkdir -p "$work" || exit 1
command=$(sed -n "1,20s|^ \*  *\($compiler .*\) -o libgpulite_blas.so \(.*\)\$|\1 -o $work/libgpulite_blas.so \2|p" $source)
if ! sh -c "$command" >"$work/log" 2>&1; then
    cat "$work/log"
    echo "test_blas: 0 passed, 1 failed ($source does not compile)"
    exit 1
fi
library=$(cd "$work" && pwd)/libgpulite_blas.so

good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "$1"
    sed 's/^/    /' "$work/out" "$work/err" | head -n 40
}
# runs PROGRAM INPUT FUNCTION: with the lines of all other functions of INPUT switched off
runs() {
    program=$1
    : >"$work/in"
    [ -z "$2" ] || sed "/ T PUT F FOR NO TEST/{/$3/I! s/ T PUT/ F PUT/}" "$netlib/$2" >"$work/in"
    rm -f "$work"/*.out
    (cd "$work" && GPULITE_BLAS_COUNT=1 LD_PRELOAD=$library "$netlib/$program" <in >out 2>err) ||
        bad "$program: exit status not 0"
    for file in "$work"/*blat?.out; do [ ! -f "$file" ] || cat "$file" >>"$work/out"; done # Fortran's tests write there
    ! grep -q -i fail "$work/out" || bad "$program: a test failed"
}
# passes N TEXT: so many lines of the last program begin thus and say that they passed
passes() {
    n=$(grep -c -i "$2" "$work/out")
    if [ "$n" -eq "$1" ]; then passed=$((passed + n)); else bad "$program: $n of $1 tests say '$2'"; fi
}
# counted N FUNCTION: so many calls of the last program came to gpulite
counted() {
    if grep -q "^gpulite: .*\b$1 $2" "$work/err"; then good; else bad "$program: not $1 calls of $2, but $(cat "$work/err")"; fi
}

for p in s d; do
    for program in "xblat1$p" "x${p}cblat1"; do
        runs "$program" '' ''
        # a line names the function, the next one says PASS
        for function in dot asum; do
            if grep -i -A1 "Test of subprogram .* \(CBLAS_\)\?$p$function" "$work/out" | grep -q 'PASS'; then good
            else bad "$program: $p$function"; fi
        done
        counted 16 dot
        counted 10 asum
    done
    runs "xblat2$p" "${p}blat2.in" gemv
    passes 2 "^ ${p}gemv *passed the "
    counted 3467 gemv
    runs "x${p}cblat2" "${p}in2" gemv
    passes 3 "^ cblas_${p}gemv *passed the "
    counted 6932 gemv
    runs "xblat3$p" "${p}blat3.in" gemm
    passes 2 "^ ${p}gemm *passed the "
    counted 17524 gemm
    runs "x${p}cblat3" "${p}in3" gemm
    passes 3 "^ cblas_${p}gemm *passed the "
    counted 35040 gemm
done
echo "test_blas: $passed passed, $failed failed"
[ $failed -eq 0 ]
