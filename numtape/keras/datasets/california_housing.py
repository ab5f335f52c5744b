"""California housing: 20,640 prices of houses, with 8 features of their blocks."""

from __future__ import annotations

import numpy as np

from .reading import ORIGIN, Path_, Split, divide, find

__all__ = ["load_data"]
_HASH = "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f"


def load_data(
    version: str = "large",
    path: Path_ = "california_housing.npz",
    test_split: float = 0.2,
    seed: int = 113,
) -> Split:
    """Load the features and the prices.

    Args:
      version: "large", or "small" for the first 600 examples.
      path: The name of the file in Keras's folder, or a path.
      test_split: The fraction of the examples for the test.
      seed: The seed of the shuffle.

    Returns:
      The pairs (x_train, y_train) and (x_test, y_test).

    Raises:
      NotFoundError: If the file is absent; the error says where to get it and where to put it.
      ValueError: If an argument is out of range.
    """
    if version not in ("small", "large"):
        raise ValueError(
            f"Argument `version` must be one of 'small', 'large'. Received: version={version}"
        )
    with np.load(find(path, f"{ORIGIN}california_housing.npz", _HASH), allow_pickle=False) as file:
        x, y = file["x"], file["y"]
    if version == "small":
        x, y = x[:600], y[:600]
    return divide(x, y, test_split, seed)


def __dir__() -> list[str]:
    return __all__
