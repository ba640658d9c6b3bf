"""What an image is made of: how large its parts are, and files that should not be in it."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

OTHER_PACKAGES, SYSTEM = "other Python packages", "system and Python"
# A folder below a site-packages folder, or a folder of the image -> the part that it belongs to.
_PACKAGES: Mapping[str, str] = {
    "torch": "torch",
    "nvidia": "CUDA libraries that torch asks for",
    "triton": "Triton",
    "ray": "Ray",
    "torchrl": "TorchRL and tensordict",
    "tensordict": "TorchRL and tensordict",
    "collectorfleet": "CollectorFleet",
    "collectorfleet_api": "CollectorFleet",
    "collectorfleet_operator": "CollectorFleet",
}
_SITE = "site-packages"
# Of the machine that mounts it, or for everybody by design.
_NOT_THE_IMAGES_OWN = ("/dev", "/proc", "/sys", "/tmp", "/var/tmp", "/run/lock")


def part_of(path: str) -> str:
    """The part that a file of the image belongs to."""
    parts = PurePosixPath(path).parts
    if _SITE not in parts:
        return SYSTEM
    below = parts[parts.index(_SITE) + 1 :]
    return _PACKAGES.get(below[0], OTHER_PACKAGES) if below else OTHER_PACKAGES


def sizes(root: Path) -> Counter[str]:
    """Bytes of each part of an image whose files are below ``root``; a file with two names counts once."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    for path, status in _files(root):
        if status.st_ino not in seen:
            seen.add(status.st_ino)
            found[part_of(path)] += status.st_size
    return found


def changing_users(root: Path) -> list[str]:
    """Files that make whoever runs them another user or group."""
    return [path for path, status in _files(root) if status.st_mode & (stat.S_ISUID | stat.S_ISGID)]


def static_libraries(root: Path) -> list[str]:
    return [path for path, _ in _files(root) if path.endswith(".a")]


def writable(root: Path, user: int) -> list[str]:
    """The folders that a user other than root may write to, without those below another one of them."""
    found: list[str] = []
    for folder, _, _ in os.walk(root):
        path = "/" + str(Path(folder).relative_to(root)).removeprefix(".")
        if any(path == one or path.startswith(f"{one}/") for one in (*found, *_NOT_THE_IMAGES_OWN)):
            continue
        status = os.lstat(folder)
        if status.st_mode & stat.S_IWOTH or (status.st_uid == user and status.st_mode & stat.S_IWUSR):
            found.append(path)
    return sorted(found)


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every regular file of an image, by its path there."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield f"/{path.relative_to(root)}", status
