"""Load the user's code by its import path, ``package.module:function``.

A manifest names code by its import path, so each process imports the code. The driver sends a :class:`Factory` to a
collector as a string and a dict, and never builds the environment itself.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter
from typing import Annotated, Any

from collectorfleet import option_types
from collectorfleet.errors import UserCodeError, with_article
from collectorfleet.option_ranges import NotEmpty


def load(import_path: str) -> Callable[..., Any]:
    """Import ``package.module:attribute``, and return the attribute. The attribute must be callable.

    Raises:
        UserCodeError: the path has no ``:``, or the attribute is missing or cannot be called. If the import of the
            module fails, the message has the error of the import.
    """
    module_name, colon, attribute = import_path.partition(":")
    if not colon or not module_name or not attribute:
        raise UserCodeError(
            f"import {import_path}", "not an import path; write package.module:function, such as my_envs:make_env"
        )
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a script without a __main__ guard may call sys.exit during the import
        raise UserCodeError.of(f"import {import_path}", error) from error
    for name in attribute.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            raise UserCodeError.of(f"import {import_path}", error) from error
    if not callable(found):
        raise UserCodeError(f"import {import_path}", f"{with_article(type(found).__name__)} cannot be called")
    loaded: Callable[..., Any] = found
    return loaded


@dataclass(frozen=True)
class Factory:
    """A callable, given by import path, with keyword arguments.

    A call of the object imports the callable and calls it in the current process. The call may add keyword arguments.
    """

    path: Annotated[str, NotEmpty("my_envs:make_env")]
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        option_types.check_fields(self, "Factory.")

    def __call__(self, **further: Any) -> Any:
        return load(self.path)(**self.kwargs, **further)

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Function:
    """A function, given by import path. A call of the object imports the function and calls it in this process."""

    path: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return load(self.path)(*args, **kwargs)

    def __str__(self) -> str:
        return self.path


def takes(code: Callable[..., Any], argument: str) -> bool:
    """Return whether ``code`` has a parameter named ``argument`` that a caller can set.

    The result is False if the ``kwargs`` of a :class:`Factory`, or a ``partial``, already set the parameter.
    Imports the code of a :class:`Factory`, and raises the errors of :func:`load`.
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
        return takes(wrapped, argument)  # a decorator passes all arguments to the wrapped function
    return found is not None and found.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def accepts(code: Callable[..., Any], argument: str) -> bool:
    """Return whether ``code`` has a parameter named ``argument``, or takes any keyword arguments.

    Imports the code of a :class:`Factory`, and raises the errors of :func:`load`.
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
    """Return the name of user code in messages: its import path, or the qualified name of the function or class."""
    if isinstance(code, Factory | Function):
        return code.path
    if isinstance(code, partial):
        return name_of(code.func)
    return getattr(code, "__qualname__", None) or type(code).__qualname__
