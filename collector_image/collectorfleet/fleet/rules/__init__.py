"""Rules that the options of a fleet have to meet."""
