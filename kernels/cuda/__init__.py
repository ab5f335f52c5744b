"""What the CUDA executor runs: `numba.cuda` source, compiled by ``numtape.core.cuda``.

A kernel is a plain function. Its array parameters are typed pointers, or, in Numba's simulator,
which runs the same source thread by thread in Python, slices of arrays.
"""
