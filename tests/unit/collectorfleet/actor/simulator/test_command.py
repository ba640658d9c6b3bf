"""How a command learns its ports."""

from __future__ import annotations

import sys

from collectorfleet.actor.simulator.command import addresses, arguments, variables

PORTS = {"grpc": 40123, "game-state": 40124}


def test_a_placeholder_in_any_argument_becomes_the_number_of_its_port() -> None:
    command = ["./sim", "--listen=127.0.0.1:{grpc}", "{game-state}{grpc}"]
    assert arguments(command, PORTS) == ["./sim", "--listen=127.0.0.1:40123", "4012440123"]


def test_other_braces_stay_as_they_are() -> None:
    command = ["sh", "-c", 'exec ./sim --config \'{"level": {"a": 1}}\' --home ${HOME} | awk "{print}"']
    assert arguments(command, PORTS) == command


def test_a_command_may_name_the_python_of_its_collector() -> None:
    assert arguments(["{python}", "-m", "sim"], PORTS) == [sys.executable, "-m", "sim"]


def test_environment_variables_say_the_ports_too() -> None:
    assert variables(PORTS) == {"PORT_GRPC": "40123", "PORT_GAME_STATE": "40124"}


def test_the_factory_gets_an_address_for_each_port() -> None:
    assert addresses(PORTS) == {"grpc": "127.0.0.1:40123", "game-state": "127.0.0.1:40124"}
