"""How environments take parameters while a fleet runs: an argument of :class:`~collectorfleet.FleetCollector`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from collectorfleet.errors import InvalidOption

# From the result of an evaluation to parameters; None changes nothing.
CurriculumFunction = Callable[..., Mapping[str, Any] | None]


class Apply(StrEnum):
    """When an environment takes new parameters."""

    RESET = "reset"
    STEP = "step"


class Through(StrEnum):
    """By what an environment takes parameters."""

    AUTO = "auto"
    SET_PARAMETERS = "set_parameters"
    ATTRIBUTES = "attributes"
    RESET_OPTIONS = "reset_options"


@dataclass(frozen=True)
class EnvironmentParameters:
    """The environments of collectors take parameters by
    :meth:`~collectorfleet.FleetCollector.set_environment_parameters`, and frames carry the version of the parameters.

    Args:
        apply: ``"reset"``: each environment takes new parameters when it is reset next, so that an episode has one
            version. ``"step"``: before the first step of the next rollout, in the middle of episodes.
        through: ``"set_parameters"``: the method ``set_parameters(**parameters)`` of the environment.
            ``"attributes"``: the attributes of these names, where ``"physics.gravity"`` is an attribute of an
            attribute. ``"reset_options"``: Gymnasium's ``reset(options=parameters)``. ``"auto"``: the method where
            there is one, else the attributes.

    Raises:
        InvalidOption: a value that cannot work.
    """

    apply: str = Apply.RESET
    through: str = Through.AUTO

    def __post_init__(self) -> None:
        for name, kind in (("apply", Apply), ("through", Through)):
            values = [one.value for one in kind]
            if getattr(self, name) not in values:
                raise InvalidOption(
                    f"environment_parameters.{name}: {getattr(self, name)!r} is none of {', '.join(values)}"
                )
        if self.apply == Apply.STEP and self.through == Through.RESET_OPTIONS:
            raise InvalidOption(
                "environment_parameters: reset_options reach an environment when it is reset; use apply='reset'"
            )
