# SPDX-License-Identifier: Apache-2.0
"""A launch of a Triton kernel as a launch file: for ``lockwarp run``, ``time`` and ``validate``."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import pathlib
import re
from typing import Any

import lockwarp
from lockwarp.triton._launch import Prepared, State


def write(launch: Prepared, folder: pathlib.Path) -> pathlib.Path:
    """PTX, launch.json and the bytes of each buffer, as they are before the launch."""
    folder.mkdir(parents=True, exist_ok=True)
    ptx = launch.ptx.rstrip(b"\0")
    (folder / "kernel.ptx").write_bytes(ptx)
    ranges = launch.ranges()
    names = _names(ranges)
    pointers: dict[int, dict[str, Any]] = {}  # of buffers, by buffer: byte -> what it points to
    for storage, byte, address in launch.memory.pointers:
        at = _at(ranges, storage)
        target = _at(ranges, address)
        if at is not None and target is not None:
            begin = storage - ranges[at][0]
            pointers.setdefault(at, {})[str(begin + byte)] = {
                "buffer": names[target], "offset": address - ranges[target][0]
            }
    buffers = {}
    for i, (address, size, _) in enumerate(ranges):
        file = f"{names[i]}.bin"
        (folder / file).write_bytes(ctypes.string_at(address, size))
        buffers[names[i]] = {"bytes": size, "init": {"file": file}}
        if i in pointers:
            buffers[names[i]]["pointers"] = pointers[i]
    out = {
        "schema": "lockwarp-launch/1",
        "comment": "A launch of a Triton kernel, written by lockwarp.triton.",
        "ptx": "kernel.ptx",
        "entry": launch.kernel.name,
        "arch": launch.arch,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "dynamic_shared": launch.shared,
        "buffers": buffers,
        "args": _arguments(launch, ranges, names),
        "outputs": names,
    }
    if launch.cooperative:
        out["cooperative"] = True
    if launch.cluster[0]:
        out["cluster"] = list(launch.cluster)
        out["non_portable_cluster"] = True  # as Triton's launcher allows
    path = folder / "launch.json"
    path.write_text(json.dumps(out, indent=2) + "\n")
    return path


def _names(ranges) -> list[str]:
    names: list[str] = []
    for _, _, name in ranges:
        plain = re.sub(r"\W+", "_", name).strip("_") or "buffer"
        unique = plain
        for n in itertools.count(2):
            if unique not in names:
                break
            unique = f"{plain}_{n}"
        names.append(unique)
    return names


def _at(ranges, address: int) -> int | None:
    for i, (begin, size, _) in enumerate(ranges):
        if begin <= address < begin + size:
            return i
    return None


def _arguments(launch: Prepared, ranges, names) -> list:
    out = []
    offset = 0
    for i, (size, alignment) in enumerate(launch.layout):
        offset += -offset % alignment
        bits = int.from_bytes(launch.parameters[offset : offset + size], "little")
        offset += size
        kind = launch.flat[i][1] if i < len(launch.flat) else "*"
        at = _at(ranges, bits) if kind.startswith("*") else None
        if at is not None:
            out.append({"buffer": names[at], "offset": bits - ranges[at][0]})
        elif kind == "map":
            data = launch.parameters[offset - size : offset]
            address = int.from_bytes(data[:8], "little")
            at = _at(ranges, address)
            out.append({"bytes": data.hex()} | ({} if at is None else {"pointers": {"0": {
                "buffer": names[at], "offset": address - ranges[at][0]}}}))
        elif size in (1, 2, 4, 8):
            out.append({f"u{8 * size}": bits})
        else:
            out.append({"bytes": launch.parameters[offset - size : offset].hex()})
    for a in out:
        if a.get("offset") == 0:
            del a["offset"]
    return out


def saver(folder: str):
    """For State.save: each launch into a folder of its own, NAME.0, NAME.1 and on."""
    counts: dict[str, int] = {}

    def save(launch: Prepared) -> None:
        name = launch.kernel.name
        n = counts.get(name, 0)
        counts[name] = n + 1
        write(launch, pathlib.Path(folder) / f"{name}.{n}")

    return save


class _Written(BaseException):
    """Ends a launch that was written and is not to run."""


def export(kernel: Any, grid: Any, *args: Any, folder: str | os.PathLike[str],
           **kwargs: Any) -> pathlib.Path:
    """Writes the launch ``kernel[grid](*args, **kwargs)`` to a folder, without running it:
    kernel.ptx, launch.json and the tensors' bytes. Returns the path of launch.json, which
    ``lockwarp run``, ``time``, and, on a machine with a GPU, ``validate`` take.
    """
    from lockwarp.triton import installed

    if installed() is None:
        raise lockwarp.Error("lt.export(): call lt.install() first")
    path: list[pathlib.Path] = []

    def save(launch: Prepared) -> None:
        path.append(write(launch, pathlib.Path(folder)))
        raise _Written

    before = State.save
    State.save = save
    try:
        kernel[grid](*args, **kwargs)
    except _Written:
        pass
    finally:
        State.save = before
    if not path:
        raise lockwarp.Error("lt.export(): the grid is empty, nothing was launched")
    return path[0]
