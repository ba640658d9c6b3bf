"""Which command blocks are run after which, as somebody would who reads along; data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.delivery.pages.blocks import Block


@dataclass(frozen=True)
class Step:
    """The block of a page that begins with ``begins``.

    ``before`` are commands for what the page takes for granted; ``replaced`` are placeholders of the page.
    """

    page: str
    begins: str
    before: str = ""
    replaced: Mapping[str, str] = field(default_factory=dict)

    def is_of(self, block: Block) -> bool:
        return block.page == self.page and block.text.startswith(self.begins)


_INSTALL = "helm install collectorfleet-operator charts/collectorfleet-operator --namespace collectorfleet-system"
_UNINSTALL = "helm uninstall collectorfleet-operator --namespace collectorfleet-system"
_CARTPOLE = {"NAMESPACE": "default", "NAME": "cartpole"}
_OPERATOR = {"NAMESPACE": "collectorfleet-system"}


def _runbook(alert: str, begins: str, replaced: Mapping[str, str]) -> Step:
    return Step(f"docs/runbooks/CollectorFleet{alert}.md", begins, replaced=replaced)


WALKS: Mapping[str, tuple[Step, ...]] = {
    "by Helm": (
        Step("README.md", _INSTALL),
        Step("README.md", "kubectl apply -f examples/cartpole.yaml"),
        _runbook("NotReady", "kubectl get cfleet", _CARTPOLE),
        _runbook("DriverLost", "kubectl describe cfleet", _CARTPOLE),
        _runbook("CollectorsRestarting", "kubectl get cfleet", _CARTPOLE),
        _runbook("StalenessAtBound", "kubectl get cfleet", _CARTPOLE),
        _runbook("WeightsNotAdvancing", "kubectl get cfleet", _CARTPOLE),
        _runbook("EvaluationsFailing", "kubectl get cfleet", _CARTPOLE),
        _runbook("NoEvaluator", "kubectl get cfleet", _CARTPOLE),
        _runbook("OperatorReconcileErrors", "kubectl logs", _OPERATOR),
        _runbook("OperatorStale", "kubectl logs", _OPERATOR),
        Step("docs/monitoring.md", "helm upgrade collectorfleet-operator"),
        Step("docs/install.md", "helm upgrade collectorfleet-operator"),
        Step("docs/install.md", "helm upgrade --set replicaCount=2"),
        Step("docs/install.md", _UNINSTALL),
        Step("charts/collectorfleet-operator/README.md", _INSTALL),
        Step(
            "charts/collectorfleet/README.md",
            "helm install my-run",
            before="cp charts/collectorfleet/ci/cartpole-values.yaml fleet.yaml && sed -i '/^code:/,$d' fleet.yaml",
        ),
        Step(
            "docs/helm.md",
            "kubectl get cfleet my-run",
            before="kubectl wait --for=condition=DriverRunning cfleet/my-run --timeout=180s",
        ),
        Step("docs/helm.md", "kubectl delete configmap", before="helm uninstall my-run"),
        Step(
            "docs/helm.md",
            "helm install my-run",
            before="cp examples/cartpole/cartpole.py train.py && sed -i s/cartpole:/train:/ fleet.yaml",
        ),
        Step("docs/install.md", "kubectl delete collectorfleets --all"),
    ),
    "by kubectl": (
        Step("README.md", "kubectl apply --server-side"),
        Step("docs/install.md", "kubectl apply --server-side"),
        Step("docs/index.md", "kubectl apply --server-side"),
    ),
    "as install.md has it": (
        Step(
            "docs/install.md",
            _INSTALL,
            before="kubectl delete -f operator/manifests -f crds/collectorfleets.yaml --ignore-not-found",
        ),
        Step(
            "docs/install.md",
            "helm install collectorfleet-operator charts/collectorfleet-operator --namespace team-a",
            before=f"{_UNINSTALL} && kubectl delete crd collectorfleets.collectorfleet.dev && "
            "kubectl create namespace team-a && kubectl create namespace team-a-test",
        ),
    ),
}
