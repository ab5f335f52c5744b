"""Control flow as functions: `cond`, `while_loop`, `map_fn`, `scan`.

Python's `if`, `while` and `for` do the same; these functions are for programs that use them
already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from .. import nest
from ..core.derive.custom import stop_recording
from ..core.log.as_tensor import as_tensor
from ..core.log.log import current_name_scope, local
from ..core.log.variable import Variable
from ..core.ops.creation import zeros
from ..core.ops.joining import stack
from ..core.values.arguments import to_list
from ..core.values.composite import Composite
from ..core.values.dtypes import as_dtype, repr_of
from ..core.values.tensor import Reference, Tensor
from ..debugging.assertions import Assert
from ..errors import InvalidArgumentError, OutOfRangeError
from ..tensor_array import TensorArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..core.values.annotations import IntLike, TensorLike
    from ..core.values.dtypes import DType

_Value = TypeVar("_Value")


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return ``true_fn()`` if a boolean scalar is true, else ``false_fn()``; call only one of them.

    Args:
      pred: A scalar; its value is read at the call.
      true_fn: A function without arguments.
      false_fn: A function without arguments.
      name: Not used.

    Returns:
      The result of the function.

    Raises:
      TypeError: If ``true_fn`` or ``false_fn`` is not callable.
      ValueError: If ``pred`` is not a scalar.

    Example:
      >>> x = tf.constant(-2.0)
      >>> tf.cond(x > 0, lambda: x, lambda: -x).numpy()
      np.float32(2.0)
    """
    if not callable(true_fn):
        raise TypeError("'true_fn' must be callable.")
    if not callable(false_fn):
        raise TypeError("'false_fn' must be callable.")
    return true_fn() if _truth(pred) else false_fn()


def _truth(pred: TensorLike) -> bool:
    """Whether a scalar is true. A list is converted to a tensor first."""
    if isinstance(pred, bool | int | float | str):
        return bool(pred)
    tensor = as_tensor(pred)
    if tensor._spec.size != 1:
        raise ValueError(
            f"The truth value of a tensor of shape {tensor.shape} is ambiguous: it has not one "
            f"element. Use reduce_any or reduce_all."
        )
    return bool(tensor)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: IntLike | None = None,
    name: str | None = None,
) -> Any:
    """Replace ``loop_vars`` by ``body(*loop_vars)`` while ``cond(*loop_vars)`` is true.

    Args:
      cond: A function that returns a boolean scalar.
      body: A function that returns a nest like ``loop_vars``.
      loop_vars: A list, tuple or dict, possibly nested.
      shape_invariants: Not used.
      parallel_iterations: Not used.
      back_prop: Not used.
      swap_memory: Not used.
      maximum_iterations: The maximum number of iterations; None for no limit.
      name: Not used.

    Returns:
      The last ``loop_vars``, as tensors. A `TensorArray` is unchanged.

    Raises:
      TypeError: If ``cond`` or ``body`` is not callable.
      ValueError: If there are no loop variables, or ``body`` returns another structure.

    Example:
      >>> i, total = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), (0, 0))
      >>> total.numpy()
      np.int32(10)
    """
    for function, parameter in ((cond, "cond"), (body, "body")):
        if not callable(function):
            raise TypeError(f"'{parameter}' must be callable.")
    if not nest.flatten(loop_vars):
        raise ValueError("'loop_vars' must be provided.")
    if not nest.is_nested(loop_vars):
        raise ValueError(f"'loop_vars' must be a list, tuple or dict, got {loop_vars!r}.")
    max_iterations = None if maximum_iterations is None else int(maximum_iterations)
    has_single_variable = len(loop_vars) == 1
    count = 0
    while (max_iterations is None or count < max_iterations) and _truth(cond(*loop_vars)):
        results = body(*loop_vars)
        if has_single_variable and not isinstance(results, list | tuple | dict):
            results = [results]
        # A list may become a tuple, and vice versa.
        are_lists = type(loop_vars) in (list, tuple) and type(results) in (list, tuple)
        _same_structure(*map(list, (loop_vars, results)) if are_lists else (loop_vars, results))
        loop_vars = results
        count += 1
    return nest.map_structure(
        lambda x: x if isinstance(x, TensorArray | Composite) else as_tensor(x), loop_vars
    )


