# SPDX-License-Identifier: Apache-2.0
"""The tests of the build with faults: which lines each reaches, and whether it notices a fault."""

import json
import os
import resource
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from build import BUILD, PLACE

LEFT_OUT = {"gpu", "long", "browser"}  # labels
MEMORY = 8 << 30  # bytes that a test may ask for
BATCH = 20.0  # seconds of tests that one process runs


@dataclass
class Test:
    name: str
    command: list[str]
    folder: str
    environment: dict[str, str]
    skips: int = 77
    will_fail: bool = False
    seconds: float = 0
    reached: bytes = field(default=b"", repr=False)

    def case(self) -> str | None:
        """Of GoogleTest: the name of the case."""
        filters = [word for word in self.command if word.startswith("--gtest_filter=")]
        return filters[0].split("=", 1)[1] if filters else None


def every_test() -> list[Test]:
    out = subprocess.run(["ctest", "--test-dir", str(BUILD), "--show-only=json-v1"], check=True,
                         capture_output=True, text=True)
    tests = []
    for entry in json.loads(out.stdout)["tests"]:
        about = {p["name"]: p["value"] for p in entry.get("properties", [])}
        if "command" not in entry or LEFT_OUT & set(about.get("LABELS", [])):
            continue
        tests.append(Test(entry["name"], entry["command"],
                          about.get("WORKING_DIRECTORY", str(BUILD)),
                          dict(v.split("=", 1) for v in about.get("ENVIRONMENT", [])),
                          about.get("SKIP_RETURN_CODE", 77), about.get("WILL_FAIL", False)))
    return tests


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command: list[str], folder: str, environment: dict[str, str], seconds: float) -> int | None:
    """The exit status; None: not within the time."""
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **environment},
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=limits)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def passes(test: Test, status: int | None) -> bool:
    if status is None:
        return False
    return (status != 0) if test.will_fail else status in (0, test.skips)


def measure(tests: list[Test], numbers: int, jobs: int) -> list[Test]:
    """Runs each without a fault; those that pass, with what they reach."""
    folder = PLACE / "reached"
    folder.mkdir(exist_ok=True)

    def one(at: int) -> bool:
        test, seen = tests[at], folder / f"{at}"
        seen.write_bytes(bytes(numbers))
        begin = time.monotonic()
        status = run(test.command, test.folder,
                     {**test.environment, "LOCKWARP_MUTANT_SEEN": str(seen)}, 600)
        test.seconds = time.monotonic() - begin
        test.reached = seen.read_bytes()
        seen.unlink()
        return passes(test, status) and status != test.skips

    with ThreadPoolExecutor(jobs) as pool:
        good = list(pool.map(one, range(len(tests))))
    for test, is_good in zip(tests, good):
        if not is_good:
            print(f"mutate: not asked, it does not pass here without a fault: {test.name}",
                  flush=True)
    return [test for test, is_good in zip(tests, good) if is_good]


def batches(tests: list[Test]):
    """Tests in their order, those of one program that follow each other as one run."""
    batch: list[Test] = []
    for test in tests:
        joins = batch and test.case() and batch[0].case() and \
            batch[0].command[0] == test.command[0] and \
            batch[0].environment == test.environment and batch[0].folder == test.folder and \
            sum(t.seconds for t in batch) + test.seconds <= BATCH and len(batch) < 200
        if batch and not joins:
            yield batch
            batch = []
        batch.append(test)
    if batch:
        yield batch


def ask(tests: list[Test], number: int, room: str, limit: float) -> tuple[str, str]:
    """What the tests say of a fault: died, survived, survived in the time, not reached; and which
    test, or how many."""
    able = [test for test in tests if number < len(test.reached) and test.reached[number]]
    if not able:
        return "not reached", ""
    own = room.split("/")[-1] + "."
    # Those of the room first; each program's fast ones before the slow ones.
    able.sort(key=lambda t: (not t.name.startswith(own), t.seconds > 1, t.command[0], t.seconds))
    spent = 0.0
    for batch in batches(able):
        if limit and spent > limit:
            return "survived in the time", f"{len(able)} tests reach it"
        normal = sum(test.seconds for test in batch)
        command = list(batch[0].command)
        if len(batch) > 1:
            command = [word for word in command if not word.startswith("--gtest_filter=")]
            command += ["--gtest_filter=" + ":".join(str(t.case()) for t in batch),
                        "--gtest_fail_fast"]
        begin = time.monotonic()
        status = run(command, batch[0].folder,
                     {**batch[0].environment, "LOCKWARP_MUTANT": str(number)}, 10 + 4 * normal)
        spent += time.monotonic() - begin
        if not passes(batch[0], status):
            return "died", ("no end" if status is None else batch[0].name)
    return "survived", f"{len(able)} tests reach it"
