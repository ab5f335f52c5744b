"""The definition of functions of `keras.ops`: symbolic tensors, promotion of dtypes, texts."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast as _typed

import numpy as np

from ...core.log.as_tensor import as_tensor
from ...core.ops.creation import constant
from ...core.ops.elementwise import cast
from ...core.values.dtypes import DType, as_dtype
from ...core.values.tensor import Tensor
from ..registry import describe, keras_dtype
from ..settings import floatx
from ..symbolic import OPERATIONS, KerasTensor, Operation, infer, is_symbolic

if TYPE_CHECKING:
    from ...core.values.annotations import AxisLike, DTypeLike, TensorLike

Parameters = ParamSpec("Parameters")
# A function like `infer`: from (function, args, kwargs) to symbolic results.
Rule = Callable[[Callable[..., Any], Sequence[Any], Mapping[str, Any]], Any]

# Names of Keras's operations that are not the function's name in CamelCase.
_KINDS = {
    "abs": "Absolute",
    "allclose": "AllClose",
    "batch_normalization": "BatchNorm",
    "cdist": "CDist",
    "conj": "Conjugate",
    "ctc_decode": "CTCDecode",
    "ctc_loss": "CTCLoss",
    "fft": "FFT",
    "fft2": "FFT2",
    "hsv_to_rgb": "HSVToRGB",
    "ifft2": "IFFT2",
    "in_top_k": "InTopK",
    "irfft": "IRFFT",
    "isin": "IsIn",
    "istft": "ISTFT",
    "jvp": "JVP",
    "layer_normalization": "LayerNorm",
    "psnr": "PSNR",
    "rfft": "RFFT",
    "rgb_to_grayscale": "RGBToGrayscale",
    "rgb_to_hsv": "RGBToHSV",
    "rms_normalization": "RMSNorm",
    "searchsorted": "SearchSorted",
    "ssim": "SSIM",
    "stft": "STFT",
    "svd": "SVD",
}

ARGUMENTS = {
    "M": "The number of columns; None for as many as rows.",
    "N": "The number of rows; for `vander`, of columns, None for the size of ``x``.",
    "a": "A tensor.",
    "abs_": "The absolute values.",
    "alpha": "The scale of the negative part, or of the displacements.",
    "angle": "The angles in radians.",
    "antialias": "Whether to smooth when the result is smaller.",
    "approximate": "Whether to use the approximation by tanh.",
    "array": "A tensor of at least two axes.",
    "assume_unique": "Accepted for compatibility; the result does not depend on it.",
    "atol": "The absolute tolerance.",
    "attn_logits_soft_cap": "The absolute value to which scores are limited smoothly, or None.",
    "axes": "The axes.",
    "axis": "The axis, or axes; None for all.",
    "axis1": "The first axis.",
    "axis2": "The second axis.",
    "axisa": "The axis of the vectors in ``x1``.",
    "axisb": "The axis of the vectors in ``x2``.",
    "axisc": "The axis of the vectors in the result.",
    "b": "A tensor, or for `squareplus` the smoothness.",
    "base": "The base of the powers.",
    "beam_width": "The number of hypotheses that are kept.",
    "beta": "A number that is added, or the shape parameter of the window.",
    "bias": "A tensor that is added to the scores; None for none.",
    "bins": "The edges of the bins, or for `histogram` also their number.",
    "block_size": "The size of the blocks.",
    "body": "A function from the loop variables to their next values.",
    "body_fun": "A function from (step, value) to the next value.",
    "bottom_cropping": "The rows to remove at the bottom.",
    "bottom_padding": "The rows to add at the bottom.",
    "branches": "Functions of the operands.",
    "center": "Whether the sequence is padded so that frames are centered.",
    "choicelist": "The values for each condition.",
    "compute_uv": "Whether to compute the singular vectors.",
    "cond": "A function from the loop variables to a bool.",
    "condition": "A bool tensor.",
    "condlist": "Bool tensors.",
    "constant_values": "The number to fill with; None for 0.",
    "coordinates": "The positions: the first axis has an entry for each axis of the inputs.",
    "crop_to_aspect_ratio": "Whether to crop the images so that their aspect ratio stays.",
    "data": "A tensor.",
    "data_format": "``channels_last`` or ``channels_first``; None for `keras.config`'s.",
    "decimals": "The number of decimals; negative for tens and more.",
    "default": "The value where no condition holds.",
    "default_value": "The value below the threshold.",
    "depthwise_kernel": "The kernel of each channel.",
    "destination": "The new positions of the axes.",
    "dilation": "The spacing of elements.",
    "dilation_rate": "The spacing of the kernel's elements.",
    "dtype": "The dtype; None for the dtype of the operands or `keras.config.floatx`.",
    "dx": "The distance of samples without ``x``.",
    "elements": "A tensor or structure of tensors.",
    "elems": "A tensor or structure of tensors.",
    "end_points": "The corners after the transformation, (batch, 4, 2).",
    "endpoint": "Whether the last sample is ``stop``.",
    "epsilon": "A small number that avoids division by 0; None for `keras.config.epsilon`.",
    "equal_nan": "Whether NaNs are equal.",
    "excluded": "Must be None.",
    "f": "A function.",
    "false_fn": "The function without arguments for a false condition.",
    "fft_length": "The length of the transform; None for the length of the input.",
    "fill_mode": "How to extend the images: ``constant``, ``nearest``, ``wrap``, ``mirror`` or "
    "``reflect``.",
    "fill_value": "The value to fill with.",
    "filter_sigma": "The standard deviation of the window.",
    "filter_size": "The size of the window.",
    "flash_attention": "Must be None or False.",
    "from_logits": "Whether ``output`` are logits, not probabilities.",
    "full_matrices": "Whether the matrices of singular vectors are square.",
    "fun": "A function.",
    "function": "A function of one element.",
    "gamma": "A factor; None for none.",
    "has_aux": "Whether the function returns (output, auxiliary data).",
    "image1": "Images.",
    "image2": "Images of the same shape.",
    "images": "An image (height, width, channels), or a batch of them.",
    "increasing": "Whether the powers increase.",
    "index": "The number of a branch.",
    "indexing": "``xy`` or ``ij``.",
    "indices": "Integers.",
    "indices_or_sections": "The number of parts, or the indices at which to split.",
    "init": "The initial value.",
    "init_val": "The initial value.",
    "initial": "A lower bound of a maximum, or an upper bound of a minimum.",
    "inputs": "A tensor.",
    "interpolation": "``nearest`` or ``bilinear``; for `resize` also ``bicubic``.",
    "invert": "Whether to negate the result.",
    "is_causal": "Whether a position attends only to itself and positions before it.",
    "k": "A number: of a diagonal, of rotations, or of the largest elements.",
    "k1": "The constant of the mean.",
    "k2": "The constant of the variance.",
    "keepdims": "Whether to keep reduced axes with size 1.",
    "kwargs": "Further options, which are ignored.",
    "kernel": "The kernel: spatial sizes, input channels, output channels.",
    "kernel_size": "The spatial size of the window.",
    "key": "An index, or for attention the keys (batch, length, heads, size).",
    "kth": "The index around which to partition.",
    "left_cropping": "The columns to remove at the left.",
    "left_padding": "The columns to add at the left.",
    "length": "A length; None to infer it.",
    "loop_vars": "The initial values.",
    "lower": "The first step, or whether the matrix is lower triangular.",
    "mask": "A bool tensor: False where a position is ignored; None for none.",
    "mask_index": "The class of the blank label.",
    "max_val": "The range of the values.",
    "maximum_iterations": "The largest number of steps; None for no limit.",
    "mean": "The mean.",
    "merge_repeated": "Whether repeated labels are merged.",
    "method": "The interpolation: ``linear``, ``lower``, ``higher``, ``midpoint`` or ``nearest``.",
    "minlength": "The smallest size of the result.",
    "mode": "A mode.",
    "n": "How often to take differences, or the number of rows.",
    "nan": "The value for NaN.",
    "negative_slope": "The slope for negative inputs.",
    "neginf": "The value for -inf; None for the smallest finite number.",
    "newshape": "The new shape; -1 infers one size.",
    "num": "The number of samples or tensors.",
    "num_classes": "The number of classes.",
    "num_segments": "The number of segments; None infers it.",
    "offset": "The diagonal above the main one, or a number that is added.",
    "operands": "Tensors.",
    "ord": "The order of the norm; None for the 2-norm of all elements.",
    "order": "The order: of the norm, or of the interpolation (0 or 1).",
    "output": "The predictions.",
    "output_length": "The length of each prediction.",
    "output_padding": "The extra size of the output; None for the smallest.",
    "output_shape": "The shape of the result.",
    "output_size": "The spatial size of the result.",
    "pad_to_aspect_ratio": "Whether to pad the images so that their aspect ratio stays.",
    "pad_width": "The sizes before and after each axis.",
    "padding": "``valid`` or ``same``; for `fold` and `unfold` a number of zeros.",
    "pointwise_kernel": "The kernel that mixes channels.",
    "pool_size": "The size of the window.",
    "posinf": "The value for inf; None for the largest finite number.",
    "pred": "A bool.",
    "predictions": "Scores (batch, classes).",
    "primals": "The arguments of the function.",
    "pyfunc": "A function of scalars.",
    "q": "Quantiles from 0 to 1, or percentiles from 0 to 100.",
    "query": "The queries (batch, length, heads, size).",
    "ragged": "Must be None or False.",
    "range": "The lower and upper bound; None for those of the values.",
    "rcond": "The cutoff of small singular values; None for one that suits the dtype.",
    "reduction": "None to assign, or ``add``, ``mul``, ``min`` or ``max``.",
    "repeats": "How often to repeat.",
    "return_counts": "Whether to return how often each value occurs.",
    "return_index": "Whether to return the index of each first occurrence.",
    "return_inverse": "Whether to return the index of each element among the values.",
    "retstep": "Whether to return the distance of samples as well.",
    "reverse": "Whether to begin at the end.",
    "right_cropping": "The columns to remove at the right.",
    "right_padding": "The columns to add at the right.",
    "rtol": "The relative tolerance.",
    "scale": "A factor; None for none, or for attention the square root of the size.",
    "seed": "An integer or a `SeedGenerator`; None for a global one.",
    "segment_ids": "The segment of each row.",
    "sequence_length": "The length of the frames.",
    "sequence_lengths": "The length of each sequence.",
    "sequence_stride": "The distance of frames.",
    "shape": "A shape.",
    "shift": "The numbers of places.",
    "side": "``left`` or ``right``.",
    "sigma": "The standard deviation of the blur.",
    "signature": "Must be None.",
    "size": "The size of the result.",
    "sorted": "Whether the result or ``segment_ids`` are sorted.",
    "sorted_sequence": "A sorted tensor of one axis.",
    "source": "The axes to move.",
    "sparse": "Must be None or False.",
    "spatial_dims": "The axes to scale.",
    "start": "The first number.",
    "start_indices": "The index of the first element along each axis.",
    "start_points": "The corners before the transformation, (batch, 4, 2).",
    "step": "The distance of numbers; None for 1.",
    "stop": "The end.",
    "strategy": "``greedy`` or ``beam_search``.",
    "stride": "The steps of the window.",
    "strides": "The steps of the window; None for its size.",
    "subscripts": "The equation, such as ``ij,jk->ik``.",
    "synchronized": "Must be False.",
    "tangents": "The directions.",
    "target": "The targets.",
    "target_height": "The height of the result.",
    "target_length": "The length of each target.",
    "target_width": "The width of the result.",
    "targets": "Classes (batch,).",
    "threshold": "The threshold.",
    "tol": "The tolerance of small singular values; None for one that suits the dtype.",
    "top_cropping": "The rows to remove at the top.",
    "top_padding": "The rows to add at the top.",
    "top_paths": "The number of hypotheses in the result.",
    "transform": "Eight numbers of the projective transformation, for each image.",
    "translation": "The translation of each of the axes.",
    "true_fn": "The function without arguments for a true condition.",
    "unroll": "Accepted for compatibility.",
    "updates": "The values to write.",
    "upper": "The end of the steps, or whether the factor is upper triangular.",
    "value": "The values (batch, length, heads, size).",
    "values": "The values.",
    "variable": "A tensor.",
    "variance": "The variance.",
    "volumes": "A volume (depth, height, width, channels), or a batch of them.",
    "weights": "The weights; None for equal ones.",
    "window": "``hann``, ``hamming``, a tensor, or None for ones.",
    "x": "A tensor, or a number.",
    "x1": "A tensor, or a number.",
    "x2": "A tensor, or a number.",
    "x_max": "The upper bound.",
    "x_min": "The lower bound.",
    "xs": "Tensors.",
    "y": "A tensor.",
}


def _kind(name: str) -> str:
    return _KINDS.get(name) or "".join(part.capitalize() for part in name.split("_"))


def op(
    returns: str = "A tensor.",
    raises: str = "TypeError: If an argument cannot be converted to a tensor.",
    rule: Rule | None = None,
    result: Callable[..., Any] | None = None,
    arguments: Mapping[str, str] = MappingProxyType({}),
    **more_arguments: str,
) -> Callable[[Callable[Parameters, Any]], Callable[Parameters, Any]]:
    """Return a decorator that makes a function of tensors accept symbolic tensors.

    Args:
      returns: The text of the Returns section.
      raises: The text of the Raises section; empty to omit it.
      rule: The inference of symbolic results; None for calls with zeros.
      result: The same, as a function of the arguments.
      arguments: Descriptions of arguments instead of those in `ARGUMENTS`.
      more_arguments: The same, as keywords.
    """

    def decorate(function: Callable[Parameters, Any]) -> Callable[Parameters, Any]:
        describe({**ARGUMENTS, **arguments, **more_arguments}, returns, raises)(function)
        kind = _kind(function.__name__)

        @functools.wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
            for x in (*args, *kwargs.values()):
                kind_of_x = type(x)
                if kind_of_x is KerasTensor or (
                    kind_of_x in (list, tuple, dict) and is_symbolic(x)
                ):
                    return Operation(call, kind)(*args, **kwargs)
            return function(*args, **kwargs)

        if result is not None:
            call._nt_rule = lambda _, args, kwargs: result(*args, **kwargs)  # type: ignore[attr-defined]
        else:
            call._nt_rule = rule  # type: ignore[attr-defined]
        OPERATIONS[kind] = call
        return call

    return decorate


_Function = TypeVar("_Function", bound=Callable[..., Any])


def alias(name: str, function: _Function) -> _Function:
    """Return a function that Keras also has under another name; configs may use either."""
    OPERATIONS[_kind(name)] = function
    return function


def _named(name: str, function: Any, text: str, example: str, result: str) -> None:
    """Give a function its name, its text, and the module that called one of the families below."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = sys._getframe(2).f_globals["__name__"]
    function.__doc__ = f"{text}\n\n>>> tf.keras.ops.{name}({example}).numpy()\n{result}\n"


