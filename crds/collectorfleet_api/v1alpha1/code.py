"""``spec.code``: the user's Python code, where it is not in the image."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import HttpUrl, Sha256, SubPath


class Archive(Model):
    """A package tree in one file: a tar, compressed or not, or a zip."""

    config_map: str | None = Field(
        default=None,
        min_length=1,
        max_length=253,
        description="ConfigMap in the fleet's namespace that has the archive in `binaryData`, below `key`.",
    )
    key: str = Field(
        default="code.tar.gz",
        min_length=1,
        max_length=253,
        pattern=r"^[-._a-zA-Z0-9]+$",
        description="Key of the archive in the ConfigMap.",
    )
    url: HttpUrl | None = Field(default=None, description="Where the pods fetch the archive from.")
    sha256: Sha256 = Field(
        description=(
            "SHA-256 of the archive in hexadecimal digits. No pod starts with another: what is behind a URL may "
            "change, and pods that start later must not run other code."
        )
    )


class Code(Model):
    config_map: str | None = Field(
        default=None,
        min_length=1,
        max_length=253,
        description=(
            "ConfigMap in the fleet's namespace whose keys are Python files; it is mounted into head, workers and "
            "driver and put first on the import path."
        ),
    )
    archive: Archive | None = Field(
        default=None,
        description=(
            "Package tree that is unpacked in head, workers and driver before they start, and put first on the import "
            "path. In place of `configMap`."
        ),
    )
    path: SubPath | None = Field(
        default=None,
        description="Folder of the archive that is put on the import path, such as `src`. Default: its root.",
    )
