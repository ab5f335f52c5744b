"""Symbolic tensors, which describe the graph of a functional model, and their shapes."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ..core.log.as_tensor import as_tensor
from ..core.log.log import local
from ..core.log.variable import Variable, set_values
from ..core.ops.creation import zeros
from ..core.values.arguments import signature_of as signature_of
from ..core.values.composite import Composite
from ..core.values.dtypes import as_dtype
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from ..nest import flatten, is_nested, map_structure
from .registry import keras_dtype, nearest

if TYPE_CHECKING:
    from ..core.values.annotations import AxisLike, DTypeLike, ShapeLike
    from .annotations import InputShape

_numbers: Counter[str] = Counter()

# Two sample sizes for an unknown size of the first axis, and two for other axes.
_SAMPLE_SIZES = (2, 3), (128, 256)
_MOST_SAMPLES = 60


def auto_name(kind: str) -> str:
    """Return a new name for an object of a class: conv2d for ``Conv2D``, then conv2d_1."""
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", kind)).lower()
    number = _numbers[name]
    _numbers[name] += 1
    return f"{name}_{number}" if number else name


def reset_names() -> None:
    """Restart the numbering of names."""
    _numbers.clear()


class GraphOperation(Protocol):
    """A layer, or an `Operation`."""

    _nt_inbound_nodes: list[Node]

    @property
    def name(self) -> str:
        """The name, unique in a graph."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the operation."""


class Node:
    """One call of an operation in a graph.

    Attributes:
      operation: A layer, or an `Operation`.
      args: The positional arguments of the call.
      kwargs: The keyword arguments of the call.
      inputs: The symbolic tensors in the arguments.
      outputs: The symbolic tensors in the result.
      structure: The result.
    """

    def __init__(
        self,
        operation: GraphOperation,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        structure: object,
    ) -> None:
        self.operation, self.args, self.kwargs = operation, args, kwargs
        self.structure = structure
        self.inputs = [x for x in flatten((args, kwargs)) if isinstance(x, KerasTensor)]
        self.outputs = [x for x in flatten(structure) if isinstance(x, KerasTensor)]
        for x in self.outputs:
            x._node = self
        operation._nt_inbound_nodes.append(self)


