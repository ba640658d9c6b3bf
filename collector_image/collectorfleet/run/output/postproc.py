"""Check ``postproc``, the user's function, in a run that writes its batches out. No other code of the user runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensordict import is_tensor_collection

from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.errors import UserCodeError, with_article

_WHERE = "collection.postproc"


def checked(postproc: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that calls ``postproc``.

    The function raises UserCodeError if ``postproc`` raises, or if it returns a batch that a writer cannot use.
    """

    def call(batch: Any) -> Any:
        try:
            made = postproc(batch)
        except Exception as error:
            raise UserCodeError.of(_WHERE, error) from error
        if not is_tensor_collection(made):
            raise UserCodeError(_WHERE, f"it returned {with_article(type(made).__name__)}; return a TensorDict")
        if made.get(VERSION_KEY, None) is None:
            raise UserCodeError(_WHERE, f"its batch has no entry {VERSION_KEY}; keep this entry")
        return made

    return call
