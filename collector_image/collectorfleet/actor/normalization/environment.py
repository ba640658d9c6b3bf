"""The normalization of a collector's environment: what the driver asks of it, and has it load.

A version's statistics replace the present ones. The steps seen since then are the contribution of the collector. The
next answer brings it to the driver, once, wherever the environment continues.
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
from collectorfleet.normalization import Array, Normalization, Running, merged


class EnvironmentNormalization:
    """Any thread, but not while the environment takes a step. ``begun`` is what it begins with."""

    def __init__(self, kept: Mapping[str, list[Kept]]) -> None:
        self._kept = kept
        self._runs = {name: those for name, those in kept.items() if those[0].runs}
        self._lock = threading.Lock()
        self._unreported: dict[str, Running] = {}
        self._base = self._read()
        self.begun = self.now()

    @classmethod
    def of(cls, env: EnvBase, *, constants: bool) -> EnvironmentNormalization | None:
        """None if it keeps nothing; ``constants`` says whether those count. Raises InvalidOption, see :func:`find`."""
        kept = {name: those for name, those in find(env).items() if those[0].runs or constants}
        return cls(kept) if kept else None

    def now(self) -> Normalization:
        """As it is, of the first of several environments."""
        return {name: those[0].read() for name, those in self._kept.items()}

    def load(self, snapshot: snapshots.Snapshot) -> str:
        """Put statistics into the environments, in place; returns the digest of what they then have.

        Raises:
            ValueError: they are those of another environment; nothing was changed then.
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
                proofs[name] = Running(1.0, one.updates, next((sums for sums in loaded if differ(sums, one)), one.sums))
            self._base = self._read()
        return snapshots.digest(codec.encode(proofs).arrays)

    def contribution(self) -> Normalization | None:
        """What was seen since the last call, once; None if that is nothing.

        Raises:
            ValueError: the environment returned what is not finite.
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

    def restart(self) -> None:
        """Somebody else loaded a state: what it has is nobody's contribution."""
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

    def _read(self) -> dict[str, list[Running]]:
        return {name: [one.read() for one in those] for name, those in self._runs.items()}


def load(env: EnvBase, normalization: Normalization) -> None:
    """Put statistics into an environment of this process.

    Raises:
        InvalidOption: it keeps others, or some that cannot be read here.
    """
    kept = find(env)
    learnt = {name for name, those in kept.items() if not isinstance(those[0], OfConstants)}
    for name in sorted((learnt - normalization.keys()) | (normalization.keys() - kept.keys())):
        raise InvalidOption(
            f"load_normalization: either this environment or the collectors lack {name}; build the "
            "environment as the collectors do, and call this function after the first batch"
        )
    for name, one in normalization.items():
        for there in kept[name]:
            there.load(one)


def differ(sums: Mapping[str, Array], travelled: Running) -> bool:
    """Return whether what an environment has is not what travelled."""
    return any(sums[name] is not value for name, value in travelled.sums.items())
