"""Load the user's code that runs in the driver.

Code that needs no Ray is loaded first, so that its errors appear early.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from collectorfleet.errors import UserCodeError
from collectorfleet.run.collector_options import ARGUMENTS, Built
from collectorfleet.run.spec_learners.code import LearnerCode, load_learner_code
from collectorfleet.user_code import load
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Factory


@dataclass(frozen=True)
class TrainingFunction:
    """An imported training function, with its keyword arguments and its import path for messages."""

    path: str
    function: Callable[..., Any]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class Script:
    """A script that runs instead of a training function: its name in the manifest, its file and its arguments."""

    name: str
    file: Path
    arguments: list[str]


@dataclass(frozen=True)
class DriverCode:
    """The user's code for the driver: a training function, a script, or neither if the fleet only collects.

    ``built`` has the policy and other objects for FleetCollector, keyed by the argument's name. ``learners`` has the
    code of ``spec.learners``, or is None without ``spec.learners``.
    """

    train: TrainingFunction | None
    script: Script | None
    built: dict[str, Any]
    learners: LearnerCode | None = None


def modules_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the modules among FleetCollector's arguments, keyed by their names in messages and checkpoints."""
    found = {"policy": arguments.get("policy")} | {
        f"model {path}": model for path, model in (arguments.get("models") or {}).items()
    }
    return {name: module for name, module in found.items() if module is not None}


def load_driver_code(spec: CollectorFleetSpec) -> DriverCode:
    """Import the training function or find the script, and call the factories that need no Ray.

    Raises UserCodeError.
    """
    train, script = spec.driver.train, spec.driver.script
    function = TrainingFunction(train.function, load(train.function), train.kwargs) if train else None
    program = Script(script, _found(script), spec.driver.args) if script else None
    built = built_options(spec, on_ray=False) | _curriculum(spec)
    return DriverCode(function, program, built, load_learner_code(spec))


def _curriculum(spec: CollectorFleetSpec) -> dict[str, Any]:
    asked = spec.driver.curriculum
    return {} if asked is None else {"curriculum": partial(load(asked.function), **asked.kwargs)}


def _found(script: str) -> Path:
    """Find a script on ``sys.path``, first in the mounted code and then in the image. Return the path."""
    for folder in [""] if script.startswith("/") else sys.path:
        if (file := Path(folder) / script).is_file():
            return file
    where = "the image" if script.startswith("/") else "the code of the fleet or the image"
    raise UserCodeError(f"script {script}", f"no such file in {where}")


def built_options(spec: CollectorFleetSpec, *, on_ray: bool) -> dict[str, Any]:
    """Return the arguments of FleetCollector whose factories need Ray.

    With ``on_ray=False``, return the other arguments.
    """
    rows = {path: row for path, row in ARGUMENTS.items() if isinstance(row, Built) and row.needs_ray is on_ray}
    return {row.argument: _built(row.what, given) for path, row in rows.items() if (given := spec.at(path))}


def _built(what: str, given: Any) -> Any:
    if isinstance(given, list):
        return {one.path: _build_required(f"{what} {one.path}", one) for one in given}
    return _build_required(what, given)


def _build_required(what: str, factory: Factory) -> Any:
    """Return the object that the factory builds. Raises UserCodeError for None, which looks like an unset field."""
    made = build(what, factory)
    if made is None:
        raise UserCodeError(f"{what} {factory.factory}", "the factory returned None; return the object that it builds")
    return made


def build(what: str, factory: Factory) -> Any:
    """Import and call a factory of the manifest in this process. Raises UserCodeError with ``what`` and the path."""
    function = load(factory.factory)
    try:
        return function(**factory.kwargs)
    except (Exception, SystemExit) as error:
        raise UserCodeError.of(f"{what} {factory.factory}", error) from error
