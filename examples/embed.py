"""Copies files into the manifests that carry them: ``python -m examples.embed``.

``examples/cartpole.yaml`` has to work by itself with ``kubectl apply -f`` and so carries the code in a ConfigMap.
The code is edited in ``examples/cartpole/``; a test fails while the two differ.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def embedded(manifest: str, file: str, code: str) -> str:
    """``manifest`` with the text below its line ``<file>: |`` replaced by ``code``."""
    head = re.search(rf"^( *){re.escape(file)}: \|\n", manifest, re.MULTILINE)
    if head is None:
        raise ValueError(f"no line `{file}: |` in the manifest")
    indent = " " * (len(head[1]) + 2)
    old = re.compile(rf"(?:{indent}.*\n| *\n)*").match(manifest, head.end())
    text = "".join(indent + line if line.strip() else line for line in code.splitlines(keepends=True))
    return manifest[: head.end()] + text + manifest[old.end() if old else head.end() :]


def pairs() -> list[tuple[Path, Path]]:
    """Each manifest with the code that it carries; `NAME_job` is `NAME` with another launcher."""
    names = {path: path.stem.removesuffix("_job") for path in sorted(FOLDER.glob("*.yaml"))}
    return [(path, FOLDER / name / f"{name}.py") for path, name in names.items()]


def health() -> tuple[Path, str, Path]:
    """The values for Argo CD, the key that says how it shows a fleet, and the script that they carry there."""
    key = "resource.customizations.health.collectorfleet.dev_CollectorFleet"
    script = FOLDER.parent / "charts/collectorfleet-operator/files/argocd-health.lua"
    return FOLDER / "gitops/argocd/health-values.yaml", key, script


def main() -> None:
    carried = [*((manifest, code.name, code) for manifest, code in pairs()), health()]
    for manifest, key, source in carried:
        manifest.write_text(embedded(manifest.read_text(), key, source.read_text()))


if __name__ == "__main__":
    main()
