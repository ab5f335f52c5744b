"""`einsum`: parses an equation once for given shapes and computes it as matrix products.

Start at `einsum`. It reduces each operand to the labels that it needs (`_reduce_operand`), then
contracts pairs (`_contract_pair`) in the order that `_contraction_path` chooses.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.record import require
from ..values.dtypes import bool_
from ..values.tensor import Tensor
from . import elementwise, matrix_products, movement, reduction, slicing

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

_EQUATION_PATTERN = re.compile(r"(?:[a-zA-Z]|\.\.\.|,)*(?:->(?:[a-zA-Z]|\.\.\.)*)?")
_MAX_EXHAUSTIVE = 5  # every contraction order is tried up to this number of operands
_OP = "Einsum"

# A label for each axis: letters are their code points; the axes of an ellipsis are -1, -2 and so
# on, counted from the last.
Labels = tuple[int, ...]


class Equation(NamedTuple):
    """The labels of the operands' axes and of the result's axes, for operands of fixed ranks."""

    inputs: tuple[Labels, ...]
    output: Labels


def einsum(equation: str, *inputs: TensorLike, **kwargs: object) -> Tensor:
    """Sum products of elements by Einstein's convention, with a letter for each axis.

    Elements whose axes have the same letters are multiplied, and summed over the letters that the
    result does not have. Without ``->`` the result has the letters that occur once, sorted. An
    ellipsis stands for any number of axes, which broadcast. A letter that occurs twice in one
    operand takes its diagonal. Two operands need one matrix product on BLAS. Several operands need
    a sequence of such products in the cheapest order; for more than five operands a greedy search
    picks the order.

    Args:
      equation: The equation, for example ``"bij,bjk->bik"``.
      *inputs: Tensors of one dtype, one for each term.
      **kwargs: ``name``, ``optimize`` and ``greedy``, as in TensorFlow. They have no effect.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: If the equation is malformed, or the number of tensors and terms differ.
      InvalidArgumentError: If ranks or sizes do not fit.
      TypeError: If there is another keyword argument.

    Example:
      >>> a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
      >>> tf.einsum("ij,kj->ik", a, a).numpy()
      array([[ 5., 11.],
             [11., 25.]], dtype=float32)
      >>> tf.einsum("ii", a).numpy(), tf.einsum("...j->...", a).numpy()
      (np.float32(5.0), array([3., 7.], dtype=float32))
    """
    unknown = sorted(set(kwargs) - {"name", "optimize", "greedy"})
    if unknown:
        raise TypeError(
            f"Invalid keyword arguments for einsum: {', '.join(unknown)}. Valid arguments: name, "
            f"optimize, greedy."
        )
    if not isinstance(equation, str):
        raise TypeError(f"The equation must be a string, got {type(equation).__name__}.")
    terms = _split_terms(equation)
    if len(inputs) != len(terms[0]):
        raise ValueError(
            f'Got {len(inputs)} inputs for equation "{equation}", expecting {len(terms[0])}'
        )
    like_spec = next((x._spec for x in inputs if hasattr(x, "_spec")), None)
    operands = [as_tensor(x, like_spec, _OP) for x in inputs]
    for x in operands:
        require(
            x.dtype is operands[0].dtype and x.dtype is not bool_,
            _OP,
            f"Expected numbers of one dtype, got {', '.join(y.dtype.name for y in operands)}",
        )
    shapes = tuple(tuple(x.shape) for x in operands)
    labeled = _label_axes(equation, shapes)
    remaining: list[tuple[Tensor, Labels]] = []
    output_labels = set(labeled.output)
    for j, (x, labels) in enumerate(zip(operands, labeled.inputs, strict=True)):
        needed = output_labels.union(*(term for k, term in enumerate(labeled.inputs) if k != j))
        remaining.append(_reduce_operand(x, labels, needed))
    sizes = _label_sizes(equation, labeled.inputs, shapes)
    for first_index, second_index in _contraction_path(
        tuple(labels for _, labels in remaining), labeled.output, tuple(sorted(sizes.items()))
    ):
        (a, la), (b, lb) = remaining.pop(first_index), remaining.pop(second_index)
        needed = output_labels.union(*(labels for _, labels in remaining))
        remaining.append(_contract_pair(a, la, b, lb, needed, labeled.output))
    result, labels = remaining[0]
    result = movement.transpose_if_needed(
        result, tuple(labels.index(label) for label in labeled.output)
    )
    return movement.identity(result) if any(result is x for x in inputs) else result


@lru_cache(maxsize=1024)
def _split_terms(equation: str) -> tuple[tuple[str, ...], str | None]:
    """Return the operands' terms and the result's term, or None if the equation has no ``->``."""
    text = equation.replace(" ", "")
    if not _EQUATION_PATTERN.fullmatch(text):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    lhs, arrow, rhs = text.partition("->")
    terms = tuple(lhs.split(","))
    if any(term.count("...") > 1 for term in (*terms, rhs)):
        raise ValueError(f"Subscripts have more than one ellipsis in a term: {equation}")
    letters = [letter for letter in lhs if letter.isalpha()]
    if not arrow:
        return terms, None
    output_letters = rhs.replace("...", "")
    if len(set(output_letters)) != len(output_letters):
        raise ValueError(f"Output subscripts contain a label appearing more than once: {equation}")
    for letter in output_letters:
        if letter not in letters:
            raise ValueError(
                f"Output subscripts contain the label {letter} not present in the input subscripts."
            )
    return terms, rhs


@lru_cache(maxsize=1024)
def _label_axes(equation: str, shapes: tuple[tuple[int, ...], ...]) -> Equation:
    """Return the equation with a label for each axis.

    Raises:
      InvalidArgumentError: If ranks or sizes do not fit.
    """
    terms, rhs = _split_terms(equation)
    labels = []
    max_ellipsis_rank = 0
    for j, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        prefix, dots, suffix = term.partition("...")
        ellipsis_rank = len(shape) - len(prefix) - len(suffix)
        require(
            ellipsis_rank >= 0 if dots else ellipsis_rank == 0,
            _OP,
            f"Expected input {j} to have rank {'at least ' if dots else ''}"
            f"{len(prefix) + len(suffix)} but got: {len(shape)}",
        )
        max_ellipsis_rank = max(max_ellipsis_rank, ellipsis_rank)
        labels.append((*map(ord, prefix), *range(-ellipsis_rank, 0), *map(ord, suffix)))
    if rhs is None:
        letters = "".join(terms).replace(".", "")
        rhs = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
        if any("..." in term for term in terms):
            rhs = "..." + rhs
    prefix, dots, suffix = rhs.partition("...")
    require(
        bool(dots) or not max_ellipsis_rank,
        _OP,
        f"Output contains {max_ellipsis_rank} broadcasting dimension(s) but no ellipsis (...) "
        f"was found in the output subscripts.",
    )
    inputs = tuple(labels)
    _label_sizes(equation, inputs, shapes)
    return Equation(inputs, (*map(ord, prefix), *range(-max_ellipsis_rank, 0), *map(ord, suffix)))


def _label_sizes(
    equation: str, inputs: tuple[Labels, ...], shapes: tuple[tuple[int, ...], ...]
) -> dict[int, int]:
    """Return the size of each label; axes of an ellipsis broadcast."""
    sizes: dict[int, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for axis, (label, size) in enumerate(zip(labels, shape, strict=True)):
            expected = sizes.setdefault(label, size)
            if label < 0 and expected == 1:
                sizes[label] = size
            elif size != expected and not (label < 0 and size == 1):
                raise InvalidArgumentError(
                    f"Expected dimension {expected} at axis {axis} of the input shaped "
                    f"{list(shape)} but got dimension {size} in {equation!r} [Op:{_OP}]"
                )
    return sizes


def _reduce_operand(x: Tensor, labels: Labels, needed: set[int]) -> tuple[Tensor, Labels]:
    """Take diagonals of repeated labels, and sum over labels that are not needed elsewhere."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            x, labels = _diagonal(x, labels, label)
    axes = [axis for axis, label in enumerate(labels) if label not in needed]
    if axes:
        x = reduction.reduce_sum(x, axes)
        labels = tuple(label for label in labels if label in needed)
    return x, labels


