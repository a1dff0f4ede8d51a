# SPDX-License-Identifier: Apache-2.0
"""What goes wrong: every exception of the package is an :class:`Error`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from .module import Result

Error = _core.Error
Error.__doc__ = "What is wrong with a module, a launch or a question, in the program's sentence."

NoGpu = _core.NoGpu
NoGpu.__doc__ = "There is no GPU on this machine. An Error; the program's exit status is 77 then."


class ArgumentError(Error, TypeError, ValueError):
    """An argument that does not fit: its type, shape, range or place in memory."""


MAX_THREADS = 1024


def whole(value: Any, name: str, low: int, high: int) -> int:
    """A whole number in a range; an ArgumentError where it is none."""
    try:
        number = value.__index__()
    except AttributeError:
        number = low - 1
    if not low <= number <= high:
        raise ArgumentError(f"{name} {value!r}: a whole number from {low} to {high}")
    return int(number)


@dataclass(frozen=True)
class SourcePlace:
    """A place in the source that the PTX was made from (CUDA C++, Python)."""

    file: str
    line: int  #: from 1; 0: made by the compiler
    column: int  #: from 1; 0: not known
    function: str  #: that was inlined here, mangled; "": the kernel itself

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


class Trap(Error):
    """A program's own fault, with its place. ``str()`` is what ``lockwarp run`` prints.

    A machine stops the whole grid; memory holds what was stored until then.
    """

    text: str  #: several lines, the first of which says what it is and where
    kind: str  #: "out_of_bounds", "misaligned", "wrong_space", "read_only", "diverged",
    #: "bad_mask", "deadlock", "stack", "step_limit", "trap", "breakpoint", "stopped" or "illegal"
    detail: str  #: a sentence without the place; may be ""
    entry: str  #: the kernel
    line: int  #: of the PTX, from 1
    places: tuple[SourcePlace, ...]  #: in the source, innermost first; () where nothing is known
    source_file: str | None  #: of places[0]
    source_line: int | None
    cta: tuple[int, int, int]  #: %ctaid
    warp: int  #: of the CTA
    lane: int | None  #: 0 to 31
    step: int  #: instructions that the warp had retired
    address: int | None
    space: str | None  #: of the address: "global", "shared", ...
    result: Result  #: what the launch did until then

    def __init__(self, fields: dict[str, Any]):
        super().__init__(fields["text"].rstrip("\n"))
        self._fields = fields
        for name in ("text", "kind", "detail", "entry", "line", "cta", "warp", "lane", "step",
                     "address", "space"):
            setattr(self, name, fields[name])
        self.places = tuple(SourcePlace(*p) for p in fields["places"])
        first = self.places[0] if self.places else None
        self.source_file = first.file if first else None
        self.source_line = first.line if first else None

    def __reduce__(self) -> Any:
        return Trap, (self._fields,)
