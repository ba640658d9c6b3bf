"""What TorchRL's trainers log is reported."""

from __future__ import annotations

import torch

from collectorfleet.run.handle import Run


def test_scalars_are_reported_and_the_last_one_counts() -> None:
    run = Run()
    logger = run.logger()
    logger.log_scalar("loss", torch.tensor(2.0), step=10)
    logger.log_metrics({"loss": torch.tensor(1.0), "steps": 3}, step=20)
    assert run.metrics == {"loss": 1.0, "steps": 3.0}


def test_what_a_report_has_no_place_for_is_left_out() -> None:
    run = Run()
    logger = run.logger()
    logger.log_hparams({"lr": 0.1})
    logger.log_video("game", torch.zeros(1))
    logger.log_histogram("weights", [1.0])
    assert run.metrics == {}
