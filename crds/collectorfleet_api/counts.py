"""Counts of things in sentences. Pure."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None, *, by_thousands: bool = False) -> str:
    """Return a number with its noun: ``1 frame``, ``12000 frames``, and ``2 batches`` if ``plural`` is ``batches``.

    Without ``plural``, an s is added to the noun. ``by_thousands`` separates the digits: ``12,000 frames``.
    """
    digits = f"{number:,}" if by_thousands else str(number)
    return f"{digits} {noun if number == 1 else plural or f'{noun}s'}"
