# SPDX-License-Identifier: Apache-2.0
"""Kernels in Gluon, Triton's language of layouts, shared memory and barriers."""

import pytest
import torch
import triton
from triton_kernels import VERSION

import lockwarp
import lockwarp.triton as lt

pytestmark = pytest.mark.skipif(VERSION < (3, 9), reason="Gluon is written otherwise before")
if VERSION >= (3, 9):
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.ampere import async_copy
    from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


def _kernels():
    @gluon.jit
    def through_tma(source, target, ROWS: gl.constexpr):
        bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
        mbarrier.init(bar, count=1)
        tile = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
        row = gl.program_id(0) * ROWS
        mbarrier.expect(bar, source.block_type.nbytes)
        tma.async_load(source, [row, 0], bar, tile)
        mbarrier.wait(bar, phase=0)
        mbarrier.invalidate(bar)
        layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
        tile.store(tile.load(layout) + 1)
        fence_async_shared()
        tma.async_store(target, [row, 0], tile)
        tma.store_wait(pendings=0)

    @gluon.jit
    def copied(x, out, N: gl.constexpr, WAITS: gl.constexpr):
        layout: gl.constexpr = gl.BlockedLayout([4], [32], [1], [0])
        at = gl.arange(0, N, layout=layout)
        tile = gl.allocate_shared_memory(gl.float32, [N], gl.SwizzledSharedLayout(1, 1, 1, [0]))
        async_copy.async_load(tile, x + at)
        async_copy.commit_group()
        if WAITS:
            async_copy.wait_group(0)
        gl.store(out + at, tile.load(layout))

    return through_tma, copied


def test_a_tile_through_tma(sm_90):
    through_tma, _ = _kernels()
    x, out = torch.randn(64, 32), torch.zeros(64, 32)
    layout = gl.NVMMASharedLayout.get_default_for([16, 32], gl.float32)
    described = [TensorDescriptor.from_tensor(t, [16, 32], layout) for t in (x, out)]
    with lt.check() as found:
        through_tma[(4,)](*described, ROWS=16, num_warps=4)
    assert torch.equal(out, x + 1)
    assert not found.faults


def test_a_copy_that_is_not_waited_for(sm_90):
    _, copied = _kernels()
    x, out = torch.randn(128), torch.zeros(128)
    for waits in (True, False):
        with lt.check() as found:
            copied[(1,)](x, out, N=128, WAITS=waits, num_warps=1)
        assert torch.equal(out, x)
        assert any(f.check == "sync" for f in found) != waits


def test_tritons_sanitizer_has_its_memory(sm_90, capsys):
    """ConSan finds the same, in what Triton makes of the kernel."""
    _, copied = _kernels()
    x, out = torch.randn(128), torch.zeros(128)
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.instrumentation_mode = "consan"
        copied[(1,)](x, out, N=128, WAITS=True, num_warps=1)
        assert torch.equal(out, x)
        with pytest.raises(lockwarp.Trap, match="(?s)pending access.*device-side assert"):
            copied[(1,)](x, out, N=128, WAITS=False, num_warps=1)
    said = capsys.readouterr().err
    assert "block: [0, 0, 0], thread: [0, 0, 0] Assertion `Accessing buffer with pending" in said
