"""`collectorfleet validate` and the real API server agree on pod templates as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.client import manifest_text
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.corpus import ACCEPTED, REFUSED, Case, fleet_of

from collectorfleet.cli.pods import children

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


def test_they_agree_on_each_template(control_plane: ControlPlane, namespace: str) -> None:
    cases = {**{f"ok-{name}": case for name, case in ACCEPTED.items()}, **REFUSED}
    made = [made_of(case, name, namespace) for name, case in cases.items()]
    with pytest.raises(KubernetesError) as refused:
        control_plane.kubectl(*STRICTLY, input=manifest_text(made))
    taken = {line.partition("/")[2] for line in refused.value.stdout.split()}
    visible = {name for name, case in REFUSED.items() if not case.hidden}
    assert cases.keys() - taken == visible, str(refused.value)
