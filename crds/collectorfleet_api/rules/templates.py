"""Checks of pod templates. Without these checks, an error would appear only when Kubernetes refuses the pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import did_you_mean

_NAMED_LISTS: Final = ("containers", "initContainers", "volumes")
_NO_LIST: Final = "a list is expected; put '- ' before each item"


def template_problems(template: dict[str, Any], path: str) -> Iterator[Problem]:
    """Yield problems of a template: parts that cannot be merged over the operator's template, and ignored parts."""
    for key in template.keys() - {"metadata", "spec"}:
        near = did_you_mean(key, ["metadata", "spec"]) or f"; did you mean spec.{key}?"
        yield Problem(f"{path}.{key}", f"a pod template has only the fields metadata and spec{near}")
    for key in ("metadata", "spec"):
        if not isinstance(template.get(key, {}), dict):
            yield Problem(f"{path}.{key}", "a mapping of keys to values is expected")
    metadata, spec = template.get("metadata", {}), template.get("spec", {})
    if isinstance(metadata, dict):
        yield from _metadata_problems(metadata, f"{path}.metadata")
    if isinstance(spec, dict):
        for key in _NAMED_LISTS:
            yield from _named_list_problems(spec.get(key, []), f"{path}.spec.{key}")
        yield from _toleration_problems(spec.get("tolerations"), f"{path}.spec.tolerations")


def _metadata_problems(metadata: dict[str, Any], path: str) -> Iterator[Problem]:
    for key in metadata.keys() - {"labels", "annotations"}:
        yield Problem(f"{path}.{key}", "only labels and annotations can be set; the operator sets the other metadata")
    for key in ("labels", "annotations"):
        entries = metadata.get(key, {})
        if not isinstance(entries, dict):
            yield Problem(f"{path}.{key}", "a mapping of names to text is expected")
            continue
        for name, value in entries.items():
            if value is not None and not isinstance(value, str):  # null removes the operator's entry
                yield Problem(f"{path}.{key}.{name}", f"{value!r} is not text; put it in quotes")


def _toleration_problems(items: Any, path: str) -> Iterator[Problem]:
    """Yield problems of tolerations.

    The operator adds its own tolerations, except for taints that these tolerations name.
    """
    if not isinstance(items, list | None):
        yield Problem(path, _NO_LIST)
        return
    for index, item in enumerate(items or []):
        if not isinstance(item, dict) or not isinstance(item.get("key"), str | None):
            yield Problem(f"{path}[{index}]", "a toleration is expected, such as {key: gpu, operator: Exists}")


def _named_list_problems(items: Any, path: str) -> Iterator[Problem]:
    if not isinstance(items, list):
        yield Problem(path, _NO_LIST)
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            yield Problem(
                f"{path}[{index}]", "an item without a name cannot be merged with the operator's items; set a name"
            )
        elif name in seen:
            yield Problem(f"{path}[{index}].name", f"{name} appears twice; names are unique in a list")
        else:
            seen.add(name)
