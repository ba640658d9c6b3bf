"""The options and the connection of all commands that use a cluster."""

from __future__ import annotations

import argparse
import logging
import shlex
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from collectorfleet.cli.completion import complete_contexts, complete_names, complete_namespaces
from collectorfleet.cli.extras import CLUSTER, require
from collectorfleet.cli.printing import print_problem
from collectorfleet.errors import ClusterError

if TYPE_CHECKING:
    from collectorfleet.client import Connection, Fleets


def add_options(command: argparse.ArgumentParser, *, name: bool = True) -> None:
    """Add kubectl's options for the namespace, context and kubeconfig. With ``name``, add the fleet's NAME, too."""
    if name:
        complete_names(command.add_argument("name", metavar="NAME", help="name of the fleet"))
    complete_namespaces(
        command.add_argument(
            "-n", "--namespace", metavar="NS", help="namespace; default: the namespace of the kubeconfig's context"
        )
    )
    complete_contexts(command.add_argument("--context", metavar="NAME", help="context of the kubeconfig"))
    command.add_argument("--kubeconfig", metavar="FILE", help="default: KUBECONFIG, or ~/.kube/config")


def add_selection(command: argparse.ArgumentParser) -> None:
    """Add the options that select one fleet or several fleets, as in ``kubectl get``."""
    add_options(command, name=False)
    complete_names(
        command.add_argument(
            "name", metavar="NAME", nargs="?", help="name of the fleet; default: all fleets of the namespace"
        )
    )
    command.add_argument("-A", "--all-namespaces", action="store_true", help="the fleets of all namespaces")
    command.add_argument("-l", "--selector", metavar="LABELS", help="only fleets with these labels: team=a,stage!=test")


def check_selection(options: argparse.Namespace) -> None:
    """Exit with a usage error if the options combine NAME with ``-A`` or ``-l``."""
    if options.name is not None and options.all_namespaces:
        options.usage_error("NAME and -A/--all-namespaces exclude each other; use -n NS to choose the namespace")
    if options.name is not None and options.selector is not None:
        options.usage_error("NAME and -l/--selector exclude each other; leave one of the two out")


def print_none_found(fleets: Fleets, options: argparse.Namespace) -> None:
    """Print on stderr, in kubectl's words, that no fleets were found."""
    print_problem(
        "No resources found" if options.all_namespaces else f"No resources found in {fleets.namespace} namespace."
    )


def with_fleets(options: argparse.Namespace, work: Callable[[Fleets], int]) -> int:
    """Connect to the cluster that the options name, and call ``work`` with its fleets.

    Return the exit code of ``work``. Print each UserWarning once, as a note on stderr.

    Raises ClusterError. Also raises NotInstalled if a package is missing.
    """
    require(CLUSTER, options.prog)
    from collectorfleet.client import Fleets

    with warnings.catch_warnings():
        warnings.filterwarnings("default", category=UserWarning)
        warnings.showwarning = lambda message, *_, **__: print_problem(f"note: {message}")
        return work(Fleets(connection(options)))


@contextmanager
def noted(note: str, *errors: type[ClusterError]) -> Iterator[None]:
    """If one of ``errors`` is raised in the block, add ``note`` to its message."""
    try:
        yield
    except errors as error:
        raise type(error)(f"{error}; {note}") from error


def command(options: argparse.Namespace, verb: str, name: str) -> str:
    """Return the command ``verb`` for a fleet of the cluster that the options name, to copy into a shell."""
    program = options.prog.rpartition(" ")[0]
    given = {"-n": options.namespace, "--context": options.context, "--kubeconfig": options.kubeconfig}
    words = [word for option, value in given.items() if value for word in (option, value)]
    return f"{program} {shlex.join([verb, name, *words])}"


def connection(options: argparse.Namespace) -> Connection:
    """Return a connection to the cluster that the options name. Raises InvalidKubeconfig."""
    from urllib3.exceptions import InsecureRequestWarning

    from collectorfleet.client import connect

    # Hide warnings. The error of a request already has the cause that urllib3 would log. A user who turned off TLS
    # verification in the kubeconfig needs no reminder.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=InsecureRequestWarning)
    return connect(options.namespace, context=options.context, kubeconfig=options.kubeconfig)
