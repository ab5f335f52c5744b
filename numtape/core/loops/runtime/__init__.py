"""Compiled sweeps at run time: calls, stacks, rows of the log. Start with `invoke`."""
