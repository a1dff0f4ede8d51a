# SPDX-License-Identifier: Apache-2.0
"""PTX's types as numpy's: one row each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .errors import ArgumentError


class TypeRow(NamedTuple):
    """A PTX type and the dtype whose arrays hold its values, one in each element."""

    ptx: str  #: without the dot
    dtype: str  #: of numpy or, where `extra`, of ml_dtypes
    bits: int
    bytes: int  #: of an array's element
    extra: bool = False


ROWS = (
    TypeRow("b1", "bool", 1, 1),
    TypeRow("u4", "uint4", 4, 1, True),
    TypeRow("s4", "int4", 4, 1, True),
    TypeRow("u8", "uint8", 8, 1),
    TypeRow("s8", "int8", 8, 1),
    TypeRow("s32", "int32", 32, 4),
    TypeRow("f16", "float16", 16, 2),
    TypeRow("bf16", "bfloat16", 16, 2, True),
    TypeRow("tf32", "float32", 32, 4),
    TypeRow("f32", "float32", 32, 4),
    TypeRow("f64", "float64", 64, 8),
    TypeRow("e4m3", "float8_e4m3fn", 8, 1, True),
    TypeRow("e5m2", "float8_e5m2", 8, 1, True),
    TypeRow("e3m2", "float6_e3m2fn", 6, 1, True),
    TypeRow("e2m3", "float6_e2m3fn", 6, 1, True),
    TypeRow("e2m1", "float4_e2m1fn", 4, 1, True),
    TypeRow("ue8m0", "float8_e8m0fnu", 8, 1, True),
    TypeRow("ue4m3", "float8_e4m3fn", 8, 1, True),
)
_BY_NAME = {row.ptx: row for row in ROWS}


def row(ptx: str) -> TypeRow:
    """The row of a PTX type by its name without the dot."""
    return _BY_NAME[ptx]


def dtype_of(ptx: str) -> np.dtype[Any]:
    """The dtype of a PTX type; of those that need ml_dtypes an error where it is not installed."""
    r = row(ptx)
    if not r.extra:
        return np.dtype(r.dtype)
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentError(f".{ptx} arrays need ml_dtypes: pip install ml_dtypes "
                            f"(or give the bits as {bits_dtype(ptx)})") from None
    if not hasattr(ml_dtypes, r.dtype):
        raise ArgumentError(f".{ptx} arrays need a newer ml_dtypes, with {r.dtype}")
    return np.dtype(getattr(ml_dtypes, r.dtype))


def bits_dtype(ptx: str) -> np.dtype[Any]:
    """The unsigned integer whose arrays hold a type's bits, in the low end of each element."""
    return np.dtype(f"uint{8 * row(ptx).bytes}")


def is_extra(dtype: np.dtype[Any]) -> bool:
    """Whether it is one of ml_dtypes'."""
    return dtype.type.__module__.startswith("ml_dtypes")


def bits_of(array: np.ndarray[Any, Any], ptx: str, name: str) -> np.ndarray[Any, Any]:
    """The bits of an array's elements: contiguous, as unsigned integers.

    The array has the type's own dtype, or the bits as unsigned integers of that size.
    """
    bits = bits_dtype(ptx)
    r = row(ptx)
    given = array.dtype
    if not given.isnative:  # dtype's name says nothing of it
        raise ArgumentError(f"{name} is {given.name} of the other byte order: convert it with "
                            ".astype")
    own = given.name == r.dtype
    raw = given == bits and r.dtype != bits.name
    if not own and not raw:
        raise ArgumentError(f"{name} is {given.name}; .{ptx} is {r.dtype} (or its bits as "
                            f"{bits.name}): convert it with .astype")
    out = np.ascontiguousarray(array).view(bits)
    if raw and r.bits < 8 * r.bytes and out.size and int(out.max()) >> r.bits:
        raise ArgumentError(f"{name}: {int(out.max()):#x} has more than the {r.bits} bits of "
                            f".{ptx}")
    return out


def from_bits(array: np.ndarray[Any, Any], ptx: str) -> np.ndarray[Any, Any]:
    """The values of bits: the same memory as the type's dtype (bits where ml_dtypes is missing)."""
    try:
        return array.view(dtype_of(ptx))
    except ArgumentError:
        return array
