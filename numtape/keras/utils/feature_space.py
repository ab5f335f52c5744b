"""`FeatureSpace`: prepares the columns of a table for a model, each by its type.

A feature has a preprocessing layer, such as `StringLookup` or `Normalization`, and an output mode.
`FeatureSpace.adapt` lets the layers learn from data, and a call encodes a batch of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...composites.ragged_tensor import RaggedTensor
from ...core.ops import elementwise, joining, movement
from ...core.ops.creation import convert_to_tensor
from ...core.values.composite import Composite
from ...core.values.dtypes import as_dtype
from ...core.values.tensor import Tensor
from ...data import Dataset
from .. import layers
from ..layer import Layer
from ..registry import Configured
from ..symbolic import KerasTensor, auto_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _check_mode(mode: object, modes: Sequence[str]) -> None:
    if mode not in modes:
        raise ValueError(
            f"Invalid value for argument `output_mode`. Expected one of {set(modes)}. Received: "
            f"output_mode={mode}"
        )


class Cross(Configured):
    """Several features whose combinations are hashed.

    Args:
      feature_names: The names of the features.
      crossing_dim: The number of bins.
      output_mode: ``"one_hot"`` or ``"int"``.

    Raises:
      ValueError: If the mode is another one.

    Example:
      >>> tf.keras.utils.FeatureSpace.cross(("a", "b"), 32).name
      'a_X_b'
    """

    def __init__(
        self, feature_names: Iterable[str], crossing_dim: int, output_mode: str = "one_hot"
    ) -> None:
        _check_mode(output_mode, ("int", "one_hot"))
        self.feature_names = tuple(feature_names)
        self.crossing_dim, self.output_mode = crossing_dim, output_mode

    @property
    def name(self) -> str:
        """The names of the features, joined."""
        return "_X_".join(self.feature_names)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return {
            "feature_names": list(self.feature_names),
            "crossing_dim": self.crossing_dim,
            "output_mode": self.output_mode,
        }


class Feature(Configured):
    """A column of a table and how it is encoded.

    Args:
      dtype: The dtype of the column.
      preprocessor: A layer.
      output_mode: ``"one_hot"``, ``"int"`` or ``"float"``.

    Raises:
      ValueError: If the mode is another one.

    Example:
      >>> tf.keras.utils.FeatureSpace.float_rescaled(0.5).output_mode
      'float'
    """

    def __init__(self, dtype: str, preprocessor: Any, output_mode: str) -> None:
        from ..saving import deserialize_keras_object

        _check_mode(output_mode, ("int", "one_hot", "float"))
        if isinstance(preprocessor, dict):
            preprocessor = deserialize_keras_object(preprocessor)
        self.dtype, self.preprocessor, self.output_mode = dtype, preprocessor, output_mode

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        from ..saving import serialize_keras_object

        return {
            "dtype": self.dtype,
            "preprocessor": serialize_keras_object(self.preprocessor),
            "output_mode": self.output_mode,
        }


class FeatureSpace(Layer):
    """Encode the columns of a table for a model.

    The type of a feature is ``"float"``, ``"float_normalized"``, ``"float_rescaled"``,
    ``"float_discretized"``, ``"integer_categorical"``, ``"string_categorical"``,
    ``"integer_hashed"`` or ``"string_hashed"``, or the result of the method of that name, which
    takes options. `feature` makes one of any preprocessing layer.

    `adapt` learns vocabularies and moments from data. Then the space can be called with a dict of
    columns, mapped over a dataset, or be part of a model: from `get_inputs` to
    `get_encoded_features`.

    Args:
      features: The types of the features, by name.
      output_mode: ``"concat"`` for one vector, or ``"dict"`` for a dict of encoded features.
      crosses: Tuples of names of features, whose combinations are hashed; or results of `cross`.
      crossing_dim: The number of bins of crosses.
      hashing_dim: The number of bins of hashed features.
      num_discretization_bins: The number of bins of discretized features.
      name: The name.

    Raises:
      ValueError: If there are no features, an option is invalid, or a cross names an unknown
        feature.

    Example:
      >>> space = tf.keras.utils.FeatureSpace(
      ...     {"size": "float", "color": "string_categorical"}, output_mode="concat")
      >>> space.adapt({"size": [1.0, 2.0], "color": ["red", "blue"]})
      >>> space({"size": [5.0], "color": ["blue"]}).numpy()
      array([[0., 0., 1., 5.]], dtype=float32)
    """

    def __init__(
        self,
        features: Mapping[str, Any],
        output_mode: str = "concat",
        crosses: Sequence[Any] | None = None,
        crossing_dim: int = 32,
        hashing_dim: int = 32,
        num_discretization_bins: int = 32,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        if not features:
            raise ValueError("The `features` argument cannot be None or empty.")
        self.crossing_dim, self.hashing_dim = crossing_dim, hashing_dim
        self.num_discretization_bins = num_discretization_bins
        self.features = {key: self._nt_to_feature(key, x) for key, x in features.items()}
        self.crosses = [self._nt_to_cross(x, features) for x in crosses or ()]
        _check_mode(output_mode, ("concat", "dict"))
        self.output_mode = output_mode
        self.crosses_by_name = {cross.name: cross for cross in self.crosses}
        self.inputs = {
            key: layers.Input(shape=(1,), dtype=feature.dtype, name=key)
            for key, feature in self.features.items()
        }
        self.preprocessors = {key: x.preprocessor for key, x in self.features.items()}
        self.crossers = {
            cross.name: layers.HashedCrossing(cross.crossing_dim, name=cross.name)
            for cross in self.crosses
        }
        self.one_hot_encoders: dict[str, Any] = {}
        self.encoded_features: Any = None
        self._nt_is_adapted = False

    # --- Kinds of features -------------------------------------------------------------------

    @classmethod
    def cross(
        cls, feature_names: Iterable[str], crossing_dim: int, output_mode: str = "one_hot"
    ) -> Cross:
        """Return a cross of features.

        Args:
          feature_names: The names of the features.
          crossing_dim: The number of bins.
          output_mode: ``"one_hot"`` or ``"int"``.

        Example:
          >>> tf.keras.utils.FeatureSpace.cross(("a", "b"), 32, output_mode="int").crossing_dim
          32
        """
        return Cross(feature_names, crossing_dim, output_mode)

    @classmethod
    def feature(cls, dtype: str, preprocessor: Any, output_mode: str) -> Feature:
        """Return a feature with any preprocessing layer.

        Args:
          dtype: The dtype of the column.
          preprocessor: The layer.
          output_mode: ``"one_hot"``, ``"int"`` or ``"float"``.

        Example:
          >>> layer = tf.keras.layers.TextVectorization(output_mode="tf_idf")
          >>> tf.keras.utils.FeatureSpace.feature("string", layer, "float").dtype
          'string'
        """
        return Feature(dtype, preprocessor, output_mode)

    @classmethod
    def float(cls, name: str | None = None) -> Feature:
        """Return a feature of floats that are used as they are.

        Args:
          name: The beginning of the layer's name.

        Example:
          >>> tf.keras.utils.FeatureSpace.float().dtype
          'float32'
        """
        return cls._nt_make("float", name, layers.Identity, "float32", "float", {})

    @classmethod
    def float_rescaled(
        cls, scale: Any = 1.0, offset: Any = 0.0, name: str | None = None
    ) -> Feature:
        """Return a feature of floats that are multiplied and shifted.

        Args:
          scale: The factor.
          offset: The number to add.
          name: The beginning of the layer's name.

        Example:
          >>> tf.keras.utils.FeatureSpace.float_rescaled(1 / 255).output_mode
          'float'
        """
        options = {"scale": scale, "offset": offset}
        return cls._nt_make("float_rescaled", name, layers.Rescaling, "float32", "float", options)

    @classmethod
    def float_normalized(cls, name: str | None = None) -> Feature:
        """Return a feature of floats that get mean 0 and variance 1.

        Args:
          name: The beginning of the layer's name.

        Example:
          >>> tf.keras.utils.FeatureSpace.float_normalized().dtype
          'float32'
        """
        options = {"axis": -1}
        return cls._nt_make(
            "float_normalized", name, layers.Normalization, "float32", "float", options
        )

    @classmethod
    def float_discretized(
        cls,
        num_bins: int,
        bin_boundaries: Sequence[Any] | None = None,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Return a feature of floats that are put into bins.

        Args:
          num_bins: The number of bins.
          bin_boundaries: The boundaries; None to learn them.
          output_mode: ``"one_hot"`` or ``"int"``.
          name: The beginning of the layer's name.

        Example:
          >>> tf.keras.utils.FeatureSpace.float_discretized(5).preprocessor.num_bins
          5
        """
        options = {"num_bins": num_bins, "bin_boundaries": bin_boundaries}
        return cls._nt_make(
            "float_discretized", name, layers.Discretization, "float32", output_mode, options
        )

    @classmethod
    def integer_categorical(
        cls,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Return a feature of integers with a vocabulary.

        Args:
          max_tokens: The maximum size of the vocabulary; None for any size.
          num_oov_indices: The number of indices for unknown integers.
          output_mode: ``"one_hot"`` or ``"int"``.
          name: The beginning of the layer's name.

        Example:
          >>> tf.keras.utils.FeatureSpace.integer_categorical(10).dtype
          'int32'
        """
        options = {"max_tokens": max_tokens, "num_oov_indices": num_oov_indices}
        return cls._nt_make(
            "integer_categorical", name, layers.IntegerLookup, "int32", output_mode, options
        )

    @classmethod
    def string_categorical(
        cls,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Return a feature of strings with a vocabulary.

        Args:
          max_tokens: The maximum size of the vocabulary; None for any size.
          num_oov_indices: The number of indices for unknown strings.
          output_mode: ``"one_hot"`` or ``"int"``.
          name: The beginning of the layer's name.

        Example:
          >>> tf.keras.utils.FeatureSpace.string_categorical(10).dtype
          'string'
        """
        options = {"max_tokens": max_tokens, "num_oov_indices": num_oov_indices}
        return cls._nt_make(
            "string_categorical", name, layers.StringLookup, "string", output_mode, options
        )

    @classmethod
    def string_hashed(
        cls, num_bins: int, output_mode: str = "one_hot", name: str | None = None
    ) -> Feature:
        """Return a feature of strings that are put into bins by their hash.

        Args:
          num_bins: The number of bins.
          output_mode: ``"one_hot"`` or ``"int"``.
          name: The beginning of the layer's name.

        Example:
          >>> tf.keras.utils.FeatureSpace.string_hashed(8).preprocessor.num_bins
          8
        """
        options = {"num_bins": num_bins}
        return cls._nt_make("string_hashed", name, layers.Hashing, "string", output_mode, options)

    @classmethod
    def integer_hashed(
        cls, num_bins: int, output_mode: str = "one_hot", name: str | None = None
    ) -> Feature:
        """Return a feature of integers that are put into bins by their hash.

        Args:
          num_bins: The number of bins.
          output_mode: ``"one_hot"`` or ``"int"``.
          name: The beginning of the layer's name.

        Example:
          >>> tf.keras.utils.FeatureSpace.integer_hashed(8).dtype
          'int32'
        """
        options = {"num_bins": num_bins}
        return cls._nt_make("integer_hashed", name, layers.Hashing, "int32", output_mode, options)

    @classmethod
    def _nt_make(
        cls, kind: str, name: str | None, layer: Any, dtype: str, mode: str, options: dict[str, Any]
    ) -> Feature:
        prefix = name or auto_name(kind)
        return Feature(dtype, layer(name=f"{prefix}_preprocessor", **options), mode)

    def _nt_to_feature(self, name: str, feature: Any) -> Feature:
        from ..saving import deserialize_keras_object

        if isinstance(feature, Feature):
            return feature
        if isinstance(feature, dict):
            result: Feature = deserialize_keras_object(feature)
            return result
        makers = {
            "float": self.float,
            "float_rescaled": self.float_rescaled,
            "float_normalized": self.float_normalized,
            "float_discretized": self.float_discretized,
            "integer_categorical": self.integer_categorical,
            "string_categorical": self.string_categorical,
            "integer_hashed": self.integer_hashed,
            "string_hashed": self.string_hashed,
        }
        sizes = {
            "float_discretized": self.num_discretization_bins,
            "integer_hashed": self.hashing_dim,
            "string_hashed": self.hashing_dim,
        }
        maker: Any = makers.get(feature)
        if maker is None:
            raise ValueError(f"Invalid feature type: {feature}")
        return maker(sizes[feature], name=name) if feature in sizes else maker(name=name)  # type: ignore[no-any-return]

    def _nt_to_cross(self, cross: Any, features: Mapping[str, Any]) -> Cross:
        from ..saving import deserialize_keras_object

        if isinstance(cross, dict):
            cross = deserialize_keras_object(cross)
        if isinstance(cross, Cross):
            return cross
        if not self.crossing_dim:
            raise ValueError(
                "When specifying `crosses`, the argument `crossing_dim` (dimensionality of the "
                "crossing space) should be specified as well."
            )
        for key in cross:
            if key not in features:
                raise ValueError(
                    f"All features referenced in the `crosses` argument should be present in the "
                    f"`features` dict. Received unknown features: {cross}"
                )
        return Cross(cross, self.crossing_dim)

    # --- Learning ----------------------------------------------------------------------------

    def _nt_adaptable(self) -> list[str]:
        """Return the names of the features whose layers learn from data."""
        names = []
        for name, layer in self.preprocessors.items():
            is_fixed = getattr(layer, "input_mean", None) is not None
            lookup = getattr(layer, "_nt_lookup", layer)
            is_fixed |= isinstance(layer, layers.TextVectorization) and lookup._nt_is_static
            if hasattr(layer, "adapt") and not is_fixed:
                names.append(name)
        return names

    def adapt(self, dataset: Dataset | Mapping[str, ArrayLike], verbose: int = 1) -> None:
        """Let the preprocessing layers learn from data.

        Args:
          dataset: A dataset of dicts of columns, batched or not, or a dict of columns.
          verbose: Accepted for compatibility with Keras; not used.

        Raises:
          ValueError: If the data is of another kind.

        Example:
          >>> space = tf.keras.utils.FeatureSpace({"x": "float_normalized"})
          >>> space.adapt({"x": [1.0, 3.0]})
          >>> space({"x": [5.0]}).numpy()
          array([[3.]], dtype=float32)
        """
        if isinstance(dataset, Mapping):
            dataset = Dataset.from_tensor_slices(dict(dataset))
        if not isinstance(dataset, Dataset):
            raise ValueError(
                f"`adapt()` can only be called on a tf.data.Dataset or a dict of arrays/lists. "
                f"Received instead: {dataset} (of type {type(dataset)})"
            )
        names = self._nt_adaptable()
        if names:
            first: Any = next(iter(dataset))
            if not len(first[names[0]].shape):
                dataset = dataset.batch(32)
        streaming = [name for name in names if hasattr(self.preprocessors[name], "update_state")]
        for name in streaming:
            self.preprocessors[name].reset_state()
        if streaming:
            for batch in dataset:
                for name in streaming:
                    self.preprocessors[name].update_state(_as_matrix(batch[name]))
            for name in streaming:
                self.preprocessors[name].finalize_state()
        for name in names:
            if name not in streaming:
                column = [_as_matrix(batch[name]) for batch in dataset]
                self.preprocessors[name].adapt(column)
        self._nt_is_adapted = True
        self._nt_make_encoders()

    def _nt_make_encoders(self) -> None:
        """Make the remaining layers, by a symbolic call."""
        if self.encoded_features is not None:
            return
        if not self._nt_is_adapted:
            if self._nt_adaptable():
                raise ValueError(
                    "You need to call `.adapt(dataset)` on the FeatureSpace before you can start "
                    "using it."
                )
            self._nt_is_adapted = True
        self.encoded_features = self._nt_encode(self.inputs)
        self.built = True

    def get_inputs(self) -> dict[str, KerasTensor]:
        """Return a symbolic input for each feature.

        Raises:
          ValueError: If the space has to be adapted first.

        Example:
          >>> tf.keras.utils.FeatureSpace({"x": "float"}).get_inputs()["x"].shape
          (None, 1)
        """
        self._nt_make_encoders()
        return self.inputs

    def get_encoded_features(self) -> Any:
        """Return the symbolic encoding of `get_inputs`.

        Raises:
          ValueError: If the space has to be adapted first.

        Example:
          >>> tf.keras.utils.FeatureSpace({"x": "float", "y": "float"}).get_encoded_features().shape
          (None, 2)
        """
        self._nt_make_encoders()
        return self.encoded_features

    # --- A call ------------------------------------------------------------------------------

    def _nt_encode(self, columns: Mapping[str, Any]) -> Any:
        """Encode columns: tensors or symbolic ones."""
        encoded: dict[str, Any] = {}
        for name, column in columns.items():
            if as_dtype(self.features[name].dtype).is_floating and isinstance(column, Tensor):
                column = elementwise.cast(column, "float32")
            encoded[name] = self.preprocessors[name](column)
        crossed = {
            cross.name: self.crossers[cross.name]([encoded[name] for name in cross.feature_names])
            for cross in self.crosses
        }
        results = {}
        for parts, specs in ((encoded, self.features), (crossed, self.crosses_by_name)):
            for name in sorted(parts):
                results[name] = self._nt_encode_one(name, parts[name], specs[name])
        if self.output_mode == "dict":
            return results
        values = list(results.values())
        if any(isinstance(x, KerasTensor) for x in values):
            return layers.Concatenate(axis=-1)(values) if len(values) > 1 else values[0]
        return joining.concat(values, -1)

    def _nt_encode_one(self, name: str, feature: Any, spec: Any) -> Any:
        """Encode the integers of a feature as vectors if its mode says so."""
        if spec.output_mode == "one_hot":
            if name not in self.one_hot_encoders:
                encoder = layers.CategoryEncoding(
                    self._nt_cardinality(name, feature), output_mode="multi_hot"
                )
                self.one_hot_encoders = {**self.one_hot_encoders, name: encoder}
            feature = self.one_hot_encoders[name](feature)
        dtype = as_dtype(feature.dtype)
        if self.output_mode == "concat" and (dtype.is_integer or dtype.name == "string"):
            raise ValueError(
                f"Cannot concatenate features because feature '{name}' has not been encoded (it "
                f"has dtype {dtype.name}). Consider using `output_mode='dict'`."
            )
        return feature

    def _nt_cardinality(self, name: str, feature: Any) -> int:
        """Return the number of integers that a layer returns."""
        layer = self.preprocessors.get(name) or self.crossers.get(name)
        dtype = as_dtype(feature.dtype)
        if not dtype.is_integer:
            raise ValueError(
                f"Feature '{name}' has `output_mode='one_hot'`. Thus its preprocessor should "
                f"return an integer dtype. Instead it returns a {dtype.name} dtype."
            )
        if isinstance(layer, layers.IntegerLookup | layers.StringLookup):
            return layer.vocabulary_size()
        for attribute in ("num_tokens", "num_bins"):
            if hasattr(layer, attribute):
                size: int = getattr(layer, attribute)
                return size
        raise ValueError(
            f"Feature '{name}' has `output_mode='one_hot'`. However it isn't a standard feature "
            f"and the dimensionality of its output space is not known, thus it cannot be one-hot "
            f"encoded. Try using `output_mode='int'`."
        )

    def __call__(self, data: Mapping[str, Any]) -> Any:
        """Encode a dict of columns, or of the values of one row."""
        self._nt_make_encoders()
        if not isinstance(data, Mapping):
            raise ValueError(
                f"A FeatureSpace can only be called with a dict. Received: data={data} (of type "
                f"{type(data)}"
            )
        is_row = False
        columns = {}
        for name, value in data.items():
            x: Any = value if isinstance(value, Tensor | Composite) else convert_to_tensor(value)
            is_row |= not len(x.shape)
            columns[name] = movement.reshape(x, (1, 1)) if not len(x.shape) else _as_matrix(x)
        encoded = self._nt_encode(columns)
        if not is_row:
            return encoded
        if self.output_mode == "concat":
            return movement.squeeze(encoded, 0)
        return {
            name: movement.squeeze(x, 0) if len(x.shape) == 2 and x.shape[0] == 1 else x
            for name, x in encoded.items()
        }

    # --- Files -------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        from ..saving import serialize_keras_object

        return {
            "features": {k: serialize_keras_object(x) for k, x in self.features.items()},
            "output_mode": self.output_mode,
            "crosses": [serialize_keras_object(x) for x in self.crosses],
            "crossing_dim": self.crossing_dim,
            "hashing_dim": self.hashing_dim,
            "num_discretization_bins": self.num_discretization_bins,
            "name": self.name,
        }

    def get_build_config(self) -> dict[str, Any]:
        """Return how the preprocessing layers were built, by name."""
        return {name: layer.get_build_config() for name, layer in self.preprocessors.items()}

    def build_from_config(self, config: dict[str, Any] | None) -> None:
        """Build the preprocessing layers, which will get the state of adapted ones.

        Args:
          config: The result of `get_build_config`.
        """
        for name, build_config in (config or {}).items():
            if not self.preprocessors[name].built:
                self.preprocessors[name].build_from_config(build_config)
        self._nt_is_adapted = True

    def save_own_variables(self, store: Any) -> None:
        """Store nothing: the layers have the variables.

        Args:
          store: A mapping from names to arrays.
        """

    def load_own_variables(self, store: Any) -> None:
        """Load nothing: the layers have the variables.

        Args:
          store: A mapping from names to arrays.
        """

    def save(self, filepath: str) -> None:
        """Save the space to a file that `keras.models.load_model` loads.

        Args:
          filepath: A path that ends in ``.keras``.

        Example:
          >>> import os, tempfile
          >>> space = tf.keras.utils.FeatureSpace({"x": "float_normalized"})
          >>> space.adapt({"x": [1.0, 3.0]})
          >>> path = os.path.join(tempfile.mkdtemp(), "space.keras")
          >>> space.save(path)
          >>> tf.keras.models.load_model(path)({"x": [5.0]}).numpy()
          array([[3.]], dtype=float32)
        """
        from ..saving import save_model

        save_model(self, filepath)  # type: ignore[arg-type]


def _as_matrix(x: Any) -> Any:
    """Return a column as a matrix of one column; matrices are unchanged."""
    if isinstance(x, RaggedTensor) or len(x.shape) > 1:
        return x
    return movement.expand_dims(x if len(x.shape) else movement.reshape(x, [1]), -1)
