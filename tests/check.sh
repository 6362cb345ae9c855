#!/bin/sh
# SPDX-License-Identifier: MIT
# make check: what can be said of the sources without running them, and whether the tests would notice. Tools that are
# not installed are skipped, and said to be. Ends with "N passed, N failed".
CC=${CC:-cc}
passed=0
failed=0
work=build/check
mkdir -p "$work" || exit 1

# try NAME COMMAND...: one check
try() {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        sed 's/^/        /' "$work/log" | head -n 60
    fi
}
skip() { echo "skipped $1: $2"; }
have() { command -v "$1" >/dev/null 2>&1; }

# script PATH: a check script of its own, which prints "name: N passed, N failed" last
script() {
    [ -f "$1" ] || return 0
    CC=$CC sh "$1" >"$work/script" 2>&1
    status=$?
    counts=$(sed -n 's/^[^ ]*: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed.*$/\1 \2/p' "$work/script" | tail -n 1)
    p=${counts% *} f=${counts#* }
    [ -n "$counts" ] || p=0 f=0
    if [ $status -ne 0 ] || [ "$f" -ne 0 ]; then
        [ "$f" -ne 0 ] || f=1
        sed 's/^/        /' "$work/script" | tail -n 60
        echo "FAILED  $1: $p passed, $f failed"
    else
        echo "ok      $1: $p passed"
    fi
    passed=$((passed + p))
    failed=$((failed + f))
}

# sources: not what is built, nor what hides
files() { find . -name build -prune -o -name '.[!.]*' -prune -o -type f "$@" -print | sort; }
c_sources=$(files \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \))
scripts=$(files -name '*.sh')
for file in .ci/run .ci/cached; do [ -f $file ] && scripts="$scripts $file"; done

