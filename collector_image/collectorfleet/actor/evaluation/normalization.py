"""The statistics of an evaluator's environment: those of the version that it plays, and no others."""

from __future__ import annotations

from torchrl.envs import EnvBase, VecNorm, VecNormV2

from collectorfleet.actor.normalization.environment import differ
from collectorfleet.actor.normalization.search import find, transforms_of
from collectorfleet.actor.normalization.transforms import OfUsers
from collectorfleet.codec import normalization as codec
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import InvalidOption
from collectorfleet.normalization import Running

_REWARD = "reward"


class FrozenNormalization:
    """Loads the statistics of a version into an environment, which does not change them.

    Args:
        env: its running statistics are frozen from now on.
        constants: whether the fleet publishes constants, such as those of ``ObservationNorm``.

    Raises:
        InvalidOption: the environment keeps statistics that cannot be read here.
    """

    def __init__(self, env: EnvBase, *, constants: bool) -> None:
        self._kept = {name: kept for name, kept in find(env).items() if kept[0].runs or constants}
        for transform in transforms_of(env):
            if isinstance(transform, VecNorm | VecNormV2):
                transform.freeze()
        # Nothing freezes a transform of the user's.
        self._drifts = any(isinstance(kept[0], OfUsers) and kept[0].runs for kept in self._kept.values())
        self._loaded: snapshots.Snapshot | None = None

    @property
    def names(self) -> list[str]:
        return sorted(self._kept)

    def check(self, snapshot: snapshots.Snapshot) -> None:
        """Compare the statistics of a version with those that the environment keeps.

        Statistics of rewards may be missing in the environment: they change no action.

        Raises:
            InvalidOption: the environment has other statistics of observations than were published.
        """
        given = codec.decode(snapshot)
        missing = self._kept.keys() - given.keys()
        unknown = [name for name in given.keys() - self._kept.keys() if _REWARD not in name.rpartition(".")[2]]
        if missing or unknown:
            raise InvalidOption(
                f"evaluation: the training environment publishes the statistics {sorted(given)}, and the evaluation "
                f"environment keeps {self.names}; give both the same transforms of observations, in the same places"
            )

    def load(self, snapshot: snapshots.Snapshot) -> str:
        """Put statistics that were checked into the environment, in place; returns the digest of what it then has."""
        given = codec.decode(snapshot)
        proofs = dict(given)
        for name, kept in self._kept.items():
            one = given[name]
            loaded = [place.load(one) for place in kept]
            proofs[name] = Running(1.0, one.updates, next((sums for sums in loaded if differ(sums, one)), one.sums))
        self._loaded = snapshot
        return snapshots.digest(codec.encode(proofs).arrays)

    def begin_episodes(self) -> None:
        """Forget what transforms of the user's saw in earlier episodes: each begins with the version's statistics."""
        if self._loaded is not None and self._drifts:
            self.load(self._loaded)
