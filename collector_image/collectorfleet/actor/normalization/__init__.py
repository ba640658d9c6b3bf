"""Statistics that the environment of a collector keeps: found, read, loaded, or refused by name."""
