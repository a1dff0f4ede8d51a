#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what `lockwarp measure` runs: gpu/timed/wavefronts.sm_XX.ptx, one access to shared memory
an entry, and the launch files of gpu/timed.

  scripts/make_timed.py          writes every file
  scripts/make_timed.py --check  writes none; names those that differ

Exit status: 0 done; 1 a file differs (--check); 2 usage.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "gpu" / "timed"

# Products (gemm_tiles.cu): rows and columns of the tile, threads, and the grid of NAME_full: as many
# CTAs as 132 multiprocessors hold at once, 4 or 2 each.
TILES = {
    "64x64": (64, 64, 128, (24, 22)),
    "128x64": (128, 64, 128, (22, 12)),
    "128x128": (128, 128, 256, (22, 12)),
}
STAGES = {"direct": 1, "async2": 2, "async4": 4}
LAYOUTS = ("plain", "swizzled")
TILE_K = 32

# Entries of one warp: the instruction of interest for each name.
SHARED_BYTES = 8192


def random_f16(count, seed):
    return {"bytes": 2 * count, "init": {"random": {
        "type": "f16", "distribution": "normal", "seed": seed}}}


def product(entry, tile, shared, grid, k):
    rows, columns, threads, _ = TILES[tile]
    m, n = rows * grid[1], columns * grid[0]
    return {
        "schema": "lockwarp-launch/1",
        "ptx": "gemm_tiles.sm_80.ptx",
        "entry": entry,
        "grid": [*grid, 1], "block": [threads, 1, 1], "dynamic_shared": shared,
        "buffers": {"A": random_f16(m * k, 7), "B": random_f16(k * n, 8),
                    "C": {"bytes": 4 * m * n, "init": {"fill": 255}}},
        "args": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"},
                 {"s32": m}, {"s32": n}, {"s32": k}],
        "outputs": ["C"],
    }


def products():
    entries = [(f"gemm_{tile}_{bring}_{layout}", tile,
                stages * 2 * TILE_K * (TILES[tile][0] + TILES[tile][1]))
               for tile in TILES for bring, stages in STAGES.items() for layout in LAYOUTS]
    entries += [(f"wmma_{a}{b}", "64x64", 0) for a in "rc" for b in "rc"]
    for entry, tile, shared in entries:
        yield f"{entry}_one", product(entry, tile, shared, (1, 1), 512)
        yield f"{entry}_full", product(entry, tile, shared, TILES[tile][3], 256)


def stride(bytes_):
    return f"mul.lo.u32 %r2, %r1, {bytes_};"


def hashed(unit):
    """A multiple of `unit` below SHARED_BYTES, of the lane."""
    return (f"mul.lo.u32 %r2, %r1, 0x9e3779b1; shr.u32 %r2, %r2, 16; "
            f"and.b32 %r2, %r2, {SHARED_BYTES // unit - 1}; mul.lo.u32 %r2, %r2, {unit};")


LOADS = {
    "b32": "ld.shared.b32 %r4, [%r3];",
    "b64": "ld.shared.b64 %rd2, [%r3];",
    "v4": "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r3];",
    "ldmatrix_x4": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];",
    "ldmatrix_x1_trans": "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r4}, [%r3];",
}
STORES = {
    "b32": "st.shared.b32 [%r3], %r1;",
    "v4": "st.shared.v4.b32 [%r3], {%r1, %r2, %r3, %r1};",
    "stmatrix_x4": "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {%r1, %r2, %r3, %r1};",
}
# What was loaded goes to memory where it is a number that it is not, so that the load is needed and
# what shared memory held before changes nothing.
USES = {
    "b32": "mov.b32 %r8, %r4;",
    "b64": "mov.b64 {%r4, %r5}, %rd2; xor.b32 %r8, %r4, %r5;",
    "v4": "xor.b32 %r8, %r4, %r5; xor.b32 %r8, %r8, %r6; xor.b32 %r8, %r8, %r7;",
}
KEEP = "setp.eq.u32 %p2, %r8, 0x5a17c0de; @%p2 st.global.b32 [%rd1], %r8;"


def load(kind, address, guard=""):
    use = USES.get(kind, USES["b32" if kind.endswith("x1_trans") else "v4"])
    lines = [address, "add.u32 %r3, %r3, %r2;"]
    if guard:
        lines += ["mov.b32 %r4, 0;", guard, "@%p1 " + LOADS[kind]]
    else:
        lines.append(LOADS[kind])
    return [*lines, use, KEEP]


