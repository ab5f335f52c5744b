"""Objects of Keras that are made of a name or a configuration: initializers, regularizers, ..."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Self

from ..core.values.dtypes import repr_of
from ..module import snake_case
from .foreign import own_arguments
from .registry import get_custom_objects, get_registered_name


class Configured:
    """What is described by the arguments that it was made with.

    Example:
      >>> tf.keras.constraints.MaxNorm(3.0).get_config()
      {'max_value': 3.0, 'axis': 0}
    """

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The object made with these arguments.

        Args:
          config: The result of `get_config`.

        Returns:
          A new object.
        """
        return cls(**config)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.get_config().items())
        return f"{type(self).__name__}({options})"


def nearest(provided: Any, names: Iterable[str]) -> str:
    """What else an unknown name may have meant, as a sentence; nothing, if nothing is like it."""
    import difflib

    near = difflib.get_close_matches(provided, names, 1) if isinstance(provided, str) else []
    return f" Did you mean {near[0]!r}?" if near else ""


class Kind:
    """The known classes of one kind, by their names in CamelCase and snake_case.

    Args:
      word: What an object of the kind is called, such as ``"initializer"``.
      classes: The classes.
      aliases: Further names.
      module: Where they are, if not in Keras's module of that name.
    """

    def __init__(
        self,
        word: str,
        classes: list[type],
        aliases: dict[str, type] | None = None,
        module: str | None = None,
    ) -> None:
        self.word = word
        self.module = f"keras.{word}s" if module is None else module
        self.classes = {one.__name__: one for one in classes}
        self.known = {**self.classes, **{snake_case(n): one for n, one in self.classes.items()}}
        self.known.update(aliases or {})

    def get(self, identifier: Any) -> Any:
        """The object that a name, a configuration, a class or an object stands for."""
        if identifier is None:
            return None
        result = identifier
        if isinstance(identifier, str):
            result = self.known.get(identifier)
        elif isinstance(identifier, dict):
            result = self.deserialize(identifier)
        if inspect.isclass(result):
            result = result()
        if not callable(result):
            raise self._unknown(identifier)
        return result

    def _unknown(self, identifier: Any) -> ValueError:
        names = ", ".join(name for name in self.known if name.islower())
        if isinstance(identifier, dict) and "class_name" in identifier:
            identifier = {"class_name": identifier["class_name"], "config": ...}
        return ValueError(
            f"Could not interpret {self.word} identifier: {repr_of(identifier)}."
            f"{nearest(identifier, self.known)} Known: {names}."
        )

    def serialize(self, thing: Any) -> dict[str, Any] | None:
        """The class and arguments of an object, as a dict that JSON can hold."""
        if thing is None:
            return None
        if not hasattr(thing, "get_config"):
            name = getattr(thing, "__name__", None)
            if name is None:
                raise ValueError(f"This {self.word} has no configuration: {repr_of(thing)}.")
            return {
                "module": "builtins",
                "class_name": "function",
                "config": name,
                "registered_name": name,
            }
        return self.described(thing)

    def described(self, thing: Any) -> dict[str, Any]:
        """The class of something that has a `get_config`, and what it was made with."""
        name = type(thing).__name__
        own = self.classes.get(name) is type(thing)
        return {
            "module": self.module if own else type(thing).__module__,
            "class_name": name,
            "config": thing.get_config(),
            "registered_name": None if own else get_registered_name(type(thing)),
        }

    def deserialize(
        self, config: Any, custom_objects: dict[str, Callable[..., Any]] | None = None
    ) -> Any:
        """What `serialize` described."""
        if config is None:
            return None
        known = {**self.known, **get_custom_objects(), **(custom_objects or {})}
        if isinstance(config, str):
            config = {"class_name": config, "config": {}}
        if not isinstance(config, dict) or not isinstance(config.get("class_name"), str):
            raise self._unknown(config)
        name, arguments = config["class_name"], config.get("config")
        if config.get("registered_name") in get_custom_objects():
            name = config["registered_name"]
        if name == "function" and isinstance(arguments, str):
            name, arguments = arguments, {}
        result = known.get(name)
        if result is None and config.get("registered_name"):
            raise ValueError(
                f"Could not locate class '{name}'. Make sure custom classes and functions are "
                f"decorated with `@keras.saving.register_keras_serializable()`, and imported, or "
                f"given in `custom_objects={{'{name}': {name}}}`.{nearest(name, known)}"
            )
        if result is None:
            raise self._unknown(config)
        if not inspect.isclass(result):
            return result
        if arguments is not None and not isinstance(arguments, dict):
            raise self._unknown(config)
        make: Any = getattr(result, "from_config", None)
        if make is None:
            return result()
        arguments = own_arguments(result, arguments or {})
        takes = "custom_objects" in inspect.signature(make).parameters
        more = {"custom_objects": custom_objects} if takes else {}
        return make(arguments, **more)
