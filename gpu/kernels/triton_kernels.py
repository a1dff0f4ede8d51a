"""Kernels in Triton: products, softmax, attention. scripts/make_triton.py makes PTX of them."""

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """C = A * B: f16, f16, f32; row-major and dense. Grid: ceil(n / BLOCK_N), ceil(m / BLOCK_M)."""
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    depths = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        depth = start + depths
        left = tl.load(
            a + rows[:, None] * k + depth[None, :],
            mask=(rows[:, None] < m) & (depth[None, :] < k),
            other=0.0,
        )
        right = tl.load(
            b + depth[:, None] * n + columns[None, :],
            mask=(depth[:, None] < k) & (columns[None, :] < n),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    tl.store(
        c + rows[:, None] * n + columns[None, :],
        total,
        mask=(rows[:, None] < m) & (columns[None, :] < n),
    )


@triton.jit
def softmax(source, out, columns, BLOCK: tl.constexpr):
    """Softmax of each row, at most BLOCK long, f32. Grid: rows."""
    at = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < columns
    row = tl.load(source + at, mask=inside, other=float("-inf"))
    weights = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + at, weights / tl.sum(weights, axis=0), mask=inside)


@triton.jit
def attention(
    q,
    k,
    v,
    o,
    queries,
    keys,
    scale,
    CAUSAL: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    HEAD: tl.constexpr,
):
    """O = softmax(Q K' scale / log2(e)) V, each head for itself: heads x length x HEAD, f16.

    Grid: ceil(queries / BLOCK_Q), heads. With CAUSAL query i sees keys 0 to i.
    """
    query = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    dims = tl.arange(0, HEAD)
    q += tl.program_id(1) * queries * HEAD
    o += tl.program_id(1) * queries * HEAD
    k += tl.program_id(1) * keys * HEAD
    v += tl.program_id(1) * keys * HEAD
    rows = tl.load(
        q + query[:, None] * HEAD + dims[None, :], mask=query[:, None] < queries, other=0.0
    )
    largest = tl.full((BLOCK_Q,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    out = tl.zeros((BLOCK_Q, HEAD), dtype=tl.float32)
    end = keys
    if CAUSAL:
        end = tl.minimum(keys, (tl.program_id(0) + 1) * BLOCK_Q)
    for start in range(0, end, BLOCK_K):
        key = start + tl.arange(0, BLOCK_K)
        columns = tl.load(
            k + key[None, :] * HEAD + dims[:, None], mask=key[None, :] < keys, other=0.0
        )
        score = tl.dot(rows, columns) * scale
        seen = key[None, :] < keys
        if CAUSAL:
            seen = seen & (key[None, :] <= query[:, None])
        score = tl.where(seen, score, float("-inf"))
        top = tl.maximum(largest, tl.max(score, axis=1))
        weights = tl.exp2(score - top[:, None])
        shrink = tl.exp2(largest - top)
        total = total * shrink + tl.sum(weights, axis=1)
        values = tl.load(
            v + key[:, None] * HEAD + dims[None, :], mask=key[:, None] < keys, other=0.0
        )
        out = tl.dot(weights.to(tl.float16), values, out * shrink[:, None])
        largest = top
    tl.store(
        o + query[:, None] * HEAD + dims[None, :],
        (out / total[:, None]).to(tl.float16),
        mask=query[:, None] < queries,
    )
# SPDX-License-Identifier: Apache-2.0


@triton.jit
def matmul_tma(a, b, c, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """C = A * B': f16, f16, f32, each through a tensor descriptor.

    Grid: ceil(n / BLOCK_N), ceil(m / BLOCK_M).
    """
    row = tl.program_id(1) * BLOCK_M
    column = tl.program_id(0) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        total = tl.dot(a.load([row, start]), b.load([column, start]).T, total)
    c.store([row, column], total)


@triton.jit
def attention_tma(
    q,
    k,
    v,
    o,
    length,
    scale,
    CAUSAL: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    HEAD: tl.constexpr,
):
    """As attention, through descriptors of matrices of heads * length rows.

    Both block sizes divide the length, and BLOCK_K divides BLOCK_Q. Grid: length / BLOCK_Q, heads.
    """
    first = tl.program_id(1) * length
    query = tl.program_id(0) * BLOCK_Q
    rows = q.load([first + query, 0])
    largest = tl.full((BLOCK_Q,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    out = tl.zeros((BLOCK_Q, HEAD), dtype=tl.float32)
    end = length
    if CAUSAL:
        end = query + BLOCK_Q
    for start in range(0, end, BLOCK_K):
        score = tl.dot(rows, k.load([first + start, 0]).T) * scale
        if CAUSAL:
            key = start + tl.arange(0, BLOCK_K)
            seen = key[None, :] <= (query + tl.arange(0, BLOCK_Q))[:, None]
            score = tl.where(seen, score, float("-inf"))
        top = tl.maximum(largest, tl.max(score, axis=1))
        weights = tl.exp2(score - top[:, None])
        shrink = tl.exp2(largest - top)
        total = total * shrink + tl.sum(weights, axis=1)
        values = v.load([first + start, 0])
        out = tl.dot(weights.to(tl.float16), values, out * shrink[:, None])
        largest = top
    o.store([first + query, 0], (out / total[:, None]).to(tl.float16))
