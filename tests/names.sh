#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test has a name that says what it is: no bytes of a parameter, no address, none twice.
#   tests/names.sh CTEST BUILD_DIRECTORY
set -euo pipefail
names=$("$1" --test-dir "$2" --show-only | sed -n 's/^ *Test *#[0-9]*: //p')
[ -n "$names" ] || { echo "ctest lists no tests" >&2; exit 1; }
listed=$(for program in "$2"/tests/test_*; do
    [ ! -f "$program" ] || [ ! -x "$program" ] || "$program" --gtest_list_tests
done)
bad=$(grep -E 'byte object|GetParam|/0x' <<<"$names" || true)
bad+=$(grep -E 'byte object|GetParam\(\) = 0x' <<<"$listed" || true)
bad+=$(sort <<<"$names" | uniq -d)
[ -z "$bad" ] || { printf '%s\n' "names that do not say what is tested:" "$bad" >&2; exit 1; }
echo "$(wc -l <<<"$names") names"
