"""The state of the evaluation: versions, evaluators, episodes and results. Pure: no thread, no clock, no torch."""
