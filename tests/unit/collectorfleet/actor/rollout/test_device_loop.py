"""Environments that are batches of tensors give TorchRL's frames, whether they are reset by the host or by a mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict.nn import TensorDictModule
from tests import tensor_envs
from tests.example_count import examples
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.sides import Asked, Side, assert_equal, sides
from tests.unit.collectorfleet.actor.rollout.test_vectors import vectors
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torchrl.collectors import Collector
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import (
    CatTensors,
    Compose,
    DoubleToFloat,
    EnvBase,
    ExplorationType,
    InitTracker,
    ObservationNorm,
    RewardClipping,
    RewardScaling,
    RewardSum,
    SerialEnv,
    StepCounter,
    TransformedEnv,
    VecNormV2,
)
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal

from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.rollout import find, recording
from collectorfleet.actor.rollout.collector import FastCollector, call_in_steps
from collectorfleet.actor.rollout.device_loop import CHANGES, DeviceLoop
from collectorfleet.actor.rollout.exact import NotExact
from collectorfleet.actor.rollout.loop import WRITES
from collectorfleet.actor.rollout.policies import Policy

Make = Callable[[], EnvBase]


def transformed(make: Make, *transforms: Callable[[], Any]) -> EnvBase:
    return TransformedEnv(make(), Compose(*[transform() for transform in transforms]))


NORMAL = partial(ObservationNorm, loc=0.5, scale=2.0, in_keys=["observation"])
STATISTICS = partial(VecNormV2, in_keys=["observation"])
COUNTED = (StepCounter, RewardSum, InitTracker)
SCALED = partial(RewardScaling, loc=0.5, scale=2.0)
REWARDED = (
    partial(RewardClipping, -0.5, 0.5),
    partial(CatTensors, ["observation"], out_key="all", del_keys=False),
    partial(DoubleToFloat, in_keys=["height"], out_keys=["height"]),
)
MAKES: dict[str, Make] = {
    "reset by the host": partial(tensor_envs.Walks, 4),
    "reset by the mask": partial(tensor_envs.MaskedWalks, 4),
    "one": partial(tensor_envs.MaskedWalks, 1),
    "resets itself": partial(tensor_envs.SelfResettingWalks, 4),
    "resets itself, transformed": partial(transformed, partial(tensor_envs.SelfResettingWalks, 3), *COUNTED),
    "draws from torch": partial(tensor_envs.DrawingWalks, 4),
    "flat": partial(tensor_envs.FlatWalks, 4),
    "says done": partial(tensor_envs.MaskedWalks, 3, ("done",)),
    "says terminated": partial(tensor_envs.Walks, 3, ("terminated",)),
    "says terminated and truncated": partial(tensor_envs.MaskedWalks, 3, ("terminated", "truncated")),
    "normal": partial(transformed, partial(tensor_envs.MaskedWalks, 3), NORMAL, SCALED, *COUNTED),
    "statistics": partial(transformed, partial(tensor_envs.MaskedWalks, 3), STATISTICS, RewardSum),
    "transformed": partial(transformed, partial(tensor_envs.MaskedWalks, 3), *COUNTED, *REWARDED),
    "truncated": partial(transformed, partial(tensor_envs.MaskedWalks, 3), partial(StepCounter, 3)),
}


def acting(*, draws: bool) -> Any:
    torch.manual_seed(7)
    if not draws:
        return TensorDictModule(nn.Sequential(nn.Linear(3, 2), nn.Tanh()), ["observation"], ["action"])
    layers = nn.Sequential(nn.Linear(3, 4), NormalParamExtractor())
    computing = TensorDictModule(layers, ["observation"], ["loc", "scale"])
    return ProbabilisticActor(computing, ["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True)


def publish_in_steps(side: Side) -> None:
    """Have each step act with other weights."""
    collector = side.runner.collector
    versions = iter(range(1, 1000))

    def publish() -> None:
        version = next(versions)
        with torch.no_grad():
            for weight in collector.policy.parameters():
                weight.mul_(0.9).add_(0.01 * version)

    if isinstance(collector, FastCollector):
        collector.call_before_policy(publish)
    else:
        call_in_steps(collector, collector.policy, publish)


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs", "ignore:Support of VecNormV2:UserWarning")
@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(list(MAKES)), seed=st.integers(0, 2**20))
def test_frames_are_torchrls_entry_by_entry(data: st.DataObject, name: str, seed: int) -> None:
    policy = data.draw(st.sampled_from([None, partial(acting, draws=False), partial(acting, draws=True)]))
    counted = "transformed" in name or name in ("truncated", "normal")
    options = {
        "max_frames_per_traj": None if counted else data.draw(st.none() | st.integers(2, 9)),
        "reset_at_each_iter": data.draw(st.booleans()),
        "exploration_type": data.draw(st.sampled_from([ExplorationType.RANDOM, ExplorationType.DETERMINISTIC])),
        "compact_obs": data.draw(st.booleans()),
        "set_truncated": "truncated" in name and data.draw(st.booleans()),
    }
    theirs, ours = sides(MAKES[name], policy, 24, seed, **options)
    assert ours.runner.loop == "Fast, with tensors on cpu"
    if policy is not None and data.draw(st.booleans()):
        for side in (theirs, ours):
            publish_in_steps(side)
    requests = st.builds(Asked, st.integers(1, 20), st.booleans(), st.none() | st.integers(1, 6))
    for asked in data.draw(st.lists(requests, min_size=1, max_size=4)):
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state
    if data.draw(st.booleans()):
        for side in (theirs, ours):
            side.do(lambda runner: runner.collector.reset())
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))


class Waits(TorchDispatchMode):
    """Notes what makes the host wait where a tensor is on a GPU: what reads a number, or has a shape of numbers."""

    _WAITING = ("_local_scalar_dense", "is_nonzero", "nonzero", "equal", "masked_select", "_unique2", "unique_dim")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.removeprefix("aten::")
        by_mask = name in ("index", "index_put_") and any(
            one is not None and one.dtype is torch.bool for one in args[1]
        )
        if by_mask or name in self._WAITING:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    """Watch from the first step of a rollout to its last."""
    waits = Waits()
    end, begin = DeviceLoop._end, Policy.begin

    def begun(self: Policy) -> None:
        begin(self)
        waits.__enter__()

    def ended(self: DeviceLoop, *given: Any) -> None:
        waits.__exit__(None, None, None)
        end(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Policy, "begin", begun)
        patch.setattr(DeviceLoop, "_end", ended)
        yield waits


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("reset by the mask", 0),
        ("resets itself", 0),
        ("transformed", 0),
        ("truncated", 0),
        ("reset by the host", 1),
        ("normal", 3),
    ],
)
def test_no_step_reads_on_the_host_unless_that_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, waits: int, draws: bool
) -> None:
    _, ours = sides(MAKES[name], partial(acting, draws=draws), 24)
    ours.run(Asked(4))  # the first step compares
    with watched(monkeypatch) as seen:
        ours.run(Asked(12))
    assert len(seen.found) == 12 * waits, seen.found


class Pretended:
    """Replays by calling again; nothing is computed when it is recorded, and results are written to the same place."""

    def __init__(self, call: Callable[[], recording.Values]) -> None:
        self._call = call
        self._made: recording.Values | None = None
        self.replays = 0

    def replay(self) -> recording.Values:
        self.replays += 1
        made = self._call()
        if self._made is None:
            self._made = {key: tensor.clone() for key, tensor in made.items()}
        for key, tensor in made.items():
            self._made[key].copy_(tensor)
        return self._made


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[Pretended]:
    """What is recorded from now on, by a recorder that needs no GPU."""
    found: list[Pretended] = []

    def capture(call: Callable[[], recording.Values], device: torch.device) -> Pretended:
        assert device.type == "cpu"
        found.append(Pretended(call))
        return found[-1]

    monkeypatch.setattr(recording, "capture", capture)
    monkeypatch.setattr(find, "is_recorded", lambda collector: collector.cudagraphed_policy)
    # TorchRL's recorder changes how torch computes, in all of the process.
    monkeypatch.setattr(Collector, "_compile_wrapped_policy", lambda _, policy: policy)
    return found


RECORDED = {"cudagraph_policy": True}


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize("name", ["reset by the mask", "says terminated and truncated", "eager"])
def test_recorded_steps_give_the_same_frames(graphs: list[Pretended], name: str, draws: bool) -> None:
    make = partial(tensor_envs.EagerWalks, 4) if name == "eager" else MAKES[name]
    theirs, ours = sides(make, partial(acting, draws=draws), 24, **RECORDED)
    for asked in (Asked(10), Asked(6, cut_after=3), Asked(5, random=True), Asked(10)):
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state
    (graph,) = graphs
    assert graph.replays > 15
    wanted = (
        "the policy as a CUDA graph: EagerWalks does not declare capturable" if name == "eager" else "as a CUDA graph"
    )
    assert ours.runner.loop == f"Fast, with tensors on cpu, {wanted}"


def of_two_kinds() -> EnvBase:
    return SerialEnv(2, [make_chance, partial(make_chance, ends=0.5)])


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize(
    ("make", "loop"),
    [
        pytest.param(make_chance, "Fast", id="one"),
        pytest.param(partial(SerialEnv, 3, make_chance), "Fast", id="several"),
        pytest.param(of_two_kinds, "Fast, by the environment's own step", id="of two kinds"),
    ],
)
def test_a_recorded_policy_acts_in_other_environments(
    graphs: list[Pretended], make: Make, loop: str, draws: bool
) -> None:
    theirs, ours = sides(make, partial(acting, draws=draws), 24, **RECORDED)
    for asked in (Asked(10), Asked(6, cut_after=3), Asked(5, random=True), Asked(10)):
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state
    assert ours.runner.loop.partition(":")[0] == loop
    (graph,) = graphs
    assert graph.replays > 15


class Constant(nn.Module):
    """The action is the one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.weight.expand(*observation.shape[:-1], 2)


