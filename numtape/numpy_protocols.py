"""NumPy's protocols: NumPy functions of tensors and variables stay on the tape.

An operator between an array and a tensor, and a function such as ``np.sin(v)`` whose argument a
tape follows, record ops and return a tensor. Without a tape NumPy computes on the values, as it
does with any other object that it converts to an array. `numpy_functions` has the table of
functions. A function outside of the table, whose result a gradient would silently miss, raises an
error that says what to write.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .core.cpython.frames import current_instruction
from .core.log.log import local
from .core.log.variable import Variable
from .core.values import export
from .core.values.tensor import Tensor
from .errors import UnimplementedError

if TYPE_CHECKING:
    from types import ModuleType

_TENSORS = (Tensor, Variable)
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

# The operators of arrays: the method of a first operand, and that of a second one. Operators of an
# array and a tensor return tensors whether or not a tape records.
OPERATORS: dict[Any, tuple[str, str]] = {
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.true_divide: ("__truediv__", "__rtruediv__"),
    np.floor_divide: ("__floordiv__", "__rfloordiv__"),
    np.remainder: ("__mod__", "__rmod__"),
    np.power: ("__pow__", "__rpow__"),
    np.matmul: ("__matmul__", "__rmatmul__"),
    np.equal: ("__eq__", "__eq__"),
    np.not_equal: ("__ne__", "__ne__"),
    np.less: ("__lt__", "__gt__"),
    np.less_equal: ("__le__", "__ge__"),
    np.greater: ("__gt__", "__lt__"),
    np.greater_equal: ("__ge__", "__le__"),
    np.bitwise_and: ("__and__", "__rand__"),
    np.bitwise_or: ("__or__", "__ror__"),
    np.bitwise_xor: ("__xor__", "__rxor__"),
    np.left_shift: ("__lshift__", "__rlshift__"),
    np.right_shift: ("__rshift__", "__rrshift__"),
}


_TESTS = {  # their results have no gradient
    *(np.isfinite, np.isinf, np.isnan, np.signbit),
    *(np.logical_and, np.logical_not, np.logical_or, np.logical_xor),
}


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Compute a universal function of NumPy or SciPy."""
    names = OPERATORS.get(ufunc) if method == "__call__" else None
    if names is not None and len(inputs) == 2 and not (kwargs and not _is_in_place(kwargs)):
        x, y = inputs
        if ufunc is np.matmul and min(_rank(x), _rank(y)) < 2:  # operators take matrices
            return _functions().matmul(x, y)
        return getattr(x, names[0])(y) if isinstance(x, _TENSORS) else getattr(y, names[1])(x)
    for x in inputs:
        kind = type(x)
        if not isinstance(x, (*_TENSORS, np.ndarray, np.generic)) and hasattr(
            kind, "__array_ufunc__"
        ):
            return NotImplemented
    outputs = kwargs.get("out", ())
    if any(isinstance(x, _TENSORS) for x in outputs):
        raise TypeError(
            f"np.{ufunc.__name__} cannot write to a tensor: tensors are immutable. Write "
            f"`v.assign(np.{ufunc.__name__}(...))` for a variable v."
        )
    if method == "at" and isinstance(inputs[0], _TENSORS):
        raise TypeError(
            f"np.{ufunc.__name__}.at cannot write to a tensor: use tf.tensor_scatter_nd_add, or "
            f"`scatter_add` of a variable."
        )
    if ufunc not in _TESTS and any(map(is_followed, inputs)):
        return _functions().call_ufunc(ufunc, method, inputs, kwargs)
    return getattr(ufunc, method)(*map(value_of, inputs), **_values(kwargs))


def _is_in_place(kwargs: dict[str, Any]) -> bool:
    """Return whether the call is ``array += tensor``, which binds the name to a tensor."""
    if kwargs.keys() != {"out"}:
        return False
    return current_instruction(sys._getframe(2)) == "BINARY_OP"


def _rank(x: Any) -> int:
    return int(getattr(x, "ndim", 0))


