"""Einstein sums: parsed once for an equation and shapes, done as products of matrices."""

from __future__ import annotations

import math
import re
from functools import lru_cache, partial
from typing import Any, NamedTuple

from ...errors import InvalidArgumentError
from ..log.record import require
from ..log.tensors import as_tensor
from ..values.dtypes import bool_
from ..values.tensor import Tensor
from . import elementwise, matrix_products, movement, reduction, slicing

_FORM = re.compile(r"(?:[a-zA-Z]|\.\.\.|,)*(?:->(?:[a-zA-Z]|\.\.\.)*)?")
_EXHAUSTIVE = 5  # operands up to which every order is tried
_OP = "Einsum"

# Letters as their code points; the axes of an ellipsis as -1, -2 and so on from the last.
Labels = tuple[int, ...]


class Equation(NamedTuple):
    """An equation, applied to operands of certain ranks."""

    inputs: tuple[Labels, ...]
    output: Labels


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Sums of products of elements, as Einstein wrote them: axes that have letters.

    Elements whose axes have the same letters are multiplied, and summed over the letters that the
    result does not have. Without ``->`` the result has those letters that occur once, sorted. An
    ellipsis stands for any axes, which broadcast. A letter that one operand has twice takes its
    diagonal. Of two operands everything is one product of matrices on BLAS; of several, the
    cheapest order of such products (of more than five, one found greedily).

    Args:
      equation: Such as ``"bij,bjk->bik"``.
      *inputs: Tensors of one dtype, one for each term.
      **kwargs: ``name`` and ``optimize``, which TensorFlow has: they change nothing.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: If the equation is malformed, or there are not as many tensors as terms.
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
        raise TypeError(f"The equation is a string, got {type(equation).__name__}.")
    terms = _terms(equation)
    if len(inputs) != len(terms[0]):
        raise ValueError(
            f'Got {len(inputs)} inputs for equation "{equation}", expecting {len(terms[0])}'
        )
    like = next((x._spec for x in inputs if hasattr(x, "_spec")), None)
    operands = [as_tensor(x, like, _OP) for x in inputs]
    for x in operands:
        require(
            x.dtype is operands[0].dtype and x.dtype is not bool_,
            _OP,
            f"Expected numbers of one dtype, got {', '.join(y.dtype.name for y in operands)}",
        )
    shapes = tuple(tuple(x.shape) for x in operands)
    applied = _applied(equation, shapes)
    parts: list[tuple[Tensor, Labels]] = []
    kept = set(applied.output)
    for j, (x, labels) in enumerate(zip(operands, applied.inputs, strict=True)):
        others = kept.union(*(term for k, term in enumerate(applied.inputs) if k != j))
        parts.append(_alone(x, labels, others))
    sizes = _sizes(equation, applied.inputs, shapes)
    for left, right in _order(
        tuple(labels for _, labels in parts), applied.output, tuple(sorted(sizes.items()))
    ):
        (a, la), (b, lb) = parts.pop(left), parts.pop(right)
        others = kept.union(*(labels for _, labels in parts))
        parts.append(_pair(a, la, b, lb, others, applied.output))
    found, labels = parts[0]
    found = movement.permuted(found, tuple(labels.index(one) for one in applied.output))
    return movement.identity(found) if any(found is x for x in inputs) else found


@lru_cache(maxsize=1024)
def _terms(equation: str) -> tuple[tuple[str, ...], str | None]:
    """The terms of the operands, and that of the result if the equation has one."""
    text = equation.replace(" ", "")
    if not _FORM.fullmatch(text):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    left, arrow, right = text.partition("->")
    terms = tuple(left.split(","))
    if any(term.count("...") > 1 for term in (*terms, right)):
        raise ValueError(f"Subscripts have more than one ellipsis in a term: {equation}")
    letters = [one for one in left if one.isalpha()]
    if not arrow:
        return terms, None
    plain = right.replace("...", "")
    if len(set(plain)) != len(plain):
        raise ValueError(f"Output subscripts contain a label appearing more than once: {equation}")
    for one in plain:
        if one not in letters:
            raise ValueError(
                f"Output subscripts contain the label {one} not present in the input subscripts."
            )
    return terms, right


