"""Run the learners of ``spec.learners``: start them, keep them in checkpoints, and report them in the status."""
