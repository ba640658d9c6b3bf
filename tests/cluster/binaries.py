"""Build the Kubernetes binaries of the test cluster from the pinned Go modules in ``tools/``, and cache them.

``go install tool`` builds the tools that each ``tools/<name>/go.mod`` names. Only Go modules are downloaded. The cache
has each build under a digest of its pins and flags. So only a changed pin or flag causes another build.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Variables that select folders of ``tools/`` with other pins. tests/versions sets them and runs other tests.
OTHER_KUBERNETES, OTHER_KUBERAY = "COLLECTORFLEET_TEST_KUBERNETES", "COLLECTORFLEET_TEST_KUBERAY"
OTHER_KUEUE = "COLLECTORFLEET_TEST_KUEUE"


@dataclass(frozen=True)
class Tool:
    """One folder below ``tools/``, with the flags for its build and the pairs of old and new names of its binaries."""

    name: str
    ldflags: str = "-s -w"
    tags: str = ""
    renamed: tuple[tuple[str, str], ...] = ()
    cgo: bool = False

    @property
    def folder(self) -> Path:
        return ROOT / "tools" / self.name


def pinned(tool: str, module: str) -> str:
    """Return the version of a module in the go.mod of ``tools/<tool>``. ValueError if it is not pinned there."""
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", (ROOT / "tools" / tool / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"tools/{tool}/go.mod does not pin {module}")
    return found[1]


def kubernetes(folder: str) -> Tool:
    """Return the Kubernetes that a folder of ``tools/`` pins."""
    version = pinned(folder, "k8s.io/kubernetes")
    # kubectl and KubeRay compare versions, and refuse a server that reports no version.
    _, minor, _ = version.split(".")
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    values = (("gitVersion", version), ("gitMajor", "1"), ("gitMinor", minor))
    return Tool(folder, ldflags="-s -w " + " ".join(f"-X {p}.{k}={v}" for p in packages for k, v in values))


ETCD = Tool("etcd", renamed=(("server", "etcd"),))
KUBERNETES = kubernetes(os.environ.get(OTHER_KUBERNETES, "kubernetes"))
KUBERAY = Tool(os.environ.get(OTHER_KUBERAY, "kuberay"))
COREDNS = Tool("coredns")
HELM_VERSION, HELM4_VERSION = "v3.22.0", "v4.3.1"
HELM_KUBERNETES = {"Major": "1", "Minor": "37"}  # the version of k8s.io/client-go in Helm's go.mod


def _helm_flags() -> str:
    # A helm without a version refuses charts that require a version. Without a cluster, Helm 3 assumes the Kubernetes
    # version of its build flags. Its default is 1.20, which our charts refuse. Helm 4 uses its libraries' version.
    values = [("helm.sh/helm/v3/internal/version.version", HELM_VERSION)]
    for package in ("pkg/chartutil", "pkg/lint/rules"):
        values += [(f"helm.sh/helm/v3/{package}.k8sVersion{part}", n) for part, n in HELM_KUBERNETES.items()]
    return " ".join(f"-X {name}={value}" for name, value in values)


HELM = Tool("helm", ldflags=f"-s -w {_helm_flags()}")
HELM4 = Tool(
    "helm4",
    ldflags=f"-s -w -X helm.sh/helm/v4/internal/version.version={HELM4_VERSION}",
    renamed=(("helm", "helm4"),),
)
ACTIONLINT = Tool("actionlint")
# Writes the charts' README.md from the comments in their values.yaml.
HELM_DOCS = Tool("helm-docs")
# Service discovery for Kubernetes only: the clients of all clouds would double the time of the build.
PROMETHEUS = Tool("prometheus", tags="remove_all_sd,enable_kubernetes_sd")
ARGOCD_VERSION = "3.2.11"
ARGOCD = Tool(
    "argocd",
    ldflags=f"-s -w -X github.com/argoproj/argo-cd/v3/common.version={ARGOCD_VERSION}",
    renamed=(("cmd", "argocd"),),
)
FLUX = tuple(Tool(f"flux-{kind}") for kind in ("source", "kustomize", "helm"))
# Provides queues with quota.
KUEUE = Tool(os.environ.get(OTHER_KUEUE, "kueue"))
# A command that evaluates an object's conditions as Flux and Helm 4 do.
KSTATUS = Tool("kstatus")
# Serves a registry on loopback.
CRANE = Tool("crane")
# Lists the packages in an image.
SYFT_VERSION = "1.57.0"
SYFT = Tool("syft", ldflags=f"-s -w -X main.version={SYFT_VERSION}")
# Checks prose, for `make prose`. We do not use its parsers of programming languages, so their C code is not optimized.
VALE = Tool("vale", cgo=True)
# Without debug information, inlined functions and the compiler's own garbage collection, a build takes 0.7 of its time.
# An API server then takes 2 % more CPU time.
COMPILE = ("-gcflags=all=-dwarf=false -l", "-gcflags=std=-dwarf=false")
COMPILE_MEMORY = {"GOGC": "off", "GOMEMLIMIT": "2GiB"}
# The tools of the test cluster. Tests of packages, charts, images and prose use the others.
TOOLS = (ETCD, KUBERNETES, KUBERAY, COREDNS)


def cache_root() -> Path:
    """Return the folder of the cache, which may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "collectorfleet"


