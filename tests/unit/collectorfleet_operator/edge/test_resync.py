"""Which fleets a list concerns."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, cast

from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.resync import Resync
from collectorfleet_operator.objects import Key, Kind, Object

FAILED = Key("lab", "failed")


def fleet(key: Key, reason: str) -> Object:
    return {
        "metadata": {"name": key.name, "namespace": key.namespace, "uid": key.name, "resourceVersion": "1"},
        "spec": {"code": {"configMap": "code"}},
        "status": {"conditions": [{"type": "Completed", "status": "False", "reason": reason}]},
    }


class OneConfigMap:
    """All that is asked of the API server here."""

    changed = "2026-01-01T10:00:00Z"

    async def find(self, kind: Kind, namespace: str, name: str) -> Any:
        return {"metadata": {"name": name, "managedFields": [{"time": self.changed}]}}


def test_a_fleet_that_failed_is_looked_at_again_at_once_when_its_code_has_changed() -> None:
    api, seen = OneConfigMap(), Cache(lambda: 0.0)
    for key, reason in ((FAILED, "Failed"), (Key("lab", "runs"), "Running")):
        seen.put(FLEET, fleet(key, reason))
    resync = Resync(cast("Kube", api), seen, Freshness(lambda: 0.0), [None], lambda: datetime.now(UTC))
    assert asyncio.run(resync.look_at_code()) == {FAILED}
    assert asyncio.run(resync.look_at_code()) == set()
    api.changed = "2026-01-01T10:05:00Z"
    assert asyncio.run(resync.look_at_code()) == {FAILED}
    assert resync.code_changes == {FAILED: datetime(2026, 1, 1, 10, 5, tzinfo=UTC)}
