"""A driver waits for its fleet as long as it takes, and for no other."""

from __future__ import annotations

import asyncio
import threading

import pytest
from kubernetes.aio.client import ApiException
from tests.unit.collectorfleet.pod.played_api import SETTINGS, PlayedApi

from collectorfleet.errors import InvalidOption
from collectorfleet.pod import fleet_reader
from collectorfleet.pod.fleet_reader import read_fleet
from collectorfleet.run.exit import FleetGone
from collectorfleet_api.v1alpha1 import CollectorFleet


def read(api: PlayedApi, closing: threading.Event | None = None) -> CollectorFleet | None:
    return asyncio.run(read_fleet(api, SETTINGS, closing or threading.Event()))  # type: ignore[arg-type]


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


def test_every_problem_of_a_stored_spec_is_said() -> None:
    api = PlayedApi()
    api.stored["spec"]["collection"]["framesPerBatch"] = 0
    api.stored["spec"]["collectors"]["replicas"] = 0
    with pytest.raises(InvalidOption, match=r"framesPerBatch.*; .*replicas"):
        read(api)


def test_a_run_that_is_over_needs_no_fleet() -> None:
    closing = threading.Event()
    closing.set()
    assert read(PlayedApi(OSError("unreachable")), closing) is None
