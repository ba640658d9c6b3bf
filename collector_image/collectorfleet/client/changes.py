"""What changes of fleets, as a watch of the API server tells it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError

from collectorfleet.client.fleet_requests import FleetRequests, Object, Selection
from collectorfleet_api.v1alpha1 import CollectorFleet

# A watch is opened again this often at least, so that one that hangs unnoticed costs no more.
WATCH_SECONDS: Final = 60
# A server that ends each watch at once is not asked more often.
_LEAST_SECONDS: Final = 1.0
_GONE: Final = 410  # the version that a watch is to go on from is too old


@dataclass(frozen=True)
class Change:
    """A fleet as it is now; of one that was deleted, as it was last."""

    fleet: CollectorFleet
    is_deleted: bool = False


class Known:
    """The fleets that were seen so far, to tell what a later list changes. Pure."""

    def __init__(self) -> None:
        self._by_uid: dict[str | None, CollectorFleet] = {}

    def update(self, fleets: Sequence[CollectorFleet]) -> list[Change]:
        """Return what differs from the fleets before: changed and new ones, then those that are gone."""
        now = {fleet.metadata.uid: fleet for fleet in fleets}
        gone = [Change(fleet, is_deleted=True) for uid, fleet in self._by_uid.items() if uid not in now]
        changed = [Change(fleet) for uid, fleet in now.items() if not self._has(uid, fleet)]
        self._by_uid = now
        return changed + gone

    def apply(self, change: Change) -> None:
        """Take up one change."""
        uid = change.fleet.metadata.uid
        if change.is_deleted:
            self._by_uid.pop(uid, None)
        else:
            self._by_uid[uid] = change.fleet

    def _has(self, uid: str | None, fleet: CollectorFleet) -> bool:
        before = self._by_uid.get(uid)
        return before is not None and before.metadata.resource_version == fleet.metadata.resource_version


def changes(
    requests: FleetRequests, selection: Selection, parsed: Callable[[Object], CollectorFleet]
) -> Iterator[list[Change]]:
    """Yield all fleets of the selection, then each change.

    A watch that ends, or that is too old to go on, is followed by a list: it has what was missed.
    """
    known, is_first = Known(), True
    while True:
        stored, version = requests.list(selection)
        if (found := known.update([parsed(one) for one in stored])) or is_first:
            yield found
        is_first, began = False, time.monotonic()
        for event in _events(requests, selection, version):
            change = Change(parsed(event["object"]), is_deleted=event["type"] == "DELETED")
            known.apply(change)
            yield [change]
        time.sleep(max(0.0, began + _LEAST_SECONDS - time.monotonic()))


def _events(requests: FleetRequests, selection: Selection, version: str) -> Iterator[dict[str, Any]]:
    with requests.explained():
        try:
            yield from requests.watch(selection, version, WATCH_SECONDS)
        except ApiException as error:
            if error.status != _GONE:
                raise


def await_change(requests: FleetRequests, fleet: CollectorFleet, seconds: float) -> None:
    """Block until the fleet is another than this one, or for so long. An outage ends it, too, after up to 1 s."""
    selection, version = Selection(name=fleet.metadata.name), fleet.metadata.resource_version or ""
    try:
        next(requests.watch(selection, version, min(seconds, WATCH_SECONDS)), None)
    except (ApiException, HTTPError, ValueError):
        time.sleep(min(1.0, max(seconds, 0.0)))  # what it was about, the next request says
