"""The rules for the options of a fleet."""
