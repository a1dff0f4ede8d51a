# SPDX-License-Identifier: Apache-2.0
"""Lockwarp runs tensor-core kernels (PTX) on the CPU, bit for bit as an NVIDIA GPU would.

>>> import lockwarp as lw, numpy as np
>>> lw.layout("m16n8k16.f32.f16", "A").coordinates[15, 1]
array([3, 7], dtype=int16)
"""

from __future__ import annotations

from ._core import version as __version__
from .answers import (Answer, Banks, Equivalence, Explanation, Pair, Sum, banks, compat, equiv,
                      explain, info)
from .errors import ArgumentError, Error, NoGpu, SourcePlace, Trap
from .files import Comparison, Expected, Launched, Replay, Run, replay, run
from .lanes import Instruction, Layout, Place, instruction, instructions, layout
from .matrix import mma
from .module import (Check, Checked, Finding, Kernel, Launcher, Module, Parameter, Printed, Result,
                     Site, Stats, Timing, Why)

__all__ = [
    "Answer", "ArgumentError", "Banks", "Check", "Checked", "Comparison", "Equivalence",
    "Error", "Expected", "Explanation", "Finding", "Instruction", "Kernel", "Launched",
    "Launcher", "Layout", "Module", "NoGpu", "Pair", "Parameter", "Place", "Printed", "Replay",
    "Result", "Run", "Site", "SourcePlace", "Stats", "Sum", "Timing", "Trap", "Why", "__version__",
    "banks", "compat", "equiv", "explain", "info", "instruction", "instructions", "layout", "mma", "replay", "run",
]
