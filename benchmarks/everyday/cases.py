"""All workloads, in the order of the table."""

from benchmarks.everyday import (  # noqa: F401 (each adds its workloads)
    arrays,
    data,
    derivatives,
    linear_algebra,
    networks,
    scalars,
    simulation,
    statistics,
)
from benchmarks.everyday.case import CASES

__all__ = ["CASES"]
