"""The CRDs of the Prometheus operator, copied once out of its Go module, for an API server to check what we give it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.cluster.binaries import ROOT, cache_root

_MODULE: Final = "github.com/prometheus-operator/prometheus-operator"
_PINS: Final = ROOT / "tools/prometheus-operator"
_FILES: Final = ("monitoring.coreos.com_podmonitors.yaml", "monitoring.coreos.com_prometheusrules.yaml")


def missing() -> str | None:
    """Why they cannot be had here, in one line that says what to do; None if they can."""
    if _kept().is_dir() or shutil.which("go"):
        return None
    return "the CRDs of the Prometheus operator are not in the cache and Go is not installed; install Go 1.26"


def crds() -> Path:
    """A folder with those of PodMonitors and PrometheusRules."""
    kept = _kept()
    if not kept.is_dir():
        command = ["go", "mod", "download", "-json", _MODULE]
        said = subprocess.run(command, cwd=_PINS, check=True, text=True, stdout=subprocess.PIPE).stdout
        partial = kept.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name in _FILES:
            shutil.copyfile(Path(json.loads(said)["Dir"]) / "example/prometheus-operator-crd" / name, partial / name)
        partial.rename(kept)
    return kept


def _kept() -> Path:
    (line,) = (line for line in (_PINS / "go.sum").read_text().splitlines() if "/go.mod " not in line)
    return cache_root() / f"prometheus-operator-{line.split()[1]}"
