"""``collectorfleet submit FOLDER``"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from collectorfleet.cli import cluster, manifests
from collectorfleet.errors import InvalidOption
from collectorfleet_api.v1alpha1 import CollectorFleet

if TYPE_CHECKING:
    from collectorfleet.client import Fleets

MANIFEST: Final = "fleet.yaml"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    submit = commands.add_parser(
        "submit",
        help="run a folder of code as a fleet on a cluster",
        description="Pack the Python files of a folder into a ConfigMap and apply the folder's fleet with it, in one "
        "step. A second time it changes the fleet that is there. Hidden files are left out, and what a line of "
        ".collectorfleetignore matches.",
        epilog="exit codes: 0 submitted, 1 the manifest or the folder is wrong, or the cluster refused",
    )
    submit.add_argument("folder", metavar="FOLDER", type=Path, help="the code; what is in it can be imported")
    submit.add_argument(
        "-f", "--filename", metavar="FILE", type=Path, help=f"the fleet's manifest; default: {MANIFEST} in FOLDER"
    )
    submit.add_argument("--path", help="the folder in FOLDER whose content can be imported, such as src")
    cluster.add_options(submit, name=False)
    submit.set_defaults(command=_submit)


def _submit(options: argparse.Namespace) -> int:
    file = options.filename or options.folder / MANIFEST
    found = manifests.read(str(file))
    if found is None:
        return 1
    for finding in found.findings:
        print(finding, file=sys.stderr)
    if found.errors:
        return 1
    try:
        fleet = _only(found.fleets, file)
        beside = [_config_map(obj, file) for obj in found.objects]
    except InvalidOption as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if "namespace" in fleet.metadata.model_fields_set and not options.namespace:
        options.namespace = fleet.metadata.namespace
    return cluster.with_fleets(options, lambda fleets: _carry_out(fleets, options, file, fleet, beside))


def _carry_out(
    fleets: Fleets, options: argparse.Namespace, file: Path, fleet: CollectorFleet, beside: list[dict[str, Any]]
) -> int:
    from collectorfleet.client import pack

    # The manifest is no code: with it, another number of collectors would be another tree, and a restart.
    tree = pack(options.folder, without=[file])
    if options.path and not (options.folder / options.path).is_dir():
        print(f"error: --path {options.path}: there is no such folder in {options.folder}", file=sys.stderr)
        return 1
    name = fleet.metadata.name
    try:
        fleets.submit_tree(tree, fleet, *beside, path=options.path)
    except InvalidOption as error:
        print(f"error: {file}: {error}", file=sys.stderr)
        return 1
    config_map = tree.config_map_name(name)
    print(f"{tree.files} files, {len(tree.archive):,} bytes packed, are in ConfigMap {config_map}")
    print(f"fleet {name} is submitted; `top {name}` watches it, `status {name}` says how it is")
    return 0


def _only(fleets: list[CollectorFleet], file: Path) -> CollectorFleet:
    if len(fleets) != 1:
        raise InvalidOption(f"{file}: {len(fleets)} fleets, and one is submitted with its code; keep one there")
    return fleets[0]


def _config_map(obj: dict[str, Any], file: Path) -> dict[str, Any]:
    if obj["kind"] != "ConfigMap":
        raise InvalidOption(f"{file}: a {obj['kind']} is not submitted; apply it with kubectl, from a file of its own")
    return obj
