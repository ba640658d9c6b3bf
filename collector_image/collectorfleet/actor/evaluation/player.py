"""Run each episode from its seeded reset to its end, with one version of the weights."""

from __future__ import annotations

from functools import reduce
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import torch
from tensordict import TensorDictBase
from torch import Tensor, nn
from torchrl.envs import Compose, EnvBase, StepCounter, TransformedEnv
from torchrl.envs.utils import ExplorationType, set_exploration_type

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.evaluation.frames import Frames
from collectorfleet.actor.evaluation.normalization import FrozenNormalization
from collectorfleet.actor.evaluation.recorder import EpisodeRecorder
from collectorfleet.actor.factories import PolicyFactory
from collectorfleet.actor.finished_rollout import Rollout
from collectorfleet.actor.inbox import Inbox, Offer
from collectorfleet.actor.normalization.environment import EnvironmentNormalization
from collectorfleet.actor.normalization.search import transforms_of
from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.seeds import seed_everything, seed_of_batch
from collectorfleet.actor.target import ModulesTarget
from collectorfleet.codec.settings import move_settings
from collectorfleet.errors import InvalidOption
from collectorfleet.messages import POLICY, Episodes, Request
from collectorfleet.torchrl_private.policies import make_compatible_policy

_POLICY_PREFIX: Final = ""


class EpisodePlayer:
    """An evaluator. It answers each request with the episodes that begin with the request's seed.

    If the environment has no batch dimension, the answer has one episode. For a batch of ``n`` environments, the answer
    has the first episode of each environment, in the order of the rows.
    """

    loop = "Episodes"

    def __init__(self, config: CollectorConfig, env: EnvBase) -> None:
        device = config.options.get("device")
        if device is not None:
            env = env.to(device)
        self._env = _limited(env, config.options.get("max_frames_per_traj"))
        self._exploration = config.options.get("exploration_type", ExplorationType.DETERMINISTIC)
        with calling(Origin.ENVIRONMENT):
            self._normalization = FrozenNormalization(self._env, constants=not config.own_constants)
        policy = config.policy if config.policy_factory is None else PolicyFactory(config.policy_factory)()
        if isinstance(policy, nn.Module):
            where = self._env.device or torch.device("cpu")
            policy = policy.to(where)
            move_settings(policy, where)
            policy.eval()
        with calling(Origin.POLICY):
            self._act: Any = make_compatible_policy(
                policy,
                self._env.observation_spec,
                env=self._env,
                fast_wrap=True,
                trust_policy=config.options.get("trust_policy"),
            )
        inbox = Inbox(_target(policy, self._env, config), None, self._normalization)
        self.inboxes = {POLICY: inbox}
        self._frames = Frames(self._env, config.pixel_key)
        self._render_seconds = config.render_seconds
        # An evaluator does not contribute to the fleet's statistics.
        self.normalization: EnvironmentNormalization | None = None

    def run(self, request: Request, weights: Offer | None = None) -> Rollout:
        """Run the episodes that begin with ``request.seed``, with exactly the weights version ``request.version``.

        ``weights`` are the weights of this version. None: the version is already loaded.
        """
        if request.seed is None or request.version is None:
            raise RuntimeError("an evaluator got a request for a rollout")
        with calling(Origin.OPTIONS):
            self._check_normalization(weights)
        inbox = self.inboxes[POLICY]
        inbox.begin_rollout(request.version, exactly=weights)
        recorded_environments = min(request.recorded, self._env.batch_size.numel())
        recorder = EpisodeRecorder(self._frames, recorded_environments, self._render_seconds)
        try:
            self._normalization.begin_episodes()
            episodes = self._play(request.seed, recorder)
        finally:
            (segment,) = inbox.end_rollout()
        if segment.version != request.version:
            raise RuntimeError(f"version {segment.version} is loaded, but version {request.version} is requested")
        recorded = recorder.recorded() if request.recorded else None
        return Rollout(None, sum(episodes.lengths), request.version, None, episodes=episodes, recorded=recorded)

    def _check_normalization(self, weights: Offer | None) -> None:
        if weights is None:
            return
        if weights.normalization is not None:
            self._normalization.check(weights.normalization)
        elif self._normalization.names:
            raise InvalidOption(
                f"evaluation: the evaluation environment has statistics ({', '.join(self._normalization.names)}), but "
                "the training environment publishes none; give both environments the same transforms of observations"
            )

    def cut_short(self, request_id: int) -> None:
        """Do nothing, because an evaluator runs every episode to its end."""

    def _play(self, seed: int, recorder: EpisodeRecorder) -> Episodes:
        seed_everything(seed)
        env = self._env
        environments = env.batch_size.numel()
        with torch.no_grad(), set_exploration_type(self._exploration):
            with calling(Origin.ENVIRONMENT):
                env.set_seed(seed_of_batch(seed, environments))
                here = env.reset()
            returns = np.zeros(environments)
            lengths = np.zeros(environments, np.int64)
            running, done = np.ones(environments, bool), np.zeros((environments, 1), bool)
            recorder.see(here, running)
            while True:
                with calling(Origin.POLICY):
                    here = self._act(here)
                with calling(Origin.ENVIRONMENT):
                    stepped = env.step(here)
                returns[running] += _rewards(env, stepped)[running]
                lengths[running] += 1
                done = done | _done(env, stepped)
                running &= ~done.all(1)
                recorder.see(stepped["next"], running)
                if not running.any():
                    return Episodes(tuple(returns.tolist()), tuple(lengths.tolist()))
                with calling(Origin.ENVIRONMENT):
                    # The loop steps all environments until the last episode ends. Steps after the end of an
                    # environment's own episode do not count.
                    here = env.maybe_reset(env.step_mdp(stepped))


