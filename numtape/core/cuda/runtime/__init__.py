"""The GPU itself: driver, memory, transfers, compiler, libraries, and Numba's simulator of it."""
