"""Values: dtypes, shapes, specs, tensors, nested structures of them, and arrays in memory.

The values that a program passes go in; tensors come out, each a row of a log or a buffer. Start
with `tensor`: a tensor is a spec and a storage location, nothing more.
"""
