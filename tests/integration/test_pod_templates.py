"""`collectorfleet validate` and the real API server agree on pod templates as people write them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.cluster.client import manifest_text
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.corpus import ACCEPTED, ODD, REFUSED, Case, fleet_of, odd_template
from tests.manifests import manifest

from collectorfleet.cli.pods import children, pod_problems
from collectorfleet_api.rules.validation import read

STRICTLY = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-o", "name", "-f", "-")


def made_of(case: Case, name: str, namespace: str) -> dict[str, Any]:
    """The driver's Job, or a pod as KubeRay makes it of the template of head or workers."""
    by_kind = {child["kind"]: child for child in children(fleet_of(case))}
    if case.of == "spec.driver.template":
        kind, made = {"apiVersion": "batch/v1", "kind": "Job"}, {"spec": by_kind["Job"]["spec"]}
    else:
        cluster = by_kind["RayCluster"]["spec"]
        group = cluster["headGroupSpec"] if "head" in case.of else cluster["workerGroupSpecs"][0]
        kind, made = {"apiVersion": "v1", "kind": "Pod"}, group["template"]
    metadata = {**made.get("metadata", {}), "name": name, "namespace": namespace}
    return {**kind, "metadata": metadata, "spec": made["spec"]}


def taken_of(control_plane: ControlPlane, made: list[dict[str, Any]]) -> set[str]:
    """Names of those that the API server takes; some are refused."""
    with pytest.raises(KubernetesError) as refused:
        control_plane.kubectl(*STRICTLY, input=manifest_text(made))
    return {line.partition("/")[2] for line in refused.value.stdout.split()}


def test_they_agree_on_each_template(control_plane: ControlPlane, namespace: str) -> None:
    cases = {**{f"ok-{name}": case for name, case in ACCEPTED.items()}, **REFUSED}
    taken = taken_of(control_plane, [made_of(case, name, namespace) for name, case in cases.items()])
    assert cases.keys() - taken == {name for name, case in REFUSED.items() if not case.hidden}


def test_they_agree_on_templates_in_which_something_is_odd(control_plane: ControlPlane, namespace: str) -> None:
    choose = Random(0)
    # The server looks for what two of them name, and the merge takes out what is null, whatever its name is.
    left_out = ("scheduler", "service-account", "taken-out")
    cases = [case for name, case in (ACCEPTED | REFUSED).items() if name not in left_out]
    odd: dict[str, Case] = {}
    while len(odd) < 200:
        case = choose.choice(cases)
        case = replace(case, template=odd_template(case.template, choose, ODD))
        if not isinstance(read(manifest({case.of: case.template})), list):
            odd[f"odd-{len(odd)}"] = case
    taken = taken_of(control_plane, [made_of(case, name, namespace) for name, case in odd.items()])
    found = {name: list(map(str, pod_problems(fleet_of(case)))) for name, case in odd.items()}
    # Our merge keeps the last of two items of one name.
    hidden = {name for name, problems in found.items() if any("keep one of the two" in one for one in problems)}
    ours = {name for name, problems in found.items() if not problems}
    assert 40 < len(taken) < 160, "the sample has both kinds"
    assert {name: (odd[name].template, found[name]) for name in (ours ^ taken) - hidden} == {}
