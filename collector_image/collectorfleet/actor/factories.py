"""Call the user's factories, and check each result at once, so that an error message names the factory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import torch
from torchrl.envs import EnvBase

from collectorfleet.actor.origin import EnvironmentRaised, Origin, PolicyRaised, RaisedInProcess, calling
from collectorfleet.errors import describe
from collectorfleet.user_code import name_of

# TorchRL's wrapper for the environments of each library, by the name of the library's package.
_WRAPPERS: Final = {
    "gymnasium": "GymWrapper",
    "gym": "GymWrapper",
    "pettingzoo": "PettingZooWrapper",
    "dm_env": "DMControlWrapper",
    "dm_control": "DMControlWrapper",
    "brax": "BraxWrapper",
    "jumanji": "JumanjiWrapper",
    "vmas": "VmasWrapper",
}
_ENVIRONMENT: Final = "a TorchRL environment (EnvBase)"
_POLICY: Final = "the policy: a module, or a function of a TensorDict"


class NotAnEnvironment(TypeError):
    """A factory of environments returned an object that is no environment."""


class NotAPolicy(TypeError):
    """A factory of policies returned an object that is no policy."""


class EnvironmentFactory:
    """A factory that calls ``create`` and checks that the result is an environment. The factory can be pickled.

    Raises:
        NotAnEnvironment: ``create`` returns an object that is no environment.
    """

    def __init__(self, create: Callable[..., Any]) -> None:
        self._create = create
        self.__qualname__ = name_of(create)

    def __call__(self, **arguments: Any) -> EnvBase:
        with calling(Origin.ENVIRONMENT):
            made = self._create(**arguments)
            if not isinstance(made, EnvBase):
                raise NotAnEnvironment(f"{self.__qualname__} returned {_described(made)}; {_environment_for(made)}")
            return made


class PolicyFactory:
    """A factory that calls ``create`` and checks that the result is a policy. The factory can be pickled.

    Raises:
        NotAPolicy: ``create`` returns None, a class, or an object that is not callable.
    """

    def __init__(self, create: Callable[[], Any]) -> None:
        self._create = create
        self.__qualname__ = name_of(create)

    def __call__(self) -> Any:
        with calling(Origin.POLICY):
            return checked_policy(self._create(), self.__qualname__)


def checked_policy(made: Any, name: str) -> Any:
    """Return ``made``, the result of the factory ``name``.

    Raise NotAPolicy if ``made`` cannot be called as a policy.
    """
    if isinstance(made, type):
        raise NotAPolicy(f"{name} returned {_described(made)}; return an instance, {made.__name__}(...)")
    if not callable(made):
        raise NotAPolicy(f"{name} returned {_described(made)}; return {_POLICY}")
    return made


def environment_in_process(create: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``create``, wrapped for a process of a collector. The wrapper raises errors as EnvironmentRaised."""
    return partial(_forwarding, create, EnvironmentRaised)


def policy_in_process(create: Callable[[], Any]) -> Callable[[], Any]:
    """Return ``create``, wrapped for a process of a collector. The wrapper raises errors as PolicyRaised."""
    return partial(_forwarding, create, PolicyRaised)


def _forwarding(create: Callable[..., Any], kind: type[RaisedInProcess], /, **arguments: Any) -> Any:
    try:
        return create(**arguments)
    except (MemoryError, torch.cuda.OutOfMemoryError):
        raise  # the user's code did not cause this error
    except Exception as error:
        raise kind(describe(error)) from error


def _described(made: object) -> str:
    if made is None:
        return "None"
    if isinstance(made, type):
        return f"the class {made.__name__}"
    name = " ".join(word for word in (_library_of(made), type(made).__name__) if word)
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _environment_for(made: object) -> str:
    """Return advice on what the factory should return instead of ``made``."""
    library = _library_of(made)
    if isinstance(made, type):
        return f"return an instance, {made.__name__}(...)"
    if library is not None:
        return f"return torchrl.envs.{_WRAPPERS[library]}(env)"
    return f"call this object, and return the result, {_ENVIRONMENT}" if callable(made) else f"return {_ENVIRONMENT}"


def _library_of(made: object) -> str | None:
    packages = (base.__module__.partition(".")[0] for base in type(made).__mro__)
    return next((package for package in packages if package in _WRAPPERS), None)
