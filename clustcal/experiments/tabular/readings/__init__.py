"""Other readings of what the paper leaves open or leaves out: each tried, to see which of its numbers come out.

`represent` makes the representations, `stopped_fits` fits that end early, `reading_study` runs the clustered
methods under every reading, `cluster_tables` the table of stroke clusters, and `own_local_errors` the LCE.
"""
