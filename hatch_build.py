"""Make the README's links absolute in the metadata: the page of the package has no other files of the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Set ``project.readme``, which ``pyproject.toml`` declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Let links and pictures lead to the files of the same version."""
        readme = (Path(self.root) / "README.md").read_text()
        project, tag = "collectorfleet/collectorfleet", f"v{metadata['version']}"

        def absolute(link: re.Match[str]) -> str:
            picture, text, path = link.groups()
            if picture:
                return f"!{text}(https://raw.githubusercontent.com/{project}/{tag}/{path})"
            return f"{text}(https://github.com/{project}/blob/{tag}/{path})"

        metadata["readme"] = {"content-type": "text/markdown", "text": LINK.sub(absolute, readme)}
