#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random inputs for all that reads strangers' files: builds the targets of tests/fuzz with clang,
# libFuzzer and the sanitizers, and runs each from its corpus.
#
#   scripts/fuzz_inputs.sh [SECONDS [TARGET...]]     default: 60 seconds each of all targets
#
# Targets: parse resolve run recording launch_file. What is found stays in build/fuzz/found; put into
# a folder of tests/fuzz/corpus it is a test. Exit status: 0 nothing found; 1 found something; 2
# usage, or it does not build; 77 no clang with libFuzzer (scripts/setup.sh fuzz installs it).
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -eq 0 ] || shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(parse resolve run recording launch_file)
for word in "${targets[@]}"; do
    [ -f "tests/fuzz/${word}_fuzzer.cpp" ] && [[ $seconds =~ ^[1-9][0-9]*$ ]] && continue
    echo "usage: $0 [SECONDS [parse|resolve|run|recording|launch_file...]]" >&2
    exit 2
done

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' \
    >"$scratch/probe.cpp"
if ! clang++ -fsanitize=fuzzer,address,undefined "$scratch/probe.cpp" -o "$scratch/probe" \
    2>/dev/null; then
    echo "fuzz_inputs.sh: no clang with libFuzzer here"
    exit 77
fi

cmake --preset fuzz >/dev/null || exit 2
cmake --build --preset fuzz --target fuzz_words "${targets[@]/#/fuzz_}" || exit 2

status=0
for target in "${targets[@]}"; do
    found=build/fuzz/found/$target
    mkdir -p "$found" "$scratch/$target"
    corpus=tests/fuzz/corpus/$target
    words=()
    case $target in
        parse | resolve | run)
            corpus=tests/fuzz/corpus/ptx
            words=(-dict=build/fuzz/tests/fuzz/ptx.dict)
            ;;
    esac
    if build/fuzz/tests/fuzz/fuzz_"$target" -max_total_time="$seconds" -max_len=8192 -timeout=20 \
        -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$found/" "${words[@]}" \
        "$scratch/$target" "$corpus" >"$scratch/log" 2>&1; then
        echo "$target: nothing found in $(sed -n 's/^stat::number_of_executed_units: *//p' \
            "$scratch/log") inputs"
    else
        tail -n 60 "$scratch/log" >&2
        echo "$target: found something, see $found" >&2
        status=1
    fi
done
exit $status
