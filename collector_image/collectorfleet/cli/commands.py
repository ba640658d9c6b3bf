"""The commands of a parser, each with its name for messages, and marked if its packages are not installed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from collectorfleet.cli.extras import mark

if TYPE_CHECKING:
    _Action = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    _Action = argparse._SubParsersAction


class Commands(_Action):
    """The ``action`` for subparsers whose options have ``prog``, such as ``collectorfleet run``, and ``usage_error``.

    The latter prints a sentence below the usage of the command, and exits.
    """

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """Add one command, as argparse does."""
        made = super().add_parser(name, **{**options, "help": mark(name, options["help"])})
        made.set_defaults(prog=made.prog, usage_error=made.error)
        return made
