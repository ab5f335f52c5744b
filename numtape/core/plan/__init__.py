"""From rows that are wanted to a plan: what to compute, in which order, in which buffers.

In come a log and the rows that a caller looks at; out goes a plan that an executor sweeps. `plan`
runs the compiled planner, `memo` knows plans of logs that looked the same.
"""