def _same_structure(first_structure: object, second_structure: object) -> None:
    if nest.structure(first_structure) != nest.structure(second_structure):
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: "
            f"{first_structure!r}\n\nSecond structure: {second_structure!r}"
        )


def _axis(elems: Any) -> tuple[list[Any], int]:
    """Return the tensors of a nest, and their number of slices."""
    tensors: list[Any] = [
        x if isinstance(x, Composite) else as_tensor(x) for x in nest.flatten(elems)
    ]
    if not tensors:
        raise ValueError("elems must be a Tensor or a nest of Tensors, got none.")
    if not all(len(x.shape) for x in tensors):
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
    """Apply ``fn`` to each slice of ``elems`` along the first axis, and stack the results.

    Args:
      fn: A function of one slice, or of a nest of slices.
      elems: A tensor of at least one axis, dense, ragged or sparse, or a nest of them.
      dtype: The old name of ``fn_output_signature``.
      parallel_iterations: Not used.
      back_prop: Not used.
      swap_memory: Not used.
      infer_shape: Not used.
      name: Not used.
      fn_output_signature: The dtypes of the result of ``fn``, in its structure, or specs such as
        `tf.RaggedTensorSpec`; default: those of ``elems``.

    Returns:
      A tensor whose first axis is that of ``elems``, or a nest of them.

    Raises:
      ValueError: If ``elems`` has scalars, or first axes of different sizes.
      InvalidArgumentError: If ``fn`` returns another dtype.

    Example:
      >>> tf.map_fn(lambda row: tf.reduce_sum(row), tf.constant([[1, 2], [3, 4]])).numpy()
      array([3, 7], dtype=int32)
    """
    tensors, count = _axis(elems)
    signature = dtype if fn_output_signature is None else fn_output_signature
    flat_elems = nest.flatten(elems)
    is_composite = any(hasattr(x, "_flatten") for x in flat_elems) or any(
        hasattr(x, "value_type") for x in nest.flatten(signature)
    )
    if is_composite:
        from ..composites.mapping import map_rows

        return map_rows(fn, elems, tensors, count, signature)
    if signature is None:
        signature = nest.pack_sequence_as(elems, [x.dtype for x in tensors])
    # A scalar type of NumPy is a dtype, although it has an attribute `dtype`.
    dtypes = [
        as_dtype(x if isinstance(x, type) else getattr(x, "dtype", x))
        for x in nest.flatten(signature)
    ]
    columns: list[list[Tensor]] = [[] for _ in dtypes]
    for k in range(count):
        result = fn(nest.pack_sequence_as(elems, [x[k] for x in tensors]))
        _same_structure(signature, result)
        for column, value, kind in zip(columns, nest.flatten(result), dtypes, strict=True):
            column.append(_of_dtype(value, kind))
    shapes = [tuple(x.shape[1:]) for x in tensors]
    results = [
        stack(column) if column else zeros((0, *shapes[min(k, len(shapes) - 1)]), kind)
        for k, (column, kind) in enumerate(zip(columns, dtypes, strict=True))
    ]
    return nest.pack_sequence_as(signature, results)


