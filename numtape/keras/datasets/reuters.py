"""Reuters: 11,228 newswires as lists of word numbers, in 46 topics."""

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

__all__ = ["get_label_names", "get_word_index", "load_data"]
_HASH = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"
_TOPICS = (
    "cocoa grain veg-oil earn acq wheat copper housing money-supply coffee sugar trade reserves "
    "ship cotton carcass crude nat-gas cpi money-fx interest gnp meal-feed alum oilseed gold tin "
    "strategic-metal livestock retail ipi iron-steel rubber heat jobs lei bop zinc orange pet-chem "
    "dlr gas silver wpi hog lead"
)


def load_data(
    path: Path_ = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
) -> Split:
    """Load the newswires and their topics.

    Args:
      path: The name of the file in Keras's folder, or a path.
      num_words: The number of words: rarer ones are replaced by ``oov_char``; None for all.
      skip_top: The number of the most frequent words that are replaced.
      maxlen: Longer newswires are left out; None for all.
      test_split: The fraction of the newswires for the test.
      seed: The seed of the shuffle.
      start_char: The number before the first word; None for no number.
      oov_char: The number for words that are left out; None to remove them.
      index_from: The number that is added to those of the words.

    Returns:
      The pairs (x_train, y_train) and (x_test, y_test): arrays of lists, and topics, 0 to 45.

    Raises:
      NotFoundError: If the file is absent; the error says where to get it and where to put it.
    """
    arrays = load_npz(find(path, f"{ORIGIN}reuters.npz", _HASH))
    order = np.arange(len(arrays["x"]))
    np.random.RandomState(seed).shuffle(order)
    x, y = arrays["x"][order], arrays["y"][order]
    sequences, labels = shorter(x, y, maxlen, start_char is not None)
    numbers = as_objects(words(sequences, num_words, skip_top, start_char, oov_char, index_from))
    count = int(len(numbers) * (1 - test_split))
    return (numbers[:count], labels[:count]), (numbers[count:], labels[count:])


def get_word_index(path: Path_ = "reuters_word_index.json") -> dict[str, int]:
    """Load the number of each word, without ``index_from``.

    Args:
      path: The name of the file in Keras's folder, or a path.

    Returns:
      A dict from words to numbers.

    Raises:
      NotFoundError: If the file is absent; the error says where to get it and where to put it.
    """
    origin = f"{ORIGIN}reuters_word_index.json"
    result: dict[str, int] = load_json(find(path, origin, "4d44cc38712099c9e383dc6e5f11a921"))
    return result


def get_label_names() -> tuple[str, ...]:
    """Return the names of the 46 topics.

    Returns:
      A tuple of strings.

    Example:
      >>> tf.keras.datasets.reuters.get_label_names()[:3]
      ('cocoa', 'grain', 'veg-oil')
    """
    return tuple(_TOPICS.split())


def __dir__() -> list[str]:
    return __all__
