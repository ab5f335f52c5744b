"""Fashion-MNIST: 70,000 images of clothes in 10 classes, 28 by 28 pixels."""

from __future__ import annotations

import gzip
import os

import numpy as np

from ..utils.local_files import get_file
from .reading import ORIGIN, Array, Path_, Split

__all__ = ["load_data"]
_FILES = (
    "train-labels-idx1-ubyte.gz",
    "train-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
)


def load_data(path: Path_ | None = None) -> Split:
    """Load the images and their classes.

    Args:
      path: The folder of the four ``.gz`` files; None for Keras's folder.

    Returns:
      The pairs (x_train, y_train) and (x_test, y_test): images, uint8 of shape (n, 28, 28), and
      classes, uint8 of shape (n,).

    Raises:
      NotFoundError: If a file is absent; the error says where to get it and where to put it.
    """
    paths = [
        get_file(name, origin=ORIGIN + name, cache_subdir="datasets/fashion-mnist")
        if path is None
        else os.path.join(path, name)
        for name in _FILES
    ]
    train_labels, train_images, test_labels, test_images = map(_read, paths)
    return (
        (train_images.reshape(len(train_labels), 28, 28), train_labels),
        (test_images.reshape(len(test_labels), 28, 28), test_labels),
    )


def _read(path: str) -> Array:
    offset = 16 if "idx3" in os.path.basename(path) else 8
    with gzip.open(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


def __dir__() -> list[str]:
    return __all__
