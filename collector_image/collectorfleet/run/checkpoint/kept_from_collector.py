"""What the collector of a run knows and its checkpoints have: kept as the policy is, without being named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

# No keyword of `run.keep` can be one of these.
NORMALIZATION: Final = "collector.normalization"
EVALUATION: Final = "collector.evaluation"
PARAMETERS: Final = "collector.environment_parameters"


class KeptFromCollector:
    """``saved`` is what a checkpoint has of it, for the collector to go on from; empty without one."""

    def __init__(self) -> None:
        self.saved: Mapping[str, Any] = {}
        self._now: Callable[[], Mapping[str, Any]] = lambda: self.saved

    def follow(self, now: Callable[[], Mapping[str, Any]]) -> None:
        """From here on it is what ``now`` says."""
        self._now = now

    def state_dict(self) -> Mapping[str, Any]:
        return self._now()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.saved = state
