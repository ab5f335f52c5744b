"""``tf.nn.experimental``: dropout with seeds and custom draws."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..core.ops.dropout import general_dropout, stateless_dropout

__all__ = ["general_dropout", "stateless_dropout"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter("nn.experimental")
