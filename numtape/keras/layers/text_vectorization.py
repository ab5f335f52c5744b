"""`TextVectorization`: texts to the indices of their words, or to vectors of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...composites.ragged_tensor import RaggedTensor
from ...core.ops import movement, padding
from ...core.values.dtypes import as_dtype
from ...core.values.tensor import Tensor
from ...strings import lower, ngrams, regex_replace, split, unicode_split
from ..registry import get_registered_name, get_registered_object
from ..symbolic import KerasTensor
from .base import Shape, document
from .categories import CategoricalLayer, batches_of, check_mode, to_tensor_like
from .lookup import _MODES, _OLD_MODES, LOOKUP_ARGUMENTS, StringLookup, to_list

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.values.annotations import StringLike
    from ..annotations import InputShape

_PUNCTUATION = r"""[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']"""
_STANDARDIZERS = ("lower_and_strip_punctuation", "lower", "strip_punctuation")
_SPLITTERS = ("whitespace", "character")


@document(
    "ValueError: If an option is invalid, or contradicts another.",
    **{name: LOOKUP_ARGUMENTS[name] for name in ("max_tokens", "output_mode", "idf_weights")},
    **{name: LOOKUP_ARGUMENTS[name] for name in ("pad_to_max_tokens", "vocabulary", "sparse")},
    standardize='"lower_and_strip_punctuation", "lower", "strip_punctuation", a function of a '
    "tensor of strings, or None.",
    split='"whitespace" for words, "character", a function of a tensor of strings that returns a '
    "ragged tensor, or None.",
    ngrams="The length of the longest n-grams, or a tuple of lengths; None for single words.",
    output_sequence_length="The number of words of each text, which is cut or padded, in the mode "
    '"int"; None for the longest text of a batch.',
    ragged='Whether to return a `RaggedTensor`, in the mode "int".',
    encoding="The encoding of the vocabulary.",
    name="The name.",
)
class TextVectorization(CategoricalLayer):
    """Map texts to the indices of their words, or to a vector of words.

    Index 0 is padding and 1 an unknown word. The vocabulary is given, or learned by `adapt`.

    >>> layer = tf.keras.layers.TextVectorization(output_sequence_length=4)
    >>> layer.adapt(["foo bar", "bar baz", "baz bada boom"])
    >>> layer([["foo qux bar"], ["qux baz"]]).numpy()
    array([[4, 1, 3, 0],
           [1, 2, 0, 0]])
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: str | Callable[..., Any] | None = "lower_and_strip_punctuation",
        split: str | Callable[..., Any] | None = "whitespace",
        ngrams: int | tuple[int, ...] | None = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Sequence[str] | StringLike | str | None = None,
        idf_weights: ArrayLike | None = None,
        sparse: bool = False,
        ragged: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        layer = type(self).__name__
        for what, value, choices in (
            ("standardize", standardize, _STANDARDIZERS),
            ("split", split, _SPLITTERS),
        ):
            if value is not None and not callable(value):
                check_mode(value, choices, what, layer)
        output_mode = _OLD_MODES.get(output_mode, output_mode)
        check_mode(output_mode, _MODES, "output_mode", layer)
        if not (
            ngrams is None
            or isinstance(ngrams, int)
            or (isinstance(ngrams, tuple) and all(isinstance(n, int) for n in ngrams))
        ):
            raise ValueError(
                f"`ngrams` must be None, an integer, or a tuple of integers. Received: "
                f"ngrams={ngrams}"
            )
        if output_mode == "int" and not isinstance(output_sequence_length, int | None):
            raise ValueError(
                f"`output_sequence_length` must be either None or an integer when `output_mode` "
                f"is 'int'. Received: output_sequence_length={output_sequence_length}"
            )
        if output_mode != "int" and output_sequence_length is not None:
            raise ValueError(
                f"`output_sequence_length` must not be set if `output_mode` is not 'int'. Received "
                f"output_sequence_length={output_sequence_length}."
            )
        if ragged and output_mode != "int":
            raise ValueError(
                f"`ragged` must not be true if `output_mode` is `'int'`. Received: ragged={ragged} "
                f"and output_mode={output_mode}"
            )
        is_static = kwargs.pop("has_input_vocabulary", vocabulary is not None)
        size = kwargs.pop("vocabulary_size", None)
        super().__init__(name=name, **kwargs)
        self._nt_standardize, self._nt_split = standardize, split
        self._nt_ngrams_argument = ngrams
        self._nt_ngrams = tuple(range(1, ngrams + 1)) if isinstance(ngrams, int) else ngrams
        self._nt_ragged, self._nt_output_mode = ragged, output_mode
        self._nt_length, self._nt_encoding = output_sequence_length, encoding
        self._nt_lookup = StringLookup(
            max_tokens=max_tokens,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            pad_to_max_tokens=pad_to_max_tokens,
            mask_token="",
            output_mode=output_mode,
            sparse=sparse,
            has_input_vocabulary=is_static,
            encoding=encoding,
            vocabulary_size=size,
        )

    @property
    def compute_dtype(self) -> str:
        """The dtype string."""
        return "string"

    @property
    def variable_dtype(self) -> str:
        """The dtype string."""
        return "string"

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the vocabulary of texts: the most frequent words first.

        Args:
          data: A list, array or tensor of texts, or an iterable of batches, such as a dataset.
          batch_size: Accepted for compatibility with Keras; not used.
          steps: The number of batches; None for all.

        Raises:
          ValueError: If the vocabulary was given.

        Example:
          >>> layer = tf.keras.layers.TextVectorization()
          >>> layer.adapt(["a b", "b c"])
          >>> layer.get_vocabulary()
          ['', '[UNK]', 'b', 'c', 'a']
        """
        self.reset_state()
        for batch in batches_of(data, steps, (np.ndarray, Tensor, list, tuple, str)):
            texts = batch
            if texts is data:
                texts = to_tensor_like(batch, as_dtype("string"))
                if len(texts.shape) == 1:
                    texts = movement.expand_dims(texts, -1)
            self.update_state(texts)
        self.finalize_state()

    def update_state(self, data: Any) -> None:
        """Count the words of a batch of texts.

        Args:
          data: A tensor of strings.

        Example:
          >>> layer = tf.keras.layers.TextVectorization()
          >>> layer.update_state(["a b", "b c"])
          >>> layer.finalize_state()
          >>> layer.vocabulary_size()
          5
        """
        self._nt_lookup.update_state(self._nt_preprocess(data))

    def finalize_state(self) -> None:
        """Make the vocabulary of the words that were counted."""
        self._nt_lookup.finalize_state()

    def reset_state(self) -> None:
        """Drop the counts of words."""
        self._nt_lookup.reset_state()

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """Return the words.

        Args:
          include_special_tokens: Whether to include those for padding and for unknown words. If
            so, the index of a word is its position.

        Returns:
          A list.

        Example:
          >>> tf.keras.layers.TextVectorization(vocabulary=["a", "b"]).get_vocabulary()
          ['', '[UNK]', 'a', 'b']
        """
        return self._nt_lookup.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        """Return the number of words, with special ones.

        Example:
          >>> tf.keras.layers.TextVectorization(vocabulary=["a", "b"]).vocabulary_size()
          4
        """
        return self._nt_lookup.vocabulary_size()

    def set_vocabulary(
        self,
        vocabulary: Sequence[str] | StringLike | str,
        idf_weights: ArrayLike | None = None,
    ) -> None:
        """Set the vocabulary, instead of learning it by `adapt`.

        Args:
          vocabulary: The words: a list, an array, a tensor, or the path of a text file.
          idf_weights: The inverse document frequencies; only in the mode "tf_idf".

        Raises:
          ValueError: As for `StringLookup.set_vocabulary`.

        Example:
          >>> layer = tf.keras.layers.TextVectorization()
          >>> layer.set_vocabulary(["a", "b"])
          >>> layer(["b a"]).numpy()
          array([[3, 2]])
        """
        self._nt_lookup.set_vocabulary(vocabulary, idf_weights)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        lookup = self._nt_lookup
        functions = {
            name: _serialize(value) if callable(value) else value
            for name, value in (("standardize", self._nt_standardize), ("split", self._nt_split))
        }
        config = {
            "max_tokens": lookup.max_tokens,
            **functions,
            "ngrams": self._nt_ngrams_argument,
            "output_mode": self._nt_output_mode,
            "output_sequence_length": self._nt_length,
            "pad_to_max_tokens": lookup.pad_to_max_tokens,
            "sparse": lookup.sparse,
            "ragged": self._nt_ragged,
            "vocabulary": to_list(lookup.input_vocabulary),
            "idf_weights": to_list(lookup.input_idf_weights),
            "encoding": self._nt_encoding,
            "vocabulary_size": self.vocabulary_size(),
        }
        return super().get_config() | config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a layer from its configuration."""
        config = dict(config)
        for name in ("standardize", "split"):
            if not isinstance(config[name], str) and not callable(config[name]):
                config[name] = _deserialize(config[name])
        if isinstance(config["ngrams"], list):
            config["ngrams"] = tuple(config["ngrams"])
        if isinstance(config.get("vocabulary"), str):
            StringLookup.from_config({"vocabulary": config["vocabulary"]})  # raises an error
        return cls(**config)

    def _nt_preprocess(self, inputs: Any) -> Any:
        """Standardize and split texts."""
        texts = to_tensor_like(inputs, as_dtype("string"))
        standardize = self._nt_standardize
        if standardize in ("lower", "lower_and_strip_punctuation"):
            texts = lower(texts)
        if standardize in ("strip_punctuation", "lower_and_strip_punctuation"):
            texts = regex_replace(texts, _PUNCTUATION, "")
        if callable(standardize):
            texts = standardize(texts)
        if self._nt_split is not None:
            if len(texts.shape) > 1:
                if texts.shape[-1] != 1:
                    raise ValueError(
                        f"When using `TextVectorization` to tokenize strings, the input rank must "
                        f"be 1 or the last shape dimension must be 1. Received: "
                        f"inputs.shape={texts.shape} with rank={len(texts.shape)}"
                    )
                texts = movement.squeeze(texts, -1)
            if self._nt_split == "whitespace":
                texts = split(texts)
            elif self._nt_split == "character":
                texts = unicode_split(texts, "UTF-8")
            elif callable(self._nt_split):
                texts = self._nt_split(texts)
        if self._nt_ngrams is not None:
            texts = ngrams(texts, self._nt_ngrams, separator=" ")
        return texts

    def call(self, inputs: Any) -> Any:
        """Return the indices of the words, or vectors of words."""
        result = self._nt_lookup.call(self._nt_preprocess(inputs))
        length = self._nt_length
        if self._nt_output_mode != "int":
            return result
        if isinstance(result, RaggedTensor) and not self._nt_ragged:
            shape: Any = [None if n is None else int(n) for n in result.shape]
            shape[-1] = length
            return result.to_tensor(default_value=0, shape=shape)
        if length is None:
            return result
        result = result[..., :length]
        if self._nt_ragged:
            return result
        missing = length - result.shape[-1]
        return padding.pad(result, [[0, 0]] * (result.ndim - 1) + [[0, missing]])

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the result for texts of a shape."""
        shape = tuple(input_shape)
        if self._nt_output_mode == "int":
            return (shape[0], self._nt_length)
        if self._nt_split is not None:
            shape = (*shape, None)
        elif len(shape) <= 1:
            shape = (*shape, 1)
        return self._nt_lookup.compute_output_shape(shape)

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return the symbolic output."""
        dtype = "int64" if self._nt_output_mode == "int" else "float32"
        return KerasTensor(self.compute_output_shape(inputs.shape), dtype=dtype)

    def save_own_variables(self, store: Any) -> None:
        """Store the document frequencies.

        Args:
          store: A mapping from names to arrays.
        """
        self._nt_lookup.save_own_variables(store)

    def load_own_variables(self, store: Any) -> None:
        """Restore the document frequencies.

        Args:
          store: A mapping from names to arrays.
        """
        self._nt_lookup.load_own_variables(store)

    def save_assets(self, dir_path: str) -> None:
        """Write the vocabulary to a file, unless it is in the configuration.

        Args:
          dir_path: The folder.
        """
        self._nt_lookup.save_assets(dir_path)

    def load_assets(self, dir_path: str) -> None:
        """Read the vocabulary that `save_assets` wrote.

        Args:
          dir_path: The folder.
        """
        self._nt_lookup.load_assets(dir_path)


def _serialize(function: Any) -> dict[str, Any]:
    """Return the configuration of a function, as Keras writes it.

    Raises:
      NotImplementedError: If it is a lambda, which has no name.
    """
    name = get_registered_name(function)
    if name == "<lambda>":
        raise NotImplementedError(
            f"{function!r} has no name, so it cannot be saved: define a function, decorated with "
            f"keras.saving.register_keras_serializable()."
        )
    return {
        "module": "builtins",
        "class_name": "function",
        "config": name,
        "registered_name": name,
    }


def _deserialize(config: Any) -> Any:
    """Return the function of a configuration, or None.

    Raises:
      TypeError: If the function is not registered.
    """
    if not isinstance(config, dict):
        return config
    function = get_registered_object(str(config["config"]))
    if function is None:
        raise TypeError(
            f"Could not locate function '{config['config']}'. Make sure that it is decorated with "
            f"`@keras.saving.register_keras_serializable()`, and imported, or given in "
            f"`custom_objects`."
        )
    return function
