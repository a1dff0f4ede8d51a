# SPDX-License-Identifier: Apache-2.0
"""What Triton asks of a device, by architecture."""

from __future__ import annotations

import functools
import re

import lockwarp
from lockwarp import _core

# Of the data sheets: memory clock (MHz) and bus (bits), and, of products that the model of cycles
# does not have, multiprocessors and boost clock (MHz); the engine knows those of the others, and
# every architecture's shared memory. Triton's compiler and heuristics ask for them; no bit of a
# result depends on them.
_DEVICES: dict[str, tuple[int, int, int | None, int | None]] = {
    "sm_80": (1215, 5120, None, None),  # A100
    "sm_86": (6251, 384, None, None),  # A10
    "sm_87": (3200, 256, None, None),  # Orin
    "sm_89": (9001, 384, None, None),  # L40S
    "sm_90": (3201, 6144, None, None),  # H200
    "sm_100": (3996, 8192, 148, 1965),  # B200
    "sm_103": (3996, 8192, 148, 1965),  # B300
    "sm_120": (14001, 512, 170, 2407),  # RTX 5090
    "sm_121": (4266, 256, 48, 2418),  # DGX Spark
}

# Where the model of cycles is not asked: warp instructions that a multiprocessor issues in a cycle,
# and what starting a grid takes.
_ISSUED = 2.0
_START_MS = 0.002


def check(arch: str) -> str:
    """The architecture's name, "sm_80". Raises lockwarp.Error for one that Triton or Lockwarp does
    not have."""
    name = f"sm_{arch}" if isinstance(arch, int) else str(arch)
    name = re.sub(r"^(sm_\d+)[af]$", r"\1", name)
    if name not in _DEVICES:
        raise lockwarp.Error(
            f"arch {arch!r}: Triton's kernels run on {', '.join(_DEVICES)} (Triton makes none for "
            "older ones)"
        )
    return name


@functools.lru_cache(maxsize=None)
def _facts(arch: str) -> tuple[int, int, int]:
    """Bytes of shared memory that a CTA may have, multiprocessors, boost clock in MHz."""
    known = _core.machine(arch)
    _, _, multiprocessors, clock = _DEVICES[arch]
    return known["shared_max"], multiprocessors or known["sms"], clock or known["mhz"]


def properties(arch: str) -> dict[str, int]:
    """As Triton's driver gives them of a GPU: bytes, kHz, bits."""
    shared, multiprocessors, clock = _facts(arch)
    memory_clock, bus, _, _ = _DEVICES[arch]
    return {
        "max_shared_mem": shared,
        "max_num_regs": 65536,
        "multiprocessor_count": multiprocessors,
        "warpSize": 32,
        "sm_clock_rate": clock * 1000,
        "mem_clock_rate": memory_clock * 1000,
        "mem_bus_width": bus,
    }


def milliseconds(arch: str, instructions: int, products: int) -> float:
    """An estimate of a launch's time, from what it retired: instructions of warps, multiply-adds of
    tensor cores. Good for comparing variants of a kernel, not as a prediction."""
    _, multiprocessors, clock = _facts(arch)
    cycles = instructions / _ISSUED + products / 1024.0
    return _START_MS + cycles / multiprocessors / (clock * 1000.0)


def registers(ptx: bytes | str) -> int:
    """Registers of a thread, 32-bit ones: an estimate, since only ptxas knows. A third of the names
    that the PTX declares, between 16 and 255, in eights."""
    text = ptx.decode("utf-8", "replace") if isinstance(ptx, (bytes, bytearray)) else ptx
    words = 0
    for width, count in re.findall(r"\.reg \.[bfus](16|32|64)\s+%\w+<(\d+)>", text):
        words += int(count) * max(1, int(width) // 32)
    limit = re.search(r"\.maxnreg\s+(\d+)", text)
    limited = int(limit.group(1)) if limit else 255
    return max(16, min(limited, (words // 3 + 7) // 8 * 8))
