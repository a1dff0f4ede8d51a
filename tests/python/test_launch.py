# SPDX-License-Identifier: Apache-2.0
"""Modules, arguments, launches, traps."""

import ctypes
import json
import os
import pickle
import signal
import struct
import threading
import time

import lockwarp as lw
import numpy as np
import pytest

AXPY = """.version 7.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
 .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<4>; .reg .pred %p;
 ld.param.u64 %rd1, [x];
 ld.param.u64 %rd2, [y];
 ld.param.f32 %f1, [a];
 ld.param.u32 %r4, [n];
 mov.u32 %r1, %tid.x;
 mov.u32 %r2, %ctaid.x;
 mov.u32 %r3, %ntid.x;
 mad.lo.u32 %r1, %r2, %r3, %r1;
 setp.ge.u32 %p, %r1, %r4;
 @%p ret;
 mul.wide.u32 %rd3, %r1, 4;
 add.u64 %rd1, %rd1, %rd3;
 add.u64 %rd2, %rd2, %rd3;
 ld.global.f32 %f2, [%rd1];
 ld.global.f32 %f3, [%rd2];
 fma.rn.f32 %f3, %f1, %f2, %f3;
 st.global.f32 [%rd2], %f3;
 ret;
}
"""

# Stores the bytes of its parameters, one array of each size.
ECHO = """.version 7.0
.target sm_80
.address_size 64
.visible .entry echo(.param .u64 out, .param .{type} v)
{{
 .reg .b64 %rd<2>; .reg .b{bits} %v;
 ld.param.u64 %rd1, [out];
 ld.param.b{bits} %v, [v];
 st.global.b{bits} [%rd1], %v;
 ret;
}}
"""

COUNTER = """.version 7.0
.target sm_80
.address_size 64
.global .u32 count = 5;
.visible .entry step(.param .u64 out)
{
 .reg .b32 %r<2>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1, [out];
 atom.global.add.u32 %r1, [count], 1;
 st.global.u32 [%rd1], %r1;
 ret;
}
.visible .entry other(.param .u64 out)
{
 .reg .b32 %r<2>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1, [out];
 ld.global.u32 %r1, [count];
 st.global.u32 [%rd1], %r1;
 ret;
}
"""

FOREVER = """.version 7.0
.target sm_80
.address_size 64
.visible .entry forever()
{
 .reg .b64 %n; .reg .pred %p;
 mov.u64 %n, 0;
 again:
 add.u64 %n, %n, 1;
 setp.lt.u64 %p, %n, 0xffffffffffff;
 @%p bra again;
 ret;
}
"""


@pytest.fixture
def axpy():
    return lw.Module(AXPY).kernel()


def test_in_place(axpy):
    x = np.arange(100, dtype=np.float32)
    y = np.ones(100, np.float32)
    r = axpy[4, 32](x, y, 2.0, 100)
    assert (y == 2 * x + 1).all()
    assert r.stats.ctas == 4 and r.stats.warps == 4 and r.stats.instructions > 0
    assert r.trap is None and r.printf == ""


def test_kernel_says_what_it_is(axpy):
    assert axpy.name == "axpy" and axpy.arch == "sm_80"
    assert axpy.parameters == [("x", 8, 8), ("y", 8, 8), ("a", 4, 4), ("n", 4, 4)]
    assert [p.type for p in axpy.signature] == ["u64", "u64", "f32", "u32"]
    assert axpy.parameter_bytes == 24
    module = lw.Module(COUNTER)
    assert module.entries == ["step", "other"] and module.arch == "sm_80"
    with pytest.raises(lw.Error, match="several kernels"):
        module.kernel()


def test_raw(axpy):
    x = np.arange(8, dtype=np.float32)
    y = np.zeros(8, np.float32)
    parameters = struct.pack("<QQfI", x.ctypes.data, y.ctypes.data, 3.0, 8)
    memory = [(x.ctypes.data, x.nbytes, "x"), (y.ctypes.data, y.nbytes, "y")]
    r = axpy.launch_raw((1, 1, 1), (32, 1, 1), 0, parameters, memory)
    assert r.trap is None and (y == 3 * x).all()
    with pytest.raises(lw.Error, match="23 bytes of parameters: the kernel has 24"):
        axpy.launch_raw((1, 1, 1), (32, 1, 1), 0, parameters[:-1], memory)


