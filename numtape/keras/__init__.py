"""``tf.keras``: layers, losses, activations, optimizers."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from ..compat.argument_errors import (
    name_constructors as _name_constructors,
    name_methods as _name_methods,
)
from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from . import (
    activations,
    backend,
    callbacks,
    config,
    constraints,
    dtype_policies,
    initializers,
    layers,
    losses,
    metrics,
    mixed_precision,
    models,
    optimizers,
    regularizers,
    saving,
    utils,
)
from .dtype_policies import DTypePolicy, FloatDTypePolicy
from .input import Input
from .input_spec import InputSpec
from .layer import Layer
from .losses import Loss
from .metrics import Metric
from .models import Model, Sequential
from .optimizers import Optimizer
from .symbolic import KerasTensor
from .variable import Variable

__all__ = [
    "DTypePolicy",
    "FloatDTypePolicy",
    "Input",
    "InputSpec",
    "KerasTensor",
    "Model",
    "Sequential",
    "Variable",
    "models",
    "ops",
    "preprocessing",
    "random",
    "Layer",
    "Loss",
    "Metric",
    "Optimizer",
    "activations",
    "backend",
    "callbacks",
    "config",
    "constraints",
    "datasets",
    "dtype_policies",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "mixed_precision",
    "optimizers",
    "regularizers",
    "saving",
    "utils",
    "wrappers",
]


if _typing.TYPE_CHECKING:
    from . import datasets, ops, preprocessing, random, wrappers


def __dir__() -> list[str]:
    return sorted(__all__)


def _load_lazily(name: str) -> _typing.Any:
    """Modules that are imported when they are first used."""
    if name in ("datasets", "ops", "preprocessing", "random", "wrappers"):
        return _import_module(f"{__name__}.{name}")
    return _getter(__name__)(name)


if not _typing.TYPE_CHECKING:
    __getattr__ = _load_lazily

_guard_module(__name__)
for _module in (
    callbacks,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    models,
    optimizers,
    optimizers.schedules,
    regularizers,
):
    _name_constructors(vars(_module)[_name] for _name in _module.__all__ if _name in vars(_module))
_name_methods(
    Model,
    "model",
    "compile evaluate fit load_weights predict predict_on_batch save save_weights summary "
    "test_on_batch train_on_batch",
)
_name_methods(Layer, "layer", "add_weight")
_name_methods(Optimizer, "optimizer", "apply apply_gradients")
