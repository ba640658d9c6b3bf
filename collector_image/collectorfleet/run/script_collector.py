"""Build the FleetCollector of a script: with the script's arguments, and with the collectors of the fleet."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any, Final

from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.run.collector_setup import CollectorSetup
from collectorfleet.run.evaluation_options import evaluation_of_script
from collectorfleet.run.resume_point import ResumePoint
from collectorfleet.run.run_collector import RunCollector
from collectorfleet_api.packing.shares import divides, fewer
from collectorfleet_api.v1alpha1 import CollectorFleetSpec

log = logging.getLogger(__name__)

# Arguments for which the manifest's values override the script's.
_OF_THE_FLEET: Final = (
    *("num_collectors", "min_available", "threads_per_collector", "remote_configs", "groups"),
    *("transport", "launcher"),
    *("request_timeout", "first_request_timeout", "available_timeout", "on_environment_error"),
)
# Arguments for starting Ray and for resuming. The driver does both, so the script's values are ignored.
_OF_THE_RUN: Final = ("ray_init_config", "resume_from")

_SIGNATURE: Final = inspect.signature(FleetOptions)


class ScriptCollectors:
    """Creates the collector of one run when the script calls FleetCollector. The script may call it once."""

    def __init__(
        self,
        spec: CollectorFleetSpec,
        built: dict[str, Any],
        making: CollectorSetup,
        fleets: dict[str, Any],
        made: Callable[[RunCollector, ResumePoint], None],
    ) -> None:
        """``built`` has the objects that factories of the manifest build, such as the failure policy and the scaling
        policy. ``fleets`` has the other arguments of the manifest. ``made`` is called with the new collector.
        """
        self._spec = spec
        self._built = built
        self._making = making
        self._fleets = fleets
        self._made = made
        self._has_collector = False

    def type(self) -> type[FleetCollector]:
        """Return the class that replaces ``collectorfleet.FleetCollector`` while the script runs."""
        collectors = self

        class ScriptCollector(RunCollector):
            __doc__ = FleetCollector.__doc__

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                given = collectors.arguments_of(args, kwargs)
                collectors.begin(given)
                resume = collectors.resume_point(given)
                options = collectors.options(given, resume)
                super().__init__(collectors.boundary, resume.position.frames_lost, **options)
                collectors.finish(self, resume)

        ScriptCollector.__name__ = ScriptCollector.__qualname__ = FleetCollector.__name__
        ScriptCollector.__signature__ = inspect.signature(FleetCollector)
        return ScriptCollector

    @property
    def boundary(self) -> Any:
        return self._making.boundary

    def arguments_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the script's arguments by name. Raises TypeError as FleetCollector does."""
        try:
            return dict(_SIGNATURE.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"FleetCollector() {error}") from None

    def begin(self, given: dict[str, Any]) -> None:
        """Log ignored arguments, and restore the modules. Raises InvalidOption if the run already has a collector."""
        if self._has_collector:
            raise InvalidOption(
                "FleetCollector: the script already has a FleetCollector with all collectors of the fleet; use "
                "TorchRL's own Collector for other purposes, such as an evaluation"
            )
        self._has_collector = True
        for name in (*_OF_THE_FLEET, *_OF_THE_RUN):
            if name in given:
                log.info("%s: the script's values are ignored, because the fleet's manifest sets them", name)
        self._making.restore(given)

    def resume_point(self, given: dict[str, Any]) -> ResumePoint:
        total = given.get("total_frames", -1)
        return self._making.resume_point(
            None, total if total > 0 else None, buffer_begins_empty=given.get("replay_buffer") is not None
        )

    def options(self, given: dict[str, Any], resume: ResumePoint) -> dict[str, Any]:
        """Return the arguments of the collector. The fleet's arguments override the script's."""
        own = {name: self._fleets[name] for name in _OF_THE_FLEET if name in self._fleets}
        scripts = {name: value for name, value in given.items() if name not in _OF_THE_FLEET}
        found = scripts | own | self._built | {"resume_from": self._making.resume_from(resume.position)}
        found.pop("ray_init_config", None)
        found["evaluation"] = evaluation_of_script(given.get("evaluation"), self._fleets.get("evaluation"))
        found["num_collectors"] = _collectors_at_first(given, found["num_collectors"])
        return found

    def finish(self, collector: RunCollector, resume: ResumePoint) -> None:
        self._making.made(collector, self._spec.collectors.replicas)
        self._made(collector, resume)


def _collectors_at_first(given: dict[str, Any], replicas: int) -> int:
    """Return the number of collectors at the start.

    If ``replicas`` collectors cannot divide a batch evenly, for example after scaling, the number is less than
    ``replicas``. The fleet is then resized to ``replicas``.
    """
    one_process = given.get("collector_class", "single") in ("single", FleetOptions.collector_class)
    if not given.get("sync") or given.get("shares") or given.get("first_shares") or not one_process:
        return replicas
    frames, together = given["frames_per_batch"], given.get("envs_per_collector", 1)
    if frames % together or divides(frames, replicas, together):
        return replicas  # if no number divides the batch, FleetCollector raises an error with the script's numbers
    return fewer(frames, replicas, together)
