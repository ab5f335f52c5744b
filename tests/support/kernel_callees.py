"""Functions that kernels of another file call; each fails at its own line."""

import math

import numpy as np


def full(x, n):
    for i in range(n):
        x = math.sin(x * i)
    return x


def negative(x, n):
    y = np.zeros(3 - n)
    return y.sum() + x


def beyond(x, n):
    v = np.ones(5)
    return x * v[n]


def deep(x, n):
    return math.sin(x) * deep(x, n - 1) if n else x


def deeper(x, n):
    return math.sin(x) * deep(x, n)


# Each with its failing line number and its exception.
FAILING = [
    (full, 1, "stack is full"),
    (negative, 1, "negative dimensions"),
    (beyond, 2, "out of bounds"),
    (deeper, -3, "stack is full"),
]
