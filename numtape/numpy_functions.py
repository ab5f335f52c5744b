"""The table of NumPy functions that stay on the tape, and how they are called.

`call_function` is for functions such as ``np.sum``, `call_ufunc` for those such as ``np.sin`` and
``scipy.special.expit``. Both are called with at least one tensor or variable.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numtape as tf

from . import array_api as xp
from .core.values.tensor import Tensor
from .keras.ops import linalg as kl, numpy as kn
from .numpy_protocols import is_followed, refusal, value_of

_NO_VALUE: Any = getattr(np, "_NoValue", None)
_TENSORS = (tf.Tensor, tf.Variable)

matmul = xp.matmul


def _fmod(x: Any, y: Any) -> Tensor:
    return tf.truncatemod(*_promoted(x, y))


def _promoted(*operands: Any) -> list[Any]:
    from .array_api.define import promoted

    return promoted(*operands)


def _binary(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: compute(*_promoted(x, y))


def _scaled(factor: float) -> Callable[[Any], Any]:
    return lambda x: x * factor


UFUNCS: dict[str, Callable[..., Any]] = {
    "absolute": tf.abs,
    "add": xp.add,
    "arccos": tf.acos,
    "arccosh": tf.acosh,
    "arcsin": tf.asin,
    "arcsinh": tf.asinh,
    "arctan": tf.atan,
    "arctan2": xp.atan2,
    "arctanh": tf.atanh,
    "cbrt": kn.cbrt,
    "ceil": xp.ceil,
    "conjugate": xp.conj,
    "copysign": xp.copysign,
    "cos": tf.cos,
    "cosh": tf.cosh,
    "deg2rad": kn.deg2rad,
    "degrees": kn.rad2deg,
    "divide": xp.divide,
    "exp": tf.exp,
    "exp2": kn.exp2,
    "expm1": tf.math.expm1,
    "fabs": tf.abs,
    "float_power": xp.pow,
    "floor": xp.floor,
    "floor_divide": xp.floor_divide,
    "fmax": kn.fmax,
    "fmin": kn.fmin,
    "fmod": _fmod,
    "heaviside": kn.heaviside,
    "hypot": xp.hypot,
    "ldexp": kn.ldexp,
    "log": tf.math.log,
    "log10": xp.log10,
    "log1p": tf.math.log1p,
    "log2": xp.log2,
    "logaddexp": xp.logaddexp,
    "logaddexp2": kn.logaddexp2,
    "matmul": xp.matmul,
    "matvec": lambda a, x: tf.linalg.matvec(*_promoted(a, x)),
    "maximum": xp.maximum,
    "minimum": xp.minimum,
    "multiply": xp.multiply,
    "negative": tf.negative,
    "positive": tf.identity,
    "power": xp.pow,
    "rad2deg": kn.rad2deg,
    "radians": kn.deg2rad,
    "reciprocal": tf.math.reciprocal,
    "remainder": xp.remainder,
    "rint": tf.round,
    "sign": xp.sign,
    "sin": tf.sin,
    "sinh": tf.sinh,
    "sqrt": tf.sqrt,
    "square": tf.square,
    "subtract": xp.subtract,
    "tan": tf.tan,
    "tanh": tf.tanh,
    "true_divide": xp.divide,
    "trunc": xp.trunc,
    "vecdot": xp.vecdot,
}
# SciPy's, of `scipy.special`.
SCIPY_UFUNCS: dict[str, Callable[..., Any]] = {
    "betainc": tf.math.betainc,
    "digamma": tf.math.digamma,
    "entr": lambda x: -tf.math.xlogy(x, x),
    "erf": tf.math.erf,
    "erfc": tf.math.erfc,
    "erfinv": tf.math.erfinv,
    "exp2": kn.exp2,
    "expit": tf.sigmoid,
    "expm1": tf.math.expm1,
    "gammainc": tf.math.igamma,
    "gammaincc": tf.math.igammac,
    "gammaln": tf.math.lgamma,
    "i0": tf.math.bessel_i0,
    "i0e": tf.math.bessel_i0e,
    "i1": tf.math.bessel_i1,
    "i1e": tf.math.bessel_i1e,
    "j0": tf.math.special.bessel_j0,
    "j1": tf.math.special.bessel_j1,
    "k0": tf.math.special.bessel_k0,
    "k0e": tf.math.special.bessel_k0e,
    "k1": tf.math.special.bessel_k1,
    "k1e": tf.math.special.bessel_k1e,
    "log1p": tf.math.log1p,
    "log_expit": tf.math.log_sigmoid,
    "logit": lambda x: tf.math.log(x) - tf.math.log1p(-x),
    "ndtr": lambda x: 0.5 * tf.math.erfc(x * -(0.5**0.5)),
    "ndtri": tf.math.ndtri,
    "psi": tf.math.digamma,
    "rel_entr": _binary(lambda x, y: tf.math.xlogy(x, x / y)),
    "spence": tf.math.special.spence,
    "xlog1py": _binary(tf.math.xlog1py),
    "xlogy": _binary(tf.math.xlogy),
    "y0": tf.math.special.bessel_y0,
    "y1": tf.math.special.bessel_y1,
}
_REDUCE = {
    "add": tf.reduce_sum,
    "logaddexp": tf.reduce_logsumexp,
    "maximum": tf.reduce_max,
    "minimum": tf.reduce_min,
    "multiply": tf.reduce_prod,
}
_ACCUMULATE = {"add": tf.cumsum, "multiply": tf.math.cumprod}


# --- Universal functions -------------------------------------------------------------------------


def call_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Compute a universal function, with an input that a tape follows.

    Raises:
      UnimplementedError: If the function, the method or an argument is not supported on a tape.
    """
    name = ufunc.__name__
    is_numpy = getattr(np, name, None) is ufunc
    full = f"{'np' if is_numpy else 'scipy.special'}.{name}"
    label = full if method == "__call__" else f"{full}.{method}"
    compute = UFUNCS.get(name) if is_numpy else SCIPY_UFUNCS.get(name)
    options = {key: x for key, x in kwargs.items() if x is not None and x is not _NO_VALUE}
    if method == "__call__" and compute is not None and not options:
        return compute(*map(_operand, inputs))
    if method == "reduce" and is_numpy and name in _REDUCE and options.keys() <= _REDUCE_OPTIONS:
        axis = kwargs.get("axis", inputs[1] if len(inputs) > 1 else 0)
        return _REDUCE[name](inputs[0], axis, bool(options.get("keepdims", False)))
    if method == "accumulate" and is_numpy and name in _ACCUMULATE and options.keys() <= {"axis"}:
        axis = options.get("axis", inputs[1] if len(inputs) > 1 else 0)
        return _ACCUMULATE[name](inputs[0], axis)
    if method == "outer" and compute is not None and not options:
        x, y = map(tf.convert_to_tensor, inputs)
        return compute(tf.reshape(x, [*x.shape, *[1] * y.ndim]), y)
    advice = ""
    if options and compute is not None and method == "__call__":
        label += f" with {', '.join(f'{key}=' for key in options)}"
        advice = "Leave the argument out: tf.where selects elements, and tf.cast converts."
    raise refusal(label, advice)


