"""TensorBoard's files on a real volume of 1 MB, which is full for a while: the run goes on, and logs again later."""

from __future__ import annotations

from pathlib import Path

from tests.unit.collectorfleet.run.volume import on_a_volume_of_1_mb

PROGRAM = """
import logging, sys, threading
from pathlib import Path
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from collectorfleet.run.log import loggers
from collectorfleet.run.log.run_log import RunLog
from collectorfleet_api.v1alpha1 import DriverReport

logging.basicConfig(format="%(message)s", stream=sys.stdout, level=logging.INFO)
logging.getLogger("tensorboard").setLevel(logging.ERROR)
threading.excepthook = lambda _: None
loggers._FLUSH_SECONDS = 0
volume = Path(sys.argv[1])
board = loggers.TensorBoard(volume / "tb")
frames = 0

def log_until(log, done):
    global frames
    while not done():
        frames += 1
        log.add({"reward": 1.0}, frames)
        threading.Event().wait(0.01)  # as a training function takes time

def is_said(word):
    return lambda: word in " ".join(said)

said = []
class Said(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())
logging.getLogger().addHandler(Said())

with RunLog({"driver.log.tensorboard": board}, DriverReport, every_seconds=3600) as log:
    log_until(log, lambda: any((volume / "tb").glob("events*")))
    filler = (volume / "filler").open("wb", buffering=0)
    try:
        while True:
            filler.write(bytes(4096))
    except OSError:
        pass
    log_until(log, is_said("No space left"))
    (volume / "filler").unlink()
    filler.close()
    log_until(log, is_said("again"))
    last = frames + 1
    log_until(log, lambda: frames > last)
events = EventAccumulator(str(volume / "tb"))
events.Reload()
print("newest", events.Scalars("reward")[-1].step >= last)
"""


def test_tensorboard_on_a_full_volume_costs_numbers_is_said_in_a_sentence_and_goes_on_once_there_is_room(
    tmp_path: Path,
) -> None:
    done = on_a_volume_of_1_mb(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stderr
    full, again, newest = done.stdout.splitlines()
    assert full.startswith("driver.log.tensorboard: OSError: [Errno 28] No space left on device (")
    assert f" of 1,048,576 bytes left): '{tmp_path}/tb" in full
    assert full.endswith("'; make room on the volume; the run continues without these numbers")
    assert again == "driver.log.tensorboard accepts numbers again"
    assert newest == "newest True"
