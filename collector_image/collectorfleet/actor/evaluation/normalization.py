"""The statistics of an evaluator's environment: those of the version that it plays, and no others."""

from __future__ import annotations

from torchrl.envs import EnvBase, VecNorm, VecNormV2

from collectorfleet.actor.normalization.search import find, transforms_of
from collectorfleet.codec import normalization as codec
from collectorfleet.codec import snapshot as snapshots
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

    @property
    def names(self) -> list[str]:
        return sorted(self._kept)

    def load(self, snapshot: snapshots.Snapshot) -> str:
        """Put statistics into the environment, in place; returns the digest of what it then has.

        Statistics of rewards may be missing in the environment: they change no action.

        Raises:
            ValueError: the environment has other statistics of observations than were published.
        """
        given = codec.decode(snapshot)
        missing = sorted(self._kept.keys() - given.keys())
        unknown = sorted(name for name in given.keys() - self._kept.keys() if _REWARD not in name.rpartition(".")[2])
        if missing or unknown:
            raise ValueError(
                f"normalization: the training environment publishes {sorted(given)}, and the evaluation environment "
                f"keeps {self.names}; give both the same transforms of observations, in the same places"
            )
        proofs = dict(given)
        for name, kept in self._kept.items():
            one = given[name]
            for place in kept:
                proofs[name] = Running(1.0, one.updates, place.load(one))
        return snapshots.digest(codec.encode(proofs).arrays)
