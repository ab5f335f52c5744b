"""``tf.random.stateless_*``: draws that depend only on a seed, from Philox4x32-10 on the host."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...errors import InvalidArgumentError, UnimplementedError
from ...kernels.constants import PHILOX_BLOCK, PHILOX_UNIT, RANDOM_BLOCK, RANDOM_UNIT
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, MISSING, STOP, Native, Op, defop
from ..log.record import record, require
from ..values import dtypes
from ..values.dtypes import as_dtype, repr_of
from ..values.spec import Spec, broadcast, intern
from ..values.tensor import Tensor
from . import elementwise, joining, movement, philox
from .define import document
from .indexing import GATHER
from .reduction import reduce_sum
from .sorting import argsort

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, IntLike, ShapeLike, TensorLike

    # An `Algorithm`, its name or its number.
    AlgorithmLike: TypeAlias = "Algorithm | str | IntLike"


Array = np.ndarray[Any, Any]


class Algorithm(enum.Enum):
    """Algorithms of random generators; numtape has Philox, which AUTO_SELECT also selects."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_ALGORITHMS = {"philox": 1, "threefry": 2, "auto_select": 3}
_INTEGERS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)
_FLOATS = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
_COUNTS = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def algorithm(alg: AlgorithmLike) -> int:
    """Return the number of an algorithm; raise an error unless it is Philox."""
    value: Any = alg.value if isinstance(alg, Algorithm) else alg
    if isinstance(value, str):
        value = _ALGORITHMS.get(value.lower())
    elif not isinstance(value, int):
        value = movement.to_ints(value)
    if value not in (1, 2, 3):
        raise ValueError(
            f"Argument `alg` got unsupported value {alg}. Supported values are philox for the "
            "Philox algorithm, threefry for the ThreeFry algorithm, and auto_select for "
            "auto-selection."
        )
    if value == 2:
        raise UnimplementedError("numtape has no ThreeFry generator: take alg='philox'.")
    return 1


# The ops. Their first operand is a seed of two integers, or the state of a `Generator`, three
# integers.


def _drawn_spec(op: Op, *specs: Spec, shape: tuple[int, ...], dtype: str, **_: object) -> Spec:
    return intern(shape, as_dtype(dtype))


_KINDS = {
    "uniform": philox.uniform,
    "normal": philox.normal,
    "truncated": philox.truncate,
    "integers": philox.integers,
}


def _draw(out: Array, state: Array, kind: str, shape: tuple[int, ...], dtype: str) -> None:
    requested = as_dtype(dtype).as_numpy_dtype  # ``out`` may have a wider dtype
    out[...] = _KINDS[kind](philox.Philox(state), out.size, requested).reshape(shape)


# The work of drawing a number, in elements of an elementwise op.
_UNIFORM_WORK, _NORMAL_WORK, _STREAM_WORK = 4, 16, 64


def _native(
    kernel: str,
    dtypes_: tuple[str, ...],
    state: Spec,
    parameters: tuple[int, ...],
    units: int,
    work: int,
) -> Native:
    """Return a kernel of `kernels.cpu.philox`, whose first parameters describe the state."""
    words = state.size, state.dtype.size, *parameters
    return Native(f"philox.{kernel}", dtypes_, words, units, work)


