"""``tf.keras.datasets``: data sets in Keras's files, which must be on this machine.

numtape does not use the network: a file that is absent is named by the error, with its address and
the folder, ``~/.keras/datasets``, in which Keras keeps it. Reading never executes code of a file.
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from ...compat.names import getter as _getter

__all__ = [
    "boston_housing",
    "california_housing",
    "cifar10",
    "cifar100",
    "fashion_mnist",
    "imdb",
    "mnist",
    "reuters",
]

if _typing.TYPE_CHECKING:
    from . import (
        boston_housing,
        california_housing,
        cifar10,
        cifar100,
        fashion_mnist,
        imdb,
        mnist,
        reuters,
    )


def __dir__() -> list[str]:
    return sorted(__all__)


def _load_lazily(name: str) -> _typing.Any:
    if name in __all__:
        return _import_module(f"{__name__}.{name}")
    return _getter(__name__)(name)


if not _typing.TYPE_CHECKING:
    __getattr__ = _load_lazily
