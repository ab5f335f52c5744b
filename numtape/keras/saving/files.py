"""Save and load models (``.keras``) and weights (``.weights.safetensors``).

A ``.keras`` file is an uncompressed zip of ``config.json`` and ``model.weights.safetensors``.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any

from ...compat.traceback_filter import warn
from ...core.values.dtypes import repr_of
from ...errors import DataLossError, NotFoundError, UnimplementedError
from ...train.arrays import SUFFIX, pack, read, unpack, write
from ...train.checkpoint import Checkpoint
from ...train.parts import ObjectGraph, check_nodes
from ...train.restoring import Restoration
from ..metrics.metric import Metric
from ..models import Model
from ..optimizers import Optimizer
from ..registry import custom_object_scope
from .objects import compile_config, compile_from, deserialize_keras_object, serialize_keras_object

Path = str | os.PathLike[str]

_CONFIG, _WEIGHTS = "config.json", f"model.weights{SUFFIX}"
_VERSION = 1


def _checked_path(filepath: Path, endings: tuple[str, ...], overwrite: bool | None = None) -> str:
    """Return the path after checking its ending and, if ``overwrite`` is False, its absence.

    Raises:
      ValueError: If the path has another ending.
      FileExistsError: If the file exists and ``overwrite`` is False.
    """
    path = os.fspath(filepath)
    if not path.endswith(endings):
        suffix = os.path.splitext(path)[1]
        hint = ""
        if suffix in (".h5", ".hdf5"):
            better = path.removesuffix(suffix).removesuffix(".weights") + endings[0]
            hint = f" numtape does not read or write HDF5: use {os.path.basename(better)!r}."
        raise ValueError(
            f"The filename must end in {' or '.join(f'`{x}`' for x in endings)}. Received: "
            f"filepath={path}.{hint}"
        )
    if overwrite is False and os.path.exists(path):
        raise FileExistsError(f"The file {path} exists and overwrite=False.")
    return path


# --- Weights --------------------------------------------------------------------------------------


def _root(model: Model) -> Checkpoint:
    """Return the root of the names in a file: the model, and its optimizer if any."""
    if isinstance(model.optimizer, Optimizer):
        return Checkpoint(model=model, optimizer=model.optimizer)
    return Checkpoint(model=model)


def _pack(model: Model) -> bytes:
    """Serialize the variables of a model, and of its optimizer if any."""
    root = _root(model)
    graph = ObjectGraph(root, Metric)  # as in Keras, without the state of metrics
    arrays = {key: v._current_tensor()._array() for key, v in graph.variables.items()}
    return pack(arrays, {"weights": graph.nodes})


def _restore(model: Model, content: bytes, where: str, skip_mismatch: bool = False) -> None:
    """Restore a model's variables; if one does not match, change none."""
    arrays, description = unpack(content, where)
    if not isinstance(description, dict) or "weights" not in description:
        raise DataLossError(
            f"{where} is a checkpoint, not a weights file: read it with tf.train.Checkpoint."
        )
    nodes = check_nodes(description["weights"], arrays, where)
    optimizer_node = nodes[nodes[0]["optimizer"]] if "optimizer" in nodes[0] else {}
    if optimizer_node.keys() - {"_iterations", "_learning_rate"} and model.trainable_variables:
        if not getattr(model.optimizer, "built", True):
            model.optimizer.build(model.trainable_variables)
    skipped_names: list[str] = []
    full = ObjectGraph(model, (Metric, Optimizer)).variables.values()
    Restoration(where, nodes, arrays, Metric).begin(
        [_root(model)], None if skip_mismatch else full, skipped_names if skip_mismatch else None
    )
    if skipped_names:
        warn(
            f"A total of {len(skipped_names)} variables could not be loaded. "
            f"Example: {skipped_names[0]}"
        )


def save_weights(
    model: Model, filepath: Path, overwrite: bool = True, max_shard_size: float | None = None
) -> None:
    """Save all variables of a model: see `Model.save_weights`.

    Args:
      model: A model.
      filepath: A path that ends in ``.weights.safetensors`` or ``.safetensors``.
      overwrite: Whether to replace an existing file.
      max_shard_size: Must be None.

    Raises:
      ValueError: If the path has another ending, or the model is not built.
      FileExistsError: If the file exists and ``overwrite`` is False.

    Example:
      >>> import os, tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> folder = tempfile.mkdtemp()
      >>> tf.keras.saving.save_weights(model, folder + "/model.weights.safetensors")
      >>> os.listdir(folder)
      ['model.weights.safetensors']
    """
    if max_shard_size is not None:
        raise ValueError("max_shard_size must be None: weights are saved in one file.")
    path = _checked_path(filepath, (".weights.safetensors", SUFFIX), overwrite)
    _check_built(model, "saving")
    write(path, _pack(model))


def _check_built(model: Model, verb: str) -> None:
    if not model.built:
        raise ValueError(
            f"You are {verb} the weights of a model that has not yet been built. Try building the "
            f"model first by calling it on some data or by using `build()`."
        )