def _units(out: Spec) -> int:
    units: int = -(-out.dtype.size * out.size // (PHILOX_BLOCK * PHILOX_UNIT))
    return units


def _draw_native(out: Spec, state: Spec, kind: str, shape: tuple[int, ...], dtype: str) -> Native:
    if kind == "truncated":
        groups = -(-out.size * out.dtype.size // PHILOX_BLOCK)
        return _native(kind, (dtype,), state, (out.size,), groups, _NORMAL_WORK * out.size)
    work = _NORMAL_WORK if kind == "normal" else _UNIFORM_WORK
    return _native(kind, (dtype,), state, (out.size,), _units(out), work * out.size)


def _draw_numbered(out: Array, state: Array, kind: str, shape: tuple[int, ...], dtype: str) -> None:
    key = np.random.SeedSequence([int(k) % 2**63 for k in state])
    source = np.random.Generator(np.random.Philox(key))
    wide = np.float64 if dtype == "float64" else np.float32
    value = source.random(shape, wide) if kind == "uniform" else source.standard_normal(shape, wide)
    if kind == "uniform" and dtype in ("float16", "bfloat16"):  # multiples of the epsilon below 1
        steps = 2.0**10 if dtype == "float16" else 2.0**7
        value = np.floor(value * steps) / steps
    out[...] = value


def _draw_numbered_native(
    out: Spec, state: Spec, kind: str, shape: tuple[int, ...], dtype: str
) -> Native | None:
    if kind != "uniform":  # NumPy draws the others
        return None
    units = -(-out.size * out.dtype.size // (RANDOM_UNIT * RANDOM_BLOCK))
    return Native("random.numbered", (dtype,), (out.size,), units, _UNIFORM_WORK * out.size)


NUMBERED = defop(
    "NumberedRandom",
    ARRAY,
    1,
    _drawn_spec,
    compute=_draw_numbered,
    native=_draw_numbered_native,
    gradient=STOP,
    on_host=True,
)

RANDOM = defop(
    "StatelessRandom",
    ARRAY,
    1,
    _drawn_spec,
    compute=_draw,
    native=_draw_native,
    gradient=STOP,
    on_host=True,
)


def _draw_in_range(
    out: Array, state: Array, low: Array, high: Array, shape: tuple[int, ...], dtype: str
) -> None:
    unsigned = out.dtype.str.replace("i", "u")
    words = philox.integers(philox.Philox(state), out.size, unsigned)
    width = high.view(unsigned) - low.view(unsigned)
    out[...] = (words % width + low.view(unsigned)).view(out.dtype).reshape(shape)


def _draw_in_range_native(
    out: Spec, state: Spec, low: Spec, high: Spec, shape: tuple[int, ...], dtype: str
) -> Native:
    return _native("between", (dtype,), state, (out.size,), _units(out), _UNIFORM_WORK * out.size)


BETWEEN = defop(
    "StatelessRandomUniformInt",
    ARRAY,
    3,
    _drawn_spec,
    compute=_draw_in_range,
    native=_draw_in_range_native,
    gradient=STOP,
    on_host=True,
)


def _gamma(out: Array, state: Array, alpha: Array, shape: tuple[int, ...], dtype: str) -> None:
    count = out.size // max(alpha.size, 1)
    out[...] = philox.gamma(philox.Philox(state), alpha, count).reshape(shape)


def _gamma_native(
    out: Spec, state: Spec, alpha: Spec, shape: tuple[int, ...], dtype: str
) -> Native:
    sizes = alpha.size, out.size // alpha.size
    return _native("gamma", (dtype,), state, sizes, out.size, _STREAM_WORK * out.size)


def _gamma_vjp(
    g: Tensor, y: Tensor, state: Tensor, alpha: Tensor, shape: tuple[int, ...], dtype: str
) -> tuple[None, Tensor]:
    """Return the adjoint by implicit differentiation (Figurnov, Mohamed and Mnih, 2018)."""
    extra_rank = y.ndim - alpha.ndim
    each = g * record(GAMMA_SLOPE, (movement.broadcast_to(alpha, shape), y))
    return None, reduce_sum(each, tuple(range(extra_rank)))


GAMMA = defop(
    "StatelessRandomGamma",
    ARRAY,
    2,
    _drawn_spec,
    compute=_gamma,
    native=_gamma_native,
    vjp=_gamma_vjp,
    on_host=True,
)
GAMMA_SLOPE = defop(
    "RandomGammaGrad",
    ARRAY,
    2,
    lambda op, alpha, x: x,
    on_host=True,
    gradient=MISSING,
    compute=lambda out, alpha, x: np.copyto(out, philox.gamma_slope(alpha, x), casting="same_kind"),
)


def _write_counts(value: Array, out: Array) -> None:
    """Write counts; NaN, which marks invalid parameters, becomes 0 in integer dtypes."""
    out[...] = value if out.dtype.kind == "f" else np.nan_to_num(value)


def _poisson(out: Array, state: Array, rate: Array, shape: tuple[int, ...], dtype: str) -> None:
    count = out.size // max(rate.size, 1)
    _write_counts(philox.poisson(philox.Philox(state), rate, count).reshape(shape), out)


def _poisson_native(
    out: Spec, state: Spec, rate: Spec, shape: tuple[int, ...], dtype: str
) -> Native:
    sizes, kinds = (rate.size, out.size // rate.size), (dtype, rate.dtype.name)
    return _native("poisson", kinds, state, sizes, out.size, _STREAM_WORK * out.size)


# As in TensorFlow, no gradient flows with an explicit seed, and none is registered with a drawn
# seed.
POISSON = defop(
    "StatelessRandomPoisson",
    ARRAY,
    2,
    _drawn_spec,
    compute=_poisson,
    native=_poisson_native,
    gradient=STOP,
    on_host=True,
)
POISSON_DRAWN = defop(
    "RandomPoissonV2",
    ARRAY,
    2,
    _drawn_spec,
    compute=_poisson,
    native=_poisson_native,
    on_host=True,
)


def _binomial(
    out: Array, state: Array, counts: Array, probs: Array, shape: tuple[int, ...], dtype: str
) -> None:
    _write_counts(philox.binomial(philox.Philox(state), counts, probs, shape), out)


BINOMIAL = defop(
    "StatelessRandomBinomial",
    ARRAY,
    3,
    _drawn_spec,
    compute=_binomial,
    gradient=STOP,
    on_host=True,
)


def _categorical(
    out: Array, state: Array, logits: Array, shape: tuple[int, ...], dtype: str
) -> None:
    out[...] = philox.categorical(philox.Philox(state), logits, shape[1])


def _categorical_native(
    out: Spec, state: Spec, logits: Spec, shape: tuple[int, ...], dtype: str
) -> Native:
    rows, classes = logits.shape
    sizes = classes, shape[1], logits.dtype.size
    kinds = dtype, logits.dtype.name
    work = _UNIFORM_WORK * (2 * logits.size + out.size)
    return _native("categorical", kinds, state, sizes, rows, work)


CATEGORICAL = defop(
    "StatelessMultinomial",
    ARRAY,
    2,
    _drawn_spec,
    compute=_categorical,
    native=_categorical_native,
    gradient=STOP,
    on_host=True,
)


# Arguments.


def parse_shape(shape: ShapeLike, op: str) -> tuple[int, ...]:
    """Convert and check the shape of numbers to draw."""
    if type(shape) is tuple or type(shape) is list:  # ints, most often
        for size in shape:
            if type(size) is not int or not 0 <= size < 2**31:
                break
        else:
            return tuple(shape)
    value = movement.to_ints(shape)
    require(not isinstance(value, int), op, "shape must be a vector of {int32,int64}, got shape []")
    dims = movement.to_shape(value)
    require(min(dims, default=0) >= 0, op, f"Dimension {min(dims, default=0)} must be >= 0")
    return dims


def parse_seed(seed: TensorLike, op: str) -> Tensor:
    """Convert a seed to a tensor of two integers."""
    result = as_tensor(seed)
    if result.dtype not in (dtypes.int32, dtypes.int64):
        if result.dtype not in (dtypes.uint32, dtypes.uint64):
            raise InvalidArgumentError(
                f"A seed is of int32 or int64, not {result.dtype.name} [Op:{op}]"
            )
        result = elementwise.cast(result, dtypes.int64)
    require(
        tuple(result.shape) == (2,), op, f"seed must have shape [2], not {result.shape.as_list()}"
    )
    return result


def parse_float_dtype(dtype: DTypeLike) -> dtypes.DType:
    """Convert and check the dtype of floats to draw."""
    result = as_dtype(dtype)
    if result not in _FLOATS:
        raise TypeError(f"Random floats are of a floating dtype, not dtype={result.name}.")
    return result


def to_parameter(value: TensorLike, dtype: dtypes.DType, op: str) -> Tensor:
    """Convert a parameter to a tensor of a dtype."""
    result = as_tensor(value, intern((), dtype), op)
    if result.dtype is not dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
            f"{result.dtype.name}."
        )
    return result


def draw(state: Tensor, kind: str, shape: tuple[int, ...], dtype: dtypes.DType) -> Tensor:
    """Record numbers of one kind."""
    return record(RANDOM, (state,), kind=kind, shape=shape, dtype=dtype.name)


def draw_numbered(state: Tensor, kind: str, shape: tuple[int, ...], dtype: dtypes.DType) -> Tensor:
    """Record numbers of one kind, "uniform" or "normal", for a seed and the number of the draw."""
    return record(NUMBERED, (state,), kind=kind, shape=shape, dtype=dtype.name)


def _is_number(value: object, number: int) -> bool:
    return type(value) in (int, float) and value == number


def scale_and_shift(numbers: Tensor, scale: TensorLike, shift: TensorLike, op: str) -> Tensor:
    """Return ``numbers * scale + shift``; check that it has the shape of ``numbers``."""
    if _is_number(scale, 1) and _is_number(shift, 0):
        return numbers
    dtype, shape = numbers.dtype, numbers.shape
    result = numbers * to_parameter(scale, dtype, op) + to_parameter(shift, dtype, op)
    require(result.shape == shape, op, f"Parameters do not broadcast to shape {shape}")
    return result


def uniform(
    state: Tensor,
    shape: tuple[int, ...],
    minval: TensorLike | None,
    maxval: TensorLike | None,
    dtype: DTypeLike,
    op: str,
) -> Tensor:
    """Record floats or integers in a range."""
    requested = as_dtype(dtype)
    if requested in _FLOATS:
        if (minval is None or _is_number(minval, 0)) and (maxval is None or _is_number(maxval, 1)):
            return draw(state, "uniform", shape, requested)
        low = to_parameter(0 if minval is None else minval, requested, op)
        high = to_parameter(1 if maxval is None else maxval, requested, op)
        return scale_and_shift(draw(state, "uniform", shape, requested), high - low, low, op)
    if requested not in _INTEGERS:
        raise ValueError(
            f"Argument `dtype` got invalid value {requested!r}. Accepted dtypes are float16, "
            "bfloat16, float32, float64, int32, int64, uint32 and uint64."
        )
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {requested!r}, argument `minval` and `maxval` must "
            "be both "
            f"None or not None. Got `minval`={minval} and `maxval`={maxval}."
        )
    if minval is None or maxval is None:
        return draw(state, "integers", shape, requested)
    low, high = to_parameter(minval, requested, op), to_parameter(maxval, requested, op)
    require(not low.ndim and not high.ndim, op, "minval and maxval must be 0-D")
    least, most = (
        bound if type(bound) is int else tensor.numpy()
        for bound, tensor in ((minval, low), (maxval, high))
    )
    require(bool(least < most), op, f"Need minval < maxval, got {least} >= {most}")
    return record(BETWEEN, (state, low, high), shape=shape, dtype=requested.name)


def broadcast_parameters(parameters: list[Tensor], op: str) -> tuple[int, ...]:
    """Return the shape to which parameters broadcast."""
    return broadcast(op, *(x._spec for x in parameters))


def check_ending(shape: tuple[int, ...], parameters: list[Tensor], op: str) -> tuple[int, ...]:
    """Return the shape to which parameters broadcast; check that ``shape`` ends with it."""
    common = broadcast_parameters(parameters, op)
    require(
        len(common) <= len(shape) and shape[len(shape) - len(common) :] == common,
        op,
        "Shape passed in must end with broadcasted shape.",
    )
    return common


_TINY = {
    dtype: float(np.finfo(dtype.as_numpy_dtype).tiny)
    for dtype in (dtypes.float16, dtypes.float32, dtypes.float64)
}


def gamma(
    state: Tensor, shape: tuple[int, ...], alpha: Tensor, beta: Tensor | None, op: str
) -> Tensor:
    """Record gamma numbers, whose shape ends with the shape of ``alpha``."""
    result = record(GAMMA, (state, alpha), shape=shape, dtype=alpha.dtype.name)
    if beta is not None:
        result = result / beta
    return elementwise.maximum(_TINY[alpha.dtype], result)


def poisson(
    op: Op, state: Tensor, shape: tuple[int, ...], rate: Tensor, dtype: DTypeLike
) -> Tensor:
    """Record Poisson numbers, whose shape ends with the shape of the rate."""
    requested = as_dtype(dtype)
    if requested not in _COUNTS:
        raise InvalidArgumentError(
            f"Value for attr 'dtype' of {requested.name} is not in the list of allowed values: "
            "half, "
            f"float, double, int32, int64 [Op:{op.name}]"
        )
    return record(op, (state, rate), shape=shape, dtype=requested.name)


def binomial(
    state: Tensor, shape: tuple[int, ...], counts: TensorLike, probs: TensorLike, dtype: DTypeLike
) -> Tensor:
    """Record binomial numbers."""
    op, requested = BINOMIAL.name, as_dtype(dtype)
    if requested not in _COUNTS:
        raise InvalidArgumentError(
            f"Value for attr 'dtype' of {requested.name} is not in the list of allowed values: "
            "half, "
            f"float, double, int32, int64 [Op:{op}]"
        )
    number, chance = (elementwise.cast(as_tensor(x), dtypes.float64) for x in (counts, probs))
    check_ending(shape, [number, chance], op)
    return record(BINOMIAL, (state, number, chance), shape=shape, dtype=requested.name)


def categorical(
    state: Tensor, logits: TensorLike, num_samples: IntLike, dtype: DTypeLike | None
) -> Tensor:
    """Record classes drawn with probabilities given by logits."""
    op = CATEGORICAL.name
    requested = dtypes.int64 if dtype is None else as_dtype(dtype)
    if requested not in (dtypes.int32, dtypes.int64):
        raise ValueError(
            f"Argument `dtype` got invalid value {requested!r}. "
            "Accepted dtypes are int32 and int64."
        )
    x, count = as_tensor(logits), movement.to_ints(num_samples)
    require(x.ndim == 2, op, f"logits should be a matrix, got shape {x.shape.as_list()}")
    require(type(count) is int, op, f"num_samples should be a scalar, got {repr_of(num_samples)}")
    require(count >= 0, op, f"num_samples should be non-negative, got {count}")
    require(x.shape[1] > 0, op, "num_classes should be positive, got 0")
    shape = (x.shape[0], count)
    return record(CATEGORICAL, (state, x), shape=shape, dtype=requested.name)


def shuffle(state: Tensor, value: TensorLike) -> Tensor:
    """Record the slices along the first axis in a random order."""
    x = as_tensor(value)
    require(x.ndim > 0, "StatelessShuffle", "value must have at least one axis")
    keys = draw(state, "integers", (x.shape[0],), dtypes.int64)
    return record(GATHER, (x, argsort(keys)), axis=0)


def stack_pair(first: Tensor, second: Tensor) -> Tensor:
    """Stack two scalars to a vector."""
    return joining.stack([first, second])


def count_numbers(shape: tuple[int, ...]) -> int:
    """Return the number of elements of a shape."""
    return math.prod(shape)


_COMMON = """
      name: Not used.
      alg: The generator: ``"philox"`` or ``"auto_select"``, which is the same.

    Returns:
      A tensor of shape ``shape`` and of the requested dtype.

    Raises:
      InvalidArgumentError: If the seed is not two integers, or the shape is not a vector of sizes.
      TypeError: If ``dtype`` is not supported.
      ValueError: If ``alg`` is unknown.
      UnimplementedError: If ``alg`` is ``"threefry"``.
"""
_FIRST = """
    Args:
      shape: The shape: ints, or a tensor of ints.
      seed: Two integers, int32 or int64.
"""


@document(_FIRST)
@document(_COMMON, "<common>")
def stateless_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: AlgorithmLike = "auto_select",
) -> Tensor:
    """Draw from a normal distribution, determined by a seed. The numbers are TensorFlow's.

    <arguments>
      mean: The mean; it broadcasts to ``shape``, and gradients reach it.
      stddev: The standard deviation; it broadcasts to ``shape``, and gradients reach it.
      dtype: A floating dtype.
    <common>

    Example:
      >>> tf.random.stateless_normal([3], seed=[1, 2]).numpy()
      array([0.5441101 , 0.20738031, 0.07356433], dtype=float32)
    """
    op = "StatelessRandomNormal"
    algorithm(alg)
    dims, requested = parse_shape(shape, op), parse_float_dtype(dtype)
    standard = draw(parse_seed(seed, op), "normal", dims, requested)
    return scale_and_shift(standard, stddev, mean, op)


@document(_FIRST)
@document(_COMMON, "<common>")
def stateless_truncated_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: AlgorithmLike = "auto_select",
) -> Tensor:
    """Draw from a normal distribution truncated at two standard deviations, determined by a seed.

    <arguments>
      mean: The mean; it broadcasts to ``shape``, and gradients reach it.
      stddev: The standard deviation before truncation; it broadcasts to ``shape``, and gradients
        reach it.
      dtype: A floating dtype.
    <common>

    Example:
      >>> tf.random.stateless_truncated_normal([3], seed=[1, 2]).numpy()
      array([0.5441101 , 0.20738031, 0.07356433], dtype=float32)
    """
    op = "StatelessTruncatedNormal"
    algorithm(alg)
    dims, requested = parse_shape(shape, op), parse_float_dtype(dtype)
    standard = draw(parse_seed(seed, op), "truncated", dims, requested)
    return scale_and_shift(standard, stddev, mean, op)