# --- Promotion of dtypes -------------------------------------------------------------------------

# JAX's lattice: the dtypes directly above each dtype. "int" and "float" are Python numbers.
_ABOVE = {
    "bool": ["int"],
    "int": ["uint8", "int8"],
    "uint8": ["int16", "uint16"],
    "uint16": ["int32", "uint32"],
    "uint32": ["int64", "uint64"],
    "uint64": ["float"],
    "int8": ["int16"],
    "int16": ["int32"],
    "int32": ["int64"],
    "int64": ["float"],
    "float": ["bfloat16", "float16"],
    "bfloat16": ["float32"],
    "float16": ["float32"],
    "float32": ["float64", "complex64"],
    "float64": ["complex128"],
    "complex64": ["complex128"],
    "complex128": [],
}


@functools.cache
def _all_above(name: str) -> frozenset[str]:
    names = frozenset([name])
    for above in _ABOVE[name]:
        names |= _all_above(above)
    return names


@functools.lru_cache(1024)
def _least_upper_bound(names: frozenset[str]) -> str:
    # Functions record this loop; calls of methods with *arguments they would run as Python.
    common = _all_above("bool")
    for name in names:
        common &= _all_above(name)
    return max(common, key=lambda name: len(_all_above(name)))


def result_type(*dtypes: str) -> DType:
    """Return the dtype of operations on operands of these dtypes, by JAX's rules of promotion.

    Args:
      dtypes: Names of dtypes; ``int`` and ``float`` stand for Python numbers.
    """
    name = _least_upper_bound(frozenset(dtypes))
    return as_dtype({"int": "int32", "float": floatx()}.get(name, name))


