#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes NAME.sm_XX.ptx from NAME.cu, in gpu/kernels, gpu/timed, tests/exec/data and
# tests/faults/mapping.
#
#   scripts/make_ptx.sh          writes every PTX file
#   scripts/make_ptx.sh --check  writes none; names those that differ from what nvcc makes now
#
# Exit status: 0 done; 1 a file differs (--check) or does not compile; 2 usage; 77 there is no nvcc.
# NVCC names the compiler (default: nvcc). Another release of nvcc may make other PTX: the first
# lines of each file say which one made it, and --check by another one exits with 77.
set -u

# name, target, nvcc's options.
table='
ldmatrix      75
mma_ldmatrix  80
mma_m16n8k16  80
volta_m8n8k4  70
gemm          70  -DTARGET=70
gemm          75  -DTARGET=75
gemm          80  -DTARGET=80
gemm_tiles    80
launches      80
launches_G    80  -G
wmma_gemm     70
special_check 70  -DTARGET=70
special_check 75  -DTARGET=75
special_check 90  -DTARGET=90
math          80
tile          80
swizzled      80
wgmma_gemm    90a
bulk          90
cluster       90
tma           90a
specialized_gemm 90a
specialized_attention 90a
'
# Three files of each: as people ship them; NAME_O0, not optimized; NAME_G, for a debugger.
in_three_ways='
attention
calls
histogram
int4_gemm
layer_norm
life
order
persistent_gemm
portable    -fmad=false
printf
reduce
softmax
transpose
wmma_gemm
'
while read -r name options; do
    [ -n "$name" ] || continue
    table+="$name 80 $options
${name}_O0 80 $options -Xcicc -O0
${name}_G 80 $options -G
"
done <<<"$in_three_ways"

case "$#:${1-}" in
    0:) check=false ;;
    1:--check) check=true ;;
    *)
        echo "usage: $0 [--check]" >&2
        exit 2
        ;;
esac

nvcc=${NVCC:-nvcc}
if ! command -v "$nvcc" >/dev/null; then
    echo "make_ptx.sh: no $nvcc here"
    exit 77
fi

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# nvcc writes the folders of sources into DWARF and into the names of static functions: always these.
scratch=/tmp/lockwarp-ptx
for wait in {1..120} end; do
    mkdir "$scratch" 2>/dev/null && break
    if [ "$wait" = end ]; then
        echo "make_ptx.sh: another one runs, or was killed: then remove $scratch" >&2
        exit 1
    fi
    sleep 1
done
trap 'rm -rf "$scratch"' EXIT
data=tests/exec/data
mapping=tests/faults/mapping
mkdir -p "$scratch/$data" && cp "$root/$data"/*.hpp "$scratch/$data" || exit 1
cp "$root"/gpu/kernels/*.cu "$root"/gpu/kernels/*.cuh "$root"/gpu/timed/*.cu "$root/$data"/*.cu "$root/$mapping"/*.cu "$scratch" && cd "$scratch" || exit 1

# nvcc 13 compiles for sm_75 and up. Sources for sm_70 use nothing newer than that, so their PTX
# only needs another header: mma.m8n8k4 came with version 6.4.
# Constexpr functions are compiled for the GPU too: the models of the special functions.
common=(-ptx -std=c++20 --expt-relaxed-constexpr -I"$scratch" -I"$root")
source_of() {
    local name=${1%_O0}
    echo "${name%_G}.cu"
}

compile() {  # name target options...
    local source target=$2 ptx=$1.sm_$2.ptx
    source=$(source_of "$1")
    shift 2
    if [ "${target%a}" -ge 75 ]; then
        "$nvcc" "${common[@]}" -arch=compute_"$target" "$@" -o "$ptx" "$source"
    else
        "$nvcc" "${common[@]}" -arch=compute_75 "$@" -o "$ptx" "$source" &&
            sed -i -e "s/^\.target sm_75$/.target sm_$target/" \
                -e 's/^\.version .*/.version 6.4/' "$ptx"
    fi || return 1
    # Where this machine has its headers is in no file.
    sed -i -E 's|^(\t\.file\t[0-9]+ ")/.*/|\1|' "$ptx" || return 1
    # Nothing in it is newer than the instructions it is there for, so that older drivers take it.
    case $source:$target in
        special_check.cu:75) sed -i 's/^\.version .*/.version 7.0/' "$ptx" ;;
        special_check.cu:90) sed -i 's/^\.version .*/.version 7.8/' "$ptx" ;;
    esac
}

# Lines of the host's own headers, in what is for debuggers, are no difference.
compared() { sed -E '/^\t\.loc\t/d; /^\t\.file\t/,$d' "$1"; }

status=0
while read -r name target options; do
    [ -n "$name" ] || continue
    ptx=$name.sm_$target.ptx
    for folder in gpu/kernels gpu/timed "$data" "$mapping"; do
        [ -f "$root/$folder/$(source_of "$name")" ] && break
    done
    kept=$root/$folder/$ptx
    # The options are a list of words.
    # shellcheck disable=SC2086
    if ! compile "$name" "$target" $options; then
        echo "make_ptx.sh: $ptx does not compile" >&2
        status=1
    elif ! $check; then
        cp "$ptx" "$kept"
    elif ! cmp -s <(grep '^// Compiler Build ID' "$ptx") <(grep '^// Compiler Build ID' "$kept"); then
        echo "make_ptx.sh: $ptx was made by another nvcc"
        exit 77
    elif ! cmp -s <(compared "$ptx") <(compared "$kept"); then
        echo "$folder/$ptx differs"
        status=1
    fi
done <<<"$table"
exit $status