@document(_FIRST)
@document(_COMMON.replace("TypeError", "ValueError"), "<common>")
def stateless_uniform(
    shape: ShapeLike,
    seed: TensorLike,
    minval: TensorLike | None = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: AlgorithmLike = "auto_select",
) -> Tensor:
    """Draw uniformly from ``minval`` (included) to ``maxval`` (excluded), determined by a seed.

    The numbers are TensorFlow's. Integers are exactly uniform only if the width of the range
    divides 2 ** 32 or 2 ** 64.

    <arguments>
      minval: The lower bound. If it and ``maxval`` are None, integers are drawn from the full
        range.
      maxval: The upper bound; None for 1, for floats only.
      dtype: A floating dtype, int32 or int64; for the full range also uint32 or uint64.
    <common>

    Example:
      >>> tf.random.stateless_uniform([3], seed=[1, 2]).numpy()
      array([0.8440604 , 0.19204533, 0.9962232 ], dtype=float32)
      >>> tf.random.stateless_uniform([3], [1, 2], 0, 10, dtype=tf.int32).numpy()
      array([0, 9, 4], dtype=int32)
    """
    op = "StatelessRandomUniform"
    algorithm(alg)
    dims, requested = parse_shape(shape, op), dtypes.as_dtype(dtype)
    if requested in (dtypes.uint32, dtypes.uint64) and not minval is maxval is None:
        raise ValueError(f"With bounds, random integers are int32 or int64, not {requested.name}.")
    return uniform(parse_seed(seed, op), dims, minval, maxval, dtype, op)


