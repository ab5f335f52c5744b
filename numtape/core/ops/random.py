"""Random numbers: counter-based streams (Philox), one for each seed."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import as_dtype
from ..log import after_fork_in_child
from ..record import as_tensor
from ..spec import intern
from ..tensor import Tensor, of_array
from .indexing import gather
from .movement import static_shape


class _State:
    """The global seed, and how many draws were made since it was set."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed: int | None = None
        self.draws = 0


_state = _State()


def _renew_lock() -> None:
    _state.lock = threading.Lock()


after_fork_in_child(_renew_lock)


def set_seed(seed: int) -> None:
    """Start the sequence of draws anew: the same program draws the same numbers."""
    with _state.lock:
        _state.seed = int(seed)
        _state.draws = 0


def _generator(seed: int | None) -> np.random.Generator:
    """The generator of the next draw."""
    with _state.lock:
        if _state.seed is None and seed is None:
            return np.random.Generator(np.random.Philox())
        draw, _state.draws = _state.draws, _state.draws + 1
        key = (_state.seed or 0, 0 if seed is None else int(seed) + 1, draw)
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([k % 2**63 for k in key])))


def _tensor(array: np.ndarray[Any, Any]) -> Tensor:
    array = np.asarray(array)
    return of_array(array, intern(array.shape, dtypes.of_array(array)))


def _vector(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, int | np.integer):
        from ...errors import InvalidArgumentError

        raise InvalidArgumentError(f"shape must be a vector of ints, got {shape}")
    return static_shape(shape)


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32,
    seed: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Draws from a normal distribution; ``mean`` and ``stddev`` broadcast to ``shape``."""
    wanted = as_dtype(dtype).numpy_dtype
    draws = _tensor(_generator(seed).standard_normal(_vector(shape), wanted))
    if type(stddev) is not float or stddev != 1.0:
        draws = draws * stddev
    if type(mean) is not float or mean != 0.0:
        draws = draws + mean
    return draws


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32,
    seed: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Draws from a normal distribution, those beyond two standard deviations drawn again."""
    wanted = as_dtype(dtype).numpy_dtype
    generator = _generator(seed)
    draws = np.asarray(generator.standard_normal(_vector(shape), wanted))
    while (far := np.abs(draws) > 2).any():
        draws[far] = generator.standard_normal(int(far.sum()), wanted)
    found: Tensor = _tensor(draws) * stddev + mean
    return found


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32,
    seed: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Draws from ``minval`` (default 0) up to, not including, ``maxval`` (for floats 1).

    Raises:
      ValueError: If ``dtype`` is an integer and ``maxval`` is not given.
    """
    wanted = as_dtype(dtype)
    generator = _generator(seed)
    if wanted.is_integer:
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {wanted!r}")
        low, high = np.asarray(minval), np.asarray(maxval)
        return _tensor(generator.integers(low, high, _vector(shape), dtype=wanted.numpy_dtype))
    draws = _tensor(generator.random(_vector(shape), wanted.numpy_dtype))
    end: Any = 1.0 if maxval is None else maxval
    if all(isinstance(x, int | float) for x in (minval, end)) and (minval, end) == (0, 1):
        return draws
    found: Tensor = draws * (end - minval) + minval
    return found


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The slices along the first axis in a random order."""
    x = as_tensor(value)
    return gather(x, _generator(seed).permutation(x.shape[0]))
