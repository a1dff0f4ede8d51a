#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Lockwarp and passes its tests: format, rooms, unit tests, recordings of hardware.
#   tools/test.sh [all|release|asan]
# Without an argument: what takes some 12 minutes on 2 cores where tools/demo.sh has built the
# program, and 8 more where it has not. all: what CI runs, in at most an hour: long tests and the
# browser too (release), and the tests again under the address and undefined-behaviour sanitizers
# (asan). New inputs for what reads files are the night's
# (scripts/fuzz_inputs.sh); those that were kept are tests.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-short}
case $what in
    short | release | asan | all) ;;
    *) echo "usage: tools/test.sh [all|release|asan]" >&2; exit 2 ;;
esac
# Each stage says when it begins: minutes and seconds of this run.
stage() { printf '== %d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
# What uses one core or waits for the network runs beside the stages that follow: begin NAME runs the
# function of that name, finish NAME waits for it and prints what it printed.
declare -A begun=()
begin() {
    mkdir -p build
    export -f "${1?}"
    # In a group of its own, so that all of it ends where this run does. A shell has what runs beside
    # it ignore ctrl-C, which tests send.
    setsid env --default-signal=INT,QUIT bash -euo pipefail -c "$1" >"build/$1.log" 2>&1 &
    begun[$1]=$!
}
finish() {
    local status=0
    stage "$1"
    wait "${begun[$1]}" || status=$?
    unset "begun[$1]"
    cat "build/$1.log"
    return $status
}
end_begun() { for group in "${begun[@]}"; do kill -- "-$group" 2>/dev/null || true; done; }
trap end_begun EXIT
stage set-up
scripts/setup.sh test
[ "$what" != all ] || for step in browser package python; do scripts/setup.sh "$step"; done
if [ "$what" = all ]; then
    # Packages and the Python package compile the same files once more: a cache of this clone.
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_DIR="${CCACHE_DIR:-$PWD/build/ccache}"
    export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}" CCACHE_NOHASHDIR=1
fi
stage format, rooms, licenses
scripts/check_format.sh
scripts/check_rooms.sh
scripts/check_licenses.sh
compiled() { # whether the PTX is what its sources give
    scripts/make_ptx.sh --check || [ $? -eq 77 ]
    if command -v python3 >/dev/null; then scripts/make_triton.py --check || [ $? -eq 77 ]; fi
}
begin compiled

# The client of the debugger's protocol that a test runs, where pip reaches a package index.
[ "$what" != all ] || scripts/try_dap.sh --install || [ $? -eq 77 ]

build() { # preset
    stage "$1: build"
    cmake --preset "$1" -DLOCKWARP_TESTS=ON >/dev/null
    cmake --build --preset "$1"
}
run_tests() { # preset, ctest arguments...
    local preset=$1
    shift
    stage "$preset: tests"
    ctest --preset "$preset" -j "$(nproc)" --no-tests=error "$@"
}
case $what in short | release | all) build release ;; esac
finish compiled
# Tests labelled gpu need an NVIDIA GPU and are skipped, by name, where there is none.
case $what in
    short) run_tests release -LE 'long|browser' ;;
    release | all) run_tests release ;;
esac
others_use() {
    # Whether faults are put where scripts/mutate says, where pip reaches a package index.
    scripts/mutate --self-test || [ $? -eq 77 ]
    # Installed, as a part of another project, as Debian packages.
    scripts/try_package.sh
    # The Python package, where pip reaches a package index. Triton's releases have a workflow of
    # their own (scripts/try_triton.sh): each brings gigabytes.
    scripts/try_python.sh || [ $? -eq 77 ]
}
[ "$what" != all ] || CMAKE_BUILD_PARALLEL_LEVEL=1 begin others_use
# Under the sanitizers a test program starts slowly: a room's tests run in four processes, not in
# one each. Without what does one thing over and over for minutes: comparisons with a lie in each
# (Lies), programs by chance again and again (Generate, ManyEngines), the search for each mistake of
# many (Why, Check), every spelling of cvt, ten thousand constants of each instruction, every answer
# about lanes and the explorer's whole page (Letters, Answers, Names, Instruction, Explorer), every
# probe of a latency and whole sets of them, long kernels, a million steps back, a hundred thousand
# registers, and the suite's programs, whose recordings (golden) are run under the sanitizers too.
test_part() { # program, part of it
    local room out status=0
    local without='*Lies.*:*SuiteOn.*:Suite.RecordingsAre*:Why.NamesEachFault*'
    without+=':Letters.*:Lanes/Answers.*:Names.EveryInstruction*:Instruction.EveryElement*'
    without+=':Instruction.WhereInverted*:Table.JsonHasEvery*:TensorMapModel.EverySwizzle'
    without+=':Explorer.TextInTheData*:Explorer.LoadsNothing:Explorer.WithoutAFile*'
    without+=':Explorer.HasEvery*:Explorer.HasThe*:Explorer.WritesOneFile:ExplorerData.*'
    without+=':Check.AWrongResultHasItsReason:Scalar/Definitions.*/cvt:FoldedValues.TenThousand*'
    without+=':Generate.IsDeterministic*:Fuzz.ManyEngines*:Resolve.ManyRegisters'
    without+=':Dot.FastEqualsPlain:Kinds.ProgramsName*:ClockProbe.EachIs*:ClockProbe.RunsWith*'
    without+=':OwnProbes.TheModel*:DebugHabits.StepsBackInALong*:Debug.GoesBackOverAMillion*'
    without+=':Time.WholeKernels*:FidelityTable.TheCommitted*'
    room=$(basename "$1")
    out=$room.$2.log
    cd build/asan/tests
    GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=$2 timeout 1200 "./$room" --gtest_brief=1 \
        --gtest_filter="-$without" >"$out" 2>&1 || status=$?
    [ "$status" = 0 ] || { echo "$room, part $2: exit status $status"; tail -n 100 "$out"; exit 1; } >&2
}
export -f test_part
test_rooms_under_asan() {
    local programs program ran
    stage asan: rooms
    # The largest programs first: they take the longest.
    programs=$(find build/asan/tests -maxdepth 1 -name 'test_*' -type f -executable -printf '%s %p\n' |
               sort -rn | cut -d ' ' -f 2)
    [ -n "$programs" ] || { echo "no test programs in build/asan/tests" >&2; return 1; }
    for program in $programs; do printf '%s\n' "$program "{0..3}; done |
        xargs -P "$(nproc)" -L 1 bash -c 'test_part "$@"' -
    for program in $programs; do
        ran=$(awk '/^\[=+\] [0-9]+ tests? from .* ran/ {n += $2} END {print n + 0}' \
              "$program".[0-3].log)
        echo "$(basename "$program"): $ran tests under the sanitizers"
        [ "$ran" != 0 ] || return 1
    done
}
case $what in
    asan | all)
        build asan
        [ "$what" != all ] || finish others_use
        run_tests asan -LE 'room|long'
        test_rooms_under_asan
        ;;
esac
stage the end
