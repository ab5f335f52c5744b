"""What the arguments of optimizers mean, each said once."""

from __future__ import annotations

from functools import wraps
from numbers import Real
from typing import Any, TypeVar

from ...core.values.dtypes import repr_of
from ..described import describe

_Kind = TypeVar("_Kind", bound=type)

BASE = {
    "weight_decay": "How much of its variables each step takes away, times the step size; None: "
    "nothing.",
    "clipnorm": "The largest Euclidean norm of a gradient: a longer one is made that long.",
    "clipvalue": "The largest absolute value of an element of a gradient.",
    "global_clipnorm": "The largest Euclidean norm of all gradients together.",
    "use_ema": "Whether running means of the variables are kept; see `finalize_variable_values`.",
    "ema_momentum": "How much of a running mean stays in a step, from 0 to 1.",
    "ema_overwrite_frequency": "After how many steps the variables become their running means; "
    "None: not by themselves.",
    "loss_scale_factor": "What `scale_loss` multiplies by; gradients are divided by it.",
    "gradient_accumulation_steps": "A step is made of the mean gradient of so many calls; None: of "
    "one.",
    "name": "A name; default: the class's in snake case, numbered.",
}
ARGUMENTS = {
    "learning_rate": "The step size: a float, a schedule, or a function of no arguments, which is "
    "called at each step.",
    **BASE,
    "momentum": "How much of the last step is added to the next, from 0 to 1.",
    "nesterov": "Whether to look ahead.",
    "rho": "How much of a running mean stays in a step.",
    "epsilon": "What keeps a quotient finite.",
    "centered": "Whether the squared mean of gradients is taken from the mean of their squares.",
    "beta_1": "How much of the running mean of gradients stays in a step.",
    "beta_2": "How much of the running mean of their squares, or what stands for it, stays.",
    "amsgrad": "Whether the largest mean of squares so far is used.",
    "initial_accumulator_value": "What the sum of squares begins with.",
    "learning_rate_power": "The power of the sum of squares that step sizes follow, at most 0.",
    "l1_regularization_strength": "How strongly small values become 0.",
    "l2_regularization_strength": "How strongly values are drawn to 0.",
    "l2_shrinkage_regularization_strength": "How much of the variable is added to the gradient.",
    "beta": "What is added to the root of the sum of squares.",
    "beta_2_decay": "The power of the step that 1 - beta_2 is.",
    "epsilon_1": "What is added to squares of gradients.",
    "epsilon_2": "The smallest size of a variable that steps are a part of.",
    "clip_threshold": "The largest root of a mean square of an update.",
    "relative_step": "Whether a constant step size becomes at most 1 / sqrt(step).",
}
_described = describe(ARGUMENTS, "", "ValueError: If an argument is out of its range.")


def optimizer_class(kind: _Kind) -> _Kind:
    """A decorator of optimizers: says what arguments mean, and refuses ``lr`` by name."""
    make = vars(kind)["__init__"]

    @wraps(make)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if "lr" in kwargs:
            raise ValueError(
                f"Argument(s) not recognized: {{'lr': {repr_of(kwargs['lr'])}}}: "
                "write learning_rate."
            )
        make(self, *args, **kwargs)

    setattr(kind, "__init__", __init__)  # noqa: B010
    return _described(kind)


def real(**arguments: Any) -> None:
    """Refuse arguments, by their names, that are no real numbers."""
    for name, value in arguments.items():
        if not isinstance(value, Real):
            raise ValueError(f"`{name}` must be a number. Received: {name}={repr_of(value)}")
