"""Choose how many examples Hypothesis tries."""

from __future__ import annotations

from hypothesis import settings

# The default of Hypothesis, and of the profile that tests/conftest.py loads.
_USUAL = 100


def examples(number: int) -> int:
    """Return the number of examples: ``number`` in `make test`, and proportionally more in profiles with more."""
    profile = settings.default
    return number * (profile.max_examples if profile is not None else _USUAL) // _USUAL
