"""`gather_nd`, `scatter_nd` and updates of tensors at index tuples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require, spec_of
from ..values import dtypes
from ..values.composite import dispatches
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import comparison, elementwise, movement
from .define import document
from .indexing import GATHER, SCATTER_ADD, boolean_mask
from .joining import concat
from .reduction import reduce_sum
from .rules import every

if TYPE_CHECKING:
    from ..values.annotations import IntLike, ShapeLike, TensorLike

Shape = tuple[int, ...]


def flatten_indices(indices: Tensor, lead: Shape, op: str) -> Tensor:
    """Convert tuples of indices to flat indices.

    Args:
      indices: Integers; the last axis is the tuple.
      lead: The sizes of the indexed axes.
      op: The name of the op, for errors.

    Returns:
      An integer vector, a flat index for each tuple.

    Raises:
      InvalidArgumentError: If an index is out of range.
    """
    sizes = np.array(lead, np.int64)
    message = f"indices do not index into shape {tuple(lead)} [Op:{op}]"
    if not every(
        indices,
        lambda values: (values >= 0) & (values < sizes),
        lambda rows: (
            comparison.logical_and(rows >= 0, elementwise.cast(rows, dtypes.int64) < sizes)
            if len(lead)
            else comparison.equal(rows, rows)
        ),
        message,
    ):
        values = indices._array().reshape(-1, len(lead))
        row = int(((values < 0) | (values >= sizes)).any(1).argmax())
        raise InvalidArgumentError(
            f"indices[{row}] = {values[row].tolist()} does not index into param shape "
            f"{list(lead)} [Op:{op}]"
        )
    if len(lead) == 1:
        return movement.reshape(indices, (-1,))
    steps = [math.prod(lead[k + 1 :]) for k in range(len(lead))]
    wide = elementwise.cast(indices, dtypes.int64) * np.array(steps, np.int64)
    return movement.reshape(reduce_sum(wide, -1), (-1,))


def to_index_tuples(indices: TensorLike, op: str) -> Tensor:
    """Convert tuples of indices to a tensor of integers."""
    result = as_tensor(indices)
    require(result.dtype.is_integer, op, f"indices must be integers, got {result.dtype.name}")
    require(result.ndim > 0, op, "indices must be at least a vector")
    return result


@dispatches
def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: IntLike = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """Gather the elements at tuples of indices, or slices if the tuples are shorter than the rank.

    Args:
      params: A tensor of any dtype.
      indices: Non-negative integers; the last axis is the tuple, an index for each of the leading
        axes of ``params``.
      batch_dims: The number of leading batch axes that both share.
      name: Not used.
      bad_indices_policy: "IGNORE" to return zeros for an index out of range; else it is an error.

    Returns:
      A tensor of the dtype of ``params``, of shape indices.shape[:-1] + params.shape[k:] for tuples
      of length k.

    Raises:
      InvalidArgumentError: If an index is out of range or not an integer, or the shapes do not fit.

    Example:
      >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
      array([2, 3], dtype=int32)
      >>> tf.gather_nd([[1, 2], [3, 4]], [[1]]).numpy()
      array([[3, 4]], dtype=int32)
    """
    ignore = ignores_bad_indices(bad_indices_policy, "GatherNd")
    x, value = as_tensor(params), to_index_tuples(indices, "GatherNd")
    batch_axes = movement.to_ints(batch_dims)
    if not isinstance(batch_axes, int) or not 0 <= batch_axes < value.ndim:
        raise ValueError(f"batch_dims = {batch_dims!r} must be in [0, {value.ndim}).")
    require(x.ndim > 0, "GatherNd", "params must be at least a vector")
    if batch_axes:
        value = _prepend_batch_indices(x, value, batch_axes)
    depth = value.shape[-1]
    require(
        depth <= x.ndim,
        "GatherNd",
        f"index innermost dimension length must be <= params rank; saw: {depth} vs. {x.ndim}",
    )
    sizes, rest = tuple(x.shape[:depth]), tuple(x.shape[depth:])
    shape = (*value.shape[:-1], *rest)
    require(
        math.prod(sizes) > 0 or not math.prod(shape),
        "GatherNd",
        "Requested more than 0 entries, but params is empty.",
    )
    inside = None
    if ignore:
        value, inside = clip_indices(value, sizes)
    at = flatten_indices(value, sizes, "GatherNd")
    if depth == 1 and value.ndim == 2 and inside is None:  # the gradient is `IndexedSlices`
        return record(GATHER, (x, at), axis=0)
    flat = movement.reshape(x, (math.prod(sizes), *rest))
    taken = movement.reshape(record(GATHER, (flat, at), axis=0), shape)
    if inside is None:
        return taken
    is_inside = movement.reshape(inside, (*value.shape[:-1], *(1 for _ in rest)))
    return elementwise.select(is_inside, taken, elementwise.cast(0, taken.dtype))


def _prepend_batch_indices(x: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    """Prepend the batch indices to tuples of indices."""
    shape = tuple(indices.shape)
    message = (
        f"params {x.shape} and indices {indices.shape} must agree in the first {batch_dims} axes"
    )
    require(shape[:batch_dims] == tuple(x.shape[:batch_dims]), "GatherNd", message)
    numbers = np.moveaxis(np.indices(shape[:-1])[:batch_dims], 0, -1)
    return concat([as_tensor(numbers), elementwise.cast(indices, dtypes.int64)], -1)


def ignores_bad_indices(policy: str, op: str) -> bool:
    """Return whether indices out of range are ignored."""
    if policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(
            f"bad_indices_policy is ERROR or IGNORE, got {policy!r} [Op:{op}]"
        )
    return policy == "IGNORE"


def clip_indices(indices: Tensor, sizes: Shape) -> tuple[Tensor, Tensor]:
    """Clip indices to their range; also return which tuples were in range."""
    wide_indices, largest = elementwise.cast(indices, dtypes.int64), np.array(sizes, np.int64) - 1
    clipped = elementwise.maximum(elementwise.minimum(wide_indices, largest), np.int64(0))
    in_range = elementwise.cast(comparison.equal(clipped, wide_indices), dtypes.int32)
    return clipped, comparison.equal(reduce_sum(in_range, -1), len(sizes))


Array = np.ndarray[Any, Any]


def _parse_updates(
    indices: TensorLike,
    updates: TensorLike,
    shape: Shape,
    like: Spec | None,
    op: str,
    policy: str = "",
    vector: bool = False,
) -> tuple[Tensor, Tensor, int, Shape]:
    """Return flat indices, a vector of updates, the number of slices and the shape of a slice.

    With ``vector``, indices of rank 1 are tuples of length 1.
    """
    ignore = ignores_bad_indices(policy, op)
    result, provided = to_index_tuples(indices, op), as_tensor(updates, like, op)
    require(
        result.ndim > 1 or vector,
        op,
        f"indices must have shape [..., depth] with at least two axes, got shape {result.shape}; "
        f"write [[0], [3]] for the elements 0 and 3 of a vector",
    )
    if result.ndim == 1:
        result = movement.expand_dims(result, -1)
    depth = result.shape[-1]
    message = (
        f"The inner {depth} dimensions of indices {result.shape} do not index into shape {shape}"
    )
    require(depth <= len(shape), op, message)
    sizes, rest = shape[:depth], shape[depth:]
    require(
        tuple(provided.shape) == (*result.shape[:-1], *rest),
        op,
        f"Dimensions [{depth},{len(shape)}) of input[shape={list(shape)}] must match the last of "
        f"updates[shape={list(provided.shape)}], and the others of both indices "
        f"{result.shape} and updates {provided.shape}, which do not fit: "
        f"expected updates of shape {[*result.shape[:-1], *rest]}",
    )
    count = math.prod(result.shape[:-1])
    provided = movement.reshape(provided, (count, *rest))
    if ignore:
        inside = movement.reshape(clip_indices(result, sizes)[1], (-1,))
        result = boolean_mask(movement.reshape(result, (count, depth)), inside)
        provided = boolean_mask(provided, inside)
    return flatten_indices(result, sizes, op), provided, math.prod(sizes), rest


@dispatches
def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: ShapeLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Scatter updates into zeros at tuples of indices; updates at the same indices add up.

    Args:
      indices: Non-negative integers; the last axis is the tuple.
      updates: An element or slice for each tuple.
      shape: The shape of the result.
      bad_indices_policy: "IGNORE" to ignore indices out of range; else they are an error.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and the dtype of ``updates``.

    Raises:
      InvalidArgumentError: If an index is out of range or not an integer, or the shapes do not fit.

    Example:
      >>> tf.scatter_nd([[3], [1], [3]], [9, 10, 1], shape=[5]).numpy()
      array([ 0, 10,  0, 10,  0], dtype=int32)
    """
    require(not isinstance(movement.to_ints(shape), int), "ScatterNd", "Shape must be a vector")
    full = movement.to_shape(shape)
    require(min(full, default=0) >= 0, "ScatterNd", f"shape must be >= 0, got {full}")
    at, provided, size, _ = _parse_updates(
        indices, updates, full, None, "ScatterNd", bad_indices_policy
    )
    return movement.reshape(record(SCATTER_ADD, (provided, at), axis=0, size=size), full)


