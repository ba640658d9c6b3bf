"""Resolution of the symbolic links of a folder."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Found:
    """A file to pack, or a link that is not followed.

    ``name`` is the path below the folder, and ``source`` is the path of the content. If a link is not followed,
    ``problem`` is the reason, and ``leads_to_folder`` is True if the link's target is a folder.
    """

    name: str
    source: str = ""
    problem: str = ""
    leads_to_folder: bool = False


def follow(root: Path, names: Collection[str]) -> Iterator[Found]:
    """Yield each file and the target of each link. If the target is a folder, yield each file of that folder.

    A link in a linked folder may lead to a file, but not to a folder. Otherwise links could create any number of paths.
    """
    # Use os.path and not pathlib. A folder of data may have 100,000 files, for which pathlib would take seconds.
    links = {name for name in names if os.path.islink(f"{root}/{name}")}
    files = frozenset(names) - links
    yield from (Found(name, name) for name in files)
    for link in links:
        target = _target(root, link)
        if isinstance(target, Found):
            yield target
        elif not (root / target).is_dir():
            yield _file(link, target, files)
        elif _is_within(link, target):
            yield Found(link, problem="points to a folder that contains the link", leads_to_folder=True)
        else:
            yield from (Found(_moved(name, target, link), name) for name in files if _is_within(name, target))
            for inner in (name for name in links if _is_within(name, target)):
                yield _second(root, inner, _moved(inner, target, link), files)


def _second(root: Path, link: str, name: str, files: Collection[str]) -> Found:
    """Return the target of a link in a linked folder. ``name`` is the link's path in the archive."""
    target = _target(root, link)
    if isinstance(target, Found):
        return Found(name, problem=target.problem, leads_to_folder=target.leads_to_folder)
    if (root / target).is_dir():
        return Found(name, problem="is in a linked folder and points to another folder", leads_to_folder=True)
    return _file(name, target, files)


def _target(root: Path, link: str) -> str | Found:
    """Return the path below ``root`` that the link leads to, with all links resolved. "" means ``root``."""
    try:
        target = Path(os.path.realpath(root / link, strict=True))
    except OSError:
        return Found(link, problem="points to a file that does not exist")
    if not target.is_relative_to(root):
        problem = f"points out of the folder to {os.readlink(root / link)}"
        return Found(link, problem=problem, leads_to_folder=target.is_dir())
    return "" if target == root else target.relative_to(root).as_posix()


def _file(name: str, target: str, files: Collection[str]) -> Found:
    return Found(name, target) if target in files else Found(name, problem=f"points to {target}, which is not packed")


def _is_within(name: str, folder: str) -> bool:
    return not folder or name.startswith(f"{folder}/")


def _moved(name: str, folder: str, to: str) -> str:
    return to + name[len(folder) :]
