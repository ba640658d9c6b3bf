"""Run the learners of ``spec.learners``: start them, save them in checkpoints, and report them in the status."""
