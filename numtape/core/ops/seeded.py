"""Random numbers that a seed says altogether: TensorFlow's, from Philox4x32-10 on the host."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

from ...errors import InvalidArgumentError, UnimplementedError
from ..log.op import ARRAY, MISSING, STOP, Op, defop
from ..log.record import record, require
from ..log.tensors import as_tensor
from ..values import dtypes
from ..values.dtypes import as_dtype, repr_of
from ..values.spec import Spec, broadcast, intern
from ..values.tensor import Tensor
from . import elementwise, joining, movement, philox, philox_draws
from .indexing import GATHER
from .reduction import reduce_sum
from .sorting import argsort

Array = np.ndarray[Any, Any]


class Algorithm(enum.Enum):
    """Generators of random numbers; numtape has Philox, which is what AUTO_SELECT takes."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_ALGORITHMS = {"philox": 1, "threefry": 2, "auto_select": 3}
_INTEGERS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)
_FLOATS = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
_COUNTS = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def algorithm(alg: Any) -> int:
    """The number of an algorithm; an error unless it is Philox."""
    value = alg.value if isinstance(alg, Algorithm) else alg
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


# The ops. Their first operand is a seed of two integers, or the state of a `Generator`, of three.


def _drawn_spec(op: Op, *specs: Spec, shape: tuple[int, ...], dtype: str, **_: Any) -> Spec:
    return intern(shape, as_dtype(dtype))


_KINDS = {
    "uniform": philox.uniform,
    "normal": philox.normal,
    "truncated": philox.truncate,
    "integers": philox.integers,
}


def _random(out: Array, state: Array, kind: str, shape: tuple[int, ...], dtype: str) -> None:
    requested = as_dtype(dtype).as_numpy_dtype  # of which ``out`` may be a wider one
    out[...] = _KINDS[kind](philox.Philox(state), out.size, requested).reshape(shape)


def _number(out: Array, state: Array, kind: str, shape: tuple[int, ...], dtype: str) -> None:
    key = np.random.SeedSequence([int(k) % 2**63 for k in state])
    source = np.random.Generator(np.random.Philox(key))
    wide = np.float64 if dtype == "float64" else np.float32
    value = source.random(shape, wide) if kind == "uniform" else source.standard_normal(shape, wide)
    if kind == "uniform" and dtype in ("float16", "bfloat16"):  # multiples of the last bit below 1
        steps = 2.0**10 if dtype == "float16" else 2.0**7
        value = np.floor(value * steps) / steps
    out[...] = value


NUMBERED = defop(
    "NumberedRandom", ARRAY, 1, _drawn_spec, compute=_number, gradient=STOP, on_host=True
)

RANDOM = defop(
    "StatelessRandom", ARRAY, 1, _drawn_spec, compute=_random, gradient=STOP, on_host=True
)


def _between(
    out: Array, state: Array, low: Array, high: Array, shape: tuple[int, ...], dtype: str
) -> None:
    unsigned = out.dtype.str.replace("i", "u")
    words = philox.integers(philox.Philox(state), out.size, unsigned)
    width = high.view(unsigned) - low.view(unsigned)
    out[...] = (words % width + low.view(unsigned)).view(out.dtype).reshape(shape)


BETWEEN = defop(
    "StatelessRandomUniformInt",
    ARRAY,
    3,
    _drawn_spec,
    compute=_between,
    gradient=STOP,
    on_host=True,
)


def _gamma(out: Array, state: Array, alpha: Array, shape: tuple[int, ...], dtype: str) -> None:
    count = out.size // max(alpha.size, 1)
    out[...] = philox_draws.gamma(philox.Philox(state), alpha, count).reshape(shape)


def _gamma_vjp(
    g: Tensor, y: Tensor, state: Tensor, alpha: Tensor, shape: tuple[int, ...], dtype: str
) -> tuple[None, Tensor]:
    """Implicit differentiation: Figurnov, Mohamed and Mnih (2018)."""
    lead = y.ndim - alpha.ndim
    each = g * record(GAMMA_SLOPE, (movement.broadcast_to(alpha, shape), y))
    return None, reduce_sum(each, tuple(range(lead)))


