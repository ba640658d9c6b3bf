"""Checks the keys of a ConfigMap. Each key becomes the name of a file."""

from __future__ import annotations

import re
from typing import Final

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def key_problem(key: object) -> str | None:
    """Return the problem of a key by the API server's rules, or None.

    Source: ``IsConfigMapKey`` of ``k8s.io/apimachinery/pkg/util/validation``.
    """
    name = str(key)  # YAML reads some keys as numbers
    if _KEY.fullmatch(name) and name != "." and not name.startswith(".."):
        return None
    if "/" in name:
        return (
            f"{name[:260]!r} is not a valid ConfigMap key, because it contains '/'; put files of folders into "
            "spec.code.archive, git or artifact"
        )
    return (
        f"{name[:260]!r} is not a valid ConfigMap key; use 1 to 253 letters, digits, '-', '_' or '.', and do not "
        "begin with '..'"
    )