# Updates of slices along the first axis, applied in order.


def _update_spec(op: Op, x: Spec, at: Spec, updates: Spec, how: str) -> Spec:
    if updates.dtype is not x.dtype:
        raise dtypes.mismatch_error(op.name, 2, x.dtype, updates.dtype)
    return intern(tuple(x.shape), x.dtype)


_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "max": np.maximum,
    "min": np.minimum,
}


def _update(out: Array, x: Array, at: Array, updates: Array, how: str) -> None:
    out[...] = x
    if how == "update":
        last = np.full(len(x), -1)
        last[at] = np.arange(at.size)  # the last update of a slice is used
        here = np.flatnonzero(last >= 0)
        out[here] = updates[last[here]]
        return
    ufunc = _UFUNCS[how]
    if how == "div" and x.dtype.kind in "iu":  # towards 0
        for k, u in zip(at, updates, strict=True):
            signs = np.sign(out[k]) * np.sign(u)
            out[k] = np.abs(out[k]) // np.abs(u) * signs
        return
    if how in ("max", "min") and x.dtype.kind == "f":  # as in TensorFlow, NaN replaces nothing
        updates = np.where(np.isnan(updates), -np.inf if how == "max" else np.inf, updates)
    with np.errstate(all="ignore"):
        ufunc.at(out, at, updates)


