"""What shells and kubectl are told may stand next."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = "import sys; from collectorfleet.cli.main import complete_kubectl_plugin as it; sys.exit(it())"


def completed(*words: str) -> list[str]:
    """A process of its own: argcomplete opens what shells give it by number."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True)
    *found, directive = done.stdout.splitlines()
    assert directive == ":4"
    return [one.strip() for one in found if one.strip()]


def test_kubectl_completes_commands() -> None:
    assert completed("st") == ["status", "stop"]
    assert "top" in completed("")


def test_kubectl_completes_options_of_a_command() -> None:
    assert completed("logs", "--fo") == ["--follow"]


def test_no_cluster_is_no_error_in_the_middle_of_a_line() -> None:
    assert completed("status", "--kubeconfig", "/nowhere", "") == []
