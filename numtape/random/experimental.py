"""``tf.random.experimental``: older names of generators and of draws with seeds."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..core.ops.generator import (
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)
from ..core.ops.stateless_random import (
    Algorithm,
    fold_in as stateless_fold_in,
    index_shuffle,
    split as stateless_split,
    stateless_shuffle,
)

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "index_shuffle",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter("random.experimental")
