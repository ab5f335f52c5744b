"""Measures numtape beside its peers: ``python -m benchmarks --help``.

``cases`` says what is measured, ``libs`` how each library does it, ``worker`` runs one library in
a process of its own, ``run`` drives the workers and ``report`` turns the outcome into JSON and
tables.
"""
