# SPDX-License-Identifier: Apache-2.0
"""What came out for each room at last, results.tsv, and the table of it in the documents.

    results.py            prints the table
    results.py FILE       puts it into FILE, between the two comments that say so
    results.py --check FILE   exit status 1 where FILE has another one
"""

import sys
from dataclasses import astuple, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.tsv"
HEAD = "# What scripts/mutate --record found last. Fields, by tabs: " \
       "room, date, seed, tried, died, equivalent."


@dataclass
class Row:
    room: str
    date: str
    seed: int
    tried: int
    died: int
    equivalent: int

    def survived(self) -> int:
        return self.tried - self.died - self.equivalent

    def share(self) -> float:
        rest = self.tried - self.equivalent
        return 100.0 * self.died / rest if rest else 100.0


def rows() -> list[Row]:
    out = []
    for line in RESULTS.read_text().splitlines() if RESULTS.is_file() else []:
        if line and not line.startswith("#"):
            room, date, *numbers = line.split("\t")
            out.append(Row(room, date, *map(int, numbers)))
    return out


def record(new: list[Row]) -> None:
    every = {row.room: row for row in rows()} | {row.room: row for row in new}
    lines = ["\t".join(map(str, astuple(every[room]))) for room in sorted(every)]
    RESULTS.write_text("\n".join([HEAD, *lines]) + "\n")


def table(every: list[Row]) -> str:
    lines = ["| room | faults tried | died | change nothing | survived | died of the rest | date | seed |",
             "|---|---|---|---|---|---|---|---|"]
    for row in every:
        lines.append(f"| `{row.room}` | {row.tried} | {row.died} | {row.equivalent} | {row.survived()} "
                     f"| {row.share():.1f}% | {row.date} | {row.seed} |")
    return "\n".join(lines)


def with_table(page: str, text: str) -> str:
    begin, end = "<!-- printed by: scripts/mutation/results.py -->\n", "<!-- end -->"
    before, found, rest = page.partition(begin)
    _, ends, after = rest.partition(end)
    if not found or not ends:
        sys.exit("results.py: the page has no place for the table")
    return before + begin + text + "\n" + end + after


def main(arguments: list[str]) -> int:
    text = table(rows())
    if not arguments:
        print(text)
        return 0
    page = Path(arguments[-1])
    wanted = with_table(page.read_text(), text)
    if arguments[0] == "--check":
        if page.read_text() == wanted:
            return 0
        print(f"{page} has another table than scripts/mutation/results.tsv; to print it there: "
              f"python3 scripts/mutation/results.py {page.name}")
        return 1
    page.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
