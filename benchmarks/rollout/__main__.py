"""Compare the fleet's rollout loop with TorchRL's and with environment and policy alone, and print a table.

    python -m benchmarks.rollout [--rounds 5] [--only CartPole,Pendulum,...] [--together 1,8,64] [--write FILE]
        [--beside RLlib=PYTHON] [--beside Stable-Baselines3=PYTHON] [--beside "Sample Factory=PYTHON"]
        [--beside EnvPool=PYTHON] [--beside "ours on EnvPool=PYTHON"]

The sides alternate within a round, and the order flips from round to round. Each measurement is a child process.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.rollout.measures import BARE, KEEPING, OURS, TORCHRL
from benchmarks.rollout.workloads import WORKLOADS

CHILD_SECONDS = 240.0
SIDES = (OURS, TORCHRL, BARE)
OF_IMAGES = (*SIDES, KEEPING)
OURS_ON_ENVPOOL = "ours on EnvPool"
OTHERS = {
    "RLlib": "benchmarks.rollout.rllib",
    "Stable-Baselines3": "benchmarks.rollout.stable_baselines3",
    "Sample Factory": "benchmarks.rollout.sample_factory",
    "EnvPool": "benchmarks.rollout.envpool",
    OURS_ON_ENVPOOL: "benchmarks.rollout.envpool",
}
Found = dict[str, float] | Failed
INTRODUCTION = """# What a step costs

One process with one torch thread steps all environments as one batch. The policy is an MLP of 64 by 64.

* *ours* is the loop of the fleet. *TorchRL* is TorchRL's `Collector` alone.
* *bare* calls environment and policy, with TorchRL's distributions, and keeps nothing. The loop of the column
  *bare, frames kept* also copies the observations of each step into a batch.
* *RLlib* is RLlib's env runner, *Stable-Baselines3* is the rollout of its PPO, and *Sample Factory* is its sampler in
  one process. The policies of Stable-Baselines3 and Sample Factory also compute values.
* *EnvPool* is EnvPool's environments in one thread and the policy, as in *bare*.
* `over bare` is the additional CPU time of a step compared with *bare*, in µs for all environments of the collector.

Sample Factory needs an old Gymnasium without `HalfCheetah-v5`.

Each measurement reports its best batch. Cells are median (min-max) over the rounds. A ratio compares two values of one
round. Every side ran on one core.

    python -m venv rllib && rllib/bin/pip install "ray[rllib]" torch "gymnasium[mujoco]" psutil
    python -m venv sb3 && sb3/bin/pip install stable-baselines3 torch "gymnasium[mujoco]" psutil
    python -m venv sf && sf/bin/pip install sample-factory torch "gymnasium[mujoco]<1" psutil
    make build/envpool && .venv/bin/python -m venv envpool
    for folder in .venv/lib/python3*/site-packages build/envpool
    do echo "import site; site.addsitedir('$PWD/$folder')"
    done > "$(echo envpool/lib/python3*/site-packages)/all.pth"
    taskset -c 0 python -m benchmarks.rollout --rounds {rounds} --beside RLlib=rllib/bin/python \\
        --beside Stable-Baselines3=sb3/bin/python --beside "Sample Factory=sf/bin/python" \\
        --beside EnvPool=envpool/bin/python --beside "ours on EnvPool=envpool/bin/python" --write docs/rollout.md
"""

# Somebody writes this section by hand, about the figures.
BEYOND = "## Beyond environment and policy"
MEMORY = """## Memory

