"""Import the user's code of ``spec.learners`` in the driver, so that import errors appear early."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from torch import nn

from collectorfleet.errors import InvalidOption, UserCodeError, with_article
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.learners.router import Split
from collectorfleet.user_code import Function, load
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Learners


@dataclass(frozen=True)
class LearnerCode:
    """The code of ``spec.learners``. ``of_policies`` has the class of each learner, keyed by policy id."""

    of_policies: Mapping[str, type]
    replay: type
    split: Split


def load_learner_code(spec: CollectorFleetSpec) -> LearnerCode | None:
    """Import the code of ``spec.learners``, or return None without ``spec.learners``. Raises UserCodeError."""
    asked = spec.learners
    if asked is None:
        return None
    needed = () if spec.driver.train is not None else ("learn",)
    needed = (*needed, "weights")
    classes = {
        policy.id: _class("learners.factory", policy.factory or asked.factory, *needed) for policy in asked.policies
    }
    of_replay = ("extend", "sample", "size", "forget")
    replay = _class("learners.replay.factory", asked.replay.factory, *of_replay) if asked.replay.factory else None
    load(asked.split)
    return LearnerCode(classes, replay or PolicyReplay, Function(asked.split))


def parts_of(policy: Any, asked: Learners) -> dict[str, nn.Module]:
    """Return the learners' submodules of the fleet's policy, keyed by policy id. Raises InvalidOption."""
    found = {}
    for index, one in enumerate(asked.policies):
        where = f"spec.learners.policies[{index}]"
        try:
            part = reduce(getattr, one.path.split("."), policy)
        except AttributeError as error:
            raise InvalidOption(
                f"{where}.module: {one.path} is not in the fleet's policy: {error}; name the attribute of the policy "
                f"{type(policy).__qualname__} that acts for {one.id}"
            ) from error
        if not isinstance(part, nn.Module):
            raise InvalidOption(f"{where}: {one.path} is {with_article(type(part).__qualname__)}, not an nn.Module")
        found[one.id] = part
    return found


def _class(field: str, path: str, *methods: str) -> type:
    found = load(path)
    if not inspect.isclass(found):
        raise UserCodeError(f"{field} {path}", "this is a function, but an actor needs a class; name the class")
    missing = [f"{name}()" for name in methods if not hasattr(found, name)]
    if missing:
        raise UserCodeError(
            f"{field} {path}", f"{found.__qualname__} has no {' and no '.join(missing)}; add each missing method"
        )
    return found
