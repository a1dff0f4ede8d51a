#!/usr/bin/env bash
# Makes gpu/kernels/NAME.sm_XX.ptx from gpu/kernels/NAME.cu.
#
#   tools/make_ptx.sh          writes every PTX file
#   tools/make_ptx.sh --check  writes none; names those that differ from what nvcc makes now
#
# Exit status: 0 done; 1 a file differs (--check) or does not compile; 2 usage; 77 there is no nvcc.
# NVCC names the compiler (default: nvcc). Another release of nvcc may make other PTX: the first
# lines of each file say which one made it, and --check by another one exits with 77.
set -u

# source, target, nvcc's options.
table='
ldmatrix      75
mma_ldmatrix  80
mma_m16n8k16  80
volta_m8n8k4  70
gemm          70  -DTARGET=70
gemm          75  -DTARGET=75
gemm          80  -DTARGET=80
'

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

cd "$(dirname "$0")/../gpu/kernels" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# nvcc 13 compiles for sm_75 and up. Sources for sm_70 use nothing newer than that, so their PTX
# only needs another header: mma.m8n8k4 came with version 6.4.
compile() {  # source target options...
    local name=$1 target=$2 ptx=$scratch/$1.sm_$2.ptx
    shift 2
    if [ "$target" -ge 75 ]; then
        "$nvcc" -ptx -std=c++17 -arch=compute_"$target" "$@" -o "$ptx" "$name.cu"
    else
        "$nvcc" -ptx -std=c++17 -arch=compute_75 "$@" -o "$ptx" "$name.cu" &&
            sed -i -e "s/^\.target sm_75$/.target sm_$target/" \
                -e 's/^\.version .*/.version 6.4/' "$ptx"
    fi
}

status=0
while read -r name target options; do
    [ -n "$name" ] || continue
    ptx=$name.sm_$target.ptx
    # The options are a list of words.
    # shellcheck disable=SC2086
    if ! compile "$name" "$target" $options; then
        echo "make_ptx.sh: $name.cu does not compile for sm_$target" >&2
        status=1
    elif ! $check; then
        cp "$scratch/$ptx" "$ptx"
    elif ! cmp -s <(grep '^// Compiler Build ID' "$scratch/$ptx") <(grep '^// Compiler Build ID' "$ptx"); then
        echo "make_ptx.sh: $ptx was made by another nvcc"
        exit 77
    elif ! cmp -s "$scratch/$ptx" "$ptx"; then
        echo "gpu/kernels/$ptx differs"
        status=1
    fi
done <<<"$table"
exit $status
