"""MNIST: 70,000 images of handwritten digits, 28 by 28 pixels."""

from __future__ import annotations

import numpy as np

from .reading import ORIGIN, Path_, Split, find

__all__ = ["load_data"]
_HASH = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"


def load_data(path: Path_ = "mnist.npz") -> Split:
    """Load the images and their digits.

    Args:
      path: The name of the file in Keras's folder, or a path.

    Returns:
      The pairs (x_train, y_train) and (x_test, y_test): images, uint8 of shape (n, 28, 28), and
      digits, uint8 of shape (n,).

    Raises:
      NotFoundError: If the file is absent; the error says where to get it and where to put it.
    """
    with np.load(find(path, f"{ORIGIN}mnist.npz", _HASH), allow_pickle=False) as file:
        return (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])


def __dir__() -> list[str]:
    return __all__
