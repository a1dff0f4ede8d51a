# SPDX-License-Identifier: Apache-2.0
"""What notebooks show."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts."""
    def line(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    head = line(header, "th") if any(header) else ""
    return (f"<table><caption>{html.escape(title)}</caption>{head}"
            + "".join(line(r, "td") for r in rows) + "</table>")
