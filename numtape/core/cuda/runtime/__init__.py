"""The CUDA runtime: driver, memory, transfers, compiler and libraries, and a GPU simulator."""
