"""Rules and dashboard ask for series and labels that operator and drivers have."""

from __future__ import annotations

import json

import pytest
from tests.cluster.binaries import ROOT
from tests.delivery.monitoring.documents import (
    DASHBOARD,
    Query,
    alert_queries,
    alerts,
    panel_queries,
    panels,
    variable_queries,
)
from tests.delivery.monitoring.exporters import series
from tests.delivery.monitoring.promql import UnknownNameError, labels_of

QUERIES = [*alert_queries(), *panel_queries(), *variable_queries()]
SERIES = series()


@pytest.mark.parametrize("query", QUERIES, ids=[query.where for query in QUERIES])
def test_what_is_asked_for_exists_and_so_does_what_is_shown_of_it(query: Query) -> None:
    assert query.shown <= labels_of(query.expression, SERIES)


def test_none_is_forgotten() -> None:
    assert len(alert_queries()) >= 8
    assert len(panel_queries()) >= len(panels()) >= 20
    assert len(variable_queries()) == 2
    assert "$" not in "".join(query.expression for query in [*panel_queries(), *variable_queries()])


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("collectorfleet_frames_per_secnod", id="name"),
        pytest.param('collectorfleet_collectors_available{flet="a"}', id="matcher"),
        pytest.param("sum by (namespace, flet) (collectorfleet_collectors_available)", id="by"),
        pytest.param("sum by (le) (rate(collectorfleet_frames_collected_total[1m]))", id="bucket"),
        pytest.param("up and on (fleet) collectorfleet_collectors_available", id="on"),
        pytest.param("histogram_quantile(0.9, collectorfleet_operator_reconcile_duration_seconds_sum)", id="quantile"),
    ],
)
def test_a_name_that_nobody_has_is_found(expression: str) -> None:
    with pytest.raises(UnknownNameError):
        labels_of(expression, SERIES)


def test_what_is_gone_after_an_aggregation_cannot_be_shown() -> None:
    assert labels_of("sum by (namespace) (collectorfleet_collectors_available)", SERIES) == {"namespace"}
    assert labels_of("absent(up)", SERIES) == frozenset()


def test_each_alert_has_its_page_and_says_where_it_is() -> None:
    names = [rule["alert"] for rule in alerts()]
    pages = {page.stem: page.read_text() for page in (ROOT / "docs/runbooks").glob("*.md")}
    assert sorted(pages) == sorted(names)
    for rule in alerts():
        assert rule["annotations"]["runbook_url"].endswith(f"/docs/runbooks/{rule['alert']}.md")
        page = pages[rule["alert"]]
        assert page.startswith(f"# {rule['alert']}\n")
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        for part in ("## What it means", "## How to see it", "## What to do"):
            assert part in page, (rule["alert"], part)


def test_the_page_on_monitoring_names_each_alert() -> None:
    page = (ROOT / "docs/monitoring.md").read_text()
    assert [rule["alert"] for rule in alerts() if f"runbooks/{rule['alert']}.md" not in page] == []


def test_panels_do_not_lie_on_each_other_and_each_has_a_number_of_its_own() -> None:
    found = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in found}) == len(found)
    cells = [
        (x, y)
        for grid in (panel["gridPos"] for panel in found)
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
