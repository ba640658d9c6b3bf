"""Load the statistics of the evaluated version into the evaluator's environment, and freeze these statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from torchrl.envs import EnvBase, VecNorm, VecNormV2

from collectorfleet.actor.normalization.environment import differ
from collectorfleet.actor.normalization.search import find, transforms_of
from collectorfleet.actor.normalization.transforms import OfUsers
from collectorfleet.codec import normalization as codec
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import InvalidOption
from collectorfleet.normalization import RunningStatistics

_REWARD = "reward"


class FrozenNormalization:
    """The statistics of an evaluation environment. They change only when the evaluator loads a version.

    Args:
        env: the environment. The constructor freezes the running statistics of this environment.
        constants: whether the fleet publishes normalization constants, such as the constants of ``ObservationNorm``.

    Raises:
        InvalidOption: the environment keeps statistics that cannot be read, or the environment keeps running statistics
            of rewards.
    """

    def __init__(self, env: EnvBase, *, constants: bool) -> None:
        found = find(env)
        for name, kept in found.items():
            if kept[0].is_updated_by_steps and _is_of_rewards(name):
                raise InvalidOption(
                    f"evaluation: {name} normalizes rewards by statistics that change with each version, so "
                    "returns of two versions cannot be compared. In the evaluation environment, remove the reward "
                    "from this transform's in_keys"
                )
        # The evaluation environment uses its own normalization constants for rewards, because rewards do not affect
        # actions.
        self._kept = {
            name: kept
            for name, kept in found.items()
            if (kept[0].is_updated_by_steps or constants) and not _is_of_rewards(name)
        }
        for transform in transforms_of(env):
            if isinstance(transform, VecNorm | VecNormV2):
                transform.freeze()
        # A transform that the user wrote has no method to freeze its statistics.
        self._drifts = any(isinstance(kept[0], OfUsers) and kept[0].is_updated_by_steps for kept in self._kept.values())
        self._loaded: snapshots.Snapshot | None = None

    @property
    def names(self) -> list[str]:
        return sorted(self._kept)

    def check(self, snapshot: snapshots.Snapshot) -> None:
        """Compare the statistics of a version with the statistics of the environment.

        The environment may lack statistics of rewards, because rewards do not affect actions.

        Raises:
            InvalidOption: the environment does not keep the same statistics of observations as the training
                environment.
        """
        given = [name for name in codec.decode(snapshot) if not _is_of_rewards(name)]
        if set(_matched(self._kept, given).values()) != set(given) or len(given) != len(self._kept):
            raise InvalidOption(
                f"evaluation: the training environment publishes the statistics {sorted(given)}, but the evaluation "
                f"environment has {self.names}; give both environments the same transforms of observations"
            )

    def load(self, snapshot: snapshots.Snapshot) -> str:
        """Load statistics that :meth:`check` accepts, in place. Return the digest of the loaded statistics."""
        given = codec.decode(snapshot)
        proofs = dict(given)
        for name, theirs in _matched(self._kept, given).items():
            one = given[theirs]
            loaded = [place.load(one) for place in self._kept[name]]
            proofs[theirs] = RunningStatistics(
                1.0, one.updates, next((sums for sums in loaded if differ(sums, one)), one.sums)
            )
        self._loaded = snapshot
        return snapshots.digest(codec.encode(proofs).arrays)

    def begin_episodes(self) -> None:
        """Load the statistics of the version into the user's transforms again.

        Earlier episodes may have changed the statistics in these transforms.
        """
        if self._loaded is not None and self._drifts:
            self.load(self._loaded)


def _is_of_rewards(name: str) -> bool:
    return _REWARD in name.rpartition(".")[2]


def _matched(here: Iterable[str], there: Iterable[str]) -> dict[str, str]:
    """Map each name in ``here`` to the matching name in ``there``. Names without a match are left out.

    A name contains the position, the class and the key of a transform. If one environment has an additional transform,
    the same transform may have different positions in the two environments. So the position is ignored if class and key
    occur only once in each environment.
    """
    here, names = list(here), set(there)
    counts_here, counts_there = Counter(map(_without_place, here)), Counter(map(_without_place, names))
    by_short = {_without_place(name): name for name in names}
    found = {}
    for name in here:
        key = _without_place(name)
        if counts_here[key] == counts_there[key] == 1:
            found[name] = by_short[key]
        elif name in names:
            found[name] = name
    return found


def _without_place(name: str) -> str:
    """Return a name without positions: ``VecNormV2.observation`` for ``1.VecNormV2.observation``."""
    return ".".join(part for part in name.split(".") if not part.isdigit())
