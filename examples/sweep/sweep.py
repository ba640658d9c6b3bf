"""Search a learning rate and a number of epochs for CartPole: the pair that needs the fewest frames.

    python examples/sweep/sweep.py --trials 20 --parallel 4     on the cluster of your kubeconfig
    python examples/sweep/sweep.py --trials 20 --local          on this machine, one trial after the other

Install optuna. Also install 'collectorfleet[client]' for the cluster, or 'collectorfleet[runtime]' for this machine.
Optuna proposes the values, and each trial is a fleet. The study is in FOLDER/study.db. If you run the same command
again, the sweep continues. Trials that were running continue, too, with the same numbers.
"""

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import optuna
import yaml
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState

EXAMPLE = Path(__file__).parents[1] / "cartpole.yaml"
SPACE = {"lr": FloatDistribution(3e-4, 1e-2, log=True), "epochs": IntDistribution(4, 12)}
STOP_SECONDS = 60


class FolderInUse(Exception):
    """The folder of a trial contains the run of another trial."""


class TrialFailed(Exception):
    """A trial has no result: its fleet failed, or took too long."""


def sweep(study, place, total, parallel, hours):
    """Run trials until `total` have ended, `parallel` at a time, each for at most `hours`."""
    while trials := next_trials(study, total, parallel):
        ends = {}
        with ExitStack() as stack:
            # The stack runs every callback, even after an error or Ctrl-C, and even if another callback fails.
            for trial in trials:
                stack.callback(place.stop, trial)
                place.start(trial)
                ends[trial.number] = time.monotonic() + 3600 * hours
                print(f"trial {trial.number}: started with {trial.params}", flush=True)
            for trial in trials:
                # Trials run at the same time, so the wait for one trial is part of the next trial's time.
                tell(study, place, trial, max(0.0, ends[trial.number] - time.monotonic()))
                place.stop(trial)


def next_trials(study, total, parallel):
    """Return the trials that an interrupted sweep left running, and new ones up to `parallel`."""
    left = study.get_trials(states=[TrialState.RUNNING])
    for trial in left:
        if trial.params.keys() != SPACE.keys():  # the sweep was killed before all values were stored
            study.tell(trial.number, state=TrialState.FAIL)
    left = [trial for trial in left if trial.params.keys() == SPACE.keys()]
    ended = len(study.trials) - len(left)
    new = min(parallel, total - ended) - len(left)
    return [*left, *(study.ask(SPACE) for _ in range(new))][:parallel]


def tell(study, place, trial, seconds):
    """Wait at most `seconds` for the result of a trial, and store it."""
    try:
        frames = place.wait(trial, seconds)
    except TrialFailed as error:
        study.tell(trial.number, state=TrialState.FAIL)
        print(f"trial {trial.number}: failed: {error}", flush=True)
    else:
        study.tell(trial.number, frames)
        print(f"trial {trial.number}: {frames:,} frames", flush=True)


def manifest(name, params, args):
    """Return the fleet with other arguments, and the ConfigMap with its code."""
    fleet, code = yaml.safe_load_all(args.fleet.read_text())
    fleet["metadata"]["name"] = name
    fleet["spec"]["driver"]["train"]["kwargs"] = {"goal": args.goal, **params}
    fleet["spec"]["collection"]["totalFrames"] = args.frames
    return fleet, code


class Cluster:
    """Trials are fleets on a cluster. If the cluster has no room for a fleet's pods, the pods wait."""

    def __init__(self, args):
        from collectorfleet.client import Fleets

        self.args = args
        self.fleets = Fleets(namespace=args.namespace)

    def name(self, trial):
        return f"{self.args.name}-{trial.number}"

    def start(self, trial):
        # If a killed sweep left this fleet, its manifest is the same, so the call changes nothing.
        self.fleets.submit(*manifest(self.name(trial), trial.params, self.args))

    def wait(self, trial, seconds):
        from collectorfleet.client import FleetStalled

        try:
            done = self.fleets.wait(self.name(trial), "Completed", timeout=seconds)
        except FleetStalled as error:
            raise TrialFailed(error) from error
        except TimeoutError as error:
            raise TrialFailed(f"no result within {self.args.hours:g} h: {error}") from error
        return done.status.progress.frames_delivered

    def stop(self, trial):
        from collectorfleet.client import FleetNotFound

        # An interruption may come before the fleet is submitted, or after the fleet is deleted.
        with suppress(FleetNotFound):
            self.fleets.delete(self.name(trial))