def store(kind, address):
    return [address, "add.u32 %r3, %r3, %r2;", STORES[kind]]


def wavefronts():
    """Name, least target, lines."""
    for s in (4, 8, 12, 128):
        yield f"ld_b32_stride{s}", 80, load("b32", stride(s))
    yield "ld_b32_broadcast", 80, load("b32", "and.b32 %r2, %r1, 0;")
    yield "ld_b32_pairs", 80, load("b32", "shr.u32 %r2, %r1, 1; shl.b32 %r2, %r2, 2;")
    for s in (8, 16, 24):
        yield f"ld_b64_stride{s}", 80, load("b64", stride(s))
    for s in (16, 32, 48, 128):
        yield f"ld_v4_stride{s}", 80, load("v4", stride(s))
    for kind, unit in (("b32", 4), ("b64", 8), ("v4", 16)):
        yield f"ld_{kind}_hash", 80, load(kind, hashed(unit))
    yield "ld_b32_first8_stride128", 80, load("b32", stride(128), "setp.lt.u32 %p1, %r1, 8;")
    yield "ld_b32_even_stride8", 80, load(
        "b32", stride(8), "and.b32 %r8, %r1, 1; setp.eq.u32 %p1, %r8, 0;")
    for s in (4, 8, 128):
        yield f"st_b32_stride{s}", 80, store("b32", stride(s))
    yield "st_v4_stride16", 80, store("v4", stride(16))
    for s in (16, 32, 80, 128):
        yield f"ldmatrix_x4_stride{s}", 80, load("ldmatrix_x4", stride(s))
    yield "ldmatrix_x1_trans_stride64", 80, load("ldmatrix_x1_trans", stride(64))
    for s in (16, 64):
        yield f"stmatrix_x4_stride{s}", 90, store("stmatrix_x4", stride(s))


HEADERS = {80: ".version 7.0\n.target sm_80\n", 90: ".version 7.8\n.target sm_90\n"}


def wavefronts_ptx(target):
    out = ("// One access to shared memory by one warp, an entry for each pattern.\n"
           "// Written by scripts/make_timed.py.\n" + HEADERS[target] +
           ".address_size 64\n\n.extern .shared .align 128 .b8 memory[];\n")
    for name, least, lines in wavefronts():
        if least != target:
            continue
        out += (f"\n.visible .entry {name}(.param .u64 out)\n{{\n"
                "\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<3>;\n\t.reg .pred %p<3>;\n"
                "\tld.param.u64 %rd1, [out];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r3, memory;\n" +
                "".join(f"\t{line}\n" for line in lines) + "\tret;\n}\n")
    return out


def wavefront_launch(name, target):
    return {
        "schema": "lockwarp-launch/1",
        "ptx": f"wavefronts.sm_{target}.ptx",
        "entry": name,
        "grid": [1, 1, 1], "block": [32, 1, 1], "dynamic_shared": SHARED_BYTES,
        "buffers": {"out": {"bytes": 128, "init": {"fill": 0}}},
        "args": [{"buffer": "out"}],
        "outputs": ["out"],
    }


def launch_text(launch):
    """As people write them: a field a line, grid and block in one."""
    def line(value):
        return json.dumps(value)
    buffers = ",\n".join(f"    {line(name)}: {line(b)}" for name, b in launch["buffers"].items())
    return (
        "{\n" + "".join(f"  {line(k)}: {line(launch[k])},\n" for k in ("schema", "ptx", "entry")) +
        f"  \"grid\": {line(launch['grid'])}, \"block\": {line(launch['block'])}, "
        f"\"dynamic_shared\": {launch['dynamic_shared']},\n"
        f"  \"buffers\": {{\n{buffers}\n  }},\n"
        f"  \"args\": {line(launch['args'])},\n  \"outputs\": {line(launch['outputs'])}\n}}\n")


def files():
    for target in HEADERS:
        yield f"wavefronts.sm_{target}.ptx", wavefronts_ptx(target)
    for name, target, _ in wavefronts():
        yield f"wavefronts_{name}.json", launch_text(wavefront_launch(name, target))
    for name, launch in products():
        yield f"{name}.json", launch_text(launch)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for name, text in files():
        path = FOLDER / name
        if not sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"gpu/timed/{name} differs")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
