"""Kernels for strided slices, and for joining arrays; see `arrays` for their arguments.

Parameters: the bytes of an element, the bytes of the sliced array, the index of the slice's first
element in it (-1: the operand y has it), the number of axes, then for each axis the number of
elements of the slice, and the bytes from one to the next. Runs go along the last axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..constants import MAX_RANK
from ..jit import POINTERS, jit, stack

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
    """The kernel that joins arrays along an axis.

    The operand x has the addresses of the arrays. Parameters: their number, the number of runs of
    each, and for each array the elements of a run.
    """
    at = POINTERS[item]
    size = int(item[4:]) // 8

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, operands = number(parameters), number(x_)
        target = out_
        for run in range(p[1]):
            for j in range(p[0]):
                count = p[2 + j]
                out, x = at(target), at(operands[j] + run * count * size)
                for k in range(count):
                    out[k] = x[k]
                target += count * size

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (part, among_zeros, join)
}
