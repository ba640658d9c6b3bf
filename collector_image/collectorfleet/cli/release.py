"""The sentence for a program and a cluster that are not of the same minor release."""

from __future__ import annotations

from collectorfleet.cli.version import version


def difference(cluster: str | None) -> str | None:
    """Return what to do if the cluster's version differs in its minor number or above; None if it is unknown.

    Patch releases change no field and no command.
    """
    own = version()
    if cluster is None or _minor(cluster) == _minor(own):
        return None
    return (
        f"note: this program is CollectorFleet {own} and the cluster has {cluster}; for all fields and commands of the "
        f"cluster: pip install 'collectorfleet[client]=={'.'.join(_minor(cluster))}.*'"
    )


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]
