# SPDX-License-Identifier: Apache-2.0
"""Arguments, grids, hooks: whatever a launch may be given."""

import pytest
import torch
import triton
import triton.language as tl
from triton_kernels import VERSION, add

import lockwarp
import lockwarp.triton as lt


def test_masked_addition_has_the_sum_of_each_element(arch):
    x, y = torch.randn(1000), torch.randn(1000)
    out = torch.full((1000,), -1.0)
    add[(8,)](x, y, out, 1000, BLOCK=128)
    assert torch.equal(out, x + y)


@triton.jit
def _scalars(out, a, b, c, d, e):
    tl.store(out + 0, a.to(tl.float64))
    tl.store(out + 1, b.to(tl.float64))
    tl.store(out + 2, c.to(tl.float64))
    tl.store(out + 3, d.to(tl.float64))
    tl.store(out + 4, e.to(tl.float64))


def test_scalars_of_every_kind_arrive(sm_80):
    out = torch.zeros(5, dtype=torch.float64)
    given = (-7, 1 << 40, True, 2.5, 0xFFFFFFFF)
    _scalars[(1,)](out, *given)
    assert out.tolist() == [-7.0, float(1 << 40), 1.0, 2.5, float(0xFFFFFFFF)]


@triton.jit
def _optional(out, x, n, HAS: tl.constexpr):
    value = tl.load(x) if HAS else 5.0
    tl.store(out, value + n)


def test_none_is_a_null_pointer_and_one_is_a_constant(sm_80):
    out = torch.zeros(1)
    _optional[(1,)](out, None, 1, HAS=False)
    assert out.item() == 6.0
    _optional[(1,)](out, torch.full((1,), 8.0), 16, HAS=True)
    assert out.item() == 24.0


@pytest.mark.skipif(VERSION < (3, 3), reason="tuples as arguments are new in Triton 3.3")
def test_a_tuple_is_its_elements(sm_80):
    @triton.jit
    def first_and_last(out, items, LENGTH: tl.constexpr):
        tl.store(out, tl.load(items[0]) + items[LENGTH - 1])

    out = torch.zeros(1)
    first_and_last[(1,)](out, (torch.full((1,), 3.0), 2, 40), LENGTH=3)
    assert out.item() == 43.0


@triton.jit
def _places(out, X, Y):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(out + (z * Y + y) * X + x, x + 100 * y + 10000 * z)


def test_a_grid_of_three_dimensions(sm_80):
    out = torch.zeros(4, 3, 5, dtype=torch.int32)
    _places[(5, 3, 4)](out, 5, 3)
    z, y, x = torch.meshgrid(*(torch.arange(n) for n in out.shape), indexing="ij")
    assert torch.equal(out, (x + 100 * y + 10000 * z).int())


def test_a_grid_of_none_runs_nothing(sm_80):
    out = torch.zeros(4)
    add[(0,)](out, out, out, 4, BLOCK=4)
    assert out.tolist() == [0, 0, 0, 0]


def test_many_programs(sm_80):
    out = torch.zeros(70000, dtype=torch.int32)
    _places[(70000,)](out, 70000, 1)
    assert torch.equal(out, torch.arange(70000, dtype=torch.int32))


def test_a_grid_may_ask_for_the_constants(sm_80):
    x = torch.ones(300)
    out = torch.zeros(300)
    add[lambda meta: (triton.cdiv(300, meta["BLOCK"]),)](x, x, out, 300, BLOCK=64)
    assert out.tolist() == [2.0] * 300


def test_hooks_before_and_after_a_launch(sm_80):
    calls = []
    enter, leave = (lambda *a: calls.append("enter")), (lambda *a: calls.append("leave"))
    x = torch.ones(8)
    if VERSION >= (3, 5):
        from triton import knobs

        knobs.runtime.launch_enter_hook.add(enter)
        knobs.runtime.launch_exit_hook.add(leave)
        try:
            add[(1,)](x, x, x, 8, BLOCK=8)
        finally:
            knobs.runtime.launch_enter_hook.remove(enter)
            knobs.runtime.launch_exit_hook.remove(leave)
    elif VERSION == (3, 4):
        from triton import knobs

        knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook = enter, leave
        try:
            add[(1,)](x, x, x, 8, BLOCK=8)
        finally:
            knobs.runtime.launch_enter_hook = knobs.runtime.launch_exit_hook = None
    else:
        from triton.compiler import CompiledKernel

        CompiledKernel.launch_enter_hook, CompiledKernel.launch_exit_hook = enter, leave
        try:
            add[(1,)](x, x, x, 8, BLOCK=8)
        finally:
            CompiledKernel.launch_enter_hook = CompiledKernel.launch_exit_hook = None
    assert calls == ["enter", "leave"] and x.tolist() == [2.0] * 8


