"""What the CUDA executor stands on: compiling, memory and launches, from rows to kernels.

Nothing here is imported unless the device is CUDA. `driver` is the GPU's; `simulator` has the
same functions and runs the same kernels in Python.
"""