@lru_cache(maxsize=1024)
def _applied(equation: str, shapes: tuple[tuple[int, ...], ...]) -> Equation:
    """The equation with a label for each axis.

    Raises:
      InvalidArgumentError: If ranks or sizes do not fit.
    """
    terms, right = _terms(equation)
    labels = []
    widest = 0
    for j, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        before, dots, after = term.partition("...")
        hidden = len(shape) - len(before) - len(after)
        require(
            hidden >= 0 if dots else hidden == 0,
            _OP,
            f"Expected input {j} to have rank {'at least ' if dots else ''}"
            f"{len(before) + len(after)} but got: {len(shape)}",
        )
        widest = max(widest, hidden)
        labels.append((*map(ord, before), *range(-hidden, 0), *map(ord, after)))
    if right is None:
        letters = "".join(terms).replace(".", "")
        right = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
        if any("..." in term for term in terms):
            right = "..." + right
    before, dots, after = right.partition("...")
    require(
        bool(dots) or not widest,
        _OP,
        f"Output contains {widest} broadcasting dimension(s) but no ellipsis (...) was found in "
        f"the output subscripts.",
    )
    inputs = tuple(labels)
    _sizes(equation, inputs, shapes)
    return Equation(inputs, (*map(ord, before), *range(-widest, 0), *map(ord, after)))


