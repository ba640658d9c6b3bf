"""Carries out the actions of a plan in order, until one of them fails."""

from __future__ import annotations

import base64
import contextlib
import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Reason
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.table import COLLECTORS_CHILD, RAYCLUSTER_CHILD, ChangeSource, child_named
from collectorfleet_operator.decide.actions import Action, Create, CreateSecret, Delete, SetStatus, Update
from collectorfleet_operator.decide.events import Change, deleted, made
from collectorfleet_operator.decide.situation import Refused
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import (
    ConflictError,
    KubeError,
    NotLeadingError,
    NotServedError,
    RefusedError,
    UnavailableError,
)
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

_TOKEN_BYTES: Final = 32
_HOLD_COLLECTORS: Final = (RAYCLUSTER_CHILD, COLLECTORS_CHILD)


@dataclass(frozen=True)
class Result:
    """The result of a plan. ``interrupted`` is the error that ended the plan early, if a retry may solve this error.

    If a write failed and is retried, ``refused`` has the write, too, so that the status reports the failure.
    ``has_foreign_changes``: an answer has a change by another client. The cache already has the answer, so the later
    watch event of this change triggers no reconcile.
    """

    changes: Sequence[Change] = ()
    has_foreign_changes: bool = False
    refused: Sequence[Refused] = ()
    kuberay_installed: bool = True
    interrupted: KubeError | None = None


class Executor:
    """Writes children, and puts the answers of the API server into the cache."""

    def __init__(self, kube: Kube, cache: Cache) -> None:
        self._kube = kube
        self._cache = cache

    async def carry_out(self, key: Key, actions: Iterable[Action]) -> Result:
        changes: list[Change] = []
        has_foreign_changes = False
        for action in actions:
            try:
                if isinstance(action, Update):
                    has_foreign_changes |= await self._update(key, action)
                    continue
                became = await self._do(key, action)
            except NotServedError as error:
                if action.kind != RAYCLUSTER:
                    return Result(changes, has_foreign_changes, interrupted=error)
                return Result(changes, has_foreign_changes, kuberay_installed=False)
            except RefusedError as error:
                became = Refused(action.kind, Reason.REFUSED, str(error), _holds_collectors(key, action))
            except KubeError as error:
                return Result(changes, has_foreign_changes, _failed(key, action, error), interrupted=error)
            if isinstance(became, Refused):
                return Result(changes, has_foreign_changes, [became])
            if became is not None:
                changes.append(became)
        return Result(changes, has_foreign_changes)

    async def _do(self, key: Key, action: Action) -> Change | Refused | None:
        match action:
            case Create(kind, manifest, why):
                return await self._create(key, kind, manifest, why)
            case CreateSecret(kind, manifest, field, why):
                await self._create_secret(key, kind, manifest, field, why)
            case SetStatus(kind, stored, status, why):
                self._cache.put(kind, await self._kube.set_status(kind, stored, status))
                log.info("%s: %s", key, why)
            case Delete(kind, name, uid, why, force, grace, announced):
                await self._kube.delete(kind, Key(key.namespace, name), uid, force=force, grace_seconds=grace)
                child = child_named(kind, name, key.name)
                if child is not None and child.change_source is not ChangeSource.WATCHED:
                    self._forget(kind, Key(key.namespace, name))
                log.info("%s: deleted %s", key, why)
                return deleted(why, uid) if (announced if child is None else child.announced) else None
        return None

    async def _update(self, key: Key, action: Update) -> bool:
        """Apply an update. Return whether the answer has changes by others: another status, or a deletion."""
        # With the uid, the request neither changes an object that replaced the child nor creates a deleted child again.
        body = {**action.manifest, "metadata": {**action.manifest["metadata"], "uid": action.uid}}
        answer = await self._kube.apply(action.kind, body)
        at = Key(key.namespace, name_of(answer))
        before = self._cache.get(action.kind, at)
        self._cache.put(action.kind, answer)
        log.info("%s: updated %s", key, action.why)
        return _by_others(before) != _by_others(self._cache.get(action.kind, at))

    def _forget(self, kind: Kind, key: Key) -> None:
        """Remove a deleted child of an unwatched kind from the cache. No decision waits for the end of such a child."""
        stored = self._cache.get(kind, key)
        if stored is not None:
            self._cache.remove(kind, stored, by_us=True)

    async def _create_secret(self, key: Key, kind: Kind, manifest: Object, field: str, why: str) -> None:
        token = base64.b64encode(secrets.token_hex(_TOKEN_BYTES).encode()).decode()
        with contextlib.suppress(ConflictError):
            await self._kube.create(kind, {**manifest, "data": {field: token}})
            log.info("%s: created %s", key, why)

    async def _create(self, key: Key, kind: Kind, manifest: Object, why: str) -> Change | Refused | None:
        try:
            child = await self._kube.apply_new(kind, manifest)
        except ConflictError:
            there = await self._kube.find(kind, namespace_of(manifest), name_of(manifest))
            if there is None:
                raise  # the other object is deleted by now
            return self._refuse_existing(key, kind, manifest, there)
        self._cache.put(kind, child)
        log.info("%s: created %s", key, why)
        row = child_named(kind, name_of(manifest), key.name)
        return made(why, uid_of(child)) if row is not None and row.announced else None

    def _refuse_existing(self, key: Key, kind: Kind, manifest: Object, there: Object) -> Refused:
        if not _belongs_to_a_fleet_named(there, key.name):
            text = (
                f"{kind} {name_of(manifest)} exists and does not belong to this fleet; delete the object, or give the "
                "fleet another name"
            )
            row = child_named(kind, name_of(manifest), key.name)
            return Refused(kind, Reason.NAME_TAKEN, text, row in _HOLD_COLLECTORS)
        self._cache.put(kind, there)
        mine = metadata(manifest)["ownerReferences"][0]["uid"]
        raise ConflictError(f"create {kind} {key}", _why_conflict(there, mine))


def _failed(key: Key, action: Action, error: KubeError) -> Sequence[Refused]:
    """Return the failed write if the API server was unavailable, so that the status reports the write.

    Return an empty sequence for any other error.
    """
    if not isinstance(error, UnavailableError) or isinstance(error, NotLeadingError):
        return ()
    text = str(error)
    if isinstance(error.__cause__, TimeoutError):
        # This client and the API server have the same timeout, so no answer names a webhook that hangs.
        text = f"{text}; check the webhooks for {action.kind.full_name}"
    return [Refused(action.kind, Reason.WRITE_FAILED, text, _holds_collectors(key, action), is_retried=True)]


def _by_others(child: Object | None) -> tuple[Object, bool]:
    return ({}, False) if child is None else (child.get("status") or {}, is_terminating(child))


def _holds_collectors(key: Key, action: Action) -> bool:
    match action:
        case CreateSecret():
            return True
        case Create(kind, manifest) | Update(kind, manifest):
            return child_named(kind, name_of(manifest), key.name) in _HOLD_COLLECTORS
        case Delete(kind, name):
            return child_named(kind, name, key.name) in _HOLD_COLLECTORS
        case SetStatus():
            return False


def _belongs_to_a_fleet_named(child: Object, name: str) -> bool:
    owners: list[Object] = metadata(child).get("ownerReferences") or []
    return any(one.get("controller") and (one["kind"], one["name"]) == (names.KIND, name) for one in owners)


def _why_conflict(there: Object, mine: str) -> str:
    if controller_uid(there) == mine:
        return "it exists already"
    return "an object of an earlier fleet with this name is being deleted"
