"""``tf.keras.optimizers``: optimizers and learning rate schedules."""

from __future__ import annotations

import typing as _typing
from typing import TYPE_CHECKING, Any

from ...compat.names import getter as _getter
from ...core.values.dtypes import repr_of as _repr_of
from ..registry import nearest as _nearest
from . import schedules
from .adam import Adam, Adamax, AdamW, Lamb, Nadam, ScheduleFreeAdamW
from .adaptive import Adadelta, Adafactor, Adagrad, Ftrl, RMSprop
from .muon import Muon
from .optimizer import REGISTRY as _REGISTRY, Optimizer, optimizer_of as _optimizer_of
from .sgd import SGD, Lion
from .wrapping import LossScaleOptimizer, MultiOptimizer, OptimizerMap

if TYPE_CHECKING:
    from ..annotations import Config

__all__ = [
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lamb",
    "Lion",
    "LossScaleOptimizer",
    "MultiOptimizer",
    "Muon",
    "Nadam",
    "Optimizer",
    "OptimizerMap",
    "RMSprop",
    "ScheduleFreeAdamW",
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
    Lamb,
    Lion,
    LossScaleOptimizer,
    MultiOptimizer,
    Muon,
    Nadam,
    RMSprop,
    ScheduleFreeAdamW,
]
_REGISTRY.classes.update({kind.__name__: kind for kind in _CLASSES})
_REGISTRY.known.update({kind.__name__: kind for kind in _CLASSES})
_REGISTRY.known.update({kind.__name__.lower(): kind for kind in _CLASSES})


def serialize(optimizer: Optimizer) -> dict[str, Any]:
    """Return the class and constructor arguments of an optimizer.

    Args:
      optimizer: An optimizer.

    Returns:
      A dict. `deserialize` creates an optimizer from it, without the state.

    Raises:
      TypeError: If ``optimizer`` is not an optimizer.

    Example:
      >>> config = tf.keras.optimizers.serialize(tf.keras.optimizers.SGD(0.5))
      >>> config["class_name"], config["config"]["learning_rate"]
      ('SGD', 0.5)
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{_repr_of(optimizer)} must be an optimizer.")
    return _REGISTRY.describe(optimizer)


def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Optimizer:
    """Create an optimizer from the result of `serialize`.

    Args:
      config: The result of `serialize`. The class name is case-insensitive.
      custom_objects: Custom classes, by name.

    Returns:
      An optimizer.

    Raises:
      ValueError: If ``config`` is not such a dict, or the class is unknown.

    Example:
      >>> config = {"class_name": "sgd", "config": {"momentum": 0.5}}
      >>> tf.keras.optimizers.deserialize(config).momentum
      0.5
    """
    result: Optimizer = _optimizer_of(config, custom_objects)
    return result


def get(identifier: str | Config | Optimizer | None) -> Any:
    """Return an optimizer from a name, a config or an optimizer.

    Args:
      identifier: A case-insensitive name, for default arguments; a result of `serialize`; an
        optimizer, which is returned; or None.

    Returns:
      An optimizer; None for None.

    Raises:
      ValueError: If ``identifier`` is something else, or the name is unknown.

    Example:
      >>> tf.keras.optimizers.get("adam").beta_2
      0.999
    """
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str) and identifier.lower() in _REGISTRY.known:
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, type) and issubclass(identifier, Optimizer):
        name = identifier.__name__
        raise ValueError(
            f"Could not interpret optimizer identifier: {name} is a class, but an "
            f"optimizer must be an instance: write {name}()."
        )
    raise ValueError(
        f"Could not interpret optimizer identifier: {_repr_of(identifier)}."
        f"{_nearest(identifier, _REGISTRY.known)} Names are "
        f"{', '.join(repr(kind.__name__.lower()) for kind in _CLASSES)}."
    )
