"""A CRD that is older than the driver costs the fields it does not know, and no others."""

from __future__ import annotations

import pytest

from collectorfleet.pod.undeclared import undeclared_fields, without


def test_fields_are_read_from_the_api_servers_complaint() -> None:
    message = (
        "failed to create typed patch object (default/f; collectorfleet.dev/v1alpha1, Kind=CollectorFleet): errors:\n"
        "  .status.phaze: field not declared in schema\n"
        '  .status.collectors[name="c0"].mood: field not declared in schema\n'
        "  .status.weights.staleness.median: field not declared in schema"
    )
    assert undeclared_fields(message) == [("phaze",), ("collectors", "mood"), ("weights", "staleness", "median")]


def test_other_errors_name_no_field() -> None:
    assert undeclared_fields("etcdserver: request timed out") == []


@pytest.mark.parametrize("text", [".status", ".status.[", "."])
def test_a_long_text_that_the_api_server_quotes_does_not_delay_the_driver(text: str) -> None:
    quoted = text * (4_000_000 // len(text))  # with backtracking, hours
    assert undeclared_fields(f'Invalid value: "{quoted}"') == []
    assert undeclared_fields(f"{quoted}: no field declared\n  .status.phaze: field not declared in schema") == [
        ("phaze",)
    ]
    assert len(undeclared_fields(f".status.{'[' * 4_000_000}: field not declared in schema")) == 1


def test_a_field_is_left_out_everywhere_and_the_report_stays_as_it_is() -> None:
    status = {
        "phaze": 1,
        "weights": {"published": 3, "mood": 1},
        "collectors": [{"name": "c0", "mood": 1}, {"name": "c1"}],
    }
    fields = {("phaze",), ("weights", "mood"), ("collectors", "mood"), ("absent", "too")}
    assert without(status, fields) == {"weights": {"published": 3}, "collectors": [{"name": "c0"}, {"name": "c1"}]}
    assert status["phaze"] == 1
