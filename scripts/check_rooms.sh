#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each room includes only rooms above it (and itself); emu touches no files, clock or environment.
set -euo pipefail
cd "$(dirname "$0")/.."
rooms=(emu/ptx emu/isa emu/warp emu/num emu/exec emu/check emu/timing engine launch lanes gpu programs validate
       why debug evidence cuda tools python)
status=0
allowed=""
for room in "${rooms[@]}"; do
    allowed="$allowed${allowed:+|}$room/"
    [ -d "$room" ] || continue
    extra=""
    case $room in emu/*) ;; *) extra="|emu/lockwarp\.hpp|lockwarp/version\.hpp" ;; esac
    bad=$(git ls-files "$room/*.cpp" "$room/*.hpp" |
        xargs -r grep -nE '^#include "' | grep -vE "#include \"($allowed)|#include \"[^/\"]*\"$extra" || true)
    if [ -n "$bad" ]; then
        echo "room $room includes a room below it:" >&2
        echo "$bad" >&2
        status=1
    fi
done
bad=$(git ls-files 'emu/*.cpp' 'emu/*.hpp' |
    xargs grep -nE '#include <(fstream|iostream|filesystem|chrono|spdlog|fmt|unistd|sys/)|\bgetenv\b|\bprintf\b' || true)
if [ -n "$bad" ]; then
    echo "emu must not touch files, clock, environment or output:" >&2
    echo "$bad" >&2
    status=1
fi
exit $status
