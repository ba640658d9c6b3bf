"""Configurations without secrets: names of fields tell which values are secret, and arguments are digests. Pure.

A file of a run and a page that people share have what these functions return.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final

MASKED: Final = "masked"
_DIGITS: Final = 8
# Of a name without separators. Numbers with such a name are secret too.
_SECRET: Final = re.compile(r"password|passwd|passphrase|secret|credential")
# Text with such a name is secret. Numbers with such a name are sizes, as maxTokens is. The names pixelKey and
# observation_key are those of entries in a TensorDict. So a key counts if it is alone or a key to a service.
_SECRET_TEXT: Final = re.compile(
    r"tokens?$|^key$|(api|access|private|auth|license|licence|account|service|signing|encryption|ssh|wandb)keys?$"
)
_USER_OF_URL: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_OPTION: Final = re.compile(r"(--?[A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)


def without_secrets(value: Any) -> Any:
    """Return the user's arguments with ``masked`` for values whose names say that they are secret."""
    if isinstance(value, dict):
        return {key: _of_name(str(key), one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    return _USER_OF_URL.sub(MASKED, value) if isinstance(value, str) else value


def without_words(arguments: Sequence[str]) -> list[str]:
    """Return arguments of a program with a digest for each word that is neither an option's name nor a number.

    The digest tells runs apart. A word may be a secret whatever stands before it. A secret option is masked.
    """
    found: list[str] = []
    name = ""
    for one in arguments:
        option = _OPTION.fullmatch(one)
        if option is None:
            found.append(_word(name, one))
            name = ""
            continue
        name = option[1]
        found.append(name if option[2] is None else f"{name}={_word(name, option[2])}")
        name = name if option[2] is None else ""
    return found


def _of_name(name: str, value: Any) -> Any:
    squashed = re.sub(r"[^a-z0-9]", "", name.lower())
    if _SECRET.search(squashed):
        return _masked(value, numbers=True)
    return _masked(value, numbers=False) if _SECRET_TEXT.search(squashed) else without_secrets(value)


def _masked(value: Any, *, numbers: bool) -> Any:
    if isinstance(value, dict):
        return {key: _masked(one, numbers=numbers) for key, one in value.items()}
    if isinstance(value, list):
        return [_masked(one, numbers=numbers) for one in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASKED if isinstance(value, str) or (numbers and is_number) else value


def _word(name: str, text: str) -> str:
    """``text`` is the value of the option ``name``, or has none."""
    value = _number(text)
    if _of_name(name, value) == MASKED:
        return MASKED
    return text if value is not text else f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"


def _number(text: str) -> Any:
    """Return the number or the truth value that ``text`` is, or ``text`` itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text
