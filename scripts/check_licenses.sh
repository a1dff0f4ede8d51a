#!/usr/bin/env bash
# Every source file says its licence: a line "SPDX-License-Identifier: Apache-2.0".
#   scripts/check_licenses.sh [--add]    --add: writes it where it is missing
set -euo pipefail
cd "$(dirname "$0")/.."
identifier="SPDX-License-Identifier: Apache-2.0"

# recorded_rows.cpp is as the program prints it.
missing=$(git ls-files -z --cached --others --exclude-standard \
    '*.cpp' '*.hpp' '*.hpp.in' '*.cpp.in' '*.cu' '*.cuh' '*.py' '*.sh' '*.cmake' '*.cmake.in' \
    '*CMakeLists.txt' '*.yml' '*.html' '.ci/run' ':!evidence/recorded_rows.cpp' |
    xargs -0 grep -L -F "$identifier" -- || true)
[ -n "$missing" ] || exit 0
if [ "${1:-}" != --add ]; then
    echo "no line '$identifier' in:" >&2
    echo "$missing" >&2
    exit 1
fi
while IFS= read -r file; do
    case $file in
        # Debug information of the PTX that nvcc and Triton make names lines: those stay.
        *.cu | *.cuh) echo "// $identifier" >>"$file" ;;
        *triton_kernels.py) echo "# $identifier" >>"$file" ;;
        *.cpp | *.hpp | *.cpp.in | *.hpp.in) sed -i "1i // $identifier" "$file" ;;
        *.html) sed -i "1a <!-- $identifier -->" "$file" ;;
        *) if head -1 "$file" | grep -q '^#!'; then at=1a; else at=1i; fi
           sed -i "$at # $identifier" "$file" ;;
    esac
done <<<"$missing"
