"""Small data sets that come with the package; their origin and licences are in README.md."""

from importlib import resources

import numpy as np
import numpy.typing as npt

from ..compat.traceback_filter import guard_module as _guard_module

__all__ = ["load_digits"]


def __dir__() -> list[str]:
    return sorted(__all__)


def load_digits() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Load the UCI handwritten digits: 1,797 images of 8 by 8 pixels.

    The data are the test part of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C.
    Kaynak (UCI Machine Learning Repository, 1998, doi 10.24432/C50P49, CC BY 4.0): how many of the
    4 by 4 pixels of a block were set in a bitmap of 32 by 32. They come in the order of the
    original file, which is not random: shuffle before splitting.

    Returns:
      The images, uint8 of shape (1797, 8, 8) with values 0..16, and their classes, uint8 of shape
      (1797,) with values 0..9. Both arrays are new on each call.

    Example:
        >>> images, labels = tf.datasets.load_digits()
        >>> images.shape, labels.shape
        ((1797, 8, 8), (1797,))
    """
    file = resources.files(__name__).joinpath("digits.npz")
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return archive["images"], archive["labels"]


_guard_module(__name__)
