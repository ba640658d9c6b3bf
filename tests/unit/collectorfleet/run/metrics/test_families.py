"""The driver's metrics are its report in other words."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.cluster.binaries import ROOT
from tests.ports import reserve_ports
from tests.unit.collectorfleet.run.metrics.full_report import NOON, report

from collectorfleet.errors import InvalidOption
from collectorfleet.run.metrics.families import COUNTERS, GAUGES, GROUPS, OF_GROUPS, PREFIX, description, families
from collectorfleet.run.metrics.server import THIS_MACHINE, serve_metrics
from collectorfleet_api.v1alpha1 import DriverReport, Progress

# Numbers of the report that are no metrics, and why.
LEFT_OUT = {
    "evaluation.video.version": "it says which file is the newest, for people",
    "weights.lastFailure.version": "part of a text for people",
    "weights.lastFailure.time": "part of a text for people",
    "progress.metrics": "a family of its own",
}


def samples(found: DriverReport) -> dict[str, float]:
    return {sample.name: sample.value for family in families("cheetah", found) for sample in family.samples}


def numbers(schema: dict[str, Any], definitions: dict[str, Any], path: str = "") -> set[str]:
    """Paths of the numbers and times in a model's schema, lists left out."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return set().union(*(numbers(one, definitions, path) for one in schema["anyOf"]))
    found: set[str] = set()
    for name, inner in schema.get("properties", {}).items():
        found |= numbers(inner, definitions, f"{path}.{name}" if path else name)
    is_number = schema.get("type") in ("integer", "number") or schema.get("format") == "date-time"
    if is_number or schema.get("additionalProperties", {}):
        found.add(path)
    return found


def test_every_number_of_the_report_is_a_metric() -> None:
    schema = DriverReport.model_json_schema(by_alias=True)
    assert numbers(schema, schema["$defs"]) - LEFT_OUT.keys() == {*COUNTERS.values(), *GAUGES.values()}


def test_values_are_those_of_the_status_and_descriptions_those_of_the_reference() -> None:
    found = samples(report())
    assert found["collectorfleet_frames_delivered_total"] == 4000
    assert found["collectorfleet_frames_lost_total"] == 50
    assert found["collectorfleet_episodes_total"] == 300
    assert found["collectorfleet_episode_return_mean"] == 87.5
    assert found["collectorfleet_weights_acknowledged_version"] == 9
    assert found["collectorfleet_staleness_mean_versions"] == 1.235
    assert found["collectorfleet_last_batch_timestamp_seconds"] == NOON.timestamp()
    assert found["collectorfleet_checkpoint_frames"] == 3800
    assert found["collectorfleet_evaluation_return_mean"] == 120.5
    assert found["collectorfleet_evaluation_return_standard_error"] == 3.5
    assert found["collectorfleet_evaluation_timestamp_seconds"] == NOON.timestamp()
    assert found["collectorfleet_evaluations_failed_total"] == 1
    assert found["collectorfleet_evaluators_available"] == 1
    assert len(found) == len(COUNTERS) + len(GAUGES) + len(OF_GROUPS) + 1
    assert description("weights.staleness.max") == "Largest staleness."


def test_what_the_training_function_reports_is_one_family_and_a_value_that_is_not_finite_is_absent() -> None:
    (family,) = (family for family in families("cheetah", report()) if family.name == "collectorfleet_reported")
    assert [(sample.labels, sample.value) for sample in family.samples] == [
        ({"fleet": "cheetah", "name": "reward"}, 87.5)
    ]


def test_each_group_has_its_numbers_under_its_name() -> None:
    found = {family.name: family for family in families("cheetah", report())}
    available = found["collectorfleet_group_collectors_available"]
    assert [(sample.labels, sample.value) for sample in available.samples] == [
        ({"fleet": "cheetah", "group": "fast"}, 3),
        ({"fleet": "cheetah", "group": "big"}, 0),
    ]
    assert available.documentation == "Number of collectors with acknowledged weights."
    assert [sample.value for sample in found["collectorfleet_group_collectors_desired"].samples] == [3, 1]


def test_the_page_on_metrics_has_each_with_its_field() -> None:
    page = (ROOT / "docs/metrics.md").read_text()
    rows = [
        *(f"| `{PREFIX}{name}_total` | `{path}` |" for name, path in COUNTERS.items()),
        *(f"| `{PREFIX}{name}` | `{path}` |" for name, path in GAUGES.items()),
        *(f'| `{PREFIX}{name}{{group="..."}}` | `{GROUPS}[].{one}` |' for name, one in OF_GROUPS.items()),
    ]
    assert [row for row in rows if row not in page] == []


def test_what_is_unknown_is_absent() -> None:
    assert samples(DriverReport()) == {}
    starting = samples(DriverReport(progress=Progress()))
    assert "collectorfleet_frames_per_second" not in starting
    assert starting["collectorfleet_frames_delivered_total"] == 0


def test_prometheus_reads_what_is_served_and_the_port_is_free_afterwards() -> None:
    (port,) = reserve_ports(1)
    url = f"http://127.0.0.1:{port}/metrics"
    with serve_metrics("cheetah", report, port, THIS_MACHINE):
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
        with pytest.raises(InvalidOption, match=f"metrics port {port}: .*Address already in use; choose another"):
            serve_metrics("other", report, port, THIS_MACHINE).__enter__()
    read = {s.name: s.value for family in text_string_to_metric_families(text) for s in family.samples}
    assert read == samples(report())
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=10)
