#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes FOLDER/nvcc, which compiles for the runtime of CUDA's toolkit 12: its headers and libraries
# from pip, whose packages of it have no nvcc, with the nvcc of a later toolkit. For the programs of
# tests/cuda/programs:
#   scripts/make_toolkit_12.sh FOLDER
#   NVCC=FOLDER/nvcc tests/cuda/programs/run.sh tests/cuda/programs/hello.cu lockwarp FOLDER/out
# Exit status: 77 there is no nvcc, or pip reaches no package index.
set -euo pipefail
[ $# = 1 ] || { echo "usage: make_toolkit_12.sh FOLDER" >&2; exit 2; }
nvcc=$(command -v "${NVCC:-nvcc}") || { echo "no nvcc here"; exit 77; }
version=12.9
mkdir -p "$1"
folder=$(cd "$1" && pwd)
python3 -m pip install -q --no-deps --upgrade --target "$folder/packages" \
    "nvidia-cuda-runtime-cu12==$version.*" "nvidia-cuda-nvcc-cu12==$version.*" \
    "nvidia-cuda-cccl-cu12==$version.*" || { echo "pip reaches no package index"; exit 77; }
packages=$folder/packages/nvidia
# A later nvcc's launches have one argument more: whether the kernel is one of tiles.
sed -i 's/#define __cudaLaunch(fun) /#define __cudaLaunch(fun, ...) /' \
    "$packages/cuda_nvcc/include/crt/host_runtime.h"
cat >"$folder/nvcc" <<END
#!/usr/bin/env bash
if [ "\${1:-}" = --version ]; then
    echo "headers and libraries of CUDA, release $version, by a later nvcc"
    exit
fi
exec "$nvcc" -I"$packages/cuda_runtime/include" -I"$packages/cuda_nvcc/include" \\
    -I"$packages/cuda_cccl/include" -L"$packages/cuda_runtime/lib" "\$@"
END
chmod +x "$folder/nvcc"
# The runtime's own name has its version; nvcc asks for the one without.
ln -sf libcudart.so.12 "$packages/cuda_runtime/lib/libcudart.so"
echo "$folder/nvcc"
