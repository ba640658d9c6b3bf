"""Files of pinned Go modules, such as CRDs: copied once out of the module and kept in the cache beside the binaries."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.binaries import ROOT, cache_root


@dataclass(frozen=True)
class ModuleFiles:
    """``parts`` are folders or files of ``module``, whose version is that of ``tools/<pins>/go.mod``."""

    pins: str
    module: str
    parts: tuple[str, ...]

    def missing(self) -> str | None:
        """Why they cannot be had here, in one line that says what to do; None if they can."""
        if self._kept().is_dir() or shutil.which("go"):
            return None
        return f"the files of {self.module} are not in the cache and Go is not installed; install Go 1.26"

    def folder(self) -> Path:
        """The folder that holds each of them under its path in the module."""
        kept = self._kept()
        kept.parent.mkdir(parents=True, exist_ok=True)
        with (kept.parent / f".{self.pins}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.is_dir():
                self._copy(kept)
        return kept

    def _copy(self, kept: Path) -> None:
        # The binaries may come from a kept cache, on a machine that never downloaded the module.
        self._go("mod", "download", self.module)
        module = Path(self._go("list", "-m", "-f", "{{.Dir}}", self.module).strip())
        partial = kept.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        for part in self.parts:
            (partial / part).parent.mkdir(parents=True, exist_ok=True)
            if (module / part).is_dir():
                shutil.copytree(module / part, partial / part, copy_function=shutil.copyfile)
            else:
                shutil.copyfile(module / part, partial / part)
        # Modules are read-only on disk; a cache has to be removable.
        for folder in (partial, *partial.rglob("*/")):
            folder.chmod(0o755)
        partial.rename(kept)

    def _go(self, *words: str) -> str:
        command = ["go", *words]
        done = subprocess.run(command, cwd=ROOT / "tools" / self.pins, check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout

    def _kept(self) -> Path:
        pins = ROOT / "tools" / self.pins
        digest = hashlib.sha256(repr(self).encode())
        for name in ("go.mod", "go.sum"):
            digest.update((pins / name).read_bytes())
        return cache_root() / "files" / f"{self.pins}-{digest.hexdigest()[:16]}"


KUBERAY = ModuleFiles(
    binaries.KUBERAY.name,
    "github.com/ray-project/kuberay/ray-operator",
    ("config/crd/bases", "config/rbac", "config/manager"),
)
_PROMETHEUS_CRDS = "example/prometheus-operator-crd"
PROMETHEUS_OPERATOR = ModuleFiles(
    "prometheus-operator",
    "github.com/prometheus-operator/prometheus-operator",
    tuple(f"{_PROMETHEUS_CRDS}/monitoring.coreos.com_{kind}.yaml" for kind in ("podmonitors", "prometheusrules")),
)
KUEUE = ModuleFiles(binaries.KUEUE.name, "sigs.k8s.io/kueue", ("config",))
# The oldest and the newest that are supported: their CRDs serve other versions.
KUEUE_OLDEST, KUEUE_NEWEST = (ModuleFiles(pins, KUEUE.module, KUEUE.parts) for pins in ("kueue-0.14", "kueue"))
ARGOCD = ModuleFiles(
    "argocd",
    "github.com/argoproj/argo-cd/v3",
    tuple(f"manifests/crds/{kind}-crd.yaml" for kind in ("application", "applicationset", "appproject")),
)
FLUX = tuple(
    ModuleFiles(f"flux-{kind}", f"github.com/fluxcd/{kind}-controller", ("config/crd/bases",))
    for kind in ("source", "kustomize", "helm")
)
