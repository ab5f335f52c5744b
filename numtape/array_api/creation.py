"""Creation of tensors, data types and inspection, as the array API names them."""

from __future__ import annotations

from typing import Any

import numpy as np

import numtape as tf

from ..core import interop
from ..core.settings import device as _device_setting
from ..core.values.dtypes import DType, as_dtype
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from .define import Array, Scalar, common_dtype, dtype_of, function, tensor_of

__all__ = [
    "arange",
    "asarray",
    "astype",
    "can_cast",
    "empty",
    "empty_like",
    "eye",
    "finfo",
    "from_dlpack",
    "full",
    "full_like",
    "iinfo",
    "isdtype",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "result_type",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

_KINDS = {
    "bool": "?",
    "signed integer": "bhilq",
    "unsigned integer": "BHILQ",
    "integral": "bhilqBHILQ",
    "real floating": "efd",
    "complex floating": "FD",
    "numeric": "bhilqBHILQefdFD",
}
Shape = int | tuple[int, ...]


def __dir__() -> list[str]:
    return sorted(__all__)


def check_device(device: str | None) -> None:
    """Check that a device is that of tensors.

    Raises:
      ValueError: If it is another one.
    """
    if device is not None and device != default_device() and device.upper() not in _short_names():
        raise ValueError(
            f"Tensors are on {default_device()!r}, not on {device!r}: the environment variable "
            f"NUMTAPE_DEVICE, or `with tf.device(...)`, chooses another device."
        )


def default_device() -> str:
    """Return the name of the device that computes."""
    kind = "GPU" if _device_setting() == "cuda" else "CPU"
    return f"/job:localhost/replica:0/task:0/device:{kind}:0"


def _short_names() -> tuple[str, ...]:
    kind = default_device().rpartition(":")[0].rpartition(":")[2]
    return kind, f"{kind}:0", f"/{kind}:0", f"/DEVICE:{kind}:0"


def _dims(shape: Any) -> list[int]:
    return [int(shape)] if np.ndim(shape) == 0 else [int(n) for n in shape]


@function(
    "xp.asarray([1.0, 2.0])",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>",
    raises="ValueError: If a copy is needed and not allowed.",
)
def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """Return a tensor of a number, list, array or tensor."""
    check_device(device)
    target = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, Tensor | tf.Variable):
        tensor = tensor_of(obj)
        if target not in (None, tensor.dtype):
            if copy is False:
                raise ValueError(f"A tensor of dtype {target} is a copy of one of {tensor.dtype}.")
            return tf.cast(tensor, target)
        return tf.identity(tensor) if copy else tensor
    if copy is False:
        tensor = interop.from_dlpack(obj)  # shares the memory, or raises an error
        if target not in (None, tensor.dtype):
            raise ValueError(f"A tensor of dtype {target} is a copy of one of {tensor.dtype}.")
        return tensor
    if isinstance(obj, complex) and target is None:
        target = tf.complex64
    if target is not None and isinstance(obj, np.ndarray | np.generic | list | tuple):
        values = np.asarray(
            tf.nest.map_structure(_value, obj) if isinstance(obj, list | tuple) else obj
        )
        if values.dtype.kind in "biufc" and not _keeps(values, target):
            return tf.constant(values.astype(target.numpy_dtype))
    if target is None and _is_complex_list(obj):
        target = tf.complex64
    return tf.constant(obj, target)


def _value(x: Any) -> Any:
    return x.numpy() if isinstance(x, Tensor | tf.Variable) else x


def _is_complex_list(obj: Any) -> bool:
    return isinstance(obj, list | tuple) and any(
        isinstance(x, complex) and not isinstance(x, np.generic) for x in tf.nest.flatten(obj)
    )


def _keeps(values: np.ndarray[Any, Any], target: DType) -> bool:
    return bool(np.can_cast(values.dtype, target.numpy_dtype, "same_kind"))


@function(
    "xp.arange(3)", "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([0, 1, 2], dtype=int32)>"
)
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Return evenly spaced numbers of a half-open range."""
    check_device(device)
    if stop is None:
        start, stop = 0, start
    is_integral = all(isinstance(x, int) for x in (start, stop, step))
    target = (tf.int32 if is_integral else tf.float32) if dtype is None else as_dtype(dtype)
    numbers = np.arange(start, stop, step)
    return tf.constant(numbers.astype(target.numpy_dtype))


@function(
    "xp.linspace(0.0, 1.0, 3)",
    "<tf.Tensor: shape=(3,), dtype=float32, numpy=array([0. , 0.5, 1. ], dtype=float32)>",
)
def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Return evenly spaced numbers over an interval."""
    check_device(device)
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    target = (tf.complex64 if is_complex else tf.float32) if dtype is None else as_dtype(dtype)
    numbers = np.linspace(start, stop, num, endpoint=endpoint)
    return tf.constant(numbers.astype(target.numpy_dtype))


