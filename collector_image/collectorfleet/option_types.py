"""Check options against their annotations, and describe types in the same words everywhere. Imports no torch.

An annotation has the type of an option, and may have its range: ``Annotated[int, Range(least=1)]``.
"""

from __future__ import annotations

import inspect
import sys
from collections import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Final, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from collectorfleet.errors import InvalidOption, with_article
from collectorfleet.option_ranges import Limit, shown

_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True)
class _Kind:
    """A type of values: the function that checks a value, and the words that a message uses for the type."""

    words: str
    allows: Callable[[Any], bool]


_KINDS: Final[dict[Any, _Kind]] = {
    # TorchRL's other collectors accept None in place of False.
    bool: _Kind("True or False", lambda value: value is None or isinstance(value, bool)),
    int: _Kind("an int", lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
    float: _Kind("a float", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    type: _Kind("a class", lambda value: isinstance(value, type)),
    abc.Callable: _Kind("a function", callable),
    # A ModuleDict of torch is no Mapping.
    abc.Mapping: _Kind("a dict", lambda value: hasattr(value, "keys") and not isinstance(value, type)),
    abc.Sequence: _Kind(
        "a list",
        lambda value: isinstance(value, abc.Collection) and not isinstance(value, str | bytes | Mapping | type),
    ),
}
# Words for classes whose name does not show how to write a value. TorchRL's ExplorationType is an InteractionType.
_WORDS: Final = {
    "timedelta": "a timedelta, such as timedelta(minutes=1)",
    "device": "a device, such as 'cpu', 'cuda:1' or 1",
    "dtype": "a torch.dtype, such as torch.float16",
    "bytes": "bytes",
    "InteractionType": "an ExplorationType, such as ExplorationType.RANDOM",
}


def members(annotation: Any) -> tuple[Any, ...]:
    """Return the alternatives of an annotation: ``int`` and ``NoneType`` for ``int | None``.

    If a union has a range, each of its alternatives has this range.
    """
    if get_origin(annotation) is Annotated:
        inner, *limits = get_args(annotation)
        return tuple(Annotated[(one, *limits)] for one in members(inner))
    if get_origin(annotation) in (Union, UnionType):
        return tuple(one for alternative in get_args(annotation) for one in members(alternative))
    return (annotation,)


def hints_of(annotated: Any) -> dict[str, Any]:
    """Return the annotations of a class or function, by name, with their ranges."""
    return get_type_hints(annotated, include_extras=True)


def problem(value: Any, alternatives: Sequence[Any]) -> str | None:
    """Return why ``value`` has a wrong type, such as ``'20' is a str; give an int``, or why it is out of range.

    Return None if ``value`` is allowed. If only one of ``alternatives`` fits, the function also checks the elements of
    a list and the values of a dict. It does not check the keys of a dict.
    """
    if Any in alternatives or (value is None and NoneType in alternatives):
        return None
    kinds = [(one, _kind(one)) for one in alternatives if one is not NoneType]
    fitting = [one for one, kind in kinds if kind.allows(value)]
    if not fitting:
        return f"{_found(value)}; give {_words(kinds)}"
    for limit in _limits(fitting[0]):
        if found := limit.problem(value):
            return found
    if len(fitting) > 1:
        return None
    return next(_inner_problems(value, _type(fitting[0])), None)


def _inner_problems(value: Any, annotation: Any) -> Iterator[str]:
    """Yield why elements of a list, or values of a dict, are not allowed."""
    match get_origin(annotation), get_args(annotation):
        case abc.Sequence, (elements,):
            yield from filter(None, (problem(one, members(elements)) for one in value))
        case abc.Mapping, (_, values) if values is not Any:
            for key in value.keys():  # noqa: SIM118  (a ModuleDict of torch is no Mapping)
                if found := problem(value[key], members(values)):
                    yield f"{key!r}: {found}"


def plain(value: Any, annotation: Any) -> Any:
    """Return ``value`` with Python numbers in place of scalars and arrays of numpy and torch.

    If the option accepts an int and no float, a whole float becomes an int. Many scripts write a count as ``1e6``.
    """
    alternatives = [_type(one) for one in members(annotation)]
    if _is_array(value) and not value.ndim:
        value = value.item()
    elif _is_array(value) and any(map(_has_numbers, alternatives)):
        value = value.tolist()
    if type(value) in (list, tuple):
        return type(value)(plain(one, annotation) for one in value)
    if type(value) is dict:
        numbers = next((one for one in alternatives if _values(one) in (int, float)), None)
        return value if numbers is None else {key: plain(one, get_args(numbers)[1]) for key, one in value.items()}
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole and int in alternatives and float not in alternatives else value


def check_fields(options: Any, where: str, names: Sequence[str] | None = None) -> None:
    """Convert numbers in a frozen dataclass's fields to Python numbers, and check types and ranges.

    If a check fails, raise InvalidOption. In the message, ``where`` precedes the name of the field, such as
    ``evaluation.``. ``names`` are the fields to check. None: all fields.
    """
    # Check only the fields of our class. A user's subclass may have annotations that cannot be evaluated or checked.
    ours = (one for one in type(options).__mro__ if one.__module__.partition(".")[0] == __package__)
    own = next(ours, type(options))
    hints = hints_of(own)
    for name in [field.name for field in fields(own) if names is None or field.name in names]:
        object.__setattr__(options, name, _checked(name, getattr(options, name), hints, where))


def checked(where: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that checks the arguments of a function as :func:`check_fields` checks fields."""

    def decorated(init: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(init)

        @wraps(init)
        def constructor(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            hints = hints_of(init)
            bound = signature.bind(*args, **kwargs)
            for name, value in bound.arguments.items():
                match signature.parameters[name].kind:
                    case inspect.Parameter.VAR_KEYWORD:
                        continue
                    case inspect.Parameter.VAR_POSITIONAL:
                        bound.arguments[name] = tuple(_checked(name, one, hints, where) for one in value)
                    case _:
                        bound.arguments[name] = _checked(name, value, hints, where)
            return init(*bound.args, **bound.kwargs)

        return constructor

    return decorated


def _checked(name: str, value: Any, hints: Mapping[str, Any], where: str) -> Any:
    annotation = hints.get(name, Any)
    value = plain(value, annotation)
    found = problem(value, members(annotation))
    if found:
        raise InvalidOption(f"{where}{name}: {found}")
    return value


def _type(annotation: Any) -> Any:
    """Return the annotation without its range."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _limits(annotation: Any) -> Sequence[Limit]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _kind(annotation: Any) -> _Kind:
    bare = _type(annotation)
    kind = get_origin(bare) or bare
    if kind in _KINDS:
        return _KINDS[kind]
    if getattr(kind, "_is_protocol", False):
        methods = [name for name, value in vars(kind).items() if inspect.isfunction(value) and name[0] != "_"]
        has = [f"{name}()" for name in methods]
        return _Kind(
            f"an object with {' and '.join(has)}",
            lambda value: not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods),
        )
    words = _WORDS.get(kind.__name__) or with_article(kind.__name__)
    return _Kind(words, lambda value: isinstance(value, kind))


def _words(kinds: Sequence[tuple[Any, _Kind]]) -> str:
    words = [kind.words for _, kind in kinds]
    if _WORDS["device"] in words:
        # A device may be a str or an int, and the words for devices show both.
        words = [kind.words for one, kind in kinds if _type(one) not in (str, int)]
    return " or ".join(words)


def _found(value: Any) -> str:
    if value is None:
        return "the value is None"
    if isinstance(value, type):
        return f"{value.__qualname__} is a class"
    return f"{shown(value)} is {with_article(type(value).__name__)}"


def _is_array(value: Any) -> bool:
    """Return whether ``value`` is an array, a scalar or a tensor of numpy or torch.

    The function reads no attribute of ``value``. Reading an attribute of a ParallelEnv would start its processes.
    """
    kinds = (("numpy", "generic"), ("numpy", "ndarray"), ("torch", "Tensor"))
    # While another thread imports a module, the module may lack the class. In ``sys.modules``, None marks a module that
    # must not be imported.
    return any(isinstance(value, getattr(sys.modules.get(module), name, ())) for module, name in kinds)


def _values(annotation: Any) -> Any:
    """Return the type of a mapping's values without its range. Return None if the annotation is no mapping."""
    return _type(get_args(annotation)[1]) if get_origin(annotation) is abc.Mapping else None


def _has_numbers(annotation: Any) -> bool:
    """Return whether the annotation is a list of numbers."""
    if get_origin(annotation) is not abc.Sequence:
        return False
    return any(_type(one) in (int, float) for element in get_args(annotation) for one in members(element))