def _diagonal(x: Tensor, labels: Labels, label: int) -> tuple[Tensor, Labels]:
    """Move the diagonal of the first two axes with this label to the last axis."""
    axis1 = labels.index(label)
    axis2 = labels.index(label, axis1 + 1)
    other_axes = tuple(axis for axis in range(x.ndim) if axis not in (axis1, axis2))
    n, shape = x.shape[axis1], tuple(x.shape[axis] for axis in other_axes)
    flat = movement.reshape(
        movement.transpose_if_needed(x, (*other_axes, axis1, axis2)), (*shape, n * n)
    )
    slices = (*((0, dim, 1) for dim in shape), (0, n * n, n + 1))
    diagonal = slicing.strided_slice(flat, slices)
    return movement.reshape_if_needed(diagonal, (*shape, n)), (
        *(labels[axis] for axis in other_axes),
        label,
    )


def _contract_pair(
    a: Tensor, la: Labels, b: Tensor, lb: Labels, needed: set[int], output: Labels
) -> tuple[Tensor, Labels]:
    """Multiply two operands and sum over their common labels that are not needed elsewhere."""
    # Drop axes of size 1 that broadcast against the other operand.
    a, la = _drop_broadcast_axes(a, la, dict(zip(lb, b.shape, strict=True)))
    b, lb = _drop_broadcast_axes(b, lb, dict(zip(la, a.shape, strict=True)))
    summed = [label for label in la if label in lb and label not in needed]
    batch = [label for label in la if label in lb and label in needed]
    rows = [label for label in la if label not in lb]
    columns = [label for label in lb if label not in la]
    if not summed or not (rows or columns):
        return _multiply_elementwise(a, la, b, lb, batch + rows + columns, summed, output)
    # Put the batch axes in the result's order if possible, and read matrices as they are stored or
    # transposed, to avoid copies. Copies keep the last axis, which is several times faster.
    batch = min(
        (sorted(batch, key=key) for key in (partial(_output_position, output), la.index, lb.index)),
        key=lambda order: _is_out_of_order(la, order) + _is_out_of_order(lb, order),
    )
    rows.sort(key=la.index)
    columns.sort(key=lb.index)
    summed.sort(key=la.index if math.prod(a.shape) >= math.prod(b.shape) else lb.index)
    size = dict(zip((*la, *lb), (*a.shape, *b.shape), strict=True))
    batch_shape = tuple(size[label] for label in batch)
    m, k, n = (math.prod(size[label] for label in group) for group in (rows, summed, columns))
    ta, tb = la[-1] in rows, lb[-1] in summed
    a_order = (*batch, *summed, *rows) if ta else (*batch, *rows, *summed)
    b_order = (*batch, *columns, *summed) if tb else (*batch, *summed, *columns)
    a = movement.transpose_if_needed(a, tuple(la.index(label) for label in a_order))
    b = movement.transpose_if_needed(b, tuple(lb.index(label) for label in b_order))
    a = movement.reshape_if_needed(a, (*batch_shape, k, m) if ta else (*batch_shape, m, k))
    b = movement.reshape_if_needed(b, (*batch_shape, n, k) if tb else (*batch_shape, k, n))
    # Multiply the transposes if the result has the columns before the rows.
    free_labels = [label for label in output if label in rows or label in columns]
    if free_labels and free_labels == [*columns, *rows] and rows and columns:
        product, rows, columns = matrix_products.matmul(b, a, not tb, not ta), columns, rows
    else:
        product = matrix_products.matmul(a, b, ta, tb)
    shape = (*batch_shape, *(size[label] for label in rows), *(size[label] for label in columns))
    return movement.reshape_if_needed(product, shape), (*batch, *rows, *columns)


