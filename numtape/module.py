"""`Module`: an object that finds the variables in its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from .compat.missing_names import tell
from .core.log.log import current_name_scope
from .core.log.variable import Variable
from .core.values.hints import MODULE_REPLACEMENTS, hint_missing_attributes
from .deferred_restore import notify_changed

if TYPE_CHECKING:
    from .function.control_flow import name_scope

_Method = TypeVar("_Method", bound=Callable[..., Any])


def snake_case(name: str) -> str:
    """Convert ``CamelCase`` to ``camel_case``."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


class Module:
    """Base class of objects that have variables.

    A module finds variables, and modules with variables, in its attributes, including those inside
    lists, tuples and dicts. Attributes are searched in the order of their names.

    Args:
      name: A Python identifier; default: the class name in snake case.

    Raises:
      ValueError: If ``name`` is not an identifier.

    Example:
      >>> class Line(tf.Module):
      ...     def __init__(self):
      ...         super().__init__()
      ...         self.slope, self.offset = tf.Variable(2.0), tf.Variable(1.0)
      ...     def __call__(self, x):
      ...         return self.slope * x + self.offset
      >>> line = Line()
      >>> line(3.0).numpy(), len(line.trainable_variables), line.name
      (np.float32(7.0), 2, 'line')
    """

    _nt_name: str
    _nt_scope: str

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = snake_case(type(self).__name__)
        elif not isinstance(name, str):
            raise TypeError(f"A module's name is a string, not {name!r}.")
        elif not name.isidentifier():
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid "
                f"Python identifiers (e.g. a valid class name)."
            )
        self._nt_name = name
        self._nt_scope = f"{current_name_scope()}{name}/"

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        notify_changed(self)

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name: attributes with variables."""
        return {name: value for name, value in sorted(vars(self).items()) if name not in _OWN}

    @property
    def name(self) -> str:
        """The name."""
        try:
            return self._nt_name
        except AttributeError:
            raise AttributeError(
                f"{type(self).__name__!r} object has no name: its `__init__()` does not call "
                f"`super().__init__()`."
            ) from None

    @property
    def name_scope(self) -> name_scope:
        """A `name_scope` with the module's name, inside the scope in which it was created.

        Example:
          >>> class Part(tf.Module):
          ...     def build(self):
          ...         with self.name_scope:
          ...             return tf.Variable(1.0, name="w")
          >>> Part(name="part").build().name
          'part/w:0'
        """
        from .function.control_flow import name_scope

        return name_scope(getattr(self, "_nt_scope", f"{self.name}/"))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables, each once, the module's own before those of submodules.

        Example:
          >>> module = tf.Module()
          >>> module.parts = {"b": tf.Variable(1.0, name="b"), "a": [tf.Variable(2.0, name="a")]}
          >>> [v.name for v in module.variables]
          ['a:0', 'b:0']
        """
        return tuple(_unique(self._nt_variables(set())))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`.

        Example:
          >>> module = tf.Module()
          >>> module.v, module.w = tf.Variable(1.0, name="v"), tf.Variable(1.0, trainable=False)
          >>> [v.name for v in module.trainable_variables]
          ['v:0']
        """
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The others."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules inside this one.

        Example:
          >>> module = tf.Module(name="outer")
          >>> module.part = tf.Module(name="inner")
          >>> [part.name for part in module.submodules]
          ['inner']
        """
        modules = list(_unique(self._nt_modules({id(self)})))
        return tuple(modules)

    def __repr__(self) -> str:
        # A debugger may show a module before its `__init__` has set a name.
        name, count = getattr(self, "_nt_name", None), len(self.variables)
        return f"<{type(self).__name__} name={name}, {count} variable{'s' * (count != 1)}>"

    def _nt_leaves(self) -> Iterable[Any]:
        attributes = vars(self)
        for name in sorted(attributes):
            yield from _leaves(attributes[name])

    def _nt_variables(self, visited: set[int]) -> Iterator[Variable]:
        visited.add(id(self))
        leaves = list(self._nt_leaves())
        yield from (leaf for leaf in leaves if isinstance(leaf, Variable))
        for leaf in leaves:
            if isinstance(leaf, Module) and id(leaf) not in visited:
                yield from leaf._nt_variables(visited)

    def _nt_modules(self, visited: set[int]) -> Iterator[Module]:
        direct_modules = [leaf for leaf in self._nt_leaves() if isinstance(leaf, Module)]
        new_modules = []
        for module in direct_modules:
            if id(module) not in visited:
                visited.add(id(module))
                new_modules.append(module)
        yield from new_modules
        for module in new_modules:
            yield from module._nt_modules(visited)

    @classmethod
    def with_name_scope(cls, method: _Method) -> _Method:
        """Let a method run inside the module's `name_scope`: a decorator.

        Args:
          method: A method of a module.

        Returns:
          The method. Variables that it creates have the module's name before their own.

        Example:
          >>> class Part(tf.Module):
          ...     @tf.Module.with_name_scope
          ...     def build(self):
          ...         return tf.Variable(1.0, name="w")
          >>> Part(name="part").build().name
          'part/w:0'
        """

        def method_with_name_scope(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return functools.update_wrapper(method_with_name_scope, method)  # type: ignore[return-value]


# Attributes of the module itself, which no checkpoint stores.
_OWN = ("_nt_name", "_nt_scope")
hint_missing_attributes(Module, MODULE_REPLACEMENTS)


def _leaves(value: object) -> Iterator[Any]:
    if isinstance(value, Variable | Module):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for key in _sort_keys(value):
            yield from _leaves(value[key])


def _sort_keys(keys: Iterable[Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:  # of different classes
        return sorted(keys, key=str)


def _unique(items: Iterator[Any]) -> Iterator[Any]:
    ids = set()
    for item in items:
        if id(item) not in ids:
            ids.add(id(item))
            yield item


tell(Module, "Module")
