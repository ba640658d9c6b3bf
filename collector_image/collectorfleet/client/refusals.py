"""The errors that say why a folder is not packed."""

from __future__ import annotations

from collections.abc import Sequence

from collectorfleet.errors import CollectorFleetError


class FolderRefused(CollectorFleetError):
    """Raised if a folder cannot be packed. ``problems`` has a sentence for each reason."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class TooLarge(FolderRefused):
    """Raised if a folder does not fit into a ConfigMap."""


def shown(name: str) -> str:
    """Return a printable file name: quoted if the name has control characters or is not UTF-8."""
    return name if name.isprintable() else repr(name)


def joined(names: Sequence[str], most: int = 10) -> str:
    """Return the first ``most`` names, and the number of the remaining names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more
