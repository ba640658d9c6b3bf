"""Compare trainings of examples/lock.yaml with and without its curriculum.

    python -m benchmarks.curriculum [--seeds 3] [--write docs/curriculum.md]

Without the curriculum, collectors play all 20 positions from the first frame on. Everything else is the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.common import tables

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "lock.yaml"
WITH, WITHOUT = "with the curriculum", "without"
POSITIONS: Final = 20
TIMEOUT: Final = 900


def manifest(side: str, seed: int) -> list[dict[str, Any]]:
    """Return the example's fleet and code, with the seed of the policy and, on one side, without the curriculum."""
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    spec = fleet["spec"]
    spec["policy"]["kwargs"] = {"seed": seed}
    if side == WITHOUT:
        del spec["driver"]["curriculum"]
        spec["environment"]["kwargs"] = {"level": POSITIONS}
    return [fleet, code]


def one(side: str, seed: int) -> list[str]:
    """Train once and return a row: side, seed, positions opened by the best evaluation, frames, parameter versions.

    Blocks for at most 15 minutes. Raises CalledProcessError if the training fails, or TimeoutExpired.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lock.yaml"
        file.write_text(yaml.safe_dump_all(manifest(side, seed)))
        command = [sys.executable, "-m", "collectorfleet.cli", "run", str(file), "-o", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT, check=True)
    status = json.loads(done.stdout)
    best, frames = status["evaluation"]["best"], status["progress"]["framesDelivered"]
    changes = status["environmentParameters"]["version"]
    row = [side, str(seed), f"{best['returnMean']:g}", f"{frames:,}", str(changes)]
    print(", ".join(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    rows = [one(side, seed) for seed in range(args.seeds) for side in (WITH, WITHOUT)]
    head = [
        "training",
        "seed",
        f"most positions of {POSITIONS} that an evaluation opened",
        "frames",
        "parameter versions",
    ]
    text = f"{tables.table(head, rows)}\n\n{tables.machine()}."
    print(f"\n{text}")
    if args.write:
        introduction = (
            "# A curriculum, measured\n\n"
            "This benchmark trains `examples/lock.yaml` by PPO, with and without a "
            "[curriculum](environment-parameters.md).\n"
            f"The lock has {POSITIONS} positions, too many to open by chance. Without a curriculum, every episode has\n"
            f"all {POSITIONS} positions, so there is no reward at first. "
            "A run ends once an evaluation opens all positions,\n"
            "or after 200,000 frames.\n\n"
            f"    python -m benchmarks.curriculum --seeds {args.seeds} --write {args.write}"
        )
        tables.write(args.write, f"{introduction}\n\n{text}")


if __name__ == "__main__":
    main()
