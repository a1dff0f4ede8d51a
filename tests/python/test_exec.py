# SPDX-License-Identifier: Apache-2.0
"""python -m lockwarp.exec: the driver API of the package's own libcuda.so.1, in another process."""

import subprocess
import sys
import textwrap

SCRIPT = '''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def check(result):
    assert result == 0, result
check(cuda.cuInit(0))
name = ctypes.create_string_buffer(100)
check(cuda.cuDeviceGetName(name, 100, 0))
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 x)
{
 .reg .b32 %r<2>; .reg .b64 %p<2>;
 ld.param.u64 %p0, [x];
 mov.u32 %r0, 42;
 st.global.u32 [%p0], %r0;
 ret;
}
"""
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"store"))
x, out = ctypes.c_uint64(), ctypes.c_uint32()
check(cuda.cuMemAlloc_v2(ctypes.byref(x), 4))
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(x))
check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, parameters, None))
check(cuda.cuMemcpyDtoH_v2(ctypes.byref(out), x, ctypes.c_size_t(4)))
print(name.value.decode(), out.value, sys.argv[1:])
'''


def start(*words):
    return subprocess.run([sys.executable, "-m", "lockwarp.exec", *words], capture_output=True,
                          text=True, timeout=100)


def test_a_script_finds_the_driver(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    ended = start(str(script), "--arch", "mine")
    assert ended.stderr == ""
    assert ended.stdout == "NVIDIA A100-SXM4-80GB 42 ['--arch', 'mine']\n"
    assert start("--arch", "sm_90", str(script)).stdout == "NVIDIA H200 42 []\n"


def test_a_program_has_its_own_status():
    assert start("sh", "-c", "exit 5").returncode == 5
    assert start("--", "-m", "this.is.no.module").returncode == 1
    ended = start("./no/such/program")
    assert ended.returncode == 2
    assert "No such file" in ended.stderr
    assert start().returncode == 2
