"""The state of a model's objects under Keras's names: `save_state` and `load_state`.

Each object with the methods ``save_own_variables`` and ``load_own_variables`` (layers, optimizers)
or ``save_assets`` and ``load_assets`` is visited under its path: the names of the attributes that
lead to it; items of lists and dicts are named after their classes.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...compat.traceback_filter import warn
from ...core.log.variable import Variable
from ..layer import Layer
from ..losses import Loss
from ..metrics import Metric
from ..models import Sequential
from ..optimizers import Optimizer
from ..seed_generator import SeedGenerator
from .h5 import Store

ASSETS = "assets"
_PROTOCOL = ("save_own_variables", "load_own_variables", "save_assets", "load_assets")
_MOST_PATHS = 8  # at which an object that does not match is tried
_LIMIT = 1 << 32  # bytes of the assets of a file


def is_saveable(x: object) -> bool:
    """Whether an object is visited under a name, and may have a state."""
    return isinstance(x, Layer | Optimizer | Metric | Loss | SeedGenerator) or (
        not isinstance(x, type) and any(hasattr(type(x), name) for name in _PROTOCOL)
    )


def snake_case(name: str) -> str:
    """Return Keras's name of a class in a file, such as ``conv2d``."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


@lru_cache(maxsize=1)
def _names_of_every_layer() -> frozenset[str]:
    return frozenset(dir(Layer()))


def _attribute_names(obj: Any) -> list[str]:
    """The names of attributes to visit: public ones first, each group in alphabetical order."""
    skipped: frozenset[str] | set[str] = frozenset()
    if isinstance(obj, Layer):
        skipped = _names_of_every_layer()
    elif isinstance(obj, Optimizer):
        skipped = set(dir(Optimizer)) | set(vars(obj)) & {"learning_rate"}
    elif isinstance(obj, Metric | Loss):
        skipped = set(dir(type(obj).__mro__[-2]))
    names = {*dir(type(obj)), *getattr(obj, "__dict__", ())}
    return sorted(
        (n for n in names if not n.startswith(("__", "_nt_")) and n not in skipped),
        key=lambda name: f"~{name}" if name.startswith("_") else name,
    )


