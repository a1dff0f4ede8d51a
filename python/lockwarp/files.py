# SPDX-License-Identifier: Apache-2.0
"""Launch files and recordings."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from .errors import Error
from .module import Check, Checked, Result, Stats, checked_of, escaped, is_late, result_of


@dataclass(frozen=True)
class Expected:
    """What a launch file expects of a buffer, and whether it was there."""

    held: bool
    text: str  #: "D: 128 values as expected"; else the worst value


@dataclass(frozen=True)
class Launched:
    """One launch of a launch file."""

    entry: str
    arch: str
    result: Result
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Run:
    """What a launch file's run left."""

    path: str
    outputs: dict[str, np.ndarray[Any, Any]] = field(repr=False)
    """By name, the buffers and variables that the file names as outputs: uint8 arrays of their own,
    to be viewed as what they hold: ``outputs["D"].view(np.float16).reshape(16, 8)``."""
    buffers: dict[str, np.ndarray[Any, Any]] = field(repr=False)  #: all buffers, likewise
    launches: tuple[Launched, ...]
    expectations: tuple[Expected, ...]

    @property
    def ok(self) -> bool:
        """Whether it expects something, and all of that was there."""
        return bool(self.expectations) and all(e.held for e in self.expectations)

    @property
    def stats(self) -> Stats:
        """Of all launches together."""
        return Stats(*(sum(getattr(r.result.stats, name) for r in self.launches)
                       for name in Stats.__dataclass_fields__))

    @property
    def printf(self) -> str:
        """All that was printed."""
        return "".join(r.result.printf for r in self.launches)

    def __str__(self) -> str:
        lines = [f"done: {r.entry} on {r.arch}, {r.result.stats.ctas:,} CTA"
                 f"{'' if r.result.stats.ctas == 1 else 's'}, "
                 f"{r.result.stats.instructions:,} instructions\n" for r in self.launches]
        return "".join(lines) + "".join(c.text for r in self.launches for c in r.checks) \
            + "".join(e.text for e in self.expectations)

    def _repr_html_(self) -> str:
        return f"<pre>{escaped(str(self))}</pre>"


def run(path: str | os.PathLike[str], *, arch: str = "", checks: str = "", threads: int = 0,
        max_steps: int | None = None, schedule: str = "early") -> Run:
    """Runs a launch file ("lockwarp-launch/1"), all of its launches one after another.

    ``checks``: those of ``lockwarp run --check`` to look for, by name or "all". ``schedule``: as of
    :meth:`lockwarp.Launcher.__call__`; the checks are of the early one. Raises
    :class:`lockwarp.Trap` where a launch faults and :class:`lockwarp.Error` where something is
    wrong with the file; an expectation that does not hold is no error: see :attr:`Run.ok`.
    """
    outputs, buffers, launches, expectations = _core.run(os.fspath(path), arch, checks, threads,
                                                         max_steps or 0, is_late(schedule))

    def arrays(named: dict[str, bytes]) -> dict[str, np.ndarray[Any, Any]]:
        return {name: np.frombuffer(bytearray(b), np.uint8) for name, b in named.items()}

    done = []
    for entry, machine, outcome in launches:
        found: Checked = checked_of(outcome, "raise")
        done.append(Launched(entry, machine, result_of(outcome), found.checks))
    return Run(os.fspath(path), arrays(outputs), arrays(buffers), tuple(done),
               tuple(Expected(held, text) for held, text in expectations))


@dataclass(frozen=True)
class Comparison:
    """The emulator beside a GPU, register by register."""

    name: str
    verdict: str  #: "identical", "differs", or "failed": could not be compared
    text: str = field(repr=False)  #: the first difference, as the program prints it
    file: str  #: the PTX of the first difference; "" where there is none
    line: int  #: in it
    instruction: str  #: its spelling
    values: int  #: registers compared, lane by lane
    different: int
    memory_bytes: int  #: compared
    memory_different: int
    masked: int  #: values not compared: the manual leaves them undefined
    unwritten: int  #: not compared: of what nothing wrote
    taken: int  #: not compared: inexact, or of order or place
    device: str  #: "NVIDIA H200, sm_90, driver 580.159.04, 1980 MHz"
    compiler: str  #: what NVIDIA's compiler does that accounts for a difference; ""

    @property
    def identical(self) -> bool:
        """Whether something was compared, and all of it was equal."""
        return self.verdict == "identical"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escaped(self.text)}</pre>"


def comparison_of(d: dict[str, Any]) -> Comparison:
    """What the core gave, as a Comparison."""
    return Comparison(**{name: d[name] for name in Comparison.__dataclass_fields__})


@dataclass(frozen=True)
class Replay:
    """Recordings beside the emulator."""

    results: tuple[Comparison, ...]

    @property
    def identical(self) -> bool:
        """Whether all were compared, and all were equal."""
        return bool(self.results) and all(r.identical for r in self.results)

    @property
    def values(self) -> int:
        """Registers compared, lane by lane."""
        return sum(r.values for r in self.results)

    def __str__(self) -> str:
        wrong = [r for r in self.results if not r.identical]
        head = (f"{'identical' if not wrong else 'DIFFERS'}: {len(self.results)} recordings, "
                f"{self.values:,} register values compared, {len(wrong)} not identical\n")
        return head + "".join(f"\n{r.name}:\n{r.text}" for r in wrong)

    def _repr_html_(self) -> str:
        return f"<pre>{escaped(str(self))}</pre>"


def replay(*paths: str | os.PathLike[str], threads: int = 0) -> Replay:
    """Compares the emulator with recordings of GPUs (``lockwarp record``): files, or folders with
    recordings in them and one level below. Needs no GPU.

    Raises :class:`lockwarp.Error` where there is nothing to compare; a recording that cannot be
    read is a result with verdict "failed".
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted([*path.glob("*.lwr"), *path.glob("*/*.lwr")])
        if not inside:
            raise Error(f"{path}: no recordings (*.lwr) in it")
        found += inside
    if not found:
        raise Error("replay: name a recording, or a folder of them")
    return Replay(tuple(comparison_of(_core.replay(str(p), threads)) for p in found))
