"""``collectorfleet drive``: run a driver in its pod. The operator starts this command."""

from __future__ import annotations

import argparse
import os
import sys

from collectorfleet.cli.extras import RUNTIME, require
from collectorfleet.cli.printing import print_problem
from collectorfleet_api.names import EXIT_INFRASTRUCTURE, EXIT_USER_ERROR


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    drive = commands.add_parser("drive", help="run the driver; the operator starts this command in the driver pod")
    drive.set_defaults(command=_drive)


def _drive(options: argparse.Namespace) -> int:
    require(RUNTIME, options.prog)
    from collectorfleet.actor.simulator.orphans import reap_supervisors_as_init
    from collectorfleet.errors import InvalidOption
    from collectorfleet.pod.drive import drive
    from collectorfleet.pod.pod_logs import set_up_pod_log
    from collectorfleet.pod.settings import DriverSettings, InvalidSettings

    try:
        set_up_pod_log(sys.stderr, os.environ)
        settings = DriverSettings.from_env(os.environ)
    except InvalidSettings as error:
        print_problem(f"error: {error}")
        return EXIT_INFRASTRUCTURE
    except InvalidOption as error:
        print_problem(f"error: {error}")
        return EXIT_USER_ERROR
    reap_supervisors_as_init()
    code = drive(settings)
    sys.stdout.flush()
    sys.stderr.flush()
    # All output is flushed. Exit without waiting for threads: a running thread of the user's code must not keep the pod
    # and its Job alive.
    os._exit(code)
