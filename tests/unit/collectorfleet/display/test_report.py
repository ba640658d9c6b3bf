"""The page of a run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from base64 import b64encode
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.display.report import ticks
from collectorfleet.display.report.page import page
from collectorfleet.timeline.timeline import Evaluated, RunEvent, Span, Timeline
from collectorfleet.timeline.videos import VideoFile

EVIL = '<script>alert("x")</script>&'
RUN = Timeline(
    fleet=EVIL,
    began=1_700_000_000.0,
    times=[1_700_000_001.0, 1_700_000_002.0, 1_700_000_003.0],
    series={"return": [None, 1.0, 2.0], "return min": [None, 0.0, 1.0], "return max": [None, 2.0, 3.0]}
    | {"frames": [0.0, 100.0, 200.0], f"reported/{EVIL}": [1.0, None, 3.0]},
    total_frames=1000,
    lives={"c10": [Span(state=EVIL, begin=1_700_000_001, end=1_700_000_003)], "c2": []},
    happened=[RunEvent(time=1_700_000_002, what=EVIL, collector=EVIL), RunEvent(time=1_700_000_003, what="again")],
    evaluations=[
        Evaluated(time=1_700_000_002, version=5, frames=100, return_mean=-20.0, standard_error=4.0, episodes=20),
        Evaluated(time=1_700_000_003, version=10, frames=200, return_mean=87.5, standard_error=2.0, episodes=20),
        Evaluated(time=1_700_000_004, version=15, frames=300, return_mean=60.0),
    ],
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


def test_a_video_is_a_part_of_the_page_and_needs_nothing_outside_of_it() -> None:
    text = page(RUN, shown=[VideoFile(120, 0, "475", b"first"), VideoFile(120, 1, "-2.5", b"second")])
    found = Tags()
    found.feed(text)
    assert {"details", "summary", "img"} <= set(found.tags)
    assert [source.partition('"')[0] for source in text.split('src="')[1:]] == [
        f"data:image/webp;base64,{b64encode(data).decode()}" for data in (b"first", b"second")
    ]
    assert "Episodes of version 120" in found.words
    assert {"episode 1, return 475", "episode 2, return -2.5"} <= set(found.words)
    assert "img-src data:" in text
    assert "http" not in text.replace("http-equiv", "")


def test_whatever_a_name_or_a_cause_is_it_is_text() -> None:
    assert parsed(RUN).words.count(EVIL) >= 4
    assert svgs(RUN)
    for svg in svgs(RUN):
        assert {element.tag for element in svg.iter()} <= {
            "svg",
            "line",
            "text",
            "polyline",
            "polygon",
            "rect",
            "circle",
            "title",
        }


def test_it_says_what_is_known_and_what_is_not() -> None:
    words = " ".join(parsed(RUN).words)
    assert "200 of 1,000" in words
    assert "7 before these are not kept" in words
    empty = " ".join(parsed(EMPTY).words)
    assert "its end is not known here" in empty
    assert "Nothing was lost" in empty
    assert svgs(EMPTY) == []


def test_a_hole_in_the_numbers_is_a_hole_in_the_line() -> None:
    reported = svgs(RUN)[-1]
    assert len(reported.findall("polyline")) == 2


def evaluations(*results: Evaluated) -> ET.Element:
    """The plot of these results."""
    (svg,) = svgs(Timeline(fleet="f", began=0.0, evaluations=list(results)))
    return svg


def test_each_evaluation_is_a_point_with_its_version_and_its_standard_error() -> None:
    svg = evaluations(*RUN.evaluations)
    assert [title.text for title in svg.iter("title")] == [
        "version 5: -20 ±4 over 20 episodes, at 100 frames",
        "version 10: 87.5 ±2 over 20 episodes, at 200 frames",
        "version 15: 60, at 300 frames",
    ]
    bars = [line for line in svg.findall("line") if "error" in line.attrib["class"]]
    assert len(bars) == 2, "one episode has no standard error"
    texts = [text.text for text in svg.findall("text")]
    assert {"v5", "v10", "v15", "newest 60", "best 87.5 ±2"} <= set(texts)
    assert [circle.attrib["class"] for circle in svg.findall("circle")] == ["point c1", "point c2", "point c1"]


def test_the_head_has_the_newest_and_the_best_evaluation() -> None:
    words = parsed(RUN).words
    assert words[words.index("newest evaluation, version 15") + 1] == "60"
    assert words[words.index("best evaluation, version 10") + 1] == "87.5 ±2"
    assert "evaluation" not in page(ONE)


def test_a_driver_that_resumed_with_fewer_frames_begins_another_line() -> None:
    again = Evaluated(time=1_700_000_009, version=17, frames=150, return_mean=70.0)
    more = again.model_copy(update={"version": 19, "frames": 250})
    assert len(evaluations(*RUN.evaluations, again, more).findall("polyline")) == 2


def test_versions_of_many_evaluations_do_not_lie_on_each_other() -> None:
    first = RUN.evaluations[0]
    many = [first.model_copy(update={"version": n, "frames": 100 * n, "return_mean": float(n)}) for n in range(400)]
    texts = evaluations(*many).findall("text")
    places = sorted(float(text.attrib["x"]) for text in texts if (text.text or "").startswith("v"))
    assert len(places) >= 5
    assert min(after - before for before, after in pairwise(places)) >= 40


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
    assert svgs(RUN)
    assert svgs(ONE)
    for svg in [*svgs(RUN), *svgs(ONE)]:
        _, _, width, height = map(float, svg.attrib["viewBox"].split())
        for element in svg.iter():
            across = [float(element.attrib[name]) for name in ("x", "x1", "x2", "cx") if name in element.attrib]
            down = [float(element.attrib[name]) for name in ("y", "y1", "y2", "cy") if name in element.attrib]
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