def test_warmup_compiles_and_runs_nothing(sm_80):
    out = torch.zeros(16)
    compiled = add.warmup(out, out, out, 16, BLOCK=16, grid=(1,))
    assert "cubin" not in compiled.asm
    assert ".target sm_80" in compiled.asm["ptx"]
    compiled._init_handles()
    assert compiled.n_regs >= 16
    assert out.tolist() == [0.0] * 16


def test_the_same_kernel_on_another_architecture():
    x = torch.ones(32)
    targets = []
    for name in ("sm_80", "sm_90", "sm_80"):
        lt.install(arch=name)
        try:
            compiled = add[(1,)](x, x, torch.zeros(32), 32, BLOCK=32)
        finally:
            lt.uninstall()
        targets.append(compiled.asm["ptx"].split(".target ")[1].split()[0])
    assert targets[0] == targets[2] == "sm_80" and targets[1] == "sm_90a"


def test_views_of_one_tensor_share_its_storage(sm_80):
    whole = torch.arange(12.0)
    add[(1,)](whole[:4], whole[4:8], whole[8:], 4, BLOCK=4)
    assert whole[8:].tolist() == [4.0, 6.0, 8.0, 10.0]


@triton.jit
def _through_pointers(pointers, out, N: tl.constexpr):
    i = tl.arange(0, N)
    source = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0) * N + i, tl.load(source + i))


def test_tensors_whose_addresses_are_in_a_tensor(sm_80):
    parts = [torch.randn(16) for _ in range(3)]
    pointers = torch.tensor([p.data_ptr() for p in parts])
    out = torch.zeros(3, 16)
    _through_pointers[(3,)](pointers, out, N=16)
    assert torch.equal(out, torch.stack(parts))


def test_a_tensor_that_is_on_no_cpu_is_refused(sm_80):
    x = torch.ones(8)
    elsewhere = torch.ones(8, device="meta")
    with pytest.raises(ValueError, match="argument y is a tensor on meta"):
        add[(1,)](x, elsewhere, x, 8, BLOCK=8)


def test_an_architecture_that_is_not_known():
    with pytest.raises(lockwarp.Error, match="sm_12.*sm_80"):
        lt.install(arch="sm_12")
    assert lt.installed() is None


@pytest.mark.skipif(VERSION < (3, 4), reason="tensor descriptors are new in Triton 3.4")
def test_a_tensor_descriptor_is_pointers_on_sm_80(sm_80):
    from triton.tools.tensor_descriptor import TensorDescriptor

    @triton.jit
    def copy(source, target, M: tl.constexpr, N: tl.constexpr):
        target.store([0, N], source.load([M, 0]))

    source, target = torch.randn(16, 32), torch.zeros(16, 64)
    block = [8, 32]
    copy[(1,)](
        TensorDescriptor(source, source.shape, source.stride(), block),
        TensorDescriptor(target, target.shape, target.stride(), block),
        M=8, N=32,
    )
    assert torch.equal(target[:8, 32:], source[8:])
    assert not target[8:].any() and not target[:, :32].any()


