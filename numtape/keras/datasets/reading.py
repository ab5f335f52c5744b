"""Read the files of data sets, and divide and shuffle examples: `find`, `load_npz`, `divide`."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..utils.local_files import get_file

if TYPE_CHECKING:
    from ...core.values.annotations import IntLike

Array = np.ndarray[Any, Any]
Split = tuple[tuple[Array, Array], tuple[Array, Array]]  # (x_train, y_train), (x_test, y_test)
Path_ = str | os.PathLike[str]

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
# What an array of arrays or a dict of arrays needs; a file that asks for more is refused.
_ALLOWED = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}


class _Unpickler(pickle.Unpickler):
    """Reads arrays, lists and dicts, and nothing that could execute code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a function that creates arrays; raise for others."""
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Refusing to deserialize `{module}.{name}` while loading a Keras dataset. The file "
            f"may be corrupted or malicious."
        )


def find(path: Path_, origin: str, file_hash: str | None = None) -> str:
    """Return a file given by its path, or by its name in Keras's folder.

    Raises:
      NotFoundError: If it is in neither place.
      ValueError: If the file in Keras's folder has another hash.
    """
    if Path(path).is_file() and os.path.basename(path) != os.fspath(path):
        return os.fspath(path)
    if os.sep in os.fspath(path) and not Path(path).is_file():
        from ...errors import NotFoundError

        raise NotFoundError(f"File not found: {os.fspath(path)}. It is the file {origin}.")
    return get_file(path, origin=origin, file_hash=file_hash)


def load_npz(path: Path_) -> dict[str, Array]:
    """Return the arrays in an ``.npz`` file, also arrays of lists."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if member.endswith(".npy"):
                arrays[member.removesuffix(".npy")] = _load_npy(archive.read(member))
    return arrays


def _load_npy(content: bytes) -> Array:
    stream = io.BytesIO(content)
    try:
        result: Array = np.lib.format.read_array(stream, allow_pickle=False)
        return result
    except ValueError:  # an array of objects
        stream.seek(0)
        version = np.lib.format.read_magic(stream)
        is_first = version[0] == 1
        read = (
            np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
        )
        shape, _, _ = read(stream)
        value = _Unpickler(stream).load()
        return value if isinstance(value, np.ndarray) else np.array(value, object).reshape(shape)


def load_pickle(file: IO[bytes]) -> Any:
    """Return the dict in a pickle of Python 2, with str keys."""
    content = _Unpickler(file, encoding="bytes").load()
    return {key.decode() if isinstance(key, bytes) else key: x for key, x in content.items()}


def load_json(path: Path_) -> Any:
    """Return the content of a JSON file."""
    return json.loads(Path(path).read_text())


def divide(x: Array, y: Array, test_split: float, seed: int) -> Split:
    """Shuffle examples as Keras does, and divide them into a training and a test part.

    Raises:
      ValueError: If ``test_split`` is out of range.
    """
    if not 0 <= test_split < 1:
        raise ValueError(
            f"Invalid `test_split` argument: {test_split}. It must be between 0 and 1 (exclusive "
            f"of 1)."
        )
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    count = int(len(x) * (1 - test_split))
    return (x[:count], y[:count]), (x[count:], y[count:])


def words(
    sequences: Any,
    num_words: int | None,
    skip_top: int,
    start_char: int | None,
    oov_char: int | None,
    index_from: int | None,
) -> list[list[int]]:
    """Shift the numbers of words, add the start, and replace rare and frequent words."""
    shift = index_from or 0
    start = [] if start_char is None else [start_char]
    shifted = [start + [int(word) + shift for word in sequence] for sequence in sequences]
    limit = num_words or max((max(sequence) for sequence in shifted if sequence), default=0)
    if oov_char is None:
        return [[w for w in sequence if skip_top <= w < limit] for sequence in shifted]
    return [[w if skip_top <= w < limit else oov_char for w in sequence] for sequence in shifted]


def as_objects(sequences: list[list[int]]) -> Array:
    """Return a one-dimensional array of lists."""
    result = np.empty(len(sequences), object)
    result[:] = sequences
    return result


def shorter(
    sequences: Any, labels: Array, maxlen: IntLike | None, start: bool
) -> tuple[Any, Array]:
    """Return the sequences that are shorter than ``maxlen``, and their labels."""
    if not maxlen:
        return sequences, labels
    extra = 1 if start else 0
    keep = np.array([len(sequence) + extra < int(maxlen) for sequence in sequences], bool)
    return [s for s, is_short in zip(sequences, keep, strict=True) if is_short], labels[keep]
