"""Labels and annotations of a fleet that its children get, by the operator's list."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.children.fleets import fleet, group, head

from collectorfleet_operator.children.propagation import Propagation, propagated
from collectorfleet_operator.children.table import DRIVER_CHILD, RAYCLUSTER_CHILD, manifests
from collectorfleet_operator.objects import Object

LABELS = {"team": "rl", "cost-center": "7", "lab.example.com/site": "north", "other": "x"}
LISTED = Propagation(labels=("team", "lab.example.com/*"), annotations=("owner",))
NEVER = [
    *("app.kubernetes.io/instance", "kueue.x-k8s.io/queue-name", "collectorfleet.dev/fleet", "ray.io/cluster"),
    *("argocd.argoproj.io/tracking-id", "kustomize.toolkit.fluxcd.io/name", "meta.helm.sh/release-name"),
    "kubectl.kubernetes.io/last-applied-configuration",
]


def with_metadata(changes: dict[str, Any] | None = None) -> dict[Any, Object]:
    made = fleet({"metadata.labels": LABELS, "metadata.annotations": {"owner": "me", "note": "x"}, **(changes or {})})
    given = LISTED.of(made.metadata)
    return {kind: propagated(child, given) for kind, child in manifests(made).items()}


def test_what_is_listed_reaches_every_child_and_every_pod() -> None:
    made = with_metadata()
    cluster, job = made[RAYCLUSTER_CHILD], made[DRIVER_CHILD]
    templates = [head(cluster), group(cluster)["template"], job["spec"]["template"]]
    for one in (*made.values(), *templates):
        labels = one["metadata"]["labels"]
        assert (labels["team"], labels["lab.example.com/site"]) == ("rl", "north")
        assert not {"other", "cost-center"} & labels.keys()
        assert one["metadata"]["annotations"]["owner"] == "me"
        assert "note" not in one["metadata"]["annotations"]


def test_what_a_child_or_a_template_says_itself_stays() -> None:
    template = {"metadata": {"labels": {"team": "workers"}}}
    made = with_metadata({"spec.workers.template": template})
    assert group(made[RAYCLUSTER_CHILD])["template"]["metadata"]["labels"]["team"] == "workers"
    assert head(made[RAYCLUSTER_CHILD])["metadata"]["labels"]["team"] == "rl"


@pytest.mark.parametrize("key", NEVER)
def test_what_kubernetes_and_other_tools_know_objects_by_is_never_given_on(key: str) -> None:
    everything = Propagation(labels=("*", key), annotations=("*", key))
    made = fleet({"metadata.labels": {key: "x"}, "metadata.annotations": {key: "x"}})
    assert everything.of(made.metadata) == {}


def test_without_a_list_nothing_is_given_on() -> None:
    made = fleet({"metadata.labels": LABELS})
    given = Propagation().of(made.metadata)
    assert given == {}
    assert propagated(manifests(made)[DRIVER_CHILD], given) == manifests(made)[DRIVER_CHILD]
