# SPDX-License-Identifier: Apache-2.0
"""Matrix instructions as functions of whole matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core, types
from .arrays import as_numpy
from .errors import MAX_THREADS, ArgumentError, whole


@lru_cache(maxsize=256)
def _product(name: str, arch: str, satfinite: bool) -> _core.Product:
    return _core.Product(name, arch, satfinite)


def mma(instruction: str, a: ArrayLike, b: ArrayLike, c: ArrayLike | None = None, *,
        e: ArrayLike | None = None, sfa: ArrayLike | None = None, sfb: ArrayLike | None = None,
        arch: str = "", satfinite: bool = False, threads: int = 0) -> np.ndarray[Any, Any]:
    """D = A*B + C as one matrix instruction computes it on an architecture, bit for bit.

    ``instruction`` is the key (``mma.m16n8k16.f32.f16.f16.f32``), any part of it that fits one
    instruction (``m16n8k16.f32.f16``), or CuTe's name; ``mma``, ``mma.sp`` and ``wmma.mma`` are
    products. ``arch`` is ``sm_70`` to ``sm_121``; without it sm_90, or the first that has it.

    Shapes, in elements: ``a`` (..., m, k), ``b`` (..., k, n), ``c`` and the result (..., m, n).
    Leading axes broadcast: each of them is a product of its own. Without ``c`` it is zero. Of a
    sparse instruction ``a`` is (..., m, k/2) and ``e`` (..., m, groups) holds four bits of metadata
    for each group of A's row. Of a block-scaled one ``sfa`` is (..., m, factors) and ``sfb``
    (..., factors, n).

    Types: each array has the dtype of its PTX type (``float16`` for .f16, ``float32`` for .f32 and
    .tf32, ml_dtypes' ``bfloat16``, ``float8_e4m3fn``, ``float6_e3m2fn``, ``float4_e2m1fn``,
    ``int4`` for the others; ``bool`` for .b1), or the same bits as unsigned integers. Nothing is
    converted.

    ``threads`` 0: all cores.

    Of mma.m8n8k4, which makes four products in a warp, this is one of the four.

    Raises :class:`lockwarp.Error` for an instruction that there is none of, or not on ``arch``,
    and :class:`lockwarp.ArgumentError` for arrays that do not fit it.
    """
    threads = whole(threads, "threads", 0, MAX_THREADS)
    product = _product(instruction, arch, satfinite)
    *inputs, output = product.matrices
    named = {"A": a, "B": b, "C": c, "E": e, "SFA": sfa, "SFB": sfb}
    wanted = {m[0] for m in inputs}
    for name, given in named.items():
        if given is not None and name not in wanted:
            raise ArgumentError(f"{product.key} takes no {name.lower()}")
    arrays = []
    for name, ptx, rows, columns, _ in inputs:
        given = named[name]
        if given is None and name == "C":
            arrays.append(np.zeros((rows, columns), types.bits_dtype(ptx)))
            continue
        if given is None:
            raise ArgumentError(f"{product.key} needs {name.lower()}, "
                                f"(..., {rows}, {columns}) of .{ptx}")
        array = as_numpy(given, name.lower())
        if array.shape[-2:] != (rows, columns):
            raise ArgumentError(f"{name.lower()} is {array.shape}; {product.key} takes "
                                f"(..., {rows}, {columns})")
        arrays.append(types.bits_of(array, ptx, name.lower()))
    try:
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    except ValueError:
        shapes = ", ".join(f"{m[0].lower()} {x.shape}" for m, x in zip(inputs, arrays))
        raise ArgumentError(f"leading axes do not broadcast: {shapes}") from None
    count = int(np.prod(batch, dtype=np.int64))
    _, ptx, rows, columns, _ = output
    out = np.empty((*batch, rows, columns), types.bits_dtype(ptx))
    places: list[tuple[int, int]] = []
    kept = []
    for (_, _, m, n, _), x in zip(inputs, arrays):
        if x.ndim > 2 and x.shape[:-2] != batch:
            x = np.ascontiguousarray(np.broadcast_to(x, (*batch, m, n)))
        kept.append(x)
        places.append((_address(x), x.itemsize * m * n if x.ndim > 2 else 0))
    places.append((_address(out), out.itemsize * rows * columns))
    if count:
        product.run(places, count, threads)
    return types.from_bits(out, ptx)


def _address(x: np.ndarray[Any, Any]) -> int:
    return int(x.__array_interface__["data"][0])
