"""``collectorfleet stop NAME`` and ``collectorfleet resume NAME``: suspend and resume a fleet on a cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from collectorfleet.cli import cluster
from collectorfleet.cli.printing import print_line
from collectorfleet.errors import CollectorFleetError
from collectorfleet_api.v1alpha1 import CollectorFleet, Phase

if TYPE_CHECKING:
    from collectorfleet.client import Fleets


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stop = commands.add_parser(
        "stop",
        help="suspend a fleet on a cluster",
        description=(
            "Suspend a fleet: the driver writes a checkpoint if the fleet has `driver.checkpoint`, and the "
            "operator deletes all pods. The status stays."
        ),
    )
    cluster.add_options(stop)
    stop.set_defaults(command=lambda options: cluster.with_fleets(options, lambda fleets: _stop(fleets, options)))
    resume = commands.add_parser("resume", help="resume a suspended fleet")
    cluster.add_options(resume)
    resume.set_defaults(command=lambda options: cluster.with_fleets(options, lambda fleets: _resume(fleets, options)))


def _stop(fleets: Fleets, options: argparse.Namespace) -> int:
    from collectorfleet.display.summary import in_a_sentence, is_over

    name = options.name
    found = fleets.get(name)
    # A failed run is also suspended, so that `resume` can retry the run.
    if is_over(found) and not _has_failed(found):
        print_line(f"fleet {name} has already ended: {in_a_sentence(found)}")
        return 0
    fleets.stop(name)
    if is_over(found):
        resume = cluster.command(options, "resume", name)
        print_line(f"fleet {name} has already ended: {in_a_sentence(found)}; to try again, run `{resume}`")
    else:
        status = cluster.command(options, "status", name)
        print_line(f"fleet {name} is being suspended; run `{status}` to see its progress")
    return 0


def _resume(fleets: Fleets, options: argparse.Namespace) -> int:
    from collectorfleet.display.summary import in_a_sentence, is_over

    name = options.name
    found = fleets.resume(name)
    if is_over(found):
        stop, resume = (cluster.command(options, verb, name) for verb in ("stop", "resume"))
        retry = f"; to try again, run `{stop}`, then `{resume}`" if _has_failed(found) else ""
        raise CollectorFleetError(f"fleet {name} has already ended: {in_a_sentence(found)}{retry}")
    print_line(f"fleet {name} resumes; run `{cluster.command(options, 'status', name)}` to see its progress")
    return 0


def _has_failed(fleet: CollectorFleet) -> bool:
    return fleet.status is not None and fleet.status.phase is Phase.FAILED
