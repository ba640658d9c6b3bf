"""Give a constructor the fields of an options class as arguments. The constructor's body gets an options object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from collectorfleet_api.rules.sentences import did_you_mean

_P = ParamSpec("_P")
_Self = TypeVar("_Self")
_Options = TypeVar("_Options")


def takes(
    options: Callable[_P, _Options],
) -> Callable[[Callable[[_Self, _Options], None]], Callable[Concatenate[_Self, _P], None]]:
    """Give a constructor the fields of ``options`` as arguments, for type checkers and at run time.

    The constructor also gets the documentation of ``options``, and raises the errors of ``options``. If an argument is
    missing or unknown, the constructor raises TypeError. For an unknown argument, the message suggests a similar name.
    """
    signature = inspect.signature(options, eval_str=True)
    known = list(signature.parameters)

    def decorated(init: Callable[[_Self, _Options], None]) -> Callable[Concatenate[_Self, _P], None]:
        @wraps(init)
        def constructor(self: _Self, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
            for name in kwargs:
                if name not in known:
                    meant = did_you_mean(name, known)
                    raise TypeError(f"{init.__qualname__}() got an unexpected keyword argument '{name}'{meant}")
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{init.__qualname__}() {error}") from None
            init(self, options(*args, **kwargs))

        itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        constructor.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[itself, *signature.parameters.values()]
        )
        constructor.__annotations__ = {name: it.annotation for name, it in signature.parameters.items()}
        constructor.__doc__ = options.__doc__
        return constructor

    return decorated
