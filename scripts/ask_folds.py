#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas what it computes itself where an instruction's operands are constants, and writes the
answers. A module with thousands of them is compiled at once; an answer is the constant that the
code stores. No GPU is needed.

    ask_folds.py functions FILE     values of the functions of f32 (tests/num/data/folds.tsv)
    ask_folds.py instructions FILE  which of FILE's instructions (tests/isa/data/folds.tsv)
    ask_folds.py values FILE        values of FILE's instructions (tests/exec/data/folded.tsv)

`functions` begins with the operands that FILE lists; "FUNCTION ANSWER OPERANDS": of f32 bits, "-"
where ptxas leaves it to the instruction. Then, for each function, operands that both this script
and the test make (`made`), whose answers are digests of 100 each.

`instructions` keeps FILE's instructions, a line each, and writes before it "+" where ptxas computes
it, "-" where it does not. Operands are %T0, %T1 ... for a type T, the first the result; those of
one type are `constants` in turn. All targets and levels must say the same.

`values` keeps FILE's "edges" and instructions, and writes before each instruction how many of its
CASES cases ptxas computes, and a digest of what it gives for these. The cases are those that
`cases_of` and the test make.
"""

import argparse
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FUNCTIONS = ["ex2.approx", "lg2.approx", "rcp.approx", "rsqrt.approx", "sqrt.approx", "sin.approx",
             "cos.approx", "div.approx", "div.full"]
BATCHES, BATCH = 100, 100
LEFT = 0xFFFFFFFF  # in digests
# SASS that writes two registers.
WIDE = re.compile(r"D[A-Z]|CS2R$|.*(\.WIDE|\.64|\.128)|(F2F|I2F)\.F64|F2I.*\.[US]64")
WIDTHS = {"pred": 1, "b16": 16, "b32": 32, "b64": 64}
# Of `values`: the first EDGES cases have operands from the lists of edges.
CASES, EDGES = 10000, 1500
FLOATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}  # bits, of fraction


def made(count):
    """Operands: half any bits, half numbers around 1."""
    x = 1
    for i in range(count):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        bits = x >> 32
        yield bits if i % 2 == 0 else bits & 0x807FFFFF | (96 + (x >> 26) % 64) << 23


def digest(values):
    h = 0xCBF29CE484222325
    for v in values:
        h = (h ^ v) * 0x100000001B3 % 2**64
    return h


def entry(name, cases):
    """cases: the lines of each, the register to store, its bits."""
    lines = [f".entry {name}(.param .u64 out) {{ .reg .u64 %out; ld.param.u64 %out, [out];"]
    for i, (text, register, width) in enumerate(cases):
        if width == 1:
            text = text + [f".reg .b32 %stored; selp.b32 %stored, 1, 0, {register};"]
            register, width = "%stored", 32
        elif width == 16:
            text = text + [f".reg .b32 %stored; cvt.u32.u16 %stored, {register};"]
            register, width = "%stored", 32
        lines += ["{"] + text + [f"st.global.b{width} [%out+{8 * i}], {register};", "}"]
    return "\n".join(lines + ["ret; }"]) + "\n"


def instructions_of(text):
    """Of nvdisasm -hex: the instruction and its lower 64 bits."""
    return re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?) *;\s*/\* 0x([0-9a-f]{16}) \*/", text)


def is_literal(operand):
    return re.match(r"[-+]?(0x|\d|INF|QNAN|SNAN)", operand) is not None


def stored(sass):
    """By address: the constant that is stored there; None: it is computed."""
    registers, out = {"RZ": 0, "URZ": 0}, {}
    for text, low in instructions_of(sass):
        guarded = text.startswith("@")
        op, _, rest = text.split(" ", 1)[1].partition(" ") if guarded else text.partition(" ")
        operands = [o.strip().replace(".reuse", "") for o in rest.split(",")]
        if op.startswith("STG"):
            at = re.search(r"\[[^\]]*?\+(0x[0-9a-f]+)\]", operands[0])
            width = 64 if ".64" in op else 32
            value = registers.get(operands[1])
            if width == 64 and operands[1] != "RZ":
                high = registers.get(f"R{int(operands[1][1:]) + 1}")
                value = None if value is None or high is None else value | high << 32
            out[int(at[1], 16) if at else 0] = None if value is None else value % 2**width
            continue
        if not operands or not re.match(r"U?R\d+$", operands[0]):
            continue
        immediate, value = int(low, 16) >> 32, None
        source = operands[-1]
        moves = op in ("MOV", "UMOV") or op == "IMAD.MOV.U32" and operands[1:3] == ["RZ", "RZ"]
        if moves:
            value = immediate if is_literal(source) else registers.get(source)
        elif op.startswith("HFMA2") and operands[1:3] == ["-RZ", "RZ"]:
            value = immediate
        elif op.startswith("CS2R"):
            value = 0
        registers[operands[0]] = None if guarded else value
        if WIDE.match(op) and operands[0][0] == "R":
            registers[f"R{int(operands[0][1:]) + 1}"] = 0 if op == "CS2R" else None
    return out


class Asker:
    def __init__(self, options):
        self.options = options

    def compile(self, target, level, cases, in_entry=4000):
        """in_entry: cases to an entry. The time for an entry grows faster than its length."""
        if not cases:
            return []
        parts = [cases[i:i + in_entry] for i in range(0, len(cases), in_entry)]
        entries = [entry(f"k{i}", part) for i, part in enumerate(parts)]
        text = f".version 9.0\n.target {target}\n.address_size 64\n" + "".join(entries)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "module.ptx"
            path.write_text(text)
            subprocess.run([self.options.ptxas, f"-arch={target}", f"-O{level}", "-o",
                            f"{folder}/out", path], check=True)
            sass = subprocess.run([self.options.nvdisasm, "-c", "-hex", f"{folder}/out"],
                                  check=True, capture_output=True, text=True).stdout
        sections = re.split(r"\.section\s+\.text\.k(\d+)", sass)
        of_entry = {int(k): stored(code) for k, code in zip(sections[1::2], sections[2::2])}
        return [of_entry[i // in_entry][8 * (i % in_entry)] for i in range(len(cases))]

    def ask(self, target, level, cases):
        parts = [cases[i:i + 4000] for i in range(0, len(cases), 4000)]
        with ThreadPoolExecutor() as pool:
            answers = list(pool.map(lambda part: self.compile(target, level, part), parts))
        return [a for part in answers for a in part]


def function_case(function, operands):
    literals = ", ".join(f"0f{o:08x}" for o in operands)
    return [f".reg .f32 %d; {function}.f32 %d, {literals};"], "%d", 32


def ask_functions(asker, version):
    path = asker.options.file
    listed = [line.split() for line in path.read_text().splitlines() if line and line[0] != "#"]
    listed = [(f, [int(o, 16) for o in rest]) for f, _, *rest in listed if rest[0][0] != "="]
    answers = asker.ask("sm_90", 3, [function_case(f, o) for f, o in listed])
    names = [f + ftz for f in FUNCTIONS for ftz in ("", ".ftz")]
    with path.open("w") as out:
        out.write(f"# Functions of constants as ptxas {version} computes them. Made by "
                  "scripts/ask_folds.py, which says how to read it.\n")
        for (f, operands), a in zip(listed, answers):
            text = " ".join(f"{o:08x}" for o in operands)
            out.write(f"{f} {'-' if a is None else f'{a:08x}'} {text}\n")
        for f in names:
            each = 2 if f.startswith("div") else 1
            operands = list(made(BATCHES * BATCH * each))
            operands = [operands[i:i + each] for i in range(0, len(operands), each)]
            answers = asker.ask("sm_90", 3, [function_case(f, o) for o in operands])
            answers = [LEFT if a is None else a for a in answers]
            for i in range(BATCHES):
                out.write(f"{f} {digest(answers[i * BATCH:(i + 1) * BATCH]):016x} ={i}\n")


def constants(kind, turn):
    """No NaN, nor operands that give one."""
    floats = {"f16": [0x3C00, 0x4248, 0x5800], "bf16": [0x3F80, 0x4049, 0x4300],
              "f32": [0x3F800000, 0x40490FDB, 0x43000000],
              "f64": [0x3FF0000000000000, 0x400921FB54442D18, 0x4060000000000000]}
    if kind.endswith("x2"):
        half = constants(kind[:-2], turn)
        return half << 16 | half
    values = floats.get(kind, [200, 3, 77])
    return values[turn % len(values)]


def instruction_case(text, turn):
    """The types of registers are those of the instruction's own that have their width."""
    kinds = text.split()[0].split(".")[1:]
    lines, result = [], None
    for i, (kind, number) in enumerate(dict.fromkeys(re.findall(r"%(\w+?)_(\d+)", text))):
        name = f"%{kind}_{number}"
        width = WIDTHS[kind]
        lines.append(f".reg .{kind} {name};")
        if i == 0:
            result = name, width
        elif kind == "pred":
            lines.append(f"setp.eq.u32 {name}, 1, {(turn + i) % 2};")
        else:
            bits = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32}
            float_kind = next((k for k in reversed(kinds) if bits.get(k) == width), "")
            lines.append(f"mov.{kind} {name}, {constants(float_kind, turn + i)};")
    return lines + [text], *result


