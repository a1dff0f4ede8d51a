# SPDX-License-Identifier: Apache-2.0
"""What programs ask of torch.cuda, answered for a machine whose tensors are the CPU's."""

from __future__ import annotations

import re
import types

from lockwarp.triton import _machine
from lockwarp.triton._launch import State

NO_CUDA = (
    'device="cuda": this process runs Triton kernels on Lockwarp, on CPU tensors. Say device="cpu", '
    "or let Lockwarp put what is said to be on cuda on the CPU: "
    "lockwarp.triton.install(map_cuda=True), or LOCKWARP_TRITON_CUDA=cpu in the environment."
)


class Event:
    """torch.cuda.Event on the modelled machine's clock."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False) -> None:
        self.at = 0.0

    def record(self, stream=None) -> None:
        self.at = State.clock_ms

    def elapsed_time(self, other: "Event") -> float:
        return max(other.at - self.at, 1e-6)

    def synchronize(self) -> None:
        """Launches end before they return."""

    def wait(self, stream=None) -> None:
        """Launches end before they return."""

    def query(self) -> bool:
        return True


class Stream:
    """torch.cuda.Stream: launches run one after another."""

    cuda_stream = 0
    device_index = 0

    def __init__(self, *args, **kwargs) -> None:
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def wait_stream(self, other) -> None:
        pass

    def wait_event(self, event) -> None:
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record()
        return event


class DeviceInterface:
    """triton.runtime.driver.active.get_device_interface(): the part of torch.cuda that it uses."""

    Event = Event
    Stream = Stream

    @staticmethod
    def synchronize(device=None) -> None:
        pass

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def set_device(device) -> None:
        pass

    @staticmethod
    def current_stream(device=None) -> Stream:
        return Stream()

    default_stream = current_stream

    @staticmethod
    def stream(stream) -> Stream:
        return stream if isinstance(stream, Stream) else Stream()


class _Patches:
    """Attributes of modules that are other ones for a while."""

    def __init__(self) -> None:
        self._before = []

    def set(self, where, name, value) -> None:
        self._before.append((where, name, getattr(where, name, None), hasattr(where, name)))
        setattr(where, name, value)

    def undo(self) -> None:
        for where, name, value, was_there in reversed(self._before):
            if was_there:
                setattr(where, name, value)
            else:
                delattr(where, name)
        self._before.clear()


def say_where_cuda_is(patches: _Patches) -> None:
    """A first use of CUDA where there is none gets a clear sentence."""
    import torch

    if torch.cuda.is_available():
        return

    def no_cuda(*args, **kwargs):
        raise RuntimeError(NO_CUDA)

    patches.set(torch.cuda, "_lazy_init", no_cuda)


def _on_cpu(value):
    """The device, said in whatever way, with cuda made cpu."""
    import torch

    if isinstance(value, str):
        return "cpu" if re.fullmatch(r"cuda(:\d+)?", value) else value
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    return value


def _mode_class():
    import torch
    from torch.overrides import TorchFunctionMode

    is_cuda = torch.Tensor.is_cuda.__get__
    skipped = {torch.Tensor.cuda, torch.Tensor.pin_memory}
    # Functions that take a device by position.
    by_position = {torch.Tensor.to, torch.Tensor.new_tensor, torch.Tensor.type, torch.asarray}

    class CudaIsCpu(TorchFunctionMode):
        """Every tensor that is to be on cuda is on the CPU, and says that it is on cuda."""

        def __torch_function__(self, func, kinds, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func == is_cuda:  # each access makes another one
                return True
            if func in skipped:
                return args[0]
            if kwargs.get("device") is not None:
                kwargs["device"] = _on_cpu(kwargs["device"])
                if isinstance(kwargs["device"], int):  # the number of a GPU
                    kwargs["device"] = "cpu"
            kwargs.pop("pin_memory", None)
            if func in by_position:
                args = (args[0], *(_on_cpu(a) for a in args[1:]))
            return func(*args, **kwargs)

    return CudaIsCpu


def _generator_class(real):
    class Kind(type):
        def __instancecheck__(cls, value) -> bool:
            return isinstance(value, real)

        def __call__(cls, device="cpu"):
            return real(device=_on_cpu(device))

    return Kind("Generator", (), {})


def map_cuda(arch: str, patches: _Patches):
    """Puts what is said to be on cuda on the CPU. Returns what ends it."""
    import torch

    mode = _mode_class()()
    mode.__enter__()
    p = _machine.properties(arch)
    major, minor = divmod(int(arch[len("sm_"):]), 10)
    told = types.SimpleNamespace(
        name=f"Lockwarp {arch}", major=major, minor=minor, total_memory=64 << 30,
        multi_processor_count=p["multiprocessor_count"], warp_size=32,
        max_threads_per_multi_processor=2048, regs_per_multiprocessor=p["max_num_regs"],
        shared_memory_per_block=49152, shared_memory_per_block_optin=p["max_shared_mem"],
        shared_memory_per_multiprocessor=p["max_shared_mem"] + 1024,
        L2_cache_size=40 << 20, is_integrated=0, is_multi_gpu_board=0, gcnArchName="",
    )

    def seed_cpu(seed) -> None:
        torch.default_generator.manual_seed(int(seed))

    answers = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
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
        "manual_seed": seed_cpu,  # torch.manual_seed() calls these too
        "manual_seed_all": seed_cpu,
        "empty_cache": lambda: None,
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "reset_peak_memory_stats": lambda device=None: None,
        "mem_get_info": lambda device=None: (64 << 30, 64 << 30),
        "current_stream": DeviceInterface.current_stream,
        "default_stream": DeviceInterface.current_stream,
        "stream": DeviceInterface.stream,
        "Event": Event,
        "Stream": Stream,
    }
    for name, value in answers.items():
        patches.set(torch.cuda, name, value)
    patches.set(torch, "Generator", _generator_class(torch.Generator))
    return lambda: mode.__exit__(None, None, None)
