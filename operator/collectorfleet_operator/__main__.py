"""Runs the operator: ``python -m collectorfleet_operator``."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Final

from collectorfleet_api.extras import Needs
from collectorfleet_api.names import EXIT_INFRASTRUCTURE, EXIT_USER_ERROR

NEEDS: Final = Needs("operator", ("aiohttp", "kopf", "kubernetes", "prometheus_client", "yarl"))
# The exit code if a package is not installed, as in the command line tool.
_UNAVAILABLE: Final = 69
_HANGS: Final = 70

log = logging.getLogger(__name__)


def main() -> int:
    if problem := NEEDS.problem("python -m collectorfleet_operator"):
        print(f"error: {problem}", file=sys.stderr)
        return _UNAVAILABLE
    from collectorfleet_operator.edge.app import run
    from collectorfleet_operator.edge.errors import NotConfiguredError, PortError
    from collectorfleet_operator.edge.garbage import GarbageFreezer
    from collectorfleet_operator.edge.logs import log_to
    from collectorfleet_operator.edge.settings import from_arguments
    from collectorfleet_operator.edge.task_end import TasksHang

    settings = from_arguments()
    log_to(sys.stderr, settings.log_format, verbose=settings.verbose)
    GarbageFreezer().begin()
    with asyncio.Runner() as runner:
        try:
            runner.run(run(settings))
        except NotConfiguredError as error:
            log.critical("%s", error)
            return EXIT_USER_ERROR
        except PortError as error:
            log.critical("%s", error)
            return EXIT_INFRASTRUCTURE
        except TasksHang as error:
            # When the runner closes, it would wait for these tasks forever.
            log.critical("the process exits: %s", error)
            logging.shutdown()
            os._exit(_HANGS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