Peak RSS of the collector's process, with Python, torch and the batch.
"""


def run_round(workload: str, together: int, number: int, others: Mapping[str, str]) -> dict[str, Found]:
    """Measure each side once. ``others`` has the Python interpreter of each side of another library."""
    found: dict[str, Found] = {}
    # Keeping observations is expensive only for images. The other libraries do not take part in that workload.
    sides = [*OF_IMAGES] if workload == "image" else [*SIDES, *others]
    for side in sides if number % 2 == 0 else reversed(sides):
        case = {"side": side, "workload": workload, "together": together, "steps": max(25, 1600 // together)}
        module = OTHERS.get(side, "benchmarks.rollout.measures")
        found[side] = measure(module, {**case, "batches": 6}, timeout=CHILD_SECONDS, python=others.get(side))
        print(f"round {number + 1}: {workload}, {together}: {side}: {found[side]}", flush=True)
    return found


def row(what: str, rounds: list[dict[str, Found]], others: Iterable[str]) -> list[str]:
    def ratio(side: str, other: str) -> str:
        return tables.spread(_paired(rounds, side, other, "frames/s", lambda a, b: a / b), "x")

    cells = []
    for side in (*OF_IMAGES, *others):
        numbers = _values(rounds, side, "frames/s")
        cells.append(tables.spread(numbers) if numbers else "-")
    ratios = [ratio(OURS, side) for side in _compared(others)]
    over = _paired(rounds, OURS, BARE, "CPU us/step", lambda a, b: a - b)
    return [what, *cells, *ratios, tables.spread(over)]


def _values(rounds: list[dict[str, Found]], side: str, key: str) -> list[float]:
    found = [one.get(side) for one in rounds]
    return [one[key] for one in found if isinstance(one, dict)]


def _compared(others: Iterable[str]) -> list[str]:
    return [TORCHRL, BARE, KEEPING, *(side for side in others if side != OURS_ON_ENVPOOL)]


def memory_row(what: str, rounds: list[dict[str, Found]]) -> list[str]:
    cells = [tables.spread(_values(rounds, side, "peak MB")) for side in (OURS, TORCHRL)]
    return [what, *cells, tables.spread(_paired(rounds, OURS, TORCHRL, "peak MB", lambda a, b: a / b), "x")]


def _paired(
    rounds: list[dict[str, Found]], side: str, other: str, key: str, of: Callable[[float, float], float]
) -> list[float]:
    both = [(one.get(side), one.get(other)) for one in rounds]
    return [of(a[key], b[key]) for a, b in both if isinstance(a, dict) and isinstance(b, dict)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(WORKLOADS), help="comma-separated environments")
    parser.add_argument("--together", default="1,8,64", help="how many environments step together")
    parser.add_argument("--beside", action="append", default=[], metavar="SIDE=PYTHON", help=f"of {', '.join(OTHERS)}")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    # Do not resolve links, because the target of a virtual environment's link does not have its packages.
    others = {name: os.path.abspath(python) for name, python in (one.split("=", 1) for one in args.beside)}
    if unknown := set(others) - set(OTHERS):
        parser.error(f"--beside knows {', '.join(OTHERS)}, not {', '.join(unknown)}")
    cases = [(workload, int(count)) for workload in args.only.split(",") for count in args.together.split(",")]
    found: dict[tuple[str, int], list[dict[str, Found]]] = {case: [] for case in cases}
    for number in range(args.rounds):
        for workload, together in cases:
            found[workload, together].append(run_round(workload, together, number, others))
        print(f"round {number + 1} of {args.rounds} done, load average {os.getloadavg()[0]:.1f}", flush=True)
    columns = [f"{side}, frames/s" for side in (*OF_IMAGES, *others)]
    ratios = [f"ours / {side}" for side in _compared(others)]
    table = tables.table(
        ["environments", *columns, *ratios, "over bare, µs"],
        [row(f"{together} of {workload}", rounds, others) for (workload, together), rounds in found.items()],
    )
    machine = tables.machine("torch", "torchrl", "tensordict", "gymnasium")
    memory = tables.table(
        ["environments", "ours, MB", "TorchRL, MB", "ratio"],
        [memory_row(f"{together} of {workload}", rounds) for (workload, together), rounds in found.items()],
    )
    text = f"{table}\n\n{args.rounds} rounds. {machine}.\n"
    print(f"\n{text}\n{MEMORY}\n{memory}")
    if args.write:
        write(args.write, args.rounds, text, memory)


def write(path: str, rounds: int, text: str, memory: str) -> None:
    """Write the page, and keep the hand-written section of the page that was at ``path``."""
    beyond = tables.section(path, BEYOND)
    parts = [text, *([f"{beyond}\n"] if beyond else []), MEMORY, memory]
    tables.write(path, "\n".join([INTRODUCTION.format(rounds=rounds), *parts]))
    if beyond:
        print(f"kept the section {BEYOND.removeprefix('## ')!r}: compare it with the new figures")


if __name__ == "__main__":
    main()
