"""Remove secrets from configurations: mask values by the names of fields, and replace arguments by digests. Pure.

The results appear in the files of a run and in pages that people share.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final

MASKED: Final = "masked"
_DIGITS: Final = 8
# Matches names in lower case without separators. Numbers with such a name are secret, too.
_SECRET: Final = re.compile(r"password|passwd|passphrase|secret|credential")
# Text with such a name is secret. Numbers with such a name are sizes, such as maxTokens. Names such as pixelKey and
# observation_key mean entries of a TensorDict. So only the name `key` and keys of services match.
_SECRET_TEXT: Final = re.compile(
    r"tokens?$|^key$|(api|access|private|auth|license|licence|account|service|signing|encryption|ssh|wandb)keys?$"
)
_USER_OF_URL: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_OPTION: Final = re.compile(r"(--?[A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)


def without_secrets(value: Any) -> Any:
    """Return the user's arguments, with ``masked`` in place of values whose names indicate secrets."""
    if isinstance(value, dict):
        return {key: _of_name(str(key), one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    return _USER_OF_URL.sub(MASKED, value) if isinstance(value, str) else value


def without_words(arguments: Sequence[str]) -> list[str]:
    """Return a program's arguments, with digests in place of words. Options, numbers and booleans do not change.

    A word after any option may be a secret. Runs with different words have different digests. The value of a secret
    option is masked.
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
    """Return ``text`` masked, unchanged or as a digest. ``name`` is the option before ``text``, or empty."""
    value = _number(text)
    if _of_name(name, value) == MASKED:
        return MASKED
    return text if value is not text else f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"


def _number(text: str) -> Any:
    """Return ``text`` as a number or a truth value, or ``text`` itself if it is neither."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text
