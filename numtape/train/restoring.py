"""`Restoration` of a checkpoint's values, and the load statuses that `restore` returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..core.log.log import local
from ..core.log.variable import Variable, assign_all, set_values
from ..core.values.tensor import of_array
from ..core.values.weakrefs import WeakObjectMap
from ..deferred_restore import forget, wait
from ..errors import InvalidArgumentError, UnimplementedError
from .parts import ObjectGraph, alternative_names, is_value, named_parts, parts

if TYPE_CHECKING:
    from collections.abc import Callable


class Restoration:
    """The content of a file, and the objects of the program that its nodes are bound to.

    Args:
      filename: The file's name.
      nodes: The file's graph; see `ObjectGraph`.
      arrays: The file's arrays.
      excluded: Classes whose instances are not restored.

    Attributes:
      unused: The arrays that no variable has been restored from yet.
    """

    def __init__(
        self,
        filename: str,
        nodes: list[Any],
        arrays: dict[str, Any],
        excluded: type | tuple[type, ...] = (),
    ) -> None:
        self._excluded = excluded
        self.filename, self.nodes, self.unused = filename, nodes, dict(arrays)
        self._bound: WeakObjectMap[int] = WeakObjectMap()  # an object's node
        self._optimizers: WeakObjectMap[int] = WeakObjectMap()  # optimizers' nodes

    def begin(
        self,
        roots: Iterable[Any],
        required: Iterable[Variable] | None = None,
        skipped: list[str] | None = None,
    ) -> None:
        """Restore all variables inside the roots; if one does not match, none changes.

        Args:
          roots: Objects that correspond to the file's root.
          required: Variables that must all be restored. The file must then have no unused values,
            except those of optimizers.
          skipped: A list that collects mismatches, instead of an error.

        Raises:
          ValueError: If a variable has another shape, or the file has an object in its place.
          InvalidArgumentError: If a variable has another dtype.
        """
        self._bind([(root, 0) for root in roots], forget, required, skipped)

    def _bind(
        self,
        pairs: list[tuple[Any, int]],
        before_listening: Callable[[Any], None] | None = None,
        required: Iterable[Variable] | None = None,
        skipped: list[str] | None = None,
    ) -> None:
        """Bind objects to their nodes, with all their parts, and restore their variables."""
        bound: dict[int, tuple[Any, int]] = {}
        matches: list[tuple[Any, str]] = []  # variables and iterators with their keys
        self._walk(pairs, bound, matches, skipped)
        # Slots of optimizers are named after variables, which must be bound first.
        optimizers = [
            (obj, k)
            for obj, k in [*bound.values(), *self._optimizers]
            if hasattr(obj, "_nt_saved_names")
        ]
        for obj, number in optimizers:
            obj_parts, node = self._parts(obj, number, bound), self.nodes[number]
            children = [(obj_parts[name], k) for name, k in node.items() if name in obj_parts]
            self._walk(children, bound, matches, skipped)
        if required is not None:
            self._check_complete(required, {id(v) for v, _ in matches}, {key for _, key in matches})
        variables = [(v, self.unused[key]) for v, key in matches if isinstance(v, Variable)]
        positions = [
            (x, x._nt_start_at(self.unused[key].tobytes()))
            for x, key in matches
            if not isinstance(x, Variable)
        ]
        _assign_values([v for v, _ in variables], [x for _, x in variables])
        for iterator, source in positions:
            iterator._nt_continue(source)
        for _, key in matches:
            self.unused.pop(key, None)
        for obj, number in bound.values():
            self._store_binding(obj, number)
        for obj, number in bound.values():
            if not is_value(obj):
                if before_listening is not None:
                    before_listening(obj)
                if self._awaits_parts(obj, number):
                    wait(obj, self._on_new_parts)

    def _walk(
        self,
        pairs: list[tuple[Any, int]],
        bound: dict[int, tuple[Any, int]],
        matches: list[tuple[Any, str]],
        skipped: list[str] | None,
    ) -> None:
        """Bind objects and all their parts to their nodes."""
        for obj, number in pairs:  # grows in the loop
            if id(obj) in bound or self._is_bound(obj):
                continue
            bound[id(obj)] = obj, number
            node = self.nodes[number]
            if is_value(obj) != isinstance(node, str):
                raise ValueError(
                    f"{self.filename} has {'a value' if isinstance(node, str) else 'parts'} where "
                    f"the program has {obj!r}."
                )
            if isinstance(node, str):
                if node in self.unused:
                    error = self._mismatch_error(obj, node)
                    if error is None:
                        matches.append((obj, node))
                    elif skipped is None:
                        raise error
                    else:
                        skipped.append(str(error))
                else:  # another variable was restored from it
                    del bound[id(obj)]
                continue
            obj_parts = self._parts(obj, number, bound)
            pairs.extend((obj_parts[name], k) for name, k in node.items() if name in obj_parts)

    def _parts(
        self, obj: object, number: int, bound: dict[int, tuple[Any, int]] | None = None
    ) -> dict[str, Any]:
        """Return the parts of an object by their names in the file."""

        def number_of(variable: Variable) -> int | None:
            entry = (bound or {}).get(id(variable))
            return self._bound.get(variable) if entry is None else entry[1]

        if not hasattr(obj, "_nt_saved_names"):
            return parts(obj, self._excluded)
        node, names = self.nodes[number], alternative_names(obj, number_of)
        if names.keys() & node.keys():
            raise UnimplementedError(
                f"An earlier numtape wrote {self.filename}, which does not record the variables of "
                f"the optimizer's values."
            )
        saved_names = dict(name.split(": ", 1) for name in node if ": " in name)
        for slot_name, separator, variable_name in (
            name.partition(": ") for name in names.values()
        ):
            if separator and saved_names.get(slot_name, variable_name) != variable_name:
                raise ValueError(
                    f"{self.filename} has the optimizer's {slot_name!r} for a variable "
                    f"{saved_names[slot_name]!r}, but the program's optimizer has "
                    f"{variable_name!r} at this index. Add the variables that it trains, or their "
                    f"model, to the checkpoint: then their order does not matter."
                )
        return named_parts(obj, number_of, self._excluded)

    def _check_complete(
        self, required: Iterable[Variable], restored_ids: set[int], used_keys: set[str]
    ) -> None:
        """Check that all required variables are restored and no value is unused."""
        missing = [v.name for v in required if id(v) not in restored_ids]
        optional_keys = {
            self.nodes[k]
            for node in self.nodes
            if isinstance(node, dict)
            if "_iterations" in node
            for k in node.values()
            if isinstance(self.nodes[k], str)
        }
        unused_keys = [
            key.partition("/.ATTRIBUTES")[0]
            for key in self.unused
            if key not in used_keys | optional_keys
        ]
        problem = ""
        if missing:
            problem += f" It has no values for {len(missing)} variables: {missing[:5]}."
        if unused_keys:
            problem += (
                f" The model has no variables for {len(unused_keys)} values: {unused_keys[:5]}."
            )
        if problem:
            raise ValueError(f"{self.filename} does not match the model.{problem}")

    def _mismatch_error(self, variable: Any, key: str) -> Exception | None:
        """Return an error if a variable or iterator cannot be restored from a key, else None."""
        array = self.unused[key]
        if not isinstance(variable, Variable):
            if array.dtype == np.uint8 and array.ndim == 1:
                return None
            return ValueError(f"{self.filename} has a variable {key} in the place of an iterator.")
        if array.shape != tuple(variable.shape):
            return ValueError(
                f"Received incompatible tensor with shape {array.shape} when attempting to "
                f"restore variable with shape {variable.shape} and name {key}."
            )
        if array.dtype != np.dtype(variable.dtype.numpy_dtype):
            return InvalidArgumentError(
                f"tensor_name = {key}; expected dtype {variable.dtype.name} does not equal "
                f"original dtype {array.dtype.name}"
            )
        return None

    def _store_binding(self, obj: object, number: int) -> None:
        self._bound.put(obj, number)
        if hasattr(obj, "_nt_saved_names"):
            self._optimizers.put(obj, number)

    def _is_bound(self, obj: object) -> bool:
        return obj in self._bound

    def _awaits_parts(self, obj: object, number: int) -> bool:
        """Whether unused values belong to parts that an object does not have yet."""
        obj_parts = self._parts(obj, number)
        return any(
            name not in obj_parts and self._has_unused(k, set())
            for name, k in self.nodes[number].items()
        )

    def _has_unused(self, number: int, visited: set[int]) -> bool:
        """Whether a node or its parts have unused values."""
        node = self.nodes[number]
        if isinstance(node, str):
            return node in self.unused
        if number in visited:
            return False
        visited.add(number)
        return any(self._has_unused(k, visited) for k in node.values())

    def _on_new_parts(self, obj: object) -> bool:
        """Restore new parts of an object; return whether to keep listening for more."""
        number = self._bound.get(obj)
        if number is None:
            return False
        obj_parts, node = self._parts(obj, number), self.nodes[number]
        new_pairs = [
            (obj_parts[name], k)
            for name, k in node.items()
            if name in obj_parts and not self._is_bound(obj_parts[name])
        ]
        if new_pairs:
            self._bind(new_pairs)
        return self._awaits_parts(obj, number)

    def complete(self) -> None:
        """Restore new parts of all bound objects that did not notify of their change."""
        for obj, _ in self._bound:
            if not is_value(obj):
                self._on_new_parts(obj)

    def unmatched_variables(self, root: Any) -> list[Variable]:
        """Return the variables inside a root that were not restored."""
        graph = ObjectGraph(root, self._excluded)
        return [v for v in graph.variables.values() if not self._is_bound(v)]


def _assign_values(variables: list[Variable], arrays: list[Any]) -> None:
    """Assign values; for variables created by the call being recorded, set their initial value."""
    values = [of_array(x, v._spec) for v, x in zip(variables, arrays, strict=True)]
    created_ids = local.log.created
    after_creation = [
        (v, x) for v, x in zip(variables, values, strict=True) if id(v) in created_ids
    ]
    if after_creation:
        set_values([v for v, _ in after_creation], [x for _, x in after_creation])
    existing = [(v, x) for v, x in zip(variables, values, strict=True) if id(v) not in created_ids]
    if existing:
        assign_all([v for v, _ in existing], [x for _, x in existing])


def _with_dots(key: str) -> str:
    return key.partition("/.ATTRIBUTES")[0].replace("/", ".")


class CheckpointLoadStatus:
    """The result of a restore. Its methods assert that the restore is complete.

    Args:
      restoration: The restoration in progress.
      checkpoint: The checkpoint that is restored.
    """

    def __init__(self, restoration: Restoration, checkpoint: Any) -> None:
        self._restoration, self._checkpoint = restoration, checkpoint

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Assert that every value was used and every variable was restored.

        Returns:
          The status.

        Raises:
          AssertionError: If a value or a variable is unmatched.
        """
        self._restoration.complete()
        for key in self._restoration.unused:
            raise AssertionError(
                f"Unresolved object in checkpoint (root).{_with_dots(key)}: the program has no "
                f"variable for {key!r}"
            )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Assert that every variable of the program was restored.

        Returns:
          The status.

        Raises:
          AssertionError: If a variable is unmatched.
        """
        self._restoration.complete()
        counter = getattr(self._checkpoint, "_save_counter", None)
        missing = [
            v for v in self._restoration.unmatched_variables(self._checkpoint) if v is not counter
        ]
        if missing:
            raise AssertionError(
                f"Found {len(missing)} Python objects that were not bound to checkpointed values, "
                f"likely due to changes in the Python program. Showing {min(10, len(missing))} of "
                f"{len(missing)} unmatched objects: {missing[:10]}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Assert that a part of the root was matched.

        Returns:
          The status.

        Raises:
          AssertionError: If only the root matches.
        """
        self._restoration.complete()
        root_parts = parts(self._checkpoint)
        if not any(name in root_parts for name in self._restoration.nodes[0]):
            raise AssertionError(
                f"Nothing to load. No parts of {self._checkpoint!r} are in "
                f"{self._restoration.filename}."
            )
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Do nothing: incomplete restores never warn in numtape.

        Returns:
          The status.
        """
        return self

    def initialize_or_restore(self, session: object = None) -> None:
        """Do nothing: the values are restored already."""

    def run_restore_ops(self, session: object = None) -> None:
        """Do nothing: the values are restored already."""


class InitializationOnlyStatus:
    """The status of ``restore(None)``, which restores nothing."""

    def _raise_no_checkpoint(self) -> NoReturn:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_consumed = assert_existing_objects_matched = _raise_no_checkpoint
    assert_nontrivial_match = _raise_no_checkpoint

    def expect_partial(self) -> InitializationOnlyStatus:
        """Do nothing.

        Returns:
          The status.
        """
        return self

    def initialize_or_restore(self, session: object = None) -> None:
        """Do nothing: the variables have their initial values."""

    def run_restore_ops(self, session: object = None) -> NoReturn:
        """Raise an AssertionError: there is no checkpoint to restore."""
        self._raise_no_checkpoint()
