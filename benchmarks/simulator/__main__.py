"""Step cart-poles that are tensors on one device with TorchRL's collector, the fleet's collector and bare loops.

    python -m benchmarks.simulator --device cuda --rounds 7

All sides are built once and make rollouts in turn, so that each round compares them under the same conditions.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.common import tables
from benchmarks.simulator.sides import BARE, BARE_RECORDED, NEEDS_CUDA, OURS, OURS_RECORDED, SIDES, TORCHRL

RATIOS = [
    (OURS, TORCHRL),
    (OURS_RECORDED, TORCHRL),
    (OURS, BARE),
    (OURS_RECORDED, BARE),
    (OURS_RECORDED, BARE_RECORDED),
]


def frames_per_second(rollouts: Iterator[str], frames: int, seconds: float, device: str) -> float:
    """Return the frames per second of all rollouts that begin within ``seconds``. Wait until the device is idle."""
    made = 0
    wait(device)
    began = time.perf_counter()
    while made == 0 or time.perf_counter() - began < seconds:
        next(rollouts)
        made += 1
    wait(device)
    return made * frames / (time.perf_counter() - began)


def wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--environments", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each side in each round")
    parser.add_argument("--json", metavar="FILE", help="write what was measured there")
    args = parser.parse_args()
    names = [name for name in SIDES if args.device != "cpu" or name not in NEEDS_CUDA]
    sides = {name: SIDES[name](args.environments, args.steps, args.device) for name in names}
    loops: dict[str, str] = {}
    for name, rollouts in sides.items():
        for _ in range(3):  # the first rollouts compile code, record CUDA graphs and fill caches
            loops[name] = next(rollouts)
        print(f"{name}: {loops[name]}", flush=True)
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(args.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            frames = args.environments * args.steps
            found[name].append(frames_per_second(sides[name], frames, args.seconds, args.device))
        print(json.dumps({name: round(rates[-1]) for name, rates in found.items()}), flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps(found), encoding="utf-8")
    print(report(found, loops, args.device))


def report(found: dict[str, list[float]], loops: dict[str, str], device: str) -> str:
    """Return tables of the rates and of their ratios in the same round."""
    rates = tables.table(
        ["side", "frames/s", "loop"], [[name, tables.spread(numbers), loops[name]] for name, numbers in found.items()]
    )
    ratios = tables.table(
        ["ratio", "of the same round"],
        [
            [f"{one} / {other}", tables.spread([a / b for a, b in zip(found[one], found[other], strict=True)], "x")]
            for one, other in RATIOS
            if one in found and other in found
        ],
    )
    rounds = len(next(iter(found.values())))
    return f"{rates}\n\n{ratios}\n\n{rounds} rounds on {_device_name(device)}. {tables.machine('torch', 'torchrl')}."


def _device_name(device: str) -> str:
    return "the CPU" if device == "cpu" else torch.cuda.get_device_name(device)


if __name__ == "__main__":
    main()
