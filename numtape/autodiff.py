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
    """Forward mode: compute Jacobian-vector products of the results in its ``with`` block.

    A tape propagates derivatives backward, from results to their sources. An accumulator
    propagates them forward, along with the computation: each result gets its derivative in the
    direction of the tangents. This is cheaper for few inputs and many results. Accumulators nest
    with each other and with tapes: outer ones differentiate the results of inner ones. The
    gradient of a tape inside an accumulator yields Hessian-vector products.

    Args:
      primals: The inputs: a tensor or variable, or a nest of them.
      tangents: The direction: a tensor of the same shape and dtype for each primal, in the same
        nest.

    Raises:
      ValueError: If the structures differ, a tangent has another dtype, or a primal is repeated.
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
            if any(primal is earlier_primal for earlier_primal in leaves[:k]):
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
        pending, self._waiting = self._waiting, []
        for primal, tangent in pending:
            self._forward.watch(primal, tangent)
        return self

    def __exit__(self, *_: object) -> None:
        if self._tape.recording:
            # Propagate now: tapes outside continue recording.
            self._forward.advance()
            self._tape.stop()

    def watch(self, primal: Tensor | Variable, tangent: TensorLike) -> None:
        """Add an input and its tangent, for the computation from here on.

        Args:
          primal: A tensor or variable. A non-float has no derivatives; a warning is logged.
          tangent: A tensor of the primal's shape and dtype.

        Raises:
          ValueError: If the tangent has another dtype.
          InvalidArgumentError: If the tangent has another shape.
          AttributeError: If ``primal`` is not a tensor or variable.

        Example:
          >>> x, y = tf.constant(2.0), tf.constant(5.0)
          >>> with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as acc:
          ...     acc.watch(y, tf.constant(10.0))
          ...     z = x * y
          >>> acc.jvp(z).numpy()
          np.float32(25.0)
        """
        _require_tensor(primal, "dtype")
        if not primal._spec.inexact:
            _warn_here(
                f"The dtype of the watched primal must be floating (e.g. tf.float32), got "
                f"{primal.dtype!r}",
                5,
            )
        tangent_tensor = to_tensor(tangent, primal.dtype)
        check_tangent_shape(primal.shape, tangent_tensor.shape)
        if isinstance(primal, Variable):
            primal = original(primal)
        self._tangents[id(primal)] = primal, tangent_tensor
        if not primal._spec.inexact:
            return
        if self._tape.recording:
            self._forward.advance()  # earlier results do not depend on it
            self._forward.watch(primal, tangent_tensor)
        else:
            self._waiting.append((primal, tangent_tensor))

    _watch = watch  # its name in TensorFlow

    def jvp(
        self,
        primals: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Return the derivatives of results in the direction of the tangents.

        Args:
          primals: The results: a tensor or variable, or a nest of them.
          unconnected_gradients: The tangent of a primal that depends on no input: "none" or "zero".

        Returns:
          A tensor (or None) for each result, of its shape and dtype, in the same structure.

        Raises:
          AttributeError: If a result is not a tensor or variable.
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
        _require_tensor(x, "_id")
        entry = self._tangents.get(id(original(x) if isinstance(x, Variable) else x))
        if entry is not None:
            return entry[1]
        log = self._tape.log
        if log is not None and isinstance(x, Tensor):
            leaf_entry = log._leaf_rows.get(id(x), (-1,))
            row = x._row if x._home is log else leaf_entry[0]
            if row in self._forward.missing:
                raise LookupError(missing_gradient_message(self._forward.missing[row]))
            tangent = self._forward.tangents.get(row)
            if tangent is not None:
                log.eager.add(tangent)
                return log.tensor(tangent, SPECS.specs[log.spec[tangent]])
        return zeros(x.shape, x.dtype) if zero else None


def _require_tensor(x: object, attribute: str) -> None:
    if not isinstance(x, Tensor | Variable):
        raise AttributeError(
            f"{type(x).__name__!r} object has no attribute {attribute!r}: expected a tensor or a "
            f"variable, got {x!r}."
        )


_guard_module(__name__)
