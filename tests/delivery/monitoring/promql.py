"""What a PromQL expression asks for that nobody has: names of series, and labels that are not on them."""

from __future__ import annotations

from collections.abc import Mapping

import promql_parser as promql

Labels = frozenset[str]


class UnknownNameError(AssertionError):
    """An expression that names a series or a label that there is not."""


def labels_of(expression: str, series: Mapping[str, Labels]) -> Labels:
    """The labels that the result of an expression can have.

    Raises:
        UnknownNameError: no exporter has a series of that name, or it has not the label.
        ValueError: it is no PromQL.
    """
    return _Check(expression, series).labels(promql.parse(expression))


class _Check:
    def __init__(self, expression: str, series: Mapping[str, Labels]) -> None:
        self._expression = expression
        self._series = series

    def labels(self, node: promql.Expr) -> Labels:
        match node:
            case promql.VectorSelector():
                return self._selected(node)
            case promql.MatrixSelector():
                return self._selected(node.vector_selector)
            case promql.AggregateExpr():
                return self._aggregated(node)
            case promql.BinaryExpr():
                return self._joined(node)
            case promql.Call():
                return self._called(node)
            case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
                return self.labels(node.expr)
            case promql.NumberLiteral() | promql.StringLiteral():
                return frozenset()
            case _:
                raise NotImplementedError(type(node).__name__)

    def _selected(self, node: promql.VectorSelector) -> Labels:
        if node.name not in self._series:
            raise UnknownNameError(f"{self._expression}: no exporter has a series {node.name}")
        return self._having(self._series[node.name], [matcher.name for matcher in node.matchers.matchers])

    def _aggregated(self, node: promql.AggregateExpr) -> Labels:
        there = self.labels(node.expr)
        if node.modifier is None:
            return frozenset()
        self._having(there, node.modifier.labels)
        by = node.modifier.type == promql.AggModifierType.By
        return frozenset(node.modifier.labels) if by else there - set(node.modifier.labels)

    def _joined(self, node: promql.BinaryExpr) -> Labels:
        left, right = self.labels(node.lhs), self.labels(node.rhs)
        if node.modifier is not None and node.modifier.matching is not None:
            for side in (left, right):
                self._having(side, node.modifier.matching.labels)
        return left or right

    def _called(self, node: promql.Call) -> Labels:
        vectors = [one for one in node.args if not isinstance(one, promql.StringLiteral | promql.NumberLiteral)]
        there = frozenset().union(*(self.labels(one) for one in vectors))
        match node.func.name:
            case "histogram_quantile":
                return self._having(there, ["le"]) - {"le"}
            case "label_replace":
                target, _, source, _ = (one.val for one in node.args[1:])
                return self._having(there, [source]) | {target}
            case "absent" | "vector" | "time":
                return frozenset()
            case _:
                return there

    def _having(self, there: Labels, asked: list[str]) -> Labels:
        if missing := sorted(set(asked) - there):
            raise UnknownNameError(
                f"{self._expression}: no label {', '.join(missing)} beside {', '.join(sorted(there))}"
            )
        return there
