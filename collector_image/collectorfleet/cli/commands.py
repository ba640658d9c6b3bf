"""The commands of a parser. The parsed options contain the command's name.

If packages of a command are not installed, the command's help says how to install them.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from collectorfleet.cli.extras import mark

if TYPE_CHECKING:
    _Action = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    _Action = argparse._SubParsersAction


class Commands(_Action):
    """The ``action`` for argparse's ``add_subparsers``. It adds ``prog`` and ``usage_error`` to each command's options.

    ``prog`` is the command's full name, such as ``collectorfleet run``. ``usage_error(text)`` prints the command's
    usage and ``text``, and exits with code 2.
    """

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """Return the parser of a new command. ``options`` are arguments of argparse, and must include ``help``."""
        made = super().add_parser(name, **{**options, "help": mark(name, options["help"])})
        made.set_defaults(prog=made.prog, usage_error=made.error)
        return made
