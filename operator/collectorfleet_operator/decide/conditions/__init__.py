"""The conditions that only the operator can observe, one file for each."""
