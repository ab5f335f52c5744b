"""Trains on a stub of the driver. Rank 0 prints what the last steps ask of the driver and NCCL."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import numpy as np
import stub_nccl
from stub_driver import on_stub

asked = on_stub()
library = stub_nccl.install()
library.Communicator.calls = asked.calls

import numtape as nt  # noqa: E402  after the stubs

hvd = nt.distribute
hvd.init()
assert hvd.transport() == "NCCL", hvd.transport()
v = nt.Variable(np.ones((4, 3), "f"))
w = nt.Variable(np.ones(5, "f"))
u = nt.Variable(np.ones(7, "f"))


@nt.function
def step(x):
    with nt.GradientTape() as tape:
        loss = nt.reduce_sum(v * x) + nt.reduce_sum(w * x) + nt.reduce_sum(u * x)
    tape = hvd.DistributedGradientTape(tape, bucket_bytes=40, compression=COMPRESSION)
    for variable, gradient in zip([v, w, u], tape.gradient(loss, [v, w, u]), strict=True):
        variable.assign_sub(gradient)


COMPRESSION = sys.argv[1] if len(sys.argv) > 1 else None
x = nt.constant(2.0)
for _ in range(9):
    begin = len(asked.calls)
    step(x)
reasons = step.paths().reasons
end = len(asked.calls)
calls = [
    [name, *(int(x) if isinstance(x, int) else str(x) for x in arguments)]
    for name, *arguments in asked.calls[begin:end]
    if name not in ("cuCtxGetCurrent", "cuCtxSetCurrent", "cuEventQuery")
]
streams = int(asked.stream), [c[-1] for c in calls if c[0].startswith("nccl")]
if hvd.rank() == 0:
    print(json.dumps({"calls": calls, "streams": streams, "reasons": str(reasons)}))
