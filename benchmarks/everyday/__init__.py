"""Everyday workloads in numtape and its peers: ``python -m benchmarks.everyday --help``.

Start reading at ``case``, which defines what a workload is. The workloads are in one file for each
area: ``networks``, ``data``, ``simulation``, ``statistics``, ``arrays``, ``linear_algebra``,
``derivatives`` and ``scalars``; ``cases`` collects them. ``process`` starts a worker
process, ``modules`` imports its library, and ``server`` runs the steps there. ``run`` drives the
workers; ``report`` prints the table and draws the picture.
"""
