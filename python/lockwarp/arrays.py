# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library as numpy's, and as the memory that they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from .errors import ArgumentError

_HOST = (1, 3, 11, 13)  # DLPack's devices whose memory the host may touch: CPU, pinned, managed


class Memory(NamedTuple):
    """The memory of an array: where its first element is, and all bytes that it reaches."""

    address: int  #: of element [0, 0, ...]
    first: int  #: the lowest byte that an element has
    bytes: int  #: from there to the highest; between them may be bytes of other arrays
    read_only: bool
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()  #: in bytes
    item: int = 1  #: bytes of an element


def rows_of(m: Memory) -> tuple[int, int, list[int], int] | None:
    """(address, bytes of an element, shape, elements from row to row) of an array whose rows lie
    one after another at one distance, what findings name its elements by; None: it is another."""
    shape = [n for n in m.shape]
    if not shape or 0 in shape or not m.item or m.strides[-1] not in (m.item, 0):
        return None
    if m.strides[-1] == 0 and shape[-1] != 1:
        return None
    row = shape[-1] * m.item if len(shape) == 1 else m.strides[-2]
    if row % m.item or row < shape[-1] * m.item:
        return None
    for i in range(len(shape) - 2):
        if m.strides[i] != m.strides[i + 1] * shape[i + 1]:
            return None
    return m.address, m.item, shape, row // m.item


def is_array(x: Any) -> bool:
    """Whether it is memory: numpy's array, or whatever has the array interface or DLPack."""
    return isinstance(x, np.ndarray) or (
        not isinstance(x, np.generic)
        and (hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__")))


def _extent(address: int, shape: tuple[int, ...], strides: tuple[int, ...], item: int
            ) -> tuple[int, int]:
    low = high = 0
    for n, step in zip(shape, strides):
        if n == 0:
            return address, 0
        reach = (n - 1) * step
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return address + low, high - low + item


def _contiguous(shape: tuple[int, ...], item: int) -> tuple[int, ...]:
    out: list[int] = []
    for n in reversed(shape):
        out.insert(0, item)
        item *= n
    return tuple(out)


def memory_of(x: Any, name: str) -> Memory:
    """The memory of an array, which stays the array's own: nothing is copied.

    Of an array that is not contiguous it reaches from its lowest byte to its highest.
    """
    if isinstance(x, np.ndarray) and x.flags.c_contiguous:
        address = x.ctypes.data
        if x.dtype.hasobject:
            raise ArgumentError(f"{name}: an array of Python objects is no memory for a kernel")
        return Memory(address, address, x.nbytes, not x.flags.writeable, x.shape, x.strides,
                      x.itemsize)
    interface = getattr(x, "__array_interface__", None)
    if interface is not None:
        if interface.get("data") is None:
            raise ArgumentError(f"{name}: its array interface has no address")
        address, read_only = interface["data"]
        item = int(interface["typestr"][2:])
        if interface["typestr"][1] == "O":
            raise ArgumentError(f"{name}: an array of Python objects is no memory for a kernel")
        shape = interface["shape"]
        strides = interface.get("strides")
        if strides is None:
            strides = _contiguous(shape, item)
        return Memory(address, *_extent(address, shape, strides, item), read_only, shape, strides,
                      item)
    device = x.__dlpack_device__()
    if device[0] not in _HOST:
        raise ArgumentError(f"{name} is not in the host's memory (DLPack device {device[0]}): "
                            "give a CPU array")
    try:
        try:
            capsule = x.__dlpack__(max_version=(1, 0))  # which says whether it is read-only
        except TypeError:
            capsule = x.__dlpack__()
    except (BufferError, RuntimeError) as error:
        raise ArgumentError(f"{name}: {error}") from error
    address, shape, strides, item, read_only = _core.dlpack(capsule)
    return Memory(address, *_extent(address, shape, strides, item), read_only, shape, strides, item)


def as_numpy(x: Any, name: str) -> np.ndarray[Any, Any]:
    """An array as numpy's, in place where that is possible; lists and numbers become arrays."""
    if isinstance(x, np.ndarray):
        return x
    if type(x).__module__ == "torch":  # DLPack has types of torch that numpy has not
        import torch

        x = x.detach()
        if x.device.type != "cpu":
            raise ArgumentError(f"{name} is on {x.device}: give a CPU tensor")
        other = {torch.bfloat16: (torch.int16, "bfloat16")}
        for torch_name, dtype in (("float8_e4m3fn", "float8_e4m3fn"),
                                  ("float8_e5m2", "float8_e5m2"),
                                  ("float8_e8m0fnu", "float8_e8m0fnu")):
            if hasattr(torch, torch_name):
                other[getattr(torch, torch_name)] = (torch.uint8, dtype)
        if x.dtype in other:
            bits, dtype = other[x.dtype]
            import ml_dtypes

            return x.view(bits).numpy().view(np.dtype(getattr(ml_dtypes, dtype)))
        return x.numpy()
    if is_array(x) and not hasattr(x, "__array__") and hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    return np.asarray(x)
