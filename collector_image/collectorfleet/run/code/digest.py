"""Compute digests of files."""

from __future__ import annotations

import hashlib
from typing import IO, Final

_CHUNK: Final = 2**20


def sha256(file: IO[bytes]) -> str:
    """Return the SHA-256 of the whole file in hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256()
    for chunk in iter(lambda: file.read(_CHUNK), b""):
        digest.update(chunk)
    return digest.hexdigest()
