"""Send parameters to all environments of a collector, including environments in separate processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from torchrl.envs import EnvBase, ParallelEnv, SerialEnv, TransformedEnv

from collectorfleet.actor.parameters.leaf import ParameterizedEnvironment, Row
from collectorfleet.actor.parameters.parameter_setters import ParametersRefused
from collectorfleet.errors import describe
from collectorfleet.messages import Parameters
from collectorfleet.parameters import EnvironmentParameters
from collectorfleet.torchrl_private.environments import environments_of

# A process of a ParallelEnv sets attributes with these names on its environment, as soon as the environment is built.
_OFFER: Final = "offer_environment_parameters"
_ROWS: Final = "environment_parameters_rows"


class ParameterizedEnvironments:
    """All environments in ``env``, in the order of the rows in a batch of ``env``."""

    def __init__(self, env: EnvBase, options: EnvironmentParameters, *, keeps_errors: bool = False) -> None:
        self._env = env
        self._parts: list[ParameterizedEnvironment | _InProcesses] = [
            _InProcesses(one)
            if isinstance(one, ParallelEnv)
            else ParameterizedEnvironment(one, options, keeps_errors=keeps_errors)
            for one in _leaves(env)
        ]

    def offer(self, offered: Parameters) -> None:
        """Offer parameters to all environments, see :meth:`ParameterizedEnvironment.offer`."""
        for one in self._parts:
            one.offer(offered)
        there, rows = len(self.rows()), self._env.batch_size.numel()
        if there != rows:
            raise ParametersRefused(
                f"the environment is a batch of {rows} environments, but parameters can be set for {there} "
                "environments. Build a single environment, and set environment.perCollector (envs_per_collector)"
            )

    @property
    def has_processes(self) -> bool:
        """Whether some environments run in separate processes.

        Only :meth:`rows` reports errors of these environments.
        """
        return any(isinstance(one, _InProcesses) for one in self._parts)

    def rows(self) -> list[Row]:
        """Return the state of the parameters for each row of the batch."""
        found: list[Row] = []
        for one in self._parts:
            found += one.rows() if isinstance(one, _InProcesses) else [one.row()] * one.rows
        return found


def answer_in_process(env: EnvBase, options: EnvironmentParameters) -> None:
    """Give ``env`` the methods that :class:`_InProcesses` calls. ``env`` was built in a process of a ParallelEnv."""
    there: list[ParameterizedEnvironments] = []

    def environments() -> ParameterizedEnvironments:
        # The object is built only at the first call, because its constructor starts the processes of every ParallelEnv
        # inside ``env``.
        if not there:
            there.append(ParameterizedEnvironments(env, options, keeps_errors=True))
        return there[0]

    def offer(offered: Parameters) -> str:
        try:
            environments().offer(offered)
        except ParametersRefused as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  (raised here, the user's error would end the process)
            return describe(error)
        return ""

    # A ParallelEnv calls methods of its environments by name. So both functions become attributes of the environment.
    answering: Any = env
    setattr(answering, _OFFER, offer)
    setattr(answering, _ROWS, lambda: environments().rows())


class _InProcesses:
    """The environments in the processes of a ParallelEnv."""

    def __init__(self, env: ParallelEnv) -> None:
        self._env = env
        if env.is_closed:
            env.start()

    def offer(self, offered: Parameters) -> None:
        refused = [sentence for sentence in getattr(self._env, _OFFER)(offered) if sentence]
        if refused:
            raise ParametersRefused(refused[0])

    def rows(self) -> list[Row]:
        return [row for rows in getattr(self._env, _ROWS)() for row in rows]


def _leaves(env: EnvBase) -> Iterator[EnvBase]:
    match env:
        case TransformedEnv():
            yield from _leaves(env.base_env)
        case SerialEnv():
            if env.is_closed:
                env.start()
            for inner in environments_of(env):
                yield from _leaves(inner)
        case _:
            yield env
