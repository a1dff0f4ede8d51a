# SPDX-License-Identifier: Apache-2.0
"""Parts of the language, each against torch or numpy: bits where the operation has one right
answer, else what its arithmetic explains."""

import numpy
import pytest
import torch
import triton
import triton.language as tl
import triton_dots
from triton.language.extra import libdevice
from triton_kernels import VERSION, dot

import lockwarp.triton as lt


@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3"])
def test_f32_dot_is_as_exact_as_its_precision(arch, precision):
    a, b, c = torch.randn(32, 64), torch.randn(64, 32), torch.empty(32, 32)
    dot[(1,)](a, b, c, M=32, N=32, K=64, PRECISION=precision)
    exact = a.double() @ b.double()
    magnitude = a.double().abs() @ b.double().abs()
    error = ((c.double() - exact).abs() / magnitude).max().item()
    # Products of tf32 are of 11 bits each; the others' sums are off by their own roundings.
    assert error < (2.0**-10 if precision == "tf32" else 2.0**-20)
    if precision == "tf32":
        assert error > 2.0**-16  # tensor cores did it


def test_tf32_dot_of_what_tf32_holds_is_exact(arch):
    a = torch.randint(-8, 9, (16, 16)).float()
    b = torch.randint(-8, 9, (16, 16)).float()
    c = torch.empty(16, 16)
    dot[(1,)](a, b, c, M=16, N=16, K=16, PRECISION="tf32")
    assert torch.equal(c, a @ b)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e5m2])
def test_dot_of_narrow_floats(arch, dtype):
    a = torch.randint(-4, 5, (32, 32)).float()
    b = torch.randint(-4, 5, (32, 32)).float()
    c = torch.empty(32, 32)
    dot[(1,)](a.to(dtype), b.to(dtype), c, M=32, N=32, K=32, PRECISION=None)
    assert torch.equal(c, a @ b)


def test_dot_of_fp8e4nv(sm_90):
    a = torch.randint(-4, 5, (32, 32)).float()
    b = torch.randint(-4, 5, (32, 32)).float()
    c = torch.empty(32, 32)
    e4m3 = torch.float8_e4m3fn
    dot[(1,)](a.to(e4m3), b.to(e4m3), c, M=32, N=32, K=32, PRECISION=None)
    assert torch.equal(c, a @ b)


@pytest.mark.parametrize("case", triton_dots.CASES)
def test_dots_have_the_bits_of_an_h200(sm_90, case):
    recorded = numpy.load(triton_dots.RECORDED)[case]
    product = triton_dots.product(case).numpy()
    assert numpy.array_equal(product.view(numpy.uint32), recorded.view(numpy.uint32))


def test_a_tf32_product_is_an_h200s_and_not_the_interpreters():
    m, n, k = triton_dots.M, triton_dots.N, triton_dots.K
    a, b, c = triton_dots.matrix(m, k, 1), triton_dots.matrix(k, n, 100_000), torch.zeros(m, n)
    found = lt.compare(dot, (1,), a, b, c, M=m, N=n, K=k, PRECISION="tf32",
                       arch=("interpreter", "sm_90"))
    recorded = torch.from_numpy(numpy.load(triton_dots.RECORDED)["tf32"])
    assert torch.equal(found.outputs["sm_90"]["c"], recorded)
    assert not torch.equal(found.outputs["interpreter"]["c"], recorded)
    assert found.differences[0].count > 1000 and found.differences[0].largest > 1e-4


def test_dot_of_int8(arch):
    a = torch.randint(-128, 128, (32, 32), dtype=torch.int8)
    b = torch.randint(-128, 128, (32, 32), dtype=torch.int8)
    c = torch.empty(32, 32, dtype=torch.int32)
    dot[(1,)](a, b, c, M=32, N=32, K=32, PRECISION=None)
    assert torch.equal(c, (a.long() @ b.long()).int())


@triton.jit
def _reduce(x, total, largest, where, N: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row * N + tl.arange(0, N))
    tl.store(total + row, tl.sum(values, axis=0))
    tl.store(largest + row, tl.max(values, axis=0))
    tl.store(where + row, tl.argmax(values, axis=0))


def test_reductions(arch):
    x = torch.randint(-1000, 1000, (5, 512), dtype=torch.int32)
    total, largest = torch.zeros(5, dtype=torch.int32), torch.zeros(5, dtype=torch.int32)
    where = torch.zeros(5, dtype=torch.int32)
    _reduce[(5,)](x, total, largest, where, N=512)
    assert torch.equal(total, x.sum(1, dtype=torch.int32))
    assert torch.equal(largest, x.max(1).values)
    first = [row.index(max(row)) for row in x.tolist()]
    assert where.tolist() == first


