"""One look at one fleet: observe, plan, carry out, write the status, tell what happened."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import ValidationError

from collectorfleet_api import names
from collectorfleet_api.rules.validation import read_stored
from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetStatus, OperatorStatus, Reason
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.table import CHILDREN
from collectorfleet_operator.decide import events
from collectorfleet_operator.decide.actions import Action, Create, Delete, Update
from collectorfleet_operator.decide.observed import Observed, Refused, Warned
from collectorfleet_operator.decide.plan import plan
from collectorfleet_operator.decide.status import invalid, status
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import ConflictError, NotFoundError, NotServedError, RefusedError
from collectorfleet_operator.edge.observe import observe
from collectorfleet_operator.edge.status_writer import StatusWriter
from collectorfleet_operator.objects import (
    Key,
    Kind,
    Object,
    controller_uid,
    is_terminating,
    metadata,
    name_of,
    namespace_of,
    uid_of,
)

log = logging.getLogger(__name__)

# What the API server refused may be allowed by then: a quota, a webhook, a foreign object that was in the way.
RETRY_REFUSED_SECONDS: Final = 10.0


@dataclass
class Result:
    """What became of a plan."""

    made: list[events.Change] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    kuberay_installed: bool = True


class Reconciler:
    def __init__(self, kube: Kube, cache: Cache, now: Callable[[], datetime]) -> None:
        self._kube = kube
        self._cache = cache
        self._now = now
        self._status = StatusWriter(kube)
        self._said: dict[Key, Sequence[Refused]] = {}
        # About children of fleets that are not ready; kept up to date by the resync.
        self.warnings: dict[Key, list[Warned]] = {}

    async def reconcile(self, key: Key) -> float | None:
        """Bring one fleet a step on. Returns the seconds after which to look again if nothing happens until then."""
        stored = self._cache.get(FLEET, key)
        if stored is None:
            self.warnings.pop(key, None)
            self._said.pop(key, None)
            return None
        if is_terminating(stored):
            return None
        try:
            fleet = CollectorFleet.parse_stored(stored)
        except ValidationError:
            await self._say_unreadable(key, stored)
            return None
        result = await self._carry_out(key, plan(self._observe(key, fleet)))
        seen = self._observe(key, fleet, result)
        await self._write(key, stored, seen, status(seen, self._now()), result.made)
        self._log_refused(key, result.refused)
        return RETRY_REFUSED_SECONDS if result.refused else None

    def _observe(self, key: Key, fleet: CollectorFleet, result: Result | None = None) -> Observed:
        return observe(
            self._cache,
            key,
            fleet,
            kuberay_installed=result.kuberay_installed if result else True,
            refused=result.refused if result else (),
            warnings=self.warnings.get(key, ()),
        )

    async def _carry_out(self, key: Key, actions: list[Action]) -> Result:
        result = Result()
        for action in actions:
            try:
                await self._do(key, action, result)
            except NotServedError:
                result.kuberay_installed = False
                break
            except RefusedError as error:
                result.refused.append(Refused(action.kind, Reason.REFUSED, str(error)))
                break
            if result.refused:
                break
        return result

    async def _do(self, key: Key, action: Action, result: Result) -> None:
        match action:
            case Create(kind, manifest, why):
                await self._create(key, kind, manifest, why, result)
            case Update(kind, manifest, uid, why):
                # With its uid, one that was replaced meanwhile is not touched, and one that is gone not made again.
                body = {**manifest, "metadata": {**manifest["metadata"], "uid": uid}}
                self._cache.put(kind, await self._kube.apply(kind, body))
                log.info("%s: updated %s", key, why)
            case Delete(kind, name, uid, why):
                await self._kube.delete(kind, Key(key.namespace, name), uid)
                log.info("%s: deleted %s", key, why)

    async def _create(self, key: Key, kind: Kind, manifest: Object, why: str, result: Result) -> None:
        name = name_of(manifest)
        # Server-side apply cannot be told to create only, and would take over what somebody else made.
        there = await self._kube.find(kind, namespace_of(manifest), name)
        if there is not None:
            owner = next((one for one in metadata(there).get("ownerReferences") or [] if one.get("controller")), None)
            if owner is None or (owner["kind"], owner["name"]) != (names.KIND, key.name):
                text = f"{kind} {name} exists and is not this fleet's; delete it, or give the fleet another name"
                result.refused.append(Refused(kind, Reason.NAME_TAKEN, text))
                return
            self._cache.put(kind, there)
            mine = metadata(manifest)["ownerReferences"][0]["uid"]
            raise ConflictError(f"create {kind} {key}", _stands_there(there, mine))
        made = await self._kube.apply(kind, manifest)
        self._cache.put(kind, made)
        log.info("%s: created %s", key, why)
        if CHILDREN[kind].announced:
            result.made.append(events.made(why, uid_of(made)))

    async def _say_unreadable(self, key: Key, stored: Object) -> None:
        found = read_stored(stored)
        problems = [str(problem) for problem in found] if isinstance(found, list) else []
        before = CollectorFleetStatus.from_wire(stored.get("status") or {}, ignore_unknown=True)
        new = invalid(problems, before, int(metadata(stored)["generation"]), self._now())
        written = await self._status.write(key, stored, new)
        if written is not None:
            log.warning("%s: %s: %s", key, Reason.INVALID_SPEC, "; ".join(problems))
            self._cache.put(FLEET, written)

    async def _write(
        self, key: Key, stored: Object, seen: Observed, new: OperatorStatus, made: list[events.Change]
    ) -> None:
        before = seen.fleet.status.conditions if seen.fleet.status else []
        # Told before it is written: a status that is written twice is one, a change that nobody saw is never told.
        for change in [*made, *events.story(before, new)]:
            await self._tell(key, events.event(seen.fleet, change, self._now()))
        try:
            written = await self._status.write(key, stored, new)
        except NotFoundError:
            return
        if written is not None:
            self._cache.put(FLEET, written)

    async def _tell(self, key: Key, event: Object) -> None:
        try:
            await self._kube.create(events.EVENT, event)
        except ConflictError:
            return
        except (RefusedError, NotFoundError) as error:
            # In a namespace that is being deleted, for one.
            log.warning("%s: event %s was not taken: %s", key, event["reason"], error)
        if event["reason"] != Reason.CREATED:
            log.info("%s: %s: %s", key, event["reason"], event["message"])

    def _log_refused(self, key: Key, refused: Sequence[Refused]) -> None:
        if refused and self._said.get(key) != refused:
            log.warning("%s: %s", key, refused[0].message)
        self._said[key] = refused


def _stands_there(there: Object, mine: str) -> str:
    if controller_uid(there) == mine:
        return "it exists already"
    return "one of an earlier fleet of this name is being deleted"