class Operation:
    """A function in a graph that is not a layer, such as addition.

    Args:
      function: The function.
      kind: The name of Keras's class of the operation.
    """

    def __init__(self, function: Callable[..., Any], kind: str) -> None:
        self.function, self.kind = function, kind
        self.name = auto_name(kind)
        self._nt_inbound_nodes: list[Node] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; with symbolic tensors, return symbolic tensors."""
        if not is_symbolic((args, kwargs)):
            return self.function(*args, **kwargs)
        rule = getattr(self.function, "_nt_rule", None) or infer
        try:
            outputs = rule(self.function, args, kwargs)
        except InvalidArgumentError as error:
            raise ValueError(f"{self.kind} of symbolic tensors: {error}") from error
        Node(self, args, kwargs, outputs)
        return outputs


class KerasTensor:
    """A symbolic tensor: a shape and a dtype without values, for building functional models.

    `Input` creates one. Layers and operators that are called on symbolic tensors return new ones.

    Args:
      shape: The shape; None in it stands for an unknown size.
      dtype: The dtype.
      sparse: Must be None or False.
      ragged: Must be None or False.
      record_history: Accepted for compatibility with Keras, and ignored.
      name: The name; None for a numbered one.

    Raises:
      ValueError: If ``sparse`` or ``ragged`` is set.
      TypeError: If the dtype does not exist.

    Example:
      >>> x = tf.keras.Input((3,))
      >>> (x + 1.0).shape, x[:, 0].shape
      ((None, 3), (None,))
    """

    __array_priority__ = 200
    sparse = ragged = False  # all tensors are dense

    def __init__(
        self,
        shape: InputShape,
        dtype: DTypeLike = "float32",
        sparse: bool | None = False,
        ragged: bool | None = False,
        record_history: bool = True,
        name: str | None = None,
    ) -> None:
        for word, value in (("sparse", sparse), ("ragged", ragged)):
            if value:
                raise ValueError(f"{word}={value}: numtape's symbolic tensors are dense.")
        self.shape: tuple[int | None, ...] = tuple(shape)
        self.dtype: str = keras_dtype(dtype).name
        self.name = name or auto_name("KerasTensor")
        self._node: Node | None = None
        self._keras_mask: KerasTensor | None = None

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def reshape(self, newshape: ShapeLike) -> Any:
        """Reshape the tensor.

        Args:
          newshape: The new shape, including the batch axis; -1 infers one size.

        Returns:
          A symbolic tensor.
        """
        return operation_function("Reshape")(self, newshape)

    def squeeze(self, axis: AxisLike = None) -> Any:
        """Remove axes of size 1.

        Args:
          axis: The axes to remove; None for all axes of size 1.

        Returns:
          A symbolic tensor.
        """
        return operation_function("Squeeze")(self, axis)

    def __repr__(self) -> str:
        return (
            f"<KerasTensor shape={self.shape}, dtype={self.dtype}, sparse=False, ragged=False, "
            f"name={self.name}>"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(
            "A KerasTensor is symbolic: it's a placeholder for a shape and a dtype. It doesn't "
            "have any actual numerical value. You cannot convert it to a NumPy array, nor give it "
            "to a function of `tf`: use a function of `keras.ops`, or put the function of `tf` "
            "into a `keras.layers.Lambda`, or into the `call` of a layer of your own, and call the "
            "layer on the KerasTensor."
        )

    def __bool__(self) -> NoReturn:
        raise TypeError("A symbolic KerasTensor cannot be used as a boolean.")

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Iterating over a symbolic KerasTensor is not supported.")

    def __len__(self) -> NoReturn:
        raise TypeError("A symbolic KerasTensor has no length: see its shape.")

    def __neg__(self) -> Any:
        return operation_function("Negative")(self)

    def __abs__(self) -> Any:
        return operation_function("Absolute")(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


# The functions of `keras.ops`, by the names of Keras's operations in a model's config.
OPERATIONS: dict[str, Callable[..., Any]] = {}


def operation_function(kind: str) -> Callable[..., Any]:
    """Return the function of `keras.ops` or `keras.random` with the name of an operation.

    Raises:
      ValueError: If the name is unknown.
    """
    for module in ("ops", "random"):  # they fill `OPERATIONS`
        import_module(f"numtape.keras.{module}")
    if kind not in OPERATIONS:
        raise ValueError(f"The operation {kind!r} is unknown.{nearest(kind, OPERATIONS)}")
    return OPERATIONS[kind]


def _binary_operator(kind: str, swapped: bool = False) -> Any:
    def method(self: KerasTensor, other: object) -> Any:
        return operation_function(kind)(*((other, self) if swapped else (self, other)))

    return method


for _name, _kind in {
    "add": "Add",
    "sub": "Subtract",
    "mul": "Multiply",
    "truediv": "TrueDivide",
    "floordiv": "FloorDivide",
    "mod": "Mod",
    "pow": "Power",
    "matmul": "Matmul",
}.items():
    setattr(KerasTensor, f"__{_name}__", _binary_operator(_kind))
    setattr(KerasTensor, f"__r{_name}__", _binary_operator(_kind, True))
for _name, _kind in {
    "lt": "Less",
    "le": "LessEqual",
    "gt": "Greater",
    "ge": "GreaterEqual",
    "ne": "NotEqual",
    "getitem": "GetItem",
}.items():
    setattr(KerasTensor, f"__{_name}__", _binary_operator(_kind))


def is_symbolic(structure: object) -> bool:
    """Whether a structure contains a symbolic tensor."""
    return any(isinstance(x, KerasTensor) for x in flatten(structure))


def is_keras_tensor(x: object) -> bool:
    """Whether an object is a symbolic tensor.

    Args:
      x: Any object.

    Returns:
      A bool.

    Example:
      >>> tf.keras.utils.is_keras_tensor(tf.keras.Input((3,)))
      True
      >>> tf.keras.utils.is_keras_tensor(tf.ones(3))
      False
    """
    return isinstance(x, KerasTensor)


def get_source_inputs(tensor: KerasTensor) -> list[KerasTensor]:
    """Return the `Input` tensors on which a symbolic tensor depends.

    Args:
      tensor: A symbolic tensor.

    Returns:
      A list of symbolic tensors, each once.

    Raises:
      TypeError: If ``tensor`` is not symbolic.

    Example:
      >>> x = tf.keras.Input((3,), name="x")
      >>> [t.name for t in tf.keras.utils.get_source_inputs(tf.keras.layers.Dense(2)(x))]
      ['x']
    """
    if not isinstance(tensor, KerasTensor):
        raise TypeError(f"tensor must be a KerasTensor, got {type(tensor).__name__}.")
    sources: list[KerasTensor] = []
    visited: set[int] = set()
    stack = [tensor]
    while stack:
        x = stack.pop()
        if id(x) in visited:
            continue
        visited.add(id(x))
        node = x._node
        if node is None or not node.inputs:
            sources.append(x)
        else:
            stack += reversed(node.inputs)
    return sources


def infer(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Infer the results of a function for symbolic tensors, as symbolic tensors.

    The function is called with zeros; nothing is computed unless it reads values. If sizes are
    unknown, it is called twice with different sizes, and a size of the result that differs is
    unknown as well. Assignments to variables are undone.
    """
    results = _results_of_samples(function, args, kwargs)

    def symbol(x: Tensor, *others: Tensor) -> KerasTensor:
        sizes = zip(x.shape, *(other.shape for other in others), strict=True)
        return KerasTensor([n[0] if len(set(n)) == 1 else None for n in sizes], x.dtype)

    return map_structure(symbol, *results)


