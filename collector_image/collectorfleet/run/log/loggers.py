"""Open the loggers of a manifest's ``driver.log``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from collectorfleet.durable_files import is_temporary, name_path
from collectorfleet.errors import InvalidOption, UserCodeError, with_article
from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.run.driver_code import build
from collectorfleet_api.v1alpha1 import Factory, Log

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter
    from torchrl.record.loggers import Logger as TorchrlLogger

_VIDEO: Final = "evaluation/video"
_PROBE_BYTES: Final = 4096
# SummaryWriter reports a failed write only at a flush.
_FLUSH_SECONDS: Final = 30


class Logger(Protocol):
    """The methods of ``torchrl.record.loggers.Logger`` that a run uses."""

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> object:
        """Log values by name. ``step`` is the number of frames."""

    def close(self) -> None:
        """Write all values to disk or to the server."""


def open_loggers(log: Log, fleet: str) -> dict[str, Logger]:
    """Return the loggers. The keys are the loggers' names in messages.

    Raises InvalidOption if a folder cannot be written, and UserCodeError if the user's factory raises.
    """
    found: dict[str, Logger] = {}
    if log.tensorboard is not None:
        found["driver.log.tensorboard"] = TensorBoard(Path(log.tensorboard).absolute() / fleet)
    if log.logger is not None:
        found[f"driver.log.logger {log.logger.factory}"] = _of_the_user(log.logger)
    return found


def video_sinks(loggers: Mapping[str, Logger]) -> dict[str, Callable[[EpisodeVideo], object]]:
    """For each logger that supports videos, return a function that logs a video. The keys are the loggers' names."""
    found: dict[str, Callable[[EpisodeVideo], object]] = {}
    for name, logger in loggers.items():
        if isinstance(logger, TensorBoard):
            found[name] = logger.log_episode
        elif hasattr(logger, "log_video"):
            found[name] = partial(_log_frames, logger)
    return found


def _log_frames(logger: TorchrlLogger, video: EpisodeVideo) -> None:
    import torch

    from collectorfleet.codec.video import decode

    frames, per_second = decode(video.data)
    # [videos, frames, channels, height, width]
    tensor = torch.from_numpy(frames).permute(0, 3, 1, 2).unsqueeze(0).contiguous()
    logger.log_video(_name_of(video), tensor, step=video.frames, fps=max(1, round(per_second)))


def _name_of(video: EpisodeVideo) -> str:
    return f"{_VIDEO}/{video.episode}"


class TensorBoard:
    """A logger that writes event files for TensorBoard into a folder.

    A driver that resumes from a checkpoint writes into the same folder. TensorBoard then hides the lost driver's values
    after the resume point.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder. Raises InvalidOption if the folder can never be written to.

        If the volume is full or fails, :meth:`log_metrics` tries again.
        """
        try:
            _check_writable(folder)
        except OSError as error:
            if not is_temporary(error):
                raise InvalidOption(
                    f"driver.log.tensorboard: nothing can be written below {folder} ({error.strerror}); name a folder "
                    "on a volume that driver.template mounts"
                ) from error
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        with self._writer_at(step) as writer:
            for name, value in metrics.items():
                writer.add_scalar(name, value, step)

    def log_episode(self, video: EpisodeVideo) -> None:
        """Add the video to TensorBoard's images as a GIF, because TensorBoard shows no WebP.

        The method does not use torch's writer of videos, which needs moviepy.
        """
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-untyped]

        from collectorfleet.codec.video import gif, size_of

        width, height = size_of(video.data)
        image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=gif(video.data))
        summary = Summary(value=[Summary.Value(tag=_name_of(video), image=image)])
        with self._writer_at(video.frames) as writer:
            file_writer: Any = writer.file_writer  # untyped
            file_writer.add_summary(summary, video.frames)

    @contextmanager
    def _writer_at(self, step: int) -> Iterator[SummaryWriter]:
        """Yield the writer. Raises an OSError that names the folder.

        A failed writer would raise the same error at each later call, so the next call opens a new file.
        """
        try:
            if self._writer is None:
                # Check this before the writer creates its file: on a full volume each try would leave an empty file.
                _check_writable(self._folder)
                # This import takes half a second, and delays nothing in this thread.
                from torch.utils.tensorboard import SummaryWriter

                self._writer = SummaryWriter(str(self._folder), purge_step=step, flush_secs=_FLUSH_SECONDS)
            yield self._writer
        except OSError as error:
            self._writer = None
            name_path(error, self._folder)
            raise

    def close(self) -> None:
        """Close the writer. Raises an OSError that names the folder."""
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.close()
        except OSError as error:
            name_path(error, self._folder)
            raise


def _check_writable(folder: Path) -> None:
    """Make the folder if it is missing. Raise OSError if the folder cannot be made or written."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / ".written"
    try:
        probe.write_bytes(bytes(_PROBE_BYTES))
    finally:
        probe.unlink(missing_ok=True)


def _of_the_user(factory: Factory) -> Logger:
    logger = build("driver.log.logger", factory)
    if not hasattr(logger, "log_metrics"):
        raise UserCodeError(
            f"driver.log.logger {factory.factory}",
            (
                f"the factory returned {with_article(type(logger).__name__)}, which has no log_metrics(); return a "
                "torchrl.record.loggers.Logger"
            ),
        )
    found: Logger = logger
    return found