def _update_native(out: Spec, x: Spec, at: Spec, updates: Spec, how: str) -> Native | None:
    dtype = x.dtype
    if how == "update":
        element = f"uint{8 * dtype.size}"
    elif dtype.is_bool or (how == "div" and not dtype.is_floating):
        return None
    else:
        element = dtype.name
    size, count = x.shape[0], at.size
    parameters = size, count, x.size // size
    return Native(
        f"updates.{how}", (element, at.dtype.name), parameters, 1, x.size + 2 * updates.size
    )


def _update_vjp(g: Tensor, y: Tensor, x: Tensor, at: Tensor, updates: Tensor, how: str) -> Any:
    if how in ("add", "sub"):
        taken = record(GATHER, (g, at), axis=0)
        return g, None, taken if how == "add" else elementwise.negative(taken)
    if how == "update":
        zero = elementwise.zeros_of(updates)
        return record(UPDATE, (g, at, zero), how="update"), None, record(GATHER, (g, at), axis=0)
    if how not in ("max", "min"):
        raise LookupError(f"gradient registry has no entry for: ResourceScatter{how.capitalize()}")
    # As in TensorFlow, all extreme values share the adjoint evenly.
    own = elementwise.cast(comparison.equal(x, y), g.dtype)
    reference = elementwise.cast(
        comparison.equal(updates, record(GATHER, (y, at), axis=0)), g.dtype
    )
    share = g / (own + record(SCATTER_ADD, (reference, at), axis=0, size=x.shape[0]))
    return share * own, None, record(GATHER, (share, at), axis=0) * reference


