"""Measure the time to write replay buffers into a checkpoint, beside sending and pickling their state_dict.

    python -m benchmarks.kept_buffer [--write docs/kept-buffers.md]

Each buffer is measured in a child process with its own Ray.
"""

from __future__ import annotations

import argparse

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.kept_buffer.one import CONTENTS

PARTS = {
    "MB": "MB",
    "dump": "dump, for which the loop stops (s)",
    "sync": "sync, beside the training (s)",
    "load": "load (s)",
    "state_dict": "state_dict through Ray (s)",
    "pickling": "pickling that (s)",
}
INTRODUCTION = """# Replay buffers in checkpoints

With `replayBuffer.checkpoint: true`, the buffer's own actor dumps the buffer between two batches. The last two columns
show the alternative: the `state_dict` is sent through Ray and pickled. Cells are median (min-max) of five dumps.

    python -m benchmarks.kept_buffer --write docs/kept-buffers.md
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    rows = []
    for content in CONTENTS:
        found = measure("benchmarks.kept_buffer.one", {"content": content}, timeout=300)
        cells = [found.why] if isinstance(found, Failed) else [tables.spread(found[part]) for part in PARTS]
        rows.append([content, *cells])
        print(rows[-1], flush=True)
    text = f"{tables.table(['content', *PARTS.values()], rows)}\n\n{tables.machine()}."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION}\n{text}")


if __name__ == "__main__":
    main()
