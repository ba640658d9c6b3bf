"""The cases of the comparison. A case is one question. Its variants alternate, and its rows compare two variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.raycollector.sides import FLEET, PLAIN, RAY
from collectorfleet_api import ray_settings

# With this setting Ray returns tensors that share memory with its object store. FleetCollector always reads them so.
ZERO_COPY = {"RAY_ENABLE_ZERO_COPY_TORCH_TENSORS": "1"}
# The settings of a Ray that FleetCollector or the operator starts. RayCollector uses Ray's defaults.
OUR_RAY = ray_settings.environment()


@dataclass(frozen=True)
class Variant:
    """A side with its options. ``name`` tells it from other variants of the same side in a case."""

    side: str
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    process_environment: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.side} {self.name}".strip()


@dataclass(frozen=True)
class Case:
    """One question. ``measure`` is a key of ``measures.MEASURES``, and each of ``keys`` a number that it returns.

    A row begins with ``what``. ``pairs`` has the indices of the two variants that a row compares.
    """

    what: str
    measure: str
    keys: tuple[str, ...]
    environment: Mapping[str, Any]
    arguments: Mapping[str, Any]  # collectors, frames, sync
    how: Mapping[str, Any]
    variants: tuple[Variant, ...]
    pairs: tuple[tuple[int, int], ...] = ((0, 1),)
    policy: str = "cheap"

    def spec(self, variant: Variant) -> dict[str, Any]:
        return {
            "side": variant.side,
            "measure": self.measure,
            "environment": self.environment,
            "policy": self.policy,
            "arguments": self.arguments,
            "options": variant.options,
            "how": self.how,
        }


def _sides(**fleet_options: Any) -> tuple[Variant, Variant]:
    return Variant(RAY), Variant(FLEET, options=fleet_options)


def _mode(sync: bool) -> tuple[str, dict[str, Any]]:
    return ("Sync, one batch ahead", {"max_staleness": 1}) if sync else ("Async", {})


def pixels(scale: float) -> list[Case]:
    cases = []
    for sync in (True, False):
        mode, options = _mode(sync)
        variants = [
            *_sides(**options),
            Variant(RAY, "zero-copy", process_environment=ZERO_COPY),
            Variant(RAY, "our Ray settings", process_environment=OUR_RAY),
        ]
        pairs = [(0, 1), (2, 1), (3, 1), (4, 1)]
        variants.append(Variant(PLAIN, "collectors alone"))
        if not sync:
            variants.append(Variant(FLEET, "copy=False", options={**options, "copy": False}))
            pairs += [(0, 5), (2, 5), (4, 5)]
        cases.append(
            Case(
                f"pixels 64x4x84x84, 54 MB a batch, {mode}",
                "throughput",
                ("frames/s", "CPU us/frame"),
                {"pixels": True, "envs": 64},
                {"collectors": 2, "frames": 1024, "sync": sync},
                {"batches": round(30 * scale), "warm_up": 6, "read": True},
                tuple(variants),
                tuple(pairs),
            )
        )
    return cases


def small(scale: float) -> list[Case]:
    cases = []
    for sync in (True, False):
        mode, options = _mode(sync)
        cases.append(
            Case(
                f"4 floats, 1000 frames a batch, {mode}",
                "throughput",
                ("frames/s", "CPU us/frame", *(["start s"] if sync else [])),
                {},
                {"collectors": 2, "frames": 1000, "sync": sync},
                {"batches": round(15 * scale), "warm_up": 5},
                _sides(**options),
            )
        )
    return cases


def on_policy(scale: float) -> list[Case]:
    """Return the case in which the newest weights make every batch, so that collectors wait for the learner.

    The learner only publishes.
    """
    each = {"update_after_each_batch": True}
    return [
        Case(
            "steps of 4 ms, 200 frames a batch, Sync, on-policy",
            "throughput",
            ("frames/s", "CPU us/frame"),
            {"step_seconds": 0.004},
            {"collectors": 2, "frames": 200, "sync": True},
            {"batches": round(30 * scale), "warm_up": 5},
            (
                Variant(RAY, options=each),
                Variant(FLEET, options={**each, "max_staleness": 0}),
                Variant(PLAIN, "collectors alone"),
            ),
            ((0, 1), (2, 1)),
        )
    ]


def overlap(scale: float) -> list[Case]:
    """Return the cases that measure the throughput that is left beside a learner. It works as long as a rollout."""
    frames, rollout_seconds, cases = 100, 0.25, []
    for computes in (False, True):
        learner = "a learner that computes on one of the cores" if computes else "a learner"
        for sync in (True, False):
            mode, options = _mode(sync)
            # With two collectors, an Async batch arrives after each half of a rollout's time.
            seconds = rollout_seconds if sync else rollout_seconds / 2
            alone = (Variant(PLAIN, "collectors alone"),) if computes else ()
            cases.append(
                Case(
                    f"throughput kept beside {learner}, {mode}",
                    "kept",
                    ("% kept",),
                    {"step_seconds": rollout_seconds / frames},
                    {"collectors": 2, "frames": 2 * frames if sync else frames, "sync": sync},
                    {
                        "batches": round(16 * scale),
                        "warm_up": 5,
                        "learner_seconds": seconds,
                        "computes": computes,
                    },
                    (*_sides(**options), *alone),
                    ((0, 1), (2, 1)) if computes else ((0, 1),),
                )
            )
    return cases


def blocked(scale: float) -> list[Case]:
    return [
        Case(
            f"driver blocked by an update of {size}, 1 s rollouts, Async",
            "blocked",
            ("ms", "longest ms"),
            {"step_seconds": 0.01},
            {"collectors": 2, "frames": 100, "sync": False},
            {"updates": max(1, round(15 * scale))},
            _sides(),
            policy=policy,
        )
        for size, policy in (("8 bytes", "cheap"), ("25 MB", "25 MB"))
    ]


def weights(scale: float) -> list[Case]:
    return [
        Case(
            "25 MB in 196 tensors, until 4 idle collectors have it",
            "applied",
            ("ms",),
            {},
            {"collectors": 4, "frames": 40, "sync": True},
            {"updates": max(1, round(10 * scale))},
            _sides(),
            policy="25 MB",
        )
    ]


GROUPS = {
    "pixels": pixels,
    "small": small,
    "on_policy": on_policy,
    "overlap": overlap,
    "blocked": blocked,
    "weights": weights,
}
