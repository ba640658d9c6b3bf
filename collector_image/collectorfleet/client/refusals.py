"""Why a folder is not packed."""

from __future__ import annotations

from collections.abc import Sequence

from collectorfleet.errors import CollectorFleetError


class FolderRefused(CollectorFleetError):
    """A folder that is not packed; ``problems`` has a sentence for each reason."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class TooLarge(FolderRefused):
    """A folder that does not fit into a ConfigMap."""


def shown(name: str) -> str:
    """Return a file's name as it can be printed: quoted if it has control characters or bytes that are no UTF-8."""
    return name if name.isprintable() else repr(name)


def joined(names: Sequence[str], most: int = 10) -> str:
    """Return the first names, and how many there are besides them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more
