"""Show runs to people: progress lines, a live table, the output of commands, reports and comparisons.

The progress lines and the live table read only the driver's report. Each of the two has its own thread in the driver's
process.
"""
