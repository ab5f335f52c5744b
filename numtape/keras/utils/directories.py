"""Datasets of the files in a folder, from `index_directory`: of sounds and of texts.

The names of the subfolders are the names of the classes.
"""

from __future__ import annotations

import os
import wave
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.log.string_tensor import StringTensor, of_strings
from ...data import Dataset
from ...errors import UnimplementedError
from ..callbacks.monitor import say

if TYPE_CHECKING:
    from ...core.values.annotations import IntLike

Array = np.ndarray[Any, Any]


def index_directory(
    directory: str | os.PathLike[str],
    labels: Any,
    formats: tuple[str, ...],
    class_names: Sequence[str] | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> tuple[list[str], Array | None, list[str] | None]:
    """List the files in a folder, with their labels.

    Args:
      directory: The folder.
      labels: "inferred" for the numbers of the subfolders; None; or a label for each file, in the
        order of the sorted paths.
      formats: The endings of the files.
      class_names: The subfolders, in the order of the labels; None for the alphabetical order.
      shuffle: Whether to shuffle the files.
      seed: The seed of the shuffle.
      follow_links: Whether to follow links to other folders.
      verbose: Whether to print the number of files.

    Returns:
      The paths, the labels or None, and the names of the classes or None.

    Raises:
      ValueError: If ``class_names`` has other names than the subfolders, or the number of labels
        differs from the number of files.
    """
    root = os.fspath(directory)
    subfolders = [""]
    if isinstance(labels, str):
        subfolders = sorted(
            name
            for name in os.listdir(root)
            if os.path.isdir(os.path.join(root, name)) and not name.startswith(".")
        )
        if class_names is not None:
            if not set(class_names) <= set(subfolders):
                raise ValueError(
                    f"The `class_names` passed did not match the names of the subdirectories of "
                    f"the target directory. Expected: {subfolders} (or a subset of it), but "
                    f"received: class_names={class_names}"
                )
            subfolders = list(class_names)
    elif class_names is not None:
        raise ValueError(
            "When `labels=None` (no labels), argument `class_names` cannot be specified."
            if labels is None
            else "When argument `labels` is specified, argument `class_names` cannot be specified "
            "(the `class_names` will be the sorted list of labels)."
        )
    paths: list[str] = []
    numbers: list[int] = []
    for number, subfolder in enumerate(subfolders):
        walk = os.walk(os.path.join(root, subfolder), followlinks=follow_links)
        for folder, _, files in sorted(walk, key=lambda entry: entry[0]):
            names = sorted(name for name in files if name.lower().endswith(formats))
            paths += [os.path.join(folder, name) for name in names]
            numbers += [number] * len(names)
    result: Array | None = None
    names_of_classes: list[str] | None = None
    if isinstance(labels, str):
        result, names_of_classes = np.array(numbers, np.int32), subfolders
    elif labels is not None:
        if len(labels) != len(paths):
            raise ValueError(
                f"Expected the lengths of `labels` to match the number of files in the target "
                f"directory. len(labels) is {len(labels)} while we found {len(paths)} files in "
                f"directory {root}."
            )
        result = np.asarray(labels)
        names_of_classes = [str(label) for label in sorted(set(labels))]
    if verbose:
        belonging = f" belonging to {len(names_of_classes)} classes" if names_of_classes else ""
        say(f"Found {len(paths)} files{belonging}.")
    if shuffle:
        order = np.random.default_rng(seed).permutation(len(paths))
        paths = [paths[k] for k in order]
        result = None if result is None else result[order]
    return paths, result, names_of_classes


def check_labels(labels: Any, label_mode: str | None, class_names: object, kind: str) -> None:
    """Check the labels of a folder of files.

    Args:
      labels: "inferred", None, or a list.
      label_mode: The encoding of the labels.
      class_names: The names of the classes, or None.
      kind: The word for the files, for errors.

    Raises:
      ValueError: If an argument is unknown.
    """
    if labels not in ("inferred", None):
        if not isinstance(labels, list | tuple):
            raise ValueError(
                f"The `labels` argument should be a list/tuple of integer labels, of the same "
                f"size as the number of {kind} files in the target directory. If you wish to infer "
                f"the labels from the subdirectory names in the target directory, pass `labels="
                f'"inferred"`. If you wish to get a dataset that only contains {kind} samples (no '
                f"labels), pass `labels=None`. Received: labels={labels}"
            )
        if class_names:
            raise ValueError(
                f'You can only pass `class_names` if `labels="inferred"`. Received: '
                f"labels={labels}, and class_names={class_names}"
            )
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(
            f'`label_mode` argument must be one of "int", "categorical", "binary", or None. '
            f"Received: label_mode={label_mode}"
        )


def check_validation_split(
    validation_split: float | None, subset: str | None, shuffle: bool, seed: int | None
) -> None:
    """Check the arguments that divide the files.

    Raises:
      ValueError: If one is out of range, or does not fit the others.
    """
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


def part_of(items: Any, validation_split: float | None, subset: str | None) -> Any:
    """Return the items of a subset: the first ones for training, the last ones for validation."""
    if not validation_split or items is None:
        return items
    count = int(validation_split * len(items))
    return items[: len(items) - count] if subset == "training" else items[len(items) - count :]


def encode_labels(labels: Array, label_mode: str, count: int) -> Array:
    """Return labels as numbers, as a column of 0 and 1, or one-hot."""
    if label_mode == "binary":
        return labels.astype(np.float32)[:, None]
    if label_mode == "categorical":
        return np.eye(count, dtype=np.float32)[labels]
    return labels.astype(np.int32)


def read_wav(path: str, length: int | None = None, sampling_rate: int | None = None) -> Array:
    """Return the samples in a WAV file, float32 in [-1, 1) of shape (samples, channels).

    Args:
      path: The file, with PCM samples of 8, 16, 24 or 32 bits.
      length: The number of samples; the rest is 0.
      sampling_rate: The number of samples per second to which they are resampled; None for that of
        the file.

    Raises:
      UnimplementedError: If the samples are not PCM.
    """
    try:
        with wave.open(path, "rb") as file:
            channels, width, rate, count = file.getparams()[:4]
            content = file.readframes(count)
    except wave.Error as error:
        raise UnimplementedError(
            f"{path} cannot be decoded ({error}): only WAV files with PCM samples are supported."
        ) from None
    data = np.frombuffer(content, np.uint8).reshape(-1, width)
    if width == 1:
        values = data[:, 0].astype(np.float32) / 128.0 - 1.0
    else:  # to the upper bytes of an int32
        padded = np.zeros((len(data), 4), np.uint8)
        padded[:, 4 - width :] = data
        values = padded.view("<i4")[:, 0].astype(np.float32) / np.float32(2**31)
    samples: Array = values.reshape(-1, channels)
    if sampling_rate is not None and sampling_rate != rate:
        from scipy.signal import resample_poly

        samples = resample_poly(samples, sampling_rate, rate).astype(np.float32)
    if length is not None:
        result = np.zeros((length, channels), np.float32)
        result[: len(samples)] = samples[:length]
        samples = result
    return samples


def audio_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: str | Sequence[IntLike] | None = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    sampling_rate: int | None = None,
    output_sequence_length: int | None = None,
    ragged: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
    format: str = "tf",
) -> Any:
    """Create a dataset of the WAV files in a folder, one subfolder for each class.

    Args:
      directory: The folder.
      labels: "inferred" for the numbers of the subfolders; None for no labels; or a label for each
        file, in the order of the sorted paths.
      label_mode: "int", "binary" for a column of 0 and 1, "categorical" for one-hot vectors, or
        None for no labels.
      class_names: The subfolders, in the order of the labels; None for the alphabetical order.
      batch_size: The number of files in a batch; None for unbatched files.
      sampling_rate: The number of samples per second to which they are resampled (by
        `scipy.signal.resample_poly`); None for that of the files.
      output_sequence_length: The number of samples; longer files are cut, shorter ones padded with
        0. None for that of the longest file in a batch.
      ragged: Must be False.
      shuffle: Whether to shuffle the files before each iteration; otherwise they are sorted.
      seed: The seed of the shuffle.
      validation_split: The fraction of the files for validation.
      subset: "training", "validation", or "both" for a pair of datasets.
      follow_links: Whether to follow links to other folders.
      verbose: Whether to print the number of files.
      format: Must be "tf".

    Returns:
      A `tf.data.Dataset` of samples of shape (batch, samples, channels), or of pairs of samples
      and labels, with the attribute ``class_names``.

    Raises:
      ValueError: If there are no files, or an argument is out of range.
      UnimplementedError: If ``ragged`` is set or ``format`` is not "tf".

    Example:
      >>> import pathlib, tempfile, wave
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> for name, count in (("bell", 4), ("dog", 3)):
      ...     (folder / name).mkdir()
      ...     with wave.open(str(folder / name / "a.wav"), "wb") as file:
      ...         file.setparams((1, 2, 8000, 0, "NONE", ""))
      ...         file.writeframes(bytes(2 * count))
      >>> data = tf.keras.utils.audio_dataset_from_directory(folder, shuffle=False, verbose=False)
      >>> data.class_names, [(x.shape.as_list(), y.numpy().tolist()) for x, y in data]
      (['bell', 'dog'], [([2, 4, 1], [0, 1])])
    """
    check_labels(labels, label_mode, class_names, "audio")
    if format != "tf":
        raise UnimplementedError(f"format={format!r}: numtape has tf.data only; use 'tf'.")
    if ragged:
        raise (ValueError if output_sequence_length is not None else UnimplementedError)(
            "Cannot set both `ragged` and `output_sequence_length`"
            if output_sequence_length is not None
            else "ragged=True: set `output_sequence_length`, or None to pad each batch."
        )
    if sampling_rate is not None and not isinstance(sampling_rate, int):
        raise ValueError(
            f"`sampling_rate` should have an integer value. Received: sampling_rate={sampling_rate}"
        )
    if sampling_rate is not None and sampling_rate <= 0:
        raise ValueError(
            f"`sampling_rate` should be higher than 0. Received: sampling_rate={sampling_rate}"
        )

    def read(path: str) -> Array:
        return read_wav(path, output_sequence_length, sampling_rate)

    return _make_datasets(
        _FileReader("audio", (".wav",), read, (output_sequence_length, None), "float32"),
        directory,
        labels,
        label_mode,
        class_names,
        batch_size,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        verbose,
        is_padded=output_sequence_length is None,
    )


