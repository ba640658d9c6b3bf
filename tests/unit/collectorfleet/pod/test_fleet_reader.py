"""A driver waits for its fleet as long as it takes, and for no other."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest
from kubernetes.aio.client import ApiException
from tests.manifests import manifest
from tests.unit.collectorfleet.pod.played_api import SETTINGS, PlayedApi

from collectorfleet.errors import InvalidOption
from collectorfleet.pod import fleet_reader
from collectorfleet.pod.fleet_reader import read_fleet
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.run.exit import FleetGone
from collectorfleet_api.v1alpha1 import CollectorFleet


def read(
    api: PlayedApi, closing: threading.Event | None = None, settings: DriverSettings = SETTINGS
) -> CollectorFleet | None:
    return asyncio.run(read_fleet(api, settings, closing or threading.Event()))  # type: ignore[arg-type]


def test_an_api_server_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_reader, "RETRY_SECONDS", 0)
    # A Role that the operator has yet to make is an answer like no answer.
    fleet = read(PlayedApi(OSError("unreachable"), ApiException(status=403)))
    assert fleet is not None
    assert fleet.metadata.uid == "u-1"


def test_a_fleet_that_is_not_there_is_nothing_to_wait_for() -> None:
    with pytest.raises(FleetGone, match="fleet default/cheetah does not exist"):
        read(PlayedApi(ApiException(status=404)))


def test_a_fleet_that_was_replaced_is_another_drivers() -> None:
    api = PlayedApi()
    api.stored["metadata"]["uid"] = "u-2"
    with pytest.raises(FleetGone, match="was replaced"):
        read(api)


def test_the_spec_is_the_one_that_the_driver_was_started_with_and_only_its_size_the_stored_one() -> None:
    api = PlayedApi()
    api.stored["spec"] |= {"image": "ghcr.io/you/cheetah:2.0", "collection": {"framesPerBatch": 0}}
    api.stored["spec"]["collectors"]["replicas"] = 7
    fleet = read(api)
    assert fleet is not None
    assert fleet.spec.image == SETTINGS.spec["image"]
    assert fleet.spec.collection.frames_per_batch == SETTINGS.spec["collection"]["framesPerBatch"]
    assert fleet.spec.collectors.replicas == 7


def test_every_problem_of_its_spec_is_said() -> None:
    wrong = manifest({"spec.collection.framesPerBatch": 0, "spec.driver.resources": {"cpu": "much"}})["spec"]
    with pytest.raises(InvalidOption, match=r"framesPerBatch.*; .*cpu|cpu.*; .*framesPerBatch"):
        read(PlayedApi(), settings=replace(SETTINGS, spec=wrong))


def test_a_run_that_is_over_needs_no_fleet() -> None:
    closing = threading.Event()
    closing.set()
    assert read(PlayedApi(OSError("unreachable")), closing) is None
