"""Passes over the columns of a log: what a tape follows, its transposition, the plan."""
