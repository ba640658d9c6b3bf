"""The note that is printed if the program and the cluster have different minor releases."""

from __future__ import annotations

from collectorfleet.cli.version import version


def difference(cluster: str | None) -> str | None:
    """Return a note with the remedy if the cluster's major or minor version differs from the program's.

    Return None if both versions are the same. Patch versions are not compared, because patch releases change no field
    and no command. Also return None if ``cluster`` is None: the cluster's version is unknown.
    """
    own = version()
    if cluster is None or _minor(cluster) == _minor(own):
        return None
    return (
        f"note: this program is CollectorFleet {own}, but the cluster has {cluster}; for all fields and commands of "
        "the "
        f"cluster: pip install 'collectorfleet[client]=={'.'.join(_minor(cluster))}.*'"
    )


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]