def _array_function(
    self: Any, function: Any, types: Iterable[type], args: Any, kwargs: dict[str, Any]
) -> Any:
    """Compute a function of NumPy."""
    if not all(issubclass(kind, (*_TENSORS, np.ndarray)) for kind in types):
        return NotImplemented
    return _functions().call_function(function, args, kwargs)


def _array_namespace(self: Any, *, api_version: str | None = None) -> ModuleType:
    """Return `numtape.array_api`.

    Args:
      api_version: The version of the array API standard; None for the latest.

    Raises:
      ValueError: If numtape does not have this version.
    """
    if api_version not in (None, *_VERSIONS):
        raise ValueError(f"The array API {api_version!r} is unknown: {', '.join(_VERSIONS)}.")
    return importlib.import_module("numtape.array_api")


def _functions() -> Any:
    return importlib.import_module("numtape.numpy_functions")


# --- Tapes ---------------------------------------------------------------------------------------


def is_followed(x: Any) -> bool:
    """Return whether a gradient could flow to a value: a tape that records now follows it.

    In a recorded function, a caller's tape counts as well.
    """
    if isinstance(x, list | tuple):
        return any(map(is_followed, x))
    if not isinstance(x, _TENSORS) or not (x.dtype.is_floating or x.dtype.is_complex):
        return False
    return bool(local.log.may_follow(x))


def value_of(x: Any) -> Any:
    """Return tensors and variables, also in lists, as arrays."""
    if isinstance(x, _TENSORS):
        return np.asarray(x)
    if type(x) in (list, tuple):
        return type(x)(map(value_of, x))
    return x


def _values(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value_of(x) for name, x in kwargs.items()}


def refusal(name: str, advice: str = "") -> UnimplementedError:
    """Return the error of a function whose result no gradient would reach."""
    return UnimplementedError(
        f"{name} leaves the tape: its result is an array, which no gradient reaches. "
        f"{advice or 'Compute it with functions of numtape.'} For the value alone, pass "
        f"`x.numpy()` instead of x."
    )


# Packages whose functions of arrays a gradient might be expected to follow.
_PACKAGES = ("scipy.special", "scipy.sparse")


def _check_reader(tensor: Any) -> None:
    """Check that SciPy or pandas do not read the value of a tensor that a tape follows.

    Raises:
      UnimplementedError: If a function of `scipy.special` or `scipy.sparse`, or an operator of a
        pandas object does.
    """
    frame: Any = sys._getframe(2)
    library = _module_of(frame).partition(".")[0]
    if library not in ("scipy", "pandas") or not is_followed(tensor):
        return
    while frame.f_back is not None and _module_of(frame.f_back).partition(".")[0] == library:
        frame = frame.f_back
    package = ".".join(_module_of(frame).split(".")[:2])
    name = frame.f_code.co_name
    if library == "pandas" and (name == "new_method" or name in _OPERATORS_OF_PANDAS):
        raise refusal(
            "An operator of a pandas object and a tensor",
            "Write the tensor first, or use `x.to_numpy()` of the pandas object x.",
        )
    if package == _PACKAGES[0]:
        raise refusal(f"{package}.{name}", _SCIPY_ADVICE.get(name, ""))
    if package == _PACKAGES[1]:
        raise refusal(
            "An operation of a SciPy sparse matrix and a tensor",
            "Use tf.linalg.matmul of `matrix.toarray()`, or the functions of tf.sparse.",
        )


_OPERATORS_OF_PANDAS = {name for pair in OPERATORS.values() for name in pair}
_SCIPY_ADVICE = {
    "log_softmax": "Use tf.nn.log_softmax.",
    "logsumexp": "Use tf.reduce_logsumexp.",
    "softmax": "Use tf.nn.softmax.",
}


def _module_of(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", ""))


def install(kinds: Iterable[type]) -> None:
    """Add the protocols to classes."""
    protocols: dict[str, Callable[..., Any]] = {
        "__array_ufunc__": _array_ufunc,
        "__array_function__": _array_function,
        "__array_namespace__": _array_namespace,
    }
    for kind in kinds:
        for name, method in protocols.items():
            setattr(kind, name, method)


install((Tensor, Variable))
export.before_export = _check_reader
