"""The user's code by import path: ``package.module:function``.

A manifest names code, it does not carry it, so that every process imports it for itself: a :class:`Factory` travels to
a collector as a string and a dict, and the driver never builds the environment.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from collectorfleet.errors import UserCodeError


def load(import_path: str) -> Callable[..., Any]:
    """Import ``package.module:attribute`` and return what is there.

    Raises:
        UserCodeError: the path has no ``:``, the module does not import (with its own error), the attribute is missing
            or cannot be called.
    """
    module_name, colon, attribute = import_path.partition(":")
    if not colon or not module_name or not attribute:
        raise UserCodeError(
            f"import {import_path}", "not an import path; write package.module:function, such as my_envs:make_env"
        )
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a script without a guard calls sys.exit when it is imported
        raise UserCodeError.of(f"import {import_path}", error) from error
    for name in attribute.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            raise UserCodeError.of(f"import {import_path}", error) from error
    if not callable(found):
        raise UserCodeError(f"import {import_path}", f"a {type(found).__name__} cannot be called")
    loaded: Callable[..., Any] = found
    return loaded


@dataclass(frozen=True)
class Factory:
    """A callable by import path with its keyword arguments; calling it imports and runs it, here."""

    path: str
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> Any:
        return load(self.path)(**self.kwargs)

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Function:
    """A function by import path; calling it imports it, here, and passes the arguments on."""

    path: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return load(self.path)(*args, **kwargs)

    def __str__(self) -> str:
        return self.path


def name_of(code: object) -> str:
    """How messages call a piece of the user's code: its import path, or the function's own name."""
    if isinstance(code, Factory | Function):
        return code.path
    if isinstance(code, partial):
        return name_of(code.func)
    return getattr(code, "__qualname__", None) or type(code).__qualname__
