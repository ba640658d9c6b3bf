"""Show runs to people: progress lines, a live table, the output of commands, reports and comparisons.

The lines and the table read only the driver's report. Both are drawn in the driver's process, each by its own thread.
"""
