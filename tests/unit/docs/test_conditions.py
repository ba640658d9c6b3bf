"""The page on conditions has what the code can say, each once, and nothing else."""

from __future__ import annotations

import re

from tests.cluster.binaries import ROOT

from collectorfleet_api.schema.remedies import with_remedies
from collectorfleet_api.v1alpha1.reasons import ConditionType, Phase, Reason

SECTIONS = re.split(r"^## ", (ROOT / "docs" / "conditions.md").read_text(), flags=re.MULTILINE)


def rows(section: str) -> list[list[str]]:
    """The cells of each row of the tables in a section, without their heads."""
    text = next(one for one in SECTIONS if one.startswith(f"{section}\n"))
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in cells]


def named(section: str) -> list[str]:
    return [row[0].strip("`") for row in rows(section)]


def test_every_condition_has_its_row() -> None:
    assert sorted(named("Conditions")) == sorted(ConditionType)


def test_every_phase_has_its_row() -> None:
    assert sorted(named("Phases")) == sorted(Phase)


def lists() -> tuple[list[str], list[str]]:
    """The reasons with which nothing is wrong, and those with which the fleet continues without anybody."""
    text = next(one for one in SECTIONS if one.startswith("Reasons\n"))
    fine, wait = (re.findall(r"`(\w+)`", line) for line in text.splitlines() if line.startswith("* "))
    return fine, wait


def test_every_reason_is_described_once() -> None:
    fine, wait = lists()
    assert sorted(named("Reasons") + fine + wait) == sorted(Reason)


def test_nothing_but_what_is_fine_is_listed_as_fine() -> None:
    fine = {Reason.COLLECTING, Reason.PROGRESSING, Reason.READY, Reason.RUNNING, Reason.ALL_AVAILABLE}
    fine |= {Reason.ACKNOWLEDGED, Reason.UP_TO_DATE, Reason.NOT_SUSPENDED, Reason.COMPLETED}
    fine |= {Reason.ADMITTED, Reason.CREATED, Reason.DELETED}
    assert set(lists()[0]) == fine


def test_the_tables_have_the_remedies_that_status_prints() -> None:
    page = (ROOT / "docs" / "conditions.md").read_text()
    assert with_remedies(page) == page, "stale: run `make generate`"


def test_reasons_to_look_up_are_in_order() -> None:
    assert named("Reasons") == sorted(named("Reasons"))


def test_what_is_wrong_has_something_to_do() -> None:
    assert [row for row in rows("Reasons") if len(row) != 2 or not all(row)] == []


def test_kubernetes_own_reasons_are_not_ours() -> None:
    assert not {word for cell in named("Kubernetes' own reasons") for word in re.findall(r"\w+", cell)} & set(Reason)


def test_pages_name_reasons_that_there_are() -> None:
    pages = {page: page.read_text() for page in (ROOT / "docs").rglob("*.md")}
    said = {(page.name, found) for page, text in pages.items() for found in re.findall(r"reason(?:=| `)(\w+)", text)}
    assert len(said) > 1
    assert [one for one in sorted(said) if one[1] not in set(Reason)] == []
