"""Stored fleets as models: read once for each version of a fleet and of its driver's Job.

Most looks at a fleet follow one another within seconds and find the same fleet. Models are much larger than the text
that the cache keeps, so only those of the fleets that were looked at last are kept.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from pydantic import ValidationError

from collectorfleet_api.rules.followed import as_run, with_followed
from collectorfleet_api.rules.validation import problems, read_stored
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.driver_job import started_with
from collectorfleet_operator.objects import Object, controller_uid, is_terminating, metadata, uid_of, why_unreadable

_MOST_FLEETS: Final = 64

_Read = TypeVar("_Read")
_Version = tuple[str, ...]


class Readings:
    def __init__(self) -> None:
        self._fleets: _Last[tuple[CollectorFleet, Sequence[str]] | None] = _Last()
        self._running: _Last[CollectorFleet | None] = _Last()

    def read(
        self, stored: Object, driver_job: Callable[[], Object | None]
    ) -> tuple[CollectorFleet, Sequence[str]] | None:
        """The stored fleet, with what is wrong with it in sentences; one that cannot be read as its driver runs it.

        None if it cannot be read and nothing of it runs.
        """
        found = self._fleets.get(_version(stored), lambda: _parsed(stored))
        if found is not None:
            return found
        present = self.running(stored, driver_job())
        return None if present is None else (present, problems_of(stored))

    def running(self, stored: Object, job: Object | None) -> CollectorFleet | None:
        """The fleet as its driver's Job runs it, whatever is stored by now; None without a Job of this fleet.

        That is mostly the stored one, if it has no problems, and then that very one.
        """
        found = self._fleets.get(_version(stored), lambda: _parsed(stored))
        fleet = None if found is None or found[1] else found[0]
        return self._running.get((*_version(stored), *_version(job)), lambda: _running(stored, job, fleet))


class _Last(Generic[_Read]):
    """What was read last, by version."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Version, _Read] = OrderedDict()

    def get(self, version: _Version, read: Callable[[], _Read]) -> _Read:
        if version not in self._kept:
            self._kept[version] = read()
            if len(self._kept) > _MOST_FLEETS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(version)
        return self._kept[version]


def problems_of(stored: Object) -> list[str]:
    """What is wrong with a stored fleet, in sentences."""
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
    spec = started_with(job)
    if not spec:
        return None
    if fleet is not None and with_followed(spec, stored.get("spec")) == fleet.spec.to_wire():
        return fleet
    found = as_run(stored, spec)
    return found if isinstance(found, CollectorFleet) else None
