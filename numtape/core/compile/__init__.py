"""From Python functions and op bodies to machine code that is kept in a folder.

In come kernels and the bodies of ops; out go addresses of compiled code. `cache` finds what was
compiled before; `unit` compiles functions with Numba, `llvm` text with LLVM; `passes` are those
over logs, `lane_kernels` the ops on blocks of elements, `array_kernels` those on whole arrays.
Passes are ints and pointers, of which `sources`, `expressions` and `translate` make LLVM's text
without Numba; and ops of floats are written as fused loops are, by `kernels.cpu.fused`.
"""
