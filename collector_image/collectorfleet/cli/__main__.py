"""Run the command line as ``python -m collectorfleet.cli``. Pods start ``drive`` and ``collect`` this way."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if sys.argv[1:2] == ["drive"]:
        # Handle SIGTERM before the other imports, which take seconds on a busy node.
        from collectorfleet.pod.early_stop import end_at_once_on_sigterm

        end_at_once_on_sigterm()
    from collectorfleet.cli.main import main

    sys.exit(main())
