"""``spec.code`` without a cluster: the files of a ConfigMap, or a tree, in a folder, first on the import path."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.tree import put
from collectorfleet_api.manifests.files import Manifests, load_file
from collectorfleet_api.rules.config_map_keys import key_problem
from collectorfleet_api.v1alpha1 import Code

SUFFIXES: Final = (".yaml", ".yml", ".json")
LARGEST_BYTES: Final = 3 * 2**20  # etcd holds no larger object; other files are not read


def import_path(code: Code | None, manifests: Manifests, source: Path, mounted: Path) -> list[Path]:
    """The code, put into ``mounted``, then what stands for the image: the folder of ``source``, which the ``manifests``
    are from, and the one we are in.

    Raises InvalidOption where there is no such code, InfrastructureError where it cannot be fetched now.
    """
    beside = [source.absolute().parent, Path.cwd()]
    if code is None:
        return beside
    mounted.mkdir(parents=True)
    if code.config_map is not None:
        write_files(find_config_map(code.config_map, manifests, source), mounted)
    else:
        put(code, None, mounted)
    return [mounted / code.path if code.path else mounted, *beside]


def find_config_map(name: str, manifests: Manifests, source: Path) -> dict[str, str]:
    """The ConfigMap in the fleet's own file, or in a file beside it.

    Raises InvalidOption if there is none, or more than one beside it.
    """
    found = manifests.config_map(name)
    if found is not None:
        return found
    beside = {
        path: texts
        for path in sorted(source.absolute().parent.iterdir())
        if path.suffix in SUFFIXES and path.is_file() and path.name != source.name
        if path.stat().st_size <= LARGEST_BYTES
        if (texts := load_file(path).config_map(name)) is not None
    }
    if len(beside) == 1:
        return beside.popitem()[1]
    where = f"{source} or a file beside it" if not beside else " and ".join(path.name for path in beside)
    raise InvalidOption(
        f'spec.code.configMap: ConfigMap "{name}" is '
        + (f"in {where}; keep one" if beside else f"not in {where}; add it there after a line `---`")
    )


def write_files(texts: dict[str, str], folder: Path) -> None:
    """The folder as a pod would see it mounted. Raises InvalidOption for a key that no ConfigMap can have."""
    for wrong in filter(None, map(key_problem, texts)):
        raise InvalidOption(f"spec.code.configMap: {wrong}")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
