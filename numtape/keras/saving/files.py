"""Save and load models (``.keras``, ``.h5``) and weights (``.weights.h5``).

A ``.keras`` file is Keras's: a zip of ``config.json``, ``metadata.json``, ``model.weights.h5`` and
files of layers in ``assets``. Earlier versions of numtape wrote safetensors instead of HDF5; such
files can be read, and ``.weights.safetensors`` files also be written, without h5py.
"""

from __future__ import annotations

import datetime
import io
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path as _Path
from typing import Any

from ...compat.traceback_filter import warn
from ...core.values.dtypes import repr_of
from ...errors import DataLossError, NotFoundError, UnimplementedError
from ...train.arrays import SUFFIX, pack, read, unpack, write
from ...train.checkpoint import Checkpoint
from ...train.parts import ObjectGraph, check_nodes
from ...train.restoring import Restoration
from ..layer import Layer
from ..metrics.metric import Metric
from ..models import Model
from ..optimizers import Optimizer
from ..registry import custom_object_scope, sharing_objects
from . import h5, legacy_h5
from .objects import compile_from, deserialize_keras_object, serialize_keras_object
from .state import ASSETS, asset_files, extract_assets, load_state, save_state

Path = str | os.PathLike[str]

_CONFIG, _METADATA, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
_OLD_WEIGHTS = f"model.weights{SUFFIX}"  # in the files of earlier versions
_VERSION = 1  # of these files
_KERAS_VERSION = "3.15.0"  # whose files these are
_LARGEST_RATIO = 1000  # of the size of a member and its compressed size
_LEGACY = (".h5", ".hdf5")
_WEIGHTS_ENDINGS = (".weights.h5", ".weights.json", ".weights.safetensors", SUFFIX)


def _checked_path(filepath: Path, endings: tuple[str, ...], overwrite: bool | None = None) -> str:
    """Return the path after checking its ending and, if ``overwrite`` is False, its absence.

    Raises:
      ValueError: If the path has another ending.
      FileExistsError: If the file exists and ``overwrite`` is False.
    """
    path = os.fspath(filepath)
    if not path.endswith(endings):
        raise ValueError(
            f"The filename must end in {' or '.join(f'`{x}`' for x in endings)}. Received: "
            f"filepath={path}"
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
    model: Model,
    filepath: Path,
    overwrite: bool = True,
    max_shard_size: float | None = None,
    objects_to_skip: list[Any] | None = None,
) -> None:
    """Save all variables of a model: see `Model.save_weights`.

    Args:
      model: A model.
      filepath: A path that ends in ``.weights.h5``; in ``.weights.json`` with ``max_shard_size``;
        or in ``.weights.safetensors`` or ``.safetensors``, which need no h5py.
      overwrite: Whether to replace an existing file.
      max_shard_size: The largest size of a file in GiB: the weights are saved in several files,
        which the ``.weights.json`` lists. None for one file.
      objects_to_skip: Layers that are not saved; only for HDF5.

    Raises:
      ValueError: If the path has another ending, or the model is not built.
      FileExistsError: If the file exists and ``overwrite`` is False.
      ImportError: If h5py is not installed.

    Example:
      >>> import os, tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> folder = tempfile.mkdtemp()
      >>> tf.keras.saving.save_weights(model, folder + "/model.weights.h5")
      >>> os.listdir(folder)
      ['model.weights.h5']
    """
    if max_shard_size is not None:
        path = _checked_path(filepath, (".weights.h5", ".weights.json"), overwrite)
        if path.endswith(".h5"):
            renamed = path.removesuffix(".h5") + ".json"
            warn(
                f"Saving sharded weights requires `*.json` as the extension. The original path: "
                f"{path} will be renamed to {renamed}."
            )
            path = renamed
    else:
        endings = (".weights.h5", ".weights.safetensors", SUFFIX)
        path = _checked_path(filepath, endings, overwrite)
    _check_built(model, "saving a")
    if path.endswith(SUFFIX):
        if objects_to_skip:
            raise ValueError("objects_to_skip only supports '.weights.h5' files.")
        write(path, _pack(model))
        return
    store = h5.Store()
    save_state(model, store, objects_to_skip=objects_to_skip)
    if max_shard_size is None:
        write(path, h5.pack(store))
    else:
        h5.write_shards(_Path(path), store, max_shard_size)


def _check_built(model: Model, verb: str) -> None:
    if not model.built:
        raise ValueError(
            f"You are {verb} model that has not yet been built. Try building the model first by "
            f"calling it on some data or by using `build()`."
        )


