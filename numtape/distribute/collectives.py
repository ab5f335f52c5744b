"""Collectives as ops: rows that start a transfer, and rows that wait for its result.

A collective is two rows. ``CollectiveStart`` takes the tensors and the number of the collective,
hands the arrays to the engine, and returns the number of the next collective. ``CollectiveResult``
takes such a number, and waits for the result. Every start reads the number that the start before it
returned, so collectives run in program order on each rank, whatever else a plan computes between
them. The number of the next collective is a variable: see `process_group`.

Outside of recorded functions, a collective runs at its call. In a recorded function it runs in
each replay. Start reading with `run`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.derive.custom import record_custom, stop_recording
from ..core.log.as_tensor import as_tensor
from ..core.log.log import Log, local
from ..core.log.op import ARRAY, STOP, VARIADIC, Op, defop
from ..core.log.record import record, require
from ..core.ops.creation import constant, zeros_like
from ..core.ops.movement import reshape
from ..core.ops.slicing import strided_slice
from ..core.values.dtypes import DType, as_dtype, int64
from ..core.values.indexed_slices import IndexedSlices
from ..core.values.spec import Spec, intern
from ..core.values.tensor import Tensor
from ..errors import UnimplementedError
from . import engine as engines
from .engine import ALLGATHER, ALLREDUCE, BARRIER, BROADCAST, REDUCE_SCATTER, Request
from .process_group import catch_up, check_thread, engine, next_number, release_transfers

if TYPE_CHECKING:
    from ..core.values.annotations import TensorLike
    from ..core.values.memory import Array

Average = "Average"
Sum, Min, Max, Product = engines.SUM, engines.MIN, engines.MAX, engines.PRODUCT
OPS = (Average, Sum, Min, Max, Product)


# The ops.


def _start_spec(op: Op, *specs: Spec, request: Request) -> Spec:
    return intern((), int64)


def _compute_start(out: Array, *operands: Array, request: Request) -> None:
    number = int(operands[-1])
    release_transfers()
    engine().start(number, request, operands[:-1])
    out[...] = number + 1


def _result_spec(op: Op, number: Spec, *, back: int, spec: Spec, scale: float) -> Spec:
    return spec


def _compute_result(out: Array, number: Array, back: int, spec: Spec, scale: float) -> None:
    transfer = engine().finish(int(number) - back)
    on_device = transfer.on_device
    result: Any = transfer.result if on_device is None else on_device.result()
    engine().check_size(transfer, result.size, out.size)
    if scale == 1.0:
        out.reshape(-1)[...] = result
    else:
        np.multiply(result, out.dtype.type(scale), out=out.reshape(-1), casting="unsafe")


START = defop(
    "CollectiveStart",
    ARRAY,
    VARIADIC,
    _start_spec,
    compute=_compute_start,
    gradient=STOP,
    on_host=True,
    complex_vjp="explicit",
)
RESULT = defop(
    "CollectiveResult",
    ARRAY,
    1,
    _result_spec,
    compute=_compute_result,
    gradient=STOP,
    on_host=True,
    complex_vjp="explicit",
)


# Recording.


class Job:
    """Collectives that are recorded one after the other and run together.

    Use as a context manager. `start` records a collective. `result` records the row of its result,
    and must be called after all starts, so that no plan waits for a result before it has started
    all transfers. At the end of the block, outside of recorded functions, all results are computed.
    """

    def __init__(self) -> None:
        check_thread()
        self.is_recorded = local.log.begin_collectives()
        if not self.is_recorded:
            engine().release_before(int(next_number().numpy()))
        self.number = next_number().read_value()
        self.count = 0
        self.results: list[Tensor] = []

    def __enter__(self) -> Job:
        return self

    def start(self, request: Request, tensors: Sequence[Tensor]) -> int:
        """Record the start of a collective. Return its position in this job."""
        self.number = record(START, (*tensors, self.number), request=request)
        local.log.note_collective(self.number._row)
        self.count += 1
        return self.count - 1

    def result(self, position: int, spec: Spec, scale: float = 1.0) -> Tensor:
        """Record a collective's result."""
        back = self.count - position
        result = record(RESULT, (self.number,), back=back, spec=spec, scale=scale)
        self.results.append(result)
        return result

    def rows_by_rank(self, position: int) -> list[int] | None:
        """Return the number of rows that each rank gathers; None in a recorded function."""
        return None if self.is_recorded else self.wait(position)

    def wait(self, position: int) -> list[int]:
        """Run a collective now. Return the number of rows of each rank."""
        number = int(self.number.numpy()) - (self.count - position)
        return engine().finish(number).rows

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            if not self.is_recorded:
                catch_up()
            return
        next_number().assign(self.number)
        if self.is_recorded:
            return
        for result in self.results:
            home = result._home
            if isinstance(home, Log):
                home.eager.add(result._row)
        try:
            for result in (*self.results, self.number):  # all are computed by the first one
                result._stored_value()  # results on a GPU stay there
        except BaseException:  # for example, an operand is invalid, and nothing was sent
            next_number().assign(engine().started)
            raise


