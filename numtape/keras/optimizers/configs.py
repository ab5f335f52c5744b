"""Objects to dicts of their class and arguments, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def to_config(thing: Any, module: str, known: Mapping[str, type]) -> dict[str, Any]:
    """The class of a thing and what it was made with, in Keras's form.

    Args:
      thing: Something that has a `get_config`.
      module: The module of the known classes.
      known: Classes by name.
    """
    kind = type(thing)
    public = known.get(kind.__name__) is kind
    return {
        "module": module if public else kind.__module__,
        "class_name": kind.__name__,
        "config": thing.get_config(),
        "registered_name": None if public else kind.__name__,
    }


def from_config(
    config: Any, what: str, known: Mapping[str, type], custom: Mapping[str, Any] | None
) -> Any:
    """The thing that `to_config` gave.

    Args:
      config: A dict.
      what: What it is of, for messages.
      known: Classes by name; the case of letters does not matter.
      custom: More classes by name, which come first.

    Raises:
      ValueError: If it is no such dict, or there is no such class.
    """
    if not isinstance(config, dict) or not isinstance(config.get("class_name"), str):
        raise ValueError(
            f"Could not interpret {what} config: {config!r}. It is a dict with a `class_name`, a "
            f"string, and a `config`, a dict."
        )
    name, arguments = config["class_name"], config.get("config", {})
    if not isinstance(arguments, dict):
        raise ValueError(f"The `config` of {what} {name!r} is no dict: {arguments!r}.")
    by_name = {key.lower(): kind for key, kind in known.items()}
    kind: Any = (custom or {}).get(name) or by_name.get(name.lower())
    if kind is None:
        raise ValueError(
            f"Unknown {what}: {name!r}. Known: {', '.join(sorted(known))}; others go into "
            f"`custom_objects`."
        )
    return kind.from_config(dict(arguments))
