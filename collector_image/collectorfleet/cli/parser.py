"""What can be written behind ``collectorfleet``."""

from __future__ import annotations

import argparse

from collectorfleet.cli import collect, drive, logs, render, report, run, status, submit, suspend, top, validate


def parser(prog: str = "collectorfleet") -> argparse.ArgumentParser:
    """Its result has ``command``: a function of the options that returns the exit code."""
    made = argparse.ArgumentParser(
        prog=prog, description="Fleets of reinforcement-learning data collectors on Ray and Kubernetes."
    )
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    for command in (run, report, submit, validate, render, status, top, logs, suspend, drive, collect):
        command.add_to(commands)
    return made
