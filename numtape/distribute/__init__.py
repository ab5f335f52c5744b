"""Data-parallel training on several processes, over MPI. The names are Horovod's.

Start a program with ``python -m numtape launch -n 4 program.py``. Each process computes gradients
of its share of every batch; `DistributedGradientTape` or `DistributedOptimizer` averages them.
Needs ``pip install "numtape[mpi]"``.

On GPUs, each process of a machine takes another one, and NCCL moves the data, with
``pip install "numtape[nccl]"``. `transport` says whether it does, or why MPI moves copies on the
host.

Collectives run in the same order on all ranks. They check that all ranks ask for the same, and
raise an error that names the ranks that do not join, end, or fail.
"""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from .callback import Callback
from .collectives import (
    Average,
    Compression,
    Max,
    Min,
    Product,
    Sum,
    allgather,
    allreduce,
    barrier,
    broadcast,
    grouped_allreduce,
    reducescatter,
)
from .gradients import (
    DistributedGradientTape,
    broadcast_variables,
    distribute_optimizer as DistributedOptimizer,
)
from .process_group import init, is_initialized, local_rank, local_size, rank, size, transport
from .sharding import shard

__all__ = [
    "Average",
    "Callback",
    "Compression",
    "DistributedGradientTape",
    "DistributedOptimizer",
    "Max",
    "Min",
    "Product",
    "Sum",
    "allgather",
    "allreduce",
    "barrier",
    "broadcast",
    "broadcast_variables",
    "grouped_allreduce",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "rank",
    "reducescatter",
    "shard",
    "size",
    "transport",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_guard_module(__name__)

if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
