"""The arguments of LearnerShards, with types, defaults and descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Annotated, Any

from collectorfleet import option_types
from collectorfleet.errors import InvalidOption
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.learners.roster import Placement
from collectorfleet.option_ranges import CountOrNone, NotEmpty, Positive, Range, Timeout
from collectorfleet_api.packing.quantity import parse_quantity
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.shards import LearnerGroup, PodSize, ShardPacking, pack_shards

_Cpus = Annotated[float, Range(above=0, most=10_000)]
_Folder = Annotated[str, NotEmpty("checkpoints")]


@dataclass(frozen=True, eq=False)
class LearnerOptions:
    """The options of learner shards. The object has its own copies of the caller's dicts.

    Args:
        policy_class: the class of a policy's actor. An instance is built in the actor, with the keywords of the
            policy's configuration.
        max_policies: the number of places in all shards. Each place has room for one policy.

    Keyword Args:
        config: keywords of every policy. Keywords of ``add_policy`` override these keywords. Dicts are merged key by
            key.
        gpus: the sum of the GPUs of all policies: a whole number, or a share below 1.
        shards: the number of shards. None: one shard for each GPU. Without GPUs, one shard for each policy.
        placement: "Spread" selects the shard with the fewest policies, and "FirstFit" selects the first shard with a
            free place.
        fake_gpus: for tests. If True, ``gpus`` decides the places, but no GPUs are requested from Ray.
        replay_class: the class of a shard's replay actor. Its method ``forget(policy_id)`` drops a policy's frames. The
            method has to accept policies without frames.
        replay_config: keywords of the replay class.
        policy_cpus, replay_cpus: CPUs of a policy's actor, and of a replay actor.
        pods: sizes of the pods that may run shards. None: the current Ray nodes that have ``resources``.
        checkpoint_dir: an empty folder that all pods can access. :meth:`LearnerShards.checkpoint` writes into this
            folder, and a restarted actor resumes from this folder. ``policy_class`` and ``replay_class`` then need
            ``state_dict()`` and ``load_state_dict()``. None: dead actors are not restarted, because they would lose
            their state unnoticed.
        resume_from: the ``checkpoint_dir`` of earlier learner shards. If the folder has a policy with the id of a new
            policy, the new policy resumes from the folder. If the shards have as many places as before, the policy also
            gets its earlier place and frames.
        resources: further Ray resources of each actor, such as ``{"learner": 1}``. Nodes without these resources run no
            shard.
        max_restarts: how often an actor may be restarted. Restarts after the loss of a node count, too. -1: no limit.
        start_timeout: the time limit for a shard to get its resources, and for an actor to be built.
    """

    policy_class: type
    max_policies: Positive
    _: KW_ONLY
    config: Mapping[str, Any] = field(default_factory=dict)
    gpus: Annotated[float, Range(least=0, most=1024)] = 0.0
    shards: Positive | None = None
    placement: Placement | str = Placement.SPREAD
    fake_gpus: bool = False
    replay_class: type = PolicyReplay
    replay_config: Mapping[str, Any] = field(default_factory=dict)
    policy_cpus: _Cpus = 1.0
    replay_cpus: _Cpus = 1.0
    pods: Sequence[PodSize] | None = None
    checkpoint_dir: _Folder | Path | None = None
    resume_from: _Folder | Path | None = None
    resources: Mapping[str, Annotated[float, Range(least=0)]] = field(default_factory=dict)
    max_restarts: CountOrNone = 10
    start_timeout: Timeout = timedelta(minutes=5)

    def __post_init__(self) -> None:
        option_types.check_fields(self, "")
        if self.placement not in list(Placement):
            raise InvalidOption(f"placement: {self.placement!r} is unknown; use {' or '.join(Placement)}")
        for name in ("config", "replay_config", "resources"):
            object.__setattr__(self, name, merged(getattr(self, name), {}))
        _has_to(self.replay_class, "replay_class", "forget")
        if self.checkpoint_dir is not None:
            _has_to(self.replay_class, "replay_class", "state_dict", "load_state_dict")
        self.check_policy_class(self.policy_class)

    def check_policy_class(self, policy_class: type) -> None:
        """Raise InvalidOption if checkpoints are enabled and the class cannot save and load its state."""
        if self.checkpoint_dir is not None:
            _has_to(policy_class, "policy_class", "state_dict", "load_state_dict")

    @property
    def checkpoint_folder(self) -> Path | None:
        return None if self.checkpoint_dir is None else Path(self.checkpoint_dir).absolute()

    @property
    def resume_folder(self) -> Path | None:
        return None if self.resume_from is None else Path(self.resume_from).absolute()

    def packed(self, nodes: Sequence[PodSize]) -> ShardPacking:
        """Pack the shards onto ``nodes``. If the shards do not fit, raise InvalidOption with the numbers."""
        pods = nodes if self.pods is None else self.pods
        if self.fake_gpus:
            pods = [PodSize(pod.cpus, ceil(self.gpus)) for pod in pods]
        found = pack_shards(
            LearnerGroup(
                self.max_policies,
                self.gpus,
                self.shards,
                policy_cpus=_cpus(self.policy_cpus),
                replay_cpus=_cpus(self.replay_cpus),
            ),
            pods,
        )
        if isinstance(found, Refusal):
            raise InvalidOption(f"{found.field}: {found.message}")
        return found


def merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of ``common`` with the values of ``own``. Dicts are merged key by key, and no dict is shared."""
    keys = [*common, *(key for key in own if key not in common)]
    return {key: _merged_value(common.get(key), own[key] if key in own else common[key]) for key in keys}


def _has_to(of: type, option: str, *methods: str) -> None:
    """If the class lacks some of the methods, raise an InvalidOption that names these methods."""
    missing = [f"{name}()" for name in methods if not hasattr(of, name)]
    if missing:
        raise InvalidOption(f"{option}: {of.__qualname__} has no {' and no '.join(missing)}; add each missing method")


def _merged_value(common: Any, wins: Any) -> Any:
    if not isinstance(wins, Mapping):
        return wins
    return merged(common if isinstance(common, Mapping) else {}, wins)


def _cpus(number: float) -> Fraction:
    return parse_quantity(float(number))
