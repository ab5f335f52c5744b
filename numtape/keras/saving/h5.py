"""HDF5 files of weights in Keras's layout: `pack`, `unpack`, and files in shards.

A `Store` holds the arrays of each object of a model by the object's path, such as
``layers/dense``; the file has them in the group ``layers/dense/vars`` under the names "0", "1", ...
Start with `pack` and `unpack`. h5py is imported on the first use.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.values.dtypes import bfloat16
from ...errors import DataLossError, NotFoundError
from ...train.arrays import read, write

if TYPE_CHECKING:
    from types import ModuleType

Array = np.ndarray[Any, Any]

_VARS = "vars"
_OLD_LAYERS = "_layer_checkpoint_dependencies"  # of "layers", in files of TensorFlow 2.13
# A dataset may declare a huge shape and store nothing: such files would exhaust the memory.
_SUSPICIOUS_BYTES, _SUSPICIOUS_RATIO = 1 << 32, 1000


def h5py() -> ModuleType:
    """Return the module h5py.

    Raises:
      ImportError: If it is not installed.
    """
    try:
        import h5py as module
    except ImportError:
        raise ImportError(
            "HDF5 files, and so `.keras` files, need h5py: pip install 'numtape[h5]'. Without it, "
            "`save_weights` writes `.weights.safetensors` files."
        ) from None
    result: ModuleType = module
    return result


class Store:
    """The arrays of a model's objects: a dict of arrays for each path.

    Attributes:
      arrays: The arrays of each object, by path and name.
      names: The names of the objects, by path; the file has them as attributes.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, dict[str, Any]] = {}
        self.names: dict[str, str] = {}

    def make(self, path: str, name: str | None = None) -> dict[str, Any]:
        """Return a new dict for the arrays of an object.

        Args:
          path: The path of the object.
          name: The name of the object, or None.
        """
        if name is not None:
            self.names[path] = name
        return self.arrays.setdefault(path, {})

    def get(self, path: str) -> dict[str, Any]:
        """Return the arrays of an object; an empty dict if there are none."""
        result = self.arrays.get(path)
        if result is None and any(p.startswith(_OLD_LAYERS) for p in self.arrays):
            result = self.arrays.get(path.replace("layers", _OLD_LAYERS))
        return dict(result or {})

    def has_path(self, path: str) -> bool:
        """Whether there are objects at a path or below it."""
        return any(p == path or p.startswith(f"{path}/") for p in self.arrays)

    def items(self) -> Iterator[tuple[str, str, Array]]:
        """Iterate over the path, the name and the value of all arrays."""
        for path, arrays in self.arrays.items():
            for name, value in arrays.items():
                yield path, name, np.asarray(value)


def _group_name(path: str) -> str:
    return f"{path}/{_VARS}" if path else _VARS


def _write_array(group: Any, name: str, array: Array) -> None:
    dataset = group.create_dataset(name, data=array)
    if array.dtype == bfloat16.numpy_dtype:
        dataset.attrs["dtype"] = "bfloat16"


def pack(store: Store) -> bytes:
    """Return the bytes of a file with the arrays of a store.

    Raises:
      ImportError: If h5py is not installed.
    """
    buffer = io.BytesIO()
    with h5py().File(buffer, "w") as file:
        for path, name in store.names.items():
            file.require_group(_group_name(path)).attrs["name"] = name
        for path, name, array in store.items():
            _write_array(file.require_group(_group_name(path)), name, array)
    return buffer.getvalue()


def unpack(content: bytes, where: str) -> Store:
    """Return the arrays in the bytes of a file.

    Args:
      content: The bytes.
      where: The name of the file, for errors.

    Raises:
      ImportError: If h5py is not installed.
      DataLossError: If the bytes are truncated, or are not an HDF5 file.
      ValueError: If the file refers to other files, or declares more than it stores.
    """
    with open_file(content, where) as file:
        result = Store()
        _read_groups(file, "", result, where)
    return result


def open_file(content: bytes, where: str) -> Any:
    """Return an `h5py.File` that reads bytes.

    Raises:
      ImportError: If h5py is not installed.
      DataLossError: If the bytes are not an HDF5 file.
    """
    module = h5py()
    try:
        return module.File(io.BytesIO(content), "r")
    except (OSError, RuntimeError) as error:
        raise DataLossError(
            f"{where} cannot be read: it is truncated or changed, or is not an HDF5 file ({error})."
        ) from None


def _read_groups(group: Any, path: str, store: Store, where: str) -> None:
    for key in group:
        if key == _VARS:
            variables = child_group(group, key)
            names = [name for name in variables if is_dataset(variables, name)]
            if len(names) == len(variables):
                store.arrays[path] = {name: read_array(variables, name) for name in names}
                continue
        if not is_dataset(group, key):
            _read_groups(child_group(group, key), f"{path}/{key}" if path else key, store, where)


