"""Define ``environment_parameters`` of FleetCollector, for parameters that change during a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from collectorfleet import option_types
from collectorfleet.errors import InvalidOption

# Turns the result of an evaluation into new parameters. None leaves the parameters unchanged.
CurriculumFunction = Callable[..., Mapping[str, Any] | None]


class Apply(StrEnum):
    """The moment at which an environment applies new parameters."""

    RESET = "reset"
    STEP = "step"


class Through(StrEnum):
    """The interface through which an environment receives parameters."""

    AUTO = "auto"
    SET_PARAMETERS = "set_parameters"
    ATTRIBUTES = "attributes"
    RESET_OPTIONS = "reset_options"


@dataclass(frozen=True)
class EnvironmentParameters:
    """How environments receive parameters, and when. Frames carry the version of the parameters.

    :meth:`~collectorfleet.FleetCollector.set_environment_parameters` sets the parameters.

    Args:
        apply: ``"reset"``: each environment applies new parameters at its next reset, so an episode has one version.
            ``"step"``: environments apply new parameters before the first step of the next rollout, also in the middle
            of episodes.
        through: ``"set_parameters"``: the collector calls the environment's method ``set_parameters(**parameters)``.
            ``"attributes"``: each parameter sets the attribute of its name. ``"physics.gravity"`` sets the attribute
            ``gravity`` of the attribute ``physics``. ``"reset_options"``: the collector calls Gymnasium's
            ``reset(options=parameters)``. ``"auto"``: ``set_parameters`` if the environment has this method, otherwise
            the attributes.

    Raises:
        InvalidOption: a value is invalid.
    """

    apply: str = Apply.RESET
    through: str = Through.AUTO

    def __post_init__(self) -> None:
        option_types.check_fields(self, "environment_parameters.")
        for name, kind in (("apply", Apply), ("through", Through)):
            values = [one.value for one in kind]
            if getattr(self, name) not in values:
                raise InvalidOption(
                    f"environment_parameters.{name}: {getattr(self, name)!r} is not one of {', '.join(values)}"
                )
        if self.apply == Apply.STEP and self.through == Through.RESET_OPTIONS:
            raise InvalidOption(
                "environment_parameters: reset_options reach an environment only when it is reset; use apply='reset'"
            )
