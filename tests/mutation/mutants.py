"""The changes that are possible in a package, and a sample of them."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parso
from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator

Position = tuple[int, int]
# What computes the oldest version, the least bound or whether all are ready is one letter away from its opposite.
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}


class ReplaceByOpposite(Operator):  # type: ignore[misc]
    """Calls ``max`` instead of ``min``, ``all`` instead of ``any``, and the other way round."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        if node.type == "name" and node.value in OPPOSITES:
            called = node.get_next_sibling()
            if called is not None and called.type == "trailer" and called.children[0] == "(":
                yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        return parso.python.tree.Name(OPPOSITES[node.value], node.start_pos, node.prefix)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("min(a)", "max(a)"),)


@dataclass(frozen=True)
class Mutant:
    """One change: the ``occurrence``-th place of a module at which the operator can change something."""

    module: Path
    line: int
    column: int
    operator: str
    occurrence: int

    def apply(self, source: str) -> str:
        """The source with the change in it."""
        changed = mutate_code(source, _operators()[self.operator], self.occurrence)
        assert changed is not None, self
        return str(changed)

    def __str__(self) -> str:
        return f"{self.module}:{self.line}:{self.column} {self.operator}"


def sample(modules: Sequence[Path], checkout: Path, count: int, seed: int) -> list[Mutant]:
    """Up to ``count`` mutants, each in another place: an operator with many variants is not drawn more often."""
    places: dict[tuple[Path, int, int], list[Mutant]] = defaultdict(list)
    for module in modules:
        for mutant in mutants_of(module, (checkout / module).read_text()):
            places[module, mutant.line, mutant.column].append(mutant)
    draw = random.Random(seed)
    chosen = draw.sample(sorted(places), min(count, len(places)))
    return [draw.choice(places[place]) for place in chosen]


def mutants_of(module: Path, source: str) -> Iterator[Mutant]:
    """All mutants of one module but those in annotations, which nothing evaluates."""
    nodes = [*ast_nodes(get_ast(source))]
    annotations = _annotations(source)
    for name, operator in _operators().items():
        positions = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(positions):
            if not any(begin <= start < end for begin, end in annotations):
                yield Mutant(module, *start, name, occurrence)


def _operators() -> dict[str, Operator]:
    classes = {name.partition("/")[2]: plugins.get_operator(name) for name in plugins.operator_names()}
    return {
        "ReplaceByOpposite": ReplaceByOpposite(),
        **{name: made() for name, made in classes.items() if not made.arguments() and name != "NoOp"},
    }


def _annotations(source: str) -> list[tuple[Position, Position]]:
    """From where to where annotations go; columns count characters."""
    lines = source.splitlines()
    found = []
    for node in ast.walk(ast.parse(source)):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                begin = annotation.lineno, _characters(lines[annotation.lineno - 1], annotation.col_offset)
                assert annotation.end_lineno is not None
                assert annotation.end_col_offset is not None
                last = lines[annotation.end_lineno - 1]
                found.append((begin, (annotation.end_lineno, _characters(last, annotation.end_col_offset))))
    return found


def _characters(line: str, octets: int) -> int:
    return len(line.encode()[:octets].decode())
