"""Changes of fleets, read by a watch of the API server."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError

from collectorfleet.client.connection import without_retries
from collectorfleet.client.fleet_requests import FleetRequests, Selection
from collectorfleet.client.stored_fleets import parsed_if_readable
from collectorfleet_api.v1alpha1 import CollectorFleet

# The longest duration of a watch. If a watch hangs unnoticed, changes are delayed by at most this time.
WATCH_SECONDS: Final = 60
# Limits the rate of list requests if a server ends each watch at once.
_LEAST_SECONDS: Final = 1.0
_GONE: Final = 410  # the resource version of the watch is too old


@dataclass(frozen=True)
class Change:
    """A fleet after a change. If the fleet was deleted, ``fleet`` is its last state."""

    fleet: CollectorFleet
    is_deleted: bool = False


class Known:
    """The fleets that the client has seen. :meth:`update` compares a later list with these fleets. Pure."""

    def __init__(self) -> None:
        self._by_uid: dict[str | None, CollectorFleet] = {}

    def update(self, fleets: Sequence[CollectorFleet], unreadable: Collection[str | None] = ()) -> list[Change]:
        """Replace the known fleets. Return the changed and new fleets, then the deleted fleets.

        ``unreadable`` has the uids of fleets that cannot be read. If such a fleet is known, its known state stays.
        """
        kept = {uid: fleet for uid, fleet in self._by_uid.items() if uid in unreadable}
        now = kept | {fleet.metadata.uid: fleet for fleet in fleets}
        gone = [Change(fleet, is_deleted=True) for uid, fleet in self._by_uid.items() if uid not in now]
        changed = [Change(fleet) for uid, fleet in now.items() if not self._has(uid, fleet)]
        self._by_uid = now
        return changed + gone

    def apply(self, change: Change) -> None:
        """Apply one change to the known fleets."""
        uid = change.fleet.metadata.uid
        if change.is_deleted:
            self._by_uid.pop(uid, None)
        else:
            self._by_uid[uid] = change.fleet

    def _has(self, uid: str | None, fleet: CollectorFleet) -> bool:
        before = self._by_uid.get(uid)
        return before is not None and before.metadata.resource_version == fleet.metadata.resource_version


def changes(requests: FleetRequests, selection: Selection) -> Iterator[list[Change]]:
    """Yield all fleets of the selection, then each change.

    After each watch, the client lists the fleets again. The list contains the changes that the watch missed. A
    UserWarning names each fleet that cannot be read.
    """
    known, is_first = Known(), True
    while True:
        stored, version = requests.list(selection)
        read = [(one, parsed_if_readable(one)) for one in stored]
        unreadable = [_uid(one) for one, fleet in read if fleet is None]
        if (found := known.update([fleet for _, fleet in read if fleet is not None], unreadable)) or is_first:
            yield found
        is_first, began = False, time.monotonic()
        for event in _events(requests, selection, version):
            fleet = parsed_if_readable(event["object"])
            if fleet is None:
                continue
            change = Change(fleet, is_deleted=event["type"] == "DELETED")
            known.apply(change)
            yield [change]
        time.sleep(max(0.0, began + _LEAST_SECONDS - time.monotonic()))


def _uid(stored: object) -> str | None:
    metadata = stored.get("metadata") if isinstance(stored, dict) else None
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return uid if isinstance(uid, str) else None


def _events(requests: FleetRequests, selection: Selection, version: str) -> Iterator[dict[str, Any]]:
    with requests.as_cluster_errors():
        try:
            yield from requests.watch(selection, version, WATCH_SECONDS)
        except ApiException as error:
            if error.status != _GONE:
                raise


def await_change(requests: FleetRequests, fleet: CollectorFleet, seconds: float) -> None:
    """Block until the fleet changes, but at most for ``seconds`` or 60 s, whichever is shorter.

    If the API server accepts the request and then hangs, the call blocks for up to 4 s longer. If ``seconds`` is less
    than 1, or if the request fails, the call blocks for up to 1 s longer.
    """
    selection, version = Selection(name=fleet.metadata.name), fleet.metadata.resource_version or ""
    try:
        with without_retries():
            next(requests.watch(selection, version, min(seconds, WATCH_SECONDS)), None)
    except (ApiException, HTTPError, ValueError):
        time.sleep(min(1.0, max(seconds, 0.0)))  # the caller's next request raises a lasting error
