#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas what each target says to each instruction of tests/isa/data/ptxas.tsv, and writes the
answers there. `ask_ptxas.py FILE [--ptxas PROGRAM]`. The file holds, line by line:

    #...            comments, among them ptxas' version
    |...            the module around an instruction: @target and @instruction stand for these
    =N<tab>MESSAGE  answers, numbered; @target stands for the target
    INSTRUCTION<tab>TARGET:N ...   what was answered; a target that accepts it is not listed
    ?TARGET ...     the targets that are asked
    !TARGET:VERSION ...  the first .version that each may stand beside

To ask about more, add instructions without answers or targets, and run this.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path


def module(around, target, instructions):
    lines = []
    for line in around:
        if line == "@instruction":
            # A label is the instruction's own.
            lines += [f"{{ {i} }}" if re.match(r"\w+:", i) else i for i in instructions]
        else:
            lines.append(line.replace("@target", target))
    return lines


def ask(ptxas, around, target, instructions):
    """The first message about each instruction; those without are accepted."""
    said = {}
    left = list(instructions)
    # ptxas may stop before the end, so those that it refused are taken out until it is content.
    # Where it names none, a half at a time is asked.
    while left:
        lines = module(around, target, left)
        first = around.index("@instruction")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "module.ptx"
            path.write_text("\n".join(lines) + "\n")
            done = subprocess.run(
                [ptxas, f"-arch={target}", "-O0", "-o", Path(folder) / "out", path],
                capture_output=True, text=True)
        if done.returncode == 0:
            return said
        refused = {}
        for number, text in re.findall(r"line (\d+); error\s*: (.*)", done.stderr):
            index = int(number) - 1 - first
            if not 0 <= index < len(left):
                raise SystemExit(f"{target}: {text} (line {number})")
            refused.setdefault(left[index], text)
        if not refused:
            if len(left) == 1:
                raise SystemExit(f"{target}: {left[0]}: {done.returncode} {done.stderr}")
            for half in (left[:len(left) // 2], left[len(left) // 2:]):
                said.update(ask(ptxas, around, target, half))
            return said
        said.update(refused)
        left = [i for i in left if i not in refused]
    return said


def first_version(ptxas, target):
    for version in ("6.0 6.1 6.2 6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 "
                    "8.5 8.6 8.7 8.8 9.0").split():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "module.ptx"
            path.write_text(f".version {version}\n.target {target}\n.address_size 64\n"
                            ".entry k() { ret; }\n")
            if subprocess.run([ptxas, f"-arch={target}", "-O0", "-o", Path(folder) / "out", path],
                              capture_output=True).returncode == 0:
                return version
    raise SystemExit(f"no .version has {target}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--ptxas", default="ptxas")
    options = parser.parse_args()
    around, targets, instructions = [], [], []
    for line in options.file.read_text().splitlines():
        if line.startswith("|"):
            around.append(line[1:])
        elif line.startswith("?"):
            targets = line[1:].split()
        elif line and line[0] not in "#=!":
            instructions.append(line.split("\t")[0])
    version = subprocess.run([options.ptxas, "--version"], capture_output=True, text=True).stdout
    release = re.search(r"V[\d.]+", version).group()
    answers, by_instruction = {}, {i: [] for i in instructions}
    for target in targets:
        for i, text in ask(options.ptxas, around, target, instructions).items():
            number = answers.setdefault(text.replace(target, "@target"), len(answers) + 1)
            by_instruction[i].append(f"{target}:{number}")
    with options.file.open("w") as out:
        out.write(f"# What ptxas {release} answers. Made by scripts/ask_ptxas.py, which says how to "
                  "read it.\n")
        out.writelines(f"|{line}\n" for line in around)
        out.write(f"?{' '.join(targets)}\n")
        versions = [f"{t}:{first_version(options.ptxas, t)}" for t in targets]
        out.write(f"!{' '.join(versions)}\n")
        out.writelines(f"={n}\t{text}\n" for text, n in answers.items())
        for i in instructions:
            out.write("\t".join([i] + ([" ".join(by_instruction[i])] if by_instruction[i] else []))
                      + "\n")


if __name__ == "__main__":
    main()