UPDATE = defop(
    "TensorScatter",
    ARRAY,
    3,
    _update_spec,
    compute=_update,
    native=_update_native,
    vjp=_update_vjp,
    on_host=True,
    complex_vjp="analytic",
)


def scatter(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    how: str,
    op: str,
    policy: str = "",
    vector: bool = False,
) -> Tensor:
    """Update a tensor at tuples of indices. See `_parse_updates` for ``vector``."""
    x = as_tensor(tensor, spec_of(updates), op)
    shape = tuple(x.shape)
    require(how == "update" or not x.dtype.is_bool, op, "bools are not added or compared")
    require(
        how not in ("max", "min") or not x.dtype.is_complex, op, "complex numbers have no order"
    )
    require(x.ndim > 0, op, "the tensor must be at least a vector")
    at, provided, size, rest = _parse_updates(indices, updates, shape, x._spec, op, policy, vector)
    if provided.dtype is not x.dtype:
        raise dtypes.mismatch_error(op, 2, x.dtype, provided.dtype)
    flat = movement.reshape(x, (size, *rest))
    return movement.reshape(record(UPDATE, (flat, at, provided), how=how), shape)


_ARGUMENTS = """
    Args:
      tensor: A tensor of numbers.
      indices: Non-negative integers; the last axis is the tuple.
      updates: An element or slice for each tuple.
      bad_indices_policy: "IGNORE" to ignore indices out of range; else they are an error.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``tensor``.

    Raises:
      InvalidArgumentError: If an index is out of range or not an integer, or the shapes do not fit.
"""


@document(_ARGUMENTS)
def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Add updates to a tensor at tuples of indices, in order.

    <arguments>

    Example:
      >>> tf.tensor_scatter_nd_add([1, 1, 1], [[0], [2], [0]], [5, 6, 7]).numpy()
      array([13,  1,  7], dtype=int32)
    """
    return scatter(tensor, indices, updates, "add", "TensorScatterAdd", bad_indices_policy)


@document(_ARGUMENTS)
def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Subtract updates from a tensor at tuples of indices, in order.

    <arguments>

    Example:
      >>> tf.tensor_scatter_nd_sub([9, 9, 9], [[0], [2]], [5, 6]).numpy()
      array([4, 9, 3], dtype=int32)
    """
    return scatter(tensor, indices, updates, "sub", "TensorScatterSub", bad_indices_policy)


@dispatches
def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Replace elements or slices of a tensor at tuples of indices.

    If indices are repeated, the last update is used; as in TensorFlow, all of them get its
    gradient.

    Args:
      tensor: A tensor of any dtype.
      indices: Non-negative integers; the last axis is the tuple.
      updates: An element or slice of ``tensor`` for each tuple.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``tensor``.

    Raises:
      InvalidArgumentError: If an index is out of range or not an integer, or the shapes do not fit.

    Example:
      >>> tf.tensor_scatter_nd_update([1, 2, 3], [[2], [0]], [30, 10]).numpy()
      array([10,  2, 30], dtype=int32)
    """
    return scatter(tensor, indices, updates, "update", "TensorScatterUpdate")


@document(_ARGUMENTS)
def tensor_scatter_nd_max(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Take the maximum of a tensor and updates at tuples of indices.

    The largest values share the gradient evenly.

    <arguments>

    Example:
      >>> tf.tensor_scatter_nd_max([1, 5, 3], [[0], [1]], [4, 4]).numpy()
      array([4, 5, 3], dtype=int32)
    """
    return scatter(tensor, indices, updates, "max", "TensorScatterMax", bad_indices_policy)


@document(_ARGUMENTS)
def tensor_scatter_nd_min(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Take the minimum of a tensor and updates at tuples of indices.

    The smallest values share the gradient evenly.

    <arguments>

    Example:
      >>> tf.tensor_scatter_nd_min([1, 5, 3], [[0], [1]], [4, 4]).numpy()
      array([1, 4, 3], dtype=int32)
    """
    return scatter(tensor, indices, updates, "min", "TensorScatterMin", bad_indices_policy)
