"""Arguments that are one value for all collectors, or a list with one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from collectorfleet.errors import InvalidOption


@dataclass(frozen=True)
class PerCollector:
    """One argument. Collectors beyond the list begin it anew."""

    name: str
    values: Sequence[Any]
    listed: bool

    @classmethod
    def of(cls, name: str, value: Any) -> PerCollector:
        """Never refers to the caller's list."""
        if isinstance(value, list | tuple):
            if not value:
                raise InvalidOption(f"{name}: the list is empty; give one value for each collector")
            return cls(name, list(value), listed=True)
        return cls(name, [value], listed=False)

    def __getitem__(self, index: int) -> Any:
        return self.values[index % len(self.values)]


def number_of_collectors(num_collectors: int | None, arguments: Sequence[PerCollector]) -> int:
    """As many as asked for, which every list has to match; else the length of the lists, or 1.

    Raises:
        InvalidOption: a list of another length, or a number below 1.
    """
    lengths = {argument.name: len(argument.values) for argument in arguments if argument.listed}
    number = max(lengths.values(), default=1) if num_collectors is None else num_collectors
    if number < 1:
        raise InvalidOption(f"num_collectors: {number} is fewer than 1")
    for name, length in lengths.items():
        if length != number:
            raise InvalidOption(
                f"{name}: a list of {length} for {number} collectors; pass one value, or a list of {number}"
            )
    return number
