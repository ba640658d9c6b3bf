"""A folder of the repository, and the Kustomization or HelmRelease that keeps a namespace as the folder says."""

from __future__ import annotations

from dataclasses import dataclass

from tests.cluster.client import Object, manifest_text
from tests.cluster.cluster import Cluster
from tests.gitops import manifests
from tests.gitops.conftest import Git
from tests.gitops.flux.processes import NAMESPACE, REPOSITORY, Flux

TOOL = "Flux"
SOURCE = f"{REPOSITORY}/fleets"


@dataclass(frozen=True)
class Delivery:
    flux: Flux
    git: Git
    cluster: Cluster
    namespace: str

    def commit(self, *objects: Object) -> str:
        """The folder has these manifests and no others; Flux has fetched the commit, which is returned."""
        return self.commit_file(f"{self.namespace}/fleets.yaml", manifest_text(list(objects)))

    def commit_file(self, name: str, text: str) -> str:
        commit = self.git.repository.commit({name: text})
        self.flux.refresh(SOURCE)
        return commit

    def begin(self, example: str = "fleets", **spec: object) -> None:
        """Apply that manifest of examples/gitops, for this namespace and this folder."""
        made = manifests.example(f"flux/{example}.yaml")
        made["metadata"] = {"name": self.namespace, "namespace": NAMESPACE}
        made["spec"] |= {"targetNamespace": self.namespace, **spec}
        self.cluster.apply(made)

    def fleet(self, name: str = "fleet") -> Object:
        return self.cluster.get(f"cfleet/{name}", self.namespace)
