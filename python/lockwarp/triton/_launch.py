# SPDX-License-Identifier: Apache-2.0
"""A launch of a compiled Triton kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from triton.backends.nvidia import driver as nvidia_driver

from lockwarp import Trap, arrays
from lockwarp.triton import _machine, _native, _undefined
from lockwarp.triton._arguments import Flattener, pack
from lockwarp.triton._memory import Memory


class State:
    """What launches of this process are asked for beside running."""

    checks: list[Any] = []  # of lt.check(), innermost last
    clock_ms = 0.0  # what launches took on the modelled machine
    timing = 0  # do_bench calls that are under way: launches are timed by the model of cycles
    save: Callable[[Any], None] | None = None  # called with each Prepared before it runs
    late = False  # asynchronous instructions do their work where somebody waits for them


class Prepared:
    """A launch, ready to run: also what lt.export writes."""

    def __init__(self, launcher, kernel, grid, arguments) -> None:
        self.kernel = kernel
        self.arch = launcher.driver.arch
        self.grid = (grid[0] * launcher.ctas, *grid[1:])
        self.cluster = (launcher.ctas, 1, 1) if launcher.ctas > 1 else (0, 0, 0)
        self.block = (32 * launcher.warps, 1, 1)
        self.shared = launcher.shared
        self.cooperative = launcher.cooperative
        self.memory = Memory()
        self.flat = launcher.flattener.flat(arguments)
        self.layout = [(p.size, p.align) for p in kernel.signature]
        self.scratch = launcher.scratch(self.grid)
        self.parameters = pack(self.flat, self.layout, self.memory, self.scratch)
        self.ptx = launcher.ptx

    def run(self, checks=""):
        ranges = self.ranges()
        undefined = _undefined.within(ranges) if checks else []
        shapes = self._shapes() if checks else []
        return _native.run(self.kernel, self.grid, self.block, self.shared, self.parameters,
                           ranges, self.cooperative, checks, undefined, shapes, State.late,
                           self.cluster)

    def _shapes(self):
        """What the elements of the tensors that are arguments are called."""
        out = []
        for _, kind, value in self.flat:
            if not kind.startswith("*") or not hasattr(value, "stride"):
                continue
            item = value.element_size()
            rows = arrays.rows_of(arrays.Memory(
                value.data_ptr(), 0, 0, False, tuple(value.shape),
                tuple(item * n for n in value.stride()), item))
            if rows:
                out.append(rows)
        return out

    def milliseconds(self) -> float | None:
        """By the model of cycles."""
        if self.cooperative:
            return None
        # Addresses within tensors cannot be moved, and those that are put elsewhere are arguments.
        pointers = [] if self.memory.pointers else self.memory.arguments
        return _native.milliseconds(self.kernel, self.grid, self.block, self.shared,
                                    self.parameters, self.ranges(), pointers, b"atom." in self.ptx,
                                    self.cluster)

    def ranges(self):
        return self.memory.ranges(whole_words=b".cas.b32" in self.ptx)


def _as_a_driver_says(trap: Trap, block) -> Trap:
    """A failed assertion: a line on stderr, and the driver's name for it, which programs look for."""
    if "assertion `" not in trap.detail:
        return trap
    thread = trap.warp * 32 + (trap.lane or 0)
    x, y, z = thread % block[0], thread // block[0] % block[1], thread // (block[0] * block[1])
    at = f"block: {list(trap.cta)}, thread: [{x}, {y}, {z}] Assertion `"
    sys.stderr.write(trap.detail.replace("assertion `", at) + ".\n")
    sys.stderr.flush()
    text = trap.text.rstrip("\n") + "\n  CUDA's error: device-side assert triggered\n"
    out = Trap({**trap._fields, "text": text})
    out.result = trap.result
    return out


class Launcher:
    """What triton.runtime.driver.active.launcher_cls makes, once for each compiled kernel."""

    def __init__(self, driver, src, metadata) -> None:
        self.driver = driver
        self.flattener = Flattener(src, metadata, nvidia_driver)
        self.warps = metadata.num_warps
        self.shared = metadata.shared
        self.cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
        self.ptx = None
        self._global = (getattr(metadata, "global_scratch_size", 0) or 0,
                        getattr(metadata, "global_scratch_align", 1))
        self._profile = (getattr(metadata, "profile_scratch_size", 0) or 0,
                         getattr(metadata, "profile_scratch_align", 1))
        self.ctas = getattr(metadata, "num_ctas", 1)  # of a cluster, each a part of a program

    def scratch(self, grid) -> tuple:
        """The tensors of scratch memory, as many as the kernel asks for, of all CTAs."""
        from triton.runtime import _allocation

        has_own = getattr(_allocation, "has_profile_allocator", lambda: True)  # new in Triton 3.9
        out: list[Any] = []
        for (size, alignment), name in ((self._global, "_allocator"),
                                        (self._profile, "_profile_allocator")):
            if size == 0:
                out.append(None)
                continue
            if name == "_profile_allocator" and not has_own():
                allocator = self.driver.allocate_default_profile_scratch
            else:
                allocator = getattr(_allocation, name)
                allocator = allocator.get() if hasattr(allocator, "get") else allocator
            out.append(allocator(size * grid[0] * grid[1] * grid[2], alignment, 0))
        return tuple(out)

    def __call__(self, grid_x, grid_y, grid_z, stream, function, packed_metadata, launch_metadata,
                 enter_hook, exit_hook, *arguments) -> None:
        if enter_hook is not None:
            enter_hook(launch_metadata)
        grid = (int(grid_x), int(grid_y), int(grid_z))
        if grid[0] * grid[1] * grid[2] > 0:
            kernel, self.ptx = function
            self._run(Prepared(self, kernel, grid, arguments))
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _run(self, launch: Prepared) -> None:
        if State.save is not None:
            State.save(launch)
        ms = launch.milliseconds() if State.timing else None
        result, findings = launch.run("all" if State.checks else "")
        for p in result.printed:
            # A failed assertion speaks where CUDA lets it speak.
            out = sys.stderr if "Assertion `" in p.text else sys.stdout
            out.write(p.text)
        if result.printed:
            sys.stdout.flush()
        if State.checks:
            State.checks[-1].add(findings)
        if result.trap is not None:
            raise _as_a_driver_says(result.trap, launch.block)
        if ms is None:
            ms = _machine.milliseconds(self.driver.arch, result.stats.instructions,
                                       result.stats.products)
        State.clock_ms += ms
