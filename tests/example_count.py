"""How many examples Hypothesis tries."""

from __future__ import annotations

from hypothesis import settings

# Of Hypothesis, and of the profile that tests/conftest.py loads.
_USUAL = 100


def examples(number: int) -> int:
    """``number`` in `make test`, and as many times more as the profile asks for more than usual."""
    profile = settings.default
    return number * (profile.max_examples if profile is not None else _USUAL) // _USUAL
