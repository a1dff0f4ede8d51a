#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries Lockwarp as others use it, each in a clean place: installed, and found by CMake and by
# pkg-config; as a subdirectory; by FetchContent; as Debian packages.
#   scripts/try_package.sh [--build BUILD] [--bare] [--keep FOLDER]
#     --build  a built folder (default: build/release)
#     --bare   installs the packages on a bare Debian 12 as well: needs root, debootstrap, network
#     --keep   a folder that the packages are copied to
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
build=$source/build/release
bare=no
keep=
while [ $# -gt 0 ]; do
    case $1 in
        --build) build=$(realpath "$2"); shift ;;
        --bare) bare=yes ;;
        --keep) mkdir -p "$2"; keep=$(realpath "$2"); shift ;;
        *) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
    esac
    shift
done

place=$(mktemp -d "${TMPDIR:-/tmp}/lockwarp-package.XXXXXX")
chroot=
clean_up() {
    [ -z "$chroot" ] || umount "$chroot/proc" 2>/dev/null || true
    rm -rf --one-file-system "$place"
}
trap clean_up EXIT
prefix=$place/prefix
kernel=gpu/kernels/mma_m16n8k16.json
say() { echo "try_package: $*"; }
fail() { echo "try_package: $*" >&2; exit 1; }

# The kernel's result of a program is that of the built one.
same_run() { # program...
    "$@" run "$source/$kernel" --print D:f16:16x8 | cmp - "$place/expected" ||
        fail "$1 gave another result"
}
# A consumer's own commands: nothing of ours is in them but where our headers are.
clean_commands() { # build folder of the consumer, its object
    local line
    line=$(grep '"command"' "$1/compile_commands.json" | grep -F "$2") || fail "no command for $2"
    ! grep -qE -- '-ffp-contract|-fno-fast-math|-Wno-restrict|-Wno-sign-conversion' <<<"$line" ||
        fail "options of ours in the consumer's command: $line"
}
# Packages that lockwarp::emu does not need are as if they were not installed.
without=()
for package in CLI11 nlohmann_json spdlog fmt Eigen3 zstd GTest benchmark; do
    without+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done
configure() { # folder of the consumer, build folder, options...
    cmake -S "$1" -B "$2" -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "${@:3}" >"$2.log" 2>&1 ||
        { cat "$2.log" >&2; fail "$2 does not configure"; }
}
build_it() { # build folder, targets...
    cmake --build "$1" ${2:+--target "${@:2}"} >"$1.log" 2>&1 ||
        { tail -50 "$1.log" >&2; fail "$1 does not build"; }
}

# What others have of the sources is a copy, somewhere else.
cp -r tests/package/consumer "$place/consumer"
cp -r examples "$place/examples"
"$build/lockwarp" run "$kernel" --print D:f16:16x8 >"$place/expected"

say "installed: cmake --install"
cmake --install "$build" --prefix "$prefix" >"$place/install.log"
same_run "$prefix/bin/lockwarp"
[ -z "$(find "$prefix/include" -mindepth 1 -maxdepth 1 ! -name lockwarp ! -name lockwarp.h)" ] ||
    fail "headers outside include/lockwarp and beside lockwarp.h"
grep -rl -F "$source" "$prefix" --include='*.cmake' --include='*.pc' --include='*.hpp' &&
    fail "an installed file names this folder"

gcc tests/cuda/driver_program.c -o "$place/driver_program" -ldl
[ "$("$prefix/bin/lockwarp" exec -- "$place/driver_program")" = "x[3] = 42" ] || fail "exec, installed"

say "installed: find_package, lockwarp::emu with Highway and oneTBB alone"
configure "$place/consumer" "$place/emu" -DHOW=installed -DWITH=emu "${without[@]}" \
    "-DCMAKE_PREFIX_PATH=$prefix"
build_it "$place/emu"
clean_commands "$place/emu" use_emu.cpp
[ "$("$place/emu/consumer")" = "lockwarp 0.1: 42" ] || fail "the consumer gave another result"

say "installed: find_package, lockwarp::c and lockwarp::c_static from a project in C"
for with in c c_static; do
    configure "$place/consumer/c" "$place/$with" -DWITH=$with "-DCMAKE_PREFIX_PATH=$prefix"
    build_it "$place/$with"
    [ "$("$place/$with/consumer")" = "lockwarp 0.1.0: 42" ] || fail "the consumer of $with gave another result"
done
readelf -d "$place/c/consumer" | grep -q 'liblockwarp\.so\.0' || fail "the consumer has not liblockwarp.so.0"
! readelf -d "$place/c_static/consumer" | grep -q liblockwarp || fail "the static consumer is not static"

say "installed: find_package, lockwarp::lockwarp"
configure "$place/consumer" "$place/whole" -DHOW=installed -DWITH=lockwarp "-DCMAKE_PREFIX_PATH=$prefix"
build_it "$place/whole"
clean_commands "$place/whole" use_lockwarp.cpp
"$place/whole/consumer" "$source/$kernel" >"$place/whole.out" || fail "the consumer: $(cat "$place/whole.out")"

