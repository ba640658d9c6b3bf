"""Open the log of a run from its manifest: the loggers for metrics, and the sinks for videos."""

from __future__ import annotations

from collections.abc import Callable

from collectorfleet.run.log.loggers import open_loggers, video_sinks
from collectorfleet.run.log.run_log import RunLog
from collectorfleet.run.video_folder import VideoFolder
from collectorfleet_api.times import duration
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport, Log


def open_run_log(fleet: CollectorFleet, report: Callable[[], DriverReport], videos: VideoFolder | None) -> RunLog:
    """Return the log of a run.

    The log sends metrics and videos to the loggers of ``driver.log``, and videos also to ``videos``.

    Raises InvalidOption if a folder cannot be written, and UserCodeError if the user's factory raises.
    """
    asked = fleet.spec.driver.log or Log()
    loggers = open_loggers(asked, fleet.metadata.name)
    sinks = video_sinks(loggers)
    if videos is not None:
        sinks["the folder of videos"] = videos.log_video
    return RunLog(loggers, report, every_seconds=duration(asked.every_seconds).total_seconds(), video_sinks=sinks)
