"""The version of this package, and the option ``collectorfleet --version``."""

from __future__ import annotations

import argparse
from typing import Any


def version() -> str:
    """Return the version of the installed package."""
    # Imported only if needed, because the import takes a tenth of a command's run time.
    from importlib.metadata import version as version_of

    return version_of("collectorfleet")


class PrintVersion(argparse.Action):
    """An option that prints the version and ends the program."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version, such as ``collectorfleet 0.1.0``, and exit."""
        print("collectorfleet", version())
        parser.exit()