def _limited(env: EnvBase, frames: int | None) -> EnvBase:
    """Return ``env`` with the frame limit of training episodes. Without such a limit, return ``env`` unchanged."""
    if frames is None or frames <= 0:
        return env
    if any(isinstance(one, StepCounter) and one.max_steps is not None for one in transforms_of(env)):
        return env  # the environment has its own limit
    return TransformedEnv(env, Compose(StepCounter(max_steps=frames)))


def _rewards(env: EnvBase, stepped: TensorDictBase) -> np.ndarray:
    """Return the reward of each environment in one step, float64 ``[environments]``.

    If an environment has several agents, its reward is the mean of their rewards.
    """
    found = [
        _by_environment(env, stepped.get(("next", key) if isinstance(key, str) else ("next", *key)))
        for key in env.reward_keys
    ]
    return torch.cat(found, 1).double().mean(1).numpy()


def _done(env: EnvBase, stepped: TensorDictBase) -> np.ndarray:
    """Return, as bool ``[environments, 1]``, which environments are done.

    If the environment has no common ``done``, the result has one column for each agent.
    """
    root = stepped.get(("next", "done"), None)
    if root is not None:
        return _by_environment(env, root).any(1, keepdim=True).numpy()
    found = [
        _by_environment(env, stepped.get(("next", *key)))
        for key in env.done_keys
        if not isinstance(key, str) and key[-1] == "done"
    ]
    return torch.cat(found, 1).numpy()


def _by_environment(env: EnvBase, values: Tensor) -> Tensor:
    """Return ``values`` as ``[environments, values per environment]`` on the CPU."""
    return values.detach().cpu().reshape(env.batch_size.numel(), -1)


def _target(policy: Any, env: EnvBase, config: CollectorConfig) -> ModulesTarget:
    """Return the tensors to load weights into. The tensors have the same names as in a collector."""
    modules: dict[str, nn.Module] = {_POLICY_PREFIX: policy} if isinstance(policy, nn.Module) else {}
    # The paths in ``config.models`` start at TorchRL's collector, which an evaluator does not have. So the holder has
    # two attributes of a collector.
    holder = SimpleNamespace(env=env, policy=policy)
    for path in config.models:
        module: Any = reduce(getattr, path.split("."), holder)
        modules[f"{path}:"] = module
    return ModulesTarget(modules)
