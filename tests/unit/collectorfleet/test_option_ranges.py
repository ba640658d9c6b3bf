"""Every public class refuses a number, a time, a text or a device out of its range, in a sentence with the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from math import inf, nan
from typing import Annotated, Any, get_args, get_origin

import pytest
from tests import envs

from collectorfleet import (
    CollectorHosts,
    DistributedSyncCollector,
    EnvPool,
    Evaluation,
    Factory,
    FleetCollector,
    InvalidOption,
    LearnerFeed,
    LearnerShards,
    SimulatorProcess,
    Video,
)
from collectorfleet.client import Fleets
from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.learners.options import LearnerOptions
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.option_types import hints_of, members
from collectorfleet.recovery.failure import ReplaceWithBackoff
from collectorfleet.transport.rpc.options import TensorPipeOptions

FLEET = {"create_env_fn": envs.make_counting, "frames_per_batch": 10, "sync": True}
LISTED = {"create_env_fn": [envs.make_counting], "frames_per_batch": 10, "launcher": "mp"}
HOSTS = {"host": "127.0.0.1", "port": 0, "token": b"of sixteen bytes"}
SIMULATOR = {"command": ["./sim"], "ports": ["grpc"]}
LEARNERS = {"policy_class": object, "max_policies": 1}
POOL = {"task_id": "Pong-v5", "num_envs": 1}
SHARDS = object.__new__(LearnerShards)
FEED = {"shards": SHARDS, "policies": {}, "split": dict}
RPC = {**FLEET, "transport": "rpc"}
COLLECTOR = object.__new__(FleetCollector)
CLIENT = object.__new__(Fleets)
WEEK = "use more than 0 s and at most 604800 s"
DEVICES = "is not a device; use a device such as 'cpu', 'cuda:1' or 1"

Made = Callable[..., Any]


def rows(made: Made, base: dict[str, Any], where: str, *cases: tuple[str, Any, str]) -> Iterator[Any]:
    for name, value, sentence in cases:
        yield pytest.param(made, {**base, name: value}, f"{where}{name}: {sentence}", id=f"{where}{name}")


CASES: Sequence[Any] = [
    *rows(
        *(FleetOptions, FLEET, ""),
        ("num_collectors", 0, "0 is too small; use 1 to 10000"),
        ("num_collectors", 10_001, "10001 is too large; use 1 to 10000"),
        ("frames_per_batch", -5, "-5 is too small; use at least 1"),
        ("frames_per_batch", 2**63, f"{2**63} is too large; use at most {2**63 - 1}"),
        ("frames_per_batch", 10**5000, "an int of 16610 bits is too large; use at most 9223372036854775807"),
        ("total_frames", -2, "-2 is too small; use at least -1"),
        ("max_frames_per_traj", -2, "-2 is too small; use at least -1"),
        ("init_random_frames", -2, "-2 is too small; use at least -1"),
        ("max_weight_update_interval", -2, "-2 is too small; use at least -1"),
        ("num_workers_per_collector", 1001, "1001 is too large; use 1 to 1000"),
        ("trajs_per_batch", 0, "0 is too small; use at least 1"),
        ("envs_per_collector", 0, "0 is too small; use at least 1"),
        ("shares", 0, "0 is too small; use at least 1"),
        ("first_shares", -(10**5000), f"an int of 16610 bits is too small; use at least {1 - 2**63}"),
        ("max_staleness", -1, "-1 is too small; use at least 0"),
        ("first_shares", 10**5000, "an int of 16610 bits is too large; use at most 9223372036854775807"),
        ("preemptive_threshold", nan, "nan is not finite; use a finite number"),
        ("threads_per_collector", [1, 0], "0 is too small; use 1 to 10000"),
        ("min_available", 0, "0 is too small; use 1 to 10000"),
        ("request_timeout", timedelta(0), f"0 s is too small; {WEEK}"),
        ("first_request_timeout", timedelta(seconds=-1), f"-1 s is too small; {WEEK}"),
        ("available_timeout", timedelta.max, f"8.64e+13 s is too large; {WEEK}"),
        ("models", {"env.model": 3}, "'env.model': 3 is an int; give a Module"),
        ("device", "cdua:0", f"'cdua:0' {DEVICES}"),
        ("device", "", f"'' {DEVICES}"),
        ("storing_device", ["cpu", "gpu"], f"'gpu' {DEVICES}"),
        ("policy_device", "cuda:-1", f"'cuda:-1' {DEVICES}"),
        ("env_device", "cuda:300", f"'cuda:300' {DEVICES}"),
        ("env_device", -1, f"-1 {DEVICES}"),
        ("env_device", 300, f"300 {DEVICES}"),
    ),
    *rows(
        *(FleetOptions, RPC, ""),
        ("tensorpipe_options", {"rpc_timeout": "60"}, "rpc_timeout: '60' is a str; give a float"),
        (
            "tensorpipe_options",
            {"rpc_timeout": nan},
            "rpc_timeout: nan is not finite; use more than 0 and at most 604800",
        ),
        (
            "tensorpipe_options",
            {1: 2},
            "1 cannot be set here; use num_worker_threads, rpc_timeout, _transports, _channels",
        ),
        ("tensorpipe_options", {"num_worker_threads": 1.5}, "num_worker_threads: 1.5 is a float; give an int"),
    ),
    *rows(
        *(DistributedSyncCollector, LISTED, ""),
        ("update_interval", 0, "0 is too small; use at least 1"),
        ("max_weight_update_interval", -2, "-2 is too small; use at least -1"),
    ),
    *rows(
        *(ReplaceWithBackoff, {}, "failure_policy."),
        ("budget", -5, "-5 is too small; use at least 0"),
        ("first_pause", timedelta(seconds=-1), "-1 s is too small; use 0 s to 604800 s"),
        ("longest_pause", timedelta(days=8), "691200 s is too large; use 0 s to 604800 s"),
    ),
    *rows(
        *(Evaluation, {}, "evaluation."),
        ("replicas", 101, "101 is too large; use 1 to 100"),
        ("every_versions", 0, "0 is too small; use at least 1"),
        ("every_seconds", nan, "nan is not finite; use more than 0 and at most 604800"),
        ("every_seconds", 0, "0 is too small; use more than 0 and at most 604800"),
        ("every_frames", -1, "-1 is too small; use at least 1"),
        ("episodes", 0, "0 is too small; use 1 to 100000"),
        ("seeds", [0, 2**31], "2147483648 is too large; use 0 to 2147483647"),
        ("timeout", timedelta(0), f"0 s is too small; {WEEK}"),
        ("stop_at_return", nan, "nan is not finite; use a finite number"),
        ("threads", 0, "0 is too small; use 1 to 10000"),
        ("device", "gpu", f"'gpu' {DEVICES}"),
    ),
    *rows(
        *(Video, {}, "evaluation.video."),
        ("episodes", 6, "6 is too large; use 1 to 5"),
        ("every_evaluations", 0, "0 is too small; use at least 1"),
        ("pixel_key", "", "the text is empty; give a text such as 'pixels'"),
    ),
    *rows(
        *(SimulatorProcess, SIMULATOR, "process."),
        ("command", [""], "give a list of the program and its arguments, such as ['./server']"),
        ("ready_timeout", timedelta(0), f"0 s is too small; {WEEK}"),
    ),
    *rows(
        *(LearnerOptions, LEARNERS, ""),
        ("max_policies", 0, "0 is too small; use at least 1"),
        ("gpus", nan, "nan is not finite; use 0 to 1024"),
        ("gpus", -0.5, "-0.5 is too small; use 0 to 1024"),
        ("shards", 0, "0 is too small; use at least 1"),
        ("policy_cpus", 0, "0 is too small; use more than 0 and at most 10000"),
        ("replay_cpus", inf, "inf is not finite; use more than 0 and at most 10000"),
        ("max_restarts", -2, "-2 is too small; use at least -1"),
        ("start_timeout", timedelta(0), f"0 s is too small; {WEEK}"),
        ("resources", {"a": 1, "b": nan}, "'b': nan is not finite; use at least 0"),
        ("checkpoint_dir", "", "the text is empty; give a text such as 'checkpoints'"),
        ("resume_from", "", "the text is empty; give a text such as 'checkpoints'"),
    ),
    *rows(LearnerFeed, FEED, "LearnerFeed.", ("timeout", timedelta(0), f"0 s is too small; {WEEK}")),
    *rows(PolicyReplay, {}, "PolicyReplay.", ("capacity", 0, "0 is too small; use at least 1")),
    *rows(
        *(CollectorHosts, HOSTS, "CollectorHosts."),
        ("host", "", "the text is empty; give a text such as '127.0.0.1'"),
        ("port", 70_000, "70000 is too large; use 0 to 65535"),
        ("collectors_per_host", 0, "0 is too small; use at least 1"),
        ("gpus_per_collector", nan, "nan is not finite; use 0 to 64"),
    ),
    *rows(
        *(EnvPool, POOL, "EnvPool."),
        ("task_id", "", "the text is empty; give a text such as 'Pong-v5'"),
        ("num_envs", 0, "0 is too small; use at least 1"),
    ),
    *rows(Factory, {}, "Factory.", ("path", "", "the text is empty; give a text such as 'my_envs:make_env'")),
    *rows(
        *(COLLECTOR.resize, {"num_collectors": 2}, ""),
        ("num_collectors", 0, "0 is too small; use 1 to 10000"),
        ("min_available", 0, "0 is too small; use 1 to 10000"),
    ),
    *rows(
        *(Fleets, {}, "Fleets."),
        ("request_seconds", nan, "nan is not finite; use more than 0 and at most 604800"),
        ("request_seconds", 0, "0 is too small; use more than 0 and at most 604800"),
    ),
    *rows(
        *(SHARDS.remove_policy, {"policy_id": "a"}, "LearnerShards.remove_policy."),
        ("timeout", timedelta(-1), f"-86400 s is too small; {WEEK}"),
    ),
    *rows(SHARDS.checkpoint, {}, "LearnerShards.checkpoint.", ("timeout", timedelta(0), f"0 s is too small; {WEEK}")),
    *rows(CLIENT.events, {"name": "fleet"}, "Fleets.events.", ("last", 0, "0 is too small; use at least 1")),
    *rows(CLIENT.logs, {"name": "fleet"}, "Fleets.logs.", ("since_seconds", 0, "0 is too small; use at least 1")),
    *rows(CLIENT.scale, {"name": "fleet"}, "Fleets.scale.", ("collectors", 0, "0 is too small; use 1 to 10000")),
    *rows(CLIENT.wait, {"name": "fleet"}, "Fleets.wait.", ("timeout", nan, "nan is not a number; use a number")),
]


@pytest.mark.parametrize(("made", "options", "sentence"), CASES)
def test_a_value_out_of_its_range_is_refused_with_its_name_and_the_range(
    made: Made, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidOption) as refused:
        made(**options)
    assert str(refused.value) == sentence


PUBLIC = [
    *(FleetArguments, ReplaceWithBackoff, Evaluation, Video, SimulatorProcess, LearnerOptions, TensorPipeOptions),
    *(LearnerFeed.__init__, PolicyReplay.__init__, CollectorHosts.__init__, EnvPool.__init__, Fleets.__init__),
    *(LearnerShards.add_policy, LearnerShards.remove_policy, LearnerShards.checkpoint),
    *(FleetCollector.resize, Fleets.events, Fleets.logs, Fleets.scale, Fleets.wait),
]


@pytest.mark.parametrize("made", PUBLIC, ids=lambda made: made.__qualname__)
def test_each_number_and_time_has_a_range(made: Any) -> None:
    hints = hints_of(made)
    without = {
        name
        for name, hint in hints.items()
        for one in members(hint)
        if one in (int, float, timedelta)
        if name != "return"
    }
    assert without == set()


def test_the_range_of_an_element_is_found() -> None:
    (elements,) = [one for one in members(hints_of(Evaluation)["seeds"]) if get_origin(one) is not Annotated]
    assert get_origin(get_args(elements)[0]) is Annotated


def test_values_at_the_ends_of_a_range_are_taken() -> None:
    assert ReplaceWithBackoff(budget=0, first_pause=timedelta(0)).budget == 0
    assert Evaluation(seeds=[0, 2**31 - 1], every_seconds=0.001, timeout=timedelta(days=7)).threads == 1
    assert Video(episodes=5).episodes == 5
    learners: dict[str, Any] = {**LEARNERS, "gpus": 0, "policy_cpus": 0.1}
    assert LearnerOptions(**learners).policy_cpus == 0.1
    for device in ("cpu", "cuda", "cuda:1", 1, "mps"):
        assert FleetOptions(**FLEET, device=device).device == device  # type: ignore[arg-type]
