# SPDX-License-Identifier: Apache-2.0
"""Puts small faults into the code, one at a time, and asks whether a test notices.

The chosen faults are in one build (build/mutate), and one is chosen at run time, so that asking
costs no compiler: an operator is another one, a condition is turned round or a part of it left out,
a number is one more, a statement is left out. The tests that reach a fault are asked, those of its
room first, until one fails. What they do not notice in a constexpr or consteval function is built
once more by itself, so that it is in what the compiler evaluates too: it dies where that does not
build, or where a test fails then. What survives is either a hole in the tests or a fault that
changes nothing: those stand in equivalent.tsv, with the reason.

A run that was stopped goes on where it was: what the tests said of a fault is kept in
build/mutate/results.jsonl until its file changes. --again asks once more about what did not die.
"""

import argparse
import datetime
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

import build
import results
import tests
from points import Fault

ROOMS = ["emu/ptx", "emu/isa", "emu/num", "emu/exec", "emu/check", "emu/timing", "launch", "lanes",
         "gpu", "validate", "tools"]
EQUIVALENT = build.HERE / "equivalent.tsv"
BY_HAND = "by hand"
ANSWERS = build.PLACE / "results.jsonl"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", metavar="ROOM|FILE|FILE:LINE",
                        help=f"where faults are put (default: {' '.join(ROOMS)})")
    parser.add_argument("--changed", metavar="COMMIT", help="only lines changed since it")
    parser.add_argument("--sample", type=int, metavar="N", help="N faults of each room, by chance")
    parser.add_argument("--seed", type=int, default=1, help="of the chance (default: 1)")
    parser.add_argument("--by-hand", action="store_true",
                        help="only the faults that stand in scripts/mutation/by_hand.tsv")
    parser.add_argument("--no-headers", action="store_true",
                        help="none in headers: what includes them need not be built again")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS",
                        help="of tests for one fault; 0: all that reach it (default: 120)")
    parser.add_argument("--tests", metavar="REGEX", default="", help="ask only tests of such names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="print the faults, and ask nothing")
    parser.add_argument("--again", action="store_true",
                        help="ask again about what did not die in an earlier run")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT",
                        help="exit with 1 where fewer of a room's faults died")
    parser.add_argument("--record", action="store_true",
                        help="put what came out into scripts/mutation/results.tsv")
    return parser.parse_args()


def room_of(file: str) -> str:
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "emu" else parts[0]


def row_of(fault: Fault) -> str:
    """The row of the table that it counts in."""
    return BY_HAND if fault.what.endswith(" in its place") else room_of(fault.file)


def files_of(places: list[str], endings: tuple[str, ...] = (".cpp", ".hpp")) -> list[str]:
    chosen = []
    for name in build.tracked():
        if name.endswith(endings) and (name in places or any(
                name.startswith(p.rstrip("/") + "/") for p in places)):
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


def choose(args: argparse.Namespace) -> list[Fault] | None:
    """None: no file of this kind."""
    places = [p.split(":")[0] for p in args.places] or ROOMS
    wanted_lines: dict[str, set[int]] = {}
    for place in args.places:
        if ":" in place:
            wanted_lines.setdefault(place.split(":")[0], set()).add(int(place.split(":")[1]))
    changed = changed_lines(args.changed) if args.changed else None
    files = files_of(places, (".cpp",) if args.no_headers else (".cpp", ".hpp"))
    if not files:
        return None
    by_room: dict[str, list[Fault]] = {}
    for file in files:
        if changed is not None and file not in changed:
            continue
        by_room.setdefault(room_of(file), []).extend(
            f for f in build.faults_of(file)
            if not args.by_hand
            and (changed is None or f.line in changed[file])
            and (file not in wanted_lines or f.line in wanted_lines[file]))
    chosen = []
    for room, faults in by_room.items():
        if args.sample:
            # The same of a room, whichever others are asked.
            chance = random.Random(f"{args.seed} {room}")
            faults = chance.sample(faults, min(args.sample, len(faults)))
        chosen += sorted(faults, key=lambda f: f.number)
    if changed is None and not wanted_lines:
        chosen += [f for file in files for f in build.faults_by_hand(file)]
    chosen.sort(key=lambda f: f.file)
    return chosen


def equivalents() -> set[tuple[str, ...]]:
    """File, fault, code and, where one is given, the line's text or the function's name."""
    rows = [line.split("\t") for line in EQUIVALENT.read_text().splitlines()
            if line[:1] not in ("", "#")]
    return {(file, what, code, *around) for file, what, code, _reason, *around in rows}


