"""Benchmarks of numtape and its peers: ``python -m benchmarks --help``.

Start reading at ``cases``, the table of what is measured. ``inputs``, ``formulas`` and ``programs``
define the work of each case, and ``libs`` implements it in each library. ``worker`` runs one
library in its own process; ``measure`` drives the workers. ``figures`` and ``scaling`` measure
numtape alone, ``roofline`` measures the machine. ``report`` collects the measurements in one JSON
file, ``tables`` and ``plots`` display it, and ``run`` is the command line.

The package ``gpu`` is the counterpart for GPUs: ``python -m benchmarks --device cuda``.
The package ``everyday`` has about a hundred short workloads: ``python -m benchmarks.everyday``.
"""