def test_trap_has_its_place(axpy):
    x = np.zeros(100, np.float32)
    y = np.zeros(100, np.float32)
    with pytest.raises(lw.Trap, match="4 bytes, 0 bytes past the end of buffer 'x'") as caught:
        axpy[4, 32](x, y, 2.0, 101)
    t = caught.value
    assert isinstance(t, lw.Error)
    assert (t.kind, t.line, t.cta, t.warp, t.lane) == ("out_of_bounds", 20, (3, 0, 0), 0, 4)
    assert t.address == x.ctypes.data + 400 and t.space == "global" and t.entry == "axpy"
    assert t.result.stats.instructions > 0
    again = pickle.loads(pickle.dumps(t))  # as a test that runs in another process hands it over
    assert str(again) == str(t) and again.lane == 4
    r = axpy[4, 32](x, y, 2.0, 101, trap="return")
    assert r.trap.kind == "out_of_bounds"


def test_what_is_wrong_with_a_module():
    with pytest.raises(lw.Error, match="did you mean 'fma'"):
        lw.Module(AXPY.replace("fma.rn", "fmaa.rn")).kernel()
    with pytest.raises(lw.Error, match="is not modelled; one of sm_70"):
        lw.Module(AXPY, arch="sm_10")
    with pytest.raises(lw.Error, match="No such file"):
        lw.Module("/nowhere/kernel.ptx")


@pytest.mark.parametrize("arguments, words", [
    ((None, None, 2.0), "3 given, the kernel has 4; missing: n"),
    ((np.zeros(2), np.zeros(2), np.zeros(2), 3), "argument 2 'a' .* takes a number, not an array"),
    ((None, None, 2.0, 1 << 32), "4294967296 does not fit .u32"),
    ((None, None, 2.0, -(1 << 31) - 1), "does not fit .u32"),
    ((None, None, 2.0, 1.5), "takes no float: it takes an int"),
    ((None, None, np.float64(2), 1), "float64 has 8 bytes, the parameter .* has 4"),
    ((None, None, np.int32(2), 1), "the parameter is .f32, not int32"),
    ((None, None, 2.0, "x"), "a str is neither an array nor a number"),
    ((None, None, None, 3), "None is a null pointer"),
])
def test_arguments_that_do_not_fit(axpy, arguments, words):
    with pytest.raises(lw.ArgumentError, match=words):
        axpy[1, 32](*arguments)


@pytest.mark.parametrize("type, bits, value, expected", [
    ("u32", 32, -1, 0xFFFFFFFF), ("s32", 32, -2, 0xFFFFFFFE), ("u8", 8, 255, 255),
    ("u16", 16, 7, 7), ("u64", 64, (1 << 64) - 1, (1 << 64) - 1), ("u32", 32, True, 1),
    ("f32", 32, 1.5, 0x3FC00000), ("f32", 32, 3, 0x40400000), ("f64", 64, 0.5, 0x3FE0 << 48),
    ("f32", 32, 1e300, 0x7F800000), ("b32", 32, 1.5, 0x3FC00000), ("b32", 32, 7, 7),
    ("f16", 16, 1.0, 0x3C00), ("f32", 32, np.float32(1.5), 0x3FC00000),
    ("b16", 16, np.float16(1), 0x3C00), ("u32", 32, b"\1\2\3\4", 0x04030201),
])
def test_scalars(type, bits, value, expected):
    out = np.zeros(1, np.uint64)
    lw.Module(ECHO.format(type=type, bits=bits)).kernel()[1, 1](out, value)
    assert int(out[0]) == expected


def test_views_and_strides(axpy):
    base = np.arange(64, dtype=np.float32)
    y = np.zeros(64, np.float32)
    half = base[::2]
    axpy[1, 32](half, y, 1.0, 32)  # a pointer to the first, and all bytes up to the last
    assert (y[:32] == base[:32]).all()
    backwards = base[::-1]
    with pytest.raises(lw.Trap):  # a pointer to its first element, the highest
        axpy[1, 32](backwards, y, 1.0, 2)
    y[:] = 0
    axpy[1, 32](base[8:16], y, 1.0, 8)
    assert (y[:8] == base[8:16]).all()
    with pytest.raises(lw.Trap):
        axpy[1, 32](base[8:16], y, 1.0, 9)


def test_same_array_twice(axpy):
    x = np.arange(32, dtype=np.float32)
    axpy[1, 32](x, x, 1.0, 32)
    assert (x == 2 * np.arange(32)).all()


