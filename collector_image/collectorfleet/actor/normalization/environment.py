"""The normalization of a collector's environment. The driver reads and replaces this normalization.

When the collector loads a weights version, the statistics of the version replace the statistics of the environment. The
*contribution* of the collector is the statistics of the steps since its last answer. The collector sends each
contribution once, in its next answer to the driver.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from torchrl.envs import EnvBase

from collectorfleet.actor.normalization.search import find
from collectorfleet.actor.normalization.transforms import Kept, OfConstants
from collectorfleet.codec import normalization as codec
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import InvalidOption
from collectorfleet.normalization import Array, Normalization, RunningStatistics, merged


class EnvironmentNormalization:
    """The statistics of one collector's environments. ``begun`` contains the initial statistics.

    Any thread may use this object, but not while the environment takes a step.
    """

    def __init__(self, kept: Mapping[str, list[Kept]]) -> None:
        self._kept = kept
        self._runs = {name: those for name, those in kept.items() if those[0].is_updated_by_steps}
        self._lock = threading.Lock()
        self._unreported: dict[str, RunningStatistics] = {}
        self._base = self._read()
        self.begun = self.now()

    @classmethod
    def of(cls, env: EnvBase, *, constants: bool) -> EnvironmentNormalization | None:
        """Return the normalization of ``env``. Return None if ``env`` has no statistics.

        If ``constants`` is true, the normalization includes constants. Raises InvalidOption if ``env`` has statistics
        that cannot be read.
        """
        kept = {name: those for name, those in find(env).items() if those[0].is_updated_by_steps or constants}
        return cls(kept) if kept else None

    def now(self) -> Normalization:
        """Return the current statistics.

        If several environments have statistics with the same name, return the values of the first environment.
        """
        return {name: those[0].read() for name, those in self._kept.items()}

    def load(self, snapshot: snapshots.Snapshot) -> str:
        """Load statistics into the environments in place. Return the digest of the loaded statistics.

        Raises:
            ValueError: the names of the statistics differ from the names in the environments. In this case the
                environments are unchanged.
        """
        given = codec.decode(snapshot)
        if given.keys() != self._kept.keys():
            raise ValueError(
                f"normalization: the published statistics are {sorted(given)}, but this environment has "
                f"{sorted(self._kept)}; give all environments the same transforms"
            )
        with self._lock:
            self._note_contribution()
            proofs = {}
            for name, one in given.items():
                loaded = [kept.load(one) for kept in self._kept[name]]
                proofs[name] = RunningStatistics(
                    1.0, one.updates, next((sums for sums in loaded if differ(sums, one)), one.sums)
                )
            self._base = self._read()
        return snapshots.digest(codec.encode(proofs).arrays)

    def contribution(self) -> Normalization | None:
        """Return the statistics of the steps since the last call. Return None if there were no new steps.

        Raises:
            ValueError: the environment returned a value that is not finite.
        """
        with self._lock:
            self._note_contribution()
            found, self._unreported = self._unreported, {}
        for name, one in found.items():
            if not one.is_finite:
                raise ValueError(
                    f"{name}: the environment returned a value that is not finite, which would spoil all "
                    "later statistics; correct the environment"
                )
        return found or None

    def reset_base(self) -> None:
        """Exclude the present statistics from the next contribution. Call this after a state was loaded."""
        with self._lock:
            self._base = self._read()

    def _note_contribution(self) -> None:
        now = self._read()
        for name, those in now.items():
            seen = [one.since(before) for one, before in zip(those, self._base[name], strict=True)]
            for one in seen:
                if one.updates:
                    self._unreported = merged(self._unreported, {name: one})
        self._base = now

    def _read(self) -> dict[str, list[RunningStatistics]]:
        return {name: [one.read() for one in those] for name, those in self._runs.items()}


def load(env: EnvBase, normalization: Normalization) -> None:
    """Load statistics into an environment of this process.

    Raises:
        InvalidOption: the environment keeps other statistics than the collectors, or the environment keeps statistics
            that cannot be read.
    """
    kept = find(env)
    learnt = {name for name, those in kept.items() if not isinstance(those[0], OfConstants)}
    for name in sorted((learnt - normalization.keys()) | (normalization.keys() - kept.keys())):
        raise InvalidOption(
            f"load_normalization: {'the collectors lack' if name in kept else 'this environment lacks'} {name}; build "
            "the environment as the collectors do, and call this function after the first batch"
        )
    for name, one in normalization.items():
        for there in kept[name]:
            there.load(one)


def differ(sums: Mapping[str, Array], sent: RunningStatistics) -> bool:
    """Return whether ``sums`` differ from the sums in ``sent``. ``sums`` is a result of :meth:`Kept.load`.

    If the sums are equal, :meth:`Kept.load` returns the arrays of ``sent`` themselves.
    """
    return any(sums[name] is not value for name, value in sent.sums.items())
