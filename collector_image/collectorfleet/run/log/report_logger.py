"""Define a TorchRL logger that reports scalars to the run. TorchRL's trainers accept only loggers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchrl.record.loggers.common import Logger


class ReportLogger(Logger):  # type: ignore[misc]  # TorchRL gives it no type
    """A logger that passes scalars to ``report``. It drops the scalars' step, because the fleet counts frames."""

    def __init__(self, report: Callable[..., None]) -> None:
        self._report = report
        super().__init__(exp_name="run", log_dir="")

    def _create_experiment(self) -> None:
        return None

    def log_scalar(self, name: str, value: Any, step: int | None = None) -> None:  # noqa: ARG002 (TorchRL's signature)
        self._report(**{name: value})

    def log_hparams(self, cfg: Any) -> None:
        """Do nothing, because the manifest contains the hyperparameters."""

    def log_video(self, name: str, video: Any, step: int | None = None, **kwargs: Any) -> None:
        """Do nothing, because a status has only numbers."""

    def log_histogram(self, name: str, data: Sequence[Any], **kwargs: Any) -> None:
        """Do nothing, because a status has only numbers."""

    def __repr__(self) -> str:
        return "ReportLogger()"
