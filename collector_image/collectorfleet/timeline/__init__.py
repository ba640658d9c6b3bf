"""Record the timeline of a run in bounded space: metrics, states of collectors, evaluations and losses."""
