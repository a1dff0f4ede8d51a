# SPDX-License-Identifier: Apache-2.0
"""Lockwarp runs tensor-core kernels (PTX) on the CPU, bit for bit as an NVIDIA GPU would.

>>> import lockwarp as lw, numpy as np
>>> lw.layout("m16n8k16.f32.f16", "A").coordinates[15, 1]
array([3, 7], dtype=int16)
"""

from __future__ import annotations

from ._core import version as __version__
from .errors import ArgumentError, Error, NoGpu, SourcePlace, Trap
from .lanes import Instruction, Layout, Place, instruction, instructions, layout
from .matrix import mma
from .module import (Check, Checked, Finding, Kernel, Launcher, Module, Parameter, Printed, Result,
                     Stats)

__all__ = [
    "ArgumentError", "Check", "Checked", "Error", "Finding", "Instruction", "Kernel", "Launcher",
    "Layout", "Module", "NoGpu", "Parameter", "Place", "Printed", "Result", "SourcePlace", "Stats",
    "Trap", "__version__", "instruction", "instructions", "layout", "mma",
]