def ask_instructions(asker, version):
    path = asker.options.file
    texts = [line[2:] for line in path.read_text().splitlines() if line and line[0] != "#"]
    folded = None
    for target in ("sm_90", "sm_100"):
        for level in (1, 3):
            turns = [asker.ask(target, level, [instruction_case(t, n) for t in texts])
                     for n in range(3)]
            now = [all(a is not None for a in answers) for answers in zip(*turns)]
            if folded is None:
                folded = now
            for text, a, b in zip(texts, folded, now):
                if a != b:
                    raise SystemExit(f"{target}, level {level}: {text}: another answer")
    with path.open("w") as out:
        out.write(f"# What ptxas {version} computes of instructions on constants. Made by "
                  "scripts/ask_folds.py, which says how to read it.\n")
        out.writelines(f"{'+' if f else '-'} {t}\n" for t, f in zip(texts, folded))


def random_words():
    """splitmix64."""
    x = 0
    while True:
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        z = x
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield z ^ z >> 31


def random_operand(kind, word, other):
    """Floats: half of them of any exponent, none infinite or NaN, half around 1. Whole numbers: of
    any length and sign."""
    if kind not in FLOATS:
        width = WIDTHS[kind]
        value = (word >> 64 - width) >> other % width
        return value ^ (2**width - 1 if other >> 63 else 0)
    width, fraction = FLOATS[kind]
    bits, exponents = word >> 64 - width, 2 ** (width - fraction - 1) - 1
    exponent = bits >> fraction & exponents
    if other & 1:
        exponent = exponents // 2 - 8 + (other >> 1) % 16
    elif exponent == exponents:
        exponent = 1
    return bits & ~(exponents << fraction) | exponent << fraction


