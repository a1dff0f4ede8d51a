#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles a program of CUDA's runtime and runs it under `lockwarp exec`, linked in each way: with
# the static runtime, without debug symbols, with -cudart shared and with -cudart none; then with work
# of streams done later, in other orders.
#   run.sh PROGRAM.cu LOCKWARP FOLDER
# Lines of the program say what it needs: "// nvcc: OPTIONS", "// exec: OPTIONS", "// with: FILE",
# another source, and "// plugin: FILE", a library, NAME.library, with a static runtime of its own.
# Exit status: 0 all ran and said that their checks hold; 77 there is no nvcc.
set -euo pipefail
source=$1 lockwarp=$2 folder=$3
nvcc=${NVCC:-nvcc}
command -v "$nvcc" >/dev/null || { echo "no $nvcc here"; exit 77; }
name=$(basename "$source" .cu)
beside=$(dirname "$source")
mkdir -p "$folder"
says() { sed -n "s|^// $1: ||p" "$source"; }
read -ra options <<<"$(says nvcc)"
read -ra exec_options <<<"$(says exec)"
libraries=$(dirname "$lockwarp")/lib/lockwarp
release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
objects=()
for file in "$source" $(says with | sed "s|^|$beside/|"); do
    objects+=("$folder/$name.$(basename "$file" .cu).o")
    "$nvcc" -std=c++17 -g "${options[@]}" -c "$file" -o "${objects[-1]}"
done
for file in $(says plugin); do
    "$nvcc" -std=c++17 -Xcompiler -fPIC -shared "$beside/$file" -o "$folder/$name.library"
done
link() {  # NAME OPTIONS...
    local out=$folder/$name.$1
    shift
    "$nvcc" "${objects[@]}" "${options[@]}" -o "$out" "$@"
}
link static
cp "$folder/$name.static" "$folder/$name.stripped"
strip --strip-debug "$folder/$name.stripped"
link shared -cudart shared
linked=()
# -cudart none leaves the device's link out, and the device's runtime.
if [[ " ${options[*]} " == *" -rdc=true "* ]]; then
    linked=("$folder/$name.device_link.o" -lcudadevrt)
    "$nvcc" "${options[@]}" -dlink "${objects[@]}" -o "${linked[0]}"
fi
link none "${linked[@]}" -cudart none -L"$libraries" -l:libcudart.so."$release"
run() {  # WAY OPTIONS...
    local way=$1 said
    shift
    said=$("$lockwarp" exec "$@" -- "$folder/$name.$way") || {
        echo "$name, $way $*: exit status $?" >&2
        echo "$said" >&2
        exit 1
    }
    [ "$(tail -n 1 <<<"$said")" = "$name: all checks hold" ] || {
        echo "$name, $way $*: it did not come to its end: $said" >&2
        exit 1
    }
}
for way in static stripped shared none; do run $way "${exec_options[@]}"; done
# What a program waits for and orders is enough, whatever else is done when.
for seed in 0 1 2 3; do
    [[ " ${exec_options[*]} " == *" --order "* ]] || run static "${exec_options[@]}" --order $seed
done
