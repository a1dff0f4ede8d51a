# SPDX-License-Identifier: Apache-2.0
"""The memory that a launch may touch: the storage of the tensors it is given, byte for byte."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from typing import Any

# Pointers of a process's heap and mappings on 64-bit Linux have one of these in bits 40 to 47.
_LOWEST, _HIGHEST = 0x55, 0x7F

_shared: weakref.WeakSet[Any] = weakref.WeakSet()


def where_it_is() -> contextlib.AbstractContextManager[Any]:
    """Within it tensors say where they are, also under install(map_cuda=True)."""
    import torch

    return torch._C.DisableTorchFunction()


def share(*tensors: Any) -> None:
    """Kernels may touch these tensors too, though they are no arguments, for as long as they live."""
    for t in tensors:
        _shared.add(t)


def storage_of(tensor) -> tuple[int, int]:
    """Address and bytes of what the tensor is a view of."""
    storage = getattr(tensor, "untyped_storage", None)
    if storage is not None:
        s = storage()
        return s.data_ptr(), s.nbytes()
    base = getattr(tensor, "base", None)  # triton.reinterpret's wrapper
    if base is not None and hasattr(base, "data_ptr"):
        return storage_of(base)
    count = tensor.numel() if hasattr(tensor, "numel") else None
    size = tensor.element_size() if hasattr(tensor, "element_size") else None
    if count is None or size is None:
        raise TypeError(
            f"{type(tensor).__name__} has data_ptr() but neither untyped_storage() nor numel() and "
            "element_size(): how many bytes of it a kernel may touch is not known"
        )
    return tensor.data_ptr(), count * size


def looks_like_pointer(value: int) -> bool:
    return _LOWEST <= (value >> 40) <= _HIGHEST


def pointers_in(tensor) -> list[tuple[int, int]]:
    """(byte, address) of what looks like pointers in a tensor of 64-bit integers."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, torch.Tensor):
        return []
    if tensor.dtype not in (torch.int64, torch.uint64):
        return []
    if tensor.numel() == 0 or not tensor.is_contiguous():
        return []
    high = tensor.view(torch.int64).reshape(-1) >> 40
    fits = ((high >= _LOWEST) & (high <= _HIGHEST)).nonzero().reshape(-1)
    if fits.numel() == 0:
        return []
    begin = tensor.data_ptr() - storage_of(tensor)[0]
    flat = tensor.view(torch.int64).reshape(-1)
    return [(begin + 8 * i, int(flat[i])) for i in fits.tolist()]


def _living():
    """Every CPU tensor of the process."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    with where_it_is():
        # type() first: isinstance asks proxies for their class, and these may run code.
        found = [o for o in gc.get_objects()
                 if issubclass(type(o), torch.Tensor) and o.device.type == "cpu"]
    yield from found


class Memory:
    """Ranges by address, each with the names of the arguments that have it."""

    def __init__(self) -> None:
        self._ranges: dict[tuple[int, int], list[str]] = {}
        self._wanted: list[int] = []
        self.pointers: list[tuple[int, int, int]] = []  # storage, byte in it, address
        self.arguments: list[tuple[int, int]] = []  # byte of the parameters, address

    def add(self, tensor, name: str) -> None:
        at = storage_of(tensor)
        names = self._ranges.setdefault(at, [])
        if names and at[1] and name not in names:
            names.append(name)
        elif not names:
            names.append(name)
            for byte, address in pointers_in(tensor):
                self.pointers.append((at[0], byte, address))
                self._wanted.append(address)

    def want(self, address: int) -> None:
        """An integer that may be a tensor's address."""
        if looks_like_pointer(address):
            self._wanted.append(address)

    def ranges(self, whole_words: bool = False) -> list[tuple[int, int, str]]:
        """(address, bytes, name), those that overlap made one.

        whole_words: with the words of 4 bytes that their first and last bytes are in. Atomic
        operations on 16 bits are made of those on 32."""
        for t in list(_shared):
            self.add(t, "shared")
        if self._wanted:
            self._find()
        out: list[tuple[int, int, str]] = []
        for (address, size), names in sorted(self._ranges.items()):
            if size == 0:
                continue
            name = ", ".join(names)
            if whole_words:
                size += address % 4
                address -= address % 4
                size += -size % 4
            if out and address < out[-1][0] + out[-1][1]:
                first, length, other = out[-1]
                end = max(first + length, address + size)
                out[-1] = (first, end - first, f"{other}, {name}")
            else:
                out.append((address, size, name))
        return out

    def _find(self) -> None:
        """The tensors that hold the addresses in `_wanted`: Triton kernels may be given tensors of
        pointers."""
        for t in _living():
            try:
                at, size = storage_of(t)
            except (RuntimeError, NotImplementedError):
                continue  # a tensor without storage
            if (at, size) not in self._ranges and any(at <= w < at + size for w in self._wanted):
                self._ranges[(at, size)] = [f"tensor of shape {tuple(t.shape)}"]
        self._wanted.clear()
