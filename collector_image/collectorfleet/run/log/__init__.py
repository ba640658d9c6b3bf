"""Send the metrics of a run to TensorBoard and other loggers."""
