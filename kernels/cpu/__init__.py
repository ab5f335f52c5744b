"""Kernels of the CPU executor.

`sweep` runs the groups of a plan, `groups` computes those that threads may share, `thread_team`
coordinates the threads. `fused` writes loops over elements; `arrays` and the other modules have
kernels of whole arrays, which call BLAS and LAPACK through `blas`.
"""