@pytest.mark.parametrize("recorded", [False, True])
def test_each_version_of_the_weights_acts_from_its_step_on(graphs: list[Pretended], recorded: bool) -> None:
    config = CollectorConfig(
        partial(tensor_envs.MaskedWalks, 3),
        None,
        24,
        policy_factory=lambda: TensorDictModule(Constant(), ["observation"], ["action"]),
        update_between_steps=True,
        options={"cudagraph_policy": recorded},
    )
    side = Side(config, RolloutLoop.FAST, 0)
    weight = side.runner.collector.policy.module.weight
    versions = iter(range(1, 100))

    def publish() -> None:
        with torch.no_grad():
            weight.fill_(float(next(versions)) / 100)

    side.runner.collector.call_before_policy(publish)
    for first in (1, 9):
        batch = side.run(Asked(8)).batch
        assert batch is not None
        wanted = torch.arange(first, first + 8) / 100
        assert torch.equal(batch["action"], wanted.view(1, 8, 1).expand(3, 8, 2))
    assert bool(graphs) == recorded


class Windy(tensor_envs.MaskedWalks):
    """The reward is a number, which is an attribute."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.wind = 1.0

    def _reached(self, *given: torch.Tensor) -> Any:
        found = super()._reached(*given)
        return found | {"reward": torch.full_like(found["reward"], self.wind)}


class Scaled(nn.Module):
    """The action is a number, which is an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 0.0

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(observation[..., :2]) + self.scale


