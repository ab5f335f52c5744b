"""Derivatives in both directions: `GradientTape` and `ForwardAccumulator`."""

from __future__ import annotations

import typing as _typing
from typing import TYPE_CHECKING, Any

from . import nest
from .compat.names import getter as _getter
from .compat.traceback_filter import guard_module as _guard_module
from .core.derive.forward import ForwardTape, TangentPass, check_tangent_shape
from .core.derive.reachability import missing_gradient_message
from .core.log.as_tensor import to_tensor
from .core.log.variable import Variable, original
from .core.ops.creation import zeros
from .core.values.spec import SPECS
from .core.values.tensor import Tensor
from .tape import GradientTape, UnconnectedGradients, _gives_zeros, _home, _warn_here

if TYPE_CHECKING:
    from .core.values.annotations import TensorLike

__all__ = ["ForwardAccumulator", "GradientTape"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


class ForwardAccumulator:
    """Forward mode: Jacobian-vector products of what is computed inside its ``with`` block.

    A tape goes back from results to their sources; this goes along with the computation, and has
    for each result its derivative in the one direction that the tangents give. It is the cheaper
    one where there are few inputs and many results. Accumulators nest with each other and with
    tapes: what an inner one computes, outer ones and outer tapes differentiate. A gradient that a
    tape computes inside gives products with a Hessian.

    Args:
      primals: A tensor or variable, or a nest of them: the inputs.
      tangents: The direction: for each of them a tensor of its shape and dtype, in the same nest.

    Raises:
      ValueError: If the structures differ, a tangent has another dtype, or a primal comes twice.
      InvalidArgumentError: If a tangent has another shape than its primal.
      AttributeError: If a primal is not a tensor or variable.

    Example:
      >>> v = tf.Variable([1.0, 2.0])
      >>> with tf.autodiff.ForwardAccumulator(v, tf.constant([1.0, 0.0])) as acc:
      ...     with tf.GradientTape() as tape:
      ...         y = tf.reduce_sum(v * v * v)
      ...     slope = tape.gradient(y, v)
      >>> acc.jvp(y).numpy()
      np.float32(3.0)
      >>> acc.jvp(slope).numpy()
      array([6., 0.], dtype=float32)
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        self._tape = ForwardTape(True, False)
        self._forward = TangentPass(self._tape)
        self._tangents: dict[int, tuple[Tensor | Variable, Tensor]] = {}
        self._waiting: list[tuple[Tensor | Variable, Tensor]] = []
        leaves = nest.flatten(primals)
        for k, primal in enumerate(leaves):
            if any(primal is other for other in leaves[:k]):
                raise ValueError(
                    f"Tensor {primal} was specified as a primal multiple times. This may indicate "
                    f"an error. If it was intended, please sum the corresponding tangents."
                )
        if nest.structure(primals) != nest.structure(tangents):
            raise ValueError(
                f"The two structures don't have the same nested structure.\n\nFirst structure: "
                f"{primals!r}\n\nSecond structure: {tangents!r}"
            )
        for primal, tangent in zip(leaves, nest.flatten(tangents), strict=True):
            self.watch(primal, tangent)

    def __enter__(self) -> ForwardAccumulator:
        if self._tape.recording:
            raise ValueError("Accumulator is already recording.")
        self._tape.start()
        waiting, self._waiting = self._waiting, []
        for primal, tangent in waiting:
            self._forward.watch(primal, tangent)
        return self

    def __exit__(self, *_: object) -> None:
        if self._tape.recording:
            # Now: tapes outside go on recording.
            self._forward.advance()
            self._tape.stop()

    def watch(self, primal: Tensor | Variable, tangent: TensorLike) -> None:
        """Give one more input its tangent, for what is computed from here on.

        Args:
          primal: A tensor or variable. A non-float has no derivatives; a warning is logged.
          tangent: A tensor of its shape and dtype.

        Raises:
          ValueError: If the tangent has another dtype.
          InvalidArgumentError: If it has another shape.
          AttributeError: If ``primal`` is not a tensor or variable.

        Example:
          >>> x, y = tf.constant(2.0), tf.constant(5.0)
          >>> with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as acc:
          ...     acc.watch(y, tf.constant(10.0))
          ...     z = x * y
          >>> acc.jvp(z).numpy()
          np.float32(25.0)
        """
        _refuse_others(primal, "dtype")
        if not primal._spec.inexact:
            _warn_here(
                f"The dtype of the watched primal must be floating (e.g. tf.float32), got "
                f"{primal.dtype!r}",
                5,
            )
        tangent_tensor = to_tensor(tangent, primal.dtype)
        check_tangent_shape(primal, tangent_tensor)
        if isinstance(primal, Variable):
            primal = original(primal)
        self._tangents[id(primal)] = primal, tangent_tensor
        if not primal._spec.inexact:
            return
        if self._tape.recording:
            self._forward.advance()  # what was computed before does not have it
            self._forward.watch(primal, tangent_tensor)
        else:
            self._waiting.append((primal, tangent_tensor))

    _watch = watch  # its name in TensorFlow

    def jvp(
        self,
        primals: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivatives of what was computed, in the direction of the tangents.

        Args:
          primals: A tensor or variable, or a nest of them.
          unconnected_gradients: The tangent of a primal that depends on no input: "none" or "zero".

        Returns:
          A tensor (or None) for each, of its shape and dtype, in the same structure.

        Raises:
          AttributeError: If one is not a tensor or variable.
          LookupError: If a path leads through an op that has no gradient registered.
          ValueError: If ``unconnected_gradients`` is unknown.

        Example:
          >>> x = tf.constant([1.0, 2.0])
          >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 10.0])) as acc:
          ...     y = {"square": x * x, "one": tf.ones(2)}
          >>> acc.jvp(y)["square"].numpy(), acc.jvp(y)["one"]
          (array([ 2., 40.], dtype=float32), None)
        """
        zero = _gives_zeros(unconnected_gradients)
        if self._tape.recording:
            _home(self._tape)
            self._forward.advance()
        return nest.map_structure(lambda x: self._jvp(x, zero), primals)

    def _jvp(self, x: Tensor | Variable, zero: bool) -> Tensor | None:
        _refuse_others(x, "_id")
        entry = self._tangents.get(id(original(x) if isinstance(x, Variable) else x))
        if entry is not None:
            return entry[1]
        log = self._tape.log
        if log is not None and isinstance(x, Tensor):
            entered = log._leaf_rows.get(id(x), (-1,))
            row = x._row if x._home is log else entered[0]
            if row in self._forward.missing:
                raise LookupError(missing_gradient_message(self._forward.missing[row]))
            tangent = self._forward.tangents.get(row)
            if tangent is not None:
                log.eager.add(tangent)
                return log.tensor(tangent, SPECS.specs[log.spec[tangent]])
        return zeros(x.shape, x.dtype) if zero else None


def _refuse_others(x: object, attribute: str) -> None:
    if not isinstance(x, Tensor | Variable):
        raise AttributeError(
            f"{type(x).__name__!r} object has no attribute {attribute!r}: expected a tensor or a "
            f"variable, got {x!r}."
        )


_guard_module(__name__)
