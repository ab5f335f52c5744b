"""Runs another program on simulated GPUs: NCCL is a stub that combines their memory by MPI."""

import os
import runpy
import sys
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import stub_nccl

import numtape as nt
from numtape.core.cuda.runtime.simulator import Simulator

program, counts = sys.argv[1:3]
library = stub_nccl.install()
library.Communicator.combine = staticmethod(stub_nccl.combine_by_mpi(MPI.COMM_WORLD.Dup()))
Simulator.uuid = lambda self: str(os.getpid())

nt.distribute.init()
assert nt.distribute.transport() == "NCCL", nt.distribute.transport()
sys.argv = [program, *sys.argv[3:]]
runpy.run_path(str(Path(__file__).with_name(program)), run_name="__main__")
calls = [name for name, *_ in library.Communicator.calls]
assert len(calls) > int(counts), calls
