"""The note that is printed if the releases of program, CRD, operators and images do not fit together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from collectorfleet.cli.version import version

if TYPE_CHECKING:
    from collectorfleet.client.release import Releases

_RELEASE: Final = re.compile(r"(\d{1,9})\.(\d{1,9})(\..*)?")
# The image of a release, in any registry. The release of your own image is unknown.
_IMAGE: Final = re.compile(r"(?:.*/)?collectorfleet/collectorfleet:([^:@]+)(?:@.*)?")

_Minor = tuple[int, int]


def difference(cluster: Releases, images: Mapping[str, str]) -> str | None:
    """Return a note with the remedy for the first difference that matters, or None.

    ``images`` has the image of each fleet by the fleet's name. Patch releases change no field and no command, and an
    operator also serves older images. An unknown release is no difference.
    """
    return (
        _between_crd_and_operators(cluster)
        or _between_images_and_cluster(images, cluster)
        or _between_program_and_cluster(cluster)
    )


def _between_crd_and_operators(cluster: Releases) -> str | None:
    other = [one for one in cluster.operators if _minor(one) != _minor(cluster.crd) and _minor(one)]
    if not other or _minor(cluster.crd) is None:
        return None
    has = "an operator has" if len(cluster.operators) > 1 else "the operator has"
    return (
        f"note: the CRD has version {cluster.crd} of CollectorFleet, but {has} version {other[0]}; upgrade CRD and "
        "operators to the same version"
    )


def _between_images_and_cluster(images: Mapping[str, str], cluster: Releases) -> str | None:
    newest = max(filter(None, map(_minor, cluster.operators or (cluster.crd,))), default=None)
    for fleet, image in images.items():
        release = found[1] if (found := _IMAGE.fullmatch(image)) else None
        minor = _minor(release)
        if newest is not None and minor is not None and minor > newest:
            return (
                f"note: the image of fleet {fleet} has version {release} of CollectorFleet, but the cluster has "
                f"version {newest[0]}.{newest[1]}; upgrade CRD and operator before the images"
            )
    return None


def _between_program_and_cluster(cluster: Releases) -> str | None:
    own, other = version(), cluster.crd or next(iter(cluster.operators), None)
    minor = _minor(other)
    if minor is None or minor == _minor(own):
        return None
    return (
        f"note: this program has version {own} of CollectorFleet, but the cluster has version {other}; to use the "
        f"cluster's version, run: pip install 'collectorfleet[client]=={minor[0]}.{minor[1]}.*'"
    )


def _minor(release: str | None) -> _Minor | None:
    """Return the major and the minor number of a release such as ``0.2.1-rc1``, or None for other text."""
    found = _RELEASE.fullmatch(release or "")
    return (int(found[1]), int(found[2])) if found else None