def dtype_name(x: object) -> str:
    """Return the name of an operand's dtype; ``int`` or ``float`` for a Python number."""
    kind = type(x)
    if kind is int or kind is float:
        return kind.__name__
    return as_tensor(x).dtype.name


def promoted(*xs: TensorLike, floating: bool = False) -> list[Tensor]:
    """Convert operands to their common dtype, at least a floating-point one if ``floating``."""
    tensors = [x if type(x) is Tensor else as_tensor(x) for x in xs]
    names = {
        kind.__name__ if (kind := type(x)) is int or kind is float else t.dtype.name
        for x, t in zip(xs, tensors, strict=True)
    }
    if floating:
        names.add("float")
    if len(names) == 1 and type(xs[0]) is Tensor:
        return tensors
    dtype = result_type(*names)
    return [
        constant(x, dtype)
        if type(x) is int or type(x) is float
        else t
        if t.dtype is dtype
        else cast(t, dtype)
        for x, t in zip(xs, tensors, strict=True)
    ]


def floats(x: TensorLike) -> Tensor:
    """Convert to a tensor of floats: integers and bools become `floatx`."""
    tensor = as_tensor(x)
    if tensor.dtype.is_floating or tensor.dtype.is_complex:
        return tensor
    return cast(tensor, as_dtype(floatx()))


