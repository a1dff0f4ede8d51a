# SPDX-License-Identifier: Apache-2.0
"""Puts small faults into the code, one at a time, and asks whether a test notices.

Every fault is in one build (build/mutate), chosen at run time, so that asking costs no compiler:
an operator is another one, a condition is turned round or a part of it left out, a number is one
more, a statement is left out. The tests that reach a fault are asked, those of its room first.
What survives is either a hole in the tests or a fault that changes nothing: those stand in
equivalent.tsv, with the reason.
"""

import argparse
import datetime
import json
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import build
import tests
from points import Fault

ROOMS = ["emu/ptx", "emu/isa", "emu/num", "emu/exec", "emu/check", "emu/timing", "launch", "lanes",
         "gpu", "validate", "tools"]
EQUIVALENT = build.HERE / "equivalent.tsv"
RESULTS = build.PLACE / "results.jsonl"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", metavar="ROOM|FILE|FILE:LINE",
                        help=f"where faults are put (default: {' '.join(ROOMS)})")
    parser.add_argument("--changed", metavar="COMMIT", help="only lines changed since it")
    parser.add_argument("--sample", type=int, metavar="N", help="N faults of each room, by chance")
    parser.add_argument("--seed", type=int, default=1, help="of the chance (default: 1)")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS",
                        help="of tests for one fault; 0: all that reach it (default: 120)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="print the faults, and ask nothing")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT",
                        help="exit with 1 where fewer of a room's faults died")
    return parser.parse_args()


def room_of(file: str) -> str:
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "emu" else parts[0]


def files_of(places: list[str]) -> list[str]:
    chosen = []
    for name in build.tracked():
        if name.endswith((".cpp", ".hpp")) and any(
                name == p or name.startswith(p.rstrip("/") + "/") for p in places):
            chosen.append(name)
    return chosen


def changed_lines(commit: str) -> dict[str, set[int]]:
    out = subprocess.run(["git", "diff", "-U0", commit], cwd=build.ROOT, check=True,
                         capture_output=True, text=True).stdout
    lines: dict[str, set[int]] = {}
    file = ""
    for line in out.splitlines():
        if line.startswith("+++ "):
            file = line[6:]
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + count))
    return lines


def equivalents() -> dict[tuple[str, str, str], str]:
    """Reasons, by file, fault and code."""
    rows = {}
    for line in EQUIVALENT.read_text().splitlines():
        if line and not line.startswith("#"):
            file, what, code, reason = line.split("\t")
            rows[file, what, code] = reason
    return rows


def table(asked: list[tuple[Fault, str, str]], same: dict) -> tuple[str, dict[str, float]]:
    head = ["room", "faults tried", "died", "survived", "not reached", "change nothing", "died of the rest"]
    rows, shares = [head], {}
    for room in sorted({room_of(f.file) for f, _, _ in asked}):
        said = [(f, answer) for f, answer, _ in asked if room_of(f.file) == room]
        equal = [f for f, answer in said if answer != "died" and (f.file, f.what, f.code) in same]
        died = sum(answer == "died" for _, answer in said)
        unreached = sum(answer == "not reached" and f not in equal for f, answer in said)
        rest = len(said) - len(equal)
        shares[room] = 100.0 * died / rest if rest else 100.0
        rows.append([room, len(said), died, rest - died - unreached, unreached, len(equal),
                     f"{shares[room]:.1f}%"])
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]), shares


def main() -> int:
    args = arguments()
    places = [p.split(":")[0] for p in args.places] or ROOMS
    wanted_lines: dict[str, set[int]] = {}
    for place in args.places:
        if ":" in place:
            wanted_lines.setdefault(place.split(":")[0], set()).add(int(place.split(":")[1]))
    changed = changed_lines(args.changed) if args.changed else None
    files = files_of(places)
    if changed is not None:
        files = [file for file in files if file in changed]
    if not files:
        print("mutate: no file of this kind" if changed is None else "mutate: nothing has changed")
        return 2 if changed is None else 0

    faults = build.build(files, args.jobs)
    chosen = [f for f in faults
              if (changed is None or f.line in changed[f.file])
              and (f.file not in wanted_lines or f.line in wanted_lines[f.file])]
    if args.sample:
        chance = random.Random(args.seed)
        by_room: dict[str, list[Fault]] = {}
        for fault in chosen:
            by_room.setdefault(room_of(fault.file), []).append(fault)
        chosen = [f for room in by_room.values()
                  for f in sorted(chance.sample(room, min(args.sample, len(room))),
                                  key=lambda f: f.number)]
    print(f"mutate: {len(chosen)} of {len(faults)} faults in {len(files)} files", flush=True)
    if args.list:
        for f in chosen:
            print(f"{f.file}:{f.line}: {f.what}: {f.code}")
        return 0

    able = tests.measure(tests.every_test(), max(f.number for f in faults) + 1, args.jobs)
    print(f"mutate: {len(able)} tests", flush=True)
    same = equivalents()
    with RESULTS.open("w") as results, ThreadPoolExecutor(args.jobs) as pool:
        def ask(fault: Fault) -> tuple[Fault, str, str]:
            answer, by = tests.ask(able, fault.number, room_of(fault.file), args.limit)
            results.write(json.dumps({**vars(fault), "answer": answer, "by": by}) + "\n")
            results.flush()
            if answer != "died" and (fault.file, fault.what, fault.code) not in same:
                print(f"{fault.file}:{fault.line}: {answer}: {fault.what}: {fault.code}"
                      f"{' (' + by + ')' if by else ''}", flush=True)
            return fault, answer, by

        asked = list(pool.map(ask, chosen))
    text, shares = table(asked, same)
    print(f"\n{datetime.date.today()}, seed {args.seed}\n\n{text}")
    return int(any(share < args.least for share in shares.values()))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