def test_a_number_that_is_changed_after_it_was_recorded_counts(graphs: list[Pretended]) -> None:
    def scaled() -> TensorDictModule:
        return TensorDictModule(Scaled(), ["observation"], ["action"])

    _, ours = sides(partial(Windy, 4), scaled, 24, **RECORDED)
    collector = ours.runner.collector
    for number in (1.0, 0.5, 0.25):
        collector.env.wind = number
        ours.run(Asked(8))
        collector.policy.module.scale = number
        batch = ours.run(Asked(8)).batch
        assert batch is not None
        assert batch["next", "reward"].unique().tolist() == [number]
        assert batch["action"].unique().tolist() == [number]
    assert len(graphs) == 6


class Assigning(tensor_envs.MaskedWalks):
    """Keeps the reward of the last step, as a tensor of its own or as a number."""

    def __init__(self, count: int, number: bool) -> None:
        super().__init__(count)
        self._number = number
        self.kept: Any = torch.zeros(count, 1)

    def _reached(self, *given: torch.Tensor) -> Any:
        found = super()._reached(*given)
        self.kept = len(str(self.kept)) if self._number else self.kept + found["reward"]
        return found


@pytest.mark.parametrize("number", [False, True])
@pytest.mark.usefixtures("graphs")
def test_what_an_environment_assigns_in_a_step_is_not_recorded(number: bool) -> None:
    _, ours = sides(partial(Assigning, 4, number), partial(acting, draws=False), 24, **RECORDED)
    with pytest.raises(ValueError, match=r"Assigning\.kept is assigned in each step"):
        ours.run(Asked(8))


def test_frames_show_what_was_seen_if_an_environment_shows_all_in_one_tensor(graphs: list[Pretended]) -> None:
    for recorded in (False, True):
        _, apart = sides(partial(tensor_envs.MaskedWalks, 4), partial(acting, draws=True), 24)
        _, buffered = sides(
            partial(tensor_envs.BufferedWalks, 4), partial(acting, draws=True), 24, cudagraph_policy=recorded
        )
        for _ in range(3):
            assert_equal(apart.run(Asked(8)), buffered.run(Asked(8)))
    assert graphs


