"""Gradients of plain loops, compared with their primal and with peers.

Run ``python -m benchmarks.gradbench``. The evals are those of GradBench
(github.com/gradbench/gradbench). Start reading at ``cases``, the table of evals. ``kernels`` and
``arrays`` implement them in numtape, ``libs`` in all libraries; ``run`` is the command line.
"""
