"""Assign a machine's GPUs to its collectors, by each collector's position. Pure."""

from __future__ import annotations

from collectorfleet.errors import InvalidOption
from collectorfleet_api.packing.pods import UNITS_PER_GPU


def visible_devices(position: int, gpus: float, visible: str | None) -> str | None:
    """Return ``CUDA_VISIBLE_DEVICES`` of the collector at ``position``, or None to leave the variable unchanged.

    The collector has ``gpus`` GPUs. ``visible`` is the machine's own value. None means that all GPUs are visible. As
    with worker pods, no share spans two GPUs. For example, two collectors with 0.4 GPUs each use one GPU together, and
    the third collector uses the next GPU. Raises InvalidOption if too few GPUs are visible.
    """
    share = round(gpus * UNITS_PER_GPU)
    if not share:
        return None
    if share <= UNITS_PER_GPU:
        places = [position // (UNITS_PER_GPU // share)]
    else:
        whole = share // UNITS_PER_GPU
        places = list(range(position * whole, (position + 1) * whole))
    if visible is None:
        return ",".join(map(str, places))
    names = [name for name in visible.split(",") if name.strip()]
    if places[-1] >= len(names):
        raise InvalidOption(
            f"gpus_per_collector: with {gpus:g} GPU each, collector {position + 1} of a machine needs GPU number "
            f"{places[-1] + 1}, but CUDA_VISIBLE_DEVICES={visible} lists only {len(names)}; list more GPUs, or run "
            "fewer collectors"
        )
    return ",".join(names[place] for place in places)
