# SPDX-License-Identifier: Apache-2.0
"""lt.compare(): where two machines part."""

from __future__ import annotations

import copy
import dataclasses
import os
import sys
from collections.abc import Sequence
from typing import Any

import lockwarp


@dataclasses.dataclass(frozen=True)
class Difference:
    """A tensor that two sides left with other bits."""

    sides: tuple[str, str]
    argument: str  #: its name
    count: int  #: of elements that differ
    elements: int  #: that it has
    index: tuple[int, ...]  #: of the first that differs, in row-major order
    values: tuple[object, object]  #: there
    largest: float  #: difference of values

    def __str__(self) -> str:
        at = ", ".join(map(str, self.index))
        a, b = self.values
        return (
            f"{self.argument}: {self.sides[0]} and {self.sides[1]} differ in {self.count} of "
            f"{self.elements} elements, first [{at}]: {a!r} and {b!r}; by {self.largest:g} at most"
        )


@dataclasses.dataclass
class Comparison:
    """What lt.compare() found. False where any bit differs."""

    sides: tuple[str, ...]
    tensors: int  #: that were compared for each side
    differences: list[Difference]
    outputs: dict[str, dict[str, object]]  #: by side, by argument: the tensor after the launch

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if not self.differences:
            return f"{', '.join(self.sides)}: the same bits in {self.tensors} tensors"
        return "\n".join(map(str, self.differences))


def compare(kernel: Any, grid: Any, *args: Any,
            arch: str | Sequence[str] = ("sm_80", "sm_90"), **kwargs: Any) -> Comparison:
    """Runs ``kernel[grid](*args, **kwargs)`` once on each of `arch`, each time on copies of the
    tensors, and compares every bit of every tensor with the first one's.

    arch: architectures, "sm_80"; "interpreter", what TRITON_INTERPRET=1 computes; "gpu", the GPU of
    this machine. The tensors given are left as they are. Raises lockwarp.Error where nothing was
    compared.
    """
    sides = (arch,) if isinstance(arch, str) else tuple(arch)
    if len(sides) < 2:
        raise lockwarp.Error("lt.compare(): name two sides at least, arch=('sm_80', 'sm_90')")
    names = _argument_names(kernel)
    outputs = {}
    for side in sides:
        given, named = copy.deepcopy((args, kwargs))
        outputs[side] = _ran(side, kernel, grid, given, named, names)
    first = sides[0]
    differences = []
    for side in sides[1:]:
        for name, tensor in outputs[first].items():
            found = _difference((first, side), name, tensor, outputs[side][name])
            if found is not None:
                differences.append(found)
    if not outputs[first]:
        raise lockwarp.Error("lt.compare(): the kernel has no tensor among its arguments")
    return Comparison(sides, len(outputs[first]), differences, outputs)


def _argument_names(kernel) -> list[str]:
    while not hasattr(kernel, "arg_names"):
        kernel = kernel.fn
    return list(kernel.arg_names)


def _tensors(names, args, kwargs) -> dict:
    import torch

    out = {}

    def visit(name, value):
        if isinstance(value, torch.Tensor):
            out[name] = value
        elif isinstance(value, (tuple, list)):
            for i, v in enumerate(value):
                visit(f"{name}[{i}]", v)
        elif hasattr(value, "base"):  # triton.reinterpret, TensorDescriptor
            visit(name, value.base)

    for name, value in [*zip(names, args), *kwargs.items()]:
        visit(name, value)
    return out


def _ran(side, kernel, grid, args, kwargs, names) -> dict:
    import lockwarp.triton as lt

    before = lt._now and {"arch": lt._now["arch"], "map_cuda": lt._now["map_cuda"]}
    try:
        if side == "interpreter":
            return _interpreted(kernel, grid, args, kwargs, names)
        elif side == "gpu":
            lt.uninstall()
            _on_gpu(kernel, grid, args, kwargs, names)
        else:
            lt.install(arch=side, map_cuda=bool(before and before["map_cuda"]))
            kernel[grid](*args, **kwargs)
    finally:
        if before:
            lt.install(**before)
        else:
            lt.uninstall()
    return _tensors(names, args, kwargs)


