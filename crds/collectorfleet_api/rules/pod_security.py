"""Fields of a pod template that the Pod Security Standard `restricted` forbids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.rules.problem import Problem

_VOLUMES: Final = frozenset(
    {
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"),
        "name",
    }
)
_HOST: Final = ("hostNetwork", "hostPID", "hostIPC")
_ADDED: Final = frozenset({"NET_BIND_SERVICE"})


def not_restricted(template: dict[str, Any], path: str, container: str, *, has_tree: bool) -> Iterator[Problem]:
    """Yield warnings about a template without problems.

    Args:
        container: name of the pod's main container. The operator restricts this container, unless the template
            overrides this restriction.
        has_tree: whether the operator adds, and restricts, the init container that unpacks the code.
    """
    ours = {("containers", container)} | ({("initContainers", names.CODE_CONTAINER)} if has_tree else set())
    spec, path = template.get("spec") or {}, f"{path}.spec"
    for key in _HOST:
        if spec.get(key):
            yield _refused(f"{path}.{key}")
    for index, volume in enumerate(spec.get("volumes") or []):
        for kind in volume.keys() - _VOLUMES:
            yield _refused(f"{path}.volumes[{index}].{kind}")
    if "securityContext" in spec:
        yield from _context(spec["securityContext"], f"{path}.securityContext")
    for key in ("containers", "initContainers"):
        for index, one in enumerate(spec.get(key) or []):
            yield from _container(one, f"{path}.{key}[{index}]", is_ours=(key, one["name"]) in ours)


def _container(container: dict[str, Any], path: str, *, is_ours: bool) -> Iterator[Problem]:
    if any(port.get("hostPort") for port in container.get("ports") or []):
        yield _refused(f"{path}.ports")
    if is_ours and "securityContext" not in container:
        return
    path, context = f"{path}.securityContext", container.get("securityContext")
    if context is None:
        yield Problem(
            path, f"not set, and {_WHERE}; set allowPrivilegeEscalation to false, and add ALL to capabilities.drop"
        )
        return
    yield from _context(context, path)
    if context.get("privileged"):
        yield _refused(f"{path}.privileged")
    if context.get("allowPrivilegeEscalation", not is_ours) is not False:  # null removes the operator's value
        yield _refused(f"{path}.allowPrivilegeEscalation", "set this field to false")
    capabilities = context.get("capabilities") or {}
    if "ALL" not in capabilities.get("drop", ["ALL"] if is_ours else []):
        yield _refused(f"{path}.capabilities.drop", "add ALL")
    if set(capabilities.get("add") or []) - _ADDED:
        yield _refused(f"{path}.capabilities.add")


def _context(context: dict[str, Any] | None, path: str) -> Iterator[Problem]:
    """Yield problems of the fields that security contexts of pods and containers share."""
    if context is None:
        yield _refused(path)
        return
    if context.get("runAsNonRoot") is False:
        yield _refused(f"{path}.runAsNonRoot")
    if context.get("runAsUser") == 0:
        yield _refused(f"{path}.runAsUser")
    if (context.get("seccompProfile") or {}).get("type") == "Unconfined":
        yield _refused(f"{path}.seccompProfile")


_WHERE: Final = 'a namespace that enforces the Pod Security Standard "restricted" refuses the pod'


def _refused(path: str, otherwise: str = "leave this field out") -> Problem:
    return Problem(path, f"{_WHERE}; {otherwise} in such a namespace")
