# SPDX-License-Identifier: Apache-2.0
"""Layouts."""

import lockwarp as lw
import numpy as np
import pytest


def test_the_manuals_formulas():
    """mma.m16n8k16's A, as the PTX manual's figure has it."""
    found = lw.layout("m16n8k16.f32.f16", "A")
    assert found.coordinates.shape == (32, 8, 2)
    for lane in range(32):
        for i in range(8):
            row = lane // 4 + (0 if i < 2 or 4 <= i < 6 else 8)
            column = lane % 4 * 2 + i % 2 + (8 if i >= 4 else 0)
            assert tuple(found.coordinates[lane, i]) == (row, column)
    assert [str(p) for p in found.owners(3, 7)] == ["value 1, register 0[31:16] @ lane 15"]
    assert found.cute == "((4,8),(2,2,2)):((32,1),(16,8,128))"


@pytest.mark.parametrize("key", lw.instructions())
def test_every_element_has_an_owner(key):
    for o in lw.instruction(key).operands.values():
        rows, columns = o.shape
        held = o.coordinates.reshape(-1, 2)
        held = held[held[:, 0] >= 0].astype(int)
        assert len(np.unique(held[:, 0] * columns + held[:, 1])) == rows * columns
        assert o._repr_html_().startswith("<table>")


def test_gather():
    found = lw.layout("m16n8k16.f32.f16", "B")
    matrix = np.arange(16 * 8).reshape(16, 8)
    lanes = found.gather(matrix)
    assert lanes.shape == (32, 4)
    row, column = found.coordinates[7, 2]
    assert lanes[7, 2] == matrix[row, column]


def test_wrong_names():
    with pytest.raises(lw.Error, match="m16n8k16"):
        lw.layout("m16n8k17.f32.f16", "A")
    with pytest.raises(lw.ArgumentError, match="has no operand 'X'; it has A, B, C, D"):
        lw.layout("m16n8k16.f32.f16", "X")
    with pytest.raises(lw.Error, match="no architecture 'sm_1'"):
        lw.layout("m16n8k16.f32.f16", "A", arch="sm_1")
    with pytest.raises(lw.ArgumentError, match=r"A\[16\]\[0\] is outside of 16 x 16"):
        lw.layout("m16n8k16.f32.f16", "A").owners(16, 0)
