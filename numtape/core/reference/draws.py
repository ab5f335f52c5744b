"""Random draws of a program, by NumPy: what each of them means.

NumPy's `SeedSequence` makes the key of a Philox4x64-10 stream from three integers, the *entropy* of
the draw: the global seed, the seed of the op and the number of the draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..values import dtypes
from ..values.spec import Spec

Array = np.ndarray[Any, Any]
Entropy = tuple[int, int, int]

LARGE = 1 << 18  # permutations of more elements take NumPy long


def key_of(entropy: Entropy) -> list[int]:
    """Return the two words of the key, those of `numpy.random.Philox`."""
    words: list[int] = np.random.SeedSequence(entropy).generate_state(2, np.uint64).tolist()
    return words


def _generator(entropy: Entropy) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def _draw_state(entropy: Entropy, spec: Spec) -> Array:
    return np.array(key_of(entropy), np.uint64).view(np.int64)


def _draw_uniform(entropy: Entropy, spec: Spec) -> Array:
    generator, kind = _generator(entropy), spec.dtype.as_numpy_dtype
    if spec.dtype.size > 2:
        return np.asarray(generator.random(spec.shape, kind))
    bits = 10 if spec.dtype is dtypes.float16 else 7  # of the fraction
    numbers = generator.integers(0, 2**bits, spec.shape) * np.float32(2.0**-bits)
    return np.asarray(numbers.astype(kind))


def _draw_normal(entropy: Entropy, spec: Spec) -> Array:
    """Draw normal numbers: those of 16 bits by NumPy, others in pairs (Box and Muller, 1958).

    Of the two integers of a pair, the first gives the radius. The second gives an angle of at most
    an eighth of a turn in either direction, and whether to swap sine and cosine and flip signs.
    """
    kind = spec.dtype.as_numpy_dtype
    if spec.dtype.size == 2:
        numbers = _generator(entropy).standard_normal(spec.shape, np.float32)
        return np.asarray(numbers).astype(kind)
    source = np.random.Philox(np.random.SeedSequence(entropy))
    size, pairs = spec.dtype.size, -(-spec.size // 2)
    words = np.asarray(source.random_raw(-(-pairs * size // 4)))
    integers = words.view(f"u{size}")[: 2 * pairs].reshape(pairs, 2)
    first, second = integers[:, 0], integers[:, 1]
    step = kind(2.0 ** (-8 * size))
    radius = np.sqrt(kind(-2) * np.log(first.astype(kind) * step + step / kind(2)))
    radius[second & 2 != 0] *= -1
    angle = (second & ~np.array(3, second.dtype)).view(f"i{size}").astype(kind)
    angle *= kind(np.pi / 2) * step
    swap = second & 1 != 0
    sine, cosine = np.sin(angle), np.cos(angle)
    values = np.empty((pairs, 2), kind)
    values[:, 0] = radius * np.where(swap, sine, cosine)
    values[:, 1] = radius * np.where(swap, cosine, sine)
    return values.reshape(-1)[: spec.size].reshape(spec.shape)


def _draw_truncated(entropy: Entropy, spec: Spec) -> Array:
    generator = _generator(entropy)
    dtype = np.float64 if spec.dtype is dtypes.float64 else np.float32
    numbers = np.asarray(generator.standard_normal(spec.shape, dtype))
    while (far := np.abs(numbers) > 2).any():
        numbers[far] = generator.standard_normal(int(far.sum()), dtype)
    return numbers.astype(spec.dtype.as_numpy_dtype, copy=False)


def _draw_integers(entropy: Entropy, spec: Spec, low: Any, high: Any) -> Array:
    generator, dtype = _generator(entropy), spec.dtype.numpy_dtype
    try:
        return np.asarray(
            generator.integers(np.array(low), np.array(high), spec.shape, dtype=dtype)
        )
    except ValueError as error:
        raise ValueError(f"Integers from minval={low} to maxval={high}: {error}.") from None


def _draw_permutation(entropy: Entropy, spec: Spec) -> Array:
    return np.asarray(_generator(entropy).permutation(spec.size))


_DRAWS: dict[str, Callable[..., Array]] = {
    "state": _draw_state,
    "uniform": _draw_uniform,
    "normal": _draw_normal,
    "truncated": _draw_truncated,
    "integers": _draw_integers,
    "permutation": _draw_permutation,
}


def compute_drawn(name: str, entropy: Entropy, spec: Spec, *parameters: Any) -> Array:
    """Compute a draw: ``uniform``, ``normal`` or ``truncated`` floats, or one of the following.

    - ``integers`` from the first parameter to the second, which is excluded.
    - ``permutation``: the numbers below the size, in random order.
    - ``state``: a seed of two integers.
    """
    return _DRAWS[name](entropy, spec, *parameters)
