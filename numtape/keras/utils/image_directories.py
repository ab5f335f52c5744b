"""Datasets of the files in a folder, whose subfolders are the classes.

`index_directory` finds files and labels, `split_files` divides them, and
`image_dataset_from_directory` makes datasets of images of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ...io.gfile import PathLike, listdir, local_path
from ..layers.base import parse_data_format

if TYPE_CHECKING:
    from ...core.values.tensor import Tensor
    from ...data import Dataset

_FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
_INTERPOLATIONS = (
    *("bilinear", "nearest", "bicubic", "area"),
    *("lanczos3", "lanczos5", "gaussian", "mitchellcubic"),
)


def index_directory(
    directory: Any,
    labels: Any,
    formats: tuple[str, ...],
    class_names: Sequence[str] | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> tuple[list[str], Any, list[str] | None]:
    """Return the paths of files, their labels, and the names of the classes.

    Args:
      directory: A folder.
      labels: "inferred" from the subfolders, a label for each file in ascending order of paths, or
        None.
      formats: The ends of names.
      class_names: The subfolders to use, in the order of the classes; None for all.
      shuffle: Whether to shuffle the files.
      seed: The seed of the order.
      follow_links: Whether to follow symbolic links.
      verbose: Whether to print the number of files.

    Raises:
      ValueError: If the names or labels do not match the files.
    """
    root = local_path(directory)
    if labels == "inferred":
        folders = [
            name
            for name in sorted(listdir(root))
            if os.path.isdir(os.path.join(root, name)) and not name.startswith(".")
        ]
        if class_names is not None:
            if not set(class_names) <= set(folders):
                raise ValueError(
                    f"The `class_names` passed did not match the names of the subdirectories of "
                    f"the target directory. Expected: {folders} (or a subset of it), but received: "
                    f"class_names={class_names}"
                )
            folders = [*class_names]
    else:
        folders = [""]
        if class_names is not None:
            reason = "`labels=None` (no labels)" if labels is None else "argument `labels` is given"
            raise ValueError(f"When {reason}, argument `class_names` cannot be specified.")
    names: list[str] | None = folders
    paths: list[str] = []
    inferred: list[int] = []
    for number, folder in enumerate(folders):
        files = _list_files(os.path.join(root, folder), follow_links, formats)
        paths += files
        inferred += [number] * len(files)
    if labels == "inferred":
        labels = np.array(inferred, np.int32)
    elif labels is None:
        names = None
    else:
        labels = [*labels]
        if len(labels) != len(paths):
            raise ValueError(
                f"Expected the lengths of `labels` to match the number of files in the target "
                f"directory. len(labels) is {len(labels)} while we found {len(paths)} files in "
                f"directory {root}."
            )
        names = [str(label) for label in sorted(set(labels))]
    if verbose:
        classes = "" if names is None else f" belonging to {len(names)} classes"
        tf.print(f"Found {len(paths)} files{classes}.")
    if shuffle:
        order = np.arange(len(paths))
        np.random.RandomState(seed).shuffle(order)
        paths = [paths[k] for k in order]
        if labels is not None:
            labels = np.asarray(labels)[order]
    return paths, labels, names


def _list_files(folder: str, follow_links: bool, formats: tuple[str, ...]) -> list[str]:
    walk = sorted(os.walk(folder, followlinks=follow_links), key=lambda row: row[0])
    return [
        os.path.normpath(os.path.join(path, name))
        for path, _, names in walk
        for name in sorted(names)
        if name.lower().endswith(formats)
    ]


def check_split(
    validation_split: float | None, subset: str | None, shuffle: bool, seed: int | None
) -> None:
    """Raise a ValueError unless the arguments fit together."""
    if validation_split and not 0 < validation_split < 1:
        raise ValueError(
            f"`validation_split` must be between 0 and 1, received: {validation_split}"
        )
    if bool(validation_split) != bool(subset):
        raise ValueError("If `subset` is set, `validation_split` must be set, and inversely.")
    if subset not in ("training", "validation", "both", None):
        raise ValueError(
            f'`subset` must be either "training", "validation" or "both", received: {subset}'
        )
    if validation_split and shuffle and seed is None:
        raise ValueError(
            "If using `validation_split` and shuffling the data, you must provide a `seed` "
            "argument, to make sure that there is no overlap between the training and validation "
            "subset."
        )


def split_files(
    paths: list[str], labels: Any, validation_split: float | None, subset: str | None, verbose: bool
) -> tuple[list[str], Any]:
    """Return the files and labels of a part: the validation part is the last one."""
    if not validation_split:
        return paths, labels
    count = len(paths) - int(validation_split * len(paths))
    part = slice(None, count) if subset == "training" else slice(count, None)
    if verbose:
        tf.print(f"Using {len(paths[part])} files for {subset}.")
    return paths[part], None if labels is None else labels[part]


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
    is_list = isinstance(labels, list | tuple)
    if not is_list and labels not in ("inferred", None):
        raise ValueError(
            f"`labels` argument should be a list/tuple of integer labels, of the same size as the "
            f"number of image files in the target directory. If you wish to infer the labels from "
            f'the subdirectory names in the target directory, pass `labels="inferred"`. If you '
            f"wish to get a dataset that only contains images (no labels), pass `labels=None`. "
            f"Received: labels={labels}"
        )
    if is_list and class_names:
        raise ValueError(
            f'You can only pass `class_names` if `labels="inferred"`. Received: labels={labels}, '
            f"and class_names={class_names}"
        )
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(
            f'`label_mode` argument must be one of "int", "categorical", "binary", or None. '
            f"Received: label_mode={label_mode}"
        )
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
    check_split(validation_split, subset, shuffle, seed)
    if seed is None:
        seed = int(np.random.default_rng().integers(10**6))
    paths, labels, names = index_directory(
        directory, labels, _FORMATS, class_names, shuffle, seed, follow_links, verbose
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
        files, part_labels = split_files(paths, labels, validation_split, part, verbose)
        if not files:
            word = f"{part} images" if subset == "both" else "images"
            raise ValueError(f"No {word} found in directory {directory}. Allowed: {_FORMATS}")
        dataset: Any = tf.data.Dataset.from_tensor_slices(files)
        if part_labels is not None:
            encoded = _encode_labels(part_labels, label_mode, len(names or ()))
            dataset = tf.data.Dataset.from_tensor_slices((files, encoded))
        if shuffle and (subset != "both" or part == "training"):
            buffer_size = 1024 if batch_size is None else batch_size * 8
            dataset = dataset.shuffle(buffer_size, seed=seed)
        dataset = dataset.map(load if part_labels is None else lambda path, y: (load(path), y))
        if batch_size is not None:
            dataset = dataset.batch(batch_size)
        dataset.class_names, dataset.file_paths = names, files
        return dataset

    return [make("training"), make("validation")] if subset == "both" else make(subset)


def _encode_labels(labels: Any, label_mode: str | None, count: int) -> Any:
    numbers = np.asarray(labels)
    if label_mode == "binary":
        return numbers.astype(np.float32)[:, None]
    if label_mode == "categorical":
        return np.eye(count, dtype=np.float32)[numbers]
    return numbers if numbers.dtype == np.int32 else numbers.astype(np.int32)


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
