"""Write the videos of a run's episodes to a folder."""

from __future__ import annotations

from pathlib import Path

from collectorfleet.durable_files import write
from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.timeline.videos import FOLDER, name_of, prefix_of
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, EvaluationStatus


def video_folder(spec: CollectorFleetSpec, checkpoints: Path | None, scratch: Path | None = None) -> Path | None:
    """Return the folder for the videos of a run: beside the run's checkpoints, else in its output, else in ``scratch``.

    ``collectorfleet report`` reads the timeline and the videos beside the checkpoints. Return None if the spec requests
    no videos, or if the run has none of these folders.
    """
    if spec.evaluation is None or spec.evaluation.video is None:
        return None
    # With a training function, the run has no output.
    output = Path(spec.output.path).absolute() if spec.output is not None and spec.driver.train is None else None
    parent = checkpoints or output or scratch
    return None if parent is None else parent / FOLDER


class VideoFolder:
    """The folder at ``path``. The first video creates it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._newest: Path | None = None

    def log_video(self, video: EpisodeVideo) -> None:
        """Write the video to a file, atomically. Raises OSError."""
        self._path.mkdir(parents=True, exist_ok=True)
        file = self._path / name_of(video.version, video.episode, video.episode_return)
        write(file, lambda out: out.write(video.data))
        # A resumed driver may evaluate a version again. The return may then differ from the return in the earlier
        # file's name.
        for earlier in self._path.glob(f"{prefix_of(video.version, video.episode)}*"):
            if earlier != file:
                earlier.unlink(missing_ok=True)
        self._newest = file

    def named_in(self, evaluation: EvaluationStatus) -> EvaluationStatus:
        """Return ``evaluation`` with the path of the newest video. Any thread may call it."""
        if evaluation.video is None or self._newest is None:
            return evaluation
        return evaluation.model_copy(update={"video": evaluation.video.model_copy(update={"path": str(self._newest)})})
