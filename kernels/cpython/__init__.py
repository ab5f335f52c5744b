"""Machine code that reads and writes the objects of CPython."""
