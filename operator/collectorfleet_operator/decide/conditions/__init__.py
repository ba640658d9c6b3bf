"""One file for each condition that only the operator can tell."""
