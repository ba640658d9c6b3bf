"""Fleets as the API server stores them, and the parts of their children that tests ask for."""

from __future__ import annotations

from typing import Any

from tests.manifests import manifest

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.driver_job import driver_job
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.children.raycluster import raycluster
from collectorfleet_operator.objects import Object


def fleet(changes: dict[str, Any] | None = None) -> CollectorFleet:
    stored = manifest(changes)
    stored["metadata"] |= {"namespace": "lab", "uid": "u-1", "generation": 3}
    return CollectorFleet.parse_stored(stored)


def cluster(changes: dict[str, Any] | None = None) -> Object:
    return raycluster(fleet(changes))


def group(made: Object) -> Object:
    return worker_groups(made)[names.WORKER_GROUP]


def head(made: Object) -> Object:
    template: Object = made["spec"]["headGroupSpec"]["template"]
    return template


def worker(made: Object) -> Object:
    template: Object = group(made)["template"]
    return template


def driver(changes: dict[str, Any] | None = None) -> Object:
    template: Object = driver_job(fleet(changes))["spec"]["template"]
    return template


def env(template: Object) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in template["spec"]["containers"][0]["env"]}
