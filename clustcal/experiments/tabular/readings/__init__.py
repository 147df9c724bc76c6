"""Other readings of what the paper leaves open or leaves out: each tried, to see which of its numbers come out.

`represent` makes the representations, `stopped_fits` fits that end early, `study` runs the clustered methods under
every reading, `clusters` the table of stroke clusters, and `local_errors` the LCE.
"""