GAMMA = defop(
    "StatelessRandomGamma", ARRAY, 2, _drawn_spec, compute=_gamma, vjp=_gamma_vjp, on_host=True
)
GAMMA_SLOPE = defop(
    "RandomGammaGrad",
    ARRAY,
    2,
    lambda op, alpha, x: x,
    on_host=True,
    gradient=MISSING,
    compute=lambda out, alpha, x: np.copyto(
        out, philox_draws.gamma_slope(alpha, x), casting="same_kind"
    ),
)


def _counts(value: Array, out: Array) -> None:
    """NaN, where there is no such number, is 0 among integers."""
    out[...] = value if out.dtype.kind == "f" else np.nan_to_num(value)


def _poisson(out: Array, state: Array, rate: Array, shape: tuple[int, ...], dtype: str) -> None:
    count = out.size // max(rate.size, 1)
    _counts(philox_draws.poisson(philox.Philox(state), rate, count).reshape(shape), out)


# Of a seed that is given no gradient flows; of one that is drawn TensorFlow has none registered.
POISSON = defop(
    "StatelessRandomPoisson", ARRAY, 2, _drawn_spec, compute=_poisson, gradient=STOP, on_host=True
)
POISSON_DRAWN = defop("RandomPoissonV2", ARRAY, 2, _drawn_spec, compute=_poisson, on_host=True)


def _binomial(
    out: Array, state: Array, counts: Array, probs: Array, shape: tuple[int, ...], dtype: str
) -> None:
    _counts(philox_draws.binomial(philox.Philox(state), counts, probs, shape), out)


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
    out[...] = philox_draws.categorical(philox.Philox(state), logits, shape[1])


CATEGORICAL = defop(
    "StatelessMultinomial",
    ARRAY,
    2,
    _drawn_spec,
    compute=_categorical,
    gradient=STOP,
    on_host=True,
)


# Arguments.


def checked_shape(shape: Any, op: str) -> tuple[int, ...]:
    """A shape of numbers to be drawn."""
    value = movement.to_ints(shape)
    require(not isinstance(value, int), op, "shape must be a vector of {int32,int64}, got shape []")
    dims = movement.to_shape(value)
    require(min(dims, default=0) >= 0, op, f"Dimension {min(dims, default=0)} must be >= 0")
    return dims


def checked_seed(seed: Any, op: str) -> Tensor:
    """A seed as a tensor of two integers."""
    result = as_tensor(seed)
    if result.dtype not in (dtypes.int32, dtypes.int64):
        raise InvalidArgumentError(
            f"A seed is of int32 or int64, not {result.dtype.name} [Op:{op}]"
        )
    require(
        tuple(result.shape) == (2,), op, f"seed must have shape [2], not {result.shape.as_list()}"
    )
    return result


def floating(dtype: Any) -> dtypes.DType:
    """A dtype of floats to be drawn."""
    result = as_dtype(dtype)
    if result not in _FLOATS:
        raise TypeError(f"Random floats are of a floating dtype, not dtype={result.name}.")
    return result


def operand(value: Any, dtype: dtypes.DType, op: str) -> Tensor:
    """A parameter as a tensor of a dtype."""
    result = as_tensor(value, intern((), dtype), op)
    if result.dtype is not dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
            f"{result.dtype.name}."
        )
    return result


def draw(state: Tensor, kind: str, shape: tuple[int, ...], dtype: dtypes.DType) -> Tensor:
    """Numbers of one kind."""
    return record(RANDOM, (state,), kind=kind, shape=shape, dtype=dtype.name)


def number(state: Tensor, kind: str, shape: tuple[int, ...], dtype: dtypes.DType) -> Tensor:
    """Numbers of one kind, "uniform" or "normal", of a seed and the number of the draw."""
    return record(NUMBERED, (state,), kind=kind, shape=shape, dtype=dtype.name)


def scale(rest: Tensor, scale: Any, start: Any, op: str) -> Tensor:
    """``rest * scale + start``, of the shape of ``rest``."""
    result = rest * operand(scale, rest.dtype, op) + operand(start, rest.dtype, op)
    require(result.shape == rest.shape, op, f"Parameters do not broadcast to shape {rest.shape}")
    return result