def load_weights(model: Model, filepath: Path, skip_mismatch: bool = False) -> None:
    """Load all variables of a model from a file: see `Model.load_weights`.

    Args:
      model: A model.
      filepath: A file written by `save_weights` or `save_model`.
      skip_mismatch: Whether to skip variables that do not match, with a warning.

    Raises:
      ValueError: If the path has another ending, the file does not match the model, or the model
        is not built.
      NotFoundError: If the file does not exist.
      DataLossError: If the file is truncated or changed, or was not written by numtape.

    Example:
      >>> import tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> path = tempfile.mkdtemp() + "/model.weights.safetensors"
      >>> model.save_weights(path)
      >>> model.set_weights([np.zeros((3, 2)), np.ones(2)])
      >>> tf.keras.saving.load_weights(model, path)
      >>> model.get_weights()[1].tolist()
      [0.0, 0.0]
    """
    path = _checked_path(filepath, (".weights.safetensors", SUFFIX, ".keras"))
    content = read(path)
    if path.endswith(".keras"):
        content = _members(content, path)[_WEIGHTS]
    _check_built(model, "loading")
    _restore(model, content, path, skip_mismatch)


# --- Models ---------------------------------------------------------------------------------------


def save_model(
    model: Model, filepath: Path, overwrite: bool = True, zipped: bool | None = None
) -> None:
    """Save a model: see `Model.save`.

    Args:
      model: A model.
      filepath: A path that ends in ``.keras``.
      overwrite: Whether to replace an existing file.
      zipped: Must be None or True.

    Raises:
      ValueError: If the path has another ending.
      FileExistsError: If the file exists and ``overwrite`` is False.
      NotImplementedError: If a part of the model has no ``get_config``.

    Example:
      >>> import os, tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> folder = tempfile.mkdtemp()
      >>> tf.keras.models.save_model(model, folder + "/model.keras")
      >>> os.listdir(folder)
      ['model.keras']
    """
    if zipped is False:
        raise ValueError("zipped must not be False: a model is saved in one file.")
    path = _checked_path(filepath, (".keras",), overwrite)
    config = {
        "numtape": _VERSION,
        "model": serialize_keras_object(model),
        "compile_config": compile_config(model),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in ((_CONFIG, json.dumps(config).encode()), (_WEIGHTS, _pack(model))):
            archive.writestr(zipfile.ZipInfo(name), content)  # no time stamp: reproducible bytes
    write(path, buffer.getvalue())


def _members(content: bytes, where: str) -> dict[str, bytes]:
    """Return the members of a ``.keras`` file, by name.

    Raises:
      DataLossError: If the file is truncated or changed, or was not written by numtape.
      UnimplementedError: If Keras wrote it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if sorted(names) == sorted((_CONFIG, _WEIGHTS)):
                if any(x.compress_type != zipfile.ZIP_STORED for x in archive.infolist()):
                    raise ValueError("it is compressed")
                return {name: archive.read(name) for name in names}
    except (
        zipfile.BadZipFile,
        ValueError,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
    ) as error:
        raise DataLossError(
            f"{where} cannot be read: it is truncated or changed, or was not written by numtape "
            f"({error})."
        ) from None
    if "model.weights.h5" in names:
        raise UnimplementedError(
            f"{where} was written by Keras: its weights are HDF5, which numtape does not read. In "
            f"Keras, save them with np.savez(name, *model.get_weights()), and pass them to "
            f"`set_weights`."
        )
    raise DataLossError(f"{where} is a zip file, but not a model written by numtape.")


def load_model(
    filepath: Path,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """Load a model saved by `Model.save`.

    Args:
      filepath: The path.
      custom_objects: Classes and functions, by name, besides those registered with
        `register_keras_serializable`.
      compile: Whether to compile the model as it was, with the optimizer's state.
      safe_mode: Must be True: loading never executes code from a file.

    Returns:
      A model.

    Raises:
      ValueError: If the path has another ending, or a class does not accept its arguments.
      TypeError: If a class or function is unknown.
      NotFoundError: If the file does not exist.
      DataLossError: If the file is truncated or changed, or was not written by numtape.
      UnimplementedError: If Keras or a later numtape wrote it.

    Example:
      >>> import tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> path = tempfile.mkdtemp() + "/model.keras"
      >>> model.save(path)
      >>> tf.keras.models.load_model(path).count_params()
      8
    """
    path = _checked_path(filepath, (".keras",))
    try:
        content = read(path)
    except NotFoundError:
        raise NotFoundError(
            f"File not found: filepath={path}. Please ensure the file is an accessible `.keras` "
            f"zip file."
        ) from None
    members = _members(content, path)
    try:
        config = json.loads(members[_CONFIG])
        version, model_config = config["numtape"], config["model"]
        compile_config = config["compile_config"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataLossError(f"{path} cannot be read: its config is damaged.") from None
    if version != _VERSION:
        raise UnimplementedError(f"{path} was written by a later numtape (format {version!r}).")
    with custom_object_scope(custom_objects or {}):
        model = deserialize_keras_object(model_config, safe_mode=safe_mode)
        if compile:
            compile_from(model, compile_config)
    _restore(model, members[_WEIGHTS], path)
    return model


def model_from_json(json_string: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """Create a model, with new weights, from the result of `Model.to_json`.

    Args:
      json_string: The result of `Model.to_json`.
      custom_objects: Classes and functions, by name.

    Returns:
      A model.

    Raises:
      ValueError: If the string is not the JSON of a model, or a class rejects its arguments.
      TypeError: If a class or function is unknown.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> tf.keras.models.model_from_json(model.to_json()).count_params()
      8
    """
    try:
        config = json.loads(json_string)
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None
    if not isinstance(config, dict) or "class_name" not in config:
        raise ValueError("The JSON must describe a model, but has no class_name.")
    model = deserialize_keras_object(config, custom_objects)
    if not isinstance(model, Model):
        raise ValueError(f"The JSON must describe a model, got {repr_of(model)}.")
    return model
