"""Mutation testing: how many small changes of a package do the unit tests beside it notice?

``make mutate PACKAGE=collectorfleet_api.packing`` changes a copy of the package 100 times, each time in one place, and
runs the unit tests that mirror the changed module. A change that every test passes has survived: a test is missing, or
the change is equivalent. The same seed draws the same changes of the same code.
"""
