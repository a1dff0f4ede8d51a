# SPDX-License-Identifier: Apache-2.0
"""lw.mma beside the emulator's registers, and beside numbers that can be worked out."""

import os
import signal
import threading

import lockwarp as lw
import lockwarp.testing
import numpy as np
import pytest

from lockwarp import types

ml_dtypes = pytest.importorskip("ml_dtypes")


def random_matrix(rng, ptx, *shape):
    row = types.row(ptx)
    if ptx in ("b1", "u4", "s4", "u8", "s8"):
        bits = rng.integers(0, 1 << row.bits, shape).astype(types.bits_dtype(ptx))
        if ptx == "s4":
            return (bits.astype(np.int8) - 8).astype(types.dtype_of(ptx))
        return bits.astype(types.dtype_of(ptx)) if ptx != "s8" else bits.view(np.int8)
    if ptx == "s32":
        return rng.integers(-1000, 1000, shape).astype(np.int32)
    if ptx in ("ue8m0", "ue4m3"):  # near 1
        return rng.integers(*((125, 130) if ptx == "ue8m0" else (48, 64)), shape).astype(np.uint8)
    return rng.standard_normal(shape).astype(types.dtype_of(ptx))


def registers_of(layout, matrix, ptx):
    """The operand's registers: uint32 or uint64 [lane, register], as the layout places them."""
    bits = types.bits_of(matrix, ptx, "x").astype(np.uint64)
    out = np.zeros((layout.lanes, layout.registers), np.uint64)
    for lane in range(layout.lanes):
        for value in range(layout.values):
            r, c = layout.coordinates[lane, value]
            if r >= 0:
                out[lane, layout.register[lane, value]] |= \
                    bits[r, c] << np.uint64(layout.low_bit[lane, value])
    return out.astype(np.uint64 if layout.register_bits == 64 else np.uint32)


def kernel_of(instruction, arch):
    """PTX that loads each operand's registers, multiplies, and stores D's. Parameters: D, then the
    operands in the order of the instruction."""
    ops = instruction.operands
    names = [n for n in ("A", "B", "C", "E", "SFA", "SFB") if n in ops]
    text = [".version 8.8", f".target {arch}", ".address_size 64", ".visible .entry k("
            + ", ".join(f".param .u64 {n}" for n in ["D", *names]) + ")", "{",
            ".reg .b32 %lane; .reg .b64 %p, %q;", "mov.u32 %lane, %tid.x;"]
    for n in [*names, "D"]:
        o = ops[n]
        kind = {"f64": "f64", "s32": "b32", "f32": "f32"}.get(o.type, "b32")
        text.append(f".reg .{kind} " + ", ".join(f"%{n}{i}" for i in range(o.registers)) + ";")
        if n == "D":
            continue
        size = o.register_bits // 8
        text += [f"ld.param.u64 %p, [{n}];",
                 f"mad.wide.u32 %q, %lane, {size * o.registers}, %p;"]
        text += [f"ld.global.{kind} %{n}{i}, [%q+{size * i}];" for i in range(o.registers)]

    def vector(n):
        return "{" + ", ".join(f"%{n}{i}" for i in range(ops[n].registers)) + "}"

    operands = [vector("D"), vector("A"), vector("B"), vector("C")]
    if "E" in ops:
        operands += ["%E0", "0"]
    for n in ("SFA", "SFB"):
        if n in ops:
            operands += [f"%{n}0", "{0, 0}"]
    text.append(f"{instruction.ptx} {', '.join(operands)};")
    o = ops["D"]
    size = o.register_bits // 8
    kind = {"f64": "f64", "s32": "b32", "f32": "f32"}.get(o.type, "b32")
    text += ["ld.param.u64 %p, [D];", f"mad.wide.u32 %q, %lane, {size * o.registers}, %p;"]
    text += [f"st.global.{kind} [%q+{size * i}], %D{i};" for i in range(o.registers)]
    return "\n".join([*text, "ret;", "}", ""])


def metadata(rng, instruction, shape):
    """Of each group two places in ascending order; of .tf32 a pair of neighbours."""
    pairs = [0x4, 0x8, 0xC, 0x9, 0xD, 0xE]
    if "tf32" in instruction.key:
        pairs = [0x4, 0xE]
    return np.array(pairs, np.uint8)[rng.integers(0, len(pairs), shape)]


PRODUCTS = [k for k in lw.instructions() if k.startswith("mma.")]


