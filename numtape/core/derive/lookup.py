"""The hash of `kernels.passes.transpose.hash_key` in Python, for inserting."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_M0, _M1, _M2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def hash_key(k0: int, k1: int, k2: int, k3: int, k4: int, k5: int) -> int:
    """Mix a template's key into 64 bits; equal to the kernel's (a test compares)."""
    h = (k0 + 1) * _M0 & _MASK
    h = (h ^ (k1 + 1)) * _M1 & _MASK
    h = (h ^ (h >> 29) ^ (k2 + 1)) * _M2 & _MASK
    h = (h ^ (k3 + 1)) * _M0 & _MASK
    h = (h ^ (h >> 31) ^ (k4 + 1)) * _M1 & _MASK
    h = (h ^ (k5 + 1)) * _M2 & _MASK
    return h ^ (h >> 32)
