"""`SeedGenerator`: the random numbers of a layer, whose state is saved with the layer."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.variable import Variable
from ..core.ops.random import fresh_seed
from ..core.ops.stateless_random import draw_numbered
from ..core.values.dtypes import int64
from ..core.values.tensor import Tensor
from .registry import keras_dtype

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike


class SeedGenerator:
    """A seed and the number of draws so far, in a variable that is saved with the layer.

    Args:
      seed: An integer; None derives one from `random.set_seed`, or draws one.

    Raises:
      ValueError: If ``seed`` is neither an integer nor None.
    """

    def __init__(self, seed: int | np.integer[Any] | None = None) -> None:
        if seed is None:
            derived_seed = fresh_seed()
            seed = secrets.randbits(63) if derived_seed is None else derived_seed
        if not isinstance(seed, int | np.integer):
            raise ValueError(
                f"Argument `seed` must be an integer, or an instance of `SeedGenerator`. "
                f"Received: seed={seed!r}"
            )
        initial_state = np.array([int(seed) % 2**63, 0])
        self.state = Variable(
            initial_state, trainable=False, name="seed_generator_state", dtype=int64
        )

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name."""
        return {"state": self.state}

    def _draw(self, kind: str, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        state = self.state.read_value()
        self.state.assign_add(np.array([0, 1]))
        return draw_numbered(state, kind, tuple(shape), keras_dtype(dtype))

    def uniform(self, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        """Draw from the uniform distribution on [0, 1)."""
        return self._draw("uniform", shape, dtype)

    def normal(self, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        """Draw from the standard normal distribution."""
        return self._draw("normal", shape, dtype)
