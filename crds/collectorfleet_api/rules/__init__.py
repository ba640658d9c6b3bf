"""What excludes what in a fleet, as sentences: for people as Python, for the API server as CEL. Pure."""
