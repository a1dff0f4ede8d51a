# SPDX-License-Identifier: Apache-2.0
"""lt.install(map_cuda=True): what is said to be on "cuda" is on the CPU, and says that it is on
cuda."""

from __future__ import annotations

import contextlib
import re
import types
from collections.abc import Iterable, Iterator
from typing import Any

from lockwarp.triton import _machine
from lockwarp.triton._torch import DeviceInterface, Event, Stream, _Patches

_MEMORY = 64 << 30  # bytes of the device


def _is_cuda(device: Any) -> bool:
    import torch

    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, int) or (
        isinstance(device, str) and re.fullmatch(r"cuda(:\d+)?", device) is not None)


def _is_device(value: Any) -> bool:
    import torch

    if isinstance(value, bool):
        return False
    return isinstance(value, (torch.device, int)) or (
        isinstance(value, str) and re.fullmatch(r"(cuda|cpu)(:\d+)?", value) is not None)


def _tensors_in(values: Iterable[Any]) -> Iterator[Any]:
    import torch

    for v in values:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (tuple, list)):
            yield from _tensors_in(v)
        elif isinstance(v, dict):
            yield from _tensors_in(v.values())


def _storage(t: Any) -> Any:
    import torch

    try:
        with torch._C.DisableTorchFunctionSubclass():  # a subclass's own may not bear it
            return t.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return None  # a tensor without one