def _children(obj: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the attributes of an object that may hold objects with a state."""
    if isinstance(obj, Sequential) or getattr(obj, "_nt_graph", None) is not None:
        yield "layers", obj.layers
    if isinstance(obj, SeedGenerator):
        return
    for name in _attribute_names(obj):
        try:
            value = getattr(obj, name)
        except Exception:  # a property that has no value yet
            continue
        if isinstance(value, list | tuple | dict) or is_saveable(value):
            yield name, value


class _Visit:
    """A walk over an object and the objects inside it.

    Args:
      visitor: Called with an object and its path; returns whether to visit the objects inside.
      skips: Called with the path of a list or dict inside another one; returns whether to skip it.

    Attributes:
      skipped: The lists and dicts that were skipped.
    """

    def __init__(
        self, visitor: Callable[[Any, str], bool], skips: Callable[[str], bool] | None = None
    ) -> None:
        self.visitor, self.skips = visitor, skips
        self.skipped: list[Any] = []
        self._open: set[int] = set()  # the objects and containers being visited

    def __call__(self, obj: Any, path: str = "") -> None:
        """Visit an object at a path."""
        if id(obj) in self._open or not self.visitor(obj, path):
            return
        self._open.add(id(obj))
        for name, value in _children(obj):
            if is_saveable(value):
                self(value, _join(path, name))
            else:
                self._visit_items(value, _join(path, name))
        self._open.discard(id(obj))

    def _visit_items(self, container: Any, path: str) -> None:
        if id(container) in self._open:
            return
        self._open.add(id(container))
        counts: dict[str, int] = {}
        for item in container.values() if isinstance(container, dict) else container:
            is_container = isinstance(item, list | tuple | dict)
            if id(item) in self._open or not (is_container or is_saveable(item)):
                continue
            name = "container" if is_container else snake_case(type(item).__name__)
            counts[name] = counts.get(name, -1) + 1
            full = _join(path, f"{name}_{counts[name]}" if counts[name] else name)
            if not is_container:
                self(item, full)
            elif self.skips is not None and self.skips(full):
                self.skipped.append(item)
            else:
                self._visit_items(item, full)
        self._open.discard(id(container))


def save_state(
    root: Any,
    store: Store | None,
    folder: Path | None = None,
    objects_to_skip: list[Any] | None = None,
) -> None:
    """Store the variables and assets of an object and of all objects inside it.

    Args:
      root: The object, such as a model.
      store: The store to fill with arrays, or None.
      folder: The folder to fill with assets, or None.
      objects_to_skip: Objects that are not visited.
    """
    visited = {id(x) for x in objects_to_skip or ()}

    def save(obj: Any, path: str) -> bool:
        if id(obj) in visited:
            return False
        visited.add(id(obj))
        if store is not None and hasattr(obj, "save_own_variables"):
            name = getattr(obj, "name", None)
            is_extra = isinstance(obj, SeedGenerator)  # Keras's files do not have its state
            variables = store.make(path, name if isinstance(name, str) and not is_extra else None)
            obj.save_own_variables(variables)
        if folder is not None and hasattr(obj, "save_assets"):
            place = folder / path
            place.mkdir(parents=True, exist_ok=True)
            obj.save_assets(str(place))
        return True

    _Visit(save)(root)


def load_state(
    root: Any,
    store: Store | None,
    folder: Path | None = None,
    skip_mismatch: bool = False,
    objects_to_skip: list[Any] | None = None,
) -> None:
    """Load the variables and assets of an object and of all objects inside it.

    An object at several paths is loaded from the first path that has its state. If an object
    cannot be loaded, the values of all variables stay as they were.

    Args:
      root: The object, such as a model.
      store: The arrays, or None.
      folder: The folder of the assets, or None.
      skip_mismatch: Whether to skip objects that do not match, with a warning.
      objects_to_skip: Objects that are not visited.

    Raises:
      ValueError: If an object does not match its state, and ``skip_mismatch`` is not set.
    """
    loaded = {id(x) for x in objects_to_skip or ()}
    failures: dict[int, tuple[Any, Exception]] = {}
    attempts: dict[int, int] = {}
    previous = [(v, v.numpy()) for v in _variables_of(root)]

    def load(obj: Any, path: str) -> bool:
        key = id(obj)
        if key in loaded or attempts.get(key, 0) >= _MOST_PATHS:
            return False
        attempts[key] = attempts.get(key, 0) + 1
        try:
            if store is not None and hasattr(obj, "load_own_variables"):
                if not isinstance(obj, SeedGenerator) or store.has_path(path):
                    obj.load_own_variables(store.get(path))
            if folder is not None and hasattr(obj, "load_assets"):
                place = folder / path
                obj.load_assets(str(place) if place.exists() else None)
        except Exception as error:  # of a user's method, too
            failures[key] = obj, error
            return True
        failures.pop(key, None)
        loaded.add(key)
        return True

    def is_absent(path: str) -> bool:
        has_assets = folder is not None and (folder / path).exists()
        return not has_assets and (store is None or not store.has_path(path))

    visit = _Visit(load, is_absent)
    visit(root)
    if any(x.weights for x in _layers_in(visit.skipped) if id(x) not in loaded):
        warn(
            "Skipping nested container: the file has no state of layers that are in a list or dict "
            "inside another one. Earlier versions of Keras did not save them. They keep their "
            "weights."
        )
    if not failures:
        return
    examples = list(failures.values())
    message = (
        f"A total of {len(examples)} objects could not be loaded. Example error message for "
        f"object {examples[0][0]}:\n\n{examples[0][1]}\n\nList of objects that could not be "
        f"loaded:\n{[obj for obj, _ in examples]}"
    )
    if skip_mismatch:
        warn(message)
        return
    for variable, value in previous:
        variable.assign(value)
    raise ValueError(message)


def _layers_in(containers: list[Any]) -> Iterator[Layer]:
    """Iterate over the layers in nested lists and dicts."""
    for item in containers:
        if isinstance(item, list | tuple | dict):
            yield from _layers_in(list(item.values() if isinstance(item, dict) else item))
        elif isinstance(item, Layer):
            yield item


def _variables_of(root: Any) -> list[Variable]:
    variables = list(getattr(root, "variables", ()))
    optimizer = getattr(root, "optimizer", None)
    return variables + list(getattr(optimizer, "variables", ()))


# --- Assets ---------------------------------------------------------------------------------------


def asset_files(root: Any) -> dict[str, bytes]:
    """Return the files that the method ``save_assets`` of the objects writes, by path."""
    folder = Path(tempfile.mkdtemp())
    try:
        save_state(root, None, folder)
        return {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
    finally:
        shutil.rmtree(folder)


def extract_assets(archive: zipfile.ZipFile, folder: Path) -> bool:
    """Write the assets in a ``.keras`` file to a folder, and return whether there are any.

    Raises:
      ValueError: If a name leads out of the folder, or the assets are too large.
    """
    members = [x for x in archive.infolist() if x.filename.startswith(f"{ASSETS}/")]
    if sum(x.file_size for x in members) > _LIMIT:
        raise ValueError(f"The assets are larger than {_LIMIT} bytes.")
    for member in members:
        if member.is_dir():
            continue
        path = Path(member.filename.replace("\\", "/")).relative_to(ASSETS)
        if path.is_absolute() or ".." in path.parts or ":" in member.filename:
            raise ValueError(f"Invalid asset path: {member.filename!r} leads out of the folder.")
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(archive.read(member))
    return bool(members)