def _results_of_samples(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Any]:
    """Return the results of calls with zeros: of two, with different sizes, if any is unknown.

    First each unknown size is independent. If that fails, they may be equal to each other or to
    known sizes.
    """
    shapes = [x.shape for x in flatten((args, kwargs)) if isinstance(x, KerasTensor)]
    unknown_axes = [axis for shape in shapes for axis, n in enumerate(shape) if n is None]
    if not unknown_axes:
        return [_call_with_zeros(function, args, kwargs, ())]
    known_sizes = sorted({n for shape in shapes for n in shape if n is not None})
    choices = [[_SAMPLE_SIZES[axis > 0], _SAMPLE_SIZES[1]][axis == 0 :] for axis in unknown_axes]
    choices = [[*pairs, *((n, n) for n in known_sizes)] for pairs in choices]
    equal_sizes = [_SAMPLE_SIZES[1]] * len(unknown_axes)
    candidates = itertools.chain([None, equal_sizes], itertools.product(*choices))
    first_error: Exception | None = None
    for candidate in itertools.islice(candidates, _MOST_SAMPLES):
        sizes = candidate or [_SAMPLE_SIZES[axis > 0] for axis in unknown_axes]
        try:
            return [_call_with_zeros(function, args, kwargs, [n[k] for n in sizes]) for k in (0, 1)]
        except (ValueError, IndexError, InvalidArgumentError) as error:
            first_error = first_error or error
    assert first_error is not None
    raise first_error


def _call_with_zeros(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    unknown_sizes: Sequence[int],
) -> Any:
    """Call a function with zeros; ``unknown_sizes`` are the unknown sizes, in order."""
    next_sizes = iter(unknown_sizes)

    def sample(x: object) -> Any:
        if not isinstance(x, KerasTensor):
            return x
        sizes = [next(next_sizes) if n is None else n for n in x.shape]
        return zeros(sizes, as_dtype(x.dtype))

    args, kwargs = map_structure(sample, (tuple(args), kwargs))
    previous_journal, journal = local.journal, dict[int, tuple[Variable, Tensor]]()
    local.journal = journal
    try:
        result = function(*args, **kwargs)
        if result is None:
            raise ValueError(
                f"None values not supported: `{getattr(function, '__qualname__', function)}()` "
                f"gives None. Does it end with `return`?"
            )
        return map_structure(as_tensor, result)
    finally:
        local.journal = previous_journal
        set_values([v for v, _ in journal.values()], [value for _, value in journal.values()])


def pass_masks(
    compute_mask: Callable[[Any, Any], Any], inputs: object, mask: object, outputs: object
) -> None:
    """Attach masks to the symbolic outputs of a layer."""
    positions: list[int] = []  # of outputs that have a mask

    def masks(inputs: object, mask: object) -> list[Any]:
        result = flatten(compute_mask(inputs, mask))
        positions[:] = [k for k, output_mask in enumerate(result) if output_mask is not None]
        return [result[k] for k in positions]

    result = infer(masks, (inputs, mask), {})
    symbols = dict(zip(positions, result, strict=True))
    for k, x in enumerate(flatten(outputs)):
        if isinstance(x, KerasTensor):
            x._keras_mask = symbols.get(k)


def symbols_of(shape: object, dtype: DTypeLike) -> Any:
    """Replace the shapes in a structure by symbolic tensors."""
    if isinstance(shape, KerasTensor | str) or not isinstance(shape, list | tuple | dict):
        return shape
    if isinstance(shape, dict):
        return {name: symbols_of(x, dtype) for name, x in shape.items()}
    if (shape and all(n is None or isinstance(n, int) for n in shape)) or (
        type(shape) is not list and not shape
    ):
        return KerasTensor(shape, dtype)
    return type(shape)(symbols_of(x, dtype) for x in shape)


def is_tensor(x: object) -> bool:
    """Whether ``x`` is a tensor or a symbolic tensor."""
    return isinstance(x, Tensor | KerasTensor | Composite)


def tensors_in(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that are tensors or structures of tensors."""
    return {
        name: x
        for name, x in arguments.items()
        if is_tensor(x)
        or (is_nested(x) and x and all(leaf is None or is_tensor(leaf) for leaf in flatten(x)))
    }


def shapes_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the shapes of the tensor arguments, such as ``{"inputs_shape": (2, 3)}``."""
    return {
        f"{name}_shape": map_structure(lambda t: None if t is None else tuple(t.shape), x)
        for name, x in tensors_in(arguments).items()
        if name != "mask"
    }


def shapes_for(method: Callable[..., Any], arguments: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the shapes to pass to ``build`` or ``compute_output_shape``, by parameter name.

    A single parameter receives the shape of the first argument.

    Raises:
      ValueError: If one of several parameters does not match an argument of ``call``.
    """
    shapes = shapes_of(arguments)
    names = signature_of(method).all
    if len(names) == 1:
        return {names[0]: next(iter(shapes.values()), None)}
    for name in names:
        if not name.endswith("_shape") or name.removesuffix("_shape") not in arguments:
            if name in signature_of(method).defaults:
                continue
            raise ValueError(
                f"For a `{method.__name__}()` method with more than one argument, all arguments "
                f"should have a `_shape` suffix and match an argument from `call()`. E.g. "
                f"`{method.__name__}(self, foo_shape, bar_shape)` For layer '{kind}', received "
                f"argument `{name}`."
            )
    return {name: shapes[name] for name in names if name in shapes}
