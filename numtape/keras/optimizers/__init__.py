"""``tf.keras.optimizers``: gradient descent in many forms, and schedules of its step size."""

from __future__ import annotations

import typing as _typing
from typing import Any

from ...compat.names import getter as _getter
from ...core.values.dtypes import repr_of as _shown
from ..named import Kind as _Kind, nearest as _nearest
from . import schedules
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adamax import Adamax
from .ftrl import Ftrl
from .lion import Lion
from .nadam import Nadam
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = [
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lion",
    "Nadam",
    "Optimizer",
    "RMSprop",
    "deserialize",
    "get",
    "schedules",
    "serialize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_CLASSES: list[type] = [
    SGD,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    AdamW,
    Adamax,
    Ftrl,
    Lion,
    Nadam,
    RMSprop,
]
_KIND = _Kind("optimizer", _CLASSES, {kind.__name__.lower(): kind for kind in _CLASSES})


def serialize(optimizer: Optimizer) -> dict[str, Any]:
    """The class of an optimizer and what it was made with.

    Args:
      optimizer: An optimizer.

    Returns:
      A dict, of which `deserialize` makes an equal optimizer as it was before the first step.

    Raises:
      TypeError: If it is not an optimizer.

    Example:
      >>> config = tf.keras.optimizers.serialize(tf.keras.optimizers.SGD(0.5))
      >>> config["class_name"], config["config"]["learning_rate"]
      ('SGD', 0.5)
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{_shown(optimizer)} is not an optimizer.")
    return _KIND.described(optimizer)


def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Optimizer:
    """The optimizer that a dict stands for.

    Args:
      config: A dict of `serialize`. The case of letters in its class's name does not matter.
      custom_objects: Classes of your own, by name.

    Returns:
      An optimizer.

    Raises:
      ValueError: If it is no such dict, or the class is unknown.

    Example:
      >>> config = {"class_name": "sgd", "config": {"momentum": 0.5}}
      >>> tf.keras.optimizers.deserialize(config).momentum
      0.5
    """
    name = config.get("class_name") if isinstance(config, dict) else None
    if isinstance(name, str) and name.lower() in _KIND.known:
        config = {**config, "class_name": name.lower()}
    result: Optimizer = _KIND.deserialize(config, custom_objects)
    return result


def get(identifier: Any) -> Any:
    """The optimizer that a name, a dict or an optimizer stands for.

    Args:
      identifier: A name in any case, for default arguments; a dict of `serialize`; an optimizer,
        which comes back; or None.

    Returns:
      An optimizer; None for None.

    Raises:
      ValueError: If it is something else, or the name is unknown.

    Example:
      >>> tf.keras.optimizers.get("adam").beta_2
      0.999
    """
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str) and identifier.lower() in _KIND.known:
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, type) and issubclass(identifier, Optimizer):
        name = identifier.__name__
        raise ValueError(
            f"Could not interpret optimizer identifier: {name} is a class, and what "
            f"is wanted an optimizer: write {name}()."
        )
    raise ValueError(
        f"Could not interpret optimizer identifier: {_shown(identifier)}."
        f"{_nearest(identifier, _KIND.known)} Names are "
        f"{', '.join(repr(kind.__name__.lower()) for kind in _CLASSES)}."
    )
