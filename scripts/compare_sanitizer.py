#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What lockwarp check and NVIDIA's compute-sanitizer find in the faulty kernels of tests/faults.

On a machine with a GPU and compute-sanitizer:
    scripts/compare_sanitizer.py --lockwarp build/portable/portable/lockwarp --output table.md
Each kernel, wrong and right, runs under memcheck, racecheck, initcheck and synccheck; the program
under them is `lockwarp measure`, which launches it on the GPU. A run that does not end is killed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fault_launches import expected, write_all

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
# What its lines say of an error; the rest is the frame of the report.
FOUND = re.compile(r"^=+ (?:Error: |Warning: )?((?:Invalid|Barrier|Race|Uninitialized|Potential|"
                   r"Divergent|Misaligned|Program hit|Out-of-range|Leaked|Unused|Illegal|"
                   r"Missing)[^.:(\n]*)", re.MULTILINE)


def sanitizer(tool: str, sanitize: str, program: str, launch: Path, seconds: float) -> str:
    command = [sanitize, "--tool", tool, "--target-processes", "all", "--print-limit", "20",
               program, "measure", str(launch), "--runs", "1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return "does not end"
    text = done.stdout + done.stderr
    kinds = sorted(set(k.strip() for k in FOUND.findall(text)))
    if kinds:
        return ", ".join(kinds)[:120]
    total = re.search(r"ERROR SUMMARY: (\d+) error", text) or re.search(r"(\d+) hazard", text)
    if total is None:
        return "no report"
    return "" if total.group(1) == "0" else f"{total.group(1)} errors"


def check(program: str, launch: Path) -> list[str]:
    done = subprocess.run([program, "check", str(launch), "--format", "json", "--max-steps",
                           "100000"], capture_output=True, text=True)
    findings = json.loads(done.stdout)["findings"]
    return sorted({f"{f['check']}/{f['kind']}" + ("" if f["severity"] == "error" else " (note)")
                   for f in findings})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lockwarp", default="build/release/lockwarp")
    parser.add_argument("--sanitizer", default="compute-sanitizer")
    parser.add_argument("--only", default="", help="faults whose path contains this")
    parser.add_argument("--seconds", type=float, default=30, help="for one run")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2),
                        help="kernels at a time")
    parser.add_argument("--output", help="a file for the table (default: stdout)")
    o = parser.parse_args()
    sanitize = shutil.which(o.sanitizer)
    if sanitize is None:
        sys.exit(f"{o.sanitizer}: not found")
    rows = ["| kernel | meant | lockwarp check | " + " | ".join(TOOLS) + " | in the right one |",
            "|---|---|---|" + "---|" * (len(TOOLS) + 1)]
    missed = []

    def row(fault: tuple[Path, Path, Path]) -> str:
        ptx, wrong, right = fault
        name = f"{ptx.parent.name}/{ptx.stem}"
        found = check(o.lockwarp, wrong)
        theirs = [sanitizer(t, sanitize, o.lockwarp, wrong, o.seconds) for t in TOOLS]
        false = [sanitizer(t, sanitize, o.lockwarp, right, o.seconds) for t in TOOLS]
        errors = [f for f in found if not f.endswith("(note)")]
        if any(t and t != "no report" for t in theirs) and not errors:
            missed.append(name)
        meant = ", ".join(e["what"] for e in expected(ptx))
        text = (f"| {name} | {meant} | {', '.join(found)} | {' | '.join(theirs)} | "
                f"{', '.join(sorted({f for f in false if f}))} |")
        print(text, file=sys.stderr, flush=True)
        return text

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(o.jobs) as pool:
        rows += pool.map(row, (f for f in write_all(Path(folder))
                               if o.only in f"{f[0].parent.name}/{f[0].stem}"))
    rows.append("")
    rows.append(f"Found by compute-sanitizer and no error of lockwarp check: "
                f"{', '.join(sorted(missed)) or 'none'}.")
    text = "\n".join(rows) + "\n"
    if o.output:
        Path(o.output).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
