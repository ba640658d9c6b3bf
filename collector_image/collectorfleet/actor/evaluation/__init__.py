"""What an evaluator does in its process: it plays episodes with one version of the weights."""
