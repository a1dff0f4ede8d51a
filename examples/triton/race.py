# SPDX-License-Identifier: Apache-2.0
"""A program that stores to global memory and loads that again, in other threads: Triton's
interpreter sees nothing wrong, lockwarp.triton.check names the lines."""

import torch
import triton
import triton.language as tl

import lockwarp.triton as lt


@triton.jit
def turn(scratch, x, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(scratch + at, tl.load(x + at))
    tl.store(x + at, tl.load(scratch + N - 1 - at))


lt.install(arch="sm_80")
x, scratch = torch.arange(256.0), torch.zeros(256)
sides = lt.compare(turn, (1,), scratch, x, N=256, arch=("interpreter", "sm_80"))
print("interpreter:", "turned" if torch.equal(sides.outputs["interpreter"]["x"], x.flip(0)) else "wrong")
with lt.check() as found:
    turn[(1,)](scratch, x, N=256)
for f in found.faults:
    print(f"line {f.line}: {f.kind}, {f.count} times\n  {f.what}")
