"""``environment.process``: a simulator that each collector starts beside its environment."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from collectorfleet_api.v1alpha1.base import Model, Seconds
from collectorfleet_api.v1alpha1.types import PortName


def _each_once(ports: list[str]) -> list[str]:
    for name in ports:
        if ports.count(name) > 1:
            raise ValueError(f"{name} appears twice; name each port once")
    return ports


class Process(Model):
    """A process with TCP ports. Each collector has its own process."""

    command: list[Annotated[str, Field(max_length=4096)]] = Field(
        min_length=1,
        max_length=100,
        description=(
            "Program and arguments. The program has to stay in the foreground. For a port `grpc`, the collector "
            "replaces `{grpc}` with the number of the port, and sets the environment variable `PORT_GRPC` to this "
            "number. The collector replaces `{python}` with the path of its Python."
        ),
    )
    ports: Annotated[list[PortName], AfterValidator(_each_once)] = Field(
        min_length=1,
        max_length=8,
        json_schema_extra={"x-kubernetes-list-type": "set"},
        description=(
            "Names of the TCP ports that the process listens on. Each process gets free ports of the loopback "
            'interface, and the factory gets their addresses as `process={"grpc": "127.0.0.1:40123"}`.'
        ),
    )
    ready_timeout_seconds: Seconds = Field(
        default=60,
        description=(
            "Seconds that the process may take until it listens on all ports. The number must be less than "
            "`collectors.firstRequestTimeoutSeconds`."
        ),
    )
