"""Measures numtape beside its peers: ``python -m benchmarks --help``.

``cases`` says what is measured, on ``inputs``, with ``formulas`` and ``programs``; ``libs`` how
each library does it; ``worker`` runs one library in its own process, and ``measure`` drives
the workers. ``figures`` and ``scaling`` are about numtape alone, ``roofline`` about the machine.
``report`` makes one JSON of the outcome, ``tables`` and ``plots`` show it, and ``run`` is the
command line.
The package ``gpu`` has the same for a GPU: ``python -m benchmarks --device cuda``.
"""
