"""Compare several runs on one page. Runs that repeat each other form a group, with means and intervals."""
