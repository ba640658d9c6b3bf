"""Copy files of pinned Go modules, such as CRDs, into the cache beside the binaries."""

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
    """Folders and files (``parts``) of a Go module, in the version that ``tools/<pins>/go.mod`` pins."""

    pins: str
    module: str
    parts: tuple[str, ...]

    def missing(self) -> str | None:
        """Return why the files cannot be used here, in one line with the remedy; None if they can."""
        if self._kept().is_dir() or shutil.which("go"):
            return None
        return f"the files of {self.module} are not in the cache and Go is not installed; install Go 1.26"

    def folder(self) -> Path:
        """Return the folder with each part under its path in the module. Fill it first if the cache lacks it."""
        kept = self._kept()
        kept.parent.mkdir(parents=True, exist_ok=True)
        with (kept.parent / f".{self.pins}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.is_dir():
                self._copy(kept)
        return kept

    def _copy(self, kept: Path) -> None:
        # With cached binaries, this machine may never have downloaded the module.
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
        # Folders of Go modules are read-only. A user must be able to delete the cache.
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
# The oldest and the newest supported Kueue. Their CRDs serve different versions.
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
