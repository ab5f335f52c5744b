"""Models and weights in files."""

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
from ...train.parts import Graph, check_nodes
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
    """A file's name, if it has one of these endings, and may be written to.

    Raises:
      ValueError: If it has another ending.
      FileExistsError: If it is there, and ``overwrite`` is False.
    """
    path = os.fspath(filepath)
    if not path.endswith(endings):
        ending = os.path.splitext(path)[1]
        hint = ""
        if ending in (".h5", ".hdf5"):
            better = path.removesuffix(ending).removesuffix(".weights") + endings[0]
            hint = f" numtape does not read or write HDF5: use {os.path.basename(better)!r}."
        raise ValueError(
            f"The filename must end in {' or '.join(f'`{x}`' for x in endings)}. Received: "
            f"filepath={path}.{hint}"
        )
    if overwrite is False and os.path.exists(path):
        raise FileExistsError(f"There is a file {path} already, and overwrite=False.")
    return path


# --- Weights --------------------------------------------------------------------------------------


def _root(model: Any) -> Checkpoint:
    """What a file's names begin at: the model, and its optimizer beside it."""
    if isinstance(model.optimizer, Optimizer):
        return Checkpoint(model=model, optimizer=model.optimizer)
    return Checkpoint(model=model)


def _pack(model: Any) -> bytes:
    """The values of a model's variables, and of its optimizer's if it has one."""
    root = _root(model)
    graph = Graph(root, Metric)  # as in Keras, no running values
    arrays = {key: v._current_tensor()._array() for key, v in graph.variables.items()}
    return pack(arrays, {"weights": graph.nodes})


def _restore(model: Any, content: bytes, where: str, skip_mismatch: bool = False) -> None:
    """Give a model's variables their values; or, if one does not fit, none."""
    arrays, description = unpack(content, where)
    if not isinstance(description, dict) or "weights" not in description:
        raise DataLossError(
            f"{where} is not a file of weights, but a checkpoint: read it with tf.train.Checkpoint."
        )
    nodes = check_nodes(description["weights"], arrays, where)
    stored = nodes[nodes[0]["optimizer"]] if "optimizer" in nodes[0] else {}
    if stored.keys() - {"_iterations", "_learning_rate"} and model.trainable_variables:
        if not getattr(model.optimizer, "built", True):
            model.optimizer.build(model.trainable_variables)
    skipped: list[str] = []
    full = Graph(model, (Metric, Optimizer)).variables.values()
    Restoration(where, nodes, arrays, Metric).begin(
        [_root(model)], None if skip_mismatch else full, skipped if skip_mismatch else None
    )
    if skipped:
        warn(f"A total of {len(skipped)} variables could not be loaded. Example: {skipped[0]}")


def save_weights(
    model: Any, filepath: Path, overwrite: bool = True, max_shard_size: float | None = None
) -> None:
    """Write the values of all variables of a model: see `Model.save_weights`.

    Args:
      model: A model.
      filepath: A name that ends with ``.weights.safetensors`` or ``.safetensors``.
      overwrite: Whether a file of this name may be replaced.
      max_shard_size: Must be None.

    Raises:
      ValueError: If the name has another ending, or the model is not built.
      FileExistsError: If there is such a file, and ``overwrite`` is False.

    Example:
      >>> import os, tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> folder = tempfile.mkdtemp()
      >>> tf.keras.saving.save_weights(model, folder + "/model.weights.safetensors")
      >>> os.listdir(folder)
      ['model.weights.safetensors']
    """
    if max_shard_size is not None:
        raise ValueError("max_shard_size must be None: weights are written into one file.")
    path = _checked_path(filepath, (".weights.safetensors", SUFFIX), overwrite)
    _check_built(model, "saving")
    write(path, _pack(model))


def _check_built(model: Any, word: str) -> None:
    if not model.built:
        raise ValueError(
            f"You are {word} the weights of a model that has not yet been built. Try building the "
            f"model first by calling it on some data or by using `build()`."
        )


