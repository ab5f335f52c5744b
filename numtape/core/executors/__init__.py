"""Executors: one interface, one meaning.

``compute(log, wanted, welcome, retain)`` gives the wanted rows their values, and keeps those of
welcome rows that it computes on the way. With ``retain`` a tape may still ask for gradients, and
values that are expensive to compute again are kept as well.

``program(log, wanted, compiled)`` gives what computes rows again and again: ``run()``, then the
value of a wanted row is where ``place[row]`` says; ``another(log)`` makes the same for a copy of
the log. ``resident(tensor)`` is the value of an argument, as an array that is where
programs look for it. ``compiled`` asks for what takes longest to prepare and is fastest then.
"""
