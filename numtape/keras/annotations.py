"""Type aliases of Keras's arguments. Imported by type checkers only.

`numtape.core.values.annotations` has the aliases of tensors, axes, shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.values.annotations import NumberLike, TensorLike
from ..core.values.tensor import Tensor

# The result of `serialize`: the name and configuration of a class.
Config: TypeAlias = Mapping[str, Any]

# A name, a configuration, an instance, a class or a function; see `get` of each module.
ActivationLike: TypeAlias = str | Callable[..., Any] | None
RegularizerLike: TypeAlias = str | Config | Callable[..., Any] | None
ConstraintLike: TypeAlias = str | Config | Callable[..., Any] | None
LossLike: TypeAlias = str | Callable[..., Any] | None
MetricLike: TypeAlias = str | Config | Callable[..., Any]

# The same, or an array of initial values.
InitializerLike: TypeAlias = (
    str | Config | Callable[..., Any] | NDArray[Any] | np.generic | Tensor | None
)

# The shape of one input or output, including the batch axis; None for an unknown size.
InputShape: TypeAlias = Sequence[int | None]
# Arguments of `compile`: one value, or a value for each output, in order or by the output's name.
LossesLike: TypeAlias = LossLike | Sequence[LossLike] | Mapping[str, LossLike]
LossWeights: TypeAlias = float | Sequence[float | None] | Mapping[str, float | None] | None
_OutputMetrics: TypeAlias = MetricLike | Sequence[MetricLike] | None
MetricsLike: TypeAlias = Sequence[_OutputMetrics] | Mapping[str, _OutputMetrics] | None

# A number, a schedule (a function of the step) or a function without arguments.
LearningRate: TypeAlias = NumberLike | Callable[..., NumberLike | Tensor]


# Data of `fit` and its like: arrays, structures of them, datasets, sequences, generators.
DataLike: TypeAlias = TensorLike | Mapping[str, Any] | Iterable[Any] | None


class Configurable(Protocol):
    """An object that `serialize` can describe by its class and configuration."""

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        ...
