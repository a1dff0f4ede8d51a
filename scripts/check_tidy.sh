#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy (.clang-tidy) on the lines that a change touches.
#   scripts/check_tidy.sh [BASE [BUILD]]    BASE: the commit before the change (default: HEAD~1)
#                                           BUILD: a configured folder (default: build/tidy, which
#                                           is made, as in the preset dev, where there is none)
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD~1}
build=${2:-build/tidy}
# The first push of a branch has no commit before it.
git rev-parse --verify --quiet "$base^{commit}" >/dev/null || base=HEAD~1
# The Python module needs nanobind, which only pip brings.
files=('*.cpp' '*.hpp' ':!python/core')
touched=$(git diff --name-only --diff-filter=d "$base" -- "${files[@]}")
if [ -z "$touched" ]; then
    echo "no C++ in $base..: nothing to check"
    exit 0
fi
[ -f "$build/compile_commands.json" ] || cmake --preset dev -B "$build" >/dev/null
# GCC's options that clang does not know are no finding.
git diff -U0 --diff-filter=d "$base" -- "${files[@]}" |
    clang-tidy-diff-14.py -p1 -path "$build" -j "$(nproc)" -quiet -use-color \
        -extra-arg=-Wno-unknown-warning-option
