"""The page of a comparison."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from tests.unit.collectorfleet.display.comparison.made_runs import run

from collectorfleet.display.comparison.chart import MOST_GROUPS
from collectorfleet.display.comparison.compared import Compared
from collectorfleet.display.comparison.page import page
from collectorfleet.display.comparison.runs import Run
from collectorfleet.errors import InvalidOption
from collectorfleet.timeline.timeline import Earlier

EVIL = '<script>alert("x")</script>&'
RUNS = (
    run("a", [(0, 0.0), (1000, 100.0)], lr=1, seed=0),
    run("b", [(0, 0.0), (800, 120.0)], lr=1, seed=1),
    run("c", [(0, 0.0), (500, 300.0)], lr=2, seed=0),
)
EVALUATED = (
    run("a", evaluations=[(100, 1.0), (900, 5.0)], lr=1, seed=0),
    run("b", evaluations=[(100, 2.0), (900, 6.0)], lr=1, seed=1),
    run("c", lr=2),
)


class Parsed(HTMLParser):
    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.words: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def parsed(*runs: Run) -> Parsed:
    return Parsed(page(Compared(runs)))


def charts(*runs: Run) -> Sequence[ET.Element]:
    pieces = page(Compared(runs)).split('<svg viewBox="0 0 760')[1:]
    return [ET.fromstring(f'<svg viewBox="0 0 760{piece.partition("</svg>")[0]}</svg>') for piece in pieces]


def test_it_loads_and_runs_nothing_and_names_are_text() -> None:
    found = parsed(*RUNS, run(EVIL, lr=EVIL))
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    assert not {"src", "href", "onload", "onclick"} & set(found.attributes)
    assert EVIL in found.words
    assert f"lr={EVIL}" in found.words
    assert "default-src 'none'" in page(Compared(RUNS))


def test_each_source_has_the_mean_and_the_iqm_over_frames_and_over_time() -> None:
    titles = [chart.attrib["aria-label"] for chart in charts(*EVALUATED)]
    assert titles == [
        f"{source}: {statistic} over {axis}, with 95 % intervals"
        for source in ("Evaluation", "Training")
        for axis in ("frames", "time")
        for statistic in ("mean", "interquartile mean")
    ]
    assert "Results: evaluation and training." in parsed(*EVALUATED).text
    assert "Results: training." in parsed(*RUNS).text
    assert len(charts(*RUNS)) == 4


def test_groups_have_their_number_of_runs_and_few_runs_are_named_so() -> None:
    text = parsed(*RUNS).text
    assert "Comparison of 3 runs in 2 groups" in text
    assert "A lr=1 2 few runs: the interval is a rough one" in text
    assert "B lr=2 1 one run: no interval" in text
    assert "With fewer than 4 runs it equals the mean." in text
    many = parsed(*(run(str(n), seed=n) for n in range(5))).text
    assert "few runs" not in many
    assert "it equals the mean" not in many


def test_the_table_compares_groups_at_the_frames_that_all_runs_reached() -> None:
    text = parsed(*RUNS).text
    assert "At 500 frames, the most that all of these runs reached" in text
    assert "A lr=1 2 62.5 [50, 75] 62.5 [50, 75] B lr=2 1 300 300" in text


def test_a_group_whose_runs_lack_evaluations_is_left_out_of_them_by_name() -> None:
    text = parsed(*EVALUATED).text
    assert "B: c without evaluations." in text
    assert "Some runs have no evaluations." in text
    assert [len(chart.findall("polyline")) for chart in charts(*EVALUATED)] == [1] * 4 + [2] * 4


def test_runs_that_have_no_frames_in_common_are_told_so() -> None:
    text = parsed(run("a", [(0, 1.0), (10, 1.0)], seed=1), run("b", [(20, 1.0), (30, 2.0)], seed=2)).text
    assert "A: its runs have no frames in common." in text
    assert "no table compares them" in text


def test_groups_are_told_apart_without_colors() -> None:
    runs = [run(str(n), lr=n) for n in range(MOST_GROUPS)]
    chart = charts(*runs)[0]
    assert len({line.attrib["class"] for line in chart.findall("polyline")}) == MOST_GROUPS
    letters = [text.text for text in chart.findall("text") if "on" in text.attrib["class"].split()]
    assert letters == list("ABCDEFGHIJKL")
    heights = sorted(float(text.attrib["y"]) for text in chart.findall("text") if text.attrib["class"] == "letter")
    assert all(after - before >= 13.9 for before, after in pairwise(heights))
    assert 0 < heights[0] <= heights[-1] <= 184, "above the axis"


def test_more_groups_than_a_page_shows_are_refused() -> None:
    with pytest.raises(InvalidOption, match="these 13 runs have 13 configurations, and a page shows at most 12; name"):
        Compared([run(str(n), lr=n) for n in range(MOST_GROUPS + 1)])


def test_an_interval_is_an_area_and_one_run_has_none() -> None:
    chart = charts(*RUNS)[0]
    assert [area.attrib["class"] for area in chart.findall("polygon")] == ["area g0 d0"]


def test_everything_is_inside_of_its_chart() -> None:
    low = (run("a", [(5, -3.0)], seed=1), run("b", [(5, -9.0)], seed=2))
    for chart in [*charts(*RUNS), *charts(*EVALUATED), *charts(*low)]:
        _, _, width, height = map(float, chart.attrib["viewBox"].split())
        for element in chart.iter():
            across = [float(element.attrib[name]) for name in ("x", "x1", "x2", "cx") if name in element.attrib]
            down = [float(element.attrib[name]) for name in ("y", "y1", "y2", "cy") if name in element.attrib]
            for pair in element.attrib.get("points", "").split():
                x, _, y = pair.partition(",")
                across.append(float(x))
                down.append(float(y))
            assert all(0 <= x <= width for x in across)
            assert all(0 <= y <= height for y in down)


def test_what_differs_is_listed_by_its_whole_path() -> None:
    assert "What differs between groups field of the spec A B driver.train.kwargs.lr 1 2" in parsed(*RUNS).text
    assert "What differs" not in parsed(*RUNS[:2]).text


def test_a_run_that_was_edited_and_resumed_is_named_with_the_frames_of_the_edit() -> None:
    edited = run("edited", lr=0.001)
    earlier = [Earlier(until_frames=4000, configuration=run(lr=0.1).configuration or {})]
    timeline = edited.timeline.model_copy(update={"earlier": earlier})
    text = parsed(replace(edited, timeline=timeline)).text
    assert "configuration changed after about 4,000 frames" in text
    assert "lr=0.1, then 0.001" in text
    assert "A run that resumed with a changed configuration is a separate group" in text
