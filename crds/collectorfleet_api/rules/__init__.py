"""Rules about the fields of a fleet, in Python and in CEL for the API server. No side effects."""
