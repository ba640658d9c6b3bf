"""A rule about the options of a fleet, and the conditions that most rules use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.arguments import FleetArguments

Question = Callable[[FleetArguments], bool]


@dataclass(frozen=True)
class Rule:
    """A condition for the options. If ``holds`` returns False, ``sentence`` says what is wrong with ``option``.

    Manifests may have a rule with the same ``name``, see ``collectorfleet_api.rules``.
    """

    name: str
    option: str
    holds: Question
    sentence: str | Callable[[FleetArguments], str]
    error: type[Exception] = InvalidOption

    def error_for(self, options: FleetArguments) -> Exception:
        """Return the error for a broken rule."""
        sentence = self.sentence if isinstance(self.sentence, str) else self.sentence(options)
        return self.error(f"{self.option}: {sentence}")


def is_service(policy: object) -> bool:
    """Return whether the policy is TorchRL's inference service.

    With an inference service, collectors request actions from the service, and only the service has the weights.
    """
    return getattr(policy, "service_backend", None) is not None


def given(options: FleetArguments, name: str) -> bool:
    """Return whether the option is set. The values None and False count as unset."""
    value = getattr(options, name)
    return value is not None and value is not False


def absent(name: str) -> Question:
    """Return a condition that is true if the option is unset."""
    return lambda options: not given(options, name)


def not_both(one: str, other: str) -> Question:
    """Return a condition that is true if at most one of the two options is set."""
    return lambda options: not (given(options, one) and given(options, other))
