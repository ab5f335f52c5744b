"""``tf.keras.ops.rearrange``: reshape and transpose by a pattern of names."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numtape as tf

from ...core.log.as_tensor import as_tensor
from .define import op

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike


def _groups(side: str) -> list[list[str]]:
    """Return the names of each axis: several for an axis in parentheses."""
    return [(group or name).split() for group, name in re.findall(r"\(([^)]*)\)|([^\s()]+)", side)]


@op(
    raises="ValueError: If the pattern does not match the tensor.",
    tensor="A tensor.",
    pattern="The names of the axes before and after, such as ``b h w c -> b (h w) c``.",
    axes_lengths="The sizes of axes that are not known otherwise.",
)
def rearrange(tensor: TensorLike, pattern: str, **axes_lengths: int) -> Any:
    """Split, permute and join axes.

    >>> tf.keras.ops.rearrange(tf.zeros((2, 3, 4)), "b h w -> b (w h)").shape
    TensorShape([2, 12])
    """
    x = as_tensor(tensor)
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"pattern={pattern!r}: must have one '->'.")
    before, after = map(_groups, sides)
    names = [name for group in before for name in group]
    new_names = [name for group in after for name in group]
    if len(before) != x.ndim or sorted(names) != sorted(new_names):
        raise ValueError(f"pattern={pattern!r} does not match a tensor of shape {x.shape}.")
    sizes = dict(axes_lengths)
    for group, size in zip(before, x.shape, strict=True):
        unknown = [name for name in group if name not in sizes]
        known = math.prod(sizes[name] for name in group if name in sizes)
        if len(unknown) > 1 or (unknown and (not known or size % known)):
            raise ValueError(f"The sizes of {group} in {pattern!r} do not follow from {size}.")
        for name in unknown:
            sizes[name] = size // known
        if math.prod(sizes[name] for name in group) != size:
            raise ValueError(f"The sizes of {group} in {pattern!r} do not multiply to {size}.")
    x = tf.reshape(x, [sizes[name] for name in names])
    x = tf.transpose(x, [names.index(name) for name in new_names])
    return tf.reshape(x, [math.prod(sizes[name] for name in group) for group in after])
