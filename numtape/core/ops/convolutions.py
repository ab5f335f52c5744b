"""TensorFlow's convolutions, their derivatives and transposed convolutions.

Three ops sum over the same triples of an input element, a filter element and the output element
where they meet: `CONV` for each output, `CONV_INPUT` for each input, and `CONV_FILTER` for each
filter element. Each op's derivatives are the other two, so that derivatives of every order exist.
Axes are batch, one to three spatial axes, channels. Filters have the spatial axes, then the input
channels (of one group) and the output channels.

`CONV_INPUT` takes a filter with swapped channels (`swap_channels`), so that its kernel equals the
forward kernel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError, UnimplementedError
from ...kernels.constants import CONV_COLUMNS, CONV_PIXELS, CONV_ROWS, CONV_TAPS
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require
from ..values.dtypes import mismatch_error, repr_of
from ..values.hints import suggest_keywords
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import matrix_products, movement, rules
from .diagonals import to_integer
from .joining import as_tensors

if TYPE_CHECKING:
    from ..values.annotations import IntLike, IntsLike, PaddingLike, ShapeLike, TensorLike

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]


class Geometry(NamedTuple):
    """The geometry of a convolution: which input, filter and output elements meet.

    Output o and filter element t meet input ``o * stride + t * dilation - padding_before``, where
    ``padding_before`` is the number of zeros before the input.
    """

    input_sizes: Ints  # spatial sizes of the input
    output_sizes: Ints  # spatial sizes of the output
    kernel: Ints  # spatial sizes of the filter
    strides: Ints
    dilations: Ints
    padding_before: Ints
    groups: int

    def parameters(self) -> Ints:
        """Return all fields but the groups, padded to three spatial axes."""
        parts = (
            (self.input_sizes, 1),
            (self.output_sizes, 1),
            (self.kernel, 1),
            (self.strides, 1),
            (self.dilations, 1),
            (self.padding_before, 0),
        )
        return tuple(x for part, fill in parts for x in (*(fill,) * (3 - len(part)), *part))

    def multiplication_count(self, n: int, channels: int, features: int) -> int:
        """Return the number of multiplications."""
        features_per_group = channels * features // max(1, self.groups)
        return n * math.prod(self.output_sizes) * math.prod(self.kernel) * features_per_group


def taps(geometry: Geometry) -> Iterator[tuple[Ints, tuple[slice, ...], tuple[slice, ...]]]:
    """Yield each filter element with slices of the inputs and outputs that it connects."""
    for position in itertools.product(*map(range, geometry.kernel)):
        inputs, outputs = [], []
        for t, n, m, stride, dilation, before in zip(
            position,
            geometry.input_sizes,
            geometry.output_sizes,
            geometry.strides,
            geometry.dilations,
            geometry.padding_before,
            strict=True,
        ):
            at = t * dilation - before  # the input element that output 0 meets
            first = max(0, -(at // stride))
            last = min(m - 1, (n - 1 - at) // stride)
            if last < first:
                break
            outputs.append(slice(first, last + 1))
            inputs.append(slice(at + first * stride, at + last * stride + 1, stride))
        else:
            yield position, tuple(inputs), tuple(outputs)


def _split_groups(x: Array, groups: int) -> Array:
    return x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups)


def _multiply(x: Array, w: Array, groups: int) -> Array:
    """Multiply pixels by the matrix of one filter element."""
    if groups == 1:
        product: Array = np.matmul(x, w)
        return product
    result: Array = np.einsum(
        "...gc,cgm->...gm", _split_groups(x, groups), _split_groups(w, groups)
    )
    return result.reshape(*x.shape[:-1], w.shape[-1])


def _forward(out: Array, x: Array, w: Array, geometry: Geometry) -> None:
    out[...] = 0
    for tap, inputs, outputs in taps(geometry):
        out[:, *outputs] += _multiply(x[:, *inputs], w[tap], geometry.groups)


def _by_input(out: Array, g: Array, v: Array, geometry: Geometry) -> None:
    out[...] = 0
    for tap, inputs, outputs in taps(geometry):
        out[:, *inputs] += _multiply(g[:, *outputs], v[tap], geometry.groups)


def _by_filter(out: Array, x: Array, g: Array, geometry: Geometry) -> None:
    out[...] = 0
    groups, columns = geometry.groups, g.shape[-1]
    for tap, inputs, outputs in taps(geometry):
        a, b = x[:, *inputs].reshape(-1, x.shape[-1]), g[:, *outputs].reshape(-1, columns)
        if groups == 1:
            out[tap] = a.T @ b
        else:
            value = np.einsum("pgc,pgm->cgm", _split_groups(a, groups), _split_groups(b, groups))
            out[tap] = value.reshape(out[tap].shape)


def _make_native(name: str) -> Any:
    def native(out: Spec, x: Spec, w: Spec, geometry: Geometry) -> Native | None:
        if not out.is_float or not x.size or not w.size or math.prod(geometry.kernel) > CONV_TAPS:
            return None
        groups, n = geometry.groups, out.shape[0] if name != "by_filter" else x.shape[0]
        channels, features = x.shape[-1], (w if name == "by_filter" else out).shape[-1]
        depthwise = channels == groups if name != "by_input" else features == groups
        kind = f"conv.depthwise_{name}" if depthwise and groups > 1 else f"conv.{name}"
        if name == "by_filter":
            units = math.prod(geometry.kernel)
            if not depthwise or groups == 1:
                rows = units * channels // groups
                units = groups * -(-rows // CONV_ROWS) * -(-(features // groups) // CONV_COLUMNS)
        else:
            phases = geometry.strides if name == "by_input" else (1,) * len(geometry.input_sizes)
            sizes = geometry.input_sizes if name == "by_input" else geometry.output_sizes
            pixels = n * math.prod(-(-s // p) for s, p in zip(sizes, phases, strict=True))
            units = math.prod(phases) * -(-pixels // CONV_PIXELS)
        work = max(1, geometry.multiplication_count(n, channels, features) // 6)
        sizes = channels // groups, features // groups
        sizes = sizes[::-1] if name == "by_input" else sizes
        parameters = n, groups, *sizes, *geometry.parameters()
        return Native(kind, (out.dtype.name,), parameters, units, work)

    return native


def _spec(op: Op, x: Spec, w: Spec, geometry: Geometry) -> Spec:
    rules.floating(op, x.with_scalar(), w.with_scalar())
    return intern((x.shape[0], *geometry.output_sizes, w.shape[-1]), x.dtype)


def _input_spec(op: Op, g: Spec, v: Spec, geometry: Geometry) -> Spec:
    return intern((g.shape[0], *geometry.input_sizes, v.shape[-1]), g.dtype)


def _filter_spec(op: Op, x: Spec, g: Spec, geometry: Geometry) -> Spec:
    shape = *geometry.kernel, x.shape[-1] // geometry.groups, g.shape[-1]
    return intern(shape, x.dtype)


def swap_channels(w: Tensor, groups: int) -> Tensor:
    """Return a filter with input and output channels swapped in each group."""
    *kernel, inputs, features = tuple(w.shape)
    rank = len(kernel)
    outputs = features // groups
    if groups == 1:
        if inputs == 1 or outputs == 1:
            return movement.reshape_if_needed(w, (*kernel, features, inputs))
        return movement.transpose_if_needed(w, (*range(rank), rank + 1, rank))
    if inputs == 1 and outputs == 1:
        return w
    split = movement.reshape_if_needed(w, (*kernel, inputs, groups, outputs))
    split = movement.transpose_if_needed(split, (*range(rank), rank + 2, rank + 1, rank))
    return movement.reshape_if_needed(split, (*kernel, outputs, groups * inputs))


def conv(x: Tensor, w: Tensor, geometry: Geometry) -> Tensor:
    """Record the outputs."""
    return record(CONV, (x, w), geometry=geometry)


def conv_input(g: Tensor, v: Tensor, geometry: Geometry) -> Tensor:
    """Record the adjoint of the input, from that of the output and a swapped filter."""
    return record(CONV_INPUT, (g, v), geometry=geometry)


def conv_filter(x: Tensor, g: Tensor, geometry: Geometry) -> Tensor:
    """Record the adjoint of the filter, from the input and the adjoint of the output."""
    return record(CONV_FILTER, (x, g), geometry=geometry)


CONV = defop(
    "Conv",
    ARRAY,
    2,
    _spec,
    compute=_forward,
    native=_make_native("forward"),
    vjp=lambda g, y, x, w, geometry: (
        conv_input(g, swap_channels(w, geometry.groups), geometry),
        conv_filter(x, g, geometry),
    ),
)
CONV_INPUT = defop(
    "ConvBackpropInput",
    ARRAY,
    2,
    _input_spec,
    compute=_by_input,
    native=_make_native("by_input"),
    vjp=lambda h, y, g, v, geometry: (
        conv(h, swap_channels(v, geometry.groups), geometry),
        swap_channels(conv_filter(h, g, geometry), geometry.groups),
    ),
)
CONV_FILTER = defop(
    "ConvBackpropFilter",
    ARRAY,
    2,
    _filter_spec,
    compute=_by_filter,
    native=_make_native("by_filter"),
    vjp=lambda h, y, x, g, geometry: (
        conv_input(g, swap_channels(h, geometry.groups), geometry),
        conv(x, h, geometry),
    ),
)


CHANNELS_LAST = {1: ("NWC",), 2: ("NHWC",), 3: ("NDHWC",)}
CHANNELS_FIRST = {1: ("NCW",), 2: ("NCHW",), 3: ("NCDHW",)}


def channels_first(data_format: str | None, rank: int, op: str) -> bool:
    """Return whether channels come before the spatial axes; None means that they are last."""
    if data_format is None:
        return False
    allowed = (*CHANNELS_LAST[rank], *CHANNELS_FIRST[rank])
    if data_format not in allowed:
        # As in TensorFlow: a ValueError for one dimension, an error of the op for others.
        kind = ValueError if rank == 1 else InvalidArgumentError
        raise kind(
            f"Value for attr 'data_format' of {repr_of(data_format)} is not in the list of allowed "
            f"values: {', '.join(allowed)} [Op:{op}]"
        )
    return data_format in CHANNELS_FIRST[rank]


def parse_sizes(
    value: IntsLike | None, rank: int, is_channels_first: bool, what: str
) -> tuple[int, ...]:
    """Parse an argument with a number for all axes, each spatial axis or each axis.

    The result has the batch first, then the spatial axes, and the channels last.
    """
    if value is None:
        value = 1
    if isinstance(value, Tensor | np.ndarray):
        value = movement.to_ints(value)
    values = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    if len(values) == 1:
        values *= rank
    if len(values) == rank:
        return (1, *map(_to_int32, values), 1)
    if len(values) == rank + 2:
        sizes = tuple(map(_to_int32, values))
        return (sizes[0], *sizes[2:], sizes[1]) if is_channels_first else sizes
    raise ValueError(
        f"{what} should be of length 1, {rank} or {rank + 2}. Received: {what}={repr_of(value)} of "
        f"length {len(values)}"
    )


def _to_int32(value: IntLike) -> int:
    try:
        result = int(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"A size is an int, not {repr_of(value)}.") from None
    if abs(result) >= 2**31:
        raise ValueError(f"A size of {repr_of(value)} is too big: it has to fit int32.")
    return result


def spatial_sizes(values: tuple[int, ...], op: str, what: str) -> Ints:
    """Check strides or dilations and return those of the spatial axes."""
    if values[0] != 1 or values[-1] != 1:
        raise UnimplementedError(
            f"Only {what} of 1 are there for the batch and the channels, got {values} [Op:{op}]"
        )
    require(min(values) > 0, op, f"{what} must be larger than 0, got {values[1:-1]}")
    return values[1:-1]


def parse_padding(
    padding: PaddingLike, rank: int, is_channels_first: bool, op: str
) -> tuple[tuple[int, int], ...] | None:
    """Return explicit paddings of the spatial axes; None for "SAME" and "VALID"."""
    if isinstance(padding, str | bytes):
        allowed = '"SAME", "VALID", "EXPLICIT"'
        require(
            padding in ("SAME", "VALID"),
            op,
            f"Value for attr 'padding' of {padding!r} is not in the list of allowed values: "
            f"{allowed}",
        )
        return None
    if not isinstance(padding, Sequence | np.ndarray):
        raise TypeError(f"padding is a string or a list, not {repr_of(padding)} [Op:{op}]")
    for k, pair in enumerate(padding):
        if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise ValueError(
                f"When `padding` is a list, each element of `padding` must be a list/tuple of size "
                f"2. Received: padding={repr_of(padding)} with element at index {k} of type "
                f"{type(pair)}"
            )
    pairs = [tuple(map(_to_int32, pair)) for pair in padding]
    if len(pairs) != rank + 2:
        raise ValueError(
            f"When padding is a list, it must be of size {rank + 2}. Received: padding="
            f"{repr_of(padding)} of size {len(pairs)}"
        )
    require(min(map(min, pairs)) >= 0, op, "All elements of padding must be nonnegative")
    if is_channels_first:
        pairs.append(pairs.pop(1))
    require(
        not any((*pairs[0], *pairs[-1])),
        op,
        "Nonzero explicit padding in the batch or depth dimensions is not supported",
    )
    return tuple((before, after) for before, after in pairs[1:-1])


def make_geometry(
    input_sizes: Ints,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    padding: PaddingLike,
    pairs: tuple[tuple[int, int], ...] | None,
    groups: int,
    op: str,
) -> Geometry:
    """Return the geometry of a convolution.

    Raises:
      InvalidArgumentError: If the window is larger than the padded input.
    """
    output_sizes, padding_before = [], []
    for axis, (n, k, s, d) in enumerate(zip(input_sizes, kernel, strides, dilations, strict=True)):
        window = (k - 1) * d + 1
        if pairs is None and padding == "SAME":
            output_size = -(-n // s)
            start = max((output_size - 1) * s + window - n, 0) // 2
        else:
            start, end = (0, 0) if pairs is None else pairs[axis]
            output_size = math.trunc((n + start + end - window + s) / s)
            require(
                output_size >= 0,
                op,
                f"Computed output size would be negative: {output_size} [input_size: "
                f"{n + start + end}, effective_filter_size: {window}, stride: {s}]",
            )
        output_sizes.append(output_size)
        padding_before.append(start)
    return Geometry(
        input_sizes, tuple(output_sizes), kernel, strides, dilations, tuple(padding_before), groups
    )


def to_channels_last(x: Tensor, is_channels_first: bool) -> Tensor:
    """Move the channels to the last axis if they are ``is_channels_first``."""
    return movement.transpose_if_needed(x, (0, *range(2, x.ndim), 1)) if is_channels_first else x


def restore_channels(y: Tensor, is_channels_first: bool) -> Tensor:
    """Undo `to_channels_last`."""
    return (
        movement.transpose_if_needed(y, (0, y.ndim - 1, *range(1, y.ndim - 1)))
        if is_channels_first
        else y
    )


def _to_operands(x: TensorLike, w: TensorLike, op: str) -> tuple[Tensor, Tensor]:
    x, w = as_tensors((x, w), op)
    return x, w


def _check_ranks(x: Tensor, w: Tensor, rank: int, op: str) -> None:
    require(
        x.ndim >= rank + 2,
        op,
        f"convolution input must be {rank + 2}-dimensional: {x.shape.as_list()}",
    )
    require(
        w.ndim == rank + 2,
        op,
        f"convolution filter must be {rank + 2}-dimensional: {w.shape.as_list()}",
    )


def convolve(x: Tensor, w: Tensor, geometry: Geometry) -> Tensor:
    """Record a convolution; a pointwise convolution is one matrix product."""
    ones = (1,) * len(geometry.kernel)
    is_pointwise = geometry.kernel == geometry.strides == ones and geometry.groups == 1
    if is_pointwise and geometry.input_sizes == geometry.output_sizes:
        rows = movement.reshape_if_needed(x, (math.prod(x.shape[:-1]), x.shape[-1]))
        result = matrix_products.matmul(rows, movement.reshape_if_needed(w, tuple(w.shape[-2:])))
        return movement.reshape_if_needed(result, (*x.shape[:-1], w.shape[-1]))
    return conv(x, w, geometry)


def _convolution(
    x: Tensor,
    w: Tensor,
    rank: int,
    strides: IntsLike | None,
    padding: PaddingLike,
    data_format: str | None,
    dilations: IntsLike | None,
    op: str,
) -> Tensor:
    """Compute a convolution with a known number of spatial axes."""
    is_channels_first = channels_first(data_format, rank, op)
    _check_ranks(x, w, rank, op)
    steps = spatial_sizes(parse_sizes(strides, rank, is_channels_first, "strides"), op, "strides")
    rates = spatial_sizes(
        parse_sizes(dilations, rank, is_channels_first, "dilations"), op, "dilations"
    )
    pairs = parse_padding(padding, rank, is_channels_first, op)
    batch_shape = tuple(x.shape[: x.ndim - rank - 1])
    if len(batch_shape) > 1:
        x = movement.reshape_if_needed(x, (math.prod(batch_shape), *x.shape[len(batch_shape) :]))
    x = to_channels_last(x, is_channels_first)
    channels, filter_channels, features = int(x.shape[-1]), int(w.shape[-2]), int(w.shape[-1])
    require(
        filter_channels > 0, op, f"filter depth must be strictly positive, got {filter_channels}"
    )
    require(
        channels % filter_channels == 0 and channels > 0,
        op,
        f"input depth must be evenly divisible by filter depth: {channels} vs {filter_channels}: "
        f"the input {x.shape.as_list()} has {channels} channels, and the filter "
        f"{w.shape.as_list()} expects {filter_channels}",
    )
    groups = channels // filter_channels
    require(
        features % groups == 0,
        op,
        f"output depth must be evenly divisible by number of groups: {features} vs {groups}",
    )
    geometry = make_geometry(
        tuple(x.shape[1:-1]), tuple(w.shape[:-2]), steps, rates, padding, pairs, groups, op
    )
    y = restore_channels(convolve(x, w, geometry), is_channels_first)
    return (
        movement.reshape_if_needed(y, (*batch_shape, *y.shape[1:])) if len(batch_shape) > 1 else y
    )


def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: IntsLike,
    padding: str,
    data_format: str = "NWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over one axis: sums of products of a sliding filter and the input.

    As in TensorFlow, the filter is not mirrored, and channels may be in groups: if the filter has a
    fraction of the input's channels, each group of channels has its own group of features.

    Args:
      input: A tensor of floats, of shape (..., width, channels).
      filters: A tensor of shape (width of the filter, channels, features).
      stride: The stride of the filter.
      padding: "VALID" for positions where the filter lies inside the input, or "SAME" to pad the
        input with zeros.
      data_format: "NWC" or "NCW".
      dilations: The distance between filter elements.
      name: Not used.

    Returns:
      A tensor of shape (..., new width, features).

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides or dilations, or the format is unknown.
      TypeError: If ``padding`` is not a string.

    Example:
      >>> x = tf.reshape([1.0, 2.0, 3.0, 4.0], (1, 4, 1))
      >>> tf.nn.conv1d(x, tf.reshape([1.0, 10.0], (2, 1, 1)), 1, "VALID").numpy().ravel()
      array([21., 32., 43.], dtype=float32)
    """
    if not isinstance(padding, str):
        raise TypeError(f"Expected string for argument 'padding' not {repr_of(padding)}.")
    x, w = _to_operands(input, filters, "Conv1D")
    return _convolution(x, w, 1, stride, padding, data_format, dilations, "Conv1D")


