#!/bin/sh
# SPDX-License-Identifier: MIT
# make figures: what the two files weigh. Kernels, seconds to compile, bytes of the object, lines; needs nvcc and no
# GPU. Seconds are wall-clock seconds of a machine that does nothing else. FIGURES="lines kernels" prints some of them.
set -u
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
arch=${ARCH:-sm_90a}
which=${FIGURES:-lines kernels all compressed families}
d=${TMPDIR:-/tmp}/gpulite-figures.$$
mkdir -p "$d" || exit 1
trap 'rm -rf "$d"' EXIT
trap 'exit 1' INT TERM
status=0

families='ELEMENTWISE REDUCE GEMV HISTOGRAM MATMUL'
# both architectures of sm_90a at a time, and the functions of each on all cores
flags="-O3 -std=c++17 -arch=$arch -I. --threads 0 -Xcompiler -fno-exceptions,-fno-threadsafe-statics"
[ -z "$nvcc" ] || { "$nvcc" --help | grep -q split-compile && flags="$flags --split-compile=0"; }

# compile WHAT [FLAGS]: prints the seconds and the bytes of the object
compile() {
    what=$1
    shift
    start=$(date +%s%N)
    # shellcheck disable=SC2086
    if "$nvcc" $flags "$@" -c -o "$d/object.o" gpulite_kernels.cu >"$d/log" 2>&1; then
        seconds=$((($(date +%s%N) - start) / 100000000))
        printf '%-44s %6d.%d s  %9d bytes\n' "$what" $((seconds / 10)) $((seconds % 10)) "$(wc -c <"$d/object.o")"
    else
        status=1
        echo "$what: does not compile"
        head -n 20 "$d/log"
    fi
}
# kernels WHAT [FLAGS]: entry points of the PTX, which the object has as machine code
kernels() {
    what=$1
    shift
    if "$nvcc" -std=c++17 -arch="$arch" -I. -Xcicc -O0 "$@" -ptx -o "$d/kernels.ptx" gpulite_kernels.cu >"$d/log" 2>&1; then
        printf '%-44s %6d\n' "$what" "$(grep -c '^[^/]*\.entry ' "$d/kernels.ptx")"
    else
        status=1
        echo "$what: does not compile"
        head -n 20 "$d/log"
    fi
}
# alone FAMILY: the macros that leave the others out
alone() { for f in $families; do [ "$f" = "$1" ] || printf ' -DGPULITE_NO_%s' "$f"; done; }

for figure in $which; do
    if [ "$figure" != lines ] && [ -z "$nvcc" ]; then
        echo "$figure: left out, nvcc is not installed"
        continue
    fi
    case $figure in
    lines)
        for file in gpulite.h gpulite_kernels.cu; do printf '%-44s %6d lines\n' "$file" "$(wc -l <$file)"; done
        ;;
    kernels) kernels "kernels without matmul's" -DGPULITE_NO_MATMUL ;;
    all) compile "all families, $arch" ;;
    compressed)
        if "$nvcc" --help | grep -q compress-mode; then compile "the same with --compress-mode=size" --compress-mode=size
        else compile "the same with -Xfatbin=-compress-all" -Xfatbin=-compress-all; fi
        ;;
    families)
        for family in $families; do
            # shellcheck disable=SC2046
            compile "$(echo "$family" | tr '[:upper:]' '[:lower:]') alone, $arch" $(alone "$family")
            grep -q "GPULITE_NO_$family" gpulite_kernels.cu || echo "    (GPULITE_NO_$family is not known: it is in the others, too)"
        done
        ;;
    *) echo "no such figure: $figure"; exit 2 ;;
    esac
done
exit $status