def _output_position(output: Labels, label: int) -> int:
    """Return the position of a label in the result; the end if the result does not have it."""
    return output.index(label) if label in output else len(output)


def _is_out_of_order(labels: Labels, batch: list[int]) -> bool:
    """Return whether the operand's leading labels differ from ``batch``."""
    return labels[: len(batch)] != tuple(batch)


def _drop_broadcast_axes(
    x: Tensor, labels: Labels, other_sizes: dict[int, int]
) -> tuple[Tensor, Labels]:
    """Drop axes of size 1 that the other operand has with another size."""
    axes = [
        axis
        for axis, label in enumerate(labels)
        if label >= 0 or x.shape[axis] != 1 or other_sizes.get(label, 1) == 1
    ]
    return (
        movement.reshape_if_needed(x, tuple(x.shape[axis] for axis in axes)),
        tuple(labels[axis] for axis in axes),
    )


def _multiply_elementwise(
    a: Tensor,
    la: Labels,
    b: Tensor,
    lb: Labels,
    output_labels: list[int],
    summed: list[int],
    output: Labels,
) -> tuple[Tensor, Labels]:
    """Multiply two operands elementwise, then sum over ``summed``."""
    output_labels = sorted(output_labels, key=partial(_output_position, output))
    order = (*output_labels, *summed)
    product = elementwise.multiply(_align_axes(a, la, order), _align_axes(b, lb, order))
    if summed:
        product = reduction.reduce_sum(product, list(range(len(output_labels), len(order))))
    return product, tuple(output_labels)