say "installed: the examples"
for list in "$place"/examples/*/CMakeLists.txt; do  # those in Python have none
    example=$(dirname "$list")
    name=$(basename "$example")
    configure "$example" "$place/example-$name" "-DCMAKE_PREFIX_PATH=$prefix"
    build_it "$place/example-$name"
    ctest --test-dir "$place/example-$name" --no-tests=error --output-on-failure >"$place/ctest.log" ||
        { cat "$place/ctest.log" >&2; fail "example $name"; }
done

say "installed: pkg-config"
for with in emu lockwarp; do
    name=lockwarp
    [ $with = lockwarp ] || name=lockwarp-emu
    flags=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs $name)
    # shellcheck disable=SC2086
    g++ -std=c++20 -O0 "$place/consumer/use_$with.cpp" $flags -o "$place/pc-$with"
done
# shellcheck disable=SC2046
gcc "$place/consumer/c/use_c.c" $(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs lockwarp-c) \
    "-Wl,-rpath,$prefix/lib" -o "$place/pc-c"
[ "$("$place/pc-c")" = "lockwarp 0.1.0: 42" ] || fail "the program of pkg-config in C gave another result"
[ "$("$place/pc-emu")" = "lockwarp 0.1: 42" ] || fail "the program of pkg-config gave another result"
"$place/pc-lockwarp" "$source/$kernel" >/dev/null || fail "the program of pkg-config"

say "add_subdirectory: lockwarp::emu, built by the consumer"
configure "$place/consumer" "$place/subdirectory" -DHOW=subdirectory -DWITH=emu \
    "-DLOCKWARP_SOURCE=$source" "${without[@]}"
build_it "$place/subdirectory"
clean_commands "$place/subdirectory" use_emu.cpp
[ "$("$place/subdirectory/consumer")" = "lockwarp 0.1: 42" ] || fail "the consumer gave another result"
ctest --test-dir "$place/subdirectory" 2>&1 | grep -q "No tests were found" ||
    fail "tests of ours in the consumer's"

say "FetchContent: configured, and the consumer's own file compiled"
configure "$place/consumer" "$place/fetched" -DHOW=fetched -DWITH=lockwarp "-DLOCKWARP_SOURCE=$source"
build_it "$place/fetched" CMakeFiles/consumer.dir/use_lockwarp.cpp.o
clean_commands "$place/fetched" use_lockwarp.cpp

say "Debian packages"
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$place/deb" >"$place/cpack.log" 2>&1 ||
    { cat "$place/cpack.log" >&2; fail "cpack"; }
program=$(ls "$place"/deb/lockwarp_*.deb)
shared=$(ls "$place"/deb/liblockwarp[0-9]*_*.deb)
library=$(ls "$place"/deb/liblockwarp-dev_*.deb)
[ -z "$keep" ] || cp "$program" "$shared" "$library" "$keep"
depends=$(dpkg-deb -f "$program" Depends)
say "$(basename "$program"): $(stat -c %s "$program") bytes, depends on $depends"
say "$(basename "$shared"): $(stat -c %s "$shared") bytes, depends on $(dpkg-deb -f "$shared" Depends)"
say "$(basename "$library"): $(stat -c %s "$library") bytes, depends on $(dpkg-deb -f "$library" Depends)"
dpkg -x "$program" "$place/unpacked"
same_run "$place/unpacked/usr/bin/lockwarp"
[ "$("$place/unpacked/usr/bin/lockwarp" exec -- "$place/driver_program")" = "x[3] = 42" ] ||
    fail "exec of the package"
# Every library the program loads is of a package it depends on, or of one of theirs.
readelf -d "$place/unpacked/usr/bin/lockwarp" | grep -E 'RPATH|RUNPATH' && fail "the program has a run path"
for file in bin/lockwarp share/man/man1/lockwarp.1.gz share/bash-completion/completions/lockwarp \
    share/zsh/vendor-completions/_lockwarp share/doc/lockwarp/copyright \
    share/lockwarp/launch.schema.json; do
    [ -s "$place/unpacked/usr/$file" ] || fail "no $file in the package"
done

if [ $bare = yes ]; then
    say "a bare Debian 12"
    chroot=$place/bare
    debootstrap --variant=minbase bookworm "$chroot" >"$place/debootstrap.log" 2>&1 ||
        { tail "$place/debootstrap.log" >&2; fail "debootstrap"; }
    mkdir -p "$chroot/try"
    cp "$program" "$shared" "$library" "$chroot/try"
    cp -r gpu/kernels/mma_m16n8k16.json gpu/kernels/mma_m16n8k16.sm_80.ptx "$place/consumer" "$chroot/try"
    cp /etc/resolv.conf "$chroot/etc/resolv.conf"
    mount -t proc proc "$chroot/proc"
    in_bare() { # nothing of this machine's environment but its proxy
        chroot "$chroot" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
            DEBIAN_FRONTEND=noninteractive ${http_proxy:+"http_proxy=$http_proxy"} "$@"
    }
    # As a user would: apt finds what the package depends on.
    in_bare apt-get -qq update
    in_bare apt-get -qq install --yes --no-install-recommends "/try/$(basename "$program")" \
        >"$place/apt.log" 2>&1 || { tail "$place/apt.log" >&2; fail "apt-get install"; }
    in_bare lockwarp run /try/mma_m16n8k16.json --print D:f16:16x8 | cmp - "$place/expected" ||
        fail "another result on a bare Debian"
    in_bare apt-get -qq install --yes --no-install-recommends g++ cmake ninja-build \
        "/try/$(basename "$shared")" "/try/$(basename "$library")" >"$place/apt.log" 2>&1 ||
        { tail "$place/apt.log" >&2; fail "apt-get install of the library"; }
    in_bare bash -c "cmake -S /try/consumer -B /try/b -G Ninja -DHOW=installed -DWITH=emu &&
        cmake --build /try/b" >"$place/bare.log" 2>&1 || { tail "$place/bare.log" >&2; fail "consumer"; }
    [ "$(in_bare /try/b/consumer)" = "lockwarp 0.1: 42" ] || fail "the consumer on a bare Debian"
fi
say "all is well"
