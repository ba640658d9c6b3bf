"""What a rule about the options of a fleet is, and how most of them ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.arguments import FleetArguments

Question = Callable[[FleetArguments], bool]


@dataclass(frozen=True)
class Rule:
    """What has to hold, and the sentence about ``option`` for when it does not.

    A rule that manifests have too has the same ``name`` there, see ``collectorfleet_api.rules``.
    """

    name: str
    option: str
    holds: Question
    sentence: str | Callable[[FleetArguments], str]
    error: type[Exception] = InvalidOption

    def broken(self, options: FleetArguments) -> Exception:
        """The error that says so."""
        sentence = self.sentence if isinstance(self.sentence, str) else self.sentence(options)
        return self.error(f"{self.option}: {sentence}")


def is_service(policy: object) -> bool:
    """Whether it is TorchRL's inference service: collectors ask it for actions, and it has the weights."""
    return getattr(policy, "service_backend", None) is not None


def given(options: FleetArguments, name: str) -> bool:
    """Whether the option says something: None and False do not."""
    value = getattr(options, name)
    return value is not None and value is not False


def absent(name: str) -> Question:
    """The option is left out."""
    return lambda options: not given(options, name)


def not_both(one: str, other: str) -> Question:
    """At most one of the two options is given."""
    return lambda options: not (given(options, one) and given(options, other))