def _on_gpu(kernel, grid, args, kwargs, names) -> None:
    import torch

    if not torch.cuda.is_available():
        raise lockwarp.NoGpu('lt.compare(arch="gpu"): torch finds no GPU on this machine')
    moved = {}  # by storage, so that views of one tensor stay views of one

    def on_gpu(t):
        storage = t.untyped_storage()
        if storage.data_ptr() not in moved:
            flat = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
            moved[storage.data_ptr()] = (flat, flat.cuda())
        there = moved[storage.data_ptr()][1].untyped_storage()
        out = torch.empty(0, dtype=t.dtype, device="cuda")
        return out.set_(there, t.storage_offset(), t.size(), t.stride())

    def move(value):
        if isinstance(value, torch.Tensor):
            return on_gpu(value)
        if isinstance(value, tuple):
            items = [move(v) for v in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    kernel[grid](*(move(a) for a in args), **{k: move(v) for k, v in kwargs.items()})
    torch.cuda.synchronize()
    for here, there in moved.values():
        here.copy_(there.cpu())


def _interpreted(kernel, grid, args, kwargs, names) -> dict:
    """What TRITON_INTERPRET=1 computes, in a process of its own: Triton's interpreter changes the
    language for good."""
    import multiprocessing

    from triton.runtime.jit import JITFunction

    if not isinstance(kernel, JITFunction):
        raise lockwarp.Error(
            'lt.compare(arch="interpreter"): give the kernel itself, without autotune or '
            "heuristics, and its constants"
        )
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_interpret, args=(kernel, grid, args, kwargs, names, theirs))
    child.start()
    theirs.close()
    try:
        failed, values = ours.recv()
    except EOFError:
        failed, values = "the process that ran it ended", None
    child.join()
    if failed:
        raise lockwarp.Error(f"Triton's interpreter: {failed}")
    tensors = _tensors(names, args, kwargs)
    for name, value in values.items():
        tensors[name].view(-1).copy_(_flat(value, tensors[name]))
    return tensors


def _flat(data: bytes, like):
    import torch

    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(like.dtype)


def _interpret(kernel, grid, args, kwargs, names, pipe) -> None:
    try:
        import torch

        torch.set_num_threads(1)  # the pool of threads is not in this process
        os.environ["TRITON_INTERPRET"] = "1"
        _make_interpreted(kernel)[grid](*args, **kwargs)
        tensors = _tensors(names, args, kwargs)
        out = {
            name: t.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
            for name, t in tensors.items()
        }
        pipe.send(("", out))
    except BaseException as e:  # noqa: BLE001, whatever it is goes to the other process
        pipe.send((f"{type(e).__name__}: {e}", None))


def _make_interpreted(kernel):
    """The kernel as TRITON_INTERPRET=1 would have it, and with it every function that it may
    call. Changes them for good."""
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    made = {}
    seen = set()

    def interpreted(function):
        if id(function) not in made:
            made[id(function)] = InterpretedFunction(function.fn)
            look_into(function.fn)
        return made[id(function)]

    def visit(names: dict) -> None:
        if id(names) in seen:
            return
        seen.add(id(names))
        for name, value in list(names.items()):
            if isinstance(value, JITFunction):
                names[name] = interpreted(value)

    def look_into(fn) -> None:
        visit(fn.__globals__)
        for cell in fn.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not set yet
                continue
            if isinstance(value, JITFunction):
                cell.cell_contents = interpreted(value)

    for name, module in list(sys.modules.items()):
        if name.startswith("triton.language") and module is not None:
            visit(vars(module))
    return interpreted(kernel)


def _difference(sides, name, a, b) -> Difference | None:
    import torch

    whole = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    a, b = a.detach().contiguous(), b.detach().contiguous()
    size = a.element_size()
    if a.dtype.is_complex:
        a, b = torch.view_as_real(a), torch.view_as_real(b)
        size = a.element_size()
    unlike = (a.view(whole[size]) != b.view(whole[size])).reshape(-1)
    count = int(unlike.sum())
    if count == 0:
        return None
    at = int(unlike.nonzero()[0])
    places: list[int] = []
    for extent in reversed(a.shape):
        places.insert(0, at % extent)
        at //= extent
    index = tuple(places)
    gap = (a.double() - b.double()).abs().nan_to_num(nan=0.0, posinf=float("inf"))
    return Difference(sides, name, count, a.numel(), index, (a[index].item(), b[index].item()),
                      float(gap.max()))
