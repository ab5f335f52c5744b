"""Derivatives that a program defines: `custom_gradient`, `recompute_grad`, `grad_pass_through`."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from . import nest
from .compat.traceback_filter import guard
from .core.derive.custom import record_custom
from .core.derive.tape import Tape
from .core.log.as_tensor import as_tensor
from .core.log.log import Log, local
from .core.log.variable import Variable, creation_order, original
from .core.ops.movement import identity
from .core.values.arguments import inspect_signature
from .core.values.tensor import Tensor
from .function.pickling import reduce_function, stand_in
from .tape import GradientTape, UnconnectedGradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .core.values.annotations import TensorLike


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Decorator: define the gradient of a function.

    The result is unchanged. A tape that watches an argument calls the gradient function that ``f``
    returns, and ignores the ops inside ``f``. Thus code that tapes cannot differentiate, such as
    NumPy or SciPy code or `numpy_function`, can have a gradient. The gradient function is
    recorded, so it can be differentiated in turn.

    Args:
      f: A function that returns ``(result, grad_fn)``. ``result`` is a tensor or a nest of
        tensors. ``grad_fn(*upstream)`` takes the upstream gradient of each of them, and returns a
        gradient (or None) for each tensor in the arguments of ``f``. If ``f`` uses variables that
        are not arguments, ``grad_fn(*upstream, variables)`` also returns a list with a gradient
        for each variable.

    Returns:
      A function of the same arguments that returns ``result``. Without ``f``, a decorator.

    Raises:
      TypeError: At a call, if variables are used and ``grad_fn`` does not accept ``variables``.
      ValueError: When the gradient is computed, if ``grad_fn`` returns a wrong number of
        gradients, or a gradient of another shape or dtype than its argument.

    Example:
      >>> @tf.custom_gradient
      ... def log1pexp(x):
      ...     e = tf.exp(x)
      ...     return tf.math.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))
      >>> x = tf.constant(100.0)
      >>> with tf.GradientTape() as tape:
      ...     tape.watch(x)
      ...     y = log1pexp(x)
      >>> tape.gradient(y, x).numpy()
      np.float32(1.0)
    """
    return custom_gradient if f is None else _Custom(f)


def _unchanged(f: Callable[..., Any]) -> Callable[..., Any]:
    return f


