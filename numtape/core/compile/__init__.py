"""Compiles Python functions and op bodies to machine code, which is cached in a folder.

Input: kernels and the bodies of ops. Output: addresses of compiled code. Start with `cache.load`.
`numba_compiler` compiles functions with Numba, `llvm` compiles text with LLVM. `passes` has the
passes over logs, `lane_kernels` the ops on blocks of elements, `array_kernels` those on whole
arrays. Passes use only ints and pointers: `kernel_sources`, `expressions` and `translate` turn them
into LLVM text without Numba. `kernels.cpu.fused` writes elementwise ops of floats, also without it.
"""
