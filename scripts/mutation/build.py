# SPDX-License-Identifier: Apache-2.0
"""A copy of the sources with every fault in it, and its build."""

import re
import subprocess
import sys
from pathlib import Path

from points import Fault, with_faults

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLACE = ROOT / "build" / "mutate"
TREE = PLACE / "tree"
BUILD = PLACE / "build"
ROUNDS = 12  # builds at most, each without the faults that did not compile in the last one


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
    for path in [path for path in TREE.rglob("*") if path.is_file()]:
        if path not in kept:
            path.unlink()


class Sources:
    """The files that take faults."""

    def __init__(self, files: list[str]):
        self.dropped: dict[str, set[int]] = {file: set() for file in files}
        self.plain: set[str] = set()  # that do not compile with any
        self.first: dict[str, int] = {}
        number = 1
        for file in files:
            self.first[file] = number
            number += len(with_faults(file, (ROOT / file).read_bytes(), 1, set())[1])
        self.end = number  # of the numbers

    def write(self) -> list[Fault]:
        every = []
        for file, dropped in self.dropped.items():
            source = (ROOT / file).read_bytes()
            if file in self.plain:
                put(TREE / file, source)
                continue
            text, faults = with_faults(file, source, self.first[file], dropped)
            put(TREE / file, text.encode())
            every += faults
        return every

    def drop(self, log: str) -> int:
        """Takes the faults out of the lines that a compiler's messages name."""
        before = sum(map(len, self.dropped.values()))
        for path, line in re.findall(r"^(?:In file included from )?([^\s:]+):(\d+):", log, re.M):
            try:
                file = str(Path(path).resolve().relative_to(TREE.resolve()))
            except ValueError:
                continue
            if file in self.dropped:
                self.dropped[file].add(int(line))
        return sum(map(len, self.dropped.values())) - before


def run(command: list[str], **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)


def configure() -> None:
    done = run(["cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG", "-DLOCKWARP_WERROR=OFF",
                f"-DCMAKE_CXX_FLAGS=-w -std=c++20 -include {HERE / 'mutant.hpp'}", "-DLOCKWARP_TESTS=ON"])
    if done.returncode != 0:
        sys.exit(f"mutate: cmake:\n{done.stdout[-3000:]}")


def build(files: list[str], jobs: int) -> list[Fault]:
    """The faults that the build under build/mutate has, by number."""
    copy_sources(tracked(), set(files))
    sources = Sources(files)
    faults = sources.write()
    configure()
    for round in range(1, ROUNDS + 1):
        done = run(["cmake", "--build", BUILD, "--", "-k", "0", f"-j{jobs}"])
        if done.returncode == 0:
            return faults
        dropped = sources.drop(done.stdout)
        print(f"mutate: build {round}: {dropped} lines take no fault", flush=True)
        if dropped == 0 or round == ROUNDS - 1:
            (PLACE / "build.log").write_text(done.stdout)
            failed = failing_files(done.stdout, set(files))
            if not failed - sources.plain:
                sys.exit(f"mutate: it does not build: {PLACE / 'build.log'}")
            sources.plain |= failed
            print(f"mutate: without faults: {', '.join(sorted(failed))}", flush=True)
        faults = sources.write()
    sys.exit("mutate: it does not build")


def failing_files(log: str, files: set[str]) -> set[str]:
    return {file for file in files if f"/{file}:" in log or f"{file}.o" in log}
