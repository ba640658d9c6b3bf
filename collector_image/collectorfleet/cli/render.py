"""``collectorfleet render FILE``: print the objects that the operator creates for fleets."""

from __future__ import annotations

import argparse
import sys

from collectorfleet.cli import arguments, manifests
from collectorfleet.cli.pods import children
from collectorfleet.cli.printing import print_problem
from collectorfleet_api.manifests.yaml_writer import to_yaml
from collectorfleet_api.names import EXIT_USER_ERROR


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    render = commands.add_parser(
        "render",
        help="show the objects that the operator creates for a fleet",
        description=(
            "Print the objects that the operator creates for the fleets of a manifest, as YAML: RayCluster, Job, "
            "ServiceAccount, Role, RoleBinding, Lease, ConfigMap and NetworkPolicy. If the launcher is Job, a Service "
            "and a second Job take the place of the RayCluster. The objects have no owner reference. "
            "The command needs no cluster."
        ),
    )
    render.add_argument(
        "file",
        metavar="FILE",
        type=arguments.name,
        help="manifests, or a folder with fleet.yaml; '-' is standard input",
    )
    render.set_defaults(command=_render)


def _render(options: argparse.Namespace) -> int:
    found = manifests.read(options.file)
    if found is None:
        return EXIT_USER_ERROR
    manifests.print_findings(found, options.file)
    if found.errors:
        return EXIT_USER_ERROR
    if not found.fleets:
        print_problem(f"error: {options.file}: {manifests.without_fleet(found)}")
        return EXIT_USER_ERROR
    made = [child for fleet in found.fleets for child in children(fleet)]
    for child in made:
        # The owner reference names a fleet that may not exist. Kubernetes deletes a child whose owner does not exist.
        del child["metadata"]["ownerReferences"]
    sys.stdout.write(to_yaml(*made))
    return 0
