"""Finds problems of a whole pod: missing fields, fields that exclude each other, and references to missing names.

A problem has a path in the pod. :mod:`collectorfleet_api.rules.pods.place` finds the place in the template.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from collectorfleet_api.rules.pods.conditions import CONDITIONS
from collectorfleet_api.rules.pods.place import BuiltProblem, Path
from collectorfleet_api.rules.pods.references import reference_problems
from collectorfleet_api.rules.pods.types import POD_SPEC, pod_types

# Fields that the API server requires although Kubernetes' schema does not.
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "ConfigMapEnvSource": ("name",),
    "ConfigMapKeySelector": ("name",),
    "ConfigMapProjection": ("name",),
    "ConfigMapVolumeSource": ("name",),
    "EphemeralVolumeSource": ("volumeClaimTemplate",),
    "PersistentVolumeClaimSpec": ("accessModes", "resources"),
    "SecretEnvSource": ("name",),
    "SecretKeySelector": ("name",),
    "SecretProjection": ("name",),
    "SecretVolumeSource": ("secretName",),
    "ImageVolumeSource": ("reference",),
}


@dataclass(frozen=True)
class _Union:
    """Fields that exclude each other. ``what`` is the word for them in messages."""

    what: str
    fields: tuple[str, ...]
    one_is_required: bool = True


def _unions() -> dict[str, _Union]:
    def fields(name: str, *others: str) -> tuple[str, ...]:
        return tuple(field for field in pod_types().by_name[name].fields if field not in others)

    return {
        "EnvVarSource": _Union("source", fields("EnvVarSource")),
        "EnvFromSource": _Union("source", fields("EnvFromSource", "prefix")),
        "Volume": _Union("kind of volume", fields("Volume", "name"), one_is_required=False),
        "VolumeProjection": _Union("source", fields("VolumeProjection"), one_is_required=False),
        "DownwardAPIVolumeFile": _Union("source", ("fieldRef", "resourceFieldRef")),
        "PodResourceClaim": _Union("claim", ("resourceClaimName", "resourceClaimTemplateName")),
        "Probe": _Union("action", ("exec", "grpc", "httpGet", "tcpSocket")),
        "LifecycleHandler": _Union("action", fields("LifecycleHandler")),
    }


def built_problems(spec: dict[str, Any]) -> Iterator[BuiltProblem]:
    """Yield the problems of ``spec``, the spec of a whole pod. Its fields have the right types."""
    yield from _of_type(spec, POD_SPEC, ("spec",), _unions())
    yield from reference_problems(spec)


def _of_type(value: dict[str, Any], name: str, path: Path, unions: dict[str, _Union]) -> Iterator[BuiltProblem]:
    type_ = pod_types().by_name[name]
    for field in (*type_.required, *_REQUIRED.get(name, ())):
        if value.get(field) in (None, "", []):
            yield BuiltProblem((*path, field), f"missing, and required in {name}")
    if name in unions:
        yield from _of_union(value, unions[name], path)
    for condition in CONDITIONS.get(name, ()):
        yield from condition(value, path)
    for field, inner in value.items():
        kind, here = type_.fields.get(field, ""), (*path, field)
        if kind.strip("[]") not in pod_types().by_name:
            continue
        if isinstance(inner, list):
            for index, item in enumerate(inner):
                yield from _of_type(item, kind[1:-1], (*here, index), unions)
        elif inner is not None:
            yield from _of_type(inner, kind, here, unions)


def _of_union(value: dict[str, Any], union: _Union, path: Path) -> Iterator[BuiltProblem]:
    said = [field for field in union.fields if value.get(field) is not None]
    if len(said) > 1:
        yield BuiltProblem(
            (*path, said[-1]), f"one {union.what} is allowed, but {' and '.join(said)} are set; keep one"
        )
    elif not said and union.one_is_required:
        choices = f"{', '.join(union.fields[:-1])} or {union.fields[-1]}"
        yield BuiltProblem(path, f"no {union.what}; set {choices}")
