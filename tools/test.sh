#!/usr/bin/env bash
# Builds Lockwarp and passes its tests: format, rooms, unit tests, hardware recordings, and the
# parts that read input again under the address and undefined-behaviour sanitizers.
#   tools/test.sh [release|asan|all]     default: all
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
case $what in
    release | asan | all) ;;
    *) echo "usage: tools/test.sh [release|asan|all]" >&2; exit 2 ;;
esac
scripts/setup.sh test
scripts/check_format.sh
scripts/check_rooms.sh
scripts/make_ptx.sh --check || [ $? -eq 77 ]
if command -v python3 >/dev/null; then scripts/make_triton.py --check || [ $? -eq 77 ]; fi

build_and_test() { # preset, ctest arguments...
    local preset=$1
    shift
    cmake --preset "$preset" -DLOCKWARP_TESTS=ON >/dev/null
    cmake --build --preset "$preset"
    ctest --preset "$preset" -j "$(nproc)" --no-tests=error "$@"
}
# Tests labelled gpu need an NVIDIA GPU and are skipped, by name, where there is none.
[ "$what" = asan ] || build_and_test release
[ "$what" = release ] || build_and_test asan
# New inputs for what reads PTX, where there is clang with libFuzzer.
[ "$what" != all ] || scripts/fuzz_inputs.sh 10 parse resolve run || [ $? -eq 77 ]
