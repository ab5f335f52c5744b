"""Plans evaluations: which rows to compute, in which order, in which buffers.

Input: a log and the requested rows. Output: a plan that an executor runs. `plan` calls the compiled
planner; `structure_cache` finds plans of earlier logs with the same structure.
"""
