"""Gradients: a tape is stretches of rows, and transposing them appends adjoint rows to the log.

In come a tape, targets and sources; out go rows that compute the gradients. Each op's rule is run
once for its specs, which gives a template (`templates`); the compiled pass that walks the log
puts templates in place (`transpose`). Jacobians are such rows done for all seeds at once
(`jacobians`, `batching`), and `vectorized_map` is a function's rows done for all slices
(`slices`). Forward mode goes along with the rows, with templates made of the same rules
(`forward`).
"""
