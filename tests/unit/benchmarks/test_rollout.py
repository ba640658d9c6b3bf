"""The page of the rollout's benchmark: a new measurement keeps the section that somebody wrote by hand."""

from __future__ import annotations

from pathlib import Path

from benchmarks.common import tables
from benchmarks.rollout.__main__ import BEYOND, write
from tests.cluster.binaries import ROOT

OLD = f"""# What a step costs

| former | 1 |

{BEYOND}

First.

### Details

Second.

## Memory

| former | 2 |
"""


def test_a_new_measurement_keeps_the_hand_written_section_before_the_memory(tmp_path: Path) -> None:
    page = tmp_path / "rollout.md"
    page.write_text(OLD)
    write(str(page), 5, "| new | 3 |\n", "| new | 4 |")
    body = page.read_text().partition("| new | 3 |")[2]
    assert body.startswith(f"\n\n{BEYOND}\n\nFirst.\n\n### Details\n\nSecond.\n\n## Memory\n")
    assert body.endswith("| new | 4 |\n")
    assert "former" not in page.read_text()


def test_a_new_page_has_no_hand_written_section(tmp_path: Path) -> None:
    page = tmp_path / "rollout.md"
    write(str(page), 5, "| new | 3 |\n", "| new | 4 |")
    assert "| new | 3 |\n\n## Memory\n" in page.read_text()


def test_the_page_has_the_section_that_the_command_keeps() -> None:
    assert tables.section(str(ROOT / "docs/rollout.md"), BEYOND).startswith(f"{BEYOND}\n\n")
