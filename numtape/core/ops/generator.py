"""``tf.random.Generator``: random numbers from an explicit state that each draw advances."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.constants import RESERVED_BLOCKS
from ..log.as_tensor import as_tensor
from ..log.log import local
from ..log.op import ARRAY, STOP, Native, defop
from ..log.record import record
from ..log.variable import Variable
from ..values import dtypes
from ..values.dtypes import as_dtype
from ..values.spec import Spec
from ..values.tensor import Tensor
from . import elementwise, joining, movement, stateless_random
from .stateless_random import algorithm, parse_float_dtype, parse_shape

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, IntLike, ShapeLike, TensorLike
    from .stateless_random import AlgorithmLike

Array = np.ndarray[Any, Any]

_SIZE = 3  # a state holds a counter of two integers, and a key
_MASK = 2**64 - 1


def _to_int64(number: int) -> int:
    number &= _MASK
    return number - 2**64 if number >= 2**63 else number


def _skip(out: Array, state: Array, delta: int) -> None:
    low, high, key = (int(x) & _MASK for x in state.tolist())
    counter = (high << 64 | low) + delta * RESERVED_BLOCKS
    out[:] = _to_int64(counter), _to_int64(counter >> 64), _to_int64(key)


def _skip_native(out: Spec, state: Spec, delta: int) -> Native:
    blocks = delta * RESERVED_BLOCKS
    words = _to_int64(blocks), _to_int64(blocks >> 64)
    return Native("philox.skip", (), (_SIZE, 8, *words), 1, _SIZE)


SKIP = defop(
    "RngReadAndSkip",
    ARRAY,
    1,
    lambda op, state, delta: state,
    compute=_skip,
    native=_skip_native,
    gradient=STOP,
    on_host=True,
)


def _as_state(value: Any) -> Tensor:
    """Convert integers to a state; unsigned 64-bit integers wrap around."""
    if isinstance(value, list | tuple) and all(isinstance(x, int) for x in value):
        value = np.array([_to_int64(x) for x in value], np.int64)
    return elementwise.cast(as_tensor(value), dtypes.int64)


def _check_shape(state: Tensor, shape: tuple[int, ...], name: str) -> Tensor:
    if tuple(state.shape) != shape:
        raise ValueError(f"The {name} must have shape {shape}, got {tuple(state.shape)}.")
    return state


def create_rng_state(seed: TensorLike, alg: AlgorithmLike) -> Tensor:
    """Create the state of a `Generator` from a seed.

    Args:
      seed: An integer of any size, or a vector of integers.
      alg: The algorithm, ``"philox"`` or ``"auto_select"`` (the same).

    Returns:
      An int64 tensor of three elements: the counter's two integers, then the key.

    Raises:
      ValueError: If ``alg`` is unknown.
      UnimplementedError: If ``alg`` is ``"threefry"``.

    Example:
      >>> tf.random.create_rng_state(1234, "philox").numpy()
      array([1234,    0,    0])
    """
    algorithm(alg)
    if isinstance(seed, int):
        seed = [seed >> 64 * k & _MASK for k in range(_SIZE)]
    words = movement.reshape(_as_state(seed), (-1,))
    count = words.shape[0]
    if count >= _SIZE:
        return words[:_SIZE]
    return joining.concat([as_tensor(np.zeros(_SIZE - count, np.int64)), words], 0)


class Generator:
    """A generator of random numbers (Philox) with a state that each draw advances.

    A seed gives TensorFlow's numbers, except for `binomial`. The state is a variable: each replay
    of a recorded function draws new numbers, while values that a tape has read do not change.

    Args:
      copy_from: A generator whose state to start from.
      state: Three integers, the counter's two and the key, or a variable that holds them.
      alg: The algorithm, ``"philox"`` or ``"auto_select"`` (the same).

    Raises:
      ValueError: If ``copy_from`` is missing and so is ``state`` or ``alg``, or the state is not a
        vector of three integers.
      UnimplementedError: If ``alg`` is ``"threefry"``.

    Example:
      >>> g = tf.random.Generator.from_seed(1234)
      >>> g.normal([3]).numpy()
      array([ 0.9356609 ,  1.0854305 , -0.93788373], dtype=float32)
    """

    def __init__(
        self,
        copy_from: Generator | None = None,
        state: TensorLike | None = None,
        alg: AlgorithmLike | None = None,
    ):
        if copy_from is not None:
            state, alg = copy_from.state.read_value(), copy_from.algorithm
        if alg is None or state is None:
            raise ValueError("A generator needs `copy_from`, or `state` and `alg`.")
        self._alg = algorithm(alg)
        if isinstance(state, Variable):
            _check_shape(state.read_value(), (_SIZE,), "state")
            self._state = state
        else:
            value = _check_shape(_as_state(state), (_SIZE,), "state")
            self._state = Variable(value, trainable=False, name="StateVar", dtype=dtypes.int64)

    def __repr__(self) -> str:
        return f"<Generator alg='philox', state={self._state.numpy().tolist()}>"

    def _nt_saved_parts(self) -> dict[str, Any]:
        """Return the parts that a checkpoint stores, by name."""
        return {"_state_var": self._state}

    @classmethod
    def from_state(cls, state: TensorLike, alg: AlgorithmLike) -> Generator:
        """Create a generator from a state: the counter's two integers, then the key."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: TensorLike, alg: AlgorithmLike | None = None) -> Generator:
        """Create a generator from a seed: an integer of any size, or a vector of integers."""
        alg = 1 if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: AlgorithmLike | None = None) -> Generator:
        """Create a generator with a state from the system's entropy, different in each run."""
        words = [secrets.randbits(64) for _ in range(_SIZE)]
        return cls(state=words, alg=1 if alg is None else alg)

    @classmethod
    def from_key_counter(
        cls, key: TensorLike, counter: TensorLike, alg: AlgorithmLike
    ) -> Generator:
        """Create a generator from a key (one integer) and a counter (two integers)."""
        return cls(state=_join_state(key, counter), alg=alg)

    def reset(self, state: TensorLike) -> None:
        """Set the state."""
        self._state.assign(_check_shape(_as_state(state), (_SIZE,), "state"))

    def reset_from_seed(self, seed: TensorLike) -> None:
        """Set the state to that of a new generator with this seed."""
        self._state.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: TensorLike, counter: TensorLike) -> None:
        """Set the state from a key and a counter."""
        self._state.assign(_join_state(key, counter))

    @property
    def state(self) -> Variable:
        """The variable that holds the state: the counter's two integers, then the key."""
        return self._state

    @property
    def algorithm(self) -> int:
        """The number of the algorithm: 1, Philox."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The key, a scalar."""
        return self._state.read_value()[-1]

    def skip(self, delta: IntLike) -> Tensor:
        """Advance the state as drawing ``delta`` numbers does; return the previous state."""
        previous = self._state.read_value()
        self._advance(previous, movement.to_ints(delta))
        return previous

    def _advance(self, previous: Tensor, delta: int) -> None:
        self._state.assign(record(SKIP, (previous,), delta=delta))

    def _draw(self, kind: str, shape: ShapeLike, dtype: dtypes.DType) -> Tensor:
        dims = parse_shape(shape, "StatelessRandom")
        return stateless_random.draw(
            self.skip(stateless_random.count_numbers(dims)), kind, dims, dtype
        )

    def normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draw from a normal distribution; gradients reach ``mean`` and ``stddev``."""
        standard = self._draw("normal", shape, parse_float_dtype(dtype))
        return stateless_random.scale_and_shift(standard, stddev, mean, "StatelessRandomNormal")

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draw from a normal distribution truncated at two standard deviations."""
        standard = self._draw("truncated", shape, parse_float_dtype(dtype))
        return stateless_random.scale_and_shift(standard, stddev, mean, "StatelessTruncatedNormal")

    def uniform(
        self,
        shape: ShapeLike,
        minval: TensorLike | None = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draw uniformly from ``[minval, maxval)``; see `stateless_uniform`."""
        op = "StatelessRandomUniform"
        dims = parse_shape(shape, op)
        previous = self._state.read_value()
        values = stateless_random.uniform(previous, dims, minval, maxval, dtype, op)
        self._advance(previous, stateless_random.count_numbers(dims))
        return values

    def uniform_full_int(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.uint64, name: str | None = None
    ) -> Tensor:
        """Draw integers from the full range of a dtype: int32, int64, uint32 or uint64."""
        return self.uniform(shape, None, None, _as_integer_dtype(dtype))

    def binomial(
        self,
        shape: ShapeLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = dtypes.int32,
        name: str | None = None,
    ) -> Tensor:
        """Draw numbers of successes in trials. The numbers differ from TensorFlow's."""
        dims = parse_shape(shape, "StatefulRandomBinomial")
        values = stateless_random.binomial(self._state.read_value(), dims, counts, probs, dtype)
        # TensorFlow advances by 50 for each number and by 150 for each distribution.
        distribution_count = stateless_random.count_numbers(
            stateless_random.broadcast_parameters(
                [as_tensor(counts), as_tensor(probs)], "StatefulRandomBinomial"
            )
        )
        self.skip(150 * distribution_count + 50 * stateless_random.count_numbers(dims))
        return values

    def make_seeds(self, count: IntLike = 1) -> Tensor:
        """Return seeds for stateless functions: the columns of a tensor of shape (2, count)."""
        keys = self.uniform_full_int([movement.to_ints(count)], dtypes.int64)
        return joining.stack([keys, elementwise.zeros_of(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Return generators that are independent of each other and of this one."""
        keys = self.uniform_full_int([movement.to_ints(count)], dtypes.int64)
        zeros = as_tensor(np.zeros(_SIZE - 1, np.int64))
        return [
            Generator(state=joining.concat([zeros, keys[k : k + 1]], 0), alg=self._alg)
            for k in range(keys.shape[0])
        ]


def _as_integer_dtype(dtype: DTypeLike) -> dtypes.DType:
    integer_dtype = as_dtype(dtype)
    if not integer_dtype.is_integer:
        raise TypeError(f"dtype must be an integer dtype, got {integer_dtype.name}.")
    return integer_dtype


def _join_state(key: TensorLike, counter: TensorLike) -> Tensor:
    counter_words = _check_shape(_as_state(counter), (_SIZE - 1,), "counter")
    key_word = _check_shape(_as_state(_to_int64(key) if isinstance(key, int) else key), (), "key")
    return joining.concat([counter_words, movement.reshape(key_word, (1,))], 0)


_global_generator: list[Generator] = []


def get_global_generator() -> Generator:
    """Return the global generator, shared by the whole program; it is seeded by the system.

    Returns:
      The generator.

    Example:
      >>> tf.random.get_global_generator() is tf.random.get_global_generator()
      True
    """
    if not _global_generator:
        _global_generator.append(Generator.from_non_deterministic_state())
    generator: Generator = local.log.call_guarded(_get_current)
    return generator


def _get_current() -> Generator:
    return _global_generator[0]


def set_global_generator(generator: Generator) -> None:
    """Replace the global generator.

    Args:
      generator: The generator. A recorded function draws from the generator that is global at the
        time of the call (in TensorFlow, from the one at the time of tracing).

    Raises:
      TypeError: If ``generator`` is not a `Generator`.

    Example:
      >>> tf.random.set_global_generator(tf.random.Generator.from_seed(1))
      >>> tf.random.get_global_generator().uniform([2]).shape
      TensorShape([2])
    """
    if not isinstance(generator, Generator):
        raise TypeError(f"generator must be a Generator, got {generator!r}.")
    local.log.refuse("it sets the global generator")
    _global_generator[:] = [generator]
