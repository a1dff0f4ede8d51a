# SPDX-License-Identifier: Apache-2.0
"""Questions about sums, banks and layouts, answered as the program answers them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core, types
from .arrays import as_numpy
from .errors import ArgumentError


@dataclass(frozen=True)
class Answer:
    """An answer. ``str()`` is what the program prints."""

    line: str  #: the answer in one line
    text: str = field(repr=False)  #: all of it
    html: str = field(repr=False)
    data: Any = field(repr=False)  #: the same as numbers: what ``--json`` writes

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class Sum:
    """What a sum came to on architectures that compute alike."""

    archs: tuple[str, ...]
    bits: int  #: of the result
    value: float
    rule: str  #: how they sum, in words
    sums: tuple[dict[str, Any], ...] = field(repr=False)
    """Each truncated sum of a chain: "terms", each with "k", "value", "kept", "lost", "absorbed"."""

    @property
    def absorbed(self) -> int:
        """Terms that are lost whole."""
        return sum(s.get("absorbed", 0) for s in self.sums)


@dataclass(frozen=True)
class Explanation(Answer):
    """One element's sum, step by step: what each term loses, and where."""

    @property
    def results(self) -> tuple[Sum, ...]:
        """One for each group of architectures that compute alike."""
        return tuple(Sum(tuple(r["archs"]), int(r["result"], 16), float(r["value"]), r["rule"],
                         tuple(r.get("sums", ()))) for r in self.data["results"])


@dataclass(frozen=True)
class Pair:
    """Two instructions, each on an architecture."""

    first: str
    second: str
    verdict: str  #: "same", "differ" or "unknown": no witness was found, and no proof
    witness: dict[str, Any] | None  #: of "differ": "a", "b", "c" as bits, "first" and "second"


@dataclass(frozen=True)
class Equivalence(Answer):
    """Whether two instructions give the same bits; else inputs where they do not."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """One for each architecture that was asked for."""
        return tuple(Pair(p["first"], p["second"], p["verdict"], p.get("witness"))
                     for p in self.data["pairs"])

    @property
    def same(self) -> bool | None:
        """Whether all pairs are the same; None: not known of one, and no other differs."""
        verdicts = {p.verdict for p in self.pairs}
        return False if "differ" in verdicts else None if "unknown" in verdicts else True


@dataclass(frozen=True)
class Banks(Answer):
    """Wavefronts of an access to shared memory, lanes that collide, and what avoids it."""

    @property
    def wavefronts(self) -> int:
        """That the access takes."""
        return int(self.data["wavefronts"])

    @property
    def least(self) -> int:
        """The fewest that an access of this kind takes."""
        return int(self.data["least"])


def _answer(kind: type, given: tuple[str, str, str, str]) -> Any:
    line, text, html, data = given
    return kind(line, text, html, json.loads(data) if data else None)


def _values(given: Any, ptx: str, name: str) -> str:
    """Numbers or an array as the program's option takes them: an array's bits."""
    if given is None:
        return ""
    if isinstance(given, str):
        return given
    if not isinstance(given, np.ndarray) and isinstance(given, Iterable) and \
            not hasattr(given, "__dlpack__"):
        given = list(given)
    array = as_numpy(given, name)
    if array.dtype.kind in "iuf" and array.dtype.name not in (types.row(ptx).dtype,
                                                              types.bits_dtype(ptx).name):
        return ",".join(repr(float(x)) for x in np.ravel(array))
    return ",".join(f"{int(x):#x}" for x in np.ravel(types.bits_of(np.atleast_1d(array), ptx,
                                                                   name)))


def _archs(arch: str | Iterable[str]) -> str:
    return arch if isinstance(arch, str) else ",".join(arch)


def explain(instruction: str, row: int, column: int, *, a: Any = None, b: Any = None,
            c: Any = None, arch: str | Iterable[str] = "", seed: int = 1) -> Explanation:
    """Element (row, column) of D as the architectures sum it, term by term.

    ``a``: k numbers of A's row, or all of A (m, k); ``b``: k numbers of B's column, or all of B
    (k, n); ``c``: the element, or all of C. Arrays of the operand's own dtype are taken bit for
    bit; other numbers become the nearest values. What is not given is random, by ``seed``.
    ``arch``: one, several (a list, or with commas), or "all".

    Raises :class:`lockwarp.Error` for an instruction that cannot be explained.
    """
    from .lanes import instruction as named

    one = _archs(arch)
    operands = named(instruction, one if one != "all" and "," not in one else "").operands
    a_text, b_text, c_text = (_values(x, operands[name].type, name.lower())
                              for name, x in (("A", a), ("B", b), ("C", c)))
    if row < 0 or column < 0:
        raise ArgumentError(f"D[{row}][{column}] is outside")
    return _answer(Explanation, _core.explain(instruction, row, column, one, a_text, b_text,
                                         c_text, seed))


def equiv(x: str, y: str, *, arch: str | Iterable[str] = "", tries: int = 100_000) -> Equivalence:
    """Whether two instructions (``INSN`` or ``INSN@ARCH``) give the same bits for every input,
    where the one of smaller k is repeated; else inputs where they do not.

    ``arch``: one, several, or "all"; ``tries``: inputs to look for a witness among.
    """
    return _answer(Equivalence, _core.equiv(x, y, _archs(arch), tries))


def banks(access: str, *, stride: int | None = None, address: str = "", swizzle: str = "",
          unit: int = 1) -> Banks:
    """Wavefronts and bank conflicts of an access to shared memory by a warp.

    ``access``: ``ldmatrix.x4``, ``stmatrix.x2.trans``, ``ld.shared.v4.b32``, ...; ``stride``: bytes
    from one row (of ld and st: lane) to the next, by default as many as an access takes;
    ``address``: an expression of lane and stride, as ``"(lane%16)*stride + lane/16*16"``;
    ``swizzle``: CuTe's Swizzle<B,M,S> of it, as ``"3,4,3"``, whose index counts ``unit`` bytes.
    """
    if stride is not None and not 0 <= stride <= 1 << 20:
        raise ArgumentError(f"a stride of {stride} bytes is none: 0 to {1 << 20}")
    if unit not in (1, 2, 4, 8):
        raise ArgumentError(f"unit {unit}: 1, 2, 4 or 8 bytes")
    return _answer(Banks, _core.banks(access, address, stride, swizzle, unit))


def info(instruction: str, arch: str = "") -> Answer:
    """Shape, types, registers, architectures and what an instruction becomes on each, formulas in
    both directions."""
    return _answer(Answer, _core.info(instruction, arch))


def compat(from_operand: str, to_operand: str, arch: str = "") -> Answer:
    """Whether the registers of one operand may be used as another's: ``"C:m16n8k16.f32.f16"``,
    ``"A:m16n8k16.f32.f16"``."""
    def split(text: str) -> tuple[str, str]:
        operand, colon, name = text.partition(":")
        if not colon or not operand or not name:
            raise ArgumentError("compat takes OPERAND:INSN twice, as in compat "
                                "C:m16n8k16.f32.f16 A:m16n8k16.f32.f16")
        return operand, name

    return _answer(Answer, _core.compat(*split(from_operand), *split(to_operand), arch))
