"""Save state of the collector in checkpoints. The user does not have to call ``run.keep``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

# The dot prevents a clash with a keyword of `run.keep`.
NORMALIZATION: Final = "collector.normalization"
EVALUATION: Final = "collector.evaluation"
PARAMETERS: Final = "collector.environment_parameters"


class KeptFromCollector:
    """One piece of the collector's state.

    ``saved`` is the piece in the checkpoint. It is empty if there is no checkpoint.
    """

    def __init__(self) -> None:
        self.saved: Mapping[str, Any] = {}
        self._now: Callable[[], Mapping[str, Any]] = lambda: self.saved

    def follow(self, now: Callable[[], Mapping[str, Any]]) -> None:
        """Make :meth:`state_dict` return the result of ``now()``."""
        self._now = now

    def state_dict(self) -> Mapping[str, Any]:
        return self._now()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.saved = state