def numbers(x: TensorLike) -> Tensor:
    """Convert to a tensor of numbers: bools become int32."""
    tensor = as_tensor(x)
    return cast(tensor, as_dtype("int32")) if tensor.dtype.is_bool else tensor


def to_dtype(x: TensorLike, dtype: DType) -> Tensor:
    """Cast to a dtype; numbers are not rounded to float32 before, as `tf.cast` does."""
    is_number = isinstance(x, int | float | np.number) and not isinstance(x, bool)
    if is_number and dtype.is_floating:
        return constant(float(_typed("float", x)), dtype)
    if isinstance(x, list | tuple) and dtype.is_floating:
        array = np.asarray(x) if all(isinstance(n, int | float) for n in x) else x
        return cast(as_tensor(array), dtype)
    return cast(x, dtype)


def wide(x: TensorLike) -> Tensor:
    """Convert as sums do: small integers become 32 bits wide."""
    tensor = as_tensor(x)
    name = tensor.dtype.name
    if name in ("bool", "int8", "int16"):
        return cast(tensor, as_dtype("int32"))
    return cast(tensor, as_dtype("uint32")) if name in ("uint8", "uint16") else tensor


def dtype_or_floatx(dtype: DTypeLike | None) -> DType:
    """Return a dtype; `floatx` for None."""
    return keras_dtype(floatx() if dtype is None else dtype)


