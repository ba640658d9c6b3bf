"""A run's timeline as one page of HTML that needs nothing else: no network, no script."""
