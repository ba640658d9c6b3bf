"""Types of fields that are text or free-form objects, with the schemas by which the API server checks them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from collectorfleet_api.object_names import LABEL_WORD, MAX_OBJECT_NAME_LENGTH, NAME_PART, OBJECT_NAME, SERVICE_NAME
from collectorfleet_api.packing.quantity import PATTERN, QuantityError, parse_quantity

_WORDS: Final = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
_IMPORT_PATH: Final = f"^{_WORDS}:{_WORDS}$"
_DEVICE: Final = "^(cpu|cuda(:[0-9]{1,2})?)$"
_VERSION: Final = r"^[0-9]+\.[0-9]+\.[0-9]+$"
_PERCENTAGE: Final = "^([1-9][0-9]?|100)%$"
_FOLDER: Final = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"


def _matching(pattern: str, max_length: int, otherwise: str) -> tuple[AfterValidator, WithJsonSchema]:
    """Return validator and schema for text that matches ``pattern``. ``otherwise`` is the message for other text."""

    def check(value: str) -> str:
        if len(value) > max_length:
            raise ValueError(f"{len(value)} characters are too many; use at most {max_length}")
        if not re.fullmatch(pattern, value):
            raise ValueError(f'"{value}" {otherwise}')
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": pattern, "maxLength": max_length})


# "my_envs.cheetah:make_env": the module and the name of the user's function.
ImportPath = Annotated[
    str,
    *_matching(
        _IMPORT_PATH, 253, "is not an import path; write package.module:function, with a colon before the function"
    ),
]
# A collector sees only its own GPUs, counted from 0.
Device = Annotated[
    str, *_matching(_DEVICE, 7, "is not a device; write cpu, cuda, or cuda:1 for the second of a collector's own GPUs")
]
# The path of a module in a collector, by attributes, such as `env.world_model`.
AttributePath = Annotated[
    str, *_matching(f"^{_WORDS}$", 253, "is not an attribute path; write names with dots, such as env.world_model")
]
RayVersion = Annotated[str, *_matching(_VERSION, 20, "is not a version of Ray; write three numbers such as 2.60.0")]
# A program in the mounted code, or an absolute path in the image.
ScriptPath = Annotated[
    str,
    *_matching(
        f"^/?{_FOLDER}(/{_FOLDER})*\\.py$",
        253,
        "is not a Python file; write a name such as train.py, or the file's path in the image",
    ),
]
# The URL may not contain a user and a password, because everybody who may read the fleet could read both.
_HTTP_URL: Final = r"^https?://[A-Za-z0-9.:_\[\]-]+(/[^\s@]*)?$"
HttpUrl = Annotated[
    str,
    *_matching(
        _HTTP_URL,
        2048,
        "is not a valid http or https URL, or contains a user name; put code that needs a password into a ConfigMap or "
        "an image",
    ),
]
GitUrl = Annotated[
    str,
    *_matching(
        _HTTP_URL,
        2048,
        "is not a valid http or https URL, or contains a user name; write one such as "
        "https://git.example.com/me/lab.git; for a password, set credentialsSecret",
    ),
]
Sha256 = Annotated[
    str,
    *_matching("^[0-9a-f]{64}$", 64, "is not the SHA-256 of a file; write 64 hexadecimal digits, as sha256sum does"),
]
# A resource that a device plugin offers on nodes. Names without a domain are Kubernetes' own resources.
ExtendedResource = Annotated[
    str,
    *_matching(
        f"^{OBJECT_NAME}/{LABEL_WORD}$",
        253,
        "is not an extended resource; write its domain and name, such as nvidia.com/mig-1g.10gb",
    ),
]
ObjectName = Annotated[
    str,
    *_matching(
        f"^{OBJECT_NAME}$",
        MAX_OBJECT_NAME_LENGTH,
        "is not a name of an object; write lower-case letters, digits, '-' and '.', as kubectl shows it",
    ),
]
# The name is a part of the names of pods and annotations.
GroupName = Annotated[
    str,
    *_matching(
        f"^{NAME_PART}$", 30, "is not a name of a group; write lower-case letters, digits and '-', such as big-gpu"
    ),
]
_PORT_NAME: Final = f"^{SERVICE_NAME}$"
_PYTHON: Final = "python"


def _is_no_placeholder(name: str) -> str:
    if name == _PYTHON:
        raise ValueError(
            f'"{_PYTHON}" cannot name a port, because {{{_PYTHON}}} in the command stands for the collector\'s '
            "Python; rename the port"
        )
    return name


PortName = Annotated[
    str,
    *_matching(
        _PORT_NAME,
        15,
        "is not a name of a port; write lower-case letters, digits and '-', beginning with a letter, such as grpc",
    ),
    AfterValidator(_is_no_placeholder),
    WithJsonSchema({"type": "string", "pattern": _PORT_NAME, "maxLength": 15, "not": {"enum": [_PYTHON]}}),
]
# The form of keys and values of labels and taints.
LabelKey = Annotated[
    str,
    *_matching(
        f"^({OBJECT_NAME}/)?{LABEL_WORD}$",
        317,
        "is not a key of a taint; write a key such as gpu or nvidia.com/gpu",
    ),
]
LabelValue = Annotated[
    str,
    *_matching(
        f"^({LABEL_WORD})?$",
        63,
        "is not a value of a taint; use letters, digits, '-', '_' and '.', and begin and end with a letter or a digit",
    ),
]
# The id is a part of a file name.
PolicyId = Annotated[
    str,
    *_matching(
        "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$",
        63,
        "is not an id; use letters, digits, '-', '_' and '.', and begin with a letter or a digit",
    ),
]
# A folder below the root of a volume, without a leading slash and without `..`.
SubPath = Annotated[
    str,
    *_matching(
        f"^{_FOLDER}(/{_FOLDER})*$",
        253,
        "is not a path within a volume; write names of letters, digits, '.', '_' and '-', separated by '/'",
    ),
]


def _free_form(description: str) -> dict[str, Any]:
    return {"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": True}


def _typed(type_: str, description: str, **rest: Any) -> dict[str, Any]:
    return {"type": type_, "description": description, **rest}


def _is_number_or_percentage(value: int | str) -> int | str:
    if isinstance(value, int):
        if value < 1:
            raise ValueError(f"{value} is less than 1")
    elif not re.fullmatch(_PERCENTAGE, value):
        raise ValueError(f'"{value}" is not a percentage; write a number of at least 1, or 1% to 100%')
    return value


NumberOrPercentage = Annotated[
    int | str,
    AfterValidator(_is_number_or_percentage),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": _PERCENTAGE, "maxLength": 4, "minimum": 1}),
]

# Server-side apply identifies the items of such a list by `name`.
BY_NAME: Final[dict[str, Any]] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
# The API server keeps unknown fields in a free-form object.
Preserved = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})]

_STRINGS = {"type": "string"}
# Only the outer fields of a pod template, so that the API server refuses a misplaced `nodeSelector` beside `spec`.
# Kubernetes checks the other fields when the pods are created.
_POD_TEMPLATE = {
    "type": "object",
    "properties": {
        "metadata": _typed(
            "object",
            "Labels and annotations of the pod.",
            properties={
                "labels": _typed("object", "Labels of the pod.", additionalProperties=_STRINGS),
                "annotations": _typed("object", "Annotations of the pod.", additionalProperties=_STRINGS),
            },
        ),
        "spec": _free_form("Pod spec.")
        | {
            "properties": {
                key: _typed(
                    "array",
                    f"{text}. They are merged by name with the operator's `{key}`.",
                    items=_free_form(f"One of the `{key}`.")
                    | {"required": ["name"], "properties": {"name": _typed("string", "Name to merge by.")}},
                )
                for key, text in {
                    "containers": "Containers",
                    "initContainers": "Containers that run first",
                    "volumes": "Volumes",
                }.items()
            }
        },
    },
}
PodTemplate = Annotated[dict[str, Any], WithJsonSchema(_POD_TEMPLATE)]


# Ray custom resources of one collector and of one pod, by name. Ray requires whole numbers for a pod.
MOST_CUSTOM: Final = 16
MOST_OF_ONE: Final = 1_000_000


def _without_null_entries(value: object) -> object:
    # The API server treats a null entry as absent, like a null field.
    return {key: one for key, one in value.items() if one is not None} if isinstance(value, dict) else value


CustomAmounts = Annotated[
    dict[str, Annotated[float, Field(ge=0.0001, le=MOST_OF_ONE)]],
    Field(max_length=MOST_CUSTOM),
    BeforeValidator(_without_null_entries),
]
CustomPerPod = Annotated[
    dict[str, Annotated[int, Field(ge=1, le=MOST_OF_ONE)]],
    Field(max_length=MOST_CUSTOM),
    BeforeValidator(_without_null_entries),
]


def _is_quantity(value: object) -> object:
    if not isinstance(value, str | int | float):
        raise QuantityError("not a quantity; write a number such as 2, 0.5, 500m or 2Gi")
    parse_quantity(value)
    return value


def _quantity_schema(**rest: Any) -> dict[str, Any]:
    # The schema has no type, because Kubernetes has only "integer or string", which refuses 0.5. A pattern applies to
    # strings and a minimum to numbers. The other keywords exclude lists, objects and booleans.
    return {
        "x-kubernetes-preserve-unknown-fields": True,
        "pattern": PATTERN,
        "maxLength": 32,
        "maxItems": 0,
        "maxProperties": 0,
        "not": {"enum": [True, False]},
        **rest,
    }


Cpu = Annotated[str | int | float, BeforeValidator(_is_quantity), WithJsonSchema(_quantity_schema(minimum=0))]
# A plain number is bytes. No process fits into less than 1 MiB, so the author probably meant gigabytes.
LEAST_MEMORY_BYTES: Final = 2**20
Memory = Annotated[
    str | int | float, BeforeValidator(_is_quantity), WithJsonSchema(_quantity_schema(minimum=LEAST_MEMORY_BYTES))
]
