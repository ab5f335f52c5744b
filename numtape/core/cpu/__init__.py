"""The CPU executor: runs plans block by block, so that chains of ops stay in the cache.

Input: a plan. Output: values in buffers. Start with `executor`. `sweeper` runs a plan, `fuse`
compiles groups of hot plans to loops, `workers` has the threads that share large groups and make
long calls so that Ctrl-C works, and `repeated_evaluation` sets up the fast path of evaluations.
"""