def operand(kind, edges, is_edge, words):
    if kind.endswith("x2"):
        half = [operand(kind[:-2], edges, is_edge, words) for _ in range(2)]
        return half[1] << 16 | half[0]
    word, other = next(words), next(words)
    if kind == "pred":
        return word >> 63
    if is_edge:
        return edges[kind][(word >> 32) % len(edges[kind])]
    return random_operand(kind, word, other)


def cases_of(kinds, edges):
    """Now and then the second operand is the first."""
    words = random_words()
    for i in range(CASES):
        row = [operand(k, edges, i < EDGES, words) for k in kinds]
        if i % 16 == 0 and len(kinds) > 1 and kinds[0] == kinds[1]:
            row[1] = row[0]
        yield row


def operands_of(text):
    """The instruction's registers, and what its operands are: the first type of their width among
    those of the spelling, from the last, where that is one of floats."""
    registers = list(dict.fromkeys(re.findall(r"%(\w+?)_(\d+)", text)))
    names = text.split()[0].split(".")[1:]
    kinds = []
    for width, _ in registers[1:]:
        same = [n for n in reversed(names)
                if FLOATS.get(n.removesuffix("x2"), (0,))[0] * (2 if n.endswith("x2") else 1)
                == WIDTHS[width]]
        kinds.append(same[0] if same else width)
    return [(f"%{w}_{n}", w) for w, n in registers], kinds


