"""What the commands that ask a cluster have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from collectorfleet.cli.extras import CLUSTER

if TYPE_CHECKING:
    from collectorfleet.client import Fleets


def add_options(command: argparse.ArgumentParser, *, name: bool = True) -> None:
    """The fleet, and where it is looked for: as kubectl has them."""
    if name:
        complete_names(command.add_argument("name", metavar="NAME", help="name of the fleet"))
    command.add_argument("-n", "--namespace", metavar="NS", help="namespace; default: that of the kubeconfig's context")
    command.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    command.add_argument("--kubeconfig", metavar="FILE", help="default: KUBECONFIG, or ~/.kube/config")


def complete_names(argument: argparse.Action) -> None:
    """Let shells complete the argument by the fleets that are there."""
    argument.completer = _names  # type: ignore[attr-defined]  # as argcomplete has it


def _names(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    if CLUSTER.missing():
        return []
    from collectorfleet.client import ClusterError, Fleets, connect

    try:
        connection = connect(parsed_args.namespace, context=parsed_args.context, kubeconfig=parsed_args.kubeconfig)
        return [fleet.metadata.name for fleet in Fleets(connection).list() if fleet.metadata.name.startswith(prefix)]
    except ClusterError:
        return []  # a shell shows no sentence in the middle of a line


def with_fleets(options: argparse.Namespace, work: Callable[[Fleets], int]) -> int:
    """Carry out ``work`` on the fleets that the options name; what goes wrong is one sentence on stderr.

    Raises NotInstalled without the packages for it.
    """
    CLUSTER.require(options.prog)
    from collectorfleet.client import ClusterError, Fleets, connect

    try:
        connection = connect(options.namespace, context=options.context, kubeconfig=options.kubeconfig)
        return work(Fleets(connection))
    except (ClusterError, TimeoutError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
