"""Analyses of the intermediate representation: types, activity, recomputation, bounds."""
