"""One pass over the time steps of sequences: the inputs of all steps meet the kernel at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.ops.creation import zeros_like
from ...core.ops.elementwise import select
from ...core.ops.movement import transpose
from ...core.ops.slicing import strided_slice, unstack
from ...core.values.tensor import Tensor
from ...nest import flatten, pack_sequence_as

# One step of a cell: from the inputs at a time and the states to an output and new states.
Step = Callable[[Any, list[Any]], tuple[Tensor, list[Any]]]


def time_first(x: Tensor) -> Tensor:
    """A tensor of shape (batch, time, ...) as one of shape (time, batch, ...)."""
    return transpose(x, (1, 0, *range(2, x.ndim)))


def unstack_rows(x: Tensor) -> list[Tensor]:
    """The slices along the first axis.

    By halves: the gradient of a slice has the size of what it was taken from, so that many slices
    of one tensor cost its size times their number, and halves its size times the logarithm.
    """
    count = int(x.shape[0])
    if count <= 4:
        return unstack(x)
    rest = [(0, int(n), 1) for n in x.shape[1:]]
    half = count // 2
    first, second = ((0, half, 1), *rest), ((half, count, 1), *rest)
    return unstack_rows(strided_slice(x, first)) + unstack_rows(strided_slice(x, second))


def apply_mask(mask: Tensor | None, new: Any, old: Any) -> Any:
    """A structure of tensors: the new ones where the mask, of shape (batch, 1), holds."""
    if mask is None:
        return new
    retained = [_choose(mask, a, b) for a, b in zip(flatten(new), flatten(old), strict=True)]
    return pack_sequence_as(new, retained)


def _choose(mask: Tensor, new: Tensor, old: Tensor) -> Tensor:
    if new.ndim != 2:
        mask = mask[(slice(None), 0, *(None,) * (new.ndim - 1))]
    return select(mask, new, old)


def run_steps(
    step: Step,
    inputs: Sequence[Any],
    states: list[Any],
    masks: Sequence[Tensor] | None,
    zero_output: bool,
) -> tuple[list[Tensor], list[Any]]:
    """The outputs of all steps, and the states after the last.

    Where a step is masked, the states stay as they are, and so does the output; before the first
    step that is not, it is 0.

    Args:
      step: A step.
      inputs: What it takes at each time.
      states: The states before the first.
      masks: For each time, which examples have it; None for all.
      zero_output: Whether the output of a masked step is 0.
    """
    outputs: list[Tensor] = []
    last: Any = None
    for k, x in enumerate(inputs):
        output, new = step(x, states)
        if masks is None:
            states = new
        else:
            old, states = states, apply_mask(masks[k], new, states)
            if last is None or zero_output:
                last = zeros_like(output)
            if output is new[0] and last is old[0]:
                output = states[0]
            else:
                output = _choose(masks[k], output, last)
            last = output
        outputs.append(output)
    return outputs, states