def _check_link(group: Any, key: str) -> None:
    kind = group.get(key, default=None, getclass=True, getlink=True)
    if kind is not h5py().HardLink:
        raise ValueError(f"Not allowed: H5 file with {getattr(kind, '__name__', kind)}")


def is_dataset(group: Any, key: str) -> bool:
    """Whether a member of a group is an array.

    Raises:
      ValueError: If it is a link to another place.
    """
    _check_link(group, key)
    return isinstance(group[key], h5py().Dataset)


def child_group(group: Any, path: str) -> Any:
    """Return the group at a path inside a group.

    Raises:
      KeyError: If there is none.
      ValueError: If it is a link to another place, or an array.
    """
    for key in path.split("/"):
        if key not in group:
            raise KeyError(path)
        _check_link(group, key)
        group = group[key]
        if not isinstance(group, h5py().Group):
            raise ValueError(f"Invalid H5 file, expected Group but received {type(group)}")
    return group


def read_array(group: Any, path: str) -> Array:
    """Return the array at a path inside a group.

    Raises:
      KeyError: If there is none.
      ValueError: If it is a link, refers to other files, or declares more than is stored.
    """
    folder, _, key = path.rpartition("/")
    group = child_group(group, folder) if folder else group
    if key not in group:
        raise KeyError(path)
    _check_link(group, key)
    dataset = group[key]
    if not isinstance(dataset, h5py().Dataset):
        raise ValueError(f"Invalid H5 file, expected Dataset, received {type(dataset)}")
    if dataset.external:
        raise ValueError(f"Not allowed: H5 file with external Dataset: {dataset.external}")
    if dataset.is_virtual:
        raise ValueError("Not allowed: H5 file with virtual Dataset")
    declared = math.prod(dataset.shape) * dataset.dtype.itemsize
    stored = dataset.id.get_storage_size()
    if declared > _SUSPICIOUS_BYTES and declared > _SUSPICIOUS_RATIO * stored:
        raise ValueError(
            f"Not allowed: H5 dataset '{key}' declares {declared} bytes, but only {stored} are "
            f"stored; refusing to load a potential decompression/shape bomb."
        )
    value: Array = np.asarray(dataset[()])
    is_bfloat16 = dataset.attrs.get("dtype") == "bfloat16" or value.dtype == np.dtype("V2")
    return value.view(bfloat16.numpy_dtype) if is_bfloat16 else value


# --- Shards ---------------------------------------------------------------------------------------


def write_shards(path: Path, store: Store, max_shard_size: float) -> None:
    """Write the arrays of a store in several files, and a ``.weights.json`` that lists them.

    Args:
      path: The path of the list.
      store: The arrays.
      max_shard_size: The largest size of a file, in GiB.

    Raises:
      ValueError: If an array is larger than a file may be.
    """
    limit = float(max_shard_size) * 1024**3
    stem = path.name.removesuffix(".json").removesuffix(".weights")
    shards, sizes = [Store()], [0]
    weight_map: dict[str, Any] = {}
    shards[0].names = store.names
    for object_path, name, array in store.items():
        if array.nbytes > limit:
            raise ValueError(
                f"The size of {name} is {array.nbytes} bytes which exceeds the maximum shard size "
                f"{limit:.0f} bytes. You can increase the `max_shard_size` parameter to "
                f"accommodate the size."
            )
        if sizes[-1] + array.nbytes > limit:
            shards.append(Store())
            sizes.append(0)
        sizes[-1] += array.nbytes
        shards[-1].make(object_path)[name] = array
        files = weight_map.setdefault(f"/{_group_name(object_path)}", [])
        file = _shard_name(stem, len(shards) - 1)
        if file not in files:
            files.append(file)
    for number, shard in enumerate(shards):
        write(str(path.with_name(_shard_name(stem, number))), pack(shard))
    listing = {
        "metadata": {"total_size": sum(sizes)},
        "weight_map": {
            k: files[0] if len(files) == 1 else files for k, files in weight_map.items()
        },
    }
    write(str(path), json.dumps(listing, indent=4).encode())


def _shard_name(stem: str, number: int) -> str:
    return f"{stem}_{number:05}.weights.h5"


def read_shards(path: Path) -> Store:
    """Return the arrays in the files that a ``.weights.json`` lists.

    Raises:
      NotFoundError: If a file does not exist.
      DataLossError: If a file is truncated or changed.
    """
    try:
        weight_map = json.loads(read(str(path)))["weight_map"]
        names = {
            str(name): None
            for files in weight_map.values()
            for name in (files if isinstance(files, list) else [files])
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataLossError(f"{path} cannot be read: it is not a list of shards.") from None
    result = Store()
    for name in names:
        if Path(name).name != name:
            raise ValueError(f"Invalid shard name: {name!r} is not in the folder of {path}.")
        file = path.with_name(name)
        if not file.exists():
            raise NotFoundError(f"File not found: {file}, a shard that {path} lists.")
        for object_path, arrays in unpack(read(str(file)), str(file)).arrays.items():
            result.make(object_path).update(arrays)
    return result
