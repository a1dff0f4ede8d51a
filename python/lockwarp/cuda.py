# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ to PTX, by nvcc or NVRTC."""

from __future__ import annotations

import ctypes
import ctypes.util
import glob
import os
import re
import shutil
import sys
import tempfile

from . import _core
from .errors import Error


def is_cuda(text: str) -> bool:
    """Whether a text is CUDA C++ and no PTX: PTX begins with .version."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S).lstrip()
    return not code.startswith(".") and "__global__" in code


def has_nvcc() -> bool:
    """Whether there is an nvcc where the program looks for it."""
    return bool(os.environ.get("NVCC")) or bool(
        shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin"))


def compile(text: str, name: str, arch: str, options: list[str]) -> str:
    """The PTX of a CUDA source."""
    if not has_nvcc():
        return nvrtc(text, name, arch, options)
    with tempfile.TemporaryDirectory(prefix="lockwarp.") as folder:
        path = os.path.join(folder, os.path.splitext(os.path.basename(name))[0] + ".cu")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return _core.Module.of_file(path, arch, options).source


def _library() -> ctypes.CDLL | None:
    names = [ctypes.util.find_library("nvrtc")]
    for folder in ["/usr/local/cuda/lib64", *(
            os.path.join(p, "nvidia", part, "lib") for p in sys.path
            for part in ("cuda_nvrtc", "cu13", "cu12"))]:
        names += sorted(n for n in glob.glob(os.path.join(folder, "libnvrtc.so*")))
    for name in names:
        if name is None:
            continue
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def nvrtc(text: str, name: str, arch: str, options: list[str]) -> str:
    """The PTX of a CUDA source by NVRTC, where that library is."""
    library = _library()
    if library is None:
        raise Error(f"{name}: neither nvcc nor NVRTC is installed to compile it; compile it "
                    "elsewhere with 'nvcc -ptx' and give the PTX, or pip install "
                    "nvidia-cuda-nvrtc")
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    flags = ["-lineinfo", *options]
    if arch and not any("arch" in o for o in options):
        flags.append("--gpu-architecture=compute_" + arch.removeprefix("sm_"))
    array = (ctypes.c_char_p * len(flags))(*(f.encode() for f in flags))
    try:
        status = library.nvrtcCompileProgram(program, len(flags), array)
        size = ctypes.c_size_t()
        if status != 0:
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise Error(f"{name}: NVRTC could not compile it\n" + log.value.decode("utf-8",
                                                                                 "replace"))
        library.nvrtcGetPTXSize(program, ctypes.byref(size))
        ptx = ctypes.create_string_buffer(size.value)
        library.nvrtcGetPTX(program, ptx)
        return ptx.value.decode()
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