def _traces(values: Iterable[Any]) -> bool:
    """Whether tensors are followed by their shapes alone, now or in any of the values: such say
    themselves on which device they would be."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    fake = torch._C._TorchDispatchModeKey.FAKE
    return torch._C._get_dispatch_mode(fake) is not None or any(
        isinstance(t, FakeTensor) for t in _tensors_in(values))


class _Storages:
    """Storages that are said to be on cuda."""

    def __init__(self) -> None:
        from torch.multiprocessing.reductions import StorageWeakRef

        self._reference = StorageWeakRef
        self._all: dict[int, Any] = {}  # by address, which is not used again while it is here
        self._enough = 1000

    def add(self, t: Any) -> None:
        storage = _storage(t)
        if storage is None:
            return
        self._all[storage._cdata] = self._reference(storage)
        if len(self._all) > self._enough:
            self._all = {at: r for at, r in self._all.items() if not r.expired()}
            self._enough = max(1000, 2 * len(self._all))

    def __contains__(self, t: Any) -> bool:
        storage = _storage(t)
        return storage is not None and storage._cdata in self._all


def _mode_class():
    import torch
    from torch.overrides import TorchFunctionMode

    tensor = torch.Tensor
    # Each access of a property makes another function; those of one property are equal.
    device_of, is_cuda, is_cpu = (
        getattr(tensor, name).__get__ for name in ("device", "is_cuda", "is_cpu"))
    of_arrays = {torch.as_tensor, torch.asarray}
    operators = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)
    cpu = torch.device("cpu")

    class CudaIsCpu(TorchFunctionMode):
        """All tensors are on the CPU, and each says on which device it would be: the one that was
        asked for, or that of the tensors it was computed from. What moves between devices is a
        copy, as on a GPU."""

        def __init__(self) -> None:
            super().__init__()
            self.default_is_cuda = False
            self.on_cuda = _Storages()

        def __torch_function__(self, func, kinds, args=(), kwargs=None):
            of_property = func in (device_of, is_cuda, is_cpu, tensor.get_device)
            if of_property and not is_cpu(args[0]):
                return func(*args)  # meta's
            if func == is_cuda:
                return args[0] in self.on_cuda
            if func == is_cpu:
                return args[0] not in self.on_cuda
            if func == device_of:
                return torch.device("cuda", 0) if args[0] in self.on_cuda else func(args[0])
            if func == tensor.get_device:
                return 0 if args[0] in self.on_cuda else -1
            if func == tensor.pin_memory:
                return args[0]
            kwargs = dict(kwargs or {})
            if _traces((args, kwargs)):
                return func(*args, **kwargs)
            kwargs.pop("pin_memory", None)
            asked = self._asked(func, args, kwargs)
            if _is_cuda(kwargs.get("device")):
                kwargs["device"] = "cpu"
            if func == tensor.to:  # takes a device, or another tensor's, by position
                args = (args[0], *("cpu" if _is_device(a) else a for a in args[1:]))
            elif isinstance(func, operators):  # some take one too (Inductor's seeds)
                args = tuple(cpu if isinstance(a, torch.device) and _is_cuda(a) else a
                             for a in args)
            out = args[0] if func == tensor.cuda else func(*args, **kwargs)
            return self._placed(func, args, kwargs, asked, out)

        def _asked(self, func, args, kwargs) -> bool | None:
            """Whether the device that is asked for is cuda; None: none is."""
            if func in (tensor.cuda, tensor.cpu):
                return func == tensor.cuda
            if kwargs.get("device") is not None:
                return _is_cuda(kwargs["device"])
            if func != tensor.to:
                devices = [a for a in args if isinstance(a, torch.device)]
                return _is_cuda(devices[0]) if devices and isinstance(func, operators) else None
            for a in (*args[1:], kwargs.get("other")):
                if _is_device(a):
                    return _is_cuda(a)
                if isinstance(a, tensor):
                    return a in self.on_cuda
            return None

        def _placed(self, func, args, kwargs, asked, out):
            """What a function gave, on its device."""
            given = list(_tensors_in((args, kwargs)))
            if asked is not None:
                cuda = asked
            elif given:
                cuda = any(t in self.on_cuda for t in given)
            else:
                cuda = self.default_is_cuda
            shared = {s._cdata for s in map(_storage, given) if s is not None}

            def is_shared(t) -> bool:
                storage = _storage(t)
                return storage is not None and storage._cdata in shared

            if asked is not None and isinstance(out, tensor):
                if is_shared(out) and (out in self.on_cuda) != cuda:
                    out = out.clone()
                elif cuda and func in of_arrays and not given:
                    out = out.clone()  # of a numpy array, whose memory it would be
            if cuda:
                for t in _tensors_in((out,)):
                    if not is_shared(t):
                        self.on_cuda.add(t)
            return out

    return CudaIsCpu


def _generator_class(real):
    class Kind(type):
        def __instancecheck__(cls, value) -> bool:
            return isinstance(value, real)

        def __call__(cls, device="cpu"):
            return real(device="cpu" if _is_cuda(device) else device)

    return Kind("Generator", (), {})


def _of_memory() -> dict[str, Any]:
    """What torch.cuda and torch.accelerator say of memory."""
    def nothing(device=None) -> int:
        return 0

    return {
        "empty_cache": lambda: None,
        "memory_allocated": nothing,
        "max_memory_allocated": nothing,
        "memory_reserved": nothing,
        "max_memory_reserved": nothing,
        "memory_stats": lambda device=None: {},
        "reset_accumulated_memory_stats": lambda device=None: None,
        "reset_peak_memory_stats": lambda device=None: None,
    }


def _accelerator_answers() -> dict[str, Any]:
    """What torch.accelerator says of the machine."""
    import torch

    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": lambda: 0,
        "current_device_idx": lambda: 0,
        "set_device_index": lambda device: None,
        "set_device_idx": lambda device: None,
        "device_index": lambda device=None: Stream(),
        "current_stream": DeviceInterface.current_stream,
        "set_stream": lambda stream: None,
        "synchronize": lambda device=None: None,
        "get_memory_info": lambda device=None: (_MEMORY, _MEMORY),
        **_of_memory(),
    }


def _answers(arch: str) -> dict[str, Any]:
    """What torch.cuda says of the machine."""
    import torch

    p = _machine.properties(arch)
    major, minor = divmod(int(arch[len("sm_"):]), 10)
    told = types.SimpleNamespace(
        name=f"Lockwarp {arch}", major=major, minor=minor, total_memory=_MEMORY,
        multi_processor_count=p["multiprocessor_count"], warp_size=32,
        max_threads_per_multi_processor=2048, regs_per_multiprocessor=p["max_num_regs"],
        shared_memory_per_block=49152, shared_memory_per_block_optin=p["max_shared_mem"],
        shared_memory_per_multiprocessor=p["max_shared_mem"] + 1024,
        L2_cache_size=40 << 20, is_integrated=0, is_multi_gpu_board=0, gcnArchName="",
    )

    def seed_cpu(seed=0) -> None:
        torch.default_generator.manual_seed(int(seed))

    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda including_emulation=True: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "device": lambda device=None: Stream(),
        "synchronize": lambda device=None: None,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_name": lambda device=None: told.name,
        "get_device_properties": lambda device=None: told,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "manual_seed": seed_cpu,  # torch.manual_seed() calls these too
        "manual_seed_all": seed_cpu,
        **_of_memory(),
        "mem_get_info": lambda device=None: (_MEMORY, _MEMORY),
        "is_current_stream_capturing": lambda: False,
        "set_stream": lambda stream: None,
        "current_stream": DeviceInterface.current_stream,
        "default_stream": DeviceInterface.current_stream,
        "stream": DeviceInterface.stream,
        "Event": Event,
        "Stream": Stream,
    }


def _cublas_class() -> type:
    class CublasLt:
        """In place of Triton's handle of cuBLASLt, which is NVIDIA's machine code and, where it
        finds no driver, ends the process with a fault: torch's products, on the CPU."""

        def __init__(self, workspace: Any) -> None:
            pass

        def matmul(self, a: Any, b: Any, c: Any) -> None:
            """c = a b^T"""
            self.gemm(a, b, c, c, 1.0, 0.0)

        def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
            """d = alpha a b^T + beta c"""
            out = alpha * (a.float() @ b.float().T)
            d.copy_(out + beta * c.float() if beta != 0.0 else out)

        def __getattr__(self, name: str) -> Any:
            raise NotImplementedError(f"cuBLASLt's {name} is machine code: it needs a GPU")

    return CublasLt


