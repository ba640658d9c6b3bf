"""What comes in from the API server, and what goes out, at the edge of the pure part."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import NOON

from collectorfleet_operator.children.diff import covers
from collectorfleet_operator.decide.warnings import relevant
from collectorfleet_operator.edge import errors
from collectorfleet_operator.edge.settings import from_arguments
from collectorfleet_operator.edge.status_writer import drop
from collectorfleet_operator.objects import Object


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (404, None, errors.NotServedError),
        (404, 'collectorfleets "x" not found', errors.NotFoundError),
        (409, "conflict", errors.ConflictError),
        (403, "exceeded quota", errors.RefusedError),
        (422, "name must be no more than 63 characters", errors.RefusedError),
        (429, "too many requests", errors.UnavailableError),
        (503, "etcd is away", errors.UnavailableError),
        (500, "failed to create typed patch object: .status.phaze: field not declared in schema", errors.RefusedError),
    ],
)
def test_an_error_says_what_can_be_done(status: int, message: str | None, error: type[errors.KubeError]) -> None:
    body = json.dumps({"kind": "Status", "message": message}) if message else "404 page not found\n"
    found = errors.from_answer("apply X", status, body)
    assert isinstance(found, error)
    assert (message or "404 page not found") in str(found)


def test_a_field_that_the_crd_does_not_know_is_named() -> None:
    message = '.status.conditions[type="Ready"].colour: field not declared in schema'
    found = errors.from_answer("apply X", 500, json.dumps({"message": message}))
    assert isinstance(found, errors.UndeclaredFieldError)
    assert found.path == '.status.conditions[type="Ready"].colour'


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (".status.phase", {"driver": {"pod": "p"}, "conditions": [{"type": "A", "colour": "red"}, {"type": "B"}]}),
        (
            ".status.driver.pod",
            {"phase": "x", "driver": {}, "conditions": [{"type": "A", "colour": "red"}, {"type": "B"}]},
        ),
        (
            '.status.conditions[type="A"].colour',
            {"phase": "x", "driver": {"pod": "p"}, "conditions": [{"type": "A"}, {"type": "B"}]},
        ),
    ],
)
def test_an_unknown_field_is_left_out_wherever_it_stands(path: str, left: Object) -> None:
    status = {"phase": "x", "driver": {"pod": "p"}, "conditions": [{"type": "A", "colour": "red"}, {"type": "B"}]}
    assert drop(status, path)
    assert status == left
    assert not drop(status, path)


@pytest.mark.parametrize(
    ("stored", "asked", "same"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="defaults may be added"),
        pytest.param({"a": 1}, {"a": 2}, False, id="a value differs"),
        pytest.param({}, {"a": {}, "b": [], "c": None}, True, id="nothing is asked for"),
        pytest.param({"a": [{"x": 1, "y": 2}]}, {"a": [{"x": 1}]}, True, id="items may hold more"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="an item too many"),
        pytest.param(None, {"a": 1}, False, id="nothing stored"),
    ],
)
def test_what_is_stored_covers_what_is_asked(stored: Any, asked: Any, same: bool) -> None:
    assert covers(stored, asked) is same


class TestWarnings:
    def warning(self, kind: str = "Pod", lasted: float = 60, ago: float = 5, **more: Any) -> Object:
        last = NOON - timedelta(seconds=ago)
        times = {"firstTimestamp": last - timedelta(seconds=lasted), "lastTimestamp": last}
        return {
            "involvedObject": {"kind": kind, "uid": "u"},
            "reason": "FailedMount",
            "message": "secret not found",
            **{key: time.isoformat().replace("+00:00", "Z") for key, time in times.items()},
            **more,
        }

    def found(self, *events: Object) -> list[str]:
        return [one.reason for one in relevant(events, {"u"}, NOON)]

    def test_one_that_goes_on_counts(self) -> None:
        assert self.found(self.warning()) == ["FailedMount"]

    def test_one_of_every_start_does_not(self) -> None:
        assert self.found(self.warning(lasted=1)) == []

    def test_one_about_a_job_counts_at_once(self) -> None:
        assert self.found(self.warning("Job", lasted=0, reason="FailedCreate")) == ["FailedCreate"]

    def test_an_old_one_and_one_about_others_do_not(self) -> None:
        other = self.warning(involvedObject={"kind": "Pod", "uid": "v"})
        assert self.found(self.warning(ago=600), other) == []

    def test_one_in_the_newer_form_of_events_has_its_time(self) -> None:
        newer = self.warning(
            "RayCluster", eventTime="2026-07-01T11:59:58.000000Z", firstTimestamp=None, lastTimestamp=None
        )
        assert self.found(newer) == ["FailedMount"]

    def test_the_newest_comes_first(self) -> None:
        assert self.found(self.warning(ago=20, reason="Older"), self.warning(ago=2, reason="Newer")) == [
            "Newer",
            "Older",
        ]


class TestSettings:
    def test_all_namespaces_unless_some_are_named(self) -> None:
        assert from_arguments([]).scopes == (None,)
        assert from_arguments(["--namespace", "a", "--namespace=b", "--namespace", "a"]).scopes == ("a", "b")

    def test_an_unknown_option_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            from_arguments(["--namespaces=a"])
        capsys.readouterr()
