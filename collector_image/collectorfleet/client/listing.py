"""The list of a folder's files: the files that git lists, or the files that no ignore file matches.

Links are not followed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from collectorfleet.client.left_out import environments, is_environment, is_left_out
from collectorfleet.client.refusals import FolderRefused
from collectorfleet.errors import one_sentence

IGNORE_FILE: Final = ".collectorfleetignore"
_GIT_IGNORE_FILE: Final = ".gitignore"
# git sets these variables for its hooks. With them, git would read the hook's repository and not the folder's.
_OF_GIT_HOOKS: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})


@dataclass(frozen=True)
class Listing:
    """The paths of files and links below the folder, without the contents of folders that are left out."""

    names: frozenset[str]
    in_repository: bool


def list_files(root: Path, *, may_be_empty: bool = False) -> Listing:
    """List the files below ``root`` that neither git nor ``.collectorfleetignore`` ignores.

    In a repository, the program ``git`` lists the files. If git is not installed, this function reads the
    ``.gitignore`` files. The result then lacks ignored files, even if the repository contains them.

    Raises:
        FolderRefused: git cannot list the files, or lists none although ``may_be_empty`` is False.
    """
    own = _spec(root / IGNORE_FILE)
    try:
        by_git = _git_names(root)
    except FileNotFoundError:
        top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
        return Listing(_walked(root, top or root, own), in_repository=top is not None)
    if by_git == [] and not may_be_empty:
        raise FolderRefused(
            f"{root}: git lists no file of this folder; change the {_GIT_IGNORE_FILE} that matches the folder, or "
            "name files with --include"
        )
    if by_git is None:
        return Listing(_walked(root, root, own), in_repository=False)
    within = environments(by_git)
    kept = (name for name in by_git if not any(is_left_out(one) or one in within for one in _folders(name)))
    return Listing(frozenset(name for name in kept if not own.match_file(name)), in_repository=True)


def patterns(where: str, lines: Sequence[str]) -> GitIgnoreSpec:
    """Parse lines of a ``.gitignore``.

    Raises FolderRefused if a line is invalid. The message names ``where``, the source of the lines.
    """
    try:
        # The other backends reject names that are not UTF-8.
        return GitIgnoreSpec.from_lines(lines, backend="simple")
    except ValueError as error:
        raise FolderRefused(f"{where}: {error}") from error


def walk(root: Path, ignored: Callable[[str], bool], entered: Collection[str] = ()) -> Iterator[str]:
    """Yield files and links below ``root``.

    ``ignored`` is called with each path below ``root``. The path of a folder ends with a slash. A folder that
    :mod:`collectorfleet.client.left_out` leaves out is entered only if its name is in ``entered``.
    """
    folders = [""]
    while folders:
        below = folders.pop()
        with os.scandir(root / below) as found:
            entries = {entry.name: entry for entry in found}
        if below and is_environment(entries) and below.split("/")[-2] not in entered:
            continue
        for name, entry in entries.items():
            path = below + name
            if entry.is_dir(follow_symlinks=False):
                if (name in entered or not is_left_out(name)) and not ignored(f"{path}/"):
                    folders.append(f"{path}/")
            elif (entry.is_symlink() or entry.is_file()) and not ignored(path):
                yield path


def _git_names(folder: Path) -> list[str] | None:
    """Return the files that git lists, or None outside of a repository. Raises FileNotFoundError without git."""
    listed = subprocess.run(
        # Without this setting, git could run a program that the repository's settings name as fsmonitor.
        [
            *("git", "-C", str(folder), "-c", "core.fsmonitor=false"),
            *("ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        ],
        env={name: value for name, value in os.environ.items() if name not in _OF_GIT_HOOKS} | {"LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        said = one_sentence(listed.stderr.decode(errors="replace"))
        if "not a git repository" in said:
            return None
        raise FolderRefused(f"{folder}: git cannot list the files: {said}")
    names = {os.fsdecode(name).rstrip("/") for name in listed.stdout.split(b"\0") if name}
    found: list[str] = []
    for name in names - _behind_links(folder, names):
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            # The folder is another repository, or a submodule that is not checked out.
            within = _git_names(path) if (path / ".git").exists() else None
            found += (f"{name}/{one}" for one in within or ())
        elif path.is_symlink() or path.is_file():  # git lists deleted files, too
            found.append(name)
    return found


def _behind_links(folder: Path, names: Iterable[str]) -> set[str]:
    """Return the names in the git index that lie below a folder that is now a symbolic link."""
    links = {one for one in {one for name in names for one in _folders(name)} if (folder / one).is_symlink()}
    return {name for name in names if not links.isdisjoint(_folders(name))}


def _folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:at]) for at in range(1, len(parts))]


def _walked(root: Path, top: Path, own: GitIgnoreSpec) -> frozenset[str]:
    git_ignores = _GitIgnores(top)
    above = "" if root == top else f"{root.relative_to(top).as_posix()}/"
    return frozenset(walk(root, lambda name: own.match_file(name) or git_ignores.match(above + name)))


class _GitIgnores:
    """The ``.gitignore`` files of ``top`` and below. If several files match a path, the deepest file decides."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._specs: dict[str, GitIgnoreSpec | None] = {}

    def match(self, name: str) -> bool:
        for folder in (*reversed(_folders(name.rstrip("/"))), ""):
            if folder not in self._specs:
                file = self._top / folder / _GIT_IGNORE_FILE
                self._specs[folder] = _spec(file) if file.is_file() else None
            spec = self._specs[folder]
            decided = spec.check_file(name[len(folder) :].lstrip("/")).include if spec else None
            if decided is not None:
                return decided
        return False


def _spec(file: Path) -> GitIgnoreSpec:
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
    return patterns(str(file), text.splitlines())
