"""Write the timeline of a run as one HTML page, which needs no network and no script."""
