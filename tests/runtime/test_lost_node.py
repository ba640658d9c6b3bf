"""A node that dies takes its collectors along, which are not to blame."""

from __future__ import annotations

from tests.forks import program
from tests.runtime import a_node_dies


def test_a_collector_that_is_lost_with_its_node_costs_nothing_of_its_budget() -> None:
    done = program.run(["-m", a_node_dies.__name__], timeout=300)
    said = done.stdout.splitlines()[-2:]
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert said[0] == "restarts: 1, of the budget: 0"
    # Ray may know of the node by then, or only that a connection broke.
    assert "node" in said[1].lower()
