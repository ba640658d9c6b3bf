"""The loggers that a manifest's ``driver.log`` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from collectorfleet.errors import InvalidOption, UserCodeError
from collectorfleet.run.own_code import build
from collectorfleet_api.v1alpha1 import Factory, Log

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Logger(Protocol):
    """What a run needs of a ``torchrl.record.loggers.Logger``."""

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> object:
        """Log values by name, after so many frames."""

    def close(self) -> None:
        """Write what is not written yet."""


def open_loggers(log: Log, fleet: str) -> dict[str, Logger]:
    """The loggers by the name that messages call them.

    Raises InvalidOption for a folder that cannot be written, UserCodeError where the user's factory raises.
    """
    found: dict[str, Logger] = {}
    if log.tensorboard is not None:
        found["driver.log.tensorboard"] = TensorBoard(Path(log.tensorboard) / fleet)
    if log.logger is not None:
        found[f"driver.log.logger {log.logger.factory}"] = _of_the_user(log.logger)
    return found


class TensorBoard:
    """Event files for TensorBoard in a folder.

    A driver that resumes from a checkpoint writes into the same folder. Earlier values of frames that come a second
    time are then hidden.
    """

    def __init__(self, folder: Path) -> None:
        """Raises InvalidOption when nothing can be written there."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".written").touch()
            (folder / ".written").unlink()
        except OSError as error:
            raise InvalidOption(
                f"driver.log.tensorboard: nothing can be written below {folder} ({error.strerror}); name a folder on a "
                "volume that driver.template mounts"
            ) from error
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        if self._writer is None:
            # Here and not above: half a second of imports that nobody waits for on this thread.
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._folder), purge_step=step)
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _of_the_user(factory: Factory) -> Logger:
    logger = build("driver.log.logger", factory)
    if not hasattr(logger, "log_metrics"):
        raise UserCodeError(
            f"driver.log.logger {factory.factory}",
            f"it returned a {type(logger).__name__}, which is no torchrl.record.loggers.Logger: it has no log_metrics",
        )
    found: Logger = logger
    return found
