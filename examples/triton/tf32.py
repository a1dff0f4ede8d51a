# SPDX-License-Identifier: Apache-2.0
"""A product of f32 matrices on tensor cores: two architectures, and Triton's interpreter."""

import torch
import triton
import triton.language as tl

import lockwarp.triton as lt


@triton.jit
def matmul(a, b, c, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    product = tl.dot(tl.load(a + i * N + j), tl.load(b + i * N + j), input_precision="tf32")
    tl.store(c + i * N + j, product)


i, j = torch.arange(32)[:, None], torch.arange(32)[None, :]
a, b = (7 * i + 13 * j) % 31 / 31 - 0.5, (11 * i + 5 * j) % 29 / 29 - 0.5
print(lt.compare(matmul, (1,), a, b, torch.zeros(32, 32), N=32,
                 arch=("sm_90", "sm_80", "interpreter")))
