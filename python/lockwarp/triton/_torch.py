# SPDX-License-Identifier: Apache-2.0
"""What programs ask of torch.cuda, answered for a machine whose tensors are the CPU's."""

from __future__ import annotations

from typing import Any

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


_Stream = Stream  # whose name is the class's own below


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
    def current_stream(device=None) -> "_Stream":
        return Stream()

    default_stream = current_stream

    @staticmethod
    def stream(stream) -> "_Stream":
        return stream if isinstance(stream, Stream) else Stream()


class _Patches:
    """Attributes of modules that are other ones for a while."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any, bool]] = []

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