# --- Shapes --------------------------------------------------------------------------------------


def broadcast_shapes(*shapes: Sequence[int | None]) -> list[int | None]:
    """Broadcast shapes that may contain unknown sizes."""
    result: list[int | None] = []
    rank = max(len(shape) for shape in shapes)
    padded = [(*[1] * (rank - len(shape)), *shape) for shape in shapes]
    for sizes in zip(*padded, strict=True):
        known = {n for n in sizes if n is not None and n != 1}
        if len(known) > 1:
            raise ValueError(f"Shapes {[tuple(s) for s in shapes]} cannot be broadcast together.")
        result.append(known.pop() if known else None if None in sizes else 1)
    return result


def shape_of(x: Any) -> tuple[int | None, ...]:
    """Return the shape of an operand, which may be symbolic."""
    return x.shape if isinstance(x, KerasTensor) else tuple(as_tensor(x).shape)


def to_axis(axis: Any, rank: int) -> int:
    """Return the number of an axis, which may count from the end."""
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise ValueError(f"axis {number} is out of bounds for a tensor of {rank} axes.")
    return number % rank


def infer_broadcast(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Infer the result of a function that broadcasts all of its arguments."""
    operands = [x for x in (*args, *kwargs.values()) if x is not None]
    if len(operands) == 1:  # `where` with a condition alone
        return infer(function, args, kwargs)
    shape = broadcast_shapes(*map(shape_of, operands))

    def scalar(x: Any) -> Any:
        return KerasTensor((), x.dtype) if isinstance(x, KerasTensor) else x

    result = infer(function, [*map(scalar, args)], {name: scalar(x) for name, x in kwargs.items()})
    return KerasTensor(shape, result.dtype)


# --- Families of functions -----------------------------------------------------------------------


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, x: TensorLike) -> Tensor | Any:
        """Return a tensor."""


class Binary(Protocol):
    """A function of two tensors."""

    def __call__(self, x1: TensorLike, x2: TensorLike) -> Tensor | Any:
        """Return a tensor."""


class BitwiseBinary(Protocol):
    """A function of two tensors of integers."""

    def __call__(self, x: TensorLike, y: TensorLike) -> Tensor | Any:
        """Return a tensor."""


class Reduction(Protocol):
    """A function that reduces axes."""

    def __call__(
        self, x: TensorLike, axis: AxisLike = None, keepdims: bool = False
    ) -> Tensor | Any:
        """Return a tensor."""


def unary(
    name: str,
    function: Callable[[Any], Any],
    text: str,
    example: str,
    result: str,
    convert: Callable[[Any], Tensor] = floats,
) -> Unary:
    """Define an elementwise function; ``convert`` converts the operand first."""

    def call(x: TensorLike) -> Tensor:
        y: Tensor = function(convert(x))
        return y

    _named(name, call, text, example, result)
    return _typed("Unary", op("A tensor of the shape of ``x``.")(call))


def binary(
    name: str,
    function: Callable[[Any, Any], Any],
    text: str,
    example: str,
    result: str,
    floating: bool = False,
) -> Binary:
    """Define an elementwise function of two operands, which are converted to a common dtype."""

    def call(x1: TensorLike, x2: TensorLike) -> Tensor:
        y: Tensor = function(*promoted(x1, x2, floating=floating))
        return y

    _named(name, call, text, example, result)
    returns = "A tensor of the operands' broadcast shape and promoted dtype."
    raises = "InvalidArgumentError: If the shapes cannot be broadcast."
    return _typed("Binary", op(returns, raises, infer_broadcast)(call))


def bitwise_binary(
    name: str, function: Callable[[Any, Any], Any], text: str, example: str, result: str
) -> BitwiseBinary:
    """Define a function of integers or bools."""

    def call(x: TensorLike, y: TensorLike) -> Tensor:
        z: Tensor = function(*promoted(x, y))
        return z

    _named(name, call, text, example, result)
    returns = "A tensor of the operands' broadcast shape and promoted dtype."
    raises = "TypeError: If the operands are floats."
    return _typed("BitwiseBinary", op(returns, raises, infer_broadcast)(call))


def reduction(
    name: str,
    function: Callable[[Any, Any, bool], Any],
    text: str,
    example: str,
    result: str,
    convert: Callable[[Any], Tensor] = as_tensor,
) -> Reduction:
    """Define a reduction over axes; ``convert`` converts the operand first."""

    def call(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        y: Tensor = function(convert(x), axis, keepdims)
        return y

    _named(name, call, text, example, result)
    raises = "InvalidArgumentError: If ``x`` has no such axis."
    return _typed("Reduction", op("A tensor without the reduced axes.", raises)(call))