def uniform(
    state: Tensor, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: Any, op: str
) -> Tensor:
    """Numbers in a range: floats, or integers."""
    requested = as_dtype(dtype)
    if requested in _FLOATS:
        low = operand(0 if minval is None else minval, requested, op)
        high = operand(1 if maxval is None else maxval, requested, op)
        return scale(draw(state, "uniform", shape, requested), high - low, low, op)
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
    if minval is None:
        return draw(state, "integers", shape, requested)
    low, high = operand(minval, requested, op), operand(maxval, requested, op)
    require(not low.ndim and not high.ndim, op, "minval and maxval must be 0-D")
    least, most = low.numpy(), high.numpy()
    require(bool(least < most), op, f"Need minval < maxval, got {least} >= {most}")
    return record(BETWEEN, (state, low, high), shape=shape, dtype=requested.name)


def ending_of(parameters: list[Tensor], op: str) -> tuple[int, ...]:
    """The shape to which parameters broadcast."""
    return broadcast(op, *(x._spec for x in parameters))


def ending(shape: tuple[int, ...], parameters: list[Tensor], op: str) -> tuple[int, ...]:
    """The shape to which parameters broadcast, with which the other one has to end."""
    common = ending_of(parameters, op)
    require(
        len(common) <= len(shape) and shape[len(shape) - len(common) :] == common,
        op,
        "Shape passed in must end with broadcasted shape.",
    )
    return common


def gamma(state: Tensor, shape: tuple[int, ...], alpha: Tensor, beta: Any, op: str) -> Tensor:
    """Numbers of a gamma distribution, whose shape ends with that of ``alpha``."""
    result = record(GAMMA, (state, alpha), shape=shape, dtype=alpha.dtype.name)
    tiny = float(np.finfo(alpha.dtype.as_numpy_dtype).tiny)
    return elementwise.maximum(as_tensor(tiny, alpha._spec), result / beta)


def poisson(op: Op, state: Tensor, shape: tuple[int, ...], rate: Tensor, dtype: Any) -> Tensor:
    """Numbers of a Poisson distribution, whose shape ends with that of the rate."""
    requested = as_dtype(dtype)
    if requested not in _COUNTS:
        raise InvalidArgumentError(
            f"Value for attr 'dtype' of {requested.name} is not in the list of allowed values: "
            "half, "
            f"float, double, int32, int64 [Op:{op.name}]"
        )
    return record(op, (state, rate), shape=shape, dtype=requested.name)


def binomial(state: Tensor, shape: tuple[int, ...], counts: Any, probs: Any, dtype: Any) -> Tensor:
    """Numbers of successes."""
    op, requested = BINOMIAL.name, as_dtype(dtype)
    if requested not in _COUNTS:
        raise InvalidArgumentError(
            f"Value for attr 'dtype' of {requested.name} is not in the list of allowed values: "
            "half, "
            f"float, double, int32, int64 [Op:{op}]"
        )
    number, chance = (elementwise.cast(as_tensor(x), dtypes.float64) for x in (counts, probs))
    ending(shape, [number, chance], op)
    return record(BINOMIAL, (state, number, chance), shape=shape, dtype=requested.name)


def categorical(state: Tensor, logits: Any, num_samples: Any, dtype: Any) -> Tensor:
    """Classes by their logits."""
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


def shuffle(state: Tensor, value: Any) -> Tensor:
    """Slices along the first axis in an order that the state says."""
    x = as_tensor(value)
    require(x.ndim > 0, "StatelessShuffle", "value must have at least one axis")
    keys = draw(state, "integers", (x.shape[0],), dtypes.int64)
    return record(GATHER, (x, argsort(keys)), axis=0)


def pair(first: Tensor, second: Tensor) -> Tensor:
    """Two scalars as a vector."""
    return joining.stack([first, second])


def number_of(shape: tuple[int, ...]) -> int:
    """How many numbers there are."""
    return math.prod(shape)
