#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs beside it, compiled for the runtime of CUDA's toolkit 12, under `lockwarp exec`:
#   run_toolkit_12.sh LOCKWARP FOLDER [PROGRAM...]
# Without a PROGRAM those that between them pass each structure that toolkit 13 changed.
# Exit status: 0 all ran and said that their checks hold; 77 there is no nvcc or no package index.
set -euo pipefail
lockwarp=$1 folder=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- hello device attributes memory managed pools copies graphs linked textures toolkit_12
mkdir -p "$folder"
NVCC=$("$here/../../../scripts/make_toolkit_12.sh" "$folder/toolkit" | tail -n 1) || {
    status=$?
    echo "$NVCC"
    exit $status
}
export NVCC
for program; do "$here/run.sh" "$here/$program.cu" "$lockwarp" "$folder"; done
