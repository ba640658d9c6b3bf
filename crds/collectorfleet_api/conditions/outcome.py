"""How far a run has come: whether it goes on, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Running:
    """The driver has not ended."""


@dataclass(frozen=True)
class Succeeded:
    """Training returned, or the frames asked for were written out."""

    message: str


@dataclass(frozen=True)
class Failed:
    """The user's code raised; trying again would not help."""

    message: str  # one sentence, the first cause in its own words


Outcome = Running | Succeeded | Failed
