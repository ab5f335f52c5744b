"""Measures numtape on a GPU beside its peers: ``python -m benchmarks --device cuda``.

``cases`` says what is measured, on ``inputs``; ``libs`` how each library does it. A library has the
GPU for itself while it is measured, in its own process (``worker``), so that neither memory
nor another context is in its way; ``measure`` drives these processes within a budget of time.
``result`` makes one JSON of the outcome, ``tables`` and ``plots`` show it. In Numba's simulator of
a GPU the same runs with a few elements, which says that it works and nothing else.
"""
