"""`StringLookup` and `IntegerLookup`, which map tokens to their index in a vocabulary.

The vocabulary is given, read from a file, or learned by `adapt`. Lookups of integers are recorded
ops; those of strings compute at once, so a `function` that makes them runs as Python.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...composites.ragged_tensor import RaggedTensor
from ...core.log.as_tensor import from_owned_array
from ...core.log.string_tensor import of_strings, run_as_python, to_string_array
from ...core.ops import arithmetic, elementwise, indexing, movement
from ...core.ops.creation import convert_to_tensor
from ...core.values.composite import Composite
from ...core.values.dtypes import as_dtype
from ...core.values.tensor import Tensor
from ...errors import FailedPreconditionError, InvalidArgumentError
from ...lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    TextFileIndex,
    TextFileInitializer,
)
from ...strings import as_string, to_hash_bucket_fast, to_hash_bucket_strong
from ..symbolic import KerasTensor
from .base import Shape, document
from .categories import (
    SPARSE,
    CategoricalLayer,
    _map_values,
    batches_of,
    check_mode,
    encode,
    encoded_shape,
    salt_key,
    to_tensor_like,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.values.annotations import StringLike, TensorLike
    from ..annotations import InputShape

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")
_OLD_MODES = {"binary": "multi_hot", "tf-idf": "tf_idf"}
_DROPPED = np.iinfo(np.int64).max  # the number of a masked token: encodings drop it

LOOKUP_ARGUMENTS = {
    "max_tokens": "The maximum size of the vocabulary, with its special tokens; None for any size.",
    "num_oov_indices": "The number of indices of tokens that are not in the vocabulary. With "
    "several, the index depends on the token's hash; with none, such a token is an error.",
    "mask_token": 'The token for padding, which has the index 0 in the mode "int" and is dropped '
    "in others; None for no such token.",
    "oov_token": "What an inverted layer returns for indices of tokens that are not in the "
    "vocabulary.",
    "vocabulary": "The tokens: a list, an array, a tensor, or the path of a text file with one "
    "token in each line. None to learn them by `adapt`.",
    "idf_weights": 'The inverse document frequencies of the tokens, in the mode "tf_idf".',
    "invert": "Whether to map indices to tokens.",
    "output_mode": '"int" for indices; "one_hot" for a vector of each token, "multi_hot" for a '
    'vector of each row with 1 for every token in it, "count" with their counts, "tf_idf" with '
    "counts times inverse document frequencies.",
    "pad_to_max_tokens": "Whether vectors have the size ``max_tokens`` even if the vocabulary is "
    "smaller.",
    "sparse": SPARSE,
    "salt": "One or two integers: the key of SipHash for the index of tokens that are not in the "
    "vocabulary.",
    "name": "The name.",
}


def to_list(x: Any) -> Any:
    """Return a tensor or array as a list, for a configuration."""
    if isinstance(x, Tensor | Composite):
        x = np.asarray(x)
    if isinstance(x, np.ndarray):
        return [v.decode() if isinstance(v, bytes) else v for v in x.tolist()]
    return x


class IndexLookup(CategoricalLayer):
    """The base of `StringLookup` and `IntegerLookup`."""

    encoding = "utf-8"

    def __init__(
        self,
        max_tokens: int | None,
        num_oov_indices: int,
        mask_token: Any,
        oov_token: Any,
        vocabulary_dtype: str,
        vocabulary: Any = None,
        idf_weights: ArrayLike | None = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        oov_method: str = "floormod",
        name: str | None = None,
        salt: Any = None,
        **kwargs: Any,
    ) -> None:
        output_mode = _OLD_MODES.get(output_mode, output_mode)
        layer = type(self).__name__
        if max_tokens is not None and max_tokens <= 1:
            raise ValueError(
                f"If set, `max_tokens` must be greater than 1. Received: max_tokens={max_tokens}"
            )
        if pad_to_max_tokens and max_tokens is None:
            raise ValueError(
                f"If pad_to_max_tokens is True, must set `max_tokens`. Received: "
                f"max_tokens={max_tokens}"
            )
        if num_oov_indices < 0:
            raise ValueError(
                f"`num_oov_indices` must be greater than or equal to 0. Received: "
                f"num_oov_indices={num_oov_indices}"
            )
        check_mode(oov_method, ("floormod", "farmhash"), "oov_method", layer)
        if salt is not None and vocabulary_dtype != "string" and oov_method != "farmhash":
            raise ValueError(
                f"`salt` can only be used when `oov_method='farmhash'`. Received: "
                f"oov_method={oov_method}"
            )
        check_mode(output_mode, _MODES, "output_mode", layer)
        if invert and output_mode != "int":
            raise ValueError(
                f"`output_mode` must be `'int'` when `invert` is true. Received: "
                f"output_mode={output_mode}"
            )
        if sparse and output_mode == "int":
            raise ValueError(
                "`sparse` may only be true if `output_mode` is `'one_hot'`, `'multi_hot'`, "
                f"`'count'` or `'tf_idf'`. Received: sparse={sparse} and output_mode={output_mode}"
            )
        if idf_weights is not None and output_mode != "tf_idf":
            raise ValueError(
                f"`idf_weights` should only be set if `output_mode` is `'tf_idf'`. Received: "
                f"idf_weights={idf_weights} and output_mode={output_mode}"
            )
        super().__init__(name=name)
        self.invert, self.max_tokens, self.num_oov_indices = invert, max_tokens, num_oov_indices
        self.mask_token, self.oov_token, self.output_mode = mask_token, oov_token, output_mode
        self.sparse, self.pad_to_max_tokens = sparse, pad_to_max_tokens
        self.vocabulary_dtype, self.oov_method = as_dtype(vocabulary_dtype).name, oov_method
        self.salt = salt_key(salt, "IndexLookup")
        self._nt_frozen_size: int | None = kwargs.pop("vocabulary_size", None)
        # The vocabulary of a file is not part of the configuration, but an asset.
        self.input_vocabulary = None if isinstance(vocabulary, str | os.PathLike) else vocabulary
        self.input_idf_weights = idf_weights
        self._nt_is_static = kwargs.pop("has_input_vocabulary", vocabulary is not None)
        for ignored in ("trainable", "dtype"):
            kwargs.pop(ignored, None)
        if kwargs:
            raise ValueError(f"Unrecognized keyword argument(s): {kwargs}")
        self._nt_key_dtype = as_dtype("int64" if invert else self.vocabulary_dtype)
        self._nt_value_dtype = as_dtype(self.vocabulary_dtype if invert else "int64")
        if invert:
            self._nt_default: Any = oov_token
        else:  # with several indices -1 marks the tokens that are not in the vocabulary
            self._nt_default = self._nt_oov_start() if num_oov_indices == 1 else -1
        self._nt_weights: Tensor | None = None
        if output_mode == "tf_idf" and self._nt_is_static and idf_weights is None:
            raise ValueError(
                "When specifying the `vocabulary` argument, in TF-IDF output mode, the "
                "`idf_weights` argument must also be provided."
            )
        self._nt_tokens: list[Any] = []
        self._nt_table = self._nt_make_table([])
        self._nt_has_vocabulary = False
        self.reset_state()
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)

    # --- The vocabulary ----------------------------------------------------------------------

    def _nt_oov_start(self) -> int:
        return 1 if self.mask_token is not None and self.output_mode == "int" else 0

    def _nt_token_start(self) -> int:
        return self._nt_oov_start() + self.num_oov_indices

    def _nt_make_table(self, tokens: Sequence[Any]) -> StaticHashTable:
        """Return the table of tokens, which begin after the special ones."""
        start = self._nt_token_start()
        indices = from_owned_array(np.arange(start, start + len(tokens), dtype=np.int64))
        token_tensor: Any
        if self.vocabulary_dtype == "string":
            token_tensor = of_strings(to_string_array(list(tokens)))
        else:
            token_tensor = from_owned_array(
                np.array(list(tokens)).astype(as_dtype(self.vocabulary_dtype).numpy_dtype)
            )
        keys, values = (indices, token_tensor) if self.invert else (token_tensor, indices)
        return StaticHashTable(KeyValueTensorInitializer(keys, values), self._nt_default_value())

    def _nt_default_value(self) -> Any:
        missing = "" if self._nt_value_dtype.name == "string" else -1
        value = missing if self._nt_default is None else self._nt_default
        return convert_to_tensor(value, self._nt_value_dtype)

    @property
    def idf_weights(self) -> Tensor | None:
        """The inverse document frequencies of all indices, in the mode "tf_idf"."""
        return self._nt_weights

    @property
    def lookup_table(self) -> StaticHashTable:
        """The table from tokens to indices, or of an inverted layer from indices to tokens."""
        return self._nt_table

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Return the tokens.

        Args:
          include_special_tokens: Whether to include the mask token and those for tokens that are
            not in the vocabulary. If so, the index of a token is its position.

        Returns:
          A list.

        Example:
          >>> tf.keras.layers.StringLookup(vocabulary=["a", "b"]).get_vocabulary()
          ['[UNK]', 'a', 'b']
        """
        tokens = list(self._nt_tokens)
        if not include_special_tokens:
            return tokens
        special = [self.oov_token] * self._nt_token_start()
        if self._nt_oov_start():
            special[0] = self.mask_token
        return [*special, *tokens]

    def vocabulary_size(self) -> int:
        """Return the number of tokens, with special ones.

        Example:
          >>> tf.keras.layers.StringLookup(vocabulary=["a", "b"]).vocabulary_size()
          3
        """
        return len(self._nt_tokens) + self._nt_token_start()

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = {
            "invert": self.invert,
            "max_tokens": self.max_tokens,
            "num_oov_indices": self.num_oov_indices,
            "oov_token": self.oov_token,
            "mask_token": self.mask_token,
            "output_mode": self.output_mode,
            "sparse": self.sparse,
            "pad_to_max_tokens": self.pad_to_max_tokens,
            "vocabulary_dtype": self.vocabulary_dtype,
            "idf_weights": to_list(self.input_idf_weights),
            "vocabulary": to_list(self.input_vocabulary),
            "vocabulary_size": self._nt_frozen_size,
            "oov_method": self.oov_method,
            "salt": self.salt,
        }
        return super().get_config() | config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a layer from its configuration.

        Raises:
          ValueError: If the vocabulary is the path of a file: configurations come from files that
            others may have written, and must not read other files.
        """
        if isinstance(config.get("vocabulary"), str):
            raise ValueError(
                "Requested the loading of a vocabulary file outside of the model archive. This "
                "carries a potential risk of loading arbitrary and sensitive files and thus it is "
                f"disallowed by default. Vocabulary file: '{config['vocabulary']}'"
            )
        return cls(**config)

    def set_vocabulary(
        self,
        vocabulary: Sequence[Any] | ArrayLike | TensorLike | StringLike | str,
        idf_weights: ArrayLike | None = None,
    ) -> None:
        """Set the vocabulary, instead of learning it by `adapt`.

        Args:
          vocabulary: The tokens, with or without the special ones at the beginning: a list, an
            array, a tensor, or the path of a text file with one token in each line.
          idf_weights: The inverse document frequencies of the tokens; only in the mode "tf_idf".

        Raises:
          ValueError: If the vocabulary is empty or too large, has a token twice, or a special one
            at another place; if weights are missing or not expected.
          RuntimeError: If the layer was called, its vectors have the size of the vocabulary, and
            this changes.

        Example:
          >>> layer = tf.keras.layers.StringLookup()
          >>> layer.set_vocabulary(["a", "b"])
          >>> layer(["b", "z"]).numpy()
          array([2, 0])
        """
        run_as_python("a vocabulary that changes")
        if self.output_mode == "tf_idf":
            if idf_weights is None:
                raise ValueError("`idf_weights` must be set if output_mode is 'tf_idf'.")
        elif idf_weights is not None:
            raise ValueError(
                f"`idf_weights` should only be set if output_mode is `'tf_idf'`. Received: "
                f"output_mode={self.output_mode} and idf_weights={idf_weights}"
            )
        if isinstance(vocabulary, str | os.PathLike):
            self._nt_read_file(os.fspath(vocabulary))
            return
        words = self._nt_to_words(vocabulary)
        if not words:
            raise ValueError(f"Cannot set an empty vocabulary. Received: vocabulary={vocabulary}")
        start = self._nt_token_start()
        special = [self.mask_token] * self._nt_oov_start() + [self.oov_token] * self.num_oov_indices
        has_special = words[:start] == special
        tokens = words[start:] if has_special else words
        self._nt_check_tokens(words, tokens, special)
        if self.output_mode == "tf_idf":
            weights = np.asarray(idf_weights, np.float32)
            if weights.ndim != 1:
                raise ValueError(
                    f"TF-IDF data must be a 1-index array. Received: type(idf_weights)="
                    f"{type(idf_weights)}"
                )
            if len(words) != len(weights):
                raise ValueError(
                    f"`idf_weights` must be the same length as vocabulary. len(idf_weights) is "
                    f"{len(weights)}; len(vocabulary) is {len(words)}"
                )
            self._nt_set_tokens(tokens)
            self._nt_set_weights(weights, 0 if has_special else start)
        else:
            self._nt_set_tokens(tokens)

    def _nt_to_words(self, vocabulary: Any) -> list[Any]:
        """Convert a vocabulary to a list of str or int."""
        if self.vocabulary_dtype == "string":
            array = to_string_array(
                [str(x) if not isinstance(x, str | bytes) else x for x in vocabulary]
                if isinstance(vocabulary, list | tuple)
                else vocabulary
            )
            return [word.decode(self.encoding) for word in array.tolist()]
        return [int(x) for x in np.asarray(vocabulary).tolist()]

    def _nt_check_tokens(self, words: list[Any], tokens: list[Any], special: list[Any]) -> None:
        repeated = [token for token, count in Counter(tokens).items() if count > 1]
        if repeated:
            raise ValueError(
                f"The passed vocabulary has at least one repeated term. Please uniquify your "
                f"dataset. The repeated terms are: {repeated}"
            )
        for name, token in (("mask", self.mask_token), ("OOV", self.oov_token)):
            # The OOV token matters only to inverted layers.
            if token is not None and token in tokens and (name == "mask" or self.invert):
                raise ValueError(
                    f"Found reserved {name} token at unexpected location in `vocabulary`. Note "
                    f"that passed `vocabulary` does not need to include the OOV and mask tokens. "
                    f"Either remove all mask and OOV tokens, or include them only at the start of "
                    f"the vocabulary in precisely this order: {special}. Received: "
                    f"{name.lower()}_token={token} at vocabulary index {words.index(token)}"
                )
        size = self._nt_token_start() + len(tokens)
        if self.max_tokens is not None and size > self.max_tokens:
            raise ValueError(
                f"Attempted to set a vocabulary larger than the maximum vocab size. Received "
                f"vocabulary size is {size}; `max_tokens` is {self.max_tokens}."
            )

    def _nt_read_file(self, path: str) -> None:
        """Set the vocabulary to the lines of a file."""
        if not os.path.exists(path):
            raise ValueError(f"Vocabulary file {path} does not exist.")
        if self.output_mode == "tf_idf":
            raise ValueError(
                "output_mode `'tf_idf'` does not support loading a vocabulary from file."
            )
        keys, _ = TextFileInitializer(
            path,
            self.vocabulary_dtype,
            TextFileIndex.WHOLE_LINE,
            "int64",
            TextFileIndex.LINE_NUMBER,
        ).read()
        self._nt_set_tokens(self._nt_to_words(keys))

    def _nt_set_tokens(self, tokens: list[Any]) -> None:
        """Replace the table."""
        table = self._nt_make_table(tokens)
        size = len(tokens) + self._nt_token_start()
        has_fixed_size = self.output_mode == "int" or self.pad_to_max_tokens
        if not has_fixed_size and self._nt_frozen_size not in (None, size):
            raise RuntimeError(
                f"When using `output_mode={self.output_mode}` and `pad_to_max_tokens=False`, the "
                f"vocabulary size cannot be changed after the layer is called. Old vocab size is "
                f"{self._nt_frozen_size}, new vocab size is {size}"
            )
        self._nt_tokens, self._nt_table, self._nt_frozen_size = tokens, table, size
        self._nt_has_vocabulary = True

    def _nt_set_weights(self, weights: np.ndarray[Any, Any], front: int) -> None:
        """Set the document frequencies, with the mean in front, for special tokens."""
        back = 0
        if self.pad_to_max_tokens and self.max_tokens is not None:
            back = self.max_tokens - front - len(weights)
        mean = np.average(weights) if front else 0.0
        padded = np.concatenate([np.full(front, mean), weights, np.zeros(back)])
        self._nt_weights = from_owned_array(padded.astype(np.float32))

    # --- Learning the vocabulary -------------------------------------------------------------

    def adapt(self, data: Any, steps: int | None = None) -> None:
        """Learn the vocabulary of data: the most frequent tokens first.

        Of two equally frequent tokens, the one that sorts last comes first.

        Args:
          data: An array, list or tensor of tokens, or an iterable of batches, such as a dataset.
          steps: The number of batches; None for all.

        Raises:
          ValueError: If the vocabulary was given.

        Example:
          >>> layer = tf.keras.layers.StringLookup()
          >>> layer.adapt(["b", "a", "b"])
          >>> layer.get_vocabulary()
          ['[UNK]', 'b', 'a']
        """
        self.reset_state()
        for batch in batches_of(data, steps, (np.ndarray, Tensor, list, tuple, str)):
            tokens = batch
            if tokens is data:
                tokens = to_tensor_like(batch, as_dtype(self.vocabulary_dtype))
                if len(tokens.shape) == 1:
                    tokens = movement.expand_dims(tokens, -1)
            self.update_state(tokens)
        self.finalize_state()

    def update_state(self, data: Any) -> None:
        """Count the tokens of a batch.

        Args:
          data: A tensor of tokens, each row of which is a document; or a vector, one document.

        Raises:
          ValueError: If the vocabulary was given.

        Example:
          >>> layer = tf.keras.layers.StringLookup()
          >>> layer.update_state(["b", "a", "b"])
          >>> layer.finalize_state()
          >>> layer.get_vocabulary()
          ['[UNK]', 'b', 'a']
        """
        if self._nt_is_static:
            raise ValueError(
                f"Cannot adapt layer '{self.name}' after setting a static vocabulary via "
                f"`vocabulary` argument or `set_vocabulary()` method."
            )
        run_as_python("a vocabulary that changes")
        tensor = to_tensor_like(data, as_dtype(self.vocabulary_dtype))
        documents = _documents_of(tensor)
        for document_tokens in documents:
            self._nt_counts.update(document_tokens)
            if self.output_mode == "tf_idf":
                self._nt_document_counts.update(set(document_tokens))
        self._nt_document_count += len(documents)

    def finalize_state(self) -> None:
        """Make the vocabulary of the tokens that were counted."""
        if self._nt_is_static or not self._nt_counts:
            self._nt_set_tokens(self._nt_tokens)
            return
        is_text = self.vocabulary_dtype == "string"
        for token in (self.mask_token, self.oov_token):
            key = token.encode(self.encoding) if is_text and token is not None else token
            self._nt_counts.pop(key, None)
        by_count = sorted(self._nt_counts.items(), key=lambda x: (x[1], x[0]), reverse=True)
        keys = [key for key, _ in by_count]
        if self.max_tokens:
            keys = keys[: self.max_tokens - self._nt_token_start()]
        self._nt_set_tokens([key.decode(self.encoding) for key in keys] if is_text else keys)
        if self.output_mode == "tf_idf":
            counts = np.array([self._nt_document_counts[key] for key in keys], np.int64)
            weights = np.log(1 + self._nt_document_count / (1 + counts)).astype(np.float32)
            self._nt_set_weights(weights, self._nt_token_start())
        self.reset_state()

    def reset_state(self) -> None:
        """Drop the counts of tokens."""
        self._nt_counts: Counter[Any] = Counter()
        self._nt_document_counts: Counter[Any] = Counter()
        self._nt_document_count = 0

    # --- A call ------------------------------------------------------------------------------

    @property
    def compute_dtype(self) -> str:
        """The dtype of the vocabulary."""
        return self.vocabulary_dtype

    @property
    def variable_dtype(self) -> str:
        """The dtype of the vocabulary."""
        return self.vocabulary_dtype

    def call(self, inputs: Any) -> Any:
        """Look up tokens, or indices if the layer is inverted."""
        has_fixed_size = self.output_mode == "int" or self.pad_to_max_tokens
        if not has_fixed_size and self._nt_frozen_size is None:
            raise RuntimeError(
                f"When using `output_mode={self.output_mode}` and `pad_to_max_tokens=False`, you "
                f"must set the layer's vocabulary before calling it. Either pass a `vocabulary` "
                f"argument to the layer, or call `adapt` with some sample data."
            )
        tensor = to_tensor_like(inputs, self._nt_key_dtype)
        indices = _map_values(tensor, self._nt_look_up)
        if self.output_mode == "int":
            return indices
        depth = self.max_tokens if self.pad_to_max_tokens else self._nt_frozen_size
        assert depth is not None
        if self.output_mode != "tf_idf":
            return encode(indices, self.output_mode, depth, self._nt_value_dtype, self.sparse)
        if self._nt_weights is None:
            raise ValueError("When `output_mode` is `'tf_idf'`, `idf_weights` must be provided.")
        counts = encode(indices, "count", depth, as_dtype("float32"))
        result = counts * self._nt_weights
        if self.sparse:
            from ...sparse import from_dense

            return from_dense(result)
        return result

    def _nt_look_up(self, inputs: Any) -> Any:
        """Look up the elements of a dense tensor."""
        if not self._nt_has_vocabulary:
            raise FailedPreconditionError(
                "Table not initialized: the layer has no vocabulary. Pass `vocabulary`, or call "
                "`adapt` or `set_vocabulary` first. `clone_model` copies no adapted vocabulary."
            )
        indices = self._nt_table.lookup(inputs)
        if self.mask_token is not None:
            key, value = (0, self.mask_token) if self.invert else (self.mask_token, 0)
            if self.output_mode != "int":
                value = _DROPPED
            is_masked = inputs == convert_to_tensor(key, self._nt_key_dtype)
            indices = indexing.where(
                is_masked, convert_to_tensor(value, self._nt_value_dtype), indices
            )
        if self.invert:
            return indices
        if self.num_oov_indices == 0:
            is_absent = indices == -1
            if bool(np.asarray(is_absent).any()):
                absent = np.asarray(inputs)[np.asarray(is_absent)]
                raise InvalidArgumentError(
                    f"When `num_oov_indices=0` all inputs should be in vocabulary, found OOV "
                    f"values {absent}, consider setting `num_oov_indices=1`."
                )
        elif self.num_oov_indices > 1:
            oov = self._nt_oov_indices(inputs) + self._nt_oov_start()
            indices = indexing.where(indices == -1, oov, indices)
        return indices

    def _nt_oov_indices(self, inputs: Any) -> Any:
        """Return the index among those of unknown tokens."""
        if self._nt_key_dtype.is_integer:
            if self.oov_method != "farmhash":
                return elementwise.cast(arithmetic.floormod(inputs, self.num_oov_indices), "int64")
            inputs = as_string(inputs)
        if self.salt is not None:
            return to_hash_bucket_strong(inputs, self.num_oov_indices, key=self.salt)
        return to_hash_bucket_fast(inputs, self.num_oov_indices)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs, with an axis of the tokens unless the mode is "int"."""
        depth = self.max_tokens if self.pad_to_max_tokens else self._nt_frozen_size
        return encoded_shape(tuple(input_shape), self.output_mode, depth)

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return the symbolic output."""
        dtype = "float32"
        if self.output_mode == "int":
            dtype = self._nt_value_dtype.name
        return KerasTensor(self.compute_output_shape(inputs.shape), dtype=dtype)

    # --- Files -------------------------------------------------------------------------------

    def save_own_variables(self, store: Any) -> None:
        """Store the document frequencies.

        Args:
          store: A mapping from names to arrays.
        """
        if self.output_mode == "tf_idf" and self._nt_weights is not None:
            store["idf_weights"] = self._nt_weights.numpy()

    def load_own_variables(self, store: Any) -> None:
        """Restore the document frequencies.

        Args:
          store: A mapping from names to arrays.
        """
        if self.output_mode == "tf_idf" and "idf_weights" in store:
            self._nt_weights = from_owned_array(np.array(store["idf_weights"], np.float32))

    def save_assets(self, dir_path: str) -> None:
        """Write the vocabulary to a file, unless it is in the configuration.

        Args:
          dir_path: The folder.
        """
        if self.input_vocabulary is None:
            text = "\n".join(map(str, self.get_vocabulary()))
            Path(dir_path, "vocabulary.txt").write_text(text, "utf-8")

    def load_assets(self, dir_path: str) -> None:
        """Read the vocabulary that `save_assets` wrote.

        Args:
          dir_path: The folder.
        """
        if self.input_vocabulary is not None or dir_path is None:
            return
        lines = Path(dir_path, "vocabulary.txt").read_text("utf-8").splitlines()
        while lines and lines[-1] == "":
            lines.pop()
        if len(lines) <= self._nt_token_start() and not any(lines[self._nt_token_start() :]):
            return  # the layer had no vocabulary yet
        words = lines if self.vocabulary_dtype == "string" else list(map(int, lines))
        weights = None if self._nt_weights is None else self._nt_weights.numpy()
        self.set_vocabulary(words, weights)


def _documents_of(tensor: Any) -> list[list[Any]]:
    """Return the tokens of each row of a tensor of any kind."""
    if isinstance(tensor, RaggedTensor):
        return [list(_flat(row)) for row in tensor.to_list()]
    if isinstance(tensor, Composite) and hasattr(tensor, "indices"):
        return [np.asarray(tensor.values).tolist()]  # type: ignore[attr-defined]
    array = np.asarray(tensor)
    if array.ndim < 2:
        return [array.ravel().tolist()]
    return [row.ravel().tolist() for row in array]


def _flat(values: Any) -> Iterable[Any]:
    if isinstance(values, list):
        for value in values:
            yield from _flat(value)
    else:
        yield values


@document(
    "ValueError: If an option is invalid, or contradicts another.",
    **LOOKUP_ARGUMENTS,
    encoding="The encoding of the vocabulary.",
)
class StringLookup(IndexLookup):
    """Map strings to their indices in a vocabulary, or back.

    >>> layer = tf.keras.layers.StringLookup(vocabulary=["a", "b", "c"])
    >>> layer([["a", "c"], ["d", "b"]]).numpy()
    array([[1, 3],
           [0, 2]])
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str | None = "[UNK]",
        vocabulary: Sequence[str] | StringLike | str | None = None,
        idf_weights: ArrayLike | None = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        sparse: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        salt: int | Sequence[int] | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("vocabulary_dtype", None)
        object.__setattr__(self, "encoding", encoding)
        super().__init__(
            max_tokens,
            num_oov_indices,
            mask_token,
            oov_token,
            "string",
            vocabulary,
            idf_weights,
            invert,
            output_mode,
            sparse,
            pad_to_max_tokens,
            name=name,
            salt=salt,
            **kwargs,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = super().get_config() | {"encoding": self.encoding}
        del config["vocabulary_dtype"]
        return config


@document(
    "ValueError: If an option is invalid, or contradicts another.",
    **LOOKUP_ARGUMENTS,
    vocabulary_dtype='The dtype of the vocabulary: "int64".',
    oov_method='How the index of an unknown integer is computed: "floormod" for the remainder, '
    '"farmhash" for a hash.',
)
class IntegerLookup(IndexLookup):
    """Map integers to their indices in a vocabulary, or back.

    >>> layer = tf.keras.layers.IntegerLookup(vocabulary=[12, 36, 1138])
    >>> layer(np.array([[12, 1138], [7, 36]])).numpy()
    array([[1, 3],
           [0, 2]])
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int | None = -1,
        vocabulary: ArrayLike | TensorLike | str | None = None,
        vocabulary_dtype: str = "int64",
        idf_weights: ArrayLike | None = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        oov_method: str = "floormod",
        salt: int | Sequence[int] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if max_tokens is not None and max_tokens <= 1:
            raise ValueError(
                f"If `max_tokens` is set for `IntegerLookup`, it must be greater than 1. Received: "
                f"max_tokens={max_tokens}"
            )
        if num_oov_indices < 0:
            raise ValueError(
                f"The value of `num_oov_indices` argument for `IntegerLookup` must >= 0. Received: "
                f"num_oov_indices={num_oov_indices}"
            )
        if vocabulary_dtype != "int64":
            raise ValueError(
                f"Only `vocabulary_dtype='int64'` is supported at this time. Received: "
                f"vocabulary_dtype={vocabulary_dtype}"
            )
        super().__init__(
            max_tokens,
            num_oov_indices,
            mask_token,
            oov_token,
            vocabulary_dtype,
            vocabulary,
            idf_weights,
            invert,
            output_mode,
            sparse,
            pad_to_max_tokens,
            oov_method,
            name,
            salt,
            **kwargs,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = super().get_config()
        for name in ("oov_token", "mask_token"):
            if config[name] is not None:
                config[name] = int(config[name])
        if config["vocabulary"] is not None:
            config["vocabulary"] = [int(token) for token in config["vocabulary"]]
        return config
