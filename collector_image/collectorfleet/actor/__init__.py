"""The collector's process: build, roll out, load weights, encode. Knows no launcher, and no Ray."""
