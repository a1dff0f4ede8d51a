#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The explorer's page in a headless browser (Debian: chromium, chromium-driver). Exit status 77:
# there is none.
#   scripts/test_explorer.sh [PROGRAM] [--shots FOLDER] [TEST...]
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
program="${1:-$root/build/release/lockwarp}"
shift || true
PYTHONDONTWRITEBYTECODE=1 exec python3 "$root/tests/browser/explorer_test.py" "$program" "$@"
