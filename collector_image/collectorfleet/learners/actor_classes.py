"""Make the classes of Ray actors from the user's classes."""

from __future__ import annotations

from typing import Any

import ray

from collectorfleet.learners.options import LearnerOptions
from collectorfleet.learners.returning import returning


class ActorClasses:
    """The actor classes of learner shards. They are cached, because Ray's head never frees a class."""

    def __init__(self, options: LearnerOptions) -> None:
        self._options = options
        self._classes: dict[type, Any] = {}

    def of(self, user_class: type) -> Any:
        """Return ``user_class`` as a class of Ray actors. Raise InvalidOption if a policy's class lacks a method."""
        if user_class not in self._classes:
            if user_class is not self._options.replay_class:
                self._options.check_policy_class(user_class)
            # Turn off Ray's record of each call, because only Ray's dashboard reads these records.
            unrecorded: Any = {"enable_task_events": False}
            self._classes[user_class] = ray.remote(**unrecorded)(returning(user_class))
        return self._classes[user_class]
