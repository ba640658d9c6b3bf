"""``collectorfleet init NAME``: write a project folder with a fleet that trains."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

from collectorfleet.cli.version import version
from collectorfleet_api.names import EXIT_USER_ERROR, MAX_NAME_LENGTH
from collectorfleet_api.object_names import SERVICE_NAME

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# The folders of templates that are copied into the project, for each value of --from.
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "ppo": ("every", "cartpole", "ppo"),
    "sac": ("every", "pendulum", "sac"),
    "gather": ("every", "cartpole", "gather"),
    "script": ("every", "cartpole", "script"),
}
# In the project, the names of these files begin with a dot. The names of the templates have no dot, because git would
# apply a template ``.gitignore`` to this repository.
_HIDDEN: Final = frozenset({"gitignore", "collectorfleetignore"})


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    init = commands.add_parser(
        "init",
        help="write a folder with an example fleet to start from",
        description="Write the folder NAME: environment, policy, training function, fleet.yaml, a test and a README. "
        "`collectorfleet run NAME` trains the fleet on this machine. `collectorfleet submit NAME` trains the fleet on "
        "a cluster.",
        epilog="exit codes: 0 written, 64 the name cannot be used, or the folder is not empty",
    )
    init.add_argument("name", metavar="NAME", help="name of the fleet and of its folder")
    init.add_argument(
        "--from",
        dest="kind",
        choices=KINDS,
        default="ppo",
        help=(
            "ppo (default): PPO on CartPole; sac: SAC on Pendulum; gather: a loop for an algorithm of your own; "
            "script: PPO as a program"
        ),
    )
    init.set_defaults(command=_init)


def _init(options: argparse.Namespace) -> int:
    name, folder = options.name, Path(options.name)
    if len(name) > MAX_NAME_LENGTH or not re.fullmatch(SERVICE_NAME, name):
        return _error(
            f"{name!r} cannot name a fleet; use up to {MAX_NAME_LENGTH} lower-case letters, digits and '-', "
            "starting with a letter and ending in a letter or digit"
        )
    is_new = not folder.exists()
    if not is_new and any(folder.iterdir()):
        return _error(f"{folder}: the folder is not empty; take another name, or empty the folder")
    written = []
    try:
        folder.mkdir(exist_ok=True)
        for file, text in project(options.kind, name).items():
            written.append(folder / file)
            written[-1].write_text(text, encoding="utf-8")
    except BaseException:
        # A part of a project would be in the way of the next try.
        for path in written:
            path.unlink(missing_ok=True)
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    print(f"{folder} has a fleet that trains; `collectorfleet run {name}` runs the fleet on this machine")
    return 0


def project(kind: str, name: str) -> dict[str, str]:
    """Return the texts of a project's files by file name. ``kind`` is a key of ``KINDS``."""
    values = {"name": name, "version": version()}
    return {
        f".{file.name}" if file.name in _HIDDEN else file.name: _filled(file, values)
        for folder in KINDS[kind]
        for file in _templates(folder)
    }


def _templates(folder: str) -> Iterator[Traversable]:
    from importlib.resources import files

    found = files("collectorfleet.cli") / "templates" / folder
    return (file for file in found.iterdir() if file.is_file())


def _filled(file: Traversable, values: Mapping[str, str]) -> str:
    text = file.read_text(encoding="utf-8")
    # Python files have no placeholders, so that linters and tests can check the templates.
    return text if file.name.endswith(".py") else Template(text).substitute(values)


def _error(text: str) -> int:
    print(f"error: {text}", file=sys.stderr)
    return EXIT_USER_ERROR
