"""Kernels for strided slices, joins and rolls; see `arrays` for their arguments.

Parameters of slices: the bytes of an element, the bytes of the sliced array, the index of the
slice's first element in it (-1: the operand y has it), the number of axes, then for each axis the
number of elements of the slice, and the bytes from one to the next. Runs go along the last axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..constants import MAX_RANK
from ..jit import POINTERS, jit, stack
from .groups import copy

number = POINTERS["int64"]

_index_memory = stack(8 * MAX_RANK)


def _slice_kernel(item: str, is_target: bool) -> Any:
    at = POINTERS[item]
    size = int(item[4:]) // 8

    def copy_run(out_: int, x_: int, count: int, step: int) -> None:
        """Copy one run of a slice: to packed ``out``, or from packed ``x`` if ``is_target``."""
        if step == size:
            out, x = at(out_), at(x_)
            for k in range(count):
                out[k] = x[k]
        elif is_target:
            x = at(x_)
            for k in range(count):
                at(out_ + k * step)[0] = x[k]
        else:
            out = at(out_)
            for k in range(count):
                out[k] = at(x_ + k * step)[0]

    copy_one_run = jit(copy_run)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, indices = number(parameters), number(_index_memory())
        axes, offset = p[3], (number(y_)[0] if p[2] < 0 else p[2]) * size
        inner, step = p[4 + 2 * (axes - 1)], p[5 + 2 * (axes - 1)]
        runs = 1
        for k in range(axes - 1):
            indices[k] = 0
            runs *= p[4 + 2 * k]
        if is_target:
            out = at(out_)
            for k in range(p[1] // size):
                out[k] = 0
        packed_offset = 0
        for _ in range(runs):
            if is_target:
                copy_one_run(out_ + offset, x_ + packed_offset, inner, step)
            else:
                copy_one_run(out_ + packed_offset, x_ + offset, inner, step)
            packed_offset += inner * size
            k = axes - 2
            while k >= 0:
                indices[k] += 1
                offset += p[5 + 2 * k]
                if indices[k] < p[4 + 2 * k]:
                    break
                offset -= p[4 + 2 * k] * p[5 + 2 * k]
                indices[k] = 0
                k -= 1

    return kernel


def part(item: str) -> Any:
    """The kernel of a slice."""
    return _slice_kernel(item, False)


def among_zeros(item: str) -> Any:
    """The kernel that writes elements to the positions of a slice, and 0 elsewhere."""
    return _slice_kernel(item, True)


def join(item: str) -> Any:
    """The kernel that joins arrays along an axis, for long runs.

    The operand x has the addresses of the arrays. A run of the result is a run of each array, one
    after the other. A unit is a range of elements. Parameters: the number of arrays, the elements
    of a unit, of a run of the result and of the result, and for each array the elements of a run.
    """
    size = int(item[4:]) // 8

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, operands = number(parameters), number(x_)
        position, stop = begin * p[1], min(end * p[1], p[3])
        run, skipped, j = position // p[2], position % p[2], 0
        while skipped >= p[4 + j]:
            skipped -= p[4 + j]
            j += 1
        while position < stop:
            count = min(p[4 + j] - skipped, stop - position)
            source = operands[j] + (run * p[4 + j] + skipped) * size
            copy(out_ + position * size, source, size, count)
            position += count
            skipped = 0
            j += 1
            if j == p[0]:
                j = 0
                run += 1

    return kernel


def interleave(item: str) -> Any:
    """The kernel that joins arrays along an axis, for short runs; see `join`.

    A unit is a range of runs. Parameters: the number of arrays, the runs of a unit, the elements of
    a run of the result, the number of runs, and for each array the elements of a run.
    """
    at = POINTERS[item]
    size = int(item[4:]) // 8

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, operands = number(parameters), number(x_)
        step = p[2]
        for unit in range(begin, end):
            first = unit * p[1]
            runs = min(p[1], p[3] - first)
            target = out_ + first * step * size
            for j in range(p[0]):
                length = p[4 + j]
                x, out = at(operands[j] + first * length * size), at(target)
                if length == 1:
                    for run in range(runs):
                        out[run * step] = x[run]
                else:
                    for run in range(runs):
                        for k in range(length):
                            out[run * step + k] = x[run * length + k]
                target += length * size

    return kernel


def roll(item: str) -> Any:
    """The kernel that moves the last elements of an axis to its beginning. A unit is one axis.

    Parameters: the elements along the axis, the number that moves, and the elements at one index.
    """
    size = int(item[4:]) // 8

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n, shift, inner = number(parameters)[0], number(parameters)[1], number(parameters)[2]
        moved, rest = shift * inner, (n - shift) * inner
        for unit in range(begin, end):
            start = unit * n * inner * size
            copy(out_ + start, x_ + start + rest * size, size, moved)
            copy(out_ + start + moved * size, x_ + start, size, rest)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (part, among_zeros, join, interleave, roll)
}
