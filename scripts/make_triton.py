#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes gpu/kernels/triton_NAME.sm_XX.ptx from gpu/kernels/triton_kernels.py.

scripts/make_triton.py           writes every PTX file
scripts/make_triton.py --check   writes none; names those that differ from what Triton makes now

Needs Triton, no GPU: pip install triton==RELEASE. Exit status: 0 done; 1 a file differs (--check);
2 usage; 77 there is no Triton of that release.
"""

import importlib.util
import os
import pathlib
import sys

RELEASE = "3.9.0"

# Tiles of fewer than 64 rows keep Triton from wgmma on sm_90: it then writes mma.sync.
MATMUL = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32}
ATTENTION = {"BLOCK_Q": 32, "BLOCK_K": 32, "HEAD": 64}

# By tensor descriptors and wgmma.
MATMUL_TMA = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
ATTENTION_TMA = {"BLOCK_Q": 64, "BLOCK_K": 64, "HEAD": 64}

# Name of the file, kernel, types of its parameters, constants, options of the compiler, targets.
# Pointers are said to be multiples of 16; sizes are not.
MATMUL_TYPES = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
ATTENTION_TYPES = {name: "*fp16" for name in "qkvo"} | {
    "queries": "i32",
    "keys": "i32",
    "scale": "fp32",
}
TILE = "tensordesc<{}[64, 64]>"
MATMUL_TMA_TYPES = {
    "a": TILE.format("fp16"),
    "b": TILE.format("fp16"),
    "c": TILE.format("fp32"),
    "k": "i32",
}
ATTENTION_TMA_TYPES = {name: TILE.format("fp16") for name in "qkvo"} | {
    "length": "i32",
    "scale": "fp32",
}
TARGETS = [80, 90]
KERNELS = [
    ("matmul", "matmul", MATMUL_TYPES, MATMUL, {"num_warps": 4, "num_stages": 3}, TARGETS),
    (
        "softmax",
        "softmax",
        {"source": "*fp32", "out": "*fp32", "columns": "i32"},
        {"BLOCK": 1024},
        {"num_warps": 4},
        TARGETS,
    ),
    (
        "attention",
        "attention",
        ATTENTION_TYPES,
        ATTENTION | {"CAUSAL": False},
        {"num_warps": 4, "num_stages": 2},
        TARGETS,
    ),
    (
        "attention_causal",
        "attention",
        ATTENTION_TYPES,
        ATTENTION | {"CAUSAL": True},
        {"num_warps": 4, "num_stages": 2},
        TARGETS,
    ),
    (
        "matmul_tma",
        "matmul_tma",
        MATMUL_TMA_TYPES,
        MATMUL_TMA,
        {"num_warps": 4, "num_stages": 3, "ptx_version": 86},
        [90],
    ),
    (
        "attention_tma",
        "attention_tma",
        ATTENTION_TMA_TYPES,
        ATTENTION_TMA | {"CAUSAL": False},
        {"num_warps": 4, "num_stages": 2, "ptx_version": 86},
        [90],
    ),
    (
        "attention_tma_causal",
        "attention_tma",
        ATTENTION_TMA_TYPES,
        ATTENTION_TMA | {"CAUSAL": True},
        {"num_warps": 4, "num_stages": 2, "ptx_version": 86},
        [90],
    ),
]
# Of the PTX: what drivers from CUDA 12.4 on load; copies by tensor maps need that of 12.8.
VERSION = 84


def kernels_of(path):
    spec = importlib.util.spec_from_file_location("triton_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(kernel, types, constants, options, target):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = types | {name: "constexpr" for name in constants}
    aligned = {
        (i,): [["tt.divisibility", 16]]
        for i, name in enumerate(signature)
        if signature[name].startswith("*")
    }
    source = ASTSource(kernel, signature, constants, aligned)
    made = triton.compile(
        source,
        target=GPUTarget("cuda", target, 32),
        options={"ptx_version": VERSION} | options,
    )
    needs = f"{32 * made.metadata.num_warps} threads, {made.metadata.shared} bytes of dynamic_shared"
    # After its own parameters each kernel has two pointers to scratch memory.
    assert made.metadata.global_scratch_size == 0 and made.metadata.profile_scratch_size == 0
    header = f"// Triton {RELEASE}. CTA: {needs}. The last two parameters may be null.\n"
    return header + made.asm["ptx"].lstrip("\n")


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    sys.dont_write_bytecode = True
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    try:
        import triton
    except ImportError:
        triton = None
    if triton is None or triton.__version__ != RELEASE:
        print(f"make_triton.py: no Triton {RELEASE} here")
        return 77
    folder = pathlib.Path(__file__).resolve().parent.parent / "gpu" / "kernels"
    kernels = kernels_of(folder / "triton_kernels.py")
    status = 0
    for name, kernel, types, constants, options, targets in KERNELS:
        for target in targets:
            path = folder / f"triton_{name}.sm_{target}.ptx"
            ptx = compiled(getattr(kernels, kernel), types, constants, options, target)
            if not arguments:
                path.write_text(ptx)
            elif not path.exists() or path.read_text() != ptx:
                print(f"gpu/kernels/{path.name} differs")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
