"""Prints what moves the data, and checks a collective.

The argument: ``cpu``; ``name``, on GPUs; ``share``, on stubs of one GPU; ``differ``, in the
simulator, where ranks call different collectives.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
how = sys.argv[1]
if how == "share":
    import stub_nccl
    from stub_driver import on_stub

    asked = on_stub()
    type(asked).do_cuDeviceGetUuid = lambda self, device: type("Uuid", (), {"bytes": bytes(16)})
    stub_nccl.install()

import numpy as np  # noqa: E402

import numtape as nt  # noqa: E402  after the stubs

if how == "differ":
    import stub_nccl

    from numtape.core.cuda.runtime.simulator import Simulator

    library = stub_nccl.install()
    Simulator.uuid = lambda self: str(os.getpid())
hvd = nt.distribute
hvd.init()
if how == "differ":
    assert hvd.transport() == "NCCL"
    try:
        hvd.allreduce(nt.ones(3 + hvd.rank()), name="x")
    except nt.errors.DistributedError as error:
        print(error, flush=True)
    else:
        raise AssertionError("no error")
    assert [name for name, *_ in library.Communicator.calls] == ["init"]
    sys.exit()  # the job ends with an error
print(hvd.transport(), flush=True)
if how == "cpu":  # a stub computes nothing
    x = hvd.allreduce(nt.constant(np.arange(3.0) * hvd.rank()), hvd.Sum)
    assert x.numpy().tolist() == [0.0, 1.0, 2.0]
