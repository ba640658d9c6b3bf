"""templates/NOTES.txt: the next commands, for this release."""

from __future__ import annotations

from typing import Any

from tests.delivery.fleet_chart.chart import CHART, RELEASE, spec, values_file
from tests.delivery.helm import Helm


def notes(released: Helm, values: dict[str, Any], *words: str) -> str:
    """What an installation says at its end; Helm 3 asks a cluster for it also where nothing is installed."""
    file = values_file(released, values)
    return released("install", "my-run", CHART, "-f", file, "--dry-run=client", *words).partition("NOTES:")[2]


def test_the_commands_are_about_this_fleet_in_this_namespace(released: Helm) -> None:
    commands = [line for line in notes(released, {"fleet": spec()}, "-n", "team").splitlines() if line.startswith("  ")]
    assert len(commands) == 5
    for command in commands:
        assert command.startswith("  kubectl ")
        assert " -n team" in command
        assert "my-run" in command


def test_an_installation_says_how_to_wait_for_it_and_nothing_of_changes(released: Helm) -> None:
    said = notes(released, {"fleet": spec()})
    assert "kubectl wait --for=condition=Ready cfleet/my-run -n default --timeout=15m" in said
    assert "Helm 3 cannot wait for a custom resource" in said
    assert "updateStrategy" not in said


def test_another_name_than_the_releases_is_in_them(released: Helm) -> None:
    said = notes(released, {"fleet": spec(), "fullnameOverride": "walker"})
    assert "cfleet/walker" in said
    assert "my-run" not in said


def test_an_upgrade_says_what_the_deletion_of_the_driver_s_job_keeps_and_what_it_loses(
    released: Helm, namespace: str
) -> None:
    words = ("upgrade", "--install", RELEASE, CHART, "-f", values_file(released, {"fleet": spec()}), "-n", namespace)
    released(*words)
    said = " ".join(released(*words).partition("NOTES:")[2].split())
    assert "grace period to finish its batch and write a last checkpoint" in said
    assert "Without driver.checkpoint, everything that was learned is lost" in said
    assert f"kubectl delete job {RELEASE}-driver -n {namespace}" in said
