"""Executors: one interface, one meaning.

``compute(log, wanted, retain)`` gives the wanted rows their values. With ``retain`` a tape may
still ask for gradients, and values that are expensive to compute again are kept as well.
"""
