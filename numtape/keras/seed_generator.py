"""`SeedGenerator`: the random numbers of a layer, whose state is saved with the layer."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.variable import Variable
from ..core.ops.random import fresh_seed
from ..core.ops.stateless_random import draw_numbered
from ..core.values.dtypes import int64
from ..core.values.tensor import Tensor
from .registry import keras_dtype
from .symbolic import auto_name

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike


class SeedGenerator:
    """A seed and the number of draws so far, in a variable that is saved with the layer.

    Args:
      seed: An integer; None derives one from `random.set_seed`, or draws one.
      name: The name; None for a numbered one.

    Raises:
      ValueError: If ``seed`` is neither an integer nor None, or negative.

    Example:
      >>> generator = tf.keras.random.SeedGenerator(7)
      >>> generator.next().numpy(), generator.next().numpy()
      (array([7, 0]), array([7, 1]))
    """

    def __init__(self, seed: int | np.integer[Any] | None = None, name: str | None = None) -> None:
        if seed is None:
            derived_seed = fresh_seed()
            seed = secrets.randbits(63) if derived_seed is None else derived_seed
        if not isinstance(seed, int | np.integer):
            raise ValueError(
                f"Argument `seed` must be an integer, or an instance of `SeedGenerator`. "
                f"Received: seed={seed!r}"
            )
        self.seed, self.name = int(seed), name or auto_name("SeedGenerator")
        initial_state = np.array([self.seed % 2**63, 0])
        self.state = Variable(
            initial_state, trainable=False, name="seed_generator_state", dtype=int64
        )

    def next(self, ordered: bool = True) -> Tensor:
        """Return the seed and the number of the draw, and count the draw.

        Args:
          ordered: Accepted for compatibility with Keras.

        Returns:
          A tensor of two int64.
        """
        state = self.state.read_value()
        self.state.assign_add(np.array([0, 1]))
        return state

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"seed": self.seed, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SeedGenerator:
        """Create a generator from its configuration.

        Args:
          config: The result of `get_config`.

        Returns:
          A generator, which begins with the first draw.
        """
        return cls(**config)

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name."""
        return {"state": self.state}

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Store the state in a dict, under the key "0".

        Args:
          store: The dict to fill.
        """
        store["0"] = self.state.numpy()

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Load the state from a dict.

        Args:
          store: A dict filled by `save_own_variables`.

        Raises:
          KeyError: If the dict has no key "0".
        """
        self.state.assign(np.asarray(store["0"]).astype(np.int64))

    def _draw(self, kind: str, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        return draw_numbered(self.next(), kind, tuple(shape), keras_dtype(dtype))

    def uniform(self, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        """Draw from the uniform distribution on [0, 1)."""
        return self._draw("uniform", shape, dtype)

    def normal(self, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        """Draw from the standard normal distribution."""
        return self._draw("normal", shape, dtype)
