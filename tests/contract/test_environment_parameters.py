"""Parameters of environments, over every transport."""

from __future__ import annotations

from dataclasses import replace

from tests import parameterized_envs as levels
from tests.contract.harness import C0, PLAIN, Harness, batch_of

from collectorfleet.codec.frames import PARAMETERS_KEY
from collectorfleet.messages import Answer, Parameters
from collectorfleet.parameters import EnvironmentParameters


def test_parameters_reach_the_environment_and_the_answer_says_which_each_frame_has(harness: Harness) -> None:
    harness.config = replace(
        PLAIN, create_env=levels.make_method, policy=None, parameters=EnvironmentParameters(), frames_per_request=8
    )
    harness.start()

    def ask(parameters: Parameters | None) -> Answer:
        harness.ask(C0, parameters=parameters)
        return harness.hear(Answer, C0)

    before = ask(None)
    assert (before.payload.parameters, before.parameters) == (0, 0)
    changing = ask(Parameters(7, {"level": 70.0}))
    assert changing.payload.parameters is None
    versions = batch_of(changing)[PARAMETERS_KEY]
    assert set(versions.tolist()) == {0, 7}
    assert (batch_of(changing)["observation"][:, 0] == 10 * versions).all()
    after = ask(None)
    assert (after.payload.parameters, after.parameters) == (7, 7)
