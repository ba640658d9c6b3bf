"""Define all errors that this package raises itself, in one tree.

::

    CollectorFleetError
    ├── UserCodeError       the environment, the policy, the training function or an import raised
    ├── InvalidOption       an argument is invalid. The error is also a ValueError
    ├── TooFewCollectors    fewer than ``min_available`` collectors were available for too long
    ├── InfrastructureError Ray or its machines failed. A retry may help
    │   ├── ReplayBufferLost  the actor with the replay buffer is lost
    │   └── PolicyServiceLost the actor of the inference service is lost
    ├── ClusterError        the API server refuses a request, or its answer cannot be used
    │   ├── InvalidKubeconfig   the kubeconfig does not exist or cannot be used
    │   ├── ClusterUnavailable  no API server with the CRD of CollectorFleet answers
    │   ├── AccessDenied        the API server refuses the credentials, or they lack a right
    │   ├── FleetRejected       the API server rejects the fleet as invalid
    │   ├── FleetNotFound       the namespace has no fleet of that name
    │   └── FleetStalled        the fleet has failed, or cannot continue until its user changes something
    ├── FolderTakenOver     another driver has taken over a folder that this driver writes to
    └── CollectorClosed     a collector is used after ``shutdown()``, or learner shards are used after ``stop()``

Each message is one sentence that names its object. The text of the first cause is quoted unchanged.
"""

from __future__ import annotations

import traceback as traceback_module
from typing import Final

_LONGEST_SENTENCE: Final = 1000


class CollectorFleetError(Exception):
    """The base class of all errors that this package raises itself."""


class InvalidOption(CollectorFleetError, ValueError):
    """An argument is invalid. The message has the argument, its numbers and the remedy."""


class UserCodeError(CollectorFleetError):
    """The user's code raised an error.

    Args:
        where: the code and the collector, such as ``environment my_envs:make (collector c0)``.
        cause: type and message of the original error, such as ``ValueError: no such game``.
        traceback: the original traceback as text. The traceback may come from another process.
    """

    def __init__(self, where: str, cause: str, traceback: str = "") -> None:
        super().__init__(where, cause, traceback)
        self.where = where
        self.cause = cause
        self.traceback = traceback

    @classmethod
    def of(cls, where: str, error: BaseException) -> UserCodeError:
        """Return an error for ``error``, which was raised in this process."""
        return cls(where, describe(error), "".join(traceback_module.format_exception(error)))

    def __str__(self) -> str:
        return f"{self.where}: {self.cause}"


class TooFewCollectors(CollectorFleetError):
    """Fewer than ``min_available`` collectors were available for too long.

    If a collector was lost, the message has the cause of the first loss.
    """


class InfrastructureError(CollectorFleetError):
    """Ray or its machines failed, not the user's code. ``__cause__`` is the original error."""

    @classmethod
    def of(cls, where: str, error: BaseException) -> InfrastructureError:
        """Return an error with the cause ``error``. ``where`` names the step that failed."""
        made = cls(f"{where}: {describe(error)}")
        made.__cause__ = error
        return made


class ReplayBufferLost(InfrastructureError):
    """The actor with the replay buffer and its content is lost.

    The loss does not count against the limit of a collector's restarts.
    """

    @classmethod
    def because(cls, cause: str) -> ReplayBufferLost:
        """Return an error with ``cause``, the launcher's message."""
        return cls(
            "replay buffer: its actor and its content were lost; if memory was short, give the actor more memory: "
            f"{cause}"
        )


class PolicyServiceLost(InfrastructureError):
    """The inference service that computes the actions of all collectors is lost, with its weights.

    The loss does not count against the limit of a collector's restarts.
    """

    @classmethod
    def because(cls, cause: str) -> PolicyServiceLost:
        """Return an error with ``cause``, the launcher's message."""
        return cls(
            "policy: the actor of the inference service and its weights were lost; if memory was short, give the "
            f"actor more memory: {cause}"
        )


class ClusterError(CollectorFleetError):
    """The API server refused a request, or its answer cannot be used."""


class InvalidKubeconfig(ClusterError):
    """The kubeconfig does not exist or cannot be used."""


class ClusterUnavailable(ClusterError):
    """No API server with the CRD of CollectorFleet answers. A retry or another context may help."""


class AccessDenied(ClusterError):
    """The API server does not accept the credentials, or they lack a right."""


class FleetRejected(ClusterError):
    """The API server rejects the fleet as invalid. The message is the server's."""


class FleetNotFound(ClusterError):
    """The namespace has no fleet of that name."""


class FleetStalled(ClusterError):
    """The fleet has failed, or cannot continue until its user changes something.

    The message is the message of the fleet's condition.
    """


class FolderTakenOver(CollectorFleetError):
    """Another driver has taken over a folder of checkpoints or output. This driver can no longer change the folder."""

    def __init__(self, folder: object, driver: str) -> None:
        """``driver`` is the other driver's name and the time of the takeover, or ``another`` if both are unknown."""
        super().__init__(f"{folder}: another driver has taken over the folder ({driver}); this driver stops writing")


class CollectorClosed(CollectorFleetError):
    """The collector was used after ``shutdown()``, or learner shards were used after ``stop()``."""


def describe(error: BaseException) -> str:
    """Return the last line that Python prints for ``error``, such as ``ValueError: no such game``."""
    text = str(error).strip()
    name = type(error).__qualname__
    return f"{name}: {text}" if text else name


def with_article(name: str) -> str:
    """Return ``an int`` for ``int``, and ``a str`` for ``str``."""
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def one_sentence(text: str) -> str:
    """Return ``text`` on one line of at most 1000 characters. A longer text is cut, and then ends with ``...``."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SENTENCE else line[: _LONGEST_SENTENCE - 3] + "..."
