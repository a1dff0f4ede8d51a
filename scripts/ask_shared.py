#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas where it puts .shared variables, and writes the answers. No GPU is needed.
`ask_shared.py FILE [--ptxas PROGRAM] [--nvdisasm PROGRAM] [--more N]`. A line is a module:

    LINK DYNAMIC VARIABLE ...

LINK is that of the entry (none, visible, weak), DYNAMIC the alignment and address of an .extern
variable, "0:-" where there is none. A VARIABLE is SCOPE:LINK:BYTES:ALIGNMENT:ADDRESS, its scope m
(module) or e (entry), its address "-" where nothing names it. --more adds N random modules.
"""

import argparse
import random
import re
import subprocess
import tempfile
from pathlib import Path

LINKS = {"none": "", "visible": ".visible ", "weak": ".weak "}


def text_of(line):
    link, dynamic, *variables = line.split()
    variables = [v.split(":") for v in variables]
    declared = {"m": [], "e": []}
    named = []
    for i, (scope, of, size, alignment, address) in enumerate(variables):
        declared[scope].append(f"{LINKS[of]}.shared .align {alignment} .b8 v{i}[{size}];")
        if address != "-":
            named.append(f"v{i}")
    if dynamic != "0:-":
        alignment = dynamic.split(":")[0]
        declared["m"].append(f".extern .shared .align {alignment} .b8 dynamic[];")
        named.append("dynamic")
    uses = [f"mov.u32 %t, {n}; st.global.u32 [%out+{8 * i}], %t;" for i, n in enumerate(named)]
    return "\n".join(
        [".version 8.0", ".target sm_75", ".address_size 64"] + declared["m"] +
        [f"{LINKS[link]}.entry k(.param .u64 out) {{"] + declared["e"] +
        [".reg .u64 %out; .reg .u32 %t; ld.param.u64 %out, [out];"] + uses + ["ret; }"]) + "\n"


def ask(options, line):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.ptx"
        path.write_text(text_of(line))
        subprocess.run([options.ptxas, "-arch=sm_75", "-o", f"{folder}/out", path], check=True)
        sass = subprocess.run([options.nvdisasm, "-c", "-hex", f"{folder}/out"], check=True,
                              capture_output=True, text=True).stdout
    registers, at = {"RZ": 0}, {}
    for text, low in re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?) *;\s*/\* 0x([0-9a-f]{16}) \*/", sass):
        op, _, rest = text.partition(" ")
        operands = [o.strip().replace(".reuse", "") for o in rest.split(",")]
        if op.startswith("STG"):
            offset = re.search(r"\+(0x[0-9a-f]+)\]", operands[0])
            at[int(offset[1], 16) // 8 if offset else 0] = registers[operands[1]]
        elif op in ("MOV", "IMAD.MOV.U32") and operands[-1].startswith("0x"):
            registers[operands[0]] = int(low, 16) >> 32
    link, dynamic, *variables = line.split()
    out, named = [link], 0
    for v in variables:
        head, _, address = v.rpartition(":")
        out.append(f"{head}:{address if address == '-' else at[named]}")
        named += address != "-"
    out.insert(1, dynamic if dynamic == "0:-" else f"{dynamic.split(':')[0]}:{at[named]}")
    return " ".join(out)


def made(number):
    r = random.Random(number)
    out = [r.choice(list(LINKS)[:2]), r.choice(["0:-", "0:-", "4:?", "16:?", "64:?"])]
    for scope, links in (("m", list(LINKS)), ("e", ["none"])):
        for _ in range(r.randrange(5)):
            size = r.choice([1, 2, 3, 4, 5, 8, 12, 16, 20, 48, 64, 100, 256, 512])
            alignment = r.choice([1, 2, 4, 8, 16, 32, 128])
            named = "?" if r.random() < 0.75 else "-"
            out.append(f"{scope}:{r.choice(links)}:{size}:{alignment}:{named}")
    return " ".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--more", type=int, default=0)
    options = parser.parse_args()
    lines = options.file.read_text().splitlines() if options.file.exists() else []
    lines = [line for line in lines if line and line[0] != "#"]
    lines += [made(len(lines) + i) for i in range(options.more)]
    text = subprocess.run([options.ptxas, "--version"], capture_output=True, text=True).stdout
    answers = [ask(options, line) for line in lines]
    with options.file.open("w") as out:
        out.write(f"# Where ptxas {re.search(r'V[0-9.]+', text).group()} puts .shared variables. "
                  "Made by scripts/ask_shared.py, which says how to read it.\n")
        out.writelines(f"{a}\n" for a in answers)


if __name__ == "__main__":
    main()
