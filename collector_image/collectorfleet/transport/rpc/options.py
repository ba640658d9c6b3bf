"""The user's TensorPipe options as a plain value. This module works with a torch that lacks TensorPipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

from collectorfleet import option_types
from collectorfleet.errors import InvalidOption
from collectorfleet.option_ranges import NotEmpty, Seconds, Threads

_Name = Annotated[str, NotEmpty("uv")]


@dataclass(frozen=True)
class TensorPipeOptions:
    """Options with the names of ``torch.distributed.rpc.TensorPipeRpcBackendOptions``.

    ``rpc_timeout`` is the deadline in seconds of each call, including the transfer of its data. If ``_transports`` or
    ``_channels`` is None, TensorPipe chooses the transports or the channels.
    """

    num_worker_threads: Threads = 16
    rpc_timeout: Seconds = 60.0
    _transports: Sequence[_Name] | None = ("uv",)
    _channels: Sequence[_Name] | None = None

    def __post_init__(self) -> None:
        option_types.check_fields(self, "")

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> TensorPipeOptions:
        """Convert the user's options. The caller has checked them with :func:`problem`."""
        own: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in (given or {}).items()
        }
        return cls(**own)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of torch's class."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


_NAMES = tuple(field.name for field in fields(TensorPipeOptions))


def problem(given: Mapping[str, Any]) -> str | None:
    """Return why the user's options are invalid, or None if they are valid."""
    unknown = given.keys() - set(_NAMES)
    if unknown:
        return f"{', '.join(sorted(map(str, unknown)))} cannot be set here; use {', '.join(_NAMES)}"
    try:
        TensorPipeOptions.of(given)
    except InvalidOption as error:
        return str(error)
    return None


def visible_problem(entries: Iterable[Any]) -> str | None:
    """Return why the list of visible devices is invalid, or None if the list is valid."""
    try:
        for entry in entries:
            cuda_visible_devices(entry)
    except ValueError as error:
        return str(error)
    return None


def cuda_visible_devices(entry: Any) -> str | None:
    """Return the value of ``CUDA_VISIBLE_DEVICES`` for one entry of the list of visible devices.

    An entry is a list of GPUs, or one GPU such as ``1``, ``"cuda:1"`` or a device of torch. ``"cpu"`` means no GPU.
    None leaves the variable unchanged. Raises ValueError for other values.
    """
    if entry is None:
        return None
    found = [_index(one) for one in (entry if isinstance(entry, list | tuple) else [entry])]
    return ",".join(index for index in found if index is not None)


def _index(device: Any) -> str | None:
    text = str(device)
    if text == "cpu":
        return None
    index = text.removeprefix("cuda:")
    if not index.isdecimal():
        raise ValueError(f"{device!r} is not a GPU with a number; use 1, 'cuda:1' or 'cpu'")
    return index
