"""What a fleet is asked to be, as one object."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from tests import envs
from tests.cluster.binaries import ROOT
from torch import nn
from torchrl.collectors import Collector, MultiAsyncCollector, MultiSyncCollector
from torchrl.envs.utils import ExplorationType

from collectorfleet import FleetCollector
from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.options import FleetOptions


def options(**given: Any) -> FleetOptions:
    return FleetOptions(envs.make_counting, **{"frames_per_batch": 24} | given)


def test_options_stay_as_they_were_said_when_the_callers_lists_and_dicts_change() -> None:
    wrappers = ["frame stack"]
    environments, kwargs = [envs.make_counting] * 2, [{"length": 3, "wrappers": wrappers}, {"length": 4}]
    given = FleetOptions(environments, create_env_kwargs=kwargs, collector_kwargs={}, frames_per_batch=24)
    environments.clear()
    kwargs[0]["length"] = 5
    kwargs.pop()
    wrappers.append("noise")
    assert given.collectors == 2
    assert given.of_each("create_env_kwargs").values == [{"length": 3, "wrappers": ["frame stack"]}, {"length": 4}]


def test_options_do_not_change_by_themselves_either() -> None:
    with pytest.raises(FrozenInstanceError):
        options().frames_per_batch = 30  # type: ignore[misc]


def test_each_option_is_described_once() -> None:
    page = (ROOT / "docs/fleet-collector.md").read_text()
    rows = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(names) == sorted(field.name for field in fields(FleetOptions))


def test_the_docstring_leads_to_the_page_that_describes_the_options() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["site_url"]
    for documented in (FleetOptions, FleetCollector):
        text = documented.__doc__ or ""
        assert f"{site}fleet-collector/" in text
        assert len(text.splitlines()) <= 15


@pytest.mark.parametrize(
    ("given", "collectors"),
    [
        pytest.param({}, 1, id="one by default"),
        pytest.param({"num_collectors": 3}, 3, id="as many as asked for"),
        pytest.param({"storing_device": ["cpu", None]}, 2, id="as long as a list"),
        pytest.param({"remote_configs": []}, 1, id="an empty list of remote configurations is none"),
    ],
)
def test_there_are_as_many_collectors_as_are_asked_for(given: dict[str, Any], collectors: int) -> None:
    assert options(**given).collectors == collectors


@pytest.mark.parametrize(
    ("given", "inside", "has_processes", "mixes_versions", "step"),
    [
        pytest.param({}, Collector, False, False, 3, id="single"),
        pytest.param(
            {"collector_class": "sync", "num_workers_per_collector": 2}, MultiSyncCollector, True, False, 6, id="sync"
        ),
        pytest.param(
            {"collector_class": MultiAsyncCollector, "num_workers_per_collector": 2},
            *(MultiAsyncCollector, True, True, 3),
            id="async",
        ),
        pytest.param({"trajs_per_batch": 2}, Collector, False, True, 3, id="trajectories"),
    ],
)
def test_what_follows_from_the_class_of_collector(
    given: dict[str, Any], inside: type, has_processes: bool, mixes_versions: bool, step: int
) -> None:
    found = options(envs_per_collector=3, **given)
    assert found.collector_type is inside
    assert (found.has_processes, found.mixes_versions, found.frames_of_a_step) == (has_processes, mixes_versions, step)


def test_what_is_given_for_one_collector_wins_over_what_is_given_for_all() -> None:
    given = options(
        max_frames_per_traj=7,
        reset_at_each_iter=True,
        storing_device=["cpu", None],
        collector_kwargs=[None, {"max_frames_per_traj": 4, "compact_obs": True}],
    )
    passed_on = {"reset_at_each_iter": True, "exploration_type": ExplorationType.RANDOM}
    assert given.keywords(0) == passed_on | {"max_frames_per_traj": 7, "storing_device": "cpu"}
    assert given.keywords(1) == passed_on | {"max_frames_per_traj": 4, "compact_obs": True}


@pytest.mark.parametrize("none", [-1, 0, None])
def test_torchrls_ways_to_say_none_are_one(none: int | None) -> None:
    given = options(max_frames_per_traj=none, init_random_frames=none)
    assert "max_frames_per_traj" not in given.keywords(0)
    assert given.random_frames == 0


def test_times_are_written_as_times() -> None:
    assert options().request_timeout == timedelta(minutes=1)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"frames_per_batch": np.int64(24), "total_frames": np.uint8(48)}, id="integers of numpy"),
        pytest.param({"frames_per_batch": torch.tensor(24), "max_staleness": torch.tensor(0)}, id="integers of torch"),
        pytest.param({"preemptive_threshold": np.float32(0.5)}, id="a float of numpy"),
        pytest.param({"preemptive_threshold": torch.tensor(0.5)}, id="a float of torch"),
        pytest.param({"split_trajs": None, "exploration_type": None}, id="None of other collectors of TorchRL"),
        pytest.param({"compact_observations": np.True_}, id="a bool of numpy"),
        pytest.param({"postproc": nn.Identity()}, id="a module"),
        pytest.param({"models": nn.ModuleDict()}, id="modules"),
        pytest.param({"weights_filter": {"actor"}}, id="a set of names"),
        pytest.param({"collector_kwargs": [None, {}], "threads_per_collector": (1, np.int32(2))}, id="lists"),
    ],
)
def test_values_that_work_like_the_type_of_an_option_are_taken(given: dict[str, Any]) -> None:
    options(sync=True, **given)


def test_a_long_value_of_a_wrong_type_is_shortened() -> None:
    with pytest.raises(InvalidOption) as refused:
        options(num_collectors=list(range(1000)))
    assert str(refused.value) == "num_collectors: [0, 1, 2, 3, 4, 5, ...] is a list; give an int"


def test_scalars_of_numpy_and_torch_are_numbers_of_python() -> None:
    given = options(frames_per_batch=torch.tensor(24), total_frames=np.int64(48), threads_per_collector=[np.int32(2)])
    numbers = (given.frames_per_batch, given.total_frames, given.of_each("threads_per_collector")[0])
    assert [(type(number), number) for number in numbers] == [(int, 24), (int, 48), (int, 2)]


def test_a_count_may_be_a_whole_float() -> None:
    given = options(frames_per_batch=24.0, total_frames=1e6)
    assert [(type(count), count) for count in (given.frames_per_batch, given.total_frames)] == [
        (int, 24),
        (int, 1_000_000),
    ]
    with pytest.raises(InvalidOption, match=r"^total_frames: inf is a float; give an int"):
        options(total_frames=float("inf"))
