"""Define what all tests share: the choice of tests to run, and one local Ray whose workers import torch once."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.util import Finalize
from pathlib import Path

import pytest
from hypothesis import settings

from tests import quick
from tests.cluster import binaries
from tests.patience import waits

LEFT_OUT = pytest.StashKey[int]()
TEMPORARY = pytest.StashKey[str]()
FAILED = pytest.StashKey[bool]()

# Tests that are collected leave few objects that could be garbage. pytest_collection_finish starts collections again.
gc.disable()
# On shared cores, the threads of an OpenMP team wait for each other, and so for every other test run.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# With few objects, an API server collects garbage so often that collections cost a sixth of its CPU time in a test.
os.environ.setdefault("GOGC", "400")
# The fork server imports torch once for all processes of TorchRL's and Gymnasium's environments.
multiprocessing.set_start_method("forkserver")
multiprocessing.set_forkserver_preload(["torchrl.envs"])

# The defaults of Hypothesis without its deadline, because every test is slow on a busy machine.
settings.register_profile("without a clock", settings(), deadline=None)
# `make test-examples` tries ten times as many examples. `thorough` tries a hundred times as many: minutes for a test.
settings.register_profile("nightly", settings(), deadline=None, max_examples=1_000)
settings.register_profile("thorough", settings(), deadline=None, max_examples=10_000)
settings.load_profile("without a clock")


def pytest_addoption(parser: pytest.Parser) -> None:
    text = (
        "how many manifests with something odd `validate` and a real API server are compared on, and a third of the "
        "combinations of options (default: 200)"
    )
    parser.addoption("--odd-manifests", type=int, default=200, metavar="N", help=text)
    text = "run the tests that are marked as a variant of another, too; or only those (default: only the others)"
    parser.addoption("--variants", choices=("too", "only"), help=text)
    text = "leave out the slow tests, as `make check` does; `python -m tests.quick` prints them"
    parser.addoption("--quick", action="store_true", help=text)

    text = "print the waits that took more of their timeouts than tests/patience.py allows"
    parser.addoption("--waits", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "variant_of(test): shows in another way what ``test`` shows; `make test-variants`"
    )
    config.stash[TEMPORARY] = _use_temporary_folder(config)


def _use_temporary_folder(config: pytest.Config) -> str:
    """Make a folder for the temporary files of all processes, because processes that tests kill remove none.

    Return its path, which is short, because Ray makes sockets in the folder. The folders of ``tmp_path``, which pytest
    keeps, and torch's cache of compiled code stay outside.
    """
    outside = tempfile.gettempdir()
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", outside)
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"{outside}/torchinductor_{os.getuid()}")
    folder = os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="cf-", dir="/tmp")

    def remove() -> None:
        if not config.stash.get(FAILED, False):
            shutil.rmtree(folder, ignore_errors=True)

    # multiprocessing removes its own folder, which is inside, with priority -100.
    Finalize(None, remove, exitpriority=-200)
    return folder


def pytest_unconfigure() -> None:
    # Otherwise, extension modules report their frozen objects as leaks at the end of the process.
    gc.unfreeze()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[FAILED] = exitstatus == pytest.ExitCode.TESTS_FAILED


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out slow tests with ``--quick``, and variants unless the command requests or names them."""
    if config.getoption("--quick"):
        _leave_out([item for item in items if getattr(item, "originalname", None) in quick.SLOW], config, items)
    wanted = config.getoption("--variants")
    if wanted == "too" or (wanted is None and any("::" in word for word in config.args)):
        return
    others = [item for item in items if (item.get_closest_marker("variant_of") is None) == (wanted == "only")]
    _leave_out(others, config, items)
    config.stash[LEFT_OUT] = len(others)


def _leave_out(others: list[pytest.Item], config: pytest.Config, items: list[pytest.Item]) -> None:
    if others:
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.stash.get(FAILED, False):
        terminalreporter.write_line(f"temporary files of the failed tests: {config.stash[TEMPORARY]}")
    number = config.stash.get(LEFT_OUT, 0)
    if number and config.getoption("--variants") is None:
        terminalreporter.write_line(f"left out {number} variants of other tests: `make test-variants` runs them")
    if config.getoption("--waits"):
        terminalreporter.write_line(waits.summary())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepare the tests: build the binaries of a real Kubernetes, and exempt the objects of imports from collections.

    So the time of the first test does not include the builds.
    """
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    if wanted & {"control_plane", "cluster"} and not session.config.option.collectonly and not binaries.missing():
        binaries.build_all()
    # Imports leave 400,000 objects. If each full collection visited them, unit tests would need 20 % more CPU time.
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """Run a Ray with 4 CPUs until the end of the session. Its workers are forks (tests/forks)."""
    import ray

    from tests.forks import ray_workers

    ray_workers.use()
    # Paths of Ray's sockets have at most 107 bytes. Paths in pytest's folders are longer.
    folder = tempfile.mkdtemp(prefix="cf-ray-")
    # Ray's workers inherit the variable, so they import the project and the tests' environments from the same folders.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ray_workers.ENV_WITH_DASHBOARD_AGENT, "")
        ray.init(
            _temp_dir=folder,
            num_cpus=4,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=300 * 2**20,
        )
    try:
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """Yield the path of a file for which rollouts wait. The end of the test creates it, so that no rollout stays."""
    path = tmp_path / "gate"
    yield path
    path.touch()
