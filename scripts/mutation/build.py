# SPDX-License-Identifier: Apache-2.0
"""A copy of the sources with the chosen faults in it, and its build."""

import os
import re
import subprocess
import sys
from pathlib import Path

from points import ALWAYS, Fault, with_faults

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLACE = ROOT / "build" / "mutate"
TREE = PLACE / "tree"
# A release build, where the sources have theirs: what takes no fault is in ccache.
BUILD = TREE / "build" / "release"
OPTIONS = PLACE / "options.cmake"
BY_HAND = HERE / "by_hand.tsv"
MOST = 4096  # faults of a file
ROUNDS = 12  # builds at most, each without the faults that did not compile in the last one
# Stand before a file that takes faults, and count no lines.
BEFORE = '#include "scripts/mutation/mutant.hpp"\n{pragma}#line 1 "{file}"\n'


def tracked() -> list[str]:
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    return [name for name in out.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def put(path: Path, text: bytes) -> None:
    """Writes what has changed, so that only that is built again."""
    if not path.is_file() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def copy_sources(names: list[str], mutated: set[str]) -> None:
    for name in names:
        if name in mutated:
            continue
        source, copy = ROOT / name, TREE / name
        put(copy, source.read_bytes())
        copy.chmod(source.stat().st_mode & 0o777)
    kept = {TREE / name for name in names}
    for top in TREE.iterdir():
        if top.name == "build":
            continue
        for path in [top] if top.is_file() else [p for p in top.rglob("*") if p.is_file()]:
            if path not in kept:
                path.unlink()


def by_hand(file: str) -> list[tuple[str, str]]:
    """Of a file: code, and a fault to stand in its place, wherever it is."""
    rows = [line.split("\t") for line in BY_HAND.read_text().splitlines() if line[:1] not in ("", "#")]
    return [(row[1], row[2]) for row in rows if row[0] == file]


def faults_of(file: str) -> list[Fault]:
    return with_faults(file, (ROOT / file).read_bytes(), 1, set())[1]


def faults_by_hand(file: str) -> list[Fault]:
    if not by_hand(file):
        return []
    text = (ROOT / file).read_bytes()
    usual = {fault.place() for fault in faults_of(file)}
    return [fault for fault in with_faults(file, text, 1, set(), None, by_hand(file))[1]
            if fault.place() not in usual]


def with_head(file: str, text: str) -> bytes:
    pragma = "#pragma GCC system_header\n" if file.endswith(".hpp") else ""
    return (BEFORE.format(pragma=pragma, file=TREE / file) + text).encode()


class Sources:
    """The files that take faults."""

    def __init__(self, chosen: list[Fault]):
        self.wanted: dict[str, set] = {}
        for fault in chosen:
            self.wanted.setdefault(fault.file, set()).add(fault.place())
        self.dropped: dict[str, set[int]] = {file: set() for file in self.wanted}
        self.plain: set[str] = set()  # that do not compile with any
        # The same whichever others are chosen, so that what is built stays built.
        self.first = {file: 1 + at * MOST for at, file in enumerate(tracked())}

    def write(self) -> list[Fault]:
        every = []
        for file, dropped in self.dropped.items():
            source = (ROOT / file).read_bytes()
            if file in self.plain:
                put(TREE / file, source)
                continue
            text, faults = with_faults(file, source, self.first[file], dropped, self.wanted[file],
                                       by_hand(file))
            put(TREE / file, with_head(file, text))
            every += faults
        return every

    def drop(self, log: str) -> int:
        """Takes the faults out of the lines that a compiler's messages name."""
        before = sum(map(len, self.dropped.values()))
        for path, line in re.findall(r"^(?:In file included from )?([^\s:]+):(\d+):", log, re.M):
            try:
                file = str((BUILD / path).resolve().relative_to(TREE.resolve()))
            except ValueError:
                continue
            if file in self.dropped:
                self.dropped[file].add(int(line))
        return sum(map(len, self.dropped.values())) - before


def run(command: list, **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          env={**os.environ, "CCACHE_BASEDIR": str(TREE)}, **more)


def configure(files: list[str]) -> None:
    sources = "\n  ".join(str(TREE / file) for file in files if file.endswith(".cpp"))
    text = f'set_source_files_properties(\n  {sources}\n  PROPERTIES COMPILE_OPTIONS "-O1;-w")\n'
    put(OPTIONS, text.encode() if sources else b"")
    done = run(["cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release",
                "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DLOCKWARP_WERROR=ON", "-DLOCKWARP_TESTS=ON",
                f"-DCMAKE_PROJECT_lockwarp_INCLUDE={OPTIONS}"])
    if done.returncode != 0:
        sys.exit(f"mutate: cmake:\n{done.stdout[-3000:]}")


def build(chosen: list[Fault], jobs: int) -> list[Fault]:
    """Of the chosen faults those that the build under build/mutate has, by number."""
    sources = Sources(chosen)
    TREE.mkdir(parents=True, exist_ok=True)
    copy_sources(tracked(), set(sources.wanted))
    faults = sources.write()
    configure(list(sources.wanted))
    errors: set[str] = set()
    for round in range(1, ROUNDS + 1):
        done = run(["cmake", "--build", BUILD, "--", "-k", "0", f"-j{jobs}"])
        if done.returncode == 0:
            return faults
        dropped = sources.drop(done.stdout)
        print(f"mutate: build {round}: {dropped} lines take no fault", flush=True)
        if dropped == 0 or round == ROUNDS - 1:
            (PLACE / "build.log").write_text(done.stdout)
            failed = failing_files(done.stdout, set(sources.wanted))
            # An error that stays where its file is as it was is no fault's.
            before, errors = errors, errors_in(done.stdout)
            if not failed - sources.plain or before & errors:
                sys.exit(f"mutate: it does not build: {PLACE / 'build.log'}")
            sources.plain |= failed
            print(f"mutate: without faults: {', '.join(sorted(failed))}", flush=True)
        faults = sources.write()
    sys.exit("mutate: it does not build")


class Compiled:
    """The build with one fault that is always there, in what the compiler evaluates too; at the end
    it is what it was before."""

    def __init__(self, jobs: int):
        self.jobs = jobs
        self.before: dict[str, bytes] = {}

    def build(self) -> subprocess.CompletedProcess:
        return run(["cmake", "--build", BUILD, "--", f"-j{self.jobs}"])

    def restore(self) -> None:
        for file, text in self.before.items():
            put(TREE / file, text)

    def takes(self, fault: Fault) -> bool:
        """False: it does not build with it."""
        self.restore()
        self.before.setdefault(fault.file, (TREE / fault.file).read_bytes())
        text, _ = with_faults(fault.file, (ROOT / fault.file).read_bytes(), ALWAYS, set(),
                              {fault.place()}, by_hand(fault.file))
        put(TREE / fault.file, with_head(fault.file, text))
        done = self.build()
        # Or a program of tests does not list them.
        if done.returncode != 0 and not re.search(r"error:|Error running", done.stdout):
            sys.exit(f"mutate: it does not build:\n{done.stdout[-3000:]}")
        return done.returncode == 0

    def end(self) -> None:
        self.restore()
        if self.before and self.build().returncode != 0:
            sys.exit("mutate: it does not build as before")


def errors_in(log: str) -> set[str]:
    return set(re.findall(r"^\S+:\d+:\d+: error: .*", log, re.M))


def failing_files(log: str, files: set[str]) -> set[str]:
    return {file for file in files if f"/{file}:" in log or f"{file}.o" in log}
