"""Trains CartPole with several learning rates, each a fleet of its own, and says which needed the fewest frames.

    python examples/sweep/sweep.py 1e-3 2e-3 4e-3

Needs `pip install 'collectorfleet[client]'` and the cluster of your kubeconfig; nothing is trained on this machine.
Fleets that do not fit beside each other wait for their turn, as pods do.
"""

import argparse
import copy
from pathlib import Path

import yaml

from collectorfleet.client import Fleets, FleetStalled

EXAMPLE = Path(__file__).parents[1] / "cartpole.yaml"


def fleet_with(rate, goal):
    """The example's fleet and its code, with another learning rate and under a name that says so."""
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    fleet = copy.deepcopy(fleet)
    fleet["metadata"]["name"] = f"cartpole-lr-{rate:g}".replace(".", "-")
    fleet["spec"]["driver"]["train"]["kwargs"] = {"goal": goal, "lr": rate}
    return fleet, code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rates", metavar="RATE", type=float, nargs="+")
    parser.add_argument("--goal", type=float, default=450, help="mean reward at which a run is done")
    parser.add_argument("--namespace")
    parser.add_argument("--hours", type=float, default=1.0, help="for how long each is waited for")
    args = parser.parse_args()

    fleets = Fleets(namespace=args.namespace)
    names = {}
    for rate in args.rates:
        names[rate] = fleets.submit(*fleet_with(rate, args.goal)).metadata.name
        print(f"submitted {names[rate]}", flush=True)

    needed = {}
    for rate, name in names.items():
        try:
            progress = fleets.wait(name, "Completed", timeout=3600 * args.hours).status.progress
        except FleetStalled as error:
            print(error)
            continue
        needed[rate] = progress.frames_delivered
        print(f"{name}: reward {progress.metrics['reward']:.0f} after {progress.frames_delivered:,} frames", flush=True)
        fleets.delete(name)
    if needed:
        best = min(needed, key=needed.get)
        print(f"best: {best:g}, {needed[best]:,} frames")


if __name__ == "__main__":
    main()
