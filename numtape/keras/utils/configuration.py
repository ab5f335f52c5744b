"""`Config`, a dict of settings with attributes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any, Self

from ..registry import nearest


class Config:
    """A dict of named settings, which are attributes too, and may be frozen.

    Args:
      **kwargs: The settings.

    Raises:
      ValueError: If a frozen config is changed.
      AttributeError: If a setting does not exist.

    Example:
      >>> config = tf.keras.utils.Config(learning_rate=0.1)
      >>> config.momentum = 0.9
      >>> config["momentum"], config.as_dict()
      (0.9, {'learning_rate': 0.1, 'momentum': 0.9})
    """

    __attrs__: set[str] | None = None

    def __init__(self, **kwargs: Any) -> None:
        self._config: dict[str, Any] = kwargs
        self._frozen = False
        self.__attrs__ = set(dir(self))

    def _check_open(self) -> None:
        if self._frozen:
            raise ValueError(
                "Cannot mutate attribute(s) because the config is frozen. Use `unfreeze()`."
            )

    def _missing(self, name: str) -> str:
        return f"Unknown attribute: '{name}'.{nearest(name, self._config)}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._config:
            return self._config[name]
        raise AttributeError(self._missing(name))

    def __setattr__(self, name: str, value: object) -> None:
        attributes = object.__getattribute__(self, "__attrs__")
        if attributes is None or name in attributes or name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self._config:
            raise AttributeError(self._missing(name))
        del self[name]

    def __getitem__(self, key: str) -> Any:
        return self._config[key]

    def __setitem__(self, key: str, value: object) -> None:
        self._check_open()
        self._config[key] = value

    def __delitem__(self, key: str) -> None:
        self._check_open()
        del self._config[key]

    def __contains__(self, key: object) -> bool:
        return key in self._config

    def __len__(self) -> int:
        return len(self._config)

    def __iter__(self) -> Iterator[str]:
        return iter(self._config)

    def __repr__(self) -> str:
        return f"<Config {self._config}>"

    def keys(self) -> Iterable[str]:
        """Return the names of the settings."""
        return self._config.keys()

    def values(self) -> Iterable[Any]:
        """Return the values of the settings."""
        return self._config.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return pairs of a name and a value."""
        return self._config.items()

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting, or ``default`` if it does not exist.

        Args:
          key: The name.
          default: The value of a missing setting.
        """
        return self._config.get(key, default)

    def pop(self, *args: Any) -> Any:
        """Remove a setting and return its value.

        Args:
          *args: The name, and the value of a missing setting.
        """
        self._check_open()
        return self._config.pop(*args)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return a setting, after setting it to ``default`` if it does not exist.

        Args:
          key: The name.
          default: The value of a missing setting.
        """
        self._check_open()
        return self._config.setdefault(key, default)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Change several settings.

        Args:
          *args: A dict of settings.
          **kwargs: Settings.
        """
        self._check_open()
        self._config.update(*args, **kwargs)

    def clear(self) -> None:
        """Remove all settings."""
        self._check_open()
        self._config.clear()

    def copy(self) -> Self:
        """Return a copy that is not frozen."""
        return type(self)(**copy.copy(self._config))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as a dict."""
        return copy.copy(self._config)

    def to_json(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(self._config)

    def freeze(self) -> None:
        """Make changes an error."""
        self._frozen = True

    def unfreeze(self) -> None:
        """Allow changes again."""
        self._frozen = False
