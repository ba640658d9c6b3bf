"""The values that the fields of a pod may have: choices, ranges and patterns of text.

Each key of the tables is a pair of a type and a field. Kubernetes' schema has only the types of these fields, and not
their allowed values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final

from collectorfleet_api.object_names import LABEL_WORD, MAX_OBJECT_NAME_LENGTH, NAME_PART, NAMESPACE_NAME, OBJECT_NAME
from collectorfleet_api.rules.config_map_keys import key_problem
from collectorfleet_api.rules.sentences import did_you_mean

_PULL: Final = ("Always", "IfNotPresent", "Never")
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_IN: Final = ("In", "NotIn", "Exists", "DoesNotExist")
# An empty text means the default, unless the field is required.
CHOICES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("PodSpec", "restartPolicy"): ("Always", "OnFailure", "Never"),
    ("PodSpec", "dnsPolicy"): ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    ("PodSpec", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("PodOS", "name"): ("linux", "windows"),
    ("PodSecurityContext", "fsGroupChangePolicy"): ("Always", "OnRootMismatch"),
    ("PodSecurityContext", "supplementalGroupsPolicy"): ("Merge", "Strict"),
    ("PodSecurityContext", "seLinuxChangePolicy"): ("MountOption", "Recursive"),
    ("SecurityContext", "procMount"): ("Default", "Unmasked"),
    ("SeccompProfile", "type"): _PROFILES,
    ("AppArmorProfile", "type"): _PROFILES,
    ("Container", "imagePullPolicy"): _PULL,
    ("Container", "restartPolicy"): ("Always", "OnFailure", "Never"),
    ("Container", "terminationMessagePolicy"): ("File", "FallbackToLogsOnError"),
    ("ContainerPort", "protocol"): ("SCTP", "TCP", "UDP"),
    ("ContainerResizePolicy", "resourceName"): ("cpu", "memory"),
    ("ContainerResizePolicy", "restartPolicy"): ("NotRequired", "RestartContainer"),
    ("ObjectFieldSelector", "apiVersion"): ("v1",),
    ("HTTPGetAction", "scheme"): ("HTTP", "HTTPS"),
    ("ImageVolumeSource", "pullPolicy"): _PULL,
    ("HostPathVolumeSource", "type"): (
        *("DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
    ),
    ("PersistentVolumeClaimSpec", "accessModes"): (
        *("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"),
    ),
    ("PersistentVolumeClaimSpec", "volumeMode"): ("Block", "Filesystem"),
    ("VolumeMount", "mountPropagation"): ("Bidirectional", "HostToContainer", "None"),
    ("VolumeMount", "recursiveReadOnly"): ("Disabled", "Enabled", "IfPossible"),
    ("Toleration", "operator"): ("Equal", "Exists", "Gt", "Lt"),
    ("Toleration", "effect"): ("NoExecute", "NoSchedule", "PreferNoSchedule"),
    ("NodeSelectorRequirement", "operator"): (*_IN, "Gt", "Lt"),
    ("LabelSelectorRequirement", "operator"): _IN,
    ("TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("TopologySpreadConstraint", "nodeAffinityPolicy"): ("Honor", "Ignore"),
    ("TopologySpreadConstraint", "nodeTaintsPolicy"): ("Honor", "Ignore"),
}
_INT32: Final = 2**31 - 1
_PORTS: Final = (1, 2**16 - 1)
_MODES: Final = (0, 0o777)
_IDS: Final = (0, _INT32)
_COUNTS: Final = (0, _INT32)
_SOME: Final = (1, _INT32)
RANGES: Final[dict[tuple[str, str], tuple[int, int]]] = {
    ("PodSpec", "activeDeadlineSeconds"): _SOME,
    ("ContainerPort", "containerPort"): _PORTS,
    ("ContainerPort", "hostPort"): (0, _PORTS[1]),
    ("GRPCAction", "port"): _PORTS,
    ("HTTPGetAction", "port"): _PORTS,
    ("TCPSocketAction", "port"): _PORTS,
    ("Probe", "failureThreshold"): _COUNTS,
    ("Probe", "initialDelaySeconds"): _COUNTS,
    ("Probe", "periodSeconds"): _COUNTS,
    ("Probe", "successThreshold"): _COUNTS,
    ("Probe", "timeoutSeconds"): _COUNTS,
    ("Probe", "terminationGracePeriodSeconds"): _SOME,
    ("ConfigMapVolumeSource", "defaultMode"): _MODES,
    ("DownwardAPIVolumeFile", "mode"): _MODES,
    ("DownwardAPIVolumeSource", "defaultMode"): _MODES,
    ("KeyToPath", "mode"): _MODES,
    ("ProjectedVolumeSource", "defaultMode"): _MODES,
    ("SecretVolumeSource", "defaultMode"): _MODES,
    ("PodSecurityContext", "fsGroup"): _IDS,
    ("PodSecurityContext", "runAsGroup"): _IDS,
    ("PodSecurityContext", "runAsUser"): _IDS,
    ("PodSecurityContext", "supplementalGroups"): _IDS,
    ("SecurityContext", "runAsGroup"): _IDS,
    ("SecurityContext", "runAsUser"): _IDS,
    ("ServiceAccountTokenProjection", "expirationSeconds"): (600, 2**32),
    ("TopologySpreadConstraint", "maxSkew"): _SOME,
    ("TopologySpreadConstraint", "minDomains"): _SOME,
    ("PreferredSchedulingTerm", "weight"): (1, 100),
    ("WeightedPodAffinityTerm", "weight"): (1, 100),
}

_HINT_OF_LABEL: Final = "use up to 63 lower-case letters, digits and '-', with a letter or digit at both ends"
_HINT_OF_SUBDOMAIN: Final = "use up to 253 lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
_HINT_OF_PATH: Final = "use a relative path without '..'"

Check = Callable[[str], str | None]


def _form(pattern: str, what: str, hint: str) -> Check:
    """Return a check that compares text with a pattern. The check returns a sentence, or None."""
    compiled = re.compile(pattern)
    return lambda text: None if compiled.fullmatch(text) else f'"{text[:80]}" is not a valid {what}; {hint}'


NAME: Final = _form(NAMESPACE_NAME, "name", _HINT_OF_LABEL)
SUBDOMAIN: Final = _form(rf"(?=.{{1,{MAX_OBJECT_NAME_LENGTH}}}$){OBJECT_NAME}", "name of an object", _HINT_OF_SUBDOMAIN)
LABEL_NAME: Final = _form(
    rf"((?=[^/]{{1,{MAX_OBJECT_NAME_LENGTH}}}/){OBJECT_NAME}/)?{LABEL_WORD}",
    "key of a label",
    "use up to 63 letters, digits, '-', '_' and '.', optionally after a domain and '/'",
)
LABEL_VALUE: Final = _form(
    rf"({LABEL_WORD})?",
    "value of a label",
    "use up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends",
)
PORT_NAME: Final = _form(
    rf"(?=.{{1,15}}$)(?=.*[a-z])(?!.*--){NAME_PART}",
    "name of a port",
    "use up to 15 lower-case letters, digits and '-', at least one of them a letter",
)
_ENV_NAME: Final = _form(
    r"[ -<>-~]+", "name of an environment variable", "use printable ASCII characters other than '='"
)
_SYSCTL: Final = _form(
    r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?",
    "sysctl",
    "write one such as net.core.somaxconn",
)
_RELATIVE: Final = _form(r"(?!/)(?!(.*/)?\.\.(/|$)).*", "path in a volume", _HINT_OF_PATH)


def _ip(text: str) -> str | None:
    try:
        ip_address(text)
    except ValueError:
        return f'"{text[:80]}" is not an IP address; write one such as 10.0.0.1 or 2001:db8::1'
    return None


FORMS: Final[dict[tuple[str, str], Check]] = {
    ("Container", "name"): NAME,
    ("Volume", "name"): NAME,
    ("PodResourceClaim", "name"): NAME,
    ("PodSpec", "hostname"): NAME,
    ("PodSpec", "subdomain"): NAME,
    **{
        ("PodSpec", field): SUBDOMAIN
        for field in ("hostnameOverride", "nodeName", "priorityClassName", "runtimeClassName", "serviceAccountName")
    },
    ("PodResourceClaim", "resourceClaimName"): SUBDOMAIN,
    ("PodResourceClaim", "resourceClaimTemplateName"): SUBDOMAIN,
    ("ConfigMapEnvSource", "name"): SUBDOMAIN,
    ("ConfigMapKeySelector", "name"): SUBDOMAIN,
    ("SecretEnvSource", "name"): SUBDOMAIN,
    ("SecretKeySelector", "name"): SUBDOMAIN,
    ("ConfigMapKeySelector", "key"): key_problem,
    ("SecretKeySelector", "key"): key_problem,
    ("ContainerPort", "name"): PORT_NAME,
    ("HTTPGetAction", "port"): PORT_NAME,
    ("TCPSocketAction", "port"): PORT_NAME,
    ("EnvVar", "name"): _ENV_NAME,
    ("EnvFromSource", "prefix"): _ENV_NAME,
    ("KeyToPath", "path"): _RELATIVE,
    ("DownwardAPIVolumeFile", "path"): _RELATIVE,
    ("VolumeMount", "subPath"): _RELATIVE,
    ("VolumeMount", "subPathExpr"): _RELATIVE,
    ("HostAlias", "hostnames"): SUBDOMAIN,
    ("HostAlias", "ip"): _ip,
    ("PodDNSConfig", "nameservers"): _ip,
    ("ObjectMeta", "labels"): LABEL_VALUE,
    ("PersistentVolumeClaimSpec", "storageClassName"): SUBDOMAIN,
    ("PodAffinityTerm", "namespaces"): NAME,
    ("PodAffinityTerm", "topologyKey"): LABEL_NAME,
    ("PodReadinessGate", "conditionType"): LABEL_NAME,
    ("PodSchedulingGate", "name"): LABEL_NAME,
    ("Toleration", "key"): LABEL_NAME,
    ("Toleration", "value"): LABEL_VALUE,
    ("Sysctl", "name"): _SYSCTL,
    ("LabelSelectorRequirement", "key"): LABEL_NAME,
    ("LabelSelectorRequirement", "values"): LABEL_VALUE,
    ("NodeSelectorRequirement", "key"): LABEL_NAME,
    ("PodSpec", "nodeSelector"): LABEL_VALUE,
    ("LabelSelector", "matchLabels"): LABEL_VALUE,
}
# Checks of the keys of a mapping.
KEY_FORMS: Final[dict[tuple[str, str], Check]] = {
    ("PodSpec", "nodeSelector"): LABEL_NAME,
    ("LabelSelector", "matchLabels"): LABEL_NAME,
    ("ObjectMeta", "labels"): LABEL_NAME,
    **{("ResourceRequirements", field): LABEL_NAME for field in ("limits", "requests")},
}


def value_problem(place: tuple[str, str], value: Any, *, required: bool) -> str | None:
    """Return the problem of a value, or None. The value has the right type.

    ``place`` is the type and field that have the value.
    """
    if value == "":
        return "empty; write something or leave the field out" if required else None
    if isinstance(value, int) and place in RANGES:
        low, high = RANGES[place]
        if not low <= value <= high:
            shown = f"0o{value:o}" if (low, high) == _MODES and value > 0 else str(value)
            bounds = "0 to 0o777" if (low, high) == _MODES else f"{low} to {high}"
            return f"{shown} is outside of {bounds}; use a number in this range"
    if isinstance(value, str) and place in CHOICES and value not in CHOICES[place]:
        choices = CHOICES[place]
        return f'"{value[:80]}" is not one of {", ".join(choices)}{did_you_mean(value, choices)}'
    if isinstance(value, str) and place in FORMS:
        return FORMS[place](value)
    return None