def text_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: str | Sequence[IntLike] | None = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Create a dataset of the text files in a folder, one subfolder for each class.

    Args:
      directory: The folder, of files that end in ``.txt``.
      labels: "inferred" for the numbers of the subfolders; None for no labels; or a label for each
        file, in the order of the sorted paths.
      label_mode: "int", "binary" for a column of 0 and 1, "categorical" for one-hot vectors, or
        None for no labels.
      class_names: The subfolders, in the order of the labels; None for the alphabetical order.
      batch_size: The number of files in a batch; None for unbatched files.
      max_length: The number of bytes after which a text is cut; None for whole texts.
      shuffle: Whether to shuffle the files before each iteration; otherwise they are sorted.
      seed: The seed of the shuffle.
      validation_split: The fraction of the files for validation.
      subset: "training", "validation", or "both" for a pair of datasets.
      follow_links: Whether to follow links to other folders.
      format: Must be "tf".
      verbose: Whether to print the number of files.

    Returns:
      A `tf.data.Dataset` of strings of shape (batch,), or of pairs of strings and labels, with the
      attribute ``class_names``.

    Raises:
      ValueError: If there are no files, or an argument is out of range.
      UnimplementedError: If ``format`` is not "tf".

    Example:
      >>> import pathlib, tempfile
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> for name in ("neg", "pos"):
      ...     (folder / name).mkdir()
      ...     _ = (folder / name / "a.txt").write_text(f"{name} text")
      >>> data = tf.keras.utils.text_dataset_from_directory(folder, shuffle=False, verbose=False)
      >>> data.class_names, [(x.numpy().tolist(), y.numpy().tolist()) for x, y in data]
      (['neg', 'pos'], [([b'neg text', b'pos text'], [0, 1])])
    """
    check_labels(labels, label_mode, class_names, "text")
    if format != "tf":
        raise UnimplementedError(f"format={format!r}: numtape has tf.data only; use 'tf'.")

    def read(path: str) -> StringTensor:
        with open(path, "rb") as file:
            return of_strings(file.read(-1 if max_length is None else max_length))

    return _make_datasets(
        _FileReader("text", (".txt",), read, (), "string"),
        directory,
        labels,
        label_mode,
        class_names,
        batch_size,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        verbose,
    )


class _FileReader(NamedTuple):
    """How files of a kind become elements of a dataset.

    Attributes:
      kind: The word for the files, for errors.
      formats: The endings of the files.
      read: A function from a path to an element.
      shape: The shape of an element.
      dtype: Its dtype.
    """

    kind: str
    formats: tuple[str, ...]
    read: Callable[[str], Any]
    shape: tuple[int | None, ...]
    dtype: str


def _make_datasets(
    reader: _FileReader,
    directory: str | os.PathLike[str],
    labels: Any,
    label_mode: str | None,
    class_names: Sequence[str] | None,
    batch_size: int | None,
    shuffle: bool,
    seed: int | None,
    validation_split: float | None,
    subset: str | None,
    follow_links: bool,
    verbose: bool,
    is_padded: bool = False,
) -> Any:
    """Return the dataset of a subset of the files in a folder, or of both subsets."""
    if labels is None or label_mode is None:
        labels = label_mode = None
    check_validation_split(validation_split, subset, shuffle, seed)
    paths, numbers, names = index_directory(
        directory, labels, reader.formats, class_names, shuffle, seed, follow_links, verbose
    )
    if label_mode == "binary" and names is not None and len(names) != 2:
        raise ValueError(
            f'When passing `label_mode="binary"`, there must be exactly 2 class_names. Received: '
            f"class_names={names}"
        )

    def dataset(subset: str | None) -> Dataset:
        files = part_of(paths, validation_split, subset)
        if not files:
            word = f"{subset} " if subset else ""
            raise ValueError(
                f"No {word}{reader.kind} files found in directory {os.fspath(directory)}. Allowed "
                f"format(s): {reader.formats}"
            )
        encoded: Any = [None] * len(files)
        if label_mode is not None:
            part = part_of(numbers, validation_split, subset)
            encoded = encode_labels(part, label_mode, len(names or ()))
        result = _dataset_of_files(reader, files, encoded, shuffle and subset != "validation", seed)
        if batch_size is not None:
            result = result.padded_batch(batch_size) if is_padded else result.batch(batch_size)
        result.class_names = names  # type: ignore[attr-defined]
        return result

    if subset == "both":
        return dataset("training"), dataset("validation")
    return dataset(subset)


def _dataset_of_files(
    reader: _FileReader, files: list[str], labels: Any, shuffle: bool, seed: int | None
) -> Dataset:
    """Return a dataset that reads files, with their labels if they are not None."""
    from ...tensor_spec import TensorSpec

    generator = np.random.default_rng(seed)

    def elements() -> Iterable[Any]:
        order = generator.permutation(len(files)) if shuffle else range(len(files))
        for k in order:
            element = reader.read(files[k])
            yield element if labels[k] is None else (element, labels[k])

    signature: Any = TensorSpec(reader.shape, reader.dtype)
    if labels[0] is not None:
        signature = signature, TensorSpec(np.shape(labels[0]), str(labels.dtype))
    return Dataset.from_generator(elements, output_signature=signature)
