"""What a file is known by."""

from __future__ import annotations

import hashlib
from typing import IO, Final

_CHUNK: Final = 2**20


def sha256(file: IO[bytes]) -> str:
    """Of the whole file, in hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256()
    for chunk in iter(lambda: file.read(_CHUNK), b""):
        digest.update(chunk)
    return digest.hexdigest()
