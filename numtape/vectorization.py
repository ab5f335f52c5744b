"""`vectorized_map`: a function of one slice, done for all slices at once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import nest
from .core.derive.slices import NotForAll, apply_to_slices
from .core.log.as_tensor import as_tensor
from .core.log.variable import Variable
from .core.ops.creation import zeros
from .core.ops.joining import stack
from .core.ops.movement import broadcast_to, reshape
from .core.ops.slicing import strided_slice
from .core.values.spec import intern
from .core.values.tensor import Tensor
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .core.values.annotations import TensorLike

log_messages = logging.getLogger("numtape")


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Apply ``fn`` to all slices of ``elems`` along the first axis at once, and stack the results.

    `map_fn` calls ``fn`` for each slice. `vectorized_map` calls it once, with slices without
    values, and computes each recorded op for all slices. The result is differentiable, also with
    respect to tensors that ``fn`` captures; tapes inside compute gradients of each slice, and
    random numbers differ between slices. If ``fn`` reads a value of its slice or assigns a
    variable, it is called for each slice instead.

    Args:
      fn: A function of one slice, or of a nest of slices. Its result may be a nest.
      elems: A tensor of at least one axis, or a nest of them. A first axis of size 1 is repeated.
      fallback_to_while_loop: Whether ``fn`` may be called for each slice if necessary.
      warn: Whether to log such a fallback, with the reason.

    Returns:
      A tensor for each result of ``fn``, with the slices along its first axis, in a nest of the
      same structure; None for a result of None.

    Raises:
      TypeError: If ``fn`` is not callable.
      IndexError: If ``elems`` has scalars.
      InvalidArgumentError: If first axes have different sizes.
      ValueError: If ``fn`` returns a variable; or if it cannot be computed for all slices at once
        and ``fallback_to_while_loop`` is False.

    Example:
      >>> v = tf.Variable(2.0)
      >>> def slope(x):
      ...     with tf.GradientTape() as tape:
      ...         y = tf.reduce_sum(x * v * v)
      ...     return tape.gradient(y, v)
      >>> tf.vectorized_map(slope, tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy()
      array([12., 28.], dtype=float32)
    """
    if not callable(fn):
        raise TypeError(f"{type(fn).__name__!r} object is not callable: {fn!r}")
    values, n = _slices(elems)
    results: list[Any] = []

    def of_slices(xs: list[Tensor]) -> list[Any]:
        results.append(fn(nest.pack_sequence_as(elems, xs)))
        return [_result(x) for x in nest.flatten(results[0]) if x is not None]

    specs = [intern(tuple(x.shape[1:]), x.dtype) for x in values]
    try:
        slices_ = apply_to_slices(of_slices, values, specs, n or 1)
    except NotForAll as reason:
        message = f"vectorized_map cannot do {getattr(fn, '__name__', fn)!r} for all slices at once"
        if not fallback_to_while_loop:
            raise ValueError(f"{message}: {reason}.") from None
        if warn:
            log_messages.warning("%s: %s. It is called for each of them.", message, reason)
        return _map_in_loop(fn, elems, values, n)
    if not n:
        slices_ = [zeros((0, *x.shape[1:]), x.dtype) for x in slices_]
    parts = iter(slices_)
    return nest.map_structure(lambda x: None if x is None else next(parts), results[0])


def _result(x: TensorLike) -> Any:
    if isinstance(x, Variable):
        raise ValueError(f"{x!r} is returned from vectorized_map's function: return its value.")
    return as_tensor(x)


def _slices(elems: Any) -> tuple[list[Tensor], int]:
    """Return the tensors of a nest, broadcast to the same number of slices, and that number."""
    tensors = [as_tensor(x) for x in nest.flatten(elems)]
    if not tensors or not all(x.ndim for x in tensors):
        raise IndexError("elems must be a tensor of at least one axis, or a nest of such tensors.")
    counts = [x.shape[0] for x in tensors]
    n = next((count for count in counts if count != 1), 1)
    if any(count not in (1, n) for count in counts):
        raise InvalidArgumentError(f"elems have first axes of {counts}: neither equal nor 1")
    return [x if x.shape[0] == n else broadcast_to(x, (n, *x.shape[1:])) for x in tensors], n


def _map_in_loop(fn: Callable[[Any], Any], elems: Any, values: list[Tensor], n: int) -> Any:
    """Call ``fn`` for each slice, and stack the results."""
    results = []
    for k in range(n):
        inner_shapes = [tuple(x.shape[1:]) for x in values]
        xs = [
            reshape(strided_slice(x, ((k, k + 1, 1), *((0, dim, 1) for dim in shape))), shape)
            for x, shape in zip(values, inner_shapes, strict=True)
        ]
        results.append(fn(nest.pack_sequence_as(elems, xs)))
    if not results:
        raise ValueError("vectorized_map has no slices, and its function needs one.")
    columns = zip(*(nest.flatten(result) for result in results), strict=True)
    parts = iter([None if c[0] is None else stack([_result(x) for x in c]) for c in columns])
    return nest.map_structure(lambda x: next(parts), results[0])
