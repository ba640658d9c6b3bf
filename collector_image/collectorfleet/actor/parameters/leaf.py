"""Set the parameters of one environment at its next reset, or at once."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
from torchrl.envs import EnvBase, GymWrapper

from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.parameters.parameter_setters import (
    ParameterSetter,
    ParametersRefused,
    find_setter,
    innermost,
    name_of,
)
from collectorfleet.errors import describe
from collectorfleet.messages import Parameters
from collectorfleet.parameters import Apply, EnvironmentParameters, Through
from collectorfleet.torchrl_private.environments import RESET_KEY, gymnasium_of, is_vector


class Row(NamedTuple):
    """The parameters and resets of one environment of a batch.

    Args:
        version: the version of the environment's parameters. 0: the parameters that the environment was built with.
        resets: the number of resets of the environment since the first parameters were offered.
        taken_at: the value of ``resets`` when the current parameters were set.
        failure: the text of the error that occurred when the parameters were set or checked. Empty if there was no
            error.
    """

    version: int
    resets: int
    taken_at: int
    failure: str = ""


class ParameterizedEnvironment:
    """An environment that takes parameters and contains no other environments.

    With ``apply="reset"``, the environment must be a single environment, because the environments of a batch are reset
    at different times. If ``keeps_errors`` is true, a reset does not raise an error that occurs when parameters are set
    or checked. :meth:`row` then returns the text of the error. An environment in a separate process needs this option,
    because a raised error would end the process.
    """

    def __init__(self, env: EnvBase, options: EnvironmentParameters, *, keeps_errors: bool = False) -> None:
        self.rows = env.batch_size.numel()
        self._env = env
        self._options = options
        self._keeps_errors = keeps_errors
        self._at_reset = options.apply == Apply.RESET
        self._waiting: Parameters | None = None
        self._applied: Parameters | None = None
        self._setter: ParameterSetter | None = None
        self._resets = self._applied_at = 0
        self._failure = ""
        self._is_watched = False

    def offer(self, offered: Parameters) -> None:
        """Set the parameters at once, or at the next reset.

        The new parameters replace earlier parameters that still wait for a reset.

        Raises:
            ParametersRefused: the environment has no way to set these parameters.
        """
        if self._at_reset and (self.rows > 1 or is_vector(self._env)):
            raise ParametersRefused(
                f"environment {name_of(self._env)} is a batch of {self.rows} environments that share one set of "
                "parameters, but are reset at different times. Build a single environment and set "
                "environment.perCollector (envs_per_collector), or add a method set_parameters and use apply='step'"
            )
        if self._options.through == Through.RESET_OPTIONS:
            self._require_gymnasium()
        else:
            self._setter = find_setter(self._env, Through(self._options.through), offered.values)
        self._watch()
        if self._at_reset:
            self._waiting = offered
        else:
            self._take(offered)

    def row(self) -> Row:
        version = 0 if self._applied is None else self._applied.version
        return Row(version, self._resets, self._applied_at, self._failure)

    def _take(self, offered: Parameters) -> None:
        if self._setter is not None:
            with calling(Origin.PARAMETERS):
                # The environment gets a copy. If the environment changes a list in the copy, the values of other
                # environments do not change.
                self._setter.take(copy.deepcopy(dict(offered.values)))
        self._applied, self._applied_at = offered, self._resets

    def _require_gymnasium(self) -> None:
        if not _is_gymnasium(self._env):
            raise ParametersRefused(
                f"environment {name_of(self._env)} is not a single Gymnasium environment, so its reset() takes no "
                "options; give this environment a method set_parameters(**parameters), and use through='set_parameters'"
            )

    # ---------------------------------------------------------------- resets
    def _watch(self) -> None:
        """Wrap the reset method of the instance. The wrapper counts resets and sets waiting parameters before a reset.

        The wrapper then calls the original method, so resets work as before.
        """
        if self._is_watched:
            return
        self._is_watched = True
        env: Any = self._env
        if self._options.through == Through.RESET_OPTIONS:
            self._give_options()
        # The fast loop calls a Gymnasium environment directly, without TorchRL's wrapper. So the reset method of the
        # inner environment is wrapped.
        owner, name = (gymnasium_of(env), "reset") if _is_gymnasium(env) else (env, RESET_KEY)
        reset = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            self._resets += 1
            if self._options.through != Through.RESET_OPTIONS:
                self._record_failure_of(self._take_waiting)
            found = reset(*args, **kwargs)
            self._record_failure_of(self._check)
            return found

        setattr(owner, name, watched)

    def _give_options(self) -> None:
        """Make the reset of the innermost environment receive the parameters as options.

        Wrappers around this environment may drop options or skip a reset.
        """
        inner = innermost(self._env)
        reset = inner.reset

        def optioned(*, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Any:
            self._take_waiting()
            own = {} if self._applied is None else copy.deepcopy(dict(self._applied.values))
            return reset(seed=seed, options={**(options or {}), **own} or None)

        inner.reset = optioned

    def _take_waiting(self) -> None:
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._take(waiting)

    def _check(self) -> None:
        if self._setter is not None and self._applied is not None:
            with calling(Origin.PARAMETERS):
                self._setter.check(self._applied.values)

    def _record_failure_of(self, act: Any) -> None:
        try:
            act()
        except Exception as error:
            if not self._keeps_errors:
                raise
            self._failure = self._failure or describe(error)


def _is_gymnasium(env: EnvBase) -> bool:
    return isinstance(env, GymWrapper) and isinstance(gymnasium_of(env), gymnasium.Env)
