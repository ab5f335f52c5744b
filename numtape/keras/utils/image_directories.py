"""`image_dataset_from_directory`: a dataset of the images in a folder.

The names of the subfolders are the names of the classes; see `directories`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ...io.gfile import PathLike, local_path
from ..callbacks.monitor import say
from ..layers.base import parse_data_format
from .directories import (
    check_labels,
    check_validation_split,
    encode_labels,
    index_directory,
    part_of,
)

if TYPE_CHECKING:
    from ...core.values.tensor import Tensor
    from ...data import Dataset

_FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
_INTERPOLATIONS = (
    *("bilinear", "nearest", "bicubic", "area"),
    *("lanczos3", "lanczos5", "gaussian", "mitchellcubic"),
)


def image_dataset_from_directory(
    directory: PathLike,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: int | Sequence[int] = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Make a dataset of the images in a folder, whose subfolders are the classes.

    Args:
      directory: A folder.
      labels: "inferred" from the subfolders, an integer for each file in ascending order of paths,
        or None for images alone.
      label_mode: "int", "categorical" (one-hot), "binary" (0.0 or 1.0), or None for images alone.
      class_names: The subfolders to use, in the order of the classes; None for all.
      color_mode: "rgb", "rgba" or "grayscale".
      batch_size: The size of the batches; None for single images.
      image_size: The height and width.
      shuffle: Whether to shuffle the files, and again in each epoch.
      seed: The seed of the order.
      validation_split: The fraction of the files for validation.
      subset: "training", "validation" or "both".
      interpolation: A method of `tf.image.resize`.
      follow_links: Whether to follow symbolic links.
      crop_to_aspect_ratio: Whether to crop the images, so that their aspect ratio stays.
      pad_to_aspect_ratio: Whether to pad the images, so that their aspect ratio stays.
      data_format: "channels_last" or "channels_first"; None is "channels_last".
      format: Must be "tf".
      verbose: Whether to print the number of files.

    Returns:
      A `tf.data.Dataset` with the attributes ``class_names`` and ``file_paths``; a list of two for
      ``subset="both"``.

    Raises:
      ValueError: If an argument is invalid, or there are no images.

    Example:
      >>> import tempfile
      >>> folder = tempfile.mkdtemp()
      >>> for name in ("cat", "dog"):
      ...     tf.io.gfile.mkdir(tf.io.gfile.join(folder, name))
      ...     tf.keras.utils.save_img(tf.io.gfile.join(folder, name, "a.png"), np.ones((4, 4, 3)))
      >>> dataset = tf.keras.utils.image_dataset_from_directory(
      ...     folder, image_size=(2, 2), shuffle=False, verbose=False
      ... )
      >>> images, labels = next(iter(dataset))
      >>> images.shape, labels.numpy(), dataset.class_names
      (TensorShape([2, 2, 2, 3]), array([0, 1], dtype=int32), ['cat', 'dog'])
    """
    check_labels(labels, label_mode, class_names, "image")
    if labels is None or label_mode is None:
        labels, label_mode = None, None
    if color_mode not in _CHANNELS:
        raise ValueError(
            f'`color_mode` must be one of {{"rgb", "rgba", "grayscale"}}. Received: '
            f"color_mode={color_mode}"
        )
    size = (image_size, image_size) if isinstance(image_size, int) else image_size
    if not isinstance(size, list | tuple) or len(size) != 2:
        raise ValueError(
            f"Invalid `image_size` value. Expected a tuple of 2 integers. Received: "
            f"image_size={image_size}"
        )
    method = interpolation.lower()
    if method not in _INTERPOLATIONS:
        raise ValueError(
            f"Argument `interpolation` should be one of {_INTERPOLATIONS}. Received: "
            f"interpolation={interpolation}"
        )
    if format != "tf":
        raise ValueError(f'`format` should be "tf": numtape has no grain. Received: {format}')
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio`, `crop_to_aspect_ratio` can be set to `True`."
        )
    check_validation_split(validation_split, subset, shuffle, seed)
    if seed is None:
        seed = int(np.random.default_rng().integers(10**6))
    paths, labels, names = index_directory(
        local_path(directory), labels, _FORMATS, class_names, shuffle, seed, follow_links, verbose
    )
    if label_mode == "binary" and len(names or ()) != 2:
        raise ValueError(
            f'When passing `label_mode="binary"`, there must be exactly 2 class_names. Received: '
            f"class_names={names}"
        )
    layout = parse_data_format(data_format)

    def load(path: Any) -> Tensor:
        image = _load_image(
            path,
            (int(size[0]), int(size[1])),
            _CHANNELS[color_mode],
            method,
            crop_to_aspect_ratio,
            pad_to_aspect_ratio,
        )
        return tf.transpose(image, [2, 0, 1]) if layout == "channels_first" else image

    def make(part: str | None) -> Dataset:
        files = part_of(paths, validation_split, part)
        part_labels = part_of(labels, validation_split, part)
        if part and verbose:
            say(f"Using {len(files)} files for {part}.")
        if not files:
            word = f"{part} images" if subset == "both" else "images"
            raise ValueError(f"No {word} found in directory {directory}. Allowed: {_FORMATS}")
        dataset: Any = tf.data.Dataset.from_tensor_slices(files)
        if part_labels is not None:
            encoded = encode_labels(part_labels, str(label_mode), len(names or ()))
            dataset = tf.data.Dataset.from_tensor_slices((files, encoded))
        if shuffle and (subset != "both" or part == "training"):
            buffer_size = 1024 if batch_size is None else batch_size * 8
            dataset = dataset.shuffle(buffer_size, seed=seed)
        dataset = dataset.map(load if part_labels is None else lambda path, y: (load(path), y))
        if batch_size is not None:
            dataset = dataset.batch(batch_size)
        dataset.class_names, dataset.file_paths = names, files
        result: Dataset = dataset
        return result

    return [make("training"), make("validation")] if subset == "both" else make(subset)


def _load_image(
    path: Any, size: tuple[int, int], channels: int, method: str, crop: bool, pad: bool
) -> Tensor:
    """Read and resize an image."""
    from .images import smart_resize

    contents = tf.io.read_file(path)
    image = tf.io.decode_image(contents, channels=channels, expand_animations=False)
    if crop:
        image = smart_resize(tf.cast(image, tf.float32), size, method)
    elif pad:
        image = tf.image.resize_with_pad(image, *size, method=method)
    else:
        image = tf.image.resize(image, size, method)
    return tf.cast(image, tf.float32)
