"""Implement ``python -m collectorfleet.pod.code_tree``: write the tree of ``spec.code`` into a volume of the pod.

An init container runs this module before the other containers start. Its termination message is the digest of the tree,
or the error. The operator copies the digest to the status.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from collectorfleet.errors import CollectorFleetError
from collectorfleet.pod.settings import TERMINATION_LOG
from collectorfleet.run.code.tree import Mounts, write_tree
from collectorfleet.run.code.unpack import clear
from collectorfleet.run.exit import Completed, Exit, exit_code, exit_of
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Code


def main(settings: str, mount: Path, mounts: Mounts, termination_log: Path) -> int:
    """Write the tree of ``spec.code`` into the folder ``mount``, and return the exit code.

    ``settings`` is ``spec.code`` as JSON. ``termination_log`` is the file of the termination message.
    """
    code = Code.from_wire(json.loads(settings))
    ended: Exit
    try:
        clear(mount)
        digest = write_tree(code, mounts, mount)
    except (CollectorFleetError, OSError) as error:
        ended = exit_of(error)
    else:
        ended = Completed(digest)
    print(ended.message, file=sys.stderr)
    termination_log.write_text(ended.message)
    return exit_code(ended)


if __name__ == "__main__":
    mounted = Mounts(
        Path(names.CODE_ARCHIVE_MOUNT), Path(names.CODE_CREDENTIALS_MOUNT), Path(names.CODE_AUTHORITY_MOUNT)
    )
    sys.exit(main(os.environ[names.ENV_CODE], Path(names.CODE_MOUNT), mounted, TERMINATION_LOG))
