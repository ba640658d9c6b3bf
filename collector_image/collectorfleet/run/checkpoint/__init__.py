"""Write checkpoints to disk, and read the checkpoint that a restarted driver resumes from."""