class Writing(nn.Module):
    """Writes into its observation, from the step ``begins`` on."""

    def __init__(self, begins: int) -> None:
        super().__init__()
        self._left = begins
        self.layer = nn.Linear(3, 2)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        if self._left == 0:
            observation.mul_(0.5)
        self._left = max(0, self._left - 1)
        return self.layer(observation)


def writing(begins: int) -> TensorDictModule:
    torch.manual_seed(3)
    return TensorDictModule(Writing(begins), ["observation"], ["action"])


class Endless(tensor_envs.MaskedWalks):
    """Ends nowhere."""

    def _reached(self, action: torch.Tensor, terminated: torch.Tensor, truncated: torch.Tensor) -> Any:
        return super()._reached(action, torch.zeros_like(terminated), torch.zeros_like(truncated))


@pytest.mark.parametrize("begins", [1, 2, 6, 9, 14])
def test_torchrls_loop_takes_over_from_a_policy_that_writes_into_its_observation(begins: int) -> None:
    # TorchRL's collector asks a policy once when it is built.
    theirs, ours = sides(partial(Endless, 3), partial(writing, begins), 24, loop=RolloutLoop.AUTO)
    for asked in (Asked(8), Asked(8), Asked(4)):
        assert_equal(theirs.run(asked), ours.run(asked))
    assert ours.runner.loop == f"TorchRL: {WRITES}"


def test_an_environment_that_is_over_when_it_begins_is_an_error() -> None:
    class Over(tensor_envs.MaskedWalks):
        def _reset(self, tensordict: Any = None, **options: Any) -> Any:
            found = super()._reset(tensordict, **options)
            mask = None if tensordict is None else tensordict.get("_reset", None)
            return found if mask is None else found.update({"done": mask.clone(), "terminated": mask.clone()})

    _, ours = sides(partial(Over, 4), partial(acting, draws=False), 24)
    with pytest.raises(RuntimeError, match=r"the environment is at an end .* right after its reset"):
        ours.run(Asked(20))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        pytest.param({"step": EnvBase.step}, "step is the environment's own", id="step"),
        pytest.param({"_post_step_mdp_hooks": lambda self, a, b: (a, b)}, "has a hook after its step", id="hook"),
        pytest.param(
            {"_step_proc_data": EnvBase._step_proc_data},
            "_step_proc_data is the environment's own",
            id="results",
        ),
    ],
)
def test_what_steps_in_its_own_way_is_stepped_by_it(kind: dict[str, Any], why: str) -> None:
    own = type("Own", (tensor_envs.MaskedWalks,), kind)
    theirs, ours = sides(partial(own, 3), partial(acting, draws=False), 24)
    assert ours.runner.loop.startswith("Fast, by the environment's own step: ")
    with pytest.raises(NotExact, match=why):
        find.found_with_tensors(ours.runner.collector)
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_a_wrapper_of_gymnasiums_vectors_gives_torchrls_frames(mode: AutoresetMode) -> None:
    # On the CPU another loop steps them. Wrappers of simulators on a GPU are of the same kind.
    theirs, ours = sides(partial(vectors, mode, chain=(RewardSum,)), None, 24)
    collector = ours.runner.collector
    collector._use(find.found_with_tensors(collector))
    assert ours.runner.loop == "Fast, with tensors on cpu"
    for asked in (Asked(12), Asked(9, cut_after=4), Asked(12, random=True), Asked(12)):
        assert_equal(theirs.run(asked), ours.run(asked))


class Truncating(tensor_envs.MaskedWalks):
    """Its spec does not name ``truncated``, which it returns."""

    def __init__(self, count: int) -> None:
        super().__init__(count, ("terminated",))
        self._given = ("terminated", "truncated")


class Secretive(tensor_envs.MaskedWalks):
    """Has a state that is no observation, and returns another one than it was given."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.state_spec = Composite(secret=Unbounded((count, 1)), shape=self.batch_size)

    def _reset(self, tensordict: Any = None, **options: Any) -> Any:
        return super()._reset(tensordict, **options).set("secret", torch.zeros(*self.batch_size, 1))

    def _step(self, tensordict: Any) -> Any:
        found = super()._step(tensordict)
        found["reward"] = found["reward"] + tensordict["secret"]
        return found.set("secret", tensordict["secret"] + 1)


class Remembering(tensor_envs.MaskedWalks):
    """Pays the difference to the action before, which it keeps by reference."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._last: Any = None

    def _step(self, tensordict: Any) -> Any:
        found, action = super()._step(tensordict), tensordict["action"]
        if self._last is not None:
            found["reward"] = (action - self._last).sum(-1, keepdim=True)
        self._last = action
        return found


