"""Show runs to people: progress lines, a live table, the output of commands, reports and comparisons.

The progress lines and the live table read only the driver's report. For each of the two, a separate thread in the
driver's process does the drawing.
"""