@pytest.mark.parametrize("key", PRODUCTS)
def test_as_the_registers_of_a_warp(key):
    """Every mma: the same bits as an instruction that the emulator runs in a warp."""
    instruction = lw.instruction(key)
    arch = instruction.arch
    rng = np.random.default_rng(7)
    given, matrices = [], {}
    for name, o in instruction.operands.items():
        if name == "D":
            continue
        m = metadata(rng, instruction, o.shape) if name == "E" else \
            random_matrix(rng, o.type, *o.shape)
        matrices[name] = m
    named = {n.lower(): m for n, m in matrices.items()}
    d = lw.mma(key, **named, arch=arch)
    assert d.shape == instruction["D"].shape
    suffix = "a" if instruction.target in (100, 120) or "kind" in key or "block" in key else ""
    target = f"sm_{instruction.arch[3:]}{suffix}"
    k = lw.Module(kernel_of(instruction, target), arch=arch).kernel()
    arrays = {n: np.ascontiguousarray(registers_of(instruction[n], m, instruction[n].type
                                                   if n != "E" else "u4"))
              for n, m in matrices.items()}
    o = instruction["D"]
    out = np.zeros((32, o.registers), np.uint64 if o.register_bits == 64 else np.uint32)
    order = [n for n in ("A", "B", "C", "E", "SFA", "SFB") if n in arrays]
    k[1, 32](out, *(arrays[n] for n in order))
    expected = registers_of(o, d, o.type)
    assert (out == expected).all()
    assert d.view(types.bits_dtype(o.type)).any()


@pytest.mark.parametrize("key", [k for k in lw.instructions() if k.startswith("wmma.mma")])
def test_wmma_of_small_integers(key):
    """Products that are exact in every architecture's sums."""
    instruction = lw.instruction(key)
    rng = np.random.default_rng(3)
    m, n, k = instruction.shape
    a_type, c_type = instruction["A"].type, instruction["C"].type
    low, high = (0, 2) if a_type == "b1" else (0, 4) if a_type[0] == "u" else (-3, 4)
    a = rng.integers(low, high, (m, k))
    b = rng.integers(low, high, (k, n))
    c = rng.integers(-8, 8, (m, n))
    d = lw.mma(key, a.astype(types.dtype_of(a_type)), b.astype(types.dtype_of(a_type)),
               c.astype(types.dtype_of(c_type)))
    if a_type == "b1":
        both = np.logical_xor if "xor" in key else np.logical_and
        product = both(a[:, :, None].astype(bool), b[None].astype(bool)).sum(axis=1)
    else:
        product = a @ b
    assert (d.astype(np.float64) == product + c).all()


def test_sparse_is_the_dense_product_of_what_is_stored():
    key = next(k for k in lw.instructions() if k.startswith("mma.sp") and "m16n8k32.f32.f16" in k)
    rng = np.random.default_rng(5)
    a = rng.integers(-4, 5, (16, 16)).astype(np.float16)
    b = rng.integers(-4, 5, (32, 8)).astype(np.float16)
    e = np.full((16, 8), 0x4, np.uint8)  # the elements 0 and 1 of each four
    dense = np.zeros((16, 32), np.float16)
    dense.reshape(16, 8, 4)[:, :, :2] = a.reshape(16, 8, 2)
    d = lw.mma(key, a, b, e=e)
    assert (d == dense.astype(np.float32) @ b.astype(np.float32)).all()
    with pytest.raises(lw.ArgumentError, match="needs e"):
        lw.mma(key, a, b)


def test_architectures_differ():
    """2048 + 1 in f16, and the chain of two blocks on sm_80."""
    a = np.zeros((16, 8), np.float16)
    b = np.zeros((8, 8), np.float16)
    a[0, :2] = 2048, 1
    b[:2, 0] = 1
    assert lw.mma("m16n8k8.f16.f16.f16.f16", a, b)[0, 0] == 2048
    found = lw.equiv("m16n8k8.f32.f16", "m16n8k16.f32.f16", arch=["sm_80", "sm_90"])
    assert [p.verdict for p in found.pairs] == ["same", "differ"] and found.same is False
    w = found.pairs[1].witness

    def bits(texts, dtype):
        return np.array([int(t, 16) for t in texts]).astype(dtype)

    a = np.zeros((16, 16), np.uint16)
    b = np.zeros((16, 8), np.uint16)
    a[0], b[:, 0] = bits(w["a"], np.uint16), bits(w["b"], np.uint16)
    c = np.zeros((16, 8), np.uint32)
    c[0, 0] = int(w["c"], 16)
    whole = lw.mma("m16n8k16.f32.f16", a, b, c, arch="sm_90")
    half = lw.mma("m16n8k8.f32.f16", a[:, :8].copy(), b[:8], c, arch="sm_90")
    both = lw.mma("m16n8k8.f32.f16", a[:, 8:], b[8:], half, arch="sm_90")
    assert both.view(np.uint32)[0, 0] == int(w["first"], 16)
    assert whole.view(np.uint32)[0, 0] == int(w["second"], 16)


