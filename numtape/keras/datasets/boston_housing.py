"""Boston housing: 506 prices of houses, with 13 features of their towns."""

from __future__ import annotations

import numpy as np

from .reading import ORIGIN, Path_, Split, divide, find

__all__ = ["load_data"]
_HASH = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"


def load_data(
    path: Path_ = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> Split:
    """Load the features and the prices.

    Args:
      path: The name of the file in Keras's folder, or a path.
      test_split: The fraction of the examples for the test.
      seed: The seed of the shuffle.

    Returns:
      The pairs (x_train, y_train) and (x_test, y_test).

    Raises:
      NotFoundError: If the file is absent; the error says where to get it and where to put it.
      ValueError: If ``test_split`` is out of range.
    """
    with np.load(find(path, f"{ORIGIN}boston_housing.npz", _HASH), allow_pickle=False) as file:
        x, y = file["x"], file["y"]
    return divide(x, y, test_split, seed)


def __dir__() -> list[str]:
    return __all__
