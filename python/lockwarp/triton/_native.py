# SPDX-License-Identifier: Apache-2.0
"""What the driver asks of the engine: load a kernel's PTX, run it, say what it found."""

from __future__ import annotations

import dataclasses
import functools
import json
import re

import lockwarp
from lockwarp import _core
from lockwarp.module import checked_of, result_of


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that a check found in a launch."""

    check: str  #: its name, as ``lockwarp run --check`` has it
    kind: str  #: of the check: "read-after-write"
    is_fault: bool  #: a program in which it finds something is wrong
    what: str  #: a clause: "reads what line 18 copies"
    place: str  #: CTA, warp, lane and the like; may be ""
    hint: str  #: may be ""
    count: int  #: how often, in the launch
    kernel: str
    file: str | None  #: of the Python source
    line: int | None
    other_file: str | None  #: of the other side, where there is one: of the access before
    other_line: int | None
    ptx_line: int  #: 0: of no line

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.file else f"PTX line {self.ptx_line}"
        text = f"{where}: {self.kernel}: {self.what}"
        return text + (f" ({self.place})" if self.place else "")


_ASSEMBLY = re.compile(rb"// begin inline asm\n.*?// end inline asm\n", re.DOTALL)
_LOC = re.compile(rb"^\s*\.loc\s.*$", re.MULTILINE)


def with_places(ptx: bytes) -> bytes:
    """The PTX with the Python lines that its instructions come from.

    Newer LLVM counts lines within inlined assembly, which Triton's loads and stores are: the second
    line of it gets the line after the Python one. What stands before it holds for all of it. Lines
    of the PTX stay what they are."""
    return _ASSEMBLY.sub(lambda asm: _LOC.sub(b"", asm.group()), ptx)


_NON_PORTABLE = True  # Triton's launcher allows clusters of 16


@functools.lru_cache(maxsize=None)
def kernel_of(ptx: bytes, name: str, arch: str) -> lockwarp.Kernel:
    """The kernel of a PTX text; the same one each time. Raises lockwarp.Error where it cannot run."""
    return lockwarp.Module(ptx, arch=arch, name=f"{name}.ptx").kernel(name)


def _finding(check: str, f: lockwarp.Finding, kernel: str) -> Finding:
    here = f.places[0] if f.places else None
    there = f.other.places[0] if f.other and f.other.places else None
    what = f.what
    if f.other and there:  # the clause names a line of the PTX
        where = "" if here and here.file == there.file else f"{there.file}:"
        what = re.sub(rf"\bline {f.other.line}\b", f"line {where}{there.line}", what)
    return Finding(check, f.kind, f.is_fault, what, f.place, f.hint, f.count, kernel,
                   here.file if here else None, here.line if here else None,
                   there.file if there else None, there.line if there else None, f.line)


def run(kernel, grid, block, shared, parameters, memory, cooperative=False, checks="",
        undefined=(), shapes=(), late=False, cluster=(0, 0, 0)):
    """Runs it in place: (Result, [Finding]). The trap, if any, is the result's.

    checks: "", "all" or names with commas. undefined: (address, bytes) that nobody gave a value;
    shapes: as arrays.rows_of gives them. late: asynchronous instructions do their work where
    somebody waits for them.
    """
    request = (grid, block, shared, parameters, memory, 0, 0, cooperative, cluster, late,
               _NON_PORTABLE)
    outcome = kernel._core.launch(request, checks, list(undefined), list(shapes))
    if not checks:
        return result_of(outcome, "return"), []
    checked = checked_of(outcome, "return")
    found = [_finding(c.name, f, kernel.name) for c in checked.checks for f in c.findings]
    return checked.result, found


def milliseconds(kernel, grid, block, shared, parameters, memory, pointers, waits,
                 cluster=(0, 0, 0)) -> float | None:
    """By the model of cycles, on copies of the memory; None where it has no such machine or the
    kernel faults. pointers: (byte of the parameters, address), which the model puts where a GPU's
    driver would; empty: memory stays where it is. waits: CTAs may wait for each other."""
    request = (grid, block, shared, parameters, memory, 0, 0, False, cluster, False, _NON_PORTABLE)
    try:
        fault, _, data = _core.time(kernel._core, request, pointers, "", waits, 0)
    except lockwarp.Error:
        return None
    return None if fault is not None else json.loads(data)["microseconds"] / 1000.0
