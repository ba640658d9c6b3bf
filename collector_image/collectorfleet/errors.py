"""Everything that goes wrong on purpose, in one tree.

::

    CollectorFleetError
    ├── UserCodeError       the environment, the policy, the training function or an import raised
    ├── InvalidOption       an argument that cannot work; also a ValueError
    ├── TooFewCollectors    fewer than ``min_available`` collectors for too long
    ├── InfrastructureError Ray, or what it runs on, failed; trying again may help
    │   ├── ReplayBufferLost  the actor that holds the replay buffer is gone
    │   └── PolicyServiceLost the actor that answers for the policy is gone
    ├── ClusterError        the API server refused, or its answer cannot be used
    │   ├── InvalidKubeconfig   there is no kubeconfig, or no client can be made from it
    │   ├── ClusterUnavailable  no API server answers that knows CollectorFleets
    │   ├── AccessDenied        the credentials are not accepted, or lack a right
    │   ├── FleetRejected       the API server calls the fleet invalid
    │   ├── FleetNotFound       the namespace has no fleet of that name
    │   └── FleetStalled        the fleet waits for its user, or has failed
    ├── FolderTakenOver     another driver has taken over a folder that this one was writing to
    └── CollectorClosed     used after ``shutdown()`` or ``stop()``

The text of each is one sentence that names its object; the first cause keeps its own words.
"""

from __future__ import annotations

import traceback as traceback_module
from typing import Final

_LONGEST_SENTENCE: Final = 1000


class CollectorFleetError(Exception):
    """Base of all errors that this package raises itself."""


class InvalidOption(CollectorFleetError, ValueError):
    """An argument that cannot work: what it is, its numbers, what to change."""


class UserCodeError(CollectorFleetError):
    """Code of the user raised.

    Args:
        where: whose code it was and in which collector, such as ``environment my_envs:make (collector c0)``.
        cause: type and message of the original error, such as ``ValueError: no such game``.
        traceback: the original traceback as text; it may come from another process.
    """

    def __init__(self, where: str, cause: str, traceback: str = "") -> None:
        super().__init__(where, cause, traceback)
        self.where = where
        self.cause = cause
        self.traceback = traceback

    @classmethod
    def of(cls, where: str, error: BaseException) -> UserCodeError:
        """The error as raised here, in this process."""
        return cls(where, describe(error), "".join(traceback_module.format_exception(error)))

    def __str__(self) -> str:
        return f"{self.where}: {self.cause}"


class TooFewCollectors(CollectorFleetError):
    """Fewer than ``min_available`` collectors for too long; says the first cause."""


class InfrastructureError(CollectorFleetError):
    """Ray, or what it runs on, failed: a lost cluster is nobody's code. The original error is its cause."""

    @classmethod
    def of(cls, where: str, error: BaseException) -> InfrastructureError:
        """``where`` is what was being done."""
        made = cls(f"{where}: {describe(error)}")
        made.__cause__ = error
        return made


class ReplayBufferLost(InfrastructureError):
    """The actor that holds the replay buffer is gone, with what was in it: no collector's fault."""

    @classmethod
    def because(cls, cause: str) -> ReplayBufferLost:
        """``cause`` is why, in the launcher's words."""
        return cls(
            f"replay buffer: its actor was lost with its content; if memory was short, give the actor more: {cause}"
        )


class PolicyServiceLost(InfrastructureError):
    """The inference service that all collectors ask for actions is gone, with its weights: no collector's fault."""

    @classmethod
    def because(cls, cause: str) -> PolicyServiceLost:
        """``cause`` is why, in the launcher's words."""
        return cls(
            "policy: the actor of the inference service was lost with its weights; if memory was short, give "
            f"the actor more: {cause}"
        )


class ClusterError(CollectorFleetError):
    """The API server refused, or its answer cannot be used."""


class InvalidKubeconfig(ClusterError):
    """There is no kubeconfig, or no client can be made from it."""


class ClusterUnavailable(ClusterError):
    """No API server answers that knows CollectorFleets. Trying again, or another context, may help."""


class AccessDenied(ClusterError):
    """The API server does not accept the credentials, or they lack a right."""


class FleetRejected(ClusterError):
    """The API server calls the fleet invalid, in its own words."""


class FleetNotFound(ClusterError):
    """The namespace has no fleet of that name."""


class FleetStalled(ClusterError):
    """The fleet waits for its user, or has failed; the message is that of its condition."""


class FolderTakenOver(CollectorFleetError):
    """Another driver has taken over a folder of checkpoints or output; this driver can no longer change the folder."""

    def __init__(self, folder: object, driver: str) -> None:
        """``driver`` is the other one, and since when it has the folder."""
        super().__init__(f"{folder}: another driver has taken over the folder ({driver}); this driver stops writing")


class CollectorClosed(CollectorFleetError):
    """The collector was used after ``shutdown()``, or learner shards after ``stop()``."""


def describe(error: BaseException) -> str:
    """The error as Python prints its last line: ``ValueError: no such game``."""
    text = str(error).strip()
    name = type(error).__qualname__
    return f"{name}: {text}" if text else name


def one_sentence(text: str) -> str:
    """``text`` in one line that fits into a condition, its beginning kept."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SENTENCE else line[: _LONGEST_SENTENCE - 3] + "..."
