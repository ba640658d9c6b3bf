"""Argo CD's health script, in the Lua that Argo CD speaks (5.1), on fleets in every state.

The verdicts are those that kstatus comes to by the same conditions: Flux and Helm 4 wait, end and fail where Argo CD
does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from lupa import lua51
from tests.cluster.binaries import ROOT
from tests.gitops.states import FOLDER, KSTATUS
from tests.unit.collectorfleet_operator.world import World, running, started, told

from collectorfleet_api import names
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.objects import Object

SCRIPT = (ROOT / "charts/collectorfleet-operator/files/argocd-health.lua").read_text()
# What Argo CD opens for health scripts without `useOpenLibs`; of `os` only the time.
LIBRARIES = ("table", "ipairs", "pairs", "tonumber", "tostring", "type", "next", "select", "unpack")


class Verdict(NamedTuple):
    status: str
    message: str


ON_ITS_WAY: Final = Verdict("Progressing", "the operator has not seen this generation of the fleet yet")


def verdict(fleet: Object) -> Verdict:
    machine = lua51.LuaRuntime(unpack_returned_tuples=True, register_eval=False, register_builtins=False)
    g = machine.globals()
    for name in list(g):
        if name not in LIBRARIES:
            g[name] = None
    g.obj = machine.table_from(fleet, recursive=True)
    found = machine.execute(SCRIPT)
    return Verdict(found.status, found.message)


def looked_at(world: World) -> Verdict:
    world.look(world.now)
    return verdict(world.get(FLEET))


def ended(code: int, message: str) -> World:
    world = running()
    world.end_driver(code, message)
    return world


def short_of(available: int) -> World:
    world = running({"spec.collectors.minAvailable": 2, "spec.collectors.replicas": 4})
    world.report(available)
    return world


def suspended() -> World:
    world = running()
    world.edit({"spec.suspend": True})
    world.look()
    world.end_driver(names.EXIT_STOPPED, "stopped")
    world.carry_out()
    world.carry_out()
    world.collect(*(pod for role in ("driver", "head", "worker") for pod in world.pods(role)))
    return world


def changed(strategy: dict[str, Any], changes: dict[str, Any]) -> World:
    world = running(strategy)
    world.edit({**strategy, **changes})
    return world


ROLLED = {
    "spec.updateStrategy": {"type": "RollingUpdate"},
    "spec.driver.checkpoint": {"claimName": "runs"},
}
BAD = {"spec.collectors.resources": {"gpu": 0.3}, "spec.workers.collectorsPerPod": 4}
STATES: dict[str, tuple[Callable[[], World], str]] = {
    "started": (started, "Progressing"),
    "all collectors available": (running, "Healthy"),
    "some collectors available": (lambda: short_of(3), "Progressing"),
    "too few collectors available": (lambda: short_of(1), "Progressing"),
    "completed": (lambda: ended(0, ""), "Healthy"),
    "failed": (lambda: ended(64, "no such game"), "Degraded"),
    "driver tried again": (lambda: ended(1, "connection lost"), "Progressing"),
    "suspended": (suspended, "Suspended"),
    "suspending": (lambda: changed({}, {"spec.suspend": True}), "Progressing"),
    "a change is held": (lambda: changed({}, {"spec.environment": {"factory": "other:env"}}), "Healthy"),
    "a change is carried out": (lambda: changed(ROLLED, {"spec.environment": {"factory": "other:env"}}), "Progressing"),
    "a spec that cannot be run": (lambda: World(BAD), "Degraded"),
    "a spec that cannot be run, beside a run": (lambda: changed({}, BAD), "Healthy"),
}


@pytest.mark.parametrize("state", STATES)
def test_the_verdict_of_a_state(state: str) -> None:
    make, wanted = STATES[state]
    found = looked_at(make())
    assert found.status == wanted, found.message
    assert found.message


RECORDED = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_the_verdict_on_a_fleet_of_a_real_run_is_the_one_of_both_tools(file: Path) -> None:
    """Recorded with what Argo CD's command and kstatus said, which ``make test-gitops`` asks again."""
    recorded = json.loads(file.read_text())
    assert verdict(recorded["fleet"]).status == recorded["argocd"]
    assert KSTATUS[recorded["argocd"]] == recorded["kstatus"]


def test_there_is_a_real_fleet_for_each_verdict() -> None:
    assert {json.loads(file.read_text())["argocd"] for file in RECORDED} == set(KSTATUS)


def test_a_fleet_that_nobody_has_looked_at_is_on_its_way() -> None:
    assert verdict(World().get(FLEET)) == ON_ITS_WAY


def test_a_status_of_an_older_spec_says_nothing() -> None:
    world = running()
    assert looked_at(world).status == "Healthy"
    world.edit({"spec.collectors.replicas": 5})
    assert verdict(world.get(FLEET)) == ON_ITS_WAY


@pytest.mark.parametrize(
    ("state", "condition"),
    [("failed", "Stalled"), ("a spec that cannot be run", "Stalled"), ("a change is held", "UpToDate")],
)
def test_the_message_is_that_of_the_condition_that_explains_it(state: str, condition: str) -> None:
    world = STATES[state][0]()
    seen = world.look()
    assert verdict(world.get(FLEET)).message == told(seen, condition)[2]
