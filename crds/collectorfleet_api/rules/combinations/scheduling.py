"""Rules for the fields of a toleration. The API server has the same rules for pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.v1alpha1.scheduling import TaintEffect, Toleration, TolerationOperator
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_EACH: Final = "!has(self.tolerations) || self.tolerations.all"


def _of_each(holds: Callable[[Toleration], bool]) -> Callable[[CollectorFleetSpec], bool]:
    return lambda spec: all(map(holds, spec.tolerations))


SCHEDULING: Final = (
    Combination(
        "toleration-without-a-key-exists",
        "tolerations",
        _of_each(lambda one: one.key is not None or one.operator is TolerationOperator.EXISTS),
        f"{_EACH}(one, has(one.key) || one.operator == 'Exists')",
        'a toleration without a key matches all taints and needs "operator: Exists"; set operator to Exists, or set a '
        "key",
    ),
    Combination(
        "toleration-of-any-value-has-none",
        "tolerations",
        _of_each(lambda one: one.operator is TolerationOperator.EQUAL or not one.value),
        f"{_EACH}(one, one.operator == 'Equal' || !has(one.value) || one.value == '')",
        '"operator: Exists" takes no value; leave value out, or set operator to Equal',
    ),
    Combination(
        "toleration-seconds-of-no-execute",
        "tolerations",
        _of_each(lambda one: one.toleration_seconds is None or one.effect is TaintEffect.NO_EXECUTE),
        f"{_EACH}(one, !has(one.tolerationSeconds) || (has(one.effect) && one.effect == 'NoExecute'))",
        "tolerationSeconds applies only to effect NoExecute; set effect to NoExecute, or leave tolerationSeconds out",
    ),
)
