"""Set environment parameters while the fleet runs. The training function or a curriculum sets them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from collectorfleet.errors import InvalidOption, UserCodeError, with_article
from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.fleet.evaluation_control import EvaluationControl
from collectorfleet.gather.state.parameters import FleetParameters
from collectorfleet.parameters import CurriculumFunction
from collectorfleet.user_code import name_of, takes
from collectorfleet_api.counts import counted

log = logging.getLogger("collectorfleet")

# The limit for the size of all parameters. The status, every checkpoint, and requests to collectors contain parameters.
_MOST_BYTES: Final = 64 * 1024
_CURRENT: Final = "parameters"


class ParameterControl(EvaluationControl):
    """The methods of :class:`~collectorfleet.FleetCollector` for environment parameters."""

    _curriculum: CurriculumFunction | None = None
    _followed = 0  # the newest version whose result the curriculum got

    def set_environment_parameters(
        self,
        parameters: Mapping[str, Any] | None = None,
        *,
        group: str | None = None,
        by_collector: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> int:
        """Set parameters of the environments. Return the version number of these parameters.

        ``parameters`` apply to all collectors. If ``group`` is given, they apply only to the collectors of this group.
        ``by_collector`` maps names of collectors, such as ``"c0"``, to their parameters. Parameters that this call does
        not name do not change. Values are numbers, strings, bools, None, and lists and dicts of such values.

        The call returns at once. A collector gets the parameters with its next request. The fleet's argument
        ``environment_parameters`` defines how a collector sets the parameters in an environment. Each frame has the
        version of its environment's parameters in ``("collector", "environment_parameters_version")`` (int64). Before
        the first change, the version is 0. Collectors that start later begin with the newest parameters. Any thread may
        call this method.

        If an environment rejects the parameters, the iteration raises :class:`~collectorfleet.UserCodeError`.

        Raises:
            InvalidOption: the fleet has no ``environment_parameters``, or the group or collector does not exist. Also
                raised if a value has a type that is not listed above, or if all parameters take more than 64 KiB.
        """
        if (parameters is None) == (by_collector is None):
            raise InvalidOption("set_environment_parameters: pass either 'parameters' or 'by_collector'")
        if group is not None and by_collector is not None:
            raise InvalidOption(
                "set_environment_parameters: 'group' and 'by_collector' exclude each other; leave one of the two out"
            )
        if by_collector is not None:
            by_collector = _checked_by_collector(by_collector)
        else:
            parameters = _checked(parameters)
        shared = self._consumer.shared
        with shared.changed:
            # Change a copy, so that the change has no effect if an error is raised below.
            state = self._parameters.copy()
            if by_collector is not None:
                _require_known("collector", by_collector, shared.slots.by_name)
                version = state.set_by_collector(by_collector)
            elif group is not None:
                _require_known("group", [group], shared.slots.groups)
                version = state.set_for_group(group, parameters or {})
            else:
                version = state.set_for_all(parameters or {})
            _require_small(state)
            shared.parameters = state
            shared.note_change()
        log.info("environment parameters: version %d", version)
        return version

    def environment_parameters(self) -> dict[str, Any]:
        """Return the parameters that were set for all collectors. Any thread may call this method."""
        with self._consumer.shared.changed:
            return self._parameters.for_all

    @property
    def takes_environment_parameters(self) -> bool:
        """Whether the FleetCollector was created with ``environment_parameters``."""
        return self._consumer.shared.parameters is not None

    def environment_parameters_state(self) -> dict[str, Any]:
        """Return all parameters that were set, and the progress of the curriculum.

        The result is empty if the fleet has no ``environment_parameters``.
        """
        with self._consumer.shared.changed:
            state = self._consumer.shared.parameters
            return {} if state is None else {**state.state_dict(), "followed": self._followed}

    def load_environment_parameters_state(self, state: Mapping[str, Any]) -> None:
        """Continue from the result of :meth:`environment_parameters_state`. An empty state changes nothing.

        Raises:
            InvalidOption: batches were collected already.
        """
        if not state:
            return
        shared = self._consumer.shared
        with shared.changed:
            if shared.gather.begun:
                raise InvalidOption(
                    "load_environment_parameters_state: "
                    f"{counted(shared.statistics.batches, 'batch was', 'batches were')} collected already; "
                    "load the state before the first batch"
                )
            if shared.parameters is None:
                log.warning(
                    "the state has environment parameters of version %d, but this fleet has no parameters: its "
                    "environments begin with the parameters from their factory",
                    state["version"],
                )
                return
            shared.parameters.load_state_dict(state)
            self._followed = int(state["followed"])

    def _follow_curriculum(self) -> None:
        """Call the curriculum for each evaluation that ended since the last call. The consumer's thread calls this."""
        if self._curriculum is None:
            return
        for result in self._results_after(self._followed):
            self._followed = result.version
            found = _ask(self._curriculum, result, self.environment_parameters())
            if found is not None:
                self.set_environment_parameters(found)

    @property
    def _parameters(self) -> FleetParameters:
        found = self._consumer.shared.parameters
        if found is None:
            raise InvalidOption(
                "set_environment_parameters: this fleet takes no environment parameters; pass "
                "environment_parameters=EnvironmentParameters(), or set spec.environment.parameters"
            )
        return found


