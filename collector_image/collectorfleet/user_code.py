"""The user's code by import path: ``package.module:function``.

A manifest names code and does not contain it, so every process imports the code. A :class:`Factory` travels to a
collector as a string and a dict, and the driver never builds the environment.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter
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
    """A callable by import path with its keyword arguments; calling it imports and runs it, here.

    A call may give further arguments.
    """

    path: str
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __call__(self, **further: Any) -> Any:
        return load(self.path)(**self.kwargs, **further)

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


def takes(code: Callable[..., Any], argument: str) -> bool:
    """Return whether ``code`` has a parameter of exactly that name, and nobody has given it a value yet.

    Imports what a :class:`Factory` names, and raises what :func:`load` does.
    """
    if isinstance(code, Factory):
        return argument not in code.kwargs and takes(load(code.path), argument)
    if isinstance(code, partial) and argument in code.keywords:
        return False
    wrapped = vars(code).get("__wrapped__") if hasattr(code, "__dict__") else None
    if wrapped is not None and not inspect.isroutine(code):
        return takes(wrapped, argument)
    try:
        parameters = inspect.signature(code, follow_wrapped=False).parameters
    except (TypeError, ValueError):  # of a builtin, which has no signature
        return False
    found = parameters.get(argument)
    if found is None and wrapped is not None and any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values()):
        return takes(wrapped, argument)  # a decorator that passes everything on
    return found is not None and found.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def accepts(code: Callable[..., Any], argument: str) -> bool:
    """Return whether ``code`` can be called with ``argument``: a parameter of that name, or any keyword arguments.

    Imports what a :class:`Factory` names, and raises what :func:`load` does.
    """
    if takes(code, argument):
        return True
    if isinstance(code, Factory):
        return argument not in code.kwargs and accepts(load(code.path), argument)
    try:
        parameters = inspect.signature(code).parameters.values()
    except (TypeError, ValueError):  # of a builtin, which has no signature
        return True
    return any(one.kind is Parameter.VAR_KEYWORD for one in parameters)


def name_of(code: object) -> str:
    """How messages call a piece of the user's code: its import path, or the function's own name."""
    if isinstance(code, Factory | Function):
        return code.path
    if isinstance(code, partial):
        return name_of(code.func)
    return getattr(code, "__qualname__", None) or type(code).__qualname__
