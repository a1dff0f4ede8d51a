# SPDX-License-Identifier: Apache-2.0
"""python -m lockwarp.triton [--arch sm_80] [--cuda] [--save DIR] script.py [arguments]"""

from __future__ import annotations

import argparse
import runpy
import sys

import lockwarp.triton as lt


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m lockwarp.triton", description="Run a script, its Triton kernels on Lockwarp"
    )
    parser.add_argument("--arch", default=None, help="the machine to model (default: sm_80)")
    parser.add_argument("--cuda", action="store_true", default=None,
                        help='put tensors that are said to be on "cuda" on the CPU')
    parser.add_argument("--save", metavar="DIR", help="write every launch to DIR as a launch file")
    parser.add_argument("--async", dest="schedule", choices=("early", "late"),
                        help="when asynchronous copies and wgmma do their work (default: early)")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    lt.install(arch=options.arch, map_cuda=options.cuda, save=options.save,
               schedule=options.schedule)
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = options.script.rpartition("/")[0] or "."
    runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
