# SPDX-License-Identifier: Apache-2.0
"""LOCKWARP_TRITON=sm_80 python script.py: torch calls load() when it is imported (its entry points
"torch.backends"). Without the variable nothing is imported and nothing done."""

import importlib.abc
import importlib.util
import os
import sys
from typing import Any


def load() -> None:
    if not os.environ.get("LOCKWARP_TRITON"):
        return
    triton = sys.modules.get("triton")
    if triton is None and _maps_cuda():
        _install()  # imports it: what is said to be on cuda may come before Triton does
    elif triton is None:
        sys.meta_path.insert(0, _AfterTriton())
    elif getattr(triton.__spec__, "_initializing", False):
        raise ImportError(
            "LOCKWARP_TRITON: torch is imported while Triton is; import torch first"
        )
    else:
        _install()


def _maps_cuda() -> bool:
    return (os.environ.get("LOCKWARP_TRITON_CUDA") == "cpu"
            and importlib.util.find_spec("triton") is not None)


def _install() -> None:
    import lockwarp.triton

    if lockwarp.triton.installed() is None:
        lockwarp.triton.install()


class _AfterTriton(importlib.abc.MetaPathFinder):
    """Installs Lockwarp as soon as Triton is imported. It stays until then: torch and others look
    for Triton's spec, to see whether it is there, without importing it."""

    def __init__(self) -> None:
        self._is_asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "triton" or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                module.__spec__._initializing = False  # as the import system does just after
                _install()

            loader.exec_module = exec_module
        return spec
