"""The reference executor: computes every row separately, with NumPy.

Tests compare the other executors with it. Start with `executor`.
"""