def test_read_only_is_refused(axpy):
    x = np.zeros(4, np.float32)
    x.flags.writeable = False
    with pytest.raises(lw.ArgumentError, match="read-only"):
        axpy[1, 32](x, np.zeros(4, np.float32), 1.0, 4)
    with pytest.raises(lw.ArgumentError, match="Python objects"):
        axpy[1, 32](np.array([None]), np.zeros(4, np.float32), 1.0, 4)


class Interface:
    """Only the array interface."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Capsule:
    """Only DLPack."""

    def __init__(self, array, device=None, versioned=False):
        self.array = array
        self.device = device
        self.versioned = versioned

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("an exporter of before DLPack 1.0")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [Interface, Capsule])
def test_other_arrays(axpy, wrap):
    x = np.arange(32, dtype=np.float32)
    y = np.zeros((4, 16), np.float32)
    axpy[1, 32](wrap(x), wrap(y[:, :8]), 1.0, 32)
    assert (y.reshape(-1)[:32] == x).all()
    with pytest.raises(lw.Trap):
        axpy[2, 32](wrap(np.zeros(64, np.float32)), wrap(y[:, :8]), 1.0, 57)
    if wrap is Capsule:
        fixed = np.zeros(64, np.float32)
        fixed.flags.writeable = False
        if np.__version__ >= "2.1":  # older ones do not export it
            with pytest.raises(lw.ArgumentError, match="read-only"):
                axpy[1, 32](Capsule(fixed, versioned=True), y, 1.0, 1)
        with pytest.raises(lw.ArgumentError, match="not in the host's memory"):
            axpy[1, 32](wrap(x, (2, 0)), y, 1.0, 1)


def test_torch_tensors(axpy):
    torch = pytest.importorskip("torch")
    x = torch.arange(32, dtype=torch.float32)
    y = torch.ones(32)
    axpy[1, 32](x, y, 2.0, 32)
    assert (y == 2 * x + 1).all()
    with pytest.raises(lw.ArgumentError, match="argument 0 'x': .*grad"):
        axpy[1, 32](torch.ones(8, requires_grad=True), y, 2.0, 8)


def test_pointers_within_arguments():
    data = np.arange(4, dtype=np.float32)
    y = np.zeros(4, np.float32)
    k = lw.Module(AXPY).kernel()
    address = np.uint64(data.ctypes.data)
    with pytest.raises(lw.Trap):
        k[1, 32](address, y, 1.0, 4)
    k[1, 32](address, y, 1.0, 4, memory=[data])
    assert (y == data).all()


def test_variables_last():
    module = lw.Module(COUNTER)
    out = np.zeros(1, np.uint32)
    step = module.kernel("step")
    for expected in (5, 6, 7):
        step[1, 1](out)
        assert out[0] == expected
    module["other"][1, 1](out)
    assert out[0] == 8
    assert step.variable("count") == struct.pack("<I", 8)
    lw.Module(COUNTER)["step"][1, 1](out)  # another module has variables of its own
    assert out[0] == 5


def test_grid_and_block(axpy):
    for bad in (0, -1, (1, 2, 3, 4), "x", 1.5):
        with pytest.raises(lw.ArgumentError):
            axpy[bad, 32]
    with pytest.raises(lw.ArgumentError):
        axpy[1]
    for shared in (-1, 1 << 32, 1.5):
        with pytest.raises(lw.ArgumentError, match="dynamic_shared"):
            axpy[1, 32, shared]
    for options in ({"threads": -1}, {"max_steps": 0}, {"max_steps": "many"}):
        with pytest.raises(lw.ArgumentError, match="a whole number from"):
            axpy[1, 32](None, None, 0.0, 0, **options)
    with pytest.raises(TypeError):
        axpy.launch_raw(1, 32, 0, b"", [])
    with pytest.raises(lw.Error, match="a CTA has 1 to 1024 threads"):
        axpy[1, 2048](None, None, 0.0, 0)


UNWAITED = """.version 7.0
.target sm_80
.address_size 64
.shared .align 4 .b32 here;
.visible .entry k(.param .u64 out, .param .u64 in)
{
 .reg .b32 %r<3>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [out];
 ld.param.u64 %rd2, [in];
 mov.u32 %r1, here;
 mov.u32 %r2, 7;
 st.shared.u32 [%r1], %r2;
 cp.async.ca.shared.global [%r1], [%rd2], 4;
 ld.shared.u32 %r2, [%r1];
 st.global.u32 [%rd1], %r2;
 ret;
}
"""


RANKS = """.version 7.8
.target sm_90
.address_size 64
.visible .entry ranks(.param .u64 out)
{
 .reg .b32 %r<4>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [out];
 mov.u32 %r1, %ctaid.x;
 mov.u32 %r2, %cluster_ctarank;
 mov.u32 %r3, %cluster_nctarank;
 mad.lo.u32 %r2, %r3, 100, %r2;
 mul.wide.u32 %rd2, %r1, 4;
 add.u64 %rd1, %rd1, %rd2;
 st.global.b32 [%rd1], %r2;
 ret;
}
"""


def test_clusters():
    k = lw.Module(RANKS, arch="sm_90").kernel("ranks")
    out = np.zeros(32, np.uint32)
    for cluster, options in ((2, {}), ((4, 1), {}), (16, {"non_portable_cluster": True})):
        size = int(np.prod(cluster))
        k[32, 1](out, cluster=cluster, **options)
        assert out.tolist() == [100 * size + i % size for i in range(32)]
        checked = k[32, 1].check(out, cluster=cluster, **options)
        assert not any(c.findings for c in checked.checks)
        assert k[32, 1].time(out, cluster=cluster, **options).cycles > 0
        expected = np.array([100 * size + i % size for i in range(32)], np.uint32)
        why = k[32, 1].why(out, result=out, expected=expected, cluster=cluster, **options)
        assert why.wrong == 0
        assert k[32, 1].why(out, result=out, expected=expected).wrong == 32
    for refused in (k[32, 1], k[32, 1].time):
        with pytest.raises(lw.Error, match="more than 8 are not portable"):
            refused(out, cluster=16)
    with pytest.raises(lw.Error, match="17 CTAs"):
        k[34, 1](np.zeros(34, np.uint32), cluster=17, non_portable_cluster=True)
    packed = struct.pack("Q", out.ctypes.data)
    memory = [(out.ctypes.data, out.nbytes, "out")]
    k.launch_raw((32, 1, 1), (1, 1, 1), 0, packed, memory, cluster=16, non_portable_cluster=True)
    with pytest.raises(lw.Error, match="not portable"):
        k.launch_raw((32, 1, 1), (1, 1, 1), 0, packed, memory, cluster=16)


def test_schedule(tmp_path):
    """A copy that nobody waits for is there early, and not late."""
    kernel = lw.Module(UNWAITED).kernel()
    out, given = np.zeros(1, np.uint32), np.full(1, 5, np.uint32)
    for schedule, value in (("early", 5), ("late", 7)):
        kernel[1, 1](out, given, schedule=schedule)
        assert out[0] == value
    with pytest.raises(lw.ArgumentError, match='schedule=.never.: "early" or "late"'):
        kernel[1, 1](out, given, schedule="never")
    (tmp_path / "k.ptx").write_text(UNWAITED)
    file = tmp_path / "k.json"
    file.write_text(json.dumps({
        "schema": "lockwarp-launch/1", "ptx": "k.ptx", "arch": "sm_80", "grid": [1, 1, 1],
        "block": [1, 1, 1],
        "buffers": {"out": {"bytes": 4},
                    "in": {"bytes": 4, "init": {"sequence": {"type": "u32", "start": 5}}}},
        "args": [{"buffer": "out"}, {"buffer": "in"}], "outputs": ["out"]}))
    for schedule, value in (("early", 5), ("late", 7)):
        assert lw.run(file, schedule=schedule).outputs["out"].view(np.uint32)[0] == value
    with pytest.raises(lw.Error, match="checks are of the early schedule"):
        lw.run(file, schedule="late", checks="all")


def test_step_limit():
    with pytest.raises(lw.Trap) as caught:
        lw.Module(FOREVER).kernel()[1, 1](max_steps=1000)
    assert caught.value.kind == "step_limit"


def test_interrupt():
    """ctrl-C ends a launch, soon, and the next launch runs."""
    kernel = lw.Module(FOREVER).kernel()
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernel[4, 64]()
    assert time.monotonic() - begin < 5
    test_scalars("u32", 32, 1, 1)


def test_other_threads_run():
    """The interpreter's lock is free during a launch."""
    kernel = lw.Module(FOREVER).kernel()
    beats = []
    ended = threading.Event()

    def beat():
        while not ended.is_set():
            beats.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=beat)
    thread.start()
    with pytest.raises(lw.Trap):
        kernel[1, 32](max_steps=3_000_000)
    ended.set()
    thread.join()
    assert len(beats) > 1