def load_weights(
    model: Model,
    filepath: Path,
    skip_mismatch: bool = False,
    by_name: bool | None = None,
    objects_to_skip: list[Any] | None = None,
    **kwargs: object,
) -> None:
    """Load all variables of a model from a file: see `Model.load_weights`.

    Args:
      model: A model.
      filepath: A file written by `save_weights` or `save_model`, of numtape or Keras.
      skip_mismatch: Whether to skip layers that do not match, with a warning.
      by_name: Whether to match layers by their names; only for legacy ``.h5`` files.
      objects_to_skip: Layers that keep their weights; only for ``.weights.h5`` files.
      **kwargs: Must be empty.

    Raises:
      ValueError: If the path has another ending, the file does not match the model, or the model
        is not built.
      NotFoundError: If the file does not exist.
      DataLossError: If the file is truncated or changed.
      ImportError: If the file needs h5py, which is not installed.

    Example:
      >>> import tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> path = tempfile.mkdtemp() + "/model.weights.h5"
      >>> model.save_weights(path)
      >>> model.set_weights([np.zeros((3, 2)), np.ones(2)])
      >>> tf.keras.saving.load_weights(model, path)
      >>> model.get_weights()[1].tolist()
      [0.0, 0.0]
    """
    if kwargs:
        raise ValueError(f"Invalid keyword arguments: {kwargs}")
    if not os.fspath(filepath).endswith((*_WEIGHTS_ENDINGS, ".keras", *_LEGACY)):
        raise ValueError(
            f"File format not supported: filepath={os.fspath(filepath)}. numtape supports "
            f"`.weights.h5`, `.weights.json` and `.safetensors` files, `.keras` files and legacy "
            f"H5 format files (`.h5` extension)."
        )
    path = os.fspath(filepath)
    is_legacy = path.endswith(_LEGACY) and not path.endswith(".weights.h5")
    if by_name is not None and not is_legacy:
        raise ValueError(
            f"`by_name` only supports loading legacy '.h5' or '.hdf5' files. Received: {path}"
        )
    if objects_to_skip is not None and not path.endswith((".weights.h5", ".weights.json")):
        raise ValueError(
            f"`objects_to_skip` only supports loading '.weights.h5' files. Received: {path}"
        )
    if path.endswith(".weights.json"):
        store = h5.read_shards(_Path(path))
        _check_built(model, "loading weights into a")
        _load(model, store, skip_mismatch, objects_to_skip)
        return
    content = read(path)
    if path.endswith(".keras"):
        with _archive(content, path) as archive:
            names = archive.namelist()
            is_old = _OLD_WEIGHTS in names
            content = archive.read(_OLD_WEIGHTS if is_old else _weights_name(names, path))
    else:
        is_old = path.endswith(SUFFIX)
    _check_built(model, "loading weights into a")
    if is_old:
        _restore(model, content, path, skip_mismatch)
    elif is_legacy:
        legacy_h5.load_weights(model, content, path, skip_mismatch, bool(by_name))
    else:
        _load(model, h5.unpack(content, path), skip_mismatch, objects_to_skip)


def _load(
    model: Model,
    store: h5.Store,
    skip_mismatch: bool = False,
    objects_to_skip: list[Any] | None = None,
    folder: _Path | None = None,
) -> None:
    """Load a model's state; build its optimizer first if the file has the state of a built one."""
    optimizer = getattr(model, "optimizer", None)
    skipped = list(objects_to_skip or ())
    if isinstance(optimizer, Optimizer):
        size = len(store.get("optimizer"))
        if not size and not store.has_path("optimizer"):
            skipped.append(optimizer)
        elif size > len(optimizer.variables) and not optimizer.built and model.trainable_variables:
            optimizer.build(model.trainable_variables)
    load_state(model, store, folder, skip_mismatch, skipped)


# --- Models ---------------------------------------------------------------------------------------


