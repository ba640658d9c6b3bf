"""The evaluator process. It runs episodes with one version of the weights."""
