"""Complete the last word of a command line, for shells and for kubectl. Without argcomplete, complete nothing."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from collectorfleet.cli.extras import CLUSTER
from collectorfleet_api.extras import is_installed

if TYPE_CHECKING:
    from collectorfleet.client import Connection

# This line tells kubectl to offer only the printed words, and no file names.
_NO_FILES: Final = ":4"
# The timeout of a request. The user's shell blocks until the answer arrives.
_SECONDS: Final = 5

Completer = Callable[..., list[str]]


def complete(words: Sequence[str], prog: str) -> int:
    """Print the words that can replace the last of ``words``, one per line, for kubectl. Return the exit code."""
    if not is_installed("argcomplete"):
        print(_NO_FILES)
        return 0
    import argcomplete

    from collectorfleet.cli.parser import parser

    *before, last = ["cfleet", *(words or [""])]
    line = f"{shlex.join(before)} {last}"
    os.environ |= {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    found = io.StringIO()

    def done(_code: int) -> None:
        raise SystemExit

    with suppress(SystemExit):
        argcomplete.autocomplete(parser(prog), always_complete_options=False, exit_method=done, output_stream=found)
    print(found.getvalue(), _NO_FILES, sep="\n")
    return 0


def complete_names(argument: argparse.Action) -> None:
    """Let shells complete the argument with the names of fleets."""
    _complete(argument, _names)


def complete_namespaces(argument: argparse.Action) -> None:
    """Let shells complete the argument with the namespaces of the cluster."""
    _complete(argument, _namespaces)


def complete_contexts(argument: argparse.Action) -> None:
    """Let shells complete the argument with the contexts of the kubeconfig."""
    _complete(argument, _contexts)


def _complete(argument: argparse.Action, found: Callable[[argparse.Namespace], Iterable[str]]) -> None:
    def completer(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
        if CLUSTER.missing():
            return []
        from collectorfleet.client import ClusterError

        # A shell cannot show a message while the user types.
        try:
            with warnings.catch_warnings(action="ignore"):
                return [one for one in found(parsed_args) if one.startswith(prefix)]
        except ClusterError:
            return []

    argument.completer = completer  # type: ignore[attr-defined]  # argcomplete reads this attribute


def _names(options: argparse.Namespace) -> Iterable[str]:
    from collectorfleet.client import Fleets

    return [fleet.metadata.name for fleet in Fleets(_connection(options), request_seconds=_SECONDS).list()]


def _namespaces(options: argparse.Namespace) -> Iterable[str]:
    from collectorfleet.client.namespaces import namespaces

    return namespaces(_connection(options), request_seconds=_SECONDS)


def _contexts(options: argparse.Namespace) -> Iterable[str]:
    from collectorfleet.client.connection import contexts

    return contexts(options.kubeconfig)


def _connection(options: argparse.Namespace) -> Connection:
    from collectorfleet.cli.cluster import connection

    return connection(options)
