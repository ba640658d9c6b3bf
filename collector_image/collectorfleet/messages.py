"""What driver and collector say to each other: requests and answers, weights, and what went wrong. No torch, no I/O.

A call of the driver returns at once. Its results arrive as messages in any order, and possibly never: a collector may
die without a word. Every message names its collector by slot and incarnation, so that a message of a retired
incarnation can be recognized.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from collectorfleet.errors import InfrastructureError
from collectorfleet.normalization import Normalization

# What is published has a name and versions of its own; a fleet of one policy has this one.
POLICY: Final = "policy"


@dataclass(frozen=True, slots=True)
class CollectorId:
    """What fills slot ``name`` in one of its incarnations: ``c3``, started for the second time.

    ``generation`` counts the incarnations of this slot alone, while ``incarnation`` is unique in the fleet.
    ``generation`` does not depend on the order in which collectors of other slots are lost, so seeds follow from it.
    """

    name: str
    incarnation: int
    generation: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.name

    @property
    def index(self) -> int:
        """Of its slot: 3 for ``c3``."""
        return int(self.name[1:])


@dataclass(frozen=True, slots=True)
class Parameters:
    """What environments are set to: ``values`` by name, and the version that frames carry which were made with them."""

    version: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One rollout of ``frames`` frames with a policy of at least ``min_version``, or of exactly ``version``."""

    id: int
    frames: int
    min_version: int
    version: int | None = None
    random: bool = False  # uniformly random actions in place of the policy's
    policy: str = POLICY
    seed: int | None = None  # of the episode that an evaluator plays in place of a rollout
    parameters: Parameters | None = None  # for the environments from now on; None: as they are
    recorded: int = 0  # how many of its episodes an evaluator records, the first ones of a batch


@dataclass(frozen=True, slots=True)
class Stored:
    """A snapshot of weights in the transport's store: ``handle`` is the transport's own.

    ``hashed`` is its digest, or will be: nobody who publishes waits for it, and a collector needs longer to load it.
    """

    hashed: Future[str] = field(repr=False)
    size_bytes: int
    handle: Any = field(repr=False)

    @property
    def digest(self) -> str:
        """Blocks until it is computed."""
        return self.hashed.result()


# The digests of what belongs to a version.
Proof = tuple[Future[str], ...]


def digest_of(proof: Proof) -> str:
    """Blocks until all are computed."""
    return "+".join(hashed.result() for hashed in proof)


@dataclass(frozen=True, slots=True)
class Weights:
    """A published version of a policy."""

    version: int
    stored: Stored
    policy: str = POLICY
    normalization: Stored | None = None  # of the environments, as it is with this version

    @property
    def proof(self) -> Proof:
        """Of all that a collector loads; it keeps nothing in the store."""
        also = () if self.normalization is None else (self.normalization.hashed,)
        return (self.stored.hashed, *also)

    @property
    def digest(self) -> str:
        """What a collector says that loaded all of it. Blocks until it is computed."""
        return digest_of(self.proof)


class Fault(StrEnum):
    """What kind of loss it was; also the reason that the status gives."""

    DIED = "Died"
    HUNG = "Hung"
    OUT_OF_MEMORY = "OutOfMemory"
    NODE_LOST = "NodeLost"
    WEIGHTS = "WeightsNotApplied"
    ENVIRONMENT = "EnvironmentError"  # the user's environment raised


@dataclass(frozen=True, slots=True)
class Segment:
    """From ``first_step`` of a rollout on, frames were made with ``version``."""

    first_step: int
    version: int


@dataclass(frozen=True, slots=True)
class Placed:
    """The collector's process runs, and is about to build."""

    collector: CollectorId
    pod: str  # where it runs
    node: str | None = None  # of the transport's, if collectors can be lost together with it


@dataclass(frozen=True, slots=True)
class Started:
    """The collector built its environment and policy."""

    collector: CollectorId
    pod: str  # where it runs
    pid: int
    normalization: Normalization | None = field(repr=False, default=None)  # what its environment begins with
    loop: str = "TorchRL"  # what steps it: Fast, or TorchRL and why
    findings: tuple[str, ...] = ()  # what the driver's log is to warn of


@dataclass(frozen=True, slots=True)
class Applied:
    """The collector loaded this version of a policy, and this is the digest of what it then had: an acknowledgement."""

    collector: CollectorId
    version: int
    digest: str
    policy: str = POLICY


@dataclass(frozen=True, slots=True)
class Episodes:
    """Episodes that ended: the return and the frames of each."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The first episodes of a rollout as animated WebP files; ``failure`` says why there is none."""

    files: tuple[bytes, ...] = field(repr=False, default=())
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request.

    ``payload`` is what a batch is made from, a :class:`collectorfleet.codec.frames.Part`; None if the collector wrote
    the frames to a replay buffer itself.
    """

    collector: CollectorId
    request_id: int
    payload: Any = field(repr=False)
    frames: int  # valid transitions
    version: int  # the oldest of the policy's versions that made them
    seconds: float  # of the rollout itself, by the collector's clock
    size_bytes: int = 0
    pickled: int = 0  # entries that no array could carry
    policy: str = POLICY
    normalization: Normalization | None = field(repr=False, default=None)  # what its environment saw since the last one
    episodes: Episodes | None = field(repr=False, default=None)  # that ended in it; None where the frames do not say
    loop: str | None = None  # what steps from now on, see Started, if that has changed
    first_starts: str | None = None  # a digest of what the collector's first episodes began with, once
    parameters: int | None = None  # the oldest version of parameters that an environment of the collector has
    recorded: Recorded | None = None  # what the request asked to record


@dataclass(frozen=True, slots=True)
class Raised:
    """The user's code raised in the collector: ``where`` is environment or policy, ``cause`` its own last line."""

    collector: CollectorId
    where: str
    cause: str
    traceback: str = field(repr=False, default="")
    by_environment: bool = False  # which may do better in another try; a policy does not


@dataclass(frozen=True, slots=True)
class Lost:
    """The collector is gone, or its answer is: the infrastructure's fault, not the user's."""

    collector: CollectorId
    cause: str
    fault: Fault = Fault.DIED
    request_id: int | None = None  # only this answer is lost, the collector is not


@dataclass(frozen=True, slots=True)
class ServiceLost:
    """An actor that all collectors need is gone: neither the user's fault nor the collector's."""

    collector: CollectorId
    error: InfrastructureError


Message = Placed | Started | Applied | Answer | Raised | Lost | ServiceLost


@dataclass(frozen=True, slots=True)
class Returned:
    """What a method returned that a collector was asked to call between two rollouts."""

    value: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """The method raised, or what it returned cannot travel: ``cause`` is the last line of ``traceback``."""

    cause: str
    traceback: str = field(repr=False, default="")
