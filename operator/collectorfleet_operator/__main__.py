"""``python -m collectorfleet_operator``"""

from __future__ import annotations

import asyncio
import logging

from collectorfleet_operator.edge.app import run
from collectorfleet_operator.edge.settings import Settings, from_arguments


def main() -> None:
    settings = from_arguments()
    _log(settings)
    asyncio.run(run(settings))


def _log(settings: Settings) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if not settings.verbose:
        # kopf logs each event, and each of its retries during an outage that we tell in one line.
        logging.getLogger("kopf").setLevel(logging.CRITICAL)


if __name__ == "__main__":
    main()
