"""Write the members of an archive into a folder. Refuse members that would be written outside of this folder.

Python's filter for tars is missing before Python 3.11.4, and Python has no filter for zips.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Final

_LONGEST_NAME_BYTES: Final = 255  # limit of file systems
_LONGEST_PATH_BYTES: Final = 1024


class BadMember(ValueError):
    """A member cannot be written into the folder. The message has the member's name and the reason."""


class Kind(Enum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "symbolic link"
    HARD_LINK = "hard link"
    OTHER = "device or other special file"


@dataclass(frozen=True)
class Member:
    """A member of an archive. ``target`` is the target of a link. For a hard link it is the name of another member."""

    name: str
    kind: Kind
    target: str = ""
    executable: bool = False


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a member's path, or an empty tuple for the root of the archive. Raises BadMember."""
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise BadMember(f"{name!r} leads out of its folder")
    if "\0" in name:
        raise BadMember(f"{name!r} has a zero byte in its name")
    longest = max((len(os.fsencode(part)) for part in parts), default=0)
    if longest > _LONGEST_NAME_BYTES or len(os.fsencode(name)) > _LONGEST_PATH_BYTES:
        raise BadMember(
            f"{name[:40]!r}... has a name of more than {_LONGEST_NAME_BYTES} bytes, or a path of more than "
            f"{_LONGEST_PATH_BYTES}"
        )
    return parts


class MemberFolder:
    """The folder at ``path`` that an archive is unpacked into. The folder exists."""

    def __init__(self, path: Path) -> None:
        self._root = path.resolve(strict=True)
        # A cache of folders, keyed by the parts of their paths. It has no folders behind links. No member replaces a
        # folder, so an entry stays valid. Without the cache, each file in a deep folder would check each level again.
        self._folders: dict[tuple[str, ...], Path] = {(): self._root}

    def put(self, member: Member, content: IO[bytes] | None = None) -> None:
        """Write the member. The member replaces a file or link of the same name. Raises BadMember or OSError."""
        parts = parts_of(member.name)
        if not parts:
            return
        parent = self._parent(parts, member.name)
        place = parent / parts[-1]
        if member.kind is Kind.FOLDER:
            self._enter(place, member.name)
            return
        if place.is_dir() and not place.is_symlink():
            raise BadMember(f"{member.name!r} is both a folder and a {member.kind.value}")
        match member.kind:
            case Kind.LINK:
                target = self._target(member, parent)
                place.unlink(missing_ok=True)
                place.symlink_to(target)
            case Kind.HARD_LINK:
                source = self._source(member)
                if source.is_symlink():
                    self.put(Member(member.name, Kind.LINK, os.readlink(source)))
                elif source != place:
                    place.unlink(missing_ok=True)
                    os.link(source, place, follow_symlinks=False)
            case Kind.FILE if content is not None:
                place.unlink(missing_ok=True)
                with place.open("xb") as file:
                    shutil.copyfileobj(content, file)
                place.chmod(0o755 if member.executable else 0o644)
            case _:
                raise BadMember(f"{member.name!r} is a {member.kind.value}")

    def place_of(self, name: str) -> Path | None:
        """Return the path of a member in the folder, or None if the member does not exist. Raises BadMember."""
        parts = parts_of(name)
        place = self._root
        for part in parts[:-1]:
            place = place / part
            if not place.is_dir():
                return None
            place = self._inside(place, name)
        place = place / parts[-1] if parts else place
        return place if place.exists() or place.is_symlink() else None

    def _parent(self, parts: tuple[str, ...], name: str) -> Path:
        known = next(count for count in range(len(parts) - 1, -1, -1) if parts[:count] in self._folders)
        place = self._folders[parts[:known]]
        for count in range(known + 1, len(parts)):
            above, place = place, self._enter(place / parts[count - 1], name)
            if parts[: count - 1] in self._folders and place == above / parts[count - 1]:
                self._folders[parts[:count]] = place
        return place

    def _enter(self, place: Path, name: str) -> Path:
        """Return the path of the folder at ``place``, with links resolved. Make the folder if it does not exist."""
        if not place.is_symlink():
            if place.exists() and not place.is_dir():
                raise BadMember(f"{name!r} needs a folder, but a file has the folder's name")
            place.mkdir(exist_ok=True)
            return place
        return self._inside(place, name)

    def _inside(self, place: Path, name: str) -> Path:
        try:
            found = place.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise BadMember(f"{name!r} needs a folder, but a broken link has the folder's name") from error
        if not found.is_relative_to(self._root) or not found.is_dir():
            raise BadMember(f"{name!r} leads out of its folder through a link")
        return found

    def _target(self, member: Member, parent: Path) -> str:
        parts = [part for part in member.target.split("/") if part not in ("", ".")]
        up = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
        # `..` is allowed only at the beginning: after a name, its meaning depends on whether the name is a link.
        leads_out = up > len(parent.relative_to(self._root).parts) or ".." in parts[up:]
        if not member.target or member.target.startswith("/") or "\0" in member.target or leads_out:
            raise BadMember(f"{member.name!r} is a link to {member.target!r}, which is outside of the folder")
        return member.target

    def _source(self, member: Member) -> Path:
        source = self.place_of(member.target)
        if source is None or not (source.is_symlink() or source.is_file()):
            raise BadMember(
                f"{member.name!r} is a hard link to {member.target!r}, but no file with this name was unpacked before"
            )
        return source
