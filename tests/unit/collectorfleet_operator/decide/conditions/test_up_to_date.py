"""``UpToDate``: what runs, what the changed spec waits for, and what to do."""

from __future__ import annotations

from typing import Any

from tests.unit.collectorfleet_operator.world import World, running, started, told

from collectorfleet_operator.objects import uid_of

ROLLING = {"spec.updateStrategy": {"type": "RollingUpdate"}}
CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}
FAST = {"spec.workers.template": {"spec": {"nodeSelector": {"disk": "fast"}}}}
OTHER_POLICY = {"spec.policy": {"factory": "my_policy:other"}}
TOO_MANY_GPUS = {"spec.workers.gpu.perPod": 2, "spec.collectors.resources.gpu": 3.0}


def changed(strategy: dict[str, Any], changes: dict[str, Any]) -> World:
    world = running(strategy)
    world.look()
    world.edit({**strategy, **changes})
    return world


def test_a_fleet_runs_its_spec_once_its_driver_has_a_job() -> None:
    text = "generation 1 of the spec does not run yet"
    assert told(World().look(), "UpToDate") == ("False", "Pending", text)
    assert told(started().look(), "UpToDate") == ("True", "UpToDate", "the fleet runs generation 1 of the spec")


def test_an_edit_that_waits_names_both_generations_and_the_job_to_delete() -> None:
    text = (
        "the driver runs generation 1 of the spec, and generation 2 waits (spec.updateStrategy is OnDelete): "
        "delete Job cheetah-driver to restart with the changed spec"
    )
    assert told(changed({}, OTHER_POLICY).look(), "UpToDate") == ("False", "RestartNeeded", text)


def test_an_edit_that_would_lose_what_was_learned_says_why_it_waits() -> None:
    text = (
        "the driver runs generation 1 of the spec; a restart with generation 2 would lose the progress of the "
        "training, because the spec that runs has no driver.checkpoint; to restart anyway, delete Job cheetah-driver"
    )
    assert told(changed(ROLLING, OTHER_POLICY).look(), "UpToDate") == ("False", "CheckpointNeeded", text)


def test_an_edit_that_is_rolled_out_says_when_it_runs() -> None:
    text = (
        "the driver runs generation 1 of the spec; this driver ends after its current batch, and the next driver runs "
        "generation 2"
    )
    world = changed({**ROLLING, **CHECKPOINT}, OTHER_POLICY)
    assert told(world.look(), "UpToDate") == ("False", "Updating", text)


def test_worker_pods_of_an_old_template_are_counted_until_the_last_is_replaced() -> None:
    world = changed(ROLLING, FAST)
    text = "worker pods are about to be replaced by pods of generation 2"
    assert told(world.look(), "UpToDate") == ("False", "Updating", text)
    world.carry_out()
    text = "4 of 4 worker pods still have to be replaced by pods of the changed template"
    assert told(world.look(), "UpToDate") == ("False", "Updating", text)
    world.collect(*world.pods("worker")[:3])
    world.make_pods()
    assert told(world.look(), "UpToDate")[2].startswith("1 of 4 worker pods still ")
    old = {uid_of(pod) for pod in world.pods("worker")[:1]}
    world.collect(*(pod for pod in world.pods("worker") if uid_of(pod) in old))
    world.make_pods()
    assert told(world.look(), "UpToDate")[:2] == ("True", "UpToDate")


def test_a_job_that_delivered_nothing_is_replaced_and_the_reason_is_told() -> None:
    world = started()
    world.edit(OTHER_POLICY)
    value, reason, message = told(world.look(), "UpToDate")
    assert (value, reason) == ("False", "Updating")
    assert message.startswith("Job cheetah-driver is replaced: ")


def test_an_invalid_edit_leaves_the_driver_with_the_generation_that_it_runs() -> None:
    world = changed({}, TOO_MANY_GPUS)
    problems = "; ".join(world.seen().problems)
    assert problems
    text = f"{problems}; the driver continues with generation 1 of the spec"
    assert told(world.look(), "UpToDate") == ("False", "InvalidSpec", text)


def test_an_invalid_spec_that_never_ran_says_its_problem_alone() -> None:
    world = World(TOO_MANY_GPUS)
    assert told(world.look(), "UpToDate") == ("False", "InvalidSpec", "; ".join(world.seen().problems))


def test_a_suspended_fleet_runs_no_generation() -> None:
    text = "generation 1 of the spec does not run, because the fleet is suspended"
    assert told(World({"spec.suspend": True}).look(), "UpToDate") == ("False", "Suspended", text)


def test_a_completed_fleet_ran_its_spec_and_an_edit_after_the_end_is_not_run() -> None:
    world = running()
    world.complete()
    assert told(world.look(), "UpToDate") == ("True", "UpToDate", "the fleet runs generation 1 of the spec")
    world.edit(OTHER_POLICY)
    text = "generation 2 of the spec does not run, because the fleet completed"
    assert told(world.look(), "UpToDate") == ("False", "Completed", text)
    world.edit(TOO_MANY_GPUS)
    problems = "; ".join(world.seen().problems)
    text = f"generation 3 of the spec does not run, because the fleet completed; {problems}"
    assert told(world.look(), "UpToDate")[2] == text


def test_an_edit_after_a_job_was_removed_by_its_ttl_is_not_run() -> None:
    world = running()
    world.complete()
    world.look()
    world.carry_out()
    world.collect(*(one for role in ("driver", "head", "worker") for one in world.pods(role)))
    world.look()
    world.edit(OTHER_POLICY)
    assert told(world.look(), "UpToDate")[:2] == ("False", "Completed")
