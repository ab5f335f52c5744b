"""Gradients: a tape is a set of row ranges, and transposing them appends adjoint rows to the log.

A tape, targets and sources go in; rows that compute the gradients come out. Each op's rule runs
once for its specs, which gives a template (`templates`); the compiled pass that walks the log
instantiates the templates (`transpose`). Jacobians are such rows evaluated for all seeds at once
(`jacobians`, `batching`), and `vectorized_map` evaluates a function's rows for all slices
(`slices`). Forward mode follows the rows in order, with templates derived from the same rules
(`forward`). Start with `transpose`.
"""
