"""``collectorfleet export RUN``"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from collectorfleet.cli.extras import EXPORT, require
from collectorfleet.errors import InvalidOption

SUFFIXES: Final = (".pt", ".safetensors")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = commands.add_parser(
        "export",
        help="write the policy's weights of a run into a file",
        description="Write the weights of the newest checkpoint, or the best evaluated ones. RUN is the folder of a "
        "run's checkpoints. The file says which version the weights are.",
    )
    export.add_argument("run", metavar="RUN", type=Path, help="the folder of `collectorfleet run --checkpoint`")
    export.add_argument("--best", action="store_true", help="the weights with the highest mean return of an evaluation")
    export.add_argument(
        "-o", "--output", metavar="FILE", type=_file, required=True, help=f"a name that ends in {' or '.join(SUFFIXES)}"
    )
    export.set_defaults(command=_export)


def _export(options: argparse.Namespace) -> int:
    require(EXPORT, options.prog)
    folder: Path = options.run
    if not folder.is_dir():
        raise InvalidOption(
            f"{folder} is not a folder: RUN is the folder of a run with --checkpoint; copy the folder of a "
            "fleet on a cluster with `kubectl cp` first"
        )
    from collectorfleet.run.checkpoint.kept_weights import best_weights, newest_weights
    from collectorfleet.run.weights_file import write_weights

    weights = best_weights(folder) if options.best else newest_weights(folder)
    try:
        write_weights(options.output, weights)
    except OSError as error:  # names a file that is moved to the output once it is whole
        raise InvalidOption(f"{options.output}: {error.strerror}") from error
    print(options.output)
    return 0


def _file(text: str) -> Path:
    file = Path(text)
    if file.suffix not in SUFFIXES:
        raise argparse.ArgumentTypeError(f"{text!r} has no known format; choose a name with {' or '.join(SUFFIXES)}")
    return file
