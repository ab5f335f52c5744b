"""CIFAR-100: 60,000 color images in 100 classes, 32 by 32 pixels."""

from __future__ import annotations

import os

from ..utils.local_files import get_file
from .cifar10 import load_batch
from .reading import Path_, Split

__all__ = ["load_data"]
_HASH = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"
_ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"


def load_data(label_mode: str = "fine", path: Path_ | None = None) -> Split:
    """Load the images and their classes.

    Args:
      label_mode: "fine" for 100 classes, or "coarse" for 20.
      path: The folder ``cifar-100-python`` of the extracted archive; None for Keras's folder.

    Returns:
      The pairs (x_train, y_train) and (x_test, y_test): images, uint8 of shape (n, 32, 32, 3), and
      classes, uint8 of shape (n, 1).

    Raises:
      ValueError: If ``label_mode`` is unknown.
      NotFoundError: If the archive is absent; the error says where to get it and where to put it.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError(
            f'`label_mode` must be one of `"fine"`, `"coarse"`. Received: label_mode={label_mode}.'
        )
    if path is None:
        name = "cifar-100-python-target"
        path = os.path.join(
            get_file(name, origin=_ORIGIN, extract=True, file_hash=_HASH), "cifar-100-python"
        )
    key = f"{label_mode}_labels"
    return load_batch(os.path.join(path, "train"), key), load_batch(os.path.join(path, "test"), key)


def __dir__() -> list[str]:
    return __all__
