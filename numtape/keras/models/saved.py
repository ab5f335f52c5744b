"""The part of `Model` that goes into files: what it does is in `keras.saving`, which imports it."""

from __future__ import annotations

import json
import os
from types import ModuleType
from typing import Any

Path = str | os.PathLike[str]


class Saved:
    """Methods that write a model, and read its weights."""

    _nt_saving: ModuleType  # set in `keras.saving`

    def save(self, filepath: Path, overwrite: bool = True, zipped: bool | None = None) -> None:
        """Write the model into a file, with its weights and what it was compiled with.

        The optimizer's state is in it, too. The file is a zip of JSON and of arrays (in the format
        of safetensors), written whole or not at all. Nothing in it is code.

        Args:
          filepath: Its name, which ends with ``.keras``.
          overwrite: Whether a file of this name may be replaced.
          zipped: Must be None or True.

        Raises:
          ValueError: If the name has another ending.
          FileExistsError: If there is such a file, and ``overwrite`` is False.
          NotImplementedError: If something has no configuration.

        Example:
          >>> import tempfile
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> path = tempfile.mkdtemp() + "/model.keras"
          >>> model.save(path)
          >>> x = tf.ones((1, 3))
          >>> np.array_equal(tf.keras.models.load_model(path)(x), model(x))
          True
        """
        self._nt_saving.save_model(self, filepath, overwrite, zipped)

    def save_weights(
        self, filepath: Path, overwrite: bool = True, max_shard_size: float | None = None
    ) -> None:
        """Write the values of all variables into a file, those of the optimizer as well.

        Args:
          filepath: Its name, which ends with ``.weights.safetensors`` or ``.safetensors``.
          overwrite: Whether a file of this name may be replaced.
          max_shard_size: Must be None.

        Raises:
          ValueError: If the name has another ending, or the model is not built.
          FileExistsError: If there is such a file, and ``overwrite`` is False.

        Example:
          >>> import tempfile
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> path = tempfile.mkdtemp() + "/model.weights.safetensors"
          >>> model.save_weights(path)
          >>> other = tf.keras.models.clone_model(model)
          >>> other.load_weights(path)
          >>> np.array_equal(other.weights[0], model.weights[0])
          True
        """
        self._nt_saving.save_weights(self, filepath, overwrite, max_shard_size)

    def load_weights(self, filepath: Path, skip_mismatch: bool = False) -> None:
        """Give all variables the values in a file; or, if one does not fit, none.

        Args:
          filepath: What `save_weights` or `save` wrote.
          skip_mismatch: Whether variables that do not fit keep their values, with a warning.

        Raises:
          ValueError: If the name has another ending, variables and values do not fit, or the
            model is not built.
          NotFoundError: If there is no such file.
          DataLossError: If it is cut or changed, or no file that numtape wrote.
        """
        self._nt_saving.load_weights(self, filepath, skip_mismatch)

    def to_json(self, **kwargs: Any) -> str:
        """The model's configuration, without weights, as JSON.

        Args:
          **kwargs: Arguments of `json.dumps`.

        Returns:
          A string, of which `models.model_from_json` makes a model.

        Raises:
          NotImplementedError: If something has no configuration.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> tf.keras.models.model_from_json(model.to_json()).count_params()
          8
        """
        return json.dumps(self._nt_saving.serialize_keras_object(self), **kwargs)

    def get_compile_config(self) -> dict[str, Any]:
        """What `compile` was given.

        Returns:
          A dict that JSON can hold; empty if the model is not compiled.

        Raises:
          NotImplementedError: If something has no configuration.
        """
        result: dict[str, Any] = self._nt_saving.compile_config(self)
        return result

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compile with what `get_compile_config` gave.

        Args:
          config: A dict.
        """
        self._nt_saving.compile_from(self, config)
