"""Passes over the columns of a log: dependency analysis, transposition, plans, fast paths."""
