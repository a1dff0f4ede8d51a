# SPDX-License-Identifier: Apache-2.0
"""run, replay, time, validate, and the questions: the same answers as the program's."""

import json
import os
import shutil
import subprocess

import lockwarp as lw
import numpy as np
import pytest


def test_run(repository):
    r = lw.run(repository / "gpu/kernels/mma_m16n8k16.json")
    d = r.outputs["D"].view(np.float16).reshape(16, 8)
    assert d.dtype == np.float16 and d[0, 0] == np.float16(0.124)
    assert set(r.buffers) == {"A", "B", "D"}
    assert str(r).startswith("done: mma_m16n8k16 on sm_80, 1 CTA, 42 instructions")
    assert r.stats.instructions == 42 and not r.ok  # it expects nothing
    d[:] = 0  # an array of its own
    assert "<pre>" in r._repr_html_()


def test_run_agrees_with_mma(repository):
    r = lw.run(repository / "gpu/kernels/mma_m16n8k16.json", arch="sm_80")
    a = r.buffers["A"].view(np.float16).reshape(16, 16)
    b = r.buffers["B"].view(np.float16)
    c = np.zeros((16, 8), np.float32)
    d = lw.mma("m16n8k16.f32.f16", a, b.reshape(8, 16).T, c, arch="sm_80")
    assert (d.astype(np.float16) == r.outputs["D"].view(np.float16).reshape(16, 8)).all()


def test_run_holds_expectations(repository, tmp_path):
    file = json.loads((repository / "gpu/kernels/mma_m16n8k16.json").read_text())
    file["ptx"] = str(repository / "gpu/kernels" / file["ptx"])
    file["expect"] = [{"product": "D = A*B'", "shape": [16, 8, 16],
                       "types": {"A": "f16", "B": "f16", "D": "f16"}, "ulp": 1}]
    path = tmp_path / "launch.json"
    path.write_text(json.dumps(file))
    r = lw.run(path)
    assert r.ok and "128 values as expected" in str(r)
    file["expect"][0]["product"] = "D = A*B' + A"  # which it is not
    path.write_text(json.dumps(file))
    r = lw.run(path)
    assert not r.ok and "DIFFERS" in str(r)


def test_run_says_what_is_wrong(repository, tmp_path):
    with pytest.raises(lw.Error, match="No such file"):
        lw.run(tmp_path / "none.json")
    path = tmp_path / "bad.json"
    path.write_text('{"schema": "lockwarp-launch/1", "grid": 0}')
    with pytest.raises(lw.Error, match="bad.json:1"):
        lw.run(path)
    with pytest.raises(lw.Trap, match="generic address") as caught:
        lw.run(repository / "tests/questions/generic_address.json")
    assert caught.value.line > 0
    r = lw.run(repository / "tests/questions/in_flight.json", checks="all")
    assert any(c.findings for c in r.launches[0].checks) and "CHECK" in str(r)


def test_replay(repository):
    r = lw.replay(repository / "tests/golden/sm_90/ldmatrix.lwr")
    assert r.identical and r.values == 36_608 and "H200" in r.results[0].device
    with pytest.raises(lw.Error, match="no recordings"):
        lw.replay(repository / "tests/questions")


