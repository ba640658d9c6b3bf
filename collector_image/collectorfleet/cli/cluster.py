"""What the commands that ask a cluster have in common."""

from __future__ import annotations

import argparse
import logging
import warnings
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
    from collectorfleet.client import ClusterError

    try:
        found = _fleets(parsed_args).list()
        return [fleet.metadata.name for fleet in found if fleet.metadata.name.startswith(prefix)]
    except ClusterError:
        return []  # a shell shows no sentence in the middle of a line


def with_fleets(options: argparse.Namespace, work: Callable[[Fleets], int]) -> int:
    """Carry out ``work`` on the fleets that the options name. Raises ClusterError, or NotInstalled."""
    CLUSTER.require(options.prog)
    return work(_fleets(options))


def _fleets(options: argparse.Namespace) -> Fleets:
    from urllib3.exceptions import InsecureRequestWarning

    from collectorfleet.client import Fleets, connect

    # What a request raises says enough; and a kubeconfig without TLS verification is its owner's choice.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=InsecureRequestWarning)
    return Fleets(connect(options.namespace, context=options.context, kubeconfig=options.kubeconfig))
