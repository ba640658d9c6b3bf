"""Manifests in a folder, as a user names them on the command line."""

from __future__ import annotations

from pathlib import Path

import yaml


def written(folder: Path, *objects: dict[str, object]) -> str:
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)
