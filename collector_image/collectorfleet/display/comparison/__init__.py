"""Compare several runs on one page. Runs that differ only in seeds form a group, with means and intervals."""