@suggest_keywords
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over two axes: sums of products of a sliding filter and the input.

    See `conv1d`. Its derivatives are also convolutions (Dumoulin and Visin, "A guide to convolution
    arithmetic for deep learning", 2016).

    Args:
      input: A tensor of floats, of shape (..., height, width, channels).
      filters: A tensor of shape (height, width, channels, features).
      strides: The strides of the filter: one number, two, or four including batch and channels.
      padding: "VALID", "SAME", or pairs of ints, the numbers of zeros before and after each axis.
      data_format: "NHWC" or "NCHW".
      dilations: The distance between filter elements, in the form of ``strides``.
      name: Not used.

    Returns:
      A tensor of shape (..., new height, new width, features).

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      UnimplementedError: If a stride of the batch or of the channels is not 1.
      ValueError: If there are too many strides or dilations.

    Example:
      >>> x = tf.reshape(tf.range(9.0), (1, 3, 3, 1))
      >>> tf.nn.conv2d(x, tf.ones((2, 2, 1, 1)), 1, "VALID")[0, :, :, 0].numpy()
      array([[ 8., 12.],
             [20., 24.]], dtype=float32)
    """
    x, w = _to_operands(input, filters, "Conv2D")
    return _convolution(x, w, 2, strides, padding, data_format, dilations, "Conv2D")


def _check_five_sizes(value: IntsLike | None, what: str, op: str) -> Any:
    """Check that strides are a list of five numbers; None becomes 1."""
    if value is None:
        return 1
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"Expected list for '{what}' argument to '{op}' Op, not {repr_of(value)}.")
    require(len(value) == 5, op, f"Sliding window {what} field must specify 5 dimensions")
    return value


def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: Sequence[IntLike],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[IntLike] | None = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over three axes: sums of products of a sliding filter and the input.

    See `conv1d`.

    Args:
      input: A tensor of floats, of shape (batch, depth, height, width, channels).
      filters: A tensor of shape (depth, height, width, channels, features).
      strides: Five ints, the first and the last one 1.
      padding: "VALID" or "SAME".
      data_format: "NDHWC" or "NCDHW".
      dilations: Five ints, the first and the last one 1; None for ones.
      name: Not used.

    Returns:
      A tensor of shape (batch, new depth, new height, new width, features).

    Raises:
      TypeError: If strides are not a list, or ``padding`` is not a string.
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.

    Example:
      >>> x = tf.ones((1, 2, 2, 2, 3))
      >>> tf.nn.conv3d(x, tf.ones((2, 2, 2, 3, 1)), [1, 1, 1, 1, 1], "VALID").numpy().ravel()
      array([24.], dtype=float32)
    """
    strides = _check_five_sizes(1 if strides is None else strides, "strides", "conv3d")
    if not isinstance(padding, str):
        raise TypeError(f"Expected string for argument 'padding' not {repr_of(padding)}.")
    x, w = _to_operands(input, filters, "Conv3D")
    require(x.ndim == 5, "Conv3D", f"input must be 5-dimensional: {x.shape.as_list()}")
    dilations = _check_five_sizes(dilations, "dilations", "conv3d")
    return _convolution(x, w, 3, strides, padding, data_format, dilations, "Conv3D")


def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: IntsLike | None = None,
    padding: PaddingLike = "VALID",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over as many axes as the filter has, one to three; see `conv2d`.

    Args:
      input: A tensor of floats, of shape (..., *spatial, channels).
      filters: A tensor of shape (*spatial, channels, features).
      strides: The strides of the filter: an int, or one for each spatial axis.
      padding: "VALID", "SAME", or, for two axes, pairs of ints.
      data_format: None, or a name such as "NHWC" or "NCHW".
      dilations: The distance between filter elements, in the form of ``strides``.
      name: Not used.

    Returns:
      A tensor of shape (..., *new_spatial, features).

    Raises:
      ValueError: If strides and dilations are both larger than 1, or the filter has too many axes.
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.

    Example:
      >>> tf.nn.convolution(tf.ones((1, 5, 2)), tf.ones((3, 2, 4))).shape
      TensorShape([1, 3, 4])
    """
    x, w = _to_operands(input, filters, "Convolution")
    rank = w.ndim - 2
    if not 1 <= rank <= 3 or x.ndim < rank + 2:
        raise ValueError(
            "`input` must have one to three spatial dimensions, and as many as `filters`. "
            f"Received: input.shape={x.shape}, filters.shape={w.shape}"
        )
    is_channels_first = channels_first(data_format, rank, "Convolution")
    steps = parse_sizes(strides, rank, is_channels_first, "strides")
    rates = parse_sizes(dilations, rank, is_channels_first, "dilations")
    check_steps_and_rates(steps, rates)
    return _convolution(x, w, rank, steps[1:-1], padding, data_format, rates[1:-1], "Convolution")


def check_steps_and_rates(steps: Sequence[int], rates: Sequence[int]) -> None:
    """Raise an error if strides and dilations are combined, or a dilation is not positive."""
    if min(rates) < 1:
        raise ValueError(f"all values of `dilation_rate` must be positive. Received: {rates}")
    if max(steps) > 1 and max(rates) > 1:
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={list(steps[1:-1])} and dilation_rate={list(rates[1:-1])}"
        )


def atrous_conv2d(
    value: TensorLike,
    filters: TensorLike,
    rate: IntLike,
    padding: PaddingLike,
    name: str | None = None,
) -> Tensor:
    """`conv2d` with dilations of ``rate`` and strides of 1.

    Args:
      value: A tensor of floats, of shape (..., height, width, channels).
      filters: A tensor of shape (height, width, channels, features).
      rate: The distance between filter elements.
      padding: "VALID" or "SAME".
      name: Not used.

    Returns:
      A tensor of shape (..., new height, new width, features).

    Raises:
      ValueError: If the rate is not positive.
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> tf.nn.atrous_conv2d(tf.ones((1, 5, 5, 1)), tf.ones((2, 2, 1, 1)), 3, "VALID").shape
      TensorShape([1, 2, 2, 1])
    """
    return convolution(value, filters, None, padding, None, [rate, rate])


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: Sequence[IntLike],
    padding: PaddingLike,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """A convolution of each channel separately, with its own filters.

    Args:
      input: A tensor of floats, of shape (batch, height, width, channels).
      filter: A tensor of shape (height, width, channels, features of each channel).
      strides: Four ints, the first and the last one 1.
      padding: "VALID", "SAME", or pairs of ints, the numbers of zeros before and after each axis.
      data_format: "NHWC" or "NCHW"; None for "NHWC".
      dilations: The distance between filter elements: one int or two.
      name: Not used.

    Returns:
      A tensor of shape (batch, new height, new width, channels * features of each).

    Raises:
      TypeError: If strides are not a list.
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.

    Example:
      >>> x = tf.reshape([1.0, 2.0, 3.0, 4.0], (1, 2, 1, 2))
      >>> w = tf.reshape([1.0, 10.0, 5.0, 5.0], (1, 1, 2, 2))
      >>> tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID")[0, :, 0].numpy()
      array([[ 1., 10., 10., 10.],
             [ 3., 30., 20., 20.]], dtype=float32)
    """
    op = "DepthwiseConv2dNative"
    if not isinstance(strides, Sequence) or isinstance(strides, str):
        raise TypeError(
            f"Expected list for 'strides' argument to 'depthwise_conv2d_native' Op, not "
            f"{repr_of(strides)}."
        )
    x, w = _to_operands(input, filter, op)
    is_channels_first = channels_first(data_format, 2, op)
    require(x.ndim == 4, op, f"input must be 4-dimensional: {x.shape.as_list()}")
    _check_ranks(x, w, 2, op)
    channels, multiplier = int(w.shape[2]), int(w.shape[3])
    depth = int(x.shape[1 if is_channels_first else 3])
    require(
        channels == depth and depth > 0,
        op,
        f"input and filter must have the same depth: {depth} vs {channels}: the input "
        f"{x.shape.as_list()} has {depth} channels, and the filter {w.shape.as_list()} expects "
        f"{channels}",
    )
    if len(strides) != 4:
        raise InvalidArgumentError(
            f"Sliding window strides field must specify 4 dimensions [Op:{op}]"
        )
    w = movement.reshape_if_needed(w, (*w.shape[:2], 1, channels * multiplier))
    return _convolution(x, w, 2, strides, padding, data_format, dilations, op)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Sequence[IntLike],
    padding: PaddingLike,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d`, followed by a pointwise convolution that mixes the channels.

    Args:
      input: A tensor of floats, of shape (batch, height, width, channels).
      depthwise_filter: A tensor of shape (height, width, channels, features of each channel).
      pointwise_filter: A tensor of shape (1, 1, channels * features of each, features).
      strides: Four ints, the first and the last one 1.
      padding: "VALID", "SAME", or pairs of ints, the numbers of zeros before and after each axis.
      data_format: "NHWC" or "NCHW"; None for "NHWC".
      dilations: The distance between filter elements: one int or two.
      name: Not used.

    Returns:
      A tensor of shape (batch, new height, new width, features).

    Raises:
      ValueError: If ``pointwise_filter`` is not of height and width 1.
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.

    Example:
      >>> x, w = tf.ones((1, 4, 4, 2)), tf.ones((3, 3, 2, 1))
      >>> tf.nn.separable_conv2d(x, w, tf.ones((1, 1, 2, 5)), [1, 1, 1, 1], "VALID").shape
      TensorShape([1, 2, 2, 5])
    """
    result = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    w = as_tensor(pointwise_filter, result._spec, "SeparableConv2D")
    if w.ndim != 4 or tuple(w.shape[:2]) != (1, 1):
        raise ValueError(f"`pointwise_filter` must be of shape (1, 1, ...), got {w.shape}")
    return conv2d(result, w, 1, "VALID", data_format or "NHWC")


def _transposed_convolution(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    rank: int,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None,
    dilations: IntsLike | None,
    op: str,
) -> Tensor:
    w, g = as_tensors((filters, input), op)  # if both are arrays, the dtype of the filters is used
    is_channels_first = channels_first(data_format, rank, op)
    if g.dtype is not w.dtype:
        raise mismatch_error(op, 2, w.dtype, g.dtype)
    for x, what in ((g, "out_backprop"), (w, "filter")):
        require(
            x.ndim == rank + 2, op, f"{what} must be {rank + 2}-dimensional: {x.shape.as_list()}"
        )
    steps = spatial_sizes(parse_sizes(strides, rank, is_channels_first, "strides"), op, "strides")
    rates = spatial_sizes(
        parse_sizes(dilations, rank, is_channels_first, "dilations"), op, "dilations"
    )
    pairs = parse_padding(padding, rank, is_channels_first, op)
    shape = movement.to_shape(output_shape)
    g = to_channels_last(g, is_channels_first)
    filter_channels, features = int(w.shape[-2]), int(w.shape[-1])
    if len(shape) == rank:
        shape = (int(g.shape[0]), *shape, filter_channels)
    elif len(shape) == rank + 2:
        shape = (shape[0], *shape[2:], shape[1]) if is_channels_first else shape
    else:
        raise ValueError(
            f"`output_shape` must be of length {rank} or {rank + 2}, got {repr_of(output_shape)}"
        )
    channels = shape[-1]
    require(
        filter_channels > 0 and channels > 0 and channels % filter_channels == 0,
        op,
        f"input depth must be evenly divisible by filter depth: {channels} vs {filter_channels}",
    )
    groups = channels // filter_channels
    require(
        features == g.shape[-1] and features % groups == 0,
        op,
        f"filter and out_backprop must have the same depth, divisible by the number of groups: "
        f"{features} vs {g.shape[-1]}, {groups} groups",
    )
    require(
        shape[0] == g.shape[0],
        op,
        f"input and out_backprop must have the same batch size: {shape[0]} vs {g.shape[0]}",
    )
    input_sizes = shape[1:-1]
    geometry = make_geometry(
        input_sizes, tuple(w.shape[:-2]), steps, rates, padding, pairs, groups, op
    )
    require(
        geometry.output_sizes == tuple(g.shape[1:-1]),
        op,
        f"Size of out_backprop doesn't match computed: actual = {tuple(g.shape[1:-1])}, computed = "
        f"{geometry.output_sizes}, output_shape: {shape}",
    )
    if not math.prod(geometry.output_sizes):
        return restore_channels(
            movement.broadcast_to(as_tensor(0, g._spec), shape), is_channels_first
        )
    return restore_channels(conv_input(g, swap_channels(w, groups), geometry), is_channels_first)


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: IntsLike,
    padding: PaddingLike = "SAME",
    data_format: str = "NWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv1d`: the gradient with respect to its input.

    Args:
      input: A tensor of floats, of shape (batch, width, features).
      filters: A tensor of shape (width of the filter, channels, features).
      output_shape: The shape of the result. `conv1d` maps it to the shape of ``input``.
      strides: The strides of the convolution.
      padding: The padding of the convolution, "VALID" or "SAME".
      data_format: "NWC" or "NCW".
      dilations: The distance between filter elements.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides, dilations or sizes.

    Example:
      >>> x = tf.reshape([1.0, 2.0], (1, 2, 1))
      >>> w = tf.reshape([1.0, 10.0], (2, 1, 1))
      >>> tf.nn.conv1d_transpose(x, w, (1, 4, 1), 2).numpy().ravel()
      array([ 1., 10.,  2., 20.], dtype=float32)
    """
    op = "Conv1DTranspose"
    return _transposed_convolution(
        input, filters, output_shape, 1, strides, padding, data_format, dilations, op
    )


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: IntsLike,
    padding: PaddingLike = "SAME",
    data_format: str = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv2d`: the gradient with respect to its input.

    Args:
      input: A tensor of floats, of shape (batch, height, width, features).
      filters: A tensor of shape (height, width, channels, features).
      output_shape: The shape of the result, or its height and width. `conv2d` maps it to the shape
        of ``input``.
      strides: The strides of the convolution: one number, two, or four.
      padding: The padding of the convolution: "VALID", "SAME", or pairs of ints.
      data_format: "NHWC" or "NCHW".
      dilations: The distance between filter elements, in the form of ``strides``.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides, dilations or sizes.

    Example:
      >>> w = tf.ones((3, 3, 2, 4))
      >>> tf.nn.conv2d_transpose(tf.ones((1, 5, 5, 4)), w, (1, 10, 10, 2), 2).shape
      TensorShape([1, 10, 10, 2])
    """
    return _transposed_convolution(
        input,
        filters,
        output_shape,
        2,
        strides,
        padding,
        data_format,
        dilations,
        "Conv2DBackpropInput",
    )


def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: IntsLike,
    padding: PaddingLike = "SAME",
    data_format: str = "NDHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv3d`: the gradient with respect to its input.

    Args:
      input: A tensor of floats, of shape (batch, depth, height, width, features).
      filters: A tensor of shape (depth, height, width, channels, features).
      output_shape: The shape of the result. `conv3d` maps it to the shape of ``input``.
      strides: The strides of the convolution: one number, three, or five.
      padding: The padding of the convolution, "VALID" or "SAME".
      data_format: "NDHWC" or "NCDHW".
      dilations: The distance between filter elements, in the form of ``strides``.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides, dilations or sizes.

    Example:
      >>> x, w = tf.ones((1, 1, 1, 1, 2)), tf.ones((2, 2, 2, 1, 2))
      >>> tf.nn.conv3d_transpose(x, w, (1, 2, 2, 2, 1), 2).numpy().ravel()
      array([2., 2., 2., 2., 2., 2., 2., 2.], dtype=float32)
    """
    return _transposed_convolution(
        input,
        filters,
        output_shape,
        3,
        strides,
        padding,
        data_format,
        dilations,
        "Conv3DBackpropInputV2",
    )


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: IntsLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `convolution`: the gradient with respect to its input.

    Args:
      input: A tensor of floats, of shape (batch, *spatial, features).
      filters: A tensor of shape (*spatial, channels, features).
      output_shape: The shape of the result. `convolution` maps it to the shape of ``input``.
      strides: The strides of the convolution.
      padding: The padding of the convolution, "VALID" or "SAME".
      data_format: None, or a name such as "NHWC" or "NCHW".
      dilations: The distance between filter elements, in the form of ``strides``.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides, dilations or sizes, or not one to three axes.

    Example:
      >>> tf.nn.conv_transpose(tf.ones((1, 3, 2)), tf.ones((2, 4, 2)), (1, 6, 4), 2).shape
      TensorShape([1, 6, 4])
    """
    rank = len(movement.to_shape(output_shape)) - 2
    if not 1 <= rank <= 3:
        raise ValueError(
            f"`output_shape` must be of length 3, 4 or 5. Received: output_shape="
            f"{repr_of(output_shape)} of length {rank + 2}"
        )
    return _transposed_convolution(
        input,
        filters,
        output_shape,
        rank,
        strides,
        padding,
        data_format,
        dilations,
        "ConvTranspose",
    )


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    rate: int,
    padding: PaddingLike,
    name: str | None = None,
) -> Tensor:
    """The transpose of `atrous_conv2d`: the gradient with respect to its input.

    Args:
      value: A tensor of floats, of shape (batch, height, width, features).
      filters: A tensor of shape (height, width, channels, features).
      output_shape: The shape of the result. `atrous_conv2d` maps it to the shape of ``value``.
      rate: The distance between filter elements.
      padding: The padding of the convolution, "VALID" or "SAME".
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      ValueError: If the rate is not positive.
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> x, w = tf.ones((1, 1, 1, 1)), tf.ones((2, 2, 1, 1))
      >>> found = tf.nn.atrous_conv2d_transpose(x, w, (1, 3, 3, 1), 2, "VALID")
      >>> found[0, :, :, 0].numpy()
      array([[1., 0., 1.],
             [0., 0., 0.],
             [1., 0., 1.]], dtype=float32)
    """
    if to_integer(rate, "Conv2DBackpropInput") < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
    return _transposed_convolution(
        value, filters, output_shape, 2, 1, padding, "NHWC", rate, "Conv2DBackpropInput"
    )