def _not_compiled(model: Any = None, **kwargs: Any) -> Any:
    """torch.compile: its own kernels would need CUDA's streams and allocator; what it is given
    computes the same as it is."""
    return _not_compiled if model is None else model


def map_cuda(arch: str, patches: _Patches):
    """Puts what is said to be on cuda on the CPU. Returns what ends it."""
    import torch

    mode = _mode_class()()
    set_default, get_default = torch.set_default_device, torch.get_default_device

    def set_default_device(device) -> None:
        mode.default_is_cuda = device is not None and _is_cuda(device)
        set_default(None if mode.default_is_cuda else device)

    def get_default_device():
        return torch.device("cuda", 0) if mode.default_is_cuda else get_default()

    # Autograd calls the functions of Python with no mode around them.
    backward = torch.autograd.function.BackwardCFunction
    apply = backward.apply

    def apply_mapped(self, *gradients):
        for t in _tensors_in(gradients):
            mode.on_cuda.add(t)
        with mode:
            return apply(self, *gradients)

    patches.set(backward, "apply", apply_mapped)
    mode.__enter__()
    for name, value in _answers(arch).items():
        patches.set(torch.cuda, name, value)
    if hasattr(torch, "accelerator"):  # since 2.6
        for name, value in _accelerator_answers().items():
            patches.set(torch.accelerator, name, value)
    with contextlib.suppress(ImportError, AttributeError):  # Triton before 3.2
        from triton._C.libtriton import nvidia

        patches.set(nvidia.cublas, "CublasLt", _cublas_class())
    patches.set(torch, "compile", _not_compiled)
    patches.set(torch, "Generator", _generator_class(torch.Generator))
    patches.set(torch, "set_default_device", set_default_device)
    patches.set(torch, "get_default_device", get_default_device)
    return lambda: mode.__exit__(None, None, None)
