"""What the imports of a collector's process leave."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from collectorfleet.imports import without_garbage_collection


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


def test_nothing_is_collected_meanwhile_and_then_again() -> None:
    def fail() -> None:
        with without_garbage_collection():
            assert not gc.isenabled()
            raise ImportError

    with pytest.raises(ImportError):
        fail()
    assert gc.isenabled()


def test_what_is_there_by_then_is_gone_through_no_more() -> None:
    with without_garbage_collection():
        imported = [[]]
    assert not any(one is imported for one in gc.get_objects())


def test_a_program_that_collects_nothing_goes_on_so() -> None:
    gc.disable()
    with without_garbage_collection():
        pass
    assert not gc.isenabled()


def test_a_worker_of_ray_has_what_collectors_need_once_it_has_imported_one_module() -> None:
    program = (
        "import gc, sys, collectorfleet.preload\n"
        "assert {'torch', 'torchrl.collectors'} <= set(sys.modules)\n"
        # That asks for CUDA at import, before the launcher has said who may see which GPU.
        "assert 'torchrl.collectors.distributed' not in sys.modules\n"
        "assert gc.isenabled() and gc.get_freeze_count() > 100_000\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