def _sizes(
    equation: str, inputs: tuple[Labels, ...], shapes: tuple[tuple[int, ...], ...]
) -> dict[int, int]:
    """The size of each label; axes of an ellipsis broadcast."""
    sizes: dict[int, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for axis, (one, size) in enumerate(zip(labels, shape, strict=True)):
            known = sizes.setdefault(one, size)
            if one < 0 and known == 1:
                sizes[one] = size
            elif size != known and not (one < 0 and size == 1):
                raise InvalidArgumentError(
                    f"Expected dimension {known} at axis {axis} of the input shaped {list(shape)} "
                    f"but got dimension {size} in {equation!r} [Op:{_OP}]"
                )
    return sizes


def _alone(x: Tensor, labels: Labels, others: set[int]) -> tuple[Tensor, Labels]:
    """An operand without repeated labels, and without those that nothing else has."""
    for one in dict.fromkeys(labels):
        while labels.count(one) > 1:
            x, labels = _diagonal(x, labels, one)
    axes = [axis for axis, one in enumerate(labels) if one not in others]
    if axes:
        x = reduction.reduce_sum(x, axes)
        labels = tuple(one for one in labels if one in others)
    return x, labels


def _diagonal(x: Tensor, labels: Labels, one: int) -> tuple[Tensor, Labels]:
    """The diagonal of the first two axes that have a label, as the last axis."""
    first = labels.index(one)
    second = labels.index(one, first + 1)
    rest = tuple(axis for axis in range(x.ndim) if axis not in (first, second))
    n, shape = x.shape[first], tuple(x.shape[axis] for axis in rest)
    flat = movement.reshape(movement.permuted(x, (*rest, first, second)), (*shape, n * n))
    cut = (*((0, dim, 1) for dim in shape), (0, n * n, n + 1))
    found = slicing.strided_slice(flat, cut)
    return movement.shaped(found, (*shape, n)), (*(labels[axis] for axis in rest), one)


def _pair(
    a: Tensor, la: Labels, b: Tensor, lb: Labels, others: set[int], output: Labels
) -> tuple[Tensor, Labels]:
    """The product of two operands, summed over what nothing else has."""
    # An axis of size 1 that broadcasts is none.
    a, la = _squeezed(a, la, dict(zip(lb, b.shape, strict=True)))
    b, lb = _squeezed(b, lb, dict(zip(la, a.shape, strict=True)))
    summed = [one for one in la if one in lb and one not in others]
    batch = [one for one in la if one in lb and one in others]
    rows = [one for one in la if one not in lb]
    columns = [one for one in lb if one not in la]
    if not summed or not (rows or columns):
        return _multiplied(a, la, b, lb, batch + rows + columns, summed, output)
    # Batches in the order that the result has, matrices as they lie if they can be read so.
    batch = min(
        (sorted(batch, key=place) for place in (partial(_place, output), la.index, lb.index)),
        key=lambda order: _strays(la, order) + _strays(lb, order),
    )
    rows.sort(key=la.index)
    columns.sort(key=lb.index)
    summed.sort(key=la.index if math.prod(a.shape) >= math.prod(b.shape) else lb.index)
    size = dict(zip((*la, *lb), (*a.shape, *b.shape), strict=True))
    lead = tuple(size[one] for one in batch)
    m, k, n = (math.prod(size[one] for one in group) for group in (rows, summed, columns))
    ta, tb = (*batch, *summed, *rows) == la and bool(rows), (*batch, *columns, *summed) == lb
    left = (*batch, *summed, *rows) if ta else (*batch, *rows, *summed)
    right = (*batch, *columns, *summed) if tb else (*batch, *summed, *columns)
    a = movement.permuted(a, tuple(la.index(one) for one in left))
    b = movement.permuted(b, tuple(lb.index(one) for one in right))
    a = movement.shaped(a, (*lead, k, m) if ta else (*lead, m, k))
    b = movement.shaped(b, (*lead, n, k) if tb else (*lead, k, n))
    # The product of the transposes, where the result has the columns first.
    after = [one for one in output if one in rows or one in columns]
    if after and after == [*columns, *rows] and rows and columns:
        found, rows, columns = matrix_products.matmul(b, a, not tb, not ta), columns, rows
    else:
        found = matrix_products.matmul(a, b, ta, tb)
    shape = (*lead, *(size[one] for one in rows), *(size[one] for one in columns))
    return movement.shaped(found, shape), (*batch, *rows, *columns)


def _place(output: Labels, one: int) -> int:
    """Where the result has a label; at the end if it does not have it."""
    return output.index(one) if one in output else len(output)


def _strays(labels: Labels, batch: list[int]) -> bool:
    """Whether an operand does not have the batches first, in this order."""
    return labels[: len(batch)] != tuple(batch)


def _squeezed(x: Tensor, labels: Labels, other: dict[int, int]) -> tuple[Tensor, Labels]:
    """Without axes of size 1 that the other operand has with another size."""
    keep = [
        axis
        for axis, one in enumerate(labels)
        if one >= 0 or x.shape[axis] != 1 or other.get(one, 1) == 1
    ]
    return (
        movement.shaped(x, tuple(x.shape[axis] for axis in keep)),
        tuple(labels[axis] for axis in keep),
    )


def _multiplied(
    a: Tensor,
    la: Labels,
    b: Tensor,
    lb: Labels,
    kept: list[int],
    summed: list[int],
    output: Labels,
) -> tuple[Tensor, Labels]:
    """Elements multiplied one by one, then summed."""
    kept = sorted(kept, key=partial(_place, output))
    order = (*kept, *summed)
    found = elementwise.multiply(_aligned(a, la, order), _aligned(b, lb, order))
    if summed:
        found = reduction.reduce_sum(found, list(range(len(kept), len(order))))
    return found, tuple(kept)


def _aligned(x: Tensor, labels: Labels, order: Labels) -> Tensor:
    """With an axis for each label, of size 1 where there is none."""
    present = [one for one in order if one in labels]
    x = movement.permuted(x, tuple(labels.index(one) for one in present))
    size = dict(zip(present, x.shape, strict=True))
    return movement.shaped(x, tuple(size.get(one, 1) for one in order))


@lru_cache(maxsize=1024)
def _order(
    inputs: tuple[Labels, ...], output: Labels, sizes: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Which two operands to multiply next, the later one's place counted without the first.

    Their product goes to the end of the list.
    """
    size = dict(sizes)

    def step(terms: tuple[Labels, ...], i: int, j: int) -> tuple[float, tuple[Labels, ...]]:
        rest = tuple(term for k, term in enumerate(terms) if k not in (i, j))
        both = set(terms[i]) | set(terms[j])
        needed = set(output).union(*rest)
        return (
            float(math.prod(size[one] for one in both)),
            (*rest, tuple(one for one in both if one in needed)),
        )

    def pairs(terms: tuple[Labels, ...]) -> list[tuple[int, int]]:
        return [(i, j) for j in range(len(terms)) for i in range(j)]

    def best(terms: tuple[Labels, ...]) -> tuple[float, tuple[tuple[int, int], ...]]:
        if len(terms) < 2:
            return 0.0, ()
        found = []
        tried = pairs(terms)
        if len(terms) > _EXHAUSTIVE:
            tried = [min(tried, key=lambda pair: step(terms, *pair)[0])]
        for i, j in tried:
            cost, left = step(terms, i, j)
            more, path = best(left)
            found.append((cost + more, ((i, j - 1), *path)))
        return min(found, key=lambda one: one[0])

    return best(inputs)[1]