class _Custom:
    """A function with its own gradient. As a class attribute, it is a method.

    Args:
      f: The function, which provides the name and docstring.
      inner: A function from ``f``, or its bound method, to a function that returns results and
        ``grad_fn``.
    """

    def __init__(self, f: Callable[..., Any], inner: Callable[[Any], Any] = _unchanged) -> None:
        functools.update_wrapper(self, f)
        self.__wrapped__ = f
        self._inner, self._called = inner, inner(f)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return _call(self._called, args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return _Custom(self.__wrapped__.__get__(instance, owner), self._inner)

    def __reduce__(self) -> Any:
        f = self.__wrapped__
        if isinstance(f, types.MethodType):  # its name is that of the attribute, a `_Custom`
            return getattr, (f.__self__, f.__name__)
        return reduce_function(self, f, self._inner)

    @functools.cached_property
    def _stand_in(self) -> Any:
        return stand_in(self.__wrapped__)


guard([_Custom])


def _call(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tape = Tape(True, True)
    tape.start()
    try:
        returned_value: Any = f(*args, **kwargs)
        untracked_variables: list[Variable] = []
        if type(returned_value) is _Noted:
            *returned_value, untracked_variables = returned_value
        result, grad_fn = returned_value
    finally:
        tape.stop()
        read_variables = [v for v in tape.variables_read() if v.trainable]
        tape.release()
    arg_leaves = nest.flatten(args)
    leaves = (*arg_leaves, *nest.flatten(kwargs))  # a layer's weight is another name of a variable
    argument_ids = {id(original(x) if isinstance(x, Variable) else x) for x in leaves}
    read_variables += untracked_variables
    variables = [
        v
        for v in sorted(_without_duplicates(read_variables), key=creation_order)
        if id(v) not in argument_ids
    ]
    if variables and not _takes_variables(grad_fn):
        raise TypeError(
            f"@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function "
            f"uses variables: {variables}"
        )
    results = [identity(x) for x in nest.flatten(result)]
    inputs = [as_tensor(x) for x in (*arg_leaves, *variables)]
    log = local.log
    if log.may_need_gradients():
        grad = functools.partial(_gradients, grad_fn, len(arg_leaves), variables, inputs)
        results = record_custom(results, inputs, grad)
    return nest.pack_sequence_as(result, results)


def _without_duplicates(variables: list[Variable]) -> list[Variable]:
    return list({id(v): v for v in variables}.values())


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    parameters = inspect_signature(grad_fn, follow_wrapped=False).parameters
    return "variables" in parameters or any(x.kind is x.VAR_KEYWORD for x in parameters.values())


def _gradients(
    grad_fn: Callable[..., Any],
    count: int,
    variables: list[Variable],
    inputs: list[Tensor],
    upstream: list[Tensor],
) -> list[Tensor | None]:
    """Compute the gradients of arguments and variables from those of the results."""
    variable_gradients: list[Any] = []
    if variables:
        gradients, variable_gradients = grad_fn(*upstream, variables=variables)
        if len(variable_gradients) != len(variables):
            raise ValueError(
                "Must return gradient for each variable from @custom_gradient grad_fn."
            )
    else:
        gradients = grad_fn(*upstream)
    arg_gradients = nest.flatten(gradients)
    if len(arg_gradients) != count:
        raise ValueError(
            f"custom_gradient function expected to return {count} gradients, but returned "
            f"{len(arg_gradients)} instead."
        )
    return [
        _check_gradient(x, input_tensor)
        for x, input_tensor in zip((*arg_gradients, *variable_gradients), inputs, strict=True)
    ]


def _check_gradient(gradient: TensorLike | None, input_tensor: Tensor) -> Tensor | None:
    if gradient is None or not input_tensor.dtype.is_floating:
        return None
    tensor = as_tensor(gradient, input_tensor._spec, "custom_gradient")
    if tensor._spec is not input_tensor._spec:
        raise ValueError(
            f"A custom_gradient function gives a gradient of shape {tensor.shape} and dtype "
            f"{tensor.dtype.name} for an argument of shape {input_tensor.shape} "
            f"and dtype {input_tensor.dtype.name}."
        )
    return tensor


def recompute_grad(f: Callable[..., Any]) -> Any:
    """Make a function's gradient recompute the function instead of storing intermediate results.

    Nothing is recorded inside the function: only arguments and results stay in memory. The
    function is computed twice, so this trades time for memory.

    Args:
      f: A function that returns a tensor or a sequence of tensors.

    Returns:
      A function with the same arguments and results.

    Raises:
      TypeError: As ``f`` does.

    Example:
      >>> v = tf.Variable(3.0)
      >>> g = tf.recompute_grad(lambda x: tf.sin(v * x))
      >>> with tf.GradientTape() as tape:
      ...     y = g(tf.constant(0.0))
      >>> tape.gradient(y, v).numpy()
      np.float32(0.0)
    """
    return _Custom(f, _recompute)


def _recompute(f: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any, **kwargs: Any) -> Any:
        with _isolate(local.log.is_recorded()) as scope:
            result = f(*args, **kwargs)
        noted_variables = [] if scope is None else list(scope.noted.values())

        def grad(*upstream: Any, variables: Sequence[Variable] | None = None) -> Any:
            watched_variables = list(variables or [])
            with _isolate(not local.log.is_recorded()):
                with GradientTape() as tape:
                    copies = nest.map_structure(identity, args)
                    tape.watch([x for x in nest.flatten(copies) if x.dtype.is_floating])
                    tape.watch(watched_variables)
                    results = f(*copies, **kwargs)
                input_gradients, variable_gradients = tape.gradient(
                    results,
                    [list(copies), watched_variables],
                    output_gradients=list(upstream),
                    unconnected_gradients=UnconnectedGradients.ZERO,
                )
            return (
                (input_gradients, variable_gradients) if variables is not None else input_gradients
            )

        return _Noted(result, grad, noted_variables)

    return inner


class _Noted(NamedTuple):
    """Results of a function with a custom gradient, and the variables that another log recorded."""

    result: Any
    grad: Any
    variables: list[Variable]


class _IsolatedScope(Log):
    """A log for computations that no tape records.

    Attributes:
      noted: The trainable variables that were read.
    """

    __slots__ = ("noted",)

    def __init__(self) -> None:
        super().__init__()
        self.noted: dict[int, Variable] = {}

    def read(self, variable: Variable, value: Tensor, codes: tuple[int, int] | None = None) -> int:
        """Append a read."""
        if variable.trainable:
            self.noted[id(variable)] = variable
        return super().read(variable, value, codes)

    def successor(self) -> Log:
        """Create the log that follows this one."""
        successor = _IsolatedScope()
        successor.noted = self.noted
        return successor


@contextmanager
def _isolate(is_needed: bool) -> Iterator[_IsolatedScope | None]:
    """Compute in another log, which keeps nothing for tapes, except in a call being recorded."""
    outer = local.log
    if not is_needed or outer.nested:
        yield None
        return
    log = _IsolatedScope()
    try:
        local.log = log
        yield log
        local.log.collect()  # from here on, the results have values
    finally:
        inner_log, local.log = local.log, outer
        inner_log.invalidate_reads()


def grad_pass_through(f: Callable[..., Any]) -> Any:
    """Replace a function's gradient by that of the identity.

    Args:
      f: A function that returns as many tensors as it has arguments, of the same shapes.

    Returns:
      A function with the same arguments and results.

    Raises:
      ValueError: When the gradient is computed, if numbers or shapes of tensors differ.

    Example:
      >>> x = tf.Variable(2.6)
      >>> with tf.GradientTape() as tape:
      ...     y = tf.grad_pass_through(tf.round)(x)
      >>> y.numpy(), tape.gradient(y, x).numpy()
      (np.float32(3.0), np.float32(1.0))
    """
    return _Custom(f, _passed_through)


def _passed_through(f: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any, **kwargs: Any) -> Any:
        def grad(*upstream: Any, variables: Sequence[Variable] | None = None) -> Any:
            return upstream if variables is None else (upstream, [None] * len(variables))

        return f(*args, **kwargs), grad

    return inner


class RegisterGradient:
    """Not implemented: use `custom_gradient` to define the gradient of an op.

    TensorFlow's graphs look up gradients by the names of ops. In numtape, wrap the op in a
    function:

    Args:
      op_type: The name of an op.

    Raises:
      NotImplementedError: Always.

    Example:
      >>> @tf.custom_gradient
      ... def straight_round(x):
      ...     return tf.round(x), lambda upstream: upstream
      >>> x = tf.Variable(1.7)
      >>> with tf.GradientTape() as tape:
      ...     y = straight_round(x)
      >>> tape.gradient(y, x).numpy()
      np.float32(1.0)
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        _no_registry(op_type)


def no_gradient(op_type: str) -> None:
    """Not implemented: use `stop_gradient` to exclude an op from gradients.

    Args:
      op_type: The name of an op.

    Raises:
      NotImplementedError: Always.

    Example:
      >>> x = tf.Variable(3.0)
      >>> with tf.GradientTape() as tape:
      ...     y = x * tf.stop_gradient(x)
      >>> tape.gradient(y, x).numpy()
      np.float32(3.0)
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _no_registry(op_type)


def _no_registry(op_type: str) -> NoReturn:
    raise NotImplementedError(
        f"Gradients are not looked up by the names of ops ({op_type}): wrap the op in a function, "
        f"and give that a gradient with tf.custom_gradient."
    )


def gradients(
    ys: object,
    xs: object,
    grad_ys: object = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: object = None,
    stop_gradients: object = None,
    unconnected_gradients: object = UnconnectedGradients.NONE,
) -> None:
    """Not implemented, because operations run immediately: use a `GradientTape`.

    Args:
      ys: Not used.
      xs: Not used.
      grad_ys: Not used.
      name: Not used.
      gate_gradients: Not used.
      aggregation_method: Not used.
      stop_gradients: Not used.
      unconnected_gradients: Not used.

    Raises:
      RuntimeError: Always, as in TensorFlow.

    Example:
      >>> x = tf.Variable(3.0)
      >>> with tf.GradientTape() as tape:
      ...     y = x * x
      >>> tape.gradient(y, x).numpy()
      np.float32(6.0)
    """
    raise RuntimeError(
        "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape "
        "instead."
    )
