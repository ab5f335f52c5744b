"""`SeedGenerator`: random numbers of a layer's own, which go on where they were left."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.variable import Variable
from ..core.ops.random import fresh_seed
from ..core.ops.stateless_random import number
from ..core.values.dtypes import int64
from ..core.values.tensor import Tensor
from .registry import keras_dtype

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike


class SeedGenerator:
    """A seed and how often it was drawn from, in a variable, which is saved with the layer.

    Args:
      seed: An integer; without, one that follows from `random.set_seed`, or any.

    Raises:
      ValueError: If it is not an integer.
    """

    def __init__(self, seed: int | np.integer[Any] | None = None) -> None:
        if seed is None:
            value = fresh_seed()
            seed = secrets.randbits(63) if value is None else value
        if not isinstance(seed, int | np.integer):
            raise ValueError(
                f"Argument `seed` must be an integer, or an instance of `SeedGenerator`. "
                f"Received: seed={seed!r}"
            )
        start = np.array([int(seed) % 2**63, 0])
        self.state = Variable(start, trainable=False, name="seed_generator_state", dtype=int64)

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name."""
        return {"state": self.state}

    def _draw(self, kind: str, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        state = self.state.read_value()
        self.state.assign_add(np.array([0, 1]))
        return number(state, kind, tuple(shape), keras_dtype(dtype))

    def uniform(self, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        """Numbers from 0 to 1, without 1."""
        return self._draw("uniform", shape, dtype)

    def normal(self, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        """Numbers of the normal distribution around 0 with a deviation of 1."""
        return self._draw("normal", shape, dtype)
