"""The page of a run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.display.report import ticks
from collectorfleet.display.report.page import page
from collectorfleet.timeline.timeline import Happened, Span, Timeline

EVIL = '<script>alert("x")</script>&'
RUN = Timeline(
    fleet=EVIL,
    began=1_700_000_000.0,
    times=[1_700_000_001.0, 1_700_000_002.0, 1_700_000_003.0],
    series={"return": [None, 1.0, 2.0], "return min": [None, 0.0, 1.0], "return max": [None, 2.0, 3.0]}
    | {"frames": [0.0, 100.0, 200.0], f"reported/{EVIL}": [1.0, None, 3.0]},
    total_frames=1000,
    lives={"c10": [Span(state=EVIL, begin=1_700_000_001, end=1_700_000_003)], "c2": []},
    happened=[Happened(time=1_700_000_002, what=EVIL, collector=EVIL), Happened(time=1_700_000_003, what="again")],
    left_out=7,
    ended=f"failed: {EVIL}",
)
EMPTY = Timeline(fleet="young", began=0.0)
ONE = Timeline(fleet="one", began=0.0, times=[1.0], series={"frames per second": [5.0]})


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.words += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(run: Timeline) -> Tags:
    found = Tags()
    found.feed(page(run))
    return found


def svgs(run: Timeline) -> list[ET.Element]:
    pieces = page(run).split("<svg")[1:]
    return [ET.fromstring(f"<svg{piece.partition('</svg>')[0]}</svg>") for piece in pieces]


@pytest.mark.parametrize("run", [RUN, EMPTY, ONE], ids=["full", "empty", "one point"])
def test_it_loads_and_runs_nothing(run: Timeline) -> None:
    found = parsed(run)
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    assert not {"src", "href", "onload", "onclick"} & set(found.words)
    text = page(run)
    assert "http://" not in text
    assert "https://" not in text
    assert "default-src 'none'" in text


def test_whatever_a_name_or_a_cause_is_it_is_text() -> None:
    assert parsed(RUN).words.count(EVIL) >= 4
    for svg in svgs(RUN):
        assert {element.tag for element in svg.iter()} <= {
            "svg",
            "line",
            "text",
            "polyline",
            "polygon",
            "rect",
            "title",
        }


def test_it_says_what_is_known_and_what_is_not() -> None:
    words = " ".join(parsed(RUN).words)
    assert "200 of 1,000" in words
    assert "7 before these are not kept" in words
    empty = " ".join(parsed(EMPTY).words)
    assert "not ended as far as is known here" in empty
    assert "Nothing was lost" in empty
    assert svgs(EMPTY) == []


def test_a_hole_in_the_numbers_is_a_hole_in_the_line() -> None:
    reported = svgs(RUN)[-1]
    assert len(reported.findall("polyline")) == 2


def test_a_page_too_narrow_for_the_names_at_the_lines_has_them_above() -> None:
    versions = Timeline(
        fleet="f",
        began=0.0,
        times=[1.0],
        series={"published": [2.0], "acknowledged": [1.0], "frames per second": [5.0]},
    )
    assert '<span class="key"><span class="c1">published</span><span class="c2">acknowledged</span></span>' in page(
        versions
    )
    assert page(versions).count('class="key"') == 1, "one line needs no name"


def test_everything_is_inside_of_its_plot() -> None:
    for svg in [*svgs(RUN), *svgs(ONE)]:
        _, _, width, height = map(float, svg.attrib["viewBox"].split())
        for element in svg.iter():
            across = [float(element.attrib[name]) for name in ("x", "x1", "x2") if name in element.attrib]
            down = [float(element.attrib[name]) for name in ("y", "y1", "y2") if name in element.attrib]
            for pair in element.attrib.get("points", "").split():
                x, _, y = pair.partition(",")
                across.append(float(x))
                down.append(float(y))
            assert all(0 <= x <= width for x in across)
            assert all(0 <= y <= height for y in down)


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_ticks_cover_what_they_are_for_and_none_is_said_twice(least: float, size: float) -> None:
    found = ticks.of_numbers(least, least + size)
    slack = 1e-6 * (abs(least) + size + 1)
    assert found[0].at <= least + slack
    assert found[-1].at >= least + size - slack
    assert 2 <= len(found) <= 12
    assert len({tick.text for tick in found}) == len(found)


@pytest.mark.parametrize(
    ("least", "most", "texts"),
    [
        (0, 1, ["0", "0.5", "1.0"]),
        (0, 4800, ["0", "2k", "4k", "6k"]),
        (-2000, 6500, ["-5k", "0", "5k", "10k"]),
        (0, 0, ["0", "0.5", "1.0"]),
        (990_000, 1_010_000, ["990k", "995k", "1.000M", "1.005M", "1.010M"]),
    ],
)
def test_ticks_of_numbers(least: float, most: float, texts: list[str]) -> None:
    assert [tick.text for tick in ticks.of_numbers(least, most)] == texts


def test_what_is_counted_has_whole_ticks() -> None:
    assert [tick.text for tick in ticks.of_numbers(0, 2, whole=True)] == ["0", "1", "2"]
    assert [tick.text for tick in ticks.of_numbers(0, 80, whole=True)] == ["0", "20", "40", "60", "80"]


@given(st.floats(1, 1e8))
def test_ticks_of_time_are_few_and_differ(seconds: float) -> None:
    texts = [tick.text for tick in ticks.of_time(seconds)]
    assert 1 <= len(texts) <= 9
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0"), (45, "45 s"), (120, "2 min"), (5400, "1 h 30 min"), (3 * 86400, "3 d"), (86400 + 60, "1 d")],
)
def test_durations(seconds: float, text: str) -> None:
    assert ticks.duration(seconds) == text
