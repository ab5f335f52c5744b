"""`GradientTape`: records the rows of the log to differentiate."""

from __future__ import annotations

import enum
import logging
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np

from . import tape_report
from .core import settings
from .core.derive import jacobians, repeated_gradients
from .core.derive.sparse import SUMS, slices_of
from .core.derive.tape import Tape
from .core.derive.transpose import append_adjoints
from .core.log.evaluate import drop_unreachable
from .core.log.log import LEAF_CODE, Log, local
from .core.log.op import CODES
from .core.log.variable import Variable, creation_order, original
from .core.ops.creation import convert_to_tensor, zeros, zeros_like
from .core.ops.movement import broadcast_to, identity, reshape_if_needed, transpose_if_needed
from .core.values.arguments import to_int
from .core.values.convert import NUMPY
from .core.values.dtypes import mismatch_error
from .core.values.spec import intern
from .core.values.tensor import Tensor
from .kernels.passes.rows import SEEN_WATCHED

if TYPE_CHECKING:
    from .core.values.annotations import TensorLike

log_messages = logging.getLogger("numtape")


class UnconnectedGradients(enum.Enum):
    """The result of `GradientTape.gradient` for a source that the targets do not depend on.

    Attributes:
      NONE: None; also written ``"none"``.
      ZERO: Zeros; also written ``"zero"``.

    Example:
      >>> x = tf.Variable([1.0, 2.0])
      >>> with tf.GradientTape(persistent=True) as tape:
      ...     y = tf.constant(1.0)
      >>> tape.gradient(y, x) is None
      True
      >>> tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO).numpy()
      array([0., 0.], dtype=float32)
    """

    NONE = "none"
    ZERO = "zero"


_SPENT = (
    "A non-persistent GradientTape can only be used to compute one set of gradients (or "
    "jacobians). Make it with persistent=True to ask more often."
)

_RELEASED = (
    "This tape is not persistent and released its rows when it computed gradients. It can still "
    "explain each gradient that was None in that call, and this was none of them. Make it with "
    "persistent=True to ask about other gradients, NaN and infinity afterwards."
)

_warned: Counter[tuple[str, int, str]] = Counter()


