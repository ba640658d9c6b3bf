"""Every command block of the documentation is run by a test, or says above it why it is not."""

from __future__ import annotations

import re

from tests.delivery.pages.blocks import blocks
from tests.delivery.pages.walks import WALKS

MARK = re.compile(r"(not run|run by make [-a-z]+): \w.*")
STEPS = [step for walk in WALKS.values() for step in walk]


def test_every_block_of_commands_is_run_or_says_why_not() -> None:
    found = list(blocks())
    assert found
    for block in found:
        steps = [step for step in STEPS if step.is_of(block)]
        if block.mark:
            assert MARK.fullmatch(block.mark), f"{block.page}: {block.mark}"
            assert not steps, f"{block.page}: marked `{block.mark}`, and run all the same"
        else:
            assert steps, f"{block.page}: no walk runs, and no mark is above\n{block.text}"


def test_every_step_of_a_walk_is_one_block() -> None:
    found = list(blocks())
    for step in STEPS:
        assert len([block for block in found if step.is_of(block)]) == 1, step
