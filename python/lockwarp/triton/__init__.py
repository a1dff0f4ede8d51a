# SPDX-License-Identifier: Apache-2.0
"""Triton kernels on Lockwarp: any ``@triton.jit`` kernel on CPU tensors, with a GPU's bits.

>>> import lockwarp.triton as lt
>>> lt.install(arch="sm_80")

or, with nothing changed in the script, ``LOCKWARP_TRITON=sm_80 python script.py`` (torch 2.5 and
later reads it), or ``python -m lockwarp.triton --arch sm_80 script.py``.

Triton's own compiler makes the PTX; ptxas and the GPU are left out. A kernel may touch the bytes of
the tensors it is given and no others; what it does wrong is a :class:`lockwarp.Trap` that names the
line of the Python source. Needs Triton 3.2 or later and torch, which are no dependencies of
Lockwarp.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lockwarp.module import is_late
from lockwarp.triton._memory import share

if TYPE_CHECKING:  # what needs Triton is imported where it is used
    from lockwarp.triton._check import check
    from lockwarp.triton._compare import compare
    from lockwarp.triton._export import export
    from lockwarp.triton._native import Finding

__all__ = ["check", "compare", "export", "Finding", "install", "installed", "share", "uninstall"]

_now: dict[str, Any] | None = None


def install(arch: str | None = None, map_cuda: bool | None = None, save: str | None = None,
            schedule: str | None = None) -> None:
    """Lets every Triton kernel of this process run on Lockwarp.

    arch: the machine to model, "sm_80" to "sm_121"; by default what LOCKWARP_TRITON names, else
    "sm_80". map_cuda: tensors that are said to be on "cuda" are put on the CPU; by default whether
    LOCKWARP_TRITON_CUDA is "cpu". Without it they get a sentence that says so. save: a folder to
    which every launch is written as a launch file (see export); by default LOCKWARP_TRITON_SAVE.
    schedule: "late": asynchronous copies and wgmma do their work where somebody waits for them, not
    where they are issued; by default LOCKWARP_TRITON_SCHEDULE, else "early". Checks are of "early".

    May be called again, to change any of them. Raises lockwarp.Error for an arch that is not known,
    ImportError where there is no Triton.
    """
    global _now
    from lockwarp.triton import (_backend, _bench, _export, _machine, _map_cuda, _torch,
                                 _undefined)
    from lockwarp.triton._launch import State

    name = _machine.check(arch or os.environ.get("LOCKWARP_TRITON") or "sm_80")
    if map_cuda is None:
        map_cuda = os.environ.get("LOCKWARP_TRITON_CUDA", "") == "cpu"
    folder = save or os.environ.get("LOCKWARP_TRITON_SAVE")
    late = is_late(schedule or os.environ.get("LOCKWARP_TRITON_SCHEDULE") or "early")
    uninstall()
    import triton.testing

    patches = _torch._Patches()
    for function in ("do_bench", "do_bench_cudagraph", "do_bench_proton",
                     "do_bench_cudagraph_proton"):
        if hasattr(triton.testing, function):
            patches.set(triton.testing, function, _bench.do_bench)
    _undefined.mark_empty(patches)
    end = None
    if map_cuda:
        end = _map_cuda.map_cuda(name, patches)
    else:
        _torch.say_where_cuda_is(patches)
    State.save = _export.saver(folder) if folder else None
    State.late = late
    _now = {"arch": name, "before": _backend.replace(name, bool(map_cuda)), "patches": patches, "end": end,
            "map_cuda": map_cuda}


def uninstall() -> None:
    """Undoes install(). Kernels that were compiled stay compiled, and are compiled anew for another
    device."""
    global _now
    if _now is None:
        return
    from lockwarp.triton import _backend
    from lockwarp.triton._launch import State

    _backend.restore(_now["before"])
    _now["patches"].undo()
    if _now["end"] is not None:
        _now["end"]()
    State.save = None
    State.late = False
    _now = None


def installed() -> str | None:
    """The architecture that kernels run on, "sm_80"; None: Lockwarp is not installed."""
    return None if _now is None else _now["arch"]


_LATER = {"check": "_check", "compare": "_compare", "export": "_export", "Finding": "_native"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"lockwarp.triton.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
