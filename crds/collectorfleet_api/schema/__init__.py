"""What is generated from the models: the CRD and the reference page."""