def save_model(
    model: Model,
    filepath: Path | io.IOBase,
    overwrite: bool = True,
    zipped: bool | None = None,
    include_optimizer: bool = True,
    **kwargs: object,
) -> None:
    """Save a model: see `Model.save`.

    Args:
      model: A model.
      filepath: A path that ends in ``.keras``, or in ``.h5`` for Keras's legacy format; or a file
        open for writing, to which a ``.keras`` file is written.
      overwrite: Whether to replace an existing file.
      zipped: False to write the members of a ``.keras`` file to a folder; ``filepath`` must not
        end in ``.keras`` then.
      include_optimizer: Whether a legacy file has the state of the optimizer.
      **kwargs: Must be empty.

    Raises:
      ValueError: If the path has another ending, or there are other arguments.
      FileExistsError: If the file exists and ``overwrite`` is False.
      NotImplementedError: If a part of the model has no ``get_config``.
      ImportError: If h5py is not installed.

    Example:
      >>> import os, tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> folder = tempfile.mkdtemp()
      >>> tf.keras.models.save_model(model, folder + "/model.keras")
      >>> os.listdir(folder)
      ['model.keras']
    """
    if "save_format" in kwargs:
        raise ValueError(
            "The `save_format` argument is deprecated in Keras 3. Please remove this argument and "
            "pass a file path with either `.keras` or `.h5` extension."
        )
    if kwargs:
        raise ValueError(f"The following argument(s) are not supported: {list(kwargs)}")
    if isinstance(filepath, io.IOBase):
        filepath.write(_zipped(_model_members(model)))
        return
    if str(os.fspath(filepath)).startswith("hf://"):
        raise UnimplementedError(
            "numtape does not use the network: save the model in a `.keras` file, and upload it."
        )
    if os.fspath(filepath).endswith(_LEGACY):
        if zipped is not None:
            raise ValueError(
                f"The `zipped` argument is only supported for `.keras` files. Received: "
                f"filepath={os.fspath(filepath)}"
            )
        path = _checked_path(filepath, _LEGACY, overwrite)
        write(path, legacy_h5.pack_model(model, include_optimizer, _KERAS_VERSION))
    elif zipped is False:
        path = os.fspath(filepath)
        if path.endswith(".keras"):
            raise ValueError(
                f"When using `zipped=False`, the `filepath` argument should not end in `.keras`. "
                f"Received: filepath={path}"
            )
        if not overwrite and os.path.exists(path):
            raise FileExistsError(f"The file {path} exists and overwrite=False.")
        for name, content in _model_members(model).items():
            file = _Path(path, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            write(str(file), content)
    else:
        if not os.fspath(filepath).endswith(".keras"):
            raise ValueError(
                f"Invalid filepath extension for saving: the filename must end in `.keras` or "
                f"`.h5`. Received: filepath={os.fspath(filepath)}"
            )
        path = _checked_path(filepath, (".keras",), overwrite)
        write(path, _zipped(_model_members(model)))


def _model_members(model: Model) -> dict[str, bytes]:
    """Return the members of a ``.keras`` file."""
    if not model.built:
        warn(
            "You are saving a model that has not yet been built. It might not contain any weights "
            "yet. Consider building the model first by calling it on some data."
        )
    with sharing_objects():
        config = serialize_keras_object(model)
    metadata = {
        "keras_version": _KERAS_VERSION,
        "date_saved": datetime.datetime.now().strftime("%Y-%m-%d@%H:%M:%S"),
    }
    store = h5.Store()
    save_state(model, store)
    members = {
        _METADATA: json.dumps(metadata).encode(),
        _CONFIG: json.dumps(config).encode(),
        _WEIGHTS: h5.pack(store),
    }
    assets = asset_files(model)
    return {**members, **{f"{ASSETS}/{name}": content for name, content in assets.items()}}


def _zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _archive(content: bytes, where: str) -> zipfile.ZipFile:
    """Return the zip file in the bytes of a ``.keras`` file.

    Raises:
      DataLossError: If it is truncated or changed, or is not a zip file.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        for member in archive.infolist():
            if member.file_size > _LARGEST_RATIO * max(member.compress_size, 1 << 16):
                raise ValueError(f"{member.filename} is compressed too much")
        damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"{damaged} is damaged")
        return archive
    except (
        zipfile.BadZipFile,
        ValueError,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
        zlib.error,
    ) as error:
        raise DataLossError(
            f"{where} cannot be read: it is truncated or changed, or is not a `.keras` file "
            f"({error})."
        ) from None


def _weights_name(names: list[str], where: str) -> str:
    if _WEIGHTS in names:
        return _WEIGHTS
    raise DataLossError(f"{where} is a zip file, but not a model: it has no {_WEIGHTS}.")


def load_model(
    filepath: Path | io.IOBase,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Model:
    """Load a model saved by `Model.save`, of numtape or Keras.

    Args:
      filepath: The path of a ``.keras`` or legacy ``.h5`` file, or of a folder that
        ``save_model(zipped=False)`` wrote; or an open file.
      custom_objects: Classes and functions, by name, besides those registered with
        `register_keras_serializable`.
      compile: Whether to compile the model as it was, with the optimizer's state.
      safe_mode: Accepted for compatibility with Keras: loading never executes code from a file.

    Returns:
      A model.

    Raises:
      ValueError: If the path has another ending, or a class does not accept its arguments.
      TypeError: If a class or function is unknown.
      NotFoundError: If the file does not exist.
      DataLossError: If the file is truncated or changed.
      UnimplementedError: If the path is one of the Hugging Face Hub, or a SavedModel.
      ImportError: If h5py is not installed.

    Example:
      >>> import tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> path = tempfile.mkdtemp() + "/model.keras"
      >>> model.save(path)
      >>> tf.keras.models.load_model(path).count_params()
      8
    """
    if isinstance(filepath, io.IOBase):
        content = filepath.read()
        return _load_zipped(content, "The file", custom_objects, compile)
    if str(os.fspath(filepath)).startswith("hf://"):
        raise UnimplementedError(
            "numtape does not use the network: download the model, and pass the path of the file."
        )
    if os.path.isdir(filepath):
        return _load_folder(_Path(filepath), custom_objects, compile)
    path = os.fspath(filepath)
    if not path.endswith((".keras", *_LEGACY)):
        raise ValueError(
            f"File format not supported: filepath={path}. numtape supports `.keras` files and "
            f"legacy H5 format files (`.h5` extension)."
        )
    try:
        content = read(path)
    except NotFoundError:
        raise NotFoundError(
            f"File not found: filepath={path}. Please ensure the file is an accessible `.keras` "
            f"zip file."
        ) from None
    if path.endswith(_LEGACY):
        with custom_object_scope(custom_objects or {}):
            model: Model = legacy_h5.load_model(content, path, compile)
            return model
    return _load_zipped(content, path, custom_objects, compile)


def _load_zipped(
    content: bytes, where: str, custom_objects: dict[str, Any] | None, compile: bool
) -> Model:
    with _archive(content, where) as archive, tempfile.TemporaryDirectory() as name:
        names = archive.namelist()
        if _CONFIG not in names:
            raise DataLossError(f"{where} is a zip file, but not a model: it has no {_CONFIG}.")
        config = _parsed(archive.read(_CONFIG), where)
        if _OLD_WEIGHTS in names:
            old: Model = _load_old(config, archive.read(_OLD_WEIGHTS), where, custom_objects, compile)
            return old
        store = h5.unpack(archive.read(_weights_name(names, where)), where)
        folder = _Path(name)
        has_assets = extract_assets(archive, folder)
        model = _model_from(config, custom_objects, compile)
        _load(model, store, folder=folder if has_assets else None)
    return model


def _load_folder(path: _Path, custom_objects: dict[str, Any] | None, compile: bool) -> Model:
    if not (path / _CONFIG).exists():
        if (path / "saved_model.pb").exists():
            raise UnimplementedError(
                f"{path} is a SavedModel, a graph of TensorFlow: numtape does not run it. In "
                f"TensorFlow, save the Keras model with `model.save('model.keras')`."
            )
        raise ValueError(
            f"File format not supported: filepath={path} is a folder without {_CONFIG}."
        )
    store = h5.unpack(read(str(path / _WEIGHTS)), str(path / _WEIGHTS))
    model = _model_from(_parsed(read(str(path / _CONFIG)), str(path)), custom_objects, compile)
    folder = path / ASSETS
    _load(model, store, folder=folder if folder.exists() else None)
    return model


def _parsed(content: bytes, where: str) -> dict[str, Any]:
    try:
        config = json.loads(content)
        if not isinstance(config, dict):
            raise ValueError
    except (ValueError, RecursionError):
        raise DataLossError(f"{where} cannot be read: its config is damaged.") from None
    return config


def _model_from(
    config: dict[str, Any], custom_objects: dict[str, Any] | None, compile: bool
) -> Any:
    """Create a model from its config, without the values of its variables."""
    if not compile:
        config = {**config, "compile_config": None}
    with custom_object_scope(custom_objects or {}), sharing_objects(is_written=False):
        model = deserialize_keras_object(config)
    if not isinstance(model, Layer):
        raise ValueError(f"The file must describe a model, got {repr_of(model)}.")
    return model


def _load_old(
    config: dict[str, Any],
    weights: bytes,
    where: str,
    custom_objects: dict[str, Any] | None,
    compile: bool,
) -> Any:
    """Load a file of an earlier version of numtape."""
    try:
        version, model_config = config["numtape"], config["model"]
        compile_config = config["compile_config"]
    except KeyError:
        raise DataLossError(f"{where} cannot be read: its config is damaged.") from None
    if version != _VERSION:
        raise UnimplementedError(f"{where} was written by a later numtape (format {version!r}).")
    with custom_object_scope(custom_objects or {}):
        model = deserialize_keras_object(model_config)
        if compile:
            compile_from(model, compile_config)
    _restore(model, weights, where)
    result: Model = model
    return result


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
