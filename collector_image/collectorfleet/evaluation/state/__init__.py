"""The state of the evaluation: versions, evaluators, episodes and results. No threads, no clock, no torch."""
