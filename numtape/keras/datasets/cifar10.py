"""CIFAR-10: 60,000 color images in 10 classes, 32 by 32 pixels."""

from __future__ import annotations

import os

import numpy as np

from ..config import image_data_format
from ..utils.local_files import get_file
from .reading import Array, Path_, Split, load_pickle

__all__ = ["load_data"]
_HASH = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
_ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"


def load_data(path: Path_ | None = None) -> Split:
    """Load the images and their classes.

    Args:
      path: The folder ``cifar-10-batches-py`` of the extracted archive; None for Keras's folder.

    Returns:
      The pairs (x_train, y_train) and (x_test, y_test): images, uint8 of shape (n, 32, 32, 3), and
      classes, uint8 of shape (n, 1).

    Raises:
      NotFoundError: If the archive is absent; the error says where to get it and where to put it.
    """
    if path is None:
        name = "cifar-10-batches-py-target"
        path = os.path.join(
            get_file(name, origin=_ORIGIN, extract=True, file_hash=_HASH), "cifar-10-batches-py"
        )
    parts = [load_batch(os.path.join(path, f"data_batch_{k}"), "labels") for k in range(1, 6)]
    train = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
    return train, load_batch(os.path.join(path, "test_batch"), "labels")


def load_batch(path: Path_, key: str) -> tuple[Array, Array]:
    """Return the images and the classes in a file.

    Args:
      path: The file.
      key: The name of the classes.
    """
    with open(path, "rb") as file:
        content = load_pickle(file)
    images = np.asarray(content["data"], np.uint8).reshape(-1, 3, 32, 32)
    if image_data_format() == "channels_last":
        images = images.transpose(0, 2, 3, 1)
    return images, np.asarray(content[key], np.uint8).reshape(-1, 1)


def __dir__() -> list[str]:
    return __all__
