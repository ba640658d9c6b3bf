"""The evaluator process: it plays episodes with one version of the weights."""