def check_same_trial(trial, folder, file):
    """Raise FolderInUse if the run in `folder` was trained with other values, for example by another study."""
    if not folder.exists():
        return
    if not file.exists():
        raise FolderInUse(f"{folder} has a run, and its values are unknown without {file}; move the folder away")
    fleet, _ = yaml.safe_load_all(file.read_text())
    kwargs = fleet["spec"]["driver"]["train"]["kwargs"]
    trained = {name: value for name, value in kwargs.items() if name != "goal"}
    if trained != trial.params:
        raise FolderInUse(
            f"{folder} has a run with {trained}, and trial {trial.number} has {trial.params}; "
            "move the folder away, or choose another --name"
        )


class Local:
    """Trials are runs on this machine. Each continues from the checkpoints in its folder."""

    def __init__(self, args):
        self.args = args
        self.runs = {}

    def folder(self, trial):
        return self.args.folder / self.args.name / f"trial-{trial.number}"

    def start(self, trial):
        folder = self.folder(trial)
        file = folder.with_suffix(".yaml")
        check_same_trial(trial, folder, file)
        folder.parent.mkdir(exist_ok=True)
        new = folder.with_suffix(".new")  # renamed, so that an interruption leaves no partial file
        new.write_text(yaml.safe_dump_all(manifest(self.args.name, trial.params, self.args)))
        new.replace(file)
        run = [
            sys.executable,
            "-m",
            "collectorfleet.cli",
            "run",
            file,
            "-o",
            "json",
            "--resume",
            "--checkpoint",
            folder,
        ]
        # On Linux, setpriv ends the run if the sweep is killed.
        guard = ["setpriv", "--pdeathsig=TERM"] if shutil.which("setpriv") else []
        with folder.with_suffix(".log").open("w") as log:
            # The run has its own process group, so Ctrl-C reaches only the sweep. The sweep then stops the run.
            self.runs[trial.number] = subprocess.Popen(
                [*guard, *run], stdout=subprocess.PIPE, stderr=log, text=True, process_group=0
            )

    def wait(self, trial, seconds):
        run = self.runs[trial.number]
        try:
            status, _ = run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise TrialFailed(f"no result within {self.args.hours:g} h") from error
        if run.returncode:
            said = self.folder(trial).with_suffix(".log").read_text().splitlines()
            causes = [line for line in said if line.startswith("error: ")]
            raise TrialFailed(causes[0] if causes else f"exit code {run.returncode}")
        return json.loads(status)["progress"]["framesDelivered"]

    def stop(self, trial):
        run = self.runs.pop(trial.number, None)
        if run is None:
            return
        run.terminate()
        try:
            run.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20, help="of the whole study, with those of earlier calls")
    parser.add_argument("--parallel", type=int, default=4, help="fleets at a time on a cluster")
    parser.add_argument("--fleet", type=Path, default=EXAMPLE, help="manifest of the fleet; default: the example")
    parser.add_argument("--local", action="store_true", help="run the trials on this machine")
    parser.add_argument("--folder", type=Path, default=Path("sweep"), help="of the study, and of local runs")
    parser.add_argument("--name", default="cartpole-sweep", help="of the study, and what names of fleets begin with")
    parser.add_argument("--namespace", help="of the fleets; default: the namespace of the kubeconfig's context")
    parser.add_argument("--goal", type=float, default=450, help="mean reward at which a trial is done")
    parser.add_argument("--frames", type=int, default=1_000_000, help="after which a trial without the goal fails")
    parser.add_argument(
        "--hours", type=float, default=1.0, help="after which a trial fails; each call of the script counts anew"
    )
    return parser.parse_args()


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # like Ctrl-C: first stop the running trials
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    args.folder.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        study_name=args.name,
        storage=f"sqlite:///{args.folder / 'study.db'}",
        sampler=optuna.samplers.TPESampler(constant_liar=True),  # for trials that run at the same time
        load_if_exists=True,
    )
    place, parallel = (Local(args), 1) if args.local else (Cluster(args), args.parallel)
    try:
        sweep(study, place, args.trials, parallel, args.hours)
    except FolderInUse as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print("interrupted: run the same command again to continue", file=sys.stderr)
        sys.exit(130)
    if not study.get_trials(states=[TrialState.COMPLETE]):
        sys.exit(f"none of {len(study.trials)} trials reached the goal")
    best = study.best_trial
    print(f"best: trial {best.number} with {best.params}, {best.value:,.0f} frames")


if __name__ == "__main__":
    main()
