"""Read the credentials for a registry from a Secret of type ``kubernetes.io/dockerconfigjson``."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.registry import Reference

_FILE: Final = ".dockerconfigjson"


@dataclass(frozen=True)
class Login:
    username: str
    password: str = field(repr=False)


def login(credentials: Path, secret: str, reference: Reference) -> Login:
    """Return the credentials for a registry from the files of a Secret. Raises InvalidOption if the Secret has none."""
    where = f"spec.code.artifact.credentialsSecret: Secret {secret}"
    try:
        entries: dict[str, dict[str, Any]] = json.loads((credentials / _FILE).read_text())["auths"]
        found = _nearest(entries, reference)
        if found is None:
            raise InvalidOption(
                f"{where} has no credentials for {reference.host}, only for {', '.join(sorted(entries))}"
            )
        return _of(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidOption):
            raise
        # The message leaves out the cause, which could quote the password.
        raise InvalidOption(
            f"{where} is not a Secret of type kubernetes.io/dockerconfigjson with username and password; make "
            "one by `kubectl create secret docker-registry`"
        ) from None


def _nearest(entries: dict[str, dict[str, Any]], reference: Reference) -> dict[str, Any] | None:
    """Return the entry with the longest path that matches the reference, or None if no entry matches.

    The kubelet chooses an entry in the same way.
    """
    address = f"{reference.host}/{reference.repository}/"
    matching = [key for key in entries if address.startswith(f"{_plain(key)}/")]
    return entries[max(matching, key=len)] if matching else None


def _plain(key: str) -> str:
    plain = key.removeprefix("https://").removeprefix("http://").rstrip("/")
    for version in ("/v1", "/v2"):
        plain = plain.removesuffix(version)
    return "docker.io" if plain == "index.docker.io" else plain


def _of(entry: dict[str, Any]) -> Login:
    if "username" in entry:
        return Login(entry["username"], entry["password"])
    try:
        username, _, password = base64.b64decode(entry["auth"]).decode().partition(":")
    except binascii.Error as error:
        raise ValueError from error
    return Login(username, password)
