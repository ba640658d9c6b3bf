"""Write the videos of a run's episodes to a folder."""

from __future__ import annotations

from pathlib import Path

from collectorfleet.errors import FolderTakenOver
from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.folders import make
from collectorfleet.timeline.videos import FOLDER, name_of, prefix_of
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, EvaluationStatus


def video_folder(spec: CollectorFleetSpec, checkpoints: Path | None, scratch: Path | None = None) -> Path | None:
    """Return the folder for the videos of a run: beside the run's checkpoints, else in its output, else in ``scratch``.

    ``collectorfleet report`` reads the timeline and the videos beside the checkpoints. Return None if neither the spec
    nor a script can request videos, or if the run has none of these folders.
    """
    if spec.evaluation is None or (spec.evaluation.video is None and spec.driver.script is None):
        return None
    # With a training function, the run has no output.
    output = Path(spec.output.path).absolute() if spec.output is not None and spec.driver.train is None else None
    parent = checkpoints or output or scratch
    return None if parent is None else parent / FOLDER


class VideoFolder:
    """The folder at ``path``. Only the newest driver can change it."""

    def __init__(self, path: Path) -> None:
        """Make the folder and become its driver. Raises FolderTakenOver if a newer driver takes the folder now.

        After an OSError the run continues, and :meth:`log_video` tries again.
        """
        self._path = path
        self._newest: Path | None = None
        self._files = FencedFolder(path)
        self._problem: OSError | None = None
        try:
            make(path)
            self._files.take()
        except OSError as error:
            self._problem = error

    def log_video(self, video: EpisodeVideo) -> None:
        """Write the video to a file, atomically. Blocks until it is on disk. Raises FolderTakenOver or OSError."""
        make(self._path)  # somebody may have removed the folder
        if self._problem is not None:
            self._try_again(self._problem)
        name = name_of(video.version, video.episode, video.episode_return)
        with self._files.publishing(name) as place:
            place.write_bytes(video.data)
        # A resumed driver may evaluate a version again. The return may then differ from the return in the earlier
        # file's name.
        for earlier in self._path.glob(f"{prefix_of(video.version, video.episode)}*"):
            if earlier.name != name:
                self._files.remove(earlier.name)
        self._newest = self._path / name

    def _try_again(self, problem: OSError) -> None:
        """Become the folder's driver after ``problem``. Raises ``problem`` if another driver is in the folder."""
        try:
            self._files.check()
        except FolderTakenOver:
            # The other driver may be earlier or newer than this driver. Only a newer driver may take the folder.
            raise problem from None
        self._problem = None

    def named_in(self, evaluation: EvaluationStatus) -> EvaluationStatus:
        """Return ``evaluation`` with the path of the newest video. Any thread may call it."""
        if evaluation.video is None or self._newest is None:
            return evaluation
        return evaluation.model_copy(update={"video": evaluation.video.model_copy(update={"path": str(self._newest)})})
