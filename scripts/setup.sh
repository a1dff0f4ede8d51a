#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing from Debian 12's packages: as root, or with sudo; otherwise prints the
# one line that does it.
#   scripts/setup.sh [build|test|browser|package|python|portable|tidy|fuzz|mutate]
#     what the following step needs (default: build)
set -euo pipefail

# Why each: Highway: vector code chosen for the processor at run time; oneTBB: CTAs on all cores;
# Eigen: exact products to compare with; CLI11: the command line; nlohmann-json: launch files;
# spdlog and fmt: messages; libedit: the debugger's prompt; expected: a value or why there is none; zstd: recordings; GoogleTest and
# Google Benchmark: tests and measurements; clang-format: one style; zsh: tests of its completions;
# PyYAML: the workflows; pkg-config and dpkg-dev: packages tried; ccache: a file that several of
# these builds share is compiled once; patchelf: libraries beside the program; chromium and its
# driver: the explorer's page as a reader sees it; clang and libclang-rt: libFuzzer, which makes
# inputs for what reads files.
build=(g++ cmake ninja-build libhwy-dev libtbb-dev libeigen3-dev libcli11-dev nlohmann-json3-dev
       libspdlog-dev libfmt-dev libzstd-dev libexpected-dev libedit-dev)
test=("${build[@]}" libgtest-dev libbenchmark-dev clang-format git zsh python3-yaml)
browser=(chromium chromium-driver python3)
package=("${build[@]}" libgtest-dev pkg-config dpkg-dev ccache)
python=("${build[@]}" python3-dev python3-pip python3-venv git)
tidy=("${build[@]}" libgtest-dev libbenchmark-dev clang-tidy git)
portable=("${build[@]}" patchelf)
mutate=("${test[@]}" python3-pip python3-venv ccache)
fuzz=("${build[@]}" clang libclang-rt-14-dev)

step=${1:-build}
case $step in
    build | test | browser | package | python | portable | tidy | fuzz | mutate) ;;
    *) echo "usage: scripts/setup.sh [build|test|browser|package|python|portable|tidy|fuzz|mutate]" >&2; exit 2 ;;
esac
declare -n packages=$step

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

run=()
if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        run=(sudo)
    else
        echo "Missing packages. As root: apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 2
    fi
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get -qq update
"${run[@]}" apt-get -qq install --yes --no-install-recommends "${missing[@]}" >/dev/null
