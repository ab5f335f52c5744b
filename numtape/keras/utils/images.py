"""Images as files, Pillow images and arrays: `load_img`, `img_to_array`, and back."""

from __future__ import annotations

import io
import os
import pathlib
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.log.as_tensor import as_tensor
from ...image.codecs import import_pillow
from ..config import floatx
from ..layers.base import parse_data_format
from ..registry import describe

if TYPE_CHECKING:
    from PIL.Image import Image

    from ...core.values.annotations import DTypeLike, TensorLike

Array = np.ndarray[Any, Any]

_ARGUMENTS = {
    "color_mode": "``rgb``, ``rgba`` or ``grayscale``.",
    "data_format": "``channels_last`` or ``channels_first``; None is ``channels_last``.",
    "dtype": "The dtype; None for `keras.config.floatx`.",
    "file_format": "The format of the file; None infers it from the path.",
    "img": "A Pillow image.",
    "interpolation": "A filter of Pillow, such as ``nearest``, ``bilinear`` or ``bicubic``.",
    "keep_aspect_ratio": "Whether to crop the image, so that its aspect ratio stays.",
    "kwargs": "Further arguments of Pillow's ``save``.",
    "path": "A path, or a file object of bytes.",
    "scale": "Whether to scale the values to [0, 255].",
    "size": "The new (height, width).",
    "target_size": "The new (height, width); None for that of the file.",
    "x": "An array (height, width, channels).",
}
_RAISES = "ValueError: If a shape or a name is invalid.\n  ImportError: If Pillow is not installed."

_FILTERS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


@describe(_ARGUMENTS, "A Pillow image.", _RAISES)
def array_to_img(
    x: TensorLike,
    data_format: str | None = None,
    scale: bool = True,
    dtype: DTypeLike | None = None,
) -> Image:
    """Convert an array to a Pillow image.

    >>> tf.keras.utils.array_to_img(np.array([[[0.0], [2.0]]])).getpixel((1, 0))
    255
    """
    image_module = import_pillow()
    name = floatx() if dtype is None else dtype
    array = np.array(x, name if isinstance(name, str) else np.dtype(getattr(name, "name", name)))
    if array.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: "
            f"{array.shape}"
        )
    if parse_data_format(data_format) == "channels_first":
        array = array.transpose(1, 2, 0)
    channels = array.shape[2]
    if channels not in _MODES:
        raise ValueError(f"Unsupported channel number: {channels}")
    if scale:
        array = array - np.min(array)
        largest = np.max(array)
        array = (array / largest if largest else array) * 255
    if channels == 1:
        array = array[:, :, 0]
        if array.max() > 255:
            picture: Image = image_module.fromarray(array.astype("int32"), "I")
            return picture
    result: Image = image_module.fromarray(array.astype("uint8"), _MODES[channels])
    return result


@describe(_ARGUMENTS, "An array (height, width, channels).", _RAISES)
def img_to_array(img: Any, data_format: str | None = None, dtype: DTypeLike | None = None) -> Array:
    """Convert a Pillow image to an array.

    >>> image = tf.keras.utils.array_to_img(np.ones((2, 3, 1)))
    >>> tf.keras.utils.img_to_array(image).shape
    (2, 3, 1)
    """
    name = floatx() if dtype is None else dtype
    array = np.asarray(img, name if isinstance(name, str) else getattr(name, "name", name))
    is_first = parse_data_format(data_format) == "channels_first"
    if array.ndim == 2:
        return array[None] if is_first else array[..., None]
    if array.ndim != 3:
        raise ValueError(f"Unsupported image shape: {array.shape}")
    return array.transpose(2, 0, 1) if is_first else array


