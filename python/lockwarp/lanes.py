# SPDX-License-Identifier: Apache-2.0
"""Which lane holds which element."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from . import _core
from .errors import ArgumentError


class Place(NamedTuple):
    """Where an element lies: bits ``low`` to ``high`` of a lane's register for the operand."""

    lane: int  #: 0 to 31; of a warpgroup 0 to 127
    value: int  #: a0, a1, ... of the lane
    register: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"value {self.value}, register {self.register}[{self.high}:{self.low}] @ lane " \
               f"{self.lane}"


@dataclass(frozen=True, eq=False)
class Layout:
    """How an operand of an instruction lies in the registers of lanes.

    Rows and columns are the PTX manual's: A is (m, k), B is (k, n), C and D are (m, n).
    """

    instruction: str  #: its key
    operand: str  #: "A", "B", "C", "D"; "E": metadata; "SFA", "SFB": factors
    type: str  #: of an element, as PTX has it: "f16"
    shape: tuple[int, int]  #: rows, columns
    lanes: int  #: 32; of a warpgroup 128
    values: int  #: of a lane
    registers: int  #: of a lane, each of
    register_bits: int
    parts: int  #: independent matrices of one instruction: four of m8n8k4's quad-pairs
    cute: str  #: CuTe's layout, (thread, value) -> element; "" where there is none
    formulas: tuple[str, ...]  #: of row and column, and back
    coordinates: np.ndarray[Any, Any] = field(repr=False)
    """int16 [lane, value, 2]: the row and the column; -1 where a lane holds no such value."""
    part: np.ndarray[Any, Any] = field(repr=False)
    """int16 [lane, value]: which of the parts."""
    register: np.ndarray[Any, Any] = field(repr=False)
    """int16 [lane, value]: which of the lane's registers."""
    low_bit: np.ndarray[Any, Any] = field(repr=False)
    """int16 [lane, value]: the element's lowest bit there."""
    bits: int = 0  #: of an element

    def owners(self, row: int, column: int) -> list[Place]:
        """All places of an element, by lane and value."""
        rows, columns = self.shape
        if not (0 <= row < rows and 0 <= column < columns):
            raise ArgumentError(f"{self.operand}[{row}][{column}] is outside of {rows} x {columns}")
        at = np.argwhere((self.coordinates == (row, column)).all(axis=-1))
        return [Place(int(lane), int(value), int(self.register[lane, value]),
                      int(self.low_bit[lane, value]),
                      int(self.low_bit[lane, value]) + self.bits - 1) for lane, value in at]

    def gather(self, matrix: Any) -> np.ndarray[Any, Any]:
        """[..., lane, value] of a matrix (..., rows, columns): what each lane holds of it."""
        m = np.asarray(matrix)
        if m.shape[-2:] != self.shape:
            raise ArgumentError(f"{self.operand} is {self.shape}, not {m.shape[-2:]}")
        return m[..., self.coordinates[..., 0], self.coordinates[..., 1]]

    def _repr_html_(self) -> str:
        from .html import table

        rows, columns = self.shape
        cells: list[list[str]] = [[str(r)] + [""] * columns for r in range(rows)]
        for lane in range(self.lanes):
            for value in range(self.values):
                r, c = self.coordinates[lane, value]
                if r >= 0:
                    text = f"{lane}:{value}"
                    cells[r][c + 1] += (" " if cells[r][c + 1] else "") + text
        return table(f"{self.operand} of {self.instruction}, lane:value",
                     ["", *map(str, range(columns))], cells)


@dataclass(frozen=True, eq=False)
class Instruction:
    """A matrix instruction: its shape and its operands' layouts."""

    key: str  #: "mma.m16n8k16.f32.f16.f16.f32"
    ptx: str  #: as written in a program, without operands
    cute: str  #: CuTe's name; "" where it has none
    shape: tuple[int, int, int]  #: m, n, k
    arch: str  #: that the layouts are of
    target: int  #: the least architecture: 80 for sm_80
    operands: dict[str, Layout] = field(repr=False)

    def __getitem__(self, operand: str) -> Layout:
        return self.operands[operand]


def _layout(key: str, o: dict[str, Any]) -> Layout:
    shape = (o["lanes"], o["values"])
    coordinates = np.full((*shape, 2), -1, np.int16)
    part, register, low = (np.full(shape, -1, np.int16) for _ in range(3))
    bits = 0
    for lane, value, row, column, which, reg, lowest, highest in o["held"]:
        coordinates[lane, value] = row, column
        part[lane, value] = which
        register[lane, value] = reg
        low[lane, value] = lowest
        bits = highest - lowest + 1
    return Layout(key, o["name"], o["type"], (o["rows"], o["columns"]), o["lanes"], o["values"],
                  o["registers"], o["register_bits"], o["parts"], o["cute"], tuple(o["formulas"]),
                  coordinates, part, register, low, bits)


def instruction(name: str, arch: str = "") -> Instruction:
    """An instruction by its key, the PTX mnemonic, a part of either that fits one instruction
    (``m16n8k16.f32.f16``), or CuTe's name (``SM80_16x8x16_F32F16F16F32_TN``).

    ``arch``: whose layouts; without it sm_90's, or those of the first that has it. Raises
    :class:`lockwarp.Error`, with what was perhaps meant, for a name that there is none of.
    """
    d = _core.instruction(name, arch)
    return Instruction(d["key"], d["ptx"], d["cute"], d["shape"], d["arch"], d["target"],
                       {o["name"]: _layout(d["key"], o) for o in d["operands"]})


def layout(name: str, operand: str, arch: str = "") -> Layout:
    """How operand ``operand`` ("A", "B", "C", "D"; "E"; "SFA", "SFB") of an instruction lies in
    the registers of lanes; ``layout(...).coordinates[lane, value]`` is its row and column.

    Name and errors as of :func:`instruction`.
    """
    found = instruction(name, arch)
    if operand not in found.operands:
        raise ArgumentError(f"{found.key} has no operand {operand!r}; it has "
                            + ", ".join(found.operands))
    return found.operands[operand]


def instructions(arch: str = "") -> list[str]:
    """The keys of all matrix instructions, or of those that an architecture has."""
    return _core.instructions(arch)
