"""``python -m collectorfleet.pod.code_tree``: the container that puts the user's tree into a pod before anything runs.

Its last word is the digest of what it unpacked, which the operator reads into the status, or why it could not.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from collectorfleet.errors import CollectorFleetError
from collectorfleet.pod.settings import TERMINATION_LOG
from collectorfleet.run.code_archive import clear, unpack
from collectorfleet.run.exit import Completed, Exit, exit_code, exit_of
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Archive


def main(settings: str, mount: Path, archives: Path, last_word: Path) -> int:
    """Unpack into ``mount`` the archive that the JSON ``settings`` describe; returns the exit code."""
    archive = Archive.model_validate(json.loads(settings))
    ended: Exit
    try:
        clear(mount)
        unpack(archive, archives / archive.key, mount)
    except (CollectorFleetError, OSError) as error:
        ended = exit_of(error)
    else:
        ended = Completed(f"sha256:{archive.sha256}")
    print(ended.message, file=sys.stderr)
    last_word.write_text(ended.message)
    return exit_code(ended)


if __name__ == "__main__":
    sys.exit(main(os.environ[names.ENV_CODE], Path(names.CODE_MOUNT), Path(names.CODE_ARCHIVE_MOUNT), TERMINATION_LOG))
