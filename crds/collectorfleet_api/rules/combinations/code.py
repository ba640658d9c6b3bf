"""Where the user's code comes from: one place, if it is not the image."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


def _one_place(spec: CollectorFleetSpec) -> bool:
    code = spec.code
    return code is None or (code.config_map is None) is not (code.archive is None)


def _archive_in_one_place(spec: CollectorFleetSpec) -> bool:
    archive = spec.code and spec.code.archive
    return not archive or (archive.config_map is None) is not (archive.url is None)


CODE: Final = (
    Combination(
        "code-from-one-place",
        "code",
        _one_place,
        "has(self.configMap) != has(self.archive)",
        "set configMap or archive, one of them; with the code in the image, leave code out",
        on="code",
    ),
    Combination(
        "archive-from-one-place",
        "code.archive",
        _archive_in_one_place,
        "has(self.configMap) != has(self.url)",
        "set configMap or url, one of them",
        on="code.archive",
    ),
    Combination(
        "code-path-needs-archive",
        "code.path",
        lambda spec: spec.code is None or spec.code.path is None or spec.code.archive is not None,
        "!has(self.path) || has(self.archive)",
        "the keys of a ConfigMap are files without folders; leave it out, or set archive",
        on="code",
    ),
)
