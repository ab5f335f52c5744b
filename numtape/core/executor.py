"""Executors: one interface, one meaning.

``compute(log, wanted, welcome, retain)`` gives the wanted rows their values, and keeps those of
welcome rows that it computes on the way. With ``retain`` a tape may still ask for gradients, and
values that are expensive to compute again are kept as well.

``program(log, wanted, compiled, looked)`` gives what computes rows again and again: ``run()``, then
the value of a wanted row is where ``place[row]`` says; ``another(log)`` makes the same for a copy
of the log. ``compiled`` asks for what takes longest to prepare and is fastest then; ``looked`` says
that single elements are looked at after every run. If they are not, those for which ``late(row)``
is true are in the log's buffers, and may be computed later. Leaves are given their values by
``feed(row, tensor)``, or, where that is None, by writing cells: an element, or an address.
"""
