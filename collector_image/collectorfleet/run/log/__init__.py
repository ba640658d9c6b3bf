"""The numbers of a run on their way to TensorBoard and other loggers."""
