"""The parameters of a fleet's environments: what was set, for whom, and which version each collector is to have."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from collectorfleet.messages import Parameters


@dataclass
class _Scope:
    """What was set for some collectors together: by name the version in which it was set, and the value."""

    version: int = 0
    values: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def set(self, version: int, values: Mapping[str, Any]) -> None:
        self.version = version
        self.values |= {name: (version, value) for name, value in values.items()}


class FleetParameters:
    """``version`` counts the changes, from 0 for the parameters that environments are built with.

    A change adds to the changes before it. If a parameter was set several times for a collector, its group or all, the
    newest value holds.
    """

    def __init__(self) -> None:
        self.version = 0
        self._all = _Scope()
        self._groups: dict[str, _Scope] = {}
        self._collectors: dict[str, _Scope] = {}

    def set_for_all(self, values: Mapping[str, Any]) -> int:
        """Return the new version."""
        self.version += 1
        self._all.set(self.version, values)
        for scope in (*self._groups.values(), *self._collectors.values()):
            for name in values:
                scope.values.pop(name, None)
        return self.version

    def set_for_group(self, group: str, values: Mapping[str, Any]) -> int:
        """Return the new version."""
        self.version += 1
        self._groups.setdefault(group, _Scope()).set(self.version, values)
        return self.version

    def set_by_collector(self, values: Mapping[str, Mapping[str, Any]]) -> int:
        """Set the values of each collector; return the new version, which is one for all of them."""
        self.version += 1
        for collector, own in values.items():
            self._collectors.setdefault(collector, _Scope()).set(self.version, own)
        return self.version

    def of(self, collector: str, group: str | None) -> Parameters:
        """Return what this collector is to have, and the newest change that concerns it."""
        scopes = self._scopes(collector, group)
        newest: dict[str, tuple[int, Any]] = {}
        for scope in scopes:
            for name, (version, value) in scope.values.items():
                if name not in newest or newest[name][0] < version:
                    newest[name] = (version, value)
        values = {name: value for name, (_, value) in newest.items()}
        return Parameters(max(scope.version for scope in scopes), deepcopy(values))

    def version_of(self, collector: str, group: str | None) -> int:
        """The newest change that concerns this collector."""
        return max(scope.version for scope in self._scopes(collector, group))

    def _scopes(self, collector: str, group: str | None) -> list[_Scope]:
        found = [self._all]
        if group is not None and group in self._groups:
            found.append(self._groups[group])
        if collector in self._collectors:
            found.append(self._collectors[collector])
        return found

    @property
    def for_all(self) -> dict[str, Any]:
        """What was set for all collectors."""
        return _plain(self._all)

    @property
    def for_groups(self) -> dict[str, dict[str, Any]]:
        """What groups have of their own, by group."""
        return {name: _plain(scope) for name, scope in self._groups.items() if scope.values}

    @property
    def for_collectors(self) -> dict[str, dict[str, Any]]:
        """What collectors have of their own, by collector."""
        return {name: _plain(scope) for name, scope in self._collectors.items() if scope.values}

    def copy(self) -> FleetParameters:
        """Return one that shares nothing with this."""
        return deepcopy(self)

    def state_dict(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "all": _state(self._all),
            "groups": {name: _state(scope) for name, scope in self._groups.items()},
            "collectors": {name: _state(scope) for name, scope in self._collectors.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state_dict` returned."""
        self.version = int(state["version"])
        self._all = _scope(state["all"])
        self._groups = {name: _scope(one) for name, one in state["groups"].items()}
        self._collectors = {name: _scope(one) for name, one in state["collectors"].items()}


def _plain(scope: _Scope) -> dict[str, Any]:
    return deepcopy({name: value for name, (_, value) in scope.values.items()})


def _state(scope: _Scope) -> dict[str, Any]:
    return deepcopy({"version": scope.version, "values": {name: list(one) for name, one in scope.values.items()}})


def _scope(state: Mapping[str, Any]) -> _Scope:
    return _Scope(int(state["version"]), {name: (int(one[0]), one[1]) for name, one in state["values"].items()})
