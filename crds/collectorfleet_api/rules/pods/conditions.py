"""Rules about several fields of one Kubernetes type in a pod, such as ``Container``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from collectorfleet_api.rules.pods.place import BuiltProblem, Path
from collectorfleet_api.rules.sentences import did_you_mean

Condition = Callable[[dict[str, Any], Path], Iterator[BuiltProblem]]

_MOST_NAMESERVERS: Final = 3
_PROBES: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


def _pod(pod: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    ours = pod["containers"][0]["name"]
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(pod.get(kind) or []):
            if not container.get("image"):
                text = f"missing: container {container['name']} runs beside {ours}"
                advice = f"add its image, or rename it to {ours}" if kind == "containers" else "add its image"
                yield BuiltProblem((*path, kind, index, "image"), f"{text}; {advice}")
    for index, container in enumerate(pod.get("initContainers") or []):
        if container.get("restartPolicy") == "Always":
            continue
        for field in _PROBES:
            if container.get(field) is not None:
                text = (
                    "an init container ends before the other containers start; set its restartPolicy to Always, or "
                    f"leave {field} out"
                )
                yield BuiltProblem((*path, "initContainers", index, field), text)
    if pod.get("dnsPolicy") == "None" and not (pod.get("dnsConfig") or {}).get("nameservers"):
        yield BuiltProblem((*path, "dnsPolicy"), "dnsPolicy None needs a DNS server; add dnsConfig.nameservers")
    if pod.get("hostPID") and pod.get("shareProcessNamespace"):
        yield BuiltProblem(
            (*path, "shareProcessNamespace"), "cannot be true together with hostPID; keep one of the two"
        )
    if pod.get("hostNetwork"):
        yield from _host_ports(pod, path)


def _host_ports(pod: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    for number, container in enumerate(pod["containers"]):
        for index, port in enumerate(container.get("ports") or []):
            host = port.get("hostPort")
            if host and host != port.get("containerPort"):
                text = (
                    f"{host} differs from containerPort {port.get('containerPort')}; with hostNetwork, make the two "
                    "ports equal"
                )
                yield BuiltProblem((*path, "containers", number, "ports", index, "hostPort"), text)


def _container(container: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    for field in ("livenessProbe", "startupProbe"):
        threshold = (container.get(field) or {}).get("successThreshold")
        if threshold not in (None, 0, 1):
            yield BuiltProblem(
                (*path, field, "successThreshold"), f"{threshold} is not allowed here; use 1, or leave this field out"
            )
    if (container.get("readinessProbe") or {}).get("terminationGracePeriodSeconds") is not None:
        text = "a readiness probe never ends its container; leave terminationGracePeriodSeconds out"
        yield BuiltProblem((*path, "readinessProbe", "terminationGracePeriodSeconds"), text)


def _env(env: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    if env.get("value") and env.get("valueFrom") is not None:
        yield BuiltProblem((*path, "valueFrom"), "value and valueFrom are both set; keep one of the two")
    allowed = (
        *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
        *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
    )
    yield from _field_ref(env.get("valueFrom") or {}, (*path, "valueFrom"), allowed)


def _volume_file(file: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    allowed = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
    yield from _field_ref(file, path, allowed)
    ref = file.get("resourceFieldRef")
    if ref is not None and not ref.get("containerName"):
        yield BuiltProblem((*path, "resourceFieldRef", "containerName"), "missing, and required in a volume")


def _field_ref(source: dict[str, Any], path: Path, allowed: tuple[str, ...]) -> Iterator[BuiltProblem]:
    found = (source.get("fieldRef") or {}).get("fieldPath")
    if not found or found in allowed:
        return
    name, subscript, _ = found.partition("['")
    if not (subscript and found.endswith("']") and name in ("metadata.annotations", "metadata.labels")):
        text = f'"{found}" is not one of {", ".join(allowed)}{did_you_mean(found, allowed)}'
        yield BuiltProblem((*path, "fieldRef", "fieldPath"), text)


def _resource_ref(ref: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    allowed = [f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")]
    found = ref.get("resource")
    if found and found not in allowed and not found.startswith(("limits.hugepages-", "requests.hugepages-")):
        text = f'"{found}" is not one of {", ".join(allowed)}{did_you_mean(found, allowed)}'
        yield BuiltProblem((*path, "resource"), text)


def _profile(profile: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    is_local, name = profile.get("type") == "Localhost", profile.get("localhostProfile")
    if is_local and not name:
        yield BuiltProblem((*path, "localhostProfile"), "missing, and required with type Localhost")
    elif name and not is_local:
        text = (
            f'"type: {profile.get("type")}" takes no localhostProfile; leave this field out, or set type to Localhost'
        )
        yield BuiltProblem((*path, "localhostProfile"), text)


def _security(context: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    escalates = "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or [])
    if context.get("privileged") or escalates:
        field: Path = ("privileged",) if context.get("privileged") else ("capabilities", "add")
        text = (
            "cannot be used with allowPrivilegeEscalation false, which is the operator's default; set "
            "allowPrivilegeEscalation to true, or leave this field out"
        )
        yield BuiltProblem((*path, *field), text)


def _toleration(one: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    exists = one.get("operator") == "Exists"
    if not one.get("key") and not exists:
        text = (
            'a toleration without a key matches all taints and needs "operator: Exists"; set operator to Exists, or '
            "set a key"
        )
        yield BuiltProblem((*path, "operator"), text)
    if exists and one.get("value"):
        yield BuiltProblem(
            (*path, "value"), '"operator: Exists" takes no value; leave value out, or set operator to Equal'
        )
    if one.get("tolerationSeconds") is not None and one.get("effect") != "NoExecute":
        yield BuiltProblem(
            (*path, "tolerationSeconds"),
            "tolerationSeconds applies only to effect NoExecute; set effect to NoExecute",
        )


def _requirement(one: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    operator, values = one.get("operator"), one.get("values") or []
    if operator in ("In", "NotIn") and not values:
        yield BuiltProblem((*path, "values"), f"missing, and required with operator {operator}")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield BuiltProblem((*path, "values"), f'"operator: {operator}" takes no values; leave values out, or use In')
    elif operator in ("Gt", "Lt") and len(values) != 1:
        text = (
            f'"operator: {operator}" compares with one number, but this list has {len(values)} items; write one number'
        )
        yield BuiltProblem((*path, "values"), text)


def _spread(one: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    if one.get("minDomains") is not None and one.get("whenUnsatisfiable") != "DoNotSchedule":
        yield BuiltProblem(
            (*path, "minDomains"),
            "needs whenUnsatisfiable DoNotSchedule; set whenUnsatisfiable, or leave minDomains out",
        )


def _dns(config: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    servers = config.get("nameservers") or []
    if len(servers) > _MOST_NAMESERVERS:
        yield BuiltProblem((*path, "nameservers"), f"{len(servers)} are too many; use at most {_MOST_NAMESERVERS}")


def _claim(spec: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    resources = spec.get("resources")
    if resources is not None and not (resources.get("requests") or {}).get("storage"):
        yield BuiltProblem((*path, "resources", "requests", "storage"), "missing, and required in a claim")


CONDITIONS: Final[dict[str, tuple[Condition, ...]]] = {
    "PodSpec": (_pod,),
    "Container": (_container,),
    "EnvVar": (_env,),
    "DownwardAPIVolumeFile": (_volume_file,),
    "ResourceFieldSelector": (_resource_ref,),
    "SeccompProfile": (_profile,),
    "AppArmorProfile": (_profile,),
    "SecurityContext": (_security,),
    "Toleration": (_toleration,),
    "NodeSelectorRequirement": (_requirement,),
    "LabelSelectorRequirement": (_requirement,),
    "TopologySpreadConstraint": (_spread,),
    "PodDNSConfig": (_dns,),
    "PersistentVolumeClaimSpec": (_claim,),
}