def test_threads(axpy):
    wrong = []

    def work(seed):
        x = np.full(256, seed, np.float32)
        for _ in range(50):
            y = np.zeros(256, np.float32)
            axpy[8, 32](x, y, 2.0, 256)
            if not (y == 2 * seed).all():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_after_fork(axpy):
    """A child of fork has a helper of its own."""
    x = np.arange(4, dtype=np.float32)
    y = np.zeros(4, np.float32)
    axpy[1, 32](x, y, 1.0, 4)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            y[:] = 0
            axpy[1, 32](x, y, 2.0, 4, threads=1)
            status = 0 if (y == 2 * x).all() else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_printf(repository):
    text = """.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 hello[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry greet()
{
 .reg .b64 %rd<3>; .reg .b32 %r<2>;
 mov.u64 %rd1, hello;
 cvta.global.u64 %rd1, %rd1;
 mov.u64 %rd2, 0;
 { .param .b64 a; .param .b64 b; .param .b32 r;
 st.param.b64 [a], %rd1; st.param.b64 [b], %rd2;
 call (r), vprintf, (a, b); }
 ret;
}
"""
    r = lw.Module(text).kernel()[2, 1]()
    assert r.printf == "hello\n" * 2
    assert [(p.cta, p.warp, p.lane) for p in r.printed] == [(0, 0, 0), (1, 0, 0)]