def _key(tool: Tool) -> str:
    flags = f"{COMPILE} {tool.ldflags} {tool.renamed} {tool.tags} {tool.cgo}"
    digest = hashlib.sha256(flags.encode())
    for name in ("go.mod", "go.sum", "main.go"):
        if (file := tool.folder / name).exists():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _kept(tool: Tool) -> Path:
    return cache_root() / "bin" / f"{tool.name}-{_key(tool)}"


def is_built(tool: Tool) -> bool:
    return _kept(tool).is_dir()


def missing(tools: Iterable[Tool] = TOOLS) -> str | None:
    """Return why these tools cannot be used here, in one line with the remedy; None if they are built or can be."""
    unbuilt = [tool for tool in tools if not is_built(tool)]
    if not unbuilt:
        return None
    if any(tool.cgo for tool in unbuilt) and not shutil.which("gcc"):
        return "the binaries of tools/ are not built yet and gcc is not installed; install gcc"
    if shutil.which("go"):
        return None
    return "the binaries of tools/ are not built yet and Go is not installed; install Go 1.26 (https://go.dev/dl)"


def build(tool: Tool) -> Path:
    """Return the folder of a tool's binaries. If the cache lacks them, build them first, which takes minutes."""
    done = _kept(tool)
    cache = done.parent
    cache.mkdir(parents=True, exist_ok=True)
    # Two test runs on one machine may both find the cache empty: one builds, the other waits.
    with (cache / f".{tool.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.is_dir():
            return done
        started = time.monotonic()
        print(f"building {tool.name} from its Go modules (once; minutes)", file=sys.stderr, flush=True)
        partial = cache / f".{tool.name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        env = os.environ | COMPILE_MEMORY | {"GOBIN": str(partial), "GOFLAGS": "-mod=readonly"}
        env |= {"CGO_ENABLED": "1", "CGO_CFLAGS": "-O0 -w"} if tool.cgo else {"CGO_ENABLED": "0"}
        command = ["go", "install", "-tags", tool.tags, *COMPILE, "-ldflags", tool.ldflags, "tool"]
        subprocess.run(command, cwd=tool.folder, env=env, check=True)
        for old, new in tool.renamed:
            (partial / old).rename(partial / new)
        partial.rename(done)
        print(f"built {tool.name} in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        return done


def kubectl() -> Path:
    """Return the kubectl of the tests: always the usual pinned version, because older versions lack features."""
    return build(kubernetes("kubernetes")) / "kubectl"


def build_all() -> list[Path]:
    """Build the tools of the test cluster, and return their folders."""
    return [build(tool) for tool in TOOLS]


if __name__ == "__main__":
    for folder in build_all():
        print(folder)
