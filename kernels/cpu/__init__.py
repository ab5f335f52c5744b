"""Kernels of the CPU executor.

`sweep` goes through the groups of a plan, `groups` computes those that threads may share, `team` is
how they share them. `fused` writes loops over elements; `arrays` and the other modules have kernels
on whole arrays, `blas` how these call BLAS and LAPACK.
"""
