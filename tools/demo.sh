#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Lockwarp and runs a real tensor-core kernel: ldmatrix and mma.sync on the emulator.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh build
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "building (the first time takes some minutes)"
if ! { cmake --preset release -DLOCKWARP_TESTS=OFF && cmake --build --preset release; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
fi
echo "gpu/kernels/mma_ldmatrix.cu: D = A*B', one warp: ldmatrix.x4, ldmatrix.x2, mma.m16n8k16"
build/release/lockwarp run gpu/kernels/mma_ldmatrix.json --print D:f16:16x8 \
    --product "D=A*B':16x8x16:f16:f16"
