# SPDX-License-Identifier: Apache-2.0
"""What a kernel does wrong is named with its Python line."""

import inspect

import pytest
import torch
import triton
import triton.language as tl
from triton_kernels import VERSION, add

import lockwarp
import lockwarp.triton as lt


def line_of(kernel, text: str) -> int:
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_out_of_bounds_names_line_and_argument(sm_80):
    x, y, out = torch.ones(100), torch.ones(128), torch.ones(128)
    with pytest.raises(lockwarp.Trap) as caught:
        add[(1,)](x, y, out, 128, BLOCK=128)
    trap = caught.value
    assert trap.kind == "out_of_bounds"
    assert trap.source_line == line_of(add, "tl.load(x + at")
    assert trap.source_file.endswith("triton_kernels.py")
    assert "past the end of buffer 'x' (400 bytes)" in str(trap)
    assert trap.address == x.data_ptr() + 400


def test_a_view_may_touch_its_whole_storage_and_no_more(sm_80):
    whole = torch.ones(256)
    add[(1,)](whole[:128], whole[:128], torch.ones(256), 256, BLOCK=256)
    with pytest.raises(lockwarp.Trap, match="out of bounds"):
        add[(1,)](whole[128:], whole, torch.ones(256), 256, BLOCK=256)


@triton.jit
def _inner(x, i):
    value = tl.load(x + i)
    return value


@triton.jit
def _outer(x, out):
    tl.store(out, _inner(x, 7))


def test_a_function_that_was_inlined_has_its_own_line_and_that_of_the_call(sm_80):
    with pytest.raises(lockwarp.Trap) as caught:
        _outer[(1,)](torch.ones(4), torch.ones(1))
    lines = [p.line for p in caught.value.places]
    assert lines[0] == line_of(_inner, "tl.load")
    if VERSION >= (3, 9):  # before, Triton's PTX does not say where it was called
        assert line_of(_outer, "_inner(x, 7)") in lines[1:]


@triton.jit
def _asserting(x, n):
    tl.device_assert(tl.load(x) < n, "x is too large")


def test_an_assertion_that_fails(sm_80, capfd):
    _asserting[(1,)](torch.zeros(1, dtype=torch.int32), 3, debug=True)
    with pytest.raises(lockwarp.Trap, match="x is too large") as caught:
        _asserting[(1,)](torch.full((1,), 4, dtype=torch.int32), 3, debug=True)
    assert caught.value.source_line == line_of(_asserting, "device_assert")


@triton.jit
def _printing(x):
    tl.device_print("value", tl.load(x + tl.program_id(0)))


def test_device_print(sm_80, capfd):
    _printing[(2,)](torch.tensor([41, 42], dtype=torch.int32))
    out = capfd.readouterr().out.splitlines()
    assert "pid (0, 0, 0) idx () value: 41" in out
    assert "pid (1, 0, 0) idx () value: 42" in out


@triton.jit
def _early(source, out, N: tl.constexpr, STEPS: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros((N, N), dtype=tl.float32)
    for k in range(STEPS):
        tile = tl.load(source + k * N * N + at[:, None] * N + at[None, :])
        total = tl.dot(tile, tile, total)
    tl.store(out + at[:, None] * N + at[None, :], total)


def test_a_pipeline_that_triton_made_passes_the_checks(sm_80):
    source, out = torch.randn(4, 32, 32).half(), torch.zeros(32, 32)
    with lt.check(raise_faults=True) as found:
        _early[(1,)](source, out, N=32, STEPS=4, num_stages=3)
    assert found.launches == 1 and not found.faults


@triton.jit
def _turned(scratch, x, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(scratch + at, tl.load(x + at))
    tl.store(x + at, tl.load(scratch + N - 1 - at))


@triton.jit
def _turned_after_a_barrier(scratch, x, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(scratch + at, tl.load(x + at))
    tl.debug_barrier()
    tl.store(x + at, tl.load(scratch + N - 1 - at))


def test_what_a_program_stores_and_loads_again_in_other_threads_is_a_race(sm_80):
    x, scratch = torch.arange(256.0), torch.zeros(256)
    # The interpreter has one thread: it sees nothing wrong.
    found = lt.compare(_turned, (1,), scratch, x, N=256, arch=("interpreter", "interpreter"))
    assert torch.equal(found.outputs["interpreter"]["x"], x.flip(0))
    with lt.check() as found:
        _turned[(1,)](scratch, x, N=256)
    races = [f for f in found if f.check == "race-global"]
    assert races and all(f.is_fault for f in races)
    stored, loaded = line_of(_turned, "tl.store(scratch"), line_of(_turned, "tl.load(scratch")
    # Which of the two comes first is the order of the warps.
    assert {(f.line, f.what.split(",")[0]) for f in races} <= {
        (loaded, f"reads what line {stored} stores"),
        (stored, f"stores to where line {loaded} reads"),
    }
    assert races[0].file.endswith("test_triton_faults.py")
    with lt.check(raise_faults=True):
        _turned_after_a_barrier[(1,)](scratch, x, N=256)


@triton.jit
def _add_to(out, x, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(out + at, mask=at < n) + tl.load(x + at), mask=at < n)


@triton.jit
def _fill(out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, at.to(tl.float32), mask=at < n)


def test_what_torch_empty_makes_has_no_value(sm_80):
    x = torch.ones(16, 8)
    for make in (lambda: torch.empty(16, 8), lambda: torch.empty_like(x),
                 lambda: x.new_empty(16, 8), lambda: torch.empty(8, 16).t()):
        with lt.check() as found:
            _add_to[(1,)](make(), x, 128, N=128)
        faults = [f for f in found.faults if f.check == "uninitialised"]
        assert len(faults) == 1 and faults[0].kind == "stored"
        assert faults[0].line == line_of(_add_to, "tl.store(out")
    # Whoever gives it a value: torch, numpy, another kernel.
    zeroed, numpys, stored = torch.empty(16, 8).zero_(), torch.empty(16, 8), torch.empty(16, 8)
    numpys.numpy()[:] = 3
    with lt.check() as found:
        _fill[(1,)](stored, 128, N=128)
        for out in (zeroed, numpys, stored):
            _add_to[(1,)](out, x, 128, N=128)
    assert not found.faults, str(found)
    half = torch.empty(16, 8)
    half[:8] = 0
    with lt.check(raise_faults=True):
        _add_to[(1,)](half, x, 64, N=128)
    with lt.check() as found:
        _add_to[(1,)](half, x, 128, N=128)
    (fault,) = found.faults
    assert "out + 256 = out[8][0]" in fault.place
    assert torch.empty(4, dtype=torch.bool).tolist() is not None
    lt.uninstall()
    assert not hasattr(torch.empty, "__wrapped__")


def test_check_needs_install():
    with pytest.raises(lockwarp.Error, match="lt.install"):
        with lt.check():
            pass


def test_cuda_without_a_gpu_gets_a_sentence(sm_80):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="Lockwarp.*map_cuda=True"):
        torch.empty(3, device="cuda")