@describe(_ARGUMENTS, "", _RAISES)
def save_img(
    path: Any,
    x: TensorLike,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Write an array to an image file.

    >>> import tempfile
    >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a.png")
    >>> tf.keras.utils.save_img(path, np.ones((2, 3, 3)))
    >>> tf.keras.utils.load_img(path).size
    (3, 2)
    """
    if file_format is None and isinstance(path, str | pathlib.Path):
        file_format = pathlib.Path(path).suffix[1:].lower()
    if file_format and file_format.lower() == "jpg":
        file_format = "jpeg"
    picture: Any = array_to_img(x, data_format, scale)
    if picture.mode == "RGBA" and file_format == "jpeg":
        warnings.warn(
            "The JPEG format does not support RGBA images, converting to RGB.", stacklevel=2
        )
        picture = picture.convert("RGB")
    picture.save(path, format=file_format, **kwargs)


@describe(_ARGUMENTS, "A Pillow image.", _RAISES)
def load_img(
    path: Any,
    color_mode: str = "rgb",
    target_size: Sequence[int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Image:
    """Read an image file.

    >>> import tempfile
    >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a.png")
    >>> tf.keras.utils.save_img(path, np.ones((2, 3, 3)))
    >>> tf.keras.utils.load_img(path, target_size=(4, 5)).size
    (5, 4)
    """
    image_module = import_pillow()
    if isinstance(path, io.BytesIO):
        picture = image_module.open(path)
    elif isinstance(path, str | bytes | os.PathLike):
        with open(path, "rb") as file:
            picture = image_module.open(io.BytesIO(file.read()))
    else:
        raise TypeError(f"path should be path-like or io.BytesIO, not {type(path)}")
    modes = {"grayscale": ("L", "I;16", "I"), "rgba": ("RGBA",), "rgb": ("RGB",)}
    if color_mode not in modes:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    if picture.mode not in modes[color_mode]:
        picture = picture.convert(modes[color_mode][0])
    if target_size is None or picture.size == (target_size[1], target_size[0]):
        result: Image = picture
        return result
    if interpolation not in _FILTERS:
        raise ValueError(
            f"Invalid interpolation method {interpolation} specified. Supported methods are "
            f"{', '.join(_FILTERS)}"
        )
    height, width = (int(n) for n in target_size)
    box = None
    if keep_aspect_ratio:
        columns = min(picture.width, picture.height * width // height)
        rows = min(picture.height, picture.width * height // width)
        left, top = (picture.width - columns) // 2, (picture.height - rows) // 2
        box = (left, top, left + columns, top + rows)
    resample = getattr(image_module.Resampling, interpolation.upper())
    resized: Image = picture.resize((width, height), resample, box=box)
    return resized


@describe(
    {
        **_ARGUMENTS,
        "x": "An image (height, width, channels), or a batch of them.",
        "data_format": "``channels_last`` or ``channels_first``.",
        "interpolation": "``nearest``, ``bilinear``, ``bicubic``, ``lanczos3`` or ``lanczos5``.",
    },
    "A tensor, or an array for an array.",
    "ValueError: If a shape or a name is invalid.",
)
def smart_resize(
    x: TensorLike,
    size: Sequence[int],
    interpolation: str = "bilinear",
    data_format: str = "channels_last",
) -> Any:
    """Crop the center of images to an aspect ratio, and resize it.

    >>> tf.keras.preprocessing.image.smart_resize(np.ones((4, 8, 3)), (2, 2)).shape
    (2, 2, 3)
    """
    from ..ops import image

    if len(size) != 2:
        raise ValueError(f"Expected `size` to be a tuple of 2 integers, but got: {size}.")
    shape = tuple(as_tensor(x).shape)
    if len(shape) not in (3, 4):
        raise ValueError(
            f"Expected an image array with shape `(height, width, channels)`, or `(batch_size, "
            f"height, width, channels)`, but got input with incorrect rank, of shape {shape}."
        )
    result = image.resize(
        x, size, interpolation, crop_to_aspect_ratio=True, data_format=data_format
    )
    return np.asarray(result) if isinstance(x, np.ndarray) else result
