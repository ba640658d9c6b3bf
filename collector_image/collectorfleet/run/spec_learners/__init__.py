"""The learners of a run: made as the manifest says, kept in its checkpoints, told in its status."""
