"""Reads manifests in YAML as kubectl does, and finds the line of each problem."""
