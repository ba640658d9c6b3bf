"""What the driver itself runs of the user's code: before there is a Ray if it can, so that its errors come first."""

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
    """A program that is run in place of a training function: its name in the manifest, its file, its arguments."""

    name: str
    file: Path
    arguments: list[str]


@dataclass(frozen=True)
class OwnCode:
    """The training function, imported, or the script; a fleet that only collects has neither.

    ``built`` are the policy and further arguments of FleetCollector, by their names there. ``learners`` are what
    ``spec.learners`` names, None without it.
    """

    train: TrainingFunction | None
    script: Script | None
    built: dict[str, Any]
    learners: LearnerCode | None = None


def modules_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What may be trained of the arguments of a FleetCollector, by the name that messages and checkpoints call it."""
    found = {"policy": arguments.get("policy")} | {
        f"model {path}": model for path, model in (arguments.get("models") or {}).items()
    }
    return {name: module for name, module in found.items() if module is not None}


def load_own_code(spec: CollectorFleetSpec) -> OwnCode:
    """Import the training function, or find the script; import and call the factories of what lives in the driver.

    Raises UserCodeError.
    """
    train, script = spec.driver.train, spec.driver.script
    function = TrainingFunction(train.function, load(train.function), train.kwargs) if train else None
    program = Script(script, _found(script), spec.driver.args) if script else None
    built = built_options(spec, on_ray=False) | _curriculum(spec)
    return OwnCode(function, program, built, load_learner_code(spec))


def _curriculum(spec: CollectorFleetSpec) -> dict[str, Any]:
    asked = spec.driver.curriculum
    return {} if asked is None else {"curriculum": partial(load(asked.function), **asked.kwargs)}


def _found(script: str) -> Path:
    """A script where imports are looked for: among the mounted code, then in the image."""
    for folder in [""] if script.startswith("/") else sys.path:
        if (file := Path(folder) / script).is_file():
            return file
    where = "the image" if script.startswith("/") else "the code of the fleet or the image"
    raise UserCodeError(f"script {script}", f"no such file in {where}")


def built_options(spec: CollectorFleetSpec, *, on_ray: bool) -> dict[str, Any]:
    """Arguments of FleetCollector that the user's factories build: those that need a Ray, or the others."""
    rows = {path: row for path, row in ARGUMENTS.items() if isinstance(row, Built) and row.needs_ray is on_ray}
    return {row.argument: _built(row.what, given) for path, row in rows.items() if (given := spec.at(path))}


def _built(what: str, given: Any) -> Any:
    if isinstance(given, list):
        return {one.path: _something(f"{what} {one.path}", one) for one in given}
    return _something(what, given)


def _something(what: str, factory: Factory) -> Any:
    """What the factory returns. None would mean the same to the fleet as a field that is left out."""
    made = build(what, factory)
    if made is None:
        raise UserCodeError(f"{what} {factory.factory}", "the factory returned None; return what it builds")
    return made


def build(what: str, factory: Factory) -> Any:
    """Import and call a factory of the manifest, here. Raises UserCodeError, which names ``what`` and the path."""
    function = load(factory.factory)
    try:
        return function(**factory.kwargs)
    except (Exception, SystemExit) as error:
        raise UserCodeError.of(f"{what} {factory.factory}", error) from error
