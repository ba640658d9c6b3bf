"""``python -m collectorfleet_operator``"""

from __future__ import annotations

import asyncio
import sys

from collectorfleet_operator.edge.app import run
from collectorfleet_operator.edge.garbage import SetAside
from collectorfleet_operator.edge.logs import log_to
from collectorfleet_operator.edge.settings import from_arguments


def main() -> None:
    settings = from_arguments()
    log_to(sys.stderr, settings.log_format, verbose=settings.verbose)
    SetAside().begin()
    asyncio.run(run(settings))


if __name__ == "__main__":
    main()
