"""The reference executor: every row by itself, with NumPy. It is what others are compared with.

In come rows, out go their values: one page, in `executor`.
"""
