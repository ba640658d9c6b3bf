"""A folder of the repository, and the Application that keeps a namespace as the folder says."""

from __future__ import annotations

from dataclasses import dataclass

from tests.cluster import binaries
from tests.cluster.client import Object, manifest_text
from tests.cluster.cluster import Cluster
from tests.gitops import manifests
from tests.gitops.argocd.processes import ArgoCD, health
from tests.gitops.conftest import Git

TOOL = f"Argo CD {binaries.ARGOCD_VERSION}"


@dataclass(frozen=True)
class Delivery:
    """A folder of the repository, and the Application that keeps a namespace as the folder says."""

    argocd: ArgoCD
    git: Git
    cluster: Cluster
    namespace: str

    def commit(self, *objects: Object) -> str:
        """The folder has these manifests and no others; returns the commit."""
        return self.git.repository.commit({f"{self.namespace}/fleets.yaml": manifest_text(list(objects))})

    def begin(self, name: str = "fleets", **source: object) -> None:
        application = manifests.example(f"argocd/{name}.yaml")
        application["metadata"]["name"] = self.namespace
        application["spec"]["source"] |= {"repoURL": self.git.url, **({"path": self.namespace} | source)}
        application["spec"]["destination"]["namespace"] = self.namespace
        self.cluster.apply(application)

    def wait_health(self, wanted: str, *, within: float = 180) -> tuple[str, str]:
        """Block until the one fleet is shown so; returns that and the message."""
        __tracebackhide__ = True
        found = self.argocd.wait(self.namespace, lambda status: health(status)[0] == wanted, within=within)
        return health(found["status"])

    def fleet(self, name: str = "fleet") -> Object:
        return self.cluster.get(f"cfleet/{name}", self.namespace)
