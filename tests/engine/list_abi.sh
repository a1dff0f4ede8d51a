#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints what programs that were built against include/lockwarp.h rest on: the library's name and
# symbols, the header's declarations, sizes and offsets of its structures.
#   list_abi.sh HEADER LIBRARY CC
set -euo pipefail
header=$1
library=$2
cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "# Symbols of $(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
nm -D --defined-only "$library" | awk '{print $3}' | sort

# Without comments and directives, a declaration in each line.
plain() {
    "$cc" -fpreprocessed -E -P -xc "$header" 2>"$work/warnings" | grep -v '^#' | tr '\n' ' ' | sed 's/  */ /g' |
        sed 's/LOCKWARP_API /\n/g; s/typedef /\ntypedef /g; s/enum { /\nenum { /g'
}
echo "# Declarations"
plain | sed 's/ *$//' | grep -E '^(typedef|enum|lockwarp|const|void|size_t|uint)' |
    sed 's/^\(.*;\) extern "C".*$/\1/; s/ }$//'

echo "# Structures: size, then each member's offset and size"
plain | sed -n 's/^typedef struct \([a-z_]*\) {\(.*\)} .*;.*$/\1:\2/p' >"$work/structs"
[ -s "$work/structs" ]
{
    echo '#include <stddef.h>'
    echo '#include <stdio.h>'
    echo "#include \"$(realpath "$header")\""
    echo 'int main(void) {'
    while IFS=: read -r name body; do
        echo "printf(\"$name %zu\\n\", sizeof($name));"
        while IFS= read -r member; do
            # "void (*poll)(void *user)", "uint32_t m, n, k", "uint32_t grid[3]"
            case $member in
                *'(*'*) names=$(sed 's/.*(\*\([a-z_]*\)).*/\1/' <<<"$member") ;;
                *) names=$(sed 's/[*,]/ /g; s/\[[^]]*\]//g; s/^ *//; s/^const //; s/^[a-z0-9_]* //' <<<"$member") ;;
            esac
            for one in $names; do
                echo "printf(\"  $one %zu %zu\\n\", offsetof($name, $one), sizeof((($name *)0)->$one));"
            done
        done < <(tr ';' '\n' <<<"$body" | grep '[a-z]')
    done <"$work/structs"
    echo 'return 0; }'
} >"$work/layout.c"
"$cc" -std=c11 -o "$work/layout" "$work/layout.c"
"$work/layout"
