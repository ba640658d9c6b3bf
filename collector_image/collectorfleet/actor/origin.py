"""Whose code raised an error: noted where that code is called, and kept with the error.

An error keeps its type and its traceback. A ``try`` costs nothing in a step that raises nothing.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

from torch import nn
from torchrl.envs import EnvBase

from collectorfleet.torchrl_private.collectors import PROCESS_CHECK

_KEY: Final = "collectorfleet_origin"
# What TorchRL's collectors of several processes put between the message and the traceback of an error in one of them.
_WORKER_TRACEBACK: Final = "\n\nWorker traceback:"


class Origin(StrEnum):
    """Whose code raised, as messages call it."""

    ENVIRONMENT = "environment"
    POLICY = "policy"
    REPLAY_BUFFER = "replay buffer"
    FRAMES = "frames"  # what a rollout made, where it cannot be written down for the driver
    OPTIONS = "collector options"
    PARAMETERS = "environment parameters"  # which the environment does not take, or refuses
    PROCESSES = "processes of the collector"  # one of them ended, and its log says why


class RaisedInProcess(Exception):
    """Code of the user raised in a process of a collector; the text describes the original error.

    TorchRL builds the error anew from its class and its text, so the class has to say whose error it is.
    """

    origin: Origin


class EnvironmentRaised(RaisedInProcess):
    origin = Origin.ENVIRONMENT


class PolicyRaised(RaisedInProcess):
    origin = Origin.POLICY


def mark(error: BaseException, origin: Origin) -> None:
    """Note whose code raised ``error``; the innermost note holds."""
    # Not by setattr, which classes of errors may forbid.
    error.__dict__.setdefault(_KEY, origin)


@contextmanager
def calling(origin: Origin) -> Iterator[None]:
    """Mark whatever is raised inside of the context."""
    try:
        yield
    except BaseException as error:
        mark(error, origin)
        raise


def origin_of(error: BaseException) -> Origin:
    """Return whose code raised: as it was noted, else by the first frame of an environment or a module.

    TorchRL's loops call environment and policy themselves, where nothing can be noted. Errors that TorchRL's collectors
    raise themselves are about their options, and those of TensorDicts that collectors stack are about the frames.
    """
    if isinstance(error, RaisedInProcess):
        return error.origin
    noted: Origin | None = error.__dict__.get(_KEY)
    if noted is not None:
        return noted
    called = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file, owner = frame.f_code.co_filename, frame.f_locals.get("self")
        if "/torchrl/envs/" in file or isinstance(owner, EnvBase):
            return Origin.ENVIRONMENT
        if isinstance(owner, nn.Module):
            return Origin.POLICY
        if "/torchrl/collectors/" in file:
            called = file
        elif called and not _is_library(file):
            return Origin.POLICY
    if not called:
        return Origin.POLICY
    if frame.f_code is PROCESS_CHECK:
        return Origin.PROCESSES
    return Origin.OPTIONS if called == file else Origin.FRAMES


def _is_library(file: str) -> bool:
    return any(f"/{package}/" in file for package in ("tensordict", "torch", "torchrl"))


def cause_of(error: BaseException, description: str) -> str:
    """Return the last line of the original error, whose ``description`` is that of ``error``."""
    text = str(error) if isinstance(error, RaisedInProcess) else description
    return text.partition(_WORKER_TRACEBACK)[0]
