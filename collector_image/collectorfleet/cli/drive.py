"""``collectorfleet drive``: what the driver pod runs."""

from __future__ import annotations

import argparse
import os
import sys

from collectorfleet_api.names import EXIT_INFRASTRUCTURE


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    drive = commands.add_parser("drive", help="what the driver pod runs; started by the operator")
    drive.set_defaults(command=_drive)


def _drive(_options: argparse.Namespace) -> int:
    from collectorfleet.logs import log_to_stream
    from collectorfleet.pod.drive import drive
    from collectorfleet.pod.settings import DriverSettings, MissingSetting

    log_to_stream(sys.stderr)
    try:
        settings = DriverSettings.from_env(os.environ)
    except MissingSetting as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_INFRASTRUCTURE
    code = drive(settings)
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is written. A thread that the user's code left behind must not keep the pod, and with it the Job.
    os._exit(code)
