"""Run by ``make mutate``, with its packages."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.mutants import mutants_of, sample

MODULE = Path("module.py")
SOURCE = """
from __future__ import annotations


def oldest(versions: list[int] | None, ö: dict[str, int | None] = {}) -> int | None:
    newest: int | str = 0
    return min(versions) if versions and any(versions) else None
"""


def changed(source: str) -> set[str]:
    return {mutant.apply(source) for mutant in mutants_of(MODULE, source)}


def test_each_mutant_is_another_source_that_python_can_read() -> None:
    mutants = [*mutants_of(MODULE, SOURCE)]
    sources = changed(SOURCE)
    assert len(sources) == len(mutants)
    assert SOURCE not in sources
    for source in sources:
        compile(source, "module.py", "exec")


def test_min_and_any_become_their_opposites() -> None:
    sources = changed(SOURCE)
    assert SOURCE.replace("min(", "max(") in sources
    assert SOURCE.replace("any(", "all(") in sources


def test_annotations_are_left_alone() -> None:
    lines = {
        line for source in changed(SOURCE) for line in source.splitlines() if line.startswith(("def", "    newest"))
    }
    assert {line for line in lines if line.startswith("def")} == {SOURCE.splitlines()[4]}
    assert all(line.startswith("    newest: int | str = ") for line in lines if "newest" in line)


def test_a_seed_draws_the_same_sample_and_another_place_each_time(tmp_path: Path) -> None:
    (tmp_path / MODULE).write_text("\n".join(f"a{n} = {n} + {n} < {n}" for n in range(50)))
    first, again, other = (sample([MODULE], tmp_path, 20, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len({(mutant.line, mutant.column) for mutant in first}) == 20
