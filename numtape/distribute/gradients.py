"""Training: tapes and optimizers that average gradients over the ranks, and initial values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .. import nest
from ..core.log.as_tensor import as_tensor
from ..core.log.variable import Variable, assign_all, original
from ..core.values.dtypes import as_dtype
from ..core.values.indexed_slices import IndexedSlices
from ..core.values.tensor import Tensor
from ..tape import GradientTape
from .collectives import (
    Average,
    Job,
    Sum,
    allreduce,
    check_op,
    check_root,
    reduce_buckets,
    wire_dtype,
)
from .engine import BROADCAST, Request
from .process_group import engine

if TYPE_CHECKING:
    from ..keras.optimizers import Optimizer

MAX_BUCKET_BYTES = 25 << 20
MIN_BUCKET_BYTES = 1 << 20


class GradientReducer:
    """Averages gradients over all ranks, in buckets.

    Dense gradients are joined into buckets in reverse order of the variables, which is about the
    order in which the reverse pass computes them. The first bucket is sent while the reverse pass
    computes the next one. `IndexedSlices` are gathered.

    Args:
      op: `Average` or `Sum`.
      compression: As for `allreduce`.
      bucket_bytes: The size from which a bucket is sent. Default: a quarter of all gradients, but
        from 1 MiB to 25 MiB.
      sparse_as_dense: Whether `IndexedSlices` are converted to dense tensors first.
      check_finite: Whether a gradient that is not finite is an error on all ranks, which names the
        rank and the variable.
    """

    def __init__(
        self,
        op: str = Average,
        compression: str | None = None,
        bucket_bytes: int | None = None,
        sparse_as_dense: bool = False,
        check_finite: bool = False,
    ) -> None:
        if op not in (Average, Sum):
            raise ValueError(f"op={op!r} is neither Average nor Sum.")
        if bucket_bytes is not None and bucket_bytes < 1:
            raise ValueError(f"bucket_bytes={bucket_bytes} is not positive.")
        self.op, self.compression, self.bucket_bytes = op, compression, bucket_bytes
        self.sparse_as_dense, self.check_finite = sparse_as_dense, check_finite

    def reduce(self, gradients: Sequence[Any], sources: Sequence[Any]) -> list[Any]:
        """Return the gradients by ``sources``, reduced over the ranks; None stays None."""
        gradients = list(gradients)
        if engine().size == 1:
            return gradients
        names = [
            _name_of(x) if isinstance(x, Variable) else f"source_{k}" for k, x in enumerate(sources)
        ]
        if self.sparse_as_dense:
            gradients = [as_tensor(g) if isinstance(g, IndexedSlices) else g for g in gradients]
        dense = [k for k, g in enumerate(gradients) if isinstance(g, Tensor)]
        tensors = [gradients[k] for k in dense]
        check_op(self.op, tensors)
        if dense:
            reduced = reduce_buckets(
                tensors,
                [names[k] for k in dense],
                self._buckets(tensors),
                self.op,
                self.compression,
                self.check_finite,
            )
            for k, gradient in zip(dense, reduced, strict=True):
                gradients[k] = gradient
        return [
            allreduce(g, self.op, name) if isinstance(g, IndexedSlices) else g
            for g, name in zip(gradients, names, strict=True)
        ]

    def _buckets(self, tensors: Sequence[Tensor]) -> list[list[int]]:
        buckets: list[list[int]] = []
        open_buckets: dict[str, tuple[list[int], int]] = {}
        sizes = [
            x._spec.size * as_dtype(wire_dtype(x.dtype, self.compression)).size for x in tensors
        ]
        limit = self.bucket_bytes
        if limit is None:
            limit = min(max(sum(sizes) // 4, MIN_BUCKET_BYTES), MAX_BUCKET_BYTES)
        for k in reversed(range(len(tensors))):
            dtype = tensors[k].dtype
            bucket, nbytes = open_buckets.pop(dtype.name, ([], 0))
            if not bucket:
                buckets.append(bucket)
            bucket.append(k)
            nbytes += sizes[k]
            if nbytes < limit:
                open_buckets[dtype.name] = bucket, nbytes
        # A bucket is sent when its last gradient exists.
        return sorted(buckets, key=lambda bucket: -bucket[-1])


class DistributedGradientTape:
    """A tape whose gradients are averaged over all ranks.

    Args:
      tape: A `GradientTape`, whose other methods remain available. Default: a new one.
      op: `Average` or `Sum`.
      compression: As for `allreduce`.
      bucket_bytes: The size from which a bucket of gradients is sent, in bytes. Default: a quarter
        of all gradients, but from 1 MiB to 25 MiB.
      sparse_as_dense: Whether `IndexedSlices` are converted to dense tensors first.
      check_finite: Whether a gradient that is not finite is an error on all ranks.

    Raises:
      ValueError: If an argument is invalid.

    Example:
      >>> tf.distribute.init()
      >>> v = tf.Variable([1.0, 2.0])
      >>> with tf.GradientTape() as tape:
      ...     loss = tf.reduce_sum(v * v)
      >>> tape = tf.distribute.DistributedGradientTape(tape)
      >>> tape.gradient(loss, v).numpy()
      array([2., 4.], dtype=float32)
    """

    def __init__(
        self,
        tape: GradientTape | None = None,
        op: str = Average,
        compression: str | None = None,
        bucket_bytes: int | None = None,
        sparse_as_dense: bool = False,
        check_finite: bool = False,
    ) -> None:
        self._tape = GradientTape() if tape is None else tape
        self._reducer = GradientReducer(
            op, compression, bucket_bytes, sparse_as_dense, check_finite
        )

    def __enter__(self) -> DistributedGradientTape:
        self._tape.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._tape.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tape, name)

    def gradient(self, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the gradients of ``target``, reduced over all ranks.

        Args:
          target: As for `GradientTape.gradient`.
          sources: As for `GradientTape.gradient`.
          *args: As for `GradientTape.gradient`.
          **kwargs: As for `GradientTape.gradient`.

        Returns:
          Gradients in the structure of ``sources``.
        """
        gradients = self._tape.gradient(target, sources, *args, **kwargs)
        reduced = self._reducer.reduce(nest.flatten(gradients), nest.flatten(sources))
        return nest.pack_sequence_as(sources, reduced) if nest.is_nested(sources) else reduced[0]


