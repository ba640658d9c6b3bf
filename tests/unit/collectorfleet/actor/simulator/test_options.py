"""What describes a simulator in Python, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet import InvalidOption, SimulatorProcess

NO_NAME = (
    "process.ports: 'GRPC' is not a valid port name; use up to 15 lower-case letters, digits and '-', beginning "
    "with a "
    "letter"
)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"command": "./sim"}, "process.command: './sim' is a str; give a list"),
        ({"command": []}, "process.command: give a list of the program and its arguments, such as ['./server']"),
        ({"ports": []}, "process.ports: give a list of at least one name, such as ['grpc']"),
        ({"ports": "grpc"}, "process.ports: 'grpc' is a str; give a list"),
        (
            {"ports": ["GRPC"]},
            NO_NAME,
        ),
        ({"ports": ["a", "b", "a"]}, "process.ports: a name appears twice in a, b, a; name each port once"),
        (
            {"ports": ["grpc", "python"]},
            (
                "process.ports: a port cannot have the name 'python', because {python} in the command stands for the "
                "collector's Python; rename the port"
            ),
        ),
    ],
)
def test_a_simulator_that_cannot_work_is_refused_with_what_to_change(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        SimulatorProcess(**{"command": ["./sim"], "ports": ["grpc"], **given})
    assert str(raised.value) == sentence
