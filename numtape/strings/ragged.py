"""The functions of strings for ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..composites.dispatch import register
from ..composites.ragged_tensor import RaggedTensor
from ..core.log.string_tensor import encode, of_strings, to_string_array
from ..errors import InvalidArgumentError, UnimplementedError
from . import hashing, text


def _on_flat_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler that applies a function of strings to the flat values."""

    def handle(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, RaggedTensor):
            return NotImplemented
        return input.with_flat_values(function(input.flat_values, *args, **kwargs))

    return handle


for _function in (
    hashing.to_hash_bucket,
    hashing.to_hash_bucket_fast,
    hashing.to_hash_bucket_strong,
    text.as_string,
    text.length,
    text.lower,
    text.regex_full_match,
    text.regex_replace,
    text.strip,
    text.substr,
    text.to_number,
    text.upper,
):
    register(RaggedTensor, _function, _on_flat_values(_function))


def _join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Join ragged tensors of the same rows, and scalars."""
    pattern = next(x for x in inputs if isinstance(x, RaggedTensor))
    flat_inputs = []
    for x in inputs:
        if isinstance(x, RaggedTensor):
            if [s.numpy().tolist() for s in x.nested_row_splits] != [
                s.numpy().tolist() for s in pattern.nested_row_splits
            ]:
                raise InvalidArgumentError("Inputs must have identical ragged splits")
            flat_inputs.append(x.flat_values)
        elif to_string_array(x).ndim:
            raise InvalidArgumentError("Ragged tensors are joined with ragged tensors and scalars")
        else:
            flat_inputs.append(x)
    return pattern.with_flat_values(text.join(flat_inputs, separator))


def _reduce_join(
    inputs: RaggedTensor,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """Join the strings of the rows, of the columns, or all of a ragged matrix."""
    rank = len(inputs.shape)
    axes = [*range(rank)] if axis is None else [*np.atleast_1d(np.asarray(axis)).tolist()]
    if rank != 2 or keepdims:
        raise UnimplementedError(
            "reduce_join of a ragged tensor takes two axes and no keepdims: join the `values` of "
            "inner rows first."
        )
    strings = to_string_array(inputs.values).tolist()
    bounds = np.asarray(inputs.row_splits.numpy()).tolist()
    rows = [strings[i:j] for i, j in pairwise(bounds)]
    glue = encode(separator)
    if {k % rank for k in axes} == {0, 1}:
        return of_strings(glue.join(strings))
    if axes[0] % rank == 0:
        width = max(map(len, rows), default=0)
        rows = [[row[k] for row in rows if k < len(row)] for k in range(width)]
    result = np.empty(len(rows), object)
    result[:] = [glue.join(row) for row in rows]
    return of_strings(result)


register(RaggedTensor, text.join, _join)
register(RaggedTensor, text.reduce_join, _reduce_join)