def test_check_says_what_it_found(repository):
    """A launch under checks finds what lockwarp run --check finds."""
    import json

    path = repository / "tests/questions/in_flight.json"
    file = json.loads(path.read_text())
    k = lw.Module(path.parent / file["ptx"]).kernel(file.get("entry"))
    arrays = [np.zeros(b["bytes"], np.uint8) for b in file["buffers"].values()]
    dims = [tuple(file[x]) if isinstance(file[x], list) else file[x] for x in ("grid", "block")]
    found = k.check(*dims, *arrays)
    assert not found.ok
    first = [c for c in found.checks if c.findings][0]
    assert first.name == "sync" and first.findings[0].kind == "copy-not-awaited"
    assert first.summary == "1 error" and first.findings[0].line > 0
    assert "CHECK" in str(found) and first.is_fault
    with pytest.raises(lw.Error, match='there is no check "rubbish"'):
        k.check(*dims, *arrays, checks="rubbish")


def test_check_names_elements_and_knows_what_is_undefined(axpy):
    x, y = np.ones((4, 8), np.float32), np.empty((4, 8), np.float32)
    (found,) = [c for c in axpy.check(1, 32, x, y, 2.0, 32, undefined=[y]).checks if c.findings]
    assert found.name == "uninitialised" and found.findings[0].kind == "stored"
    assert "buffer y + 0 = y[0][0]" in found.findings[0].place
    assert axpy.check(1, 32, x, y, 2.0, 32).ok
    last = axpy.check(1, 32, x, y[:, :4], 2.0, 28, undefined=[y[3, :4]])
    assert "y[3][0]" in str(last)


def test_why_names_the_mistake(repository):
    text = (repository / "tests/faults/mapping/tile.sm_80.ptx").read_text()
    swapped = text.replace("{%r128, %r129}, {%f", "{%r129, %r128}, {%f")
    assert swapped != text
    file = __import__("json").loads((repository / "tests/faults/mapping/tile.json").read_text())
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((64, 128), (128, 64)))
    d = np.zeros((64, 64), np.float32)
    options = {"result": d, "expected": a.astype(np.float32) @ b.astype(np.float32)}
    k, right = (lw.Module(t).kernel()[tuple(file["grid"]), tuple(file["block"])]
                for t in (swapped, text))
    found = k.why(a, b, d, 64, 128, **options)
    assert found.wrong and found.explained and not d.any()
    assert "the registers b0 and b1 of line 255 are swapped" in found.answer
    (change,) = found.changes
    assert change["line"] == 255 and "{%r128, %r129}" in change["becomes"][0]
    assert str(found).startswith(found.answer)
    held = right.why(a, b, d, 64, 128, **options)
    assert held.wrong == 0 and "all 4,096 values are as expected" in held.answer
    with pytest.raises(lw.Error, match="none of the launch's arrays"):
        k.why(a, b, d, 64, 128, result=np.zeros((64, 64), np.float32), expected=d)
    with pytest.raises(lw.ArgumentError, match="expected has the shape"):
        k.why(a, b, d, 64, 128, result=d, expected=d[:32])


def test_an_architecture_that_is_no_name():
    with pytest.raises(lw.ArgumentError, match="arch 90: a name"):
        lw.Module(".version 7.0\n", arch=90)