class Choosy(tensor_envs.MaskedWalks):
    """Draws random actions in its own way."""

    def rand_action(self, tensordict: Any = None) -> Any:
        tensordict["action"] = 0.1 * tensordict["observation"][:, :2]
        return tensordict


class Columns(tensor_envs.MaskedWalks):
    """Has ends of two columns."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        over = {key: Binary(shape=(count, 2), dtype=torch.bool) for key in ("done", "terminated", "truncated")}
        self.full_done_spec = Composite(over, shape=self.batch_size)

    def _reached(self, *given: torch.Tensor) -> Any:
        return {key: one if key == "reward" else one.expand(-1, 2) for key, one in super()._reached(*given).items()}

    def _reset(self, tensordict: Any = None, **options: Any) -> Any:
        mask = None if tensordict is None else tensordict["_reset"].any(-1)
        return super()._reset(None if mask is None else tensordict.empty().set("_reset", mask), **options)


class Hooked(tensor_envs.SelfResettingWalks):
    """Changes what it shows after it has reset itself."""

    def _reset_on_native_autoreset(self, _: Any, after: Any) -> Any:
        return after.set("height", after["height"] + 5)


class Inferring(tensor_envs.Walks):
    """Makes its observations in inference mode."""

    def _observed(self) -> Any:
        with torch.inference_mode():
            return super()._observed()


def assigned(count: int) -> EnvBase:
    env = tensor_envs.MaskedWalks(count)
    env.step = lambda td: EnvBase.step(env, td).set(("next", "reward"), torch.zeros(count, 1))
    return env


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, RECORDED], ids=["plain", "device", "recorded"])
@pytest.mark.parametrize(
    "make",
    [Truncating, Secretive, Remembering, Choosy, Columns, Hooked, Inferring, assigned],
    ids=lambda one: one.__name__,
)
@pytest.mark.usefixtures("graphs")
def test_unusual_environments_give_torchrls_frames(make: Any, options: dict[str, Any], draws: bool) -> None:
    theirs, ours = sides(partial(make, 4), partial(acting, draws=draws), 24, loop=RolloutLoop.AUTO, **options)
    if options is RECORDED and make is Remembering:
        with pytest.raises(ValueError, match=r"Remembering\._last is assigned in each step"):
            ours.run(Asked(12))
        return
    for asked in (Asked(12), Asked(9, cut_after=4), Asked(6, random=True), Asked(12)):
        assert_equal(theirs.run(asked), ours.run(asked))


class Changing(tensor_envs.MaskedWalks):
    """Changes what it is given."""

    def __init__(self, count: int, how: str) -> None:
        super().__init__(count)
        self._how = how

    def _step(self, tensordict: Any) -> Any:
        if self._how == "action":
            tensordict["action"] = tensordict["action"].clamp(-0.1, 0.1)
        elif self._how == "calls":
            tensordict["calls"] = tensordict["calls"] + 100
        elif self._how == "memory":
            tensordict["memory"] = tensordict.get("memory", torch.zeros(*self.batch_size, 1)) + 1
        else:
            tensordict["observation"].clamp_(-0.5, 0.5)
        found = super()._step(tensordict)
        if "memory" in tensordict:
            found["reward"] = tensordict["memory"].clone()
        return found


@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, RECORDED], ids=["plain", "device", "recorded"])
@pytest.mark.parametrize("how", ["action", "calls", "memory", "observation"])
@pytest.mark.usefixtures("graphs")
def test_torchrls_loop_takes_over_from_an_environment_that_changes_what_it_is_given(
    how: str, options: dict[str, Any]
) -> None:
    make = partial(Changing, 4, how)
    theirs, ours = sides(make, partial(acting, draws=True), 24, loop=RolloutLoop.AUTO, **options)
    for asked in (Asked(8), Asked(8), Asked(12, random=True), Asked(8)):
        assert_equal(theirs.run(asked), ours.run(asked))
    assert ours.runner.loop == f"TorchRL: {CHANGES}"


@pytest.mark.parametrize("how", ["data of a weight", "tensor of the environment"])
def test_a_tensor_at_another_address_is_recorded_again(graphs: list[Pretended], how: str) -> None:
    _, ours = sides(partial(tensor_envs.MaskedWalks, 4), partial(acting, draws=False), 24, **RECORDED)
    ours.run(Asked(8))
    collector = ours.runner.collector
    if how == "data of a weight":
        weight = collector.policy.module[0].weight
        weight.data = weight.data.clone()
    else:
        collector.env._place = collector.env._place.clone()
    ours.run(Asked(8))
    assert len(graphs) == 2
