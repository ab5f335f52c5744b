"""The CPU executor: it sweeps plans block by block, so that chains stay in the cache.

In comes a plan, out go values in buffers. Start with `executor`; `sweeper` carries out a plan,
`fuse` turns a group of rows that is swept often into one loop, `workers` are the threads that share
large sweeps, `listening` leaves to them any call that may take long, and `repeated_looks` has
machine code do all of a look that repeats.
"""
