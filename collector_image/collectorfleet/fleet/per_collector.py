"""Arguments that are either one value for all collectors or a list with one value for each collector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

DEVICES: Final = ("device", "storing_device", "env_device", "policy_device")
NAMES: Final = (
    *("create_env_fn", "create_env_kwargs", "policy_factory", "collector_kwargs", "remote_configs", "visible_devices"),
    *("threads_per_collector", "process"),
    *DEVICES,
)


@dataclass(frozen=True)
class PerCollector:
    """The values of one argument. If there are more collectors than values, the list is repeated."""

    values: Sequence[Any]

    @classmethod
    def of(cls, value: Any) -> PerCollector:
        """Return the values of an argument. If ``value`` is not a list, it applies to all collectors."""
        return cls(value if is_list(value) else [value])

    def __getitem__(self, index: int) -> Any:
        return self.values[index % len(self.values)]


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether the argument has one value for each collector."""
    return isinstance(value, list | tuple)


def lengths(options: object) -> dict[str, int]:
    """Return the lengths of the list arguments of ``options``, by name. Empty lists are left out."""
    given = {name: getattr(options, name) for name in NAMES}
    return {name: len(value) for name, value in given.items() if is_list(value) and value}
