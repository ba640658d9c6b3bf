"""Define the messages between the driver and its collectors: requests, answers, weights and failures. No torch, no I/O.

When the driver calls a collector, the call returns at once. The results arrive later as messages, in any order. If a
collector dies, its message never arrives. Each message names its collector by slot and incarnation. So the driver
recognizes messages of a retired incarnation.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from collectorfleet.errors import InfrastructureError
from collectorfleet.normalization import Normalization

# Each published policy has a name and its own versions. The policy of a fleet with one policy has this name.
POLICY: Final = "policy"


@dataclass(frozen=True, slots=True)
class CollectorId:
    """One incarnation of the collector in slot ``name``, such as the second start of ``c3``.

    ``generation`` counts the incarnations of this slot. ``incarnation`` is unique in the fleet. Seeds are derived from
    ``generation``, because it does not depend on the order in which collectors of other slots are lost.
    """

    name: str
    incarnation: int
    generation: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.name

    @property
    def index(self) -> int:
        """Return the index of the slot: 3 for ``c3``."""
        return int(self.name[1:])


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of environments: ``values`` by name, and their version.

    Frames that collectors make with these values carry this version.
    """

    version: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A request for ``frames`` frames.

    If ``version`` is set, the collector uses exactly this version. Otherwise, it uses ``min_version`` or a newer
    version.
    """

    id: int
    frames: int
    min_version: int
    version: int | None = None
    random: bool = False  # uniformly random actions instead of the policy's actions
    policy: str = POLICY
    seed: int | None = None  # if set, an evaluator runs episodes with this seed
    parameters: Parameters | None = None  # new parameters of the environments; None: unchanged
    recorded: int = 0  # number of first episodes that an evaluator records as videos


@dataclass(frozen=True, slots=True)
class Stored:
    """A snapshot of weights in the transport's store. Only the transport interprets ``handle``.

    ``hashed`` is the future of the digest. Publishing does not wait for this future. The driver compares the digest
    only later, when a collector acknowledges the snapshot.
    """

    hashed: Future[str] = field(repr=False)
    size_bytes: int
    handle: Any = field(repr=False)

    @property
    def digest(self) -> str:
        """Return the digest of the snapshot. Blocks until the digest is computed."""
        return self.hashed.result()


# The digest of a version's weights, and the digest of its normalization if there is a normalization.
Proof = tuple[Future[str], ...]


def digest_of(proof: Proof) -> str:
    """Return the digests of ``proof``, joined by ``+``. Blocks until all are computed."""
    return "+".join(hashed.result() for hashed in proof)


@dataclass(frozen=True, slots=True)
class Weights:
    """A published version of a policy."""

    version: int
    stored: Stored
    policy: str = POLICY
    normalization: Stored | None = None  # statistics of the environments, as published with this version

    @property
    def proof(self) -> Proof:
        """Return the digests of everything that a collector loads. A proof keeps no snapshot in the store."""
        also = () if self.normalization is None else (self.normalization.hashed,)
        return (self.stored.hashed, *also)

    @property
    def digest(self) -> str:
        """Return the digest with which a collector acknowledges this version. Blocks until the digest is computed."""
        return digest_of(self.proof)


class Fault(StrEnum):
    """The kind of a collector's loss. The status shows this value as the reason."""

    DIED = "Died"
    HUNG = "Hung"
    OUT_OF_MEMORY = "OutOfMemory"
    NODE_LOST = "NodeLost"
    WEIGHTS = "WeightsNotApplied"
    ENVIRONMENT = "EnvironmentError"  # the user's environment raised


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a rollout: frames from ``first_step`` on were made with ``version``."""

    first_step: int
    version: int


@dataclass(frozen=True, slots=True)
class Placed:
    """The collector's process runs, and begins to build environment and policy."""

    collector: CollectorId
    pod: str  # where the process runs
    node: str | None = None  # Ray's id of the node; None: the transport is not Ray


@dataclass(frozen=True, slots=True)
class Started:
    """The collector built its environment and policy."""

    collector: CollectorId
    pod: str  # where the process runs
    pid: int
    normalization: Normalization | None = field(repr=False, default=None)  # initial statistics of the environment
    loop: str = "TorchRL"  # the rollout loop: Fast, or TorchRL with the reason
    findings: tuple[str, ...] = ()  # warnings for the driver's log


@dataclass(frozen=True, slots=True)
class Applied:
    """The collector acknowledges a version of a policy. It computed ``digest`` from the weights that it loaded."""

    collector: CollectorId
    version: int
    digest: str
    policy: str = POLICY


@dataclass(frozen=True, slots=True)
class Episodes:
    """The returns of ended episodes, and their lengths in frames."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The first episodes of a rollout as animated WebP files. ``failure`` is the reason if there are no files."""

    files: tuple[bytes, ...] = field(repr=False, default=())
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a request.

    ``payload`` is a :class:`collectorfleet.codec.frames.Part` (one part of a batch). If the collector wrote the frames
    to a replay buffer itself, ``payload`` is None.
    """

    collector: CollectorId
    request_id: int
    payload: Any = field(repr=False)
    frames: int  # valid transitions
    version: int  # the oldest version of the policy among the frames
    seconds: float  # duration of the rollout, by the collector's clock
    size_bytes: int = 0
    pickled: int = 0  # number of entries that are pickled, because they are not arrays
    policy: str = POLICY
    normalization: Normalization | None = field(repr=False, default=None)  # updates since the previous answer
    episodes: Episodes | None = field(repr=False, default=None)  # that ended in the rollout; None: unknown
    loop: str | None = None  # the rollout loop of later rollouts, see Started; None: unchanged
    first_starts: str | None = None  # digest of the first observations of the first episodes, in one answer only
    parameters: int | None = None  # the oldest version of parameters in the collector's environments
    recorded: Recorded | None = None  # the recorded episodes, if the request asked for any


@dataclass(frozen=True, slots=True)
class Raised:
    """The user's code ``where`` raised an error in the collector. ``cause`` is the last line of the traceback."""

    collector: CollectorId
    where: str
    cause: str
    traceback: str = field(repr=False, default="")
    by_environment: bool = False  # the environment raised, so a retry may help


@dataclass(frozen=True, slots=True)
class Lost:
    """The collector or one of its answers is lost. The infrastructure is the cause, not the user's code."""

    collector: CollectorId
    cause: str
    fault: Fault = Fault.DIED
    request_id: int | None = None  # if set, only the answer to this request is lost, and the collector still runs


@dataclass(frozen=True, slots=True)
class ServiceLost:
    """An actor that all collectors need is lost. The loss counts as a failure of the infrastructure."""

    collector: CollectorId
    error: InfrastructureError


Message = Placed | Started | Applied | Answer | Raised | Lost | ServiceLost


@dataclass(frozen=True, slots=True)
class Returned:
    """The return value of a method that a collector called between two rollouts, at the driver's request."""

    value: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """The method raised, or its return value cannot be pickled. ``cause`` is the last line of ``traceback``."""

    cause: str
    traceback: str = field(repr=False, default="")
