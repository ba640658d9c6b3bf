"""RayCollector's options, and none of its bugs. The reward is twice the policy's one parameter."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import ray
import torch
from tensordict import TensorDictBase
from tests import envs, hooks
from tests.runtime.batches import VERSION, Make, learn, values
from tests.runtime.conftest import MakeBuffer
from tests.wait import eventually
from torchrl.data import LazyTensorStorage, ReplayBuffer

from collectorfleet import FleetCollector, InvalidOption, UserCodeError

pytestmark = pytest.mark.usefixtures("local_ray")


@pytest.mark.parametrize("sync", [True, False])
def test_an_interval_of_three_means_a_publish_after_every_third_batch(make: Make, sync: bool) -> None:
    collector = make(num_collectors=1, total_frames=180, max_weight_update_interval=3, sync=sync, max_staleness=None)
    published = []
    for _ in collector:
        learn(collector)
        weights = collector.status().weights
        assert weights is not None
        published.append(weights.published)
    assert published[:4] == [1, 1, 1, 2]
    assert published == sorted(published)
    assert published[-1] == 3


def test_an_interval_of_minus_one_never_publishes(make: Make) -> None:
    collector = make(num_collectors=1, total_frames=60)
    seen = []
    for batch in collector:
        seen.append(values(batch))
        learn(collector)
    assert seen == [{0.0}] * 3


def test_methods_and_attributes_of_collectors_are_reached_in_the_order_of_their_names(make: Make) -> None:
    collector = make()
    assert collector.get_distant_attr("worker_idx") == [0, 1]
    environments = [("env._length",), ("env.batch_size",)]
    assert collector.map_fn("get_distant_attr", environments) == [10, torch.Size([])]
    assert collector.getattr_env("batch_size") == torch.Size([])
    first, second = collector.map_fn("set_seed", list_of_kwargs=[{"seed": 1}, {"seed": 7}])
    assert first != second
    assert next(iter(collector)) is not None


def test_another_number_of_calls_than_collectors_is_refused(make: Make) -> None:
    collector = make()
    with pytest.raises(InvalidOption, match=r"list_of_args: Expected 2 argument entries, .* got 1"):
        collector.map_fn("set_seed", [(1,)])
    with pytest.raises(InvalidOption, match=r"list_of_kwargs: Expected 2 argument entries, .* got 3"):
        collector.map_fn("set_seed", list_of_kwargs=[{}] * 3)


def test_weights_come_by_no_other_way_than_a_publish(make: Make) -> None:
    collector = make(num_collectors=1)
    with pytest.raises(InvalidOption, match=r"weights without a version; call update_policy_weights_\(\) of the fleet"):
        collector.map_fn("update_policy_weights_", [(envs.make_policy(5.0),)])


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param("no_such", r"map_fn\('no_such'\) \(collector c0\): AttributeError", id="absent"),
        pytest.param("env.__class__.__dict__", r"\(collector c0\): TypeError: cannot pickle", id="cannot travel"),
    ],
)
def test_what_goes_wrong_in_a_method_names_the_collector_and_collecting_goes_on(
    make: Make, path: str, words: str
) -> None:
    collector = make()
    with pytest.raises(UserCodeError, match=words):
        collector.map_fn(path)
    assert next(iter(collector)) is not None


def test_a_method_that_takes_longer_than_its_deadline_names_the_collector(make: Make) -> None:
    collector = make({"misbehaves": "hang", "at": 25}, num_collectors=1)
    next(iter(collector))
    with pytest.raises(TimeoutError, match=r"map_fn\('env.rollout'\): no answer from c0 within 1 s"):
        collector.map_fn("env.rollout", [(50,)], timeout=1)


def test_a_killed_collector_answers_once_it_is_replaced(make: Make) -> None:
    collector = make()
    next(iter(collector))
    ray.kill(collector.remote_collectors[0])
    assert collector.get_distant_attr("worker_idx") == [0, 1]


def test_postproc_gets_every_batch(make: Make) -> None:
    def halved(batch: TensorDictBase) -> TensorDictBase:
        return batch[..., :5]

    assert [tuple(batch.shape) for batch in make(total_frames=40, postproc=halved)] == [(2, 5), (2, 5)]


def test_split_trajectories_of_different_collectors_stay_apart(make: Make) -> None:
    collector = make({"length": 30}, total_frames=20, split_trajs=True)
    (batch,) = list(collector)
    assert tuple(batch.shape) == (2, 10)  # one trajectory of each collector, not one of both
    assert batch["collector", "mask"].all()


def test_every_collector_has_its_own_arguments_and_the_callers_are_left_alone(make: Make) -> None:
    factories = [partial(envs.make_policy, 1.0), partial(envs.make_policy, 2.0)]
    kwargs = {"reset_at_each_iter": True}
    environments = [partial(envs.make_counting, length=length) for length in (3, 30)]
    collector = make(
        create_env_fn=environments, policy_factory=factories, collector_kwargs=kwargs, storing_device=["cpu", None]
    )
    batch = next(iter(collector))
    assert [values(share) for share in batch] == [{1.0}, {2.0}]
    assert [int(share["next", "observation"].max()) for share in batch] == [3, 10]
    assert (len(environments), kwargs) == (2, {"reset_at_each_iter": True})


def test_arguments_for_the_collector_win_over_those_for_the_fleet(make: Make) -> None:
    collector = make({"length": 100}, max_frames_per_traj=7, collector_kwargs={"max_frames_per_traj": 4})
    batch = next(iter(collector))
    assert int(batch["next", "observation"].max()) == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"storing_device": ["cpu"] * 3}, "storing_device: the list has length 3", id="long list"),
        pytest.param({"collector_kwargs": [{}]}, "collector_kwargs: the list has length 1", id="short list"),
        pytest.param(
            {"collector_kwargs": {"total_frames": 5}},
            "total_frames is set by the fleet; pass total_frames to",
            id="the fleet's",
        ),
        pytest.param({"num_workers_per_collector": 2}, "2 processes need collector_class", id="workers"),
        pytest.param({"collector_class": "many"}, "collector_class: 'many'", id="class"),
        pytest.param({"weight_sync_schemes": {}}, "update_policy_weights_", id="schemes"),
        pytest.param({"weight_updater": object()}, "update_policy_weights_", id="updater"),
        pytest.param({"sync": False, "exact_staleness": True}, "use sync=True", id="exact in Async"),
        pytest.param({"first_shares": 1}, "set max_staleness to 1 or more", id="first shares on policy"),
        pytest.param({"first_shares": 2, "max_staleness": 1}, "use 1 to 1", id="first shares of all"),
        pytest.param({"preemptive_threshold": 1.0}, "between 0 and 1", id="threshold"),
        pytest.param(
            {"exact_staleness": True, "update_between_steps": True}, "allows only one version", id="exact and between"
        ),
    ],
)
def test_arguments_that_cannot_work_are_refused_before_anything_starts(options: dict[str, Any], words: str) -> None:
    arguments = {"num_collectors": 2, "frames_per_batch": 20, "sync": True} | options
    with pytest.raises(InvalidOption, match=words):
        FleetCollector(envs.make_counting, envs.make_policy(), **arguments)


def test_a_replay_buffer_of_this_process_is_refused_as_torchrl_does() -> None:
    buffer = ReplayBuffer(storage=LazyTensorStorage(10))
    with pytest.raises(TypeError, match="service_backend='ray'"):
        FleetCollector(envs.make_counting, envs.make_policy(), frames_per_batch=10, replay_buffer=buffer)


@pytest.mark.parametrize("options", [{"split_trajs": True}, {"postproc": len}], ids=["split", "postproc"])
def test_nothing_is_done_to_batches_that_collectors_write_to_a_replay_buffer(options: dict[str, Any]) -> None:
    buffer = ReplayBuffer(storage=LazyTensorStorage(10))
    with pytest.raises(InvalidOption, match="collectors write to replay_buffer themselves"):
        FleetCollector(envs.make_counting, envs.make_policy(), frames_per_batch=10, replay_buffer=buffer, **options)


def test_the_environment_is_built_in_the_collector_only(make: Make) -> None:
    batch = next(iter(make(create_env_fn=envs.make_counting_with_pid)))
    import os

    pids = set(batch["observation"][..., 0].flatten().int().tolist())
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_other_actors_and_ray_survive_the_end(make: Make) -> None:
    @ray.remote(num_cpus=0)
    class Other:
        def alive(self) -> bool:
            return True

    other = Other.remote()
    list(make(total_frames=20))
    assert ray.get(other.alive.remote(), timeout=30)
    ray.kill(other)


def test_environment_arguments_are_taken(make: Make) -> None:
    batch = next(iter(make(create_env_fn=envs.make_counting, create_env_kwargs=[{"length": 3}, {"length": 4}])))
    assert [int(share["next", "observation"].max()) for share in batch] == [3, 4]


def test_random_frames_come_first_and_are_counted_over_all_collectors(make: Make) -> None:
    batches = list(make(total_frames=80, init_random_frames=40))
    policys = [bool((batch["next", "reward"] == 0).all()) for batch in batches]  # the policy acts zero
    assert policys == [False, False, True, True]


@pytest.mark.variant_of(
    "tests/unit/collectorfleet/fleet/test_own_processes.py::test_processes_of_a_collector_run_published_weights"
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_collectors_with_processes_of_their_own_run_published_weights(make: Make, kind: str) -> None:
    collector = make(
        num_collectors=1,
        collector_class=kind,
        num_workers_per_collector=2,
        total_frames=200,
        update_after_each_batch=True,
        sync=kind == "sync",
    )
    newest = 0.0
    for batch in collector:
        assert tuple(batch.shape) == ((1, 2, 10) if kind == "sync" else (20,))
        for version, value in zip(
            batch[VERSION].flatten().tolist(), (batch["next", "reward"] / 2).flatten(), strict=True
        ):
            # A version never promises newer weights than made the frame.
            assert version <= float(value) + 1
            newest = max(newest, float(value))
        learn(collector)
    assert newest >= (9.0 if kind == "sync" else 1.0)


def test_whole_trajectories_say_the_version_of_each_frame(make: Make) -> None:
    collector = make(
        {"length": 12},
        num_collectors=1,
        frames_per_batch=10,
        trajs_per_batch=2,
        collector_kwargs={"traj_format": "padded"},
        update_after_each_batch=True,
        total_frames=100,
    )
    mixed = False
    for batch in collector:
        mask = batch["collector", "mask"]
        assert int(mask.sum()) == mask.numel() == 24
        versions = batch[VERSION][mask]
        assert ((batch["next", "reward"] / 2).squeeze(-1)[mask] == versions - 1).all()
        mixed |= versions.unique().numel() > 1
        learn(collector)
    assert mixed


def test_versions_are_true_with_short_trajectories(make: Make) -> None:
    collector = make(total_frames=100, max_frames_per_traj=4, update_after_each_batch=True)
    seen = []
    for batch in collector:
        seen.append((set(batch[VERSION].flatten().tolist()), values(batch)))
        learn(collector)
    assert seen == [({number + 1}, {float(number)}) for number in range(5)]


def test_the_seed_decides_what_environments_do(make: Make) -> None:
    def first_observations(seed: int) -> torch.Tensor:
        collector = make(create_env_fn=envs.make_random, total_frames=20)
        following = collector.set_seed(seed)
        assert following != seed
        (batch,) = list(collector)
        return batch["next", "observation"].clone()

    one, again, other = first_observations(3), first_observations(3), first_observations(4)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert not torch.equal(one[0], one[1])


def test_hooks_and_statistics(make: Make) -> None:
    collector = make(total_frames=40, pre_collect_hook=hooks.nothing, post_collect_hook=hooks.mark_batch)
    for batch in collector:
        assert (batch["marked"] == 1).all()
    stats = collector.stats("both")
    assert (stats["frames"], stats["completed"], stats["worker_frames"]) == (40, True, 40)
    assert stats["worker_0/frames"] + stats["worker_1/frames"] == 40


def test_collectors_write_to_a_replay_buffer(make: Make, make_buffer: MakeBuffer) -> None:
    buffer = make_buffer()
    collector = make(replay_buffer=buffer, total_frames=100, update_after_each_batch=True)
    assert all(batch is None for batch in collector)
    assert len(buffer) == 100
    sample = buffer.sample(64)
    assert ((sample["next", "reward"] / 2).squeeze(-1) == 0).all()
    assert set(sample[VERSION].tolist()) <= {1, 2, 3, 4, 5}


def test_nothing_is_written_while_it_is_paused_and_then_it_goes_on(make: Make, make_buffer: MakeBuffer) -> None:
    buffer = make_buffer()
    collector = make(replay_buffer=buffer, sync=False, total_frames=-1)
    collector.start()
    eventually(lambda: buffer.write_count, within=60, what="frames in the buffer")
    with collector.pause():
        written = buffer.write_count
        # Collectors answer this behind whatever they were asked before.
        for _ in range(3):
            collector.state_dict()
        assert buffer.write_count == written
    eventually(lambda: buffer.write_count > written, within=60, what="frames after the pause")


def test_a_class_of_torchrls_is_what_runs_in_each_actor(make: Make) -> None:
    batch = next(iter(make(collector_class=hooks.MarkingCollector)))
    assert (batch["marked"] == 1).all()
