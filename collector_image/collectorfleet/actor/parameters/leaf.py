"""One environment that takes parameters: when it is reset, or at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from torchrl.envs import EnvBase, GymWrapper

from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.parameters.takers import ParametersRefused, Take, find_taker, name_of
from collectorfleet.messages import Parameters
from collectorfleet.parameters import Apply, EnvironmentParameters, Through


class ParameterizedEnvironment:
    """``version`` is that of the parameters which the environment has by now, 0 for those that it was built with.

    Args:
        env: an environment without others in it. Where it takes parameters at its resets, it is one environment and no
            batch: parts of a batch are reset at different times.
    """

    def __init__(self, env: EnvBase, options: EnvironmentParameters) -> None:
        self.version = 0
        self.rows = env.batch_size.numel()
        self._env = env
        self._options = options
        self._waiting: Parameters | None = None
        self._take: Take | None = None
        # Of Gymnasium's reset, for all resets from now on.
        self.reset_options: Mapping[str, Any] = {}
        self._is_hooked = False

    def offer(self, offered: Parameters) -> None:
        """Take these at once, or at the next reset; they replace those that still wait.

        Raises:
            ParametersRefused: the environment has no way to take them.
        """
        at_reset = self._options.apply == Apply.RESET
        if at_reset and self.rows > 1:
            raise ParametersRefused(
                f"environment {name_of(self._env)} is a batch of {self.rows} environments, which are reset at "
                "different times and have one set of parameters; build one environment and let the fleet make the "
                "batch (environment.perCollector, envs_per_collector), or give it a method set_parameters and use "
                "apply='step'"
            )
        if self._options.through == Through.RESET_OPTIONS:
            self._require_gymnasium()
        else:
            self._take = find_taker(self._env, Through(self._options.through), offered.values)
        if at_reset:
            self._hook()
            self._waiting = offered
        else:
            self._apply(offered)

    def before_reset(self) -> None:
        """The environment is about to be reset."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._apply(waiting)

    def _apply(self, offered: Parameters) -> None:
        if self._take is None:
            self.reset_options = offered.values
        else:
            with calling(Origin.PARAMETERS):
                self._take(offered.values)
        self.version = offered.version

    def _require_gymnasium(self) -> None:
        if not _is_gymnasium(self._env):
            raise ParametersRefused(
                f"environment {name_of(self._env)} is none of Gymnasium, so its reset takes no options; give it a "
                "method set_parameters(**parameters), and use through='set_parameters'"
            )

    def _hook(self) -> None:
        """Have :meth:`before_reset` called, whoever resets the environment."""
        if self._is_hooked:
            return
        self._is_hooked = True
        env: Any = self._env
        if _is_gymnasium(env):
            # Loops of our own call it without TorchRL's wrapper.
            env._env = _Watched(env._env, self)
            return
        reset = env._reset

        def watched(*args: Any, **kwargs: Any) -> Any:
            self.before_reset()
            return reset(*args, **kwargs)

        env._reset = watched


class _Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment of Gymnasium that takes parameters when it is reset."""

    def __init__(self, env: gymnasium.Env[Any, Any], parameters: ParameterizedEnvironment) -> None:
        super().__init__(env)
        self._parameters = parameters
        self.step = env.step  # type: ignore[method-assign]  # a step costs what it cost before

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._parameters.before_reset()
        own = self._parameters.reset_options
        given = {**(options or {}), **own} if own else options
        return self.env.reset(seed=seed, options=given)


def _is_gymnasium(env: EnvBase) -> bool:
    return isinstance(env, GymWrapper) and isinstance(env._env, gymnasium.Env)
