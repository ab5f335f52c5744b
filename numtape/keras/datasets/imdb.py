"""IMDB: 50,000 reviews of movies as lists of word numbers, positive or negative."""

from __future__ import annotations

import numpy as np

from .reading import (
    ORIGIN,
    Path_,
    Split,
    as_objects,
    find,
    load_json,
    load_npz,
    shorter,
    words,
)

__all__ = ["get_word_index", "load_data"]
_HASH = "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"


def load_data(
    path: Path_ = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
) -> Split:
    """Load the reviews and their classes.

    Args:
      path: The name of the file in Keras's folder, or a path.
      num_words: The number of words: rarer ones are replaced by ``oov_char``; None for all.
      skip_top: The number of the most frequent words that are replaced.
      maxlen: Longer reviews are left out; None for all.
      seed: The seed of the shuffle.
      start_char: The number before the first word; None for no number.
      oov_char: The number for words that are left out; None to remove them.
      index_from: The number that is added to those of the words.

    Returns:
      The pairs (x_train, y_train) and (x_test, y_test): arrays of lists, and classes 0 and 1.

    Raises:
      NotFoundError: If the file is absent; the error says where to get it and where to put it.
      ValueError: If no review is shorter than ``maxlen``.
    """
    arrays = load_npz(find(path, f"{ORIGIN}imdb.npz", _HASH))
    generator = np.random.RandomState(seed)
    sequences, labels, counts = [], [], []
    for part in ("train", "test"):
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        order = np.arange(len(x))
        generator.shuffle(order)
        x, y = shorter(x[order], y[order], maxlen, start_char is not None)
        if not len(x):
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was "
                f"kept. Increase maxlen."
            )
        sequences += list(x)
        labels.append(y)
        counts.append(len(x))
    numbers = words(sequences, num_words, skip_top, start_char, oov_char, index_from)
    train, test = numbers[: counts[0]], numbers[counts[0] :]
    return (as_objects(train), labels[0]), (as_objects(test), labels[1])


def get_word_index(path: Path_ = "imdb_word_index.json") -> dict[str, int]:
    """Load the number of each word, without ``index_from``.

    Args:
      path: The name of the file in Keras's folder, or a path.

    Returns:
      A dict from words to numbers.

    Raises:
      NotFoundError: If the file is absent; the error says where to get it and where to put it.
    """
    origin = f"{ORIGIN}imdb_word_index.json"
    result: dict[str, int] = load_json(find(path, origin, "bfafd718b763782e994055a2d397834f"))
    return result


def __dir__() -> list[str]:
    return __all__
