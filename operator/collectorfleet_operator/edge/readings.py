"""A cache of parsed fleets. It parses each version of a fleet and of its driver's Job once.

Most reconciles need the version that the previous reconcile has already parsed. The budget for memory counts bytes of
text. A model and its manifests take up to 28 times the memory of their text.
"""

from __future__ import annotations

import contextlib
import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from collectorfleet_api.rules.followed import as_run, with_live_fields
from collectorfleet_api.rules.validation import problems, read_stored
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.driver_job import spec_of_job
from collectorfleet_operator.objects import (
    Key,
    Object,
    controller_uid,
    is_terminating,
    metadata,
    name_of,
    namespace_of,
    uid_of,
    why_unreadable,
)

# About 120 MB of models and manifests: 1,200 fleets of four pods, or two fleets of the largest size that an API server
# stores.
BUDGET_BYTES: Final = 4 * 2**20

_Version = tuple[str, ...]


@dataclass
class _Reading:
    """The newest parsed version of one fleet, and of its driver's Job."""

    version: _Version
    fleet: tuple[CollectorFleet, Sequence[str]] | None
    text_bytes: int
    job_version: _Version | None = None
    running: CollectorFleet | None = None


class Readings:
    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        self._budget_bytes = budget_bytes
        self._text_bytes = 0
        self._readings: OrderedDict[Key, _Reading] = OrderedDict()  # least recently used first

    def read(
        self, stored: Object, driver_job: Callable[[], Object | None]
    ) -> tuple[CollectorFleet, Sequence[str]] | None:
        """Return the stored fleet and its problems in sentences.

        If the stored fleet cannot be parsed, return the fleet with the spec of its driver. Return None if there is no
        driver.
        """
        found = self._reading(stored).fleet
        if found is not None:
            return found
        present = self.running(stored, driver_job())
        return None if present is None else (present, problems_of(stored))

    def running(self, stored: Object, job: Object | None) -> CollectorFleet | None:
        """Return the fleet with the spec that its driver's Job runs, or None without a Job of this fleet.

        If the Job runs the stored spec and the spec has no problems, this is the same model as from ``read``.
        """
        reading, version = self._reading(stored), _version(job)
        if reading.job_version != version:
            fleet = None if reading.fleet is None or reading.fleet[1] else reading.fleet[0]
            reading.running, reading.job_version = _running(stored, job, fleet), version
        return reading.running

    def forget(self, fleet: Key) -> None:
        """Drop the parsed versions of a fleet."""
        reading = self._readings.pop(fleet, None)
        if reading is not None:
            self._text_bytes -= reading.text_bytes

    def _reading(self, stored: Object) -> _Reading:
        key, version = Key(namespace_of(stored), name_of(stored)), _version(stored)
        found = self._readings.get(key)
        if found is not None and found.version == version:
            self._readings.move_to_end(key)
            return found
        self.forget(key)
        found = _Reading(version, _parsed(stored), len(json.dumps(stored)))
        self._readings[key] = found
        self._text_bytes += found.text_bytes
        while self._text_bytes > self._budget_bytes and len(self._readings) > 1:
            self.forget(next(iter(self._readings)))
        return found


def problems_of(stored: Object) -> list[str]:
    """Return why a stored fleet cannot be read, in sentences, or an empty list if the fleet can be read."""
    unreadable = why_unreadable(stored)
    if unreadable is not None:
        return [unreadable]
    found = read_stored(stored)
    return [str(problem) for problem in found] if isinstance(found, list) else []


def _version(obj: Object | None) -> _Version:
    return () if obj is None else (uid_of(obj), str(metadata(obj)["resourceVersion"]))


def _parsed(stored: Object) -> tuple[CollectorFleet, Sequence[str]] | None:
    if why_unreadable(stored) is None:
        with contextlib.suppress(ValidationError):
            fleet = CollectorFleet.parse_stored(stored)
            return fleet, [str(problem) for problem in problems(fleet)]
    return None


def _running(stored: Object, job: Object | None, fleet: CollectorFleet | None) -> CollectorFleet | None:
    if job is None or controller_uid(job) != uid_of(stored) or is_terminating(job):
        return None
    spec = spec_of_job(job)
    if not spec:
        return None
    if fleet is not None and with_live_fields(spec, stored.get("spec")) == fleet.spec.to_wire():
        return fleet
    found = as_run(stored, spec)
    return found if isinstance(found, CollectorFleet) else None
