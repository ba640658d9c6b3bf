"""Checks of names that become a part of a request's path. The name ``..`` would lead the request to another object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collectorfleet.errors import FleetNotFound, FleetRejected, InvalidOption
from collectorfleet_api import names
from collectorfleet_api.nesting import TooDeepError, check_depth
from collectorfleet_api.object_names import MAX_OBJECT_NAME_LENGTH, NAMESPACE_NAME, OBJECT_NAME

_SHOWN: Final = 60  # characters in a message


def checked_namespace(namespace: str) -> str:
    """Return ``namespace``. Raises InvalidOption if no namespace can have this name."""
    if not re.fullmatch(NAMESPACE_NAME, namespace):
        raise InvalidOption(
            f"namespace {_shown(namespace)}: a namespace has up to 63 lower-case letters, digits and '-'; correct the "
            "name"
        )
    return namespace


def checked_fleet(name: str) -> str:
    """Return ``name``, which a user gave. Raises FleetNotFound if no fleet can have this name."""
    if not _is_name(name):
        raise FleetNotFound(f"no fleet {_shown(name)}: a fleet's name has lower-case letters, digits and '-'")
    return name


def checked_object(kind: str, manifest: Mapping[str, Any]) -> str:
    """Return the name in the manifest of an object of ``kind``. Raises FleetRejected if it is missing or invalid."""
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str):
        raise FleetRejected(f"{kind}: the manifest has no metadata.name; give the object a name")
    if not _is_name(name):
        raise FleetRejected(f"{kind} {_shown(name)}: use lower-case letters, digits, '-' and '.' in metadata.name")
    return name


def checked_depth(manifest: Mapping[str, Any]) -> None:
    """Raise FleetRejected if a part of a fleet's manifest is nested too deeply."""
    try:
        check_depth(manifest)
    except TooDeepError as error:
        raise FleetRejected(f"{names.KIND}: {error.path}: {error}") from error


def _is_name(name: str) -> bool:
    return len(name) <= MAX_OBJECT_NAME_LENGTH and re.fullmatch(OBJECT_NAME, name) is not None


def _shown(name: str) -> str:
    return repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}...")
