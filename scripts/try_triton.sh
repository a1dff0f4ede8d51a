#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries lockwarp.triton with releases of Triton, each in an environment of its own, by the tests of
# tests/python/triton. No GPU is needed. Each release takes half a minute; torch, which brings
# CUDA's libraries, 2.5 GB to fetch and two minutes.
#   scripts/try_triton.sh [--wheel FILE] [--python PYTHON] [--torch REQUIREMENT] [RELEASE...]
#     --wheel   Lockwarp's (default: pip makes it; what lies in build/python-cpXY is used again)
#     --python  the interpreter, 3.10 or later (default: python3)
#     --torch   what pip is asked for (default: torch); any release from 2.5 on fits any Triton
#     RELEASE   of Triton (default: 3.2.0 3.3.1 3.4.0 3.5.1 3.6.0 3.7.1 3.8.0 and the newest)
# Exit status 77: pip reaches no package index.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
python=python3
torch=torch
wheel=
releases=()
while [ $# -gt 0 ]; do
    case $1 in
        --wheel) wheel=$(realpath "$2"); shift ;;
        --python) python=$2; shift ;;
        --torch) torch=$2; shift ;;
        -*) sed -n '3,11s/^# //p' "$0" >&2; exit 2 ;;
        *) releases+=("$1") ;;
    esac
    shift
done
[ ${#releases[@]} -gt 0 ] || releases=(3.2.0 3.3.1 3.4.0 3.5.1 3.6.0 3.7.1 3.8.0 newest)

place=$(mktemp -d "${TMPDIR:-/tmp}/lockwarp-triton.XXXXXX")
trap 'rm -rf --one-file-system "$place"' EXIT
say() { echo "try_triton: $*"; }
export CXX=${CXX:-c++} PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

# What all have: torch, pytest, Lockwarp as installed from a wheel. Torch's own Triton goes.
"$python" -m venv "$place/all"
if ! "$place/all/bin/pip" install -q numpy pytest >"$place/log" 2>&1; then
    tail -3 "$place/log"
    say "skipped: pip reaches no package index"
    exit 77
fi
tag=$("$place/all/bin/python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
"$place/all/bin/pip" install -q "$torch"
"$place/all/bin/pip" uninstall -q -y triton 2>"$place/log"
[ -n "$wheel" ] || "$place/all/bin/pip" wheel -q --no-deps -w "$place/wheel" "$source" \
    --config-settings=build-dir="$source/build/python-$tag"
"$place/all/bin/pip" install -q "${wheel:-$(ls "$place"/wheel/*.whl)}"
packages=$("$place/all/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

failed=0
for release in "${releases[@]}"; do
    "$python" -m venv "$place/$release"
    wanted=triton==$release
    [ "$release" != newest ] || wanted=triton
    "$place/$release/bin/pip" install -q --no-deps "$wanted"
    echo "$packages" >"$("$place/$release/bin/python" -c \
        'import sysconfig; print(sysconfig.get_path("purelib"))')/all.pth"
    version=$("$place/$release/bin/python" -c 'import triton; print(triton.__version__)')
    say "Triton $version"
    LOCKWARP_PROGRAM=$([ ! -x build/release/lockwarp ] || realpath build/release/lockwarp) \
        TRITON_CACHE_DIR=$place/cache-$release \
        "$place/$release/bin/python" -m pytest -q -p no:cacheprovider tests/python/triton ||
        failed=1
    rm -rf --one-file-system "${place:?}/$release"
done
exit $failed
