"""The GPU itself: driver, memory, transfers, compiler, libraries, and a simulator of it."""
