"""Control flow as functions: `cond`, `while_loop`, `map_fn`, `scan`.

Python's own `if`, `while` and `for` do the same; these are for programs that were written with
them. They record like everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import nest
from .core.log.tensors import as_tensor
from .core.log.variable import Variable
from .core.ops.creation import zeros
from .core.ops.joining import stack
from .core.values.dtypes import as_dtype
from .core.values.tensor import Tensor
from .errors import InvalidArgumentError


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """``true_fn()`` if a boolean scalar is true, else ``false_fn()``. Only one of them is called.

    Args:
      pred: A scalar; its value is read at the call.
      true_fn: A function of no arguments.
      false_fn: Another.
      name: Not used.

    Returns:
      What the function returns.

    Raises:
      TypeError: If one of the functions cannot be called.
      ValueError: If ``pred`` is no scalar.

    Example:
      >>> x = tf.constant(-2.0)
      >>> tf.cond(x > 0, lambda: x, lambda: -x).numpy()
      np.float32(2.0)
    """
    for branch, what in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(branch):
            raise TypeError(f"'{what}' must be callable.")
    return true_fn() if _truth(pred) else false_fn()


def _truth(pred: Any) -> bool:
    """Whether a scalar is true; of a list, a tensor's truth."""
    if isinstance(pred, bool | int | float | str):
        return bool(pred)
    found = as_tensor(pred)
    if found._spec.size != 1:
        raise ValueError(
            f"The truth value of a tensor of shape {found.shape} is ambiguous: it has not one "
            f"element. Use reduce_any or reduce_all."
        )
    return bool(found)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Call ``body(*loop_vars)`` for new ``loop_vars`` while ``cond(*loop_vars)`` is true.

    Args:
      cond: Gives a boolean scalar.
      body: Gives a nest like ``loop_vars``.
      loop_vars: A list, tuple or dict, possibly nested.
      shape_invariants: Accepted for TensorFlow's sake, like the following but the last.
      parallel_iterations: Not used.
      back_prop: Not used.
      swap_memory: Not used.
      maximum_iterations: The loop ends after so many, if given.
      name: Not used.

    Returns:
      The last ``loop_vars``, as tensors.

    Raises:
      TypeError: If ``cond`` or ``body`` cannot be called.
      ValueError: If there are no loop variables, or ``body`` gives another structure.

    Example:
      >>> i, total = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), (0, 0))
      >>> total.numpy()
      np.int32(10)
    """
    for function, what in ((cond, "cond"), (body, "body")):
        if not callable(function):
            raise TypeError(f"'{what}' must be callable.")
    if not nest.flatten(loop_vars):
        raise ValueError("'loop_vars' must be provided.")
    if not nest.is_nested(loop_vars):
        raise ValueError(f"'loop_vars' must be a list, tuple or dict, got {loop_vars!r}.")
    most = None if maximum_iterations is None else int(maximum_iterations)
    single = len(loop_vars) == 1
    count = 0
    while (most is None or count < most) and _truth(cond(*loop_vars)):
        found = body(*loop_vars)
        if single and not isinstance(found, list | tuple | dict):
            found = [found]
        # A list of them may become a tuple, and the other way round.
        alike = type(loop_vars) in (list, tuple) and type(found) in (list, tuple)
        _same_structure(*map(list, (loop_vars, found)) if alike else (loop_vars, found))
        loop_vars = found
        count += 1
    return nest.map_structure(as_tensor, loop_vars)


def _same_structure(first: Any, second: Any) -> None:
    if nest.structure(first) != nest.structure(second):
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: "
            f"{first!r}\n\nSecond structure: {second!r}"
        )


def _axis(elems: Any) -> tuple[list[Tensor], int]:
    """The tensors of a nest, and how many slices they have."""
    tensors = [as_tensor(x) for x in nest.flatten(elems)]
    if not tensors:
        raise ValueError("elems must be a tensor or a nest of tensors, got none.")
    if not all(x.ndim for x in tensors):
        raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
    if len({x.shape[0] for x in tensors}) > 1:
        raise ValueError(f"elems have first axes of {[x.shape[0] for x in tensors]}: not equal")
    return tensors, tensors[0].shape[0]


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """``fn`` of each slice of ``elems`` along the first axis, stacked.

    Args:
      fn: Takes one slice, or a nest of slices.
      elems: A tensor of at least one axis, or a nest of them.
      dtype: The old name of ``fn_output_signature``.
      parallel_iterations: Accepted for TensorFlow's sake, like the following but the last.
      back_prop: Not used.
      swap_memory: Not used.
      infer_shape: Not used.
      name: Not used.
      fn_output_signature: The dtypes that ``fn`` gives, in its structure; default: as ``elems``.

    Returns:
      A tensor whose first axis is that of ``elems``, or a nest of them.

    Raises:
      ValueError: If ``elems`` has scalars, or first axes of different sizes.
      InvalidArgumentError: If ``fn`` gives another dtype than it should.

    Example:
      >>> tf.map_fn(lambda row: tf.reduce_sum(row), tf.constant([[1, 2], [3, 4]])).numpy()
      array([3, 7], dtype=int32)
    """
    tensors, count = _axis(elems)
    signature = dtype if fn_output_signature is None else fn_output_signature
    if signature is None:
        signature = nest.map_structure(lambda x: as_tensor(x).dtype, elems)
    # A class of NumPy's is a dtype, though it has an attribute of that name.
    wanted = [
        as_dtype(x if isinstance(x, type) else getattr(x, "dtype", x))
        for x in nest.flatten(signature)
    ]
    columns: list[list[Tensor]] = [[] for _ in wanted]
    for k in range(count):
        found = fn(nest.pack_sequence_as(elems, [x[k] for x in tensors]))
        _same_structure(signature, found)
        for column, value, kind in zip(columns, nest.flatten(found), wanted, strict=True):
            column.append(_of_dtype(value, kind))
    shapes = [tuple(x.shape[1:]) for x in tensors]
    results = [
        stack(column) if column else zeros((0, *shapes[min(k, len(shapes) - 1)]), kind)
        for k, (column, kind) in enumerate(zip(columns, wanted, strict=True))
    ]
    return nest.pack_sequence_as(signature, results)


def _of_dtype(value: Any, dtype: Any) -> Tensor:
    found = value if isinstance(value, Tensor | Variable) else as_tensor(value)
    if found.dtype is not dtype:
        raise InvalidArgumentError(
            f"TensorArray dtype is {dtype.name} but Op is trying to write dtype {found.dtype.name}"
        )
    return as_tensor(found)


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All ``a[k] = fn(a[k - 1], elems[k])``, stacked.

    Args:
      fn: Takes the last result and a slice, each a tensor or a nest; gives the next result.
      elems: A tensor of at least one axis, or a nest of them.
      initializer: The result before the first; default: the first slice.
      parallel_iterations: Accepted for TensorFlow's sake, like the following but ``reverse``.
      back_prop: Not used.
      swap_memory: Not used.
      infer_shape: Not used.
      reverse: Whether to go from the last slice to the first.
      name: Not used.

    Returns:
      A tensor whose first axis is that of ``elems``, or a nest of them, in the structure of the
      results.

    Raises:
      TypeError: If ``fn`` cannot be called.
      ValueError: If ``elems`` has scalars, first axes of different sizes, or no first element where
        there is no ``initializer``; or if ``fn`` gives another structure.

    Example:
      >>> tf.scan(lambda a, x: a * x, tf.constant([1, 2, 3, 4])).numpy()
      array([ 1,  2,  6, 24], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"{fn!r} is not a callable object.")
    tensors, count = _axis(elems)
    order = list(range(count))[:: -1 if reverse else 1]
    columns: list[list[Tensor]]
    if initializer is None:
        if not order:
            raise ValueError("elems has no first element, and there is no initializer.")
        form = elems
        last = nest.pack_sequence_as(elems, [x[order[0]] for x in tensors])
        columns = [[x] for x in nest.flatten(last)]
        order = order[1:]
    else:
        form = initializer
        last = nest.map_structure(as_tensor, initializer)
        columns = [[] for _ in nest.flatten(last)]
    for k in order:
        last = fn(last, nest.pack_sequence_as(elems, [x[k] for x in tensors]))
        _same_structure(form, last)
        for column, value in zip(columns, nest.flatten(last), strict=True):
            column.append(as_tensor(value))
    if not columns[0]:
        empty = [zeros((0, *x.shape), x.dtype) for x in nest.flatten(last)]
        return nest.pack_sequence_as(form, empty)
    return nest.pack_sequence_as(form, [stack(c[::-1] if reverse else c) for c in columns])
