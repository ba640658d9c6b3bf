"""``collectorfleet export RUN``: write the policy's weights of a run into a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from collectorfleet.cli import arguments, cluster
from collectorfleet.cli.completion import complete_names
from collectorfleet.cli.extras import EXPORT, EXPORT_OF_FLEET, require
from collectorfleet.cli.printing import print_path, print_problem
from collectorfleet.cli.run_names import folder_of, if_folders_were_meant, is_folder
from collectorfleet.errors import ClusterUnavailable, FleetNotFound, InvalidKubeconfig

SUFFIXES: Final = (".pt", ".safetensors")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = commands.add_parser(
        "export",
        help="write the weights of a run's policy into a file",
        description=(
            "Write the weights of the newest checkpoint. With --best, write the weights with the best evaluation. The "
            "file also has the version of the weights. RUN is a fleet on a cluster, or the folder of a run's "
            "checkpoints."
        ),
    )
    cluster.add_options(export, name=False)
    complete_names(
        export.add_argument(
            "run",
            metavar="RUN",
            type=arguments.name,
            help="name of a fleet, or the folder of `collectorfleet run --checkpoint`",
        )
    )
    export.add_argument(
        "--best", action="store_true", help="write the weights whose evaluation had the highest mean return"
    )
    export.add_argument(
        "-o", "--output", metavar="FILE", type=_file, required=True, help=f"a name that ends in {' or '.join(SUFFIXES)}"
    )
    export.set_defaults(command=_export)


def _export(options: argparse.Namespace) -> int:
    if is_folder(options.run):
        _export_of_folder(options)
    else:
        _export_of_fleet(options)
    print_path(options.output)
    return 0


def _export_of_folder(options: argparse.Namespace) -> None:
    require(EXPORT, options.prog)
    folder = folder_of(options.run)
    from collectorfleet.run.checkpoint.kept_weights import best_weights, newest_weights
    from collectorfleet.run.weights_file import write_weights

    weights = best_weights(folder) if options.best else newest_weights(folder)
    try:
        write_weights(options.output, weights)
    except OSError as error:  # the error names the temporary file, and not the output
        raise _cannot_write(options.output, error) from error


def _export_of_fleet(options: argparse.Namespace) -> None:
    require(EXPORT_OF_FLEET, options.prog)
    from collectorfleet.cli.pods import driver_template
    from collectorfleet.client import Fleets
    from collectorfleet.client.export import Exporter

    with if_folders_were_meant([options.run], FleetNotFound, InvalidKubeconfig, ClusterUnavailable):
        connection = cluster.connection(options)
        fleet = Fleets(connection).get(options.run)
    try:
        Exporter(connection, print_problem).export(fleet, driver_template(fleet), options.output, best=options.best)
    except OSError as error:
        raise _cannot_write(options.output, error) from error


def _cannot_write(file: Path, error: OSError) -> OSError:
    return OSError(error.errno, error.strerror, str(file))


def _file(text: str) -> Path:
    file = Path(text)
    if file.suffix not in SUFFIXES:
        raise argparse.ArgumentTypeError(f"{text!r} has no known format; choose a name with {' or '.join(SUFFIXES)}")
    return file
