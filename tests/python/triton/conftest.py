# SPDX-License-Identifier: Apache-2.0
"""Tests of lockwarp.triton. They need Triton and torch; scripts/try_triton.sh runs them with each
release of Triton. Without these there is nothing to collect."""

import importlib.util

import pytest


def is_installed(name):
    found = importlib.util.find_spec(name)
    return found is not None and found.origin is not None  # this folder is called triton, too


if is_installed("torch") and is_installed("triton"):
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
