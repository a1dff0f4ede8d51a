# SPDX-License-Identifier: Apache-2.0
"""For tests: bits compared as bits, and a plugin for pytest.

The plugin comes with the package: ``pytest --lockwarp-arch sm_80,sm_90`` runs each test that takes
the fixture ``lockwarp_arch`` once for each architecture; without the option on sm_90.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from . import _core, lanes, types
from .answers import explain
from .arrays import as_numpy
from .errors import ArgumentError, Error
from .matrix import mma

DEFAULT_ARCH = "sm_90"

_PTX = {row.dtype: row.ptx for row in reversed(types.ROWS) if row.ptx not in ("tf32", "ue4m3")}


def _bits(x: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    size = x.dtype.itemsize
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    if size not in (1, 2, 4, 8) or x.dtype.hasobject:
        raise ArgumentError(f"{name} is {x.dtype.name}, whose bits cannot be compared")
    out = np.ascontiguousarray(x).view(f"u{size}")
    row = next((r for r in types.ROWS if r.dtype == x.dtype.name), None)
    return out if row is None or row.bits in (1, 8 * size) else out & ((1 << row.bits) - 1)


def _value(x: np.ndarray[Any, Any], bits: np.ndarray[Any, Any], at: tuple[int, ...]) -> str:
    return f"0x{int(bits[at]):0{2 * bits.dtype.itemsize}x} ({x[at]})"


def _instruction_of(d: np.ndarray[Any, Any], a: Any, b: Any) -> str | None:
    """The one mma that has matrices of these sizes and types; None: there is none, or several."""
    if a is None or b is None:
        return None
    a, b = as_numpy(a, "a"), as_numpy(b, "b")
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        return None
    names = [_PTX.get(x.dtype.name) for x in (d, a, b)]
    shape = f"m{a.shape[-2]}n{b.shape[-1]}k{a.shape[-1]}"
    if d.shape[-2:] != (a.shape[-2], b.shape[-1]):
        return None
    for ab in ((names[1], names[2]), ("tf32", "tf32")):
        key = f"mma.{shape}.{names[0]}.{ab[0]}.{ab[1]}.{names[0]}"
        if (ab != ("tf32", "tf32") or names[1] == names[2] == "f32") and key in _keys():
            return key
    return None


def _keys() -> set[str]:
    if not hasattr(_keys, "all"):
        _keys.all = set(_core.instructions(""))  # type: ignore[attr-defined]
    return _keys.all  # type: ignore[attr-defined]


def assert_same_bits(x: Any, y: Any, a: Any = None, b: Any = None, c: Any = None, *,
                     instruction: str | None = None, operand: str = "D", arch: str = "") -> None:
    """Asserts that two results have the same bits: no tolerance, NaN by its payload, -0 apart from
    +0. A comparison of no elements fails.

    ``x`` and ``y`` are arrays of one shape and dtype, or the names of instructions
    (``"m16n8k16.f32.f16@sm_80"``), which stand for what they make of ``a``, ``b`` and ``c`` on
    ``arch``. The AssertionError counts the wrong elements and shows the first: its index, both
    sides as bits and as values, and the lane and register that hold it as ``operand`` of
    ``instruction``. Without a name that is the instruction of x or y, or the mma that multiplies
    matrices of the sizes and types of ``a`` and ``b``. With ``a`` and ``b`` it also shows what the
    first term-by-term sum loses.
    """
    sides = []
    for side in (x, y):
        if isinstance(side, str):
            if a is None or b is None:
                raise ArgumentError(f"{side}: of what a and b?")
            instruction = instruction or side
            own = "" if "@" in side else arch
            sides.append(mma(side, a, b, c, arch=own))
        else:
            sides.append(as_numpy(side, "x" if side is x else "y"))
    p, q = sides
    if p.shape != q.shape:
        raise AssertionError(f"x is {p.shape}, y is {q.shape}")
    if p.dtype != q.dtype:
        raise AssertionError(f"x is {p.dtype.name}, y is {q.dtype.name}: their bits say nothing "
                             "of each other")
    if p.size == 0:
        raise AssertionError("no elements: nothing was compared")
    pb, qb = np.atleast_1d(_bits(p, "x")), np.atleast_1d(_bits(q, "y"))
    p, q = np.atleast_1d(p), np.atleast_1d(q)
    wrong = pb != qb
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    text = (f"{count:,} of {p.size:,} elements differ; the first is "
            f"[{']['.join(map(str, at))}]: {_value(p, pb, at)} and {_value(q, qb, at)}")
    name = instruction or _instruction_of(p, a, b)
    raise AssertionError(text + _places(name, operand, at, p.shape, arch)
                         + _sum(name, at, a, b, c, arch))


def _places(name: str | None, operand: str, at: tuple[int, ...], shape: tuple[int, ...],
            arch: str) -> str:
    if name is None or len(at) < 2:
        return ""
    try:
        layout = lanes.layout(name, operand, "" if "@" in name else arch)
    except Error as error:
        return f"\n  {error}"
    if shape[-2:] != layout.shape:
        return f"\n  {operand} of {layout.instruction} is {layout.shape}"
    owners = layout.owners(*at[-2:])
    letter = operand.lower()
    return "".join(
        f"\n  {operand}[{at[-2]}][{at[-1]}] = {letter}{o.value} = {operand}.r{o.register}"
        + (f"[{o.high}:{o.low}]" if o.high - o.low + 1 < layout.register_bits else "")
        + f" @ lane {o.lane}  of {layout.instruction}" for o in owners)


def _sum(name: str | None, at: tuple[int, ...], a: Any, b: Any, c: Any, arch: str) -> str:
    if name is None or a is None or b is None or len(at) < 2:
        return ""
    batch, (row, column) = at[:-2], at[-2:]

    def one(m: Any) -> Any:
        m = as_numpy(m, "m")
        return m[batch] if m.ndim == len(batch) + 2 else m

    try:
        own = arch or (name.rpartition("@")[2] if "@" in name else "")
        answer = explain(name.partition("@")[0], row, column, a=one(a)[row], b=one(b)[:, column],
                         c=[0.0] if c is None else one(c)[row, column].reshape(1), arch=own)
    except (Error, IndexError):
        return ""
    return "\n" + re.sub(r"^", "  ", answer.text.rstrip("\n"), flags=re.M)


# ---- pytest ----

def pytest_addoption(parser: Any) -> None:
    """--lockwarp-arch"""
    parser.getgroup("lockwarp").addoption(
        "--lockwarp-arch", default=DEFAULT_ARCH, metavar="ARCHS",
        help="architectures that tests with the fixture lockwarp_arch run on, with commas, or all "
             f"(default: {DEFAULT_ARCH})")


def pytest_generate_tests(metafunc: Any) -> None:
    """A test for each architecture."""
    if "lockwarp_arch" not in metafunc.fixturenames:
        return
    known = [name for name, _ in _core.archs()]
    text = metafunc.config.getoption("--lockwarp-arch")
    names = known if text == "all" else [n for n in text.split(",") if n]
    for name in names:
        if name not in known:
            import pytest

            raise pytest.UsageError(f"--lockwarp-arch {text}: no architecture '{name}'; there are "
                                    + " ".join(known))
    metafunc.parametrize("lockwarp_arch", names, scope="session")