# Functions.


def allreduce(
    tensor: TensorLike | IndexedSlices,
    op: str = Average,
    name: str | None = None,
    compression: str | None = None,
) -> Any:
    """Combine a tensor of all ranks, element by element, and return the result on every rank.

    All ranks must call it with tensors of the same shape and dtype. Its derivative is an allreduce
    of the adjoints with the same ``op``. `IndexedSlices` are gathered.

    Args:
      tensor: A tensor, or `IndexedSlices`.
      op: `Average`, `Sum`, `Min`, `Max` or `Product`. `Average` needs floats.
      name: A name for error messages, the same on all ranks.
      compression: The dtype in which floats travel: `Compression.fp16`, `Compression.bf16`, or
        None for their own.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If ``op`` or ``compression`` is unknown.
      TypeError: If ``op`` does not apply to the dtype.
      DistributedError: If the ranks do not call the same collective.
      DistributedTimeoutError: If a rank does not call it in time.
      UnimplementedError: When a derivative of `Min`, `Max` or `Product` is requested.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.allreduce(tf.constant([1.0, 2.0]), op=tf.distribute.Sum).numpy()
      array([1., 2.], dtype=float32)
    """
    if isinstance(tensor, IndexedSlices):
        return _gather_slices(tensor, op, name or "tensor")
    return grouped_allreduce([tensor], op, [name or "tensor"], compression)[0]


def grouped_allreduce(
    tensors: Sequence[TensorLike],
    op: str = Average,
    names: Sequence[str] | None = None,
    compression: str | None = None,
) -> list[Tensor]:
    """Combine several tensors of all ranks, those of one dtype in one message.

    Args:
      tensors: A list of tensors.
      op: As for `allreduce`.
      names: A name for each tensor, for error messages.
      compression: As for `allreduce`.

    Returns:
      A list of tensors of the same shapes and dtypes.

    Raises:
      ValueError, TypeError, DistributedError: As `allreduce`.

    Example:
      >>> tf.distribute.init()
      >>> a, b = tf.distribute.grouped_allreduce([tf.constant(1.0), tf.constant([2.0])])
      >>> b.numpy()
      array([2.], dtype=float32)
    """
    inputs = [as_tensor(x) for x in tensors]
    names = list(names) if names is not None else [f"tensor_{k}" for k in range(len(inputs))]
    check_op(op, inputs)
    if engine().size == 1:
        return inputs
    groups: dict[DType, list[int]] = {}
    for k, x in enumerate(inputs):
        groups.setdefault(x.dtype, []).append(k)
    return reduce_buckets(inputs, names, list(groups.values()), op, compression)


def reduce_buckets(
    tensors: Sequence[Tensor],
    names: Sequence[str],
    buckets: Sequence[Sequence[int]],
    op: str,
    compression: str | None = None,
    check_finite: bool = False,
) -> list[Tensor]:
    """Reduce tensors in buckets: lists of indices of tensors of one dtype that travel together."""

    def reduce() -> list[Tensor]:
        results: list[Tensor | None] = [None] * len(tensors)
        with Job() as job:
            for bucket in buckets:
                dtype = tensors[bucket[0]].dtype
                wire = wire_dtype(dtype, compression)
                request = Request(
                    ALLREDUCE,
                    tuple(names[k] for k in bucket),
                    tuple(tuple(tensors[k]._spec.shape) for k in bucket),
                    dtype.name,
                    wire,
                    Sum if op == Average else op,
                    check_finite=check_finite and dtype.is_floating,
                )
                factor, _ = scales(op, wire)
                job.start(request, [_scale(tensors[k], factor) for k in bucket])
            for position, bucket in enumerate(buckets):
                specs = [tensors[k]._spec for k in bucket]
                scale = scales(op, wire_dtype(specs[0].dtype, compression))[1]
                if len(bucket) == 1:
                    results[bucket[0]] = job.result(position, specs[0], scale)
                    continue
                total = sum(spec.size for spec in specs)
                flat = job.result(position, intern((total,), specs[0].dtype), scale)
                start = 0
                for k, spec in zip(bucket, specs, strict=True):
                    part = strided_slice(flat, ((start, start + spec.size, 1),))
                    results[k] = part if spec.rank == 1 else reshape(part, spec.shape)
                    start += spec.size
            job.results = [x for x in results if x is not None]
        return job.results

    def adjoint(upstream: list[Tensor]) -> list[Tensor | None]:
        if op not in (Average, Sum):
            raise UnimplementedError(f"allreduce has no derivative for op={op}.")
        adjoint_names = [f"adjoint of {name}" for name in names]
        return list(reduce_buckets(upstream, adjoint_names, buckets, op, compression))

    with stop_recording():
        results = reduce()
    return _with_adjoint(results, tensors, adjoint)


