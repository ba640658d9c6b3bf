"""Find, read and load the statistics of a collector's environment, and reject unsupported statistics by name."""