def distribute_optimizer(
    optimizer: Optimizer,
    op: str = Average,
    compression: str | None = None,
    bucket_bytes: int | None = None,
    sparse_as_dense: bool = False,
    check_finite: bool = False,
    backward_passes_per_step: int = 1,
) -> Optimizer:
    """Make an optimizer average gradients over all ranks before each step.

    For `Model.compile` and for training loops. Gradients are clipped after they are averaged. A
    saved model has the optimizer without this: distribute the optimizer of a loaded model again.

    Args:
      optimizer: A Keras optimizer.
      op: `Average` or `Sum`.
      compression: As for `allreduce`.
      bucket_bytes: The size from which a bucket of gradients is sent, in bytes. Default: a quarter
        of all gradients, but from 1 MiB to 25 MiB.
      sparse_as_dense: Whether `IndexedSlices` are converted to dense tensors first.
      check_finite: Whether a gradient that is not finite is an error on all ranks.
      backward_passes_per_step: The number of calls whose averaged gradients make one step: sets
        the optimizer's ``gradient_accumulation_steps``.

    Returns:
      The optimizer.

    Raises:
      TypeError: If ``optimizer`` is not an optimizer.
      ValueError: If another argument is invalid, or the optimizer is built and
        ``backward_passes_per_step`` differs from its ``gradient_accumulation_steps``.

    Example:
      >>> tf.distribute.init()
      >>> adam = tf.distribute.DistributedOptimizer(tf.keras.optimizers.Adam(0.01))
      >>> v = tf.Variable([1.0, 2.0])
      >>> adam.apply_gradients([(tf.constant([1.0, 1.0]), v)]).numpy()
      np.int64(1)
    """
    from ..keras.optimizers import Optimizer

    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"DistributedOptimizer takes a Keras optimizer, not {optimizer!r}.")
    engine()
    reducer = GradientReducer(op, compression, bucket_bytes, sparse_as_dense, check_finite)
    if backward_passes_per_step != (optimizer.gradient_accumulation_steps or 1):
        if optimizer.built or optimizer.gradient_accumulation_steps:
            raise ValueError(
                f"backward_passes_per_step={backward_passes_per_step} must equal the optimizer's "
                f"gradient_accumulation_steps={optimizer.gradient_accumulation_steps}, or be set "
                f"before its first step."
            )
        optimizer.gradient_accumulation_steps = backward_passes_per_step
    optimizer._nt_reducer = reducer
    return optimizer


def _name_of(variable: Any) -> str:
    return str(getattr(variable, "path", None) or getattr(variable, "name", variable))


def broadcast_variables(variables: Iterable[Variable], root_rank: int = 0) -> None:
    """Give variables the root's values on all ranks, for example before training.

    Args:
      variables: The same variables on all ranks, in the same order: ``model.variables`` or
        ``optimizer.variables``.
      root_rank: The rank whose values are sent.

    Raises:
      ValueError: If there are no variables, for example because a model has not been built, or
        there is no such rank.
      DistributedError: If names, shapes or dtypes differ between ranks.

    Example:
      >>> tf.distribute.init()
      >>> v = tf.Variable([1.0, 2.0])
      >>> tf.distribute.broadcast_variables([v], root_rank=0)
      >>> v.numpy()
      array([1., 2.], dtype=float32)
    """
    targets = [original(variable) for variable in variables]
    if not targets:
        raise ValueError("The list of variables is empty: build the model, or call it once, first.")
    root = check_root(root_rank)
    if engine().size == 1:
        return
    with Job() as job:
        for variable in targets:
            name, dtype = _name_of(variable), variable.dtype.name
            shape = tuple(variable._spec.shape)
            request = Request(BROADCAST, (name,), (shape,), dtype, dtype, root=root)
            job.start(request, [variable.read_value()])
        values = [job.result(k, variable._spec) for k, variable in enumerate(targets)]
    assign_all(targets, values)