@function(
    "xp.full((2,), 7)", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([7, 7], dtype=int32)>"
)
def full(
    shape: Shape,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Return a tensor whose elements are all equal."""
    check_device(device)
    return tf.fill(_dims(shape), asarray(fill_value, dtype=dtype))


@function(
    "xp.zeros((2,))", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([0., 0.], dtype=float32)>"
)
def zeros(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return zeros, float32 by default."""
    check_device(device)
    return tf.zeros(_dims(shape), tf.float32 if dtype is None else dtype)


@function(
    "xp.ones((2,))", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 1.], dtype=float32)>"
)
def ones(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return ones, float32 by default."""
    check_device(device)
    return tf.ones(_dims(shape), tf.float32 if dtype is None else dtype)


@function(
    "xp.empty((2,))", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([0., 0.], dtype=float32)>"
)
def empty(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return zeros: the contents of tensors are always defined."""
    return zeros(shape, dtype=dtype, device=device)


def _like(x: Array, dtype: DType | None) -> DType:
    return x.dtype if dtype is None else as_dtype(dtype)


@function(
    "xp.zeros_like(tf.constant([1, 2]))",
    "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([0, 0], dtype=int32)>",
)
def zeros_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return zeros of the shape and dtype of a tensor."""
    return zeros(x.shape, dtype=_like(x, dtype), device=device)


@function(
    "xp.ones_like(tf.constant([1, 2]))",
    "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 1], dtype=int32)>",
)
def ones_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return ones of the shape and dtype of a tensor."""
    return ones(x.shape, dtype=_like(x, dtype), device=device)


@function(
    "xp.empty_like(tf.constant([1, 2]))",
    "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([0, 0], dtype=int32)>",
)
def empty_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return zeros of the shape and dtype of a tensor: contents are always defined."""
    return zeros(x.shape, dtype=_like(x, dtype), device=device)


@function(
    "xp.full_like(tf.constant([1, 2]), 7)",
    "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([7, 7], dtype=int32)>",
)
def full_like(
    x: Array,
    /,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Return a tensor of equal elements, of the shape and dtype of another one."""
    return full(x.shape, fill_value, dtype=_like(x, dtype), device=device)


@function(
    "xp.eye(2).numpy()",
    "array([[1., 0.],\n       [0., 1.]], dtype=float32)",
)
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Return a matrix of zeros with ones on a diagonal."""
    check_device(device)
    target = tf.float32 if dtype is None else as_dtype(dtype)
    return tf.constant(np.eye(n_rows, n_cols, k, target.numpy_dtype))


@function(
    "xp.tril(tf.ones((2, 2))).numpy()",
    "array([[1., 0.],\n       [1., 1.]], dtype=float32)",
)
def tril(x: Array, /, *, k: int = 0) -> Tensor:
    """Return the lower triangles of matrices."""
    rows, columns = x.shape[-2:]
    return tf.where(np.tri(rows, columns, k, bool), x, tf.zeros((), x.dtype))


@function(
    "xp.triu(tf.ones((2, 2))).numpy()",
    "array([[1., 1.],\n       [0., 1.]], dtype=float32)",
)
def triu(x: Array, /, *, k: int = 0) -> Tensor:
    """Return the upper triangles of matrices."""
    rows, columns = x.shape[-2:]
    return tf.where(~np.tri(rows, columns, k - 1, bool), x, tf.zeros((), x.dtype))


@function(
    "[y.shape for y in xp.meshgrid(tf.range(2), tf.range(3))]",
    "[TensorShape([3, 2]), TensorShape([3, 2])]",
    "A list of tensors.",
)
def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Tensor]:
    """Return the coordinates of a grid."""
    return list(tf.meshgrid(*arrays, indexing=indexing)) if arrays else []


@function(
    "xp.from_dlpack(np.arange(2))",
    "<tf.Tensor: shape=(2,), dtype=int64, numpy=array([0, 1])>",
    raises="BufferError: If a copy is not allowed.",
)
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Return a tensor with the memory of another library's array."""
    check_device(device)
    if isinstance(x, Tensor | tf.Variable):
        return tf.identity(x) if copy else tensor_of(x)
    try:
        array = interop.from_dlpack(x)
    except InvalidArgumentError:  # it has gaps
        if copy is False or not hasattr(x, "__dlpack__"):
            raise
        return tf.constant(np.from_dlpack(x))
    return tf.constant(array.numpy()) if copy else array


# --- Data types ----------------------------------------------------------------------------------


@function(
    "xp.astype(tf.constant([1.5]), tf.int32)",
    "<tf.Tensor: shape=(1,), dtype=int32, numpy=array([1], dtype=int32)>",
)
def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """Convert elements to a dtype."""
    check_device(device)
    if not copy and x.dtype == dtype:
        return tensor_of(x)
    tensor, target = tensor_of(x), as_dtype(dtype)
    if tensor.dtype is target:
        return tf.identity(tensor)
    if target.is_bool:
        return tensor != tf.zeros((), tensor.dtype)
    return tf.cast(tensor, target)


@function("xp.can_cast(tf.int8, tf.int16)", "True", "A bool.")
def can_cast(from_: DType | Array, to: DType, /) -> bool:
    """Return whether promotion may convert a dtype to another."""
    return bool(np.can_cast(as_dtype(dtype_of(from_)).numpy_dtype, as_dtype(to).numpy_dtype))


@function("xp.result_type(tf.int8, tf.int16)", "tf.int16", "A dtype.")
def result_type(*arrays: Array | Scalar | DType) -> DType:
    """Return the dtype to which operands are promoted."""
    return common_dtype(*arrays)


@function(
    "xp.isdtype(tf.float32, 'real floating')",
    "True",
    "A bool.",
    "ValueError: If the kind is unknown.",
)
def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Return whether a dtype is of a kind."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, x) for x in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"The kind {kind!r} is unknown: {', '.join(_KINDS)}.")
        own = as_dtype(dtype)
        if own.name == "bfloat16":
            return kind in ("real floating", "numeric")
        return own.numpy_dtype.char in _KINDS[kind]
    return as_dtype(dtype) is as_dtype(kind)


class FloatInfo:
    """The limits of a dtype of floats, or of the parts of complex numbers."""

    def __init__(self, dtype: DType) -> None:
        info = np.finfo(dtype.real_dtype.numpy_dtype)
        self.dtype = dtype.real_dtype
        self.bits = int(info.bits)
        self.eps = float(info.eps)
        self.max = float(info.max)
        self.min = float(info.min)
        self.smallest_normal = float(info.smallest_normal)


class IntegerInfo:
    """The limits of a dtype of integers."""

    def __init__(self, dtype: DType) -> None:
        info = np.iinfo(dtype.numpy_dtype)
        self.dtype = dtype
        self.bits, self.max, self.min = int(info.bits), int(info.max), int(info.min)


@function(
    "xp.finfo(tf.float32).bits",
    "32",
    "An object with the limits.",
    "ValueError: If the dtype is not of floats.",
)
def finfo(type: DType | Array, /) -> FloatInfo:
    """Return the limits of a dtype of floats."""
    dtype = as_dtype(dtype_of(type))
    if not (dtype.is_floating or dtype.is_complex):
        raise ValueError(f"{dtype} is not a dtype of floats: use iinfo.")
    return FloatInfo(dtype)


@function(
    "xp.iinfo(tf.int8).max",
    "127",
    "An object with the limits.",
    "ValueError: If the dtype is not of integers.",
)
def iinfo(type: DType | Array, /) -> IntegerInfo:
    """Return the limits of a dtype of integers."""
    dtype = as_dtype(dtype_of(type))
    if not dtype.is_integer:
        raise ValueError(f"{dtype} is not a dtype of integers: use finfo.")
    return IntegerInfo(dtype)


class NamespaceInfo:
    """What numtape supports of the array API."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return the optional features: boolean masks, shapes that depend on data."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """Return the device that computes."""
        return default_device()

    def devices(self) -> list[str]:
        """Return the devices of tensors."""
        return [default_device()]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Return the dtypes of Python numbers, and of indices."""
        check_device(device)
        return {
            "real floating": tf.float32,
            "complex floating": tf.complex64,
            "integral": tf.int32,
            "indexing": tf.int64,
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the dtypes of a kind by name; all for None."""
        check_device(device)
        names = (
            "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 "
            "complex128"
        ).split()
        dtypes = {name: as_dtype(name) for name in names}
        if kind is None:
            return dtypes
        return {name: dtype for name, dtype in dtypes.items() if isdtype(dtype, kind)}
