# SPDX-License-Identifier: Apache-2.0
"""Benchmarks, comparison, launch files, and scripts with nothing changed in them."""

import json
import os
import subprocess
import sys
import textwrap

import numpy
import pytest
import torch
import triton
import triton.language as tl
from triton_kernels import add, dot, matmul

import lockwarp
import lockwarp.triton as lt


def test_do_bench_is_the_modelled_machines_time(sm_80):
    x = torch.ones(4096)
    small = triton.testing.do_bench(lambda: add[(1,)](x, x, x, 128, BLOCK=128))
    large = triton.testing.do_bench(lambda: add[(32,)](x, x, x, 4096, BLOCK=128))
    assert 0 < small < large
    again = triton.testing.do_bench(lambda: add[(32,)](x, x, x, 4096, BLOCK=128), return_mode="all")
    assert again == [pytest.approx(large)]
    three = triton.testing.do_bench(lambda: add[(1,)](x, x, x, 128, BLOCK=128),
                                    quantiles=[0.5, 0.2, 0.8])
    assert three == [pytest.approx(small)] * 3


def test_autotune_takes_the_faster_and_restores_what_it_wrote(sm_80):
    @triton.autotune(
        configs=[triton.Config({"BLOCK": 32}, num_warps=1), triton.Config({"BLOCK": 512})],
        key=["n"], restore_value=["out"],
    )
    @triton.jit
    def increment(out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(out + at, mask=at < n) + 1, mask=at < n)

    out = torch.zeros(5000)
    increment[lambda meta: (triton.cdiv(5000, meta["BLOCK"]),)](out, 5000)
    assert out.tolist() == [1.0] * 5000
    assert len(increment.configs_timings) == 2


def test_heuristics(sm_80):
    @triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
    @triton.jit
    def fill(out, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(out + at, BLOCK, mask=at < n)

    out = torch.zeros(100)
    fill[(1,)](out, 100)
    assert out.tolist() == [128.0] * 100


def test_compare_finds_that_tf32_is_another_on_another_architecture():
    a, b, c = torch.randn(32, 64), torch.randn(64, 32), torch.zeros(32, 32)
    found = lt.compare(dot, (1,), a, b, c, M=32, N=32, K=64, PRECISION="tf32",
                       arch=("sm_80", "sm_90", "interpreter"))
    assert not found and not c.any()
    by_side = {d.sides: d for d in found.differences}
    machines = by_side[("sm_80", "sm_90")]
    assert machines.argument == "c" and machines.elements == 1024 and machines.largest < 1e-4
    first = found.outputs["sm_80"]["c"][machines.index].item()
    assert machines.values[0] == first != machines.values[1]
    # numpy's products are not rounded to tf32.
    assert by_side[("sm_80", "interpreter")].largest > 1e-3
    exact = a @ b
    assert torch.allclose(found.outputs["interpreter"]["c"], exact, atol=1e-4)
    assert "c: sm_80 and sm_90 differ in" in str(found)
    assert lt.installed() is None


def test_compare_finds_nothing_where_there_is_nothing(sm_80):
    x, out = torch.ones(64), torch.zeros(64)
    found = lt.compare(add, (1,), x, x, out, 64, BLOCK=64, arch=("sm_80", "sm_90", "interpreter"))
    assert found and found.tensors == 3
    assert lt.installed() == "sm_80"
    with pytest.raises(lockwarp.Error, match="two sides"):
        lt.compare(add, (1,), x, x, out, 64, BLOCK=64, arch=("sm_80",))


def test_compare_with_a_gpu_says_where_there_is_none():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    x = torch.ones(8)
    with pytest.raises(lockwarp.NoGpu):
        lt.compare(add, (1,), x, x, x.clone(), 8, BLOCK=8, arch=("sm_80", "gpu"))


def test_export_writes_what_was_to_run_and_runs_nothing(sm_80, tmp_path):
    M, N, K = 40, 50, 60
    a, b, c = torch.randn(M, K).half(), torch.randn(K, N).half(), torch.full((M, N), -1.0)
    grid = (triton.cdiv(N, 32), triton.cdiv(M, 32))
    sizes = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "PRECISION": None}
    path = lt.export(matmul, grid, a, b, c, M, N, K, **sizes, folder=tmp_path / "launch")
    assert (c == -1).all()
    launch = json.loads(path.read_text())
    assert launch["entry"] == "matmul" and launch["arch"] == "sm_80"
    assert launch["grid"] == [2, 2, 1] and launch["block"] == [128, 1, 1]
    assert [x for x in launch["args"][:3]] == [{"buffer": n} for n in "abc"]
    assert [x["u32"] for x in launch["args"][3:6]] == [M, N, K]
    assert (path.parent / "a.bin").read_bytes() == a.numpy().tobytes()
    program = os.environ.get("LOCKWARP_PROGRAM")
    if not program:
        pytest.skip("LOCKWARP_PROGRAM does not name the program")
    subprocess.run([program, "run", path, "--out", tmp_path / "out"], check=True)
    there = torch.from_numpy(numpy.fromfile(tmp_path / "out" / "c.bin", dtype=numpy.float32))
    matmul[grid](a, b, c, M, N, K, **sizes)
    assert torch.equal(there.reshape(M, N), c)