def stateless_gamma(
    shape: ShapeLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Draw from gamma distributions, determined by a seed. The numbers are TensorFlow's.

    Gradients reach ``alpha`` (implicitly: Figurnov, Mohamed and Mnih, "Implicit Reparameterization
    Gradients", 2018; first order only) and ``beta``.

    Args:
      shape: The shape of the result. It ends with the shape to which ``alpha`` and ``beta``
        broadcast.
      seed: Two integers, int32 or int64.
      alpha: The shape parameter. A negative one gives NaN.
      beta: The inverse scale; None for 1.
      dtype: float16, float32 or float64.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and of the requested dtype.

    Raises:
      InvalidArgumentError: If the seed is not two integers, the shape does not fit the parameters,
        or ``dtype`` is bfloat16.
      TypeError: If ``dtype`` is not supported.
      ValueError: If parameters are tensors of another dtype.

    Example:
      >>> tf.random.stateless_gamma([3], seed=[1, 2], alpha=2.0, dtype=tf.float64).numpy()
      array([2.81727356, 1.92413657, 3.33600669])
    """
    op, requested = "StatelessRandomGammaV3", parse_float_dtype(dtype)
    require(
        requested is not dtypes.bfloat16, op, "numbers are of half, float or double, not bfloat16"
    )
    a = to_parameter(alpha, requested, op)
    b = None if beta is None else to_parameter(beta, requested, op)
    dims = parse_shape(shape, op)
    common = check_ending(dims, [a] if b is None else [a, b], op)
    if b is not None:
        a = movement.broadcast_to(a, common)
    return gamma(parse_seed(seed, op), dims, a, b, op)


def stateless_poisson(
    shape: ShapeLike,
    seed: TensorLike,
    lam: TensorLike,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Draw from Poisson distributions, determined by a seed. The numbers are TensorFlow's.

    Args:
      shape: The shape of the result. It ends with the shape of ``lam``.
      seed: Two integers, int32 or int64.
      lam: The rate, which is the mean.
      dtype: float16, float32, float64, int32 or int64.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and of the requested dtype. A negative rate gives 0; a rate that
      is not finite gives NaN, or 0 for integer dtypes.

    Raises:
      InvalidArgumentError: If the seed is not two integers, the shape does not fit ``lam``, or
        ``dtype`` is not supported.

    Example:
      >>> tf.random.stateless_poisson([3, 2], seed=[1, 2], lam=[3.0, 40.0]).numpy()
      array([[ 5, 57],
             [ 5, 34],
             [ 4, 45]], dtype=int32)
    """
    op, rate = "StatelessRandomPoisson", as_tensor(lam)
    dims = parse_shape(shape, op)
    check_ending(dims, [rate], op)
    return poisson(POISSON, parse_seed(seed, op), dims, rate, dtype)


def stateless_binomial(
    shape: ShapeLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Draw from binomial distributions, determined by a seed. The numbers differ from TensorFlow's.

    Args:
      shape: The shape of the result. It ends with the shape to which ``counts`` and ``probs``
        broadcast.
      seed: Two integers, int32 or int64.
      counts: The number of trials.
      probs: The probability of success.
      output_dtype: float16, float32, float64, int32 or int64.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and of the requested dtype. Invalid parameters give NaN, or 0 for
      integer dtypes.

    Raises:
      InvalidArgumentError: If the seed is not two integers, the shape does not fit the parameters,
        or ``output_dtype`` is not supported.

    Example:
      >>> x = tf.random.stateless_binomial([1000], seed=[1, 2], counts=10, probs=0.5)
      >>> bool(abs(np.mean(x) - 5) < 0.3)
      True
    """
    op = "StatelessRandomBinomial"
    dims = parse_shape(shape, op)
    return binomial(parse_seed(seed, op), dims, counts, probs, output_dtype)


def stateless_categorical(
    logits: TensorLike,
    num_samples: IntLike,
    seed: TensorLike,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Draw classes with probabilities given by logits, determined by a seed.

    For few classes the numbers are TensorFlow's. No gradient flows through.

    Args:
      logits: Unnormalized logarithms of probabilities: a tensor of shape (rows, classes).
      num_samples: The number of draws for each row.
      seed: Two integers, int32 or int64.
      dtype: int64 or int32.
      name: Not used.

    Returns:
      A tensor of shape (rows, num_samples).

    Raises:
      InvalidArgumentError: If ``logits`` is not a matrix, or the seed is not two integers.
      ValueError: If ``dtype`` is not supported.

    Example:
      >>> logits = tf.math.log([[0.2, 0.5, 0.3]])
      >>> tf.random.stateless_categorical(logits, 4, seed=[1, 2]).numpy()
      array([[2, 2, 0, 2]])
    """
    state = parse_seed(seed, "StatelessMultinomial")
    return categorical(state, logits, num_samples, dtype)


def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: AlgorithmLike = "auto_select", name: str | None = None
) -> Tensor:
    """Shuffle the slices along the first axis, determined by a seed.

    Args:
      value: A tensor of at least one axis.
      seed: Two integers, int32 or int64.
      alg: The generator, as for `stateless_uniform`.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If the seed is not two integers, or there is no axis.
      ValueError: If ``alg`` is unknown.

    Example:
      >>> np.sort(tf.random.experimental.stateless_shuffle([3, 1, 2], seed=[1, 2]).numpy())
      array([1, 2, 3], dtype=int32)
    """
    algorithm(alg)
    return shuffle(parse_seed(seed, "StatelessShuffle"), value)


def split(seed: TensorLike, num: IntLike = 2, alg: AlgorithmLike = "auto_select") -> Tensor:
    """Derive several seeds from one, the same as TensorFlow.

    Args:
      seed: Two integers, int32 or int64.
      num: The number of seeds.
      alg: The generator, as for `stateless_uniform`.

    Returns:
      A tensor of shape (num, 2) and of the dtype of ``seed``.

    Raises:
      InvalidArgumentError: If the seed is not two integers.
      ValueError: If ``alg`` is unknown.

    Example:
      >>> tf.random.split([1, 2], num=2).numpy()
      array([[1105988140, 1738052849],
             [-335576002,  370444179]], dtype=int32)
    """
    algorithm(alg)
    state = parse_seed(seed, "StatelessRandomUniformFullInt")
    dims = parse_shape([movement.to_ints(num), 2], "StatelessRandomUniformFullInt")
    return draw(state, "integers", dims, state.dtype)


def fold_in(seed: TensorLike, data: TensorLike, alg: AlgorithmLike = "auto_select") -> Tensor:
    """Derive a seed from a seed and an integer, the same as TensorFlow.

    Args:
      seed: Two integers, int32 or int64.
      data: An integer, int32 or int64.
      alg: The generator, as for `stateless_uniform`.

    Returns:
      A tensor of two integers of the dtype of ``data``.

    Raises:
      InvalidArgumentError: If the seed is not two integers.
      ValueError: If ``alg`` is unknown, or ``data`` is not an integer.

    Example:
      >>> tf.random.fold_in([1, 2], 3).numpy()
      array([1105988140,          3], dtype=int32)
    """
    algorithm(alg)
    state, number = parse_seed(seed, "StatelessRandomUniformFullInt"), as_tensor(data)
    if number.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"data must be int32 or int64, got {number.dtype.name}")
    return stack_pair(draw(state, "integers", (), number.dtype), number)


# A permutation of indices.


def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> Tensor:
    """Return the place of an index in a random permutation of 0 to ``max_index``.

    The permutation is not stored: a Feistel network computes each place. It differs from
    TensorFlow's for the same seed.

    Args:
      index: Integers from 0 to ``max_index``.
      seed: Two integers, or a pair for each index.
      max_index: The largest index; it broadcasts to ``index``.

    Returns:
      Integers of the dtype of ``index``, from 0 to ``max_index``.

    Raises:
      InvalidArgumentError: If an index is negative or above ``max_index``, or the seed is no pair.

    Example:
      >>> places = tf.random.experimental.index_shuffle(tf.range(10), seed=[1, 2], max_index=9)
      >>> sorted(places.numpy().tolist())
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    op = "RandomIndexShuffle"
    indices, keys = as_tensor(index), as_tensor(seed)
    require(indices.dtype.is_integer, op, f"index must be integers, got {indices.dtype.name}")
    require(keys.dtype.is_integer, op, f"seed must be integers, got {keys.dtype.name}")
    require(keys.ndim > 0 and keys.shape[-1] == 2, op, f"seed must be pairs, got {keys.shape}")
    values, largest = np.asarray(indices._array()), np.asarray(as_tensor(max_index)._array())
    require(bool((largest >= 0).all()), op, "max_index must be >= 0")
    require(bool((values >= 0).all()), op, "index must be >= 0")
    require(bool((largest >= values).all()), op, "max_index must be >= index")
    pairs = np.asarray(keys._array()).astype(np.uint64)
    places = np.array(values, np.uint64)
    limit = np.broadcast_to(largest.astype(np.uint64), places.shape)
    bits = max(1, (int(limit.max(initial=0)).bit_length() + 1) // 2)
    is_outside = np.ones(places.shape, np.bool_)
    while is_outside.any():  # a place beyond the largest index is permuted again
        moved = _permute(places, pairs, bits)
        places = np.where(is_outside, moved, places)
        is_outside = places > limit
    return as_tensor(places.astype(indices.dtype.as_numpy_dtype))


def _permute(places: Array, pairs: Array, bits: int) -> Array:
    """Apply a Feistel network of eight rounds to numbers of ``2 * bits`` bits."""
    mask = np.uint64(2**bits - 1)
    left, right = places >> np.uint64(bits), places & mask
    with np.errstate(over="ignore"):
        for k in range(8):
            mixed = right + pairs[..., k % 2] + np.uint64((k + 1) * 0x9E3779B97F4A7C15 % 2**64)
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
                mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
            left, right = right, left ^ ((mixed ^ (mixed >> np.uint64(31))) & mask)
    return (left << np.uint64(bits)) | right
