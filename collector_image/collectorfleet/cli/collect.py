"""``collectorfleet collect``: run collectors for a driver in another process, which may be on another host."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from collectorfleet.cli import arguments
from collectorfleet.cli.extras import RUNTIME, require
from collectorfleet.errors import InvalidOption
from collectorfleet.regular_files import check_regular, read_regular
from collectorfleet_api.names import ENV_POD, EXIT_INFRASTRUCTURE

if TYPE_CHECKING:
    from collectorfleet.transport.distributed.link import Address

# Kubernetes sets this variable in each pod of an Indexed Job.
_RANK: Final = "JOB_COMPLETION_INDEX"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    collect = commands.add_parser(
        "collect",
        help="run collectors for a driver on another machine",
        description=(
            "Wait for the driver of a fleet, and then run collectors for this driver over a process group. "
            "When the driver has ended, wait for the next driver. The command runs until you end it, or "
            "until the driver refuses this host. Driver and command prove to each other that they have the "
            "token."
        ),
    )
    where = collect.add_mutually_exclusive_group(required=True)
    where.add_argument("--driver", metavar="HOST:PORT", type=_address, help="address at which the driver listens")
    where.add_argument(
        "--driver-file",
        metavar="FILE",
        type=arguments.path,
        help="a file with HOST:PORT; you can create or change the file later",
    )
    collect.add_argument(
        "--token-file", metavar="FILE", type=arguments.path, required=True, help="a file with the shared secret"
    )
    collect.add_argument(
        "--rank",
        metavar="N",
        type=_number,
        default=os.environ.get(_RANK),
        help=f"number of this host, from 0; default: ${_RANK}",
    )
    collect.add_argument(
        "--collectors", metavar="N", type=_number, default=1, help="number of collectors on this host; default: 1"
    )
    collect.add_argument(
        "--pod", metavar="NAME", help=f"name of this host in the status; default: ${ENV_POD}, or the hostname"
    )
    collect.set_defaults(command=_collect)


def _collect(options: argparse.Namespace) -> int:
    require(RUNTIME, options.prog)
    if options.rank is None:
        options.usage_error(f"--rank is missing; give the number of this host, counted from 0, or set {_RANK}")
    if not _token_in(options.token_file):
        raise InvalidOption(f"--token-file {options.token_file}: the file is empty; write the driver's token into it")
    if options.driver_file and os.path.exists(options.driver_file):
        check_regular(options.driver_file)
    # Imported here, after the checks, because these modules import torch, which takes seconds.
    from collectorfleet.actor.simulator.orphans import reap_supervisors_as_init
    from collectorfleet.pod.pod_logs import set_up_pod_log
    from collectorfleet.transport.distributed.host_process import CollectorHost, Driver, HostRefused

    set_up_pod_log(sys.stderr, os.environ)
    reap_supervisors_as_init()
    driver = Driver(lambda: options.driver or _address_in(options.driver_file), lambda: _token_in(options.token_file))
    pod = options.pod or os.environ.get(ENV_POD) or socket.gethostname()
    try:
        CollectorHost(driver, options.rank, options.collectors, pod).serve()
    except HostRefused as error:
        logging.getLogger(__name__).error("%s", error)
    return EXIT_INFRASTRUCTURE


def _address_in(file: Path) -> Address:
    try:
        return _address(read_regular(file).decode().strip())
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"{file}: {error}") from None


def _token_in(file: Path) -> bytes:
    return read_regular(file).strip()


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address; write HOST:PORT, such as 10.0.0.5:29400")
    return host.strip("[]"), int(port)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