def test_batches():
    rng = np.random.default_rng(1)
    a = rng.standard_normal((3, 1, 16, 16)).astype(np.float16)
    b = rng.standard_normal((5, 16, 8)).astype(np.float16)
    c = rng.standard_normal((16, 8)).astype(np.float32)
    d = lw.mma("m16n8k16.f32.f16", a, b, c, arch="sm_80")
    assert d.shape == (3, 5, 16, 8)
    for i in range(3):
        for j in range(5):
            one = lw.mma("m16n8k16.f32.f16", a[i, 0], b[j], c, arch="sm_80")
            assert (one.view(np.uint32) == d[i, j].view(np.uint32)).all()
    many = rng.standard_normal((2000, 16, 16)).astype(np.float16)
    x = lw.mma("m16n8k16.f32.f16", many, b[0])
    assert (x == lw.mma("m16n8k16.f32.f16", many, b[0], threads=1)).all()
    assert (x[1777] == lw.mma("m16n8k16.f32.f16", many[1777], b[0])).all()
    assert lw.mma("m16n8k16.f32.f16", many[:0], b[0]).shape == (0, 16, 8)
    assert (lw.mma("m16n8k16.f32.f16", many[:4, ::-1].swapaxes(1, 2), b[0])
            == lw.mma("m16n8k16.f32.f16", many[:4, ::-1].swapaxes(1, 2).copy(), b[0])).all()


def test_infinity_and_nan_leave_the_fast_path():
    a = np.zeros((16, 16), np.float16)
    b = np.ones((16, 8), np.float16)
    a[2, 3] = np.inf
    a[4, 0] = np.nan
    d = lw.mma("m16n8k16.f32.f16", a, b)
    assert np.isinf(d[2]).all() and np.isnan(d[4]).all() and (d[0] == 0).all()


def test_satfinite():
    a, b = np.ones((16, 32), np.int8), np.ones((32, 8), np.int8)
    c = np.full((16, 8), 2**31 - 1, np.int32)
    assert (lw.mma("m16n8k32.s32.s8", a, b, c) == -(2**31) + 31).all()
    assert (lw.mma("m16n8k32.s32.s8", a, b, c, satfinite=True) == 2**31 - 1).all()
    with pytest.raises(lw.Error, match="has no .satfinite"):
        lw.mma("m16n8k16.f32.f16", np.ones((16, 16), np.float16), np.ones((16, 8), np.float16),
               satfinite=True)


def test_interrupt():
    """ctrl-C ends a large batch."""
    a = np.ones((100_000, 1, 1), bool) & np.ones((16, 256), bool)
    b = np.ones((256, 8), bool)
    lw.mma("m16n8k256.s32.b1.b1.s32.xor.popc", a[:1], b)
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            lw.mma("m16n8k256.s32.b1.b1.s32.xor.popc", a, b, threads=1)


def test_what_does_not_fit():
    a = np.zeros((16, 16), np.float16)
    b = np.zeros((16, 8), np.float16)
    key = "m16n8k16.f32.f16"
    for arguments, words in [
            ((a.astype(np.float32), b), "a is float32; .f16 is float16"),
            ((a[:8], b), r"a is \(8, 16\); mma.m16n8k16.f32.f16.f16.f32 takes \(..., 16, 16\)"),
            ((np.zeros((2, 16, 16), np.float16), np.zeros((3, 16, 8), np.float16)),
             "do not broadcast"),
            ((a, b, np.zeros((16, 8), np.float16)), "c is float16; .f32 is float32")]:
        with pytest.raises(lw.ArgumentError, match=words):
            lw.mma(key, *arguments)
    with pytest.raises(lw.ArgumentError, match="takes no e"):
        lw.mma(key, a, b, e=a)
    with pytest.raises(lw.Error, match="sm_75"):
        lw.mma(key, a, b, arch="sm_75")
    with pytest.raises(lw.Error, match="is not a product that is executed"):
        lw.mma("ldmatrix.x4", a, b)
    with pytest.raises(lw.ArgumentError, match="0x10 has more than the 4 bits of .u4"):
        lw.mma("m8n8k32.s32.u4", np.full((8, 32), 16, np.uint8), np.zeros((32, 8), np.uint8))


def test_torch_bfloat16():
    torch = pytest.importorskip("torch")
    a = torch.randn(16, 16).to(torch.bfloat16)
    b = torch.randn(16, 8).to(torch.bfloat16)
    d = lw.mma("m16n8k16.f32.bf16", a, b)
    assert d.shape == (16, 8)


def test_arrays_of_the_other_byte_order():
    a, b = np.ones((16, 16), ">f2"), np.ones((16, 8), np.float16)
    with pytest.raises(lw.ArgumentError, match="a is float16 of the other byte order"):
        lw.mma("m16n8k16.f32.f16", a, b)
    lockwarp.testing.assert_same_bits(np.ones(3, ">f4"), np.ones(3, ">f4"))


def test_a_number_of_threads_that_is_none():
    a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    with pytest.raises(lw.ArgumentError, match="threads -1"):
        lw.mma("m16n8k16.f32.f16", a, b, threads=-1)
