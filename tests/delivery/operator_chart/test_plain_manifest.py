"""operator/manifests is the chart as it is by default, for those who have no Helm."""

from __future__ import annotations

import yaml
from tests.delivery import plain_manifest
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import CHART, Object

OF_HELM = {"helm.sh/chart", "app.kubernetes.io/managed-by"}


def named(objects: list[Object]) -> dict[tuple[str, str], Object]:
    found = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    assert len(found) == len(objects)
    return found


def test_the_written_manifest_is_what_the_chart_says(helm: Helm) -> None:
    assert plain_manifest.MANIFEST.read_text() == plain_manifest.manifest(helm), "stale: run `make generate`"


def test_kubectl_applies_what_helm_installs_and_the_namespace(helm: Helm) -> None:
    words = ("--namespace", plain_manifest.NAMESPACE)
    installed = named(helm.template(CHART, *words, name=plain_manifest.NAME))
    applied = named(list(yaml.safe_load_all(plain_manifest.MANIFEST.read_text())))
    namespace = applied.pop(("Namespace", plain_manifest.NAMESPACE))
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    # It is applied first, and by itself.
    del installed["CustomResourceDefinition", "collectorfleets.collectorfleet.dev"]
    for one in installed.values():
        labels = one["metadata"]["labels"]
        one["metadata"]["labels"] = {key: value for key, value in labels.items() if key not in OF_HELM}
    assert applied == installed
