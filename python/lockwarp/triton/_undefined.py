# SPDX-License-Identifier: Apache-2.0
"""torch.empty: tensors that nobody gave a value.

What torch.empty makes is filled with a mark, and memory that still has the mark when a kernel
begins is undefined to lt.check. So whoever wrote to it, torch, numpy or a kernel, in whole or in
part, through whatever view, need not be followed."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

# A NaN of f16, bf16, f32 and f64, and no likely integer.
_MARK = np.uint32(0x7FF57FFB)
# Words side by side that are no chance: what is alone may be a value.
_LEAST = 2

_MAKERS = ("empty", "empty_like", "empty_strided", "empty_permuted")
_METHODS = ("new_empty", "new_empty_strided")


def _words(address: int, size: int) -> np.ndarray:
    """The whole words of memory there."""
    begin = address + -address % 4
    count = max(0, (address + size - begin) // 4)
    return np.ctypeslib.as_array((ctypes.c_uint32 * count).from_address(begin))


def _mark(tensor) -> None:
    import torch

    from lockwarp.triton._memory import storage_of, where_it_is

    with where_it_is():
        # A bool that is neither 0 nor 1 is no value at all.
        if type(tensor) is not torch.Tensor or tensor.device.type != "cpu" or \
                tensor.dtype == torch.bool or tensor.layout != torch.strided:
            return
        try:
            address, size = storage_of(tensor)
        except (RuntimeError, NotImplementedError):
            return  # a tensor without storage
        if address:
            _words(address, size)[:] = _MARK


def _marking(function):
    @functools.wraps(function)
    def make(*arguments, **options):
        made = function(*arguments, **options)
        if options.get("out") is None:
            _mark(made)
        return made

    return make


def mark_empty(patches) -> None:
    """Lets torch.empty and its like mark what they make."""
    import torch

    for name in _MAKERS:
        if hasattr(torch, name):
            patches.set(torch, name, _marking(getattr(torch, name)))
    for name in _METHODS:
        patches.set(torch.Tensor, name, _marking(getattr(torch.Tensor, name)))


def within(ranges) -> list[tuple[int, int]]:
    """(address, bytes) of the (address, bytes, name) that have the mark."""
    out: list[tuple[int, int]] = []
    for address, size, _ in ranges:
        words = _words(address, size)
        if not words.size:
            continue
        begin = address + -address % 4
        marked = np.concatenate(([False], words == _MARK, [False])).astype(np.int8)
        edges = np.flatnonzero(np.diff(marked))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist()):
            if last - first < _LEAST and last - first != words.size:
                continue
            # The bytes behind the last word belong to what is before them.
            end = begin + 4 * last if last != words.size else address + size
            out.append((begin + 4 * first, end - begin - 4 * first))
    return out
