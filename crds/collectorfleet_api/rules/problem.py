"""One thing that is wrong in a manifest, said so that its author knows what to change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """``field`` is a path in the manifest, such as ``spec.collectors.replicas``."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"