class Answers:
    """What the tests said, by fault, as long as its file is the same."""

    def __init__(self):
        self.digests: dict[str, str] = {}
        self.by_fault: dict[tuple, tuple[str, str]] = {}
        for line in ANSWERS.read_text().splitlines() if ANSWERS.is_file() else []:
            entry = json.loads(line)
            self.by_fault[entry["file"], entry["digest"], entry["begin"], entry["end"],
                          entry["what"]] = entry["answer"], entry["by"]
        self.file = ANSWERS.open("a")

    def key(self, fault: Fault) -> tuple:
        if fault.file not in self.digests:
            text = (build.ROOT / fault.file).read_bytes()
            self.digests[fault.file] = hashlib.sha256(text).hexdigest()[:16]
        return fault.file, self.digests[fault.file], *fault.place()

    def of(self, fault: Fault) -> tuple[str, str] | None:
        return self.by_fault.get(self.key(fault))

    def add(self, fault: Fault, answer: str, by: str) -> None:
        self.by_fault[self.key(fault)] = answer, by
        self.file.write(json.dumps({**vars(fault), "digest": self.digests[fault.file],
                                    "answer": answer, "by": by}) + "\n")
        self.file.flush()


def show(fault: Fault, answer: str, by: str) -> None:
    print(f"{fault.file}:{fault.line}: {answer}: {fault.what}: {fault.code}"
          f"{' (' + by + ')' if by else ''}", flush=True)


def ask_all(args: argparse.Namespace, faults: list[Fault], answers: Answers, same: set) -> None:
    waiting = [f for f in faults if answers.of(f) is None
               or args.again and answers.of(f)[0] != "died" and not is_same(f, same)]
    if not waiting:
        return
    # So that a run that is stopped has asked about some of each room.
    random.Random(0).shuffle(waiting)
    runner = tests.Runner()
    compiled: list[Fault] = []

    def note(fault: Fault, answer: str, by: str) -> None:
        answers.add(fault, answer, by)
        if answer != "died" and not is_same(fault, same):
            show(fault, answer, by)

    text = json.dumps([[f.number, *answers.key(f)] for f in faults])
    try:
        every = [test for test in tests.every_test() if re.search(args.tests, test.name)]
        able = tests.measure(runner, every, max(f.number for f in faults) + 1,
                             hashlib.sha256(text.encode()).hexdigest(), args.jobs)
        print(f"mutate: {len(able)} tests, {len(waiting)} faults to ask about", flush=True)
        with ThreadPoolExecutor(args.jobs) as pool:
            asked = {pool.submit(tests.ask, runner, able, f.number, room_of(f.file),
                                 args.limit): f for f in waiting}
            try:
                for done in as_completed(asked):
                    fault = asked[done]
                    if fault.compiled and done.result()[0] != "died" and not is_same(fault, same):
                        compiled.append(fault)
                    else:
                        note(fault, *done.result())
            except BaseException:
                runner.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        ask_compiled(args, runner, able, compiled, note)
    except KeyboardInterrupt:
        runner.stop()
        raise


def ask_compiled(args: argparse.Namespace, runner: tests.Runner, able: list[tests.Test],
                 faults: list[Fault], note) -> None:
    """Of faults that showed in no run: builds each by itself, so that it is in what the compiler
    evaluates too."""
    if faults:
        print(f"mutate: {len(faults)} faults to build", flush=True)
    builds = build.Compiled(args.jobs)
    for fault in sorted(faults, key=lambda f: (f.file, f.number)):
        if not builds.takes(fault):
            note(fault, "died", "the compiler")
            continue
        answer, by = tests.ask_these(runner, able, 0, room_of(fault.file), args.limit)
        note(fault, answer, by or "built with it")
    builds.end()


def is_same(fault: Fault, same: set) -> bool:
    row = fault.file, fault.what, fault.code
    return row in same or any((*row, around) in same for around in fault.around)


def summed(faults: list[Fault], answers: Answers, same: set, seed: int) -> list[results.Row]:
    rows = []
    asked = [f for f in faults if answers.of(f) is not None]
    for room in sorted({row_of(f) for f in asked}):
        own = [f for f in asked if row_of(f) == room]
        died = [f for f in own if answers.of(f)[0] == "died"]
        equal = [f for f in own if f not in died and is_same(f, same)]
        rows.append(results.Row(room, str(datetime.date.today()), seed, len(own), len(died),
                                len(equal)))
    return rows


def main() -> int:
    args = arguments()
    chosen = choose(args)
    if not chosen:
        print("mutate: no file of this kind" if chosen is None else "mutate: nothing has changed")
        return 2 if chosen is None else 0
    print(f"mutate: {len(chosen)} faults in {len({f.file for f in chosen})} files", flush=True)
    if args.list:
        for f in chosen:
            print(f"{f.file}:{f.line}: {f.what}: {f.code}")
        return 0
    same = equivalents()
    faults = build.build(chosen, args.jobs)
    answers = Answers()
    for f in faults:
        if (said := answers.of(f)) and said[0] != "died" and not args.again and not is_same(f, same):
            show(f, *said)
    stopped = False
    try:
        ask_all(args, faults, answers, same)
    except KeyboardInterrupt:
        stopped = True
    rows = summed(faults, answers, same, args.seed)
    print(f"\n{results.table(rows)}")
    if stopped:
        print("mutate: stopped; the same command goes on")
        return 130
    if args.record:
        results.record(rows)
    return int(any(row.share() < args.least for row in rows))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
