"""Gradients of plain loops beside their own primal and peers: ``python -m benchmarks.gradbench``.

The evals are those of GradBench (github.com/gradbench/gradbench). ``cases`` says what is measured,
``kernels`` and ``arrays`` how numtape does it, ``libs`` how others do, ``run`` measures.
"""
