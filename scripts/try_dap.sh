#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `lockwarp dap` with a client that others wrote, PyPI's dap-python: tests/debug/dap_client.py.
#   scripts/try_dap.sh --install    puts the client into build/dap, where pip reaches a package index
#   scripts/try_dap.sh [LOCKWARP]   runs the test with it (default: build/release/lockwarp)
# Exit status 77: there is no client, or pip reaches no package index.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.0
python=build/dap/bin/python
if [ "${1:-}" = --install ]; then
    if [ -x $python ] && $python -c 'import dap' 2>/dev/null; then exit 0; fi
    python3 -m venv build/dap || { echo "try_dap: no venv: scripts/setup.sh python" >&2; exit 1; }
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! build/dap/bin/pip install -q --disable-pip-version-check "dap-python==$version" >"$log" 2>&1; then
        tail -3 "$log"
        echo "try_dap: skipped: pip reaches no package index"
        exit 77
    fi
    exit 0
fi
[ -x $python ] || python=python3
exec $python tests/debug/dap_client.py "$(realpath "${1:-build/release/lockwarp}")" \
    "$PWD/gpu/kernels/mma_ldmatrix.json"