class Values:
    """Digests of BATCH cases each are computed by ptxas too, where it computes each of them."""

    def __init__(self, text, cases):
        self.text, self.cases = text, cases
        self.registers, _ = operands_of(text)

    def declarations(self):
        return [f".reg .{width} {name};" for name, width in self.registers]

    def computed(self, row):
        lines = []
        for (name, width), value in zip(self.registers[1:], row):
            if width == "pred":
                lines.append(f"setp.eq.u32 {name}, 1, {value};")
            else:
                lines.append(f"mov.{width} {name}, {value:#x};")
        return lines + [self.text]

    def one(self, i):
        name, width = self.registers[0]
        return self.declarations() + self.computed(self.cases[i]), name, WIDTHS[width]

    def batch(self, first):
        name, width = self.registers[0]
        lines = self.declarations() + [".reg .b32 %x, %y, %h;", "mov.b32 %h, 0x811c9dc5;"]
        words = {"pred": f"selp.b32 %x, 1, 0, {name};", "b16": f"cvt.u32.u16 %x, {name};",
                 "b32": f"mov.b32 %x, {name};", "b64": f"mov.b64 {{%x, %y}}, {name};"}[width]
        for row in self.cases[first:first + BATCH]:
            lines += self.computed(row) + [words]
            for word in ["%x", "%y"][:2 if width == "b64" else 1]:
                lines.append(f"xor.b32 %h, %h, {word}; mul.lo.u32 %h, %h, 0x1000193;")
        return lines, "%h", 32

    def digest(self, values):
        h = 0x811C9DC5
        for v in values:
            for shift in (0, 32) if self.registers[0][1] == "b64" else (0,):
                h = (h ^ v >> shift & 0xFFFFFFFF) * 0x1000193 % 2**32
        return h

    def questions(self):
        """The cases and the batches to ask first: (the first of a batch or the case, is a batch).
        Edges are many that ptxas leaves to the instruction."""
        return ([(i, False) for i in range(EDGES)] +
                [(first, True) for first in range(EDGES, CASES, BATCH)])

    def text_of(self, question):
        i, is_batch = question
        return (self.batch if is_batch else self.one)(i)

    def unanswered(self, answers):
        """Of each batch that ptxas did not compute whole, the cases."""
        return [(i, False) for (first, is_batch), a in answers.items() if is_batch and a is None
                for i in range(first, first + BATCH)]

    def result(self, answers):
        """How many were computed, and the digest of the batches' digests."""
        digests, left = [], 0
        for first in range(0, CASES, BATCH):
            of_batch = answers.get((first, True))
            if of_batch is None:
                values = [answers[i, False] for i in range(first, first + BATCH)]
                left += values.count(None)
                of_batch = self.digest(v for v in values if v is not None)
            digests.append(of_batch)
        return CASES - left, digest(digests)


def ask_together(asker, group):
    """Of several instructions at once: what ask gives for each."""
    answers = [{} for _ in group]
    for questions in (lambda v, a: v.questions(), lambda v, a: v.unanswered(a)):
        asked = [(k, q) for k, v in enumerate(group) for q in questions(v, answers[k])]
        for is_batch, in_entry in ((False, 1000), (True, 10)):
            chosen = [(k, q) for k, q in asked if q[1] == is_batch]
            texts = [group[k].text_of(q) for k, q in chosen]
            for (k, q), a in zip(chosen, asker.compile("sm_90", 3, texts, in_entry)):
                answers[k][q] = a
    return [v.result(a) for v, a in zip(group, answers)]


def ask_values(asker, version):
    path = asker.options.file
    lines = [line for line in path.read_text().splitlines() if line and line[0] != "#"]
    edges = {line.split()[1]: [int(word, 16) for word in line.split()[2:]]
             for line in lines if line.startswith("edges ")}
    texts = [line.split(" ", 2)[2] for line in lines if not line.startswith("edges ")]
    made = {}
    for text in texts:
        kinds = tuple(operands_of(text)[1])
        if kinds not in made:
            made[kinds] = list(cases_of(kinds, edges))

    values = [Values(text, made[tuple(operands_of(text)[1])]) for text in texts]
    groups = [values[i:i + 8] for i in range(0, len(values), 8)]
    with ThreadPoolExecutor(asker.options.jobs) as pool:
        answers = [a for of_group in pool.map(lambda g: ask_together(asker, g), groups)
                   for a in of_group]
    with path.open("w") as out:
        out.write(f"# Instructions on constants as ptxas {version} computes them. Made by "
                  "scripts/ask_folds.py, which says how to read it.\n")
        for line in lines:
            if line.startswith("edges "):
                out.write(line + "\n")
        for text, (count, of_all) in zip(texts, answers):
            out.write(f"{count} {of_all:016x} {text}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["functions", "instructions", "values"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--jobs", type=int, help="processes at a time (values)")
    asker = Asker(parser.parse_args())
    text = subprocess.run([asker.options.ptxas, "--version"], capture_output=True, text=True).stdout
    version = re.search(r"V[\d.]+", text).group()
    {"functions": ask_functions, "instructions": ask_instructions,
     "values": ask_values}[asker.options.what](asker, version)


if __name__ == "__main__":
    main()
