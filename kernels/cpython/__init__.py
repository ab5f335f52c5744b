"""What compiled code knows about CPython."""
