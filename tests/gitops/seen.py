"""What the tests saw, as a table in docs/gitops.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.common import tables

_BEGIN, _END = "<!-- written by make test-gitops -->", "<!-- end of what it wrote -->"


@dataclass
class Seen:
    """One row for each thing that a tool was seen to do."""

    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, tool: str, what: str, verdict: str, message: str = "") -> None:
        self.rows.append((tool, what, verdict, " ".join(message.split())))

    def table(self) -> str:
        header = ("with", "what happens", "is shown as", "with the message")
        return f"{tables.table(header, self.rows)}\n\n{tables.machine()}"

    def verdicts(self) -> str:
        """What each tool shows, side by side, without the messages: those are the fleet's own."""
        shown = {(what, tool): verdict for tool, what, verdict, _ in self.rows}
        tools = list(dict.fromkeys(row[0] for row in self.rows))
        whats = dict.fromkeys(row[1] for row in self.rows)
        rows = [[what, *(shown.get((what, tool), "-") for tool in tools)] for what in whats]
        return f"{tables.table(['what happens', *tools], rows)}\n\n{tables.machine()}"

    def write(self, page: Path) -> None:
        """Put the verdicts into the page, between its marks."""
        before, _, rest = page.read_text().partition(_BEGIN)
        _, _, after = rest.partition(_END)
        page.write_text(f"{before}{_BEGIN}\n\n{self.verdicts()}\n\n{_END}{after}")