def load_weights(model: Any, filepath: Path, skip_mismatch: bool = False) -> None:
    """Give all variables of a model the values in a file: see `Model.load_weights`.

    Args:
      model: A model.
      filepath: What `save_weights` or `save_model` wrote.
      skip_mismatch: Whether variables that do not fit keep their values, with a warning.

    Raises:
      ValueError: If the name has another ending, variables and values do not fit, or the model is
        not built.
      NotFoundError: If there is no such file.
      DataLossError: If it is cut or changed, or no file that numtape wrote.

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
    model: Any, filepath: Path, overwrite: bool = True, zipped: bool | None = None
) -> None:
    """Write a model: see `Model.save`.

    Args:
      model: A model.
      filepath: A name that ends with ``.keras``.
      overwrite: Whether a file of this name may be replaced.
      zipped: Must be None or True.

    Raises:
      ValueError: If the name has another ending.
      FileExistsError: If there is such a file, and ``overwrite`` is False.
      NotImplementedError: If something has no configuration.

    Example:
      >>> import os, tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> folder = tempfile.mkdtemp()
      >>> tf.keras.models.save_model(model, folder + "/model.keras")
      >>> os.listdir(folder)
      ['model.keras']
    """
    if zipped is False:
        raise ValueError("zipped=False: a model is written into one file.")
    path = _checked_path(filepath, (".keras",), overwrite)
    config = {
        "numtape": _VERSION,
        "model": serialize_keras_object(model),
        "compile_config": compile_config(model),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in ((_CONFIG, json.dumps(config).encode()), (_WEIGHTS, _pack(model))):
            archive.writestr(zipfile.ZipInfo(name), content)  # the same bytes at any time
    write(path, packed.getvalue())


def _members(content: bytes, where: str) -> dict[str, bytes]:
    """The files in a model's file.

    Raises:
      DataLossError: If it is cut or changed, or no file that numtape wrote.
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
            f"{where} cannot be read: it is cut or changed, or no model that numtape wrote "
            f"({error})."
        ) from None
    if "model.weights.h5" in names:
        raise UnimplementedError(
            f"{where} was written by Keras: its weights are HDF5, which numtape does not read. In "
            f"Keras, save them with np.savez(name, *model.get_weights()), and give them to "
            f"`set_weights`."
        )
    raise DataLossError(f"{where} is a zip file, but no model that numtape wrote.")


def load_model(
    filepath: Path,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """The model in a file that `Model.save` wrote.

    Args:
      filepath: The file's name.
      custom_objects: Classes and functions, by name; those that are registered with
        `register_keras_serializable` are known.
      compile: Whether to compile it as it was, with the optimizer's state.
      safe_mode: Must be True: nothing in a file is run as code.

    Returns:
      A model.

    Raises:
      ValueError: If the name has another ending, or a class does not take its arguments.
      TypeError: If a class or function is unknown.
      NotFoundError: If there is no such file.
      DataLossError: If it is cut or changed, or no file that numtape wrote.
      UnimplementedError: If Keras wrote it.

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
        version, described = config["numtape"], config["model"]
        compiled = config["compile_config"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataLossError(f"{path} cannot be read: its config is damaged.") from None
    if version != _VERSION:
        raise UnimplementedError(f"{path} was written by a later numtape (format {version!r}).")
    with custom_object_scope(custom_objects or {}):
        model = deserialize_keras_object(described, safe_mode=safe_mode)
        if compile:
            compile_from(model, compiled)
    _restore(model, members[_WEIGHTS], path)
    return model


def model_from_json(json_string: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """The model that `Model.to_json` described, with new weights.

    Args:
      json_string: Its result.
      custom_objects: Classes and functions, by name.

    Returns:
      A model.

    Raises:
      ValueError: If it is no JSON, or a class does not take its arguments.
      TypeError: If a class or function is unknown.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> tf.keras.models.model_from_json(model.to_json()).count_params()
      8
    """
    try:
        config = json.loads(json_string)
    except RecursionError:
        raise ValueError("The JSON is nested too deep for a model.") from None
    if not isinstance(config, dict) or "class_name" not in config:
        raise ValueError("The JSON describes no model: it names no class.")
    model = deserialize_keras_object(config, custom_objects)
    if not isinstance(model, Model):
        raise ValueError(f"The JSON describes no model, but {repr_of(model)}.")
    return model


def clone_model(model: Any, input_tensors: Any = None, clone_function: Any = None) -> Any:
    """A model of the same layers, with new weights.

    Args:
      model: A `Sequential`, a functional model, or one whose `get_config` says all.
      input_tensors: Must be None.
      clone_function: Must be None.

    Returns:
      A model.

    Raises:
      ValueError: If one of the other arguments is not None.
      NotImplementedError: If something has no configuration.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> tf.keras.models.clone_model(model).count_params()
      8
    """
    if input_tensors is not None or clone_function is not None:
        raise ValueError("input_tensors and clone_function must be None.")
    kind = type(model)
    with custom_object_scope({kind.__name__: kind}):
        return deserialize_keras_object(serialize_keras_object(model))
