# SPDX-License-Identifier: Apache-2.0
"""lt.check(): what is wrong in the kernels that run inside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import lockwarp
from lockwarp.triton._launch import State
from lockwarp.triton._native import Finding


class CheckFailed(lockwarp.Error):
    """lt.check(raise_faults=True) found faults; .findings has them."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("\n".join(str(f) for f in findings))
        self.findings = findings


class check:  # noqa: N801, it is used as a function
    """Runs every launch inside it under the checks of ``lockwarp run --check``:

    >>> with lt.check() as found:
    ...     kernel[grid](x, y)
    >>> for f in found: print(f)

    Each :class:`Finding` has the file and line of the Python source, and those of the other side of
    a race; all at the same two lines are one, with a count. ``found.faults`` are those of
    a program that is wrong. raise_faults: CheckFailed at the end of the block where there are any.
    Checks may be nested; the innermost gets what is found.
    """

    def __init__(self, raise_faults: bool = False) -> None:
        self.findings: list[Finding] = []
        self._at: dict[tuple[Any, ...], int] = {}  # the index of a check, kind and pair of lines
        self.launches = 0
        self._raise = raise_faults

    def add(self, findings: list[Finding]) -> None:
        self.launches += 1
        for f in findings:
            key = (f.check, f.kind, f.kernel, f.file, f.line or -f.ptx_line, f.other_file,
                   f.other_line, "" if f.file else f.what)
            at = self._at.setdefault(key, len(self.findings))
            if at == len(self.findings):
                self.findings.append(f)
            else:  # other instructions of the same lines, or another launch
                first = self.findings[at]
                self.findings[at] = dataclasses.replace(first, count=first.count + f.count)

    @property
    def faults(self) -> list[Finding]:
        return [f for f in self.findings if f.is_fault]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __str__(self) -> str:
        if not self.launches:
            return "no kernel ran"
        return "\n".join(str(f) for f in self.findings) or f"nothing, in {self.launches} launches"

    def __enter__(self) -> "check":
        from lockwarp.triton import installed

        if installed() is None:
            raise lockwarp.Error("lt.check(): call lt.install() first, kernels do not run on Lockwarp")
        State.checks.append(self)
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        State.checks.remove(self)
        if kind is None and self._raise and self.faults:
            raise CheckFailed(self.faults)
