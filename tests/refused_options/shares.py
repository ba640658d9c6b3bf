"""Of how a batch is shared out."""

from __future__ import annotations

import pytest

NEEDS_SYNC = "with sync=False, each batch comes from one collector; use sync=True, or leave {} out"
FIRST = {"first_shares": 1, "max_staleness": 1}

REFUSED = [
    pytest.param(
        ("staleness-in-async", "max_staleness"),
        {"sync": False, "max_staleness": 0},
        "0 needs sync=True, because only one collector would work with sync=False; use sync=True, or at least 1",
        id="on-policy in Async",
    ),
    *(
        pytest.param((rule, name), {"sync": False, name: value}, NEEDS_SYNC.format(name), id=f"{name} in Async")
        for rule, name, value in (
            ("shares-in-sync", "shares", 2),
            ("stragglers-in-sync", "first_shares", 1),
            ("stragglers-in-sync", "preemptive_threshold", 0.5),
        )
    ),
    pytest.param(
        ("exact-staleness-in-sync", "exact_staleness"),
        {"sync": False, "exact_staleness": True},
        "with sync=False, the version of a batch is not fixed when the batch is requested; use sync=True, or leave "
        "exact_staleness out and set max_staleness",
        id="exact staleness in Async",
    ),
    pytest.param(
        ("first-shares-below-collectors", "first_shares"),
        {"num_collectors": 1, "first_shares": 1, "max_staleness": 1},
        "1 is out of range for 1 collector; leave first_shares out, or use 2 or more collectors",
        id="first shares of one collector",
    ),
    pytest.param(
        ("first-shares-below-collectors", "first_shares"),
        {"first_shares": 2, "max_staleness": 1},
        "2 is out of range for 2 collectors; use 1 to 1",
        id="all shares first",
    ),
    pytest.param(
        ("first-shares-below-collectors", "first_shares"),
        {"first_shares": 0, "max_staleness": 1},
        "0 is out of range for 2 collectors; use 1 to 1",
        id="no share first",
    ),
    pytest.param(
        ("first-shares-need-staleness", "first_shares"),
        {"first_shares": 1},
        "1 leaves 1 share to the next batch, which has newer weights; set max_staleness to 1 or more",
        id="late shares on-policy",
    ),
    *(
        pytest.param(
            (rule, "first_shares"),
            {**FIRST, name: value},
            f"cannot be used together with '{name}'; pass one of the two",
            id=f"late, {name}",
        )
        for rule, name, value in (
            ("first-shares-or-shares", "shares", 2),
            ("exact-staleness-or-first-shares", "exact_staleness", True),
            ("one-way-with-stragglers", "preemptive_threshold", 0.5),
        )
    ),
    pytest.param(
        ("batch-divides-into-shares", "frames_per_batch"),
        {"frames_per_batch": 20, "envs_per_collector": 3},
        "20 cannot be divided into 2 shares of whole steps of 3 environments; use a multiple of 6",
        id="parts of a step",
    ),
    pytest.param(
        ("threshold-between-0-and-1", "preemptive_threshold"),
        {"preemptive_threshold": 1.0},
        "1 is out of range; use a fraction between 0 and 1, such as 0.8",
        id="a threshold of all",
    ),
    pytest.param(
        ("threshold-between-0-and-1", "preemptive_threshold"),
        {"preemptive_threshold": 0.0},
        "0 is out of range; use a fraction between 0 and 1, such as 0.8",
        id="a threshold of none",
    ),
]