@triton.jit
def _product(a, b, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
    out.store([m, n], total.to(out.dtype))


@pytest.mark.skipif(VERSION < (3, 4), reason="tensor descriptors are new in Triton 3.4")
@pytest.mark.parametrize("ctas", (1, 2))
def test_a_tensor_descriptor_is_a_tensor_map_on_sm_90(sm_90, ctas, tmp_path):
    """Tensors that the blocks do not divide, and programs of two CTAs."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    M, N, K, BM, BN, BK = 100, 72, 136, 128, 64, 64
    a, b = torch.randn(M, K).half(), torch.randn(N, K).half()
    out = torch.zeros(M, N, dtype=torch.float16)
    described = (TensorDescriptor.from_tensor(a, [BM, BK]), TensorDescriptor.from_tensor(b, [BN, BK]),
                 TensorDescriptor.from_tensor(out, [BM, BN]))
    grid = (1, 2)
    file = lt.export(_product, grid, *described, K, BM, BN, BK, num_ctas=ctas, folder=tmp_path)
    _product[grid](*described, K, BM, BN, BK, num_ctas=ctas)
    torch.testing.assert_close(out.float(), a.float() @ b.float().T, rtol=2e-3, atol=2e-2)
    ran = lockwarp.run(file).outputs["out"]
    assert bytes(ran) == out.numpy().tobytes()
    with lt.check() as found:
        _product[grid](*described, K, BM, BN, BK, num_ctas=ctas)
    assert not found.faults


def test_clusters_larger_than_portable_ones(sm_90, tmp_path):
    """Triton's launcher allows them."""
    x, y = torch.randn(5000), torch.randn(5000)
    out = torch.zeros(5000)
    file = lt.export(add, (2,), x, y, out, 5000, BLOCK=4096, num_ctas=16, folder=tmp_path)
    add[(2,)](x, y, out, 5000, BLOCK=4096, num_ctas=16)
    assert torch.equal(out, x + y)
    assert bytes(lockwarp.run(file).outputs["out"]) == out.numpy().tobytes()


@pytest.mark.skipif(VERSION < (3, 4), reason="tensor descriptors are new in Triton 3.4")
def test_a_tensor_map_that_the_driver_refuses_says_why(sm_90):
    from triton.tools.tensor_descriptor import TensorDescriptor

    a = torch.randn(64 * 72).half()
    wrong = TensorDescriptor(a, [64, 64], [72, 1], [64, 64])
    wrong.base = a[1:]  # Triton 3.9 refuses to make it so
    out = torch.zeros(64, 64, dtype=torch.float16)
    with pytest.raises(lockwarp.Error, match="globalAddress"):
        _product[(1, 1)](wrong, wrong, TensorDescriptor.from_tensor(out, [64, 64]), 64, 64, 64, 64)


@triton.jit
def _staged(x, out, N: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, N, BLOCK):
        part = tl.load(x + at[:, None] * N + k + at[None, :])
        total = tl.dot(part, part, total)
    tl.store(out + at[:, None] * BLOCK + at[None, :], total)


def test_the_late_schedule_gives_what_the_early_one_gives(monkeypatch):
    x = torch.randn(32, 128).half()
    outs = []
    for given in ({}, {"schedule": "late"}):
        lt.install(arch="sm_80", **given)
        outs.append(torch.zeros(32, 32))
        _staged[(1,)](x, outs[-1], 128, 32, num_stages=3)
    assert torch.equal(*outs) and outs[0].any()
    with lt.check(), pytest.raises(lockwarp.Error, match="checks are of the early schedule"):
        _staged[(1,)](x, outs[-1], 128, 32, num_stages=3)
    with pytest.raises(lockwarp.ArgumentError, match="schedule"):
        lt.install(schedule="never")
    monkeypatch.setenv("LOCKWARP_TRITON_SCHEDULE", "late")
    lt.install(arch="sm_80")
    with lt.check(), pytest.raises(lockwarp.Error, match="checks are of the early schedule"):
        _staged[(1,)](x, outs[-1], 128, 32, num_stages=3)


@triton.jit
def _described_here(x, out, N, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [N, BLOCK], [BLOCK, 1], [16, BLOCK])
    target = tl.make_tensor_descriptor(out, [N, BLOCK], [BLOCK, 1], [16, BLOCK])
    row = tl.program_id(0) * 16
    target.store([row, 0], source.load([row, 0]) + 1)


@pytest.mark.skipif(VERSION < (3, 4), reason="tensor descriptors are new in Triton 3.4")
@pytest.mark.parametrize("ctas", (1, 2, 4))
def test_scratch_memory_of_each_cta(sm_90, ctas):
    """Descriptors that a kernel makes lie there."""
    sizes = []

    def allocate(size, alignment, stream):
        sizes.append(size)
        return torch.empty(size, dtype=torch.int8)

    triton.set_allocator(allocate)
    x, out = torch.randn(48, 64), torch.zeros(48, 64)
    _described_here[(3,)](x, out, 48, BLOCK=64, num_ctas=ctas)
    assert torch.equal(out, x + 1)
    assert sizes == [3 * ctas * 2 * 128]  # two tensor maps


def test_the_driver_that_triton_goes_back_to(sm_80):
    triton.runtime.driver.reset_active()
    x = torch.ones(8)
    add[(1,)](x, x, x, 8, BLOCK=8)
    assert x.tolist() == [2.0] * 8
