# SPDX-License-Identifier: Apache-2.0
"""Tests of lockwarp.triton. They need Triton and torch; scripts/try_triton.sh runs them with each
release of Triton. Without these there is nothing to collect."""

import importlib.util

import pytest

if all(importlib.util.find_spec(name) for name in ("torch", "triton")):
    import torch

    import lockwarp.triton as lt
else:
    collect_ignore_glob = ["*"]


@pytest.fixture(autouse=True)
def fixed_seed():
    torch.manual_seed(17)


@pytest.fixture
def sm_80():
    lt.install(arch="sm_80")
    yield
    lt.uninstall()


@pytest.fixture
def sm_90():
    lt.install(arch="sm_90")
    yield
    lt.uninstall()


@pytest.fixture(params=["sm_80", "sm_90"])
def arch(request):
    lt.install(arch=request.param)
    yield request.param
    lt.uninstall()
