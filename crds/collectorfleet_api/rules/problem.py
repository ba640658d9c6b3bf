"""A problem in a manifest, with a message that tells the author what to change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A problem in a manifest. ``field`` is its path, such as ``spec.collectors.replicas``."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"
