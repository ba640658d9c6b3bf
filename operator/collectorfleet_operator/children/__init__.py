"""The manifests of a fleet's children, with one builder for each child. Pure: builders send nothing."""
