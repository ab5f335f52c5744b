"""The table of ops, by subject. One op, one record."""
