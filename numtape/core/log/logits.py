"""The logits behind probabilities, which Keras's cross-entropies use instead.

A probability that is rounded to 0 or 1 has lost how far off it is, and its gradient is useless;
the logit has not. Keras's activations attach the logits to their results. In a traced call the op
of the row identifies them as well. The result of a function has no logits.
"""

from __future__ import annotations

from .. import settings
from ..values.spec import SPECS
from ..values.tensor import Tensor, of_array
from .log import Log, local
from .op import CODES

_ACTIVATIONS = "Sigmoid", "Softmax"  # ops whose operand is the logits


def with_logits(y: Tensor, x: Tensor) -> Tensor:
    """Return ``y`` with a reference to the logits ``x`` that it was computed from."""
    y._keras_logits = x
    return y


def logits_of(y: Tensor, op: str) -> Tensor | None:
    """Return the logits of ``y``, set by a Keras activation or implied by the op of this name."""
    log = local.log
    if log.nested and y._home is not log:
        return None  # the call got it from outside
    if hasattr(y, "_keras_logits"):
        return y._keras_logits
    if _activation_in_call(y, log) != op:
        return None
    row = log.a[y._row]
    logits: Tensor = log.tensor(row, SPECS.specs[log.spec[row]])
    return logits


def without_logits(y: Tensor) -> Tensor:
    """Return ``y``, or, if it has logits, a tensor of the same value without them."""
    if settings.eager or not (hasattr(y, "_keras_logits") or _activation_in_call(y, local.log)):
        return y
    home, log = y._home, local.log
    if home is not log and isinstance(home, Log):
        return y  # of another thread or from outside of the call; `logits_of` ignores it there
    result = log.tensor(y._row, y._spec) if home is log else of_array(home, y._spec)
    result._keras_logits = None
    return result


def _activation_in_call(y: Tensor, log: Log) -> str:
    """Return the activation that a tensor's row is, if a function is being called; "" for none."""
    called = log.nested or (local.journal is not None and not settings.eager)
    if y._home is not log or not called:
        return ""
    name = CODES.entries[log.code[y._row]][0].name
    return name if name in _ACTIVATIONS else ""
