"""The processes of the job: `init`, `rank`, `size` and the engine that they share."""

from __future__ import annotations

from ..core import settings
from ..core.log.variable import Variable
from ..core.values.dtypes import int64
from ..errors import DistributedError
from .engine import Engine

_engine: Engine | None = None
# The number of the next collective. Each collective reads and assigns it, so that evaluation,
# replay and abandoned calls keep collectives in order, as they do for any other variable.
_next_number: Variable | None = None


def init() -> None:
    """Join the other processes of the job. Call it once, before any other function here.

    A process that ``python -m numtape launch`` or ``mpirun`` did not start is the only one of its
    job. After `init`, an uncaught error in one process ends all processes.

    Raises:
      DistributedError: If mpi4py is not installed.

    Example:
      >>> nt.distribute.init()
      >>> nt.distribute.rank(), nt.distribute.size()
      (0, 1)
    """
    global _engine, _next_number
    if _engine is None:
        _engine = Engine(settings.distributed_timeout())
        _next_number = Variable(0, trainable=False, dtype=int64, name="next_collective")


def is_initialized() -> bool:
    """Return whether `init` was called.

    Example:
      >>> nt.distribute.init()
      >>> nt.distribute.is_initialized()
      True
    """
    return _engine is not None


def engine() -> Engine:
    """Return the engine of this process."""
    if _engine is None:
        raise DistributedError("Call numtape.distribute.init() first.")
    return _engine


def next_number() -> Variable:
    """Return the variable with the number of the next collective."""
    engine()
    assert _next_number is not None
    return _next_number


def rank() -> int:
    """Return the number of this process, from 0 to `size()` - 1.

    Raises:
      DistributedError: If `init` was not called.

    Example:
      >>> nt.distribute.init()
      >>> nt.distribute.rank()
      0
    """
    return engine().rank


def size() -> int:
    """Return the number of processes.

    Raises:
      DistributedError: If `init` was not called.

    Example:
      >>> nt.distribute.init()
      >>> nt.distribute.size()
      1
    """
    return engine().size


def local_rank() -> int:
    """Return the number of this process among those of this machine, for example to choose a GPU.

    Raises:
      DistributedError: If `init` was not called.

    Example:
      >>> nt.distribute.init()
      >>> nt.distribute.local_rank()
      0
    """
    return engine().local_rank


def local_size() -> int:
    """Return the number of processes on this machine.

    Raises:
      DistributedError: If `init` was not called.

    Example:
      >>> nt.distribute.init()
      >>> nt.distribute.local_size()
      1
    """
    return engine().local_size