@triton.jit
def _scan(x, sums, products, N: tl.constexpr):
    at = tl.arange(0, N)
    values = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(values, axis=0))
    tl.store(products + at, tl.cumprod(values, axis=0, reverse=True))


def test_scans_forwards_and_backwards(arch):
    x = torch.randint(1, 4, (256,), dtype=torch.int64)
    sums, products = torch.zeros_like(x), torch.zeros_like(x)
    _scan[(1,)](x, sums, products, N=256)
    assert torch.equal(sums, x.cumsum(0))
    assert torch.equal(products, x.flip(0).cumprod(0).flip(0))


@triton.jit
def _sort(x, M: tl.constexpr, N: tl.constexpr, DOWN: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(x + at, tl.sort(tl.load(x + at), dim=1, descending=DOWN))


@pytest.mark.parametrize("down", [False, True])
def test_sort(arch, down):
    x = torch.randint(-99, 99, (4, 64), dtype=torch.int32)
    expected = x.sort(1, descending=down).values
    _sort[(1,)](x, M=4, N=64, DOWN=down)
    assert torch.equal(x, expected)


@pytest.mark.skipif(VERSION < (3, 3), reason="tl.gather is new in Triton 3.3")
def test_gather(arch):
    @triton.jit
    def gather(x, indices, out, M: tl.constexpr, N: tl.constexpr):
        at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        tl.store(out + at, tl.gather(tl.load(x + at), tl.load(indices + at), 0))

    x = torch.randn(32, 16)
    indices = torch.randint(0, 32, (32, 16), dtype=torch.int32)
    out = torch.zeros(32, 16)
    gather[(1,)](x, indices, out, M=32, N=16)
    assert torch.equal(out, x.gather(0, indices.long()))


@triton.jit
def _histogram(x, count, total, least, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0)
    tl.atomic_add(count + value, 1, mask=inside)
    tl.atomic_add(total, tl.sum(value.to(tl.float32), axis=0))
    tl.atomic_min(least, tl.min(tl.where(inside, value, 99), axis=0))


def test_atomics(arch):
    x = torch.randint(0, 16, (1000,), dtype=torch.int32)
    count = torch.zeros(16, dtype=torch.int32)
    total, least = torch.zeros(1), torch.full((1,), 99, dtype=torch.int32)
    _histogram[(8,)](x, count, total, least, 1000, BLOCK=128)
    assert torch.equal(count, x.bincount(minlength=16).int())
    assert total.item() == x.sum().item()
    assert least.item() == x.min().item()


@triton.jit
def _locked(lock, value, out):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    now = tl.load(value, volatile=True)
    tl.store(value, now * 3 + tl.program_id(0))
    tl.store(out + tl.program_id(0), now)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_a_lock_between_programs(sm_80):
    lock, value = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    out = torch.full((4,), -1, dtype=torch.int32)
    _locked[(4,)](lock, value, out)
    assert lock.item() == 0
    seen = sorted(out.tolist())
    assert seen[0] == 0 and value.item() > max(seen) and -1 not in seen


@triton.jit
def _functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    tl.store(out + at, libdevice.asin(value), mask=inside)
    tl.store(out + n + at, libdevice.pow(value + 1.5, 2.5), mask=inside)
    tl.store(out + 2 * n + at, tl.exp(value) + tl.log(value + 2.0), mask=inside)
    tl.store(out + 3 * n + at, tl.sqrt_rn(value + 1.0), mask=inside)


def test_functions_of_libdevice_and_of_the_machine(arch):
    x = torch.rand(300) * 2 - 1
    out = torch.zeros(4, 300)
    _functions[(1,)](x, out, 300, BLOCK=512)
    exact = x.double().numpy()
    for row, expected, bound in (
        (0, numpy.arcsin(exact), 4e-7), (1, (exact + 1.5) ** 2.5, 1e-5),
        (2, numpy.exp(exact) + numpy.log(exact + 2), 2e-6),
    ):
        assert numpy.abs(out[row].double().numpy() - expected).max() < bound
    # numpy's square root is rounded exactly; torch's need not be.
    assert numpy.array_equal(out[3].numpy(), numpy.sqrt((x + 1.0).numpy()))


@triton.jit
def _convert(x, half, brain, whole, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(half + at, value.to(tl.float16))
    tl.store(brain + at, value.to(tl.bfloat16))
    tl.store(whole + at, value.to(tl.int32))


def test_conversions_round_as_torch_does(arch):
    x = torch.randn(1024) * 1000
    half, brain = torch.zeros(1024).half(), torch.zeros(1024).bfloat16()
    whole = torch.zeros(1024, dtype=torch.int32)
    _convert[(1,)](x, half, brain, whole, N=1024)
    assert torch.equal(half.view(torch.int16), x.half().view(torch.int16))
    assert torch.equal(brain.view(torch.int16), x.bfloat16().view(torch.int16))
    assert torch.equal(whole, x.int())
