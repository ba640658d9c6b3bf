"""Simulators of a manifest: whose they are, and which arguments they take from a factory."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import SIMULATOR
from tests.manifests import fleet, manifest

from collectorfleet_api.rules.validation import read

SENTENCE = "the factory gets the addresses of the simulator in this argument; leave your argument out, or rename it"
OWN = {"command": ["./own"], "ports": ["grpc"]}


@pytest.mark.parametrize(
    ("own", "command"),
    [
        ({}, ["./sim", "--port", "{grpc}"]),
        ({"kwargs": {"size": 2}}, ["./sim", "--port", "{grpc}"]),
        ({"process": OWN}, ["./own"]),
        ({"factory": "my_envs:make_big", "process": OWN}, ["./own"]),
        ({"factory": "my_envs:make_big"}, None),
    ],
    ids=["the fleet's", "the fleet's with other arguments", "its own", "that of another factory", "none"],
)
def test_collectors_of_a_group_start_the_simulator_of_their_environment(
    own: dict[str, Any], command: list[str] | None
) -> None:
    groups = [{"name": "small", "replicas": 3}, {"name": "big", "environment": own}]
    spec = fleet({"spec.environment.process": SIMULATOR, "spec.collectors.groups": groups}).spec
    environment = spec.of_group("big").environment
    assert environment is not None
    assert (environment.process and environment.process.command) == command


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"spec.environment.kwargs": {"process": 1}, "spec.environment.process": SIMULATOR}, "environment"),
        (
            {
                "spec.collectors.groups": [
                    {"name": "small", "replicas": 3},
                    {"name": "big", "environment": {"kwargs": {"process": 1}, "process": OWN}},
                ]
            },
            "collectors.groups[1].environment",
        ),
        (
            {"spec.environment.kwargs": {"process": 1}, "spec.evaluation": {"environment": {"process": OWN}}},
            "evaluation.environment",
        ),
    ],
    ids=["of the fleet", "of a group", "of evaluators"],
)
def test_an_argument_of_the_name_that_addresses_have_is_refused(changes: dict[str, Any], path: str) -> None:
    found = read(manifest(changes))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [
        f"spec.{path}.kwargs.process: {SENTENCE}",
    ]


def test_each_environment_that_sets_the_argument_is_named_and_none_that_inherits_it() -> None:
    taken = {"kwargs": {"process": 1}}
    groups = [
        {"name": "inherits", "replicas": 2},
        {"name": "other", "replicas": 1, "environment": {"kwargs": {"size": 2}}},
        {"name": "again", "environment": taken},
    ]
    changes = {
        "spec.environment": {**manifest()["spec"]["environment"], **taken, "process": SIMULATOR},
        "spec.collectors.groups": groups,
        "spec.evaluation": {"environment": {"factory": "my_envs:make_big", "process": OWN, **taken}},
    }
    found = read(manifest(changes))
    assert isinstance(found, list)
    paths = ["environment", "collectors.groups[2].environment", "evaluation.environment"]
    assert [str(problem) for problem in found] == [f"spec.{path}.kwargs.process: {SENTENCE}" for path in paths]


def test_a_port_is_named_once_and_like_a_port() -> None:
    for ports, sentence in (
        (["grpc", "grpc"], "grpc appears twice; name each port once"),
        (
            ["python"],
            (
                '"python" cannot name a port, because {python} in the command stands for the collector\'s Python; '
                "rename the port"
            ),
        ),
        (["G RPC"], '"G RPC" is not a name of a port; write lower-case letters, digits and'),
    ):
        found = read(manifest({"spec.environment.process": {"command": ["./sim"], "ports": ports}}))
        assert isinstance(found, list)
        assert sentence in str(found[0])
