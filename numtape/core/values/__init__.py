"""What programs hold: dtypes, shapes, specs, tensors, nests of them, and arrays in memory.

In come the values that a program passes; out go tensors, each a row of a log or a buffer. Start
with `tensor`: a tensor is a spec and a place, nothing more.
"""
