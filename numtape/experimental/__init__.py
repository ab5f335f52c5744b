"""``tf.experimental``: what TensorFlow has under this name."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..names import getter as _getter
from ..tracebacks import guard_module as _guard_module
from . import dlpack

__all__ = ["dlpack"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_guard_module(__name__)
