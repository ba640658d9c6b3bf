"""A logger of TorchRL's whose scalars are what a run reports: for its trainers, which know loggers and no runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchrl.record.loggers.common import Logger


class ReportLogger(Logger):  # type: ignore[misc]  # TorchRL gives it no type
    """Scalars go to ``report``, whatever their step; the fleet counts frames itself. A report has nothing else."""

    def __init__(self, report: Callable[..., None]) -> None:
        self._report = report
        super().__init__(exp_name="run", log_dir="")

    def _create_experiment(self) -> None:
        return None

    def log_scalar(self, name: str, value: Any, step: int | None = None) -> None:  # noqa: ARG002 (TorchRL's signature)
        self._report(**{name: value})

    def log_hparams(self, cfg: Any) -> None:
        """Do nothing: the manifest has the hyperparameters."""

    def log_video(self, name: str, video: Any, step: int | None = None, **kwargs: Any) -> None:
        """Do nothing: a status has only numbers."""

    def log_histogram(self, name: str, data: Sequence[Any], **kwargs: Any) -> None:
        """Do nothing: a status has only numbers."""

    def __repr__(self) -> str:
        return "ReportLogger()"
