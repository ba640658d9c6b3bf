"""Select the files to pack, without files that may be secret and files that are never imported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from collectorfleet.client.left_out import is_left_out
from collectorfleet.client.links import Found, follow
from collectorfleet.client.listing import IGNORE_FILE, list_files, patterns, walk
from collectorfleet.client.refusals import FolderRefused, joined, shown
from collectorfleet.client.secret_names import looks_secret

# Outside of a git repository, only these files are packed: code, and text files that programs usually read at their
# start.
SUFFIXES: Final = frozenset({".py", ".pyi", ".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".xml", ".txt"})
_WILDCARDS: Final = frozenset("*?[")


@dataclass(frozen=True)
class Selection:
    """The files to pack. ``files`` maps the path in the archive to the source file.

    ``left_out`` are files that are not packed because of their type.
    """

    files: dict[str, Path]
    left_out: tuple[str, ...]


def select(folder: Path, *, include: Sequence[str], without: Collection[Path]) -> Selection:
    """Select the files of ``folder`` to pack. Raises FolderRefused with every reason."""
    root = folder.resolve()
    if not root.is_dir():
        raise FolderRefused(f"{folder}: the folder does not exist")
    try:
        included = _Included(root, include)
        listed = list_files(root, may_be_empty=bool(include))
        apart = {path.resolve() for path in without} | {path.parent.resolve() / path.name for path in without}
        apart_names = {path.relative_to(root).as_posix() for path in apart if path.is_relative_to(root)}
        names = (listed.names | included.names) - apart_names
        found = sorted(follow(root, names), key=lambda one: one.name.split("/"))
    except OSError as error:
        raise FolderRefused(f"{error.filename}: {error.strerror}") from error
    return _sort(folder, root, found, included, any_type=listed.in_repository)


def _sort(folder: Path, root: Path, found: Sequence[Found], included: _Included, *, any_type: bool) -> Selection:
    files: dict[str, Path] = {}
    left_out, secrets, links = [], [], []
    for one in found:
        if (looks_secret(one.name) or looks_secret(one.source)) and not included.match_own_name(one.name):
            secrets.append(one.name)
        elif is_left_out(one.name) and not included.match(one.name):
            continue
        elif not (any_type or one.leads_to_folder or _is_code(one.name) or included.match(one.name)):
            left_out.append(one.name)
        elif one.problem:
            links.append(f"{one.name} {one.problem}")
        else:
            files[one.name] = root / one.source
    problems = [*_of_secrets(folder, secrets), *_of_links(folder, links), *_of_unused(folder, found, included)]
    if problems:
        raise FolderRefused(*problems)
    return Selection(files, tuple(left_out))


def _is_code(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def _of_secrets(folder: Path, names: Sequence[str]) -> Iterator[str]:
    if names:
        look = (
            "1 file looks like a key or a secret"
            if len(names) == 1
            else f"{len(names)} files look like keys or secrets"
        )
        move, name, them = ("it", shown(names[0]), "it") if len(names) == 1 else ("them", "NAME", "each")
        yield (
            f"{folder}: {look}: {joined(names)}; users who may view ConfigMaps could read {move}; move {move} out of "
            f"the folder, name {move} in {IGNORE_FILE}, or pack {them} with --include {name}"
        )


def _of_links(folder: Path, links: Sequence[str]) -> Iterator[str]:
    if links:
        are = "1 symbolic link cannot" if len(links) == 1 else f"{len(links)} symbolic links cannot"
        yield (
            f"{folder}: {are} be packed: {joined(links)}; replace the links by the files, or name the links in "
            f"{IGNORE_FILE}"
        )


def _of_unused(folder: Path, found: Sequence[Found], included: _Included) -> Iterator[str]:
    if lines := sorted(included.unused([one.name for one in found])):
        yield (
            f"{', '.join(f'--include {line}' for line in lines)}: no file in {folder} matches; correct the pattern, "
            "and write the path of a hidden file without wildcards"
        )


class _Included:
    """The files that ``--include`` selects. Each line of the option has the syntax of a ``.gitignore``."""

    def __init__(self, root: Path, lines: Sequence[str]) -> None:
        self._specs = {line: patterns("--include", [line]) for line in lines}
        self._literal = {line: spec for line, spec in self._specs.items() if _WILDCARDS.isdisjoint(line)}
        entered = {part for line in self._literal for part in line.split("/")}
        self.names: frozenset[str] = frozenset()
        if lines:
            self.names = frozenset(filter(self.match, walk(root, lambda _: False, entered)))

    def match(self, name: str) -> bool:
        specs = self._literal if is_left_out(name) else self._specs
        return any(spec.match_file(name) for spec in specs.values())

    def match_own_name(self, name: str) -> bool:
        """Return whether a line selects the file, has no wildcards, and ends with the file's own name."""
        last = name.rpartition("/")[2]
        return any(spec.match_file(name) for line, spec in self._literal.items() if line.rpartition("/")[2] == last)

    def unused(self, found: Sequence[str]) -> Iterator[str]:
        for line, spec in self._specs.items():
            if not any(spec.match_file(name) for name in (*self.names, *found)):
                yield line
