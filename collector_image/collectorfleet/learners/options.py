"""The options of learner shards: each argument of LearnerShards once, with its type, its default and what it is."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

from collectorfleet.durable_files import is_full
from collectorfleet.errors import InvalidOption, describe
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.learners.roster import Placement
from collectorfleet_api.packing.quantity import parse_quantity
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.shards import LearnerGroup, PodSize, ShardPacking, pack_shards

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LearnerOptions:
    """What learner shards are asked to be. It refers to none of the caller's dicts.

    Args:
        policy_class: what a policy's actor is; built there with the keywords of its configuration.
        max_policies: places for policies.

    Keyword Args:
        config: keywords of every policy; those that ``add_policy`` is given win, key by key within dicts too.
        gpus: GPUs of all policies together, whole ones or a share below 1.
        shards: how many. None: one for each GPU, or for each policy without any.
        placement: "Spread" gives a policy to the shard with the fewest, "FirstFit" to the first with a free place.
        fake_gpus: GPUs in name only, for tests: places are counted with them, and Ray is asked for none.
        replay_class: what a shard's replay actor is; it has ``forget(policy_id)``, which drops a policy's frames.
        replay_config: its keywords.
        policy_cpus, replay_cpus: CPUs of one actor.
        pods: sizes of what may hold shards. None: the nodes that Ray has now, those with ``resources``.
        checkpoint_dir: an empty folder that all pods see. :meth:`LearnerShards.checkpoint` writes there, and an actor
            that died goes on from it; both classes then have ``state_dict()`` and ``load_state_dict()``. None: an actor
            that died is not replaced, as nobody would notice that it forgot all.
        resume_from: a folder that other learner shards had as ``checkpoint_dir``. A policy that is added with an id of
            that folder resumes from there with its frames. It keeps its place if shards have as many places as then.
        resources: what each actor asks Ray for besides, such as ``{"learner": 1}``; nodes without it hold no shard.
        max_restarts: how often an actor is replaced, lost nodes included.
        start_timeout: how long a shard may wait for room, and an actor for its constructor.
    """

    policy_class: type
    max_policies: int
    _: KW_ONLY
    config: Mapping[str, Any] = field(default_factory=dict)
    gpus: float = 0.0
    shards: int | None = None
    placement: Placement | str = Placement.SPREAD
    fake_gpus: bool = False
    replay_class: type = PolicyReplay
    replay_config: Mapping[str, Any] = field(default_factory=dict)
    policy_cpus: float = 1.0
    replay_cpus: float = 1.0
    pods: Sequence[PodSize] | None = None
    checkpoint_dir: str | Path | None = None
    resume_from: str | Path | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    max_restarts: int = 10
    start_timeout: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        if self.placement not in list(Placement):
            raise InvalidOption(f"placement: {self.placement!r}; use {' or '.join(Placement)}")
        for name in ("config", "replay_config", "resources"):
            object.__setattr__(self, name, merged(getattr(self, name), {}))
        object.__setattr__(self, "checkpoint_dir", _empty_folder(self.checkpoint_dir))
        _has_to(self.replay_class, "replay_class", "forget")
        if self.checkpoint_dir is not None:
            _has_to(self.replay_class, "replay_class", "state_dict", "load_state_dict")
        self.check_policy_class(self.policy_class)

    def check_policy_class(self, policy_class: type) -> None:
        """Raise InvalidOption for a class that has no way back from a checkpoint, if there are to be some."""
        if self.checkpoint_dir is not None:
            _has_to(policy_class, "policy_class", "state_dict", "load_state_dict")

    @property
    def resume_folder(self) -> Path | None:
        return None if self.resume_from is None else Path(self.resume_from).absolute()

    def packed(self, nodes: Sequence[PodSize]) -> ShardPacking:
        """Places, where ``nodes`` are those that Ray has. Raises InvalidOption with the arithmetic."""
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
    """``common`` with what ``own`` says in its place, key by key within dicts; dicts of neither are referred to."""
    keys = [*common, *(key for key in own if key not in common)]
    return {key: _merged_value(common.get(key), own[key] if key in own else common[key]) for key in keys}


def _has_to(of: type, option: str, *methods: str) -> None:
    """Raise InvalidOption that names the methods that the class lacks."""
    missing = [f"{name}()" for name in methods if not hasattr(of, name)]
    if missing:
        raise InvalidOption(f"{option}: {of.__qualname__} has no {' and no '.join(missing)}; add what is missing")


def _merged_value(common: Any, wins: Any) -> Any:
    if not isinstance(wins, Mapping):
        return wins
    return merged(common if isinstance(common, Mapping) else {}, wins)


def _cpus(number: float) -> Fraction:
    return parse_quantity(number)


def _empty_folder(folder: str | Path | None) -> Path | None:
    if folder is None:
        return None
    path = Path(folder).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if not is_full(error):
            raise
        # Nobody learns less without it; whoever writes a checkpoint makes it, or says why there is none.
        log.warning("checkpoint_dir: %s is made with the first checkpoint: %s", path, describe(error))
        return path
    if any(path.iterdir()):
        raise InvalidOption(f"checkpoint_dir: {path} is not empty and belongs to another run; use an empty folder")
    return path
