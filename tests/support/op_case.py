"""The type of a row of the op table: an op's reference, inputs and accuracy."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

F = ("float32", "float64")
INTEGERS = ("int32", "int64", "uint8")
FI = F + INTEGERS
ALL = (*FI, "bool")
# Values of `order` for an op that stops gradients, and for one without a derivative.
STOP, MISSING = 0, -1


# These take arrays of float64 as float32, as TensorFlow does.
SINGLE = {
    "linalg.lu_matrix_inverse",
    "linalg.lu_reconstruct",
    "linalg.lu_solve",
    "nn.max_pool2d",
    "nn.local_response_normalization",
    "signal.rfft",
    "signal.rfft2d",
}


@dataclass(frozen=True)
class Case:
    """A row.

    Attributes:
      name: The public name, such as "math.sin"; operators are those of Python's `operator`.
      reference: The same on NumPy arrays: of the operands' dtype where `ulp` is 0, else floats
        in extended precision (float64 where it is not elementwise).
      ranges: The range of each operand's elements; ``bool`` for booleans.
      ints: The same for operands of integer dtype.
      variants: For an op that is not elementwise, pairs of operand shapes and keyword arguments.
      options: For an elementwise op, the keyword arguments to try.
      call: ``call(function, *operands, **options)``, if not the function itself.
      dtypes: The supported dtypes.
      ulp: The largest error in units of the last place of the exact value (where it is not
        elementwise, of the largest element). 0 means the same bits.
      order: The highest derivative to check, STOP or MISSING.
      special: Pairs of operands and keyword arguments to try besides; None stands for every
        combination of special numbers, if it is elementwise.
      exact: The name of mpmath's function, if any.
      widest: Whether the first operand must have the result's shape.
    """

    name: str
    reference: Callable[..., Any]
    ranges: Sequence[Any] = ((-2.0, 2.0),)
    ints: Sequence[Any] = ((-20, 20), (-20, 20), (-20, 20))
    variants: Sequence[tuple[Sequence[tuple[int, ...]], dict[str, Any]]] = ()
    options: Sequence[dict[str, Any]] = ({},)
    call: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] = F
    ulp: float = 1.0
    order: int = 2
    special: Sequence[tuple[list[Any], dict[str, Any]]] | None = None
    exact: str = ""
    widest: bool = False

    @property
    def tensors(self) -> bool:
        """Whether operands are tensors."""
        return self.name in SINGLE

    @property
    def elementwise(self) -> bool:
        """Whether the op is elementwise."""
        return not self.variants

    def function(self, tf: Any) -> Callable[..., Any]:
        """The function of a library that the row describes."""
        module, _, name = self.name.rpartition(".")
        found = operator if module == "operator" else tf
        for part in (*([] if found is operator else filter(None, module.split("."))), name):
            found = getattr(found, part)
        if module == "operator":
            return lambda x, *rest, **key: found(tf.convert_to_tensor(x), *rest, *key.values())
        return found if self.call is None else partial(self.call, found)


def over(*shapes, **options):
    """Variants: every set of operand shapes with every combination of options."""
    sets = [dict(zip(options, values, strict=True)) for values in product(*options.values())]
    lists = [shape if shape and isinstance(shape[0], tuple) else (shape,) for shape in shapes]
    return [(shape, chosen) for shape in lists for chosen in sets]


def listed(function, *xs, **options):
    """Call a function of one list of tensors."""
    return function(list(xs), **options)