def _warn_here(message: str, max_count: int) -> None:
    """Log a warning, at most ``max_count`` times for each line of the caller's code."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape."):
        frame = frame.f_back
    location = frame.f_code.co_filename, frame.f_lineno, message
    _warned[location] += 1
    if _warned[location] <= max_count:
        log_messages.warning(message)


class GradientTape:
    """Record operations for automatic differentiation.

    Inside its ``with`` block, a tape records operations on watched tensors and trainable variables;
    `gradient` then differentiates them. A tape belongs to the thread that recorded on it. Tapes may
    be nested: the outer tape differentiates the gradients that the inner tape computed.

    Args:
      persistent: Whether `gradient` may be called more than once.
      watch_accessed_variables: Whether reading a trainable variable watches it.

    Raises:
      ValueError: If a recording tape is entered again.

    Example:
      >>> x = tf.constant(3.0)
      >>> with tf.GradientTape() as outer:
      ...     outer.watch(x)
      ...     with tf.GradientTape() as tape:
      ...         tape.watch(x)
      ...         y = x * x * x
      ...     slope = tape.gradient(y, x)
      >>> slope
      <tf.Tensor: shape=(), dtype=float32, numpy=27.0>
      >>> outer.gradient(slope, x)
      <tf.Tensor: shape=(), dtype=float32, numpy=18.0>
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = bool(persistent)
        self._watch_accessed = bool(watch_accessed_variables)
        self._tape: Tape | None = None
        self._watched: dict[int, Variable] = {}

    def __reduce__(self) -> NoReturn:
        """Raise a TypeError: a tape refers to the records of this process."""
        raise TypeError(
            "A GradientTape cannot be pickled or copied: what it follows is recorded in this "
            "process. Pickle tensors, or the gradients."
        )

    # Recording.

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        tape = self._tape
        if tape is not None and tape.ranges and tape.ranges[-1] < 0:
            tape.stop()
            if kind is not None and issubclass(kind, MemoryError) and tape.log is not None:
                drop_unreachable(tape.log)

    def _start(self) -> None:
        tape = self._tape
        if tape is not None and tape.recording:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an "
                "already-active tape."
            )
        if tape is None or tape.is_spent:
            tape = self._tape = Tape(self._persistent, self._watch_accessed)
            self._watched = {}
        tape.start()

    def watch(self, tensor: Any) -> None:
        """Record operations on a tensor, or a nest of tensors, from here on.

        Operations that were already recorded for another operand can be differentiated as well.

        Args:
          tensor: A tensor or variable, or a nest of them. Non-floats have no derivatives; a
            warning is logged.

        Raises:
          ValueError: If a leaf is not a tensor or variable; or if the tape never recorded, or is
            not persistent and has computed gradients.

        Example:
          >>> x, y = tf.constant(2.0), tf.constant(5.0)
          >>> with tf.GradientTape() as tape:
          ...     tape.watch([x, y])
          ...     z = x * y
          >>> [g.numpy() for g in tape.gradient(z, [x, y])]
          [np.float32(5.0), np.float32(2.0)]
        """
        leaves = _leaves(tensor)
        for leaf in leaves:
            if not isinstance(leaf, _LEAVES):
                raise ValueError(
                    f"Passed in object {leaf} of type {type(leaf).__name__!r}, not "
                    f"tf.Tensor or tf.Variable or ExtensionType."
                )
        tape = self._tape
        if tape is None or tape.is_spent:
            raise ValueError("Tape is not recording: watch belongs inside its `with` block.")
        # As in TensorFlow, a tape that has ended records nothing, unless another one records.
        records = tape.recording or local.log.is_recorded()
        for leaf in leaves:
            if not leaf._spec.inexact:
                _warn_here(
                    f"The dtype of the watched tensor must be floating (e.g. tf.float32), got "
                    f"{leaf.dtype!r}",
                    5,
                )
            elif type(leaf) is Tensor:
                if records:
                    tape.watch_tensor(leaf)
            else:
                variable = original(leaf)
                self._watched[id(variable)] = variable
                if records:
                    tape.watch_variable(variable)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Pause recording inside this ``with`` block.

        Raises:
          RuntimeError: If the tape was never entered.
          ValueError: If the tape is not recording; or, at the end of the block, if it is.

        Example:
          >>> v = tf.Variable(3.0)
          >>> with tf.GradientTape() as tape:
          ...     y = v * v
          ...     with tape.stop_recording():
          ...         z = v * y
          >>> tape.gradient([y, z], v).numpy()
          np.float32(6.0)
        """
        tape = self._tape
        if tape is None or (tape.is_spent and not tape.recording):
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        if not tape.recording:
            raise ValueError("Tape is not recording.")
        tape.stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Discard the record, and continue recording.

        Raises:
          ValueError: If the tape is not recording.

        Example:
          >>> v = tf.Variable(3.0)
          >>> with tf.GradientTape() as tape:
          ...     y = v * v
          ...     tape.reset()
          ...     z = 2.0 * v
          >>> tape.gradient([y, z], v).numpy()
          np.float32(2.0)
        """
        tape = self._tape
        if tape is None or not tape.recording:
            raise ValueError("Tape is not recording: reset belongs inside its `with` block.")
        tape.stop()
        self._tape = None
        self._start()

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the variables that were read or watched while recording, in order of creation.

        Returns:
          A tuple of variables.

        Example:
          >>> v, w = tf.Variable(3.0, name="v"), tf.Variable(1.0, trainable=False)
          >>> with tf.GradientTape() as tape:
          ...     y = v * w
          >>> [variable.name for variable in tape.watched_variables()]
          ['v:0']
        """
        if self._tape is not None:
            self._tape.refuse_foreign("asks for the variables of a tape")
        self._note_variables()
        return tuple(sorted(self._watched.values(), key=creation_order))

    def _note_variables(self) -> None:
        """Remember the variables read so far: the log will forget them."""
        tape = self._tape
        if tape is None:
            return
        for _, event in tape.events:
            if isinstance(event, Variable):
                self._watched[id(event)] = event
        for variable, flag in zip(*tape.variable_flags, strict=False):
            if flag == SEEN_WATCHED:
                self._watched[id(variable)] = variable
        if tape.log is not None and tape.watch_accessed:
            for variable in tape.variables_read():
                if variable.trainable:
                    self._watched[id(variable)] = variable

    @property
    def rows(self) -> int:
        """The number of rows of the log that were recorded on this tape."""
        return 0 if self._tape is None else self._tape.rows

    def why(self, target: Tensor | Variable | None, source: Tensor | Variable | None) -> str:
        """Explain why the gradient of a target by a source is None, NaN or infinite.

        With ``NUMTAPE_TRACEBACK=1`` or `config.set_record_traceback` the text names the program's
        lines.
        A tape that is not persistent releases its rows at `gradient`; afterwards it still explains
        the gradients that were None in that call.

        Args:
          target: A tensor.
          source: A tensor or variable.

        Returns:
          A text: the op where the path ends, or the first ops that returned NaN or infinity.

        Raises:
          RuntimeError: If the tape never recorded; or if it is not persistent, has computed
            gradients, and the gradient by this source was not None.
          LookupError: If a path leads through an op that has no gradient registered.
          TypeError: If an argument is not a tensor or variable.

        Example:
          >>> x = tf.Variable([1.0, 4.0])
          >>> with tf.GradientTape() as tape:
          ...     y = tf.reduce_sum(tf.floor(x) * 2.0)
          >>> print(tape.why(y, x))
          The gradient is None: the path ends at
          Floor (shape [2], float32): it has no derivative
        """
        from .core.derive.explain import explain

        if target is None or source is None:
            raise TypeError("A target and a source are tensors or variables.")
        target, source = _resolve_aliases([target, source])
        if self._tape is not None and self._tape.is_spent:
            unconnected = self._tape.unconnected
            reason: str | None = unconnected and unconnected.explain(target, source)
            if reason is None:
                raise RuntimeError(_RELEASED)
            return reason
        tape = self._ready()
        log = _home(tape)
        was_busy, log.busy = log.busy, True
        try:
            log.reserve(4)
            row = -1 if isinstance(target, Variable) else log.row_of(target, None, "why")[0]
            return explain(log, tape, row, _seed(log, target, None), target, source)
        finally:
            log.busy = was_busy

    def summary(self) -> str:
        """Return a table of the recorded ops: their number and the bytes of their results.

        Returns:
          A text of several lines.

        Example:
          >>> v = tf.Variable([1.0, 2.0])
          >>> with tf.GradientTape() as tape:
          ...     y = v * v + v
          >>> print(tape.summary())
          op               count       bytes
          AddV2                1           8
          Mul                  1           8
          ReadVariableOp       1           8
          all                  3          24
        """
        return tape_report.summary(self._tape)

    def to_dot(self, most: int = 200) -> str:
        r"""Return the recorded ops as a Graphviz graph, with an arrow from each operand.

        Args:
          most: The maximum number of ops: the last ones are shown.

        Returns:
          A text.

        Raises:
          TypeError: If ``most`` is not an int.

        Example:
          >>> v = tf.Variable(2.0)
          >>> with tf.GradientTape() as tape:
          ...     y = tf.sin(v)
          >>> print(tape.to_dot())
          digraph tape {
            r0 [label="ReadVariableOp\nfloat32 []"];
            r1 [label="Sin\nfloat32 []"];
            r0 -> r1;
          }
        """
        return tape_report.to_dot(self._tape, to_int("most", most))

    def _repr_html_(self) -> str:
        return tape_report.html_table(self._tape)

    def __repr__(self) -> str:
        tape = self._tape
        kind = "a persistent GradientTape" if self._persistent else "a GradientTape"
        if tape is None:
            return f"<{kind}: never entered>"
        state = "recording" if tape.recording else "asked already" if tape.is_spent else "recorded"
        count = len(self.watched_variables())
        return f"<{kind}: {state}, {count} variable{'s' * (count != 1)} watched>"

    # Differentiating.

    # For type checkers. A gradient may be None or IndexedSlices, which few programs ask about.
    @overload
    def gradient(
        self,
        target: Any,
        sources: Tensor | Variable,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Tensor | Any: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: list[Tensor] | list[Variable] | list[Tensor | Variable],
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> list[Tensor | Any]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any: ...

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Compute the derivative of the sum of all targets with respect to each source.

        Args:
          target: A tensor or variable, or a nest of them.
          sources: A tensor or variable, or a nest of them.
          output_gradients: A factor for each target, of its shape; None means ones.
          unconnected_gradients: The gradient of unconnected sources: "none" or "zero".

        Returns:
          A tensor (or None) for each source, of its shape and dtype, in the structure of
          ``sources``; `IndexedSlices` for a source of which the targets use only slices.

        Raises:
          RuntimeError: If the tape is not persistent and has computed gradients, or never recorded.
          TypeError: If ``target`` or ``sources`` is None.
          LookupError: If a path leads through an op that has no gradient registered.
          ValueError: If ``unconnected_gradients`` is unknown.

        Example:
          >>> x = tf.Variable([1.0, 2.0])
          >>> with tf.GradientTape() as tape:
          ...     y = x * x
          >>> tape.gradient(y, {"x": x}, output_gradients=tf.constant([1.0, 10.0]))
          {'x': <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 2., 40.], dtype=float32)>}
        """
        tape = self._ready()
        if output_gradients is None and unconnected_gradients is _NONE:
            fast_result = repeated_gradients.gradient_fast_path(tape, target, sources)
            if fast_result is not None:
                return fast_result
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, "
                "Variables or CompositeTensors to be differentiated, but received "
                "None."
            )
        if sources is None:
            raise TypeError(
                "Argument `sources` should be a list or nested structure of Tensors, "
                "Variables or CompositeTensors, but received None."
            )
        zero = unconnected_gradients is not _NONE and _gives_zeros(unconnected_gradients)
        targets = _resolve_aliases(_leaves(target))
        leaves, rebuild = _flat(sources)
        leaves = _resolve_aliases(leaves)
        seeds = [] if output_gradients is None else _leaves(output_gradients)
        if tape.recording:
            self._suspend(tape)
        first_rows = (tape.log.n, tape.log.extra_n) if tape.log is not None else (0, 0)
        gradients = self._gradient(tape, targets, leaves, seeds, zero)
        if tape.recalled_adjoints is not None and not seeds and not zero:
            repeated_gradients.prepare(tape, first_rows, target, sources, gradients)
        if not tape.persistent:
            if not zero and any([x is None for x in gradients]):
                _keep_reasons(tape, targets, leaves, gradients)
            tape.release()
        return rebuild(gradients)

    def _ready(self) -> Tape:
        tape = self._tape
        if tape is None:
            raise RuntimeError(f"{_SPENT} This one recorded nothing: it was never entered (with).")
        if tape.is_spent:
            raise RuntimeError(_SPENT)
        return tape

    def _suspend(self, tape: Tape) -> None:
        """Stop a non-persistent tape that computes gradients inside its own ``with`` block."""
        if tape.recording:
            if tape.persistent:
                _warn_here(
                    "Calling GradientTape.gradient on a persistent tape inside its context is "
                    "significantly less efficient than calling it outside the context (it causes "
                    "the gradient ops to be recorded on the tape, leading to increased CPU and "
                    "memory usage). Only call GradientTape.gradient inside the context if you "
                    "actually want to trace the gradient in order to compute higher order "
                    "derivatives.",
                    1,
                )
            else:
                tape.stop()

    def _gradient(
        self, tape: Tape, targets: list[Any], sources: list[Any], seeds: list[Any], zero: bool
    ) -> list[Any]:
        log = _home(tape)
        was_busy = log.busy
        try:
            log.busy = True
            first_row = log.n
            log.reserve(4 * (len(targets) + len(sources)) + len(seeds))
            rows: list[tuple[int, int]] = []
            for k, target in enumerate(targets):
                # A variable depends only on itself: it has no row to start from.
                row = log.row_of(target, None, "gradient")[0] if type(target) is Tensor else -1
                rows.append((row, _seed(log, target, seeds[k] if k < len(seeds) else None)))
            adjoints = append_adjoints(log, tape, [pair for pair in rows if pair[0] >= 0], sources)
            results: list[Any] = []
            names = {id(target) for target in targets}
            for source, adjoint in zip(sources, adjoints, strict=True):
                total = None if adjoint is None else log.tensor(*adjoint)
                if id(source) in names:
                    # A variable that is target and source has the derivative 1.
                    for target, (row, seed) in zip(targets, rows, strict=True):
                        if target is source and row < 0:
                            unit = log.tensor(seed, source._spec)
                            total = unit if total is None else total + unit
                if total is not None and total._spec is not source._spec:
                    raise AssertionError("an adjoint of another shape than its primal")
                if total is None and zero:  # another tape that follows the source follows it
                    variable = isinstance(source, Variable)
                    total = zeros(source.shape, source.dtype) if variable else zeros_like(source)
                elif total is not None and total._home is log:
                    op = CODES.entries[log.code[total._row]][0]
                    slices = slices_of(log, total, first_row) if op in SUMS else None
                    if slices is not None:
                        if slices.values._home is log:
                            log.eager.add(slices.values._row)
                        results.append(slices)
                        continue
                    if log.code[total._row] == LEAF_CODE:  # others may have this constant, too
                        total = identity(total)
                    log.eager.add(total._row)
                results.append(total)
            return results
        finally:
            log.busy = was_busy

    # Jacobians.

    def jacobian(
        self,
        target: Tensor | Variable,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Compute the derivative of every element of ``target`` with respect to each source.

        Args:
          target: A tensor.
          sources: A tensor or variable, or a nest of them.
          unconnected_gradients: As for `gradient`.
          parallel_iterations: Not used; accepted for compatibility with TensorFlow.
          experimental_use_pfor: Not used, but False requires a persistent tape.

        Returns:
          A tensor of shape target.shape + source.shape (or None) for each source.

        Raises:
          RuntimeError: As for `gradient`.

        Example:
          >>> x = tf.constant([1.0, 2.0, 3.0])
          >>> with tf.GradientTape() as tape:
          ...     tape.watch(x)
          ...     y = x[:2] * x[2]
          >>> tape.jacobian(y, x).numpy()
          array([[3., 0., 1.],
                 [0., 3., 2.]], dtype=float32)
        """
        tape = self._ready()
        if not experimental_use_pfor and not tape.persistent:
            raise RuntimeError(
                "GradientTape must be created with persistent=True to compute the jacobian with "
                "eager execution enabled and with experimental_use_pfor set to False."
            )
        zero = _gives_zeros(unconnected_gradients)
        (target,) = _resolve_aliases([target])
        leaves, rebuild = _flat(sources)
        leaves = _resolve_aliases(leaves)
        blocks: list[Tensor | None] = [None] * len(leaves)
        if target._spec.inexact:
            self._suspend(tape)
            blocks = self._record_derivative(
                tape, lambda log: jacobians.jacobian(log, tape, target, leaves)
            )
        if not tape.persistent:
            if not zero and any([x is None for x in blocks]):
                tape.recalled_adjoints = None  # its rows are those of a column
                _keep_reasons(tape, [target], leaves, blocks)
            tape.release()
        shape = tuple(target.shape)
        return rebuild(
            [
                _finish_gradient(part, (*shape, *source.shape), source, zero)
                for part, source in zip(blocks, leaves, strict=True)
            ]
        )

    def _record_derivative(self, tape: Tape, ask: Callable[[Log], Any]) -> Any:
        """Record a function's ops in the tape's log, which stays in place."""
        log = _home(tape)
        was_busy = log.busy
        try:
            log.busy = True
            return ask(log)
        finally:
            log.busy = was_busy

    def batch_jacobian(
        self,
        target: Tensor | Variable,
        source: Tensor | Variable,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor:
        """Compute the Jacobian of each example: ``target[i]`` must depend only on ``source[i]``.

        Args:
          target: A tensor of shape (b, ...).
          source: A tensor of shape (b, ...).
          unconnected_gradients: Not used: the Jacobian of an unconnected source is 0.
          parallel_iterations: Not used; accepted for compatibility with TensorFlow.
          experimental_use_pfor: Not used, but False requires a persistent tape.

        Returns:
          A tensor of shape (b,) + target.shape[1:] + source.shape[1:].

        Raises:
          RuntimeError: As for `gradient`.
          ValueError: If a rank is less than 2, or first axes differ.

        Example:
          >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
          >>> with tf.GradientTape() as tape:
          ...     tape.watch(x)
          ...     y = x * x
          >>> tape.batch_jacobian(y, x).numpy().tolist()
          [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]
        """
        tape = self._ready()
        target, source = _resolve_aliases([target, source])
        for tensor in (target, source):
            if tensor.shape.rank < 2:
                raise ValueError(f"Shape {tensor.shape} must have rank at least 2")
        if target.shape[0] != source.shape[0]:
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape "
                f"({source.shape}) to match."
            )
        if not experimental_use_pfor and not tape.persistent:
            raise RuntimeError(
                "GradientTape must be created with persistent=True to compute the batch_jacobian "
                "with eager execution enabled and with experimental_use_pfor set to False."
            )
        self._suspend(tape)
        jacobian = self._record_derivative(
            tape, lambda log: jacobians.batch_jacobian(log, tape, target, source)
        )
        if not tape.persistent:
            tape.release()
        if jacobian is not None:  # the axis of the batch first
            permutation = (1, 0, *range(2, jacobian.ndim))
            jacobian = transpose_if_needed(jacobian, permutation)
        batch, *inner_shape = target.shape
        jacobian = _finish_gradient(
            jacobian, (batch, *inner_shape, *source.shape[1:]), source, True
        )
        assert jacobian is not None
        return jacobian


def _finish_gradient(
    gradient: Tensor | None, shape: tuple[int, ...], source: Tensor | Variable, zero: bool
) -> Tensor | None:
    """Reshape a Jacobian; return zeros or None for an unconnected source."""
    if gradient is None:
        return zeros(shape, source.dtype) if zero else None
    return jacobians.mark_result(reshape_if_needed(gradient, shape))


def _keep_reasons(tape: Tape, targets: list[Any], sources: list[Any], gradients: list[Any]) -> None:
    """Keep what explains the gradients that are None, before the tape releases its rows."""
    from .core.derive.explain import Unconnected

    log, recalled = tape.log, tape.recalled_adjoints
    assert log is not None
    # Equal rows share one recording, so that a training loop copies its rows once.
    shared_recording = None if recalled is None or settings.traceback else recalled.recording
    unconnected_sources = [
        source for source, x in zip(sources, gradients, strict=True) if x is None
    ]
    tape.unconnected = Unconnected(log, tape, targets, unconnected_sources, shared_recording)
    if recalled is not None and not settings.traceback:
        recalled.recording = tape.unconnected.recording


def _home(tape: Tape) -> Log:
    """Return the tape's log, after making it the thread's current log."""
    log = tape.log
    assert log is not None
    if tape.thread != threading.get_ident():
        raise RuntimeError("A GradientTape belongs to the thread that recorded it.")
    if log is not local.log:
        tape.refuse_foreign("asks a tape for gradients")
        if local.log.is_recorded():
            raise RuntimeError(
                "This tape holds an older part of the log than a tape that is recording now: "
                "ask for its gradient before entering that tape, or inside the same one."
            )
        local.log = log
    return log


def _seed(log: Log, target: Tensor | Variable, seed: TensorLike | None) -> int:
    """Return the row of a target's incoming adjoint: ones, or the caller's ``output_gradients``."""
    spec = target._spec
    if seed is None:
        number = 1.0 if spec.inexact else 1
        if not spec.rank:
            return log.constant(number, spec)
        scalar = intern((), spec.dtype)
        unit = log.tensor(log.constant(number, scalar), scalar)
        return broadcast_to(unit, tuple(spec.shape))._row
    # Python's numbers take the target's dtype.
    reference_spec = None if isinstance(seed, NUMPY) else spec
    seed_tensor = log.tensor(*log.row_of(seed, reference_spec, "gradient"))
    if seed_tensor.dtype is not spec.dtype:
        raise mismatch_error("gradient", 0, spec.dtype, seed_tensor.dtype)
    if seed_tensor._spec is not spec:
        seed_tensor = broadcast_to(seed_tensor, tuple(spec.shape))
    return log.row_of(seed_tensor, spec, "gradient")[0]


def _gives_zeros(value: UnconnectedGradients | str) -> bool:
    """Whether unconnected sources get zeros."""
    try:
        return UnconnectedGradients(value) is UnconnectedGradients.ZERO
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {value!r}") from None


_NONE = UnconnectedGradients.NONE
_LEAVES = Tensor, Variable
_PLAIN = frozenset(_LEAVES)


def _resolve_aliases(leaves: list[Any]) -> list[Any]:
    """Replace aliases among targets or sources by their variables."""
    if _PLAIN.issuperset(map(type, leaves)):
        return leaves
    for leaf in leaves:
        if not isinstance(leaf, _LEAVES):
            raise TypeError(
                f"Targets and sources must be tensors or variables, got {type(leaf).__name__}."
                f"{_why_none(leaf)}"
            )
    return [original(leaf) if isinstance(leaf, Variable) else leaf for leaf in leaves]


def _why_none(leaf: object) -> str:
    """Suggest why a value is not a tensor."""
    if isinstance(leaf, np.ndarray | np.generic):
        return (
            " NumPy left the tape: what NumPy computes has no gradient. Use numtape's functions, "
            "such as tf.reduce_sum for np.sum, and numpy() only after the gradient."
        )
    if isinstance(leaf, bool | int | float | complex):
        return (
            " A number of Python's has no gradient: float(x), int(x) and x.numpy() leave the "
            "tape. Give what they were made of, or a tf.Variable."
        )
    return ""


def _leaves(structure: Any) -> list[Any]:
    cls = type(structure)
    if cls in _PLAIN or isinstance(structure, _LEAVES):
        return [structure]
    if (cls is list or cls is tuple) and _PLAIN.issuperset(map(type, structure)):
        return list(structure)
    from .nest import flatten

    return [_values_of(leaf) for leaf in flatten(structure)]


def _values_of(leaf: Any) -> Any:
    """Return the component of a sparse or ragged tensor that has derivatives, or the leaf."""
    return leaf._values_component() if hasattr(type(leaf), "_values_component") else leaf


_first_item = itemgetter(0)


def _unchanged(gradients: list[Any]) -> list[Any]:
    return gradients


def _flat(structure: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a structure, and a function that puts results in their places."""
    cls = type(structure)
    if cls in _PLAIN or isinstance(structure, _LEAVES):
        return [structure], _first_item
    if cls is list and _PLAIN.issuperset(map(type, structure)):
        return structure, _unchanged
    from .nest import flatten_with

    leaves, rebuild = flatten_with(structure)
    values = [_values_of(leaf) for leaf in leaves]

    def replace(gradients: list[Any]) -> Any:
        # The gradient by a sparse or ragged tensor has its structure.
        return rebuild(
            [
                g if g is None or x is leaf else leaf._replace_values(convert_to_tensor(g))
                for leaf, x, g in zip(leaves, values, gradients, strict=True)
            ]
        )

    return values, replace
