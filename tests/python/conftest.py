# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def repository() -> pathlib.Path:
    """The repository's folder: launch files, recordings and documents that tests read."""
    return REPOSITORY
