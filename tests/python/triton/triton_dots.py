# SPDX-License-Identifier: Apache-2.0
"""Products whose bits were taken from an H200 (Triton 3.6, driver 580.159.04): h200_dots.npz has
the 32 x 32 f32 of each case below."""

import pathlib

import numpy
import torch
from triton_kernels import dot

M, N, K = 32, 32, 64

# Name: what the operands are, and input_precision of tl.dot.
CASES = {
    "ieee": (torch.float32, "ieee"),
    "tf32": (torch.float32, "tf32"),
    "tf32x3": (torch.float32, "tf32x3"),
    "f16": (torch.float16, None),
    "bf16": (torch.bfloat16, None),
    "e5m2": (torch.float8_e5m2, None),
    "e4m3": (torch.float8_e4m3fn, None),
}
RECORDED = pathlib.Path(__file__).with_name("h200_dots.npz")


def matrix(rows: int, columns: int, seed: int) -> torch.Tensor:
    """f32 between -1 and 1, the same in every release of everything."""
    n = numpy.arange(rows * columns, dtype=numpy.uint64) + numpy.uint64(seed)
    n = n * numpy.uint64(2654435761) % numpy.uint64(1 << 32)
    n = (n ^ n >> numpy.uint64(15)) * numpy.uint64(2246822519) % numpy.uint64(1 << 32)
    values = (n >> numpy.uint64(8)).astype(numpy.float32) / numpy.float32(1 << 23) - 1
    return torch.from_numpy(values.reshape(rows, columns))


def product(case: str, device: str = "cpu") -> torch.Tensor:
    dtype, precision = CASES[case]
    a = matrix(M, K, 1).to(dtype).to(device)
    b = matrix(K, N, 100_000).to(dtype).to(device)
    c = torch.empty(M, N, device=device)
    dot[(1,)](a, b, c, M=M, N=N, K=K, PRECISION=precision)
    return c.cpu()
