#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ and CUDA source is as clang-format writes it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs -0 clang-format --dry-run --Werror
