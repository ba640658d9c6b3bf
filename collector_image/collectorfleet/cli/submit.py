"""``collectorfleet submit FOLDER``: run a folder of code as a fleet on a cluster."""

from __future__ import annotations

import argparse
import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from collectorfleet.cli import arguments, cluster, manifests
from collectorfleet.cli.extras import CLUSTER, require
from collectorfleet.cli.printing import print_line, print_problem
from collectorfleet.errors import InvalidOption
from collectorfleet_api.counts import counted
from collectorfleet_api.names import EXIT_USER_ERROR
from collectorfleet_api.v1alpha1 import CollectorFleet

if TYPE_CHECKING:
    from collectorfleet.client import Fleets, Tree


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    submit = commands.add_parser(
        "submit",
        help="run a folder of code as a fleet on a cluster",
        description=(
            "Pack the code of a folder into a ConfigMap, and apply the ConfigMap and the folder's fleet. If the fleet "
            "exists, the command changes the fleet. In a git repository, the command packs the files that git lists. "
            "Elsewhere, it packs Python files and configuration files. The command leaves out hidden files, virtual "
            "environments, and files that a line of .collectorfleetignore matches. The command refuses files whose "
            "names look like keys or secrets."
        ),
    )
    submit.add_argument(
        "folder", metavar="FOLDER", type=arguments.path, help="the code; the fleet can import its modules"
    )
    submit.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        type=arguments.path,
        help=f"the fleet's manifest; default: {manifests.MANIFEST} in FOLDER",
    )
    submit.add_argument("--path", help="the subfolder of FOLDER from which the fleet imports modules, such as src")
    submit.add_argument(
        "--include",
        metavar="GLOB",
        action="append",
        default=[],
        help=(
            "pack these files, too, such as '*.npz'. GLOB has the syntax of .gitignore. To pack a hidden file, or a "
            "file whose name looks like a secret, give its name without wildcards. You can give this option several "
            "times"
        ),
    )
    submit.add_argument(
        "--dry-run", action="store_true", help="list the files that would be packed, with sizes; needs no cluster"
    )
    cluster.add_options(submit, name=False)
    submit.set_defaults(command=_submit)


def _submit(options: argparse.Namespace) -> int:
    require(CLUSTER, options.prog)
    if not os.path.isdir(options.folder):
        is_file = os.path.exists(options.folder)
        raise InvalidOption(
            f"{options.folder}: "
            + ("this is a file; name its folder, and the file with -f" if is_file else "the folder does not exist")
        )
    file = options.filename or options.folder / manifests.MANIFEST
    found = manifests.read(str(file))
    if found is None:
        return EXIT_USER_ERROR
    manifests.print_findings(found, str(file))
    if found.errors:
        return EXIT_USER_ERROR
    fleet = _only(found.fleets, file)
    beside = [_config_map(obj, file) for obj in found.objects]
    tree = _pack(options, file)
    if tree is None:
        return EXIT_USER_ERROR
    if (script := fleet.spec.driver.script) and not script.startswith("/"):
        _warn_of_missing_script(script, tree, options, file)
    if options.dry_run:
        return _list(tree, options, file, fleet)
    if "namespace" in fleet.metadata.model_fields_set and not options.namespace:
        options.namespace = fleet.metadata.namespace
    return cluster.with_fleets(options, lambda fleets: _carry_out(fleets, options, file, fleet, tree, beside))


def _pack(options: argparse.Namespace, file: Path) -> Tree | None:
    """Pack the folder's code, except for the manifest ``file``.

    If the folder has problems, print each problem on stderr and return None. Also print the files that are not packed.
    Raises InvalidOption if ``--path`` is not a folder, or if no file of that folder is packed.
    """
    from collectorfleet.client import FolderRefused, pack
    from collectorfleet.client.refusals import joined

    if options.path and not os.path.isdir(options.folder / options.path):
        raise InvalidOption(f"--path {options.path}: {options.folder} has no such folder")
    try:
        # If the manifest were packed, each new number of collectors in the manifest would change the tree and cause a
        # restart.
        tree = pack(options.folder, include=options.include, without=[file])
    except FolderRefused as error:
        for problem in error.problems:
            print_problem(f"error: {problem}")
        return None
    if tree.left_out:
        are, them = (
            ("1 file of another type is", "it")
            if len(tree.left_out) == 1
            else (f"{len(tree.left_out)} files of other types are", "them")
        )
        print_problem(f"{are} not packed: {joined(tree.left_out)}; --include packs {them}")
    if options.path and not any(PurePosixPath(one.name).is_relative_to(options.path) for one in tree.files):
        raise InvalidOption(f"--path {options.path}: no file of this folder is packed")
    return tree


def _warn_of_missing_script(script: str, tree: Tree, options: argparse.Namespace, file: Path) -> None:
    """Print a warning if the packed code has no file at ``script``, a path below ``--path``. The image may have it."""
    found = PurePosixPath(options.path or "") / script
    if found not in {PurePosixPath(one.name) for one in tree.files}:
        print_problem(
            f"{file}: warning: spec.driver.script: {found} is not packed, so the driver looks for the script only in "
            "the image; correct the path, or pack the file with --include"
        )


def _list(tree: Tree, options: argparse.Namespace, file: Path, fleet: CollectorFleet) -> int:
    try:
        tree.put_into(fleet.to_wire(), options.path)
    except InvalidOption as error:
        raise InvalidOption(f"{file}: {error}") from error
    for one in tree.files:
        print_line(f"{one.size_bytes:>12,}  {one.shown}")
    size_bytes = sum(one.size_bytes for one in tree.files)
    print(
        f"{counted(len(tree.files), 'file')} of {size_bytes:,} bytes {'is' if len(tree.files) == 1 else 'are'} "
        f"{len(tree.archive):,} bytes packed; nothing was submitted"
    )
    return 0


def _carry_out(
    fleets: Fleets,
    options: argparse.Namespace,
    file: Path,
    fleet: CollectorFleet,
    tree: Tree,
    beside: list[dict[str, Any]],
) -> int:
    name = fleet.metadata.name
    try:
        fleets.submit_tree(tree, fleet, *beside, path=options.path)
    except InvalidOption as error:
        raise InvalidOption(f"{file}: {error}") from error
    config_map = tree.config_map_name(name)
    files, are = counted(len(tree.files), "file"), "is" if len(tree.files) == 1 else "are"
    print_line(f"{files}, {len(tree.archive):,} bytes packed, {are} in ConfigMap {config_map}")
    top, status = (cluster.command(options, verb, name) for verb in ("top", "status"))
    print_line(f"fleet {name} is submitted; run `{top}` to watch it, or `{status}` to see its state")
    return 0


def _only(fleets: list[CollectorFleet], file: Path) -> CollectorFleet:
    if len(fleets) != 1:
        raise InvalidOption(
            f"{file}: the file has {len(fleets)} fleets, but only one is submitted with its code; keep one"
        )
    return fleets[0]


def _config_map(obj: dict[str, Any], file: Path) -> dict[str, Any]:
    if obj["kind"] != "ConfigMap":
        raise InvalidOption(
            f"{file}: `submit` cannot apply a {obj['kind']}; move this object to another file, and apply it with "
            "kubectl"
        )
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise InvalidOption(f"{file}: a ConfigMap has no name; set its metadata.name to text")
    return obj