def _of_dtype(value: TensorLike, dtype: DType) -> Tensor:
    is_ready = isinstance(value, Tensor | Variable | Composite)
    tensor: Any = value if is_ready else as_tensor(value)
    if tensor.dtype is not dtype:
        raise InvalidArgumentError(
            f"TensorArray dtype is {dtype.name} but Op is trying to write dtype {tensor.dtype.name}"
        )
    return tensor if isinstance(tensor, Composite) else as_tensor(tensor)  # type: ignore[return-value]


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
    """Compute ``a[k] = fn(a[k - 1], elems[k])`` for all k, and stack the results.

    Args:
      fn: A function of the last result and a slice, each a tensor or a nest, that returns the next
        result.
      elems: A tensor of at least one axis, or a nest of them.
      initializer: The initial result; default: the first slice.
      parallel_iterations: Not used.
      back_prop: Not used.
      swap_memory: Not used.
      infer_shape: Not used.
      reverse: Whether to start from the last slice.
      name: Not used.

    Returns:
      A tensor whose first axis is that of ``elems``, or a nest of them, in the structure of the
      results.

    Raises:
      TypeError: If ``fn`` is not callable.
      ValueError: If ``elems`` has scalars, first axes of different sizes, or neither a first slice
        nor an ``initializer``; or if ``fn`` returns another structure.

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
            raise ValueError("elems must have a first element, or pass an initializer.")
        form = elems
        accumulated = nest.pack_sequence_as(elems, [x[order[0]] for x in tensors])
        columns = [[x] for x in nest.flatten(accumulated)]
        order = order[1:]
    else:
        form = initializer
        accumulated = nest.map_structure(as_tensor, initializer)
        columns = [[] for _ in nest.flatten(accumulated)]
    for k in order:
        accumulated = fn(accumulated, nest.pack_sequence_as(elems, [x[k] for x in tensors]))
        _same_structure(form, accumulated)
        for column, value in zip(columns, nest.flatten(accumulated), strict=True):
            column.append(as_tensor(value))
    if not columns[0]:
        empty_results = [zeros((0, *x.shape), x.dtype) for x in nest.flatten(accumulated)]
        return nest.pack_sequence_as(form, empty_results)
    return nest.pack_sequence_as(form, [stack(c[::-1] if reverse else c) for c in columns])


# Choices and folds as functions, and what orders operations in graphs: `case`, `group`.


def switch_case(
    branch_index: Tensor,
    branch_fns: Sequence[Callable[[], Any] | tuple[int, Callable[[], Any]]]
    | dict[int, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Call one of several functions and return its result.

    Args:
      branch_index: The number of the function: a scalar integer tensor.
      branch_fns: A list of functions without arguments, or of pairs of a number and a function, or
        a dict of functions by number. Numbers start at 0, without gaps.
      default: The function for other numbers; default: the last function.
      name: Not used.

    Returns:
      The result of the function.

    Raises:
      TypeError: If ``branch_index`` is not an integer tensor, or a function is not callable.
      ValueError: If there are no functions, or numbers are missing.

    Example:
      >>> tf.switch_case(tf.constant(1), [lambda: tf.constant(10), lambda: tf.constant(20)]).numpy()
      np.int32(20)
    """
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"'branch_index' must be an integer Tensor, got {branch_index.dtype!s}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    if not isinstance(branch_fns, list | tuple | dict):
        raise TypeError(
            f"'branch_fns' must be a list, tuple, or dict. Received: {type(branch_fns)}"
        )
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if all(map(callable, pairs)):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {pair}.")
        key, branch = pair
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {type(key)}")
        if not callable(branch):
            raise TypeError(f"fn for key {key} must be callable.")
    branches = dict(pairs)
    if sorted(branches) != list(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{{{','.join(map(str, sorted(key for key, _ in pairs)))}}}"
        )
    if default is not None:
        branches[len(branches)] = default
    number = int(branch_index)
    chosen: Any = branches[number if number in branches else len(branches) - 1]
    return chosen()


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Call the first function whose condition is true, and return its result.

    Args:
      pred_fn_pairs: Pairs of a boolean scalar and a function without arguments; if ``exclusive``,
        also a dict of functions by references to conditions.
      default: The function to call if no condition is true.
      exclusive: Whether a dict is accepted. Exclusiveness is not checked: the first true condition
        counts.
      strict: Not used.
      name: Not used.

    Returns:
      The result of the function.

    Raises:
      TypeError: If the elements are not pairs, a condition is not a boolean tensor, or a function
        is not callable.
      ValueError: If there are no pairs, or they are a dict and ``exclusive`` is False.
      InvalidArgumentError: If no condition is true and there is no ``default``.

    Example:
      >>> x = tf.constant(0.3)
      >>> tf.case([(x < 0.0, lambda: "less"), (x < 1.0, lambda: "between")], lambda: "more")
      'between'
    """
    if not isinstance(pred_fn_pairs, list | tuple | dict):
        raise TypeError(
            f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pred_fn_pairs)}"
        )
    if isinstance(pred_fn_pairs, dict):
        if not exclusive:
            raise ValueError(
                "Unordered dictionaries are not supported for the 'pred_fn_pairs' argument when "
                "`exclusive=False` and eager mode is enabled."
            )
        if not all(isinstance(key, Reference) for key in pred_fn_pairs):
            raise TypeError(
                f"The keys of a dict of conditions are what `ref()` of tensors gives, got "
                f"{repr_of(list(pred_fn_pairs))}."
            )
        pred_fn_pairs = [(key.deref(), branch) for key, branch in pred_fn_pairs.items()]
    if not pred_fn_pairs:
        raise ValueError("'pred_fn_pairs' has no pairs of a condition and a function.")
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        pred, branch = pair
        if not isinstance(pred, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if pred.dtype.name != "bool" or not callable(branch):
            raise TypeError(f"Expected a boolean tensor and a function, got {pair}.")
    if default is not None and not callable(default):
        raise TypeError("'false_fn' must be callable.")
    for pred, branch in pred_fn_pairs:
        if pred:
            return branch()
    if default is not None:
        return default()
    Assert(pred, ["Input error: None of conditions evaluated as True:", pred])
    return None


def _fold(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, backward: bool) -> Any:
    if not callable(fn):
        raise TypeError(f"{fn!r} is not a callable object.")
    tensors, count = _axis(elems)
    order = list(range(count))[:: -1 if backward else 1]
    if initializer is None:
        if not order:
            raise OutOfRangeError("Tried to read from index 0 but array size is: 0 ")
        accumulated = nest.pack_sequence_as(elems, [x[order[0]] for x in tensors])
        order = order[1:]
    else:
        accumulated = nest.map_structure(as_tensor, initializer)
    for k in order:
        accumulated = fn(accumulated, nest.pack_sequence_as(elems, [x[k] for x in tensors]))
    return nest.map_structure(as_tensor, accumulated)


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Compute ``a = fn(a, elems[k])`` from the first slice to the last, and return the last ``a``.

    Args:
      fn: A function of the last result and a slice, each a tensor or a nest, that returns the next
        result.
      elems: A tensor of at least one axis, or a nest of them.
      initializer: The initial result; default: the first slice.
      parallel_iterations: Not used.
      back_prop: Not used.
      swap_memory: Not used.
      name: Not used.

    Returns:
      The last result.

    Raises:
      TypeError: If ``fn`` is not callable.
      ValueError: If ``elems`` has scalars, or first axes of different sizes.
      OutOfRangeError: If there is neither a slice nor an ``initializer``.

    Example:
      >>> tf.foldl(lambda a, x: a - x, tf.constant([1, 2, 3])).numpy()
      np.int32(-4)
    """
    return _fold(fn, elems, initializer, False)


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Compute ``a = fn(a, elems[k])`` from the last slice to the first, and return the last ``a``.

    Args:
      fn: A function of the last result and a slice, each a tensor or a nest, that returns the next
        result.
      elems: A tensor of at least one axis, or a nest of them.
      initializer: The initial result; default: the last slice.
      parallel_iterations: Not used.
      back_prop: Not used.
      swap_memory: Not used.
      name: Not used.

    Returns:
      The last result.

    Raises:
      TypeError: If ``fn`` is not callable.
      ValueError: If ``elems`` has scalars, or first axes of different sizes.
      OutOfRangeError: If there is neither a slice nor an ``initializer``.

    Example:
      >>> tf.foldr(lambda a, x: a - x, tf.constant([1, 2, 3])).numpy()
      np.int32(0)
    """
    return _fold(fn, elems, initializer, True)


# Functions that order operations in TensorFlow's graphs. Here they run in program order.


def no_op(name: str | None = None) -> None:
    """Do nothing.

    Args:
      name: Not used.

    Example:
      >>> tf.no_op()
    """


def group(*inputs: object, **kwargs: object) -> None:
    """Do nothing: operations run immediately.

    Args:
      *inputs: Not used.
      **kwargs: Not used.

    Example:
      >>> v = tf.Variable(1.0)
      >>> tf.group(v.assign(2.0), v.assign_add(1.0))
    """


def tuple_(tensors: _Value, control_inputs: object = None, name: str | None = None) -> _Value:
    """Return the tensors unchanged.

    Args:
      tensors: A list of tensors.
      control_inputs: Not used.
      name: Not used.

    Returns:
      ``tensors``.

    Example:
      >>> [x.numpy() for x in tf.tuple([tf.constant(1), tf.constant(2)])]
      [np.int32(1), np.int32(2)]
    """
    return tensors


tuple_.__name__ = tuple_.__qualname__ = "tuple"


@contextmanager
def control_dependencies(control_inputs: Iterable[object] | None) -> Iterator[None]:
    """Return a context manager that does nothing: operations run in the order of the program.

    Args:
      control_inputs: A list; not used otherwise.

    Raises:
      TypeError: If ``control_inputs`` is not a list.

    Example:
      >>> v = tf.Variable(1.0)
      >>> with tf.control_dependencies([v.assign(2.0)]):
      ...     v.read_value().numpy()
      np.float32(2.0)
    """
    if control_inputs is not None and not callable(control_inputs):
        to_list(control_inputs, "control_inputs")
    elif callable(control_inputs):
        raise TypeError(f"`control_inputs` is a list of tensors, not {repr_of(control_inputs)}.")
    yield


@contextmanager
def init_scope() -> Iterator[None]:
    """Return a context manager in which no tape records.

    Example:
      >>> v = tf.Variable(2.0)
      >>> with tf.GradientTape() as tape:
      ...     with tf.init_scope():
      ...         y = v * v
      >>> tape.gradient(y, v) is None
      True
    """
    with stop_recording():
        yield


def executing_eagerly() -> bool:
    """Return True: operations always run immediately, also in functions.

    Returns:
      True.

    Example:
      >>> tf.executing_eagerly()
      True
    """
    return True


def get_current_name_scope() -> str:
    """Return the prefix of the names of new variables, without a slash at its end.

    Returns:
      A string; empty outside of any `name_scope`.

    Example:
      >>> with tf.name_scope("outer"), tf.name_scope("inner"):
      ...     tf.get_current_name_scope()
      'outer/inner'
    """
    return current_name_scope().removesuffix("/")


class name_scope:
    """A context manager that adds a prefix to the names of variables.

    Args:
      name: The prefix. A name that ends in "/" replaces outer prefixes; "" removes them.

    Raises:
      ValueError: If ``name`` is not a string.

    Example:
      >>> with tf.name_scope("layer") as scope:
      ...     scope, tf.Variable(1.0, name="w").name
      ('layer/', 'layer/w:0')
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._before: list[str] = []

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def __enter__(self) -> str:
        name, outer_scope = self._name, current_name_scope()
        self._before.append(outer_scope)
        local.scope = name if not name or name.endswith("/") else f"{outer_scope}{name}/"
        return local.scope

    def __exit__(self, *_: object) -> None:
        local.scope = self._before.pop()