def test_replay_of_a_damaged_recording(repository, tmp_path):
    path = tmp_path / "damaged.lwr"
    data = bytearray((repository / "tests/golden/sm_90/ldmatrix.lwr").read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    r = lw.replay(path)
    assert not r.identical and r.results[0].verdict == "failed"


def gemm(repository):
    file = json.loads((repository / "gpu/timed/wmma_rc_one.json").read_text())
    k = lw.Module(repository / "gpu/timed" / file["ptx"], arch="sm_90").kernel(file["entry"])
    rng = np.random.default_rng(0)
    a = rng.standard_normal((64, 512)).astype(np.float16)
    b = rng.standard_normal((512, 64)).astype(np.float16)
    c = np.full((64, 64), 7, np.float32)
    return k, (a, b, c, 64, 64, 512)


def test_time(repository):
    k, arguments = gemm(repository)
    t = k[1, 128].time(*arguments, arch="H200")
    assert t.product == "H200" and t.arch == "sm_90"
    assert t.cycles == 13_295 and 6 < t.microseconds < 8  # as README.md prints it
    assert (arguments[2] == 7).all(), "the arrays stay as they are"
    assert str(t).startswith("13,295 cycles per CTA") and sum(t.stalls.values()) > 0
    assert k.time(1, 128, *arguments, arch="sm_80").arch == "sm_80"
    with pytest.raises(lw.Error, match='"Voodoo" has no cycle model; these have one'):
        k[1, 128].time(*arguments, arch="Voodoo")
    with pytest.raises(lw.Trap):
        k[1, 128].time(np.zeros(3, np.float16), *arguments[1:])


def test_validate_without_a_gpu(repository):
    k, arguments = gemm(repository)
    try:
        found = k[1, 128].validate(*arguments)
    except lw.NoGpu as error:
        assert isinstance(error, lw.Error) and "validate needs a GPU" in str(error)
        pytest.skip(str(error))
    assert found.identical and found.values > 0


LIST = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry walk(.param .align 8 .b8 s[16], .param .u64 out)
{
 .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p;
 ld.param.u64 %rd1, [s];
 ld.param.u64 %rd2, [s+8];
 ld.param.u64 %rd3, [out];
 mov.u32 %r1, 0;
next:
 setp.eq.u64 %p, %rd1, 0;
 @%p bra done;
 ld.global.u32 %r2, [%rd1+8];
 add.u32 %r1, %r1, %r2;
 st.global.u32 [%rd2], %r1;
 add.u64 %rd2, %rd2, 4;
 ld.global.u64 %rd1, [%rd1];
 bra next;
done:
 st.global.u32 [%rd3], %r1;
 ret;
}
"""


def linked_list():
    """A struct of pointers, and a list whose nodes are (address of the next, value): arguments and
    memory= of LIST."""
    nodes, sums, out = np.zeros((4, 2), np.uint64), np.zeros(4, np.uint32), np.zeros(1, np.uint32)
    order, address = [2, 0, 3, 1], nodes.ctypes.data
    for i, node in enumerate(order):
        nodes[node] = address + 16 * order[i + 1] if i < 3 else 0, 10 ** i
    struct = np.array([address + 16 * order[0], sums.ctypes.data], np.uint64).tobytes()
    return (struct, out), [nodes, sums]


def test_pointers_in_structs_and_in_arrays():
    arguments, memory = linked_list()
    lw.Module(LIST, arch="sm_90").kernel()[1, 1](*arguments, memory=memory)
    assert memory[1].tolist() == [1, 11, 111, 1111] and arguments[1][0] == 1111


def test_validate_follows_pointers_in_structs_and_in_arrays():
    arguments, memory = linked_list()
    try:
        found = lw.Module(LIST, arch="sm_90").kernel()[1, 1].validate(*arguments, memory=memory)
    except lw.NoGpu as error:
        pytest.skip(str(error))
    assert found.identical and found.values > 0, str(found)
    assert not memory[1].any() and not arguments[1].any()  # both ran on copies


def test_explain():
    e = lw.explain("m16n8k8.f16.f16.f16.f16", 0, 0, a=[2048, 1, 0, 0, 0, 0, 0, 0], b=[1] * 8, c=0,
                   arch="sm_90")
    assert e.line == "D[0][0] = 0x6800 = 2048 on sm_90"
    assert [s.archs for s in e.results] == [("sm_90",)] and e.results[0].bits == 0x6800
    assert "2049" in str(e) and e._repr_html_()
    a = np.zeros((16, 8), np.float16)
    a[0, :2] = 2048, 1
    b = np.ones((8, 8), np.float16)
    whole = lw.explain("m16n8k8.f16.f16.f16.f16", 0, 0, a=a, b=b, c=np.float16(0), arch="sm_90")
    assert whole.line == e.line
    with pytest.raises(lw.Error):
        lw.explain("m16n8k8.f16.f16.f16.f16", 99, 0)


def test_equiv_and_banks():
    assert lw.equiv("m16n8k16.f32.f16@sm_80", "m16n8k16.f32.f16@sm_86").same is True
    b = lw.banks("ldmatrix.x4", stride=128)
    assert (b.wavefronts, b.least) == (32, 4)
    assert lw.banks("ldmatrix.x4", stride=128, swizzle="3,4,3").wavefronts == 4
    with pytest.raises(lw.Error, match="no swizzle"):
        lw.banks("ldmatrix.x4", swizzle="9")
    assert "yes" in lw.compat("C:m16n8k16.f32.f16", "A:m16n8k16.f32.f16").line
    assert "m8n8k4" in str(lw.info("m8n8k4.f32.f16.f16.f32"))


PROGRAM = os.environ.get("LOCKWARP_PROGRAM")


@pytest.mark.skipif(not PROGRAM, reason="LOCKWARP_PROGRAM names no program")
@pytest.mark.parametrize("words, answer", [
    (["explain", "m16n8k8.f16.f16.f16.f16", "D", "0", "0", "--a", "2048,1,0,0,0,0,0,0", "--b",
      "1,1,1,1,1,1,1,1", "--c", "0"],
     lambda: lw.explain("m16n8k8.f16.f16.f16.f16", 0, 0, a=[2048, 1, 0, 0, 0, 0, 0, 0], b=[1] * 8,
                        c=0)),
    (["equiv", "m16n8k8.f32.f16", "m16n8k16.f32.f16", "--arch", "sm_80,sm_90"],
     lambda: lw.equiv("m16n8k8.f32.f16", "m16n8k16.f32.f16", arch="sm_80,sm_90")),
    (["banks", "ldmatrix.x4", "--stride", "128"], lambda: lw.banks("ldmatrix.x4", stride=128)),
    (["info", "m8n8k4.f32.f16.f16.f32"], lambda: lw.info("m8n8k4.f32.f16.f16.f32")),
])
def test_as_the_program(words, answer):
    printed = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout
    assert str(answer()) == printed


CUDA = """extern "C" __global__ void scale(float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
"""


@pytest.mark.skipif(shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
                    is None, reason="no nvcc")
def test_cuda(tmp_path):
    x = np.ones(10, np.float32)
    lw.Module(CUDA, arch="sm_80").kernel()[1, 32](x, 3.0, 10)
    assert (x == 3).all()
    path = tmp_path / "scale.cu"
    path.write_text(CUDA)
    k = lw.Module(path, arch="sm_80").kernel("scale")
    with pytest.raises(lw.Trap) as caught:
        k[1, 32](x, 3.0, 11)
    assert caught.value.source_file.endswith("scale.cu") and caught.value.source_line == 3
    path.write_text(CUDA.replace("blockIdx", "blockId"))
    with pytest.raises(lw.Error, match="nvcc could not compile it"):
        lw.Module(path, arch="sm_80")


def test_cuda_by_nvrtc(tmp_path, monkeypatch):
    from lockwarp import cuda

    if cuda._library() is None:
        pytest.skip("no NVRTC")
    monkeypatch.setattr(cuda, "has_nvcc", lambda: False)
    x = np.ones(10, np.float32)
    k = lw.Module(CUDA, arch="sm_80").kernel("scale")
    k[1, 32](x, 3.0, 10)
    assert (x == 3).all()
    path = tmp_path / "scale.cu"
    path.write_text(CUDA)
    with pytest.raises(lw.Trap) as caught:
        lw.Module(path, arch="sm_80").kernel()[1, 32](x, 3.0, 11)
    assert caught.value.source_file.endswith("scale.cu") and caught.value.source_line == 3
    with pytest.raises(lw.Error, match="NVRTC could not compile it\n.*blockId"):
        lw.Module(CUDA.replace("blockIdx", "blockId"), arch="sm_80")
    monkeypatch.setattr(cuda, "_library", lambda: None)
    with pytest.raises(lw.Error, match="neither nvcc nor NVRTC is installed"):
        lw.Module(CUDA)
