#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launch files for tests/faults/*/*.ptx: NAME.wrong.json and NAME.right.json of each, in a folder."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUFFER = 1 << 16  # bytes of `out` and of `in`


def launch(ptx: Path, entry: str) -> dict:
    text = ptx.read_text()
    said = re.search(r"^// launch:(.*)$", text, re.MULTILINE)
    words = {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", said.group(1) if said else "")}
    values = {"u32": [(1 + 7 * i) % 256 for i in range(BUFFER // 4)]}
    shape = {}
    if "row" in words:
        stride = words.get("stride", words["row"])
        shape = {"type": "u32", "shape": [BUFFER // 4 // stride, words["row"]], "stride": stride}
    zero = "undefined" if words.get("undefined") else {"fill": 0}
    return {
        "schema": "lockwarp-launch/1", "ptx": str(ptx), "entry": entry, "arch": "sm_90",
        "grid": [words.get("grid", 1), 1, 1], "block": [words.get("block", 1), 1, 1],
        "dynamic_shared": words.get("shared", 0),
        "buffers": {"out": {"bytes": BUFFER, "init": zero, **shape},
                    "in": {"bytes": BUFFER, "init": {"values": values}, **shape}},
        "args": [{"buffer": "out"}, {"buffer": "in"}], "outputs": ["out"],
    }


def expected(ptx: Path) -> list[dict]:
    """What the comments of the file say is found: "//! CHECK/KIND" an error, "//~ ..." a note."""
    out = []
    for number, line in enumerate(ptx.read_text().splitlines(), 1):
        for mark, what in re.findall(r"//([!~]) (\S+)", line):
            out.append({"line": number, "what": what,
                        "severity": "error" if mark == "!" else "note"})
    return out


def faults() -> list[Path]:
    # mapping and specialised have launch files of their own.
    return sorted(p for p in (ROOT / "tests/faults").glob("*/*.ptx")
                  if p.parent.name not in ("mapping", "specialised"))


def write_all(folder: Path) -> list[tuple[Path, Path, Path]]:
    """(PTX, its wrong launch file, its right one)"""
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for ptx in faults():
        name = f"{ptx.parent.name}.{ptx.stem}"
        files = []
        for entry in ("wrong", "right"):
            path = folder / f"{name}.{entry}.json"
            path.write_text(json.dumps(launch(ptx, entry)))
            files.append(path)
        out.append((ptx, *files))
    return out


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: fault_launches.py FOLDER")
    print(f"{len(write_all(Path(sys.argv[1])))} faults")
