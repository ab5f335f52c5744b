"""Random numbers from counter-based streams (Philox4x64-10), one stream for each draw.

NumPy's `SeedSequence` makes the key of a stream from the global seed, the seed of the op and the
number of the draw. The executor draws on its device: normal floats (Box and Muller, 1958) agree
between devices to a few units in the last place, all other numbers are those of NumPy's `Generator`
with that key. `core.reference.draws` defines them.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ...errors import InvalidArgumentError
from ..cpu.workers import heard
from ..log.as_tensor import as_tensor, from_owned_array
from ..log.evaluate import executor
from ..log.log import local
from ..log.record import record
from ..reference.draws import LARGE, Entropy
from ..settings import after_fork_in_child
from ..values import dtypes
from ..values.dtypes import as_dtype
from ..values.hints import suggest_keywords
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import movement, stateless_random
from .elementwise import without_gradient
from .indexing import GATHER
from .movement import identity, to_shape
from .stateless_random import parse_shape, to_parameter

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, IntLike, ShapeLike, TensorLike

    # Bounds of random integers: an int, or a nest of tuples of ints.
    Bounds: TypeAlias = "int | tuple[Bounds, ...]"


SeedSequence = np.random.SeedSequence


class State:
    """The global seed, and the number of draws since it was set.

    Attributes:
      lock: Held while numbers of draws change.
      seed: The global seed, or None.
      draws: The number of draws with a seed.
      streams: The number of streams since the seed was set; see `DrawStream`.
      unseeded: Two random words, and the number of draws without any seed.
    """

    __slots__ = ("draws", "lock", "seed", "streams", "unseeded")

    def __init__(self) -> None:
        self.seed: int | None = None
        self.draws = self.streams = 0
        self.unseeded = np.zeros(3, np.int64)
        self.renew()

    def renew(self) -> None:
        """Renew the lock and the random words, in a new process."""
        self.lock = threading.RLock()
        self.unseeded[:] = secrets.randbits(63), secrets.randbits(63), 0

    def next_unseeded(self) -> Entropy:
        """Return the entropy of a draw without any seed."""
        with self.lock:
            first, second, number = self.unseeded.tolist()
            self.unseeded[2] = number + 1
        return first, second, number


STATE = State()
after_fork_in_child(STATE.renew)


class DrawStream:
    """A sequence of draws of its own, for functions that run in another thread or ahead of time.

    Such functions do not change the global sequence, and the order of threads does not change their
    random numbers.

    Args:
      start: The number of the first draw; see `new_stream`.

    Attributes:
      number: The number of the next draw.
    """

    __slots__ = ("number",)

    def __init__(self, start: int) -> None:
        self.number = start

    def take(self) -> int:
        """Return the number of the next draw."""
        number = self.number
        self.number = number + 1
        return number


class _Streams(threading.local):
    """The stream from which a thread draws; None for the global sequence."""

    current: DrawStream | None = None


_streams = _Streams()
STREAM_SIZE = 2**40  # draws of a stream; the global sequence has these numbers too


def new_stream() -> int:
    """Return the number of the first draw of a new stream."""
    with STATE.lock:
        STATE.streams += 1
        return STATE.streams * STREAM_SIZE


@contextmanager
def use_stream(stream: DrawStream) -> Iterator[None]:
    """Draw from a stream inside the block, in this thread."""
    previous, _streams.current = _streams.current, stream
    try:
        yield
    finally:
        _streams.current = previous


def set_seed(seed: IntLike) -> None:
    """Set the global seed and restart the sequence of draws.

    Ops without any seed draw different numbers in each run. The streams are Philox4x64-10 (Salmon,
    Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).

    Args:
      seed: An integer.

    Raises:
      ValueError: If it is not an integer.

    Example:
      >>> tf.random.set_seed(1)
      >>> x = tf.random.normal([3])
      >>> tf.random.set_seed(1)
      >>> np.array_equal(x, tf.random.normal([3]))
      True
    """
    log = local.log
    with STATE.lock:
        STATE.seed = _to_seed(seed)
        STATE.draws = STATE.streams = 0
    log.on_seed_set()


def _to_seed(seed: IntLike) -> int:
    try:
        return int(seed)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"A seed is an integer, not {seed!r}.") from None


class Draw(NamedTuple):
    """A draw: its name and parameters in `core.reference.draws`, its spec, and the op's seed."""

    name: str
    spec: Spec
    seed: int | None
    parameters: tuple[Any, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether the draw is numbered; otherwise it uses fresh entropy."""
        return STATE.seed is not None or self.seed is not None

    def entropy(self, number: int) -> Entropy:
        """Return the integers that give the key of draw ``number`` of the global sequence."""
        if not self.is_counted:
            return STATE.next_unseeded()
        own = 0 if self.seed is None else (self.seed + 1) % 2**63
        return (STATE.seed or 0) % 2**63, own, number % 2**63

    def array(self, number: int) -> Any:
        """Return the values of draw ``number`` of the global sequence."""
        compute = partial(
            executor().draw, self.name, self.entropy(number), self.spec, *self.parameters
        )
        is_long = self.name == "permutation" and self.spec.size > LARGE
        return heard(compute) if is_long else compute()  # `heard` can be interrupted


def draw(name: str, spec: Spec, seed: IntLike | None, *parameters: Hashable) -> Tensor:
    """Record a draw, with a name and parameters of `core.reference.draws`; replays draw again."""
    draw = Draw(name, spec, None if seed is None else _to_seed(seed), parameters)
    result: Tensor | None = local.log.draw(draw)
    if result is not None:
        return result
    if (stream := _streams.current) is not None:
        return from_owned_array(draw.array(stream.take()))
    with STATE.lock:
        counted = draw.is_counted
        # atomic: see core.values.intern_table
        number = STATE.draws
        STATE.draws = number + counted
        # end atomic
    try:
        array = draw.array(number)
    except BaseException:
        with STATE.lock:
            if STATE.draws == number + counted:  # no other draw since
                STATE.draws = number
        raise
    return from_owned_array(array)


def fresh_seed() -> int | None:
    """Draw a seed from the global sequence; None if no global seed is set."""
    stream = _streams.current
    with STATE.lock:
        if STATE.seed is None:
            return None
        number = STATE.draws if stream is None else stream.take()
        STATE.draws += stream is None
        key = (STATE.seed % 2**63, 0, number)
    return int(SeedSequence(key).generate_state(1)[0]) % 10**9 + 1


def _parse_shape(shape: ShapeLike) -> tuple[int, ...]:
    if isinstance(shape, int | np.integer):
        raise InvalidArgumentError(f"shape must be a vector of ints, got {shape}")
    return to_shape(shape)


def _float_spec(shape: ShapeLike, dtype: DTypeLike) -> Spec:
    """Return the spec of floats to draw."""
    requested, dims = as_dtype(dtype), _parse_shape(shape)
    if not requested.is_floating:
        raise TypeError(f"Random floats are of a floating dtype, not dtype={requested.name}.")
    if dims and min(dims) < 0:
        raise ValueError(f"Shape {dims} of random numbers: negative dimensions are not allowed.")
    return intern(dims, requested)


@suggest_keywords
def normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw from a normal distribution (Box and Muller, 1958).

    Args:
      shape: The shape: ints, or a tensor of ints.
      mean: The mean; it broadcasts to ``shape``, and gradients reach it.
      stddev: The standard deviation; it broadcasts to ``shape``, and gradients reach it.
      dtype: A floating dtype.
      seed: The seed of this op, combined with the global seed.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and dtype ``dtype``.

    Raises:
      TypeError: If ``dtype`` is not supported.
      ValueError: If a size is negative, or ``seed`` is not an integer.
      InvalidArgumentError: If ``shape`` is a number.

    Example:
      >>> tf.random.set_seed(0)
      >>> x = tf.random.normal((1000,), mean=5.0, stddev=2.0, dtype=tf.float64)
      >>> bool(abs(tf.reduce_mean(x) - 5.0) < 0.5)
      True
    """
    draws = draw("normal", _float_spec(shape, dtype), seed)
    if type(stddev) is not float or stddev != 1.0:
        draws = draws * stddev
    if type(mean) is not float or mean != 0.0:
        draws = draws + mean
    return draws


@suggest_keywords
def truncated_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw from a normal distribution truncated at two standard deviations.

    Args:
      shape: The shape: ints, or a tensor of ints.
      mean: The mean of the distribution; it broadcasts to ``shape``.
      stddev: The standard deviation before truncation. (Truncation multiplies it by 0.8796.)
      dtype: A floating dtype.
      seed: The seed of this op, combined with the global seed.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and dtype ``dtype``.

    Raises:
      TypeError: If ``dtype`` is not supported.
      ValueError: If a size is negative, or ``seed`` is not an integer.
      InvalidArgumentError: If ``shape`` is a number.

    Example:
      >>> x = tf.random.truncated_normal((1000,))
      >>> bool(tf.reduce_max(abs(x)) <= 2.0)
      True
    """
    draws = draw("truncated", _float_spec(shape, dtype), seed)
    result: Tensor = draws * stddev + mean
    return result


@suggest_keywords
def uniform(
    shape: ShapeLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw uniformly from the interval from ``minval`` (included) to ``maxval`` (excluded).

    Args:
      shape: The shape: ints, or a tensor of ints.
      minval: The lower bound.
      maxval: The upper bound; None for 1, for floats only.
      dtype: A floating or an integer dtype.
      seed: The seed of this op, combined with the global seed.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and dtype ``dtype``.

    Raises:
      TypeError: If ``dtype`` is not supported.
      ValueError: If ``dtype`` is an integer dtype and ``maxval`` is None, bounds do not fit the
        dtype, a size is negative, or ``seed`` is not an integer.
      InvalidArgumentError: If ``shape`` is a number, or integer bounds are not increasing.

    Example:
      >>> x = tf.random.uniform((1000,), 1, 7, dtype=tf.int32)
      >>> tf.reduce_min(x).numpy(), tf.reduce_max(x).numpy()
      (np.int32(1), np.int32(6))
    """
    requested = as_dtype(dtype)
    if requested.is_integer:
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {requested!r}")
        low, high = (_parse_bounds(bound) for bound in (minval, maxval))
        if (np.array(low) >= np.array(high)).any():
            raise InvalidArgumentError(
                f"Need minval < maxval, got {low} >= {high} [Op:RandomUniformInt]"
            )
        return draw("integers", intern(_parse_shape(shape), requested), seed, low, high)
    draws = draw("uniform", _float_spec(shape, requested), seed)
    end: Any = 1.0 if maxval is None else maxval
    minval, end = (
        x if isinstance(x, int | float) else as_tensor(x, intern((), requested), "RandomUniform")
        for x in (minval, end)
    )
    if all(isinstance(x, int | float) for x in (minval, end)) and (minval, end) == (0, 1):
        return draws
    try:
        width = end - minval
    except OverflowError:
        raise ValueError(
            f"minval={dtypes.repr_of(minval)} and maxval={dtypes.repr_of(end)} do not fit "
            f"{requested.name}."
        ) from None
    result: Tensor = draws * width + minval
    return result


def _parse_bounds(bound: TensorLike) -> Any:
    """Convert bounds of integers to a parameter of a draw."""
    result = np.asarray(bound)
    if result.dtype.kind not in "biu":
        raise ValueError(
            f"Bounds of random integers are integers of 64 bits, not {dtypes.repr_of(bound)}."
        )
    return _to_tuples(result.tolist())


def _to_tuples(bounds: Any) -> Any:
    """Convert lists to tuples: parameters of draws are compared."""
    return tuple(map(_to_tuples, bounds)) if isinstance(bounds, list) else bounds


def shuffle(value: TensorLike, seed: IntLike | None = None, name: str | None = None) -> Tensor:
    """Shuffle the slices along the first axis. No gradient flows through.

    Args:
      value: A tensor of any dtype.
      seed: The seed of this op, combined with the global seed.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If ``seed`` is not an integer.

    Example:
      >>> np.sort(tf.random.shuffle([3, 1, 2]).numpy())
      array([1, 2, 3], dtype=int32)
    """
    x = as_tensor(value)
    if not x.ndim:
        return identity(x)
    order = draw("permutation", intern((int(x.shape[0]),), dtypes.int64), seed)
    return without_gradient(record(GATHER, (x, order), axis=0))  # all indices are valid


_STATE_SPEC = intern((2,), dtypes.int64)


def _record_state(seed: IntLike | None) -> Tensor:
    """Record a random seed of two integers, different in each draw and each replay."""
    return draw("state", _STATE_SPEC, seed)


def gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw from gamma distributions, ``shape`` numbers from each.

    Gradients reach ``alpha`` (implicitly: Figurnov, Mohamed and Mnih, "Implicit Reparameterization
    Gradients", 2018; first order only) and ``beta``.

    Args:
      shape: The shape of the draws from each distribution: ints, or a tensor of ints.
      alpha: The shape parameter. A negative one gives NaN.
      beta: The inverse scale; None for 1. It broadcasts with ``alpha``.
      dtype: float16, float32 or float64.
      seed: The seed of this op, combined with the global seed.
      name: Not used.

    Returns:
      A tensor of ``shape``, followed by the shape to which ``alpha`` and ``beta`` broadcast.

    Raises:
      ValueError: If ``dtype`` is not supported, or parameters are tensors of another dtype.
      InvalidArgumentError: If ``shape`` is not a vector of sizes, or parameters do not broadcast.

    Example:
      >>> tf.random.set_seed(0)
      >>> alpha = tf.constant(3.0)
      >>> with tf.GradientTape() as tape:
      ...     tape.watch(alpha)
      ...     mean = tf.reduce_mean(tf.random.gamma([2000], alpha))
      >>> bool(abs(mean - 3.0) < 0.3), bool(abs(tape.gradient(mean, alpha) - 1.0) < 0.1)
      (True, True)
    """
    requested = dtypes.as_dtype(dtype)
    if not requested.is_floating or requested is dtypes.bfloat16:
        raise ValueError(f"{requested.name} is none of float16, float32 and float64.")
    op = "RandomGamma"
    a = to_parameter(alpha, requested, op)
    b = None if beta is None else to_parameter(beta, requested, op)
    common = stateless_random.broadcast_parameters([a] if b is None else [a, b], op)
    dims = (*parse_shape(shape, op), *common)
    if b is not None:
        a = movement.broadcast_to(a, common)
    return stateless_random.gamma(_record_state(seed), dims, a, b, op)


def poisson(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = dtypes.float32,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw from Poisson distributions, ``shape`` numbers from each. It has no gradient.

    Args:
      shape: The shape of the draws from each distribution: ints, or a tensor of ints.
      lam: The rate, which is the mean.
      dtype: float16, float32, float64, int32 or int64.
      seed: The seed of this op, combined with the global seed.
      name: Not used.

    Returns:
      A tensor of ``shape``, followed by the shape of ``lam``. A negative rate gives 0; a rate that
      is not finite gives NaN, or 0 for integer dtypes.

    Raises:
      InvalidArgumentError: If ``dtype`` is not supported, or ``shape`` is not a vector of sizes.

    Example:
      >>> tf.random.set_seed(0)
      >>> x = tf.random.poisson([1000], [2.0, 20.0])
      >>> x.shape, bool(tf.reduce_all(abs(tf.reduce_mean(x, 0) - [2.0, 20.0]) < 1.0))
      (TensorShape([1000, 2]), True)
    """
    rate = as_tensor(lam)
    dims = (*parse_shape(shape, "RandomPoissonV2"), *rate.shape)
    return stateless_random.poisson(
        stateless_random.POISSON_DRAWN, _record_state(seed), dims, rate, dtype
    )


def categorical(
    logits: TensorLike,
    num_samples: IntLike,
    dtype: DTypeLike | None = None,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw classes with probabilities given by logits. No gradient flows through.

    Args:
      logits: Unnormalized logarithms of probabilities: a tensor of shape (rows, classes).
      num_samples: The number of draws for each row.
      dtype: int64 or int32; None for int64.
      seed: The seed of this op, combined with the global seed.
      name: Not used.

    Returns:
      A tensor of shape (rows, num_samples).

    Raises:
      InvalidArgumentError: If ``logits`` is not a matrix, or ``num_samples`` is negative.
      ValueError: If ``dtype`` is not supported.

    Example:
      >>> logits = tf.math.log([[0.0, 1.0, 0.0]])
      >>> tf.random.categorical(logits, 3).numpy()
      array([[1, 1, 1]])
    """
    return stateless_random.categorical(_record_state(seed), logits, num_samples, dtype)
