"""The GPU itself: driver, memory, transfers, compiler, libraries, and Numba's simulator of it."""

LEGACY = 1  # CUDA's legacy default stream, in DLPack, in the array interface and in the driver
