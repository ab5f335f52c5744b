"""The CUDA executor: turns rows of a log into kernels, compiles them and launches them.

Start reading at `executor`. Nothing here is imported unless the device is CUDA.
`runtime.driver` talks to the GPU; `runtime.simulator` has the same interface and runs the same
kernels in Python.
"""
