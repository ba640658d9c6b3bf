"""Find out which part of the user's code raised an error. The caller of that code attaches the origin to the error.

The error keeps its type and its traceback. The ``try`` costs no time in a step that raises no error.
"""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

from torch import nn
from torchrl.envs import EnvBase

from collectorfleet.torchrl_private.collectors import PROCESS_CHECK, called_option

_KEY: Final = "collectorfleet_origin"
# TorchRL's collectors of several processes put this text between message and traceback of an error from a process.
_WORKER_TRACEBACK: Final = "\n\nWorker traceback:"
# TorchRL's collectors call the code of these packages themselves, such as copy.py for entries that are no tensors.
_LIBRARIES: Final = ("tensordict", "torch", "torchrl", "numpy")
_OWN: Final = str(Path(__file__).parents[1]) + os.sep
_STANDARD_LIBRARY: Final = (sysconfig.get_path("stdlib") + os.sep, "<frozen ")
_PACKAGES: Final = ("site-packages", "dist-packages")


class Origin(StrEnum):
    """The part of the code that raised an error, as messages name it."""

    ENVIRONMENT = "environment"
    POLICY = "policy"
    REPLAY_BUFFER = "replay buffer"
    FRAMES = "frames"  # the frames of a rollout cannot be copied, counted or encoded for the driver
    OPTIONS = "collector options"
    PRE_COLLECT_HOOK = "pre_collect_hook"
    POST_COLLECT_HOOK = "post_collect_hook"
    POSTPROC = "postproc"  # the function of one collector, from collector_kwargs
    PARAMETERS = "environment parameters"  # the environment has no such parameters, or rejects them
    PROCESSES = "processes of the collector"  # a process ended, and its log has the reason


class RaisedInProcess(Exception):
    """Code of the user raised an error in a process of a collector. The text describes the original error.

    TorchRL rebuilds the error from its class and its text, so the class has to carry the origin.
    """

    origin: Origin


class EnvironmentRaised(RaisedInProcess):
    origin = Origin.ENVIRONMENT


class PolicyRaised(RaisedInProcess):
    origin = Origin.POLICY


def mark(error: BaseException, origin: Origin) -> None:
    """Attach ``origin`` to ``error``, unless an inner call has already attached one."""
    # Some classes of errors forbid setattr.
    error.__dict__.setdefault(_KEY, origin)


@contextmanager
def calling(origin: Origin) -> Iterator[None]:
    """Attach ``origin`` to each error that is raised inside the context."""
    try:
        yield
    except BaseException as error:
        mark(error, origin)
        raise


def origin_of(error: BaseException) -> Origin:
    """Return the attached origin, or find it by the first frame of an environment or a module in the traceback.

    The search is needed where TorchRL's loops call environment and policy themselves. A hook or a ``postproc`` that a
    TorchRL collector calls is the origin, even if the error is from code that it calls. Other errors of TorchRL's
    collectors concern their options. An error of a TensorDict that a collector stacks concerns the frames.
    """
    if isinstance(error, RaisedInProcess):
        return error.origin
    noted: Origin | None = error.__dict__.get(_KEY)
    if noted is not None:
        return noted
    called = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file, owner = frame.f_code.co_filename, frame.f_locals.get("self")
        if "/torchrl/envs/" in file or isinstance(owner, EnvBase):
            return Origin.ENVIRONMENT
        if isinstance(owner, nn.Module):
            return Origin.POLICY
        if "/torchrl/collectors/" in file:
            called = file
            option = called_option(frame.f_code, line)
            if option is not None:
                return Origin(option)
        elif called and not _is_library(file):
            return Origin.POLICY
    if not called:
        return Origin.POLICY
    if frame.f_code is PROCESS_CHECK:
        return Origin.PROCESSES
    return Origin.OPTIONS if called == file else Origin.FRAMES


def _is_library(file: str) -> bool:
    # TorchRL's collectors call the fleet's collector, which may call TorchRL's loop.
    if file.startswith(_OWN) or any(f"/{package}/" in file for package in _LIBRARIES):
        return True
    # The folder for installed packages may be inside the folder of the standard library.
    return file.startswith(_STANDARD_LIBRARY) and not any(f"/{folder}/" in file for folder in _PACKAGES)


def cause_of(error: BaseException, description: str) -> str:
    """Return the message of the original error without the worker's traceback. ``description`` describes ``error``."""
    text = str(error) if isinstance(error, RaisedInProcess) else description
    return text.partition(_WORKER_TRACEBACK)[0]
