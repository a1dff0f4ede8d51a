# SPDX-License-Identifier: Apache-2.0
"""A CUDA program, with its kernels on the emulator.

    python -m lockwarp.exec [--arch sm_80] script.py [arguments...]
    python -m lockwarp.exec [--arch sm_80] ./program [arguments...]

The process finds the package's own libraries in place of NVIDIA's driver and runtime, by
LD_LIBRARY_PATH and LD_PRELOAD, and nothing else changes. A name that ends with .py runs with this Python, and so does `-- -m MODULE`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def library_folder() -> Path:
    """The folder with libcuda.so.1 and libcudart.so, and nothing else beside them."""
    return Path(__file__).parent / "cuda"


def environment(arch: str = "sm_80") -> dict[str, str]:
    """This process's environment, changed for a process that shall find the stand-in driver."""
    out = dict(os.environ)
    folder = library_folder()
    for name, ours in (("LD_LIBRARY_PATH", folder), ("LD_PRELOAD", folder / "liblockwarp_start.so")):
        before = out.get(name)
        out[name] = os.pathsep.join([str(ours)] + ([before] if before else []))
    out["LOCKWARP_ARCH"] = arch
    return out


def command(words: Sequence[str]) -> list[str]:
    """The words to run: Python goes before a script and before -m."""
    runs_python = words[0] == "-m" or words[0].endswith(".py")
    return [sys.executable, *words] if runs_python else list(words)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m lockwarp.exec",
        description="Run a CUDA program with its kernels on the emulator.")
    parser.add_argument("--arch", default="sm_80", help="the GPU that it finds (default: sm_80)")
    parser.add_argument("program", nargs=argparse.REMAINDER,
                        help="a Python script, -- -m MODULE, or a program; then its arguments")
    given = parser.parse_args(arguments)
    words = given.program[1:] if given.program[:1] == ["--"] else given.program
    if not words:
        parser.error("no program")
    if not (library_folder() / "libcuda.so.1").exists():
        parser.error(f"no libcuda.so.1 in {library_folder()}")
    words = command(words)
    try:
        os.execvpe(words[0], words, environment(given.arch))
    except OSError as error:
        parser.error(f"{words[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
