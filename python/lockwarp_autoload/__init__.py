# SPDX-License-Identifier: Apache-2.0
"""LOCKWARP_TRITON=sm_80 python script.py: torch calls load() when it is imported (its entry points
"torch.backends"). Without the variable nothing is imported and nothing done."""

import importlib.abc
import importlib.util
import os
import sys


def load():
    if not os.environ.get("LOCKWARP_TRITON"):
        return
    triton = sys.modules.get("triton")
    if triton is None:
        sys.meta_path.insert(0, _AfterTriton())
    elif getattr(triton.__spec__, "_initializing", False):
        raise ImportError(
            "LOCKWARP_TRITON: torch is imported while Triton is; import torch first"
        )
    else:
        _install()


def _install():
    import lockwarp.triton

    if lockwarp.triton.installed() is None:
        lockwarp.triton.install()


class _AfterTriton(importlib.abc.MetaPathFinder):
    """Installs Lockwarp as soon as Triton is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "triton":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                module.__spec__._initializing = False  # as the import system does just after
                _install()

            spec.loader.exec_module = exec_module
        return spec
