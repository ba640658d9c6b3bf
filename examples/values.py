"""Write each example as values of the fleet chart: ``python -m examples.values``.

The value ``fleet`` is the manifest's ``spec``, and ``code`` has the files of the manifest's ConfigMap. Tests render,
lint and install these values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collectorfleet_api.manifests.yaml_reader import read_documents
from collectorfleet_api.manifests.yaml_writer import to_yaml

FOLDER = Path(__file__).parent
WRITTEN = FOLDER.parent / "charts" / "collectorfleet" / "ci"


def values(manifest: str) -> dict[str, Any]:
    """Return the chart's values for the fleet and the ConfigMap of a manifest."""
    found = {document.content["kind"]: document.content for document in read_documents(manifest)}
    spec = found["CollectorFleet"]["spec"]
    if "ConfigMap" not in found:
        return {"fleet": spec}
    without = {key: value for key, value in spec.items() if key != "code"}
    return {"fleet": without, "code": found["ConfigMap"]["data"]}


def pages() -> dict[Path, str]:
    """Return the text of each file of values, by its path."""
    return {
        WRITTEN / f"{manifest.stem}-values.yaml": (
            f"# `make generate` writes this file from examples/{manifest.name}. Change the example instead.\n"
            + to_yaml(values(manifest.read_text()))
        )
        for manifest in sorted(FOLDER.glob("*.yaml"))
    }


def main() -> None:
    for path, text in pages().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
