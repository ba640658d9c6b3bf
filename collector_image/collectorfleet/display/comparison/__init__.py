"""Several runs on one page: groups of runs that repeat each other, their mean and interquartile mean with intervals."""
