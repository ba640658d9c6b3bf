"""Generates the CRD, the reference page and the schema of the chart's values from the models."""
