"""An API server that does not answer is said once, however often it is asked."""

from __future__ import annotations

import logging

import pytest
from kubernetes.aio.client import ApiException

from collectorfleet.pod.outage import Outage, is_status


def test_it_is_said_when_it_begins_when_its_cause_changes_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    outage = Outage("write the status")
    with caplog.at_level(logging.INFO):
        outage.over()
        for _ in range(3):
            outage.note(ConnectionRefusedError("refused"))
        outage.note(ApiException(status=503, reason="etcd has no leader"))
        outage.over()
        outage.over()
    assert [record.message for record in caplog.records] == [
        "cannot write the status; trying again: ConnectionRefusedError: refused",
        "cannot write the status; trying again: HTTP 503: etcd has no leader",
        "can write the status again",
    ]


def test_an_answer_is_told_by_its_status() -> None:
    assert is_status(ApiException(status=404), 404)
    assert not is_status(ApiException(status=500), 404)
    assert not is_status(OSError("reset"), 404)
