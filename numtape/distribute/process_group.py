"""The processes of the job: `init`, `rank`, `size` and the engine that they share."""

from __future__ import annotations

import threading

from ..core import settings
from ..core.log.log import Log, local
from ..core.log.variable import Variable
from ..core.replay import dispatch
from ..core.values.dtypes import int64
from ..errors import DistributedError
from . import nccl
from .engine import MPI, NCCL, Engine

_engine: Engine | None = None
_why_not_nccl = "there is one process"
# The number of the next collective. Each collective reads and assigns it, so that evaluation,
# replay and abandoned calls keep collectives in order, as they do for any other variable.
_next_number: Variable | None = None
_thread: int | None = None  # that calls collectives


def init() -> None:
    """Join the other processes of the job. Call it once, before any other function here.

    A process that ``python -m numtape launch`` or ``mpirun`` did not start is the only one of its
    job. After `init`, an uncaught error in one process ends all processes.

    On GPUs, call it before anything is computed: each process of a machine takes another GPU. See
    `transport`.

    Raises:
      DistributedError: If ``mpirun`` started the process and mpi4py is not installed.
      ValueError: If ``NUMTAPE_DISTRIBUTED_TIMEOUT`` is not a positive number.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.rank(), tf.distribute.size()
      (0, 1)
    """
    global _engine, _next_number, _why_not_nccl
    if _engine is None:
        _engine = Engine(settings.distributed_timeout())
        dispatch.after_failed_call = catch_up
        if _engine.size > 1:
            settings.gpu_number = _engine.local_rank
            _why_not_nccl = nccl.connect(_engine, release_transfers)
        _next_number = Variable(0, trainable=False, dtype=int64, name="next_collective")


def is_initialized() -> bool:
    """Return whether `init` was called.

    Returns:
      A bool.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.is_initialized()
      True
    """
    return bool(local.log.call_guarded(_has_engine))


def _has_engine() -> bool:
    return _engine is not None


def engine() -> Engine:
    """Return the engine of this process."""
    if _engine is None:
        raise DistributedError("Call numtape.distribute.init() first.")
    return _engine


def check_thread() -> None:
    """Raise an error if another thread called a collective before: their order would vary."""
    global _thread
    thread = threading.get_ident()
    if _thread is None:
        _thread = thread
    if _thread != thread:
        raise DistributedError("Collectives of a process must be called by one thread.")


def catch_up() -> None:
    """After a call that raised an error, continue behind the collectives that it started."""
    if _engine is not None and _engine.size > 1 and _next_number is not None:
        if int(_next_number.numpy()) != _engine.started:
            _next_number.assign(_engine.started)


def next_number() -> Variable:
    """Return the variable with the number of the next collective."""
    engine()
    assert _next_number is not None
    return _next_number


def release_transfers() -> None:
    """Free transfers of calls that are complete: those before the variable's present value."""
    value = next_number()._value
    if not isinstance(value._home, Log):
        engine().release_before(int(value._array()))


def transport() -> str:
    """Return the library that moves the data of collectives.

    Returns:
      ``"NCCL"``: from GPU to GPU, if all processes compute on different GPUs and have NCCL,
      ``pip install "numtape[nccl]"``. A few collectives use MPI nevertheless: those of less common
      dtypes, and those with ``check_finite``. Otherwise ``"MPI: "`` and the reason; data on GPUs
      are copied to the host then.

    Raises:
      DistributedError: If `init` was not called.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.transport()
      'MPI: there is one process'
    """
    engine()
    return f"{MPI}: {_why_not_nccl}" if _why_not_nccl else NCCL


def rank() -> int:
    """Return the number of this process, after `init`.

    Returns:
      An int from 0 to `size()` - 1.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.rank()
      0
    """
    return engine().rank


def size() -> int:
    """Return the number of processes, after `init`.

    Returns:
      An int.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.size()
      1
    """
    return engine().size


def local_rank() -> int:
    """Return the number of this process among those of this machine; on GPUs, that of its GPU.

    Returns:
      An int from 0 to `local_size()` - 1.

    Raises:
      DistributedError: If `init` was not called.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.local_rank()
      0
    """
    return engine().local_rank


def local_size() -> int:
    """Return the number of processes on this machine.

    Returns:
      An int.

    Raises:
      DistributedError: If `init` was not called.

    Example:
      >>> tf.distribute.init()
      >>> tf.distribute.local_size()
      1
    """
    return engine().local_size