def _align_axes(x: Tensor, labels: Labels, order: Labels) -> Tensor:
    """Transpose an operand to ``order``, with axes of size 1 for the labels that it lacks."""
    present = [label for label in order if label in labels]
    x = movement.transpose_if_needed(x, tuple(labels.index(label) for label in present))
    size = dict(zip(present, x.shape, strict=True))
    return movement.reshape_if_needed(x, tuple(size.get(label, 1) for label in order))


@lru_cache(maxsize=1024)
def _contraction_path(
    inputs: tuple[Labels, ...], output: Labels, sizes: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of operands to contract, in order.

    A pair (i, j) holds the first position, and the second position after the first one is removed.
    The product goes to the end of the list.
    """
    size = dict(sizes)

    def contract(terms: tuple[Labels, ...], i: int, j: int) -> tuple[float, tuple[Labels, ...]]:
        rest = tuple(term for k, term in enumerate(terms) if k not in (i, j))
        both = set(terms[i]) | set(terms[j])
        needed = set(output).union(*rest)
        return (
            float(math.prod(size[label] for label in both)),
            (*rest, tuple(label for label in both if label in needed)),
        )

    def all_pairs(terms: tuple[Labels, ...]) -> list[tuple[int, int]]:
        return [(i, j) for j in range(len(terms)) for i in range(j)]

    def search(terms: tuple[Labels, ...]) -> tuple[float, tuple[tuple[int, int], ...]]:
        if len(terms) < 2:
            return 0.0, ()
        options = []
        candidates = all_pairs(terms)
        if len(terms) > _MAX_EXHAUSTIVE:
            candidates = [min(candidates, key=lambda pair: contract(terms, *pair)[0])]
        for i, j in candidates:
            cost, remaining = contract(terms, i, j)
            rest_cost, path = search(remaining)
            options.append((cost + rest_cost, ((i, j - 1), *path)))
        return min(options, key=lambda option: option[0])

    return search(inputs)[1]
