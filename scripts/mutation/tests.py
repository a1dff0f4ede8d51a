# SPDX-License-Identifier: Apache-2.0
"""The tests of the build with faults: which faults each reaches, and whether it notices one."""

import functools
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from build import BUILD, PLACE

LEFT_OUT = {"gpu", "long", "browser", "nvcc"}  # labels
MEMORY = 5 << 30  # bytes that a test may ask for
BATCH = 20.0  # seconds of tests that one process runs
SLOWEST = 60.0  # seconds that a test may take
MEASURED = PLACE / "measured.json"


@dataclass
class Test:
    name: str
    command: list[str]
    folder: str
    environment: dict[str, str]
    skips: int = 77
    will_fail: bool = False
    needs: str = ""  # words that its output has
    seconds: float = 0  # of processors
    reached: frozenset = frozenset()

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
                          about.get("SKIP_RETURN_CODE", 77), about.get("WILL_FAIL", False),
                          "\n".join(about.get("PASS_REGULAR_EXPRESSION", []))))
    return tests


@dataclass
class Ran:
    status: int | None  # None: not within the time
    seconds: float  # of processors
    output: str


def used_by(session: int) -> float:
    """Seconds of processors that its processes have used."""
    ticks = 0
    for about in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = about.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def end_what_waits(session: int, seconds: float, over: threading.Event) -> None:
    """Ends processes that do nothing for so long. Those that the machine's other work keeps from
    their own go on: the limit of their processor time ends them."""
    used = 0.0
    while not over.wait(seconds):
        now = used_by(session)
        if now < used + 0.1:
            os.killpg(session, signal.SIGKILL)
            return
        used = now


