"""Set up the log of a pod, in the format that an environment variable names. Each record has the fleet's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from collectorfleet.errors import InvalidOption
from collectorfleet.logs import log_to_stream
from collectorfleet_api import names
from collectorfleet_api.log_lines import LogFormat, OfFleet


def set_up_pod_log(stream: TextIO, env: Mapping[str, str]) -> None:
    """Write log lines to ``stream``, in the format that ``env`` requests: text by default.

    Raises InvalidOption for an unknown format.
    """
    asked = env.get(names.ENV_LOG_FORMAT, LogFormat.TEXT.value)
    if asked not in set(LogFormat):
        known = " or ".join(LogFormat)
        raise InvalidOption(f"{names.ENV_LOG_FORMAT}: {asked!r} is not a log format; write {known}")
    about = OfFleet(env.get(names.ENV_NAMESPACE, ""), env.get(names.ENV_NAME, ""))
    log_to_stream(stream, LogFormat(asked), about)
