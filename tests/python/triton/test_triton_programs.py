# SPDX-License-Identifier: Apache-2.0
"""Whole programs of the kinds that Triton's tutorials teach, in small sizes, on each architecture:
addition is in test_triton_launch.py."""

import pytest
import torch
import triton
import triton.language as tl
from triton_kernels import VERSION, matmul


@triton.jit
def _softmax(x, out, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """Each program does every num_programs-th row."""
    first = tl.program_id(0)
    for row in tl.range(first, rows, tl.num_programs(0), num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        inside = at < columns
        values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
        weights = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + at, weights / tl.sum(weights, axis=0), mask=inside)


def test_fused_softmax(arch):
    x = torch.randn(37, 181)
    out = torch.zeros_like(x)
    compiled = _softmax.warmup(x, out, 37, 181, BLOCK=256, STAGES=2, num_warps=4, grid=(1,))
    compiled._init_handles()
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    occupancy = properties["max_num_regs"] // (compiled.n_regs * properties["warpSize"] * 4)
    programs = min(properties["multiprocessor_count"] * occupancy, 37)
    _softmax[(programs,)](x, out, 37, 181, BLOCK=256, STAGES=2, num_warps=4)
    assert torch.allclose(out, x.softmax(1), atol=1e-6)


@triton.jit
def _leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def _activated(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    """f16 product, programs in groups of rows, f32 sums, an activation at the end."""
    program = tl.program_id(0)
    across, down = tl.cdiv(N, BN), tl.cdiv(M, BM)
    group = program // (GROUP * across)
    first = group * GROUP
    height = min(down - first, GROUP)
    row = first + (program % (GROUP * across)) % height
    column = (program % (GROUP * across)) // height
    m = (row * BM + tl.arange(0, BM)) % M
    n = (column * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, tl.cdiv(K, BK)):
        depth = start * BK + k
        left = tl.load(a + m[:, None] * K + depth[None, :], mask=depth[None, :] < K, other=0.0)
        right = tl.load(b + depth[:, None] * N + n[None, :], mask=depth[:, None] < K, other=0.0)
        total = tl.dot(left, right, total)
    if ACTIVATION == "leaky":
        total = _leaky(total)
    m = row * BM + tl.arange(0, BM)
    n = column * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16), mask=inside)


def test_autotuned_matmul_with_an_activation(arch):
    configs = [
        triton.Config({"BM": 32, "BN": 32, "BK": 32, "GROUP": 2}, num_stages=2, num_warps=2),
        triton.Config({"BM": 32, "BN": 64, "BK": 32, "GROUP": 2}, num_stages=3, num_warps=4),
    ]
    tuned = triton.autotune(configs=configs, key=["M", "N", "K"])(_activated)
    M, N, K = 90, 100, 72
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    c = torch.zeros(M, N).half()
    tuned[lambda m: (triton.cdiv(M, m["BM"]) * triton.cdiv(N, m["BN"]),)](
        a, b, c, M, N, K, ACTIVATION="leaky"
    )
    exact = torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.01)
    # Half a unit of f16, and f32's sums under it.
    bound = exact.abs() * 2.0**-11 + 1e-3
    assert ((c.double() - exact).abs() <= bound).all()
    assert tuned.best_config.kwargs["BN"] in (32, 64)


@triton.jit
def _layer_norm(x, out, weight, bias, mean, rstd, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * N + at, mask=at < N, other=0.0)
    center = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * N + at, mask=at < N, other=0.0)
        squares += tl.where(at < N, (value - center) * (value - center), 0.0)
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(mean + row, center)
    tl.store(rstd + row, scale)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < N
        value = (tl.load(x + row * N + at, mask=inside) - center) * scale
        value = value * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
        tl.store(out + row * N + at, value, mask=inside)