def test_export_keeps_pointers_in_tensors(sm_80, tmp_path):
    @triton.jit
    def read(pointers, out):
        tl.store(out, tl.load(tl.load(pointers).to(tl.pointer_type(tl.float32)) + 1))

    source, out = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(1)
    pointers = torch.tensor([source[1:].data_ptr()])
    launch = json.loads(lt.export(read, (1,), pointers, out, folder=tmp_path).read_text())
    target = launch["buffers"]["pointers"]["pointers"]["0"]
    assert target["offset"] == 4
    assert launch["buffers"][target["buffer"]]["bytes"] == 12


SCRIPT = """
    import torch, triton, triton.language as tl

    @triton.jit
    def twice(x, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(x + at, 2 * tl.load(x + at))

    x = torch.arange(16, device=DEVICE)
    twice[(1,)](x, BLOCK=16)
    print(x.tolist(), triton.runtime.driver.active.get_current_target().arch)
"""
PRINTED = f"{list(range(0, 32, 2))} 90\n"


@pytest.fixture
def script(tmp_path):
    def write(device):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(SCRIPT).replace("DEVICE", repr(device)))
        return path

    return write


def run(command, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKWARP_TRITON")}
    return subprocess.run([sys.executable, *map(str, command)], env=environment | variables,
                          capture_output=True, text=True)


def test_the_variable_alone_is_enough(script):
    import importlib.metadata

    named = importlib.metadata.entry_points(group="torch.backends", name="lockwarp")
    if not named:
        pytest.skip("lockwarp is not installed, only on the path")
    done = run([script("cpu")], LOCKWARP_TRITON="sm_90")
    assert done.stdout == PRINTED, done.stderr
    done = run([script("cuda")], LOCKWARP_TRITON="sm_90", LOCKWARP_TRITON_CUDA="cpu")
    assert done.stdout == PRINTED, done.stderr
    before = ["-c", "import torch; print(torch.ones(2, device='cuda').is_cuda); import triton"]
    done = run(before, LOCKWARP_TRITON="sm_90", LOCKWARP_TRITON_CUDA="cpu")
    assert done.stdout == "True\n", done.stderr
    done = run([script("cuda")], LOCKWARP_TRITON="sm_90")
    if not torch.cuda.is_available():
        assert done.returncode != 0 and "LOCKWARP_TRITON_CUDA=cpu" in done.stderr


def test_a_script_by_the_module(script, tmp_path):
    folder = tmp_path / "saved"
    done = run(["-m", "lockwarp.triton", "--arch", "sm_90", "--cuda", "--save", folder,
                script("cuda")])
    assert done.stdout == PRINTED, done.stderr
    launch = json.loads((folder / "twice.0" / "launch.json").read_text())
    assert launch["arch"] == "sm_90"


def test_a_launch_after_the_first_costs_little(sm_80):
    import time

    x = torch.ones(16)
    add[(1,)](x, x, x, 16, BLOCK=16, num_warps=1)
    times = []
    for _ in range(200):
        begin = time.perf_counter()
        add[(1,)](x, x, x, 16, BLOCK=16, num_warps=1)
        times.append(time.perf_counter() - begin)
    assert sorted(times)[100] < 2e-3  # about 0.1 ms on an idle machine
