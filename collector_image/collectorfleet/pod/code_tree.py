"""``python -m collectorfleet.pod.code_tree``: the container that puts the user's tree into a pod before anything runs.

Its last word is the digest of what it put there, which the operator reads into the status, or why it could not.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from collectorfleet.errors import CollectorFleetError
from collectorfleet.pod.settings import TERMINATION_LOG
from collectorfleet.run.code.tree import Mounts, put
from collectorfleet.run.code.unpack import clear
from collectorfleet.run.exit import Completed, Exit, exit_code, exit_of
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Code


def main(settings: str, mount: Path, mounts: Mounts, last_word: Path) -> int:
    """Put into ``mount`` the tree of the ``spec.code`` that ``settings`` are as JSON; returns the exit code."""
    code = Code.from_wire(json.loads(settings))
    ended: Exit
    try:
        clear(mount)
        digest = put(code, mounts, mount)
    except (CollectorFleetError, OSError) as error:
        ended = exit_of(error)
    else:
        ended = Completed(digest)
    print(ended.message, file=sys.stderr)
    last_word.write_text(ended.message)
    return exit_code(ended)


if __name__ == "__main__":
    mounted = Mounts(
        Path(names.CODE_ARCHIVE_MOUNT), Path(names.CODE_CREDENTIALS_MOUNT), Path(names.CODE_AUTHORITY_MOUNT)
    )
    sys.exit(main(os.environ[names.ENV_CODE], Path(names.CODE_MOUNT), mounted, TERMINATION_LOG))
