# SPDX-License-Identifier: Apache-2.0
"""assert_same_bits and the pytest plugin."""

import lockwarp as lw
import numpy as np
import pytest
from lockwarp.testing import assert_same_bits

pytest_plugins = ["pytester"]

A = np.zeros((16, 16), np.float16)
B = np.ones((16, 8), np.float16)
A[3, :2] = 2048, 1


def test_the_first_wrong_element():
    d = lw.mma("m16n8k16.f32.f16", A, B)
    assert_same_bits(d, d.copy(), A, B)
    wrong = d.copy()
    wrong[3, 7] += 1
    wrong[9, 0] = -0.0
    with pytest.raises(AssertionError) as caught:
        assert_same_bits(wrong, d, A, B)
    text = str(caught.value)
    assert text.startswith("2 of 128 elements differ; the first is [3][7]: 0x45002000 (2050.0) and "
                           "0x45001000 (2049.0)")
    assert "D[3][7] = d1 = D.r1 @ lane 15  of mma.m16n8k16.f32.f16.f16.f32" in text
    assert "D[3][7] = 0x45001000 = 2049 on sm_90" in text


def test_instructions_as_sides():
    names = "m16n8k16.f32.f16@sm_80", "m16n8k16.f32.f16@sm_86"
    assert_same_bits(*names, A, B)
    w = lw.equiv("m16n8k16.f32.f16@sm_80", "m16n8k16.f32.f16@sm_90").pairs[0].witness
    a = np.zeros((4, 16, 16), np.uint16)
    b = np.zeros((16, 8), np.uint16)
    a[2, 5] = [int(x, 16) for x in w["a"]]
    b[:, 2] = [int(x, 16) for x in w["b"]]
    c = np.full((16, 8), int(w["c"], 16), np.uint32)
    with pytest.raises(AssertionError, match=r"the first is \[2\]\[5\]\[2\]: .*\n  D\[5\]\[2\] = "):
        assert_same_bits("m16n8k16.f32.f16@sm_80", "m16n8k16.f32.f16@sm_90", a, b, c)


def test_packed_registers_name_their_half():
    with pytest.raises(AssertionError, match=r"A.r0\[31:16\] @ lane 15"):
        wrong = A.copy()
        wrong[3, 7] = 1
        assert_same_bits(wrong, A, instruction="m16n8k16.f32.f16", operand="A")


def test_bits_are_bits():
    nan = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    assert_same_bits(nan, nan)
    with pytest.raises(AssertionError, match="0x7fc00000 .* 0x7fc00001"):
        assert_same_bits(nan[:1], nan[1:])
    with pytest.raises(AssertionError, match="1 of 1 elements differ"):
        assert_same_bits(np.float32(0.0), np.float32(-0.0))
    with pytest.raises(AssertionError, match="nothing was compared"):
        assert_same_bits(nan[:0], nan[:0])
    with pytest.raises(AssertionError, match="x is float32, y is float16"):
        assert_same_bits(np.zeros(2, np.float32), np.zeros(2, np.float16))
    with pytest.raises(AssertionError, match=r"x is \(2,\), y is \(3,\)"):
        assert_same_bits(np.zeros(2), np.zeros(3))
    with pytest.raises(lw.ArgumentError):
        assert_same_bits(np.array([None]), np.array([None]))


def test_fixture(lockwarp_arch):
    assert lw.mma("m16n8k16.f32.f16", A, B, arch=lockwarp_arch)[3, 0] == 2049


def plugin_arguments(request):
    """The installed package registers itself; beside the sources it is named."""
    return [] if request.config.pluginmanager.has_plugin("lockwarp") else ["-p", "lockwarp.testing"]


def test_option(pytester, request):
    pytester.makepyfile("""
        def test_it(lockwarp_arch):
            assert lockwarp_arch in ("sm_80", "sm_90")
    """)
    more = plugin_arguments(request)
    result = pytester.runpytest_subprocess("--lockwarp-arch", "sm_80,sm_90", "-v", *more)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_it?sm_80? PASSED*", "*test_it?sm_90? PASSED*"])
    pytester.runpytest_subprocess(*more).assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess("--lockwarp-arch", "sm_1", *more)
    assert result.ret != 0
    assert "no architecture 'sm_1'" in result.stdout.str() + result.stderr.str()