def _ask(curriculum: CurriculumFunction, result: EvaluationResult, now: Mapping[str, Any]) -> Mapping[str, Any] | None:
    where = f"curriculum {name_of(curriculum)}"
    try:
        found = curriculum(result, **({_CURRENT: now} if takes(curriculum, _CURRENT) else {}))
    except Exception as error:
        raise UserCodeError.of(where, error) from error
    if found is not None and not isinstance(found, Mapping):
        raise UserCodeError(
            where, f"it returned {with_article(type(found).__name__)}; return a dict of parameters, or None"
        )
    return found


def _checked_by_collector(given: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(given, Mapping) or not given:
        raise InvalidOption(
            f"set_environment_parameters: by_collector is {given!r:.100}; pass parameters by the name of a collector, "
            'such as {"c0": {"level": 3}}'
        )
    return {name: _checked(parameters) for name, parameters in given.items()}


def _checked(parameters: Any) -> dict[str, Any]:
    """Check the parameters, and return a copy."""
    if not isinstance(parameters, Mapping) or not parameters:
        raise InvalidOption(f"set_environment_parameters: {parameters!r:.100} has no parameters; pass a dict with some")
    return {_checked_name(name): _checked_value(name, value) for name, value in parameters.items()}


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidOption(f"set_environment_parameters: the name {name!r} is not a string")
    return name


def _checked_value(name: str, value: Any) -> Any:
    try:
        read = json.loads(json.dumps(value, allow_nan=False))
        # Reject values that JSON would change: a tuple becomes a list, and a number as a key becomes a string.
        why = "" if read == value else f"JSON would change it to {read!r:.100}"
    except (TypeError, ValueError, RecursionError) as error:
        read, why = None, str(error)
    if why:
        raise InvalidOption(
            f"set_environment_parameters: {name} is {type(value).__name__} {value!r:.100}, which status and "
            f"checkpoints cannot store ({why}); pass numbers, strings, bools, None, or lists and dicts of these"
        )
    return read


def _require_small(state: FleetParameters) -> None:
    size = len(json.dumps(state.state_dict()))
    if size > _MOST_BYTES:
        raise InvalidOption(
            f"set_environment_parameters: all parameters together take {size} bytes, but at most {_MOST_BYTES} fit "
            "into the status; pass a file name or a seed instead"
        )


def _require_known(what: str, names: Any, known: Any) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        there = ", ".join(sorted(set(known))[:10]) or "none"
        raise InvalidOption(f"set_environment_parameters: there is no {what} {unknown[0]}; this fleet has {there}")
