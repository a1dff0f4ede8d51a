# SPDX-License-Identifier: Apache-2.0
"""In place of Triton's CUDA backend: the compiler that ends with PTX, and the driver that runs it
on the CPU. Triton 3.2 and later."""

from __future__ import annotations

import functools
import re

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase, GPUDriver
from triton.backends.nvidia import driver as nvidia_driver
from triton.backends.nvidia.compiler import CUDABackend

import lockwarp
from lockwarp.triton import _arguments, _machine, _native, _torch
from lockwarp.triton._launch import Launcher

_DRIVERS = ("_active", "_default", "active", "default")  # of DriverConfig, by release

# Of what the last stage leaves in Triton's cache; another one where that changes.
_CACHED = 2

VERSION = tuple(int(n) for n in re.findall(r"\d+", triton.__version__)[:2])


class Compiler(CUDABackend):
    """Triton's compiler for NVIDIA GPUs, which ends with PTX instead of ptxas."""

    def __init__(self, target) -> None:
        super().__init__(target)
        self.binary_ext = "lockwarp"

    def add_stages(self, stages, options, *language) -> None:
        super().add_stages(stages, options, *language)
        del stages["cubin"]
        # The last stage gives bytes; asm["ptx"] stays a text, as programs expect it.
        stages[self.binary_ext] = lambda ptx, metadata: _native.with_places(ptx.encode())

    def hash(self) -> str:
        # What Triton keeps on disk for a GPU has a cubin, which we have not.
        return f"{super().hash()}-lockwarp-{_CACHED}"


class Utils:
    """triton.runtime.driver.active.utils"""

    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self.load_binary = self._load_5 if VERSION >= (3, 4) else self._load_4

    def get_device_properties(self, device) -> dict:
        return _machine.properties(self._driver.arch)

    def _load_4(self, name, ptx, shared, device):
        function = _native.kernel_of(ptx, name, self._driver.arch), ptx
        return function, function, _machine.registers(ptx), 0

    def _load_5(self, name, ptx, shared, device):
        return (*self._load_4(name, ptx, shared, device), 1024)

    def unload_module(self, module) -> None:
        """Nothing to do: a kernel goes with the last reference to it."""

    def set_printf_fifo_size(self, size) -> None:
        """The engine keeps the first MB of each launch, as CUDA by default."""

    def cuOccupancyMaxActiveClusters(self, *args):  # noqa: N802, Triton's name
        raise NotImplementedError("how many clusters are resident is not known to Lockwarp")

    # Of Triton 3.4 and 3.5, and later: tensor maps that the host makes.
    fill_tma_descriptor = fill_tma_descriptor_tiled = staticmethod(_arguments.tensor_map)
    fill_tma_descriptor_im2col = staticmethod(_arguments.im2col_map)


class Driver(GPUDriver):
    """triton.runtime.driver.active: one device, whose memory is the process's."""

    def __init__(self, arch: str, is_mapped: bool) -> None:
        DriverBase.__init__(self)
        self.is_mapped = is_mapped  # tensors say that they are on cuda
        self.arch = arch
        self.number = int(arch[len("sm_") :])
        self.utils = Utils(self)
        self.launcher_cls = functools.partial(Launcher, self)
        self.get_device_capability = lambda device=0: divmod(self.number, 10)
        # Triton keeps compiled kernels by device: another architecture is another device.
        self.get_current_device = lambda: self.number
        self.set_current_device = lambda device: None
        self.get_current_stream = lambda device=0: 0

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_target(self):
        return GPUTarget("cuda", self.number, 32)

    def get_active_torch_device(self):
        import torch

        return torch.device("cuda", 0) if self.is_mapped else torch.device("cpu")

    def get_device_interface(self):
        return _torch.DeviceInterface

    def map_python_to_cpp_type(self, ty: str) -> str:
        return nvidia_driver.ty_to_cpp(ty)

    def get_benchmarker(self):
        from lockwarp.triton._bench import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self):
        import torch

        return torch.empty(1, dtype=torch.int)  # the model of cycles has caches of its own

    def clear_cache(self, cache) -> None:
        cache.zero_()

    def allocate_default_profile_scratch(self, size, alignment, stream):
        import torch

        return torch.zeros(size, dtype=torch.int8)


def _keep_from_unloading() -> None:
    """A kernel of ours that goes after uninstall() asks no driver to unload it: there may be none.
    (Triton 3.8 and later.)"""
    from triton.compiler.compiler import CompiledKernel

    unload = getattr(CompiledKernel, "__del__", None)
    if unload is None or hasattr(unload, "of_lockwarp"):
        return

    def unload_others(self) -> None:
        if not (isinstance(self.module, tuple) and isinstance(self.module[0], lockwarp.Kernel)):
            unload(self)

    unload_others.of_lockwarp = True  # type: ignore[attr-defined]
    CompiledKernel.__del__ = unload_others


def replace(arch: str, is_mapped: bool) -> dict:
    """Puts the backend in place; what it replaced, for restore()."""
    from triton.backends import Backend, backends
    from triton.runtime.driver import driver

    _keep_from_unloading()

    # Without asking for the drivers themselves: where there is no GPU there is none. The default is
    # what reset_active() goes back to.
    before = {"backend": backends["nvidia"],
              **{n: driver.__dict__[n] for n in _DRIVERS if n in driver.__dict__}}
    backends["nvidia"] = Backend(Compiler, backends["nvidia"].driver)
    ours = Driver(arch, is_mapped)
    driver.set_active(ours)
    for name in ("_default", "default"):
        if name in before:
            driver.__dict__[name] = ours
    return before


def restore(before: dict) -> None:
    from triton.backends import backends
    from triton.runtime.driver import driver

    backends["nvidia"] = before["backend"]
    for name in _DRIVERS:
        if name in before:
            driver.__dict__[name] = before[name]