def _with_adjoint(
    results: list[Tensor],
    inputs: Sequence[Tensor],
    adjoint: Callable[[list[Tensor]], list[Tensor | None]],
) -> list[Tensor]:
    """Return the results as rows with a derivative, if a tape may need it."""
    if not (results and local.log.may_need_gradients()):
        return results
    return record_custom(results, inputs, adjoint)


def allgather(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Join a tensor of all ranks along the first axis, in the order of the ranks.

    The first dimensions may differ, the others must agree. In a recorded function, all must agree.
    Its derivative is the sum of the adjoints of all ranks for this rank's rows.

    Args:
      tensor: A tensor of at least one axis.
      name: A name for error messages, the same on all ranks.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If the tensor is a scalar.
      DistributedError: If the ranks do not call the same collective.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.allgather(tf.constant([[1.0, 2.0]])).numpy()
      array([[1., 2.]], dtype=float32)
    """
    x = as_tensor(tensor)
    spec = x._spec
    require(spec.rank > 0, RESULT, "Scalars cannot be gathered: add an axis with `expand_dims`")
    if engine().size == 1:
        return x
    rows = spec.shape[0]
    counts: list[int] = [rows] * engine().size

    def gather() -> Tensor:
        nonlocal counts
        request = Request(
            ALLGATHER,
            (name or "tensor",),
            (tuple(spec.shape[1:]),),
            spec.dtype.name,
            spec.dtype.name,
        )
        with Job() as job:
            position = job.start(request, [x])
            counts = job.rows_by_rank(position) or counts
            return job.result(position, intern((sum(counts), *spec.shape[1:]), spec.dtype))

    def adjoint(upstream: list[Tensor]) -> list[Tensor | None]:
        return [_reduce_scatter(upstream[0], tuple(counts), Sum, f"adjoint of {name or 'tensor'}")]

    with stop_recording():
        result = gather()
    return _with_adjoint([result], [x], adjoint)[0]


def broadcast(tensor: TensorLike, root_rank: int = 0, name: str | None = None) -> Tensor:
    """Return the root's tensor on every rank.

    All ranks must pass tensors of the same shape and dtype. Its derivative on the root is the sum
    of the adjoints of all ranks, and zero on other ranks.

    Args:
      tensor: A tensor.
      root_rank: The rank whose tensor is returned.
      name: A name for error messages, the same on all ranks.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If there is no such rank.
      DistributedError: If the ranks do not call the same collective.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.broadcast(tf.constant([3, 4])).numpy()
      array([3, 4], dtype=int32)
    """
    x = as_tensor(tensor)
    root = check_root(root_rank)
    if engine().size == 1:
        return x

    def send() -> Tensor:
        request = Request(
            BROADCAST,
            (name or "tensor",),
            (tuple(x._spec.shape),),
            x.dtype.name,
            x.dtype.name,
            root=root,
        )
        with Job() as job:
            return job.result(job.start(request, [x]), x._spec)

    def adjoint(upstream: list[Tensor]) -> list[Tensor | None]:
        total = allreduce(upstream[0], Sum, f"adjoint of {name or 'tensor'}")
        return [total if engine().rank == root else zeros_like(total)]

    with stop_recording():
        result = send()
    return _with_adjoint([result], [x], adjoint)[0]


def reducescatter(tensor: TensorLike, op: str = Average, name: str | None = None) -> Tensor:
    """Combine a tensor of all ranks, and return a part of the rows of the result on each rank.

    The rows are shared in order. If they cannot be shared equally, the first ranks get one more.
    Its derivative is an allgather of the adjoints.

    Args:
      tensor: A tensor of at least one axis, of the same shape and dtype on all ranks.
      op: As for `allreduce`.
      name: A name for error messages, the same on all ranks.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If the tensor is a scalar.
      ValueError, TypeError, DistributedError: As `allreduce`.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.reducescatter(tf.constant([1.0, 2.0]), op=tf.distribute.Sum).numpy()
      array([1., 2.], dtype=float32)
    """
    x = as_tensor(tensor)
    require(x._spec.rank > 0, RESULT, "Scalars cannot be scattered: add an axis")
    check_op(op, [x])
    size = engine().size
    if size == 1:
        return x
    share, rest = divmod(x._spec.shape[0], size)
    counts = tuple(share + (rank < rest) for rank in range(size))
    return _reduce_scatter(x, counts, op, name or "tensor")


def _reduce_scatter(x: Tensor, counts: tuple[int, ...], op: str, name: str) -> Tensor:
    """Reduce, and return this rank's rows: ``counts[rank]`` of them."""
    factor, scale = scales(op, x.dtype.name)

    def scatter() -> Tensor:
        request = Request(
            REDUCE_SCATTER,
            (name,),
            (tuple(x._spec.shape),),
            x.dtype.name,
            x.dtype.name,
            Sum if op == Average else op,
            counts=counts,
        )
        with Job() as job:
            spec = intern((counts[engine().rank], *x._spec.shape[1:]), x.dtype)
            return job.result(job.start(request, [_scale(x, factor)]), spec, scale)

    def adjoint(upstream: list[Tensor]) -> list[Tensor | None]:
        if op not in (Average, Sum):
            raise UnimplementedError(f"reducescatter has no derivative for op={op}.")
        scaled = upstream[0] * (1.0 / engine().size) if op == Average else upstream[0]
        return [allgather(scaled, f"adjoint of {name}")]

    with stop_recording():
        result = scatter()
    return _with_adjoint([result], [x], adjoint)[0]


def barrier() -> None:
    """Wait until all ranks have called it. A `function` that calls it runs as plain Python.

    Raises:
      DistributedTimeoutError: If a rank does not call it in time.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.barrier()  # returns when all ranks are here
      >>> tf.distribute.rank()
      0
    """
    if engine().size == 1:
        return
    local.log.refuse_replay("it calls a barrier")
    with Job() as job:
        job.wait(job.start(Request(BARRIER, (), (), "uint8", "uint8"), []))


def _gather_slices(slices: IndexedSlices, op: str, name: str) -> IndexedSlices:
    """Gather `IndexedSlices`: equal to the sum or average of the dense tensors."""
    if op not in (Average, Sum):
        raise ValueError(f"op={op} does not apply to IndexedSlices: use Average or Sum.")
    size = engine().size
    if size == 1:
        return slices
    values = allgather(slices.values, f"values of {name}")
    indices = allgather(slices.indices, f"indices of {name}")
    if op == Average:
        values = values * constant(1.0 / size, values.dtype)
    return IndexedSlices(values, indices, slices.dense_shape)


# Arguments.


def check_op(op: object, tensors: Sequence[Tensor]) -> None:
    """Raise an error if an op is unknown or does not apply to a tensor."""
    if op not in OPS:
        raise ValueError(f"op={op!r} is not one of {', '.join(OPS)}.")
    for x in tensors:
        if x.dtype.is_bool:
            raise TypeError(f"op={op} does not apply to bool: convert it with `cast`.")
        if x.dtype.is_complex and op in (Min, Max):
            raise TypeError(f"op={op} does not apply to complex numbers.")
        if op == Average and not (x.dtype.is_floating or x.dtype.is_complex):
            raise TypeError(
                f"op=Average needs floats, not {x.dtype.name}: use op=Sum, or convert with `cast`."
            )


def check_root(root_rank: Any) -> int:
    """Return the number of the root. Raise an error if there is no such rank."""
    root = operator.index(root_rank)
    if not 0 <= root < engine().size:
        raise ValueError(f"root_rank={root} is not a rank: there are {engine().size} ranks.")
    return root


def scales(op: str, wire: str) -> tuple[float, float]:
    """Return factors for the data of each rank, and for the result.

    An average of floats of two bytes is divided before it is added up, because sums may overflow.
    """
    share = 1.0 / engine().size if op == Average else 1.0
    return (share, 1.0) if as_dtype(wire).size == 2 else (1.0, share)


def _scale(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1.0 else x * constant(factor, x.dtype)


class Compression:
    """The dtypes in which floats can travel: `none`, `fp16` and `bf16`.

    Compressed numbers are added in float32, and each sum of two is rounded.

    Example:
      >>> tf.distribute.init()
      >>> x = tf.constant([1.0, 2.0])
      >>> tf.distribute.allreduce(x, compression=tf.distribute.Compression.fp16).dtype
      tf.float32
    """

    none = None
    fp16 = "float16"
    bf16 = "bfloat16"


def wire_dtype(dtype: DType, compression: str | None) -> str:
    """Return the name of the dtype in which a tensor travels."""
    if compression not in (None, Compression.fp16, Compression.bf16):
        raise ValueError(f"compression={compression!r} is not None, 'float16' or 'bfloat16'.")
    if compression is None or not dtype.is_floating or dtype.size <= 2:
        return dtype.name
    return compression
