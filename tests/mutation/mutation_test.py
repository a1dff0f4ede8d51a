# SPDX-License-Identifier: Apache-2.0
"""What scripts/mutate puts into a file: the faults that small.cpp lists, each of which changes what
the program does and none of which is there unasked.

Run by scripts/mutate --self-test.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
MUTATION = HERE.parent.parent / "scripts" / "mutation"
sys.path.insert(0, str(MUTATION))

import build  # noqa: E402
import main  # noqa: E402
from points import ALWAYS, with_faults  # noqa: E402

SMALL = HERE / "small.cpp"
# The code of the one fault that no run reaches: what follows the switch.
NOT_REACHED = ["0"]


def listed() -> dict[int, list[str]]:
    out = {}
    for number, line in enumerate(SMALL.read_text().splitlines(), 1):
        if not line.startswith("//") and "// " in line:
            what = line.rsplit("// ", 1)[1].strip()
            if "namespace" not in what:
                out[number] = sorted(what.split("; "))
    return out


class Small(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text, cls.faults = with_faults("small.cpp", SMALL.read_bytes(), 1, set())
        cls.folder = tempfile.TemporaryDirectory()
        program = Path(cls.folder.name) / "small"
        source = Path(cls.folder.name) / "small.cpp"
        source.write_text(cls.text)
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-include",
                        str(MUTATION / "mutant.hpp"), str(source), "-o", str(program)], check=True)
        cls.program = program

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_with(self, number: int, **environment):
        done = subprocess.run([self.program], capture_output=True, timeout=10,
                              env={"LOCKWARP_MUTANT": str(number), **environment})
        return done.returncode, done.stdout

    def test_lists_its_faults(self):
        found: dict[int, list[str]] = {}
        for fault in self.faults:
            found.setdefault(fault.line, []).append(fault.what)
        self.assertEqual({line: sorted(what) for line, what in found.items()}, listed())

    def test_lines_stay(self):
        self.assertEqual(self.text.count("\n"), SMALL.read_text().count("\n"))

    def test_numbers_go_up(self):
        self.assertEqual([f.number for f in self.faults], list(range(1, len(self.faults) + 1)))

    def test_each_fault_shows(self):
        right = self.run_with(0)
        self.assertEqual(right[0], 0)
        same = [f.code for f in self.faults if self.run_with(f.number) == right]
        self.assertEqual(same, NOT_REACHED)

    def test_what_is_reached_is_noted(self):
        with tempfile.NamedTemporaryFile() as seen:
            seen.write(bytes(len(self.faults) + 1))
            seen.flush()
            self.run_with(0, LOCKWARP_MUTANT_SEEN=seen.name)
            reached = Path(seen.name).read_bytes()
        missed = [f.code for f in self.faults if not reached[f.number]]
        self.assertEqual(missed, NOT_REACHED)

    def test_a_line_can_be_left_alone(self):
        line = self.faults[0].line
        _, rest = with_faults("small.cpp", SMALL.read_bytes(), 1, {line})
        self.assertNotIn(line, {f.line for f in rest})
        self.assertLess(len(rest), len(self.faults))

    def test_some_can_be_chosen(self):
        chosen = self.faults[3:30:5]
        text, faults = with_faults("small.cpp", SMALL.read_bytes(), 1, set(),
                                   {f.place() for f in chosen})
        self.assertEqual([(f.place(), f.line) for f in faults],
                         [(f.place(), f.line) for f in chosen])
        self.assertEqual(text.count("::lockwarp_mutant::"), len(chosen))

    def test_places_tell_faults_apart(self):
        self.assertEqual(len({f.place() for f in self.faults}), len(self.faults))

    def test_faults_by_hand(self):
        text, faults = with_faults("small.cpp", SMALL.read_bytes(), 1, set(), None,
                                   [("x < 3", "x < 5"), ("~b", "b + 1")])
        own = [f for f in faults if f.what.endswith(" in its place")]
        lines = [" ".join(line.split()) for line in SMALL.read_text().splitlines()]

        def line_with(code: str) -> str:
            return next(line for line in lines if code in line)

        self.assertEqual([(f.what, f.code) for f in own],
                         [("x < 5 in its place", line_with("return x < 3;")),
                          ("b + 1 in its place", line_with("(a << 2) | ~b;"))])
        source = Path(self.folder.name) / "by_hand.cpp"
        source.write_text(text)
        program = source.with_suffix("")
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-include",
                        str(MUTATION / "mutant.hpp"), str(source), "-o", str(program)], check=True)
        said = [subprocess.run([program], capture_output=True, timeout=10,
                               env={"LOCKWARP_MUTANT": str(number)}).stdout
                for number in (0, *(f.number for f in own))]
        self.assertEqual(len(set(said)), 3)


# The faults of the first three functions alone are the compiler's to notice.
COMPILED = b"""constexpr int next(int x) { return x + 3; }
consteval int half(int x) { return x >> 1; }
template <class T> struct A { constexpr int operator()(T x) const { return [&] { return x < 5; }(); } };
static_assert(next(1) == 4 && half(4) == 2 && !A<int>{}(6));
int plain(int x) { return x * 7; }
"""


class Compiled(unittest.TestCase):
    def test_what_the_compiler_may_evaluate_is_known(self):
        _, faults = with_faults("compiled.cpp", COMPILED, 1, set())
        self.assertEqual([(f.what, f.compiled) for f in faults],
                         [("+ -> -", True), ("3 + 1", True), (">> -> <<", True), ("1 + 1", True),
                          ("< -> <=", True), ("5 + 1", True), ("* -> +", False), ("7 + 1", False)])

    def test_the_compiler_notices_what_is_always_there(self):
        _, faults = with_faults("compiled.cpp", COMPILED, 1, set())
        for first in (1, ALWAYS):
            passed = []
            for fault in faults:
                text, own = with_faults("compiled.cpp", COMPILED, first, set(), {fault.place()})
                self.assertEqual([f.number for f in own], [first])
                done = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-include",
                                       str(MUTATION / "mutant.hpp"), "-fsyntax-only", "-x", "c++", "-"],
                                      input=text, text=True, capture_output=True)
                if done.returncode == 0:
                    passed.append(fault.what)
            # The static_assert would hold with the other two as well.
            self.assertEqual(passed, [f.what for f in faults] if first == 1 else
                             ["< -> <=", "5 + 1", "* -> +", "7 + 1"])


class Equivalent(unittest.TestCase):
    def test_each_row_names_faults_of_one_line(self):
        rows = main.equivalents()
        by_file = {file: build.faults_of(file) + build.faults_by_hand(file)
                   for file in {row[0] for row in rows}}
        self.maxDiff = None
        lines = {row: {f.line for f in by_file[row[0]] if main.is_same(f, {row})} for row in rows}
        self.assertEqual({row: found for row, found in lines.items() if len(found) != 1}, {})

    def test_a_line_or_a_function_tells_the_same_words_apart(self):
        _, faults = with_faults("small.cpp", SMALL.read_bytes(), 1, set())
        wanted = next(f for f in faults if f.code == "3" and f.around[1] == "is_small")
        row = wanted.file, wanted.what, wanted.code
        self.assertGreater(sum(main.is_same(f, {row}) for f in faults), 1)
        for around in ("return x < 3; // < -> <=; 3 + 1", "is_small"):
            self.assertEqual([f for f in faults if main.is_same(f, {(*row, around)})], [wanted])
        self.assertEqual([f for f in faults if main.is_same(f, {(*row, "is_known")})], [])

    def test_functions_have_their_names(self):
        text = b"""struct A { int f() { return 1; } int& g(); bool operator<(A); };
int& A::g() { return [] { return 2; }(); }
int n() { return 3; }
bool A::operator<(A) { return 4; }
int outside = 5;
A::A() { f(6); }
"""
        _, faults = with_faults("named.cpp", text, 1, set())
        names = {f.code: f.around[1] for f in faults}
        self.assertEqual({code: names[code] for code in "12346"},
                         {"1": "f", "2": "A::g", "3": "n", "4": "A::operator<", "6": "A::A"})
        self.assertNotIn("5", names)


if __name__ == "__main__":
    unittest.main()