class Runner:
    """Runs tests, each in a folder of its own for what is temporary; can be told to stop."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.stopped = False

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            for process in self.running:
                os.killpg(process, signal.SIGKILL)

    def run(self, test: Test, command: list[str], environment: dict[str, str],
            seconds: float, of_processors: float) -> Ran:
        temporary = tempfile.mkdtemp(prefix="lockwarp-mutate-")
        every = {**os.environ, "TMPDIR": temporary, **test.environment, **environment}

        def limits() -> None:
            processors = int(of_processors) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (processors, processors))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with tempfile.TemporaryFile() as output:
            with self.lock:
                if self.stopped:
                    raise KeyboardInterrupt
                process = subprocess.Popen(command, cwd=test.folder, env=every,
                                           stdin=subprocess.DEVNULL, stdout=output,
                                           stderr=subprocess.STDOUT, start_new_session=True,
                                           preexec_fn=limits)
                self.running.add(process.pid)
            over = threading.Event()
            watch = threading.Thread(target=end_what_waits, args=(process.pid, seconds, over))
            watch.start()
            try:
                # Waits without taking it away, so that its number stays its own.
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            finally:
                with self.lock:
                    self.running.discard(process.pid)
                    os.killpg(process.pid, signal.SIGKILL)
                over.set()
                watch.join()
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                shutil.rmtree(temporary, ignore_errors=True)
            if self.stopped:
                raise KeyboardInterrupt
            size = output.seek(0, os.SEEK_END)
            output.seek(max(0, size - (1 << 20)))
            text = output.read().decode(errors="replace")
        ended = process.returncode not in (-signal.SIGKILL, -signal.SIGXCPU)
        return Ran(process.returncode if ended else None, used.ru_utime + used.ru_stime, text)


def passes(test: Test, ran: Ran) -> bool:
    if ran.status is None:
        return False
    if test.needs:
        return re.search(test.needs, ran.output) is not None
    return (ran.status != 0) if test.will_fail else ran.status in (0, test.skips)


@functools.lru_cache(maxsize=None)
def digest_of(program: Path) -> str:
    if not program.exists():
        return ""
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def stamp(test: Test, faults: str) -> list:
    """Changes where a measurement is of no use any more."""
    return [faults, test.command, digest_of(Path(test.command[0])), digest_of(BUILD / "lockwarp")]


def measure(runner: Runner, tests: list[Test], numbers: int, faults: str, jobs: int) -> list[Test]:
    """Runs each without a fault; those that pass, with what they reach. What an earlier run has
    measured of the same build is taken over."""
    known = json.loads(MEASURED.read_text()) if MEASURED.is_file() else {}
    folder = PLACE / "reached"
    folder.mkdir(exist_ok=True)
    lock = threading.Lock()
    written = time.monotonic()

    def save() -> None:
        new = MEASURED.with_suffix(".new")
        new.write_text(json.dumps(known))
        new.replace(MEASURED)

    def one(at: int) -> bool:
        nonlocal written
        test, seen = tests[at], folder / f"{at}"
        now = stamp(test, faults)
        entry = known.get(test.name)
        if entry is None or entry["stamp"] != now:
            seen.write_bytes(bytes(numbers))
            ran = runner.run(test, test.command, {"LOCKWARP_MUTANT_SEEN": str(seen)},
                             20 * SLOWEST, SLOWEST)
            reached = [at.start() for at in re.finditer(rb"[^\0]", seen.read_bytes())]
            seen.unlink()
            entry = {"stamp": now, "seconds": ran.seconds, "reached": reached,
                     "good": passes(test, ran) and ran.status != test.skips}
            with lock:
                known[test.name] = entry
                if time.monotonic() > written + 30:
                    save()
                    written = time.monotonic()
        test.seconds = entry["seconds"]
        test.reached = frozenset(entry["reached"])
        return entry["good"]

    pool = ThreadPoolExecutor(jobs)
    try:
        good = list(pool.map(one, range(len(tests))))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        save()
    for test, is_good in zip(tests, good):
        if not is_good:
            print(f"mutate: not asked, it does not pass here without a fault: {test.name}",
                  flush=True)
    return [test for test, is_good in zip(tests, good) if is_good]


def batches(tests: list[Test]):
    """Tests in their order, those of one program that follow each other as one run; short ones
    first, as most faults are noticed at once."""
    batch: list[Test] = []
    most = 1.0
    for test in tests:
        joins = batch and test.case() and batch[0].case() and \
            batch[0].command[0] == test.command[0] and \
            batch[0].environment == test.environment and batch[0].folder == test.folder and \
            sum(t.seconds for t in batch) + test.seconds <= most and len(batch) < 200
        if batch and not joins:
            yield batch
            batch = []
            most = min(2 * most, BATCH)
        batch.append(test)
    if batch:
        yield batch


def noticed_by(batch: list[Test], ran: Ran) -> str:
    """The test that failed, or, where the program ended with it, the one that was running."""
    for words in (r"\[  FAILED  \] (\S+?)(?:,| \()", r"\[ RUN      \] (\S+)"):
        if batch[0].case() and (found := re.findall(words, ran.output)):
            name = found[0] if "FAILED" in words else found[-1]
            return next((t.name for t in batch if t.case() == name), name)
    return batch[0].name


def ask(runner: Runner, tests: list[Test], number: int, room: str,
        limit: float) -> tuple[str, str]:
    """What the tests say of a fault: died, survived, survived in the time, not reached; and which
    test, or how many."""
    able = [test for test in tests if number in test.reached]
    if not able:
        return "not reached", ""
    answer, by = ask_these(runner, able, number, room, limit)
    return answer, by or f"{len(able)} tests reach it"


def ask_these(runner: Runner, tests: list[Test], number: int, room: str,
              limit: float) -> tuple[str, str]:
    """As ask(), of all the tests."""
    able = list(tests)
    own = room.split("/")[-1] + "."
    # Those of the room first; each program's fast ones before the slow ones.
    able.sort(key=lambda t: (not t.name.startswith(own), t.seconds > 1, t.command[0], t.seconds))
    spent = 0.0
    for batch in batches(able):
        if limit and spent > limit:
            return "survived in the time", ""
        normal = sum(test.seconds for test in batch)
        command = list(batch[0].command)
        if len(batch) > 1:
            command = [word for word in command if not word.startswith("--gtest_filter=")]
            command += ["--gtest_filter=" + ":".join(str(t.case()) for t in batch),
                        "--gtest_fail_fast"]
        ran = runner.run(batch[0], command, {"LOCKWARP_MUTANT": str(number)}, 60 + 20 * normal,
                         5 + 4 * normal)
        spent += ran.seconds
        if not passes(batch[0], ran):
            return "died", noticed_by(batch, ran) + (" (no end)" if ran.status is None else "")
    return "survived", ""
