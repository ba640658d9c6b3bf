"""Find out which part of the user's code raised an error. The code that calls this part marks the error.

The mark is called the *origin*. It changes neither the type nor the traceback of the error. A step without an error
takes no additional time.
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
# If a process of a TorchRL collector raises an error, TorchRL writes this text between the error's message and its
# traceback.
_WORKER_TRACEBACK: Final = "\n\nWorker traceback:"
# TorchRL's collectors call code of these packages directly. So an error in this code is not an error of the user's
# code.
_LIBRARIES: Final = ("tensordict", "torch", "torchrl", "numpy")
_OWN: Final = str(Path(__file__).parents[1]) + os.sep
_STANDARD_LIBRARY: Final = (sysconfig.get_path("stdlib") + os.sep, "<frozen ")
_PACKAGES: Final = ("site-packages", "dist-packages")


class Origin(StrEnum):
    """The part of the code that raised an error. Each value is the name of the part in messages."""

    ENVIRONMENT = "environment"
    POLICY = "policy"
    REPLAY_BUFFER = "replay buffer"
    FRAMES = "frames"  # the frames of a rollout cannot be copied, counted or encoded for the driver
    OPTIONS = "collector options"
    PRE_COLLECT_HOOK = "pre_collect_hook"
    POST_COLLECT_HOOK = "post_collect_hook"
    POSTPROC = "postproc"  # the ``postproc`` of one collector, from collector_kwargs
    PARAMETERS = "environment parameters"  # the environment has no such parameters, or rejects them
    PROCESSES = "processes of the collector"  # a process ended, and its log has the reason


class RaisedInProcess(Exception):
    """The user's code raised an error in a process of a collector. The text describes the original error.

    TorchRL sends only the class and the text of an error from a process. So each origin has its own class of error.
    """

    origin: Origin


class EnvironmentRaised(RaisedInProcess):
    origin = Origin.ENVIRONMENT


class PolicyRaised(RaisedInProcess):
    origin = Origin.POLICY


def mark(error: BaseException, origin: Origin) -> None:
    """Attach ``origin`` to ``error``, unless an inner call has already attached an origin."""
    # Some classes of errors do not allow new attributes.
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
    """Return the attached origin. If no origin is attached, find the origin in the traceback.

    The traceback is needed if TorchRL's own loop calls environment and policy. In this case, the first call of an
    environment or a module in the traceback is the origin. If a TorchRL collector called a hook or ``postproc``, the
    hook or ``postproc`` is the origin, even if other code inside this call raised the error. If a TorchRL collector
    itself raised the error, the origin is ``OPTIONS``. If a library raised the error while a collector stacked frames,
    the origin is ``FRAMES``.
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
    # Code of this package counts as a library. TorchRL's collectors call this code, and it may call TorchRL's loop.
    if file.startswith(_OWN) or any(f"/{package}/" in file for package in _LIBRARIES):
        return True
    # The folder of installed packages may be inside the folder of the standard library. Installed packages count as the
    # user's code.
    return file.startswith(_STANDARD_LIBRARY) and not any(f"/{folder}/" in file for folder in _PACKAGES)


def cause_of(error: BaseException, description: str) -> str:
    """Return the message of the original error without the worker's traceback.

    ``description`` is the text of ``error``.
    """
    text = str(error) if isinstance(error, RaisedInProcess) else description
    return text.partition(_WORKER_TRACEBACK)[0]
