"""Timelines as a ConfigMap holds them."""

from __future__ import annotations

import gzip
import random
from typing import Any

import pytest

from collectorfleet.timeline.evaluations import MOST_EVALUATIONS
from collectorfleet.timeline.packed import MOST_BYTES, pack, unpack
from collectorfleet.timeline.points import MOST_POINTS, MOST_SERIES
from collectorfleet.timeline.recorder import MOST_HAPPENED, MOST_LIVES, MOST_SPANS
from collectorfleet.timeline.timeline import Earlier, Evaluated, RunEvent, Span, Timeline


def noise() -> str:
    """What no compression makes smaller by much."""
    return "".join(chr(random.randrange(0x20, 0x2FFF)) for _ in range(500))


def largest() -> Timeline:
    """As large as the recorder lets one become."""
    times = [1.7e9 + i + random.random() for i in range(MOST_POINTS)]
    return Timeline(
        fleet="cheetah",
        began=1.7e9,
        times=times,
        series={f"reported/{noise()[:60]}": [random.random() for _ in times] for _ in range(MOST_SERIES)},
        lives={
            f"c{i}": [Span(state="Ready", begin=random.random(), end=random.random()) for _ in range(MOST_SPANS)]
            for i in range(MOST_LIVES)
        },
        happened=[RunEvent(time=random.random(), what=noise(), collector="c1") for _ in range(MOST_HAPPENED)],
        evaluations=[
            Evaluated(time=float(i), version=i, frames=100 * i, return_mean=random.random(), standard_error=0.1)
            for i in range(MOST_EVALUATIONS)
        ],
    )


def test_what_fits_comes_back_as_it_was() -> None:
    run = Timeline(
        fleet="cheetah",
        began=1.5,
        times=[2.0, 3.25],
        series={"return": [None, 1.0]},
        lives={"c0": [Span(state="Ready", begin=2.0, end=3.25)]},
        evaluations=[Evaluated(time=2.5, version=3, frames=600, return_mean=87.5)],
        happened=[RunEvent(time=3.0, what="lost", collector="c0")],
        ended="completed: all frames",
        configuration={"driver": {"train": {"kwargs": {"lr": 0.001}}}},
        earlier=[Earlier(until_frames=600, configuration={"driver": {"train": {"kwargs": {"lr": 0.1}}}})],
    )
    assert unpack(pack(run)) == run


def test_the_largest_is_cut_to_what_an_object_may_cost_and_keeps_its_ends() -> None:
    run = largest()
    packed = pack(run)
    assert len(packed) <= MOST_BYTES
    found = unpack(packed)
    assert (found.times[0], found.times[-1]) == (run.times[0], run.times[-1])
    assert found.times == sorted(found.times)
    assert {len(values) for values in found.series.values()} == {len(found.times)}
    assert found.happened == run.happened[-len(found.happened) :]
    assert found.left_out + len(found.happened) == len(run.happened)
    assert (found.evaluations[0], found.evaluations[-1]) == (run.evaluations[0], run.evaluations[-1])
    assert max(run.evaluations, key=lambda one: one.return_mean) in found.evaluations
    assert found.lives["c7"] == run.lives["c7"][-len(found.lives["c7"]) :]


def test_large_configurations_lose_the_oldest_first_and_fit() -> None:
    def large() -> dict[str, Any]:
        return {"kwargs": {"text": [noise() for _ in range(8)]}}

    earlier = [Earlier(until_frames=frames, configuration=large()) for frames in range(1, 8)]
    run = largest().model_copy(update={"configuration": large(), "earlier": earlier})
    packed = pack(run)
    assert len(packed) <= MOST_BYTES
    found = unpack(packed)
    assert found.configuration == run.configuration
    assert 0 < len(found.earlier) < len(earlier)
    assert found.earlier == earlier[-len(found.earlier) :]


def test_one_configuration_that_is_too_large_is_left_to_the_fleet() -> None:
    run = Timeline(fleet="f", began=0.0, configuration={"text": [noise() for _ in range(300)]})
    packed = pack(run)
    assert len(packed) <= MOST_BYTES
    assert unpack(packed).configuration is None


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"no gzip",
        gzip.compress(b"no json"),
        gzip.compress(b'{"fleet": 3}'),
        pack(Timeline(fleet="f", began=1.0))[:-9],
    ],
    ids=["empty", "no gzip", "no json", "no timeline", "half of one"],
)
def test_what_is_no_timeline_is_said_to_be_none(packed: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        unpack(packed)
