# SPDX-License-Identifier: Apache-2.0
"""Arguments of a Triton launch to the bytes of the kernel's parameter space."""

from __future__ import annotations

import struct

import lockwarp
from lockwarp import _core
from lockwarp.triton._memory import where_it_is


def _bf16(value: float) -> int:
    # As Triton's launcher: the high half of the f32.
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


def _f32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # C's conversion gives an infinity
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def _f16(value: float) -> bytes:
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", float("inf") if value > 0 else float("-inf"))


_BITS = {f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)}


def bits_of(kind: str, value, size: int) -> bytes:
    """The `size` bytes of a scalar of Triton's type `kind` ("i32", "fp32"; "": by the value)."""
    if kind.startswith(("fp", "bf", "f")) or (kind == "" and isinstance(value, float)):
        value = float(value)
        if size == 8:
            return struct.pack("<d", value)
        if size == 4:
            return _f32(value)
        return struct.pack("<H", _bf16(value)) if kind == "bf16" else _f16(value)
    value = int(value)
    bits = _BITS.get(kind)
    # As a launch on a GPU: C's types take what fits them.
    if bits is not None and not -(1 << bits - 1) <= value < 1 << bits:
        raise OverflowError(f"{value} does not fit {kind}")
    return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


class TensorMap(bytes):
    """The 128 bytes of one, whose address is that of `base`."""

    base = None


def tensor_map(address, swizzle, item, kind, block, shape, strides, padding=0,
               im2col=None) -> TensorMap:
    """As Triton's launcher has the driver make it; the innermost dimension comes last."""
    inner_first = [list(reversed(x)) for x in (shape, strides[:-1], block)]
    dim, stride, box = inner_first
    return TensorMap(_core.tensor_map(kind, address, dim, [item * n for n in stride], box, swizzle,
                                      padding, im2col))


def im2col_map(address, swizzle, item, kind, block, shape, strides, padding, lower, upper,
               element_strides) -> TensorMap:
    pixels, channels = block
    columns = (pixels, channels, *(list(reversed(x)) for x in (lower, upper, element_strides)))
    return tensor_map(address, swizzle, item, kind, (), shape, strides, padding, columns)


def _descriptor(value, driver_module, metadata=None) -> list:
    """What Triton passes for a tensor descriptor: pointers and numbers, where its compiler made it
    into these, else a tensor map and numbers."""
    decompose = getattr(driver_module, "decompose_descriptor", None)
    if decompose is not None and metadata is None:
        return decompose(value)
    make = driver_module.make_tensordesc_arg
    out = list(make(value, metadata) if make.__code__.co_argcount == 2
               else make(value, metadata, None))
    if out and isinstance(out[0], TensorMap):
        out[0].base = value.base
    return out


class Flattener:
    """Of one kernel: which arguments of a call are parameters of its PTX, and of what type."""

    def __init__(self, src, metadata, driver_module) -> None:
        names = list(getattr(getattr(src, "fn", None), "arg_names", []))
        constants = getattr(src, "constants", {}) or {}
        # Of each tensor descriptor of a call, in order: how its tensor map is to be made.
        self._maps = list(getattr(metadata, "tensordesc_meta", None) or [])
        self._driver = driver_module
        self._items = []  # (name, type) of each argument of a call; None: it is no parameter
        for key, kind in src.signature.items():
            name = key if isinstance(key, str) else (names[key] if key < len(names) else f"#{key}")
            # Triton 3.2 and before: constants that were not declared so are in the signature.
            constant = key in constants or (isinstance(key, int) and (key,) in constants)
            self._items.append((name, "constexpr" if constant else kind))

    def flat(self, arguments) -> list[tuple[str, str, object]]:
        """(name, type, value) of each parameter; type "map" and "" for parts of a tensor
        descriptor."""
        if len(arguments) != len(self._items):
            raise lockwarp.Error(
                f"the launch has {len(arguments)} arguments, the kernel {len(self._items)}"
            )
        out: list[tuple[str, str, object]] = []
        maps = iter(self._maps)
        for (name, kind), value in zip(self._items, arguments):
            self._add(name, kind, value, maps, out)
        return out

    def _add(self, name, kind, value, maps, out) -> None:
        if isinstance(kind, tuple):
            for i, (k, v) in enumerate(zip(kind, value)):
                self._add(f"{name}[{i}]", k, v, maps, out)
        elif kind == "constexpr":
            return
        elif kind.startswith("nvTmaDesc"):
            raise lockwarp.Error(
                f"argument {name}: a tensor map that the program makes itself, as Triton before 3.4 "
                "has them. A TensorDescriptor runs.")
        elif kind.startswith("tensordesc"):
            for v in _descriptor(value, self._driver, next(maps, None)):
                part = "map" if isinstance(v, TensorMap) else "*" if hasattr(v, "data_ptr") else ""
                out.append((name, part, v))
        else:
            out.append((name, kind, value))


def pack(flat, layout, memory, scratch=()) -> bytes:
    """The parameter space.

    layout: (size, alignment) of each parameter of the PTX. memory: gets the tensors' storages.
    scratch: tensors or None for the parameters that Triton adds behind the arguments.
    """
    if len(flat) > len(layout):
        raise lockwarp.Error(
            f"the launch has {len(flat)} arguments, the PTX {len(layout)} parameters"
        )
    out = bytearray()
    extra = list(scratch) + [None] * len(layout)
    for i, (size, alignment) in enumerate(layout):
        out.extend(bytes(-len(out) % alignment))
        name, kind, value = flat[i] if i < len(flat) else ("scratch", "*", extra[i - len(flat)])
        if kind.startswith("*"):
            address = _pointer(name, value, memory)
            if address:
                memory.arguments.append((len(out), address))
            out.extend(address.to_bytes(size, "little"))
        elif kind == "map":
            memory.arguments.append((len(out), _pointer(name, value.base, memory)))
            out.extend(value)
        else:
            if size == 8 and isinstance(value, int):
                memory.want(value)
            out.extend(bits_of(kind, value, size))
    return bytes(out)


def _pointer(name: str, value, memory) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        memory.want(value)
        return value
    address = getattr(value, "data_ptr", None)
    if address is None:
        raise TypeError(f"argument {name}: a pointer is None, a tensor or has data_ptr(), not {value!r}")
    device = getattr(value, "device", None)
    if getattr(device, "type", None) not in (None, "cpu"):
        with where_it_is():  # triton.reinterpret's wrapper keeps what its tensor said
            device = getattr(value, "base", value).device
    if getattr(device, "type", None) not in (None, "cpu"):
        raise ValueError(
            f"argument {name} is a tensor on {device}: Lockwarp runs kernels on CPU tensors. Make it "
            'with device="cpu", or say lockwarp.triton.install(map_cuda=True).'
        )
    memory.add(value, name)
    return address()