# Each source names its licence in its first lines.
spdx() {
    missing=0
    for file in $c_sources $scripts Makefile; do
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' || { echo "no SPDX line: $file"; missing=1; }
    done
    return $missing
}
# The version is written three times.
version() {
    v=$(sed -n 's/^#define GPUL_VERSION "\(.*\)"/\1/p' gpulite.h)
    numbers=$(sed -n 's/^#define GPUL_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' gpulite.h | paste -sd. -)
    echo "GPUL_VERSION $v, its parts $numbers"
    [ -n "$v" ] && [ "$v" = "$numbers" ] && grep -q "gpulite.h - v$v - " gpulite.h &&
        grep -q "gpulite_kernels.cu - v$v - " gpulite_kernels.cu
}
# Each example's first lines hold the commands that build it.
command_lines() {
    missing=0
    for file in examples/*.c examples/*.cu; do
        program=$(basename "${file%.*}")
        lines=$(head -n 20 "$file" | grep -c -e "nvcc -arch=native \(-O3 \)\?-o $program $file gpulite_kernels.cu" \
            -e "g++ .* -Itests/cpu -o $program .*$file ")
        [ "$lines" -eq 2 ] || { echo "build lines missing: $file"; missing=1; }
    done
    return $missing
}

# The kernels' files as a user of the stand-in compiles them
example_warnings() {
    for file in examples/*.cu; do
        "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror -Itests/cpu -fsyntax-only -x c++ "$file" || return 1
    done
}

# ---- the Makefile ----

# of_itself ...: a make that does not know of the one that runs this script
of_itself() { (unset MAKEFLAGS MFLAGS MAKEOVERRIDES BACKEND ARCH B && make --no-print-directory "$@"); }
# In place of a compiler: writes a program that does nothing, and takes its time
cat >"$work/cc" <<'END'
#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
echo "$out" >>"${0%/*}/written"
sleep 0.2
echo '#!/bin/sh' >"$out" && chmod +x "$out"
END
chmod +x "$work/cc"
few="EXAMPLES=vecadd TESTS= SELFTESTS= TEST_SCRIPTS="

# Two goals of a parallel make write no file twice.
make_in_parallel() {
    for goals in 'all test' 'test run'; do
        rm -rf "$work/make" "$work/written"
        # shellcheck disable=SC2086
        of_itself -j2 BACKEND=cpu B="$work/make" CC="$work/cc" CXX="$work/cc" $few $goals || return 1
        twice=$(sort "$work/written" | uniq -d)
        [ -z "$twice" ] || { echo "make -j2 $goals writes twice: $twice"; return 1; }
    done
}
# Flags may have both kinds of quotes.
make_with_quotes() {
    flags_quoted="-DGPUL_API='x(\"y\")'"
    of_itself BACKEND=cpu B="$work/make" CFLAGS="$flags_quoted" "$work/make/commands" && grep -qF -- "$flags_quoted" "$work/make/commands"
}
# A header of the stand-in makes anew what includes it, and nothing else does.
make_after_headers() {
    objects="$work/make/tests/gpulite_impl.o $work/make/examples/race.o"
    for header in cuda_runtime_api.h cuda_runtime.h; do
        # shellcheck disable=SC2086
        {
            of_itself BACKEND=cpu B="$work/make" CFLAGS=-O0 $objects >/dev/null || return 1
            again=$(of_itself BACKEND=cpu B="$work/make" CFLAGS=-O0 $objects | grep -c -e '-c -o')
            changed=$(of_itself -W tests/cpu/$header BACKEND=cpu B="$work/make" CFLAGS=-O0 $objects | grep -c -e '-c -o')
        }
        wanted=2
        [ $header = cuda_runtime.h ] && wanted=1 # no C file has kernels
        echo "$header: $changed of $wanted objects; with no change $again"
        [ "$again" -eq 0 ] && [ "$changed" -eq $wanted ] || return 1
    done
}
# What was asked for and is not there is said, where it matters.
make_says() {
    of_itself NVCC=/no/such/nvcc backend | grep 'cpu (no nvcc at /no/such/nvcc)' || return 1
    of_itself BACKEND=cpu ARCH=nonsense backend | grep 'ARCH=nonsense' || return 1
    of_itself -n BACKEND=nonsense && return 1
    of_itself -n BACKEND=cuda NVCC=/no/such/nvcc && return 1
    of_itself -n BACKEND=nonsense clean uninstall
}

try 'SPDX lines' spdx
try 'versions agree' version
try 'build lines of the examples' command_lines
try 'warnings of the examples on the stand-in' example_warnings
try 'make: goals in parallel' make_in_parallel
try 'make: quotes in flags' make_with_quotes
try 'make: after a change of a header' make_after_headers
try 'make: what it says' make_says

format=$(command -v clang-format-14 || command -v clang-format)
if [ -n "$format" ] && "$format" --version | grep -q ' version 14\.'; then
    # shellcheck disable=SC2086 # a list of files
    try 'clang-format 14' "$format" --dry-run -Werror $c_sources
else
    skip clang-format 'version 14 is not installed'
fi

if have shellcheck; then
    # shellcheck disable=SC2086
    try shellcheck shellcheck $scripts
else
    skip shellcheck 'not installed'
fi

# The implementation is looked at once: these are the programs without it.
rm -rf "$work/plain"
mkdir -p "$work/plain/examples"
cp gpulite.h "$work/plain/"
cp examples/*.h "$work/plain/examples/"
mkdir -p "$work/plain/examples/blas"
for file in examples/*.c examples/blas/*.c; do sed 's/^#define GPULITE_IMPLEMENTATION.*//' "$file" >"$work/plain/$file"; done

flags='-std=c99 -I. -Itests -isystem tests/cpu'
if have cppcheck; then
    # the library's host side and the programs, as C; missing system headers are no finding
    # shellcheck disable=SC2086
    try cppcheck cppcheck --quiet --error-exitcode=1 --std=c99 --enable=warning,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=unusedFunction --suppress=incorrectLogicOperator -I. -Itests/cpu -D__GNUC__=12 \
        tests/gpulite_impl.c "$work"/plain/examples/*.c "$work"/plain/examples/blas/*.c
else
    skip cppcheck 'not installed'
fi

tidy=$(command -v clang-tidy-14 || command -v clang-tidy)
if [ -n "$tidy" ]; then
    # Paths are followed only through functions of the file itself, so the library is one. So many of them: ten seconds.
    extra='--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=20000'
    # shellcheck disable=SC2086
    try 'clang-tidy of the library' "$tidy" --quiet --warnings-as-errors='*' $extra gpulite.h -- -x c -DGPULITE_IMPLEMENTATION $flags
    # shellcheck disable=SC2086
    try 'clang-tidy of the programs' "$tidy" --quiet --warnings-as-errors='*' tests/gpulite_impl.c "$work"/plain/examples/*.c "$work"/plain/examples/blas/*.c -- $flags
else
    skip clang-tidy 'not installed'
fi

script tests/header.sh
script tests/planted.sh

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
