"""The operator's settings, read once from the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from collectorfleet_api.log_lines import LogFormat
from collectorfleet_operator.children.propagation import ANY, Propagation, is_ours_to_give
from collectorfleet_operator.objects import Key


@dataclass(frozen=True)
class Settings:
    """The operator's settings.

    ``namespaces``: the namespaces with fleets to serve. An empty tuple means all namespaces. ``queues``: whether fleets
    may use queues of Kueue. ``lease``: the Lease that this process must hold to serve, or None if this process is the
    only operator. ``propagation``: the labels and annotations of a fleet to copy to its children. ``health_port``: the
    port of the HTTP endpoints. With 0, there are no HTTP endpoints.
    """

    namespaces: tuple[str, ...]
    queues: bool
    lease: Key | None
    propagation: Propagation
    health_port: int
    log_format: LogFormat
    verbose: bool

    @property
    def scopes(self) -> tuple[str | None, ...]:
        """Return the scopes of lists: each namespace, or None for all namespaces together."""
        return self.namespaces or (None,)


def from_arguments(arguments: Sequence[str] | None = None) -> Settings:
    parser = argparse.ArgumentParser(prog="collectorfleet_operator", description="Runs CollectorFleets on Kubernetes.")
    parser.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NAME",
        help="serve the fleets of this namespace only; may be given several times (default: all namespaces)",
    )
    parser.add_argument(
        "--queues",
        action="store_true",
        help="let fleets with the label kueue.x-k8s.io/queue-name wait for Kueue's quota; needs further rights",
    )
    parser.add_argument(
        "--lease",
        type=_lease,
        metavar="NAMESPACE/NAME",
        help=(
            "serve fleets only while this process holds this Lease, so that several operators may run (default: no "
            "Lease)"
        ),
    )
    parser.add_argument(
        "--health-port",
        type=_port,
        default=8080,
        metavar="PORT",
        help="answer /healthz, /readyz and /metrics on this port; 0 turns the port off (default: 8080)",
    )
    parser.add_argument(
        "--log-format",
        choices=[one.value for one in LogFormat],
        default=LogFormat.TEXT.value,
        help="json: one JSON object in each line, for log collectors (default: text)",
    )
    parser.add_argument("--verbose", action="store_true", help="also log kopf's own lines")
    for what in ("label", "annotation"):
        parser.add_argument(
            f"--propagate-{what}",
            type=_propagated,
            action="append",
            default=[],
            metavar="KEY",
            help=f"copy this {what} of a fleet to its children and pods; a * at the end matches any ending; "
            "may be given several times (default: none)",
        )
    read = parser.parse_args(arguments)
    namespaces = tuple(dict.fromkeys(read.namespace))
    propagation = Propagation(tuple(read.propagate_label), tuple(read.propagate_annotation))
    log_format = LogFormat(read.log_format)
    return Settings(namespaces, read.queues, read.lease, propagation, read.health_port, log_format, read.verbose)


def _propagated(text: str) -> str:
    if not text or ANY in text[:-1]:
        raise argparse.ArgumentTypeError(f"{text!r}: give a key, or a prefix of keys with a {ANY} at the end")
    if not is_ours_to_give(text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: Kubernetes or another tool recognizes its own objects by this key; leave the key out"
        )
    return text


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) >= 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; write a number from 0 to 65535")
    return int(text)


def _lease(text: str) -> Key:
    namespace, _, name = text.partition("/")
    if not namespace or not name:
        raise argparse.ArgumentTypeError(f"{text!r}: write the Lease as NAMESPACE/NAME")
    return Key(namespace, name)
