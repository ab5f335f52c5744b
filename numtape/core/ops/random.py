"""Random numbers: counter-based streams (Philox), one for each seed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from .. import dtypes
from ..dtypes import as_dtype
from ..log import after_fork_in_child, local
from ..record import as_tensor
from ..spec import intern
from ..tensor import Tensor, of_array
from .indexing import gather
from .movement import static_shape

if TYPE_CHECKING:
    from ..trace import Trace

Array = np.ndarray[Any, Any]
Generator = np.random.Generator


class State:
    """The global seed, and how many draws were made since it was set."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.seed: int | None = None
        self.draws = 0


STATE = State()


def _renew_lock() -> None:
    STATE.lock = threading.RLock()


after_fork_in_child(_renew_lock)


def set_seed(seed: int) -> None:
    """Start the sequence of draws anew: the same program draws the same numbers."""
    log = local.log
    with STATE.lock:
        STATE.seed = int(seed)
        STATE.draws = 0
    if log.tracing:
        cast("Trace", log).seeded()


class Draw(NamedTuple):
    """What is drawn: a function of a generator and parameters, and the op's own seed."""

    make: Callable[..., Any]
    seed: int | None
    parameters: tuple[Any, ...]

    @property
    def counted(self) -> bool:
        """Whether the draw has a number, and not fresh entropy."""
        return STATE.seed is not None or self.seed is not None

    def array(self, number: int) -> Array:
        """Draw number ``number`` of the global sequence."""
        if self.counted:
            key = (STATE.seed or 0, 0 if self.seed is None else int(self.seed) + 1, number)
            words = np.random.SeedSequence([k % 2**63 for k in key])
            generator = Generator(np.random.Philox(words))
        else:
            generator = Generator(np.random.Philox())
        return np.asarray(self.make(generator, *self.parameters))


def _drawn(make: Callable[..., Any], seed: int | None, *parameters: Any) -> Tensor:
    draw = Draw(make, seed, parameters)
    log = local.log
    if log.tracing:
        return cast("Trace", log).draw(draw)
    with STATE.lock:
        number = STATE.draws
        STATE.draws += draw.counted
    array = draw.array(number)
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
    draws = _drawn(Generator.standard_normal, seed, _vector(shape), as_dtype(dtype).numpy_dtype)
    if type(stddev) is not float or stddev != 1.0:
        draws = draws * stddev
    if type(mean) is not float or mean != 0.0:
        draws = draws + mean
    return draws


def _truncated(generator: Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    draws = np.asarray(generator.standard_normal(shape, dtype))
    while (far := np.abs(draws) > 2).any():
        draws[far] = generator.standard_normal(int(far.sum()), dtype)
    return draws


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32,
    seed: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Draws from a normal distribution, those beyond two standard deviations drawn again."""
    draws = _drawn(_truncated, seed, _vector(shape), as_dtype(dtype).numpy_dtype)
    found: Tensor = draws * stddev + mean
    return found


def _integers(
    generator: Generator, low: Any, high: Any, shape: tuple[int, ...], dtype: Any
) -> Array:
    return np.asarray(generator.integers(np.array(low), np.array(high), shape, dtype=dtype))


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32,
    seed: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Draws from ``minval`` (default 0) up to, not including, ``maxval`` (for floats 1).

    Raises:
      ValueError: If ``dtype`` is an integer and ``maxval`` is not given.
    """
    wanted = as_dtype(dtype)
    if wanted.is_integer:
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {wanted!r}")
        low, high = (_nested(np.asarray(bound).tolist()) for bound in (minval, maxval))
        return _drawn(_integers, seed, low, high, _vector(shape), wanted.numpy_dtype)
    draws = _drawn(Generator.random, seed, _vector(shape), wanted.numpy_dtype)
    end: Any = 1.0 if maxval is None else maxval
    if all(isinstance(x, int | float) for x in (minval, end)) and (minval, end) == (0, 1):
        return draws
    found: Tensor = draws * (end - minval) + minval
    return found


def _nested(bounds: Any) -> Any:
    """Lists as tuples: parameters of draws are compared."""
    return tuple(map(_nested, bounds)) if isinstance(bounds, list) else bounds


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The slices along the first axis in a random order."""
    x = as_tensor(value)
    return gather(x, _drawn(Generator.permutation, seed, int(x.shape[0])))
