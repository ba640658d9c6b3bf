"""Copy files into the manifests that contain them: ``python -m examples.embed``.

``kubectl apply -f examples/cartpole.yaml`` must be enough to run the example. So this manifest contains the code in a
ConfigMap. Edit the code in ``examples/cartpole/``. A test fails if code and manifest differ.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def embedded(manifest: str, file: str, code: str) -> str:
    """Return ``manifest`` with ``code`` below its line ``<file>: |``. Raises ValueError if this line is missing."""
    head = re.search(rf"^( *){re.escape(file)}: \|\n", manifest, re.MULTILINE)
    if head is None:
        raise ValueError(f"no line `{file}: |` in the manifest")
    indent = " " * (len(head[1]) + 2)
    old = re.compile(rf"(?:{indent}.*\n| *\n)*").match(manifest, head.end())
    text = "".join(indent + line if line.strip() else line for line in code.splitlines(keepends=True))
    return manifest[: head.end()] + text + manifest[old.end() if old else head.end() :]


def pairs() -> list[tuple[Path, Path]]:
    """Return each manifest with its file of code. `NAME_job` has the code of `NAME`, but another launcher."""
    names = {path: path.stem.removesuffix("_job") for path in sorted(FOLDER.glob("*.yaml"))}
    return [(path, FOLDER / name / f"{name}.py") for path, name in names.items()]


def health() -> tuple[Path, str, Path]:
    """Return the file of values for Argo CD, the key of the health check in it, and the file of the health check."""
    key = "resource.customizations.health.collectorfleet.dev_CollectorFleet"
    script = FOLDER.parent / "charts/collectorfleet-operator/files/argocd-health.lua"
    return FOLDER / "gitops/argocd/health-values.yaml", key, script


def main() -> None:
    carried = [*((manifest, code.name, code) for manifest, code in pairs()), health()]
    for manifest, key, source in carried:
        manifest.write_text(embedded(manifest.read_text(), key, source.read_text()))


if __name__ == "__main__":
    main()