@triton.jit
def _weight_gradient(g, x, mean, rstd, dw, lock, rows, N, BLOCK: tl.constexpr):
    """Each program adds a row's share, under a lock."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    value = (tl.load(x + row * N + at, mask=inside) - tl.load(mean + row)) * tl.load(rstd + row)
    share = value * tl.load(g + row * N + at, mask=inside)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(dw + at, tl.load(dw + at, mask=inside) + share, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_layer_norm_forwards_and_its_weight_gradient(arch):
    rows, N = 7, 151
    x, weight, bias = torch.randn(rows, N), torch.rand(N), torch.rand(N)
    out, mean, rstd = torch.zeros(rows, N), torch.zeros(rows), torch.zeros(rows)
    _layer_norm[(rows,)](x, out, weight, bias, mean, rstd, N, 1e-5, BLOCK=128)
    leaf = weight.clone().requires_grad_()
    expected = torch.nn.functional.layer_norm(x, (N,), leaf, bias, 1e-5)
    assert torch.allclose(out, expected, atol=1e-5)
    g = torch.randn(rows, N)
    expected.backward(g)
    dw, lock = torch.zeros(N), torch.zeros(1, dtype=torch.int32)
    _weight_gradient[(rows,)](g, x, mean, rstd, dw, lock, rows, N, BLOCK=256)
    assert torch.allclose(dw, leaf.grad, atol=1e-4)


@triton.jit
def _attention(
    q, k, v, o, length, scale,
    BQ: tl.constexpr, BK: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
):
    query = tl.program_id(0) * BQ + tl.arange(0, BQ)
    dims = tl.arange(0, HEAD)
    base = tl.program_id(1) * length * HEAD
    rows = tl.load(q + base + query[:, None] * HEAD + dims[None, :], mask=query[:, None] < length,
                   other=0.0)
    top = tl.full((BQ,), -float("inf"), dtype=tl.float32)
    norm = tl.zeros((BQ,), dtype=tl.float32)
    out = tl.zeros((BQ, HEAD), dtype=tl.float32)
    for start in range(0, length, BK):
        key = start + tl.arange(0, BK)
        inside = key[:, None] < length
        keys = tl.load(k + base + key[:, None] * HEAD + dims[None, :], mask=inside, other=0.0)
        values = tl.load(v + base + key[:, None] * HEAD + dims[None, :], mask=inside, other=0.0)
        score = tl.dot(rows, tl.trans(keys)) * scale
        seen = key[None, :] < length
        if CAUSAL:
            seen = seen & (key[None, :] <= query[:, None])
        score = tl.where(seen, score, -1e30)
        higher = tl.maximum(top, tl.max(score, axis=1))
        weights = tl.where(seen, tl.exp2(score - higher[:, None]), 0.0)
        shrink = tl.exp2(top - higher)
        norm = norm * shrink + tl.sum(weights, axis=1)
        out = tl.dot(weights.to(tl.float16), values, out * shrink[:, None])
        top = higher
    tl.store(o + base + query[:, None] * HEAD + dims[None, :],
             (out / norm[:, None]).to(tl.float16), mask=query[:, None] < length)


def test_flash_attention(arch):
    heads, length, head = 2, 70, 32
    q, k, v = (torch.randn(heads, length, head).half() for _ in range(3))
    for causal in (False, True):
        o = torch.zeros_like(q)
        scale = 1.4426950408889634 / head**0.5
        _attention[(triton.cdiv(length, 32), heads)](
            q, k, v, o, length, scale, BQ=32, BK=32, HEAD=head, CAUSAL=causal, num_stages=2
        )
        expected = torch.nn.functional.scaled_dot_product_attention(
            q.float(), k.float(), v.float(), is_causal=causal
        )
        assert (o.float() - expected).abs().max() < 4e-3


@triton.jit
def _grouped(
    pointers, sizes, count,
    PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    """Several products of different sizes; each program takes every PROGRAMS-th tile of all."""
    tile = tl.program_id(0)
    last = 0
    for g in range(count):
        M, N, K = tl.load(sizes + 3 * g), tl.load(sizes + 3 * g + 1), tl.load(sizes + 3 * g + 2)
        across = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * across
        while tile >= last and tile < last + tiles:
            a = tl.load(pointers + 3 * g).to(tl.pointer_type(tl.float16))
            b = tl.load(pointers + 3 * g + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(pointers + 3 * g + 2).to(tl.pointer_type(tl.float16))
            here = tile - last
            m = (here // across) * BM + tl.arange(0, BM)
            n = (here % across) * BN + tl.arange(0, BN)
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, K, BK):
                k = start + tl.arange(0, BK)
                left = tl.load(a + m[:, None] * K + k[None, :],
                               mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
                right = tl.load(b + k[:, None] * N + n[None, :],
                                mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
                total = tl.dot(left, right, total)
            tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16),
                     mask=(m[:, None] < M) & (n[None, :] < N))
            tile += PROGRAMS
        last += tiles


def test_grouped_products_through_a_tensor_of_pointers(arch):
    shapes = [(40, 32, 48), (64, 70, 32), (16, 16, 16)]
    given = [(torch.randn(m, k).half(), torch.randn(k, n).half(), torch.zeros(m, n).half())
             for m, n, k in shapes]
    pointers = torch.tensor([[t.data_ptr() for t in group] for group in given])
    sizes = torch.tensor(shapes, dtype=torch.int32)
    _grouped[(3,)](pointers, sizes, len(shapes), PROGRAMS=3, BM=32, BN=32, BK=32)
    for a, b, c in given:
        exact = a.double() @ b.double()
        assert ((c.double() - exact).abs() <= exact.abs() * 2.0**-11 + 1e-3).all()


@triton.jit
def _unpack_e2m1(code):
    """A 4-bit float (sign, two bits of exponent, one of mantissa) as f32."""
    exponent, mantissa = (code >> 1) & 3, (code & 1).to(tl.float32)
    small = mantissa * 0.5
    large = (1.0 + 0.5 * mantissa) * tl.exp2(exponent.to(tl.float32) - 1.0)
    value = tl.where(exponent == 0, small, large)
    return tl.where((code >> 3) & 1 == 1, -value, value)


@triton.jit
def _block_scaled(a, a_scale, b, b_scale, c, N: tl.constexpr, K: tl.constexpr):
    """Products of 4-bit floats whose groups of 32 along K share a scale."""
    m, n, k = tl.arange(0, N), tl.arange(0, N), tl.arange(0, K)
    groups: tl.constexpr = K // 32
    left = _unpack_e2m1(tl.load(a + m[:, None] * K + k[None, :]).to(tl.int32))
    right = _unpack_e2m1(tl.load(b + n[None, :] * K + k[:, None]).to(tl.int32))
    left *= tl.exp2(tl.load(a_scale + m[:, None] * groups + k[None, :] // 32).to(tl.float32) - 127)
    right *= tl.exp2(tl.load(b_scale + n[None, :] * groups + k[:, None] // 32).to(tl.float32) - 127)
    total = tl.dot(left.to(tl.bfloat16), right.to(tl.bfloat16))
    tl.store(c + m[:, None] * N + n[None, :], total)


def test_block_scaled_product(arch):
    N, K = 32, 64
    codes = [torch.randint(0, 16, (N, K), dtype=torch.uint8) for _ in range(2)]
    scales = [torch.randint(124, 131, (N, K // 32), dtype=torch.uint8) for _ in range(2)]
    c = torch.zeros(N, N)
    _block_scaled[(1,)](codes[0], scales[0], codes[1], scales[1], c, N=N, K=K)
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6]).double()
    table = torch.cat([table, -table])
    a, b = (
        table[code.long()] * 2.0 ** (scale.double() - 127).repeat_interleave(32, 1)
        for code, scale in zip(codes, scales)
    )
    # Each value is one of bf16; the sums of 64 products are exact in f32.
    assert torch.equal(c.double(), a @ b.T)


@triton.jit
def _scaled(a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Two 4-bit floats in a byte, along K."""
    m, n, half = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 2)
    group = tl.arange(0, K // 32)
    left = tl.load(a + m[:, None] * (K // 2) + half[None, :])
    right = tl.load(b + half[:, None] * N + n[None, :])
    left_scale = tl.load(a_scale + m[:, None] * (K // 32) + group[None, :])
    right_scale = tl.load(b_scale + n[:, None] * (K // 32) + group[None, :])
    product = tl.dot_scaled(left, left_scale, "e2m1", right, right_scale, "e2m1")
    tl.store(c + m[:, None] * N + n[None, :], product)


@pytest.mark.skipif(VERSION < (3, 3), reason="Triton 3.2 has no 4-bit right operand")
def test_dot_scaled(arch):
    M, N, K = 32, 32, 128
    a = torch.randint(0, 16, (M, K), dtype=torch.uint8)
    b = torch.randint(0, 16, (K, N), dtype=torch.uint8)
    scales = [torch.randint(124, 131, (M, K // 32), dtype=torch.uint8) for _ in range(2)]
    c = torch.zeros(M, N)
    packed = (a[:, 0::2] | (a[:, 1::2] << 4)).contiguous(), (b[0::2] | (b[1::2] << 4)).contiguous()
    _scaled[(1,)](packed[0], scales[0], packed[1], scales[1], c, M=M, N=N, K=K)
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6]).double()
    table = torch.cat([table, -table])
    factors = [2.0 ** (s.double() - 127).repeat_interleave(32, 1) for s in scales]
    exact = (table[a.long()] * factors[0]) @ (table[b.long()] * factors[1].T)
    assert torch.equal(c.double(), exact)


def test_matmul_of_any_size(arch):
    M, N, K = 45, 70, 50
    a, b, c = torch.randn(M, K), torch.randn(K, N), torch.full((M, N), -1.0)
    grid = (triton.cdiv(N, 32), triton.cdiv(M, 32))
    matmul[grid](a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, PRECISION="ieee")
    assert torch.allclose(c, a @ b, atol=1e-4)
