# SPDX-License-Identifier: Apache-2.0
"""What Triton asks of a device, by architecture."""

from __future__ import annotations

import re

import lockwarp

# Of the data sheets: shared memory that a CTA may have (CUDA C++ programming guide, "Technical
# Specifications"), multiprocessors, boost clock (MHz), memory clock (MHz), bus (bits). Triton's
# compiler and heuristics ask for them; no bit of a result depends on them.
_DEVICES = {
    "sm_80": (166912, 108, 1410, 1215, 5120),  # A100
    "sm_86": (101376, 72, 1695, 6251, 384),  # A10
    "sm_87": (166912, 16, 1300, 3200, 256),  # Orin
    "sm_89": (101376, 142, 2520, 9001, 384),  # L40S
    "sm_90": (232448, 132, 1980, 3201, 6144),  # H200
    "sm_100": (232448, 148, 1965, 3996, 8192),  # B200
    "sm_103": (232448, 148, 1965, 3996, 8192),  # B300
    "sm_120": (101376, 170, 2407, 14001, 512),  # RTX 5090
    "sm_121": (101376, 48, 2418, 4266, 256),  # DGX Spark
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


def properties(arch: str) -> dict:
    """As Triton's driver gives them of a GPU: bytes, kHz, bits."""
    shared, multiprocessors, clock, memory_clock, bus = _DEVICES[arch]
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
    _, multiprocessors, clock, _, _ = _DEVICES[arch]
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
    most = int(limit.group(1)) if limit else 255
    return max(16, min(most, (words // 3 + 7) // 8 * 8))