_REDUCE_OPTIONS = {"axis", "keepdims"}


def _operand(x: Any) -> Any:
    return x if isinstance(x, (*_TENSORS, np.ndarray, int, float, complex)) else value_of(x)


def _on_values(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return function(*map(value_of, args), **{key: value_of(x) for key, x in kwargs.items()})


# --- Functions -----------------------------------------------------------------------------------


def _var(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
    return xp.var(x, axis=axis, correction=ddof, keepdims=keepdims)


def _std(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
    return xp.std(x, axis=axis, correction=ddof, keepdims=keepdims)


def _typed(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction that takes NumPy's argument ``dtype``."""

    def call(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return compute(x if dtype is None else tf.cast(x, dtype), axis, keepdims)

    return call


def _running(compute: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, axis: Any = None, dtype: Any = None) -> Any:
        x = x if dtype is None else tf.cast(x, dtype)
        return compute(tf.reshape(x, [-1]), 0) if axis is None else compute(x, axis)

    return call


def _clip(x: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Tensor:
    low = a_min if min is None else min
    high = a_max if max is None else max
    for bound, compute in ((low, xp.maximum), (high, xp.minimum)):
        x = x if bound is None else compute(x, bound)
    return tf.identity(x)


def _svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return xp.linalg.svd(x, full_matrices=full_matrices) if compute_uv else xp.linalg.svdvals(x)


def _copy(x: Any) -> Tensor:
    return tf.identity(x)


def _append(x: Any, values: Any, axis: int | None = None) -> Tensor:
    return xp.concat([tf.convert_to_tensor(y) for y in (x, values)], axis=axis)


def _concatenate(arrays: Any, axis: int | None = 0) -> Tensor:
    return xp.concat([tf.convert_to_tensor(y) for y in arrays], axis=axis)


def _einsum(*operands: Any, optimize: Any = False) -> Tensor:
    subscripts, *tensors = operands
    return tf.einsum(subscripts, *_promoted(*tensors))


def _where(condition: Any, x: Any, y: Any) -> Tensor:
    return tf.where(tf.cast(condition, tf.bool), *_promoted(x, y))


def _fourier(name: str) -> Callable[..., Any]:
    compute = getattr(xp.fft, name)
    several = name.endswith("n")

    def call(a: Any, n: Any = None, axis: Any = None, norm: str | None = None) -> Tensor:
        axes = {"s": n, "axes": axis} if several else {"n": n, "axis": -1 if axis is None else axis}
        result: Tensor = compute(tf.convert_to_tensor(a), norm=norm or "backward", **axes)
        return result

    return call


def _fourier_2d(name: str) -> Callable[..., Any]:
    compute = getattr(xp.fft, name)

    def call(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
        result: Tensor = compute(tf.convert_to_tensor(a), s=s, axes=axes, norm=norm or "backward")
        return result

    return call


def _at_least(rank: int) -> Callable[..., Any]:
    """Return `numpy.atleast_1d` and its like, for ranks 1 and 2."""

    def call(*arrays: Any) -> Any:
        tensors = [tf.convert_to_tensor(x) for x in arrays]
        results = tuple(tf.reshape(x, [1] * max(rank - x.ndim, 0) + list(x.shape)) for x in tensors)
        return results[0] if len(results) == 1 else results

    return call


def _column_stack(arrays: Any) -> Tensor:
    tensors = [tf.convert_to_tensor(x) for x in arrays]
    columns = [tf.reshape(x, [-1, 1]) if x.ndim < 2 else x for x in tensors]
    return xp.concat(columns, axis=1)


def _multi_dot(arrays: Sequence[Any]) -> Tensor:
    return functools.reduce(xp.matmul, [tf.convert_to_tensor(x) for x in arrays])


def _shaped(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the shape and dtype of its argument, whose value it does not need."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(a, _TENSORS):
            return compute(value_of(a), *map(value_of, args), **kwargs)
        stand_in = np.broadcast_to(np.zeros((), a.dtype.numpy_dtype), tuple(a.shape))
        return compute(stand_in, *map(value_of, args), **kwargs)

    return call


def _result_type(*operands: Any) -> np.dtype[Any]:
    known = (x.dtype.numpy_dtype if isinstance(x, _TENSORS) else x for x in operands)
    return np.result_type(*known)


_SAME_NAME = (
    "amax amin angle average broadcast_to corrcoef cross diag diagflat diagonal diff "
    "dot dstack expand_dims flip fliplr flipud hstack imag inner kron linspace logspace max "
    "median meshgrid min moveaxis nan_to_num nanmax nanmean nanmedian nanmin nanprod nanstd nansum "
    "nanvar outer pad percentile ptp quantile ravel real repeat reshape roll rot90 round select "
    "sinc sort split squeeze stack swapaxes take take_along_axis tensordot tile trace transpose "
    "trapezoid tril triu vdot vsplit vstack array_split hsplit dsplit i0"
).split()


def _build_table() -> dict[Any, Callable[..., Any]]:
    table: dict[Any, Callable[..., Any]] = {
        getattr(np, name): getattr(kn, name)
        for name in _SAME_NAME
        if hasattr(np, name) and name in kn.__all__
    }
    table |= {
        np.append: _append,
        np.around: kn.round,
        np.atleast_1d: _at_least(1),
        np.atleast_2d: _at_least(2),
        np.clip: _clip,
        np.column_stack: _column_stack,
        np.concatenate: _concatenate,
        np.copy: _copy,
        np.cumprod: _running(tf.math.cumprod),
        np.cumsum: _running(tf.cumsum),
        np.einsum: _einsum,
        np.matrix_transpose: tf.linalg.matrix_transpose,
        np.mean: _typed(kn.mean),
        np.polyval: lambda p, x: tf.math.polyval([xp.asarray(a, dtype=x.dtype) for a in p], x),
        np.prod: _typed(kn.prod),
        np.std: _std,
        np.sum: _typed(kn.sum),
        np.unstack: lambda x, axis=0: tuple(tf.unstack(x, axis=axis)),
        np.var: _var,
        np.where: _where,
    }
    linalg = np.linalg
    table |= {
        linalg.cholesky: lambda a, upper=False: xp.linalg.cholesky(a, upper=upper),
        linalg.cross: lambda x1, x2, axis=-1: xp.linalg.cross(x1, x2, axis=axis),
        linalg.det: xp.linalg.det,
        linalg.diagonal: lambda x, offset=0: xp.linalg.diagonal(x, offset=offset),
        linalg.eigh: xp.linalg.eigh,
        linalg.eigvalsh: xp.linalg.eigvalsh,
        linalg.inv: xp.linalg.inv,
        linalg.matmul: xp.matmul,
        linalg.matrix_norm: lambda x, keepdims=False, ord="fro": xp.linalg.matrix_norm(
            x, keepdims=keepdims, ord=ord
        ),
        linalg.matrix_power: xp.linalg.matrix_power,
        linalg.matrix_transpose: tf.linalg.matrix_transpose,
        linalg.multi_dot: _multi_dot,
        linalg.norm: kl.norm,
        linalg.outer: lambda x1, x2: xp.linalg.outer(*map(tf.convert_to_tensor, (x1, x2))),
        linalg.pinv: lambda a, rcond=None, rtol=None: xp.linalg.pinv(
            a, rtol=rcond if rtol is None else rtol
        ),
        linalg.qr: lambda a, mode="reduced": xp.linalg.qr(a, mode=mode),
        linalg.slogdet: xp.linalg.slogdet,
        linalg.solve: lambda a, b: xp.linalg.solve(*_promoted(a, b)),
        linalg.svd: _svd,
        linalg.svdvals: xp.linalg.svdvals,
        linalg.tensordot: kn.tensordot,
        linalg.trace: lambda x, offset=0, dtype=None: xp.linalg.trace(
            x, offset=offset, dtype=dtype
        ),
        linalg.vecdot: lambda x1, x2, axis=-1: xp.vecdot(x1, x2, axis=axis),
        linalg.vector_norm: lambda x, axis=None, keepdims=False, ord=2: xp.linalg.vector_norm(
            x, axis=axis, keepdims=keepdims, ord=ord
        ),
    }
    for name in (
        "fft",
        "ifft",
        "rfft",
        "irfft",
        "hfft",
        "ihfft",
        "fftn",
        "ifftn",
        "rfftn",
        "irfftn",
    ):
        table[getattr(np.fft, name)] = _fourier(name)
    for name in ("fft2", "ifft2", "rfft2", "irfft2"):
        table[getattr(np.fft, name)] = _fourier_2d(name.replace("2", "n"))
    table[np.fft.fftshift] = lambda x, axes=None: xp.fft.fftshift(x, axes=axes)
    table[np.fft.ifftshift] = lambda x, axes=None: xp.fft.ifftshift(x, axes=axes)
    return table


FUNCTIONS = _build_table()

# Functions of shapes and dtypes, which do not evaluate a tensor.
SHAPED: dict[Any, Callable[..., Any]] = {
    np.ndim: lambda a: a.ndim if isinstance(a, _TENSORS) else np.ndim(value_of(a)),
    np.result_type: _result_type,
    np.shape: lambda a: tuple(a.shape) if isinstance(a, _TENSORS) else np.shape(value_of(a)),
    np.size: _shaped(np.size),
    **{function: _shaped(function) for function in (np.empty_like, np.ones_like, np.zeros_like)},
    np.iscomplexobj: _shaped(np.iscomplexobj),
    np.isrealobj: _shaped(np.isrealobj),
}

# Functions whose result has no gradient: indices, tests, texts, files.
_VALUES = {
    getattr(np, name)
    for name in (
        "all allclose any argmax argmin argpartition argsort argwhere array2string array_equal "
        "array_equiv array_repr array_str bincount can_cast common_type count_nonzero digitize "
        "flatnonzero full_like histogram histogram_bin_edges isclose isin isneginf isposinf isreal "
        "iscomplex lexsort may_share_memory nanargmax nanargmin nonzero packbits save savetxt "
        "savez savez_compressed searchsorted shares_memory sign tril_indices_from "
        "triu_indices_from unpackbits"
    ).split()
    if hasattr(np, name)
}
_WRITING = {
    getattr(np, name): name for name in ("copyto", "fill_diagonal", "place", "put", "putmask")
}
_ADVICE = {
    np.unique: "numtape.array_api.unique_values keeps the gradient.",
    np.linalg.eig: "tf.linalg.eig has a gradient, and so has tf.linalg.eigh.",
    np.linalg.lstsq: "tf.linalg.lstsq has a gradient.",
    np.interp: "Find the intervals with np.searchsorted(x.numpy(), ...), and tf.gather the values.",
    np.polyfit: "tf.linalg.lstsq of the powers has a gradient.",
    np.cov: "Subtract the means, and use tf.matmul.",
    np.partition: "Use tf.sort.",
    np.apply_along_axis: "Use tf.vectorized_map or tf.map_fn.",
}


def call_function(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Compute a function of NumPy, of arguments with at least one tensor or variable.

    Returns:
      A tensor if a tape follows an argument; otherwise what NumPy returns for the values.

    Raises:
      UnimplementedError: If a tape follows an argument, and the function has no counterpart.
      TypeError: If the function would write to a tensor.
    """
    if function in SHAPED:
        return SHAPED[function](*args, **kwargs)
    if function in _WRITING and isinstance(args[0], _TENSORS):
        raise TypeError(
            f"np.{_WRITING[function]} cannot write to a tensor: tensors are immutable. Use "
            f"`v.assign(...)` for a variable v, or tf.tensor_scatter_nd_update."
        )
    if isinstance(kwargs.get("out"), _TENSORS):
        raise TypeError(f"{_label(function)} cannot write to a tensor: tensors are immutable.")
    if function in _VALUES or not any(map(is_followed, (*args, *kwargs.values()))):
        return _on_values(function, args, kwargs)
    compute = FUNCTIONS.get(function)
    unsupported = ""
    if compute is not None:
        call, unsupported = _bind(function, compute, args, kwargs)
        if not unsupported:
            return call()
    label, advice = _label(function), _ADVICE.get(function, "")
    if unsupported:
        raise refusal(f"{label} with {unsupported}=", "Leave the argument out.")
    raise refusal(label, advice)


def _label(function: Any) -> str:
    module = function.__module__.replace("numpy", "np", 1).partition("._")[0]
    return f"{module}.{function.__name__}"


def _bind(
    function: Any, compute: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[[], Any], str]:
    """Bind the arguments of a NumPy function to those of its counterpart, by name or position.

    Returns:
      The call, and the name of an argument that the counterpart lacks ("" if there is none).
    """
    target = [*inspect.signature(compute).parameters.values()]
    by_name = {x.name for x in target if x.kind is not x.POSITIONAL_ONLY}
    try:
        signature = inspect.signature(function)
    except ValueError:  # written in C: arguments in the same order
        signature = inspect.signature(compute)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    bound = signature.bind(*args, **kwargs).arguments if signature is not None else {}
    for index, (name, parameter) in enumerate(signature.parameters.items()):
        if name not in bound:
            continue
        value = bound[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= value
        elif parameter.default is not parameter.empty and _is_default(value, parameter.default):
            continue
        elif index == len(positional) and not named and _is_positional(target, index, name):
            positional.append(value)
        elif name in by_name:
            named[name] = value
        elif index < len(target) and _is_positional(target, index, name):
            named[target[index].name] = value
        else:
            return lambda: None, name
    if wrong := next((name for name in named if name not in by_name), ""):
        return lambda: None, wrong
    return functools.partial(compute, *positional, **named), ""


def _is_default(value: Any, default: Any) -> bool:
    if value is default or value is None or value is _NO_VALUE:
        return True
    return type(value) in (bool, int, str) and type(default) is type(value) and value == default


def _is_positional(target: Sequence[inspect.Parameter], index: int, name: str) -> bool:
    """Return whether a counterpart's argument at a position means the same as NumPy's."""
    if any(x.kind is x.VAR_POSITIONAL for x in target):
        return True
    if index >= len(target) or target[index].kind is inspect.Parameter.KEYWORD_ONLY:
        return False
    names = {x.name for x in target}
    return target[index].name == name or (name not in names and index < _DATA.get(name, 2))


# Arguments of NumPy that are options, wherever they stand.
_DATA = {name: 0 for name in ("dtype", "out", "order", "kind", "mode", "where", "ddof", "subok")}
