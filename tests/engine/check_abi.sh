#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C face is as tests/engine/abi.txt has it: whoever changes it on purpose writes it anew
# (list_abi.sh ... >abi.txt) and raises LOCKWARP_ABI.
#   check_abi.sh HEADER LIBRARY CC
set -euo pipefail
here=$(dirname "$0")
diff -u "$here/abi.txt" <("$here/list_abi.sh" "$@")
